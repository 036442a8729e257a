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
# *Suppose the examples vary much more in some directions than in others. Which matrix should an attention layer learn then?*
#
# **Short answer.** If the tokens lie on an ellipsoid, the best $M$ is $w^*\Sigma^{-1}$, the matrix that turns the ellipsoid
# back into a sphere, with the $w^*$ of the sphere {judged}`P1.L1.form`. This is true if the functions are rotation invariant
# *as functions of the whitened tokens*. If they are rotation invariant as functions of the tokens themselves, another matrix is
# best, with a narrower window along the long axes. Trained units show both {judged}`P1.L1.trained`. For even functions both
# signs of $w$ are minimizers {judged}`P1.L1.sign`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

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

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
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
from icl_book import notebook, plots
from icl_book.claims import cases, judge
from icl_book.measurements import lemma1_covariance as lemma1
from icl_book.measurements import losses_of_matrices, medians

notebook.setup(globals())
device = notebook.device()

# %% tags=["hide-input"]
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
# ```{caption} fig-ellipse
# :alt: Tokens on a circle and twice on an ellipse, with discs for the attention weights. On the circle, and on the ellipse
# with the lemma's matrix, the same tokens on both sides of the query have the weight. With a multiple of the identity the
# weight goes to tokens between the query and the end of the long axis.
#
# Attention weights (areas of the discs) for a query at $60°$ (the filled point), $w=10$. With $M=w\,\Sigma^{-1}$ the tokens
# on the ellipse have the weights that they had on the circle. With a multiple of the identity, of the same determinant,
# the weight moves towards the long end.
# ```
#
# ## In plain words
#
# Attention compares a token $x$ with the query $x_q$ by the score $x^\top Mx_q$. On a stretched cloud of tokens, plain inner
# products are large for tokens that are long, even if they are not close. Let $\Sigma$ be the covariance of the cloud, up to a
# factor. The matrix $\Sigma^{-1}$ measures lengths in units of the cloud's own axes.
#
# This is right if the functions change equally fast in all directions, measured in those units. If they change equally
# fast in the *original* units, they change more along the long axis of the cloud. There the
# {term}`window` should be narrower than $\Sigma^{-1}$ makes it: a larger entry of $M$, since large $w$ means a narrow window.
#
# ## Experiment 1: trained units on ellipsoids
#
# We draw random ellipsoids, train {term}`units <unit>` on them from $M=0$, and read off the entries $a^\top Ma$ of the trained $M$
# along the axes $a$ of $\Sigma$. `Projected` makes $f(x)=g(\Sigma^{-1/2}x)$ of a rotation-invariant $g$, so that the functions change
# equally fast in all directions of the whitened token $u=\Sigma^{-1/2}x$. To try $d=7$, write `dim = 7` as the first
# line.

# %%
on_sphere = {"affine": Affine(dim, lipschitz), "ReLU": ReLU(dim, lipschitz)}
rows = []
for covariance in range(1, draws + 1):
    rng = stream(covariance, "initialization")
    axes = np.linalg.qr(rng.standard_normal((dim, dim))).Q
    lengths = 2.0 ** rng.uniform(-1, 1, dim)
    root = axes @ np.diag(lengths) @ axes.T  # the root of Sigma
    for name, task in on_sphere.items():
        units = train_grid(
            Projected(task, np.linalg.inv(root)),
            noise_std,
            context_length,
            seeds=seeds,
            steps=steps,
            batch_size=batch_size,
            learning_rate=learning_rate / lengths.min() ** 2,
            device=device,
            covariates=Ellipsoid(root),
        )
        best = optimal_window(task, context_length, noise_std)
        for seed, M in enumerate(units.M[0]):
            table = pd.DataFrame({"eigenvalue": lengths**2})
            table["entry"] = np.diag(axes.T @ M @ axes)
            table["lemma"] = best.w / lengths**2
            rows.append(table.assign(covariance=covariance, task=name, seed=seed))
entries = pd.concat(rows, ignore_index=True)

# %%
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
# ```{caption} fig-covariance
# :alt: Entries of trained matrices against the entries that the lemma claims, for affine and ReLU functions and several
# covariances. All points lie on the diagonal.
#
# The entries of the trained $M$ along the axes of each $\Sigma$ (median over seeds, with interval) against those of $w^*\Sigma^{-1}$,
# with the exact $w^*$ of the sphere. Nothing is fitted; the points should lie on the line.
# ```
#
# This takes about five seconds on two cores. The card asks whether the whitened matrix has the same entry along all axes: it
# multiplies each entry by its eigenvalue and takes the product at the longest axis minus the product at the shortest, over the
# mean of all. The lemma says zero, and the card allows 0.1 on both sides, because each number is sampled. The
# number has a sign, because no trained unit is exact: a window that is
# narrower along long axes gives a positive one. In the control it must be positive: there the functions are those of
# Experiment 2, trained in the next cell.
#
# **Exercise 1.** In the cell above replace `Projected(task, np.linalg.inv(root))` by `task`. Do the points stay on the line?
#
# ```{admonition} Solution
# :class: dropdown
# No. The functions then change equally fast in all directions of $x$, so they change more along the long axes of $\Sigma$, measured
# in units of these axes. There the entry of $M$ is larger than the lemma's.
# ```

