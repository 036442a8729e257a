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
# *You have inputs and noisy labels of your own. How far around a new input should attention look, and can your data alone
# decide it?*
#
# **Short answer.** Your data decide it well enough: the window that they choose has nearly the least risk, although many other
# windows do nearly as well. You need to know neither the class of functions nor the noise level, since `icl.best_window(X, y)`
# hides one label at a time, predicts it from the others, and returns the {term}`window parameter` with the least error. On two
# maps of the Earth, where the best window is known exactly, the window that it finds has in the median nearly the least risk
# {judged}`P1.data.left-out`. With the window comes the range of those that do nearly as well, and for linear functions the exact
# best window lies in this range for most data sets {judged}`P1.data.range`. On a sphere one attention layer is the
# Nadaraya-Watson kernel smoother, so that $w$ is a bandwidth in disguise. If your columns are not on a sphere, `icl.Placement`
# puts them there, and if only some of them matter, `icl.best_matrix` finds out which.
#
# To use these functions without the book, type `pip install ".[sklearn]"` in a copy of its repository ({doc}`../book/reproduce`).

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
n_values = [100, 400]  # random places n whose labels are known
noise_std = 0.5  # label noise in units of the spread of each map
seeds = 80  # data sets of each map and size
context_length = 20  # labeled examples n in a context of the two trained models
steps = 200  # Adam steps of the two trained models
contexts = 200  # data sets whose range of windows is compared with the exact window

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
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

# %% [markdown]
# The next cell finds the window for two data sets of scikit-learn, from their labels alone. The digits have ten columns of labels
# in one unit, so that `same_unit=True` adds their errors as they are and does not divide them by their variances:

# %%
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
print({name: round(best.w, 1) for name, best in found.items()})

# %% tags=["hide-input"]
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
# :title: The window of two data sets
# :alt: Two curves of the error against the window parameter, one for diabetes and one for digits. Each starts at one, falls to a
# minimum marked by a star, and rises again.
#
# Leave-one-out error against the window parameter for two data sets of scikit-learn, divided by the error of the mean of
# all labels. The stars mark the window parameters that `icl.best_window` finds.
# ```
#
# ## In plain words
#
# **Choose the window that predicts hidden labels best.** Attention with $M=wI$ predicts the label of a query $x_q$ by a
# weighted mean of known labels, in which a token $x_i$ has a weight proportional to $e^{w\,x_i\cdot x_q}$. A small $w$
# averages over many tokens, and a large $w$ copies the label of the nearest one. To find $w$ for your own data, hide
# each label in turn, predict it from the others, and take the $w$ with the least mean squared error:
#
# ```python
# import icl
#
# place = icl.Placement(X)  # to a sphere, see below
# best = icl.best_window(place(X), y)  # best.w, best.edge, best.low, best.high
# icl.predict(place(X), y, place(queries), best.w)
# ```
#
# These functions take NumPy arrays, data frames, tensors and lists. A NaN or a wrong shape gives an error of one line.
# `best_window` tries a list of window parameters and interpolates between them, and `best.plot()` draws their errors.
# `best.edge` is `"mean"` if the mean of all labels predicts best, `"nearest"` if copying the nearest label does, and
# otherwise empty. From `best.low` to `best.high` the windows predict almost as well as the best one, in the sense that
# their errors exceed the least error by at most one standard error of the difference.
#
# **Lengths of tokens.** On a sphere $x_i\cdot x_q$ is largest for the nearest token, and attention with $M=wI$ is kernel
# regression with a Gaussian kernel, the estimator of Nadaraya and Watson. Off the sphere a large $w$ prefers the longest
# tokens in the direction of the query, not the nearest ones. So tokens have to be placed on a sphere, and there are two ways:
#
# - *Lift.* One more coordinate, $\sqrt{R^2-|x|^2}$ after the median of each column is subtracted, puts every row on a sphere of
#   radius $R$ in one more dimension without losing the row's length. This is the default of `icl.Placement`, with an $R$ four
#   times as large as the largest distance of a token from the medians, so that distances are stretched by less than 4 %. After
#   division by $R$ the bandwidth of the kernel is $R/\sqrt w$ in the unit of your data. A query beyond the radius $R$ is pulled
#   back to it.
# - *Center.* The mean is subtracted, and each row is divided by its length, which is lost. That is right where labels depend
#   on directions, and often good with many columns.
#
# The results of this book are for tokens on the unit sphere. If all tokens have the length $R$ instead of one, divide the
# $w$ of our results by $R^2$. What lengths do to attention over tokens that are not placed is in
# [Gaussian inputs](/notebooks/gaussian_tokens.ipynb).
#
# **Pretraining or leave-one-out?** Pretraining finds one $M$ for a whole class of functions from many contexts, and this $M$
# also serves contexts whose labels are too few to determine a window. Leave-one-out finds one $w$ for a single function,
# from the labels of that function. For kernel regression, which this attention is, leave-one-out is known to be
# asymptotically optimal {cite:p}`haerdle1985`.
#
# ## The first data that one tries
#
# A sine in one column and a bump in two are what one tries first. The next cell predicts both with the three placements and
# prints $R^2$ on new inputs without noise, beside that of the nearest neighbors. To try noisier labels, change `0.1`.

