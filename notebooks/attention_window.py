# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The window: attention is a local average
#
# *An attention layer reads examples with their labels and predicts the label of a new point. Which of the examples does it use, and
# how much does each of them count?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
lipschitz_values = [1.0, 4.0, 8.0]  # Lipschitz constants L of the figure's columns
context_length = 40  # examples n in a context
n_values = [20, 40, 80, 160, 320, 640]  # context lengths of the error curves
noise_std = 0.2  # standard deviation sigma of the label noise
dims = [2, 3, 5]  # dimensions d of the claims
draws = 20  # contexts drawn in each check of the weights
seed = 0  # root of the random streams

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import warnings
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.patches import Wedge

from icl.attention import softmax_weights
from icl.risk import linear_optimum, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Cosine, ReLU, make_task
from icl_book import notebook
from icl_book.claims import exact_cases, judge
from icl_book.figures import plots
from icl_book.figures.interactive import interactive
from icl_book.figures.unrolled import unroll
from icl_book.measurements import attention_window

# statsmodels warns about random numbers, which this page does not use
warnings.filterwarnings("ignore", category=FutureWarning)

notebook.setup(globals())

# %% figure={"alt": "Left, five examples on a circle and a star, the query. A line joins each example to the star, and nearer examples have thicker lines. A shaded sector around the star is the window. Right, the five examples with their labels in boxes. Arrows, as thick as the lines, lead to one box, the prediction.", "name": "fig-prompt"} jupyter={"source_hidden": true} tags=["hide-input"]
shown = np.deg2rad([150, 62, 25, -32, -115])
labels = np.array([-1.5, 0.5, 2.0, 1.0, -0.5])
on_circle = attention_window.place_on_circle(shown)
query = attention_window.place_on_circle([0.0])[0]
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
ring.text(0.42, -0.05, "window", color=blue, fontsize=11, **middle)
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
# **How one layer answers.** Left: five labeled examples and a [query](#term-query) (star) on the circle, with $w=3$. The sizes of discs
# and lines show the attention weights, and the shaded [window](#term-window) is the region where the weight is more than half of the
# weight at the query. Right: the prediction is the weighted mean of the labels, whatever the order of the examples.
#
# **In short.** On the unit sphere the weights of softmax attention are a bell around the query, the *window*. It has the width
# $w^{-1/2}$ in each direction, so a large $w$ is a narrow window. Noisier labels want a wider window. Steeper affine and ReLU
# functions want a narrower window. If waves on the circle change eight times as fast, the best window is
# [0.25](<judged:P1.W.softmax-adapts|cosine, d = 2, n = 40, $\sigma$ = 0.2, L = 8 over 1|.2f>) times as wide.
#
# <details><summary>How sure?</summary>
#
# - The bell is an identity. [A card](judged:P1.W.kernel) computes both sides, and [another](judged:P1.W.nadaraya-watson) compares
#   attention with four libraries. It holds on a sphere. Other inputs have [a chapter of their own](gaussian_tokens.ipynb).
# - Noisier labels want a wider window in [every class of functions](judged:P1.W.noisy). Steeper functions want a narrower one if they
#   are affine or ReLU functions, and waves do if the context is long enough to show them ([card](judged:P1.W.rapid)).
# - The layer of this page has one matrix $M=wI$, which is [the best form](certificates.ipynb) if functions have no preferred
#   direction. The number in the summary is for contexts of $40$ examples and $\sigma=0.2$.
# - That attention is a kernel smoother was pointed out by [Tsai et al. (2019)](cite:tsai2019).
# - The functions of the paper's Fig. 1 are not known to us. Ours are $f(x)=\cos(L\,u\cdot x)$ with a random direction $u$.
#
# </details>
#
# ## Why
#
# The prompt of an attention layer has labeled examples $(x_1,y_1),\dots,(x_n,y_n)$ and a query $x_q$ without a label. The layer
# gives each example the score $x_i^\top Mx_q$, where $M$ is a matrix that pretraining learns. The softmax turns the scores into
# weights. The prediction is the mean of the labels under these weights.
#
# Let us take $M=wI$. Then the score $w\,x_i\cdot x_q$ is large if the example lies near the query. On the unit sphere the score
# depends only on the distance, because $\|x-x_q\|^2=2-2\,x\cdot x_q$. So
#
# $$e^{w\,x\cdot x_q}=e^{w}\,e^{-\frac w2\|x-x_q\|^2}.$$
#
# The factor $e^w$ is the same for all examples and cancels in the softmax. What is left is a bell: a Gaussian function of the
# distance. In statistics an average with such weights is called Nadaraya-Watson regression.
#
# The number $w$ is the [window parameter](#term-window-parameter). The width of the window matters in two ways.
#
# - A narrow window averages few labels and keeps much of their noise. So noisier labels want a wider window.
# - A narrow window uses only labels from nearby and hardly blurs the function. So steeper affine and ReLU functions want a
#   narrower window.

