# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     formats: ipynb,py:percent
#     notebook_metadata_filter: kernelspec,-all
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Other activations
#
# **Short answer.** With no extra parameters the window adapts for none of sigmoid, tanh
# and ReLU ({numref}`fig-activations`). Two properties of softmax do the work: the
# exponential *grows faster than every power*, so that the window can become small where
# the others keep an error that no context removes, and the weights are *normalized*.
# Without that the unit treats the function's own size as noise, and the window stops
# following $L$ even for the exponential.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [3]  # dimension d of the covariates (the first counts)
lipschitz_values = [1.0, 2.0, 4.0, 8.0]  # Lipschitz constants L of the ReLU class
noise_std = 0.3  # standard deviation sigma of the label noise
context_length = 32  # tokens n in a context
contexts = 1500  # sampled token sets
seeds = 10  # pretrained units of each activation
steps = 600  # optimizer steps
batch_size = 64  # fresh contexts at each step
learning_rate = 0.1  # Adam's initial step size, falling linearly to zero
shifts = [0.0, 2.0, 5.0, 10.0, 20.0]  # shifts b of the sigmoid's scores

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from icl.covariates import uniform_sphere
from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import evaluation_error
from icl.risk import optimal_window, population_risk
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import QuadraticRisk, ReLU, angle_quadrature
from icl.tasks.gegenbauer import Polynomials
from icl_book import notebook, plots

notebook.setup(globals())

# %% tags=["hide-input"]
d = dims[0]
L_last = lipschitz_values[-1]
degree = 120
theta, density = angle_quadrature(d, 400)
P = 1 - Polynomials(d, theta).take(degree + 1)  # (degree + 1, nodes)
KERNELS = {  # phi(w t) up to a factor, which gain or normalization takes out
    "exp": lambda s, w: np.exp(s - w),
    "sigmoid": lambda s, w: 1 / (1 + np.exp(-s)),
    "tanh": lambda s, w: np.tanh(s),
    "relu": lambda s, w: np.maximum(s, 0),
    "linear": lambda s, w: s,
}
PAIRS = [
    ("exp", True),
    ("exp", False),
    ("sigmoid", True),
    ("sigmoid", False),
    ("relu", True),
    ("relu", False),
    ("tanh", False),
    ("linear", False),
]  # normalizing odd activations divides by sums near zero
grid = np.geomspace(0.05, 400, 60)


def moments(name, w):
    """Return m_0, ..., m_degree and E phi^2 at window parameter w."""
    phi = KERNELS[name](w * np.cos(theta), w)
    return P @ (density * phi), density @ phi**2


def coefficients(task):
    """Return a_0, ..., a_degree of the class.

    What lies beyond is lost on every kernel here and goes into the last.
    """
    a, rest = task.spectrum(degree)
    a[-1] += rest
    return np.concatenate([[float(task.covariance(np.array(1.0))) - a.sum()], a])


def floor(name, normalized, task):
    """Return the smallest error that an infinite context leaves, and its w."""
    a, best = coefficients(task), []
    for w in grid:
        m, _ = moments(name, w)
        gain = 1 / m[0] if normalized else (a @ m) / (a @ m**2)
        best.append(a @ (1 - gain * m) ** 2)
    return min(best), grid[int(np.argmin(best))]


def label(name, normalized):
    """Return what to call an activation."""
    name = "ReLU" if name == "relu" else name
    return (
        ("softmax" if name == "exp" else f"normalized {name}") if normalized else name
    )


task = ReLU(d, L_last)
variance = coefficients(task)[1:].sum()
floors, at = {}, {}
for pair in PAIRS:
    least, at[pair] = floor(*pair, task)
    floors[pair] = least / variance


# %% tags=["hide-input"]
def fluctuation(name, task, w, n):
    """Return the factor of c^2 in equation (eq-gain), and that of -2c."""
    a, (m, square) = coefficients(task), moments(name, w)
    total = (n - 1) * (a @ m**2) + (a.sum() + noise_std**2) * square
    return total / n, a @ m


