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
# # The exact risk
#
# What is the pretraining loss of softmax attention? Everybody samples it. For rotation-invariant functions
# on the sphere it can be computed to machine precision in milliseconds, for any context length. This page
# derives the formula, checks it, and lets you move it; every other chapter of the first paper stands on it.

# %% [markdown]
# ## What is printed
#
# :::{prf:definition} ITA slides, "(ICL)"
# :label: def-icl
# :nonumber:
# $$\mathcal L(M)=\mathbb E_{f,\{x_i\},\{\epsilon_i\}}\Big(\sum_{i=1}^n(f(x_i)+\epsilon_i)
#   \frac{e^{x_i^\top Mx_{n+1}}}{\sum_{j=1}^ne^{x_j^\top Mx_{n+1}}}-f(x_{n+1})\Big)^2$$
# and it decomposes as $\mathcal L=\mathcal L_{\rm bias}+\mathcal L_{\rm noise}$, with
# $\mathcal L_{\rm bias}=\mathbb E\big(\sum_if(x_i)\omega_i-f(x_{n+1})\big)^2$ and
# $\mathcal L_{\rm noise}=\mathbb E\big(\sum_i\epsilon_i\omega_i\big)^2$.
# :::
#
# On the slides this is where exactness ends: bias and noise are bounded up to constants. The label of the query
# is clean here; the empirical loss has the noisy one and is larger by $\sigma^2$. The index $i$ is printed in both the
# numerator and the denominator; we write $j$ below.
#
# **In plain words.** Attention predicts with a weighted mean of noisy labels. Its error has two independent parts:
# the function at the neighbors is not the function at the query (bias, which here contains the luck of *where*
# the neighbors fall), and the labels carry noise.
#
# The parameters of this run, and its imports (folded):

# %% tags=["parameters"]
dims = [2, 3, 5, 8]  # dimensions d of the covariates
context_length = 20  # tokens n in a context
lipschitz = 1.0  # Lipschitz constant L
noise_std = 0.3  # standard deviation sigma of the label noise
noise_stds = [0.02, 2.0]  # least and largest noise of the figure that moves
contexts = 40000  # Monte Carlo contexts for each sampled number
seed = 0  # root of the random streams

# %% tags=["hide-input"]
import json
import time

import matplotlib.pyplot as plt
import numpy as np
import torch

from icl.attention import softmax_weights
from icl.covariates import uniform_sphere
from icl.risk import (
    MonteCarlo,
    bayes_linear_risk,
    monte_carlo_risk,
    optimal_window,
    population_risk,
)
from icl.streams import stream
from icl.tasks import Affine, Zonal, make_task
from icl_book import notebook, plots
from icl_book.claims import Case, judge
from icl_book.explorer import risk_explorer

notebook.setup(globals())

CLASSES = {"affine": "affine", "relu": "ReLU", "cosine": "cosine"}

