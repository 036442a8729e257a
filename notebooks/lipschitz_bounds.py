# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lipschitz bounds and step sizes
#
# **Short answer.** No printed upper bound that we could test is violated {judged}`P2.lip.u` {judged}`P2.lip.f`. But a softmax row
# $f$ moves at most $R/2$ times as fast as its weights, as is known {cite:p}`nair2025softmax` {judged}`P2.lip.half`; the bound in
# our notes on a related paper is {judged}`P2.lip.f | f as stated, n = 32, R = 4 | .0f` powers of ten larger at $n=32$, $R=4$. The
# curvature of a row, proved for every number of tokens {judged}`P2.opt.range`, gives a step size: with the data divided out,
# gradient descent takes the same number of steps however stretched the data are {judged}`P2.opt.preconditioned`, and Newton-CG
# needs fewer passes {judged}`P2.opt.newton`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
radii = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]  # bounds R on norms, below 4 and from 4 on
n_values = [4, 16, 64, 256]  # numbers of tokens n that the cards search
starts = 24  # starts of each search
steps = 200  # steps of each ascent
sizes = [2, 4, 16, 64]  # tokens, in the search for extreme curvature
context_length = 24  # tokens of the problems that are solved
dim = 3  # their dimension d
draws = 10  # random problems in the check of the step size
conditions = [1.0, 1.5, 2.0, 2.5]  # condition numbers of the data matrices
seed = 0  # root of the random numbers

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import display

from icl.streams import stream
from icl.tensor_trick.lipschitz import log_jacobian_norm, witness, worst_logits
from icl_book import notebook, plots
from icl_book.bounds import LIPSCHITZ, SIZES
from icl_book.claims import cases, judge
from icl_book.interactive import interactive
from icl_book.measurements import curvature, lipschitz

notebook.setup(globals(), conditions=2)

# %% tags=["hide-input"]
fine = np.linspace(min(radii), max(radii), 60)
shown = [bound for bound in LIPSCHITZ if bound.id != "u-proof"]
curves = lipschitz.printed(shown, [32], fine)
built = lipschitz.constants([32], radii)
labels = ("R", "log10 of the constant")
panels = plots.panels(curves, "g", labels, height=2.4, sharey=False)
for g, ax in panels.items():
    for i, (_, line) in enumerate(curves[curves.g == g].groupby("bound", sort=False)):
        label = None if i else "printed"
        color = plots.COLORS["printed"]
        ax.plot(line.R, line.printed, "--", color=color, label=label)
    plots.exact_curve(ax, line.R, line.proved, "proved")
    reached = built[built.g == g]
    ax.plot(reached.R, reached.built, "o", mfc="white", color="k", label="reached")
