// Redraws a risk explorer (icl_book.explorer) when the reader moves one of its controls.
document.addEventListener("input", (event) => {
  const figure = event.target.closest(".icl-explorer");
  if (!figure) return;
  const find = (selector) => figure.querySelector(selector);
  const { w, classes, frame, decades } = JSON.parse(figure.dataset.curves);

  // The state that the reader has set, and the curves there.
  const { bias, noise: unit } = classes[find("select").value];
  const sigma = 10 ** find("input.noise").value;
  const here = Number(find("input.window").value);
  const noise = unit.map((v) => sigma ** 2 * v);
  const total = bias.map((v, i) => v + noise[i]);
  const best = total.indexOf(Math.min(...total));

  // Coordinates in the drawing.
  const x = (i) => frame.left + ((frame.right - frame.left) * i) / (w.length - 1);
  const y = (v) => {
    const height = (Math.log10(v) - decades[0]) / (decades[1] - decades[0]);
    return frame.bottom + (frame.top - frame.bottom) * Math.min(1, Math.max(0, height));
  };

  for (const [name, curve] of Object.entries({ bias, noise, total })) {
    const points = curve.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`);
    find(`[data-curve=${name}]`).setAttribute("points", points.join(" "));
  }
  for (const [name, i] of Object.entries({ here, best })) {
    find(`circle.${name}`).setAttribute("cx", x(i));
    find(`circle.${name}`).setAttribute("cy", y(total[i]));
  }
  for (const [name, value] of Object.entries({ noise: sigma, window: w[here] })) {
    find(`output.${name}`).textContent = value.toPrecision(3);
    find(`input.${name}`).setAttribute("aria-valuetext", value.toPrecision(3));
  }
  find(".read").textContent =
    `risk ${total[here].toPrecision(4)} = bias ${bias[here].toPrecision(4)}` +
    ` + noise ${noise[here].toPrecision(4)}.` +
    ` Lowest on this grid: ${total[best].toPrecision(4)} at w = ${w[best].toPrecision(3)}.`;
});
