# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gaussian tokens: the best w stops at one
#
# *On the sphere the best window parameter $w$ grows without end as contexts get longer. Does it, if the tokens are Gaussian?*
#
# **Short answer.** No: an example $x_i$ has a weight proportional to $e^{w\,x_i\cdot x_q}$ at the query $x_q$, so on Gaussian
# tokens **a larger $w$ prefers the longest tokens, not the nearest**. Take linear functions of $d=5$ coordinates, $n=10^6$
# examples and label noise of standard deviation $\sigma=0.5$. The best $w$ is
# {judged}`P1.G.stops | Gaussian, d = 5, n = 1e+06, sigma = 0.5 | .3f` on Gaussian tokens and
# {judged}`P1.G.stops | sphere, d = 5, n = 1e+06, sigma = 0.5 | .1f` on the sphere whose radius is $\sqrt d$. As the context
# grows, the prediction for a linear $f$ on Gaussian tokens tends to $f(w\,x_q)$, slowly if $w$ is large
# {judged}`P1.G.distance`. This limit is correct at $w=1$, whereas for a square the limit is wrong at every $w$
# {judged}`P1.G.floor`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 5, 16]  # dimensions d of the covariates
noise_stds = [0.0, 0.5, 2.0]  # standard deviations sigma of the label noise (slope one)
n_values = [2, 10, 100, 10000, 1000000]  # context lengths n
context_length = 100000  # n of the sampled contexts
seeds = 48  # independent sets of tokens

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icl.risk import (
    distance_exponent,
    gaussian_distance,
    gaussian_risk,
    gaussian_window,
    optimal_window,
)
from icl.streams import stream
from icl.tasks import Linear
from icl_book import notebook, plots
from icl_book.claims import cases, judge
from icl_book.measurements import gaussian_tokens

notebook.setup(globals())

# %% [markdown]
# ## In plain words
#
# On Gaussian tokens the best $w$ tends to one, because length counts as well as direction. Attention averages the labels of
# tokens in a {term}`window` around the {term}`query`. On the sphere all tokens have the same length, and a larger
# {term}`window parameter` $w$ moves the weights closer to the query: **large $w$, narrow window**. The score $w\,x\cdot x_q$,
# however, also rewards length. If tokens differ in length, **a larger $w$ prefers the longest tokens, not the nearest**: the
# longest reach farthest in the direction of the query.
#
# For Gaussian tokens we can compute where $w$ stops. The factor $e^{w\,x\cdot x_q}$ turns the law $N(0,I)$ of a token into
# $N(w\,x_q,I)$: the mean moves, and the width stays. With many tokens the prediction therefore tends to
#
# ```{math}
# :label: eq-tilt
# \sum_i\omega_if(x_i)\;\to\;\mathbb E f(g+w\,x_q),\qquad g\sim N(0,I),
# ```
#
# where $\omega_i$ are the attention weights. For linear $f$ the right side is $f(w\,x_q)=wf(x_q)$, which is correct at $w=1$.
# So the best window parameter $w^*$ for linear functions tends to one as the number of examples grows. In short contexts
# without noise $w^*$ can be larger than one.
#
# ## The experiment: tokens of one length, and of many lengths
#
# The best $w$ levels off at one on Gaussian tokens and keeps growing on a sphere. We compute the best $w$ for the same linear
# functions on Gaussian tokens and on the sphere of radius $\sqrt d$. Gaussian tokens have the same mean squared length $d$.
# The functions have the slope $L=1$.
#
# The function `optimal_window` assumes unit tokens. Dividing the tokens by $\sqrt d$ multiplies the slope $L$ by $\sqrt d$ and
# the best $w$ by $d$. The code undoes this factor $d$. To try $d=7$, write `dims = [7]` as the first line of the next cell.

# %%
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
best_w = windows[windows.noise_std == sigma]
best_w = best_w.pivot(index="n", columns=["tokens", "dim"], values="w")
print(f"best w, sigma = {sigma:g}")
print(best_w.to_string(float_format="{:.3f}".format))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(6.9, 3.2))
for dim, color in plots.colors(dims).items():
    part = windows[(windows.dim == dim) & (windows.noise_std == sigma)]
    part = part.set_index(["tokens", "n"])
    left.plot(part.w["Gaussian"], color=color)
    left.plot(part.w["sphere"], "--", color=color)
    right.plot(part.gap["Gaussian"], color=color)
    left.text(2e12, part.w["sphere"].iloc[-1], f"d = {dim}", color=color, va="center")
    right.text(
        2e12, part.gap["Gaussian"].iloc[-1], f"d = {dim}", color=color, va="center"
    )
left.set(xscale="log", yscale="log", xlabel="context length n", ylabel="best w")
right.set(xscale="log", yscale="log", xlabel="context length n", ylabel="1 - best w")
slope = (1 - 5**0.5) / 2  # minus one over the golden ratio
plots.guide(right, 1e3, 1e-3, slope, f"slope {slope:.3f}", decades=6)
left.text(1e12, 1.4, "Gaussian", ha="right")
left.text(1e7, 2e3, "sphere", ha="right")
for ax in (left, right):
    ax.set_xlim(right=3e15)
plt.show()

# %% [markdown]
# ```{caption} fig-gaussian
# :alt: Left, against the context length: on Gaussian tokens the best window parameter levels off at one in every dimension, and
# on the sphere it grows like a power. Right, log-log: one minus the best window parameter falls along curves that become
# parallel to a dashed line.
#
# Exact best window parameters for linear functions (left), and their distance from one on Gaussian tokens (right). On Gaussian
# tokens (solid) the best $w$ stops at one, and on the sphere of equal mean squared length (dashed) the best $w$ grows. The
# distance on the right falls like a power of $n$, up to logarithms. The dashed guide has the slope $-1/\varphi$, where
# $\varphi=\frac12(1+\sqrt5)$ is the golden ratio.
# ```
#
# The experiment takes about five seconds on two cores. In the printed table, at $d=5$ and $n=10^6$, expect the best $w$ to be
# {judged}`P1.G.stops | Gaussian, d = 5, n = 1e+06, sigma = 0.5 | .3f` on Gaussian tokens and
# {judged}`P1.G.stops | sphere, d = 5, n = 1e+06, sigma = 0.5 | .1f` on the sphere.

