# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The exact error: blur, scatter and noise
#
# *How large is the error of an attention layer on average, and can we compute it even if a context has a billion examples?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5, 8]  # dimensions d of the covariates
context_length = 20  # tokens n in a context
lipschitz = 1.0  # Lipschitz constant L
noise_std = 0.3  # standard deviation sigma of the label noise
contexts = 40000  # Monte Carlo contexts for each sampled number
seed = 0  # root of the random streams

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from icl.risk import optimal_window, population_risk, split_risk
from icl.streams import stream
from icl.tasks import Affine, ReLU, Zonal, make_task
from icl_book import notebook
from icl_book.claims import exact_cases, judge
from icl_book.figures import plots
from icl_book.figures.interactive import interactive
from icl_book.measurements import exact_risk

notebook.setup(globals())

# %% figure={"alt": "Two panels of stacked areas against the window parameter. The lowest area, blur, falls to the right. The areas of scatter and of noise rise. In the right panel, with half the noise, the star at the least sum stands further to the right.", "name": "fig-three-errors"} jupyter={"source_hidden": true} tags=["hide-input"]
task = ReLU(dim=5, lipschitz=lipschitz)
w = np.geomspace(0.3, 60, 100)
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.2), sharey=True)
for ax, sigma in zip(axes, (noise_std, noise_std / 2), strict=True):
    risk = split_risk(task, w, context_length, sigma)
    plots.stack_errors(ax, w, risk)
    best = optimal_window(task, context_length, sigma)
    ax.plot(best.w, best.risk, "k*", markersize=11, label="best window")
    ax.set(xscale="log", xlabel="window parameter w", title=f"σ = {sigma:g}")
axes[0].set(ylabel="mean squared error", ylim=0)
axes[0].legend()
plt.show()

# %% [markdown]
# **Blur, scatter and noise.** The three errors of a layer on ReLU functions, stacked, against the window parameter $w$. Their sum
# is the mean squared error, which is least at the star. Left: label noise with $\sigma=0.3$. Right: half of this noise.
#
# **In short.** The mean squared error of softmax attention has three parts. A wide window *blurs* the function. A narrow window
# keeps the *noise* of a few labels. Even without noise the predictions *scatter*, because each context has its examples at other
# places. All three parts can be computed exactly, in a time that does not grow with the number of examples. So we can test
# theorems about contexts that nobody could simulate.
#
# <details><summary>How sure?</summary>
#
# - The formula is [proved below](#thm-exact). For contexts of two and three examples [a card](judged:P1.risk.exact) compares the
#   formula with an integral over the angles of all examples, which shares no step with the formula. In longer contexts
#   [sampled errors](#fig-exact) lie on the computed curves.
# - The formula is for scores $w\,x_i\cdot x_q$, for examples and queries that are independent and uniform on the unit sphere, and
#   for random functions with no preferred direction. Other inputs have [a chapter of their own](gaussian_tokens.ipynb).
# - The label noise is independent of everything else and has mean zero.
# - What is new is the formula for contexts of finite length. To write the inverse of a sum as an integral of exponentials is
#   standard.
#
# </details>
#
# ## Why
#
# Attention predicts with a weighted mean of noisy labels. Let us ask it about one point of one function many times, each time
# with a new context. Three things go wrong.
#
# - **Blur.** In a long context the mean of all these predictions is the average of the function over the [window](#term-window), and
#   not its value at the point. A narrower window, with a larger [window parameter](#term-window-parameter) $w$, blurs less.
# - **Scatter.** Without label noise the predictions still differ, because each context has its examples at other places.
# - **Noise.** Label noise makes the predictions differ more. A narrower window averages fewer labels and leaves more of the
#   noise.
#
# The sum of the three mean squared errors is the [population risk](#term-population-risk). Now look at the figure again. As the
# window narrows, scatter and noise rise, because fewer labels are averaged. The right panel has half the label noise $\sigma$,
# so its best window is narrower. Scatter is the same.
#
# How can the mean squared error be computed without drawing contexts? The difficulty is the denominator of the softmax. It is a
# sum $S$ over all examples, so that the weight of each example depends on all the others. One identity removes this dependence:
#
# $$\frac1{S^2}=\int_0^\infty s\,e^{-sS}\,ds.$$
#
# Here $e^{-sS}$ is a product with one factor for each example. The examples are independent, so the mean of the product is the
# mean of one factor, raised to the power $n$, the number of examples. So a billion examples cost as much time as ten.
#
# **Move it.** Which of the three errors shrink if the context gets longer? (Scatter and noise. Blur stays as
# it is, once the window holds many examples.)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
interactive(
    exact_risk.risks_to_move(),
    x="w",
    y={"risk": "risk", "blur": "blur", "scatter": "scatter", "noise": "noise"},
    sliders={
        "task": "functions",
        "dim": "dimension d",
        "n": "context length n",
        "L": "Lipschitz constant L",
        "sigma": "noise σ",
        "w": "window parameter w",
    },
    start={"task": "affine", "dim": 5, "n": 100, "L": 1, "sigma": 0.5, "w": 1.0},
    best=exact_risk.best_windows_to_move(),
    squares={"blur": "L", "scatter": "L", "noise": "sigma"},
    labels=("window parameter w (to the right: narrower)", "mean squared error"),
    experiment="The ring marks the lowest risk. Move n to 10⁸: the ring goes to the "
    "right, and its risk falls. Then move σ to 10: the ring comes partly back.",
    alt="Blur, scatter, noise and their sum, the risk, against the window parameter "
    "w, both axes logarithmic. The minimum of the risk is marked.",
    caption="All curves are exact. Blur and scatter are proportional to L², the noise "
    "to σ².",
)

