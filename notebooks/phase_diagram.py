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
# *Theorem 2 gives a power law for the best window. When does this law hold? What happens with few examples, much noise,
# or oscillating functions?*
#
# **Short answer.** The power law for the best [window parameter](#term-window-parameter) $w^*$ holds in long contexts.
# Let $n$ be the number of examples, $d$ their dimension, $L$ the Lipschitz constant of the functions and $\sigma^2$ the
# variance of the label noise. For ReLU functions $n$ must be well above both $(L/\sigma)^d$ and $(\sigma/L)^2$, and for
# waves $\cos(L\,u\cdot x)$ with $L\ge1$ well above both $L^{d-1}\sigma^2$ and $L^{d-1}/\sigma^{d+1}$
# ([Which kind of weights is best](#fig-phases)). Equal or nearly equal weights ($w^*=0$ or near zero) are best if the
# noise is large, or if the examples lie too far apart to show a wave. If the noise is very small and the context is
# short, the best window contains only a few tokens. Reducing the noise further does not narrow this window, but a longer
# context does. So the talk's statement that the best $w$ grows without bound if the signal dominates the noise
# [depends on the reading](judged:P1.T2.signal-limit). For smooth functions in long contexts, the curvature of the
# functions sets the best window, and their slope does not ([established](judged:P1.PD.smooth-law)). For example, the best
# $w$ for waves $\cos(4\,u\cdot x)$ is
# [1.26](<judged:P1.PD.slope|same largest slope, L = 4, d = 5, n = 1e12, sigma = 0.5|.2f>) times the best $w$ for linear
# functions with the same largest slope on the sphere, at $d=5$, $n=10^{12}$ and $\sigma=0.5$.

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d of the covariates
more_dims = [8]  # further dimensions d, for the extreme examples
noise_std = 0.1  # standard deviation sigma of the label noise, waves
lipschitz_values = [0.25, 0.5, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0]  # L
n_values = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]  # n
context_length = 20  # n for the limit of much noise
n_decades = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]  # powers of ten of n, long contexts

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Linear, ReLU
from icl_book import notebook, parameters
from icl_book.claims import exact_cases, judge
from icl_book.figures import plots
from icl_book.measurements import phase_diagram

notebook.setup(globals(), n_values=2, lipschitz_values=2, n_decades=2)
if noise_std == 0:
    raise parameters.BadInput("noise_std=0: must be positive, the law balances noise")

# %% [markdown]
# ## In plain words
#
# Noise, context length and the roughness of the functions determine over how many examples the best layer averages, that
# is, how wide its [window](#term-window) is. Three kinds of weights can be best:
#
# - **Equal weights**, $w^*=0$. They are best for waves that drown in noise or oscillate between neighboring examples.
#   For affine and ReLU functions with much noise the best weights are almost equal.
# - **A window** of many tokens. Theorem 2 is about such windows in long contexts, where the window narrows ($w^*$ grows)
#   as contexts get longer, functions get rougher or labels get cleaner.
# - **Few tokens.** With almost no noise the best window contains a handful of examples, and at a fixed context length
#   reducing the noise further does not narrow this window.
#
# ## The experiment: a map of the best window
#
# The next cell computes which of the three kinds is best, for each context length $n$ and each roughness on a grid. For
# ReLU functions the roughness is the ratio $L/\sigma$, which alone sets the best window at each $n$. For waves
# $\cos(L\,u\cdot x)$ the noise is fixed, and the roughness is the wavenumber $L$. The number of tokens that a layer
# with attention weights $\omega_i$ attends to is defined as $1/\mathbb E\sum_i\omega_i^2$. To try $d=7$, replace
# the first line of the next cell by `dims = [7]`.

# %%
dims = list(dims)  # or [7], for example
low = min(dims)
high = max(dims)


def best_windows(title, rough, task, sigma):
    best = optimal_window(task, n_values, sigma)
    # with unit noise, the noise term is the expected sum of the squared weights
    attended = 1 / population_risk(task, best.w, n_values, noise_std=1.0).noise
    equal = best.w < 1e-9
    few = (attended < 5) & (attended < np.array(n_values) / 2)
    phase = np.select([equal, few], ["equal weights", "few tokens"], "a window")
    law = asymptotics.sharp_window(task, n_values, sigma)
    lawful = np.abs(best.w / law - 1) < 0.2
    table = {"n": n_values, "w": best.w, "phase": phase, "lawful": lawful}
    return pd.DataFrame({"title": title, "rough": rough} | table)


