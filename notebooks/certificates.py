# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Proofs and certificates
#
# *A computation covers finitely many cases. Which statements about all matrices, all functions and all context lengths can be
# proved?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d of the covariates
lipschitz = 1.0  # Lipschitz constant L of the class
noise_std = 1.0  # standard deviation sigma of the label noise
context_length = 20  # n where other matrices are tried, besides two and ten times n

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icl.risk import low_rank_risk, matrix_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Quadratic, ReLU, Tanh, Zonal
from icl_book import notebook
from icl_book.claims import attained_cases, exact_cases, judge
from icl_book.figures import plots
from icl_book.measurements import certificates
from icl_rigor import curvature, enclose_risk

notebook.setup(globals())


# %% [markdown]
# **In short.** If function values are more alike at closer inputs, the best matrix is a multiple of the identity, for every number
# $n\ge2$ of examples. Directions that do not matter should get no weight. One bound on the bias holds for all $L$‑Lipschitz
# functions.
#
# <details><summary>How sure?</summary>
#
# - The [form of the best matrix](judged:P1.T2.form), the [bound for every Lipschitz function](judged:P1.T3.any) and the
#   [Lipschitz constant of the ReLU class](judged:P1.T2.lip) have their cards on this page. Two of these cards are about proofs, and
#   have computed cases that could have contradicted them.
# - If function values are not more alike at closer inputs, another matrix can be better. The figure shows this for a sum of two
#   waves on the circle.
#
# </details>
#
# ## Why
#
# This page proves four statements. Named theorems are the book's own, and numbered theorems are the authors'. The last sections
# have longer proofs of theorems that stand in other chapters.
#
# 1. **All matrices, every $n\ge2$.** Tokens in the direction of $Mx_q$ get the largest weights. If function values are more
#    correlated at closer inputs, $Mx_q$ should point to the query $x_q$. The best matrix is then a multiple $wI$ of the identity.
# 2. **Irrelevant directions.** If the labels do not depend on a direction, this direction adds random numbers to the scores, unless
#    the matrix ignores it. If labels are linear in the relevant directions and have no noise, these random numbers raise the risk.
# 3. **All Lipschitz functions.** At a given window the risks of *all* $L$‑Lipschitz functions have a common upper bound.
# 4. **All pairs of points.** The Lipschitz constant of a function of the ReLU class is the steeper of its two slopes.
#
# **The experiment of this page** shows that the first statement needs its assumption. For two classes we compare the exact risks of
# $wI$ and of $w$ times a quarter turn, the rotation of the circle by $90^\circ$. One class consists of ReLU functions. A function
# of the other class is a wave of 4 periods around the circle plus a weaker wave of 18 periods.
#
# To try $d=7$, run these lines in a new cell below the next cell. The quarter turn then rotates one plane, and $wI$
# should again have the smaller risk. At $d=5$, $n=20$ and $\sigma=1$ such a turn raises the risk of ReLU functions by
# [3](<judged:P1.T2.form|ReLU, d = 5, n = 20: a plane turned by 90°|100*.0f>) %.
#
# ```python
# tasks["ReLU"] = ReLU(dim=7)
# quarter_turn = np.eye(7)
# quarter_turn[:2, :2] = [[0, -1], [1, 0]]
# print(risks("ReLU").min())
# ```


# %% jupyter={"source_hidden": true} tags=["hide-input"]
@dataclass(frozen=True)
class TwoWaves(Zonal):
    """On the circle: waves of 4 periods, and weaker ones of 18, with random phases."""

    def covariance(self, cosine):
        theta = np.arccos(np.clip(cosine, -1, 1))
        return 0.9 * np.cos(4 * theta) + 0.1 * np.cos(18 * theta)


quarter_turn = np.array([[0.0, -1.0], [1.0, 0.0]])


tasks = {"ReLU": ReLU(dim=2), "two waves": TwoWaves(dim=2)}


def risks(name):
    task = tasks[name]
    best = optimal_window(task, n=20, noise_std=0.0)
    w = best.w * np.geomspace(0.6, 1.5, 19)
    straight = population_risk(task, w, n=20, noise_std=0.0).total
    matrices = [one * quarter_turn for one in w]
    turned = [matrix_risk(task, M, n=20, noise_std=0.0).total for M in matrices]
    return pd.DataFrame({"task": name, "w": w, "wI": straight, "quarter turn": turned})


turns = pd.concat(risks(name) for name in tasks)
turns = turns.melt(["task", "w"], var_name="matrix", value_name="risk")
least = turns.loc[turns.groupby(["task", "matrix"]).risk.idxmin()]
print(least.round({"w": 1, "risk": 5}).to_string(index=False))

# %% figure={"alt": "Left, ReLU functions: the risk of the quarter turn lies far above that of multiples of the identity. Right, two waves: the curve of the quarter turn has a lower minimum.", "name": "fig-right-angles"} jupyter={"source_hidden": true} tags=["hide-input"]
panels = plots.panels(turns, "task", ("w", "risk"), sharex=False, sharey=False)
plots.lines(panels, turns, x="w", y="risk", hue="matrix", col="task")
panels["two waves"].set_ylim(0.583, 0.605)
panels["ReLU"].set_ylim(-0.01, 0.26)
plots.label_lines(*panels.values())
plt.show()


# %% [markdown]
# **A quarter turn can be better.** Exact risk on the circle of $wI$ and of $w$ times a quarter turn, for $n=20$ and $\sigma=0$.
# Left: for ReLU functions $wI$ has the lower minimum. Right: for the two waves the quarter turn has the lower minimum.
#
# For the two waves, replacing $wI$ by the quarter turn changes the least risk by
# [−0.6](<judged:P1.T2.form|two waves, quarter turn|100*.1f>) %. Why does it help? The quarter turn does not change the strong wave.
# The weak wave is too short for the window, and appears in the prediction with the wrong sign. The quarter turn reverses this sign.
#
# The [theorem on form](#thm-form) covers every class whose covariance rises with $t$, the cosine of the angle between two inputs.
# For $n\ge3$ it also covers every class whose covariance is even in $t$ and rises with $|t|$. The next cell tests nine classes and
# prints for which $n$ the theorem holds:


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def least_covered(task):
    """Say for which n the theorem holds: k must rise with t, or with |t| if even."""
    t = np.linspace(-1, 1, 4001)
    k = task.covariance(t)
    even = np.allclose(k, k[::-1])
    rises = np.diff(k[2000:] if even else k) >= -1e-12 * np.ptp(k)
    if not rises.all():
        return "not covered"
    return "every n >= 3" if even else "every n >= 2"


for task in (ReLU(2), Affine(5), Tanh(3, steepness=5.0), Quadratic(5), Cosine(2, 3.0)):
    print(f"{task}: {least_covered(task)}")
for task in (Cosine(2, 4.0), Cosine(3, 4.0), Cosine(5, 8.0), TwoWaves(2)):
    print(f"{task}: {least_covered(task)}")

# %% [markdown]
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | here |
# |---|---|
# | tokens and query uniform on the sphere, class rotation invariant | assumed |
# | a minimizer exists | proved for $n\ge2$, if the class is not constant and its covariance $k$ has $k'(1)<\infty$ |
# | printed "for sufficiently large $n$" | not needed; proved for every $n\ge2$ and $\sigma\ge0$ |
#
# Automatic tests check the steps of the proofs numerically.
#
# </details>
#
# ## The form of the minimizer
#
# The slides say of Theorem 2: "the minimizer [...] is $\mathbf{M}^* = w_{KQ} \mathbf{I}_d$". Trained matrices alone cannot prove
# this, because the statement is about the [risks](#term-population-risk) of *all* matrices.
#
# <a id="thm-form"></a>
#
# > **Theorem** (the form of the minimizer). Let the function $f$, the tokens, the query and the noise be independent. Let
# > tokens and query be uniform on $S^{d-1}$, $d\ge2$. Let the law of $f$ be rotation invariant with
# > $\mathbb Ef(x)^2<\infty$ and covariance $k$. Let the noise have mean zero and variance $\sigma^2<\infty$, and let
# > $n\ge2$.
# >
# > 1. *Existence.* If the class is not constant and $k'(1)<\infty$, then $\mathcal L(wI)$ has a finite minimizer
# >    $w^*\ge0$.
# > 2. *Form.* In each of two cases the minimizers over all $d\times d$ matrices, if there are any, are exactly the $wI$
# >    with the best $w\ge0$:
# >    - (a) $k$ is nondecreasing on $[-1,1]$ and not constant on $(-1,1)$;
# >    - (b) $n\ge3$ and $k=k_1+k_2$. Here $k_1$ is nondecreasing and not constant on $(-1,1)$, and $k_2$ is even and
# >      nondecreasing in $|t|$.
# >
# >    If $n\ge3$ and $k$ itself is even, nondecreasing in $|t|$ and not constant on $(-1,1)$, the minimizers are exactly
# >    these $wI$ and the matrices $-wI$.
# > 3. *Which classes.* $k$ is nondecreasing for sums $f(x)=\sum_j\ell_jg_j(q_j\cdot x)$ with monotone $g_j$. The $q_j$
# >    must be independent of each other and have rotation-invariant laws. The $\ell_j$ must be independent of the $q_j$
# >    and have finite second moments. Examples are affine, linear, ReLU, tanh and sigmoid functions, and networks with
# >    one hidden layer of such functions. If the $q_j$ are Gaussian, $k$ is also nondecreasing for all odd $g_j$. If the
# >    $q_j$ are Gaussian and $n\ge3$, part 2 applies to all $g_j$.
#
# <details><summary>Proof</summary>
#
# *Idea.* Attention sees the query only through $Mx_q$. Reflect the sphere so that the direction of $Mx_q$ and the query
# change places. Of a token and its mirror image, the one nearer to $Mx_q$ has the larger weight, and the one nearer to
# the query has the better label. If $Mx_q$ points to the query, these two are the same token.
#
# *1. Existence.* $\mathcal L(wI)$ is continuous in $w$. As $w\to\infty$ it tends to the risk of the nearest token
# $x_{(1)}$. Let $\gamma=k(1)-k$ be the variogram and $t_i=x_i\cdot x_q$. Then
#
# $$\mathcal L(wI)=\mathbb E\Big[2\sum_i\omega_i\gamma(t_i)-\sum_{ij}\omega_i\omega_j\gamma(x_i\cdot x_j)+\sigma^2\sum_i\omega_i^2\Big].$$
#
# Each [Gegenbauer polynomial](#term-gegenbauer-polynomials) has its steepest slope at $1$, and therefore
# $|k'|\le k'(1)$. So $\sum_i\omega_i\gamma(t_i)$ exceeds $\gamma(t_{(1)})$ by at most
# $k'(1)\sum_i\omega_i(t_{(1)}-t_i)$. This excess has a mean of at most
#
# $$k'(1)\,n(n-1)\,\mathbb E(t_1-t_2)_+e^{-w(t_1-t_2)}=O(w^{-2}\log w).$$
#
# The other terms lower the risk by $\mathbb E\sum_{i\ne j}\omega_i\omega_j(\gamma(x_i\cdot x_j)+\sigma^2)$. Put
# $t_2=t_1+s/w$. By Fatou's lemma, the limit inferior of $w$ times this gain is at least
#
# $$n(n-1)\int p^2F^{n-2}\,\mathbb E[\gamma(x_1\cdot x_2)+\sigma^2\mid t_1=t_2=t]\,dt\int\frac{e^s\,ds}{(1+e^s)^2}>0,$$
#
# where $t_1$ has the density $p$ and the distribution function $F$. So for large $w$ the gain exceeds the excess, and
# the risk is below its limit.
#
# *2. A reflection.* In case (a) let $k_2=0$, and for even $k$ let $k_1=0$. Put $\rho=\|Mx_q\|$, $c=Mx_q/\rho$ and
# $\cos\alpha=c\cdot x_q$. Given $x_q$, attention has the weights of $\rho I$ for the query $c$. Without noise, the mean
# squared error given tokens and query is
# $\sum_{ij}\omega_i\omega_jk(x_i\cdot x_j)-2\sum_i\omega_ik(x_i\cdot x_q)+k(1)$. For given $c$ and $\rho$ only its
# middle term depends on $x_q$. So $\mathcal L(M)=\mathbb E_{x_q}[\mathcal L(\rho I)+2G(\rho,\alpha)]$ with
#
# $$G=\mathbb E_x[k(x\cdot c)-k(x\cdot x_q)]\,\mu(x\cdot c).$$
#
# Here $x$ is uniform, and $\mu(t)=n\,\mathbb E[\omega_1\mid t_1=t]$ at $\rho I$. The reflection that exchanges $c$ and
# $x_q$ keeps the law of $x$. Average $G$ over $x$ and its mirror image:
#
# <a id="eq-reflection"></a>
#
# $$G=\tfrac12\,\mathbb E_x\big[k(x\cdot c)-k(x\cdot x_q)\big]\big[\mu(x\cdot c)-\mu(x\cdot x_q)\big]. $$
#
# So $G$ is a sum of two terms, with $k_1$ and with $k_2$ in place of $k$.
#
# *$k_1$.* For $\rho>0$ the weight $\omega_1$ rises strictly with $t_1$, and so $\mu$ rises strictly. The two brackets
# then have the same sign, and $G\ge0$. If $G=0$, then $k_1(x\cdot c)=k_1(x\cdot x_q)$ for almost all $x$. Since $k_1$ is
# monotone, it is continuous except at countably many points. So the equality holds at all but countably many points of
# the circle through $c$ and $x_q$, and there it says that $k_1(\cos\theta)$ has the period $\alpha$. As a function of
# $\theta$, $k_1(\cos\theta)$ is even, and monotone on $[0,\pi]$. So if $0<\alpha\le\pi$, this function is constant on
# $(0,\alpha)$ and thus on $(0,\pi)$, which we excluded. (At $t=\pm1$ the covariance may jump, but tokens do not meet
# these points.)
#
# *$k_2$.* Average [the formula for $G$](#eq-reflection) over $x$ and $-x$ as well. This replaces $\mu$ by $\frac12\mu_s$
# with $\mu_s(t)=\mu(t)+\mu(-t)$. We show that $\mu_s$ rises strictly in $|t|$. Let
# $\phi(t)=\mathbb E[\omega_1\omega_2\mid t_1=t]$. As $\mu'=\rho\,n(n-1)\phi$, we need $\phi(t)>\phi(-t)$ for $t>0$. Put
# $m=\frac{t+t_2}2$, $b=\frac{t-t_2}2$ and $Y=\sum_{j\ge3}e^{\rho t_j}$, which is positive because $n\ge3$. Then
# $\omega_1\omega_2=(2\cosh\rho b+e^{-\rho m}Y)^{-2}$. The law of $t_2$ is symmetric. Replacing $t_2$ by $-t_2$
# exchanges $m$ and $b$. Replacing both $t$ and $t_2$ by their negatives changes the signs of $m$ and $b$. So
#
# $$\begin{aligned}
# \phi(t)-\phi(-t)&=\tfrac12\,\mathbb E[\Psi(m,b)+\Psi(b,m)],\\
# \Psi(m,b)&=(2\cosh\rho b+e^{-\rho m}Y)^{-2}-(2\cosh\rho b+e^{\rho m}Y)^{-2}.
# \end{aligned}$$
#
# $\Psi(m,b)$ is odd and increasing in $m$ and even in $b$. For $m>0$, $\Psi(m,b)$ falls in $|b|$. If $|t_2|<t$, then
# $m$, $b$, $\Psi(m,b)$ and $\Psi(b,m)$ are positive. If $t_2>t$, then $m>|b|$ and
#
# $$\Psi(m,b)\ge\Psi(|b|,|b|)\ge\Psi(|b|,m)=-\Psi(b,m).$$
#
# If $t_2<-t$, the same holds with $m$ and $b$ exchanged. So $G\ge0$ for $k_2$. If $G=0$, then $k_2(\cos\theta)$ has the
# period $\alpha$ in addition to its period $\pi$. If $0<\alpha<\pi$, both $\alpha$ and $\pi-\alpha$ are periods, and one
# of them lies in $(0,\frac\pi2]$. On this interval $k_2(\cos\theta)$ is monotone, so it is constant, as for $k_1$.
#
# *Equality.* We have $\mathcal L(M)\ge\mathbb E\,\mathcal L(\rho I)\ge\min_w\mathcal L(wI)$. Let both be equalities and
# $M\ne0$. Then $\rho>0$ and $\alpha=0$ for almost every query. For $k_1=0$ the angle $\alpha$ may also be $\pi$. By
# continuity every vector is an eigenvector, so $M$ is a multiple of $I$.
#
# *3. Which classes.* Write $\mathbb Ef(x)f(x')$ as a double sum over $i$ and $j$. Its terms with $i\ne j$ do not depend
# on $x$ and $x'$. For $i=j$ we omit the index. Let $\theta$ be the angle between $x$ and $x'$, and $R$ the length of
# the projection of $q$ on their plane. Given $R$, the function $\eta(\varphi)=g(R\cos\varphi)$ is even, and monotone on
# $[0,\pi]$. For $0\le\theta<\theta'\le\pi$ the reflection $\varphi\to\theta+\theta'-\varphi$ gives
#
# $$\begin{aligned}
# &\int\eta(\varphi)[\eta(\varphi-\theta)-\eta(\varphi-\theta')]\,d\varphi\\
# &\quad=\frac12\int[\eta(\varphi)-\eta(\theta+\theta'-\varphi)][\eta(\varphi-\theta)-\eta(\varphi-\theta')]\,d\varphi\ge0.
# \end{aligned}$$
#
# The reflection exchanges two half circles. On the one that contains $0$ and $\theta$, the two brackets have the same
# sign. On the other one both signs change.
#
# A ReLU function is the sum of two such terms, with $q$ and $-q$. Their coefficients are independent and centered, so
# the terms with $i\ne j$ vanish.
#
# For Gaussian $q$, Hermite's expansion of $g$ gives $k(t)=\sum_m\hat g_m^2t^m$ on the sphere. Odd powers are
# nondecreasing in $t$, and even powers in $|t|$. $\square$
#
# </details>
#
# For $n=2$ and an even covariance, the risk of $wU$ is the same for all rotations $U$.
#
# The card below tries four matrices that are not multiples of the identity. Its control is a quarter turn on the two
# waves of the figure [A quarter turn can be better](#fig-right-angles).

