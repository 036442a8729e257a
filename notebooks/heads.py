# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Several heads: the second is subtracted
#
# *What would a second attention head buy, and how would the layer have to use it?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d of the covariates
more_dims = [5]  # dimensions d of the waves
n_values = [20, 200, 2000, 20000]  # context lengths n of the exact curves
noise_std = 0.5  # standard deviation sigma of the label noise
context_length = 200  # n of the trained layers
seeds = 8  # trained layers for each start
steps = 700  # Adam steps for each layer
batch_size = 32  # fresh contexts in each step
learning_rate = 0.1  # Adam's initial step size, falling linearly to zero
test_contexts = 300  # token sets on which trained layers are compared
draws = 1000  # token sets for each sampled risk of kriging, half for least squares

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize
from scipy.special import ive

from icl.attention import softmax_attention
from icl.covariates import uniform_sphere
from icl.risk import (
    heads_risk,
    kriging_bounds,
    optimal_heads,
    optimal_window,
    population_risk,
)
from icl.streams import NativeStream, stream
from icl.tasks import (
    Affine,
    Cosine,
    Linear,
    PhasedCosine,
    QuadraticRisk,
    ReLU,
    Sign,
)
from icl_book import notebook
from icl_book.claims import (
    attained_cases,
    exact_cases,
    interval_cases,
    judge,
    sampled_cases,
)
from icl_book.figures import plots
from icl_book.measurements import heads as measurements

notebook.setup(globals(), n_values=2)

# Several cells ask for the best pair of the same setting.
find_pair = cache(optimal_heads)

# %% figure={"alt": "Three panels of weight against the angle to the query. In each a dashed curve, for one head, is a positive bump near the query. The solid curve of two heads is a wider positive bump that crosses zero and is followed by a shaded negative lobe: beyond about 100 degrees in the first panel, nearer to the query in the other two.", "name": "fig-lobe"} jupyter={"source_hidden": true} tags=["hide-input"]
largest, longest = max(dims), max(n_values)
degrees = np.linspace(0, 180, 721)
cosines = np.cos(np.radians(degrees))
places = np.sin(np.radians(degrees)) ** (largest - 2)
places /= np.trapezoid(places, degrees)  # the examples at each angle


def share(windows, values):
    """Return the weight of all examples at an angle, per degree, in a long context."""
    each = np.exp(np.outer(windows, cosines) - np.abs(windows)[:, None])
    each /= np.trapezoid(each * places, degrees)[:, None]
    return np.asarray(values) @ each * places


waves = PhasedCosine(largest, 2.0)
extrapolated = measurements.richardson(2)
w_waves, risk_waves, _ = measurements.search_w(waves, extrapolated, longest, noise_std)
pictures = {
    "affine functions": Affine(largest),
    "ReLU functions": ReLU(largest),
}
drawn = []
for title, task in pictures.items():
    pair = find_pair(task, longest, noise_std)
    drawn.append((title, task, pair.windows, pair.values))
drawn.append(("waves", waves, w_waves / np.array([1, 2]), extrapolated))

figure, axes = plt.subplots(1, 3, figsize=(7.6, 3), sharex=True)
for ax, (title, task, windows, values) in zip(axes, drawn, strict=True):
    single = optimal_window(task, longest, noise_std).w
    both = share(windows, values)
    ax.plot(
        degrees, share([single], [1]), "--", color=plots.COLORS["guide"], label="1 head"
    )
    ax.plot(degrees, both, color=plots.COLORS["softmax"], label="2 heads")
    ax.fill_between(
        degrees, both, 0, where=both < 0, color=plots.COLORS["softmax"], alpha=0.3
    )
    ax.axhline(0, color="k", lw=0.6)
    ax.set_title(title, fontsize=10)
    ax.set(xticks=[0, 60, 120, 180], yticks=[0], xlabel="angle to the query, degrees")
lowest = share(drawn[0][2], drawn[0][3]).min()
axes[0].text(96, 0.7 * lowest, "negative\nlobe", ha="right", va="center", fontsize=9)
axes[0].set_ylabel("weight of all examples there")
axes[1].legend(loc="center right", fontsize=9)
plt.show()

# %% [markdown]
# **The negative lobe.** The total weight of all examples at an angle to the query. Dashed: the best single head. Solid: two heads,
# with a wider window and a shaded negative part. [Each panel shows another way](#heads-ways) to this lobe. All panels have $d=5$
# dimensions, $n=20{,}000$ examples and noise of standard deviation $\sigma=0.5$.
#
# **In short.** Softmax weights are positive, so one head can only average, and averages blur. A second head can be *subtracted*. Then
# examples outside the window get negative weights, and this *negative lobe* takes the blur away. With 20,000 examples two heads
# divide the least error of one head by [17](<judged:P1.H.gain|affine, d = 5, n = 20000, 2 heads|.0f>) on affine functions, and by
# [1.8](<judged:P1.H.gain|ReLU, d = 5, n = 20000, 2 heads|.1f>) on functions with a kink. With 20 examples and the same noise they
# gain hardly anything.
#
# <details><summary>How sure?</summary>
#
# - The errors are exact, and we prove that a further head never hurts: [the card](judged:P1.H.gain). The windows of two and three
#   heads come from a search, which may miss better windows. So a second head may be worth a little more than we say.
# - All exact errors are for heads of the form $M_h=w_hI$, on tokens that are uniform on the sphere. A single head is best in this
#   form, among *all* matrices ([the proof](certificates.ipynb#thm-form)). Two heads whose values are both positive are not, as
#   turned heads [below](#heads-trained) show.
# - The rates are proved ([smooth functions](judged:P1.H.rate), [kinks](judged:P1.H.kriging)), with a gap that the theorem names.
#   [Trained layers](judged:P1.H.trained) are sampled in one setting.
# - The tolerances of the cards [on rates](judged:P1.H.rate) and [on the derivative](judged:P1.H.derivative), and the number of
#   functions and the control of the card [on the Bayes risk](judged:P1.H.bayes), were set after a first run.
# - What is known: subtracting a wider kernel makes a kernel of higher order ([Wand and Jones, 1995](cite:wand1995kernel)), and
#   Schucany and Sommers removed bias in this way in 1977. [He et al. (2025)](cite:he2025) show that several heads beat one, and
#   that trained heads have values of opposite sign. What is new: the exact errors, the rate with its constants, and the lower
#   bounds.
# - Values are numbers here. With value matrices, several layers or an MLP a layer can do more. Two layers are in
#   [Beyond one layer](beyond.ipynb).
#
# </details>
#
# <a id="heads-plain"></a>
#
# ## Why
#
# The inputs lie on a sphere. One head of softmax attention gives each example $x_i$ a weight proportional to
# $e^{w\,x_i\cdot x_q}$, where $x_q$ is the query. So the head looks at a [window](#term-window) around the query: the larger the number
# $w$, the narrower the window. The head predicts the weighted mean of the labels.
# This mean is a blurred picture of the function: it flattens hills and fills valleys. A narrow
# window blurs less, but it averages over fewer labels and keeps more of their noise.
#
# Now take a second picture, with twice the blur. The first picture minus the second shows what blurring takes away. Add this
# difference to the first picture. The sum, twice the first picture minus the second, is sharper than both. A layer can do the same:
# it multiplies the outputs of its heads by $2$ and $-1$ and adds them. These factors are called the *values* of the heads. (In a
# transformer they belong to the value and output matrices.) Since subtracting removes blur, both windows can be wide, and wide
# windows average away the noise.

# %% figure={"alt": "Three panels. Left, curves against the angle: a function with hills and valleys, two flatter curves, and a dashed curve close to the function. Middle and right, heat maps of weights, queries against examples, both sorted by angle: in the middle a red band along the diagonal, at the right a wider red band, and a blue one where the example is opposite the query.", "name": "fig-blurs"} jupyter={"source_hidden": true} tags=["hide-input"]
turn = np.linspace(-180, 180, 361)
degrees_of_f = {1: 1.0, 3: 0.5}  # f is cos(angle) + cos(3 angle) / 2


def blur(w):
    """Return what a head of window w sees of f in an infinite context."""
    return sum(
        a * ive(k, w) / ive(0, w) * np.cos(k * np.radians(turn))
        for k, a in degrees_of_f.items()
    )


around = np.sort(stream(3, "evaluation").uniform(-180, 180, 60))
query = np.linspace(-180, 180, 60)
nearness = np.cos(np.radians(query[:, None] - around))


