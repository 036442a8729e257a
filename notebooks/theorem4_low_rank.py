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
# **Short answer.** If labels depend on a few directions of the tokens only, the best attention window is narrow in those
# and infinitely wide in all others: $M^*=cBB^\top$, as Theorem 4 says {judged}`P1.T4.minimizer`. If at least three directions
# count, this is proved for every $n\ge2$ and $\sigma$, without its assumption {judged}`P1.T4.beyond`. Trained units find these directions
# {judged}`P1.T4.learns`, also behind the three nonlinear links of the talk's last slide {judged}`P1.F9.subspace`. Linear
# attention has a larger error on each of them {judged}`P1.F9.error`: on the two even links it can learn nothing, and on
# the affine one it lacks an intercept.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [3, 5, 6]  # dimensions d of the tokens ...
ranks = [1, 2, 3]  # ... and dimensions k of the subspace that matters, one for each d
n_values = [3, 20, 200]  # context lengths n, beside two
noise_stds = [0.1, 1.0]  # noise standard deviations sigma, beside zero
context_length = 20  # n of the trained units
noise_std = 0.5  # sigma of the trained units with noise
seeds = 16  # trained units of each setting
starts = 64  # units by which the scale is judged, each from its own random matrix
steps = 500  # Adam steps of each unit
batch_size = 128  # fresh contexts at each step
batch_sizes = [128, 512, 2048]  # the same for two-token units; the last is judged
contexts = 2000  # contexts for each seed, for the second derivatives
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
from matplotlib.colors import BoundaryNorm

from icl.attention import softmax_weights
from icl.risk import low_rank_risk, optimal_window
from icl.tasks import Cosine, Linear
from icl_book import notebook, parameters, plots
from icl_book.claims import LIMIT, cases, judge
from icl_book.measurements import low_rank, tables
from icl_book.measurements.tables import each

notebook.setup(globals(), ranks="dims", more_ranks="more_dims")
if max(ranks) < 2:
    raise parameters.BadInput(f"ranks={ranks!r}: at least one must be above 1")
if batch_size < 16:
    raise parameters.BadInput(f"batch_size={batch_size!r}: must be at least 16")

# %% tags=["hide-input"]
matrices = {"M": ["best w I", "best c BB'"]}
drawn_at = {"n": context_length, "sigma": noise_std}
tokens = each(low_rank.token_weights, **matrices, **drawn_at)
sides = ("angle in the directions that count", "angle in the others")
for name, ax in plots.panels(tokens, "M", sides, height=2.8).items():
    mine = tokens[tokens.M == name]
    area = 1 + 70 * mine.weight
    ax.scatter(
        mine.inside, mine.outside, area, color=plots.COLORS["softmax"], alpha=0.8
    )
    ax.plot(0, 0, "*", color=plots.COLORS["sampled"], markersize=13, label="query")
    ax.set_title(f"{name}: least risk {mine.risk.iloc[0]:.3f}")
    ax.set(xticks=[-180, -90, 0, 90, 180], yticks=[-180, -90, 0, 90, 180])
ax.legend(loc="upper right", frameon=True)
plt.show()

# %% [markdown]
# ```{caption} fig-projection
# :alt: Two panels of the same tokens, each a point in the plane of two angles. Left, the large points form a round spot
# around the query. Right, they form a vertical strip through the query, over all angles of the other directions.
#
# What "projects" means. Each token of $\mathbb R^4$ is a pair of angles: one counts for the label, the other does not. The
# area of a point is its attention weight. Left: the best multiple of the identity, whose window is a spot. Right: the
# best $cBB^\top$, whose window is a strip, with more tokens to average over. The risks are exact.
# ```
#
# (theorem4-plain)=
# ## In plain words
#
# A token has a part $u$ that counts for the label and a part $v$ that does not. Attention gives weight to tokens near the
# {term}`query`. The {term}`window` is the region that gets this weight, and the matrix $M$ sets its width in each
# direction: **a large entry of $M$ is a narrow window**, an entry of zero an infinitely wide one.
#
# A token is useful if its part $u$ is close to that of the query, whatever its part $v$ is. A window that is narrow in $v$
# leaves useful tokens out. So pretraining lowers the entries of $M$ for irrelevant directions to zero. It raises the others
# to a number $c$, which is larger for longer contexts and smaller for noisier labels, as in
# [](/notebooks/theorem2_scaling.ipynb). The risk of $M=cBB^\top+e(I-BB^\top)$ is computed without sampling, as in
# [](/notebooks/exact_risk.ipynb):

