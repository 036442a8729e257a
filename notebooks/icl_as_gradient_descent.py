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
# # Is in-context learning gradient descent?
#
# **Short answer.** Not in the sense of taking the same next step: a move of the weights
# can be replaced by a move of the target that keeps residual and loss, but not the
# gradient {judged}`P2.icl.equivalence` ({numref}`fig-icl-path`). In the normalized
# problem the target moves at most $R/2$ times as far as the weights; in the rescaled one
# the ratio can grow exponentially {judged}`P2.icl.separation`. A softmax layer fitted
# to one random problem ($n=12$, $d=4$) imitates a gradient step with a median cosine of
# {judged}`P2.icl.imitates | fitted to one problem, n = 12, d = 4 | .2f`, one layer for
# all problems with
# {judged}`P2.icl.imitates | one layer for all problems, n = 12, d = 4 | .1f`; neither
# needs attention, for a matrix on each token makes the first step exactly, and
# shrinking every token does as well as the second.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
context_length = 12  # tokens n
dim = 4  # dimension d
steps = 100  # steps of gradient descent
step_sizes = [0.25, 0.5, 1.0, 2.0, 4.0]  # softmax layer, in units of the sharp one
radii = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]  # bounds R on the norms of data and weights
n_values = [4, 16, 64]  # tokens, for the worst cases
starts = 24  # starts of each search
draws = 1000  # random problems to fit one softmax layer to; as many to test it
seeds = 10  # independent repetitions of that
seed = 0  # root of the random numbers

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import math
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import torch

from icl.statistics import median_interval
from icl.streams import stream
from icl.tensor_trick import (
    gradient,
    hvp,
    loss,
    row_gradient,
    row_loss,
    supremum_search,
    vec,
)
from icl.tensor_trick.lipschitz import witness, worst_logits
from icl.tensor_trick.target_shift import (
    data_move,
    linear_attention_layer,
    self_attention_weights,
    shifted_target,
)
from icl_book import notebook, plots
from icl_book.claims import exact, found, judge, sampled

notebook.setup(globals())

# %% tags=["hide-input"]
rng = stream(seed, "monte carlo")
n, d = context_length, dim
eye = torch.eye(d, dtype=torch.float64)


def normal(*shape, rng=rng):
    return torch.from_numpy(rng.standard_normal(shape))


def problems(count, rng=rng):
    """Draw A1, A2, X (around 1, mostly well away from singular) and B."""
    shapes = (n, d), (n, d), (d, d), (n, n)
    A1, A2, X, logits = (normal(count, *shape, rng=rng) for shape in shapes)
    return A1, A2, eye + X / d, logits.softmax(-1)


A1, A2, X0, B = (t[0] for t in problems(1))
unit = torch.eye(d * d, dtype=X0.dtype).unflatten(-1, (d, d))


def stable_step(X, kind):
    H = vec(hvp(A1, A2, X, B, unit, kind))
    return 1 / torch.linalg.eigvalsh((H + H.mT) / 2).abs().max().item()


def descend(kind):
    path, etas = [X0], []
    for _ in range(steps):
        etas.append(stable_step(path[-1], kind))
        path.append(path[-1] - etas[-1] * gradient(A1, A2, path[-1], B, kind))
    return path, etas


paths = {kind: descend(kind) for kind in ("normalized", "rescaled")}


def scores(X, queries=A1, keys=A2):
    return queries @ X @ keys.mT


def relative(left, right):
    return ((left - right).norm() / torch.maximum(left.norm(), right.norm())).item()


# %% tags=["hide-input"]
KINDS = list(paths)


def along_path(compare):
    """Compare every pair of successive steps; shape (kind, steps)."""
    return np.array(
        [
            [compare(*pair, kind) for pair in zip(path, path[1:], strict=False)]
            for kind, (path, _) in paths.items()
        ]
    )


def weights_gap(how, X, X_next, kind):
    """Compare a loss or gradient after a move of the target and of the weights."""
    B_new = shifted_target(scores(X), scores(X_next), B, kind)
    return relative(how(A1, A2, X, B_new, kind), how(A1, A2, X_next, B, kind))


value_gap = along_path(partial(weights_gap, loss))
gradient_gap = along_path(partial(weights_gap, gradient))

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Along the path of gradient descent, relative difference between what happens when the weights move and when the target moves instead: of the value of the loss (rounding, below) and of its gradient (above). Exact values, no unit. Differences of exactly zero are drawn at 1e-17.", "name": "fig-icl-path"}, "image": {"alt": "Logarithmic plot against the step of gradient descent. The two curves for the value scatter around 1e-16. The two curves for the gradient lie between one hundredth and one half all along."}}
figure, ax = plt.subplots()
for kind, values, gradients in zip(KINDS, value_gap, gradient_gap, strict=True):
    color, dots = plots.COLORS[kind], np.maximum(values, 1e-17)
    ax.semilogy(dots, ".", color=color, label=f"value, {kind}")
    plots.exact_curve(ax, range(steps), gradients, f"gradient, {kind}", color)
