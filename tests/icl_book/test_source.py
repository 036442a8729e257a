"""A paper against the book: PDFs made of known sentences, other kinds of files, files that will not do."""

import shutil
import textwrap

import matplotlib
import pytest
import yaml
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from pypdf import PdfReader, PdfWriter

from icl_book.__main__ import main
from icl_book.claims import Authority, changes, registry
from icl_book.claims.card import statement_record
from icl_book.claims.registry import FOLDER, load, with_texts
from icl_book.provenance import ROOT
from icl_book.runner import reach
from icl_book.site import source, verify

TITLE = "In-Context Learning with Transformers:\nSoftmax Attention Adapts to Function Lip-\nschitzness"
# Two columns each; what is quoted is divided by ends of lines, columns and pages.
PAGES = [
    [
        f"""{TITLE}
Abstract. In training, this win-
dow widens with decreasing Lipschitzness
and increasing label noise in the pretrain-
ing tasks. We also show that on low-rank,
linear problems, the attention unit learns
to project onto the appropriate sub-""",
        """space before inference. Further, we show that
this adaptivity relies crucially on the softmax
activation and so cannot be replicated by the
linear activation often studied in prior
theoretical analyses.
2 Preliminaries
To our knowledge, \ufb01rst result showing how
pretrained softmax attention facilitates""",
    ],
    [
        """ICL. Rates follow.
Theorem 3.4. For large contexts
$w_{KQ}<O((\\frac{nL^2}{\\sigma^2})^{\\frac{2}{d}})$ holds.
By Lemma B.7 the rest follows.
Lemma C.3 (Covariance). It is positive.""",
        """Lemma B.7. Caps are small.
Figure 3: Shared Lipschitzness across
(train, test) is both necessary and
suf\ufb01cient for ICL.""",
    ],
]


def pdf(path, pages=PAGES, head="Softmax Attention Adapts"):
    """Write a PDF, each column of each page a text; a running head above, a page number below."""
    matplotlib.rcParams["pdf.fonttype"] = 42
    with PdfPages(path) as file:
        for number, columns in enumerate(pages, 1):
            sheet = Figure(figsize=(8, 6))
            sheet.text(0.1, 0.95, head, fontsize=8)
            for left, column in zip((0.1, 0.55), columns, strict=False):
                sheet.text(left, 0.9, column, fontsize=8, va="top")
            sheet.text(0.5, 0.02, str(number), fontsize=8)
            file.savefig(sheet)
    return path


