// A step of gradient descent and the update of an attention layer, a figure for live.js: n tokens in the plane, their
// moves, and the angle between the two moves of the scores. Weights X are a turn, and P is the gradient in the scores.
// Tested against icl/tensor_trick in tests/icl_book/test_descent.py.
(() => {
  "use strict";
  const icl = (window.icl ??= {});
  const { PI, acos, atan2, cos, exp, hypot, max, min, round, sin, sqrt } = Math;
  const TURN = PI / 180;
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const across = (A) => A[0].map((_, j) => A.map((row) => row[j]));
  const times = (A, B) => A.map((row) => across(B).map((column) => sum(row.map((v, k) => v * column[k]))));
  const scale = (A, factor) => A.map((row) => row.map((v) => v * factor));
  const inner = (A, B) => sum(A.map((row, i) => sum(row.map((v, j) => v * B[i][j]))));
  const softmax = (A) => A.map((row) => {
    const top = max(...row), parts = row.map((v) => exp(v - top)), total = sum(parts);
    return parts.map((v) => v / total);
  });
  const inverse = ([[a, b], [c, d]]) => scale([[d, -b], [-c, a]], 1 / (a * d - b * c));
  // The largest eigenvalue, and the pseudo-inverse, of a symmetric 2 by 2 matrix without negative eigenvalues.
  const largest = ([[a, b], [, d]]) => (a + d + hypot(a - d, 2 * b)) / 2;
  const pseudo = (A) => {
    const trace = A[0][0] + A[1][1], det = A[0][0] * A[1][1] - A[0][1] * A[1][0];
    return det > 1e-12 * trace * trace ? inverse(A) : scale(A, 1 / (trace * trace));
  };

  // The move of the tokens that gives the scores of a gradient step: as asked for, and by linear attention.
  const wanted = ({ A1, A2, X, logits }) => {
    const B = softmax(logits), F = softmax(times(times(A1, X), across(A2)));
    const P = F.map((f, i) => {
      const residual = f.map((v, j) => v - B[i][j]), mean = sum(f.map((v, j) => v * residual[j]));
      return f.map((v, j) => v * (residual[j] - mean));
    });
    const [one, two] = [A1, A2].map((A) => largest(times(across(A), A)));
    const values = scale(times(times(P, A2), inverse(X)), -1 / (one * two));
    return { goal: times(A1, times(across(A1), values)), linear: times(times(A1, across(A1)), values) };
  };
  const attended = (A, c) => times(softmax(scale(times(A, across(A)), c)), A);
  // Both moves of the tokens, of length one in the scores, and the cosine between the moves of the scores.
  icl.descent = (mine, others, layer, c) => {
    const { goal, linear } = wanted(mine), features = attended(mine.A1, c);
    const fit = layer === "others" ? others : [mine];
    // goals of length one, or a long one would decide the fit alone
    const moments = fit.map((one) => [attended(one.A1, c), wanted(one).goal]).map(([f, g]) => [f, scale(g, 1 / sqrt(inner(g, g)))]);
    const add = (list) => list.reduce((A, B) => A.map((row, i) => row.map((v, j) => v + B[i][j])));
    const V = times(pseudo(add(moments.map(([f]) => times(across(f), f)))), add(moments.map(([f, g]) => times(across(f), g))));
    const moves = [goal, layer === "linear" ? linear : times(features, V)];
    const scores = moves.map((move) => times(times(move, mine.X), across(mine.A2)));
    const lengths = scores.map((S) => sqrt(inner(S, S)));
    return { moves: moves.map((move, i) => scale(move, 1 / lengths[i])), cosine: inner(...scores) / (lengths[0] * lengths[1]) };
  };
  icl.turn = (degrees) => [[cos(degrees * TURN), -sin(degrees * TURN)], [sin(degrees * TURN), cos(degrees * TURN)]];

  const descent = ({ number, text }) => {
    const LEFT = { x: 160, y: 150, scale: 44 }, RIGHT = { x: 460, y: 190, length: 118 }, RIM = 128;
    const disc = (x, y, r, name) => `<circle class="${name}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r}"/>`;
    const arrow = (x, y, dx, dy, name) => {
      const length = hypot(dx, dy), head = min(9, 0.5 * length), tip = [x + dx, y + dy], angle = atan2(dy, dx);
      const barb = (turn) => [tip[0] - head * cos(angle + turn), tip[1] - head * sin(angle + turn)];
      const at = (point) => point.map((v) => v.toFixed(1)).join();
      return `<path class="${name}" d="M${at([x, y])}L${at(tip)}M${at(barb(0.5))}L${at(tip)}L${at(barb(-0.5))}"/>`;
    };
    return {
      controls: ["layer", "angle", "c"],
      sliders: {
        layer: {
          label: "layer",
          options: {
            own: "softmax, own fit", others: "softmax, one for all", linear: "linear, told the residual",
          },
        },
        angle: { label: "weights X, degrees", range: [-180, 180], step: 1 },
        c: { label: "sharpness c", range: [0, 4], step: 0.05 },
      },
      drag: "angle",
      at: (x, y, { angle }) => (x > 310 ? angle : round(atan2(LEFT.y - y, x - LEFT.x) / TURN)),
      draw({ layer, angle, c }, { A1, A2, logits, others }) {
        const { moves, cosine } = icl.descent({ A1, A2, logits, X: icl.turn(angle) }, others, layer, c);
        const longest = max(...moves.flat().map(([a, b]) => hypot(a, b)));
        const [step, update] = moves.map((move) => scale(move, 46 / longest));
        const between = acos(max(-1, min(1, cosine))), { x, y, length } = RIGHT;
        const [hx, hy] = [LEFT.x + RIM * cos(angle * TURN), LEFT.y - RIM * sin(angle * TURN)];
        const tokens = A1.map(([a, b], i) => {
          const [px, py] = [LEFT.x + LEFT.scale * a, LEFT.y - LEFT.scale * b];
          return arrow(px, py, step[i][0], -step[i][1], "total") + arrow(px, py, update[i][0], -update[i][1], "layer") +
            disc(px, py, 3, "token");
        }).join("");
        const arc = Array.from({ length: 25 }, (_, k) => (between * k) / 24)
          .map((t) => `${(x + 34 * cos(t)).toFixed(1)},${(y - 34 * sin(t)).toFixed(1)}`).join("L");
        const [tx, ty] = [length * cos(between), -length * sin(between)];
        return {
          picture: disc(LEFT.x, LEFT.y, RIM, "frame") + tokens + disc(hx, hy, 7, "here") + disc(hx, hy, 26, "grab") +
            text(LEFT.x, 299, "tokens, and how each would move") +
            arrow(x, y, length, 0, "total") + arrow(x, y, tx, ty, "layer") + `<path class="rim" d="M${arc}"/>` +
            text(x + length, y + 20, "gradient step", "end") +
            text(max(360, min(560, x + tx)), max(14, y + ty - 10), layer === "linear" ? "linear layer" : "softmax layer") +
            text(x, y + 46, `cosine ${number(cosine)}, angle ${round(between / TURN)}°`) +
            text(x, 299, "the two moves of the scores"),
          height: 310,
          read: `${A1.length} tokens in the plane, weights X turned by ${angle}°, ` +
            (layer === "linear" ? "linear attention that is told the residual: "
              : `softmax layer of sharpness c = ${number(c)}, values ${layer === "own" ? "fitted to this problem"
                : `fitted to ${others.length} other problems`}: `) +
            `cosine ${number(cosine, 4)} between its move of the scores and that of the gradient step. ` +
            "Arrows show directions; lengths are scaled alike.",
        };
      },
    };
  };

  icl.figures = { ...icl.figures, descent };
})();
