# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Inputs of unequal length: sharpening moves the window
#
# *On a sphere attention with a larger $w$ looks closer to the query. What does a larger $w$ do if some inputs are longer than
# others?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 5, 16]  # dimensions d of the covariates
noise_stds = [0.0, 0.5, 2.0]  # standard deviations sigma of the label noise (slope one)
n_values = [2, 10, 100, 10000, 1000000]  # context lengths n
context_length = 100000  # n of the sampled contexts
seeds = 48  # independent sets of tokens

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icl.risk import (
    distance_exponent,
    gaussian_risk,
    gaussian_window,
    optimal_window,
)
from icl.streams import stream
from icl.tasks import Linear
from icl_book import notebook
from icl_book.claims import exact_cases, judge, sampled_cases
from icl_book.figures import plots
from icl_book.measurements import gaussian_tokens

notebook.setup(globals())

# %% figure={"alt": "Two panels with a cloud of points and a star, the query. Left, all points lie on a circle, and three arcs around the query get shorter as w grows from 1 to 4. Right, Gaussian points: three circles of one size, whose centers move away from the origin through the query and beyond the cloud as w grows.", "name": "fig-moves"} jupyter={"source_hidden": true} tags=["hide-input"]
cloud = stream(3, "evaluation").standard_normal((300, 2))
ring = 2**0.5 * cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
angle = np.linspace(-1, 1, 101)
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.3), width_ratios=[6.4, 10])
for ax, tokens in zip(axes, (ring, cloud), strict=True):
    ax.plot(*tokens.T, ".", color="0.7", markersize=3, zorder=1)
for i, (w, color) in enumerate(plots.colors([1, 2, 4]).items()):
    # the weight of a token, or their density at a place, falls to exp(-1/2) at the ends
    half = np.arccos(1 - 1 / (4 * w))
    # on the circle itself, the shorter arcs above the longer ones and thicker
    x, y = 2**0.5 * np.cos(half * angle), 2**0.5 * np.sin(half * angle)
    axes[0].plot(x, y, color=color, linewidth=3 + 3 * i, solid_capstyle="butt")
    words = {"color": color, "va": "bottom", "text": f"w = {w}"}
    axes[0].annotate(xy=(1.8, 1.1 - 0.55 * i), **words)
    center = w * 2**0.5
    axes[1].plot(center + np.cos(np.pi * angle), np.sin(np.pi * angle), color=color)
    # here the names stand one above the other, where there are hardly any tokens
    words |= {"arrowprops": {"arrowstyle": "-", "color": color}, "ha": "center"}
    axes[1].annotate(xy=(center, 1), xytext=(center, 2.6 - 0.6 * i), **words)
for ax, title in zip(axes, ("tokens of one length", "Gaussian tokens"), strict=True):
    ax.plot(2**0.5, 0, "k*", markersize=13, markeredgecolor="w")
    ax.set(title=title, aspect="equal", ylim=(-3.1, 3.1))
    ax.axis("off")
axes[0].set_xlim(-2.4, 4)
axes[1].set_xlim(-3, 7)
plt.show()

# %% [markdown]
# **A larger w narrows the window on a sphere, and moves it otherwise.** Where attention looks for a query (star) at
# three values of $w$, in a long context. Left: all tokens have the same length, and the window shrinks around the
# query. Right: Gaussian tokens differ in length, and the window keeps its size and moves along the direction of the
# query.
#
# **In short.** If inputs differ in length (norm), attention with a larger $w$ does not look closer at the query. It prefers long inputs in
# the query's direction: with Gaussian inputs it looks around $w$ times the query. For linear functions this is right at $w=1$, so in
# longer and longer contexts the best $w$ stops there. With a million examples in five dimensions it is
# [0.991](<judged:P1.G.stops|Gaussian, d = 5, n = 1e+06, sigma = 0.5|.3f>). If the inputs have
# the same mean squared length but lie on a sphere, the best $w$ is
# [19.5](<judged:P1.G.stops|sphere, d = 5, n = 1e+06, sigma = 0.5|.1f>) there, and it grows without end with $n$. If only the directions of inputs
# matter to the labels, normalize the inputs.
#
# <details><summary>How sure?</summary>
#
# - The best $w$ is exact ([the card](judged:P1.G.stops)), at noise of standard deviation $\sigma=0.5$ and slope one, and for linear
#   functions no other matrix is better ([theorem](#thm-lengths)).
# - Proved: how fast the prediction tends to its limit ([the card](judged:P1.G.distance)), and which functions keep an error in
#   contexts of any length ([the card](judged:P1.G.floor)). For nonlinear functions we take $M=wI$, and other matrices may be
#   better.
# - If labels depend only on the *direction* of an input, the best $w$ does grow without end: Exercise 1.
# - What is known: the limit in long contexts is the mean of $f$ under a shifted law ([Boursier and Boyer, 2026](cite:boursier2025),
#   of whose paper we know the abstract and Proposition 3.1). What is new: how fast this limit is reached at every $w$, with
#   constants, and the golden ratio in the law of the best $w$.
#
# </details>
#
# ## Why
#
# Attention averages the labels of tokens in a [window](#term-window) around the [query](#term-query). A token $x$ gets a weight
# proportional to $e^{w\,x\cdot x_q}$, where $x_q$ is the query and $w$ the [window parameter](#term-window-parameter). So the weight depends on how far the token reaches
# *in the direction of the query*. A token can reach far because it points in this direction, or because it is long. On a sphere all
# tokens have the same length. The product $x\cdot x_q$ is then largest at the query, and a larger $w$ gathers the weight there. If
# tokens differ in length, the largest product belongs to a long token, which need not be near the query.

