"""The estimator of one's own data against other smoothers: test error and seconds on eight data sets.

    make bench      or      .venv/bin/python benchmarks/smoothers.py

Writes benchmarks/results/smoothers.json. Columns are standardized, but for tokens on a sphere. Every model
chooses its parameters from the training rows alone: neighbors and kernel ridge regression by cross-validation
with five folds on the grids below, the Gaussian process by its likelihood, statsmodels and attention by
leaving one out. The score is R^2 on the other rows, against the labels without noise where those are known.
One split of the data and one thread: differences of 0.02 mean little. Data sets that have to be downloaded,
such as the Californian houses, are not among them.
"""

import time
import warnings

import numpy as np
import statsmodels.api as sm
from common import save
from sklearn.datasets import load_diabetes, load_digits
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from statsmodels.nonparametric.kernel_regression import KernelReg
from threadpoolctl import threadpool_limits

from icl import SoftmaxAttentionRegressor
from icl.streams import stream
from icl_book import planet

#: statsmodels is asked for no more numbers than these, since it needs minutes for more.
MAX_STATSMODELS_ENTRIES = 1000


def on_sphere(rng, n, dim):
    rows = rng.standard_normal((n, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def data_sets():
    """Training rows and labels, test rows and labels, by name."""
    rng = stream(0, "evaluation")
    X = rng.uniform(-3, 3, (2400, 1))
    f = np.sin(2 * X[:, 0])
    yield "sine", X, f + 0.2 * rng.standard_normal(len(X)), f, 400
    X = rng.uniform(-1, 1, (3000, 2))
    f = np.exp(-4 * np.sum(X**2, axis=1))
    yield "bump", X, f + 0.05 * rng.standard_normal(len(X)), f, 1000
    X = on_sphere(rng, 3000, 10)
    f = np.abs(X[:, 0]) + X[:, 1] * X[:, 2]
    yield "ten columns, three matter", X, f + 0.3 * rng.standard_normal(len(X)), f, 1000
    for name, earth in (("land and sea", planet.land()), ("field", planet.magnetic_field())):
        places = planet.random_places(rng, 3000)
        f = planet.value_at(planet.standardize(earth), places)
        yield f"the Earth, {name}", places, f + 0.5 * rng.standard_normal(len(f)), f, 1000
    for name, load, n in (("diabetes", load_diabetes, 300), ("digits", load_digits, 1000)):
        X, y = load(return_X_y=True)
        order = rng.permutation(len(X))
        yield name, X[order], y[order].astype(float), y[order].astype(float), n
    spots = sm.datasets.sunspots.load_pandas().data.SUNACTIVITY.to_numpy()
    lags = np.stack([spots[lag : len(spots) - 9 + lag] for lag in range(9)], axis=1)
    yield "sunspots, nine lags", lags, spots[9:], spots[9:], 210


class Statsmodels:
    """Local constant regression with a bandwidth for each column."""

    def fit(self, X, y):
        self.model = KernelReg(y, X, var_type="c" * X.shape[1], reg_type="lc", bw="cv_ls")
        return self

    def predict(self, X):
        return self.model.fit(X)[0]


def models():
    process = ConstantKernel() * RBF() + WhiteKernel()
    ridge = {"alpha": 10.0 ** np.arange(-4, 1), "gamma": 10.0 ** np.arange(-3, 2)}
    return {
        "attention": SoftmaxAttentionRegressor(),
        "attention, diagonal": SoftmaxAttentionRegressor(metric="diagonal"),
        "nearest neighbors": GridSearchCV(
            KNeighborsRegressor(), {"n_neighbors": [1, 2, 3, 5, 8, 12, 20, 40, 80]}
        ),
        "kernel ridge": GridSearchCV(KernelRidge(kernel="rbf"), ridge),
        "Gaussian process": GaussianProcessRegressor(process, normalize_y=True),
        "statsmodels": Statsmodels(),
    }


def compared():
    rows = []
    for name, X, noisy, clean, n in data_sets():
        spherical = np.allclose(np.linalg.norm(X, axis=1), 1)
        if not spherical:
            X = StandardScaler().fit(X[:n]).transform(X)
        row = {"data": name, "n": n, "d": X.shape[1], "r2": {}, "seconds": {}}
        for model_name, model in models().items():
            if model_name == "statsmodels" and n * X.shape[1] > MAX_STATSMODELS_ENTRIES:
                continue
            start = time.process_time()
            guess = model.fit(X[:n], noisy[:n]).predict(X[n:])
            row["seconds"][model_name] = time.process_time() - start
            row["r2"][model_name] = float(r2_score(clean[n:], guess))
        print(row, flush=True)
        rows.append(row)
    return rows


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    with threadpool_limits(1):
        save("smoothers", {"threads": 1, "clock": "CPU", "sets": compared})
