# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The tensor trick and its price
#
# *All rows of attention share the same weights. Can we treat all rows as one regression, and at what cost?*
#
# **Short answer.** Yes. Let the matrices $A_1$ and $A_2$ have $n$ tokens of dimension $d$ as rows, and let $X$ be the
# matrix of weights. Read row by row, the scores of attention $A_1XA_2^\top$ form the vector
# $(A_1\otimes A_2)\,\mathrm{vec}(X)$ ([holds](judged:P2.trick)). So the normalized problem of paper 2 is a sum of $n$
# softmax regressions with the same unknown $\mathrm{vec}(X)$ ([holds](judged:P2.normalized)), and its rescaled problem is
# such a sum, too ([holds](judged:P2.rescaled)). The cost is the large matrix $A_1\otimes A_2$ with $n^2d^2$ entries
# ([holds](judged:P2.memory)), which the gradient does not need, because a product of three small matrices gives the same
# gradient ([holds](judged:P2.gradient)). For $n=d$ the number of operations grows like $d$ to the power
# [4](<judged:P2.scale.operations|explicit, n = d|.0f>) with the large matrix, and to the power
# [3](<judged:P2.scale.operations|closed form, n = d|.0f>) with the small matrices.

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5, 8, 16]  # dimensions d, each with 3 d tokens
draws = 10  # random problems for each d
seed = 0  # root of the random numbers

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from icl.streams import stream
from icl.tensor_trick import gradient, kron_block, unvec, vec
from icl_book import notebook
from icl_book.claims import exact_cases, judge
from icl_book.figures import plots
from icl_book.measurements import tensor_trick

notebook.setup(globals())

# %% figure={"alt": "Five small matrices in a row: tokens A1, weights X, tokens A2 transposed, the softmax of the rows of their product, and targets. The second row of the first, the fourth and the fifth is framed. Labels: tokens move in context, and weights move in training.", "name": "fig-tt-motive"} jupyter={"source_hidden": true} tags=["hide-input"]
queries = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
keys = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, -1.0]])
F = torch.softmax(queries @ keys.T, -1)  # with X = 1
parts = {
    "tokens $A_1$": (queries, "in context:\nthese move"),
    r"$\times$ weights $X$": (torch.eye(2), "in training:\nthese move"),
    r"$\times$ tokens $A_2^\top$": (keys.T, "in context:\nthese move"),
    r"$\to$ softmax of rows": (F, "attention"),
    r"$\approx$ targets $B$": (torch.eye(3), "given"),
}
widths = [part.shape[1] for part, _ in parts.values()]
figure, axes = plt.subplots(1, 5, figsize=(7.6, 2.3), width_ratios=widths)
for ax, (title, (part, under)) in zip(axes, parts.items(), strict=True):
    plots.matrix(ax, part.numpy(), fmt=".1f", limit=2.5)
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(under, fontsize=9)
    if part.shape[0] == 3 and part is not parts[r"$\times$ weights $X$"][0]:
        ax.add_patch(plt.Rectangle((0, 1), part.shape[1], 1, fill=False, ec="k", lw=2))
plt.show()

