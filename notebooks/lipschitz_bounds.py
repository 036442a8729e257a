# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How sensitive is softmax? Half of R
#
# *If the trained weights change a little, how far can a row of attention move? And how long a step may training
# take?*

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

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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

# %% figure={"alt": "Left, the speed of a row of two tokens against the difference of their scores: a bell with the height one half at zero. Right, the fastest speed against R: a straight line with the slope one half, with circles on it. Some circles for many tokens and small R lie below it, and none above.", "name": "fig-lip-half"} jupyter={"source_hidden": true} tags=["hide-input"]
fastest = found[(found.function == "f") & (found.reach == 10)]
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.8))
t = np.linspace(-6, 6, 400)
p = 1 / (1 + np.exp(-t))
plots.exact_curve(axes[0], t, 2 * p * (1 - p))
axes[0].axhline(0.5, color=plots.COLORS["guide"], lw=1, ls="--")
axes[0].set(xlabel="difference t of the two scores", ylim=(0, 0.6))
axes[0].set(ylabel="row moves / scores move", title="two tokens")
ends = np.array([0, max(radii)])
axes[1].plot(ends, ends / 2, color=plots.COLORS["exact"], label="R / 2")
colors = plots.colors(fastest.n)
for n, part in fastest.groupby("n"):
    circles = {"mfc": "none", "color": colors[n], "label": f"{n} tokens"}
    axes[1].plot(part.R, 10**part.found, "o", **circles)
axes[1].set(xlabel="R", ylabel="row moves / weights move", title="fastest found")
axes[1].legend()
plt.show()

# %% [markdown]
# **Half of R.** Left: the scores of two tokens move, and their softmax row moves as well. The curve shows the
# quotient of the two distances. Right: the trained weights move, and the number $R$ says how much the data can
# stretch a vector. Each circle is the fastest row that a search over data and weights finds. No circle lies above the
# line $R/2$.
#
# **In short.** A layer computes its scores as data times trained weights. Let $R$ be the largest factor by which the
# data stretch a vector. Then a row of attention moves at most $R/2$ times as far as the weights. It moves fastest
# where two scores are equal and all others are low. A safe step of training needs another bound, on the curvature of
# the loss. Along a unit direction of the scores this curvature is at most $0.308$, for any number of tokens.
#
# <details><summary>How sure?</summary>
#
# - $R/2$ is proved, and a search comes within one percent of it ([the card](judged:P2.lip.half)). In the first figure
#   the weights of this search are at most $10R$ long. The factor $\frac12$ between a softmax row and its scores is
#   known ([Nair, 2025](cite:nair2025softmax)).
# - The curvature is proved to stay in its range for every number of tokens, every target in the simplex and every direction, and
#   searches come within two percent of both ends ([the card](judged:P2.opt.range)). We have not found this range elsewhere.
# - Kronecker-factored preconditioners, which divide the data out, are known. The count of passes is for
#   [one problem that we chose](judged:P2.opt.newton).
# - The bounds that other papers print are true ([softmax rows](judged:P2.lip.f), [exponentials and their sum](judged:P2.lip.u)). We
#   took them from notes on these papers. The constants of paper 2 itself are in none of our sources.
#
# </details>
#
# ## Why
#
# Let us begin with two tokens. Softmax gives them the shares $p$ and $1-p$ of the attention, so the row is $(p,1-p)$.
# If the scores move a little, the row moves at most $2p(1-p)$ times as far. This factor is largest at a tie,
# $p=\frac12$, where its value is $\frac12$. If $p$ is near 0 or 1, the row hardly moves at all. Can a row of more
# tokens move faster? No: the factor is at most $\frac12$ for any number of tokens.
#
# <details><summary>Proofs, for two tokens and for more</summary>
#
# *Two tokens.* Only the difference $t$ of the two scores counts, because $p=1/(1+e^{-t})$. The difference changes
# fastest if one score is raised by a small $\delta$ and the other is lowered by $\delta$. The scores then move by the
# distance $\sqrt2\,\delta$. The difference $t$ grows by $2\delta$, and so the row moves by $2\delta\,p(1-p)\,(1,-1)$.
# The length of this vector is $2p(1-p)$ times the distance $\sqrt2\,\delta$.
#
# *More tokens.* The derivative of softmax is the matrix $J=\mathrm{diag}(f)-ff^\top$, where $f$ is the row. Take a
# unit vector $v$. Then $v^\top Jv$ is the variance of a random number that takes the value $v_i$ with probability
# $f_i$. A variance is at most a quarter of the squared range. The entries of a unit vector lie within a range of
# $\sqrt2$. So
#
# $$\Vert J\Vert\le\tfrac14\cdot2=\tfrac12.$$
#
# Equality needs two values that are taken with probability one half each: two tokens share the attention equally, and
# the others get none.
#
# </details>
#
# Now the trained weights. Let the matrix $A$ hold the data of a row, and the vector $x$ the weights, so that the
# scores are $Ax$. The number $R$ is the spectral norm of $A$: the least number such that $Ax$ is at most $R$ times as
# long as $x$ for every $x$. So the scores move at most $R$ times as far as the weights. The row moves at most half as far as the scores,
# and hence at most $R/2$ times as far as the weights. Such a factor is called a
# [Lipschitz constant](#term-lipschitz-constant).
#
# ## The experiment
#
# Can a search beat $R/2$? Let gradient ascent change the weights, and data of spectral norm $R$, until the row moves
# as fast as it can. To try another norm, change the line `R = 4.0`.

