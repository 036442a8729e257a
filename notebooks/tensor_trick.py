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
# **Short answer.** Read row by row, $\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$ turns a matrix problem into
# $n$ softmax regressions that share one unknown vector; read column by column, as many textbooks do, it is false
# {judged}`P2.trick`. Everything built directly on it holds up to rounding {judged}`P2.normalized`
# {judged}`P2.rescaled` {judged}`P2.gradient`. The trick serves proofs, not computers: taken literally it holds the
# $n^2d^2$ numbers of the explicit product {judged}`P2.memory`, and its operations grow with the power
# {judged}`P2.scale.operations | explicit, n = d | .0f` of $n=d$, those of the closed form in three lines with the power
# {judged}`P2.scale.operations | closed form, n = d | .0f`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d in the identity checks, each with 3 d tokens
draws = 10  # random problems for each d
sizes = [32, 48, 64]  # n and d, equal, of forms that build blocks of the product
large_sizes = [256, 1024]  # the same, for forms that take at most a second there
n_values = [512, 1024]  # tokens n at a fixed dimension of 16, for the growth of memory
memory_limit = 4.0  # GiB that a measured process may map beyond its libraries
repeats = 2  # timed repetitions, the fastest counts
seed = 0  # root of the random numbers

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import torch
from IPython.display import display

from icl.tensor_trick import kron_block, vec
from icl_book import measure, notebook, plots
from icl_book.claims import judge
from icl_book.measurements import costs, identities, tables

notebook.setup(globals(), sizes=2, n_values=2)

# %% tags=["hide-input"]
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
# ```{caption} fig-tt-motive
# :alt: Five small matrices in a row: tokens A1, weights X, tokens A2 transposed, the softmax of the rows of their product, and
# targets. The second row of the first, the fourth and the fifth is framed. Below: in context the tokens move, in training the
# weights.
#
# Attention as a regression, three tokens in two dimensions. The softmax rows of $A_1XA_2^\top$ shall equal the targets. Framed:
# one row, a single softmax regression. A prompt changes the tokens, training changes the weights.
# ```
#
# (trick-plain)=
# ## In plain words
#
# **Why a paper on in-context learning solves a regression.** A prompt changes what a transformer computes, but no weight:
# each layer hands changed *tokens* to the next one. Training changes the *weights*. Is the one like the other? To ask this
# precisely one needs a problem in which both can move. {term}`Softmax regression <softmax regression>` is such a problem
# ({numref}`fig-tt-motive`): choose weights $X$ so that attention comes close to given targets $B$.
#
# {cite:t}`li2024closeness` asked the question for one row of attention, a single softmax regression. Attention has $n$ rows
# that share the weights. Paper 2 {cite:p}`gao2023tensor` takes all rows together: its title says "from single softmax
# regression to multiple softmax regression via a tensor trick". Whether moved tokens do what moved weights do is the subject of
# [](/notebooks/icl_as_gradient_descent.ipynb). This chapter is about the step from one row to all, and what it costs.
#
# **The {term}`trick <tensor trick>`.** The scores $A_1XA_2^\top$ are linear in $X$. So they are *some* matrix times the list of
# all entries of $X$, and the Kronecker product $A_1\otimes A_2$ is that matrix. Its rows come in $n$ blocks, one for each
# query. Each block makes one ordinary softmax regression, all with the same unknown vector $x=\mathrm{vec}(X)$ of length $d^2$.
# What is known about a single regression can then be used for all rows. The price: the data matrix has $n^2d^2$ entries, where
# $A_1$ and $A_2$ together have $2nd$.
#
# ## What is printed, and what is true
#
# The abstract of arXiv 2307.02419 sets two problems for given $A_1, A_2\in\mathbb R^{n\times d}$ and
# $B\in\mathbb R^{n\times n}$, with the exponential taken entry by entry and $D(X)=\mathrm{diag}(\exp(A_1XA_2^\top)1_n)$:
#
# $$
# \begin{aligned}
# \text{normalized:}&\quad\min_X \Vert D(X)^{-1}\exp(A_1XA_2^\top)-B\Vert_F^2,\\
# \text{rescaled:}&\quad\min_X \Vert \exp(A_1XA_2^\top)-D(X)\,B\Vert_F^2.
# \end{aligned}
# $$ (eq-tt-problems)
#
# It relates them to the single regressions $\Vert\langle e^{Ax},1_n\rangle^{-1}e^{Ax}-b\Vert_2^2$ and
# $\Vert e^{Ax}-\langle e^{Ax},1_n\rangle b\Vert_2^2$ of earlier papers, and says that vectorization "expands the dimension from
# $d$ to $d^2$". The identity that does this is not in the abstract, and the full text was not among our sources. Our notes
# have it from two later papers that cite paper 2 for it {cite:p}`gao2025fast,alman2024gradient`, and so does a machine-written
# summary:
#
# > $\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$
#
# Of the cards below three judge paper 2's own words, its abstract: P2.normalized, P2.rescaled and P2.dimension.
#
# ```{admonition} What is true
# :class: tip
# The identity is true if $\mathrm{vec}$ reads a matrix row by row, $\mathrm{vec}(X)_{(i-1)d+j}=X_{i,j}$, as
# {cite:t}`gao2025fast` define it and as `reshape(-1)` does in NumPy and PyTorch. The summary leaves this out. Many textbooks (and
# MATLAB, Julia, R) read columns; then the factors have to be swapped to $A_2\otimes A_1$. Rows $(j-1)n+1,\dots,jn$ of
# $A_1\otimes A_2$ form the block $\mathsf A_j=A_1[j,:]\otimes A_2$, and $\mathsf A_j\,\mathrm{vec}(X)$ is row $j$ of $A_1XA_2^\top$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# Row $j$ of $A_1XA_2^\top$, written as a column, is $A_2\,(X^\top A_1[j,:]^\top)=\sum_i A_1[j,i]\;A_2\,X[i,:]^\top$. This is the
# row of blocks $\big(A_1[j,1]A_2,\dots,A_1[j,d]A_2\big)=\mathsf A_j$ times the rows of $X$ stacked on top of one another, which is
# $\mathrm{vec}(X)$. Stack over $j$.
# ```
#
# ## By hand
#
# Two tokens, two dimensions, small integers. `kron_block` builds the rows of $A_1\otimes A_2$ that belong to one query.

