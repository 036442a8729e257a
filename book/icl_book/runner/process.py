"""What a process of the book needs of its machine: a home, a user's name, a scratch folder, an end in order.

A container may lack all of these, and a process that is ended has little time to tidy up.
"""

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

#: Environment variables that name folders in which libraries keep settings and caches.
FOLDERS = ("MPLCONFIGDIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
#: Signals that ask a process to end: those of Ctrl-C; of kill, timeout and Slurm; of a closed terminal.
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: A scratch folder that no process holds is removed only after this many seconds, since it may be new.
MIN_ABANDONED_SECONDS = 60.0
#: Interrupted processes have this many seconds to tidy up.
MAX_TIDYING_SECONDS = 20.0


def prepare(root: Path = ROOT) -> None:
    """Set the environment of this process, and of those that it starts, so that any machine will do.

    - ``HOME`` is ``_build/home`` where the user's own is missing, or where it, or its ``.cache`` or
      ``.config``, cannot be written or is full. Git goes on reading the user's settings.
    - Variables that name a folder for caches are dropped where nothing can be written there.
    - ``LOGNAME`` is the number of a user without an entry in ``/etc/passwd``.
    """
    for name in FOLDERS:
        folder = os.environ.get(name)
        if folder and not writable(Path(folder)):
            del os.environ[name]
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
    """Return whether a file can be written in a folder, made if need be."""
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
    """Let every signal that asks this process to end do what Ctrl-C does: raise KeyboardInterrupt, once.

    What tidies up then is not interrupted again. A signal that is ignored stays so, as under ``nohup``.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in ENDINGS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in ENDINGS:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, interrupt)


def run(
    command: list[str], cwd: Path, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a program to its end; if this process is interrupted, so is all that the program started.

    The environment is by default this process's. Snakemake hangs where it cannot write to its standard error.
    So the program holds both ends of that pipe, which then does not break if this process is killed alone.

    Returns:
        The program's exit status, and what it wrote to its standard error.
    """
    read_end, write_end = os.pipe()
    with (
        open(read_end, encoding="utf-8", errors="replace") as reader,
        open(write_end, "wb") as writer,
        subprocess.Popen(
            command, cwd=cwd, env=environment, stderr=writer, pass_fds=[read_end]
        ) as process,
    ):
        # The text ends only when the last holder of this end has closed it.
        writer.close()
        try:
            text = reader.read()
            process.wait()
        except KeyboardInterrupt:
            interrupt_family(process.pid)
            raise
        return process.returncode, text


def interrupt_family(pid: int) -> None:
    """Interrupt a process and its descendants, wait until they have tidied up, and kill what is left.

    Background jobs of a shell ignore SIGINT, so that SIGTERM follows.
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
    """Make a folder for the time of a ``with`` block, in ``parent``, by default the one for temporary files.

    Folders of the same prefix that killed processes left there are removed first. They are known by this: a
    living process holds a lock on its folder.
    """
    sweep(prefix, parent)
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=parent, ignore_cleanup_errors=True
    ) as folder:
        handle = os.open(folder, os.O_RDONLY)
        try:
            # Some file systems have no locks. On those, abandoned folders are never removed.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(handle)


def sweep(prefix: str, parent: Path | None = None) -> None:
    """Remove the folders of `scratch` that killed processes left."""
    for left in Path(parent or tempfile.gettempdir()).glob(f"{prefix}*"):
        _remove_abandoned(left)


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder of this user's that is not new, if no process holds it or one of those in it.

    A run has its own folder inside that of the call that started it, and may outlive the call.
    """
    # A lock that another process holds raises OSError, which ends the block before anything is removed.
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

    If another process holds it, ``wait`` is called once, and the block begins when that process lets go.

    Raises:
        BadInput: If the file system of ``path`` does not support locks.
        OSError: If ``path`` cannot be written.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        wait()
        lock.acquire()
    # Filelock raises this where the system call is missing.
    except NotImplementedError:
        raise _refuse_lock(path) from None
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
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
