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
# # The attention window
#
# **Short answer.** On the sphere softmax attention with $M=wI$ is kernel regression
# with the kernel $e^{-\frac w2\|x-x_q\|^2}$ {judged}`P1.W.kernel`: its one number $w$
# sets how far around the query it looks. The best window widens with the noise, and
# narrows with $L$ where the context resolves the functions: for cosines on the circle
# ($d=2$, $n=40$, $\sigma=0.2$) it is
# {judged}`P1.W.softmax-adapts | cosine, d = 2, n = 40, $\sigma$ = 0.2, L = 8 over 1 | .2f`
# times as wide at $L=8$ as at $L=1$ ({numref}`fig-one`). The slides' table of what a
# large $M$ does is right in all four rows, that of the bias if the mean over tokens is
# taken before the square.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
lipschitz_values = [1.0, 4.0, 8.0]  # Lipschitz constants L of the figure's columns
context_length = 40  # tokens n in the figure's contexts
n_values = [20, 40, 80, 160, 320, 640]  # context lengths of the error curves
noise_std = 0.2  # standard deviation sigma of the label noise
dims = [2, 3, 5]  # dimensions d of the claims
draws = 20  # contexts drawn for each check of the weights
seed = 0  # root of the random streams

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy.stats import vonmises_fisher
from sklearn.neighbors import KNeighborsRegressor
from statsmodels.nonparametric.kernel_regression import KernelReg

from icl.attention import softmax_attention, softmax_weights
from icl.covariates import uniform_sphere
from icl.risk import linear_optimum, optimal_window, population_risk
from icl.statistics import local_slope
from icl.streams import stream
from icl.tasks import Affine, Cosine, ReLU, angle_quadrature
from icl.tasks.gegenbauer import Polynomials
from icl_book import notebook, plots
from icl_book.claims import exact, extrapolated, judge
from icl_book.interactive import interactive

# statsmodels, about random numbers that are not used here
warnings.filterwarnings("ignore", category=FutureWarning)

notebook.setup(globals())

CLASSES = {"affine": Affine, "relu": ReLU}
d_column = np.array(dims)[:, None]


def log_slopes(x, y, error):
    """Return slopes of log y in log x between neighbors on the last axis, and errors.

    The errors follow from the relative errors of y.
    """
    steps = np.diff(np.log(x))
    return np.diff(np.log(y)) / steps, (error[..., 1:] + error[..., :-1]) / steps


# %% tags=["hide-input"]
circle = {L: Cosine(2, L) for L in lipschitz_values}
best = {L: optimal_window(circle[L], context_length, noise_std).w for L in circle}
lengths = np.array(n_values)
adapted = {L: optimal_window(task, lengths, noise_std) for L, task in circle.items()}
errors = {
    (L, other): population_risk(circle[L], adapted[other].w, lengths, noise_std).total
    for L in circle
    for other in circle
    if L != other
}


def on_circle(angles):
    """Return points of the unit circle, shape (angles, 2)."""
    return torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=-1))


def draw_context(column):
    """Draw function, angles of the tokens, and labels of one column of the figure."""
    f = circle[lipschitz_values[column]].sample(stream(seed, "tasks", column), 1)
    rng = stream(seed, "covariates", column)
    theta = np.sort(rng.uniform(-np.pi, np.pi, context_length))
    noise = stream(seed, "noise", column).standard_normal(context_length)
    return f, theta, f(on_circle(theta)[None])[0] + noise_std * torch.from_numpy(noise)