# %%
for e in (4.0, 2.0, 0.0):
    risk = low_rank_risk(dim=6, rank=2, c=4.0, e=e, n=20, noise_std=0.5)
    print(
        f"e = {e:g}: {risk.bias:.4f} bias + {risk.noise:.4f} noise = {risk.total:.4f}"
    )

# %% [markdown]
# ## Theorem 4 as printed, and what is true
#
# Let $B\in\mathbb R^{d\times k}$ have orthonormal columns, and let $\mathcal F_B^{\rm lin}$ be the {term}`class` of functions
# $f(x)=a^\top B^\top x$ with $a\in S^{k-1}$ uniform. The law of the tokens is not printed. Ours is $x=Bu+B_\perp v$ with
# independent $u\sim U(S^{k-1})$ and $v\sim U(S^{d-k-1})$.
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
# For our tokens all $d\times d$ matrices come down to two numbers $c$ and $e$ (proved below).
#
# - *At least three directions count, $k\ge3$.* Proved for every $d>k$, $n\ge2$ and $\sigma\ge0$: the best $e$ is zero
#   ({prf:ref}`irrelevant directions do harm <thm-irrelevant>`). Neither $n=2$ nor $\sigma=0$ nor symmetry is needed, and $C$ only
#   has to leave room for the best $c$.
# - *Two, $k=2$.* Proved for $n=2$ ({prf:ref}`two examples <thm-two-examples>`), with much noise, and in long contexts at
#   fixed noise ({prf:ref}`two directions <thm-two-directions>`). Open without noise at $n\ge3$, and at moderate $n$ and $\sigma$: on our
#   grids the best $e$ is zero there, too.
# - *One, $k=1$.* Open; $e=0$ is best on our grids, but the risk does not always rise with $|e|$.
#
# The law of the tokens matters: if they are uniform on the sphere $S^{d-1}$, the best unit does *not* ignore irrelevant
# directions ({doc}`/book/questions`).
# ```
#
# ## By hand: three coordinates
#
# Let $x=(\cos\theta,\sin\theta,\pm1)$ and $B=(e_1,e_2)$. The query has $\theta=0$ and last coordinate $1$; four tokens have
# $\theta=0°,0°,60°,60°$ and last coordinates $1,-1,1,-1$. Take $c=\ln4$. With $M=cBB^\top$ the weights are proportional to
# $4^{\cos\theta}$, that is $4,4,2,2$. With $M=cI$ a token whose last coordinate differs loses a factor $4^{-2}=\frac1{16}$:
# the weights are $\frac{32}{51},\frac2{51},\frac{16}{51},\frac1{51}$, and half of the context is lost.

# %% tags=["hide-input"]
theta = torch.tensor([0.0, 0.0, 60.0, 60.0], dtype=torch.float64).deg2rad()
last = torch.tensor([1.0, -1.0, 1.0, -1.0]).double()
x = torch.stack([theta.cos(), theta.sin(), last], dim=-1)
query = torch.tensor([1.0, 0.0, 1.0]).double()
for name, diagonal in {"c BB'": [1.0, 1.0, 0.0], "c I": [1.0, 1.0, 1.0]}.items():
    M = np.log(4) * torch.diag(torch.tensor(diagonal).double())
    print(f"M = {name:6} weights {softmax_weights(x, query, M).numpy().round(4)}")

# %% [markdown]
# **Direction-wise Lipschitzness.** For a unit vector $s$ the slides define
# $\mathrm{Lip}_s(f)=\inf\{L:f(ss^\top x)-f(ss^\top x')\le L|s^\top x-s^\top x'|\ \forall x,x'\}$. Here
# $f(ss^\top x)=(a^\top B^\top s)(s^\top x)$, so its largest value over $a$ is $\|B^\top s\|$: one inside the subspace, zero
# outside. And $s^\top(cBB^\top)s=c\|B^\top s\|^2$: along every direction the best $M$ is $c$ times the **square** of it.