# %%
A1 = torch.tensor([[1.0, 2], [0, 1]])
A2 = torch.tensor([[1.0, 0], [2, 1]])
X = torch.tensor([[1.0, 2], [3, 4]])
K = torch.kron(A1, A2)

print("rows:   ", vec(A1 @ X @ A2.T).tolist(), "=", (K @ vec(X)).tolist())
print("columns:", vec((A1 @ X @ A2.T).T).tolist(), "is not", (K @ vec(X.T)).tolist())
print("second block:", (kron_block(A1, A2, 1) @ vec(X)).tolist())

# %% tags=["hide-input"]
columns = {r"$A_1\otimes A_2$": K, r"$\mathrm{vec}(X)$": vec(X)[:, None]}
columns[r"$\mathrm{vec}(A_1XA_2^\top)$"] = (K @ vec(X))[:, None]
figure, axes = plt.subplots(1, 3, figsize=(5.8, 2.1), width_ratios=[4, 1, 1])
for ax, (title, part) in zip(axes, columns.items(), strict=True):
    plots.matrix(ax, part.numpy(), fmt=".0f", limit=30)
    ax.set_title(title)
for ax in axes[[0, 2]]:
    ax.axhline(2, color=plots.COLORS["exact"], linewidth=1.5)
plt.show()