# %% figure={"alt": "Two heat maps of attention weights, queries against tokens, both sorted by angle. Left, tokens of one length: a narrow band along the diagonal. Right, Gaussian tokens: a few columns, those of long tokens, are dark over a wide range of queries.", "name": "fig-stripes"} jupyter={"source_hidden": true} tags=["hide-input"]
some = stream(4, "evaluation").standard_normal((40, 2))
some = some[np.argsort(np.arctan2(some[:, 1], some[:, 0]))]
same = 2**0.5 * some / np.linalg.norm(some, axis=1, keepdims=True)
turn = np.linspace(-np.pi, np.pi, 80)
queries = 2**0.5 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2))
for ax, tokens in zip(axes, (same, some), strict=True):
    weight = np.exp(8 * queries @ tokens.T)
    weight /= weight.sum(axis=1, keepdims=True)
    ax.imshow(weight, cmap="Blues", vmin=0, vmax=0.5, origin="lower", aspect="auto")
    ax.grid(False)
    ax.set(xticks=[], yticks=[], xlabel="tokens, by angle", ylabel="queries, by angle")
axes[0].set_title("tokens of one length")
axes[1].set_title("Gaussian tokens")
plt.show()

# %% [markdown]
# **Long tokens take the weight.** Attention weights at $w=8$ in two dimensions: queries of one length (rows) against 40 tokens
# (columns), both sorted by angle. A stronger blue is more weight, and the strongest is one half or more. Left: all tokens have the
# same length, and the weight lies along the diagonal. Right: the tokens have the same directions and Gaussian lengths. A few long
# tokens take the weight of all queries in their sector.
#
# How far does the window move? A Gaussian token has the law $N(0,I)$. Multiply its density by $e^{w\,x\cdot x_q}$ and complete the
# square: you get the law $N(w\,x_q,I)$. The mean moves to $w\,x_q$ and the width stays. So with many tokens the prediction tends to
# the mean of the function $f$ under this law. Let $\omega_i$ be the attention weights:
#
# <a id="eq-tilt"></a>
#
# $$\begin{gathered}\sum_i\omega_if(x_i)\;\to\;\mathbb E f(g+w\,x_q),\\ g\sim N(0,I).\end{gathered}$$
#
# For linear $f$ the right side is $w\,f(x_q)$, which is correct at $w=1$. So the best $w$ tends to one as the context
# grows.
#
# ## The experiment
#
# How fast does the best $w$ come to one with Gaussian tokens, and how does it grow on a sphere? We take linear functions of slope
# one. The sphere has the radius $\sqrt d$, because the mean squared length of a Gaussian token is $d$. To try seven dimensions,
# change the line `dim = 5`.

# %% tags=["experiment"]
import pandas as pd

from icl.risk import gaussian_window, optimal_window
from icl.tasks import Linear

dim = 5  # or 7, for example
lengths = [10, 100, 10_000, 1_000_000]
gaussian = gaussian_window(dim, lengths, noise_std=0.5).w
# optimal_window is for tokens of length one. Dividing the tokens by the root of d
# multiplies the slope by this root, and the best w by d.
sphere = optimal_window(Linear(dim, lipschitz=dim**0.5), lengths, noise_std=0.5).w / dim
pd.DataFrame({"examples": lengths, "Gaussian": gaussian, "sphere": sphere}).round(3)

# %% [markdown]
# In a short context the best $w$ is small in both columns, because a small $w$ shares the weight among many tokens and so averages
# away the noise. The column *Gaussian* stays below one, and the column *sphere* passes one. The next figure compares three
# dimensions.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
lengths = sorted({*n_values, 10**9, 10**12})


def best_windows(dim, noise_std):
    """Return the best w on Gaussian tokens and on the sphere of radius sqrt(d)."""
    setting = {"dim": dim, "noise_std": noise_std, "n": lengths}
    best = gaussian_window(dim, lengths, noise_std)
    gaussian = {
        "tokens": "Gaussian",
        "w": best.w,
        "error": best.w * best.error,
        # 1 - w, without cancellation
        "gap": best.gap,
    }
    best = optimal_window(Linear(dim, lipschitz=dim**0.5), lengths, noise_std)
    sphere = {
        "tokens": "sphere",
        "w": best.w / dim,
        "error": best.w / dim * best.error,
    }
    return [pd.DataFrame(setting | gaussian), pd.DataFrame(setting | sphere)]