# %% tags=["experiment"]
import numpy as np
import pandas as pd
import torch

R = 4.0  # or 1.0, for example
rng = np.random.default_rng(0)
speeds = []
for tokens in (2, 8, 32):
    A = torch.from_numpy(rng.standard_normal((8, tokens, 2))).requires_grad_()
    x = torch.from_numpy(rng.standard_normal((8, 2, 1))).requires_grad_()
    adam = torch.optim.Adam([A, x], lr=0.1)
    history = []
    for _ in range(200):
        data = R * A / torch.linalg.matrix_norm(A, 2)[:, None, None]
        f = (data @ x).softmax(dim=-2)
        jacobian = f * (data - f.mT @ data)
        speed = torch.linalg.matrix_norm(jacobian, 2)
        history.append(speed.detach())
        adam.zero_grad()
        (-speed.log().sum()).backward()
        adam.step()
    history = torch.stack(history)
    at_random = history[0].median().item()
    found_here = {"random data": at_random, "fastest found": history.max().item()}
    speeds.append({"tokens": tokens} | found_here | {"R / 2": R / 2})
pd.DataFrame(speeds).round(3)

# %% [markdown]
# A row of random data moves more slowly than $R/2$, and the more tokens it has, the more slowly it moves. The search
# comes close to $R/2$ and never exceeds it.

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
# **Exercise 1.** Let the row be the softmax of twice the scores. Which Lipschitz constant do you expect? Change two lines
# of the experiment to check.
#
# <details><summary>Solution</summary>
#
# By the chain rule the derivative is twice the derivative of softmax, taken at twice the scores, so the constant is at
# most $R$. The two lines become `f = (2 * data @ x).softmax(dim=-2)` and
# `jacobian = 2 * f * (data - f.mT @ data)`. The fastest speeds are then near $R$.
#
# </details>
#
# **Exercise 2.** Let $f(x)$ be the softmax row of the scores $Ax$. Find data $A$ with 32 tokens and spectral norm
# $R=4$, and two vectors $x$ and $y$ of weights, at most $R$ long. The quotient $\Vert f(x)-f(y)\Vert/\Vert x-y\Vert$
# should be within one percent of $R/2$.
#
# <details><summary>Solution</summary>
#
# Let two scores be high and equal, and all others low. Between $x$ and $y$ only the difference of the two high scores
# changes.
# ```python
# n, R = 32, 4.0
# s = np.full(n, -(R**2) * np.sqrt(2 / (n * (n - 2))))
# s[:2] = R**2 * np.sqrt((n - 2) / (2 * n))  # now s has the length R^2
# apart = np.zeros(n)
# apart[:2] = [np.sqrt(0.5), -np.sqrt(0.5)]
# A = R * np.column_stack([s / R**2, apart])  # orthonormal columns, times R
#
#
# def softmax_row(x):
#     u = np.exp(A @ x)
#     return u / u.sum()
#
#
# x, y = np.array([R, 0.001]), np.array([R, -0.001])
# moved = np.linalg.norm(softmax_row(x) - softmax_row(y))
# print(np.linalg.norm(A, 2), moved / np.linalg.norm(x - y))
# ```
# These $x$ and $y$ are longer than $R$ by about $10^{-7}$. Multiply both by $1-10^{-6}$ to make them short enough.
#
# </details>
#
# ## A safe step size
#
# How long may a step of gradient descent be? If the loss bends strongly, even a short step can overshoot. So we need
# a bound on the *curvature* of the loss, its second derivative.
#
# Let $b$ be the target of a row $f$, and let the loss of the row be $\frac12\Vert f-b\Vert^2$. Again we begin with
# two tokens, with $f=(p,1-p)$ and $b=(0,1)$. The loss is then $p^2$. Along the unit direction $(1,-1)/\sqrt2$ of the
# scores its second derivative is
#
# $$4p^2(1-p)(2-3p).$$
#
# The largest value of this second derivative is $\lambda=0.308$, at $p=(15-\sqrt{33})/24$. Its smallest value is
# $-0.240$, so the loss is not convex. More tokens do not widen this range, and neither do other targets of shares
# that sum to one ([proof](certificates.ipynb#thm-curvature)).
#
# Now take all rows of attention together. Let the rows of the matrices $A_1$ and $A_2$ be tokens, and let the matrix
# $X$ hold the weights. All scores are then the entries of $A_1XA_2^\top$. The scores move at most
# $\Vert A_1\Vert\,\Vert A_2\Vert$ times as far as the weights, where the bars are spectral norms. A second derivative
# grows with the square of such a factor. So along a unit direction of the weights the second derivative of the whole
# loss $L(X)$ is at most $\lambda\Vert A_1\Vert^2\Vert A_2\Vert^2$. One over this number is a safe step size,
#
# $$
# \eta=\frac1{\lambda\,\Vert A_1\Vert^2\Vert A_2\Vert^2}.
# $$
#
# With this $\eta$ the loss never rises: each step lowers it by at least $\frac\eta2\Vert\nabla L\Vert_F^2$, where
# $\Vert\cdot\Vert_F$ is the Frobenius norm.
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
# The next card searches for a second derivative outside the range from $-0.240$ to $0.308$.

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
# **Exercise 3.** Draw twenty random tokens in four dimensions, and random targets. Take 200 steps of gradient descent
# with the step size $\eta$, from $X=0$. Does the loss ever rise? Then multiply the step size by a thousand and look
# again.
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
# ## For specialists: dividing the data out
#
# The step size $\eta$ suits the direction in which the data are longest. If the data are much shorter in other
# directions, gradient descent is slow there. A change of coordinates helps. Let
# $Y=(A_1^\top A_1)^{1/2}X(A_2^\top A_2)^{1/2}$. The matrix $Y$ has the same Frobenius norm as the scores
# $A_1XA_2^\top$. So in these coordinates the second derivatives lie between $-0.240$ and $0.308$ for all data, and
# the step size $1/\lambda$ is safe for every problem. Written in $X$, gradient descent in $Y$ is
#
# <a id="eq-opt-pre"></a>
#
# $$
# X\leftarrow X-\tfrac1\lambda\,(A_1^\top A_1)^{-1}\,\nabla L\,(A_2^\top A_2)^{-1}.
# $$
#
# We call this *dividing the data out*. How much does it help? To *stretch* the data is to replace $A_1$ by $A_1M_1$
# and $A_2$ by $A_2M_2$, with invertible matrices $M_1$ and $M_2$. We stretch the data of one problem, keep its
# targets, and start from $X=0$. Then we count the passes over the data until the loss is a millionth of its first
# value. We compare three methods: gradient descent, gradient descent with the data divided out, and SciPy's Newton-CG
# with exact Hessian-vector products.

