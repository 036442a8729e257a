# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     formats: ipynb,py:percent
#     notebook_metadata_filter: kernelspec,-all
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Finite and autoregressive pretraining
#
# **Short answer.** *Steps:* yes. At a fixed training time the window grows more slowly
# with $n$ than the minimizer's, so exponents read off units that are not converged are
# too small. *Tasks:* the excess risk falls like one over the number of contexts, and a
# full matrix loses several times as much as a single number $w$ ({numref}`fig-tasks`);
# a moderate number of distinct *functions* is enough, since one unit has too few
# numbers to memorize them. *Autoregression:* one $w$ for all lengths is an exact and
# cheap compromise between the lengths' own windows.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [3]  # dimension d of the covariates (the first counts)
lipschitz = 2.0  # Lipschitz constant L
noise_std = 0.5  # standard deviation sigma of the label noise
context_length = 16  # tokens n in a context
sizes = [30, 100, 300, 1000]  # numbers T of pretraining contexts, or of functions
n_decades = [1, 2, 3, 4]  # powers of ten of the context length, for the training time
contexts = 3000  # test token sets
draws = 40  # data sets of each size
seeds = 12  # pretrained units of each setting
steps = 500  # optimizer steps
batch_size = 64  # fresh contexts at each step
learning_rate = 0.2  # Adam's initial step size, falling linearly to zero
pool_sizes = [1, 3, 10, 30]  # functions in a fixed pool
score_contexts = 20000  # contexts for the variance of the score
times = [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 10000.0]  # training times of the flow

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.ticker import MaxNLocator
from scipy.optimize import minimize_scalar

from icl.adam import minimize
from icl.covariates import uniform_sphere
from icl.pretrain import UnitConfig, draw_contexts, pretrain
from icl.pretrain.architectures import predict_every_label, sample_contexts
from icl.pretrain.finite import ReLUPool, fit_matrix, fit_window
from icl.risk import optimal_window, population_flow, population_risk
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import Affine, QuadraticRisk, ReLU
from icl_book import notebook, plots

notebook.setup(globals(), n_decades=2)

d, n = dims[0], context_length
task = ReLU(d, lipschitz)
best = optimal_window(task, n, noise_std)
x_test = uniform_sphere(stream(1, "evaluation"), contexts, n + 1, d)
form = QuadraticRisk.of(task, x_test, noise_std)


def class_risk(M):
    """Compute the risk on the class of units M, (k, d, d), minus that of the optimum.

    Both are means over the same tokens; shape (k,).
    """

    def one(m):
        scores = torch.einsum(
            "bnd,de,be->bn", x_test[:, :-1], torch.as_tensor(m).double(), x_test[:, -1]
        )
        return float(form.risk(torch.softmax(scores, -1)).mean())

    reference = one(float(best.w) * np.eye(d))
    return np.array([one(m) - reference for m in M])


# %% tags=["hide-input"]
def draw(T, seed):
    """Draw T fixed contexts: tokens (T, n + 1, d), labels (T, n + 1)."""
    x, _, y = draw_contexts(task, noise_std, n, T, partial(stream, seed))
    return x, y


# %% tags=["hide-input"]
scalar, matrices = {}, {}
for T in sizes:
    data = [draw(T, 1000 * T + k) for k in range(draws)]
    w = np.array([fit_window(*one) for one in data])
    scalar[T] = population_risk(task, w, n, noise_std).total - float(best.risk)
    start = float(best.w) * torch.eye(d).double()
    matrices[T] = class_risk([fit_matrix(*one, start) for one in data])

x, y = draw(score_contexts, 5)
t, h = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1]), 1e-3


def squared_error(w):
    return ((torch.softmax(w * t, -1) * y[:, :-1]).sum(-1) - y[:, -1]) ** 2