# %% tags=["hide-input"]
pairs = [{"d": d, "k": k} for d, k in zip(dims, ranks, strict=True)]
inside, outside = (
    each(low_rank.lipschitz_quotient, inside=[share], pair=pairs)
    for share in (1.0, 0.0)
)
judge(
    "P1.T4.lipschitz",
    [
        cases(inside, name="d = {d}, k = {k}, inside"),
        cases(outside, name="d = {d}, k = {k}, orthogonal"),
    ],
    folded=True,
)

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | $n=2$ or $\sigma=0$ | not needed for $k\ge3$, by proof; the cards take both, and then every other combination of the lists above |
# | $M$ symmetric | not needed: any matrix, by the proof below |
# | $\Vert B^\top MB\Vert\le C$ | none, which is the case of a $C$ that leaves room for the best $c$; smaller $C$ for $M=cBB^\top$ only |
# | law of the tokens | not printed; ours is above |
# ```
#
# :::{admonition} Proof that no matrix beats two numbers
# :class: dropdown
#
# Let $\varrho(c,e)$ be the risk of $cBB^\top+eB_\perp B_\perp^\top$ on $D(\mathcal F_B^{\rm lin})$, $c,e\ge0$, $n\ge2$. *Every matrix
# has at least the risk $\min\varrho$. If $k\ge2$ and every minimizer of $\varrho$ has $e=0<c$, then the optima over all matrices are
# exactly the $cBB^\top$ with $c$ best at $e=0$: of one sign, but perhaps with several $c$.*
#
# Fix the query $x_q=Bu_q+B_\perp v_q$ and put $p=B^\top Mx_q$, $r=B_\perp^\top Mx_q$. The score of a token is
# $u_i\cdot p+v_i\cdot r$. Averaged over $a$ and the noise, the error given the tokens is
# $\frac1k|\bar u-u_q|^2+\sigma^2\sum\omega_i^2$ with $\bar u=\sum\omega_iu_i$. Tokens do not know the query. So the mean error
# depends on $|p|$, $|r|$ and the angle $\theta$ between $p$ and $u_q$ only, and on the angle only through
# $-\frac2kA\cos\theta$ with $A=\mathbb E\,\bar u\cdot p/|p|$. At $|p|=0$ symmetry gives $A=0$, and $dA/d|p|$ is the mean of a
# variance, so $A>0$ for $|p|>0$. Hence the error is smallest at $\theta=0$, where it is $\varrho(|p|,|r|)$. Average over
# queries: the risk of $M$ is at least $\min\varrho$, with equality only if $|p|$ is a best $c$, $p$ a positive multiple of $u_q$, and
# $r=0$, for almost every query and by continuity for all. Then $B_\perp^\top M=0$. Let $P=B^\top MB$, $R=B^\top MB_\perp$. With $v$ and
# $-v$, $Pu\pm Rv$ are multiples of $u$: so are $Pu$ and $Rv$, for all $u$ and $v$. Hence $P=cI$, and $R=0$ because $k\ge2$. $\square$
# :::
#
# With two examples every irrelevant direction does harm for $k=2$, too, however large its weight. Gaps at other $n$ are named after
# {prf:ref}`the theorem on two directions <thm-two-directions>`.
#
# :::{prf:theorem} two examples
# :label: thm-two-examples
# :nonumber:
# :class: dropdown
# For our tokens and $D(\mathcal F_B^{\rm lin})$ let $n=2$, $k\ge2$ and $\sigma\ge0$. For every $c\ge0$ the risk of
# $cBB^\top+eB_\perp B_\perp^\top$ rises strictly with $|e|$. So a matrix is a minimizer over all matrices if and only if it
# is $cBB^\top$ with a $c>0$ that is best at $e=0$; there is one.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *Idea.* The irrelevant part adds the same kind of number to every comparison of the two tokens. It moves weight to pairs in
# which the farther token is preferred.
#
# Let $\Delta=(u_1-u_2)\cdot u_q$ and $\beta=e(v_1-v_2)\cdot v_q$, which is symmetric and independent of the $u_i$. With
# $T=\omega_1-\omega_2=\tanh\frac{c\Delta+\beta}2$ the risk is $\frac3{2k}+\frac{\sigma^2}2+\mathbb E_\beta F(\beta)$,
# $F(b)=\mathbb E[\frac A4T^2-\frac\Delta kT]$ at $\beta=b$, $A(\Delta)=\frac1k\mathbb E[|u_1-u_2|^2\mid\Delta]+2\sigma^2$. $F$ is even;
# to show is $F'(b)>0$ for $b>0$. With $S=1-T^2$, $2F'=\mathbb E[S(\frac A2T-\frac\Delta k)]$, positive at $c=0$. Let $c>0$, $p$ the
# density of $\Delta$ and $h(\Delta)=S(-\Delta)-S(\Delta)$, positive for $\Delta>0$. As $ST=-\frac1c\frac{dS}{d\Delta}$ and $A$, $p$
# are even,
#
# $$2F'=\int_0^2\frac{\Delta p}kh\,d\Delta+\frac1{2c}\Big[(Ap)(2)\,h(2)-\int_0^2(Ap)'h\,d\Delta\Big].$$
#
# *For $k\ge3$* the bracket is not negative, because $Ap$ does not rise: $\Delta=R\tau$ with $R=|u_1-u_2|$ and $\tau$ an independent
# coordinate on $S^{k-1}$, whose density $q$ does not rise with $|\tau|$, and
# $Ap=\mathbb E\big[(\frac{R^2}k+2\sigma^2)\frac1Rq(\frac\Delta R)\big]$.
#
# *For $k=2$*, $\Delta=2\sin\alpha\sin\alpha'$ with uniform angles. With complete elliptic integrals of $m=1-\frac{\Delta^2}4$, $p$ is
# proportional to $K$ and $Ap$, by the same factor, to $2E+2\sigma^2K$. $K$ falls with $\Delta$, and
# $\frac{dE}{d\Delta}=\frac\Delta4\frac{K-E}m<\frac\Delta4K$. If $c\ge\frac12$, the first integral is at least what $E$ takes from it. If
# $c<\frac12$, $h\propto\sinh a/(\cosh a+\cosh b)^2$ rises with $a=c\Delta\le1$, so
# $\int_0^2\frac{dE}{d\Delta}h\,d\Delta\le E(2)\,h(2)$, with $E$ at $\Delta=2$.
#
# *All matrices.* By the proof above. A best finite $c$ exists by the {prf:ref}`theorem on form <thm-form>` in $\mathbb R^k$, and
# $\varrho(c,0)$ falls at $c=0$. $\square$
# :::
#
# ## Experiment 1: the exact landscape

