# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What training does, step by step
#
# *A layer starts with equal weights for all examples. Does training find the best window, and how does it get there?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dim = 3  # dimension d of the covariates
context_length = 20  # tokens n in a context
noise_std = 0.3  # standard deviation sigma of the label noise
lipschitz_values = [1.0, 2.0, 4.0, 8.0]  # Lipschitz constants L of units with one M
seeds = 10  # units of each setting
steps = 320  # gradient steps
batch_size = 128  # fresh contexts at each step
relu_rate = 0.5  # size of the plain gradient steps, ReLU class
cosine_rate = 20.0  # the same, cosine class
learning_rate = 0.1  # step size of Adam
dims = [2, 3, 5]  # dimensions d of units with all matrices free
lipschitz = 1.0  # their Lipschitz constant L
noise_stds = [0.1, 0.3, 0.6, 1.0]  # sigma of the units whose corner is measured
full_steps = 400  # their Adam steps
contexts = 6000  # sampled contexts for the best corner

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import display

from icl.covariates import Ellipsoid
from icl.pretrain import train_grid
from icl.pretrain.metrics import spectral_norm
from icl.risk import optimal_window, population_flow, population_risk
from icl.tasks import Affine, Cosine, PhasedCosine, Projected, ReLU
from icl_book import notebook, parameters
from icl_book.claims import exact_cases, judge, sampled_cases
from icl_book.figures import plots
from icl_book.measurements import medians, pretraining, tabulate_record

notebook.setup(globals(), lipschitz_values=2)
device = notebook.device()
if batch_size < 16:
    raise parameters.BadInput(f"batch_size={batch_size!r}: must be at least 16")
if steps < 16:
    raise parameters.BadInput(f"steps={steps!r}: must be at least 16")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
