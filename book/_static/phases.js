// The phase diagram of the window, for live.js; needs risk.js. Of affine functions and cosines finitely many degrees
// count: their risk is a sum over degrees of coefficients times integrals that all classes share. Tested in
// tests/icl_book/test_windows.py.
(() => {
  "use strict";
  const icl = window.icl;
  const { abs, asin, ceil, exp, expm1, log, log10, log1p, max, min, round, sin, sqrt } = Math;
  const range = (length, make) => Array.from({ length }, (_, k) => make(k));
  const DEGREES = [1, ...range(24, (i) => 2 * i + 2)];  // cosines up to L = 20 need no more
  const kept = new Map();
  const keep = (name, make) => kept.get(name) ?? kept.set(name, make()).get(name);

  // 1 - P_l at angles, for the degrees in turn; P_l are Gegenbauer polynomials with P_l(1) = 1.
  const eachDegree = (d, { theta, gap, size }, use) => {
    const up = (l) => (l > 0 ? (l + d - 2) / (2 * l + d - 2) : 1);
    const q = new Float64Array(size), step = new Float64Array(size), sine = theta.map((t) => sin(t) ** 2);
    DEGREES.forEach((l, i) => {
      if (l === 1) return use(gap, i);
      const ahead = up(l - 2) * up(l - 1), behind = (1 - up(l - 2)) * (1 - up(l - 3));
      for (let j = 0; j < size; j++) q[j] += step[j] = (behind * step[j] + sine[j] * (1 - q[j])) / ahead;
      return use(q, i);
    });
  };

  // The noise for sigma = 1, and the bias of each degree alone: of the class with covariance P_l.
  icl.degreeRisk = (d, w, n) => {
    const bias = new Float64Array(DEGREES.length);
    let noise = 0;
    for (const [us, weights, mesh] of icl.panels(d, w, n, DEGREES[DEGREES.length - 1])) {
      const { gap, p, size, below, above } = mesh, square = new Float64Array(size);
      const rows = us.map((u, i) => {
        const first = new Float64Array(size), second = new Float64Array(size);
        let missed = below, phi = above;
        for (let j = 0; j < size; j++) {
          const z = exp(min(u - w * gap[j], 6)), lost = expm1(-z);
          first[j] = z * (1 + lost) * p[j];
          second[j] = z * first[j];
          missed -= lost * p[j];
          phi += (1 + lost) * p[j];
        }
        const logPhi = missed < 0.5 ? log1p(-missed) : log(max(phi, 1e-300));
        const one = weights[i] * n * exp(max((n - 1) * logPhi, -700));
        for (let j = 0; j < size; j++) square[j] += one * second[j];
        return { first, two: weights[i] * n * (n - 1) * exp(max((n - 2) * logPhi, -700)) };
      });
      noise += square.reduce((a, b) => a + b, 0);
      eachDegree(d, mesh, (h, i) => {
        for (let j = 0; j < size; j++) bias[i] += 2 * square[j] * h[j];
        for (const { first, two } of rows) {
          let m = 0;
          for (let j = 0; j < size; j++) m += first[j] * h[j];
          bias[i] += two * m * m;
        }
      });
    }
    return { noise, bias };
  };

  // The same for the nearest neighbor, which is w = infinity: a mean over its angle.
  icl.degreeNearest = (d, n) => keep(`nearest ${d} ${n}`, () => {
    const last = 2 * asin(sqrt(icl.capQuantile(d, min(1, 45 / n)) / 2));
    const mesh = icl.angles(d, range(17, (k) => (last * k) / 16)), bias = [];
    const law = mesh.p.map((p, j) => n * p * exp((n - 1) * log1p(-min(1, icl.cap(d, mesh.gap[j] / 2)))));
    eachDegree(d, mesh, (h, i) => { bias[i] = 2 * law.reduce((sum, v, j) => sum + v * h[j], 0); });
    return { noise: 1, bias };
  });

  // Coefficients a_l of the covariance. Cosines: N_l times squared Bessel functions, by Miller's recurrence; those of
  // exp(iL u.x), whose degrees sum to one, at even degrees.
  const coefficients = (kind, d, L) => keep(`${kind} ${d} ${L}`, () => {
    if (kind === "affine") return DEGREES.map((l) => (l === 1 ? (L * L) / (3 * d) : 0));
    const top = 90, size = [1, d];  // of the space of each degree
    for (let l = 2; l <= top; l++) {
      size.push((size[l - 1] * (2 * l + d - 2) * (l + d - 3)) / ((2 * l + d - 4) * l));
    }
    const wave = [];
    let above = 0, here = 1e-200;
    for (let l = top; l >= 0; l--) {
      wave[l] = size[l] * here * here;
      [here, above] = [((2 * l + d - 2) / L) * here - above, here];
      if (abs(here) > 1e100) {
        [here, above] = [here * 1e-200, above * 1e-200];
        for (let k = l; k <= top; k++) wave[k] *= 1e-400;
      }
    }
    const total = wave.reduce((a, b) => a + b, 0);
    return DEGREES.map((l) => (l % 2 ? 0 : wave[l] / total));
  });
  icl.byDegrees = (kind, d, L, sigma, { noise, bias }) =>
    coefficients(kind, d, L).reduce((sum, a, i) => sum + a * bias[i], sigma * sigma * noise);

  const NAMES = ["equal weights", "a window", "few tokens"];
  const phase = (d, n, w) => (w === 0 ? 0 : n * icl.cap(d, min(0.5 / max(w, 0.25), 1)) < 2 ? 2 : 1);
  // From w = 0 to where the nearest token counts almost alone, and the lowest of some risks at them, by a parabola.
  const windows = (d, n, ratio) => {
    const end = min(3e4, 30 / icl.capQuantile(d, 1 / n));
    return [0, ...range(ceil(log(end / 0.1) / log(ratio)) + 1, (k) => 0.1 * ratio ** k)];
  };
  const vertex = ([a, b, c], [f, g, h]) => {
    const [p, q] = [(b - a) * (g - h), (b - c) * (g - f)];
    return p === q ? b : b - ((b - a) * p - (b - c) * q) / (2 * (p - q));
  };
  const lowest = (ws, risks, at) => {
    const k = risks.indexOf(min(...risks));
    if (k < 2 || k === ws.length - 1) return { w: ws[k], total: risks[k] };
    let x = ws.slice(k - 1, k + 2).map((w) => log(w)), f = risks.slice(k - 1, k + 2);
    for (let step = 0; at && step < 12; step++) {
      const next = vertex(x, f), value = at(exp(next)), right = next > x[1];
      if (abs(next - x[1]) < 1e-5) break;
      const i = right ? 2 : 1, all = [...x.slice(0, i), next, ...x.slice(i)], values = [...f.slice(0, i), value, ...f.slice(i)];
      const best = value < f[1] ? i : right ? 1 : 2;
      [x, f] = [all.slice(best - 1, best + 2), values.slice(best - 1, best + 2)];
    }
    return at ? { w: exp(x[1]), total: f[1] } : { w: exp(vertex(x, f)), total: f[1] };
  };

  const MAP = { left: 62, right: 292, top: 30, bottom: 264 }, CURVE = { ...MAP, left: 372, right: 606 };
  const N = [1, 4.2], L_RANGE = [-0.6, 1.3], COLUMNS = 13, ROWS = 12;
  const phases = ({ axes, fill, line, number, text }) => ({
    controls: ["kind", "d", "sigma", "n", "L"],
    sliders: {
      kind: { label: "functions", options: { cosine: "cosines cos(L u·x)", affine: "affine" } },
      n: { label: "context length n", range: N, step: 0.05, digits: 2 },
      L: { label: "wavenumber, slope L", range: L_RANGE, step: 0.05, digits: 2 },
    },
    drag: ["n", "L"],
    at: (x, y, { n, L }) => (x > MAP.right + 30 ? [log10(n), log10(L)] : [
      N[0] + ((x - MAP.left) / (MAP.right - MAP.left)) * (N[1] - N[0]),
      L_RANGE[0] + ((MAP.bottom - y) / (MAP.bottom - MAP.top)) * (L_RANGE[1] - L_RANGE[0]),
    ]),
    draw({ kind, d, sigma, n, L }, given, moving) {
      const total = (slope, parts) => icl.byDegrees(kind, d, slope, sigma, parts);
      const map = axes(N, L_RANGE, "context length n", kind === "affine" ? "Lipschitz constant L" : "wavenumber L", false, MAP);
      const center = ([low, high], cells, k) => 10 ** (low + ((high - low) * (k + 0.5)) / cells);
      const lengths = range(COLUMNS, (k) => round(center(N, COLUMNS, k)));
      const grids = keep(`grids ${d}`, () => lengths.map((m) => windows(d, m, 2)));
      const asked = grids.flatMap((ws, k) => ws.map((w) => [w, lengths[k]]));
      const chain = windows(d, n, 1.5), table = fill(`curve ${d} ${n}`, chain.length, (k) => icl.degreeRisk(d, chain[k], n));
      const known = fill(`map ${d}`, asked.length, (k) => icl.degreeRisk(d, ...asked[k]));

      // Cells, borders of phases, names.
      const wide = (MAP.right - MAP.left) / COLUMNS, tall = (MAP.bottom - MAP.top) / ROWS, found = [];
      let picture = map.back, start = 0;
      const corner = (i, k) => [MAP.left + i * wide, MAP.bottom - (k + 1) * tall];
      grids.forEach((ws, i) => {
        const parts = known.slice(start, start += ws.length);
        if (parts.length < ws.length) return;
        found.push(range(ROWS, (k) => {
          const slope = center(L_RANGE, ROWS, k), { w } = lowest(ws, parts.map((one) => total(slope, one)));
          const [x, y] = corner(i, k), deep = w > 0 ? min(1, max(0.05, (log10(w) + 1) / 5)) : 0;
          picture += `<rect class="cell" style="fill-opacity:${(0.85 * deep).toFixed(2)}" x="${x.toFixed(1)}" ` +
            `y="${y.toFixed(1)}" width="${wide.toFixed(1)}" height="${tall.toFixed(1)}"/>`;
          return phase(d, lengths[i], w);
        }));
      });
      found.forEach((column, i) => column.forEach((here, k) => {
        const [x, y] = corner(i, k);
        if (i && found[i - 1][k] !== here) picture += line(x, y, x, y + tall, "edge");
        if (k && column[k - 1] !== here) picture += line(x, y + tall, x + wide, y + tall, "edge");
      }));
      const taken = [];  // rows with a name, where a phase is widest
      NAMES.forEach((name, which) => {
        const rows = range(ROWS, (k) => [k, found.flatMap((column, i) => (column[k] === which ? [i] : []))])
          .filter(([k, at]) => at.length > 2 && taken.every((other) => abs(other - k) > 1));
        if (!rows.length) return;
        const [k, at] = rows.sort((a, b) => b[1].length - a[1].length)[0], half = 5.2 * name.length;
        const [x, y] = corner((at[0] + at[at.length - 1] + 1) / 2, k);
        taken.push(k);
        picture += text(max(MAP.left + half, min(MAP.right - half, x)), y + tall / 2 + 4, name, "middle", 'class="name"');
      });
      picture += text((MAP.left + MAP.right) / 2, 18, "deeper color: narrower best window") +
        map.dot(n, L, "here") + map.dot(n, L, "grab");

      // The risk at the point, in units of the least.
      const risks = table.map((parts) => total(L, parts)), pending = risks.length < chain.length;
      const best = pending ? { total: min(...risks) } : lowest(chain, risks, moving ? null : (w) => total(L, icl.degreeRisk(d, w, n)));
      const nearest = total(L, icl.degreeNearest(d, n)) / best.total, equal = risks[0] / best.total;
      const top = [1.5, 2, 5].find((v) => v > 1.1 * max(nearest, equal)) ?? 10;
      const chart = axes([-1, 4.5], [-0.04 * log10(top), log10(top)], "window parameter w", "risk / least risk", false, CURVE);
      const level = (value, name, words, x, anchor) => line(CURVE.left, chart.y(value), CURVE.right, chart.y(value), name) +
        text(x, chart.y(value) + (value > 0.9 * top ? 16 : -6), words, anchor);
      picture += chart.back + chart.curve(risks.slice(1).map((v, k) => [chain[k + 1], v / best.total]), "total") +
        level(equal, "bias", "equal weights", CURVE.left + 6, "start") +
        level(nearest, "noise", "nearest neighbor", CURVE.right - 6, "end") + text((CURVE.left + CURVE.right) / 2, 18,
        pending ? "" : `best window w* = ${number(best.w)}`);
      if (!pending) picture += chart.dot(max(best.w, 0.1), 1, "here");
      const head = `${kind === "affine" ? "Affine functions" : "Cosines"}, d = ${d}, σ = ${number(sigma)}, n = ${number(n)}, ` +
        `L = ${number(L)}: `;
      return {
        picture,
        height: 310,
        read: pending ? `${head}computing.` : `${head}${NAMES[phase(d, n, best.w)]}, w* = ${number(best.w, 4)}, with the ` +
          `least risk ${number(best.total, 4)}. Equal weights have ${number(equal, 4)} times the least risk, the nearest ` +
          `neighbor has ${number(nearest, 4)} times.`,
        pending: pending || known.length < asked.length,
      };
    },
  });

  icl.figures = { ...icl.figures, phases };
})();
