# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How many heads?
#
# *What would a second attention head buy, and how far is one layer from the best predictor that is linear in the labels?*
#
# **Short answer.** A second head subtracts. Two softmax averages with different windows are combined with values of opposite
# sign, so that most of the blur cancels. For smooth functions other than polynomials every further head allows a better rate of
# the risk, as far as is proved {judged}`P1.H.rate`, and two heads give affine functions the rate $1/n$. With $d=5$, $n=20{,}000$ examples and noise
# of standard deviation $\sigma=0.5$ a second head divides the least risk on affine functions by
# {judged}`P1.H.gain | affine, d = 5, n = 20000, 2 heads | .0f`. For these functions the second head is no wider window around the
# query. Its best $w$ is negative, so that it looks away from the
# query. For functions with kinks the rate stays the same, and heads close the gap to the best predictor that is linear in the
# labels. If the even and the odd parts of the functions are equally rough, then in the limit of long contexts with $d=5$ one head has
# {judged}`P1.H.kriging | d = 5, heads: 1 | .2f` times the risk of this predictor, two heads have
# {judged}`P1.H.kriging | d = 5, heads: 2 | .2f` times and three heads, whose $w$
# differ by half at least, {judged}`P1.H.kriging | d = 5, heads: 3 | .3f` times.
# For ReLU functions, whose odd part is linear, the gap of one head is wider. If functions and noise are Gaussian, no predictor
# at all is better than the best one that is linear in the labels.
# In short contexts the worth of a second head depends on functions and noise. With $d=5$, $n=20$ and $\sigma=0.5$ the one that our
# search finds divides the risk by
# {judged}`P1.H.gain | affine, d = 5, n = 20, 2 heads | .2f` for affine functions and by
# {judged}`P1.H.gain | ReLU, d = 5, n = 20, 2 heads | .2f` for ReLU functions, while with little noise, and for even functions,
# [it can be worth much more](heads-short). On affine functions with $n=200$ trained layers come near the
# least risk of two heads if their heads start on opposite sides {judged}`P1.H.trained`, although both $w$ are larger in size than the
# best ones. Layers whose heads start alike stay near the risk of one head.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

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
test_contexts = 300  # token sets on which the trained layers are compared
draws = 1000  # token sets for each sampled risk of kriging

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize
from scipy.special import gammaln

from icl.attention import softmax_attention
from icl.covariates import uniform_sphere
from icl.risk import heads_risk, kriging_bounds, optimal_heads, optimal_window
from icl.streams import NativeStream, stream
from icl.tasks import Affine, Cosine, PhasedCosine, QuadraticRisk, ReLU, Sign
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

# %% [markdown]
# (heads-plain)=
# ## In plain words
#
# One head of softmax attention predicts with a mean of the labels in a {term}`window` around the query. Such a mean is a
# blurred picture of the function, because it flattens hills and fills valleys. A narrow window blurs less, but it averages
# over fewer labels and keeps more of their noise.
#
# **A second head takes part of the blur away.** Take a picture and a second picture that is blurred twice as much. Their
# difference shows what blurring does. So twice the first picture minus the second one is sharper than both. Numerical analysts
# call this step Richardson extrapolation: from two steps, one extrapolates to a step of size zero. In a layer with two heads
# the factors $2$ and $-1$ are the heads' *values*, the numbers by which their outputs are multiplied before they are added.
# The subtracted picture has the wider window, with half of the first head's $w$.
#
# Because the extrapolation takes care of the blur, both windows can be wide, and wide windows average away the noise. How much
# this is worth depends on the functions:
#
# - **Smooth functions.** Their blur is nearly removed in this way. The risk falls at a better rate, and each further head
#   allows a better rate again, as long as the functions have enough degrees.
# - **Functions with kinks or jumps** have blur at the kink that no extrapolation removes. The rate stays the same, and the
#   heads improve the constant, until nothing more is to be had.
# - **A coast**, where the functions jump and the sphere has two dimensions, is the extreme case: in long contexts a single
#   head is already within one percent of the best predictor that is linear in the labels.
# - **In short contexts with much noise** the noise is the larger problem, which the second heads that our search finds hardly
#   lessen for affine and ReLU functions. With little noise, or for even functions, they help there, too.
#
# ## The experiment: one, two and three heads, and the floor
#
# The risk of several heads can be computed exactly, as for one head ([](/notebooks/exact_risk.ipynb)). A head has a window
# parameter $w_h$ of either sign and a value $v_h$ of either sign. The layer predicts $\sum_hv_h\sum_i\omega_i(w_h)\,y_i$, where
# the weights $\omega_i(w)$ are proportional to $e^{w\,x_i\cdot x_q}$. A head with $w<0$ looks at the tokens opposite the query.
# For given windows the best values solve linear equations. The windows themselves come from a search, which may miss better
# ones. The *floor* is a bound that no predictor linear in the labels can pass, by a formula that is proved [below](heads-floor).
#
# The next cell computes the least risks for affine functions, which are smooth, and for ReLU functions, which have a kink. To
# try $d=7$, replace the first line of the next cell by `dim = 7`.

# %%
dim = dims[-1]  # or 7, for example
rows = []
for task in (Affine(dim), ReLU(dim)):
    for n in n_values:
        one = optimal_window(task, n, noise_std)
        row = {"task": task.label, "n": n, "1 head": float(one.risk)}
        for heads in (2, 3):
            best = optimal_heads(task, n, noise_std, heads)
            row[f"{heads} heads"] = best.risk
            if heads == 2:
                row |= {"w": best.windows.round(2), "v": best.values.round(2)}
        row["floor"] = float(kriging_bounds(task, n, noise_std).lower)
        rows.append(row)
risks = pd.DataFrame(rows)
print(risks.drop(columns=["w", "v"]).round(6).to_string(index=False))

# %%
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2))
for ax, (name, part) in zip(axes, risks.groupby("task", sort=False), strict=True):
    for label in ("1 head", "2 heads", "3 heads"):
        ax.plot(part.n, part[label], "o-", label=label)
    ax.plot(part.n, part.floor, "--", color=plots.COLORS["guide"], label="floor")
    ax.set(xscale="log", yscale="log", title=f"{name} functions, d = {dim}")
    ax.set_xlabel("context length n")
axes[0].set_ylabel("least risk")
axes[0].legend()
plt.show()

# %% [markdown]
# ```{caption} fig-heads
# :title: What a second head buys
# :alt: Two panels of least risk against context length on logarithmic axes. Left, affine functions: the curves of two and three
# heads coincide, and fall much faster than the curve of one head, parallel to the dashed floor. Right, ReLU functions: all
# curves fall at similar rates, and the curve of three heads lies close to the floor.
#
# Exact least risk of one, two and three heads against the context length. Dashed: a floor, below which no predictor that is
# linear in the labels comes. The best of them lies between the floor and the lowest curve. For affine functions (left) a second head changes the slope, and a third one adds nothing. For ReLU functions
# (right) more heads come closer to the floor.
# ```
#
# The cells take about ten seconds on two cores. With $n=20{,}000$ the printed least risk of one head divided by that of two
# heads should be {judged}`P1.H.gain | affine, d = 5, n = 20000, 2 heads | .1f` for affine functions and
# {judged}`P1.H.gain | ReLU, d = 5, n = 20000, 2 heads | .2f` for ReLU functions. The next cell prints the windows and the
# values of the best two heads. For affine functions the two windows have opposite signs, and so have the two values: the
# second head looks away from the query, and what it sees there is subtracted.

# %%
print(risks[["task", "n", "w", "v"]].to_string(index=False))

# %% [markdown]
# For the ReLU class the best two heads nearly coincide in long contexts, and their values are large and of opposite sign. Such
# a pair is one head together with its derivative in $w$. The risk is flat there, and the search keeps the two windows ten
# percent apart.
#
# (heads-short)=
# **Short contexts.** The second head subtracts blur, so that in a short context it helps if there is little noise. It also helps if
# the functions are even: a second head that looks away from the query then sees as much as the first one, is added to it, and
# halves the noise. The next cell prints the gain of the second head, the least risk of one head divided by that of two, for 20
# examples.

