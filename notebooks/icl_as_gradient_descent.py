# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Is in-context learning gradient descent? For one step
#
# *A prompt changes the tokens, and training changes the weights. Can an attention layer do to the tokens what a step of
# gradient descent does to the weights?*

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

# %% figure={"alt": "Two falling curves of the loss against the difference of two scores. From a common start an arrow along the upper curve leads to a dot at the right, and an arrow straight down leads to a dot on the lower curve. Both dots are at the same height. A short line through each shows its slope, and the slope on the lower curve is steeper.", "name": "fig-icl-slopes"} jupyter={"source_hidden": true} tags=["hide-input"]
t = np.linspace(-0.6, 2.2, 300)
p = 1 / (1 + np.exp(-t))
ends = {  # the target of the first token, the place, and what moved
    "the weights moved": (1.0, np.log(3), plots.PALETTE[0], (1.25, 0.085)),
    "the target\nmoved": (0.75, 0.0, plots.PALETTE[1], (-0.58, 0.005)),
}
figure, ax = plt.subplots(figsize=(6.4, 3.2))
for moved, (goal, at, color, words) in ends.items():
    ax.plot(t, (p - goal) ** 2, color=color, lw=1.2)
    q = 1 / (1 + np.exp(-at))
    slope = 2 * (q - goal) * q * (1 - q)
    around = at + np.array([-0.45, 0.45])
    height = (q - goal) ** 2
    ax.plot(around, height + slope * (around - at), color=color, lw=3, alpha=0.5)
    ax.plot(at, height, "o", color=color)
    said = plots.write_minus(f"{moved}:\nslope {round(32 * slope)}/32")
    ax.text(*words, said, color=color)
ax.axhline(1 / 16, color=plots.COLORS["guide"], lw=0.8, ls="--")
ax.plot(0, 1 / 4, "ko")
ax.text(0.08, 1 / 4, "start", va="bottom")
arrow = {"arrowstyle": "->", "lw": 1.2, "shrinkA": 5, "shrinkB": 6}
for goal, at, color, _ in ends.values():
    bent = "arc3,rad=0.12" if at else "arc3"
    style = arrow | {"color": color, "connectionstyle": bent}
    height = (1 / (1 + np.exp(-at)) - goal) ** 2
    ax.annotate("", (at, height), (0, 1 / 4), arrowprops=style)
ax.set(xlabel="difference of the two scores", ylabel="loss", ylim=(0, 0.33))
plt.show()

