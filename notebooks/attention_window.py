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
# *A transformer reads a list of examples, each with its label, and then predicts the label of a new point. Which of the
# examples does one attention layer use, and how much does each of them count?*
#
# **Short answer.** It averages the labels, and the examples near the new point count most. On the sphere softmax attention
# with the matrix $M=wI$ is exactly kernel regression with the kernel $e^{-\frac w2\|x-x_q\|^2}$ {judged}`P1.W.kernel`, so a
# single number $w$ sets how far around the query the layer looks. The best window widens with the noise
# {judged}`P1.W.noisy`. It narrows with the Lipschitz constant $L$ where the context resolves the functions: for cosines on
# the circle ($d=2$, $n=40$, $\sigma=0.2$) it is
# {judged}`P1.W.softmax-adapts | cosine, d = 2, n = 40, $\sigma$ = 0.2, L = 8 over 1 | .2f` times as wide at $L=8$ as at
# $L=1$. The slides' table of what a large $M$ does is right in all four rows; the row on the bias needs the mean over
# tokens to be taken before the square {judged}`P1.W.table-bias`.

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
from matplotlib.patches import Wedge

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
# An attention layer gets a prompt: labeled examples $(x_1,y_1),\dots,(x_n,y_n)$ and a {term}`query` $x_q$ without a label. It
# predicts the query's label as a weighted mean of the labels, with the softmax of the scores $x_i^\top Mx_q$ as weights. The
# matrix $M$ is all that pretraining learns. For $M=wI$ the examples near the query count most. The region that counts is the {term}`window`, about $w^{-1/2}$ wide; $w$ is its {term}`window parameter`. **Large $w$, narrow window:**
#
# - few labels are averaged, so their noise stays; all of them come from close by, so the function is hardly smeared;
# - the faster the functions change, the narrower the window should be (larger $w$);
# - the noisier the labels are, the wider the window should be (smaller $w$).

# %% tags=["hide-input"]
shown = np.deg2rad([150, 62, 25, -32, -115])
labels = np.array([-1.5, 0.5, 2.0, 1.0, -0.5])
on_circle = attention_window.on_circle(shown)
query = attention_window.on_circle([0.0])[0]
w = 3.0
shares = softmax_weights(on_circle, query, w * torch.eye(2).double()).numpy()
prediction = shares @ labels

blue = plots.COLORS["softmax"]
middle = {"ha": "center", "va": "center"}
figure, (ring, prompt) = plt.subplots(1, 2, figsize=(7.6, 3.7), width_ratios=[1, 1.25])
# where the weight is above half of the largest: cos(angle) > 1 - log(2) / w
half = np.rad2deg(np.arccos(1 - np.log(2) / w))
ring.add_patch(Wedge((0, 0), 1.0, -half, half, color=blue, alpha=0.15, linewidth=0))
ring.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.6"))
ring.text(0.5, 0, "window", color=blue, fontsize=11, **middle)
for i, (x, y) in enumerate(on_circle.numpy(), start=1):
    share = shares[i - 1]
    ring.plot([1, x], [0, y], color=blue, alpha=0.5, linewidth=0.5 + 9 * share)
    ring.plot(x, y, "o", color=blue, markersize=5 + 26 * share**0.5)
    ring.text(1.3 * x, 1.3 * y, f"$x_{i}$", fontsize=14, **middle)
ring.plot(1, 0, "k*", markersize=16)
ring.text(1.3, 0, "$x_q$", fontsize=14, **middle)
ring.set_title("Which examples are near the query?")
ring.set_aspect("equal")
ring.axis((-1.55, 1.55, -1.75, 1.75))
ring.axis("off")

box = {"boxstyle": "round,pad=0.45", "facecolor": "none", "edgecolor": "0.5"}
rows = np.arange(5, 0, -1)
target = (3.3, 3.0)
for row, share, label in zip(rows, shares, labels, strict=True):
    name = f"$x_{6 - row}$,  $y_{6 - row} = {label:g}$"
    prompt.text(0, row, name, bbox=box, fontsize=12, **middle)
    prompt.text(1.3, row, f"{100 * share:.0f} %", color=blue, fontsize=12, **middle)
    arrow = {"arrowstyle": "-|>", "color": blue, "linewidth": 0.6 + 11 * share}
    arrow |= {"shrinkA": 22, "shrinkB": 46, "mutation_scale": 10 + 25 * share}
    prompt.annotate("", target, (1.3, row), arrowprops=arrow)
