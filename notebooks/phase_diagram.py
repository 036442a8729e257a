# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Smooth functions: curvature sets the window
#
# *What makes a function hard to average, its slope or its bends? And which weights are best if there are few examples, much noise
# or fast waves?*

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

from icl.risk import asymptotics, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Linear, ReLU
from icl_book import notebook, parameters
from icl_book.claims import exact_cases, judge
from icl_book.figures import plots
from icl_book.measurements import phase_diagram

notebook.setup(globals(), n_values=2, lipschitz_values=2, n_decades=2)
if noise_std == 0:
    raise parameters.BadInput("noise_std=0: must be positive, the law balances noise")

# %% figure={"alt": "Left, a curve rises along a straight line, bends at the top and falls along a straight line. Its average over a window lies on it where it is straight and below it at the bend, where the gap is shaded. Right, the exact best window parameter of waves divided by two laws, against the wavenumber. Divided by the law with the Laplacian it stays at one in every dimension. Divided by the law with the gradient it rises with the wavenumber.", "name": "fig-laplacian"} jupyter={"source_hidden": true} tags=["hide-input"]
ratios = phase_diagram.waves_over_laws(
    dims=dims, lipschitz_values=lipschitz_values, noise_std=noise_std
)
figure, (bend, ax) = plt.subplots(1, 2, figsize=(7.6, 3.3), width_ratios=[1, 1.35])
place = np.linspace(-4, 4, 801)
curve = -np.sqrt(place**2 + 0.1)
bell = np.exp(-(place**2) / (2 * 0.5**2))
average = np.convolve(curve, bell / bell.sum(), mode="same")
inside = np.abs(place) < 2
shade = plots.COLORS["blur"]
bend.plot(place[inside], curve[inside], color="k", label="function")
bend.plot(place[inside], average[inside], color=shade, label="its average")
both = place[inside], curve[inside], average[inside]
bend.fill_between(*both, color=shade, alpha=0.3, linewidth=0)
bend.set(xlabel="place", ylabel="value", title="wrong where it bends")
bend.legend(loc="lower center")
plots.lines(ax, ratios, "lipschitz", "laplacian", "dim", label="")
gradient = {"label": "d = {}", "linestyle": ":"}
plots.lines(ax, ratios, "lipschitz", "gradient", "dim", **gradient)
ax.set(xlabel="wavenumber L", ylabel="best w over the law", xscale="log")
ax.set_title("law with curvature (solid), slope (dotted)")
plots.label_ends(ax)
plt.show()

