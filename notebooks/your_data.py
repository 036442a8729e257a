# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your data: choose the window by the labels
#
# *You have inputs and noisy labels of your own. How far around a new input should attention look? Can your data alone decide this?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
n_values = [100, 400]  # random places n whose labels are known
noise_std = 0.5  # label noise in units of the spread of each map
seeds = 80  # data sets of each map and size
context_length = 20  # labeled examples n in a context of the two trained models
steps = 200  # Adam steps of the two trained models
contexts = 200  # data sets whose range of windows is compared with the exact window

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import icl
from icl.attention import ACTIVATIONS, softmax_attention
from icl.pretrain import UnitConfig, draw_contexts, pretrain
from icl.pretrain.metrics import evaluation_error
from icl.risk import optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Affine, Linear, ReLU, Spectrum, globe
from icl_book import notebook, planet
from icl_book.adam import minimize
from icl_book.claims import interval_cases, judge, sampled_cases
from icl_book.statistics import FALSE_ALARM_RATE

notebook.setup(globals(), n_values=1)

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "The two data sets"} tags=["hide-input"]
diabetes = load_diabetes(return_X_y=True)
digits = load_digits(return_X_y=True)
data = {
    name: (icl.Placement(X, "center")(X), y)
    for name, (X, y) in {
        "diabetes": diabetes,
        "digits": (digits[0], np.eye(10)[digits[1]]),
    }.items()
}
found = {name: icl.best_window(X, y, same_unit=True) for name, (X, y) in data.items()}

# %% figure={"alt": "Two curves of the error against the window parameter, one for diabetes and one for digits. Each starts at one, falls to a minimum marked by a star, and rises again.", "name": "fig-your-data"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, ax = plt.subplots(figsize=(6.0, 3.2))
for name, best in found.items():
    ax.plot(best.windows[1:], best.risks[1:] / best.risks[0], label=name)
    ax.plot(best.w, best.risks.min() / best.risks[0], "k*", markersize=9)
ax.set(xscale="log", xlabel="window parameter w")
ax.set_ylabel("error over that of the mean")
ax.legend()
plt.show()

# %% [markdown]
# **The window of two data sets.** Two data sets of scikit-learn. Each label is predicted from the other labels. The
# curves show the error of these predictions against the window parameter $w$, divided by the error of the mean of all
# labels. The stars mark the $w$ that `icl.best_window` finds.
#
# **In short.** Hide one label at a time, predict it from the others, and take the window that predicts the hidden
# labels best. Is this window good? We tried it on maps of the Earth, for which the best window is known exactly. On a
# map of the magnetic field with 400 known places, the error of the chosen window is
# [1.01](<judged:P1.data.left-out|magnetic field, n = 400|.2f>) times the least error in the median. The choice needs
# neither the map nor the noise:
#
# ```python
# import icl
#
# model = icl.SoftmaxAttentionRegressor().fit(X, y)
# model.predict(queries)
# ```
#
# <details><summary>How sure?</summary>
#
# - Both maps, with 100 and with 400 known places, are on [the card](judged:P1.data.left-out), further down.
# - `icl.best_window` also gives a range of windows that do nearly as well. For linear functions the exact best window lies in this
#   range for most data sets ([the card](judged:P1.data.range)).
# - That leave-one-out is asymptotically optimal for kernel regression is known ([Härdle and Marron, 1985](cite:haerdle1985)). On a
#   sphere one attention layer is such a regression, with the bandwidth $w^{-1/2}$.
# - Why not pretrain? Pretraining finds one matrix $M$ for a whole class of functions from many contexts, and $M$ also
#   serves contexts with too few labels to determine a window. Leaving one out finds one $w$ for a single function,
#   from the labels of that function.
#
# </details>
#
# ## Why
#
# A layer of attention predicts the label of a query $x_q$ by a weighted mean of the known labels. A row $x_i$ of your
# table gets a weight proportional to $e^{w\,x_i\cdot x_q}$. Each row first gets one more coordinate,
# chosen so that all rows have the same norm. Then they lie on a sphere, where near rows have large products. A small $w$ averages over many rows, and a large $w$ copies the label of the nearest row. Which
# is better? You cannot see the error of a prediction whose label you do not know. But you can hide a label that you
# know, and predict it. This is called leaving one out. A computer does it for all rows and all $w$ at once.
#
# ## The experiment
#
# Let us make a table of ten columns of which three matter to the labels. Can the labels alone say which? With
# `metric="window"` the estimator `icl.SoftmaxAttentionRegressor` has one $w$ for all columns, and with
# `metric="diagonal"` it has one $w$ for each column. The cell prints the $w$ of each column. (Statistics calls
# $w^{-1/2}$ a *bandwidth*, so $w$ is one over the bandwidth squared.) To make the labels noisier,
# change the line `noise = 0.3`.