# %% jupyter={"source_hidden": true} tags=["remove-input"]
others = certificates.other_matrices(
    dims=dims,
    n_values=[2, context_length, 10 * context_length],
    lipschitz=lipschitz,
    noise_std=noise_std,
)
control = pd.DataFrame([certificates.compare_rotation(TwoWaves(2), n=20)])
judge(
    "P1.T2.form",
    exact_cases(others, error="error", name="{task}, d = {dim}, n = {n}: {matrix}"),
    exact_cases(control, error="error", name="two waves, quarter turn"),
)

# %% [markdown]
# ## By hand: looking the wrong way
#
# Looking away from the query can raise the risk by more than the mean square of the functions. Take affine functions without their
# constant, $f=\ell\,q\cdot x$, with the mean square $a_1=\mathbb Ef(x_q)^2$. Let the context be so long that the weighted mean over
# the tokens is nearly a mean over the sphere. With $M=wI$ the prediction is then $A\,f(x_q)$ with some $A<1$, and the bias is
# $(1-A)^2a_1$. With $M=-wI$ the prediction is $-A\,f(x_q)$, and the bias is $(1+A)^2a_1$. So looking the wrong way adds $4Aa_1$.
# For $A=\frac12$ this is $2a_1$.
#
# **Exercise 1.** Compare the risks of $M=-wI$ and $M=wI$ for a class of even functions, $f(-x)=f(x)$.
#
# <details><summary>Solution</summary>
#
# The two risks are equal. With $M=-wI$ attention looks at the tokens opposite the query, where an even function has the
# same values as near the query.
#
# </details>
#
# ## Where it is false
#
# On the circle let $\theta$ be the angle between $x$ and $x'$, and write $\mathbb Ef(x)f(x')=\sum_\ell a_\ell\cos\ell\theta$. Let
# $\omega_i$ be the weights of $wI$, let $\theta_i$ be the angle between token $i$ and the query, and put
# $m_\ell=\mathbb E\sum_i\omega_i\cos\ell\theta_i$. If $wI$ is multiplied by the rotation by $\alpha$, the risk changes by
# $2\sum_\ell a_\ell m_\ell(1-\cos\ell\alpha)$.
#
# For our two waves and a quarter turn, the term with $\ell=4$ is zero, and the term with $\ell=18$ is $4a_{18}m_{18}$, which is
# negative. So this sum is negative, and the quarter turn lowers the risk. The example refutes our earlier conjecture that some
# multiple of $I$ is best for *every* rotation-invariant class.
#
# **Open:** for $d\ge3$ we have neither a proof for all rotation-invariant classes nor a counterexample.
#
# **Exercise 2.** Change `covariance` so that the strong wave has 3 periods. Is a quarter turn still better? Which angle
# is natural to try instead?
#
# <details><summary>Solution</summary>
#
# With `np.cos(3 * theta)` a quarter turn is far worse, because it changes the strong wave: $\cos\frac{3\pi}2=0\ne1$. A
# turn by $120^\circ$ leaves both waves unchanged and gains nothing, because $3\cdot120^\circ$ and $18\cdot120^\circ$
# are full turns.
#
# </details>

# %% [markdown]
# ## Enclosed, not computed
#
# <a id="thm-enclose"></a>
#
# > **Theorem** (enclosure of the risk). Take the setting of the [theorem on form](#thm-form). Let the class be affine,
# > linear, quadratic, ReLU or cosine in any dimension $d\ge2$, and let $0\le w\le300$. Then `enclose_risk` either returns
# > intervals that contain the bias, the noise and the risk of $wI$, or refuses.
#
# <details><summary>Proof</summary>
#
# The risk is an integral over a variable $u$ and over the angle $\theta$ between a token and the query
# ([The exact error](exact_risk.ipynb)).
#
# *The integral over $u$.* Let $z=e^{u-w(1-\cos\theta)}$. The integrands are products of powers of $\mathbb E e^{-z}$
# and of means $\mathbb E[z^j\eta\,e^{-z}]$ over $\theta$, with functions $\eta(\theta)\ge0$. On the lines
# $\mathrm{Im}\,u=\pm a$ with $0<a<\frac\pi2$ each mean is at most $\cos(a)^{-j}$ times its value at
# $\mathrm{Re}\,u+\log\cos a$. Let the powers $j$ add up to two. Then the trapezoid rule with step $h$ has an error of
# at most $2\cos(a)^{-2}/(e^{2\pi a/h}-1)$ times the integral. The tails are bounded in `icl_rigor.enclose`.
#
# *The integral over the angle* uses a Gauss rule on each panel. The error of the rule is bounded through the largest
# value of the integrand on an ellipse around the panel. These ellipses are so narrow that $|\arg z|<1.3$ on them. Since
# $1.3<\frac\pi2$, this gives $|z^je^{-z}|\le|z|^je^{-|z|\cos1.3}$, so the factors $z^je^{-z}$ stay bounded.
#
# *Degrees beyond a cutoff $K$.* Let $g=ze^{-z}$ and $e_\ell=\mathbb E P_\ell g$. The contribution of these degrees is
# known exactly, except for the sum $\sum_{\ell>K}a_\ell e_\ell^2$. Let $N_\ell$ be the number of harmonics of degree
# $\ell$. By Bessel's inequality this sum is at most
# $N_{K+1}^{-1}\sum_{\ell>K}a_\ell\,(\mathbb E g^2-\sum_{\ell\le K}N_\ell e_\ell^2)$. $\square$
#
# </details>

# %% jupyter={"source_hidden": true} tags=["hide-input"]
sure = enclose_risk(ReLU(dim=3), w=2.0, n=5, noise_std=1.0)
print(f"bias  [{sure.bias[0]:.12f}, {sure.bias[1]:.12f}], certified")
print(f"noise [{sure.noise[0]:.12f}, {sure.noise[1]:.12f}], certified")

