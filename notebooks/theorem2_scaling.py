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
# # Theorem 2: how the attention window scales
#
# Softmax attention with $M = w I$ predicts the query's label by a weighted mean of the context's
# labels; the larger $w$, the fewer and closer the tokens that count. Theorem 2 says how large the best
# $w$ is. This page prints the theorem and its proof sketch as they stand on the slides, derives the
# sharp law, computes the best window *exactly* over many decades of the context length, and lets the
# numbers judge each statement.

# %% [markdown]
# ## What is printed
#
# :::{prf:theorem} ITA slides, Theorem 2
# :label: thm-two
# :nonumber:
# For sufficiently large $n$, the minimizer of the pretraining population loss induced by
# $D(\mathcal F_L^+)$ is $M^* = w_{KQ} I_d$ where
#
# $$\Omega\left(\left(\frac{nL^2}{\sigma^2}\right)^{\frac1d}\right) < w_{KQ} <
#   \mathcal O\left(\left(\frac{nL^2}{\sigma^2}\right)^{\frac2d}\right).$$
# :::
#
# Its proof sketch, on the same slides, rests on two ingredients (expectations are dropped in print):
#
# $$L_{\rm noise}(w) = \Theta\Big(\sigma^2\frac{w^{d/2}+1}{n}\Big), \qquad
#   \Omega\Big(\frac{L^2}{w^2}\Big) < L_{\rm bias}(w) < \Theta\Big(\frac{L^2}{w}+\frac{L^2}{n}\Big),$$
#
# "use these to get a range for $w_{KQ}$". Three extreme examples follow: $\sigma\to\infty$ gives $w_{KQ}\to0$;
# $L\gg\sigma$ gives $w_{KQ}\to\infty$, the nearest neighbor; $n\to\infty$ gives $w_{KQ}\to\infty$.
#
# **Our corrected form.** With $\Lambda = nL^2/\sigma^2$ and fixed $L/\sigma$, as $n\to\infty$:
#
# - the sketch's own ingredients give the exponents $\frac1{d+2}$ and $\frac2{d+2}$, not $\frac1d$ and $\frac2d$;
# - the noise term grows like $w^{(d-1)/2}$, because the sphere has dimension $d-1$;
# - sharp: $w^* \asymp \Lambda^{2/(d+2)}$ for the ReLU class and $w^* \asymp \Lambda^{2/(d+3)}$ for the affine class,
#   with the constants derived below;
# - at fixed $n$ the best window stays finite even without noise.
#
# **Convention.** The kernel is $e^{w\,x\cdot x_q}$ on the unit sphere, so $w = w_{KQ}$ and the bandwidth is
# $w^{-1/2}$. The slides' sketch and the paper's appendix write $e^{-w\|x-x_q\|^2}$, which is half of it. The
# query is not in the denominator. See [](/book/notation.md).
#
# The parameters of this run, and its imports (folded):

# %% tags=["parameters"]
dims = [2, 3, 5, 8]  # dimensions d of the covariates
n_decades = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]  # powers of ten of n, exact windows
lipschitz = 1.0  # Lipschitz constant L of the exact sweeps over n
noise_std = 1.0  # standard deviation sigma of the label noise
context_length = 20  # n of the units pretrained at several L
lipschitz_values = [1.0, 2.0, 4.0, 8.0]  # their Lipschitz constants L
n_values = [10, 20, 40]  # context lengths of the units pretrained at several n
seeds = 10  # pretrained units a setting
steps = 800  # Adam steps a unit
batch_size = 256  # fresh contexts a step
learning_rate = 0.1  # Adam's initial step size, falling linearly to zero

# %% tags=["hide-input"]
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import minimize_scalar

from icl.attention import softmax_attention
from icl.covariates import cap_quantile
from icl.pretrain import UnitConfig, pretrain
from icl.risk import asymptotics, optimal_window, population_risk
from icl.tasks import Affine, make_task
from icl_book import notebook, plots
from icl_book.claims import exact, judge, sampled

notebook.setup(globals())

CLASSES = {"affine": "affine", "relu": "ReLU"}