# %% [markdown]
# ## The formula, derived
#
# Let $M=wI$, tokens and query independent and uniform on $S^{d-1}$, $t_i=x_i\cdot x_q$,
# $E_i=e^{-w(1-t_i)}$, $\omega_i=E_i/\sum_jE_j$. Let $\mathbb E_ff(x)f(x')=k(x\cdot x')$ and
# $\gamma=k(1)-k$ the variogram.
#
# :::{prf:theorem} exact population risk
# :label: thm-exact
# :nonumber:
# With $z=e^{u}E$, $\varphi(u)=\mathbb E\,e^{-z}$ and $k(\cos\theta)=\sum_\ell a_\ell P_\ell(\cos\theta)$ in
# Gegenbauer polynomials with $P_\ell(1)=1$,
#
# $$\mathcal L_{\rm noise}=\sigma^2n\int\mathbb E[z^2e^{-z}]\,\varphi^{n-1}du,$$
#
# $$\begin{aligned}\mathcal L_{\rm bias}=\;&n\int\mathbb E[2\gamma(t)z^2e^{-z}]\,\varphi^{n-1}du\\
#   &+n(n-1)\int\sum_{\ell\ge1}a_\ell\,\mathbb E\big[z\,(1-P_\ell(t))\,e^{-z}\big]^2\varphi^{n-2}du,\end{aligned}$$
#
# where $u$ runs over the real line and every expectation is over **one** token.
# :::
#
# :::{prf:proof}
# *The functions.* The weights sum to one, so the error is $\sum_i\omega_i(f(x_i)-f(x_q))$ plus noise, and the mean over
# $f$ of $(f(x_i)-f(x_q))(f(x_j)-f(x_q))$ is $G_{ij}=\gamma_{iq}+\gamma_{jq}-\gamma_{ij}$.
#
# *The denominator.* $S^{-2}=\int_0^\infty s\,e^{-sS}ds$ with $S=\sum_jE_j$ turns
# $\mathbb E\,\omega_i\omega_jG_{ij}$ into $\int s\,\mathbb E[E_iE_jG_{ij}e^{-sS}]ds$. Given the query, tokens are
# independent: each of the other tokens contributes one factor $\varphi$. Put $s=e^u$.
#
# *The pair.* $G_{ij}$ still couples two tokens through $\gamma_{ij}$. By Schoenberg's theorem $a_\ell\ge0$, and by the
# addition theorem the mean of $P_\ell(x_i\cdot x_j)$ over rotations about the query is
# $P_\ell(t_i)P_\ell(t_j)$. So the mean of $G_{ij}$ is $\sum_\ell a_\ell(1-P_\ell(t_i))(1-P_\ell(t_j))$: the pair
# separates into squares. $\square$
# :::
#
# Every term is positive, so nothing cancels, and $n$ is only an exponent.
#
# ### By hand
#
# For $w=0$ all weights are $1/n$. For the affine class $\gamma=\frac{L^2}{3d}(1-t)$, so with $\mathbb E\,t=0$ the bias is
# $\frac1n2\cdot\frac{L^2}{3d}+\frac{n-1}n\frac{L^2}{3d}=\frac{L^2}{3d}\big(1+\frac1n\big)$ and the noise $\sigma^2/n$.
# With $d=5$, $n=2$, $L=\sigma=1$: bias $\frac1{10}$, noise $\frac12$.

# %%
by_hand = population_risk(Affine(dim=5), w=0.0, n=2, noise_std=1.0)
print(
    f"bias {by_hand.bias:.15f}   noise {by_hand.noise:.15f}   estimated relative error {by_hand.error:.0e}"
)

# %% [markdown]
# ### The formula on one screen
#
# For the affine class a single degree survives. These lines are the whole computation for moderate windows; the package
# adds nodes that follow the kernel (`icl/risk/quadrature.py`), the other degrees, and derivatives (`icl/risk/integrals.py`).


# %%
def risk_on_one_screen(d, w, n, noise_std, L=1.0):
    theta, weight = np.polynomial.legendre.leggauss(200)
    theta = (theta + 1) * np.pi / 2
    p = weight * np.sin(theta) ** (d - 2)
    p /= p.sum()  # law of the angle between token and query
    gap = 1 - np.cos(theta)
    step = 0.1
    total = 0.0
    for u in np.arange(-np.log(n) - 25, 2 * w + 6, step):
        z = np.exp(np.minimum(u - w * gap, 6))
        phi = p @ np.exp(-z)
        gamma = L**2 / (3 * d) * gap
        diagonal = p @ ((2 * gamma + noise_std**2) * z**2 * np.exp(-z))
        pair = L**2 / (3 * d) * (p @ (z * gap * np.exp(-z))) ** 2
        total += step * (
            n * diagonal * phi ** (n - 1) + n * (n - 1) * pair * phi ** (n - 2)
        )
    return total


ours = population_risk(Affine(5, lipschitz), 6.0, context_length, noise_std).total
print(
    f"one screen {risk_on_one_screen(5, 6.0, context_length, noise_std, lipschitz):.15f}   package {ours:.15f}"
)

# %% [markdown]
# ### A class of your own
#
# Any rotation-invariant class will do: give its covariance. (Closed forms of `spectrum` and `variogram` make it faster and
# more accurate, especially in high dimension.)