# %% [markdown]
# ```{caption} fig-tt-hand
# :alt: Three matrices with their entries printed. The 4 by 4 Kronecker product with rows 1 0 2 0, 2 1 4 2, 0 0 1 0 and
# 0 0 2 1, cut by a horizontal line into two blocks; the column 1 2 3 4; and the column 7 24 3 10.
#
# The worked example. Left: the Kronecker product; each entry of $A_1$ is the factor of a 2 × 2 block, and the line separates
# the rows of the two queries, $\mathsf A_1$ and $\mathsf A_2$. Right: the product, which is $A_1XA_2^\top$ read row by row.
# ```
#
# **Exercise 1.** Compute the two numbers of the second block, $\mathsf A_2\,\mathrm{vec}(X)$, by hand.
#
# ```{admonition} Solution
# :class: dropdown
# $\mathsf A_2=(0,1)\otimes A_2$ has the rows $(0,0,1,0)$ and $(0,0,2,1)$. Times $(1,2,3,4)$ this is $(3,10)$: the second row of
# $A_1XA_2^\top$.
# ```
#
# **The gradient.** If a loss has the gradient $P=\partial L/\partial S$ in the scores $S=A_1XA_2^\top$, then
# $dL=\langle P, A_1\,dX\,A_2^\top\rangle=\langle A_1^\top PA_2,\,dX\rangle$, so
#
# $$
# \nabla_XL=A_1^\top PA_2,\qquad\text{that is}\qquad
# (A_1\otimes A_2)^\top\mathrm{vec}(P)=\mathrm{vec}(A_1^\top PA_2).
# $$ (eq-tt-gradient)
#
# **Exercise 2.** Show that with the column-major $\mathrm{vec}_c$ the identity is
# $\mathrm{vec}_c(A_1XA_2^\top)=(A_2\otimes A_1)\,\mathrm{vec}_c(X)$.
#
# ```{admonition} Solution
# :class: dropdown
# Reading columns of $X$ is reading rows of $X^\top$: $\mathrm{vec}_c(X)=\mathrm{vec}(X^\top)$. So
# $\mathrm{vec}_c(A_1XA_2^\top)=\mathrm{vec}(A_2X^\top A_1^\top)=(A_2\otimes A_1)\,\mathrm{vec}(X^\top)
# =(A_2\otimes A_1)\,\mathrm{vec}_c(X)$, with the row-wise identity in the middle.
# ```
#
# ````{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | tested here |
# |---|---|
# | $\mathrm{vec}$ is row-major | the column-major reading is the control of P2.trick |
# | blocks are consecutive rows | control of P2.blocks |
# | target $b_j$ is *row* $j$ of $B$, each row has its own normalization | controls of P2.normalized and P2.rescaled |
# | row $j$ of $P$ belongs to row $j$ of the scores | control of P2.gradient |
# | no $1/\sqrt d$ in the scores; $B$ is any real matrix | conventions; we draw rows of $B$ from the simplex |
#
# The losses in `icl.tensor_trick` carry a factor $\tfrac12$, {eq}`eq-tt-problems` has none: we compare *twice* our loss with it.
# ````
#
# ## Experiment 1: eight identities
#
# For each $d$ we draw random problems with $n=3d$ tokens: $A_1$, $A_2$ and $dX$ standard normal, rows of $B$ softmaxes. Both
# sides of every identity are computed in 64 bits. A rule allows them to differ by $10^{-12}$ of the largest number that was
# summed, for rounding. The controls break each identity in the way that a slip of the pen would.
# The other side of the gradient is autograd through the explicit product, which shares no formula with ours.

# %%
compared = identities.IDENTITIES
table = identities.differences(compared, dims, draws, seed, notebook.device())

# %% tags=["hide-input"]
names = table.identity.unique()
figure, ax = plt.subplots(figsize=(5.8, 2.2))
for broken, marker, role, label in (
    (False, "o", "corrected", "as stated"),
    (True, "x", "printed", "broken on purpose"),
):
    rows = table[table.broken == broken]
    places = rows.identity.map({name: i for i, name in enumerate(names)})
    shown = rows.value.clip(lower=1e-17)
    ax.plot(shown, places, marker, color=plots.COLORS[role], label=label)
ax.axvline(1e-12, color=plots.COLORS["guide"], ls="--", lw=1.2, label="permitted")
ax.set(xscale="log", xlim=(3e-18, 100), xlabel="relative difference of the two sides")
ax.set_yticks(range(len(names)), names)
ax.invert_yaxis()
ax.legend(loc="upper center", bbox_to_anchor=(0.45, 1.2), ncols=3)
plt.show()

# %% [markdown]
# ```{caption} fig-tt-errors
# :alt: Eight rows, one for each identity. On a logarithmic axis all dots lie left of the dashed line at 1e-12, below 1e-14; all
# crosses of the broken versions lie above one hundredth.
#
# Difference of the two sides of each identity, as a fraction of the largest number summed: the largest over all draws (dots), and
# of each version that is broken on purpose the smallest over $d$ (crosses). Exactly zero is drawn at 1e-17.
# ```

# %%
judge("P2.trick", *identities.evidence(table, "trick"), name="{what}")

# %%
judge("P2.normalized", *identities.evidence(table, "normalized"), name="{what}")

# %% [markdown]
# The other problem of the abstract, and five more cards, are folded. They are the parts from which papers of this line build their proofs: the blocks; the gradient of all five
# losses that the summary names (normalized, rescaled, *sparse* $\alpha_j$, *cross-entropy* $-\langle b_j,\log f_j\rangle$,
# *entropy* $-\langle f_j,\log f_j\rangle$, with $f_j$ the softmax row and $\alpha_j$ the sum of its exponentials); and second
# derivatives. Along a direction $V$ row $j$ of $P$ moves by $W_j=H_jT_j$, with $T=A_1VA_2^\top$ and the row Hessian $H_j$. So
# $\nabla^2L[V]=A_1^\top WA_2$, one more product of the same kind, and
# $\nabla^2L=\sum_j\mathsf A_j^\top H_j\mathsf A_j=\sum_j\big(A_1[j,:]^\top A_1[j,:]\big)\otimes\big(A_2^\top H_jA_2\big)$.

