# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     formats: ipynb,py:percent
#     notebook_metadata_filter: kernelspec,-all
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The tensor trick: many softmax regressions as one
#
# **Short answer.** Read row by row,
# $\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$ turns a matrix problem
# into $n$ softmax regressions that share one unknown vector ({numref}`fig-tt-hand`);
# read column by column, as many textbooks do, it is false ({judged}`P2.trick`).
# Everything built directly on it holds up to rounding ({numref}`fig-tt-errors`). The
# trick is an instrument of proof and not of computing: taken literally it holds the
# $n^2d^2$ numbers of the explicit product ({judged}`P2.memory`), which the matrix form
# never forms.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [2, 3, 5]  # dimensions d in the identity checks, each with 3 d tokens
draws = 10  # random problems for each d
sizes = [48, 64, 80, 96]  # n and d, equal; the Kronecker product is built
large_sizes = [256, 512, 1024]  # the same, for the matrix form only
repeats = 5  # timed repetitions, the fastest counts
seed = 0  # root of the random numbers

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import math
from collections import defaultdict

import matplotlib.pyplot as plt
import numpy as np
import torch

from icl import tensor_trick
from icl.streams import stream
from icl.tensor_trick import (
    gradient,
    hvp,
    kron_block,
    kronecker,
    loss,
    row_gradient,
    row_hvp,
    vec,
)
from icl_book import measure, notebook, plots
from icl_book.claims import exact, judge, sampled

notebook.setup(globals(), sizes=2)

# %% [markdown]
# ## What is printed
#
# Paper 2 {cite:p}`gao2023tensor` turns attention into a regression problem. The
# abstract of arXiv 2307.02419 sets two problems for given
# $A_1, A_2\in\mathbb R^{n\times d}$ and $B\in\mathbb R^{n\times n}$, with the
# exponential taken entry by entry and $D(X)=\mathrm{diag}(\exp(A_1XA_2^\top)1_n)$:
#
# $$
# \begin{aligned}
# \text{normalized:}&\quad\min_X \Vert D(X)^{-1}\exp(A_1XA_2^\top)-B\Vert_F^2,\\
# \text{rescaled:}&\quad\min_X \Vert \exp(A_1XA_2^\top)-D(X)\,B\Vert_F^2.
# \end{aligned}
# $$ (eq-tt-problems)
#
# It relates them to the *single* regressions
# $\Vert\langle e^{Ax},1_n\rangle^{-1}e^{Ax}-b\Vert_2^2$ and
# $\Vert e^{Ax}-\langle e^{Ax},1_n\rangle b\Vert_2^2$ of earlier papers, and says that
# vectorization "expands the dimension from $d$ to $d^2$".
#
# The abstract does not print the identity that does the work. The full text was not
# among our sources; we read the identity in two later papers that share authors with it
# and cite it for the trick {cite:p}`gao2025fast,alman2024gradient`, and in a
# machine-written summary of it. **Of the cards below three are about paper 2's own
# words, its abstract: P2.normalized, P2.rescaled and P2.dimension.** The identity:
#
# $$
# \mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X).
# $$ (eq-tt-trick)
#
# ```{admonition} With vec spelled out
# :class: tip
# The summary leaves out what $\mathrm{vec}$ means. {cite:t}`gao2025fast` define it row
# by row, $\mathrm{vec}(X)_{(i-1)d+j}=X_{i,j}$, and that is the reading under which
# {eq}`eq-tt-trick` is true. Many textbooks (and MATLAB, Julia, R) read a matrix column
# by column; under that reading {eq}`eq-tt-trick` is false, and the factors have to be
# swapped to $A_2\otimes A_1$. **In this book vec is row-major**, as `reshape(-1)` is in
# NumPy and PyTorch.
# ```

# %% [markdown]
# ## In plain words
#
# Think of $A_1$ as $n$ queries, of $A_2$ as $n$ keys, and of $X$ as the weights between them: row $j$ of $A_1XA_2^\top$
# holds the attention scores of query $j$. The scores are linear in $X$. So they are *some* matrix times the list of all
# entries of $X$, and the Kronecker product $A_1\otimes A_2$ is that matrix. Its rows come in $n$ blocks, one for each
# query: $n$ ordinary softmax regressions **that share one unknown vector** $x=\mathrm{vec}(X)$ of length $d^2$.
#
# The trick takes a matrix problem *to* the vector form, so that proofs about single regressions can be reused. The
# vector form holds the same $d^2$ unknowns, but its data matrix has $n^2d^2$ entries where $A_1$ and $A_2$ together
# have $2nd$.
#
# ## By hand
#
# Two tokens, two dimensions, small integers.

# %%
A1 = torch.tensor([[1, 2], [0, 1]])
A2 = torch.tensor([[1, 0], [2, 1]])
X = torch.tensor([[1, 2], [3, 4]])

S = A1 @ X @ A2.T
K = torch.kron(A1, A2)
rows, columns = vec(X), vec(X.T)  # vec(X) row by row, and column by column

other = torch.kron(A2, A1)  # the factors swapped


def listed(v):
    return ", ".join(map(str, v.tolist()))


plots.table(
    [
        "vec reads",
        r"$\mathrm{vec}(A_1XA_2^\top)$",
        r"$(A_1\otimes A_2)\,\mathrm{vec}(X)$",
        r"$(A_2\otimes A_1)\,\mathrm{vec}(X)$",
    ],
    [
        ["rows", listed(vec(S)), listed(K @ rows), listed(other @ rows)],
        ["columns", listed(vec(S.T)), listed(K @ columns), listed(other @ columns)],
    ],
    "The two sides of the identity. $A_1XA_2^\\top$ has the rows "
    f"({listed(S[0])}) and ({listed(S[1])})",
)

