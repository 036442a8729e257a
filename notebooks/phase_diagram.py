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
# *When does the law of the window hold, and what happens with few examples, much noise, or functions that oscillate?*
#
# **Short answer.** The law of Theorem 2 holds in only a part of the map ({numref}`fig-phases`). Where noise drowns the
# functions, and where the context is too short to resolve waves, equal weights are best, $w^*=0$. With little noise the window
# narrows until a few tokens are left in it, and no further unless the context gets longer {judged}`P1.T2.signal-limit`. In long
# contexts the window of smooth functions follows their curvature and not their slope {judged}`P1.PD.smooth-law`. At $d=5$,
# $n=10^{12}$, $\sigma=0.5$ the best $w$ for waves of $L=4$ is
# {judged}`P1.PD.slope | same largest slope, L = 4, d = 5, n = 1e12, sigma = 0.5 | .2f` times the best $w$ for linear functions
# with the same largest slope on the sphere.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d of the covariates
more_dims = [8]  # further dimensions d, for the extreme examples
noise_std = 0.1  # standard deviation sigma of the label noise, waves
lipschitz_values = [0.25, 0.5, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0]  # L
n_values = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]  # n
context_length = 20  # n for the limit of much noise
n_decades = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]  # powers of ten of n, long contexts

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Linear, ReLU
from icl_book import notebook, parameters, plots
from icl_book.claims import cases, judge
from icl_book.measurements import phase_diagram

notebook.setup(globals(), n_values=2, lipschitz_values=2, n_decades=2)
if noise_std == 0:
    raise parameters.BadInput("noise_std=0: must be positive, the law balances noise")

# %% [markdown]
# ## In plain words
#
# The {term}`window` is the region around the query whose examples count; its width is about $w^{-1/2}$, so **large $w$, narrow
# window**. There are three cases:
#
# - **Equal weights**, $w^*=0$. No neighbor is worth more than any other. Either noise drowns the functions, or they oscillate
#   between any two examples.
# - **A window** of many tokens. This is the case of Theorem 2, in which the window narrows as contexts get longer, functions
#   get rougher or labels get cleaner.
# - **Few tokens**: with almost no noise the window narrows until a handful of examples are left in it, and stops there.
#
# ## The experiment: a map of the best window
#
# For ReLU functions only $L/\sigma$ matters, because a change of units turns one setting into another. We vary it, and $n$.
# For waves $\cos(L\,u\cdot x)$ the noise stays and the wavenumber $L$ varies. The number of tokens attended to is
# $1/\mathbb E\sum_i\omega_i^2$.

# %%
low = min(dims)
high = max(dims)
settings = []
for ratio in np.geomspace(0.1, 1000, 25):
    settings.append((f"ReLU, d = {high}", ratio, ReLU(high), 1 / ratio))
for dim in sorted({low, high}):
    for L in lipschitz_values:
        settings.append((f"cosine, d = {dim}", L, Cosine(dim, L), noise_std))

rows = []
for title, rough, task, sigma in settings:
    best = optimal_window(task, n_values, sigma)
    squares = population_risk(task, best.w, n_values, noise_std=1.0).noise
    attended = 1 / squares
    few = (attended < 5) & (attended < np.array(n_values) / 2)
    few_or_many = np.where(few, "few tokens", "a window")
    columns = {
        "n": n_values,
        "w": best.w,
        "attended": attended,
        "phase": np.where(best.w < 1e-9, "equal weights", few_or_many),
    }
    rows.append(pd.DataFrame({"title": title, "rough": rough} | columns))
phases = pd.concat(rows, ignore_index=True)
# only the units change
assert np.isclose(
    optimal_window(ReLU(high, lipschitz=10.0), 100, noise_std=10.0).w,
    optimal_window(ReLU(high, lipschitz=1.0), 100, noise_std=1.0).w,
)

# %%
names = {"equal weights": "#e4e4e4", "a window": "#a9d0ef", "few tokens": "#f7cf9a"}
shades = ListedColormap(list(names.values()))
titles = phases.title.unique()
figure, axes = plt.subplots(1, len(titles), figsize=(6.9, 2.8))
for ax, title in zip(axes, titles, strict=True):
    grid = phases[phases.title == title].pivot(index="rough", columns="n")
    colors = grid.phase.apply(lambda column: column.map(list(names).index))
    n, rough = grid.w.columns, grid.w.index
    # before the lines, whose labels are placed on the scale
    ax.set(xscale="log", yscale="log", xlabel="context length n")
    ax.set_ylabel(r"$L/\sigma$" if title.startswith("ReLU") else "wavenumber L")
    ax.pcolormesh(n, rough, colors, cmap=shades, vmin=0, vmax=2, ec="face")
    log_w = np.log10(grid.w.where(colors > 0))
    lines = ax.contour(n, rough, log_w, [0, 1, 2, 3], colors=".25", linewidths=1)
    ax.clabel(lines, fmt=lambda k: f"w = {10**k:.0f}", fontsize=9)
    ax.set_title(title)
    ax.grid(False)
