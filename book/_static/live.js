// Figures that move. Every <div class="icl-live" data-figure="..." data-start="{...}"> that icl_book.live writes gets
// controls and a drawing; the picture in it stays where there are no scripts. Figures that are not about the risk come
// from scripts of their own, which are loaded before this one and only where they are needed.
addEventListener("DOMContentLoaded", () => {
  "use strict";
  const { risk, scaled, optimalWindow, capQuantile, scanWindow, atScan } = (window.icl ??= {});
  const { log10, log, max, min, ceil, floor } = Math;
  const PATIENCE = 8;  // milliseconds of computing in one frame

  // ---------------------------------------------------------------- words and numbers
  const superscript = (k) => [...String(k)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
  const number = (v, digits = 3) => {
    const size = v === 0 ? 0 : floor(log10(Math.abs(v)));
    if (size >= -3 && size < 6) return String(Number(v.toPrecision(digits)));
    const [head, k] = v.toExponential(digits - 1).split("e").map(Number);
    return (head === 1 ? "10" : `${head}·10`) + superscript(k);
  };
  const NAMES = { affine: "Affine", relu: "ReLU" };

  // Sliders with `digits` hold the power of ten of a number, which is rounded to so many digits.
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

  // ---------------------------------------------------------------- drawing
  const FRAME = { left: 62, right: 600, top: 12, bottom: 250 };
  const text = (x, y, words, anchor = "middle", more = "") =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" ${more}>${words}</text>`;
  const line = (x1, y1, x2, y2, name) =>
    `<line class="${name}" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"/>`;

  // Logarithmic axes over powers of ten, the horizontal one plain if asked; what is drawn on them is cut at the frame.
  const axes = ([x0, x1], [y0, y1], xLabel, yLabel, plain = false) => {
    const { left, right, top, bottom } = FRAME;
    const x = (v) => left + ((right - left) * ((plain ? v : log10(v)) - x0)) / (x1 - x0);
    const y = (v) => bottom + ((top - bottom) * (log10(v) - y0)) / (y1 - y0);
    const ticks = (from, high) => {
      const least = ceil((high - from) / 7), step = least > 5 ? 10 * ceil(least / 10) : least;
      const low = least > 5 ? step * ceil(from / step) : ceil(from);
      return Array.from({ length: floor((high - low) / step) + 1 }, (_, i) => low + i * step);
    };
    const inside = (v) => max(top, min(bottom, v));
    return {
      x,
      y: (v) => inside(y(v)),
      back: `<rect class="frame" x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"/>` +
        ticks(x0, x1).map((k) => (plain ? k : 10 ** k)).map((v) => text(x(v), bottom + 18, number(v))).join("") +
        ticks(y0, y1).map((k) => text(left - 8, y(10 ** k) + 4, number(10 ** k), "end")).join("") +
        text((left + right) / 2, bottom + 40, xLabel) +
        text(-(top + bottom) / 2, 14, yLabel, "middle", 'transform="rotate(-90)"'),
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

  // ---------------------------------------------------------------- the figures
  const FIGURES = {
    // Bias, noise and risk against w.
    risk: {
      controls: ["kind", "d", "n", "L", "sigma", "w"],
      drag: "w",
      draw({ kind, d, n, L, sigma, w }) {
        const end = min(1e4, 100 / capQuantile(d, 1 / n));  // from there on the nearest token counts alone
        const first = ceil(log(0.1 / 1e-3) / log(1.5)), many = ceil(log(end / scanWindow(first)) / log(1.5));
        const units = fill(`risk ${kind} ${d} ${n}`, many, (k) => atScan(kind, d, n, first + k));
        const parts = units.map((unit, k) => ({ w: scanWindow(first + k), ...scaled(unit, L, sigma) }));
        const totals = parts.map((p) => p.total), top = max(...totals);
        const chart = axes(CONTROLS.w.range, decades(min(...totals) / 10, top), "window parameter w", "risk");
        const shown = min(w, end), here = risk(kind, d, shown, n, L, sigma);
        const curve = (name, slope) => chart.curve(parts.map((p) => [p.w, p[name], p[slope]]), name);
        let picture = chart.back + curve("bias", "biasSlope") + curve("noise", "noiseSlope") +
          curve("total", "slope") + key(["bias", "bias"], ["noise", "noise"], ["total", "risk = bias + noise"]) +
          chart.dot(shown, here.total, "here");
        let read = `${NAMES[kind]} functions, d = ${d}, n = ${number(n)}, L = ${number(L)}, σ = ${number(sigma)}. ` +
          `At w = ${number(shown)}: risk ${number(here.total, 4)} = bias ${number(here.bias, 4)} + noise ` +
          `${number(here.noise, 4)}. `;
        const pending = units.length < many;
        if (!pending) {
          const [best] = fill(`best ${kind} ${d} ${n} ${L} ${sigma}`, 1, () => optimalWindow(kind, d, n, L, sigma));
          const outside = best.w < 0.1 ? ", left of the frame" : best.w > 1e4 ? ", right of the frame" : "";
          if (!outside) picture += chart.dot(best.w, best.total, "best");
          read += `Lowest: ${number(best.total, 4)} at w* = ${number(best.w, 4)}${outside}.`;
          if (w > end) read += ` Beyond w = ${number(end)} the nearest token counts almost alone.`;
        }
        return { picture, read, pending };
      },
    },

    // The best window against n, and its local slope against the printed range.
    slope: {
      controls: ["kind", "d", "signal", "n"],
      drag: "n",
      draw({ kind, d, signal, n }) {
        const grid = (k) => 10 ** (1 + k / 2);
        const best = fill(`slope ${kind} ${d} ${signal}`, 23, (k, list) => {
          const before = k && list[k - 1].w;
          return optimalWindow(kind, d, grid(k), signal, 1, before > 0 && [before, 4 * before]);
        });
        const k = floor(2 * log10(n)) - 2;
        const bracket = k + 1 < best.length && best[k].w > 0 && [best[k].w * 0.999, best[k + 1].w * 1.001];
        const { w, total } = optimalWindow(kind, d, n, signal, 1, bracket);
        // The slope of the risk stays zero along w*(n): d log w* / d log n is a ratio of its derivatives.
        const h = 1e-4, at = (v, m) => risk(kind, d, v, m, signal, 1).slope;
        const local = w > 0
          ? -(at(w, n * (1 + h)) - at(w, n * (1 - h))) / (at(w * (1 + h), n) - at(w * (1 - h), n)) : 0;
        const sharp = 2 / (d + (kind === "relu" ? 2 : 3));
        const points = best.map((b, i) => [grid(i), b.w]).filter(([, v]) => v > 0);
        const chart = axes(CONTROLS.n.range, decades(points[0][1], max(w, points[points.length - 1][1]) * 1.01),
          "context length n", "best window w*");
        const { left, right } = FRAME, across = (v) => left + ((right - left) * v) / 1.1;
        const mark = (v, words, y) => line(across(v), 312, across(v), 336, "mark") + text(across(v), y, words);
        const dial = `<rect class="band" x="${across(1 / d)}" y="314" width="${across(1 / d) - left}" height="20"/>` +
          line(left, 324, right, 324, "frame") + mark(1 / d, "1/d", 308) + mark(2 / d, "2/d", 308) +
          mark(sharp, `sharp law: ${kind === "relu" ? "2/(d+2)" : "2/(d+3)"}`, 352) +
          `<circle class="here" cx="${across(max(0, min(1.1, local))).toFixed(1)}" cy="324" r="7"/>` +
          text(right, 306, "local slope of log w* in log n", "end");
        return {
          picture: chart.back + chart.curve(points, "total") + (w > 0 ? chart.dot(n, w, "here") : "") + dial,
          height: 362,
          read: `${NAMES[kind]} functions, d = ${d}, L / σ = ${number(signal)}, n = ${number(n)}: best window w* = ` +
            `${number(w, 4)} (risk ${number(total, 4)} σ²), local slope ${number(local, 4)}. Printed exponents: ` +
            `1/d = ${number(1 / d)} to 2/d = ${number(2 / d)}; sharp law for long contexts: ${number(sharp)}.`,
          pending: best.length < 23,
        };
      },
    },

    // Risk on L' with the best window for L, over the risk with the best window for L'.
    price: {
      controls: ["kind", "d", "n", "ratio"],
      drag: "ratio",
      draw({ kind, d, n, ratio }) {
        const trained = optimalWindow(kind, d, n, 1, 1).w;
        const price = (r) => risk(kind, d, trained, n, r, 1).total / optimalWindow(kind, d, n, r, 1).total;
        const grid = (k) => 10 ** (-1 + k / 15);
        const list = fill(`price ${kind} ${d} ${n}`, 31, (k) => price(grid(k)));
        const here = price(ratio), worst = max(...list);
        // For n to infinity: bias ~ w^-a, noise ~ w^((d-1)/2).
        const a = kind === "relu" ? 1.5 : 2, share = (2 * a) / (d - 1), power = 2 - (4 * a) / (d - 1 + 2 * a);
        const limit = (r) => (r * r + share) / ((1 + share) * r ** power);
        const chart = axes(CONTROLS.ratio.range, [0, max(1, ceil(log10(max(worst, limit(0.1), limit(10)))))],
          "L′ of the test over L of pretraining", "price");
        return {
          picture: chart.back + chart.curve(Array.from({ length: 31 }, (_, k) => [grid(k), limit(grid(k))]), "bias") +
            chart.curve(list.map((v, k) => [grid(k), v]), "total") + chart.dot(ratio, here, "here") +
            key(["total", "exact"], ["bias", "n → ∞"]),
          read: `${NAMES[kind]} functions, d = ${d}, n = ${number(n)}, L = σ = 1, L′ = ${number(ratio)}: the window ` +
            `for L, w = ${number(trained, 4)}, has ${number(here, 4)} times the least risk on L′; for n → ∞ ` +
            `${number(limit(ratio), 4)} times.`,
          pending: list.length < 31,
        };
      },
    },
  };
  const tools = { FRAME, axes, decades, key, line, number, text };
  for (const [name, make] of Object.entries(window.icl.figures ?? {})) FIGURES[name] = make(tools);

  // ---------------------------------------------------------------- controls
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

    let waiting = false;
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
      const { picture, read: words, pending, height = 300 } = figure.draw(state, given);
      drawing.setAttribute("viewBox", `0 0 620 ${height}`);
      drawing.innerHTML = picture;
      if (read.textContent !== words) read.textContent = words;
      root.toggleAttribute("data-pending", Boolean(pending));
      if (pending) soon();
    };
    const soon = () => {
      if (!waiting) requestAnimationFrame(draw);
      waiting = true;
    };
    for (const event of ["input", "change"]) panel.addEventListener(event, soon);
    const pull = (event) => {  // the point in the drawing follows mouse, pen and finger
      if (!(event.buttons & 1)) return;
      const input = inputs[figure.drag], box = drawing.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top].map((v) => (v / box.width) * 620);
      const share = (x - FRAME.left) / (FRAME.right - FRAME.left);
      input.value = figure.at ? figure.at(x, y, current()) : Number(input.min) + share * (input.max - input.min);
      soon();
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
