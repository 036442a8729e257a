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
# # Pretraining whole sweeps
#
# **Short answer.** Units trained by plain gradient descent follow the exact population
# flow of the window parameter, with nothing fitted ({numref}`fig-flow`). Trained with
# Adam they end at the exact optimal window, up to the training time. One call trains a
# whole sweep, many times faster than one unit after the other by hand.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [3]  # dimension d of the covariates; a figure row for each
lipschitz_values = [1.0, 2.0, 4.0]  # Lipschitz constants L
noise_std = 0.3  # standard deviation sigma of the label noise
context_length = 10  # tokens n in a context
seeds = 12  # units of each setting
steps = 240  # optimizer steps
batch_size = 128  # fresh contexts at each step
learning_rate = 0.2  # Adam's initial step size, falling linearly to zero
flow_rate = 0.25  # size of the plain steps on the flow, small enough to be close to it
starts = 3  # units that start from a random matrix

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import json
import time
from dataclasses import asdict

import matplotlib.pyplot as plt
import numpy as np
import torch

from icl.adam import minimize
from icl.pretrain import UnitConfig, draw_contexts, pretrain
from icl.pretrain.metrics import evaluation_error, spectral_norm
from icl.risk import matrix_risk, optimal_window, population_flow, population_risk
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import Affine, Cosine, ReLU
from icl_book import notebook, plots

notebook.setup(globals())

CLASSES = {"affine": Affine, "ReLU": ReLU}