# %%
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
# Lifted, attention predicts as well as the nearest neighbors. (The entry NaN stands where one column has no directions.) A row of
# two columns that is divided by its length keeps its angle only, which says nothing about the bump, and rows that are left as
# they are pull the prediction outwards. If columns have unequal scales, standardize them first, because one bandwidth serves all
# of them: a column whose numbers are a thousand times larger than those of the others hides them. If $y$ has several columns,
# their errors are divided by their variances, so that no unit decides which of them counts.
#
# **Rows that are no independent data.** A row that stands in the table twice is predicted by its twin, and several rows of one
# person predict each other better than they predict a stranger. Leave such rows out together, by the argument `groups` of
# `icl.best_window`, of `icl.best_matrix` and of the estimators' `fit`.
#
# ## Which columns matter?
#
# Of ten columns three matter in the next cell. A single bandwidth averages over all ten directions, while
# [Theorem 4](/notebooks/theorem4_low_rank.ipynb) says that attention should give irrelevant directions no weight at all.
# `icl.best_matrix` gives each column a bandwidth of its own. It follows the gradient of the leave-one-out error in the
# matrix $M$ of the weights $e^{-(x_i-x_q)^\top M(x_i-x_q)/2}$, a method known as MLKR {cite:p}`weinberger2007metric`.
# Because more numbers can also fit noise, it first searches on two thirds of the tokens and tests what it found on the others.
# If their labels are not predicted better than with one bandwidth, the `kind` of its result is `"none"`, or `"scaled"` if that
# bandwidth suits the columns better after each is divided by its standard deviation.