# %% [markdown]
# **Attention as a regression.** Attention as a regression, with three tokens in two dimensions: the softmax rows of
# $A_1XA_2^\top$ should match the targets. A prompt changes the tokens, whereas training changes the weights. Framed is a
# single softmax regression.
#
# <a id="trick-plain"></a>
#
# ## In plain words
#
# **Why a paper on in-context learning solves a regression.** A prompt changes what a transformer computes without
# changing its weights, because each layer hands changed *tokens* to the next layer, whereas training changes the
# *weights*. Can changed tokens do what changed weights do? To make this question precise, we need a problem with tokens
# and weights in it. [Softmax regression](#term-softmax-regression) is one ([Attention as a regression](#fig-tt-motive)):
# choose the weights so that attention comes close to given targets.
#
# [Li et al. (2024)](cite:li2024closeness) asked the question for one row of attention, which is a *single* softmax
# regression: choose a vector $x$ so that $\mathrm{softmax}(Ax)$ comes close to a target $b$. Since attention has $n$ rows
# that share the weights, paper 2 ([Gao et al., 2023](cite:gao2023tensor)) takes all rows together. Its title says "from
# Single Softmax Regression to Multiple Softmax Regression via a Tensor Trick". This chapter is about the step from one
# row to all rows, while the question about tokens and weights has [a chapter of its own](icl_as_gradient_descent.ipynb).
#
# **What paper 2 does.** Its abstract poses two problems, whose data are two matrices of tokens,
# $A_1,A_2\in\mathbb R^{n\times d}$, and a matrix of targets, $B\in\mathbb R^{n\times n}$. The unknown is the $d\times d$
# matrix $X$ of weights:
#
# <a id="eq-tt-problems"></a>
#
# $$
# \begin{aligned}
# \text{normalized:}&\quad\min_X \Vert D(X)^{-1}\exp(A_1XA_2^\top)-B\Vert_F^2,\\
# \text{rescaled:}&\quad\min_X \Vert \exp(A_1XA_2^\top)-D(X)\,B\Vert_F^2.
# \end{aligned}
# $$
#
# Here the exponential acts on each entry. The diagonal matrix $D(X)=\mathrm{diag}(\exp(A_1XA_2^\top)1_n)$ holds the row
# sums of the exponentials, where $1_n$ is the vector of ones, so that the rows of $D(X)^{-1}\exp(A_1XA_2^\top)$ are
# softmax rows. The difference under the norm of the rescaled problem is $D(X)$ times that of the normalized problem. The
# abstract then turns the matrix $X$ into a vector, so that the two problems resemble single softmax regressions.
#
# The abstract also says that the authors complete a Lipschitz analysis of their regression function and use this analysis
# to derive their "main result concerning in-context learning". It gives no constants and does not state the result.
#
# **What could be tested.** We had the abstract of paper 2 but not its full text. Three of its statements could be tested:
#
# - In vector form, the normalized problem is a sum of single regressions ([holds](judged:P2.normalized)).
# - In vector form, the rescaled problem is also a sum of single regressions ([holds](judged:P2.rescaled)).
# - The dimension grows from $d$ to $d^2$: the vector has $d^2$ unknowns ([holds](judged:P2.dimension)).
#
# These three statements hold, and no data could have contradicted them, because the first two are identities, and the
# third follows from the rank of a Kronecker product. The Lipschitz analysis and the main result could not be tested, but
# the next two chapters test Lipschitz bounds of related papers and what others say about the main result.
#
# **The [trick](#term-tensor-trick).** Since the scores $A_1XA_2^\top$ are linear in $X$, the vector of all scores is a
# matrix times the vector $\mathrm{vec}(X)$ of all entries of $X$. This matrix is the Kronecker product $A_1\otimes A_2$,
# whose rows come in $n$ blocks, one for each row of attention. Each block is the data matrix of a single softmax
# regression, and all $n$ regressions have the same unknown vector $x=\mathrm{vec}(X)$ of length $d^2$.
#
# Facts about a single regression then apply to all rows, at the price of a large data matrix.
#
# ## The experiment
#
# The matrix form and the vector form of a problem have the same loss and the same gradient, but need very different
# amounts of memory. We draw random problems and compute both losses of [the two problems](#eq-tt-problems) twice. First
# we treat all $n$ rows of attention at once, as matrices, and then we add up $n$ single softmax regressions, whose data
# matrices are the blocks of the explicit product $A_1\otimes A_2$.
#
# We also compute the gradient of the normalized loss twice, by autograd through the explicit product and by the formula
# [the formula of the gradient](#eq-tt-gradient) below. Because the function `gradient` differentiates half of the loss in
# [the two problems](#eq-tt-problems), the code doubles its result.
#
# To try $d=7$, replace the first line of the next cell by `dims = [7]`.

# %%
dims = list(dims)  # or [7], for example


def difference(left, right):
    return ((left - right).abs().max() / right.abs().max()).item()


