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
# *How much can a softmax row change when its weights change a little? Do the bounds in the papers give useful step
# sizes?*
#
# **Short answer.** If the data matrix has the spectral norm $R$, then a softmax row $f$ changes at most $R/2$ times as
# fast as its weights, by a known bound ([Nair, 2025](cite:nair2025softmax)) ([established](judged:P2.lip.half)). By
# printed bounds we mean bounds as our notes on related papers give them. All printed upper bounds that we could test are
# true under their assumptions, for the exponentials and their sum ([holds](judged:P2.lip.u)) as well as for $f$ itself
# ([holds](judged:P2.lip.f)). But with $n=32$ tokens and $R=4$ one printed bound on the speed of $f$ exceeds $R/2$ by
# [44](<judged:P2.lip.f|f as stated, n = 32, R = 4|.0f>) powers of ten. A useful step size comes instead from the largest
# second derivative of the loss of a row, whose value we prove for every number of tokens
# ([established](judged:P2.opt.range)). On one test problem Newton's method needs fewer passes over the data than gradient
# descent with this step size ([established](judged:P2.opt.newton)).

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
radii = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]  # bounds R on the norms of data and weights
n_values = [4, 16, 64, 256]  # numbers of tokens n
starts = 8  # starts of each search
steps = 200  # steps of each ascent
sizes = [2, 4, 16, 64]  # numbers of tokens in the search for extreme curvature
context_length = 24  # tokens of the problems that are solved
dim = 3  # their dimension d
conditions = [1.0, 1.5, 2.0, 2.5]  # condition numbers of the data matrices
seed = 0  # root of the random numbers

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from icl.streams import stream
from icl_book import notebook
from icl_book.claims import attained_cases, exact_cases, judge
from icl_book.figures import plots
from icl_book.measurements import lipschitz_bounds

notebook.setup(globals(), conditions=2)

# %% [markdown]
# ## In plain words
#
# Papers on softmax regression show that a small change of weights or context changes attention little. They use a
# [Lipschitz constant](#term-lipschitz-constant), which says how far an output can move, at worst, when the input moves by
# one unit. An upper bound on this constant that is far too large is still true and suffices for many proofs, but its
# reciprocal is too small to be a useful step size. The printed bounds are of this kind: they treat softmax as a quotient,
# in which the exponentials can be huge and their sum can be tiny, although these two extremes never occur together.
#
# ## The experiment: how fast can a softmax row move?
#
# Let $A$ be a data matrix with $n$ rows, and $x$ a vector of weights. From the scores $Ax$ come the exponentials
# $u=e^{Ax}$, and from these the softmax row $f=u/\sum_iu_i$. We search by gradient ascent for data of spectral norm $R$
# and weights at which $f$ moves fastest, and in a second search for those at which $u$ does. The ascent starts at random
# and does not use our proofs. Because every speed that it finds is attained by some data and weights, it can refute an
# upper bound, but it cannot prove one.
#
# To try seven tokens, replace the first line of the next cell by `n_values = [7]`.

# %%
n_values = list(n_values)  # or [7], for example
rng = stream(seed, "initialization")


def log_slopes(function, A, x, reach):
    """Return the log of the norm of the Jacobian in x, for each R and start."""
    R = torch.tensor(radii, dtype=torch.float64)[:, None, None, None]
    # Data of spectral norm R, and weights at most reach * R long.
    square = torch.linalg.eigvalsh(A.mT @ A)[..., -1]
    data = R * A / square.sqrt()[..., None, None]
    weights = reach * R * x / x.norm(dim=-2, keepdim=True).clamp(min=1)
    scores = data @ weights
    f = scores.softmax(dim=-2)
    if function == "f":
        jacobian = f * (data - f.mT @ data)
        log_scale = 0.0
    else:  # u is f times the sum of the exponentials
        jacobian = f * data
        log_scale = scores.logsumexp(dim=-2).squeeze(-1)
    square = torch.linalg.eigvalsh(jacobian.mT @ jacobian)[..., -1]
    return square.clamp(min=1e-300).log() / 2 + log_scale