# %% [markdown]
# **Exercise 3.** Prove by computation that $w=2$ is not the best window parameter for `ReLU(dim=3)` at $n=5$ and
# $\sigma=1$.
#
# <details><summary>Solution</summary>
#
# ```python
# for w in (1.0, 2.0):
#     sure = enclose_risk(ReLU(dim=3), w=w, n=5, noise_std=1.0)
#     low = sure.bias[0] + sure.noise[0]
#     high = sure.bias[1] + sure.noise[1]
#     print(w, low, high)
# ```
# The interval from `low` to `high` at $w=1$ lies below the interval at $w=2$. This is a proof, because each interval
# contains its risk.
#
# </details>
#
# ## Irrelevant directions
#
# The irrelevant directions add a number $e\,s_i$ to the score of token $i$ ([Theorem 4](theorem4_low_rank.ipynb)). Let $u_i$ be the
# relevant part of token $i$ and $u_q$ that of the query, and let $t_i=u_i\cdot u_q$. Let $\varrho(c,e)$ be the risk with the scores
# $c\,t_i+e\,s_i$. This risk is the mean of $\frac1k|\bar u-u_q|^2+\sigma^2\sum\omega_i^2$ with $\bar u=\sum\omega_iu_i$. The first
# summand is the bias, and the second the noise.
#
# <a id="thm-irrelevant"></a>
#
# > **Theorem** (irrelevant directions do harm). Let $k\ge1$ be the number of relevant directions, $n\ge2$, $c\ge0$, and
# > $f=a\cdot u$. Let $a$, $u_q$ and all $u_i$ be independent and uniform on $S^{k-1}$, and let the numbers $s_i$ be
# > fixed, and not all equal.
# >
# > - (a) The bias rises strictly in $e\ge0$.
# > - (b) If $k\ge3$, the noise does not fall in $e\ge0$. If $n=2$, the noise is least at $e=0$.
# >
# > For the tokens of [Theorem 4](theorem4_low_rank.ipynb) let $k\ge2$, $d>k$ and $n\ge2$, and let
# > $n=2$ or $\sigma=0$ or $k\ge3$. **Then the minimizers over all $d\times d$ matrices are exactly the $cBB^\top$ for
# > which $c$ minimizes $\varrho(c,0)$.** At least one minimizer exists, and each has $0<c<\infty$.
#
# <details><summary>Proof</summary>
#
# *Idea.* Differentiate in $e$ with the other scores held fixed, and exchange the irrelevant numbers of two tokens. For
# $k=1$ and $\sigma=0$ this is the whole proof ([the swap](theorem4_low_rank.ipynb#thm-swap)).
#
# *1. Sums over pairs.* Let $k\ge2$, and put $d_l=u_l-u_q$. For all numbers $g_i$ the derivative of $\sum\omega_ig_i$ in
# $e$ is $\sum_{i<j}\omega_i\omega_j(s_i-s_j)(g_i-g_j)$. So
#
# $$\begin{aligned}
# \partial_e|\bar u-u_q|^2&=2\sum_{i<j}\omega_i\omega_j(s_i-s_j)\sum_l\omega_l\,(u_i-u_j)\cdot d_l,\\
# \partial_e\sum\omega_i^2&=2\sum_{i<j}\omega_i\omega_j(s_i-s_j)(\omega_i-\omega_j).
# \end{aligned}$$
#
# Given all $t$, the product $u_i\cdot u_j$ has the mean $t_it_j$ for $i\ne j$, and the weights depend on $t$ and $s$
# only. Hence $(u_i-u_j)\cdot d_l$ has the conditional mean $(1-t_i)(1+t_j)$ for $l=i$, the mean $-(1+t_i)(1-t_j)$ for
# $l=j$, and $-(t_i-t_j)(1-t_l)$ otherwise.
#
# *2. An integral.* Let $S$ be the sum of all $e^{ct_i+es_i}$, insert
# $S^{-3}=\frac12\int_0^\infty\lambda^2e^{-\lambda S}d\lambda$, and put $\lambda=e^x$, $x_i=x+es_i$ and
# $K_j(r)=e^{jr-e^r}$. With the law of $t=u\cdot u_q$ let
#
# $$\begin{aligned}
# U(x)&=\mathbb E(1-t)K_2(x+ct),&V(x)&=\mathbb E(1+t)K_1(x+ct),\\
# V_0(x)&=\mathbb EK_1(x+ct),&V_1(x)&=\mathbb E\,tK_1(x+ct),
# \end{aligned}$$
#
# $U_0(x)=\mathbb EK_2(x+ct)$ and $g(x)=\mathbb E\exp(-e^{x+ct})$. The tokens are independent, so
#
# <a id="eq-pairs"></a>
#
# $$\begin{aligned}
# &\partial_e\,\mathbb E|\bar u-u_q|^2=\sum_{i<j}(s_i-s_j)\int\Big\{\big[U(x_i)V(x_j)-V(x_i)U(x_j)\big]\prod_{l\ne i,j}g(x_l)\\
# &\quad+\sum_{l\ne i,j}\big[V_0(x_i)V_1(x_j)-V_1(x_i)V_0(x_j)\big](V_0-V_1)(x_l)\prod_{r\ne i,j,l}g(x_r)\Big\}\,dx,\\
# &\partial_e\,\mathbb E\sum\omega_i^2=\sum_{i<j}(s_i-s_j)\int\big[U_0(x_i)V_0(x_j)-V_0(x_i)U_0(x_j)\big]\prod_{l\ne i,j}g(x_l)\,dx.
# \end{aligned}$$
#
# Let $s_i>s_j$ and $e>0$, so that $x_i>x_j$, and let $c>0$. The quotient $V_1/V_0$ is the mean of $t$ under a law whose
# density with respect to that of $t$ is proportional to $K_1(x+ct)$. For $x'>x$ the quotient of the two densities is
# proportional to $\exp(-(e^{x'}-e^x)e^{ct})$, which falls in $t$. So the law moves down as $x$ rises, and $V_1/V_0$ falls
# strictly. As $V_0>V_1$, the second bracket in [the formula above](#eq-pairs) contributes a positive number. The first
# bracket does so by the [lemma](#thm-quotient) below, which says that $U/V$ rises strictly. This proves (a) for $c>0$. At
# $c=0$ the mean of $|\bar u-u_q|^2$ is $1+\mathbb E\sum\omega_i^2$, and $U_0/V_0=e^x$ rises in
# [the formula above](#eq-pairs). For $k=1$ replace $\sigma=0$ in the swap by the bias alone.
#
# *3. The noise.* As $K_1'=K_1-K_2$, we have $U_0/V_0=1-(\log V_0)'$. For $k\ge3$ the density of $t$, proportional to
# $(1-t^2)^{(k-3)/2}$, and $K_1$ are log-concave. So $V_0$ is log-concave by Prékopa's theorem
# ([Prékopa, 1973](cite:prekopa1973)), $U_0/V_0$ does not fall, and neither does the noise. For $n=2$ let
# $\zeta_i=e^{ct_i+es_i}$. Then
# $\omega_1\omega_2=\int_0^\infty\lambda\,\zeta_1\zeta_2\,e^{-\lambda(\zeta_1+\zeta_2)}d\lambda$, and by the inequality of
# Cauchy and Schwarz
#
# $$\textstyle1-\mathbb E\sum\omega_i^2=2\,\mathbb E\,\omega_1\omega_2=2\int V_0(x+es_1)V_0(x+es_2)\,dx\le2\int V_0^2\,dx,$$
#
# with equality at $e=0$.
#
# *4. All matrices.* Let $s_i=v_i\cdot v_q$. With a positive probability these numbers are not all equal, and $\varrho$ is
# even in $e$ because the law of $v$ is symmetric. So $\varrho(c,e)>\varrho(c,0)$ for $e\ne0$ and $c\ge0$. Now
# $\varrho(\cdot,0)$ is the risk of $cI$ for linear functions in $\mathbb R^k$, which has a minimizer by the
# [theorem on form](#thm-form). By the symmetry $u_i\to-u_i$, $\mathbb E|\bar u|^2$ and $\mathbb E\sum\omega_i^2$ are
# even in $c$. But $\mathbb E\sum\omega_it_i$ has the slope $\frac{n-1}{nk}>0$ at $c=0$, so $c=0$ is not a minimizer. The
# [proof that no matrix beats two numbers](theorem4_low_rank.ipynb) completes the proof. $\square$
#
# </details>
#
# <a id="thm-quotient"></a>
#
# > **Lemma** (a quotient rises). For every integer $k\ge2$ and every $c>0$ the quotient $U/V$ rises strictly on
# > $\mathbb R$.
#
# <details><summary>Proof</summary>
#
# *$c\le2$.* Let $a=e^x>b=e^{x'}>0$. With two independent copies $t_1$ and $t_2$ of $t$, and $E_i=e^{ct_i}$,
# $p=(1-t_1)(1+t_2)$, $q=(1+t_1)(1-t_2)$,
#
# $$U(x)V(x')-U(x')V(x)=ab\;\mathbb E\,E_1E_2\,e^{-aE_1-bE_2}\,[aE_1p-bE_2q].$$
#
# Exchanging $t_1$ and $t_2$ exchanges $E_1$ with $E_2$ and $p$ with $q$. For $t_1>t_2$ put $P=E_1p$, $Q=E_2q>0$ and
# $y=e^{-(a-b)(E_1-E_2)}\in(0,1)$. Apart from a positive factor, the two brackets with their exponentials add up to
#
# $$y\,(aP-bQ)+(aQ-bP).$$
#
# This is linear in $y$, equals $(a-b)(P+Q)>0$ at $y=1$, and equals $aQ-bP>0$ at $y=0$ if $P\le Q$. And $P\le Q$ says
# that $ct-2\,\mathrm{artanh}\,t$ is not larger at $t_1$ than at $t_2$, which is true because its derivative
# $c-\frac2{1-t^2}$ is not positive for $c\le2$. For $t_1=t_2$ the bracket is $(a-b)E_1p\ge0$.
#
# *$c\ge1$.* Let $\alpha=\frac{k-3}2\ge-\frac12$, $z=1+t$, $A=(2-z)^{\alpha+1}z^\alpha$ and $B=(2-z)^\alpha z^{\alpha+1}$.
# Up to one constant, $U=\int K_2A\,dt$ and $V=\int K_1B\,dt$, with the kernels at $x+ct$. Let $\Gamma=A$ for $k\ge3$. For
# $k=2$, where $A=\sqrt{(2-z)/z}$ falls, let $\Gamma$ be the minimum of $A$ and of its value at $z=\frac1c$. Then $\Gamma$
# is absolutely continuous, $0\le\Gamma\le A$ and $\Gamma=0$ at $t=1$. As $K_2=K_1-\frac1c\frac d{dt}K_1(x+ct)$,
# integration by parts gives
#
# $$\frac UV=\mathbb E_x\,\varphi_x(t)+\frac{\Gamma|_{t=-1}}c\,\frac{K_1(x-c)}{V(x)},\qquad
# \varphi_x=\frac{e^{x+ct}(A-\Gamma)+\Gamma+\Gamma'/c}B,$$
#
# where $\mathbb E_x$ is the mean under the density proportional to $K_1(x+ct)\,B$. The last term does not fall in $x$,
# because $V(x)/K_1(x-c)=\int e^{c+ct}\exp(-e^x(e^{ct}-e^{-c}))\,B\,dt$ does not rise. For fixed $t$, $\varphi_x(t)$ does
# not fall in $x$, as $A\ge\Gamma$. And the law of $\mathbb E_x$ moves down as $x$ rises, as that of $V_1/V_0$ above. So
# $U/V$ rises strictly if $\varphi_x$ falls strictly in $t$. It does:
#
# - *$k\ge3$.* Here $\varphi=\frac2z-1+\frac1c\big[\frac{2\alpha}{z^2}-\frac{2\alpha+1}z\big]$, and $-z^3\varphi'$ is the
#   linear function $\big(2-\frac{2\alpha+1}c\big)z+\frac{4\alpha}c$, which is at least zero at $z=0$ and equals
#   $4-\frac2c>0$ at $z=2$.
# - *$k=2$, $z>\frac1c$.* Here $\varphi=\frac2z-1-\frac1{cz^2}$ and $\varphi'=-\frac2{z^3}\big(z-\frac1c\big)<0$.
# - *$k=2$, $z<\frac1c$.* Here $\Gamma$ is constant, and
#   $\varphi_x=e^xe^{ct}\,\frac{2-z}z\,(1-\frac\Gamma A)+\frac\Gamma B$. The logarithm of $e^{ct}\frac{2-z}z$ has the
#   derivative $c-\frac2{z(2-z)}\le c-\frac1z<0$. The factor $1-\frac\Gamma A\ge0$ falls with $A$, and $\frac\Gamma B$
#   falls because $B=\sqrt{z/(2-z)}$ rises. At $z=\frac1c$ the function $\varphi_x$ jumps by $\frac{\Gamma'}{cB}=-c<0$.
#   $\square$
#
# </details>
#
# **Open:** we have not proved that only one $c$ minimizes $\varrho(c,0)$.
#
# <a id="thm-one-direction"></a>
#
# > **Theorem** (one relevant direction). Take the tokens of [Theorem 4](theorem4_low_rank.ipynb)
# > with $k=1$, $d>1$ and $n\ge2$.
# >
# > - (a) Let $\sigma=0$ and $C\ge1$. Among all $d\times d$ matrices with $|B^\top MB|\le C$ the only minimizer is
# >   $CBB^\top$.
# > - (b) Let $n=2$ and $\sigma>0$. Among all $d\times d$ matrices the only minimizer is $c^*BB^\top$ with
# >   $c^*=\mathrm{artanh}\frac2{2+\sigma^2}$.
#
# <details><summary>Proof</summary>
#
# Here $u=\pm1$. Let $\varrho(c,e)$ be the risk with the scores $c\,t_i+e\,s_i$ for $c$ of either sign, and write
# $p=B^\top MB$, $R=B^\top MB_\perp$ and $x_q=Bu+B_\perp v$. The query has the risk
# $\varrho(p+u\,Rv,\,|B_\perp^\top Mx_q|)$.
#
# *1. Negative $c$.* For $c\le0$ and every $e$, $\varrho(c,e)\ge1+\frac1n+\frac{\sigma^2}n=\varrho(0,0)$. To see this,
# replace all $t_i$ by $-t_i$. The bias becomes $\mathbb E(1+\bar T)^2$ with $\bar T=\sum\omega_it_i$ at $|c|$. The mean
# of $\bar T$ is zero at $c=0$, and its derivative in $|c|$ is a mean variance, so it is not negative. With
# $\zeta=e^{|c|t+es}$ and $s_i$ independent given $v_q$,
#
# $$\textstyle\mathbb E\bar T^2=\mathbb E\sum\omega_i^2+n(n-1)\,\mathbb E_{v_q}\!\int_0^\infty\lambda\,(\mathbb E\,t\zeta e^{-\lambda\zeta})^2\,(\mathbb Ee^{-\lambda\zeta})^{n-2}\,d\lambda\ge\frac1n.$$
#
# *2. (b).* By (a) and (b) of the theorem above, $\varrho(c,e)\ge\varrho(c,0)$ for $c\ge0$, with equality only at $e=0$.
# By Exercise 4 of [Theorem 4](theorem4_low_rank.ipynb) $\varrho(\cdot,0)$ has its only minimum on
# $[0,\infty)$ at $c^*$, and by step 1 negative $c$ are worse. So a best matrix has $p+u\,Rv=c^*$ and
# $B_\perp^\top Mx_q=0$ for almost every query, and by continuity for every query. As $u=\pm1$, $Rv=0$ and $p=c^*$. So
# $R=0$ and $B_\perp^\top M=0$.
#
# *3. The risk is convex.* From here on $\sigma=0$. On $[0,\infty)$ the function $\varrho(\cdot,0)$ falls strictly and is
# strictly convex. Put $\gamma=e^{2c}$, and let $K$ and $J$ be the numbers of right and wrong labels, $K+J=n$. The error
# is $4W^2$ with $W=J/(J+\gamma K)$, and $\partial_cW=-2W(1-W)$. So $\varrho'=-16\,\mathbb EW^2(1-W)<0$, and
#
# $$\varrho''=32\,\mathbb EW^2(1-W)(2-3W)=32\gamma\,\mathbb E\frac{KJ\cdot J(2\gamma K-J)}{(J+\gamma K)^4}.$$
#
# The product $KJ$ counts pairs of a right and a wrong token. Let $K'$ and $J'$ count the labels of the other $\nu=n-2$
# tokens, so that $K=1+K'$ and $J=1+J'$, and use $S^{-4}=\frac16\int_0^\infty\lambda^3e^{-\lambda S}d\lambda$. Under the
# factor $e^{-\lambda(J'+\gamma K')}$ each of these tokens is right with probability
# $p=(1+e^{\lambda(\gamma-1)})^{-1}\in(0,\frac12]$. With $m=\frac12(e^{-\lambda}+e^{-\lambda\gamma})$,
#
# <a id="eq-convex"></a>
#
# $$\varrho''=\tfrac43\,n(n-1)\,\gamma\int_0^\infty\beta(p)\,w(\lambda)\,d\lambda,\qquad w=\lambda^3e^{-\lambda(1+\gamma)}m^\nu,$$
#
# $$\begin{aligned}
# \beta(p)&=\mathbb E_p(1+J')(2\gamma(1+K')-1-J')\\
# &=2\gamma-1+\nu(2\gamma-3+3p)+\nu(\nu-1)\big[-1+(2\gamma+2)p-(2\gamma+1)p^2\big].
# \end{aligned}$$
#
# Let $N=n-1$. The function $\beta$ is concave, with $\beta(0)=N(2\gamma-N)$ and
# $\beta(\frac12)=\frac14[(2\gamma-1)(N^2+N+2)-2(N-1)]\ge\frac14(2\gamma-1)(N^2-N+4)>0$. If $2\gamma\ge N$, then $\beta>0$
# on $(0,\frac12]$. Let $2\gamma<N$, so that $N\ge3$. With $\Delta=\beta(\frac12)-\beta(0)>0$ concavity gives
# $\beta(p)\ge\beta(\frac12)-(1-2p)\Delta$. As $p$ is convex in $\lambda\ge0$, $1-2p\le\frac{\gamma-1}2\lambda$. From
# $\int d(\lambda^4e^{-\lambda(1+\gamma)}m^\nu)=0$ and $-m'/m\ge1$ the mean of $\lambda$ under $w$ is at most
# $\frac4{N+\gamma}$. So the integral in [the second derivative](#eq-convex) is positive if
# $\beta(\frac12)(N+\gamma)>2(\gamma-1)\Delta$, that is, if
#
# $$\beta(\tfrac12)\,(N+2-\gamma)>2(\gamma-1)\,N\,(N-2\gamma).$$
#
# As $2\gamma-1>2(\gamma-1)$ and $N+2-\gamma>N-2\gamma>0$, this follows from $N^2-N+4\ge4N$, which is true for $N\ge4$.
# For $N=3$ and $1\le\gamma<\frac32$ the left side is at least $\frac{10}4\cdot\frac72$, and the right side at most $3$.
#
# *4. A chord.* For $C\ge1$, $\varrho(C,0)<\frac12(\varrho(0,0)+\varrho(\infty,0))$. It is enough to take $C=1$, because
# $\varrho(\cdot,0)$ falls. Let $b=J/n$. Where all labels are wrong, $b=W=1$ for every $C$, so that these contexts add the
# same to both sides of the claim, which is therefore $\mathbb E[W^2;b<1]<\frac12\mathbb E[b^2;b<1]$. Here
# $W=b/(b+\gamma(1-b))\le b$, and $W^2\le\frac12b^2$ if $1-b\ge\frac{\sqrt2-1}{\gamma-1}$, which is below $\frac1{15}$ for
# $\gamma=e^2$. For $n\le15$ every $b<1$ has $1-b\ge\frac1{15}$. For $n\ge16$ the excess is at most
# $\frac12\mathbb P(b>\frac{14}{15})\le\frac12e^{-2n(13/30)^2}<\frac1{800}$. On $|b-\frac12|\le\frac14$, which has a
# probability of at least $1-2e^{-n/8}>\frac7{10}$, $W\le\frac25b$ because $\gamma-1>6$, and
# $\frac12b^2-W^2\ge\frac{17}{50}b^2\ge\frac{17}{800}$.
#
# *5. (a).* Let $\phi(c)=\varrho(c,0)$ for $c\ge0$ and $\phi(c)=1+\frac1n$ for $c<0$. This function is continuous and does
# not rise, and $\varrho(c,e)\ge\phi(c)$ by [the swap](theorem4_low_rank.ipynb#thm-swap) and step 1. Given $v$ put
# $\tau=|Rv|$. As $u$ is a fair coin and $p\le C$,
#
# $$\begin{aligned}
# \mathcal L(M)&\ge\tfrac12\,\mathbb E_v\big[\phi(p+\tau)+\phi(p-\tau)\big]\\
# &\ge\tfrac12\,\mathbb E_v\big[\phi(C+\tau)+\phi(C-\tau)\big]\ge\varrho(C,0)=\mathcal L(CBB^\top).
# \end{aligned}$$
#
# The last step is step 3 for $\tau\le C$. For $\tau>C$, $\phi(C+\tau)+\phi(C-\tau)>\varrho(\infty,0)+\varrho(0,0)$, and
# step 4 applies. If $p<C$, the second inequality is strict, because $\phi(p+\tau)\ge\phi(\max(p+\tau,0))>\phi(C+\tau)$.
# If $\tau>0$, the last one is strict. So $p=C$ and $Rv=0$ for almost every $v$, hence $R=0$. As $C>0$, the swap then
# gives $B_\perp^\top Mx_q=0$ for almost every query, and by continuity for every query. $\square$
#
# </details>
#
# <a id="thm-two-directions"></a>
#
# > **Theorem** (two directions). Take the tokens of [Theorem 4](theorem4_low_rank.ipynb) with
# > $k\ge2$, $d>k$ and $n\ge2$. In each of two cases the best matrices are exactly the $cBB^\top$ for which $c$ minimizes
# > $\varrho(c,0)$:
# >
# > - (a) $\sigma\ge\sigma_0(n,k,d)$;
# > - (b) $\sigma>0$ and $n\ge n_0(\sigma,k,d)$.
#
# <details><summary>Proof</summary>
#
# Notation is as before, with $s=v\cdot v_q$ and $N=\mathbb E\sum\omega_i^2$. Along a ray from $(c,e)=(0,0)$, $N$ does not
# fall. Its derivative is twice the mean of $\mathrm{Cov}_\omega(\omega,\text{score})\ge0$. Away from $(0,0)$, $N$ exceeds
# $\frac1n$. So for every $\delta>0$ there is a $\nu>0$ such that $N\ge\frac1n+\nu$ outside the $\delta$-ball around
# $(0,0)$. Now let $\varrho(c,e)\le\varrho(0,0)=\frac1k(1+\frac1n)+\frac{\sigma^2}n$. Then $N-\frac1n\le\frac2{k\sigma^2}$
# because $\varrho\ge\sigma^2N$. For large $\sigma$ such a point $(c,e)$ therefore lies inside the ball. Bias and $N$ are
# smooth in $(c,e^2)$. At $(0,0)$ we have $\partial_{e^2}N=\frac{n-1}{n^2(d-k)}$ and
# $\partial_{e^2}\text{bias}=\frac1k\partial_{e^2}N$. Both derivatives are positive in a small ball. So
# $\varrho(c,e)>\varrho(c,0)$ for $e\ne0$ in this ball, and all minimizers have $e=0$. $\square$
#
# </details>
#
# <details><summary>Proof of (b), long contexts</summary>
#
# *Idea.* In long contexts the bias is close to its limit for infinite $n$, which does not depend on $e$. The noise
# term, however, grows with $e$.
#
# The constant $C$ depends on $\sigma,k,d$ only and may change from line to line. The sign $\asymp$ means equality up to
# such factors. Let $y=1-t$, $q=e^{-cy}$, $W=cy+e(1-s)$ and $\zeta=e^{-W}\le1$. Put
#
# $$\varphi_j=\mathbb Eq^j,\quad a=\frac{\mathbb E[tq]}{\varphi_1},\quad m=n\varphi_1,\quad M=n\mathbb E\zeta\le m,\quad g(e)=\frac{\mathbb Ee^{2es}}{(\mathbb Ee^{es})^2}.$$
#
# Then $\varphi_j\asymp(1+c)^{-(k-1)/2}$, $1-a\asymp\frac1{1+c}$, and $g$ rises strictly from 1.
#
# *Lower bounds.* Let $Y=\sum_{j\ge2}\zeta_j$. Given $s_1$ and $Y$, the ratio $\omega_1/q_1$ falls in $t_1$. So, by
# Chebyshev's inequality,
#
# $$\textstyle\mathbb E\sum\omega_it_i=n\mathbb E[t_1q_1\cdot\omega_1/q_1]\le a\,\mathbb E\sum\omega_i=a.$$
#
# By Jensen's inequality,
#
# <a id="eq-jensen"></a>
#
# $$k\varrho\ge(1-a)^2+k\sigma^2N,\qquad N\ge\frac{n\,\mathbb E\zeta^2}{(1+M)^2}=\frac{\varphi_2}{n\varphi_1^2}\,g(e)\Big(\frac M{1+M}\Big)^2. $$
#
# The laws of $y$ and $1-s$ are doubling at 0, so $\mathbb P(W\le2r)\le C\,\mathbb P(W\le r)$. Hence
# $\mathbb E\zeta^2\ge C^{-1}\mathbb E\zeta$ and $N\ge C^{-1}M/(1+M)^2$.
#
# Let $M\le1$. On the segment from $(0,0)$, where $M=n$, to $(c,e)$ there is a point with $M=1$. There $N\ge C^{-1}$.
# From there to $(c,e)$, $N$ does not fall, as in the proof of (a). So $N\ge\eta$ with a constant $\eta>0$.
#
# *Where minima can be.* First choose $e=0$ and $c=n^{2/(k+3)}$, so that $c$ is large and $m\asymp n^{4/(k+3)}$. Then
#
# $$\textstyle k\varrho\le\mathbb E\sum\omega_iy_i^2+\mathbb E\sum\omega_i^2(1-t_i^2)+k\sigma^2N.$$
#
# With a probability of at least $1-e^{-m/C}$, all sums $\sum_{j\ne i}q_j$ are at least $m/C$. So up to an error of
# $e^{-m/C}$ the three terms of this bound are at most $\frac C{c^2}$, $\frac C{mc}$ and $\frac Cm$, and
# $\varrho\le Cn^{-4/(k+3)}$.
#
# Now let $\varrho(c,e)\le\inf_c\varrho(c,0)$. By [the bound by Jensen's inequality](#eq-jensen), $(1-a)^2$ and $N$ are
# then at most $Cn^{-4/(k+3)}$. So for large $n$, $c$ is large and $N<\eta$. Hence $M>1$ and $N\ge C^{-1}/M$, so
# $m\ge M\ge C^{-1}n^{4/(k+3)}$.
#
# *$e\ge1$.* At $(c,0)$ expand $1/Y$ and $1/Y^2$ around the mean of $Y$. Up to errors of $Ce^{-m/C}$,
#
# $$\textstyle1-\mathbb E\sum\omega_it_i\le(1-a)(1+\frac Cm),\quad N\le\frac{\varphi_2}{n\varphi_1^2}(1+\frac Cm),\quad\mathrm{Var}\sum\omega_it_i\le\frac C{mc^2}.$$
#
# We compare with [the bound by Jensen's inequality](#eq-jensen), where $\frac{\varphi_2}{n\varphi_1^2}\asymp\frac1m$. As
# $M$, $m$ and $c$ are large,
#
# $$k\varrho(c,e)-k\varrho(c,0)\ge\frac{k\sigma^2\varphi_2}{n\varphi_1^2}\big[g(1)(1-\tfrac2M)-1-\tfrac Cm\big]-\tfrac C{mc}-Ce^{-m/C}>0.$$
#
# *An integral over ranks.* For each token let $E$ be an independent exponential variable. Put $X=cy-es+\log E$. Given the
# scores, $e^{X_i}$ is exponential with the rate $e^{-cy_i+es_i}$. So $\omega_i$ is the probability that $X_i$ is the
# least of all, a known representation of such weights ([Yellott, 1977](cite:yellott1977)). Let $F$ and $f$ be the
# distribution function and density of $X$, $h(x)=\mathbb E[t\mid X=x]$ and $H=\mathbb E[t\,1_{X\le x}]$, all at the point
# $x$ whose rank is $F(x)=p$. Substituting $\lambda=e^x$ in $1/S^2=\int_0^\infty\lambda e^{-\lambda S}d\lambda$, where $S$
# is the sum of all rates, gives
#
# <a id="eq-ranks"></a>
#
# $$k\varrho=2+k\sigma^2-n(n-1)\int_0^1(1-p)^{n-2}\big(2H+f\,(1+k\sigma^2-h^2)\big)\,dp.$$
#
# *$0<e\le1$.* Let $f_0$ and $h_0$ be $f$ and $h$ at $e=0$, $\ell=(\log f_0)'$ and $s'=-s$. Let $Q$ be the law of $s'$
# given $X=x$. With respect to the unconditional law of $s'$, its density is proportional to $f_0(x-es')$. The
# variable $X$ is $es'$ plus its value at $e=0$. So the derivatives of $H$, $f$ and $fh$ in $e$ at a fixed rank are
# $-f\,\mathrm{Cov}_Q(s',\cdot)$ of $h_0$, $\ell$ and $h_0'+h_0\ell$ at $x-es'$. As $fh^2=(fh)^2/f$,
# [the formula for $k\varrho$](#eq-ranks) gives
#
# $$k\,\partial_e\varrho=n(n-1)\int(1-F)^{n-2}\Psi\,dx,\qquad\Psi=f^2\,\mathrm{Cov}_Q\big(s',R(x-es')\big),$$
#
# with $R=2h_0+(1+h^2+k\sigma^2-2hh_0)\ell-2hh_0'$. The number $h=h(x)$ is held fixed in $R$.
#
# *The left part* is $x\le-x_0$ with a constant $x_0$. Put $\lambda=e^x$. Then
#
# $$f_0=\lambda\,\mathbb E[qe^{-\lambda q}],\qquad\ell=1-\lambda b,\qquad b=\mathbb E[q^2e^{-\lambda q}]/\mathbb E[qe^{-\lambda q}].$$
#
# As $b\ge\beta>0$ and $|\frac{db}{d\lambda}|\le1$, we get $\ell'\le-\frac\beta2\lambda$. In $R$ the factor of $\ell$ is
# at least $k\sigma^2$. The function $1-h_0$ and its first two derivatives in $\lambda$ are of size at most $\frac Cc$.
# So for large $c$, $R'\le-\frac{k\sigma^2\beta}4\lambda$.
#
# Let $x\le-x_0-1$. Then all points $x-es'$ lie in the left part. So $R(x-es')$ rises in $s'$ with a slope of at least
# $C^{-1}e\,\lambda$, and $\Psi\ge C^{-1}e\,f^2\lambda$. Where $\frac12\le m\lambda\le2$, both $nf$ and $nF$ are
# $\asymp1$. These $x$ alone contribute at least $C^{-1}e/m$ to $k\,\partial_e\varrho$.
#
# *The right part* is $x>-x_0-1$. Because $\mathbb Es=0$, the functions $\mathbb E[s'f_0(x-es')]$,
# $\mathbb E[s'(h_0f_0)(x-es')]$ and their derivatives are at most $Ce$. So $|\Psi|\le Ce\,(f+|f'|+|(fh)'|)$. The
# absolute contribution of this part is at most
#
# $$Cn^2e\,(1-F(-x_0-1))^{n-2}\le Cn^2e\exp(-m/C)$$
#
# For large $n$ this is smaller than $C^{-1}e/m$. So $\partial_e\varrho>0$ on $(0,1]$.
#
# *Conclusion.* Let $e>0$ and $\varrho(c,e)\le\inf_c\varrho(c,0)$. We have shown that then $\varrho(c,0)<\varrho(c,e)$,
# a contradiction. So all minimizers have $e=0$. $\square$
#
# </details>
#
# **Open** are two cases: $k=1$ and $k=2$ with noise and a moderate $n\ge3$, and matrices with $B^\top MB_\perp\ne0$ if a bound $C$
# excludes the best $c$. In every case that we computed, $e=0$ was best. With noise the risk at a fixed $c$ need not rise with
# $|e|$. For $c$ near twelve, $n=4$ and $\sigma=10$, the next cell prints the risks at two positive values of $e$, divided by the
# risk at $e=0$:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
near, middle, far = (
    low_rank_risk(dim=2, rank=1, c=11.66, e=e, n=4, noise_std=10.0).total
    for e in (0.0, 6.0, 11.66)
)
print(f"{middle / near:.3f} at e = 6, {far / near:.3f} at e = c = 11.66")