def gain_risk(name, task, w, n):
    """Return the exact risk at the best gain, equation (eq-gain), not normalized."""
    square, gain = fluctuation(name, task, w, n)
    return coefficients(task).sum() - gain**2 / square


x = uniform_sphere(stream(0, "monte carlo"), contexts, context_length + 1, d)
cosine = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1]).numpy()


def normalized_weights(name, w):
    """Return the weights of the sampled contexts, (contexts, n)."""
    phi = KERNELS[name](w * cosine, w)
    total = phi.sum(1, keepdims=True)
    return torch.from_numpy(phi / np.where(total == 0, 1, total))


# Sampling, checked where the answer is known: softmax, and the formula for the sigmoid.
form = QuadraticRisk.of(task, x, noise_std)

# %% tags=["hide-input"]
some = grid[::2]
forms = {L: QuadraticRisk.of(ReLU(d, L), x, noise_std) for L in lipschitz_values}
best_softmax = {
    L: float(optimal_window(ReLU(d, L), context_length, noise_std).risk)
    for L in lipschitz_values
}


def risks(pair, L):
    """Return the risk at every w of the grid."""
    name, normalized = pair
    if pair == ("exp", True):
        return population_risk(ReLU(d, L), some, context_length, noise_std).total
    if normalized:
        return np.array([float(forms[L].risk(omega).mean()) for omega in weights[name]])
    return np.array([gain_risk(name, ReLU(d, L), w, context_length) for w in some])


weights = {
    name: [normalized_weights(name, w) for w in some]
    for name, normalized in PAIRS
    if normalized
}
tables = {pair: np.array([risks(pair, L) for L in lipschitz_values]) for pair in PAIRS}
curves = {pair: table[-1] for pair, table in tables.items()}
ends = {
    (name, True): [t_interval(form.risk(omega))[1:] for omega in weights[name]]
    for name in ("sigmoid", "relu")
}
krige = t_interval(form.risk(form.kriging()))[1:]

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Risk against the window parameter $w$ for each activation, ReLU class, at the largest $L$ of the list. Solid lines: normalized, dashed: not normalized, at the best gain. Exact, except normalized sigmoid and ReLU: sampled tokens, labels integrated out, bands are intervals. The curves of tanh and linear coincide at the top of the figure. Gray band: kriging, the floor of every predictor that is linear in the labels. Both axes logarithmic, dimensionless.", "name": "fig-activations"}, "image": {"alt": "Risk curves against w. Softmax falls to a clear minimum at an intermediate w, several times lower than all other curves. The unnormalized exponential has a shallow minimum at a small w and rises again. Sigmoid curves fall and then stay flat; ReLU curves are flat throughout; tanh and linear lie far above all. A gray band for kriging lies below all."}}
figure, ax = plt.subplots(figsize=(7.6, 3.8))
shade = dict(zip(KERNELS, plots.PALETTE, strict=False))
styles = {pair: "-" if pair[1] else "--" for pair in PAIRS} | {
    ("linear", False): (0, (2, 4))
}  # it lies on tanh
for pair in PAIRS:
    ax.plot(
        some,
        curves[pair],
        linestyle=styles[pair],
        color=shade[pair[0]],
        label=label(*pair),
    )
    if pair in ends:
        ax.fill_between(
            some,
            *np.transpose(ends[pair]),
            color=shade[pair[0]],
            alpha=0.15,
            linewidth=0,
        )
ax.axhspan(*krige, color=plots.COLORS["guide"], alpha=0.35, label="kriging")
ax.set(
    xscale="log",
    yscale="log",
    xlabel="window parameter w",
    ylabel="risk",
    ylim=(None, 2 * max(curves["linear", False])),
)
ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()

