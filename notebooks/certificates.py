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
# *A computation covers finitely many cases. Which statements about all matrices, all functions and all context lengths
# can be proved?*
#
# **Short answer.** Suppose that function values are more correlated at closer inputs, as for ReLU and affine functions.
# Then, for two or more examples, the risk is least if the attention matrix is a multiple of the identity
# {judged}`P1.T2.form`. Without this assumption another matrix can be better, as for some waves on the circle. For
# linear functions of at least three relevant directions, attention should ignore all other directions
# ([](/notebooks/theorem4_low_rank.ipynb)). As far as we computed, the authors' upper bound in Theorem 3 holds for every
# $L$-Lipschitz test function {judged}`P1.T3.any`. A function of the ReLU class has the Lipschitz constant that the
# slides give {judged}`P1.T2.lip`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d of the covariates
lipschitz = 1.0  # Lipschitz constant L of the class
noise_std = 1.0  # standard deviation sigma of the label noise
context_length = 20  # n where other matrices are tried, besides two and ten times n

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icl.risk import low_rank_risk, matrix_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Quadratic, ReLU, Tanh, Zonal
from icl_book import notebook, plots
from icl_book.claims import cases, judge
from icl_book.measurements import certificates
from icl_rigor import curvature, enclose_risk

notebook.setup(globals())


# %% [markdown]
# ## In plain words
#
# Named theorems on this page are the book's own, and numbered theorems are the authors'.
#
# 1. **All matrices, every $n\ge2$.** Tokens in the direction of $Mx_q$ get the largest weights. If function values are
#    more correlated at closer inputs, this direction should point to the query $x_q$. So the best matrix is a multiple
#    $wI$ of the identity.
# 2. **Irrelevant directions.** Directions on which the labels do not depend add random numbers to the scores, unless
#    the matrix ignores these directions. The numbers disturb the order in which attention ranks the tokens. If labels
#    are linear in three or more directions, this disturbance raises the risk.
# 3. **All Lipschitz functions.** At a given window the risks of *all* $L$-Lipschitz functions have a common upper
#    bound.
# 4. **All pairs of points.** The Lipschitz constant of a function of the ReLU class is the steeper of its two slopes.
#
# **The experiment of this page** shows that the first statement needs its assumption. For two classes we compare the
# exact risks of $wI$ and of $w$ times a quarter turn, the rotation of the circle by $90^\circ$. One class consists of
# ReLU functions. A function of the other class is a wave of 4 periods around the circle plus a weaker wave of 18
# periods.
#
# To try $d=7$, run these lines in a new cell below the next cell. The quarter turn then rotates one plane, and $wI$
# should again have the smaller risk. At $d=5$, $n=20$ and $\sigma=1$ such a turn raises the risk of ReLU functions by
# {judged}`P1.T2.form | ReLU, d = 5, n = 20: a plane turned by 90° | 100*.0f` %.
#
# ```python
# tasks["ReLU"] = ReLU(dim=7)
# quarter_turn = np.eye(7)
# quarter_turn[:2, :2] = [[0, -1], [1, 0]]
# print(risks("ReLU").min())
# ```


# %%
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
    w = best.w * np.linspace(0.6, 1.5, 46)
    straight = population_risk(task, w, n=20, noise_std=0.0).total
    matrices = [one * quarter_turn for one in w]
    turned = [matrix_risk(task, M, n=20, noise_std=0.0).total for M in matrices]
    return pd.DataFrame({"task": name, "w": w, "wI": straight, "quarter turn": turned})


turns = pd.concat(risks(name) for name in tasks)
turns = turns.melt(["task", "w"], var_name="matrix", value_name="risk")
least = turns.loc[turns.groupby(["task", "matrix"]).risk.idxmin()]
print(least.round({"w": 1, "risk": 5}).to_string(index=False))

# %%
panels = plots.panels(turns, "task", ("w", "risk"), sharex=False, sharey=False)
plots.lines(panels, turns, x="w", y="risk", hue="matrix", col="task", label="")
panels["two waves"].set_ylim(0.583, 0.605)
panels["ReLU"].set_ylim(-0.01, 0.26)
for matrix, color in plots.colors(turns.matrix).items():
    curve = turns[(turns.task == "ReLU") & (turns.matrix == matrix)]
    place = (curve.w.mean(), curve.risk.mean())
    label = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center"}
    panels["ReLU"].annotate(matrix, place, color=color, **label)
plt.show()


