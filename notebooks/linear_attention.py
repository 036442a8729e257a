# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Linear attention cannot look closer
#
# *Theory often studies attention without the softmax. What is lost, and what is gained?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5, 8]  # dimensions d of the exact results
n_values = [5, 10, 20, 50, 100, 200, 500, 1000]  # context lengths of the exact curves
context_length = 20  # n of the short contexts
lipschitz = 1.0  # Lipschitz constant L
noise_std = 0.3  # standard deviation sigma of the label noise
draws = 300  # contexts for each sampled number
more_dims = [2, 3, 5, 8, 16]  # dimensions d of the comparison with neighbors ...
n_decades = [1, 2, 4, 6, 8]  # ... in contexts of 10^k tokens
lipschitz_values = [1.0, 2.0, 4.0, 8.0]  # constants L, other activations
test_contexts = 1500  # token sets on which sigmoid and ReLU weights are sampled
shifts = [0.0, 5.0, 20.0]  # shifts b of the sigmoid's scores

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icl.risk import (
    bayes_linear_risk,
    linear_optimum,
    linear_risk,
    optimal_window,
    population_risk,
)
from icl.streams import stream
from icl.tasks import Affine, Cosine, Linear, ReLU
from icl_book import notebook
from icl_book.claims import exact_cases, judge
from icl_book.figures import plots
from icl_book.measurements import linear_attention

notebook.setup(globals(), lipschitz_values=2)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
lengths = sorted({*n_values, 10**5})


def classes_of(dim):
    return {
        "linear": Linear(dim, lipschitz),
        "affine": Affine(dim, lipschitz),
        "ReLU": ReLU(dim, lipschitz),
        "cosine": Cosine(dim, lipschitz=2.0),
    }


def least_risks(dim, name, task):
    best = optimal_window(task, lengths, noise_std)
    softmax = population_risk(task, best.w, lengths, noise_std)
    linear = linear_optimum(task, lengths, noise_std)
    # another m has a larger risk
    other = linear_risk(task, 1.1 * linear.m, lengths, noise_std)
    assert (linear.floor <= linear.risk).all() and (linear.risk <= other).all()
    columns = {
        "n": lengths,
        "softmax": softmax.total,
        "linear": linear.risk,
        "floor": linear.floor,
        "error": softmax.error,
    }
    return pd.DataFrame({"dim": dim, "task": name} | columns)


risks = pd.concat(
    [
        least_risks(dim, name, task)
        for dim in dims
        for name, task in classes_of(dim).items()
    ],
    ignore_index=True,
)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
shown = 5 if 5 in dims else max(dims)
field = classes_of(shown)


def sampled_risk(name, n):
    found = bayes_linear_risk(field[name], n, noise_std, draws)
    low, high = found.interval
    return {"task": name, "n": n, "risk": found.mean, "low": low, "high": high}


short_lengths = [n for n in n_values if n <= 100]
kriging = pd.DataFrame(sampled_risk(name, n) for name in field for n in short_lengths)

# %% figure={"alt": "Four log-log panels. On purely linear functions linear attention lies below softmax attention at every context length. On affine, ReLU and cosine functions linear attention is flat while softmax attention falls. The points of kriging lie below both curves.", "name": "fig-rivals"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, axes = plt.subplots(2, 2, figsize=(6.9, 4.8), sharex=True, layout="constrained")
for ax, name in zip(axes.flat, field, strict=True):
    part = risks[(risks.task == name) & (risks.dim == shown)]
    dots = kriging[kriging.task == name]
    ax.plot(part.n, part.softmax, label="softmax")
    ax.plot(part.n, part.linear, "--", label="linear attention")
    bars = [dots.risk - dots.low, dots.high - dots.risk]
    ax.errorbar(dots.n, dots.risk, bars, fmt="ko", mfc="w", label="kriging")
    ax.set(xscale="log", yscale="log", title=f"{name}, d = {shown}")
figure.supxlabel("context length n", fontsize="medium")
figure.supylabel("least error", fontsize="medium")
plots.label_lines(axes[0, 1])
plt.show()

