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
# # The norm of M during pretraining
#
# **Short answer.** For the ReLU class the sentence of the slides holds under plain
# gradient steps, from the first one on: $\|M\|$ grows faster for a larger Lipschitz
# constant $L$ ({numref}`fig-norm-growth`). With Adam the curves start together and only
# end in the order of $L$ {judged}`P1.F3.adam`. For the cosine class the sentence holds
# as long as the exact optimal window still grows with $L$; for waves shorter than the
# distance between tokens $M$ does not grow {judged}`P1.F3.cosine`.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dim = 3  # dimension d of the covariates
context_length = 20  # tokens n in a context
noise_std = 0.3  # standard deviation sigma of the label noise
lipschitz_values = [1.0, 2.0, 4.0, 8.0]  # Lipschitz constants L
seeds = 10  # units of each setting
steps = 320  # gradient steps
batch_size = 128  # fresh contexts at each step
relu_rate = 0.5  # size of the plain gradient steps, ReLU class
cosine_rate = 20.0  # the same, cosine class
learning_rate = 0.1  # constant step size of Adam

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.special import gamma, jv

from icl.covariates import Ellipsoid
from icl.pretrain import train_grid
from icl.pretrain.metrics import spectral_norm
from icl.risk import optimal_window, population_flow, population_risk
from icl.statistics import t_interval
from icl.tasks import Cosine, Projected, ReLU, Zonal
from icl_book import notebook, plots
from icl_book.claims import judge, sampled

notebook.setup(globals(), lipschitz_values=2)


@dataclass(frozen=True)
class Wave(Cosine):
    """``f(x) = cos(L u.x + phase)`` with a phase uniform on the circle."""

    def covariance(self, cosine):
        r = self.lipschitz * np.sqrt(2 - 2 * np.clip(cosine, -1, 1))
        r, nu = np.maximum(r, 1e-8), self.dim / 2 - 1
        return gamma(nu + 1) * (2 / r) ** nu * jv(nu, r) / 2

    def spectrum(self, degree):
        return Zonal.spectrum(self, degree)

    def variogram(self, theta):
        return Zonal.variogram(self, theta)

    def sample(self, rng, count):
        u = torch.as_tensor(rng.standard_normal((count, self.dim)))
        u = u / u.norm(dim=1, keepdim=True)
        phase = torch.as_tensor(rng.uniform(0, 2 * np.pi, (count, 1)))

        def f(x):
            inner = torch.einsum("bd,bnd->bn", u.to(x), x)
            return (self.lipschitz * inner + phase.to(x)).cos()

        return f


CLASSES = {"ReLU": ReLU, "cosine": Cosine, "wave": Wave}
DRAWN = ("ReLU", "cosine")
RATES = {"ReLU": relu_rate, "cosine": cosine_rate, "wave": cosine_rate}

# %% tags=["hide-input"]
axes_lengths = np.linspace(1.5, 0.5, dim)  # of Sigma^{1/2}
root = np.diag(axes_lengths)
LAWS = {
    "isotropic": lambda task: (task, None),
    "non-isotropic": lambda task: (
        Projected(task, np.linalg.inv(root)),
        Ellipsoid(root),
    ),
    "non-isotropic, same functions": lambda task: (task, Ellipsoid(root)),
}
start_step = min(20, steps)  # where the start of the growth is looked at
record = tuple(
    np.unique([start_step, *np.linspace(0, steps, 17).round()]).astype(int).tolist()
)


def train(name, law, count=seeds, last=steps, **more):
    """Train units; return M at the recorded steps, shape (times, L, seeds, d, d)."""
    classes = [LAWS[law](CLASSES[name](dim, L)) for L in lipschitz_values]
    tasks, tokens = map(list, zip(*classes, strict=True))
    grid = train_grid(
        tasks,
        noise_std,
        context_length,
        count,
        last,
        batch_size,
        device=notebook.device(),
        covariates=tokens,
        schedule="constant",
        record=[t for t in record if t <= last],
        **more,
    )
    return grid.M_history


trained = [(name, law) for name in DRAWN for law in LAWS] + [("wave", "isotropic")]
plain = {
    (name, law): train(name, law, learning_rate=RATES[name], optimizer="sgd")
    for name, law in trained
}
norms = {key: spectral_norm(M) for key, M in plain.items()}

# %% tags=["hide-input"]
windows = {}
for name, task in CLASSES.items():
    found = [
        optimal_window(task(dim, L), context_length, noise_std)
        for L in lipschitz_values
    ]
    windows[name] = np.array([each.w for each in found])
