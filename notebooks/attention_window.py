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

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

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
import pandas as pd
import torch

from icl.attention import softmax_attention, softmax_weights
from icl.risk import linear_optimum, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Cosine, ReLU
from icl_book import notebook, plots
from icl_book.claims import cases, judge
from icl_book.interactive import interactive
from icl_book.measurements import attention_window

# statsmodels, about random numbers that are not used here
warnings.filterwarnings("ignore", category=FutureWarning)

notebook.setup(globals())

# %% [markdown]
# ## In plain words
#
# Attention predicts with a weighted mean of labels; examples near the query count most. The region that counts is
# the {term}`window`, about $w^{-1/2}$ wide; $w$ is its {term}`window parameter`. **Large $w$, narrow window:**
#
# - few labels are averaged, so noise stays; all of them come from close by, so little is smeared;
# - the faster the functions change, the narrower the window should be (larger $w$);
# - the noisier the labels, the wider it should be (smaller $w$).

# %% tags=["hide-input"]
shown = np.deg2rad([200, 75, -20, 130, 12])
on_circle = attention_window.on_circle(shown)
at_zero = attention_window.on_circle([0.0])[0]
shares = softmax_weights(on_circle, at_zero, 2 * torch.eye(2).double()).numpy()
blue = plots.COLORS["softmax"]
figure, (ring, prompt) = plt.subplots(1, 2, figsize=(7.6, 3.0), width_ratios=[1.3, 3])
ring.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.6"))
ring.scatter(*on_circle.T, s=900 * shares, alpha=0.5, color=blue)
for i, (x, y) in enumerate(1.3 * on_circle.numpy(), start=1):
    ring.text(x, y, f"$x_{i}$", ha="center", va="center", fontsize=13)
ring.plot(1, 0, "k*", markersize=11)
ring.text(0.66, 0, "$x_q$", ha="center", va="center", fontsize=13)
ring.set_aspect("equal")
ring.axis("off")
ring.axis((-1.5, 1.6, -1.5, 1.5))
box = {"boxstyle": "round,pad=0.4", "facecolor": "none", "edgecolor": "0.5"}
text = {"ha": "center", "va": "center", "fontsize": 13}
target = (2, -1)
for i, share in enumerate(shares):
    prompt.text(i, 1, f"$x_{i + 1}$\n$y_{i + 1}$", bbox=box, **text)
    arrow = {"arrowstyle": "-|>", "color": blue, "linewidth": 0.5 + 9 * share}
    arrow |= {"shrinkA": 26, "shrinkB": 22}
    prompt.annotate("", target, (i, 1), arrowprops=arrow)
    prompt.text(i, 1.62, f"{100 * share:.0f} %", color=blue, **text)
prompt.text(*target, "prediction of $y_q$", bbox=box, **text)
prompt.text(5, 1, "$x_q$\n?", bbox=box, **text)
prompt.axis("off")
prompt.axis((-0.6, 5.6, -1.4, 1.9))
plt.show()

# %% [markdown]
# ```{caption} fig-prompt
# :alt: Left, five numbered points on a circle and a star; the disc of a point is larger the nearer it is to the star. Right,
# five boxes, each an example with its label, with arrows to one box, the prediction. The thickest arrows come from the
# examples nearest to the star.
#
# How attention answers. Left: five labeled examples on the circle $d=2$ and a {term}`query` (star); the area of a disc is the
# attention weight of its example at $w=2$. Right: the prompt. The prediction is the mean of the labels with these weights
# (percentages, thickness of the arrows), whatever the order of the examples.
# ```
#
# ## The experiment: attention is kernel regression
#
# We draw contexts and compute the weights twice: as the softmax of the scores $w\,x_i\cdot x_q$, and as a Gaussian kernel of
# the distance to the query. On the sphere they are the same numbers. Tokens with a normal law are not on a sphere, and
# there the two differ.