def largest_slopes(function, n, reach):
    """Return the log10 of the largest slope that the ascent finds, for each R."""
    A = torch.from_numpy(rng.standard_normal((len(radii), starts, n, 2)))
    x = torch.from_numpy(rng.standard_normal((len(radii), starts, 2, 1)))
    adam = torch.optim.Adam([A.requires_grad_(), x.requires_grad_()], lr=0.1)
    best = torch.full((len(radii),), -torch.inf, dtype=torch.float64)
    for _ in range(steps):
        log_slope = log_slopes(function, A, x, reach)
        best = torch.maximum(best, log_slope.detach().amax(dim=-1))
        adam.zero_grad()
        (-log_slope.sum()).backward()
        adam.step()
    return best.numpy() / np.log(10)


searches = [
    pd.DataFrame({"function": function, "n": n, "reach": reach, "R": radii}).assign(
        found=largest_slopes(function, n, reach)
    )
    for function, n, reach in product(("f", "u"), n_values, (1, 10))
]
found = pd.concat(searches, ignore_index=True)
e = found.R**2 / np.log(10)  # log10 of exp(R^2)
printed_f = 1.5 * np.log10(found.n) + np.log10(found.R) + 6 * e
printed_u = np.log10(2 * np.sqrt(found.n) * found.R) + e
found["printed"] = printed_f.where(found.function == "f", printed_u)
proved_u = np.log10(found.R) + found.reach * e
found["proved"] = np.log10(found.R / 2).where(found.function == "f", proved_u)

share = 10 ** (found.found - found.proved)
share = share.groupby([found.function, found.n, found.reach]).max()
print("largest speed found / proved constant, for x up to R and up to 10 R long")
print(share.loc["f"].unstack().round(4))

# %% figure={"alt": "Two panels against R from one half to six. For f the dashed printed curve rises to about a hundred powers of ten. The solid curve stays near one, and the circles lie on it for large R and below it for small R. For u the solid and the dashed curve rise together, and the circles lie on the solid one.", "name": "fig-lip-bounds"}
shown = found[(found.n == n_values[-1]) & (found.reach == 1)]
labels = ("R", "Lipschitz constant")
panels = plots.panels(shown, "function", labels, "y", title="${}$", height=2.6)
for function, ax in panels.items():
    line = shown[shown.function == function]
    color = plots.COLORS["printed"]
    ax.plot(line.R, 10**line.printed, "--", color=color, label="printed")
    ax.plot(line.R, 10**line.proved, color=plots.COLORS["exact"], label="proved")
    ax.plot(line.R, 10**line.found, "o", mfc="white", color="k", label="found")
panels["f"].set_yticks(10.0 ** np.arange(0, shown.printed.max(), 20))
panels["u"].legend()
plt.show()

# %% [markdown]
# **Bounds in the weights.** Lipschitz constants in the weights for the largest number of tokens: printed bounds (dashed),
# proved constants (solid), and the values that gradient ascent finds (circles). While the constant of the exponentials
# $u$ grows about as fast as the printed bound, that of the softmax row $f$ is at most $R/2$.
#
# The ascent takes about ten seconds on two cores. The cell divides the speeds found for $f$ by $R/2$ and prints the
# largest quotient for each $n$, in the first column for weights of at most the length $R$, and in the second for weights
# of at most $10R$. Expect numbers between 0.99 and 1 in both columns ([established](judged:P2.lip.half)). In the control
# of the card $u$ replaces $f$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
fastest = found.assign(value=found.found - np.log10(found.R / 2))
fastest = fastest.groupby(["function", "n", "reach"], sort=False).value.max()
fastest = fastest.reset_index().assign(most=0.0)
short = (fastest.reach == 1) & (fastest.function == "f")
long = (fastest.reach == 10) & (fastest.function == "f")
unnormalized = (fastest.reach == 1) & (fastest.function == "u")
proved = {"high": "most", "labels": ["n"]}
judge(
    "P2.lip.half",
    [
        attained_cases(fastest[short], name="n = {n}, x up to R long", **proved),
        attained_cases(fastest[long], name="n = {n}, x up to 10 R long", **proved),
    ],
    attained_cases(fastest[unnormalized], labels=["n"], name="u, n = {n}"),
)

