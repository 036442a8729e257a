# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Is in-context learning gradient descent?
#
# **Short answer.** Not in the sense of taking the same next step: a move of the weights can be replaced by a move of the target
# that keeps residual and loss, but not the gradient {judged}`P2.icl.equivalence`. The target moves at most $R/2$ times as far as the
# weights in the normalized problem; in the rescaled one the ratio can grow exponentially {judged}`P2.icl.separation`. A softmax layer
# fitted to one random problem ($n=12$, $d=4$) has a median cosine of
# {judged}`P2.icl.imitates | fitted to one problem, n = 12, d = 4 | .2f` with the gradient step, one layer for all problems
# {judged}`P2.icl.imitates | one layer for all problems, n = 12, d = 4 | .1f`; attention is needed for neither, because a matrix on
# each token makes the step exactly, and shrinking every token does as well as the second layer.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
context_length = 12  # tokens n
dim = 4  # dimension d
steps = 100  # steps of gradient descent
radii = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]  # bounds R on the norms of data and weights
n_values = [4, 16, 64]  # tokens, for the worst cases
starts = 24  # starts of each search
draws = 1000  # random problems to fit one softmax layer to; as many to test it
seeds = 10  # independent repetitions of that
seed = 0  # root of the random numbers

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import display

from icl.streams import stream
from icl.tensor_trick.formulas import row_gradient
from icl.tensor_trick.target_shift import shifted_target
from icl_book import notebook, plots
from icl_book.claims import cases, judge, other_readings
from icl_book.measurements import tables, target_shift

notebook.setup(globals())

# %% tags=["hide-input"]
rng = stream(seed, "monte carlo")
first = target_shift.problems(context_length, dim, rng)
kinds = target_shift.KINDS
gaps = pd.concat([target_shift.descend(first, kind, steps) for kind in kinds])

figure, ax = plt.subplots(figsize=(5.8, 2.5))
for kind, rows in gaps.groupby("kind"):
    color, dots = plots.COLORS[kind], rows.value.clip(lower=1e-17)
    ax.semilogy(rows.step, dots, ".", color=color, label=f"loss, {kind}")
    plots.exact_curve(ax, rows.step, rows.gradient, f"gradient, {kind}", color)
ax.set(xlabel="step of gradient descent", ylabel="relative difference")
ax.legend(loc="center right")
plt.show()