# %% [markdown]
# ```{caption} fig-right-angles
# :alt: Left, ReLU functions: the risk of the quarter turn lies far above that of multiples of the identity. Right, two waves:
# the curve of the quarter turn has a lower minimum.
#
# Exact risk on the circle of $wI$ and of $w$ times a quarter turn, for $n=20$ and $\sigma=0$. For ReLU functions (left)
# $wI$ should have the lower minimum. For the two waves (right) the quarter turn should have the lower minimum.
# ```
#
# For the two waves, replacing $wI$ by the quarter turn changes the least risk by
# {judged}`P1.T2.form | two waves, quarter turn | 100*.1f` %. The quarter turn does not change the strong wave. The weak
# wave is too short for the window, and the prediction contains it with the wrong sign. The quarter turn reverses this
# sign.
#
# The {prf:ref}`theorem on form <thm-form>` covers every class whose covariance rises with $t$, the cosine of the angle
# between two inputs. For $n\ge3$ the theorem also covers every class whose covariance is even in $t$ and rises with
# $|t|$. The next cell tests nine classes and prints the $n$ for which the theorem holds:


# %%
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
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens and query uniform on the sphere, class rotation invariant | assumed |
# | a minimizer exists | proved for $n\ge2$, if the class is not constant and its covariance $k$ has $k'(1)<\infty$ |
# | printed "for sufficiently large $n$" | not needed; proved for every $n\ge2$ and $\sigma\ge0$ |
#
# Automatic tests check the steps of the proofs numerically.
# ```
#
# ## The form of the minimizer
#
# The slides say of Theorem 2: "the minimizer [...] is $\mathbf{M}^* = w_{KQ} \mathbf{I}_d$". The statement is about the
# {term}`risks <population risk>` of *all* matrices. Trained matrices alone cannot prove it.
#
# :::{prf:theorem} the form of the minimizer
# :label: thm-form
# :nonumber:
# Let the function $f$, the tokens, the query and the noise be independent. Let tokens and query be uniform on
# $S^{d-1}$, $d\ge2$. Let the law of $f$ be rotation invariant with $\mathbb Ef(x)^2<\infty$ and covariance $k$. Let the
# noise have mean zero and variance $\sigma^2<\infty$, and let $n\ge2$.
#
# 1. *Existence.* If the class is not constant and $k'(1)<\infty$, then $\mathcal L(wI)$ has a finite minimizer
#    $w^*\ge0$.
# 2. *Form.* In each of two cases the minimizers over all $d\times d$ matrices, if there are any, are exactly the $wI$
#    with the best $w\ge0$:
#    - (a) $k$ is nondecreasing on $[-1,1]$ and not constant on $(-1,1)$;
#    - (b) $n\ge3$ and $k=k_1+k_2$. Here $k_1$ is nondecreasing and not constant on $(-1,1)$, and $k_2$ is even and
#      nondecreasing in $|t|$.
#
#    If $n\ge3$ and $k$ itself is even, nondecreasing in $|t|$ and not constant on $(-1,1)$, the minimizers are exactly
#    these $wI$ and the matrices $-wI$.
# 3. *Which classes.* $k$ is nondecreasing for sums $f(x)=\sum_j\ell_jg_j(q_j\cdot x)$ with monotone $g_j$. The $q_j$
#    must be independent of each other and have rotation-invariant laws. The $\ell_j$ must be independent of the $q_j$
#    and have finite second moments. Examples are affine, linear, ReLU, tanh and sigmoid functions, and networks with
#    one hidden layer of such functions. If the $q_j$ are Gaussian, $k$ is also nondecreasing for all odd $g_j$. If the
#    $q_j$ are Gaussian and $n\ge3$, part 2 applies to all $g_j$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *Idea.* Attention sees the query only through $Mx_q$. Reflect the sphere so that the direction of $Mx_q$ and the query
# change places. Of a token and its mirror image, the one nearer to $Mx_q$ has the larger weight, and the one nearer to
# the query has the better label. If $Mx_q$ points to the query, these two are the same token.
#
# *1. Existence.* $\mathcal L(wI)$ is continuous in $w$. As $w\to\infty$ it tends to the risk of the nearest token
# $x_{(1)}$. Let $\gamma=k(1)-k$ be the variogram and $t_i=x_i\cdot x_q$. Then
#
# $$\mathcal L(wI)=\mathbb E\Big[2\sum_i\omega_i\gamma(t_i)-\sum_{ij}\omega_i\omega_j\gamma(x_i\cdot x_j)+\sigma^2\sum_i\omega_i^2\Big].$$
#
# Each {term}`Gegenbauer polynomial <Gegenbauer polynomials>` has its steepest slope at $1$, and therefore
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
# $$G=\tfrac12\,\mathbb E_x\big[k(x\cdot c)-k(x\cdot x_q)\big]\big[\mu(x\cdot c)-\mu(x\cdot x_q)\big]. $$ (eq-reflection)
#
# So $G$ is a sum of two terms, with $k_1$ and with $k_2$ in place of $k$.
#
# *$k_1$.* For $\rho>0$ the weight $\omega_1$ rises strictly with $t_1$, and so $\mu$ rises strictly. The two brackets
# then have the same sign, and $G\ge0$. If $G=0$, then $k_1(x\cdot c)=k_1(x\cdot x_q)$ for almost all $x$. Since $k_1$ is
# monotone, it is continuous except at countably many points. So the equality holds at all but countably many points of
# the circle through $c$ and $x_q$, and there it says that $k_1(\cos\theta)$ has the period $\alpha$. As a function of
# $\theta$, $k_1(\cos\theta)$ is even, and monotone on $[0,\pi]$. So if $0<\alpha\le\pi$, this function is constant on
# $(0,\alpha)$ and thus on $(0,\pi)$, which we excluded. (At $t=\pm1$ the covariance may jump, but tokens do not meet these
# points.)
#
# *$k_2$.* Average {eq}`eq-reflection` over $x$ and $-x$ as well. This replaces $\mu$ by $\frac12\mu_s$ with
# $\mu_s(t)=\mu(t)+\mu(-t)$. We show that $\mu_s$ rises strictly in $|t|$. Let
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
# period $\alpha$ in addition to its period $\pi$. For $0<\alpha<\pi$, $\alpha$ or $\pi-\alpha$ is a period in
# $(0,\frac\pi2]$. On this interval $k_2(\cos\theta)$ is monotone, so it is constant, as for $k_1$.
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
# $$\int\eta(\varphi)[\eta(\varphi-\theta)-\eta(\varphi-\theta')]\,d\varphi
# =\frac12\int[\eta(\varphi)-\eta(\theta+\theta'-\varphi)][\eta(\varphi-\theta)-\eta(\varphi-\theta')]\,d\varphi\ge0.$$
#
# The reflection exchanges two half circles. On the one that contains $0$ and $\theta$, the two brackets have the same
# sign. On the other one both signs change.
#
# A ReLU function is the sum of two such terms, with $q$ and $-q$. Their coefficients are independent and centered, so
# the terms with $i\ne j$ vanish.
#
# For Gaussian $q$, Hermite's expansion of $g$ gives $k(t)=\sum_m\hat g_m^2t^m$ on the sphere. Odd powers are
# nondecreasing in $t$, and even powers in $|t|$. $\square$
# :::
#
# For $n=2$ and an even covariance, the risk of $wU$ is the same for all rotations $U$.
#
# The card below tries four matrices that are not multiples of the identity. Its control is a quarter turn on the two
# waves of {numref}`fig-right-angles`.

