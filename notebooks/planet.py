# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A planet: how many kilometres around should you look?
#
# **Short answer.** You have noisy reports on which of $n$ random places on Earth are land, and are asked about one more place. A layer of
# softmax attention answers with a weighted average of the $n$ labels, in which nearby places count most. With $n=10{,}000$
# places and noise of half the map's spread, the best radius of this average, by which we mean the standard deviation of its
# bell-shaped weights, is {judged}`P1.planet.radius | land and sea, n = 10000 | .0f` km,
# and radii from {judged}`P1.planet.flat | land and sea, n = 10000, least radius | .0f` to
# {judged}`P1.planet.flat | land and sea, n = 10000, largest radius | .0f` km cost at most one percent more. For the smooth
# vertical magnetic field the best radius is {judged}`P1.planet.radius | magnetic field, n = 10000 | .0f` km. Layers trained on the
# real maps with thirty known places find the best radius for that setting {judged}`P1.planet.trained`, which is
# {judged}`P1.planet.radius | land and sea, n = 30, as in training | .0f` km for land and sea. With $10{,}000$ places, the best
# radius for one map gives bad predictions on the other map {judged}`P1.planet.price`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
noise_std = 0.5  # label noise of the exact curves, in standard deviations of the map
n_values = [10, 30, 100, 300, 1000, 3000, 10000]  # context lengths n of the curves
unit_noise_std = 0.5  # label noise of the trained layers, in the same units
context_length = 30  # labeled places n in a context of the trained layers
seeds = 10  # trained layers for each map
steps = 500  # Adam steps for each layer
batch_size = 512  # fresh contexts in each step
learning_rate = 0.2  # Adam's initial step size, falling linearly to zero
contexts = 30  # samples of 300 places each, for clustered places

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import icl
from icl.pretrain import train_grid
from icl.risk import (
    kriging_bounds,
    optimal_heads,
    optimal_window,
    population_risk,
    split_risk,
)
from icl.tasks import Spectrum, globe
from icl_book import notebook, planet
from icl_book.claims import exact_cases, interval_cases, judge, sampled_cases
from icl_book.figures import plots
from icl_book.figures.interactive import interactive
from icl_book.figures.surroundings import surroundings
from icl_book.measurements.planet import (
    nearly_best,
    radius_by_trial,
    windows_of_places,
)

notebook.setup(globals(), n_values=2)

# %% tags=["hide-input"]
land = planet.land()
places = planet.random_places(np.random.default_rng(1), 300)
latitude = np.degrees(np.arcsin(places[:, 2]))
longitude = np.degrees(np.arctan2(places[:, 1], places[:, 0]))
is_land = planet.value_at(land, places)
paris = np.array([48.9, 2.4])  # latitude and longitude of the query, in degrees
shown = globe(planet.standardized(land), degree=300)
figure, (world, near) = plt.subplots(1, 2, figsize=(7.2, 2.4), width_ratios=(4, 3))
for ax, size in ((world, 6), (near, 22)):
    ax.imshow(land, extent=(-180, 180, -90, 90), cmap="Greys", alpha=0.2)
    ax.grid(visible=False)
    for value, color, name in ((1, "C2", "land"), (0, "C0", "sea")):
        here = is_land == value
        ax.scatter(longitude[here], latitude[here], s=size, color=color, label=name)
    ax.plot(*paris[::-1], "k*", markersize=7, label="the place in question")
turn = np.radians(np.arange(361))  # from north to the east and around
up = np.radians(paris[0])
line = {"arrowstyle": "-", "color": "k", "lw": 0.7, "relpos": (1, 0.8), "shrinkB": 0}
# each circle's name stands west of it on the sea, at this latitude
for n, at in ((100, 60.5), (1000, 50), (10_000, 39.5)):
    angle = optimal_window(shown, n, noise_std).w ** -0.5
    north = np.arcsin(
        np.sin(up) * np.cos(angle) + np.cos(up) * np.sin(angle) * np.cos(turn)
    )
    east = np.arctan2(
        np.sin(turn) * np.sin(angle) * np.cos(up),
        np.cos(angle) - np.sin(up) * np.sin(north),
    )
    circle = np.column_stack([paris[1] + np.degrees(east), np.degrees(north)])
    for ax in (world, near):
        ax.plot(*circle.T, "k", lw=1)
    near.annotate(
        f"n = {n:,}\n{planet.RADIUS * angle:,.0f} km",
        circle[270],
        xytext=(-50, at),
        va="center",
        arrowprops=line,
    )