# %% tags=["hide-input"]
record = tuple(np.unique(np.linspace(0, steps, 13).round().astype(int)).tolist())
L_flow, flows = lipschitz_values[len(lipschitz_values) // 2], {}
for k in dims:
    for name, task in CLASSES.items():
        members = [
            UnitConfig(task(k, L_flow), noise_std, context_length, seed)
            for seed in range(seeds)
        ]
        for integrated in (False, True):
            unit = pretrain(
                members,
                steps,
                batch_size,
                flow_rate,
                notebook.device(),
                optimizer="sgd",
                schedule="constant",
                integrate_labels=integrated,
                record=record,
            )
            diagonals = np.diagonal(unit.M_history, axis1=-2, axis2=-1)
            flows[k, name, integrated] = diagonals.sum(-1) / k
clock = flow_rate * unit.settings.elapsed

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Window parameter $w$ (mean diagonal of $M$) against gradient-flow time (number of steps times their size), for plain gradient descent on the affine and the ReLU class. Curve: the exact population flow. Points: mean over pretrained units with interval, labels sampled (circles) or integrated out (squares, shifted to the right for legibility). One row for each dimension; all quantities are dimensionless.", "name": "fig-flow"}, "image": {"alt": "Panels with a smooth rising curve each. Circles and squares with error bars lie on the curve; the bars of the squares are shorter."}}
figure, axes = plt.subplots(len(dims), 2, figsize=(7.6, 3.4 * len(dims)), squeeze=False)
fine = np.linspace(0, clock[-1], 60)
misses = {}
for row, k in zip(axes, dims, strict=True):
    for ax, (name, task) in zip(row, CLASSES.items(), strict=True):
        color, setting = plots.COLORS[name.lower()], (context_length, noise_std)
        curve = population_flow(task(k, L_flow), *setting, fine)
        plots.exact_curve(ax, fine, curve, "population flow", color)
        at = population_flow(task(k, L_flow), *setting, clock[1:])
        for integrated, label, marker in (
            (False, "labels sampled", "o"),
            (True, "labels integrated out", "s"),
        ):
            w = flows[k, name, integrated][1:]
            mean, low, high = t_interval(w)
            later = clock[1:] + integrated * clock[-1] / 60
            plots.sampled_points(ax, later, mean, low, high, label, color, marker)
            misses[f"{name}, d = {k}, {label}"] = (
                np.abs(mean / at - 1).max(),
                (w.std(1, ddof=1) / at).max(),
                ((low <= at) & (at <= high)).mean(),
            )
        ax.set(xlabel="time", ylabel="w", title=f"{name}, d = {k}, L = {L_flow:g}")
axes[0, 0].legend(fontsize=9)
plt.show()

# %% [markdown]
# ## What is trained
#
# The figures of paper 1 are sweeps over Lipschitz constants, noise levels, classes, token laws and seeds. Each of their units has
# one $d\times d$ matrix $M$. From a context of labeled tokens $(x_i, y_i)$ and a query $x_q$ it predicts
#
# $$\hat f(x_q) = \sum_i \omega_i\,y_i,\qquad \omega_i = \frac{e^{x_i^\top M x_q}}{\sum_j e^{x_j^\top M x_q}}.$$
#
# Pretraining draws a fresh function $f$ and a fresh context for every row of every batch and follows the gradient of
# the mean of $(\hat f(x_q) - y_q)^2$. The label $y_q = f(x_q)+\epsilon$ of the query is noisy here and clean in the
# population risk; the two losses differ by the constant $\sigma^2$ and have the same minimizer.
#
# **Declared choices.** No source prints an optimizer, a step size, a batch size, a number of steps, a start or the law
# of the noise. We use Adam with a step size that falls linearly to zero, fresh contexts at every step, $M=0$ at
# the start (equal weights: the unit knows nothing), and Gaussian noise.
#
# **The gradient.** With $p=\hat f(x_q)$, differentiating the softmax gives for one context
#
# $$\frac{\partial}{\partial M}\,(p-y_q)^2 = 2\,(p-y_q)\sum_i \omega_i\,(y_i-p)\;x_i\,x_q^\top .$$ (eq-gradient)
#
# *By hand.* At $M=0$ with two tokens, $\omega_1=\omega_2=\frac12$. Let $y_1=1$, $y_2=0$ and $y_q=1$. Then
# $p=\frac12$ and the gradient is $-\left[\frac14x_1-\frac14x_2\right]x_q^\top$: the step raises the score of token 1,
# whose label was right, and lowers that of token 2.

# %% [markdown]
# ## One unit by hand
#
# Twenty lines of PyTorch; `minimize` is its Adam with the falling step size. The random numbers come from streams
# that are pure functions of (seed, name, step), so that step 100 can be drawn without drawing the 99 before it.

# %%
d, L = dims[0], lipschitz_values[-1]
task = ReLU(d, L)


def by_hand(seed):
    """Train one unit with autograd; return its matrix."""

    def loss(step, M):
        x, _, y = draw_contexts(
            task,
            noise_std,
            context_length,
            batch_size,
            lambda name: stream(seed, name, step),
        )
        scores = torch.einsum("bnd,de,be->bn", x[:, :-1], M, x[:, -1])
        prediction = (torch.softmax(scores, -1) * y[:, :-1]).sum(-1)
        return ((prediction - y[:, -1]) ** 2).mean()

    (M,), _ = minimize(loss, [torch.zeros(d, d).double()], steps, learning_rate)
    return M.numpy()


threads = torch.get_num_threads()
torch.set_num_threads(1)  # operations as small as these lose by being split
begin = time.perf_counter()
M = by_hand(seed=0)
seconds_by_hand = time.perf_counter() - begin
torch.set_num_threads(threads)
print(M.round(2))
exact_w = optimal_window(task, context_length, noise_std).w
print(
    f"mean of the diagonal {np.trace(M) / d:.2f}, exact optimal window {exact_w:.2f}, "
    f"{seconds_by_hand:.1f} s"
)

# %% [markdown]
# ## The sweep in one call
#
# Two classes, all Lipschitz constants, all seeds. `shared_tokens=True` is asked for: units with the same seed then see
# the same tokens and noise, whatever their $L$, so that differences between settings are less random (common random
# numbers); intervals are over seeds, which are independent. The parameters at chosen steps are kept.

# %% tags=["hide-input"]
settings = [task(d, L) for task in CLASSES.values() for L in lipschitz_values]
sweep = [
    UnitConfig(task, noise_std, context_length, seed)
    for task in settings
    for seed in range(seeds)
]
trained = pretrain(
    sweep,
    steps,
    batch_size,
    learning_rate,
    notebook.device(),
    shared_tokens=True,
    record=record,
)
same = sweep.index(UnitConfig(task, noise_std, context_length, 0))
difference = np.abs(trained.M[same] - M).max()
notebook.glue("units", len(sweep))
notebook.glue("contexts", f"{trained.contexts:,}")
notebook.glue("difference", f"{difference:.0e}")
notebook.glue("ratio", seconds_by_hand * len(sweep) / trained.seconds)

# %% [markdown]
# {glue:text}`units` units on {glue:text}`contexts` contexts each. The unit trained by hand is one of them; their matrices
# differ by at most {glue:text}`difference`, rounding. In the time that training all units one after the other by hand would
# have taken, this call could have run {glue:text}`ratio:.0f` times.
#
# **A unit is alone.** Its numbers do not depend on its company. There are two kinds of streams, and every result records which it used: the *portable* one
# of this page, in double precision, gives the same numbers on every device; the *native* one, in single precision, is
# the device's own and faster.

# %%
last = len(sweep) - 1
alone = pretrain([sweep[last]], steps, batch_size, learning_rate, notebook.device())
notebook.glue("company", f"{np.abs(alone.M[0] - trained.M[last]).max():.0e}")
plots.table(
    ("setting", "value"),
    [(name, str(value)) for name, value in asdict(trained.settings).items()],
    "What the result says about itself",
)

# %% [markdown]
# One unit of the sweep, trained alone and in company: the matrices differ by {glue:text}`company`. Above, what the result says
# about itself.
#
# **Exercise 1.** Call `pretrain` with the units of the sweep in another order. Why do
# the matrices stay the same?
#
# ```{admonition} Solution
# :class: dropdown
# The random numbers of a step are a function of (seed, name, step), not of the units
# that are trained before or beside it, and Adam works entry by entry.
# ```

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Spectral norm of $M$ (left) and mean squared error on the class itself with the clean query label (right) against the optimizer step. One color for each Lipschitz constant of the ReLU class; lines are means over seeds. Dotted: the exact optimal window and its exact risk. The test set is the same 1,000 contexts at all times, so each error curve is shifted as a whole by their luck. All quantities are dimensionless.", "name": "fig-history"}, "image": {"alt": "Two panels with one curve for each Lipschitz constant. Left: the norm of M starts at zero and rises, further and faster for larger Lipschitz constants, and ends at dotted horizontal lines. Right: the test error falls from its value at zero to dotted horizontal lines."}}
shape = len(record), len(settings), seeds  # units of one setting follow each other
norms = spectral_norm(trained.M_history).reshape(shape)
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.4))
for L, color in zip(lipschitz_values, plots.ramp(len(lipschitz_values)), strict=True):
    task = ReLU(d, L)
    errors = evaluation_error(trained, task, noise_std, context_length, 1000)[:-1]
    mine = settings.index(task)
    norm, error = norms[:, mine].mean(-1), errors.reshape(shape)[:, mine].mean(-1)
    axes[0].plot(record, norm, color=color, label=f"L = {L:g}")
    axes[1].plot(record, error, color=color)
    best = optimal_window(task, context_length, noise_std)
    for ax, level in zip(axes, (best.w, best.risk), strict=True):
        ax.axhline(level, color=color, linestyle=":", linewidth=1)