def attend(w):
    """Return the weights of one head, a row for each query."""
    weight = np.exp(w * nearness)
    return weight / weight.sum(axis=1, keepdims=True)


figure, axes = plt.subplots(1, 3, figsize=(7.6, 3), width_ratios=[1.25, 1, 1])
function = sum(a * np.cos(k * np.radians(turn)) for k, a in degrees_of_f.items())
axes[0].plot(turn, function, "k", label="f")
axes[0].plot(turn, blur(8.0), color=plots.PALETTE[0], label="w = 8")
axes[0].plot(turn, blur(4.0), color=plots.PALETTE[3], label="w = 4")
twice = 2 * blur(8.0) - blur(4.0)
axes[0].plot(
    turn, twice, "--", color=plots.PALETTE[1], label="2(w = 8) \N{MINUS SIGN} (w = 4)"
)
axes[0].set(xticks=[-180, 0, 180], xlabel="angle, degrees", ylim=(-1.7, 2.6))
axes[0].legend(loc="upper center", ncols=2, fontsize=9)
maps = {"one head": attend(5.0), "two sides": 2 * attend(1.5) - attend(-2.0)}
strongest = max(weight.max() for weight in maps.values())
for ax, (title, weight) in zip(axes[1:], maps.items(), strict=True):
    ax.imshow(weight, cmap="RdBu_r", vmin=-strongest, vmax=strongest, origin="lower")
    ax.grid(False)
    ax.set(title=title, xticks=[], yticks=[], xlabel="examples, by angle")
axes[1].set_ylabel("queries, by angle")
plt.show()

# %% [markdown]
# **Two blurs and their difference.** Left: a function on the circle, what two heads with $w=8$ and $w=4$ predict of it in a long
# context, and twice the first prediction minus the second. Middle: attention weights of one head with $w=5$. The columns are 60
# random examples and the rows are queries all around the circle, both sorted by angle. Right: the summed weights of two heads,
# $w=1.5$ with the value $2$ and $w=-2$ with the value $-1$. Red is positive, blue is negative. The window is wider than in the
# middle, and what lies opposite the query is subtracted.
#
# <a id="heads-ways"></a>
#
# ### Three ways to the same lobe
#
# Which windows and values make a lobe? There are **three ways**, one in each panel of [the first figure](#fig-lobe):
#
# - **Extrapolation** (right, waves $\cos(2u\cdot x+\varphi)$ with random $u$ and $\varphi$). This is the pair from above: the windows
#   $w$ and $\frac w2$, with the values $2$ and $-1$.
# - **Two sides** (left, affine functions). The second $w$ is negative. So the second head looks *away* from the query, and its mean
#   of the labels there is subtracted.
# - **Merged** (middle, ReLU functions). The two windows nearly coincide, and the values are large and of opposite sign. Such a pair
#   acts like one head together with its [derivative in $w$](#heads-derivative).
#
# How much is the lobe worth? On smooth functions it removes nearly all of the blur. The error then falls faster as the
# number $n$ of examples grows. At a kink or a jump some blur always remains. So there the error falls no faster, and the second head
# only divides the error by a constant.
#
# ## The experiment
#
# How much is a second head worth, and which windows and values does the search find? To try seven dimensions, change
# the line `dim = 5`.

# %% tags=["experiment"]
import pandas as pd

from icl.risk import optimal_heads, optimal_window
from icl.tasks import Affine, ReLU

dim = 5  # or 7, for example
smooth, kinked = Affine(dim), ReLU(dim)
found = []
for task, n in ((smooth, 20), (smooth, 200), (smooth, 20_000), (kinked, 20_000)):
    one = optimal_window(task, n, noise_std=0.5)
    two = optimal_heads(task, n, noise_std=0.5)
    (w_1, w_2), (v_1, v_2) = two.windows, two.values
    gain = float(one.risk) / two.risk
    row = {"functions": task.label, "examples": n, "gain": gain}
    found.append(row | {"w_1": w_1, "w_2": w_2, "v_1": v_1, "v_2": v_2})
pd.DataFrame(found).round(2)

# %% [markdown]
# The *gain* is the least error of one head divided by the least error of two heads. The gain grows with the number of examples,
# because a longer context averages away the noise and leaves the blur. On affine functions the second $w$ is negative. On ReLU
# functions the two $w$ are ten percent apart, and the search does not let them come nearer.
#
# The next figure adds a third head and a *floor*. No weighted sum of the labels has an error below the floor, if its weights do not
# depend on the labels ([formula](#heads-floor)).

# %% jupyter={"source_hidden": true} tags=["hide-input"]
rows = []
for task in (Affine(largest), ReLU(largest)):
    for n in n_values:
        one = optimal_window(task, n, noise_std)
        two = find_pair(task, n, noise_std)
        three = optimal_heads(task, n, noise_std, heads=3)
        row = {"task": task.label, "n": n, "1 head": float(one.risk)}
        row |= {"2 heads": two.risk, "3 heads": three.risk}
        row |= {"w": two.windows.round(2), "v": two.values.round(2)}
        row["floor"] = float(kriging_bounds(task, n, noise_std).lower)
        rows.append(row)
risks = pd.DataFrame(rows)

# %% figure={"alt": "Two panels of least risk against context length on logarithmic axes. Left, affine functions: the curves of two and three heads coincide, and fall much faster than the curve of one head, parallel to the dashed floor. Right, ReLU functions: all curves fall at similar rates, and the curve of three heads lies close to the floor.", "name": "fig-heads"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2))
for ax, (name, part) in zip(axes, risks.groupby("task", sort=False), strict=True):
    ax.plot(part.n, part["1 head"], "o-", label="1 head")
    # the wide line shows beside the thin one where the two coincide
    ax.plot(part.n, part["2 heads"], "-", linewidth=5, alpha=0.45, label="2 heads")
    ax.plot(part.n, part["3 heads"], ".-", linewidth=1, label="3 heads")
    ax.plot(part.n, part.floor, "--", color=plots.COLORS["guide"], label="floor")
    ax.set(xscale="log", yscale="log", title=f"{name} functions, d = {largest}")
    ax.set_xlabel("context length n")
axes[0].set_ylabel("least error")
axes[0].legend()
plt.show()

# %% [markdown]
# **What a second head buys.** The exact least error of one, two and three heads against the context length. Dashed: the floor.
# Left: on affine functions a second head makes the error fall faster. A third head adds nothing, so the curves of two and three
# heads coincide. Right: on ReLU functions more heads come closer to the floor.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
heads_found = risks.melt(
    ["task", "n", "1 head", "floor", "w", "v"],
    ["2 heads", "3 heads"],
    var_name="heads",
    value_name="least",
)
heads_found["gain"] = heads_found["1 head"] / heads_found.least
heads_found["most"] = heads_found["1 head"] / heads_found.floor
heads_found["dim"] = largest
wrong = heads_found[heads_found.heads == "2 heads"].copy()
added = [
    heads_risk(make(largest), row.w, np.abs(row.v), row.n, noise_std)
    for make in (Affine, ReLU)
    for row in wrong.itertuples()
    if row.task == make(largest).label
]
wrong["gain"] = [
    one / float(risk.total) for one, risk in zip(wrong["1 head"], added, strict=True)
]
wrong["error"] = [
    gain * float(risk.error) for gain, risk in zip(wrong.gain, added, strict=True)
]
labels = ["task", "dim", "n", "heads"]
name = "{task}, d = {dim}, n = {n}, {heads}"
judge(
    "P1.H.gain",
    attained_cases(heads_found, "gain", high="most", labels=labels, name=name),
    exact_cases(wrong, "gain", error="error", labels=labels, name=name + ", added"),
)

