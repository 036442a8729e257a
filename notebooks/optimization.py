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
# **Short answer.** Seen from the scores, every row of the problem is the same function:
# its second derivative along a unit direction lies between $-0.240$ and $0.308$, proved
# for two tokens and open for more, where no search finds it outside
# {judged}`P2.opt.range`. Within that range a step size from the norms of the data alone
# is safe. Gradient descent still slows down when the data are stretched; dividing the
# data out, by two $d\times d$ systems, removes that {judged}`P2.opt.preconditioned`, and
# Newton-CG with exact Hessian products needs fewer passes than gradient descent
# {judged}`P2.opt.newton` ({numref}`fig-opt-passes`).

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
context_length = 24  # tokens n
dim = 3  # dimension d
steps = 3000  # steps of gradient descent
n_values = [2, 4, 16, 64]  # tokens, in the search for extreme curvature
starts = 24  # starts of each search
draws = 10  # random problems in the check of the step size
conditions = [1.0, 1.5, 2.0, 2.5]  # condition numbers of the data matrices
seed = 0  # root of the random numbers

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import minimize

from icl.streams import stream
from icl.tensor_trick import gradient, hvp, loss, row_hvp, supremum_search, unvec, vec
from icl_book import notebook, plots
from icl_book.claims import exact, found, judge

notebook.setup(globals(), conditions=2, n_values=1)

# %% [markdown]
# ## What is printed
#
# Paper 2 states a minimization problem and analyses its smoothness; it does not solve it.
# The problem $\min_X\Vert D(X)^{-1}\exp(A_1XA_2^\top)-B\Vert_F^2$ is in the abstract of
# {cite:t}`gao2023tensor`. Papers of the line make it convex by a regularizer:
# {cite:t}`zhang2023h2o` (App. D.47) ask for $w_i^2\ge20+l/\sigma_{\min}(A)^2$ so that
# $\frac12\Vert f-b\Vert^2+\alpha+\frac12\Vert\mathrm{diag}(w)Ax\Vert^2$ has a Hessian of
# at least $lI$. Our sources say nothing about a step size. All cards but P2.opt.psd are
# this book's own.

# %% [markdown]
# ## In plain words
#
# Seen from the scores, every row of the problem is the same function, whatever the data. So its curvature has the same
# two limits everywhere (proved for two tokens, open for more). The upper one gives a safe step, the lower one says how
# far from convex the problem is. The data only stretch space.
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

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
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

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The normalized loss of two tokens, $p^2$ (left), and its second derivative (right) along the unit direction of the scores that separates them; $t$ is the difference of the two scores. Exact curves, no units. Marked: the extremes of the curvature.", "name": "fig-opt-two"}, "image": {"alt": "Left: an S-shaped curve from zero to one. Right: its second derivative, positive with a maximum of about three tenths left of zero, negative with a minimum of about minus one quarter near t equal to two, and zero far out on both sides."}}
t = np.linspace(-6, 8, 400)
p = 1 / (1 + np.exp(-t))
figure, axes = plt.subplots(1, 2, figsize=(6.6, 2.4))
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
# ## Do more tokens bend more?
#
# For $n$ tokens the row Hessian is an $n\times n$ matrix that depends on the scores and on $b$. It is affine in $b$, so
# its extreme eigenvalues are those at a corner of the simplex, $b=e_1$; we search them by ascent over scores and
# direction. $n$ tokens bend at least as much as two, because the scores of all others may be very low. Whether they can
# bend more is open: the search finds no more, and for $n>2$ we have only the cruder bounds of {prf:ref}`prop-opt-step`.
# If they cannot, the curvature of the whole problem follows: $\nabla^2L=\sum_j\mathsf A_j^\top H_j\mathsf A_j$, so it
# lies between {glue:text}`opt-concave:.4f` and {glue:text}`opt-smooth:.4f` times $\Vert A_1\Vert^2\Vert A_2\Vert^2$.
#
# **Exercise 1.** Why is the cross-entropy convex in the scores?
#
# ```{admonition} Solution
# :class: dropdown
# Its row Hessian is $\langle b,1\rangle(\mathrm{diag}f-ff^\top)$, a covariance, which is positive semidefinite.
# ```
#
# ```{prf:proposition} Step size
# :label: prop-opt-step
#
# If the eigenvalues of the row Hessians are at most $\lambda$, then $\nabla L$ is
# $\lambda\Vert A_1\Vert^2\Vert A_2\Vert^2$-Lipschitz, and gradient descent with
# $\eta=1/(\lambda\Vert A_1\Vert^2\Vert A_2\Vert^2)$ lowers the loss by at least
# $\frac\eta2\Vert\nabla L\Vert_F^2$ in each step. For every $n$ and every $b$ in the simplex they lie in
# $[-1,\frac54]$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
#
# In a direction $V$ the second derivative is $\sum_jt_j^\top H_jt_j\le\lambda\Vert A_1VA_2^\top\Vert_F^2\le
# \lambda\Vert A_1\Vert^2\Vert A_2\Vert^2\Vert V\Vert_F^2$ with $t_j$ the rows of $A_1VA_2^\top$. The rest is Taylor's formula.
# Along a unit direction of the scores the second derivative of $\frac12\Vert f-b\Vert^2$ is
# $\Vert\dot f\Vert^2+\langle f-b,\ddot f\rangle$ with $\Vert\dot f\Vert\le\frac12$,
# $\Vert f-b\Vert_\infty\le1$ and $\Vert\ddot f\Vert_1\le1$ ({prf:ref}`prop-lip-hessian`).
# ```