# %%
for task, sigma in (
    (Affine(5), 0.5),
    (ReLU(5), 0.5),
    (Affine(5), 0.05),
    (Cosine(3, 3.0), 0.3),  # even waves, cos(3 u.x)
):
    best = optimal_heads(task, 20, sigma)
    gain = optimal_window(task, 20, sigma).risk / best.risk
    print(f"{task.label:6}, d = {task.dim}, noise {sigma:4}: gain {gain:.2f}", end=", ")
    print(f"windows {best.windows.round(1)}, values {best.values.round(2)}")

# %% [markdown]
# The card compares one head of value one with two and three heads. The true gain lies between the one found and the risk of
# one head divided by the floor. In the card's control the
# negative value of the best two heads is made positive.

# %% tags=["remove-input"]
found = risks.melt(
    ["task", "n", "1 head", "floor", "w", "v"],
    ["2 heads", "3 heads"],
    var_name="heads",
    value_name="least",
)
found["gain"] = found["1 head"] / found.least
found["most"] = found["1 head"] / found.floor
found["dim"] = dim
wrong = found[found.heads == "2 heads"].copy()
added = [
    heads_risk(make(dim), row.w, np.abs(row.v), row.n, noise_std)
    for make in (Affine, ReLU)
    for row in wrong.itertuples()
    if row.task == make(dim).label
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
    attained_cases(found, "gain", high="most", labels=labels, name=name),
    exact_cases(wrong, "gain", error="error", labels=labels, name=name + ", added"),
)

# %% [markdown]
# **More heads never hurt.** For given windows, the best values are those of a projection. The next statement follows from this,
# and also says what it costs to insist on values that sum to one.
#
# :::{prf:proposition} more heads
# :label: thm-heads-geometry
# :nonumber:
# Let $\xi_h=\sum_i\omega_i(w_h)\,y_i$ be the output of head $h$. For given windows, the least risk over all values is the squared
# distance, in mean square, of $f(x_q)$ from the span of $\xi_1,\dots,\xi_H$. So a further head never raises the least risk. Let
# the outputs be linearly independent for the class without the constant part of its functions, and let $a_0$ be the mean square
# of this constant part. Values that sum to one then have a least risk that is larger by exactly
#
# $$\frac{(1-\mathsf h)^2}{\mathsf g\,(1+a_0\mathsf g)},$$
#
# where $\mathsf g>0$ and $\mathsf h$ do not depend on $a_0$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# The risk is $\mathbb E\big(f(x_q)-\sum_hv_h\xi_h\big)^2$, which is the square of a distance. A further head enlarges the span.
# Let $Q=(\mathbb E\,\xi_h\xi_k)$, $b=(\mathbb E\,\xi_hf(x_q))$ and $\mathbf 1=(1,\dots,1)$. The risk is
# $v^\top Qv-2b^\top v+k(1)$. By Lagrange, its least value under the condition $\mathbf 1^\top v=1$ exceeds its least value by
# $(1-\mathbf 1^\top Q^{-1}b)^2/\mathbf 1^\top Q^{-1}\mathbf 1$. Because the weights of each head sum to one, a constant of mean
# square $a_0$ adds $a_0\mathbf 1\mathbf 1^\top$ to $Q$ and $a_0\mathbf 1$ to $b$. Let $Q_0$ and $b_0$ belong to the class without
# its constant, and put $\mathsf g=\mathbf 1^\top Q_0^{-1}\mathbf 1$ and $\mathsf h=\mathbf 1^\top Q_0^{-1}b_0$. By the formula of
# Sherman and Morrison, $\mathbf 1^\top Q^{-1}\mathbf 1=\mathsf g/(1+a_0\mathsf g)$ and
# $1-\mathbf 1^\top Q^{-1}b=(1-\mathsf h)/(1+a_0\mathsf g)$. $\square$
# :::
#
# The additional risk falls like $1/a_0$. Values that sum to one are therefore what an unknown level of the functions asks for. On
# functions without a constant, such as the linear functions of {cite:t}`he2025`, other values are better: in their trained
# models of several heads the values sum to zero.
#
# ## By hand: three tokens on the circle
#
# The query is at the angle $0°$ and the function is $f=\cos\theta$, so the right answer is $1$. Three tokens at $0°$, $60°$ and
# $180°$ have the labels $1$, $\frac12$ and $-1$, without noise. The first head has $w=\ln16$. Its weights are proportional to
# $16^{\cos\theta}$, that is, to $16$, $4$ and $\frac1{16}$, and it predicts
# $\frac{16+2-\frac1{16}}{16+4+\frac1{16}}=\frac{287}{321}$. The second head has half of this $w$. Its weights are proportional to
# $4$, $2$ and $\frac14$, and it predicts $\frac{4+1-\frac14}{4+2+\frac14}=\frac{19}{25}$.
#
# The first answer is too small by about a tenth and the second by about a quarter. Twice the first minus the second is
# $2\cdot\frac{287}{321}-\frac{19}{25}=\frac{8251}{8025}$, which is too large by less than three percent.

# %%
angles = torch.tensor([0.0, 60.0, 180.0], dtype=torch.float64).deg2rad()
x = torch.stack([angles.cos(), angles.sin()], dim=-1)
narrow, wide = (
    softmax_attention(x, x[:, 0], x[0], w * torch.eye(2).double())
    for w in (np.log(16), np.log(4))
)
print(f"{narrow:.4f} and {wide:.4f}: extrapolated {2 * narrow - wide:.4f}")

# %% [markdown]
# **Exercise 1.** Three heads with the windows $w$, $\frac w2$ and $\frac w3$ can cancel the terms of the mean error in
# $\frac1w$ and $\frac1{w^2}$. Find their values by solving three linear equations. What are they for four heads?
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# for many in (2, 3, 4):
#     heads = np.arange(1, many + 1)
#     powers = heads ** np.arange(many)[:, None]  # the windows are w / heads
#     print(np.linalg.solve(powers, np.eye(many)[0]).round(6))
# ```
# The values are $2,-1$, then $3,-3,1$, then $4,-6,4,-1$: binomial coefficients with alternating signs. A head with the window
# $\frac wh$ blurs nearly as much as $h$ heads with the window $w$, one after the other. If the operator $T$ is one such blur, the
# layer therefore applies nearly $1-(1-T)^H$.
# :::
#
# ## Trained layers
#
# Adam trains all entries of two matrices $M_1$ and $M_2$, and both values, on fresh contexts with affine functions. The values
# start at $\frac12$. In one half of the layers the heads start on opposite sides, near $M_1=I$ and $M_2=-I$, while in the other
# half both heads start near $I$.

# %%
task = Affine(dim)
rng = NativeStream(0, "initialization")
starts = torch.tensor([[1.0, -1.0]] * seeds + [[1.0, 1.0]] * seeds)
start = starts[:, :, None, None] * torch.eye(dim)  # M_1 and M_2 of each layer
M = (start + 0.3 * rng.standard_normal(start.shape)).requires_grad_()
v = torch.full((2 * seeds, 2), 0.5, requires_grad=True)
adam = torch.optim.Adam([M, v], lr=learning_rate)


def weights(M, v, x):  # of the labels: (layer, context, token)
    scores = torch.einsum("lhde,lce,lcnd->lhcn", M, x[:, :, -1], x[:, :, :-1])
    return torch.einsum("lh,lhcn->lcn", v, torch.softmax(scores, dim=-1))


for step in range(steps):
    adam.param_groups[0]["lr"] = learning_rate * (1 - step / steps)
    x = uniform_sphere(rng, 2 * seeds * batch_size, context_length + 1, dim)
    f = task.sample(rng, len(x))(x)
    y = f + noise_std * rng.standard_normal(f.shape)
    x, f, y = (part.unflatten(0, (2 * seeds, batch_size)) for part in (x, f, y))
    guess = (weights(M, v, x) * y[:, :, :-1]).sum(dim=-1)
    adam.zero_grad()
    (guess - f[:, :, -1]).square().mean(dim=1).sum().backward()
    adam.step()

# %% [markdown]
# The next cell compares the trained layers with the best layers of one and of two heads, on the same random tokens. Given the
# tokens, the mean over functions and noise has a formula, so that only the tokens are sampled. The columns "over two" and "over
# one" are the risk divided by the least risk of two heads and by that of one head.

