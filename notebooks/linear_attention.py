# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Why softmax?
#
# *Theory often studies attention without the softmax. What is lost?*
#
# **Short answer.** On nonlinear tasks nearly everything is lost. The risk of linear attention never falls below the power of
# the part of $f$ that is not linear, while the risk of softmax attention keeps falling as the context grows
# {judged}`P1.LA.fails`. This is how we read the abstract's sentence that linear attention cannot replicate "this adaptivity".
# On linear functions linear attention **wins**: at $d=5$, $n=10^5$ and $\sigma=0.3$ it has
# {judged}`P1.LA.wins | linear, d = 5, n = 1e5, $\sigma$ = 0.3 | .2g` times the risk of softmax attention. Of other activations,
# only those that grow faster than every power have a window that can shrink, and only normalized weights let it follow the
# Lipschitz constant.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "git+https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q {url} {url}#subdirectory=book")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5, 8]  # dimensions d of the exact results
n_values = [5, 10, 20, 50, 100, 200, 500, 1000]  # context lengths of the exact curves
context_length = 20  # n of the short contexts
lipschitz = 1.0  # Lipschitz constant L
noise_std = 0.3  # standard deviation sigma of the label noise
draws = 300  # contexts for each sampled number
more_dims = [5, 8, 16]  # dimensions d of the comparison with neighbors ...
n_decades = [4, 6]  # ... in contexts of 10^k tokens
lipschitz_values = [1.0, 2.0, 4.0, 8.0]  # constants L, other activations
test_contexts = 1500  # token sets on which sigmoid and ReLU weights are sampled
shifts = [0.0, 5.0, 20.0]  # shifts b of the sigmoid's scores

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icl.risk import (
    bayes_linear_risk,
    linear_optimum,
    linear_risk,
    optimal_window,
    population_risk,
)
from icl.streams import stream
from icl.tasks import Affine, Cosine, Linear, ReLU
from icl_book import notebook, plots
from icl_book.claims import cases, judge
from icl_book.measurements import linear_attention

notebook.setup(globals(), lipschitz_values=2)

# %% [markdown]
# ## In plain words
#
# Linear attention answers with a linear function of the query. An intercept, a kink or a curve stays as error, however long
# the context is. A token on the far side of the sphere counts with a *negative* weight, which is right for a line through the
# origin and wrong for everything else.
#
# Softmax attention has no such floor, since its {term}`window` can close in (**large $w$, narrow window**). But on lines
# through the origin the far side is information, and softmax throws it away.
#
# ## The experiment: the least risks of both
#
# Each unit may choose one number, softmax attention its $w$ and linear attention the $m$ in $M=mI$. We compute the least risk
# of each. The floor is the error that linear attention keeps at every context length.

# %%
lengths = sorted({*n_values, 10**5})
rows = []
for dim in dims:
    tasks = {
        "linear": Linear(dim, lipschitz),
        "affine": Affine(dim, lipschitz),
        "ReLU": ReLU(dim, lipschitz),
        "cosine": Cosine(dim, lipschitz=2.0),
    }
    for name, task in tasks.items():
        best = optimal_window(task, lengths, noise_std)
        softmax = population_risk(task, best.w, lengths, noise_std)
        linear = linear_optimum(task, lengths, noise_std)
        # no other m does better
        other = linear_risk(task, 1.1 * linear.m, lengths, noise_std)
        assert (linear.floor <= linear.risk).all() and (linear.risk <= other).all()
        columns = {
            "n": lengths,
            "w": best.w,
            "softmax": softmax.total,
            "linear": linear.risk,
            "floor": linear.floor,
            "error": softmax.error,
        }
        rows.append(pd.DataFrame({"dim": dim, "task": name} | columns))
risks = pd.concat(rows, ignore_index=True)

# %% tags=["hide-input"]
d_show = dims[min(2, len(dims) - 1)]
field = {
    "linear": Linear(d_show, lipschitz),
    "affine": Affine(d_show, lipschitz),
    "ReLU": ReLU(d_show, lipschitz),
    "cosine": Cosine(d_show, lipschitz=2.0),
}
rows = []
for name, task in field.items():
    for n in [n for n in n_values if n <= 100]:
        found = bayes_linear_risk(task, n, noise_std, draws)
        low, high = found.interval
        row = {"task": name, "n": n, "risk": found.mean}
        rows.append(row | {"low": low, "high": high})
