"""The certificate in balls: its parts and its margins against the fast one."""

import json
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx

from icl.rigor import form
from icl.risk import certificate, certify_isotropy
from icl.risk.integrals import attended_gegenbauer_means
from icl.tasks import Affine, Cosine, Quadratic, ReLU, Tanh


@pytest.mark.parametrize("dim, n, kappa", [(2, 2, 3.0), (3, 20, 0.5), (5, 10**6, 10.0)])
def test_the_fast_means_lie_in_their_enclosures(dim, n, kappa):
    with ctx.workprec(128):
        sure = form.means(dim, n, 8, arb(kappa))
        assert max(float(x.rad()) for x in sure) < 1e-12
        fast = attended_gegenbauer_means(dim, kappa, n, 8, 24)
        assert all(abs(x - arb(y)) < 1e-12 for x, y in zip(sure, fast, strict=True))


@pytest.mark.parametrize("task", [ReLU(2), ReLU(5, 3.0), Cosine(3, 4.0)], ids=str)
def test_the_degrees_left_out_have_the_weight_that_was_extrapolated(task, monkeypatch):
    monkeypatch.setattr(form, "_DEGREES", 128)
    with ctx.workprec(128):
        sure, fast = form._expand(task), certificate._expand(task)
        k = 1 if isinstance(task, ReLU) else 2
        assert sure.first == fast.first == k
        # in one unit: the classes may be expanded to different degrees
        assert float(sure.total) == pytest.approx(fast.total, rel=1e-6)
        a, degree = task.spectrum(4000)[0], np.arange(1, 4001)
        steep = degree * (degree + task.dim - 2) / (task.dim - 1)
        whole, bound = a @ steep / (a[k - 1] * float(sure.steep[0])), float(1 + sure.total)
        assert bound * (1 - 1e-3) <= whole <= bound * (1 + 1e-12)


def test_margins_are_those_of_the_fast_certificate():
    for task, n in ((Affine(4), 7), (Quadratic(3), 20), (Cosine(3), 20)):
        assert form.certify(task, n).margin == pytest.approx(certify_isotropy(task, n).margin, abs=1e-3)
    assert form.certify(Quadratic(3), 2).margin == 0
    with pytest.raises(ValueError, match="allowed are Affine"):
        form.certify(Tanh(3), 20)


ROWS = json.loads((Path(__file__).parents[3] / "results/rigor/form.json").read_text(encoding="utf-8"))["rows"]


def task(row):
    return {"ReLU": ReLU, "cosine": Cosine}[row["class"]](row["dim"], row["lipschitz"])


def test_committed_margins_are_half_of_the_first_term_and_those_of_the_fast_certificate():
    """What the theorem of the appendix says of them; short waves are expanded to other degrees at n = 3."""
    tasks = [cls(d, L) for cls, L in ((ReLU, 1.0), (Cosine, 1.0), (Cosine, 4.0)) for d in (2, 3, 5, 8)]
    lengths = 2, 3, 20, 200, 10**6
    listed = {(task(row), row["n"]) for row in ROWS}
    assert listed == {(t, n) for t in tasks for n in lengths if n > 2 or isinstance(t, ReLU)}
    for row in ROWS:
        fast, exact = certify_isotropy(task(row), row["n"]), row["n"] != 3
        assert row["margin"] > 0.5
        assert fast.margin == pytest.approx(row["margin"], abs=2e-4 if exact else 0.07)
        assert fast.cells == row["cells"] or not exact


@pytest.mark.slow
@pytest.mark.parametrize("one", [ReLU(2), Cosine(2)], ids=str)
def test_committed_margins_are_repeated(one):
    (row,) = (row for row in ROWS if (task(row), row["n"]) == (one, 200))
    proof = form.certify(one, 200)
    assert (proof.margin, proof.cells) == (pytest.approx(row["margin"], abs=1e-9), row["cells"])