# %% figure={"alt": "Three heat maps of attention weights. Rows are queries and columns are the examples, both sorted by their angle on the circle. For w = 1 each row is pale and nearly even. For w = 10 there is a blurred dark band along the diagonal, and for w = 100 a thin one with few dark cells in a row.", "name": "fig-weights"} jupyter={"source_hidden": true} tags=["hide-input"]
around = np.linspace(-180, 180, 72)
angles = np.sort(stream(seed, "covariates").uniform(-180, 180, context_length))
queries = attention_window.place_on_circle(np.deg2rad(around))
examples = attention_window.place_on_circle(np.deg2rad(angles))
figure, axes = plt.subplots(1, 3, figsize=(7.6, 2.9), sharey=True)
for ax, w in zip(axes, (1, 10, 100), strict=True):
    weight = torch.softmax(w * queries @ examples.T, dim=1)
    extent = (0.5, context_length + 0.5, -180, 180)
    look = {"cmap": "Blues", "vmin": 0, "vmax": 0.5, "origin": "lower"}
    ax.imshow(weight, extent=extent, aspect="auto", interpolation="nearest", **look)
    ax.set(
        title=f"w = {w}", xlabel="examples, by angle", yticks=[-180, -90, 0, 90, 180]
    )
    ax.grid(False)
axes[0].set_ylabel("angle of the query")
plt.show()

# %% [markdown]
# **Attention weights.** Each row has the weights that a query on the circle gives to the examples of one context: white is zero, dark
# is one half or more. Rows and columns are sorted by angle. With a larger $w$ each query looks at fewer examples, all of them near it.
#
# **Move it.** Left, a circle of examples is unrolled into a line, and the area of a disc is the weight of its example. On the right are
# the layer's exact errors. A wide window *blurs* the function, a narrow window keeps *noise*, and predictions *scatter* because
# the examples are random.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
errors, circle = attention_window.circle_to_move(query=60)
drawing = unroll(
    *circle,
    query=60,
    start=1.0,
    alt="Labels of examples on the circle against their angle. Discs around them are "
    "large near the query. A dashed wave is the true function, and a curve is the "
    "prediction at every angle.",
)
interactive(
    errors,
    x="w",
    y={"risk": "sum", "blur": "blur", "scatter": "scatter", "noise": "noise"},
    sliders={"w": "w"},
    start={"w": 1.0},
    labels=("w (to the right: narrower window)", "mean squared error"),
    ylim=(0.001, 1),
    scene=drawing,
    experiment="A larger w is a narrower window. Move it: where is the sum of blur, "
    "scatter and noise least?",
    alt="Three errors and their sum against w, both axes logarithmic. Noise rises, "
    "blur falls, and scatter hardly changes.",
    caption="Left: one context of 40 examples. The area of a disc is the weight of the "
    "example for the query (dotted line). Right: the mean over all contexts. Scatter "
    "is the error from where the examples happen to lie. With so few examples a wide "
    "window scatters nearly as much as a narrow one.",
)

# %% [markdown]
# ## The experiment
#
# Let us draw forty random examples and a query in five dimensions. For each example we compute the softmax weight and the bell of
# the distance. The table lists the eight examples nearest to the query. To try seven dimensions, change the line `dim = 5`.

# %% tags=["experiment"]
import numpy as np
import pandas as pd
import torch

