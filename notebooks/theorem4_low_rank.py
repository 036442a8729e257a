# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 4: which directions count
#
# *If the labels depend on two directions out of five, does attention find out which two?*
#
# **Short answer.** Yes, if the relevant and the irrelevant part of an input are independent. We chose this law of the
# inputs, because no source prints one. The talk's Theorem 4 is about linear functions, with two examples or noiseless
# labels. It says that the best attention window is narrow in the relevant directions and infinitely wide in all others
# {judged}`P1.T4.minimizer`. We prove this for at least three relevant directions, at least two examples and any label
# noise {judged}`P1.T4.beyond`. For one or two relevant directions we prove some cases and compute others on grids. One
# case is untested: one relevant direction, no noise, and three or more examples. Trained layers find the relevant
# directions of linear functions {judged}`P1.T4.learns` and of the three functions on the talk's last slide
# {judged}`P1.F9.subspace`. Linear attention ends with a larger error on these three functions {judged}`P1.F9.error`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [3, 5, 6]  # dimensions d of the tokens ...
ranks = [1, 2, 3]  # ... and dimensions k of the relevant subspace, one for each d
n_values = [3, 20, 200]  # context lengths n, besides two
noise_stds = [0.1, 1.0]  # noise standard deviations sigma, besides zero
context_length = 20  # n of the trained units
noise_std = 0.5  # sigma of the trained units with noise
seeds = 16  # trained units of each setting
steps = 500  # Adam steps of each unit
batch_size = 128  # fresh contexts at each step
learning_rate = 0.1  # Adam's initial step size, falling linearly to zero
more_dims = [5, 8, 8]  # dimensions d behind the nonlinear links ...
more_ranks = [2, 2, 3]  # ... and their dimensions k
unit_noise_std = 0.1  # sigma of the units behind nonlinear links
more_seeds = 10  # units of each link
test_contexts = 4000  # test contexts of each of them

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import display
from matplotlib.colors import BoundaryNorm

from icl.attention import softmax_weights
from icl.covariates import LowRank
from icl.pretrain import train_grid
from icl.pretrain.metrics import spectral_norm, subspace_error
from icl.risk import low_rank_risk, optimal_window
from icl.streams import stream
from icl.tasks import Cosine, Linear, Projected
from icl_book import notebook, parameters, plots
from icl_book.claims import cases, judge
from icl_book.measurements import medians, recorded
from icl_book.measurements import theorem4_low_rank as low_rank

notebook.setup(globals(), ranks="dims", more_ranks="more_dims")
device = notebook.device()
if max(ranks) < 2:
    raise parameters.BadInput(f"ranks={ranks!r}: at least one must be above 1")
if batch_size < 16:
    raise parameters.BadInput(f"batch_size={batch_size!r}: must be at least 16")

#

# %% tags=["hide-input"]
angles = 180 * stream(0, "monte carlo", 1).uniform(-1, 1, (2, 400))
inside, outside = np.cos(np.deg2rad(angles))
spot, spot_risk = low_rank.least_isotropic(4, 2, n=context_length, noise_std=noise_std)
strip = optimal_window(Linear(2), context_length, noise_std)
matrices = {
    "best w I": (spot, spot, spot_risk),
    "best c BB'": (strip.w, 0.0, strip.risk),
}
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.1), sharey=True)
for ax, (name, (c, e, risk)) in zip(axes, matrices.items(), strict=True):
    weight = np.exp(c * (inside - 1) + e * (outside - 1))
    area = 1 + 70 * weight
    ax.scatter(*angles, area, color=plots.COLORS["softmax"], alpha=0.8)
    ax.plot(0, 0, "*", color=plots.COLORS["sampled"], markersize=13)
    ax.set_title(f"{name}: least risk {risk:.3f}")
    ax.set_xlabel("angle in the relevant directions")
    ax.set(xticks=[-180, -90, 0, 90, 180], yticks=[-180, -90, 0, 90, 180])
axes[0].set_ylabel("angle in the other directions")
axes[0].text(
    175,
    150,
    "query: star",
    color=plots.COLORS["sampled"],
    ha="right",
    bbox={"facecolor": "white", "edgecolor": "none"},
)
plt.show()

# %% [markdown]
# ```{caption} fig-projection
# :alt: Two panels of the same tokens, each a point in the plane of two angles. Left, the large points form a round spot
# around the query. Right, they form a vertical strip through the query, over all angles of the irrelevant directions.
#
# Areas show the attention weights of the same tokens under two matrices. A token is a pair of angles, and only the
# horizontal angle decides its label. Left: the best multiple of the identity puts the weight on a spot around the
# query. Right: the matrix $cBB^\top$ with the best $c$ ignores the vertical angle. It puts the weight on a strip, which
# has more tokens to average over.
# ```
#
# (theorem4-plain)=
# ## In plain words
#
# A token is a sum $x=Bu+B_\perp v$. The vector $u$ decides the label, and the vector $v$ does not. The $k$ columns of
# $B$ are orthonormal and span the *relevant* directions. The orthonormal columns of $B_\perp$ span the irrelevant
# directions. **By our choice** $u$ and $v$ are independent, and each is uniform on its unit sphere. The labels are
# linear in $u$.
#
# **For such tokens the best matrix ignores the irrelevant directions, in every case that we proved or computed.**
# Theorem 4 says so for $n=2$ or $\sigma=0$, but the slide does not print its tokens. The experiment below shows that
# training finds the relevant directions. If the whole token is uniform on one sphere, $u$ and $v$ are dependent. In our
# trials trained matrices then gave some weight to irrelevant directions too ([](/notebooks/beyond.ipynb)).
#
# Attention gives weight to tokens near the {term}`query`. The {term}`window` is the region that gets this weight. For a
# unit vector $s$ we call $s^\top Ms$ the entry of the matrix $M$ in the direction $s$. **A large entry of $M$ makes the
# window narrow** in its direction, and an entry of zero makes it infinitely wide.
#
# Take $M=cBB^\top+e(I-BB^\top)$, with the entry $c$ in relevant directions and the entry $e$ in irrelevant directions.
# A token is useful if its $u$ is close to the query's $u$, whatever its $v$ is. A window that is narrow in irrelevant
# directions leaves out useful tokens, so the best $e$ should be zero. The best $c$ grows with the context length and
# falls with the label noise, as in [](/notebooks/theorem2_scaling.ipynb).
#
# **What is proved.** Let $n$ be the number of examples and $\sigma$ the standard deviation of the label noise. For
# $k\ge3$, $n\ge2$ and any $\sigma$ we prove that the best $M$ is $cBB^\top$. For $k=2$ we prove it for two examples, for
# much noise, and for long contexts with noise. For $k=1$ we prove it only for two examples without noise. In this
# case the best $c$ is the largest that the theorem allows. Other cases are computed on grids. One case is untested:
# $k=1$ and $\sigma=0$ with at least three examples.
#
# The next cell computes the mean squared error, or risk, of such an $M$ without sampling, as in
# [](/notebooks/exact_risk.ipynb). It keeps $c$ and lowers $e$ to zero. Bias and noise both become smaller:

# %%
for e in (4.0, 2.0, 0.0):  # from the isotropic window to the projection
    risk = low_rank_risk(dim=6, rank=2, c=4.0, e=e, n=20, noise_std=0.5)
    print(
        f"e = {e:g}: {risk.bias:.4f} bias + {risk.noise:.4f} noise = {risk.total:.4f}"
    )

# %% [markdown]
# ## Experiment 1: training finds the subspace
#
# After training from a random start, a full $d\times d$ matrix $M$ is close to a multiple of $BB^\top$. Adam trains $M$
# on functions $f(x)=a^\top B^\top x$ of two directions out of five. We draw the unit vector $a$ for each context and
# the relevant subspace once. A subspace along the axes would be too easy, because Adam scales each entry of $M$
# separately. Two of the three settings satisfy the theorem's assumption that $n=2$ or $\sigma=0$. The third setting has
# twenty tokens and noise.
#
# We report three numbers for each trained $M$:
#
# - *inside* is the mean diagonal entry of $B^\top MB$. It should rise to the best $c$.
# - *outside* is the largest singular value of $M-BB^\top MBB^\top$. It should fall to zero.
# - *sine* is the sine of the largest angle between the relevant subspace and the span of the first $k$ left singular
#   vectors of $M$. It should fall to zero.
#
# The cell also prints the exact best $c$ of each setting. For twenty tokens without noise it is
# {judged}`P1.T4.positive | k = 2, n = 20, $\sigma$ = 0 | .2f` for every $d$.
#
# To try $d=7$, write `dim = 7` in place of the first line of the next cell.

