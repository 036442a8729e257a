"""Function classes ``D(F)`` and their covariance on the unit sphere.

A class is *rotation invariant* if rotations do not change the distribution of ``f``. Then
``E f(x) f(x') = k(x . x')``, and k is the covariance. The exact population risk depends on the class through
k and the fine variance (`Zonal.unresolved`) only. It is computed from the expansion of k in normalized
Gegenbauer polynomials, ::

    k(cos t) = sum_l a_l P_l(cos t),   P_l(1) = 1,   a_l >= 0        (Schoenberg),

because the addition theorem separates the two tokens of a pair in each P_l. Softmax attention predicts a
constant without error, so that `Zonal.spectrum` starts at degree 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache, partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl.checks import affordable, broadcast, integer, matrix_rows, real, reals, shown
from icl.covariates import check_rng, linear_map
from icl.streams import NativeStream
from icl.tasks.own import fitted_spectrum

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
Rng = np.random.Generator | NativeStream
Function = Callable[["torch.Tensor"], "torch.Tensor"]
_Computed = TypeVar("_Computed", bound=Callable[..., Any])

#: What was computed for user-defined classes, while a function decorated by `computing_once` runs.
_kept: ContextVar[dict[Any, Any] | None] = ContextVar("kept", default=None)

#: Largest dimension, and bounds of L and sigma, whose squares must be floating-point numbers.
MAX_DIM, MIN_MAGNITUDE, MAX_MAGNITUDE = 10_000, 1e-100, 1e100
MAX_DEGREE = 10**6

#: Least and largest noise level, window and context length. ``POSITIVE_NOISE_RANGE`` is for functions that
#: divide by the noise level, and ``DRAWN_CONTEXT_RANGE`` for contexts in memory.
NOISE_RANGE, POSITIVE_NOISE_RANGE = (0, MAX_MAGNITUDE), (MIN_MAGNITUDE, MAX_MAGNITUDE)
WINDOW_RANGE = (0, MAX_MAGNITUDE)
CONTEXT_RANGE, DRAWN_CONTEXT_RANGE = (1, MAX_MAGNITUDE), (1, 10**7)


@dataclass(frozen=True)
class Zonal:
    """Base of all rotation-invariant classes on the unit sphere of R^dim.

    A user-defined class derives from this one and defines `covariance`. Then `spectrum` and `variogram` are
    computed from the covariance, more slowly than from closed forms, and less exactly for functions with
    kinks on the circle. Functions that jump need a `spectrum` in closed form, as in `Sign`. If the class also
    defines `sample`, `check_class` compares the drawn functions with the covariance.

    The dimension is 2 to 10,000. ``label`` names the class in text and figures, and ``homogeneous`` says
    whether its functions are proportional to ``lipschitz``. ValueError if ``dim`` or ``lipschitz`` is out of
    range.
    """

    dim: int
    label: ClassVar[str] = "rotation-invariant"
    homogeneous: ClassVar[bool] = False
    #: Whether PyTorch cannot compile the functions of `sample`, which use NumPy or arrays of changing shapes.
    _on_host: ClassVar[bool] = False
    #: For each further numerical attribute of a class: its check, its least and its largest value.
    _ranges: ClassVar[dict[str, tuple[Callable[..., float], float, float]]] = {}

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", integer(self.dim, "dim", 2, MAX_DIM))
        if hasattr(self, "lipschitz"):
            value = real(self.lipschitz, "lipschitz", 0, exclusive_min=True)
            # the square of a positive L might overflow or underflow
            object.__setattr__(
                self, "lipschitz", real(value, "lipschitz", MIN_MAGNITUDE, MAX_MAGNITUDE)
            )
        for name, (check, minimum, maximum) in self._ranges.items():
            object.__setattr__(self, name, check(getattr(self, name), name, minimum, maximum))

    @property
    def singular_term(self) -> tuple[float, float] | None:
        """Order rho and constant c of the variogram's first singular term; None for smooth functions.

        Functions with jumps have order 1, and functions with kinks order 3. As theta -> 0, ::

            gamma = c theta^rho (1 + o(1)),                          0 < rho < 2,
            gamma = a (1 - cos theta) - c theta^rho (1 + o(1)),      2 < rho < 4,

        with c > 0 and any a.
        """
        return None

    @property
    def unresolved(self) -> float:
        """The *fine variance*: the variance of a part h of f that is finer than any window; usually zero.

        Write ``f = g + h``, where `covariance` is that of g. The values of h at different places are
        independent of each other and of g. For a predictor that is linear in the labels, h is noise: the risk
        is that for g with label noise of variance ``sigma^2 + unresolved``, plus ``unresolved`` for the
        query. Any two tokens count as different places, even if their coordinates agree.
        """
        return 0.0

    @property
    def second_moment(self) -> float:
        """``E f(x)^2 = k(1) + unresolved``, the risk of predicting zero, without `left_out_level`."""
        return float(self.covariance(np.array(1.0))) + fine_variance(self)

    @property
    def left_out_level(self) -> float:
        """The mean square of a constant part of f that `covariance` leaves out.

        The risks of kriging, and of heads whose values do not sum to one, depend on this number.
        """
        return 0.0

    @property
    def covariance_slope(self) -> float | None:
        """``k'(1)``, the mean squared gradient divided by d - 1, or None if it has no closed form."""
        return None

    def covariance(self, cosine: ArrayLike) -> Array:
        """Return ``k(cosine) = E f(x) f(x')`` for different unit vectors x, x' with ``x . x' = cosine``."""
        raise NotImplementedError(f"{self!r}: {type(self).__name__} must define covariance(cosine)")

    def spectrum(self, degree: int) -> tuple[Array, float]:
        """Return ``(a_1, ..., a_degree)`` of the covariance, and the sum of all later coefficients.

        Of a user-defined class in three or more dimensions, a few coefficients above degree 500 stand for all
        near them, and the others are zero.

        Raises:
            ValueError: If the degree is not 0 to a million, or if no expansion with coefficients >= 0 was
                found.
        """
        degree = integer(degree, "degree", 0, MAX_DEGREE)
        return fitted_spectrum(self, degree)

    def variogram(self, theta: ArrayLike) -> Array:
        """Return ``gamma = k(1) - k(cos theta)``: ``E (f(x) - f(x'))^2 / 2`` without the fine variance."""
        return self._variogram(angles(theta))

    def _variogram(self, theta: Array) -> Array:
        """Return `variogram` at checked angles; a user-defined class overrides `variogram`."""
        return self.covariance(np.array(1.0)) - self.covariance(np.cos(theta))

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw ``count`` functions; call the result on (count, n, d) points for (count, n) values.

        ValueError unless the count is an integer >= 0, and ``count * dim`` is at most 10^9.
        """
        check_rng(rng)
        count = integer(count, "count", 0)
        affordable(count * self.dim, 1e9, "count", count, "numbers")
        return self._draw(rng, count)

    def _draw(self, rng: Rng, count: int) -> Function:
        """Draw the functions of `sample`; a user-defined class overrides `sample`."""
        raise NotImplementedError(f"{self!r}: {type(self).__name__} must define sample(rng, count)")


def uniform_numbers(rng: Rng, *shape: int) -> Array:
    """Draw uniform numbers between 0 and 1 as an array of NumPy, even on a GPU."""
    drawn: Any = rng.uniform(0.0, 1.0, shape)
    return np.asarray(drawn.cpu() if isinstance(rng, NativeStream) else drawn, dtype=float)


def is_ours(task: Any) -> bool:
    """Return whether a class is one of this package, so that equal classes have equal risks.

    Equality of dataclasses ignores globals and attributes that are not fields, which a user-defined class may
    use.
    """
    if not type(task).__module__.startswith("icl."):
        return False
    return not isinstance(task, Projected) or is_ours(task.task)


def is_traceable(task: Any) -> bool:
    """Return whether PyTorch can compile the functions of a class, once for all draws."""
    if isinstance(task, Projected):
        return is_traceable(task.task)
    return is_ours(task) and not task._on_host


def key_of(value: Any) -> Any:
    """Return a dictionary key that is valid within one call: the value if `is_ours`, or else its identity."""
    return value if is_ours(value) else ("identity", id(value))


def unit_lipschitz(task: Task) -> tuple[Task, float]:
    """Return the class with L = 1 and the factor L if functions are proportional to L, else the class and 1.

    A user-defined class is never copied, because the copy would lose attributes that are not fields.
    """
    if isinstance(task, Zonal) and task.homogeneous and is_ours(task):
        # every homogeneous class has this field
        changes: dict[str, Any] = {"lipschitz": 1.0}
        return replace(task, **changes), vars(task)["lipschitz"]
    return task, 1.0


def cache_by_class(maxsize: int) -> Callable[[_Computed], _Computed]:
    """Return a decorator that caches the results of functions whose first argument is a class.

    Results for a user-defined class are kept only while a function decorated by `computing_once` runs.
    """

    def decorate(function: _Computed) -> _Computed:
        cached = lru_cache(maxsize)(function)

        # tests clear the cache by ``__wrapped__.cache_clear``
        @wraps(cached)
        def compute(task: Zonal, *more: Any) -> Any:
            if is_ours(task):
                return cached(task, *more)
            kept = _kept.get()
            if kept is None:
                return function(task, *more)
            key = function, id(task), *more
            if key not in kept:
                # `task` is kept, so that its id is not given to another object
                kept[key] = task, function(task, *more)
            return kept[key][1]

        return cast(_Computed, compute)

    return decorate


def computing_once(function: _Computed) -> _Computed:
    """Decorate a function so that, while it runs, `cache_by_class` keeps results for user-defined classes.

    The results are then forgotten, because a user-defined class may change later.
    """

    @wraps(function)
    def compute(*given: Any, **named: Any) -> Any:
        token = _kept.set({})
        try:
            return function(*given, **named)
        finally:
            _kept.reset(token)

    return cast(_Computed, compute)


def fine_variance(task: Zonal) -> float:
    """Return ``unresolved`` of a class; ValueError unless it is a number from 0 to 1e200."""
    value = task.unresolved
    return value if is_ours(task) else real(value, "unresolved", 0, MAX_MAGNITUDE**2)


def variogram_of(task: Zonal, theta: Array) -> Array:
    """Return the variogram of a class at checked angles."""
    return task._variogram(theta) if is_ours(task) else task.variogram(theta)


def coefficients(task: Zonal, degree: int) -> tuple[Array, float]:
    """Return `Zonal.spectrum` of a class; ValueError if that of a user-defined class is invalid.

    For rounding, numbers may be negative by up to 1e-9 of the sum of all absolute values.
    """
    found = task.spectrum(degree)
    if is_ours(task):
        return found
    try:
        a, rest = (reals(part, "spectrum", -math.inf) for part in found)
        lowest = -1e-9 * (np.abs(a).sum() + abs(rest))
        fits = a.shape == (degree,) and rest.ndim == 0 and min(a.min(initial=0), rest) >= lowest
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(
            f"{task!r}: spectrum({degree}) must return an array of {degree} finite numbers >= 0, and one "
            "number, the sum of all later ones"
        )
    return a, float(rest)


def check_task(task: Any, name: str = "task") -> None:
    """Raise TypeError unless ``task`` is a `Zonal` class, ValueError if its `fine_variance` is invalid."""
    if not isinstance(task, Zonal):
        raise TypeError(f"{name}={shown(task)}: must be a rotation-invariant class from icl.tasks")
    fine_variance(task)


def angles(theta: ArrayLike) -> Array:
    """Return angles as a float64 array; ValueError if one is outside [0, pi] by more than rounding."""
    return reals(theta, "theta", 0, np.pi + 1e-9)


def cosines(cosine: ArrayLike) -> Array:
    """Return cosines as a float64 array clipped to [-1, 1]; ValueError if any is outside by over 1e-6."""
    return np.clip(reals(cosine, "cosine", -1 - 1e-6, 1 + 1e-6), -1, 1)


def check_setting(
    task: Zonal, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike
) -> tuple[Array, ...]:
    """Check the arguments of a risk; return ``w``, ``n`` and ``noise_std`` as float64 arrays of one shape."""
    check_task(task)
    return broadcast(
        w=reals(w, "w", *WINDOW_RANGE),
        n=reals(n, "n", *CONTEXT_RANGE, whole=True),
        noise_std=reals(noise_std, "noise_std", *NOISE_RANGE),
    )


class Task(Protocol):
    """The attributes of a class that pretraining uses; every class of `icl.tasks` has them.

    If the class is user-defined, ``sample`` always gets a generator of NumPy. The functions that it returns
    get float64 tensors on the CPU, which NumPy takes, too, and return tensors or arrays. It should be a
    frozen dataclass, so that results show its name and numbers.
    """

    @property
    def dim(self) -> int:
        """Dimension of the covariates."""

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw ``count`` functions; call the result on (count, n, dim) points for (count, n) values."""


