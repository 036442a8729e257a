# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The attention window
#
# **Short answer.** On the sphere softmax attention with $M=wI$ is kernel regression with the kernel
# $e^{-\frac w2\|x-x_q\|^2}$ {judged}`P1.W.kernel`: its one number $w$ sets how far around the query it looks. The best window
# widens with the noise {judged}`P1.W.noisy`, and narrows with $L$ where the context resolves the functions: for cosines on
# the circle ($d=2$, $n=40$, $\sigma=0.2$) it is
# {judged}`P1.W.softmax-adapts | cosine, d = 2, n = 40, $\sigma$ = 0.2, L = 8 over 1 | .2f` times as wide at $L=8$ as at
# $L=1$. The slides' table of what a large $M$ does is right in all four rows, that of the bias if the mean over tokens is
# taken before the square {judged}`P1.W.table-bias`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
lipschitz_values = [1.0, 4.0, 8.0]  # Lipschitz constants L of the figure's columns
context_length = 40  # examples n in a context
n_values = [20, 40, 80, 160, 320, 640]  # context lengths of the error curves
noise_std = 0.2  # standard deviation sigma of the label noise
dims = [2, 3, 5]  # dimensions d of the claims
draws = 20  # contexts drawn for each check of the weights
seed = 0  # root of the random streams

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch

from icl.attention import softmax_attention, softmax_weights
from icl.risk import linear_optimum, optimal_window
from icl.tasks import Cosine, ReLU
from icl_book import notebook, plots
from icl_book.claims import LIMIT, cases, judge, other_readings
from icl_book.interactive import interactive
from icl_book.measurements import kernel
from icl_book.measurements.tables import each

# statsmodels, about random numbers that are not used here
warnings.filterwarnings("ignore", category=FutureWarning)

notebook.setup(globals())

# %% tags=["hide-input"]
_, angles, _ = kernel.drawn_on_circle(Cosine(2), 12, noise_std, seed, 9)
on_circle, at_zero = kernel.on_circle(angles), kernel.on_circle([0.0])[0]
weights = softmax_weights(on_circle, at_zero, 6 * torch.eye(2).double())
figure, (prompt, ring) = plt.subplots(1, 2, figsize=(7.6, 2.5), width_ratios=[3, 1.3])
box = {"boxstyle": "round,pad=0.4", "facecolor": "none", "edgecolor": "0.5"}
blocks = ["$x_1$\n$y_1$", "$x_2$\n$y_2$", "...", "$x_n$\n$y_n$", "$x_q$\n?"]
for i, text in enumerate(blocks):
    prompt.text(i, 0, text, ha="center", va="center", fontsize=13, bbox=box)
words = {(1.5, 0.65): "n labeled examples", (4, 0.65): "query"}
for place, text in (words | {(2, -0.9): "prediction: weighted mean of labels"}).items():
    prompt.text(*place, text, ha="center", fontsize=10)
ring.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.6"))
ring.plot(*on_circle.T, ".", color="0.5", markersize=4)
ring.scatter(*on_circle.T, s=900 * weights, alpha=0.7, color=plots.COLORS["softmax"])
ring.plot(1, 0, "k*", markersize=11)
ring.set_aspect("equal")
for ax, limits in ((prompt, (-0.6, 4.6, -1, 0.9)), (ring, (-1.3, 1.5, -1.3, 1.3))):
    ax.axis("off")
    ax.axis(limits)
plt.show()