# %% [markdown]
# **Exercise 1.** The blur of one head is a sum of terms in $\frac1w$, $\frac1{w^2}$ and higher powers. Three heads with the
# windows $w$, $\frac w2$ and $\frac w3$ can cancel the first two terms. Find their values by solving three linear equations.
# What are they for four heads?
#
# <details><summary>Solution</summary>
#
# ```python
# import numpy as np
#
# for many in (2, 3, 4):
#     heads = np.arange(1, many + 1)
#     powers = heads ** np.arange(many)[:, None]  # the windows are w / heads
#     print(np.linalg.solve(powers, np.eye(many)[0]).round(6))
# ```
# The values are $2,-1$, then $3,-3,1$, then $4,-6,4,-1$: binomial coefficients with alternating signs. A head with
# the window $\frac wh$ blurs nearly as much as $h$ heads with the window $w$, one after the other. If the operator
# $T$ is one such blur, the layer therefore applies nearly $1-(1-T)^H$.
#
# </details>
#
# <a id="heads-derivative"></a>
#
# ## One softmax is enough
#
# Two merged heads act like one head together with its derivative in $w$. Let us compute this derivative. Call the weight of an
# example $\omega_i$, its label $y_i$ and its score $s_i=x_i\cdot x_q$. The mean score is $\bar s=\sum_i\omega_is_i$. If $w$ grows,
# the weight $\omega_i$ changes at the rate $\omega_i(s_i-\bar s)$: examples with a score above the mean gain weight. So the
# prediction changes at the rate
#
# $$\frac d{dw}\sum_i\omega_iy_i=\sum_i\omega_i\,(s_i-\bar s)\,y_i.$$
#
# This rate is the covariance of label and score under the weights. A layer computes the covariance with the same softmax and one
# more sum. Now let the layer add $c$ times the covariance to $v$ times its prediction. Then each label has the weight
# $\omega_i\,(v+c\,(s_i-\bar s))$. This weight is negative if the score is far below the mean, so we have a negative lobe again.
#
# How much does the derivative gain? In the next table *gain* is the least error of a single head, divided by that of one head with
# its derivative. Likewise *two* is the gain of two heads. In the longest context *added* is the gain of two heads whose values must
# be positive.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
rows = []
for task in (Affine(largest), ReLU(largest)):
    for n in n_values:
        one = optimal_window(task, n, noise_std).risk
        merged = measurements.search_with_derivative(task, n, noise_std)
        row = {"task": task.label, "dim": largest, "n": n, "gain": one / merged.risk}
        row["two"] = one / find_pair(task, n, noise_std).risk
        if n == longest:
            added, off = measurements.search_added_heads(task, n, noise_std)
            row |= {"added": one / added, "off": off}
        row |= {"w": merged.w, "v": merged.value, "c": merged.coefficient}
        rows.append(row | {"error": merged.error * row["gain"]})
derivatives = pd.DataFrame(rows)
shown = derivatives.drop(columns=["dim", "error", "off"])
shown.style.format(precision=2, na_rep="").hide()

# %% [markdown]
# The derivative is worth nearly as much as a second head. With 20,000 examples it divides the least error by
# [17](<judged:P1.H.derivative|affine, d = 5, n = 20000|.0f>) on affine functions and by
# [1.8](<judged:P1.H.derivative|ReLU, d = 5, n = 20000|.1f>) on ReLU functions. Heads that may only be added gain next to nothing.
# So **subtracting is what counts**, and one softmax is enough for it.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
name = "{task}, d = {dim}, n = {n:g}"
labels = ["task", "dim", "n", "two"]
longest_only = derivatives.dropna(subset="added").copy()
longest_only["error"] = longest_only.off * longest_only.added
judge(
    "P1.H.derivative",
    exact_cases(derivatives, "gain", error="error", labels=labels, name=name),
    exact_cases(
        longest_only, "added", error="error", labels=labels, name=name + ", added"
    ),
)

# %% [markdown]
# On the waves of the first figure the search finds a merged pair that is better than extrapolation:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
best = find_pair(waves, longest, noise_std)
pairs = {
    "extrapolation": (w_waves / np.array([1, 2]), extrapolated, risk_waves),
    "best pair found": (best.windows, best.values, best.risk),
}
pd.DataFrame(
    {
        "pair": name,
        "w_1": windows[0],
        "w_2": windows[1],
        "v_1": values[0],
        "v_2": values[1],
        "error over best": risk / best.risk,
    }
    for name, (windows, values, risk) in pairs.items()
).style.format(precision=2).hide()

# %% [markdown]
# <a id="heads-short"></a>
#
# **In short contexts**, such as the 20 examples of the next table, most of the error is noise and there is little blur to subtract.
# A second head gains more if labels have little noise (third row), or if functions are even, $f(-x)=f(x)$ (last row). On even
# functions the second head looks at the opposite side and is *added*.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
short = []
for task, sigma in (
    (Affine(5), 0.5),
    (ReLU(5), 0.5),
    (Affine(5), 0.05),
    (Cosine(3, 3.0), 0.3),  # even waves, cos(3 u.x)
):
    best = find_pair(task, 20, sigma)
    row = {"functions": task.label, "d": task.dim, "noise": sigma}
    row["gain"] = float(optimal_window(task, 20, sigma).risk) / best.risk
    row |= {"w_1": best.windows[0], "w_2": best.windows[1]}
    short.append(row | {"v_1": best.values[0], "v_2": best.values[1]})
pd.DataFrame(short).style.format(precision=2).hide()

# %% [markdown]
# <a id="heads-trained"></a>
#
# ## Does training find it?
#
# It does, if the heads start apart. Each head $h$ now has a whole matrix $M_h$ and computes the scores $x_i^\top M_hx_q$. (With
# $M_h=w_hI$ it is a head as above.) Adam trains both matrices and both values on fresh contexts with affine functions. The values
# start at $\frac12$. In half of the layers the heads start on opposite sides, near $M_1=I$ and $M_2=-I$. In the other half both heads
# start near $I$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
task = Affine(largest)
rng = NativeStream(0, "initialization")
starts = torch.tensor([[1.0, -1.0]] * seeds + [[1.0, 1.0]] * seeds)
start = starts[:, :, None, None] * torch.eye(largest)  # M_1 and M_2 of each layer
M = (start + 0.3 * rng.standard_normal(start.shape)).requires_grad_()
v = torch.full((2 * seeds, 2), 0.5, requires_grad=True)
adam = torch.optim.Adam([M, v], lr=learning_rate)


def weights(M, v, x):  # of the labels: (layer, context, token)
    scores = torch.einsum("lhde,lce,lcnd->lhcn", M, x[:, :, -1], x[:, :, :-1])
    return torch.einsum("lh,lhcn->lcn", v, torch.softmax(scores, dim=-1))


for step in range(steps):
    adam.param_groups[0]["lr"] = learning_rate * (1 - step / steps)
    x = uniform_sphere(rng, 2 * seeds * batch_size, context_length + 1, largest)
    f = task.sample(rng, len(x))(x)
    y = f + noise_std * rng.standard_normal(f.shape)
    x, f, y = (part.unflatten(0, (2 * seeds, batch_size)) for part in (x, f, y))
    guess = (weights(M, v, x) * y[:, :, :-1]).sum(dim=-1)
    adam.zero_grad()
    (guess - f[:, :, -1]).square().mean(dim=1).sum().backward()
    adam.step()

# %% jupyter={"source_hidden": true} tags=["hide-input"]
best = find_pair(task, context_length, noise_std)
one = optimal_window(task, context_length, noise_std)
x = uniform_sphere(stream(1, "evaluation"), test_contexts, context_length + 1, largest)
form = QuadraticRisk.of(task, x, noise_std)


def risk(M, v):
    tokens = x.expand(len(M), *x.shape)
    return form.risk(weights(M.double(), v.double(), tokens)).mean(dim=-1)


identity = torch.eye(largest, dtype=torch.float64)
windows = torch.tensor(best.windows.copy())[None, :, None, None]
of_two = risk(windows * identity, torch.tensor(best.values)[None])
of_one = risk(one.w * identity[None, None], torch.ones(1, 1, dtype=torch.float64))
with torch.no_grad():
    trained = pd.DataFrame(
        {
            "start": ["apart"] * seeds + ["alike"] * seeds,
            "seed": [*range(seeds)] * 2,
            "w_1": M[:, 0].diagonal(dim1=-2, dim2=-1).mean(dim=-1),
            "w_2": M[:, 1].diagonal(dim1=-2, dim2=-1).mean(dim=-1),
            "v_1": v[:, 0],
            "v_2": v[:, 1],
            "over two": risk(M, v) / of_two,
            "over one": risk(M, v) / of_one,
        }
    )
trained.style.format(precision=2).hide()

# %% [markdown]
# In the table $w_1$ and $w_2$ are the mean diagonal entries of the trained matrices. The last columns divide the error of the layer
# by the least error of *two* heads, and of *one* head.
#
# Heads that start apart come near the least error of two heads: one value is larger than one, and the other head is subtracted.
# Heads that start alike end where one head ends.[✓](judged:P1.H.trained) So if you train heads that should subtract, start them far
# apart, or with values of opposite sign (Exercise 2).