ax.set_xlabel("step of gradient descent")
ax.set_ylabel("relative difference")
ax.legend(loc="center right")
plt.show()

# %% [markdown]
# ## What is printed
#
# For one softmax regression $L(x)=\frac12\Vert f(x)-b\Vert^2$,
# $f=\langle e^{Ax},1\rangle^{-1}e^{Ax}$, {cite:t}`li2024closeness` prove two
# statements; we read them in public reviews and a machine-written abstract, not in the
# paper:
#
# 1. moving the weights, $x_t\to x_{t+1}$, is equivalent to replacing the target $b$ by
#    a $\tilde b$ with $\Vert\tilde b-b\Vert_2\le M\Vert x_{t+1}-x_t\Vert_2$;
# 2. moving the data, $A_t\to A_{t+1}$, which is what a self-attention layer does, is
#    equivalent to replacing $b$ by a $\tilde b$ with
#    $\Vert\tilde b-b\Vert_2\le M\Vert A_{t+1}-A_t\Vert$;
#
# with $M=n^{1.5}e^{10R^2}$. Paper 2 {cite:p}`gao2023tensor` announces the same pair for
# the normalized and the rescaled matrix problem as its "main result concerning
# in-context learning"; its constants are in none of our sources. A machine-written
# summary of paper 2 turns this into a sentence:
#
# > In-context learning updates are mathematically equivalent to gradient descent steps
# > on attention parameters (a machine-written summary of paper 2)
#
# ```{admonition} What is equivalent
# :class: tip
# The residual and the value of the loss are, the gradient and the next step are not:
# {prf:ref}`prop-icl-shift`. In the normalized problem $\frac R2$ serves in place of $M$.
# ```
#
# **No sentence judged below is paper 2's**, whose main result is in none of our
# sources: they are the summary's, another paper's, or this book's.

# %% [markdown]
# ## In plain words
#
# If you move the weights a little, the residual $f-b$ changes a little. You could have produced *the same residual* by
# leaving the weights alone and moving the target a little. The same holds if the data move. That the data move *is* the
# weight move is another statement.
#
# ## By hand
#
# Two tokens, $b=(1,0)$. The weights move so that the scores go from $(0,0)$ to $(\ln3,0)$. The
# prediction goes from $(\frac12,\frac12)$ to $(\frac34,\frac14)$, the residual from $(-\frac12,\frac12)$ to
# $(-\frac14,\frac14)$. Stay at scores $(0,0)$ instead and take the target $\tilde b=(\frac34,\frac14)$: the
# residual is $(-\frac14,\frac14)$ too. The loss is $\frac1{16}$ in both cases. The gradients in the scores are
# not the same: $J_f=\frac14$ of $(1,-1)(1,-1)^\top$ at the first place, $\frac3{16}$ of it at the second.

# %%
S, S_next = (
    torch.zeros(1, 2, dtype=torch.float64),
    torch.tensor([[math.log(3.0), 0.0]], dtype=torch.float64),
)
b = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
moved = shifted_target(S, S_next, b)
plots.table(
    ["what moves", "target", "prediction", "gradient in the scores"],
    [
        [
            what,
            *(
                "(" + ", ".join(f"{v:g}" for v in t[0].tolist()) + ")"
                for t in (target, s.softmax(-1), row_gradient(s, target, "normalized"))
            ),
        ]
        for what, s, target in (("the weights", S_next, b), ("the target", S, moved))
    ],
    "The example: prediction minus target is the same, the gradient is not",
)


