# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A planet: how many kilometres to look around
#
# *Is it land at the star? Ten thousand people tell you whether they stand on land, and some of them are wrong. How far around the
# star should you ask?*

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

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
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

# %% figure={"alt": "A map of the world with three hundred random places, colored by land and sea, and a star at Paris. Beside it is a map of Europe with three circles around the star. The circles are smaller if more places are known.", "name": "fig-planet"} jupyter={"source_hidden": true} tags=["hide-input"]
land = planet.land()
places = planet.random_places(np.random.default_rng(1), 300)
latitude = np.degrees(np.arcsin(places[:, 2]))
longitude = np.degrees(np.arctan2(places[:, 1], places[:, 0]))
is_land = planet.value_at(land, places)
paris = np.array([48.9, 2.4])  # latitude and longitude of the query, in degrees
shown = globe(planet.standardize(land), degree=300)
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
# **How many kilometres to look.** Three hundred of the known places, on the world map and near the place in question (star). The
# circles show the best radius if 100, 1,000 or 10,000 places are known.
#
# **In short.** With 10,000 known places the best window for the map of land and sea is a bell with a radius of
# [199](<judged:P1.planet.radius|land and sea, n = 10000|.0f>) km. More places or quieter labels make it narrower. The magnetic
# field changes slowly, so its best radius is larger: [842](<judged:P1.planet.radius|magnetic field, n = 10000|.0f>) km. With only
# thirty known places the best radii are much larger, and layers trained on thirty places find them.
#
# <details><summary>How sure?</summary>
#
# - The radii are computed and not sampled, for a map of half a degree and a model of the field with thirteen degrees.
#   [The card](judged:P1.planet.radius) compares them with a trial on the maps themselves. The label noise is half of the map's
#   spread.
# - The minimum is flat: radii from [176](<judged:P1.planet.flat|land and sea, n = 10000, least radius|.0f>) to
#   [226](<judged:P1.planet.flat|land and sea, n = 10000, largest radius|.0f>) km cost at most one percent more.
# - Training was judged with thirty known places ([the card](judged:P1.planet.trained)), where the best radius for land and sea is
#   [3362](<judged:P1.planet.radius|land and sea, n = 30, as in training|.0f>) km.
# - Detail of the map finer than about 70 km counts as unpredictable. A radius far below 70 km would therefore say something about
#   the cells of our map and nothing about the Earth.
# - The window is the same everywhere. Where known places crowd together, a narrower window can be better.
#
# </details>
#
# <a id="planet-plain"></a>
#
# ## Why
#
# Somebody chooses $n$ places at random all over the Earth and tells you for each whether it is land. We model wrong answers as
# noise, whose standard deviation $\sigma$ is half of the map's. A sensible guess for the star is an average over the known places
# nearby.
#
# If you look too far, you cross coasts, and the average *blurs* the map. If you look only close by, you average over few places,
# so the *noise* of their labels matters. The average also *scatters*, because these few places lie on land or at sea by chance.
# The best radius balances blur, scatter and noise.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
n_values = list(n_values)
cells = planet.standardize(planet.land())
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

# %% figure={"alt": "Two panels of stacked areas against the radius in kilometres. Blur grows with the radius, while scatter and noise shrink. A star marks the least sum. With half the noise, in the right panel, it stands at a smaller radius.", "name": "fig-planet-errors"} jupyter={"source_hidden": true} tags=["hide-input"]
radii = np.geomspace(50, 1000, 40)
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
# **Blur, scatter and noise on land and sea.** The three errors with 10,000 known places, stacked, in units of the variance of the
# map. The upper edge is their sum, and the star marks the least sum. Left: the noise $\sigma$ is half of the map's standard
# deviation. Right: half as much noise.
#
# How is this attention? Places are points on the unit sphere, and $\theta$ is the angle between a known place and the star. A
# [softmax attention unit](#term-unit) gives the place a weight proportional to $e^{w\cos\theta}$. From the star outwards these
# weights decay like a bell. Its standard deviation in each direction is $R_\oplus w^{-1/2}$, where $R_\oplus=6371$ km is the
# radius of the Earth. We call this distance the *radius* of the [window](#term-window).
#
# <details><summary>How the best radius is computed</summary>
#
# Turn the map at random. The turned maps are a class of functions with no preferred direction. For such a class the
# [exact error](exact_risk.ipynb) depends only on the *power* of the map, that is, on how much of the map's variance is coarse
# detail and how much is fine detail.
#
# </details>
#
# ## The experiment
#
# Draw a planet of your own: one round continent in an ocean. What happens if the continent is an island, `size = 5`?