# %% [markdown]
# **Softmax beside linear attention.** Least error against the context length, for four [classes](#term-class) of functions.
# Solid: softmax attention at its best window. Dashed: linear attention at its best scale. Points: [kriging](#term-kriging), the
# best predictor that is linear in the labels. Neither layer can beat kriging.
#
# **In short.** Linear attention takes the scores themselves as weights. Its prediction is a linear function of the query, however
# many examples there are. So it misses every constant, kink and curve. Softmax attention can look closer to the query, and its
# error keeps falling. On purely linear functions linear attention is better: with 100,000 examples in five dimensions its error is
# only [0.017](<judged:P1.LA.wins|linear, d = 5, n = 1e5, $\sigma$ = 0.3|.2g>) times the error of softmax attention.
#
# <details><summary>How sure?</summary>
#
# - That linear attention has [a floor](#thm-floor) is proved for every matrix, every length and every noise. The errors of the
#   figure are exact, for tokens on the unit sphere. Its points are sampled.
# - [The card](judged:P1.LA.fails) tests on three classes of nonlinear functions whether the error of linear attention, divided by
#   that of softmax attention, grows with the context. It does, also if linear attention is given the constant part of the functions
#   for free. On linear functions of few directions it does not grow, so that the verdict depends on which tasks the authors mean. The
#   rule was written after we had seen the numbers.
# - [The card on linear functions](judged:P1.LA.wins) has one length and one noise, in each dimension listed.
# - Our linear attention is $\frac1n\sum_iy_i\,x_i^\top Mx_q$, as in the literature that the talk cites. With a further intercept it
#   still misses kinks and curves (Exercise 4).
# - What is known: on linear functions the best layer makes one preconditioned step of gradient descent
#   ([Ahn et al., 2023](cite:ahn2023)), and gradient flow finds it ([Zhang et al., 2024](cite:zhang2024trained)). The comparison of
#   a smooth window with the mean of the nearest neighbors is classical.
#
# </details>
#
# ## Why
#
# Each example $x_i$ has a score, its inner product $x_i\cdot x_q$ with the query $x_q$. What does a layer do with the scores?
# Softmax attention turns them into weights that are positive and sum to one. A larger [window parameter](#term-window-parameter)
# $w$ moves the weight to the examples near the query: the [window](#term-window) narrows.
#
# Linear attention takes the scores as they are. With the labels $y_i$ and a trained matrix $M$ it predicts
#
# <a id="eq-linear"></a>
#
# $$h(x_q)=\frac1n\sum_{i=1}^ny_i\,x_i^\top Mx_q .$$
#
# As a function of the query this prediction is linear, whatever the examples are. A larger $M$ makes it steeper, but no $M$ lets it
# bend. So linear attention misses the part of a function that is not linear. Call the mean square of a function its *power*.
#
# <a id="thm-floor"></a>
#
# > **Theorem** (the floor of linear attention). For every $M$, $n$ and $\sigma$ the error is at least the power of the
# > nonlinear part of the functions.
#
# On linear functions, however, linear attention has an advantage. An example on the *far* side of the sphere has a negative weight.
# For a linear function this is right, because the function takes opposite values at opposite points. So linear attention uses all
# examples, whereas a narrow softmax window hardly uses those on the far side.
#
# ## The experiment
#
# How high are the floors, and with how many examples does softmax attention get below them? Each [unit](#term-unit) has one free
# number: the window parameter $w$ for softmax, and the factor $m$ in $M=mI$ for linear attention. We take its best
# value, and compute the [population risk](#term-population-risk), the mean squared error over all functions and examples. To try
# seven dimensions, change the line `dim = 5`.

# %% tags=["experiment"]
import pandas as pd

from icl.risk import linear_optimum, optimal_window
from icl.tasks import Affine, Cosine, Linear, ReLU

dim = 5  # or 7, for example
found = []
for task in (Linear(dim), Affine(dim), ReLU(dim), Cosine(dim, lipschitz=2.0)):
    for n in (10, 1000, 100_000):
        softmax = optimal_window(task, n, noise_std=0.3).risk
        linear = linear_optimum(task, n, noise_std=0.3)
        errors = {"softmax": softmax, "linear": linear.risk, "floor": linear.floor}
        found.append({"functions": task.label, "examples": n} | errors)
