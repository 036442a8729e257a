"""The vocabulary of notebook parameters: what each one means and which values are allowed.

One vocabulary serves the whole book, so ``noise_std`` means the same on every page. A notebook that needs a
new parameter adds one line at the end of `PARAMETERS`. Only the standard library is used here, because runs
are checked before slow packages are imported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


class BadInput(ValueError):
    """A value that the reader or caller gave and that is not allowed; the message is one line."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]  # IPython then shows this line and no traceback


@dataclass(frozen=True)
class Integer:
    """An integer not below ``low``."""

    meaning: str
    low: int = 0

    @property
    def allowed(self) -> str:
        """Describe the allowed values in words."""
        return f"an integer >= {self.low}"

    def accepts(self, value: object) -> bool:
        """Return whether ``value`` is allowed."""
        return isinstance(value, int) and not isinstance(value, bool) and value >= self.low


@dataclass(frozen=True)
class Real:
    """A finite number not below ``low``, or above it if ``strict``."""

    meaning: str
    low: float = -math.inf
    strict: bool = False

    @property
    def allowed(self) -> str:
        """Describe the allowed values in words."""
        bound = "" if self.low == -math.inf else f" {'>' if self.strict else '>='} {self.low:g}"
        return f"a finite number{bound}"

    def accepts(self, value: object) -> bool:
        """Return whether ``value`` is allowed."""
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            return False
        return value > self.low if self.strict else value >= self.low


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
    "dim": Integer("dimension d", 2),
    "dims": Several(Integer("dimensions d of the covariates", 2)),
    "ranks": Several(Integer("dimensions k of the subspace that matters, one for each d", 1)),
    "n_decades": Several(Integer("powers of ten of the context length n", 0)),
    "n_values": Several(Integer("context lengths n", 1)),
    "context_length": Integer("number n of labeled examples in a context", 1),
    "noise_std": Real("standard deviation sigma of the label noise", 0),
    "noise_stds": Several(Real("standard deviations sigma of the label noise", 0)),
    "unit_noise_std": Real("standard deviation sigma of the label noise of the pretrained units", 0),
    "lipschitz": Real("Lipschitz constant L of the class", 0, strict=True),
    "lipschitz_values": Several(Real("Lipschitz constants L of the class", 0, strict=True)),
    "seed": Integer("root of all random streams", 0),
    "seeds": Integer("number of independent repetitions; an interval needs two", 2),
    "steps": Integer("optimizer steps", 1),
    "batch_size": Integer("contexts per optimizer step", 1),
    "batch_sizes": Several(Integer("contexts per optimizer step", 1)),
    "learning_rate": Real("step size of the optimizer", 0, strict=True),
    "contexts": Integer("Monte Carlo contexts", 1),
    "draws": Integer("random problems per size", 1),
    "large_sizes": Several(Integer("problem sizes that only the fast form reaches", 1)),
    "radii": Several(Real("bounds R on the norms of data and weights", 0, strict=True)),
    "step_sizes": Several(Real("step sizes eta in units of the sharp one", 0, strict=True)),
    "memory_limit": Real("GiB of address space a measured process may take more", 0, strict=True),
    "conditions": Several(Real("condition numbers of the data matrices", 1)),
    "starts": Integer("random starts of a search", 1),
    "sizes": Several(Integer("problem sizes", 1)),
    "repeats": Integer("timed repetitions, of which the fastest counts", 1),
    "relu_rate": Real("size of the plain gradient steps, ReLU class", 0, strict=True),
    "cosine_rate": Real("size of the plain gradient steps, cosine class", 0, strict=True),
    "flow_rate": Real("size of the plain gradient steps that are held against a flow", 0, strict=True),
    "steepnesses": Several(Real("steepness beta of the tanh classes", 0, strict=True)),
    "hidden_units": Several(Integer("hidden units of a random network", 1)),
    "flips": Several(Real("probabilities that a label is flipped", 0)),
    "similarities": Several(Real("largest allowed similarities of context and query", -1)),
    "rank": Integer("dimension k of the subspace that matters", 1),
    "shifts": Several(Real("shifts of the sigmoid's scores")),
    "window_range": Several(Real("smallest and largest window of a grid", 0, strict=True)),
    "windows_tried": Integer("windows of a grid, in geometric progression", 2),
    "test_contexts": Integer("contexts that trained models are tested on", 2),
    "redrawn_contexts": Integer("contexts whose irrelevant part is drawn anew", 2),
    "collapse_contexts": Integer("token sets that go through many layers", 2),
    "collapse_tokens": Integer("tokens in each of those sets", 2),
    "max_depth": Integer("largest number of layers", 1),
    "depths_shown": Integer("numbers of layers looked at, in geometric progression", 2),
    "collapse_windows": Several(Real("window parameters w of the layers", 0)),
    "judged_window": Real("largest window parameter w that a card judges", 0),
    "evaluation_seeds": Several(Integer("roots of random streams, one for each evaluation", 0)),
    "pool_sizes": Several(Integer("functions in a fixed pool", 1)),
    "score_contexts": Integer("contexts for the variance of the score", 2),
    "times": Several(Real("training times of a flow", 0, strict=True)),
    "near_values": Several(Real("Lipschitz constants close to the one of pretraining", 0, strict=True)),
    "more_dims": Several(Integer("further dimensions d, for other readings of a statement", 2)),
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


def number(value: object) -> object:
    """Convert text that spells a number (YAML takes ``1e-3`` for text); return other values unchanged."""
    if isinstance(value, list):
        return [number(v) for v in value]
    if isinstance(value, str):
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                pass
    return value