# %%
class Exponential(Zonal):
    """A Gaussian process on the sphere with covariance exp(cos - 1)."""

    def covariance(self, cosine):
        return np.exp(np.asarray(cosine) - 1)


print(population_risk(Exponential(3), w=8.0, n=50, noise_std=0.2).total)

# %% [markdown]
# ## Assumptions
#
# | assumption | here |
# |---|---|
# | tokens and query independent, uniform on the unit sphere | used; another token law has its own exact risk, `icl.risk.low_rank` |
# | class rotation invariant | used: only $k$ enters |
# | noise independent of everything, mean zero, variance $\sigma^2$ | used; broken in the control |
# | query not in the denominator | the paper's definition; the other convention is a control |
#
# ## Experiment: exact against sampled
#
# Curves are exact; points are Monte Carlo means with their intervals.

# %%
windows = np.geomspace(0.3, 60, 8)
fine = np.geomspace(0.3, 60, 60)
d = dims[len(dims) // 2]
sampled_risk = {
    name: [
        monte_carlo_risk(
            make_task(name, d, lipschitz), w, context_length, noise_std, contexts, seed
        )
        for w in windows
    ]
    for name in CLASSES
}

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Population risk (squared label units) against the window parameter $w$: exact (curves) and sampled (points with intervals), for three classes at the same $L$, $\\sigma$, $n$ and $d$. A star marks the exact optimum where it is at $w>0$; a class without one is best predicted by the plain mean.", "name": "fig-exact"}, "image": {"alt": "Three curves of risk against the window parameter on logarithmic axes, for affine, ReLU and cosine functions, each with the minimum marked by a star where there is one. Sampled points lie on the curves."}}
figure, ax = plt.subplots(figsize=(6.4, 3.8))
for name, marker in zip(CLASSES, "os^", strict=True):
    task, color = make_task(name, d, lipschitz), plots.COLORS[name]
    plots.exact_curve(
        ax,
        fine,
        population_risk(task, fine, context_length, noise_std).total,
        CLASSES[name],
        color,
    )
    sample = sampled_risk[name]
    plots.sampled_points(
        ax,
        windows,
        [s.mean for s in sample],
        *zip(*(s.interval for s in sample), strict=True),
        None,
        color,
        marker,
    )
    best = optimal_window(task, context_length, noise_std)
    ax.plot(best.w, best.risk, "*", color=color, markersize=11, zorder=4)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="window parameter w",
    ylabel="risk",
    title=f"d = {d}, n = {context_length}",
)
ax.legend()
plt.show()


# %%
def against_exact(name, k, w, sample):
    """Sampled mean over exact risk, with the sample's interval."""
    truth = float(
        population_risk(
            make_task(name, k, lipschitz), w, context_length, noise_std
        ).total
    )
    low, high = sample.interval
    return Case(
        f"{CLASSES[name]}, d = {k}, w = {w:g}",
        sample.mean / truth,
        (low / truth, high / truth),
        samples=sample.contexts,
    )


def average(loss):
    return MonteCarlo(
        float(loss.mean()), float(loss.std() / len(loss) ** 0.5), len(loss)
    )


def ratio(name, k, w):
    task = make_task(name, k, lipschitz)
    return against_exact(
        name,
        k,
        w,
        monte_carlo_risk(task, w, context_length, noise_std, contexts, seed + 1),
    )


def query_counted(name, k, w):
    """The same with the query as one more token of the denominator (label 0, weight e^w)."""
    tokens = uniform_sphere(
        stream(seed, "monte carlo"), contexts, context_length + 1, k
    )
    task = make_task(name, k, lipschitz)
    f = task.sample(stream(seed, "tasks"), contexts)(tokens)
    y = f[:, :-1] + noise_std * torch.from_numpy(
        stream(seed, "noise").standard_normal((contexts, context_length))
    )
    weights = softmax_weights(
        tokens, tokens[:, -1], w * torch.eye(k, dtype=tokens.dtype)
    )[:, :-1]
    return against_exact(name, k, w, average(((weights * y).sum(-1) - f[:, -1]) ** 2))


