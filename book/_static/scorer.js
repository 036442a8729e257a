// Search: pages named by the words asked for come first, lists of everything last. The index has no single digits,
// so without this "Theorem 3" would find every theorem alike. The numbers but for `score` are those of Sphinx.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score: ([page, title, , , score]) => {
    const asked = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();
    const named = asked && title.toLowerCase().startsWith(asked) ? 100 : 0;
    return score + named - (/^book\/(audit|gallery|provenance|api)/.test(page) ? 10 : 0);
  },
};
