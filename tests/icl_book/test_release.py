"""A release: archives that depend on their files alone, a package without the book, twins and redirects."""

import re
import zipfile

import pytest

from icl_book import provenance
from icl_book.provenance import ROOT
from icl_book.site import machines, release

FILES = {"b/index.html": b"<p>two", "a.html": b"one" * 1000}


def test_the_same_files_make_the_same_archive_in_one_folder(tmp_path):
    release.archive(tmp_path / "1.zip", "book", FILES)
    release.archive(tmp_path / "2.zip", "book", dict(reversed(FILES.items())))
    release.archive(tmp_path / "3.zip", "book", FILES | {"a.html": b"other"})
    first, second, third = (release.digest(tmp_path / f"{i}.zip") for i in (1, 2, 3))
    assert first == second != third
    with zipfile.ZipFile(tmp_path / "1.zip") as made:
        assert made.namelist() == ["book/a.html", "book/b/index.html"]
        assert made.read("book/b/index.html") == b"<p>two"
        made.extractall(tmp_path)
    assert (tmp_path / "book" / "a.html").stat().st_mode & 0o777 == 0o644


def test_the_manifest_names_the_origin_of_a_result():
    run = {
        "name": "n",
        "preset": "quick",
        "device": "cpu",
        "cards": [{"id": "P1.a", "verdict": "holds"}],
    }
    told = release.origin(run)
    assert told == {"preset": "quick", "device": "cpu", "verdicts": {"P1.a": "holds"}}


@pytest.mark.skipif(provenance.commit() is None, reason="an archive without git")
def test_the_wheel_has_icl_alone_and_the_source_archive_what_builds_it(tmp_path):
    release.packages(tmp_path, ROOT)
    (wheel,) = tmp_path.glob("softmax_icl-*.whl")
    with zipfile.ZipFile(wheel) as made:
        tops = {name.partition("/")[0] for name in made.namelist()}
        assert tops == {
            "icl",
            wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
        }
        assert "icl/py.typed" in made.namelist()
    assert len(list(tmp_path.glob("softmax_icl-*.tar.gz"))) == 1


def test_without_a_book_there_is_no_release(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1"\n')
    with pytest.raises(SystemExit, match="no book of the preset 'quick'"):
        release.release("quick", tmp_path)


def test_a_twin_is_markdown_without_html_directives_and_anchors(tmp_path):
    (tmp_path / "part.md").write_text("from elsewhere\n")
    text = "---\na: b\n---\n(anchor)=\n# Title\n\n```{include} part.md\n```\n\n"
    text += 'A <a class="icl-judged icl-badge icl-x" href="#c" title="P1.a: holds">holds</a>, '
    text += 'and <a href="x">1.5</a>.\n\n```{raw} html\n<b>\n```\n'
    said = machines.plain(text, tmp_path)
    assert said == "# Title\n\nfrom elsewhere\n\nA (P1.a: holds), and 1.5."


def test_every_page_that_moved_leads_to_one_that_is_there():
    pages = {f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("*.py")}
    assert set(machines.MOVED.values()) <= pages and not pages & set(machines.MOVED)
    for new in machines.MOVED.values():
        assert re.fullmatch(r"notebooks/\w+", new)