# %% tags=["remove-input"]
others = certificates.other_matrices(
    dims=dims,
    n_values=[2, context_length, 10 * context_length],
    lipschitz=lipschitz,
    noise_std=noise_std,
)
control = pd.DataFrame([certificates.turned_waves(TwoWaves(2), n=20)])
judge(
    "P1.T2.form",
    cases(others, error="error", name="{task}, d = {dim}, n = {n}: {matrix}"),
    cases(control, error="error", name="two waves, quarter turn"),
)

# %% [markdown]
# ## By hand: looking the wrong way
#
# Looking away from the query can raise the risk by more than the mean square of the functions. Take affine functions
# without their constant, $f=\ell\,q\cdot x$, with the mean square $a_1=\mathbb Ef(x_q)^2$. Let the context be so long
# that the weighted mean over the tokens is nearly a mean over the sphere. With $M=wI$ the prediction is then
# $A\,f(x_q)$ with some $A<1$, so the bias is $(1-A)^2a_1$. With $M=-wI$ the prediction is $-A\,f(x_q)$, so the bias is
# $(1+A)^2a_1$. So looking the wrong way adds $4Aa_1$, which is $2a_1$ for $A=\frac12$.
#
# **Exercise 1.** Compare the risks of $M=-wI$ and $M=wI$ for a class of even functions, $f(-x)=f(x)$.
#
# ```{admonition} Solution
# :class: dropdown
# The two risks are equal. With $M=-wI$ attention looks at the tokens opposite the query, where an even function has the
# same values as near the query.
# ```
#
# ## Where it is false
#
# On the circle let $\theta$ be the angle between $x$ and $x'$, and write
# $\mathbb Ef(x)f(x')=\sum_\ell a_\ell\cos\ell\theta$. Let $\omega_i$ be the weights of $wI$, and let $\theta_i$ be the
# angle between token $i$ and the query. Put $m_\ell=\mathbb E\sum_i\omega_i\cos\ell\theta_i$. Multiplying $wI$ by the
# rotation by $\alpha$ changes the risk by $2\sum_\ell a_\ell m_\ell(1-\cos\ell\alpha)$.
#
# For our two waves and a quarter turn, the term with $\ell=4$ is zero. The term with $\ell=18$ is $4a_{18}m_{18}$,
# which is negative. This computed example refutes our conjecture that some multiple of $I$ is best for *every*
# rotation-invariant class.
#
# **Open:** for $d\ge3$ we have neither a proof for all rotation-invariant classes nor a counterexample.
#
# **Exercise 2.** Change `covariance` so that the strong wave has 3 periods. Is a quarter turn still better? Which angle
# is natural to try instead?
#
# ```{admonition} Solution
# :class: dropdown
# With `np.cos(3 * theta)` a quarter turn is far worse, because it changes the strong wave: $\cos\frac{3\pi}2=0\ne1$. A
# turn by $120^\circ$ leaves both waves unchanged and gains nothing, because $3\cdot120^\circ$ and $18\cdot120^\circ$
# are full turns.
# ```