# %% tags=["remove-input"]
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
    cases(
        pd.concat([on_gaussian, on_sphere]),
        "w",
        error="error",
        labels=["dim", "n", "noise_std", "tokens"],
        name="{tokens}, d = {dim}, n = {n:g}, sigma = {noise_std:g}",
    ),
    cases(
        control,
        "w",
        error="error",
        labels=["tokens"],
        name="{tokens}, d = 2, n = 2",
    ),
)

# %% [markdown]
# ## What is printed, and what is true
#
# The theorems of paper 1, as we have them, do not cover Gaussian tokens: Theorem 2 and Lemma 1 are stated for tokens on a
# sphere or an ellipsoid. On Gaussian tokens the abstract of another paper {cite:p}`boursier2025` says:
#
# > For i.i.d. Gaussian inputs, we lean on the fact that the softmax operator converges in the infinite-prompt limit to a
# > linear operator acting on the underlying input-token measure
#
# ```{admonition} What is true
# :class: tip
# - On Gaussian tokens the mean squared distance of the output from its limit falls like $1/n$ at a fixed query. On average over
#   queries it falls like $1/n$ for $w<\frac1{\sqrt2}$, and more slowly for every $w\ge\frac1{\sqrt2}$
#   ({prf:ref}`theorem on every window <thm-every-w>`).
# - For linear functions no matrix is better than the best $wI$ ({prf:ref}`theorem for any lengths <thm-lengths>`). The best $w$
#   tends to one, and $1-w^*$ falls like $n^{-1/\varphi}$ up to logarithms, with the golden ratio $\varphi$
#   ({prf:ref}`theorem on the golden ratio <thm-golden>`).
# - In the unit ball lengths are bounded but differ. The limit of the risk of linear functions is least at a finite $w$, and
#   this least limit is positive.
# - One part of Theorem 2 survives for linear functions: $w^*$ rises with $L/\sigma$.
# ```
#
# Of the paper {cite:t}`boursier2025` we read the abstract only. We know one of its propositions from a quotation in another
# text. On related questions, {cite:t}`demir2025` study the temperature of attention, and {cite:t}`lu2025` study linear
# attention in high dimension.
#
# ## By hand: a parabola
#
# Softmax attention with $M=wI$ does not learn a square from Gaussian tokens. For $f(x)=x^2-1$ in one dimension the limit
# {eq}`eq-tilt` is $w^2x_q^2$. The mean squared error of this limit, $\mathbb E(x_q^2-1-w^2x_q^2)^2=3(1-w^2)^2-2(1-w^2)+1$, is
# least at $w^2=\frac23$, where it is $\frac23$. The variance of $f$ is $2$, so a third of the variance remains even with
# infinitely many examples.

# %%
w_squared = np.linspace(0, 1, 1001)
error = 3 * (1 - w_squared) ** 2 - 2 * (1 - w_squared) + 1
print(f"least error {error.min():.4f} at w^2 = {w_squared[error.argmin()]:.3f}")

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens and query are $N(0,I_d)$, and the query does not attend to itself | kept; sphere and ball for comparison |
# | $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$ | kept, except for the nonlinear functions of the section on floors |
# | $M=wI$ | no restriction for linear functions ({prf:ref}`theorem for any lengths <thm-lengths>`); an assumption for nonlinear ones |
# ```
#
# ## The exact risk
#
# Two numbers $C$ and $D$, computed from the attention weights, give the exact risk of linear functions. Let $r=|x_q|$ be the
# length of the query, and let $g_i$ be the component of $x_i$ along the query. With $\tau=wr$ the weights are
# $\omega_i\propto e^{\tau g_i}$. At a given $r$ the two numbers are
#
# $$C=\mathbb E\sum\omega_i^2,\qquad D=\mathbb E\sum\omega_i^3-\mathbb E\big(\sum\omega_i^2\big)^2 .$$
#
# The {term}`population risk` is the mean over $r$ of a noise term and a bias. At a query of length $r$ the noise term is
# $\sigma^2C$, and the bias is
#
# $$\frac{L^2}d\Big[r^2\big((1-w)^2+w(2-w)C-6w^2D\big)+dC\Big].$$
#
# The formula for the bias needs the first two moments of $m=\sum_i\omega_ig_i$, the component of $\sum_i\omega_ix_i$ along the
# query. These moments are $\mathbb Em=\tau(1-C)$ and $\mathbb Em^2=C+\tau^2(1-C-6D)$. The coefficient $6$ of $D$ comes from
# integration by parts, where it stands in the second derivative
# $\partial_i\partial_j(\omega_i\omega_j)=\tau^2\omega_i\omega_j(1-2\omega_i-2\omega_j+6\omega_i\omega_j)$ for $i\ne j$.
#
# :::{admonition} The moments of m, by integration by parts
# :class: dropdown
# Let $m=\sum_i\omega_ig_i$ and $p_k=\sum_i\omega_i^k$. For standard normal $g$, integration by parts gives
# $\mathbb E\,g_iF=\mathbb E\,\partial_iF$ and $\mathbb E\,g_ig_jF=\mathbb E\,\partial_i\partial_jF+\delta_{ij}\mathbb EF$,
# and $\partial_j\omega_i=\tau\,\omega_i(\delta_{ij}-\omega_j)$.
#
# *First moment.* $\mathbb Em=\sum_i\mathbb E\,\partial_i\omega_i=\tau\,\mathbb E\sum_i\omega_i(1-\omega_i)=\tau(1-C)$.
#
# *Second moment.* $\mathbb Em^2=C+\sum_{ij}\mathbb E\,\partial_i\partial_j(\omega_i\omega_j)$. For $i\ne j$ the derivative is
# $\tau^2\omega_i\omega_j(1-2\omega_i-2\omega_j+6\omega_i\omega_j)$, and for $i=j$ it is
# $\tau^2\omega_i^2(4-10\omega_i+6\omega_i^2)$. The
# first expression summed over *all* pairs is $\tau^2(1-4p_2+6p_2^2)$; on the diagonal it has to be replaced by the second one,
# which adds $\tau^2(3p_2-6p_3)$. Together $\tau^2\big(1-p_2-6(p_3-p_2^2)\big)$, so
#
# $$\mathbb Em^2=C+\tau^2(1-C-6D).$$
#
# *The bias.* The error is $\beta\cdot(\sum_i\omega_ix_i-x_q)$, so its mean square is $\frac{L^2}d$ times
# $\mathbb E(m-r)^2+(d-1)C$: the other $d-1$ components of the tokens are independent of the weights. Insert both
# moments. $\square$
# :::
#
# The next cell compares the formula with sampled contexts of five tokens.

