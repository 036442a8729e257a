"""The vocabulary of notebook parameters: what each one means and which values are allowed.

The whole book has one vocabulary, so that ``noise_std`` means the same on every page. A notebook with a new
parameter needs one more line at the end of `PARAMETERS`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from icl.checks import reals


class BadInput(ValueError):
    """A value that the reader or caller gave and that is not allowed; the message is one line."""

    def _render_traceback_(self) -> list[str]:
        # IPython shows this line in place of a traceback.
        return [f"{type(self).__name__}: {self}"]


@dataclass(frozen=True)
class Real:
    """A parameter that is a number from ``low`` to ``high``, or, if ``several``, a list of such numbers."""

    meaning: str
    #: The default allows positive numbers only.
    low: float = 1e-9
    #: Numbers that are computed from a parameter up to the default stay finite.
    high: float = 1e6
    whole: bool = False
    several: bool = False

    def read(self, name: str, value: object) -> object:
        """Return the value, or raise BadInput if it is not allowed. A whole float may become an integer."""
        try:
            numbers = reals(value, name, self.low, self.high, self.whole)
            if numbers.ndim != self.several or numbers.size == 0:
                kind = "an integer" if self.whole else "a number"
                raise ValueError(f"{name}={value!r}: must be {kind}")
        except ValueError as error:
            message = str(error)
            # The message about one number must be true of each entry.
            if self.several:
                each = "must be a list with one or more entries, each "
                message = message.replace("must be ", each, 1)
            raise BadInput(f"{message} ({self.meaning})") from None
        return numbers.astype(int).tolist() if self.whole else value


Reals = partial(Real, several=True)
Integer = partial(Real, whole=True)
Integers = partial(Integer, several=True)

#: Every parameter that any notebook of the book may have.
PARAMETERS: dict[str, Real] = {
    "dim": Integer("dimension d", 2, 1000),
    "dims": Integers("dimensions d of the covariates", 2, 1000),
    "ranks": Integers("dimensions k of the subspace that matters, one for each d", 1, 1000),
    "n_decades": Integers("powers of ten of the context length n", 0, 30),
    "n_values": Integers("context lengths n", 1),
    "context_length": Integer("number n of labeled examples in a context", 1),
    "noise_std": Real("standard deviation sigma of the label noise", 0),
    "noise_stds": Reals("standard deviations sigma of the label noise", 0),
    "unit_noise_std": Real(
        "standard deviation sigma of the label noise of the pretrained units", 0
    ),
    "lipschitz": Real("Lipschitz constant L of the class"),
    "lipschitz_values": Reals("Lipschitz constants L of the class"),
    "seed": Integer("root of all random streams", 0, 2**32 - 1),
    "seeds": Integer("number of independent repetitions; an interval needs two", 2, 10_000),
    "steps": Integer("optimizer steps", 1, 10**7),
    "training_steps": Integers("optimizer steps, one number for each experiment", 1, 10**7),
    "batch_size": Integer("contexts per optimizer step", 1),
    "batch_sizes": Integers("contexts per optimizer step", 1),
    "learning_rate": Real("step size of the optimizer"),
    "contexts": Integer("Monte Carlo contexts; an interval needs two", 2, 10**8),
    "draws": Integer("random problems per size", 1),
    "radii": Reals("bounds R on the norms of data and weights"),
    "conditions": Reals("condition numbers of the data matrices", 1, 1e12),
    "starts": Integer("random starts of a search", 1, 10_000),
    "sizes": Integers("problem sizes", 1),
    "relu_rate": Real("size of the plain gradient steps, ReLU class"),
    "cosine_rate": Real("size of the plain gradient steps, cosine class"),
    "hidden_units": Integers("hidden units of a random network", 1),
    "flips": Reals("probabilities that a label is flipped", 0, 1),
    "shifts": Reals("shifts of the sigmoid's scores", -1e6),
    "test_contexts": Integer("contexts that trained models are tested on", 2),
    "max_depth": Integer("largest number of layers", 1, 10_000),
    "collapse_windows": Reals("window parameters w of the layers", 0),
    "judged_window": Real("largest window parameter w that a card judges", 0),
    "near_values": Reals("Lipschitz constants close to the one of pretraining"),
    "more_dims": Integers("further dimensions d, for other readings of a statement", 2, 1000),
    "full_steps": Integer("optimizer steps of units whose matrices are all free", 1, 10**7),
    "more_ranks": Integers("dimensions k of the subspace, one for each further d", 1, 1000),
    "more_seeds": Integer("independent repetitions of a further experiment", 2, 10_000),
}


def validate(values: Mapping[str, object], allowed: Collection[str]) -> dict[str, object]:
    """Return the values of parameters by name, where an integer may be given as a float such as ``1e3``.

    ``allowed`` are the names of the notebook's parameters.

    Raises:
        BadInput: If a name is not in ``allowed`` or not in `PARAMETERS`, or if a value is not allowed.
    """
    for name, value in values.items():
        if name not in allowed:
            known = ", ".join(allowed) or "none"
            raise BadInput(f"unknown parameter {name}={value!r}: this notebook has {known}")
        if name not in PARAMETERS:
            raise BadInput(
                f"parameter {name}: not in the vocabulary icl_book.parameters.PARAMETERS"
            )
    return {name: PARAMETERS[name].read(name, value) for name, value in values.items()}


def literals(source: str) -> dict[str, object]:
    """Return the values that a cell assigns, by name.

    Raises:
        ValueError: If a statement is not ``name = literal`` or ``name: type = literal``.
        SyntaxError: If the cell is not Python.
    """
    found = {}
    for line in ast.parse(source).body:
        if isinstance(line, ast.Assign) and len(line.targets) == 1:
            target = line.targets[0]
        elif isinstance(line, ast.AnnAssign) and line.value is not None:
            target = line.target
        else:
            raise ValueError("a line that assigns no literal")
        if not isinstance(target, ast.Name):
            raise ValueError("a line that assigns to no name")
        assert line.value is not None
        found[target.id] = ast.literal_eval(line.value)
    return found


def parse_number(value: object) -> object:
    """Return the number that a text spells, and other values unchanged; a list is parsed entry by entry.

    YAML takes ``1e-3`` for text, for example.
    """
    if isinstance(value, list):
        return [parse_number(v) for v in value]
    # Python would take 1_000 for a number.
    if not isinstance(value, str) or "_" in value:
        return value
    try:
        return int(value) if value.lstrip("+-").isdecimal() else float(value)
    except ValueError:
        return value


def parse_injected(value: object) -> object:
    """Return the number or the list of numbers that a text spells, and other values unchanged.

    Papermill injects what it does not know as text: an array of NumPy is then ``"[1. 2.]"``.
    """
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return [parse_number(word) for word in value[1:-1].replace(",", " ").split()]
    return parse_number(value)
