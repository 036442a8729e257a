# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What training finds
#
# **Short answer.** Units that start without any window follow the exact population flow, with nothing fitted
# {judged}`P1.F3.flow`; under plain steps $\|M\|$ grows faster for a larger Lipschitz constant $L$ {judged}`P1.F3.relu`. With
# Adam the curves start together {judged}`P1.F3.adam`, and where waves are shorter than the distance between tokens $M$ does
# not grow {judged}`P1.F3.cosine`. With all of $W_V,W_K,W_Q$ free, training finds the form that the paper assumes
# {judged}`P1.P.block`, except for a column without a gradient {judged}`P1.P.column` and the corner $c$ of $W_V$, which the
# authors set to $1$: at $d=3$, $n=20$, $L=1$, $\sigma=1$ it ends at
# {judged}`P1.P.corner | ReLU, d = 3, n = 20, L = 1, $\sigma$ = 1 | .1f`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dim = 3  # dimension d of the covariates
context_length = 20  # tokens n in a context
noise_std = 0.3  # standard deviation sigma of the label noise
lipschitz_values = [1.0, 2.0, 4.0, 8.0]  # Lipschitz constants L, one matrix M
seeds = 10  # units of each setting
steps = 320  # gradient steps
batch_size = 128  # fresh contexts at each step
relu_rate = 0.5  # size of the plain gradient steps, ReLU class
cosine_rate = 20.0  # the same, cosine class
learning_rate = 0.1  # step size of Adam
dims = [2, 3, 5]  # dimensions d of units with all matrices free
lipschitz = 1.0  # their Lipschitz constant L
noise_stds = [0.1, 0.3, 0.6, 1.0]  # sigma of the units whose corner is measured
full_steps = 600  # their Adam steps
contexts = 6000  # sampled contexts for the best corner and for small excess risks
sizes = [30, 100, 300, 1000]  # numbers T of fixed contexts
draws = 10  # data sets of each size
pool_sizes = [1, 3, 10, 30]  # functions in a fixed pool

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import display

from icl.pretrain import UnitConfig, draw_contexts, pretrain
from icl.tasks import ReLU
from icl_book import notebook, parameters, plots
from icl_book.claims import cases, judge
from icl_book.measurements import learned, pretraining, tables

notebook.setup(globals(), lipschitz_values=2)
if batch_size < 16:
    raise parameters.BadInput(f"batch_size={batch_size!r}: must be at least 16")

# %% tags=["hide-input"]
shared = (dim, context_length, noise_std, lipschitz_values, batch_size)
setting = pretraining.Setting(*shared, notebook.device())
looked_at = [min(20, steps), *np.linspace(0, steps, 17).round()]
record = np.unique(looked_at).astype(int).tolist()
sphere = ("ReLU", "isotropic")
plain = pretraining.grow(setting, *sphere, 4 * seeds, record, relu_rate)
adam = pretraining.grow(setting, *sphere, seeds, record, learning_rate, "adam")
flow = pretraining.flow(setting, record, relu_rate)
windows = setting.windows()

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.7), sharey=True)
plots.lines(axes[0], flow, "step", "w", "L", label="")
for ax, units in zip(axes, (plain, adam), strict=True):
    middle = tables.medians(units[units.step > 0], "diagonal", ["step", "L"])
    plots.points(ax, middle, "step", "median", "L", label="L = {:g}", markersize=4)
    for L, color in plots.colors(lipschitz_values).items():
        (w,) = windows[(windows.kind == "ReLU") & (windows.L == L)].w
        ax.axhline(w, color=color, linestyle=":", linewidth=1)