# %% [markdown]
# Reading rows, the first two lists are the same. Reading columns, they are not, and swapping the factors repairs
# it. {numref}`fig-tt-hand` shows where the numbers sit: the upper two rows of $A_1\otimes A_2$ make the first
# row of $A_1XA_2^\top$, the lower two the second.
#
# **Exercise 1.** In the worked example, compute $\mathsf A_2\,\mathrm{vec}(X)$ by hand and find the numbers
# in the table above.
#
# ```{admonition} Solution
# :class: dropdown
# $\mathsf A_2=(0,1)\otimes A_2$ has the rows $(0,0,1,0)$ and $(0,0,2,1)$. Times $(1,2,3,4)$ this is $(3,10)$:
# the second row of $A_1XA_2^\top$.
# ```

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The worked example. Left: the Kronecker product, each 2 x 2 block a multiple of $A_2$; the line separates the blocks $\\mathsf A_1$ (upper two rows) and $\\mathsf A_2$ (lower two). Middle: vec of $X$, its rows one after the other. Right: the product, which is $A_1XA_2^\\top$ read row by row. Pure numbers, no units.", "name": "fig-tt-hand"}, "image": {"alt": "Three matrices with their entries printed. The 4 by 4 Kronecker product with rows 1 0 2 0, 2 1 4 2, 0 0 1 0 and 0 0 2 1, cut by a horizontal line into two blocks; the column 1 2 3 4; and the column 7 24 3 10, the entries of A1 X A2 transposed read row by row."}}
figure, axes = plt.subplots(1, 3, figsize=(5.8, 2.7), width_ratios=[4, 1, 1])
for ax, values, title in zip(
    axes,
    (K, rows[:, None], (K @ rows)[:, None]),
    (r"$A_1\otimes A_2$", r"$\mathrm{vec}(X)$", r"$\mathrm{vec}(A_1XA_2^\top)$"),
    strict=True,
):
    plots.matrix(ax, values.numpy(), fmt=".0f", limit=30)
    ax.set_title(title)
axes[0].axhline(2, color=plots.COLORS["exact"], linewidth=1.5)
axes[2].axhline(2, color=plots.COLORS["exact"], linewidth=1.5)
plt.show()

# %% [markdown]
# ## The statement and its proof
#
# ```{prf:proposition} Tensor trick, with vec spelled out
# :label: prop-tensor-trick
#
# Let $\mathrm{vec}$ read a matrix row by row. For all $A_1\in\mathbb R^{n\times d}$,
# $A_2\in\mathbb R^{m\times e}$ and $X\in\mathbb R^{d\times e}$,
# $\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$. Rows $(j-1)m+1,\dots,jm$ of $A_1\otimes A_2$
# form the block $\mathsf A_j=A_1[j,:]\otimes A_2$, and $\mathsf A_j\,\mathrm{vec}(X)$ is row $j$ of
# $A_1XA_2^\top$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
#
# Row $j$ of $A_1XA_2^\top$, written as a column, is
# $A_2\,(X^\top A_1[j,:]^\top)=\sum_i A_1[j,i]\;A_2\,X[i,:]^\top$. This is the row of blocks
# $\big(A_1[j,1]A_2,\dots,A_1[j,d]A_2\big)=\mathsf A_j$ times the rows $X[1,:],\dots,X[d,:]$ stacked on top of
# one another, which is $\mathrm{vec}(X)$. Stack over $j$.
# ```
#
# Row $(j-1)m+p$ of the product gives score $[j,p]$, and column $(k-1)e+q$ multiplies $X[k,q]$; the entry there is
# $A_1[j,k]\,A_2[p,q]$. In {numref}`fig-tt-hand` each entry of $A_1$ is the factor of a block.
#
# **Exercise 2.** Show that with the column-major $\mathrm{vec}_c$ the identity is
# $\mathrm{vec}_c(A_1XA_2^\top)=(A_2\otimes A_1)\,\mathrm{vec}_c(X)$.
#
# ```{admonition} Solution
# :class: dropdown
# Reading columns of $X$ is reading rows of $X^\top$: $\mathrm{vec}_c(X)=\mathrm{vec}(X^\top)$. So
# $\mathrm{vec}_c(A_1XA_2^\top)=\mathrm{vec}(A_2X^\top A_1^\top)=(A_2\otimes A_1)\,\mathrm{vec}(X^\top)
# =(A_2\otimes A_1)\,\mathrm{vec}_c(X)$, using {prf:ref}`prop-tensor-trick` in the middle.
# ```
#
# **Gradient.** If a loss has the gradient $P=\partial L/\partial S$ in the scores $S=A_1XA_2^\top$, then
# $dL=\langle P, A_1\,dX\,A_2^\top\rangle=\langle A_1^\top PA_2,\,dX\rangle$, so
#
# $$
# \nabla_XL=A_1^\top PA_2,\qquad\text{that is}\qquad
# (A_1\otimes A_2)^\top\mathrm{vec}(P)=\mathrm{vec}(A_1^\top PA_2).
# $$ (eq-tt-gradient)
#
# ````{admonition} What is assumed, and what we test
# :class: dropdown
# ```{list-table}
# :header-rows: 1
# :widths: 44 56
#
# * - assumption
#   - tested here
# * - $\mathrm{vec}$ is row-major
#   - yes: the column-major reading is the negative control of P2.trick
# * - blocks are consecutive rows
#   - yes: control of P2.blocks
# * - target $b_j$ is *row* $j$ of $B$, and each row has its own normalization
#   - yes: controls of P2.normalized and P2.rescaled
# * - row $j$ of $P$ belongs to row $j$ of the scores
#   - yes: control of P2.gradient
# * - scores are small enough for $\exp$ in the rescaled problem
#   - by the package: it raises an error that names the largest score instead of returning infinity
# * - no $1/\sqrt d$ in the scores; $B$ is any real matrix
#   - conventions, nothing to test; we draw rows of $B$ from the simplex
# ```
# ````
#
# The losses in `icl.tensor_trick` carry a factor $\tfrac12$, as in the sibling papers; {eq}`eq-tt-problems`
# has none. Below we compare *twice* our loss with the printed formula.