around = np.linspace(-np.pi, np.pi, 400)
ring = on_circle(around)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The paper's Fig. 1 with declared functions $\\cos(L\\,u\\cdot x)$ on the circle. Top: target (line), noisy data (gray) and query (open circle) against the angle to the query; blue shading is the optimal window, darker where the weight is larger. Middle: exact optimal softmax weight and linear weight, each in units of its value at the query. Bottom: exact ICL error against the context length, with the window optimal for this column's $L$ (solid blue), with the windows optimal for the other two columns (dashed), and with the best linear attention (dotted).", "name": "fig-one"}, "image": {"alt": "Nine panels. From left to right the target wiggles faster and the shaded window around the query shrinks. In the middle row the softmax weight becomes a narrower bump, the linear weight stays the same cosine. In the bottom row the adapted window has the lowest error, the others lie above it, and linear attention does not improve with the context length."}}
size = (2.8 * len(circle), 7.2)
figure, axes = plt.subplots(3, len(circle), figsize=size, squeeze=False, sharey="row")
for column, (L, task) in enumerate(circle.items()):
    w, (f, theta, y) = float(best[L]), draw_context(column)
    kernel = np.exp(w * (np.cos(around) - 1))
    top, middle, bottom = axes[:, column]
    top.imshow(
        kernel[None],
        extent=(-np.pi, np.pi, -1.8, 1.8),
        aspect="auto",
        cmap="Blues",
        alpha=0.6,
        vmin=0,
        vmax=1.5,
    )
    top.plot(around, f(ring[None])[0], color="black")
    top.plot(theta, y, ".", color="#767676")
    at_query = f(ring.new_tensor([[[1.0, 0.0]]]))[0, 0]
    top.plot(0, at_query, "o", color="black", markerfacecolor="white", markersize=8)
    top.set(title=f"L = {L:g}, w* = {w:.0f}", ylim=(-1.8, 1.8))
    top.grid(False)
    plots.exact_curve(middle, around, kernel, None, plots.COLORS["softmax"])
    pink = plots.COLORS["linear attention"]
    plots.exact_curve(middle, around, np.cos(around), None, pink, linestyle=":")
    for ax in (top, middle):
        ax.set(xlim=(-np.pi, np.pi), xticks=[-np.pi, 0, np.pi])
        ax.set_xticklabels([r"$-\pi$", "0", r"$\pi$"])
    middle.set_xlabel("angle to the query (radians)")
    plots.exact_curve(
        bottom, lengths, adapted[L].risk, "softmax, adapted", plots.COLORS["softmax"]
    )
    for (mine, other), error in errors.items():
        if mine == L:
            plots.exact_curve(
                bottom,
                lengths,
                error,
                f"window of L = {other:g}",
                plots.COLORS["guide"],
                linestyle="--",
                linewidth=1.2,
                marker="os^D"[list(circle).index(other) % 4],
                markersize=3,
            )
    linear = linear_optimum(task, lengths, noise_std).risk
    plots.exact_curve(bottom, lengths, linear, "linear attention", pink, linestyle=":")
    bottom.set(xscale="log", yscale="log", xlabel="context length n", ylim=(3e-4, 2))
    bottom.set_xticks(lengths[::2], [str(m) for m in lengths[::2]])
    bottom.set_xticks([], minor=True)
for ax, label in zip(
    axes[:, 0], ("label", "weight / weight at the query", "ICL error"), strict=True
):
    ax.set_ylabel(label)
named = {
    label: line
    for ax in axes[2]
    for line, label in zip(*ax.get_legend_handles_labels(), strict=True)
}
figure.legend(
    [named[label] for label in sorted(named)],
    sorted(named),
    loc="outside lower center",
    ncols=3,
    fontsize=9,
)
plt.show()

# %% [markdown]
# ## What is printed
#
# The slides ("ICL Estimator Intuition") rewrite the attention that the query $x_{n+1}$
# pays to token $x_i$ as
#
# $$\frac{e^{-\frac{w_{KQ}}2\|x_i-x_{n+1}\|^2}}
#   {\sum_{j=1}^ne^{-\frac{w_{KQ}}2\|x_j-x_{n+1}\|^2}}$$ (eq-kernel)
#
# and add two observations: attention is larger for points closer to $x_{n+1}$; how much
# larger is controlled by $w_{KQ}$, and a larger $w_{KQ}$ concentrates attention on the
# closest points. Then a table:
#
# | tradeoff | $M$ large | $M$ small |
# |:--|:--|:--|
# | attention decays | quickly with distance | slowly with distance |
# | number of points that are attended to | fewer | more |
# | estimator bias | low | high |
# | noise variance | high | low |
#
# and a summary: rapid function change wants a small window (large $w_{KQ}$), slow
# change a large window (small $w_{KQ}$). Fig. 1 shows this in three columns, with the
# caption
#
# > **Top:** Varying Lipschitzness in the ground truth results in different optimal
# > attention windows. **Middle:** Attention unit can adapt to these attention windows
# > using softmax. **Bottom:** ICL error with varying number of context tokens.
#
# ```{admonition} Corrected
# :class: tip
# The authors' rebuttal, the appendix and the slides' proof sketch write $e^{-w\|x-y\|^2}$
# for $e^{x^\top My}$ with $M=wI$. If both letters are one number, a factor is missing: the
# kernel is {eq}`eq-kernel`. If the kernel's $w$ takes up constants, nothing is missing.
# ```
#
# The abstract's sentence, that the window "widens with decreasing Lipschitzness and
# increasing label noise", is judged at the end.
#
# **Convention.** $w=w_{KQ}$ everywhere in this book. The query is not in the
# denominator.

