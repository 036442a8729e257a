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
# **Short answer.** Is it land here? You are told of $n$ random places on Earth whether they are land, with some noise, and
# asked about one more. A layer of softmax attention, the part of a language model that looks things up in its input, answers
# with an average over the places nearby, and this chapter computes how near. From $n=10{,}000$ places with little noise it
# should look {judged}`P1.planet.radius | land and sea, n = 10000 | .0f` km around for land and sea, and
# {judged}`P1.planet.radius | magnetic field, n = 10000 | .0f` km around for the vertical magnetic field, which is smooth.
# Layers trained on the real maps, in contexts of thirty places, find the radius that is computed for this size
# {judged}`P1.planet.trained`. The radius for one map serves the
# other badly {judged}`P1.planet.price`. The first paper says this of functions with different Lipschitz constants, and here it is seen
# on one planet.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
noise_std = 0.1  # label noise in units of the spread of each map, exact curves
n_values = [10, 30, 100, 300, 1000, 3000, 10000]  # context lengths n of the curves
unit_noise_std = 0.5  # label noise of the trained layers, in the same units
context_length = 30  # number n of labeled places in a context of the trained layers
seeds = 10  # trained layers of a map
steps = 500  # Adam steps a layer
batch_size = 256  # fresh contexts a step
learning_rate = 0.2  # Adam's initial step size, falling linearly to zero
contexts = 60  # samples of clustered places

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import icl
from icl.pretrain import train_grid
from icl.risk import optimal_window, population_risk
from icl.tasks import globe
from icl_book import notebook, planet
from icl_book.claims import judge
from icl_book.measurements.planet import windows_of_places

notebook.setup(globals(), n_values=2)

# %% tags=["hide-input"]
land = planet.land()
places = planet.random_places(np.random.default_rng(1), 300)
latitude = np.degrees(np.arcsin(places[:, 2]))
longitude = np.degrees(np.arctan2(places[:, 1], places[:, 0]))
is_land = planet.value_at(land, places)
paris = np.array([48.9, 2.4])  # latitude and longitude of the query, in degrees
shown = globe(planet.standardized(land), degree=300)
figure, (world, near) = plt.subplots(1, 2, figsize=(6.9, 2.9), width_ratios=(2, 1))
for ax, size in ((world, 6), (near, 22)):
    ax.imshow(land, extent=(-180, 180, -90, 90), cmap="Greys", alpha=0.2)
    ax.grid(visible=False)
    for value, color, name in ((1, "C2", "land"), (0, "C0", "sea")):
        here = is_land == value
        ax.scatter(longitude[here], latitude[here], s=size, color=color, label=name)
    ax.plot(*paris[::-1], "k*", markersize=7, label="the place in question")
turn = np.linspace(0, 2 * np.pi, 200)
for n, below in ((100, False), (1000, False), (10_000, True)):
    angle = optimal_window(shown, n, noise_std).w ** -0.5
    up = np.radians(paris[0])
    north = np.arcsin(
        np.sin(up) * np.cos(angle) + np.cos(up) * np.sin(angle) * np.cos(turn)
    )
    east = np.arctan2(
        np.sin(turn) * np.sin(angle) * np.cos(up),
        np.cos(angle) - np.sin(up) * np.sin(north),
    )
    for ax in (world, near):
        ax.plot(paris[1] + np.degrees(east), np.degrees(north), "k", lw=1)
    near.annotate(
        f"n = {n:,}: {planet.RADIUS * angle:,.0f} km",
        (paris[1], np.degrees(north.min() if below else north.max())),
        xytext=(0, -10 if below else 3),
        textcoords="offset points",
        ha="center",
        bbox={"color": "white", "alpha": 0.7, "pad": 0.5},
        fontsize=9.5,
    )
world.set(xlim=(-180, 180), ylim=(-90, 90), aspect="equal")
world.set(xticks=range(-180, 181, 90), yticks=range(-90, 91, 45))
near.set(xlim=(-19, 24), ylim=(35, 65), aspect=1 / np.cos(up))
near.set(xticks=[-15, 0, 15], yticks=[40, 50, 60])
for ax in (world, near):
    ax.set_xlabel("longitude")