# %% [markdown]
# **Exercise 1.** In $f$, double the scores. Which Lipschitz constant do you expect? Change two lines of the experiment to
# check.
#
# <details><summary>Solution</summary>
#
# By the chain rule the derivative is twice the derivative of softmax, taken at twice the scores, so the constant is at
# most $R$. The two lines become `f = (2 * scores).softmax(dim=-2)` and `jacobian = 2 * f * (data - f.mT @ data)`. The
# circles then end near $R$, which is twice as high as the solid line, and the printed numbers are near 2.
#
# </details>
#
# ## What is printed, and what is true
#
# The printed bounds on $f$ are true, but exceed $R/2$ by a factor that grows exponentially in $R^2$. They concern one row
# of the matrix problem of the [chapter before](tensor_trick.ipynb). Such a row is a single
# [softmax regression](#term-softmax-regression) with weights $x$, whose data matrix $A$ is a block of the
# [tensor trick](#term-tensor-trick). Let $\alpha=\langle u,1_n\rangle$, so that $f=\alpha^{-1}u$. The bounds compare two
# weight vectors $x$ and $y$, on the assumption that $R\ge4$, that $\Vert A\Vert\le R$ in spectral norm, and that
# $\Vert x\Vert,\Vert y\Vert\le R$. We write $\beta$ for the least possible $\alpha$.
#
# The bounds come from our notes on related papers. By [G] we mean [Gao et al. (2025)](cite:gao2025fast), who also cite
# Lemma 6.2 of paper 2 for the bound on $\beta$, and by [H] [Zhang et al. (2023)](cite:zhang2023h2o), who restate
# [Deng et al. (2023)](cite:deng2023attention). **None of the constants was read in paper 2**
# ([Gao et al., 2023](cite:gao2023tensor)), because our sources do not contain its constants.
#
# <details><summary>The printed bounds, with their sources</summary>
#
# | quantity | at most | read in |
# |---|---|---|
# | $\Vert u\Vert$, $\alpha$, $\alpha^{-1}$, $\Vert f\Vert$ | $\sqrt ne^{R^2}$, $ne^{R^2}$, $e^{R^2}$, $1$ | [G] Lemma E.4 |
# | $1/\beta$ | $e^{R^2}$ | Lemma 6.2 of paper 2, through [G] Lemma E.3 |
# | Lipschitz constant of $u$ | $2\sqrt nRe^{R^2}$ | [H] D.48 |
# | Lipschitz constant of $u$ | $\sqrt ne^{2R^2}$ (statement), $\sqrt nRe^{R^2}$ (proof) | [G] Lemma E.5.1 |
# | Lipschitz constant of $\alpha$ | $2nRe^{R^2}$ ($\sqrt n$ times the constant of $u$ in [H]) | [G] Lemma E.5.2 |
# | Lipschitz constant of $\alpha^{-1}$ | $ne^{4R^2}$ | [G] Lemma E.5.2 |
# | Lipschitz constant of $f$ | $n^{1.5}Re^{6R^2}$ (statement), $n^{1.5}e^{6R^2}$ (proof) | [G] Lemma E.5.3 |
# | Lipschitz constant of $\langle f,v\rangle$, $\Vert v\Vert\le R^2$ | $n^{1.5}e^{7R^2}$ | [G] Lemma E.5.4-5 |
# | a constant $R_0$ (our notes do not say of what; not judged) | $n^{1.5}e^{10R^2}$ | [G] Lemma E.6 |
# | Lipschitz constant of the Hessian of $\frac12(\langle f,v\rangle-e)^2$; of a sum of $nd$ such terms | $n^{1.5}e^{30R^2}$; $nd\,n^{1.5}e^{30R^2}$ | [G] App. E.1-2 |
# | Lipschitz constant of the Hessian of $L_{\exp}+L_{\rm sparse}+L_{\rm reg}$ | $n^2e^{40R^2}$ | [H] D.48 |
#
# </details>
#
# > **What is true.** Since only the scores $s=Ax$ matter, let $g(s)$ be a function of the scores with the derivative
# > $J_g(s)$. We consider all data with $\Vert A\Vert\le R$ and weights with $\Vert x\Vert\le R$, for any $R>0$. Let $K_g$
# > be the smallest common Lipschitz constant of the functions $x\mapsto g(Ax)$ for all these data. Then
# >
# > $$K_g=R\max_{\Vert s\Vert\le R^2}\Vert J_g(s)\Vert.$$
# >
# > For the functions above this gives:
# >
# > - the constant of $u$ is $Re^{R^2}$;
# > - the constant of $\alpha$ is $R\max_{\Vert s\Vert\le R^2}\Vert e^s\Vert$;
# > - the constant of $\alpha^{-1}$ is at most $\frac Rn e^{R^2/\sqrt n}$, and $\beta=ne^{-R^2/\sqrt n}$;
# > - the constant of $f$ is at most $R/2$, for weights $x$ of any norm. No smaller factor than $\frac12$ works for every
# >   $R$.
# >
# > The bound on $f$ is known ([Nair, 2025](cite:nair2025softmax)).
#
# <details><summary>Proofs</summary>
#
# *Scores.* Suppose that $A$ has at least two columns. Because the ball of weights is convex, the Lipschitz constant of
# $x\mapsto g(Ax)$ is the supremum of $\Vert J_g(s)A\Vert$ with $s=Ax$. This norm is at most $R\Vert J_g(s)\Vert$, and
# $\Vert s\Vert\le R^2$, so $K_g$ is at most the right-hand side.
#
# For the converse take any $s\ne0$ with $\Vert s\Vert\le R^2$ and a unit vector $w$ that $J_g(s)$ stretches most. Let $Q$
# be a matrix with two orthonormal columns, of which the first is $s/\Vert s\Vert$, and which span a plane that contains
# $w$. The data $A=RQ$ and the weights $x=(\Vert s\Vert/R,0)$ satisfy $\Vert A\Vert=R$, $\Vert x\Vert\le R$ and $Ax=s$.
# Since the unit vector $v=Q^\top w$ has $Av=Rw$, we have $\Vert J_g(s)Av\Vert=R\Vert J_g(s)\Vert$, and hence
# $K_g\ge R\Vert J_g(s)\Vert$.
#
# *Constant of $u$.* The norm of $J_u=\mathrm{diag}(u)$ is $e^{\max s_i}$, which is largest at $s=R^2e_1$.
#
# *Constants of $\alpha$ and $\alpha^{-1}$.* The gradients in the scores are $u=e^s$ for $\alpha$ and $-f/\alpha$ for
# $\alpha^{-1}$, and the norm of the second is at most $1/\beta$ because $\Vert f\Vert\le1$. To find $\beta$, let $\bar s$
# be the mean score. Then $\alpha\ge ne^{\bar s}$ by the inequality of the means, and $\bar s\ge-R^2/\sqrt n$ by
# Cauchy-Schwarz. Since both inequalities are equalities if all scores are $-R^2/\sqrt n$, it follows that
# $\beta=ne^{-R^2/\sqrt n}$.
#
# *Constant of $f$.* The derivative is $J_f=\mathrm{diag}(f)-ff^\top$. For a unit vector $v$ the number $v^\top J_fv$ is
# the variance of a random number that takes the value $v_i$ with probability $f_i$, and a variance is at most a quarter
# of the squared range. As the entries of a unit vector have a range of at most $\sqrt2$, we obtain
# $\Vert J_f\Vert\le\frac14\cdot2=\frac12$.
#
# To see that the factor $\frac12$ is sharp, let $v=(1,-1,0,\dots,0)/\sqrt2$ and $s=(1,1,0,\dots,0)\,R^2/\sqrt2$. Then
# $f_1=f_2$, so that $v^\top J_fv=f_1=1/(2+(n-2)e^{-R^2/\sqrt2})$, which tends to $\frac12$ as $R\to\infty$.
#
# </details>
#
# ## By hand
#
# Two tokens show where $R/2$ comes from, because their softmax row depends only on the difference $t$ of the two scores:
# it is $f=(p,1-p)$ with $p=1/(1+e^{-t})$. A small change of the scores by $(\delta,-\delta)$ changes $t$ by $2\delta$,
# and therefore $f$ by $2\delta\,p(1-p)\,(1,-1)$.
#
# So the scores move by the distance $\sqrt2\delta$ while the softmax row moves by $2\sqrt2\,p(1-p)\delta$. The quotient
# of the second distance by the first is $2p(1-p)\le\frac12$, with equality at $t=0$. Since the scores move at most $R$
# times as fast as the weights, the constant of $f$ is at most $R/2$.
#
# With more tokens a quotient $\Vert f(x)-f(y)\Vert/\Vert x-y\Vert$ near $R/2$ is found where two scores are large and all
# others are low. The next cell shows two such weight vectors $x$ and $y$, between which only the difference of the two
# large scores changes.