pd.DataFrame(found).round(5)

# %% [markdown]
# Notice the column *linear*. On linear functions the error of linear attention falls like $1/n$. On the other functions it stops at
# the floor. Softmax attention is below the floor already with ten examples. On linear functions the error of softmax attention falls
# more slowly than $1/n$, because its narrow window averages only a part of the labels.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
last = risks[risks.n == 10**5]
last = last.assign(value=last.linear / last.softmax)
last["error"] = last.error * last.value
columns = ["dim", "value", "error"]
where = f"d = {{dim}}, n = 1e5, $\\sigma$ = {noise_std:g}"
won = last.loc[last.task == "linear", columns]
lost = last.loc[last.task == "affine", columns]
judge(
    "P1.LA.wins",
    exact_cases(won, error="error", name=f"linear, {where}"),
    exact_cases(lost, error="error", name=f"affine, {where}"),
)

# %% [markdown]
# **A small intercept is enough to turn the result around.** Add to each linear function a random intercept, uniform on
# $[-\beta L,\beta L]$. The error of softmax attention stays the same, because its weights sum to one. The error of linear
# attention grows by about $\beta^2L^2/3$, the power of the intercept. At which $\beta$ are the two errors equal? The column
# *equal at* of the next table has this $\beta$ for 100,000 examples. The column *linear / softmax* has the ratio of the two errors
# without an intercept.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
lines = risks[(risks.task == "linear") & (risks.n == 10**5)]
equal = np.sqrt(3 * (lines.softmax - lines.linear)) / lipschitz
turned = {"d": lines.dim, "linear / softmax": lines.linear / lines.softmax}
pd.DataFrame(turned | {"equal at": equal}).style.format(precision=3).hide()

# %% [markdown]
# **Exercise 1.** What does linear attention do on the quadratic functions $L(q\cdot x)^2$ of `icl.tasks.Quadratic`?
# Print the best $m$, the error and the floor at $n=10$ and $n=1000$. Explain these numbers.
#
# <details><summary>Solution</summary>
#
# ```python
# from icl.risk import linear_optimum
# from icl.tasks import Quadratic
#
# for n in (10, 1000):
#     best = linear_optimum(Quadratic(dim=5), n, noise_std=0.3)
#     print(n, best.m, round(float(best.risk), 4), round(float(best.floor), 4))
# ```
# A quadratic form is even and has no linear part, so the best $m$ is zero. Linear attention then predicts zero at
# every context length, and its error is the power of the class, which is also the floor.
#
# </details>
#
# ## What is it about the softmax?
#
# Softmax does two things: it takes the exponential of the scores, and it divides by the sum. Which of them matters? Let
# $t_i=x_i\cdot x_q$ be the inner products. Put another function $\varphi$, an *activation*, in the place of the exponential. Then
# either divide by the sum, or multiply by a learned factor $c$, the *gain*:
#
# $$\hat f=\frac{\sum_i\varphi(wt_i)\,y_i}{\sum_j\varphi(wt_j)}\ \text{(normalized)},\quad\;
#   \hat f=\frac cn\sum_i\varphi(wt_i)\,y_i\ \text{(not normalized)}.$$
#
# *By hand.* Let $w=4$, and take three tokens with $t=1$, $\frac12$ and $-1$. Softmax gives the first token about seven eighths of
# the weight. The normalized sigmoid $s(u)=1/(1+e^{-u})$ gives it about one half, because $s(4)$ and $s(2)$ are both close to one.
# Now look closer, with $w=40$. Softmax gives the first token nearly all the weight, and the sigmoid still gives it one half. The
# sigmoid *cannot* look closer.

