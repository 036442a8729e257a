"""A process that has imported what notebooks import, and forks a kernel for each request.

To import torch, seaborn and the rest costs a kernel many seconds of CPU time. `preloaded` starts a server
that does it once. The server imports `MODULES` and nothing of this repository, starts no threads and leaves
CUDA alone. Whoever connects to its socket and sends a request (`icl_book.runner.provisioner` does) reads the
process id of a kernel, and its exit status later; or nothing, if the kernel must start in the ordinary way.
A kernel is killed when its connection ends. The server ends with the process that started it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

#: What cannot be imported is left to the notebook that wants it.
MODULES = (
    "ipykernel.kernelapp ipykernel.ipkernel numpy scipy.stats scipy.optimize scipy.interpolate pandas"
    " matplotlib.pyplot seaborn numba torch"
).split()
#: The environment variable that names the server's socket.
SOCKET = "ICL_PRELOADED"
#: Part of every kernel's environment, preloaded or not.
SETTINGS = {"PYTHONHASHSEED": "0", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
#: Beginnings of variables that Python or an import reads once.
READ_ONCE = tuple("PYTHONHASHSEED OMP_ GOMP_ KMP_ MKL_ OPENBLAS_ GOTO_ NUMBA_ TORCH PYTORCH_ LD_".split())
PAUSE = 0.05  # seconds between two looks for what has ended


@contextmanager
def preloaded(settings: Mapping[str, str]) -> Iterator[None]:
    """Keep a server and name its socket in the environment, unless one is named there already.

    Nothing waits for its imports: kernels asked for meanwhile start when it is ready.

    Args:
        settings: Environment variables that kernels will have and this process has not, of those in
            `READ_ONCE`. A kernel that wants others starts in the ordinary way.
    """
    if SOCKET in os.environ or sys.platform != "linux":  # elsewhere libraries may not survive a fork
        yield
        return
    environment = os.environ | settings | SETTINGS
    environment["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as ipykernel sets it
    environment.pop("PYTHONPATH", None)  # each kernel has its own
    from icl_book.runner.folders import temporary_folder  # the server has no package of this repository

    with temporary_folder() as folder:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path := f"{folder}/kernels")
            listener.listen()
            server = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), str(listener.fileno()), str(os.getpid())],
                env=environment,
                stdin=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
                start_new_session=True,  # Ctrl-C is for its owner
            )
        os.environ[SOCKET] = path
        try:
            yield
        finally:
            del os.environ[SOCKET]
            server.kill()
            server.wait()


def read_once(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that must be the same for the server and its kernels."""
    return {name: value for name, value in environment.items() if name.startswith(READ_ONCE)}


def serve(listener: socket.socket, owner: int) -> dict:
    """Fork kernels until the owner has ended; returns only in a fork.

    Args:
        listener: The socket.
        owner: Id of the process that started this one.

    Returns:
        The request, which the fork must fulfil.
    """
    kernels: dict[int, socket.socket] = {}
    for name in MODULES:
        with suppress(ImportError):
            importlib.import_module(name)
    if threading.active_count() > 1 or (
        "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized()
    ):
        sys.exit(1)  # a fork would be broken
    gc.freeze()  # what is here stays, forks need not look at it
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while os.getppid() == owner:
        for key, _ in selector.select(PAUSE):
            if key.fileobj is not listener:  # the connection of a kernel has ended
                _kill(key.data)
                continue
            connection, _ = listener.accept()
            request = json.loads(connection.makefile().readline() or "null")
            if not request or read_once(request["environment"]) != read_once(os.environ):
                connection.close()
            elif kernel := os.fork():
                kernels[kernel] = connection
                selector.register(connection, selectors.EVENT_READ, kernel)
                _say(connection, kernel)
            else:
                for file in (selector, listener, connection, *kernels.values()):
                    file.close()
                return request
        while kernels and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            connection = kernels.pop(ended[0])
            _say(connection, os.waitstatus_to_exitcode(ended[1]))
            selector.unregister(connection)
            connection.close()
    for kernel in kernels:
        _kill(kernel)
    sys.exit()


def _kill(kernel: int) -> None:
    for kill in (os.killpg, os.kill):  # it may not have its process group yet
        with suppress(ProcessLookupError):
            kill(kernel, signal.SIGKILL)


def _say(connection: socket.socket, number: int) -> None:
    with suppress(OSError):  # nobody listens any more
        connection.send(number.to_bytes(4, "big", signed=True))


def heard(connection: socket.socket, flags: int = 0) -> int | None:
    """Return the next number that the server says; None if there will be none."""
    try:
        found = connection.recv(4, flags)
    except ConnectionError:
        return None
    return int.from_bytes(found, "big", signed=True) if found else None


def start_kernel(request: Mapping, server: int) -> None:
    """Make this process, a fork of the server, the kernel that was asked for; returns when that ends."""
    os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    own = request["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = dict.fromkeys([*(os.path.abspath(folder) for folder in own if folder), *sys.path])
    sys.argv = [*request["arguments"], f"--IPKernelApp.parent_handle={server}"]
    importlib.invalidate_caches()
    importlib.import_module("ipykernel.kernelapp").launch_new_instance()


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file, where no module is to be found
    own = os.getpid()
    start_kernel(serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])), own)
