"""The repository's address: declared, or the remote's; launch buttons only where it is real."""

import pytest
import yaml

from icl_book import repository
from icl_book.provenance import ROOT
from programs import program


@pytest.fixture
def tree(tmp_path):
    """A repository that knows its placeholder only."""
    for name in ("_config.yml", "CITATION.cff"):
        text = (
            (ROOT / name)
            .read_text()
            .replace(repository.declared(ROOT), repository.PLACEHOLDER)
        )
        (tmp_path / name).write_text(text)
    program("git", "init", "-q", cwd=tmp_path)
    return tmp_path


def point(tree, url):
    program("git", "config", "remote.origin.url", url, cwd=tree)


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


def test_buttons_lead_to_a_known_address_only_and_nothing_is_launched_from_a_remote(
    tree,
):
    config = yaml.safe_load(repository.configuration(tree))
    assert config["launch_buttons"] == {}
    assert (
        not config["html"]["use_repository_button"]
        and not config["html"]["use_issues_button"]
    )
    assert (
        config["sphinx"] == yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]
    )
    point(tree, "git@github.com:some-body/book.git")
    config = yaml.safe_load(repository.configuration(tree))
    assert config["repository"]["url"] == "https://github.com/some-body/book"
    assert config["html"]["use_repository_button"] and config["launch_buttons"] == {}


def test_the_remote_is_adopted_once_and_then_stays_what_is_declared(tree):
    assert not repository.adopt(tree)
    point(tree, "https://github.com/some-body/book")
    assert repository.adopt(tree) and not repository.adopt(tree)
    assert repository.declared(tree) == "https://github.com/some-body/book"
    assert yaml.safe_load((tree / "CITATION.cff").read_text())[
        "repository-code"
    ] == repository.declared(tree)
    assert (
        repository.configuration(tree) == (tree / "_config.yml").read_text()
    )  # buttons and all
    point(tree, "https://x.org/a/fork")
    assert repository.address(tree) == "https://github.com/some-body/book"


def test_without_git_the_declared_address_counts(tree, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert repository.address(tree) == repository.PLACEHOLDER