phases = pd.concat(
    [
        best_windows(f"ReLU, d = {high}", ratio, ReLU(high), 1 / ratio)
        for ratio in np.geomspace(0.1, 1000, 25)
    ]
    + [
        best_windows(f"cosine, d = {dim}", L, Cosine(dim, L), noise_std)
        for dim in sorted({low, high})
        for L in lipschitz_values
    ],
    ignore_index=True,
)
# the same ratio L / sigma in two units
assert np.isclose(
    optimal_window(ReLU(high, lipschitz=10.0), 100, noise_std=10.0).w,
    optimal_window(ReLU(high, lipschitz=1.0), 100, noise_std=1.0).w,
)

# %% figure={"alt": "Three maps with three regions. For ReLU functions few tokens are best in a block at strong signals and short contexts, and the rest of the map is the window region. For cosines, equal weights are best to the left of a slanted boundary, where contexts are too short for the wavelength. Equal weights are also best where the waves are too weak. To the right of the boundary follows a band of few tokens, then a window that narrows to the right. Dots of the power law fill a part of the window regions in long contexts.", "name": "fig-phases"}
names = {"equal weights": "#e4e4e4", "a window": "#7fb8e6", "few tokens": "#eda04b"}
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
    # the maps of waves have hardly any w between zero and one
    levels = [0, 1, 2, 3] if title.startswith("ReLU") else [1, 2, 3]
    lines = ax.contour(n, rough, log_w, levels, colors=".25", linewidths=1)
    ax.clabel(lines, fmt=lambda k: f"{10**k:.0f}", fontsize=9, inline_spacing=1)
    lawful = phases[(phases.title == title) & phases.lawful]
    ax.plot(lawful.n, lawful.rough, ".", color=".25", markersize=2)
    ax.set_title(title)
    ax.grid(False)
patches = [
    plt.Rectangle((0, 0), 1, 1, color=c, label=name) for name, c in names.items()
]
figure.legend(handles=patches, loc="outside upper center", ncols=3)
plt.show()

# %% [markdown]
# **Which kind of weights is best.** The kind of weights that is best for each context length and roughness: equal weights
# (gray), a window (blue) or few tokens (orange). Numbered lines join settings of equal $w^*$. *Few tokens* means that the
# best layer attends to fewer than five tokens and to less than half of the context. *A window* means every other setting
# with $w^*>0$, nearly equal weights included. Dots mark settings at which $w^*$ differs from
# [the law of the window](theorem2_scaling.ipynb#thm-law) by less than 20 %. Left: [ReLU functions](#term-class). Middle
# and right: waves at $\sigma=0.1$.
#
# **When does the law hold?** Since the law needs long contexts, the dots fill only a part of the region *a window*. A few
# dots lie in the region *few tokens*, because there the ratio of $w^*$ to the law passes through one on its way up. In
# longer contexts this ratio exceeds one, and then it tends to one from above.
#
# <details><summary>How long the contexts must be, up to constant factors</summary>
#
# All these bounds leave out constant factors, so that some dots lie outside them.
#
# *ReLU functions.* The law is accurate if $n$ is well above both $(L/\sigma)^d$ and $(\sigma/L)^2$. The chapter on
# [Theorem 2](theorem2_scaling.ipynb) explains the first bound, which excludes the upper part of the left map.
# The second, above which the $w$ of the law is large, excludes the lower left corner.
#
# *Waves with $L\ge1$.* The law gives a $w^*$ of the order of $(nL^4/\sigma^2)^{2/(d+3)}$, by
# [the law for smooth functions](#eq-laplacian) below. It is accurate if two conditions hold. The window must be narrower
# than a wavelength, which means $w^*\gg L^2$ and holds if $n\gg L^{d-1}\sigma^2$. And the labels in a window, which
# differ even without noise, must differ by less than $\sigma$, which means $w^*\gg(L/\sigma)^2$ and holds if
# $n\gg L^{d-1}/\sigma^{d+1}$. At $\sigma=0.1$ the second condition is the stronger one.
#
# </details>
#
# The cell takes about ten seconds on two cores. The next cell prints the best $w$ at two corners of the maps of waves. It
# should be zero for the shortest wave in the shortest context, and positive for the longest wave in the longest context:

# %%
ends = phases[phases.title.str.startswith("cosine")].groupby("title")
for title, part in ends:
    part = part.sort_values(["rough", "n"])
    unresolved = part[part.rough == part.rough.max()].iloc[0]
    resolved = part[part.rough == part.rough.min()].iloc[-1]
    print(f"{title}, shortest wave, shortest context: w* = {unresolved.w:.2f}")
    print(f"{title}, longest wave, longest context:   w* = {resolved.w:.2f}")

# %% [markdown]
# ## As printed, and what is true
#
# The slides print three extreme examples after Theorem 2, of which the first is true as printed, while the other two are
# true in one reading and false in another:
#
# > - $\sigma\to\infty$: no signal, average the noise, $w_{KQ}\to0$.
# > - $L\gg\sigma$: no point aggregating noise, pick the nearest neighbour,
# >   $w_{KQ}\to\infty$.
# > - $n\to\infty$: the query token is in the context! Choose the nearest neighbour,
# >   $w_{KQ}\to\infty$.
#
# > **What is true.**
# >
# > - *Much noise.* The printed limit $w_{KQ}\to0$ is true. For waves in a context of fixed length, $w^*$ is exactly zero
# >   for all sufficiently large $\sigma$.
# > - *Strong signal.* The limit of $w^*$ depends on whether $n$ or $L/\sigma$ grows first. If $n$ is so large that
# >   [the law of Theorem 2](theorem2_scaling.ipynb) applies, the window narrows as $L/\sigma$ grows. If
# >   $L/\sigma$ grows at a fixed $n$, the best window tends to the best window without noise, which in all settings that
# >   we compute has a positive width and a smaller risk than the nearest neighbor.
# > - *Long contexts.* It is true that $w^*\to\infty$ at a fixed $\sigma>0$, and that the tokens in the window come
# >   arbitrarily close to the query. But their number grows, so that the mean of their labels has little noise, whereas
# >   the label of the nearest token alone keeps the full noise variance $\sigma^2$.
#
# Theorem 2 and its three examples are about the [class](#term-class) of ReLU functions. The paper's experiments also use
# a cosine class that none of our sources defines. Ours is $f(x)=\cos(L\,u\cdot x)$ with $u$ uniform on the sphere, and we
# call its functions *waves*. The larger $L$ is, the shorter is their wavelength.
#
# ## By hand: a very fast wave
#
# For a wave with a very short wavelength, equal weights are better than the nearest neighbor. Suppose that there is no
# noise, and that the values of the function at different points are uncorrelated, with mean $0$ and mean square
# $\frac12$. A prediction with weights $\omega_i$ that sum to one then has the mean squared error
# $\frac12(1+\sum_i\omega_i^2)$. The nearest neighbor, which puts the weight $1$ on one token, has the error $1$. Equal
# weights $\omega_i=\frac1n$ have the error $\frac12(1+\frac1n)$, which is $\frac{21}{40}$ for $n=20$.

# %%
wave = Cosine(dim=5, lipschitz=60.0)
nearest = nearest_neighbor_risk(wave, 20, noise_std=0.0).total
equal = population_risk(wave, 0.0, 20, noise_std=0.0).total
print(f"nearest neighbor {nearest:.4f}   equal weights {equal:.4f}")

# %% [markdown]
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | here |
# |---|---|
# | tokens uniform on the unit sphere, classes rotation invariant | as assumed |
# | $n$ large | tested: the maps begin at $n=2$ |
# | $L/\sigma$ fixed | tested: from far below one to no noise at all |
# | the class of the theorem | ReLU functions, and also affine and quadratic functions and waves |
#
# Attention weights are proportional to $e^{w\,x\cdot x_q}$, so that $w$ is the $w_{KQ}$ of the slides. The query does not
# attend to itself.
#
# </details>
#
# ## Unresolved waves
#
# A window helps with a wave only if the context is long enough to resolve the wavelength. The next cell computes the
# best $w$ for one wave in three contexts:

# %%
for n in (16, 64, 1024):
    best = optimal_window(Cosine(dim=3, lipschitz=8.0), n, noise_std=0.1)
    print(f"n = {n:4d}   best w = {best.w:8.3f}   risk = {best.risk:.4f}")