# %% [markdown]
# ## Enclosed, not computed
#
# :::{prf:theorem} enclosure of the risk
# :label: thm-enclose
# :nonumber:
# Take the setting of the {prf:ref}`theorem on form <thm-form>`. Let the class be affine, linear, quadratic, ReLU or
# cosine in any dimension $d\ge2$, and let $0\le w\le300$. Then `enclose_risk` either returns intervals that contain the
# bias, the noise and the risk of $wI$, or refuses.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# The risk is an integral over a variable $u$ and over the angle $\theta$ between a token and the query
# ([](/notebooks/exact_risk.ipynb)).
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
# :::

# %%
sure = enclose_risk(ReLU(dim=3), w=2.0, n=5, noise_std=1.0)
print(f"bias  [{sure.bias[0]:.12f}, {sure.bias[1]:.12f}], certified")
print(f"noise [{sure.noise[0]:.12f}, {sure.noise[1]:.12f}], certified")

# %% [markdown]
# **Exercise 3.** Prove by computation that $w=2$ is not the best window parameter for `ReLU(dim=3)` at $n=5$ and
# $\sigma=1$.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# for w in (1.0, 2.0):
#     sure = enclose_risk(ReLU(dim=3), w=w, n=5, noise_std=1.0)
#     low = sure.bias[0] + sure.noise[0]
#     high = sure.bias[1] + sure.noise[1]
#     print(w, low, high)
# ```
# The interval from `low` to `high` at $w=1$ lies below the interval at $w=2$. Each interval contains its risk, so this
# is a proof.
# :::
#
# ## Irrelevant directions
#
# The irrelevant directions add a number $e\,s_i$ to the score of token $i$ ([](/notebooks/theorem4_low_rank.ipynb)).
# Let $u_i$ be the relevant part of token $i$, and $u_q$ the relevant part of the query. Let $\varrho(c,e)$ be the risk
# with the scores $c\,u_i\cdot u_q+e\,s_i$.
#
# :::{prf:theorem} irrelevant directions do harm
# :label: thm-irrelevant
# :nonumber:
# Let $k\ge3$ be the number of relevant directions, and $f=a\cdot u$. Let $a$, $u_q$ and all $u_i$ be independent and
# uniform on $S^{k-1}$. Let the numbers $s_i$ be bounded, not constant, identically distributed, and independent of each
# other and of all other variables. Then for $n\ge2$, $\sigma\ge0$ and $c\ge0$ the risk $\varrho(c,e)$ rises strictly in
# $e\ge0$.
#
# For the tokens of [](/notebooks/theorem4_low_rank.ipynb) let $k\ge3$, $d>k$, $n\ge2$ and $\sigma\ge0$. Let the columns
# of $B$ be an orthonormal basis of the relevant directions. **Then the minimizers over all $d\times d$ matrices are
# exactly the $cBB^\top$ for which $c$ minimizes $\varrho(c,0)$.** At least one minimizer exists, and each has
# $0<c<\infty$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *Idea.* The weight of a token is the probability that it comes first in a random ranking. So the risk is an integral
# over ranks. The irrelevant part $e\,s_i$ of the score changes the ranking at random. At each rank it lets in tokens
# that are, on average, farther from the query.
#
# *1. An integral over ranks.* For each token let $E$ be an independent exponential variable. Put $t=u\cdot u_q$,
# $y=1-t$, $Z=-es+\log E$ and $X=cy+Z$. Given the scores, $e^{X_i}$ is exponential with the rate $e^{-cy_i+es_i}$. So
# $\omega_i$ is the probability that $X_i$ is the least of all, a known representation of such weights
# {cite:p}`yellott1977`. Given its score, $X_j$ has a density $f_j$ and a
# distribution function $F_j$. Let $S$ be the sum of all rates. Substituting $\lambda=e^x$ in
# $1/S^2=\int_0^\infty\lambda e^{-\lambda S}d\lambda$ gives
#
# $$\omega_1\omega_2=\int f_1f_2\prod_{j\ge3}(1-F_j)\,dx.$$
#
# Let $F$ and $f$ be the unconditional distribution function and density of $X$, and $h(x)=\mathbb E[t\mid X=x]$. At the
# rank $p=F(x)$ put $q(p)=f(x)$ and $H(p)=\mathbb E[t\,1_{X\le x}]$. Then $\frac{dH}{dp}=h$, and
#
# $$\begin{aligned}
# \textstyle\mathbb E\sum\omega_it_i&\textstyle=n\int h\,(1-p)^{n-1}dp=n(n-1)\int H\,(1-p)^{n-2}dp,\\
# \textstyle\mathbb E\sum_{i\ne j}\omega_i\omega_jt_it_j&\textstyle=n(n-1)\int qh^2(1-p)^{n-2}dp,\\
# \textstyle\mathbb E\sum\omega_i^2&\textstyle=1-n(n-1)\int q\,(1-p)^{n-2}dp.
# \end{aligned}$$
#
# The risk is the mean of $\frac1k|\sum\omega_iu_i-u_q|^2+\sigma^2\sum\omega_i^2$. Given all $t$ and $s$, $u_i\cdot u_j$
# has the mean $t_it_j$ for $i\ne j$. So
#
# $$k\varrho=2+k\sigma^2-n(n-1)\int_0^1(1-p)^{n-2}L_e(p)\,dp,\quad L_e=2H+q\,(1+k\sigma^2-h^2). $$ (eq-ranks)
#
# It is enough to show that $L_e(p)$ falls strictly in $e$ at every $p$.
#
# *2. The derivative $D$ in $e$ at fixed rank.* Let $r$ be the density of $Z$ and $v(z)=\mathbb E[-s\mid Z=z]$. Write
# $\langle\cdot\rangle$ and $\mathrm{Cov}$ for mean and covariance given $X=x$. As $\partial_e\mathbb P(Z\le z)=-vr$, we
# have $Dx=\langle v\rangle$ and $DH=-f\,\mathrm{Cov}(t,v)$. Let $\pi(y)\propto(1-t^2)^{(k-3)/2}$ be the density of $y$,
# and $\chi=(v-\langle v\rangle)r$. For every fixed function $\tau(y)$,
#
# $$D\int\tau\,\pi\,r(x-cy)\,dy=-\int\tau\,\pi\,\chi'(x-cy)\,dy.$$
#
# Given $Z=z$, the law of $s$ has a density proportional to $e^{z+es-e^{z+es}}$ with respect to the unconditional law.
# So $v'(z)=\mathrm{Cov}(s,e^{z+es}\mid Z=z)>0$ for $e>0$.
#
# *3. Integration by parts.* Let $c>0$. The function $(1-t^2)\pi/(k-1)$ has the derivative $t\pi$ in $y$ and vanishes at
# $y=0$ and $y=2$. So $H=\frac c{k-1}f\langle1-t^2\rangle$. Put $T=t-h$ and $\tau=T^2+k\sigma^2$. Then
#
# $$L_e=\Big(2+\frac{k-1}c\Big)H+\int\tau\,\pi\,r(x-cy)\,dy.$$
#
# As $h$ minimizes the last integral, we may compute $DL_e$ with $\tau$ held fixed. Put $m=\frac t{1-t^2}$. Then
# $(\log\pi)'=(k-3)\,m$. For $k>3$ the product $m\pi$ is integrable, because it is of the order $(1-t^2)^{(k-5)/2}$ at the
# ends, and for $k=3$ the factor $k-3$ removes it. Integration by parts in $y$ gives
#
# $$D\int\tau\,\pi\,r\,dy=\tfrac1c\big[\tau\,\pi\,\chi\big]_{y=0}^{2}-\tfrac fc\,\mathrm{Cov}\big(-2T+(k-3)\,\tau m,\,v\big).$$
#
# For $k>3$ the bracket is zero. For $k=3$ the bracket is not positive, because $v$ is largest at $y=0$ and least at
# $y=2$. Altogether
#
# $$DL_e\le-\tfrac fc\,\mathrm{Cov}(\psi(t),v),\quad\psi=(2c+k-3)\,t+(k-3)\big[(t-h)^2+k\sigma^2\big]\,m.$$
#
# *4. The sign.* Here $\psi'=2c+(k-3)\{m'T^2+2mT+1+k\sigma^2m'\}$ with $m'=\frac{1+t^2}{(1-t^2)^2}$. As
# $m^2-m'=-(1-t^2)^{-2}<0$, the quadratic in $T$ is positive, and $\psi'>0$. Given $X=x$, the argument of $v$ is
# $z=x-c+ct$, so $v$ rises strictly in $t$. By Chebyshev's inequality the covariance is positive. So $DL_e<0$ for $c>0$
# and $e>0$.
#
# At $c=0$ we have $h=H=0$ and $L_e=q\,(1+k\sigma^2)$. Then $Dq=-fv'<0$, and $DL_e<0$ again. $L_e(p)$ is continuous at
# $e=0$, so it falls strictly in $e\ge0$.
#
# *5. All matrices.* $\varrho(\cdot,0)$ is the risk of $cI$ for linear functions in $\mathbb R^k$. A minimizer exists by
# the {prf:ref}`theorem on form <thm-form>`. By the symmetry $u_i\to-u_i$, $\mathbb E|\sum\omega_iu_i|^2$ and
# $\mathbb E\sum\omega_i^2$ are even in $c$. But $\mathbb E\sum\omega_it_i$ has the slope $\frac{n-1}{nk}>0$ at $c=0$,
# so $c=0$ is not a minimizer. The [proof that no matrix beats two numbers](/notebooks/theorem4_low_rank.ipynb)
# completes the proof. $\square$
# :::
#
# **Open:** we have not proved that only one $c$ minimizes $\varrho(c,0)$.
#
# :::{prf:theorem} two directions
# :label: thm-two-directions
# :nonumber:
# Take the tokens of [](/notebooks/theorem4_low_rank.ipynb) with $k\ge2$, $d>k$ and $n\ge2$. In each of three cases the
# best matrices are exactly the $cBB^\top$ for which $c$ minimizes $\varrho(c,0)$:
#
# - (a) $n=2$;
# - (b) $\sigma\ge\sigma_0(n,k,d)$;
# - (c) $\sigma>0$ and $n\ge n_0(\sigma,k,d)$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# Notation is as before, with $s=v\cdot v_q$ and $N=\mathbb E\sum\omega_i^2$. *(a)* is the theorem on
# {prf:ref}`two examples <thm-two-examples>`.
#
# *(b)* Along a ray from $(c,e)=(0,0)$, $N$ does not fall. Its derivative is twice the mean of
# $\mathrm{Cov}_\omega(\omega,\text{score})\ge0$. Away from $(0,0)$, $N$ exceeds $\frac1n$. So for every $\delta>0$
# there is a $\nu>0$ such that $N\ge\frac1n+\nu$ outside the $\delta$-ball around $(0,0)$. Now let
# $\varrho(c,e)\le\varrho(0,0)=\frac1k(1+\frac1n)+\frac{\sigma^2}n$. Then $N-\frac1n\le\frac2{k\sigma^2}$ because
# $\varrho\ge\sigma^2N$. For large $\sigma$ such a point $(c,e)$ therefore lies inside the ball. Bias and $N$ are smooth
# in $(c,e^2)$. At $(0,0)$ we have $\partial_{e^2}N=\frac{n-1}{n^2(d-k)}$ and
# $\partial_{e^2}\text{bias}=\frac1k\partial_{e^2}N$. Both derivatives are positive in a small ball. So
# $\varrho(c,e)>\varrho(c,0)$ for $e\ne0$ in this ball, and all minimizers have $e=0$.
#
# $\square$
# :::
#
# :::{admonition} Proof of (c), long contexts
# :class: dropdown
# *Idea.* In long contexts the bias is close to its limit for infinite $n$, which does not depend on $e$. The noise
# term, however, grows with $e$.
#
# The constant $C$ depends on $\sigma,k,d$ only and may change from line to line. The sign $\asymp$ means equality up to
# such factors. Let $q=e^{-cy}$, $W=cy+e(1-s)$ and $\zeta=e^{-W}\le1$. Put
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
# $$k\varrho\ge(1-a)^2+k\sigma^2N,\qquad N\ge\frac{n\,\mathbb E\zeta^2}{(1+M)^2}=\frac{\varphi_2}{n\varphi_1^2}\,g(e)\Big(\frac M{1+M}\Big)^2. $$ (eq-jensen)
#
# The laws of $y$ and $1-s$ are doubling at 0, so $\mathbb P(W\le2r)\le C\,\mathbb P(W\le r)$. Hence
# $\mathbb E\zeta^2\ge C^{-1}\mathbb E\zeta$ and $N\ge C^{-1}M/(1+M)^2$.
#
# Let $M\le1$. On the segment from $(0,0)$, where $M=n$, to $(c,e)$ there is a point with $M=1$. There $N\ge C^{-1}$.
# From there to $(c,e)$, $N$ does not fall, as in the proof of (b). So $N\ge\eta$ with a constant $\eta>0$.
#
# *Where minima can be.* First choose $e=0$ and $c=n^{2/(k+3)}$, so that $c$ is large and $m\asymp n^{4/(k+3)}$. Then
#
# $$\textstyle k\varrho\le\mathbb E\sum\omega_iy_i^2+\mathbb E\sum\omega_i^2(1-t_i^2)+k\sigma^2N.$$
#
# With a probability of at least $1-e^{-m/C}$, all sums $\sum_{j\ne i}q_j$ are at least $m/C$. So up to an error of
# $e^{-m/C}$ the three terms of this bound are at most $\frac C{c^2}$, $\frac C{mc}$ and $\frac Cm$, and
# $\varrho\le Cn^{-4/(k+3)}$.
#
# Now let $\varrho(c,e)\le\inf_c\varrho(c,0)$. By {eq}`eq-jensen`, $(1-a)^2$ and $N$ are then at most $Cn^{-4/(k+3)}$.
# So for large $n$, $c$ is large and $N<\eta$. Hence $M>1$ and $N\ge C^{-1}/M$, so $m\ge M\ge C^{-1}n^{4/(k+3)}$.
#
# *$e\ge1$.* At $(c,0)$ expand $1/Y$ and $1/Y^2$ around the mean of $Y$. Up to errors of $Ce^{-m/C}$,
#
# $$\textstyle1-\mathbb E\sum\omega_it_i\le(1-a)(1+\frac Cm),\quad N\le\frac{\varphi_2}{n\varphi_1^2}(1+\frac Cm),\quad\mathrm{Var}\sum\omega_it_i\le\frac C{mc^2}.$$
#
# We compare with {eq}`eq-jensen`, where $\frac{\varphi_2}{n\varphi_1^2}\asymp\frac1m$. As $M$, $m$ and $c$ are large,
#
# $$k\varrho(c,e)-k\varrho(c,0)\ge\frac{k\sigma^2\varphi_2}{n\varphi_1^2}\big[g(1)(1-\tfrac2M)-1-\tfrac Cm\big]-\tfrac C{mc}-Ce^{-m/C}>0.$$
#
# *$0<e\le1$.* Let $f_0$ and $h_0$ be $f$ and $h$ at $e=0$, $\ell=(\log f_0)'$ and $s'=-s$. Let $Q$ be the law of $s'$
# given $X=x$. With respect to the unconditional law of $s'$, its density is proportional to $f_0(x-es')$. Steps 1 and 2
# of the proof for $k\ge3$ hold for $k=2$, too. They give
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
# :::
#
# **Open:** for $k=2$ and $n\ge3$ we have no proof if $\sigma=0$, or if $n$ and $\sigma$ are moderate. The proof for
# $k\ge3$ fails, because $L_e(p)$ of {eq}`eq-ranks` then rises with $e$ at some ranks $p$.
#
# **Open:** for $k=1$ we have a proof only for $n=2$ without noise ([](/notebooks/theorem4_low_rank.ipynb), Exercise 4).
# With noise the risk at a fixed $c$ need not rise with $|e|$. The next cell takes $c$ near twelve, $n=4$ and
# $\sigma=10$. The cell prints the risks at two positive values of $e$, divided by the risk at $e=0$:

# %%
near, middle, far = (
    low_rank_risk(dim=2, rank=1, c=11.66, e=e, n=4, noise_std=10.0).total
    for e in (0.0, 6.0, 11.66)
)
print(f"{middle / near:.3f} at e = 6, {far / near:.3f} at e = c = 11.66")

# %% [markdown]
# ## How far softmax regression bends
#
# In softmax regression one fits the vector $\mathrm{softmax}(s)$ to a target vector $b$. We know the exact range of the
# curvature of this loss as a function of the scores $s$.
#
# :::{prf:theorem} curvature of a row
# :label: thm-curvature
# :nonumber:
# Let $n\ge2$ and let the target $b$ be a probability vector. For all scores $s$ the eigenvalues of the Hessian of
# $\frac12\Vert\mathrm{softmax}(s)-b\Vert^2$ in $s$ lie in $[4g(p_+),4g(p_-)]=[-0.2404\ldots,0.3081\ldots]$. Here
# $g(p)=p^2(1-p)(2-3p)$ and $p_\pm=(15\pm\sqrt{33})/24$. Both ends are attained for $n=2$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
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
# the bounds of the sum over the tail and of $U$. Then $R^2$ has the factor $\lambda-c\phi$. If this factor is not negative,
# $R^2$ may be replaced by its lower bound $x^2$ with $x=\tau/\sqrt{\phi t}$. As $m=pv_1+qv_2+\sqrt{\phi t}\,x$, we
# obtain a quadratic form in $(v_1,v_2,x)$. Its matrix $A$ depends on $(p,t,\phi)$ alone.
#
# Ball arithmetic on 42,186 boxes (upper end) and 11,962 boxes (lower end) shows that the leading minors of $A$ are
# positive. Near $t=0$ it shows that $(\det A-\det A|_{t=0})/t>0$ instead, because
# $\det A|_{t=0}=\lambda^2(\lambda\mp4g(1-p))$ may vanish.
#
# For the lower end, $\lambda-c\phi$ may be negative where $q$ and $\phi$ are at least $0.46$. There $-Q\le0.202|v|^2$
# by hand (`icl_rigor.curvature`). $\square$
# :::
#
# The next cell repeats the computer's part of the proof. Both ends of the range should be certified. If an end is moved
# towards zero by a thousandth, the proof should fail:

# %%
for side, name in {1: "largest", -1: "most negative"}.items():
    whole = curvature.prove(side)
    smaller = curvature.prove(side, 0.999)
    print(f"{name} curvature {whole.end:+.6f}: ", end="")
    print("certified" if whole.proved else "not certified", f"in {whole.boxes} boxes")
    print("  0.999 times this:", "certified" if smaller.proved else "not certified")

# %% [markdown]
# ## Any Lipschitz function
#
# A review says of the paper's Theorem 3.5: "whose test data are any arbitrary L−Lipschitz task". The proposition bounds
# the largest bias of such functions at a given window.
#
# :::{prf:proposition} the worst Lipschitz function
# :label: thm-any
# :nonumber:
# Let $M=wI$. Every $L$-Lipschitz $f$ has $L_{\rm bias}(f)\le2L^2\big(1-\mathbb E\sum_i\omega_i\,x_i\cdot x_q\big)$. The
# largest bias over all such $f$ is at least the bias of $\frac Lb\cos(b\,u\cdot x)$, for every $b>0$ and every unit
# vector $u$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *Above.* The weights sum to one. By Jensen's inequality
#
# $$\Big(\sum_i\omega_i(f(x_i)-f(x_q))\Big)^2\le\sum_i\omega_i(f(x_i)-f(x_q))^2\le L^2\sum_i\omega_i\|x_i-x_q\|^2.$$
#
# On the sphere $\|x_i-x_q\|^2=2-2\,x_i\cdot x_q$.
#
# *Below.* Each $\frac Lb\cos(b\,u\cdot x)$ is $L$-Lipschitz. $\square$
# :::

