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
# *A prompt changes the tokens and training changes the weights. Does an attention layer do to the tokens what a step of
# gradient descent does to the weights?*
#
# **Short answer.** No, if the next steps must also agree. A move of the weights or of the tokens can be replaced by a
# move of the regression targets that gives the same loss, but the next gradient differs. Whether the two are equivalent,
# as a machine-written summary of the paper says, [depends on the reading](judged:P2.icl.equivalence). A softmax layer
# that is fitted to one random problem nearly makes the gradient step: the median cosine between the moves of the scores
# by the layer and by the step is [0.98](<judged:P2.icl.imitates|fitted to one problem, n = 12, d = 4|.2f>). For one layer
# that serves all problems the median is [0.6](<judged:P2.icl.imitates|one layer for all problems, n = 12, d = 4|.1f>).
# Neither result needs attention. If the keys stay and each query token is multiplied by a suitable matrix of its own, the
# scores move exactly as by the step, and shrinking all query tokens by one factor does as well as the one layer that
# serves all problems.

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
context_length = 12  # tokens n
dim = 4  # dimension d
steps = 100  # steps of gradient descent
draws = 1000  # random problems to fit one softmax layer to; as many to test it
seeds = 10  # independent repetitions of fit and test
seed = 0  # root of the random numbers

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from icl.streams import stream
from icl.tensor_trick import gradient, hvp, loss, vec
from icl.tensor_trick.formulas import row_gradient
from icl_book import notebook
from icl_book.claims import exact_cases, judge, sampled_cases
from icl_book.figures import plots
from icl_book.measurements import icl_as_gradient_descent as measured
from icl_book.measurements import medians

notebook.setup(globals())

# %% [markdown]
# ## In plain words
#
# The question has a history. [von Oswald et al. (2023)](cite:vonoswald2023) give a linear attention layer whose output is
# one step of gradient descent on the examples in its prompt, and find layers that training brings close to it.
# [Akyürek et al. (2023)](cite:akyurek2023) find that trained transformers predict linear functions as gradient descent,
# ridge regression or least squares would, depending on depth and noise. There the step is made on a *linear regression
# inside the prompt*. Paper 2 and its relatives ask about another step, on the *weights of a softmax*: is it the same
# whether weights, tokens or targets move? This page is about that question.
#
# A [softmax regression](#term-softmax-regression) compares predictions $f$ with targets $b$, and its loss depends on the
# residual $f-b$. A move of the weights changes the residual, and so does a move of the tokens, as in context. But a
# suitable move of the target, while the weights and tokens stay, gives *the same residual*. In this sense the three moves
# are equivalent.
#
# They part at the next step. The gradient of the loss with respect to the scores is the Jacobian of softmax times the
# residual, and this Jacobian changes if the weights move, but stays if the target moves instead. So the next gradient
# step differs. Moreover, such a target exists for *every* move of the tokens, even one unlike a gradient step.
#
# ## The experiment: one step, in three ways
#
# Let $F$ be the matrix of softmax rows of the scores $S=A_1XA_2^\top$. The normalized loss is
# $L=\frac12\Vert F-B\Vert_F^2$. For the rescaled loss, row $j$ of the residual $F-B$ is multiplied by $a_j$, the sum of
# row $j$ of $e^S$ ([The tensor trick and its price](tensor_trick.ipynb)). Each of these three moves gives the same
# residual:
#
# - the weights $X$ make a step of gradient descent;
# - the target $B$ moves by [this shift](#eq-icl-shift), and the weights stay;
# - a linear attention layer moves the query tokens, the rows of $A_1$, by [the step of the layer](#eq-icl-layer), while
#   the keys, which are the rows of $A_2$, the weights and the target stay.
#
# The layer is given $P=\partial L/\partial S$, the $n\times n$ matrix of derivatives of the loss with respect to the
# scores, from which the gradient in $X$ is $A_1^\top PA_2$. We compare the losses after the three moves. Because the
# gradients in $X$ decide the *second* step, we also compare those after the move of the weights and after the move of the
# target. The step size is one over the largest absolute eigenvalue of the Hessian of $L$ in $X$.
#
# To try $d=7$, replace the first line of the next cell by `d = 7`.

# %%
d = dim  # or 7, for example
rng = stream(seed, "monte carlo")
A1 = torch.from_numpy(rng.standard_normal((context_length, d)))
A2 = torch.from_numpy(rng.standard_normal((context_length, d)))
X_first = torch.eye(d) + torch.from_numpy(rng.standard_normal((d, d))) / d
B = torch.from_numpy(rng.standard_normal((context_length, context_length))).softmax(-1)


