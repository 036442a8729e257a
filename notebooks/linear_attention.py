# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Why softmax?
#
# *Theory often studies attention without the softmax. What is lost?*
#
# **Short answer.** Linear attention takes the scores $x_i^\top Mx_q$ themselves as weights, so it cannot learn the
# nonlinear part of a function. Its error never falls below the mean square of this part, whereas that of softmax
# attention keeps falling as the context grows. The abstract says that linear attention cannot replicate the adaptivity of
# softmax ([depends on the reading](judged:P1.LA.fails)). On linear functions, however, linear attention **wins**: at
# $d=5$, $n=10^5$ and $\sigma=0.3$ its error is [0.017](<judged:P1.LA.wins|linear, d = 5, n = 1e5, $\sigma$ = 0.3|.2g>)
# times the error of softmax attention. Two properties of softmax matter. Because the exponential grows faster than every
# power, the window can be as narrow as needed, and because the weights sum to one, the window can follow the Lipschitz
# constant of the functions.

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

# %% [markdown]
# ## In plain words
#
# Much of the theory of in-context learning is about linear attention: on linear functions the best layer makes one
# preconditioned step of gradient descent ([Ahn et al., 2023](cite:ahn2023)), and gradient flow finds it
# ([Zhang et al., 2024](cite:zhang2024trained)).
#
# The output of linear attention is a linear function of the query, however long the context is, so that an intercept, a
# kink or a curve of the true function stays as error. A token on the far side of the sphere has a negative score and
# therefore a *negative* weight, which is right for linear functions, but wrong for constants and all other even
# functions.
#
# The error of softmax attention can fall to zero, because its [window](#term-window) can shrink. For a linear function,
# however, the tokens on the far side carry information that a narrow window hardly uses.
#
# ## The experiment: the least risks of both
#
# Each [unit](#term-unit) has one free number: the [window parameter](#term-window-parameter) $w$ for softmax attention,
# and the factor $m$ in $M=mI$ for linear attention. The next cell computes the least [risk](#term-population-risk) of
# each unit over this number, and the *floor*, a bound below which the risk of linear attention never falls. To try $d=7$,
# replace the first line of the next cell by `dims = [7]`.

# %%
dims = list(dims)  # or [7], for example
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

# %%
d_show = dims[min(2, len(dims) - 1)]
field = classes_of(d_show)


def sampled_risk(name, n):
    found = bayes_linear_risk(field[name], n, noise_std, draws)
    low, high = found.interval
    return {"task": name, "n": n, "risk": found.mean, "low": low, "high": high}


short_lengths = [n for n in n_values if n <= 100]
kriging = pd.DataFrame(sampled_risk(name, n) for name in field for n in short_lengths)

# %% figure={"alt": "Four log-log panels. On purely linear functions linear attention lies below softmax attention at every context length. On affine, ReLU and cosine functions linear attention is flat while softmax attention falls. The Bayes-linear points lie below both curves.", "name": "fig-rivals"}
figure, axes = plt.subplots(2, 2, figsize=(6.9, 4.8), sharex=True, layout="constrained")
for ax, name in zip(axes.flat, field, strict=True):
    part = risks[(risks.task == name) & (risks.dim == d_show)]
    dots = kriging[kriging.task == name]
    ax.plot(part.n, part.softmax, label="softmax")
    ax.plot(part.n, part.linear, "--", label="linear attention")
    bars = [dots.risk - dots.low, dots.high - dots.risk]
    ax.errorbar(dots.n, dots.risk, bars, fmt="ko", mfc="w", label="Bayes-linear")
    ax.set(xscale="log", yscale="log", title=f"{name}, d = {d_show}")
figure.supxlabel("context length n", fontsize="medium")
figure.supylabel("risk", fontsize="medium")
plots.label_lines(axes[0, 1])
plt.show()

