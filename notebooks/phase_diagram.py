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
# # The phase diagram of the window
#
# Theorem 2 speaks about one corner: long contexts, fixed $L/\sigma$. How does the best window look everywhere else? This page maps it exactly over context length and roughness for
# three classes, revisits the slides' extreme examples there, and finds what sets the window of a smooth class. It is not the Lipschitz constant.

# %% [markdown]
# ## What is printed
#
# After Theorem 2 the slides list "some extreme examples":
#
# - $\sigma\to\infty$: no signal, average the noise, $w_{KQ}\to0$.
# - $L\gg\sigma$: no point aggregating noise, pick the nearest neighbour, $w_{KQ}\to\infty$.
# - $n\to\infty$: the query token is in the context! Choose the nearest neighbour, $w_{KQ}\to\infty$.
#
# They are judged for affine and ReLU functions in [](/notebooks/theorem2_scaling.ipynb). The paper's experiments also use a cosine class whose formula is in no source available to us;
# ours is $f(x)=\cos(L\,u\cdot x)$ with $u$ uniform on the sphere. Here a larger $L$ means a shorter *wavelength*, not a larger amplitude, and that changes everything that is not asymptotic.
#
# The parameters of this run, and its imports (folded):

# %% tags=["parameters"]
dims = [2, 3, 5]  # dimensions d of the covariates
noise_std = 0.1  # standard deviation sigma of the label noise of the cosine maps
lipschitz_values = [0.25, 0.5, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0]  # L
n_values = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]  # n
context_length = 60  # n of the moving figure

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import betainc

from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Quadratic, make_task
from icl_book import notebook, plots
from icl_book.claims import exact, judge

notebook.setup(globals())

# %% [markdown]
# ## In plain words
#
# Three things can happen. **Equal weights**: no neighbor is worth more than another, because the noise drowns the signal or because the function wiggles between any two tokens; $w^*=0$. **A window**: the theory's
# case. **Few tokens**: almost no noise; the window shrinks until only a handful of tokens remain in it, and stops there.
#
# **By hand.** Take a cosine so fast that labels at different tokens are unrelated, $\mathbb Ef=0$, $\mathbb Ef^2=\frac12$, no noise. A prediction with weights $\omega_i$ errs by
# $\frac12(1+\sum\omega_i^2)$. The nearest neighbor has $1$; equal weights have $\frac12(1+\frac1n)$. So for $L\to\infty$ at fixed $n$ the nearest neighbor is the *worst* choice, not the best.

# %%
fast = Cosine(5, 60.0)
print(
    f"nearest neighbor {nearest_neighbor_risk(fast, 20, 0.0).total:.4f}   equal weights "
    f"{population_risk(fast, 0.0, 20, 0.0).total:.4f}   by hand 1 and {0.5 * (1 + 1 / 20):.4f}"
)

# %% [markdown]
# ## What is assumed, and what we test
#
# | assumption | here |
# |---|---|
# | tokens uniform on the sphere, class rotation invariant | kept |
# | $n$ large | dropped: the maps run from $n=2$ |
# | $L/\sigma$ fixed | dropped: $L/\sigma$ from far below one to infinity |
# | the class is $\mathcal F_L^+$ | affine, ReLU, and cosine |
#
# ## Experiment 1: the maps
#
# For affine and ReLU functions $w^*$ depends on $n$, $d$ and $L/\sigma$. For cosines $L$ is a wavenumber, and $\sigma$ counts separately.

# %%
d_low, d_high = min(dims), max(dims)
lengths = np.array(n_values, float)
snr = np.geomspace(0.1, 1000, 13)  # L / sigma
rough = np.array(lipschitz_values)
maps = {
    ("affine", d_high): optimal_window(Affine(d_high), lengths, 1 / snr[:, None]).w,
    ("ReLU", d_high): optimal_window(
        make_task("relu", d_high), lengths, 1 / snr[:, None]
    ).w,
}
for d in (d_low, d_high):
    maps["cosine", d] = np.stack(
        [optimal_window(Cosine(d, L), lengths, noise_std).w for L in lipschitz_values]
    )