patches = [
    plt.Rectangle((0, 0), 1, 1, color=c, label=name) for name, c in names.items()
]
figure.legend(handles=patches, loc="outside upper center", ncols=3)
plt.show()

# %% [markdown]
# ```{caption} fig-phases
# :alt: Three maps with three regions. For ReLU functions few tokens are left in the window where the signal is strong, and
# a window of many tokens is best elsewhere. For cosines equal weights are best left of a slanted boundary, where contexts
# are too short for the wavelength, and where the waves are too weak; a band of few tokens follows, then a window that
# narrows to the right.
#
# The exact best choice against context length and roughness; lines show the best $w$. *Few tokens*: fewer than five, and less
# than half of the context, are attended to. Left: {term}`ReLU functions <class>` over $L/\sigma$. Others: waves over their
# wavenumber $L$ at $\sigma=0.1$.
# ```
#
# This takes about ten seconds on two cores. Expect equal weights for waves in short contexts. The table has $w^*=0$ at the
# largest wavenumber and the smallest $n$ in every dimension, and a window at the smallest wavenumber and the largest $n$.

# %%
ends = phases[phases.title.str.startswith("cosine")].groupby("title")
for title, part in ends:
    part = part.sort_values(["rough", "n"])
    unresolved = part[part.rough == part.rough.max()].iloc[0]
    resolved = part[part.rough == part.rough.min()].iloc[-1]
    print(f"{title}: w* = {unresolved.w:.2f} and w* = {resolved.w:.2f}")

# %% [markdown]
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
# - *Much noise.* This is true as printed, and for waves $w^*$ is exactly zero from a finite $\sigma$ on.
# - *Strong signal.* The answer depends on which limit is taken first. If $n$ is so large that
#   [the law](/notebooks/theorem2_scaling.ipynb) applies, $n\gtrsim(L/\sigma)^2$, the window narrows as the signal gets
#   stronger. At a fixed $n$ it ends at the best window without noise, which beats the nearest neighbor.
# - *Long contexts.* It is true that $w^*\to\infty$, as printed. The tokens in the window come arbitrarily close, but there are
#   more and more of them. The nearest one alone would keep the variance $\sigma^2$ of its label noise.
# ```
#
# The slides' examples are about the {term}`class` of the theorem, ReLU functions. The paper's experiments also use a cosine
# class. The last slide prints $\cos(4w^\top x)$, a link of low-rank functions, without the law of $w$. Our class is
# $f(x)=\cos(L\,u\cdot x)$ with $u$ uniform on the sphere. These are waves, and a larger $L$ means a shorter wavelength.
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
# | the class of the theorem | affine, ReLU and quadratic functions, waves |
#
# The kernel is $e^{w\,x\cdot x_q}$, so $w=w_{KQ}$; the query does not attend to itself.
# ```
#
# ## Unresolved waves
#
# The next cell takes a wave that is too short for the shorter contexts:

# %%
for n in (16, 64, 1024):
    best = optimal_window(Cosine(dim=3, lipschitz=8.0), n, noise_std=0.1)
    print(f"n = {n:4d}   best w = {best.w:8.3f}   risk = {best.risk:.4f}")

# %% [markdown]
# A window helps once tokens lie closer than a wavelength in each of the $d-1$ directions of the sphere. This takes of the
# order of $L^{d-1}$ tokens, with a constant that falls with $d$. At the boundary $w^*$ does not grow from zero, it
# **jumps**: the risk has two minima, one at $w=0$ and one at a window of about a wavelength.
#
# ## The extreme examples
#
# For affine and ReLU functions bias and noise are $L^2g_n(w)$ and $\sigma^2S_n(w)$, so $w^*$ depends on $L$ and $\sigma$
# through $L/\sigma$ alone.

