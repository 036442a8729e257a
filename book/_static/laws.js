// The risk against the window, and what Theorems 2 and 3 say about it: three figures for live.js that need risk.js.
// Tested in tests/icl_book/test_live.py.
(() => {
  "use strict";
  const icl = window.icl;
  const { risk, scaled, optimalWindow, capQuantile, scanWindow, atScan } = icl;
  const { ceil, floor, log, log10, max, min } = Math;

  // Bias, noise and risk against w.
  const curves = ({ CONTROLS, NAMES, axes, decades, fill, key, number }) => ({
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
  });

  // The best window against n, and its local slope against the printed range.
  const slope = ({ CONTROLS, FRAME, NAMES, axes, between, decades, fill, line, number, text }) => ({
    controls: ["kind", "d", "signal", "n"],
    drag: "n",
    draw({ kind, d, signal, n }, given, moving) {
      const grid = (k) => 10 ** (1 + k / 2);
      const best = fill(`slope ${kind} ${d} ${signal}`, 23, (k, list) => {
        const before = k && list[k - 1].w;
        return optimalWindow(kind, d, grid(k), signal, 1, before > 0 && [before, 4 * before]);
      });
      const x = 2 * log10(n) - 2, k = min(floor(x), 21), rough = moving && best.length === 23 && best[k].w > 0;
      const bracket = k + 1 < best.length && best[k].w > 0 && [best[k].w * 0.999, best[k + 1].w * 1.001];
      const { w, total } = rough ? { w: between(best.map((b) => b.w), x), total: between(best.map((b) => b.total), x) }
        : optimalWindow(kind, d, n, signal, 1, bracket);
      // The slope of the risk stays zero along w*(n): d log w* / d log n is a ratio of its derivatives.
      const h = 1e-4, at = (v, m) => risk(kind, d, v, m, signal, 1).slope;
      const local = rough ? 2 * log10(best[k + 1].w / best[k].w) : w > 0
        ? -(at(w, n * (1 + h)) - at(w, n * (1 - h))) / (at(w * (1 + h), n) - at(w * (1 - h), n)) : 0;
      const digits = rough ? 2 : 4;
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
        text(right, 352, "local slope", "end");
      return {
        picture: chart.back + chart.curve(points, "total") + (w > 0 ? chart.dot(n, w, "here") : "") + dial,
        height: 362,
        read: `${NAMES[kind]} functions, d = ${d}, L / σ = ${number(signal)}, n = ${number(n)}: best window w* = ` +
          `${number(w, digits)} (risk ${number(total, digits)} σ²), local slope ${number(local, digits)}. Printed exponents: ` +
          `1/d = ${number(1 / d)} to 2/d = ${number(2 / d)}; sharp law for long contexts: ${number(sharp)}.`,
        pending: best.length < 23,
      };
    },
  });

  // Risk on L' with the best window for L, over the risk with the best window for L'.
  const price = ({ CONTROLS, NAMES, axes, between, fill, key, number }) => ({
    controls: ["kind", "d", "n", "ratio"],
    drag: "ratio",
    draw({ kind, d, n, ratio }, given, moving) {
      const [trained] = fill(`trained ${kind} ${d} ${n}`, 1, () => optimalWindow(kind, d, n, 1, 1).w);
      const times = (r) => risk(kind, d, trained, n, r, 1).total / optimalWindow(kind, d, n, r, 1).total;
      const grid = (k) => 10 ** (-1 + k / 15);
      const list = fill(`price ${kind} ${d} ${n}`, 31, (k) => times(grid(k)));
      const rough = moving && list.length === 31, digits = rough ? 2 : 4, worst = max(...list);
      const here = rough ? between(list, 15 * (log10(ratio) + 1)) : times(ratio);
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
          `for L, w = ${number(trained, 4)}, has ${number(here, digits)} times the least risk on L′; for n → ∞ ` +
          `${number(limit(ratio), 4)} times.`,
        pending: list.length < 31,
      };
    },
  });

  icl.figures = { ...icl.figures, risk: curves, slope, price };
})();
