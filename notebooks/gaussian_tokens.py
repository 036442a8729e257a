# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gaussian tokens: the window stops at one
#
# **Short answer.** On Gaussian tokens the window stops narrowing: with $M=wI$, linear functions, $d=5$, $\sigma=0.5$ and
# $n=10^6$ the best $w$ is {judged}`P1.G.stops | Gaussian, d = 5, n = 1e+06, sigma = 0.5 | .3f`, and on the sphere with the same
# mean squared length {judged}`P1.G.stops | sphere, d = 5, n = 1e+06, sigma = 0.5 | .1f`; tokens in a ball leave an error of
# {judged}`P1.G.ball | floor, d = 5 | 100*.1f` % of the variance for every $n$. The distance of the best $w$ from one falls like
# $(\log n)^{d/2+1}n^{-1/\varphi}$ with the golden ratio $\varphi$, which is derived but not proved {judged}`P1.G.rate`. Even in
# long contexts a square is not recovered {judged}`P1.G.floor`, and on linear functions linear attention has the smaller risk
# {judged}`P1.G.linear`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 5, 16]  # dimensions d of the covariates
noise_stds = [0.0, 0.5, 2.0]  # standard deviations sigma of the label noise (slope one)
n_values = [2, 10, 100, 10000, 1000000]  # context lengths n
context_length = 100000  # n of the sampled contexts
seeds = 48  # independent sets of tokens

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np

from icl.experiments import gaussian
from icl.experiments.tables import each
from icl.risk import gaussian_best_scale, gaussian_window, least_hermite_floor
from icl_book import notebook, plots
from icl_book.claims import cases, judge

notebook.setup(globals())
d, sigma = dims[len(dims) // 2], noise_stds[len(noise_stds) // 2]  # of the figures

# %% tags=["hide-input"]
medium, few = (np.geomspace(2, end, k).round() for end, k in ((1e10, 14), (1e6, 8)))
far = 10.0 ** np.array([2, 4, 7, 11, 16, 22, 30])
exact_windows = each(gaussian.window, d=dims, lengths=medium, sigmas=sigma)
long_contexts = each(gaussian.window, d=dims, lengths=far, sigmas=sigma)
on_sphere = each(gaussian.window_on_sphere, d=d, lengths=few, sigmas=sigma)
figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 2.9))
plots.lines(left, exact_windows, "n", "w", "d", label="Gaussian, d = {}")
plots.exact_curve(left, few, on_sphere.w, f"sphere, d = {d}", linestyle="--")
left.set(xlabel="context length n", ylabel="window parameter w*")
plots.lines(right, long_contexts, "n", "gap", "d", label="")
right.set(xlabel="context length n", ylabel="1 - w*")
for ax in (left, right):
    ax.set(xscale="log", yscale="log")