def both_ways(n, dim, rng):
    A1 = torch.from_numpy(rng.standard_normal((n, dim)))
    A2 = torch.from_numpy(rng.standard_normal((n, dim)))
    X = torch.from_numpy(rng.standard_normal((dim, dim))) / dim
    B = torch.from_numpy(rng.standard_normal((n, n))).softmax(-1)

    scores = A1 @ X @ A2.T  # all rows at once
    U = scores.exp()
    D = torch.diag(U.sum(-1))

    K = torch.kron(A1, A2)  # the trick, taken literally
    x = vec(X).requires_grad_()
    normalized = 0.0
    rescaled = 0.0
    for j in range(n):  # n single regressions in the same unknown x
        u = torch.exp(K[j * n : (j + 1) * n] @ x)
        normalized += (u / u.sum() - B[j]).square().sum()
        rescaled += (u - u.sum() * B[j]).square().sum()
    slope = torch.autograd.grad(normalized, x)[0]

    return {
        "dim": dim,
        "n": n,
        "trick": difference(K @ x, vec(scores)),
        "normalized": difference(normalized, (D.inverse() @ U - B).square().sum()),
        "rescaled": difference(rescaled, (U - D @ B).square().sum()),
        "gradient": difference(unvec(slope), 2 * gradient(A1, A2, X, B)),
        "explicit": K.nbytes,
        "matrices": A1.nbytes + X.nbytes + A2.nbytes + scores.nbytes,
    }


problems = []
for dim in dims:
    rng = stream(seed, "tasks", dim)
    problems += [both_ways(3 * dim, dim, rng) for _ in range(draws)]
worst = pd.DataFrame(problems).groupby(["dim", "n"], as_index=False).max()
columns = ["trick", "normalized", "rescaled", "gradient"]
worst.style.format("{:.0e}", subset=columns).format(
    "{:,}", subset=["explicit", "matrices"]
).hide()

# %% [markdown]
# The experiment takes a few seconds on two cores. The table shows the largest difference between the two computations,
# relative to the largest entry, and the bytes of the explicit product, and of the matrices $A_1$, $X$, $A_2$ and the
# scores together. Since the statements are identities, expect in every dimension only rounding errors, near $10^{-15}$
# ([holds](judged:P2.normalized)). At $d=16$ and $n=48$ expect [4,718,592](<judged:P2.memory|n = 48, d = 16|8*,.0f>) bytes
# for the explicit product, over a hundred times as many as for the matrices and scores.

# %% figure={"alt": "Log-log plot of bytes against d from 2 to 1024. Points of the explicit product lie on a steep dotted line that crosses a dashed line at 24 GiB near d = 140. Points of the matrices lie on a dotted line with half that slope and end below one gigabyte.", "name": "fig-scale-cost"}
figure, ax = plt.subplots(figsize=(5.8, 3.0))
size = np.array([2, 1024])
explicit = {"color": "C0", "label": r"explicit $A_1\otimes A_2$"}
ax.loglog(size, 8 * 9 * size**4, ":", **explicit)
ax.loglog(size, 8 * 16 * size**2, ":", color="C1", label="matrices and scores")
ax.loglog(worst.dim, worst.explicit, "o", color="C0")
ax.loglog(worst.dim, worst.matrices, "s", color="C1")
ax.axhline(24 * 2**30, color=plots.COLORS["guide"], ls="--", label="24 GiB")
ax.set(xlabel="dimension d, with n = 3 d tokens", ylabel="bytes")
plots.label_lines(ax)
plt.show()

# %% [markdown]
# **Memory and the tensor trick.** Memory of the explicit product, and of the matrices with the scores. Points are
# measured in the experiment, and dotted lines are computed from the numbers of entries. While the explicit product
# exceeds 24 GiB (dashed) near $d=140$, the matrices and scores stay below one gigabyte up to $d=1024$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
slips = tensor_trick.broken(dims, draws, seed)
mistaken = "{what}, n = {n}, d = {dim}"
judge(
    "P2.normalized",
    worst,
    exact_cases(slips[slips.statement == "normalized"], "difference", name=mistaken),
    value="normalized",
    name="n = {n}, d = {dim}",
)