# %% [markdown]
# ## In plain words
#
# Attention averages over a window around the query, about $w^{-1/2}$ wide. A **wide** window (small $w$)
# averages the noise of many labels but smears the function: low noise, high bias. A **narrow** window (large
# $w$) does the opposite. Pretraining picks the balance:
#
# - rougher functions (**larger** $L$): **narrower** window, larger $w$;
# - noisier labels (**larger** $\sigma$): **wider** window, smaller $w$;
# - longer contexts (**larger** $n$): enough tokens close by, **narrower** window, larger $w$.
#
# The theorem bounds the speed of the last: how fast $w$ must grow with $n$.
#
# ## By hand: three tokens on the circle
#
# The query sits at angle $0$; three tokens at $0°$, $60°$, $180°$ carry labels $1, 2, 4$. With $w=\ln 4$ the scores
# $e^{w\,x\cdot x_q} = 4^{\cos\theta}$ are $4,\ 2,\ \tfrac14$, so the weights are
# $\frac{16}{25}, \frac{8}{25}, \frac{1}{25}$ and the prediction is
# $\frac{16\cdot1+8\cdot2+1\cdot4}{25} = \frac{36}{25}$. With $w=0$ it is the plain mean $\frac73$;
# as $w\to\infty$ it tends to the nearest label, $1$.

# %%
angles = torch.tensor([0.0, 60.0, 180.0], dtype=torch.float64).deg2rad()
x = torch.stack([angles.cos(), angles.sin()], dim=-1)
y = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
query = torch.tensor([1.0, 0.0], dtype=torch.float64)
for w in (0.0, np.log(4), 1000.0):
    print(
        f"w = {w:8.3f}   prediction = {softmax_attention(x, y, query, w * torch.eye(2).double()):.6f}"
    )

# %% [markdown]
# ## What is assumed, and what we test
#
# | assumption | here |
# |---|---|
# | covariates uniform on the unit sphere, $\Sigma = I$ | kept; other $\Sigma$ are a question of Lemma 1 |
# | functions rotation invariant ($q\sim U(S^{d-1})$ for both classes) | kept; broken in a control below |
# | $n$ sufficiently large, $L/\sigma$ fixed | tested: exact local slopes over all decades; broken in a control |
# | minimizer of the *population* loss | exact, no sampling; and reached by pretrained units |
# | query label in the loss | clean in the population loss, noisy in training; the difference is the constant $\sigma^2$ |
#
# The law of the noise is not printed; only its variance enters the risk. We draw Gaussian noise.

# %% [markdown]
# ## The sharp law, derived
#
# Let $t = x\cdot x_q$ and $\nu = d/2-1$. For $n\to\infty$ the weights $\omega_i$ turn into a von Mises-Fisher law
# around the query, with
#
# $$A_d(w) = \mathbb E_w[t] = \frac{I_{d/2}(w)}{I_{d/2-1}(w)} = 1-\frac{d-1}{2w}+\cdots, \qquad
#   R_d(w) = \frac{\mathbb E e^{2wt}}{(\mathbb E e^{wt})^2} \sim \kappa\, w^{(d-1)/2}, \quad
#   \kappa = \frac{\sqrt\pi}{\Gamma(d/2)\,4^{d/2-1}} .$$
#
# **Noise.** $\sum_i\omega_i^2\to R_d(w)/n$, hence $L_{\rm noise}\sim\sigma^2\kappa w^{(d-1)/2}/n$: from
# $I_\nu(w)\sim e^w/\sqrt{2\pi w}$, each of the $d-1$ directions tangent to the sphere contributes $w^{1/2}$.
#
# **Affine bias.** The limit prediction of $\ell\,q\cdot x+b$ is $\ell A_d\,q\cdot x_q+b$, so
# $L_{\rm bias} = \frac{L^2}{3d}(1-A_d)^2 \sim \frac{L^2(d-1)^2}{12d}\,w^{-2}$. The slides' lower bound is tight.
#
# **ReLU bias.** Write $f = \frac{\ell_1-\ell_2}2t'+\frac{\ell_1+\ell_2}2|t'|+b$ with $t'=q\cdot x$; the two
# coefficients are uncorrelated with variance $L^2/6$. Away from the kink the bias is of order $w^{-1}$ and
# its square negligible. Within a window's width of the kink, a Gaussian window of width $w^{-1/2}$ misses
# $|t'|$ by $\frac2{\sqrt w}[\phi(u)-u(1-\Phi(u))]$, $u=\sqrt w\,|t'_q|$; squaring and integrating over
# $t'_q$, whose density at the kink is $p_0=\frac{\Gamma(d/2)}{\sqrt\pi\,\Gamma((d-1)/2)}$, gives
#
# $$L_{\rm bias}\sim\frac{L^2}6\,p_0\,G\,w^{-3/2},\qquad
#   G = 8\int_0^\infty[\phi-u(1-\Phi)]^2du = \frac{4(2-\sqrt2)}{3\sqrt\pi}.$$
#
# **Balance.** Minimizing $c\,L^2w^{-a}+\sigma^2\kappa w^{(d-1)/2}/n$ over $w$:
#
# $$w^*\sim\Big[\frac{(d-1)\Lambda}{3d\kappa}\Big]^{\frac2{d+3}}\ \text{(affine)},\qquad
#   w^*\sim\Big[\frac{p_0G\,\Lambda}{2(d-1)\kappa}\Big]^{\frac2{d+2}}\ \text{(ReLU)}.$$ (eq-sharp)