# %% tags=["hide-input"]
every = sorted({*dims, *more_dims})
middle = every[min(2, len(every) - 1)]
few = [20, 100, 400]
signals = phase_diagram.windows_over_signal(dim=middle, n_values=few)
figure, axes = plt.subplots(1, 2, figsize=(6.9, 2.8), sharey=True)
for ax, name in zip(axes, phase_diagram.PROPORTIONAL, strict=True):
    part = signals[signals.task == name]
    plots.lines(ax, part, "signal", "w", "n")
    plots.lines(ax, part, "signal", "silent", "n", label="", linestyle=":", lw=1)
    ax.set(xscale="log", yscale="log", xlabel=r"$L/\sigma$", title=name)
    for i, (n, color) in enumerate(plots.colors(few).items()):
        ax.text(300, 0.005 * 4**i, f"n = {n}", color=color)
axes[0].set_ylabel("best window parameter w*")
plt.show()

# %% [markdown]
# ```{caption} fig-extremes
# :alt: Two log-log panels, affine and ReLU functions: the best window parameter against L over sigma for three context
# lengths. Every curve rises steeply at small ratios and levels off at a finite dotted line at large ratios.
#
# Best $w$ against $L/\sigma$ at fixed $n$, $d=5$, exact. To the left noise wins, and $w^*$ falls like $(L/\sigma)^2$. To
# the right it levels off at the best window without noise (dotted), which is narrower the longer the context.
# ```

# %% tags=["remove-input"]
waves = phase_diagram.waves_at_much_noise(dims=every)
template = "cosine, L = {lipschitz:g}, d = {dim}, n = 100"
judge(
    "P1.T2.noise-limit",
    phase_diagram.slopes_at_much_noise(dim=middle, n=context_length),
    readings={"cosines": cases(waves, error="error", name=template)},
    error="error",
    name=f"{{task}}, d = {middle}, n = {context_length}",
)

# %% [markdown]
# **A strong signal.** Without label noise the few tokens in the window still lie there by chance, and their mean label
# varies with their positions. So at fixed $n$ a narrower window is not always better. With a longer context it is.

# %% tags=["remove-input"]
silent = phase_diagram.silent_windows(dims=every, n_values=few)
nearest = phase_diagram.nearest_over_best(dims=every, n_values=few, noise_std=0.0)
template = "{task}, d = {dim}"
judge(
    "P1.T2.signal-limit",
    phase_diagram.slopes_in_signal(dims=every),
    readings={
        "fixed-n": cases(silent, error="error", name=template + ", n = {n}"),
        "risk": cases(nearest, error="error", name=template + ", n = {n}"),
    },
    error="error",
    name=template,
)

# %% [markdown]
# **Long contexts.** At fixed noise $w^*\to\infty$. In the control the noise variance grows with $n$, and the window must
# stay as it is.

# %% tags=["remove-input"]
lengths = 10.0 ** np.array(n_decades)
ends = lengths[-2:]
growing = phase_diagram.smallest_slopes_in_length(dims=every, lengths=lengths)
# sigma^2 grows like n
kept = phase_diagram.smallest_slopes_in_length(
    dims=every, lengths=ends, noise_stds=np.sqrt(ends / 1000)
)
waves = phase_diagram.smallest_slopes_in_length(
    tasks=["cosine"],
    dims=every,
    lengths=np.array([1e9, 1e10]),
    lipschitz_values=[1.0, 4.0],
)
template = "{task}, d = {dim}"
judge(
    "P1.T2.context-limit",
    cases(growing, error="error", name=template),
    cases(kept, error="error", name=template),
    readings={
        "cosines": cases(
            waves, error="error", name="cosine, L = {lipschitz:g}, d = {dim}"
        )
    },
)

# %% tags=["remove-input"]
bandwidth = phase_diagram.smallest_slopes_in_length(dims=every, lengths=ends)
# the bandwidth is w^(-1/2)
bandwidth["value"] = -bandwidth.value / 2
bandwidth["error"] = bandwidth.error / 2
crowds = phase_diagram.slopes_of_the_number_of_tokens(dims=every, lengths=ends)
nearest = phase_diagram.nearest_over_best(
    dims=every, n_values=ends[-1:].tolist(), noise_std=1.0
)
judge(
    "P1.T2.nearest",
    bandwidth,
    readings={
        "single-token": crowds,
        "risk": cases(nearest, error="error", name=template + ", n = {n:g}"),
    },
    error="error",
    name=template,
)

