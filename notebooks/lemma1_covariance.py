# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 1: attention undoes the covariance
#
# *Suppose the inputs vary much more in some directions than in others. Which matrix should an attention layer learn
# then?*
#
# **Short answer.** Let the tokens be $x=\Sigma^{1/2}u$ with $u$ uniform on the unit sphere, so that they lie on an
# ellipsoid. Suppose that the random functions are rotation invariant *as functions of the whitened token* $u$, and that
# two values of one function are more correlated at closer $u$. Then for two or more examples the best matrix is
# $M=w^*\Sigma^{-1}$, where $w^*$ is the best $w$ on the sphere. The slide with this lemma does not name its conditions,
# so that its statement [depends on the reading](judged:P1.L1.form). Trained
# layers end near $w^*\Sigma^{-1}$ ([established](judged:P1.L1.trained)). If the functions are instead rotation invariant
# as functions of $x$ itself, the layers that we trained end at another matrix, whose window is narrower along the long
# axes than $\Sigma^{-1}$ makes it.

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dim = 3  # dimension d of the covariates
draws = 3  # random covariances Sigma
context_length = 20  # tokens n in a context
noise_std = 0.3  # standard deviation sigma of the label noise
lipschitz = 2.0  # Lipschitz constant L of the functions of whitened tokens
seeds = 16  # units of each setting
steps = 600  # Adam steps
batch_size = 128  # fresh contexts a step
learning_rate = 0.15  # Adam's initial step size for round tokens, falling to zero

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from icl.attention import softmax_attention, softmax_weights
from icl.covariates import Ellipsoid
from icl.pretrain import train_grid
from icl.risk import matrix_risk, optimal_window
from icl.streams import stream
from icl.tasks import Affine, Cosine, Projected, Quadratic, ReLU
from icl_book import notebook
from icl_book.claims import exact_cases, judge, sampled_cases
from icl_book.figures import plots
from icl_book.measurements import lemma1_covariance as lemma1
from icl_book.measurements import losses_of_matrices, medians

notebook.setup(globals())
device = notebook.device()

# %% figure={"alt": "Tokens on a circle and twice on an ellipse, with discs for the attention weights. On the circle, and on the ellipse with the lemma's matrix, the weight lies on the same tokens on both sides of the query. With a multiple of the identity the weight goes to tokens between the query and the end of the long axis.", "name": "fig-ellipse"} jupyter={"source_hidden": true} tags=["hide-input"]
theta = np.deg2rad(np.arange(-180, 180, 15))
circle, ellipse = np.array([1.0, 1.0]), np.array([2.0, 1.0])
settings = {
    "circle, $M=w\\,I$": (circle, circle),
    "ellipse, $M=w\\,\\Sigma^{-1}$": (ellipse, ellipse**-2),
    "ellipse, $M=\\frac{w}{2}\\,I$": (ellipse, circle / 2),
}
figure, axes = plt.subplots(1, 3, figsize=(7.6, 2.1))
for ax, (title, (stretching, entry)) in zip(axes, settings.items(), strict=True):
    x = torch.tensor(np.stack([np.cos(theta), np.sin(theta)], axis=-1) * stretching)
    weights = softmax_weights(x, x[16], torch.tensor(10.0 * np.diag(entry)))
    ax.scatter(*x.T, 1500 * weights, alpha=0.4, linewidths=0)
    ax.plot(*x.T, ".", color=plots.COLORS["exact"], markersize=3)
    ax.plot(*x[16], "o", color=plots.COLORS["sampled"], markersize=5)
    ax.set(title=title, aspect="equal")
    ax.margins(0.12, 0.25)
    ax.axis("off")
plt.show()