# %%
dim = 5  # d
rank = 2  # k
B = np.linalg.qr(stream(0, "monte carlo").standard_normal((dim, dim))).Q[:, :rank]
P = B @ B.T  # the projection onto the relevant directions
settings = [(2, 0.0), (context_length, 0.0), (context_length, noise_std)]
record = sorted({round(step) for step in np.geomspace(1 + steps // 50, steps, 8)})

learned = {}
for n, sigma in settings:
    units = train_grid(
        Projected(Linear(rank), B.T),
        sigma,
        n,
        seeds=seeds,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        device=device,
        covariates=LowRank(B),
        initial_std=0.3,
        record=record,
    )
    M = units.M_history[:, 0]  # (recorded steps, seeds, d, d)
    learned[n, sigma] = {
        "inside": np.trace(P @ M @ P, axis1=-2, axis2=-1) / rank,
        "outside": spectral_norm(M - P @ M @ P),
        "sine": subspace_error(M, B),
    }
for (n, sigma), parts in learned.items():
    best = optimal_window(Linear(rank), n, sigma).w
    inside, outside, sine = (np.median(part[-1]) for part in parts.values())
    print(f"n = {n:2}, sigma = {sigma:3.1f}: best c {best:.2f}, ", end="")
    print(f"inside {inside:.2f}, outside {outside:.2f}, sine {sine:.2f}")

#

# %%
figure, axes = plt.subplots(1, 3, figsize=(6.9, 2.7))
for ax, ((n, sigma), parts) in zip(axes, learned.items(), strict=True):
    ax.plot(record, parts["inside"], "o", color=plots.PALETTE[0], ms=3, alpha=0.5)
    ax.plot(record, parts["outside"], "s", color=plots.PALETTE[1], ms=3, alpha=0.5)
    ax.axhline(optimal_window(Linear(rank), n, sigma).w, color=plots.COLORS["exact"])
    ax.set(xscale="log", xlabel="Adam step", title=rf"n = {n}, $\sigma$ = {sigma:g}")
axes[0].set_ylabel("size of the part of M")
best = optimal_window(Linear(rank), *settings[1]).w
at = record[0]
axes[1].text(at, 0.98 * best, "exact best c", va="top")
axes[1].text(at, 0.5 * best, "inside (rises)", color=plots.PALETTE[0])
axes[1].text(at, 0.35 * best, "outside (falls)", color=plots.PALETTE[1])
plt.show()

# %% [markdown]
# ```{caption} fig-spectra
# :alt: Three panels over the training steps. In each panel the part inside the subspace rises and the part outside falls to near
# zero. The inside part ends slightly above the line of the exact best c in the first panel, far below it in the second, and
# on it in the third.
#
# The numbers *inside* and *outside* of the trained $M$ against the training step, one point for each unit. The
# horizontal line is the exact best $c$. *Inside* should rise to this line, and *outside* should fall to zero.
# ```
#
# The cell takes about five seconds on two cores. The sine should end at a few hundredths: for twenty tokens with noise
# it ends at {judged}`P1.T4.learns | d = 5, k = 2, n = 20, $\sigma$ = 0.5 | .2f`.
#
# Training finds the scale $c$ later than the directions. With noise (right panel) the trained {term}`units <unit>`
# reach the exact best $c$. With twenty tokens and no noise (middle) the units end below the best $c$, because the risk
# is flat near its minimum. With two tokens (left) the units end slightly above the best $c$, because the batches are
# small. Adam stops where its *normalized* step averages to zero, and there the mean gradient is not zero.
#
# The control units are trained on linear functions of all $d$ directions, with tokens on the sphere. They should not
# find the subspace of $B$, and they do not.
#

# %% tags=["remove-input"]
all_directions = train_grid(
    Linear(dim),
    noise_std,
    context_length,
    seeds=seeds,
    steps=steps,
    batch_size=batch_size,
    learning_rate=learning_rate,
    device=device,
    initial_std=0.3,
)
control = pd.DataFrame(
    {"seed": range(seeds), "sine": subspace_error(all_directions.M[0], B)}
)
tables = [
    recorded(record, **parts).assign(dim=dim, rank=rank, n=n, noise_std=sigma)
    for (n, sigma), parts in learned.items()
]
last_step = pd.concat(table[table.step == steps] for table in tables)
setting = "d = {dim}, k = {rank}, n = {n}, $\\sigma$ = {noise_std:g}"
in_setting = ["dim", "rank", "n", "noise_std"]
everything = f"all {dim} directions matter, n = {context_length}"
judge(
    "P1.T4.learns",
    cases(last_step, "sine", samples="seed", labels=in_setting, name=setting),
    cases(control, "sine", samples="seed", labels=[], name=everything),
)

# %% [markdown]
# **Does training find the subspace at other sizes?** Yes, at all sizes that we tried, if it has enough steps. In
# [our pre-registered run at other sizes](/book/audit.md) one of five settings contradicted the card's statement. This
# setting had $n=100$, no noise and as many steps as here. The control of that run failed as well, so the run alone
# decides nothing.
#
# At the same $c$, an entry $e>0$ in the irrelevant directions raises the risk less for $n=100$ than for $n=20$. The risk
# is therefore flatter in these directions, and this may be why training needs more steps. The next cell trains units for
# $n=100$ without noise. Two of them train for as many steps as above, and two for four times as many:

# %%
for many in (steps, 4 * steps):
    longer = train_grid(
        Projected(Linear(rank), B.T),
        noise_std=0.0,
        context_length=5 * context_length,
        seeds=2,
        steps=many,
        batch_size=batch_size,
        learning_rate=learning_rate,
        device=device,
        covariates=LowRank(B),
        initial_std=0.3,
    )
    print(f"{many} steps: sine of the angle", subspace_error(longer.M[0], B).round(3))

# %% [markdown]
# With four times as many steps the sine ends below 0.1 for $n=100$, too.
#
# **Exercise 1.** Run the experiment again with `dim = 7` in place of `dim = 5`. Which printed number stays the same?
#
# ```{admonition} Solution
# :class: dropdown
# The exact best $c$ does not change. Inside the subspace the problem has $k$ dimensions, whatever $d$ is.
# ```
#
# **Exercise 2.** How much does the projection lower the risk, and does the gain depend on $d$? For $k=2$, $n=20$,
# $\sigma=0.5$ and $d=3,5,8,12$ print the least risk of $M=wI$ divided by the least risk of $M=cBB^\top$. The risk of
# $cBB^\top+e(I-BB^\top)$ is `low_rank_risk(d, k, c, e, n, noise_std).total`.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# projected = optimal_window(Linear(2), n=20, noise_std=0.5).risk
# for d in (3, 5, 8, 12):
#     grid = np.geomspace(0.5, 20, 40)
#     risks = [low_rank_risk(d, 2, w, w, 20, 0.5).total for w in grid]
#     print(d, round(grid[np.argmin(risks)], 1), round(min(risks) / projected, 2))
# ```
# The ratio is above one and falls as $d$ grows. In high dimensions $v_i\cdot v_q$, the product of the irrelevant parts
# of token and query, is small for nearly all tokens. The matrix $wI$ then hardly notices the irrelevant directions.
# :::

# %% [markdown]
# ## Theorem 4 as printed, and what is true
#
# Everything that we computed agrees with Theorem 4. The {term}`class` $\mathcal F_B^{\rm lin}$ consists of the
# functions $f(x)=a^\top B^\top x$ with $a$ uniform on $S^{k-1}$. As above, our tokens are $x=Bu+B_\perp v$ with
# independent uniform $u\in S^{k-1}$ and $v\in S^{d-k-1}$.
#
# > **ITA slides, Theorem 4 (informal).** Suppose $n=2$ or $\sigma=0$. Then for some
# > $C=\Omega(1)$, any optimal solution $M^*$ of the ICL pretraining loss induced by the
# > task distribution $D(\mathcal F_B^{\rm lin})$ optimized over the set
# > $\mathcal M:=\{M:M=M^\top,\|B^\top MB\|_2\le C\}$ satisfies, for $c\in(0,C]$,
# > $M^*=cBB^\top$. If $s\in\mathrm{col}(B)$ then $s^\top M^*s>0$. If
# > $s\in\mathrm{col}(B)^\perp$ then $s^\top M^*s=0$. $\Longrightarrow$ $M^*$ learns
# > direction-wise Lipschitzness, recovers $\mathrm{col}(B)$.
#
# ```{admonition} What is true
# :class: tip
# For our tokens let $n\ge2$. For every $d\times d$ matrix some $cBB^\top+e(I-BB^\top)$ has no larger risk than this
# matrix (proved below). So the question is whether the best $e$ is zero.
#
# - *Three or more relevant directions.* For $k\ge3$ we prove that the best $e$ is zero, for every $d>k$, $n\ge2$ and
#   $\sigma\ge0$ ({prf:ref}`irrelevant directions do harm <thm-irrelevant>`). The proof needs neither the theorem's
#   assumption ($n=2$ or $\sigma=0$) nor the symmetry of $M$. The bound $C$ only has to admit a best $c$.
# - *Two relevant directions.* For $k=2$ we prove that the best $e$ is zero in three cases: for $n=2$
#   ({prf:ref}`two examples <thm-two-examples>`), for much noise, and for long contexts with noise
#   ({prf:ref}`two directions <thm-two-directions>`). We have no proof for $\sigma=0$ with $n\ge3$, nor for moderate $n$
#   and $\sigma$. Where we computed such settings, the best $e$ is zero on our grids.
# - *One relevant direction.* For $k=1$ we have a proof only for $n=2$ without noise (Exercise 4). With noise the best
#   $e$ is zero on our grids. Without noise the best $c$ is the bound $C$, and for $n\ge3$ no card tests whether the
#   best $e$ is zero.
#
# If the tokens are uniform on the sphere $S^{d-1}$, trained units do *not* ignore irrelevant directions (last section
# of [](/notebooks/beyond.ipynb)).
# ```
#
# ## By hand: three coordinates
#
# In this example the matrix $cI$ wastes half of the context. Let $x=(\cos\theta,\sin\theta,\pm1)$ and $B=(e_1,e_2)$, so
# the last coordinate is irrelevant. The query has $\theta=0$ and last coordinate $1$. Four tokens have
# $\theta=0°,0°,60°,60°$ and last coordinates $1,-1,1,-1$.
#
# Take $c=\ln4$. With $M=cBB^\top$ the weights are proportional to $4^{\cos\theta}$, that is, to $4,4,2,2$. With $M=cI$
# a token with last coordinate $-1$ loses a further factor $4^2=16$. The weights are then
# $\frac{32}{51},\frac2{51},\frac{16}{51},\frac1{51}$, so the second and the fourth token hardly count.
#

# %%
theta = torch.tensor([0.0, 0.0, 60.0, 60.0], dtype=torch.float64).deg2rad()
last = torch.tensor([1.0, -1.0, 1.0, -1.0]).double()
x = torch.stack([theta.cos(), theta.sin(), last], dim=-1)
query = torch.tensor([1.0, 0.0, 1.0]).double()
for name, diagonal in {"c BB'": [1.0, 1.0, 0.0], "c I": [1.0, 1.0, 1.0]}.items():
    M = np.log(4) * torch.diag(torch.tensor(diagonal).double())
    print(f"M = {name:6} weights {softmax_weights(x, query, M).numpy().round(4)}")

# %% [markdown]
# **Direction-wise Lipschitzness.** In every direction the entry of $cBB^\top$ is $c$ times the **square** of the
# largest Lipschitz constant in this direction. For a unit vector $s$ the slides define the Lipschitz constant in the
# direction $s$ as
# $\mathrm{Lip}_s(f)=\inf\{L:f(ss^\top x)-f(ss^\top x')\le L|s^\top x-s^\top x'|\ \forall x,x'\}$. Here
# $f(ss^\top x)=(a^\top B^\top s)(s^\top x)$. So $\|B^\top s\|$ is the largest value of $\mathrm{Lip}_s(f)$ over all
# $a$. It is one for $s$ in the subspace and zero for $s$ in the orthogonal complement. The entry in the direction $s$
# is $s^\top(cBB^\top)s=c\|B^\top s\|^2$.
#

# %% tags=["remove-input"]
quotients = pd.DataFrame(
    {
        "dim": d,
        "rank": k,
        "inside": inside,
        "value": low_rank.lipschitz_quotient(d, k, inside=inside),
    }
    for inside in (1.0, 0.0)
    for d, k in zip(dims, ranks, strict=True)
)
judge(
    "P1.T4.lipschitz",
    quotients,
    name="d = {dim}, k = {rank}, $|B^\\top s|^2$ = {inside:g}",
)

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | $n=2$ or $\sigma=0$ | not needed for $k\ge3$ (proved); P1.T4.minimizer has settings with this assumption, P1.T4.beyond settings without it |
# | $M$ symmetric | not needed; the proof below is for any matrix |
# | $\Vert B^\top MB\Vert\le C$ | we test without this bound, as if $C$ were at least the best $c$; a smaller $C$ is tested for $M=cBB^\top$ only |
# ```
#
# :::{admonition} Proof that no matrix beats two numbers
# :class: dropdown
#
# Let $n\ge2$ and $c,e\ge0$, and let $\varrho(c,e)$ be the risk of $cBB^\top+eB_\perp B_\perp^\top$ on
# $D(\mathcal F_B^{\rm lin})$. *Every matrix has at least the risk $\inf\varrho$. Suppose that $k\ge2$ and that every
# minimizer of $\varrho$ has $e=0<c$. Then the best matrices are exactly the $cBB^\top$ whose $c$ is best at $e=0$.
# There may be several such $c$.*
#
# *One query.* Fix the query $x_q=Bu_q+B_\perp v_q$, and put $p=B^\top Mx_q$ and $r=B_\perp^\top Mx_q$. The score of a
# token is $u_i\cdot p+v_i\cdot r$. Let $\omega_i$ be its weight, and $\bar u=\sum\omega_iu_i$. Given the tokens, the
# mean error over $a$ and the noise is
#
# $$\textstyle\frac1k|\bar u-u_q|^2+\sigma^2\sum\omega_i^2=\frac1k\big(|\bar u|^2-2\,\bar u\cdot u_q+1\big)+\sigma^2\sum\omega_i^2.$$
#
# Now average over the tokens, which are independent of the query. By symmetry the means of $|\bar u|^2$ and
# $\sum\omega_i^2$ depend only on $|p|$ and $|r|$. The mean of $\bar u$ is a multiple $A\,p/|p|$ of $p$. Let $\theta$ be
# the angle between $p$ and $u_q$. Then the mean of $\bar u\cdot u_q$ is $A\cos\theta$.
#
# At $|p|=0$ symmetry gives $A=0$. The derivative $dA/d|p|$ is the mean of the variance of $u_i\cdot p/|p|$ under the
# weights $\omega_i$, and so it is positive. Hence $A>0$ for $|p|>0$. The error is therefore smallest at $\theta=0$,
# where it is $\varrho(|p|,|r|)$.
#
# *All queries.* The risk of $M$ is the mean over queries, so it is at least $\inf\varrho$. Suppose that it equals
# $\min\varrho$. Then almost every query has $r=0$ and $p=cu_q$ with a best $c$. By continuity every query has this
# form.
#
# From $r=0$ for every query follows $B_\perp^\top M=0$. Let $P=B^\top MB$ and $R=B^\top MB_\perp$. The queries
# $Bu+B_\perp v$ and $Bu-B_\perp v$ have $p=Pu+Rv$ and $p=Pu-Rv$. Both are multiples of $u$, so $Pu$ and $Rv$ are
# multiples of $u$, for all $u$ and $v$. Hence $R=0$, because $k\ge2$, and $P=cI$ with a best $c$. $\square$
# :::
#
# :::{prf:theorem} two examples
# :label: thm-two-examples
# :nonumber:
# :class: dropdown
# Take our tokens and the class $\mathcal F_B^{\rm lin}$ with $n=2$, $k\ge2$ and $\sigma\ge0$. For every $c\ge0$ the
# risk of $cBB^\top+eB_\perp B_\perp^\top$ rises strictly with $|e|$. So the best matrices are exactly the $cBB^\top$
# whose $c>0$ is best at $e=0$. At least one such $c$ exists.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *Idea.* The irrelevant part adds independent, symmetric noise to the difference of the two scores. This noise makes it
# more likely that the token farther from the query gets the larger weight.
#
# *The risk.* Let $\Delta=(u_1-u_2)\cdot u_q$ and $\beta=e(v_1-v_2)\cdot v_q$. The law of $\beta$ is symmetric, and
# $\beta$ is independent of $\Delta$ and the $u_i$. Put $T=\omega_1-\omega_2=\tanh\frac{c\Delta+\beta}2$ and
# $A(\Delta)=\frac1k\mathbb E[|u_1-u_2|^2\mid\Delta]+2\sigma^2$. The risk is
#
# $$\frac3{2k}+\frac{\sigma^2}2+\mathbb E_\beta F(\beta),\qquad F(b)=\mathbb E\Big[\frac A4T^2-\frac\Delta kT\ \Big|\ \beta=b\Big].$$
#
# $F$ is even, so it is enough to show that $F'(b)>0$ for $b>0$.
#
# *The derivative.* With $S=1-T^2$ we have $2F'=\mathbb E[S(\frac A2T-\frac\Delta k)]$, which is positive at $c=0$. Now
# let $c>0$, let $p$ be the density of $\Delta$, and put $h(\Delta)=S(-\Delta)-S(\Delta)$, which is positive for
# $\Delta>0$. As $ST=-\frac1c\frac{dS}{d\Delta}$, and as $A$ and $p$ are even, integration by parts gives
#
# $$2F'=\int_0^2\frac{\Delta p}kh\,d\Delta+\frac1{2c}\Big[(Ap)(2)\,h(2)-\int_0^2(Ap)'h\,d\Delta\Big].$$
#
# The first integral is positive.
#
# *For $k\ge3$* the bracket is not negative if $Ap$ does not rise with $\Delta>0$. Write $\Delta=R\tau$ with
# $R=|u_1-u_2|$. Here $\tau$ is independent of $R$ and is a coordinate of a uniform point on $S^{k-1}$. Its density $q$
# does not rise with $|\tau|$. So $Ap=\mathbb E\big[(\frac{R^2}k+2\sigma^2)\frac1Rq(\frac\Delta R)\big]$ does not rise
# with $\Delta$.
#
# *For $k=2$* we have $\Delta=2\sin\alpha\sin\alpha'$ with independent uniform angles. Let $K$ and $E$ be the complete
# elliptic integrals of $m=1-\frac{\Delta^2}4$. With a constant $\lambda>0$ we have $p=\lambda K$ and
# $Ap=\lambda\,(2E+2\sigma^2K)$. As $K$ falls with $\Delta$, the part of $\sigma^2K$ in the bracket is not negative.
# Without this part $2F'/\lambda$ is
#
# $$\int_0^2\frac\Delta2K\,h\,d\Delta+\frac1c\Big[E(2)\,h(2)-\int_0^2\frac{dE}{d\Delta}h\,d\Delta\Big].$$
#
# Here $E(2)$ is the value at $\Delta=2$, and $0\le\frac{dE}{d\Delta}=\frac\Delta4\,\frac{K-E}m<\frac\Delta4K$. There
# are two cases:
#
# - If $c\ge\frac12$, then $\frac1c\frac{dE}{d\Delta}<\frac\Delta2K$. So the first term is larger than the last.
# - If $c<\frac12$, put $a=c\Delta\le1$. Then $h$ is proportional to $\sinh a/(\cosh a+\cosh b)^2$, which rises with
#   $a$. So the last integral is at most $E(2)\,h(2)$, and the bracket is not negative.
#
# *All matrices.* By the proof above it is enough to minimize $\varrho$. A best finite $c$ exists by the
# {prf:ref}`theorem on form <thm-form>`, applied in $\mathbb R^k$. It is positive, because $\varrho(c,0)$ falls at
# $c=0$. $\square$
# :::
#
# ## Experiment 2: the exact landscape
#
# In every setting that we computed, the exact risk is least at $e=0$. The figure shows three of them.
#

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, len(settings), figsize=(6.9, 2.7), sharey=True)
levels = [0, 0.005, 0.02, 0.05, 0.1, 0.3, 1, 10, 100]
half = 3 * np.linspace(0, 1, 10) ** 1.5
for ax, (n, sigma) in zip(axes, settings, strict=True):
    best = optimal_window(Linear(rank), n, sigma).w
    c = best * np.linspace(0, 1.6, 17)
    excess = low_rank.risks_over_grid(dim, rank, n=n, noise_std=sigma, c=c, e=half)
    # the sign of e does not matter
    e = np.concatenate([-half[:0:-1], half])
    above = np.maximum(np.concatenate([excess[:0:-1], excess]), 0)
    norm = BoundaryNorm(levels, 256)
    filled = ax.contourf(c, e, above, levels, cmap="Blues_r", norm=norm)
    ax.plot(best, 0, "*", color=plots.COLORS["sampled"], markersize=10)
    ax.set(xlabel="c, in col(B)", title=rf"n = {n}, $\sigma$ = {sigma:g}")
    ax.grid(False)
axes[0].set_ylabel("e, in the complement")
bar = figure.colorbar(filled, ax=axes, ticks=levels, label="above the least risk")
bar.set_ticklabels([f"{100 * level:g} %" for level in levels])
plt.show()

# %% [markdown]
# ```{caption} fig-landscape
# :alt: Three contour maps. In each the valley runs along e = 0, and the star lies in the valley inside the innermost contour.
# The best c at the star is larger for twenty tokens without noise than for two tokens or with noise.
#
# Exact risk of $cBB^\top+e(I-BB^\top)$, in percent above the least risk, against $c$ and $e$ for three settings. The
# star marks $e=0$ and the exact best $c$. It should lie in the innermost region.
# ```
#
# **Exercise 3.** Why does the sign of $e$ not matter in {numref}`fig-landscape`?
#
# ```{admonition} Solution
# :class: dropdown
# Replacing $v_q$ by $-v_q$ turns $e$ into $-e$ in all scores. Nothing else changes, because the law of $v$ is symmetric and the
# labels do not depend on $v$.
# ```
#
# Two cards compare the risk at $e=0$ with the risk at six positive values of $e$, for each of eight values of $c$.
# P1.T4.minimizer has settings with $n=2$ or $\sigma=0$, as the theorem assumes. P1.T4.beyond has settings with noise
# and $n\ge3$. The case $k=1$ without noise is left out, because without the bound $C$ it has no minimum (Exercise 4).

# %% tags=["remove-input"]
few = sorted({n for n in n_values if n <= context_length} | {context_length})
assumed = [(2, sigma) for sigma in (0.0, *noise_stds)] + [(n, 0.0) for n in few]
noisy = [(n, sigma) for n in few for sigma in noise_stds]
# for k = 1 there is no finite minimum without noise
finite = [(n, sigma) for n, sigma in assumed if sigma > 0]
one = [(context_length, noise_std)]
pairs = list(zip(dims, ranks, strict=True))
within = pd.concat(
    low_rank.complement_gains(d, k, settings=assumed if k > 1 else finite)
    for d, k in pairs
)
beyond = pd.concat(low_rank.complement_gains(d, k, settings=noisy) for d, k in pairs)
both_matter = pd.concat(
    low_rank.complement_gains(d, k, settings=one, whole=True) for d, k in pairs
)
both_matter = both_matter[["dim", "rank", "value", "error"]]
control = "all directions matter, d = {dim}, k = {rank}"
minimizer = judge(
    "P1.T4.minimizer",
    cases(within, error="error", name=setting),
    cases(both_matter, error="error", name=control),
)
display(minimizer)
judge("P1.T4.beyond", beyond, error="error", name=setting)


# %% [markdown]
# Let $c^*$ be the best $c$ at $e=0$. It is the {term}`optimal window` of linear functions in dimension $k$. In the
# computed settings $c^*$ is positive (P1.T4.positive), and the risk falls with $c$ up to $c^*$ (P1.T4.constraint). So
# among the matrices $cBB^\top$ with $0\le c\le C$ the best one has $c=\min(C,c^*)$. If $C<c^*$, it is open whether a
# matrix of another form is better.


# %% tags=["remove-input"]
def best_scale(k, n, sigma):
    best = optimal_window(Linear(k), n, sigma)
    row = {"rank": k, "n": n, "noise_std": sigma}
    return row | {"value": best.w, "error": best.w * best.error}


scales = pd.DataFrame(
    best_scale(k, n, sigma)
    for k in (2, 3)
    for n in (2, 20, 200)
    for sigma in (0.0, 1.0, 30.0)
)
in_k = "k = {rank}, n = {n}, $\\sigma$ = {noise_std:g}"
unresolved = pd.DataFrame({"value": [optimal_window(Cosine(5, 8.0), 20, 0.1).w]})
blind = "cosines of the projection, L = 8, k = 5, n = 20"
positive = judge(
    "P1.T4.positive",
    cases(scales, error="error", name=in_k),
    cases(unresolved, name=blind),
)
display(positive)
falling = pd.DataFrame(
    {"rank": k, "n": n, "noise_std": sigma}
    | low_rank.steepest_step(k, n=n, noise_std=sigma)
    for k in (2, 3)
    for n, sigma in settings
)
judge("P1.T4.constraint", falling, error="error", name=in_k)

# %% [markdown]
# **Exercise 4.** Let $k=1$ and $\sigma=0$, so that $u=\pm1$. What is $c^*$? Is the theorem's bound $C$ needed? Show
# that for $n=2$ and every $c\ge0$ the best $e$ is zero.
#
# :::{admonition} Solution
# :class: dropdown
# A token with the query's sign has exactly the query's label, and every other token has the negative of this label. So
# a larger $c$ is always better, and there is no finite $c^*$. The bound is needed, and the best $c$ is $C$.
#
# Let $n=2$. The matrix matters only if the two tokens differ in sign. The squared error is then $4/(1+\exp z)^2$, as
# $a^2=1$. Here $z=2c+e\delta$, and $\delta=(v_1-v_2)\cdot v_q$ is symmetric about zero. Up to a positive factor, the
# derivative of this error in $z$ is $-h(z)$ with $h(z)=\exp z/(1+\exp z)^3$. For $t>0$ and $z\ge0$,
#
# $$\frac{h(z-t)}{h(z+t)}=\exp(-2t)\Big(\frac{1+\exp(z+t)}{1+\exp(z-t)}\Big)^3\ge\exp(-2t)\exp(3t)>1,$$
#
# because the fraction rises in $z$ and is $\exp t$ at $z=0$. Put $t=|e\delta|$. By the symmetry of $\delta$, the values
# $2c+t$ and $2c-t$ of $z$ are equally likely. So the derivative of the mean error in $|e|$ is a positive multiple of
# the mean of $|\delta|\,(h(2c-t)-h(2c+t))$. This mean is positive for $e\ne0$. For $n=20$ the risk rises with $e$, too:
#
# ```python
# for e in (0.0, 0.5, 1.0, 2.0):
#     print(e, low_rank_risk(dim=5, rank=1, c=2.0, e=e, n=20, noise_std=0.0).total)
# ```
# :::
#
# **What the projection gains.** With the projection, the rate of the risk depends on $k$ and not on $d$. With noise and
# $e=0$ the least risk falls like $n^{-4/(k+3)}$. The card's control is $M=wI$, whose window treats all directions
# alike. Our tokens lie on a surface of dimension $d-2$, like the unit sphere of $\mathbb R^{d-1}$. So the least risk of
# $M=wI$ falls only like $n^{-4/(d+2)}$.

# %% tags=["remove-input"]
projected = pd.DataFrame({"rank": k} | low_rank.risk_slope(k) for k in (2, 3))
isotropic = pd.DataFrame([{"rank": rank} | low_rank.isotropic_slope(dim, rank)])
judge(
    "P1.T4.dimension",
    cases(projected, error="error", name="k = {rank}, any d"),
    cases(isotropic, error="error", name=f"isotropic, d = {dim}, k = {rank}"),
)

# %% [markdown]
# ## Experiment 3: behind a nonlinear link
#
# Trained softmax attention finds the relevant subspace for all three functions of the slide below. Linear attention
# ends with a larger error on each.
#
# > **ITA slides, last slide: "Softmax Attention Learns Low-Dimensional Structure in
# > Nonlinear Functions".** Generalized linear models: affine $f(x)=w^\top x+2$,
# > quadratic $f(x)=(w^\top x)^2$, cosine $f(x)=\cos(4w^\top x)$.
#
# The slide compares softmax and linear attention during pretraining. Our sources print no law of $w$ or of the tokens,
# no $d$, $k$, $n$ or $\sigma$, and no formula of the slide's representation error. We use the tokens $x=Bu+B_\perp v$
# and the sine of Experiment 1. In this book $w$ is the window parameter, so we write $q$ for the slide's $w$. We draw
# $q=Ba$ with $a$ uniform on $S^{k-1}$. The function that is applied to $q^\top x$ is called the *link*.
#
# With $M=cBB^\top$, scores and labels depend on $u$ only. The problem is then *exactly* the problem of $M=cI_k$ on the
# sphere of $\mathbb R^k$, for which we compute the least risk of every link. Linear attention predicts
# $\frac1n\sum_iy_ix_i^\top Mx_q$. Both kinds of units start at $M=0$.

# %% tags=["hide-input"]
few = batch_size // 16  # contexts of a small batch, for the noise of the gradient
training = {
    "noise_std": unit_noise_std,
    "context_length": context_length,
    "seeds": more_seeds,
    "learning_rate": 0.03,
    "device": device,
}
large = {"record": record, "batch_size": batch_size, "test_contexts": test_contexts}
small = {"record": [steps], "batch_size": few, "test_contexts": 20}


def curves_of(batches):
    tables = [
        low_rank.train_behind_links(
            low_rank.PRINTED,
            dim=d,
            rank=k,
            activation=activation,
            **batches,
            **training,
        )
        for d, k in zip(more_dims, more_ranks, strict=True)
        for activation in ("softmax", "linear")
    ]
    return pd.concat(tables, ignore_index=True)


curves = curves_of(large)
noisy_curves = curves_of(small)
without_intercept = low_rank.train_behind_links(
    ["affine without +2"],
    dim=more_dims[0],
    rank=more_ranks[0],
    activation="linear",
    **large,
    **training,
)
minima = pd.DataFrame(
    {
        "link": link,
        "rank": k,
        "least": optimal_window(make(k), context_length, unit_noise_std).risk,
        "constant": np.sum(make(k).spectrum(200)[0]),  # the variance
    }
    for k in sorted(set(more_ranks))
    for link, make in low_rank.LINKS.items()
)

#

# %% tags=["hide-input"]
first = curves[(curves.dim == more_dims[0]) & (curves["rank"] == more_ranks[0])]
bounds = minima[minima["rank"] == more_ranks[0]].set_index("link")
size = {"figsize": (6.9, 4.6), "sharex": True, "sharey": "row"}
figure, (top, bottom) = plt.subplots(2, 3, **size)
for row, column, label in ((top, "sine", "sine of angle"), (bottom, "error", "error")):
    shown = medians(first, column, by=["link", "unit", "step"])
    shown = shown.replace({"unit": {"linear": "linear attention"}})
    panels = dict(zip(low_rank.PRINTED, row, strict=True))
    plots.points(panels, shown, "step", "median", "unit", col="link", markersize=4)
    row[0].set(xscale="log", yscale="log", ylabel=label)
pure = medians(without_intercept, "error", by=["link", "step"])
linear_color = plots.COLORS["linear attention"]
plots.points(bottom[0], pure, "step", "median", "link", color=linear_color, marker="^")
exact, guide = plots.COLORS["exact"], plots.COLORS["guide"]
for link, above, ax in zip(low_rank.PRINTED, top, bottom, strict=True):
    above.set_title(link)
    ax.axhline(bounds.least[link], color=exact)
    ax.axhline(bounds.constant[link], color=guide, linestyle="--")
    ax.set_xlabel("Adam step")
    ax.xaxis.set_minor_formatter("")
right = {"transform": top[2].get_yaxis_transform(), "ha": "right"}
top[2].text(0.97, 0.25, "linear attention", color=linear_color, **right)
top[2].text(0.97, 0.08, "softmax", color=plots.COLORS["softmax"], **right)
right = {"transform": bottom[0].get_yaxis_transform(), "ha": "right"}
above = {"va": "bottom"} | right
constant = 1.1 * bounds.constant["affine"]
bottom[0].text(0.97, constant, "best constant", color=guide, **above)
right = {"transform": bottom[2].get_yaxis_transform(), "ha": "right"}
below = {"va": "top"} | right
least = 0.9 * bounds.least["cosine"]
bottom[2].text(0.97, least, "exact least risk", color=exact, **below)
pure_end = 1.5 * pure["median"].iloc[-1]
bottom[0].text(0.97, pure_end, "without +2", color=linear_color, **above)
plt.show()

# %% [markdown]
# ```{caption} fig-glm
# :alt: Six panels, three links. Top: the sine falls to a few hundredths for softmax attention on all links, for linear
# attention on the affine link only. Bottom: the softmax error falls to the exact line. The error of linear attention stays at or
# above the dashed line, except on the class without intercept.
#
# Sine (top) and test error on the noiseless query label (bottom) during training, for the slide's three links. Points
# are medians over the seeds. Bars are confidence intervals of these medians. Softmax attention should come down to the
# solid line, the exact least risk. Linear attention should not fall below the dashed line, the error of the best
# constant, except on affine functions without their $+2$ (triangles).
# ```
#
# The error of softmax attention comes close to the exact least risk on every link, as the table below shows. With $k=3$
# and the cosine link the least risk itself is large, because twenty tokens are too few to resolve $\cos(4q^\top x)$ in
# three relevant directions.
#
# **What sets the size of the sine?** The noise of the gradient does, and this noise depends on the size of the batch.
# Here is a sketch, not a proof. Let $b$ be the number of contexts at each step, $T$ the number of steps, and $\delta$
# the distance of $M$ from the optimum. Adam divides the gradient by its size. Near the optimum this size is mostly
# noise, of order $b^{-1/2}$. So $\delta$ decays at a rate proportional to the step size times $\sqrt b$.
#
# The step size falls linearly to zero, so it is proportional to $\tau/T$ when $\tau$ steps remain. In these $\tau$
# steps $\delta$ shrinks by a factor $\exp(-z)$ with $z$ of order $\sqrt b\,\tau^2/T$. This $z$ is of order one at
# $\tau=\sqrt{T/\sqrt b}$, so only about the last $\tau$ steps count. They average the noise of $b\tau$ contexts, and
# the $\delta$ that remains is of order $(b\tau)^{-1/2}=b^{-3/8}\,T^{-1/4}$.
#
# The card P1.F9.subspace tests only that the sine falls as the batch grows, at a fixed number of steps.

# %% tags=["remove-input"]
by = ["link", "dim", "rank"]
ends = curves[curves.step == steps]
exponents = low_rank.batch_exponents(noisy_curves, ends, factor=batch_size / few)
softmax = exponents[exponents.unit == "softmax"]
linear = exponents[exponents.unit == "linear"]
linear = linear[linear.link.isin(low_rank.EVEN)]
each_link = {"value": "exponent", "samples": "run", "labels": ["link"]}
problem = "{link}, d = {dim}, k = {rank}"
sines = ends[ends.unit == "softmax"]
small_angle = cases(sines, "sine", samples="seed", labels=by, name=problem)
subspace = judge(
    "P1.F9.subspace",
    cases(softmax, **each_link, name="{link}, exponent in the batch"),
    cases(linear, **each_link, name="linear attention, {link}"),
    readings={"sine-0.1": small_angle, "sine-0.05": small_angle},
)
display(subspace)
errors = ends.pivot_table("error", [*by, "seed"], "unit", sort=False).reset_index()
ratios = errors[[*by, "seed"]].assign(ratio=errors.linear / errors.softmax)
judge(
    "P1.F9.error",
    ratios,
    value="ratio",
    samples="seed",
    labels=by,
    name=problem,
)

#

# %% tags=["remove-input"]
means = errors.groupby(by, sort=False)[["softmax", "linear"]].mean().reset_index()
plots.table(
    means.merge(minima, on=["link", "rank"]),
    {
        "link": "{link}, d = {dim}, k = {rank}",
        "softmax": "{softmax:.4f}",
        "exact least": "{least:.4f}",
        "linear attention": "{linear:.4f}",
        "best constant": "{constant:.4f}",
    },
    "Test error at the end of training (clean query label, mean over seeds), the exact "
    "least risk with the projection, and the error of the best constant",
)

# %% [markdown]
# **Why linear attention fails.** The quadratic and the cosine link are even, and for an even link the best linear
# attention is $M=0$. To see this, replace $x_q$ by $-x_q$. The label $f$ stays the same, and the prediction $h$ changes
# its sign. So $\mathbb Efh=0$ and $\mathbb E(f-h)^2=\mathbb Ef^2+\mathbb Eh^2$, and the best prediction is zero.
# Training then leaves only noise in $M$, and this noise prefers no subspace.
#
# On the affine link, linear attention learns the odd part $q^\top x$, and with it the subspace. It cannot represent the
# constant $+2$, which remains as an error.
#
# **Exercise 5.** Replace the $+2$ of the affine link by $+20$. What happens to the error of softmax attention, and what
# happens to the error of linear attention?
#
# ```{admonition} Solution
# :class: dropdown
# The error of softmax attention does not change. Softmax weights sum to one, so a constant added to all labels is added to
# the prediction. The error of linear attention grows with the square of the constant.
# ```
#
# ## To remember
#
# Let the relevant and the irrelevant part of a token be independent. Attention then learns to ignore the irrelevant
# part. For linear functions of at least three directions the best window is narrow in these directions and infinitely
# wide in all others. A problem in $d$ dimensions becomes one in $k$.

# %% tags=["remove-input"]
notebook.footer()
