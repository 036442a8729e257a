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
# # Theorem 2: the extreme examples
#
# **Short answer.** With much noise the best window widens until all weights are equal, as the slides say. With long
# contexts it closes, though it holds more and more tokens. With a strong signal it narrows as far as the context is long
# enough; at a fixed context length it stays finite even without any noise, and the nearest neighbor is not the best choice.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [2, 3, 5, 8]  # dimensions d of the covariates
n_decades = [
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
]  # powers of ten of n, for long contexts
lipschitz = 1.0  # Lipschitz constant L of the sweeps over n
noise_std = 1.0  # standard deviation sigma of the label noise
context_length = 20  # n for the limit of much noise

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.statistics import local_slope
from icl.tasks import Affine, Cosine, ReLU
from icl_book import notebook, parameters, plots
from icl_book.claims import cases, judge, other_readings

notebook.setup(globals(), n_decades=2)
if noise_std == 0:
    raise parameters.BadInput("noise_std=0: must be positive in long contexts")

CLASSES = {"affine": Affine, "ReLU": ReLU}
scaled = {name: partial(task, lipschitz=lipschitz) for name, task in CLASSES.items()}
waves = {L: partial(Cosine, lipschitz=L) for L in (1.0, 4.0)}


def log_slopes(x, best):
    """Return the slopes of log w* in log x between neighbors, and their errors."""
    step = np.diff(np.log(x))
    return np.diff(np.log(best.w)) / step, (best.error[1:] + best.error[:-1]) / step


def measured(measure, classes=scaled, label="kind", **others):
    """Measure a value and its error in every dimension for each class, a row each."""
    parts = []
    for name, make in classes.items():
        for k in dims:
            value, error = np.atleast_1d(*measure(make(k)))
            row = {label: name, "d": k, **others, "value": value, "error": error}
            parts.append(pd.DataFrame(row))
    return pd.concat(parts)


# %% tags=["hide-input"]
d = dims[min(2, len(dims) - 1)]
few = np.array([20, 100, 400])
ratios = np.geomspace(0.05, 1e4, 40)
with_noise = {
    name: optimal_window(task(d), few[:, None], 1 / ratios).w
    for name, task in CLASSES.items()
}
silent = {
    name: [optimal_window(task(k), few, 0.0) for k in dims]
    for name, task in CLASSES.items()
}

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Exact optimal window against $L/\\sigma$ at fixed context length; both axes dimensionless and logarithmic. To the left (noise wins) it falls to zero like the inverse of the noise variance; to the right (no noise) it does not grow without bound but levels off at the noiseless optimum (dotted).", "name": "fig-extremes"}, "image": {"alt": "Log-log plot of the optimal window against L over sigma for three context lengths and two classes. Every curve rises steeply at small ratios and saturates at a finite dotted level at large ratios."}}
figure, ax = plt.subplots(figsize=(6.4, 3.8))
for i, (m, color) in enumerate(zip(few, plots.ramp(len(few)), strict=True)):
    for name, style in (("affine", "-"), ("ReLU", "--")):
        w = with_noise[name][i]
        plots.exact_curve(ax, ratios, w, f"{name}, n = {m}", color, linestyle=style)
    level = silent["affine"][dims.index(d)].w[i]
    ax.axhline(level, color=color, linestyle=":", linewidth=1)
ax.set(
    xscale="log",
    yscale="log",
    xlabel=r"$L/\sigma$",
    ylabel="optimal window parameter w*",
    title=f"d = {d}",
)
ax.legend(fontsize=9, ncols=2)
plt.show()

# %% [markdown]
# ## What is printed
#
# After Theorem 2 the slides list "some extreme examples":
#
# > - $\sigma\to\infty$: no signal, average the noise, $w_{KQ}\to0$.
# > - $L\gg\sigma$: no point aggregating noise, pick the nearest neighbour,
# >   $w_{KQ}\to\infty$.
# > - $n\to\infty$: the query token is in the context! Choose the nearest neighbour,
# >   $w_{KQ}\to\infty$.
#
# ```{admonition} What we add
# :class: tip
# Two limits, $n\to\infty$ and $L/\sigma\to\infty$, do not commute. With $n$ first the window narrows with the signal
# without bound; with the signal first it ends at the best window without noise, about $n^{2/d}$ for the ReLU class. The law of
# [](/notebooks/theorem2_scaling.ipynb) is about $n\gtrsim(L/\sigma)^2$, between the two.
# ```
#
# **Convention.** The kernel is $e^{w\,x\cdot x_q}$ on the unit sphere, so $w=w_{KQ}$; the query is not in the
# denominator. See [](/book/notation.md).