# %% [markdown]
# **Circle and ellipse: weights.** Attention weights (areas of the discs) for a query at $60°$ (the filled point), with
# $w=10$. On the ellipse the matrix $w\,\Sigma^{-1}$ gives each token the weight that it has on the circle, whereas the
# matrix $\frac w2I$, which has the same determinant, moves weight towards the end of the long axis.
#
# ## In plain words
#
# On a stretched cloud of tokens an attention layer should measure distances in units of the cloud's own axes. It compares
# a token $x$ with the query $x_q$ by the score $x^\top Mx_q$. If $M$ is a multiple of the identity, this score is large
# for long tokens, even if they are not close to the query. Let $\Sigma$ be the covariance of the cloud, up to a factor.
# The length $\sqrt{x^\top\Sigma^{-1}x}$ is measured in units of the cloud's axes, so that all tokens of an ellipsoid are
# equally long.
#
# The matrix $\Sigma^{-1}$ is right if, in these units, the functions change equally fast in all directions. If they do so
# in the *original* units instead, a function changes more from end to end of a long axis than from end to end of a short
# axis. The [window](#term-window) should then be narrower along a long axis than $\Sigma^{-1}$ makes it. (A larger entry
# of $M$ means a narrower window.)
#
# ## Experiment 1: trained units on ellipsoids
#
# We draw random ellipsoids and train [units](#term-unit) on them from $M=0$. The class `Projected` consists of the
# functions $f(x)=g(\Sigma^{-1/2}x)$ with a rotation-invariant random $g$, which change equally fast in all directions of
# the whitened token $u=\Sigma^{-1/2}x$.
#
# For each axis of $\Sigma$, with the unit vector $a$, we multiply the entry $a^\top Ma$ of the trained $M$ by the axis's
# eigenvalue of $\Sigma$. All axes give the same product if $M$ is a multiple of $\Sigma^{-1}$. The next cell subtracts
# the product of the shortest axis from that of the longest, and divides by the mean product. If this *difference* is
# positive, the window is narrower along the long axes than the lemma says.
#
# To try $d=7$, replace the first line of the next cell by `d = 7`. The printed medians of the difference should again
# be near zero. At $d=3$ the median for affine functions on the first ellipsoid is
# [0.00](<judged:P1.L1.trained|affine, $\Sigma_1$|.2f>).

# %%
d = dim  # or 7, for example
on_sphere = {"affine": Affine(d, lipschitz), "ReLU": ReLU(d, lipschitz)}


def trained_entries(tasks, axes, lengths):
    units = train_grid(
        list(tasks.values()),
        noise_std,
        context_length,
        seeds=seeds,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate / lengths.min() ** 2,
        device=device,
        covariates=Ellipsoid(axes @ np.diag(lengths) @ axes.T),
    )
    # a' M a for each class, seed and axis a of the ellipsoid
    entries = np.diagonal(axes.T @ units.M @ axes, axis1=-2, axis2=-1)
    index = pd.MultiIndex.from_product(
        [tasks, range(seeds), lengths**2], names=["task", "seed", "eigenvalue"]
    )
    return pd.Series(entries.ravel(), index, name="entry").reset_index()


best = {
    name: float(optimal_window(task, context_length, noise_std).w)
    for name, task in on_sphere.items()
}
tables = []
for covariance in range(1, draws + 1):
    rng = stream(covariance, "initialization")
    axes = np.linalg.qr(rng.standard_normal((d, d))).Q
    lengths = 2.0 ** rng.uniform(-1, 1, d)
    root = axes @ np.diag(lengths) @ axes.T  # the root of Sigma
    whitened = {
        name: Projected(task, np.linalg.inv(root)) for name, task in on_sphere.items()
    }
    table = trained_entries(whitened, axes, lengths)
    table["lemma"] = table.task.map(best) / table.eigenvalue
    tables.append(table.assign(covariance=covariance))
entries = pd.concat(tables, ignore_index=True)
differences = lemma1.whitened_differences(entries)
shown = medians(differences, "difference", by=["task", "covariance"])
shown.style.format(precision=3).hide()

# %% figure={"alt": "Entries of trained matrices against the entries that the lemma claims, for affine and ReLU functions and several covariances. All points lie on the diagonal.", "name": "fig-covariance"}
middle = medians(entries, "entry", by=["task", "covariance", "lemma"])
labels = (r"entry of $w^*\Sigma^{-1}$", "entry of the trained M")
panels = plots.panels(middle, "task", labels, height=2.9)
plots.points(
    panels, middle, "lemma", "median", "covariance", col="task", label=r"$\Sigma_{}$"
)
ends = np.array([middle.lemma.min(), middle.lemma.max()])
for ax in panels.values():
    plots.exact_curve(ax, ends, ends, "the lemma")
    ax.legend()
plt.show()

# %% [markdown]
# **Training undoes the covariance.** Entries of the trained $M$ along the axes of $\Sigma$, against the entries of
# $w^*\Sigma^{-1}$ with the exact $w^*$ of the sphere. Points are medians over the seeds, bars are confidence intervals of
# these medians, and nothing is fitted. The points should lie on the line.
#
# The cells take about five seconds on two cores. The card below allows differences from $-0.1$ to $0.1$. Its control
# consists of the units of the next cell, which are trained on the functions of Experiment 2, and whose difference must be
# positive.
#
# **Exercise 1.** In the cell of Experiment 1 replace `Projected(task, np.linalg.inv(root))` by `task`. Do the points of
# the figure stay on the line?
#
# <details><summary>Solution</summary>
#
# No. The functions now change equally fast in all directions of $x$. As functions of $u$ they change faster along the
# long axes, so the window narrows there, and the trained entry divided by the lemma's entry is largest on the longest
# axis.
#
# </details>