# %% jupyter={"source_hidden": true} tags=["remove-input"]
ratios = trained[["start", "seed", "over two"]].assign(dim=largest, n=context_length)
template = "affine, d = {dim}, n = {n}, heads start {start}"
columns = {"value": "over two", "samples": "seed", "name": template}
judge(
    "P1.H.trained",
    sampled_cases(ratios[ratios.start == "apart"], **columns),
    sampled_cases(ratios[ratios.start == "alike"], **columns),
)

# %% [markdown]
# Why do equal heads not separate? Split the best single head into two: both have its window, and their values sum to its value.
# Then move the two windows a little apart. The next table says by how many percent the error changes. If both values are positive,
# the error rises, so training moves the windows together again. If one value is negative, the error falls.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
changes = []
for n in (20, context_length):
    single = optimal_heads(task, n, noise_std, heads=1)
    w, value = single.windows[0], single.values[0]
    for shares in ([0.5, 0.5], [1.5, -0.5]):
        values = value * np.array(shares)
        apart = w + w / 5 * np.array([shares[1], -shares[0]])
        change = heads_risk(task, apart, values, n, noise_std).total / single.risk - 1
        row = {"examples": n, "v_1": values[0], "v_2": values[1]}
        changes.append(row | {"change in percent": 100 * change})
pd.DataFrame(changes).style.format(precision=2).hide()

# %% [markdown]
# <details><summary>A minimum or a saddle?</summary>
#
# Let one head be best with the window $w$ and the value $v$. Give two heads values with $v_1+v_2=v$ and the windows
# $w+\delta v_2$ and $w-\delta v_1$. At $\delta=0$ they have the error of the one head. For $\delta\ne0$ the first head's
# derivative in $w$ cancels the second head's, and to second order in $\delta$ the error changes by $-v_1v_2v\,\delta^2\,r''(w)$.
# Here $r(u)$ is the mean product of the error of the one head with the output of a head of window $u$, and $r'(w)=0$
# because $w$ is best. The table shows that $r''(w)<0$, so that the sign of the product $v_1v_2$ decides. Among
# isotropic heads the single head is therefore a second minimum as long as both values are positive: a flat valley
# along $v_1+v_2=v$. A layer that starts with two positive values would have to cross a part of this valley where
# nothing pulls it.
#
# Among *all* matrices it is a saddle: $M_1=wI+aJ$ and $M_2=wI-aJ$ with an antisymmetric $J$ have a smaller error.
#
# </details>
#
# Heads that start alike can still gain a little, if one of them *turns* to the left of the query and the other to the right. Their
# error falls, but far less than with a head that is subtracted:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
J = torch.zeros(largest, largest, dtype=torch.float64)
for i in range(0, min(largest - 1, 4), 2):
    J[i, i + 1], J[i + 1, i] = 1, -1
half = torch.full((1, 2), value / 2, dtype=torch.float64)
straight = form.risk(weights(torch.stack([w * identity] * 2)[None], half, x[None]))
turns = []
for share_of_w in (0.1, 0.2, 0.3):
    a = share_of_w * w
    turned = torch.stack([w * identity + a * J, w * identity - a * J])[None]
    change = (form.risk(weights(turned, half, x[None])) - straight) / straight.mean()
    error = change.std() / test_contexts**0.5
    row = {"turn, a / w": share_of_w, "change in percent": 100 * change.mean().item()}
    turns.append(row | {"standard error": 100 * error.item()})
pd.DataFrame(turns).style.format(precision=2).hide()

# %% [markdown]
# **Exercise 2.** Let all layers start with two heads that are alike, but with the values $1.5$ and $-0.5$. Where does
# training end?
#
# <details><summary>Solution</summary>
#
# In the folded cell that trains, replace `starts` by `torch.ones(2 * seeds, 2)`, and the line of `v` by
# `v = torch.tensor([[1.5, -0.5]] * (2 * seeds)).requires_grad_()`. From there a split of the two windows lowers the
# error, and the layers end near the optimum of two heads.
#
# </details>
#
# ## What if the context grows?
#
# A trained layer keeps its windows and its values when its contexts grow. So take the best two heads for 100 examples and give them
# 10,000. On affine functions they have [12](<judged:P1.H.length|affine, d = 5, N = 10000, kept|.0f>) times the least error of two
# heads. New values alone would remove this factor, because the best windows hardly move. On ReLU functions new values are not enough:
# there the windows must narrow as well ([figure](#fig-heads-length)).
#
# ## What more heads cannot do
#
# However many heads there are, they predict a weighted sum of the labels. The best sum whose weights do not depend on the labels is
# called [kriging](#term-kriging). Is there a better predictor? A ReLU function is determined by a few numbers: a direction, two
# slopes and a level. *Least squares* finds the numbers that fit the labels best. Take ReLU functions with $d=5$ and
# 20,000 examples. One head has [23](<judged:P1.H.bayes|d = 5, n = 20000, one head|.0f>) times the error of least squares. Kriging
# still has at least [8.6](<judged:P1.H.bayes|d = 5, n = 20000, floor|.1f>) times the error of least squares ([figure](#fig-bayes)).
# So more heads cannot help here.
#
# ## In language models
#
# Language models already use negative weights. The Differential Transformer ([Ye et al., 2025](cite:ye2025diff)) subtracts one
# softmax from another. Parallax ([Zuo et al., 2026](cite:zuo2026parallax)) subtracts a covariance from the softmax average, much as
# in [One softmax is enough](#heads-derivative). The first paper studies a single head, and we asked what a
# second one is worth in its setting.
#
# <details><summary>These and other models</summary>
#
# - The second version of the Differential Transformer ([Ye et al., 2026](cite:ye2026diffv2)) has a factor between zero and one for
#   each token and head. [Kong et al. (2025)](cite:kong2025dex) trace the success of the Differential Transformer to three causes, of
#   which negative attention is the first.
# - Local linear attention ([Zuo et al., 2025](cite:zuo2025lla)) replaces the mean of the labels by a local linear fit. Its
#   correction is a covariance of labels and keys like ours, in all directions.
# - Parallax, by its authors' reference code, subtracts from the softmax average the covariance of the values with $r\cdot k$, where
#   $k$ is the key and $r$ a learned projection. With $r$ along the query this is one head with its derivative.
# - A whole transformer predicts linear functions about as well as least squares ([Garg et al., 2022](cite:garg2022)).
#   [Panwar et al. (2024)](cite:panwar2024) find that transformers come near the Bayes predictor on further families where it can be
#   computed. If a transformer is pretrained on few functions, it may do better by remembering them, as
#   [Raventós et al. (2023)](cite:raventos2023) find for linear regression. All errors here are means over infinitely many functions.
#
# </details>
#
# ## For specialists
#
# <a id="heads-length"></a>
#
# ### Two heads in longer contexts
#
# A trained layer keeps its windows and its values when its contexts get longer. What does this cost? Take the best two heads for
# 100 examples and use them for $N$ examples. The *price* is their error divided by the least error of two heads for $N$ examples.


# %% figure={"alt": "Two panels of the price against the growth of the context on logarithmic axes. Left, affine functions: the price of two kept heads rises most steeply, that of one kept head less, one factor for both windows stays low, and new values keep the price at one. Right, ReLU functions: all four curves rise, one factor least.", "name": "fig-heads-length"} jupyter={"source_hidden": true} tags=["hide-input"]
growth = np.array([1, 2, 5, 10, 20, 50, 100, 200, 1000])
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2), sharey=True)
for ax, task in zip(axes, (Affine(largest), ReLU(largest)), strict=True):
    first = find_pair(task, 100, noise_std)
    alone = optimal_window(task, 100, noise_std).w
    prices = {"2 heads kept": [], "1 head kept": [], "one factor": [], "new values": []}
    for n in 100 * growth:
        w, v = first.windows, first.values
        least = find_pair(task, n, noise_std).risk
        prices["2 heads kept"].append(
            heads_risk(task, w, v, n, noise_std).total / least
        )
        of_one = population_risk(task, alone, n, noise_std).total
        prices["1 head kept"].append(of_one / optimal_window(task, n, noise_std).risk)
        prices["one factor"].append(
            measurements.best_factor(task, w, v, n, noise_std)[1] / least
        )
        prices["new values"].append(
            measurements.best_values(task, w, n, noise_std)[1] / least
        )
    styles = ("-", ":", "--", "-.")
    for (label, price), style in zip(prices.items(), styles, strict=True):
        ax.plot(growth, price, style, label=label)
    ax.set(xscale="log", yscale="log", xlabel=r"$N/n_0$")
    ax.set_title(f"{task.label} functions, d = {task.dim}")
