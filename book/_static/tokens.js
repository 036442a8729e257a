// Attention to tokens in the plane, two figures for live.js. Weights and predictions are those of icl/attention.py,
// tested against it in tests/icl_book/test_drawings.py.
(() => {
  "use strict";
  const icl = (window.icl ??= {});
  const { PI, atan2, cos, exp, max, min, round, sin, sqrt } = Math;
  const TURN = PI / 180;
  const sum = (list) => list.reduce((a, b) => a + b, 0);

  // Softmax over tokens [x, y] of the scores x' M q, with M = diag(m), and the number of tokens that count.
  icl.attend = (tokens, query, m) => {
    const scores = tokens.map((x) => x[0] * m[0] * query[0] + x[1] * m[1] * query[1]), top = max(...scores);
    const parts = scores.map((s) => exp(s - top)), total = sum(parts), weights = parts.map((p) => p / total);
    return { weights, effective: 1 / sum(weights.map((v) => v * v)) };
  };
  const around = (degrees) => [cos(degrees * TURN), sin(degrees * TURN)];
  const degrees = (x, y) => round(atan2(y, x) / TURN);
  const disc = (x, y, r, name) => `<circle class="${name}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r.toFixed(1)}"/>`;
  // The area of a disc is its weight; a token without weight stays a point.
  const token = (x, y, weight) => disc(x, y, 30 * sqrt(weight), "weight") + disc(x, y, 1.5, "token");
  const ANGLE = { label: "query, degrees", range: [-180, 180], step: 1 };
  const WINDOW = { label: "window parameter w", range: [-1, 3], step: 0.02, digits: 3 };

  // Tokens on the circle, and the same tokens with their labels against the angle.
  const circle = ({ line, number, text }) => {
    const at = { x: 150, y: 150, r: 105 }, box = { left: 330, right: 588, top: 28, bottom: 262 };
    const across = (angle) => box.left + ((box.right - box.left) * (angle + 180)) / 360;
    const up = (value) => max(box.top, min(box.bottom, (box.top + box.bottom) / 2 - value * 62));
    return {
      controls: ["angle", "w", "L"],
      sliders: { angle: ANGLE, w: WINDOW, L: { label: "L, waves on the circle", range: [1, 8], step: 1 } },
      drag: "angle",
      at: (x, y) => (x < 310 ? degrees(x - at.x, at.y - y)
        : round(((x - box.left) / (box.right - box.left)) * 360 - 180)),
      draw({ angle, w, L }, { angles, noise, sigma }) {
        const place = (a, r) => [at.x + r * cos(a * TURN), at.y - r * sin(a * TURN)];
        const f = (a) => cos(L * a * TURN), labels = angles.map((a, i) => f(a) + sigma * noise[i]);
        const { weights, effective } = icl.attend(angles.map(around), around(angle), [w, w]);
        const prediction = sum(weights.map((v, i) => v * labels[i])), q = place(angle, at.r + 22);
        const path = Array.from({ length: 361 }, (_, i) => `${across(i - 180).toFixed(1)},${up(f(i - 180)).toFixed(1)}`);
        const picture = disc(at.x, at.y, at.r, "frame") + line(at.x, at.y, ...q, "frame") +
          angles.map((a, i) => token(...place(a, at.r), weights[i])).join("") +
          disc(...q, 7, "here") + disc(...q, 26, "grab") + text(at.x, 294, "area of a dot: its attention weight") +
          `<rect class="frame" x="${box.left}" y="${box.top}" width="${box.right - box.left}" ` +
          `height="${box.bottom - box.top}"/>` + line(across(angle), box.top, across(angle), box.bottom, "frame") +
          `<path class="bias" d="M${path.join("L")}"/>` +
          angles.map((a, i) => token(across(a), up(labels[i]), weights[i])).join("") +
          disc(across(angle), up(f(angle)), 6, "best") + disc(across(angle), up(prediction), 6, "here") +
          [-180, 0, 180].map((a) => text(across(a), 279, `${a}°`, a < 0 ? "start" : a ? "end" : "middle")).join("") +
          [-1, 0, 1].map((v) => text(box.left - 6, up(v) + 4, v, "end")).join("") +
          disc(box.left + 8, 14, 6, "here") + text(box.left + 20, 19, "prediction", "start") +
          disc(box.left + 128, 14, 6, "best") + text(box.left + 140, 19, "target", "start") +
          text((box.left + box.right) / 2, 297, "angle; dots: labels");
        return {
          picture,
          height: 306,
          read: `Function cos(${L}·angle), ${angles.length} tokens, noise σ = ${number(sigma)}. Query at ${angle}°, ` +
            `w = ${number(w)}: prediction ${number(prediction, 4)}, target ${number(f(angle), 4)}. ` +
            `Effective number of tokens 1/Σω² = ${number(effective, 4)}.`,
        };
      },
    };
  };

  icl.figures = { ...icl.figures, circle };
})();
