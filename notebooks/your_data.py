# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your data: which window do your labels ask for?
#
# **Short answer.** With tokens `X` and labels `y` of your own, `icl.best_window(X, y)` leaves out one label at a time and finds the
# window that predicts it best from the others; `icl.predict(X, y, queries, w)` predicts with it. On two maps of the Earth, where the
# best window is known exactly, the window found from the labels alone costs little
# {judged}`P1.data.left-out`. One data set does not determine $w$ sharply, and need not, because the risk is flat near its minimum.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
n_values = [100, 400]  # random places n whose labels are known
noise_std = 0.5  # label noise in units of the spread of each map
seeds = 40  # data sets of each map and size
context_length = 20  # labeled examples n in a context of the two trained models
steps = 200  # Adam steps of the two trained models

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor

import icl
from icl.adam import minimize
from icl.attention import ACTIVATIONS, softmax_attention
from icl.pretrain import UnitConfig, draw_contexts, pretrain
from icl.pretrain.metrics import evaluation_error
from icl.risk import optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Affine, ReLU, globe
from icl_book import notebook, planet
from icl_book.claims import judge

notebook.setup(globals(), n_values=1)


# %% tags=["hide-input"]
def on_sphere(X):
    """Subtract the mean of the rows and divide each by its length."""
    centered = X - X.mean(axis=0)
    return centered / np.linalg.norm(centered, axis=1, keepdims=True)


diabetes = load_diabetes(return_X_y=True)
digits = load_digits(return_X_y=True)
data = {
    "diabetes": (on_sphere(diabetes[0]), diabetes[1]),
    "digits": (on_sphere(digits[0]), np.eye(10)[digits[1]]),
}
found = {name: icl.best_window(X, y) for name, (X, y) in data.items()}
figure, ax = plt.subplots(figsize=(6.0, 3.2))
for name, best in found.items():
    ax.plot(best.windows[1:], best.risks[1:] / best.risks[0], label=name)
    ax.plot(best.w, best.risks.min() / best.risks[0], "k*", markersize=9)
ax.set(xscale="log", xlabel="window parameter w")
ax.set_ylabel("error over that of the mean")
ax.legend()
plt.show()

# %% [markdown]
# ```{caption} fig-your-data
# :alt: Two curves that fall from one, reach a minimum marked by a star, and rise again: the squared error of a label that was
# left out, against the window parameter, for diabetes and for digits.
#
# Leave-one-out error against the window parameter, over the error of the mean of all labels, for two data sets that scikit-learn
# ships. The stars are the windows that `icl.best_window` finds.
# ```
#
# ## In plain words
#
# Attention with $M=wI$ predicts a label by an average of known labels, in which a token $x_i$ counts in proportion to
# $e^{w\,x_i\cdot x_q}$. A small $w$ averages over many tokens, a large one copies the nearest. To choose $w$ for your own data, hide
# each label in turn, predict it from the others, and take the $w$ with the least mean squared error.
#
# ```python
# import icl
#
# X = X - X.mean(axis=0)
# X = X / np.linalg.norm(X, axis=1, keepdims=True)  # to the unit sphere
# best = icl.best_window(X, y)  # best.w, best.edge, best.low, best.high
# icl.predict(X, y, queries, best.w)  # the queries moved as X was
# ```
#
# Both take NumPy arrays, data frames, tensors and lists, and they reject data with a NaN or of the wrong shape, with an error
# of one line. `best.edge` says whether the minimum lies at an end: `"mean"`, where the mean of all labels is best, or
# `"nearest"`, where it is best to copy the nearest label. Between `best.low` and `best.high` the error exceeds the least by no
# more than its standard error.
#
# **Lengths of tokens.** The laws of this book are about the unit sphere, where $x_i\cdot x_q$ is largest for the nearest token.
# If all tokens have the same length $R$, only the unit changes, and $w$ becomes $w/R^2$. If lengths differ, a larger $w$
# prefers the longest tokens in the direction of the query, not the nearest ones, and [with Gaussian
# inputs](/notebooks/gaussian_tokens.ipynb) the best $w$ therefore stops growing with $n$. So center your tokens, and divide
# them by their lengths if the lengths say little.
#
# **What pretraining does that this does not.** Pretraining finds one $M$ for a whole class of functions from many
# contexts, also for contexts too short to choose a window from, whereas leave-one-out uses the labels of the one function at hand.
#
# ## Experiment: the planet without its spectrum
#
# For a map of the Earth the [exact best window](/notebooks/planet.ipynb) follows from the map's power. Here the power is
# unknown. There are $n$ random places with noisy labels, and `icl.best_window` sees nothing else. The next cell repeats this
# with fresh places and computes what the window found in this way costs, which is its exact risk divided by the least.