judge(
    "P1.risk.exact",
    [ratio(name, k, w) for name in CLASSES for k in dims for w in (1.0, 6.0)],
    [query_counted(name, k, 6.0) for name in ("affine", "relu") for k in dims],
)

# %% [markdown]
# **The split.** Bias and noise add because the noise has mean zero and knows nothing of the functions. The sampled total is
# compared with the exact bias plus the exact noise; the control gives the noise a mean.


# %%
def split(name, k, shift):
    w = 6.0
    task = make_task(name, k, lipschitz)
    tokens = uniform_sphere(
        stream(seed + 2, "monte carlo"), contexts, context_length + 1, k
    )
    f = task.sample(stream(seed + 2, "tasks"), contexts)(tokens)
    eps = torch.from_numpy(
        stream(seed + 2, "noise").standard_normal((contexts, context_length))
    )
    eps = (
        noise_std * (eps + shift) / (1 + shift**2) ** 0.5
    )  # second moment sigma^2 in both cases
    weights = softmax_weights(
        tokens[:, :-1], tokens[:, -1], w * torch.eye(k, dtype=tokens.dtype)
    )
    return against_exact(
        name, k, w, average(((weights * (f[:, :-1] + eps)).sum(-1) - f[:, -1]) ** 2)
    )


judge(
    "P1.risk.split",
    [split(name, k, 0.0) for name in CLASSES for k in dims],
    [split(name, k, 3.0) for name in CLASSES for k in dims],
)

# %% [markdown]
# **The floor.** Attention is linear in the labels. The best prediction linear in the labels is kriging with the class
# covariance; it may use a different weighting for every arrangement of tokens, attention only its one window.


