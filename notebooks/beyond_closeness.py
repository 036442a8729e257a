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
# # What close means
#
# **Short answer.** *Projection, then a nonlinear link:* the authors are right, trained
# units end near the optimal window of the projected problem. *A nonlinear layer first:*
# one softmax layer fails badly, and works at once when it is given the hidden layer's
# output. *No close example:* one softmax unit soon predicts worse than the mean of $f$
# would, while the best predictor linear in the labels explains most of an affine
# function ({numref}`fig-far`): what helps is structure that is shared between tasks.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [3]  # dimension d of the covariates, hidden layers and far queries (the first)
lipschitz = 3.0  # Lipschitz constant L
noise_std = 0.3  # standard deviation sigma of the label noise
context_length = 20  # tokens n in a context
contexts = 2000  # token sets, half to choose windows and half to test them
seeds = 10  # pretrained units of each setting
steps = 2000  # optimizer steps
batch_size = 64  # fresh contexts at each step
batch_sizes = [32, 128, 512]  # the same behind a projection; the last is judged
learning_rate = 0.2  # Adam's initial step size, falling linearly to zero
dim = 5  # dimension of the tokens of projected problems ...
rank = 3  # ... and dimension k of the subspace that matters
similarities = [1.0, 0.75, 0.5, 0.25, 0.0, -0.25]  # largest allowed x_i . x_q

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import torch

from icl.covariates import LowRank, Sphere, restrict_to_cap, uniform_sphere
from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import evaluation_error
from icl.risk import optimal_window
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import Affine, Projected, QuadraticRisk, ReLU, Tanh
from icl_book import notebook, plots
from icl_book.claims import judge, sampled

notebook.setup(globals())

d, n = dims[0], context_length
OPTIONS = {"device": notebook.device(), "stream": "native", "dtype": "float32"}

# %% tags=["hide-input"]
uniform = uniform_sphere(stream(0, "monte carlo"), contexts, n + 1, d)
places = stream(1, "monte carlo").uniform(0, 1, (contexts, n))
grid, half = np.geomspace(0.1, 60, 28), contexts // 2
FAR = {"affine": Affine(d, lipschitz), "ReLU": ReLU(d, lipschitz)}
METHODS = ("softmax", "softmax with gain", "nearest", "linear attention", "kriging")


def compare(task, x):
    """Return the risk of each method and token set, and the best window and gain.

    Risks are divided by the variance of f, (methods, token sets).
    """
    form = QuadraticRisk.of(task, x, noise_std)
    t = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1])
    omega = torch.stack(
        [*(torch.softmax(w * t, -1) for w in grid), t / n]
    )  # the last: linear attention
    gain, square = form.gain(omega), form.product(omega, omega)
    g, q = gain[:, :half].mean(1), square[:, :half].mean(1)
    c, plain = g / q, int((q - 2 * g)[:-1].argmin())
    free = int((g**2 / q)[:-1].argmax())

    def risk(index, factor):
        return form.prior - 2 * factor * gain[index] + factor**2 * square[index]

    nearest = torch.nn.functional.one_hot(t.argmax(-1), n).double()
    risks = (
        risk(plain, 1.0),
        risk(free, c[free]),
        form.risk(nearest),
        risk(-1, c[-1]),
        form.risk(form.kriging()),
    )
    variance = sum(np.append(*task.spectrum(200)))
    tested = np.stack([values[half:] for values in risks])
    return tested / variance, grid[plain], float(c[free])