# %% [markdown]
# **The same loss, another slope.** The loss of two tokens against the difference of their scores. If the weights move, the point
# slides along its curve. If the target moves instead, the point drops to a lower curve. Both ways lead to the loss $\frac1{16}$
# (dashed). But the two curves have different slopes there, so that the next steps differ.
#
# **In short.** For one step, yes. If the query tokens move in place of the weights, the loss can become exactly what a gradient step
# on the weights would make it. But the next gradient differs. Can a softmax layer make this move? A layer that is
# fitted to one problem nearly can: the cosine with the gradient step is
# [0.98](<judged:P2.icl.imitates|fitted to one problem, n = 12, d = 4|.2f>). One layer for all problems cannot, because it does not
# see the targets. It only shrinks every query token.
#
# <details><summary>How sure?</summary>
#
# - That the loss is the same is [an identity](judged:P2.icl.identity), by the choice of the new target. That the next gradients
#   differ was [computed along a path](judged:P2.icl.equivalence) of gradient descent on one random problem. On other problems the
#   difference has another size.
# - What softmax layers do was [sampled](judged:P2.icl.imitates) on random problems with 12 tokens in 4 dimensions. For the layer of
#   all problems each move is divided by its length before the fit.
# - Whether "equivalent" is the right word depends on what should be equal: [the card](judged:P2.icl.equivalence) judges the loss,
#   the next gradient and the scores.
# - No statement judged on this page comes from paper 2 itself. Its abstract announces a main result on in-context learning, which
#   is in none of our sources. The statements come from a machine-written summary of it, from public reviews of a related paper, and
#   from this book.
# - We fit single layers by least squares. About trained transformers this page says nothing.
# - What is known: [von Oswald et al. (2023)](cite:vonoswald2023) give a linear attention layer whose output is one step of gradient
#   descent on the examples in its prompt, and find layers that training brings close to it.
#   [Akyürek et al. (2023)](cite:akyurek2023) find that trained transformers predict linear functions as gradient descent, ridge
#   regression or least squares would, depending on depth and noise. In these papers the step is made on a *linear regression inside
#   the prompt*. Paper 2 and its relatives ask about another step, on the *weights of a softmax*, which is the subject of this page.
#
# </details>
#
# ## Why
#
# A [softmax regression](#term-softmax-regression) compares a row $f$ of softmax values with a target row $b$. Its loss depends only
# on the residual $f-b$. Three things can move and change the residual: the weights, the tokens (as in a prompt) and the target. Two
# moves that lead to the same residual lead to the same loss. In this sense they are equivalent.
#
# Where do the moves part? Let us follow the picture. Two tokens have the scores $(0,0)$, so that softmax gives
# $f=(\frac12,\frac12)$. The target is $b=(1,0)$. A step of the weights changes the scores to $(\ln3,0)$, and softmax then gives
# $f=(\frac34,\frac14)$. The residual $f-b$ is now $(-\frac14,\frac14)$.
#
# Now let the scores stay at $(0,0)$, and move the target to $b=(\frac34,\frac14)$. The residual is again $(-\frac14,\frac14)$, and
# so the loss is the same.
#
# But the next gradient is not the same. The gradient in the scores is the residual times the derivative of softmax. Softmax is steep
# at the scores $(0,0)$ and flatter at $(\ln3,0)$. So the two gradients differ, although the residuals agree.
#
# ## The experiment
#
# Let us make the step in three ways, now with matrices. The rows of $A_1$ are query tokens, the rows of $A_2$ are keys, and $X$
# holds the weights. The scores are $A_1XA_2^\top$, and the targets are the rows of $B$. First the weights make a gradient step. Then
# the query tokens move instead, and then the targets. The table has the loss after each move, the length of the next gradient, and
# the loss after one more step of the weights. To try seven dimensions, change the line `n, d = 12, 4`.

# %% tags=["experiment"]
import numpy as np
import pandas as pd
import torch

from icl.tensor_trick import gradient, loss

n, d = 12, 4  # or 12, 7, for example
rng = np.random.default_rng(0)
A1, A2 = torch.from_numpy(rng.standard_normal((2, n, d)))
B = torch.from_numpy(rng.standard_normal((n, n))).softmax(-1)
X = torch.eye(d) + torch.from_numpy(rng.standard_normal((d, d))) / d
eta = 0.3

X_next = X - eta * gradient(A1, A2, X, B)
F = (A1 @ X @ A2.T).softmax(-1)
F_next = (A1 @ X_next @ A2.T).softmax(-1)
three = {
    "weights": (A1, X_next, B),
    "query tokens": (A1 @ X_next @ torch.linalg.inv(X), X, B),
    "targets": (A1, X, B + F - F_next),
}
after = []
for moved, (queries, weights, targets) in three.items():
    slope = gradient(queries, A2, weights, targets)
    further = weights - eta * slope
    row = {"what moves": moved}
    row["loss"] = loss(queries, A2, weights, targets).item()
    row["next gradient"] = slope.norm().item()
    row["loss after the next step"] = loss(queries, A2, further, targets).item()
    after.append(row)
pd.DataFrame(after).round(4)

# %% [markdown]
# The loss is the same in all three rows. But the next gradients have different lengths, and the next step leads to different losses.
#
# Is this so at every step? Let us follow gradient descent with two losses: the usual one, called [normalized](#term-normalized), and
# a [rescaled](#term-rescaled) one, in which each row of the residual is multiplied by the sum of the row's
# exponentials. The next table has the largest relative difference
# along the path:
#
# - *loss* and *gradient* compare a move of the weights with a move of the targets,
# - *loss, tokens* compares a move of the query tokens with a move of the targets,
# - *scores* compares a move of the query tokens with a move of the weights.
#
# <details><summary>The factor of the rescaled loss, and the size of the steps</summary>
#
# In the rescaled problem row $j$ of the residual is multiplied by the sum of row $j$ of the exponentials. The step size is one over
# the largest absolute eigenvalue of the Hessian.
#
# </details>