# %%
stretch = np.diag(2.0 ** np.linspace(1, -1, d))  # a root of Sigma
original = lipschitz / np.sqrt((np.diag(stretch) ** 2).mean())  # the same variance
in_space = {"affine": Affine(d, original), "ReLU": ReLU(d, original)}
other_symmetry = trained_entries(in_space, np.eye(d), np.diag(stretch))

# %% jupyter={"source_hidden": true} tags=["remove-input"]
broken = sampled_cases(
    lemma1.whitened_differences(other_symmetry),
    "difference",
    samples="seed",
    name="{task}",
)
unbroken = sampled_cases(
    differences, "difference", samples="seed", name="{task}, $\\Sigma_{covariance}$"
)
judge("P1.L1.trained", unbroken, broken)

# %% [markdown]
# ## As printed, and what is true
#
# The lemma is true for many classes if its symmetry conditions are about the whitened tokens, but trained units
# contradict it if these conditions are about the tokens themselves.
#
# <a id="thm-lemma-one"></a>
#
# > **Lemma 1** (ITA slides, as printed). Under natural symmetry conditions, $x_i\sim\Sigma^{1/2}U^d\ \forall i$ implies
# > $M^*=w_{KQ}\Sigma^{-1}$ for any $M^*\in\arg\min\mathcal L$, for some $w_{KQ}\ge0$.
#
# Here $U^d$ is the uniform law on the unit sphere. The slides do not say which symmetry is meant, while a machine-written
# summary of the paper speaks of rotation-invariant function distributions. After the lemma the slides take $\Sigma=I$
# without loss of generality.
#
# > **What is true.**
# >
# > - Let $g(u)=f(\Sigma^{1/2}u)$ be the function *of the whitened token*. Suppose that the law of $g$ is rotation
# >   invariant, and that two values of one function $g$ are more correlated at closer points, as in the
# >   [theorem on form](certificates.ipynb#thm-form). Let $n\ge2$. Then every minimizer is $w\Sigma^{-1}$, where $wI$ is a
# >   minimizer on the sphere. This is how we read the lemma.
# > - Suppose that the law of $f$ itself is rotation invariant. Then the units that we trained end at another matrix,
# >   whose window is narrower along the long axes than $w\Sigma^{-1}$ makes it.
# > - In the first case some minimizer has $w\ge0$. For even functions the sign of $w$ is not determined, because $-M$ has
# >   the same risk as $M$.
#
# ## By hand: an ellipse
#
# On an ellipse the matrix $w\Sigma^{-1}$ gives the same scores as $wI$ on the circle. Let
# $\Sigma^{1/2}=\mathrm{diag}(2,1)$, so that a token is $x=(2\cos\theta,\sin\theta)$. With
# $M=w\Sigma^{-1}=w\,\mathrm{diag}(\frac14,1)$ the score is
#
# $$x^\top Mx_q=w\,(\cos\theta\cos\theta_q+\sin\theta\sin\theta_q)=w\cos(\theta-\theta_q).$$
#
# As on the circle, the score depends on $\theta-\theta_q$ alone. For any ellipsoid put $x=\Sigma^{1/2}u$. Then
#
# <a id="eq-whitened"></a>
#
# $$x^\top Mx_q=u^\top\big(\Sigma^{1/2}M\Sigma^{1/2}\big)u_q. $$
#
# So the [unit](#term-unit) $M$ on the ellipsoid makes the predictions of the unit $N=\Sigma^{1/2}M\Sigma^{1/2}$ on the
# sphere. If the best $N$ is $w^*I$, the best $M$ is $w^*\Sigma^{-1}$, and the lemma thus follows from its case
# $\Sigma=I$.
#
# The next cell computes one prediction on the circle and one on the ellipse, with the same labels:

# %%
angle = torch.tensor([0.0, 60.0, 180.0], dtype=torch.float64).deg2rad()
u = torch.stack([angle.cos(), angle.sin()], dim=-1)
y = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
lengths = torch.tensor([2.0, 1.0], dtype=torch.float64)  # of the ellipse's axes
M = np.log(4) * torch.diag(lengths**-2)
on_circle = softmax_attention(u, y, u[0], np.log(4) * torch.eye(2).double())
on_ellipse = softmax_attention(u * lengths, y, u[0] * lengths, M)
print(f"prediction on the circle {on_circle:.6f}   on the ellipse {on_ellipse:.6f}")