# %%
best = optimal_heads(task, context_length, noise_std)
one = optimal_window(task, context_length, noise_std)
x = uniform_sphere(stream(1, "evaluation"), test_contexts, context_length + 1, dim)
form = QuadraticRisk.of(task, x, noise_std)


def risk(M, v):
    tokens = x.expand(len(M), *x.shape)
    return form.risk(weights(M.double(), v.double(), tokens)).mean(dim=-1)


identity = torch.eye(dim, dtype=torch.float64)
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
print(trained.round(3).to_string(index=False))
print(f"best windows {best.windows.round(2)}, values {best.values.round(2)}")

# %% tags=["remove-input"]
ratios = trained[["start", "seed", "over two"]].assign(dim=dim, n=context_length)
template = "affine, d = {dim}, n = {n}, heads start {start}"
columns = {"value": "over two", "samples": "seed", "name": template}
judge(
    "P1.H.trained",
    sampled_cases(ratios[ratios.start == "apart"], **columns),
    sampled_cases(ratios[ratios.start == "alike"], **columns),
)

# %% [markdown]
# Heads that start apart end near the least risk: one value is larger than one, and the other head is subtracted. The table shows
# that the trained $w$ are larger in size than the best ones and the values smaller, which costs little because the risk is flat there. Heads
# that start alike stay alike, at the optimum of one head. Is it a second minimum beside that of two heads, or a saddle, which a
# longer training would leave? The answer depends on which matrices are allowed.
#
# **Among isotropic heads it is a second minimum as long as both values are positive.** Let one head be best with the window $w$ and
# the value $v^*>0$. Let two heads have this same $w$, and values with $v_1+v_2=v^*$. Move their windows apart to $w+\delta v_2$
# and $w-\delta v_1$. The first head's derivative in $w$ then cancels the second head's, and to second order in $\delta$ the risk
# changes by $-v_1v_2v^*\,\delta^2\,r''(w)$. Here $r(u)$ is the mean product of the error of the one head with the output of a
# head of window $u$, and $r'(w)=0$ because $w$ is best. So the sign of the product $v_1v_2$ decides. The next cell computes the
# exact change of the risk. It is positive for equal values and negative if the second value is negative, so $r''(w)<0$.

# %%
for n in (20, context_length):
    single = optimal_heads(task, n, noise_std, heads=1)
    w, value = single.windows[0], single.values[0]
    for shares in ([0.5, 0.5], [1.5, -0.5]):
        values = value * np.array(shares)
        apart = w + w / 5 * np.array([shares[1], -shares[0]])
        change = heads_risk(task, apart, values, n, noise_std).total / single.risk - 1
        print(f"n = {n}, values {values.round(2)}: risk {100 * change:+.3f} %")

# %% [markdown]
# For two heads with the same window, only the sum of the values counts. So the risk has a flat valley along $v_1+v_2=v^*$,
# whose floor is a minimum where both values are positive, and falls away sideways where one of them is negative. A layer that
# starts with two positive values would have to cross a part of the valley where nothing pulls it.
#
# **Among all matrices it is a saddle.** Turn the two heads in opposite directions, $M_1=wI+aJ$ and $M_2=wI-aJ$ with an
# antisymmetric $J$. One head then looks a little to one side of the query, and the other head to the other side. The next cell
# turns the first two planes in this way and prints the change of the risk and its standard error, with both values equal to
# $\frac12v^*$. The risk falls a little, and in training the layers whose heads start alike find this gain. It is far smaller than the
# gain of a head that is subtracted.

# %%
J = torch.zeros(dim, dim, dtype=torch.float64)
for i in range(0, min(dim - 1, 4), 2):
    J[i, i + 1], J[i + 1, i] = 1, -1
half = torch.full((1, 2), value / 2, dtype=torch.float64)
straight = form.risk(weights(torch.stack([w * identity] * 2)[None], half, x[None]))
for share in (0.1, 0.2, 0.3):
    a = share * w
    turned = torch.stack([w * identity + a * J, w * identity - a * J])[None]
    change = (form.risk(weights(turned, half, x[None])) - straight) / straight.mean()
    error = change.std() / test_contexts**0.5
    print(f"a = {share} w: {100 * change.mean():+.2f} +- {100 * error:.2f} %")

# %% [markdown]
# **Exercise 2.** Let all layers start with two heads that are alike, but with the values $1.5$ and $-0.5$. Where does training
# end?
#
# ```{admonition} Solution
# :class: dropdown
# Replace `starts` by `torch.ones(2 * seeds, 2)`, and the line of `v` by
# `v = torch.tensor([[1.5, -0.5]] * (2 * seeds)).requires_grad_()`. From there a split of the two windows lowers the risk, and the
# layers end near the optimum of two heads.
# ```
#
# ## Smooth functions: each head improves the rate
#
# In an infinite context a head with the window $w$ predicts the mean of $f$ under the density $e_w(t)=e^{wt}/\mathbb Ee^{wt}$ around
# the query, where $t=x\cdot x_q$. This mean multiplies the part of $f$ of degree $\ell$ by a factor
# $A_\ell(w)=\mathbb E[e_w(t)\,P_\ell(t)]$, where $P_\ell$ are the {term}`Gegenbauer polynomials`. Affine functions have the degrees $0$
# and $1$ only, and $A_0=1$. So two heads with values that solve $v_1+v_2=1$ and $v_1A_1(w_1)+v_2A_1(w_2)=1$ leave no bias at all.
#
# :::{prf:theorem} two heads on affine functions
# :label: thm-heads-affine
# :nonumber:
# Let the class have the degrees zero and one only, with mean squares $a_0>0$ and $a_1>0$, and let $\sigma>0$. **Any** two windows
# $w_1\ne w_2$ of either sign, with the values that solve $v_1+v_2=1$ and $v_1A_1(w_1)+v_2A_1(w_2)=1$, have the risk
# $\frac{\mathcal C}n+O(n^{-2})$. With $p=\sum_hv_he_{w_h}$ and $q=\sum_hv_hA_1(w_h)\,e_{w_h}$
#
# $$\mathcal C=a_1\,\mathbb E\big[p^2-2tpq+q^2\big]+\sigma^2\,\mathbb Ep^2,\qquad\mathbb Ep^2\ge d+1.$$ (eq-heads-affine)
#
# For no predictor that is linear in the labels, $n$ times the risk has a limit inferior below $\sigma^2(d+1)$. As $w_1$ and $w_2$
# tend to zero, $\mathcal C$ tends to $a_1d+\sigma^2(d+1)$ and the layer to the predictor
# $\bar y+\frac dn\sum_i(y_i-\bar y)\,x_i\cdot x_q$, which is linear attention on centered labels.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *The error.* Write $e_h=e_{w_h}$ and $A_h=A_1(w_h)$. The derivative $A_1'(w)$ is the variance of $t$ under the density $e_w$, so
# $A_1$ is strictly increasing, and the two equations have one solution. Let $T_hf(x_q)=\mathbb E_x[e_h(t)f(x)]$,
#
# $$Y_h=\frac1n\sum_ie_h(t_i)\,(y_i-T_hf(x_q)),\qquad Z_h=\frac1n\sum_ie_h(t_i)-1.$$
#
# The operator $T_h$ multiplies degree one by $A_h$ and keeps constants, so $\sum_hv_hT_hf=f$. The error of the layer is therefore
# exactly $\sum_hv_hY_h/(1+Z_h)$.
#
# *Expansion.* The function $f$ is a sum of finitely many harmonics, with coefficients of finite second moments that are independent
# of the tokens. So $Y_h$ is a sum of these coefficients times means of $n$ independent, identically distributed, bounded and centered
# variables, plus a mean of the noise with bounded weights. Hence $\mathbb EY_hY_k=O(n^{-1})$, while $\mathbb EY_hY_kZ_l$ and
# $\mathbb E|Y_hY_k|Z_l^2$ are $O(n^{-2})$. As $1+Z_h\ge e^{-2|w_h|}$, we get
# $n\,\mathcal L=n\,\mathbb E(\sum_hv_hY_h)^2+O(n^{-1})$. The first term is
#
# $$\mathbb E\Big(\sum_hv_he_h(t)\,(f(x)-T_hf(x_q))\Big)^2+\sigma^2\,\mathbb Ep^2.$$
#
# In the bracket the constant part of $f$ cancels. The mean of the square over functions is
# $a_1\sum_{h,k}v_hv_ke_he_k(1-A_ht-A_kt+A_hA_k)$, which is $a_1(p^2-2tpq+q^2)$.
#
# *Bounds.* By the two equations $\mathbb Ep=\mathbb Etp=1$, and $\mathbb Et^2=\frac1d$. So the projection of $p$ onto the span of $1$
# and $t$ is $1+dt$, and $\mathbb Ep^2\ge1+d$. For all predictors that are linear in the labels, use
# {prf:ref}`the bounds of kriging <thm-kriging-bounds>`: $n$ times the lower bound tends to $\sigma^2(1+d)$.
#
# *Wide windows.* As both windows tend to zero, $A_h\sim w_h/d$ gives $\sum_hv_hw_h\to d$ and $\sum_hv_hA_hw_h\to0$. So $p\to1+dt$ and
# $q\to1$, and the formula for $\mathcal C$ gives the limit. A head predicts
# $\bar y+\frac{w_h}n\sum_i(y_i-\bar y)\,x_i\cdot x_q+O(w_h^2)$, which gives the limit of the layer. $\square$
# :::
#
# A single head of value one reaches only $n^{-4/(d+3)}$, by {prf:ref}`the law of the window <thm-law>`. The next cell searches
# for the two windows with the least $\mathcal C$, and compares $\mathcal C$ with $n$ times the exact risk of these heads.