axes[0].set(xlabel="step", ylabel=r"$\|M\|_2$")
axes[1].set(xlabel="step", ylabel="test error", yscale="log")
axes[0].legend()
plt.show()

# %% [markdown]
# The norm ends a little above the dotted line: the largest singular value of a matrix that fluctuates around $w^*I$
# exceeds $w^*$. The mean of the diagonal does not have this bias:

# %% tags=["hide-input"]
rows = []
labels = [f"{name}, L = {L:g}" for name in CLASSES for L in lipschitz_values]
for label, task, w in zip(
    labels, settings, trained.windows.reshape(-1, seeds), strict=True
):
    mean, *ends = t_interval(w)
    exact_w = optimal_window(task, context_length, noise_std).w
    interval = plots.interval(ends, ".3f")
    rows.append((label, f"{mean:.3f}", interval, f"{exact_w:.3f}"))
for name, task in CLASSES.items():
    highest = task(d, lipschitz_values[-1])
    w = optimal_window(highest, context_length, noise_std).w
    notebook.glue(f"highest-{name}", float(w))
plots.table(
    ("class", "trained, mean over seeds", "interval", "exact $w^*$"),
    rows,
    "Mean diagonal of $M$ after training",
)

# %% [markdown]
# The exact windows of two classes can agree in all printed digits by coincidence: for
# the largest $L$ they are {glue:text}`highest-affine:.5f` (affine) and
# {glue:text}`highest-ReLU:.5f` (ReLU).
#
# Where an interval misses the exact value, the optimizer has not arrived: a few hundred steps are few for the largest
# windows, which are furthest from the start. The last table of the section on speed shows how many contexts it takes
# to come within one percent.
#
# ## Trained units on the population flow
#
# Infinitely many contexts and infinitely small steps give a curve that can be computed. At $M=wI$ the gradient of the
# population risk is $\frac{1}{d}L'(w)\,I$, by symmetry, so plain gradient descent from $M=0$ follows
#
# $$\dot w = -\tfrac1d\,L'(w),\qquad w(0)=0 .$$
#
# Plain steps of a constant size $\eta$ are steps of time $\eta$. With the labels integrated out
# (`integrate_labels=True`), a unit is trained on the mean of its loss over functions and noise, given the
# tokens ({term}`Rao-Blackwell`); it follows the same flow with less randomness, so much less that the
# finite size of the steps, which the flow does not have, can show.
#
# **Exercise 2.** The flow uses $\dot w=-L'(w)/d$. Where does the $1/d$ come from?
#
# ```{admonition} Solution
# :class: dropdown
# $\frac{d}{dw}L(wI)=\langle\nabla L, I\rangle$ is the trace of the gradient, and by
# symmetry the gradient is a multiple $g$ of $I$: $gd=L'(w)$.
# ```