plots.guide(right, 1e8, 1e-6, -gaussian.RATE, "", decades=22)
right.text(1e3, 1e-14, f"slope -{gaussian.RATE:.3f}", color=plots.COLORS["guide"])
left.legend(fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-gaussian
# :alt: Left, against the context length: on Gaussian tokens the best window parameter levels off at one in every dimension,
# on the sphere it grows like a power. Right, log-log: one minus the best window parameter falls along curves that become
# parallel to a dashed line.
#
# Exact. Left: the best window parameter on Gaussian tokens (solid) stops at one; on the sphere of equal mean squared length
# (dashed) it grows. Right: its distance from one falls like a power of $n$, up to logarithms. The dashed line has the slope
# $-1/\varphi$, with the golden ratio $\varphi$.
# ```
#
# ## In plain words
#
# Attention averages the labels of tokens in a {term}`window` around the {term}`query`. On the sphere all tokens have the same
# length, and a larger {term}`window parameter` $w$ brings the weights closer to the query: **large $w$, narrow window**. The
# score $w\,x\cdot x_q$ also rewards length. If tokens differ in length, a larger $w$ prefers the *longest* tokens in the
# query's direction, and these are not the nearest ones.
#
# For Gaussian tokens this can be computed. The weights $e^{w\,x\cdot x_q}$ turn the law $N(0,I)$ of a token into $N(wx_q,I)$:
# its mean moves, its width stays. Many tokens therefore give
#
# ```{math}
# :label: eq-tilt
# \sum_i\omega_if(x_i)\;\to\;\mathbb E f(g+w\,x_q),\qquad g\sim N(0,I).
# ```
#
# For linear $f$ the right side is $wf(x_q)$, which is correct at $w=1$. With more examples $w^*$ tends to one, where on the
# sphere it rises without end. (Two examples without noise can have a larger $w^*$.)

# %%
for n in (1e2, 1e6, 1e12):
    best = gaussian_window(dim=5, n=n, noise_std=0.5)
    print(f"n = {n:.0e}   w* = {best.w:.4f}   1 - w* = {best.gap:.2e}")

# %% [markdown]
# ## What is printed, and what is true
#
# Theorem 2 and Lemma 1 of paper 1 are stated for tokens on a sphere or an ellipsoid. On Gaussian tokens the abstract of
# another paper {cite:p}`boursier2025` says:
#
# > For i.i.d. Gaussian inputs, we lean on the fact that the softmax operator converges in the infinite-prompt limit to a
# > linear operator acting on the underlying input-token measure
#
# ```{admonition} What is true
# :class: tip
# - On Gaussian tokens the limit {eq}`eq-tilt` is reached like $1/n$ at a fixed query.
# - The best $w$ tends to one, and $1-w^*$ falls like $n^{-1/\varphi}$ up to logarithms.
# - In the unit ball, where lengths are bounded but differ, the limit is best at a finite $w$, and an error remains.
# - What remains of Theorem 2 for linear functions is the direction: $w^*$ rises with $L/\sigma$.
# ```
#
# We have read that paper's abstract, not its theorems. Demir and Dogan {cite}`demir2025` study temperature, Lu et al.
# {cite}`lu2025` linear attention in high dimension.
#
# ## By hand: a parabola
#
# For $f(x)=x^2-1$ in one dimension the limit {eq}`eq-tilt` is $w^2x_q^2$. The error
# $\mathbb E(x_q^2-1-w^2x_q^2)^2=3(1-w^2)^2-2(1-w^2)+1$ is least at $w^2=\frac23$, where it is $\frac23$. The variance of $f$
# is $2$: a third of it remains for every $n$.

# %%
floor = least_hermite_floor([0, 0, 1])  # f = He_2
print(f"w^2 = {floor.w**2:.6f}   error {floor.risk:.6f}   variance {floor.power:.0f}")

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens and query $N(0,I_d)$, the query does not attend to itself | kept; sphere and ball for comparison |
# | $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$ | unless said otherwise; nonlinear functions in Experiment 4 |
# | $M=wI$ | kept: whether another matrix is better is open |
# | the exact risk | tested: two tokens, summed directly |
# ```
#
# ## Experiment 1: the exact risk
#
# Let $r$ be the length of the query, $\tau=wr$, and $g_i$ the tokens' components along it: $\omega_i\propto e^{\tau g_i}$.
# Two moments of the weights are enough,
#
# $$C=\mathbb E\sum\omega_i^2,\qquad D=\mathbb E\sum\omega_i^3-\mathbb E\big(\sum\omega_i^2\big)^2 .$$
#
# Integrating by parts gives $\mathbb E\sum\omega_ig_i=\tau(1-C)$ and
# $\mathbb E(\sum\omega_ig_i)^2=\tau^2(1-C-6D)+C$, hence the bias that the card states. The {term}`noise <population risk>`
# term is $\sigma^2C$. The card sums two tokens directly; the control counts the query as one more token.

# %% tags=["hide-input"]
two = each(gaussian.two_token_ratio, d=dims)
control = two[["d", "wrong", "error"]]
judge(
    "P1.G.exact",
    cases(two, error="error", labels=["d"], name="d = {d}, n = 2"),
    cases(control, "wrong", error="error", name="d = {d}, n = 2"),
    folded=True,
)

# %% [markdown]
# **Exercise 1.** What are $C$, $D$ and the bias at $w=0$?
#
# :::{admonition} Solution
# :class: dropdown
# All weights are $\frac1n$, so $C=\frac1n$ and $D=\frac1{n^2}-\frac1{n^2}=0$. The bias is
# $\frac{L^2}d(\mathbb Er^2+\frac dn)=L^2(1+\frac1n)$: the query's own label and the variance of a mean.
# :::
#
# ## Experiment 2: where the window stops
#
# A function of tokens of length $\sqrt d$ is one of slope $\sqrt dL$ of unit tokens, and $w$ is $d$ times smaller. This makes
# the two laws comparable. The control is a pair of tokens without noise, whose best $w$ exceeds one.

# %%
many, noises = np.array([n for n in n_values if n >= 100]), np.array(noise_stds)
stopped = each(gaussian.window, d=dims, lengths=many, sigmas=noises)
at_last = {"lengths": many[-1:], "sigmas": noises}
on_the_sphere = each(gaussian.window_on_sphere, d=dims, **at_last)
pair = each(gaussian.window, d=[2], lengths=2, sigmas=0.0)

# %% tags=["hide-input"]
columns, where = ["d", "n", "sigma", "tokens"], "{tokens}, d = {d}, n = {n:g}"
setting = f"{where}, sigma = {{sigma:g}}"
judge(
    "P1.G.stops",
    [
        cases(table, "w", error="error", labels=columns, name=setting)
        for table in (stopped, on_the_sphere)
    ],
    cases(
        pair, "w", error="error", labels=["tokens"], name=where.format(**pair.iloc[0])
    ),
)

# %% [markdown]
# **In a ball.** The uniform law in the unit ball of $\mathbb R^d$ is the projection of that on the sphere in $d+2$ dimensions.
# For many tokens the prediction at a query of length $r$ is $A(wr)\,\beta\cdot x_q/r$ with $A=I_{d/2+1}/I_{d/2}$. This function
# is strictly concave, so it is never the identity: a floor remains.

# %% tags=["hide-input"]
balls, spheres = each(gaussian.ball_limit, d=dims), each(gaussian.sphere_floor, d=dims)
judge("P1.G.ball", balls, spheres, error="error", name="{what}, d = {d}", folded=True)

# %% tags=["hide-input"]
signal = each(gaussian.signal_slope, d=dims, n=n_values)
judge("P1.G.survives", signal, error="error", name="d = {d}, n = {n:g}", folded=True)

# %% [markdown]
# **Exercise 2.** Why does $w^*$ exceed one for two tokens without noise in two dimensions?
#
# :::{admonition} Solution
# :class: dropdown
# The mean prediction is $w(1-C)\beta\cdot x_q$, and with two tokens $C\ge\frac12$. The slope is too small, and a larger $w$
# corrects it as long as $C$ grows slowly.
# :::
#
# ## Experiment 3: the golden ratio
#
# Near $w=1$ the risk is $L^2(1-w)^2+\frac{L^2}d\mathbb E\,r^2(C-6D)$ to leading order. Long queries dominate the mean. For a
# query of length $r$ one token takes a finite part of the weight (condensation in the random energy model
# {cite:p}`derrida1981,bouchaud1997`) with probability $n\exp(-\frac12(\frac{\log n}r+\frac r2)^2)$, up to powers of $\log n$.
# Times the density $e^{-r^2/2}$ this is largest at $r^2\approx\frac2{\sqrt5}\log n$, where it is
# $n^{1/2-\sqrt5/2}=n^{-1/\varphi}$.

# %% tags=["hide-input"]
styles = {"exact": "-", "one heavy token": ":"}
swept = {"d": dims, "kind": list(styles)}
slopes = each(gaussian.gap_slopes, **swept, lengths=far, sigma=sigma)
figure, ax = plt.subplots(figsize=(6.4, 2.6))
for kind, style in styles.items():
    label = "d = {}" if kind == "exact" else ""
    part = slopes[slopes.kind == kind]
    plots.lines(ax, part, "log_n", "slope", "d", label=label, linestyle=style)
ax.axhline(-gaussian.RATE, color=plots.COLORS["guide"], linestyle="--", lw=1.2)
ax.text(5, -gaussian.RATE + 0.01, r"$-1/\varphi$", color=plots.COLORS["guide"])
ax.set(xscale="log", xlabel="log n", ylabel="local slope of log(1 - w*)")
ax.legend(loc="upper right")
plt.show()

# %% [markdown]
# ```{caption} fig-golden
# :alt: Local slopes against the logarithm of the context length on a logarithmic axis. In each dimension they fall and tend
# to a dashed line at minus one over the golden ratio.
#
# Local slope of $\log(1-w^*)$ in $\log n$: exact up to $n=10^{30}$ (solid), and from the integral with one heavy token
# (dotted). The limit, about $-0.618$, is the same in every dimension; powers of $\log n$ delay it.
# ```
#
# The integral replaces the sum of the other tokens by its mean, an error that we do not bound; the law is its leading order.
# The card measures both steps, from exact to integral and from integral to law; the control is the law of dimension $d+1$.

# %%
steps = each(gaussian.rate_steps, d=dims, sigma=noise_stds)

# %% tags=["hide-input"]
labels, at = ["d", "sigma"], "d = {d}, sigma = {sigma:g}"
by_law = f"one heavy token over the law, {at}"
first = f"exact over one heavy token, {at}"
judge(
    "P1.G.rate",
    [
        cases(steps, "first", error="first_error", labels=labels, name=first),
        cases(steps, "second", error="second_error", labels=labels, name=by_law),
    ],
    cases(steps, "wrong", error="wrong_error", labels=labels, name=by_law),
)

# %% [markdown]
# **How many tokens does the limit need?** $C$ is one over the number of tokens attended to. For $C=0.1$ the context must grow
# exponentially in $(wr)^2$ (first card). At a fixed query the weighted mean of the tokens tends to $wx_q$, in mean square like
# $1/n$ (second card).

# %% tags=["hide-input"]
ends = [{"a": float(a), "b": a + 1.0} for a in range(1, 9)]
needed = each(gaussian.tokens_needed, ends=ends)
between = "w r = {a:g} to {b:g}"
judge("P1.G.tokens", needed, error="error", name=between, folded=True)

# %% tags=["hide-input"]
approach = each(gaussian.approach_slopes, d=d)
near = f"w r = {{a:g}}, d = {d}"
judge("P1.G.large-prompt", approach, error="error", name=near, folded=True)

# %% [markdown]
# ## Experiment 4: the floor of nonlinear functions
#
# Expand $f(x)=\sum_kc_k\mathrm{He}_k(u\cdot x)$ in Hermite polynomials. Since $\mathbb E\,\mathrm{He}_k(g+t)=t^k$, the limit
# {eq}`eq-tilt` replaces $\mathrm{He}_k(t)$ by $(wt)^k$. The two agree for $k\le1$ at $w=1$; for a single $k\ge2$ the best multiple
# of $t^k$ leaves $k!\big(1-\frac{k!}{(2k-1)!!}\big)$.
#
# A function is recovered if $\mathbb Ef(g+wx)=f(x)$. At $w=1$ and among functions of polynomial growth these are the harmonic
# polynomials, such as $x_1x_2$, because the Fourier transform of $f$ must vanish but at zero. Without the growth condition
# there is also $e^{ax_1}\cos ax_1$ with $a^2=2\pi$; and at $w=\sqrt2$ the normal distribution function,
# $\mathbb E\Phi(g+\sqrt2x)=\Phi(x)$.

# %%
names = list(gaussian.functions())
lengths = [n for n in (100, 1000, 10000, 100000) if n <= context_length]
drawn = {"seed": range(seeds), "most": context_length}
risks = each(gaussian.sampled_risk, f=names, n=lengths, **drawn)
longest = risks.loc[risks.n == lengths[-1], ["f", "seed", "excess"]]

# %% tags=["hide-input"]
missed = each(gaussian.sampled_risk, f="He_2", n=context_length, **drawn, w=1.0)
recovered = each(gaussian.recovered_limit, f=list(gaussian.RECOVERED))
template = f"{{f}}, n = {context_length}"
judge(
    "P1.G.floor",
    [
        cases(longest, "excess", samples="seed", name=template),
        [
            cases(row, error="error", labels=[], name=f"{f}, limit")
            for f, row in recovered.groupby("f", sort=False)
        ],
    ],
    cases(missed, "risk", samples="seed", labels=[], name=template.format(f="He_2")),
)

# %% tags=["hide-input"]
known = gaussian.functions()
figure, ax = plt.subplots(figsize=(7.6, 2.6))
shown = gaussian.mean_risks(risks)
shown["beside"] = shown.n * 1.15 ** (shown.f.map(names.index) - 2.0)
printed = ["$x_1$", "$He_2$", "$He_3$", "$(x_1)_+$", "$x_1x_2$"]
shown["name"] = shown.f.map(dict(zip(names, printed, strict=True)))
plots.points(ax, shown, "beside", "mean", "name")
for name, color in zip(names, plots.colors(printed).values(), strict=True):
    if known[name].limit:
        floor_of = known[name].limit / known[name].power
        ax.axhline(floor_of, color=color, linestyle="--", linewidth=1)
ax.set(xscale="log", yscale="log", xlabel="context length n", ylabel="risk / variance")
ax.set_ylim(2e-4, 6)
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %% [markdown]
# ```{caption} fig-floors
# :alt: The linear function and the product of two coordinates fall with the context length; their intervals are wide because
# rare tokens of large weight dominate. The second and third Hermite polynomials and the ReLU level off at their floors.
#
# Risk over the variance of the function: mean over sampled sets of tokens, with interval (points; those of the same $n$ stand
# side by side, and intervals that reach zero are cut), and the exact limits (dashed).
# ```
#
# **Exercise 3.** Which window is best for $f=\mathrm{He}_1+c\,\mathrm{He}_2$ with a small $c$, in long contexts?
#
# :::{admonition} Solution
# :class: dropdown
# The limit misses $(1-w)$ of $\mathrm{He}_1$ and, with $(wt)^2=w^2\mathrm{He}_2+w^2$, the parts $c(1-w^2)$ and $-cw^2$ of
# degrees two and zero: $(1-w)^2+2c^2(1-w^2)^2+c^2w^4$. To second order in $c$ it is least at $w=1-2c^2$, and about $c^2$, half
# of what linear attention misses ($2c^2$).
# :::
#
# ## Experiment 5: against linear attention
#
# Linear attention $\frac1n\sum_iy_i\,x_i^\top Mx_q$ is best at $M=mI$, $m=\big[1+\frac{d+1+d\sigma^2/L^2}n\big]^{-1}$, with risk
# $L^2(1-m)$, which falls like $1/n$. Softmax attention is slower. An intercept, which it does not notice because its weights
# sum to one, reverses the order; it is the control.

# %% tags=["hide-input"]
all_n = np.array(n_values)
over = each(gaussian.over_linear, d=dims, lengths=all_n, sigmas=noises)
offset = each(
    gaussian.over_linear, d=dims, lengths=all_n[-1], sigmas=noises, intercept=1.0
)
columns_over, ratio = ["d", "n", "sigma"], "d = {d}, n = {n:g}, sigma = {sigma:g}"
judge(
    "P1.G.linear",
    cases(over, error="error", labels=columns_over, name=ratio),
    cases(offset, error="error", labels=columns_over, name=ratio),
    folded=True,
)

# %% tags=["hide-input"]
grid = np.geomspace(2, 1e8, 15).round()
figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 2.5))
both = each(gaussian.over_linear, d=d, lengths=grid, sigmas=sigma)
boundary = each(gaussian.intercept_boundary, d=dims, n=grid.tolist(), sigma=sigma)
softmax, linear = plots.COLORS["softmax"], plots.COLORS["linear attention"]
narrow = gaussian_best_scale(d, (d + 2) ** -0.5, grid, sigma).risk
plots.exact_curve(left, grid, both.softmax, "softmax", softmax)
plots.exact_curve(left, grid, narrow, "with value scale", softmax, linestyle="--")
plots.exact_curve(left, grid, both.linear, "linear attention", linear)
left.set(xscale="log", yscale="log", xlabel="context length n", ylabel="risk")
plots.lines(right, boundary, "n", "b", "d")
right.set(xscale="log", xlabel="context length n", ylabel="intercept / L")
right.legend(title="d")
left.legend(fontsize=8)
plt.show()