panels["$f$"].legend(loc="upper left", fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-lip-bounds
# :alt: Four panels in a row against R from one half to six. For u and alpha circles lie on the solid curve, and dashed printed curves run
# above it. For one over alpha the printed curve rises to sixty while the rest stays near zero. For f the printed curves rise to
# ninety-five, while circles and solid curve stay flat near zero.
#
# Lipschitz constants in the weights at $n=32$ tokens, as powers of ten: printed bounds (dashed), what we prove (solid), and what
# explicit data reach (circles). For the exponentials $u$ and their sum $\alpha$ the printed growth is real. For the softmax row $f$
# the truth is $R/2$.
# ```
#
# ## In plain words
#
# A {term}`Lipschitz constant` says how far an output can move when the input moves by one unit, at worst. Papers of
# this line need it to say that a small change of weights or context changes attention little. A bound on it is an upper bound: it
# can only fail by being too small. A bound that is far too large is true, and useless as a step size: the safe step is one over
# the constant.
#
# The printed chain treats softmax as exponentials, which can be huge, divided by their sum, which can be tiny. Both worst cases
# happen, but never together. This chapter gives the true constants, then uses one: as a step size.
#
# ## What is printed, and what is true
#
# One row of the matrix problem is a single {term}`softmax regression` with a data matrix $A\in\mathbb R^{n\times p}$
# (a block of the {term}`tensor trick`) and weights $x$: $u=\exp(Ax)$, $\alpha=\langle u,1_n\rangle$, $f=\alpha^{-1}u$.
# The bounds assume $\Vert A\Vert\le R$ in spectral norm, $\Vert x\Vert,\Vert y\Vert\le R$ and $R\ge4$. We read them in notes on
# related papers: [G] {cite:t}`gao2025fast`, which also cites Lemma 6.2 of paper 2 for the bound on $\beta=\min\alpha$; [H]
# {cite:t}`zhang2023h2o`, which restates {cite:t}`deng2023attention`. **None of the constants was read in paper 2**
# {cite:p}`gao2023tensor`, whose own are in none of our sources. As all come from notes, one may be misread; the cards say by how
# much it would have to be.
#
# ````{admonition} The printed bounds, with their sources
# :class: dropdown
# | quantity | at most | read in |
# |---|---|---|
# | $\Vert u\Vert$, $\alpha$, $\alpha^{-1}$, $\Vert f\Vert$ | $\sqrt ne^{R^2}$, $ne^{R^2}$, $e^{R^2}$, $1$ | [G] Lemma E.4 |
# | $1/\beta$ | $e^{R^2}$ | Lemma 6.2 of paper 2, through [G] Lemma E.3 |
# | Lipschitz constant of $u$ | $2\sqrt nRe^{R^2}$ | [H] D.48 |
# | the same | $\sqrt ne^{2R^2}$ (statement), $\sqrt nRe^{R^2}$ (proof) | [G] Lemma E.5.1 |
# | of $\alpha$ | $\sqrt n$ times that of $u$: $2nRe^{R^2}$ with the one of [H] | [G] Lemma E.5.2 |
# | of $\alpha^{-1}$ | $ne^{4R^2}$ | [G] Lemma E.5.2 |
# | of $f$ | $n^{1.5}Re^{6R^2}$ (statement), $n^{1.5}e^{6R^2}$ (proof) | [G] Lemma E.5.3 |
# | of $\langle f,v\rangle$, $\Vert v\Vert\le R^2$ | $n^{1.5}e^{7R^2}$ | [G] Lemma E.5.4-5 |
# | (our notes do not say of what; not judged) | $R_0=n^{1.5}e^{10R^2}$ | [G] Lemma E.6 |
# | of the Hessian of $\frac12(\langle f,v\rangle-e)^2$; of a sum of $nd$ | $n^{1.5}e^{30R^2}$; $nd\,n^{1.5}e^{30R^2}$ | [G] App. E.1-2 |
# | of the Hessian of $L_{\exp}+L_{\rm sparse}+L_{\rm reg}$ | $n^2e^{40R^2}$ | [H] D.48 |
# ````
#
# ```{admonition} What is true
# :class: tip
# Only the scores count: the constant of $g(Ax)$ is $R$ times the largest norm of the derivative $J_g(s)$ over scores
# $\Vert s\Vert\le R^2$. So for every $R>0$ the constant of $u$ is $Re^{R^2}$, that of $\alpha$ is $R\max_{\Vert s\Vert\le R^2}\Vert e^s\Vert$, that of
# $\alpha^{-1}$ at most $\frac Rn e^{R^2/\sqrt n}$. That of $f$ is at most $R/2$, *for weights of any length*, and no smaller factor
# than $\frac12$ serves all $R$: softmax is $\frac12$-Lipschitz {cite:p}`nair2025softmax`. Moreover $\beta=ne^{-R^2/\sqrt n}$.
# ```
#
# ```{admonition} Proofs
# :class: dropdown
#
# *Scores,* for $A$ with at least two columns. The ball of weights is convex, so the supremum of the quotient is that of $\Vert J_g(Ax)A\Vert$, which is at most
# $R\Vert J_g(s)\Vert$ with $s=Ax$, $\Vert s\Vert\le R^2$. Conversely take any such $s$ and a unit direction $w$ that $J_g(s)$
# stretches most. Let $q_1=s/\Vert s\Vert$ and $q_2\perp q_1$ span a plane that contains $w$. Then $A=R\,[q_1\;q_2]$ has norm $R$,
# $x=(\Vert s\Vert/R,0)$ gives $Ax=s$, and $v=[q_1\;q_2]^\top w$ is a unit vector with $Av=Rw$, so $\Vert J_g(s)Av\Vert=R\Vert
# J_g(s)\Vert$. With a moving $A$ and a fixed $x$ (the "A-variants" of the papers) the number is the same. In a block
# $A_1[j,:]\otimes A_2$ take $A_1[j,:]=e_1$, $A_2=A$, and $x$ in the first row of $X$.
#
# *Constants.* $J_u=\mathrm{diag}(u)$ has norm $e^{\max s_i}$, largest at $s=R^2e_1$. $\nabla\alpha=u$. By the inequality of the means
# and Cauchy-Schwarz $\alpha\ge ne^{\bar s}\ge ne^{-R^2/\sqrt n}$, with equality if all scores are $-R^2/\sqrt n$; and
# $\Vert\nabla\alpha^{-1}\Vert=\Vert f\Vert/\alpha\le1/\beta$. $J_f=\mathrm{diag}(f)-ff^\top$ is the covariance of a random basis
# vector, so for a unit vector $v$ it gives the variance of a number that takes the values $v_i$. A variance is at most a quarter of
# the squared range, and the range of a unit vector is at most $\sqrt2$: $\Vert J_f\Vert\le\frac14\cdot2=\frac12$. With
# $a=R^2\sqrt{(n-2)/(2n)}$ and $s=(a,a,-c,\dots,-c)$ of length $R^2$ and mean zero the norm is
# $1/(2+(n-2)e^{-R^2\sqrt{n/(2n-4)}})$, which tends to $\frac12$.
# ```
#
# ## By hand
#
# Two tokens. The scores matter only through their difference $t$, and $f=(p,1-p)$ with $p=1/(1+e^{-t})$. A change of the scores by
# $(\delta,-\delta)$ moves $t$ by $2\delta$ and $f$ by $2\delta\,p(1-p)\,(1,-1)$. The scores moved by $\sqrt2\delta$, the output by
# $2\sqrt2\,p(1-p)\delta$: the factor is $2p(1-p)\le\frac12$, and it is $\frac12$ at $t=0$. The weights move the scores at most $R$
# times as fast, so the constant of $f$ is $R/2$. The package builds such data for any $n$:

# %%
A, x, v = witness(*worst_logits("f", n=32, R=4.0), R=4.0)
slope = log_jacobian_norm("f", A @ x, A @ v).exp().item()
bound = 32**1.5 * 4 * np.exp(6 * 4.0**2)
print(f"|A| = {torch.linalg.matrix_norm(A, 2):.3f}, |x| = {x.norm():.3f}")
print(f"reached {slope:.4f}, R / 2 = {4 / 2:.4f}, printed {bound:.1e}")

# %% [markdown]
# **Exercise 1.** Show that $\Vert F(X)-F(Y)\Vert_F\le\frac12\Vert A_1\Vert\,\Vert A_2\Vert\,\Vert X-Y\Vert_F$ for the matrix $F$ of
# softmax rows.
#
# ```{admonition} Solution
# :class: dropdown
# Row by row, $\Vert f_j(X)-f_j(Y)\Vert\le\frac12\Vert s_j-s_j'\Vert$. Square and sum:
# $\Vert F(X)-F(Y)\Vert_F\le\frac12\Vert A_1(X-Y)A_2^\top\Vert_F\le\frac12\Vert A_1\Vert\Vert A_2\Vert\Vert X-Y\Vert_F$.
# ```
#
# ````{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | tested here |
# |---|---|
# | $\Vert x\Vert\le R$ | dropped in P2.lip.break; dropping $\Vert A\Vert\le R$ is the same, only $Ax$ counts |
# | $R\ge4$ | dropped in P2.lip.required |
# | $\Vert A(x-y)\Vert_\infty$ small (no value is printed) | dropped in P2.lip.required; the proofs here never use it |
# | $A$ has at least two columns | always true of a block, whose width is $d^2\ge4$ |
# ````
#
# ## Experiment 1: no bound fails
#
# For each function, $n$ and $R$ an ascent looks for the largest quotient over all $A$, $x$ and directions. It starts from the best
# of many random draws, two thirds of them heavy-tailed, and knows nothing of our proofs. What it finds is a lower end: it can
# refute a bound and not prove one.

# %%
rng = stream(seed, "initialization")
found = lipschitz.searched(n_values, radii, starts, steps, rng)
over_half = {"difference": "found - log10(R / 2)", "by": ["n", "g"]}
halved = lipschitz.worst(found, **over_half)

# %% tags=["hide-input"]
stated = pd.DataFrame({"R": [4.0, 6.0]})
f = next(b for b in LIPSCHITZ if b.id == "f")
stated["value"] = [f.log10(32, R) - np.log10(R / 2) for R in stated.R]
large = [R for R in radii if R >= 4]
stated_bounds = lipschitz.printed(LIPSCHITZ, n_values, large)
inner = lipschitz.inner_product(n_values, large)
by_bound = {"by": ["g", "bound", "n"], "end": "min"}
compared = pd.concat([stated_bounds, inner])
slack = lipschitz.worst(compared, "printed - proved", **by_bound)
about_f = slack.g == "$f$"
look = {"labels": ["bound", "n"], "name": "{bound}, n = {n}"}
judge(
    "P2.lip.f",
    [
        cases(slack[about_f], **look),
        cases(stated, name="f as stated, n = 32, R = {R:g}"),
    ],
    folded=True,
)

# %% [markdown]
# The cards give the slack: a misprint that makes a bound smaller by less would go unseen. The same for $u$, $\alpha$ and
# $\alpha^{-1}$, for the sizes themselves, for the Hessians of two losses (with our own rough constants), and how close the search
# and the explicit data come to the constants that we prove:

# %% tags=["hide-input"]
display(judge("P2.lip.u", cases(slack[~about_f], **look), folded=True))
data = lipschitz.constants(n_values, radii)
data = lipschitz.worst(data, "built - proved", ["n", "g"], "min")
ascent = lipschitz.worst(found, "found - proved", ["n", "g"])
reached, ascent = (frame[frame.g != "$f$"] for frame in (data, ascent))
ends = {"kind": "found", "high": "most"}
judge(
    "P2.lip.sharp",
    [
        cases(reached, labels=["g", "n"], name="{g}, explicit data, n = {n}"),
        cases(ascent, name="{g}, by search, n = {n}", **ends),
    ],
    folded=True,
)

# %% tags=["hide-input"]
largest = lipschitz.sizes(SIZES, n_values, radii)
seen = lipschitz.searched_sizes(SIZES, n_values, radii, starts, steps, rng)
long = lipschitz.sizes(SIZES[:3], n_values[:1], large, reach=3.0)
proof, seen, far = (
    lipschitz.worst(table[table.R.isin(large)], "size - printed", ["b", "n"])
    for table in (largest, seen, long)
)
seen["most"] = proof.value
sides = cases(proof.drop(columns="most"), name="{b}, by proof, n = {n}")
sides += cases(seen, name="{b}, by search, n = {n}", **ends)
stretched = {"labels": [], "name": "x three times as long, few tokens"}
display(judge("P2.size.printed", sides, cases(far, **stretched), folded=True))
least, beta = (
    lipschitz.worst(table[table.g == r"$\alpha^{-1}$"], "printed - size", ["n"], "min")
    for table in (largest, long)
)
each_n = cases(least, labels=["n"], name="n = {n}")
judge("P2.size.beta", each_n, cases(beta, **stretched), folded=True)

# %% tags=["hide-input"]
settings = zip(n_values, (large[-1], large[0]), strict=False)  # the first two n
hessians = lipschitz.hessians(settings, starts, steps, rng)
assert not (hessians.found > hessians.ours).any()  # or the proof is wrong
spare = {"value": "slack", "labels": ["n", "R"]}
parts = hessians.groupby("what", sort=False)
judge(
    "P2.lip.hessian",
    [
        cases(rows, **spare, name=f"{what} n = {{n}}, R = {{R:g}}")
        for what, rows in parts
    ],
    folded=True,
)

# %% [markdown]
# ```{admonition} Our constants for Hessians, with proof
# :class: dropdown
# For $R\ge4$ the Hessian of $\ell=\frac12(\langle f,v\rangle-e)^2$, $\Vert v\Vert\le R^2$, $\vert e\vert\le R$, is
# $6R^7$-Lipschitz, that of $\frac12\Vert f-b\Vert^2+\alpha+$ a quadratic $R^3(5+e^{R^2})$-Lipschitz for $b$ in the simplex.
# Proof: the constant is $R^3$ times the largest third derivative along unit directions $w$ of the scores. Write derivatives along
# $w$ as $\dot g$, $\ddot g$, $g^{(3)}$. Let $\delta_i=w_i-\langle f,w\rangle$, so $\vert\delta_i\vert\le\sqrt2$, and let
# $\sigma^2\le\frac12$, $\kappa$ be the second and third moment of $\delta$ under $f$, $\vert\kappa\vert\le\sqrt2\sigma^2$. Then
# $\dot f=f\delta$, the derivative of $\delta$ is $-\sigma^2$ and that of $\sigma^2$ is $\kappa$, so $\ddot f=f(\delta^2-\sigma^2)$
# and $f^{(3)}=f(\delta^3-3\sigma^2\delta-\kappa)$. Summed over the tokens in absolute value these are at most
# $\sigma\le\frac1{\sqrt2}$, $2\sigma^2\le1$ and $2\sqrt2\sigma^2+3\sigma^3<3$. Since $\Vert v\Vert_\infty\le R^2$:
# $\vert\ell^{(3)}\vert\le\frac3{\sqrt2}R^4+3(R^2+R)R^2\le6R^4$. For $\frac12\Vert f-b\Vert^2$ it is
# $\vert3\langle\dot f,\ddot f\rangle+\langle f-b,f^{(3)}\rangle\vert\le3\cdot\frac12\cdot1+3<5$, by $\Vert\dot f\Vert\le\frac12$.
# And $\alpha^{(3)}=\sum e^{s_i}w_i^3\le e^{R^2}$.
# ```
#
# Now the constant of $f$ itself, searched with $x$ up to ten times as long as printed. The control puts $u$ in its place.

# %%
longer = lipschitz.searched(n_values[:2], radii, starts, steps, rng, ["f"], reach=10.0)
longer = lipschitz.worst(longer, **over_half)

# %% tags=["hide-input"]
f_row, u_row = (halved[halved.g == g] for g in ("$f$", "$u$"))
within = cases(f_row, labels=["n"], name="n = {n}, |x| <= R", **ends)
beyond = cases(longer, labels=["n"], name="n = {n}, |x| <= 10 R", **ends)
of_u = cases(u_row, kind="found", labels=["n"], name="u, n = {n}")
judge("P2.lip.half", within + beyond, of_u)

# %% tags=["hide-input"]
tokens, reach = 2.0 ** np.arange(1, 20, 2), np.arange(5, 61) / 10
curves = lipschitz.printed(shown, tokens, reach).set_index(["g", "n", "R"])
another = curves.index.duplicated()
curves = curves[~another].assign(other=curves.printed[another]).reset_index()
words = {tex: f"{word} of a row" for word, tex in lipschitz.TEX.items()}
interactive(
    curves.assign(function=curves.g.map(words)).drop(columns=["g", "bound"]),
    x="R",
    y={"printed": "printed", "proved": "ours", "other": "printed, another"},
    sliders={"function": "function", "n": "tokens n", "R": "norms at most R"},
    start={"function": "f of a row", "n": 32.0, "R": 4.0},
    labels=("R", "log₁₀ of the Lipschitz constant"),
    log="",
    experiment="Move R from 4 to 6: the printed constants gain fifty powers of ten, "
    "ours nearly nothing. Then choose u: there the printed bounds grow as they should.",
    alt="Printed and sharp Lipschitz constants against R, as powers of ten.",
    caption="The papers assume R ≥ 4. Ours: attained for u and α, upper bounds for "
    "1/α and f.",
)

# %% [markdown]
# ## Which conditions are needed?
#
# The summary says that the analysis "requires strict constraints". We drop them one at a time: $R\ge4$; the small
# $\Vert A(x-y)\Vert_\infty$ (pairs at opposite ends of the ball); $\Vert x\Vert\le R$. And the data move instead of the weights.
# Only the length of $x$ matters: the bounds on $u$, $\alpha$ and $\alpha^{-1}$ break sooner or later, so the summary's caution that
# the bounds "may not hold" is right. That on $f$ does not break.

# %% tags=["hide-input"]
moved = lipschitz.searched(n_values[:2], radii, starts, steps, rng, moving="A")
moved = lipschitz.worst(moved, "found - proved", ["n", "g"])
moving = cases(moved, name="{g}, n = {n}", **ends)
display(judge("P2.lip.context", moving, folded=True))
dropped = lipschitz.conditions(LIPSCHITZ, n_values, radii, starts, steps, rng)
each = [
    cases(rows, name=title, **(ends if "most" in rows else {}))
    for title, rows in dropped
]
display(judge("P2.lip.required", each, folded=True))
three = [bound for bound in LIPSCHITZ if bound.id in ("u", "alpha", "inverse")]
n, effort = n_values[0], (starts, steps, rng)
broken = lipschitz.beyond_the_ball(three, n, 2.0, 16.0, *effort)
broken = cases(broken, kind="found", high=np.inf, name="{g}, x 16 times as long")
judge("P2.lip.break", broken, folded=True)

# %% [markdown]
# **Exercise 2.** Why does the bound on $\alpha^{-1}$ break for long $x$, although $\alpha^{-1}$ is a factor of $f$?
#
# ```{admonition} Solution
# :class: dropdown
# Long $x$ can make all scores very negative: $\alpha$ is then tiny, and $\alpha^{-1}$ and its slope are huge. In $f=\alpha^{-1}u$
# the same shift makes $u$ tiny by the same factor; softmax does not notice a common shift.
# ```

# %% [markdown]
# ## What a constant is for: a step size
#
# Seen from the scores every row is the same function, whatever the data. For two tokens with $b=(0,1)$ and $f=(p,1-p)$ the loss is
# $p^2$, and along the unit direction $(1,-1)/\sqrt2$ its second derivative is $4g(p)$, $g(p)=p^2(1-p)(2-3p)$, with extremes at
# $p_\pm=(15\pm\sqrt{33})/24$: $0.308$ and $-0.240$ ({numref}`fig-opt-passes`). The upper one gives a step that is safe whatever the
# data: $\eta=1/(\lambda\Vert A_1\Vert^2\Vert A_2\Vert^2)$, where no eigenvalue of a row Hessian exceeds $\lambda$, lowers the loss by
# at least $\frac\eta2\Vert\nabla L\Vert_F^2$ in each step. The lower one says how far from convex the loss is. For every $n$
# and every $b$ in the simplex no curvature lies outside ({prf:ref}`curvature of a row <thm-curvature>`, in balls).
#
# ```{admonition} Proof
# :class: dropdown
# In a direction $V$ the second derivative is $\sum_jt_j^\top H_jt_j\le\lambda\Vert A_1VA_2^\top\Vert_F^2\le\lambda\Vert A_1\Vert^2
# \Vert A_2\Vert^2\Vert V\Vert_F^2$ with $t_j$ the rows of $A_1VA_2^\top$. The rest is Taylor's formula.
# ```
#
# More tokens bend at least as much, because the scores of all others may be very low, and no more. The search below looks for a
# counterexample and for the ends.

# %%
monte_carlo = stream(seed, "monte carlo")
bends = curvature.extremes(sizes, starts, monte_carlo)
convex = curvature.extremes([4], starts, monte_carlo, kind="cross_entropy")
both = cases(bends, name="{which}, n = {n}", **ends)
control = cases(convex, labels=["which"], name="{which}, n = 4", **ends)
judge("P2.opt.range", both, control)

# %% [markdown]
# Papers of the line make the loss convex by a regularizer: {cite:t}`zhang2023h2o` (App. D.47) ask for
# $w_i^2\ge20+l/\sigma_{\min}(A)^2$. This holds, and 1 in place of 20 is enough, by the theorem above. For two tokens
# $-4g(p_+)$ is exactly enough. The other cards: gradient descent at the safe step never raises the loss.

# %% tags=["hide-input"]
regular = curvature.regularized([0.1, 1.0], monte_carlo)
smallest = {"kind": "found", "labels": ["low"], "name": "200 problems, l = {low:g}"}
enough = cases(regular, "printed", low=1.0, **smallest)
none = cases(regular, "without", low=-np.inf, **smallest)
display(judge("P2.opt.psd", enough, none, folded=True))
needed = pd.DataFrame({"value": [curvature.regularizer_needed()]})
display(judge("P2.opt.psd-sharp", needed, name="two tokens at p+", folded=True))
rises = curvature.rises(context_length, dim, draws, monte_carlo)
safe, fast = (rises[rises.factor == factor] for factor in (1.0, 1000.0))
size = {"kind": "found", "labels": ["s"]}
small_steps = cases(safe, high=1e-13, name="start of size {s:g}", **size)
name = "1000 times the step, size {s:g}"
long_steps = cases(fast[:-1], high=np.inf, name=name, **size)
judge("P2.opt.descent", small_steps, long_steps, folded=True)

# %% [markdown]
# ## Experiment 2: dividing the data out
#
# Stretched data make gradient descent slow, whatever the constant. But the data enter only through $S=A_1XA_2^\top$. In the
# coordinates $Y=(A_1^\top A_1)^{1/2}X(A_2^\top A_2)^{1/2}$ the curvature is that of the rows. Back in $X$ this is
#
# $$
# X\leftarrow X-\tfrac1{4g(p_-)}\,(A_1^\top A_1)^{-1}\,\nabla L\,(A_2^\top A_2)^{-1},
# $$ (eq-opt-pre)
#
# known as a Kronecker-factored preconditioner. If the data are stretched, $A_i\to A_iM_i$, the iterates are stretched with them and
# the losses stay the same. We stretch one problem, keep its scores, and count passes to a millionth of the first loss. Newton-CG is
# SciPy's, with our exact Hessian products.

# %%
losses, weights = curvature.descents(context_length, dim, monte_carlo)
counts = curvature.passes(context_length, conditions, weights, monte_carlo)
grown = np.log(counts[["preconditioned", "descent"]])
exponents, _ = np.polyfit(np.log(counts.c), grown, deg=1)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(7.6, 2.6))
t = np.linspace(-6, 8, 400)
plots.exact_curve(axes[0], t, curvature.two_tokens(1 / (1 + np.exp(-t))))
axes[0].set(xlabel="difference t of two scores", ylabel="second derivative")
styles = ("-", "--", ":")
for (start, rows), style in zip(
    losses.groupby("start", sort=False), styles, strict=True
):
    plots.exact_curve(axes[1], rows.step, rows.loss, start, linestyle=style)