# %% [markdown]
# **Softmax beside linear attention.** Least risk against the context length, for four [classes](#term-class) of
# functions. Solid: softmax attention at its best $w$, exact. Dashed: linear attention at its best $m$, exact. The points
# (Bayes-linear) are sampled and show [kriging](#term-kriging), the best predictor that is linear in the labels.
#
# The cells take about ten seconds on two cores. Kriging takes the best weights for every arrangement of the tokens, so
# neither attention layer can have a smaller risk. In long contexts linear attention has the smaller risk of the two
# layers on linear functions, and softmax attention on all other classes that we try. For linear functions and $n=10^5$,
# the next cell prints the risk of linear attention divided by that of softmax attention. At $d=5$ expect
# [0.017](<judged:P1.LA.wins|linear, d = 5, n = 1e5, $\sigma$ = 0.3|.2g>).

# %%
for row in risks[(risks.task == "linear") & (risks.n == 10**5)].itertuples():
    print(f"d = {row.dim}: linear over softmax {row.linear / row.softmax:.2g}")

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
# ## What is printed, and what is true
#
# On the nonlinear functions that we try, this sentence of the abstract is true:
#
# > we show that this adaptivity relies crucially on the softmax activation and thus cannot be replicated by the linear
# > activation often studied in prior theoretical analyses (abstract)
#
# None of our sources has a theorem on linear attention. Like the literature that the slides cite, we let it take the
# scores themselves as weights:
#
# <a id="eq-linear"></a>
#
# $$h(x_q)=\frac1n\sum_{i=1}^ny_i\,x_i^\top Mx_q .$$
#
# Let $k(t)=\sum_\ell a_\ell P_\ell(t)$ be the [covariance](#term-covariance) of the class in
# [Gegenbauer polynomials](#term-gegenbauer-polynomials), with $t=x\cdot x'$ and $P_\ell(1)=1$. The *power* of a function
# is its mean square. The class has the power $k(1)=\mathbb Ef(x)^2$, of which $a_1$ belongs to the part of $f$ that is
# linear in $x$.
#
# > **What is true: the floor of linear attention.** For every $M$, $n$ and $\sigma$ the risk is at least the power of the
# > nonlinear part: $\;\mathbb E(h-f(x_q))^2\ge k(1)-a_1$. For a rotation-invariant class the matrix $mI$ is a best $M$,
# > with
# >
# > $$m=\frac{a_1/d}{\frac{k(1)+\sigma^2}{nd}+\big(1-\frac1n\big)\frac{a_1}{d^2}},\qquad
# >   \mathbb E(h-f(x_q))^2=k(1)-\frac{a_1}dm .$$
#
# <details><summary>Proof</summary>
#
# *Floor.* Split $f$ into its linear part $f_1$ and the rest $g$. Given $f$ and the context, $x_q$ is uniform on the
# sphere. As a function of $x_q$, the difference $h-f_1$ is linear, so it is orthogonal to $g$, and the risk is therefore
# at least $\mathbb Eg(x_q)^2=k(1)-a_1$.
#
# *Form.* The risk is a convex quadratic function of $M$. It depends on the class only through $k(x\cdot x')$, so $M$ and
# $R^\top MR$ have the same risk for every orthogonal matrix $R$. Since the mean of $R^\top MR$ over all $R$ is a multiple
# of $I$, this multiple has by convexity at most the risk of $M$.
#
# *Constants.* Let $M=mI$ and $t_i=x_i\cdot x_q$. The polynomial $P_1(t)=t$ is orthogonal to all other $P_\ell$, and
# $\mathbb E\,P_1(t)^2=\frac1d$. The mixed term is therefore
#
# $$\mathbb E\,f(x_q)h(x_q)=m\,\mathbb E\,k(t_1)\,t_1=m\frac{a_1}d .$$
#
# The square term is $\mathbb Eh^2=\frac{m^2}{n^2}\sum_{i,j}\mathbb E\,y_iy_jt_it_j$. Its $n$ terms with $i=j$ are
# $(k(1)+\sigma^2)/d$ each, and its $n(n-1)$ terms with $i\ne j$ are $\mathbb E\,k(x_i\cdot x_j)\,t_it_j$. Since, by the
# addition theorem, the mean of $P_\ell(x_i\cdot x_j)$ over rotations of $x_i$ about $x_q$ is $P_\ell(t_i)P_\ell(t_j)$,
# each term with $i\ne j$ is $\sum_\ell a_\ell(\mathbb E\,tP_\ell(t))^2=a_1/d^2$. Together
#
# $$\mathbb E(h-f)^2=k(1)-2m\frac{a_1}d+m^2\Big[\frac{k(1)+\sigma^2}{nd}+\Big(1-\frac1n\Big)\frac{a_1}{d^2}\Big],$$
#
# which is least at the stated $m$. $\square$
#
# </details>
#
# ## By hand: one token
#
# With one token in two dimensions, linear attention misses half of the power of a linear function. Let $f(x)=q\cdot x$
# with a random unit vector $q$, without noise, so that $k(1)=a_1=\frac12$. The formula gives $m=\frac{1/4}{1/4}=1$ and
# the risk $\frac12-\frac14=\frac14$.
#
# A direct computation agrees. For $m=1$ the prediction is $h(x_q)=(q\cdot x_1)(x_1\cdot x_q)$, so that linear attention
# replaces $q$ by its projection onto $x_1$. On average the projection loses half of the squared length of $q$, and the
# risk is half of $k(1)$.