# %% [markdown]
# **Exercise 1.** Take a linear function on a line, without noise, one example at distance $s$ to the left of the query and one
# at distance $t$ to the right. How large is the error of the nearest neighbor? With which weights is there no error?
#
# ```{admonition} Solution
# :class: dropdown
# The error is the slope times $\min(s,t)$. With the weights $\frac t{s+t}$ and $\frac s{s+t}$ there is none.
# ```
#
# ## Curvature, not slope
#
# Theorem 2 measures roughness by $L$. For a smooth function a narrow window returns $f+\frac1{2w}\Delta f$, where $\Delta$ is
# the Laplacian of the sphere. So the error comes from curvature, and
#
# $$w^*\sim\Big[\frac{n\,\mathbb E(\Delta f)^2}{(d-1)\,\kappa\,\sigma^2}\Big]^{\frac2{d+3}},$$ (eq-laplacian)
#
# with the constant $\kappa$ of the noise. This is the case of order 4 in {prf:ref}`the law of the window <thm-law>`. For a
# fixed function the bandwidth is known, on spheres and manifolds too {cite:p}`hall1987,pelletier2006,dimarzio2014`; the mean
# over a class is ours.
#
# ```{admonition} Three classes by hand
# :class: dropdown
# With the {term}`covariance` $\sum_\ell a_\ell P_\ell$ in {term}`Gegenbauer polynomials`, $\mathbb E(\Delta f)^2=\sum_\ell
# a_\ell\,(\ell(\ell+d-2))^2$.
#
# - *Affine functions*: $\Delta f=-(d-1)(f-b)$ on the sphere, so $\mathbb E(\Delta f)^2=\frac{L^2(d-1)^2}{3d}$, which is the
#   affine law of Theorem 2.
# - *Waves*, $\cos(L\,u\cdot x)$: the slope is $L$ and the Laplacian of order $L^2$, so the window depends on $nL^4/\sigma^2$.
# - *ReLU functions*: the sum diverges because of the kink, and they are of order 3.
# ```

# %%
wave, line = Cosine(dim=5, lipschitz=4.0), Linear(dim=5, lipschitz=4.0)
for n in (1e4, 1e12):
    w, line_w = (optimal_window(task, n, noise_std=0.5).w for task in (wave, line))
    law = asymptotics.sharp_window(wave, n, noise_std=0.5)
    print(f"n = {n:.0e}   wave {w:8.2f}, law {law:8.2f}   linear {line_w:8.2f}")

# %% tags=["hide-input"]
ratios = phase_diagram.waves_over_laws(
    dims=dims, lipschitz_values=lipschitz_values, noise_std=noise_std
)
figure, ax = plt.subplots(figsize=(6.9, 2.8))
plots.lines(ax, ratios, "lipschitz", "laplacian", "dim")
plots.lines(ax, ratios, "lipschitz", "gradient", "dim", label="", linestyle=":")
ax.set(xlabel="wavenumber L", ylabel="w* over the law", xscale="log")
for dim, color in plots.colors(dims).items():
    end = ratios[ratios.dim == dim].iloc[-1]
    ax.text(end.lipschitz, end.gradient, f"  d = {dim}", color=color, va="center")
ax.set_xlim(right=1.5 * max(lipschitz_values))
plt.show()

# %% [markdown]
# ```{caption} fig-laplacian
# :alt: Waves against the wavenumber: the exact best window parameter over the law with the Laplacian stays at one in every
# dimension; over the law with the gradient it rises with the wavenumber.
#
# Exact best $w$ of waves at $n=10^{10}$ over the law {eq}`eq-laplacian` (solid, at one), and over the same law with the mean
# squared gradient in place of the Laplacian (dotted), which misses more and more as the waves get shorter.
# ```

# %% tags=["remove-input"]
judge(
    "P1.PD.smooth-law",
    phase_diagram.smooth_windows_over_law(dims=dims, noise_std=noise_std),
    error="error",
    name="{name}",
)

# %% [markdown]
# A machine-written summary asks for bounds for "sigmoids or tanhs". A sigmoid is a shifted tanh, and both are smooth, so
# this law is the answer (Exercise 3).
#
# **Equal slopes.** How does the best $w$ for waves $\cos(4\,u\cdot x)$ compare with the best $w$ for linear functions of the
# same slope? The slope can be measured in four ways: by $L$ itself (the slopes of our affine class are uniform up to $L$), by
# the slope in space, by the largest slope on the sphere, and by the mean squared gradient there.

# %%
rows = []
for dim in sorted({5, *dims}):
    wave = Cosine(dim, lipschitz=4.0)
    t = np.linspace(-1, 1, 200001)
    steepest = np.max(4 * np.abs(np.sin(4 * t)) * np.sqrt(1 - t**2))
    a, _ = wave.spectrum(100)
    degree = np.arange(1, 101)
    gradient = np.sum(a * degree * (degree + dim - 2))
    equal_slope = {
        "L": Affine(dim, lipschitz=4.0),
        "slope in space": Linear(dim, lipschitz=4.0),
        "largest slope": Linear(dim, lipschitz=steepest),
        # that of a linear function is L^2 (d - 1) / d
        "mean squared gradient": Linear(dim, np.sqrt(gradient * dim / (dim - 1))),
    }
    best = optimal_window(wave, n=1e12, noise_std=0.5)
    for equal, line in equal_slope.items():
        other = optimal_window(line, n=1e12, noise_std=0.5)
        ratio = float(best.w / other.w)
        error = ratio * float(best.error + other.error)
        rows.append({"dim": dim, "equal": equal, "value": ratio, "error": error})