# %% [markdown]
# ## The experiment
#
# Let us draw twenty thousand contexts, let attention predict the value at each query, and average the squared errors. The table
# puts this sampled error beside the exact one. To try seven dimensions, change the line `dim = 5`.

# %% tags=["experiment"]
import numpy as np
import pandas as pd
import torch

from icl.risk import split_risk
from icl.tasks import ReLU

dim = 5  # or 7, for example
functions = ReLU(dim)
rng = np.random.default_rng(0)
# contexts of twenty examples, and a query as the last point
x = torch.from_numpy(rng.standard_normal((20_000, 21, dim)))
x = x / x.norm(dim=-1, keepdim=True)
f = functions.sample(rng, len(x))(x)
y = f + 0.3 * torch.from_numpy(rng.standard_normal(f.shape))
scores = (x[:, :-1] * x[:, -1:]).sum(dim=-1)
compared = []
for w in (1.0, 3.0, 10.0, 30.0):
    weights = torch.softmax(w * scores, dim=1)
    prediction = (weights * y[:, :-1]).sum(dim=1)
    sampled = ((prediction - f[:, -1]) ** 2).mean().item()
    exact = split_risk(functions, w, n=20, noise_std=0.3)
    parts = {"blur": exact.blur, "scatter": exact.scatter, "noise": exact.noise}
    compared.append({"w": w, "sampled": sampled, "exact": exact.total} | parts)
pd.DataFrame(compared).astype(float).round(4)

# %% [markdown]
# The sampled and the exact error agree within about one percent, which is what chance leaves with so many contexts.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
dim = 5
rng = stream(seed, "monte carlo")
rows = []
for name in ("affine", "ReLU", "cosine"):
    task = make_task(name, dim, lipschitz)
    # the last of n + 1 random points of the sphere is the query
    x = torch.from_numpy(rng.standard_normal((contexts, context_length + 1, dim)))
    x = x / x.norm(dim=-1, keepdim=True)
    f = task.sample(rng, contexts)(x)
    y = f + noise_std * torch.from_numpy(rng.standard_normal(f.shape))
    scores = (x[:, :-1] * x[:, -1:]).sum(dim=-1)
    for w in np.geomspace(0.3, 60, 16):
        weights = torch.softmax(w * scores, dim=1)
        loss = ((weights * y[:, :-1]).sum(dim=1) - f[:, -1]) ** 2
        exact = population_risk(task, w, context_length, noise_std)
        rows.append(
            {
                "task": name,
                "w": w,
                "exact": float(exact.total),
                "sampled": float(loss.mean()),
                "standard_error": float(loss.std()) / contexts**0.5,
            }
        )