world.set(xlim=(-180, 180), ylim=(-90, 90), aspect="equal")
world.set(xticks=range(-180, 181, 90), yticks=range(-90, 91, 45))
near.set(xlim=(-52, 24), ylim=(35, 65), aspect=1 / np.cos(up))
near.set(xticks=[-40, -20, 0, 20], yticks=[40, 50, 60])


def in_degrees(signs):
    return lambda angle, _: f"{abs(angle):g}° {signs[int(np.sign(angle))]}".strip()


for ax in (world, near):
    ax.xaxis.set_major_formatter(in_degrees(["", "E", "W"]))
    ax.yaxis.set_major_formatter(in_degrees(["", "N", "S"]))
figure.legend(*world.get_legend_handles_labels(), loc="outside upper left", ncols=3)
plt.show()

# %% [markdown]
# ```{caption} fig-planet
# :title: How many kilometres to look
# :alt: A map of the world with three hundred random places, colored by land and sea, and a star at Paris. Beside it is a map of
# Europe with three circles around the star. The circles are smaller if more places are known.
#
# Three hundred random places and the place in question (star), on the world map and near the star. The circles show the best
# radius for land and sea with 100, 1,000 and 10,000 known places: the radius shrinks as more places are known.
# ```
#
# (planet-plain)=
# ## In plain words
#
# Is it land at the star? Somebody chooses $n$ places at random all over the Earth and tells you for each place whether it is
# land. A sensible guess is an average over the known places nearby.
#
# If you look too far, you cross coasts, and the average *blurs* the map. If you look only close by, you average over few
# places. Then *noise* in a single label decides, and so does chance, as to whether the few known places nearby happen to lie on
# land or at sea: the answers *scatter*. **How many kilometres around should you look?**
#
# A {term}`softmax attention unit <unit>` computes such an average. Places are points on the unit sphere, and a place at the
# angular distance $\theta$ from the star has a weight proportional to $e^{w\cos\theta}$. From the star outwards the weights
# decay over a distance of about $R_\oplus w^{-1/2}$, where $R_\oplus=6371$ km is the radius of the Earth. We call this distance
# the *radius* of the {term}`window`. It is no edge, but the standard deviation of a bell, in each direction. If
# many places carry the weight, about two fifths of it lie within one radius of the star, and nearly seven eighths within two. If
# few places do, a little less of it is so near on average. Training has to find the number $w$.
#
# The best radius depends on the map. Coasts are everywhere, and the map of land and sea jumps at a coast, while the magnetic
# field changes slowly, over thousands of kilometres. With many known places the best window is therefore narrower for land and
# sea than for the magnetic field. With few known places it is wider for land and sea, because then even the nearest known place
# is so far away that it says little about land or sea at the star, and an average over many labels is the better guess.
#
# **Why this book can compute the best radius.** The randomly rotated copies of a map form a rotation-invariant class of
# functions, and the [exact risk](/notebooks/exact_risk.ipynb) depends on this class only through its *power*, which says how the
# variance of the map is divided among the degrees of the spherical harmonics. The model of the magnetic field has thirteen
# degrees, whose power its coefficients give, and the map of land and sea consists of cells of half a degree. So what is exact on
# this page is exact for these cells and for this model.
#
# ## Experiment: the best window for two maps, exact and trained
#
# The next cell computes the exact best window of both maps for each $n$ and prints its radius in kilometres. It also prints how
# many places carry the weight, which is the inverse of the mean of $\sum_i\omega_i^2$, where $\omega_i$ are the weights. To try
# 20,000 places, replace the first line of the next cell by `n_values = [30, 10_000, 20_000]`.