# %% [markdown]
# ## In plain words
#
# - **Much noise.** The mean of all labels is the best there is.
# - **Long contexts.** There are enough tokens close to the query: the window can close and still hold many.
# - **A strong signal.** Where the few nearest tokens happen to lie is random, too; averaging them cancels part of that.
#
# **By hand.** On a line, two tokens at distances $s$ and $t$ on either side of the query, a linear function, no noise. The nearest neighbor errs by the slope times $\min(s,t)$; the weighted mean
# with weights $\frac{t}{s+t}$ and $\frac{s}{s+t}$ does not err at all.
#
# ## Experiment 1: much noise
#
# For both classes $L_{\rm bias}=L^2g_n(w)$ and $L_{\rm noise}=\sigma^2S_n(w)$, so $w^*$ is a function of $n$, $d$ and
# $L/\sigma$ alone. (Of $\Lambda$ alone only asymptotically: at finite $n$, equal $\Lambda$ does not mean equal $w^*$.)

# %% tags=["hide-input"]
sigma = np.array([100.0, 200.0, 400.0])


def slopes_in_noise(window):
    """Return the slopes of log w* in log sigma, and their last change."""
    windows = [window(task(d), context_length, sigma) for task in CLASSES.values()]
    return local_slope(sigma, windows)


def loud(task):
    """Return the optimal window at much noise, and its error."""
    best = optimal_window(task, 100, 100.0)
    return best.w, best.w * best.error


slope, change = slopes_in_noise(lambda *setting: optimal_window(*setting).w)
# for small w both the exact risk and the limit for many tokens give w ~ 1 / sigma^2
limit, step = slopes_in_noise(asymptotics.many_token_window)
slopes = {"kind": list(CLASSES), "value": slope, "change": change}
loud_waves = measured(loud, waves, "L").sort_values(["d", "L"])
(name,) = other_readings("P1.T2.noise-limit")
noise_limit = judge(
    "P1.T2.noise-limit",
    pd.DataFrame(slopes | {"limit": limit, "step": step}),
    readings={
        name: cases(
            loud_waves, error="error", name="cosine, L = {L:g}, d = {d}, n = 100"
        )
    },
    kind="extrapolated",
    change="change",
    known=("limit", "step", -2.0),
    name=f"{{kind}}, d = {d}, n = {context_length}",
)
noise_limit

# %% [markdown]
# ## Experiment 2: a strong signal
#
# At a context so long that the law says $w^*=10^5$ for $L/\sigma=100$, the window narrows over the whole range from $L/\sigma=1$ to $100$.
# At every single $n$ it is bounded.
#
# With $L/\sigma$ first, at fixed $n$ and without any noise, it stays finite, in every dimension. The window also averages over *where* its
# tokens fall: the mean label of a few tokens around the query varies with their positions, which is a second kind of noise, of size
# $(L^2/w)\,w^{(d-1)/2}/n$.


# %% tags=["hide-input"]
def slope_in_signal(task):
    """Return the least slope of log w* in log(L / sigma) for very long contexts."""
    signals = np.array([1.0, 10.0, 100.0])
    m = asymptotics.sharp_context(task, 1e5, 1 / signals[-1])
    slope, error = log_slopes(signals, optimal_window(task, m, 1 / signals))
    return slope.min(), error.max()


def nearest_over_best(task, m, sigma):
    """Return the risk of the nearest neighbor over the least risk, and its error."""
    least = population_risk(task, optimal_window(task, m, sigma).w, m, sigma)
    single = nearest_neighbor_risk(task, m, sigma)
    ratio = single.total / least.total
    return ratio, ratio * (single.error + least.error)


def smallest_inverse(task):
    """Return 1 / w* without noise, and its error."""
    best = optimal_window(task, few, 0.0)
    return 1 / best.w, best.error / best.w