# %%
angle, weight = np.polynomial.legendre.leggauss(100)
angle = np.pi / 2 * (angle + 1)
t, p_t = np.cos(angle), weight * np.sin(angle) ** (dim - 2)
p_t = p_t / p_t.sum()  # probabilities of t
a_1 = 1 / (3 * dim)


def constant(windows):
    e = np.exp(np.outer(windows, t))
    e = e / (e @ p_t)[:, None]
    A = e @ (p_t * t)
    values = np.linalg.solve([[1, 1], A], [1, 1])
    p, q = values @ e, (values * A) @ e
    C = a_1 * p_t @ (p**2 - 2 * t * p * q + q**2) + noise_std**2 * p_t @ p**2
    return C, values


found = minimize(lambda w: constant(w)[0], [1.0, -2.0], method="Nelder-Mead")
least, values = constant(found.x)
print(
    f"least C found: {least:.4f}, windows {found.x.round(2)}, values {values.round(2)}"
)
for n in (200, 20_000, 2_000_000):
    exact = heads_risk(Affine(dim), found.x, values, n, noise_std).total
    print(f"n = {n:7}: n times the exact risk is {n * exact:.4f}")
wide = constant([0.01, -0.01])[0]
print(f"wide windows: {wide:.4f}; no linear predictor: {noise_std**2 * (dim + 1):.4f}")

