"""Kernels forked by a process that has the imports done: like ordinary ones, and gone when they must be."""

import json
import os
import signal
import socket
import sys
import time

import nbformat
import psutil
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

from icl_book.runner import preload, provisioner
from icl_book.runner.execute import kernel_home

HANGING = 600
#: What a notebook sees of its process: settings, threads of each library, numbers, a figure.
SOURCE = """
import json, os, sys
before = sorted({"torch", "icl", "icl_book", "seaborn"} & set(sys.modules))
import icl.statistics, matplotlib, numpy as np, scipy.linalg, threadpoolctl, torch
import matplotlib.pyplot as plt, seaborn
a = np.random.default_rng(0).normal(size=(300, 300))
t = torch.randn(300, 300, generator=torch.Generator().manual_seed(0))
left_out = {"JPY_PARENT_PID", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "ICL_PRELOADED", "_"}
seen = {
    "environment": {k: v for k, v in os.environ.items() if k not in left_out},
    "folder": os.getcwd(), "path": sys.path, "hash": hash("a"), "package": icl.statistics.__file__,
    "arguments": len([x for x in sys.argv if "parent_handle" not in x]), "name": __name__,
    "threads": [torch.get_num_threads(), torch.get_num_interop_threads(),
                *sorted((p["internal_api"], p["num_threads"]) for p in threadpoolctl.threadpool_info())],
    "numbers": [float(np.linalg.svd(a)[1].sum()), float((t @ t).sum()), float(scipy.linalg.expm(a).sum())],
    "style": {k: repr(v) for k, v in matplotlib.rcParams.items()}, "backend": matplotlib.get_backend(),
}
seaborn.lineplot(x=[0, 1, 2], y=[1, 3, 2])
plt.show()
print(json.dumps([before, os.getppid(), seen]))
"""


@pytest.fixture(scope="module")
def server():
    """A server; the value is its process."""
    before = set(psutil.Process().children())
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(preload.SOCKET, raising=False)  # of another one, which tests in this process share
        with preload.preloaded({}):
            (process,) = (
                c for c in set(psutil.Process().children()) - before if preload.__file__ in c.cmdline()
            )
            yield process
        assert not process.is_running()


def look():
    """What a notebook sees: modules loaded at its start, parent process, settings and numbers; its figure."""
    provisioner.register()
    cell = nbformat.v4.new_code_cell(SOURCE)
    with kernel_home() as connection:
        config = Config(KernelManager=connection)
        NotebookClient(nbformat.v4.new_notebook(cells=[cell]), kernel_name="python3", config=config).execute()
    printed = next(o["text"] for o in cell.outputs if o["output_type"] == "stream")
    (figure,) = (o["data"]["image/png"] for o in cell.outputs if "data" in o)
    return *json.loads(printed), figure


def ask(folder, **changes):
    """A kernel of the server, asked for as the provisioner does."""
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", f"{folder}/connection.json"]
    return provisioner.fork(command, os.environ | preload.SETTINGS | changes, str(folder))


def until(condition):
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < HANGING
        time.sleep(0.05)


def gone(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_notebook_cannot_tell_a_forked_kernel_from_an_ordinary_one(server, monkeypatch):
    loaded, parent, *forked = look()
    assert {"torch", "seaborn"} <= set(loaded) and parent == server.pid
    assert not {"icl", "icl_book"} & set(loaded), "a change of the package would not reach a kernel"
    monkeypatch.setenv(preload.SOCKET, "/nowhere")
    loaded, parent, *ordinary = look()
    assert loaded == [] and parent == os.getpid()
    assert forked == ordinary


def test_who_wants_what_the_server_has_not_is_sent_away(server, tmp_path, monkeypatch):
    assert ask(tmp_path, OMP_NUM_THREADS="3") is None and ask(tmp_path, PYTHONHASHSEED="1") is None
    command = ["another-python", "-m", "ipykernel_launcher", "-f", "x"]
    assert provisioner.fork(command, os.environ | preload.SETTINGS, str(tmp_path)) is None
    monkeypatch.delenv(preload.SOCKET)
    assert ask(tmp_path) is None


def test_a_forked_kernel_ends_with_its_run(server, tmp_path):
    kernel = ask(tmp_path)
    process = psutil.Process(kernel.pid)
    assert kernel.poll() is None and process.ppid() == server.pid
    kernel.connection.close()  # as when the run's process is gone
    until(lambda: gone(process))
    assert server.is_running()


def test_a_forked_kernel_tells_how_it_ended(server, tmp_path):
    kernel = ask(tmp_path)
    process = psutil.Process(kernel.pid)
    kernel.kill()
    assert kernel.wait() == -signal.SIGKILL and gone(process)
    kernel.terminate()  # of what has ended: nothing
    with socket.socket(socket.AF_UNIX) as connection:  # nothing is asked for
        connection.connect(os.environ[preload.SOCKET])
    assert ask(tmp_path).poll() is None