# %%
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
print(f"bias {risk.bias:.4f}   sampled {bias.mean():.4f}")
assert abs(bias.mean() - risk.bias) < 5 * bias.std() / len(bias) ** 0.5

# %% [markdown]
# **Exercise 1.** What are $C$, $D$ and the bias at $w=0$?
#
# :::{admonition} Solution
# :class: dropdown
# All weights are $\frac1n$, so $C=\frac1n$ and $D=\frac1{n^2}-\frac1{n^2}=0$. Since $\mathbb Er^2=d$, the bias averaged over
# queries is $\frac{L^2}d(\mathbb Er^2+\frac dn)=L^2(1+\frac1n)$. The first term is the mean square of the query's own
# label, and the second term is the variance of a mean of labels.
# :::
#
# ## No other matrix does better
#
# For linear functions the best matrix is a multiple of the identity, whatever the lengths of the tokens are:
#
# :::{prf:theorem} the best matrix, tokens of any lengths
# :label: thm-lengths
# :nonumber:
# Let the tokens be independent with a common rotation-invariant law of finite second moment. Let the query be independent of
# them, with a rotation-invariant law of finite second moment of its own. Neither tokens nor query are always zero.
#
# Let $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$, $L>0$, and let the noise be independent with mean zero
# and variance $\sigma^2\ge0$. Write $R(w)$ for the risk of the matrix $wI$. For $n\ge2$ every matrix that is not $wI$ with
# $w\ge0$ has a risk larger than $\inf_{w\ge0}R(w)$. So every minimizer over all matrices is a multiple $wI$ with $w\ge0$.
# :::
#
# *Idea.* The layer sees the query through $v=Mx_q$ alone, and turning $v$ away from $x_q$ only lowers the correlation of
# prediction and label. So only the length of $v$ remains to be chosen. A multiple of the identity can choose this length as
# well as any matrix, because the direction of the query says nothing about the length of the query.
#
# :::{admonition} Proof
# :class: dropdown
# *Given the query,* let $r=|x_q|>0$, $\tau=|v|$, and $\alpha$ the angle between $v$ and $x_q$. The law of the tokens is
# invariant
# under rotations about $v$ and under reflections that keep $v$, so $\mathbb E\sum\omega_ix_i=\mu(\tau)\,v/\tau$, and
# $\mathbb E|\sum\omega_ix_i|^2=S(\tau)$ and $\mathbb E\sum\omega_i^2=C(\tau)$ depend on $\tau$ alone. The risk at this query is
#
# $$\tfrac{L^2}d\big[S(\tau)-2r\,\mu(\tau)\cos\alpha+r^2\big]+\sigma^2C(\tau).$$
#
# *The sign of $\mu$.* $\mu(0)=0$, and $\mu'$ is the mean of the variance under $\omega$ of the tokens' components along $v$,
# which
# is positive because $n\ge2$ and these components are not all equal. So $\mu(\tau)>0$ for $\tau>0$, and the risk at this query
# is
# at least its value at $\alpha=0$, with equality only for $\alpha=0$ or $\tau=0$.
#
# *The length.* Let $x_q=r\theta$. As $r$ and $\theta$ are independent and $\tau=r|M\theta|$, the mean over $r$ of the value at
# $\alpha=0$ is $R(|M\theta|)$. So the risk of $M$ is at least $\mathbb E_\theta R(|M\theta|)\ge\inf_{w\ge0}R(w)$. If both are
# equal,
# $M\theta=c(\theta)\theta$ with $c(\theta)\ge0$ for almost every $\theta$, by continuity for all. Then every vector is an
# eigenvector, and $M=cI$. $\square$
#
# The same three steps apply to the limit $n\to\infty$, where $\mu(\tau)$ is the mean under the tilted law and $S=\mu^2$.
# :::
#
# **In a ball.** On tokens that are uniform in the unit ball of $\mathbb R^d$, an error remains in arbitrarily long contexts.
# The uniform law in the ball is a projection of the uniform law on the sphere in $d+2$ dimensions. For many tokens the
# prediction at a query of length $r$ is therefore $A(wr)\,\beta\cdot x_q/r$, with the ratio of Bessel functions
# $A=I_{d/2+1}/I_{d/2}$. A correct prediction would need $A(wr)=r$ for every $r$, but $A$ is strictly concave, so no $w$ gives
# this. The least remaining error is called the *floor*. By the {prf:ref}`theorem for any lengths <thm-lengths>` no other matrix
# has a lower one. In five dimensions the floor is {judged}`P1.G.ball | floor, d = 5 | 100*.1f` % of the variance of the
# function.

# %% tags=["remove-input"]
judge(
    "P1.G.ball",
    gaussian_tokens.ball_limits(dims=dims),
    gaussian_tokens.sphere_limits(dims=dims),
    error="error",
    name="{what}, d = {dim}",
)