# %% tags=["hide-input"]
several = [pair for pair in pairs if pair["k"] > 1]
d, k = several[0].values()
settings = [(2, 0.0), (context_length, 0.0), (context_length, noise_std)]
figure, axes = plt.subplots(1, len(settings), figsize=(7.6, 2.7), sharey=True)
levels = [0, 0.005, 0.02, 0.05, 0.1, 0.3, 1, 10, 100]
for ax, (n, sigma) in zip(axes, settings, strict=True):
    inside_c, outside_e, excess = low_rank.landscape(d, k, n, sigma).values()
    surface = (inside_c, outside_e, np.maximum(excess, 0))
    filled = ax.contourf(
        *surface, levels, cmap="Blues_r", norm=BoundaryNorm(levels, 256)
    )
    best = optimal_window(Linear(k), n, sigma).w
    ax.plot(best, 0, "*", color=plots.COLORS["sampled"], markersize=10)
    ax.set(xlabel="c, in col(B)", title=rf"n = {n}, $\sigma$ = {sigma:g}")
    ax.grid(False)
axes[0].set_ylabel("e, in the complement")
bar = figure.colorbar(filled, ax=axes, ticks=levels, label="above the least risk")
bar.set_ticklabels([f"{100 * level:g} %" for level in levels])
plt.show()

# %% [markdown]
# ```{caption} fig-landscape
# :alt: Three contour maps. In each the valley runs along e = 0, and the star lies on it inside the innermost contour, at a
# c that is larger for twenty tokens without noise than for two tokens or with noise.
#
# Exact risk of $cBB^\top+e(I-BB^\top)$ over $(c,e)$ for three settings, as its excess over the least one. The star is
# the exact best $c$ with $e=0$.
# ```
#
# **Exercise 1.** Why does the sign of $e$ not matter in {numref}`fig-landscape`?
#
# ```{admonition} Solution
# :class: dropdown
# The law of $v$ is symmetric: replacing $v_q$ by $-v_q$ changes $e$ to $-e$ and nothing else, as labels do not depend on $v$.
# ```
#
# If for every $c$ the risk is least at $e=0$, every minimum lies there. The cards compare $e=0$ with six values of $e$ up to
# $8$, at eight values of $c$ up to $32$. Without noise $k=1$ is left out, since it has no finite minimum (Exercise 2). The
# control changes the task: functions that depend on the complement as much as on the subspace.