kriging = pd.DataFrame(rows)

# %%
figure, axes = plt.subplots(2, 2, figsize=(6.9, 4.8), sharex=True, layout="constrained")
for ax, name in zip(axes.flat, field, strict=True):
    part = risks[(risks.task == name) & (risks.dim == d_show)]
    dots = kriging[kriging.task == name]
    ax.plot(part.n, part.softmax)
    ax.plot(part.n, part.linear, "--")
    bars = [dots.risk - dots.low, dots.high - dots.risk]
    ax.errorbar(dots.n, dots.risk, bars, fmt="ko", mfc="w")
    ax.set(xscale="log", yscale="log", title=f"{name}, d = {d_show}")
figure.supxlabel("context length n", fontsize="medium")
figure.supylabel("risk", fontsize="medium")
end = risks[(risks.task == "affine") & (risks.dim == d_show)].iloc[-1]
words = {"ha": "right", "va": "top"}
axes[0, 1].text(
    end.n, 0.8 * end.linear, "linear attention", color=plots.PALETTE[1], **words
)
axes[0, 1].text(end.n, 6 * end.softmax, "softmax", color=plots.PALETTE[0], **words)
end = kriging[kriging.task == "affine"].iloc[-1]
axes[0, 1].text(end.n, end.risk / 2, "Bayes-linear", ha="center", va="top")
plt.show()

# %% [markdown]
# ```{caption} fig-rivals
# :alt: Four log-log panels. On purely linear functions linear attention lies below softmax attention at every context
# length. On affine, ReLU and cosine functions linear attention is flat while softmax attention falls. The Bayes-linear
# points lie below both.
#
# Least risk against the context length, four {term}`classes <class>` at one $d$. Lines are exact: softmax attention at its best
# window, linear attention at its optimum. Points are sampled, with intervals: the best predictor that is linear in the labels
# and may choose new weights for every arrangement of tokens ({term}`kriging`). Cosines have $L=2$ and no linear part.
# ```
#
# This takes about ten seconds on two cores. Expect linear attention to win on linear functions, at $n=10^5$ and $d=5$ with
# {judged}`P1.LA.wins | linear, d = 5, n = 1e5, $\sigma$ = 0.3 | .2g` times the risk of softmax attention, and to stay on its
# floor on the other classes.

# %% tags=["remove-input"]
last = risks[risks.n == 10**5]
last = last.assign(value=last.linear / last.softmax)
last["error"] = last.error * last.value
columns = ["dim", "value", "error"]
where = f"d = {{dim}}, n = 1e5, $\\sigma$ = {noise_std:g}"
won = last.loc[last.task == "linear", columns]
lost = last.loc[last.task == "affine", columns]
judge(
    "P1.LA.wins",
    cases(won, error="error", name=f"linear, {where}"),
    cases(lost, error="error", name=f"affine, {where}"),
)