# %% tags=["hide-input"]
rng = stream(seed, "monte carlo")


def normal(*shape):
    return torch.from_numpy(rng.standard_normal(shape))


SIGNS, ENDS = [1.0, -1.0], np.array([SMOOTH, -CONCAVE])
WHICH = ["largest", "most negative"]


def extreme(kind, n, sign):
    """Search the largest curvature of a row, times the sign, with the target e_1."""
    target = torch.eye(n, dtype=torch.float64)[0]

    def curvature(s, w, b):
        return (row_hvp(s, w, b, kind) * w).sum(-1)

    search = supremum_search.search_loss(
        curvature, 1, n, 36.0, starts, 250, rng, sign, targets=lambda t: target
    )
    return 10 ** search.best.item()


bends = np.array([[extreme("normalized", n, sign) for sign in SIGNS] for n in n_values])
broken = np.array([extreme("cross_entropy", 4, sign) for sign in SIGNS])
N = np.array(n_values)[:, None]
# two tokens by hand, and rounding; for more the proposition
proved = np.where(N == 2, 1 + 1e-12, np.array([5 / 4, 1]) / ENDS)
convex = np.array([math.inf, 1e-12])
judge(
    "P2.opt.range",
    found("{which}, n = {n}", bends / ENDS, proved, which=WHICH, n=N),
    # its Hessian is a covariance, so none is negative
    found("cross-entropy, {which}, n = 4", broken / ENDS, convex, which=WHICH),
)

# %% [markdown]
# ## How much regularizer is needed
#
# The printed condition holds. Proof: along a unit direction of the scores the second derivative of
# $\frac12\Vert f-b\Vert^2$ is at least $-1$ ({prf:ref}`prop-opt-step`), and that of $\alpha$ is positive. So
# $w_i^2\ge1+l/\sigma_{\min}(A)^2$ is enough. For two tokens the worst data are easy to build: $p=p_+$, $A$ with
# orthogonal columns, of which one moves the scores apart. There, for the loss without $\alpha$, the constant
# {glue:text}`opt-needed:.4f` is exactly enough, against a printed 20.

# %% tags=["hide-input"]
notebook.glue("opt-needed", -CONCAVE)


def smallest(A, x, b, w2, sparse):
    """Compute the smallest eigenvalue of the Hessian in x.

    The loss is L_exp + |diag(w) A x|^2 / 2, plus L_sparse if ``sparse``.
    """
    s, eye = A @ x, torch.eye(len(A), dtype=A.dtype)
    H = row_hvp(s, eye, b, "normalized") + (torch.diag(s.exp()) if sparse else 0.0)
    return torch.linalg.eigvalsh(A.T @ (H + w2 * eye) @ A)[0].item()


def random_problem(low):
    """Draw A, x, b and the part l / sigma_min(A)^2 of the printed condition."""
    A, x, b = normal(8, 3), normal(3), normal(8)
    return A, 3 * x, b.softmax(-1), low / torch.linalg.svdvals(A)[-1].item() ** 2


lows, values = np.array([0.1, 1.0]), []
for low in lows:
    problems = [random_problem(low) for _ in range(200)]
    printed = min(smallest(A, x, b, 20 + w2, True) for A, x, b, w2 in problems)
    without = min(smallest(A, x, b, 0.0, True) for A, x, b, _ in problems)
    values.append([printed / low, without / low])
printed, without = np.array(values).T
judge(
    "P2.opt.psd",
    found("smallest of 200 problems, l = {low:g}", printed, 1.0, least=True, low=lows),
    found("without regularizer, l = {low:g}", without, least=True, low=lows),
)