# %%
rows = []
for tokens in ("sphere", "normal"):
    for dim in dims:
        for draw in range(draws):
            rng = stream(seed, "monte carlo", draw)
            # the last of n + 1 points is the query
            x = torch.from_numpy(rng.standard_normal((context_length + 1, dim)))
            if tokens == "sphere":
                x = x / x.norm(dim=-1, keepdim=True)
            distance = (x[:-1] - x[-1]).norm(dim=-1)
            for w in (1.0, 4.0, 16.0):
                attention = torch.softmax(w * x[:-1] @ x[-1], dim=0)
                kernel = torch.exp(-w / 2 * distance**2)
                context = {"tokens": tokens, "dim": dim, "draw": draw, "w": w}
                columns = {
                    "distance": distance,
                    "attention": attention,
                    "kernel": kernel / kernel.sum(),
                }
                rows.append(pd.DataFrame(context | columns))
weights = pd.concat(rows, ignore_index=True)
weights["gap"] = (weights.attention - weights.kernel).abs()

# %%
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.8), sharey=True)
for ax, tokens in zip(axes, ("sphere", "normal"), strict=True):
    context = weights[(weights.tokens == tokens) & (weights.dim == dim)]
    for w, part in context[context.draw == 0].groupby("w"):
        part = part.sort_values("distance")
        (line,) = ax.plot(part.distance, part.kernel, label=f"w = {w:g}")
        ax.plot(part.distance, part.attention, "o", mfc="none", c=line.get_color())
    ax.set(title=f"{tokens}, d = {dim}", xlabel="distance to the query")
axes[0].set(yscale="log", ylim=(1e-6, 1.5), ylabel="weight of an example")
axes[0].legend()
plt.show()

# %% [markdown]
# ```{caption} fig-kernel
# :alt: Weight against distance to the query, two panels. On the sphere the points lie on three falling curves, steeper for
# larger w. With normal tokens the points are scattered away from the curves.
#
# The weights of one drawn context: softmax attention (points) and the Gaussian kernel $e^{-\frac w2\|x-x_q\|^2}$ (lines), in
# the highest dimension of the list. Left: tokens on the sphere, where a larger $w$ is a narrower kernel. Right: tokens with a
# normal law, where long examples win.
# ```
#
# This takes about a second on two cores. Expect a largest gap of rounding size on the sphere,
# {judged}`P1.W.kernel | d = 5 | .0e` at $d=5$, and a large one off it.

# %% tags=["remove-input"]
gaps = weights.groupby(["tokens", "dim"], as_index=False).gap.max()
on_sphere = gaps.loc[gaps.tokens == "sphere", ["dim", "gap"]]
off_sphere = gaps.loc[gaps.tokens == "normal", ["dim", "gap"]]
judge(
    "P1.W.kernel",
    cases(on_sphere, "gap", name="d = {dim}"),
    cases(off_sphere, "gap", name="d = {dim}, normal tokens"),
    folded=True,
)

# %% [markdown]
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
x = attention_window.on_circle(np.deg2rad([0.0, 60.0]))
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
curves, points = attention_window.circle_to_move()
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
    log=False,
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
# ## The kernel, further
#
# On the sphere a nearer example never weighs less than a farther one. Off the sphere it may.

# %% tags=["remove-input"]
by_distance = attention_window.weights_by_distance(weights)
grouped = by_distance[by_distance.w == 4].groupby(["tokens", "dim"], as_index=False)
disorder = grouped.disorder.mean()
in_order = disorder.loc[disorder.tokens == "sphere", ["dim", "disorder"]]
out_of_order = disorder.loc[disorder.tokens == "normal", ["dim", "disorder"]]
judge(
    "P1.W.closer",
    cases(in_order, "disorder", name="d = {dim}"),
    cases(out_of_order, "disorder", name="d = {dim}, normal tokens"),
    folded=True,
)

# %% [markdown]
# The coefficient of $\|x_i-x_q\|^2$ in $-\log\omega_i$, in units of $w$, is one half:

# %% tags=["remove-input"]
coefficients = (
    by_distance[by_distance.tokens == "sphere"]
    .pivot_table(values="coefficient", index="dim", columns="w")
    .reset_index()
)
judge(
    "P1.W.appendix-kernel",
    pd.DataFrame({"dim": coefficients.dim, "coefficient": coefficients[4.0] / 4.0}),
    value="coefficient",
    name="d = {dim}",
)

