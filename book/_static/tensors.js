// A figure of the tensor trick for live.js, the entries of a Kronecker product. Tested against
// icl/tensor_trick/kronecker.py in tests/icl_book/test_drawings.py.
(() => {
  "use strict";
  const icl = (window.icl ??= {});
  const { floor } = Math;
  const count = (many) => Array.from({ length: many }, (_, i) => i);

  icl.kron = (A, B) => count(A.length * B.length).map((r) => count(A[0].length * B[0].length).map((c) =>
    A[floor(r / B.length)][floor(c / B[0].length)] * B[r % B.length][c % B[0].length]));

  // Three tables. An entry of the product points at its two factors, and a factor at all entries it is in.
  const kronecker = () => ({
    mount(body, { A1, A2 }) {
      const m = A2.length, e = A2[0].length;
      const tables = [["A₁", A1], ["A₂", A2], ["A₁ ⊗ A₂", icl.kron(A1, A2)]];
      // Rows and columns, counted from 0, of the factors behind an entry of table t; -1 stands for all.
      const factors = (t, r, c) =>
        [[r, c, -1, -1], [-1, -1, r, c], [floor(r / m), floor(c / e), r % m, c % e]][t];
      const pick = (numbers) => numbers.map((i) => i + 1).join(", ");
      const words = (t, r, c) => {
        const [i, k, p, q] = factors(t, r, c), at = `[${r + 1}, ${c + 1}]`, value = tables[t][1][r][c];
        if (t === 0) {
          return `A₁${at} = ${value} multiplies all of A₂: the block of rows ${pick(count(m).map((j) => r * m + j))} and ` +
            `columns ${pick(count(e).map((j) => c * e + j))} of A₁ ⊗ A₂.`;
        }
        if (t === 1) {
          return `A₂${at} = ${value} is in every block, at its row ${r + 1} and column ${c + 1}: in rows ` +
            `${pick(A1.map((_, j) => j * m + r))} and columns ${pick(A1[0].map((_, j) => j * e + c))} of A₁ ⊗ A₂.`;
        }
        const factor = (matrix, y, x) => `${matrix[y][x] < 0 ? `(${matrix[y][x]})` : matrix[y][x]}`;
        return `(A₁ ⊗ A₂)${at} = A₁[${i + 1}, ${k + 1}] · A₂[${p + 1}, ${q + 1}]: ${value} = ${factor(A1, i, k)} · ` +
          `${factor(A2, p, q)}. Row ${r + 1} = (${i + 1} − 1)·${m} + ${p + 1} gives the score [${i + 1}, ${p + 1}] of ` +
          `A₁XA₂ᵀ, and column ${c + 1} = (${k + 1} − 1)·${e} + ${q + 1} multiplies X[${k + 1}, ${q + 1}].`;
      };
      const make = (name, parent, attributes = {}) => {
        const element = document.createElement(name);
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        return parent.appendChild(element);
      };
      const panel = make("div", body, { class: "matrices" }), cells = [];
      tables.forEach(([name, values], t) => {
        const table = make("table", panel, { role: "grid", "aria-label": name });
        make("caption", table).textContent = name;
        values.forEach((row, r) => {
          const line = make("tr", table, { role: "row" });
          row.forEach((value, c) => {
            const edge = t === 2 && [r % m === 0 && r && "top", c % e === 0 && c && "left"].filter(Boolean).join(" ");
            const cell = make("td", line, { role: "gridcell", tabindex: -1, "aria-label": words(t, r, c) });
            if (edge) cell.className = edge;
            cell.textContent = String(value).replace("-", "−");
            cells.push({ cell, t, r, c, factors: factors(t, r, c) });
          });
        });
      });
      const read = make("output", body, { class: "read", "aria-live": "polite" });
      const show = (chosen) => {
        const { t, r, c } = chosen;
        for (const { cell, t: other, factors: theirs } of cells) {
          const linked = theirs.every((v, i) => v < 0 || chosen.factors[i] < 0 || v === chosen.factors[i]);
          // A factor picked in one table says nothing about the entries of the other.
          cell.classList.toggle("linked", linked && (t === 2 || other === 2 || other === t));
          cell.classList.toggle("chosen", cell === chosen.cell);
          if (other === t) cell.tabIndex = cell === chosen.cell ? 0 : -1;
        }
        read.textContent = words(t, r, c);
      };
      const find = (t, r, c) => cells.find((one) => one.t === t && one.r === r && one.c === c);
      const of = (event) => cells.find(({ cell }) => cell === event.target);
      const follow = (event) => of(event) && show(of(event));
      panel.addEventListener("pointerover", follow);
      panel.addEventListener("focusin", follow);
      panel.addEventListener("keydown", (event) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        const from = of(event);
        if (!step || !from) return;
        event.preventDefault();
        find(from.t, from.r + step[0], from.c + step[1])?.cell.focus();
      });
      for (const t of [0, 1]) find(t, 0, 0).cell.tabIndex = 0;
      show(find(2, 2, 1));
    },
  });

  icl.figures = { ...icl.figures, kronecker };
})();