def tokens_in_reach(d, w):
    """Expected number of tokens with 1 - x.x_q < 1 / w: within about one bandwidth and a half."""
    half = (d - 1) / 2
    return lengths * betainc(half, half, np.minimum(0.5 / np.maximum(w, 0.25), 1.0))


# %% tags=["hide-input"] mystnb={"figure": {"caption": "Exact optimal window parameter $w^*$ (color, logarithmic) over context length and roughness. White: $w^*=0$, equal weights. Black line: two tokens are expected within the window's reach; on the side of strong signals there are fewer. Top: affine and ReLU class over $L/\\sigma$. Bottom: cosine class over its wavenumber $L$ at $\\sigma=0.1$, in the lowest and the highest dimension; dotted, $n=L^{d-1}$.", "name": "fig-phases"}, "image": {"alt": "Four maps. For affine and ReLU functions the window narrows steadily towards long contexts and strong signals, and beyond a ratio of about ten it no longer depends on the ratio. For cosines it narrows with the wavenumber only to the right of a slanted boundary; left of it, where contexts are too short for the wavelength, the map is white: equal weights are best."}}
figure, axes = plt.subplots(2, 2, figsize=(8.4, 6.6))
for ax, ((name, d), w) in zip(
    axes.ravel(), maps.items(), strict=False
):  # one dimension: three maps
    y = rough if name == "cosine" else snr
    image = ax.pcolormesh(
        lengths,
        y,
        np.ma.masked_less_equal(w, 1e-9),
        cmap="viridis_r",
        norm="log",
        vmin=0.1 if name != "cosine" else 1,
        vmax=3000,
        shading="nearest",
    )
    ax.contour(lengths, y, tokens_in_reach(d, w), [2.0], colors="black", linewidths=1.2)
    if name == "cosine":
        ax.plot(rough ** (d - 1), rough, ":", color="black", linewidth=1.5)
    ax.set(
        xscale="log",
        yscale="log",
        title=f"{name}, d = {d}",
        xlabel="context length n",
        xlim=(lengths[0], lengths[-1]),
        ylim=(y[0], y[-1]),
        ylabel="wavenumber L" if name == "cosine" else r"$L/\sigma$",
    )
    ax.grid(False)
    figure.colorbar(image, ax=ax, label="w*")
plt.show()

# %% [markdown]
# On the cosine maps a context of the order of $L^{d-1}$ tokens is needed before any window helps, up to a constant that falls with the dimension: tokens must lie closer than a wavelength in each of the $d-1$ directions of the sphere. At that boundary $w^*$ does not grow from
# zero, it **jumps**: the risk has two minima, one at $w=0$ and one at a window of about a wavelength, and they change places. The slider at the end shows it.

# %%
few_tokens, many_tokens = 32, 4096


def narrowing(d, n, L, resolved):
    few, many = (
        max(float(optimal_window(Cosine(d, v), n, noise_std).w), 1e-6)
        for v in (L, 2 * L)
    )
    return exact(
        f"d = {d}, n = {n}, L = {L:g} to {2 * L:g}",
        np.log(many / few),
        1e-7,
        resolved=resolved,
    )


def last_resolved(d, n):
    """The last of L = 1, 2, 4, ... that still has a window, or None if L = 1 has none."""
    L = None
    for candidate in 2.0 ** np.arange(8):
        if optimal_window(Cosine(d, candidate), n, noise_std).w <= 0:
            return L
        L = float(candidate)
    return L


edge = {d: last_resolved(d, few_tokens) for d in dims}
doubled = [narrowing(d, many_tokens, L, True) for d in dims for L in (1.0, 2.0)]
doubled += [narrowing(d, few_tokens, L, False) for d, L in edge.items() if L]
judge(
    "P1.PD.monotone",
    doubled,
    [
        exact(c.name, c.measured, 1e-7, resolved=not c.parameters["resolved"])
        for c in doubled
    ],
)

# %% [markdown]
# ## Experiment 2: the extreme examples
#
# **$\sigma\to\infty$.** For cosines $w^*$ is not small but exactly zero from a finite $\sigma$ on: they have no part of degree one, so the risk does not fall at $w=0$.