# %% [markdown]
# ## The questions
#
#
# **Machine-written summary of paper 1.** *Question 1:* the attention window adapts to
# the Lipschitzness of the class with softmax; "does this hold for other activation
# functions besides softmax, such as sigmoid or tanh activations?" *Question 7:* "What
# specific properties of the softmax function facilitate learning the scale and
# directions of the attention window, as opposed to other bounded activations?"
#
# The abstract's statement on *linear* attention is judged in {doc}`linear_attention`.
#
# ## Attention as kernel regression
#
# With $M=wI$ and scores $s_i=w\,t_i$, $t_i=x_i\cdot x_q$, an activation $\varphi$ gives one of two predictors,
#
# $$\hat f=\frac{\sum_i\varphi(wt_i)\,y_i}{\sum_j\varphi(wt_j)}\ \text{(normalized)},\quad\;
#   \hat f=\frac cn\sum_i\varphi(wt_i)\,y_i\ \text{(not normalized)},$$
#
# both local averages with the kernel $\varphi(wt)$; the first with $\varphi=\exp$ is softmax. A unit that is not normalized
# must learn the height of its kernel too; we give it the gain $c$, the label corner of $W_V$, so that the comparison is
# fair.
#
# *By hand.* Three tokens with $t=1,\frac12,-1$ and labels $y=0,1,1$, and $w=4$. Softmax gives the first token
# the share $e^4/(e^4+e^2+e^{-4})$, about seven eighths; the normalized sigmoid gives it about one half, since $\sigma(4)$ and
# $\sigma(2)$ are both close to one. With $w=40$ softmax gives the first token all, the sigmoid still one half.

# %% tags=["hide-input"]
t = torch.tensor([1.0, 0.5, -1.0])
rows = []
for w in (4.0, 40.0):
    for name, phi in (
        ("softmax", torch.softmax(w * t, 0)),
        ("normalized sigmoid", torch.sigmoid(w * t) / torch.sigmoid(w * t).sum()),
    ):
        rows.append(
            [
                f"{name}, w = {w:g}",
                *(f"{share:.3f}" for share in phi.tolist()),
                f"{float(phi[1] + phi[2]):.3f}",
            ]
        )
plots.table(
    ["activation", "weight of $t=1$", r"of $t=\frac12$", "of $t=-1$", "prediction"],
    rows,
    "The three tokens of the example",
)