world.set_ylabel("latitude")
figure.legend(*world.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()

# %% [markdown]
# ```{caption} fig-planet
# :alt: A map of the world with three hundred random places, colored by land and sea, and a star at Paris; beside it Europe, with
# three circles around the star, the smaller the more places are known.
#
# Three hundred random places and one in question, on the whole map and near it. The circles have the radius
# $R_\oplus w^{-1/2}$ of the best window if 100, 1,000 or 10,000 places are known: the more places, the smaller the region whose
# answers are averaged.
# ```
#
# (planet-plain)=
# ## In plain words
#
# Is it land at the place with the star? Somebody chooses $n$ places at random all over the Earth and tells you of each whether
# it is land. A sensible guess is an average over the places nearby. If you look too far, you average over other coasts; if you
# look too near, hardly any place is left, and one wrong answer decides. **How many kilometres around should you look?**
#
# A {term}`softmax attention unit <unit>` makes exactly such an average. Places are points on the unit sphere, and a place counts
# in proportion to $e^{w\cos\theta}$, where $\theta$ is its angular distance from the place in question. So the places within about
# $R_\oplus w^{-1/2}$ count, where $R_\oplus=6371$ km is the radius of the Earth, and training sets the one number $w$.
#
# The answer depends on the map. Coasts are everywhere, and the answer changes at once across a coast; the magnetic field
# changes slowly over thousands of kilometres. So with many places the window for land and sea should be narrower. With few
# places it is wider, because the nearest known place is then far beyond the next coast and says little, and the mean of all is
# a better guess.
#
# **Why this book can compute it.** A map that is turned at random is a rotation-invariant class of functions, and of such a
# class the [exact risk](/notebooks/exact_risk.ipynb) needs only the *power*, which is the part of the variance that lies in
# spherical harmonics of each degree. These functions are not of our making.
#
# ## Experiment: the best window for two maps, exact and trained

# %%
maps = {"land and sea": planet.land(), "magnetic field": planet.magnetic_field()}
degrees = {"land and sea": 300, "magnetic field": 20}
n = np.array(n_values)
tables = []
tasks = {}
for name, values in maps.items():
    tasks[name] = globe(planet.standardized(values), degree=degrees[name])
    best = optimal_window(tasks[name], n, noise_std)
    table = pd.DataFrame({"n": n, "w": best.w, "km": planet.RADIUS * best.w**-0.5})
    tables.append(table.assign(map=name))
windows = pd.concat(tables, ignore_index=True)
print(windows.pivot(index="n", columns="map", values="km").round())

# %%
figure, ax = plt.subplots(figsize=(6.0, 3.2))
for name, part in windows.groupby("map", sort=False):
    ax.plot(part.n, part.km, "o-", label=name)
ax.set(xscale="log", yscale="log", xlabel="places that are known, n")
ax.set_yticks([100, 300, 1000, 3000], ["100", "300", "1,000", "3,000"])
ax.minorticks_off()
ax.set_ylabel(r"best radius $R_\oplus w^{-1/2}$ (km)")
ax.legend()
plt.show()

# %% [markdown]
# ```{caption} fig-planet-windows
# :alt: Two falling curves on logarithmic axes, the radius in kilometres of the best window against the number of known places;
# the curve of land and sea falls faster and ends far below that of the magnetic field.
#
# Exact radius of the best window against the number of places, for both maps, with noise of a tenth of the map's own spread.
# With few places the rough map has the *wider* window, because far from every known place the mean of all is the best guess.
# ```
#
# This takes a few seconds. At $n=10{,}000$ expect {judged}`P1.planet.radius | land and sea, n = 10000 | .0f` km
# for land and sea and {judged}`P1.planet.radius | magnetic field, n = 10000 | .0f` km for the magnetic field.

# %% tags=["remove-input"]
judge(
    "P1.planet.radius",
    windows.loc[windows.n == max(n_values), ["map", "n", "km"]].assign(
        error=lambda table: [
            km * float(optimal_window(tasks[name], n, noise_std).error)
            for name, n, km in zip(table["map"], table.n, table.km, strict=True)
        ]
    ),
    value="km",
    error="error",
    name="{map}, n = {n}",
)

# %% [markdown]
# **Trained layers.** A layer sees contexts of random places on the map, a new rotation for each context, and learns
# a full $3\times3$ matrix by Adam, from zero. Nothing tells it what a coast is. This takes about ten seconds.

# %%
rows = []
for name, task in tasks.items():
    layers = train_grid(
        task,
        unit_noise_std,
        context_length,
        seeds=seeds,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        shared_tokens=True,
    )
    exact = optimal_window(task, context_length, unit_noise_std).w
    for seed, w in enumerate(layers.windows[0]):
        rows.append({"map": name, "seed": seed, "trained": w, "ratio": w / exact})
trained = pd.DataFrame(rows)
print(trained.groupby("map")[["trained", "ratio"]].median().round(2))

# %% tags=["remove-input"]
judge(
    "P1.planet.trained",
    trained[["map", "seed", "ratio"]],
    value="ratio",
    samples="seed",
    name="{map}",
)

# %% [markdown]
# ## What the other map's window costs
#
# Theorem 3 of paper 1 says that pretraining on functions of a different Lipschitz constant costs. Here the two tasks live on
# one planet, and we pretrain on one map and ask about the other.

# %%
n = max(n_values)
rows = []
for name, task in tasks.items():
    (other,) = tasks.keys() - {name}
    own = optimal_window(task, n, noise_std)
    foreign = optimal_window(tasks[other], n, noise_std).w
    risk = population_risk(task, foreign, n, noise_std)
    rows.append(
        {
            "asked about": name,
            "window of": other,
            "n": n,
            "factor": float(risk.total / own.risk),
            "error": float(risk.total / own.risk * risk.error),
        }
    )
price = pd.DataFrame(rows)
price.round(2)

# %% tags=["remove-input"]
judge(
    "P1.planet.price",
    price.rename(columns={"asked about": "map"})[["map", "n", "factor", "error"]],
    value="factor",
    error="error",
    name="{map}, n = {n}",
)

# %% [markdown]
# ## Where the Lipschitz picture fails: the length of a coast
#
# A map of zeros and ones has no Lipschitz constant. What takes its place is in the {term}`variogram`: two places at the small angle
# $\theta$ differ if the segment between them crosses a coast, with probability $2\ell\theta/(\pi A)$ if the coast has the length
# $\ell$ and the sphere the area $A=4\pi$ (Buffon's needle). So the variogram is $\gamma(\theta)=\ell\theta/(\pi A)$, a class of order
# one, and {prf:ref}`the law of the window <thm-law>` gives the exponent $2/d$, the printed upper end of Theorem 2. For $d=3$ the risk is
# $\beta w^{-1/2}+\sigma^2w/n$ to leading order, with $\beta=\frac{\sqrt2-1}{\sqrt\pi}\frac{\ell}{A}$, so that the best window reveals the length
# of the coasts: $\ell=\frac{2\sqrt\pi}{\sqrt2-1}A\sigma^2w^{3/2}/n$.
#
# But the coast of a real planet is rough, and its length depends on the ruler. The next cell reads the length twice: from
# the exact best window by this formula, and from the variogram at the radius of that window, as a surveyor with a ruler of
# this length would. We give the labels noise with the map's own standard deviation, because the law needs noise that is larger
# than the changes of the map inside a window.

# %%
task = tasks["land and sea"]
heights = np.unique(planet.standardized(land))  # the two values of the standardized map
per_unit = 4 * np.pi * planet.RADIUS / (heights[1] - heights[0]) ** 2
rows = []
for n in [1000, 10_000, 100_000]:
    w = optimal_window(task, n, noise_std=1.0).w
    theta = w**-0.5
    gamma = task.variogram(theta) + task.rest
    rows.append(
        {
            "n": n,
            "radius (km)": planet.RADIUS * theta,
            "coast by the window (km)": 2
            * np.sqrt(np.pi)
            / (np.sqrt(2) - 1)
            * w**1.5
            / n
            * per_unit,
            "coast by the ruler (km)": np.pi * gamma / theta * per_unit,
        }
    )
coasts = pd.DataFrame(rows).astype(float)
coasts.round(-2)

# %% [markdown]
# Both lengths grow as the window narrows, as Richardson and Mandelbrot found of real coasts. They are of one order, but the
# window sees less coast than the ruler. One reason is the roughness: the window is set by how fast the bias falls, and if
# $\gamma$ grows like $\theta^\rho$ with $\rho<1$, it falls at $\rho$ times the rate of a smooth coast with the same $\gamma$.
# The other is the map's own variance in the window, which acts as more noise and fades as the window narrows, so that the ratio
# comes closer to $\rho$.
#
# As the coast grows, the window narrows faster than the law of a smooth coast says. At noise of half the map's spread its
# exponent in $n$ is

# %%
lengths = np.array([10_000, 100_000])
w = optimal_window(task, lengths, unit_noise_std).w
exponent = np.log(w[1] / w[0]) / np.log(lengths[1] / lengths[0])
print(f"{exponent:.2f}; a smooth coast would have 2/3, and ReLU functions 2/5")

# %% [markdown]
# ## A control: the same planet without neighborhood
#
# If the cells of the map are shuffled, the values stay and the neighborhood goes. Then there is nothing to look for nearby, and the
# best window is the whole Earth.

# %%
shuffled = land.ravel().copy()
np.random.default_rng(7).shuffle(shuffled)
without = globe(planet.standardized(shuffled.reshape(land.shape)), degree=60)
nothing = float(optimal_window(without, 1000, noise_std).w)
print(f"best w of the shuffled map: {nothing:.3f}")

# %% [markdown]
# ## One fixed Earth, and how often the answer is right
#
# The exact risk is a mean over turned maps, but there is one Earth. For uniform places this makes no difference, because
# turning the map is the same as turning all places the other way, and uniform places that are turned are uniform again. So the
# mean error over random places on the fixed Earth is the exact risk. The next cell draws such places and predicts with
# `icl.predict`.
#
# Rounding the prediction gives an answer, land or sea. The cell counts how often it is right, at the window that is best for the
# squared error. The table has both risks, the share of right answers, and standard errors.

# %%
earth = planet.standardized(land)
middle = np.unique(earth).mean()
generator = np.random.default_rng(2)
rows = []
for n, samples in ((100, 2000), (10_000, 100)):
    best = optimal_window(tasks["land and sea"], n, noise_std)
    losses, right = [], []
    for _ in range(samples):
        places = planet.random_places(generator, n + 20)
        values = planet.value_at(earth, places)
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
fixed.round(4)

# %% [markdown]
# Somebody who always says *sea* is right about seven times in ten, since that is the part of the Earth that is water.
#
# ## Places where people live
#
# Weather stations are not spread uniformly; they crowd together. The next cell draws $n=300$ places around thirty random
# centers, with a spread of 640 km, in new positions for each sample, and finds the window of the least mean risk. Given the
# places, the mean over turned maps is a closed form, so that only places are sampled. There are two questions: about a place
# that is drawn as the known ones are, and about a place anywhere. The first row of each map is a check, because for uniform
# places the exact window is known.

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
clustered = pd.concat(tables)
columns = ["map", "known", "asked", "km", "km error", "exact km", "factor"]
clustered[columns].round(2)

# %% [markdown]
# Errors are standard errors, by the jackknife, and with so few samples rough themselves. If the question comes from the same crowd, the window is about half as wide as
# for uniform places, because the density around it is higher. `factor` is the factor by which the risk grows if the window of
# uniform places is kept. If the question is about a place anywhere, the window for land and sea is wider, because most places
# are far from all centers, and the mean of many is the best guess there. For the magnetic field it is narrower. So the exact
# windows of this chapter hold for uniform places; for other places the window should be found from [one's own
# data](/notebooks/your_data.ipynb).
#
# ## What this does not say
#
# - A window in kilometres should depend on the place where known places crowd. One softmax layer of this form has one window.
# - Squared error on a label 0 or 1 is not accuracy. The prediction is the estimated probability of land; rounding it is a
#   different criterion, which in general has a different best window.
# - Detail finer than degree 300, about 70 km, counts like noise at every place. A much narrower window says something about the
#   map and not about the planet.
# - There is one layer here, with one window. Several layers or heads are the subject of [](/notebooks/beyond.ipynb).
#
# **Sources.** Land and sea: the package global-land-mask (MIT), after NOAA's GLOBE; the magnetic field: IGRF-14 for 2020, as the
# package ppigrf (MIT) carries it. `book/planet/make.py` makes both files again.
#
# **Exercise 1.** Which line of the experiment do you change to ask for the horizontal field's strength, or for a map of your own?
#
# :::{admonition} Solution
# :class: dropdown
# You change the first line. Put your map in place of one of the two, under the same name. It is an array of rows from north to
# south and of columns from -180 degrees eastwards.
# :::
#
# **Exercise 2.** Write five lines that find the noise at which 10,000 places are worth no more than 1,000 exact ones.
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# task = tasks["land and sea"]
# wanted = optimal_window(task, 1000, 0.0).risk
# for noise in np.arange(0.1, 4.0, 0.1):
#     if optimal_window(task, 10_000, noise).risk > wanted:
#         print(noise)
#         break
# ```
# :::
#
# ## To remember
#
# Any map of the sphere, turned at random, is a class of functions whose best window can be computed. With many known places a
# rough map is read from nearby and a smooth one from farther away. The narrower the window, the longer the coast that it sees.

# %% tags=["remove-input"]
notebook.footer()