# %%
n = 32
R = 4.0
high = R**2 * np.sqrt((n - 2) / (2 * n))
low = -(R**2) * np.sqrt(2 / (n * (n - 2)))
s = np.full(n, low)
s[:2] = high  # now |s| = R^2
apart = np.zeros(n)
apart[:2] = [np.sqrt(0.5), -np.sqrt(0.5)]
A = R * np.column_stack([s / R**2, apart])  # orthonormal columns, so |A| = R


def softmax_row(x):
    u = np.exp(A @ x)
    return u / u.sum()


x = np.array([R, 0.001])
y = np.array([R, -0.001])
quotient = np.linalg.norm(softmax_row(x) - softmax_row(y)) / np.linalg.norm(x - y)
print(f"|A| = {np.linalg.norm(A, 2):.3f}")
print(f"|f(x) - f(y)| / |x - y| = {quotient:.4f}, R / 2 = {R / 2:.4f}")
print(f"printed bound {n**1.5 * R * np.exp(6 * R**2):.1e}")

# %% [markdown]
# **Exercise 2.** Let $F$ be the matrix of softmax rows. Show that
# $\Vert F(X)-F(Y)\Vert_F\le\frac12\Vert A_1\Vert\,\Vert A_2\Vert\,\Vert X-Y\Vert_F$.
#
# <details><summary>Solution</summary>
#
# Let $s_j$ and $s_j'$ be the scores of row $j$ at $X$ and at $Y$. Since each softmax row satisfies
# $\Vert f_j(X)-f_j(Y)\Vert\le\frac12\Vert s_j-s_j'\Vert$, squaring and summing over $j$ gives
# $\Vert F(X)-F(Y)\Vert_F\le\frac12\Vert A_1(X-Y)A_2^\top\Vert_F\le\frac12\Vert A_1\Vert\Vert A_2\Vert\Vert X-Y\Vert_F$.
#
# </details>
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | tested here |
# |---|---|
# | $\Vert x\Vert\le R$ | dropped in P2.lip.break; dropping $\Vert A\Vert\le R$ has the same effect, because only $Ax$ counts |
# | $R\ge4$ | the proofs here hold for every $R>0$ |
# | $\Vert A(x-y)\Vert_\infty$ small (no value is printed) | the proofs here never use it |
# | $A$ has at least two columns | always true of a block, whose width is $d^2\ge4$ |
#
# </details>
#
# ## Every printed bound that we could test holds
#
# The first card concerns the softmax row $f$ and its inner products $\langle f,v\rangle$, the second $u$, $\alpha$ and
# $\alpha^{-1}$. These two show the printed bound divided by the constant proved above, in powers of ten, so that a
# mistake in our notes that enlarged a bound by less than this factor would not change the verdict. The third card
# concerns the sizes of $u$, $\alpha$, $\alpha^{-1}$ and $f$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
large_radii = [4.0, *(bound for bound in radii if bound > 4)]  # printed for R >= 4
constants = lipschitz_bounds.printed_constants(n_values=n_values, radii=large_radii)
slack = constants.groupby(["function", "bound", "n"], sort=False).slack.min()
slack = slack.reset_index()
of_f = slack.function.isin(["f", "<f, v>"])
at_32 = lipschitz_bounds.printed_constants(n_values=[32], radii=[4.0, 6.0])
stated = at_32[at_32.bound == r"$f$: $n^{1.5}R\,e^{6R^2}$"]
sizes_of = {"n_values": n_values, "radii": large_radii}
within = lipschitz_bounds.printed_sizes(**sizes_of)
within = within.groupby(["bound", "n"], sort=False).excess.max().reset_index()
far = lipschitz_bounds.printed_sizes(**sizes_of, reach=3.0)
far = far[(far.function != "f") & (far.n == n_values[0])]
far = far.groupby("function", sort=False).excess.max().reset_index()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
look = {"value": "slack", "labels": ["bound", "n"], "name": "{bound}, n = {n}"}
judge(
    "P2.lip.f",
    [
        exact_cases(slack[of_f], **look),
        exact_cases(
            stated,
            value="slack",
            labels=["n", "R"],
            name="f as stated, n = {n}, R = {R:g}",
        ),
    ],
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge("P2.lip.u", slack[~of_f], **look)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
too_large = {"u": "$u$", "alpha": r"$\alpha$", "1/alpha": r"$1/\alpha$"}
judge(
    "P2.size.printed",
    exact_cases(within, "excess", labels=["bound", "n"], name="{bound}, n = {n}"),
    [
        exact_cases(
            far[far.function == function],
            "excess",
            labels=[],
            name=f"{word}, x three times as long, few tokens",
        )
        for function, word in too_large.items()
    ],
)

# %% [markdown]
# ## Which conditions are needed?
#
# Some printed bounds fail if the weights $x$ are much longer than $R$. The machine-written summary of paper 2 says that
# the analysis "requires strict constraints" and that without them the bounds "may not hold".
#
# The caution is right, because the constants of $u$, $\alpha$ and $\alpha^{-1}$ grow with the length of $x$ and
# eventually exceed the printed bounds, as the card shows for $u$ with numbers from the experiment above. The bound $R/2$
# on the constant of $f$, by contrast, holds for $x$ of any length.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
longer = found[(found.function == "u") & (found.reach == 10)]
longer = longer[longer.R == max(radii)]
longer = longer.assign(excess=longer.found - longer.printed)
name = "u, n = {n}, R = {R:g}, x up to 10 R long"
longer = attained_cases(longer, "excess", labels=["n", "R"], name=name)
judge("P2.lip.break", longer)

# %% [markdown]
# **Exercise 3.** For long $x$ the bound $R/2$ on the constant of $f=\alpha^{-1}u$ still holds. Why does the printed bound
# on the constant of $\alpha^{-1}$ fail?
#
# <details><summary>Solution</summary>
#
# A long $x$ can make all scores very negative. Then $\alpha$ is tiny, so that $\alpha^{-1}$ and its slope are huge. In
# $f=\alpha^{-1}u$ this does no harm, because the same scores make $u$ tiny: softmax does not change under a common shift
# of the scores, so the two effects cancel.
#
# </details>

# %% [markdown]
# ## What a constant is for: a step size
#
# The largest second derivative of the loss of a row gives a step size that is safe for all data. We regard the loss
# $\frac12\Vert f-b\Vert^2$ of a row with the target $b$ as a function of the scores. For two tokens with $b=(0,1)$ and
# $f=(p,1-p)$ this loss is $p^2$, and along the unit direction $(1,-1)/\sqrt2$ its second derivative is $4g(p)$ with
# $g(p)=p^2(1-p)(2-3p)$.
#
# This derivative has the largest value $0.308$ at $p_-=(15-\sqrt{33})/24$ and the smallest value $-0.240$ at
# $p_+=(15+\sqrt{33})/24$ ([Curvature and passes](#fig-opt-passes)). By the
# [theorem on the curvature of a row](certificates.ipynb#thm-curvature) the same two numbers bound the second derivative
# of the loss of a row for every number of tokens, every $b$ in the simplex and every unit direction.
#
# The upper extreme $\lambda=4g(p_-)$ gives the step size $\eta=1/(\lambda\Vert A_1\Vert^2\Vert A_2\Vert^2)$. If $L(X)$ is
# the loss of all rows together, each step of gradient descent with this step size lowers $L$ by at least
# $\frac\eta2\Vert\nabla L\Vert_F^2$.
#
# <details><summary>Proof</summary>
#
# Let $H_j$ be the Hessian of the loss of row $j$ in the scores, and let $t_j$ be row $j$ of $A_1VA_2^\top$. In a
# direction $V$ the second derivative of $L$ is $\sum_jt_j^\top H_jt_j\le\lambda\sum_j\Vert t_j\Vert^2$. Here
# $\sum_j\Vert t_j\Vert^2=\Vert A_1VA_2^\top\Vert_F^2\le\Vert A_1\Vert^2\Vert A_2\Vert^2\Vert V\Vert_F^2$, so that the
# second derivative is at most $\Vert V\Vert_F^2/\eta$. Hence, by Taylor's formula, a step $V=-\eta\nabla L$ changes $L$
# by at most $-\eta\Vert\nabla L\Vert_F^2+\frac\eta2\Vert\nabla L\Vert_F^2$.
#
# </details>
#
# With more than two tokens the curvature comes arbitrarily close to the same extremes, because all scores but two can be
# very low. An ascent over scores and directions looks for a second derivative beyond them. One of its starts has all
# scores but two very low, and the other starts are random. The control is the cross-entropy, which is convex.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
search = {"starts": starts, "steps": steps, "seed": seed}
bends = lipschitz_bounds.extreme_curvature(n_values=sizes, **search)
convex = lipschitz_bounds.extreme_curvature(
    n_values=[4], **search, kind="cross_entropy"
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
proved = {"high": "most", "labels": ["which", "n"]}
both = attained_cases(bends, name="{which}, n = {n}", **proved)
judge("P2.opt.range", both, attained_cases(convex, name="{which}, n = {n}", **proved))

# %% [markdown]
# ## Experiment 2: dividing the data out
#
# Gradient descent is slow if the data matrices have a large condition number. A change of coordinates, which we call
# *dividing the data out*, removes this effect. Let $Y=(A_1^\top A_1)^{1/2}X(A_2^\top A_2)^{1/2}$, so that the scores
# $S=A_1XA_2^\top$ have the same norm as $Y$. In the coordinates $Y$ the second derivatives in unit directions therefore
# lie between the two extremes above. Written in $X$, gradient descent in $Y$ is
#
# <a id="eq-opt-pre"></a>
#
# $$
# X\leftarrow X-\tfrac1{4g(p_-)}\,(A_1^\top A_1)^{-1}\,\nabla L\,(A_2^\top A_2)^{-1}.
# $$
#
# Such Kronecker-factored preconditioners are known. To stretch the data is to replace $A_i$ by $A_iM_i$ with an
# invertible $M_i$, and a start from $X=0$ makes [the preconditioned steps](#eq-opt-pre) give the same scores and losses
# for the stretched data. We stretch the data of one problem, keep its targets, and count the passes over the data from
# $X=0$ until the loss is a millionth of its first value. The rivals are gradient descent, gradient descent with the data
# divided out, and SciPy's Newton-CG with exact Hessian-vector products.

# %% figure={"alt": "Left: a curve that is positive, largest left of zero, and negative around two. Right: gradient descent rises with the condition number, the preconditioned one is horizontal, Newton-CG lies far below.", "name": "fig-opt-passes"} jupyter={"source_hidden": true} tags=["hide-input"]
counts = lipschitz_bounds.passes(
    context_length=context_length, dim=dim, conditions=conditions, seed=seed
)
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.6))
t = np.linspace(-6, 8, 400)
curvature = lipschitz_bounds.two_tokens(1 / (1 + np.exp(-t)))
plots.exact_curve(axes[0], t, curvature)
axes[0].set(xlabel="difference t of two scores", ylabel="second derivative")
methods = counts.melt("condition", var_name="method", value_name="passes")
names = {
    "descent": "gradient descent",
    "preconditioned": "data divided out",
    "newton": "Newton-CG",
}
methods = methods.replace({"method": names})
plots.lines(axes[1], methods, "condition", "passes", "method", marker="o")
axes[1].set(yscale="log", ylim=(1, 1e7), xlabel="condition number", ylabel="passes")
plots.label_lines(axes[1])
plt.show()