w_best = float(best.w)
score = (squared_error(w_best + h) - squared_error(w_best - h)) / (2 * h)
beside = w_best * np.array([0.99, 1.01])
slopes = population_risk(task, beside, n, noise_std).slope
curvature = float(np.diff(slopes)[0] / (0.02 * w_best))
constant = float(score.var()) / (2 * curvature) / float(best.risk)  # over T

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Excess population risk, relative to the optimum, after minimizing the empirical loss of $T$ contexts over one number $w$ (circles) and over a full matrix $M$ (squares, shifted for legibility). Mean over data sets with interval; line: theory for one number. Both axes logarithmic, dimensionless. Intervals that reach zero are cut at the lower edge.", "name": "fig-tasks"}, "image": {"alt": "Log-log plot of the relative excess risk against the number of contexts T. Both sets of points fall about like one over T. The squares of the full matrix lie above the circles. The circles follow the theory line for large T."}}
figure, ax = plt.subplots()
line = constant / np.array(sizes)
plots.exact_curve(ax, sizes, line, "theory, one number")
for values, name, marker, shift in (
    (scalar, "one number w", "o", 1.0),
    (matrices, "full matrix M", "s", 1.06),
):
    excess = np.array([values[T] for T in sizes]) / float(best.risk)
    points = np.clip(t_interval(excess), 1e-5, None)
    color = plots.COLORS["sampled" if marker == "o" else "bias"]
    plots.sampled_points(ax, np.array(sizes) * shift, *points, name, color, marker)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="contexts T",
    ylabel="excess risk / optimal risk",
    ylim=(line[-1] / 20, None),
)
ax.legend()
plt.show()
notebook.glue("one_percent", constant / 0.01)
notebook.glue("matrix_price", np.mean(matrices[sizes[-1]]) / np.mean(scalar[sizes[-1]]))

# %% [markdown]
# ## The questions
#
#
# The theorems are about the minimizer of the *population* loss at *one* context length.
# Real pretraining has finitely many tasks, finitely many steps, and a loss at every
# position. Summary, *question 6*: "Does the number of pretraining steps impact the
# tightness of your bounds relating the attention window scale to properties like
# Lipschitzness and noise?" Slides, future work: "auto-regressive pretraining". And
# ours: how many pretraining tasks are enough?
#
# ## How many contexts
#
# The slides' empirical loss is a mean over $T$ contexts, $\frac1T\sum_t(\hat f_t-y_{t,n+1})^2$, each with a function of its own.
# We draw $T$ contexts once, minimize it over the single number $w$, and over all of $M$, and ask how much *population* risk
# is lost. For the single number theory says, with the score $g=\partial_w(\hat f-y)^2$ of one context,
#
# $$\mathbb E\,L(\hat w)-L(w^*)\approx\frac{\operatorname{Var}g}{2T\,L''(w^*)} ,$$
#
# and the risk $L$ is exact. For a full $M$ the loss of $\hat M$ is evaluated with labels integrated out, as a difference to
# $w^*I$ on the same tokens.
#
# **Exercise 1.** With $T$ contexts and labels integrated out, would the excess risk
# still fall like $1/T$? With another constant?
#
# ```{admonition} Solution
# :class: dropdown
# Yes, the tokens are still random; the score's variance is smaller, and with it the
# constant.
# ```

# %% tags=["hide-input"]
plots.table(
    ["excess risk, % of the optimal risk", *(f"T = {T}" for T in sizes)],
    [
        [name, *(f"{100 * np.mean(values[T]) / float(best.risk):.2f}" for T in sizes)]
        for name, values in (("one number $w$", scalar), ("full matrix $M$", matrices))
    ]
    + [["theory, one number", *(f"{100 * v:.2f}" for v in line)]],
    f"Means over {draws} data sets; d = {d}, n = {n}",
)

# %% [markdown]
# One percent of the optimal risk is reached with about {glue:text}`one_percent:.0f` contexts if a single number is
# learned. At the largest $T$ the full matrix loses {glue:text}`matrix_price:.1f` times as much: its $d^2$ numbers are also fitted to
# the noise.
#
# ## How many functions
#
# Now contexts are fresh at every step, but their functions come from a fixed pool of $T$ functions. A unit can adapt to the
# pool's mean slope and its directions, not to more: its prediction is an average of the context's labels, and $M$ has $d^2$ numbers.


# %% tags=["hide-input"]
pools = [*pool_sizes, None]  # None: fresh functions
members = [
    UnitConfig(
        task if T is None else ReLUPool(d, lipschitz, T, seed), noise_std, n, seed
    )
    for T in pools
    for seed in range(seeds)
]
pooled = pretrain(
    members,
    steps,
    batch_size,
    learning_rate,
    notebook.device(),
    shared_tokens=True,
    stream="native",
    dtype="float32",
)
pool_excess = 100 * class_risk(pooled.M).reshape(len(pools), seeds) / float(best.risk)
pool_windows = pooled.windows.reshape(len(pools), seeds)