# %% tags=["experiment"]
import numpy as np
import pandas as pd

import icl

noise = 0.3  # of the labels; or 1.0
rng = np.random.default_rng(0)
rows, queries = rng.standard_normal((2, 500, 10))
rows /= np.linalg.norm(rows, axis=1, keepdims=True)
queries /= np.linalg.norm(queries, axis=1, keepdims=True)


def truth(x):
    return np.abs(x[:, 0]) + x[:, 1] * x[:, 2]


y = truth(rows) + noise * rng.standard_normal(500)
errors = {}
for metric in ("window", "diagonal"):
    model = icl.SoftmaxAttentionRegressor(metric=metric).fit(rows, y)
    errors[metric] = np.mean((model.predict(queries) - truth(queries)) ** 2)
print(
    "mean squared error:", {metric: float(e.round(4)) for metric, e in errors.items()}
)
pd.Series(np.diag(model.best_matrix_.M), name="one over bandwidth squared").round(1)

# %% [markdown]
# The first three entries should be the largest: where $w$ is large, attention looks closely. The other entries are
# not zero, because a few hundred noisy labels do not say exactly which columns are useless.
#
# <details><summary>How a matrix is tested, so that it does not fit noise</summary>
#
# A matrix with more numbers can also fit more noise. So `icl.best_matrix` first searches on two thirds of the rows, by the gradient
# of the leave-one-out error ([Weinberger and Tesauro, 2007](cite:weinberger2007metric)), and then tests its matrix on the other
# rows. If the matrix does not predict their labels better than a single bandwidth does, the `kind` of the result is `"none"`. It is
# `"scaled"` if a single bandwidth works better after each column is divided by its standard deviation.
#
# The idea is that of [Theorem 4](theorem4_low_rank.ipynb), which says for linear functions that directions that do
# not matter should get no weight.
#
# </details>
#
# **Exercise 1.** The function `icl.best_matrix(X, y)` looks for a $w$ of each column. Does it find different ones if
# all columns matter alike, as for `y = np.sum(X**2, axis=1)` with noise and normally distributed rows?
#
# <details><summary>Solution</summary>
#
# ```python
# X = np.random.default_rng(1).standard_normal((300, 4))
# y = np.sum(X**2, axis=1) + np.random.default_rng(2).standard_normal(300)
# found = icl.best_matrix(X, y)
# print(found.kind, found.gain, found.error)
# ```
# The `kind` should be `"none"` or `"scaled"`, except for about one data set in forty, since a gain counts if it is
# above two standard errors.
#
# </details>
#
# ## How to use it
#
# ```python
# import icl
#
# model = icl.SoftmaxAttentionRegressor(metric="diagonal").fit(X, y)
# model.predict(queries, return_std=True)
# ```
#
# The estimator works in pipelines and in cross-validation like any other of scikit-learn, and
# `icl.SoftmaxAttentionClassifier` does the same for classes. To install it without the book, type
# `pip install ".[sklearn]"` in a copy of the repository ([Use it](../book/reproduce.md)).
#
# <details><summary>The functions behind the estimator</summary>
#
# They need NumPy and SciPy only:
#
# ```python
# place = icl.Placement(X)  # to a sphere, see below
# best = icl.best_window(place(X), y)  # best.w, best.edge, best.low, best.high
# icl.predict(place(X), y, place(queries), best.w)
# ```
#
# `best.edge` is `"mean"` if the mean of all labels predicts best, `"nearest"` if copying the nearest label does, and
# otherwise empty. From `best.low` to `best.high` the windows predict almost as well as the best one: their errors
# exceed the least error by at most one standard error of the difference. `best.plot()` draws them.
# [How far the range can be trusted](#data-range) is said below.
#
# </details>
#
# **Rows of unequal length.** On a sphere the product $x_i\cdot x_q$ is largest for the nearest row. Off the sphere a
# large $w$ prefers long rows ([Inputs of unequal length](gaussian_tokens.ipynb)). So rows have to be placed on a
# sphere, in one of two ways:
#
# - *Lift*, the default. Each row $x$ gets one more coordinate, $\sqrt{R^2-|x|^2}$. All rows then lie on a sphere of
#   radius $R$ in one more dimension, and no length is lost.
# - *Center.* Subtract the mean of all rows, and divide each row by its length. The lengths are then lost. This is
#   right where labels depend only on directions, and often good with many columns.
#
# <details><summary>More about the two ways</summary>
#
# *Lift* first subtracts the median of each column. Its $R$ is four times the largest distance of a row from the
# medians, so that distances are stretched by less than 4 %. In the unit of your data the bandwidth is $R/\sqrt w$. A
# query beyond the radius $R$ is pulled back to it.
#
# The results of this book are for tokens on the unit sphere. If all tokens have the length $R$ instead of one, divide the $w$ of
# our results by $R^2$. The chapter [Inputs of unequal length](gaussian_tokens.ipynb) shows what happens to rows that are not placed
# on a sphere.
#
# </details>
#
# **Columns of unequal scale.** If one $w$ serves all columns, a column whose numbers are a thousand times larger
# hides the others. Standardize columns first, or use `metric="diagonal"`. If $y$ has several columns, the error of
# each is divided by its variance.
#
# **Rows that belong together.** A row that stands in the table twice is predicted by its twin. Several rows of one
# person predict each other better than they predict a stranger. Leave such rows out together, by the argument
# `groups` of `fit`.
#
# Which way of placing rows is better? We try a sine of one column and a bump in two columns. The next table has
# scikit-learn's score on new inputs, which is 1 at best.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
rng = np.random.default_rng(0)
first = {
    "sine": (1, lambda X: np.sin(6 * X[:, 0])),
    "bump": (2, lambda X: np.exp(-4 * np.sum(X**2, axis=1))),
}
neighbors = GridSearchCV(
    KNeighborsRegressor(), {"n_neighbors": [1, 2, 5, 10, 20, 50, 100]}
)
scores = {}
for name, (dim, f) in first.items():
    X, queries = rng.uniform(-1, 1, (2, 1000, dim))
    y = f(X) + 0.1 * rng.standard_normal(1000)
    models = {
        mode: icl.SoftmaxAttentionRegressor(place=mode)
        for mode in icl.Placement.MODES
        if dim > 1 or mode != "center"  # the sphere of one column is two points
    }
    models["nearest neighbors"] = neighbors
    scores[name] = {
        m: e.fit(X, y).score(queries, f(queries)) for m, e in models.items()
    }