# %% figure={"alt": "Left: a curve that is positive, largest left of zero, and negative around two. Right: gradient descent rises with the condition number, the preconditioned one is horizontal, Newton-CG lies far below.", "name": "fig-opt-passes"} jupyter={"source_hidden": true} tags=["hide-input"]
counts = lipschitz_bounds.count_passes(
    context_length=context_length, dim=dim, conditions=conditions, seed=seed
)
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.6))
t = np.linspace(-6, 8, 400)
curvature = lipschitz_bounds.bend_of_two_tokens(1 / (1 + np.exp(-t)))
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
# difference of their scores. Far to the right the prediction is confident and wrong, and yet the curvature is near zero.
# Right: passes over the data until the loss is a millionth of its first value, against the condition number of the data.
#
# With the data divided out, stretching changes nothing, and the number of passes stays the same. Newton's method needs the
# fewest passes on this problem.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
# the loss of gradient descent is checked every tenth step: it may need nine fewer
rivals = counts.assign(descent=counts.descent - 9)
rivals = rivals[["condition", "descent", "newton"]]
name = "condition number {condition:g}"
judge("P2.opt.newton", rivals, value="newton", name=name)

# %% [markdown]
# **Exercise 4.** Let $F(X)$ be the matrix of all softmax rows of the scores $A_1XA_2^\top$. Show that
# $\Vert F(X)-F(Y)\Vert_F\le\frac12\Vert A_1\Vert\,\Vert A_2\Vert\,\Vert X-Y\Vert_F$, where $\Vert\cdot\Vert_F$ is the
# Frobenius norm.
#
# <details><summary>Solution</summary>
#
# Let $s_j$ and $s_j'$ be the scores of row $j$ at $X$ and at $Y$. Since each softmax row satisfies
# $\Vert f_j(X)-f_j(Y)\Vert\le\frac12\Vert s_j-s_j'\Vert$, squaring and summing over $j$ gives
# $\Vert F(X)-F(Y)\Vert_F\le\frac12\Vert A_1(X-Y)A_2^\top\Vert_F\le\frac12\Vert A_1\Vert\Vert A_2\Vert\Vert X-Y\Vert_F$.
#
# </details>
#
# **Exercise 5.** Suppose that the first scores for the stretched data $(A_1M_1,A_2M_2)$ and for $(A_1,A_2)$ are
# equal. Show that the scores stay equal after every [preconditioned step](#eq-opt-pre).
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
# ## What the paper says
#
# Paper 2 ([Gao et al., 2023](cite:gao2023tensor)) announces a Lipschitz analysis in its abstract. All that we know of
# its bounds is one sentence of a machine-written summary:
#
# > **The conditions** (a machine-written summary of paper 2). If the input data violates the bounded norm assumptions or
# > the ∞-norm constraints on differences, the Lipschitz bounds may not hold.
#
# This caution is right for the exponentials $u=e^{Ax}$, before softmax divides them by their sum. The Lipschitz
# constant of $u$ grows with the length of the weights $x$. So for long weights it exceeds every bound that assumes
# $\Vert x\Vert\le R$.[✓](judged:P2.lip.break) The bound $R/2$ for the softmax row needs no such assumption.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
longer = found[(found.function == "u") & (found.reach == 10)]
longer = longer[longer.R == max(radii)]
longer = longer.assign(excess=longer.found - longer.printed)
name = "u, n = {n}, R = {R:g}, x up to 10 R long"
longer = attained_cases(longer, "excess", labels=["n", "R"], name=name)
judge("P2.lip.break", longer)