# %% [markdown]
# **Exercise 2.** For two tokens without noise in two dimensions the best $w$ exceeds one. Why?
#
# :::{admonition} Solution
# :class: dropdown
# The mean prediction is $w(1-C)\,\beta\cdot x_q$, and with two tokens $C\ge\frac12$. At $w=1$ the factor $w(1-C)$ is at most
# $\frac12$, where one would be correct. A larger $w$ increases the factor as long as $C$ grows slowly.
# :::
#
# ## How fast the output approaches its limit
#
# From $w=\frac1{\sqrt2}$ on, the output $\sum\omega_ix_i$ approaches its limit $w\,x_q$ more slowly the larger $w$ is:
#
# :::{prf:theorem} many Gaussian tokens, every window
# :label: thm-every-w
# :nonumber:
# Let tokens and query be independent $N(0,I_d)$, let $w>0$, and let $s=\frac12\big(1+\sqrt{1+4/w^2}\big)$ be the positive root
# of $s(s-1)=1/w^2$. For $n\to\infty$ both $\mathbb E\sum\omega_i^2$ and $\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ are
# $n^{-r(w)+o(1)}$ with
#
# $$r(w)=\min(1,\,s-1)=\min\Big(1,\;\tfrac12\big(\sqrt{1+4/w^2}-1\big)\Big).$$
#
# With $\ell=\log n$ and $c_w=\Gamma(s)\Gamma(2-s)\,\Gamma(\frac d2)^{-1}[w^2(w^2+4)]^{-d/4}$ they are asymptotically equal to
#
# | | $\mathbb E\sum\omega_i^2$ | $\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ |
# |:--|:--|:--|
# | $w^2<\frac12$ | $(1-2w^2)^{-d/2}\,n^{-1}$ | $d\,(1-w^2)(1-2w^2)^{-d/2-1}\,n^{-1}$ |
# | $w^2=\frac12$ | $(\frac23\ell)^{d/2}\,\Gamma(\frac d2+1)^{-1}\,n^{-1}$ | $\frac d2(\frac23\ell)^{d/2+1}\,\Gamma(\frac d2+2)^{-1}\,n^{-1}$ |
# | $w^2>\frac12$ | $c_w\,\ell^{d/2-1}\,n^{-(s-1)}$ | $c_w\frac{2w(s-1)^2}{\sqrt{w^2+4}}\,\ell^{d/2}\,n^{-(s-1)}$ |
# :::
#
# *Idea.* Rare long queries make the convergence of the average slow, because a long query attends to few tokens. To bound
# $\mathbb E\sum\omega_i^2$, use that a weight is at most one, so $\omega_i^2\le\omega_i^s$ for every $s\le2$.
#
# A weight has nearly the moments of a log-normal variable: at a query of length $r$,
# $n\,\mathbb E\omega_1^s\approx n^{1-s}e^{s(s-1)w^2r^2/2}$. The mean of this expression over the query is finite as long as
# $s(s-1)w^2<1$. The exponent is $s-1$ at the end of this range, or at $s=2$ if the range reaches beyond. At $w=1$ the range
# ends at the golden ratio, where $s^2=s+1$.
#
# For $w^2>\frac12$ the bound has the right exponent. Queries of a length $r$ with $w^2r^2\approx\frac{2w}{\sqrt{w^2+4}}\log n$ attain
# it. At these queries a
# single token carries a finite part of the weight often enough to give the mean of $\sum\omega_i^2$ this order. Physicists know
# the phenomenon as condensation in the random energy model {cite:p}`derrida1981,bouchaud1997`.
#
# :::{admonition} Proof
# :class: dropdown
# *Given the query,* let $\tau=wr$, $x=\tau^2/\ell$, $p_k=\sum\omega_i^k$, $C=\mathbb Ep_2$, $D=\mathbb Ep_3-\mathbb Ep_2^2$. By
# the moments above the squared distance of $\sum\omega_ix_i$ from $w\,x_q$ has the mean
# $\mathbb E(m-\tau)^2+(d-1)C=Q=dC+\tau^2(C-6D)$. Since $p_2^2\le p_3\le p_2$ by Cauchy and Schwarz,
# $0\le D\le C$ and $Q\le(d+\tau^2)C$. Write $S=\sum_{j\ge2}e^{\tau g_j}$ and $A=S/(n\,e^{\tau^2/2})$.
#
# *1. The sum of the others is rarely small.* $Y=e^{\tau g}1\{g\le\tau\}$ has $\mathbb EY=\frac12e^{\tau^2/2}$ and
# $\mathbb EY^2\le\frac12e^{3\tau^2/2}$, and $\mathbb Ee^{-\lambda Y}\le e^{-\lambda\mathbb EY+\lambda^2\mathbb EY^2/2}$. With
# $\lambda=\mathbb EY/(2\,\mathbb EY^2)$, $k$ tokens have
# $P(\sum e^{\tau g_j}<\frac k4e^{\tau^2/2})\le\exp(-\frac k{16}e^{-\tau^2/2})$. With
# $k=n-1$, $n\ge3$, both $nP(A<\frac18)$ and $n^2P(A<\frac1{12})$ for one token less are at most
# $\delta_n=n^2\exp(-\frac n{48}e^{-\tau^2/2})$: for $x\le2-\varepsilon$ it is smaller than every power of $1/n$. (The
# truncation at
# $\tau$ carries this beyond $\tau^2=\log n$, up to where the sum freezes, $\tau^2=2\log n$.)
#
# *2. Bound.* With $y=\tau g_1-\ell-\frac{\tau^2}2$, $\omega_1=e^y/(e^y+A)$ is at most $\min(1,8e^y)$ where $A\ge\frac18$. As
# $\min(1,z)^2\le z^{s'}$ for $0\le s'\le2$,
#
# $$C\le n\,\mathbb E\min(1,8e^y)^2+\delta_n\le64\,n^{1-s'}e^{s'(s'-1)\tau^2/2}+\delta_n.$$
#
# The best $s'$ is $\min(2,\alpha)$ with $\alpha=\frac1x+\frac12$, and $C\le64\,n^{-c(x)}+\delta_n$ with $c(x)=1-x$ for
# $x\le\frac23$
# and $c(x)=\frac{(2-x)^2}{8x}$ for $\frac23\le x\le2$.
#
# *3. Where one token is heavy.* Let $a=\frac\ell\tau+\frac\tau2$ and $\Lambda=\frac n\tau\frac1{\sqrt{2\pi}}e^{-a^2/2}
# =n^{-c(x)}/(\sqrt{2\pi}\,\tau)$. Then $y=\tau(g_1-a)$, and $\tau a=\alpha\tau^2$ gives
#
# $$n\,\mathbb E\omega_1^k=\Lambda\,\mathbb E\!\int\Big(\frac{e^y}{e^y+A}\Big)^ke^{-\alpha y-y^2/2\tau^2}dy .$$
#
# $A\to1$ in probability, uniformly on $x\le2-\varepsilon$: tokens with $g>\tau+t$, $t=\ell^{1/4}$, have the share
# $P(g>t)\to0$ of the mean, and the relative variance of the others' sum is at most $n^{-1}e^{\tau^2}P(g>\tau-t)$, which is
# $n^{-1+x/2+o(1)}$ for $\tau>t$ and at most $n^{-1}e^{t^2}$ below. On a compact part of $\frac23<x<2$, where $1<\alpha<2$, the
# integrand is at most $\min(1,8e^y)^2e^{-\alpha y}$, which is integrable uniformly; where $A<\frac18$ it contributes at most
# $\delta_n=o(\Lambda)$. So uniformly there $\mathbb Ep_k=\Lambda\,[\mathrm B(k-\alpha,\alpha)+o(1)]$, $k\ge2$. Two heavy tokens
# are rarer:
# with $S$ less one more token
# $n^2\,\mathbb E\omega_1^2\omega_2^2\le(n\,\mathbb E\min(1,12e^y)^2)^2+\delta_n=O(\Lambda^2)+\delta_n$, so
# $\mathbb Ep_2^2=\Lambda\,[\mathrm B(4-\alpha,\alpha)+o(1)]$. With
# $\mathrm B=\mathrm B(2-\alpha,\alpha)=\Gamma(\alpha)\Gamma(2-\alpha)$ the two other
# integrals are $\frac{2-\alpha}2\mathrm B$ and $\frac{(3-\alpha)(2-\alpha)}6\mathrm B$, and
# $1-3(2-\alpha)+(3-\alpha)(2-\alpha)=(\alpha-1)^2$:
#
# $$C=\Lambda\,[\mathrm B+o(1)],\qquad C-6D=\Lambda\,[(\alpha-1)^2\mathrm B+o(1)].$$
#
# *4. Where none is.* Tilting by $e^{2\tau g_1}$ gives $n\,e^{-\tau^2}C=\mathbb E(e^{y'}+A)^{-2}$ with
# $y'=(\frac32x-1)\ell+\tau g$.
# Uniformly on $x\le\frac23-\varepsilon$, $y'\to-\infty$ in probability; so $n\,e^{-\tau^2}C\to1$, and in the same way
# $n\,e^{-\tau^2}D\le n\,e^{-\tau^2}\mathbb Ep_3\to0$. (Where $A\ge\frac18$ the variable is at most 64; elsewhere use
# $\delta_n$.)
#
# *5. Mean over queries.* The density of $r$ is $p(r)=2^{1-d/2}r^{d-1}e^{-r^2/2}/\Gamma(\frac d2)$, that is $n^{-x/2w^2}$ up to
# powers of
# $\ell$. Queries with $x>2-\varepsilon$ contribute at most
# $\mathbb E[d+\tau^2;x>2-\varepsilon]=n^{-(2-\varepsilon)/2w^2+o(1)}$, and
# $\frac1{w^2}$ exceeds $r(w)$: it is $s(s-1)>s-1$, and at least 2 for $w^2\le\frac12$. So they are negligible for small
# $\varepsilon$.
# The others contribute $n^{-\min h+o(1)}$ at most, $h(x)=c(x)+\frac x{2w^2}$.
#
# - *$w^2>\frac12$.* $h$ falls on $[0,\frac23]$ and is strictly convex on $[\frac23,2]$ with
#   $h'=-\frac1{2x^2}+\frac18+\frac1{2w^2}$.
#   Its only minimum is at $x_*=\frac{2w}{\sqrt{w^2+4}}$, between $\frac23$ and 2, where $h=\frac1{x_*}-\frac12=s-1$,
# $h''=x_*^{-3}$ and
#   $\alpha=s$. Away from it the contribution is smaller by a power of $n$. Near it insert 3; Laplace's method with
#   $r=\sqrt{x\ell}/w$ gives
#   $\frac{2^{1-d/2}}{\Gamma(d/2)}\big(\frac{x_*\ell}{w^2}\big)^{\frac{d-1}2}\frac{\Gamma(s)\Gamma(2-s)}{\sqrt{2\pi x_*\ell}}
#   \frac{\sqrt\ell}{2w\sqrt{x_*}}\sqrt{\frac{2\pi x_*^3}\ell}\,n^{-(s-1)}=c_w\ell^{d/2-1}n^{-(s-1)}$. In $Q$ the second term
#   dominates, with the factor $x_*\ell\,(s-1)^2$.
# - *$w^2<\frac12$.* At a fixed query $nC\to e^{\tau^2}$ and $nD\to0$ by 4. By 2 with $s'=2$, $nC\le64\,e^{w^2r^2}+n\delta_n$,
#   which is
#   integrable, and $n\delta_n\to0$ uniformly on $\tau^2\le\ell$; beyond,
# $n\,\mathbb E[d+\tau^2;\tau^2>\ell]=n^{1-1/2w^2+o(1)}\to0$. So
#   $n\,\mathbb EC\to\mathbb Ee^{w^2r^2}$ and $n\,\mathbb EQ\to\mathbb E(d+w^2r^2)e^{w^2r^2}$.
# - *$w^2=\frac12$.* $h=1$ on all of $[0,\frac23]$, and larger beyond. Up to $x=\frac23-\varepsilon$,
#   $nC\,p(r)\sim2^{1-d/2}r^{d-1}/
#   \Gamma(\frac
# d2)$ is a power of $r$, integrated up to $r^2=\frac43\ell$; in $Q$ it is multiplied by $\frac12r^2$. By 2 with $s'=2$ the
#   interval $|x-\frac23|<\varepsilon$ adds at most a constant times $\varepsilon$ of that, and what is beyond a smaller power
# of $n$. Let
#   $\varepsilon\to0$. $\square$
# :::
#
# The next cell compares the theorem with exact distances in very long contexts.