# %% [markdown]
# ## Experiment 1: the exact window over many decades
#
# `optimal_window` minimizes the exact risk (no sampling; `n` enters as an exponent only, so $n=10^{12}$ costs
# what $n=100$ does).

# %%
n = 10.0 ** np.array(n_decades)
windows = {
    (name, d): optimal_window(make_task(name, d, lipschitz), n, noise_std).w
    for name in CLASSES
    for d in dims
}
slopes = {key: np.diff(np.log(w)) / np.diff(np.log(n)) for key, w in windows.items()}

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The optimal window $w^*$ against the context length $n$, exact (solid), with the sharp laws of this page (dashed). Both axes are dimensionless and logarithmic. Left: affine class, right: ReLU class; one color a dimension. The solid curves straighten onto the dashed ones.", "name": "fig-scaling"}, "image": {"alt": "Two log-log panels. In each, four rising curves of the optimal window parameter w against the context length n, one for each dimension; the curves become straight and meet dashed power laws. Lower dimensions rise faster."}}
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.6), sharey=True)
for ax, name in zip(axes, CLASSES, strict=True):
    for d, color in zip(dims, plots.ramp(len(dims)), strict=True):
        plots.exact_curve(ax, n, windows[name, d], f"d = {d}", color)
        ax.plot(
            n,
            asymptotics.sharp_window(make_task(name, d, lipschitz), n, noise_std),
            "--",
            color=color,
            linewidth=1,
        )
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="context length n",
        title=f"{CLASSES[name]} class",
    )
