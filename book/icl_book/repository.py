"""The repository: its address, and what git knows about it.

``_config.yml`` declares the address. While it has only the `PLACEHOLDER`, git's remote ``origin`` counts.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import yaml

from icl_book.files import write_atomically

PLACEHOLDER = "https://github.com/OWNER/icl-book"
#: An address on the web or by ssh. Its groups leave out the user and the port.
_HOSTED = re.compile(
    r"(?:https?://(?:[^@/]*@)?|ssh://(?:\w+@)?|\w+@)(?P<host>[\w-]+(?:\.[\w-]+)+)(?::\d+/|[:/])"
    r"(?P<path>[\w.~-]+(?:/[\w.~-]+)+)"
)


@cache
def git_variables() -> frozenset[str]:
    """Return the names of the environment variables that tie git to one repository, as in hooks."""
    command = ["git", "rev-parse", "--local-env-vars"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split()) - {"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}


def git(root: Path, *words: str) -> str:
    """Return the output of a git command on the repository of ``root``, even inside a hook of another one.

    Raises:
        OSError: If git is not installed.
        subprocess.SubprocessError: If git fails, or takes longer than a minute.
    """
    environment = {k: v for k, v in os.environ.items() if k not in git_variables()}
    return subprocess.run(
        ["git", "-C", str(root), *words],
        capture_output=True,
        # The names of files need not be UTF-8.
        encoding="utf-8",
        errors="surrogateescape",
        check=True,
        timeout=60,
        env=environment,
    ).stdout


def declared(root: Path) -> str:
    """Return the address that ``_config.yml`` declares."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    url: str = config["repository"]["url"]
    return url


def remote(root: Path) -> str | None:
    """Return the web address of the remote ``origin``, without user, password, port and ``.git``.

    The result is None if git or the remote is missing, or if the remote is a folder.
    """
    try:
        url = git(root, "config", "--get", "remote.origin.url").strip()
    except (OSError, subprocess.SubprocessError):
        return None
    found = _HOSTED.fullmatch(url.removesuffix("/").removesuffix(".git"))
    return f"https://{found['host']}/{found['path']}" if found else None


def address(root: Path) -> str:
    """Return the declared address. The address of the remote, if it exists, replaces the placeholder."""
    url = declared(root)
    if url == PLACEHOLDER:
        return remote(root) or url
    return url


def home(root: Path) -> str | None:
    """Return the address, or None if there is only the placeholder."""
    url = address(root)
    return None if url == PLACEHOLDER else url


def adopt(root: Path) -> bool:
    """Replace the placeholder in ``_config.yml`` and ``CITATION.cff`` by the address of the remote, if any.

    Returns:
        Whether the files were written.
    """
    old = declared(root)
    new = address(root)
    if new == old:
        return False
    for path in (root / "_config.yml", root / "CITATION.cff"):
        write_atomically(path, path.read_text(encoding="utf-8").replace(old, new))
    return True


def configuration(root: Path) -> str:
    """Return the text of ``_config.yml`` with which the book is built.

    Without a declared address the book has no launch buttons, because a launched notebook installs the
    packages from there.
    """
    text = (root / "_config.yml").read_text(encoding="utf-8")
    if declared(root) != PLACEHOLDER:
        return text
    config = yaml.safe_load(text)
    config["repository"]["url"] = address(root)
    config["launch_buttons"] = {}
    if address(root) == PLACEHOLDER:
        config["html"] |= {"use_repository_button": False, "use_issues_button": False}
    return str(yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=110))