# %% [markdown]
# ## How far softmax regression bends
#
# In softmax regression one fits the vector $\mathrm{softmax}(s)$ to a target vector $b$. We know exactly between which two numbers
# the curvature of this loss lies, as a function of the scores $s$.
#
# <a id="thm-curvature"></a>
#
# > **Theorem** (curvature of a row). Let $n\ge2$ and let the target $b$ be a probability vector. For all scores $s$ the
# > eigenvalues of the Hessian of $\frac12\Vert\mathrm{softmax}(s)-b\Vert^2$ in $s$ lie in
# > $[4g(p_+),4g(p_-)]=[-0.2404\ldots,0.3081\ldots]$. Here $g(p)=p^2(1-p)(2-3p)$ and $p_\pm=(15\pm\sqrt{33})/24$. Both
# > ends are attained for $n=2$.
#
# <details><summary>Proof</summary>
#
# The Hessian is affine in $b$, so it is enough to take $b=e_1$, a corner of the simplex. Let $f=\mathrm{softmax}(s)$
# and $p=f_1$. Let token 2 have the largest other probability $q$. All remaining tokens form a tail. The tail has the
# total probability $t=1-p-q$ and the largest probability $\phi\le\min(q,t)$. Let $F$ be the sum of its squared
# probabilities. For a direction $v$ put $m=f\cdot v$, $u=v-m$ and $\kappa=p(1-p)-q^2-F$. The second derivative along
# $v$ is
#
# $$Q=p(\kappa-1+2p)u_1^2+q(\kappa+2q)u_2^2+\sum_{\rm tail}f_i(\kappa+2f_i)u_i^2.$$
#
# Over the tail let $R^2=\sum v_i^2$, $\tau=\sum f_iv_i$ and $U=\sum f_iu_i^2$. Then $U\le\phi R^2-2m\tau+tm^2$ and
# $\tau^2\le\phi tR^2$.
#
# *Upper end.* $Q$ rises with $\kappa$, so put $F=\phi^2$. The sum over the tail is then at most $cU$ with
# $c=(\kappa+2\phi)_+$. *Lower end.* Put $F=\phi t$. The negative of the sum over the tail is then at most $cU$ with
# $c=(-\kappa)_+$.
#
# *Both ends.* Let $\lambda$ be the absolute value of the end in question. We show that $\lambda|v|^2\mp Q\ge0$. Insert
# the bounds of the sum over the tail and of $U$. Then $R^2$ has the factor $\lambda-c\phi$. If this factor is not
# negative, $R^2$ may be replaced by its lower bound $x^2$ with $x=\tau/\sqrt{\phi t}$. As $m=pv_1+qv_2+\sqrt{\phi t}\,x$,
# we obtain a quadratic form in $(v_1,v_2,x)$. Its matrix $A$ depends on $(p,t,\phi)$ alone.
#
# Ball arithmetic on 42,186 boxes (upper end) and 11,962 boxes (lower end) shows that the leading minors of $A$ are
# positive. Near $t=0$ it shows that $(\det A-\det A|_{t=0})/t>0$ instead, because
# $\det A|_{t=0}=\lambda^2(\lambda\mp4g(1-p))$ may vanish.
#
# For the lower end, $\lambda-c\phi$ may be negative where $q$ and $\phi$ are at least $0.46$. There $-Q\le0.202|v|^2$
# by hand (`icl_rigor.curvature`). $\square$
#
# </details>
#
# The next cell repeats the computer's part of the proof. It certifies both ends of the range, and fails if an end is moved towards
# zero by a thousandth:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
for side, name in {1: "largest", -1: "most negative"}.items():
    whole = curvature.prove(side)
    smaller = curvature.prove(side, 0.999)
    print(f"{name} curvature {whole.end:+.6f}: ", end="")
    print("certified" if whole.proved else "not certified", f"in {whole.boxes} boxes")
    print("  0.999 times this:", "certified" if smaller.proved else "not certified")

# %% [markdown]
# ## Any Lipschitz function
#
# A review says of the paper's Theorem 3.5: "whose test data are any arbitrary L−Lipschitz task". How large can the bias
# of such a function be at a given window?
#
# <a id="thm-any"></a>
#
# > **Proposition** (the worst Lipschitz function). Let $M=wI$. Every $L$‑Lipschitz $f$ has
# > $L_{\rm bias}(f)\le2L^2\big(1-\mathbb E\sum_i\omega_i\,x_i\cdot x_q\big)$. The largest bias over all such $f$ is at
# > least the bias of $\frac Lb\cos(b\,u\cdot x)$, for every $b>0$ and every unit vector $u$.
#
# <details><summary>Proof</summary>
#
# *Above.* The weights sum to one. By Jensen's inequality
#
# $$\Big(\sum_i\omega_i(f(x_i)-f(x_q))\Big)^2\le\sum_i\omega_i(f(x_i)-f(x_q))^2\le L^2\sum_i\omega_i\|x_i-x_q\|^2.$$
#
# On the sphere $\|x_i-x_q\|^2=2-2\,x_i\cdot x_q$.
#
# *Below.* Each $\frac Lb\cos(b\,u\cdot x)$ is $L$‑Lipschitz. $\square$
#
# </details>

# %% figure={"alt": "A humped curve of bias against wavenumber on logarithmic axes with its peak right of a vertical line. The horizontal bound lies far above the peak. Affine functions of full slope lie far below the peak.", "name": "fig-worst"} jupyter={"source_hidden": true} tags=["hide-input"]
middle = dims[min(1, len(dims) - 1)]
waves = certificates.wave_biases(
    dim=middle, n=1e7, lipschitz=lipschitz, noise_std=noise_std
)
figure, ax = plt.subplots(figsize=(5.8, 3.0))
b = waves.wavenumber
plots.exact_curve(ax, b, waves.bound, "bound")
plots.exact_curve(ax, b, waves.bias, "cosines of slope L", plots.COLORS["cosine"])
affine = {"color": plots.COLORS["affine"], "linestyle": "--"}
plots.exact_curve(ax, b, waves.affine, "slope L everywhere", **affine)
ax.axvline(waves.w[0] ** 0.5, color=plots.COLORS["guide"], linewidth=1)
ax.set(xscale="log", yscale="log", xlabel="wavenumber b", ylabel="bias")
ax.set(title=f"d = {middle}")
plots.label_lines(ax)
plt.show()

# %% [markdown]
# **The worst function of a class.** Exact bias of the cosines $\frac Lb\cos(b\,u\cdot x)$, which are $L$‑Lipschitz, against their
# wavenumber $b$, at the best window for the ReLU class with $n=10^7$. The cosines stay below the bound for all $L$‑Lipschitz
# functions (horizontal line). Their bias is largest somewhat to the right of $b=\sqrt w$ (vertical line). Dashed: affine functions
# of slope $L$.
#
# As the window narrows, the largest bias of the cosines and the bound both fall like $L^2/w$. The card's control takes the cosines
# $L\cos(\sqrt w\,u\cdot x)$, which are not $L$‑Lipschitz. Their risk does not fall at all.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
slopes = certificates.worst_slopes(
    dims=dims, n_values=(1e7, 1e8), lipschitz=lipschitz, noise_std=noise_std
)
of_all = slopes[slopes.functions == "Lipschitz"].drop(columns="functions")
of_rougher = slopes[slopes.functions == "rougher"].drop(columns="functions")
judge(
    "P1.T3.any",
    exact_cases(of_all, error="error", name="d = {dim}, upper end"),
    exact_cases(of_rougher, error="error", name="d = {dim}"),
)