# %% figure={"alt": "Left: risk curves against w. Softmax falls to a clear minimum, far below all others. The exponential without normalization has a shallow minimum at a small w. Sigmoid curves fall and stay flat, ReLU curves are flat throughout, tanh and linear lie far above all. Right: the best w of softmax rises with L, and the best w of the plain exponential hardly changes.", "name": "fig-activations"} jupyter={"source_hidden": true} tags=["hide-input"]
d_unit = 3 if 3 in dims else min(dims)
rough = ReLU(d_unit, max(lipschitz_values))
floors = linear_attention.floors(rough)
setting = {"noise_std": noise_std, "n": context_length, "contexts": test_contexts}
curves = linear_attention.risk_curves(
    dim=d_unit, lipschitz_values=lipschitz_values, **setting
)
best = curves.loc[curves.groupby(["activation", "lipschitz"]).risk.idxmin()]
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.6), width_ratios=[3, 2])
shades = (*plots.PALETTE[:4], plots.PALETTE[-1])  # the fifth is too near the second
colors = dict(zip(linear_attention.KERNELS, shades, strict=False))
for name, activation in linear_attention.ACTIVATIONS.items():
    mine = curves.activation == name
    line = curves[mine & (curves.lipschitz == rough.lipschitz)]
    color = colors[activation.kernel]
    dashes = "-" if activation.normalized else "--"
    axes[0].plot(line.w, line.risk, label=name, color=color, linestyle=dashes)
    axes[0].fill_between(line.w, line.low, line.high, color=color, alpha=0.2)
    if activation.kernel == "exp":
        line = best[best.activation == name]
        axes[1].plot(line.lipschitz, line.w, "o", color=color, linestyle=dashes)
axes[0].set(xscale="log", yscale="log", xlabel="window parameter w", ylabel="risk")
axes[1].set(xscale="log", xlabel="Lipschitz constant L", ylabel="best w")
axes[1].set_xticks(lipschitz_values, [f"{L:g}" for L in lipschitz_values])
axes[1].minorticks_off()
axes[0].yaxis.set_minor_formatter("")
handles, names = axes[0].get_legend_handles_labels()
figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=9)
plt.show()

# %% [markdown]
# **Other functions of the scores.** Left: error against $w$ on the ReLU class at the largest slope, with normalized weights (solid)
# and with the best gain (dashed). Bands are intervals of sampled values. The lines of tanh and linear lie on each other. Right: the
# best $w$ of the exponential against the slope. It rises clearly only with normalized weights.
#
# **The exponential matters**, because it grows faster than every power. So the nearest token gets all the weight as $w$ grows. If an
# activation grows only like a power, the other tokens keep a share of the weight.
#
# <details><summary>Theorem: which activations can look closer</summary>
#
# > **Theorem** (a window shrinks for rapidly varying activations). Let $\varphi\ge0$ be nondecreasing, with
# > $\varphi(s)>0$ for $s>0$. Let the $t_i$ be distinct, with $t_1>0$ the largest.
# >
# > 1. Suppose that $\varphi(\lambda s)/\varphi(s)\to0$ as $s\to\infty$, for every $0<\lambda<1$. (Such a $\varphi$ grows
# >   faster than every power.) Then the normalized weight of the nearest token tends to one as $w\to\infty$.
# > 2. Let $0\le\rho<\infty$, and suppose instead that $\varphi(\lambda s)/\varphi(s)\to\lambda^\rho$ for every
# >   $0<\lambda<1$. Then the weights of the tokens with $t_i>0$ become proportional to $t_i^\rho$ as $w\to\infty$.
#
# By part 2 the sigmoid ($\rho=0$) gives, for large $w$, nearly the same weight to all tokens in the hemisphere around the query,
# and ReLU ($\rho=1$) weights them in proportion to $t_i$. Sigmoid and ReLU both leave an error even in an infinite context, as the
# table below says. The activations $\tanh$ and the identity are odd, so that their predictors miss the even part of $f$. We do not
# normalize these two, because their weights can sum to zero.
#
# *Proof.* Let $t_i<t_1$. Token $i$ has $\varphi(wt_i)/\varphi(wt_1)$ times the weight of token 1. If $t_i>0$, put
# $\lambda=t_i/t_1$, so that $\varphi(wt_i)=\varphi(\lambda wt_1)$. The quotient then tends to zero in part 1, and to
# $(t_i/t_1)^\rho$ in part 2. If $t_i\le0$, then $\varphi(wt_i)\le\varphi(\lambda wt_1)$ for any $\lambda\in(0,1)$,
# because $\varphi$ is nondecreasing, and so in part 1 the quotient tends to zero, too.
#
# </details>
#
# **Normalization matters, too.** Without it the best window hardly depends on how steep the functions are, if the label noise
# is small. Why? Without normalization even a constant function is
# multiplied by a random number, the total weight of the examples. So the function itself acts as noise. Steeper functions bring
# more of this noise, which asks for a wider window, and more blur, which asks for a narrower one. If the label noise is small,
# these two nearly cancel. With normalized weights only differences of the
# function's values count. Then steeper functions bring only more blur, and want a narrower window.
#
# <details><summary>How much noise a function makes</summary>
#
# Without normalization the noise variance $\sigma^2$ becomes $\sigma^2+k(1)$, where $k(1)$ is the power of the functions. If
# $k(1)$ is much larger than $\sigma^2$, steeper functions raise this noise as much as they raise the blur.
#
# </details>
#
# ## For specialists: the activations in numbers