pd.DataFrame(scores).round(3)

# %% [markdown]
# On lifted rows attention predicts as well as the nearest neighbors. On centered rows it fails, because the bump
# depends on the lengths that are lost. (A single column has no directions, so its entry is NaN.) On rows that are
# left as they are, long rows pull the prediction outwards.
#
# ## How good is the chosen window?
#
# For a map of the Earth we can tell, since the [exact best window](planet.ipynb) is known. `icl.best_window` sees
# only $n$ random places and their noisy labels. The table has medians over many such data sets: the exact best $w$,
# the $w$ that was found, and its *price*. The price is the exact error with this $w$, divided by the least error. Is
# a price near one a success, or is the minimum just flat? For comparison the column `twice` has the price of a bad
# guess: half or twice the best $w$, whichever is cheaper.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
n_values = list(n_values)
cells = planet.standardize(planet.land())
field = planet.standardize(planet.magnetic_field())
power = np.array(planet.magnetic_power())
maps = {
    "land and sea": (cells, globe(cells, degree=300)),
    "magnetic field": (field, Spectrum(3, power / power[1:].sum())),
}


def found_from_labels(earth, n, seed):
    rng = stream(seed, "evaluation", n)
    places = planet.random_places(rng, n)
    labels = planet.value_at(earth, places)
    labels = labels + noise_std * rng.standard_normal(n)
    return icl.best_window(places, labels).w


