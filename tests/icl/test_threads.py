"""Threads are as many as the user says, or as the process may use, not as the machine has."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import every_risk
import icl
from icl import data, threads
from icl.tasks import ReLU

MINE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("1", 1),
        ("3", 3),
        (" 4 ", 4),
        ("2,1", 2),
        ("5 , 1, 1", 5),
        ("", MINE),
        ("0", MINE),
        ("-2", MINE),
        ("2.5", MINE),
        ("many", MINE),
        ("9" * 5000, MINE),
    ],
)
def test_the_first_number_of_the_user_counts(monkeypatch, said, wanted):
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert threads.available() == wanted


def test_a_process_confined_to_one_processor_has_one_thread():
    code = """
import os
del os.environ["OMP_NUM_THREADS"]
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from icl.threads import available
print(available())
"""
    env = os.environ | {"OMP_NUM_THREADS": "7"}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1"]


def test_predictions_on_user_data_start_no_more_threads(monkeypatch):
    started = []

    class Pool(data.ThreadPoolExecutor):
        def __init__(self, workers):
            started.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(data, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(data, "_QUERIES", 2)
    monkeypatch.setattr(data, "_TILE", 4)
    # BLAS has separate threads
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for said, wanted in {"5,1": 5, "3": 3, "100": 8}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        data.predict([[0.0], [1.0]], [0.0, 1.0], [[0.5]] * 40, 1.0)
        assert started.pop() == wanted


@pytest.fixture
def no_threads(monkeypatch):
    """Let Python start no thread, as in a browser."""

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(data, "_QUERIES", 2)
    monkeypatch.setattr(data, "_TILE", 4)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def test_predictions_from_data_need_no_thread(no_threads):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    w = icl.best_window(X, y).w
    M = icl.best_matrix(X, y).M
    assert np.isfinite(icl.predict(X, y, X + 1, w)).all()
    assert np.allclose(icl.weights(X, X @ M + 1, w).sum(axis=1), 1)


@pytest.mark.parametrize("call", every_risk.ALL, ids=lambda call: call.__name__)
def test_exact_risks_need_no_thread(no_threads, call):
    risks, settings = every_risk.numbers(call, ReLU(3), noise_std=0.4711)
    assert risks or settings