axes[1].set(xscale="log", yscale="log", ylim=(1e-8, 60), xlabel="step", ylabel="loss")
methods = counts.melt("c", var_name="method", value_name="passes")
plots.lines(axes[2], methods, "c", "passes", "method", marker="o")
axes[2].set(yscale="log", ylim=(10, 1e7), xlabel="condition number", ylabel="passes")
for ax in axes[1:]:
    ax.legend(fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-opt-passes
# :alt: Left: a curve that is positive, largest left of zero, and negative around two. Middle, log-log: from zero with a target that
# can be fitted the loss falls; from a far start, or with a random target, it hardly moves. Right: gradient descent rises with the
# condition number, the preconditioned one is horizontal, Newton-CG lies far below.
#
# Left: curvature of the loss of two tokens. Far right, a prediction that is confidently wrong sits on a plateau. Middle: gradient
# descent at the safe step; a far start waits there. Right: passes to a millionth of the first loss, against the condition number of
# both data matrices.
# ```

# %% tags=["hide-input"]
slopes = [pd.DataFrame({"value": [slope]}) for slope in exponents]
display(judge("P2.opt.preconditioned", *slopes, name="exponent", folded=True))
# gradient descent was looked at every tenth step, so it may have needed nine fewer
rivals = counts.assign(descent=counts.descent - 9)[["c", "descent", "newton"]]
newton = {"value": "newton", "name": "condition number {c:g}"}
judge("P2.opt.newton", rivals, **newton, folded=True)

# %% [markdown]
# **Exercise 3.** Show that {eq}`eq-opt-pre` visits the same scores for $(A_1M_1,A_2M_2)$ as for $(A_1,A_2)$.
#
# ```{admonition} Solution
# :class: dropdown
# With $X=M_1^{-1}\hat XM_2^{-\top}$ the gradient is $M_1^\top\hat GM_2$, and $(M_1^\top A_1^\top A_1M_1)^{-1}M_1^\top\hat GM_2
# (M_2^\top A_2^\top A_2M_2)^{-1}=M_1^{-1}(A_1^\top A_1)^{-1}\hat G(A_2^\top A_2)^{-1}M_2^{-\top}$: the step of $\hat X$, stretched.
# ```
#
# ## To remember
#
# A softmax row changes at most $R/2$ times as fast as its weights. Printed bounds on it are larger by many powers of ten because
# they multiply two worst cases that never occur together. The true constant gives a step size; after dividing the data out it is the
# same for every problem.

# %% tags=["remove-input"]
notebook.footer()