axes[0].set_ylabel("optimal window parameter w*")
axes[0].legend()
plt.show()

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Local slope of $\\log w^*$ in $\\log n$ between neighboring decades (points joined by lines, exact) against the sharp limits (dotted). The shaded band is what Theorem 2 as printed permits, from $1/d$ to $2/d$; the green dashes mark the corrected ends $1/(d+2)$ and $2/(d+2)$.", "name": "fig-slopes"}, "image": {"alt": "One small panel for each dimension, local slope against context length. The ReLU slopes approach 2/(d+2), the affine slopes 2/(d+3). For d = 2 the affine slope of two fifths lies below the printed band."}}
columns = min(len(dims), 2)
figure, axes = plt.subplots(
    -(-len(dims) // columns),
    columns,
    figsize=(7.6, 2.7 * -(-len(dims) // columns)),
    sharex=True,
    squeeze=False,
)
middle = np.sqrt(n[1:] * n[:-1])
for ax, d in zip(axes.ravel(), dims, strict=False):
    ax.axhspan(
        *asymptotics.printed_exponents(d),
        color=plots.COLORS["printed"],
        alpha=0.1,
        label="printed",
    )
    for end in asymptotics.sketch_exponents(d):
        ax.axhline(
            end,
            color=plots.COLORS["corrected"],
            linestyle="--",
            linewidth=1,
            label="corrected ends" if end > 1.5 / (d + 2) else None,
        )
    for name in CLASSES:
        ax.plot(
            middle, slopes[name, d], ".-", color=plots.COLORS[name], label=CLASSES[name]
        )
        ax.axhline(
            asymptotics.window_exponent(make_task(name, d)),
            color=plots.COLORS[name],
            linestyle=":",
            linewidth=1.2,
        )
    ax.set(xscale="log", title=f"d = {d}")
for ax in axes[-1]:
    ax.set_xlabel("context length n")
for ax in axes[:, 0]:
    ax.set_ylabel("slope of log w*")
axes[0, 0].legend(fontsize=8, loc="upper right")
plt.show()

# %% [markdown]
# A slope read between two decades still carries finite-$n$ corrections; its error bar is its own change
# over the last two steps. "Sufficiently large $n$" matters: the ReLU slopes dip below
# their limit and climb back, so a fit over $n<10^4$ would report the wrong exponent in every dimension.
#
# The control breaks the assumption that $\sigma$ is fixed: if the noise variance grows like $n$, then
# $\Lambda$ and with it the window stop growing.


# %%
def slope_case(name: str, d: int):
    s = slopes[name, d]
    return exact(f"{CLASSES[name]}, d = {d}", s[-1], abs(s[-1] - s[-3]), dim=d)


def no_growth(name: str, d: int):
    """Slope of log w* when sigma^2 grows like n (both as large as the sweep allows)."""
    two = n[-2:]
    w = optimal_window(
        make_task(name, d, lipschitz), two, noise_std * np.sqrt(two / 1000)
    ).w
    return exact(
        f"{CLASSES[name]}, d = {d}",
        np.diff(np.log(w))[0] / np.diff(np.log(two))[0],
        1e-6,
        dim=d,
    )


lower = judge(
    "P1.T2.lower",
    [slope_case("relu", d) for d in dims],
    [no_growth("relu", d) for d in dims],
)
lower

# %%
nearest = [
    exact(
        f"nearest token, d = {d}",
        -np.diff(np.log([cap_quantile(d, 1 / m) for m in n[-2:]]))[0]
        / np.diff(np.log(n[-2:]))[0],
        1e-6,
        dim=d,
    )
    for d in dims
]
upper = judge("P1.T2.upper", [slope_case("relu", d) for d in dims], nearest)
upper

# %% [markdown]
# For the ReLU class and $d=2$ the lower bound holds with equality of exponents ($\frac2{d+2}=\frac1d$), in all
# higher dimensions strictly. Theorem 3.4 of the paper covers the affine class too; its formula is in none of the
# sources available to us. Read with the slides' exponents, it fails for $d=2$ and is an equality for $d=3$:

# %%
lower_affine = judge(
    "P1.T2.lower-affine",
    [slope_case("affine", d) for d in dims],
    [no_growth("affine", d) for d in dims],
)
lower_affine

# %% [markdown]
# ### The law's constants
#
# The exact window divided by {eq}`eq-sharp` must tend to one. Corrections fall like the bandwidth $w^{-1/2}$,
# so we go far out, to the context lengths at which the law predicts windows of $10^3$, $10^4$ and $10^5$ (in high
# dimension these lengths are absurd, $10^{28}$ and more, but $n$ is only an exponent), and extrapolate
# linearly in the bandwidth. The error is what the extrapolation changes when the last length is left out.


# %%
def sharp_ratio(name: str, d: int, law: str | None = None):
    reference = make_task(law or name, d, lipschitz)
    at_one = asymptotics.sharp_window(
        reference, 1.0, noise_std
    )  # the law is a pure power of n
    far = (np.array([1e3, 1e4, 1e5]) / at_one) ** (
        1 / asymptotics.window_exponent(reference)
    )
    w = optimal_window(make_task(name, d, lipschitz), np.round(far), noise_std).w
    ratio, h = w / asymptotics.sharp_window(reference, far, noise_std), w**-0.5
    limits = ratio[1:] - np.diff(ratio) / np.diff(h) * h[1:]
    return exact(f"{CLASSES[name]}, d = {d}", limits[1], abs(limits[1] - limits[0]))


sharp = judge(
    "P1.T2.sharp",
    [sharp_ratio(name, d) for name in CLASSES for d in dims],
    [sharp_ratio("relu", d, law="affine") for d in dims],
)
sharp

# %% [markdown]
# ## Experiment 2: the proof sketch's ingredients
#
# **What the ingredients imply.** At the minimizer, each term is at most the smallest sum
# $m=\min_w(L^2/w+\sigma^2w^{d/2}/n)$: from $L^2/w^2\le m$ follows the lower end, from
# $\sigma^2w^{d/2}/n\le m$ the upper end. We carry this out numerically. The control plants the one misprint that
# would repair the printed exponents: $(d-2)/2$ in place of $d/2$ in the noise term.


# %%
def sketch_ends(d: int, power: float):
    """Exponents in n of the two ends that L^2/w + sigma^2 w^power / n leaves for w."""
    context = np.array([1e8, 1e10])
    least = np.array(
        [
            np.exp(
                minimize_scalar(
                    lambda v, m=m: np.logaddexp(-v, power * v - np.log(m)),
                    bounds=(-10, 60),
                    method="bounded",
                    options={"xatol": 1e-10},
                ).fun
            )
            for m in context
        ]
    )
    low, high = least**-0.5, (least * context) ** (1 / power)
    return [
        np.diff(np.log(end))[0] / np.diff(np.log(context))[0] for end in (low, high)
    ]


def sketch_cases(power, only):
    return [
        exact(f"{side} end, d = {d}", value, 1e-6, dim=d, end=end)
        for d in only
        for end, (side, value) in enumerate(
            zip(("lower", "upper"), sketch_ends(d, power(d)), strict=True)
        )
    ]


sketch = judge(
    "P1.T2.sketch",
    sketch_cases(lambda d: d / 2, dims),
    sketch_cases(lambda d: (d - 2) / 2, [d for d in dims if d > 2] or [3]),
)
sketch

# %% [markdown]
# **Whether the ingredients hold.** Below, the context is so long ($n=10^{30}$) that each window averages many
# tokens: the regime of the sketch. The exact noise and bias are followed over the window.

# %%
grid = np.logspace(0, 5, 26)
long = 1e30
noise = {
    d: population_risk(Affine(d, lipschitz), grid, long, noise_std).noise
    * long
    / noise_std**2
    for d in sorted({*dims, *(d + 1 for d in dims)})
}
bias = {
    (name, d): population_risk(make_task(name, d, lipschitz), grid, long, 0.0).bias
    / lipschitz**2
    for name in CLASSES
    for d in dims
}


def decade_slope(curve):
    """Slope over the last decade of the grid, and how much it differs from the decade before."""
    s = [np.log10(curve[k] / curve[k - 5]) for k in (-6, -1)]
    return s[1], abs(s[1] - s[0])


# %% tags=["hide-input"] mystnb={"figure": {"caption": "The two ingredients of the proof sketch, exact, in the regime of many tokens per window. Left: noise in units of $\\sigma^2/n$, with the printed exponent $d/2$ and the corrected one $(d-1)/2$ drawn as guides for the largest dimension. Right: bias in units of $L^2$, affine solid and ReLU dashed, with the printed bounds $w^{-2}$ and $w^{-1}$ as guides.", "name": "fig-ingredients"}, "image": {"alt": "Two log-log panels. Left: the noise term rises with the window parameter as a power law whose exponent is (d-1)/2. Right: the bias falls with the window parameter, like the inverse square for the affine class and like the power minus three halves for the ReLU class, between the printed guides."}}
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.7))
for d, color in zip(dims, plots.ramp(len(dims)), strict=True):
    plots.exact_curve(axes[0], grid, noise[d], f"d = {d}", color)
    plots.exact_curve(axes[1], grid, bias["affine", d], None, color)
    plots.exact_curve(axes[1], grid, bias["relu", d], None, color, linestyle="--")
for ax in axes:
    ax.set(xscale="log", yscale="log", xlabel="window parameter w")
top = max(dims)
plots.guide(axes[0], 30, noise[top][7], top / 2, "d/2", decades=2)
plots.guide(axes[0], 30, noise[top][7] / 20, (top - 1) / 2, "(d-1)/2", decades=2)
plots.guide(axes[1], 300, 1e-2, -1, "$w^{-1}$", decades=2)
plots.guide(axes[1], 30, 1e-6, -2, "$w^{-2}$", decades=2)
axes[0].set_ylabel(r"$n\,L_{\rm noise}/\sigma^2$")
axes[1].set_ylabel(r"$L_{\rm bias}/L^2$")
axes[0].legend()
plt.show()

# %%
noise_card = judge(
    "P1.T2.noise",
    [exact(f"d = {d}", *decade_slope(noise[d]), dim=d) for d in dims],
    [
        exact(f"tokens on S^{d}, judged as d = {d}", *decade_slope(noise[d + 1]), dim=d)
        for d in dims
    ],
)
noise_card

# %%
bias_lower = judge(
    "P1.T2.bias-lower",
    [
        exact(f"{CLASSES[name]}, d = {d}", *decade_slope(bias[name, d]))
        for name in CLASSES
        for d in dims
    ],
    [
        exact(f"affine, d = {d}", *decade_slope(bias["affine", d]), misprint=1.5)
        for d in dims
    ],
)
bias_lower

# %% [markdown]
# The upper bound is a statement about every relevant window at once. We take the largest ratio
# $L_{\rm bias}/(L^2/w+L^2/n)$ over windows from $w=1$ to the optimum and ask whether it grows with $n$. "Relevant"
# is needed: at $w=n$ the window is far narrower than the distance to the nearest token, the prediction is that
# token's label, and the ratio grows without bound when $d>3$.


# %%
def worst_ratio(name: str, d: int, m: float) -> float:
    top_w = max(
        float(optimal_window(make_task(name, d, lipschitz), m, noise_std).w), 1.0
    )
    w = np.geomspace(1, top_w, 12)
    return np.max(
        population_risk(make_task(name, d, lipschitz), w, m, 0.0).bias
        / lipschitz**2
        / (1 / w + 1 / m)
    )


def growth(name: str, d: int):
    r = np.log10([worst_ratio(name, d, m) for m in (1e4, 1e6, 1e8)])
    s = np.diff(r) / 2
    return exact(f"{CLASSES[name]}, d = {d}", s[1], abs(s[1] - s[0]) + 1e-9)


def growth_too_narrow(d: int):
    r = [
        float(population_risk(Affine(d), m, m, 0.0).bias) / (2 / m)
        for m in (50, 100, 200)
    ]
    s = np.diff(np.log(r)) / np.log(2)
    return exact(f"affine, d = {d}, w = n", s[1], abs(s[1] - s[0]))


bias_upper = judge(
    "P1.T2.bias-upper",
    [growth(name, d) for name in CLASSES for d in dims],
    [growth_too_narrow(d) for d in (5, 8)],
)
bias_upper

# %% [markdown]
# ## Experiment 3: pretrained units on the exact curve
#
# Now units are actually trained: a full $d\times d$ matrix $M$, started at zero, Adam on fresh contexts with the
# paper's empirical loss. Each point below is the mean over the seeds of the mean diagonal of $M$, with its
# interval; the curves are exact minimizers, not fits. The dimension is the third of the list above (or the last,
# if there are fewer).

# %%
d = dims[min(2, len(dims) - 1)]
pivot = lipschitz_values[len(lipschitz_values) // 2]  # L of the units at several n
settings = [(name, L, context_length) for name in CLASSES for L in lipschitz_values]
settings += [
    (name, pivot, m) for name in CLASSES for m in n_values if m != context_length
]
members = [
    UnitConfig(make_task(name, d, L * noise_std), noise_std, m, seed)
    for seed in range(seeds)
    for name, L, m in settings
]
trained = pretrain(
    members, steps, batch_size, learning_rate, notebook.device(), shared_tokens=True
)
M = trained.M.reshape(seeds, len(settings), d, d)
trained_w = trained.windows.reshape(seeds, len(settings))
exact_w = np.array(
    [
        float(optimal_window(make_task(name, d, L * noise_std), m, noise_std).w)
        for name, L, m in settings
    ]
)
ratio_cases = [
    sampled(
        f"{CLASSES[name]}, $L/\\sigma$ = {L:g}, n = {m}", trained_w[:, k] / exact_w[k]
    )
    for k, (name, L, m) in enumerate(settings)
]
notebook.glue("units", len(members))
notebook.glue("contexts", f"{trained.contexts:,}")
notebook.glue("dimension", d)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Pretrained units (points: mean over seeds of the mean diagonal of $M$, with interval) on the exact optimal window (curves). Left: against $L/\\sigma$ at fixed context length; right: against the context length at fixed $L/\\sigma$. All quantities are dimensionless.", "name": "fig-pretrained"}, "image": {"alt": "Two panels with exact curves of the optimal window for the affine and the ReLU class and points of pretrained units lying on them, rising with L over sigma on the left and with the context length on the right."}}
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.6))
fine_L, fine_n = (
    np.geomspace(min(lipschitz_values), max(lipschitz_values), 25),
    np.unique(np.geomspace(min(n_values), max(n_values), 25).round()),
)
for name, marker in zip(CLASSES, "os", strict=True):
    color = plots.COLORS[name]
    plots.exact_curve(
        axes[0],
        fine_L,
        optimal_window(make_task(name, d), context_length, 1 / fine_L).w,
        f"{CLASSES[name]}, exact",
        color,
    )
    plots.exact_curve(
        axes[1],
        fine_n,
        optimal_window(make_task(name, d, pivot), fine_n, 1.0).w,
        None,
        color,
    )
    for ax, axis in zip(axes, (1, 2), strict=True):
        mine = [
            k
            for k, s in enumerate(settings)
            if s[0] == name and s[3 - axis] == (context_length, pivot)[axis - 1]
        ]
        ends = np.array([ratio_cases[k].interval for k in mine]) * exact_w[mine, None]
        plots.sampled_points(
            ax,
            [settings[k][axis] for k in mine],
            trained_w[:, mine].mean(0),
            *ends.T,
            f"{CLASSES[name]}, pretrained",
            color,
            marker,
        )