# %%
n_values = list(n_values)  # or [30, 10_000, 20_000], for example
cells = planet.standardized(planet.land())
power = np.array(planet.magnetic_power())
tasks = {
    "land and sea": globe(cells, degree=300),
    "magnetic field": Spectrum(3, power / power[1:].sum()),
}
n = np.array(n_values)
tables = []
for name, task in tasks.items():
    best = optimal_window(tasks[name], n, noise_std)
    table = pd.DataFrame({"n": n, "w": best.w, "km": planet.RADIUS * best.w**-0.5})
    squares = population_risk(task, best.w, n, noise_std=1.0).noise
    tables.append(table.assign(map=name, places=1 / squares))
windows = pd.concat(tables, ignore_index=True)
printed = windows.pivot(index="n", columns="map", values=["km", "places"])
print(printed.to_string(float_format="{:.1f}".format))

# %%
figure, ax = plt.subplots(figsize=(6.0, 3.2))
for name, part in windows.groupby("map", sort=False):
    ax.plot(part.n, part.km, "o-", label=name)
ax.set(xscale="log", yscale="log", xlabel="known places n")
ax.set_yticks([100, 300, 1000, 3000], ["100", "300", "1,000", "3,000"])
ax.minorticks_off()
ax.set_ylabel(r"best radius $R_\oplus w^{-1/2}$ (km)")
ax.legend()
plt.show()

# %% [markdown]
# ```{caption} fig-planet-windows
# :title: More places, smaller radius
# :alt: Two falling curves on logarithmic axes show the best radius in kilometres against the number of known places. The curve
# of land and sea falls faster and ends far below the curve of the magnetic field.
#
# Exact best radius against the number of known places, for both maps. The label noise is half of each map's standard
# deviation. If few places are known, land and sea have the *wider* window.
# ```
#
# The computation takes a few seconds. At $n=10{,}000$ the printed best radius should be
# {judged}`P1.planet.radius | land and sea, n = 10000 | .1f` km for land and sea and
# {judged}`P1.planet.radius | magnetic field, n = 10000 | .1f` km for the magnetic field. At the best $w$ about $n/w$ places carry
# the weight. On land and sea these are about ten, because an average over many places would cross the coasts.
#
# **Three errors decide.** The next figure has them for land and sea with the longest of these contexts. Too large a radius blurs
# the coasts. Too small a radius leaves noise of the labels and scatter, which is the chance of which places are known. With half
# the noise in the labels, in the right panel, the window is narrower, and scatter keeps it from being narrower still.

# %% tags=["hide-input"]
radii = np.geomspace(50, 1000, 80)
known = max(n_values)
figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.2), sharey=True)
for ax, noise in zip(axes, (noise_std, noise_std / 2), strict=True):
    w = (planet.RADIUS / radii) ** 2
    plots.stack_errors(ax, radii, split_risk(tasks["land and sea"], w, known, noise))
    best = optimal_window(tasks["land and sea"], known, noise)
    km = planet.RADIUS * best.w**-0.5
    ax.plot(km, best.risk, "k*", markersize=11)
    beside = {"xytext": (0, 9), "textcoords": "offset points", "ha": "center"}
    ax.annotate(f"{km:.0f} km", (km, best.risk), **beside)
    ax.set(xscale="log", xlabel="radius (km)", title=f"σ = {noise:g}", ylim=0)
    ax.set_xticks([50, 100, 200, 500, 1000], ["50", "100", "200", "500", "1,000"])
    ax.minorticks_off()
axes[0].set_ylabel("squared error")
axes[1].legend(loc="upper center")
plt.show()

# %% [markdown]
# ```{caption} fig-planet-errors
# :title: Blur, scatter and noise on land and sea
# :alt: Two panels of stacked areas against the radius in kilometres. Blur grows with the radius, while scatter and noise shrink.
# A star marks the least sum. With half the noise, in the right panel, it stands at a smaller radius.
#
# The three errors for land and sea with 10,000 known places, one upon the other, in units of the variance of the map. The upper
# edge is the risk, and the star its least value. Left: noise $\sigma=0.5$ in the labels. Right: half of it, and the best radius
# is smaller.
# ```
#
# **What the radius costs.** Below, the solid circle has a radius that you choose, and the dashed circle the best one. The curves
# show the exact risk at each radius, in units of the variance of the map, so that predicting the mean everywhere has the risk 1.