# %% tags=["hide-input"]
rows = []
for T, percent, w in zip(pools, pool_excess, pool_windows, strict=True):
    excess, scale = t_interval(percent), t_interval(w)
    rows.append(
        [
            "fresh functions" if T is None else f"{T} function{'s' * (T > 1)}",
            f"{excess[0]:.1f}",
            plots.interval(excess[1:], ".1f"),
            f"{np.median(percent):.1f}",
            f"{scale[0]:.2f} {plots.interval(scale[1:])}",
        ]
    )
notebook.glue("one_function", np.median(pool_excess[0]))
notebook.glue("ten_functions", np.median(pool_excess[2]))
notebook.glue("fresh_functions", np.median(pool_excess[-1]))
plots.table(
    ["pool", "excess risk, %", "its interval", "median", "mean diagonal $w$"],
    rows,
    "Excess risk on the whole class after pretraining on a pool, "
    f"mean and median over {seeds} pools; the exact $w^*$ is {float(best.w):.2f}",
)

# %% [markdown]
# Pretraining on *one* function costs {glue:text}`one_function:.0f` % of risk on the whole class in the median pool, on ten
# functions {glue:text}`ten_functions:.1f` %; what is left with fresh functions, {glue:text}`fresh_functions:.1f` %, is the optimizer's own noise.
# The intervals for small pools are wide because pools differ: a pool can consist of one flat function.
#
# ## Steps, and the tightness of the bounds
#
# Plain gradient descent with small steps follows the population flow, $\dot w=-L'(w)/d$ from $w=0$, which we compute without
# sampling. The theorem's exponents belong to $t=\infty$. At finite time, compare two context lengths a decade apart:

# %% tags=["hide-input"]
linear, lengths = Affine(d, lipschitz), 10 ** np.array(n_decades)
final = optimal_window(linear, lengths, noise_std)
flow = np.array(
    [population_flow(linear, int(m), noise_std, [0.0, *times]) for m in lengths]
)[:, 1:]


def slopes(w):
    """Write the local slopes of log w in log n."""
    return [f"{s:.3f}" for s in np.diff(np.log(w)) / np.diff(np.log(lengths))]


def lost(w):
    """Write the risk over that of the minimizer."""
    ratio = population_risk(linear, np.array(w), lengths, noise_std).total / final.risk
    return [f"{v:.3f}" if v < 10 else f"{v:.0f}" for v in ratio]


rows = [[f"{time:g}", *slopes(w)] for time, w in zip(times, flow.T, strict=True)]
rows.append(["minimizer", *slopes(final.w)])
plots.table(
    [
        "time $t$",
        *(
            f"n = {plots.ten(a)} to {plots.ten(b)}"
            for a, b in zip(n_decades[:-1], n_decades[1:], strict=True)
        ),
    ],
    rows,
    r"Local slope of $\log w$ in $\log n$ along the exact flow; affine class, "
    rf"d = {d}, $L/\sigma$ = {lipschitz / noise_std:g}",
)

# %% tags=["hide-input"]
plots.table(
    ["time $t$", *(f"n = {plots.ten(k)}" for k in n_decades)],
    [[f"{time:g}", *lost(w)] for time, w in zip(times, flow.T, strict=True)],
    r"Risk along the same flow over the risk of the minimizer",
)

# %% [markdown]
# Early in training $w$ is the same for all long contexts: the slope is near zero, and any lower bound with a positive
# exponent looks violated. Longer contexts converge *later*, because their minimum is further out and flatter ($L'$ is of order $L^2/w^3$
# on the way), so the largest $n$ of a fit are the least converged. The bounds themselves are about the minimizer and do not change.
#
# ## A loss at every context length
#
# Autoregressive pretraining predicts *every* label from those before it. With one $M$ for all positions the
# population loss is the mean of the risks at $m=1,\dots,n$, so its minimizer is exact too.
#
# **Exercise 2.** At $m=1$ the risk does not depend on $w$. Why?
#
# ```{admonition} Solution
# :class: dropdown
# A single token has weight one.
# ```

