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
# **Short answer.** You are told of $n$ random places on Earth whether they are land, with some noise, and asked about one
# more place. Attention averages the answers nearby, and the exact risk says how near. From $n=10{,}000$ places with little noise it
# looks {judged}`P1.planet.radius | land and sea, n = 10000 | .0f` km around for land and sea, and
# {judged}`P1.planet.radius | magnetic field, n = 10000 | .0f` km around for the vertical magnetic field, which is smooth.
# Layers that are trained on real places find the computed window {judged}`P1.planet.trained`. Each map's window serves the other
# badly {judged}`P1.planet.price`: this is what paper 1 says of functions with different Lipschitz constants, on one planet.

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
steps = 1000  # Adam steps a layer
batch_size = 256  # fresh contexts a step
learning_rate = 0.2  # Adam's initial step size, falling linearly to zero

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icl.pretrain import train_grid
from icl.risk import optimal_window, population_risk
from icl.tasks import globe
from icl_book import notebook, planet
from icl_book.claims import judge

notebook.setup(globals(), n_values=2)

# %% tags=["hide-input"]
land = planet.land()
shown = globe(land, degree=300)
spread = (sum(shown.power[1:]) + shown.rest) ** 0.5
paris = np.array([48.9, 2.4])  # latitude and longitude of the query, in degrees
generator = np.random.default_rng(1)
latitude = np.degrees(np.arcsin(generator.uniform(-1, 1, 300)))
longitude = generator.uniform(-180, 180, 300)
is_land = land[((90 - latitude) * 2).astype(int), ((longitude + 180) * 2).astype(int)]
figure, ax = plt.subplots(figsize=(7.6, 3.9))
ax.imshow(land, extent=(-180, 180, -90, 90), cmap="Greys", alpha=0.2, aspect="equal")
ax.grid(visible=False)
for value, color, name in ((1, "C2", "land"), (0, "C0", "sea")):
    here = is_land == value
    ax.scatter(longitude[here], latitude[here], s=9, color=color, label=name)
ax.plot(*paris[::-1], "k*", markersize=11, label="the place in question")
turn = np.linspace(0, 2 * np.pi, 200)
for n, line in ((100, ":"), (1000, "--"), (10_000, "-")):
    w = optimal_window(shown, n, noise_std * spread).w
    angle = w**-0.5
    up = np.radians(paris[0])
    north = np.arcsin(
        np.sin(up) * np.cos(angle) + np.cos(up) * np.sin(angle) * np.cos(turn)
    )
    east = np.arctan2(
        np.sin(turn) * np.sin(angle) * np.cos(up),
        np.cos(angle) - np.sin(up) * np.sin(north),
    )
    label = f"n = {n:,}: {planet.RADIUS * angle:,.0f} km"
    ax.plot(
        paris[1] + np.degrees(east),
        np.degrees(north),
        "k",
        ls=line,
        lw=1.1,
        label=label,
    )
ax.set(xlim=(-180, 180), ylim=(-90, 90), xlabel="longitude", ylabel="latitude")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=9, ncols=3)
plt.show()

# %% [markdown]
# ```{caption} fig-planet
# :alt: A map of the world with three hundred random places, colored by land and sea, a star at Paris, and three closed curves
# around it, the smaller the more places are known.
#
# Three hundred random places and one in question. The curves have the radius $R_\oplus w^{-1/2}$ of the best window if 100, 1,000
# or 10,000 places are known: the more places, the smaller the region whose answers are averaged.
# ```
#
# (planet-plain)=
# ## In plain words
#
# Is it land at the place with the star? Somebody tells you of $n$ places, chosen at random all over the Earth, whether they are
# land. A sensible guess is an average over the places nearby. If you look too far, you average over other coasts; if you look
# too near, hardly any place is left, and one wrong answer decides. A {term}`softmax attention unit <unit>` makes exactly such an
# average: places are points on the unit sphere, a place counts in proportion to $e^{w\cos\theta}$, with $\theta$ its angular distance
# from the query, so that the places within about $R_\oplus w^{-1/2}$ count,
# where $R_\oplus=6371$ km is the radius of the Earth. **How many kilometres around should you look?**
#
# The answer depends on the map. Coasts are everywhere, and the answer changes at once across a coast; the magnetic
# field changes slowly over thousands of kilometres. So with many places the window for land and sea should be narrower.
# With few it is wider: the nearest known place is then far beyond the next coast and says little, and the mean of all is a better
# guess.
#
# **Why this book can compute it.** A map that is turned at random is a rotation-invariant class of functions, and of such a
# class the [exact risk](/notebooks/exact_risk.ipynb) needs only the *power*: how much of the variance lies in spherical harmonics of each degree.
# Nobody here made these functions. Turning the map changes nothing: the places are uniform on the sphere, so the mean error on
# one fixed Earth is the same number.
#
# ## Experiment: the best window for two maps, exact and trained