risks = pd.DataFrame(rows)

# %% figure={"alt": "Three curves of risk against the window parameter on logarithmic axes, for affine, ReLU and cosine functions. A star marks the minimum of a curve if it has one. Sampled points lie on the curves.", "name": "fig-exact"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7.6, 3.6))
for name, part in risks.groupby("task", sort=False):
    (line,) = ax.plot(part.w, part.exact, label=name)
    bars = 4.4 * part.standard_error  # 1 in 100,000 intervals misses its curve
    ax.errorbar(part.w, part.sampled, bars, fmt="o", mfc="white", c=line.get_color())
    best = optimal_window(make_task(name, dim, lipschitz), context_length, noise_std)
    ax.plot(best.w, best.risk, "*", color=line.get_color(), markersize=13)
ax.set(xscale="log", yscale="log", xlabel="window parameter w", ylabel="risk")
ax.set_title(f"d = {dim}, n = {context_length}")
plots.label_ends(ax)
plt.show()

# %% [markdown]
# **Exact and sampled errors.** The error against $w$, for three [classes](#term-class) of functions. Curves are exact, and points
# are sampled. If the formula is right, chance makes an interval miss its curve once in a hundred thousand times. A star marks the
# least error of a curve. The curve without a star has its least error at $w=0$, where the prediction is the plain mean of all
# labels.
#
# **Exercise 1.** In the experiment, let the query attend to itself as well, with its own clean label. Which lines do you change?
# Do the two columns still agree?
#
# <details><summary>Solution</summary>
#
# Compute the scores of all points with `scores = (x * x[:, -1:]).sum(dim=-1)`, and add the query's clean label with
# `labels = torch.cat([y[:, :-1], f[:, -1:]], dim=1)`. In the line of the prediction, replace `y[:, :-1]` by `labels`. The sampled
# errors then fall below the exact ones, and most of all at large $w$, where the query gets nearly all the weight.
#
# </details>
#
# ## What the paper says
#
# Paper 1 asks for the error of one layer as a function of its matrix $M$, and splits this error into two parts. All of this book
# rests on that question. In the authors' formula $x_{n+1}$ is the query, $\epsilon_i$ is the noise of a label, and $\omega_i$ is
# the softmax weight of an example.
#
# > **ITA slides, "(ICL)".**
# >
# > $$\mathcal L(M)=\mathbb E_{f,\{x_i\},\{\epsilon_i\}}\Big( \sum_{i=1}^n(f(x_i)+\epsilon_i) \frac{e^{x_i^\top Mx_{n+1}}}{\sum_{j=1}^ne^{x_j^\top Mx_{n+1}}}-f(x_{n+1})\Big)^2$$
# >
# > and it decomposes as $\mathcal L=\mathcal L_{\rm bias}+\mathcal L_{\rm noise}$, with
# > $\mathcal L_{\rm bias}=\mathbb E\big(\sum_if(x_i)\omega_i-f(x_{n+1})\big)^2$ and
# > $\mathcal L_{\rm noise}=\mathbb E\big(\sum_i\epsilon_i\omega_i\big)^2$.
#
# The paper bounds bias and noise up to constants. We compute them exactly, and split the bias once more, into blur and scatter.
# Bias and noise add up to the error because the label noise has mean zero and is independent of the
# functions.[✓](judged:P1.risk.split)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
drawn = {
    "tasks": ["affine", "ReLU", "cosine"],
    "dims": dims,
    "lipschitz": lipschitz,
    "noise_std": noise_std,
    "seed": seed,
}
centered = exact_risk.loss_against_parts(**drawn, shift=0.0)
shifted = exact_risk.loss_against_parts(**drawn, shift=3.0)
judge(
    "P1.risk.split",
    exact_cases(centered, name="{task}, d = {dim}"),
    exact_cases(shifted, name="{task}, d = {dim}, noise with a mean"),
)