axes[0].set(
    xscale="log",
    xlabel=r"$L/\sigma$",
    ylabel="window parameter w",
    title=f"n = {context_length}, d = {d}",
)
axes[1].set(
    xscale="log", xlabel="context length n", title=rf"$L/\sigma$ = {pivot:g}, d = {d}"
)
for ax, values in zip(axes, (lipschitz_values, n_values), strict=True):
    ax.set_xticks(values, [f"{v:g}" for v in values])
    ax.set_xticks([], minor=True)
axes[0].legend(fontsize=9)
plt.show()

# %% [markdown]
# In all {glue:text}`units` units were trained on {glue:text}`contexts` contexts each, in dimension
# {glue:text}`dimension`. The cards use the settings with $L/\sigma$ at least that of the middle of the list: with
# weak signals $w^*$ is small and its *relative* interval too wide to decide anything. This cut was written before the
# first run; the list of $L$ and the number of seeds were shortened after trial runs, to save time.

# %%
judged = [k for k, (_, L, _) in enumerate(settings) if pivot <= L]
half = [sampled(ratio_cases[k].name, 2 * trained_w[:, k] / exact_w[k]) for k in judged]
minimizer = judge("P1.T2.minimizer", [ratio_cases[k] for k in judged], half)
minimizer

# %% [markdown]
# **The form $M = wI$.** Two numbers a unit, both zero for a multiple of the identity, for the units at the common
# context length (in a trial run the shortest contexts left intervals too wide to decide, and were left out). The control trains
# on functions whose slope always lies along the first axis: not rotation invariant, and the first diagonal entry
# runs away from the others, because the unit narrows its window in the only direction that matters.