# %% tags=["hide-input"]
plots.table(
    (
        "units",
        "largest distance of the mean",
        "spread of one unit",
        "flow inside the interval",
    ),
    [
        (label, f"{miss:.1%}", f"{width:.1%}", f"at {inside:.0%} of the recorded times")
        for label, (miss, width, inside) in misses.items()
    ],
    "Distances relative to the exact flow, the largest over the recorded times.",
)

# %% [markdown]
# **Control.** The same units against the flow of a slightly wrong problem (twice the noise) must miss it:

# %%
rows = []
for k in dims:
    task = Affine(k, L_flow)
    wrong = population_flow(task, context_length, 2 * noise_std, clock[1:])
    _, low, high = t_interval(flows[k, "affine", True][1:])
    share = ((low <= wrong) & (wrong <= high)).mean()
    inside = f"at {share:.0%} of the recorded times"
    rows.append((f"affine, d = {k}, twice the noise", inside))
plots.table(
    ("flow of", "inside the interval"), rows, "The control: units against a wrong flow"
)

# %% [markdown]
# ## From any matrix
#
# Started from a random matrix, a unit moves in all $d^2$ entries. `matrix_risk` gives the exact gradient at any matrix
# (for tokens on the sphere; see [](/notebooks/theorem2_scaling.ipynb)), so the whole path can be computed: the flow as a
# differential equation, and Adam's path by giving Adam the exact gradient in place of a batch's. The units below, one
# for each random start, have their labels integrated out.