# %% [markdown]
# ## The statement, made explicit
#
# The theorems say that some $\tilde b$ exists. Here it is, defined so that the residual stays what it is, for the
# matrix problem with scores $S\to S'$ (by a move of $X$, $A_1$ or $A_2$), softmax rows $F$ and row sums $a$ of $e^S$:
#
# $$
# \begin{aligned}
# \text{normalized:}&\quad\tilde B=B+F(S)-F(S'),\\
# \text{rescaled:}&\quad\tilde b_j=f_j-\frac{a_j'}{a_j}\,(f_j'-b_j).
# \end{aligned}
# $$ (eq-icl-shift)
#
# ```{prf:proposition} The shift, and how large it is
# :label: prop-icl-shift
#
# With {eq}`eq-icl-shift` the residual at $(S,\tilde B)$ is that at $(S',B)$: $F-\tilde B=F'-B$ in the normalized, and
# $e^S-\mathrm{diag}(a)\tilde B=e^{S'}-\mathrm{diag}(a')B$ in the rescaled problem. In the normalized problem
# $\Vert\tilde b_j-b_j\Vert\le\frac12\Vert s_j'-s_j\Vert$. In the rescaled problem, for $b_j$ in the simplex and
# $\delta=\Vert s_j'-s_j\Vert_\infty$, $\Vert\tilde b_j-b_j\Vert\le\sqrt2\,e^\delta\Vert s_j'-s_j\Vert$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
#
# The residuals: insert. Normalized: the Lipschitz constant $\frac12$ of softmax ({doc}`lipschitz_bounds`). Rescaled: along
# the segment from $s$ to $s'$ the derivative of $\tilde b$ is $-(\mathrm{diag}(f')-bf'^\top)\,a'/a$ at the
# moving end. $\mathrm{diag}(f)-bf^\top$ is affine in $f$ and in $b$, so its norm is largest at corners of the two
# simplices: $f=e_i$, $b=e_k$ gives $\Vert(e_i-e_k)e_i^\top\Vert=\sqrt2$. And $a'/a\le e^\delta$.
# ```
#
# **Exercise 1.** Show that the shift of the normalized version keeps the row sums of $B$, and that the rescaled one does
# so exactly if they are 1.
#
# ```{admonition} Solution
# :class: dropdown
# Rows of $F$ and $F'$ both sum to 1, so the normalized shift sums to 0. Rescaled: $1-\frac{a'}{a}(1-\langle b,1\rangle)$,
# which equals $\langle b,1\rangle$ for all $a'/a$ only if $\langle b,1\rangle=1$.
# ```
#
# ````{admonition} What is assumed, and what we test
# :class: dropdown
# ```{list-table}
# :header-rows: 1
# :widths: 50 50
#
# * - assumption
#   - tested here
# * - $\Vert A\Vert,\Vert x\Vert\le R$
#   - worst cases over exactly this set
# * - $b$ in the simplex
#   - random rows of the simplex on the path, corners in the search
# * - $\Vert A\,\Delta x\Vert_\infty$ small
#   - dropped in P2.icl.rescaled and P2.icl.separation: there it matters
# * - $X_t$ invertible (for the data move that imitates a step)
#   - true of a random $X_0$; its condition number is shown
# ```
# ````

# %% [markdown]
# ## A path of gradient descent
#
# $A_1,A_2$ standard normal, rows of $B$ random in the simplex, $X_0$ the identity plus standard normal over $d$. The step size is
# the inverse of the largest eigenvalue of the Hessian in absolute value, computed at every step, for both versions.


# %% tags=["hide-input"]
def data_gap(X, X_next, kind):
    """The same for the loss if A1 moves, to the scores of the next step."""
    moved = data_move(A1, X, X_next)
    B_new = shifted_target(scores(X), scores(X, moved), B, kind)
    return relative(loss(moved, A2, X, B, kind), loss(A1, A2, X, B_new, kind))


moved_data = along_path(data_gap)
judge(
    "P2.icl.identity",
    [
        exact("weights move, {kind}", value_gap.max(1), kind=KINDS),
        exact("data move, {kind}", moved_data.max(1), kind=KINDS),
    ],
)

# %% [markdown]
# The gradients do not agree: the same residual is multiplied by the derivative of softmax at another place. So gradient
# descent continued from $(X_{t+1},B)$ and from $(X_t,\tilde B)$ goes different ways.

# %% [markdown]
# ### How large is the shift?
#
# On the path, against the bound of {prf:ref}`prop-icl-shift`, and summed over all steps: the shifts telescope, so a
# whole sequence of updates is one shift $F(X_0)-F(X_T)$. The control uses the rescaled shifts, which do not add up to
# it.

# %% tags=["hide-input"]
path, etas = paths["normalized"]
half = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2) / 2


def shifts(path, kind):
    """Compute the shifts of successive steps, each from the target reached before."""
    target, moves = B, []
    for X, X_next in zip(path, path[1:], strict=False):
        new = shifted_target(scores(X), scores(X_next), target, kind)
        moves.append(new - target)
        target = new
    return moves


ratios, sums = {}, {}
for kind in paths:
    walk = paths[kind][0]
    moves = shifts(walk, kind)
    ratios[kind] = [
        (move.norm() / (half * (X_next - X).norm())).item()
        for move, X, X_next in zip(moves, walk, walk[1:], strict=False)
    ]
    difference = scores(walk[0]).softmax(-1) - scores(walk[-1]).softmax(-1)
    sums[kind] = relative(sum(moves), difference)
total = f"sum of {steps} shifts"
judge(
    "P2.icl.sharp",
    [
        found("largest ratio", max(ratios["normalized"]), 1.0, what="bound"),
        exact(total, sums["normalized"], what="sum"),
    ],
    exact(f"sum of {steps} rescaled shifts", sums["rescaled"], what="sum"),
)