# %% [markdown]
# <details><summary>What the card checks, and the noise of the query's label</summary>
#
# To check the split, the card lets the noise of each label be $+\sigma$ or $-\sigma$, and averages the loss over *all* patterns
# of signs. In the control the noise has a nonzero mean, so that the split must fail. In training the query's label has noise as
# well, which adds $\sigma^2$ to the loss and does not move the best $M$.
#
# </details>
#
# ## For specialists
#
# ### The formula
#
# Let $M=wI$, let tokens and query be independent and uniform on the sphere $S^{d-1}$, and let the class of functions be rotation
# invariant, with the covariance $k(x\cdot x')=\mathbb E_f\,f(x)f(x')$. The [variogram](#term-variogram) $\gamma(t)=k(1)-k(t)$ is half
# the mean squared difference between the values of $f$ at two points with the inner product $t$. Put $t_i=x_i\cdot x_q$ and
# $E_i=e^{-w(1-t_i)}$. The attention weights are then $\omega_i=E_i/\sum_jE_j$.
#
# The bias still contains $k(x_i\cdot x_j)$ for pairs of tokens. We expand $k$ in
# [Gegenbauer polynomials](#term-gegenbauer-polynomials) $P_\ell$. Average over rotations about the query: then
# $P_\ell(x_i\cdot x_j)$ becomes the product $P_\ell(t_i)P_\ell(t_j)$, with one factor for each token.
#
# <a id="thm-exact"></a>
#
# > **Theorem** (exact population risk). Let $t=x\cdot x_q$ for one token $x$. For real $u$ put $z=e^{u}e^{-w(1-t)}$ and
# > $\varphi(u)=\mathbb E\,e^{-z}$. Let $k(t)=\sum_\ell a_\ell P_\ell(t)$ with Gegenbauer polynomials scaled to
# > $P_\ell(1)=1$. For $n\ge2$
# >
# > $$\mathcal L_{\rm noise}=\sigma^2n\int\mathbb E[z^2e^{-z}]\,\varphi^{n-1}du,$$
# >
# > $$\begin{aligned}\mathcal L_{\rm bias}=\;&n\int\mathbb E[2\gamma(t)z^2e^{-z}]\,\varphi^{n-1}du\\ &+n(n-1)\int\sum_{\ell\ge1}a_\ell\big(\mathbb E[z\,(1-P_\ell(t))\,e^{-z}]\big)^2\varphi^{n-2}du.\end{aligned}$$
# >
# > All integrals run over the real line, and every expectation is over **one** token. For $n=1$ the second line of the
# > bias is zero.
#
# <details><summary>Proof</summary>
#
# *The functions.* The weights sum to one, so the error without noise is $\sum_i\omega_i(f(x_i)-f(x_q))$. Write
# $\gamma_{ij}=\gamma(x_i\cdot x_j)$ and $\gamma_{iq}=\gamma(t_i)$. The mean over $f$ of
# $(f(x_i)-f(x_q))(f(x_j)-f(x_q))$ is $G_{ij}=\gamma_{iq}+\gamma_{jq}-\gamma_{ij}$. The bias is therefore
# $\sum_{i,j}\mathbb E\,\omega_i\omega_jG_{ij}$, and the noise part is $\sigma^2\sum_i\mathbb E\,\omega_i^2$.
#
# *The denominator.* With $S^{-2}=\int_0^\infty s\,e^{-sS}ds$ we get
# $\mathbb E\,\omega_i\omega_jG_{ij}=\int s\,\mathbb E[E_iE_jG_{ij}e^{-sS}]ds$. Given the query, tokens are independent.
# With $s=e^u$ each token other than $i$ and $j$ contributes one factor $\varphi(u)$.
#
# *The pair.* For $i=j$, $G_{ii}=2\gamma(t_i)$ contains one token. For $i\ne j$ we average over rotations about the
# query. By the addition theorem, the mean of $P_\ell(x_i\cdot x_j)$ is $P_\ell(t_i)P_\ell(t_j)$. So the mean of
# $G_{ij}$ is $\sum_\ell a_\ell(1-P_\ell(t_i))(1-P_\ell(t_j))$. As $t_i$ and $t_j$ are independent with the same
# distribution, the expectation of each product is a square. $\square$
#
# </details>
#
# <a id="thm-split"></a>
#
# > **Theorem** (blur and scatter). Put
# > $m_\ell=\mathbb E\sum_i\omega_iP_\ell(t_i)=n\int\mathbb E[z\,P_\ell(t)\,e^{-z}]\,\varphi^{n-1}du$. Given $f$ and the
# > query, the mean prediction is $\sum_\ell m_\ell f_\ell(x_q)$, where $f_\ell$ is the part of $f$ of degree $\ell$, and
# >
# > $$\mathcal L_{\rm bias}=\underbrace{\sum_{\ell\ge1}a_\ell(1-m_\ell)^2}_{\text{blur}}+ \underbrace{\mathbb E\,\mathrm{Var}\Big(\sum_i\omega_if(x_i)\,\Big|\,f,x_q\Big)}_{\text{scatter}}.$$
#
# <details><summary>Proof</summary>
#
# Given $f$ and the query, the mean prediction is $\mathbb E\,p(x\cdot x_q)f(x)$ over one uniform $x$, with the bounded
# function $p(t)=n\,\mathbb E[\omega_1\,|\,t_1=t]$. By the Funk-Hecke formula this multiplies the degree $\ell$ of $f$ by
# $\mathbb E\,p(t)P_\ell(t)=m_\ell$. The mean squared error is the square of the mean plus the variance, and
# $\mathbb Ef_\ell(x_q)f_{\ell'}(x_q)$ is $a_\ell$ for $\ell=\ell'$ and otherwise zero. Since $m_0=1$, the level of $f$
# costs nothing. The integral for $m_\ell$ follows from $\omega_1=E_1\int_0^\infty e^{-sS}ds$ with $s=e^u$. $\square$
#
# </details>
#
# Since $a_\ell\ge0$ by Schoenberg's theorem, no integrand is negative, and no digits are lost by cancellation.
#
# **Equal weights, by hand.** At $w=0$ all weights are $1/n$. Take affine functions $f(x)=a\,q\cdot x+b$ with slope $a$ uniform on
# $[-L,L]$ and a random direction $q$. At a random point $x$ the value $a\,q\cdot x$ has mean zero and variance $\frac{L^2}{3d}$, and
# values at different points are uncorrelated. Their mean over $n$ tokens therefore has the variance $\frac1n\cdot\frac{L^2}{3d}$, to
# which the value at the query adds $\frac{L^2}{3d}$. So the bias is $\frac{L^2}{3d}\big(1+\frac1n\big)$, and the noise part is
# $\frac{\sigma^2}n$.
#
# **Exercise 2.** For a context of one token, what is the bias of the affine class, and how does it depend on $w$?
#
# <details><summary>Solution</summary>
#
# The only token has weight one at every $w$, so that the bias does not depend on $w$. It is
# $\mathbb E\,2\gamma(t)=2(k(1)-a_0)=\frac{2L^2}{3d}$.
#
# </details>
#
# **Exercise 3.** A random constant in $f$, such as the intercept of an affine function, adds to the coefficient $a_0$ of the
# covariance. Why does this constant not change the error?
#
# <details><summary>Solution</summary>
#
# The weights sum to one, so attention predicts a constant without error. Only differences of $f$ enter the error.
#
# </details>
#
# **Is the formula right?** For two and three tokens we can compute the error from its definition, as an integral over the angles of
# *all* tokens to the query and over the azimuth between two tokens. To see how accurate this integral is, we repeat it with twice
# as many nodes in every variable. At $n=3$ every kind of term in the formula occurs. In the control the query counts as one more
# token, with its clean label, and the formula must fail.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
direct = exact_risk.direct_over_exact(
    tasks=["affine", "ReLU", "cosine"],
    dims=dims,
    n_values=[2, 3],
    w_values=[1.0, 6.0],
    lipschitz=lipschitz,
    noise_std=noise_std,
)
counted = direct["query"]
direct = direct.drop(columns="query")
template = "{task}, d = {dim}, n = {n}, w = {w:g}"
judge(
    "P1.risk.exact",
    exact_cases(direct[~counted], error="error", name=template),
    exact_cases(direct[counted], error="error", name=template + ", query counted"),
)