# %% [markdown]
# Classes with more degrees keep some bias, and the window has to narrow as the context grows. Let
#
# $$\begin{gathered}\hat p_\ell=\sum_hv_hA_\ell(w_h),\qquad\kappa(w,w')=\mathbb E[e_we_{w'}],\\
#   \mathcal I_n(v,w)=\sum_\ell a_\ell(1-\hat p_\ell)^2+\frac{\sigma^2}n\sum_{h,k}v_hv_k\,\kappa(w_h,w_k)\end{gathered}$$ (eq-long-heads)
#
# be the *long-context risk*: the bias of an infinite context, plus the noise to first order in $\frac1n$.
#
# :::{prf:lemma} long contexts
# :label: thm-heads-long
# :nonumber:
# Let the covariance of the class be continuous and let $\sigma>0$. Fix different $\alpha_1,\dots,\alpha_H>0$ and values $v\ne0$, and
# put $w_h=w/\alpha_h$. As $w\to\infty$ and $w^{(d-1)/2}/n\to0$, the exact risk is $\mathcal I_n(v,w)\,(1+o(1))$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# Put $m=d-1$ and $\epsilon_h=\kappa(w_h,w_h)/n$. By Laplace's method
# $\kappa(\frac w\alpha,\frac w{\alpha'})\sim\kappa\,w^{m/2}\,2^{m/2}(\alpha+\alpha')^{-m/2}$, with the number $\kappa$ of
# {prf:ref}`the law of the window <thm-law>`. So all $\epsilon_h$ are of the order $\epsilon=w^{m/2}/n$, which tends to zero.
#
# *Bias.* Let $P_h=\sum_i\omega_i(w_h)\,(f(x_i)-f(x_q))$, and let $b_h$ be its limit for $n\to\infty$. Step 3 in the proof of the law of
# the window gives $\mathbb E(P_h-b_h)^2=o(\epsilon)$. Without noise the layer's error is $\sum_hv_hP_h+(\sum_hv_h-1)f(x_q)$. With $b_h$ in
# place of $P_h$ its mean square is $\sum_\ell a_\ell(1-\hat p_\ell)^2$. By the triangle inequality the two mean squares differ by
# $o(\text{bias}+\epsilon)$.
#
# *Noise.* Let $X=n^{-2}\sum_ie_{w_h}(t_i)\,e_{w_k}(t_i)$. Then $\mathbb EX=\kappa(w_h,w_k)/n$ and $\mathbb EX^2=O(\epsilon^2)$. With the
# $Z_h$ of the last proof, $\sum_i\omega_i(w_h)\,\omega_i(w_k)=X/((1+Z_h)(1+Z_k))$. Put $\delta=\epsilon^{1/3}$. If $Z_h,Z_k>-\delta$, this is
# at most $(1-\delta)^{-2}X$. Otherwise it is at most one, and by Chernoff's method the probability of this case is exponentially small in
# $\delta^2/\epsilon$. From below, it is at least $(1+\delta)^{-2}X$ if $|Z_h|,|Z_k|\le\delta$. The other case has a probability of at most
# $C\epsilon/\delta^2$, and contributes to $\mathbb EX$ at most $(\mathbb EX^2)^{1/2}(C\epsilon/\delta^2)^{1/2}=o(\epsilon)$. So the noise is
# $\frac{\sigma^2}n\sum v_hv_k\kappa(w_h,w_k)+o(\epsilon)$. The matrix $\big((\alpha_h+\alpha_k)^{-m/2}\big)$ is the Gram matrix of Gaussians
# of different widths, so it is positive definite, and the noise is at least a constant times $\epsilon$. $\square$
# :::
#
# For large $w$ the factor $A_\ell(w)$ is $1-\frac{\lambda_\ell}{2w}$ plus terms of higher order, where $\lambda_\ell=\ell(\ell+d-2)$ is the
# eigenvalue of the Laplacian. One head therefore has the mean error $\frac1{2w}\Delta f$. Two heads with the windows $w$ and $\frac w2$ and
# the values $2$ and $-1$ cancel this term. With $H$ heads one can cancel $H-1$ terms:
#
# :::{prf:theorem} heads on smooth functions
# :label: thm-heads-rate
# :nonumber:
# Let $\sigma>0$ and $\sum_\ell a_\ell\lambda_\ell^{2H}<\infty$.
#
# - (a) *What heads reach.* Let the windows be $w,\frac w2,\dots,\frac wH$ and the values $v_h=(-1)^{h-1}\binom Hh$. Let
#   $\beta=(H!)^2\sum_\ell a_\ell\,c_H(\lambda_\ell)^2>0$ with a polynomial $c_H$ of degree $H$, among them $c_1=-\frac\lambda2$ and
#   $c_2=\frac{\lambda(\lambda-2)}8$. As $w\to\infty$ and $w^{(d-1)/2}/n\to0$, the risk is
#   $\big[\beta w^{-2H}+\frac{\sigma^2\kappa\nu}n\,w^{(d-1)/2}\big](1+o(1))$. Here
#   $\nu=2^{(d-1)/2}\sum_{h,k}v_hv_k(h+k)^{-(d-1)/2}$. With the best $w$ the risk is of the order $n^{-4H/(d-1+4H)}$.
# - (b) *What no heads pass.* Let $a_\ell>0$ for $H+1$ degrees of one parity. Then there is a $c>0$ such that
#   $\mathcal I_n(v,w)\ge c\,n^{-4H/(d-1+4H)}$ for **all** real values, **all** real windows and all $n$. The exact risk has such a lower bound,
#   for large $n$, among heads with $|w_h|\le K\,n^{2/(d-1+4H)}$ and $\sum_h|v_h|\le n^{2H/(d-1+4H)}$, for every $K$.
# :::
#
# The number $\beta$ is positive if the class has more than $H$ degrees, because $c_H$ has at most $H$ zeros. With fewer degrees
# it can be zero. On affine functions in $d=3$ two such heads have $c_2(\lambda_1)=0$, and with the best $w$ a risk of the order
# $\frac{\log n}n$.
#
# There is a gap in (b). We do not exclude that in a finite context heads with still narrower windows, or with still larger values that
# cancel each other, have a smaller risk. A class with at most $H$ degrees reaches $\frac1n$ by $H$ heads with positive windows, as in the
# theorem on affine functions, because then the equations $\hat p_\ell=1$ can be solved.
#
# :::{admonition} Proof of (a)
# :class: dropdown
# *Expansion.* Let $m=d-1$. The derivatives of $P_\ell$ at $1$ are $\prod_{i<j}\frac{\lambda_\ell-i(i+d-2)}{m+2i}$, and on $[-1,1]$ no
# derivative is larger in absolute value than at $1$. Under the density $e_w$ the $j$-th moment of $1-t$ has an expansion in powers of
# $\frac1w$ that begins with $(2w)^{-j}\prod_{i<j}(m+2i)$. So Taylor's formula at $t=1$ gives, for $\ell\ge1$ and $w\ge1$,
#
# $$\begin{gathered}
# A_\ell(w)=1+\sum_{j=1}^{H-1}c_j(\lambda_\ell)\,w^{-j}+r_\ell(w),\\
# |r_\ell(w)|\le C\lambda_\ell^Hw^{-H},\qquad w^Hr_\ell(w)\to c_H(\lambda_\ell).
# \end{gathered}$$ (eq-heads-expansion)
#
# Here $c_j$ is a polynomial of degree $j$ with the leading coefficient $\frac{(-1)^j}{2^jj!}$, and $c_j(0)=0$.
#
# *Bias.* The binomial values have $\sum_hv_h=1$, $\sum_hv_hh^j=0$ for $0<j<H$, and $\sum_hv_hh^H=(-1)^{H-1}H!$. So
# $w^H(1-\hat p_\ell)$ tends to $(-1)^HH!\,c_H(\lambda_\ell)$, and it is at most $C\lambda_\ell^H$. By dominated convergence the bias is
# $\beta w^{-2H}(1+o(1))$.
#
# *Together.* The noise follows from the lemma on long contexts and from
# $\kappa(\frac wh,\frac wk)\sim\kappa\,w^{m/2}2^{m/2}(h+k)^{-m/2}$. The sum is least at a $w$ of the order $n^{2/(m+4H)}$. $\square$
# :::
#
# :::{admonition} Proof of (b)
# :class: dropdown
# *Idea.* For $n$ to help, the layer has to suppress harmonics of high degree. But a combination of $H$ heads that does so at one high
# degree cannot reproduce $H+1$ low degrees well.
#
# *1. Determinants are positive.* Let $0\le\mu_1<\dots<\mu_N$ and $0<z_1<\dots<z_N$. The determinant of the modified Bessel functions
# $I_{\mu_i}(z_j)$ is positive. This is classical {cite:p}`karlin1968`, and here is a proof. We show by induction that
# $F=\sum_{k\le N}c_kI_{\mu_k}$, with all $c_k\ne0$, has at most $N-1$ zeros. With $z=e^x$ the functions $u_k(x)=I_{\mu_k}(e^x)$ satisfy
# $u_k''=(e^{2x}+\mu_k^2)u_k$. If $F$ had $N$ zeros, then so had $F/u_1$, and by Rolle's theorem
# $G=u_1^2(F/u_1)'=\sum_{k\ge2}c_k(u_1u_k'-u_1'u_k)$ had $N-1$ zeros. As $G\to0$ for $x\to-\infty$, its derivative
# $G'=u_1\sum_{k\ge2}c_k(\mu_k^2-\mu_1^2)u_k$ had $N-1$ zeros as well, which the induction excludes. So the determinant never vanishes. Its
# sign is that of its limit for $z_j=\eta r_j$, $\eta\to0$, which is a positive generalized Vandermonde determinant. As
# $A_\ell(w)=I_{\ell+d/2-1}(w)/I_{d/2-1}(w)$ for $w>0$, the determinant of $A_{\ell_i}(w_j)$ is positive, too, for increasing degrees and
# increasing positive windows.
#
# *2. Growth.* Let $\ell_0<\dots<\ell_H<\ell_*$ have one parity, and let $F(\ell)=1-\hat p_\ell$. We claim
#
# $$|F(\ell_*)|\le\Lambda\max_i|F(\ell_i)|,\qquad\Lambda=\sum_i|\mathcal l_i(\lambda_{\ell_*})|\le C\lambda_{\ell_*}^H,$$
#
# where $\mathcal l_i$ are the Lagrange polynomials of the nodes $\lambda_{\ell_0},\dots,\lambda_{\ell_H}$. On one parity
# $A_\ell(-w)=\pm A_\ell(w)$ with a sign that does not depend on $\ell$. So we may take different positive windows. As
# $1=\lim_{z\to\infty}A_\ell(z)$, it is enough to bound combinations $\sum_{k=0}^Hc_kA_\ell(z_k)$ with $0<z_0<\dots<z_H$. Their values at
# $\ell_*$ are $\sum_iL_iF(\ell_i)$, and by Cramer's rule and step 1 the sign of $L_i$ is $(-1)^{H-i}$. So the best factor $\sum|L_i|$ is
# $E(\ell_*)$, where $E$ is the combination with $E(\ell_i)=(-1)^{H-i}$.
#
# This factor increases with each $z_k$. Let $z_k<z_k'<z_{k+1}$, and let $E'$ belong to $z_k'$. The difference $E'-E$ is a combination of
# $H+2$ columns that vanishes at the $H+1$ nodes. Its coefficients are $\theta(-1)^jM_j$ with positive minors $M_j$, and its value at
# $\ell_*$ is $\theta(-1)^{H+1}$ times a positive determinant. The coefficient of the column of $z_k$ is minus that of $E$, whose sign is
# $(-1)^{H+k}$ by Cramer's rule. So $\theta$ has the sign $(-1)^{H+1}$, and $E'(\ell_*)>E(\ell_*)$. Now raise all windows to infinity and
# keep their order. By {eq}`eq-heads-expansion` the combinations tend to polynomials of degree $H$ in $\lambda_\ell$, and the factor
# increases to $\Lambda$.
#
# *3. The long-context risk.* Put $m=d-1$ and $s=n^{-2/(m+4H)}$, and suppose that $\mathcal I_n\le c\,s^{2H}$. The noise in
# {eq}`eq-long-heads` is $\frac{\sigma^2}n\sum_\ell N_\ell\hat p_\ell^2$, where $N_\ell$ is the number of harmonics of degree $\ell$, and
# $ns^{2H}=s^{-m/2}$. So $\sum_\ell N_\ell\hat p_\ell^2\le c\,\sigma^{-2}s^{-m/2}$. The degrees of the given parity between $s^{-1/2}$ and
# $2s^{-1/2}$ have $\sum N_\ell\ge c_0s^{-m/2}$ for large $n$. If $c$ is small enough, one of them, $\ell_*$, has
# $|\hat p_{\ell_*}|\le\frac12$, so $|F(\ell_*)|\ge\frac12$. By step 2 some $|F(\ell_i)|$ is at least a constant times $s^H$, and
# $\mathcal I_n\ge a_{\ell_i}F(\ell_i)^2$ is at least a constant times $s^{2H}$. For small $n$ note that $\mathcal I_n\ge S_{\sigma^2}(n)>0$,
# the lower bound of {prf:ref}`kriging <thm-kriging-bounds>`, by minimizing degree by degree.
#
# *4. Finite contexts.* Let $A^{(n)}_\ell(w)=\mathbb E\sum_i\omega_i(w)P_\ell(t_i)$ and $\hat p_{n,\ell}=\sum_hv_hA_\ell^{(n)}(w_h)$. By
# Jensen's inequality, given $f$ and the query for the bias and given $t_1$ for the noise, the exact risk is at least
# $\sum_\ell a_\ell(1-\hat p_{n,\ell})^2+\frac{\sigma^2}n\sum_\ell N_\ell\hat p_{n,\ell}^2$. With $\epsilon=\kappa(w,w)/n$ we show
#
# $$|A_\ell^{(n)}(w)-A_\ell(w)|\le C\lambda_\ell\frac\epsilon{1+|w|}+Ce^{-1/(16\epsilon)}.$$
#
# Let $h=P_\ell(t)-1$, $b=\mathbb E[e_wh]$, $U=\frac1n\sum e_w(t_i)h(t_i)$ and $Z=\frac1n\sum e_w(t_i)-1$. The difference is the mean of
# $\frac{U-b-bZ}{1+Z}$, and $U-b-bZ$ has mean zero. If $Z\ge-\frac12$, we may therefore replace $\frac1{1+Z}$ by $-\frac Z{1+Z}$, up to the mean of
# $U-b-bZ$ over the other case. As $|h|\le\frac{\lambda_\ell}m(1-t)$, Schwarz's inequality gives the first term of the bound. The case
# $Z<-\frac12$ has a probability of at most $e^{-1/(8\epsilon)}$ and gives the second one.
#
# For windows up to $K/s$ the first term is at most $C\lambda_\ell s^{2H+1/2}$. With $\sum|v_h|\le s^{-H}$ the function
# $1-\hat p_{n,\ell}$ differs from $F$ by $o(s^H)$ at the nodes and by $o(1)$ at $\ell_*$. So step 3 applies to the exact risk. $\square$
# :::