# %% tags=["hide-input"]
def exact_adam(unit, sigma):
    """Return Adam's matrices at the recorded steps if every gradient is exact."""
    path = []

    def loss(step, M):
        path.append(M.detach().numpy().copy())
        risk = matrix_risk(unit.task, path[-1], context_length, sigma)
        return (M * torch.from_numpy(risk.gradient)).sum()  # has this gradient in M

    start = torch.from_numpy(unit.initial()).reshape(k, k)
    (last,), _ = minimize(loss, [start], steps, learning_rate)
    return np.array([*path, last.numpy()])[list(record)]


def exact_flow(unit, sigma):
    """Return the flow's matrices at the recorded times."""
    start = unit.initial().reshape(k, k)
    return population_flow(unit.task, context_length, sigma, clock, start)


k = min(dims)
anywhere = [
    UnitConfig(Affine(k, L_flow), noise_std, context_length, seed, initial_std=1.0)
    for seed in range(starts)
]
METHODS = {
    "plain steps": (
        flow_rate,
        exact_flow,
        {"optimizer": "sgd", "schedule": "constant"},
    ),
    "Adam": (learning_rate, exact_adam, {}),
}
paths = {}
for method, (rate, exact_path, options) in METHODS.items():
    unit = pretrain(
        anywhere,
        steps,
        batch_size,
        rate,
        notebook.device(),
        integrate_labels=True,
        record=record,
        **options,
    )
    path = np.stack([exact_path(one, noise_std) for one in anywhere], axis=1)
    wrong = exact_path(anywhere[0], 2 * noise_std)[:, None]
    paths[method] = np.asarray(unit.M_history), path, wrong

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The entries of $M$ against the step, from one random matrix, for plain gradient steps and for Adam. Curves: the exact flow, and Adam with the exact gradient. Points: a unit trained on sampled contexts from the same matrix. Dark: the diagonal, pale: all other entries. Dotted: the exact optimal window and zero. All quantities are dimensionless.", "name": "fig-anywhere"}, "image": {"alt": "Two panels with one curve for each entry of M. From scattered values at step zero the curves of the diagonal come together at a positive value and all others go to zero; points lie on the curves."}}
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.4), sharey=True)
target = optimal_window(Affine(k, L_flow), context_length, noise_std).w
for ax, (method, (units, path, _)) in zip(axes, paths.items(), strict=True):
    for i, j in np.ndindex(k, k):
        color = plots.COLORS["affine"] if i == j else plots.COLORS["guide"]
        alpha = 1.0 if i == j else 0.5
        ax.plot(record, path[:, 0, i, j], color=color, alpha=alpha)
        ax.plot(record, units[:, 0, i, j], "o", color=color, alpha=alpha, markersize=4)
    for level in (0.0, float(target)):
        ax.axhline(level, color=plots.COLORS["guide"], linestyle=":", linewidth=1)
    ax.set(xlabel="step", title=method)
axes[0].set_ylabel("entries of M")
plt.show()


# %% tags=["hide-input"]
def off(M):
    """Return the distance of matrices from the multiples of I."""
    mean = np.trace(M, axis1=-2, axis2=-1)[..., None, None] / k
    return np.linalg.norm(M - mean * np.eye(k), axis=(-2, -1))


rows = []
for method, (units, path, wrong) in paths.items():
    way = np.linalg.norm(path[-1] - path[0], axis=(-2, -1)).min()
    near, far = (
        np.linalg.norm(units[:, : one.shape[1]] - one, axis=(-2, -1)).max() / way
        for one in (path, wrong)
    )
    left = np.median(off(path[-1]) / off(path[0]))
    rows.append((method, f"{near:.1%}", f"{far:.1%}", f"{left:.1%}"))
plots.table(
    (
        "method",
        "largest distance",
        "control: exact path of twice the noise",
        "distance from the multiples of $I$, end over start",
    ),
    rows,
    f"Units against exact paths from {starts} random matrices, relative to the way "
    "from start to end",
)