dim = 5  # or 7, for example
w = 4.0
rng = np.random.default_rng(0)
points = torch.from_numpy(rng.standard_normal((41, dim)))
points = points / points.norm(dim=-1, keepdim=True)  # onto the sphere
x, x_q = points[:-1], points[-1]
attention = torch.softmax(w * x @ x_q, dim=0)
distance = (x - x_q).norm(dim=-1)
bell = torch.exp(-w / 2 * distance**2)
table = pd.DataFrame({"distance": distance, "attention": attention})
table["bell"] = bell / bell.sum()
table["difference"] = table.attention - table.bell
nearest = table.sort_values("distance").head(8)
nearest.style.format({"difference": "{:.0e}"}, precision=3).hide()

# %% [markdown]
# The two columns of weights differ by rounding only. Now delete the line that puts the points onto the sphere. Then the two
# columns differ a lot: a far example can get a large weight because its vector is long.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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

# %% figure={"alt": "Weight against distance to the query, two panels. On the sphere the points lie on three falling curves, steeper for larger w. With normal tokens the points are scattered away from the curves.", "name": "fig-kernel"} jupyter={"source_hidden": true} tags=["hide-input"]
highest = max(dims)
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.8), sharey=True)
for ax, tokens in zip(axes, ("sphere", "normal"), strict=True):
    one = weights.query("tokens == @tokens and dim == @highest and draw == 0")
    for w, part in one.sort_values("distance").groupby("w"):
        (line,) = ax.plot(part.distance, part.kernel, label=f"w = {w:g}")
        ax.plot(part.distance, part.attention, "o", mfc="none", c=line.get_color())
    ax.set(title=f"{tokens}, d = {highest}", xlabel="distance to the query")
axes[0].set(yscale="log", ylim=(1e-6, 1.5), ylabel="weight of an example")
axes[0].legend(loc="lower left")
plt.show()

# %% [markdown]
# **Weights are a Gaussian kernel.** The weights of the examples in one context. Points show softmax attention, and lines show the
# Gaussian kernel $e^{-\frac w2\|x-x_q\|^2}$. On the sphere (left) points and lines agree up to rounding.
# With normal tokens (right) they do not.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
gaps = weights.groupby(["tokens", "dim"], as_index=False).gap.max()
on_sphere = gaps.loc[gaps.tokens == "sphere", ["dim", "gap"]]
off_sphere = gaps.loc[gaps.tokens == "normal", ["dim", "gap"]]
judge(
    "P1.W.kernel",
    exact_cases(on_sphere, "gap", name="d = {dim}"),
    exact_cases(off_sphere, "gap", name="d = {dim}, normal tokens"),
)

# %% [markdown]
# **Exercise 1.** In the experiment, delete the line that puts the points onto the sphere. Then change another line so that the
# two weights agree again.
#
# <details><summary>Solution</summary>
#
# Subtract half of the squared length from the score:
# `attention = torch.softmax(w * (x @ x_q - (x**2).sum(dim=-1) / 2), dim=0)`. Then the exponent is $-\frac w2\|x_i-x_q\|^2$ up to a
# constant, and the two weights differ only by rounding.
#
# </details>
#
# **Exercise 2.** Put the examples and the query on a sphere of radius $r$. Is the kernel still Gaussian? Let the labels be a
# function of $x/r$. How does the best $w$ depend on $r$?
#
# <details><summary>Solution</summary>
#
# Now $\|x-x_q\|^2=2r^2-2\,x\cdot x_q$, so that the kernel is still $e^{-\frac w2\|x-x_q\|^2}$. As all distances are
# multiplied by $r$, the same weights need the same $wr^2$, and the best $w$ is divided by $r^2$.
#
# </details>
#
# ## What the paper says
#
# Which width should the kernel have? This is the question of paper 1, and its abstract has the answer in one sentence.
#
# > **Abstract.** "[...] this window widens with decreasing Lipschitzness and increasing label noise in the pretraining tasks."
#
# The paper's Fig. 1 shows functions with several Lipschitz constants $L$, the bounds of their slopes. Let us redraw it with exact
# curves, for waves on the circle.

