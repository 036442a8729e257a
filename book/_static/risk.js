// The exact population risk of softmax attention on the sphere, computed in the page.
//
// A port of icl/risk/{exact,integrals,quadrature}.py; the formulas and their reasons stand there. Functions have the
// Lipschitz constant 1: the bias is proportional to L^2 for both classes, the noise term to sigma^2, so that
// risk = L^2 bias + sigma^2 noise. Tested against Python in tests/icl_book/test_live.py.
window.icl = (() => {
  "use strict";
  const { PI, abs, asin, exp, expm1, hypot, log, log1p, max, min, sin, sqrt } = Math;
  const CUT = 42;  // what is below exp(-CUT) of the leading term is dropped
  const WIDE = 30;  // panels in u wider than this have angles for each node
  const ORDER = 16;  // Gauss-Legendre nodes of a panel

  const cached = (make) => {
    const made = new Map();
    return (key) => made.get(key) ?? made.set(key, make(key)).get(key);
  };
  const bisect = (low, high, rises) => {  // where an increasing condition becomes true
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2;
      if (rises(middle)) high = middle; else low = middle;
    }
    return high;
  };

  // Nodes and weights on [-1, 1], by Newton's method.
  const gauss = ((order) => {
    const nodes = [];
    for (let i = order; i >= 1; i--) {
      let x = Math.cos((PI * (i - 0.25)) / (order + 0.5)), slope = 1;
      for (let step = 0; step < 20; step++) {
        let [before, p] = [1, x];
        for (let k = 2; k <= order; k++) [before, p] = [p, ((2 * k - 1) * x * p - (k - 1) * before) / k];
        slope = (order * (x * p - before)) / (x * x - 1);
        x -= p / slope;
      }
      nodes.push([x, 2 / ((1 - x * x) * slope * slope)]);
    }
    return nodes;
  })(ORDER);

  // The integral of sin^(d-2) from 0 to pi.
  const area = cached((d) => (d === 2 ? PI : d === 3 ? 2 : ((d - 3) / (d - 2)) * area(d - 2)));

  // Probability that a token has (1 - x.x_q) / 2 <= x: the incomplete beta function I_x(a, a), a = (d - 1) / 2.
  const cap = (d, x) => {
    if (x <= 0) return 0;
    if (x > 0.5) return 1 - cap(d, 1 - x);
    const a = (d - 1) / 2;
    let term = 1, sum = 1;
    for (let k = 1; term > 1e-17 * sum; k++) sum += term *= ((d - 2 + k) / (a + k)) * x;
    return (((x * (1 - x)) ** a * 2 ** (d - 2)) / (a * area(d))) * sum;
  };

  // The 1 - x.x_q below which a token falls with a probability.
  const capQuantile = (d, mass) => {
    if (mass >= 1) return 2;
    if (mass > 0.5) return 2 - capQuantile(d, 1 - mass);
    return 2 * exp(bisect(-200, log(0.5), (t) => cap(d, exp(t)) >= mass));
  };

  // Variogram at 1 - cos(theta) = gap, Gegenbauer coefficients a_l, and rest(l), the sum of all beyond l.
  const reluSpectrum = cached((d) => {
    let mean = d % 2 ? 0.5 : 2 / PI;  // E |q.x| in d = 3 and d = 2
    for (let k = d % 2 ? 3 : 2; k < d; k += 2) mean *= k / (k + 1);
    const last = 40000, a = new Float64Array(last + 1), rest = new Float64Array(last + 2);
    a[1] = 1 / (6 * d);
    let even = (mean * mean) / 6;
    for (let l = 0; l < last; l += 2) {
      const count = l ? (((2 * l + d + 2) / (2 * l + d - 2)) * ((l + d - 2) * (l + d - 1))) / ((l + 1) * (l + 2))
        : ((d + 2) * (d - 1)) / 2;
      a[l + 2] = even *= count * ((l - 1) / (l + d + 1)) ** 2;
    }
    const edge = last + d / 2;  // beyond: a_l = A (l + d/2 - 1)^-4, every other degree
    rest[last] = (a[last] * (edge - 1) ** 4) / (6 * edge ** 3);
    for (let l = last - 1; l >= 0; l--) rest[l] = rest[l + 1] + a[l + 1];
    return { a, rest };
  });
  const CLASSES = {
    affine: (d) => ({
      band: 2, a: [0, 1 / (3 * d)], rest: [1 / (3 * d), 0], gamma: (theta, gap) => gap / (3 * d),
    }),
    relu: (d) => ({
      band: Infinity,
      ...reluSpectrum(d),
      gamma: (theta, gap) => {
        const square = theta * theta;
        let tail = 1;  // of sin t - t cos t, which cancels where t is small
        for (const k of [180, 130, 88, 54, 28, 10]) tail = 1 - (square / k) * tail;
        const turn = theta < 0.5 ? ((theta * square) / 3) * tail : sin(theta) - theta * Math.cos(theta);
        return (gap - turn / PI) / (3 * d);
      },
    }),
  };

  // Angles of Gauss-Legendre panels between edges: 1 - cos(theta), probability, variogram; masses left out.
  const angles = (d, edges, task) => {
    const size = ORDER * (edges.length - 1);
    const [theta, gap, p, gamma] = Array.from({ length: 4 }, () => new Float64Array(size));
    for (let k = 0, j = 0; k + 1 < edges.length; k++) {
      const half = (edges[k + 1] - edges[k]) / 2;
      for (const [x, weight] of gauss) {
        theta[j] = edges[k] + half * (1 + x);
        gap[j] = 2 * sin(theta[j] / 2) ** 2;
        p[j] = (half * weight * sin(theta[j]) ** (d - 2)) / area(d);
        if (task) gamma[j] = task.gamma(theta[j], gap[j]);
        j++;
      }
    }
    const below = cap(d, sin(edges[0] / 2) ** 2);
    const above = cap(d, Math.cos(edges[edges.length - 1] / 2) ** 2);
    return { theta, gap, p, gamma, below, above, size };
  };
  const angleAt = (w, tau) => 2 * asin(sqrt(min(1, max(0, tau / (2 * w)))));

  // log E exp(-w (1 - t)); a few digits are enough.
  const logMeanWeight = (d, w) => {
    if (w === 0) return 0;
    const last = angleAt(w, 2 * (d - 2) + CUT);
    const { gap, p, size } = angles(d, [0, 1, 2, 3, 4, 5, 6, 7, 8].map((k) => (last * k) / 8));
    let sum = 0;
    for (let j = 0; j < size; j++) sum += p[j] * exp(-w * gap[j]);
    return log(sum);
  };

  // Where the panels in u end, and what the angles need to know.
  const plan = (d, w, n) => {
    const nearest = w * capQuantile(d, 1e-17 / n ** 2);
    const ratio = (d - 3) / max(w, 1e-300);
    const peak = d <= 3 ? 0 : w * (1 - 2 / (ratio + hypot(ratio, 2)));
    const reach = max(peak, nearest) + sqrt(2 * CUT * peak) + CUT;
    const mean = logMeanWeight(d, w), square = logMeanWeight(d, 2 * w);
    let low = min(-log(n) - mean, -0.5 * (log(n) + square)) - CUT / 2;
    low = max(low, nearest - log(n) - CUT / 2);
    const needed = 36 / (n - 1);
    let high = min(2 * w + 5, w * capQuantile(d, -expm1(-needed)) + log(needed + 4));
    const linear = log(needed / 0.63) - mean;
    if (linear <= 0) high = min(high, linear);
    const edges = low < 0 ? [-Infinity, min(0, log(8 / n) - mean, high)] : [low];
    for (let u = edges[edges.length - 1]; u < high; edges.push(u)) {
      const widest = u < max(reach, 200) ? WIDE : Infinity;
      const smooth = min(0.6 * u, (8 * u) / d, (3 * w) / sqrt(d), 0.4 * (2 * w - u), widest);
      u = min(u + (u < 8 ? 3 : max(u < reach ? 3 : 2.5, smooth)), high);
    }
    return { edges, nearest, reach };
  };

  // Edges of the panels of angles that all u between left and right share.
  const sharedEdges = (d, w, left, right, { nearest, reach }, band) => {
    const top = max(right, 0), cells = 200;
    const first = w > 0 ? angleAt(w, max(left - 4, nearest)) : 0;
    const last = w > 0 ? angleAt(w, top + max(reach, CUT)) : PI;
    const step = (last - first) / cells;
    const finest = band < Infinity ? band : sqrt(w) * (6 + 3 * sqrt(top)) + 20;
    const total = [0];
    let before = 0;
    for (let i = 0; i <= cells; i++) {  // how many panels each stretch needs
      const theta = first + step * i;
      const past = max(2 * w * sin(theta / 2) ** 2 - top - 4, 0);
      const need = max(
        (w * sin(theta)) / min(3 + 0.3 * past, 16), finest / 13 / (1 + past / 10), (1 + sqrt(d)) / 2,
      );
      if (i) total.push(total[i - 1] + ((need + before) / 2) * step);
      before = need;
    }
    const count = Math.ceil(total[cells]), edges = [first];
    for (let k = 1, i = 0; k < count; k++) {
      const wanted = (total[cells] * k) / count;
      while (total[i + 1] < wanted) i++;
      edges.push(first + step * (i + (wanted - total[i]) / (total[i + 1] - total[i])));
    }
    return [...edges, last];
  };

  // Edges of the panels of angles of one u in the nearest-neighbor regime.
  const followingEdges = (d, w, u, start, { nearest, reach }) => {
    const widest = (3 * w) / sqrt(d), edges = [];
    for (let y = -4; ; y += min(widest, 1.2 + 0.3 * max(y - 4, 0), 12)) {
      edges.push(angleAt(w, min(max(u + y, nearest), 2 * w)));
      if (y >= max(CUT, reach - start)) return edges;
    }
  };

  // The sums over nodes u that share a mesh of angles, added to sum: bias, its slope, noise, its slope.
  const addPiece = (task, d, w, n, us, weights, mesh, sum, slopes) => {
    const { gap, p, gamma, size } = mesh, rows = [];
    let single = 0;
    for (let i = 0; i < us.length; i++) {
      const table = new Float64Array(size), table_w = new Float64Array(size);
      let missed = mesh.below, phi = mesh.above, bias = 0, noise = 0, bias_w = 0, noise_w = 0;
      let flat = 0, flat_w = 0, left = 0, left_w = 0, shift = 0;
      for (let j = 0; j < size; j++) {
        const z = exp(min(us[i] - w * gap[j], 6));
        const lost = expm1(-z), first = z * (1 + lost) * p[j], second = z * first;
        missed -= lost * p[j];
        phi += (1 + lost) * p[j];
        noise += second;
        bias += 2 * gamma[j] * second;
        flat += table[j] = first;
        left += gamma[j] * first;
        if (!slopes) continue;
        const second_w = gap[j] * (z - 2) * second;
        noise_w += second_w;
        bias_w += 2 * gamma[j] * second_w;
        shift += gap[j] * first;
        flat_w += table_w[j] = gap[j] * (z - 1) * first;
        left_w += gamma[j] * table_w[j];
      }
      phi = max(phi, 1e-300);
      const logPhi = missed < 0.5 ? log1p(-missed) : log(phi);
      const one = weights[i] * n * exp(max((n - 1) * logPhi, -700));
      const two = weights[i] * n * (n - 1) * exp(max((n - 2) * logPhi, -700));
      shift /= phi;
      single += one * bias;
      sum[1] += one * (bias_w + (n - 1) * bias * shift);
      sum[2] += one * noise;
      sum[3] += one * (noise_w + (n - 1) * noise * shift);
      rows.push({ table, table_w, two, shift, flat, flat_w, left, left_w, pair: 0, pair_w: 0, run: 0 });
    }
    sum[0] += single;
    addPairs(task, d, mesh, rows, sum[0], slopes);
    for (const { two, shift, pair, pair_w } of rows) {
      sum[0] += two * pair;
      sum[1] += two * (pair_w + (n - 2) * pair * shift);
    }
  };

  // sum_l a_l m_l^2 and its slope at every node; m_l = E[z (1 - P_l) e^-z]. The degrees beyond the last one
  // contribute through the variogram, but for a quadratically small term (icl/risk/integrals.py, _pairs).
  const addPairs = (task, d, { theta, gap, size }, rows, scale, slopes) => {
    const up = (l) => (l > 0 ? (l + d - 2) / (2 * l + d - 2) : 1);
    const q = new Float64Array(size), step = new Float64Array(size), sine = theta.map((t) => sin(t) ** 2);
    const take = (h, l) => {
      let neglected = 0, done = 0;
      for (const row of rows) {
        let m = 0, m_w = 0;
        if (row.run < 4) {
          for (let j = 0; j < size; j++) m += row.table[j] * h[j];
          if (slopes) for (let j = 0; j < size; j++) m_w += row.table_w[j] * h[j];
          row.run = l > 1 && abs(m - row.flat) <= 1e-6 * row.flat ? row.run + 1 : 0;
        }
        if (row.run >= 4) [m, m_w] = [row.flat, row.flat_w];  // averaged out: higher degrees would only alias
        row.pair += task.a[l] * m * m;
        row.pair_w += task.a[l] * 2 * m * m_w;
        row.left -= task.a[l] * m;
        row.left_w -= task.a[l] * m_w;
        neglected += row.two * (m - row.flat) ** 2;
        done += row.two * row.pair;
      }
      return task.rest[l] * neglected <= 1e-12 * (done + scale);
    };
    take(gap, 1);
    if (task.rest[1] <= 0) return;
    let small = 0, l = 2;
    for (; small < 4; l += 2) {
      if (l >= task.a.length) throw new RangeError("w is too large for this class");
      const ahead = up(l - 2) * up(l - 1), behind = (1 - up(l - 2)) * (1 - up(l - 3));
      for (let j = 0; j < size; j++) {
        step[j] = (behind * step[j] + sine[j] * (1 - q[j])) / ahead;
        q[j] += step[j];
      }
      small = take(q, l) ? small + 1 : 0;
    }
    const rest = task.rest[l - 2];
    for (const row of rows) {
      row.pair += 2 * row.flat * row.left - rest * row.flat ** 2;
      row.pair_w += 2 * (row.flat_w * row.left + row.flat * row.left_w - rest * row.flat * row.flat_w);
    }
  };

  // The panels of the integral over u: nodes, weights, and the mesh of angles that the nodes share.
  const panels = (d, w, n, band, task) => {
    const layout = plan(d, w, n), { edges } = layout, found = [];
    for (let k = 0; k + 1 < edges.length; k++) {
      const [left, right] = [edges[k], edges[k + 1]], half = (right - left) / 2;
      const us = [], weights = [];
      for (const [x, weight] of gauss) {  // u from -infinity is s = exp(u) from 0: a panel in s
        us.push(left === -Infinity ? right + log((1 + x) / 2) : right + half * (x - 1));
        weights.push(left === -Infinity ? weight / (1 + x) : half * weight);
      }
      if (right - left > WIDE && left > -Infinity) {
        us.forEach((u, i) => {
          found.push([[u], [weights[i]], angles(d, followingEdges(d, w, u, us[0], layout), task)]);
        });
      } else {
        const start = left === -Infinity ? right : left;
        found.push([us, weights, angles(d, sharedEdges(d, w, start, right, layout, band), task)]);
      }
    }
    return found;
  };

  // Bias, noise and their slopes in w, for L = sigma = 1.
  const unitRisk = (name, d, w, n, slopes = true) => {
    const task = CLASSES[name](d), sum = [0, 0, 0, 0];
    if (n === 1) return { bias: 2 * task.rest[0], biasSlope: 0, noise: 1, noiseSlope: 0 };
    for (const [us, weights, mesh] of panels(d, w, n, task.band, task)) {
      addPiece(task, d, w, n, us, weights, mesh, sum, slopes);
    }
    return { bias: sum[0], biasSlope: sum[1], noise: sum[2], noiseSlope: sum[3] };
  };

  // Risk and its parts in squared label units, with their slopes in w.
  const scaled = (unit, L, sigma) => {
    const bias = L * L * unit.bias, noise = sigma * sigma * unit.noise;
    const biasSlope = L * L * unit.biasSlope, noiseSlope = sigma * sigma * unit.noiseSlope;
    return { bias, noise, total: bias + noise, biasSlope, noiseSlope, slope: biasSlope + noiseSlope };
  };
  const risk = (name, d, w, n, L, sigma) => scaled(unitRisk(name, d, w, n), L, sigma);

  // Values at the windows that every search visits; they serve all L and sigma.
  const scanWindow = (k) => 1e-3 * 1.5 ** k;
  const scanned = cached((key) => {
    const [name, d, n, k] = key.split(" ");
    return unitRisk(name, Number(d), scanWindow(Number(k)), Number(n));
  });
  const atScan = (name, d, n, k) => scanned(`${name} ${d} ${n} ${k}`);

  // The w of least risk: every minimum met on the way up is refined as a root of the slope, the best one wins.
  // A bracket in which the slope changes its sign saves the search.
  const optimalWindow = (name, d, n, L, sigma, bracket) => {
    const at = (w) => ({ w, ...risk(name, d, w, n, L, sigma) });
    if (bracket) {
      const [left, right] = bracket.map(at);
      if (left.slope < 0 && right.slope > 0) return refine(left, right, at);
    }
    let before = at(0), best = before, lowest = before.total, falls = true;
    const last = 1 / capQuantile(d, 1 / n);  // less than one token within the kernel's reach
    for (let k = 0; n > 1; k++) {
      const here = { w: scanWindow(k), ...scaled(atScan(name, d, n, k), L, sigma) }, rises = here.slope >= 0;
      if (falls && rises) {
        const found = refine(before, here, at);
        if (found.total < best.total || best.w === 0) best = found;
      }
      falls = !rises;
      before = here;
      lowest = min(lowest, here.total);
      if (here.noise > lowest || (rises && here.w > last)) break;
    }
    return best;
  };
  // Root of the slope in a bracket: regula falsi in Illinois form.
  const refine = (left, right, at) => {
    let here = right, [f, g] = [left.slope, right.slope], side = 0;
    while (right.w - left.w > 1e-10 * right.w) {
      const before = here.w;
      here = at((left.w * g - right.w * f) / (g - f));
      if (abs(here.w - before) <= 1e-11 * here.w || here.slope === 0) break;
      if (here.slope > 0) {
        [right, g] = [here, here.slope];
        if (side === 1) f /= 2;
        side = 1;
      } else {
        [left, f] = [here, here.slope];
        if (side === -1) g /= 2;
        side = -1;
      }
    }
    return here;
  };

  const parts = { gauss, angles, panels, cap, refine };  // for the scripts of other figures
  return { ...parts, risk, scaled, unitRisk, optimalWindow, capQuantile, scanWindow, atScan };
})();