# %% [markdown]
# ## What no context removes: the exact floors
#
# **Longer and longer contexts.** For $n\to\infty$ the sums become means over the
# sphere. A kernel that depends on $t$ only multiplies every spherical harmonic of
# degree $l$ by one number (the {term}`Funk-Hecke formula`), $\lambda_l=c\,m_l$ or
# $\lambda_l=m_l/m_0$ with $m_l=\mathbb E[\varphi(wt)P_l(t)]$. A class with the
# covariance $\sum_l a_lP_l$ then leaves the error
#
# $$\sum_l a_l\,(1-\lambda_l)^2 ,$$ (eq-floor)
#
# and the unit's floor is the smallest value over $w$ (and $c$). Two ways to have a floor can be read off.
#
# - **Parity.** $\tanh$ and the identity are odd, so $m_l=0$ for even $l$: the even part of $f$ is never seen. The sigmoid is
#   $\frac12$ plus an odd function: it sees the constant, and no other even degree.
# - **No locality.** All $\lambda_l$ near one means a kernel near a point mass.
#
# :::{prf:theorem} A window shrinks for rapidly varying activations only
# :nonumber:
# Let $\varphi>0$ be nondecreasing and the tokens' scores distinct, with $t_1>0$ the largest. If $\varphi(\lambda s)/\varphi(s)\to0$ for
# $s\to\infty$ and every $0<\lambda<1$ (rapid variation: faster growth than every power), the normalized weight of the nearest
# token tends to one as $w\to\infty$. If instead $\varphi(\lambda s)/\varphi(s)\to\lambda^\rho$ with $\rho<\infty$ (growth like a power), the weights of the tokens
# with $t_i>0$ tend to shares proportional to $t_i^\rho$, whatever $w$ does.
# :::
#
# :::{admonition} Proof
# :class: dropdown
#
# Take a token $i$ with $t_i<t_1$ and put $\lambda=t_i/t_1$ if $t_i>0$, else any $\lambda\in(0,1)$. Monotonicity gives
# $\varphi(wt_i)\le\varphi(\lambda wt_1)$, with equality in the first case. Divide by $\varphi(wt_1)$ and let $w\to\infty$.
# :::
#
# The sigmoid ($\rho=0$) keeps a hemisphere, the ReLU ($\rho=1$) a cosine lobe. ReLU attention is positively homogeneous,
# $\varphi(wt)=w\varphi(t)$: after normalization $w$ cancels, and there is no window to learn at all.
#
# **Exercise 1.** Why does the sigmoid without shift predict affine functions without
# floor, and ReLU-class functions with one?
#
# ```{admonition} Solution
# :class: dropdown
# $\sigma=\frac12+$ odd: degrees 0 and 1 pass, with the right gains if $W_V$ or
# normalization provides them. ReLU functions contain $|q\cdot x|$, all whose degrees
# are even.
# ```
#
# **Exercise 2.** Show that $\varphi(s)=e^{\sqrt s}$ for $s>0$ also has a window that
# shrinks. Is it as sharp as that of softmax at the same $w$?
#
# ```{admonition} Solution
# :class: dropdown
# $\varphi(\lambda s)/\varphi(s)=e^{-(1-\sqrt\lambda)\sqrt s}\to0$. It is wider: near
# $t=1$ the exponent has the slope $\frac12\sqrt w$ in place of $w$.
# ```

# %% tags=["hide-input"]
notebook.glue("sigmoid_floor", 100 * floors["sigmoid", True])
notebook.glue("relu_floor", 100 * floors["relu", True])
notebook.glue("tanh_floor", 100 * floors["tanh", False])
plots.table(
    [
        "activation",
        "what an infinite context leaves, % of the variance",
        "still falling at the largest $w$?",
    ],
    [
        [label(*pair), f"{100 * share:.2f}", "yes" if at[pair] == grid[-1] else "no"]
        for pair, share in floors.items()
    ],
    f"Exact floors of the ReLU class, d = {d}, L = {L_last:g}, the best w up to "
    f"{grid[-1]:g} (and the best gain without normalization)",
)

# %% [markdown]
# The variance is that of the nonconstant part of $f$. Softmax, and the exponential without normalization, tend to
# zero as $w$ grows. The normalized sigmoid keeps at least {glue:text}`sigmoid_floor:.0f` % and the normalized ReLU
# {glue:text}`relu_floor:.1f` % for ever. ReLU *without* normalization does slightly better in this limit, since its gain then
# inflates the lobe to the right size, but it has no window. $\tanh$ loses the constant as well: its error is
# {glue:text}`tanh_floor:.0f` % of that variance.

# %% [markdown]
# ## Finite contexts
#
# Without normalization the risk at finite $n$ is *exact* as well. The tokens are independent given the query, and
# the addition theorem turns the mean over two tokens into squares of $m_l$:
#
# $$\begin{aligned}\mathbb E(\hat f-f)^2=\;&\sum_la_l-2c\sum_la_lm_l\\
#   &+\frac{c^2}n\Big[(n-1)\sum_la_lm_l^2+(k(1)+\sigma^2)\,\mathbb E\varphi^2\Big],\end{aligned}$$ (eq-gain)
#
# with $k(1)=\sum_la_l$, a parabola in $c$. Note $k(1)$ in the last term: without normalization the *constant* part of $f$ is estimated with a random
# total weight, and its square enters the fluctuation. Normalized weights sum to one and reproduce constants without
# error. For normalized activations other than softmax we sample tokens and integrate the labels out, which is
# exact given the tokens.


# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
def sampled_interval(omega):
    """Return the interval of the risk with these weights, in words."""
    return plots.interval(t_interval(form.risk(omega))[1:], ".3f")


known = float(population_risk(task, 8.0, context_length, noise_std).total)
square, gain = fluctuation("sigmoid", task, 4.0, context_length)
plain = gain / square / context_length * KERNELS["sigmoid"](4.0 * cosine, 4.0)
rows = [
    [
        "softmax, w = 8",
        sampled_interval(normalized_weights("exp", 8.0)),
        f"{known:.3f}",
    ],
    [
        "sigmoid with gain, w = 4",
        sampled_interval(torch.from_numpy(plain)),
        f"{gain_risk('sigmoid', task, 4.0, context_length):.3f}",
    ],
]
plots.table(
    ["risk of", "sampled, interval", "exact"],
    rows,
    "The sampling, checked at two settings where the exact risk is known",
)

# %% [markdown]
# The risk of every activation over $w$ and $L$; the weights of the sampled contexts serve all $L$.

# %% [markdown]
# **Does the best $w$ follow $L$?** For each $L$ the best window, its risk, and the *price of not adapting*: the risk at
# the largest $L$ with the window that is best for the smallest, relative to the best. The ratio one means that there
# was nothing to adapt. For sigmoid and $\tanh$ the best window runs to an end of the grid or the risk hardly depends on it.
# The second table compares the risks themselves.

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
rows, risk_rows, price = [], [], {}
for pair, table in tables.items():
    best = table.argmin(1)
    price[pair] = table[-1, best[0]] / table[-1].min()
    # phi(w t) = w phi(t): gain or normalization takes w out
    scale_free = pair[0] in ("relu", "linear")
    rows.append(
        [
            label(*pair),
            *("none" if scale_free else f"{some[b]:.2g}" for b in best),
            f"{price[pair]:.2f}",
        ]
    )
    over_softmax = table.min(1) / list(best_softmax.values())
    risk_rows.append([label(*pair), *(f"{value:.2f}" for value in over_softmax)])
kriging = [float(form.risk(form.kriging()).mean()) for form in forms.values()]
over_softmax = np.array(kriging) / list(best_softmax.values())
risk_rows.append(["kriging", *(f"{value:.2f}" for value in over_softmax)])
negative = form.kriging().clamp(max=0).abs().sum(-1) / form.kriging().abs().sum(-1)
notebook.glue("negative", 100 * float(negative.mean()))
notebook.glue("price", price["exp", True])
notebook.glue("unnormalized", curves["exp", False].min() / best_softmax[L_last])
notebook.glue("price_sigmoid", price["sigmoid", True])
plots.table(
    ["best $w$ of", *(f"L = {L:g}" for L in lipschitz_values), "price of not adapting"],
    rows,
    rf"The best $w$, on a grid in steps of {100 * (some[1] / some[0] - 1):.0f} %; "
    "none: $w$ has no effect beyond the gain. "
    rf"ReLU class, d = {d}, n = {context_length}, $\sigma$ = {noise_std:g}",
)

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
plots.table(
    ["risk over softmax's, of", *(f"L = {L:g}" for L in lipschitz_values)],
    risk_rows,
    "Risk at the best $w$ over the exact risk of softmax at its optimal window; "
    rf"ReLU class, d = {d}, n = {context_length}, $\sigma$ = {noise_std:g}",
)