# %%
for w in (0.5, 1.0, 2.0):
    shorter, longer = gaussian_distance(dim=1, w=w, n=[1e28, 1e30]).distance
    exponent = np.log(shorter / longer) / np.log(100)
    print(f"w = {w}: exponent {exponent:.3f}, theorem {distance_exponent(w):.3f}")

# %% tags=["hide-input"]
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
ax.legend(fontsize=9, loc="lower left")
plt.show()

# %% [markdown]
# ```{caption} fig-every-w
# :alt: Against the window parameter a curve is flat at one up to 0.707 and then falls, through 0.618 at one, to about 0.1 at
# three. Points for each dimension lie on it, for large windows and high dimension above it. A dashed curve starts on it at one
# and falls below it.
#
# The exponent $r(w)$ with which $\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ falls: by the
# {prf:ref}`theorem on every window <thm-every-w>` (line), and measured between $n=10^{28}$ and $10^{30}$, without the power of
# $\log n$ (points). Line and points agree, except for large $w$ and $d$, where even these contexts are too short for the limit.
# The vertical line is at $w^2=\frac12$. The dashed curve is the largest multiple of $w^{-2}$ that stays below $r(w)$ for
# $w\ge1$.
# ```
#
# **A printed bound for comparison.** Proposition 3.1 of {cite:t}`boursier2025` bounds the same mean square. We know the
# proposition only from a public audit that quotes it. The proposition allows sub-Gaussian tokens with parameter $\varsigma\ge1$
# and a sub-Gaussian query with parameter one. The bound is $c_1\varsigma^6\log n\;n^{-c_2/\varsigma^2}$, with unnamed constants
# $c_1$ and $c_2$ that do not depend on $\varsigma$.
#
# Gaussian tokens $N(0,\varsigma^2I)$ with $M=I$ correspond to our setting with $w=\varsigma$. For these tokens our theorem
# confirms the power $\varsigma^{-2}$. The theorem also shows that no $c_2$ above $1/\varphi$ serves all $\varsigma\ge1$ (dashed
# curve). {cite:t}`bohbot2026` bound two other quantities, the errors of the mean and of the covariance of all outputs.
#
# **Evidence.** The measured exponent says how fast the exact mean squared distance falls with $n$, after division by the power
# of $\log n$ that the theorem gives. In the control all queries have the same length, and the exponent is one.