answer = f"prediction\n${prediction:.2f}$"
prompt.text(*target, answer, bbox=box, fontsize=12, **middle)
prompt.text(0, 0, "$x_q$,  $y_q =\\ ?$", bbox=box, fontsize=12, **middle)
prompt.set_title("The answer is their weighted mean")
prompt.axis((-0.75, 4.1, -0.5, 5.5))
prompt.axis("off")
plt.show()

# %% [markdown]
# ```{caption} fig-prompt
# :alt: Left, five examples on a circle and a star, the query. Each is joined to the star by a line that is thicker the nearer
# it is; a shaded sector around the star is the window. Right, the five examples with their labels in boxes. Arrows, as thick
# as the lines, lead to one box, the prediction.
#
# How one attention layer answers. Left: five labeled examples and a {term}`query` (star) on the circle, $d=2$, $w=3$. Discs and
# lines show the attention weight of each example. In the shaded {term}`window` it is more than half of the largest possible
# one. Right: the prompt. The prediction is the mean of the labels with these weights; the order of the examples does
# not matter.
# ```
#
# **Move it.** The same circle, unrolled: every disc is an example, and its area is its weight.

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
# ## The experiment: attention is kernel regression
#
# We draw contexts and compute the weights twice: as the softmax of the scores $w\,x_i\cdot x_q$, and as a Gaussian kernel of
# the distance to the query. On the sphere the two agree. Tokens with a normal law do not lie on a sphere, and there the two
# differ. To try $d=7$, write `dims = [7]` above the loop.

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
                examples = pd.DataFrame(
                    {
                        "distance": distance,
                        "attention": attention,
                        "kernel": kernel / kernel.sum(),
                    }
                )
                rows.append(examples.assign(tokens=tokens, dim=dim, draw=draw, w=w))
weights = pd.concat(rows, ignore_index=True)
weights["gap"] = (weights.attention - weights.kernel).abs()
weights.groupby(["tokens", "dim"]).gap.max().unstack().style.format("{:.0e}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.8), sharey=True)
for ax, tokens in zip(axes, ("sphere", "normal"), strict=True):
    one = weights.query("tokens == @tokens and dim == @dims[-1] and draw == 0")
    for w, part in one.sort_values("distance").groupby("w"):
        (line,) = ax.plot(part.distance, part.kernel, label=f"w = {w:g}")
        ax.plot(part.distance, part.attention, "o", mfc="none", c=line.get_color())
    ax.set(title=f"{tokens}, d = {dims[-1]}", xlabel="distance to the query")
axes[0].set(yscale="log", ylim=(1e-6, 1.5), ylabel="weight of an example")
axes[0].legend(loc="lower left")
plt.show()

# %% [markdown]
# ```{caption} fig-kernel
# :alt: Weight against distance to the query, two panels. On the sphere the points lie on three falling curves, steeper for
# larger w. With normal tokens the points are scattered away from the curves.
#
# The weights of one drawn context: softmax attention (points) and the Gaussian kernel $e^{-\frac w2\|x-x_q\|^2}$ (lines), in
# the highest dimension of the list. Left: tokens on the sphere, where a larger $w$ is a narrower kernel. Right: tokens with a
# normal law, where long examples win although they are far away.
# ```
#
# This takes about a second on two cores. Expect a largest gap of rounding size on the sphere,
# {judged}`P1.W.kernel | d = 5 | .0e` at $d=5$, and a large gap off the sphere.

# %% tags=["remove-input"]
gaps = weights.groupby(["tokens", "dim"], as_index=False).gap.max()
on_sphere = gaps.loc[gaps.tokens == "sphere", ["dim", "gap"]]
off_sphere = gaps.loc[gaps.tokens == "normal", ["dim", "gap"]]
judge(
    "P1.W.kernel",
    cases(on_sphere, "gap", name="d = {dim}"),
    cases(off_sphere, "gap", name="d = {dim}, normal tokens"),
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
# {eq}`eq-kernel` is exact for unit vectors. The authors' rebuttal and the slides' proof sketch write
# $e^{-w\|x-y\|^2}$ for $e^{x^\top My}$ with $M=wI$. If both letters $w$ are one number, a factor $\frac12$ is missing; if the
# kernel's $w$ takes up constants, nothing is missing. The table is right; its third row speaks of the bias of the estimator.
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
# **Exercise 1.** Put the examples on a sphere of radius $r$. What happens to the kernel, and what to the best $w$?
#
# ```{admonition} Solution
# :class: dropdown
# $\|x-x_q\|^2=2r^2-2\,x\cdot x_q$, so the kernel is the same function of the distance. Distances grow by the factor $r$, and
# for functions of $x/r$ the best $w$ falls by the factor $r^2$.
# ```

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
# On the sphere a nearer example never weighs less than a farther one. Off the sphere it can weigh less.

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
)

# %% [markdown]
# ## The table, measured
#
# For each $w$: the distance at which the weight has fallen to half of its largest possible value, the number of points
# attended to, $1/\mathbb E\sum_i\omega_i^2$, and the two parts of the {term}`population risk`. All are exact, with $\omega_i$ the
# attention weight of example $i$.

# %%
task = ReLU(dim=dims[-1])
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
print(f"Of these windows w = {parts.w[parts.risk.idxmin()]:g} has the least risk.")

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
    f"ReLU class, L = 1, d = {dims[-1]}, n = {context_length}, sigma = {noise_std:g}. "
    "A distance of more than 2 does not occur.",
)