def relative(one, other):
    return float((one - other).norm() / torch.maximum(one.norm(), other.norm()))


def three_moves(X, kind):
    directions = torch.eye(d**2, dtype=torch.float64).reshape(-1, d, d)
    hessian = vec(hvp(A1, A2, X, B, directions, kind))
    step_size = 1 / torch.linalg.eigvalsh((hessian + hessian.T) / 2).abs().max()
    # Either the weights move,
    X_next = X - step_size * gradient(A1, A2, X, B, kind)
    # or the target moves,
    S = A1 @ X @ A2.T
    S_next = A1 @ X_next @ A2.T
    F, F_next = S.softmax(-1), S_next.softmax(-1)
    if kind == "normalized":
        B_next = B + (F - F_next)
    else:  # the sums of the rows of exp(S) grow
        growth = S_next.logsumexp(-1, keepdim=True) - S.logsumexp(-1, keepdim=True)
        B_next = F - growth.exp() * (F_next - B)
    # or the tokens move, by a linear attention layer with the values P A2 X^-1.
    P = row_gradient(S, B, kind)
    A1_next = A1 - step_size * (A1 @ A1.T) @ (P @ A2 @ torch.linalg.inv(X))

    by_weights = loss(A1, A2, X_next, B, kind)
    by_target = loss(A1, A2, X, B_next, kind)
    by_tokens = loss(A1_next, A2, X, B, kind)
    slope_by_weights = gradient(A1, A2, X_next, B, kind)
    slope_by_target = gradient(A1, A2, X, B_next, kind)
    return X_next, {
        "loss": relative(by_weights, by_target),
        "loss, tokens": relative(by_tokens, by_target),
        "scores": relative(A1_next @ X @ A2.T, S_next),
        "gradient": relative(slope_by_weights, slope_by_target),
    }


rows = []
for kind in ("normalized", "rescaled"):
    X = X_first
    for step in range(steps):
        X, differences = three_moves(X, kind)
        rows.append({"kind": kind, "step": step} | differences)
gaps = pd.DataFrame(rows)
largest = gaps.drop(columns="step").groupby("kind").max()
print(largest.map("{:.1e}".format))

# %% figure={"alt": "Logarithmic plot of two curves, one for each version of the loss, against the step of gradient descent. Both curves lie between about one hundredth and about one half all along.", "name": "fig-icl-path"}
figure, ax = plt.subplots(figsize=(5.8, 2.5))
for kind, path in gaps.groupby("kind"):
    ax.semilogy(path.step, path.gradient, color=plots.COLORS[kind], label=kind)
ax.set_ylim(top=1)
ax.yaxis.set_minor_formatter("")
ax.set_xlabel("step of gradient descent")
ax.set_ylabel("relative difference\nof the two gradients")
plots.label_lines(ax)
plt.show()