# %%
few = sorted({n for n in n_values if n <= context_length} | {context_length})
assumed = [(2, s) for s in (0.0, *noise_stds)] + [(n, 0.0) for n in few]
gains = each(low_rank.complement_gains, pair=pairs, settings=np.array(assumed))
noisy = (context_length, noise_std)
of_all = {"settings": np.array([noisy]), "whole": True}
both_matter = each(low_rank.complement_gains, pair=pairs, **of_all)
setting = "d = {d}, k = {k}, n = {n}, $\\sigma$ = {s:g}"
control = "all directions matter, d = {d}, k = {k}"
judge(
    "P1.T4.minimizer",
    cases(gains, error="error", name=setting),
    cases(both_matter, error="error", labels=["d", "k"], name=control),
)

# %% tags=["hide-input"]
beyond = [(n, s) for n in few for s in noise_stds]
gains_beyond = each(low_rank.complement_gains, pair=pairs, settings=np.array(beyond))
judge("P1.T4.beyond", gains_beyond, error="error", name=setting, folded=True)

# %% [markdown]
# The second card checks the minimum without these proofs: at $c^*BB^\top$ the second derivative of the risk must not be negative
# in any of the $d^2$ directions. By symmetry it takes one value on each of seven types; first derivatives vanish. Tokens are sampled,
# functions and noise averaged exactly, and the smallest value is judged.
#
# The number $c^*$ is the {term}`optimal window` of linear functions in dimension $k$. It is positive (third card; the
# control is a class for which equal weights are best). The risk falls up to $c^*$, so over $[0,C]$ the best $c$ is
# $\min(C,c^*)$ (fourth card). For $C<c^*$ that card looks at matrices $cBB^\top$ only; whether another matrix is better
# there is open.

# %% tags=["hide-input"]
all_settings = [{"n": n, "s": s} for n, s in assumed + beyond]
checked = [one for one in all_settings if one["n"] in (2, context_length)]
sampling = {"seed": range(seeds), "contexts": contexts}
least_curved = each(low_rank.least_curvature, pair=several, setting=checked, **sampling)
judge("P1.T4.local", least_curved, samples="seed", name=setting, folded=True)

# %% tags=["hide-input"]
in_k = "k = {k}, n = {n}, $\\sigma$ = {s:g}"
grid = {"k": [2, 3], "n": [2, 20, 200], "s": [0.0, 1.0, 30.0]}
scales = each(low_rank.best_scale, **grid)
unresolved = pd.DataFrame([{"value": optimal_window(Cosine(5, 8.0), 20, 0.1).w}])
blind = cases(unresolved, name="cosines of the projection, L = 8, k = 5, n = 20")
positive = cases(scales, error="error", name=in_k)
judge("P1.T4.positive", positive, blind, folded=True)

# %% tags=["hide-input"]
three = [{"n": n, "s": s} for n, s in settings]
falling = each(low_rank.steepest_step, k=[2, 3], setting=three)
judge("P1.T4.constraint", falling, error="error", name=in_k, folded=True)

# %% [markdown]
# **Exercise 2.** For $k=1$ tokens have $u=\pm1$. What is $c^*$ at $\sigma=0$, and is the theorem's constraint needed then?
#
# ```{admonition} Solution
# :class: dropdown
# Tokens with the query's sign have exactly its label, those with the other sign exactly its negative. So without noise the
# larger $c$ the better: there is no finite optimum, and the constraint decides ($c=C$).
# ```
#
# **What the projection buys.** With $e=0$ the least risk falls like $n^{-4/(k+3)}$, as in dimension $k$. A window that treats
# all directions alike works in $d$ dimensions (for our tokens, on a surface of dimension $d-2$): its risk falls like
# $n^{-4/(d+2)}$. It is the control.