# %% tags=["hide-input"]
field = planet.magnetic_field()
kilometres = np.round(100 * 2 ** np.arange(0, 6.75, 0.25))
noises = [0.05, 0.1, 0.25, 0.5, 1.0]
curves = []
least = []
for name, task in tasks.items():
    w = (planet.RADIUS / kilometres) ** 2
    exact = split_risk(task, w, n[:, None], noise_std=1.0)
    best = optimal_window(task, n[:, None], noises)
    squares = population_risk(task, best.w, n[:, None], noise_std=1.0).noise
    for (i, count), (j, noise) in itertools.product(
        enumerate(n_values), enumerate(noises)
    ):
        setting = {"map": name, "n": count, "noise": noise}
        labels = noise**2 * exact.noise[i]
        parts = {"risk": exact.bias[i] + labels, "blur": exact.blur[i]}
        parts |= {"scatter": exact.scatter[i], "labels": labels}
        parts |= {"places": 1 / squares[i, j]}
        curves.append(pd.DataFrame({"km": kilometres} | setting | parts))
        km = planet.RADIUS * best.w[i, j] ** -0.5
        least.append(setting | {"km": km, "risk": best.risk[i, j]})
start = {"map": "land and sea", "n": n_values[-1], "noise": 0.5}
first = next(row for row in least if row.items() >= start.items())
up, side = np.radians(paris)
maps = surroundings(
    (np.cos(up) * np.cos(side), np.cos(up) * np.sin(side), np.sin(up)),
    planet.random_places(np.random.default_rng(1), 10_000),
    {
        "land and sea": lambda places: planet.value_at(cells, places) > 0,
        "magnetic field": lambda places: planet.value_at(field, places) > 0,
    },
    counts=n_values,
    radius=planet.RADIUS,
    reaches=(10_000, 1500),
    start=start | {"best": first["km"]},
    alt="Two round maps around Paris, of half the Earth and of Europe, with dots at "
    "the known places. A solid circle has the chosen radius, a dashed one the best.",
)
interactive(
    pd.concat(curves),
    x="km",
    y={"risk": "risk", "blur": "blur", "scatter": "scatter", "labels": "noise"},
    sliders={
        "map": "map",
        "n": "known places n",
        "noise": "noise σ of the labels",
        "km": "radius (km)",
    },
    start=start | {"km": kilometres[12]},
    labels=("radius in km", "squared error"),
    best=pd.DataFrame(least),
    told={"places": "About {} places carry the weight at the best radius."},
    scene=maps,
    experiment="Move the radius until the risk is least. Then halve the noise, and "
    "move n, and see how the dashed circle moves. Then choose the other map.",
    alt="Risk, blur, scatter and noise of the labels against the radius. The risk "
    "falls, is least at a ring, and rises again.",
    caption="Shaded: land, or where the field points downwards. Dots: the first n of "
    "10,000 random places. A circle larger than a map is not seen on it.",
)

# %% [markdown]
# **A trial on the maps themselves.** The next cell finds the best radius once more without the power and without a formula for
# the risk. It draws places on the map, answers questions about other places, and looks for the radius with the least mean squared
# error. The table has the exact radius, the radius by trial and the standard error of the trial. It also has the setting of the
# trained layers below, with thirty places.

# %%
fine = {
    "land and sea": cells,
    "magnetic field": planet.standardized(planet.magnetic_field(rows=720)),
}
questions = {"land and sea": 2000, "magnetic field": 100}


def tried(name, n, noise, w):
    km, error = radius_by_trial(
        fine[name], w, n=n, noise_std=noise, questions=questions[name]
    )
    row = {"map": name, "n": n, "noise": noise, "w": w, "km": planet.RADIUS * w**-0.5}
    return row | {"trial": km, "its error": error}


longest = windows[windows.n == max(n_values)]
trials = [tried(row.map, row.n, noise_std, row.w) for row in longest.itertuples()]
for name, task in tasks.items():
    w = float(optimal_window(task, context_length, unit_noise_std).w)
    trials.append(tried(name, context_length, unit_noise_std, w))