def draw_function(task: Task, rng: Rng, count: int) -> Function:
    """Draw ``count`` functions of a class, to be called on covariates (count, n, d) for values (count, n).

    The functions of a user-defined class raise ValueError unless they return (count, n) finite numbers.
    """
    function = task.sample(rng, count)
    return function if is_ours(task) else partial(_check_values, task, function)


def _check_values(task: Task, function: Function, x: torch.Tensor) -> torch.Tensor:
    """Return the values (count, n) of user-defined functions, with the dtype and device of the covariates."""
    from icl.pytorch import torch

    # if `sample` did not return a function, the error names the type of what it returned
    given: Any = function(x.double().cpu()) if callable(function) else function
    got = f"a {type(given).__name__}"
    if callable(function) and hasattr(given, "shape"):
        values = torch.as_tensor(given, dtype=torch.float64)
        fits = values.shape == x.shape[:-1]
        if fits and values.isfinite().all():
            return values.to(x)
        got = "with NaN or infinity" if fits else f"of shape {tuple(values.shape)}"
    raise ValueError(
        f"task={shown(task)}: sample(rng, count) must return a function from covariates of shape "
        f"{tuple(x.shape)} to finite numbers of shape {tuple(x.shape[:-1])}, not {got}"
    )


@dataclass(frozen=True)
class Projected:
    """``f(x) = g(A x)`` with g drawn from another class.

    A is ``matrix``, (m, d), kept as a tuple of rows, and m is the dimension of the class of g. This class is
    in general not rotation invariant, so that the exact risk does not apply. Two cases are used:

    - ``A = B'``, where B has orthonormal columns, gives the low-rank classes. ``Projected(Linear(k), B.T)``
      is ``F_B^lin`` of ITA slides, Theorem 4. For the three links of the last slide, replace ``Linear(k)`` by
      ``Linear(k, 1, offset=2)``, ``Quadratic(k)`` and ``Cosine(k, 4)``.
    - ``A = Sigma^{-1/2}`` for tokens ``x = Sigma^{1/2} u`` gives the function g(u), whose class is rotation
      invariant in u (Lemma 1).
    """

    task: Task
    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if not (hasattr(self.task, "sample") and hasattr(self.task, "dim")):
            raise ValueError(f"task={shown(self.task)}: must have dim and sample(rng, count)")
        object.__setattr__(self, "matrix", matrix_rows(self.matrix, "matrix"))
        if len(self.matrix) != self.task.dim:
            raise ValueError(
                f"matrix has {len(self.matrix)} rows: must be the dimension of {self.task!r}"
            )

    @property
    def dim(self) -> int:
        """Dimension d of the tokens."""
        return len(self.matrix[0])

    def sample(self, rng: Rng, count: int) -> Function:
        g = self.task.sample(rng, count)
        return lambda x: g(linear_map(self.matrix, x))