# %% [markdown]
# ```{caption} fig-icl-path
# :alt: Logarithmic plot against the step of gradient descent. The dots for the loss scatter around 1e-16. The two curves for the
# gradient lie between one hundredth and one half all along.
#
# Either the weights move, or the target moves instead. Dots: the loss is the same, up to rounding. Curves: its gradient is not.
# Relative differences along the path of gradient descent; exactly zero is drawn at 1e-17.
# ```
#
# ## In plain words
#
# A {term}`softmax regression` compares predictions $f$ with targets $b$; what counts is the residual $f-b$. If you
# move the weights a little, the residual changes a little. You could have produced *the same residual* by leaving the weights alone
# and moving the target. The same holds if the tokens move, as they do in context. In this sense all three moves are one, and how far
# the target has to go can be bounded.
#
# But the next gradient step is another one. The gradient multiplies the residual by the derivative of softmax, which is another
# one at another place ({numref}`fig-icl-path`). And that a target exists that makes a token move look like a weight move does not
# say that the tokens move *as* a gradient step would. The last part of this chapter asks which layer makes that step.
#
# ## What is printed, and what is true
#
# For one softmax regression $L(x)=\frac12\Vert f(x)-b\Vert^2$, $f=\langle e^{Ax},1\rangle^{-1}e^{Ax}$, {cite:t}`li2024closeness` prove
# two statements; we read them in public reviews and a machine-written abstract, not in the paper:
#
# 1. moving the weights, $x_t\to x_{t+1}$, is equivalent to replacing the target $b$ by a $\tilde b$ with
#    $\Vert\tilde b-b\Vert_2\le M\Vert x_{t+1}-x_t\Vert_2$;
# 2. moving the data, $A_t\to A_{t+1}$, which is what a self-attention layer does, is equivalent to replacing $b$ by a $\tilde b$ with
#    $\Vert\tilde b-b\Vert_2\le M\Vert A_{t+1}-A_t\Vert$;
#
# with $M=n^{1.5}e^{10R^2}$. Paper 2 {cite:p}`gao2023tensor` announces its "main result concerning in-context learning" for the
# {term}`normalized` and the {term}`rescaled` matrix problem; the result is in none of our sources. A machine-written summary says:
#
# > In-context learning updates are mathematically equivalent to gradient descent steps on attention parameters (a machine-written
# > summary of paper 2)
#
# **No sentence judged below is paper 2's**: they are the summary's, another paper's, or this book's.
#
# The theorems say that some $\tilde b$ exists. Here it is, for the matrix problem with scores $S\to S'$ (by a move of $X$, $A_1$ or
# $A_2$), softmax rows $F$ and row sums $a$ of $e^S$:
#
# $$
# \begin{aligned}
# \text{normalized:}&\quad\tilde B=B+F(S)-F(S'),\\
# \text{rescaled:}&\quad\tilde b_j=f_j-\frac{a_j'}{a_j}\,(f_j'-b_j).
# \end{aligned}
# $$ (eq-icl-shift)
#
# ```{admonition} What is true
# :class: tip
# With {eq}`eq-icl-shift` the residual and the value of the loss at $(S,\tilde B)$ are those at $(S',B)$; the gradient and the next
# step are not. Normalized: $\Vert\tilde b_j-b_j\Vert\le\frac12\Vert s_j'-s_j\Vert$, so $\frac R2$ serves in place of $M$. Rescaled, with
# $b_j$ in the simplex and $\delta=\Vert s_j'-s_j\Vert_\infty$: $\Vert\tilde b_j-b_j\Vert\le\sqrt2\,e^\delta\Vert s_j'-s_j\Vert$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# The residuals: insert. Normalized: softmax is $\frac12$-Lipschitz ([](/notebooks/lipschitz_bounds.ipynb)). Rescaled: along the segment
# from $s$ to $s'$ the derivative of $\tilde b$ is $-(\mathrm{diag}(f')-bf'^\top)\,a'/a$ at the moving end. $\mathrm{diag}(f)-bf^\top$
# is affine in $f$ and in $b$, so its norm is largest at corners of the two simplices: $f=e_i$, $b=e_k$ gives
# $\Vert(e_i-e_k)e_i^\top\Vert=\sqrt2$. And $a'/a\le e^\delta$.
# ```
#
# ## By hand
#
# Two tokens, $b=(1,0)$. The weights move so that the scores go from $(0,0)$ to $(\ln3,0)$. The prediction goes from
# $(\frac12,\frac12)$ to $(\frac34,\frac14)$, the residual to $(-\frac14,\frac14)$. Stay at scores $(0,0)$ instead and take the
# target $\tilde b=(\frac34,\frac14)$: the residual is $(-\frac14,\frac14)$ too, and the loss is $\frac1{16}$ in both cases. The
# gradients in the scores differ: $J_f$ is $\frac14$ of $(1,-1)(1,-1)^\top$ at the first place and $\frac3{16}$ of it at the second.

# %%
scores = torch.zeros(1, 2, dtype=torch.float64)
after = torch.tensor([[np.log(3.0), 0.0]])
b = torch.tensor([[1.0, 0.0]]).double()
target = shifted_target(scores, after, b)
for what, s, t in (("weights move", after, b), ("target moves", scores, target)):
    residual, slope = s.softmax(-1) - t, row_gradient(s, t, "normalized")
    print(what, "  residual", residual[0].tolist(), "  gradient", slope[0].tolist())