# %% tags=["experiment"]
import numpy as np
import pandas as pd

from icl.risk import optimal_window
from icl.tasks import globe

size = 40  # from the middle of the continent to its coast, in degrees; or 5
latitude, longitude = np.radians(np.mgrid[89.5:-90:-1, -179.5:180:1])
from_middle = np.degrees(np.arccos(np.cos(latitude) * np.cos(longitude)))
land = np.where(from_middle < size, 1.0, 0.0)
area = np.cos(latitude)  # of the cells of the map
land -= np.average(land, weights=area)
land /= np.sqrt(np.average(land**2, weights=area))
planet_of_mine = globe(land, degree=90)
radii = []
for known in (100, 1000, 10_000):
    best = optimal_window(planet_of_mine, known, noise_std=0.5)
    radii.append({"places": known, "best radius (km)": 6371 * best.w**-0.5})
pd.DataFrame(radii).round()

# %% [markdown]
# With 1,000 places or more the island wants a smaller radius than the continent, because on an island the coast is near
# everywhere. With 100 places the island wants a very large radius. Hardly any place lies on the island, so the mean of many
# labels is the better guess.
#
# The next figure shows the real Earth. With few known places land and sea wants a *wider* window than the magnetic field, because
# even the nearest known place says little about the star.

# %% figure={"alt": "Two falling curves on logarithmic axes show the best radius in kilometres against the number of known places. The curve of land and sea falls faster and ends far below the curve of the magnetic field.", "name": "fig-planet-windows"} jupyter={"source_hidden": true} tags=["hide-input"]
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
# **More places, smaller radius.** The best radius against the number of known places, for both maps. The label noise is half of
# each map's standard deviation.
#
# **Move it.** Below, you choose the radius of the solid circle, and the dashed circle has the best radius. The curves show the
# error at each radius, in units of the variance of the map.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
field = planet.magnetic_field()
kilometres = np.round(100 * 2 ** np.arange(0, 7, 0.5))
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
    start=start | {"km": kilometres[6]},
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
# **Does it work on the maps themselves?** The next card compares the computed radius with a trial that uses no formula. The trial
# draws places on the map, predicts the map at other places, and looks for the radius with the least mean squared error.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
fine = {
    "land and sea": cells,
    "magnetic field": planet.standardize(planet.magnetic_field(rows=720)),
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

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
# **And does training find it?** In each context a layer sees the noisy labels of thirty random places on a newly turned map. Adam
# trains its full $3\times3$ matrix $M$, whose mean diagonal is the trained $w$. The column "ratio" divides this $w$ by the exact
# best $w$, in the median over the seeds.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
raster = globe(planet.standardize(planet.magnetic_field()), degree=20)
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
trained.groupby("map")[["trained", "km", "ratio"]].median().round(2)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
# **Exercise 1.** How do you compute the best window for a map of your own?
#
# <details><summary>Solution</summary>
#
# Give `land` in the experiment the array of your map. Its rows go from north to south, and its columns go eastwards from the
# longitude -180 degrees. The degree in `globe` is at most the number of rows.
#
# </details>
#
# **Exercise 2.** On land and sea, at which noise do 10,000 noisy labels lead to a larger error than 1,000 labels without noise?
#
# <details><summary>Solution</summary>
#
# ```python
# task = tasks["land and sea"]
# wanted = optimal_window(task, 1000, 0.0).risk
# for noise in np.arange(0.1, 4.0, 0.1):
#     if optimal_window(task, 10_000, noise).risk > wanted:
#         print(round(noise, 1))
#         break
# ```
# The loop prints a noise of nearly twice the map's standard deviation. Below this noise, the 10,000 noisy labels lead to
# the smaller risk.
#
# </details>
#
# ## What the paper says
#
# Theorem 3 of the first paper asks what happens if a window is learned on one kind of function and used on another. Let us
# predict each map with the best window of the other map. The column "factor" is the error, divided by the least error on the same
# map. For comparison the table also has windows with half and with twice the best $w$.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
# With 10,000 known places each map's window is bad on the other map: it costs more than a $w$ that is wrong by a factor of
# two.[✓](judged:P1.planet.price)
#
# <details><summary>How large a factor says that two windows really differ?</summary>
#
# Let $u$ be the wrong $w$ divided by the best $w$. By [the law of the window](theorem2_scaling.ipynb#thm-law), in long contexts
# in three dimensions and for a class of order $\rho\le4$, the wrong $w$ multiplies the error by
# $\big(u^{-\rho/2}+\frac\rho2u\big)/\big(1+\frac\rho2\big)$. At $u=\frac12$ and $u=2$ this factor is at most $\frac53$. So if the
# error grows by more than $\frac53$, the two $w$ differ by more than a factor of two.
#
# </details>
#
# ## For specialists
#
# ### Could another method do better?
#
# On land and sea another method could hardly do better, because coasts are rough. On the magnetic field it could. Among all
# predictors that are linear in the labels, [kriging](#term-kriging) has the smallest error, and
# [a formula](../book/proofs.md#thm-kriging-bounds) gives a number below which the error of kriging cannot fall. The table divides
# the least error of one head by this bound. For the smooth field it also has several heads, whose blurred pictures are subtracted
# from each other ([Several heads](heads.ipynb)). Here the label noise is as large as the map's standard deviation.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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
beside[["map", "heads", "risk", "factor"]].round(4).style.hide()

# %% [markdown]
# One head on land and sea has at most [1.08](<judged:P1.planet.linear|land and sea, heads: 1|.2f>) times the error of the best
# linear predictor. On the magnetic field one head has at most nearly twice the error of the best linear predictor, and two heads
# have at most [1.17](<judged:P1.planet.linear|magnetic field, heads: 2|.2f>) times it.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
# ### The length of a coast
#
# If many places are known, the best window for land and sea shows roughly how long the coasts are. A map of zeros and
# ones has no Lipschitz constant, because its values jump. This constant is replaced by the [variogram](#term-variogram)
# $\gamma(\theta)$ of the map, which is half the probability that two places at the angular distance $\theta$ differ.
#
# Suppose that the coast is smooth and has the length $\ell$ on the unit sphere, whose area is $A=4\pi$. Two places at a
# small distance $\theta$ differ if the short segment between them crosses the coast. By Buffon's needle problem, a random
# segment does so with probability $2\ell\theta/(\pi A)$. Half of this probability is $\gamma(\theta)=\ell\theta/(\pi A)$.
#
# For a variogram proportional to $\theta$ near zero, [the law of the window](theorem2_scaling.ipynb#thm-law) gives the
# best $w$ in long contexts. We insert this $\gamma(\theta)$, the dimension $d=3$ and label noise of variance $\sigma^2$,
# and solve the law for $\ell$:
#
# $$\ell=\frac{2\sqrt\pi}{\sqrt2-1}\cdot\frac{A\,\sigma^2\,w^{3/2}}n.$$
#
# A real coast is rough, and its length depends on the ruler. The next table therefore has two lengths. One comes from the exact
# best window by the formula above. The other length, $\pi A\gamma(\theta)/\theta$, comes from the variogram at the radius
# $\theta=w^{-1/2}$ of this window. It is about what a surveyor with a ruler of the length $\theta$ would find. Here the label noise
# is as large as the map's standard deviation, because the law needs noise well above the changes of the map inside the window.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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
# Both computed lengths of the coast grow as the window narrows. Richardson and Mandelbrot found the same growth on real
# coasts, measured with ever shorter rulers. The length from the window is the smaller one. Its formula assumes a smooth
# coast and a map that hardly changes inside the window, and the real map meets neither assumption exactly.

# %% [markdown]
# ### One fixed Earth, and how often the answer is right
#
# The exact risk is a mean over rotated maps. Yet it is also the mean squared error on one fixed Earth, if the places are uniform
# and random. For rotating the map has the same effect as rotating all places the other way, and uniform random places stay uniform
# when rotated. For the next table we draw such places and predict their labels with `icl.predict`.
#
# We round each prediction to the nearer of the two labels, land and sea, and count how often the answer is right. The table shows
# the exact risk, the mean squared error on the fixed Earth and the share of right answers. The last two numbers have standard
# errors.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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
# ### Places where people live
#
# If the known places crowd together, as weather stations do, the best window can change. The next table has $n=300$
# known places around thirty random centers, with offsets whose standard deviation is 640 km in each direction. The place
# in question is either uniform or "clustered", that is, around the same centers. As a check, the first row of each map
# has only uniform places, for which the exact window is known.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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
# Suppose first that the known places and the place in question are both clustered. The best radius is then smaller than
# for uniform places, for land and sea by about two fifths, because many known places are near the place in question.
#
# Now suppose that the known places are clustered and the place in question is uniform. The best window is then wider than
# for uniform known places, because most uniform places are far from all centers, and for them an average over many labels
# is the better guess.
#
# For places that are not uniform, the window should be found from [one's own data](your_data.ipynb).
#
# **Sources.** The map of land and sea comes from the package global-land-mask (MIT), which uses NOAA's GLOBE data. The
# magnetic field is the model IGRF-14 for 2020, from the package ppigrf (MIT). The script `book/planet/make.py` makes the
# files of both maps.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