tables = [best_windows(*setting) for setting in product(dims, noise_stds)]
windows = pd.concat(sum(tables, []), ignore_index=True)
sigma = noise_stds[len(noise_stds) // 2]

# %% figure={"alt": "Left, against the context length: on Gaussian tokens the best window parameter levels off at one in every dimension, and on the sphere it grows like a power. Right, log-log: one minus the best window parameter falls along curves that slowly become parallel to a dashed line.", "name": "fig-gaussian"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, (left, right) = plt.subplots(1, 2, figsize=(6.9, 3.2))
for dim, color in plots.colors(dims).items():
    part = windows[(windows.dim == dim) & (windows.noise_std == sigma)]
    part = part.set_index(["tokens", "n"])
    left.plot(part.w["Gaussian"], color=color)
    left.plot(part.w["sphere"], "--", color=color, label=f"d = {dim}")
    right.plot(part.gap["Gaussian"], color=color, label=f"d = {dim}")
left.set(xscale="log", yscale="log", xlabel="context length n", title="best w")
right.set(xscale="log", yscale="log", xlabel="context length n")
right.set_title(r"$1-$ best w")
slope = (1 - 5**0.5) / 2  # minus one over the golden ratio
plots.guide(right, 1e3, 1e-3, slope, f"slope ${slope:.3f}$", decades=6)
kinds = [plt.Line2D([], [], color="k", ls=style) for style in ("--", "-")]
left.legend(kinds, ["sphere", "Gaussian"])
plots.label_ends(left, right)
plt.show()

# %% [markdown]
# **Gaussian tokens: w stops at one.** Left: exact best $w$ for linear functions on Gaussian tokens (solid) and on the
# sphere of radius $\sqrt d$ (dashed). Right: one minus the best $w$ on Gaussian tokens, with a dashed guide of slope
# $-1/\varphi$, where $\varphi=\frac12(1+\sqrt5)$ is the golden ratio. The curves are flatter than the guide, because
# the [asymptotic formula](#thm-golden) has a factor $(\log n)^{d/2+1}$ beside the power of $n$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
long = [n for n in n_values if n >= 100] or lengths
long = windows[windows.n.isin([long[0], long[-1]])]
on_gaussian = long[long.tokens == "Gaussian"]
on_sphere = long[(long.tokens == "sphere") & (long.n == long.n.max())]
pair = gaussian_window(dim=2, n=2, noise_std=0.0)
control = pd.DataFrame(
    [{"tokens": "Gaussian", "w": pair.w, "error": pair.w * pair.error}]
)
judge(
    "P1.G.stops",
    exact_cases(
        pd.concat([on_gaussian, on_sphere]),
        "w",
        error="error",
        labels=["dim", "n", "noise_std", "tokens"],
        name="{tokens}, d = {dim}, n = {n:g}, sigma = {noise_std:g}",
    ),
    exact_cases(
        control,
        "w",
        error="error",
        labels=["tokens"],
        name="{tokens}, d = 2, n = 2",
    ),
)

# %% [markdown]
# **Exercise 1.** Let $f(x)=\mathrm{sign}(u\cdot x)$ with a unit vector $u$, so that the label depends only on the
# direction of $x$. Compute the limit of the error at each $w$ in long contexts. Does the best $w$ stop?
#
# <details><summary>Solution</summary>
#
# Let $t=u\cdot x_q$. By [the limit of the output](#eq-tilt) the prediction tends to
# $\mathbb E\,\mathrm{sign}(g+wt)=2\Phi(wt)-1$, where $g\sim N(0,1)$ and $\Phi$ is the normal distribution function.
# So the error tends to $4\,\mathbb E\,\Phi(-w|t|)^2$.
#
# ```python
# import numpy as np
# from scipy.special import ndtr
#
# t = np.linspace(0, 8, 80_001)
# law = np.exp(-t * t / 2) / np.exp(-t * t / 2).sum()
# for w in (0.5, 1, 2, 5, 10, 100):
#     print(w, round(4 * law @ ndtr(-w * t) ** 2, 4))
# ```
#
# The limit falls with $w$ towards zero and is positive at every $w$. So for each $W$ some $w>W$ has a smaller risk than all
# $w\le W$ from some $n$ on, and the best $w$ grows without end. The same is true of every bounded $f$ that depends only on the
# direction of $x$, is continuous at almost every $x$ and is not constant. For large $w$ the vector $g+wx_q$ has nearly the
# direction of $x_q$, and so $\mathbb Ef(g+wx_q)\to f(x_q)$ as $w\to\infty$.
#
# </details>
#
# ## Curved functions keep an error
#
# What if the function is not linear? Take the parabola $f(x)=x^2-1$ in one dimension. By [the limit](#eq-tilt) the prediction tends
# to $\mathbb E(g+w\,x_q)^2-1=w^2x_q^2$. So the constant is lost at every $w$. The mean squared error is
#
# $$\mathbb E(x_q^2-1-w^2x_q^2)^2=3(1-w^2)^2-2(1-w^2)+1.$$
#
# The error is least at $w^2=\frac23$, and there it is a third of the variance of $f$. This error remains even with infinitely many
# examples. We call it the *floor* of $f$. Most nonlinear functions of Gaussian tokens have a floor.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
known = gaussian_tokens.functions()
shorter = [n for n in (100, 1000, 10000, 100000) if n < context_length]
lengths = [*shorter, context_length]
risks = gaussian_tokens.sampled_risks(names=list(known), n_values=lengths, seeds=seeds)
longest = risks.loc[risks.n == lengths[-1], ["function", "seed", "excess"]]
rows = []
for seed in range(seeds):
    risk = gaussian_tokens.sampled_risk("He_2", n=context_length, seed=seed, w=1.0)
    rows.append({"seed": seed, "excess": risk})
control = pd.DataFrame(rows)
judge(
    "P1.G.floor",
    sampled_cases(
        longest, "excess", samples="seed", name=f"{{function}}, n = {context_length}"
    ),
    sampled_cases(
        control, "excess", samples="seed", name=f"He_2, n = {context_length}"
    ),
)

# %% figure={"alt": "Two kinds of curves. The linear function and the product of two coordinates fall with the context length. The second and third Hermite polynomials and the ReLU level off, each at its own dashed line.", "name": "fig-floors"} jupyter={"source_hidden": true} tags=["hide-input"]
shown = gaussian_tokens.mean_risks(risks)
printed = {
    "linear": "$x_1$",
    "He_2": r"$\mathrm{He}_2$",
    "He_3": r"$\mathrm{He}_3$",
    "ReLU": "$(x_1)_+$",
    "x_1 x_2": "$x_1x_2$",
}
figure, ax = plt.subplots(figsize=(6.9, 3.2))
for i, (name, function) in enumerate(known.items()):
    part = shown[shown.function == name]
    stops = function.limit > 0
    color = plots.PALETTE[1] if stops else plots.PALETTE[0]
    # side by side, so that intervals can be told apart
    n = part.n * 1.1 ** (i - 2)
    bars = [part["mean"] - part.low, part.high - part["mean"]]
    marks = {"fmt": "o-", "lw": 1, "ms": 4, "mfc": "w", "color": color}
    ax.errorbar(n, part["mean"], bars, label=printed[name], **marks)
    if stops:
        limit = function.limit / function.variance
        ax.hlines(
            limit, lengths[0], lengths[-1], color=color, linestyle="--", linewidth=1
        )
ax.set(xscale="log", yscale="log", xlabel="context length n", ylabel="risk / variance")
ax.set_ylim(2e-4, 6)
plots.label_ends(ax)
plt.show()

# %% [markdown]
# **Which functions have a floor.** Error at the best $w$ divided by the variance of the function. Points are means over sampled
# sets of tokens, with confidence intervals. The curves of $x_1$ and $x_1x_2$ fall with the context length, and the other three stop
# at a floor (dashed, exact limits). $\mathrm{He}_2(x_1)=x_1^2-1$ is the parabola, and $\mathrm{He}_3(x_1)=x_1^3-3x_1$. Intervals
# that reach zero are truncated.
#
# Why does the product $x_1x_2$ have no floor? The product is *harmonic*: average it over a law that is the same in all directions
# around a point, and you get its value at this point. So at $w=1$ the limit is correct.
#
# <details><summary>Which functions have no floor, and how high the floor of a Hermite polynomial is</summary>
#
# We call a function $f$ *recovered* at $w$ if $\mathbb Ef(g+w\,x)=f(x)$ for all $x$. At $w=1$ the recovered functions of polynomial
# growth are the harmonic polynomials. To see this, notice that the Fourier transform of such a function is supported at the origin.
# So $f$ is a polynomial. Then $\mathbb Ef(g+x)=e^{\Delta/2}f(x)$, which equals $f(x)$ for all $x$ only if $\Delta f=0$. At other $w$
# other functions are recovered (Exercise 3).
#
# For the Hermite polynomials $\mathrm{He}_k(t)$ with $k\ge2$ and $t=u\cdot x$ the limit is wrong at every $w$. Since
# $\mathbb E\,\mathrm{He}_k(g+t)=t^k$, the limit is $(wt)^k$ in place of $\mathrm{He}_k(t)$. The floor of $\mathrm{He}_k$ is
# $k!\big(1-\frac{k!}{(2k-1)!!}\big)$.
#
# </details>
#
# **Exercise 2.** In long contexts, which $w$ is best for $f(x)=x+c\,(x^2-1)$ with a small $c$?
#
# <details><summary>Solution</summary>
#
# Write $f=\mathrm{He}_1+c\,\mathrm{He}_2$. With many tokens the prediction at the query $t$ tends to
# $wt+c(wt)^2=w\,\mathrm{He}_1(t)+cw^2\,\mathrm{He}_2(t)+cw^2$. Subtracting this limit from $f$ leaves
# $(1-w)\,\mathrm{He}_1+c(1-w^2)\,\mathrm{He}_2-cw^2$. By orthogonality the mean squared error is
# $(1-w)^2+2c^2(1-w^2)^2+c^2w^4$. To second order in $c$ this error is least at $w=1-2c^2$, with the value $c^2$.
#
# </details>
#
# **Exercise 3.** Let $\Phi$ be the distribution function of $g\sim N(0,1)$. Show that $\mathbb E\Phi(g+w\,x)=\Phi(x)$ at $w=\sqrt2$.
#
# <details><summary>Solution</summary>
#
# Let $g$ and $h$ be independent with the law $N(0,1)$. Then $h-g\sim N(0,2)$, so
#
# $$\mathbb E\Phi(g+\sqrt2x)=P(h\le g+\sqrt2x)=P(h-g\le\sqrt2x)=\Phi(x).$$
#
# </details>
#
# ## What the papers say
#
# Theorem 2 and Lemma 1 of the first paper are about inputs on a sphere and on an ellipsoid. The abstract of a paper on
# Gaussian tokens ([Boursier and Boyer, 2026](cite:boursier2025)) says:
#
# > For i.i.d. Gaussian inputs, we lean on the fact that the softmax operator converges in the infinite-prompt limit to a
# > linear operator acting on the underlying input-token measure
#
# This is [the limit](#eq-tilt) above. How fast is it reached? Over all contexts and queries the mean
# squared distance from the limit falls like $1/n$ only for $w<\frac1{\sqrt2}$.[✓](judged:P1.G.distance) For larger $w$ it falls more
# slowly, because rare long queries attend to few tokens.
#
# ## For specialists
#
# ### In a ball
#
# Lengths need not be Gaussian. If tokens and query are uniform in the unit ball, an error remains even for linear
# functions. In five dimensions this floor is [1.6](<judged:P1.G.ball|floor, d = 5|100*.1f>) % of the variance of the function.
#
# <details><summary>Why an error remains</summary>
#
# Since the uniform law in the ball is a projection of the uniform law on the sphere in $d+2$ dimensions, the
# prediction at a query of length $r$ tends to $A(wr)\,\beta\cdot x_q/r$ for many tokens, where $A=I_{d/2+1}/I_{d/2}$
# is a ratio of Bessel functions. A correct prediction would need $A(wr)=r$ for every $r$, but $A$ is strictly
# concave. The floor is the least limit of the risk over all $w$. The lower bound $\mathbb E_\theta R(|M\theta|)$ of
# the proof of [the theorem on the best matrix](#thm-lengths) remains true as $n\to\infty$, so no matrix has a lower limit.
#
# </details>

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P1.G.ball",
    gaussian_tokens.ball_limits(dims=dims),
    gaussian_tokens.sphere_limits(dims=dims),
    error="error",
    name="{what}, d = {dim}",
)