# %% [markdown]
# Both methods move towards $w^*I$, the minimizer by the certificate of [](/notebooks/theorem2_scaling.ipynb); the last
# column says how much of the way is left. A unit's own distance from the path is the randomness of its batches, which
# Adam's steps of one size magnify where the gradient is small.
#
# ## A unit that looks the other way
#
# Train on $f(x)=\cos(L\,u\cdot x)$ and about half of the seeds end at $M\approx -w^*I$. For **even** functions,
# $f(-x)=f(x)$, turning the query around changes neither its label nor the law of the tokens, so $L(-M)=L(M)$ *exactly*,
# and both signs are minimizers. Slide Lemma 1 says $w_{KQ}\ge0$ for *any* minimizer; for even classes the sign is not
# determined.
#
# **Exercise 3.** Train one of the units above with `width=d + 1, initial_std=0.3`, the
# full $W_V, W_K, W_Q$. Which column of $W_Q$ never moves, and why?
#
# ```{admonition} Solution
# :class: dropdown
# The last: it multiplies the query's label slot, which is zero, so its gradient is
# zero.
# ```

# %% tags=["hide-input"]
even = Cosine(d, 4.0)
mirror = pretrain(
    [UnitConfig(even, noise_std, context_length, seed) for seed in range(seeds)],
    steps,
    batch_size,
    learning_rate,
    notebook.device(),
)
best = optimal_window(even, context_length, noise_std)
error = evaluation_error(mirror, even, noise_std, context_length, 1000)[0]
flat = float(population_risk(even, 0.0, context_length, noise_std).total)
rows = []
for relation, some in (("<", mirror.windows < 0), (">", mirror.windows > 0)):
    found = "", ""
    if some.any():
        found = f"{mirror.windows[some].mean():.2f}", f"{error[some].mean():.4f}"
    rows.append((f"$w {relation} 0$", str(some.sum()), *found))
rows += [
    (r"exact: $\pm w^*$", "", f"{best.w:.2f}", f"{best.risk:.4f}"),
    ("exact: $w = 0$", "", "0", f"{flat:.4f}"),
]
plots.table(
    ("units that end at", "how many", "mean $w$", "mean test error"),
    rows,
    "Cosine class, L = 4, both signs",
)

# %% [markdown]
# ## How fast
#
# The folded tables are measured by `benchmarks/pretraining.py` on the machine named below
# them, not by this run. The sweep: ReLU class, five $L$ and ten seeds, full $M$, Adam.
# The competitor trains one unit at a time with autograd, in single precision, with a
# fused optimizer and its best number of threads; on the same batches both give the same
# matrices. Ours uses the native stream, single precision, and on a CPU the compiled
# loops of `icl.compiled`, which draw the random numbers and take the gradient of softmax
# units while everything is in registers. CPU time counts all threads. The limit counts,
# per context, the normal numbers, exponentials and multiply-adds that cannot be
# avoided, each at the speed of the faster of PyTorch and `icl.compiled` alone, with all
# threads.

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
bench = json.loads(notebook.data("benchmarks/results/pretraining.json").read_text())
COLUMNS = {
    "loop": "loop, one at a time",
    "separate tokens": "separate tokens",
    "shared across L": "tokens shared across L",
}
FORMS = {
    "ms a step, wall": "{:.1f}",
    "ms a step, CPU": "{:.1f}",
    "ratio, wall": "{:.1f}",
    "ratio, CPU": "{:.1f}",
    "contexts a second": "{:.2g}",
    "fraction of the limit, wall": "{:.2f}",
}


def cell(value, form):
    """Return a measurement as text: median and range; nothing if there is none."""
    if value is None:
        return ""
    median, *ends = (value[key] for key in ("median", "min", "max"))
    return f"{form.format(median)} [{', '.join(map(form.format, ends))}]"