# %%
stretch = np.diag(2.0 ** np.linspace(1, -1, dim))  # a root of Sigma
original = lipschitz / np.sqrt((np.diag(stretch) ** 2).mean())  # the same variance
rows = []
for name, task in {
    "affine": Affine(dim, original),
    "ReLU": ReLU(dim, original),
}.items():
    units = train_grid(
        task,
        noise_std,
        context_length,
        seeds=seeds,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate / np.diag(stretch).min() ** 2,
        device=device,
        covariates=Ellipsoid(stretch),
    )
    for seed, M in enumerate(units.M[0]):
        table = pd.DataFrame({"eigenvalue": np.diag(stretch) ** 2, "entry": np.diag(M)})
        rows.append(table.assign(task=name, seed=seed))
other_symmetry = pd.concat(rows, ignore_index=True)

# %% tags=["remove-input"]
broken = cases(
    lemma1.whitened_differences(other_symmetry),
    "difference",
    samples="seed",
    name="{task}",
)
judge(
    "P1.L1.trained",
    lemma1.whitened_differences(entries),
    broken,
    value="difference",
    samples="seed",
    name="{task}, $\\Sigma_{covariance}$",
)

# %% [markdown]
# ## As printed, and what is true
#
# :::{prf:theorem} ITA slides, Lemma 1
# :label: thm-lemma-one
# :nonumber:
# Under natural symmetry conditions, $x_i\sim\Sigma^{1/2}U^d\ \forall i$ implies $M^*=w_{KQ}\Sigma^{-1}$ for any
# $M^*\in\arg\min\mathcal L$, for some $w_{KQ}\ge0$.
# :::
#
# $U^d$ is the uniform law on the unit sphere. Which symmetry is meant is not printed; a summary of the paper speaks of
# rotation-invariant function distributions. From here on the slides take $\Sigma=I$ without loss of generality.
#
# ```{admonition} What is true
# :class: tip
# - If the law of $f\circ\Sigma^{1/2}$, the function *of the whitened token*, is rotation invariant, then every minimizer is a
#   multiple of $\Sigma^{-1}$, with the $w$ of the sphere. This is how we read the lemma.
# - If the law of $f$ itself is rotation invariant, another matrix is best. In the case that we trained, its window is narrower
#   along the long axes than $\Sigma^{-1}$ makes it.
# - There is a minimizer with $w\ge0$. For even functions there is another one with $w\le0$.
# ```
#
# ## By hand: an ellipse
#
# Let $\Sigma^{1/2}=\mathrm{diag}(2,1)$, so a token is $x=(2\cos\theta,\sin\theta)$. With $M=w\Sigma^{-1}$, which is
# $w\,\mathrm{diag}(\frac14,1)$,
#
# $$x^\top Mx_q=w\,(\cos\theta\cos\theta_q+\sin\theta\sin\theta_q)=w\cos(\theta-\theta_q):$$
#
# the score depends on the angle alone, as on the circle. In general, with $x=\Sigma^{1/2}u$,
#
# $$x^\top Mx_q=u^\top\big(\Sigma^{1/2}M\Sigma^{1/2}\big)u_q. $$ (eq-whitened)
#
# So the {term}`unit` $M$ on the ellipsoid *is* the unit $N=\Sigma^{1/2}M\Sigma^{1/2}$ on the sphere. If the problem in terms
# of $u$ is rotation invariant, its minimizer is $N=w^*I$, which says $M=w^*\Sigma^{-1}$. This is the whole proof, for all
# matrices and all noise, given the case $\Sigma=I$; that case is proved for every $n\ge2$ in
# [](/notebooks/certificates.ipynb).

# %%
angle = torch.tensor([0.0, 60.0, 180.0], dtype=torch.float64).deg2rad()
u = torch.stack([angle.cos(), angle.sin()], dim=-1)
y = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
lengths = torch.tensor([2.0, 1.0], dtype=torch.float64)  # of the ellipse's axes
M = np.log(4) * torch.diag(lengths**-2)
print(softmax_attention(u, y, u[0], np.log(4) * torch.eye(2).double()))
print(softmax_attention(u * lengths, y, u[0] * lengths, M))

# %% tags=["remove-input"]
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
    cases(gaps, "whitened", labels=["length"], name=axes_from_to),
    cases(gaps, "unwhitened", labels=["length"], name=axes_from_to),
)