# %%
judge(
    "P1.PD.noise",
    [
        exact(
            f"cosine, L = {L:g}, d = {d}, n = 100",
            optimal_window(Cosine(d, L), 100, 100.0).w,
            1e-9,
        )
        for d in dims
        for L in (1.0, 4.0)
    ],
    [
        exact(
            f"cosine, L = 1, d = {d}, n = 100",
            optimal_window(Cosine(d, 1.0), 100, 0.01).w,
            1e-6,
        )
        for d in dims
    ],
)

# %% [markdown]
# **$L\gg\sigma$.** At fixed $n$, without any noise, the nearest neighbor loses to the best window for every class: averaging also pays against the luck of where the tokens fall.

# %%
quiet = [
    (label, task, n)
    for d in dims
    for label, task in (
        (f"affine, d = {d}", Affine(d)),
        (f"ReLU, d = {d}", make_task("relu", d)),
        (f"cosine, L = 1, d = {d}", Cosine(d, 1.0)),
        (f"cosine, L = 16, d = {d}", Cosine(d, 16.0)),
    )
    for n in (20, 200)
]
ratios = [
    (
        label,
        n,
        float(
            nearest_neighbor_risk(task, n, 0.0).total
            / optimal_window(task, n, 0.0).risk
        ),
    )
    for label, task, n in quiet
]
notebook.glue("least", min(r for *_, r in ratios))
notebook.glue("most", max(r for *_, r in ratios))
judge(
    "P1.PD.signal",
    [exact(f"{label}, n = {n}", r, 1e-6) for label, n, r in ratios],
    [
        exact(
            f"{label}, n = 1",
            nearest_neighbor_risk(task, 1, 0.0).total
            / optimal_window(task, 1, 0.0).risk,
            1e-6,
        )
        for label, task, n in quiet
        if n == 20
    ],
)

# %% [markdown]
# The nearest neighbor has between {glue:text}`least:.2f` and {glue:text}`most:.2f` times the least risk.
#
# **$n\to\infty$.** The window closes for cosines too.

# %%
far = np.array([1e9, 1e10])


def slope_in_n(task, sigmas):
    w = optimal_window(task, far, sigmas).w
    return np.diff(np.log(w))[0] / np.diff(np.log(far))[0]


judge(
    "P1.PD.context",
    [
        exact(f"cosine, L = {L:g}, d = {d}", slope_in_n(Cosine(d, L), noise_std), 1e-6)
        for d in dims
        for L in (1.0, 4.0)
    ],
    [
        exact(
            f"cosine, L = 4, d = {d}",
            slope_in_n(Cosine(d, 4.0), noise_std * np.sqrt(far / 1e4)),
            1e-6,
        )
        for d in dims
    ],
)

# %% [markdown]
# ## Experiment 3: not the slope, the Laplacian
#
# Theorem 2 measures roughness by $L$. For a smooth function a narrow window of bandwidth $w^{-1/2}$ returns $f+\frac1{2w}\Delta f$, so
#
# $$L_{\rm bias}\sim\frac{\mathbb E(\Delta f)^2}{4w^2},\qquad \mathbb E(\Delta f)^2=\sum_\ell a_\ell\,(\ell(\ell+d-2))^2,\qquad
#   w^*\sim\Big[\frac{n\,\mathbb E(\Delta f)^2}{(d-1)\,\kappa\,\sigma^2}\Big]^{\frac2{d+3}}.$$ (eq-laplacian)
#
# For affine functions $\Delta f=-(d-1)(f-b)$ on the sphere, and with $\frac{L^2(d-1)^2}{3d}$ this is the law of [](/notebooks/theorem2_scaling.ipynb). Linear functions are the special case in which slope and
# Laplacian are proportional. For $\cos(L\,u\cdot x)$ the slope is $L$ and the Laplacian of order $L^2$: the window depends on $nL^4/\sigma^2$.


