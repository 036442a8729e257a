"""The repository's address: declared, or the remote's; launch buttons only where it is real."""

import pytest
import yaml

from icl_book import provenance, repository
from icl_book.provenance import ROOT
from programs import program


@pytest.fixture
def tree(tmp_path):
    for name in ("_config.yml", "CITATION.cff"):
        text = (ROOT / name).read_text().replace(repository.declared(ROOT), repository.PLACEHOLDER)
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
def test_every_remote_gives_its_web_address_and_a_folder_gives_none(tree, url):
    point(tree, url)
    found = "https://github.com/some-body/the.book" if "some-body" in url else None
    assert repository.remote(tree) == found
    assert repository.address(tree) == (found or repository.PLACEHOLDER)


def test_buttons_lead_to_a_known_address_only_and_nothing_is_launched_from_a_remote(tree):
    config = yaml.safe_load(repository.configuration(tree))
    assert config["launch_buttons"] == {}
    assert not config["html"]["use_repository_button"] and not config["html"]["use_issues_button"]
    assert config["sphinx"] == yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]
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
    assert repository.configuration(tree) == (tree / "_config.yml").read_text()
    point(tree, "https://x.org/a/fork")
    assert repository.address(tree) == "https://github.com/some-body/book"


def test_without_git_the_declared_address_counts(tree, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert repository.address(tree) == repository.PLACEHOLDER


def test_a_hook_of_another_repository_does_not_change_what_git_reports(
    tree, tmp_path_factory, monkeypatch
):
    """Git prefers the repository that the variables of a hook name to the folder of a command."""
    other = tmp_path_factory.mktemp("other")
    for root in (tree, other):
        (root / "notebooks").mkdir(exist_ok=True)
        (root / "notebooks" / "a.py").write_text(f"# {root}\n")
        program("git", "init", "-q", cwd=root)
        for words in ("add .", "-c user.name=a -c user.email=a@b commit -qm first"):
            assert program("git", *words.split(), cwd=root).returncode == 0
    point(tree, "https://github.com/some-body/book")
    point(other, "https://github.com/evil/other")
    monkeypatch.setattr(provenance, "ROOT", tree.resolve())

    def said():
        return (
            provenance.commit(),
            repository.remote(tree),
            repository.git(tree, "show", "HEAD:./notebooks/a.py"),
        )

    before = said()
    assert before[0]["dirty"] is False and before[1].endswith("some-body/book")
    assert before[2] == f"# {tree}\n"
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert said() == before
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert said() == before
    # a user's settings still count, e.g. whose folders git may read
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "remote.origin.url")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/third/book")
    assert repository.remote(tree) == "https://github.com/third/book"


def test_hiding_untracked_files_does_not_make_the_tree_clean(tree, monkeypatch):
    for words in ("add .", "-c user.name=a -c user.email=a@b commit -qm first"):
        assert program("git", *words.split(), cwd=tree).returncode == 0
    monkeypatch.setattr(provenance, "ROOT", tree.resolve())
    program("git", "config", "status.showUntrackedFiles", "no", cwd=tree)
    assert provenance.commit()["dirty"] is False
    (tree / "new.py").write_text("")
    assert provenance.commit()["dirty"] is True