# %% [markdown]
# Not adapting costs softmax a factor of {glue:text}`price:.2f`, and the normalized sigmoid a factor of
# {glue:text}`price_sigmoid:.2f`: it has no small window to adapt.
#
# **Without normalization the exponential does not adapt to $L$ either.** Its best $w$ is the same for all $L$ of the table, and
# its risk is {glue:text}`unnormalized:.1f` times that of softmax at the largest $L$. Equation {eq}`eq-gain` says why: what
# plays the part of the noise variance is $k(1)+\sigma^2$, and $k(1)=\mathbb E f^2$ grows with $L$ like the signal does. Their ratio
# saturates once $L\gtrsim\sigma$. Normalized weights see differences $f(x_i)-f(x_q)$ only, which are small in a small window.
# Longer contexts do not close the gap (exact). Both follow the same power of $n$, and the sharp law for the ReLU class,
# risk $\propto(\text{noise variance}/n)^{3/(d+2)}$, predicts the ratio of the two risks,
# $\big(1+k(1)/\sigma^2\big)^{3/(d+2)}=$ {glue:text}`predicted_ratio:.0f` at the largest $L$:

# %% tags=["hide-input"]
lengths = [10**2, 10**4, 10**6]
ratio = 1 + coefficients(task).sum() / noise_std**2
notebook.glue("predicted_ratio", ratio ** (3 / (d + 2)))
wide = np.geomspace(0.05, 400, 120)
rows = []
for m in lengths:
    best = {
        L: min((gain_risk("exp", ReLU(d, L), w, m), w) for w in wide)
        for L in (lipschitz_values[0], L_last)
    }
    soft = {L: optimal_window(ReLU(d, L), m, noise_std) for L in best}
    rows.append(
        [
            plots.ten(round(np.log10(m))),
            *(f"{best[L][1]:.1f}" for L in best),
            *(f"{float(soft[L].w):.1f}" for L in best),
            f"{best[L_last][0] / float(soft[L_last].risk):.1f}",
        ]
    )
ends_L = (lipschitz_values[0], L_last)
plots.table(
    [
        "n",
        *(f"$w$, exp, L = {L:g}" for L in ends_L),
        *(f"$w$, softmax, L = {L:g}" for L in ends_L),
        f"risk, exp / softmax, L = {L_last:g}",
    ],
    rows,
    "The exponential without normalization (best gain) against softmax; ReLU class, "
    rf"d = {d}, $\sigma$ = {noise_std:g}, exact; "
    rf"$w$ of exp on a grid with steps of {100 * (wide[1] / wide[0] - 1):.0f} %",
)

# %% [markdown]
# **Positivity does not matter.** The best linear predictor, kriging, puts {glue:text}`negative:.0f` % of its absolute weight
# on negative weights.
#
# ## One more number repairs the sigmoid
#
# Shift the scores: $\sigma(s-b)\to e^{-b}e^{s}$ for large $b$, and normalization removes $e^{-b}$. Sigmoid attention
# *with a learned bias* contains softmax as a limit. It is the exponential *tail* that counts; that the sigmoid is bounded
# does no harm.


# %% tags=["hide-input"]
def best_risk(kernel):
    """Return the least mean risk over w below 60, of normalized weights."""
    phis = (kernel(w * cosine) for w in some[some < 60])
    shares = (torch.from_numpy(phi / phi.sum(1, keepdims=True)) for phi in phis)
    return min(float(form.risk(omega).mean()) for omega in shares)


best_shifted = [best_risk(lambda s, b=b: 1 / (1 + np.exp(-(s - b)))) for b in shifts]
reference = min(float(form.risk(omega).mean()) for omega in weights["exp"])
plots.table(
    ["shift $b$ of the sigmoid", *(f"{b:g}" for b in shifts)],
    [["risk over softmax's", *(f"{value / reference:.3f}" for value in best_shifted)]],
    "Best risk over $w$ of the normalized shifted sigmoid, over the best risk of "
    "softmax on the same tokens",
)

# %% [markdown]
# ## Trained units
#
# So far $M=wI$, and the best gain. Now full units ($W_K$, $W_Q$ and the last row of $W_V$, random start) are
# pretrained with each activation, and tested on fresh contexts. The prediction is the best value of the curves above.