# %% [markdown]
# **Curvature sets the window.** Left: a function and its average over a window, a sketch. Right: the exact best $w$ of waves at
# $n=10^{10}$, divided by the [law with curvature](#eq-laplacian) (solid), and divided by the same law with the mean squared slope
# in place of the curvature (dotted). Only the solid lines stay near one.
#
# **In short.** A weighted mean is right where a function is straight, however steep, and wrong where it bends. So for smooth
# functions in long contexts the curvature sets the best window. Take waves $\cos(4\,u\cdot x)$ with a random direction $u$, and
# linear functions with the same largest slope. The waves have
# [1.26](<judged:P1.PD.slope|same largest slope, L = 4, d = 5, n = 1e12, sigma = 0.5|.2f>) times the best window parameter $w$,
# that is, a narrower window. If the noise is large, or if examples lie too far apart to show a wave, equal or nearly equal
# weights are best. With little noise and few examples, weights on a few tokens are best.
#
# <details><summary>How sure?</summary>
#
# - The law with curvature is proved, as a case of [the law of the window](theorem2_scaling.ipynb#thm-law), and
#   [a card](judged:P1.PD.smooth-law) compares it with exact best windows. For a single function such a law is known, also on spheres
#   and manifolds ([Hall et al., 1987](cite:hall1987); [Pelletier, 2006](cite:pelletier2006);
#   [Di Marzio et al., 2014](cite:dimarzio2014)). New is the mean over a class of functions.
# - The number in the summary is for $d=5$, $n=10^{12}$ and $\sigma=0.5$. [The card](judged:P1.PD.slope) has other dimensions and
#   other measures of slope.
# - All windows of this page are exact and not sampled. Tokens are uniform on the unit sphere, functions have no preferred
#   direction, and the query does not attend to itself.
# - The paper's experiments have a cosine class whose formula we do not know. Ours is $f(x)=\cos(L\,u\cdot x)$ with $u$ uniform on the
#   sphere. We call its functions *waves*. The larger $L$ is, the shorter is their wavelength.
#
# </details>
#
# ## Why
#
# Look at the left panel. On a straight slope the values to the right of the query are as much too large as the values to the left
# are too small. So their mean is right. At a bend the values on both sides err in the same direction.
#
# On the sphere the Laplacian $\Delta f$ measures how much a function $f$ bends. Attention with a narrow [window](#term-window),
# of the [window parameter](#term-window-parameter) $w$, predicts about
#
# $$f+\frac1{2w}\,\Delta f.$$
#
# So without noise its mean squared error is about $\frac1{4w^2}\mathbb E(\Delta f)^2$. This error falls as $w$ grows, but the
# noise grows like $w^{(d-1)/2}/n$ in contexts of $n$ examples in $d$ dimensions (see [Theorem 2](theorem2_scaling.ipynb)). The
# best window parameter $w^*$ balances the two. As $n\to\infty$, with a fixed standard deviation $\sigma>0$ of the label noise,
#
# <a id="eq-laplacian"></a>
#
# $$w^*\sim\Big[\frac{n\,\mathbb E(\Delta f)^2}{(d-1)\,\kappa\,\sigma^2}\Big]^{\frac2{d+3}}.$$
#
# Here $\kappa$ depends on $d$ only. Where is the slope in this law? It enters only through the curvature. Affine functions that
# are twice as steep bend twice as much on the sphere.
#
# <details><summary>Three classes by hand</summary>
#
# A layer attends to about $n/(\kappa\,w^{(d-1)/2})$ tokens. Let $\sum_\ell a_\ell P_\ell$ be the [covariance](#term-covariance)
# of a class in [Gegenbauer polynomials](#term-gegenbauer-polynomials). Then
# $\mathbb E(\Delta f)^2=\sum_\ell a_\ell\,(\ell(\ell+d-2))^2$.
#
# - *Affine functions.* Let $b$ be the intercept. On the sphere $\Delta f=-(d-1)(f-b)$, so that
#   $\mathbb E(\Delta f)^2=\frac{L^2(d-1)^2}{3d}$, and [the law](#eq-laplacian) gives the affine law
#   in [the chapter on Theorem 2](theorem2_scaling.ipynb).
# - *Waves*, $\cos(L\,u\cdot x)$. For large $L$ the Laplacian of a wave is of order $L^2$, so that the best $w$ depends on
#   $nL^4/\sigma^2$.
# - *ReLU functions.* The sum diverges because of the kink, and they are the case $\rho=3$ of the law of the window.
#
# </details>
#
# ## The experiment
#
# Give waves and linear functions the same largest slope on the sphere. Which of them wants the narrower window, that is, the
# larger $w$? The cell computes the best $w$ of both for contexts of several lengths. To try seven dimensions, change the line
# `dim = 5`.

# %% tags=["experiment"]
import numpy as np
import pandas as pd

from icl.risk import optimal_window
from icl.tasks import Cosine, Linear

dim = 5  # or 7, for example
L = 4.0
t = np.linspace(-1, 1, 100_001)  # the wave is cos(L t)
steepest = np.max(L * np.abs(np.sin(L * t)) * np.sqrt(1 - t**2))
windows = []
for n in (1e2, 1e4, 1e6, 1e8, 1e12):
    waves = optimal_window(Cosine(dim, L), n, noise_std=0.5).w
    lines = optimal_window(Linear(dim, steepest), n, noise_std=0.5).w
    ratio = waves / lines
    windows.append({"n": n, "best w, waves": waves, "linear": lines, "ratio": ratio})