record = list(range(0, steps + 1, steps // 16))
times = [relu_rate * step for step in record]
tasks = [ReLU(dim, lipschitz=L) for L in lipschitz_values]
units = train_grid(
    tasks,
    noise_std,
    context_length,
    seeds=4 * seeds,
    steps=steps,
    batch_size=batch_size,
    learning_rate=relu_rate,
    device=device,
    optimizer="sgd",
    schedule="constant",
    record=record,
)
windows, norms, flow, best = {}, {}, {}, {}
for i, (L, task) in enumerate(zip(lipschitz_values, tasks, strict=True)):
    M = units.M_history[:, i]  # (recorded steps, seeds, d, d)
    windows[L] = np.trace(M, axis1=-2, axis2=-1) / dim
    norms[L] = spectral_norm(M)
    flow[L] = population_flow(task, context_length, noise_std, times)
    best[L] = optimal_window(task, context_length, noise_std).w

# %% figure={"alt": "The mean diagonal of M against the step, one color for each Lipschitz constant. Four curves leave zero at once, the steepest for the largest L, with points on them. All tend to dotted lines in the order of L.", "name": "fig-flow"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, ax = plt.subplots(figsize=(6.9, 3.4))
for L, color in plots.colors(lipschitz_values).items():
    ax.plot(record, windows[L], "o", color=color, markersize=2, alpha=0.3)
    ax.plot(record, flow[L], color=color, label=f"L = {L:g}")
    name = f"best w, L = {L:g}"
    ax.plot([0, steps], [best[L]] * 2, ":", color=color, linewidth=1, label=name)
ax.set(xlabel="gradient step", ylabel="w, the mean diagonal of M", xlim=(0, None))
plots.label_ends(ax)
plt.show()

# %% [markdown]
# **The window during training.** The matrix $M$ of a layer compares each example with the query. Its mean diagonal $w$ is drawn
# against the step of plain gradient descent. A larger $w$ means a narrower window. Each color is for [ReLU
# functions](#term-class) with one Lipschitz constant $L$. Points are trained layers. Solid lines are computed beforehand, and
# tend to the exact best $w$ (dotted).
#
# **In short.** Yes: training narrows the window from equal weights towards the best one. Plain gradient steps follow a path that
# can be computed beforehand: at $L=8$ the $w$ of trained layers is [1.00](<judged:P1.F3.flow|L = 8|.2f>) times the $w$ of the
# path. Steeper functions lead to a larger $M$. If all matrices of the layer are trained, the prediction takes the form that the
# authors' analysis assumes, but for one number: a factor on the prediction. The authors set it to one, and with strong noise training finds
# [0.87](<judged:P1.P.corner|ReLU, d = 3, n = 20, L = 1, $\sigma$ = 1|.2f>).
#
# <details><summary>How sure?</summary>
#
# - The path: [a card](judged:P1.F3.flow) divides the $w$ of each layer by that of the path, averaged over the last three quarters
#   of the steps. Two of three replications had left it undecided, so that it now uses four times as many layers.
# - How $\|M\|$ grows with $L$: a card for [ReLU functions](judged:P1.F3.relu) and one for [cosines](judged:P1.F3.cosine). The first
#   is open for the optimizer Adam. The second depends on whether one counts waves that are too fast for the context. Both compare the
#   norm at each $L$ with the norm at the next smaller $L$, after a quarter, half and all of the training, and the least favorable of
#   the three comparisons counts. Layers with the same seed see the same tokens and noise for all $L$.
# - All matrices free: [a card on the form](judged:P1.P.block) and [a card on the factor](judged:P1.P.corner). The number in the
#   summary is for $d=3$, $n=20$ and $L=\sigma=1$. In a trial with $\sigma=0.1$ and $d=2$ one of ten layers stayed far from the
#   others, which is why the form is judged at $\sigma=0.3$. The factor is judged in a single dimension.
# - The sources name neither the optimizer nor the values of $L$. We fixed $d$, $n$, $\sigma$ and $L$ before training, and knew then
#   that equal weights are best for some cosines of large $L$. After a first run we compared norms by logarithms, shortened the
#   training by a fifth and doubled Adam's step.
# - Tokens are uniform on the unit sphere, or on an ellipsoid $x=\Sigma^{1/2}u$ where the page says so. The layers see fresh
#   contexts at each step. The query's label is noisy in training and clean in the error, so that the training loss is larger by
#   $\sigma^2$.
#
# </details>
#
# ## Why
#
# A layer starts with $M=0$. All examples then have the same weight, and the [window](#term-window) is the whole sphere. Which way
# does the first step go?
#
# An example $x_i$ has the score $x_i^\top Mx_q$ with the query $x_q$. Softmax turns the scores into weights $\omega_i$, and the
# prediction $p=\sum_i\omega_iy_i$ averages the labels $y_i$. The label of the query is $y_q$. The gradient of the squared error
# $(p-y_q)^2$ in $M$ is
#
# $$2(p-y_q)\sum_i\omega_i(y_i-p)\,x_ix_q^\top.$$
#
# Take two examples with labels $1$ and $0$ and a query with label $1$. At $M=0$ both weights and $p$ are $\frac12$, and the
# gradient is $-\frac14(x_1-x_2)x_q^\top$. The step goes against the gradient. So the step raises the score of the first example,
# which has the label of the query, and lowers the score of the second.
#
# On average over random functions, nearby examples have labels like that of the query. So the scores of nearby examples rise, and
# the window narrows until it is the best one. The matrix is then $M=w^*I$, with the best
# [window parameter](#term-window-parameter) $w^*$.
#
# Why do steeper functions lead to a larger $M$? For ReLU functions the first step is proportional to $L^2$. The best $w$ is larger as
# well.
#
# **The path.** How was the solid line computed? Let $\mathcal L(w)$ be the [population risk](#term-population-risk) of $M=wI$,
# that is, the mean error over all functions and contexts. If steps are very small and use this exact mean, $M$ stays a multiple
# $wI$ of the identity matrix. Its $w$ starts at zero and moves down the slope of the risk:
#
# $$\dot w=-\frac1d\,\mathcal L'(w).$$
#
# <details><summary>Time on the path, and the first step in a formula</summary>
#
# A gradient step of size $\eta$ advances the time by $\eta$.
#
# For ReLU functions the mean first step of size $\eta$ leads to $M=w_1I$ with
#
# $$w_1=\eta\,\frac{L^2}{3d^3}\Big(1-\frac1n\Big).$$
#
# </details>
#
# ## The experiment
#
# The next cell is the whole pretraining of one [layer](#term-unit). Each step draws fresh contexts of twenty labeled examples,
# and a query in each whose label the layer has to predict. The table puts the layer's $w$, the mean diagonal of $M$, beside the
# path. To try seven dimensions, change the line `d = 3`. To try Adam, use the line in the comment.

# %% tags=["experiment"]
import pandas as pd
import torch

from icl.pretrain import draw_contexts
from icl.risk import optimal_window, population_flow
from icl.tasks import ReLU

d = 3  # or 7, for example
functions = ReLU(d, lipschitz=2.0)
M = torch.zeros(d, d, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.SGD([M], lr=0.5)  # or torch.optim.Adam([M], lr=0.1)
diary = []
for step in range(321):
    if step % 80 == 0:
        diary.append({"step": step, "trained w": M.trace().item() / d})
    x, y = draw_contexts(functions, noise_std=0.3, n=20, batch_size=128, step=step)
    scores = (x[:, :-1] @ M @ x[:, -1, :, None]).squeeze(-1)  # x_i' M x_q
    prediction = (torch.softmax(scores, dim=1) * y[:, :-1]).sum(dim=1)
    loss = ((prediction - y[:, -1]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
table = pd.DataFrame(diary)
table["path"] = population_flow(functions, 20, 0.3, times=0.5 * table.step)
table["best w"] = optimal_window(functions, 20, noise_std=0.3).w
table.astype(float).round(2)

# %% [markdown]
# The layer follows the path within a few percent, and after 320 steps it is half of the way to the best $w$. At this slope
# Adam reaches the best $w$ within the same steps.
#
# How near does the path come to the best $w$? The table has the quotient of the two: after the steps of the figure, after ten
# times as many, and after a hundred times as many.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
reached = []
for L in lipschitz_values:
    later = [relu_rate * many * steps for many in (0, 1, 10, 100)]
    on_path = population_flow(ReLU(dim, lipschitz=L), context_length, noise_std, later)
    _, once, ten, hundred = on_path / best[L]
    reached.append({"L": L, "these steps": once, "times 10": ten, "times 100": hundred})
pd.DataFrame(reached).style.format(precision=2).hide()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
growth = pd.concat(
    tabulate_record(
        record,
        norm=norms[L],
        ratio=windows[L] / np.maximum(flow[L], 1e-300)[:, None],
    ).assign(lipschitz=L)
    for L in lipschitz_values
)
late = growth[4 * growth.step >= steps]
judge(
    "P1.F3.flow",
    late.groupby(["lipschitz", "seed"], as_index=False).ratio.mean(),
    value="ratio",
    samples="seed",
    name="L = {lipschitz:g}",
)

# %% [markdown]
# **Exercise 1.** By what factor is the first step larger for $L=4$ than for $L=2$, with plain steps and with Adam? Take
# one step with `train_grid`, once with `optimizer="sgd"` and once with `optimizer="adam"`. Print the window parameters.
#
# <details><summary>Solution</summary>
#
# ```python
# tasks = [ReLU(3, lipschitz=2.0), ReLU(3, lipschitz=4.0)]
# for optimizer in ("sgd", "adam"):
#     units = train_grid(
#         tasks, 0.3, 20, seeds=8, steps=1, batch_size=4000, optimizer=optimizer
#     )
#     print(optimizer, units.windows.mean(axis=1))
# ```
# With plain steps the factor is about four. With Adam it is one, because the size of Adam's first step is the learning
# rate, whatever the gradient.
#
# </details>
#
# **Exercise 2.** The functions of the cosine class are even. Why is the first training step on such functions zero on
# average?
#
# <details><summary>Solution</summary>
#
# For even functions the risk does not change if $M$ becomes $-M$, so the mean gradient at $M=0$ is zero, and at first
# only the randomness of the batches moves $M$. With $w^*I$ also $-w^*I$ is a minimizer, and about half of the units
# trained on $\cos(4u\cdot x)$ end near $-w^*I$. These units attend to the tokens opposite the query. A norm does not show the sign
# of $w$.
#
# </details>
#
# ## What the paper says
#
# Paper 1 measures what its theorems predict: in training, steeper functions lead to a larger matrix.
#
# > **ITA slides, "Empirical Scaling of ||M|| with L"** (Figure 3 in a review). $\|M\|$ grows faster during pretraining
# > with larger $L$, on both ReLU and Cosine tasks, with both isotropic and non-isotropic $x_i$.
#
# With plain gradient steps we find the same wherever the exact $w^*$ grows with $L$. The figure at the top of the page shows ReLU
# functions on isotropic tokens, which are uniform on the sphere. The next figure has the other three combinations. Its non-isotropic
# tokens lie on an ellipsoid.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
root = np.diag(np.linspace(1.5, 0.5, dim))  # axes of non-isotropic tokens
ellipsoid = Ellipsoid(root)
classes = {"ReLU": ReLU, "cosine": Cosine, "wave": PhasedCosine}
rates = {"ReLU": relu_rate, "cosine": cosine_rate, "wave": cosine_rate}
training = {
    "noise_std": noise_std,
    "context_length": context_length,
    "batch_size": batch_size,
    "device": device,
}
round_tasks = {
    name: {L: make(dim, lipschitz=L) for L in lipschitz_values}
    for name, make in classes.items()
}
whitened_tasks = {
    name: {L: Projected(task, np.linalg.inv(root)) for L, task in tasks.items()}
    for name, tasks in round_tasks.items()
}


def plain(name, tasks, covariates=None):
    return pretraining.trained_norms(
        tasks[name],
        covariates=covariates,
        seeds=seeds,
        record=record,
        learning_rate=rates[name],
        optimizer="sgd",
        **training,
    )


same = "non-isotropic, same functions"
grown = {
    ("ReLU", "isotropic"): growth[growth.seed < seeds],
    ("cosine", "isotropic"): plain("cosine", round_tasks),
    ("wave", "isotropic"): plain("wave", round_tasks),
}
for name in ("ReLU", "cosine"):
    grown[name, "non-isotropic"] = plain(name, whitened_tasks, ellipsoid)
    grown[name, same] = plain(name, round_tasks, ellipsoid)
edge = pd.DataFrame(
    {
        "case": f"n = {context_length}, d = {d}",
        "lipschitz": L,
        "w": optimal_window(Cosine(d, lipschitz=L), context_length, noise_std).w,
    }
    for d in (dim, dim + 2)
    for L in np.linspace(0.5, 12.0, 24)
)

# %% figure={"alt": "Three panels of norm against step. In the ReLU panel the points are ordered by L at all times, the largest on top. In both cosine panels L = 2 and L = 4 rise quickly, L = 1 slowly, and L = 8 stays near zero. Fourth panel: two curves of the best window parameter that rise with L and then drop to zero; four points lie near the upper one.", "name": "fig-norm-growth"} jupyter={"source_hidden": true} tags=["hide-input"]
names = {
    "ReLU, non-isotropic": ("ReLU", "non-isotropic"),
    "cosine, isotropic": ("cosine", "isotropic"),
    "cosine, non-isotropic": ("cosine", "non-isotropic"),
}
figure, axes = plt.subplots(2, 2, figsize=(6.9, 5.6))
for ax, (title, key) in zip(axes.ravel(), names.items(), strict=False):
    middle = medians(grown[key], "norm", by=["step", "lipschitz"])
    plots.points(
        ax,
        middle[middle.step > 0],
        "step",
        "median",
        "lipschitz",
        label="L = {:g}",
        markersize=3.5,
    )
    ax.set(title=title, xlabel="gradient step", ylabel=r"$\|M\|_2$", ylim=(0, None))
ax = axes[1, 1]
for case, color in plots.colors(edge.case).items():
    line = edge[edge.case == case]
    ax.plot(line.lipschitz, line.w, color=color, label=case)
last = grown["cosine", "isotropic"]
last = medians(last[last.step == record[-1]], "norm", by=["lipschitz"])
last = last.assign(case="trained")
plots.points(ax, last, "lipschitz", "median", "case", color="k")
ax.set(title="cosine: the exact best w", xlabel="Lipschitz constant L", ylabel="w")
ax.set_ylim(top=1.8 * edge.w.max())  # room for the legend
ax.legend(loc="upper right")
plots.label_ends(*axes.flat[:3])
plt.show()

# %% [markdown]
# **The norm during training.** Spectral norm of $M$ during plain gradient steps, as medians over the seeds with confidence intervals
# of these medians. Bottom right: the exact best $w$ of the cosine class (lines), and the norms of the isotropic layers at the end of
# training (points). In the first three panels $\|M\|$ is larger for larger $L$, except for the shortest waves.
#
# Why are the shortest waves an exception? They oscillate several times between neighboring examples. So the examples say almost
# nothing about the query, and the best prediction is the mean of all labels. The exact $w^*$ is then small, as the last panel
# shows. Our card on cosines therefore counts only those $L$ for which $w^*$ is larger than at the next smaller $L$.
#
# **And with Adam?** The optimizer Adam divides each step by the size of the gradient. So the norms for all $L$ start to grow at
# the same speed. Later they separate, and a larger $L$ has the larger $\|M\|$. The table has the medians of $\|M\|$ for ReLU
# functions. After a quarter of the training the norms for the two largest $L$ are still too close for a verdict.
# [(?)](judged:P1.F3.relu)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
adam = pretraining.trained_norms(
    {L: ReLU(dim, lipschitz=L) for L in lipschitz_values},
    noise_std=noise_std,
    context_length=context_length,
    seeds=seeds,
    record=sorted({min(20, record[4]), record[4], record[8], record[16]}),
    batch_size=batch_size,
    learning_rate=learning_rate,
    device=device,
    optimizer="adam",
)
adam.groupby(["step", "lipschitz"]).norm.median().unstack().round(2)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judged_at = [record[4], record[8], record[16]]
every = {}
clear = {}
for (name, law), units in grown.items():
    compared = pretraining.norm_ratios(units, steps=judged_at)
    template = f"{name}, {law}, L = {{lipschitz:g}} against {{smaller:g}}"
    columns = {
        "value": "log_ratio",
        "samples": "seed",
        "labels": ["lipschitz", "smaller"],
        "name": template,
    }
    every[name, law] = sampled_cases(compared, **columns)
    windows_of = {
        L: float(optimal_window(task, context_length, noise_std).w)
        for L, task in round_tasks[name].items()
    }
    resolved = compared.lipschitz.map(windows_of) > compared.smaller.map(windows_of)
    clear[name, law] = sampled_cases(compared[resolved], **columns)
on_relu = [every["ReLU", "isotropic"], every["ReLU", "non-isotropic"]]
relu = judge(
    "P1.F3.relu",
    on_relu,
    readings={
        "same-functions": every["ReLU", same],
        "adam": sampled_cases(
            pretraining.norm_ratios(adam, steps=judged_at),
            **columns | {"name": "ReLU, Adam, L = {lipschitz:g} against {smaller:g}"},
        ),
    },
)
display(relu)
judge(
    "P1.F3.cosine",
    [clear["cosine", "isotropic"], clear["cosine", "non-isotropic"]],
    readings={
        "all-waves": [every["cosine", "isotropic"], every["cosine", "non-isotropic"]],
        "phase": clear["wave", "isotropic"],
        "same-functions": clear["cosine", same],
    },
    could={"all-waves": on_relu},
)

# %% [markdown]
# ### All matrices free
#
# Until now we trained only $M$. A whole layer has the matrices $W_K$, $W_Q$ and $W_V$ for keys, queries and values. On the authors'
# slides each token $z=(x,y)$ holds an input with its label, and the query has a zero in place of its label. The authors' analysis
# trains a part of the matrices and gives the others this form:
#
# <a id="eq-blocks"></a>
#
# $$W_V=\begin{pmatrix}0&0\\0&c\end{pmatrix},\quad c=1,\qquad W_K^\top W_Q=\begin{pmatrix}M&0\\0&0\end{pmatrix}. $$
#
# The *block* $M$ compares tokens, and the *corner* $c$ of $W_V$ scales the prediction. Does training find this form if all matrices
# are free?
#
# > **Rebuttal**, on training all of $W_V,W_K,W_Q$ and finding this form: "We indeed observe this decomposition
# > empirically".
#
# We observe it, too. We train $W_K$, $W_Q$ and the last row $(v^\top,c)$ of $W_V$ on ReLU functions, with all entries random at the
# start. As a control we train on *leaning* functions, which all rise in the same
# direction. There the label of a token tells something about its $x$, and a layer that uses this information does not have
# [the form](#eq-blocks).

# %% jupyter={"source_hidden": true} tags=["hide-input"]
full_training = {
    "context_length": context_length,
    "seeds": seeds,
    "steps": full_steps,
    "batch_size": batch_size,
    "learning_rate": 0.03,
    "device": device,
}
in_dims = pd.concat(
    pretraining.train_full_units(
        {
            "ReLU": ReLU(k, lipschitz=lipschitz),
            "leaning": pretraining.Leaning(k, lipschitz=lipschitz),
        },
        dim=k,
        width=k + 1,
        noise_std=noise_std,
        **full_training,
    )
    for k in dims
)
relu = in_dims[in_dims.task == "ReLU"]
leaning = in_dims[in_dims.task == "leaning"]

# %% jupyter={"source_hidden": true} tags=["hide-input"]
d = dims[len(dims) // 2]
in_widths = pd.concat(
    pretraining.train_full_units(
        {"ReLU": ReLU(d, lipschitz=lipschitz)},
        dim=d,
        width=width,
        noise_std=noise_std,
        **full_training,
    )
    for width in sorted({1, d - 1, d, 4 * (d + 1), 8 * (d + 1)})
)
in_noise = pd.concat(
    pretraining.train_full_units(
        {
            "affine": Affine(d, lipschitz=lipschitz),
            "ReLU": ReLU(d, lipschitz=lipschitz),
        },
        dim=d,
        width=d + 1,
        noise_std=sigma,
        **full_training,
    )
    for sigma in noise_stds
)

# %% figure={"alt": "For each dimension a heat map with printed entries: a diagonal of equal positive numbers, zeros elsewhere except in the last column, whose entries are arbitrary and sizable. Below, a row that is zero except for its last entry, near one.", "name": "fig-blocks"} jupyter={"source_hidden": true} tags=["hide-input"]
first = relu[relu.seed == 0].set_index("dim")
# entries of the last rows are equally wide in all panels
ratios = {"height_ratios": [5, 1], "width_ratios": [k + 1 for k in dims]}
figure, axes = plt.subplots(2, len(dims), figsize=(6.9, 3.4), squeeze=False, **ratios)
for (top, bottom), k in zip(axes.T, dims, strict=True):
    names = [*(f"$x_{i + 1}$" for i in range(k)), "$y$"]
    A = first.scores[k]
    plots.matrix(top, A, names, names, fmt=".1f", limit=np.abs(A[:k, :k]).max())
    last_row = first["values"][k][None]
    plots.matrix(bottom, last_row, (), names, fmt=".2f", limit=1.2)
    top.set_title(f"d = {k}")
axes[0, 0].set_ylabel(r"$W_K^\top W_Q$")
axes[1, 0].set_ylabel(r"$(v^\top, c)$")
plt.show()

# %% [markdown]
# **A trained layer, entry by entry.** The matrices of the layer with seed 0 after training on ReLU functions: $W_K^\top W_Q$
# (top; rows for a token, columns for the query) and the last row of $W_V$ (bottom). [The form](#eq-blocks) appears, except for
# the last column of $W_K^\top W_Q$.
#
# Why not the last column? The last column of $W_Q$ multiplies only the label entry of the query, which is zero. So this column
# gets no gradient and keeps its random initial value. The card takes it as zero.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
largest_change = (relu.last_column - 1).abs().max()
assert largest_change < 1e-5

# %% jupyter={"source_hidden": true} tags=["remove-input"]
by_dim = {"samples": "seed", "labels": ["dim"]}
judge(
    "P1.P.block",
    sampled_cases(relu, "outside", name="ReLU, d = {dim}", **by_dim),
    sampled_cases(leaning, "outside", name="leaning functions, d = {dim}", **by_dim),
)

# %% [markdown]
# ## For specialists
#
# ### Three more statements of the rebuttal
#
# Three more statements of the rebuttal hold. First, the prediction does not depend on the first $d$ rows of $W_V$. Second, if
# $W_K$ and $W_Q$ have at least $d$ rows, further rows do not change the best $M$. Third, the best $v$ is zero. The third
# statement needs two conditions: the attention weights must not depend on the labels, and $(f,\epsilon)$, the function and the
# noise of the labels, must be as likely as $(-f,-\epsilon)$.
#
# To see the third statement, write the error as $e+v^\top m$, where $e$ is the error for $v=0$ and $m=\sum_i\omega_ix_i$. A change
# of sign of $f$ and $\epsilon$ turns $e$ into $-e$ and does not change $m$. So in the squared error $e^2+2e\,v^\top m+(v^\top m)^2$
# the middle term has mean zero, and the last term is least at $v=0$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
changes = pretraining.changed_predictions(dim=dims[0], context_length=context_length)
rows = pd.DataFrame({"value": [changes["rows"]]})
columns = pd.DataFrame({"value": [changes["columns"]]})
redrawn = judge(
    "P1.B1.rows",
    exact_cases(rows, name="first d rows"),
    exact_cases(columns, name="first d columns"),
)
display(redrawn)
added = pd.DataFrame(
    {
        "task": name,
        "dim": k,
        "value": pretraining.added_error(
            make(k, lipschitz=lipschitz),
            noise_std=noise_std,
            context_length=context_length,
        ),
    }
    for name, make in {"affine": Affine, "ReLU": ReLU}.items()
    for k in dims
)
display(judge("P1.B1.values", added, name="{task}, d = {dim}"))
reference = relu[relu.dim == d].set_index("seed").window
wide = in_widths.assign(ratio=in_widths.window / in_widths.seed.map(reference))
by_width = {"samples": "seed", "labels": ["width"], "name": f"width {{width}}, d = {d}"}
judge(
    "P1.P.width",
    sampled_cases(wide[wide.width >= d], "ratio", **by_width),
    sampled_cases(wide[wide.width < d], "ratio", **by_width),
)

# %% [markdown]
# **Exercise 3.** Two seeds end with very different pairs $(W_K,W_Q)$, but with nearly the same block $M$ of
# $W_K^\top W_Q$. Why? And what would weight decay do to the last column of $W_Q$?
#
# <details><summary>Solution</summary>
#
# For every invertible $R$ the pair $(RW_K,R^{-\top}W_Q)$ has the same product $W_K^\top W_Q$. Weight decay would shrink
# the last column of $W_Q$ to zero, because no gradient acts on this column.
#
# </details>
#
# ### The free corner
#
# The authors fix the corner at $c=1$ for simplicity. If labels are noisy enough, the best corner shrinks the prediction, and training
# finds it. *By hand:* take one token with the label $y=f+\epsilon$, where $f$ is a random constant with $\mathbb Ef^2=1$, and
# $\sigma=1$. The prediction $cy$ has the error $(c-1)^2+c^2$, which is $1$ at $c=1$ and $\frac12$ at the best $c=\frac12$.
#
# In general the best corner for given attention weights $\omega_i$ is $c^*=\mathbb E\,pf(x_q)/\mathbb E\,p^2$ with
# $p=\sum_i\omega_iy_i$. With little noise $c^*$ may exceed one. The reason is that a window of finite width flattens the function,
# and $c>1$ partly corrects the flattening.

# %% figure={"alt": "Left: two falling curves of the corner against the noise, with points on them. They start near a dotted line at one and end below nine tenths. Right: two curves of the risk at c = 1 over the least risk, near one for little noise and rising.", "name": "fig-corner"} jupyter={"source_hidden": true} tags=["hide-input"]
sigmas = np.union1d(noise_stds, np.linspace(min(noise_stds), max(noise_stds), 25))
corner = pd.concat(
    pretraining.corner_optimum(
        make(d, lipschitz=lipschitz),
        context_length=context_length,
        noise_stds=sigmas,
        contexts=contexts,
    ).assign(task=name)
    for name, make in {"affine": Affine, "ReLU": ReLU}.items()
)
corner["ratio"] = corner.risk_one / corner.risk
figure, axes = plt.subplots(1, 2, figsize=(6.9, 2.7))
plots.lines(axes[0], corner, "noise_std", "c", "task", label="")
middle = medians(in_noise, "corner", by=["task", "noise_std"])
plots.points(axes[0], middle, "noise_std", "median", "task", label="")
guide = {"color": plots.COLORS["guide"], "linestyle": ":"}
axes[0].axhline(1, label="fixed: c = 1", **guide)
plots.lines(axes[1], corner, "noise_std", "ratio", "task")
axes[0].set(ylabel="corner c")
axes[1].set(ylabel="risk at c = 1 over least")
for ax in axes:
    ax.set_xlabel(r"standard deviation $\sigma$ of the noise")
plots.label_ends(axes[1])
plots.label_lines(axes[0])
plt.show()

# %% [markdown]
# **The corner of trained layers.** Left: the best corner $c$ at the best $w$, computed on sampled tokens (lines), and the corner of
# trained layers (points, median with interval). Right: the least error with $c=1$ divided by the least error with free $c$. This
# quotient rises with the noise.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
known = corner.rename(columns={"c": "optimum"})[["task", "noise_std", "optimum"]]
ended = known.merge(in_noise, on=["task", "noise_std"])
judge(
    "P1.P.corner",
    ended,
    value="corner",
    samples="seed",
    labels=["task", "noise_std", "optimum"],
    name=f"{{task}}, d = {d}, n = {context_length}, L = {lipschitz:g}, "
    "$\\sigma$ = {noise_std:g}",
)

# %% [markdown]
# ### Too few steps in long contexts
#
# The best $w$ grows roughly like a power of $n$. If you fit this power to layers that were trained too briefly, the exponent is too
# small, because in longer contexts training takes more steps to arrive. The next figure has $w$ on the path for four training times
# $t$ and four context lengths.

# %% figure={"alt": "Log-log plot of the window parameter against the context length. For short training times the curves are flat at long contexts; for infinite time the curve rises.", "name": "fig-finite"} jupyter={"source_hidden": true} tags=["hide-input"]
middle_L = lipschitz_values[len(lipschitz_values) // 2 - 1]
in_time = pretraining.windows_in_time(
    ReLU(dim, lipschitz=middle_L),
    noise_std=noise_std,
    lengths=[10, 100, 1000, 10000],
    times=[10.0, 100.0, 1000.0, 10000.0],
)
figure, ax = plt.subplots(figsize=(6.9, 3.0))
for time, color in plots.colors(in_time.time).items():
    line = in_time[in_time.time == time]
    power = f"$t=10^{{{round(np.log10(min(time, 1e9)))}}}$"
    name = "minimizer" if np.isinf(time) else power
    ax.plot(line.n, line.w, color=color, label=name)
ax.set(xscale="log", yscale="log", xlabel="context length n", ylabel="w")
plots.label_ends(ax)
plt.show()

# %% [markdown]
# **Windows after finite training.** Exact $w$ for ReLU functions against the context length, on the computed path at four times $t$ and
# at the minimizer. The shorter the time, the smaller is the slope in $n$.
#
# The bounds of [Theorem 2](theorem2_scaling.ipynb) are about the minimizer, so that the number of steps does not matter for them.
# The number of steps matters if one measures exponents on trained layers.
#
# ### Every length at once
#
# In autoregressive training each length $m\le n$ has a loss of its own, and one $w$ has to serve all lengths. The table has the best
# $w$ for the mean error over all lengths up to 20, and for the length 20 alone.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
task = ReLU(dim, lipschitz=2.0)
w = np.linspace(2, 7, 51)
each_length = [population_risk(task, w, m, noise_std).total for m in range(1, 21)]
for_all = w[np.mean(each_length, axis=0).argmin()]
for_20 = w[each_length[-1].argmin()]
pd.DataFrame({"all lengths up to 20": [for_all], "20 alone": [for_20]}).style.format(
    "{:.1f}"
).hide()

# %% [markdown]
# The best window for all lengths up to 20 is wider than the best window for the length 20 alone.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