# %% [markdown]
# ### Linear attention does better here
#
# Linear attention predicts $\frac1n\sum_iy_i\,x_i^\top Mx_q$: it multiplies each label by its score and divides by $n$. On linear
# functions of Gaussian tokens its least error falls like $1/n$. The least error of softmax attention falls more slowly, as the next
# table shows for five dimensions.
#
# <details><summary>The best linear attention</summary>
#
# The best matrix of linear attention is $mI$ with $m=\big[1+\frac{d+1+d\sigma^2/L^2}n\big]^{-1}$, and its error is $L^2(1-m)$. The
# table has the slope $L=1$ and noise of standard deviation $\sigma=0.5$.
#
# </details>

# %% jupyter={"source_hidden": true} tags=["hide-input"]
dim, noise_std = 5, 0.5
lengths = np.array([1e2, 1e4, 1e6])
softmax = gaussian_window(dim, lengths, noise_std).risk
linear = 1 - 1 / (1 + (dim + 1 + dim * noise_std**2) / lengths)
assert (softmax > linear).all()
errors = {"examples": lengths, "softmax": softmax, "linear attention": linear}
pd.DataFrame(errors).style.format("{:.1e}").hide()

# %% [markdown]
# If the functions have a random intercept, softmax attention is better in long contexts, because its weights sum to one and it
# reproduces the intercept ([Linear attention cannot look closer](linear_attention.ipynb)).
#
# ### What remains true, and what is assumed
#
# One statement of Theorem 2 remains true for linear functions of Gaussian tokens: the best $w$ rises with the ratio $L/\sigma$ of
# slope to noise. At a fixed query the mean squared distance of the output from its limit falls like $1/n$ at every $w$.
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | here |
# |---|---|
# | tokens and query are $N(0,I_d)$, and the query does not attend to itself | kept; sphere and ball for comparison |
# | $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$ | kept, except for the nonlinear functions of the section on curved functions |
# | $M=wI$ | no restriction for linear functions ([theorem for any lengths](#thm-lengths)); an assumption for nonlinear ones |
#
# </details>
#
# ### The exact risk
#
# Let $r=|x_q|$ be the length of the query, and let $g_i$ be the component of $x_i$ along the query. Put $\tau=wr$. Then the weights
# are $\omega_i\propto e^{\tau g_i}$. At a given $r$ two numbers determine the exact risk of linear functions:
#
# $$C=\mathbb E\sum\omega_i^2,\qquad D=\mathbb E\sum\omega_i^3-\mathbb E\big(\sum\omega_i^2\big)^2 .$$
#
# The [population risk](#term-population-risk) is the mean over $r$ of the noise term $\sigma^2C$ and the bias
#
# $$\frac{L^2}d\Big[r^2\big((1-w)^2+w(2-w)C-6w^2D\big)+dC\Big].$$
#
# <details><summary>The bias, by integration by parts</summary>
#
# The formula for the bias needs the first two moments of $m=\sum_i\omega_ig_i$, the component of the output
# $\sum_i\omega_ix_i$ along the query, which are $\mathbb Em=\tau(1-C)$ and $\mathbb Em^2=C+\tau^2(1-C-6D)$. To find
# them, let $p_k=\sum_i\omega_i^k$, and write $\partial_i$ for the derivative in $g_i$. The weights have the
# derivatives $\partial_j\omega_i=\tau\,\omega_i(\delta_{ij}-\omega_j)$. For a function $F$ of independent standard
# normal $g_1,\dots,g_n$, integration by parts gives
#
# $$\mathbb E\,g_iF=\mathbb E\,\partial_iF,\qquad\mathbb E\,g_ig_jF=\mathbb E\,\partial_i\partial_jF+\delta_{ij}\mathbb EF.$$
#
# *First moment.* $\mathbb Em=\sum_i\mathbb E\,\partial_i\omega_i=\tau\,\mathbb
# E\sum_i\omega_i(1-\omega_i)=\tau(1-C)$.
#
# *Second moment.* $\mathbb Em^2=C+\sum_{ij}\mathbb E\,\partial_i\partial_j(\omega_i\omega_j)$. The second derivatives
# are
#
# $$\begin{aligned}
# \partial_i\partial_j(\omega_i\omega_j)&=\tau^2\omega_i\omega_j(1-2\omega_i-2\omega_j+6\omega_i\omega_j),&i&\ne j,\\
# \partial_i\partial_i(\omega_i\omega_i)&=\tau^2\omega_i^2(4-10\omega_i+6\omega_i^2). \end{aligned}$$
#
# The first expression, summed over *all* pairs, is $\tau^2(1-4p_2+6p_2^2)$. For $i=j$ the second expression must
# replace it, which adds $\tau^2(3p_2-6p_3)$. The sum is $\tau^2\big(1-p_2-6(p_3-p_2^2)\big)$, so
# $\mathbb Em^2=C+\tau^2(1-C-6D)$.
#
# *The bias.* The error is $\beta\cdot(\sum_i\omega_ix_i-x_q)$. Since the $d-1$ components of the tokens perpendicular
# to the query are independent of the weights, each such component of the output has the mean square $C$. The mean
# square of the error is therefore $\frac{L^2}d$ times $\mathbb E(m-r)^2+(d-1)C$. Insert both moments. $\square$
#
# </details>
#
# The next table compares the formula for the bias with sampled contexts of five tokens.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
w, n, noise_std = 0.5, 5, 1.0
rng = stream(0, "evaluation")
x = rng.standard_normal((100_000, n, 5))
query = rng.standard_normal((100_000, 1, 5))
scores = w * (x * query).sum(axis=2)
weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
missed = (weights[..., None] * x).sum(axis=1) - query[:, 0]
# with E beta beta' = I / 5
bias = (missed**2).sum(axis=1) / 5
risk = gaussian_risk(dim=5, w=w, n=n, noise_std=noise_std)
assert abs(bias.mean() - risk.bias) < 5 * bias.std() / len(bias) ** 0.5
pd.DataFrame({"formula": [float(risk.bias)], "sampled": bias.mean()}).style.format(
    precision=4
).hide()