# %%
maps = {"land and sea": planet.land(), "magnetic field": planet.magnetic_field()}
degrees = {"land and sea": 300, "magnetic field": 20}
tables = []
for name, values in maps.items():
    earth = planet.standardized(values)
    task = globe(earth, degree=degrees[name])
    for n in n_values:
        exact = optimal_window(task, n, noise_std)
        found_w = np.empty(seeds)
        for seed in range(seeds):
            rng = stream(seed, "evaluation", n)
            places = planet.random_places(rng, n)
            labels = planet.value_at(earth, places)
            labels = labels + noise_std * rng.standard_normal(n)
            found_w[seed] = icl.best_window(places, labels).w
        price = population_risk(task, found_w, n, noise_std).total / exact.risk
        table = pd.DataFrame({"seed": range(seeds), "w": found_w, "price": price})
        tables.append(table.assign(map=name, n=n, exact=float(exact.w)))
left_out = pd.concat(tables, ignore_index=True)
left_out.groupby(["map", "n"], sort=False)[["exact", "w", "price"]].median().round(2)

# %% [markdown]
# This takes a few seconds. Beside the exact window stand the median of the windows that were found and the median of their price.
# Expect prices close to one.

# %% tags=["remove-input"]
judge(
    "P1.data.left-out",
    left_out[["map", "n", "seed", "price"]],
    value="price",
    samples="seed",
    name="{map}, n = {n}",
)

# %% [markdown]
# ## Diabetes and digits, beside the law
#
# The law needs a dimension, a Lipschitz constant and a noise. The next cell estimates them from a linear fit on the
# sphere: $L$ is the length of its gradient, $\sigma$ the spread of its residuals, both over all columns of the labels together. Real
# tokens do not fill all directions alike, so there are two dimensions: $d$, the number of columns, and
# $1/\operatorname{tr}\Sigma^2$ with $\Sigma$ their covariance, which is $d$ for uniform tokens on the sphere. The last two columns are the
# exact best windows of affine functions with these numbers.

# %%
rows = []
for name, (X, y) in data.items():
    best = found[name]
    fit = LinearRegression().fit(X, y)
    lipschitz = np.sqrt(np.sum(fit.coef_**2))
    columns = y.reshape(len(y), -1)
    residuals = columns - fit.predict(X).reshape(columns.shape)
    sigma = np.sqrt(np.mean(np.sum(residuals**2, axis=1)))
    filled = 1 / np.sum(np.cov(X.T) ** 2)
    affine = Affine(X.shape[1], lipschitz=lipschitz)
    fewer = Affine(max(2, round(filled)), lipschitz=lipschitz)
    rows.append(
        {
            "data": name,
            "n": len(X),
            "d": X.shape[1],
            "filled d": filled,
            "L/sigma": lipschitz / sigma,
            "w": best.w,
            "low": best.low,
            "high": best.high,
            "law, d": float(optimal_window(affine, len(X), sigma).w),
            "law, filled d": float(optimal_window(fewer, len(X), sigma).w),
        }
    )
law = pd.DataFrame(rows).set_index("data")
law.round(1)