# %% [markdown]
# ## What is printed, and what is true
#
# > we show that this adaptivity relies crucially on the softmax activation and thus cannot be replicated by the linear
# > activation often studied in prior theoretical analyses (abstract)
#
# None of our sources has a theorem on linear attention. We take the definition of the literature that the slides cite, in which
# the scores are the weights:
#
# $$h(x_q)=\frac1n\sum_{i=1}^ny_i\,x_i^\top Mx_q .$$ (eq-linear)
#
# Let $k(x\cdot x')=\sum_\ell a_\ell P_\ell$ be the {term}`covariance` of the class in {term}`Gegenbauer polynomials`; $k(1)$ is
# its power $\mathbb Ef(x)^2$, and $a_1$ the part that is linear in $x$.
#
# :::{admonition} What is true: the floor of linear attention
# :class: tip
# For every $M$, $n$, $\sigma$: $\;\mathbb E(h-f(x_q))^2\ge k(1)-a_1$. The best $M$ is $mI$ with
#
# $$m=\frac{a_1/d}{\frac{k(1)+\sigma^2}{nd}+\big(1-\frac1n\big)\frac{a_1}{d^2}},\qquad
#   \mathbb E(h-f(x_q))^2=k(1)-\frac{a_1}dm .$$
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *Floor.* $h$ is linear in $x_q$. Given the context, $x_q$ is still uniform on the sphere, and the part of $f$ outside
# degree one is orthogonal to every linear function of $x_q$. *Form.* The risk is a convex quadratic in $M$. Rotating tokens
# and functions together replaces $M$ by $R^\top MR$ and changes no law. So averaging $M$ over rotations, which gives a
# multiple of $I$, cannot increase the risk. *Constants.* By the addition theorem (the mean of $P_\ell(x_i\cdot x_j)$ over
# rotations about $x_q$ is $P_\ell(t_i)P_\ell(t_j)$) $\mathbb E\,f(x_q)\,y_i\,x_i\cdot x_q=\mathbb E\,k(t)\,t=a_1/d$. In
# $\mathbb Eh^2$ the $n$ diagonal terms give $\frac1{nd}(k(1)+\sigma^2)$ and the $n(n-1)$ others
# $(1-\frac1n)\sum_\ell a_\ell(\mathbb E\,tP_\ell(t))^2=(1-\frac1n)a_1/d^2$. Minimize
# $k(1)-2m\frac{a_1}d+m^2[\cdots]$. $\square$
# :::
#
# ## By hand: one token
#
# Let $d=2$ and $f(x)=q\cdot x$ with a unit $q$, without noise. Then $k(1)=a_1=\frac12$. The formula gives $m=\frac{1/4}{1/4}=1$
# and the risk $\frac12-\frac14=\frac14$. Directly, $h=(q\cdot x_1)(x_1\cdot x_q)$ at $m=1$ is $f$ after projection onto $x_1$,
# and half of the power is lost.

# %%
by_hand = linear_optimum(Linear(dim=2), n=1, noise_std=0.0)
print(f"m = {by_hand.m:.3f}   risk = {by_hand.risk:.3f}   floor = {by_hand.floor:.3f}")

# %% [markdown]
# **Exercise 1.** Add an intercept to {eq}`eq-linear`: $h+\frac1n\sum_iy_i$. What is the floor of the ReLU class then?
#
# ```{admonition} Solution
# :class: dropdown
# The mean of the labels estimates the constant, so the floor is $\sum_{\ell\ge2}a_\ell$: the power of $|q\cdot x|$ around its
# mean, $\frac{L^2}{6}\big(\frac1d-(\mathbb E|t|)^2\big)$.
# ```
#
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens uniform on the sphere, class rotation invariant | used |
# | intercepts are part of the tasks | as printed for the ReLU class; below, linear attention is also given the constant for free |
# | $M$ any matrix | proved for all |
#
# *What trial runs changed.* The rules of P1.LA.fails and P1.LA.edges were written with the numbers known.
# ```
#
# ## What linear attention sees
#
# Only degree one of a class is visible to linear attention. The card P1.LA.fails asks whether the ratio of the two least risks
# grows as a power of $n$, even if linear attention is spared the constant.

# %% tags=["remove-input"]
setting = {"lipschitz": lipschitz, "noise_std": noise_std}
nonlinear = {"tasks": ["ReLU", "quadratic", "cosine"], "dims": dims}
spared = linear_attention.growth(**nonlinear, **setting, intercept=False)
whole = linear_attention.growth(**nonlinear, **setting, intercept=True)
lines = linear_attention.growth(tasks=["linear"], dims=dims, **setting, intercept=False)
few = linear_attention.growth(tasks=["linear"], dims=[2, 3], **setting, intercept=False)
columns = {"value": "slope", "error": "error"}
judge(
    "P1.LA.fails",
    cases(spared, **columns, name="{task}, d = {dim}"),
    cases(lines, **columns, name="{task}, d = {dim}"),
    readings={
        "intercept": cases(whole, **columns, name="{task}, d = {dim}"),
        "low-rank": cases(few, **columns, name="linear, k = {dim}, any d"),
    },
)