# %% [markdown]
# ```{caption} fig-prompt
# :alt: Left, a row of boxes: examples x 1 with label y 1 to x n with label y n, then the query with a question mark. Right,
# points on a circle, large near a star and small far from it.
#
# Left: a prompt, $n$ labeled examples and a {term}`query`. Right: twelve examples on the circle $d=2$; the area of each is its
# attention weight for the query (star) at $w=6$.
# ```
#
# ## In plain words
#
# Attention predicts with a weighted mean of labels; examples near the query count most. The region that counts is
# the {term}`window`, about $w^{-1/2}$ wide; $w$ is its {term}`window parameter`. **Large $w$, narrow window:**
#
# - few labels are averaged, so noise stays; all of them come from close by, so little is smeared;
# - the faster the functions change, the narrower the window should be (larger $w$);
# - the noisier the labels, the wider it should be (smaller $w$).
#
# ## As printed, and what is true
#
# The slides rewrite the attention that the query $x_{n+1}$ pays to $x_i$ as
#
# $$\frac{e^{-\frac{w_{KQ}}2\|x_i-x_{n+1}\|^2}}
#   {\sum_{j=1}^ne^{-\frac{w_{KQ}}2\|x_j-x_{n+1}\|^2}}$$ (eq-kernel)
#
# and add a table of what the size of $M$ does:
#
# | tradeoff | $M$ large | $M$ small |
# |:--|:--|:--|
# | attention decays | quickly with distance | slowly with distance |
# | number of points that are attended to | fewer | more |
# | estimator bias | low | high |
# | noise variance | high | low |
#
# ```{admonition} What is true
# :class: tip
# {eq}`eq-kernel` is exact for unit vectors. The authors' rebuttal, the appendix and the slides' proof sketch write
# $e^{-w\|x-y\|^2}$ for $e^{x^\top My}$ with $M=wI$. If both letters are one number, a factor is missing; if the kernel's $w$
# takes up constants, nothing is missing. The table is right, its third row for the bias of the estimator.
# ```
#
# ## By hand
#
# On the unit circle, an example at $60°$ from the query has $x\cdot x_q=\frac12$ and $\|x-x_q\|^2=1$. One at $0°$ has $1$
# and $0$. The softmax gives them weights in the ratio $e^{w}:e^{w/2}$, the kernel {eq}`eq-kernel` in the ratio
# $1:e^{-w/2}$, which is the same. With $w=\ln 4$ that is $2:1$. The kernel $e^{-w\|x-x_q\|^2}$ would give $4:1$.

# %%
x = kernel.on_circle(np.deg2rad([0.0, 60.0]))
M = np.log(4) * torch.eye(2).double()
print(softmax_weights(x, x[0], M))
print(softmax_attention(x, torch.tensor([3.0, 0.0]).double(), x[0], M))

# %% [markdown]
# In general $\|x-x_q\|^2=2-2\,x\cdot x_q$, so $e^{w\,x\cdot x_q}=e^{w}e^{-\frac w2\|x-x_q\|^2}$, and $e^w$ cancels in the
# softmax. On the sphere $e^{w\,x\cdot x_q}$ is the {term}`von Mises-Fisher density` of $x$, up to a factor. Attention is
# Nadaraya-Watson regression with this kernel.
#
# **Exercise 1.** Put the examples on a sphere of radius $r$. What becomes of the kernel, and what of the best $w$?
#
# ```{admonition} Solution
# :class: dropdown
# $\|x-x_q\|^2=2r^2-2\,x\cdot x_q$, so the kernel is the same function of the distance. Distances grow by $r$, and for
# functions of $x/r$ the best $w$ falls by $r^2$.
# ```
#
# A figure to move: attention on the circle.

# %% tags=["hide-input"]
curves, points = kernel.circle_tables()
three = {"prediction": "prediction", "target": "target", "best": "at the best w"}
sliders = {"query": "query, degrees", "w": "window parameter w", "L": "waves L"}
interactive(
    curves,
    x="angle",
    y=three,
    sliders=sliders,
    start={"query": 60, "w": 3.0, "L": 3},
    cursor="query",
    points=points,
    labels=("angle in degrees", "label"),
    log="",
    ylim=(-1.9, 1.9),
    experiment="Move w until the prediction is close to the one with the best w for "
    "this L. Then move L, and find it again. Then drag the query.",
    alt="Labels on the circle against their angle, discs that are large near the "
    "query; a wave, the prediction at every angle, and that with the best w.",
    caption="Area of a disc: its weight. Fixed: 40 examples and their noise, σ = 0.3.",
)

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | examples on the unit sphere | used by the kernel form; broken in two controls |
# | $M=wI$ | the form of the optimum for rotation-invariant classes, [](/notebooks/certificates.ipynb) |
# | functions of Fig. 1 | not printed; we take $f(x)=\cos(L\,u\cdot x)$ with random $u$ |
# ```
#
# ## Experiment 1: attention is kernel regression
#
# We draw contexts and compare the softmax weights with the kernel. In the control the examples have a normal law, so they
# are not on a sphere: then long examples win, and both statements must fail.

