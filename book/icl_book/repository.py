"""The repository: its address, and what git knows about it.

The address is declared in ``_config.yml``; while that is a placeholder, it is git's remote.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import yaml

from icl_book.files import write_atomically

#: The address in ``_config.yml`` until the repository has one.
PLACEHOLDER = "https://github.com/OWNER/icl-book"
#: Matches an address on the web or by ssh; user and port are not in its groups.
_HOSTED = re.compile(
    r"(?:https?://(?:[^@/]*@)?|ssh://(?:\w+@)?|\w+@)(?P<host>[\w-]+(?:\.[\w-]+)+)(?::\d+/|[:/])"
    r"(?P<path>[\w.~-]+(?:/[\w.~-]+)+)"
)


@cache
def git_variables() -> frozenset[str]:
    """Return the names of the environment variables that tie git to one repository, as hooks set them.

    Variables with settings are left out: they belong to the user.
    """
    command = ["git", "rev-parse", "--local-env-vars"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split()) - {"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}


def git(root: Path, *words: str) -> str:
    """Return the output of a git command on the repository of a folder, even inside another one's hook.

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
    url: str = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"][
        "url"
    ]
    return url


def remote(root: Path) -> str | None:
    """Return the web address of the remote ``origin``, without user, password, port and ``.git``.

    It is None without git or a remote, or where that is a folder.
    """
    try:
        url = git(root, "config", "--get", "remote.origin.url").strip()
    except (OSError, subprocess.SubprocessError):
        return None
    found = _HOSTED.fullmatch(url.removesuffix("/").removesuffix(".git"))
    return f"https://{found['host']}/{found['path']}" if found else None


def address(root: Path) -> str:
    """Return the declared address; where it is the placeholder, that of the remote, if there is one."""
    url = declared(root)
    return (remote(root) or url) if url == PLACEHOLDER else url


def home(root: Path) -> str | None:
    """Return the address, if there is one: neither the placeholder nor a folder."""
    url = address(root)
    return None if url == PLACEHOLDER else url


def adopt(root: Path) -> bool:
    """Replace the placeholder, if it is still there, by the remote's address.

    It stands in ``_config.yml`` and ``CITATION.cff``.

    Returns:
        Whether anything was written.
    """
    old, new = declared(root), address(root)
    # An address is declared already, or there is no remote.
    if new == old:
        return False
    for path in (root / "_config.yml", root / "CITATION.cff"):
        write_atomically(path, path.read_text(encoding="utf-8").replace(old, new))
    return True


def configuration(root: Path) -> str:
    """Return ``_config.yml`` as the book is built with it.

    A launch button opens the committed notebook, with packages from the declared address. So the
    book has launch buttons only once that address is declared. Links need any address, declared or git's.
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