# %% tags=["hide-input"]
projected = each(low_rank.risk_slope, rank=[2, 3])
isotropic = each(low_rank.isotropic_slope, d=d, rank=[k])
judge(
    "P1.T4.dimension",
    cases(projected, name="k = {rank}, any d", **LIMIT),
    cases(isotropic, name=f"isotropic, d = {d}, k = {k}", **LIMIT),
    folded=True,
)

# %% [markdown]
# ## Experiment 2: trained units find the subspace
#
# Now $M$ is any $d\times d$ matrix. It starts at random, and Adam trains it on fresh contexts. We record its singular values
# and the sine of the largest principal angle between $\mathrm{col}(B)$ and its leading $k$ left singular vectors. The
# control's units learn linear functions of all $d$ directions, on the sphere. $B$ is random: Adam works entry by entry, so
# training does depend on the axes, and a $B$ along them is found sooner.

# %%
training = tables.Training(seeds, steps, batch_size, learning_rate, notebook.device())
units = low_rank.trained_units(d, k, settings, training)

# %% tags=["hide-input"]
last_step = units[units.step == units.step.max()]
sines = ["d", "k", "n", "s", "seed", "sine"]
learned = last_step.loc[last_step.functions == "low rank", sines]
others = last_step[last_step.functions == "all directions"]
everything = f"all {d} directions matter, n = {context_length}"
judge(
    "P1.T4.learns",
    cases(learned, "sine", samples="seed", name=setting),
    cases(others, "sine", samples="seed", labels=[], name=everything),
)

# %% tags=["hide-input"]
third = units[(units.functions == "low rank") & (units.n > 2) & (units.s > 0)]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 2.3))
kinds = {"kept": f"singular value {k}", "dropped": f"singular value {k + 1}"}
values = third.melt(["step", "seed"], list(kinds), "name").replace({"name": kinds})
middle = tables.medians(values, "value", ["name", "step"])
plots.points(left, middle, "step", "median", "name")
exact_c = float(optimal_window(Linear(k), *noisy).w)
left.axhline(exact_c, color=plots.COLORS["exact"], label="exact c*")
angles = tables.medians(third, "sine", ["step"]).assign(name="sine")
plots.points(right, angles, "step", "median", "name", label="")
for ax in (left, right):
    ax.set(xscale="symlog", xlabel="Adam step", xlim=(-0.5, 1.5 * steps))
left.set_ylabel("singular value of M")
right.set_ylabel("sine of angle")
left.legend(fontsize=8, loc="center left")
plt.show()

# %% [markdown]
# ```{caption} fig-spectra
# :alt: Left, the k-th singular value of M rises to the line of the exact best c while the next one falls to zero. Right,
# the sine of the largest principal angle falls from near one to near zero.
#
# Training in the third setting of {numref}`fig-landscape`, medians over the seeds with intervals. Left: the $k$-th singular
# value of $M$ rises to the exact $c^*$, and the next one falls to zero. Right: sine of the largest principal angle to
# $\mathrm{col}(B)$.
# ```
#
# Training finds the directions before the scale. For two tokens and small batches the scale does not even tend to $c^*$:
# **Adam settles beyond it** (table), because the mean of its normalized steps vanishes elsewhere than the mean of the
# gradient. The card judges the largest batch. It leaves out the setting without noise and with many tokens, where the
# optimum is flat and the units are still on their way.

# %% tags=["hide-input"]
settling = training._replace(seeds=starts)
pair_scales = low_rank.settled_scales(batch_sizes, d, k, (2, 0.0), settling)
wide = low_rank.settled_scales([batch_size], d, k, noisy, settling)
wide_name = f"n = {context_length}, $\\sigma$ = {noise_std:g}, batch {batch_size}"
two = pair_scales[pair_scales["size"] == batch_sizes[-1]]
judge(
    "P1.T4.scale",
    [
        cases(two, "ratio", samples="seed", name="n = 2, $\\sigma$ = 0, batch {size}"),
        cases(wide, "ratio", samples="seed", labels=[], name=wide_name),
    ],
    folded=True,
)

# %% mystnb={"code_prompt_show": "The table: {type}"} tags=["hide-output", "hide-input"]
plots.table(
    tables.medians(pair_scales, "ratio", ["size"]),
    {
        "contexts a step": "{size}",
        "$c/c^*$, median over seeds": "{median:.3f}",
        "interval": "[{low:.3f}, {high:.3f}]",
    },
    f"Two tokens, no noise: scale after {steps} Adam steps over the exact optimum",
)