tokens = [restrict_to_cap(uniform, limit, places) for limit in similarities]
found = {name: [compare(task, x) for x in tokens] for name, task in FAR.items()}
far = {name: np.array([risks for risks, *_ in row]) for name, row in found.items()}

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Risk in units of the variance of $f$ over the sphere against the largest allowed similarity $\\tau$ between query and context (left in each panel: only far examples; right: the usual case). Points: means over token sets with intervals, labels integrated out, shifted sideways a little where they would hide each other. One, dotted: as bad as knowing only the mean of $f$. Logarithmic vertical axis.", "name": "fig-far"}, "image": {"alt": "Two panels, affine and ReLU class. As the context moves away from the query, the risks of softmax with and without gain and of the nearest label rise steeply to one and above. Kriging rises too, but stays well below one for the affine class at all distances; for the ReLU class it passes one. Linear attention is above one everywhere."}}
figure, axes = plt.subplots(1, 2, figsize=(7.8, 3.7), sharey=True)
shifts = (-0.02, 0.02, 0, 0, 0)
for ax, (name, risks) in zip(axes, far.items(), strict=True):
    marks = zip(METHODS, plots.PALETTE, "os^Dv", shifts, strict=False)
    for i, (method, color, marker, shift) in enumerate(marks):
        mean, *ends = t_interval(risks[:, i])
        plots.sampled_points(
            ax,
            np.array(similarities) + shift,
            mean,
            *np.clip(ends, 1e-4, None),
            method,
            color,
            marker,
        )
    ax.axhline(1, linestyle=":", color=plots.COLORS["guide"])
    ax.set(yscale="log", xlabel=r"largest similarity $\tau$", title=f"{name} class")