# %% jupyter={"source_hidden": true} tags=["hide-input"]
rng = stream(seed, "monte carlo")
A1 = torch.from_numpy(rng.standard_normal((context_length, dim)))
A2 = torch.from_numpy(rng.standard_normal((context_length, dim)))
X_first = torch.eye(dim) + torch.from_numpy(rng.standard_normal((dim, dim))) / dim
B = torch.from_numpy(rng.standard_normal((context_length, context_length))).softmax(-1)


def relative(one, other):
    return float((one - other).norm() / torch.maximum(one.norm(), other.norm()))


def three_moves(X, kind):
    directions = torch.eye(dim**2, dtype=torch.float64)
    directions = directions.reshape(-1, dim, dim)
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
largest.map("{:.0e}".format).reset_index().style.hide()

# %% figure={"alt": "Logarithmic plot of two curves, one for each version of the loss, against the step of gradient descent. Both curves lie between about one hundredth and about one half all along.", "name": "fig-icl-path"} jupyter={"source_hidden": true} tags=["hide-input"]
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
# **Two gradients along a path.** Relative difference between the gradient after a step of the weights and the gradient after
# the move of the targets that replaces this step. The two gradients differ at every step, although the losses agree.
#
# All differences in the table are rounding errors, except for those of the gradient. With the normalized loss the two gradients
# differ by up to [0.5](<judged:P2.icl.equivalence|gradient, normalized|.1f>) times the length of the longer one.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
worst = largest.reset_index()
named = {"name": "{moved} move, {kind}", "labels": ["moved", "kind"]}
weights = exact_cases(worst.assign(moved="weights"), "loss", **named)
tokens = exact_cases(worst.assign(moved="data"), "loss, tokens", **named)
judge("P2.icl.identity", [weights, tokens])