# %% tags=["remove-input"]
few = gaussian_tokens.distance_exponents(dims=dims, w_values=[0.5, 0.8, 1.0, 1.25])
at_one_length = few[few.w > 0.75]
labels = {"error": "error", "labels": ["dim", "w"], "name": "w = {w:g}, d = {dim}"}
judge(
    "P1.G.distance",
    cases(few, "value", **labels),
    cases(at_one_length, "one_length", **labels),
)

# %% [markdown]
# ## The golden ratio
#
# For linear functions $1-w^*$ falls like $n^{-1/\varphi}$, up to logarithms, where $\varphi=\frac12(1+\sqrt5)$ is the golden
# ratio:
#
# :::{prf:theorem} the golden ratio
# :label: thm-golden
# :nonumber:
# Let $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$, $L>0$, $\sigma\ge0$, $d\ge1$, and tokens and query as in
# the {prf:ref}`theorem on every window <thm-every-w>`. There is $n_0$, which depends on $d$ and $\sigma/L$, such that for
# $n\ge n_0$ exactly one matrix has the least risk: $w^*I$ with $0<w^*<1$. For $n\to\infty$
#
# $$1-w^*\;\sim\;K_d\,(\log n)^{d/2+1}\,n^{-1/\varphi},\qquad
# K_d=\frac{\pi}{5^{1+d/4}\,\varphi^3\,\Gamma(\frac d2+1)\,\sin(\pi/\varphi)},$$
#
# with the same constant for all $L$ and $\sigma$, including $\sigma=0$. The least risk is asymptotically equal to $\frac{L^2}d$
# times the second column of the {prf:ref}`theorem on every window <thm-every-w>` at $w=1$.
# :::
#
# *Idea.* In long contexts the risk at $w=1$ is nearly a multiple of the mean squared distance of the output from its limit.
# This distance grows with $w$, which moves $w^*$ below one. At a given query the distance depends on $w|x_q|$ alone.
# Integration by parts gives the slope of the mean distance at $w=1$: it is the mean of the distance with the weight
# $|x_q|^2-d$. Long queries dominate, so the slope is positive and of the order of the distance times $\log n$.
#
# The condition $n\ge n_0$ is needed. The next cell shows that without noise in one dimension the best $w$ for 100 tokens is
# above one.
#
# :::{admonition} Proof
# :class: dropdown
# By the {prf:ref}`theorem for any lengths <thm-lengths>` only $M=wI$, $w\ge0$, matters. By the exact risk, with $C$ and $Q$ as
# in the last proof at $\tau=wr$,
#
# $$R(w)=L^2(1-w)^2+J(w),\qquad
# J(w)=\tfrac{L^2}d\,\mathbb E\big[Q(wr)+2(1-w)w\,r^2C(wr)\big]+\sigma^2\,\mathbb EC(wr).$$
#
# *Identities.* A function $F$ of the scores has $\frac d{d\tau}\mathbb EF=\tau\,\mathbb E\Delta F$, and
# $\Delta p_k=k[(k-1)p_k-2kp_{k+1}+(k+1)p_2p_k]$, $\nabla p_k\cdot\nabla p_l=kl(p_{k+l}-p_lp_{k+1}-p_kp_{l+1}+p_2p_kp_l)$. So
# polynomials
# $P$ in $p_2,p_3,\dots$ without a constant term stay such under $\Delta$, and as each of their monomials is at most $p_2$,
# $|\frac d{d\tau}\mathbb EP|\le K\tau C$ and $|\frac{d^2}{d\tau^2}\mathbb EP|\le K(1+\tau^2)C$ with a constant $K$. For every
# set of
# tokens $p_2$ and $m=\sum\omega_ig_i$ rise with $\tau$: their derivatives are twice the covariance of $\omega$ and $g$, and the
# variance
# of $g$, under $\omega$. So $C$ and $\mathbb Em=\tau(1-C)$ do not fall.
#
# *1. All minimizers tend to one.* $R(w)\ge\frac{L^2}d\mathbb E(r-\mathbb E[m\,|\,r])^2$. Let $q=P(1\le r\le2)$ and $n$ so
# large that $C(8)\le\frac12$. For $w\ge4$ and $1\le r\le2$ the mean of $m$ is at least that at $w=4$, $4r(1-C(4r))\ge2r$, so
# $R(w)\ge\frac{L^2}dq$. For $0\le w\le4$, $|r-wr(1-C(wr))|\ge|1-w|-4C(8)$ if this is positive, so
# $R(w)\ge\frac{L^2}dq\,(|1-w|-4C(8))_+^2$. As $R(1)\to0$ by the {prf:ref}`theorem on every window <thm-every-w>` and $R$ is
# continuous, for large $n$ there are minimizers, and all lie in $[1-\varepsilon,1+\varepsilon]$.
#
# *2. Only one.* By the identities, for $|w-1|\le\varepsilon\le\frac12$, $|J'(w)|+|J''(w)|\le K\,\mathbb
# E(1+r)^6C((1+\varepsilon)r)
# =n^{-r(1+\varepsilon)+o(1)}$; powers of the query's length change powers of $\log n$ only. So $R''=2L^2+J''>0$ there, the
# minimizer is
# unique, and it solves $2L^2(1-w^*)=J'(w^*)$. Hence $|1-w^*|\le n^{-r(1+\varepsilon)+o(1)}$ and
# $J'(w^*)=J'(1)+O(n^{-2r(1+\varepsilon)+o(1)})$. As $2r(1+\varepsilon)>1/\varphi$ for small $\varepsilon$, $J'(1)$ is what
# remains.
#
# *3. The slope at one.* Parts give $\mathbb E\,rG'(r)=\mathbb E(r^2-d)G(r)$, so
#
# $$R'(1)=J'(1)=\tfrac{L^2}d\,\mathbb E\big[(r^2-d)\,Q(r)-2r^2C(r)\big]+\sigma^2\,\mathbb E(r^2-d)\,C(r),$$
#
# exactly, for every $n$. At the queries that decide, $r^2\approx\frac2{\sqrt5}\log n$. So $\mathbb
# Er^2Q\sim\frac2{\sqrt5}\log n\;\mathbb EQ$ is of order $(\log n)^{d/2+1}n^{-1/\varphi}$, and every other term is smaller by
# a factor $\log n$, for each fixed $\sigma$. With $1-w^*\sim J'(1)/2L^2$, the second column of the {prf:ref}`theorem on every
# window <thm-every-w>` at $w=1$, where $s=\varphi$, and
# $\Gamma(\varphi)\Gamma(2-\varphi)=\frac{\pi/\varphi}{\sin(\pi/\varphi)}$ this is the law. Finally
# $R(w^*)=R(1)+O(|1-w^*|\sup|J'|+(1-w^*)^2)\sim R(1)$. $\square$
#
# Nothing is claimed about the rate of this convergence, and $n_0$ is not uniform, because the noise term is smaller by a factor
# $\log n$ only.
# :::

