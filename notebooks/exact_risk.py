# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The exact risk, without sampling
#
# *How wrong is an attention layer on average? Must we draw millions of random contexts to find out, and what do we do when a
# context has a billion examples?*
#
# **Short answer.** The mean squared error of a softmax attention layer can be computed instead of sampled, for
# rotation-invariant functions on the sphere, at a cost that does not grow with the context length. Direct integration over
# all tokens of short contexts gives the same values {judged}`P1.risk.exact`. Sampled errors lie on the exact curves
# ({numref}`fig-exact`).

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5, 8]  # dimensions d of the covariates
context_length = 20  # tokens n in a context
lipschitz = 1.0  # Lipschitz constant L
noise_std = 0.3  # standard deviation sigma of the label noise
contexts = 40000  # Monte Carlo contexts for each sampled number
seed = 0  # root of the random streams

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from icl.risk import optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Affine, ReLU, Zonal, make_task
from icl_book import notebook, plots
from icl_book.claims import cases, judge
from icl_book.interactive import interactive
from icl_book.measurements import exact_risk

notebook.setup(globals())

# %% [markdown]
# ## In plain words
#
# Attention predicts with a weighted mean of noisy labels. Its error has two parts. The function at the neighbors is not the
# function at the query: this is the **bias**, and it depends on where the neighbors happen to fall. The labels carry
# **noise**. A larger $w$, a narrower {term}`window`, raises the noise and at first lowers the bias. The sum of both is the
# {term}`population risk`, the loss that pretraining minimizes. It is usually sampled. One call computes it:

# %%
functions = ReLU(dim=5, lipschitz=lipschitz)
risk = population_risk(functions, w=10.0, n=100, noise_std=noise_std)
print(f"bias {risk.bias:.12f}   noise {risk.noise:.12f}   total {risk.total:.12f}")
print(f"estimated relative error {risk.error:.0e}")
best = optimal_window(functions, n=10**12, noise_std=noise_std)
print(f"best w for 10^12 examples: {best.w:.3f}")

# %% [markdown]
# ## The experiment: computed against sampled
#
# We draw contexts, let attention predict the label of each query, and average the squared error. Beside it stands the number
# that the formula of this chapter gives without drawing anything. To try $d=7$, change the first line.