# %% [markdown]
# ## In plain words
#
# Attention predicts with a weighted mean of labels. Tokens near the query count most. A large $w$ is a narrow window: few
# labels are averaged (noisy), all of them from close by (little is smeared). A small $w$ is a wide window: many labels
# (quiet), some of them from far away (smeared). The faster the functions change, the narrower the window should be; the
# noisier the labels, the wider.
#
# ## By hand
#
# On the unit circle, a token at angle $60°$ from the query has $x\cdot x_q=\frac12$ and $\|x-x_q\|^2=1$. One at $0°$
# has $1$ and $0$. The softmax gives them weights in the ratio $e^{w}:e^{w/2}$; the kernel {eq}`eq-kernel` gives
# $1:e^{-w/2}$. The same. With $w=\ln 4$ that is $2:1$. The appendix's kernel $e^{-w\|x-x_q\|^2}$ would give $4:1$.
#
# :::{admonition} Proof
# :class: dropdown
#
# For unit vectors $\|x-x_q\|^2=2-2\,x\cdot x_q$, so
# $e^{w\,x\cdot x_q}=e^{w}e^{-\frac w2\|x-x_q\|^2}$, and the factor $e^w$ cancels in the
# softmax. As a law of $x$ on the sphere, $e^{w\,x\cdot x_q}$ is the
# {term}`von Mises-Fisher density` with concentration $w$ (the Gaussian law restricted
# to the sphere): attention is Nadaraya-Watson regression, a weighted mean of labels,
# with that kernel. $\square$
# :::
#
# **Exercise 1.** Put the tokens on a sphere of radius $r$. What becomes of the kernel,
# and what of the optimal $w$?
#
# ```{admonition} Solution
# :class: dropdown
# $\|x-x_q\|^2=2r^2-2\,x\cdot x_q$, so the kernel is the same function of the distance;
# distances grow by $r$, and for functions of $x/r$ the optimal $w$ falls by $r^2$.
# ```

# %%
angles = torch.tensor([0.0, 60.0], dtype=torch.float64).deg2rad()
pair = torch.stack([angles.cos(), angles.sin()], dim=-1)
print(softmax_weights(pair, pair[0], np.log(4) * torch.eye(2).double()))

# %% [markdown]
# A figure to move: attention on the circle, $d=2$.


# %% tags=["hide-input"]
def circle_tables(sigma=0.3):
    """Return predictions around the circle, and the tokens' weights for each query."""
    drawn, curves, points = stream(4, "evaluation"), [], []
    tokens, noise = drawn.integers(-180, 180, 40), sigma * drawn.standard_normal(40)
    around = np.arange(-180, 181, 3)
    x, queries = (on_circle(np.deg2rad(angles)) for angles in (tokens, around))
    for w in (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0):
        weights = softmax_weights(x, queries, w * torch.eye(2).double()).numpy()
        for L in (1, 2, 3, 5, 8):
            labels = np.cos(L * np.deg2rad(tokens)) + noise
            row = {"w": w, "L": L, "angle": around, "prediction": weights @ labels}
            curves.append(
                pd.DataFrame(row | {"target": np.cos(L * np.deg2rad(around))})
            )
            for query, size in zip(around[::5], weights[::5], strict=True):
                row = {"w": w, "L": L, "query": query, "x": tokens, "y": labels}
                points.append(pd.DataFrame(row | {"size": size}))
    return pd.concat(curves), pd.concat(points)