# %% [markdown]
# For this wave equal weights are best in the shortest context. A window begins to help once neighboring tokens lie
# closer together than a wavelength, which takes a number of tokens of the order of $L^{d-1}$, because the sphere has
# dimension $d-1$.
#
# At the context length where a window begins to help, $w^*$ **jumps** from zero to a positive value. There the risk as a
# function of $w$ has two minima, one at $w=0$, and one at which the window is about a wavelength wide.
#
# ## The extreme examples
#
# At fixed $n$ the best $w$ for affine and ReLU functions tends to zero as the noise grows, and to a finite limit as the
# noise vanishes. This $w$ is a function of $L/\sigma$, because for these two classes the bias is proportional to $L^2$
# and the noise term to $\sigma^2$.

# %% figure={"alt": "Two log-log panels, affine and ReLU functions: the best window parameter against L over sigma for three context lengths. Every curve rises steeply at small ratios and levels off at a finite dotted line at large ratios.", "name": "fig-extremes"} jupyter={"source_hidden": true} tags=["hide-input"]
every = sorted({*dims, *more_dims})
middle = every[min(2, len(every) - 1)]
few = [20, 100, 400]
signals = phase_diagram.windows_over_signal(dim=middle, n_values=few)
figure, axes = plt.subplots(1, 2, figsize=(6.9, 2.8), sharey=True)
for ax, name in zip(axes, phase_diagram.PROPORTIONAL, strict=True):
    part = signals[signals.task == name]
    plots.lines(ax, part, "signal", "w", "n", label="n = {}")
    plots.lines(ax, part, "signal", "silent", "n", label="", linestyle=":", lw=1)
    ax.set(xscale="log", yscale="log", xlabel=r"$L/\sigma$", title=name)
axes[0].set_ylabel("best window parameter w*")
axes[0].legend()
plt.show()

# %% [markdown]
# **Much noise and much signal.** The exact best $w$ against $L/\sigma$ at fixed $n$, for $d=5$. Where noise dominates
# (left), the best $w$ is proportional to $(L/\sigma)^2$. Where the signal dominates (right), the best $w$ levels off at
# its value without noise (dotted).

# %% jupyter={"source_hidden": true} tags=["remove-input"]
rows = []
for L in phase_diagram.WAVENUMBERS:
    for dim in every:
        best = optimal_window(Cosine(dim, L), 100, noise_std=100.0)
        row = {"lipschitz": L, "dim": dim, "value": float(best.w)}
        rows.append(row | {"error": float(best.w * best.error)})
waves = pd.DataFrame(rows)
template = "cosine, L = {lipschitz:g}, d = {dim}, n = 100"
judge(
    "P1.T2.noise-limit",
    phase_diagram.slopes_at_much_noise(dim=middle, n=context_length),
    readings={"cosines": exact_cases(waves, error="error", name=template)},
    error="error",
    name=f"{{task}}, d = {middle}, n = {context_length}",
)

# %% [markdown]
# **A strong signal.** At fixed $n$ the best window has a positive width even without label noise, because the tokens lie
# at random positions, on which the mean of several labels depends less than a single label does. In a longer context the
# tokens lie closer to the query, and the best window is narrower.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
fixed = phase_diagram.slopes_of_a_strong_signal(dims=every, n_values=few)
nearest = phase_diagram.nearest_over_best(dims=every, n_values=few, noise_std=0.0)
crowded = phase_diagram.nearest_over_best(dims=every, n_values=[5], noise_std=0.0)
template = "{task}, d = {dim}"
at_length = {"error": "error", "name": template + ", n = {n}"}
rising = phase_diagram.slopes_in_signal(dims=every)
judge(
    "P1.T2.signal-limit",
    rising,
    readings={
        "fixed-n": exact_cases(fixed, **at_length),
        "risk": exact_cases(nearest, **at_length),
    },
    could={"fixed-n": rising, "risk": exact_cases(crowded, **at_length)},
    error="error",
    name=template,
)

# %% [markdown]
# **Long contexts.** At fixed noise $w^*$ grows without bound as the context gets longer. Since the number of tokens in
# the best window also grows, the best layer does not pick the nearest neighbor alone.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
    exact_cases(growing, error="error", name=template),
    exact_cases(kept, error="error", name=template),
    readings={
        "cosines": exact_cases(
            waves, error="error", name="cosine, L = {lipschitz:g}, d = {dim}"
        )
    },
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
bandwidth = phase_diagram.smallest_slopes_in_length(dims=every, lengths=ends)
# the bandwidth is w^(-1/2)
bandwidth["value"] = -bandwidth.value / 2
bandwidth["error"] = bandwidth.error / 2
crowds = phase_diagram.slopes_of_the_number_of_tokens(dims=every, lengths=ends)
few_left = phase_diagram.slopes_of_the_number_of_tokens(
    dims=every, lengths=np.array([10.0, 100.0]), windows=lambda n: n**4 / 100
)
nearest = phase_diagram.nearest_over_best(
    dims=every, n_values=ends[-1:].tolist(), noise_std=1.0
)
judge(
    "P1.T2.nearest",
    bandwidth,
    readings={
        "single-token": crowds,
        "risk": exact_cases(nearest, error="error", name=template + ", n = {n:g}"),
    },
    could={"single-token": few_left, "risk": exact_cases(crowded, **at_length)},
    error="error",
    name=template,
)