# %% tags=["hide-input"]
middle = dims[min(1, len(dims) - 1)]
waves = certificates.waves(dim=middle, n=1e7, lipschitz=lipschitz, noise_std=noise_std)
figure, ax = plt.subplots(figsize=(5.8, 3.0))
plots.exact_curve(ax, waves.wavenumber, waves.bound)
plots.exact_curve(ax, waves.wavenumber, waves.bias, color=plots.COLORS["cosine"])
affine = {"color": plots.COLORS["affine"], "linestyle": "--"}
ax.plot(waves.wavenumber, waves.affine, **affine)
ax.axvline(waves.w[0] ** 0.5, color=plots.COLORS["guide"], linewidth=1)
ax.text(0.3, 0.8 * waves.bound[0], "no L-Lipschitz function above", va="top")
top = {"color": plots.COLORS["cosine"], "ha": "right"}
ax.text(9, 0.6 * waves.bias.max(), "cosines of slope L", **top)
ax.text(0.3, 1.2 * waves.affine[0], "slope L everywhere", color=affine["color"])
ax.set(xscale="log", yscale="log", xlabel="wavenumber b", ylabel="bias")
ax.set(title=f"d = {middle}")
plt.show()

# %% [markdown]
# ```{caption} fig-worst
# :alt: A humped curve of bias against wavenumber on logarithmic axes with its peak near one over the bandwidth. The horizontal
# bound lies far above the peak. Affine functions of full slope lie far below the peak.
#
# Exact bias of the cosines $\frac Lb\cos(b\,u\cdot x)$, which are $L$-Lipschitz, against their wavenumber $b$. The
# window is the best one for the ReLU class at $n=10^7$. The cosines should stay below the bound for all $L$-Lipschitz
# functions (horizontal line). They should peak near $b=\sqrt w$ (vertical line). Dashed: affine functions of slope $L$.
# ```
#
# As the window narrows, the largest bias of the cosines and the bound both fall like $L^2/w$. The card's control takes
# the cosines $L\cos(\sqrt w\,u\cdot x)$, which are not $L$-Lipschitz. Their risk does not fall at all.

