// Filters for the audit page, which opens with what neither holds nor is left untested. Without this script it is the whole list.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("icl-audit");
  const entries = [...document.querySelectorAll(".icl-entry")];
  if (!place || !entries.length) return;
  // The addresses of statements were longer once.
  const moved = location.hash.match(/^#audit-(P[12]\..+)/);
  if (moved) history.replaceState(null, "", `#${moved[1]}`);

  const keys = { paper: "Paper", authority: "Who says it", verdict: "Verdict", grade: "Evidence", chapter: "Chapter" };
  const wanted = new URLSearchParams(location.search);
  const form = document.createElement("form");
  form.className = "icl-filters";
  form.setAttribute("role", "search");
  form.addEventListener("submit", (event) => event.preventDefault());

  const field = (text, control) => {
    const label = document.createElement("label");
    label.append(text, control);
    form.append(label);
    return control;
  };
  const select = (text, options) => {
    const control = document.createElement("select");
    for (const [value, name] of options) control.add(new Option(name, value));
    return field(text, control);
  };

  // What a reader looks for first: verdicts other than that a statement holds, is known, or is not tested.
  const SIMPLE = ["holds", "proved", "computed", "measured", "not read", "not testable"];
  const objecting = [...new Set(entries.map((entry) => entry.dataset.verdict))].filter((one) => !SIMPLE.includes(one)).sort();
  const OBJECTS = objecting.join(" or ");
  const has = (entry, key, value) =>
    key === "verdict" && value === OBJECTS ? objecting.includes(entry.dataset[key]) : entry.dataset[key] === value;
  const selects = {};
  for (const [key, text] of Object.entries(keys)) {
    const counts = new Map();
    for (const entry of entries) counts.set(entry.dataset[key], (counts.get(entry.dataset[key]) || 0) + 1);
    const options = [...counts].sort().map(([value, count]) => [value, `${value} (${count})`]);
    if (key === "verdict" && objecting.length) {
      const count = entries.filter((entry) => has(entry, key, OBJECTS)).length;
      if (objecting.length > 1) options.unshift([OBJECTS, `${OBJECTS} (${count})`]);
      if (!wanted.size && !location.hash) wanted.set(key, OBJECTS);
    }
    selects[key] = select(text, [["", "all"], ...options]);
    if (options.some(([value]) => value === wanted.get(key))) selects[key].value = wanted.get(key);
  }
  const order = select("Order", [["", "chapters"], ["id", "name"], ["verdict", "verdict"], ["authority", "who says it"]]);
  const text = document.createElement("input");
  text.type = "search";
  text.placeholder = "a word or an id";
  text.value = wanted.get("text") || "";
  field("Text", text);
  const reset = document.createElement("button");
  reset.type = "reset";
  reset.textContent = "Show all";
  const count = document.createElement("output");
  count.setAttribute("aria-live", "polite");
  form.append(reset, count);
  place.append(form);

  // Sections stay where they are; sorted entries move to a list of their own and back.
  const homes = entries.map((entry) => [entry, entry.parentNode, entry.nextSibling]);
  const sorted = document.createElement("div");
  place.append(sorted);
  const sections = [...document.querySelectorAll("section")].filter(
    (section) => section.querySelector(".icl-entry") && !section.contains(place)
  );
  const words = new Map(entries.map((entry) => [entry, entry.textContent.toLowerCase()]));

  const update = () => {
    const asked = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const entry of entries) {
      const fits =
        Object.keys(keys).every((key) => !selects[key].value || has(entry, key, selects[key].value)) &&
        asked.every((word) => words.get(entry).includes(word));
      entry.hidden = !fits;
      shown += fits;
    }
    for (const [entry, parent, next] of [...homes].reverse()) parent.insertBefore(entry, next);
    if (order.value) {
      const by = (entry) => `${entry.dataset[order.value]} ${entry.dataset.id}`;
      sorted.append(...[...entries].sort((a, b) => by(a).localeCompare(by(b))));
    }
    for (const section of sections) {
      section.hidden = Boolean(order.value) || !section.querySelector(".icl-entry:not([hidden])");
    }
    count.textContent = `${shown} of ${entries.length} statements`;
    const query = new URLSearchParams();
    for (const key of Object.keys(keys)) if (selects[key].value) query.set(key, selects[key].value);
    if (text.value) query.set("text", text.value);
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
  };
  for (const event of ["input", "change"]) form.addEventListener(event, update);
  form.addEventListener("reset", () => setTimeout(update));
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.hidden) return;
    form.reset();
    setTimeout(() => target.scrollIntoView());
  };
  addEventListener("hashchange", reveal);
  update();
  reveal();
});