# %% [markdown]
# **Exercise 4.** What are $C$, $D$ and the bias at $w=0$?
#
# <details><summary>Solution</summary>
#
# All weights are $\frac1n$, so $C=\frac1n$ and $D=\frac1{n^2}-\frac1{n^2}=0$. At a query of length $r$ the bias is
# $\frac{L^2}d(r^2+\frac dn)$, and since $\mathbb Er^2=d$, its mean over queries is $L^2(1+\frac1n)$.
#
# </details>
#
# **Exercise 5.** In two dimensions and without noise, the best $w$ for two Gaussian tokens exceeds one. Why?
#
# <details><summary>Solution</summary>
#
# Given $\beta$ and the query, the mean prediction is $w(1-C)\,\beta\cdot x_q$, so the factor $w(1-C)$ should be near
# one. With two tokens $C\ge\frac12$, so at $w=1$ the factor is at most $\frac12$, and a larger $w$ increases it.
#
# </details>
#
# ### No other matrix does better
#
# For linear functions the best matrix is a multiple of the identity, whatever the lengths of the tokens are:
#
# <a id="thm-lengths"></a>
#
# > **Theorem** (the best matrix, tokens of any lengths). Let the query and the tokens be independent, and let all tokens
# > have the same law. Let this law and the law of the query be rotation invariant, have finite second moments and not be
# > concentrated at zero.
# >
# > Let $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$, $L>0$. Let the noise be independent with mean
# > zero and variance $\sigma^2\ge0$. Write $R(w)$ for the risk of the matrix $wI$. Let $n\ge2$. Then every matrix outside
# > the half-line $\{wI:w\ge0\}$ has a risk larger than $\inf_{w\ge0}R(w)$.
#
# <details><summary>Proof</summary>
#
# *Idea.* The weights depend on the query only through $v=Mx_q$. Turning $v$ away from $x_q$ lowers the correlation of
# prediction and label, and does not change the mean square of the prediction, so only the length of $v$ remains to be
# chosen. Because direction and length of the query are independent, it does not help to let $|v|/|x_q|$ depend on the
# direction.
#
# *Given the query,* let $r=|x_q|>0$, $v=Mx_q$ and $\tau=|v|$, and let $\alpha$ be the angle between $v$ and $x_q$. By
# rotation invariance $S(\tau)=\mathbb E|\sum\omega_ix_i|^2$ and $C(\tau)=\mathbb E\sum\omega_i^2$ depend on $\tau$
# alone, and $\mathbb E\sum\omega_ix_i$ is parallel to $v$, with a component $\mu(\tau)$ along $v$. The risk at this
# query is
#
# $$\tfrac{L^2}d\big[S(\tau)-2r\,\mu(\tau)\cos\alpha+r^2\big]+\sigma^2C(\tau).$$
#
# *The sign of $\mu$.* For $\tau=0$ the weights are equal, so $\mu(0)=0$. Let $g_i$ be the component of $x_i$ along
# $v$. The derivative $\mu'(\tau)$ is the expected variance of the $g_i$ under the weights, which is positive, because
# $n\ge2$ and the $g_i$ differ with positive probability. So $\mu(\tau)>0$ for $\tau>0$, and at a given $\tau>0$ the
# risk at this query is least at $\alpha=0$ and nowhere else.
#
# *The length.* Let $x_q=r\theta$ with a unit vector $\theta$. Then $r$ and $\theta$ are independent, and
# $\tau=r|M\theta|$. At $\alpha=0$ the risk at this query is the same as with the matrix $|M\theta|\,I$, and its mean
# over $r$ is $R(|M\theta|)$. So the risk of $M$ is at least $\mathbb E_\theta R(|M\theta|)\ge\inf_{w\ge0}R(w)$.
#
# Suppose that the risk of $M$ equals this infimum. Then $M\theta=c(\theta)\theta$ with $c(\theta)\ge0$ for almost
# every $\theta$, and by continuity for every $\theta$. So every vector is an eigenvector of $M$, and $M=cI$ with
# $c\ge0$. $\square$
#
# </details>
#
# ### How fast the output approaches its limit
#
# The output $\sum\omega_ix_i$ tends to its limit $w\,x_q$. For $w>\frac1{\sqrt2}$ it does so more slowly the larger $w$ is, because
# rare long queries attend to few tokens.
#
# <a id="thm-every-w"></a>
#
# > **Theorem** (many Gaussian tokens, every window). Let tokens and query be independent with the law $N(0,I_d)$. For
# > $w>0$ let $s=\frac12\big(1+\sqrt{1+4/w^2}\big)$, the positive root of $s(s-1)=1/w^2$. As $n\to\infty$, each of the two
# > means $\mathbb E\sum\omega_i^2$ and $\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ is $n^{-r(w)+o(1)}$ with the
# > exponent
# >
# > $$r(w)=\min(1,\,s-1)=\min\Big(1,\;\tfrac12\big(\sqrt{1+4/w^2}-1\big)\Big).$$
# >
# > Each mean is asymptotically equal to a constant times a power of $\log n$ times $n^{-r(w)}$.
#
# <details><summary>The constants and powers of this theorem</summary>
#
# Let $\ell=\log n$ and $c_w=\Gamma(s)\Gamma(2-s)\,\Gamma(\frac d2)^{-1}[w^2(w^2+4)]^{-d/4}$. The two means are
# asymptotically equal to
#
# | | $\mathbb E\sum\omega_i^2$ | $\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ |
# |:--|:--|:--|
# | $w^2<\frac12$ | $(1-2w^2)^{-d/2}\,n^{-1}$ | $d\,(1-w^2)(1-2w^2)^{-d/2-1}\,n^{-1}$ |
# | $w^2=\frac12$ | $(\frac23\ell)^{d/2}\,\Gamma(\frac d2+1)^{-1}\,n^{-1}$ | $\frac d2(\frac23\ell)^{d/2+1}\,\Gamma(\frac d2+2)^{-1}\,n^{-1}$ |
# | $w^2>\frac12$ | $c_w\,\ell^{d/2-1}\,n^{-(s-1)}$ | $c_w\frac{2w(s-1)^2}{\sqrt{w^2+4}}\,\ell^{d/2}\,n^{-(s-1)}$ |
#
# </details>
#
# The [proof](certificates.ipynb#proofs-gaussian) is in the appendix. The next figure compares $r(w)$ with exact
# distances in very long contexts.