# %% tags=["remove-input"]
slopes = certificates.worst_slopes(
    dims=dims, n_values=(1e7, 1e8), lipschitz=lipschitz, noise_std=noise_std
)
of_all = slopes[slopes.functions == "Lipschitz"].drop(columns="functions")
of_rougher = slopes[slopes.functions == "rougher"].drop(columns="functions")
judge(
    "P1.T3.any",
    cases(of_all, error="error", name="d = {dim}, upper end"),
    cases(of_rougher, error="error", name="d = {dim}"),
)

# %% [markdown]
# ## The Lipschitz constant of the ReLU class
#
# :::{prf:proposition} the Lipschitz constant
# :label: thm-lip
# :nonumber:
# Let $\Vert q\Vert=1$. On the unit sphere of $\mathbb R^d$, $d\ge2$, the function
# $\ell_1(q\cdot x)_++\ell_2(-q\cdot x)_++b$ has $\mathrm{Lip}(f)=\max(|\ell_1|,|\ell_2|)$, as the slides say.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# As a function of $q\cdot x$, $f$ has the slopes $\ell_1$ and $-\ell_2$. So the maximum is an upper bound. At the kink,
# where $q\cdot x=0$, the vector $q$ is tangent to the sphere. In the directions $q$ and $-q$ the function has the
# slopes $\ell_1$ and $\ell_2$. $\square$
# :::
#
# The card searches pairs of points on a circle for a steeper difference quotient. A circle is enough in every
# dimension, because the closest two points with given values of $q\cdot x$ lie on one great circle through $q$.

# %% tags=["remove-input"]
steepest = certificates.steepest(
    [(1.0, 0.3), (-0.7, 0.2), (0.5, 0.5), (1.0, -1.0), (0.1, 0.9)]
)
template = "$\\ell_1$ = {first:g}, $\\ell_2$ = {second:g}"
judge("P1.T2.lip", steepest, kind="found", high="bound", name=template)

# %% [markdown]
# ## To remember
#
# If function values are more correlated at closer inputs, the best matrix is a multiple of the identity for every
# $n\ge2$. For linear functions of three or more directions, noise in the scores raises the risk. One bound on the bias
# holds for all $L$-Lipschitz functions.

# %% tags=["remove-input"]
notebook.footer()