# %% jupyter={"source_hidden": true} tags=["remove-input"]
gaps = pd.DataFrame(
    {
        "length": length,
        "whitened": lemma1.prediction_gap(
            np.diag(np.linspace(1, length, dim)),
            context_length=context_length,
            whiten=True,
        ),
        "unwhitened": lemma1.prediction_gap(
            np.diag(np.linspace(1, length, dim)),
            context_length=context_length,
            whiten=False,
        ),
    }
    for length in (0.5, 1.5, 2.0)
)
axes_from_to = "axes from 1 to {length:g}"
judge(
    "P1.L1.wlog",
    exact_cases(gaps, "whitened", labels=["length"], name=axes_from_to),
    exact_cases(gaps, "unwhitened", labels=["length"], name=axes_from_to),
)

# %% [markdown]
# The predictions on the circle and on the ellipse agree. In the control of the card P1.L1.wlog the tokens are whitened
# but $M$ is not changed, and the predictions differ.
#
# **Exercise 2.** Let $\Sigma$ be singular, with one axis of length zero. Which part of $M$ is not determined?
#
# <details><summary>Solution</summary>
#
# Write $M$ in coordinates along the axes of $\Sigma$. Every entry in the row or the column of the missing axis is free,
# because tokens have no component along this axis, so that these entries enter no score.
#
# </details>
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | here |
# |---|---|
# | tokens $\Sigma^{1/2}u$, $u\sim U(S^{d-1})$ | as assumed: random axes, lengths between $\frac12$ and $2$ |
# | law of $f\circ\Sigma^{1/2}$ rotation invariant | true in Experiment 1, false in Experiment 2 |
# | minimizer of the population loss | proved among all matrices for $n\ge2$ and the classes of the theorem on form; trained units are compared with it |
# | some $w\ge0$ | tested by the exact risk, for even classes and others |
#
# Units are trained from $M=0$ by Adam with Gaussian label noise. The step size is proportional to $\|\Sigma^{-1}\|$,
# because the entries of $M$ have to grow in this proportion: with one step size for all, units on the flattest ellipsoids
# did not converge. With ten seeds the card P1.L1.trained was undecided, so we use more.
#
# </details>

# %% [markdown]
# ## Experiment 2: isotropic in the other coordinates
#
# We train on affine and on ReLU functions of $x=\Sigma^{1/2}u$ itself. As a function of $u$, the affine function
# $\ell\,q\cdot x+b=\ell\,(\Sigma^{1/2}q)\cdot u+b$ varies more along the long axes. Let $\lambda_i$ be the eigenvalue of
# $\Sigma$ for axis $i$, and $L$ the Lipschitz constant of the class in $x$. Since the Lipschitz constant in $u$ along
# axis $i$ is $L\sqrt{\lambda_i}$, long axes need a narrower window than the lemma gives them. The lemma's entry
# $w/\lambda_i$ falls as $\lambda_i$ grows. Since a larger entry of $M$ means a narrower window, the entry $M_{ii}$ should
# fall more slowly.

# %% figure={"alt": "Log-log plot of the diagonal entries of trained matrices against the eigenvalues of Sigma. The points fall with the eigenvalue, but less steeply than the line of slope minus one.", "name": "fig-counterexample"} jupyter={"source_hidden": true} tags=["hide-input"]
along = medians(other_symmetry, "entry", by=["task", "eigenvalue"])
figure, ax = plt.subplots(figsize=(7.6, 3.4))
plots.points(ax, along, "eigenvalue", "median", "task", label="{}, trained")
x = np.sort(along.eigenvalue.unique())
scale = np.exp(np.log(along["median"] * along.eigenvalue).mean())
plots.exact_curve(ax, x, scale / x, r"a multiple of $\Sigma^{-1}$")
ax.set(xscale="log", yscale="log", xlabel=r"eigenvalue of $\Sigma$")
ax.set_xticks(x, [f"{value:g}" for value in x], minor=False)
ax.set_xticks([], minor=True)
ax.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
ax.set_yticks([], minor=True)
ax.set_ylabel("diagonal entry of M")
ax.legend()
plt.show()