def speed(key):
    """Return the table of one benchmark."""
    part = bench[key]
    rows = [
        (name, *(cell(part[column].get(name), form) for column in COLUMNS))
        for name, form in FORMS.items()
    ]
    repeats = part["loop"]["ms a step, CPU"]["repeats"]
    before, after = bench["load before"][0], bench["load after"][0]
    return plots.table(
        ("", *COLUMNS.values()),
        rows,
        f"d = {part['d']}, n = {part['n']}, batch {part['batch']}, "
        f"{part['units']} units; median [least, largest] of {repeats} interleaved "
        "repeats. "
        f"{bench['machine']['cpu']}, {bench['threads']} threads, "
        f"other work on the machine: load {before:.1f} before, {after:.1f} after.",
    )


speed("sweep")

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
speed("large")

# %% [markdown]
# On a GPU (`benchmarks/gpu.py`) the loop runs on the same GPU, and the processor beside it runs the sweep with all its
# threads. A step of the small sweep is mostly launches of small kernels.

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
gpu = json.loads(notebook.data("benchmarks/results/gpu.json").read_text())
GPU_FORMS = {
    "contexts a second": "{:.2g}",
    "over the loop on the GPU": "{:.1f}",
    "over the processor": "{:.1f}",
    "fraction of the limit": "{:.3f}",
}
plots.table(
    ("d, n, batch, units", "tokens", *GPU_FORMS),
    [
        (
            f"{part['d']}, {part['n']}, {part['batch']}, {part['units']}",
            tokens,
            *(cell(part[tokens][name], form) for name, form in GPU_FORMS.items()),
        )
        for part in gpu["pretraining"].values()
        for tokens in ("separate tokens", "shared across L")
    ],
    f"{gpu['gpu']}; median [least, largest] of five interleaved repeats, ratios of "
    f"wall time; processor: {gpu['machine']['cpu']}, {gpu['threads']} threads.",
)

# %% [markdown]
# Growth around a middle setting, as fitted exponents, and what integrating the labels out is worth:

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
around = bench["growth"]["around"]
plots.table(
    ("grows with", "CPU time", "memory"),
    [
        (
            name,
            f"{bench['growth'][name]['time_exponent']:.2f}",
            f"{bench['growth'][name]['memory_exponent']:.2f}",
        )
        for name in around
    ],
    "Exponents around "
    + ", ".join(f"{name} = {value}" for name, value in around.items())
    + "; one is proportional. A fixed overhead flattens those of memory.",
)

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
plots.table(
    (
        "contexts until M is within 1 % of w* I",
        "labels sampled",
        "integrated out",
        "times fewer",
    ),
    [
        (
            name,
            f"{r['sampled']['contexts_for_1_percent']:.1e}",
            f"{r['integrated']['contexts_for_1_percent']:.1e}",
            f"{r['ratio']:.3g}",
        )
        for name, r in bench["rao_blackwell"].items()
    ],
    "Root mean square distance over ten seeds, read from a fitted power law.",
)

# %% [markdown]
# ## A million settings on a cluster
#
# A sweep is split by members, whose numbers do not depend on their company. The arithmetic, from the measured rate with tokens shared across $L$, for the sweep's own
# steps and batch:

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
rate = bench["sweep"]["shared across L"]["contexts a second"]["median"]
total = 1e6 * 2000 * bench["sweep"]["batch"]
hours = total / rate / 3600
plots.table(
    ("one million units", ""),
    [
        (
            f"2,000 steps of {bench['sweep']['batch']} contexts each",
            f"{total:.1e} contexts",
        ),
        (f"at {rate:.1e} contexts a second", f"{hours:.0f} machine hours"),
        ("on 100 such machines", f"{hours / 100:.1f} hours"),
        (
            "parameters and state of the optimizer",
            f"{1e6 * 3 * 25 * 4 / 1e9:.1f} GB in all",
        ),
        ("results", f"{1e6 * 25 * 8 / 1e9:.1f} GB"),
    ],
    "Arithmetic, d = 5",
)

# %% tags=["remove-input"]
notebook.footer()
