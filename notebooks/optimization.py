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
# # Solving the regression: curvature, step sizes, better algorithms
#
# Paper 2 states a minimization problem and analyses its smoothness; it does not solve it. The summary of the
# paper leaves two questions open: what the Lipschitz analysis is good for in designing algorithms, and what limits
# it. This chapter answers with the exact range of curvature, the step size that follows from it, and two
# better algorithms that need nothing but the gradient and Hessian products of {doc}`tensor_trick`.

# %% [markdown]
# ## What is printed
#
# The problem $\min_X\Vert D(X)^{-1}\exp(A_1XA_2^\top)-B\Vert_F^2$ is in the abstract of {cite:t}`gao2023tensor`. Papers of
# the line make it convex by a regularizer: {cite:t}`zhang2023h2o` (App. D.47) ask for $w_i^2\ge20+l/\sigma_{\min}(A)^2$ so
# that $\frac12\Vert f-b\Vert^2+\alpha+\frac12\Vert\mathrm{diag}(w)Ax\Vert^2$ has a Hessian of at least $lI$. Nothing
# is printed about how curved the loss really is, or about a step size.
#
# The parameters of this run, and its imports (folded):

# %% tags=["parameters"]
context_length = 24  # tokens n
dim = 3  # dimension d
steps = 3000  # steps of gradient descent
n_values = [2, 4, 16, 64]  # tokens, in the search for extreme curvature
starts = 24  # starts of each search
draws = 10  # random problems in the check of the step size
conditions = [1.0, 1.5, 2.0, 2.5]  # condition numbers of the data matrices
seed = 0  # root of the random numbers

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import minimize

from icl.tensor_trick import (
    gradient,
    hvp,
    loss,
    row_gradient,
    row_hvp,
    supremum_search,
    unvec,
    vec,
)
from icl_book import claims, notebook, plots

notebook.setup(globals())

# %% [markdown]
# ## In plain words
#
# Seen from the scores, every row of the problem is the same function, whatever the data. So its curvature has
# universal limits: two numbers. The upper one gives a step that is always safe, the lower one says how far from convex the
# problem is. The data only stretch space, and stretching can be undone.
#
# ## By hand
#
# Two tokens with $b=(0,1)$ and $f=(p,1-p)$: the loss is $p^2$. Along the unit direction $(1,-1)/\sqrt2$ of the scores
# $p'=\sqrt2p(1-p)$, and the second derivative of $p^2$ is
#
# $$
# 4g(p),\qquad g(p)=p^2(1-p)(2-3p).
# $$
#
# $g'(p)=p\,(12p^2-15p+4)$ vanishes at $p_\pm=(15\pm\sqrt{33})/24$. At $p_-$ the curvature is largest, at $p_+$
# it is negative: a prediction that is confidently wrong sits on a plateau that bends downward.

# %%
P_LOW, P_HIGH = (15 - math.sqrt(33)) / 24, (15 + math.sqrt(33)) / 24


def g(p):
    return p**2 * (1 - p) * (2 - 3 * p)


SMOOTH, CONCAVE = 4 * g(P_LOW), 4 * g(P_HIGH)
notebook.glue("opt-smooth", SMOOTH)
notebook.glue("opt-concave", CONCAVE)
plots.table(
    ["point", "$p$", "second derivative $4g(p)$"],
    [
        ["$p_-$", f"{P_LOW:.4f}", f"{SMOOTH:.4f}"],
        ["$p_+$", f"{P_HIGH:.4f}", f"{CONCAVE:.4f}"],
    ],
    "The largest and the most negative curvature of two tokens",
)

# %% mystnb={"figure": {"caption": "The normalized loss of two tokens, $p^2$ (left), and its second derivative (right) along the unit direction of the scores that separates them; $t$ is the difference of the two scores. Exact curves, no units. Marked: the extremes of the curvature.", "name": "fig-opt-two"}, "image": {"alt": "Left: an S-shaped curve from zero to one. Right: its second derivative, positive with a maximum of about three tenths left of zero, negative with a minimum of about minus one quarter near t equal to two, and zero far out on both sides."}} tags=["hide-input"]
t = np.linspace(-6, 8, 400)
p = 1 / (1 + np.exp(-t))
figure, axes = plt.subplots(1, 2, figsize=(6.6, 2.8))
plots.exact_curve(axes[0], t, p**2)
plots.exact_curve(axes[1], t, 4 * g(p))
for q, value in ((P_LOW, SMOOTH), (P_HIGH, CONCAVE)):
    axes[1].plot(math.log(q / (1 - q)), value, "o", color=plots.COLORS["printed"])