# %% [markdown]
# On the path the shift is far below the bound. The worst case is the construction of {doc}`lipschitz_bounds`; we
# build it and take a small real step, first of the weights, then of the data.


# %% tags=["hide-input"]
def worst(n, R, moving):
    """Compute log10 of |b~ - b| / |move| for a small move from the worst data."""
    A, x, v = witness(*worst_logits("f", n, R), R)
    b, h = torch.full((1, n), 1 / n, dtype=A.dtype), 1e-3  # rounding is far below
    if moving == "x":
        s, s_next = A @ x, A @ (x + h * v)
    else:  # E = w x' / |x| has norm 1 and moves the scores along w
        E = torch.outer(A @ v / R, x / x.norm())
        s, s_next = A @ x, (A + h * E) @ x
    shift = shifted_target(s[None], s_next[None], b) - b
    return math.log10(shift.norm().item() / h)


pairs = [(m, R) for m in n_values for R in radii if R >= 4]
m, R = np.array(pairs).T
largest = {t: np.array([worst(m, R, t) for m, R in pairs]) for t in ("x", "A")}
bound = 1.5 * np.log10(m) + 10 * R**2 / math.log(10)
proved = np.log10(R / 2) - bound
labels = {"n": m.astype(int), "R": R}
notebook.glue("icl-spare", min((bound - most).min() for most in largest.values()))
judge(
    "P2.icl.shift",
    [
        found(
            "weights move, n = {n}, R = {R:g}", largest["x"] - bound, proved, **labels
        ),
        found("data move, n = {n}, R = {R:g}", largest["A"] - bound, proved, **labels),
    ],
)

# %% [markdown]
# Both hold, with at least {glue:text}`icl-spare:.0f` powers of ten to spare. The constant is at most $R/2$, which
# proves them for all data.
#
# ## The rescaled version is different
#
# Its shift contains the ratio $a'/a$ of row sums. For small moves that is harmless: the constant is at most
# $\sqrt2e^\delta$, and the search reaches $\sqrt2$ as $\delta\to0$. Without the smallness condition on
# $\Vert A\Delta x\Vert_\infty$ the ratio can be exponentially large.


# %% tags=["hide-input"]
def ratio_search(kind, n, R, limit=None):
    """Search log10 of the largest |b~ - b| / |move of x| over data, weights, target.

    With ``limit`` the scores move by at most that much, and the ratio is to |A dx|.
    """

    def objective(M, y, z, t):
        norm = torch.linalg.eigvalsh(M.mT @ M)[..., -1].sqrt()[..., None, None]
        A, b = R * M / norm, supremum_search.simplex(t)
        x, x_next = supremum_search.ball(y, R), supremum_search.ball(z, R)
        s, s_next = (A @ x[..., None]).squeeze(-1), (A @ x_next[..., None]).squeeze(-1)
        move = x_next - x
        if limit is not None:
            longest = (s_next - s).abs().amax(-1, keepdim=True)
            move = (s_next - s) * (limit / longest).clamp(max=1)
            s_next = s + move
        shift = shifted_target(s, s_next, b, kind) - b
        return shift.norm(dim=-1).log() - move.norm(dim=-1).log()

    many = supremum_search.SCREEN * starts
    drawn = [normal(1, many, *m) for m in ((n, 2), (2,), (2,), (n,))]
    with torch.no_grad():
        chosen = objective(*drawn)[0].topk(starts).indices
    start = [t[:, chosen] for t in drawn]
    return supremum_search.ascend(objective, start, 200).best.item()