# %%
drawn = {"d": dims, "n": context_length, "draws": draws, "seed": seed}
here = each(kernel.weights, **drawn, w=4.0)
off = each(kernel.weights, **drawn, w=4.0, on_sphere=False)
judge(
    "P1.W.kernel",
    cases(here[["d", "gap"]], "gap", name="d = {d}"),
    cases(off[["d", "gap"]], "gap", name="d = {d}, normal tokens"),
    folded=True,
)

# %% tags=["hide-input"]
judge(
    "P1.W.closer",
    cases(here[["d", "disorder"]], "disorder", name="d = {d}"),
    cases(off[["d", "disorder"]], "disorder", name="d = {d}, normal tokens"),
    folded=True,
)

# %% [markdown]
# The coefficient of $\|x_i-x_q\|^2$ in $-\log\omega_i$, in units of $w$, is one half:

# %% tags=["hide-input"]
judge(
    "P1.W.appendix-kernel",
    here[["d", "coefficient"]],
    value="coefficient",
    name="d = {d}",
)

# %% [markdown]
# Four libraries predict the same: statsmodels (kernel regression), scikit-learn (nearest neighbors with Gaussian weights),
# SciPy (von Mises-Fisher density) and PyTorch (fused attention).

# %% tags=["hide-input"]
by_library = {"by": list(kernel.LIBRARIES), **drawn, "noise_std": noise_std}
judge(
    "P1.W.nadaraya-watson",
    each(kernel.gap_to_library, **by_library),
    value="gap",
    name="{by}, d = {d}",
    folded=True,
)

# %% [markdown]
# ## Experiment 2: the table, measured
#
# For each $w$: the distance at which the weight has fallen to half of its largest possible value, the number of points
# attended to, $1/\mathbb E\sum_i\omega_i^2$, and the two parts of the {term}`population risk`. All are exact.

# %%
d = max(dims)
parts = kernel.parts(ReLU(d), [0.3, 1, 3, 10, 30, 100, 1000], context_length, noise_std)
print(f"least risk in this list at w = {parts.w[parts.risk.idxmin()]:g}")

# %% tags=["hide-input"]
plots.table(
    parts,
    {
        "$w$": "{w:g}",
        "half-weight distance": "{half:.2f}",
        "points": "{points:.1f}",
        "bias": "{bias:.4f}",
        "noise": "{noise:.4f}",
        "risk": "{risk:.4f}",
    },
    f"ReLU class, L = 1, d = {d}, n = {context_length}, sigma = {noise_std:g}; exact. "
    "A distance of more than 2 does not occur.",
)

# %% [markdown]
# **Exercise 2.** At which $w$ of the table do bias and noise balance? Change `noise_std` and predict the answer.
#
# ```{admonition} Solution
# :class: dropdown
# Where the two columns are about equal. The noise column scales with $\sigma^2$, so the balance moves to smaller $w$ as
# $\sigma$ grows. At the minimum it is the *slopes* that balance, not the values.
# ```
#
# **First row.** The larger $w$, the faster $-\log\omega_i$ grows with the squared distance; as $w\to\infty$ one example has
# all the weight.

# %% tags=["hide-input"]
wide = each(kernel.weights, **drawn, w=1.0)
decay = here[["d"]].assign(ratio=here.coefficient * 4.0 / wide.coefficient)
judge(
    "P1.W.table-decay",
    decay,
    value="ratio",
    name="d = {d}, w = 4 over w = 1",
    folded=True,
)

# %% tags=["hide-input"]
judge(
    "P1.W.concentrate",
    each(kernel.concentration, d=dims, n=[3, 20]),
    name="d = {d}, n = {n}",
    folded=True,
    **LIMIT,
)

# %% [markdown]
# **Second and fourth row.** Let $E_w$ be the mean with weights $\omega_i$. For any examples
# $\frac d{dw}\log\sum_i\omega_i^2=2(E_{2w}[t]-E_w[t])\ge0$ with $t_i=x_i\cdot x_q$, because $E_w[t]$ grows with $w$: its
# derivative is the variance of $t$ under the weights.

# %% tags=["hide-input"]
judge(
    "P1.W.table-noise",
    each(kernel.noise_growth, d=dims, n=context_length),
    error="error",
    name=f"d = {{d}}, n = {context_length}",
    folded=True,
)