# %% [markdown]
# Four libraries predict the same: statsmodels (kernel regression), scikit-learn (nearest neighbors with Gaussian weights),
# SciPy (von Mises-Fisher density) and PyTorch (fused attention).

# %% tags=["remove-input"]
judge(
    "P1.W.nadaraya-watson",
    attention_window.gaps_to_libraries(
        dims=dims, n=context_length, draws=draws, noise_std=noise_std, seed=seed
    ),
    value="gap",
    name="{library}, d = {dim}",
    folded=True,
)

# %% [markdown]
# ## The table, measured
#
# For each $w$: the distance at which the weight has fallen to half of its largest possible value, the number of points
# attended to, $1/\mathbb E\sum_i\omega_i^2$, and the two parts of the {term}`population risk`. All are exact.

# %%
task = ReLU(dim)
rows = []
for w in (0.3, 1, 3, 10, 30, 100, 1000):
    risk = population_risk(task, w, context_length, noise_std)
    # the mean sum of squared weights is the noise term at sigma = 1
    squares = population_risk(task, w, context_length, noise_std=1.0).noise
    rows.append(
        {
            "w": w,
            "half": np.sqrt(2 * np.log(2) / w),
            "points": 1 / float(squares),
            "bias": float(risk.bias),
            "noise": float(risk.noise),
            "risk": float(risk.total),
        }
    )
parts = pd.DataFrame(rows)
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
    f"ReLU class, L = 1, d = {dim}, n = {context_length}, sigma = {noise_std:g}. "
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

# %% tags=["remove-input"]
judge(
    "P1.W.table-decay",
    pd.DataFrame(
        {"dim": coefficients.dim, "ratio": coefficients[4.0] / coefficients[1.0]}
    ),
    value="ratio",
    name="d = {dim}, w = 4 over w = 1",
    folded=True,
)

# %% tags=["remove-input"]
judge(
    "P1.W.concentrate",
    attention_window.concentration(dims=dims, n_values=[3, 20]),
    value="slope",
    error="error",
    name="d = {dim}, n = {n}",
    folded=True,
)

# %% [markdown]
# **Second and fourth row.** Let $E_w$ be the mean with weights $\omega_i$. For any examples
# $\frac d{dw}\log\sum_i\omega_i^2=2(E_{2w}[t]-E_w[t])\ge0$ with $t_i=x_i\cdot x_q$, because $E_w[t]$ grows with $w$: its
# derivative is the variance of $t$ under the weights.