# %% [markdown]
# ## The experiment
#
# For each $d$ we draw {glue:text}`tt-draws` random problems with $n=3d$ tokens: $A_1$,
# $A_2$ standard normal, $X$ standard normal divided by $d$, rows of $B$ softmaxes of
# standard normal vectors. Both sides of every identity are computed in float64. Rounding
# leaves about 16 digits, and no sum here has more than a few thousand terms, so every
# rule allows the sides to differ by **1e-12 of the largest number that was summed**, and
# by no more. One draw beyond the tolerance would refute an identity;
# {numref}`fig-tt-errors` shows all of them. A card shows the worst draw of each case and,
# of a negative control, the draw that looks best.

# %% tags=["hide-input"]
TOLERANCE = 1e-12
notebook.glue("tt-draws", draws)


def problem(n, d):
    """Draw a batch of random problems A1, A2, X, B."""
    rng = stream(seed, "tasks", d)
    shapes = (n, d), (n, d), (d, d), (n, n)
    A1, A2, X, B = (
        torch.from_numpy(rng.standard_normal((draws, *shape))) for shape in shapes
    )
    return [t.to(notebook.device()) for t in (A1, A2, X / d, B.softmax(-1))]


def kron(A1, A2):
    return torch.stack([torch.kron(a, b) for a, b in zip(A1, A2, strict=True)])


def apply(K, x):
    return (K @ x.unsqueeze(-1)).squeeze(-1)


def outer(x, y):
    return x.unsqueeze(-1) * y.unsqueeze(-2)


def difference(left, right, scale):
    """Compute the largest difference; scale is the largest number summed."""
    gap = (left - right).abs().reshape(draws, -1).amax(1)
    return (gap / scale.reshape(draws, -1).amax(1)).max().item()


problems = {d: problem(3 * d, d) for d in dims}
summary = {}  # claim: (largest difference, smallest of its controls), for the figure


# %% tags=["hide-input"]
def judge_worst(claim, cases, controls, folded=False):
    """Hand the worst case and the best-looking control of each name to the claim."""
    cases = {name: max(values) for name, values in cases.items()}
    controls = {name: min(values) for name, values in controls.items()}
    summary[claim] = max(cases.values()), min(controls.values())
    both = (
        exact("{what}", list(group.values()), what=list(group))
        for group in (cases, controls)
    )
    return judge(claim, *both, folded=folded)


# %% [markdown]
# ### Row-major and not column-major
#
# The left side multiplies three small matrices, the right side builds the $n^2\times d^2$ matrix. The control
# reads both $X$ and the scores column by column and leaves the factors in place.

# %% tags=["hide-input"]
holds, broken = defaultdict(list), defaultdict(list)
for d, (A1, A2, X, _) in problems.items():
    S, K = A1 @ X @ A2.mT, kron(A1, A2)
    scale = A1.abs() @ X.abs() @ A2.abs().mT
    holds[f"n = {3 * d}, d = {d}"] += [difference(apply(K, vec(X)), vec(S), scale)]
    broken[f"by columns, n = {3 * d}, d = {d}"] += [
        difference(apply(K, vec(X.mT)), vec(S.mT), scale)
    ]
judge_worst("P2.trick", holds, broken)

# %% [markdown]
# ### Blocks
#
# `kron_block(A1, A2, j)` builds $\mathsf A_j$ alone, with $nd^2$ entries. We compare it with the rows cut
# from the whole product and its scores with row $j$ of $A_1XA_2^\top$. The control takes every $n$-th row
# instead of consecutive ones, which is the right split for $A_2\otimes A_1$.
#
# **Exercise 3.** The spectral norm of a block is $\Vert\mathsf A_j\Vert=\Vert A_1[j,:]\Vert_2\,\Vert
# A_2\Vert$. The papers of this line assume $\Vert\mathsf A_j\Vert\le R$. Does $\Vert A_1\Vert,\Vert
# A_2\Vert\le R$ imply it?
#
# ```{admonition} Solution
# :class: dropdown
# Not for $R>1$: it gives only $R^2$, and $A_1=A_2=R\,I$ attains that. The two assumptions are different.
# ```

# %% tags=["hide-input"]
holds, broken = defaultdict(list), defaultdict(list)
for d, (A1, A2, X, _) in problems.items():
    n, x, S, K = 3 * d, vec(X), A1 @ X @ A2.mT, kron(A1, A2)
    scale = A1.abs() @ X.abs() @ A2.abs().mT
    alone = torch.stack([apply(kron_block(A1, A2, j), x) for j in range(n)], 1)
    cut = torch.stack([apply(K[:, j * n : (j + 1) * n], x) for j in range(n)], 1)
    strided = torch.stack([apply(K[:, j::n], x) for j in range(n)], 1)
    holds["block built alone"] += [difference(alone, S, scale)]
    holds["block cut out"] += [difference(cut, S, scale)]
    broken["every n-th row"] += [difference(strided, S, scale)]
judge_worst("P2.blocks", holds, broken, folded=True)

# %% [markdown]
# ### The two losses, both ways
#
# One way is the printed matrix formula {eq}`eq-tt-problems`, with $D(X)$ as a matrix. The other is the sum
# over $j$ of single regressions built from $u_j=\exp(\mathsf A_jx)$, $\alpha_j=\langle u_j,1_n\rangle$ and
# $f_j=u_j/\alpha_j$. A third number is twice the package's loss.


# %% tags=["hide-input"]
def single_regressions(A1, A2, X, B, kind, shared=False):
    """Sum single regressions; ``shared`` wrongly normalizes all rows by one number."""
    x, n = vec(X), A1.shape[-2]
    u = [torch.exp(apply(kron_block(A1, A2, j), x)) for j in range(n)]
    alpha = [u_j.sum(-1, keepdim=True) for u_j in u]
    if shared:
        alpha = [sum(alpha)] * n
    rows = zip(u, alpha, B.unbind(-2), strict=True)
    if kind == "normalized":
        return sum((u_j / a - b).square().sum(-1) for u_j, a, b in rows)
    return sum((u_j - a * b).square().sum(-1) for u_j, a, b in rows)