# %% [markdown]
# In the last reading $f=a^\top B^\top x$ has $k$ relevant directions. The best linear attention is then $mBB^\top$, since other
# directions bring noise, and both units solve the problem of dimension $k$.
#
# ## A nearest-neighbors predictor?
#
# The abstract says that a unit implements "a nearest-neighbors predictor adapted to the landscape of the pretraining tasks".
# It does, since its answer is a mean of labels in which nearer examples weigh more.

# %% tags=["remove-input"]
rng = stream(0, "monte carlo")
x = rng.standard_normal((draws, context_length + 1, d_show))
x = x / np.linalg.norm(x, axis=-1, keepdims=True)
cosine = np.einsum("bnd,bd->bn", x[:, :-1], x[:, -1])
nearer = cosine[:, :, None] > cosine[:, None]
rows = []
for name, task in field.items():
    w = optimal_window(task, context_length, noise_std).w
    weights = np.exp(w * (cosine - 1))
    lighter = weights[:, :, None] < weights[:, None]
    rows.append({"task": name, "disorder": (nearer & lighter).sum() / nearer.sum()})
judge(
    "P1.LA.neighbors",
    pd.DataFrame(rows),
    value="disorder",
    name=f"{{task}}, d = {d_show}, n = {context_length}",
)

# %% [markdown]
# Softmax weights have no last neighbor. How does a unit compare with the mean over the $k$ nearest tokens with the best $k$,
# whose risk is exact too? The authors do not compare the two; we do. The control of P1.LA.edges is $k=1$ whatever the tasks
# are. In short contexts soft edges are better; in long contexts, in five dimensions and more, hard edges are better.

# %% tags=["remove-input"]
rows = []
for name, task in field.items():
    found = linear_attention.neighbors(task, context_length, noise_std)
    rows.append({"task": name, "context": "short"} | found)
short = pd.DataFrame(rows)
rows = []
for dim in more_dims:
    for decade in n_decades:
        found = linear_attention.neighbors(
            Affine(dim, lipschitz), 10**decade, noise_std
        )
        rows.append({"dim": dim, "decade": decade, "context": "long"} | found)
long = pd.DataFrame(rows)
template = f"{{task}}, d = {d_show}, n = {context_length}"
judge(
    "P1.LA.edges",
    [
        cases(short, error="error", labels=["task", "context"], name=template),
        cases(
            long,
            error="error",
            labels=["dim", "decade", "context"],
            name="affine, d = {dim}, n = 1e{decade}",
        ),
    ],
    cases(
        short,
        "one",
        error="one_error",
        labels=["task", "context"],
        name=template + ", k = 1",
    ),
)

# %% [markdown]
# ## Where linear attention wins
#
# On $f(x)=L\,q\cdot x$ the risk of linear attention falls like $1/n$, because it is one step of gradient descent on a linear
# regression. Softmax attention can only narrow its window, and its risk falls like $n^{-4/(d+3)}$. Now give the functions an
# intercept whose spread is $\beta$ times its spread in the affine class. Softmax attention does not notice, since its weights
# sum to one, but linear attention pays about $\beta^2L^2/3$. So linear attention wins for small $\beta$ only. At $n=10^5$ both
# are equal at these $\beta$:

# %%
for row in risks[(risks.task == "linear") & (risks.n == 10**5)].itertuples():
    beta = np.sqrt(3 * (row.softmax - row.linear)) / lipschitz
    print(f"d = {row.dim}: an intercept of {beta:.3f} times that of the affine class")

