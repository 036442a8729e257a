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
# # A window set inside the context
#
# **Short answer.** When the Lipschitz constants of tasks differ widely, setting the
# window inside the context removes most of the price that a fixed window pays
# ({numref}`fig-adaptive`). It is not free: where the fixed window happens to be right,
# choosing from a noisy score costs a little. No choice of window comes close to the
# floor of all predictors linear in the labels when functions are rough; there the
# *shape* of the weights is the limit, not their scale.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [3]  # dimension d of the covariates (the first counts)
lipschitz_values = [0.5, 1.0, 2.0, 4.0, 8.0]  # Lipschitz constants L of the tasks
noise_std = 0.5  # standard deviation sigma of the label noise
n_values = [8, 16, 32, 64]  # context lengths; the figure shows the third
contexts = 3000  # test contexts for every L
window_range = [0.2, 80.0]  # smallest and largest window of the leave-one-out grid
windows_tried = 22  # windows of that grid, in geometric progression

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import matplotlib.pyplot as plt
import numpy as np
import torch

from icl.covariates import uniform_sphere
from icl.risk import bayes_linear_risk, optimal_window, population_risk
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import ReLU
from icl_book import notebook, plots

notebook.setup(globals())

d, n = dims[0], n_values[min(2, len(n_values) - 1)]

# %% tags=["hide-input"]
L = np.array(lipschitz_values)
L_rms = float(np.sqrt(np.mean(L**2)))
fixed = {m: float(optimal_window(ReLU(d, L_rms), m, noise_std).w) for m in n_values}


def known(m):
    """Return the optimal window of every L, and its risk."""
    found = [optimal_window(ReLU(d, one), m, noise_std) for one in L]
    return np.array([float(b.w) for b in found]), np.array(
        [float(b.risk) for b in found]
    )


w_known, risk_known = ({m: known(m)[i] for m in n_values} for i in (0, 1))


def price_of_fixed(m):
    """Compute the exact risk at the fixed window over that at the own, for each L."""
    risks = [population_risk(ReLU(d, one), fixed[m], m, noise_std).total for one in L]
    return np.array([float(risk) for risk in risks]) / risk_known[m]


exact_fixed = price_of_fixed(n)

# %% tags=["hide-input"]
windows = np.geomspace(*window_range, windows_tried)


def draw(m):
    """Draw cosines among examples and with the query, labels, clean query labels.

    Shapes (contexts, m, m), (contexts, m), (L, contexts, m) and (L, contexts).
    """
    x = uniform_sphere(stream(0, "evaluation", m), contexts, m + 1, d)
    f = ReLU(d, 1.0).sample(stream(1, "evaluation", m), contexts)(x)  # times L
    normal = stream(2, "evaluation", m).standard_normal((contexts, m))
    scale = torch.from_numpy(L)[:, None, None]
    y = scale * f[:, :-1] + noise_std * torch.from_numpy(normal)
    cosine = (x @ x.mT).clamp(-1, 1).float()
    return cosine[:, :-1, :-1], cosine[:, :-1, -1], y, scale[..., 0] * f[:, -1]


def leave_one_out(among, near, y):
    """Predict with the best window of the grid, and with all by their scores."""
    m, labels = y.shape[-1], y.permute(1, 2, 0).float()  # (contexts, m, L)
    self_attention, scores, guesses = torch.eye(m).bool(), [], []
    for w in windows:
        weights = torch.softmax((w * among).masked_fill(self_attention, -torch.inf), -1)
        scores.append(((labels - weights @ labels) ** 2).sum(1).T)
        guesses.append((torch.softmax(w * near, -1).unsqueeze(1) @ labels)[:, 0].T)
    scores, guesses = torch.stack(scores), torch.stack(guesses)  # (grid, L, contexts)
    best = guesses.gather(0, scores.argmin(0, keepdim=True))[0]
    share = torch.softmax(-m * (scores - scores.amin(0)) / (2 * scores.amin(0)), 0)
    return best.double(), (share * guesses).sum(0).double()


# %% tags=["hide-input"]
ratios = np.geomspace(L.min(), L.max(), 25) / noise_std  # of L and sigma
variogram = ReLU(d, 1.0).variogram


def plug_in(among, y):
    """Fit L^2 and sigma^2 to the pairs of each context; its window, (L, contexts)."""
    m = y.shape[-1]
    i, j = np.triu_indices(m, 1)
    angles = np.arccos(among[:, i, j].double().numpy())
    gamma = torch.from_numpy(variogram(angles))  # (contexts, pairs)
    half = (y[..., i] - y[..., j]) ** 2 / 2
    centered = gamma - gamma.mean(-1, keepdim=True)
    slope = (half * centered).sum(-1) / (centered**2).sum(-1)
    level = half.mean(-1) - slope * gamma.mean(-1)
    square = (slope / level.clamp(min=1e-12)).clamp(min=0)  # all signal if no noise
    ratio = square.sqrt().numpy().clip(ratios[0], ratios[-1])
    table = [float(optimal_window(ReLU(d, r), m, 1.0).w) for r in ratios]
    return np.interp(np.log(ratio), np.log(ratios), table)