tables = []
for name, (earth, task) in maps.items():
    for n in n_values:
        exact = optimal_window(task, n, noise_std)
        w = np.array([found_from_labels(earth, n, seed) for seed in range(seeds)])
        wrong = exact.w * np.array([0.5, 2.0])
        every = np.concatenate([w, 4 * w, wrong])
        prices = population_risk(task, every, n, noise_std).total / exact.risk
        table = pd.DataFrame({"seed": range(seeds), "w": w, "price": prices[:seeds]})
        table["four times"] = prices[seeds:-2]
        table["twice"] = prices[-2:].min()
        tables.append(table.assign(map=name, n=n, exact=float(exact.w)))
left_out = pd.concat(tables, ignore_index=True)
columns = ["exact", "w", "price", "twice"]
left_out.groupby(["map", "n"], sort=False)[columns].median().round(2)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
labels = {"samples": "seed", "labels": ["map", "n", "twice"]}
judge(
    "P1.data.left-out",
    sampled_cases(left_out, "price", name="{map}, n = {n}", **labels),
    sampled_cases(
        left_out, "four times", name="{map}, n = {n}, four times the w", **labels
    ),
)


# %% [markdown]
# ## For specialists: the range of windows, and the law on real data
#
# <a id="data-range"></a>
#
# **How far can the range be trusted?** `low` and `high` enclose the windows that the data can hardly tell from the best one. For
# linear functions of random tokens the exact best window is known, so that we can count how often it lies in the range. (We take
# linear functions because they are rotations of one another, and so each of them has the best window of the class. Single ReLU
# functions have windows of their own.) One expects a share of about 95 %. Near the minimum the difference of two errors grows like
# the square of their distance in $\log w$, and the standard error of this difference grows like the distance itself. So where the
# error exceeds the least error by one standard error, $\log w$ is about two of its standard errors away from the best. The card has
# the shares of many data sets, and its control moves each range by a factor of four. With 60 rows, with 2 % of outliers or with
# twenty groups the share may fall to 70 %. The median risk is then still within 6 % of the least. So rely on the window rather than
# on its range.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
rows = []
for task in (Linear(3), Linear(5)):
    for n in n_values:
        exact = float(optimal_window(task, n, noise_std).w)
        x, y = draw_contexts(task, noise_std=noise_std, n=n, batch_size=contexts)
        ranges = [
            icl.best_window(tokens[:-1], labels[:-1])
            for tokens, labels in zip(x.numpy(), y.numpy(), strict=True)
        ]
        for factor in (1, 4):
            inside = sum(f.low * factor <= exact <= f.high * factor for f in ranges)
            share = binomtest(inside, contexts).proportion_ci(1 - FALSE_ALARM_RATE)
            row = {"task": task.label, "dim": task.dim, "n": n, "factor": factor}
            row |= {"share": inside / contexts, "low": share.low, "high": share.high}
            rows.append(row)
shares = pd.DataFrame(rows)
ends = {"low": "low", "high": "high", "labels": ["task", "dim", "n"]}
name = "{task}, d = {dim}, n = {n}"
judge(
    "P1.data.range",
    interval_cases(shares[shares.factor == 1], "share", name=name, **ends),
    interval_cases(
        shares[shares.factor == 4], "share", name=name + ", four times", **ends
    ),
)