# %% figure={"alt": "Nine panels. From left to right the function wiggles faster and the shaded window around the query shrinks. The softmax weight becomes a narrower bump, while the linear weight stays the same cosine. The adapted window has the lowest risk, and linear attention does not improve with the context length.", "name": "fig-one"} jupyter={"source_hidden": true} tags=["hide-input"]
around = np.linspace(-np.pi, np.pi, 400)
blue = plots.COLORS["softmax"]
purple = plots.COLORS["linear attention"]
figure, axes = plt.subplots(3, len(lipschitz_values), figsize=(7.6, 6.4), sharey="row")
for column, L in enumerate(lipschitz_values):
    top, middle, bottom = axes[:, column]
    task = Cosine(2, L)
    best = float(optimal_window(task, context_length, noise_std).w)
    f = task.sample(stream(seed, "tasks", column), 1)
    angles = stream(seed, "covariates", column).uniform(-np.pi, np.pi, context_length)
    angles = np.sort(angles)
    noise = noise_std * stream(seed, "noise", column).standard_normal(context_length)
    values = f(attention_window.place_on_circle(around)[None])[0].numpy()
    labels = f(attention_window.place_on_circle(angles)[None])[0].numpy() + noise
    weight = np.exp(best * (np.cos(around) - 1))
    top.axvspan(*around[weight > 0.5][[0, -1]], color=blue, alpha=0.2)
    plots.exact_curve(top, around, values)
    top.plot(angles, labels, ".", color="0.5")
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
plots.label_ends(axes[2, -1])
plots.label_lines(axes[1, -1])
plt.show()

# %% [markdown]
# **Faster waves, narrower window.** Cosines $\cos(L\,u\cdot x)$ on the circle, $\sigma=0.2$. Top: one function (line), its noisy
# examples (dots), and the best window (shaded). Middle: attention weights, divided by the weight at the query. Bottom: exact error
# against the context length. Each solid curve is softmax attention with the best window for one $L$, and the dotted curve is the
# best linear attention. The window chosen for the column's own $L$ has the lowest error.
#
# The weights of [linear attention](linear_attention.ipynb) have the same shape for every $L$. On these waves the best linear
# attention predicts zero at every context length, because the waves are even: $f(-x)=f(x)$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
compared = {
    "n": context_length,
    "noise_std": noise_std,
    "low": min(lipschitz_values),
    "high": max(lipschitz_values),
}
on_ring = attention_window.compare_half_widths(tasks=["cosine"], dims=[2], **compared)
on_spheres = attention_window.compare_half_widths(
    tasks=["affine", "ReLU"], dims=dims, **compared
)
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
# **Steeper functions.** For affine and ReLU functions the window narrows with $L$ at every context length, because a larger $L$
# makes the function larger against the noise. Waves behave differently: a larger $L$ makes waves shorter, and not higher. If the
# context has too few examples to show short waves, equal weights can be best ([a map](phase_diagram.ipynb#fig-phases)).

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
waves = {"tasks": ["cosine"], "lipschitz": [1.0, 16.0]}
of_waves = attention_window.window_slopes(**waves, **setting)
# a million tokens resolve waves of L = 16 in the dimensions of this book
resolved = attention_window.window_slopes(**waves, **setting | {"n": 10**6})
judge(
    "P1.W.rapid",
    exact_cases(of_lines, **columns),
    readings={"cosines": exact_cases(of_waves, **columns)},
    could={
        "cosines": exact_cases(
            resolved, **columns | {"name": "{task}, d = {dim}, n = 1000000"}
        )
    },
)