# %%
dim = dims[len(dims) // 2]  # or 7, for example
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

# %%
figure, ax = plt.subplots(figsize=(7.6, 3.6))
for name, part in risks.groupby("task", sort=False):
    (line,) = ax.plot(part.w, part.exact, label=name)
    bars = 4.4 * part.standard_error  # one interval in 100,000 misses
    ax.errorbar(part.w, part.sampled, bars, fmt="o", mfc="white", c=line.get_color())
    best = optimal_window(make_task(name, dim, lipschitz), context_length, noise_std)
    ax.plot(best.w, best.risk, "*", color=line.get_color(), markersize=13)
ax.set(xscale="log", yscale="log", xlabel="window parameter w", ylabel="risk")
ax.set_title(f"d = {dim}, n = {context_length}")
plots.label_ends(ax)
plt.show()

# %% [markdown]
# ```{caption} fig-exact
# :alt: Three curves of risk against the window parameter on logarithmic axes, for affine, ReLU and cosine functions, each
# with the minimum marked by a star where there is one. Sampled points lie on the curves.
#
# {term}`Population risk` (squared label units) against the window parameter $w$: exact (curves) and sampled (points with
# intervals), for three {term}`classes <class>` at the same $L$, $\sigma$, $n$ and $d$. A star marks the exact optimum where it is at
# $w>0$. For a class without a star the plain mean of all labels is best.
# ```
#
# This takes about five seconds on two cores. Expect every point within its interval of the curve: the largest distance in
# standard errors is printed below, and over four would be a surprise.

# %%
distance = (risks.sampled - risks.exact).abs() / risks.standard_error
print(f"largest distance: {distance.max():.1f} standard errors, {len(risks)} points")

# %% [markdown]
# ## The definition as printed
#
# > **ITA slides, "(ICL)".**
# >
# > $$\mathcal L(M)=\mathbb E_{f,\{x_i\},\{\epsilon_i\}}\Big(
# > \sum_{i=1}^n(f(x_i)+\epsilon_i)
# > \frac{e^{x_i^\top Mx_{n+1}}}{\sum_{j=1}^ne^{x_j^\top Mx_{n+1}}}-f(x_{n+1})\Big)^2$$
# >
# > and it decomposes as $\mathcal L=\mathcal L_{\rm bias}+\mathcal L_{\rm noise}$, with
# > $\mathcal L_{\rm bias}=\mathbb E\big(\sum_if(x_i)\omega_i-f(x_{n+1})\big)^2$ and
# > $\mathcal L_{\rm noise}=\mathbb E\big(\sum_i\epsilon_i\omega_i\big)^2$.
#
# The slides then bound both parts up to constants. The label of the query is clean here; the loss of training has the noisy
# label and is larger by $\sigma^2$. The slides print the index $i$ in the numerator and in the denominator; we write $j$ in the
# denominator.
#
# ## By hand: equal weights
#
# For $w=0$ all weights are $1/n$. For affine functions, with slope and direction drawn at random, half the mean squared
# difference at two points is $\frac{L^2}{3d}(1-x\cdot x')$. Since $\mathbb E\,x_i\cdot x_q=0$, the bias is
# $\frac1n2\cdot\frac{L^2}{3d}+\frac{n-1}n\frac{L^2}{3d}=\frac{L^2}{3d}\big(1+\frac1n\big)$ and the noise $\sigma^2/n$. With
# $d=5$, $n=2$, $L=\sigma=1$ the bias is $\frac1{10}$ and the noise $\frac12$.

# %%
by_hand = population_risk(Affine(dim=5), w=0.0, n=2, noise_std=1.0)
print(f"bias {by_hand.bias:.15f}   noise {by_hand.noise:.15f}")

# %% [markdown]
# ## What is true: a formula with one token
#
# Let $M=wI$, tokens and query independent and uniform on $S^{d-1}$, $t_i=x_i\cdot x_q$,
# $E_i=e^{-w(1-t_i)}$, $\omega_i=E_i/\sum_jE_j$. Let $\mathbb E_ff(x)f(x')=k(x\cdot x')$
# and $\gamma=k(1)-k$ the {term}`variogram`: half the mean squared difference of a
# function at two points.
#
# **Why one token is enough.** The denominator $S=\sum_jE_j$ couples all tokens. Writing
# $S^{-2}=\int_0^\infty s\,e^{-sS}ds$ turns it into a mean of products with one factor for
# each token. Gegenbauer polynomials $P_\ell$, orthogonal under the law of the inner
# product of two random points of the sphere, separate a pair of tokens into squares.
#
# :::{prf:theorem} exact population risk
# :label: thm-exact
# :nonumber:
# With $z=e^{u}E$, $\varphi(u)=\mathbb E\,e^{-z}$ and $k(\cos\theta)=\sum_\ell a_\ell P_\ell(\cos\theta)$ in
# Gegenbauer polynomials with $P_\ell(1)=1$,
#
# $$\mathcal L_{\rm noise}=\sigma^2n\int\mathbb E[z^2e^{-z}]\,\varphi^{n-1}du,$$
#
# $$\begin{aligned}\mathcal L_{\rm bias}=\;&n\int\mathbb E[2\gamma(t)z^2e^{-z}]\,\varphi^{n-1}du\\
#   &+n(n-1)\int\sum_{\ell\ge1}a_\ell\,\mathbb E\big[z\,(1-P_\ell(t))\,e^{-z}\big]^2\varphi^{n-2}du,\end{aligned}$$
#
# where $u$ runs over the real line and every expectation is over **one** token.
# :::
#
# :::{admonition} Proof
# :class: dropdown
#
# *The functions.* The weights sum to one, so the error is $\sum_i\omega_i(f(x_i)-f(x_q))$ plus noise, and the mean over
# $f$ of $(f(x_i)-f(x_q))(f(x_j)-f(x_q))$ is $G_{ij}=\gamma_{iq}+\gamma_{jq}-\gamma_{ij}$.
#
# *The denominator.* $S^{-2}=\int_0^\infty s\,e^{-sS}ds$ with $S=\sum_jE_j$ turns
# $\mathbb E\,\omega_i\omega_jG_{ij}$ into $\int s\,\mathbb E[E_iE_jG_{ij}e^{-sS}]ds$. Given the query, tokens are
# independent: each of the other tokens contributes one factor $\varphi$. Put $s=e^u$.
#
# *The pair.* $G_{ij}$ still couples two tokens through $\gamma_{ij}$. By Schoenberg's theorem $a_\ell\ge0$, and by the
# addition theorem the mean of $P_\ell(x_i\cdot x_j)$ over rotations about the query is
# $P_\ell(t_i)P_\ell(t_j)$. So the mean of $G_{ij}$ is $\sum_\ell a_\ell(1-P_\ell(t_i))(1-P_\ell(t_j))$: the pair
# separates into squares. $\square$
# :::
#
# Every term is positive, so nothing cancels, and $n$ is only an exponent.
#
# **Exercise 1.** At $w\to\infty$ the noise term tends to $\sigma^2$. To what does the
# bias of the affine class tend for $n=1$?
#
# ```{admonition} Solution
# :class: dropdown
# One token is predicted with weight one whatever $w$ is: $2(k(1)-a_0)=\frac{2L^2}{3d}$.
# ```
#
# **Exercise 2.** Why does the constant part $a_0$ of the covariance not change the risk?
# For affine functions it is the intercept.
#
# ```{admonition} Solution
# :class: dropdown
# The weights sum to one, so a constant is predicted without error; only differences of
# $f$ enter.
# ```
#
# **Exercise 3.** Let the query attend to itself as well, with its own clean label. Which lines of the experiment do you
# change, and do the points still lie on the curves?
#
# ```{admonition} Solution
# :class: dropdown
# Take `scores = (x * x[:, -1:]).sum(dim=-1)`, and `f[:, -1:]` as one more label: `labels = torch.cat([y[:, :-1], f[:, -1:]],
# dim=1)`. The points fall below the curves, most of all at large $w$, where the query gets nearly all the weight. The
# card P1.risk.exact uses this as its control.
# ```
#
# ### The formula on one screen
#
# For the affine class a single degree survives. These lines are the whole computation for moderate $w$; the package adds
# nodes that follow the kernel, the other degrees, and derivatives (`icl.risk.integrals`).

# %%
d = 5
w = 6.0
n = context_length
sigma = noise_std
theta, weight = np.polynomial.legendre.leggauss(200)
theta = (theta + 1) * np.pi / 2
p = weight * np.sin(theta) ** (d - 2)
p = p / p.sum()  # law of the angle between token and query
gap = 1 - np.cos(theta)
step = 0.1
total = 0.0
gamma = lipschitz**2 / (3 * d) * gap
for u in np.arange(-np.log(n) - 25, 2 * w + 6, step):
    z = np.exp(np.minimum(u - w * gap, 6))
    phi = p @ np.exp(-z)
    single = p @ ((2 * gamma + sigma**2) * z**2 * np.exp(-z))
    pair = lipschitz**2 / (3 * d) * (p @ (z * gap * np.exp(-z))) ** 2
    total += step * (n * single * phi ** (n - 1) + n * (n - 1) * pair * phi ** (n - 2))
print(f"one screen {total:.15f}")
print(f"package    {population_risk(Affine(d, lipschitz), w, n, sigma).total:.15f}")

# %% [markdown]
# ### A class of your own
#
# Any rotation-invariant class will do: give its {term}`covariance`.


# %%
class Exponential(Zonal):
    """A Gaussian process on the sphere with covariance exp(cos - 1)."""

    def covariance(self, cosine):
        return np.exp(np.asarray(cosine) - 1)


print(population_risk(Exponential(3), w=8.0, n=50, noise_std=0.2).total)

# %% [markdown]
# **Exercise 4.** Find the best window of this class for $n=50$ and $\sigma=0.2$ with `scipy.optimize.minimize_scalar`, in five
# lines, and compare it with `optimal_window`.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# from scipy.optimize import minimize_scalar
#
# def risk(log_w):
#     return float(population_risk(Exponential(3), np.exp(log_w), n=50, noise_std=0.2).total)
#
# found = minimize_scalar(risk, bounds=(-2, 6), method="bounded")
# print(np.exp(found.x), optimal_window(Exponential(3), 50, 0.2).w)
# ```
# The two agree to about half of the digits of a double. Near its minimum the risk is too flat for a search over its values to
# find more of them; `optimal_window` looks for the zero of the derivative instead.
# :::
#
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens and query independent, uniform on the unit sphere | used; Gaussian tokens have a chapter of their own |
# | class rotation invariant | used: only the covariance enters |
# | noise independent of everything, mean zero, variance $\sigma^2$ | used; broken in a control |
# | query not in the denominator | the paper's definition; a query that counts itself is a control |
# ```
#
# ## Direct integration over all tokens
#
# For a short context the risk can be computed without the formula. Gauss rules integrate over the angles of *all* tokens, the
# denominator is computed as it stands, and the difference of two tokens is averaged over the azimuth between them. Twice
# the nodes in every variable give the error. The control takes another convention: the query is one more token and brings
# its own clean label.

# %% tags=["remove-input"]
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
    cases(direct[~counted], error="error", name=template),
    cases(direct[counted], error="error", name=template + ", query counted"),
)