# %% [markdown]
# **Exercise 1.** Show that the normalized shift keeps the row sums of $B$, and that the rescaled one does so exactly if they are 1.
#
# ```{admonition} Solution
# :class: dropdown
# Rows of $F$ and $F'$ both sum to 1, so the normalized shift sums to 0. Rescaled: $1-\frac{a'}{a}(1-\langle b,1\rangle)$, which equals
# $\langle b,1\rangle$ for all $a'/a$ only if $\langle b,1\rangle=1$.
# ```
#
# ````{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | tested here |
# |---|---|
# | $\Vert A\Vert,\Vert x\Vert\le R$ | worst cases over exactly this set |
# | $b$ in the simplex | random rows of the simplex on the path, corners in the search |
# | $\Vert A\,\Delta x\Vert_\infty$ small | dropped in P2.icl.rescaled and P2.icl.separation: there it matters |
# | $X_t$ invertible (for the data move that imitates a step) | true of a random $X_0$; rounding grows with its condition number |
# ````
#
# ## Experiment 1: equivalent, in which sense?
#
# $A_1,A_2$ are standard normal, rows of $B$ random in the simplex, $X_0$ is the identity plus standard normal over $d$. The step size
# is one over the largest absolute eigenvalue of the Hessian at every step. We judge the summary's sentence in three senses: the
# value of the loss, the gradient and with it the next step, and the scores after one linear attention layer that knows the residual
# (Experiment 3).

# %% tags=["hide-input"]
worst = gaps.groupby("kind").max().reset_index()
by_kind, alone = {"labels": ["kind"]}, {"labels": []}
weights = cases(worst, "value", name="value, {kind}", **by_kind)
slopes = cases(worst, "gradient", name="gradient, {kind}", **by_kind)
normalized = worst[worst.kind == "normalized"]
by_layer = cases(normalized, "scores", name="scores, normalized", **alone)
same_gradient, same_scores = other_readings("P2.icl.equivalence")
readings = {same_gradient: slopes, same_scores: by_layer}
judge("P2.icl.equivalence", weights, readings=readings)

# %% tags=["hide-input"]
weights_move = cases(worst, "value", name="weights move, {kind}", **by_kind)
tokens = cases(worst, "data", name="data move, {kind}", **by_kind)
judge("P2.icl.identity", [weights_move, tokens], folded=True)

# %% tags=["hide-input"]
text = f"sum of {steps} shifts"
ends = gaps[gaps.step == steps - 1].assign(what="sum")
sums, rescaled_sum = (
    cases(ends[ends.kind == kind], "sum", labels=["what"], name=f"{text}, {kind}")
    for kind in kinds
)
largest = normalized.assign(what="bound", most=1.0)
ratio = cases(
    largest, "shift", kind="found", high="most", labels=["what"], name="largest ratio"
)
display(judge("P2.icl.sharp", ratio + sums, rescaled_sum, folded=True))
far = target_shift.worst_moves(n_values, radii)
moves = {"kind": "found", "high": "bound", "labels": ["n", "R"]}
each = [
    cases(rows, **moves, name=f"{what} move, n = {{n}}, R = {{R:g}}")
    for what, rows in far.groupby("moving", sort=False)
]
judge("P2.icl.shift", each, folded=True)

# %% [markdown]
# The rescaled shift contains the ratio $a'/a$ of row sums. For small moves that is harmless: the constant is at most
# $\sqrt2e^\delta$, and the search reaches $\sqrt2$ as $\delta\to0$. Without the smallness condition the ratio can be exponentially
# large.

# %%
rescaled = target_shift.rescaled_ratios(starts, rng)
apart = target_shift.separation(radii, starts, rng)

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(5.8, 2.5))
fine = np.linspace(min(radii), max(radii), 50)
plots.exact_curve(ax, fine, np.log10(fine / 2), "R/2")
for (kind, rows), marker in zip(apart.groupby("kind", sort=False), "os", strict=True):
    ax.plot(rows.R, rows.found, marker, mfc="white", c=plots.COLORS[kind], label=kind)
ax.set(xlabel="R", ylabel="log10 of the worst ratio")
ax.legend()
plt.show()

# %% [markdown]
# ```{caption} fig-icl-separation
# :alt: Two series against R from one half to six. The normalized points lie on the curve R over two, below one. The rescaled points
# rise like a parabola to nearly twenty powers of ten.
#
# Worst shift of the target for each unit of weight change, $\Vert\tilde b-b\Vert/\Vert\Delta x\Vert$, as powers of ten, over all data
# and weights within the preconditions, eight tokens. Points: found by search. Line: the bound of the normalized version.
# ```