curves, points = circle_tables()
interactive(
    curves,
    x="angle",
    y={"prediction": "prediction", "target": "target"},
    sliders={"query": "query, degrees", "w": "window parameter w", "L": "waves L"},
    start={"query": 60, "w": 10.0, "L": 3},
    cursor="query",
    points=points,
    labels=("angle in degrees", "label"),
    log="",
    ylim=(-1.9, 1.9),
    experiment="Move w from 0 to 1000: the prediction leaves the mean of all labels, "
    "meets the wave, and in the end follows the noise of one token. Then drag the "
    "query.",
    alt="Labels of forty tokens on the circle against their angle, each a disc whose "
    "area is its attention weight, large near the query; the target, a wave, and the "
    "prediction at every angle.",
    caption="Area of a disc: its weight for this query. Fixed: the tokens, and their "
    "noise, σ = 0.3.",
)

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens on the unit sphere | used by the kernel form; broken in two controls |
# | $M=wI$ | the form of the optimum for rotation-invariant classes, [](/notebooks/theorem2_scaling.ipynb) |
# | functions of Fig. 1 | not printed; we take the cosine class, $f(x)=\cos(L\,u\cdot x)$ with random $u$ |
# ```
#
# ## Experiment 1: attention is kernel regression
#
# Four libraries predict the same query from the same context: `KernelReg` of statsmodels (local
# constant, Gaussian kernel, bandwidth $w^{-1/2}$), a nearest-neighbor regressor of scikit-learn
# over all tokens with Gaussian weights, the von Mises-Fisher density of SciPy, and PyTorch's
# fused attention with the label as value.


# %%
def context(d, step, on_sphere=True):
    """Draw one context: tokens, labels, query."""
    rng = stream(seed, "monte carlo", step)
    x = uniform_sphere(rng, context_length + 1, d)
    if not on_sphere:
        x = torch.from_numpy(rng.standard_normal((context_length + 1, d)))
    y = ReLU(d).sample(stream(seed, "tasks", step), 1)(x[None])[0]
    noise = stream(seed, "noise", step).standard_normal(context_length + 1)
    y = y + noise_std * torch.from_numpy(noise)
    return x[:-1], y[:-1], x[-1]


def by_statsmodels(x, y, query, w):
    h = np.full(x.shape[1], w**-0.5)
    model = KernelReg(y.numpy(), x.numpy(), "c" * x.shape[1], "lc", bw=h)
    return model.fit(query.numpy()[None])[0][0]


def by_scikit_learn(x, y, query, w):
    model = KNeighborsRegressor(
        len(x), weights=lambda distance: np.exp(-w / 2 * distance**2)
    )
    return model.fit(x.numpy(), y.numpy()).predict(query.numpy()[None])[0]


def by_von_mises_fisher(x, y, query, w):
    density = vonmises_fisher(query.numpy(), w).pdf(x.numpy())
    return density @ y.numpy() / density.sum()


def by_fused_attention(x, y, query, w):
    q, k, v = query[None, None], x[None], y[None, :, None]
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, k, v, scale=w)[0, 0, 0].item()


# %% [markdown]
# The largest difference from softmax attention, over random contexts and three windows.


# %% tags=["hide-input"]
def largest_gap(predict, d):
    """Return the largest difference between a prediction and softmax attention."""
    gaps = []
    for step in range(draws):
        x, y, query = context(d, step)
        for w in (0.5, 4.0, 30.0):
            attention = softmax_attention(x, y, query, w * torch.eye(d).double())
            gaps.append(abs(predict(x, y, query, w) - float(attention)))
    return max(gaps)


libraries = {
    "statsmodels": by_statsmodels,
    "scikit-learn": by_scikit_learn,
    "SciPy, von Mises-Fisher": by_von_mises_fisher,
    "PyTorch, fused attention": by_fused_attention,
}
gaps = [[largest_gap(predict, d) for d in dims] for predict in libraries.values()]
judge(
    "P1.W.nadaraya-watson",
    exact("{by}, d = {d}", gaps, by=np.array(list(libraries))[:, None], d=dims),
)