# %% [markdown]
# For diabetes both windows of the affine law lie between `low` and `high`, because the labels are close to linear. The labels
# of digits are not. An image belongs to one of ten classes, the labels jump between them, and much of what is noise for a
# linear fit is signal for a narrow window, so that leave-one-out asks for a narrower one. Nor are the images uniform on the
# sphere; they lie in clusters. The law is a guide for data that nearly satisfy its assumptions. Leave-one-out makes no such
# assumptions.
#
# ## As an estimator of scikit-learn
#
# `icl.SoftmaxAttentionRegressor` finds the window by itself, moves tokens to the sphere unless told otherwise, and stands in pipelines and
# cross-validation. Beside it are nearest neighbors, whose number is chosen by cross-validation.

# %%
neighbors = GridSearchCV(
    KNeighborsRegressor(), {"n_neighbors": [1, 2, 5, 10, 20, 50, 100]}
)
scores = {
    name: cross_val_score(model, *diabetes, cv=10)
    for name, model in {
        "softmax attention": icl.SoftmaxAttentionRegressor(),
        "nearest neighbors": neighbors,
        "linear": LinearRegression(),
    }.items()
}
pd.DataFrame(scores).agg(["mean", "std"]).round(3)

# %% [markdown]
# The table has $R^2$ on diabetes, over ten folds. On smooth labels that are nearly linear a linear model is hard to beat.
#
# ## Two layers, and an activation of your own
#
# For models that the package does not have, `draw_contexts` draws the contexts and `minimize` trains any function of
# tensors by Adam. Here tokens attend to each other and add what they find, and a unit of attention reads the result.

# %%
relu = ReLU(3, lipschitz=3.0)
best = optimal_window(relu, context_length, noise_std)


def two_layers(step, M1, M2):
    x, y = draw_contexts(
        relu, noise_std=noise_std, n=context_length, batch_size=64, step=step
    )
    context = x[:, :-1]
    x = x + torch.softmax(x @ M1 @ context.mT, dim=-1) @ context
    guess = softmax_attention(x[:, :-1], y[:, :-1], x[:, -1], M2)
    return (guess - y[:, -1]).square().mean()


start = [torch.zeros(3, 3).double(), best.w * torch.eye(3).double()]
(M1, M2), losses = minimize(two_layers, start, steps, learning_rate=0.1)
second_half = losses[steps // 2 :].mean() - noise_std**2
print(f"two layers {second_half:.2f}, the best single layer {best.risk:.2f}")

# %% [markdown]
# The first number is the mean of the squared error over the second half of the steps, each with fresh contexts, without the
# variance of the noise of the query's label. It is a rough number. [](/notebooks/beyond.ipynb) compares such models with care.
#
# An activation $\varphi$ of your own is a line in `icl.attention.ACTIVATIONS`: the function, its derivative as a function of $s$ and
# $\varphi(s)$, and whether the weights are divided by their sum. Its name then works wherever an activation is asked for.

# %%
ACTIVATIONS["square"] = (lambda s: (1 + s) ** 2, lambda s, phi: 2 * (1 + s), True)
units = [
    UnitConfig(relu, noise_std, context_length, seed=seed, activation=activation)
    for seed, activation in enumerate(("softmax", "square"))
]
trained = pretrain(units, steps, batch_size=64)
errors = evaluation_error(trained, relu, noise_std, context_length)[-1]
for unit, error in zip(units, errors, strict=True):
    print(f"{unit.activation}: test error {error:.3f}")

# %% [markdown]
# **Exercise 1.** Write five lines that ask whether the best window of diabetes narrows as more patients are known.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# X, y = data["diabetes"]
# for n in (50, 100, 200, len(X)):
#     chosen = np.random.default_rng(n).permutation(len(X))[:n]
#     best = icl.best_window(X[chosen], y[chosen])
#     print(n, best.w, best.low, best.high)
# ```
# The ranges overlap, because so few patients hardly decide the question.
# :::
#
# ## To remember
#
# Hide each label in turn and take the window that predicts it best. It costs little more than the exact one, and it needs neither
# the class nor the noise.

# %% tags=["remove-input"]
notebook.footer()