# %% [markdown]
# **Diabetes and digits, beside the law.** Does the theory for affine functions predict the window of real data? For the diabetes
# data its window agrees with that of leave-one-out, and for the digits it does not. The theory needs $L$ and $\sigma$. The table
# estimates them by a linear fit on the sphere: $L$ is the length of the gradient, and $\sigma$ the standard deviation of the
# residuals. Real rows do not vary equally in all directions, so that the table tries two dimensions: the number $d$ of columns, and
# the *filled* dimension $1/\operatorname{tr}\Sigma^2$, where $\Sigma$ is the covariance matrix of the rows.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def compared(name):
    X, y = data[name]
    n, d = X.shape
    fit = LinearRegression().fit(X, y)
    lipschitz = np.sqrt(np.sum(fit.coef_**2))
    residuals = (y - fit.predict(X)).reshape(n, -1)
    sigma = np.sqrt(np.mean(np.sum(residuals**2, axis=1)))
    filled = 1 / np.sum(np.cov(X.T) ** 2)
    best = found[name]
    row = {
        "data": name,
        "n": n,
        "d": d,
        "filled d": filled,
        "L/sigma": lipschitz / sigma,
    }
    row |= {"w": best.w, "low": best.low, "high": best.high}
    for column, dim in {"affine, d": d, "affine, filled d": round(filled)}.items():
        affine = Affine(max(2, dim), lipschitz=lipschitz)
        row[column] = float(optimal_window(affine, n, sigma).w)
    return row


law = pd.DataFrame(compared(name) for name in data).set_index("data")
law.round(1)

# %% [markdown]
# For diabetes the two windows of the last columns lie between `low` and `high`. For digits the labels jump from class to class.
# Much of what a linear fit treats as noise is then signal, which a narrow window can use. So the exact window of affine functions
# is a guide only if labels are nearly affine and rows nearly uniform. Leaving one out needs no such assumption.
#
# ## Beside other estimators
#
# On the diabetes data a linear model is hard to beat. The next table has the mean and the spread of the score over
# ten folds of these data.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
scores = {
    name: cross_val_score(make_pipeline(StandardScaler(), model), *diabetes, cv=10)
    for name, model in {
        "softmax attention": icl.SoftmaxAttentionRegressor(),
        "nearest neighbors": neighbors,
        "linear": LinearRegression(),
    }.items()
}
pd.DataFrame(scores).agg(["mean", "std"]).round(3)

# %% [markdown]
# **Exercise 2.** Does the best window of the diabetes data narrow as more patients are known? Write five lines that test
# this.
#
# <details><summary>Solution</summary>
#
# ```python
# X, y = data["diabetes"]
# for n in (50, 100, 200, len(X)):
#     chosen = np.random.default_rng(n).permutation(len(X))[:n]
#     best = icl.best_window(X[chosen], y[chosen])
#     print(n, best.w, best.low, best.high)
# ```
# The ranges from `low` to `high` overlap, so the data do not answer the question.
#
# </details>
#
# ## For specialists
#
# ### Two layers, and an activation of your own
#
# You can train a model of your own in a few lines: `draw_contexts` draws contexts, and the function `minimize` of this book trains
# any function of tensors with Adam. In the next cell the first layer adds a weighted mean of the context's tokens to every token,
# and the second layer predicts the label.

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
# The first number is the mean squared error over the second half of the steps, minus the variance of the noise in the
# query's label. This estimate is rough, because the layers are still being trained.
# [Beyond one layer](beyond.ipynb) compares such models with care.
#
# To use an activation $\varphi$ of your own, add an entry to `icl.attention.ACTIVATIONS`. The entry has three parts:
# the function $\varphi(s)$ of the score $s$, its derivative $\varphi'(s)$ as a function of $s$ and $\varphi(s)$, and
# whether the weights are divided by their sum. The name of the entry can then stand wherever an activation is expected.

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

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