def both_ways(kind):
    holds, broken = defaultdict(list), defaultdict(list)
    for A1, A2, X, B in problems.values():
        E = torch.exp(A1 @ X @ A2.mT)
        D = torch.diag_embed(E.sum(-1))
        fit, target = (
            (torch.linalg.inv(D) @ E, B) if kind == "normalized" else (E, D @ B)
        )
        printed = torch.linalg.matrix_norm(fit - target).square()
        scale = fit.square().sum((-2, -1)) + target.square().sum((-2, -1))
        for group, name, value in (
            (holds, "single regressions", single_regressions(A1, A2, X, B, kind)),
            (holds, "twice our loss", 2 * loss(A1, A2, X, B, kind)),
            (broken, "columns of B", single_regressions(A1, A2, X, B.mT, kind)),
            (
                broken,
                "one normalization",
                single_regressions(A1, A2, X, B, kind, shared=True),
            ),
        ):
            group[name] += [difference(printed, value, scale)]
    return holds, broken


judge_worst("P2.normalized", *both_ways("normalized"))

# %% tags=["hide-input"]
judge_worst("P2.rescaled", *both_ways("rescaled"), folded=True)

# %% [markdown]
# ### The gradient
#
# The package never differentiates automatically. For the normalized loss, with $F$ the matrix of softmax rows, $C=F-B$
# and $\mathrm{rd}$ the row-wise inner product kept as a column, $P=F\circ\big(C-\mathrm{rd}(F,C)\big)$; for the
# rescaled loss, with $U=\exp(S)$ and $Q=U-\mathrm{diag}(U1)B$, $P=U\circ\big(Q-\mathrm{rd}(Q,B)\big)$. The other side
# of the comparison is autograd through the explicit Kronecker product (`icl.tensor_trick.kronecker.kron_gradient`),
# which shares no formula with it. The control transposes $P$.


# %% tags=["hide-input"]
def by_autograd(*batch, kind):
    return torch.stack(
        [kronecker.kron_gradient(*one, kind) for one in zip(*batch, strict=True)]
    )


holds, broken = defaultdict(list), defaultdict(list)
for kind in tensor_trick.KINDS:
    name = kind.replace("_", "-")
    for A1, A2, X, B in problems.values():
        P = row_gradient(A1 @ X @ A2.mT, B, kind)
        scale = A1.abs().mT @ P.abs() @ A2.abs()
        wanted = by_autograd(A1, A2, X, B, kind=kind)
        holds[name] += [difference(gradient(A1, A2, X, B, kind), wanted, scale)]
        broken[f"P transposed, {name}"] += [
            difference(A1.mT @ P.mT @ A2, wanted, scale)
        ]
judge_worst("P2.gradient", holds, broken, folded=True)

# %% [markdown]
# ### The other three regressions
#
# The summary of the paper names three more losses. Row by row, with $f_j$ and $\alpha_j$ as above: *sparse* $\alpha_j$,
# *cross-entropy* $-\langle b_j,\log f_j\rangle$, *entropy* $-\langle f_j,\log f_j\rangle$. (The sparse one is printed
# in {cite:t}`zhang2023h2o`; the formulas of the other two are ours, so the statement is this book's.)

# %% tags=["hide-input"]
holds, broken = defaultdict(list), defaultdict(list)
for kind in ("sparse", "cross_entropy", "entropy"):
    name = kind.replace("_", "-")
    for A1, A2, X, B in problems.values():
        blocks = torch.stack(
            [kronecker.kron_loss(*one, kind) for one in zip(A1, A2, X, B, strict=True)]
        )
        scale = blocks.abs() + 1
        holds[name] += [difference(loss(A1, A2, X, B, kind), blocks, scale)]
        if kind == "cross_entropy":
            broken[f"columns of B, {name}"] += [
                difference(loss(A1, A2, X, B.mT, kind), blocks, scale)
            ]
        if kind == "entropy":
            F = torch.softmax((A1 @ X @ A2.mT).flatten(-2), -1)
            broken[f"one normalization, {name}"] += [
                difference(-(F * F.log()).sum(-1), blocks, scale)
            ]
judge_worst("P2.five", holds, broken, folded=True)

# %% [markdown]
# ### Hessians, from products and from blocks
#
# Second derivatives follow the same pattern. Along a direction $V$ the scores move by $T=A_1VA_2^\top$, $P$ moves by
# $W$, whose row $j$ is $H_jT_j$ with the row Hessian $H_j$ (a diagonal plus a matrix of rank at most four), and
# $\nabla^2L[V]=A_1^\top WA_2$: one more product of the same kind, at twice the cost of a gradient and without any
# $d^2\times d^2$ matrix. If the matrix is wanted, it is
#
# $$
# \nabla^2L=\sum_j\mathsf A_j^\top H_j\mathsf A_j=\sum_j\big(A_1[j,:]^\top A_1[j,:]\big)\otimes\big(A_2^\top H_jA_2\big).
# $$ (eq-tt-hessian)