# %% [markdown]
# ## The Lipschitz constant of the ReLU class
#
# <a id="thm-lip"></a>
#
# > **Proposition** (the Lipschitz constant). Let $\Vert q\Vert=1$. On the unit sphere of $\mathbb R^d$, $d\ge2$, the
# > function $\ell_1(q\cdot x)_++\ell_2(-q\cdot x)_++b$ has $\mathrm{Lip}(f)=\max(|\ell_1|,|\ell_2|)$, as the slides say.
#
# <details><summary>Proof</summary>
#
# As a function of $q\cdot x$, $f$ has the slopes $\ell_1$ and $-\ell_2$. So the maximum is an upper bound. At the kink,
# where $q\cdot x=0$, the vector $q$ is tangent to the sphere. In the directions $q$ and $-q$ the function has the
# slopes $\ell_1$ and $\ell_2$. $\square$
#
# </details>
#
# The card searches among pairs of points on a circle for a difference quotient above this constant. A circle is
# enough in every dimension, because the closest two points with given values of $q\cdot x$ lie on one great circle
# through $q$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
steepest = certificates.search_steepest(
    [(1.0, 0.3), (-0.7, 0.2), (0.5, 0.5), (1.0, -1.0), (0.1, 0.9)]
)
template = "$\\ell_1$ = {first:g}, $\\ell_2$ = {second:g}"
judge("P1.T2.lip", attained_cases(steepest, high="bound", name=template))

# %% [markdown]
# <a id="proof-law"></a>
#
# ## The law of the window
#
# The chapter on [Theorem 2](theorem2_scaling.ipynb) states [the law of the window](theorem2_scaling.ipynb#thm-law) and
# gives the idea of its proof. Here is the proof, in the notation of the statement.
#
# <details><summary>Proof</summary>
#
# *Notation.* Put $m=d-1$, $t_i=x_i\cdot x_q$ and $E_i=e^{-w(1-t_i)}\le1$. With $S=\sum E_i$ the attention weights are
# $\omega_i=E_i/S$. Put $Q(w)=\mathbb EE_1$, $R(w)=Q(2w)/Q(w)^2$ and $\epsilon=R(w)/n$. Let $\mu_w$ be the distribution
# on the sphere with density proportional to $e^{w\,x\cdot x_q}$. Under $\mu_w$ let $A_\ell(w)$ be the mean of
# $P_\ell(x\cdot x_q)$, and $g(w)$ the mean of $\gamma$ between $x$ and $x_q$. Put $N=\mathbb E\sum\omega_i^2$ and let
# $B$ be the bias, so $\mathcal L=B+\sigma^2N$. The letter $K$ stands for constants that depend only on the class and on
# $d$. The function $R$ is continuous with $R(0)=1$. It rises, because $(\log R)'=2A_1(2w)-2A_1(w)>0$. By Laplace's
# method $R\sim\kappa w^{m/2}$ as $w\to\infty$.
#
# *1. Sums.* The variable $Z=S/(nQ)-1$ has mean 0 and variance at most $\epsilon$. Since $e^{-y}\le1-y+\frac12y^2$ for
# $y\ge0$, Chernoff's method gives $\mathbb P(Z\le-\delta)\le e^{-\delta^2/2\epsilon}$ for $\delta>0$.
#
# *2. Noise.* Given $E_1$, Jensen's inequality for the other tokens gives
#
# $$N=n\,\mathbb E[E_1^2S^{-2}]\ge n\,\mathbb E[E_1^2]\,(1+nQ)^{-2}=\epsilon\,(1+1/(nQ))^{-2}.$$
#
# Here $1/(nQ)=\epsilon Q(w)/Q(2w)\le K\epsilon$. For the upper bound, let $0<\delta<1$. If $Z>-\delta$, then
# $\sum\omega_i^2\le(1-\delta)^{-2}(nQ)^{-2}\sum E_i^2$. Otherwise we use $\sum\omega_i^2\le1$ and step 1. Hence
#
# $$\frac\epsilon{(1+K\epsilon)^2}\le N\le\frac\epsilon{(1-\delta)^2}+e^{-\delta^2/2\epsilon}.$$
#
# With $\delta=\epsilon^{1/3}$ we get $N=\epsilon\,(1+o(1))$ as $\epsilon\to0$.
#
# *3. Bias.* Fix $f$ and $x_q$. Put $h=f-f(x_q)$, $b=\mathbb E_{\mu_w}h$ and $U=\frac1{nQ}\sum E_ih(x_i)$. Without label
# noise the error of the prediction is
#
# $$P=\frac U{1+Z}=b+\frac{U-b-bZ}{1+Z},\qquad\mathbb EU=b,\qquad\mathrm{Var}\,U\le\epsilon\,\mathbb E_{\mu_{2w}}h^2.$$
#
# Let $b_\infty(w)$ be the mean of $b^2$ over $f$. By rotation invariance it does not depend on $x_q$. The mean of
# $h(x)^2$ over $f$ is $2\gamma$. If $Z\ge-\frac12$, then $(P-b)^2\le8(U-b)^2+8b^2Z^2$. By step 1, $Z<-\frac12$ has
# probability at most $e^{-1/8\epsilon}$. In this case the mean of $(P-b)^2$ over $f$ is at most $8\max\gamma$, because
# $P$ and $b$ are averages of $h$. By the triangle inequality in $L^2$
#
# $$\big(\sqrt B-\sqrt{b_\infty}\big)^2\le\mathbb E(P-b)^2\le16\,\epsilon\,g(2w)+8\,\epsilon\,b_\infty(w)+8\max\gamma\;e^{-1/8\epsilon}.$$
#
# Let $r$ be the last expression. As $w\to\infty$, $g(2w)\to0$, since $\gamma$ is continuous and $\gamma(0)=0$. So
# $r=o(b_\infty+\epsilon)$ as $w\to\infty$ and $\epsilon\to0$. Then also
# $|B-b_\infty|\le2\sqrt{b_\infty r}+r=o(b_\infty+\epsilon)$. With step 2
#
# $$\mathcal L=\big(b_\infty(w)+\sigma^2\epsilon\big)(1+o(1)).$$
#
# *4. Where minimizers are.* At $w=\infty$ let $\mathcal L$ be the risk of the nearest token. Then $\mathcal L$ is
# continuous on $[0,\infty]$, at $\infty$ because $k$ is continuous, and has a minimum. This minimum tends to zero as
# $n\to\infty$. If $w\to\infty$ so slowly that $\epsilon\to0$, then $\mathcal L\to0$ by step 3, because
# $b_\infty\le2g(w)\to0$.
#
# Next we show that $\epsilon\to0$ at minimizers. Fix $\eta>0$, and let $w_\eta$ be the $w$ at which $\epsilon=\eta$. By
# step 2, $N\ge\eta/(1+K\eta)^2$ at $w_\eta$. The derivative of $N$ is
# $2\,\mathbb E\,\mathrm{Cov}_\omega(\omega,t)\ge0$, so this bound holds for all $w\ge w_\eta$. There
# $\mathcal L\ge\sigma^2\eta/(1+K\eta)^2$, which for large $n$ is above the minimum. So minimizers are below $w_\eta$,
# and there $\epsilon<\eta$.
#
# Last we show that $w\to\infty$ at minimizers. Fix any $W$. On $[0,W]$, $\epsilon\le R(W)/n\to0$, so by step 3 $B$
# tends to $b_\infty$ uniformly. By the addition theorem $b_\infty=\sum_\ell a_\ell(1-A_\ell)^2$. The sum is continuous
# in $w$. It is positive, because $A_\ell<1$ for $\ell\ge1$ and the class is not constant. So $\mathcal L$ stays away
# from zero on $[0,W]$, and minimizers are above $W$ for large $n$.
#
# *5. Infinite contexts.* Let $x$ and $x'$ be independent with law $\mu_w$. Then
# $b_\infty=\mathbb E_{x,x'}\mathbb E_fh(x)h(x')=2\,\mathbb E\gamma(x,x_q)-\mathbb E\gamma(x,x')$. Let $\theta$ be the
# angle from $x_q$ to $x$, and $v$ the unit tangent vector at $x_q$ towards $x$. The variable $u=\sqrt w\,\theta$ has a
# density proportional to $e^{-w(1-\cos\theta)}(\sqrt w\sin\theta)^{m-1}$. This function tends to $e^{-u^2/2}u^{m-1}$
# and is at most $e^{-2u^2/\pi^2}u^{m-1}$. Hence $\sqrt w\,\theta v\to\xi$ in law with all moments. Let $\xi'$ be an
# independent copy of $\xi$. Then $\sqrt w\,\angle(x,x')\to|\xi-\xi'|$, which has the law of $\sqrt2\,|\xi|$.
#
# - Let $\rho<2$. Then $\gamma\le K\theta^\rho$, and by dominated convergence
#   $w^{\rho/2}b_\infty\to c\,(2-2^{\rho/2})\,\mathbb E|\xi|^\rho$.
# - Let $2<\rho<4$, so that $\gamma(\theta)=a(1-\cos\theta)-c\,\theta^\rho(1+o(1))$. The first part contributes
#   $a(1-A_1)^2=O(w^{-2})$ to $b_\infty$. By dominated convergence the other part contributes
#   $c\,(2^{\rho/2}-2)\,\mathbb E|\xi|^\rho\,w^{-\rho/2}(1+o(1))$.
# - Let $\rho=4$ and put $\lambda_\ell=\ell(\ell+d-2)$. Then $w(1-A_\ell)\to\frac12\lambda_\ell$. Also
#   $w(1-A_\ell)\le K\lambda_\ell$, because $|P_\ell'|\le P_\ell'(1)=\lambda_\ell/m$. By dominated convergence in
#   $\ell$, $w^2b_\infty\to\frac14\sum a_\ell\lambda_\ell^2$.
#
# *6. Balance.* By steps 3 to 5, at minimizers
# $\mathcal L=\big(\beta w^{-\rho/2}+\frac{\sigma^2\kappa}nw^{m/2}\big)(1+o(1))$. Let $w_0$ be the value that
# [the law of the window](theorem2_scaling.ipynb#eq-sharp) gives for $w^*$. The formula for $\mathcal L$ holds at $w_0$,
# too, because $w_0\to\infty$ and $\epsilon(w_0)\asymp n^{-\rho/(m+\rho)}\to0$. With $w=uw_0$
#
# $$\mathcal L=\beta w_0^{-\rho/2}F(u)(1+o(1)),\qquad F(u)=u^{-\rho/2}+\frac\rho mu^{m/2}.$$
#
# $F$ has its only minimum at $u=1$ and tends to $\infty$ at both ends. A minimizer is no worse than $w_0$, so
# $w^*/w_0\to1$. The least risk follows from $F(1)=1+\frac\rho m$. $\square$
#
# *The table.* Let $p_0$ be the density of $q\cdot x$ at zero. For the ReLU class
# $\gamma=\frac{L^2}{3d}(1-\cos\theta)-\frac{L^2}{3\pi d}(\sin\theta-\theta\cos\theta)$, and the last bracket is
# $\frac13\theta^3(1+o(1))$. For the sign $\gamma=\frac{2\theta}\pi$, because the signs at two
# points differ with probability $\theta/\pi$.
#
# For a region, $\gamma$ is $\frac{H^2}2$ times the probability that a step of length $\theta$ crosses the boundary. The
# step starts at a uniform point and has a random direction, whose component normal to the boundary is $v_1$. For a
# given $v_1$ the starting points of crossing steps fill a strip of width $\theta|v_1|$ on one side of the boundary. The
# strip is the fraction $\nu\theta|v_1|$ of the sphere, up to $O(\theta^2)$. The probability is therefore
# $\nu\theta\,\mathbb E|v_1|$ to first order, with $\mathbb E|v_1|=1/(\pi p_0)$. The column $\beta$ follows from
# $\mathbb E|\xi|=\sqrt{2\pi}\,p_0$ and $\mathbb E|\xi|^3=d\,\mathbb E|\xi|$.
#
# </details>