trials = pd.DataFrame(trials)
trials.drop(columns="w").style.format(precision=1).hide()

# %% tags=["remove-input"]
trials["error"] = [
    row.km * float(optimal_window(tasks[row.map], row.n, row.noise).error)
    for row in trials.itertuples()
]
wrong = pd.concat(
    [
        trials.assign(what="half the w", km=trials.km * 2**0.5),
        trials.assign(what="twice the w", km=trials.km / 2**0.5),
        trials.assign(
            what="the w of the other map",
            # both rows of a setting change places
            km=trials.km.to_numpy()[[1, 0, 3, 2]],
        ),
    ]
)
columns = {"error": "error", "labels": ["map", "n", "trial"]}
longest = trials[: len(tasks)]
judge(
    "P1.planet.radius",
    [
        exact_cases(longest, "km", name="{map}, n = {n}", **columns),
        exact_cases(
            trials[len(tasks) :], "km", name="{map}, n = {n}, as in training", **columns
        ),
    ],
    [
        exact_cases(part, "km", name=f"{{map}}, n = {{n}}, {what}", **columns)
        for what, part in wrong.groupby("what", sort=False)
    ],
)

# %% [markdown]
# **The minimum is flat.** The next card has the radii at which the exact risk is one percent above its least value.

# %% tags=["remove-input"]
ends = []
for row in longest.itertuples():
    found = nearly_best(tasks[row.map], row.n, row.noise)
    found["km"] = planet.RADIUS * found.w**-0.5
    found["error"] = found.km * found.error / 2
    ends.append(found.assign(map=row.map, n=row.n, best=row.km))
judge(
    "P1.planet.flat",
    pd.concat(ends).drop(columns="w"),
    value="km",
    error="error",
    name="{map}, n = {n}, {end} radius",
)

# %% [markdown]
# **Trained layers find the computed windows.** In each context a layer sees the labels of random places on a newly rotated map.
# The noise of the labels is half of the map's standard deviation. The optimizer Adam trains the
# full $3\times3$ matrix $M$ of the scores $x_i^\top Mx_q$, starting from $M=0$. As layers need values of the field at single
# places, they look them up in cells of one degree. The column "ratio" is the mean of the diagonal of $M$, divided by the exact
# best $w$. The next cell takes about a quarter of a minute.

# %%
raster = globe(planet.standardized(planet.magnetic_field()), degree=20)
layers = train_grid(
    [tasks["land and sea"], raster],
    unit_noise_std,
    context_length,
    seeds=seeds,
    steps=steps,
    batch_size=batch_size,
    learning_rate=learning_rate,
)
tables = []
for (name, task), w in zip(tasks.items(), layers.windows, strict=True):
    exact = optimal_window(task, context_length, unit_noise_std).w
    table = pd.DataFrame({"seed": range(seeds), "trained": w, "ratio": w / exact})
    tables.append(table.assign(map=name, exact=float(exact)))
trained = pd.concat(tables, ignore_index=True)
trained["km"] = planet.RADIUS * trained.trained**-0.5
print(trained.groupby("map")[["trained", "km", "ratio"]].median().round(2))

# %% tags=["remove-input"]
best = trained.groupby("map").exact.first()
other = dict(zip(tasks, reversed(tasks), strict=True))
swapped = trained.trained / trained["map"].map(other).map(best)
columns = {"value": "ratio", "samples": "seed", "labels": ["map"]}
judge(
    "P1.planet.trained",
    sampled_cases(trained, name="{map}", **columns),
    sampled_cases(
        trained.assign(ratio=swapped), name="{map}, best w of the other map", **columns
    ),
)

# %% [markdown]
# ## What the other map's window costs
#
# With 10,000 known places, the best window for one map gives bad predictions on the other map. Theorem 3 of paper 1 is about
# such a mismatch between two classes with different Lipschitz constants, and here the two maps give the classes. The next cell
# predicts each map with the best window of the other map. The column "factor" is the resulting risk divided by the least risk
# on the same map. For comparison the table also has windows with half and with twice the best $w$.
#
# How large a factor says that two windows really differ? By {prf:ref}`the law of the window <thm-law>` a wrong $w$ costs in long
# contexts, in three dimensions and for a class of order $\rho\le4$, the factor
# $\big(u^{-\rho/2}+\frac\rho2u\big)/\big(1+\frac\rho2\big)$, where $u$ is the wrong $w$ divided by the best one. At $u=\frac12$
# and $u=2$ this is at most $\frac53$, so that a factor above $\frac53$ means more than a factor of two in $w$.