# %%
by_hand = linear_optimum(Linear(dim=2), n=1, noise_std=0.0)
print(f"m = {by_hand.m:.3f}   risk = {by_hand.risk:.3f}   floor = {by_hand.floor:.3f}")

# %% [markdown]
# **Exercise 1.** Add an intercept to [the prediction of linear attention](#eq-linear), so that the prediction is
# $h(x_q)+\frac1n\sum_iy_i$. What is the floor of the ReLU class then?
#
# <details><summary>Solution</summary>
#
# The prediction is now affine in $x_q$, and the mean of the labels estimates the constant part of $f$, so the floor is
# $\sum_{\ell\ge2}a_\ell$. Let $\ell_1$ and $\ell_2$ be the slopes of a ReLU function on both sides of its kink, and
# $t=q\cdot x$. The part that is not affine is $\frac12(\ell_1+\ell_2)(|t|-\mathbb E|t|)$, where the first factor has the
# mean square $L^2/6$. Hence the floor is $\frac{L^2}{6}\big(\frac1d-(\mathbb E|t|)^2\big)$.
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
# The rule of the card P1.LA.fails was written after we had seen the numbers.
#
# </details>
#
# ## What linear attention sees
#
# The next card divides the least risk of linear attention by the least risk of softmax attention. On the nonlinear
# classes this ratio grows like a power of $n$, even if linear attention is spared the constant part of the functions.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
setting = {"lipschitz": lipschitz, "noise_std": noise_std}
nonlinear = {"tasks": ["ReLU", "quadratic", "cosine"], "dims": dims}
spared = linear_attention.growth(**nonlinear, **setting, intercept=False)
whole = linear_attention.growth(**nonlinear, **setting, intercept=True)
lines = linear_attention.growth(tasks=["linear"], dims=dims, **setting, intercept=False)
few = linear_attention.growth(tasks=["linear"], dims=[2, 3], **setting, intercept=False)
raised = linear_attention.growth(
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
# The last reading of the card is about linear functions $f(x)=a^\top B^\top x$, where $B$ has $k$ orthonormal columns.
# As in [Theorem 4](theorem4_low_rank.ipynb), $B^\top x$ is uniform on the sphere $S^{k-1}$. With
# $M=mBB^\top$ both linear and softmax attention predict as if $B^\top x$ were the input.
#
# ## A nearest-neighbors predictor?
#
# The abstract says that a unit implements "a nearest-neighbors predictor adapted to the landscape of the pretraining
# tasks". A softmax unit with $M=wI$ and $w>0$ is such a predictor in one sense: it predicts a mean of labels in which
# nearer examples weigh more.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
rng = stream(0, "monte carlo")
x = rng.standard_normal((draws, context_length + 1, d_show))
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
    name=f"{{task}}, d = {d_show}, n = {context_length}",
)