# %% tags=["hide-input"]
for name in ("rescaled", "blocks", "gradient", "five", "hvp", "hessian"):
    both = identities.evidence(table, name)
    display(judge(f"P2.{name}", *both, name="{what}", folded=True))

# %% [markdown]
# **Exercise 3.** The spectral norm of a block is $\Vert\mathsf A_j\Vert=\Vert A_1[j,:]\Vert_2\,\Vert A_2\Vert$. The papers of this
# line assume $\Vert\mathsf A_j\Vert\le R$. Does $\Vert A_1\Vert,\Vert A_2\Vert\le R$ imply it?
#
# ```{admonition} Solution
# :class: dropdown
# Not for $R>1$: it gives only $R^2$, and $A_1=A_2=R\,I$ attains that. The two assumptions are different.
# ```
#
# ## Experiment 2: "from $d$ to $d^2$"
#
# A single regression with a data matrix of width $d$ has $d$ unknowns, the vectorized problem has $d^2$. We count the unknowns
# that the data can determine, the rank of $A_1\otimes A_2$. ($X$ had $d^2$ entries before it was written as a vector; what grows
# is the data matrix.) With fewer tokens than dimensions the rank drops to $n^2$, the control.

# %%
ranks = identities.ranks(dims, seed, notebook.device())
enough = ranks.n >= ranks.d
sides = ranks[enough], ranks[~enough]
judge("P2.dimension", *sides, name="n = {n}, d = {d}", folded=True)

# %% [markdown]
# **What the data cannot see.** Softmax does not notice a number added to a whole row of scores. If some $y$ has $A_2y=1_n$, for
# example because one coordinate of every token is constant, then $X+wy^\top$ has the same softmax rows as $X$ for every
# $w\in\mathbb R^d$. So $d$ of the $d^2$ directions are invisible to the normalized loss, the cross-entropy and the entropy. The
# rescaled and the sparse loss see them. A constant column in $A_1$ hides nothing.

# %% tags=["hide-input"]
hessians = identities.hessian_ranks(dims, draws, seed, notebook.device())
control = hessians["where"] == "in A1"
judge(
    "P2.identifiable",
    hessians[~control],
    hessians[control],
    name="{kind}, d = {d}, constant column {where}",
    folded=True,
)

# %% [markdown]
# **Exercise 4.** Every token is shifted so that the mean row of $A_2$ is zero. Does that make the minimizer of the normalized
# problem unique?
#
# ```{admonition} Solution
# :class: dropdown
# No. If $A_2y=1_n$ before, then $A_2y=0$ after, and the same directions $wy^\top$ are invisible.
# ```
#
# ## Experiment 3: the price
#
# The summary lists as a limitation that going from $d$ to $d^2$ "may be computationally prohibitive", and proposes to measure it
# at sizes up to $d=1024$. {cite:t}`alman2024gradient` (Lemmas 4.1 and C.8) give $O(n^2d+nd^2)$ for the gradient; taken literally,
# the Kronecker form needs $O(n^2d^2)$. Five ways
# compute the same gradient: with the explicit product, with one block at a time, by autograd, by the closed form
# $A_1^\top PA_2$ (`icl.tensor_trick.formulas.plain_gradient`), and by {term}`streaming` it (`icl.tensor_trick.gradient`).
#
# ```{admonition} The five ways, counted
# :class: dropdown
# | form | how | operations | numbers held |
# |---|---|---|---|
# | explicit | build $A_1\otimes A_2$ | $4n^2d^2$ | $n^2d^2$ |
# | blockwise | one $\mathsf A_j$ at a time | $4n^2d^2$ | $nd^2$ |
# | autograd | PyTorch differentiates | $4n^2d+4nd^2$ | several $n^2$ |
# | closed form | $A_1^\top PA_2$ | $4n^2d+4nd^2$ | several $n^2$ |
# | streaming | the same in tiles | $4n^2d+4nd^2$ | $nd$, a tile or two |
# ```
#
# By hand, for $n=d=1024$ in 64 bits: the explicit matrix has $8\cdot1024^4$ bytes, 8 TiB. One block has 8 GiB, one $n\times n$
# array 8 MiB. The explicit form does $4\cdot1024^4$ operations, the closed form $8\cdot1024^3$: 512 times fewer.
#
# PyTorch counts the operations of all matrix products. The card judges the exponent when $n$, $d$ or both double.

