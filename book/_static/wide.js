// A link opens the folds around its target, and a card or a statement of the audit to which it leads.
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.closest("details, .icl-card")) return;
  for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  for (const box of target.querySelectorAll(":scope > details")) box.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
addEventListener("load", reveal);
// A formula in a sentence that is wider than its column gets a line of its own, which scrolls inside the page.
const fit = () => {
  for (const formula of document.querySelectorAll(".bd-article span.math")) {
    const line = formula.closest(".icl-whole") ?? formula;  // with its punctuation
    line.classList.remove("icl-wide");
    let block = line.parentElement;
    while (!block.clientWidth) block = block.parentElement;  // inline and hidden have none
    const { paddingLeft, paddingRight } = getComputedStyle(block);
    const room = block.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    const drawn = formula.querySelector("mjx-container")?.getBoundingClientRect();
    line.classList.toggle("icl-wide", drawn?.width > room + 1);
  }
  // What scrolls, and only that, can be reached with the keyboard.
  const boxes = "div.math, .icl-wide, .icl-scrolls, .icl-scroll, .icl-table, .pst-scrollable-table-container, .text_html, pre";
  for (const box of document.querySelectorAll(`.bd-article :is(${boxes})`)) {
    const scrolls = box.clientWidth && box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("icl-scrolls", scrolls);
    if (scrolls) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
// A figure links to itself alone, panels side by side. On a phone it has a second drawing, or keeps four fifths
// of the size at which it was drawn, and scrolls.
addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll(".bd-article figure img")) {
    if (picture.closest("a")) continue;
    const link = document.createElement("a");
    Object.assign(link, { href: picture.src, title: "Show the figure alone", className: "icl-alone" });
    const both = picture.closest("picture") ?? picture;
    both.replaceWith(link);
    link.append(both);
    const drawn = () => link.style.setProperty("--drawn", `${picture.naturalWidth}px`);
    if (picture.complete) drawn();
    picture.addEventListener("load", drawn);  // also of the other drawing, when the screen is turned
  }
});
addEventListener("load", () => {
  // The page's own entry is in sight, wherever the reader had left the list of pages.
  const pages = document.querySelector("div.bd-sidebar"), own = pages?.querySelector(".bd-docs-nav a.current");
  if (own) {
    const { top, bottom } = own.getBoundingClientRect(), frame = pages.getBoundingClientRect();
    if (top < frame.top || bottom > frame.bottom) pages.scrollTop += top - frame.top - pages.clientHeight / 3;
  }
  Promise.resolve(window.MathJax?.startup?.promise).then(fit);
  let width = innerWidth;
  addEventListener("resize", () => innerWidth !== width && fit((width = innerWidth)));
  document.addEventListener("toggle", fit, true);  // a fold that opens has a width only then
});
