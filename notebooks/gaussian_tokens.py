# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gaussian tokens: the window stops at one
#
# **Short answer.** On Gaussian tokens the window stops narrowing: with $M=wI$, linear functions, $d=5$, $\sigma=0.5$ and
# $n=10^6$ the best $w$ is {judged}`P1.G.stops | Gaussian, d = 5, n = 1e+06, sigma = 0.5 | .3f`, and on the sphere with the same
# mean squared length {judged}`P1.G.stops | sphere, d = 5, n = 1e+06, sigma = 0.5 | .1f`; tokens in a ball leave an error of
# {judged}`P1.G.ball | floor, d = 5 | 100*.1f` % of the variance for every $n$. No other matrix does better on linear functions.
# The layer's output approaches its limit, in mean square, with an exponent that falls with $w$ ({judged}`P1.G.distance`); at
# $w=1$ it is one over the golden ratio $\varphi$, and so $1-w^*$ falls like $(\log n)^{d/2+1}n^{-1/\varphi}$
# ({judged}`P1.G.rate`): both are theorems. Even in long contexts a square is not recovered {judged}`P1.G.floor`, and on linear
# functions linear attention has the smaller risk {judged}`P1.G.linear`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 5, 16]  # dimensions d of the covariates
noise_stds = [0.0, 0.5, 2.0]  # standard deviations sigma of the label noise (slope one)
n_values = [2, 10, 100, 10000, 1000000]  # context lengths n
context_length = 100000  # n of the sampled contexts
seeds = 48  # independent sets of tokens

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np

from icl.risk import (
    distance_exponent,
    gaussian_best_scale,
    gaussian_distance,
    gaussian_window,
    least_hermite_floor,
)
from icl_book import notebook, plots
from icl_book.claims import cases, judge
from icl_book.measurements import gaussian
from icl_book.measurements.tables import each

notebook.setup(globals())
d, sigma = dims[len(dims) // 2], noise_stds[len(noise_stds) // 2]  # of the figures

# %% tags=["hide-input"]
medium, few = (np.geomspace(2, end, k).round() for end, k in ((1e10, 14), (1e6, 8)))
far = 10.0 ** np.array([2, 4, 7, 11, 16, 22, 30])
exact_windows = each(gaussian.window, d=dims, lengths=medium, sigmas=sigma)
long_contexts = each(gaussian.window, d=dims, lengths=far, sigmas=sigma)
on_sphere = each(gaussian.window_on_sphere, d=d, lengths=few, sigmas=sigma)
figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 2.9))
plots.lines(left, exact_windows, "n", "w", "d", label="Gaussian, d = {}")
plots.exact_curve(left, few, on_sphere.w, f"sphere, d = {d}", linestyle="--")
left.set(xlabel="context length n", ylabel="window parameter w*")
plots.lines(right, long_contexts, "n", "gap", "d", label="")
right.set(xlabel="context length n", ylabel="1 - w*")
for ax in (left, right):
    ax.set(xscale="log", yscale="log")
