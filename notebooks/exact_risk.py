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
# **Short answer.** The pretraining loss of softmax attention can be computed for
# rotation-invariant functions on the sphere, at a cost that does not grow with the
# context length. Direct integration over all tokens of short contexts gives the same
# values {judged}`P1.risk.exact`, and sampled risks lie on the exact curves
# ({numref}`fig-exact`).

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [2, 3, 5, 8]  # dimensions d of the covariates
context_length = 20  # tokens n in a context
lipschitz = 1.0  # Lipschitz constant L
noise_std = 0.3  # standard deviation sigma of the label noise
contexts = 40000  # Monte Carlo contexts for each sampled number
seed = 0  # root of the random streams

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import itertools
import json
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy.special import roots_jacobi

from icl.attention import softmax_weights
from icl.covariates import uniform_sphere
from icl.risk import (
    bayes_linear_risk,
    monte_carlo_risk,
    optimal_window,
    population_risk,
)
from icl.streams import stream
from icl.tasks import Affine, Cosine, ReLU, Zonal, angle_quadrature
from icl_book import notebook, plots
from icl_book.claims import exact, judge
from icl_book.interactive import interactive

notebook.setup(globals())

CLASSES = {"affine": Affine, "ReLU": ReLU, "cosine": Cosine}

# %% tags=["hide-input"]
windows = np.geomspace(0.3, 60, 8)
fine = np.geomspace(0.3, 60, 60)
d = dims[len(dims) // 2]
sampled_risk = {}
for name, task in CLASSES.items():
    setting = context_length, noise_std, contexts, seed
    sampled_risk[name] = [
        monte_carlo_risk(task(d, lipschitz), w, *setting) for w in windows
    ]

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Population risk (squared label units) against the window parameter $w$: exact (curves) and sampled (points with intervals), for three classes at the same $L$, $\\sigma$, $n$ and $d$. A star marks the exact optimum where it is at $w>0$; a class without one is best predicted by the plain mean.", "name": "fig-exact"}, "image": {"alt": "Three curves of risk against the window parameter on logarithmic axes, for affine, ReLU and cosine functions, each with the minimum marked by a star where there is one. Sampled points lie on the curves."}}
figure, ax = plt.subplots(figsize=(6.4, 3.3))
for (name, task), marker in zip(CLASSES.items(), "os^", strict=True):
    task, color = task(d, lipschitz), plots.COLORS[name.lower()]
    risk = population_risk(task, fine, context_length, noise_std).total
    plots.exact_curve(ax, fine, risk, name, color)
    mean = [sample.mean for sample in sampled_risk[name]]
    low, high = np.array([sample.interval for sample in sampled_risk[name]]).T
    plots.sampled_points(ax, windows, mean, low, high, None, color, marker)
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

# %% [markdown]
# ## What is printed
#
# > **ITA slides, "(ICL)".**
# >
# > $$\mathcal L(M)=\mathbb E_{f,\{x_i\},\{\epsilon_i\}}\Big(
# > \sum_{i=1}^n(f(x_i)+\epsilon_i)
# > \frac{e^{x_i^\top Mx_{n+1}}}{\sum_{j=1}^ne^{x_j^\top Mx_{n+1}}}-f(x_{n+1})\Big)^2$$
# >
# > and it decomposes as $\mathcal L=\mathcal L_{\rm bias}+\mathcal L_{\rm noise}$, with
# > $\mathcal L_{\rm bias}=\mathbb E\big(\sum_if(x_i)\omega_i-f(x_{n+1})\big)^2$ and
# > $\mathcal L_{\rm noise}=\mathbb E\big(\sum_i\epsilon_i\omega_i\big)^2$.
#
# The slides go on to bound both parts up to constants. The label of the query is clean here; the empirical loss has the noisy one
# and is larger by $\sigma^2$. The index $i$ is printed in both the numerator and the denominator; we write $j$ in the denominator.
#
# **In plain words.** Attention predicts with a weighted mean of noisy labels. Its error has two independent parts: the function
# at the neighbors is not the function at the query (bias, which here contains the luck of *where* the neighbors fall), and the
# labels carry noise.

# %% [markdown]
# ## The formula, derived
#
# Let $M=wI$, tokens and query independent and uniform on $S^{d-1}$, $t_i=x_i\cdot x_q$,
# $E_i=e^{-w(1-t_i)}$, $\omega_i=E_i/\sum_jE_j$. Let $\mathbb E_ff(x)f(x')=k(x\cdot x')$
# and $\gamma=k(1)-k$ the {term}`variogram`: half the mean squared difference of a
# function at two points.
#
# **Why one token suffices.** The denominator $S=\sum_jE_j$ couples all tokens. Writing
# $S^{-2}=\int_0^\infty s\,e^{-sS}ds$ turns it into a mean of products with one factor for
# each token. Gegenbauer polynomials $P_\ell$, orthogonal under the law of the inner
# product of two random points of the sphere, separate a pair of tokens into squares.
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
# :::{admonition} Proof
# :class: dropdown
#
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
# **Exercise 1.** At $w\to\infty$ the noise term tends to $\sigma^2$. To what does the
# bias of the affine class tend for $n=1$?
#
# ```{admonition} Solution
# :class: dropdown
# One token is predicted with weight one whatever $w$ is: $2(k(1)-a_0)=\frac{2L^2}{3d}$.
# ```
#
# **Exercise 2.** Why does the covariance's constant part $a_0$ (for the affine class,
# the intercept) not matter?
#
# ```{admonition} Solution
# :class: dropdown
# The weights sum to one, so a constant is predicted without error; only differences of
# $f$ enter.
# ```
#
# **By hand.** For $w=0$ all weights are $1/n$. For the affine class $\gamma=\frac{L^2}{3d}(1-t)$, so with $\mathbb E\,t=0$ the bias is
# $\frac1n2\cdot\frac{L^2}{3d}+\frac{n-1}n\frac{L^2}{3d}=\frac{L^2}{3d}\big(1+\frac1n\big)$ and the noise $\sigma^2/n$.
# With $d=5$, $n=2$, $L=\sigma=1$: bias $\frac1{10}$, noise $\frac12$.

# %% tags=["hide-input"]
by_hand = population_risk(Affine(dim=5), w=0.0, n=2, noise_std=1.0)
print(
    f"bias {by_hand.bias:.15f}   noise {by_hand.noise:.15f}\n"
    f"estimated relative error {by_hand.error:.0e}"
)

# %% [markdown]
# ### The formula on one screen
#
# For the affine class a single degree survives. These lines are the whole computation for moderate windows; the package
# adds nodes that follow the kernel (`icl/risk/quadrature.py`), the other degrees, and derivatives (`icl/risk/integrals.py`).


# %%
def risk_on_one_screen(d, w, n, noise_std, L=1.0):
    """Return the risk of the affine class."""
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
short = risk_on_one_screen(5, 6.0, context_length, noise_std, lipschitz)
print(f"one screen {short:.15f}   package {ours:.15f}")

# %% [markdown]
# ### A class of your own
#
# Any rotation-invariant class will do: give its covariance.


# %%
class Exponential(Zonal):
    """A Gaussian process on the sphere with covariance exp(cos - 1)."""

    def covariance(self, cosine):
        return np.exp(np.asarray(cosine) - 1)


print(population_risk(Exponential(3), w=8.0, n=50, noise_std=0.2).total)

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens and query independent, uniform on the unit sphere | used; another token law has its own exact risk, `icl.risk.low_rank` |
# | class rotation invariant | used: only $k$ enters |
# | noise independent of everything, mean zero, variance $\sigma^2$ | used; broken in the control |
# | query not in the denominator | the paper's definition; a query that counts itself is the control |
# ```

# %% [markdown]
# ## Experiment: exact against direct
#
# For a short context the risk can be had without the formula: Gauss rules integrate
# over the angles of *all* tokens, the denominator is computed as it stands, and
# $\gamma_{12}$ is averaged over the azimuth between two tokens. Twice the nodes in every
# variable give the error.
#
# The control takes the other convention: the query is one more token, and brings its own clean label.


# %% tags=["hide-input"]
def mean_gap(task, theta):
    """Return the variogram between two tokens, averaged over their azimuth."""
    cosine, weight = np.array([-1.0, 1.0]), np.full(2, 0.5)
    if task.dim > 2:
        half = (task.dim - 4) / 2
        cosine, weight = roots_jacobi(len(theta), half, half)
        weight = weight / weight.sum()
    near = np.sin((theta[:, None] - theta) / 2) ** 2
    apart, mean = np.sin(theta)[:, None] * np.sin(theta), 0.0
    for c, p in zip(cosine, weight, strict=True):
        sine = np.sqrt(np.clip(near + apart * (1 - c) / 2, 0, 1))
        mean = mean + p * task.variogram(2 * np.arcsin(sine))
    return mean


def direct_risks(task, n, windows, nodes):
    """Return the risk by rules over all tokens, for two or three of them.

    The last axis tells whether the query is one more token of the denominator.
    """
    theta, p = angle_quadrature(task.dim, nodes)
    gamma = task.variogram(theta)
    pair = gamma[:, None] + gamma - mean_gap(task, theta)
    diagonal, both = (2 * gamma + noise_std**2)[:, None], np.outer(p, p)
    risks = []
    for w in windows:
        E = np.exp(-w * (1 - np.cos(theta)))
        upper = n * diagonal * E[:, None] ** 2 + n * (n - 1) * pair * np.outer(E, E)
        third, law = (E, p) if n == 3 else (np.zeros(1), np.ones(1))
        for own in (0.0, 1.0):  # the weight of the query in the denominator
            below = E[:, None] + E + own
            sums = [(both * upper / (below + e) ** 2).sum() for e in third]
            risks.append(law @ sums)
    return np.array(risks).reshape(len(windows), 2)


# %% tags=["hide-input"]
few_tokens, rule_windows = [2, 3], [1.0, 6.0]
rules = {2: [80, 160], 3: [64, 128]}  # nodes in each angle, for each number of tokens


def ratios(task, n):
    """Return direct over exact risks and their errors, shape (windows, 2) each."""
    exact_risk = population_risk(task, rule_windows, n, noise_std)
    coarse, fine = (direct_risks(task, n, rule_windows, m) for m in rules[n])
    total = exact_risk.total[:, None]
    return fine / total, np.abs(fine - coarse) / total + exact_risk.error[:, None]


found = np.array(
    [
        [[ratios(task(k, lipschitz), n) for n in few_tokens] for k in dims]
        for task in CLASSES.values()
    ]
)
labels = {
    "kind": np.array(list(CLASSES))[:, None, None, None],
    "d": np.array(dims)[:, None, None],
    "n": np.array(few_tokens)[:, None],
    "w": rule_windows,
}
template = "{kind}, d = {d}, n = {n}, w = {w:g}"
values, errors = found[:, :, :, 0], found[:, :, :, 1]
judge(
    "P1.risk.exact",
    exact(template, values[..., 0], errors[..., 0], **labels),
    exact(template + ", query counted", values[..., 1], errors[..., 1], **labels),
)

# %% [markdown]
# Three tokens exercise every part of the formula: diagonal, pair, and a factor $\varphi$. At longer contexts the sampled points of
# {numref}`fig-exact` agree with it.
#
# **The split.** Bias and noise add because the noise has mean zero and knows nothing of the functions. This is an identity for every context, and is
# checked as one: at drawn tokens and functions, the loss is averaged over *all* sign patterns of a noise of two values, $\pm\sigma$. The control
# gives the noise a mean.

# %% tags=["hide-input"]
split_length = 8  # tokens of these contexts: 256 sign patterns
signs = 1 - 2.0 * (np.arange(2**split_length)[:, None] >> np.arange(split_length) & 1)


def split_gap(name, k, shift, w=6.0, draws=20):
    """Return the largest relative gap between the loss and the sum of its parts."""
    tokens = uniform_sphere(stream(seed, "monte carlo"), draws, split_length + 1, k)
    task = CLASSES[name](k, lipschitz)
    f = task.sample(stream(seed, "tasks"), draws)(tokens).numpy()
    M = w * torch.eye(k, dtype=tokens.dtype)
    omega = softmax_weights(tokens[:, :-1], tokens[:, -1], M).numpy()
    # the second moment is sigma^2 whatever the shift is
    noise = noise_std * (signs + shift) / (1 + shift**2) ** 0.5
    bias = (omega * f[:, :-1]).sum(-1) - f[:, -1]
    loss = ((bias[:, None] + omega @ noise.T) ** 2).mean(-1)
    parts = bias**2 + noise_std**2 * (omega**2).sum(-1)
    return np.max(np.abs(loss - parts) / loss)


def split_cases(template, shift):
    """Return the cases of all classes and dimensions for one mean of the noise."""
    gaps = [[split_gap(name, k, shift) for k in dims] for name in CLASSES]
    return exact(template, gaps, kind=np.array(list(CLASSES))[:, None], d=dims)


judge(
    "P1.risk.split",
    split_cases("{kind}, d = {d}", 0.0),
    split_cases("{kind}, d = {d}, noise with a mean", 3.0),
)

# %% [markdown]
# **The floor.** Attention is linear in the labels. The best prediction linear in the
# labels is kriging (the mean of a Gaussian process, given the labels) with the class
# covariance; it may use a different weighting for every arrangement of tokens,
# attention only its one window.


# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
def above_floor(name, k):
    """Return the least risk of attention over the sampled floor."""
    task = CLASSES[name](k, lipschitz)
    best = float(optimal_window(task, context_length, noise_std).risk)
    some = max(contexts // 20, 200)
    return best / bayes_linear_risk(task, context_length, noise_std, some, seed).mean


plots.table(
    ("class", *(f"d = {k}" for k in dims)),
    [(name, *(f"{above_floor(name, k):.3f}" for k in dims)) for name in CLASSES],
    "Least risk of attention over the sampled risk of kriging",
)

# %% [markdown]
# ## What it costs
#
# The time of one exact evaluation does not grow with $n$; the time of sampling a
# context is proportional to $n$, and an error of $\epsilon$ takes $\epsilon^{-2}$
# contexts.

# %% tags=["hide-input"]
lengths = np.array([1e2, 1e4, 1e6, 1e8, 1e10, 1e12])


def seconds(call, repeats=5):
    """Return the least of several wall times."""
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
    # times as many contexts for a relative error of 1e-3
    needed = (sample.standard_error / sample.mean / 1e-3) ** 2
    sampled_seconds.append((time.perf_counter() - start) * needed)
notebook.glue("milliseconds", float(exact_seconds[0] * 1e3))
notebook.glue("growth", float(exact_seconds[-1] / exact_seconds[0]))
notebook.glue("ratio", float(sampled_seconds[0] / exact_seconds[0] / 1e3))

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Seconds for one value of the risk against the context length $n$: exact and plain Monte Carlo to a relative error of $10^{-3}$ (measured on 4000 contexts and scaled by the $1/\\sqrt N$ law). Affine class, $d=5$, $w=10$.", "name": "fig-cost"}, "image": {"alt": "Log-log plot of seconds against context length. The exact cost is flat at milliseconds up to ten to the twelve tokens; the sampling cost is many thousand times higher and rises in proportion to the context length."}}
figure, ax = plt.subplots(figsize=(6.0, 2.4))
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
# as at $n=100$; and sampling to 0.1 % at $n=100$ would take {glue:text}`ratio:.2g` thousand times as long.
#
# **Measured once.** The folded table is from `benchmarks/exact_risk.py` (`make bench`): CPU time of one thread, the competitor in the
# same process, and random settings of every class, dimension, window and length against an independent reference.

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
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
# Noise widens the best window: the ring, the lowest point, moves to the left.


# %% tags=["hide-input"]
def risk_tables():
    """Return bias and noise at L = sigma = 1, and the lowest risk of each setting."""
    lengths, windows = 10.0 ** np.arange(1, 9), 10 ** (np.arange(-10, 41) / 10)
    slopes = [0.1, 0.2, 0.5, 1, 2, 5, 10]
    noises = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    ratios = np.unique(np.round(np.divide.outer(noises, slopes), 9))  # sigma / L
    curves, best = [], []
    classes = {"affine": Affine, "ReLU": ReLU}
    for (name, task), d in itertools.product(classes.items(), (3, 5, 8)):
        unit = population_risk(task(d), windows, lengths[:, None], 1.0)
        lowest = optimal_window(task(d), lengths, ratios[:, None])
        setting = {"functions": name, "d": d}
        for i, n in enumerate(lengths):
            parts = {"bias": unit.bias[i], "noise": unit.noise[i]}
            curves.append(pd.DataFrame(setting | {"n": n, "w": windows} | parts))
        for L, sigma in itertools.product(slopes, noises):
            i = np.abs(ratios - sigma / L).argmin()
            at = {"w": lowest.w[i], "risk": L**2 * lowest.risk[i]}
            best.append(
                pd.DataFrame(setting | {"L": L, "sigma": sigma, "n": lengths} | at)
            )
    return pd.concat(curves), pd.concat(best)


curves, best = risk_tables()
interactive(
    curves,
    x="w",
    y={"risk": "risk", "bias": "bias", "noise": "noise"},
    sliders={
        "functions": "functions",
        "d": "dimension d",
        "n": "context length n",
        "L": "Lipschitz constant L",
        "sigma": "noise σ",
        "w": "window parameter w",
    },
    start={"functions": "affine", "d": 5, "n": 100, "L": 1, "sigma": 0.5, "w": 1.0},
    best=best,
    squares={"bias": "L", "noise": "sigma"},
    labels=("window parameter w (to the right: narrower)", "mean squared error"),
    experiment="Move n to 10⁸: the ring, the lowest point, goes to the right, and the "
    "risk falls. Then move σ until the ring is back where it was.",
    alt="Bias, noise and their sum, the risk, against the window parameter w, both "
    "axes logarithmic. As the window narrows, the noise rises and the bias falls, "
    "then rises a little; the minimum is marked.",
    caption="All numbers are exact: the risk is L² · bias + σ² · noise.",
)

# %% tags=["remove-input"]
notebook.footer()
