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
# # Low rank behind a nonlinear link
#
# **Short answer.** Softmax attention finds the subspace behind all three links of the
# paper's Figure 9 ({judged}`P1.F9.subspace`, {numref}`fig-glm`), and nearly the exact
# minimum of the small problem. Linear attention has a larger error on every link
# ({judged}`P1.F9.error`): on the even links because it can learn nothing, by parity and
# not by rank; on the affine link, where it finds the subspace, only for want of an
# intercept.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [5, 8, 8]  # dimensions d of the tokens
ranks = [2, 2, 3]  # dimensions k of the subspace, one for each d
context_length = 20  # tokens n in a context
noise_std = 0.1  # standard deviation sigma of the label noise
seeds = 10  # units of each setting
steps = 500  # Adam steps
batch_size = 128  # fresh contexts at each step
contexts = 4000  # test contexts, other ones for each unit

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import minimize_scalar

from icl.attention import linear_attention, softmax_weights
from icl.covariates import LowRank
from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import evaluation_error, outside_ratio, subspace_error
from icl.risk import low_rank_risk, optimal_window
from icl.statistics import median_interval, t_interval
from icl.streams import stream
from icl.tasks import Cosine, Linear, Projected, Quadratic
from icl_book import notebook, parameters, plots
from icl_book.claims import exact, judge, sampled

notebook.setup(globals())

if len(ranks) != len(dims):
    raise parameters.BadInput(
        f"ranks={ranks!r}: must have as many entries as dims={dims!r}"
    )
PROBLEMS = list(zip(dims, ranks, strict=True))
D, K = np.array(PROBLEMS).T
LINKS = {
    "affine": lambda k: Linear(k, 1.0, 2.0),
    "quadratic": Quadratic,
    "cosine": lambda k: Cosine(k, 4.0),
}
PURE = {"linear": lambda k: Linear(k, 1.0)}  # for a control
EVEN = ("quadratic", "cosine")
UNITS = ("softmax", "linear")
CASE = "{link}, d = {d}, k = {k}"