# %%
@dataclass(frozen=True)
class FirstAxis(Affine):
    """Affine functions of the first coordinate only: no rotation invariance."""

    def sample(self, rng, count):
        slope, b = torch.from_numpy(
            rng.uniform(-self.lipschitz, self.lipschitz, (2, count, 1))
        )
        return lambda x: slope.to(x) * x[..., 0] + b.to(x)


def off_diagonal(M):
    return (
        (M.sum((-1, -2)) - np.trace(M, axis1=-2, axis2=-1))
        / (d * (d - 1))
        / (np.trace(M, axis1=-2, axis2=-1) / d)
    )


def first_entry(M):
    diagonal = np.diagonal(M, axis1=-2, axis2=-1)
    return (diagonal[..., 0] - diagonal[..., 1:].mean(-1)) / diagonal.mean(-1)


form_cases = [
    sampled(
        f"{CLASSES[settings[k][0]]}, $L/\\sigma$ = {settings[k][1]:g}, {what}",
        f(M[:, k]),
    )
    for k in judged
    if settings[k][2] == context_length
    for what, f in (("off-diagonal", off_diagonal), ("first entry", first_entry))
]
broken = pretrain(
    [
        UnitConfig(FirstAxis(d, pivot * noise_std), noise_std, context_length, seed)
        for seed in range(seeds)
    ],
    steps,
    batch_size,
    learning_rate,
    notebook.device(),
)
form = judge(
    "P1.T2.form",
    form_cases,
    [sampled("slopes along the first axis, first entry", first_entry(broken.M))],
)
form