# %% tags=["remove-input"]
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
# The cancellation is well known in statistics: subtracting a wider kernel makes a kernel of higher order {cite:p}`wand1995kernel`, and
# Schucany and Sommers removed bias in this way in 1977. New, as far as we know, are the exact risk of such layers, the rate with
# its constants, and the lower bound: for the long-context risk at all windows and values, and for the exact risk at bounded ones. That
# several heads are better than one, and that trained heads have values of opposite sign, was known {cite:p}`he2025`.
#
# ## Kinks and jumps: the rate stays, the constant falls
#
# If functions have kinks or jumps, one head already has the best rate, because kriging has no better one, and more heads can
# only improve the constant. How much is there to gain? Let $m=d-1$, and let the {term}`order` $\rho$ of the class be below
# four. In long contexts heads with the windows $w/\alpha_h$ multiply harmonics of the degree $x\sqrt w$ by
#
# $$\varphi(x)=\sum_hv_he^{-\alpha_hx^2/2},\qquad\text{and kriging multiplies them by}\qquad\varphi_*(x)=\frac1{1+x^{m+\rho}}$$
#
# in a suitable scale. So the question is how well a sum of Gaussians approximates $\varphi_*$. One Gaussian is a poor approximation if
# $m+\rho$ is large, because $\varphi_*$ is then flat near zero. Gaussians with values of both signs can be as flat as one likes.
#
# :::{prf:theorem} heads on rough functions
# :label: thm-heads-rough
# :nonumber:
# Let $\sigma>0$, $0<\rho<4$ and $a_\ell/N_\ell\sim C\ell^{-(m+\rho)}$ with $C>0$, where $N_\ell$ is the number of harmonics of degree
# $\ell$. Fix different $\alpha_1,\dots,\alpha_H>0$ and values with $\sum_hv_h=1$. As $n\to\infty$, the heads with the windows
# $W/\alpha_h$, $W=(nC/\sigma^2)^{2/(m+\rho)}$, have a risk whose quotient by the risk of kriging tends to $J(\varphi)/J(\varphi_*)$, where
#
# $$\begin{aligned}J(\varphi)&=\int_0^\infty(1-\varphi)^2x^{-1-\rho}dx+\int_0^\infty\varphi^2x^{m-1}dx\\
#   &=J(\varphi_*)+\int_0^\infty(\varphi-\varphi_*)^2\,(x^{-1-\rho}+x^{m-1})\,dx\end{aligned}$$
#
# and $J(\varphi_*)=\frac\pi{m+\rho}\big/\sin\frac{\pi m}{m+\rho}$. The infimum of the limit over all $\alpha$ and $v$ does not rise with the number
# of heads, and tends to one.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *The limit.* By the lemma on long contexts it is enough to treat $\mathcal I_n$. We have $N_\ell\sim A\,\ell^{m-1}$ with
# $A=\frac2{\Gamma(m)}$. Near the query the law with the density $e_{W/\alpha}$ becomes Gaussian with the variance $\alpha/W$ in each of $m$
# directions, and $P_\ell$ becomes the mean of a plane wave over its directions. So $A_\ell(W/\alpha)\to e^{-\alpha x^2/2}$ if
# $\ell\sim x\sqrt W$. Also $|1-\hat p_\ell|\le K\min(1,\lambda_\ell/W)$, by {eq}`eq-heads-expansion` with $H=1$ and $\sum_hv_h=1$. So the sum
# $W^{\rho/2}\sum_\ell a_\ell(1-\hat p_\ell)^2$ is a Riemann sum with the integrable bound $K\,x^{-1-\rho}\min(1,x^4)$, and it tends to
# $AC\int(1-\varphi)^2x^{-1-\rho}dx$. The noise is $\frac{\sigma^2}n\sum_{h,k}v_hv_k\kappa(W/\alpha_h,W/\alpha_k)$, which is
# $\frac{\sigma^2}nAW^{m/2}(1+o(1))\int\varphi^2x^{m-1}dx$. By the choice of $W$ both factors agree, and
# $\mathcal I_n\sim ACW^{-\rho/2}J(\varphi)$.
#
# *Kriging.* By the {prf:ref}`bounds of kriging <thm-kriging-bounds>` its risk is asymptotically equal to
# $S_{\sigma^2}(n)=\sum_\ell a_\ell/(1+na_\ell/(N_\ell\sigma^2))$. As a Riemann sum this is asymptotically $ACW^{-\rho/2}$ times
# $\int x^{-1-\rho}\,\frac{x^{m+\rho}}{1+x^{m+\rho}}dx=J(\varphi_*)$. The second form of $J$ is the completion of the square, at each $x$.
#
# *More heads.* A further head of value zero changes nothing, so the infimum does not rise. It tends to one if the sums $\varphi$ are
# dense, in the metric of $\mu(dx)=(x^{-1-\rho}+x^{m-1})dx$, in the set that contains $\varphi_*$. Let $g\in L^2(\mu)$ be orthogonal to all
# differences of two such sums, hence to all $e^{-\alpha x^2/2}-e^{-\alpha'x^2/2}$ and to their derivatives $x^2e^{-\alpha x^2/2}$, which are in
# $L^2(\mu)$ as $\rho<4$. Then the finite signed measure $x^2e^{-x^2/2}g\,d\mu$ has a Laplace transform in $\frac12x^2$ that vanishes, so
# $g=0$. As $\varphi_*-e^{-x^2/2}$ is in $L^2(\mu)$, it is a limit of such differences. $\square$
# :::
#
# The next cell searches for the best widths $\alpha_h$ of up to five heads. It prints by how many percent the limit of the risk
# exceeds that of kriging, for a coast on the globe ($\rho=1$, $d=3$) and for functions with kinks in five dimensions
# ($\rho=3$).

# %%
settings = {"coast, d = 3": (1, 2), "kinks, d = 5": (3, 4)}
limits = {
    name: measurements.least_limits(*setting, 5) for name, setting in settings.items()
}
excess = pd.DataFrame(
    {name: [100 * (ratio - 1) for ratio, _ in best] for name, best in limits.items()},
    index=pd.Index(range(1, 6), name="heads"),
)
print("percent above kriging")
print(excess.to_string(float_format="{:.4f}".format))

