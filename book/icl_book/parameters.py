"""The vocabulary of notebook parameters: what each one means and which values are allowed.

One vocabulary serves the whole book, so ``noise_std`` means the same on every page. A notebook that needs a
new parameter adds one line at the end of `PARAMETERS`. Only the standard library is used here, because runs
are checked before slow packages are imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SMALLEST = 1e-9  # of what must be positive


class BadInput(ValueError):
    """A value that the reader or caller gave and that is not allowed; the message is one line."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]  # IPython then shows this line and no traceback


@dataclass(frozen=True)
class Integer:
    """An integer between ``low`` and ``high``."""

    meaning: str
    low: int = 0
    high: int = 10**6

    @property
    def allowed(self) -> str:
        """Describe the allowed values in words."""
        return f"an integer >= {self.low} and <= {self.high:g}"

    def accepts(self, value: object) -> bool:
        """Return whether ``value`` is allowed."""
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class Real:
    """A number between ``low`` and ``high``: what is computed with it stays finite."""

    meaning: str
    low: float = SMALLEST
    high: float = 1e6

    @property
    def allowed(self) -> str:
        """Describe the allowed values in words."""
        return f"a number >= {self.low:g} and <= {self.high:g}"

    def accepts(self, value: object) -> bool:
        """Return whether ``value`` is allowed."""
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high
        )


@dataclass(frozen=True)
class Several:
    """A list of at least one value, each of the kind ``of``."""

    of: Integer | Real

    @property
    def meaning(self) -> str:
        """What the values stand for."""
        return self.of.meaning

    @property
    def allowed(self) -> str:
        """Describe the allowed values in words."""
        return f"a list with one or more entries, each {self.of.allowed}"

    def accepts(self, value: object) -> bool:
        """Return whether ``value`` is allowed."""
        return isinstance(value, list | tuple) and len(value) > 0 and all(map(self.of.accepts, value))


#: Every parameter that any notebook of the book may have.
PARAMETERS: dict[str, Integer | Real | Several] = {
    "dim": Integer("dimension d", 2, 1000),
    "dims": Several(Integer("dimensions d of the covariates", 2, 1000)),
    "ranks": Several(Integer("dimensions k of the subspace that matters, one for each d", 1, 1000)),
    "n_decades": Several(Integer("powers of ten of the context length n", 0, 30)),
    "n_values": Several(Integer("context lengths n", 1)),
    "context_length": Integer("number n of labeled examples in a context", 1),
    "noise_std": Real("standard deviation sigma of the label noise", 0),
    "noise_stds": Several(Real("standard deviations sigma of the label noise", 0)),
    "unit_noise_std": Real("standard deviation sigma of the label noise of the pretrained units", 0),
    "lipschitz": Real("Lipschitz constant L of the class"),
    "lipschitz_values": Several(Real("Lipschitz constants L of the class")),
    "seed": Integer("root of all random streams", 0, 2**32 - 1),
    "seeds": Integer("number of independent repetitions; an interval needs two", 2, 10_000),
    "steps": Integer("optimizer steps", 1, 10**7),
    "batch_size": Integer("contexts per optimizer step", 1),
    "batch_sizes": Several(Integer("contexts per optimizer step", 1)),
    "learning_rate": Real("step size of the optimizer"),
    "contexts": Integer("Monte Carlo contexts; an interval needs two", 2, 10**8),
    "draws": Integer("random problems per size", 1),
    "large_sizes": Several(Integer("problem sizes that only the fast form reaches", 1)),
    "radii": Several(Real("bounds R on the norms of data and weights")),
    "step_sizes": Several(Real("step sizes eta in units of the sharp one")),
    "memory_limit": Real("GiB of address space a measured process may take more", 0.1, 10_000),
    "conditions": Several(Real("condition numbers of the data matrices", 1, 1e12)),
    "starts": Integer("random starts of a search", 1, 10_000),
    "sizes": Several(Integer("problem sizes", 1)),
    "repeats": Integer("timed repetitions, of which the fastest counts", 1, 1000),
    "relu_rate": Real("size of the plain gradient steps, ReLU class"),
    "cosine_rate": Real("size of the plain gradient steps, cosine class"),
    "flow_rate": Real("size of the plain gradient steps that are held against a flow"),
    "steepnesses": Several(Real("steepness beta of the tanh classes")),
    "hidden_units": Several(Integer("hidden units of a random network", 1)),
    "flips": Several(Real("probabilities that a label is flipped", 0, 1)),
    "similarities": Several(Real("largest allowed similarities of context and query", -1, 1)),
    "rank": Integer("dimension k of the subspace that matters", 1),
    "shifts": Several(Real("shifts of the sigmoid's scores", -1e6)),
    "window_range": Several(Real("smallest and largest window of a grid")),
    "windows_tried": Integer("windows of a grid, in geometric progression", 2),
    "test_contexts": Integer("contexts that trained models are tested on", 2),
    "redrawn_contexts": Integer("contexts whose irrelevant part is drawn anew", 2),
    "collapse_contexts": Integer("token sets that go through many layers", 2),
    "collapse_tokens": Integer("tokens in each of those sets", 2),
    "max_depth": Integer("largest number of layers", 1, 10_000),
    "depths_shown": Integer("numbers of layers looked at, in geometric progression", 2),
    "collapse_windows": Several(Real("window parameters w of the layers", 0)),
    "judged_window": Real("largest window parameter w that a card judges", 0),
    "evaluation_seeds": Several(Integer("roots of random streams, one for each evaluation", 0, 2**32 - 1)),
    "pool_sizes": Several(Integer("functions in a fixed pool", 1)),
    "score_contexts": Integer("contexts for the variance of the score", 2),
    "times": Several(Real("training times of a flow")),
    "near_values": Several(Real("Lipschitz constants close to the one of pretraining")),
    "more_dims": Several(Integer("further dimensions d, for other readings of a statement", 2, 1000)),
}


def validate(values: Mapping[str, object], allowed: Iterable[str]) -> None:
    """Check names, types and ranges of parameters.

    Args:
        values: Value by parameter name.
        allowed: Names that the notebook has.

    Raises:
        BadInput: Naming the first parameter that is wrong, its value and what is allowed.
    """
    allowed = list(allowed)
    for name, value in values.items():
        if name not in allowed:
            known = ", ".join(allowed) or "none"
            raise BadInput(f"unknown parameter {name}={value!r}: this notebook has {known}")
        if name not in PARAMETERS:
            raise BadInput(f"parameter {name}: not in the vocabulary icl_book.parameters.PARAMETERS")
        if not PARAMETERS[name].accepts(value):
            kind = PARAMETERS[name]
            raise BadInput(f"{name}={value!r}: must be {kind.allowed} ({kind.meaning})")


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def number(value: object) -> object:
    """Convert text that spells a number (YAML takes ``1e-3`` for text); return other values unchanged.

    Only decimal numbers are: ``0x10``, ``1_000`` and ``12:30`` stay text, which no parameter takes. A whole
    number with an exponent, ``1e3``, is an integer.
    """
    if isinstance(value, list):
        return [number(v) for v in value]
    if not isinstance(value, str) or len(value) > 100 or not _NUMBER.fullmatch(value):
        return value
    if value.lstrip("+-").isdecimal():
        return int(value)
    found = float(value)
    return int(found) if "e" in value.lower() and found.is_integer() else found