# %% jupyter={"source_hidden": true} tags=["remove-input"]
summary = floors.merge(linear_attention.compare_adaptation(curves), on="activation")
heads = {
    "activation": "{activation}",
    "error left by an infinite context / variance": "{floor:.3f}",
    "risk / risk of softmax": "{over_softmax:.2f}",
    "price of a fixed w": "{price:.2f}",
}
caption = f"ReLU class, d = {d_unit}, n = {context_length}, L = {rough.lipschitz:g}"
plots.table(summary, heads, caption)

# %% [markdown]
# The second column of the table is the error that an infinite context leaves at the best $w$ and gain, divided by the variance of
# the class. This number can exceed one, because the odd activations miss the whole constant part of $f$, which counts in the error
# and not in the variance. For the last column we take the best $w$ of the smallest slope, and use it at the largest slope. Its
# *price* is the error, divided by the least error at the largest slope.
#
# **A shift repairs the sigmoid.** If a number $b$ is subtracted from the scores, then $s(u-b)\approx e^{-b}e^{u}$ for
# large $b$, and normalization removes the factor $e^{-b}$. So even a bounded activation can come close to softmax:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
task = ReLU(d_unit, max(lipschitz_values))
shifted = linear_attention.compare_shifted_sigmoid(
    task,
    noise_std=noise_std,
    n=context_length,
    contexts=test_contexts,
    shifts=shifts,
)
repaired = {"b": shifted["shift"], "error / error of softmax": shifted.ratio}
pd.DataFrame(repaired).style.format(
    {"b": "{:.0f}", "error / error of softmax": "{:.3f}"}
).hide()

# %% [markdown]
# **Exercise 2.** In long contexts the least error of the ReLU class is proportional to
# $(\text{noise variance}/n)^{3/(d+2)}$. How much larger is then the least error of the exponential without normalization than the
# least error of softmax?
#
# <details><summary>Solution</summary>
#
# The exponential without normalization has $k(1)+\sigma^2$ in place of the noise variance $\sigma^2$ of softmax, where $k(1)$ is the
# power of the functions. So it has about $\big(1+k(1)/\sigma^2\big)^{3/(d+2)}$ times the error of softmax. Since this factor does not
# depend on $n$, longer contexts do not close the gap.
#
# </details>
#
# ## What the paper says
#
# The abstract of the paper ends with an answer to the question of this page:
#
# > we show that this adaptivity relies crucially on the softmax activation and thus cannot be replicated by the
# > linear activation often studied in prior theoretical analyses (abstract)
#
# On ReLU functions, squares and cosines this is true: the error of linear attention, divided by that of softmax attention, grows
# like a power of $n$. On linear functions linear attention has the smaller error. So it depends on which tasks
# are meant. [(?)](judged:P1.LA.fails)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
setting = {"lipschitz": lipschitz, "noise_std": noise_std}
nonlinear = {"tasks": ["ReLU", "quadratic", "cosine"], "dims": dims}
spared = linear_attention.growth_slopes(**nonlinear, **setting, intercept=False)
whole = linear_attention.growth_slopes(**nonlinear, **setting, intercept=True)
lines = linear_attention.growth_slopes(
    tasks=["linear"], dims=dims, **setting, intercept=False
)
few = linear_attention.growth_slopes(
    tasks=["linear"], dims=[2, 3], **setting, intercept=False
)
raised = linear_attention.growth_slopes(
    tasks=["affine"], dims=[2, 3], **setting, intercept=True
)
columns = {"value": "slope", "error": "error"}
judge(
    "P1.LA.fails",
    exact_cases(spared, **columns, name="{task}, d = {dim}"),
    exact_cases(lines, **columns, name="{task}, d = {dim}"),
    readings={
        "intercept": exact_cases(whole, **columns, name="{task}, d = {dim}"),
        "low-rank": exact_cases(few, **columns, name="linear, k = {dim}, any d"),
    },
    could={"low-rank": exact_cases(raised, **columns, name="affine, k = {dim}, any d")},
)