# %% tags=["hide-input"]
best = {
    (name, k): optimal_window(LINKS[name](k), context_length, noise_std)
    for name in LINKS
    for k in set(ranks)
}
record = np.geomspace(max(1, steps // 50), steps, 8).round().astype(int)
record = tuple(np.unique(record).tolist())
laws = {}
for j, (d, k) in enumerate(PROBLEMS):
    normal = stream(j, "monte carlo").standard_normal((d, d))
    laws[d, k] = LowRank(np.linalg.qr(normal).Q[:, :k])


def initial_step(unit, name, k):
    """Return Adam's initial step size."""
    return float(best[name, k].w) / 50 if unit == "softmax" else 0.03


trained = {}
for d, k in PROBLEMS:
    for unit in UNITS:
        links = LINKS if unit == "softmax" else LINKS | PURE
        members = [
            UnitConfig(
                Projected(make(k), np.array(laws[d, k].basis).T),
                noise_std,
                context_length,
                seed,
                laws[d, k],
                activation=unit,
                learning_rate=initial_step(unit, name, k),
            )
            for name, make in links.items()
            for seed in range(seeds)
        ]
        whole = pretrain(
            members,
            steps,
            batch_size,
            device=notebook.device(),
            shared_tokens=True,
            stream="native",
            dtype="float32",
            record=record,
        )
        for i, name in enumerate(links):
            mine = slice(i * seeds, (i + 1) * seeds)
            trained[d, k, unit, name] = replace(
                whole,
                units=whole.units[mine],
                parameters=whole.parameters[mine],
                history=tuple(h[mine] for h in whole.history),
            )
notebook.glue("contexts_seen", f"{steps * batch_size:,}")


# %% tags=["hide-input"]
def final_error(unit, member):
    """Return the test error of one unit at the end, on contexts of its own."""
    return evaluation_error(
        unit,
        member.task,
        noise_std,
        context_length,
        contexts,
        seed=member.seed,
        covariates=member.covariates,
    )[-1, 0]


angles, errors = {}, {}  # sine of the largest angle (times, seeds), error (seeds,)
for key, whole in trained.items():
    angles[key] = subspace_error(whole.M_history, np.array(laws[key[:2]].basis))
    alone = [
        replace(whole, units=(member,), parameters=(parameter,), history=())
        for member, parameter in zip(whole.units, whole.parameters, strict=True)
    ]
    errors[key] = np.array(list(map(final_error, alone, whole.units)))


def constant_error(name, k):
    """Return the variance of the query's label over functions and queries."""
    rng = stream(0, "monte carlo")
    u = torch.from_numpy(rng.standard_normal((100000, 1, k)))
    f = (LINKS | PURE)[name](k).sample(rng, 100000)(u / u.norm(dim=-1, keepdim=True))
    return float(f.var())


variance = {
    (name, k): constant_error(name, k) for name in (*LINKS, *PURE) for k in set(ranks)
}


def stacked(values, unit, names=LINKS):
    """Return what was measured on one kind of unit, (problems, links, ...)."""
    return np.array([[values[d, k, unit, name] for name in names] for d, k in PROBLEMS])


# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 9 for the first $(d,k)$ of the list: sine of the largest principal angle between $\\mathrm{col}(B)$ and the leading singular subspace of $M$ (top) and test error with the clean query label (bottom, common test set), against the Adam step. Circles: softmax, squares: linear attention; mean over seeds, intervals in the top row (cut at $10^{-3}$). Solid lines: exact minimal risk of the $k$-dimensional problem. Dashed: error of the best constant. All quantities are dimensionless.", "name": "fig-glm"}, "image": {"alt": "Six panels, three links. Top: the angle of softmax units falls below a few hundredths for all three links; that of linear attention falls only for the affine link and stays near one for the quadratic and the cosine. Bottom: the softmax error falls to the exact line; that of linear attention stays above the dashed line of the best constant in all three."}}
d, k = PROBLEMS[0]
figure, panels = plt.subplots(2, 3, figsize=(7.8, 5.4), sharex=True, sharey="row")
for (top, bottom), name in zip(panels.T, LINKS, strict=True):
    link = LINKS[name](k)
    for unit, marker in zip(UNITS, "os", strict=True):
        color = plots.COLORS["softmax" if unit == "softmax" else "linear attention"]
        mean, *ends = t_interval(angles[d, k, unit, name])
        plots.sampled_points(
            top,
            record,
            mean,
            *np.clip(ends, 1e-3, 1),
            f"{unit} attention",
            color,
            marker,
        )
        e = evaluation_error(
            trained[d, k, unit, name],
            trained[d, k, unit, name].units[0].task,
            noise_std,
            context_length,
            1000,
            covariates=laws[d, k],
        )[:-1].mean(1)
        bottom.plot(
            record, e, marker, color=color, markerfacecolor="white", markeredgewidth=1.4
        )
    plots.exact_curve(bottom, record, np.full(len(record), float(best[name, k].risk)))
    top.set(title=f"{name}, d = {d}, k = {k}", xscale="log", yscale="log")
    bottom.set(xlabel="step", yscale="log")
panels[0, 0].set_ylabel("subspace error")
panels[1, 0].set_ylabel("test error")
panels[0, 0].legend(fontsize=8)
for bottom, name in zip(panels[1], LINKS, strict=True):
    bottom.axhline(
        variance[name, k], color=plots.COLORS["guide"], linestyle="--", linewidth=1
    )
plt.show()

# %% [markdown]
# ## What is printed
#
# > **ITA slides, last slide: "Softmax Attention Learns Low-Dimensional Structure in
# > Nonlinear Functions".** Generalized linear models: affine $f(x)=w^\top x+2$,
# > quadratic $f(x)=(w^\top x)^2$, cosine $f(x)=\cos(4w^\top x)$.
#
# The figure shows a representation error $\rho(M,B)$ and the test error during pretraining, for softmax and linear attention. Its caption
# says that softmax attention learns the subspace. In the rebuttal the authors *suspect* what such a unit does: it learns the projection and
# averages over neighbors **in its range**, with a neighborhood suited to the link and the noise. That suspicion is judged in
# [](beyond).
#
# Not printed in any source available to us: the law of $w$ (we take $w=Ba$ with $a$
# uniform on the unit sphere of $\mathbb R^k$, as in Theorem 4), the law of the tokens,
# $d$, $k$, $n$, $\sigma$, and the formula of $\rho$.

# %% [markdown]
# ## In plain words
#
# A token has a part $u$ that matters and a part $v$ that does not. The **more** irrelevant directions attention looks at, the **fewer**
# tokens it can use, so the loss pushes the irrelevant block of $M$ to zero, whatever the link is. Linear attention predicts with
# $\frac1n\sum_iy_ix_i^\top Mx_q$, which changes sign when the query is turned around. For an even link (the quadratic, the cosine) this is
# never any help, so it learns nothing, not even the subspace; for the affine link it can learn the slope but not the $+2$.
#
# ## By hand: three coordinates, two of which matter
#
# $x=(\cos\theta,\sin\theta,\pm1)$ and $B=(e_1,e_2)$. With $M=cBB^\top$ the score is $c\cos(\theta-\theta_q)$. With $M=cI$ it is
# $c\cos(\theta-\theta_q)\pm c$: tokens whose last coordinate differs from the query's weigh less by $e^{-2c}$, which is $\frac1{16}$
# already at $c=\ln4$. Half of the context is lost.

# %% tags=["hide-input"]
at = torch.tensor([0.0, 0.0, 60.0, 60.0], dtype=torch.float64).deg2rad()
x = torch.stack([at.cos(), at.sin(), torch.tensor([1.0, -1.0, 1.0, -1.0]).double()], -1)
query = torch.tensor([1.0, 0.0, 1.0]).double()
for name, M in (
    ("c BB'", np.log(4) * torch.diag(torch.tensor([1.0, 1.0, 0.0])).double()),
    ("c I", np.log(4) * torch.eye(3).double()),
):
    print(
        f"M = {name:6} weights of the four tokens:",
        softmax_weights(x, query, M).numpy().round(3),
    )


# %% [markdown]
# ## What the exact theory says here
#
# With $M=cBB^\top$ the score is $c\,u\cdot u_q$ and the label a function of $u$: *exactly* the problem on the sphere of $\mathbb R^k$ with
# $M=cI_k$. Its best window $w^*$ and its risk are known ([](exact_risk)). So if a unit finds the projection, its error must
# come down to the exact minimum of the $k$-dimensional problem. For comparison, the best unit **without** the projection
# ($M=wI_d$, exact for the affine link by the integrals of Theorem 4's chapter):


# %% tags=["hide-input"]
def without_projection(d, k):
    """Return the smallest risk of M = w I_d on the affine link.

    It is right to about a thousandth, since the minimum is flat.
    """

    def risk(w):
        return low_rank_risk(d, k, w, w, context_length, noise_std).total

    return minimize_scalar(
        risk, bounds=(0, 12), method="bounded", options={"xatol": 0.2}
    ).fun


isotropic = {(d, k): without_projection(d, k) for d, k in PROBLEMS}
plots.table(
    [
        "problem",
        *(f"{name}: {what}" for name in LINKS for what in ("$w^*$", "risk")),
        "affine, $M=wI_d$: risk",
    ],
    [
        [
            f"d = {d}, k = {k}",
            *(
                text
                for name in LINKS
                for text in (
                    f"{float(best[name, k].w):.1f}",
                    f"{float(best[name, k].risk):.4f}",
                )
            ),
            f"{isotropic[d, k]:.4f}",
        ]
        for d, k in PROBLEMS
    ],
    "Exact best windows and risks of the $k$-dimensional problems; last column: the "
    "best unit without the projection",
)

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens | $x=Bu+B_\perp v$, $u$ and $v$ independent and uniform on unit spheres; $B$ random, the same for all units of a $(d,k)$ |
# | $w=Ba$, $a$ uniform on the sphere of $\mathbb R^k$ | kept |
# | $\rho(M,B)$ | two stand-ins: sine of the largest principal angle (drawn and judged), and $\Vert B_\perp^\top MB_\perp\Vert_2/\Vert B^\top MB\Vert_2$ (printed) |
# ```
#
# **Declared choices.** Start at $M=0$, Adam with steps falling linearly to zero;
# softmax units have the initial step size $w^*/50$ (they have about that far to go),
# linear attention $0.03$.
#
# ```{admonition} What trial runs changed
# :class: dropdown
# With one step size for all, the windows of the $k=2$ problems, which are far larger, were still on their way at the end; hence the rule.
# We had meant to judge the trained *window* against $w^*$; it converges slowly because the risk is flat around it, so the risks are
# compared instead, and the windows are printed as they are.
# ```
# ## The experiment

# %% [markdown]
# What is measured: the angle at the recorded steps, and the error at the end, every unit on contexts of its own. The best
# constant, the yardstick for the error, has the variance of the query's label.


# %% [markdown]
# Each unit saw {glue:text}`contexts_seen` contexts.
#
# **Exercise 1.** Is the subspace found faster for the link with the larger Lipschitz
# constant? Compare the top row of {numref}`fig-glm` with the step sizes before you
# answer.
#
# ```{admonition} Solution
# :class: dropdown
# The figure cannot say: step sizes were chosen in proportion to $w^*$, so time is not
# comparable between links.
# ```

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
shape_rows, error_rows = [], []
for d, k in PROBLEMS:
    basis = np.array(laws[d, k].basis)
    for name in LINKS:
        for unit in UNITS:
            M = trained[d, k, unit, name].M
            c = np.abs(np.trace(basis.T @ M @ basis, axis1=1, axis2=2) / k)
            shape_rows.append(
                [
                    f"{name}, d = {d}, k = {k}",
                    unit,
                    f"{angles[d, k, unit, name][-1].mean():.3f}",
                    f"{np.mean(outside_ratio(M, basis)):.3f}",
                    f"{c.mean():.2f}",
                    f"{float(best[name, k].w):.2f}" if unit == "softmax" else "none",
                ]
            )
        error_rows.append(
            [
                f"{name}, d = {d}, k = {k}",
                *(f"{errors[d, k, unit, name].mean():.4f}" for unit in UNITS),
                f"{float(best[name, k].risk):.4f}",
                f"{variance[name, k]:.4f}",
            ]
        )
plots.table(
    [
        "link, problem",
        "attention",
        "subspace error",
        "outside / inside",
        "mean diagonal",
        "exact $w^*$",
    ],
    shape_rows,
    r"Means over seeds at the end of training. Outside / inside: "
    r"$\Vert B_\perp^\top MB_\perp\Vert_2/\Vert B^\top MB\Vert_2$; "
    r"mean diagonal: of $B^\top MB$, its absolute value",
)

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
plots.table(
    [
        "link, problem",
        "softmax",
        "linear attention",
        "exact minimum for softmax",
        "best constant",
    ],
    error_rows,
    "Test error with the clean query label, mean over seeds, at the end of training",
)

# %% [markdown]
# ## Is the subspace learned?
#
# The control is linear attention on the two even links, which must be rejected by the same rule.

# %% tags=["hide-input"]
pairs = {"d": D[:, None], "k": K[:, None]}
ends = stacked(angles, "softmax")[:, :, -1]  # (problems, links, seeds)
judge(
    "P1.F9.subspace",
    sampled(CASE, ends, link=list(LINKS), **pairs),
    sampled(
        f"linear attention, {CASE}",
        stacked(angles, "linear", EVEN)[:, :, -1],
        link=EVEN,
        **pairs,
    ),
)

# %% [markdown]
# ## Who fails?
#
# The card compares the two on the same problem, seed by seed, with three thresholds. Against the best constant, the mean of the label,
# which needs no context at all, softmax attention is better and linear attention worse, on every link (table above). The large ratios on
# the affine link are the missing intercept: *without* its $+2$, on a purely linear class, linear attention does well,
# {glue:text}`pure_linear` of the variance of the label, in the order of the list of $(d,k)$.
#
# **Exercise 2.** Replace $+2$ by $+20$. What happens to each of the two units?
#
# ```{admonition} Solution
# :class: dropdown
# Nothing for softmax: weights sum to one, and a constant passes through. The error of
# linear attention grows with the square of the offset.
# ```

# %% tags=["hide-input"]
pure = stacked(errors, "linear", PURE)[:, 0].mean(-1)
shares = [value / variance["linear", k] for value, k in zip(pure, ranks, strict=True)]
notebook.glue("pure_linear", ", ".join(f"{share:.3f}" for share in shares))
over_softmax = stacked(errors, "linear") / stacked(errors, "softmax")
judge("P1.F9.error", sampled(CASE, over_softmax, link=list(LINKS), **pairs))

# %% [markdown]
# ## What does the trained softmax unit do?
#
# If the authors' suspicion is right, the error of the trained unit is that of the best window on the $k$-dimensional sphere, up to a small
# excess for the noise that training leaves in the irrelevant entries of $M$. For comparison: the best unit without the projection, on the
# affine link.

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
least = np.array([[float(best[name, k].risk) for name in LINKS] for k in K])
over_least = stacked(errors, "softmax") / least[..., None]
middle, low, high, _ = median_interval(over_least)
rows = []
for i, (d, k) in enumerate(PROBLEMS):
    for j, name in enumerate(LINKS):
        ends = plots.interval((low[i, j], high[i, j]))
        other = isotropic[d, k] / least[i, j]
        rows.append(
            [
                f"{name}, d = {d}, k = {k}",
                f"{middle[i, j]:.3f}",
                ends,
                f"{other:.2f}" if name == "affine" else "",
            ]
        )
plots.table(
    ["link, problem", "trained", "its interval", "best $wI_d$"],
    rows,
    "Test error of trained softmax units over the exact minimal risk of the "
    "$k$-dimensional problem, median over seeds; last column: the best unit without "
    "the projection",
)

# %% [markdown]
# ## Why linear attention does not even find the subspace
#
# Turn the query around, $u_q\to-u_q$: an even link's label stays, the prediction $h$ changes sign. So
# $\mathbb E(f-h)^2=\mathbb Ef^2+\mathbb Eh^2$, least at $h=0$: the optimal $M$ is zero, and what training leaves there is noise without a preferred
# subspace. On the affine link the odd part $w^\top x$ is learned, the subspace with it, and the error of the $+2$ remains. The card checks
# this equation, whatever $M$ is, on random contexts and random $M$; the control is the
# affine link, which has an odd part.
#
# **Exercise 3.** The sign of $M$ differs between seeds for two of the three links.
# Which, and why? (See [](lemma1_covariance).)
#
# ```{admonition} Solution
# :class: dropdown
# The quadratic and the cosine: they are even, so $\mathcal L(-M)=\mathcal L(M)$.
# ```


# %% tags=["hide-input"]
def excess(name, d, k):
    """Return by how much a random M raises the squared error above that of M = 0.

    It is the mean over contexts and their images with the query turned round, divided
    by the mean square of the prediction.
    """
    rng = stream(1, "monte carlo")
    normal = rng.standard_normal((contexts, context_length + 1, d))
    x = laws[d, k].from_normal(torch.from_numpy(normal))
    f = Projected(LINKS[name](k), np.array(laws[d, k].basis).T).sample(rng, contexts)
    turned = torch.cat([x[:, :-1], -x[:, -1:]], 1)
    noise = torch.from_numpy(rng.standard_normal((contexts, context_length)))
    y = f(x)[:, :-1] + noise_std * noise
    M = torch.from_numpy(rng.standard_normal((d, d)))
    above = square = 0.0
    for z in (x, turned):
        target, h = f(z)[:, -1], linear_attention(z[:, :-1], y, z[:, -1], M)
        above += float(((target - h) ** 2 - target**2).mean())
        square += float((h**2).mean())
    return above / square


even = [[excess(name, *p) for name in EVEN] for p in PROBLEMS]
judge(
    "P1.F9.even",
    exact(CASE, even, link=EVEN, **pairs),
    exact(CASE, [excess("affine", *p) for p in PROBLEMS], link="affine", d=D, k=K),
)

# %% [markdown]
# ## Where this leaves Figure 9
#
# Its message reproduces for every link and every $(d,k)$ tried; what softmax attention reaches is, within the intervals of the last table,
# the exact minimum of the small problem. With three relevant directions, twenty tokens hardly resolve $\cos(4w^\top x)$, and the exact
# minimum itself is more than half of the error of the best constant (see the table).

# %% tags=["remove-input"]
notebook.footer()