# %% tags=["hide-input"]
holds, broken = defaultdict(list), defaultdict(list)
hessian_holds, hessian_broken = defaultdict(list), defaultdict(list)
for kind in tensor_trick.KINDS:
    name = kind.replace("_", "-")
    for d, (A1, A2, X, B) in problems.items():
        V = X.roll(1, 0)  # any direction will do
        wanted = torch.stack(
            [
                kronecker.kron_hvp(*one, kind)
                for one in zip(A1, A2, X, B, V, strict=True)
            ]
        )
        S, T = A1 @ X @ A2.mT, A1 @ V @ A2.mT
        scale = A1.abs().mT @ row_hvp(S, T, B, kind).abs() @ A2.abs() + wanted.abs()
        holds[name] += [difference(hvp(A1, A2, X, B, V, kind), wanted, scale)]
        broken[f"direction transposed, {name}"] += [
            difference(hvp(A1, A2, X, B, V.mT, kind), wanted, scale)
        ]
        basis = torch.eye(d * d, dtype=X.dtype, device=X.device).unflatten(-1, (d, d))
        by_products = vec(
            hvp(A1[:, None], A2[:, None], X[:, None], B[:, None], basis, kind)
        )
        # H_j for every row: the derivative of the row gradient along every unit vector
        eye = torch.eye(3 * d, dtype=X.dtype, device=X.device)
        H = row_hvp(S[..., None, :], eye, B[..., None, :], kind)

        def assemble(H, A1=A1, A2=A2, d=d):
            inner = A2.mT[:, None] @ H @ A2[:, None]
            return torch.einsum("bja,bjc,bjef->baecf", A1, A1, inner).reshape(
                draws, d * d, d * d
            )

        scale = by_products.abs().amax((-2, -1), keepdim=True)
        hessian_holds[name] += [difference(assemble(H), by_products, scale)]
        if kind != "sparse":  # whose row Hessians are diagonal
            hessian_broken[f"diagonals only, {name}"] += [
                difference(assemble(H * eye), by_products, scale)
            ]
judge_worst("P2.hvp", holds, broken, folded=True)

# %% tags=["hide-input"]
judge_worst("P2.hessian", hessian_holds, hessian_broken, folded=True)

# %% [markdown]
# ### Three suspected misprints in other papers
#
# **None is in paper 2**, and none touches a theorem that this book uses. We have the formulas from notes on the papers,
# not from the papers, so the slip may be in our notes: the cards (folded) say only that the formulas in the notes are
# wrong in every other reading tried.
#
# In our notes {cite:t}`zhang2023h2o` have a plus in the gradient of the single regression, and papers by some of the
# same authors the minus that the product rule gives. The other readings: the loss without its factor $\tfrac12$, and
# minus the gradient.


# %% tags=["hide-input"]
def of_each(function, *batch):
    """Apply a function of single problems to a batch."""
    return torch.stack([function(*one) for one in zip(*batch, strict=True)])


def row_loss(y, A, b):
    return 0.5 * (torch.softmax(A @ y, -1) - b).square().sum()


as_printed, repaired, doubled, negative = [], [], [], []
for A1, A2, X, B in problems.values():
    A, x, b = kron_block(A1, A2, 0), vec(X), B[:, 0]
    f = torch.softmax(apply(A, x), -1)
    wanted = of_each(torch.func.grad(row_loss), x, A, b)
    inner = ((f - b) * f).sum(-1, keepdim=True)
    scale = apply(A.mT.abs(), f * (f - b).abs())
    plus, minus = (apply(A.mT, f * (f - b) + t * f * inner) for t in (1, -1))
    as_printed.append(difference(plus, wanted, scale))
    repaired.append(difference(minus, wanted, scale))
    doubled.append(difference(plus, 2 * wanted, scale))
    negative.append(difference(plus, -wanted, scale))


def misprint(claim, printed, repaired, **others):
    """Judge a printed formula, the repaired one, and the printed one otherwise read."""

    def case(name, values, which="printed"):
        return exact(name, max(values), which=which)

    others["the slip is in our notes, and the paper has the repaired formula"] = (
        repaired
    )

    return judge(
        claim,
        [case("as printed", printed), case("repaired", repaired, "repaired")],
        readings={name: case(name, values) for name, values in others.items()},
    )


misprint(
    "P2.misprint.sign",
    as_printed,
    repaired,
    **{"the loss without the factor 1/2": doubled, "minus the gradient": negative},
)

# %% [markdown]
# In our notes {cite:t}`alman2024gradient` scale the wrong factor of a low-rank product. These factors give
# $f\,\mathrm{diag}(r)$, with $r$ scaling columns; the lemma is about $\mathrm{diag}(r)\,f$. That the product has low
# rank, which the lemma is for, is true either way. The other readings: $f$ stored by columns, and a tolerance of 1 %,
# since the paper only approximates $f$.

# %% tags=["hide-input"]
as_printed, repaired, by_columns = [], [], []
for A1, A2, _, B in problems.values():
    U, V, r = A1, A2, B[..., 0]  # any factors and any diagonal
    f, scale, factors = U @ V.mT, U.abs() @ V.abs().mT, U @ (r[..., None] * V).mT
    as_printed.append(difference(factors, r[..., None] * f, scale))
    repaired.append(difference((r[..., None] * U) @ V.mT, r[..., None] * f, scale))
    by_columns.append(difference(factors, r[..., None] * f.mT, scale))
misprint(
    "P2.misprint.factors",
    as_printed,
    repaired,
    **{
        "$f$ stored by columns: $f^\\top=U_1V_1^\\top$": by_columns,
        "up to 1 % of the largest number summed": as_printed,
    },
)

# %% [markdown]
# In our notes {cite:t}`gao2025fast` give the Hessian of $\frac12(\gamma-e)^2$, $\gamma=\langle f,v\rangle$, with $c=\gamma-e$. By the product
# rule $\nabla\gamma=f\circ v-\gamma f$ and
# $\nabla^2\gamma=\mathrm{diag}(f\circ v)-\gamma\,\mathrm{diag}f-(f\circ v)f^\top-f(f\circ v)^\top+2\gamma ff^\top$, and the
# Hessian is $\nabla\gamma\nabla\gamma^\top+c\,\nabla^2\gamma$. Two of the noted coefficients differ from that. Our notes give
# only these two, so the readings try them together and one at a time, and without the factor $\tfrac12$.


# %% tags=["hide-input"]
def square(s, v, e):
    return 0.5 * (torch.softmax(s, -1) @ v - e) ** 2