axes[0].set_ylabel("price")
axes[0].legend()
plt.show()

# %% [markdown]
# **Two heads in longer contexts.** The price of the best two heads for 100 examples against the growth of the context. Solid:
# windows and values are kept. Dashed: both windows are multiplied by the best common factor. Dash-dotted: only the values are
# fitted anew. Dotted: the price of a single head that is kept, relative to the best single head.
#
# **Affine functions ask for new values.** Their best windows hardly move, whereas the window of a single head must narrow for ever.
# But in a short context the best values sum to a little less than one. This leaves an error that longer contexts do not average
# away. So two heads that are kept do no better than one head whose window is chosen anew: for $N=10{,}000$ they have
# [12](<judged:P1.H.length|affine, d = 5, N = 10000, kept|.0f>) times the least error of two. (One head that is kept does worse
# still.) With new values and the old windows the price is [1.00](<judged:P1.H.length|affine, d = 5, N = 10000, new values|.2f>).
#
# **ReLU functions ask for new windows.** For $N=10{,}000$ both $w$ must grow about five times. If the windows are kept and only the
# values are fitted anew, the price is still [3.60](<judged:P1.H.length|ReLU, d = 5, N = 10000, new values|.2f>).
#
# **A rule for the length helps in part.** Rules such as $\log n$ or YaRN's ([Longer contexts](length.ipynb)) multiply all scores by
# one factor. One head needs nothing but the right factor. For two heads the right factor removes most of the price, and some is
# left because values and windows must fit each other.
#
# **Train on long contexts if you can.** On affine and on linear functions the heads that are best for long contexts cost little in
# short contexts, as the column *back* of the next table says. On ReLU functions they cost much.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
start = 100
rows, moves = [], []
for task in (Affine(largest), Linear(largest), ReLU(largest)):
    old = find_pair(task, start, noise_std)
    single = optimal_window(task, start, noise_std)
    for n in (10 * start, 100 * start):
        new = find_pair(task, n, noise_std)
        kept = heads_risk(task, old.windows, old.values, n, noise_std)
        values, refitted = measurements.best_values(task, old.windows, n, noise_std)
        factor, scaled = measurements.best_factor(
            task, old.windows, old.values, n, noise_std
        )
        one = population_risk(task, single.w, n, noise_std).total
        back = heads_risk(task, new.windows, new.values, start, noise_std)
        row = {
            "task": task.label,
            "dim": largest,
            "N": n,
            "kept": kept.total / new.risk,
        }
        row |= {"new values": refitted / new.risk, "one factor": scaled / new.risk}
        row["factor"] = factor
        row["one head"] = one / optimal_window(task, n, noise_std).risk
        row["back"] = back.total / old.risk
        for many, pair in ((start, old), (n, new)):
            both = {"w_1": pair.windows[0], "w_2": pair.windows[1]}
            both |= {"v_1": pair.values[0], "v_2": pair.values[1]}
            moves.append({"functions": task.label, "examples": many} | both)
        rows.append(row | {"error": kept.error + new.error})
lengths = pd.DataFrame(rows)
lengths.drop(columns=["dim", "error"]).style.format(precision=2).hide()

# %% [markdown]
# The table has the prices of the figure at two lengths and the best common *factor*. The last column has the price of the way
# *back*: take the best heads for $N$ examples and use them for 100. The next table has the windows and the values that are best.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
moved = pd.DataFrame(moves).drop_duplicates(["functions", "examples"])
moved.style.format(precision=2).hide()

# %% [markdown]
# The abstract of [He et al. (2025)](cite:he2025) says that softmax attention, "compared to linear transformers", "readily
# generalizes to sequences longer than those seen during training". We took their class, linear functions without a constant, on our
# sphere. The two kept heads are still far better than the best single head. But they have
# [7.3](<judged:P1.H.length|linear, d = 5, N = 10000, kept|.1f>) times the error that two heads could have, and new values alone
# would remove this factor.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
prices = lengths.melt(
    ["task", "dim", "N", "error"],
    ["kept", "new values", "one factor"],
    var_name="what",
    value_name="price",
)
prices["error"] *= prices.price
name = "{task}, d = {dim}, N = {N:g}, {what}"
changed = prices[(prices.what == "one factor") & (prices.task == "affine")]
changed = changed[changed.N == changed.N.max()].assign(what="new values")
judge(
    "P1.H.length",
    exact_cases(prices[prices.what != "one factor"], "price", error="error", name=name),
    exact_cases(changed, "price", error="error", name=name + ": one factor instead"),
)

# %% [markdown]
# ### By hand: three tokens on the circle
#
# The query is at the angle $0°$ and the function is $f=\cos\theta$, so the right answer is $1$. Three tokens at $0°$,
# $60°$ and $180°$ have the labels $1$, $\frac12$ and $-1$, without noise. The first head has $w=\ln16$. Its weights
# are proportional to $16^{\cos\theta}$, that is, to $16$, $4$ and $\frac1{16}$, and it predicts
# $\frac{16+2-\frac1{16}}{16+4+\frac1{16}}=\frac{287}{321}$. The second head has half of this $w$. Its weights are
# proportional to $4$, $2$ and $\frac14$, and it predicts $\frac{4+1-\frac14}{4+2+\frac14}=\frac{19}{25}$.
#
# The first answer is too small by about a tenth and the second by about a quarter. Twice the first minus the second
# is $2\cdot\frac{287}{321}-\frac{19}{25}=\frac{8251}{8025}$, which is too large by less than three percent.
#
# The derivative of the second head does the same. In this example the labels equal the scores, so that the covariance is the
# variance of the labels under the weights, $\frac{4+\frac12+\frac14}{4+2+\frac14}-(\frac{19}{25})^2=\frac{114}{625}$. Starting from
# the prediction at $w=\ln4$ and adding $\ln4$ times the derivative gives $\frac{19}{25}+\frac{114}{625}\ln4\approx1.013$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
angles = torch.tensor([0.0, 60.0, 180.0], dtype=torch.float64).deg2rad()
x = torch.stack([angles.cos(), angles.sin()], dim=-1)
narrow, wide = (
    softmax_attention(x, x[:, 0], x[0], w * torch.eye(2).double())
    for w in (np.log(16), np.log(4))
)
omega = (np.log(4) * x[:, 0]).softmax(dim=-1)  # the weights of the second head
covariance = omega @ ((x[:, 0] - omega @ x[:, 0]) * x[:, 0])
by_hand = {
    "first head": narrow,
    "second head": wide,
    "twice minus": 2 * narrow - wide,
    "second head and derivative": wide + np.log(4) * covariance,
}
pd.DataFrame(
    {name: float(value) for name, value in by_hand.items()}, index=["prediction"]
).round(4)

# %% [markdown]
# <a id="heads-floor"></a>
#
# ### How far from the best there is
#
# How small can the error of many heads become? However many there are, they cannot be better than [kriging](#term-kriging), the
# best predictor that is linear in the labels, because heads are linear in the labels, too. Kriging's error is at least
#
# $$S(n)=\sum_\ell\frac{a_\ell}{1+n\,a_\ell/(N_\ell\sigma^2)},$$
#
# the floor of the figure [What a second head buys](#fig-heads). Here $a_\ell$ is the mean square of the part of $f$
# of degree $\ell$, and $N_\ell$ is the number of harmonics of this degree.
#
# But kriging knows only the covariance of the functions. It does not know that a ReLU function has a single kink, so that $d+2$
# numbers determine it: a direction, two slopes and a level. *Least squares on the class* looks for these numbers. It is not linear
# in the labels. The next figure compares it with heads and kriging.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def fit(x, y, q):
    """Fit the two slopes and the level of a function of the direction q."""
    q = q / np.linalg.norm(q)
    columns = np.stack([np.maximum(x @ q, 0), np.maximum(-x @ q, 0), np.ones(len(x))])
    numbers = np.linalg.solve(columns @ columns.T, columns @ y)
    return np.square(y - numbers @ columns).mean(), q, numbers, columns


def differentiate(x, q, numbers, columns):
    """Return the derivatives of the function in its numbers and in its direction."""
    slope = np.where(columns[0] > 0, numbers[0], -numbers[1])
    return np.vstack([columns, slope * (x.T - np.outer(q, x @ q))])


def regress(columns, y):
    return np.linalg.pinv(columns @ columns.T, hermitian=True) @ (columns @ y)