# %% [markdown]
# The controls repeat the comparison with a deliberate mistake: one takes the columns of $B$ as targets, and the other
# divides all exponentials by their total sum. The next three cards judge the rescaled loss, the identity behind the trick
# and the memory on the same problems.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P2.rescaled",
    worst,
    exact_cases(slips[slips.statement == "rescaled"], "difference", name=mistaken),
    value="rescaled",
    name="n = {n}, d = {dim}",
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P2.trick",
    worst,
    exact_cases(slips[slips.statement == "trick"], "difference", name=mistaken),
    value="trick",
    name="n = {n}, d = {dim}",
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P2.memory",
    worst.assign(numbers=worst.explicit / 8),
    worst.assign(numbers=worst.matrices / 8),
    value="numbers",
    name="n = {n}, d = {dim}",
)

# %% [markdown]
# ## What is printed, and what is true
#
# The abstract of paper 2 (arXiv 2307.02419) states [the two problems](#eq-tt-problems), and prints $\min_X$ only before
# the first. It compares them with single regressions of earlier papers, whose losses are
# $\Vert\langle e^{Ax},1_n\rangle^{-1}e^{Ax}-b\Vert_2^2$ and $\Vert e^{Ax}-\langle e^{Ax},1_n\rangle b\Vert_2^2$. It says
# that vectorization "expands the dimension from $d$ to $d^2$", and describes the result as "resembling the formulation of
# the regression problem mentioned earlier". We take "resembling" to mean that each problem equals a sum of single
# regressions, one for each row.
#
# The identity behind the trick does not stand in the abstract, but in a machine-written summary of paper 2. According to
# our notes, two later papers ([Gao et al., 2025](cite:gao2025fast); [Alman and Song, 2024](cite:alman2024gradient)) state
# it and cite paper 2 for it:
#
# > $\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$
#
# > **What is true.** The identity is true if $\mathrm{vec}$ reads a matrix row by row,
# > $\mathrm{vec}(X)_{(i-1)d+j}=X_{i,j}$. This is how [Gao et al. (2025)](cite:gao2025fast) define $\mathrm{vec}$, and
# > `reshape(-1)` in NumPy and PyTorch also reads rows. In many textbooks (and in MATLAB, Julia, R) $\mathrm{vec}$ reads
# > columns, and the product then has to be $A_2\otimes A_1$.
# >
# > The rows $(j-1)n+1,\dots,jn$ of $A_1\otimes A_2$ form the block $\mathsf A_j=A_1[j,:]\otimes A_2$, whose product with
# > $\mathrm{vec}(X)$ is row $j$ of $A_1XA_2^\top$.
#
# <details><summary>Proof</summary>
#
# Row $j$ of $A_1XA_2^\top$, written as a column, is $A_2\,(X^\top A_1[j,:]^\top)=\sum_i A_1[j,i]\;A_2\,X[i,:]^\top$. As
# the block $\mathsf A_j=\big(A_1[j,1]A_2,\dots,A_1[j,d]A_2\big)$ consists of $d$ matrices side by side, and the vector
# $\mathrm{vec}(X)$ of the $d$ rows of $X$, stacked, this sum is $\mathsf A_j\,\mathrm{vec}(X)$. Stacking over $j$ gives
# the identity. $\square$
#
# </details>
#
# ## By hand
#
# Take two tokens in two dimensions, with small integers. The function `kron_block` returns the block of $A_1\otimes A_2$
# for one row of attention, and counts rows from zero.

# %%
A1 = torch.tensor([[1.0, 2], [0, 1]])
A2 = torch.tensor([[1.0, 0], [2, 1]])
X = torch.tensor([[1.0, 2], [3, 4]])
K = torch.kron(A1, A2)