# %% figure={"alt": "Against the window parameter a curve is flat at one up to 0.707 and then falls, through 0.618 at one, to about 0.1 at three. Points for each dimension lie on the curve, but above it for large window parameters in high dimension. A dashed curve meets the first curve at one and then runs below it.", "name": "fig-every-w"} jupyter={"source_hidden": true} tags=["hide-input"]
exponents = gaussian_tokens.distance_exponents(
    dims=dims, w_values=np.geomspace(0.25, 3, 19)
)
fine_w = np.geomspace(0.25, 3, 400)
wide_w = fine_w[fine_w >= 1]
guide = plots.COLORS["guide"]
figure, ax = plt.subplots(figsize=(6.9, 3.2))
plots.exact_curve(ax, fine_w, distance_exponent(fine_w), "theorem")
for dim, color in plots.colors(dims).items():
    part = exponents[exponents.dim == dim]
    label = f"exact, d = {dim}"
    ax.plot(part.w, part.value, "o", markersize=3.5, color=color, label=label)
ax.plot(wide_w, -slope / wide_w**2, "--", color=guide, label=r"$w^{-2}/\varphi$")
ax.axvline(0.5**0.5, color=guide, linewidth=0.8)
ax.set(xscale="log", xlabel="window parameter w", ylabel="exponent of 1/n")
ax.set_ylim(0, 1.08)
ax.set_xticks([0.25, 0.5, 1, 2, 3], labels=["0.25", "0.5", "1", "2", "3"])
ax.minorticks_off()
ax.legend(loc="upper right")
plt.show()

