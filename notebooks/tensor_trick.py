# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The tensor trick: a matrix as one long vector
#
# *All rows of attention share one matrix of trained weights. Can we treat all rows as one regression, and what does it cost?*

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

# %% figure={"alt": "Matrices with their entries printed. Left, three two-by-two matrices and their product, whose rows are 7 24 and 3 10. Right, the 4 by 4 Kronecker product has the rows 1 0 2 0, 2 1 4 2, 0 0 1 0 and 0 0 2 1, and a horizontal line cuts it into two blocks. It is followed by the column 1 2 3 4 and by the product, the column 7 24 3 10, cut by the same line.", "name": "fig-tt-hand"} jupyter={"source_hidden": true} tags=["hide-input"]
A1 = torch.tensor([[1.0, 2], [0, 1]])
A2 = torch.tensor([[1.0, 0], [2, 1]])
X = torch.tensor([[1.0, 2], [3, 4]])
K = torch.kron(A1, A2)
scores = A1 @ X @ A2.T
assert (K @ vec(X)).equal(vec(scores))
assert all((kron_block(A1, A2, j) @ vec(X)).equal(scores[j]) for j in (0, 1))

matrices = {
    "tokens $A_1$": A1,
    r"$\times$ weights $X$": X,
    r"$\times\ A_2^\top$": A2.T,
    "$=$ scores": scores,
    None: None,
    r"$A_1\otimes A_2$": K,
    r"$\mathrm{vec}\,X$": vec(X)[:, None],
    "scores": vec(scores)[:, None],
}
widths = [2, 2, 2, 2, 0.5, 4, 1, 1]
figure, axes = plt.subplots(1, 8, figsize=(7.6, 2.3), width_ratios=widths)
for ax, (title, part) in zip(axes, matrices.items(), strict=True):
    if part is None:
        ax.axis("off")
        continue
    plots.matrix(ax, part.numpy(), fmt=".0f", limit=30)
    ax.set_title(title, fontsize=9)
    if title in ("$=$ scores", r"$A_1\otimes A_2$", "scores"):
        half = len(part) // 2
        ax.axhline(half, color=plots.COLORS["exact"], linewidth=1.5)
plt.show()

# %% [markdown]
# **The same four scores twice.** Left: the scores of attention as a product of three matrices, for two tokens in two
# dimensions. Right: the weights, read row by row, are one long vector, and one large matrix times this vector gives the
# same scores. A line separates the two rows of attention.
#
# **In short.** Read row by row, the weights are one long vector. All scores of attention are one large matrix times
# this vector. So every row is a single regression in this vector, and theorems about single regressions apply to all
# rows. But computing with the large matrix is expensive. A product of three small matrices gives the same gradient.
# With as many tokens as dimensions, its work grows like the power
# [3](<judged:P2.scale.operations|closed form, n = d|.0f>) of their number, not like the power
# [4](<judged:P2.scale.operations|explicit, n = d|.0f>).
#
# <details><summary>How sure?</summary>
#
# - The statements of this page are identities, or follow from the rank and the size of a matrix. We computed both sides
#   for random problems, and they agree up to rounding. So no data could have contradicted the three statements of
#   paper 2's abstract that we test: [the first problem](judged:P2.normalized) and
#   [the second](judged:P2.rescaled) are sums of single regressions, and
#   [the dimension grows from $d$ to $d^2$](judged:P2.dimension).
# - Of paper 2 we had the abstract and a machine-written summary, and not the full text. Its Lipschitz analysis and its
#   main result are therefore not tested in this book. [The next chapter](lipschitz_bounds.ipynb) has the Lipschitz
#   bounds of related papers, and [the one after](icl_as_gradient_descent.ipynb) what others say about the main result.
# - What is known: the identity is in textbooks, and the fast gradient is in
#   [Alman and Song (2024)](cite:alman2024gradient). What is elementary but less known:
#   [a constant coordinate](judged:P2.identifiable) in the tokens hides $d$ of the $d^2$ unknowns.
# - The operations are counted and not timed. Times are on the page [Benchmarks](../book/benchmarks.md).
#
# </details>
#
# <a id="trick-plain"></a>
#
# ## Why
#
# Training changes the weights of a layer. A prompt changes the tokens, and leaves the weights as they are. Can
# changed tokens do what changed weights do? To ask this precisely, take
# [softmax regression](#term-softmax-regression): choose the weights so that attention comes close to given targets.