print("rows:   ", vec(A1 @ X @ A2.T).tolist(), "=", (K @ vec(X)).tolist())
print("columns:", vec((A1 @ X @ A2.T).T).tolist(), "is not", (K @ vec(X.T)).tolist())
print("second block:", (kron_block(A1, A2, 1) @ vec(X)).tolist())
assert all((kron_block(A1, A2, j) @ vec(X)).equal((A1 @ X @ A2.T)[j]) for j in (0, 1))

# %% figure={"alt": "Three matrices with their entries printed. The 4 by 4 Kronecker product has the rows 1 0 2 0, 2 1 4 2, 0 0 1 0 and 0 0 2 1, and a horizontal line cuts it into two blocks. The second matrix is the column 1 2 3 4. The third is the column 7 24 3 10.", "name": "fig-tt-hand"} jupyter={"source_hidden": true} tags=["hide-input"]
columns = {r"$A_1\otimes A_2$": K, r"$\mathrm{vec}(X)$": vec(X)[:, None]}
columns["product"] = (K @ vec(X))[:, None]
figure, axes = plt.subplots(1, 3, figsize=(4.2, 2.2), width_ratios=[4, 1, 1])
for ax, (title, part) in zip(axes, columns.items(), strict=True):
    plots.matrix(ax, part.numpy(), fmt=".0f", limit=30)
    ax.set_title(title)
for ax in axes[[0, 2]]:
    ax.axhline(2, color=plots.COLORS["exact"], linewidth=1.5)
plt.show()

# %% [markdown]
# **The tensor trick by hand.** The worked example: the Kronecker product (left) times $\mathrm{vec}(X)$ is $A_1XA_2^\top$
# read row by row (right). A line separates the blocks of the two rows of attention, $\mathsf A_1$ and $\mathsf A_2$.
#
# **Exercise 1.** Compute by hand the two entries of $\mathsf A_2\,\mathrm{vec}(X)$, where $\mathsf A_2$ is the second
# block.
#
# <details><summary>Solution</summary>
#
# The block $\mathsf A_2=(0,1)\otimes A_2$ has the rows $(0,0,1,0)$ and $(0,0,2,1)$. Its product with $(1,2,3,4)$ is
# $(3,10)$, the second row of $A_1XA_2^\top$.
#
# </details>
#
# **The gradient.** If the loss $L$ depends on $X$ through the scores $S=A_1XA_2^\top$ alone, its gradient in $X$ is a
# product of three matrices. Let $P=\partial L/\partial S$. Then
# $dL=\langle P, A_1\,dX\,A_2^\top\rangle=\langle A_1^\top PA_2,\,dX\rangle$, so
#
# <a id="eq-tt-gradient"></a>
#
# $$
# \nabla_XL=A_1^\top PA_2,\qquad\text{that is}\qquad
# (A_1\otimes A_2)^\top\mathrm{vec}(P)=\mathrm{vec}(A_1^\top PA_2).
# $$
#
# **Exercise 2.** Let $\mathrm{vec}_c$ read a matrix column by column. Show that
# $\mathrm{vec}_c(A_1XA_2^\top)=(A_2\otimes A_1)\,\mathrm{vec}_c(X)$.
#
# <details><summary>Solution</summary>
#
# The columns of $X$ are the rows of $X^\top$, so $\mathrm{vec}_c(X)=\mathrm{vec}(X^\top)$. Hence, by the row-wise
# identity in the second step,
# $\mathrm{vec}_c(A_1XA_2^\top)=\mathrm{vec}(A_2X^\top A_1^\top)=(A_2\otimes A_1)\,\mathrm{vec}(X^\top)=(A_2\otimes A_1)\,\mathrm{vec}_c(X)$.
#
# </details>
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | tested here |
# |---|---|
# | $\mathrm{vec}$ reads rows | reading columns is the control of P2.trick |
# | blocks are consecutive rows | the assertion in the cell "By hand", and a unit test |
# | target $b_j$ is *row* $j$ of $B$, each row has its own normalization | controls of P2.normalized and P2.rescaled |
# | row $j$ of $P$ belongs to row $j$ of the scores | control of P2.gradient |
# | no $1/\sqrt d$ in the scores; $B$ is any real matrix | conventions; we draw rows of $B$ from the simplex |
#
# The losses in `icl.tensor_trick` carry a factor $\tfrac12$, so we compare *twice* our loss with
# [the two problems](#eq-tt-problems).
#
# </details>
#
# ## All five losses
#
# [The gradient formula](#eq-tt-gradient) holds for every loss that depends on $X$ only through the scores. Besides the
# two losses of the abstract, the machine-written summary of paper 2 names three more but does not define them, so we take
# the usual formulas. Let $f_j$ be softmax row $j$, let $\alpha_j$ be the sum of its exponentials, and let $b_j$ be row
# $j$ of $B$. Each of the three is a sum over $j$ of the terms $\alpha_j$ (*sparse*), $-\langle b_j,\log f_j\rangle$
# (*cross-entropy*) or $-\langle f_j,\log f_j\rangle$ (*entropy*).
#
# For all five losses the card compares the formula with autograd through the explicit product.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
slopes = tensor_trick.gradients(dims[:3], draws, seed)
turned = slopes.what == "P transposed"
judge(
    "P2.gradient",
    slopes[~turned],
    slopes[turned],
    value="difference",
    name="{kind}, {what}",
)