# %% [markdown]
# <a id="proof-neighbors"></a>
#
# ## Softmax against the nearest neighbors
#
# This is the proof of the [theorem on softmax and the nearest neighbors](linear_attention.ipynb#thm-neighbors), in the notation of
# the chapter [Linear attention cannot look closer](linear_attention.ipynb).
#
# <details><summary>Proof</summary>
#
# Let $|S|$ be the area of the sphere, $\lambda_\ell=\ell(\ell+d-2)$ and $\beta=\frac14\sum_\ell a_\ell\lambda_\ell^2$.
#
# *Softmax.* By the law of the window the least risk is asymptotically equal to the least value over $s$ of
#
# $$\beta s^4+\frac{\sigma^2|S|}{n\,(4\pi)^{m/2}}\,s^{-m},\qquad s^2=\frac1w,$$
#
# since its $\kappa$ equals $|S|\,(4\pi)^{-m/2}$.
#
# *Neighbors.* Let $P$ be the mass of the cap around the query that the token of rank $k+1$ bounds, and $h$ the angular
# radius of the cap. $P$ has the law $\mathrm{Beta}(k+1,n-k)$. Given $P$, the $k$ nearest tokens are independent and
# uniform in the cap. Let $m_\ell$ be the mean of $P_\ell$ over the cap. Averaging over functions gives the risk
#
# $$\mathbb E\sum_\ell a_\ell\Big[(1-m_\ell)^2+\frac{1-m_\ell^2}k\Big]+\frac{\sigma^2}k.$$
#
# Since $|P_\ell'|\le\lambda_\ell/m$, we have $1-m_\ell\le\lambda_\ell h^2/(2m)$. As $h\to0$, the mean of $\theta^2$ over
# the cap is asymptotically $\frac m{m+2}h^2$, so $1-m_\ell\sim\lambda_\ell h^2/(2(m+2))$ and, by dominated convergence,
# $\sum_\ell a_\ell(1-m_\ell)^2\sim\beta h^4/(m+2)^2$. The second sum is at most $\frac Kkh^2$ and so small compared with
# $\sigma^2/k$. For $k\to\infty$ and $k/n\to0$, $Pn/k$ tends to one with all moments, and $P\sim V_mh^m/|S|$. The risk is
# therefore, up to a factor $1+o(1)$,
#
# $$\frac\beta{(m+2)^2}\Big(\frac{k|S|}{nV_m}\Big)^{4/m}+\frac{\sigma^2}k
#   =\beta s^4+\frac{\sigma^2|S|}{n\,V_m(m+2)^{m/2}}\,s^{-m},\qquad s^2=\frac{h^2}{m+2}.$$
#
# For the best $k$ indeed $k\to\infty$ and $k/n\to0$. Otherwise the risk would stay away from zero along a sequence of
# context lengths, by $\sigma^2/k$ or because $m_\ell<1$ in a cap that does not shrink. But for $k=\lfloor\sqrt n\rfloor$
# the risk tends to zero. That $k$ is an integer changes nothing to leading order.
#
# *Together.* The least value of $\beta s^4+Cs^{-m}$ is proportional to $C^{4/(m+4)}$. So the quotient of the two least
# risks tends to $\big[V_m(m+2)^{m/2}(4\pi)^{-m/2}\big]^{4/(m+4)}$, which is the stated limit.
#
# *Its size.* For $m=1$ the limit is $(9/\pi^2)^{1/5}<1$, and for $m=2$ it is one. Put $x=\frac m2$. The logarithm of the
# limit is $\frac2{x+2}\big[x\log\frac{x+1}2-\log\Gamma(x+1)\big]$. By Stirling's bound
# $\Gamma(x+1)>\sqrt{2\pi x}\,(x/e)^x$ and by $x\log(1+\frac1x)<1$ the bracket is less than
# $1+x(1-\log2)-\frac12\log(2\pi x)$. For $x\ge\frac12$ this is below $(x+2)(1-\log2)$, because $\log\pi>4\log2-2$. So the
# limit is below $e^{2(1-\log2)}=e^2/4$. As $x\to\infty$ both bounds are equalities up to $O(\log x)$, and the limit tends
# to $e^2/4$. $\square$
#
# </details>
#
# <a id="proofs-heads"></a>
#
# ## Several heads
#
# Here are the proofs of the theorems of [Several heads](heads.ipynb), in the notation of that chapter, and two statements that
# stand only here.
#
# <a id="thm-heads-geometry"></a>
#
# > **Proposition** (more heads). Let $\xi_h=\sum_i\omega_i(w_h)\,y_i$ be the output of head $h$. For given windows, the
# > least risk over all values is the squared distance, in mean square, of $f(x_q)$ from the span of $\xi_1,\dots,\xi_H$.
# > So a further head never raises the least risk. Let the outputs be linearly independent for the class without the
# > constant part of its functions, and let $a_0$ be the mean square of this constant part. Values that sum to one then
# > have a least risk that is larger by exactly
# >
# > $$\frac{(1-\mathsf h)^2}{\mathsf g\,(1+a_0\mathsf g)},$$
# >
# > where $\mathsf g>0$ and $\mathsf h$ do not depend on $a_0$.
#
# <details><summary>Proof of the proposition on more heads</summary>
#
# The risk is $\mathbb E\big(f(x_q)-\sum_hv_h\xi_h\big)^2$, which is the square of a distance. A further head enlarges the
# span. Let $Q=(\mathbb E\,\xi_h\xi_k)$, $b=(\mathbb E\,\xi_hf(x_q))$ and $\mathbf 1=(1,\dots,1)$. The risk is
# $v^\top Qv-2b^\top v+k(1)$. By Lagrange, its least value under the condition $\mathbf 1^\top v=1$ exceeds its least
# value by $(1-\mathbf 1^\top Q^{-1}b)^2/\mathbf 1^\top Q^{-1}\mathbf 1$. Because the weights of each head sum to one, a
# constant of mean square $a_0$ adds $a_0\mathbf 1\mathbf 1^\top$ to $Q$ and $a_0\mathbf 1$ to $b$. Let $Q_0$ and $b_0$
# belong to the class without its constant, and put $\mathsf g=\mathbf 1^\top Q_0^{-1}\mathbf 1$ and
# $\mathsf h=\mathbf 1^\top Q_0^{-1}b_0$. By the formula of Sherman and Morrison,
# $\mathbf 1^\top Q^{-1}\mathbf 1=\mathsf g/(1+a_0\mathsf g)$ and
# $1-\mathbf 1^\top Q^{-1}b=(1-\mathsf h)/(1+a_0\mathsf g)$. $\square$
#
# </details>
#
# <details><summary>Proof of the theorem on two heads on affine functions</summary>
#
# *The error.* Write $e_h=e_{w_h}$ and $A_h=A_1(w_h)$. The derivative $A_1'(w)$ is the variance of $t$ under the density
# $e_w$, so $A_1$ is strictly increasing, and the two equations have one solution. Let
# $T_hf(x_q)=\mathbb E_x[e_h(t)f(x)]$,
#
# $$Y_h=\frac1n\sum_ie_h(t_i)\,(y_i-T_hf(x_q)),\qquad Z_h=\frac1n\sum_ie_h(t_i)-1.$$
#
# The operator $T_h$ multiplies degree one by $A_h$ and keeps constants, so $\sum_hv_hT_hf=f$. The error of the layer is
# therefore exactly $\sum_hv_hY_h/(1+Z_h)$.
#
# *Expansion.* The function $f$ is a sum of finitely many harmonics, with coefficients of finite second moments that are
# independent of the tokens. So $Y_h$ is a sum of these coefficients times means of $n$ independent, identically
# distributed, bounded and centered variables, plus a mean of the noise with bounded weights. Hence
# $\mathbb EY_hY_k=O(n^{-1})$, while $\mathbb EY_hY_kZ_l$ and $\mathbb E|Y_hY_k|Z_l^2$ are $O(n^{-2})$. As
# $1+Z_h\ge e^{-2|w_h|}$, we get $n\,\mathcal L=n\,\mathbb E(\sum_hv_hY_h)^2+O(n^{-1})$. The first term is
#
# $$\mathbb E\Big(\sum_hv_he_h(t)\,(f(x)-T_hf(x_q))\Big)^2+\sigma^2\,\mathbb Ep^2.$$
#
# In the bracket the constant part of $f$ cancels. The mean of the square over functions is
# $a_1\sum_{h,k}v_hv_ke_he_k(1-A_ht-A_kt+A_hA_k)$, which is $a_1(p^2-2tpq+q^2)$.
#
# *Bounds.* By the two equations $\mathbb Ep=\mathbb Etp=1$, and $\mathbb Et^2=\frac1d$. So the projection of $p$ onto the
# span of $1$ and $t$ is $1+dt$, and $\mathbb Ep^2\ge1+d$. For all predictors that are linear in the labels, use
# [the bounds of kriging](../book/proofs.md#thm-kriging-bounds): $n$ times the lower bound tends to $\sigma^2(1+d)$.
#
# *Wide windows.* As both windows tend to zero, $A_h\sim w_h/d$ gives $\sum_hv_hw_h\to d$ and $\sum_hv_hA_hw_h\to0$. So
# $p\to1+dt$ and $q\to1$, and the formula for $\mathcal C$ gives the limit. A head predicts
# $\bar y+\frac{w_h}n\sum_i(y_i-\bar y)\,x_i\cdot x_q+O(w_h^2)$, which gives the limit of the layer. $\square$
#
# </details>
#
# <details><summary>Proof of the proposition on two heads in longer contexts</summary>
#
# The windows $w_1\ne w_2$ are fixed, $v^0$ solves the two equations at these windows, $A_h=A_1(w_h)$,
# $\mathbf A=(A_1,A_2)$ and $\mathbf 1=(1,1)$. Let $f=g\cdot x+b$ and let $X_h=\sum_i\omega_i(w_h)\,x_i$. Since
# $\mathbb Egg^\top=a_1I$ and $\mathbb Eb^2=a_0$, the risk of values $v$ is
#
# $$a_0\Big(1-\sum_hv_h\Big)^2+a_1\,\mathbb E\Big|x_q-\sum_hv_hX_h\Big|^2+\sigma^2\sum_{h,k}v_hv_k\,\mathbb E\sum_i\omega_i(w_h)\,\omega_i(w_k).$$
#
# *Expansion.* All outputs are quotients of means of bounded variables, whose denominators are at least $e^{-2|w_h|}$. By
# symmetry the mean of $X_h$ is a multiple of $x_q$. Up to terms of the order $n^{-2}$
#
# $$\begin{gathered}
# \mathbb E[X_h]\cdot x_q=A_h+\frac{\alpha_h}n,\qquad\alpha_h=\kappa(w_h,w_h)\,\big(A_1(w_h)-A_1(2w_h)\big),\\
# \mathrm{tr}\,\mathrm{Cov}(X_h,X_k)=\frac{\kappa(w_h,w_k)}n\big(1-A_1(w_h+w_k)(A_h+A_k)+A_hA_k\big),\\
# \mathbb E\sum_i\omega_i(w_h)\,\omega_i(w_k)=\frac{\kappa(w_h,w_k)}n,
# \end{gathered}$$
#
# because $t$ has the mean $A_1(w_h+w_k)$ under the density $e_{w_h}e_{w_k}/\kappa(w_h,w_k)$. Let $\mathcal K$ be the
# matrix of
#
# $$\mathcal K_{hk}=\kappa(w_h,w_k)\Big[\sigma^2+a_1\big(1-A_1(w_h+w_k)(A_h+A_k)+A_hA_k\big)\Big],$$
#
# and let $G=a_0\mathbf 1\mathbf 1^\top+a_1\mathbf A\mathbf A^\top$, which is positive definite because $A_1\ne A_2$. As
# $1-\mathbf 1\cdot v=-\mathbf 1\cdot(v-v^0)$ and $1-\mathbf A\cdot v=-\mathbf A\cdot(v-v^0)$, the risk is
#
# $$(v-v^0)^\top G\,(v-v^0)+\frac1n\Big[v^\top\mathcal Kv-2a_1(1-\mathbf A\cdot v)(\alpha\cdot v)\Big]+O\big(n^{-2}(1+|v|^2)\big).$$
#
# *Values.* At $v^0$ the bracket is $v^{0\top}\mathcal Kv^0$, which is $\mathcal C$, and its gradient is
# $2\mathcal Kv^0+2a_1(\alpha\cdot v^0)\,\mathbf A$. So the best values are
#
# <a id="eq-heads-values"></a>
#
# $$v^0-\frac1nG^{-1}\big[\mathcal Kv^0+a_1(\alpha\cdot v^0)\,\mathbf A\big]+O(n^{-2}),$$
#
# and the least risk at these windows is $\mathcal C/n+O(n^{-2})$. On a compact set of pairs with $w_1\ne w_2$ the
# constants in $O$ have a common bound.
#
# *Windows.* On this set $n$ times the least risk therefore tends to $\mathcal C(w_1,w_2)$ uniformly, so that its
# minimizers tend to minimizers of $\mathcal C$. If $\mathcal C$ has only one minimizer there, the best values tend to
# $v^0$ at this minimizer. The expansion may be differentiated in the windows. If the minimizer is in the interior and the
# Hessian of $\mathcal C$ is regular there, the best windows are within $O(\frac1n)$ of it, by the theorem on implicit
# functions. $\square$
#
# </details>
#
# For the other theorems, let $\mathcal I_n$ be [the risk in long contexts](heads.ipynb#eq-long-heads).
#
# <a id="thm-heads-long"></a>
#
# > **Lemma** (long contexts). Let the covariance of the class be continuous and let $\sigma>0$. Fix different
# > $\alpha_1,\dots,\alpha_H>0$ and values $v\ne0$, and put $w_h=w/\alpha_h$. As $w\to\infty$ and $w^{(d-1)/2}/n\to0$, the
# > exact risk is $\mathcal I_n(v,w)\,(1+o(1))$.
#
# <details><summary>Proof of the lemma</summary>
#
# Put $m=d-1$ and $\epsilon_h=\kappa(w_h,w_h)/n$. By Laplace's method
# $\kappa(\frac w\alpha,\frac w{\alpha'})\sim\kappa\,w^{m/2}\,2^{m/2}(\alpha+\alpha')^{-m/2}$, with the number $\kappa$ of
# [the law of the window](theorem2_scaling.ipynb#thm-law). So all $\epsilon_h$ are of the order $\epsilon=w^{m/2}/n$,
# which tends to zero.
#
# *Bias.* Let $P_h=\sum_i\omega_i(w_h)\,(f(x_i)-f(x_q))$, and let $b_h$ be its limit for $n\to\infty$. Step 3 in the proof
# of the law of the window gives $\mathbb E(P_h-b_h)^2=o(\epsilon)$. Without noise the layer's error is
# $\sum_hv_hP_h+(\sum_hv_h-1)f(x_q)$. With $b_h$ in place of $P_h$ its mean square is $\sum_\ell a_\ell(1-\hat p_\ell)^2$.
# By the triangle inequality the two mean squares differ by $o(\text{bias}+\epsilon)$.
#
# *Noise.* Let $X=n^{-2}\sum_ie_{w_h}(t_i)\,e_{w_k}(t_i)$. Then $\mathbb EX=\kappa(w_h,w_k)/n$ and
# $\mathbb EX^2=O(\epsilon^2)$. With the $Z_h$ of the proof for affine functions,
# $\sum_i\omega_i(w_h)\,\omega_i(w_k)=X/((1+Z_h)(1+Z_k))$. Put $\delta=\epsilon^{1/3}$. If $Z_h,Z_k>-\delta$, this is at
# most $(1-\delta)^{-2}X$. Otherwise it is at most one, and by Chernoff's method the probability of this case is
# exponentially small in $\delta^2/\epsilon$. From below, it is at least $(1+\delta)^{-2}X$ if $|Z_h|,|Z_k|\le\delta$. The
# other case has a probability of at most $C\epsilon/\delta^2$, and contributes to $\mathbb EX$ at most
# $(\mathbb EX^2)^{1/2}(C\epsilon/\delta^2)^{1/2}=o(\epsilon)$. So the noise is
# $\frac{\sigma^2}n\sum v_hv_k\kappa(w_h,w_k)+o(\epsilon)$. The matrix $\big((\alpha_h+\alpha_k)^{-m/2}\big)$ is the Gram
# matrix of Gaussians of different widths, so it is positive definite, and the noise is at least a constant times
# $\epsilon$. $\square$
#
# </details>
#
# <details><summary>Proof of part (a) of the theorem on smooth functions</summary>
#
# *Expansion.* Let $m=d-1$. The derivatives of $P_\ell$ at $1$ are $\prod_{i<j}\frac{\lambda_\ell-i(i+d-2)}{m+2i}$, and on
# $[-1,1]$ no derivative is larger in absolute value than at $1$. Under the density $e_w$ the $j$-th moment of $1-t$ has
# an expansion in powers of $\frac1w$ that begins with $(2w)^{-j}\prod_{i<j}(m+2i)$. So Taylor's formula at $t=1$ gives,
# for $\ell\ge1$ and $w\ge1$,
#
# <a id="eq-heads-expansion"></a>
#
# $$\begin{gathered}
# A_\ell(w)=1+\sum_{j=1}^{H-1}c_j(\lambda_\ell)\,w^{-j}+r_\ell(w),\\
# |r_\ell(w)|\le C\lambda_\ell^Hw^{-H},\qquad w^Hr_\ell(w)\to c_H(\lambda_\ell).
# \end{gathered}$$
#
# Here $c_j$ is a polynomial of degree $j$ with the leading coefficient $\frac{(-1)^j}{2^jj!}$, and $c_j(0)=0$.
#
# *Bias.* The binomial values have $\sum_hv_h=1$, $\sum_hv_hh^j=0$ for $0<j<H$, and $\sum_hv_hh^H=(-1)^{H-1}H!$. So
# $w^H(1-\hat p_\ell)$ tends to $(-1)^HH!\,c_H(\lambda_\ell)$, and it is at most $C\lambda_\ell^H$. By dominated
# convergence the bias is $\beta w^{-2H}(1+o(1))$.
#
# *Together.* The noise follows from the lemma on long contexts and from
# $\kappa(\frac wh,\frac wk)\sim\kappa\,w^{m/2}2^{m/2}(h+k)^{-m/2}$. The sum is least at a $w$ of the order
# $n^{2/(m+4H)}$. $\square$
#
# </details>
#
# <details><summary>Proof of part (b)</summary>
#
# *Idea.* For $n$ to help, the layer has to suppress harmonics of high degree. But a combination of $H$ heads that does so
# at one high degree cannot reproduce $H+1$ low degrees well.
#
# *1. Determinants are positive.* Let $0\le\mu_1<\dots<\mu_N$ and $0<z_1<\dots<z_N$. The determinant of the modified
# Bessel functions $I_{\mu_i}(z_j)$ is positive. This is classical ([Karlin, 1968](cite:karlin1968)), and here is a proof.
# We show by induction that $F=\sum_{k\le N}c_kI_{\mu_k}$, with all $c_k\ne0$, has at most $N-1$ zeros. With $z=e^x$ the
# functions $u_k(x)=I_{\mu_k}(e^x)$ satisfy $u_k''=(e^{2x}+\mu_k^2)u_k$. If $F$ had $N$ zeros, then so had $F/u_1$, and by
# Rolle's theorem $G=u_1^2(F/u_1)'=\sum_{k\ge2}c_k(u_1u_k'-u_1'u_k)$ had $N-1$ zeros. As $G\to0$ for $x\to-\infty$, its
# derivative $G'=u_1\sum_{k\ge2}c_k(\mu_k^2-\mu_1^2)u_k$ had $N-1$ zeros as well, which the induction excludes. So the
# determinant never vanishes. Its sign is that of its limit for $z_j=\eta r_j$, $\eta\to0$, which is a positive
# generalized Vandermonde determinant. As $A_\ell(w)=I_{\ell+d/2-1}(w)/I_{d/2-1}(w)$ for $w>0$, the determinant of
# $A_{\ell_i}(w_j)$ is positive, too, for increasing degrees and increasing positive windows.
#
# *2. Growth.* Let $\ell_0<\dots<\ell_H<\ell_*$ have one parity, and let $F(\ell)=1-\hat p_\ell$. We claim
#
# $$|F(\ell_*)|\le\Lambda\max_i|F(\ell_i)|,\qquad\Lambda=\sum_i|\mathcal l_i(\lambda_{\ell_*})|\le C\lambda_{\ell_*}^H,$$
#
# where $\mathcal l_i$ are the Lagrange polynomials of the nodes $\lambda_{\ell_0},\dots,\lambda_{\ell_H}$. On one parity
# $A_\ell(-w)=\pm A_\ell(w)$ with a sign that does not depend on $\ell$. So we may take different positive windows. As
# $1=\lim_{z\to\infty}A_\ell(z)$, it is enough to bound combinations $\sum_{k=0}^Hc_kA_\ell(z_k)$ with $0<z_0<\dots<z_H$.
# Their values at $\ell_*$ are $\sum_iL_iF(\ell_i)$, and by Cramer's rule and step 1 the sign of $L_i$ is $(-1)^{H-i}$. So
# the best factor $\sum|L_i|$ is $E(\ell_*)$, where $E$ is the combination with $E(\ell_i)=(-1)^{H-i}$.
#
# This factor increases with each $z_k$. Let $z_k<z_k'<z_{k+1}$, and let $E'$ belong to $z_k'$. The difference $E'-E$ is a
# combination of $H+2$ columns that vanishes at the $H+1$ nodes. Its coefficients are $\theta(-1)^jM_j$ with positive
# minors $M_j$, and its value at $\ell_*$ is $\theta(-1)^{H+1}$ times a positive determinant. The coefficient of the
# column of $z_k$ is minus that of $E$, whose sign is $(-1)^{H+k}$ by Cramer's rule. So $\theta$ has the sign
# $(-1)^{H+1}$, and $E'(\ell_*)>E(\ell_*)$. Now raise all windows to infinity and keep their order. By
# [the expansion of the values](#eq-heads-expansion) the combinations tend to polynomials of degree $H$ in $\lambda_\ell$,
# and the factor increases to $\Lambda$.
#
# *3. The long-context risk.* Put $m=d-1$ and $s=n^{-2/(m+4H)}$, and suppose that $\mathcal I_n\le c\,s^{2H}$. The noise
# in [the risk in long contexts](heads.ipynb#eq-long-heads) is $\frac{\sigma^2}n\sum_\ell N_\ell\hat p_\ell^2$, where
# $N_\ell$ is the number of harmonics of degree $\ell$, and $ns^{2H}=s^{-m/2}$. So
# $\sum_\ell N_\ell\hat p_\ell^2\le c\,\sigma^{-2}s^{-m/2}$. The degrees of the given parity between $s^{-1/2}$ and
# $2s^{-1/2}$ have $\sum N_\ell\ge c_0s^{-m/2}$ for large $n$. If $c$ is small enough, one of them, $\ell_*$, has
# $|\hat p_{\ell_*}|\le\frac12$, so $|F(\ell_*)|\ge\frac12$. By step 2 some $|F(\ell_i)|$ is at least a constant times
# $s^H$, and $\mathcal I_n\ge a_{\ell_i}F(\ell_i)^2$ is at least a constant times $s^{2H}$. For small $n$ note that
# $\mathcal I_n\ge S_{\sigma^2}(n)>0$, the lower bound of [kriging](../book/proofs.md#thm-kriging-bounds), by minimizing
# degree by degree.
#
# *4. Finite contexts.* Let $A^{(n)}_\ell(w)=\mathbb E\sum_i\omega_i(w)P_\ell(t_i)$ and
# $\hat p_{n,\ell}=\sum_hv_hA_\ell^{(n)}(w_h)$. By Jensen's inequality, given $f$ and the query for the bias and given
# $t_1$ for the noise, the exact risk is at least
# $\sum_\ell a_\ell(1-\hat p_{n,\ell})^2+\frac{\sigma^2}n\sum_\ell N_\ell\hat p_{n,\ell}^2$. With $\epsilon=\kappa(w,w)/n$
# we show
#
# $$|A_\ell^{(n)}(w)-A_\ell(w)|\le C\lambda_\ell\frac\epsilon{1+|w|}+Ce^{-1/(16\epsilon)}.$$
#
# Let $h=P_\ell(t)-1$, $b=\mathbb E[e_wh]$, $U=\frac1n\sum e_w(t_i)h(t_i)$ and $Z=\frac1n\sum e_w(t_i)-1$. The difference
# is the mean of $\frac{U-b-bZ}{1+Z}$, and $U-b-bZ$ has mean zero. If $Z\ge-\frac12$, we may therefore replace
# $\frac1{1+Z}$ by $-\frac Z{1+Z}$, up to the mean of $U-b-bZ$ over the other case. As $|h|\le\frac{\lambda_\ell}m(1-t)$,
# Schwarz's inequality gives the first term of the bound. The case $Z<-\frac12$ has a probability of at most
# $e^{-1/(8\epsilon)}$ and gives the second one.
#
# For windows up to $K/s$ the first term is at most $C\lambda_\ell s^{2H+1/2}$. With $\sum|v_h|\le s^{-H}$ the function
# $1-\hat p_{n,\ell}$ differs from $F$ by $o(s^H)$ at the nodes and by $o(1)$ at $\ell_*$. So step 3 applies to the exact
# risk. $\square$
#
# </details>
#
# <details><summary>Proof of the theorem on rough functions</summary>
#
# *The limit.* By the lemma on long contexts it is enough to treat $\mathcal I_n$. We have $N_\ell\sim A\,\ell^{m-1}$ with
# $A=\frac2{\Gamma(m)}$. Near the query the law with the density $e_{W/\alpha}$ becomes Gaussian with the variance
# $\alpha/W$ in each of $m$ directions, and $P_\ell$ becomes the mean of a plane wave over its directions. So
# $A_\ell(W/\alpha)\to e^{-\alpha x^2/2}$ if $\ell\sim x\sqrt W$. Also $|1-\hat p_\ell|\le K\min(1,\lambda_\ell/W)$, by
# [the expansion of the values](#eq-heads-expansion) with $H=1$ and $\sum_hv_h=1$. So the sum
# $W^{\rho/2}\sum_\ell a_\ell(1-\hat p_\ell)^2$ is a Riemann sum with the integrable bound $K\,x^{-1-\rho}\min(1,x^4)$,
# and it tends to $AC\int(1-\varphi)^2x^{-1-\rho}dx$. The noise is
# $\frac{\sigma^2}n\sum_{h,k}v_hv_k\kappa(W/\alpha_h,W/\alpha_k)$, which is
# $\frac{\sigma^2}nAW^{m/2}(1+o(1))\int\varphi^2x^{m-1}dx$. By the choice of $W$ both factors agree, and
# $\mathcal I_n\sim ACW^{-\rho/2}J(\varphi)$.
#
# *Kriging.* By the [bounds of kriging](../book/proofs.md#thm-kriging-bounds) its risk is asymptotically equal to
# $S_{\sigma^2}(n)=\sum_\ell a_\ell/(1+na_\ell/(N_\ell\sigma^2))$. As a Riemann sum this is asymptotically $ACW^{-\rho/2}$
# times $\int x^{-1-\rho}\,\frac{x^{m+\rho}}{1+x^{m+\rho}}dx=J(\varphi_*)$. The second form of $J$ is the completion of
# the square, at each $x$.
#
# *More heads.* A further head of value zero changes nothing, so the infimum does not rise. It tends to one if the sums
# $\varphi$ are dense, in the metric of $\mu(dx)=(x^{-1-\rho}+x^{m-1})dx$, in the set that contains $\varphi_*$. Let
# $g\in L^2(\mu)$ be orthogonal to all differences of two such sums, hence to all $e^{-\alpha x^2/2}-e^{-\alpha'x^2/2}$
# and to their derivatives $x^2e^{-\alpha x^2/2}$, which are in $L^2(\mu)$ as $\rho<4$. Then the finite signed measure
# $x^2e^{-x^2/2}g\,d\mu$ has a Laplace transform in $\frac12x^2$ that vanishes, so $g=0$. As $\varphi_*-e^{-x^2/2}$ is in
# $L^2(\mu)$, it is a limit of such differences. $\square$
#
# </details>
#
# <a id="thm-price-of-weights"></a>
#
# > **Theorem** (the price of softmax weights). Let $m=d-1$ and $\sigma>0$, and let $n\to\infty$.
# >
# > - (a) *Positive weights.* Let the class be smooth, as in [the law of the window](theorem2_scaling.ipynb#thm-law) with
# >   $\rho=4$. Let $\Phi\ge0$ be bounded, radial and of compact support on $\mathbb R^m$, not zero everywhere, and
# >   consider the means of the labels with weights proportional to $\Phi(\theta_i/\mathsf h)$, where $\theta_i$ is the
# >   angle between token and query. (Without a token in reach, predict zero.) The least risk of softmax divided by the
# >   least risk over $\mathsf h$ tends to a limit. It is largest for $\Phi(x)=(1-|x|^2)_+$, where it is
# >
# >   $$\mathcal E(m)=\exp\frac{2u(\frac m2+1)}{\frac m2+2},\qquad u(z)=z\log\frac{z+1}2-\log\Gamma(z+1).$$
# >
# >   $\mathcal E(m)$ increases strictly with $m$ and tends to $\frac{e^2}4$. So it is below $\frac{e^2}4$ in every
# >   dimension.
# > - (b) *Weights of both signs.* For $0<\rho<4$ the limit for one head in
# >   [heads on rough functions](heads.ipynb#thm-heads-rough), with the best width, grows without bound, like
# >   $(\frac m{2e})^{\rho/2}$, as $m\to\infty$.
#
# <details><summary>Proof of the theorem on the price of softmax weights</summary>
#
# *(a), the limit.* The proof of the law of the window applies with $E_i=\Phi(\theta_i/\mathsf h)/\sup\Phi$ in place of
# its weights, with three changes. Without a token in reach, which has a probability of at most $e^{-1/(8\epsilon)}$, the
# error is $f(x_q)$. In an infinite context the scaled distance $\theta/\mathsf h$ to a token has the law with the density
# $\Phi/\int\Phi$; let $X$ have this law. And the step that shows $\epsilon\to0$ at minimizers cannot use that the noise
# grows as the window narrows, because empty windows have none. Instead, let $N$ be the number of tokens in reach. The
# risk is at least $\sigma^2\,\mathbb E[\frac1N;N>0]+k(1)\,\mathbb P(N=0)\ge\min(\sigma^2,k(1))/(1+\mathbb EN)$, by
# Jensen's inequality. As $\mathbb EN$ is at most a constant times $\frac1\epsilon$, a risk that tends to zero forces
# $\epsilon\to0$. The bias is then $\frac14\mathbb E(\Delta f)^2\,\mathsf h^4(\mathbb E|X|^2/m)^2$ to leading order, and
# the noise is proportional to $\mathsf h^{-m}\int\Phi^2/(\int\Phi)^2$. For softmax $X$ is Gaussian. Minimizing, the limit
# of the quotient is
#
# $$\Big(\frac m{\mathbb E|X|^2}\Big)^{\frac{2m}{m+4}}\Big(\frac{(4\pi)^{-m/2}(\int\Phi)^2}{\int\Phi^2}\Big)^{\frac4{m+4}}.$$
#
# *Epanechnikov is best.* Normalize $\int\Phi=1$ and choose the scale so that $\mathbb E|X|^2$ agrees with that of
# $\Phi_0=(a-b|x|^2)_+$, $\int\Phi_0=1$. As $\Phi\ge0$,
# $\int\Phi\Phi_0\ge\int\Phi\,(a-b|x|^2)=\int\Phi_0(a-b|x|^2)=\int\Phi_0^2$. So
# $\int\Phi^2\ge2\int\Phi\Phi_0-\int\Phi_0^2\ge\int\Phi_0^2$. For $\Phi_0=(1-|x|^2)_+$ one has
# $\mathbb E|X|^2=\frac m{m+4}$ and $\int\Phi_0^2/(\int\Phi_0)^2=\frac{2(m+2)}{(m+4)V_m}$ with
# $V_m=\pi^{m/2}/\Gamma(\frac m2+1)$. Inserting this gives $\mathcal E$.
#
# *Increasing.* The derivative of $u(z)/(z+1)$ has the sign of $\mathsf N=(z+1)u'-u$, and $\mathsf N'=(z+1)u''$. Here
# $u''=\frac1{z+1}+\frac1{(z+1)^2}-\psi'(z+1)>0$, because $\psi'(x)=\sum_{k\ge0}(x+k)^{-2}<x^{-2}+x^{-1}$. At $z=\frac32$,
# which is $m=1$, $\mathsf N$ is above $0.2$. So $\mathcal E$ increases. By Stirling's formula $u(z)/z\to1-\log2$.
#
# *(b)* For one head minimize $J$ over the width. With $I=\int x^{-1-\rho}(1-e^{-x^2/2})^2dx$ and
# $\int e^{-x^2}x^{m-1}dx=\frac12\Gamma(\frac m2)$, the least value of
# $I\alpha^{\rho/2}+\frac12\Gamma(\frac m2)\alpha^{-m/2}$ is
# $(1+\frac\rho m)\,I\,\big(\frac{m\Gamma(m/2)}{2\rho I}\big)^{\rho/(m+\rho)}$. By Stirling's formula this is
# asymptotically $I\,(\frac m{2e})^{\rho/2}$, while $J(\varphi_*)\to\frac1\rho$. $\square$
#
# </details>
#
# <a id="proofs-gaussian"></a>
#
# ## Gaussian tokens
#
# These are the proofs of two theorems of
# [Inputs of unequal length](gaussian_tokens.ipynb), on the rate of convergence in
# [every window](gaussian_tokens.ipynb#thm-every-w) and on [the golden ratio](gaussian_tokens.ipynb#thm-golden). Notation,
# the moments of $m$ and the formula for the exact risk are from that chapter.
#
# <details><summary>Proof of the theorem on every window</summary>
#
# *Idea.* The convergence is slow because rare long queries attend to few tokens. The key is a bound on
# $\mathbb E\sum\omega_i^2$. A weight is at most one, so $\omega_i^2\le\omega_i^t$ for $0\le t\le2$. At a given query the
# weight $\omega_1$ is nearly $e^{\tau g_1}/(n\,e^{\tau^2/2})$ with $\tau=w|x_q|$. So
#
# $$n\,\mathbb E\omega_1^t\approx n^{1-t}e^{t(t-1)w^2|x_q|^2/2}.$$
#
# The mean of the right side over queries is finite if $t(t-1)w^2<1$, that is, if $t<s$, and then it falls like
# $n^{-(t-1)}$. For $t$ near $\min(2,s)$ the exponent $t-1$ is near $r(w)$.
#
# For $w^2>\frac12$ the exponent $r(w)$ comes from queries with $w^2|x_q|^2\approx\frac{2w}{\sqrt{w^2+4}}\log n$, at which
# a rare event decides the mean: a single token carries a positive share of all weight. Physicists know this effect as
# condensation in the random energy model ([Derrida, 1981](cite:derrida1981);
# [Bouchaud and Mézard, 1997](cite:bouchaud1997)), and limit theorems for such sums are due to
# [Bovier et al. (2002)](cite:bovier2002) and [Ben Arous et al. (2005)](cite:benarous2005).
#
# *Given the query,* let $r=|x_q|$, $\tau=wr$ and $x=\tau^2/\ell$. Let $p_k=\sum\omega_i^k$, $C=\mathbb Ep_2$ and
# $D=\mathbb E[p_3-p_2^2]$. Let $Q$ be the mean squared distance of $\sum\omega_ix_i$ from $w\,x_q$. By the moments of
# $m$,
#
# $$Q=\mathbb E(m-\tau)^2+(d-1)C=dC+\tau^2(C-6D).$$
#
# By the Cauchy-Schwarz inequality $p_2^2\le p_3$. Since weights are at most one, $p_3\le p_2$. So $0\le D\le C$ and
# $Q\le(d+\tau^2)C$. Let $S=\sum_{j\ge2}e^{\tau g_j}$, the sum over all tokens but the first, and let
# $A=S/(n\,e^{\tau^2/2})$.
#
# *1. The sum $S$ is rarely small.* For a standard normal $g$ let $Y=e^{\tau g}1\{g\le\tau\}$. Then
#
# $$\mathbb EY=\tfrac12e^{\tau^2/2},\qquad\mathbb E[Y^2]\le\tfrac12e^{3\tau^2/2},\qquad
# \mathbb Ee^{-\lambda Y}\le e^{-\lambda\mathbb EY+\lambda^2\mathbb E[Y^2]/2}\quad(\lambda\ge0).$$
#
# Set $\lambda=\mathbb EY/(2\,\mathbb E[Y^2])$. By Markov's inequality for $e^{-\lambda\sum Y}$, the sum over any $k$
# tokens obeys
#
# $$P\Big(\sum e^{\tau g_j}<\tfrac k4e^{\tau^2/2}\Big)\le\exp\big(-\tfrac k{16}e^{-\tau^2/2}\big).$$
#
# Let $n\ge3$ and $\delta_n=n^2\exp(-\frac n{48}e^{-\tau^2/2})$. Taking $k=n-1$ gives $nP(A<\frac18)\le\delta_n$. Let $A'$
# be $A$ without the second token's term. Taking $k=n-2$ gives $n^2P(A'<\frac1{12})\le\delta_n$. Uniformly on
# $x\le2-\varepsilon$, $\delta_n$ is smaller than every power of $1/n$.
#
# *2. An upper bound.* Let $y=\tau g_1-\ell-\frac{\tau^2}2$. Then $\omega_1=e^y/(e^y+A)$. If $A\ge\frac18$, this weight is
# at most $\min(1,8e^y)$. Since $\min(1,z)^2\le z^t$ for $0\le t\le2$,
#
# $$C\le n\,\mathbb E\min(1,8e^y)^2+\delta_n\le64\,n^{1-t}e^{t(t-1)\tau^2/2}+\delta_n.$$
#
# Let $\alpha=\frac1x+\frac12$. The right side is least at $t=\min(2,\alpha)$, and there it is $64\,n^{-c(x)}+\delta_n$
# with
#
# $$c(x)=1-x\quad(x\le\tfrac23),\qquad c(x)=\frac{(2-x)^2}{8x}\quad(\tfrac23\le x\le2).$$
#
# *3. Queries at which one token is heavy.* Let $a=\frac\ell\tau+\frac\tau2$. Then $y=\tau(g_1-a)$ and
# $\tau a=\alpha\tau^2$. Let $\Lambda=\frac n{\tau\sqrt{2\pi}}e^{-a^2/2}$. For $x\ge\frac23$ this is
# $n^{-c(x)}/(\sqrt{2\pi}\,\tau)$. Integration over $y$ instead of $g_1$ gives
#
# $$n\,\mathbb E\omega_1^k=\Lambda\,\mathbb E\!\int\Big(\frac{e^y}{e^y+A}\Big)^ke^{-\alpha y-y^2/2\tau^2}dy .$$
#
# We show that $A$ is near its mean $\mathbb EA=1-\frac1n$. Let $b=\ell^{1/4}$, and let $A_b$ be the part of the sum $A$
# with $g_j\le\tau+b$. Tilting the law of $g$ by $e^{\tau g}$ and by $e^{2\tau g}$ gives
#
# $$\mathbb E[A-A_b]\le P(g>b),\qquad\mathrm{Var}\,A_b\le n^{-1}e^{\tau^2}P(g>\tau-b)\le n^{-1}e^{\tau^2/2+\tau b}.$$
#
# The last bound is $n^{-1+x/2+o(1)}$, because $\tau b=o(\ell)$. So both right sides tend to zero, and $A\to1$ in
# probability, uniformly on $x\le2-\varepsilon$.
#
# Now let $k\ge2$, and let $x$ be in a compact part of $(\frac23,2)$, where $1<\alpha<2$. If $A\ge\frac18$, the integrand
# is at most $\min(1,8e^y)^2e^{-\alpha y}$, which is integrable uniformly in $x$. The event $A<\frac18$ contributes at
# most $\delta_n=o(\Lambda)$. So, by dominated convergence, with the beta function $\mathrm B$ and uniformly in $x$,
#
# $$\mathbb Ep_k=n\,\mathbb E\omega_1^k=\Lambda\,[\mathrm B(k-\alpha,\alpha)+o(1)].$$
#
# Two heavy tokens are rarer. By step 1 for $A'$
#
# $$\mathbb E[p_2^2-p_4]\le n^2\,\mathbb E\omega_1^2\omega_2^2\le(n\,\mathbb E\min(1,12e^y)^2)^2+\delta_n=O(\Lambda^2)+\delta_n .$$
#
# So $\mathbb E[p_2^2]=\Lambda\,[\mathrm B(4-\alpha,\alpha)+o(1)]$. Without arguments, let $\mathrm B$ stand for
# $\mathrm B(2-\alpha,\alpha)=\Gamma(\alpha)\Gamma(2-\alpha)$. Then $\mathrm B(3-\alpha,\alpha)=\frac{2-\alpha}2\mathrm B$
# and $\mathrm B(4-\alpha,\alpha)=\frac{(3-\alpha)(2-\alpha)}6\mathrm B$. Since $C-6D=\mathbb E[p_2-6p_3+6p_2^2]$ and
# $1-3(2-\alpha)+(3-\alpha)(2-\alpha)=(\alpha-1)^2$,
#
# $$C=\Lambda\,[\mathrm B+o(1)],\qquad C-6D=\Lambda\,[(\alpha-1)^2\mathrm B+o(1)].$$
#
# *4. Queries at which no token is heavy.* Let $x\le\frac23-\varepsilon$. Tilting the law of $g_1$ by $e^{2\tau g_1}$
# gives
#
# $$n\,e^{-\tau^2}C=\mathbb E(e^{y'}+A)^{-2},\qquad y'=(\tfrac32x-1)\ell+\tau g.$$
#
# In probability and uniformly in $x$, $A\to1$ by step 3, and $y'\to-\infty$. If $A\ge\frac18$, then
# $(e^{y'}+A)^{-2}\le64$. The event $A<\frac18$ contributes at most $n\delta_n$. So $n\,e^{-\tau^2}C\to1$. In the same way
# $n\,e^{-\tau^2}\mathbb Ep_3\to0$. Since $D\le\mathbb Ep_3$, also $n\,e^{-\tau^2}D\to0$.
#
# *5. The mean over queries.* The density of $r$ is $p(r)=2^{1-d/2}r^{d-1}e^{-r^2/2}/\Gamma(\frac d2)$. Up to powers of
# $\ell$ this density is $n^{-x/2w^2}$. Queries with $x>2-\varepsilon$ contribute at most
# $\mathbb E[d+\tau^2;x>2-\varepsilon]=n^{-(2-\varepsilon)/2w^2+o(1)}$. For small $\varepsilon$ this is negligible,
# because $\frac1{w^2}=s(s-1)>s-1\ge r(w)$. By step 2 all other queries contribute at most $n^{-\min h+o(1)}$ with
# $h(x)=c(x)+\frac x{2w^2}$.
#
# - *$w^2>\frac12$.* On $[0,\frac23]$ the function $h$ falls. On $[\frac23,2]$ it is strictly convex with
#   $h'=-\frac1{2x^2}+\frac18+\frac1{2w^2}$. So $h$ has only one minimum, at $x_*=\frac{2w}{\sqrt{w^2+4}}$ between
#   $\frac23$ and
#   2. At this point $h=\frac1{x_*}-\frac12=s-1$, $h''=x_*^{-3}$ and $\alpha=s$. Queries with $x$ away from $x_*$
#      contribute less by a power of $n$. For $x$ near $x_*$ insert the result of step 3 and $r=\sqrt{x\ell}/w$. Laplace's
#      method then gives
#
#   $$\begin{aligned}
#   \mathbb EC&\sim\frac{2^{1-d/2}}{\Gamma(d/2)}\Big(\frac{x_*\ell}{w^2}\Big)^{\frac{d-1}2}\frac{\Gamma(s)\Gamma(2-s)}{\sqrt{2\pi x_*\ell}}\,
#   \frac{\sqrt\ell}{2w\sqrt{x_*}}\sqrt{\frac{2\pi x_*^3}\ell}\,n^{-(s-1)}\\
#   &=c_w\ell^{d/2-1}n^{-(s-1)}.
#   \end{aligned}$$
#
#   In $Q$ the term $\tau^2(C-6D)\sim x_*\ell\,(s-1)^2C$ dominates.
# - *$w^2<\frac12$.* At a fixed query $nC\to e^{\tau^2}$ and $nD\to0$ by step 4. By step 2 with $t=2$,
#   $nC\le64\,e^{w^2r^2}+n\delta_n$. The first term is integrable, also after multiplication by $d+\tau^2$. The second
#   term tends to zero uniformly on $\tau^2\le\ell$. By $C\le1$ and $Q\le d+\tau^2$, queries with $\tau^2>\ell$ contribute
#   at most $n\,\mathbb E[d+\tau^2;\tau^2>\ell]=n^{1-1/2w^2+o(1)}\to0$. By dominated convergence
#   $n\,\mathbb EC\to\mathbb Ee^{w^2r^2}$ and $n\,\mathbb EQ\to\mathbb E(d+w^2r^2)e^{w^2r^2}$.
# - *$w^2=\frac12$.* For $x\le\frac23-\varepsilon$ step 4 gives $nC\,p(r)\sim2^{1-d/2}r^{d-1}/\Gamma(\frac d2)$. For $Q$
#   this power of $r$ is multiplied by $d+\frac12r^2$. Integrals from $r=0$ to $r^2=\frac43\ell$, the value at
#   $x=\frac23$, give the table. For $|x-\frac23|<\varepsilon$ step 2 with $t=2$ bounds $nC\,p(r)$ by a constant times
#   $r^{d-1}$. So this interval changes $n\,\mathbb EC$ by at most $K\varepsilon\,\ell^{d/2}$ and $n\,\mathbb EQ$ by at
#   most $K\varepsilon\,\ell^{d/2+1}$, with a constant $K$. Queries with $x\ge\frac23+\varepsilon$ contribute a smaller
#   power of $n$, because $h>1$. Let $\varepsilon\to0$. $\square$
#
# </details>
#
# <details><summary>Proof of the theorem on the golden ratio</summary>
#
# *Idea.* Let $Q(w|x_q|)$ be the mean squared distance of the output from its limit at a given query. In long contexts and
# near $w=1$ the risk is nearly $\frac{L^2}d\,\mathbb E\,Q(w|x_q|)+L^2(w-1)^2$. While the second term is least at $w=1$,
# the first one grows with $w$ there, so the least risk lies below $w=1$. Integration by parts gives the slope of the mean
# at $w=1$:
#
# $$\tfrac d{dw}\mathbb E\,Q(w|x_q|)\Big|_{w=1}=\mathbb E\big[(|x_q|^2-d)\,Q(|x_q|)\big].$$
#
# Long queries dominate the right side. Since $|x_q|^2$ is of order $\log n$ for them, the slope is positive and of the
# order of $\log n$ times the mean distance.
#
# By the [theorem for any lengths](gaussian_tokens.ipynb#thm-lengths) it suffices to consider $M=wI$ with $w\ge0$. Let
# $C(\tau)$ and $Q(\tau)$ be as in the last proof. The formula for the exact risk gives
#
# $$\begin{aligned}
# R(w)&=L^2(1-w)^2+J(w),\\
# J(w)&=\tfrac{L^2}d\,\mathbb E\big[Q(wr)+2(1-w)w\,r^2C(wr)\big]+\sigma^2\,\mathbb EC(wr).
# \end{aligned}$$
#
# *Identities.* Let $F$ be a function of the scores $\tau g_i$, and let $\nabla$ and $\Delta$ act on the scores. Then
# $\frac d{d\tau}\mathbb EF=\tau\,\mathbb E\Delta F$. For the sums $p_k$ one computes
#
# $$\begin{aligned}
# \Delta p_k&=k[(k-1)p_k-2kp_{k+1}+(k+1)p_2p_k],\\
# \nabla p_k\cdot\nabla p_l&=kl(p_{k+l}-p_lp_{k+1}-p_kp_{l+1}+p_2p_kp_l).
# \end{aligned}$$
#
# Let $P$ be a polynomial in $p_2,p_3,\dots$ without a constant term. By these formulas $\Delta P$ is again such a
# polynomial. Each monomial is at most $p_2$. So with a constant $K$
#
# $$\big|\tfrac d{d\tau}\mathbb EP\big|\le K\tau C,\qquad\big|\tfrac{d^2}{d\tau^2}\mathbb EP\big|\le K(1+\tau^2)C.$$
#
# For every set of tokens, $m$ and $p_2$ do not fall as $\tau$ grows. Indeed, the derivative of $m$ is the variance of the
# $g_i$ under the weights. The derivative of $p_2$ is twice the covariance of $\omega_i$ and $g_i$ under the weights, and
# $\omega_i$ increases with $g_i$. So $\mathbb Em=\tau(1-C)$ and $C$ are nondecreasing in $\tau$.
#
# *1. All minimizers tend to one.* By Jensen's inequality $R(w)\ge\frac{L^2}d\mathbb E(r-\mathbb E[m\,|\,r])^2$. Let
# $q=P(1\le r\le2)$, and let $n$ be so large that $C(8)\le\frac12$. In both cases below let $1\le r\le2$.
#
# - Let $w\ge4$. Then $\mathbb E[m\,|\,r]$ is at least its value at $w=4$. This value is $4r(1-C(4r))\ge2r$, since
#   $4r\le8$. So $R(w)\ge\frac{L^2}dq$.
# - Let $0\le w\le4$. Then $|r-wr(1-C(wr))|\ge|1-w|-4C(8)$. So $R(w)\ge\frac{L^2}dq\,(|1-w|-4C(8))_+^2$.
#
# As $n\to\infty$, $C(8)\to0$ by step 4 of the last proof, and $R(1)\to0$ by its theorem. Since $R$ is continuous and, by
# the first case, for $w\ge4$ larger than $R(1)$, minimizers exist for large $n$. For every $\varepsilon>0$ they lie in
# $[1-\varepsilon,1+\varepsilon]$ from some $n$ on.
#
# *2. The minimizer is unique.* Let $|w-1|\le\varepsilon\le\frac12$. Let $\kappa$ be the exponent of the
# [theorem on every window](gaussian_tokens.ipynb#thm-every-w) at the window parameter $1+\varepsilon$. By the identities
#
# $$|J'(w)|+|J''(w)|\le K\,\mathbb E(1+r)^6C((1+\varepsilon)r)=n^{-\kappa+o(1)},$$
#
# because powers of $r$ change only powers of $\log n$. For large $n$, $R''=2L^2+J''>0$ for these $w$. So the minimizer is
# unique and solves $2L^2(1-w^*)=J'(w^*)$. The bound on $J'$ gives $|1-w^*|\le n^{-\kappa+o(1)}$. The bound on $J''$ then
# gives $J'(w^*)=J'(1)+O(n^{-2\kappa+o(1)})$. For small $\varepsilon$ this remainder is negligible: $2\kappa>1/\varphi$,
# and $1/\varphi$ is the exponent of $J'(1)$ in step 3.
#
# *3. The slope at one.* Integration by parts gives $\mathbb E\,rG'(r)=\mathbb E(r^2-d)G(r)$ for a function $G$. So for
# every $n$
#
# $$R'(1)=J'(1)=\tfrac{L^2}d\,\mathbb E\big[(r^2-d)\,Q(r)-2r^2C(r)\big]+\sigma^2\,\mathbb E(r^2-d)\,C(r).$$
#
# By step 5 of the last proof these means are dominated by queries with $r^2\approx\frac2{\sqrt5}\log n$. So
# $\mathbb E\,r^2Q\sim\frac2{\sqrt5}\log n\;\mathbb EQ$, which is of the order $(\log n)^{d/2+1}n^{-1/\varphi}$. For each
# fixed $\sigma$ every other term is smaller by a factor $\log n$.
#
# By step 2 $1-w^*\sim J'(1)/2L^2$. For $\mathbb EQ$ insert the second column of the
# [theorem on every window](gaussian_tokens.ipynb#thm-every-w) at $w=1$, where $s=\varphi$. With
# $\Gamma(\varphi)\Gamma(2-\varphi)=\frac{\pi/\varphi}{\sin(\pi/\varphi)}$ this gives the stated law. Finally
# $R(w^*)=R(1)+O(|1-w^*|\sup|J'|+(1-w^*)^2)$. Here the $O$-term is $n^{-2\kappa+o(1)}$, so $R(w^*)\sim R(1)$. $\square$
#
# We claim no rate for the convergence to this law. The law is not uniform in $\sigma/L$, because the noise term in
# $J'(1)$ is smaller only by a factor $\log n$.
#
# </details>

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
