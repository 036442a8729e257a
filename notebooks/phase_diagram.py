# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Short contexts, noise, waves
#
# **Short answer.** The window follows the law of Theorem 2 only in a part of the map ({numref}`fig-phases`): where noise
# drowns the functions equal weights are best, $w^*=0$, and for waves also where the context is too short to resolve them
# {judged}`P1.PD.monotone`. With little noise the window narrows until a few tokens are left in it, and no further unless
# the context gets longer {judged}`P1.T2.signal-limit`. In long contexts the window of smooth functions follows their
# curvature and not their slope {judged}`P1.PD.smooth-law`: at $d=5$, $n=10^{12}$, $\sigma=0.5$ the best $w$ for waves of
# $L=4$ is {judged}`P1.PD.slope | same largest slope, L = 4, d = 5, n = 1e12, sigma = 0.5 | .2f` times that for linear functions of
# the same largest slope on the sphere.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d of the covariates
more_dims = [8]  # further dimensions d, for the extreme examples
noise_std = 0.1  # standard deviation sigma of the label noise, waves
lipschitz_values = [0.25, 0.5, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0]  # L
n_values = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]  # n
context_length = 20  # n for the limit of much noise
n_decades = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]  # powers of ten of n, long contexts
steepnesses = [0.5, 2.0, 4.0, 8.0]  # steepness beta of the tanh classes

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.tasks import Cosine, Linear
from icl_book import notebook, parameters, plots
from icl_book.claims import LIMIT, cases, judge, other_readings, reading
from icl_book.interactive import interactive
from icl_book.measurements import phases
from icl_book.measurements.tables import each

notebook.setup(globals(), n_values=2, lipschitz_values=2, n_decades=2)
if noise_std == 0:
    raise parameters.BadInput("noise_std=0: must be positive, the law balances noise")

# %% tags=["hide-input"]
maps = phases.phase_map(dims, n_values, lipschitz_values, noise_std)
labels = ("context length n", r"$L/\sigma$")
panels = plots.panels(maps, "title", labels, "xy", sharey=False, height=2.5)
shades = ListedColormap(["#e4e4e4", "#a9d0ef", "#f7cf9a"])
for title, part in maps.groupby("title", sort=False):
    ax, grid = panels[title], part.pivot(index="rough", columns="n")
    n, rough = grid.w.columns, grid.w.index
    ax.pcolormesh(n, rough, grid.phase, cmap=shades, vmin=0, vmax=2, ec="face")
    log_w = np.log10(grid.w.where(grid.phase > 0))
    lines = ax.contour(n, rough, log_w, [0, 1, 2, 3], colors=".25", linewidths=1)
    ax.clabel(lines, fmt=lambda k: f"w = {10**k:.0f}", fontsize=8)
    if title.startswith("cosine"):
        ax.plot(rough ** (part.d.iloc[0] - 1), rough, "k:")
        ax.set(ylabel="wavenumber L", xlim=(n[0], n[-1]))
    ax.grid(False)
colored = zip(shades.colors, phases.PHASES, strict=True)
patches = [plt.Rectangle((0, 0), 1, 1, color=c, label=name) for c, name in colored]
plt.gcf().legend(handles=patches, loc="outside upper center", ncols=3)
plt.show()