# %%
gradients = [form(*costs.data(200, 5, seed)) for form in costs.FORMS.values()]
assert all(torch.allclose(G, gradients[0]) for G in gradients)  # all five agree
fast = ["closed form", "streaming", "autograd"]
doubled = costs.growth(fast, 256, list(costs.GROWING), seed)
literal = costs.growth(costs.SLOW, 16, ["n = d"], seed)
judge(
    "P2.scale.operations",
    doubled,
    literal,
    value="value",
    error="error",
    name="{form}, {growing}",
    folded=True,
)

# %% [markdown]
# Time and memory are measured in fresh processes, each on one core. A peak is what a process holds at most during one call, above
# what it held before; it is good to about 1 MiB. A form *dies* when it asks for more address space than `memory_limit`.

# %%
tried = costs.settings(sizes, large_sizes, int(memory_limit * 2**30), seed)
measured = measure.table(tried, **costs.GRADIENT, repeats=repeats)

# %% tags=["hide-input"]
alive, died = measured.dropna(), measured[measured.peak.isna()]
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.1))
colors = plots.colors(list(costs.FORMS))
for column, ax in zip(("seconds", "peak"), axes, strict=True):
    for (form, color), marker in zip(colors.items(), "osD^v", strict=True):
        rows = alive[(alive.form == form) & (alive.peak > 2**20)]
        ax.loglog(rows.n, rows[column], marker + "-", color=color, label=form)
    ax.set(xlabel="n = d", xlim=(25, 12 * max(large_sizes)))
for form, rows in died.groupby("form"):
    axes[1].plot(rows.n.min(), rows.limit.min(), "X", color=colors[form], markersize=9)
for form, slope in (("explicit", 4), ("closed form", 3)):
    end = alive[alive.form == form].iloc[-1]
    plots.guide(axes[0], end.n, end.seconds, slope, f"slope {slope}", 0.4)
axes[0].set(ylabel="seconds")
axes[1].set(ylabel="peak memory (bytes)")
axes[0].legend(fontsize=8, loc="lower right")
plt.show()

# %% [markdown]
# ```{caption} fig-scale-cost
# :alt: Two log-log panels against n equal to d. Left: the explicit and the blockwise form rise steeply and end at 64; autograd,
# closed form and streaming reach 1024. Right: the explicit form needs over a hundred megabytes at 64 and has a cross at 256; the
# others stay below a hundred megabytes, except the blockwise form, which has a cross at 1024.
#
# Seconds for one gradient (left) and peak memory (right) against $n=d$. Each point is a fresh process on one core; times are of
# this machine. Crosses: the size at which a form asked for more memory than it was allowed. Peaks below 1 MiB are left out.
# ```
#
# Two statements about memory are judged, each from eight processes a size: that the literal form holds the whole product, and
# that the streamed one needs $O(nd)$ beside the data. The controls compute the same numbers in matrix form.

# %% tags=["hide-input"]
jobs = costs.score_jobs(sizes, times=8, seed=seed)
peaks = measure.table(jobs, **costs.SCORES)
peaks["share"] = peaks.peak / (8 * peaks.n**2 * peaks.d**2)
shares = [peaks[peaks.form == form] for form in ("explicit", "matrix")]
process = {"samples": "process", "folded": True}
look = {"value": "share", "labels": ["n", "d"], "name": "n = {n}, d = {d}"}
display(judge("P2.memory", *shares, **look, **process))

ends, limit = (n_values[0], n_values[-1]), int(memory_limit * 2**30)
both = {"process": range(8), "n": ends, "form": ["streaming", "closed form"]}
again = tables.grid(**both).assign(d=16, limit=limit, seed=seed)
growth = costs.memory_exponents(measure.table(again, **costs.GRADIENT))
forms = [growth[growth.form == form] for form in again.form.unique()]
judge("P2.scale.memory", *forms, value="value", name="{form}", **process)

# %% [markdown]
# **Exercise 5.** At which $n=d$ does the explicit form die on your machine, and at which one that forgets each block after use?
#
# ```{admonition} Solution
# :class: dropdown
# With $M$ bytes at $n=d\approx(M/8)^{1/4}$, and at $(M/8)^{1/3}$: 240 and 1,500 for 24 GiB. The second still does $4n^2d^2$
# operations.
# ```
#
# ## To remember
#
# The tensor trick makes $n$ rows of attention one regression in $\mathrm{vec}(X)$, so that statements about one row carry over to
# all. It serves proofs only: to compute, use $A_1XA_2^\top$ and $A_1^\top PA_2$.

# %% tags=["remove-input"]
notebook.footer()