# %% [markdown]
# **How fast the output settles.** The exponent $r(w)$ with which $\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ falls. The line is
# the [theorem on every window](#thm-every-w). The points come from exact distances at $n=10^{28}$ and $10^{30}$, with the power of
# $\log n$ divided out. Line and points agree, except for large $w$ and $d$, where even these contexts are too short. The vertical
# line is at $w^2=\frac12$. The dashed curve $w^{-2}/\varphi$ meets the line at $w=1$ and runs below it for $w>1$.
#
# <details><summary>A printed bound for comparison</summary>
#
# For sub-Gaussian tokens with parameter $\varsigma\ge1$ and a query with parameter one, Proposition 3.1 of
# [Boursier and Boyer (2026)](cite:boursier2025) bounds the mean squared distance of the output from its limit by
# $c_1\varsigma^6\log n\;n^{-c_2/\varsigma^2}$, with constants $c_1$ and $c_2$ that do not depend on $\varsigma$.
# Gaussian tokens $N(0,\varsigma^2I)$ with $M=I$ correspond to our setting with $w=\varsigma$, and their exact
# exponent $r(\varsigma)$ is of the order $\varsigma^{-2}$, as in the bound. The bound can hold for all
# $\varsigma\ge1$ only if $c_2\le1/\varphi$ (dashed curve of the figure).
#
# </details>