# %% [markdown]
# The weights themselves, the factor in the exponent, and the order of the weights; the controls take the tokens off the sphere.


# %% tags=["hide-input"]
def weights_and_distances(d, on_sphere, w):
    """Return weights and squared distances to the query, each of shape (draws, n)."""
    weights, squares = [], []
    for step in range(draws):
        x, _, query = context(d, step, on_sphere)
        weights.append(softmax_weights(x, query, w * torch.eye(d).double()).numpy())
        squares.append(((x - query) ** 2).sum(-1).numpy())
    return np.array(weights), np.array(squares)


def kernel_gap(omega, square, w):
    """Return the largest difference of the weights from the Gaussian kernel."""
    kernel = np.exp(-w / 2 * square)
    return np.abs(omega - kernel / kernel.sum(-1, keepdims=True)).max()


def coefficient(omega, square, w):
    """Return the factor of the squared distance in the exponent, over w."""
    slopes = [
        np.polyfit(x, -np.log(y) / w, 1)[0] for x, y in zip(square, omega, strict=True)
    ]
    return np.mean(slopes)


def out_of_order(omega, square, w):
    """Return the share of pairs of tokens of which the farther one weighs more."""
    heavier = omega[:, :, None] > omega[:, None]
    farther = square[:, :, None] > square[:, None]
    wrong, n = (heavier & farther).sum((1, 2)), omega.shape[1]
    return np.mean(wrong / (n * (n - 1) / 2))


# %% [markdown]
# All three at one window, in every dimension.

# %% tags=["hide-input"]
w = 4.0
on_sphere = [(*weights_and_distances(d, True, w), w) for d in dims]
off_sphere = [(*weights_and_distances(d, False, w), w) for d in dims]


def cases(measure):
    """Return the cases of one number on the sphere and off it, in every dimension."""
    here, control = (
        [measure(*drawn) for drawn in law] for law in (on_sphere, off_sphere)
    )
    return (
        exact("d = {d}", here, d=dims),
        exact("d = {d}, normal tokens", control, d=dims),
    )


judge("P1.W.kernel", *cases(kernel_gap))

# %% tags=["hide-input"]
judge("P1.W.appendix-kernel", cases(coefficient)[0])

# %% tags=["hide-input"]
wide = [(*weights_and_distances(d, True, 1.0), 1.0) for d in dims]
rates = [
    [coefficient(*drawn) * drawn[-1] for drawn in law] for law in (on_sphere, wide)
]
template = f"d = {{d}}, w = {w:g} over w = {wide[0][-1]:g}"
judge("P1.W.table-decay", exact(template, np.divide(*rates), d=dims), folded=True)

# %% tags=["hide-input"]
judge("P1.W.closer", *cases(out_of_order))

# %% [markdown]
# ## Experiment 2: the table, measured
#
# For each window: the distance at which the weight has fallen to half of its largest possible value, the number of points attended to,
# $1/\mathbb E\sum_i\omega_i^2$, and the two parts of the risk. All exact; ReLU class with $L=1$ in the largest dimension of the list.

# %% tags=["hide-input"]
d = max(dims)
table = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0])
risk = population_risk(ReLU(d), table, context_length, noise_std)
unit = risk
if not noise_std:
    unit = population_risk(ReLU(d), table, context_length, 1.0)
points = (noise_std or 1.0) ** 2 / unit.noise
half = np.sqrt(2 * np.log(2) / table)
columns = zip(table, half, points, risk.bias, risk.noise, risk.total, strict=True)
rows = [
    (
        f"$w = {w:g}$",
        f"{h:.2f}" if h <= 2 else "none",
        f"{p:.1f}",
        *(f"{value:.4f}" for value in values),
    )
    for w, h, p, *values in columns
]
noiseless = {
    name: np.array([optimal_window(task(k), context_length, 0.0).w for k in dims])
    for name, task in CLASSES.items()
}
w0 = noiseless["relu"][dims.index(d)]
notebook.glue("noiseless", w0)
notebook.glue("left", 1 / population_risk(ReLU(d), w0, context_length, 1.0).noise)
plots.table(
    ("window", "half-weight distance", "points", "bias", "noise", "risk"),
    rows,
    f"ReLU class, L = 1, d = {d}, n = {context_length}, "
    f"$\\sigma$ = {noise_std:g}; exact",
)