pd.DataFrame(windows).astype(float).round(3)

# %% [markdown]
# In long contexts waves want the narrower window, because they bend more. In seven dimensions the ratio is nearer to one, and in
# the shortest context even below one.
#
# **Exercise 1.** Take $f(x)=\cos(L\,u\cdot x)/L$. Its largest *slope* stays near one for large $L$. How does $w^*$ grow with $L$ in
# long contexts?
#
# <details><summary>Solution</summary>
#
# For large $L$ the mean squared Laplacian $\mathbb E(\Delta f)^2$ is proportional to $L^2$, so that
# $w^*\propto(nL^2/\sigma^2)^{2/(d+3)}$ by [the law](#eq-laplacian). Thus $w^*$ grows with the
# wavenumber $L$, although the largest slope stays near one.
#
# </details>
#
# **Exercise 2.** Does the law hold for the smooth steps $f(x)=\frac24\tanh(4\,q\cdot x)$? Compare the exact $w$ at $n=10^4$ and
# $10^{12}$ with the law, `asymptotics.sharp_window`.
#
# <details><summary>Solution</summary>
#
# ```python
# from icl.risk import asymptotics
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
# ## A map of the best window
#
# The law is for long contexts. What is best elsewhere? There are three kinds of weights.
#
# - **Equal weights**, $w^*=0$, are best for waves that are much weaker than the noise, and for waves that oscillate between
#   neighboring examples.
# - **A window** of many tokens is best in between. It narrows as contexts get longer, functions get rougher or labels get
#   cleaner.
# - **Few tokens.** With almost no noise the best window contains a handful of examples. Then only a longer context narrows it
#   further.
#
# The next figure is a map of these kinds. For ReLU functions with the Lipschitz constant $L$ its *roughness* is $L/\sigma$. For
# waves $\cos(L\,u\cdot x)$ it is the wavenumber $L$, at a fixed noise.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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

# %% figure={"alt": "Three maps with three regions. For ReLU functions few tokens are best in a block at strong signals and short contexts, and the rest of the map is the window region. For cosines, equal weights are best to the left of a slanted boundary, where contexts are too short for the wavelength. Equal weights are also best where the waves are too weak. To the right of the boundary follows a band of few tokens, then a window that narrows to the right. Dots of the power law fill a part of the window regions in long contexts.", "name": "fig-phases"} jupyter={"source_hidden": true} tags=["hide-input"]
names = {"equal weights": "#e4e4e4", "a window": "#7fb8e6", "few tokens": "#eda04b"}
shades = ListedColormap(list(names.values()))
titles = phases.title.unique()
figure, axes = plt.subplots(1, len(titles), figsize=(7.6, 3.4))
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
    ax.clabel(lines, fmt=lambda k: f"{10**k:.0f}", fontsize=11.5, inline_spacing=1)
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
# **Which kind of weights is best.** Equal weights (gray), a window (blue) or few tokens (orange), for each context length and
# roughness. Numbered lines join settings of equal $w^*$. *Few tokens* means that the best layer attends to fewer than five tokens
# and to less than half of the context. *A window* means every other setting with $w^*>0$. Dots mark settings at which $w^*$ differs
# from [the law of the window](theorem2_scaling.ipynb#thm-law) by less than 20 %. Left: [ReLU functions](#term-class). Middle and
# right: waves at $\sigma=0.1$.
#
# **Where does the law hold?** The law holds at the dots, which fill only a part of the blue region.
#
# <details><summary>How long a context must be for the law</summary>
#
# The number of tokens that a layer with attention weights $\omega_i$ attends to is in the map $1/\mathbb E\sum_i\omega_i^2$,
# which is $n$ for equal weights.
#
# A few dots lie in the orange region. There the ratio of $w^*$ to the law passes through one on its way up: in longer contexts
# the ratio exceeds one, and then it tends to one from above.
#
# The bounds leave out constant factors, so that some dots lie outside them.
#
# *ReLU functions.* The law is accurate if $n$ is well above both $(L/\sigma)^d$ and $(\sigma/L)^2$. The chapter on
# [Theorem 2](theorem2_scaling.ipynb) explains the first bound, which excludes the upper part of the left map.
# The second, above which the $w$ of the law is large, excludes the lower left corner.
#
# *Waves with $L\ge1$.* The law gives a $w^*$ of the order of $(nL^4/\sigma^2)^{2/(d+3)}$, by
# [the law with curvature](#eq-laplacian). It is accurate if two conditions hold. The window must be narrower
# than a wavelength, which means $w^*\gg L^2$ and holds if $n\gg L^{d-1}\sigma^2$. And the labels in a window, which
# differ even without noise, must differ by less than $\sigma$, which means $w^*\gg(L/\sigma)^2$ and holds if
# $n\gg L^{d-1}/\sigma^{d+1}$. At $\sigma=0.1$ the second condition is the stronger one.
#
# </details>
#
# **Exercise 3.** Draw the map of ReLU functions for $d=7$. To do so, write `dims = [7]` as the first line of the folded cell of the
# map. What happens to the lines of equal $w$?
#
# <details><summary>Solution</summary>
#
# The lines of equal $w$ lie farther apart. The reason is that $w^*$ grows like $n^{2/(d+2)}$ for ReLU functions. This exponent is
# smaller at $d=7$ than at $d=5$, so that a longer context is needed to narrow the window by the same factor.
#
# </details>
#
# ### Waves too fast for the context
#
# A window helps with a wave only if neighboring tokens lie closer together than a wavelength. For this the context needs about
# $L^{d-1}$ tokens, because the sphere has dimension $d-1$. Here is one wave in three contexts:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
resolved = []
for n in (16, 64, 1024):
    best = optimal_window(Cosine(dim=3, lipschitz=8.0), n, noise_std=0.1)
    resolved.append({"n": n, "best w": best.w, "mean squared error": best.risk})