# %% [markdown]
# **Noisier labels.** The window widens with the noise $\sigma$ for every class of functions. Why? The error is the sum
# $B+\sigma^2N$ of bias and noise, where neither $B$ nor $N$ depends on $\sigma$. Since $N$ rises with $w$, a larger $\sigma$
# never makes the best window narrower.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
# **Exercise 3.** Find the best window by simulation alone. Draw 4,000 contexts of `context_length` examples of `Cosine(2, 4.0)`
# on the circle. Compute the mean squared error of attention for several $w$, and compare the best of these $w$ with
# `optimal_window`.
#
# <details><summary>Solution</summary>
#
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
# The sampled error is least near the computed $w$. The minimum is flat, so a few thousand contexts locate it only
# roughly.
#
# </details>
#
# ### The size of M
#
# The slides write the attention that the query $x_{n+1}$ pays to $x_i$ as the bell of this page:
#
# <a id="eq-kernel"></a>
#
# $$\frac{e^{-\frac{w_{KQ}}2\|x_i-x_{n+1}\|^2}}
#   {\sum_{j=1}^ne^{-\frac{w_{KQ}}2\|x_j-x_{n+1}\|^2}}.$$
#
# Here $w_{KQ}$ is our $w$. A table of the slides says what the size of $M$ does:
#
# | tradeoff | $M$ large | $M$ small |
# |:--|:--|:--|
# | attention decays | quickly with distance | slowly with distance |
# | number of points that are attended to | fewer | more |
# | estimator bias | low | high |
# | noise variance | high | low |
#
# Our numbers agree with all four rows. The next table has them. *Half-weight distance* is the distance from the query
# at which the weight is half of its largest possible value. *Points* is the number of points attended to. We take
# $1/\mathbb E\sum_i\omega_i^2$ with the attention weights $\omega_i$, which is $n$ for equal weights. *Bias* and *noise* are the
# two parts of the [mean squared error](#term-population-risk). (Here the bias is blur and scatter. The text
# below the table says why it rises at the end.)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
task = ReLU(dim=5)
rows = []
for w in (0.3, 1, 3, 10, 30, 100, 1000):
    risk = population_risk(task, w, context_length, noise_std)
    # the noise term at sigma = 1 is the mean sum of squared weights
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
    f"ReLU class, L = 1, d = 5, n = {context_length}, sigma = {noise_std:g}. "
    "Two points of the sphere are at most 2 apart.",
)

# %% [markdown]
# Why does the bias of this table rise again at large $w$? It is a mean *squared* error, and with few examples in the window the
# prediction depends on their positions. So
# it contains [scatter](#term-scatter). The [blur](#term-blur), the mean square of the mean error, keeps falling.
#
# **Exercise 4.** At which $w$ of the table are bias and noise about equal? Does this $w$ rise or fall if you double
# `noise_std`?
#
# <details><summary>Solution</summary>
#
# Since the noise column is proportional to $\sigma^2$, the two columns cross at a smaller $w$ if $\sigma$ is doubled. In general
# the risk is least where the *slopes* of the two columns add up to zero, which need not be at the crossing.
#
# </details>
#
# ## For specialists
#
# ### The four rows of the slides' table
#
# **Decay.** With a larger $w$, $-\log\omega_i$ grows faster with the squared distance, and as $w\to\infty$ one example gets all
# the weight.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
by_distance = attention_window.weights_by_distance(weights)
coefficients = (
    by_distance[by_distance.tokens == "sphere"]
    .pivot_table(values="coefficient", index="dim", columns="w")
    .reset_index()
)
judge(
    "P1.W.table-decay",
    pd.DataFrame(
        {"dim": coefficients.dim, "ratio": coefficients[4.0] / coefficients[1.0]}
    ),
    value="ratio",
    name="d = {dim}, w = 4 over w = 1",
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P1.W.concentrate",
    attention_window.concentration_slopes(dims=dims, n_values=[3, 20]),
    value="slope",
    error="error",
    name="d = {dim}, n = {n}",
)

# %% [markdown]
# **Points and noise.** With a larger $w$ fewer points count and more noise remains. The number of points that count is
# $1/\mathbb E\sum_i\omega_i^2$, and the noise is proportional to $\mathbb E\sum_i\omega_i^2$, so that it is enough to show that
# $\sum_i\omega_i^2$ grows with $w$. Put $t_i=x_i\cdot x_q$, and let $E_w[t]=\sum_i\omega_it_i$ be the mean of $t$ under the weights.
# This mean grows with $w$, because its derivative is the variance of $t$ under the weights. Hence, for any examples,
# $\frac d{dw}\log\sum_i\omega_i^2=2(E_{2w}[t]-E_w[t])\ge0$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P1.W.table-noise",
    attention_window.noise_slopes(dims=dims, n=context_length),
    value="slope",
    error="error",
    name=f"d = {{dim}}, n = {context_length}",
)