# %%
x = np.linspace(0, 3.2, 300)
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.0), sharey=True)
for ax, (name, (order, m)) in zip(axes, settings.items(), strict=True):
    ax.plot(x, 1 / (1 + x ** (m + order)), "k--", label="kriging")
    for heads in (1, 2, 3):
        _, widths = limits[name][heads - 1]
        _, values = measurements.limit(order, m, widths)
        factor = values @ np.exp(-np.outer(widths, x**2) / 2)
        ax.plot(x, factor, label=f"heads: {heads}")
    ax.set(xlabel="degree x, scaled", title=name)
axes[0].set_ylabel("factor at this degree")
axes[1].legend()
plt.show()

# %% [markdown]
# ```{caption} fig-filters
# :title: Heads as filters of harmonics
# :alt: Two panels with falling curves from one to zero against the degree. For the coast the curve of one head almost coincides with the
# dashed curve of kriging. For kinks in five dimensions kriging has a flat top and a steep fall. The curve of one head falls too early, and
# those of two and three heads come closer.
#
# By which factor the best heads multiply harmonics of a degree, in long contexts. Dashed: kriging, the best linear predictor. For the
# coast one Gaussian is almost right. For kinks in five dimensions the factor of kriging has a flat top, which heads of opposite sign
# reproduce.
# ```
#
# For the coast one head is within one percent of kriging, and a second head is not worth having, whereas for kinks in five
# dimensions one head is far above kriging and two heads come close. The card compares such limits with the exact risk in a
# context of $10^{10}$ tokens. The card's heads have widths that differ by a factor of $1.5$ or more, which costs them little.
#
# A class of even functions, or of odd ones, has harmonics of one parity only. Kriging then uses the tokens opposite the query as well,
# which multiplies the limit for one head by $2^{\rho/(m+\rho)}$. Heads regain this factor if each is joined by a head at the antipode, with
# the window $-w_h$: with half of the value each, up to the sign, the pair has the same bias and half of the noise. ReLU functions are of
# this kind, up to their linear part, and this is why a third head helps them.

# %% tags=["remove-input"]
kinks = {"dim": 5, "order": 3, "n": 1e10, "noise_std": noise_std, "degrees": 3000}
name = "d = {dim}, heads: {heads}"
columns = {"value": "limit", "error": "error"}
judge(
    "P1.H.kriging",
    exact_cases(measurements.against_kriging(heads=3, **kinks), name=name, **columns),
    exact_cases(
        measurements.against_kriging(heads=1, parity=0, **kinks),
        name=name + ", even functions",
        **columns,
    ),
)

# %% [markdown]
# (heads-floor)=
# ## The floor: kriging between two formulas
#
# How did we know the floor of {numref}`fig-heads` without sampling? {term}`Kriging <kriging>` is the best predictor that is
# linear in the labels, given the tokens, and if functions and noise are Gaussian, no predictor at all is better. Although its
# risk has no simple formula, two simple formulas enclose it at every context length.
#
# :::{prf:theorem} kriging between two formulas
# :label: thm-kriging-bounds
# :nonumber:
# Let the class be rotation invariant with $k(1)=\sum_\ell a_\ell<\infty$, let the noise be uncorrelated with variance $\sigma^2>0$, and let
# $R_K(n)$ be the risk of kriging, averaged over tokens and query. Put
#
# $$S_\tau(n)=\sum_\ell\frac{a_\ell}{1+n\,a_\ell/(N_\ell\tau)}.$$
#
# For every $n\ge1$ and every $n_1$ from $0$ to $n-1$
#
# $$S_{\sigma^2}(n)\;\le\;R_K(n)\;\le\;S_{\sigma^2+R_K(n_1)}(n-n_1).$$ (eq-kriging-bounds)
#
# In particular $R_K(n)\le\big(1+\frac{k(1)}{\sigma^2}\big)\,S_{\sigma^2}(n)$ for every $n$, and $R_K(n)\sim S_{\sigma^2}(n)$ as $n\to\infty$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# Given the tokens, the risks of predictors that are linear in the labels depend on second moments only. So we may take functions and noise
# to be Gaussian, with independent noise.
#
# *Below.* Let $f=\sum_jz_jY_j$ with an orthonormal basis of harmonics $Y_j$. The $z_j$ are uncorrelated, and $\mathrm{Var}\,z_j=a_\ell/N_\ell$ for
# the degree $\ell$ of $Y_j$. The best prediction of $f(x_q)$ is $\sum_j\hat z_jY_j(x_q)$, where $\hat z_j$ is the best prediction of $z_j$. So
# averaged over the query, the risk is the sum of the risks of all $z_j$. Tell the predictor all other $z_i$. Its risk of $z_j$ then falls to
# $\big(N_\ell/a_\ell+\sum_iY_j(x_i)^2/\sigma^2\big)^{-1}$. By Jensen's inequality and $\mathbb EY_j^2=1$ the mean of this number is at least
# $(N_\ell/a_\ell+n/\sigma^2)^{-1}$. Sum over the $N_\ell$ harmonics of each degree.
#
# *Above.* Put $n'=n-n_1$, $\tau=\sigma^2+R_K(n_1)$ and $h_\ell=(1+N_\ell\tau/(n'a_\ell))^{-1}$. Let $K(t)=\sum_\ell N_\ell h_\ell P_\ell(t)$; the sum converges
# absolutely because $\sum_\ell N_\ell h_\ell\le n'k(1)/\tau$. Let $T$ be the operator that multiplies degree $\ell$ by $h_\ell$, so that
# $Tg(x_q)=\mathbb E_x[K(x\cdot x_q)\,g(x)]$. Let $\hat f_1$ be the kriging prediction from the first $n_1$ labels, as a function of the query, and
# $\hat f_1=0$ for $n_1=0$. Predict, linearly in the labels,
#
# $$\hat f(x_q)=T\hat f_1(x_q)+\frac1{n'}\sum_{i>n_1}K(x_i\cdot x_q)\,\big(y_i-\hat f_1(x_i)\big).$$
#
# Given $f$ and $\hat f_1$ the mean of $\hat f(x_q)$ over the other tokens and their noise is $T\hat f_1+T(f-\hat f_1)=Tf$. Its variance is at most
# $\frac1{n'}\mathbb E_x\big[K^2\big((f-\hat f_1)^2(x)+\sigma^2\big)\big]$. By rotation invariance the mean of $(f-\hat f_1)^2(x)$ is $R_K(n_1)$ at every
# $x$, whatever $x\cdot x_q$ is. So the risk of $\hat f$ is at most
#
# $$\sum_\ell\Big[a_\ell(1-h_\ell)^2+\frac\tau{n'}N_\ell h_\ell^2\Big]=S_\tau(n'),$$
#
# where $\mathbb EK^2=\sum_\ell N_\ell h_\ell^2$, and $h_\ell$ is the best factor at each degree.
#
# *Consequences.* For $c\ge1$ we have $S_{c\tau}\le cS_\tau$, and $R_K(0)=k(1)$. With $n_1=0$ this is the first consequence. As $nS_\tau(n)$ rises in
# $n$, the right side of {eq}`eq-kriging-bounds` is at most $\big(1+\frac{R_K(n_1)}{\sigma^2}\big)\frac n{n-n_1}\,S_{\sigma^2}(n)$. Let $n_1\to\infty$ with
# $n_1/n\to0$. By the first consequence $R_K(n_1)\to0$, and the factor tends to one. $\square$
# :::
#
# The lower bound is that of {cite:t}`opper1998`. {cite:t}`sollich1998` has an approximation that solves $R=S_{\sigma^2+R}(n)$ and lies between our two
# bounds. That the enclosure holds at every context length and for every rotation-invariant class is new, as far as we know. The function
# `kriging_bounds` applies the upper bound repeatedly, from short contexts to long ones. If the noise is small compared with the functions and the
# context is short, the two bounds are far apart.
#
# The card samples kriging and says where its risk lies between the two bounds, from zero at the lower one to one at the upper one.

# %% tags=["remove-input"]
tasks = [Affine(5), ReLU(5), PhasedCosine(5, 2.0), Sign(3)]
sampled = {"noise_std": noise_std, "draws": draws, "n_values": [5, 20]}
places = measurements.between(tasks, **sampled)
more = measurements.between(tasks[:2], more=4, **sampled)
name = "{task}, d = {dim}, n = {n}"
judge(
    "P1.H.floor",
    interval_cases(places, low="low", high="high", name=name),
    interval_cases(more, low="low", high="high", name=name + ", four times the tokens"),
)