# %%
def above_floor(name, k):
    task = make_task(name, k, lipschitz)
    best = float(optimal_window(task, context_length, noise_std).risk)
    floor = bayes_linear_risk(
        task, context_length, noise_std, max(contexts // 20, 200), seed
    )
    low, high = floor.interval
    return Case(
        f"{CLASSES[name]}, d = {k}",
        best / floor.mean,
        (best / high, best / low),
        samples=floor.contexts,
    )


floors = [above_floor(name, k) for name in CLASSES for k in dims]
print(
    "\n".join(
        f"{c.name:18s} best window / kriging floor = {c.measured:.3f}" for c in floors
    )
)

# %% [markdown]
# ## What it costs
#
# The time of one exact evaluation does not grow with $n$; sampling costs $n$ for each context, and an error of $\epsilon$
# costs $\epsilon^{-2}$ contexts.

# %%
lengths = np.array([1e2, 1e4, 1e6, 1e8, 1e10, 1e12])


def seconds(call, repeats=5):
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


exact_seconds = np.array(
    [
        seconds(lambda m=m: population_risk(Affine(5), 10.0, m, noise_std))
        for m in lengths
    ]
)
sampled_lengths = np.array([100, 1000])
sampled_seconds = []
for m in sampled_lengths:
    start = time.perf_counter()
    sample = monte_carlo_risk(Affine(5), 10.0, int(m), noise_std, 4000, seed)
    needed = (
        sample.standard_error / sample.mean / 1e-3
    ) ** 2  # times as many contexts for 1e-3
    sampled_seconds.append((time.perf_counter() - start) * needed)
notebook.glue("milliseconds", float(exact_seconds[0] * 1e3))
notebook.glue("growth", float(exact_seconds[-1] / exact_seconds[0]))
notebook.glue("ratio", float(sampled_seconds[0] / exact_seconds[0]))

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Seconds for one value of the risk against the context length $n$: exact and plain Monte Carlo to a relative error of $10^{-3}$ (measured on 4000 contexts and scaled by the $1/\\sqrt N$ law). Affine class, $d=5$, $w=10$.", "name": "fig-cost"}, "image": {"alt": "Log-log plot of seconds against context length. The exact cost is flat at milliseconds up to ten to the twelve tokens; the sampling cost is many thousand times higher and rises in proportion to the context length."}}
figure, ax = plt.subplots(figsize=(6.0, 3.4))
ax.set(xscale="log", yscale="log", xlabel="context length n", ylabel="seconds")
plots.exact_curve(ax, lengths, exact_seconds, "exact")
ax.plot(
    sampled_lengths,
    sampled_seconds,
    "o",
    color=plots.COLORS["sampled"],
    label="sampled, to 0.1 %",
)
plots.guide(
    ax, sampled_lengths[-1], sampled_seconds[-1], 1, "proportional to n", decades=2
)
ax.legend(loc="center right")
plt.show()

# %% [markdown]
# On this machine one value takes {glue:text}`milliseconds:.1f` ms; at $n=10^{12}$ it takes {glue:text}`growth:.1f` times as long
# as at $n=100$; and sampling to 0.1 % at $n=100$ would take {glue:text}`ratio:.0f` times as long.
#
# ### Measured once, with care
#
# The timings above come from this run. The table is from `benchmarks/exact_risk.py` (`make bench`): CPU time of one
# thread, the competitor in the same process, and random settings of every class, dimension, window and length against
# an independent reference.

# %% tags=["hide-input"]
bench = json.loads(notebook.data("benchmarks/results/exact_risk.json").read_text())
speed, scan, sampling = (
    bench["evaluation"],
    bench["phase_diagram"],
    bench["against_sampling"],
)
rows = [
    ("one value of the risk, w up to 100, median", f"{speed['median_ms']:.1f} ms"),
    (
        "of these, at most 5 ms",
        f"{speed['share_below_5ms']:.0%} of {speed['settings']} settings",
    ),
    (
        "the slowest",
        "{}: {:.0f} ms".format(*max(speed["slowest"].items(), key=lambda kv: kv[1])),
    ),
    ("time at n = 10¹² over time at n = 100", f"{bench['growth']['ratio']:.2f}"),
    (
        f"{scan['minimizers']} optimal windows (Theorem 2's phase diagram)",
        f"{scan['cpu_seconds']:.0f} s",
    ),
]
rows += [
    (
        f"plain sampling over exact, error 10⁻³, {n}",
        f"{r['ratio_at_1e-3_by_1/sqrt(N)']:.1e} times the CPU time",
    )
    for n, r in sampling.items()
]
rows += [
    (
        f"largest relative error, {r['settings']} random settings, {name}",
        f"{r['largest'][0]:.0e}",
    )
    for name, r in bench["accuracy"].items()
]
plots.table(
    ("measured", "value"),
    rows,
    f"{bench['machine']['cpu']}, one thread, commit {bench['commit']['id'][:7]}",
)

# %% [markdown]
# ## Move it
#
# Choose a class, then drag noise and window. Noise widens the best window: the ring, the lowest point, moves to the left.
# No server is involved: the page holds the exact bias and $\mathbb E\sum\omega_i^2$ on a grid of $w$, and the noise term
# is $\sigma^2$ times the latter.

# %% tags=["hide-input"]
grid = np.geomspace(0.1, 100, 91)
parts = {
    name: population_risk(make_task(name, d, lipschitz), grid, context_length, 1.0)
    for name in CLASSES
}
risk_explorer(
    grid,
    {CLASSES[name]: (r.bias, r.noise) for name, r in parts.items()},
    tuple(noise_stds),
    f"Bias, noise and total risk against the window parameter, d = {d}, n = {context_length}",
)

# %% [markdown]
# ## Exercises
#
# 1. At $w\to\infty$ the noise term tends to $\sigma^2$. To what does the bias of the affine class tend for $n=1$?
# 2. Why does the covariance's constant part $a_0$ (for the affine class, the intercept) not matter?
#
# :::{dropdown} Solutions
# 1. One token is predicted with weight one whatever $w$ is: $2(k(1)-a_0)=\frac{2L^2}{3d}$.
# 2. The weights sum to one, so a constant is predicted without error; only differences of $f$ enter.
# :::

# %% tags=["hide-input"]
notebook.footer()