# %% [markdown]
# Three tokens test every part of the formula: a single token, a pair, and a factor $\varphi$.
#
# ## Bias and noise add
#
# The two parts add because the noise has mean zero and is independent of the functions. The card checks this identity at
# drawn tokens and functions, with the loss averaged over *all* sign patterns of a noise of two values, $\pm\sigma$. The
# control gives the noise a mean.

# %% tags=["remove-input"]
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
    cases(centered, name="{task}, d = {dim}"),
    cases(shifted, name="{task}, d = {dim}, noise with a mean"),
)

# %% [markdown]
# ## What it costs
#
# The time of one exact value does not grow with $n$. The time of sampling a context is proportional to $n$, and an error
# of $\epsilon$ takes about $\epsilon^{-2}$ contexts.

# %%
for n in (1e2, 1e4, 1e8, 1e12):
    start = time.perf_counter()
    population_risk(Affine(dim=5), w=10.0, n=n, noise_std=noise_std)
    milliseconds = 1000 * (time.perf_counter() - start)
    print(f"n = {n:.0e}   {milliseconds:.1f} ms on this machine")

# %% [markdown]
# ## Move it

# %% tags=["hide-input"]
parts, lowest = exact_risk.risk_to_move()
interactive(
    parts,
    x="w",
    y={"risk": "risk", "bias": "bias", "noise": "noise"},
    sliders={
        "task": "functions",
        "dim": "dimension d",
        "n": "context length n",
        "L": "Lipschitz constant L",
        "sigma": "noise σ",
        "w": "window parameter w",
    },
    start={"task": "affine", "dim": 5, "n": 100, "L": 1, "sigma": 0.5, "w": 1.0},
    best=lowest,
    squares={"bias": "L", "noise": "sigma"},
    labels=("window parameter w (to the right: narrower)", "mean squared error"),
    experiment="Move n to 10⁸: the ring, the lowest point, goes to the right, and the "
    "risk falls. Then move σ to 10: more noise brings the ring part of the way back.",
    alt="Bias, noise and their sum, the risk, against the window parameter w, both "
    "axes logarithmic. The minimum of the risk is marked.",
    caption="Exact. Bias is proportional to L², noise to σ².",
)

# %% [markdown]
# ## To remember
#
# The risk of softmax attention on the sphere is a one-dimensional integral in which the context length is only an
# exponent, so theorems about long contexts can be checked where no simulation reaches.

# %% tags=["remove-input"]
notebook.footer()