axes[1].axhline(0, color=plots.COLORS["guide"], linewidth=1)
for ax, title in zip(axes, ("loss", "second derivative"), strict=True):
    ax.set_xlabel("difference t of the two scores")
    ax.set_title(title)
plt.show()

# %% [markdown]
# ## More tokens do not bend more
#
# For $n$ tokens the row Hessian is an $n\times n$ matrix that depends on the scores and on $b$. We search its extreme
# eigenvalues by ascent over scores, direction and $b$ in the simplex (the method of {doc}`lipschitz_bounds`). For every
# $n$ the search ends where two tokens are, and never beyond. (That more tokens cannot do better is
# what the search finds; we have no proof for $n>2$.) The curvature of the whole problem follows:
# $\nabla^2L=\sum_j\mathsf A_j^\top H_j\mathsf A_j$, so it lies between
# {glue:text}`opt-concave:.4f` and {glue:text}`opt-smooth:.4f` times $\Vert A_1\Vert^2\Vert A_2\Vert^2$.
#
# ```{prf:proposition} Step size
# :label: prop-opt-step
#
# If the eigenvalues of the row Hessians are at most $\lambda$, then $\nabla L$ is
# $\lambda\Vert A_1\Vert^2\Vert A_2\Vert^2$-Lipschitz, and gradient descent with
# $\eta=1/(\lambda\Vert A_1\Vert^2\Vert A_2\Vert^2)$ lowers the loss by at least
# $\frac\eta2\Vert\nabla L\Vert_F^2$ in each step.
# ```
#
# ```{prf:proof}
# In a direction $V$ the second derivative is $\sum_jt_j^\top H_jt_j\le\lambda\Vert A_1VA_2^\top\Vert_F^2\le
# \lambda\Vert A_1\Vert^2\Vert A_2\Vert^2\Vert V\Vert_F^2$ with $t_j$ the rows of $A_1VA_2^\top$. The rest is Taylor's formula.
# ```

# %%
generator = torch.Generator().manual_seed(seed)


def extreme(kind, n, sign):
    slope = lambda s, w, b: (row_gradient(s, b, kind) * w).sum(-1)  # noqa: E731
    return (
        10
        ** supremum_search.search_loss(
            slope, 2, n, 36.0, starts, 250, generator, sign
        ).best.item()
    )


found = {
    (n, sign): extreme("normalized", n, sign) for n in n_values for sign in (1.0, -1.0)
}
ends = {1.0: SMOOTH, -1.0: -CONCAVE}
claims.judge(
    "P2.opt.range",
    [
        claims.exact(
            f"{'largest' if sign > 0 else 'most negative'}, n = {n}", v / ends[sign]
        )
        for (n, sign), v in found.items()
    ],
    [
        claims.exact(
            f"cross-entropy, {'largest' if sign > 0 else 'most negative'}, n = 4",
            extreme("cross_entropy", 4, sign) / ends[sign],
        )
        for sign in ends
    ],
)

# %% [markdown]
# ## How much regularizer is needed
#
# The printed condition holds, with much to spare. The worst data are easy to build: two tokens with $p=p_+$, $A$ with
# orthogonal columns, of which one moves the scores apart. There the constant {glue:text}`opt-needed:.4f` is
# exactly enough, against a printed 20.

# %%
notebook.glue("opt-needed", -CONCAVE)


def smallest(A, x, b, w2, sparse):
    """Smallest eigenvalue of the Hessian of L_exp (+ L_sparse) + |diag(w) A x|^2 / 2 in x."""
    s, eye = A @ x, torch.eye(len(A), dtype=A.dtype)
    H = row_hvp(s, eye, b, "normalized") + (torch.diag(s.exp()) if sparse else 0.0)
    return torch.linalg.eigvalsh(A.T @ (H + w2 * eye) @ A)[0].item()


def random_problem(low):
    A = torch.randn(8, 3, generator=generator, dtype=torch.float64)
    x, b = (torch.randn(k, generator=generator, dtype=torch.float64) for k in (3, 8))
    return A, 3 * x, b.softmax(-1), low / torch.linalg.svdvals(A)[-1].item() ** 2