def squared_errors(m):
    """Compute the squared error of every method for every L and context."""
    among, near, y, clean = draw(m)

    def attend(w):
        w = torch.as_tensor(w).double().expand(len(L), contexts)
        return (torch.softmax(w.unsqueeze(-1) * near.double(), -1) * y).sum(-1)

    best, averaged = leave_one_out(among, near, y)
    predictions = {
        "known L": attend(w_known[m][:, None]),
        "fixed": attend(fixed[m]),
        "leave-one-out": best,
        "averaged": averaged,
        "plug-in": attend(plug_in(among, y)),
    }
    return {name: ((guess - clean) ** 2).numpy() for name, guess in predictions.items()}


# %% tags=["hide-input"]
def compare(m):
    """Estimate risks over the exact risk at the known L's window: mean, low, high.

    The difference to the known-L window is paired.
    """
    errors, scale = squared_errors(m), risk_known[m][:, None]
    base = errors.pop("known L")
    out = {"known L": t_interval(base / scale)}
    return out | {k: t_interval(1 + (v - base) / scale) for k, v in errors.items()}


compared = {m: compare(m) for m in n_values}
found = compared[n]
floors = [bayes_linear_risk(ReLU(d, one), n, noise_std, 2000).mean for one in L]
methods = ["fixed", "leave-one-out", "averaged", "plug-in"]
floor = np.array([float(value) for value in floors]) / risk_known[n]

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Risk relative to the exact risk at the optimal window for the task's own $L$, against $L$; ReLU class, noise known to no method. Points: means over contexts with intervals (differences paired), shifted for legibility. Solid line: the fixed window of the mixture, exact. Gray line: the Bayes-linear floor (kriging with known $L$ and $\\sigma$). One, dotted: the known-$L$ window.", "name": "fig-adaptive"}, "image": {"alt": "Relative risk against L on a logarithmic axis. The fixed window is far above one for small L and near one for the largest L. The three methods that set the window in the context stay much closer to one at all L. The gray floor is below one and falls for large L."}}
figure, ax = plt.subplots(figsize=(6.6, 3.9))
plots.exact_curve(ax, L, exact_fixed, "fixed window, exact", plots.COLORS["exact"])
ax.plot(L, floor, color=plots.COLORS["guide"], label="Bayes-linear floor")
ax.axhline(1, linestyle=":", color=plots.COLORS["guide"])
looks = zip(methods[1:], (0.93, 1.0, 1.075), "os^", plots.PALETTE, strict=False)
for name, shift, marker, color in looks:
    plots.sampled_points(ax, L * shift, *found[name], name, color, marker)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="Lipschitz constant L of the task",
    ylabel="risk / risk at known L",
    title=f"d = {d}, n = {n}",
)
ax.set_xticks(L, [f"{one:g}" for one in L])
ax.set_xticks([], minor=True)
ax.set_yticks([0.3, 0.5, 1, 2, 3], ["0.3", "0.5", "1", "2", "3"])
ax.tick_params(which="minor", labelleft=False)
ax.legend(fontsize=9)
plt.show()

# %% [markdown]
# ## The questions
#
#
# **Machine-written summary of paper 1,** *question 10*: "What implications do your
# findings have for designing better attention mechanisms that can more rapidly adapt to
# downstream tasks?"
#
# In the paper the window is learned by pretraining and then fixed. Here a unit sets
# $w$ anew in each context, without any training, by *leave-one-out*: the window that
# best predicts each label of the context from the others.
#
# ## What a fixed window can do
#
# Let tasks be of the ReLU class with $L$ drawn from the list. Softmax attention with $M=wI$ has a risk that depends on the class through its covariance alone, and the
# covariance of the mixture is that of the ReLU class with
#
# $$L_{\rm rms}=\sqrt{\tfrac1m\textstyle\sum_{k\le m}L_k^2} .$$
#
# So *pretraining on a mixture of Lipschitz constants finds, exactly, the window of their root mean square*, which the roughest tasks
# dominate. The price for a task with constant $L$ is the exact risk at that window over the risk at its own.
#
# **Exercise 1.** Why does the mixture's optimal window follow the root mean square of
# $L$ and not the median?
#
# ```{admonition} Solution
# :class: dropdown
# The risk is linear in the class covariance, which is proportional to $L^2$; the mean
# over tasks replaces $L^2$ by its mean.
# ```

# %%
plots.table(
    ["Lipschitz constant $L$", *(f"{one:g}" for one in L)],
    [
        ["own window $w^*$", *(f"{w:.2f}" for w in w_known[n])],
        ["price of the fixed window", *(f"{price:.2f}" for price in exact_fixed)],
    ],
    rf"Exact, n = {n}, d = {d}, $\sigma$ = {noise_std:g}. "
    rf"The fixed window, that of $L_{{\rm rms}}$ = {L_rms:.2f}, is w = {fixed[n]:.2f}",
)