# %%
for n in (100, 1000):
    print(f"d = 1, no noise, n = {n}: w* = {gaussian_window(1, n, 0.0).w:.3f}")

# %% [markdown]
# The next cell measures the exponent with which the exact $1-w^*$ falls between $n=10^{28}$ and $10^{30}$. After removal of the
# power of $\log n$ the exponent is close to $-1/\varphi$, in every dimension and at every noise level of this run.

# %%
for dim in dims:
    for noise_std in noise_stds:
        gap = gaussian_window(dim, [1e28, 1e30], noise_std).gap
        local = np.log(gap[1] / gap[0]) / np.log(100)
        powers_of_log = (dim / 2 + 1) * np.log(30 / 28) / np.log(100)
        left_over = local - powers_of_log
        print(f"d = {dim:2d}   sigma = {noise_std:.1f}   exponent {left_over:.3f}")
        assert abs(left_over - slope) < 0.02

# %% [markdown]
# ## The floor of nonlinear functions
#
# Most nonlinear functions keep an error, also called a floor, in arbitrarily long contexts. Expand
# $f(x)=\sum_kc_k\mathrm{He}_k(u\cdot x)$ in Hermite polynomials, with a unit vector $u$. Since
# $\mathbb E\,\mathrm{He}_k(g+t)=t^k$, the limit {eq}`eq-tilt` replaces $\mathrm{He}_k(t)$ by $(wt)^k$. At $w=1$ these two
# polynomials agree for $k\le1$ only. For $f=\mathrm{He}_k(u\cdot x)$ with $k\ge2$ the best $w$ leaves the error
# $k!\big(1-\frac{k!}{(2k-1)!!}\big)$.
#
# We call a function $f$ *recovered* at $w$ if $\mathbb Ef(g+w\,x)=f(x)$ for all $x$. At $w=1$ the recovered functions of
# polynomial growth are the harmonic polynomials, such as $x_1x_2$. The reason is that the Fourier transform of a recovered $f$
# must be supported at the origin. If we replace $g+x$ by $g+w\,x$ with another $w$, other functions are recovered (Exercise 4).