cases, control = [], []
for low in (0.1, 1.0):
    values = [
        (smallest(A, x, b, 20 + extra, True) / low, smallest(A, x, b, 0.0, True) / low)
        for A, x, b, extra in (random_problem(low) for _ in range(200))
    ]
    cases.append(
        claims.exact(
            f"smallest of 200 random problems, l = {low:g}", min(v[0] for v in values)
        )
    )
    control.append(
        claims.exact(
            f"the same without regularizer, l = {low:g}", min(v[1] for v in values)
        )
    )
claims.judge("P2.opt.psd", cases, control)

# %%
rotation = torch.tensor([[1.0, 1.0], [-1.0, 1.0]], dtype=torch.float64) / math.sqrt(2)
x = torch.tensor(
    [math.log(P_HIGH / (1 - P_HIGH)) / math.sqrt(2), 0.0], dtype=torch.float64
)
b = torch.tensor([0.0, 1.0], dtype=torch.float64)
low = 1e-3
claims.judge(
    "P2.opt.psd-sharp",
    [
        claims.exact(
            "two tokens at p+",
            smallest(rotation, x, b, -CONCAVE + low, False) / low,
            1e-9,
        )
    ],
    [
        claims.exact(
            "nine tenths of the constant",
            smallest(rotation, x, b, -0.9 * CONCAVE + low, False) / low,
        )
    ],
)

# %% [markdown]
# ## Descent at the sharp step size
#
# Random problems, targets that cannot be fitted, and starts from small to saturated. The loss must not rise in any
# step.

# %%
n, d = context_length, dim


def normal(*shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def descend(A1, A2, X, B, factor=1.0, count=steps):
    """Losses of gradient descent; a batch of problems at once."""
    eta = factor / (
        SMOOTH
        * (torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)) ** 2
    )
    losses = [loss(A1, A2, X, B)]
    for _ in range(count):
        X = X - eta[..., None, None] * gradient(A1, A2, X, B)
        losses.append(loss(A1, A2, X, B))
    return torch.stack(losses), X


A1, A2, B = normal(draws, n, d), normal(draws, n, d), normal(draws, n, n).softmax(-1)
worst, too_large = {}, {}
for scale in (0.1, 1.0, 5.0):
    X = scale * normal(draws, d, d)
    for store, factor in ((worst, 1.0), (too_large, 1000.0)):
        losses, _ = descend(A1, A2, X, B, factor, min(steps, 300))
        store[scale] = (losses.diff(dim=0) / losses[0]).max().item()
claims.judge(
    "P2.opt.descent",
    [claims.exact(f"start of size {s:g}", v) for s, v in worst.items()],
    [
        claims.exact(f"1000 times the step, start of size {s:g}", v)
        for s, v in too_large.items()
        if s <= 1
    ],
)

# %% [markdown]
# ### Where it ends
#
# A target $B=F(X^*)$ can be fitted exactly, a random one cannot. {numref}`fig-opt-descent` also shows a far start:
# saturated rows are nearly flat, and gradient descent waits on a plateau. No step of size $1/M$ with a printed constant is
# shown, because there is nothing to see: at $R=4$ and this $n$ the step size has {glue:text}`opt-tiny:.0f` zeros after the point,
# and steps of that size change no bit of a float64 number of ordinary size.

# %% mystnb={"figure": {"caption": "Gradient descent at the sharp step size on one problem: loss against the step. A target that can be fitted, from zero and from a far start, and a random target, from zero. Exact values, no unit.", "name": "fig-opt-descent"}, "image": {"alt": "Log-log plot of three falling curves. From zero with a target that can be fitted the loss falls by about six powers of ten. From a far start it hardly moves. With the random target it soon becomes nearly constant at a positive value."}} tags=["hide-input"]
a1, a2 = normal(n, d), normal(n, d)
X_true = normal(d, d) / 2
fit, random = torch.softmax(a1 @ X_true @ a2.mT, -1), normal(n, n).softmax(-1)
zero, far = torch.zeros(d, d, dtype=torch.float64), 4 * normal(d, d)
figure, ax = plt.subplots()
for label, target, start, color in (
    ("can be fitted, from 0", fit, zero, plots.PALETTE[0]),
    ("can be fitted, far start", fit, far, plots.PALETTE[1]),
    ("random target, from 0", random, zero, plots.PALETTE[2]),
):
    losses, _ = descend(a1, a2, start, target)
    plots.exact_curve(ax, np.arange(1, steps + 2), losses, label, color)
