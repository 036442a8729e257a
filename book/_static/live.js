// Figures that move. Every <div class="icl-live" data-figure="..." data-start="{...}"> that icl_book.live writes gets
// controls and a drawing; the picture in it stays where there are no scripts. Figures come from scripts of their own,
// loaded before this one where they are needed.
addEventListener("DOMContentLoaded", () => {
  "use strict";
  const { log10, max, min, ceil, floor } = Math;
  const PATIENCE = 8;  // milliseconds of computing in one frame

  // Numbers.
  const superscript = (k) => [...String(k)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
  const number = (v, digits = 3, most = 6) => {
    const size = v === 0 ? 0 : floor(log10(Math.abs(v)));
    if (size > 2 - most && size < most) return String(Number(v.toPrecision(digits))).replace("-", "−");
    const [head, k] = v.toExponential(digits - 1).split("e").map(Number);
    return (head === 1 ? "10" : `${head}·10`) + superscript(k);
  };
  const NAMES = { affine: "Affine", relu: "ReLU" };

  // Sliders with `digits` hold the power of ten of a number, rounded to so many digits.
  const CONTROLS = {
    kind: { label: "functions", options: NAMES },
    d: { label: "dimension d", range: [2, 8], step: 1 },
    n: { label: "context length n", range: [1, 12], step: 0.1, digits: 2 },
    L: { label: "Lipschitz constant L", range: [-1, 1], step: 0.05, digits: 2 },
    sigma: { label: "noise σ", range: [-2, 1], step: 0.05, digits: 2 },
    w: { label: "window parameter w", range: [-1, 4], step: 0.02, digits: 3 },
    signal: { label: "L / σ", range: [-1, 1], step: 0.05, digits: 2 },
    ratio: { label: "L′ / L", range: [-1, 1], step: 0.05, digits: 2 },
  };

  // Drawing.
  const FRAME = { left: 62, right: 590, top: 12, bottom: 250 };
  const text = (x, y, words, anchor = "middle", more = "") =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" ${more}>${words}</text>`;
  const line = (x1, y1, x2, y2, name) =>
    `<line class="${name}" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"/>`;

  // Logarithmic axes over powers of ten, the horizontal one plain if asked; what is drawn on them is cut at the frame.
  const axes = ([x0, x1], [y0, y1], xLabel, yLabel, plain = false, { left, right, top, bottom } = FRAME) => {
    const x = (v) => left + ((right - left) * ((plain ? v : log10(v)) - x0)) / (x1 - x0);
    const y = (v) => bottom + ((top - bottom) * (log10(v) - y0)) / (y1 - y0);
    const ticks = (from, high) => {
      const least = ceil(75 * (high - from) / (right - left)), step = least > 5 ? 10 * ceil(least / 10) : least;
      const low = least > 5 ? step * ceil(from / step) : ceil(from);
      return Array.from({ length: floor((high - low) / step) + 1 }, (_, i) => low + i * step);
    };
    const inside = (v) => max(top, min(bottom, v));
    const fine = y1 - y0 < 0.5 ? [1, 1.2, 1.5, 2, 3] : y1 - y0 < 1.5 ? [1, 2, 5] : [1];
    return {
      x,
      y: (v) => inside(y(v)),
      back: `<rect class="frame" x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"/>` +
        ticks(x0, x1).map((k) => (plain ? k : 10 ** k)).map((v) => text(x(v), bottom + 18, number(v, 3, 4))).join("") +
        ticks(y0, y1).flatMap((k) => fine.map((v) => v * 10 ** k)).filter((v) => log10(v) <= y1)
          .map((v) => text(left - 8, y(v) + 4, number(v, 3, 4), "end")).join("") +
        text((left + right) / 2, bottom + 40, xLabel) +
        text(-(top + bottom) / 2, left - 48, yLabel, "middle", 'transform="rotate(-90)"'),
      // Points [x, y] and, if known, the slope of y: a cubic curve in logarithms.
      curve: (points, name) => {
        const at = points.map(([v, u]) => [x(v), inside(y(u))]);
        let path = at.length ? `M${at[0].map((c) => c.toFixed(1))}` : "";
        for (let i = 1; i < at.length; i++) {
          const bent = points[i].length > 2 && [i - 1, i].every((j) => y(points[j][1]) === at[j][1]);
          const third = (at[i][0] - at[i - 1][0]) / 3;
          const tilt = (j) => ((points[j][2] * points[j][0]) / points[j][1]) * third * ((top - bottom) / (y1 - y0)) /
            ((right - left) / (x1 - x0));
          path += bent
            ? `C${[at[i - 1][0] + third, at[i - 1][1] + tilt(i - 1), at[i][0] - third, at[i][1] - tilt(i), ...at[i]]
              .map((c) => c.toFixed(1))}`
            : `L${at[i].map((c) => c.toFixed(1))}`;
        }
        return `<path class="${name}" d="${path}"/>`;
      },
      dot: (v, u, name) => `<circle class="${name}" cx="${x(v).toFixed(1)}" cy="${inside(y(u)).toFixed(1)}" r="6"/>`,
    };
  };
  const key = (...names) => names.map(([name, words], i) => {
    const x = FRAME.left + 14 + 150 * i;
    return line(x, 26, x + 26, 26, name) + text(x + 32, 30, words, "start");
  }).join("");
  const decades = (low, high) => [floor(log10(low)), ceil(log10(high))];

  // What has been computed already; a drawing goes on in the next frame where the rest is `pending`.
  const known = new Map();
  let deadline = 0;
  const late = () => performance.now() > deadline;
  const fill = (name, many, compute) => {
    if (!known.has(name)) known.set(name, []);
    const list = known.get(name);
    do if (list.length < many) list.push(compute(list.length, list)); while (list.length < many && !late());
    return list;
  };

  // Between the entries of a list, on a logarithmic scale.
  const between = (list, x) => {
    const k = min(floor(x), list.length - 2);
    return list[k] ** (1 - x + k) * list[k + 1] ** (x - k);
  };
  const tools = { CONTROLS, FRAME, NAMES, axes, between, decades, fill, key, line, number, text }, FIGURES = {};
  for (const [name, make] of Object.entries(window.icl.figures)) FIGURES[name] = make(tools);

  // Controls.
  const make = (name, attributes, parent) => {
    const element = document.createElement(name);
    for (const [k, v] of Object.entries(attributes)) element.setAttribute(k, v);
    return parent.appendChild(element);
  };
  const start = (root) => {
    const figure = FIGURES[root.dataset.figure], given = JSON.parse(root.dataset.start);
    const still = (root.dataset.still ? document.getElementById(root.dataset.still) : root).querySelector("img");
    if (root.dataset.still) still.before(root);
    const body = document.createElement("div");
    root.prepend(body);
    if (figure.mount) {  // it needs neither a drawing nor controls
      figure.mount(body, given);
      still.hidden = true;
      return;
    }
    const slider = (name) => figure.sliders?.[name] ?? CONTROLS[name];
    const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", root.dataset.alt);
    body.append(drawing);
    const inputs = {}, panel = make("div", { class: "controls" }, body);
    const value = (name) => {
      const { digits, options } = slider(name), { value: set } = inputs[name];
      return options ? set : Number(digits ? (10 ** set).toPrecision(digits) : set);
    };
    for (const name of figure.controls) {
      const { label, range, step, digits, options } = slider(name), row = make("label", {}, panel);
      row.append(label);
      if (options) {
        inputs[name] = make("select", {}, row);
        for (const [choice, words] of Object.entries(options)) {
          make("option", { value: choice }, inputs[name]).textContent = words;
        }
        inputs[name].value = given[name];
        continue;
      }
      inputs[name] = make("input", {
        type: "range", min: range[0], max: range[1], step, value: digits ? log10(given[name]) : given[name],
      }, row);
      make("output", {}, row);
    }
    const read = make("output", { class: "read", "aria-live": "polite" }, body);

    let waiting = false, moving = false;  // a figure may draw roughly while a control moves
    const current = () => Object.fromEntries(figure.controls.map((name) => [name, value(name)]));
    const draw = () => {
      waiting = false;
      deadline = performance.now() + PATIENCE;
      const state = current();
      for (const [name, input] of Object.entries(inputs)) {
        if (slider(name).options) continue;
        input.setAttribute("aria-valuetext", number(state[name]));
        input.nextSibling.textContent = number(state[name]);
      }
      const { picture, read: words, pending, height = 300 } = figure.draw(state, given, moving);
      drawing.setAttribute("viewBox", `0 0 620 ${height}`);
      drawing.innerHTML = picture;
      if (read.textContent !== words) read.textContent = words;
      const more = pending || moving;
      root.toggleAttribute("data-pending", Boolean(more));
      moving = false;
      if (more) soon();
    };
    const soon = () => {
      if (!waiting) requestAnimationFrame(draw);
      waiting = true;
    };
    const move = () => soon(moving = true);
    for (const event of ["input", "change"]) panel.addEventListener(event, move);
    const pull = (event) => {  // the point in the drawing follows mouse, pen and finger
      if (!(event.buttons & 1)) return;
      const moved = [figure.drag].flat().map((name) => inputs[name]), box = drawing.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top].map((v) => (v / box.width) * 620);
      const share = (x - FRAME.left) / (FRAME.right - FRAME.left), [{ min: low, max: high }] = moved;
      const places = figure.at ? [figure.at(x, y, current())].flat() : [Number(low) + share * (high - low)];
      moved.forEach((input, i) => { input.value = places[i]; });
      move();
    };
    drawing.addEventListener("pointerdown", (event) => {
      drawing.setPointerCapture(event.pointerId);
      pull(event);
    });
    drawing.addEventListener("pointermove", pull);
    draw();
    still.hidden = true;
  };
  document.querySelectorAll(".icl-live").forEach(start);
});