# %% [markdown]
# ## For specialists: the bounds of related papers
#
# **Exercise 6.** Let $\alpha$ be the sum of the exponentials, so that the softmax row is $f=\alpha^{-1}u$. For long
# $x$ the bound $R/2$ on the constant of $f$ still holds. Why does a bound on the constant of $\alpha^{-1}$ fail?
#
# <details><summary>Solution</summary>
#
# A long $x$ can make all scores very negative. Then $\alpha$ is tiny, so that $\alpha^{-1}$ and its slope are huge. In
# $f=\alpha^{-1}u$ this does no harm, because the same scores make $u$ tiny: softmax does not change under a common shift
# of the scores, so the two effects cancel.
#
# </details>
#
# Several papers on softmax regression print Lipschitz bounds, and those that we could test are true. They are about one row of the
# matrix problem of [the chapter before](tensor_trick.ipynb). Such a row is a single [softmax regression](#term-softmax-regression),
# whose data matrix $A$ is a block of the [tensor trick](#term-tensor-trick). Put $u=e^{Ax}$ and $\alpha=\langle u,1_n\rangle$. Then
# the row is $f=\alpha^{-1}u$. The bounds compare two weight vectors $x$ and $y$. They assume $R\ge4$, $\Vert A\Vert\le R$ and
# $\Vert x\Vert,\Vert y\Vert\le R$. We write $\beta$ for the least possible $\alpha$.
#
# In the table [G] is [Gao et al. (2025)](cite:gao2025fast), who cite Lemma 6.2 of paper 2 for the bound on $\beta$. And [H] is
# [Zhang et al. (2023)](cite:zhang2023h2o), who restate [Deng et al. (2023)](cite:deng2023attention).
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
# <details><summary>How loose are they?</summary>
#
# For the exponentials $u$ the true constant grows about as fast as the bounds. For the row $f$ it does not: a bound by way
# of $u$ and $\alpha^{-1}$ lets the exponentials be huge while their sum is tiny, and the two never happen together. So the
# bound $n^{1.5}Re^{6R^2}$ of [G] exceeds $R/2$ by [44](<judged:P2.lip.f|f as stated, n = 32, R = 4|.0f>) powers of ten at
# $n=32$ and $R=4$. For the proofs in which it stands this does no harm, because they need some bound and not the best one.
#
# </details>