# %% [markdown]
# **Exercise 3.** The spectral norm of a block is $\Vert\mathsf A_j\Vert=\Vert A_1[j,:]\Vert_2\,\Vert A_2\Vert$. According
# to our notes, related papers assume $\Vert\mathsf A_j\Vert\le R$. Does this bound follow from $\Vert A_1\Vert\le R$ and
# $\Vert A_2\Vert\le R$?
#
# <details><summary>Solution</summary>
#
# Not if $R>1$. The bounds on $A_1$ and $A_2$ give only $\Vert\mathsf A_j\Vert\le R^2$, and equality holds for
# $A_1=A_2=R\,I$.
#
# </details>
#
# ## "From $d$ to $d^2$"
#
# A single regression with a data matrix of width $d$ has only $d$ unknowns, whereas the vector of the trick has $d^2$.
# The trick does not add them, because they are the entries of $X$. The card computes the rank of $A_1\otimes A_2$, which
# is the number of unknowns that the scores determine. With at least $d$ tokens it is $d^2$ for almost all data, and in
# the control, which has fewer tokens than dimensions, it is $n^2$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
ranks = tensor_trick.ranks(dims, seed)
judge(
    "P2.dimension",
    ranks[ranks.n >= ranks.dim],
    ranks[ranks.n < ranks.dim],
    value="rank",
    name="n = {n}, d = {dim}",
)

# %% [markdown]
# **What the data cannot see.** Suppose that coordinate $k$ has the same value $c\ne0$ for all tokens in $A_2$. For almost
# all such data the normalized loss determines only $d^2-d$ of the $d^2$ unknowns. To see why, let $y=e_k/c$, so that
# $A_2y=1_n$. If $vy^\top$ with $v\in\mathbb R^d$ is added to $X$, all scores of row $j$ rise by the same number, entry
# $j$ of $A_1v$, so that the softmax of the row does not change.
#
# Nor do the cross-entropy and entropy losses change in the $d$ directions $vy^\top$, whereas the rescaled and sparse
# losses determine all unknowns. If the constant coordinate is in $A_1$ and not in $A_2$, each of the five losses
# determines all unknowns.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
hessians = tensor_trick.hessian_ranks(dims, seed)
control = hessians["where"] == "in A1"
judge(
    "P2.identifiable",
    hessians[~control],
    hessians[control],
    value="rank",
    name="{kind}, d = {dim}, constant column {where}",
)