# %% [markdown]
# ## Experiment 4: the extreme examples
#
# For both classes $L_{\rm bias}=L^2g_n(w)$ and $L_{\rm noise}=\sigma^2S_n(w)$, so $w^*$ is a function of $n$, $d$ and
# $L/\sigma$ alone. (Of $\Lambda$ alone only asymptotically: at finite $n$, equal $\Lambda$ does not mean equal $w^*$.)

# %%
few = [20, 100, 400]
ratios = np.geomspace(0.05, 1e4, 40)
towards = {
    (name, m): optimal_window(make_task(name, d), m, 1 / ratios).w
    for name in CLASSES
    for m in few
}
silent = {
    (name, k, m): float(optimal_window(make_task(name, k), m, 0.0).w)
    for name in CLASSES
    for k in (3, 5, 8)
    for m in few
}

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Exact optimal window against $L/\\sigma$ at fixed context length; both axes dimensionless and logarithmic. To the left (noise wins) it falls to zero like the inverse of the noise variance; to the right (no noise) it does not grow without bound but levels off at the noiseless optimum (dotted).", "name": "fig-extremes"}, "image": {"alt": "Log-log plot of the optimal window against L over sigma for three context lengths and two classes. Every curve rises steeply at small ratios and saturates at a finite dotted level at large ratios."}}
figure, ax = plt.subplots(figsize=(6.4, 3.8))
for m, color in zip(few, plots.ramp(len(few)), strict=True):
    plots.exact_curve(ax, ratios, towards["affine", m], f"affine, n = {m}", color)
    plots.exact_curve(
        ax, ratios, towards["relu", m], f"ReLU, n = {m}", color, linestyle="--"
    )
    if d in (3, 5, 8):
        ax.axhline(silent["affine", d, m], color=color, linestyle=":", linewidth=1)