# %% tags=["hide-input"]
deltas = np.array([0.01, 0.1, 1.0])
worst_shift = 10 ** np.array([ratio_search("rescaled", 8, 6.0, v) for v in deltas])
ratio = worst_shift / (math.sqrt(2) * np.exp(deltas))
judge(
    "P2.icl.rescaled",
    found("delta = {delta:g}", ratio, 1.0, delta=deltas),
    found("delta = 1, factor left out", worst_shift[-1] / math.sqrt(2), delta=1.0),
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Worst shift of the target per unit of weight change, log10, over all data and weights within the preconditions, against $R$ ($n=8$). Points: found by search. Solid: the bound $R/2$ of the normalized version.", "name": "fig-icl-separation"}, "image": {"alt": "Two series against R from one half to six. The normalized points lie on the slowly rising curve R over two, below one. The rescaled points rise like a parabola to nearly twenty powers of ten at R equal to six."}}
separation = {kind: [ratio_search(kind, 8, R) for R in radii] for kind in KINDS}
figure, ax = plt.subplots()
grid = np.linspace(min(radii), max(radii), 50)
plots.exact_curve(ax, grid, np.log10(grid / 2), "R/2")
for (kind, values), marker in zip(separation.items(), "os", strict=True):
    hollow = {"markerfacecolor": "white", "markeredgewidth": 1.4}
    color = plots.COLORS[kind]
    ax.plot(radii, values, marker, color=color, label=kind, **hollow)
ax.set_xlabel("R")
ax.set_ylabel(r"log10 of the worst $\Vert\tilde b-b\Vert/\Vert\Delta x\Vert$")
ax.legend()
plt.show()

# %% tags=["hide-input"]
far = np.array(radii[-2:])
worst_found = {kind: np.array(separation[kind][-2:]) for kind in KINDS}
rate = worst_found["rescaled"] * math.log(10) / far**2
share = 10 ** worst_found["normalized"] / far
judge(
    "P2.icl.separation",
    [
        found("rescaled, R = {R:g}", rate, R=far, kind="rescaled"),
        found("normalized, R = {R:g}", share, 0.5 + 1e-9, R=far, kind="normalized"),
    ],
    folded=True,
)

# %% [markdown]
# ### When does it break?
#
# The summary adds a condition: "If the Lipschitz conditions are violated (e.g., gradients become too large or sparse
# updates occur), the equivalence breaks down." The *bound* on the shift can break, but only that of the rescaled
# version: with one token that counts, and $x$ sixteen times as long as $R$, turned round in one step, the shift is
# larger than the printed $M$ allows. The *value* of the loss is the same after any move, since that is how the shift is
# defined.

# %% tags=["hide-input"]
R, n_break, reach = 2.0, 8, 16.0
S = torch.zeros(1, n_break, dtype=torch.float64)
S[0, 0] = -reach * R**2  # A has one row that is not zero, of length R; x goes to -x
b = torch.eye(n_break, dtype=torch.float64)[1:2]
M = 1.5 * math.log10(n_break) + 10 * R**2 / math.log(10)


def stretched_shift(kind):
    """Compute log10 of the shift over the printed bound, for the long move."""
    move = 2 * reach * R
    return math.log10((shifted_target(S, -S, b, kind) - b).norm().item() / move) - M


def stretched_value(kind):
    """Compute log10 of the relative difference of the two losses, over 1e-6."""
    target = shifted_target(S, -S, b, kind)
    gap = relative(row_loss(S, target, kind), row_loss(-S, b, kind))
    return math.log10(max(gap, 1e-17) / 1e-6)


rounding = n_break * np.spacing(reach * R**2)  # of the largest score, in every term
judge(
    "P2.icl.break",
    exact("rescaled, R = 2", stretched_shift("rescaled"), rounding),
    readings={
        "the bound on the normalized shift": exact(
            "normalized, R = 2", stretched_shift("normalized"), rounding
        ),
        "the value of the loss is no longer the same": exact(
            "{kind}, R = 2", [*map(stretched_value, KINDS)], rounding, kind=KINDS
        ),
    },
)

# %% [markdown]
# ## Can attention make the step?
#
# So far the data move was arbitrary. Which data move *is* a gradient step? With $\Delta X=-\eta A_1^\top PA_2$ and $X_t$
# invertible,
#
# $$
# A_1'=A_1X_{t+1}X_t^{-1}=A_1-\eta\,(A_1A_1^\top)\,(PA_2X_t^{-1})
# $$ (eq-icl-layer)
#
# gives $A_1'X_tA_2^\top=A_1X_{t+1}A_2^\top$: one **linear** self-attention layer with residual connection, scores
# $A_1A_1^\top$ and values $PA_2X_t^{-1}$. The control weighs with a softmax instead.


# %% tags=["hide-input"]
def attended(X, eta, weights):
    """Move the tokens by an attention layer that knows the residual."""
    P = row_gradient(scores(X), B, "normalized")
    values = torch.linalg.solve(X.mT, (P @ A2).mT).mT
    if weights == "linear":
        return linear_attention_layer(A1, values, eta)
    return A1 - eta * self_attention_weights(A1, 1.0) @ values


def layer_gaps(weights, whole=False):
    """Compare moves of the scores, or with ``whole`` the scores, along the path."""
    gaps = []
    for X, X_next, eta in zip(path, path[1:], etas, strict=False):
        start = 0.0 if whole else scores(X)
        move = scores(X_next) - start
        if move.norm() < 1e-6 * scores(X).norm():
            break  # near the minimum the difference of two scores is mostly rounding
        gaps.append(relative(scores(X, attended(X, eta, weights)) - start, move))
    return gaps


linear_gaps = layer_gaps("linear")
notebook.glue("icl-told", len(linear_gaps))
notebook.glue("icl-condition", max(torch.linalg.cond(X).item() for X in path))
judge(
    "P2.icl.linear-attention",
    exact(f"{len(linear_gaps)} steps", max(linear_gaps)),
    exact("softmax weights", min(layer_gaps("softmax"))),
)

# %% [markdown]
# ({glue:text}`icl-told` steps are compared, those up to the first that moves the scores by less than a millionth. The
# largest condition number of $X_t$ on the path is {glue:text}`icl-condition:.0f`; rounding is multiplied by it.) The
# values contain $P$, which depends on the targets: a layer that sees only $A_1$ cannot know the gradient. And
# {eq}`eq-icl-layer` also reads $A_1'=A_1(I-\eta GX_t^{-1})$ with $G=A_1^\top PA_2$: every token is multiplied by the
# same $d\times d$ matrix, without attention between tokens.
#
# **Exercise 2.** Write the data move on the key side, $A_2'$.
#
# ```{admonition} Solution
# :class: dropdown
# $A_2'=A_2-\eta\,(A_2A_2^\top)(P^\top A_1X_t^{-\top})$: then $A_1X_tA_2'^\top=A_1X_tA_2^\top-\eta A_1A_1^\top PA_2A_2^\top$.
# ```
#
# **Exercise 3.** The change of the scores by a gradient step, $-\eta(A_1A_1^\top)P(A_2A_2^\top)$, does not contain $X$
# except through $P$. What does this mean for two different $X$ with the same scores?
#
# ```{admonition} Solution
# :class: dropdown
# They stay together for ever: gradient descent is a dynamics of the scores alone, with two fixed kernels.
# ```
#
# ### Equivalent, in which sense?
#
# "In-context learning updates are mathematically equivalent to gradient descent steps", says the summary. We compute it
# in three senses: the value of the loss, the gradient and with it the next step, and the scores after one linear
# attention layer that knows the residual.

# %% tags=["hide-input"]
judge(
    "P2.icl.equivalence",
    exact("value, {kind}", value_gap.max(1), kind=KINDS),
    readings={
        "the same gradient, so the same next step": exact(
            "gradient, {kind}", gradient_gap.max(1), kind=KINDS
        ),
        "the same scores, by one linear attention layer that knows the residual": exact(
            "scores, normalized", max(layer_gaps("linear", whole=True))
        ),
    },
)

# %% [markdown]
# ### And a softmax layer?
#
# Take $A_1'=A_1+\mathrm{softmax}(cA_1A_1^\top)\,A_1V$ and choose the $d\times d$ matrix $V$ by least squares, in two
# ways: afresh for each problem (it may then know the targets, as $V=-\eta GX^{-1}$ would), or one $V$ for all problems,
# which is what a trained layer has. Each wanted move is divided by its length first: where $X$ is nearly singular, a
# few are a hundred times as long as the others. We compare the moves of the scores, at sharpness $c$ from 0 (plain
# averaging) to 16 (each token nearly attends to itself), and without attention, $A_1'=A_1+A_1V$.

# %% tags=["hide-input"]
NONE, PLAIN = "none", 1.0  # no attention, and the sharpness that the card judges
LAYERS = [NONE, 0.0, 0.25, 0.5, PLAIN, 2.0, 4.0, 16.0]


def next_weights(A1, A2, X, B, step=1.0):
    """Make one step of gradient descent, in units of the sharp step size."""
    # the largest curvature of a row for two tokens, see the chapter on optimization
    p = (15 - math.sqrt(33)) / 24
    curvature = 4 * p**2 * (1 - p) * (2 - 3 * p)
    norms = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)
    eta = step / (curvature * norms**2)
    return X - eta[..., None, None] * gradient(A1, A2, X, B)