axes[0].set_ylabel("risk / variance of f")
figure.legend(
    *axes[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=len(METHODS),
    fontsize=9,
)
plt.show()

# %% [markdown]
# ## The questions
#
#
# **A review:** the analysis is a nearest-neighbor interpretation, "but in real-world
# applications, LLMs often perform well even when there are no 'close' examples in the
# context. [...] How can it be generally applied when there is no neighbor data?" And:
# "How do you think your analysis might extend to more complex, hierarchical function
# classes?" The authors answer that earlier layers can learn the notion of closeness,
# and that with nonlinear links after a shared projection the attention weights "again
# learn the projection and implement a nearest neighbors regressor in the range of the
# projection with appropriate neighborhood size"; "More complex hierarchies likely
# require additional layers to learn".
#
# ## A projection, then a nonlinear link
#
# Tokens $x=Bu+B_\perp v$ in five dimensions with $u\sim U(S^{k-1})$, $k=3$, and $f(x)=g(B^\top x)$ with $g$ from a nonlinear class on the sphere of dimension $k$.
# If $M=wBB^\top$, scores are $w\,u_i\cdot u_q$: *exactly* the problem in $k$ dimensions without the irrelevant part. So "appropriate neighborhood size"
# has a number, the exact optimal window of $g$'s class in $k$ dimensions. Units with a full $M$ start at random. Small batches bias where
# Adam settles (as with [low rank](theorem4_low_rank)), so the units are trained with several batch sizes, and the largest is judged; this
# was decided after batches of 64 alone had left the window somewhat wide. What it means for the risk is in [](theorem4_low_rank).

# %% tags=["hide-input"]
basis = np.eye(dim)[:, :rank]
LINKS = {
    "ReLU, L": ReLU(rank, lipschitz),
    "ReLU, 2L": ReLU(rank, 2 * lipschitz),
    "tanh, steepness 3": Tanh(rank, 2 * lipschitz, 3.0),
}
exact_window = np.array(
    [float(optimal_window(g, n, noise_std).w) for g in LINKS.values()]
)
members = [
    UnitConfig(
        Projected(g, basis.T),
        noise_std,
        n,
        seed,
        covariates=LowRank(basis),
        initial_std=0.3,
    )
    for g in LINKS.values()
    for seed in range(seeds)
]


def train(size):
    """Return M of units trained with that batch size, (links, seeds, dim, dim)."""
    trained = pretrain(
        members, steps, size, learning_rate, shared_tokens=True, **OPTIONS
    )
    return trained.M.reshape(len(LINKS), seeds, dim, dim)


matrices = np.array([train(size) for size in batch_sizes])
blocks = matrices[..., :rank, :rank]
diagonal = np.trace(blocks, axis1=-2, axis2=-1) / rank
ratios = diagonal / exact_window[:, None]  # (batch sizes, links, seeds)
whole, block = (np.linalg.norm(M[-1], axis=(2, 3)) for M in (matrices, blocks))
outside = np.sqrt((whole**2 - block**2).clip(0)) / whole
ratio, *ends = t_interval(ratios.swapaxes(0, 1))
rows = [
    [
        name,
        f"{exact_window[i]:.2f}",
        *(
            f"{ratio[i, j]:.3f} {plots.interval((ends[0][i, j], ends[1][i, j]), '.3f')}"
            for j in range(len(batch_sizes))
        ),
        f"{outside[i].mean():.3f}",
    ]
    for i, name in enumerate(LINKS)
]
plots.table(
    [
        "link",
        "exact $w^*$",
        *(f"over it, batch {size}" for size in batch_sizes),
        "share of $M$ outside its block",
    ],
    rows,
    f"Mean diagonal of $B^\\top MB$ over the exact window, means over {seeds} seeds "
    f"and intervals; n = {n}. Share, with the last batch size: Frobenius norm of $M$ "
    "without the block $B^\\top MB$, over that of $M$",
)

# %% tags=["hide-input"]
judge(
    "P1.rebuttal.links",
    [
        sampled("{link}: window", ratios[-1], link=list(LINKS), what="window"),
        sampled("{link}: outside $B$", outside, link=list(LINKS), what="outside"),
    ],
)

# %% [markdown]
# The larger the batch, the closer the trained means come to the exact number; the intervals need not contain one.
#
# ## A nonlinear layer first
#
# Now the shared hidden layer is nonlinear: $f(x)=g(|x|)$ with the absolute value entry by entry, and $g$ of the affine class. Tokens that are
# far apart can have the same hidden value: all $2^d$ sign patterns. No $M$ makes $x^\top Mx_q$ a distance between $|x|$ and $|x_q|$. We train units on $x$,
# and units that are given $|x|$, as if an earlier layer had computed it.
#
# **Exercise 1.** On the circle ($d=2$) with $f(x)=g(|x|)$: how many tokens share the
# hidden value of a given token?
#
# ```{admonition} Solution
# :class: dropdown
# Four (for points off the axes), one in each quadrant.
# ```


# %% tags=["hide-input"]
@dataclass(frozen=True)
class Folded:
    """``f(x) = g(|x|)``, entry by entry, with g of the affine class."""

    dim: int
    lipschitz: float

    def sample(self, rng, count):
        g = Affine(self.dim, self.lipschitz).sample(rng, count)
        return lambda x: g(x.abs())


@dataclass(frozen=True)
class Absolute:
    """Uniform tokens with all entries made positive."""

    dim: int

    def from_normal(self, normal):
        return Sphere(self.dim).from_normal(normal).abs()


kinds = {
    "unit on $x$": (Folded(d, 2 * lipschitz), None),
    "unit on $|x|$": (Affine(d, 2 * lipschitz), Absolute(d)),
}
folded, rows = [], []
for name, (task, tokens) in kinds.items():
    test = task, noise_std, n, 4000
    group = [
        UnitConfig(task, noise_std, n, seed, covariates=tokens, initial_std=0.3)
        for seed in range(seeds)
    ]
    trained = pretrain(group, steps, batch_size, learning_rate, **OPTIONS)
    errors = evaluation_error(trained, *test, covariates=tokens, seed=None)[-1]
    # the mean of the context's labels, M = 0, on the test contexts of one unit
    flat = UnitConfig(task, noise_std, n, 0, covariates=tokens)
    flat = pretrain([flat], 1, 1, 1e-12, notebook.device())
    level = evaluation_error(flat, *test, covariates=tokens)[-1, 0]
    mean, *ends = t_interval(errors)
    folded.append(errors)
    rows.append([name, f"{mean:.3f}", plots.interval(ends, ".3f"), f"{level:.3f}"])
plots.table(
    ["trained", "test error", "its interval", "mean of all labels, $M=0$"],
    rows,
    f"Error against the clean label, mean over {seeds} seeds; d = {d}, n = {n}, "
    f"L = {2 * lipschitz:g}",
)

# %% tags=["hide-input"]
judge(
    "P1.rebuttal.hierarchies",
    sampled(f"absolute values first, d = {d}, n = {n}", folded[0] / folded[1]),
)

# %% [markdown]
# Whether a trained stack of layers with MLPs finds $|x|$ by itself is *not answered* here.
#
# ## Queries without close examples
#
# Keep all context tokens away from the query: $x_i\cdot x_q\le\tau$, otherwise uniform. $\tau=1$ is the usual case; at $\tau=0$ no token lies in the query's
# hemisphere. All predictors below are linear in the labels, so labels are integrated out; windows and gains are chosen on one half of the token sets and tested on the other.
#
# - **softmax**, best $w$; **softmax with gain**, best $w$ and $c$;
# - **nearest** token's label;
# - **linear attention**, best gain;
# - **kriging**, the best predictor that is linear in the labels ({term}`kriging`): it
#   knows the class covariance, that is, the structure that tasks share.
#
# **Exercise 2.** Show that one softmax unit cannot predict $f(x)=x_1$ at $x_q=e_1$ if
# all $x_{i,1}\le\tau$: what is its best possible answer?
#
# ```{admonition} Solution
# :class: dropdown
# Without noise at most $\tau$, the largest label, so the squared error is at least
# $(1-\tau)^2$.
# ```


# %% tags=["hide-input"]
means = {name: risks.mean(-1) for name, risks in far.items()}
rows = [
    [
        f"{name}, τ = {limit:g}",
        *(f"{mean:.3f}" for mean in means[name][i]),
        f"{found[name][i][1]:.1f}",
        f"{found[name][i][2]:.2f}",
    ]
    for name in FAR
    for i, limit in enumerate(similarities)
]
hemisphere = int(np.abs(similarities).argmin())
notebook.glue("far", f"{similarities[hemisphere]:g}")
notebook.glue("softmax_far", means["affine"][hemisphere][METHODS.index("softmax")])
notebook.glue("kriging_far", means["affine"][hemisphere][METHODS.index("kriging")])
notebook.glue("kriging_relu", means["ReLU"][hemisphere][METHODS.index("kriging")])
plots.table(
    ["class, similarity", *METHODS, "$w$ of softmax", "gain"],
    rows,
    rf"Risk over the variance of $f$, at the largest allowed similarity τ; d = {d}, "
    rf"n = {n}, L = {lipschitz:g}, $\sigma$ = {noise_std:g}",
)

# %% [markdown]
# With examples no closer than $\tau=$ {glue:text}`far` the risk of softmax on affine functions is {glue:text}`softmax_far:.2f` of their variance,
# worse than knowing only the mean; that of kriging is {glue:text}`kriging_far:.2f`. Softmax weights are positive and sum to one, so a prediction
# is a *mean* of labels, and a mean cannot extrapolate. A free gain does not repair it, since it scales the constant along. For the ReLU class
# kriging fails as well ({glue:text}`kriging_relu:.2f`): the other side of the kink is not in the context.
#
# So the reviewer's observation about language models does not contradict the theory: it is outside of it.
#
# ## Limits
#
# One hidden layer of one kind ($|x|$), given and not learned. Deeper hierarchies, and anything about large language models, are *not answered*. Kriging is a
# floor for predictors that are linear in the labels; a nonlinear one (least squares on the right features of a ReLU function) could do better.

# %% tags=["remove-input"]
notebook.footer()
