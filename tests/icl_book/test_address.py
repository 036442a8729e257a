"""The repository's address: declared, or the remote's; launch buttons only where it is real."""

import shutil
import subprocess

import pytest
import yaml

from icl_book import repository
from icl_book.provenance import ROOT


@pytest.fixture
def tree(tmp_path):
    """A repository that knows its placeholder only."""
    for name in ("_config.yml", "CITATION.cff"):
        text = (ROOT / name).read_text().replace(repository.declared(ROOT), repository.PLACEHOLDER)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def point(tree, url):
    subprocess.run(["git", "-C", str(tree), "remote", "add", "origin", url], check=True)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/some-body/the.book",
        "https://github.com/some-body/the.book.git",
        "https://github.com/some-body/the.book/",
        "https://name:secret@github.com/some-body/the.book.git",
        "git@github.com:some-body/the.book.git",
        "ssh://git@github.com/some-body/the.book",
        "ssh://git@github.com:22/some-body/the.book.git",
        *("/srv/book.git", "../book", "file:///srv/book.git", "host:book"),
    ],
)
def test_every_form_of_a_remote_gives_the_web_address_and_a_folder_is_none(tree, url):
    point(tree, url)
    found = "https://github.com/some-body/the.book" if "some-body" in url else None
    assert repository.remote(tree) == found
    assert repository.address(tree) == (found or repository.PLACEHOLDER)


def test_without_an_address_the_book_has_no_buttons_that_lead_nowhere(tree):
    config = yaml.safe_load(repository.configuration(tree))
    assert config["launch_buttons"] == {}
    assert not config["html"]["use_repository_button"] and not config["html"]["use_issues_button"]
    assert config["sphinx"] == yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]


def test_with_a_remote_only_pages_link_to_it_and_nothing_is_launched(tree):
    point(tree, "git@github.com:some-body/book.git")
    config = yaml.safe_load(repository.configuration(tree))
    assert config["repository"]["url"] == "https://github.com/some-body/book"
    assert config["html"]["use_repository_button"] and config["launch_buttons"] == {}


def test_the_remote_is_adopted_once_and_then_stays_what_is_declared(tree):
    assert not repository.adopt(tree)
    point(tree, "https://github.com/some-body/book")
    assert repository.adopt(tree) and not repository.adopt(tree)
    assert repository.declared(tree) == "https://github.com/some-body/book"
    assert yaml.safe_load((tree / "CITATION.cff").read_text())["repository-code"] == repository.declared(tree)
    assert repository.configuration(tree) == (tree / "_config.yml").read_text()  # buttons and all
    subprocess.run(
        ["git", "-C", str(tree), "remote", "set-url", "origin", "https://x.org/a/fork"], check=True
    )
    assert repository.address(tree) == "https://github.com/some-body/book"


def test_without_git_the_declared_address_counts(tree, monkeypatch):
    shutil.rmtree(tree / ".git")
    monkeypatch.setenv("PATH", "")
    assert repository.address(tree) == repository.PLACEHOLDER