# %% tags=["hide-input"]
look = {"kind": "found", "labels": ["delta"]}
search = cases(rescaled, high=1.0, name="delta = {delta:g}", **look)
largest_delta = {"high": np.inf, "name": "delta = 1, factor left out"}
control = cases(rescaled.tail(1), "without", **largest_delta, **look)
display(judge("P2.icl.rescaled", search, control, folded=True))
far_out = apart[apart.R.isin(radii[-2:])]
far_out = far_out.sort_values("kind", ascending=False, kind="stable")
found = {"kind": "found", "high": "bound", "labels": ["R", "kind"]}
judge("P2.icl.separation", far_out, name="{kind}, R = {R:g}", folded=True, **found)

# %% [markdown]
# **When does it break?** The summary adds: "If the Lipschitz conditions are violated (e.g., gradients become too large or sparse
# updates occur), the equivalence breaks down." The *bound* on the shift can break, but only the rescaled one: with one token that
# counts, and $x$ sixteen times as long as $R$, turned round in one step, the shift is larger than $M$ allows. The *value* of the loss
# is the same after any move, since that is how the shift is defined.

# %% tags=["hide-input"]
long = target_shift.stretched()
some = {"error": "error", "labels": [], "name": "shift, R = 2"}
shift = {kind: cases(row, "shift", **some) for kind, row in long.groupby("kind")}
loss = cases(long, error="error", labels=["kind"], name="loss, {kind}, R = 2")
readings = {
    "the bound on the normalized shift": shift["normalized"],
    "the value of the loss is no longer the same": loss,
}
judge("P2.icl.break", shift["rescaled"], readings=readings, folded=True)

# %% [markdown]
# ## Experiment 3: which layer makes the step?
#
# So far the tokens moved in any way. Which token move *is* a gradient step? With $\Delta X=-\eta A_1^\top PA_2$ and $X_t$ invertible,
#
# $$
# A_1'=A_1X_{t+1}X_t^{-1}=A_1-\eta\,(A_1A_1^\top)\,(PA_2X_t^{-1})
# $$ (eq-icl-layer)
#
# gives $A_1'X_tA_2^\top=A_1X_{t+1}A_2^\top$: one **linear** self-attention layer with residual connection, scores $A_1A_1^\top$ and
# values $PA_2X_t^{-1}$. The values contain $P$, which depends on the targets: a layer that sees only $A_1$ cannot know the gradient.
# And {eq}`eq-icl-layer` also reads $A_1'=A_1(I-\eta GX_t^{-1})$ with $G=A_1^\top PA_2$: every token is multiplied by the same
# $d\times d$ matrix, without attention.

# %% tags=["hide-input"]
told = gaps[gaps.kind == "normalized"].dropna()
linear = cases(told.nlargest(1, "linear"), "linear", name=f"{len(told)} steps", **alone)
softmax = told.nsmallest(1, "softmax")
softmax = cases(softmax, "softmax", name="softmax weights", **alone)
judge("P2.icl.linear-attention", linear, softmax, folded=True)

# %% [markdown]
# **Exercise 2.** The change of the scores by a gradient step, $-\eta(A_1A_1^\top)P(A_2A_2^\top)$, does not contain $X$ except through
# $P$. What does this mean for two different $X$ with the same scores?
#
# ```{admonition} Solution
# :class: dropdown
# They stay together for ever: gradient descent is a dynamics of the scores alone, with two fixed kernels.
# ```
#
# **And a softmax layer?** Take $A_1'=A_1+\mathrm{softmax}(cA_1A_1^\top)\,A_1V$ and choose the $d\times d$ matrix $V$ by least squares,
# in two ways: afresh for each problem (it may then know the targets), or one $V$ for all problems, which is what a trained layer has.
# Each wanted move is divided by its length first. We compare moves of the scores, at sharpness $c$ from 0 (plain averaging) to 16 (each
# token nearly attends to itself), and without attention, $A_1'=A_1+A_1V$.

# %%
fits = target_shift.imitations(context_length, dim, draws, seeds, seed)