# %% [markdown]
# **Exercise 1.** Take a linear function on a line, without noise. One example lies at the distance $s$ to the left of
# the query, and another at the distance $t$ to the right. How large is the absolute error of the nearest neighbor, and
# which weights give no error?
#
# <details><summary>Solution</summary>
#
# The absolute error is the absolute slope times $\min(s,t)$. The weight $\frac t{s+t}$ on the left example and the
# weight $\frac s{s+t}$ on the right one give no error.
#
# </details>
#
# ## Curvature, not slope
#
# Theorem 2 measures roughness by $L$, which is a slope. For a smooth function $f$, however, a narrow window with many
# tokens predicts about $f+\frac1{2w}\Delta f$, where $\Delta$ is the Laplacian of the sphere. The error without noise
# comes from this curvature term, which the best window balances against the noise. As $n\to\infty$ at fixed $\sigma>0$,
#
# <a id="eq-laplacian"></a>
#
# $$w^*\sim\Big[\frac{n\,\mathbb E(\Delta f)^2}{(d-1)\,\kappa\,\sigma^2}\Big]^{\frac2{d+3}}.$$
#
# Here $\kappa$ depends on $d$ only, and a layer attends to about $n/(\kappa\,w^{(d-1)/2})$ tokens. The formula is the
# case $\rho=4$ of [the law of the window](theorem2_scaling.ipynb#thm-law). For a single function such a formula is known,
# also on spheres and manifolds ([Hall et al., 1987](cite:hall1987); [Pelletier, 2006](cite:pelletier2006);
# [Di Marzio et al., 2014](cite:dimarzio2014)), while ours has the mean over a class of functions.
#
# <details><summary>Three classes by hand</summary>
#
# Let $\sum_\ell a_\ell P_\ell$ be the [covariance](#term-covariance) of a class in
# [Gegenbauer polynomials](#term-gegenbauer-polynomials). Then
# $\mathbb E(\Delta f)^2=\sum_\ell a_\ell\,(\ell(\ell+d-2))^2$.
#
# - *Affine functions.* Let $b$ be the intercept. On the sphere $\Delta f=-(d-1)(f-b)$, so that
#   $\mathbb E(\Delta f)^2=\frac{L^2(d-1)^2}{3d}$, and [the law for smooth functions](#eq-laplacian) gives the affine law
#   in [Theorem 2: how fast the window narrows](theorem2_scaling.ipynb).
# - *Waves*, $\cos(L\,u\cdot x)$. For large $L$ the Laplacian of a wave is of order $L^2$, so that the best $w$ depends on
#   $nL^4/\sigma^2$.
# - *ReLU functions.* The sum diverges because of the kink, and they are the case $\rho=3$ of the law of the window.
#
# </details>

# %%
wave, line = Cosine(dim=5, lipschitz=4.0), Linear(dim=5, lipschitz=4.0)
for n in (1e4, 1e12):
    w, line_w = (optimal_window(task, n, noise_std=0.5).w for task in (wave, line))
    law = asymptotics.sharp_window(wave, n, noise_std=0.5)
    print(f"n = {n:.0e}   wave {w:8.2f}, law {law:8.2f}   linear {line_w:8.2f}")

# %% figure={"alt": "The exact best window parameter of waves divided by two laws, against the wavenumber. Divided by the law with the Laplacian it stays at one in every dimension. Divided by the law with the gradient it rises with the wavenumber.", "name": "fig-laplacian"} jupyter={"source_hidden": true} tags=["hide-input"]
ratios = phase_diagram.waves_over_laws(
    dims=dims, lipschitz_values=lipschitz_values, noise_std=noise_std
)
figure, ax = plt.subplots(figsize=(6.9, 2.8))
plots.lines(ax, ratios, "lipschitz", "laplacian", "dim", label="")
gradient = {"label": "d = {}", "linestyle": ":"}
plots.lines(ax, ratios, "lipschitz", "gradient", "dim", **gradient)
ax.set(xlabel="wavenumber L", ylabel="w* over the law", xscale="log")
plots.label_ends(ax)
plt.show()