pd.DataFrame(resolved).astype(float).round(4).style.format("{:g}").hide()

# %% [markdown]
# In the shortest context equal weights are best. The labels near the query then say hardly anything about the value at the query,
# so that the mean of all labels is the better guess. In longer contexts a window about a wavelength wide becomes better, and
# $w^*$ **jumps** to this window.
#
# <details><summary>A very fast wave, by hand</summary>
#
# Suppose that there is no noise, and that the values of the function at different points are uncorrelated, with mean $0$ and mean
# square $\frac12$. A prediction with weights $\omega_i$ that sum to one then has the mean squared error
# $\frac12(1+\sum_i\omega_i^2)$. The nearest neighbor, which puts the weight $1$ on one token, has the error $1$. Equal weights
# $\omega_i=\frac1n$ have the error $\frac12(1+\frac1n)$, which is $\frac{21}{40}$ for $n=20$.
#
# Where $w^*$ jumps, the error as a function of $w$ has two minima. At one of them the weights are equal or nearly equal, and at
# the other the window is about a wavelength wide.
#
# </details>
#
# ## What the paper says
#
# The slides of paper 1 say what the best window is in three extreme examples, a good test of one's intuition:
#
# > - $\sigma\to\infty$: no signal, average the noise, $w_{KQ}\to0$.
# > - $L\gg\sigma$: no point aggregating noise, pick the nearest neighbour,
# >   $w_{KQ}\to\infty$.
# > - $n\to\infty$: the query token is in the context! Choose the nearest neighbour,
# >   $w_{KQ}\to\infty$.
#
# Here $w_{KQ}$ is our $w$. The next figure shows the first two examples for affine and ReLU functions at fixed $n$.

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
# **Much noise and much signal.** The exact best $w$ against $L/\sigma$ at fixed $n$, for $d=5$. Where noise dominates (left), the
# best $w$ is proportional to $(L/\sigma)^2$. Where the signal dominates (right), the best $w$ levels off at its value without noise
# (dotted).
#
# **Much noise.** The limit $w_{KQ}\to0$ is true.[✓](judged:P1.T2.noise-limit) For waves $w^*$ is even exactly zero if $\sigma$ is
# large enough.

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
# **A strong signal.** In contexts so long that the law applies, the window narrows as $L/\sigma$ grows. At a fixed $n$ it stops
# narrowing. Even without noise the best window has a positive width, and a smaller error than the nearest neighbor. Why? Tokens
# lie at random places, and the mean of several labels depends on these places less than a single label does.

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
# **Long contexts.** It is true that $w^*\to\infty$, and that the tokens in the window come arbitrarily close to the
# query.[✓](judged:P1.T2.context-limit) But the nearest neighbor alone is not best, because its label keeps all its noise. The
# number of tokens in the window grows as well, so that the mean of their labels has little noise.

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
# **Exercise 4.** Take a linear function on a line, without noise. One example lies at the distance $s$ to the left of the query,
# and another at the distance $t$ to the right. How large is the absolute error of the nearest neighbor? Which weights give no
# error?
#
# <details><summary>Solution</summary>
#
# The absolute error is the absolute slope times $\min(s,t)$. The weight $\frac t{s+t}$ on the left example and the
# weight $\frac s{s+t}$ on the right one give no error.
#
# </details>
#
# ## For specialists
#
# ### The law with curvature, tested
#
# The next card divides the exact $w^*$ by [the law](#eq-laplacian) at the context length at which the law gives $w=10^5$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P1.PD.smooth-law",
    phase_diagram.smooth_windows_over_law(dims=dims, noise_std=noise_std),
    error="error",
    name="{name}",
)