# %% [markdown]
# **Third row.** The *estimator's* bias takes the mean over examples first. For an affine function with slope $\ell$ it is
# $-\ell(1-m)\,q\cdot x_q$ with $m=\mathbb E\sum_i\omega_it_i$, which grows with $w$ since
# $\frac{dm}{dw}=\mathbb E\,{\rm Var}_\omega(t)\ge0$. For other classes this holds degree by degree, with
# $m_\ell=\mathbb E\sum_i\omega_iP_\ell(t_i)$ and {term}`Gegenbauer polynomials` $P_\ell$.
#
# The theory's $\mathcal L_{\rm bias}=\mathbb E(\sum_if(x_i)\omega_i-f(x_q))^2$, the column "bias" above, takes the square
# *before* the mean. It falls only up to the best $w$ without noise, $w_0$, where a few examples are left in the window. A
# narrower window makes the prediction depend on where those few happen to lie.

# %% tags=["hide-input"]
at = {"d": dims, "n": context_length}
bias = each(kernel.bias_slope, kind=list(kernel.KINDS), **at)
turns = each(kernel.bias_turns, kind=kernel.PROPORTIONAL, **at)
name = "{kind}, d = {d}, from ${low:g}\\,w_0$ to ${high:g}\\,w_0$"
squared_first = cases(turns, "slope", error="error", name=name)
(same_talk,) = other_readings("P1.W.table-bias")
judge(
    "P1.W.table-bias",
    bias,
    error="error",
    name="{kind}, d = {d}, w = 0.1 to 100",
    readings={same_talk: squared_first},
)

# %% tags=["hide-input"]
judge("P1.W.bias-turns", squared_first, folded=True)

# %% [markdown]
# ## Experiment 3: Fig. 1, redrawn with exact curves
#
# The paper's Fig. 1 shows functions of different Lipschitz constants with their windows, the weights of softmax and linear
# attention, and the "ICL error with varying number of context tokens". Its functions are not printed; ours are cosines.

# %% tags=["hide-input"]
around = np.linspace(-np.pi, np.pi, 400)
both = {"L": lipschitz_values, "window": lipschitz_values}
lengths = np.array(n_values)
risks = each(kernel.error_on_circle, **both, lengths=lengths, noise_std=noise_std)
errors = risks.set_index("L")
blue, purple = plots.COLORS["softmax"], plots.COLORS["linear attention"]
waves = {L: Cosine(2, L) for L in lipschitz_values}
best = {L: optimal_window(f, context_length, noise_std).w for L, f in waves.items()}
linear = {L: linear_optimum(f, n_values, noise_std).risk for L, f in waves.items()}
samples = {
    L: kernel.drawn_on_circle(f, context_length, noise_std, seed, step)
    for step, (L, f) in enumerate(waves.items())
}

# %% tags=["hide-input"]
figure, axes = plt.subplots(3, len(waves), figsize=(7.6, 5.6), sharey="row")
for L, (top, middle, bottom) in zip(waves, axes.T, strict=True):
    weight = np.exp(best[L] * (np.cos(around) - 1))
    top.axvspan(*around[weight > 0.5][[0, -1]], color=blue, alpha=0.2)
    plots.exact_curve(top, around, samples[L][0], "function")
    top.plot(*samples[L][1:], ".", color="0.5", label="examples")
    plots.exact_curve(middle, around, weight, "softmax", blue)
    plots.exact_curve(middle, around, np.cos(around), "linear", purple, ls=":")
    plots.lines(bottom, errors.loc[L], "n", "error", "window", label="w of L = {:g}")
    plots.exact_curve(bottom, n_values, linear[L], "linear", purple, ls=":")
    top.set_title(f"L = {L:g}, best w = {best[L]:.0f}")
    middle.set_xlabel("angle to the query")
    bottom.set(xscale="log", yscale="log", xlabel="context length n")
    bottom.set_xticks(n_values[::2], n_values[::2])
    bottom.tick_params(which="minor", labelbottom=False)