# %%
def law_ratio(task, energy=None):
    """Exact window over the law, at the length where the law says 10^5; ``energy`` replaces E (Laplacian f)^2."""
    n = round(
        (1e5 / asymptotics.sharp_window(task, 1.0, noise_std))
        ** (1 / asymptotics.window_exponent(task))
    )
    scale = (
        1.0
        if energy is None
        else (energy / (4 * asymptotics.bias_law(task)[0]))
        ** asymptotics.window_exponent(task)
    )
    w = float(optimal_window(task, float(n), noise_std).w)
    return w / (asymptotics.sharp_window(task, float(n), noise_std) * scale)


def gradient_energy(task, last=100):
    a, _ = task.spectrum(last)
    degree = np.arange(1, last + 1)
    return float(a @ (degree * (degree + task.dim - 2)))


smooth = [
    (f"cosine, L = {L:g}, d = {d}", Cosine(d, L)) for d in dims for L in (1.0, 4.0)
]
smooth += [(f"quadratic, d = {d}", Quadratic(d)) for d in dims]
judge(
    "P1.PD.smooth-law",
    [exact(label, law_ratio(task), 2e-3) for label, task in smooth],
    [
        exact(label, law_ratio(task, gradient_energy(task)), 2e-3)
        for label, task in smooth
    ],
)


# %%
def exponents_at(d, task_of, L=4.0):
    """(slope of log w* in log L over its slope in log n, exponent of E (Laplacian f)^2 in L), where the law says w = 10^5."""
    law = task_of(d, L)
    n = (1e5 / asymptotics.sharp_window(law, 1.0, noise_std)) ** (
        1 / asymptotics.window_exponent(law)
    )
    around = L * np.array([0.98, 1.02])
    w = [
        float(optimal_window(task_of(d, float(v)), round(n), noise_std).w)
        for v in around
    ]
    at_n = optimal_window(law, np.round([n / 3, 3 * n]), noise_std).w
    energy = [asymptotics.bias_law(task_of(d, float(v)))[0] for v in around]
    step = np.log(around[1] / around[0])
    return np.log(w[1] / w[0]) / step / (np.log(at_n[1] / at_n[0]) / np.log(9)), np.log(
        energy[1] / energy[0]
    ) / step


found = {
    (name, d): exponents_at(d, task_of)
    for name, task_of in (("cosine", Cosine), ("affine", Affine))
    for d in dims
}
judge(
    "P1.PD.roughness",
    [
        exact(
            f"cosine, d = {d}, L = 4",
            found["cosine", d][0],
            0.01,
            laplacian=found["cosine", d][1],
        )
        for d in dims
    ],
    [
        exact(
            f"affine, d = {d}",
            found["affine", d][0],
            0.01,
            laplacian=found["cosine", d][1],
        )
        for d in dims
    ],
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Exact optimal window of the cosine class against its wavenumber $L$ at $n=10^{10}$ (solid), with the law {eq}`eq-laplacian` (dashed) and the same law with $\\mathbb E|\\nabla f|^2$ in place of $\\mathbb E(\\Delta f)^2$ (dotted), one color a dimension. Axes are logarithmic and dimensionless.", "name": "fig-laplacian"}, "image": {"alt": "Log-log plot. The exact curves rise along the dashed law in every dimension; the dotted lines, based on the gradient, rise too slowly and cross them."}}
figure, ax = plt.subplots(figsize=(6.2, 3.7))
for d, color in zip(dims, plots.ramp(len(dims)), strict=True):
    tasks = [Cosine(d, float(L)) for L in rough]
    law = np.array([asymptotics.sharp_window(t, 1e10, noise_std) for t in tasks])
    slope_law = law * np.array(
        [
            (gradient_energy(t) / (4 * asymptotics.bias_law(t)[0]))
            ** asymptotics.window_exponent(t)
            for t in tasks
        ]
    )
    plots.exact_curve(
        ax,
        rough,
        [float(optimal_window(t, 1e10, noise_std).w) for t in tasks],
        f"d = {d}",
        color,
    )
    ax.plot(rough, law, "--", color=color, linewidth=1)
    ax.plot(rough, slope_law, ":", color=color, linewidth=1.4)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="wavenumber L",
    ylabel="optimal window parameter w*",
)
ax.legend()
plt.show()