# %%
n = max(n_values)
rows = []
for (name, task), foreigner in zip(tasks.items(), reversed(tasks), strict=True):
    own = optimal_window(task, n, noise_std)
    foreign = optimal_window(tasks[foreigner], n, noise_std)
    for window, w in (
        (foreigner, foreign.w),
        ("half the best w", own.w / 2),
        ("twice the best w", own.w * 2),
    ):
        risk = population_risk(task, w, n, noise_std)
        rows.append(
            {
                "asked about": name,
                "window of": window,
                "n": n,
                "factor": float(risk.total / own.risk),
                "error": float(risk.total / own.risk * risk.error),
            }
        )
price = pd.DataFrame(rows)
price.drop(columns="error").style.format(precision=2).hide()

# %% tags=["remove-input"]
price = price.rename(columns={"asked about": "map"})
foreign = price["window of"].isin(tasks)
columns = {"value": "factor", "error": "error"}
judge(
    "P1.planet.price",
    exact_cases(price[foreign], name="{map}, n = {n}", labels=["map", "n"], **columns),
    exact_cases(
        price[~foreign],
        name="{map}, n = {n}, {window of}",
        labels=["map", "n", "window of"],
        **columns,
    ),
)

# %% [markdown]
# ## Could another method do better?
#
# On land and sea hardly, because coasts are rough, but on the magnetic field yes. No predictor that is linear in the labels has
# a smaller risk than {term}`kriging`, which knows the power of the map, and a formula bounds the risk of kriging from below
# ({prf:ref}`kriging between two formulas <thm-kriging-bounds>`). The next cell divides the least risk of one head by this
# bound. On the smooth field several heads are tried as well, whose blurred pictures are subtracted from each other
# ([](/notebooks/heads.ipynb)). The label noise is as large as the map's standard deviation, as in the next section.

# %%
n = max(n_values)
rows = []
for name, task in tasks.items():
    floor = kriging_bounds(task, n, noise_std=1.0)
    one = optimal_window(task, n, noise_std=1.0)
    rows.append({"map": name, "heads": 1, "risk": float(one.risk), "floor": floor})
    if name == "magnetic field":
        for heads in (2, 3):
            best = optimal_heads(task, n, noise_std=1.0, heads=heads)
            row = {"map": name, "heads": heads, "risk": best.risk}
            rows.append(row | {"floor": floor})
beside = pd.DataFrame(rows)
beside["factor"] = [row.risk / row.floor.lower for row in beside.itertuples()]
print(beside[["map", "heads", "risk", "factor"]].round(4).to_string(index=False))

# %% [markdown]
# With ten thousand known places the risk of one head on land and sea is at most
# {judged}`P1.planet.linear | land and sea, heads: 1 | .2f` times that of the best linear predictor. On the magnetic
# field one head has at most nearly twice the risk of kriging, and two heads have at most
# {judged}`P1.planet.linear | magnetic field, heads: 2 | .2f` times this risk.

# %% tags=["remove-input"]
# kriging's risk is at most floor.upper; the best of a search may still be improved
beside["least"] = [
    max(1.0, row.risk / row.floor.upper) if row.heads == 1 else 1.0
    for row in beside.itertuples()
]
smooth = (beside["map"] == "magnetic field") & (beside.heads == 1)
columns = {"low": "least", "high": "factor", "labels": ["map", "heads"]}
judge(
    "P1.planet.linear",
    interval_cases(beside[~smooth], "factor", name="{map}, heads: {heads}", **columns),
    interval_cases(beside[smooth], "factor", name="{map}, heads: {heads}", **columns),
)