# %% [markdown]
# **Exercise 1.** In the experiment, make the step ten times shorter, and print the relative difference between the first and
# the last gradient. By what factor does it shrink, and why?
#
# <details><summary>Solution</summary>
#
# Write `eta = 0.03` and keep the three gradients in a list. The relative difference falls to about a tenth. The residuals
# are equal, so that the gradients differ only through the Jacobian of softmax, which changes nearly in proportion to the
# step. The losses agree as before.
#
# </details>
#
# **Exercise 2.** A layer may move the tokens *against* the gradient step, and some move of the targets then gives the same
# loss. In the experiment, move the query tokens by a step with the opposite sign. Compute the new targets and compare the
# losses.
#
# <details><summary>Solution</summary>
#
# Run this after the experiment.
# ```python
# uphill = A1 @ (2 * X - X_next) @ torch.linalg.inv(X)
# F_uphill = (uphill @ X @ A2.T).softmax(-1)
# print(loss(uphill, A2, X, B), loss(A1, A2, X, B + F - F_uphill))
# print(loss(A1, A2, X, B))
# ```
# The first two losses agree, and both are larger than the third. So the existence of a target says nothing about the
# direction of the move.
#
# </details>
#
# ## Which layer makes the step?
#
# How must the query tokens move to replace a gradient step? Let $P$ be the matrix of derivatives of the loss in the scores. The
# gradient in the weights is then $A_1^\top PA_2$ ([the tensor trick](tensor_trick.ipynb)). A step of size $\eta$ leads from the
# weights $X_t$ to $X_{t+1}=X_t-\eta A_1^\top PA_2$. If $X_t$ is invertible, the new tokens
#
# <a id="eq-icl-layer"></a>
#
# $$
# A_1'=A_1X_{t+1}X_t^{-1}=A_1-\eta\,(A_1A_1^\top)\,(PA_2X_t^{-1})
# $$
#
# do with the old weights what the old tokens do with the new weights: both give the scores $A_1'X_tA_2^\top=A_1X_{t+1}A_2^\top$.
#
# Read the right-hand side as a layer. It is one **linear** self-attention layer with a residual connection, with the scores
# $A_1A_1^\top$ and the values $PA_2X_t^{-1}$. The values depend on the targets through $P$. So a layer that sees only $A_1$ cannot
# compute them.
#
# Is attention needed for the move? It is not, because $A_1'=A_1(X_{t+1}X_t^{-1})$ multiplies every query token by the same
# $d\times d$ matrix.
#
# **And a softmax layer?** Let us fit the layer $A_1'=A_1+\mathrm{softmax}(cA_1A_1^\top)\,A_1V$ to this move. We fit the
# $d\times d$ matrix $V$ by least squares, and keep the *sharpness* $c$ fixed. There are two fits. In the first, each problem gets a
# matrix $V$ of its own, which may depend on its targets. In the second, one $V$ serves all problems, like the weights of a trained
# layer. Then we compare how the layer and the gradient step move the scores.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
fits = measured.fit_imitations(
    context_length=context_length, dim=dim, draws=draws, seeds=seeds, seed=seed
)

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
# step, against the sharpness $c$. A cosine of 1 means the same direction. Without attention ("none") every query token is
# multiplied by a fitted matrix. The line is for query tokens that are all shrunk by one factor. Intervals are mostly smaller than
# the marks.
#
# A layer fitted to each problem comes close to 1, except at $c=0$, where it takes plain averages. Why is this layer so good? Because
# the softmax average of Gaussian tokens is nearly a multiple of the query token. So the layer, too, nearly multiplies every query
# token by a matrix.
#
# One layer for all problems reaches a median cosine of
# [0.64](<judged:P2.icl.imitates|one layer for all problems, n = 12, d = 4|.2f>). Shrinking every query token by one factor reaches
# about as much. The layer nearly does this: the cosine between its matrix $V$ and $-I$ is
# [0.997](<judged:P2.icl.imitates|its matrix against -1, n = 12, d = 4|.3f>). Why does the layer shrink tokens? The steps of all
# problems have one pull in common, towards equal attention weights, and shorter query tokens have more equal weights. The rest of
# each step depends on the targets, which the layer does not see.
#
# <details><summary>The softmax average of Gaussian tokens, and the pull towards equal weights</summary>
#
# A standard normal vector $a$, weighted with $e^{c\,a\cdot q}$, has the mean $cq$, a multiple of the query $q$.
#
# The entries of our random targets have the mean $\frac1n$, and smaller scores make the attention weights more equal.
# The average of the loss over the targets is $\frac12\sum_{j,k}(F_{jk}-\frac1n)^2$ plus a constant. It is least at $X=0$,
# where all attention weights are equal. In the control of the card the targets are the softmax rows at the weights $2X$.
# There the gradient step tends to enlarge the scores.
#
# </details>

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

# %% [markdown]
# ## What the paper says
#
# The abstract of paper 2 ([Gao et al., 2023](cite:gao2023tensor)) announces a "main result concerning in-context learning".
# A machine-written summary puts it so:
#
# > **Equivalence** (a machine-written summary of paper 2). In-context learning updates are mathematically equivalent to
# > gradient descent steps on attention parameters.
#
# Whether this is true depends on what must be equal. The losses are equal. The scores after one step are equal, too, if the layer
# knows the derivatives $P$ of the loss. The next gradients are not equal. [(?)](judged:P2.icl.equivalence)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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