# %% [markdown]
# **Curvature sets the window.** Solid: the exact best $w$ of waves at $n=10^{10}$, divided by
# [the law for smooth functions](#eq-laplacian). Dotted: the same $w$, divided by the law with the mean squared gradient
# in place of the Laplacian. The solid lines stay near one at every wavenumber, and the dotted lines do not.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P1.PD.smooth-law",
    phase_diagram.smooth_windows_over_law(dims=dims, noise_std=noise_std),
    error="error",
    name="{name}",
)

# %% [markdown]
# A machine-written summary of the paper asks for bounds for "sigmoids or tanhs". Both kinds of functions are smooth, so
# that [the law for smooth functions](#eq-laplacian) gives their best window in long contexts (Exercise 3).
#
# **Equal slopes.** Take $d=2,3,5$ at $n=10^{12}$ and $\sigma=0.5$. Waves $\cos(4\,u\cdot x)$ then have a larger best
# $w$ than linear functions of equal slope, for four measures of slope: the constant $L$, the slope in $\mathbb R^d$, the
# largest slope on the sphere, and the mean squared gradient on the sphere. At equal $L$ we compare with our affine class,
# whose slopes $\ell$ are uniform on $[-L,L]$. The next cell prints the best $w$ for waves divided by the best $w$ for
# linear functions:


# %%
def linear_of_equal_slope(dim, L):
    t = np.linspace(-1, 1, 200001)
    steepest = np.max(L * np.abs(np.sin(L * t)) * np.sqrt(1 - t**2))
    a, _ = Cosine(dim, L).spectrum(100)
    degree = np.arange(1, 101)
    gradient = np.sum(a * degree * (degree + dim - 2))
    return {
        "L": Affine(dim, L),
        "slope in space": Linear(dim, L),
        "largest slope": Linear(dim, steepest),
        # a linear function has the mean squared gradient L^2 (d - 1) / d
        "mean squared gradient": Linear(dim, np.sqrt(gradient * dim / (dim - 1))),
    }


def ratio_of_windows(wave, line):
    best, other = (optimal_window(task, 1e12, noise_std=0.5) for task in (wave, line))
    ratio = float(best.w / other.w)
    return {"value": ratio, "error": ratio * float(best.error + other.error)}


waves_over_lines = pd.DataFrame(
    {"dim": dim, "equal": equal} | ratio_of_windows(Cosine(dim, 4.0), line)
    for dim in [2, 3, 5]
    for equal, line in linear_of_equal_slope(dim, 4.0).items()
)
print(waves_over_lines.pivot(index="dim", columns="equal", values="value").round(3))

# %% [markdown]
# In long contexts, linear functions have the smallest best $w$ among smooth classes with the same mean squared
# gradient. This follows from
#
# $$\mathbb E(\Delta f)^2=\sum_\ell a_\ell(\ell(\ell+d-2))^2\ge(d-1)\sum_\ell a_\ell\,\ell(\ell+d-2),$$
#
# with equality for linear functions. The right side is $d-1$ times the mean squared gradient.
#
# Divide the best $w$ for waves of a fixed wavenumber by the best $w$ for linear functions. By
# [the law for smooth functions](#eq-laplacian) this quotient tends to $r^{2/(d+3)}$ as $n\to\infty$, where $r$ is the
# ratio of the two mean squared Laplacians. As $d$ grows, $|\log r|$ is at most of the order of $\log d$, so that
# $r^{2/(d+3)}$ tends to one. The next cell computes this power:

# %%
all_dims = [5, 10, 20, 50, 100]
ratios = phase_diagram.limits_of_waves_over_linear(dims=all_dims)
print(ratios.pivot(index="dim", columns="equal", values="value").round(3))