def wanted_move(A1, A2, X, B, step=1.0):
    """Compute the move of A1 that gives the scores of that step."""
    return data_move(A1, X, next_weights(A1, A2, X, B, step)) - A1


def growing(A1, A2, X, B):
    """Change the targets to those that the weights 2X fit."""
    return A1, A2, X, scores(2 * X, A1, A2).softmax(-1)


def cosine(U, V):
    return torch.linalg.vecdot(U.flatten(-2), V.flatten(-2)) / (
        torch.linalg.matrix_norm(U) * torch.linalg.matrix_norm(V)
    )


def averaged(A1, c):
    return A1 if c == NONE else self_attention_weights(A1, c) @ A1


def solved(features, goals):
    return torch.linalg.lstsq(features, goals, driver="gelsd").solution


def for_all(A1, goals, c):
    """Fit one V to all problems, each goal divided by its length."""
    lengths = torch.linalg.matrix_norm(goals)[:, None, None]
    return solved(averaged(A1, c).flatten(0, 1), (goals / lengths).flatten(0, 1))


# %% tags=["hide-input"]
def imitation(k):
    """Compute median cosines with the step in stream k, and their controls."""
    rng = stream(seed, "evaluation", k)
    seen, new = problems(draws, rng), problems(draws, rng)
    A1, A2, X, _ = new
    told, bigger = wanted_move(*seen), wanted_move(*growing(*seen))
    goal, grown = wanted_move(*new), wanted_move(*growing(*new))

    def median(move, goal=goal):
        return cosine(scores(X, move, A2), scores(X, goal, A2)).median().item()

    features = {c: averaged(A1, c) for c in LAYERS}
    shared = {c: for_all(seen[0], told, c) for c in LAYERS}
    other = solved(features[PLAIN], goal.roll(1, 0))
    return {
        "own": [median(f @ solved(f, goal)) for f in features.values()],
        "shared": [median(features[c] @ V) for c, V in shared.items()],
        "turned": [cosine(V, -eye).item() for V in shared.values()],
        "shrunk": median(-A1),
        "own control": median(features[PLAIN] @ other),
        "shared control": median(features[PLAIN] @ shared[PLAIN], grown),
        "turned control": cosine(for_all(seen[0], bigger, PLAIN), -eye).item(),
    }