# %% [markdown]
# ## For specialists
#
# **Exercise 3.** A gradient step changes the scores by $-\eta(A_1A_1^\top)P(A_2A_2^\top)$. The matrix $P$, the derivative of the loss
# in the scores, depends on the weights $X$ only through the scores. What follows for two different matrices $X$ with the same scores?
#
# <details><summary>Solution</summary>
#
# The scores stay equal in all further steps, because their change depends only on the scores, the targets and the two fixed
# matrices $A_1A_1^\top$ and $A_2A_2^\top$.
#
# </details>
#
# **Exercise 4.** Let each token also carry its target, as in $(A_1[j,:],b_j)$, and use one $V$ for all problems. Can the
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
# ### The related paper that asked first
#
# The question comes from a related paper, on one softmax regression $L(x)=\frac12\Vert f(x)-b\Vert^2$ with
# $f=\langle e^{Ax},1\rangle^{-1}e^{Ax}$. According to public reviews, [Li et al. (2024)](cite:li2024closeness) prove two
# statements. Let $R$ bound the norms of $A$ and of $x$. Let $M$ be the paper's constant
# $n^{1.5}e^{10R^2}$, which is not an attention matrix.
#
# 1. Moving the weights, $x_t\to x_{t+1}$, is equivalent to replacing the target $b$ by some $\tilde b$ with
#    $\Vert\tilde b-b\Vert_2\le M\Vert x_{t+1}-x_t\Vert_2$.
# 2. Moving the data, $A_t\to A_{t+1}$, as a self-attention layer does, is equivalent to replacing $b$ by some $\tilde b$
#    with $\Vert\tilde b-b\Vert_2\le M\Vert A_{t+1}-A_t\Vert$.
#
# Both statements are true of the loss, and $\frac R2$ can take the place of $M$. Do they also say that a prompt moves the tokens in
# the direction of a gradient step? They do not: a move in the opposite direction has the same length and obeys the same bound. The
# abstract of this paper reports that trained models "show great similarity". That sentence is about experiments, which we have not
# repeated.
#
# ### The move of the targets
#
# Let a move of $X$, $A_1$ or $A_2$ change the scores from $S$ to $S'$, and let a prime denote values at $S'$. Let $f_j$,
# $b_j$ and $\tilde b_j$ be the rows of the softmax $F(S)$, of $B$ and of the new target $\tilde B$, and let $a_j$ be the sum
# of row $j$ of $e^S$. Then
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
# softmax is $\frac12$‑Lipschitz ([How sensitive is softmax?](lipschitz_bounds.ipynb)).
#
# For the third item move $s'$ on a segment that starts at $s$, where $\tilde b=b$. The derivative of $\tilde b$ in $s'$
# is $-\frac{a'}a\,(\mathrm{diag}(f')-bf'^\top)$, and here $\frac{a'}a\le e^\delta$. Since the norm of
# $\mathrm{diag}(f')-bf'^\top$ is convex in $f'$ and in $b$, it is largest at corners $f'=e_i$ and $b=e_k$ of the simplex.
# There the matrix is $(e_i-e_k)e_i^\top$, whose norm is $0$ or $\sqrt2$.
#
# </details>
#
# **Exercise 5.** Show that the normalized shift keeps the row sums of $B$. Show that the rescaled shift keeps the sum of
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
# ### When does the equivalence break?
#
# > **The condition** (a machine-written summary of paper 2). If the Lipschitz conditions are violated (e.g., gradients
# > become too large or sparse updates occur), the equivalence breaks down.
#
# The losses always stay equal, because the new target is chosen so. But the bound with $M$ on the move of the target can break. For
# the normalized loss it does not: the bound holds even with $\frac R2$ in place of $M$, for weights of any length. The rescaled
# move contains the ratio $a_j'/a_j$ of row sums. This ratio is close to 1 for short moves and can be exponentially large for long
# moves.
#
# In our example all tokens but one are zero, and the weights are too long: $\|x\|=16R$. If one step takes $x$ to $-x$, the
# rescaled target moves farther than the bound with $M$ allows.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
long = measured.reverse_weights()
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
# ### If queries and keys are the same tokens
#
# Let $A_1=A_2=A$, and let queries and keys move together. Let us multiply every token by the same matrix $N$. In general no $N$
# makes the gradient step. At $X_t=I$ the scores of the moved tokens are $ANN^\top A^\top$, a symmetric matrix. The scores after the
# gradient step are $A(I-\eta A^\top PA)A^\top$, which is not symmetric unless $A^\top PA$ is.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