plots.guide(right, 1e8, 1e-6, -gaussian.RATE, "", decades=22)
right.text(1e3, 1e-14, f"slope -{gaussian.RATE:.3f}", color=plots.COLORS["guide"])
left.legend(fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-gaussian
# :alt: Left, against the context length: on Gaussian tokens the best window parameter levels off at one in every dimension,
# on the sphere it grows like a power. Right, log-log: one minus the best window parameter falls along curves that become
# parallel to a dashed line.
#
# Exact. Left: the best window parameter on Gaussian tokens (solid) stops at one; on the sphere of equal mean squared length
# (dashed) it grows. Right: its distance from one falls like a power of $n$, up to logarithms. The dashed line has the slope
# $-1/\varphi$, with the golden ratio $\varphi$.
# ```
#
# ## In plain words
#
# Attention averages the labels of tokens in a {term}`window` around the {term}`query`. On the sphere all tokens have the same
# length, and a larger {term}`window parameter` $w$ brings the weights closer to the query: **large $w$, narrow window**. The
# score $w\,x\cdot x_q$ also rewards length. If tokens differ in length, a larger $w$ prefers the *longest* tokens in the
# query's direction, and these are not the nearest ones.
#
# For Gaussian tokens this can be computed. The weights $e^{w\,x\cdot x_q}$ turn the law $N(0,I)$ of a token into $N(wx_q,I)$:
# its mean moves, its width stays. Many tokens therefore give
#
# ```{math}
# :label: eq-tilt
# \sum_i\omega_if(x_i)\;\to\;\mathbb E f(g+w\,x_q),\qquad g\sim N(0,I).
# ```
#
# For linear $f$ the right side is $wf(x_q)$, which is correct at $w=1$. With more examples $w^*$ tends to one, where on the
# sphere it rises without end. (Two examples without noise can have a larger $w^*$.)

# %%
for n in (1e2, 1e6, 1e12):
    best = gaussian_window(dim=5, n=n, noise_std=0.5)
    print(f"n = {n:.0e}   w* = {best.w:.4f}   1 - w* = {best.gap:.2e}")

# %% [markdown]
# ## What is printed, and what is true
#
# Theorem 2 and Lemma 1 of paper 1 are stated for tokens on a sphere or an ellipsoid. On Gaussian tokens the abstract of
# another paper {cite:p}`boursier2025` says:
#
# > For i.i.d. Gaussian inputs, we lean on the fact that the softmax operator converges in the infinite-prompt limit to a
# > linear operator acting on the underlying input-token measure
#
# ```{admonition} What is true
# :class: tip
# - On Gaussian tokens the limit {eq}`eq-tilt` is reached like $1/n$ at a fixed query. On average over queries it is reached
#   like $1/n$ for $w\le\frac1{\sqrt2}$ only, and more slowly for every larger $w$ ({prf:ref}`theorem on every window
#   <thm-every-w>`).
# - No matrix is better than the best $wI$ ({prf:ref}`theorem for any lengths <thm-lengths>`). The best $w$ tends to one, and
#   $1-w^*$ falls like $n^{-1/\varphi}$ up to logarithms ({prf:ref}`theorem on the golden ratio <thm-golden>`).
# - In the unit ball, where lengths are bounded but differ, the limit is best at a finite $w$, and an error remains.
# - What remains of Theorem 2 for linear functions is the direction: $w^*$ rises with $L/\sigma$.
# ```
#
# We have read that paper's abstract, and one of its propositions as another text quotes it (Experiment 3). Demir
# and Dogan {cite}`demir2025` study temperature, Lu et al. {cite}`lu2025` linear attention in high dimension.
#
# ## By hand: a parabola
#
# For $f(x)=x^2-1$ in one dimension the limit {eq}`eq-tilt` is $w^2x_q^2$. The error
# $\mathbb E(x_q^2-1-w^2x_q^2)^2=3(1-w^2)^2-2(1-w^2)+1$ is least at $w^2=\frac23$, where it is $\frac23$. The variance of $f$
# is $2$: a third of it remains for every $n$.

# %%
floor = least_hermite_floor([0, 0, 1])  # f = He_2
print(f"w^2 = {floor.w**2:.6f}   error {floor.risk:.6f}   variance {floor.power:.0f}")

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens and query $N(0,I_d)$, the query does not attend to itself | kept; sphere and ball for comparison |
# | $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$ | unless said otherwise; nonlinear functions in Experiment 4 |
# | $M=wI$ | for linear functions no restriction ({prf:ref}`theorem for any lengths <thm-lengths>`); an assumption in Experiment 4 |
# | the exact risk | tested: two tokens, summed directly |
# ```
#
# ## Experiment 1: the exact risk
#
# Let $r$ be the length of the query, $\tau=wr$, and $g_i$ the tokens' components along it: $\omega_i\propto e^{\tau g_i}$.
# Two moments of the weights are enough,
#
# $$C=\mathbb E\sum\omega_i^2,\qquad D=\mathbb E\sum\omega_i^3-\mathbb E\big(\sum\omega_i^2\big)^2 .$$
#
# Integrating by parts gives $\mathbb E\sum\omega_ig_i=\tau(1-C)$ and
# $\mathbb E(\sum\omega_ig_i)^2=\tau^2(1-C-6D)+C$, hence the bias that the card states. The {term}`noise <population risk>`
# term is $\sigma^2C$. The card sums two tokens directly; the control counts the query as one more token.

# %% tags=["hide-input"]
two = each(gaussian.two_token_ratio, d=dims)
control = two[["d", "wrong", "error"]]
judge(
    "P1.G.exact",
    cases(two, error="error", labels=["d"], name="d = {d}, n = 2"),
    cases(control, "wrong", error="error", name="d = {d}, n = 2"),
    folded=True,
)

# %% [markdown]
# **Exercise 1.** What are $C$, $D$ and the bias at $w=0$?
#
# :::{admonition} Solution
# :class: dropdown
# All weights are $\frac1n$, so $C=\frac1n$ and $D=\frac1{n^2}-\frac1{n^2}=0$. The bias is
# $\frac{L^2}d(\mathbb Er^2+\frac dn)=L^2(1+\frac1n)$: the query's own label and the variance of a mean.
# :::
#
# ## Experiment 2: where the window stops
#
# A function of tokens of length $\sqrt d$ is one of slope $\sqrt dL$ of unit tokens, and $w$ is $d$ times smaller. This makes
# the two laws comparable. The control is a pair of tokens without noise, whose best $w$ exceeds one.
#
# That $M$ is a multiple of the identity is no restriction here, whatever the lengths of the tokens are:
#
# :::{prf:theorem} the best matrix, tokens of any lengths
# :label: thm-lengths
# :nonumber:
# Let the tokens be independent with one rotation-invariant law of finite second moment, the query independent of them with
# another, neither of them always zero. Let $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$, $L>0$, and the noise
# be independent with mean zero and variance $\sigma^2\ge0$. For $n\ge2$ every matrix that is not $wI$ with $w\ge0$ has a risk
# larger than $\inf_{w\ge0}R(w)$, where $R(w)$ is the risk of $wI$. So every minimizer over all matrices is such a multiple.
# :::
#
# *Idea.* The layer sees the query through $v=Mx_q$ alone, and to turn $v$ away from $x_q$ only lowers the correlation of
# prediction and label. What is left is the length of $v$, and a multiple of the identity chooses it as well, because the
# direction of the query says nothing about its length.
#
# :::{admonition} Proof
# :class: dropdown
# *Given the query,* let $r=|x_q|>0$, $\tau=|v|$, and $\alpha$ the angle between $v$ and $x_q$. The law of the tokens is invariant
# under rotations about $v$ and under reflections that keep $v$, so $\mathbb E\sum\omega_ix_i=\mu(\tau)\,v/\tau$, and
# $\mathbb E|\sum\omega_ix_i|^2=S(\tau)$ and $\mathbb E\sum\omega_i^2=C(\tau)$ depend on $\tau$ alone. The risk at this query is
#
# $$\tfrac{L^2}d\big[S(\tau)-2r\,\mu(\tau)\cos\alpha+r^2\big]+\sigma^2C(\tau).$$
#
# *The sign of $\mu$.* $\mu(0)=0$, and $\mu'$ is the mean of the variance under $\omega$ of the tokens' components along $v$, which
# is positive because $n\ge2$ and these components are not all equal. So $\mu(\tau)>0$ for $\tau>0$, and the risk at this query is
# at least its value at $\alpha=0$, with equality only for $\alpha=0$ or $\tau=0$.
#
# *The length.* Let $x_q=r\theta$. As $r$ and $\theta$ are independent and $\tau=r|M\theta|$, the mean over $r$ of the value at
# $\alpha=0$ is $R(|M\theta|)$. So the risk of $M$ is at least $\mathbb E_\theta R(|M\theta|)\ge\inf_{w\ge0}R(w)$. If both are equal,
# $M\theta=c(\theta)\theta$ with $c(\theta)\ge0$ for almost every $\theta$, by continuity for all. Then every vector is an
# eigenvector, and $M=cI$. $\square$
#
# The same three steps apply to the limit $n\to\infty$, where $\mu(\tau)$ is the mean under the tilted law and $S=\mu^2$.
# :::

# %%
many, noises = np.array([n for n in n_values if n >= 100]), np.array(noise_stds)
stopped = each(gaussian.window, d=dims, lengths=many, sigmas=noises)
at_last = {"lengths": many[-1:], "sigmas": noises}
on_the_sphere = each(gaussian.window_on_sphere, d=dims, **at_last)
pair = each(gaussian.window, d=[2], lengths=2, sigmas=0.0)

# %% tags=["hide-input"]
columns, where = ["d", "n", "sigma", "tokens"], "{tokens}, d = {d}, n = {n:g}"
setting = f"{where}, sigma = {{sigma:g}}"
judge(
    "P1.G.stops",
    [
        cases(table, "w", error="error", labels=columns, name=setting)
        for table in (stopped, on_the_sphere)
    ],
    cases(
        pair, "w", error="error", labels=["tokens"], name=where.format(**pair.iloc[0])
    ),
)

# %% [markdown]
# **In a ball.** The uniform law in the unit ball of $\mathbb R^d$ is the projection of that on the sphere in $d+2$
# dimensions. For many tokens the prediction at a query of length $r$ is $A(wr)\,\beta\cdot x_q/r$ with $A=I_{d/2+1}/I_{d/2}$.
# This function is strictly concave, so it is never the identity: a floor remains, and by the {prf:ref}`theorem for any
# lengths <thm-lengths>` no other matrix lowers it.

# %% tags=["hide-input"]
balls, spheres = each(gaussian.ball_limit, d=dims), each(gaussian.sphere_floor, d=dims)
judge("P1.G.ball", balls, spheres, error="error", name="{what}, d = {d}", folded=True)

# %% tags=["hide-input"]
signal = each(gaussian.signal_slope, d=dims, n=n_values)
judge("P1.G.survives", signal, error="error", name="d = {d}, n = {n:g}", folded=True)

# %% [markdown]
# **Exercise 2.** Why does $w^*$ exceed one for two tokens without noise in two dimensions?
#
# :::{admonition} Solution
# :class: dropdown
# The mean prediction is $w(1-C)\beta\cdot x_q$, and with two tokens $C\ge\frac12$. The slope is too small, and a larger $w$
# corrects it as long as $C$ grows slowly.
# :::
#
# ## Experiment 3: how fast, at every window
#
# :::{prf:theorem} many Gaussian tokens, every window
# :label: thm-every-w
# :nonumber:
# Let tokens and query be independent $N(0,I_d)$, $w>0$, and $s=\frac12\big(1+\sqrt{1+4/w^2}\big)$, the positive root of
# $s(s-1)=1/w^2$. For $n\to\infty$ both $\mathbb E\sum\omega_i^2$ and $\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ are
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
# *Idea.* A weight is at most one, so $\omega^2\le\omega^s$ for every $s\le2$, and the $s$-th moment of a weight is that of a
# log-normal variable: $n\,\mathbb E\omega_1^s\approx n^{1-s}e^{s(s-1)w^2r^2/2}$ at a query of length $r$. Its mean over the query is
# finite as long as $s(s-1)w^2<1$, and the best exponent is the end of that range: at $w=1$ the equation is $s^2=s+1$, that of
# the golden ratio. The bound is sharp because at queries with $w^2r^2\approx\frac{2w}{\sqrt{w^2+4}}\log n$ one token carries a
# finite part of the weight with just that probability (condensation in the random energy model
# {cite:p}`derrida1981,bouchaud1997`).
#
# :::{admonition} Proof
# :class: dropdown
# *Given the query,* let $\tau=wr$, $x=\tau^2/\ell$, $p_k=\sum\omega_i^k$, $C=\mathbb Ep_2$, $D=\mathbb Ep_3-\mathbb Ep_2^2$. By
# Experiment 1 the squared distance has the mean $Q=dC+\tau^2(C-6D)$. Since $p_2^2\le p_3\le p_2$ by Cauchy and Schwarz,
# $0\le D\le C$ and $Q\le(d+\tau^2)C$. Write $S=\sum_{j\ge2}e^{\tau g_j}$ and $A=S/(n\,e^{\tau^2/2})$.
#
# *1. The sum of the others is rarely small.* $Y=e^{\tau g}1\{g\le\tau\}$ has $\mathbb EY=\frac12e^{\tau^2/2}$ and
# $\mathbb EY^2\le\frac12e^{3\tau^2/2}$, and $\mathbb Ee^{-\lambda Y}\le e^{-\lambda\mathbb EY+\lambda^2\mathbb EY^2/2}$. With
# $\lambda=\mathbb EY/(2\,\mathbb EY^2)$, $k$ tokens have $P(\sum e^{\tau g_j}<\frac k4e^{\tau^2/2})\le\exp(-\frac k{16}e^{-\tau^2/2})$. With
# $k=n-1$, $n\ge3$, both $nP(A<\frac18)$ and $n^2P(A<\frac1{12})$ for one token less are at most
# $\delta_n=n^2\exp(-\frac n{48}e^{-\tau^2/2})$: for $x\le2-\varepsilon$ it is smaller than every power of $1/n$. (The truncation at
# $\tau$ carries this beyond $\tau^2=\log n$, up to where the sum freezes, $\tau^2=2\log n$.)
#
# *2. Bound.* With $y=\tau g_1-\ell-\frac{\tau^2}2$, $\omega_1=e^y/(e^y+A)$ is at most $\min(1,8e^y)$ where $A\ge\frac18$. As
# $\min(1,z)^2\le z^{s'}$ for $0\le s'\le2$,
#
# $$C\le n\,\mathbb E\min(1,8e^y)^2+\delta_n\le64\,n^{1-s'}e^{s'(s'-1)\tau^2/2}+\delta_n.$$
#
# The best $s'$ is $\min(2,\alpha)$ with $\alpha=\frac1x+\frac12$, and $C\le64\,n^{-c(x)}+\delta_n$ with $c(x)=1-x$ for $x\le\frac23$
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
# $\delta_n=o(\Lambda)$. So uniformly there $\mathbb Ep_k=\Lambda\,[\mathrm B(k-\alpha,\alpha)+o(1)]$, $k\ge2$. Two heavy tokens are rarer:
# with $S$ less one more token $n^2\,\mathbb E\omega_1^2\omega_2^2\le(n\,\mathbb E\min(1,12e^y)^2)^2+\delta_n=O(\Lambda^2)+\delta_n$, so
# $\mathbb Ep_2^2=\Lambda\,[\mathrm B(4-\alpha,\alpha)+o(1)]$. With $\mathrm B=\mathrm B(2-\alpha,\alpha)=\Gamma(\alpha)\Gamma(2-\alpha)$ the two other
# integrals are $\frac{2-\alpha}2\mathrm B$ and $\frac{(3-\alpha)(2-\alpha)}6\mathrm B$, and
# $1-3(2-\alpha)+(3-\alpha)(2-\alpha)=(\alpha-1)^2$:
#
# $$C=\Lambda\,[\mathrm B+o(1)],\qquad C-6D=\Lambda\,[(\alpha-1)^2\mathrm B+o(1)].$$
#
# *4. Where none is.* Tilting by $e^{2\tau g_1}$ gives $n\,e^{-\tau^2}C=\mathbb E(e^{y'}+A)^{-2}$ with $y'=(\frac32x-1)\ell+\tau g$.
# Uniformly on $x\le\frac23-\varepsilon$, $y'\to-\infty$ in probability; so $n\,e^{-\tau^2}C\to1$, and in the same way
# $n\,e^{-\tau^2}D\le n\,e^{-\tau^2}\mathbb Ep_3\to0$. (Where $A\ge\frac18$ the variable is at most 64; elsewhere use $\delta_n$.)
#
# *5. Mean over queries.* The density of $r$ is $p(r)=2^{1-d/2}r^{d-1}e^{-r^2/2}/\Gamma(\frac d2)$, that is $n^{-x/2w^2}$ up to powers of
# $\ell$. Queries with $x>2-\varepsilon$ contribute at most $\mathbb E[d+\tau^2;x>2-\varepsilon]=n^{-(2-\varepsilon)/2w^2+o(1)}$, and
# $\frac1{w^2}$ exceeds $r(w)$: it is $s(s-1)>s-1$, and at least 2 for $w^2\le\frac12$. So they are negligible for small $\varepsilon$.
# The others contribute $n^{-\min h+o(1)}$ at most, $h(x)=c(x)+\frac x{2w^2}$.
#
# - *$w^2>\frac12$.* $h$ falls on $[0,\frac23]$ and is strictly convex on $[\frac23,2]$ with $h'=-\frac1{2x^2}+\frac18+\frac1{2w^2}$.
#   Its only minimum is at $x_*=\frac{2w}{\sqrt{w^2+4}}$, between $\frac23$ and 2, where $h=\frac1{x_*}-\frac12=s-1$, $h''=x_*^{-3}$ and
#   $\alpha=s$. Away from it the contribution is smaller by a power of $n$. Near it insert 3; Laplace's method with
#   $r=\sqrt{x\ell}/w$ gives
#   $\frac{2^{1-d/2}}{\Gamma(d/2)}\big(\frac{x_*\ell}{w^2}\big)^{\frac{d-1}2}\frac{\Gamma(s)\Gamma(2-s)}{\sqrt{2\pi x_*\ell}}
#   \frac{\sqrt\ell}{2w\sqrt{x_*}}\sqrt{\frac{2\pi x_*^3}\ell}\,n^{-(s-1)}=c_w\ell^{d/2-1}n^{-(s-1)}$. In $Q$ the second term
#   dominates, with the factor $x_*\ell\,(s-1)^2$.
# - *$w^2<\frac12$.* At a fixed query $nC\to e^{\tau^2}$ and $nD\to0$ by 4. By 2 with $s'=2$, $nC\le64\,e^{w^2r^2}+n\delta_n$, which is
#   integrable, and $n\delta_n\to0$ uniformly on $\tau^2\le\ell$; beyond, $n\,\mathbb E[d+\tau^2;\tau^2>\ell]=n^{1-1/2w^2+o(1)}\to0$. So
#   $n\,\mathbb EC\to\mathbb Ee^{w^2r^2}$ and $n\,\mathbb EQ\to\mathbb E(d+w^2r^2)e^{w^2r^2}$.
# - *$w^2=\frac12$.* $h=1$ on all of $[0,\frac23]$, and larger beyond. Up to $x=\frac23-\varepsilon$, $nC\,p(r)\sim2^{1-d/2}r^{d-1}/
#   \Gamma(\frac d2)$ is a power of $r$, integrated up to $r^2=\frac43\ell$; in $Q$ it is multiplied by $\frac12r^2$. By 2 with $s'=2$ the
#   interval $|x-\frac23|<\varepsilon$ adds at most a constant times $\varepsilon$ of that, and what is beyond a smaller power of $n$. Let
#   $\varepsilon\to0$. $\square$
# :::

# %%
for w in (0.5, 1.0, 2.0):
    shorter, longer = gaussian_distance(dim=1, w=w, n=[1e28, 1e30]).distance
    exponent = np.log(shorter / longer) / np.log(100)
    print(f"w = {w}: exponent {exponent:.3f}, theorem {distance_exponent(w):.3f}")

# %% tags=["hide-input"]
grid_w = np.geomspace(0.25, 3, 19)
fine_w = np.geomspace(0.25, 3, 400)
wide_w = fine_w[fine_w >= 1]
exact_exponents = each(gaussian.distance_exponents, d=dims, w=grid_w)
figure, ax = plt.subplots(figsize=(6.4, 3.0))
plots.exact_curve(ax, fine_w, distance_exponent(fine_w), "theorem")
for dim, shade in plots.colors(dims).items():
    part = exact_exponents[exact_exponents.d == dim]
    ax.plot(
        part.w, part.value, "o", markersize=3.5, color=shade, label=f"exact, d = {dim}"
    )
guide_color = plots.COLORS["guide"]
ax.plot(
    wide_w,
    gaussian.RATE / wide_w**2,
    color=guide_color,
    linestyle="--",
    linewidth=1.2,
    label=r"$w^{-2}/\varphi$",
)
ax.axvline(0.5**0.5, color=guide_color, linewidth=0.8)
ax.set(xscale="log", xlabel="window parameter w", ylabel="exponent of 1/n")
ax.set(ylim=(0, 1.08))
ax.set_xticks([0.25, 0.5, 1, 2, 3], labels=["0.25", "0.5", "1", "2", "3"])
ax.minorticks_off()
ax.legend(fontsize=8, loc="lower left")
plt.show()

# %% [markdown]
# ```{caption} fig-every-w
# :alt: Against the window parameter a curve is flat at one up to 0.707 and then falls, through 0.618 at one, to about 0.1 at
# three. Points for each dimension lie on it, for large windows and high dimension above it. A dashed curve starts on it at one
# and falls below it.
#
# How fast $\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ falls with $n$. Line: the exponent $r(w)$ of the {prf:ref}`theorem on
# every window <thm-every-w>`. Points: local slopes of the exact distance from $n=10^{28}$ to $10^{30}$, less its power of
# $\log n$; for large $w$ and $d$ even these contexts are short. Vertical: $w^2=\frac12$. Dashed, for $w\ge1$: the largest
# multiple of $w^{-2}$ that stays below $r(w)$.
# ```
#
# **Two other bounds.** Proposition 3.1 of {cite:t}`boursier2025` we know only as a public audit of that paper quotes it. For tokens
# that are sub-Gaussian with parameter $\varsigma\ge1$ and a sub-Gaussian query with parameter one it bounds the same mean square
# by $c_1\varsigma^6\log n\;n^{-c_2/\varsigma^2}$, with constants that are not named and do not depend on $\varsigma$. Tokens
# $N(0,\varsigma^2I)$ and $M=I$ are our setting with $w=\varsigma$, so the theorem says how good such a bound can be: the power
# $\varsigma^{-2}$ is right, because $w^2r(w)$ rises from $1/\varphi$ at $w=1$ to one, and no $c_2$ above $1/\varphi$ serves all
# $\varsigma\ge1$ (dashed). Of {cite:t}`bohbot2026` we read the abstract and the public code. There each token is a query, too, and
# what is measured is the error of the mean and of the covariance of all outputs, beside a curve $n^{-1/(2(1+H^2))}$ whose $H$
# would here be $w$. That is not our quantity, and we do not draw it. By Jensen's inequality the error of the mean over
# independent queries is at most the root of our distance, $n^{-r(w)/2+o(1)}$, and $r(w)>\frac1{1+w^2}$ for every $w$.
#
# The card divides the distance by the power of $\log n$ that the theorem has; the control has queries of one length only, for
# which the exponent is one.

# %% tags=["hide-input"]
few_w = np.array([0.5, 0.8, 1.0, 1.25])
exponents = each(gaussian.distance_exponents, d=dims, w=few_w)
at_one_length = exponents[exponents.w > 0.75]
labels_w, name_w = ["d", "w"], "w = {w:g}, d = {d}"
judge(
    "P1.G.distance",
    cases(exponents, error="error", labels=labels_w, name=name_w),
    cases(at_one_length, "wrong", error="error", labels=labels_w, name=name_w),
)

# %% [markdown]
# **The golden ratio.** At $w=1$ the limit is the right answer, and the theorem says how far the best window is from it:
#
# :::{prf:theorem} the golden ratio
# :label: thm-golden
# :nonumber:
# Let $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$, $L>0$, $\sigma\ge0$, $d\ge1$, and tokens and query as
# in the {prf:ref}`theorem on every window <thm-every-w>`. There is $n_0$, which depends on $d$ and $\sigma/L$, such that for
# $n\ge n_0$ exactly one matrix has the least risk: $w^*I$ with $0<w^*<1$. For $n\to\infty$
#
# $$1-w^*\;\sim\;K_d\,(\log n)^{d/2+1}\,n^{-1/\varphi},\qquad
# K_d=\frac{\pi}{5^{1+d/4}\,\varphi^3\,\Gamma(\frac d2+1)\,\sin(\pi/\varphi)},$$
#
# with the same constant for all $L$ and $\sigma$, $\sigma=0$ included. The least risk is asymptotically equal to $\frac{L^2}d$ times
# the second column of the {prf:ref}`theorem on every window <thm-every-w>` at $w=1$.
# :::
#
# *Idea.* What pulls $w^*$ below one is the slope of the finite-context error at $w=1$. This error depends on $w|x_q|$ alone, so
# its slope is a mean of the error itself with the weight $|x_q|^2-d$: dominated by long queries, hence positive, and of the
# order of the error times $\log n$.
#
# "For $n\ge n_0$" is needed: without noise in one dimension, 100 tokens have their best $w$ above one.
#
# :::{admonition} Proof
# :class: dropdown
# By the {prf:ref}`theorem for any lengths <thm-lengths>` only $M=wI$, $w\ge0$, matters. By Experiment 1, with $C$ and $Q$ as
# in the last proof at $\tau=wr$,
#
# $$R(w)=L^2(1-w)^2+J(w),\qquad
# J(w)=\tfrac{L^2}d\,\mathbb E\big[Q(wr)+2(1-w)w\,r^2C(wr)\big]+\sigma^2\,\mathbb EC(wr).$$
#
# *Identities.* A function $F$ of the scores has $\frac d{d\tau}\mathbb EF=\tau\,\mathbb E\Delta F$, and
# $\Delta p_k=k[(k-1)p_k-2kp_{k+1}+(k+1)p_2p_k]$, $\nabla p_k\cdot\nabla p_l=kl(p_{k+l}-p_lp_{k+1}-p_kp_{l+1}+p_2p_kp_l)$. So polynomials
# $P$ in $p_2,p_3,\dots$ without a constant term stay such under $\Delta$, and as each of their monomials is at most $p_2$,
# $|\frac d{d\tau}\mathbb EP|\le K\tau C$ and $|\frac{d^2}{d\tau^2}\mathbb EP|\le K(1+\tau^2)C$ with a constant $K$. For every set of
# tokens $p_2$ and $m=\sum\omega_ig_i$ rise with $\tau$: their derivatives are twice the covariance of $\omega$ and $g$, and the variance
# of $g$, under $\omega$. So $C$ and $\mathbb Em=\tau(1-C)$ do not fall.
#
# *1. All minimizers tend to one.* $R(w)\ge\frac{L^2}d\mathbb E(r-\mathbb E[m\,|\,r])^2$. Let $q=P(1\le r\le2)$ and $n$ so
# large that $C(8)\le\frac12$. For $w\ge4$ and $1\le r\le2$ the mean of $m$ is at least that at $w=4$, $4r(1-C(4r))\ge2r$, so
# $R(w)\ge\frac{L^2}dq$. For $0\le w\le4$, $|r-wr(1-C(wr))|\ge|1-w|-4C(8)$ if this is positive, so
# $R(w)\ge\frac{L^2}dq\,(|1-w|-4C(8))_+^2$. As $R(1)\to0$ by the {prf:ref}`theorem on every window <thm-every-w>` and $R$ is
# continuous, for large $n$ there are minimizers, and all lie in $[1-\varepsilon,1+\varepsilon]$.
#
# *2. Only one.* By the identities, for $|w-1|\le\varepsilon\le\frac12$, $|J'(w)|+|J''(w)|\le K\,\mathbb E(1+r)^6C((1+\varepsilon)r)
# =n^{-r(1+\varepsilon)+o(1)}$; powers of the query's length change powers of $\log n$ only. So $R''=2L^2+J''>0$ there, the minimizer is
# unique, and it solves $2L^2(1-w^*)=J'(w^*)$. Hence $|1-w^*|\le n^{-r(1+\varepsilon)+o(1)}$ and
# $J'(w^*)=J'(1)+O(n^{-2r(1+\varepsilon)+o(1)})$. As $2r(1+\varepsilon)>1/\varphi$ for small $\varepsilon$, $J'(1)$ is what remains.
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
# Nothing is claimed about the rate of this convergence, and $n_0$ is not uniform: the noise term is smaller by $\log n$ only.
# :::

# %%
for n in (100, 1000):
    print(f"d = 1, no noise, n = {n}: w* = {gaussian_window(1, n, 0.0).w:.3f}")

# %% tags=["hide-input"]
styles = {"exact": "-", "one heavy token": ":"}
swept = {"d": dims, "kind": list(styles)}
slopes = each(gaussian.gap_slopes, **swept, lengths=far, sigma=sigma)
figure, ax = plt.subplots(figsize=(6.4, 2.6))
for kind, style in styles.items():
    label = "d = {}" if kind == "exact" else ""
    part = slopes[slopes.kind == kind]
    plots.lines(ax, part, "log_n", "slope", "d", label=label, linestyle=style)
ax.axhline(-gaussian.RATE, color=plots.COLORS["guide"], linestyle="--", lw=1.2)
ax.text(5, -gaussian.RATE + 0.01, r"$-1/\varphi$", color=plots.COLORS["guide"])
ax.set(xscale="log", xlabel="log n", ylabel="local slope of log(1 - w*)")
ax.legend(loc="upper right")
plt.show()

# %% [markdown]
# ```{caption} fig-golden
# :alt: Local slopes against the logarithm of the context length on a logarithmic axis. In each dimension they fall and tend
# to a dashed line at minus one over the golden ratio.
#
# Local slope of $\log(1-w^*)$ in $\log n$: exact up to $n=10^{30}$ (solid), and from the integral with one heavy token
# (dotted). The limit, about $-0.618$, is the same in every dimension; powers of $\log n$ delay it.
# ```
#
# The integral replaces the sum of the other tokens by its mean. It fills the gap between contexts whose exact risk we compute
# and those so long that powers of $\log n$ no longer matter. The card checks the law in two steps, from exact to integral and
# from integral to law; the control is the law of dimension $d+1$.

# %%
steps = each(gaussian.rate_steps, d=dims, sigma=noise_stds)

# %% tags=["hide-input"]
labels, at = ["d", "sigma"], "d = {d}, sigma = {sigma:g}"
by_law = f"one heavy token over the law, {at}"
first = f"exact over one heavy token, {at}"
judge(
    "P1.G.rate",
    [
        cases(steps, "first", error="first_error", labels=labels, name=first),
        cases(steps, "second", error="second_error", labels=labels, name=by_law),
    ],
    cases(steps, "wrong", error="wrong_error", labels=labels, name=by_law),
)

# %% [markdown]
# **How many tokens does the limit need?** $C$ is one over the number of tokens attended to. For $C=0.1$ the context must grow
# exponentially in $(wr)^2$ (first card). At a fixed query the weighted mean of the tokens tends to $wx_q$, in mean square
# like $1/n$ (second card), whatever $w$ is: the slower rates of the {prf:ref}`theorem on every window <thm-every-w>` are
# those of rare long queries.

# %% tags=["hide-input"]
ends = [{"a": float(a), "b": a + 1.0} for a in range(1, 9)]
needed = each(gaussian.tokens_needed, ends=ends)
between = "w r = {a:g} to {b:g}"
judge("P1.G.tokens", needed, error="error", name=between, folded=True)

# %% tags=["hide-input"]
approach = each(gaussian.approach_slopes, d=d)
near = f"w r = {{a:g}}, d = {d}"
judge("P1.G.large-prompt", approach, error="error", name=near, folded=True)

# %% [markdown]
# ## Experiment 4: the floor of nonlinear functions
#
# Expand $f(x)=\sum_kc_k\mathrm{He}_k(u\cdot x)$ in Hermite polynomials. Since $\mathbb E\,\mathrm{He}_k(g+t)=t^k$, the limit
# {eq}`eq-tilt` replaces $\mathrm{He}_k(t)$ by $(wt)^k$. The two agree for $k\le1$ at $w=1$; for a single $k\ge2$ the best multiple
# of $t^k$ leaves $k!\big(1-\frac{k!}{(2k-1)!!}\big)$.
#
# A function is recovered if $\mathbb Ef(g+wx)=f(x)$. At $w=1$ and among functions of polynomial growth these are the harmonic
# polynomials, such as $x_1x_2$, because the Fourier transform of $f$ must vanish but at zero. Without the growth condition
# there is also $e^{ax_1}\cos ax_1$ with $a^2=2\pi$; and at $w=\sqrt2$ the normal distribution function,
# $\mathbb E\Phi(g+\sqrt2x)=\Phi(x)$.

# %%
names = list(gaussian.functions())
lengths = [n for n in (100, 1000, 10000, 100000) if n <= context_length]
drawn = {"seed": range(seeds), "most": context_length}
risks = each(gaussian.sampled_risk, f=names, n=lengths, **drawn)
longest = risks.loc[risks.n == lengths[-1], ["f", "seed", "excess"]]

# %% tags=["hide-input"]
missed = each(gaussian.sampled_risk, f="He_2", n=context_length, **drawn, w=1.0)
recovered = each(gaussian.recovered_limit, f=list(gaussian.RECOVERED))
template = f"{{f}}, n = {context_length}"
judge(
    "P1.G.floor",
    [
        cases(longest, "excess", samples="seed", name=template),
        [
            cases(row, error="error", labels=[], name=f"{f}, limit")
            for f, row in recovered.groupby("f", sort=False)
        ],
    ],
    cases(missed, "risk", samples="seed", labels=[], name=template.format(f="He_2")),
)

# %% tags=["hide-input"]
known = gaussian.functions()
figure, ax = plt.subplots(figsize=(7.6, 2.6))
shown = gaussian.mean_risks(risks)
shown["beside"] = shown.n * 1.15 ** (shown.f.map(names.index) - 2.0)
printed = ["$x_1$", "$He_2$", "$He_3$", "$(x_1)_+$", "$x_1x_2$"]
shown["name"] = shown.f.map(dict(zip(names, printed, strict=True)))
plots.points(ax, shown, "beside", "mean", "name")
for name, color in zip(names, plots.colors(printed).values(), strict=True):
    if known[name].limit:
        floor_of = known[name].limit / known[name].power
        ax.axhline(floor_of, color=color, linestyle="--", linewidth=1)
ax.set(xscale="log", yscale="log", xlabel="context length n", ylabel="risk / variance")
ax.set_ylim(2e-4, 6)
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %% [markdown]
# ```{caption} fig-floors
# :alt: The linear function and the product of two coordinates fall with the context length; their intervals are wide because
# rare tokens of large weight dominate. The second and third Hermite polynomials and the ReLU level off at their floors.
#
# Risk over the variance of the function: mean over sampled sets of tokens, with interval (points; those of the same $n$ stand
# side by side, and intervals that reach zero are cut), and the exact limits (dashed).
# ```
#
# **Exercise 3.** Which window is best for $f=\mathrm{He}_1+c\,\mathrm{He}_2$ with a small $c$, in long contexts?
#
# :::{admonition} Solution
# :class: dropdown
# The limit misses $(1-w)$ of $\mathrm{He}_1$ and, with $(wt)^2=w^2\mathrm{He}_2+w^2$, the parts $c(1-w^2)$ and $-cw^2$ of
# degrees two and zero: $(1-w)^2+2c^2(1-w^2)^2+c^2w^4$. To second order in $c$ it is least at $w=1-2c^2$, and about $c^2$, half
# of what linear attention misses ($2c^2$).
# :::
#
# ## Experiment 5: against linear attention
#
# Linear attention $\frac1n\sum_iy_i\,x_i^\top Mx_q$ is best at $M=mI$, $m=\big[1+\frac{d+1+d\sigma^2/L^2}n\big]^{-1}$, with risk
# $L^2(1-m)$, which falls like $1/n$. Softmax attention is slower. An intercept, which it does not notice because its weights
# sum to one, reverses the order; it is the control.

# %% tags=["hide-input"]
all_n = np.array(n_values)
over = each(gaussian.over_linear, d=dims, lengths=all_n, sigmas=noises)
offset = each(
    gaussian.over_linear, d=dims, lengths=all_n[-1], sigmas=noises, intercept=1.0
)
columns_over, ratio = ["d", "n", "sigma"], "d = {d}, n = {n:g}, sigma = {sigma:g}"
judge(
    "P1.G.linear",
    cases(over, error="error", labels=columns_over, name=ratio),
    cases(offset, error="error", labels=columns_over, name=ratio),
    folded=True,
)

# %% tags=["hide-input"]
grid = np.geomspace(2, 1e8, 15).round()
figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 2.5))
both = each(gaussian.over_linear, d=d, lengths=grid, sigmas=sigma)
boundary = each(gaussian.intercept_boundary, d=dims, n=grid.tolist(), sigma=sigma)
softmax, linear = plots.COLORS["softmax"], plots.COLORS["linear attention"]
narrow = gaussian_best_scale(d, (d + 2) ** -0.5, grid, sigma).risk
plots.exact_curve(left, grid, both.softmax, "softmax", softmax)
plots.exact_curve(left, grid, narrow, "with value scale", softmax, linestyle="--")
plots.exact_curve(left, grid, both.linear, "linear attention", linear)
left.set(xscale="log", yscale="log", xlabel="context length n", ylabel="risk")
plots.lines(right, boundary, "n", "b", "d")
right.set(xscale="log", xlabel="context length n", ylabel="intercept / L")
right.legend(title="d")
left.legend(fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-gaussian-phases
# :alt: Left, three falling risks: linear attention is lowest, softmax attention with a value scale runs parallel to it, plain
# softmax attention falls more slowly. Right, boundary curves against the context length, one for each dimension.
#
# Exact. Left: least risks in the middle dimension of the list; dashed, softmax attention at $w^2=1/(d+2)$ with its best value
# scale. Right: the intercept's standard deviation at which both have the same risk. Linear attention wins below a curve.
# ```
#
# **The value scale.** Let a factor $v$ of the prediction, the corner of $W_V$, be free. At fixed $w<\frac1{\sqrt2}$ the mean of
# $C$ is finite times $\frac1n$, and $v\approx\frac1w$ repairs the slope: the rate $1/n$ returns.

# %% tags=["hide-input"]
scaled = each(gaussian.value_scale, d=dims, sigma=noise_stds)
far_away = f"{at}, n = 1e12"
judge(
    "P1.G.value",
    cases(scaled, "free", error="free_error", labels=labels, name=far_away),
    cases(scaled, "fixed", error="fixed_error", labels=labels, name=far_away),
    folded=True,
)

# %% [markdown]
# **Exercise 4.** Where does the factor $(1+\frac2d)^{d/2+1}$ of the card come from?
#
# :::{admonition} Solution
# :class: dropdown
# To leading order $n\,C=e^{w^2r^2}$ and $n\,\mathbb EC=(1-2w^2)^{-d/2}$. The best $v$ leaves
# $\frac1n\big[(1-2w^2)^{-d/2-1}+\frac{1+\sigma^2}{w^2}(1-2w^2)^{-d/2}\big]$ for $L=1$; at $w^2=\frac1{d+2}$ this is the factor
# times $\frac{d+1+d\sigma^2}n$.
# :::
#
# ## To remember
#
# The narrowing window of Theorem 2 needs tokens of one length: only then does a larger $w$ prefer nearer tokens. On Gaussian
# tokens $w$ stops at one, a square is not recovered, and linear attention is better on linear functions.

# %% tags=["remove-input"]
notebook.footer()
