"""Prepare a process for its machine, end it in order, and make scratch folders and locks for it."""

from __future__ import annotations

import errno
import fcntl
import getpass
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType

import psutil
from filelock import FileLock, Timeout

from icl_book.parameters import BadInput
from icl_book.provenance import ROOT

FOLDERS = ("MPLCONFIGDIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
#: Signals that ask a process to end: from Ctrl-C, from kill and Slurm, and from a terminal that is closed.
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: A scratch folder that is younger may be new, and not locked yet.
MIN_ABANDONED_SECONDS = 60.0
#: A process that is told to end has this many seconds to remove its files.
MAX_TIDYING_SECONDS = 20.0


def prepare(root: Path = ROOT) -> None:
    """Change environment variables that do not work on this machine, for this process and those it starts.

    A container may lack a home folder that can be written, and a user's name. Git still reads the user's
    ``.gitconfig``.
    """
    for name in FOLDERS:
        folder = os.environ.get(name)
        if folder and not writable(Path(folder)):
            del os.environ[name]
    # `Path.home` would raise for a user without a home folder.
    home = Path(os.path.expanduser("~"))
    used = [home, *(folder for folder in (home / ".cache", home / ".config") if folder.exists())]
    if not (home.is_dir() and all(map(writable, used))):
        instead = root / "_build" / "home"
        if writable(instead):
            if (settings := home / ".gitconfig").is_file():
                os.environ.setdefault("GIT_CONFIG_GLOBAL", str(settings))
            os.environ["HOME"] = str(instead)
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = str(os.getuid())


def writable(folder: Path) -> bool:
    """Return whether a file can be written in a folder, which is made if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            # A quota shows only once bytes are on the disk.
            file.write(bytes(2**16))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return False
    return True


def end_in_order() -> None:
    """Let each signal of `ENDINGS` raise KeyboardInterrupt in this process.

    A signal that this process ignores, as SIGHUP under ``nohup``, is still ignored.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        # Later signals must not interrupt the code that removes files.
        for each in ENDINGS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in ENDINGS:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, interrupt)


def run(
    command: list[str], cwd: Path, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a program to its end, and return its exit status and what it wrote to its standard error.

    If this process is interrupted, the program and all processes that it has started are interrupted, too.
    """
    # The program gets the reading end, too, so that the pipe does not break if this process alone is killed.
    # Snakemake would hang if it could not write to its standard error.
    read_end, write_end = os.pipe()
    with (
        open(read_end, encoding="utf-8", errors="replace") as reader,
        open(write_end, "wb") as writer,
        subprocess.Popen(
            command, cwd=cwd, env=environment, stderr=writer, pass_fds=[read_end]
        ) as process,
    ):
        # Reading ends only when every process has closed the writing end.
        writer.close()
        try:
            text = reader.read()
            process.wait()
        except KeyboardInterrupt:
            interrupt_family(process.pid)
            raise
        return process.returncode, text


def interrupt_family(pid: int) -> None:
    """End a process and its descendants by SIGINT, then by SIGTERM, then by SIGKILL.

    After each signal they have `MAX_TIDYING_SECONDS` to end. SIGTERM is needed because background jobs of a
    shell ignore SIGINT.
    """
    with suppress(psutil.NoSuchProcess):
        family = [psutil.Process(pid)]
        family += family[0].children(recursive=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            _, family = psutil.wait_procs(family, timeout=MAX_TIDYING_SECONDS)


@contextmanager
def scratch(prefix: str, parent: Path | None = None) -> Iterator[str]:
    """Make a temporary folder for the time of a ``with`` block, lock it, and yield its path.

    Older folders with this ``prefix`` in ``parent`` that killed processes left, and that lack a lock, are
    removed first.
    """
    sweep(prefix, parent)
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=parent, ignore_cleanup_errors=True
    ) as folder:
        handle = os.open(folder, os.O_RDONLY)
        try:
            # On a file system without locks `flock` raises here, and also in `_remove_abandoned`, which then
            # removes nothing.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(handle)


def sweep(prefix: str, parent: Path | None = None) -> None:
    """Remove the folders that `scratch` made with these arguments and that killed processes left."""
    for left in Path(parent or tempfile.gettempdir()).glob(f"{prefix}*"):
        _remove_abandoned(left)


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder of `scratch`, unless it is another user's, is new or is in use.

    A process that uses it holds a lock on the folder, or on one directly inside: a run may outlive the call
    of `icl_book.runner.schedule.schedule` in whose folder it has its own.
    """
    # Locking what another process holds raises OSError.
    with suppress(OSError), ExitStack() as stack:
        state = folder.lstat()
        if state.st_uid != os.geteuid() or time.time() - state.st_mtime < MIN_ABANDONED_SECONDS:
            return
        inner = [one.path for one in os.scandir(folder) if one.is_dir(follow_symlinks=False)]
        for each in (os.fspath(folder), *inner):
            handle = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)


@contextmanager
def locked(path: Path, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a lock on the file ``path``, which need not exist, for the time of a ``with`` block.

    If another process holds the lock, ``wait`` is called once before the block waits for it.

    Raises:
        BadInput: If the file system of ``path`` does not support locks.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        wait()
        lock.acquire()
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP):
            raise _refuse_lock(path) from None
        raise
    try:
        yield
    finally:
        lock.release()


def _refuse_lock(path: Path) -> BadInput:
    return BadInput(
        f"{path}: cannot be locked, because its file system has no locks; "
        "make _build a link to a folder on another one"
    )
