"""Each number of a judged link is a case of a card, and its text is rewritten by one command."""

import pytest
from bs4 import BeautifulSoup

from icl_book.parameters import BadInput
from icl_book.site import assemble, audit, stage

CARD = {
    "id": "P1.T",
    "title": "It grows like $w^{2/d}$",
    "verdict": "holds",
    "grade": "proved here",
    "statement": "grows like $(nL^2/\\sigma^2)^{2/(d+2)}$",
    "readings": {"as we read it": "agrees"},
    "depends_on": [],
    "cases": [{"name": "d = 5, n = 1e12", "measured": 0.0326}],
    "control_cases": [],
    "other_readings": {
        "another": [{"name": "d = 2", "measured": "inf"}, {"name": "d = 4", "measured": -0.02}]
    },
    "holding": {},
}
CARDS = {"P1.T": CARD}
SHOWN = "[3.2](<judged:P1.T|d = 5, n = 1e12|100*.1f>)"


def test_a_judged_link_shows_the_case_and_links_to_the_card():
    text = audit.resolve(f"At $d=5$ it is {SHOWN} %.[(?)](judged:P1.T)", CARDS, stage.write_link)
    title = "It grows like w^(2/d): holds"
    assert (
        f'<a class="icl-judged" href="#claim-P1.T-d-5-n-1e12" title="{title}" '
        f'aria-label="3.3 ({title})">3.3</a> %'
    ) in text
    assert "P1.T<" not in text and "(P1.T" not in text, "a mark, not an id"
    assert text.endswith(
        f'<a class="icl-judged icl-mark icl-holds" href="#claim-P1.T" title="{title}" '
        f'aria-label="{title}">✓</a>'
    )
    for named, shown in (
        ("P1.T|d = 2|.0f", "inf"),
        ("P1.T|d = 4|.2f", "\u22120.02"),
        ("P1.T\\|d = 4\\|.0f", "0"),
        ("P1.T", "✓"),
    ):
        link = f"[(?)](<judged:{named}>)"
        assert audit.resolve(link, CARDS, lambda card, text, case: text) == shown
        assert audit.renumber(link, CARDS) == f"[{shown}](<judged:{named}>)"


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [
        ("holds", "✓"),
        ("established", "✓"),
        ("depends on the reading", "(?)"),
        ("inconclusive", "(?)"),
        ("open", "(?)"),
        ("false as we have it", "✗"),
        ("false as we have it, corrected", "✗"),
        ("refuted", "✗"),
    ],
)
def test_marks_and_verdicts_are_those_of_today_and_other_words_stay(verdict, shown):
    cards = {"P1.T": CARD | {"verdict": verdict}}
    text = "Yes.[✓](judged:P1.T) It [holds](judged:P1.T), see [the\n# card](judged:P1.T)."
    said = (
        f"Yes.[{shown}](judged:P1.T) It [{verdict}](judged:P1.T), see [the\n# card](judged:P1.T)."
    )
    assert audit.renumber(text, cards) == said
    page = BeautifulSoup(audit.resolve(text, cards, stage.write_link), "html.parser")
    # a result of this book says how it is known
    word = "proved" if verdict == "established" else verdict
    marks, badges, others = (page.select(f"a.icl-judged{css}") for css in LOOKS)
    assert [link.text for link in marks + badges + others] == [shown, word, "the card"]
    assert [link["title"] for link in page.select("a")] == [f"It grows like w^(2/d): {word}"] * 3


LOOKS = (".icl-mark", ".icl-badge", ":not(.icl-mark, .icl-badge)")


def test_a_run_of_other_sizes_shows_the_verdict():
    other = "[1.0](<judged:P1.T|d = 3|.1f>)"
    assert ">holds</a>" in audit.resolve(other, CARDS, stage.write_link)
    assert audit.renumber(other, CARDS) == other
    with pytest.raises(BadInput, match="no card of P1.U"):
        audit.resolve("[✓](judged:P1.U)", CARDS, stage.write_link)


def test_only_texts_of_links_that_moved_are_written_again():
    now = "# It [holds](judged:P1.T), as we say\n# in [3.3](<judged:P1.T|d = 5, n = 1e12|100*.1f>) places."
    assert audit.renumber(now, CARDS) == now
    assert audit.renumber(now.replace("3.3", "3.4").replace("[holds]", "[refuted]"), CARDS) == now
    depends = {"P1.T": CARD | {"verdict": "depends on the reading"}}
    broken = "# It [depends on\n# the reading](judged:P1.T)."
    assert audit.renumber(broken, depends) == broken
    assert audit.renumber(broken, CARDS) == "# It [holds](judged:P1.T)."


def test_numbers_of_the_sources_are_rewritten_by_one_command(tmp_path, monkeypatch):
    monkeypatch.setattr(assemble, "registry", dict)
    for folder in ("book", "notebooks", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "results/replication.csv").write_text("statement\n")
    (tmp_path / "README.md").write_text("Nothing\n")
    page, chapter = tmp_path / "book/introduction.md", tmp_path / "notebooks/n.py"
    page.write_text(f"# T\n\n{SHOWN}\n")
    chapter.write_text(f"# {SHOWN}\n")
    runs = [{"name": "n", "cards": [CARD]}]
    assert list(assemble.find_outdated(runs, tmp_path)) == [page, chapter]
    for path, text in assemble.find_outdated(runs, tmp_path).items():
        path.write_text(text)
    assert page.read_text() == f"# T\n\n{SHOWN}\n".replace("[3.2]", "[3.3]")
    assert assemble.find_outdated(runs, tmp_path) == {}


GOOD = f"At $d=5$ and $n=10^{{12}}$ it is {SHOWN} % away."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GOOD, None),
        ("It [holds](judged:P1.T), always ([holds](judged:P1.T)).", None),
        ("At last [1](judged:P1.U).", "no card of P1.U"),
        ("At last [1](<judged:P1.T|d = 3|.1f>).", "no case of this name"),
        ("At last [1](<judged:P1.T|d = 2>).", "must be a claim, or a"),
    ],
)
def test_a_judged_link_without_its_case_is_a_problem(text, problem):
    found = audit.find_broken_links(text, CARDS)
    assert len(found) == bool(problem) and all(problem in one for one in found)