def least_squares(x, y):
    rises = (y - y.mean()) * x.T
    bends = np.linalg.eigh(rises @ x)[1]
    starts = (rises.sum(axis=1), bends[:, 0], bends[:, -1])
    fits = [fit(x, y, start) for start in starts]
    for _ in range(3):
        _, q, *known = min(fits, key=lambda one: one[0])
        fits.append(fit(x, y, q + regress(differentiate(x, q, *known), y)[3:]))
    return min(fits, key=lambda one: one[0])[1:3]


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def sample_errors(rng, d, n):
    x = uniform_sphere(rng, 1, n + 1000, d)[0].numpy()
    q = uniform_sphere(rng, 1, 1, d)[0, 0].numpy()
    numbers, noise = rng.uniform(-1, 1, 3), noise_std * rng.standard_normal(n)
    columns = fit(x, np.zeros(len(x)), q)[-1]
    f = numbers @ columns
    known = differentiate(x[:n], q, numbers, columns[:, :n])
    q, numbers = least_squares(x[:n], f[:n] + noise)
    missed = numbers @ fit(x[n:], f[n:], q)[-1] - f[n:]
    return np.square(missed).mean(), np.square(regress(known, noise) @ known).mean()


rng, count = stream(2, "evaluation"), draws // 2
rows = []
for d, n in product((3, 5), (200, 2000, 20000)):
    errors = np.array([sample_errors(rng, d, n) for _ in range(count)])
    unit = noise_std**2 / n
    change = (errors[:, 0] - errors[:, 1]) / unit
    row = {"d": d, "n": n, "parameters": d + 2, "least squares": d + 2 + change.mean()}
    row["standard error"] = change.std(ddof=1) / count**0.5
    row["floor"] = float(kriging_bounds(ReLU(d), n, noise_std).lower) / unit
    row["one head"] = float(optimal_window(ReLU(d), n, noise_std).risk) / unit
    rows.append(row)
fitted = pd.DataFrame(rows)

# %% figure={"alt": "Two panels of the risk times n over the noise variance, against the context length on logarithmic axes. Left, affine functions: the floor of linear predictors meets a horizontal line, and two heads run just above it, while one head rises. Right, ReLU functions: the curves of one head, two heads and the floor all rise, away from a horizontal line at which squares lie, which are least squares.", "name": "fig-bayes"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2), sharey=True)
for ax, (name, part) in zip(axes, risks.groupby("task", sort=False), strict=True):
    unit = noise_std**2 / part.n
    for label in ("1 head", "2 heads"):
        ax.plot(part.n, part[label] / unit, "o-", label=label)
    ax.plot(part.n, part.floor / unit, "--", color=plots.COLORS["guide"], label="floor")
    parameters = largest + (1 if name == "affine" else 2)
    ax.axhline(parameters, color="k", lw=1, label="number of parameters")
    ax.set(xscale="log", yscale="log", title=f"{name} functions, d = {largest}")
    ax.set_xlabel("context length n")
own = fitted[fitted.d == largest]
ax.plot(own.n, own["least squares"], "ks", label="least squares")
axes[0].set_ylabel("risk over σ²/n")
axes[0].legend(*ax.get_legend_handles_labels(), loc="upper left", fontsize=9)
plt.show()

# %% [markdown]
# **How far from the best there is.** The error in units of $\sigma^2/n$. The black line is the number of parameters of the class.
# Left: on affine functions the best linear predictor reaches the line, and two heads come near it. Right: on ReLU functions least
# squares reaches the line, and every predictor that is linear in the labels moves away from it as the context grows.
#
# On ReLU functions, with $d=5$ and 20,000 examples, one head has [23](<judged:P1.H.bayes|d = 5, n = 20000, one head|.0f>) times the
# error of least squares, and even the floor is about [8.6](<judged:P1.H.bayes|d = 5, n = 20000, floor|.1f>) times this error. More
# heads cannot help here. Only a predictor that is not linear in the labels can.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
shown = fitted.melt(
    ["d", "n", "parameters", "least squares", "standard error"],
    ["one head", "floor"],
    var_name="predictor",
    value_name="risk",
)
spread = 4 * shown["standard error"]
shown["times"] = shown.risk / shown["least squares"]
shown["low"] = shown.risk / (shown["least squares"] + spread)
shown["high"] = shown.risk / np.maximum(shown["least squares"] - spread, 1e-9)
shown["limit"] = shown.risk / shown.parameters
labels = ["d", "n", "predictor", "parameters", "limit"]
columns = {"low": "low", "high": "high", "labels": labels}
columns["name"] = "d = {d}, n = {n}, {predictor}"
long = shown[shown.n == 20000]
short = shown[(shown.n == 200) & (shown.d == 5)]
judge(
    "P1.H.bayes",
    interval_cases(long, "times", **columns),
    interval_cases(short, "times", **columns),
)

# %% [markdown]
# The table has the numbers of the figure and those for $d=3$, in units of $\sigma^2/n$. To find the direction of the kink, least
# squares starts from three guesses, estimated from where the labels rise or bend. It turns the best of them three times, by a
# linear regression on the derivatives of $f$. The same regression at the true function has an error whose mean is exactly
# $(d+2)\,\sigma^2/n$. To reduce chance, we subtract the sampled value of this error and add its mean.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
fitted.style.format(precision=2).hide()

# %% [markdown]
# <details><summary>The worst function and the average one</summary>
#
# Statistics usually asks for the *worst* function of a given smoothness. On a sphere of the dimension $d-1$ no
# predictor has a better rate than $n^{-2/(d+1)}$ for the worst $L$-Lipschitz function, or than $n^{-4/(d+3)}$ for the
# worst function with bounded second derivatives ([Stone, 1982](cite:stone1982)). The dimension that counts is that of
# the surface on which the tokens lie ([Bickel and Li, 2007](cite:bickel2007)). One head has both rates, with
# $w\propto n^{2/(d+1)}$ and $w\propto n^{2/(d+3)}$, and in the worst case little is gained by not being linear in the
# labels ([Fan et al., 1997](cite:fan1997)). A random ReLU function is different: it is bent only in a narrow strip,
# so that the best window for the average function narrows more slowly, with $w\propto n^{2/(d+2)}$. The error
# $n^{-3/(d+2)}$ of this window is the best that is linear in the labels, and far from the rate $n^{-1}$ of least
# squares.
#
# </details>
#
# ### More heads never hurt
#
# For given windows the outputs of the heads span a space, and the best values are those of the
# projection of $f(x_q)$ onto it. A further head enlarges the space. If the values must sum to one, the error is a little larger.
# This difference falls like $1/a_0$, if a constant of mean square $a_0$ is part of the functions
# ([the proposition](certificates.ipynb#proofs-heads)). On functions without a constant, such as the linear functions of
# [He et al. (2025)](cite:he2025), other values are better: in their trained models of several heads the values sum to zero.
#
# <a id="heads-smooth"></a>
#
# ### Smooth functions: each head improves the rate
#
# In an infinite context a head with the window $w$ predicts the mean of $f$ under the density
# $e_w(t)=e^{wt}/\mathbb Ee^{wt}$ around the query, where $t=x\cdot x_q$. This mean multiplies the part of $f$ of
# degree $\ell$ by a factor $A_\ell(w)=\mathbb E[e_w(t)\,P_\ell(t)]$, where $P_\ell$ are the
# [Gegenbauer polynomials](#term-gegenbauer-polynomials). Affine functions have the degrees $0$ and $1$ only, and
# $A_0=1$. So two heads with values that solve $v_1+v_2=1$ and $v_1A_1(w_1)+v_2A_1(w_2)=1$ leave no bias at all.
#
# <a id="thm-heads-affine"></a>
#
# > **Theorem** (two heads on affine functions). Let the class have the degrees zero and one only, with mean squares
# > $a_0>0$ and $a_1>0$, and let $\sigma>0$. **Any** two windows $w_1\ne w_2$ of either sign, with the values that solve
# > $v_1+v_2=1$ and $v_1A_1(w_1)+v_2A_1(w_2)=1$, have the risk $\frac{\mathcal C}n+O(n^{-2})$. With $p=\sum_hv_he_{w_h}$
# > and $q=\sum_hv_hA_1(w_h)\,e_{w_h}$
# >
# > <a id="eq-heads-affine"></a>
# >
# > $$\mathcal C=a_1\,\mathbb E\big[p^2-2tpq+q^2\big]+\sigma^2\,\mathbb Ep^2,\qquad\mathbb Ep^2\ge d+1.$$
# >
# > For no predictor that is linear in the labels, $n$ times the risk has a limit inferior below $\sigma^2(d+1)$. As $w_1$
# > and $w_2$ tend to zero, $\mathcal C$ tends to $a_1d+\sigma^2(d+1)$ and the layer to the predictor
# > $\bar y+\frac dn\sum_i(y_i-\bar y)\,x_i\cdot x_q$, which is linear attention on centered labels.
#
# The idea of the proof is that the two equations leave no bias, so that the error is exactly a sum of centered means over the
# heads. The [proof](certificates.ipynb#proofs-heads) is in the appendix, as are all longer proofs of this page.
#
# A single head of value one reaches only $n^{-4/(d+3)}$, by [the law of the window](theorem2_scaling.ipynb#thm-law).