# %% tags=["remove-input"]
known = gaussian_tokens.functions()
lengths = [n for n in (100, 1000, 10000, 100000) if n <= context_length]
risks = gaussian_tokens.sampled_risks(names=list(known), n_values=lengths, seeds=seeds)
longest = risks.loc[risks.n == lengths[-1], ["function", "seed", "excess"]]
rows = []
for seed in range(seeds):
    risk = gaussian_tokens.sampled_risk("He_2", n=context_length, seed=seed, w=1.0)
    rows.append({"seed": seed, "excess": risk})
control = pd.DataFrame(rows)
judge(
    "P1.G.floor",
    cases(
        longest, "excess", samples="seed", name=f"{{function}}, n = {context_length}"
    ),
    cases(control, "excess", samples="seed", name=f"He_2, n = {context_length}"),
)

# %% tags=["hide-input"]
shown = gaussian_tokens.mean_risks(risks)
printed = {
    "linear": "$x_1$",
    "He_2": "$He_2$",
    "He_3": "$He_3$",
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
    ax.errorbar(n, part["mean"], bars, fmt="o-", lw=1, ms=4, mfc="w", color=color)
    last = (n.iloc[-1], part["mean"].iloc[-1])
    words = {"textcoords": "offset points", "va": "center", "color": color}
    # above the dashed line of its limit, or beside its curve
    ax.annotate(printed[name], last, xytext=(14, 8 if stops else 3), **words)
    if stops:
        ax.axhline(function.limit / function.variance, color=color, ls="--", lw=1)
ax.set(xscale="log", yscale="log", xlabel="context length n", ylabel="risk / variance")
ax.set_ylim(2e-4, 6)
ax.set_xlim(60, 6 * lengths[-1])
plt.show()

# %% [markdown]
# ```{caption} fig-floors
# :alt: Two kinds of curves. The linear function and the product of two coordinates fall with the context length. The second and
# third Hermite polynomials and the ReLU level off, each at its own dashed line.
#
# Risk at the best $w$ divided by the variance of the function: the mean over sampled sets of tokens, with a confidence
# interval. The curves of $x_1$ and $x_1x_2$ fall with the context length, and the other three stop at a floor (dashed, exact
# limits). Intervals that reach zero are truncated.
# ```
#
# **Exercise 3.** Which $w$ is best for $f=\mathrm{He}_1+c\,\mathrm{He}_2$ with a small $c$, in long contexts?
#
# :::{admonition} Solution
# :class: dropdown
# The limit is $wt+c(wt)^2=w\,\mathrm{He}_1+cw^2\,\mathrm{He}_2+cw^2$. Compared with $f$ this limit lacks $(1-w)\,\mathrm{He}_1$
# and $c(1-w^2)\,\mathrm{He}_2$, and it has the additional constant $cw^2$. The error is $(1-w)^2+2c^2(1-w^2)^2+c^2w^4$. To
# second order in $c$ the error is least at $w=1-2c^2$, where the error is about $c^2$. The best linear attention cannot predict
# $\mathrm{He}_2$ and keeps the error $2c^2$, twice as much.
# :::
#
# **Exercise 4.** Show that the normal distribution function $\Phi(x_1)$ is recovered at $w=\sqrt2$.
#
# :::{admonition} Solution
# :class: dropdown
# With $h\sim N(0,1)$ independent of $g$, $\mathbb E\Phi(g+\sqrt2x)=P(h\le g+\sqrt2x)=P(h-g\le\sqrt2x)=\Phi(x)$, since
# $h-g\sim N(0,2)$.
# :::
#
# ## Against linear attention
#
# On linear functions of Gaussian tokens, linear attention has a smaller risk than softmax attention in all three contexts
# printed below. Linear attention $\frac1n\sum_iy_i\,x_i^\top Mx_q$ is best at $M=mI$ with
# $m=\big[1+\frac{d+1+d\sigma^2/L^2}n\big]^{-1}$. The risk of linear attention, $L^2(1-m)$, falls like $1/n$, and the risk of
# softmax attention at its best $w$ falls more slowly. If the functions have a random intercept, softmax attention has the
# smaller risk in long contexts. Softmax attention reproduces the intercept, because its weights sum to one. Linear attention
# misses the intercept.

# %%
dim, noise_std = 5, 0.5
for n in (1e2, 1e4, 1e6):
    softmax = gaussian_window(dim, n, noise_std).risk
    linear = 1 - 1 / (1 + (dim + 1 + dim * noise_std**2) / n)
    print(f"n = {n:.0e}   softmax {softmax:.1e}   linear attention {linear:.1e}")
    assert softmax > linear

# %% [markdown]
# **Exercise 5.** Does $w$ stop in seven dimensions, too? Print the best $w$ for $d=7$, $\sigma=0.5$ and $n=10^2,10^4,10^6$, on
# Gaussian tokens and on the sphere of radius $\sqrt7$. Five lines are enough.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# for n in (1e2, 1e4, 1e6):
#     gaussian = gaussian_window(7, n, 0.5).w
#     sphere = optimal_window(Linear(7, lipschitz=7**0.5), n, 0.5).w / 7
#     print(f"n = {n:.0e}   Gaussian {gaussian:.2f}   sphere {sphere:.2f}")
# ```
# Yes. On Gaussian tokens the best $w$ is 0.71, 0.92 and 0.98. On the sphere the best $w$ grows from 1.2 to 9.3.
# :::
#
# ## To remember
#
# The window of Theorem 2 narrows because all tokens have the same length: then a larger $w$ prefers nearer tokens. On Gaussian
# tokens the best $w$ for linear functions stops at one, and a square is not recovered. In long contexts linear attention is
# better than softmax attention on linear functions without an intercept.

# %% tags=["remove-input"]
notebook.footer()