# %% tags=["hide-input"]
rotation = torch.tensor([[1.0, 1.0], [-1.0, 1.0]], dtype=torch.float64) / math.sqrt(2)
x = torch.tensor(
    [math.log(P_HIGH / (1 - P_HIGH)) / math.sqrt(2), 0.0], dtype=torch.float64
)
b = torch.tensor([0.0, 1.0], dtype=torch.float64)
low = 1e-3
enough = smallest(rotation, x, b, -CONCAVE + low, False) / low
judge("P2.opt.psd-sharp", exact("two tokens at p+", enough), folded=True)

# %% [markdown]
# ## Descent at the sharp step size
#
# Random problems, targets that cannot be fitted, and starts from small to saturated. The loss rises in no step; that it
# cannot rests on the range of curvature.

# %% tags=["hide-input"]
n, d = context_length, dim


def safe_step(A1, A2):
    """Compute the sharp step size of every problem."""
    norms = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)
    return 1 / (SMOOTH * norms**2)


def descend(A1, A2, X, B, factor=1.0, count=steps):
    """Return the losses of gradient descent, (count + 1, problems)."""
    eta = factor * safe_step(A1, A2)[..., None, None]
    losses = [loss(A1, A2, X, B)]
    for _ in range(count):
        X = X - eta * gradient(A1, A2, X, B)
        losses.append(loss(A1, A2, X, B))
    return torch.stack(losses)


A1, A2, B = normal(draws, n, d), normal(draws, n, d), normal(draws, n, n).softmax(-1)
scales, rises = [0.1, 1.0, 5.0], []
for scale in scales:
    X = scale * normal(draws, d, d)
    for factor in (1.0, 1000.0):
        losses = descend(A1, A2, X, B, factor, min(steps, 300))
        rises.append((losses.diff(dim=0) / losses[0]).max().item())
name = "1000 times the step, start of size {s:g}"
judge(
    "P2.opt.descent",
    found("start of size {s:g}", rises[0::2], s=scales),
    found(name, rises[1:4:2], s=scales[:2]),  # saturated at 5: a flat loss
)

# %% [markdown]
# ### Where it ends
#
# A target $B=F(X^*)$ can be fitted exactly, a random one cannot.
# {numref}`fig-opt-descent` also shows a far start: saturated rows are nearly flat, and gradient descent waits on a plateau.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Gradient descent at the sharp step size on one problem: loss against the step. A target that can be fitted, from zero and from a far start, and a random target, from zero. Exact values, no unit.", "name": "fig-opt-descent"}, "image": {"alt": "Log-log plot of three falling curves. From zero with a target that can be fitted the loss falls by several powers of ten. From a far start it hardly moves. With the random target it is nearly constant."}}
a1, a2 = normal(n, d), normal(n, d)
X_true = normal(d, d) / 2
fit, random = torch.softmax(a1 @ X_true @ a2.mT, -1), normal(n, n).softmax(-1)
zero, far = torch.zeros(d, d, dtype=torch.float64), 4 * normal(d, d)
curves = {
    "can be fitted, from 0": (zero, fit),
    "can be fitted, far start": (far, fit),
    "random target, from 0": (zero, random),
}
X, B = (torch.stack(t) for t in zip(*curves.values(), strict=True))
losses = descend(a1.expand(3, n, d), a2.expand(3, n, d), X, B)
figure, ax = plt.subplots(figsize=(5.8, 3.0))
for label, values, color in zip(curves, losses.T, plots.PALETTE, strict=False):
    plots.exact_curve(ax, np.arange(1, steps + 2), values, label, color)
ax.set_xscale("log")
ax.set_yscale("log")
ax.set_xlabel("step")
ax.set_ylabel("loss")
ax.legend()
plt.show()

# %% [markdown]
# ## Undoing the data
#
# The data enter only through $S=A_1XA_2^\top$. In the coordinates
# $Y=(A_1^\top A_1)^{1/2}X(A_2^\top A_2)^{1/2}$ the scores are $Q_1YQ_2^\top$ with
# orthonormal columns, so the curvature in $Y$ is that of the rows, and the step
# $1/4g(p_-)$ is safe for all data, if the range found above holds for every $n$. Back
# in $X$ this is
#
# $$
# X\leftarrow X-\tfrac1{4g(p_-)}\,(A_1^\top A_1)^{-1}\,\nabla L\,(A_2^\top A_2)^{-1}.
# $$ (eq-opt-pre)
#
# (This is known as a Kronecker-factored preconditioner.) If the data are stretched, $A_i\to A_iM_i$, the iterates are
# stretched with them and the losses do not change: the number of steps cannot depend on the condition number. We
# stretch one problem, keep its scores, and count steps to a millionth of the first loss.
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