# %% [markdown]
# **Exercise 2.** In the table, at which window do bias and noise balance? Change
# `noise_std` and predict the answer before running.
#
# ```{admonition} Solution
# :class: dropdown
# Where the two columns are about equal; the noise column scales with $\sigma^2$, so the
# balance moves to wider windows as $\sigma$ grows. At the minimum it is the *slopes*
# that balance, not the values.
# ```
#
# :::{admonition} Proof
# :class: dropdown
#
# *Noise.* For any tokens let $E_w$ be the mean with weights $\omega_i$. Then
# $\frac d{dw}\log\sum_i\omega_i^2=2(E_{2w}[t]-E_w[t])\ge0$, because $E_w[t]$ grows with $w$: its derivative is the variance of $t$ under the weights.
#
# *Bias.* For an affine function, with $q$ and slope $\ell$, the mean over tokens of the prediction is $\ell\,m\,q\cdot x_q+b$ with
# $m=\mathbb E\sum_i\omega_it_i$. The estimator's bias is $-\ell(1-m)\,q\cdot x_q$, and $\frac{dm}{dw}=\mathbb E\,{\rm Var}_\omega(t)\ge0$. $\square$
# :::
#
# For other classes, degree by degree: the mean prediction of a function of degree $\ell$ is that function times $m_\ell=\mathbb E\sum_i\omega_iP_\ell(t_i)$, so
# the mean square of the estimator's bias is $\sum_\ell a_\ell(1-m_\ell)^2$. As $1/S=\int_0^\infty e^{-sS}ds$, one integral gives $m_\ell$, in the manner of
# [](/notebooks/exact_risk.ipynb).

# %% tags=["hide-input"]
grid = np.geomspace(0.01, 1e3, 21)


def noise_growth(k):
    """Return the least logarithmic slope of the noise in w, for all classes."""
    risk = population_risk(Affine(k), grid, context_length, 1.0)
    growth, error = log_slopes(grid, risk.noise, risk.error)
    return growth.min(), error.max()


growth = zip(*(noise_growth(k) for k in dims), strict=True)
template = f"d = {{d}}, n = {context_length}"
judge("P1.W.table-noise", exact(template, *growth, d=dims))


# %% tags=["hide-input"]
def mean_shortfalls(d, w, last, nodes, step):
    """Return 1 - m_l for the degrees l = 1, ..., last."""
    theta, p = angle_quadrature(d, nodes)
    u = np.arange(-np.log(context_length) - 30, 2 * w + 6, step)
    z = np.exp(np.minimum(u[:, None] - w * (1 - np.cos(theta)), 8))
    phi = (np.exp(-z) @ p)[:, None] ** (context_length - 1)
    one_token = (z * np.exp(-z) * phi).sum(0) * p
    gaps = Polynomials(d, theta).take(last + 1)[1:]  # 1 - P_l
    return context_length * step * (gaps @ one_token)


wide_to_narrow, last = np.geomspace(0.1, 100, 16), 60
all_classes = {**CLASSES, "cosine": Cosine}


def steepest(nodes, step):
    """Return the largest slope of the squared bias, for all classes and dimensions."""
    slopes = []
    for k in dims:
        a = np.array([task(k).spectrum(last)[0] for task in all_classes.values()])
        missed = [mean_shortfalls(k, w, last, nodes, step) for w in wide_to_narrow]
        log_bias = np.log(a @ np.array(missed).T ** 2)
        slopes.append(np.diff(log_bias) / np.diff(np.log(wide_to_narrow)))
    return np.max(slopes, axis=-1).T