# %% tags=["hide-input"]
size = f", n = {context_length}, d = {dim}"
look = {"samples": "stream", "labels": ["what"]}
for card in ("imitates", "shrinks"):
    sides = [
        [
            cases(t, **look, name=title + size)
            for title, t in side.groupby("title", sort=False)
        ]
        for _, side in fits[fits.card == card].groupby("control")
    ]
    display(judge(f"P2.icl.{card}", *sides, folded=card == "shrinks"))

# %% tags=["hide-input"]
names = {"each": "fitted to each problem", "shared": "one layer for all"}
middle = tables.medians(fits[fits.title.isin(names)], "value", ["title", "layer"])
middle["place"] = middle.layer.map(target_shift.LAYERS.index)
figure, ax = plt.subplots(figsize=(5.8, 2.5))
plots.points(ax, middle.replace({"title": names}), "place", "median", "title")
shrunk = fits.value[fits.title == "every token shrunk"].median()
ax.axhline(shrunk, label="every token shrunk", c=plots.COLORS["guide"], lw=1)
ax.set_xticks(range(len(target_shift.LAYERS)), target_shift.LAYERS)
ax.set(ylim=(0, 1.05), xlabel="sharpness c of the layer", ylabel="cosine with the step")
ax.legend(loc="lower right")
plt.show()

# %% [markdown]
# ```{caption} fig-icl-softmax
# :alt: Two series against sharpness. One is at one without attention, at about two tenths at sharpness zero, and above nine tenths
# from one quarter on. The other is below two tenths at zero and otherwise near six tenths, on or just below a horizontal line.
#
# Median cosine between the move of the scores by a layer and by a gradient step, against the sharpness of the layer (none: a matrix on
# each token). Medians over independent streams, with intervals mostly smaller than the marks. Line: every token shrunk by the same
# factor, nothing fitted.
# ```
#
# Why is the fitted layer so good? The step wants every token multiplied by a matrix, and a softmax average over Gaussian tokens *is*
# nearly a multiple of the query: the mean of a Gaussian weighted with $e^{c\,a\cdot q}$ is $cq$. One layer for all problems shrinks
# every token: its $V$ is nearly a negative multiple of the identity. Random targets with mean $\frac1n$ leave on average
# $\frac12\Vert F-\frac1n\Vert_F^2$ plus a constant, which falls if $X$ shrinks, whatever the data. The rest of the step is in the
# targets, which the layer does not see; the control takes targets that $2X$ fits.

# %% [markdown]
# **Exercise 3.** Give the layer tokens that carry their target, $(A_1[j,:],b_j)$, and one $V$ for all problems. Does it now find the
# direction?
#
# ```{admonition} Solution
# :class: dropdown
# $P$ is a function of $F$ and $B$ jointly; linear values can carry $B$, but not the softmax that is in $F$. Near $X=0$, where
# $F\approx\frac1n11^\top$, $P\approx\frac1n(\bar B-B)$ is linear in $B$, and it works.
# ```
#
# ## Do the bounds imply similarity?
#
# The abstract of {cite:t}`li2024closeness` says that its upper bounds "imply that when training self-attention-only Transformers for
# fundamental regression tasks, the models learned by gradient-descent and Transformers show great similarity". How similar trained
# models are is a matter of its experiments, which we have not repeated: we do not judge the sentence. Bounds alone do not suffice:
# an upper bound on the length of two moves says nothing of their directions. Two moves as long as the gradient step's show this, the
# opposite one and one at a right angle. The control is the linear layer, which makes the step.

# %% tags=["hide-input"]
astray = target_shift.turned(target_shift.problems(context_length, dim, rng), rng)
only = {"labels": ["cosine"]}
away = [cases(astray[i : i + 1], name=astray.name[i], **only) for i in (0, 1)]
layer = cases(astray[2:], name="linear layer", **only)
judge("P2.icl.orthogonal", away, layer, folded=True)

# %% [markdown]
# ## To remember
#
# "Equivalence" here is a bounded shift of the target that keeps residual and loss, not the same update: the gradients differ. A
# linear layer that is told the residual makes a gradient step exactly, and so does a matrix on each token. A softmax layer for all
# problems is not told, and shrinks every token.

# %% tags=["remove-input"]
notebook.footer()