# %% [markdown]
# ### Which slope?
#
# Waves $\cos(4\,u\cdot x)$ have a larger best $w$ than linear functions of equal slope. This is so for four measures of slope: the
# constant $L$, the slope in $\mathbb R^d$, the largest slope on the sphere, and the mean squared gradient on the sphere. At equal
# $L$ we compare with affine functions, whose slopes are uniform on $[-L,L]$. The table has the best $w$ of waves divided by that of
# linear functions, in dimensions $d=2$, $3$ and $5$, at $n=10^{12}$ and $\sigma=0.5$.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
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
waves_over_lines.pivot(index="dim", columns="equal", values="value").round(3)

# %% [markdown]
# In long contexts, linear functions have the smallest best $w$ among smooth classes with the same mean squared
# gradient. This follows from
#
# $$\mathbb E(\Delta f)^2=\sum_\ell a_\ell(\ell(\ell+d-2))^2\ge(d-1)\sum_\ell a_\ell\,\ell(\ell+d-2),$$
#
# with equality for linear functions. The right side is $d-1$ times the mean squared gradient.
#
# Divide the best $w$ for waves of a fixed wavenumber by the best $w$ for linear functions. By [the law](#eq-laplacian) this
# quotient tends to $r^{2/(d+3)}$ as $n\to\infty$, where $r$ is the ratio of the two mean squared Laplacians. As $d$ grows,
# $|\log r|$ is at most of the order of $\log d$, so that $r^{2/(d+3)}$ tends to one. The next table has the limit $r^{2/(d+3)}$ for
# several $d$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
all_dims = [5, 10, 20, 50, 100]
ratios = phase_diagram.limits_of_waves_over_linear(dims=all_dims)
ratios.pivot(index="dim", columns="equal", values="value").round(3)

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
# ### Beyond the Lipschitz constant
#
# A machine-written summary of the paper says that attention "does not adapt much beyond Lipschitzness". Is this so? Take affine,
# ReLU and cosine functions with $L=1$, in two, three and five dimensions, with 20 or 100 examples: their best $w$ agree within a factor of
# 1.5. In eight dimensions with 20 examples they differ much, because so few tokens hardly resolve the waves. Long contexts are an
# exception, too. Divide the waves $\cos(b\,u\cdot x)$ by their largest slope. For large $b$ their best $w$ is proportional to
# $b^{4/(d+3)}$, so that the window narrows as $b$ grows although the largest slope stays the same.

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

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
