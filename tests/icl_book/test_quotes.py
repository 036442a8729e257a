"""Quotations in PDF, TeX and text files made of known sentences, and unsuitable files."""

import signal
import subprocess
import sys

import matplotlib
import pytest
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from icl_book.__main__ import main
from icl_book.claims import Authority, Claim, registry
from icl_book.claims.claim import SOURCES
from icl_book.claims.quotes import find_compared
from icl_book.provenance import ROOT

QUOTES = {
    "P1.window": "In training, this window widens [...] label noise in the low-rank tasks.",
    "P1.formula": r"At most $\mathbf{M}^* = w_{KQ} \boldsymbol{I}_d$, where $\|f\| \le \frac{L}{2}$",
    "P1.changed": "This adaptivity relies crucially on the softmax activation and thus cannot be replicated",
    "P1.absent": "A convolution of the labels would have needed many more parameters than that",
    "P2.other": "The loss of a regression over matrices",
}
PAGES = [
    """Abstract. In training, this win-
dow widens with decreasing Lipschitzness
and increasing label noise in the low-
rank tasks.""",
    """By Lemma 1 at most M* = wKQ Id, where \u2225f \u2225 \u2264 L 2 su\ufb03ces.
This adaptivity relies crucially on the softmax
activation and so cannot be replicated.""",
]


@pytest.fixture
def judged(monkeypatch):
    claims = {
        name: Claim(
            name, Authority.TEXT, "a page", quote=quote, place="abstract1:1", why_not="no numbers"
        )
        for name, quote in QUOTES.items()
    }
    import icl_book.claims.quotes  # noqa: F401

    monkeypatch.setattr(sys.modules["icl_book.claims.quotes"], "registry", lambda: claims)


def pdf(path):
    matplotlib.rcParams["pdf.fonttype"] = 42
    with PdfPages(path) as file:
        for text in PAGES:
            sheet = Figure(figsize=(8, 6))
            sheet.text(0.1, 0.9, text, fontsize=8, va="top")
            file.savefig(sheet)


def text(path):
    path.write_text("\n\n".join(PAGES), encoding="utf-8")


def tex(path):
    path.write_text(
        "\\begin{abstract} % In training, this door\n"
        "In training, this {\\em window} widens with decreasing Lipschitzness\n"
        "and increasing label noise in the low-rank tasks.\n\\end{abstract}\n"
        "At most $\\bm{M}^*=w_{KQ}\\bm{I}_d$, where\n$\\| f\\| \\leq \\frac L2$ suffices.\n"
        "This adaptivity relies crucially on the softmax activation and so\ncannot be replicated.\n",
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    ("write", "name", "places"),
    [
        (pdf, "a.pdf", ["p. 1", "p. 2", "p. 2"]),
        (text, "a.txt", ["line 1", "line 6", "line 7"]),
        (tex, "a.tex", ["line 2", "line 5", "line 7"]),
    ],
)
def test_quotations_in_a_file_are_found_and_differing_words_are_named(
    judged, tmp_path, capsys, write, name, places
):
    write(tmp_path / name)
    assert main(["quotes", str(tmp_path / name)]) == 0
    window, formula, changed, absent, other, total = capsys.readouterr().out.splitlines()
    assert window == f"found: P1.window (abstract1:1): {name}, {places[0]}"
    # the command for emphasis is not a word of the text, and "at most" is not "At most"
    assert formula.startswith(
        ("found: P1.formula", "nearly, 9") if name != "a.tex" else "found: P1.formula"
    ) and formula.partition(f"{name}, ")[2].startswith(places[1])
    assert changed.startswith("nearly, 9") and f"{name}, {places[2]}" in changed
    assert changed.endswith(": “thus” is “so”")
    assert absent.startswith("not found: P1.absent (abstract1:1): A convolution")
    assert other.startswith("not found: P2.other")
    assert total.endswith("2 not")


def test_of_several_files_the_best_counts_and_one_paper_can_be_asked_for(judged, tmp_path, capsys):
    text(tmp_path / "a.txt")
    (tmp_path / "b.txt").write_text(QUOTES["P2.other"])
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    assert main(["quotes", *files, "--paper", "P2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "found: P2.other (abstract1:1): b.txt, line 1",
        "1 found, 0 nearly, 0 not",
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.pdf", None, "cannot be read"),
        ("bad.pdf", b"%PDF-1.4 not at all", "cannot be read"),
        ("bad.txt", b"\xff\xfe\xff", "cannot be read"),
        ("empty.txt", b" \n", "has no text"),
        ("paper.tar.gz", b"\x1f\x8b\x08", "cannot be read: 'utf-8' codec"),
    ],
)
def test_an_unsuitable_file_is_reported_in_one_line(judged, tmp_path, capsys, name, content, said):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert main(["quotes", str(tmp_path / name)]) == 1
    error = capsys.readouterr().err
    assert said in error and name in error and error.count("\n") == 1


def said(capsys, *words):
    assert main(["quotes", *map(str, words)]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("length", [1, 10, 50])
def test_a_quotation_is_not_found_in_a_text_that_is_shorter(tmp_path, capsys, length):
    """If the text were looked for in the quotation, a file with one letter would nearly match 29."""
    whole = [c.quote for c in registry().values() if "[...]" not in c.quote]
    letters = "".join(filter(str.isalpha, max(whole, key=len)))
    (tmp_path / "a.txt").write_text(letters[20 : 20 + length])
    longer = {c.id for c in registry().values() if len(find_compared(c.quote)[0]) > 1.6 * length}
    lines = said(capsys, tmp_path / "a.txt")
    near = [line for line in lines if line.startswith(("found", "nearly"))]
    assert not [line for line in near if line.split(": ")[1].split()[0] in longer]
    assert len(longer) > 20


def test_parts_in_the_wrong_order_are_only_nearly_found(judged, tmp_path, capsys):
    end, begin = QUOTES["P1.window"].split("[...]")[::-1]
    (tmp_path / "a.txt").write_text(f"{end}. {begin} ...")
    (line,) = [x for x in said(capsys, tmp_path / "a.txt") if "P1.window" in x]
    assert line.startswith("nearly, 99 %") and line.endswith("is elsewhere")


def test_a_long_word_is_shortened_where_it_is_shown(judged, tmp_path, capsys):
    """Otherwise a file without a space would be shown as a whole, and compared letter by letter."""
    words = QUOTES["P1.changed"].replace("thus", "so").replace(" ", "")
    (tmp_path / "a.txt").write_text("x" * 20_000 + words + "x" * 20_000)
    (line,) = [x for x in said(capsys, tmp_path / "a.txt") if "P1.changed" in x]
    assert line.startswith("nearly, 9") and len(line) < 1000


def test_a_closed_pipe_is_not_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    words = [sys.executable, "-m", "icl_book", "quotes", str(tmp_path / "a.txt")]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == 128 + signal.SIGPIPE


def test_every_quotation_names_its_source():
    used = {claim.place.partition(":")[0] for claim in registry().values() if claim.quote}
    assert used <= set(SOURCES)