# %% [markdown]
# ```{caption} fig-phases
# :alt: Three maps with three regions. For ReLU functions few tokens are left in the window where the signal is strong, and
# a window of many tokens is best elsewhere. For cosines equal weights are best left of a slanted boundary, where contexts
# are too short for the wavelength, and where the waves are too weak; a band of few tokens follows, then a window that
# narrows to the right.
#
# What is best, over context length and roughness, exact; lines: the best $w$. *Few tokens*: fewer than two are expected
# in the window. Left: {term}`ReLU functions <class>` over $L/\sigma$. Others: waves over their wavenumber $L$ at $\sigma=0.1$;
# dotted, $n=L^{d-1}$.
# ```
#
# ## In plain words
#
# The {term}`window` is the region around the query whose examples count; its width is about $w^{-1/2}$, so **large $w$,
# narrow window**. Three cases:
#
# - **Equal weights**, $w^*=0$: no neighbor is worth more than another. Either noise drowns the functions, or they oscillate
#   between any two examples.
# - **A window** of many tokens. This is the case of Theorem 2: it narrows as contexts get longer, functions rougher, labels
#   cleaner.
# - **Few tokens**: with almost no noise the window narrows until a handful of examples are left in it, and stops there.
#
# ## As printed, and what is true
#
# After Theorem 2 the slides list "some extreme examples":
#
# > - $\sigma\to\infty$: no signal, average the noise, $w_{KQ}\to0$.
# > - $L\gg\sigma$: no point aggregating noise, pick the nearest neighbour,
# >   $w_{KQ}\to\infty$.
# > - $n\to\infty$: the query token is in the context! Choose the nearest neighbour,
# >   $w_{KQ}\to\infty$.
#
# ```{admonition} What is true
# :class: tip
# - *Much noise.* As printed; for waves $w^*$ is exactly zero from a finite $\sigma$ on.
# - *Strong signal.* The answer depends on which limit is taken first. If $n$ is so large that
#   [the law](/notebooks/theorem2_scaling.ipynb) applies, $n\gtrsim(L/\sigma)^2$, the window narrows as the signal gets
#   stronger. At a fixed $n$ it ends at the best window without noise, which beats the nearest neighbor.
# - *Long contexts.* $w^*\to\infty$, as printed. The tokens in the window come arbitrarily close, but there are more and
#   more of them; the nearest one alone keeps its label noise, $\sigma^2$.
# ```
#
# The slides' examples are about the {term}`class` of the theorem, ReLU functions. The paper's experiments also use a cosine
# class. The last slide prints $\cos(4w^\top x)$, a link of low-rank functions, without the law of $w$. Our class is
# $f(x)=\cos(L\,u\cdot x)$ with $u$ uniform on the sphere: waves, for which a larger $L$ means a shorter wavelength.
#
# ## By hand: a very fast wave
#
# Take a wave so fast that labels at different tokens are unrelated, with mean $0$ and mean square $\frac12$, and no noise.
# A prediction with weights $\omega_i$ has the error $\frac12(1+\sum_i\omega_i^2)$. The nearest neighbor, one weight of
# $1$, has the error $1$. Equal weights, $\omega_i=\frac1n$, have $\frac12(1+\frac1n)$, which is $\frac{21}{40}$ for $n=20$.

# %%
wave = Cosine(dim=5, lipschitz=60.0)
nearest = nearest_neighbor_risk(wave, 20, noise_std=0.0).total
equal = population_risk(wave, 0.0, 20, noise_std=0.0).total
print(f"nearest neighbor {nearest:.4f}   equal weights {equal:.4f}")

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens uniform on the unit sphere, classes rotation invariant | kept |
# | $n$ large | dropped: the maps begin at $n=2$ |
# | $L/\sigma$ fixed | dropped: from far below one to no noise at all |
# | the class of the theorem | affine, ReLU and quadratic functions, waves, tanh |
#
# The kernel is $e^{w\,x\cdot x_q}$, so $w=w_{KQ}$; the query does not attend to itself. Some settings of the first card
# were replaced after a first run: both windows were zero there, so that they could decide nothing.
# ```
#
# ## Experiment 1: unresolved waves
#
# All maps and curves of this chapter consist of calls of one function:

# %%
for n in (16, 64, 1024):
    best = optimal_window(Cosine(dim=3, lipschitz=8.0), n, noise_std=0.1)
    print(f"n = {n:4d}   best w = {best.w:8.3f}   risk = {best.risk:.4f}")

# %% [markdown]
# A window helps once tokens lie closer than a wavelength in each of the $d-1$ directions of the sphere. This takes of the
# order of $L^{d-1}$ tokens, with a constant that falls with $d$. At the boundary $w^*$ does not grow from zero, it
# **jumps**: the risk has two minima, one at $w=0$ and one at a window of about a wavelength.

# %% tags=["hide-input"]
sliders = {"d": "dimension d", "L": "wavenumber L"}
wavenumbers = [1, 2, 4, 6, 8, 10, 12, 16]
moving = each(phases.wave_curves, d=[3, 5], L=wavenumbers, noise_std=noise_std)
marked = moving.drop_duplicates(["d", "L", "n"]).assign(ratio=1.0)
interactive(
    moving.drop(columns="best"),
    x="w",
    y={"ratio": "risk / least", "equal": "equal weights", "nearest": "nearest"},
    sliders=sliders | {"n": "context length n", "w": "window parameter w"},
    start={"d": 3, "L": 8, "n": 64.0, "w": 1.0},
    best=marked[["d", "L", "n", "best", "ratio"]].rename(columns={"best": "w"}),
    labels=("window parameter w", "risk / least risk"),
    log="x",
    ylim=(0.9, 2),
    experiment="Move L up until the ring, the best window, leaves the frame: it jumps "
    "to w = 0. Then move n until it is back.",
    alt="Risk over the least risk against the window parameter, with the levels of "
    "equal weights and of the nearest neighbor. The curve has two minima.",
    caption=f"Exact; waves, σ = {noise_std:g}. Equal weights are left of the axis.",
)