# %% [markdown]
# The control of P1.L1.wlog leaves $M$ as it is while the tokens are whitened. The predictions then differ, as they must.
#
# **Exercise 2.** Let $\Sigma$ be singular, one axis of length zero. Which part of $M$ is not determined?
#
# ```{admonition} Solution
# :class: dropdown
# Every entry in the row or the column of the missing axis is free: tokens have no component there, so it enters no score.
# ```
#
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens $\Sigma^{1/2}u$, $u\sim U(S^{d-1})$ | kept: random axes, lengths between $\frac12$ and $2$ |
# | $f\circ\Sigma^{1/2}$ rotation invariant | kept in Experiment 1, broken in Experiment 2 |
# | minimizer of the population loss | proved among all matrices; trained units are compared with it |
# | some $w\ge0$ | tested by the exact risk, for classes with and without odd part |
#
# Units are trained from $M=0$ by Adam with Gaussian label noise. The step size is proportional to $\|\Sigma^{-1}\|$, because
# the entries of $M$ have that much further to go: with one step size for all, the flattest ellipsoids had not converged. A first
# run with ten seeds left P1.L1.trained undecided, so we use more.
# ```

# %% [markdown]
# ## Experiment 2: isotropic in the other coordinates
#
# Now $f(x)=\ell\,q\cdot x+b$ (and its ReLU relative) with $q\sim U(S^{d-1})$ acts on the tokens $x=\Sigma^{1/2}u$ themselves.
# Its law is rotation invariant, and so is the law of $u$. But as a function of $u$ it is $\ell\,(\Sigma^{1/2}q)\cdot u+b$,
# which varies more along the long axes: along axis $i$ its Lipschitz constant is $L\sqrt{\lambda_i}$, with $\lambda_i$ the
# eigenvalue of $\Sigma$. There the window should be narrower. So $M_{ii}$ falls more slowly with $\lambda_i$ than
# $w/\lambda_i$, which the lemma would give.

# %% tags=["hide-input"]
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
# ```{caption} fig-counterexample
# :alt: Log-log plot of the diagonal entries of trained matrices against the eigenvalues of Sigma. The points fall with the
# eigenvalue, but less steeply than the line of slope minus one.
#
# Functions isotropic in the original coordinates: diagonal of the trained $M$ (median over seeds, with interval) along the
# axes of $\Sigma$. Lemma 1 would have the slope $-1$ of the line; the points fall less steeply.
# ```
#
# **Exercise 3.** Tokens have the covariance $\Sigma$, and you can draw functions but do not know which symmetry they have.
# Find out in a few lines, without training, for both classes of ReLU functions of this page. (Compare
# $\mathbb E(f(x)-f(-x))^2$ at the ends $\pm x$ of the axes of the cloud.)
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# ends = torch.from_numpy(np.concatenate([stretch, -stretch]))  # of all axes
# whitened = Projected(ReLU(dim, lipschitz), np.linalg.inv(stretch))
# for task in (whitened, ReLU(dim, original)):
#     f = task.sample(stream(0, "tasks"), 10_000)(ends.expand(10_000, -1, -1))
#     print(((f[:, :dim] - f[:, dim:]) ** 2).mean(dim=0))
# ```
# The functions of Experiment 1 differ as much at the ends of a short axis as at those of a long one. For the functions of
# Experiment 2 the mean square is proportional to the eigenvalue.
# :::
#
# **Exercise 4.** In the cell of Experiment 1 that defines `stretch`, change it to `np.diag([4.0, 1.0, 0.25])`. Does the slope in
# {numref}`fig-counterexample` stay?
#
# ```{admonition} Solution
# :class: dropdown
# Not exactly: how strongly the window adapts to the slope along an axis depends on how many tokens it holds, so the points
# do not lie on one power law.
# ```
#
# ## The lemma, proved
#
# On the sphere no matrix beats the best multiple of the identity ([](/notebooks/certificates.ipynb)), and {eq}`eq-whitened`
# carries this to every ellipsoid. The card tries four other whitened matrices; its second reading is the other symmetry.

# %% tags=["remove-input"]
others = [
    losses_of_matrices(task, n=context_length, noise_std=noise_std).assign(task=name)
    for name, task in on_sphere.items()
]
judge(
    "P1.L1.form",
    cases(
        pd.concat(others)[["task", "matrix", "value", "error"]],
        error="error",
        name=f"{{task}}, d = {dim}, n = {context_length}: {{matrix}}",
    ),
    readings={"original": broken},
)

# %% [markdown]
# ## The sign of w
#
# Let the functions be even, $f(-x)=f(x)$, and turn the query around, $x_q\to-x_q$. This changes neither the law of the
# tokens nor the label of the query, but it changes $M$ into $-M$. So $\mathcal L(-M)=\mathcal L(M)$: if $w^*I$ is a minimizer,
# so is $-w^*I$, which attends to the tokens *opposite* the query. The lemma says "for any minimizer and some $w_{KQ}\ge0$".
# P1.L1.sign asks whether there is a minimizer with $w\ge0$, and in its second reading whether all have it. The exact risk of both
# signs is one call each:

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
    print(f"{name}: risk at -w* over that at w* {ratio:.9f}")
    signs.append({"task": name, "value": ratio, "error": error})

# %% tags=["remove-input"]
judge("P1.L1.sign", pd.DataFrame(signs), error="error", name="{task}")

# %% [markdown]
# ## To remember
#
# The matrix $\Sigma^{-1}$ turns the ellipsoid of the tokens into a sphere. It is optimal if the functions are rotation
# invariant on that sphere. If they change more along an axis, the window should be narrower there.

# %% tags=["remove-input"]
notebook.footer()
