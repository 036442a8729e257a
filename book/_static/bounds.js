// Printed and sharp Lipschitz constants, a figure for live.js. A port of `sharp` and `Bound.log10` of
// icl/tensor_trick/lipschitz.py, tested against them in tests/icl_book/test_drawings.py. All values are log10.
(() => {
  "use strict";
  const icl = (window.icl ??= {});
  const { LN10, PI, abs, ceil, cos, exp, floor, log, log10, log1p, max, min, sin, sqrt } = Math;

  // The largest sum of exp(s_i) over |s| <= radius: s = (a, b, ..., b), and one angle is left to scan.
  const largestExponential = (n, radius) => {
    const value = (angle) => {
      const a = radius * cos(angle), b = log(n - 1) + (radius * sin(angle)) / sqrt(n - 1);
      return max(a, b) + log1p(exp(-abs(a - b)));
    };
    let low = 0, high = PI / 2, best = 0;
    for (let round = 0; round < 8; round++) {
      const step = (high - low) / 60, grid = Array.from({ length: 61 }, (_, i) => low + i * step);
      best = grid.reduce((one, other) => (value(other) > value(one) ? other : one));
      [low, high] = [max(best - step, 0), min(best + step, PI / 2)];
    }
    return value(best) / LN10;
  };
  icl.sharp = (name, n, R) => ({
    u: () => log10(R) + (R * R) / LN10,
    alpha: () => log10(R) + largestExponential(n, 2 * R * R) / 2,
    "1/alpha": () => log10(R / n) + (R * R) / sqrt(n) / LN10,
    f: () => log10(R / 2),
  })[name]();
  icl.printed = ([factor, a, b, c], n, R) => log10(factor) + a * log10(n) + b * log10(R) + (c * R * R) / LN10;

  const OURS = {
    u: "R·e^(R²), attained", alpha: "R·max ‖u‖, attained", "1/alpha": "at most R·e^(R²/√n)/n", f: "at most R/2",
  };
  const formula = ([factor, a, b, c]) => [
    factor !== 1 && factor, a && { 0.5: "√n", 1: "n", 1.5: "n√n" }[a], b && "R", c && `e^(${c === 1 ? "" : c}R²)`,
  ].filter(Boolean).join("·");

  const bounds = ({ FRAME, axes, line, number, key }) => ({
    controls: ["row", "n", "R"],
    sliders: {
      row: { label: "function of a row", options: { f: "f, softmax", "1/alpha": "1/α", alpha: "α", u: "u" } },
      n: { label: "tokens n", range: [1, 6], step: 0.1, digits: 2 },
      R: { label: "norms at most R", range: [0.5, 6], step: 0.1 },
    },
    drag: "R",
    draw({ row, n, R }, { printed }) {
      const mine = printed.filter(([name]) => name === row).map(([, ...powers]) => powers);
      const grid = Array.from({ length: 56 }, (_, i) => (i + 5) / 10);
      const ours = grid.map((r) => icl.sharp(row, n, r)), theirs = mine.map((p) => grid.map((r) => icl.printed(p, n, r)));
      const all = [...ours, ...theirs.flat()];
      const chart = axes([0.5, 6], [floor(min(...all)) - 1, ceil(max(...all)) + 1], "R", "Lipschitz constant", true);
      const points = (list) => list.map((v, i) => [grid[i], 10 ** v]), here = icl.sharp(row, n, R);
      const four = chart.x(4);
      return {
        picture: chart.back + line(four, FRAME.top, four, FRAME.bottom, "frame") +
          theirs.map((list) => chart.curve(points(list), "printed")).join("") + chart.curve(points(ours), "total") +
          mine.map((p) => chart.dot(R, 10 ** icl.printed(p, n, R), "best")).join("") +
          chart.dot(R, 10 ** here, "here") + key(["printed", "printed"], ["total", "ours"]),
        read: `n = ${number(n)}, R = ${number(R)}: ours, ${OURS[row]}, is ${number(10 ** here)}. Printed: ` +
          mine.map((p) => {
            const log = icl.printed(p, n, R);
            return `${formula(p)} = ${number(10 ** log)}, ${number(log - here)} powers of ten above`;
          }).join("; ") + `.${R < 4 ? " The papers assume R ≥ 4, the line." : ""}`,
      };
    },
  });

  icl.figures = { ...icl.figures, bounds };
})();