# where ||M|| ends, over w*: ||Sigma^{-1}||
ends = {"isotropic": 1.0, "non-isotropic": axes_lengths.min() ** -2.0}
clock = relu_rate * np.array(record)
flow = [
    population_flow(ReLU(dim, L), context_length, noise_std, clock)
    for L in lipschitz_values
]
notebook.glue("units", len(plain) * len(lipschitz_values) * seeds)
notebook.glue("contexts", f"{steps * batch_size:,}")

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Spectral norm of $M$ against the number of plain gradient steps, four panels as in Figure 3 of the paper: ReLU and cosine class (columns), isotropic and non-isotropic tokens in the whitened reading (rows). Points: mean over seeds with interval, one color and marker for each Lipschitz constant. Solid lines, top left: the exact population flow of $w$, nothing fitted. Horizontal dotted lines: where the exact theory ends, $w^*\\Vert\\Sigma^{-1}\\Vert$. All quantities are dimensionless.", "name": "fig-norm-growth"}, "image": {"alt": "Four panels of norm against step. In both ReLU panels the four curves are ordered by L at all times, the largest L on top; on the sphere they follow solid lines. In both cosine panels L = 2 and L = 4 rise quickly, L = 1 slowly, and L = 8 stays near zero, below all others or close to L = 1."}}
figure, panels = plt.subplots(2, 2, figsize=(7.6, 6.2), sharex=True)
colors = plots.ramp(len(lipschitz_values))
for row, law in zip(panels, ends, strict=True):
    for ax, name in zip(row, DRAWN, strict=True):
        for i, (L, color) in enumerate(zip(lipschitz_values, colors, strict=True)):
            if (name, law) == ("ReLU", "isotropic"):
                plots.exact_curve(ax, record, flow[i], None, color, linewidth=1.2)
            mean, low, high = t_interval(norms[name, law][1:, i])
            style = {"color": color, "marker": "osD^vP"[i % 6], "markersize": 4}
            plots.sampled_points(ax, record[1:], mean, low, high, f"L = {L:g}", **style)
            level = windows[name][i] * ends[law]
            ax.axhline(level, color=color, linestyle=":", linewidth=1)
        top = 1.15 * norms[name, law].mean(-1).max()
        ax.set(title=f"{name}, {law}", ylim=(0, top))
for ax in panels[-1]:
    ax.set_xlabel("gradient step")
for ax in panels[:, 0]:
    ax.set_ylabel(r"$\|M\|_2$")