def printed_hessian(s, v, e, first="printed", second="printed"):
    """Return the printed Hessian, or with either of its two coefficients right."""
    f = torch.softmax(s, -1)
    g, fv = (f * v).sum(-1)[:, None, None], f * v
    c, ff, mixed = g - e[:, None, None], outer(f, f), outer(fv, f)
    diagonal = {
        "printed": (1 - g) * c * fv.diag_embed(),
        "right": c * (fv.diag_embed() - g * f.diag_embed()),
    }
    coefficient = {"printed": 2 * g + c, "right": g + c}[second]
    rest = (2 * g * c + g**2) * ff + outer(fv, fv)
    return diagonal[first] - coefficient * (mixed + mixed.mT) + rest


gaps = defaultdict(list)
for A1, A2, X, _ in problems.values():
    row = (A1 @ X @ A2.mT)[:, 0], A1[..., 0], A2[:, 0, 0]  # any s, v and e
    wanted = of_each(torch.func.hessian(square), *row)
    for name, how, factor in (
        ("as printed", ("printed", "printed"), 1.0),
        ("repaired", ("right", "right"), 1.0),
        ("only the first term as printed", ("printed", "right"), 1.0),
        ("only the coefficient as printed", ("right", "printed"), 1.0),
        ("the loss without its factor 1/2", ("printed", "printed"), 2.0),
    ):
        found = printed_hessian(*row, *how)
        gaps[name].append(difference(found, factor * wanted, wanted.abs()))
misprint("P2.misprint.hessian", gaps.pop("as printed"), gaps.pop("repaired"), **gaps)

# %% [markdown]
# ### All of it in one picture
#
# In {numref}`fig-tt-errors` the worst difference of each identity is {glue:text}`tt-worst:.1e`, the best of any broken
# version {glue:text}`tt-closest:.1e`: the tolerance lies in a gap of {glue:text}`tt-gap:.0f` powers of ten.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Difference of the two sides of each identity, as a fraction of the largest number summed (no unit). Dots: the largest over all draws and sizes. Crosses: the smallest among the broken versions (negative controls). Dashed: the tolerance. A difference of exactly zero would be drawn at 1e-17.", "name": "fig-tt-errors"}, "image": {"alt": "Eight rows, one for each identity: trick, blocks, normalized loss, rescaled loss, gradient, the three other losses, Hessian product and Hessian. On a logarithmic axis all dots lie between 1e-17 and 1e-14, left of the dashed tolerance at 1e-12; all crosses of the broken versions lie above one hundredth, far to the right of it."}}
worst, closest = (
    max(v[0] for v in summary.values()),
    min(v[1] for v in summary.values()),
)
notebook.glue("tt-worst", worst)
notebook.glue("tt-closest", closest)
notebook.glue("tt-gap", math.log10(closest / worst))
figure, ax = plt.subplots(figsize=(5.8, 2.9))
places = np.arange(len(summary))
good = [max(v[0], 1e-17) for v in summary.values()]
ax.plot(good, places, "o", color=plots.COLORS["corrected"], label="as stated")
bad = [v[1] for v in summary.values()]
ax.plot(bad, places, "X", color=plots.COLORS["printed"], label="broken on purpose")
ax.axvline(
    TOLERANCE,
    color=plots.COLORS["guide"],
    linestyle="--",
    linewidth=1.2,
    label="tolerance",
)
ax.set_xscale("log")
ax.set_xlim(3e-18, 10)
ax.set_yticks(places, [name.removeprefix("P2.") for name in summary])
ax.invert_yaxis()
ax.set_xlabel("relative difference of the two sides")
ax.legend(loc="upper center", bbox_to_anchor=(0.45, 1.2), ncols=3)
plt.show()

# %% [markdown]
# ## What $x$ is, and what "from $d$ to $d^2$" means
#
# A single regression $\Vert\langle e^{Ax},1\rangle^{-1}e^{Ax}-b\Vert^2$ with a data matrix of width $d$ has $d$
# unknowns; the vectorized problem has $d^2$. That is what the abstract says; we count the unknowns that the data can
# determine, the rank of $A_1\otimes A_2$. (It is $\operatorname{rank}A_1\cdot\operatorname{rank}A_2$. With fewer tokens
# than dimensions it drops to $n^2$: the control.) $X$ had $d^2$ entries before it was written as a vector; what grows
# is the data matrix.


# %% tags=["hide-input"]
def rank(n, d):
    A1, A2, _, _ = problem(n, d)
    return torch.linalg.matrix_rank(torch.kron(A1[0], A2[0])).item()


D = np.array(dims)
enough, few = ([rank(n, d) for n, d in zip(N, D, strict=True)] for N in (3 * D, D - 1))
judge(
    "P2.dimension",
    exact("n = {n}, d = {d}", enough, n=3 * D, d=D),
    exact("n = {n}, d = {d}", few, n=D - 1, d=D),
)

# %% [markdown]
# The summary quotes the paper as saying that $x\in\mathbb R^{d^2}$ "can be considered as the vectorization of $A_1$ and
# $A_2$". It cannot hold their $2nd$ entries, which are the data. In a transformer $X$ is the product of the query and
# key weights; the sentence may mean that, so we do not judge it.

# %% [markdown]
# ### What the data cannot see
#
# The minimizer $X$ need not be unique even when $A_1\otimes A_2$ has full rank. Softmax does not notice a number added
# to a whole row of scores. If some $y$ has $A_2y=1_n$, for example because one coordinate of every token is constant,
# then moving $X$ to $X+wy^\top$ adds $(A_1w)_j$ to row $j$ of the scores, and the normalized loss stays the same for
# every $w\in\mathbb R^d$: $d$ of the $d^2$ directions are invisible, to the cross-entropy and the entropy as well. The
# rescaled and the sparse loss see them. A constant column in $A_1$ hides nothing.
#
# **Exercise 4.** When is the minimizer of the normalized problem not unique, although $A_1\otimes A_2$ has
# full column rank? How many parameters are lost?
#
# ```{admonition} Solution
# :class: dropdown
# When $1_n$ is in the column space of $A_2$, say $A_2y=1_n$. Then $X+wy^\top$ has the same softmax rows for
# every $w\in\mathbb R^d$, so $d$ parameters are lost, and $d^2-d$ remain. Subtracting the mean token from
# every row of $A_2$ does not help: then $A_2y=0$, and the same directions are invisible.
# ```