# %% [markdown]
# ### The formula on one screen
#
# For the affine class only the degree $\ell=1$ contributes. The next cell is the whole computation for moderate $w$. The package
# (`icl.risk.numerics.integrals`) adds the other degrees, derivatives, and quadrature nodes for large $w$.

# %%
import numpy as np

from icl.risk import population_risk
from icl.tasks import Affine

d = 5
w = 6.0
n = 20
sigma = 0.3
theta, weight = np.polynomial.legendre.leggauss(200)
theta = (theta + 1) * np.pi / 2
p = weight * np.sin(theta) ** (d - 2)
p = p / p.sum()  # density of the angle between token and query
gap = 1 - np.cos(theta)
step = 0.1
total = 0.0
gamma = 1 / (3 * d) * gap
for u in np.arange(-np.log(n) - 25, 2 * w + 6, step):
    z = np.exp(np.minimum(u - w * gap, 6))
    phi = p @ np.exp(-z)
    single = p @ ((2 * gamma + sigma**2) * z**2 * np.exp(-z))
    pair = 1 / (3 * d) * (p @ (z * gap * np.exp(-z))) ** 2
    total += step * (n * single * phi ** (n - 1) + n * (n - 1) * pair * phi ** (n - 2))
print(f"one screen {total:.15f}")
print(f"package    {population_risk(Affine(d), w, n, sigma).total:.15f}")

