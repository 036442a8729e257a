// Draws the figures of icl_book.interactive: looks up numbers of the table beside it, multiplies columns by the square
// of a slider, adds them. Everything else that is shown was computed by the notebook.
(() => {
  "use strict";
  const { abs, ceil, floor, log10, max, min, round } = Math;

  const power = (k) => `10${[...String(k)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("")}`;
  // 0.00123 as 1.23·10⁻³, 1000000 as 10⁶.
  const number = (v, digits = 3) => {
    if (!Number.isFinite(v)) return "not computed";
    const size = v === 0 ? 0 : floor(log10(abs(v)) + 1e-9);
    if (size > -4 && size < 5) return String(Number(v.toPrecision(max(digits, size + 1)))).replace("-", "−");
    const [head, k] = v.toExponential(digits - 1).split("e").map(Number);
    return `${head === 1 ? "" : `${String(head).replace("-", "−")}·`}${power(k)}`;
  };
  const html = (name, parent, attributes = {}, words = "") => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = words;
    return parent.appendChild(element);
  };

  // A logarithmic axis from low to high over pixels: its scale, the values of its ticks, and how they are written: if all
  // are powers of ten, as such.
  const axis = (low, high, from, to, apart) => {
    const f = (v) => (v > 0 ? log10(v) : NaN), [a, b] = [f(low), f(high)];
    const at = (v) => from + ((to - from) * (f(v) - a)) / (b - a);
    const many = max(1, floor(abs(to - from) / apart));
    const powers = b - a >= 2.5, say = powers ? (v) => power(round(log10(v))) : number;
    const step = ceil((b - a) / many - 1e-9), heads = b - a < 0.7 ? [1, 1.2, 1.5, 2, 3, 5, 7] : powers ? [1] : [1, 2, 5];
    const ticks = [];
    for (let k = floor(a); k <= b + 1e-9; k++) if (k % step === 0) ticks.push(...heads.map((h) => Number(`${h}e${k}`)));
    return { at, say, ticks: ticks.filter((v) => f(v) >= a - 1e-9 && f(v) <= b + 1e-9), has: (v) => f(v) >= a && f(v) <= b };
  };
  // Where the vertical axis ends if nobody says: whole powers of ten that hold the first curve and what of the others is
  // within two powers of ten of it.
  const reach = (lines) => {
    const known = lines.map((line) => line.filter((v) => Number.isFinite(v) && v > 0));
    const [low, high] = [min(...known[0]), max(...known[0])];
    const all = known.flat().filter((v) => v >= low / 100 && v <= high * 100);
    return [10 ** floor(log10(min(...all)) + 0.001), 10 ** ceil(log10(max(...all)) - 0.001)];
  };

  const start = (root) => {
    const given = JSON.parse(root.querySelector("script").textContent), state = {}, show = {};
    const stops = Object.fromEntries(given.sliders.map(({ name, stops }) => [name, stops]));
    for (const table of Object.values(given.tables)) {
      for (const column of Object.values(table.columns)) {
        column.values = new Float32Array(Uint8Array.from(atob(column.data), (c) => c.charCodeAt(0)).buffer);
      }
    }
    // The numbers of a column at the present setting.
    const numbers = (name, column) => {
      const { rows, columns } = given.tables[name], { keys, values } = columns[column];
      const size = values.length / keys.reduce((many, key) => many * stops[key].length, 1);  // all rows, or one for all
      const place = keys.reduce((at, key) => at * stops[key].length + state[key], 0);
      return Array.from({ length: rows }, (_, i) => values[place * size + (i % size)]);
    };
    const curve = (column) => {
      const { squares } = given;
      if (column in given.tables.curves.columns) {
        const factor = column in squares ? stops[squares[column]][state[squares[column]]] ** 2 : 1;
        return numbers("curves", column).map((v) => factor * v);
      }
      return Object.keys(squares).map(curve).reduce((one, other) => one.map((v, i) => v + other[i]));
    };

    const body = html("div", root, { class: "body" });
    root.querySelector(".experiment").after(body);
    const seen = html("div", body, { class: "seen" });
    const scene = root.querySelector(".scene");
    if (scene) seen.append(scene);
    const legend = html("p", seen, { class: "legend", "aria-hidden": "true" });
    given.y.forEach(([, words], i) => {
      const item = html("span", legend);
      item.innerHTML = `<svg width="30" height="10"><path class="l${i}" d="M1,5H29"/></svg>`;
      item.append(words);
    });
    if (given.tables.best) {
      const item = html("span", legend);
      item.innerHTML = '<svg width="14" height="14"><circle class="best" cx="7" cy="7" r="5.5"/></svg>';
      item.append("best");
    }
    const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    drawing.setAttribute("class", "drawing");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", given.alt);
    seen.append(drawing);
    const controls = html("div", body, { class: "controls" });
    for (const { name, label, stops: values } of given.sliders) {
      const row = html("label", controls), menu = typeof values[0] === "string";
      html("span", row, {}, label);
      const input = html(menu ? "select" : "input", row, menu ? {} : { type: "range", min: 0, max: values.length - 1, step: 1 });
      if (menu) values.forEach((value, i) => html("option", input, { value: i }, value));
      const said = html("span", row, { class: "value", "aria-hidden": "true" });
      input.addEventListener("input", () => set({ [name]: Number(input.value) }));
      show[name] = () => {
        input.value = state[name];
        if (menu) return;
        said.textContent = number(values[state[name]]);
        input.setAttribute("aria-valuetext", said.textContent);
      };
    }
    const reset = html("button", controls, { type: "button" }, "Reset");
    const read = html("output", body, { class: "read", "aria-live": "polite" });
    if (scene?.matches(".beside")) body.append(seen);  // below what moves it

    let abscissa = () => 0;  // from pixels to the stop of the slider x
    const draw = () => {
      const width = drawing.clientWidth || 620, height = round(max(230, min(330, 0.52 * width)));
      const box = { left: 68, right: width - 22, top: 10, bottom: height - 46 };
      const x = numbers("curves", given.x), lines = given.y.map(([name]) => curve(name));
      const [low, high] = given.ylim ?? reach(lines);
      const across = axis(min(...x), max(...x), box.left, box.right, 64);
      const up = axis(low, high, box.bottom, box.top, 34);
      const place = (v, u) => `${across.at(v).toFixed(1)},${up.at(u).toFixed(1)}`;
      const inside = [];
      for (const v of across.ticks) inside.push(`<path class="grid" d="M${across.at(v)},${box.top}V${box.bottom}"/>`);
      for (const u of up.ticks) inside.push(`<path class="grid" d="M${box.left},${up.at(u)}H${box.right}"/>`);
      const { best } = given.tables;
      lines.forEach((line, i) => {
        let path = "", pen = "M";  // lifted where there is no number; the frame cuts what leaves it
        line.forEach((u, k) => {
          const drawn = Number.isFinite(across.at(x[k])) && Number.isFinite(up.at(u));
          if (drawn) path += pen + place(x[k], u);
          pen = drawn ? "L" : "M";
        });
        inside.push(`<path class="l${i}" d="${path}"/>`);
      });
      const said = [], values = {}, at = stops[given.x][state[given.x]];
      const slider = given.sliders.find(({ name }) => name === given.x).label;
      const [label, unit] = slider.replace(")", "").split(" (");  // a unit in parentheses, or none
      const k = x.reduce((one, v, i) => (abs(v - at) < abs(x[one] - at) ? i : one), 0);
      inside.push(`<path class="cursor" d="M${across.at(at)},${box.top}V${box.bottom}"/>`);
      lines.forEach((line, i) => {
        values[given.y[i][0]] = line[k];
        if (Number.isFinite(up.at(line[k]))) {
          inside.push(`<circle class="here l${i}" cx="${across.at(x[k])}" cy="${up.at(line[k])}" r="5"/>`);
        }
      });
      said.push(`At ${label} = ${number(at)}${unit ? ` ${unit}` : ""}: ` + given.y.map(([name, words]) => `${words} ${number(values[name])}`).join("; ") + ".");
      if (best) {
        const [[bx], [by]] = [given.x, given.y[0][0]].map((name) => numbers("best", name));
        Object.assign(values, { best: bx, least: by });
        inside.push(`<path class="tick" d="M${place(bx, by)}V${box.bottom}"/>`.replace(/.*NaN.*/, "") +
          `<circle class="best" cx="${across.at(bx)}" cy="${up.at(by)}" r="7"/>`.replace(/.*NaN.*/, ""));
        const where = across.has(bx) && up.has(by) ? "" : " (outside the frame)";
        said.push(`The best ${label} (ring) is ${number(bx)}${unit ? ` ${unit}` : ""}${where}, with ${given.y[0][1]} ${number(by)}.`);
      }
      if (given.told.length) {
        for (const [name] of given.told) values[name] = numbers("curves", name)[0];
        said.push(given.told.map(([name, words]) => words.replace("{}", number(values[name]))).join(" "));
      }
      for (const circle of scene?.querySelectorAll("[data-scale]") ?? []) {
        circle.setAttribute("r", circle.dataset.scale * (circle.matches(".best") ? values.best : at));
      }
      for (const part of scene?.querySelectorAll("[data-when]") ?? []) {
        const when = Object.entries(JSON.parse(part.dataset.when));
        part.toggleAttribute("hidden", !when.every(([name, at]) => at.includes(stops[name][state[name]])));
      }
      const text = (v, u, words, anchor, more = "") => `<text x="${v}" y="${u}" text-anchor="${anchor}" ${more}>${words}</text>`;
      drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
      drawing.style.height = `${height}px`;
      const [w, h] = [box.right - box.left, box.bottom - box.top];
      drawing.innerHTML = `<svg x="${box.left}" y="${box.top}" width="${w}" height="${h}" ` +
        `viewBox="${box.left} ${box.top} ${w} ${h}">${inside.join("")}</svg>` +
        `<rect class="frame" x="${box.left}" y="${box.top}" width="${w}" height="${h}"/>` +
        across.ticks.map((v) => text(across.at(v), box.bottom + 18, across.say(v), "middle")).join("") +
        up.ticks.map((u) => text(box.left - 7, up.at(u) + 5, up.say(u), "end")).join("") +
        text(width / 2, height - 7, given.labels[0], "middle") +
        text(-(box.top + box.bottom) / 2, 14, given.labels[1], "middle", 'transform="rotate(-90)"');
      if (read.textContent !== said.join(" ")) read.textContent = said.join(" ");
      root.dataset.values = JSON.stringify(values);
      abscissa = (pixel) => stops[given.x].reduce((one, v, i, all) =>
        (abs(across.at(v) - pixel) < abs(across.at(all[one]) - pixel) ? i : one), 0);
    };
    const set = (changes) => {
      Object.assign(state, changes);
      Object.values(show).forEach((one) => one());
      draw();
    };
    const home = Object.fromEntries(given.sliders.map(({ name, start: at }) => [name, at]));
    reset.addEventListener("click", () => set(home));
    const pull = (event) => {
      if (event.buttons & 1) set({ [given.x]: abscissa(event.clientX - drawing.getBoundingClientRect().left) });
    };
    drawing.addEventListener("pointerdown", pull);
    drawing.addEventListener("pointermove", pull);
    set(home);
    root.querySelector("img").hidden = true;
    root.dataset.ready = "";
    new ResizeObserver(draw).observe(drawing);
  };
  document.querySelectorAll(".icl-interactive:not([data-ready])").forEach(start);
})();