# %% tags=["hide-input"]
every = np.arange(1, n + 1)


def all_lengths(w):
    return population_risk(task, float(w), every, noise_std).total


found = minimize_scalar(
    lambda u: all_lengths(np.exp(u)).mean(),
    bounds=(-3, 4),
    method="bounded",
    options={"xatol": 1e-6},
)
w_every, own = float(np.exp(found.x)), optimal_window(task, every, noise_std)
price = all_lengths(w_every) / own.risk - 1
notebook.glue("w_every", w_every)
notebook.glue("w_last", own.w[-1])
notebook.glue("price_last", 100 * price[-1])
notebook.glue("price_mean", 100 * (found.fun / own.risk.mean() - 1))
notebook.glue(
    "price_single", 100 * (all_lengths(own.w[-1]).mean() / own.risk.mean() - 1)
)

# %% [markdown]
# The best single window is $w=$ {glue:text}`w_every:.2f`; at the last length alone it would be {glue:text}`w_last:.2f`. Units are
# trained on the same loss, one attention map with a causal mask for each sequence:


# %% tags=["hide-input"]
def on_sphere(rng, count):
    return uniform_sphere(rng, count, n + 1, d)


def loss(step, M):
    x, _, y = sample_contexts(task, on_sphere, noise_std, seeds, batch_size, 2, step)
    return ((predict_every_label(M, x, y) - y[..., 1:]) ** 2).mean((1, 2))


(M,), _ = minimize(loss, [torch.zeros(seeds, d, d)], steps, learning_rate)
trained_w = torch.diagonal(M, dim1=1, dim2=2).mean(1).numpy()
auto, single = t_interval(trained_w), t_interval(pool_windows[-1])
plots.table(
    ["loss", "trained $w$", "its interval", "exact"],
    [
        [
            "at every position",
            f"{auto[0]:.3f}",
            plots.interval(auto[1:], ".3f"),
            f"{w_every:.3f}",
        ],
        [
            "at the last position only",
            f"{single[0]:.3f}",
            plots.interval(single[1:], ".3f"),
            f"{float(best.w):.3f}",
        ],
    ],
    f"Mean diagonal of $M$ after training, mean over {seeds} seeds",
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Left: the optimal window of each context length $m$ (curve, exact), the single window that is optimal for the mean over all lengths (dashed, exact), and units trained autoregressively (point with interval, drawn at the right edge). Right: the relative price of one window for all lengths, exact, for that window and for the one that is optimal at the last length.", "name": "fig-autoregressive"}, "image": {"alt": "Left: the optimal window parameter rises with the context length; a dashed horizontal line crosses it in the middle, and the trained units' point lies on the dashed line. Right: excess risk against the context length; for the autoregressive window it is zero where the curves cross and grows to both sides; for the last length's window it is large at short contexts and zero at the end."}}
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.4))
plots.exact_curve(axes[0], every, own.w, "best for length m")
axes[0].axhline(
    w_every, color=plots.COLORS["bias"], linestyle="--", label="best on average"
)
plots.sampled_points(axes[0], n + 0.5, *auto, "trained")
axes[0].set(xlabel="context length m", ylabel="window parameter w")
axes[0].legend(fontsize=9)
for w, style, name in (
    (w_every, "--", "best on average"),
    (own.w[-1], ":", f"best at m = {n}"),
):
    axes[1].plot(
        every,
        100 * (all_lengths(w) / own.risk - 1),
        style,
        color=plots.COLORS["bias"],
        label=name,
    )
axes[1].set(xlabel="context length m", ylabel="excess risk, %")
for ax in axes:
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
axes[1].legend(fontsize=9)
plt.show()

# %% [markdown]
# One window for all lengths costs {glue:text}`price_mean:.1f` % of the mean risk, compared with a window for each length, and
# {glue:text}`price_last:.1f` % at full length; the window of the last length, used everywhere, would cost
# {glue:text}`price_single:.1f` % on average.
#
# ## Limits
#
# One dimension, one class, one noise level, short contexts. The pools are pools of *functions*; language has no such
# thing. Steps are studied for plain gradient flow at $M=wI$ (exact) only. Scaling of depth and data together is out of reach here, and with it
# the reviewer's question on *emergent* abilities at scale: *not answered*.

# %% tags=["remove-input"]
notebook.footer()