for ax, label in zip(axes[:, 0], ("label", "weight", "risk"), strict=True):
    ax.set_ylabel(label)
    ax.legend(fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-one
# :alt: Nine panels. From left to right the function wiggles faster and the shaded window around the query shrinks. The
# softmax weight becomes a narrower bump, the linear weight stays the same cosine. The adapted window has the lowest risk,
# the others lie above it, and linear attention does not improve with the context length.
#
# Cosines $\cos(L\,u\cdot x)$ on the circle, $\sigma=0.2$. Top: function, noisy examples, and the best window (shaded: weight
# above one half of the largest). Middle: weights in units of that at the query. Bottom: exact risk with the best $w$ of each
# column's $L$, and of the best linear attention.
# ```
#
# The top row shows one context each, drawn by this run; the other two rows are exact. The cosines are even, so the best
# [linear attention](/notebooks/linear_attention.ipynb) predicts zero and its risk does not move.

# %% tags=["hide-input"]
smooth, rough = min(lipschitz_values), max(lipschitz_values)
setting = (
    f"n = {context_length}, $\\sigma$ = {noise_std:g}, L = {rough:g} over {smooth:g}"
)
compared = {"n": context_length, "noise_std": noise_std, "low": smooth, "high": rough}
on_ring = each(kernel.narrowing, kind=["cosine"], d=[2], **compared)
on_spheres = each(kernel.narrowing, kind=kernel.PROPORTIONAL, d=dims, **compared)
judge(
    "P1.W.softmax-adapts",
    [
        cases(on_ring, error="error", labels=[], name=f"cosine, d = 2, {setting}"),
        cases(on_spheres, error="error", name=f"{{kind}}, d = {{d}}, {setting}"),
    ],
    folded=True,
)

# %% tags=["hide-input"]
waves_at = {"L": lipschitz_values, "noise_std": noise_std}
adapted_slopes = each(kernel.error_exponent, **waves_at)
kept_slopes = each(kernel.error_exponent, **waves_at, short=n_values[-1])
kept = f"L = {{L:g}}, window of n = {n_values[-1]}"
judge(
    "P1.W.context-error",
    cases(adapted_slopes, name="L = {L:g}", **LIMIT),
    cases(kept_slopes, name=kept, **LIMIT),
    folded=True,
)

# %% [markdown]
# **Rapid and slow, noisy and quiet.** The abstract says that the window "widens with decreasing Lipschitzness and increasing
# label noise". The best $w$ minimizes $B+\sigma^2N$, and $N$ rises with $w$: the window of no class narrows when the noise
# grows. Affine and ReLU functions are proportional to $L$, so that only $L/\sigma$ matters, and the same argument narrows the
# window with $L$ at every context length. A larger $L$ of our cosines is a shorter wavelength, not a larger amplitude. Where
# a context is too short for the wavelength the best $w$ is zero ([phase diagram](/notebooks/phase_diagram.ipynb)).

# %% tags=["hide-input"]
steep = {**at, "noise_std": noise_std or 1.0}
in_steepness = each(kernel.slope_in_lipschitz, kind=kernel.PROPORTIONAL, **steep)
in_waves = each(kernel.slope_in_lipschitz, kind=["cosine"], **steep)
slopes = {"error": "error", "name": f"{{kind}}, d = {{d}}, n = {context_length}"}
(also_cosines,) = other_readings("P1.W.rapid")
of_waves = {also_cosines: cases(in_waves, **slopes)}
judge("P1.W.rapid", cases(in_steepness, **slopes), readings=of_waves)

# %% tags=["hide-input"]
in_noise = each(kernel.slope_in_noise, kind=kernel.PROPORTIONAL, **at)
judge("P1.W.noisy", cases(in_noise, **slopes), folded=True)

# %% [markdown]
# **Exercise 3.** In the right column of {numref}`fig-one` the best $w$ for $L=1$ gives less risk in longer contexts. Why, if
# it is a window too wide for $L=8$?
#
# ```{admonition} Solution
# :class: dropdown
# It is the best $w$ for $L=1$ at *that* $n$, and it too grows with $n$. It reaches a width that suits $L=8$ at much longer
# contexts.
# ```
#
# ## To remember
#
# Softmax attention on the sphere is a kernel average with one number $w$. Large $w$ is a narrow window: less bias, more
# noise. The best $w$ grows with how fast the functions change, and falls with the noise.

# %% tags=["remove-input"]
notebook.footer()