# %% [markdown]
# **Two gradients along a path.** Relative difference between two gradients along the path of gradient descent, one after
# a step of the weights, and the other after the move of the target that replaces this step. The two gradients differ at
# every step, although the two losses agree up to rounding (table above).
#
# The experiment takes about one second. Expect the losses to agree up to rounding, and in the normalized problem a
# difference of the two gradients of up to [0.5](<judged:P2.icl.equivalence|gradient, normalized|.1f>) times the length of
# the longer gradient.
#
# A machine-written summary of paper 2 calls in-context learning and gradient steps equivalent (quoted below).
# *Equivalent* can mean the same loss, or the same gradient and therefore the same next step, or that one linear attention
# layer, given $P$, makes the same scores as the step. The card judges all three readings.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
worst = largest.reset_index()
kinds = {"labels": ["kind"]}
values = exact_cases(worst, "loss", name="value, {kind}", **kinds)
slopes = exact_cases(worst, "gradient", name="gradient, {kind}", **kinds)
normalized = worst[worst.kind == "normalized"]
scores = exact_cases(normalized, "scores", labels=[], name="scores, normalized")
# in linear regression both moves leave the same residual, and so the same gradient
S = A1 @ X_first @ A2.T
S_next = A1 @ (0.9 * X_first) @ A2.T
B_next = B + S - S_next
both = A1.T @ (S_next - B) @ A2, A1.T @ (S - B_next) @ A2
linear = exact_cases(
    pd.DataFrame({"value": [relative(*both)]}), name="gradient, linear"
)
judge(
    "P2.icl.equivalence",
    values,
    readings={"gradient": slopes, "layer": scores},
    could={"gradient": linear},
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
named = {"name": "{moved} move, {kind}", "labels": ["moved", "kind"]}
weights = exact_cases(worst.assign(moved="weights"), "loss", **named)
tokens = exact_cases(worst.assign(moved="data"), "loss, tokens", **named)
judge("P2.icl.identity", [weights, tokens])

# %% [markdown]
# **Exercise 1.** Make the steps of the experiment ten times shorter (one line). By what factor does the relative
# difference between the gradients shrink, and why?
#
# <details><summary>Solution</summary>
#
# Write `step_size = 0.1 / ...`. In the first step the relative difference between the gradients falls to about a tenth.
# Since the residuals are equal, the gradients differ only through the Jacobian of softmax, which changes nearly in
# proportion to the step. The losses agree as before.
#
# </details>
#
# ## What is printed, and what is true
#
# A related paper makes two statements about one softmax regression $L(x)=\frac12\Vert f(x)-b\Vert^2$ with
# $f=\langle e^{Ax},1\rangle^{-1}e^{Ax}$. According to public reviews and a machine-written abstract,
# [Li et al. (2024)](cite:li2024closeness) prove them, but we did not read the paper itself. Let $R$ bound the norms of
# $A$ and of $x$, and let $M=n^{1.5}e^{10R^2}$. The statements are:
#
# 1. Moving the weights, $x_t\to x_{t+1}$, is equivalent to replacing the target $b$ by some $\tilde b$ with
#    $\Vert\tilde b-b\Vert_2\le M\Vert x_{t+1}-x_t\Vert_2$.
# 2. Moving the data, $A_t\to A_{t+1}$, as a self-attention layer does, is equivalent to replacing $b$ by some $\tilde b$
#    with $\Vert\tilde b-b\Vert_2\le M\Vert A_{t+1}-A_t\Vert$.
#
# The abstract of paper 2 ([Gao et al., 2023](cite:gao2023tensor)) treats the [normalized](#term-normalized) and the
# [rescaled](#term-rescaled) matrix problem, and mentions a "main result concerning in-context learning", which none of
# our sources contains. A machine-written summary says:
#
# > In-context learning updates are mathematically equivalent to gradient descent steps on attention parameters (a
# > machine-written summary of paper 2)
#
# **No statement judged on this page comes from paper 2 itself.** The statements come from the summary or from this book.
#
# In the matrix problem, too, a target $\tilde B$ can replace a move. Let a move of $X$, $A_1$ or $A_2$ change the scores
# from $S$ to $S'$, and let a prime denote values at $S'$. If $f_j$, $b_j$ and $\tilde b_j$ are the rows of $F(S)$, $B$
# and $\tilde B$, the new target is
#
# <a id="eq-icl-shift"></a>
#
# $$
# \begin{aligned}
# \text{normalized:}&\quad\tilde B=B+F(S)-F(S'),\\
# \text{rescaled:}&\quad\tilde b_j=f_j-\frac{a_j'}{a_j}\,(f_j'-b_j).
# \end{aligned}
# $$
#
# > **What is true.** Let $s_j$ be row $j$ of the scores.
# >
# > - With [the shift of the target](#eq-icl-shift) the residual and the loss at $(S,\tilde B)$ equal those at $(S',B)$.
# >   In general the gradient differs, and so does the next step.
# > - In the normalized problem $\Vert\tilde b_j-b_j\Vert\le\frac12\Vert s_j'-s_j\Vert$, so $\frac R2$ can replace $M$ in
# >   both statements.
# > - In the rescaled problem let $b_j$ lie in the simplex and $\delta=\Vert s_j'-s_j\Vert_\infty$. Then
# >   $\Vert\tilde b_j-b_j\Vert\le\sqrt2\,e^\delta\Vert s_j'-s_j\Vert$.
#
# <details><summary>Proof</summary>
#
# For the first item insert [the shift of the target](#eq-icl-shift) into the residuals. The second item holds because
# softmax is $\frac12$‑Lipschitz ([Lipschitz bounds and step sizes](lipschitz_bounds.ipynb)).
#
# For the third item move $s'$ on a segment that starts at $s$, where $\tilde b=b$. The derivative of $\tilde b$ in $s'$
# is $-\frac{a'}a\,(\mathrm{diag}(f')-bf'^\top)$, and here $\frac{a'}a\le e^\delta$. Since the norm of
# $\mathrm{diag}(f')-bf'^\top$ is convex in $f'$ and in $b$, it is largest at corners $f'=e_i$ and $b=e_k$ of the simplex.
# There the matrix is $(e_i-e_k)e_i^\top$, whose norm is $0$ or $\sqrt2$.
#
# </details>
#
# ## By hand
#
# Take two tokens and $b=(1,0)$. If the weights move so that the scores change from $(0,0)$ to $(\ln3,0)$, the prediction
# changes from $(\frac12,\frac12)$ to $(\frac34,\frac14)$, and the residual becomes $(-\frac14,\frac14)$.
#
# Now keep the scores $(0,0)$ and take the target $\tilde b=(\frac34,\frac14)$. The residual is $(-\frac14,\frac14)$
# again, and the loss is $\frac1{16}$ in both cases. But the gradients in the scores differ, because the Jacobians of
# softmax do: with $v=(1,-1)^\top$ the Jacobian is $\frac14vv^\top$ at $(0,0)$ and $\frac3{16}vv^\top$ at $(\ln3,0)$.

# %%
before = torch.tensor([[0.0, 0.0]], dtype=torch.float64)
after = torch.tensor([[np.log(3.0), 0.0]], dtype=torch.float64)
b = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
target = b + (before.softmax(-1) - after.softmax(-1))
for what, s, t in (("weights move", after, b), ("target moves", before, target)):
    residual = s.softmax(-1) - t
    slope = row_gradient(s, t, "normalized")
    print(what, "  residual", residual[0].tolist(), "  gradient", slope[0].tolist())

# %% [markdown]
# **Exercise 2.** Show that the normalized shift keeps the row sums of $B$. Show that the rescaled shift keeps the sum of
# row $b_j$ for every ratio $a_j'/a_j$ if and only if this sum is 1.
#
# <details><summary>Solution</summary>
#
# The rows of $F(S)$ and of $F(S')$ sum to 1, so each row of the normalized shift sums to 0. In the rescaled problem the
# entries of $\tilde b$ sum to $1-\frac{a'}{a}(1-\langle b,1\rangle)$, which equals $\langle b,1\rangle$ for every $a'/a$
# if and only if $\langle b,1\rangle=1$.
#
# </details>
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | tested here |
# |---|---|
# | $\Vert A\Vert,\Vert x\Vert\le R$ | used by the bounds on the shift only; dropped in P2.icl.break |
# | $b$ in the simplex | random rows of the simplex on the path |
# | $\Vert A\,\Delta x\Vert_\infty$ small | dropped in P2.icl.break; it matters in the rescaled problem |
# | $X_t$ invertible (for the data move that imitates a step) | true of a random $X_0$; rounding grows with its condition number |
#
# </details>
#
# ## When does the equivalence break?
#
# The equality of the losses never breaks, but in the rescaled problem a long move can break the bound with $M$ on the
# shift of the target. The reason is that the rescaled shift contains the ratio $a_j'/a_j$ of row sums, which is close to
# 1 for short moves and can be exponentially large for long moves.
#
# The summary adds: "If the Lipschitz conditions are violated (e.g., gradients become too large or sparse updates occur),
# the equivalence breaks down."
#
# In our example all tokens but one are zero, and the weights violate the assumption $\|x\|\le R$, because they have
# $\|x\|=16R$. If one step takes $x$ to $-x$, the rescaled shift is longer than the bound with $M$, while the normalized
# shift stays within the bound. The step and the shift still give the same *value* of the loss, by the definition of the
# shift.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
long = measured.reversed_weights()
one = {"error": "error", "labels": [], "name": "shift, R = 2"}
normalized = exact_cases(long[long.kind == "normalized"], "shift", **one)
rescaled = exact_cases(long[long.kind == "rescaled"], "shift", **one)
same = exact_cases(
    long, "loss", error="error", labels=["kind"], name="loss, {kind}, R = 2"
)
unmoved = {"error": "error", "labels": ["kind"], "name": "target unmoved, {kind}"}
judge(
    "P2.icl.break",
    rescaled,
    readings={"normalized": normalized, "loss": same},
    could={"normalized": rescaled, "loss": exact_cases(long, "unmoved", **unmoved)},
)

# %% [markdown]
# ## Which layer makes the step?
#
# A linear attention layer makes a gradient step exactly if it is given $P=\partial L/\partial S$. A step of size $\eta$
# is $X_{t+1}=X_t-\eta A_1^\top PA_2$. If $X_t$ is invertible, moving the tokens to
#
# <a id="eq-icl-layer"></a>
#
# $$
# A_1'=A_1X_{t+1}X_t^{-1}=A_1-\eta\,(A_1A_1^\top)\,(PA_2X_t^{-1})
# $$
#
# gives the same scores, $A_1'X_tA_2^\top=A_1X_{t+1}A_2^\top$. The formula is one **linear** self-attention layer with a
# residual connection, with the scores $A_1A_1^\top$ and the values $PA_2X_t^{-1}$. Since the values depend on the targets
# through $P$, a layer that sees only $A_1$ cannot compute the gradient.
#
# Attention is not needed for such a step. With $G=A_1^\top PA_2$, [the step of the layer](#eq-icl-layer) also reads
# $A_1'=A_1(I-\eta GX_t^{-1})$: every query token is multiplied by the same $d\times d$ matrix, and the keys stay.
#
# If queries and keys are the same tokens, $A_1=A_2=A$, and have to move together, then in general no matrix $N$ on every
# token makes the step. At $X_t=I$ the scores of the moved tokens are $ANN^\top A^\top$, a symmetric matrix, whereas those
# after the gradient step are $A(I-\eta A^\top PA)A^\top$, which is not symmetric unless $A^\top PA$ is.
#
# **Exercise 3.** A gradient step changes the scores by $-\eta(A_1A_1^\top)P(A_2A_2^\top)$, and $P$ is the only factor
# that depends on $X$. What follows for two different matrices $X$ with the same scores?
#
# <details><summary>Solution</summary>
#
# The scores stay equal in all further steps, because their change depends only on the scores, the targets and the two
# fixed matrices $A_1A_1^\top$ and $A_2A_2^\top$.
#
# </details>
#
# **And a softmax layer?** Take $A_1'=A_1+\mathrm{softmax}(cA_1A_1^\top)\,A_1V$. We fit the $d\times d$ matrix $V$ by
# least squares to the move of the tokens in [the step of the layer](#eq-icl-layer). In the first fit each problem gets a
# separate $V$ that may depend on the targets. In the second fit, for which each move is first divided by its length, one
# $V$ serves all problems, like the weights of a trained layer.
#
# We compare how the layer and the gradient step move the scores, while the sharpness $c$ ranges from 0 (plain averaging)
# to 16 (most tokens attend almost only to themselves). For comparison we also fit $A_1'=A_1+A_1V$, which has no
# attention.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
fits = measured.imitations(
    context_length=context_length, dim=dim, draws=draws, seeds=seeds, seed=seed
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
size = f", n = {context_length}, d = {dim}"
none = "fitted to one problem, no attention"
right = [  # name of the case, what was fitted, with which attention, and the rule
    ("fitted to one problem", "fitted to one problem", "1", "own"),
    ("one layer for all problems", "one layer for all problems", "1", "shared"),
    (none, "fitted to one problem", "none", "exact"),
    ("every token shrunk", "every token shrunk", "none", "shared"),
    ("its matrix against -1", "its matrix against -1", "1", "matrix"),
]
wrong = [
    ("fitted to another's step", "fitted to another's step", "1", "own"),
    ("tested on targets of 2X", "tested on targets of 2X", "1", "shared"),
]
evidence = {"right": [], "wrong": []}
for side, listed in (("right", right), ("wrong", wrong)):
    for name, layer, sharpness, what in listed:
        chosen = fits[(fits.layer == layer) & (fits.sharpness == sharpness)]
        chosen = chosen.assign(what=what)
        evidence[side] += sampled_cases(
            chosen, "cosine", samples="seed", labels=["what"], name=name + size
        )
judge("P2.icl.imitates", evidence["right"], evidence["wrong"])

# %% figure={"alt": "Two series against sharpness. The first series is at one without attention, at about two tenths at sharpness zero, and above nine tenths from one quarter on. The second series is below two tenths at zero and otherwise near six tenths, on or just below a horizontal line.", "name": "fig-icl-softmax"} jupyter={"source_hidden": true} tags=["hide-input"]
names = {
    "fitted to one problem": "fitted to each problem",
    "one layer for all problems": "one layer for all",
}
middle = medians(fits, "cosine", by=["layer", "sharpness"])
shrunk = middle["median"][middle.layer == "every token shrunk"].item()
drawn = middle[middle.layer.isin(names)].replace({"layer": names})
place = drawn.sharpness.map(measured.SHARPNESS.index)
figure, ax = plt.subplots(figsize=(5.8, 2.5))
plots.points(ax, drawn.assign(place=place), "place", "median", "layer")
ax.axhline(shrunk, c=plots.COLORS["guide"], lw=1, label="every token shrunk")
ax.set_xticks(range(len(measured.SHARPNESS)), measured.SHARPNESS)
ax.set(ylim=(0, 1.2), xlabel="sharpness c of the layer", ylabel="cosine with the step")
ax.legend()
plt.show()

# %% [markdown]
# **A layer beside a gradient step.** Median cosine between two moves of the scores, one by a layer and one by a gradient
# step, against the sharpness $c$ of the layer. A cosine of 1 means the same direction. A layer fitted to each problem
# comes close to 1, except at $c=0$, while one layer for all problems does no better than shrinking every query token
# (line). Without attention ("none") every query token is multiplied by a matrix. Intervals are mostly smaller than the
# marks.
#
# **Why the fitted layer is so good.** The gradient step multiplies every query token by a matrix, and so, nearly, does
# the layer. In the layer each token is a query $q$, and the softmax average of Gaussian tokens is nearly a multiple of
# $q$, because a standard normal vector $a$, weighted with $e^{c\,a\cdot q}$, has the mean $cq$.
#
# **One layer for all problems shrinks every token.** The cosine between its matrix $V$ and $-I$ is
# [0.997](<judged:P2.icl.imitates|its matrix against -1, n = 12, d = 4|.3f>). Since the entries of our random targets have
# the mean $\frac1n$, the average of the loss over the targets is $\frac12\sum_{j,k}(F_{jk}-\frac1n)^2$ plus a constant.
# This average is least at $X=0$, where all attention weights are equal. The part of the step that all problems share
# therefore makes the scores smaller.
#
# The rest of the step depends on the targets, which the layer does not see. In the control, where the targets are the
# softmax rows at the weights $2X$, the gradient step tends to enlarge the scores.

# %% [markdown]
# **Exercise 4.** A layer may move the tokens *against* the gradient step, and some move of the target then gives the same
# loss. Move the tokens of the experiment by a short step with the opposite sign. Compute [the new target](#eq-icl-shift)
# and compare the losses.
#
# <details><summary>Solution</summary>
#
# Run this after the experiment.
# ```python
# P = row_gradient(A1 @ X_first @ A2.T, B, "normalized")
# moved = A1 + 0.1 * (A1 @ A1.T) @ (P @ A2 @ torch.linalg.inv(X_first))
# S, S_moved = (tokens @ X_first @ A2.T for tokens in (A1, moved))
# target = B + (S.softmax(-1) - S_moved.softmax(-1))
# print(loss(moved, A2, X_first, B), loss(A1, A2, X_first, target))
# print(loss(A1, A2, X_first, B))
# ```
# The first two losses agree, and both are larger than the third. So the existence of a target says nothing about the
# direction of the move.
#
# </details>
#
# **Exercise 5.** Let each token also carry its target, as in $(A_1[j,:],b_j)$, and use one $V$ for all problems. Can the
# layer now find the direction of the gradient step?
#
# <details><summary>Solution</summary>
#
# In general it cannot. The matrix $P$ depends jointly on $F$ and $B$, whereas the values of the layer, which are linear
# in the tokens, can carry $B$ but not $F$. An exception is $X\approx0$, where $F\approx\frac1n11^\top$. There
# $P\approx\frac1n(\bar B-B)$ is linear in $B$, where $\bar B$ is $B$ with each entry replaced by the mean of its row.
#
# </details>
#
# ## Do the bounds imply similarity?
#
# Bounds on the length of moves do not imply that the moves are similar, since the opposite of a gradient step is as long
# as the step. The abstract of [Li et al. (2024)](cite:li2024closeness) says that the upper bounds "imply that when
# training self-attention-only Transformers for fundamental regression tasks, the models learned by gradient-descent and
# Transformers show great similarity". We do not judge this claim, because it concerns trained models, and we have not
# repeated the experiments.
#
# ## To remember
#
# "Equivalence" here means that a shift of the target gives the same residual and loss as a step, although the gradients
# differ. A linear layer that is given $P$ makes a gradient step exactly, and so does a matrix on each query token. One
# softmax layer for all problems is not given $P$, and shrinks every query token.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