ax.set_xscale("log")
ax.set_yscale("log")
ax.set_xlabel("step")
ax.set_ylabel("loss")
ax.legend()
plt.show()
notebook.glue("opt-tiny", math.floor(1.5 * math.log10(n) + 10 * 16 / math.log(10)))

# %% [markdown]
# ## Undoing the data
#
# The data enter only through $S=A_1XA_2^\top$. In the coordinates
# $Y=(A_1^\top A_1)^{1/2}X(A_2^\top A_2)^{1/2}$ the scores are $Q_1YQ_2^\top$ with orthonormal columns, so the
# curvature in $Y$ is that of the rows, and the step $1/4g(p_-)$ is safe for *all* data. Back in $X$ this is
#
# $$
# X\leftarrow X-\tfrac1{4g(p_-)}\,(A_1^\top A_1)^{-1}\,\nabla L\,(A_2^\top A_2)^{-1}.
# $$ (eq-opt-pre)
#
# Two $d\times d$ systems per step, nothing else. (The same idea is known as a Kronecker-factored preconditioner.) If the data
# are stretched, $A_i\to A_iM_i$, the iterates are stretched with them and the losses do not change at all: the number of steps
# cannot depend on the condition number. We stretch one problem, keep its scores, and count steps to a millionth of the
# first loss.

# %%
GOAL, CAP = 1e-6, 1_000_000


def steps_needed(A1, A2, B, preconditioned, factor=1.0):
    X = torch.zeros(A1.shape[-1], A2.shape[-1], dtype=A1.dtype)
    if preconditioned:
        left, right = torch.linalg.inv(A1.T @ A1), torch.linalg.inv(A2.T @ A2)
        eta = factor / SMOOTH
    else:
        left, right = (torch.eye(k, dtype=A1.dtype) for k in X.shape)
        eta = factor / (
            SMOOTH
            * (torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)).item()
            ** 2
        )
    first = loss(A1, A2, X, B).item()
    for k in range(CAP):
        if k % 10 == 0 and loss(A1, A2, X, B).item() <= GOAL * first:
            return k
        X = X - eta * left @ gradient(A1, A2, X, B) @ right
    return CAP


Q1, Q2 = (math.sqrt(n) * torch.linalg.qr(normal(n, d)).Q for _ in range(2))
needed = {False: [], True: []}
problems = []
for condition in conditions:
    stretch = torch.diag(
        torch.logspace(0, -math.log10(condition), d, dtype=torch.float64)
    )
    S_true = (
        Q1 @ X_true @ Q2.T / 2
    )  # the same scores, so the same target, for every condition
    problems.append((Q1 @ stretch, Q2 @ stretch, torch.softmax(S_true, -1)))
    for preconditioned in needed:
        needed[preconditioned].append(steps_needed(*problems[-1], preconditioned))


def exponent(values):
    return np.polyfit(np.log(conditions), np.log(values), 1)[0]


claims.judge(
    "P2.opt.preconditioned",
    [
        claims.exact(
            f"condition numbers {min(conditions):g} to {max(conditions):g}",
            exponent(needed[True]),
        )
    ],
    [claims.exact("without preconditioner", exponent(needed[False]))],
)

# %% [markdown]
# ## Second order
#
# The Hessian product costs about as much as two gradients, so a Newton method is within reach without ever forming the
# $d^2\times d^2$ Hessian. We hand gradient and product to SciPy's trust-region Newton-CG, which copes with negative
# curvature, and count every gradient and every product as one pass over the data.


# %%
def newton(A1, A2, B):
    """Losses after each pass (gradient or Hessian product) of trust-region Newton-CG."""
    d1, d2 = A1.shape[-1], A2.shape[-1]
    passes, trace = [0], []

    def matrix(x):
        return unvec(torch.from_numpy(x), d1, d2)

    def value(x):
        return loss(A1, A2, matrix(x), B).item()

    def slope(x):
        passes[0] += 1
        trace.append((passes[0], value(x)))
        return vec(gradient(A1, A2, matrix(x), B)).numpy()

    def product(x, v):
        passes[0] += 1
        return vec(hvp(A1, A2, matrix(x), B, matrix(v))).numpy()

    minimize(
        value,
        np.zeros(d1 * d2),
        jac=slope,
        hessp=product,
        method="trust-ncg",
        options={
            "gtol": 1e-9,
            "maxiter": 500,
            "initial_trust_radius": 1.0,
            "max_trust_radius": 1e3,
        },
    )
    first = trace[0][1]
    return next((k for k, v in trace if v <= GOAL * first), CAP), trace