# %% [markdown]
# **Curvature and passes.** Left: second derivative of the loss of two tokens with the target $(0,1)$, against the
# difference of their scores. Far to the right the prediction is confident and wrong, and yet the derivative is near zero.
# Right: passes over the data until the loss is a millionth of its first value, against the condition number of the data.
# With the data divided out the number of passes stays the same, and Newton-CG needs the fewest.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
# the loss of gradient descent is checked every tenth step: it may need nine fewer
rivals = counts.assign(descent=counts.descent - 9)
rivals = rivals[["condition", "descent", "newton"]]
name = "condition number {condition:g}"
judge("P2.opt.newton", rivals, value="newton", name=name)

# %% [markdown]
# **Exercise 4.** Suppose that the first scores for $(A_1M_1,A_2M_2)$ and for $(A_1,A_2)$ are equal. Show that the scores
# stay equal after every [preconditioned step](#eq-opt-pre).
#
# <details><summary>Solution</summary>
#
# Let $\hat X$ be the weights and $\hat G$ the gradient for $(A_1,A_2)$. For the stretched data the weights
# $X=M_1^{-1}\hat XM_2^{-\top}$ give the same scores and have the gradient $M_1^\top\hat GM_2$. The step at $X$ is
# proportional to
#
# $$
# (M_1^\top A_1^\top A_1M_1)^{-1}M_1^\top\hat GM_2(M_2^\top A_2^\top A_2M_2)^{-1}=
# M_1^{-1}(A_1^\top A_1)^{-1}\hat G(A_2^\top A_2)^{-1}M_2^{-\top}.
# $$
#
# This is the step at $\hat X$, transformed in the same way as $X$, so that the scores stay equal after the step.
#
# </details>
#
# **Exercise 5.** Draw a problem with twenty tokens in four dimensions and take 200 steps of gradient descent with the
# step size $1/(4g(p_-)\Vert A_1\Vert^2\Vert A_2\Vert^2)$ from $X=0$. Does the loss ever rise? Then multiply the step size
# by a thousand and look again.
#
# <details><summary>Solution</summary>
#
# ```python
# from icl.tensor_trick import gradient, loss
#
# A1, A2 = torch.randn(2, 20, 4, dtype=torch.float64)
# B = torch.randn(20, 20, dtype=torch.float64).softmax(-1)
# X, losses = torch.zeros(4, 4, dtype=torch.float64), []
# for step in range(200):
#     losses.append(loss(A1, A2, X, B).item())
#     norms = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)
#     X = X - gradient(A1, A2, X, B) / (0.3082 * norms**2)
# print("largest rise:", np.diff(losses).max())
# ```
# The largest rise is negative: the loss falls in every step. With the larger step size the loss rises in many steps.
#
# </details>
#
# ## To remember
#
# A softmax row changes at most $R/2$ times as fast as its weights. Printed bounds on this speed are many powers of ten
# larger, because they multiply two worst cases that never occur together. A safe step size comes from the largest
# curvature of a row, and once the data are divided out, one step size is safe for every problem.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