# %% [markdown]
# **Where the squared error turns.** The theory's
# $\mathcal L_{\rm bias}=\mathbb E(\sum_if(x_i)\omega_i-f(x_q))^2$, the column "bias"
# above, takes the square *before* the mean over tokens. It falls only up to $w_0=$
# {glue:text}`noiseless:.1f` here, where {glue:text}`left:.1f` points are attended to.
# Narrowing the window further makes the prediction depend more on where those few
# tokens happen to lie.


# %% tags=["hide-input"]
# windows between which log L_bias has a slope, in units of w_0
factors = np.array([0.1, 0.5, 0.9, 1.0, 1.1, 3.0, 10.0])


def bias_growth(task, w0):
    """Return the slopes of log L_bias in log w between the windows, and errors."""
    risk = population_risk(task, factors * w0, context_length, 0.0)
    return log_slopes(factors, risk.bias, risk.error)


growth = np.array(
    [
        [bias_growth(task(k), w0) for k, w0 in zip(dims, noiseless[name], strict=True)]
        for name, task in CLASSES.items()
    ]
)
squared_first = exact(
    "{kind}, d = {d}, from ${low:g}\\,w_0$ to ${high:g}\\,w_0$",
    growth[:, :, 0],
    growth[:, :, 1],
    kind=np.array(list(CLASSES))[:, None, None],
    d=d_column,
    low=factors[:-1],
    high=factors[1:],
    beyond=factors[1:] > 1,
)
judge("P1.W.bias-turns", squared_first)

# %% tags=["hide-input"]
steepness = steepest(300, 0.1)
judge(
    "P1.W.table-bias",
    exact(
        "{kind}, d = {d}, w = 0.1 to 100",
        steepness,
        np.abs(steepness - steepest(240, 0.15)).max(),
        kind=np.array(list(all_classes))[:, None],
        d=dims,
    ),
    readings={"$\\mathcal L_{\\rm bias}$ of the same talk": squared_first},
)

# %% tags=["hide-input"]
narrow, lengths = np.array([1e4, 1e5, 1e6]), [2, 3, 20]


def shared_weight(k, n):
    """Return what is missing from E sum omega^2 = 1 at the three windows."""
    return 1 - population_risk(Affine(k), narrow, n, 1.0).noise


missing = np.array([[shared_weight(k, n) for n in lengths] for k in dims])
slope, change = local_slope(narrow, missing)
# for n = 2, 1 - sum omega^2 = sech^2(w (t_1 - t_2) / 2) / 2, of mean ~ 1 / w, log w / w
known = slope[:, :1], change[:, :1], -1.0
judge(
    "P1.W.concentrate",
    extrapolated(
        "d = {d}, n = {n}",
        slope[:, 1:],
        change[:, 1:],
        known=known,
        d=d_column,
        n=lengths[1:],
    ),
)

# %% [markdown]
# ## Experiment 3: Fig. 1, redrawn with exact curves
#
# The top row shows one context each, drawn from the streams of this run; the other two rows are exact. The weight of
# linear attention, $m\,x_i\cdot x_q/n$, is a cosine of the angle whatever $m$ is.

# %% [markdown]
# These cosines have no part that is linear in $x$ (they are even), so the best [linear attention](/notebooks/linear_attention.ipynb) predicts zero
# and its error does not move.


# %% tags=["hide-input"]
def half_width(w):
    """Return the distance at which the weight is half of the largest, at most 2."""
    return min(2.0, np.sqrt(2 * np.log(2) / w)) if w > 0 else 2.0


least_L, most_L = min(lipschitz_values), max(lipschitz_values)


def narrowing(task, k):
    """Return the half width of the roughest class over the smoothest one, and error."""
    smooth, rough = (
        optimal_window(task(k, L), context_length, noise_std) for L in (least_L, most_L)
    )
    ratio = half_width(rough.w) / half_width(smooth.w)
    return ratio, ratio * (rough.error + smooth.error)