# %% [markdown]
# ```{caption} fig-gaussian-phases
# :alt: Left, three falling risks: linear attention is lowest, softmax attention with a value scale runs parallel to it, plain
# softmax attention falls more slowly. Right, boundary curves against the context length, one for each dimension.
#
# Exact. Left: least risks in the middle dimension of the list; dashed, softmax attention at $w^2=1/(d+2)$ with its best value
# scale. Right: the intercept's standard deviation at which both have the same risk. Linear attention wins below a curve.
# ```
#
# **The value scale.** Let a factor $v$ of the prediction, the corner of $W_V$, be free. At fixed $w<\frac1{\sqrt2}$ the mean of
# $C$ is finite times $\frac1n$, and $v\approx\frac1w$ repairs the slope: the rate $1/n$ returns.

# %% tags=["hide-input"]
scaled = each(gaussian.value_scale, d=dims, sigma=noise_stds)
far_away = f"{at}, n = 1e12"
judge(
    "P1.G.value",
    cases(scaled, "free", error="free_error", labels=labels, name=far_away),
    cases(scaled, "fixed", error="fixed_error", labels=labels, name=far_away),
    folded=True,
)

# %% [markdown]
# **Exercise 4.** Where does the factor $(1+\frac2d)^{d/2+1}$ of the card come from?
#
# :::{admonition} Solution
# :class: dropdown
# To leading order $n\,C=e^{w^2r^2}$ and $n\,\mathbb EC=(1-2w^2)^{-d/2}$. The best $v$ leaves
# $\frac1n\big[(1-2w^2)^{-d/2-1}+\frac{1+\sigma^2}{w^2}(1-2w^2)^{-d/2}\big]$ for $L=1$; at $w^2=\frac1{d+2}$ this is the factor
# times $\frac{d+1+d\sigma^2}n$.
# :::
#
# ## To remember
#
# The narrowing window of Theorem 2 needs tokens of one length: only then does a larger $w$ prefer nearer tokens. On Gaussian
# tokens $w$ stops at one, a square is not recovered, and linear attention is better on linear functions.

# %% tags=["remove-input"]
notebook.footer()