def book(root):
    """What the command changes of the book, in a new folder."""
    (root / "book" / "claims").mkdir(parents=True)
    shutil.copy(ROOT / "_toc.yml", root)
    return root


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Folder of a copy of what the command changes, after it has run, and what it said."""
    root = book(tmp_path_factory.mktemp("book"))
    return root, source.compare("collins2024", str(pdf(root / "paper.pdf")), root)


@pytest.fixture
def text(tmp_path):
    """A function that reads a text from a file, with words enough after it."""

    def made(words, name="a.txt"):
        (tmp_path / name).write_text(f"{words}\n" + "More words. " * 20)
        return source.read(str(tmp_path / name))

    return made


def layer(root, paper="collins2024"):
    return yaml.safe_load(
        (root / "book" / "claims" / "texts" / f"{paper}.yml").read_text()
    )


# ---------------------------------------------------------------------------- what it finds
def test_columns_ligatures_hyphens_formulas_and_page_ends_do_not_count_and_words_do(
    done,
):
    found = {
        i: " ".join(entry.values()) for i, entry in layer(done[0])["claims"].items()
    }
    assert found == {
        "P1.W.rapid": "verbatim p. 1",
        "P1.W.noisy": "verbatim p. 1",  # hyphens
        "P1.T4.learns": "verbatim p. 1",  # two columns
        "P1.LA.fails": "nearly p. 1",
        "P1.F9.error": "nearly p. 1",
        "P1.T2.first": "verbatim p. 1",  # two pages, a ligature
        "P1.T2.upper": "verbatim p. 2",  # a formula
        "P1.T3.sufficient": "verbatim p. 2",
        "P1.T3.necessary": "verbatim p. 2",
    }
    said = {line.split()[0]: line for line in done[1]}
    assert "“thus” is “so”" in said["P1.LA.fails"]
    # what is not there has the closest passage with its page
    assert (
        "not, p. 2, alike by 0.63: " in said["P1.T2.lower"]
        and "nL2" in said["P1.T2.lower"]
    )
    assert not any(name.startswith("P2.") for name in said)


def test_names_of_the_concordance_are_looked_up_and_what_no_claim_covers_is_listed(
    done,
):
    said = {line.split(" p. ")[0].split(" not ")[0].strip(): line for line in done[1]}
    assert "p. 2: Theorem 3.4. For large contexts wKQ" in said["Theorem 3.4"]
    assert (
        "concordance: Theorem 2" in said["Theorem 3.4"]
        and "P1.3-4.formula" in said["Theorem 3.4"]
    )
    assert (
        "p. 1: 2 Preliminaries" in said["Section 2"]
        and "p. 2: Figure 3: Shared" in said["Figure 3"]
    )
    assert "not there" in said["Theorem 3.5"] and "not there" in said["Assumption B.4"]
    bare = done[1][done[1].index("What no claim covers: 1") + 1 : -1]
    assert [" ".join(line.split()) for line in bare] == [
        "Lemma B.7 p. 2, Lemma B.7. Caps are small."
    ]


def test_another_kind_of_the_same_number_is_named(text):
    read = text("Corollary 3.4. Rates.\nFigure 3.5: Rates.")
    assert source.check("Theorem 3.4", read).startswith(
        "as Corollary 3.4, line 1: Corollary 3.4. Rates."
    )
    assert (
        source.check("Theorem 3.5", read)
        == source.check("Figure 3.4", read)
        == "not there"
    )


def test_what_a_summary_or_another_paper_says_of_a_paper_is_no_quotation_of_it(text):
    own, others, *_ = source._shown("gao2023tensor", "P2", text("")).values()
    assert {row[0] for row in own} == {
        c.id for c in registry().values() if c.place == "abstract2:1"
    }
    assert {"P2.memory", "P2.size.beta"} <= {row[0] for row in others}


def test_of_another_papers_statements_those_are_looked_for_that_are_said_to_be_from_it(
    tmp_path,
):
    """Its title, in one line, stands above the other pages as well."""
    title = source.papers()["li2024closeness"][0]
    quote = registry()["P2.icl.similarity"].quote
    pages = [
        [f"{title}\n{textwrap.fill(quote, 60)}"],
        ["Theorem 5.1. Words.\n" + "More words.\n" * 9],
    ]
    said = source.compare(
        "li2024closeness", str(pdf(tmp_path / "a.pdf", pages, title)), book(tmp_path)
    )
    assert "Statements known from elsewhere: 0 verbatim, 0 nearly, 0 not" in said
    made = layer(tmp_path, "li2024closeness")["claims"]
    assert made == {"P2.icl.similarity": {"words": "verbatim", "where": "p. 1"}}
    after = with_texts(load(FOLDER), tmp_path / "book" / "claims" / "texts")[
        "P2.icl.similarity"
    ]
    assert (after.authority, after.read) == (
        Authority.OTHER,
        "li2024closeness, p. 1, verbatim",
    )


# ---------------------------------------------------------------------------- what it changes
def test_a_layer_gives_the_texts_authority_to_what_stands_there_and_changes_no_rule(
    done,
):
    before, rules = load(FOLDER), changes.digest()
    after = with_texts(load(FOLDER), done[0] / "book" / "claims" / "texts")
    moved = {i for i in before if before[i] != after[i]}
    verbatim = {
        i
        for i, entry in layer(done[0])["claims"].items()
        if entry["words"] == "verbatim"
    }
    assert moved == verbatim and {after[i].authority for i in moved} == {Authority.TEXT}
    assert before["P1.T2.upper"].authority is Authority.TALK
    by = statement_record(after["P1.T2.upper"])["by"]
    assert (
        by
        == "authors' text: collins2024, p. 2, verbatim; first known from ITA slides, line 296"
    )
    assert (
        changes.digest() == rules
        and with_texts(load(FOLDER), done[0] / "nothing") == before
    )


def test_a_layer_makes_the_chapters_stale_whose_statements_it_has(done):
    found = reach.claims(
        'judge("P1.T2.upper", table); judge("P1.T2.lower", table)', done[0]
    )
    assert found == {"collins2024:P1.T2.upper": {"words": "verbatim", "where": "p. 2"}}


def test_what_a_reader_compared_counts_and_outlives_another_run(done):
    root = done[0]
    path = root / "book" / "claims" / "texts" / "collins2024.yml"
    path.write_text(path.read_text().replace("words: nearly", "words: compared"))
    assert (
        with_texts(load(FOLDER), path.parent)["P1.LA.fails"].read
        == "collins2024, p. 1, compared"
    )
    contents = (root / "_toc.yml").read_text()
    source.compare("collins2024", str(root / "paper.pdf"), root)
    assert layer(root)["claims"]["P1.LA.fails"]["words"] == "compared"
    assert (root / "_toc.yml").read_text() == contents


@pytest.mark.parametrize(
    "written", ["[]", "claims: {P9.z: {words: verbatim, where: p. 1}}", "a: ["]
)
def test_a_layer_that_is_none_is_named(tmp_path, written):
    (tmp_path / "collins2024.yml").write_text(written)
    with pytest.raises(
        ValueError, match="^book/claims/texts/collins2024.yml: no layer of this book's"
    ):
        with_texts(load(FOLDER), tmp_path)


def test_page_and_contents_are_the_books(done):
    root = done[0]
    assert "book/text_collins2024" in verify.toc_pages(
        yaml.safe_load((root / "_toc.yml").read_text())
    )
    page = (root / "book" / "text_collins2024.md").read_text()
    assert page.startswith("# The text of In-Context Learning") and "SHA-256 `" in page
    assert all(
        f">{c.id}</th>" in page
        for c in registry().values()
        if c.paper == "P1" and c.quote
    )
    assert ">Lemma B.7</th>" in page


# ---------------------------------------------------------------------------- files that will not do
def scanned(path):
    pdf(path, [[], []], head="")


def encrypted(path):
    writer = PdfWriter(clone_from=PdfReader(pdf(path)))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(path)


def other(path):
    pdf(path, [["Another paper\n" + "with other words\n" * 9]])


@pytest.mark.parametrize(
    ("name", "write", "said"),
    [
        (
            "scan.pdf",
            scanned,
            "has next to no text; a scanned paper must be read by OCR first",
        ),
        ("locked.pdf", encrypted, "is encrypted; save a copy without a password"),
        (
            "other.pdf",
            other,
            "does not begin with the title of PAPER=collins2024, 'In-Context Learning with",
        ),
        ("none.pdf", lambda path: None, "there is no such file"),
        ("paper.docx", pdf, "must be a .pdf, .tex or .txt file"),
        (
            "paper.pdf",
            lambda path: path.write_text("no PDF"),
            "is no PDF that can be read (PdfStreamError)",
        ),
        ("empty.tex", lambda path: path.write_text(""), "has next to no text"),
    ],
)
def test_a_file_that_will_not_do_is_one_line(tmp_path, capsys, name, write, said):
    write(tmp_path / name)
    assert main(["source", "collins2024", str(tmp_path / name)]) == 1
    assert main(["source", "collins2025", str(tmp_path / name)]) == 1
    line, other = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: FILE='{tmp_path / name}': ") and said in line
    assert other.startswith(
        "error: PAPER='collins2025': must be one of collins2024, gao2023tensor, "
    )


# ---------------------------------------------------------------------------- TeX
TEX = r"""
\newcommand{\KQ}{{KQ}}
\title{In-Context Learning} % a comment: $w_{KQ} > 1$
\begin{theorem}[Window]\label{thm:window}
$w_{\KQ} < \mathcal{O}\big(\big(\frac{nL^2}{\sigma^2}\big)^{\frac{SECOND}{d}}\big)$ holds.
See~\ref{thm:window}.
\end{theorem}
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("SECOND", "2", "verbatim"),
        (r"w_{", r"w^{", "nearly"),
        (r"\frac{nL^2}{", "{nL^2}{", "nearly"),
        ("< ", "> ", "nearly"),
    ],
)
def test_in_tex_what_is_raised_and_fractions_count(text, old, new, words):
    read = text(TEX.replace(old, new).replace("SECOND", "2"), "a.tex")
    found = read.find(registry()["P1.T2.upper"].quote)
    assert (found.words, found.where, list(read.parts)) == (
        words,
        "line 5",
        ["Theorem in line 4"],
    )
    assert (
        source.check("Theorem 3.4", read) == "not checked: a .tex file has no numbers"
    )