# %% [markdown]
# The next table has four numbers for each row: the least $\mathcal C$ that a search over the two windows finds, $\mathcal C$ in the
# limit of wide windows, $n$ times the exact risk of the heads found, and the least constant of any predictor that is linear in the
# labels.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
angle, weight = np.polynomial.legendre.leggauss(100)
angle = np.pi / 2 * (angle + 1)
t, p_t = np.cos(angle), weight * np.sin(angle) ** (largest - 2)
p_t = p_t / p_t.sum()  # probabilities of t
a_1 = 1 / (3 * largest)


def constant(windows):
    e = np.exp(np.outer(windows, t))
    e = e / (e @ p_t)[:, None]
    A = e @ (p_t * t)
    values = np.linalg.solve([[1, 1], A], [1, 1])
    p, q = values @ e, (values * A) @ e
    C = a_1 * p_t @ (p**2 - 2 * t * p * q + q**2) + noise_std**2 * p_t @ p**2
    return C, values


pair = minimize(lambda w: constant(w)[0], [1.0, -2.0], method="Nelder-Mead")
least, values = constant(pair.x)
rows = {"least C found": least, "wide windows": constant([0.01, -0.01])[0]}
for n in (200, 20_000, 2_000_000):
    exact = heads_risk(Affine(largest), pair.x, values, n, noise_std).total
    rows[f"n times the exact risk, n = {n:,}"] = n * float(exact)
rows["no linear predictor"] = noise_std**2 * (largest + 1)
pd.DataFrame({"value": rows}).round(4)

# %% [markdown]
# As a context grows, the best values and windows for affine functions therefore settle:
#
# <a id="thm-heads-limit"></a>
#
# > **Proposition** (two heads in longer contexts). Let the class and $\sigma$ be as in the theorem, and let
# > $v^0(w_1,w_2)$ be the values that solve the two equations. The best values of two heads with the windows $w_1\ne w_2$
# > are $v^0+O(\frac1n)$, and their risk is $\frac{\mathcal C}n+O(n^{-2})$, both uniformly for $(w_1,w_2)$ in any compact
# > set $S$ without a point of the diagonal. So the best windows in $S$ tend to minimizers of $\mathcal C$ in $S$. If
# > there is only one minimizer, it lies in the interior and the Hessian of $\mathcal C$ is regular there, then the best
# > windows in $S$ are within $O(\frac1n)$ of it, and the best values within $O(\frac1n)$ of the $v^0$ there.
#
# The [proof](certificates.ipynb#proofs-heads) gives the first-order term of the values. In our computations the best windows among
# all pairs stay in such a set $S$, but we have not proved that they must. The window of a single head grows without bound, like
# $n^{2/(d+3)}$.
#
# Classes with more degrees keep some bias, and the window has to narrow as the context grows. Let
#
# <a id="eq-long-heads"></a>
#
# $$\begin{gathered}\hat p_\ell=\sum_hv_hA_\ell(w_h),\qquad\kappa(w,w')=\mathbb E[e_we_{w'}],\\
#   \mathcal I_n(v,w)=\sum_\ell a_\ell(1-\hat p_\ell)^2+\frac{\sigma^2}n\sum_{h,k}v_hv_k\,\kappa(w_h,w_k)\end{gathered}$$
#
# be the *long-context risk*: the bias of an infinite context, plus the noise to first order in $\frac1n$. By a
# [lemma of the appendix](certificates.ipynb#thm-heads-long) the exact risk is $\mathcal I_n(v,w)\,(1+o(1))$ if the
# windows are narrow and still hold many tokens.
#
# For large $w$ the factor $A_\ell(w)$ is $1-\frac{\lambda_\ell}{2w}$ plus terms of higher order, where
# $\lambda_\ell=\ell(\ell+d-2)$ is the eigenvalue of the Laplacian. One head therefore has the mean error
# $\frac1{2w}\Delta f$. Two heads with the windows $w$ and $\frac w2$ and the values $2$ and $-1$ cancel this term.
# With $H$ heads one can cancel $H-1$ terms:
#
# <a id="thm-heads-rate"></a>
#
# > **Theorem** (heads on smooth functions). Let $\sigma>0$ and $\sum_\ell a_\ell\lambda_\ell^{2H}<\infty$.
# >
# > - (a) *What heads reach.* Let the windows be $w,\frac w2,\dots,\frac wH$ and the values $v_h=(-1)^{h-1}\binom Hh$. Let
# >   $\beta=(H!)^2\sum_\ell a_\ell\,c_H(\lambda_\ell)^2>0$ with a polynomial $c_H$ of degree $H$, among them
# >   $c_1=-\frac\lambda2$ and $c_2=\frac{\lambda(\lambda-2)}8$. As $w\to\infty$ and $w^{(d-1)/2}/n\to0$, the risk is
# >   $\big[\beta w^{-2H}+\frac{\sigma^2\kappa\nu}n\,w^{(d-1)/2}\big](1+o(1))$. Here
# >   $\nu=2^{(d-1)/2}\sum_{h,k}v_hv_k(h+k)^{-(d-1)/2}$. With the best $w$ the risk is of the order $n^{-4H/(d-1+4H)}$.
# > - (b) *What no heads pass.* Let $a_\ell>0$ for $H+1$ degrees of one parity. Then there is a $c>0$ such that
# >   $\mathcal I_n(v,w)\ge c\,n^{-4H/(d-1+4H)}$ for **all** real values, **all** real windows and all $n$. The exact risk
# >   has such a lower bound, for large $n$, among heads with $|w_h|\le K\,n^{2/(d-1+4H)}$ and
# >   $\sum_h|v_h|\le n^{2H/(d-1+4H)}$, for every $K$.
#
# The number $\beta$ is positive if the class has more than $H$ degrees, because $c_H$ has at most $H$ zeros. With
# fewer degrees it can be zero. On affine functions in $d=3$ two such heads have $c_2(\lambda_1)=0$, and with the best
# $w$ a risk of the order $\frac{\log n}n$.
#
# The [proof](certificates.ipynb#proofs-heads) of (b) counts signs. To average noise away, the layer has to suppress harmonics of
# high degree. But a combination of $H$ heads that suppresses one high degree cannot reproduce $H+1$ low degrees well. There is a
# gap in (b). We do not exclude that in a finite context heads with still narrower windows, or with still larger values that cancel
# each other, have a smaller risk. A class with at most $H$ degrees reaches $\frac1n$ by $H$ heads with positive windows, as in the
# theorem on affine functions, because then the equations $\hat p_\ell=1$ can be solved.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
long = {"noise_std": noise_std, "n_values": (1e8, 1e10)}
flat = {"windows": (4.0, 2.0), "n_values": (1e5, 1e6), "noise_std": noise_std}
slopes = pd.concat(
    [
        measurements.affine_slopes(dims=dims, **flat),
        measurements.wave_slopes(dims=more_dims, heads=[1, 2, 3], **long),
    ]
)
averaged = measurements.wave_slopes(dims=[5], heads=[2], averaged=True, **long)
name = "{task}, d = {dim}, heads: {heads}"
judge(
    "P1.H.rate",
    exact_cases(slopes, error="error", name=name),
    exact_cases(averaged, error="error", name=name + ", averaged"),
)