# %% [markdown]
# The abstract also says that a unit implements "a nearest-neighbors predictor adapted to the landscape of the pretraining tasks".
# This is true: nearer examples always have larger weights.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
rng = stream(0, "monte carlo")
x = rng.standard_normal((draws, context_length + 1, shown))
x = x / np.linalg.norm(x, axis=-1, keepdims=True)
cosine = np.einsum("bnd,bd->bn", x[:, :-1], x[:, -1])
nearer = cosine[:, :, None] > cosine[:, None]


def disorder(task):
    w = optimal_window(task, context_length, noise_std).w
    weights = np.exp(w * (cosine - 1))
    lighter = weights[:, :, None] < weights[:, None]
    return (nearer & lighter).sum() / nearer.sum()


judge(
    "P1.LA.neighbors",
    pd.DataFrame(
        {"task": name, "disorder": disorder(task)} for name, task in field.items()
    ),
    value="disorder",
    name=f"{{task}}, d = {shown}, n = {context_length}",
)

# %% [markdown]
# ## For specialists
#
# ### The best linear attention
#
# Let $k(t)=\sum_\ell a_\ell P_\ell(t)$ be the [covariance](#term-covariance) of the class in
# [Gegenbauer polynomials](#term-gegenbauer-polynomials), with $t=x\cdot x'$ and $P_\ell(1)=1$. The class has the
# power $k(1)=\mathbb Ef(x)^2$, of which $a_1$ belongs to the part of $f$ that is linear in $x$. On linear functions the error of
# softmax attention falls like $n^{-4/(d+3)}$, and that of linear attention like $1/n$.
#
# > **Theorem** (the best linear attention). For every $M$, $n$ and $\sigma$ the risk is at least the power of the nonlinear
# > part: $\;\mathbb E(h-f(x_q))^2\ge k(1)-a_1$. For a rotation-invariant class the matrix $mI$ is a best $M$, with
# >
# > $$m=\frac{a_1/d}{\frac{k(1)+\sigma^2}{nd}+\big(1-\frac1n\big)\frac{a_1}{d^2}},\qquad \mathbb E(h-f(x_q))^2=k(1)-\frac{a_1}dm .$$
#
# <details><summary>Proof</summary>
#
# *Floor.* Split $f$ into its linear part $f_1$ and the rest $g$. Given $f$ and the context, $x_q$ is uniform on the
# sphere. As a function of $x_q$, the difference $h-f_1$ is linear, so it is orthogonal to $g$, and the risk is
# therefore at least $\mathbb Eg(x_q)^2=k(1)-a_1$.
#
# *Form.* The risk is a convex quadratic function of $M$. It depends on the class only through $k(x\cdot x')$, so $M$
# and $R^\top MR$ have the same risk for every orthogonal matrix $R$. Since the mean of $R^\top MR$ over all $R$ is a
# multiple of $I$, this multiple has by convexity at most the risk of $M$.
#
# *Constants.* Let $M=mI$ and $t_i=x_i\cdot x_q$. The polynomial $P_1(t)=t$ is orthogonal to all other $P_\ell$, and
# $\mathbb E\,P_1(t)^2=\frac1d$. The mixed term is therefore
#
# $$\mathbb E\,f(x_q)h(x_q)=m\,\mathbb E\,k(t_1)\,t_1=m\frac{a_1}d .$$
#
# The square term is $\mathbb Eh^2=\frac{m^2}{n^2}\sum_{i,j}\mathbb E\,y_iy_jt_it_j$. Its $n$ terms with $i=j$ are
# $(k(1)+\sigma^2)/d$ each, and its $n(n-1)$ terms with $i\ne j$ are $\mathbb E\,k(x_i\cdot x_j)\,t_it_j$. Since, by
# the addition theorem, the mean of $P_\ell(x_i\cdot x_j)$ over rotations of $x_i$ about $x_q$ is
# $P_\ell(t_i)P_\ell(t_j)$, each term with $i\ne j$ is $\sum_\ell a_\ell(\mathbb E\,tP_\ell(t))^2=a_1/d^2$. Together
#
# $$\mathbb E(h-f)^2=k(1)-2m\frac{a_1}d+m^2\Big[\frac{k(1)+\sigma^2}{nd}+\Big(1-\frac1n\Big)\frac{a_1}{d^2}\Big],$$
#
# which is least at the stated $m$. $\square$
#
# </details>
#
# *By hand.* With one token in two dimensions, linear attention misses half of the power of a linear function. Let
# $f(x)=q\cdot x$ with a random unit vector $q$, without noise, so that $k(1)=a_1=\frac12$. The formula gives
# $m=\frac{1/4}{1/4}=1$ and the risk $\frac12-\frac14=\frac14$. A direct computation agrees: for $m=1$ the prediction
# is $h(x_q)=(q\cdot x_1)(x_1\cdot x_q)$, so that linear attention replaces $q$ by its projection onto $x_1$. On
# average the projection loses half of the squared length of $q$.

