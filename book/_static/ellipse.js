// Attention to tokens on an ellipse, before and after whitening: a figure for live.js that needs tokens.js.
(() => {
  "use strict";
  const { PI, atan2, cos, hypot, log, max, round, sin, sqrt } = Math;
  const TURN = PI / 180, LINES = 6;

  const ellipse = ({ line, number, text }) => {
    const left = { x: 155, y: 140, scale: 60 }, right = { x: 470, y: 140, scale: 100 };
    const disc = (x, y, r, name) => `<circle class="${name}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r.toFixed(1)}"/>`;
    const root = (ratio) => [sqrt(ratio), 1 / sqrt(ratio)];  // Sigma^(1/2): the area of the ellipse stays
    return {
      controls: ["M", "angle", "w", "ratio"],
      sliders: {
        M: { label: "matrix M", options: { inverse: "wΣ⁻¹", identity: "wI" } },
        angle: { label: "query, degrees of u", range: [-180, 180], step: 1 },
        w: { label: "window parameter w", range: [-1, 2], step: 0.02, digits: 3 },
        ratio: { label: "axis ratio", range: [1, 4], step: 0.1 },
      },
      drag: "angle",
      at: (x, y, { ratio }) => {
        const [a, b] = x < 310 ? root(ratio) : [1, 1], panel = x < 310 ? left : right;
        return round(atan2((panel.y - y) / b, (x - panel.x) / a) / TURN);
      },
      draw({ M, angle, w, ratio }, { angles }) {
        const s = root(ratio), m = M === "inverse" ? s.map((v) => w / (v * v)) : [w, w];
        const units = angles.map((a) => [cos(a * TURN), sin(a * TURN)]), u = [cos(angle * TURN), sin(angle * TURN)];
        const stretch = ([a, b]) => [a * s[0], b * s[1]], query = stretch(u);
        const { weights, effective } = window.icl.attend(units.map(stretch), query, m);
        // In whitened coordinates the score of u is u . h; its lines of equal weight are chords across h.
        const h = query.map((v, i) => v * m[i] * s[i]), length = hypot(...h), [x, y] = h.map((v) => v / length);
        const chords = Array.from({ length: LINES }, (_, k) => 1 - (k * log(10)) / length).filter((t) => t > -1);
        const panel = ({ x: cx, y: cy, scale }, shape) => {
          const at = (point) => [cx + scale * shape(point)[0], cy - scale * shape(point)[1]];
          const rim = Array.from({ length: 91 }, (_, i) => at([cos(i * 4 * TURN), sin(i * 4 * TURN)])
            .map((v) => v.toFixed(1)).join());
          const chord = (t) => {
            const half = sqrt(1 - t * t) + 0.12;
            return line(...at([t * x - half * y, t * y + half * x]), ...at([t * x + half * y, t * y - half * x]), "level");
          };
          return `<path class="rim" d="M${rim.join("L")}"/>` + chords.map(chord).join("") + units.map((v, i) =>
            disc(...at(v), 30 * sqrt(weights[i]), "weight") + disc(...at(v), 1.5, "token")).join("") +
            disc(...at(u), 6, "here") + disc(...at(u), 24, "grab");
        };
        const heaviest = weights.indexOf(max(...weights));
        const apart = Math.abs(((angles[heaviest] - angle + 540) % 360) - 180);
        return {
          picture: panel(left, stretch) + panel(right, (v) => v) + text(left.x, 284, "tokens x = √Σ u") +
            text(right.x, 284, "whitened: u"),
          height: 296,
          read: `√Σ = diag(${number(s[0])}, ${number(s[1])}), M = ${M === "inverse" ? "wΣ⁻¹" : "wI"}, ` +
            `w = ${number(w)}, query at u = ${angle}°: the heaviest of ${angles.length} tokens, ${apart}° from the query ` +
            `in u, has weight ${number(weights[heaviest], 4)}; effective number of tokens 1/Σω² = ` +
            `${number(effective, 4)}. From line to line the weight falls to a tenth.`,
        };
      },
    };
  };

  window.icl.figures = { ...window.icl.figures, ellipse };
})();