def test_minus_and_prime_count_in_formulas_and_hyphens_and_apostrophes_do_not():
    same = lambda a, b: source.key(source.formulas(a)) == source.key(source.formulas(b))  # noqa: E731
    assert same("low-rank, the paper's", "low\u00adrank the papers") and same(
        r"$\sigma \leq L'$", "$σ≤L′$"
    )
    assert (
        not same("$a-b$", "$ab$")
        and not same("$L'$", "$L$")
        and not same("$a<b$", "$a>b$")
    )
    assert same(r"$\lambda\neq\hat\mu$", "λ⁄=ˆµ") and not same(
        r"$\lambda\neq\mu$", r"$\lambda=\mu$"
    )
    assert same(r"$\mathbb{E}\,\ell_1$", "𝔼ℓ1") and same("e\ufb03cient", "efficient")


@pytest.mark.parametrize(
    ("quote", "said"),
    [
        # what is raised may be printed before what is lowered, and after
        (r"$\sum_{i=1}^n x_i^\top b_{jk}^{2}$", None),
        ("$x_i^2$ or more", None),
        ("Rates follow [...] Caps are small", None),
        (
            "Caps are small there [...] Rates follow from",
            "“Rates follow from” is “elsewhere”",
        ),
        (
            "Rates rise from symmetry. Caps are tall",
            "“rise” is “follow”; “tall” is “small”",
        ),
        (
            "Cap are small",
            "alike by 0.96: Caps are small",
        ),  # too short to be nearly there
        ("small", None),
        ("smal [...] there", "alike by 1.00: small"),  # too short a beginning
        ("≤≥≤≥≤≥≤≥", "nothing alike"),
    ],
)
def test_pieces_stand_in_their_order_and_what_differs_or_is_misplaced_is_named(
    text, quote, said
):
    """Words of the text that are divided at an end of a line are whole."""
    printed = "∑n\ni=1 x⊤\ni b2\njk; xi2 or more.\nRates fol-\nlow from symmetry. Caps are small there."
    found = text(printed).find(quote)
    assert (
        (found.words, found.said) == ("verbatim", "")
        if said is None
        else found.said == said
    )