# %% [markdown]
# ## Experiment 3: behind a nonlinear link
#
# > **ITA slides, last slide: "Softmax Attention Learns Low-Dimensional Structure in
# > Nonlinear Functions".** Generalized linear models: affine $f(x)=w^\top x+2$,
# > quadratic $f(x)=(w^\top x)^2$, cosine $f(x)=\cos(4w^\top x)$.
#
# The slide compares softmax and linear attention during pretraining. Not printed in any source available to us: the laws
# of $w$ and of the tokens, $d$, $k$, $n$, $\sigma$ and the formula of its representation error. Ours are $w=Ba$ with $a$
# uniform on $S^{k-1}$, the tokens above, and the sine above.
#
# Under $M=cBB^\top$ score and label depend on $u$ only. This is *exactly* the problem on the sphere of $\mathbb R^k$ with
# $M=cI_k$, whose least risk is known for every link: a unit that finds the projection must come down to it. Linear
# attention predicts with $\frac1n\sum_iy_ix_i^\top Mx_q$. Both start at $M=0$.

# %%
small = list(zip(more_dims, more_ranks, strict=True))
few = batch_size // 16  # contexts at each step, to see the noise of the gradient
setting_of_links = (context_length, unit_noise_std)
how = tables.Training(more_seeds, steps, batch_size, 0.03, notebook.device())
curves = low_rank.trained_links(small, *setting_of_links, how, test_contexts)
small_batch = how._replace(batch_size=few)
noisy_curves = low_rank.trained_links(
    small, *setting_of_links, small_batch, contexts=20
)
of_links = {"n": context_length, "noise_std": unit_noise_std}
all_ranks = {"k": sorted(set(more_ranks)), "link": list(low_rank.LINKS)}
minima = each(low_rank.exact_minimum, **all_ranks, **of_links)
first = curves[(curves.d == small[0][0]) & (curves.k == small[0][1])]
bounds = minima[minima.k == small[0][1]].set_index("link")

# %% tags=["hide-input"]
size = {"figsize": (7.6, 3.5), "sharex": True, "sharey": "row"}
figure, (top, bottom) = plt.subplots(2, 3, **size)
for row, column, label in ((top, "sine", "sine of angle"), (bottom, "error", "error")):
    shown = tables.medians(first, column, ["link", "unit", "step"])
    drawn = shown[shown.link.isin(low_rank.PRINTED)]
    panels = dict(zip(low_rank.PRINTED, row, strict=True))
    plots.points(panels, drawn, "step", "median", "unit", col="link")
    row[0].set(xscale="log", yscale="log", ylabel=label)
pure = shown[shown.link == "linear"].assign(link="linear, no +2")
plots.points(
    bottom[0], pure, "step", "median", "link", color=plots.COLORS["linear"], marker="^"
)
for link, above, ax in zip(low_rank.PRINTED, top, bottom, strict=True):
    above.set_title(link)
    ax.axhline(bounds.least[link], color=plots.COLORS["exact"], lw=1.4)
    ax.axhline(bounds.constant[link], color=plots.COLORS["guide"], ls="--", lw=1)
    ax.set_xlabel("Adam step")