# %% [markdown]
# **Exercise 3.** Print $m$, the risk and the floor of the example by hand with `linear_optimum`. Which of the three
# changes if there are two tokens?
#
# <details><summary>Solution</summary>
#
# ```python
# from icl.risk import linear_optimum
# from icl.tasks import Linear
#
# for n in (1, 2):
#     print(linear_optimum(Linear(dim=2), n, noise_std=0.0))
# ```
# The floor stays zero, and $m$ and the risk change: by the formula for $m$ above they are $m=\frac43$ and
# $\frac12-\frac13=\frac16$.
#
# </details>
#
# **Exercise 4.** Add an intercept to [the prediction of linear attention](#eq-linear), so that the prediction is
# $h(x_q)+\frac1n\sum_iy_i$. What is the floor of the ReLU class then?
#
# <details><summary>Solution</summary>
#
# The prediction is now affine in $x_q$, and the mean of the labels estimates the constant part of $f$, so the floor
# is $\sum_{\ell\ge2}a_\ell$. Let $\ell_1$ and $\ell_2$ be the slopes of a ReLU function on both sides of its kink,
# and $t=q\cdot x$. The part that is not affine is $\frac12(\ell_1+\ell_2)(|t|-\mathbb E|t|)$, where the first factor
# has the mean square $L^2/6$. Hence the floor is $\frac{L^2}{6}\big(\frac1d-(\mathbb E|t|)^2\big)$.
#
# </details>
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | here |
# |---|---|
# | tokens uniform on the sphere, class rotation invariant | as assumed |
# | intercepts are part of the tasks | as printed for the ReLU class; below, linear attention is also given the constant for free |
# | $M$ any matrix | proved for every matrix |
#
# </details>
#
# The card on nonlinear tasks also tests linear functions of few directions, $f(x)=a^\top B^\top x$, where $B$ has $k$ orthonormal
# columns and $B^\top x$ is uniform on the sphere $S^{k-1}$. With $M=mBB^\top$ both linear and softmax attention predict as if
# $B^\top x$ were the input.
#
# ### Against the mean of the nearest neighbors
#
# A softmax unit gives every token some weight. A nearest-neighbor mean gives weight only to the $k$ nearest tokens. What does the
# soft edge of the softmax cost? The next table has the least risk of softmax attention divided by the risk of the nearest-neighbor
# mean with the best $k$, for affine functions. With ten tokens softmax attention has the smaller risk. In long contexts the
# quotient approaches a constant that depends only on $d$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
quotients = pd.DataFrame(
    {"d": dim, "n": 10**decade}
    | linear_attention.compare_with_neighbors(
        Affine(dim, lipschitz), 10**decade, noise_std
    )
    for dim in more_dims
    for decade in n_decades
)
quotients = quotients.pivot(index="d", columns="n", values="value")
quotients["limit"] = [linear_attention.price_of_softmax(dim) for dim in more_dims]
quotients.style.format(precision=3)