# %% tags=["hide-input"]
GOAL, CAP = 1e-6, 1_000_000


def steps_needed(A1, A2, B, preconditioned):
    """Count the steps of each problem to the goal, looking at every tenth."""
    X = A1.new_zeros(len(A1), d, d)
    if preconditioned:
        left, right = torch.linalg.inv(A1.mT @ A1), torch.linalg.inv(A2.mT @ A2)
        left = left / SMOOTH
    else:
        left, right = safe_step(A1, A2)[:, None, None] * torch.eye(d), None
    goal = GOAL * loss(A1, A2, X, B)
    needed = np.full(len(A1), CAP)
    for k in range(CAP):
        if k % 10 == 0:
            reached = (loss(A1, A2, X, B) <= goal).numpy()
            needed[reached] = np.minimum(needed[reached], k)
            if reached.all():
                break
        step = left @ gradient(A1, A2, X, B)
        X = X - (step @ right if preconditioned else step)
    return needed


Q1, Q2 = (math.sqrt(n) * torch.linalg.qr(normal(n, d)).Q for _ in range(2))
S_true = Q1 @ X_true @ Q2.T / 2  # the same scores, so the same target, for every one
powers = torch.linspace(0, 1, d, dtype=torch.float64)
stretch = torch.diag_embed(torch.tensor(conditions).double()[:, None] ** -powers)
problems = Q1 @ stretch, Q2 @ stretch, S_true.softmax(-1).expand(len(stretch), n, n)
plain, preconditioned = (steps_needed(*problems, how) for how in (False, True))


# %% tags=["hide-input"]
def exponent(values):
    return np.polyfit(np.log(conditions), np.log(values), 1)[0]


span = f"condition numbers {min(conditions):g} to {max(conditions):g}"
judge(
    "P2.opt.preconditioned",
    exact(span, exponent(preconditioned)),
    exact("without preconditioner", exponent(plain)),
)

# %% [markdown]
# ## Second order
#
# The Hessian product costs about as much as two gradients, so a Newton method need not form the $d^2\times d^2$
# Hessian. We hand gradient and product to SciPy's trust-region Newton-CG, which copes with negative curvature, and
# count every gradient and every product as one pass over the data.


# %% tags=["hide-input"]
def newton(A1, A2, B):
    """Minimize by trust-region Newton-CG.

    Returns:
        Passes (gradients and Hessian products) to the goal.
    """
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

    options = {"gtol": 1e-9, "maxiter": 500}
    options |= {"initial_trust_radius": 1.0, "max_trust_radius": 1e3}
    x0 = np.zeros(d1 * d2)
    minimize(value, x0, jac=slope, hessp=product, method="trust-ncg", options=options)
    return next((k for k, v in trace if v <= GOAL * trace[0][1]), CAP)


newton_cg = np.array([newton(*problem) for problem in zip(*problems, strict=True)])
# gradient descent was looked at every tenth step, so it may have needed nine fewer
judge(
    "P2.opt.newton",
    exact("condition number {c:g}", newton_cg, c=conditions, descent=plain - 9),
    folded=True,
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Passes over the data to a millionth of the first loss, against the condition number of both data matrices: gradient descent at the sharp step size, with the preconditioner, and trust-region Newton-CG. One problem stretched differently; exact counts (gradient descent is looked at every tenth step).", "name": "fig-opt-passes"}, "image": {"alt": "Plot with a logarithmic vertical axis and three series. Plain gradient descent rises steeply with the condition number, from between one and two thousand passes to tens of thousands. The preconditioned one is a horizontal line where that starts. Newton-CG lies far below both, at a few tens."}}
figure, ax = plt.subplots(figsize=(5.8, 3.0))
for values, color, marker, label in (
    (plain, plots.PALETTE[0], "o", "gradient descent"),
    (preconditioned, plots.PALETTE[1], "s", "preconditioned"),
    (newton_cg, plots.PALETTE[2], "D", "Newton-CG"),
):
    ax.plot(conditions, values, "-", marker=marker, color=color, label=label)
ax.set_xticks(conditions)
ax.set_yscale("log")
ax.set_xlabel("condition number of $A_1$ and $A_2$")
ax.set_ylabel("passes over the data")
ax.legend()
plt.show()

# %% [markdown]
# ## What to remember
#
# *What is the Lipschitz analysis good for?* (Open question 1 of the summary.) The range of the row's curvature gives a
# step size, and, with the data divided out, one that is the same for every problem; beyond two tokens the range is
# open. *What limits it?* (Open question 2.) The loss is not convex, and saturated rows are flat.

# %% tags=["remove-input"]
notebook.footer()