axes[0].set(title="plain gradient steps", xlabel="step", ylabel="mean diagonal of M")
axes[1].set(title="Adam", xlabel="step")
axes[1].legend(fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-flow
# :alt: Two panels of the mean diagonal of M against the step, one color for each Lipschitz constant. Left: four curves that
# leave zero at once, the steepest for the largest L, with points on them. Right: points that start together and branch off
# one after the other. All tend to dotted lines in the order of L.
#
# Training on the {term}`ReLU class <class>`. Points: units, median over seeds with interval. Solid: the exact population flow, nothing
# fitted. Dotted: the exact best $w$.
# ```
#
# ## In plain words
#
# A {term}`unit` starts with $M=0$: it weighs all tokens alike, and its {term}`window` is the whole sphere. Training moves
# $M$ towards $w^*I$ and so narrows the window: **large $w$ means a narrow window**.
#
# - Rougher functions (larger $L$) need a narrower window, so $M$ has further to go. They cause larger errors, too, and with
#   plain steps larger errors mean larger steps. Adam divides by the size of the gradient, so all classes start alike.
# - If a function oscillates several times between neighboring tokens, no token says anything about the query. The best
#   prediction is then the mean of all labels, and $M$ stays at zero.
#
# ## What is printed, and what is true
#
# > **ITA slides, "Empirical Scaling of ||M|| with L"** (Figure 3 in a review). $\|M\|$ grows faster during pretraining with
# > larger $L$, on both ReLU and Cosine tasks, with both isotropic and non-isotropic $x_i$.
# >
# > **Rebuttal**, on training all of $W_V,W_K,W_Q$, where eq. (4) sets $W_V=\mathrm{diag}(0,1)$ and
# > $W_K^\top W_Q=\mathrm{diag}(M,0)$: "We indeed observe this decomposition empirically".
#
# ```{admonition} What is true
# :class: tip
# - $\|M\|$ grows faster with larger $L$ under plain steps, wherever the exact $w^*$ grows with $L$; with Adam it grows further,
#   not faster at the start. No source prints the optimizer or the values of $L$: nothing here says that a panel is wrong.
# - Full units take the form of eq. (4) if the last column of $W_Q$ starts at zero. The best corner is below $1$ when
#   labels are noisy.
# ```
#
# ## By hand: the first step
#
# With $p=\hat f(x_q)$ and the softmax weights $\omega_i$, the gradient of $(p-y_q)^2$ in $M$ is
# $2(p-y_q)\sum_i\omega_i(y_i-p)\,x_ix_q^\top$. Two tokens with labels $1$ and $0$, a query with label $1$, and $M=0$: both weights
# and $p$ are $\frac12$, and the gradient is $-\frac14(x_1-x_2)x_q^\top$. The step raises the score of token 1, whose label was right.
#
# Averaged over the ReLU class, whose linear part has the mean squared slope $L^2/6$, the first step of size $\eta$ leads to
# $M=w_1I$ with $w_1=\eta\frac{L^2}{3d^3}(1-\frac1n)$: twice the $L$, **four times** the first step. At $d=3$, $n=\infty$, $L=1$
# and $\eta=81$ it is $w_1=1$.
#
# **Exercise 1.** Adam's first step has the size of the learning rate, whatever the gradient is. How do the first steps at
# $2L$ and $L$ compare? And why does the cosine class, which is even, have no first step on average?
#
# ```{admonition} Solution
# :class: dropdown
# They are equal. For even functions $L(-M)=L(M)$, so the mean gradient at $M=0$ is zero, and only the randomness of batches
# moves $M$. Both signs are minimizers: of units trained on $\cos(4u\cdot x)$ about half end at $-w^*I$ and look at the tokens
# opposite the query.
# ```
#
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | isotropic tokens | uniform on the unit sphere |
# | non-isotropic tokens | an ellipsoid $x=\Sigma^{1/2}u$ in two readings: functions symmetric in the whitened coordinates, as Lemma 1 needs (drawn), or the functions of the sphere (judged) |
# | optimizer, start, batch | not printed: plain steps of constant size, and Adam; $M=0$; fresh contexts at each step |
# | cosine class | $\cos(Lu\cdot x)$, $u$ uniform on the sphere, is our choice; a uniform phase is judged too |
# | query label | noisy in training, clean in the risk; the difference is $\sigma^2$ |
# | $(f,\epsilon)$ as likely as $(-f,-\epsilon)$ | true for affine and ReLU functions; broken in the controls |
#
# *What trial runs changed.* $d$, $n$, $\sigma$ and the list of $L$ were fixed from the exact $w^*$ before training, so that
# the last cosine has $w^*=0$: the edge is on the page because we put it there. After a first run norms were compared by
# logarithms, the training was shortened by a fifth, and Adam's step was doubled. P1.F3.flow has four times as many units,
# since two of three replications had left it open. In a trial with $\sigma=0.1$ and $d=2$ one full unit of ten stayed far from
# the others; blocks are judged at $\sigma=0.3$, the corner in the middle dimension of the list.
# ```
#
# ## Experiment 1: how $\|M\|$ grows with $L$
#
# With infinitely many contexts and infinitely small steps, training is the flow $\dot w=-\frac1d\mathcal L'(w)$ of the
# {term}`population risk` from $w(0)=0$. Plain steps of size $\eta$ take the time $\eta$ each. The first card compares the units
# of {numref}`fig-flow` with it. `pretrain` trains whole sweeps of such units at once, and agrees with twelve lines of PyTorch,
# since random numbers are pure functions of (seed, name, step):

# %% mystnb={"code_prompt_show": "One unit in twelve lines of PyTorch"} tags=["hide-input"]
task = ReLU(dim, lipschitz_values[-1])
M = torch.zeros(dim, dim, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([M], learning_rate)
for step in range(steps):
    x, y = draw_contexts(
        task,
        noise_std=noise_std,
        n=context_length,
        batch_size=batch_size,
        seed=0,
        step=step,
    )
    scores = torch.einsum("bnd,de,be->bn", x[:, :-1], M, x[:, -1])
    prediction = (torch.softmax(scores, -1) * y[:, :-1]).sum(-1)
    optimizer.zero_grad()
    ((prediction - y[:, -1]) ** 2).mean().backward()
    optimizer.step()
unit = UnitConfig(task, noise_std, context_length, 0)
same = pretrain([unit], steps, batch_size, learning_rate, schedule="constant")
print(f"largest difference: {np.abs(same.M[0] - M.detach().numpy()).max():.0e}")

# %% [markdown]
# The other combinations of the slide are trained with the same plain steps. Units with the same seed see the same tokens and
# noise for all $L$.

# %%
rates = {"ReLU": relu_rate, "cosine": cosine_rate, "wave": cosine_rate}
others = [(kind, law) for kind in ("ReLU", "cosine") for law in pretraining.LAWS]
grown = [plain[plain.seed < seeds]]
for kind, law in [*others[1:], ("wave", "isotropic")]:
    rate = rates[kind]
    grown.append(pretraining.grow(setting, kind, law, seeds, record, rate))
grown = pd.concat(grown, ignore_index=True)
edge = pretraining.cosine_edge(setting)

# %% tags=["hide-input"]
norms = grown[grown.step > 0].assign(panel=grown.kind + ", " + grown.law)
middle = tables.medians(norms, "norm", ["panel", "step", "L"])
names = ["ReLU, non-isotropic", "cosine, isotropic", "cosine, non-isotropic"]
figure, axes = plt.subplots(2, 2, figsize=(7.6, 4.0))
panels = dict(zip(names, axes.ravel(), strict=False))
middle, last = (middle[middle.panel.isin(names)], middle[middle.step == steps])
marks = {"col": "panel", "label": "L = {:g}", "markersize": 3.5}
plots.points(panels, middle, "step", "median", "L", **marks)
for name, ax in panels.items():
    ax.set(title=name, xlabel="gradient step", ylabel=r"$\|M\|_2$", ylim=(0, None))
ax = axes[1, 1]
plots.lines(ax, edge, "L", "w", "case")
last = last[last.panel == names[1]]
plots.points(ax, last, "L", "median", "panel", label="trained", color="k")
ax.set(title="cosine: the best w", xlabel="Lipschitz constant L", ylabel="w")
axes[0, 0].legend(fontsize=8)
ax.legend(fontsize=8, loc="upper left")
plt.show()

# %% [markdown]
# ```{caption} fig-norm-growth
# :alt: Three panels of norm against step. In the ReLU panel the points are ordered by L at all times, the largest on top. In
# both cosine panels L = 2 and L = 4 rise quickly, L = 1 slowly, and L = 8 stays near zero. Fourth panel: three curves of
# the best window parameter that rise with L and then drop to zero; four points lie near one of them.
#
# Three panels: spectral norm of $M$ under plain steps, median over seeds with interval. Bottom right: the exact best $w$ of the
# cosine class rises with $L$ and then jumps to a minimum of the risk at zero or near it. Points: units on the sphere.
# ```
#
# Each case of the cards compares an $L$ with the next smaller one, at a quarter, half and the end of the training,
# whichever is least favorable; with Adam also after 20 steps, where the control, plain steps, must be noticed. For cosines
# we read the slide as speaking of waves that the context resolves, where the exact $w^*$ grows with $L$.

# %% tags=["hide-input"]
judged_at = [record[np.searchsorted(record, steps * part)] for part in (0.25, 0.5, 1)]
log_ratio = {"value": "log", "samples": "seed", "labels": ["L", "other"]}
name = "{}, {}, L = {{L:g}} against {{other:g}}".format
every, clear = {}, {}
for (kind, law), units in grown.groupby(["kind", "law"]):
    compared = pretraining.ratios(units, judged_at)
    every[kind, law] = cases(compared, name=name(kind, law), **log_ratio)
    growing = pretraining.resolved(windows, kind, compared)
    clear[kind, law] = cases(growing, name=name(kind, law), **log_ratio)
begin = [step for step in record if step <= 20]
many = (16 * seeds, begin, learning_rate, "adam")
early = pretraining.ratios(pretraining.grow(setting, *sphere, *many), begin[-1:])

# %% tags=["hide-input"]
of_flow = {"value": "ratio", "samples": "seed", "name": "L = {L:g}"}
over_flow = pretraining.over_flow(plain, flow)
display(judge("P1.F3.flow", over_flow, folded=True, **of_flow))
*whitened, same_functions = pretraining.LAWS
adam_early = cases(early, name=name("Adam", f"step {begin[-1]}"), **log_ratio)
judge(
    "P1.F3.relu",
    [every["ReLU", law] for law in whitened],
    readings={
        "an ellipsoid, and the functions of the sphere": every["ReLU", same_functions],
        "with Adam, and from the start": adam_early,
    },
)

# %% tags=["hide-input"]
readings = {
    "also waves too short for the context": [every["cosine", law] for law in whitened],
    "a uniform phase is added": clear["wave", "isotropic"],
    "an ellipsoid, and the functions of the sphere": clear["cosine", same_functions],
}
resolved = [clear["cosine", law] for law in whitened]
display(judge("P1.F3.cosine", resolved, readings=readings))
ratio = log_ratio | {"value": "ratio"}
against = "L = {L:g} against {other:g}"
few = plain[plain.seed < seeds]
of_adam, of_plain = (pretraining.ratios(some, begin[-1:]) for some in (adam, few))
judge(
    "P1.F3.adam",
    cases(of_adam, name=f"{against}, step {begin[-1]}", **ratio),
    cases(of_plain, name=f"plain steps, {against}", **ratio),
    folded=True,
)

# %% [markdown]
# ## Experiment 2: all matrices free
#
# Tokens are $z=(x,y)$, and the query's label slot is empty. A full unit has $(d+1)\times(d+1)$ matrices $W_K$, $W_Q$ and the
# last row $(v^\top,c)$ of $W_V$; the other rows never reach the prediction.

# %%
d = dims[len(dims) // 2]
widths = sorted({1, d - 1, d, d + 1, 4 * (d + 1), 8 * (d + 1)})
every_unit = learned.settings(dims, noise_std, noise_stds, widths)
training = tables.Training(seeds, full_steps, batch_size, 0.03, notebook.device())
full = learned.train_full(every_unit, lipschitz, context_length, training)
usual = full[(full.sigma == noise_std) & (full.width == full.d + 1)]
relu, leaning = (usual[usual.kind == kind] for kind in ("ReLU", "leaning"))
few = batch_size // 16  # contexts at each step, to see the noise of the gradient
usual_units = every_unit[(every_unit.kind == "ReLU") & (every_unit.sigma == noise_std)]
usual_units = usual_units[usual_units.width == usual_units.d + 1]
small_batch = training._replace(batch_size=few)
noisy = learned.train_full(usual_units, lipschitz, context_length, small_batch)

# %% tags=["hide-input"]
first = relu[relu.seed == 0].set_index("d")
ratios = {"squeeze": False, "height_ratios": [5, 1]}
figure, axes = plt.subplots(2, len(dims), figsize=(7.6, 2.8), **ratios)
for (top, bottom), k in zip(axes.T, dims, strict=True):
    names = [*(f"$x_{i + 1}$" for i in range(k)), "$y$"]
    A, values = first.scores[k], first["values"][k]
    plots.matrix(top, A, names, names, fmt=".1f", limit=np.abs(A[:k, :k]).max())
    plots.matrix(bottom, values[None], (), names, fmt=".2f", limit=1.2)
    top.set_title(f"d = {k}")
axes[0, 0].set_ylabel(r"$W_K^\top W_Q$")
axes[1, 0].set_ylabel(r"$(v^\top, c)$")
plt.show()

# %% [markdown]
# ```{caption} fig-blocks
# :alt: For each dimension a heat map with printed entries: a diagonal of equal positive numbers, zeros elsewhere except in
# the last column, whose entries are arbitrary and sizable. Below, a row that is zero except for its last entry, near one.
#
# Everything that the full unit of seed 0 has learned, ReLU class. Top: $W_K^\top W_Q$, rows for the entries of a token,
# columns for those of the query. Bottom: the last row of $W_V$.
# ```
#
# The last column of $W_Q$ meets the empty label slot only. So it gets no gradient and keeps what it was at the start. In the
# control all functions lean the same way: a label then says where its token lies, and units use it.

# %% tags=["hide-input"]
by_dim = {"samples": "seed", "labels": ["d"]}
column = cases(relu, "last", name="last column of $W_Q$, d = {d}", **by_dim)
judge(
    "P1.P.block",
    cases(relu, "outside", name="ReLU, d = {d}", **by_dim),
    cases(leaning, "outside", name="leaning functions, d = {d}", **by_dim),
    {"a random start of all entries": column},
)

# %% [markdown]
# The rebuttal says more, and it holds: the prediction ignores the first $d$ rows of $W_V$; the best $v$ is zero; a wider
# $W_K$ does not change the best $M$. For $v$, replace $(f,\epsilon)$ by $(-f,-\epsilon)$: $v^\top\sum_i\omega_ix_i$ stays, the
# rest of the error changes sign. So the mixed term of the square vanishes on average, and $v$ only adds error. What training
# leaves of $v$ is gradient noise: at a fixed number of steps it falls with the batch, by the sketch
# [behind a nonlinear link](/notebooks/theorem4_low_rank.ipynb) like $b^{-3/8}T^{-1/4}$ in $T$ steps of $b$ contexts each.

# %% tags=["hide-input"]
farthest = (relu["last"] - 1).abs().groupby(relu.d).idxmax()
nearest = (relu["first"] - 1).abs().groupby(relu.d).idxmin()
one_seed = {"labels": ["d", "seed"]}
numbered = "d = {d}, seed {seed}"
kept = cases(relu.loc[farthest], "last", name=f"column d + 1, {numbered}", **one_seed)
moved = cases(relu.loc[nearest], "first", name=f"column 1, {numbered}", **one_seed)
display(judge("P1.P.column", kept, moved, folded=True))
changes = learned.redrawn(dims[0], context_length)
rows = cases(changes, "rows", labels=[], name="first d rows")
redrawn = cases(changes, "columns", labels=[], name="first d columns")
display(judge("P1.B1.rows", rows, redrawn, folded=True))
added = learned.added_errors(dims, lipschitz, noise_std, context_length)
judge("P1.B1.values", added, name="{label}, d = {d}", folded=True)

# %% tags=["hide-input"]
one_unit = (batch_size / few, ["d", "seed"])
falls = tables.exponents(noisy, relu, "leak", *one_unit)
stays = tables.exponents(noisy, relu, "corner", *one_unit)
exponent = {"value": "exponent", "samples": "run", "labels": []}
of_leak = cases(falls, name="|v|/|c|, exponent in the batch", **exponent)
of_corner = cases(stays, name="|c|, exponent in the batch", **exponent)
small_leak = cases(relu, "leak", name="ReLU, d = {d}", **by_dim)
readings = {"|v|/|c| is at most 0.1": small_leak}
display(judge("P1.B1.trained", of_leak, of_corner, readings, folded=True))
wide = full[(full.kind == "ReLU") & (full.d == d) & (full.sigma == noise_std)]
reference = wide[wide.width == d + 1].set_index("seed").window
wide = wide.assign(ratio=wide.window / wide.seed.map(reference), k=wide.width)
by_width = {"samples": "seed", "labels": ["k"], "name": f"width {{k}}, d = {d}"}
enough = cases(wide[(wide.k >= d) & (wide.k != d + 1)], "ratio", **by_width)
judge("P1.P.width", enough, cases(wide[wide.k < d], "ratio", **by_width), folded=True)

# %% [markdown]
# **Exercise 2.** The trained pairs $(W_K,W_Q)$ of two seeds look nothing alike, their products do. Why? What would weight
# decay do to the last column of $W_Q$?
#
# ```{admonition} Solution
# :class: dropdown
# $(RW_K,R^{-\top}W_Q)$ gives the same product for every invertible $R$. Weight decay takes the column to zero, since nothing
# else acts on it.
# ```
#
# ## Experiment 3: the free corner
#
# *By hand.* One token with label $y=f+\epsilon$, a constant function with $\mathbb Ef^2=1$, and $\sigma=1$: the prediction $cy$
# has the risk $(c-1)^2+c^2$, which is $1$ at $c=1$ and $\frac12$ at the best $c=\frac12$. A noisy guess should be shrunk. In
# general $c^*=\mathbb E\,pf(x_q)/\mathbb E\,p^2$ with $p=\sum_i\omega_iy_i$. With little noise $c^*>1$ is possible: a window of
# finite width flattens the function, and $c$ undoes some of that.

# %%
sigmas = np.union1d(noise_stds, np.linspace(min(noise_stds), max(noise_stds), 25))
problem = (d, lipschitz, context_length, sigmas, contexts)
corner = learned.corner_optimum(["affine", "ReLU"], *problem)
corner["price"] = corner.risk_one / corner.risk

# %% tags=["hide-input"]
known = corner.rename(columns={"c": "optimum"})[["kind", "sigma", "optimum"]]
free = full[(full.d == d) & (full.width == d + 1) & full.sigma.isin(noise_stds)]
free = known.merge(free, on=["kind", "sigma"])
middle = tables.medians(free, "corner", ["kind", "sigma"])
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.5))
plots.lines(axes[0], corner, "sigma", "c", "kind", label="{}, best")
plots.points(axes[0], middle, "sigma", "median", "kind", label="{}, trained")
axes[0].axhline(1, color=plots.COLORS["guide"], linestyle=":", label="eq. (4)")
plots.lines(axes[1], corner, "sigma", "price", "kind")
axes[0].set(ylabel="corner c")
axes[1].set(ylabel="risk at c = 1 over least")
for ax in axes:
    ax.set(xlabel=r"standard deviation $\sigma$ of the noise")
    ax.legend(fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-corner
# :alt: Left: two falling curves of the corner against the noise, which start near one and end below nine tenths, with points
# on them and a dotted line at one. Right: two curves of the price of a fixed corner, near one for little noise and rising.
#
# Left: the best corner $c$, together with the best $w$, and trained units (median with interval). Right: what fixing $c=1$
# costs, for functions with a random intercept.
# ```

# %% tags=["hide-input"]
ended = free.rename(columns={"kind": "label", "sigma": "s"})
where = f"d = {d}, n = {context_length}, L = {lipschitz:g}"
name = f"{{label}}, {where}, $\\sigma$ = {{s:g}}"
columns = {"samples": "seed", "labels": ["label", "s", "optimum"], "name": name}
judge("P1.P.corner", ended, value="corner", folded=True, **columns)

# %% [markdown]
# ## Experiment 4: too few contexts or steps
#
# The theorems are about the minimizer of the *population* loss at *one* context length. What if there are only $T$ contexts,
# or $T$ functions, or little time? What if, as in autoregressive training, each length $m\le n$ has a loss?

# %%
middle_L = lipschitz_values[len(lipschitz_values) // 2 - 1]
finite = (ReLU(dim, middle_L), noise_std, context_length)
lost = pretraining.finite_contexts(*finite, sizes, draws, contexts)
how = (seeds, steps, learning_rate, contexts)
pool = pretraining.finite_functions(setting, middle_L, pool_sizes, *how)
theory = pretraining.score_constant(*finite) / np.array(sizes)
times, decades = [10.0, 100.0, 1000.0, 10000.0], 10.0 ** np.arange(1, 5)
in_time = pretraining.windows_in_time(*finite[:2], decades, times)

# %% tags=["hide-input"]
figure, axes = plt.subplots(1, 3, figsize=(7.6, 2.7))
plots.exact_curve(axes[0], sizes, theory, "theory, one w")
fresh, lowest = 4 * pool_sizes[-1], theory[-1] / 10
for ax, frame in zip(axes, (lost, pool.replace(np.inf, fresh)), strict=False):
    middle = tables.medians(frame, "excess", ["unit", "T"])
    middle["low"] = middle.low.clip(lower=lowest)
    plots.points(ax, middle, "T", "median", "unit")
    ax.set(xscale="log", yscale="log", ylim=(lowest, 2e3))
axes[1].minorticks_off()
axes[1].set_xticks([*pool_sizes, fresh], [*pool_sizes, "fresh"])
axes[0].set(xlabel="contexts T", ylabel="excess risk, relative")
axes[1].set(xlabel="functions in the pool")
plots.lines(axes[2], in_time, "n", "w", "time", label="t = {:g}")
axes[2].set(xscale="log", yscale="log", xlabel="context length n", ylabel="w")
axes[2].set_ylim(0.2, 1e4)
for ax in (axes[0], axes[2]):
    ax.legend(fontsize=8, loc="upper left")
plt.show()

# %% [markdown]
# ```{caption} fig-finite
# :alt: Three log-log panels. Left: excess risk falls like one over T, for a full matrix above that for one number. Middle: it
# falls with the number of functions in the pool to the level of fresh functions. Right: the window parameter against the
# context length is flat for short training times and follows a rising line for infinite time.
#
# Left: risk lost by minimizing the loss of $T$ contexts, relative to the least. Middle: fresh contexts, functions from a
# pool. Right: exact $w$ after the training time $t$, and of the minimizer ($t=\infty$).
# ```
#
# The loss falls like $1/T$, and the $d^2$ numbers of a full matrix also fit the noise. A moderate pool is enough: a unit can
# adapt to its mean slope and directions and to nothing else. Does the number of steps affect the tightness of the bounds,
# as a summary asks? They are about the minimizer, but longer contexts arrive later, so exponents in $n$ that are read
# off early are too small. *Not answered:* deep networks,
# language, abilities that emerge at scale.
#
# ## To remember
#
# Training follows a path that can be computed, and ends at the computed window. A larger $L$ means a larger $\|M\|$ at the end,
# if the context resolves the functions. Training finds the form of eq. (4), except for a column without a gradient and for the
# corner.

# %% tags=["remove-input"]
notebook.footer()