# %% [markdown]
# In high dimension the ratio at equal largest slope is below one, because a wave reaches its largest slope only in a
# small part of the sphere.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
gradient = ratios[ratios.equal == "mean squared gradient"].assign(what="limit")
remote = ratios[ratios.dim == all_dims[-1]].assign(what="distance")
remote["value"] = (remote.value - 1).abs()
shown_there = waves_over_lines.assign(what="ratio")
labels = {"labels": ["dim", "equal", "what"], "error": "error"}
at_length = "same {equal}, L = 4, d = {dim}, n = 1e12, sigma = 0.5"
judge(
    "P1.PD.slope",
    [
        exact_cases(shown_there, name=at_length, **labels),
        exact_cases(gradient, name="same {equal}, L = 4, d = {dim}, limit", **labels),
        exact_cases(remote, name="same {equal}, L = 4, d = {dim}, from one", **labels),
    ],
)

# %% [markdown]
# **Beyond the Lipschitz constant.** The machine-written summary also says that attention "does not adapt much beyond
# Lipschitzness". Our numbers agree with this sentence for affine, ReLU and cosine functions of $L=1$, with $d=2,3,5$
# and $n=20,100$. At $d=8$ and $n=20$ they do not agree, because so few tokens hardly resolve the waves, whose best window
# is then much wider than that of the other classes. In long contexts the sentence is false for waves $\cos(b\,u\cdot x)$
# divided by their largest slope, because for large $b$ the best $w$ for these waves is proportional to $b^{4/(d+3)}$, so
# that the window narrows as $b$ grows.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
waves = {"error": "error", "name": "b = 8 over b = 1, d = {dim}, n = 1e{k}"}
decades = {"n_decades": [6, 8], "noise_std": noise_std}
# dimensions of its own, because the verdict must not hang on the list of this run
steeper = exact_cases(phase_diagram.steeper_waves(dims=[2, 3, 5], **decades), **waves)
high = exact_cases(phase_diagram.steeper_waves(dims=[20], **decades), **waves)
judge(
    "P1.PD.beyond",
    phase_diagram.class_spread(dims=[2, 3, 5], n_values=[20, 100], noise_std=noise_std),
    readings={"waves-2": steeper, "waves-1.5": steeper, "waves-1.25": steeper},
    could={"waves-2": high, "waves-1.5": high, "waves-1.25": high},
    error="error",
    name="affine, ReLU, cosine, d = {dim}, n = {n}",
)

# %% [markdown]
# **Exercise 2.** Take $f(x)=\cos(L\,u\cdot x)/L$. Its largest *slope* stays near one for large $L$. How does $w^*$ grow
# with $L$ in long contexts?
#
# <details><summary>Solution</summary>
#
# For large $L$ the mean squared Laplacian $\mathbb E(\Delta f)^2$ is proportional to $L^2$, so that
# $w^*\propto(nL^2/\sigma^2)^{2/(d+3)}$ by [the law for smooth functions](#eq-laplacian). Thus $w^*$ grows with the
# wavenumber $L$, although the largest slope stays near one.
#
# </details>
#
# **Exercise 3.** Does the law hold for the smooth steps $f(x)=\frac24\tanh(4\,q\cdot x)$? Compare the exact $w$ with
# the law at $n=10^4$ and $10^{12}$. Use `asymptotics.sharp_window` for the law.
#
# <details><summary>Solution</summary>
#
# ```python
# from icl.tasks import Tanh
#
# step = Tanh(dim=5, lipschitz=2.0, steepness=4.0)
# for n in (1e4, 1e12):
#     law = asymptotics.sharp_window(step, n, noise_std=0.5)
#     print(f"n = {n:.0e}   w over law {optimal_window(step, n, 0.5).w / law:.3f}")
# ```
# The law holds in long contexts. At $n=10^{12}$ the exact $w$ and the law differ by less than one per cent. At $n=10^4$
# the law is about a quarter too large, because the window is still wider than the steep part of the function.
#
# </details>
#
# **Exercise 4.** Draw the map of ReLU functions for $d=7$. Which line do you add to the cell of the experiment? What
# happens to the lines of equal $w$?
#
# <details><summary>Solution</summary>
#
# Write `dims = [7]` as the first line of the cell. The lines of equal $w$ lie farther apart. The reason is that $w^*$
# grows like $n^{2/(d+2)}$ for ReLU functions, and since this exponent is smaller at $d=7$ than at $d=5$, a longer context
# is needed to narrow the window by the same factor.
#
# </details>
#
# ## To remember
#
# Noise, context length and wavelength decide whether equal weights, a window or a few tokens are best. In long contexts
# the best window depends on $L$ within the affine or the ReLU class, as Theorem 2 says, while between different smooth
# classes it depends on the curvature.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
