"""What Sphinx gets for the plain Markdown of sources."""

import pytest

from icl_book.provenance import ROOT
from icl_book.site.markdown import find_class, list_terms, to_myst

TERMS = {"optimal-window": "optimal window", "nadaraya-watson": "Nadaraya-Watson"}


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("[best\nwindow](#term-optimal-window)", "{term}`best window <optimal window>`"),
        ("[W](../book/glossary.md#term-optimal-window)", "{term}`W <optimal window>`"),
        # Sphinx says that this word is unknown
        ("[w](#term-new)", "[w](#term-new)"),
        ("[the law](heads.ipynb#thm-law), [x](a.ipynb)", "[the law](#thm-law), [x](a.ipynb)"),
        ('<a id="law"></a>\n<a id="rate"></a>\n\n## A law', "(law)=\n(rate)=\n\n## A law"),
        ("> Attention is\n> all.", "> Attention is\n> all."),
        ("> **ITA slides** (2). Words.", "> **ITA slides** (2). Words."),
        (
            "> **Theorem 2** (ITA slides, as\n> printed). For $f(x)$\n> it is.\n\nNext",
            ":::{admonition} Theorem 2 (ITA slides, as printed)\n:class: icl-printed\n\n"
            "For $f(x)$\nit is.\n:::\n\nNext",
        ),
        (
            '> **Theorem** (the class $F(w^*)$).\n>\n> <a id="eq"></a>\n>\n> $$1$$',
            ":::{admonition} Theorem (the class $F(w^*)$)\n:class: icl-true\n\n(eq)=\n\n$$1$$\n:::\n",
        ),
        ("> **What we read.** Little.", ":::{admonition} What we read\n\nLittle.\n:::\n"),
        (
            "<details><summary>Solution</summary>\n\nTwo.\n\n</details>",
            ":::{admonition} Solution\n:class: dropdown icl-solution\n\nTwo.\n:::",
        ),
        (
            "<details><summary>How <code>w</code> grows</summary>\n\n> **Lemma** (a). A.\n\n"
            "<details><summary>Proof</summary>\n\nB.\n\n</details>\n\n</details>",
            "::::{admonition} How <code>w</code> grows\n:class: dropdown\n\n"
            ":::{admonition} Lemma (a)\n:class: icl-true\n\nA.\n:::\n\n"
            ":::{admonition} Proof\n:class: dropdown icl-proof\n\nB.\n:::\n::::",
        ),
        (
            '<a id="fig-a"></a>\n\n![A\ncurve.](_generated/gallery/fig-b.svg)\n\n'
            "**A law.** It\nfalls.\n\nNext",
            "```{figure} _generated/gallery/fig-b.svg\n:alt: A curve.\n:name: fig-a\n\n"
            "**A law.** It\nfalls.\n```\n\nNext",
        ),
    ],
)
def test_a_text_is_made_ready_for_sphinx(written, made):
    assert to_myst(written, TERMS) == made


@pytest.mark.parametrize(
    ("title", "css"),
    [
        ("Theorem 2 (ITA slides, as printed)", "icl-printed"),
        ("Theorem (the law of the window)", "icl-true"),
        ("What is true: the floor", "icl-true"),
        ("Proof of (c), long contexts", "icl-proof"),
        ("Solution", "icl-solution"),
        ("What is assumed, and what we test", ""),
    ],
)
def test_true_statements_proofs_and_solutions_look_different(title, css):
    assert find_class(title) == css


def test_words_of_the_glossary_are_found_by_the_ends_of_their_targets():
    found = list_terms((ROOT / "book" / "glossary.md").read_text())
    assert found["window-parameter"] == "window parameter" and len(found) > 20
    assert list_terms("```{glossary}\nNadaraya-Watson\n  The mean\n  of labels.\n```") == {
        "nadaraya-watson": "Nadaraya-Watson"
    }