figure.legend(
    *panels[0, 0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=len(lipschitz_values),
    fontsize=9,
)
plt.show()

# %% [markdown]
# ## What is printed
#
# > **ITA slides, "Empirical Scaling of ||M|| with L".** $\|M\|$ grows faster during
# > pretraining with larger $L$, on both ReLU and Cosine tasks, with both isotropic and
# > non-isotropic $x_i$.
#
# A reviewer describes the same picture as Figure 3: the *spectral* norm of $M$
# increases with the Lipschitz constant. Neither the values of $L$, nor $d$, $n$,
# $\sigma$, nor the optimizer, nor what exactly "non-isotropic" means is in any source
# available to us.
#
# Nothing here says that one of the slide's four panels is wrong.

# %% [markdown]
# ## In plain words
#
# Rough functions (**larger** $L$) need **narrow** windows, that is **large** $\|M\|$. So their units have further to go, and
# their errors, which drive the gradient, are larger too. But there is a limit: if a function wiggles several times between
# neighboring tokens, then no token says anything about the query, the best prediction is the plain mean, and the best
# window is infinitely **wide**: $M=0$.
#
# ## By hand: the first step
#
# At $M=0$ all weights are $\frac1n$. Move to $M=wI$ with small $w$: $\omega_i\approx\frac1n\big(1+w(t_i-\bar t)\big)$ with
# $t_i=x_i\cdot x_q$. Take $f(x)=\ell\,q\cdot x$. Then
#
# $$\begin{aligned}\frac{d}{dw}\mathbb E(\hat f-f)^2\Big|_0
#   &= 2\,\mathbb E\Big[(\hat f-f)\,\frac1n\sum_i(t_i-\bar t)f(x_i)\Big]\\
#   &= -\frac{2\,\mathbb E\ell^2}{d}\,\mathbb E\Big[\frac1n\sum_i(t_i-\bar t)\,t_i\Big]
#   = -\frac{2\,\mathbb E\ell^2}{d^2}\Big(1-\frac1n\Big).\end{aligned}$$
#
# The ReLU class has a linear part with $\mathbb E\ell^2=L^2/6$ and a part even in $q\cdot x$ that adds nothing here. The
# gradient of the matrix is $\frac1d$ of this times $I$, so the first step of size $\eta$ reaches
#
# $$w_1 = \eta\,\frac{L^2}{3d^3}\Big(1-\frac1n\Big).$$
#
# **Twice the $L$, four times the first step.** With $d=3$, $n=\infty$, $\eta=81$ and $L=1$: $w_1=1$. For the cosine class,
# which is even, the same derivative is **zero**: $M=0$ is a stationary point, and only the second derivative and the
# randomness of the batches decide what happens.
#
# **Exercise 1.** Which power of $L$ replaces $L^2$ in the first step if the step size
# is divided by the loss at $M=0$?
#
# ```{admonition} Solution
# :class: dropdown
# None: loss and gradient are both proportional to $L^2$ (for small noise), so their
# ratio does not depend on $L$.
# ```

# %%
rows = []
for L in lipschitz_values:
    at_zero = population_risk(ReLU(dim, L), 0.0, context_length, noise_std)
    by_hand = L**2 / 3 / dim**3 * (1 - 1 / context_length)
    rows.append((f"L = {L:g}", f"{-at_zero.slope / dim:.5f}", f"{by_hand:.5f}"))
plots.table(
    ("ReLU class", "exact speed at $M=0$", "by hand"),
    rows,
    "Speed of $w$ under gradient flow from $M=0$, per unit of time",
)

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | isotropic tokens | uniform on the unit sphere |
# | non-isotropic tokens | $x=\Sigma^{1/2}u$ with axes of different lengths, in two readings: functions symmetric in the whitened coordinates (what Lemma 1 needs, drawn), and the same functions as for the sphere (judged as well) |
# | optimizer | not printed; plain gradient steps (drawn), and Adam in a section of its own: it changes the answer |
# | $\Vert M\Vert$ | spectral norm (reviews) |
# | $f(x)=\cos(Lu\cdot x)$ with $u\sim U(S^{d-1})$ | our declared choice, no source prints the formula; $\cos(Lu\cdot x+\phi)$ with a uniform phase is judged as well |
# ```
#
# **Declared choices.** Start at $M=0$; plain gradient steps of constant size, one for each class (`RATES`): at most a fifth of the inverse of
# the largest positive curvature of the exact risk along $wI$, so that steps are close to the flow. Units of one seed see the same tokens and
# noise for all $L$; intervals are over seeds.
#
# ```{admonition} What trial runs changed
# :class: dropdown
# $d$, $n$, $\sigma$ and the list of $L$ were fixed from the exact $w^*$, before training,
# so that the last cosine has $w^*=0$: the edge is on the page because we put it there.
# After a first run the norms were compared by logarithms (the ratio has a heavy tail
# where the smaller norm is near zero), the training was shortened by a fifth, and
# Adam's step was doubled so that its curves branch within the page. P1.F3.flow has four
# times as many units since two of three replications had left it open.
# ```
# %% [markdown]
# ## The experiment

# %% [markdown]
# What the exact theory says: the optimal windows, and the flow of the ReLU class.

# %% [markdown]
# {glue:text}`units` units, each on {glue:text}`contexts` contexts. The norm of a random matrix around $wI$ exceeds $w$ a
# little, so the points lie slightly above the flow. Where the flow applies, it can be held against the *mean diagonal* of $M$,
# which has no such bias, over four times as many units. (It does not apply to the other three panels: cosine units leave $M=0$ by chance, not by a
# force, and on an ellipsoid $M$ does not stay a multiple of one matrix on its way.)

# %% tags=["hide-input"]
later = 4 * np.array(record) >= steps  # the last three quarters of the training
many = train("ReLU", "isotropic", 4 * seeds, learning_rate=relu_rate, optimizer="sgd")
diagonal = np.trace(many, axis1=-2, axis2=-1) / dim
flows = np.stack(flow, axis=1)[later]  # (times, L)
over_flow = (diagonal[later] / flows[..., None]).mean(0)  # (L, seeds)
judge("P1.F3.flow", sampled("L = {L:g}", over_flow, L=lipschitz_values))

# %% [markdown]
# ## Does it grow faster with larger L?
#
# Each case compares a Lipschitz constant with the next smaller one: the median over seeds of the logarithm of the ratio of the two norms, at a
# quarter, half and the end of training, whichever is smallest. "Faster" asks for at least one percent more. With Adam, the likely optimizer, the
# start is looked at as well, on sixteen times as many units: these differ little.

# %% tags=["hide-input"]
judged_at = [np.searchsorted(record, steps * part) for part in (0.25, 0.5, 1.0)]
lower, higher = np.array(lipschitz_values[:-1]), np.array(lipschitz_values[1:])


def log_ratios(name, law):
    """Return log ratios of the norms at neighboring L, shape (neighbors, seeds).

    Each is taken at the judged time at which its median over the seeds is smallest.
    """
    ratios = np.diff(np.log(norms[name, law][judged_at]), axis=1)
    worst = np.median(ratios, -1).argmin(0)
    return ratios[worst, np.arange(len(worst))]


def cases(name, law, which=slice(None)):
    """Return a case for each L that is asked for and the next smaller one."""
    return sampled(
        f"{name}, {law}, L = {{L:g}} against {{other:g}}",
        log_ratios(name, law)[which],
        L=higher[which],
        other=lower[which],
    )


starting = train(
    "ReLU", "isotropic", 16 * seeds, start_step, learning_rate=learning_rate
)
with_adam = sampled(
    f"Adam, step {start_step}, L = {{L:g}} against {{other:g}}",
    np.diff(np.log(spectral_norm(starting[-1])), axis=0),
    L=higher,
    other=lower,
)
*whitened, same = LAWS
judge(
    "P1.F3.relu",
    [cases("ReLU", law) for law in whitened],
    readings={
        "an ellipsoid, and the functions of the sphere": cases("ReLU", same),
        "with Adam, and from the start": with_adam,
    },
)

# %% [markdown]
# For cosines the exact theory says which way each comparison must go: $\|M\|$ should grow where the exact $w^*$ grows from the
# smaller to the larger $L$, and shrink where it falls. We read the slide as speaking of the first kind, waves that the context
# resolves. All waves stand beside it as a reading of its own, and so does a cosine with a uniform phase, whose exact windows
# tell the two kinds apart in the same way.

# %% tags=["hide-input"]
resolved = {name: np.diff(windows[name]) > 0 for name in CLASSES}
judge(
    "P1.F3.cosine",
    [cases("cosine", law, resolved["cosine"]) for law in whitened],
    readings={
        "also waves too short for the context": [
            cases("cosine", law) for law in whitened
        ],
        "a uniform phase is added": cases("wave", "isotropic", resolved["wave"]),
        "an ellipsoid, and the functions of the sphere": cases(
            "cosine", same, resolved["cosine"]
        ),
    },
)

# %% tags=["hide-input"]
rows = []
same_functions = norms["cosine", "non-isotropic, same functions"][-1]
for L, values in zip(lipschitz_values, same_functions, strict=True):
    mean, *limits = t_interval(values)
    rows.append((f"L = {L:g}", f"{mean:.2f}", plots.interval(limits)))
plots.table(
    ("cosine class", "mean spectral norm at the end", "interval"),
    rows,
    "Non-isotropic tokens, same functions",
)

# %% [markdown]
# ## Where the waves become too fast
#
# The exact optimal window of the cosine class against $L$, at two context lengths. It grows with $L$ until the
# context no longer resolves the waves, and then **falls to zero**, or near it. More tokens move the edge to
# larger $L$; more dimensions move it to smaller $L$.
#
# **Exercise 2.** Where is the edge of the cosine class for $d=2$ and $n=20$? Guess from
# the distance to the nearest token, then compute it.
#
# ```{admonition} Solution
# :class: dropdown
# The nearest of 20 tokens on the circle is about $2\pi/40$ away; the edge lies far
# beyond $L=10$.
# ```

# %%
fine = np.linspace(0.5, 12, 24)
lengths = [context_length, 5 * context_length]
tasks = [Cosine(dim, L) for L in fine]
found = np.array([optimal_window(task, lengths, noise_std).w for task in tasks])
edge = {(n, dim): found[:, i] for i, n in enumerate(lengths)}
tasks = [Cosine(dim + 2, L) for L in fine]
edge[context_length, dim + 2] = np.array(
    [optimal_window(task, context_length, noise_std).w for task in tasks]
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Exact optimal window of the cosine class against $L$ (lines; the steep drop, drawn between two neighboring values of $L$, is a jump from one minimum of the risk to the other, at $w=0$ or near it), for several context lengths and one higher dimension (dashed). Points: spectral norm of units at the end of the training above, mean over seeds with interval. All quantities are dimensionless.", "name": "fig-cosine-edge"}, "image": {"alt": "Curves of the optimal window against L that rise and then drop to zero; the drop is at larger L for longer contexts and at smaller L in higher dimension. Four points near the lowest solid curve: three on its rising part, one at L = 8 near zero."}}
figure, ax = plt.subplots(figsize=(6.4, 3.8))
edge_colors = [*plots.ramp(len(lengths)), plots.COLORS["guide"]]
for ((n, d), w), color in zip(edge.items(), edge_colors, strict=True):
    style = "-" if d == dim else "--"
    plots.exact_curve(ax, fine, w, f"n = {n}, d = {d}", color, linestyle=style)
trained = t_interval(norms["cosine", "isotropic"][-1])
label = f"trained, n = {context_length}, d = {dim}"
plots.sampled_points(ax, lipschitz_values, *trained, label)
ax.set(xlabel="Lipschitz constant L", ylabel="window parameter w")
ax.legend(fontsize=9)
plt.show()

# %% [markdown]
# The exact second derivative of the risk at $M=0$ is negative where units leave it (they do so at rate
# $e^{\lambda t}$) and positive where $M=0$ is a minimum and nothing grows:

# %%
small, rows = 0.05, []
for L, best in zip(lipschitz_values, windows["cosine"], strict=True):
    risk = population_risk(Cosine(dim, L), small, context_length, noise_std)
    curvature = risk.slope / small / dim
    rows.append((f"L = {L:g}", f"{-curvature:+.5f}", f"{best:.2f}"))
plots.table(
    ("cosine class", "rate of growth near $M=0$, per unit of time", "exact $w^*$"),
    rows,
    "Whether units leave $M=0$, and for where",
)

# %% [markdown]
# ## With Adam, it does not start faster
#
# Adam divides the gradient by its own size, so a class with twice the $L$ has a gradient four times as large and makes
# the *same* step. The norms start together and part only when the first units come near the end of their way. The control
# is plain gradient steps.

# %% tags=["hide-input"]
adam = spectral_norm(train("ReLU", "isotropic", learning_rate=learning_rate))
early = record.index(start_step)


def start_cases(template, norms):
    """Return cases for the ratios of the norms at the start, at neighboring L."""
    ratios = norms[early, 1:] / norms[early, :-1]
    return sampled(template, ratios, L=higher, other=lower)


template = "L = {L:g} against {other:g}"
start = judge(
    "P1.F3.adam",
    start_cases(f"{template}, step {record[early]}", adam),
    start_cases(f"plain steps, {template}", norms["ReLU", "isotropic"]),
)
start

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The top left panel again with Adam (constant step size): spectral norm of $M$ against the step, ReLU class on the sphere. Points: mean over seeds with interval. Dotted: exact $w^*$. The curves start together. All quantities are dimensionless.", "name": "fig-norm-adam"}, "image": {"alt": "Four curves, one for each L, that coincide during the first steps and then branch off one after the other, the smallest L first, to horizontal dotted lines in the order of L."}}
figure, ax = plt.subplots(figsize=(6.0, 3.4))
for i, (L, color) in enumerate(zip(lipschitz_values, colors, strict=True)):
    style = {"color": color, "marker": "osD^vP"[i % 6], "markersize": 4}
    ends_of = t_interval(adam[1:, i])
    plots.sampled_points(ax, record[1:], *ends_of, f"L = {L:g}", **style)
    ax.axhline(windows["ReLU"][i], color=color, linestyle=":", linewidth=1)
ax.set(xlabel="step of Adam", ylabel=r"$\|M\|_2$", ylim=(0, None))
ax.legend(fontsize=9)
plt.show()

# %% [markdown]
# **Exercise 3.** Set `noise_std=0.03`. The ReLU curves of large $L$ now end close together. Why, and
# which reading of the slides' "pick the nearest neighbor" does this contradict?
#
# ```{admonition} Solution
# :class: dropdown
# Without noise $w^*$ depends on $n$ and $d$ only, not on $L$; at fixed $n$ it stays
# finite as $L/\sigma\to\infty$, against the reading with $n$ fixed (see
# [](/notebooks/phase_diagram.ipynb)).
# ```

# %% tags=["remove-input"]
notebook.footer()