# %% [markdown]
# **Exercise 2.** What does linear attention do on the quadratic functions $L(q\cdot x)^2$ of `icl.tasks.Quadratic`? Print its best $m$,
# its risk and the floor at $n=10$ and $1000$, and explain them (five lines).
#
# :::{admonition} Solution
# :class: dropdown
# ```python
# from icl.tasks import Quadratic
#
# for n in (10, 1000):
#     best = linear_optimum(Quadratic(dim=5), n, noise_std=0.3)
#     print(n, best.m, round(float(best.risk), 4), round(float(best.floor), 4))
# ```
# A quadratic form is even, so nothing of it is linear: $a_1=0$, the best $m$ is zero, and linear attention predicts zero at
# every context length. Its risk is its floor, the power of the class.
# :::
#
# ## Other activations
#
# A machine-written summary asks whether the window adapts "for other activation functions besides softmax, such as sigmoid
# or tanh activations", and which properties of softmax matter. With $M=wI$ and $t_i=x_i\cdot x_q$ an activation $\varphi$
# gives one of two predictors, the second with a learned gain $c$:
#
# $$\hat f=\frac{\sum_i\varphi(wt_i)\,y_i}{\sum_j\varphi(wt_j)}\ \text{(normalized)},\quad\;
#   \hat f=\frac cn\sum_i\varphi(wt_i)\,y_i\ \text{(not normalized)}.$$
#
# *By hand.* Take three tokens with $t=1,\frac12,-1$, and $w=4$. Softmax gives the first token the share $e^4/(e^4+e^2+e^{-4})$,
# about seven eighths. The normalized sigmoid $s(\cdot)$ gives it about one half, since $s(4)$ and $s(2)$ are both close to one.
# At $w=40$ softmax gives it everything, and the sigmoid still gives it one half. The general rule is this:
#
# :::{prf:theorem} A window shrinks for rapidly varying activations only
# :nonumber:
# Let $\varphi>0$ be nondecreasing and the tokens' scores distinct, with $t_1>0$ the largest. If
# $\varphi(\lambda s)/\varphi(s)\to0$ for $s\to\infty$ and every $0<\lambda<1$ (faster growth than every power), the normalized
# weight of the nearest token tends to one as $w\to\infty$. If instead $\varphi(\lambda s)/\varphi(s)\to\lambda^\rho$ with
# $\rho<\infty$, the weights of the tokens with $t_i>0$ tend to shares proportional to $t_i^\rho$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# Take a token $i$ with $t_i<t_1$ and put $\lambda=t_i/t_1$ if $t_i>0$, else any $\lambda\in(0,1)$. Monotonicity gives
# $\varphi(wt_i)\le\varphi(\lambda wt_1)$, with equality in the first case. Divide by $\varphi(wt_1)$ and let $w\to\infty$.
# :::
#
# So the sigmoid ($\rho=0$) keeps a hemisphere and ReLU ($\rho=1$) a cosine lobe. The error that remains in an infinite context
# can be computed exactly. By the {term}`Funk-Hecke formula` the kernel multiplies degree $\ell$ by $\lambda_\ell=m_\ell/m_0$
# (normalized) or $cm_\ell$ with $m_\ell=\mathbb E[\varphi(wt)P_\ell(t)]$, and the error $\sum_\ell a_\ell(1-\lambda_\ell)^2$
# stays. $\tanh$ and the identity are odd, so they never see the even part of $f$.

# %% tags=["hide-input"]
d_unit = dims[min(1, len(dims) - 1)]
rough = ReLU(d_unit, lipschitz_values[-1])
floors = linear_attention.floors(rough)
setting = {"noise_std": noise_std, "n": context_length, "contexts": test_contexts}
curves = linear_attention.risk_curves(
    dim=d_unit, lipschitz_values=lipschitz_values, **setting
)
best = curves.loc[curves.groupby(["activation", "lipschitz"]).risk.idxmin()]
figure, axes = plt.subplots(1, 2, figsize=(6.9, 3.6), width_ratios=[3, 2])
colors = dict(zip(linear_attention.KERNELS, plots.PALETTE, strict=False))
for name, activation in linear_attention.ACTIVATIONS.items():
    mine = curves.activation == name
    line = curves[mine & (curves.lipschitz == rough.lipschitz)]
    color = colors[activation.kernel]
    dashes = "-" if activation.normalized else "--"
    axes[0].plot(line.w, line.risk, label=name, color=color, linestyle=dashes)
    axes[0].fill_between(line.w, line.low, line.high, color=color, alpha=0.2)
    if activation.kernel == "exp":
        line = best[best.activation == name]
        axes[1].plot(line.lipschitz, line.w, "o", color=color, linestyle=dashes)