imitations = [imitation(k) for k in range(seeds)]
imitated = {what: np.array([i[what] for i in imitations]).T for what in imitations[0]}
plain, sizes = LAYERS.index(PLAIN), f"n = {n}, d = {d}"


def medians(name, values, what):
    return sampled(f"{name}, {sizes}", values, what=what)


judge(
    "P2.icl.imitates",
    [
        medians("fitted to one problem", imitated["own"][plain], "own"),
        medians("one layer for all problems", imitated["shared"][plain], "shared"),
        medians("fitted to one problem, no attention", imitated["own"][0], "exact"),
        medians("every token shrunk", imitated["shrunk"], "shared"),
    ],
    [
        medians("fitted to another's step", imitated["own control"], "own"),
        medians("tested on targets of 2X", imitated["shared control"], "shared"),
    ],
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Median cosine between the move of the scores by one softmax attention layer and by one step of gradient descent, against the sharpness $c$ of the layer (none: no attention, a matrix on each token). Points: medians over independent streams, with intervals mostly smaller than the marks. Circles: values fitted to each problem. Squares: one layer for all problems, tested on problems it was not fitted to. Line: every token shrunk by the same factor, nothing fitted.", "name": "fig-icl-softmax"}, "image": {"alt": "Two series against sharpness. The circles are at one without attention, at about two tenths at sharpness zero, and above nine tenths from one quarter on. The squares are below two tenths at sharpness zero and otherwise near six tenths, on or just below a horizontal line."}}
figure, ax = plt.subplots()
places = np.arange(len(LAYERS))
for what, color, marker, label in (
    ("own", "softmax", "o", "fitted to each problem"),
    ("shared", "printed", "s", "one layer for all"),
):
    ends = median_interval(imitated[what])[:3]
    plots.sampled_points(ax, places, *ends, label, plots.COLORS[color], marker)
shrunk, look = np.median(imitated["shrunk"]), {"color": plots.COLORS["guide"], "lw": 1}
ax.axhline(shrunk, label="every token shrunk", **look)
ax.set_xticks(places, [c if c == NONE else f"{c:g}" for c in LAYERS])
ax.set_ylim(0, 1.05)
ax.set_xlabel("sharpness c of the attention layer")
ax.set_ylabel("cosine with the gradient step")
ax.legend(loc="lower right")
plt.show()
for c in (0.0, 16.0):
    own = float(np.median(imitated["own"][LAYERS.index(c)]))
    notebook.glue(f"icl-own-{c:g}", own)

# %% [markdown]
# Fitted to each problem the median cosine is {glue:text}`icl-own-0:.2f` at $c=0$, where all tokens get the same
# average, and {glue:text}`icl-own-16:.2f` at $c=16$. Why is it so high in between? The step wants every token
# multiplied by a matrix, and a softmax average over Gaussian tokens *is* nearly a multiple of the query: the mean of a
# Gaussian weighted with $e^{c\,a\cdot q}$ is $cq$. (At large $c$ a token picks the one with the largest inner product,
# which is not always itself.)
#
# One layer for all problems shrinks every token: its $V$ is nearly a negative multiple of the identity. Random targets
# with mean $\frac1n$ leave on average $\frac12\Vert F-\frac1n\Vert_F^2$ plus a constant, which falls if $X$ shrinks,
# whatever the data: along $S\to tS$ the derivative of $\frac12\Vert f\Vert^2$ is the covariance of $f_i$ and $s_i$ under
# $f$, never negative. The rest of the step is in the targets, which the layer does not see; the control takes targets that $2X$ fits.

# %% tags=["hide-input"]
judge(
    "P2.icl.shrinks",
    [
        medians("one layer for all problems", imitated["turned"][plain], "shrinks"),
        medians("the same without attention", imitated["turned"][0], "shrinks"),
    ],
    medians("targets of 2X", imitated["turned control"], "shrinks"),
    folded=True,
)

# %% [markdown]
# **Exercise 4.** Give the layer tokens that carry their target, $(A_1[j,:],b_j)$, and one $V$ for all problems. Does it now
# find the direction?
#
# ```{admonition} Solution
# :class: dropdown
# $P$ is a function of $F$ and $B$ jointly; linear values can carry $B$, but not the softmax that is in $F$. Near
# $X=0$, where $F\approx\frac1n11^\top$, $P\approx\frac1n(\bar B-B)$ is linear in $B$, and it works.
# ```
#
# The step size does not change the cosine (both moves are linear in $\eta$), but it does change the prediction. We
# follow both for 20 steps, the layer fitted anew at each step at $c=1$; the figure is folded.

# %% tags=["hide-output", "hide-input"] mystnb={"figure": {"caption": "Imitation over several steps, values fitted at each step, $c=1$. Left: cosine between the layer's and gradient descent's move of the scores, each from its own position. Right: distance of the two predictions, Frobenius norm. One curve for each step size in units of the sharp one. One problem, exact values.", "name": "fig-icl-steps"}, "image": {"alt": "Two panels against the number of steps. Left: cosines start just below one and fall with the step, for the largest step size to about nine tenths. Right: distances of the predictions that grow with the steps, faster for larger step sizes."}, "code_prompt_show": "The figure: {type}"}
horizon = 20
figure, axes = plt.subplots(1, 2, figsize=(6.6, 3.0))
a1, a2, x0, b = one = [t[0] for t in problems(1)]
for eta, color in zip(step_sizes, plots.ramp(len(step_sizes)), strict=True):
    x, tokens, cosines, distances = x0, a1, [], []
    for _ in range(horizon):
        feature = self_attention_weights(tokens, 1.0) @ tokens
        goal = wanted_move(tokens, a2, x0, b, eta)
        move = feature @ solved(feature, goal)
        x_next = next_weights(a1, a2, x, b, eta)
        cosines.append(cosine(scores(x0, move, a2), scores(x_next - x, a1, a2)))
        x, tokens = x_next, tokens + move
        layer, descent = scores(x0, tokens, a2), scores(x, a1, a2)
        distances.append((layer.softmax(-1) - descent.softmax(-1)).norm().item())
    plots.exact_curve(axes[0], range(1, horizon + 1), cosines, f"{eta:g}", color)
    plots.exact_curve(axes[1], range(1, horizon + 1), distances, None, color)
axes[0].set_ylabel("cosine of the moves")
axes[1].set_ylabel("distance of predictions")
figure.legend(
    *axes[0].get_legend_handles_labels(), title="step size", loc="outside right center"
)
for ax in axes:
    ax.set_xlabel("step")
plt.show()

# %% [markdown]
# ### Do the bounds imply similarity?
#
# The abstract of {cite:t}`li2024closeness` says that its upper bounds "imply that when training self-attention-only
# Transformers for fundamental regression tasks, the models learned by gradient-descent and Transformers show great
# similarity". How similar trained models are is a matter of its experiments, which we have not repeated, so we do not
# judge the sentence. Bounds alone do not suffice: an upper bound on the length of two moves says nothing of their
# directions. Two moves are as long as the gradient step's: the opposite one, and one whose scores move at a right
# angle. The control is the linear layer, which makes the step.

# %% tags=["hide-input"]
a1, a2, x, b = one
goal = wanted_move(*one)


def moved_scores(move):
    return scores(x, move, a2)


# the cosine is linear in the move: subtract its gradient until none is left
pull = moved_scores(goal) @ a2 @ x.mT
random = normal(n, d)
upright = random - (random * pull).sum() / pull.square().sum() * pull
upright = upright * goal.norm() / upright.norm()
P = row_gradient(a1 @ x @ a2.mT, b, "normalized")
values = torch.linalg.solve(x.mT, (P @ a2).mT).mT
linear = linear_attention_layer(a1, values, 1.0) - a1
turned = {"at a right angle": (upright, 0.0), "opposite": (-goal, -1.0)}
judge(
    "P2.icl.orthogonal",
    [
        exact(
            name, cosine(moved_scores(move), moved_scores(goal)).item(), cosine=wanted
        )
        for name, (move, wanted) in turned.items()
    ],
    exact(
        "linear attention layer",
        cosine(moved_scores(linear), moved_scores(goal)).item(),
        cosine=0.0,
    ),
    folded=True,
)

# %% [markdown]
# ## What to remember
#
# "Equivalence" here means a bounded shift of the target that preserves residual and loss value, not equality of
# updates: the gradients differ. Moving the data makes a gradient step exactly, by a linear layer that is told the
# residual or by a matrix on each token. A softmax layer for all problems, which is not told, shrinks every token.

# %% tags=["remove-input"]
notebook.footer()