against_nearest = measured(
    lambda task: nearest_over_best(task, few, 0.0), CLASSES, n=few
)
first, *thresholds = other_readings("P1.T2.signal-limit")
signal_limit = judge(
    "P1.T2.signal-limit",
    measured(slope_in_signal, CLASSES),
    readings={first: measured(smallest_inverse, CLASSES, n=few)}
    | dict.fromkeys(thresholds, against_nearest),
    error="error",
)
signal_limit

# %% [markdown]
# ## Experiment 3: long contexts
#
# The window closes. The tokens attended to come arbitrarily close, but they are not *one* token: at fixed noise the best window holds more
# and more of them, and the nearest neighbor alone errs by about $\sigma^2$, however long the context.

# %% tags=["hide-input"]
n = 10.0 ** np.array(n_decades)


def decades(task, lengths, sigma):
    """Return the least slope of log w* in log n, and its error."""
    slope, error = log_slopes(lengths, optimal_window(task, lengths, sigma))
    return slope.min(), error.max()


ends, far = n[-2:], np.array([1e9, 1e10])
growing = noise_std * np.sqrt(ends / 1000)  # sigma^2 grows like n
closing = measured(lambda task: decades(task, far, noise_std), waves, "L")
closing = closing.sort_values(["d", "L"])
(name,) = other_readings("P1.T2.context-limit")
context_limit = judge(
    "P1.T2.context-limit",
    measured(lambda task: decades(task, n, noise_std)),
    measured(lambda task: decades(task, ends, growing)),
    {name: cases(closing, error="error", name="cosine, L = {L:g}, d = {d}")},
    error="error",
)
context_limit


# %% tags=["hide-input"]
def crowd(task):
    """Return the slope of the log number of tokens attended to, and its error."""
    best = optimal_window(task, ends, noise_std)
    risk = population_risk(task, best.w, ends, noise_std)
    step = np.diff(np.log(ends))[0]
    error = (risk.error + task.dim * best.error).sum()  # the number falls like w^(-d/2)
    return -np.diff(np.log(risk.noise))[0] / step, error / step


def bandwidth(task):
    """Return the slope of the log bandwidth in log n, and its error."""
    slope, error = decades(task, ends, noise_std)
    return -slope / 2, error / 2


lonely = measured(lambda task: nearest_over_best(task, n[-1], noise_std))
single, *thresholds = other_readings("P1.T2.nearest")
nearest_card = judge(
    "P1.T2.nearest",
    measured(bandwidth),
    readings={single: measured(crowd)} | dict.fromkeys(thresholds, lonely),
    error="error",
)
nearest_card

# %% [markdown]
# **Only the ratio counts.** That $w^*$ depends on $L$ and $\sigma$ through $L/\sigma$ alone holds at every $n$:


# %% tags=["hide-input"]
def over_unit(task):
    """Return w* at (10 L, 10 sigma) over its value at L = sigma = 1, and its error."""
    large, small = (optimal_window(task(L), context_length, L) for L in (10.0, 1.0))
    ratio = large.w / small.w
    return ratio, ratio * (large.error + small.error)


units = {name: partial(partial, task) for name, task in CLASSES.items()}
ratio = judge("P1.T2.ratio", measured(over_unit, units), error="error")
ratio

# %% [markdown]
# ## Where this leaves the examples
#
# That of much noise holds. That of long contexts holds for the window, not for a single nearest token. That of $L\gg\sigma$ holds as far as
# the context is long enough for the law, and does not at a fixed length. Short contexts and functions that oscillate are drawn in the
# [phase diagram](/notebooks/phase_diagram.ipynb).
#
# **Exercise 1.** In {numref}`fig-extremes`, why do the curves fall like $(L/\sigma)^2$ on the left?
#
# ```{admonition} Solution
# :class: dropdown
# At $w=0$ the bias has the slope $-cL^2$ with a constant $c>0$, and the noise term is $\frac{\sigma^2}n(1+bw^2)$ up to
# higher orders, even in $w$ because turning all tokens around changes nothing. The minimum is at $w\approx
# \frac{cn}{2b}\frac{L^2}{\sigma^2}$.
# ```

# %% tags=["remove-input"]
notebook.footer()