# %% [markdown]
# ## The length of a coast
#
# If many places are known, the best window for land and sea shows roughly how long the coasts are. A map of zeros and ones has
# no Lipschitz constant, because its values jump. This constant is replaced by the {term}`variogram` $\gamma(\theta)$ of the
# map, which is half the probability that two places at the angular distance $\theta$ differ.
#
# Suppose that the coast is smooth and has the length $\ell$ on the unit sphere, whose area is $A=4\pi$. Two places at a small
# distance $\theta$ differ if the short segment between them crosses the coast. By Buffon's needle problem, a random segment
# does so with probability $2\ell\theta/(\pi A)$. Half of this probability is $\gamma(\theta)=\ell\theta/(\pi A)$.
#
# For a variogram proportional to $\theta$ near zero, {prf:ref}`the law of the window <thm-law>` gives the best $w$ in long
# contexts. We insert this $\gamma(\theta)$, the dimension $d=3$ and label noise of variance $\sigma^2$, and solve the law for
# $\ell$:
#
# $$\ell=\frac{2\sqrt\pi}{\sqrt2-1}\cdot\frac{A\,\sigma^2\,w^{3/2}}n.$$
#
# A real coast is rough, and its length depends on the ruler. The next cell therefore computes two lengths. One comes from the
# exact best window by the formula above. The other, $\pi A\gamma(\theta)/\theta$, comes from the variogram at the radius
# $\theta=w^{-1/2}$ of this window, and is about what a surveyor with a ruler of the length $\theta$ would find. Here the label
# noise is as large as the map's standard deviation, because the law needs noise well above the changes of the map inside the
# window.

# %%
task = tasks["land and sea"]
heights = np.unique(cells)  # the two values of the standardized map
per_unit = 4 * np.pi * planet.RADIUS / (heights[1] - heights[0]) ** 2
by_window = 2 * np.sqrt(np.pi) / (np.sqrt(2) - 1)
rows = []
for n in [1000, 10_000, 100_000]:
    w = optimal_window(task, n, noise_std=1.0).w
    theta = w**-0.5
    gamma = task.variogram(theta) + task.rest
    rows.append(
        {
            "n": n,
            "radius (km)": planet.RADIUS * theta,
            "coast by the window (km)": by_window * w**1.5 / n * per_unit,
            "coast by the ruler (km)": np.pi * gamma / theta * per_unit,
        }
    )
coasts = pd.DataFrame(rows)
# hundreds of km for lengths of the coast
rounded = dict.fromkeys(coasts.columns[2:], -2)
coasts.round(rounded).style.format("{:.0f}").hide()

# %% [markdown]
# Both computed lengths of the coast grow as the window narrows. Richardson and Mandelbrot found the same growth on real coasts,
# measured with ever shorter rulers. The length from the window is the smaller one. Its formula assumes a smooth coast and a map
# that hardly changes inside the window, and the real map meets neither assumption exactly.

# %% [markdown]
# ## One fixed Earth, and how often the answer is right
#
# On one fixed Earth the mean squared error over uniform random places equals the exact risk, although the exact risk is a mean
# over rotated maps. The reason is that rotating the map has the same effect as rotating all places the other way, and that
# uniform random places stay uniform when rotated. The next cell draws such places and predicts their labels with
# `icl.predict`.
#
# We round each prediction to the nearer of the two labels, land and sea, and count how often the answer is right. The table
# shows the exact risk, the mean squared error on the fixed Earth and the share of right answers, the last two with their
# standard errors.

# %%
middle = np.unique(cells).mean()  # halfway between the labels of land and sea
generator = np.random.default_rng(2)
rows = []
for n, samples in ((100, 1000), (10_000, 50)):
    best = optimal_window(tasks["land and sea"], n, noise_std)
    losses, right = [], []
    for _ in range(samples):
        places = planet.random_places(generator, n + 20)
        values = planet.value_at(cells, places)
        labels = values[:n] + noise_std * generator.standard_normal(n)
        guess = icl.predict(places[:n], labels, places[n:], best.w)
        losses.append(np.mean((guess - values[n:]) ** 2))
        right.append(np.mean((guess > middle) == (values[n:] > middle)))
    rows.append(
        {
            "n": n,
            "exact": float(best.risk),
            "fixed Earth": np.mean(losses),
            "its error": np.std(losses) / samples**0.5,
            "right": np.mean(right),
            "error of right": np.std(right) / samples**0.5,
        }
    )