# %% [markdown]
# **Exercise 2.** At which $w$ of the table do bias and noise balance? Change `noise_std` and predict the answer.
#
# ```{admonition} Solution
# :class: dropdown
# Where the two columns are about equal. The noise column is proportional to $\sigma^2$, so the balance moves to smaller $w$ as
# $\sigma$ grows. At the minimum the *slopes* of the two columns balance, not their values.
# ```
#
# **First row.** The larger $w$ is, the faster $-\log\omega_i$ grows with the squared distance; as $w\to\infty$ one example has
# all the weight.

# %% tags=["remove-input"]
judge(
    "P1.W.table-decay",
    pd.DataFrame(
        {"dim": coefficients.dim, "ratio": coefficients[4.0] / coefficients[1.0]}
    ),
    value="ratio",
    name="d = {dim}, w = 4 over w = 1",
)

# %% tags=["remove-input"]
judge(
    "P1.W.concentrate",
    attention_window.concentration(dims=dims, n_values=[3, 20]),
    value="slope",
    error="error",
    name="d = {dim}, n = {n}",
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
figure, axes = plt.subplots(3, len(lipschitz_values), figsize=(7.6, 6.4), sharey="row")
for column, L in enumerate(lipschitz_values):
    top, middle, bottom = axes[:, column]
    task = Cosine(2, L)
    best = float(optimal_window(task, context_length, noise_std).w)
    f, angles, labels = attention_window.drawn_on_circle(
        task, context_length, noise_std, seed, step=column
    )
    weight = np.exp(best * (np.cos(around) - 1))
    top.axvspan(*around[weight > 0.5][[0, -1]], color=blue, alpha=0.2)
    plots.exact_curve(top, around, f)
    top.plot(angles, labels, ".", color="0.5")
    top.set_title(f"L = {L:g}, best w = {best:.0f}")
    plots.exact_curve(middle, around, weight, color=blue)
    plots.exact_curve(middle, around, np.cos(around), color=purple, ls=":")
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
axes[1, 0].text(-3.35, 0.5, "softmax", color=blue)
axes[1, 0].text(-1.8, -0.95, "linear", color=purple)
plots.label_ends(axes[2, -1])
plt.show()

# %% [markdown]
# ```{caption} fig-one
# :alt: Nine panels. From left to right the function wiggles faster and the shaded window around the query shrinks. The
# softmax weight becomes a narrower bump, the linear weight stays the same cosine. The adapted window has the lowest risk,
# the others lie above it, and linear attention does not improve with the context length.
#
# Cosines $\cos(L\,u\cdot x)$ on the circle, $\sigma=0.2$. Top: one function (line), its noisy examples (dots), and the best
# window (shaded: weight above one half of the largest). Middle: weights in units of the weight at the query. Bottom: exact risk
# with the best $w$ of each column's $L$, and exact risk of the best linear attention.
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
)