waves_over_lines = pd.DataFrame(rows)
print(waves_over_lines.pivot(index="dim", columns="equal", values="value").round(3))

# %% [markdown]
# Among smooth classes with a given mean squared gradient, linear functions have the widest window, since
# $\mathbb E(\Delta f)^2=\sum_\ell a_\ell(\ell(\ell+d-2))^2\ge(d-1)\sum_\ell a_\ell\,\ell(\ell+d-2)$. The exponent $\frac2{d+3}$
# makes every such ratio tend to one with $d$. By the law, for $n\to\infty$:

# %%
all_dims = [5, 10, 20, 50, 100]
ratios = phase_diagram.limits_of_waves_over_linear(dims=all_dims)
print(ratios.pivot(index="dim", columns="equal", values="value").round(3))

# %% [markdown]
# At equal largest slope the ratio is below one in high dimension, because a wave of a fixed wavenumber reaches its largest
# slope in only a small part of the sphere.

# %% tags=["remove-input"]
gradient = ratios[ratios.equal == "mean squared gradient"].assign(what="limit")
remote = ratios[ratios.dim == all_dims[-1]].assign(what="distance")
remote["value"] = (remote.value - 1).abs()
shown_there = waves_over_lines.assign(what="ratio")
labels = {"labels": ["dim", "equal", "what"], "error": "error"}
at_length = "same {equal}, L = 4, d = {dim}, n = 1e12, sigma = 0.5"
judge(
    "P1.PD.slope",
    [
        cases(shown_there, name=at_length, **labels),
        cases(gradient, name="same {equal}, L = 4, d = {dim}, limit", **labels),
        cases(remote, name="same {equal}, L = 4, d = {dim}, from one", **labels),
    ],
)

# %% [markdown]
# **"Not much beyond Lipschitzness."** For the three classes of the paper's generalization experiment at $L=1$ this sentence of
# the summary holds in low dimension. For waves of equal largest slope the window narrows as the wavenumber $b$ grows, and in
# long contexts $w^*\propto b^{4/(d+3)}$.

# %% tags=["remove-input"]
steeper = cases(
    phase_diagram.steeper_waves(dims=dims, n_decades=[6, 8], noise_std=noise_std),
    error="error",
    name="b = 8 over b = 1, d = {dim}, n = 1e{k}",
)
judge(
    "P1.PD.beyond",
    phase_diagram.class_spread(dims=dims, n_values=[20, 100], noise_std=noise_std),
    readings={"waves-2": steeper, "waves-1.5": steeper, "waves-1.25": steeper},
    error="error",
    name="affine, ReLU, cosine, d = {dim}, n = {n}",
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
# **Exercise 3.** Does the law hold for the smooth steps $f(x)=\frac24\tanh(4\,q\cdot x)$? Compare the exact $w$ with the law at
# $n=10^4$ and $10^{12}$. Use `asymptotics.sharp_window` for the law. Five lines suffice.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# from icl.tasks import Tanh
#
# step = Tanh(dim=5, lipschitz=2.0, steepness=4.0)
# for n in (1e4, 1e12):
#     law = asymptotics.sharp_window(step, n, noise_std=0.5)
#     print(f"n = {n:.0e}   w over law {optimal_window(step, n, 0.5).w / law:.3f}")
# ```
# It does. At $n=10^{12}$ the two agree to less than one per cent. At $n=10^4$ the law is about a quarter too large, since the
# window is still wider than the steep part of the function.
# :::
#
# **Exercise 4.** Draw the map of ReLU functions for $d=7$. Which line of the experiment do you change, and what happens to the lines of equal $w$?
#
# ```{admonition} Solution
# :class: dropdown
# `high = 7`. The lines of equal $w$ lie farther apart, because the exponent of the law, $\frac2{d+2}$, is smaller and it takes
# longer contexts to narrow the window by the same factor.
# ```
#
# ## To remember
#
# Noise, context length and wavelength decide whether equal weights, a window or a few tokens are best. Within a class that
# scales, affine or ReLU, the window follows $L$, as printed. Across smooth classes it follows their curvature.

# %% tags=["remove-input"]
notebook.footer()