# %% [markdown]
# ## Four ways to set it in the context
#
# - **Leave-one-out.** $w$ with the smallest
#   $S(w)=\sum_i\big(y_i-\hat f_{-i}(x_i;w)\big)^2$ on a grid, where $\hat f_{-i}$
#   attends to all other tokens. This is itself attention of the context to itself, with
#   the diagonal masked: $n^2$ scores for each candidate in place of $n$.
# - **Averaged leave-one-out.** All windows of the grid are used, with weights proportional to $e^{-S(w)/(2s^2)}$, $s^2=\min_w S(w)/n$: several heads, mixed by how
#   well they predict the context. Smoother than a choice.
# - **Plug-in.** For pairs,
#   $\mathbb E\,\frac12(y_i-y_j)^2=L^2\gamma_1(\theta_{ij})+\sigma^2$ with the
#   {term}`variogram` $\gamma_1$ of the class at $L=1$. A least-squares line through the
#   pairs gives $L^2$ and $\sigma^2$, clipped to the range of the list's $L/\sigma$, and
#   the exact optimal window for their ratio.
# - **Known $L$.** The exact $w^*(L)$: what pretraining on that $L$ alone would give. Not available in practice.
#
# *By hand.* Three tokens in a row with labels $0,1,0$, the middle one equally far from both others: leaving the middle out predicts $0$ for its label
# $1$ at every window; the outer ones are predicted best by the far token, so a wide window scores best.
# Labels that look like noise widen the window.
#
# **Exercise 2.** Leave-one-out scores windows for contexts of $n-1$ tokens. In which
# direction does that bias $w$?
#
# ```{admonition} Solution
# :class: dropdown
# Toward smaller $w$: shorter contexts have wider optimal windows. The effect is of
# order $1/n$.
# ```


# %% tags=["hide-input"]
def cell(name, k):
    """Write a relative risk with its interval."""
    mean, low, high = (values[k] for values in found[name])
    return f"{mean:.2f} {plots.interval((low, high))}"


rows = [
    [f"{one:g}", *(cell(name, k) for name in ["known L", *methods]), f"{floor[k]:.2f}"]
    for k, one in enumerate(L)
]
plots.table(
    ["$L$", "known $L$ (check)", *methods, "Bayes-linear floor"],
    rows,
    "Risk over the exact risk at known $L$, with interval; "
    rf"d = {d}, n = {n}, $\sigma$ = {noise_std:g}, {contexts} contexts. "
    "The check samples the known-L window itself: its intervals must contain one. "
    "The floor is sampled as well",
)

# %% [markdown]
# ## How fast it adapts
#
# The same for each context length: the geometric mean over $L$ of the relative risk, and the worst $L$. For the fixed window
# both are exact.


# %% tags=["hide-input"]
def summary(prices):
    """Write the geometric mean over L and the largest."""
    return f"{np.exp(np.mean(np.log(prices))):.2f}, {max(prices):.2f}"


rows = [
    [
        f"{m}",
        summary(price_of_fixed(m)),
        *(summary(compared[m][name][0]) for name in methods[1:]),
    ]
    for m in n_values
]
plots.table(
    ["$n$", *methods],
    rows,
    "Risk over the exact risk at known $L$: "
    "geometric mean over $L$, then the largest over $L$",
)

# %% tags=["hide-input"]
wins, losses = [], []
for name in methods[1:]:
    _, low, high = found[name]
    wins += [f"{name} at L = {one:g}" for one in L[high < 1]]
    losses += [f"{name} at L = {one:g}" for one in L[low > exact_fixed]]
notebook.glue("fixed_worst", max(exact_fixed))
notebook.glue("loo_worst", max(found["leave-one-out"][0]))
notebook.glue("averaged_worst", max(found["averaged"][0]))
notebook.glue("wins", "; ".join(wins) or "none")
notebook.glue("losses", "; ".join(losses) or "none")

# %% [markdown]
# At the context length of the figure, the worst price is {glue:text}`fixed_worst:.2f` for the fixed window, {glue:text}`loo_worst:.2f` for
# leave-one-out, and {glue:text}`averaged_worst:.2f` for its averaged form.
#
# - Clearly *worse* than the fixed window: {glue:text}`losses`.
# - Clearly *better* than the window of the known $L$: {glue:text}`wins`. It would be possible: $L$ bounds the slopes, but each context has slopes of its own
#   (drawn from $[-L,L]$), and a rule that reads the labels can follow them.
#
# ## Limits
#
# One class and one noise level. The methods are given the shape $M=wI$; learning
# *directions* in the context is not tried. Whether pretraining *finds* leave-one-out is
# *not answered*: no network that could compute it was trained.

# %% tags=["remove-input"]
notebook.footer()