# %% [markdown]
# **Rapid and slow, noisy and quiet.** The abstract says that the window "widens with decreasing Lipschitzness and increasing
# label noise". The best $w$ minimizes $B+\sigma^2N$, and $N$ rises with $w$: the window of no class narrows when the noise
# grows. Affine and ReLU functions are proportional to $L$, so that only $L/\sigma$ matters, and the same argument narrows the
# window with $L$ at every context length. A larger $L$ of our cosines is a shorter wavelength, not a larger amplitude. Where
# a context is too short for the wavelength the best $w$ is zero ([phase diagram](/notebooks/phase_diagram.ipynb)).

# %% tags=["remove-input"]
setting = {"dims": dims, "n": context_length, "noise_std": noise_std or 1.0}
columns = {
    "value": "least",
    "error": "error",
    "labels": ["task", "dim"],
    "name": f"{{task}}, d = {{dim}}, n = {context_length}",
}
of_lines = attention_window.window_slopes(
    tasks=["affine", "ReLU"], lipschitz=np.geomspace(0.25, 16, 13), **setting
)
of_waves = attention_window.window_slopes(
    tasks=["cosine"], lipschitz=[1.0, 16.0], **setting
)
judge(
    "P1.W.rapid",
    cases(of_lines, **columns),
    readings={"cosines": cases(of_waves, **columns)},
)

# %% tags=["remove-input"]
judge(
    "P1.W.noisy",
    attention_window.window_slopes(
        tasks=["affine", "ReLU"],
        dims=dims,
        n=context_length,
        noise_std=np.geomspace(0.05, 3, 13),
    ),
    **columns | {"value": "greatest"},
)

# %% [markdown]
# **Exercise 3.** Find the best window without any theory. Draw 4,000 contexts of `context_length` examples of `Cosine(2, 4.0)`
# on the circle, compute the mean squared error of the kernel average for several $w$, and compare the best one with
# `optimal_window`. About ten lines suffice.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# rng = stream(seed, "monte carlo")
# angles = torch.from_numpy(rng.uniform(0, 2 * np.pi, (4000, context_length + 1)))
# x = torch.stack([angles.cos(), angles.sin()], dim=-1)
# f = Cosine(2, 4.0).sample(rng, 4000)(x)
# y = f + noise_std * torch.from_numpy(rng.standard_normal(f.shape))
# for w in (10, 20, 40, 50, 60, 80, 160):
#     weights = torch.softmax(w * (x[:, :-1] * x[:, -1:]).sum(dim=-1), dim=1)
#     error = (weights * y[:, :-1]).sum(dim=1) - f[:, -1]
#     print(w, (error**2).mean().item())
# print(optimal_window(Cosine(2, 4.0), context_length, noise_std).w)
# ```
# The sampled error is least near the computed $w$. Around its minimum the curve is flat, so a few thousand contexts do not
# say more than that.
# :::
#
# **Exercise 4.** In the experiment at the top, change one line so that the softmax equals the kernel for normal tokens as
# well. (The squared length of an example must not count.)
#
# ```{admonition} Solution
# :class: dropdown
# Subtract half of it from the score: `attention = torch.softmax(w * (x[:-1] @ x[-1] - (x[:-1] ** 2).sum(dim=-1) / 2), dim=0)`.
# Then the exponent is $-\frac w2\|x_i-x_q\|^2$ up to a constant, and every gap is rounding.
# ```
#
# ## To remember
#
# Softmax attention on the sphere is a kernel average with one number $w$. A large $w$ is a narrow window, which has less bias
# and more noise. The best $w$ grows with how fast the functions change, and falls with the noise.

# %% tags=["remove-input"]
notebook.footer()