second = [newton(*p) for p in problems]
slow = steps_needed(*problems[0], False, 0.1)
claims.judge(
    "P2.opt.newton",
    [
        claims.exact(f"condition number {c:g}", s[0] / k)
        for c, s, k in zip(conditions, second, needed[False], strict=True)
    ],
    [claims.exact("a tenth of the step", slow / needed[False][0])],
)

# %% mystnb={"figure": {"caption": "Passes over the data to a millionth of the first loss, against the condition number of both data matrices: gradient descent at the sharp step size, with the preconditioner, and trust-region Newton-CG. One problem stretched differently; exact counts (gradient descent is looked at every tenth step).", "name": "fig-opt-passes"}, "image": {"alt": "Plot with a logarithmic vertical axis and three series. Plain gradient descent rises steeply with the condition number, from about a thousand passes to more than ten thousand. The preconditioned one is a horizontal line at about a thousand. Newton-CG lies far below both, at a few tens."}} tags=["hide-input"]
figure, ax = plt.subplots()
for values, color, marker, label in (
    (needed[False], plots.PALETTE[0], "o", "gradient descent"),
    (needed[True], plots.PALETTE[1], "s", "preconditioned"),
    ([s[0] for s in second], plots.PALETTE[2], "D", "Newton-CG"),
):
    ax.plot(conditions, values, "-", marker=marker, color=color, label=label)
ax.set_xticks(conditions)
ax.set_yscale("log")
ax.set_xlabel("condition number of $A_1$ and $A_2$")
ax.set_ylabel("passes over the data")
ax.legend()
plt.show()
notebook.glue("opt-plain-last", needed[False][-1])
notebook.glue("opt-pre-last", needed[True][-1])
notebook.glue("opt-newton-last", second[-1][0])

# %% [markdown]
# At the largest condition number: {glue:text}`opt-plain-last` passes for gradient descent,
# {glue:text}`opt-pre-last` with the preconditioner, {glue:text}`opt-newton-last` for Newton-CG.
#
# ## What to remember
#
# *What is the Lipschitz analysis good for?* (Open question 1 of the summary.) The printed constants are too large to
# choose a step size. The sharp constant of the row gives one that is safe, and,
# with the data divided out, one that is the same for every problem. *What limits it?* (Open question 2.) The loss
# is not convex, saturated rows are flat, and no bound on smoothness helps there; second-order steps do.
#
# ## Exercises
#
# **Exercise 1.** Why is the cross-entropy convex in the scores?
#
# ```{admonition} Solution
# :class: dropdown
# Its row Hessian is $\langle b,1\rangle(\mathrm{diag}f-ff^\top)$, a covariance, which is positive semidefinite.
# ```
#
# **Exercise 2.** Show that {eq}`eq-opt-pre` visits the same scores for $(A_1M_1,A_2M_2)$ as for $(A_1,A_2)$.
#
# ```{admonition} Solution
# :class: dropdown
# With $X=M_1^{-1}\hat XM_2^{-\top}$ the gradient is $M_1^\top\hat GM_2$, and $(M_1^\top A_1^\top A_1M_1)^{-1}M_1^\top\hat GM_2
# (M_2^\top A_2^\top A_2M_2)^{-1}=M_1^{-1}(A_1^\top A_1)^{-1}\hat G(A_2^\top A_2)^{-1}M_2^{-\top}$: the step of $\hat X$,
# stretched.
# ```
#
# **Exercise 3.** What happens to {eq}`eq-opt-pre` if $A_1$ has fewer rows than columns?
#
# ```{admonition} Solution
# :class: dropdown
# $A_1^\top A_1$ is singular. Use its pseudoinverse: the scores do not see the missing directions anyway.
# ```
#
# Much of this page's time goes into the search for extreme curvature.

# %% tags=["hide-input"]
notebook.footer()