# %% [markdown]
# **Bias.** Fix a function and a query, and average the error over the examples. For affine functions this mean error becomes
# smaller in size as $w$ grows. By symmetry $\mathbb E\sum_i\omega_ix_i=m\,x_q$ with $m=\mathbb E\sum_i\omega_it_i$, so that for an
# affine function with slope $a$ and direction $q$ the mean error is $-a(1-m)\,q\cdot x_q$. The number $m$ grows with $w$, because
# $\frac{dm}{dw}=\mathbb E\,{\rm Var}_\omega(t)\ge0$. For ReLU functions and cosines we have no such proof, and the card tests the
# mean square of the mean error.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P1.W.table-bias",
    attention_window.bias_slopes(
        tasks=["affine", "ReLU", "cosine"], dims=dims, n=context_length
    ),
    value="slope",
    error="error",
    name="{task}, d = {dim}, w = 0.1 to 100",
)

# %% [markdown]
# ### The kernel in more detail
#
# On the sphere, an example farther from the query never has a larger weight. Off the sphere it can have one.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
grouped = by_distance[by_distance.w == 4].groupby(["tokens", "dim"], as_index=False)
disorder = grouped.disorder.mean()
in_order = disorder.loc[disorder.tokens == "sphere", ["dim", "disorder"]]
out_of_order = disorder.loc[disorder.tokens == "normal", ["dim", "disorder"]]
judge(
    "P1.W.closer",
    exact_cases(in_order, "disorder", name="d = {dim}"),
    exact_cases(out_of_order, "disorder", name="d = {dim}, normal tokens"),
)

# %% [markdown]
# Let $\omega_i$ be the attention weight of example $i$. On the sphere, $-\log\omega_i$ is a linear function of $\|x_i-x_q\|^2$ with
# the slope $\frac w2$. The next card gives this slope divided by $w$. The authors' answer to the reviewers and the slides' proof
# sketch write $e^{-w\|x-y\|^2}$ in place of $e^{x^\top My}$. If this $w$ is also the $w$ in $M=wI$, a factor $\frac12$ is missing
# there. If the kernel may have a $w$ of its own, nothing is missing. As a function of $x$, the kernel is proportional to the
# [von Mises-Fisher density](#term-von-mises-fisher-density).

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P1.W.appendix-kernel",
    pd.DataFrame({"dim": coefficients.dim, "coefficient": coefficients[4.0] / 4.0}),
    value="coefficient",
    name="d = {dim}",
)

# %% [markdown]
# On the sphere our attention layer agrees up to rounding with four independent libraries: kernel regression (statsmodels), nearest
# neighbors with Gaussian weights (scikit-learn), the von Mises-Fisher density (SciPy) and fused attention (PyTorch).

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P1.W.nadaraya-watson",
    attention_window.gaps_to_libraries(
        dims=dims, n=context_length, draws=draws, noise_std=noise_std, seed=seed
    ),
    value="gap",
    name="{library}, d = {dim}",
)

# %% [markdown]
# ### The bias without noise
#
# The theory uses the bias $\mathcal L_{\rm bias}=\mathbb E(\sum_if(x_i)\omega_i-f(x_q))^2$ of the table. Let $w_0$ be the best $w$
# for labels without noise, at which $\mathcal L_{\rm bias}$ is least. For affine and ReLU functions $\mathcal L_{\rm bias}$ falls
# as $w$ grows up to $w_0$. The best $w$ for noisy labels is smaller than $w_0$. Beyond $w_0$ the bias rises, because so few
# examples are left in the window that the prediction depends on their positions. The next table has $\mathcal L_{\rm bias}$ at
# several multiples of $w_0$, divided by its value at $w_0$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
over_least = []
for name, d in product(("affine", "ReLU"), dims):
    task = make_task(name, d)
    least = optimal_window(task, context_length, noise_std=0.0)
    multiples = np.array([0.1, 0.5, 0.9, 1, 1.1, 3, 10])
    bias = population_risk(
        task, multiples * least.w, context_length, noise_std=0.0
    ).bias
    assert (np.diff(bias[:4]) < 0).all() and (np.diff(bias[3:]) > 0).all()
    at = {f"{m:g}": b / least.risk for m, b in zip(multiples, bias, strict=True)}
    over_least.append({"functions": name, "d": d, "w_0": least.w} | at)
pd.DataFrame(over_least).style.format({"w_0": "{:.1f}"}, precision=3).hide()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
