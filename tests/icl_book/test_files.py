"""Files are written whole or not at all."""

import os

import numpy as np
import pytest

from icl_book.files import atomic_path, write_atomically


def test_a_file_is_replaced_when_the_new_one_is_complete(tmp_path):
    path = tmp_path / "a.npz"
    for text in ("old", "new: ä\n"):
        write_atomically(path, text)
        assert path.read_text(encoding="utf-8") == text
    with atomic_path(path) as part, part.open("wb") as file:
        np.savez(file, x=np.arange(3))
        assert path.read_text(encoding="utf-8") == text and part.parent == tmp_path
    with np.load(path) as arrays:
        assert arrays["x"].tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_no_temporary_file(error, tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")
    with pytest.raises(type(error)), atomic_path(path) as part:
        part.write_text("half of the ne")
        raise error
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "fine so far \ud800")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "no such folder" / "a.txt", "text")


def test_a_link_stays_and_its_target_keeps_its_mode(tmp_path):
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    link, target = tmp_path / "here" / "a.txt", tmp_path / "there" / "b.txt"
    link.symlink_to("../there/b.txt")
    write_atomically(link, "dangling at first")
    assert target.read_text() == "dangling at first"
    for mode in (0o664, 0o600):
        target.chmod(mode)
        write_atomically(link, f"{mode}")
        assert link.is_symlink() and target.read_text() == f"{mode}"
        assert target.stat().st_mode & 0o777 == mode
    assert [*link.parent.iterdir(), *target.parent.iterdir()] == [link, target]


def test_two_writers_with_the_same_process_id_use_different_names(tmp_path, monkeypatch):
    """Two containers, or two machines, that share a folder may have equal process ids."""
    monkeypatch.setattr(os, "getpid", lambda: 2)
    path = tmp_path / "a.txt"
    with atomic_path(path) as one:
        one.write_text("one")
        with atomic_path(path) as other:
            other.write_text("other")
        assert path.read_text() == "other"
    assert path.read_text() == "one" and list(tmp_path.iterdir()) == [path]