# %% [markdown]
# ## What softmax weights lack are signs
#
# One softmax head has positive weights. Is its distance from kriging due to the Gaussian shape of its window, or to the sign?
# Compare it with other positive weights, as the chapter [](/notebooks/linear_attention.ipynb) does for the nearest neighbors,
# which are weighted equally. For smooth functions the best positive weights that depend on the distance alone are those of
# Epanechnikov, and even against them softmax loses less than a factor of two in every dimension. Against weights of both signs it
# can lose any factor.
#
# :::{prf:theorem} the price of softmax weights
# :label: thm-price-of-weights
# :nonumber:
# Let $m=d-1$ and $\sigma>0$, and let $n\to\infty$.
#
# - (a) *Positive weights.* Let the class be smooth, as in {prf:ref}`the law of the window <thm-law>` with $\rho=4$. Let $\Phi\ge0$ be bounded, radial
#   and of compact support on $\mathbb R^m$, not zero everywhere, and consider the means of the labels with weights proportional to
#   $\Phi(\theta_i/\mathsf h)$, where $\theta_i$ is the angle between token and query. (Without a token in reach, predict zero.) The least risk of
#   softmax divided by the least risk over $\mathsf h$ tends to a limit. It is largest for $\Phi(x)=(1-|x|^2)_+$, where it is
#
#   $$\mathcal E(m)=\exp\frac{2u(\frac m2+1)}{\frac m2+2},\qquad u(z)=z\log\frac{z+1}2-\log\Gamma(z+1).$$
#
#   $\mathcal E(m)$ increases strictly with $m$ and tends to $\frac{e^2}4$. So it is below $\frac{e^2}4$ in every dimension.
# - (b) *Weights of both signs.* For $0<\rho<4$ the limit for one head in {prf:ref}`heads on rough functions <thm-heads-rough>`, with the best width, grows
#   without bound, like $(\frac m{2e})^{\rho/2}$, as $m\to\infty$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *(a), the limit.* The proof of the law of the window applies with $E_i=\Phi(\theta_i/\mathsf h)/\sup\Phi$ in place of its weights, with three
# changes. Without a token in reach, which has a probability of at most $e^{-1/(8\epsilon)}$, the error is $f(x_q)$. In an infinite context the scaled
# distance $\theta/\mathsf h$ to a token has the law with the density $\Phi/\int\Phi$; let $X$ have this law. And the step that shows $\epsilon\to0$ at
# minimizers cannot use that the noise grows as the window narrows, because empty windows have none. Instead, let $N$ be the number of tokens in
# reach. The risk is at least $\sigma^2\,\mathbb E[\frac1N;N>0]+k(1)\,\mathbb P(N=0)\ge\min(\sigma^2,k(1))/(1+\mathbb EN)$, by Jensen's inequality. As
# $\mathbb EN$ is at most a constant times $\frac1\epsilon$, a risk that tends to zero forces $\epsilon\to0$. The bias is then
# $\frac14\mathbb E(\Delta f)^2\,\mathsf h^4(\mathbb E|X|^2/m)^2$ to leading order, and the noise is proportional to
# $\mathsf h^{-m}\int\Phi^2/(\int\Phi)^2$. For softmax $X$ is Gaussian. Minimizing, the limit of the quotient is
#
# $$\Big(\frac m{\mathbb E|X|^2}\Big)^{\frac{2m}{m+4}}\Big(\frac{(4\pi)^{-m/2}(\int\Phi)^2}{\int\Phi^2}\Big)^{\frac4{m+4}}.$$
#
# *Epanechnikov is best.* Normalize $\int\Phi=1$ and choose the scale so that $\mathbb E|X|^2$ agrees with that of $\Phi_0=(a-b|x|^2)_+$, $\int\Phi_0=1$. As
# $\Phi\ge0$, $\int\Phi\Phi_0\ge\int\Phi\,(a-b|x|^2)=\int\Phi_0(a-b|x|^2)=\int\Phi_0^2$. So
# $\int\Phi^2\ge2\int\Phi\Phi_0-\int\Phi_0^2\ge\int\Phi_0^2$. For $\Phi_0=(1-|x|^2)_+$ one has $\mathbb E|X|^2=\frac m{m+4}$ and
# $\int\Phi_0^2/(\int\Phi_0)^2=\frac{2(m+2)}{(m+4)V_m}$ with $V_m=\pi^{m/2}/\Gamma(\frac m2+1)$. Inserting this gives $\mathcal E$.
#
# *Increasing.* The derivative of $u(z)/(z+1)$ has the sign of $\mathsf N=(z+1)u'-u$, and $\mathsf N'=(z+1)u''$. Here
# $u''=\frac1{z+1}+\frac1{(z+1)^2}-\psi'(z+1)>0$, because $\psi'(x)=\sum_{k\ge0}(x+k)^{-2}<x^{-2}+x^{-1}$. At $z=\frac32$, which is $m=1$,
# $\mathsf N$ is above $0.2$. So $\mathcal E$ increases. By Stirling's formula $u(z)/z\to1-\log2$.
#
# *(b)* For one head minimize $J$ over the width. With $I=\int x^{-1-\rho}(1-e^{-x^2/2})^2dx$ and $\int e^{-x^2}x^{m-1}dx=\frac12\Gamma(\frac m2)$, the
# least value of $I\alpha^{\rho/2}+\frac12\Gamma(\frac m2)\alpha^{-m/2}$ is
# $(1+\frac\rho m)\,I\,\big(\frac{m\Gamma(m/2)}{2\rho I}\big)^{\rho/(m+\rho)}$. By Stirling's formula this is asymptotically $I\,(\frac m{2e})^{\rho/2}$, while
# $J(\varphi_*)\to\frac1\rho$. $\square$
# :::
#
# In one dimension part (a) is a classical result on kernels {cite:p}`epanechnikov1969,wand1995kernel`. The next cell prints $\mathcal E$, and the
# limits of one head over kriging for jumps and kinks.

# %%
m = np.array([1, 2, 4, 7, 15, 49])
z = m / 2 + 1
prices = {"d": m + 1}
prices["positive weights, smooth"] = np.exp(
    2 * (z * np.log((z + 1) / 2) - gammaln(z + 1)) / (z + 1)
)
for name, order in (("jumps", 1), ("kinks", 3)):
    prices[f"kriging, {name}"] = [
        measurements.least_limits(order, k, 1)[0][0] for k in m
    ]
print(pd.DataFrame(prices).round(3).to_string(index=False))

# %% [markdown]
# So what one softmax head lacks, apart from a better shape, are negative weights, and a head that is subtracted supplies them. Where softmax has nearly nothing
# to gain, as for jumps on the globe, the best second head need not even be negative.
#
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | each head has $M_h=w_hI$ and a number as its value | assumed for exact risks; the trained layers have free matrices |
# | windows and values of either sign | as assumed; other bounds on the values are not considered |
# | tokens uniform on the sphere, class rotation invariant | as assumed |
# | windows found by search | the risk at these windows is exact; a better pair of windows may exist |
#
# The tolerance of the card P1.H.rate was set after a first run.
# ```
#
# ## What this does not say
#
# - The least risks are least *among isotropic heads*. That heads $M_h=w_hI$ are best among all matrices is proved for one head only
#   ({prf:ref}`form of the minimizer <thm-form>`). For two heads of positive values it is false, as the turned heads above show.
# - The search can miss better windows, so that the risks of two and three heads are upper bounds of the least ones.
# - Values here are numbers. With value matrices, several layers or an MLP a layer can do more. Two layers are in
#   [](/notebooks/beyond.ipynb).
#
# ## To remember
#
# A second head is worth having because it can be subtracted: two blurred pictures extrapolate to a sharper one. For smooth functions each head
# allows a better rate. For kinks the heads close the gap to the best predictor that is linear in the labels. For coasts there is hardly a gap to
# close. In short contexts the worth of a second head depends on functions and noise.

# %% tags=["remove-input"]
notebook.footer()