# %%
maps = {"land and sea": planet.land(), "magnetic field": planet.magnetic_field()}
degrees = {"land and sea": 300, "magnetic field": 20}
rows = []
tasks = {}
for name, values in maps.items():
    task = globe(values, degree=degrees[name])
    std = (sum(task.power[1:]) + task.rest) ** 0.5
    tasks[name] = globe(values / std, degree=degrees[name])  # variance one
    for n in n_values:
        best = optimal_window(tasks[name], n, noise_std)
        rows.append(
            {
                "map": name,
                "n": n,
                "w": float(best.w),
                "risk": float(best.risk),
                "km": planet.RADIUS * float(best.w) ** -0.5,
            }
        )
windows = pd.DataFrame(rows)
print(windows.pivot(index="n", columns="map", values="km").round())

# %%
figure, ax = plt.subplots(figsize=(5.6, 3.2))
for name, part in windows.groupby("map", sort=False):
    ax.plot(part.n, part.km, "o-", label=name)
ax.set(xscale="log", yscale="log", xlabel="places that are known, n")
ax.set_ylabel(r"radius of the best window $R_\oplus w^{-1/2}$ (km)")
ax.legend()
plt.show()

# %% [markdown]
# ```{caption} fig-planet-windows
# :alt: Two falling curves on logarithmic axes, the radius in kilometres of the best window against the number of known places;
# the curve of land and sea falls faster and ends far below that of the magnetic field.
#
# Radius of the best window against the number of places, exact, for both maps at noise of a tenth of the map's own spread. With
# few places the rough map has the *wider* window: far from every known place the mean of all is the best guess.
# ```
#
# This takes about five seconds on two cores. At $n=10{,}000$ expect {judged}`P1.planet.radius | land and sea, n = 10000 | .0f` km
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
    folded=True,
)

# %% [markdown]
# **Trained layers.** A layer sees contexts of random places on the map, a new rotation for each context, and learns
# a full $3\times3$ matrix by Adam, from zero. Nothing tells it what a coast is. This takes about
# twenty seconds.

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
    folded=True,
)

# %% [markdown]
# ## What the other map's window costs
#
# Theorem 3 of paper 1 says that pretraining on functions of another Lipschitz constant costs. Here the two tasks live on one
# planet: pretrain on one map, answer questions about the other.

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
    folded=True,
)

# %% [markdown]
# ## Where the Lipschitz picture fails: the length of a coast
#
# A map of zeros and ones has no Lipschitz constant. What takes its place is in the {term}`variogram`: two places at the small angle
# $\theta$ differ if the segment between them crosses a coast, with probability $2\ell\theta/(\pi A)$ if the coast has the length
# $\ell$ and the sphere the area $A=4\pi$ (Buffon's needle). So the variogram is $\gamma(\theta)=\ell\theta/(\pi A)$, a class of order
# one, and {prf:ref}`thm-law` gives the exponent $2/d$, the printed upper end of Theorem 2. But the coast of a real planet
# is rough: its length depends on the ruler. The next cell reads the length off the variogram.

# %%
coast = globe(land, degree=300)
for km in (3000, 1000, 300, 150):
    theta = km / planet.RADIUS
    gamma = float(coast.variogram(theta)) + coast.rest
    length = gamma * np.pi * 4 * np.pi / theta * planet.RADIUS
    print(f"seen at {km:5d} km the coasts are {length:9,.0f} km long")

# %% [markdown]
# The length grows as the window narrows, as Richardson and Mandelbrot found of real coasts, and with it the window narrows faster
# than the law of a smooth coast says. At noise of half the map's spread its exponent in $n$ is

# %%
task = tasks["land and sea"]
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
without = globe(shuffled.reshape(land.shape), degree=300)
print(
    "best w of the shuffled map:",
    float(optimal_window(without, 1000, 0.1).w).__round__(3),
)

# %% [markdown]
# ## What this does not say
#
# - Places are uniform on the sphere. Weather stations are not: they are dense where people live, and a window in kilometres
#   should then depend on the place, which one softmax layer of this form cannot do.
# - Squared error on a label 0 or 1 is not accuracy. The prediction is the estimated probability of land; rounding it is another
#   criterion with, in general, another best window.
# - What is finer than degree 300, about 70 km, counts like noise at every place. Much narrower windows are about the map, not
#   about the planet.
# - One layer with one window. Several layers or heads are a question of [](/notebooks/beyond.ipynb).
#
# **Sources.** Land and sea: the package global-land-mask (MIT), after NOAA's GLOBE; the magnetic field: IGRF-14 for 2020, as the
# package ppigrf (MIT) carries it. `book/planet/make.py` makes both files again.
#
# **Exercise 1.** Which line of the experiment do you change to ask for the horizontal field's strength, or for a map of your own?
#
# :::{admonition} Solution
# :class: dropdown
# The first: put your map in place of one of the two, under the same name. It is an array of rows from north to south and of
# columns from -180 degrees eastwards.
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
#         print(noise); break
# ```
# :::
#
# ## To remember
#
# Any map of the sphere, turned at random, is a class of functions whose best window is exact: with many known places a
# rough map is read from nearby and a smooth one from afar. The narrower the window, the longer the coast that it sees.

# %% tags=["remove-input"]
notebook.footer()