# %% [markdown]
# **Functions invariant in x.** Diagonal entries of the trained $M$ against the eigenvalues of $\Sigma$, for functions
# that are rotation invariant in $x$. Points are medians over the seeds, and bars are confidence intervals of these
# medians. The points fall less steeply than the line, whose slope $-1$ is that of Lemma 1.
#
# **Exercise 3.** Tokens have the covariance $\Sigma$, and you can draw functions from a class. Find out, without
# training, whether the class is rotation invariant in $u$ or in $x$. Try both classes of ReLU functions of this page.
# (Compare $\mathbb E(f(x)-f(-x))^2$ at the end points $x$ of the axes of the cloud.)
#
# <details><summary>Solution</summary>
#
# ```python
# ends = torch.from_numpy(np.concatenate([stretch, -stretch]))  # of all axes
# whitened = Projected(ReLU(d, lipschitz), np.linalg.inv(stretch))
# for task in (whitened, ReLU(d, original)):
#     f = task.sample(stream(0, "tasks"), 10_000)(ends.expand(10_000, -1, -1))
#     print(((f[:, :d] - f[:, d:]) ** 2).mean(dim=0))
# ```
# For the functions of Experiment 1, $\mathbb E(f(x)-f(-x))^2$ is the same on all axes, whereas for those of Experiment 2
# it is proportional to the eigenvalue of the axis.
#
# </details>
#
# **Exercise 4.** In the cell that defines `stretch`, write `stretch = np.diag([4.0, 1.0, 0.25])` (with `d = 3`). Do
# the points of the figure [Functions invariant in x](#fig-counterexample) still fall with the same slope?
#
# <details><summary>Solution</summary>
#
# Not exactly. The window adapts to the Lipschitz constant along each axis, but how strongly it adapts depends on the
# number of tokens in the window. The points therefore do not lie on one power law.
#
# </details>
#
# ## The lemma, proved
#
# Suppose that the class is rotation invariant in the whitened token $u$, and that two values of one function are more
# correlated at closer $u$. Let $n\ge2$. Then no matrix has a smaller risk than the best multiple of $\Sigma^{-1}$, for
# any noise. This is proved for $\Sigma=I$ in [Proofs and certificates](certificates.ipynb), and by
# [the change of variables](#eq-whitened) it then holds on every ellipsoid. The card compares the best multiple with four
# other matrices, and in its second reading the functions are rotation invariant in $x$.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
others = [
    losses_of_matrices(task, n=context_length, noise_std=noise_std).assign(task=name)
    for name, task in on_sphere.items()
]
judge(
    "P1.L1.form",
    exact_cases(
        pd.concat(others)[["task", "matrix", "value", "error"]],
        error="error",
        name=f"{{task}}, d = {d}, n = {context_length}: {{matrix}}",
    ),
    readings={"original": broken},
    could={"original": unbroken},
)

# %% [markdown]
# ## The sign of w
#
# For even functions, $f(-x)=f(x)$, the matrices $w^*I$ and $-w^*I$ have the same risk. To see this, replace the query
# $x_q$ by $-x_q$. Its label and the law of the tokens stay the same, while every score $x_i^\top Mx_q$ changes its sign,
# as if $M$ were replaced by $-M$. Therefore $\mathcal L(-M)=\mathcal L(M)$. A layer with $-w^*I$ attends to the tokens
# *opposite* the query.
#
# As printed, the lemma says that every minimizer has $w\ge0$. The card asks whether some minimizer has $w\ge0$, and in
# its second reading whether every minimizer does. The next cell prints the exact risk at $-w^*$ divided by the exact risk
# at $w^*$:

# %%
signs = []
for name, task in {
    "cosine, L = 4": Cosine(dim, lipschitz=4.0),
    "quadratic, L = 4": Quadratic(dim, lipschitz=4.0),
    **on_sphere,
}.items():
    best = optimal_window(task, context_length, noise_std)
    turned = matrix_risk(task, -best.w * np.eye(dim), context_length, noise_std)
    ratio = turned.total / best.risk
    error = ratio * (turned.error + best.error)
    print(f"{name}: risk at -w* / risk at w* = {ratio:.9f}")
    signs.append({"task": name, "value": ratio, "error": error})

# %% jupyter={"source_hidden": true} tags=["remove-input"]
judge("P1.L1.sign", pd.DataFrame(signs), error="error", name="{task}")

# %% [markdown]
# ## To remember
#
# The matrix $\Sigma^{-1}$ turns the ellipsoid of the tokens into a sphere. Its best multiple is the best matrix if the
# functions are rotation invariant on this sphere and two values of one function are more correlated at closer points. If
# the functions change faster along one axis, a narrower window along this axis is better.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