# %% tags=["hide-input"]
INVARIANT = ("normalized", "cross_entropy", "entropy")


def rank_of_hessian(d, kind, constant=None):
    """Compute the rank of the d^2 x d^2 Hessian.

    ``constant`` names the matrix whose last column is set to 1.
    """
    A1, A2, X, B = (t[0] for t in problem(3 * d, d))
    A1, A2 = A1.clone(), A2.clone()
    if constant:
        {"A1": A1, "A2": A2}[constant][:, -1] = 1.0
    basis = torch.eye(d * d, dtype=X.dtype, device=X.device).unflatten(-1, (d, d))
    return torch.linalg.matrix_rank(
        vec(hvp(A1, A2, X, B, basis, kind)), rtol=1e-10
    ).item()


def ranks(kinds, constants):
    """Compute ranks of Hessians, shape (kind, d, constant)."""
    return np.array(
        [[[rank_of_hessian(d, k, c) for c in constants] for d in dims] for k in kinds]
    )


def names(kinds):
    """Return the losses' names as labels, shape (kind, 1, 1)."""
    return np.array([kind.replace("_", "-") for kind in kinds])[:, None, None]


invariant = np.array([kind in INVARIANT for kind in tensor_trick.KINDS])
hidden = invariant[:, None, None] & np.array([False, True])
labels = {"kind": names(tensor_trick.KINDS), "d": D[:, None], "invisible": hidden}
title = "{kind}, d = {d}, constant column {where}"
constant = {"kind": names(INVARIANT), "d": D[:, None], "invisible": True}
judge(
    "P2.identifiable",
    exact(
        title,
        ranks(tensor_trick.KINDS, (None, "A2")),
        where=["nowhere", "in A2"],
        **labels,
    ),
    exact(title, ranks(INVARIANT, ("A1",)), where="in A1", **constant),
    folded=True,
)

# %% [markdown]
# ## The memory wall
#
# The summary lists as a limitation that going from $d$ to $d^2$ "may be computationally prohibitive". That has no
# number; we ask whether the whole matrix is held. For the explicit form the prediction is $n^2d^2$ numbers of 8 bytes,
# read once per product. For the matrix form $A_1(XA_2^\top)$ it is $n^2$ numbers for the scores plus $nd$ for the
# intermediate product.
#
# Each point below comes from a fresh process (a copy of one that has only imported NumPy) that computes the scores
# once, on one core, and reports the highest resident memory above what it held before; the card has eight processes for
# each size. The operating system counts pages in batches, so a peak is good to about 1 MiB, which the rule allows for.
# Sizes are $n=d=$ {glue:text}`tt-sizes`; one more process has the same predicted bytes with four times as many tokens
# per dimension.

# %% tags=["hide-input"]
SETUP = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
from icl.streams import stream

def explicit(A1, X, A2):
    return np.kron(A1, A2) @ X.reshape(-1)

def matrix(A1, X, A2):
    return A1 @ (X @ A2.T)

def data(n, d):
    rng = stream({seed}, "tasks", d)
    return [rng.standard_normal(shape) for shape in ((n, d), (d, d), (n, d))]