# %% [markdown]
# ### A class of your own
#
# The formula works for any class without a preferred direction. To add a class, write down its [covariance](#term-covariance).

# %%
import numpy as np

from icl.risk import population_risk
from icl.tasks import Zonal


class Exponential(Zonal):
    """A Gaussian process on the sphere with covariance exp(cos - 1)."""

    def covariance(self, cosine):
        return np.exp(np.asarray(cosine) - 1)


print(population_risk(Exponential(3), w=8.0, n=50, noise_std=0.2).total)

# %% [markdown]
# **Exercise 4.** Use `scipy.optimize.minimize_scalar` to find the best window of the class `Exponential` for $n=50$ and
# $\sigma=0.2$. Compare your result with `optimal_window`.
#
# <details><summary>Solution</summary>
#
# ```python
# from scipy.optimize import minimize_scalar
#
# def risk(log_w):
#     return float(population_risk(Exponential(3), np.exp(log_w), n=50, noise_std=0.2).total)
#
# found = minimize_scalar(risk, bounds=(-2, 6), method="bounded")
# print(np.exp(found.x), optimal_window(Exponential(3), 50, 0.2).w)
# ```
# The two values of $w$ agree in about seven digits. The risk is so flat near its minimum that its values determine no
# further digits of $w$. `optimal_window` looks for the zero of the derivative instead.
#
# </details>
#
# ### Shares of the three errors in long contexts
#
# The labels in a narrow window act as if their noise were larger than it is: with the variance
#
# $$\sigma^2+2\mathsf g(2w),$$
#
# where $2\mathsf g(2w)$ is the mean squared difference between $f(x)$ and $f(x_q)$ for points $x$ in a window of the parameter
# $2w$. In a long context the window is narrow. The added variance then vanishes, and the share of blur in the error tends to a
# fixed number. To say this precisely, let $\mathsf g(w)=\mathbb E\gamma(t)$, where $t$ has the density proportional to $e^{wt}$
# with respect to the law of $x\cdot x_q$: the window of infinitely many examples. Let $b_\infty(w)$ be the blur of this window.
#
# <a id="thm-shares"></a>
#
# > **Theorem** (shares of the three errors). Let the class be rotation invariant and not constant, let $\sigma>0$ be
# > fixed, and $b_\infty(w)\sim\beta w^{-\rho/2}$ as $w\to\infty$ with $\beta>0$ and $0<\rho\le4$. At the best $w^*\ge0$,
# > as $n\to\infty$, scatter/noise tends to zero and
# >
# > $$\frac{\text{blur}}{\text{risk}}\to\frac{d-1}{d-1+\rho}.$$
# >
# > If $\rho>2$, more precisely $\dfrac{\text{scatter}}{\text{noise}}\sim\dfrac{2\mathsf g(2w^*)}{\sigma^2}$.
#
# [The law of the window](theorem2_scaling.ipynb#thm-law) says when the condition on $b_\infty$ holds, and what $\rho$ and
# $\beta$ are.
#
# <details><summary>Proof</summary>
#
# *Notation.* Fix $f$ and the query, and put $h_i=f(x_i)-f(x_q)$. Let $e_w(t)$ be the density of the window, so that
# $\mathbb Ee_w(t_1)=1$, and $\kappa=\mathbb Ee_w(t_1)^2$, $\epsilon=\kappa/n$. Put $1+Z=\frac1n\sum_ie_w(t_i)$,
# $U=\frac1n\sum_ie_w(t_i)h_i$, $b=\mathbb EU$. The error without noise is $\mathcal P=U/(1+Z)$. With $Y=U-b-bZ$,
# $\mathcal P-b=Y/(1+Z)$.
#
# *A bound.* $Y$ is a mean of $n$ independent terms $e_w(t_i)(h_i-b)$ of mean zero, and $e_w^2=\kappa\,e_{2w}$. So
# $\mathbb EY^2=\epsilon\,\mathbb E_{2w}(h-b)^2\le2\epsilon\,(2\mathsf g(2w)+b_\infty)$, averaged over $f$, because
# $\mathbb Eh^2=2\gamma$ and $\mathbb Eb^2=b_\infty$. Where $Z\ge-\frac12$, $(\mathcal P-b)^2\le4Y^2$. Elsewhere the mean
# over $f$ of $(\mathcal P-b)^2$ is at most $8\max\gamma$, and $P(Z<-\frac12)\le e^{-1/(8\epsilon)}$, since the summands
# are not negative. Together
# $\mathbb E(\mathcal P-b)^2\le8\epsilon(2\mathsf g(2w)+b_\infty)+8\max\gamma\,e^{-1/(8\epsilon)}$. Scatter is at most
# this, and so is $(\sqrt{\text{blur}}-\sqrt{b_\infty})^2$, because blur and $b_\infty$ are the mean squares of
# $\mathbb E[\mathcal P|f,x_q]$ and $b$. As $w\to\infty$ and $\epsilon\to0$, $\mathsf g(2w)\to0$ and
# $b_\infty\le2\mathsf g(w)\to0$, so that both are $o(\epsilon)$.
#
# *The best window.* The noise is $\sigma^2\epsilon(1+o(1))$, and $\epsilon\sim Cw^{(d-1)/2}/n$. So the risk is
# $[\beta w^{-\rho/2}+\sigma^2Cw^{(d-1)/2}/n](1+o(1))$ where $w\to\infty$ and $\epsilon\to0$, and at the minimizer of the
# bracket it tends to zero. A bounded $w^*$ would have $\text{blur}\to b_\infty>0$, and an $\epsilon$ that does not tend
# to zero would leave noise, which rises with $w$. So $w^*$ lies there. The bracket is convex in $\log w$, and at its
# minimum $\frac\rho2\,\text{blur}=\frac{d-1}2\,\text{noise}$, while scatter is $o(\epsilon)$.
#
# *Scatter.* Let $\rho>2$. Then $b_\infty=o(\mathsf g(2w))$, as $\mathsf g(2w)\ge c/w$, and
# $\mathbb EY^2=\epsilon\,2\mathsf g(2w)(1+o(1))$ by the triangle inequality. At $w^*$, $1/w$ and $\epsilon$ are powers of
# $n$. By Bernstein's inequality $|Z|>\delta$ has a probability of at most $2e^{-c\delta^2/\epsilon}$. There the means
# over $f$ of $(\mathcal P-b)^2$ and $Y^2$ are at most $8\max\gamma$ and $8\max\gamma\,(1+Z)^2$, and elsewhere their
# quotient is between $(1+\delta)^{-2}$ and $(1-\delta)^{-2}$. So $\mathbb E(\mathcal P-b)^2\sim2\mathsf g(2w)\,\epsilon$.
# Scatter is this without the mean square of $\mathbb E[\mathcal P-b\,|f,x_q]=-\mathbb E[(\mathcal P-b)Z\,|f,x_q]$, which
# by Cauchy and Schwarz is at most $\epsilon$ times as large. $\square$
#
# </details>
#
# The order $\rho$ is 4 for smooth functions and 3 for kinks. In the next table the columns *scatter* and *rule* are in units of the
# noise, and *blur* and its *limit* are shares of the error. From ten thousand examples on, scatter follows the rule, and it tends
# to zero. The share of blur comes to its limit more slowly, and most slowly for the kinks of ReLU.[✓](judged:P1.risk.shares)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
shares = exact_risk.shares_at_best(
    tasks=["affine", "ReLU", "cosine"],
    dims=[3, 5],
    n_values=[1e4, 1e6, 1e8, 1e10],
    noise_std=0.5,
)
shown = ["task", "dim", "n", "scatter", "rule", "blur", "limit"]
shares[shown].round(5).style.format({"n": "{:.0e}"}, precision=4).hide()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
longest = shares[shares.n == shares.n.max()]
predicted = {"scatter": ("rule", "other rule"), "blur": ("limit", "other limit")}
judge(
    "P1.risk.shares",
    *(
        [
            exact_cases(
                longest.assign(
                    part=part,
                    quotient=longest[part] / longest[columns[at]],
                    error=longest.error * longest[part] / longest[columns[at]],
                ),
                "quotient",
                error="error",
                labels=["part", "task", "dim", "n"],
                name="{part}, {task}, d = {dim}" + (", as in the control") * at,
            )
            for part, columns in predicted.items()
        ]
        for at in (0, 1)
    ),
)

# %% [markdown]
# ### What one value costs
#
# The time of one exact value hardly depends on $n$. The time of one sampled context is proportional to $n$, and a relative error of
# $\epsilon$ takes about $\epsilon^{-2}$ contexts. The next table has the time of one exact value on the machine that ran this page.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
seconds = []
for n in (1e2, 1e4, 1e8, 1e12):
    start = time.perf_counter()
    population_risk(Affine(dim=5), w=10.0, n=n, noise_std=noise_std)
    seconds.append(
        {"examples": n, "milliseconds": 1000 * (time.perf_counter() - start)}
    )
pd.DataFrame(seconds).style.format("{:.0e}", "examples").format(
    "{:.1f}", "milliseconds"
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