# %% [markdown]
# While a softmax unit gives every token some weight, a nearest-neighbor mean gives weight only to the $k$ nearest tokens.
# The next cell divides the least risk of softmax attention, at its best $w$, by the risk of the nearest-neighbor mean
# with the best $k$, for affine functions. With ten tokens the quotient is below one in every dimension of the table, so
# softmax attention has the smaller risk. In long contexts the quotient approaches a constant that depends on $d$ alone.

# %%
quotients = pd.DataFrame(
    {"d": dim, "n": 10**decade}
    | linear_attention.neighbors(Affine(dim, lipschitz), 10**decade, noise_std)
    for dim in more_dims
    for decade in n_decades
)
quotients = quotients.pivot(index="d", columns="n", values="value")
quotients["limit"] = [linear_attention.price_of_softmax(dim) for dim in more_dims]
print(quotients.round(3).to_string())

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
# The theorem is the classical comparison of a Gaussian kernel with a uniform one
# ([Epanechnikov, 1969](cite:epanechnikov1969); [Wand and Jones, 1995](cite:wand1995kernel)), because near the query the
# sphere is nearly flat. In two dimensions softmax attention wins even in the longest contexts, in three dimensions both
# have the same risk to leading order, and in more dimensions the smooth edge of the softmax weights costs less than a
# factor $e^2/4$. Attention with a hard edge exists, too: sparse attention corresponds to kernels of bounded support
# ([Santos et al., 2026](cite:santos2026)).
#
# The [proof](certificates.ipynb#proof-neighbors) is in the appendix. The card compares exact quotients with the limit in
# contexts that are so long that the law gives $w^*=10^3$ and $w^*=10^5$. From the first of them to the second, the
# distance from the limit falls by a factor of about $100$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
long = linear_attention.long_neighbors(
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
# ## Where linear attention wins
#
# On linear functions the risk of linear attention falls like $1/n$, but that of softmax attention only like
# $n^{-4/(d+3)}$ for $d\ge2$. The reason is that softmax attention can only average labels over a window, whereas linear
# attention fits a linear function by one step of gradient descent.
#
# A small intercept removes this advantage. Add to each linear function a random intercept, uniform on
# $[-\beta L,\beta L]$, where $\beta=1$ gives the affine class. Softmax attention keeps its risk, since its weights sum to
# one, while the risk of linear attention grows by about $\beta^2L^2/3$. The next cell prints the $\beta$ at which both
# risks are equal for $n=10^5$:

# %%
for row in risks[(risks.task == "linear") & (risks.n == 10**5)].itertuples():
    beta = np.sqrt(3 * (row.softmax - row.linear)) / lipschitz
    print(f"d = {row.dim}: an intercept of {beta:.3f} times that of the affine class")

# %% [markdown]
# **Exercise 2.** What does linear attention do on the quadratic functions $L(q\cdot x)^2$ of `icl.tasks.Quadratic`?
# Print the best $m$, the risk and the floor at $n=10$ and $n=1000$. Explain these numbers.
#
# <details><summary>Solution</summary>
#
# ```python
# from icl.tasks import Quadratic
#
# for n in (10, 1000):
#     best = linear_optimum(Quadratic(dim=5), n, noise_std=0.3)
#     print(n, best.m, round(float(best.risk), 4), round(float(best.floor), 4))
# ```
# A quadratic form is even and has no linear part, so $a_1=0$ and the best $m$ is zero. Linear attention then predicts
# zero at every context length, and its risk is the power of the class, which is also the floor.
#
# </details>
#
# ## Other activations
#
# A machine-written summary of the paper asks whether the window adapts "for other activation functions besides softmax,
# such as sigmoid or tanh activations". We compare five. Let $M=wI$ and $t_i=x_i\cdot x_q$. An activation $\varphi$ gives
# two predictors, of which the first normalizes its weights, and the second has a learned factor $c$, the *gain*:
#
# $$\hat f=\frac{\sum_i\varphi(wt_i)\,y_i}{\sum_j\varphi(wt_j)}\ \text{(normalized)},\quad\;
#   \hat f=\frac cn\sum_i\varphi(wt_i)\,y_i\ \text{(not normalized)}.$$
#
# *By hand.* Let $w=4$, and take three tokens with $t=1$, $\frac12$ and $-1$. Softmax gives the first token the share
# $e^4/(e^4+e^2+e^{-4})$ of the weight, which is about seven eighths. The normalized sigmoid $s(u)=1/(1+e^{-u})$ gives it
# about one half, since $s(4)$ and $s(2)$ are both close to one. At $w=40$ softmax gives the first token nearly all the
# weight, and the sigmoid still one half.
#
# > **Theorem** (A window shrinks for rapidly varying activations). Let $\varphi\ge0$ be nondecreasing, with
# > $\varphi(s)>0$ for $s>0$. Let the $t_i$ be distinct, with $t_1>0$ the largest.
# >
# > 1. Suppose that $\varphi(\lambda s)/\varphi(s)\to0$ as $s\to\infty$, for every $0<\lambda<1$. (Such a $\varphi$ grows
# >   faster than every power.) Then the normalized weight of the nearest token tends to one as $w\to\infty$.
# > 2. Let $0\le\rho<\infty$, and suppose instead that $\varphi(\lambda s)/\varphi(s)\to\lambda^\rho$ for every
# >   $0<\lambda<1$. Then the weights of the tokens with $t_i>0$ become proportional to $t_i^\rho$ as $w\to\infty$.
#
# <details><summary>Proof</summary>
#
# Let $t_i<t_1$. Token $i$ has $\varphi(wt_i)/\varphi(wt_1)$ times the weight of token 1. If $t_i>0$, put
# $\lambda=t_i/t_1$, so that $\varphi(wt_i)=\varphi(\lambda wt_1)$. The quotient then tends to zero in part 1, and to
# $(t_i/t_1)^\rho$ in part 2. If $t_i\le0$, then $\varphi(wt_i)\le\varphi(\lambda wt_1)$ for any $\lambda\in(0,1)$,
# because $\varphi$ is nondecreasing, and so in part 1 the quotient tends to zero, too.
#
# </details>
#
# By part 2 the sigmoid ($\rho=0$) gives, for large $w$, nearly the same weight to all tokens in the hemisphere around the
# query, while ReLU ($\rho=1$) weights them in proportion to $t_i$. Between the two parts there are activations without a
# limit of $\varphi(\lambda s)/\varphi(s)$, about which the theorem says nothing.
#
# On the ReLU class of functions the activations sigmoid and ReLU leave an error even in an infinite context. By the
# [Funk-Hecke formula](#term-funk-hecke-formula) the predictor in an infinite context multiplies the part of $f$ of degree
# $\ell$ by a number $\lambda_\ell$. With $m_\ell=\mathbb E[\varphi(wt)P_\ell(t)]$ this number is $m_\ell/m_0$ for
# normalized weights, and $cm_\ell$ otherwise, so that the error $\sum_\ell a_\ell(1-\lambda_\ell)^2$ remains. The
# activations $\tanh$ and the identity are odd, so their predictors miss the even part of $f$. Both are used only with a
# gain, because their weights can sum to zero.

# %% figure={"alt": "Left: risk curves against w. Softmax falls to a clear minimum, far below all others. The exponential without normalization has a shallow minimum at a small w. Sigmoid curves fall and stay flat, ReLU curves are flat throughout, tanh and linear lie far above all. Right: the best w of softmax rises with L, and the best w of the plain exponential hardly changes.", "name": "fig-activations"} jupyter={"source_hidden": true} tags=["hide-input"]
d_unit = dims[min(1, len(dims) - 1)]
rough = ReLU(d_unit, lipschitz_values[-1])
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
# **Other functions of the scores.** Left: risk against $w$ on the ReLU class at the largest $L$, with normalized weights
# (solid) and with the best gain (dashed). Bands are intervals of sampled values. The lines of tanh and linear are so
# close that they look like one. Right: the best $w$ of the exponential against $L$, which rises clearly only with
# normalized weights.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
summary = floors.merge(linear_attention.adaptation(curves), on="activation")
heads = {
    "activation": "{activation}",
    "error left by an infinite context / variance": "{floor:.3f}",
    "risk / risk of softmax": "{over_softmax:.2f}",
    "price of a fixed w": "{price:.2f}",
}
caption = f"ReLU class, d = {d_unit}, n = {context_length}, L = {rough.lipschitz:g}"
plots.table(summary, heads, caption)

# %% [markdown]
# The second column of the table is the error that an infinite context leaves at the best $w$ and gain, divided by the
# variance $\sum_{\ell\ge1}a_\ell$ of the class. This quotient can exceed one, because with $\tanh$ and the identity the
# predictor misses the whole constant part of $f$, whose mean square $a_0$ counts in the error, but not in the variance.
#
# The last column is the *price* of keeping $w$ fixed while $L$ grows. If $w_1$ is the best $w$ for the smallest $L$, the
# price is the risk of $w_1$ at the largest $L$, divided by the least risk at this $L$.
#
# **Why normalization matters.** We call the exponential without normalization *plain*. With plain weights the prediction
# multiplies even a constant $f$ by the total weight of the examples, and since this total is random, $f$ itself acts as
# noise. The exact risk without normalization is the error of an infinite context plus a term of order $\frac1n$:
#
# <a id="eq-gain"></a>
#
# $$\mathbb E(\hat f-f)^2=\sum_\ell a_\ell(1-cm_\ell)^2
#   +\frac{c^2}n\Big[(k(1)+\sigma^2)\,\mathbb E\varphi^2-\sum_\ell a_\ell m_\ell^2\Big].$$
#
# In a narrow window the last sum is small. Since noise alone would give the term
# $\frac{c^2}n\sigma^2\,\mathbb E\varphi^2$, the plain exponential has $k(1)+\sigma^2$ in place of the noise variance. If
# $k(1)$ is much larger than $\sigma^2$, the whole risk is nearly proportional to $L^2$, because $k(1)$ and all $a_\ell$
# are, and the best $w$ hardly changes with $L$. With normalized weights, by contrast, the risk depends on $f$ only
# through the differences $f(x_i)-f(x_q)$.
#
# **A shift repairs the sigmoid.** If a number $b$ is subtracted from the scores of the sigmoid $s$, then
# $s(u-b)\approx e^{-b}e^{u}$ for large $b$, and normalization removes the factor $e^{-b}$. A bounded activation can
# therefore come close to softmax:

# %%
task = ReLU(dims[min(1, len(dims) - 1)], lipschitz_values[-1])
shifted = linear_attention.shifted_sigmoid(
    task,
    noise_std=noise_std,
    n=context_length,
    contexts=test_contexts,
    shifts=shifts,
)
for row in shifted.itertuples():
    print(f"b = {row.shift:2.0f}   risk / risk of softmax = {row.ratio:.3f}")

# %% [markdown]
# **Exercise 3.** In long contexts the least risk of the ReLU class is proportional to
# $(\text{noise variance}/n)^{3/(d+2)}$. How much larger is then the least risk of the plain exponential than the least
# risk of softmax?
#
# <details><summary>Solution</summary>
#
# By [the risk without normalization](#eq-gain) the plain exponential has $k(1)+\sigma^2$ in place of the noise variance
# $\sigma^2$ of softmax. So it has about $\big(1+k(1)/\sigma^2\big)^{3/(d+2)}$ times the risk of softmax. Since this
# factor does not depend on $n$, longer contexts do not close the gap.
#
# </details>
#
# ## To remember
#
# Softmax has two useful properties: the exponential grows faster than every power, so the window can shrink, and the
# weights sum to one, so a constant in the function causes no error. Linear attention has neither. Among the classes that
# we try, it wins only on linear functions with at most a small intercept.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