# %% tags=["remove-input"]
judge(
    "P1.W.table-noise",
    attention_window.noise_slopes(dims=dims, n=context_length),
    value="slope",
    error="error",
    name=f"d = {{dim}}, n = {context_length}",
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

# %% tags=["remove-input"]
means = attention_window.bias_slopes(
    tasks=["affine", "ReLU", "cosine"], dims=dims, n=context_length
)
squares = attention_window.squared_bias_slopes(
    tasks=["affine", "ReLU"], dims=dims, n=context_length
)
template = "{task}, d = {dim}, from ${low:g}\\,w_0$ to ${high:g}\\,w_0$"
judge(
    "P1.W.table-bias",
    cases(means, "slope", error="error", name="{task}, d = {dim}, w = 0.1 to 100"),
    readings={
        "squared-first": cases(squares, "slope", error="error", name=template),
    },
)

# %% [markdown]
# ## Fig. 1, redrawn with exact curves
#
# The paper's Fig. 1 shows functions of different Lipschitz constants with their windows, the weights of softmax and linear
# attention, and the "ICL error with varying number of context tokens". Its functions are not printed; ours are cosines.

# %% tags=["hide-input"]
around = np.linspace(-np.pi, np.pi, 400)
blue = plots.COLORS["softmax"]
purple = plots.COLORS["linear attention"]
figure, axes = plt.subplots(3, len(lipschitz_values), figsize=(7.6, 5.6), sharey="row")
for column, L in enumerate(lipschitz_values):
    top, middle, bottom = axes[:, column]
    task = Cosine(2, L)
    best = float(optimal_window(task, context_length, noise_std).w)
    f, angles, labels = attention_window.drawn_on_circle(
        task, context_length, noise_std, seed, step=column
    )
    weight = np.exp(best * (np.cos(around) - 1))
    top.axvspan(*around[weight > 0.5][[0, -1]], color=blue, alpha=0.2)
    plots.exact_curve(top, around, f, "function")
    top.plot(angles, labels, ".", color="0.5", label="examples")
    top.set_title(f"L = {L:g}, best w = {best:.0f}")
    plots.exact_curve(middle, around, weight, "softmax", blue)
    plots.exact_curve(middle, around, np.cos(around), "linear", purple, ls=":")
    middle.set_xlabel("angle to the query")
    for other, color in plots.colors(lipschitz_values).items():
        w = optimal_window(Cosine(2, other), n_values, noise_std).w
        risk = population_risk(task, w, n_values, noise_std).total
        plots.exact_curve(bottom, n_values, risk, f"w of L = {other:g}", color)
    linear = linear_optimum(task, n_values, noise_std).risk
    plots.exact_curve(bottom, n_values, linear, "linear", purple, ls=":")
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

# %% tags=["remove-input"]
compared = {
    "n": context_length,
    "noise_std": noise_std,
    "low": min(lipschitz_values),
    "high": max(lipschitz_values),
}
on_ring = attention_window.narrowing(tasks=["cosine"], dims=[2], **compared)
on_spheres = attention_window.narrowing(tasks=["affine", "ReLU"], dims=dims, **compared)
setting = (
    f"{{task}}, d = {{dim}}, n = {context_length}, $\\sigma$ = {noise_std:g}, "
    f"L = {max(lipschitz_values):g} over {min(lipschitz_values):g}"
)
judge(
    "P1.W.softmax-adapts",
    pd.concat([on_ring, on_spheres]),
    value="ratio",
    error="error",
    name=setting,
    folded=True,
)

# %% [markdown]
# **Rapid and slow, noisy and quiet.** The abstract says that the window "widens with decreasing Lipschitzness and increasing
# label noise". The best $w$ minimizes $B+\sigma^2N$, and $N$ rises with $w$: the window of no class narrows when the noise
# grows. Affine and ReLU functions are proportional to $L$, so that only $L/\sigma$ matters, and the same argument narrows the
# window with $L$ at every context length. A larger $L$ of our cosines is a shorter wavelength, not a larger amplitude. Where
# a context is too short for the wavelength the best $w$ is zero ([phase diagram](/notebooks/phase_diagram.ipynb)).

# %% tags=["remove-input"]
setting = {"dims": dims, "n": context_length, "noise_std": noise_std or 1.0}
template = f"{{task}}, d = {{dim}}, n = {context_length}"
slopes = attention_window.slopes_in_lipschitz(tasks=["affine", "ReLU"], **setting)
of_waves = attention_window.slopes_in_lipschitz(tasks=["cosine"], **setting)
judge(
    "P1.W.rapid",
    cases(slopes, "slope", error="error", name=template),
    readings={"cosines": cases(of_waves, "slope", error="error", name=template)},
)

# %% tags=["remove-input"]
judge(
    "P1.W.noisy",
    attention_window.slopes_in_noise(
        tasks=["affine", "ReLU"], dims=dims, n=context_length
    ),
    value="slope",
    error="error",
    name=template,
    folded=True,
)

# %% [markdown]
# **Exercise 3.** In the experiment at the top, change one line so that the softmax equals the kernel for normal tokens as
# well. (The squared length of an example must not count.)
#
# ```{admonition} Solution
# :class: dropdown
# Subtract half of it from the score: `attention = torch.softmax(w * (x[:-1] @ x[-1] - (x[:-1] ** 2).sum(dim=-1) / 2), dim=0)`.
# Then the exponent is $-\frac w2\|x_i-x_q\|^2$ up to a constant, and every gap is rounding.
# ```
#
# **Exercise 4.** In the right column of {numref}`fig-one` the best $w$ for $L=1$ gives less risk in longer contexts. Why, if
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