# %% [markdown]
# ### Kinks and jumps: the rate stays, the constant falls
#
# If functions have kinks or jumps, one head already has the best rate, because even kriging has no better rate. More heads can only
# improve the constant. How much is there to gain? Let $m=d-1$, and let the [order](#term-order) $\rho$ of the class be below four.
# In long contexts heads with the windows $w/\alpha_h$ multiply harmonics of the degree $x\sqrt w$ by
#
# $$\varphi(x)=\sum_hv_he^{-\alpha_hx^2/2},$$
#
# and kriging multiplies them by $\varphi_*(x)=1/(1+x^{m+\rho})$, in a suitable scale. So the question is how well a
# sum of Gaussians approximates $\varphi_*$. One Gaussian is a poor approximation if $m+\rho$ is large, because
# $\varphi_*$ is then flat near zero. Gaussians with values of both signs can be as flat as one likes.
#
# <a id="thm-heads-rough"></a>
#
# > **Theorem** (heads on rough functions). Let $\sigma>0$, $0<\rho<4$ and $a_\ell/N_\ell\sim C\ell^{-(m+\rho)}$ with
# > $C>0$, where $N_\ell$ is the number of harmonics of degree $\ell$. Fix different $\alpha_1,\dots,\alpha_H>0$ and
# > values with $\sum_hv_h=1$. As $n\to\infty$, the heads with the windows $W/\alpha_h$, $W=(nC/\sigma^2)^{2/(m+\rho)}$,
# > have a risk whose quotient by the risk of kriging tends to $J(\varphi)/J(\varphi_*)$, where
# >
# > $$\begin{aligned}J(\varphi)&=\int_0^\infty(1-\varphi)^2x^{-1-\rho}dx+\int_0^\infty\varphi^2x^{m-1}dx\\ &=J(\varphi_*)+\int_0^\infty(\varphi-\varphi_*)^2\,(x^{-1-\rho}+x^{m-1})\,dx\end{aligned}$$
# >
# > and $J(\varphi_*)=\frac\pi{m+\rho}\big/\sin\frac{\pi m}{m+\rho}$. The infimum of the limit over all $\alpha$ and $v$
# > does not rise with the number of heads, and tends to one.
#
# By how much is the best layer of heads worse than kriging in very long contexts? The next table has the difference in percent, for
# the best heads that a search finds. It is for a coast on the globe ($\rho=1$, $d=3$) and for functions with kinks in five
# dimensions ($\rho=3$).

# %% jupyter={"source_hidden": true} tags=["hide-input"]
settings = {"coast, d = 3": (1, 2), "kinks, d = 5": (3, 4)}
limits = {
    name: measurements.least_limits(*setting, 5) for name, setting in settings.items()
}
excess = pd.DataFrame(
    {name: [100 * (ratio - 1) for ratio, _ in best] for name, best in limits.items()},
    index=pd.Index(range(1, 6), name="heads"),
)
excess.style.format(precision=4)

# %% figure={"alt": "Two panels with falling curves from one to zero against the degree. For the coast the curve of one head almost coincides with the dashed curve of kriging. For kinks in five dimensions kriging has a flat top and a steep fall. The curve of one head falls too early, and those of two and three heads come closer.", "name": "fig-filters"} jupyter={"source_hidden": true} tags=["hide-input"]
x = np.linspace(0, 3.2, 300)
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.0), sharey=True)
for ax, (name, (order, m)) in zip(axes, settings.items(), strict=True):
    ax.plot(x, 1 / (1 + x ** (m + order)), "k--", label="kriging")
    for heads in (1, 2, 3):
        _, widths = limits[name][heads - 1]
        _, values = measurements.compute_limit(order, m, widths)
        factor = values @ np.exp(-np.outer(widths, x**2) / 2)
        ax.plot(x, factor, label=f"heads: {heads}")
    ax.set(xlabel="degree x, scaled", title=name)
axes[0].set_ylabel("factor at this degree")
axes[1].legend()
plt.show()

# %% [markdown]
# **Heads as filters of harmonics.** The curves show by which factor the best heads multiply harmonics of each degree, in long
# contexts. Dashed: kriging, the best linear predictor. For the coast one Gaussian is almost right. For kinks in five dimensions the
# factor of kriging has a flat top, which heads of opposite sign reproduce.
#
# For the coast one head is within one percent of kriging, and a second head is not worth having. For kinks in five dimensions the
# error of one head is far above that of kriging, and two heads come close. The card compares such limits with the exact risk in a
# context of $10^{10}$ tokens. The widths of the card's heads differ by a factor of $1.5$ or more, which costs them little.
#
# A class of even functions, or of odd ones, has harmonics of one parity only. Kriging then uses the tokens opposite the query as
# well, which multiplies the limit for one head by $2^{\rho/(m+\rho)}$. Heads regain this factor if each is joined by a head that
# looks at the opposite side, with the window $-w_h$. Each of the two has half of the value, up to the sign, and the pair has the
# same bias and half of the noise. ReLU functions are even up to their linear part. This is why a third head helps them.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
kinks = {"dim": 5, "order": 3, "n": 1e10, "noise_std": noise_std, "degrees": 3000}
name = "d = {dim}, heads: {heads}"
columns = {"value": "limit", "error": "error"}
judge(
    "P1.H.kriging",
    exact_cases(
        measurements.compare_with_kriging(heads=3, **kinks), name=name, **columns
    ),
    exact_cases(
        measurements.compare_with_kriging(heads=1, parity=0, **kinks),
        name=name + ", even functions",
        **columns,
    ),
)

# %% [markdown]
# ### Kriging and the Bayes risk
#
# The risk $R_K$ of [kriging](#term-kriging) lies between two formulas
# ([theorem](../book/proofs.md#thm-kriging-bounds)):
#
# $$S(n)\;\le\;R_K(n)\;\le\;\Big(1+\frac{k(1)}{\sigma^2}\Big)\,S(n+1).$$
#
# For all classes of this book that are rotation invariant $R_K$ is asymptotically equal to the lower formula $S(n)$. The card
# samples kriging. It says where the risk of kriging lies on a scale from zero, the floor $S(n)$, to one, a sharper upper bound.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
tasks = [Affine(5), ReLU(5), PhasedCosine(5, 2.0), Sign(3)]
sampled = {"noise_std": noise_std, "draws": draws, "n_values": [5, 20]}
places = measurements.locate_between_bounds(tasks, **sampled)
more = measurements.locate_between_bounds(tasks[:2], more=4, **sampled)
name = "{task}, d = {dim}, n = {n}"
judge(
    "P1.H.floor",
    interval_cases(places, low="low", high="high", name=name),
    interval_cases(more, low="low", high="high", name=name + ", four times the tokens"),
)

# %% [markdown]
# The least risk that any predictor can have is the *Bayes risk*. In long contexts it is $\sigma^2/n$ times the number of parameters
# of the class:
#
# <a id="thm-bayes"></a>
#
# > **Theorem** (the Bayes risk of parametric classes). Let the noise be Gaussian with $\sigma>0$, let $d\ge2$, and let
# > $R_{\rm Bayes}(n)$ be the least risk of all predictors, which know the class, $\sigma$, the tokens and the labels. Let
# > $p=d+1$ for affine functions, $p=d+2$ for ReLU functions and $p=d-1$ for the waves $\cos(Lu\cdot x)$. Then
# > $n\,R_{\rm Bayes}(n)/\sigma^2\to p$.
# >
# > Hence the risk of every predictor that is linear in the labels, divided by the Bayes risk, is at least
# > $c\,n^{(d-1)/(d+2)}$ with a $c>0$ for ReLU functions, and at least $c\,(\log n/\log\log n)^{d-1}$ for waves. For
# > affine functions the quotient of kriging tends to one.
#
# The [proof](../book/proofs.md#proof-bayes) is in the appendix.
#
# The card [above](judged:P1.H.bayes) divides the risk of one head, and the floor, by the sampled risk of least
# squares, which is not below the Bayes risk. In its control the context is too short for the limit.
#
# ### What softmax weights lack are signs
#
# One softmax head has positive weights. Is its distance from kriging due to the shape of its window, or to the sign? Consider
# smooth functions in long contexts. Among positive weights that depend only on the distance, those of Epanechnikov are best. (In
# one dimension this is a classical result: [Epanechnikov, 1969](cite:epanechnikov1969);
# [Wand and Jones, 1995](cite:wand1995kernel).) Even against them softmax loses less than a factor of $e^2/4$ in every dimension.
# Against weights of both signs it can lose any factor ([the theorem](certificates.ipynb#proofs-heads)). Where softmax has nearly
# nothing to gain, as for jumps on the globe, the best second head need not even be negative.
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | here |
# |---|---|
# | each head has $M_h=w_hI$ and a number as its value | assumed for exact risks; the trained layers have free matrices |
# | windows and values of either sign | as assumed; other bounds on the values are not considered |
# | tokens uniform on the sphere, class rotation invariant | as assumed |
# | windows found by search | the risk at these windows is exact; a better pair of windows may exist |
#
# </details>

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