# %% figure={"alt": "Five small matrices in a row: tokens A1, weights X, tokens A2 transposed, the softmax of the rows of their product, and targets. The second row of the first, the fourth and the fifth is framed. Labels: tokens move in context, and weights move in training.", "name": "fig-tt-motive"} jupyter={"source_hidden": true} tags=["hide-input"]
asking = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
asked = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, -1.0]])
F = torch.softmax(asking @ asked.T, -1)  # with X = 1
parts = {
    "tokens $A_1$": (asking, "in context:\nthese move"),
    r"$\times$ weights $X$": (torch.eye(2), "in training:\nthese move"),
    r"$\times$ tokens $A_2^\top$": (asked.T, "in context:\nthese move"),
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
# **Attention as a regression.** Three tokens in two dimensions. The weights $X$ are chosen so that the softmax rows
# of $A_1XA_2^\top$ come close to the targets. A prompt moves the tokens, and training moves the weights. The framed
# row is a single softmax regression.
#
# [Li et al. (2024)](cite:li2024closeness) asked the question for a single row. But attention has many rows, and all
# rows share the weights. So paper 2 ([Gao et al., 2023](cite:gao2023tensor)) takes all rows together. How do many
# rows become one problem in one unknown vector?
#
# Let us write the problem down. The rows of the $n\times d$ matrices $A_1$ and $A_2$ are tokens, and the $d\times d$
# matrix $X$ holds the weights. The scores are the entries of $A_1XA_2^\top$. Let $D(X)$ be the diagonal matrix of the
# row sums of their exponentials. If we divide each row of exponentials by its sum, we get softmax rows. They should
# come close to the rows of a matrix $B$ of targets:
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
# The rescaled problem multiplies the targets by the row sums, so that no division is needed.
#
# Now the [trick](#term-tensor-trick). Let $\mathrm{vec}(X)$ be the vector of all $d^2$ entries of $X$, row after row.
# The scores are linear in $X$, so the vector of all scores is some matrix times $\mathrm{vec}(X)$. Which matrix? It
# is the Kronecker product $A_1\otimes A_2$, in which each entry of $A_1$ is multiplied by the whole of $A_2$. Its
# rows come in $n$ blocks, one for each row of attention. Each block is the data matrix of a single softmax
# regression, and all $n$ regressions have the same unknown $\mathrm{vec}(X)$.
#
# ## The experiment
#
# Let us compute loss and gradient in two ways: with all rows at once, as matrices, and row after row, with one long
# vector. To try sixteen dimensions, change the line `n, d = 12, 4`.

# %% tags=["experiment"]
import numpy as np
import pandas as pd
import torch

from icl.tensor_trick import gradient, vec

n, d = 12, 4  # or 12, 16, for example
rng = np.random.default_rng(0)
A1, A2 = torch.from_numpy(rng.standard_normal((2, n, d)))
X = torch.from_numpy(rng.standard_normal((d, d)))
B = torch.from_numpy(rng.standard_normal((n, n))).softmax(-1)

scores = A1 @ X @ A2.T  # all rows at once
at_once = (scores.softmax(-1) - B).square().sum()
slope = 2 * gradient(A1, A2, X, B)  # `gradient` is that of half the loss

K = torch.kron(A1, A2)  # row after row
x = vec(X).requires_grad_()
one_by_one = 0.0
for row in range(n):
    block = K[row * n : (row + 1) * n]
    one_by_one += ((block @ x).softmax(-1) - B[row]).square().sum()
(long_slope,) = torch.autograd.grad(one_by_one, x)

stored = A1.numel() + X.numel() + A2.numel() + scores.numel()
pd.DataFrame(
    {
        "loss": [at_once.item(), one_by_one.item()],
        "length of the gradient": [slope.norm().item(), long_slope.norm().item()],
        "numbers stored": [stored, K.numel()],
    },
    index=["matrices", "one long vector"],
)

# %% [markdown]
# Loss and gradient are the same, and only the memory differs. The large matrix holds $n^2d^2$ numbers, so that with four
# times the dimension it is sixteen times as large.
#
# The next table repeats the comparison for both problems and more dimensions. The columns *trick*,
# *normalized*, *rescaled* and *gradient* have the largest relative difference between the two ways, for the scores, each loss and
# the gradient. The last two columns have the bytes of the large matrix, and of the small matrices that take its place.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
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

# %% figure={"alt": "Log-log plot of bytes against d from 2 to 1024. Points of the explicit product lie on a steep dotted line that crosses a dashed line at 24 GiB near d = 140. Points of the matrices lie on a dotted line with half that slope and end below one gigabyte.", "name": "fig-scale-cost"} jupyter={"source_hidden": true} tags=["hide-input"]
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
# **Memory and the tensor trick.** Bytes of the large matrix, and of the small matrices with the scores. Points are
# measured, and lines are computed from the numbers of entries. The large matrix needs more than 24 GiB (dashed) near
# $d=140$. The small ones need less than one gigabyte up to $d=1024$.
#
# At $d=16$ with 48 tokens the large matrix takes [4,718,592](<judged:P2.memory|n = 48, d = 16|8*,.0f>) bytes, more
# than a hundred times as many as the small ones.
#
# **Exercise 1.** Let $\mathsf A_2$ be the second block of the large matrix in the first figure. Compute by hand the
# two entries of $\mathsf A_2\,\mathrm{vec}(X)$.
#
# <details><summary>Solution</summary>
#
# The block $\mathsf A_2=(0,1)\otimes A_2$ has the rows $(0,0,1,0)$ and $(0,0,2,1)$. Its product with $(1,2,3,4)$ is
# $(3,10)$, the second row of $A_1XA_2^\top$.
#
# </details>
#
# ### The gradient without the large matrix
#
# Let $L$ be a loss that depends on $X$ only through the scores. Let the $n\times n$ matrix $P$ hold its derivatives
# in the scores. Then the gradient is a product of three small matrices,
#
# <a id="eq-tt-gradient"></a>
#
# $$
# \nabla_XL=A_1^\top PA_2.
# $$
#
# <details><summary>Proof, and five ways to compute the gradient</summary>
#
# A small change $dX$ of the weights changes the scores $S=A_1XA_2^\top$ by $A_1\,dX\,A_2^\top$, and so the loss by
# $\langle P,A_1\,dX\,A_2^\top\rangle=\langle A_1^\top PA_2,\,dX\rangle$. With the large matrix the same gradient is
# $(A_1\otimes A_2)^\top\mathrm{vec}(P)=\mathrm{vec}(A_1^\top PA_2)$.
#
# | form | how | operations | numbers held besides the data |
# |---|---|---|---|
# | explicit | build $A_1\otimes A_2$ | $4n^2d^2$ | $n^2d^2$ |
# | blockwise | one block at a time | $4n^2d^2$ | $nd^2$ |
# | autograd | PyTorch differentiates | $4n^2d+4nd^2$ | several $n^2$ |
# | closed form | $A_1^\top PA_2$ | $4n^2d+4nd^2$ | several $n^2$ |
# | [streaming](#term-streaming) | the closed form for a few rows at a time (`icl.tensor_trick.gradient`) | $4n^2d+4nd^2$ | $nd$ |
#
# For $n=d=1024$ and numbers of 64 bits the large matrix takes 8 TiB. One block takes 8 GiB, and one $n\times n$ array
# 8 MiB.
#
# </details>
#
# At $n=d=1024$ this product takes 512 times fewer operations than the large matrix.

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
# **Exercise 2.** At which $n=d$ does the large matrix no longer fit into the memory of your machine? At which $n=d$
# does a single block of it no longer fit?
#
# <details><summary>Solution</summary>
#
# With $M$ bytes of memory the large matrix fails at $n=d\approx(M/8)^{1/4}$, and a block fails at
# $n=d\approx(M/8)^{1/3}$. For 24 GiB these sizes are about 240 and 1,500. Going block by block still takes $4n^2d^2$
# operations.
#
# </details>
#
# **Exercise 3.** Take the matrices of the first figure, with the weights $X/10$ and the targets $B=I$. Compute the
# gradient of half the normalized loss by [the gradient formula](#eq-tt-gradient), without `icl` and without autograd.
# Compare your result with `gradient`.
#
# <details><summary>Solution</summary>
#
# For a softmax row $f$ with the target $b$, let $c=f-b$ be the residual. The corresponding row of $P$ is the Jacobian
# of softmax times $c$, with the entries $f_i\,(c_i-\sum_kf_kc_k)$.
# ```python
# A1 = torch.tensor([[1.0, 2], [0, 1]])
# A2 = torch.tensor([[1.0, 0], [2, 1]])
# X = torch.tensor([[1.0, 2], [3, 4]]) / 10
# B = torch.eye(2)
# F = torch.softmax(A1 @ X @ A2.T, -1)
# C = F - B
# P = F * (C - (F * C).sum(-1, keepdim=True))
# print(A1.T @ P @ A2 - gradient(A1, A2, X, B))
# ```
# The difference is zero up to rounding.
#
# </details>
#
# ## What the paper says
#
# > **The two problems** (abstract of paper 2). Normalized version
# > $\min_{X} \| D(X)^{-1} \exp(A_1 X A_2^\top) - B \|_F^2$ [...] Rescaled version
# > $\| \exp(A_1 X A_2^\top) - D(X) \cdot B \|_F^2$ [...] This approach expands the dimension from $d$ to $d^2$,
# > resembling the formulation of the regression problem mentioned earlier.
#
# Both problems are sums of single regressions, one for each row, in the unknown
# $\mathrm{vec}(X)$.[✓](judged:P2.normalized) The $d^2$ unknowns are the entries of $X$, so the trick adds none.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
slips = tensor_trick.break_formulas(dims, draws, seed)
mistaken = "{what}, n = {n}, d = {dim}"
judge(
    "P2.normalized",
    worst,
    exact_cases(slips[slips.statement == "normalized"], "difference", name=mistaken),
    value="normalized",
    name="n = {n}, d = {dim}",
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge(
    "P2.rescaled",
    worst,
    exact_cases(slips[slips.statement == "rescaled"], "difference", name=mistaken),
    value="rescaled",
    name="n = {n}, d = {dim}",
)

# %% [markdown]
# These sums rest on an identity, for which two later papers ([Gao et al., 2025](cite:gao2025fast);
# [Alman and Song, 2024](cite:alman2024gradient)) cite paper 2:
#
# > **The tensor trick** (related papers). $\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$
#
# <details><summary>When this identity is true, and its proof</summary>
#
# > **What is true.** The identity is true if $\mathrm{vec}$ reads a matrix row by row,
# > $\mathrm{vec}(X)_{(i-1)d+j}=X_{i,j}$. This is how [Gao et al. (2025)](cite:gao2025fast) define $\mathrm{vec}$, and
# > `reshape(-1)` in NumPy and PyTorch also reads rows. In many textbooks (and in MATLAB, Julia, R) $\mathrm{vec}$ reads
# > columns, and the product then has to be $A_2\otimes A_1$.
# >
# > The rows $(j-1)n+1,\dots,jn$ of $A_1\otimes A_2$ form the block $\mathsf A_j=A_1[j,:]\otimes A_2$, whose product with
# > $\mathrm{vec}(X)$ is row $j$ of $A_1XA_2^\top$.
#
# Row $j$ of $A_1XA_2^\top$, written as a column, is $A_2\,(X^\top A_1[j,:]^\top)=\sum_i A_1[j,i]\;A_2\,X[i,:]^\top$. The
# block $\mathsf A_j=\big(A_1[j,1]A_2,\dots,A_1[j,d]A_2\big)$ consists of $d$ matrices side by side, and the vector
# $\mathrm{vec}(X)$ of the $d$ rows of $X$, stacked. So this sum is $\mathsf A_j\,\mathrm{vec}(X)$. Stacking over $j$ gives
# the identity. $\square$
#
# </details>

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
# ## For specialists
#
# **Exercise 4.** Let $\mathrm{vec}_c$ read a matrix column by column. Show that
# $\mathrm{vec}_c(A_1XA_2^\top)=(A_2\otimes A_1)\,\mathrm{vec}_c(X)$.
#
# <details><summary>Solution</summary>
#
# The columns of $X$ are the rows of $X^\top$, so $\mathrm{vec}_c(X)=\mathrm{vec}(X^\top)$. Hence, by the identity for rows,
# $\mathrm{vec}_c(A_1XA_2^\top)=\mathrm{vec}(A_2X^\top A_1^\top)=(A_2\otimes A_1)\,\mathrm{vec}(X^\top)=(A_2\otimes A_1)\,\mathrm{vec}_c(X)$.
#
# </details>
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | tested here |
# |---|---|
# | $\mathrm{vec}$ reads rows | reading columns is the control of P2.trick |
# | blocks are consecutive rows | two assertions in the cell of the first figure, and a unit test |
# | target $b_j$ is *row* $j$ of $B$, each row has its own normalization | controls of P2.normalized and P2.rescaled |
# | row $j$ of $P$ belongs to row $j$ of the scores | control of P2.gradient |
# | no $1/\sqrt d$ in the scores; $B$ is any real matrix | conventions; we draw rows of $B$ from the simplex |
#
# The losses in `icl.tensor_trick` carry a factor $\tfrac12$, so we compare *twice* our loss with
# [the two problems](#eq-tt-problems).
#
# </details>
#
# The single regressions of earlier papers have the losses $\Vert\langle e^{Ax},1_n\rangle^{-1}e^{Ax}-b\Vert_2^2$ and
# $\Vert e^{Ax}-\langle e^{Ax},1_n\rangle b\Vert_2^2$. In the controls of the cards on the two problems one sum takes
# the columns of $B$ as targets, and one divides all exponentials by their total sum.
#
# ### From $d$ to $d^2$
#
# A single regression with a data matrix of width $d$ has $d$ unknowns, and the vector of the trick has $d^2$. How
# many of the $d^2$ unknowns do the scores determine? As many as the rank of $A_1\otimes A_2$, which the next card
# computes. With at least $d$ tokens the rank is $d^2$ for almost all data, and with fewer tokens it is $n^2$.

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
# ### All five losses
#
# [The gradient formula](#eq-tt-gradient) holds for every loss that depends on $X$ only through the scores. A summary of paper 2
# names three more such losses besides the two of the abstract. It does not define them, so we take the usual formulas. Let $f_j$ be
# softmax row $j$, let $\alpha_j$ be the sum of its exponentials, and let $b_j$ be row $j$ of $B$. Each of the three losses is a sum
# over the rows $j$. The *sparse* loss sums $\alpha_j$, the *cross-entropy* sums $-\langle b_j,\log f_j\rangle$, and the *entropy*
# sums $-\langle f_j,\log f_j\rangle$.
#
# For all five losses the next card compares the formula with autograd through the large matrix.

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
# **Exercise 5.** The spectral norm of a block is $\Vert\mathsf A_j\Vert=\Vert A_1[j,:]\Vert_2\,\Vert A_2\Vert$. Related
# papers assume $\Vert\mathsf A_j\Vert\le R$. Does this bound follow from $\Vert A_1\Vert\le R$ and $\Vert A_2\Vert\le R$?
#
# <details><summary>Solution</summary>
#
# Not if $R>1$. The bounds on $A_1$ and $A_2$ give only $\Vert\mathsf A_j\Vert\le R^2$, and equality holds for
# $A_1=A_2=R\,I$.
#
# </details>
#
# ### What the data cannot see
#
# Suppose that coordinate $k$ has the same value $c\ne0$ for all tokens in $A_2$. For almost all such data the normalized
# loss then determines only $d^2-d$ of the $d^2$ unknowns. Why? Let $y=e_k/c$, so that $A_2y=1_n$. If $vy^\top$ with
# $v\in\mathbb R^d$ is added to $X$, all scores of row $j$ rise by the same number, entry $j$ of $A_1v$. The softmax of
# the row does not change.
#
# The cross-entropy and entropy losses do not change in these $d$ directions $vy^\top$ either. The rescaled and sparse
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
# **Exercise 6.** Suppose that $A_2y=1_n$ for some $y$. Center $A_2$ by subtracting the mean of its rows from each row. Is
# a minimizer of the normalized problem with the centered matrix then unique?
#
# <details><summary>Solution</summary>
#
# No. If $A_2'$ is the centered matrix, then $A_2'y=0$, so adding $vy^\top$ to $X$ does not even change the scores.
#
# </details>

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