# %% tags=["hide-input"]
NAMES = {
    ("exp", True): "softmax",
    ("sigmoid", True): "normalized sigmoid",
    ("relu", True): "normalized relu",
    ("sigmoid", False): "sigmoid",
    ("relu", False): "relu",
    ("tanh", False): "tanh",
    ("linear", False): "linear",
}
members = [
    UnitConfig(
        task,
        noise_std,
        context_length,
        seed,
        activation=activation,
        width=d + 1,
        initial_std=0.3,
    )
    for activation in NAMES.values()
    for seed in range(seeds)
]
trained = pretrain(
    members,
    steps,
    batch_size,
    learning_rate,
    notebook.device(),
    shared_tokens=True,
    stream="native",
    dtype="float32",
)

# %% [markdown]
# Every seed has test contexts of its own, so that intervals contain their randomness.

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
errors = np.empty((len(NAMES), seeds))
for seed in range(seeds):
    mine = [i for i, member in enumerate(members) if member.seed == seed]
    some_units = replace(
        trained,
        units=tuple(members[i] for i in mine),
        history=(),
        parameters=tuple(trained.parameters[i] for i in mine),
    )
    errors[:, seed] = evaluation_error(
        some_units, task, noise_std, context_length, 2000, seed=seed
    )[-1]
ratios = errors / errors[list(NAMES).index(("exp", True))]
means, *ends_of_ratio = t_interval(ratios)
rows, unclear, better = [], [], []
for i, pair in enumerate(NAMES):
    low, high = ends_of_ratio[0][i], ends_of_ratio[1][i]
    if pair != ("exp", True) and low <= 1:
        unclear.append(label(*pair))
    if high < 1:
        better.append(label(*pair))
    rows.append(
        [
            label(*pair),
            f"{means[i]:.2f}",
            plots.interval((low, high)),
            f"{np.median(ratios[i]):.2f}",
            f"{curves[pair].min() / best_softmax[L_last]:.2f}",
        ]
    )
notebook.glue("unclear", ", ".join(unclear) or "none")
notebook.glue("better", ", ".join(better) or "none")
softmax_errors = errors[list(NAMES).index(("exp", True))]
softmax_interval = plots.interval(t_interval(softmax_errors)[1:], ".3f")
notebook.glue("trained_softmax", softmax_interval)
notebook.glue("exact_softmax", f"{best_softmax[L_last]:.3f}")
plots.table(
    ["activation", "error over softmax's", "its interval", "median", "predicted"],
    rows,
    "Test error of trained full units over that of trained softmax units on the same "
    f"contexts, mean and median over {seeds} seeds; predicted: the best value of the "
    "curves above",
)

# %% [markdown]
# The test error of trained softmax units has the interval {glue:text}`trained_softmax`, around the exact optimum
# {glue:text}`exact_softmax`. Activations that are better than softmax: {glue:text}`better`; not clearly worse:
# {glue:text}`unclear` (an interval is wide where single seeds get stuck, as ReLU units can, all of whose scores are negative; the
# median stands beside it).

# %% [markdown]
# ## Answers and limits
#
# | property | who lacks it | what it costs |
# |---|---|---|
# | rapid growth of $\varphi$: the window can shrink | sigmoid, ReLU, $\tanh$, linear | an error that no context removes; no window to adapt |
# | weights that sum to one | all unnormalized, the exponential too | the function's own size counts as noise: the window does not follow $L$, and the risk is several times larger at finite $n$ |
# | an even *and* an odd part in every degree | $\tanh$, linear; sigmoid beyond the constant | the even part of $f$ |
# | positive weights | kriging, $\tanh$, linear | nothing: the best linear predictor uses negative weights |
# | boundedness | exp, ReLU, linear | nothing: a shifted sigmoid is bounded and imitates softmax |
#
# *Not answered.* Whether deep networks with sigmoid or ReLU attention build narrow windows in another way (an MLP before
# the scores can sharpen them). One dimension, one class, one context length at this preset.

# %% tags=["remove-input"]
notebook.footer()