# %% tags=["hide-input"]
judge(
    "P1.PD.monotone",
    phases.narrowings(dims, noise_std),
    error="error",
    name="d = {d}, n = {n}, L = {L:g} to {twice:g}",
    folded=True,
)

# %% [markdown]
# ## Experiment 2: the extreme examples
#
# For affine and ReLU functions bias and noise are $L^2g_n(w)$ and $\sigma^2S_n(w)$, so $w^*$ depends on $L$ and $\sigma$
# through $L/\sigma$ alone {judged}`P1.T2.ratio`.

# %% tags=["hide-input"]
every = sorted({*dims, *more_dims})
middle = every[min(2, len(every) - 1)]
classes = {"kind": phases.KINDS}
few = {"n": phases.FEW}
signals = each(phases.windows_over_signal, **classes, **few, d=middle)
labels = (r"$L/\sigma$", "best window parameter w*")
panels = plots.panels(signals, "kind", labels, "xy", height=2.1)
plots.lines(panels, signals, "signal", "w", "n", col="kind", label="n = {}")
plots.lines(
    panels, signals, "signal", "silent", "n", col="kind", label="", linestyle=":", lw=1
)
panels["affine"].legend()
plt.show()

# %% [markdown]
# ```{caption} fig-extremes
# :alt: Two log-log panels, affine and ReLU functions: the best window parameter against L over sigma for three context
# lengths. Every curve rises steeply at small ratios and levels off at a finite dotted line at large ratios.
#
# Best $w$ against $L/\sigma$ at fixed $n$, $d=5$, exact. To the left noise wins, and $w^*$ falls like $(L/\sigma)^2$. To
# the right it levels off at the best window without noise (dotted), which is narrower the longer the context.
# ```

# %% tags=["hide-input"]
louder = cases(
    each(
        phases.best_window,
        d=every,
        L=phases.WAVES,
        kind="cosine",
        n=100,
        noise_std=100.0,
    ),
    error="error",
    name="cosine, L = {L:g}, d = {d}, n = 100",
)
judge(
    "P1.T2.noise-limit",
    each(phases.slopes_in_noise, **classes, d=middle, n=context_length),
    readings=dict.fromkeys(other_readings("P1.T2.noise-limit"), louder),
    name=f"{{kind}}, d = {middle}, n = {context_length}",
    folded=True,
    **LIMIT,
)

# %% [markdown]
# **A strong signal.** Without label noise the few tokens in the window still lie there by chance, and their mean label
# varies with their positions. So at fixed $n$ a narrower window is not always better. With a longer context it is.

# %% tags=["hide-input"]
across = classes | {"d": every}
against_nearest = each(phases.nearest_over_best, **across, **few, noise_std=0.0)
strong = partial(reading, "P1.T2.signal-limit")
judge(
    "P1.T2.signal-limit",
    each(phases.slope_in_signal, **across),
    readings={
        strong("at fixed $n$"): each(phases.silent_window, **across, **few),
        strong("errs at most"): against_nearest,
    },
    error="error",
)

# %% [markdown]
# **Long contexts.** At fixed noise $w^*\to\infty$. In the control the noise variance grows with $n$, and the window must
# stay as it is.

# %% tags=["hide-input"]
lengths = 10.0 ** np.array(n_decades)
ends = lengths[-2:]
growing = np.sqrt(ends / 1000)  # sigma^2 grows like n
of_waves = each(
    phases.least_slope,
    d=every,
    L=phases.WAVES,
    kind="cosine",
    lengths=np.array([1e9, 1e10]),
)
closing = cases(of_waves, error="error", name="cosine, L = {L:g}, d = {d}")
judge(
    "P1.T2.context-limit",
    each(phases.least_slope, **across, lengths=lengths),
    each(phases.least_slope, **across, lengths=ends, noise_std=growing),
    dict.fromkeys(other_readings("P1.T2.context-limit"), closing),
    error="error",
    folded=True,
)