fixed = pd.DataFrame(rows)
fixed.style.format(precision=4).hide()

# %% [markdown]
# The guess *sea* for every place is right about seven times in ten, because water covers about seven tenths of the Earth.
#
# ## Places where people live
#
# If the known places crowd together, as weather stations do, the best window can change. The next cell draws $n=300$ known
# places around thirty random centers, with offsets whose standard deviation is 640 km in each direction. The place in question
# is either uniform or "clustered", that is, around the same centers. As a check, the first row of each map has only uniform
# places, for which the exact window is known.

# %%
tables = []
for name, task in tasks.items():
    table = windows_of_places(
        task,
        n=300,
        noise_std=noise_std,
        clusters=30,
        width=0.1,
        contexts=contexts,
    )
    table["km"] = planet.RADIUS * table.w**-0.5
    table["km error"] = table.km * table.error / table.w / 2
    table["exact km"] = planet.RADIUS * optimal_window(task, 300, noise_std).w ** -0.5
    tables.append(table.assign(map=name))
clustered = pd.concat(tables, ignore_index=True)
columns = ["map", "known", "asked", "km", "km error", "exact km", "factor"]
clustered[columns].style.format(precision=2).hide()

# %% [markdown]
# The standard errors ("km error") come from the jackknife and are only rough, because the samples are few. The column
# "factor" is the risk with the best window of uniform places, divided by the least risk.
#
# Suppose first that the known places and the place in question are both clustered. The best radius is then smaller than for
# uniform places, for land and sea by about two fifths, because many known places are near the place in question.
#
# Now suppose that the known places are clustered and the place in question is uniform. The best window is then wider than for
# uniform known places, because most uniform places are far from all centers, and for them an average over many labels is the
# better guess.
#
# For places that are not uniform, the window should be found from [one's own data](/notebooks/your_data.ipynb).
#
# ## What this does not say
#
# - One softmax layer with $M=wI$ has the same window everywhere. Where known places crowd together, a narrower window can be
#   better.
# - Squared error is not accuracy. The window with the least squared error need not give the most right answers.
# - On the map of land and sea, detail finer than about 70 km (beyond degree 300) is treated as unpredictable. A window much
#   narrower than 70 km describes our cells and not the Earth. The digits of a radius are those of this map.
# - Several heads are the subject of [](/notebooks/heads.ipynb), and several layers that of [](/notebooks/beyond.ipynb).
#
# **Sources.** The map of land and sea comes from the package global-land-mask (MIT), which uses NOAA's GLOBE data. The
# magnetic field is the model IGRF-14 for 2020, from the package ppigrf (MIT). The script `book/planet/make.py` makes the
# files of both maps.
#
# **Exercise 1.** How do you compute the best window for a map of your own?
#
# :::{admonition} Solution
# :class: dropdown
# Change the line of the experiment that defines `cells`, and give the standardized array of your map the same name. Its
# rows go from north to south, and its columns go eastwards from the longitude -180 degrees. The degree in `globe` is at most the
# number of rows.
# :::
#
# **Exercise 2.** On land and sea, at which noise do 10,000 noisy labels lead to a larger risk than 1,000 labels without noise?
# Compare the risks at the best windows with a few lines of code.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# task = tasks["land and sea"]
# wanted = optimal_window(task, 1000, 0.0).risk
# for noise in np.arange(0.1, 4.0, 0.1):
#     if optimal_window(task, 10_000, noise).risk > wanted:
#         print(round(noise, 1))
#         break
# ```
# The loop prints a noise of nearly twice the map's standard deviation. Below this noise, the 10,000 noisy labels lead to the
# smaller risk.
# :::
#
# ## To remember
#
# Any map of the sphere, rotated at random, is a class of functions whose best window can be computed. With many known places,
# land and sea need a narrow window, and the smooth magnetic field needs a wide one. The length of the coast, computed from the
# best window, grows as this window narrows.

# %% tags=["remove-input"]
notebook.footer()