# %% figure={"alt": "Two panels against R from one half to six. For f the dashed printed curve rises to about a hundred powers of ten. The solid curve stays near one, and the circles lie on it for large R and below it for small R. For u the solid and the dashed curve rise together, and the circles lie on the solid one.", "name": "fig-lip-bounds"} jupyter={"source_hidden": true} tags=["hide-input"]
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
# **Bounds in the weights.** Lipschitz constants for the largest number of tokens: printed bounds (dashed), proved constants
# (solid), and the fastest speeds that the search finds for weights up to $R$ long (circles). Left: the softmax row $f$.
# Right: the exponentials $u$.
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
# *Constant of $f$.* The norm of $J_f=\mathrm{diag}(f)-ff^\top$ is at most $\frac12$, as shown above.
#
# To see that the factor $\frac12$ is sharp, let $v=(1,-1,0,\dots,0)/\sqrt2$ and $s=(1,1,0,\dots,0)\,R^2/\sqrt2$. Then
# $f_1=f_2$, so that $v^\top J_fv=f_1=1/(2+(n-2)e^{-R^2/\sqrt2})$, which tends to $\frac12$ as $R\to\infty$.
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
# The first of the next cards is about the softmax row $f$ and its inner products $\langle f,v\rangle$, and the second about $u$,
# $\alpha$ and $\alpha^{-1}$. Both show the printed bound divided by the proved constant, in powers of ten. The third card is about
# the sizes of $u$, $\alpha$, $\alpha^{-1}$ and $f$.

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

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