# %% [markdown]
# <a id="thm-neighbors"></a>
#
# > **Theorem** (softmax against the nearest neighbors). Take the setting of
# > [the law of the window](theorem2_scaling.ipynb#thm-law) with $\rho=4$, that is, for smooth functions. Put $m=d-1$, and
# > let $V_m=\pi^{m/2}/\Gamma(\frac m2+1)$ be the volume of the unit ball of $\mathbb R^m$. As $n\to\infty$, the least
# > risk of softmax attention divided by the least risk of the mean over the $k$ nearest tokens tends to
# >
# > $$\Big[(m+2)^{2m}\,\big(V_m(4\pi)^{-m/2}\big)^4\Big]^{\frac1{m+4}}.$$
# >
# > This limit is below one for $d=2$, one for $d=3$ and below $e^2/4$ in every dimension, and it tends to $e^2/4$ as
# > $d\to\infty$.
#
# The theorem is the classical comparison of a Gaussian kernel with a uniform one ([Epanechnikov, 1969](cite:epanechnikov1969);
# [Wand and Jones, 1995](cite:wand1995kernel)), because near the query the sphere is nearly flat. In two dimensions softmax
# attention wins even in the longest contexts. In three dimensions both have the same risk to leading order. In more dimensions the
# smooth edge of the softmax weights costs less than a factor $e^2/4$. Attention with a hard edge exists, too: sparse attention
# corresponds to kernels of bounded support ([Santos et al., 2026](cite:santos2026)).
#
# The [proof](certificates.ipynb#proof-neighbors) is in the appendix. The card compares exact quotients with the limit in two
# contexts, in which the law gives $w^*=10^3$ and $w^*=10^5$. From the shorter context to the longer one, the distance from the
# limit falls by a factor of about $100$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
long = linear_attention.compare_in_long_contexts(
    tasks=["affine", "quadratic"],
    dims=more_dims,
    w_values=[1e3, 1e5],
    noise_std=noise_std,
)
next_dim = long[long.w == 1e5].assign(limit=lambda table: table.next_limit)
columns = {"error": "error", "labels": ["dim", "task", "w", "limit"]}
template = "{task}, d = {dim}, w = {w:.0e}"
judge(
    "P1.LA.edges",
    exact_cases(long, name=template, **columns),
    exact_cases(next_dim, name=template + ", limit of d + 1", **columns),
)

# %% [markdown]
# ### The risk without normalization
#
# On the ReLU class the activations sigmoid and ReLU leave an error even in an infinite context. By the
# [Funk-Hecke formula](#term-funk-hecke-formula) the predictor in an infinite context multiplies the part of $f$ of degree $\ell$ by
# a number $\lambda_\ell$. With $m_\ell=\mathbb E[\varphi(wt)P_\ell(t)]$ this number is $m_\ell/m_0$ for normalized weights, and
# $cm_\ell$ otherwise. The error $\sum_\ell a_\ell(1-\lambda_\ell)^2$ remains. Without normalization the exact risk is this error
# plus a term of order $\frac1n$:
#
# <a id="eq-gain"></a>
#
# $$\mathbb E(\hat f-f)^2=\sum_\ell a_\ell(1-cm_\ell)^2
#   +\frac{c^2}n\Big[(k(1)+\sigma^2)\,\mathbb E\varphi^2-\sum_\ell a_\ell m_\ell^2\Big].$$
#
# In a narrow window the last sum is small. Noise alone would give the term $\frac{c^2}n\sigma^2\,\mathbb E\varphi^2$, so that
# $\sigma^2$ has become $k(1)+\sigma^2$. Both $k(1)$ and all $a_\ell$ are proportional to $L^2$. If $k(1)$ is much larger than
# $\sigma^2$, nearly the whole risk is therefore proportional to $L^2$, and the best $w$ hardly changes with $L$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