"""
RESOLUTION = 2.0**20  # bytes to which a peak is good, for the figure


PROCESSES = 8  # that measure each judged peak
shapes = {"explicit": [(n, n) for n in sizes], "matrix": [(n, n) for n in sizes]}
middle = sizes[len(sizes) // 2]
shapes["explicit"].append((2 * middle, middle // 2))
judged = [(form, *shape) for form in shapes for shape in shapes[form]]
shapes["matrix"] += [(n, n) for n in large_sizes]


def measured(cells, repeats):
    """Measure forms at sizes, (form, n, d) each, in fresh processes."""
    jobs = [
        (f"{form}(*given)", f"{form}(*data(24, 24)); given = data({n}, {d})")
        for form, n, d in cells
    ]
    return measure.in_subprocesses(jobs, SETUP.format(seed=seed), repeats)


costs = iter(measured([(f, *s) for f in shapes for s in shapes[f]], repeats))
explicit, matrix = (dict(zip(shapes[form], costs, strict=False)) for form in shapes)
again = measured(judged * PROCESSES, 1)
repeated = np.array([cost.peak_bytes for cost in again]).reshape(PROCESSES, -1).T
notebook.glue("tt-sizes", ", ".join(map(str, sizes)))


# %% tags=["hide-input"]
def in_units(form, name):
    """Make cases of the peaks of a form, in units of 8 n^2 d^2 bytes."""
    own = [i for i, cell in enumerate(judged) if cell[0] == form]
    n, d = np.array([judged[i][1:] for i in own]).T
    peaks = repeated[own] / (8 * n**2 * d**2)[:, None]
    return sampled(name, peaks, n=n, d=d)


judge(
    "P2.memory",
    in_units("explicit", "n = {n}, d = {d}"),
    in_units("matrix", "A1 X A2', n = {n}"),
    folded=True,
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Peak memory (bytes) of computing all scores once in float64, $n=d$. Points: measured in fresh processes. Lines: predicted, $8n^2d^2$ for the explicit Kronecker product and $8(n^2+nd)$ for the matrix form. Dashed: all the memory of the machine that made this page. Points below 1 MiB, to which a peak is good, are left out; the matrix product's own work space lifts the others slightly above their line.", "name": "fig-tt-memory"}, "image": {"alt": "Log-log plot of peak memory against n equal to d. The measured points of the explicit form lie on its steep predicted line of slope four, which meets the dashed line of the machine's memory at a few hundred. The matrix form, with slope two, is still at a few tens of megabytes at a thousand."}}
total = measure.memory_total()
wall = (total / 8) ** 0.25
grid = np.geomspace(min(sizes) / 1.5, max(large_sizes) * 1.5, 100)
figure, ax = plt.subplots()
ax.loglog(grid, 8 * grid**4, color=plots.COLORS["printed"])
ax.loglog(grid, 16 * grid**2, color=plots.COLORS["corrected"])
for costs, color, marker, label in (
    (explicit, "printed", "o", r"explicit $(A_1\otimes A_2)\,\mathrm{vec}(X)$"),
    (matrix, "corrected", "s", r"matrix form $A_1XA_2^\top$"),
):
    peaks = {n: c.peak_bytes for (n, d), c in costs.items() if n == d}
    square = {n: peak for n, peak in peaks.items() if peak > RESOLUTION}
    ax.loglog(
        square.keys(),
        square.values(),
        marker,
        color=plots.COLORS[color],
        markerfacecolor="white",
        markeredgewidth=1.4,
        label=label,
    )
ax.axhline(total, color=plots.COLORS["guide"], linestyle="--", linewidth=1.2)
ax.text(min(grid), 1.4 * total, "memory of this machine", color=plots.COLORS["guide"])
ax.set_ylim(1e3, 100 * total)
ax.set_xlabel("n = d")
ax.set_ylabel("peak memory (bytes)")
ax.legend(loc="lower right")
plt.show()

# %% tags=["hide-input"]
notebook.glue("tt-wall", wall)
notebook.glue("tt-total-gb", total / 1e9)
largest = max(sizes)
notebook.glue("tt-largest", largest)
notebook.glue("tt-large", max(large_sizes))
notebook.glue("tt-terabytes", 8 * max(large_sizes) ** 4 / 1e12)
notebook.glue(
    "tt-megabytes", matrix[max(large_sizes), max(large_sizes)].peak_bytes / 1e6
)

# %% [markdown]
# This machine has {glue:text}`tt-total-gb:.1f` GB. The explicit form meets that wall at $n=d\approx$
# {glue:text}`tt-wall:.0f`. At $n=d=$ {glue:text}`tt-large` it would need {glue:text}`tt-terabytes:.1f` TB;
# the matrix form was measured at {glue:text}`tt-megabytes:.0f` MB.

# %% [markdown]
# ### Time
#
# The explicit form writes and reads $8n^2d^2$ bytes, so at $n=d$ its time should grow with slope 4. The
# matrix form does $2nd^2+2n^2d$ floating-point operations, slope 3, and reaches it once the products are
# large enough to hide the overhead of a call.

# %% tags=["hide-output", "hide-input"] mystnb={"figure": {"caption": "Seconds to compute all scores once in float64 on one core, $n=d$, fastest of several repetitions. Dashed: the predicted slopes, drawn through the largest measured size of each form. Times are of this machine; the slopes and the gap are the result.", "name": "fig-tt-time"}, "image": {"alt": "Log-log plot of seconds against n equal to d. The explicit form rises along a dashed line of slope four and takes a tenth of a second near size eighty; the matrix form takes about ten microseconds there, and rises along a dashed line of slope three to a tenth of a second near a thousand."}, "code_prompt_show": "The figure: {type}"}
seconds_explicit = {n: c.seconds for (n, d), c in explicit.items() if n == d}
seconds_matrix = {n: c.seconds for (n, _), c in matrix.items()}

figure, ax = plt.subplots()
ax.set_xscale("log")
ax.set_yscale("log")
for seconds, color, marker, label, power in (
    (
        seconds_explicit,
        "printed",
        "o",
        r"explicit $(A_1\otimes A_2)\,\mathrm{vec}(X)$",
        4,
    ),
    (seconds_matrix, "corrected", "s", r"matrix form $A_1XA_2^\top$", 3),
):
    start, end = min(seconds), max(seconds)
    ax.plot(
        seconds.keys(),
        seconds.values(),
        marker,
        color=plots.COLORS[color],
        markerfacecolor="white",
        markeredgewidth=1.4,
        label=label,
    )
    plots.guide(
        ax,
        start,
        seconds[end] * (start / end) ** power,
        power,
        f"slope {power}",
        decades=math.log10(end / start),
    )
ax.set_xlim(right=2 * max(large_sizes))
ax.set_xlabel("n = d")
ax.set_ylabel("seconds")
ax.legend(loc="lower right")
plt.show()

# %% tags=["hide-input"]
points = np.log(list(seconds_explicit.items()))
slope = np.polyfit(points[:, 0], points[:, 1], 1)[0]
notebook.glue("tt-slope", float(slope))
notebook.glue("tt-ratio", seconds_explicit[largest] / seconds_matrix[largest])

# %% [markdown]
# The figure is folded. The fitted slope of the explicit form is {glue:text}`tt-slope:.1f` (a fit over few points on a shared
# machine; it is shown, not judged). At $n=d=$ {glue:text}`tt-largest` the matrix form computes the same
# numbers {glue:text}`tt-ratio:.0f` times faster.
#
# Statements about $\mathsf A_jx$ are computed as rows of $A_1XA_2^\top$, the gradient as {eq}`eq-tt-gradient`; neither
# needs more than $n\times n$ and $n\times d$ arrays.
#
# **Exercise 5.** Build the explicit matrix block by block instead, using each $\mathsf A_j$ once and
# forgetting it. What are its memory and its time?
#
# ```{admonition} Solution
# :class: dropdown
# $8nd^2$ bytes instead of $8n^2d^2$, so the wall moves from $n=d\approx(M/8)^{1/4}$ to $(M/8)^{1/3}$ for a memory of
# $M$ bytes; but still $2n^2d^2$ operations, against $2nd^2+2n^2d$ in matrix form.
# ```

# %% tags=["remove-input"]
notebook.footer()