# %% tags=["hide-input"]
lonely = each(phases.nearest_over_best, **across, n=ends[-1], noise_std=1.0)
chosen = partial(reading, "P1.T2.nearest")
judge(
    "P1.T2.nearest",
    each(phases.least_slope, **across, lengths=ends, power=-1 / 2),
    readings={
        chosen("a single token"): each(phases.crowd, **across, lengths=ends),
        chosen("errs at most"): lonely,
    },
    error="error",
)

# %% tags=["hide-input"]
scaled = each(phases.over_unit, **across, n=context_length)
judge("P1.T2.ratio", scaled, error="error", folded=True)

# %% [markdown]
# **Exercise 1.** A linear function on a line, no noise; one example at distance $s$ to the left of the query, one at $t$ to
# the right. How much does the nearest neighbor err? Which weights do not err?
#
# ```{admonition} Solution
# :class: dropdown
# By the slope times $\min(s,t)$. The weights $\frac t{s+t}$ and $\frac s{s+t}$ do not err at all.
# ```
#
# ## Experiment 3: curvature, not slope
#
# Theorem 2 measures roughness by $L$. For a smooth function a narrow window returns $f+\frac1{2w}\Delta f$, where $\Delta$
# is the Laplacian of the sphere: the error comes from curvature, and
#
# $$w^*\sim\Big[\frac{n\,\mathbb E(\Delta f)^2}{(d-1)\,\kappa\,\sigma^2}\Big]^{\frac2{d+3}},$$ (eq-laplacian)
#
# with the constant $\kappa$ of the noise. This is order 4 of the law of the window ({prf:ref}`thm-law`). For a fixed function the
# bandwidth is known, on spheres and manifolds too {cite:p}`hall1987,pelletier2006,dimarzio2014`; the mean over a class is ours.
#
# ```{admonition} Three classes by hand
# :class: dropdown
# With the {term}`covariance` $\sum_\ell a_\ell P_\ell$ in {term}`Gegenbauer polynomials`, $\mathbb E(\Delta f)^2=\sum_\ell
# a_\ell\,(\ell(\ell+d-2))^2$.
#
# - *Affine functions*: $\Delta f=-(d-1)(f-b)$ on the sphere, so $\mathbb E(\Delta f)^2=\frac{L^2(d-1)^2}{3d}$, which is the
#   affine law of Theorem 2.
# - *Waves*, $\cos(L\,u\cdot x)$: the slope is $L$ and the Laplacian of order $L^2$, so the window depends on $nL^4/\sigma^2$.
# - *ReLU functions*: the sum diverges at the kink; they are of order 3.
# ```

# %%
wave, line = Cosine(dim=5, lipschitz=4.0), Linear(dim=5, lipschitz=4.0)
for n in (1e4, 1e12):
    w, line_w = (optimal_window(task, n, noise_std=0.5).w for task in (wave, line))
    law = asymptotics.sharp_window(wave, n, noise_std=0.5)
    print(f"n = {n:.0e}   wave {w:8.2f}, law {law:8.2f}   linear {line_w:8.2f}")

# %% tags=["hide-input"]
above = [d for d in dims if d > 2] or dims
waves = each(phases.wave_law, d=dims, L=lipschitz_values, noise_std=noise_std)
tanh = each(phases.tanh_window, d=above[0], steepness=steepnesses, lengths=lengths)
tanh[["w", "law"]] /= tanh.groupby("n")[["w", "law"]].transform("first")
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.5))
plots.lines(axes[0], waves, "L", "Laplacian", "d", label="d = {}")
plots.lines(axes[0], waves, "L", "gradient", "d", label="", linestyle=":")
axes[0].set(xlabel="wavenumber L", ylabel="w* over the law", title="waves, n = 1e10")
axes[1].set_title(f"tanh, d = {above[0]}")
plots.lines(axes[1], tanh, "n", "w", "steepness", label=r"$\beta$ = {:g}")
plots.lines(axes[1], tanh, "n", "law", "steepness", label="", linestyle=":")
axes[1].set(xlabel="context length n", ylabel=r"w* over that of the first $\beta$")
for ax in axes:
    ax.set_xscale("log")
    ax.legend()
plt.show()

# %% [markdown]
# ```{caption} fig-laplacian
# :alt: Left, waves against the wavenumber: the exact best window parameter over the law with the Laplacian stays at one in
# every dimension; over the law with the gradient it rises with the wavenumber. Right, tanh classes against the context
# length, relative to the flattest class: steep classes begin below one and end above one, on the levels of the law.
#
# Left: exact best $w$ of waves over the law {eq}`eq-laplacian`; dotted, over the same law with the mean squared gradient
# in place of the Laplacian. Right: best $w$ of $\frac L\beta\tanh(\beta\,q\cdot x)$, $L=2$, $\sigma=0.5$, over that of the
# class with the smallest steepness $\beta$; dotted, the law. All have the same Lipschitz constant.
# ```