# %% [markdown]
# **Exercise 4.** Suppose that $A_2y=1_n$ for some $y$. Center $A_2$ by subtracting the mean of its rows from each row. Is
# a minimizer of the normalized problem with the centered matrix then unique?
#
# <details><summary>Solution</summary>
#
# No. If $A_2'$ is the centered matrix, then $A_2'y=0$, so adding $vy^\top$ to $X$ does not even change the scores.
#
# </details>
#
# ## The price in operations
#
# With the explicit product $A_1\otimes A_2$ the gradient takes $O(n^2d^2)$ operations, while the product of three
# matrices takes $O(n^2d+nd^2)$, according to our notes on Lemmas 4.1 and C.8 of
# [Alman and Song (2024)](cite:alman2024gradient). The machine-written summary says that the larger dimension "may be
# computationally prohibitive". These are five ways to compute the same gradient:
#
# | form | how | operations | numbers held besides the data |
# |---|---|---|---|
# | explicit | build $A_1\otimes A_2$ | $4n^2d^2$ | $n^2d^2$ |
# | blockwise | one $\mathsf A_j$ at a time | $4n^2d^2$ | $nd^2$ |
# | autograd | PyTorch differentiates | $4n^2d+4nd^2$ | several $n^2$ |
# | closed form | $A_1^\top PA_2$ | $4n^2d+4nd^2$ | several $n^2$ |
# | [streaming](#term-streaming) | the closed form for a few rows at a time (`icl.tensor_trick.gradient`) | $4n^2d+4nd^2$ | $nd$ |
#
# For $n=d=1024$ and numbers of 64 bits, the explicit matrix takes $8\cdot1024^4$ bytes, which is 8 TiB, whereas one block
# takes 8 GiB, and one $n\times n$ array 8 MiB. The explicit form takes $4\cdot1024^4$ operations, and the closed form
# $8\cdot1024^3$, which is 512 times fewer.
#
# How fast do the operations grow when $n$, $d$ or both double? PyTorch counts the operations of all matrix products for
# the card. The page [Benchmarks](../book/benchmarks.md) has the times of the streaming form.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
growing = list(tensor_trick.GROWING)
fast = tensor_trick.operations(
    ["closed form", "streaming", "autograd"], size=256, growing=growing, seed=seed
)
literal = tensor_trick.operations(
    ["explicit", "blockwise"], size=16, growing=["n = d"], seed=seed
)
judge(
    "P2.scale.operations",
    fast,
    literal,
    value="exponent",
    error="error",
    name="{form}, {growing}",
)

# %% [markdown]
# **Exercise 5.** At which $n=d$ does the explicit form run out of memory on your machine? At which $n=d$ does the
# blockwise form?
#
# <details><summary>Solution</summary>
#
# With $M$ bytes of memory the explicit form fails at $n=d\approx(M/8)^{1/4}$, and the blockwise form fails at
# $n=d\approx(M/8)^{1/3}$. For 24 GiB these sizes are about 240 and 1,500. The blockwise form still takes $4n^2d^2$
# operations.
#
# </details>
#
# **Exercise 6.** Take the matrices of the section "By hand", with the weights $X/10$ and the targets $B=I$. Compute the
# gradient of half the normalized loss by [the gradient formula](#eq-tt-gradient), without `icl` and without autograd.
# Compare your result with `gradient`.
#
# <details><summary>Solution</summary>
#
# For a softmax row $f$ with the target $b$, let $c=f-b$ be the residual. The corresponding row of $P$ is the Jacobian of
# softmax times $c$, with the entries $f_i\,(c_i-\sum_kf_kc_k)$.
# ```python
# X, B = X / 10, torch.eye(2)
# F = torch.softmax(A1 @ X @ A2.T, -1)
# C = F - B
# P = F * (C - (F * C).sum(-1, keepdim=True))
# slope = A1.T @ P @ A2
# print(slope - gradient(A1, A2, X, B))
# ```
# The difference is zero up to rounding.
#
# </details>
#
# ## To remember
#
# The tensor trick turns $n$ rows of attention into one regression in $\mathrm{vec}(X)$, so that facts about one row apply
# to all rows. It is a tool for proofs. To compute scores and gradients, use $A_1XA_2^\top$ and $A_1^\top PA_2$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