axes[0].set(xscale="log", yscale="log", xlabel="window parameter w", ylabel="risk")
axes[1].set(xscale="log", xlabel="Lipschitz constant L", ylabel="best w")
axes[1].set_xticks(lipschitz_values, [f"{L:g}" for L in lipschitz_values])
axes[1].minorticks_off()
axes[0].yaxis.set_minor_formatter("")
handles, names = axes[0].get_legend_handles_labels()
figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=9)
plt.show()

# %% [markdown]
# ```{caption} fig-activations
# :alt: Left: risk curves against w. Softmax falls to a clear minimum, far below all others. The exponential without
# normalization has a shallow minimum at a small w. Sigmoid curves fall and stay flat, ReLU curves are flat throughout, tanh
# and linear lie far above all. Right: the best w of softmax rises with L, that of the plain exponential hardly changes.
#
# Left: risk against $w$, ReLU class, at the largest $L$. Solid: normalized, dashed: with the best gain. Exact, except
# normalized sigmoid and ReLU: sampled tokens, bands are intervals. Right: the $w$ of least risk against $L$.
# ```

# %% tags=["remove-input"]
summary = floors.merge(linear_attention.adaptation(curves), on="activation")
heads = {
    "activation": "{activation}",
    "left by an infinite context": "{floor:.3f}",
    "risk over softmax's": "{over_softmax:.2f}",
    "price of a fixed w": "{price:.2f}",
}
caption = f"ReLU class, d = {d_unit}, n = {context_length}, L = {rough.lipschitz:g}"
plots.table(summary, heads, caption)

# %% [markdown]
# In this table, what is left is given as a share of the variance of the class. The price of a fixed $w$ is the risk with the
# $w$ that is best for the smallest $L$, divided by the least risk. A price of one means that there is nothing to adapt.
#
# **Why normalization matters.** Without it the constant part of $f$ is estimated with a random total weight, so its square counts
# as noise. With $k(1)=\sum_\ell a_\ell$ the exact risk is
#
# $$\begin{aligned}\mathbb E(\hat f-f)^2=\;&k(1)-2c\sum_\ell a_\ell m_\ell\\
#   &+\frac{c^2}n\Big[(n-1)\sum_\ell a_\ell m_\ell^2+(k(1)+\sigma^2)\,\mathbb E\varphi^2\Big].\end{aligned}$$ (eq-gain)
#
# The noise variance has become $k(1)+\sigma^2$, and $k(1)$ grows with $L$ like the signal does. So the best $w$ of the plain
# exponential does not follow $L$. With normalized weights only the differences $f(x_i)-f(x_q)$ count.
#
# **One more number repairs the sigmoid.** Shift its scores: $s(u-b)\approx e^{-b}e^{u}$ for large $b$, and normalization removes
# $e^{-b}$. What counts is the exponential tail; being bounded does no harm.

# %%
shifted = linear_attention.shifted_sigmoid(rough, **setting, shifts=shifts)
for row in shifted.itertuples():
    print(f"shift {row.shift:4.0f}   risk over softmax's {row.ratio:.3f}")

# %% [markdown]
# **Exercise 3.** In long contexts the least risk of the ReLU class is proportional to $(\text{noise variance}/n)^{3/(d+2)}$. What does
# the plain exponential lose there against softmax?
#
# ```{admonition} Solution
# :class: dropdown
# It loses the factor $\big(1+k(1)/\sigma^2\big)^{3/(d+2)}$ at every $n$, so longer contexts do not close the gap.
# ```
#
# *Not answered.* We do not know whether deep networks with sigmoid or ReLU attention build narrow windows in a different way.
#
# ## To remember
#
# Softmax has two useful properties. It grows faster than every power, so its window can shrink. Its weights sum to one, so only
# differences of labels count. Linear attention has neither, and wins only where functions are nearly linear.

# %% tags=["remove-input"]
notebook.footer()