bottom[1].legend(*bottom[0].get_legend_handles_labels(), fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-glm
# :alt: Six panels, three links. Top: the sine falls to a few hundredths for softmax attention on all links, for linear
# attention on the affine link only. Bottom: the softmax error falls to the exact line; that of linear attention stays at or
# above the dashed line, except on the class without intercept.
#
# The last slide's comparison for the first $(d,k)$ of the list, medians over the seeds with intervals. Top: sine of the
# largest principal angle to $\mathrm{col}(B)$. Bottom: test error with the clean query label. Lines: exact least risk of the
# $k$-dimensional problem (solid), error of the best constant (dashed). Triangles: linear attention on the affine link
# without its $+2$.
# ```
#
# Softmax attention comes close to the exact minimum on every link (table). With three relevant directions twenty tokens
# hardly resolve $\cos(4w^\top x)$, and the minimum itself is large.
#
# How small the sine gets is a matter of *gradient noise*. Adam's step size falls linearly to zero. Near the optimum a matrix
# off by $\delta$ relaxes at a rate in proportion to the step size times $\sqrt b$ with $b$ contexts at each step, because Adam
# divides the gradient by its size, which is mostly noise, of order $b^{-1/2}$. So the last $\sqrt{T/\sqrt b}$ or so of $T$ steps
# are averaged, and $\delta$ is of order $(b\sqrt{T/\sqrt b})^{-1/2}=b^{-3/8}\,T^{-1/4}$: a sketch, no proof. So whether the sine is
# below 0.1 says more about the training than about the minimizer. The first card judges that it falls with the batch, at a fixed
# number of steps; two readings keep thresholds of 0.1 and 0.05. The control is linear attention on the two even links.

# %% tags=["hide-input"]
problem, by = "{link}, d = {d}, k = {k}", ["d", "k", "link"]
ends, noisy_ends = (
    frame.loc[frame.step == steps, [*by, "unit", "seed", "sine"]]
    for frame in (curves, noisy_curves)
)
falls = tables.exponents(
    noisy_ends, ends, "sine", batch_size / few, [*by, "unit", "seed"]
)
softmax = falls[falls.unit == "softmax"]
linear = falls[(falls.unit == "linear") & falls.link.isin(low_rank.EVEN)]
each_link = {"value": "exponent", "samples": "run", "labels": ["link"]}
sines = ends[ends.unit == "softmax"]
small_angle = cases(sines, "sine", samples="seed", labels=by, name=problem)
judge(
    "P1.F9.subspace",
    cases(softmax, **each_link, name="{link}, exponent in the batch"),
    cases(linear, **each_link, name="linear attention, {link}"),
    readings={
        "the sine is at most 0.1": small_angle,
        "the sine is at most 0.05": small_angle,
    },
    folded=True,
)

# %% tags=["hide-input"]
last = curves[(curves.step == steps) & curves.link.isin(low_rank.PRINTED)]
errors = last.pivot_table("error", [*by, "seed"], "unit", sort=False).reset_index()
ratios = errors[[*by, "seed"]].assign(ratio=errors.linear / errors.softmax)
judge("P1.F9.error", ratios, value="ratio", samples="seed", name=problem, folded=True)

# %% mystnb={"code_prompt_show": "The table: {type}"} tags=["hide-output", "hide-input"]
means = errors.groupby(by, sort=False)[["softmax", "linear"]].mean().reset_index()
plots.table(
    means.merge(minima, on=["link", "k"]),
    {
        "link": "{link}, d = {d}, k = {k}",
        "softmax": "{softmax:.4f}",
        "exact least": "{least:.4f}",
        "linear attention": "{linear:.4f}",
        "best constant": "{constant:.4f}",
    },
    "Test error with the clean query label at the end of training, mean over seeds, "
    "beside the exact least risk with the projection and the best constant",
)

# %% [markdown]
# **Why linear attention fails.** Turn the query around, $u_q\to-u_q$: the label of an even link stays, the prediction $h$
# changes sign. So $\mathbb E(f-h)^2=\mathbb Ef^2+\mathbb Eh^2$, the best $M$ is zero, and what training leaves there has no
# preferred subspace. On the affine link the odd part $w^\top x$ is learned, the subspace with it, and the error of the $+2$
# remains: without it linear attention does well (triangles). The card checks the equation for random $M$; the control is
# the affine link, which has an odd part.

# %% tags=["hide-input"]
sample = (*setting_of_links, test_contexts)
even, odd = (
    low_rank.zero_excess(small, some, *sample) for some in (low_rank.EVEN, ["affine"])
)
judge("P1.F9.even", cases(even, name=problem), cases(odd, name=problem), folded=True)

# %% [markdown]
# **Exercise 3.** Replace $+2$ by $+20$. What happens to each of the two units?
#
# ```{admonition} Solution
# :class: dropdown
# Nothing happens to softmax attention: weights sum to one, and a constant passes through. The error of linear attention
# grows with the square of the offset.
# ```
#
# ## To remember
#
# Attention learns to ignore what labels do not depend on. The window of the best matrix is narrow in the $k$ directions that
# count and infinitely wide in the others, so a problem in $d$ dimensions becomes one in $k$.

# %% tags=["remove-input"]
notebook.footer()