ax.set(
    xscale="log",
    yscale="log",
    xlabel=r"$L/\sigma$",
    ylabel="optimal window parameter w*",
    title=f"d = {d}",
)
ax.legend(fontsize=9, ncols=2)
plt.show()


# %%
def noise_slope(name: str, scale):
    """Local slope of log w* in log sigma at large sigma; ``scale`` says how L goes along."""
    sigma = np.array([100.0, 200.0, 400.0])
    w = [
        float(optimal_window(make_task(name, d, scale(s)), context_length, s).w)
        for s in sigma
    ]
    s = np.diff(np.log(w)) / np.diff(np.log(sigma))
    return exact(
        f"{CLASSES[name]}, d = {d}, n = {context_length}", s[1], abs(s[1] - s[0]) + 1e-9
    )


noise_limit = judge(
    "P1.T2.noise-limit",
    [noise_slope(name, lambda s: 1.0) for name in CLASSES],
    [noise_slope(name, lambda s: s) for name in CLASSES],
)
noise_limit

# %% [markdown]
# At fixed $n$ and without any noise the slides expect the nearest neighbor. But the window also averages over
# *where* its tokens fall: the mean label of a few tokens around the query varies with their positions, which
# is a second kind of noise, of size $(L^2/w)\,w^{(d-1)/2}/n$. Averaging still pays, and the minimizer is finite.

# %%
signal_limit = judge(
    "P1.T2.signal-limit",
    [
        exact(f"{CLASSES[name]}, d = {k}, n = {m}", 1 / w, 1e-9)
        for (name, k, m), w in silent.items()
    ],
    [
        exact(
            f"{CLASSES[name]}, d = 3, n = 1e12, sigma = L",
            1 / float(optimal_window(make_task(name, 3), 1e12, 1.0).w),
            1e-12,
        )
        for name in CLASSES
    ],
)
signal_limit

# %%
flattest = min((s.min(), key) for key, s in slopes.items())
context_limit = judge(
    "P1.T2.context-limit",
    [
        exact(f"{CLASSES[name]}, d = {k}", s.min(), 1e-6)
        for (name, k), s in slopes.items()
    ],
    [no_growth(name, k) for name in CLASSES for k in dims],
)
context_limit


# %%
def scaled(name: str, k: int, L: float, sigma: float):
    base = float(optimal_window(make_task(name, k), context_length, 1.0).w)
    return exact(
        f"{CLASSES[name]}, d = {k}",
        float(optimal_window(make_task(name, k, L), context_length, sigma).w) / base,
        1e-8,
    )


ratio = judge(
    "P1.T2.ratio",
    [scaled(name, k, 10.0, 10.0) for name in CLASSES for k in dims],
    [scaled(name, k, 10.0, 1.0) for name in CLASSES for k in dims],
)
ratio

# %% [markdown]
# ## Where this leaves Theorem 2
#
# The theorem's message holds: one number, the window, adapts to smoothness, noise and context length, and
# pretraining finds it. For the class it is stated for, the printed range is right in every dimension. But it
# does not follow from its own proof sketch, it is not sharp, and it does not carry over to the affine class
# in two dimensions; with $d+2$ in place of $d$ both repairs are made at once. What happens at short contexts, and for functions
# that oscillate, is drawn in the [phase diagram](/notebooks/phase_diagram.ipynb).
#
# ## Exercises
#
# 1. Run this notebook with `noise_std=0.1`. Which slopes change, which do not, and why must the sharp law's
#    exponents stay?
# 2. The ReLU class has exponent $2/(d+2)$, the affine class $2/(d+3)$. Which exponent has a class whose
#    functions are twice differentiable but not affine?
#
# :::{dropdown} Solutions
# 1. Only finite-$n$ values change: smaller noise means larger $\Lambda$ at the same $n$, so the slopes reach their
#    limits at smaller $n$; the exponent depends only on how bias and noise scale with $w$.
# 2. Away from kinks the bias is of order $w^{-1}$ pointwise, its square of order $w^{-2}$, as for the affine class:
#    $2/(d+3)$. Affine functions are not special; on the sphere they are curved like all others.
# :::

# %% tags=["hide-input"]
notebook.footer()