# %% [markdown]
# **Beyond Lipschitzness.** The summary concludes that softmax attention "does not adapt much beyond Lipschitzness". Take $\frac1b\cos(b\,u\cdot x)$: for every $b\ge\frac\pi2$ the Lipschitz constant is one. Its window
# nevertheless narrows with $b$, like $b^{4/(d+3)}$ for long contexts. What looks like adaptation to $L$ alone is the special case of classes that differ by a factor.


# %%
def unit_slope_window(d, b, n, sigma):
    """Best window for cos(b u.x) / b: that of the cosine class with b times the noise."""
    return float(optimal_window(Cosine(d, b), n, b * sigma).w)


judge(
    "P1.PD.beyond",
    [
        exact(
            f"d = {d}, n = 1e{k}",
            unit_slope_window(d, 8.0, 10.0**k, noise_std)
            / unit_slope_window(d, 1.0, 10.0**k, noise_std),
            1e-6,
        )
        for d in dims
        for k in (6, 8)
    ],
    [
        exact(
            f"ReLU over affine, d = {d}, n = 20",
            optimal_window(make_task("relu", d), 20, noise_std).w
            / optimal_window(Affine(d), 20, noise_std).w,
            1e-6,
        )
        for d in dims
    ],
)

# %% [markdown]
# ## Move it: two minima
#
# The risk of the cosine class on $S^2$ against the window, while the wavenumber grows. Watch the right-hand minimum rise above the value at $w=0$: the best window jumps to zero.

# %% tags=["hide-input"]
grid, stops, frames = (
    np.geomspace(0.05, 300, 40),
    [1.0, 2.0, 4.0, 7.0, 9.0, 11.0, 13.0, 16.0, 20.0],
    [],
)
for L in stops:
    figure, ax = plt.subplots(figsize=(5.8, 3.3))
    task = Cosine(3, L)
    flat, best = (
        float(population_risk(task, 0.0, context_length, noise_std).total),
        optimal_window(task, context_length, noise_std),
    )
    plots.exact_curve(
        ax,
        grid,
        population_risk(task, grid, context_length, noise_std).total / flat,
        "risk / risk of equal weights",
    )
    ax.axhline(1, color=plots.COLORS["guide"], linewidth=1)
    ax.plot(
        max(float(best.w), grid[0]),
        float(best.risk) / flat,
        "o",
        color=plots.COLORS["sampled"],
        markersize=9,
        label="best window",
    )
    ax.set(
        xscale="log",
        xlabel="window parameter w",
        ylim=(0, 2.1),
        title=f"d = 3, n = {context_length}, L = {L:g}, w* = {float(best.w):.3g}",
    )
    ax.legend(fontsize=9, loc="upper left")
    frames.append(plots.svg(figure))
    plt.close(figure)
plots.slider_figure(
    frames,
    [f"{L:g}" for L in stops],
    "wavenumber L",
    "Risk relative to equal weights against the window parameter, with the best window marked",
)

# %% [markdown]
# ## Where this leaves "adapts to Lipschitzness"
#
# Within a class that scales, affine or ReLU, the window follows $L$, as printed. Across classes and wavenumbers it follows the curvature of the functions, as far as the context resolves it, and the Lipschitz constant is
# a proxy. That is no objection to the theorems, which are about a class that scales.
#
# **What trial runs changed.** Some settings of P1.PD.monotone were replaced after a first run: both windows were zero there, so they
# could not decide.
#
# ## Exercises
#
# 1. Take $f(x)=\cos(L\,u\cdot x)/L$, so that the *slope* stays near one. How does $w^*$ grow with $L$ now?
# 2. Set `noise_std=1.0`. Which parts of the cosine maps turn white, and where does the boundary follow $L^{d-1}$ still?
#
# :::{dropdown} Solutions
# 1. $\mathbb E(\Delta f)^2\propto L^2$, so $w^*\propto(nL^2/\sigma^2)^{2/(d+3)}$ with the wavenumber $L$ in the role of the Lipschitz constant, although the slope does not change.
# 2. Small $L$ (weak signal: the variance of the class is of order $L^4$) and short contexts; at large $L$ the boundary is still set by resolution.
# :::
#
# The maps take most of this page's time.

# %% tags=["hide-input"]
notebook.footer()