# %% tags=["hide-input"]
constants = phases.wave_constants(dims, noise_std)
judge("P1.PD.smooth-law", constants, name="{task}", folded=True, **LIMIT)

# %% [markdown]
# A machine-written summary asks for bounds for "sigmoids or tanhs". A sigmoid is a shifted tanh, so one card answers for
# both. In short contexts the order of the classes is reversed.

# %% tags=["hide-input"]
limits = each(phases.smooth_constant, k=above, label=list(phases.SMOOTH))
judge("P1.beyond.smooth", limits, name="{label}, d = {k}", folded=True, **LIMIT)

# %% [markdown]
# **Equal slopes.** The next card compares waves $\cos(4\,u\cdot x)$ with our affine class and linear functions, by $L=4$ or
# by the slopes that they have on the sphere. Of all smooth classes of one mean squared gradient linear functions have the
# widest window, since $\mathbb E(\Delta f)^2=\sum_\ell a_\ell(\ell(\ell+d-2))^2\ge(d-1)\sum_\ell a_\ell\,\ell(\ell+d-2)$. The exponent
# $\frac2{d+3}$ makes every such ratio tend to one with $d$: by the law, for $n\to\infty$,

# %%
all_dims = [5, 10, 20, 50, 100]
ratios = each(phases.wave_over_linear_limit, d=all_dims, equal=list(phases.EQUAL))
print(ratios.pivot(index="d", columns="equal", values="value").round(3))

# %% [markdown]
# At equal largest slope the ratio is below one in many dimensions: a wave of a fixed wavenumber reaches its largest slope
# on few points of the sphere only.

# %% tags=["hide-input"]
gradient = ratios[ratios.equal == "mean squared gradient"].assign(what="limit")
remote = ratios[ratios.d == all_dims[-1]].assign(what="distance")
remote["value"] = (remote.value - 1).abs()
shown_there = each(
    phases.wave_over_linear, d=sorted({5, *dims}), equal=list(phases.EQUAL)
).assign(what="ratio")
labels = {"labels": ["d", "equal", "what"], "error": "error"}
at_length = "same {equal}, L = 4, d = {d}, n = 1e12, sigma = 0.5"
judge(
    "P1.PD.slope",
    [
        cases(shown_there, name=at_length, **labels),
        cases(gradient, name="same {equal}, L = 4, d = {d}, limit", **labels),
        cases(remote, name="same {equal}, L = 4, d = {d}, from one", **labels),
    ],
    folded=True,
)

# %% [markdown]
# **"Not much beyond Lipschitzness."** For the three classes of the paper's generalization experiment at $L=1$ this sentence
# of the summary holds in few dimensions. For waves of equal largest slope the window narrows as the wavenumber $b$
# grows, in long contexts like $w^*\propto b^{4/(d+3)}$.

# %% tags=["hide-input"]
steeper = each(phases.steeper_waves, d=dims, k=[6, 8], noise_std=noise_std)
eightfold = "b = 8 over b = 1, d = {d}, n = 1e{k}"
others = [name for name in other_readings("P1.PD.beyond") if "cosines" in name]
judge(
    "P1.PD.beyond",
    each(phases.class_spread, d=dims, n=[20, 100], noise_std=noise_std),
    readings=dict.fromkeys(others, cases(steeper, error="error", name=eightfold)),
    error="error",
    name="affine, ReLU, cosine, d = {d}, n = {n}",
)

# %% [markdown]
# **Exercise 2.** Take $f(x)=\cos(L\,u\cdot x)/L$, so that the *slope* stays near one. How does $w^*$ grow with $L$?
#
# ```{admonition} Solution
# :class: dropdown
# $\mathbb E(\Delta f)^2\propto L^2$, so $w^*\propto(nL^2/\sigma^2)^{2/(d+3)}$ with the wavenumber $L$ in the role of the
# Lipschitz constant, although the slope does not change.
# ```
#
# ## To remember
#
# Equal weights, a window, or a few tokens: noise, context length and wavelength decide which. Within a class that scales,
# affine or ReLU, the window follows $L$, as printed. Across smooth classes it follows their curvature.

# %% tags=["remove-input"]
notebook.footer()