narrowings = np.array([[narrowing(task, k) for k in dims] for task in CLASSES.values()])
classes = np.array(list(CLASSES))[:, None]
setting = f"n = {context_length}, $\\sigma$ = {noise_std:g}"
setting += f", L = {most_L:g} over {least_L:g}"
template = f"{{kind}}, d = {{d}}, {setting}"
judge(
    "P1.W.softmax-adapts",
    [
        exact(f"cosine, d = 2, {setting}", *narrowing(Cosine, 2)),
        exact(template, *np.moveaxis(narrowings, -1, 0), kind=classes, d=dims),
    ],
)

# %% [markdown]
# How the error falls with the number of tokens, with the window adapted, and with it kept.

# %% tags=["hide-input"]
far = np.array([1e5, 1e6, 1e7])


def errors_far(task, w):
    """Return the risks at the three lengths."""
    return population_risk(task, w, far, noise_std).total


def slopes_far(task):
    """Return slope and change of the error, with the window adapted, and with it kept.

    The window that is kept is that of the last context length of the figure.
    """
    *best, last = optimal_window(task, [*far, n_values[-1]], noise_std).w
    return [local_slope(far, errors_far(task, w)) for w in (best, last)]


# of affine functions the limits are known: n^(-4 / (d + 3)), and a bias that stays
adapting, kept = zip(*(slopes_far(task) for task in circle.values()), strict=True)
known_adapting, known_kept = slopes_far(Affine(2))
template = f"L = {{L:g}}, window of n = {n_values[-1]}"
judge(
    "P1.W.context-error",
    extrapolated(
        "L = {L:g}",
        *np.transpose(adapting),
        known=(*known_adapting, -4 / 5),
        L=lipschitz_values,
    ),
    extrapolated(
        template, *np.transpose(kept), known=(*known_kept, 0.0), L=lipschitz_values
    ),
)

# %% [markdown]
# **Rapid and slow, noisy and quiet.** $w^*$ minimizes $B+\sigma^2N$, and $N$ rises with $w$: the window of no class narrows when
# the noise grows. Affine and ReLU functions are proportional to $L$, so that only $L/\sigma$ matters and the same argument narrows the window with $L$, at
# every context length. A larger $L$ of our cosine class means a shorter wavelength, not a larger amplitude, and where a context is too short for the
# wavelength no window helps: $w^*=0$, a region of the [phase diagram](/notebooks/phase_diagram.ipynb).

# %% tags=["hide-input"]
rough, quiet = np.geomspace(0.25, 16, 13), np.geomspace(0.05, 3, 13)
waves = np.array([1.0, 16.0])  # constants L of the cosines
sigma = noise_std or 1.0


def extreme_slopes(axis, best, extreme):
    """Return the extreme slopes of log w* in the logarithm of ``axis``, and errors."""
    shape = -1, len(dims), len(axis)
    w = np.reshape([b.w for b in best], shape)
    error = np.reshape([b.error for b in best], shape)
    slopes, errors = log_slopes(axis, np.maximum(w, 1e-6), error)
    return extreme(slopes, axis=-1), errors.max(-1)


def both_classes(noise_levels):
    """Return the windows of both classes in all dimensions for many noise levels."""
    tasks = [task(k) for task in CLASSES.values() for k in dims]
    return [optimal_window(task, context_length, noise_levels) for task in tasks]


# for affine and ReLU functions only L / sigma matters
over_L = extreme_slopes(rough, both_classes(sigma / rough), np.min)
found = [
    optimal_window(Cosine(k, L), context_length, sigma) for k in dims for L in waves
]
among_waves = extreme_slopes(waves, found, np.min)
template = f"{{kind}}, d = {{d}}, n = {context_length}"
also_cosines = "also cosines, our formula, at the same context length"
judge(
    "P1.W.rapid",
    exact(template, *over_L, kind=classes, d=dims),
    readings={also_cosines: exact(template, *among_waves, kind="cosine", d=dims)},
)

# %% tags=["hide-input"]
over_sigma = extreme_slopes(quiet, both_classes(quiet), np.max)
judge("P1.W.noisy", exact(template, *over_sigma, kind=classes, d=dims))

# %% [markdown]
# [](/notebooks/exact_risk.ipynb) ends with a figure of the exact risk on the sphere, for every setting of its controls.

# %% tags=["remove-input"]
notebook.footer()