# %%
def on_sphere(n, dim):
    rows = rng.standard_normal((n, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def three_matter(X):
    return np.abs(X[:, 0]) + X[:, 1] * X[:, 2]


X, queries = on_sphere(1000, 10), on_sphere(1000, 10)
y = three_matter(X) + 0.3 * rng.standard_normal(1000)
for metric in ("window", "diagonal"):
    model = icl.SoftmaxAttentionRegressor(metric=metric).fit(X, y)
    error = np.mean((model.predict(queries) - three_matter(queries)) ** 2)
    print(f"{metric}: mean squared error {error:.4f}")
matrix = model.best_matrix_
print(f"{matrix.kind}: gain {matrix.gain:.2f}, standard error {matrix.error:.2f}")
print("entries of M:", np.diag(matrix.M).round(1))

# %% [markdown]
# The first three entries should be the largest and the others smaller. Unlike in the theorem they are not zero, because a thousand
# noisy labels do not say exactly which columns are useless. The gain counts the noise of the held-out labels, which no
# predictor can remove, so that the error of the function itself falls by more. Where a gain is hardly above two standard errors,
# it is mostly too large, because smaller ones are not found.
#
# **Exercise 1.** Does `icl.best_matrix(X, y)` find a matrix if all columns matter alike, as for `y = np.sum(X**2, axis=1)` with
# noise and tokens that are normally distributed?
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# X = np.random.default_rng(1).standard_normal((300, 4))
# y = np.sum(X**2, axis=1) + np.random.default_rng(2).standard_normal(300)
# found = icl.best_matrix(X, y)
# print(found.kind, found.gain, found.error)
# ```
# The `kind` should be `"none"` or `"scaled"`, except for about one data set in forty, since a gain counts if it is above two
# standard errors.
# :::
#
# ## Experiment: the planet without its spectrum
#
# For a map of the Earth the [exact best window](/notebooks/planet.ipynb) follows from the *spectrum*, the variance of
# the map at each length scale. Here the spectrum is not used: `icl.best_window` sees only $n$ random places
# and their noisy labels. The next cell draws many such data sets from two maps. For each data set it computes the
# *price*: the exact risk with the window that was found, divided by the least risk. Column `twice` has
# the smaller of two prices, that of half and that of twice the best $w$. Since the
# minimum is flat, a price says something about the window only if it is below `twice`.
#
# For the magnetic field with 400 places the median price is {judged}`P1.data.left-out | magnetic field, n = 400 | .2f`.
# To try another size, replace the first line of the next cell by `n_values = [200]`. The price should also be close
# to one.

# %%
n_values = list(n_values)  # or [200], for example
cells = planet.standardized(planet.land())
field = planet.standardized(planet.magnetic_field())
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

# %% [markdown]
# The cell takes about fifteen seconds. Column `exact` has the exact best $w$, while `w` and `price` are medians over the data sets.

# %% tags=["remove-input"]
labels = {"samples": "seed", "labels": ["map", "n", "twice"]}
judge(
    "P1.data.left-out",
    sampled_cases(left_out, "price", name="{map}, n = {n}", **labels),
    sampled_cases(
        left_out, "four times", name="{map}, n = {n}, four times the w", **labels
    ),
)


# %% [markdown]
# **How far can the range be trusted?** `low` and `high` enclose the windows that the data can hardly tell from the best one.
# For linear functions of random tokens the exact best window is known, so we can count the data sets in whose range it lies.
# Linear functions are rotations of one another, and so each of them has the best window of the class. (The functions of the
# ReLU class are not, and have windows of their own, between which the window of the class is a compromise.) Near the minimum
# the difference of two errors grows like the square of their distance in $\log w$, and its standard error like this distance. A
# window whose error exceeds the least one by one standard error is therefore about two standard errors of $\log w$ away from
# the best one, so that one expects about 95 %. The card has the shares of many data sets, and its control moves
# each range by a factor of four. With 60 rows, 2 % of outliers or twenty groups the share may fall to 70 %, while the median
# risk is then still within 6 % of the least: rely on the window rather than on its range.

# %% tags=["remove-input"]
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
# ## Diabetes and digits, beside the law
#
# For the diabetes data the window of leave-one-out is compatible with the exact best window of affine functions, and for the
# digits it is not. The exact window depends on the dimension, the number $n$ of labels, the Lipschitz constant $L$ and the
# noise level $\sigma$. The next cell estimates $L$ and $\sigma$ from a linear fit on the sphere, as the length of the gradient
# and the standard deviation of the residuals. If the labels have several columns, $L^2$ and $\sigma^2$ are sums over the
# columns.
#
# Real tokens do not vary equally in all directions, so that we try two values of the dimension: the number $d$ of columns of
# the tokens, and the *filled* dimension $1/\operatorname{tr}\Sigma^2$, where $\Sigma$ is the covariance matrix of the
# tokens. For uniform tokens on the sphere the two are equal. The last two columns of the table are the best $w$ of affine
# functions in these dimensions, with the estimated $L$ and $\sigma$.


# %%
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
# For diabetes the two windows of the last columns lie between `low` and `high`. A linear model predicts these labels best of the
# three models of the next section. For digits the window of leave-one-out is narrower than the window of affine functions. Their
# labels jump from class to class, so that much of what a linear fit treats as noise is signal, which a narrow window can use. The
# images also lie in clusters and do not fill the sphere uniformly. So the exact window of affine functions is a guide only if
# labels are nearly affine and tokens nearly uniform, whereas leave-one-out needs no such assumption.
#
# ## As an estimator of scikit-learn
#
# `icl.SoftmaxAttentionRegressor` finds its own window, so that it works in pipelines and in cross-validation like any
# estimator. It lifts or centers the rows, whichever has the smaller leave-one-out error, unless its argument `place` says how,
# and with `metric="diagonal"` it gives each column a bandwidth of its own. `predict(X, return_std=True)` also returns the
# standard deviation of a new label around each prediction. For classes there is `icl.SoftmaxAttentionClassifier`, whose
# probabilities are the weights of the classes. The next cell compares the regressor with two rivals, a linear model and a mean
# of nearest neighbors whose number is chosen by cross-validation. A `StandardScaler` before each of them makes columns of
# unequal scale alike. The columns of these data have one scale already, so that it changes little here, but your own may need
# it.

# %%
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
# The table shows the mean and the spread of $R^2$ over ten folds of the diabetes data, for which a linear model is hard to
# beat.
#
# ## Two layers, and an activation of your own
#
# You can train a model of your own in a few lines: `draw_contexts` draws contexts, and `minimize` of the book trains any
# function of tensors with Adam. In the next cell the first layer adds a weighted mean of the context's tokens to every token,
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
# query's label. This estimate is rough, because the layers are still being trained. [](/notebooks/beyond.ipynb)
# compares such models with care.
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

# %% [markdown]
# **Exercise 2.** Does the best window of the diabetes data narrow as more patients are known? Write five lines that test
# this.
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
# The ranges from `low` to `high` overlap, so the data do not answer the question.
# :::
#
# ## To remember
#
# Hide each label in turn, and take the window that predicts the hidden labels best. On our maps this window has nearly
# the least risk, although neither the class of functions nor the noise level is known.

# %% tags=["remove-input"]
notebook.footer()