# %% jupyter={"source_hidden": true} tags=["remove-input"]
few = gaussian_tokens.distance_exponents(dims=dims, w_values=[0.5, 0.8, 1.0, 1.25])
few = few.assign(what="divided")
rows = {"error": "error", "labels": ["dim", "w", "what"]}
template = "w = {w:g}, d = {dim}"
judge(
    "P1.G.distance",
    [
        exact_cases(few, "value", name=template, **rows),
        exact_cases(
            few[few.w == 1].assign(what="raw"),
            "raw",
            name=template + ", before the division",
            **rows,
        ),
    ],
    exact_cases(few[few.w > 0.75], "one_length", name=template, **rows),
)

# %% [markdown]
# ### The golden ratio
#
# For linear functions the golden ratio $\varphi=\frac12(1+\sqrt5)$ sets the rate at which $w^*$ tends to one:
#
# <a id="thm-golden"></a>
#
# > **Theorem** (the golden ratio). Let tokens and query be as in the [theorem on every window](#thm-every-w). Let
# > $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$, $L>0$, and let $\sigma\ge0$. There is a number
# > $n_0$, depending on $d$ and $\sigma/L$, such that for every $n\ge n_0$ exactly one matrix has the least risk. This
# > matrix is $w^*I$ with $0<w^*<1$. As $n\to\infty$,
# >
# > $$1-w^*\;\sim\;K_d\,(\log n)^{d/2+1}\,n^{-1/\varphi},\qquad K_d=\frac{\pi}{5^{1+d/4}\,\varphi^3\,\Gamma(\frac d2+1)\,\sin(\pi/\varphi)}.$$
# >
# > The constant $K_d$ is the same for all $L$ and $\sigma$. The least risk is asymptotically equal to
# > $\frac{L^2}d\,\mathbb E\Vert\sum\omega_ix_i-x_q\Vert^2$ at $w=1$, a mean that the
# > [theorem on every window](#thm-every-w) gives.
#
# The [proof](certificates.ipynb#proofs-gaussian) stands beside the last one. The law is not uniform in $\sigma/L$, and we do not
# say how fast the best $w$ approaches it. The condition $n\ge n_0$ is needed: for $d=1$ without noise the best $w$ is above one
# with 100 examples.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
lengths = [100, 1000]
alone = gaussian_window(1, lengths, 0.0).w
pd.DataFrame({"examples, d = 1": lengths, "best w": alone}).style.format(
    precision=3
).hide()

# %% [markdown]
# The next table has the exponent with which the exact $1-w^*$ falls between $n=10^{28}$ and $10^{30}$, for each dimension and
# noise. Once the power of $\log n$ is divided out, the exponent is close to $-1/\varphi\approx-0.618$ in every case.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
falls = []
for dim in dims:
    for noise_std in noise_stds:
        gap = gaussian_window(dim, [1e28, 1e30], noise_std).gap
        local = np.log(gap[1] / gap[0]) / np.log(100)
        powers_of_log = (dim / 2 + 1) * np.log(30 / 28) / np.log(100)
        left_over = local - powers_of_log
        falls.append({"d": dim, "sigma": noise_std, "exponent": left_over})
        assert abs(left_over - slope) < 0.02
pd.DataFrame(falls).style.format(precision=3).hide()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
