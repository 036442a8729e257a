// Softmax attention on Gaussian tokens, and a figure for live.js that compares it with the sphere; needs risk.js.
//
// A port of icl/risk/{gaussian,gaussian_moments}.py; the formulas and their reasons stand there. Linear functions of
// root mean square slope L = 1. Tested against Python in tests/icl_book/test_windows.py.
(() => {
  "use strict";
  const icl = window.icl;
  const { PI, ceil, cos, exp, expm1, log, log10, log1p, max, min, round, sqrt } = Math;
  const STEP = 0.28;  // of the lattice of u = log s and of log z
  const NODES = 18;  // Chebyshev nodes of a panel in tau
  const REACH = log(1e12);  // of the largest n
  const edge = (k) => (k < 10 ? k : 10 * 1.1 ** (k - 10));
  const count = (many, make) => Array.from({ length: many }, (_, i) => make(i));

  // phi = E exp(-z) as a logarithm, and M_k = E z^k exp(-z), k = 2, 3, 4, at one tau, for all u of a lattice.
  const smoothed = (first, many, skip, tau) => {
    const fine = tau ? max(1, ceil((1.3 * STEP) / tau)) : 1, h = STEP / fine, margin = tau ? ceil((12 * tau) / h) : 0;
    const density = count(2 * margin + 1, (i) => (tau ? (exp(-0.5 * (((i - margin) * h) / tau) ** 2) * h) /
      (tau * sqrt(2 * PI)) : 1));
    const below = [0];  // sums of the density, which is even, from one side
    for (const p of density) below.push(below[below.length - 1] + p);
    const low = -round((REACH + 32) / STEP) * fine, high = ceil(4.4 / STEP) * fine;  // exp(-z) is 1 before and 0 after
    const table = count(high - low + 1, (i) => exp((low + i) * h)), alive = table.map((z) => exp(-z));
    const dead = table.map((z) => -expm1(-z)), out = count(4, () => new Float64Array(many));
    for (let k = 0; k < many; k++) {
      const u = (first + k * skip) * fine, from = max(low, u - margin), to = min(high, u + margin);
      let phi = below[max(0, min(from, u + margin + 1) - u + margin)], missed = 0, m2 = 0, m3 = 0, m4 = 0;
      for (let x = from; x <= to; x++) {
        const p = density[x - u + margin], z = table[x - low], live = p * alive[x - low], square = z * z * live;
        phi += live;
        missed += p * dead[x - low];
        m2 += square;
        m3 += z * square;
        m4 += z * z * square;
      }
      missed += below[min(2 * margin + 1, u - to + margin)];
      [missed < 0.5 ? log1p(-missed) : log(max(phi, 1e-300)), m2, m3, m4].forEach((v, i) => { out[i][k] = v; });
    }
    return out;
  };

  const kept = new Map();
  const keep = (name, make) => kept.get(name) ?? kept.set(name, make()).get(name);
  // The means over one token at the nodes of a panel; they do not depend on n.
  const means = (panel) => keep(`${panel}`, () => {
    const low = edge(panel), high = edge(panel + 1), skip = max(1, round(high / 7));
    const largest = max(high ** 2 < 2 * REACH ? REACH + high ** 2 / 2 : 0, sqrt(2 * (REACH + 37)) * high);
    const first = -ceil((largest + 16) / STEP), last = ceil((4.5 + 6 * high) / STEP) + skip;
    const at = (i) => -cos((PI * i) / (NODES - 1));
    const tau = (i) => (low === 0 ? high * sqrt((1 + at(i)) / 2) : (low + high + (high - low) * at(i)) / 2);
    return { width: skip * STEP, rows: count(NODES, (i) => smoothed(first, ceil((last - first) / skip), skip, tau(i))) };
  });
  // Chebyshev coefficients of log C, of D / C and of their slopes on a panel.
  const series = (n, panel) => keep(`${n} ${panel}`, () => {
    const { width, rows } = means(panel), values = [[], []];
    for (const [logPhi, m2, m3, m4] of rows) {
      let c = 0, d = 0;
      for (let k = 0; k < m2.length && (n - 2) * logPhi[k] > -700; k++) {
        const one = width * n * exp((n - 1) * logPhi[k]), two = (n - 1) * one * exp(-logPhi[k]);
        c += one * m2[k];
        d += (one * m3[k]) / 2 - (one * m4[k] + two * m2[k] ** 2) / 6;
      }
      values[0].push(log(c));
      values[1].push(d / c);
    }
    return values.flatMap((list) => {
      const last = NODES - 1, half = (k) => (k === 0 || k === last ? 0.5 : 1);
      const a = count(NODES, (k) => (2 / last) * half(k) * list.reduce((sum, v, j) =>
        sum + half(j) * v * cos((PI * k * (last - j)) / last), 0));
      const slope = new Array(NODES + 1).fill(0);
      for (let k = last; k > 0; k--) slope[k - 1] = slope[k + 1] + 2 * k * a[k];
      slope[0] /= 2;
      return [a, slope];
    });
  });
  const clenshaw = (a, y) => {
    let b = 0, before = 0;
    for (let k = NODES - 1; k > 0; k--) [b, before] = [a[k] + 2 * y * b - before, b];
    return a[0] + y * b - before;
  };

  // Bias for L = 1 and noise for sigma = 1, with their slopes in w: means over the query's length r.
  icl.gaussianRisk = (d, w, n) => {
    const tail = sqrt(2 * (log(n) + 34)), low = max(0, sqrt(d) - tail), high = sqrt(d) + tail;
    const cuts = [low, high], sum = [0, 0, 0, 0];
    for (let k = 1; edge(k) < w * high; k++) cuts.push(edge(k) / w);
    for (let r = low + 2; w < 0.5 && r < high; r += 2) cuts.push(r);
    const ends = cuts.filter((r) => r >= low).sort((a, b) => a - b);
    let total = 0;
    for (let i = 0, k = 0; i + 1 < ends.length; i++) {
      const half = (ends[i + 1] - ends[i]) / 2;
      while (edge(k + 1) <= w * (ends[i] + half)) k++;
      const [from, to] = [edge(k), edge(k + 1)], all = series(n, k);
      for (const [x, weight] of icl.gauss) {
        const r = ends[i] + half * (1 + x), p = half * weight * exp((d - 1) * log(r) - (r * r - d) / 2), tau = w * r;
        const [y, turn] = k ? [(2 * tau - from - to) / (to - from), 2 / (to - from)] : [2 * tau * tau - 1, 4 * tau];
        const [logC, logSlope, ratio, ratioSlope] = all.map((a) => clenshaw(a, y));
        const c = exp(logC), third = ratio * c, cw = r * c * logSlope * turn, dw = r * ratioSlope * turn * c + ratio * cw;
        const square = (r * r) / d;
        total += p;
        sum[0] += p * (square * ((w - 1) ** 2 + w * (2 - w) * c - 6 * w * w * third) + c);
        sum[1] += p * (square * (2 * (w - 1) * (1 - c) + w * (2 - w) * cw - 12 * w * third - 6 * w * w * dw) + cw);
        sum[2] += p * c;
        sum[3] += p * cw;
      }
    }
    const [bias, biasSlope, noise, noiseSlope] = sum.map((v) => v / total);
    return { bias, biasSlope, noise, noiseSlope };
  };

  // The w of least risk, searched from below all minima to where the noise and the spread across exceed it.
  icl.gaussianWindow = (d, n, sigma) => {
    const at = (w) => {
      const unit = icl.gaussianRisk(d, w, n);
      return { w, ...icl.scaled(unit, 1, sigma), floor: (sigma * sigma + 1 - 1 / d) * unit.noise };
    };
    const first = n / (n + d * (1 + sigma * sigma));
    let before = at((0.2 * first) / max(1, 0.3 * sqrt(d) * first)), best = null;
    while (before.slope >= 0) before = at(before.w / 10);
    while (before.w < 10) {
      const here = at(1.3 * before.w);
      if (before.slope < 0 && here.slope >= 0) {
        const found = icl.refine(before, here, at);
        if (!best || found.total < best.total) best = found;
      }
      if (best && here.floor > best.total) break;
      before = here;
    }
    return best;
  };

  const SPHERE = sqrt(3);  // an affine function of slope sqrt(3) here is a linear one of root mean square slope 1
  // The best window on the sphere of radius sqrt(d), whose tokens are as long as Gaussian ones.
  const onSphere = (d, n, sigma, range) => {
    const best = icl.optimalWindow("affine", d, n, SPHERE * sqrt(d), sigma, range && range.map((w) => w * d));
    return { ...best, w: best.w / d };
  };
  const PANELS = 18;  // what most settings need, computed before the first curve
  const gaussian = ({ FRAME, axes, between, decades, fill, line, number, text }) => ({
    controls: ["shown", "d", "n", "sigma"],
    sliders: { shown: { label: "shown", options: { w: "best window w*", total: "least risk" } } },
    drag: "n",
    draw({ shown, d, n, sigma }, given, moving) {
      const grid = (k) => 10 ** (1 + k / 2), many = 23;
      const ready = fill("panels", PANELS, means).length === PANELS;
      const ball = ready ? fill(`gaussian ${d} ${sigma}`, many, (k) => icl.gaussianWindow(d, round(grid(k)), sigma)) : [];
      const sphere = ready ? fill(`sphere ${d} ${sigma}`, many, (k, list) => {
        const before = k && list[k - 1].w;
        return onSphere(d, grid(k), sigma, before > 0 && [before, 4 * before]);
      }) : [];
      if (!ball.length || !sphere.length) return { picture: "", read: "Computing.", pending: true };
      const rough = moving && ball.length === many && sphere.length === many, digits = rough ? 2 : 4;
      const near = (list) => Object.fromEntries(["w", "total"].map((name) => [
        name, between(list.map((one) => one[name]), 2 * log10(n) - 2)]));
      const [best, other] = rough ? [near(ball), near(sphere)]
        : [icl.gaussianWindow(d, n, sigma), onSphere(d, n, sigma)];
      const spread = d + 1 + d * sigma * sigma, linear = (m) => spread / (m + spread);  // linear attention's least risk
      const points = (list) => list.map((one, k) => [grid(k), one[shown]]).filter(([, v]) => v > 0);
      const curves = [["total", "Gaussian tokens", points(ball), -8], ["bias", "sphere", points(sphere), -8]];
      if (shown === "total") {
        curves.push(["noise", "linear attention", count(many, (k) => [grid(k), linear(grid(k))]), 18]);
      }
      const values = [best[shown], ...curves.flatMap(([, , list]) => list.map(([, v]) => v))];
      const chart = axes([1, 12], decades(min(...values), max(...values) * 1.01), "context length n",
        shown === "w" ? "best window w*" : "least risk");
      const one = chart.y(1);
      return {
        picture: chart.back + (shown === "w" ? line(FRAME.left, one, FRAME.right, one, "frame") : "") +
          curves.map(([name, words, list, shift]) => {
            const [x, y] = list[min(list.length - 1, shown === "w" ? 16 : 20)] ?? [1e12, 1];
            return chart.curve(list, name) + text(chart.x(x), chart.y(y) + shift, words, "end");
          }).join("") + chart.dot(n, best[shown], "here") + (other.w > 0 ? chart.dot(n, other[shown], "best") : ""),
        read: `Linear functions, L = 1, d = ${d}, n = ${number(n)}, σ = ${number(sigma)}. Gaussian tokens: best window ` +
          `w* = ${number(best.w, digits)}, 1 − w* = ${number(1 - best.w)}, risk ${number(best.total, digits)}. Sphere of radius √d: ` +
          `best window ${number(other.w, digits)}, risk ${number(other.total, digits)}. Linear attention on Gaussian tokens has at ` +
          `best ${number(linear(n), 4)}.`,
        pending: ball.length < many || sphere.length < many,
      };
    },
  });

  icl.figures = { ...icl.figures, gaussian };
})();
