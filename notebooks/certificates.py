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
# # Proofs and certificates
#
# **Short answer.** Among all matrices, symmetric or not, the best one is a multiple of the identity, at the dimensions and
# context lengths certified {judged}`P1.T2.form`.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [2, 3, 5, 8]  # dimensions d of the covariates
lipschitz = 1.0  # Lipschitz constant L of the class
noise_std = 1.0  # standard deviation sigma of the label noise
context_length = 20  # n of the certificate; also ten times as long

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
from functools import partial

import numpy as np

from icl.risk import certify_isotropy, curvatures, optimal_window
from icl.tasks import Affine, Cosine, Quadratic, ReLU
from icl_book import notebook, plots
from icl_book.claims import exact, found, judge

notebook.setup(globals())

CLASSES = {"affine": Affine, "ReLU": ReLU}
KINDS = np.array([["affine"], ["ReLU"]])  # a row for each class, a column for each d
tasks = [[task(d, lipschitz) for d in dims] for task in CLASSES.values()]

# %% [markdown]
# ## The form of the minimizer
#
# The risk of *every* matrix decides the form, not averages of trained entries over seeds:
#
# :::{prf:theorem} the form of the minimizer
# :label: thm-form
# :nonumber:
# Let $f$, tokens and noise be independent, $f$ and the noise with finite second moments, and let a minimizer exist. For a rotation-invariant class with coefficients $a_\ell$, and any matrix $M$, symmetric or not, put $\rho=\|Mx_q\|$ and $\cos\alpha=x_q\cdot Mx_q/\rho$. Then
#
# $$\begin{aligned}
# \mathcal L(M)&=\mathbb E_{x_q}\big[\mathcal L(\rho I)+2G(\rho,\alpha)\big],\\
# G&=\sum_\ell a_\ell\,m_\ell(\rho)\,(1-P_\ell(\cos\alpha)),\\
# m_\ell(\rho)&=\mathbb E\sum_i\omega_iP_\ell(t_i)\ \text{ at }\rho I.
# \end{aligned}$$
#
# If $G>0$ for all $\rho>0$ and $\alpha\ne0$ (for even classes, where $G$ is zero at $\alpha=\pi$ too: $0<\alpha<\pi$), every minimizer is a multiple of $I$, for every $\sigma$.
# :::
#
# :::{prf:proof}
# Given $x_q$, attention has the weights of the query $c=Mx_q/\rho$ with $w=\rho$. Of the mean over $f$,
# $\sum_{ij}\omega_i\omega_jk(x_i\cdot x_j)-2\sum_i\omega_ik(x_i\cdot x_q)+k(1)$, and of the noise, only the middle term depends on $x_q$; and by the addition theorem the
# mean of $P_\ell(x_i\cdot x_q)$ over rotations about $c$ is $P_\ell(x_i\cdot c)\,P_\ell(\cos\alpha)$. Hence the formula, and $\mathcal L(M)\ge\mathbb E\,\mathcal L(\rho I)\ge\min_w\mathcal L(wI)$. With
# equality, $\alpha=0$ (or $\pi$, for even classes) wherever $\rho>0$: every $x$ is an eigenvector of $M$. $\square$
# :::
#
# For affine functions $G>0$ is proved: $m_1$ is zero at $\rho=0$ and its derivative is a mean of variances. For other classes $m_\ell$ of high degrees can be slightly negative, and `certify_isotropy`
# bounds $G$ from below over *all* $\rho$ and $\alpha$, in units of its first term: bounds on the derivatives of $m_\ell$, which are means of cumulants, carry values at the ends of an interval of
# $\rho$ into it, down to zero and up to infinity; in $\cos\alpha$ the sum is a polynomial. It is certified up to the error of the quadratures, which two rules agree on to 1e-13 (no interval
# arithmetic), for each class, $d$ and $n$ on its own. The folded table lists the bounds, and where the certificate stops: for even classes at $n=2$, where all $m_\ell$ vanish and any rotation of
# $w^*I$ is as good; and for short waves, where the bounds do not suffice or, with few tokens, $G$ is negative for some $\rho$. Printed is "for sufficiently large $n$": at fixed $\rho$ nothing
# numerical is needed, $m_\ell\to I_{\nu+\ell}(\rho)/I_\nu(\rho)>0$ as $n\to\infty$; uniformity in $\rho$ is missing, and certified are the $n$ of the card.
#
# The second derivatives at $w^*(I+\epsilon K)$, $\|K\|_F^2=d$, are one number on each of three spaces (Schur): with $A=w^{*2}\mathcal L''(w^*)$ and
# $B=\frac2{d-1}\sum_\ell a_\ell m_\ell\,\ell(\ell+d-2)$ they are $A$ for multiples of $I$, $\frac{2A+dB}{d+2}$ for traceless symmetric and $B$ for antisymmetric matrices.

# %% tags=["hide-input"]
form_n = [2, context_length, 10 * context_length]


def landscape(task, m):
    """Return margin and second derivatives at the minimizer over the risk; errors."""
    best = optimal_window(task, m, noise_std)
    second, error = curvatures(task, best.w, m, noise_std) / best.risk
    proof = certify_isotropy(task, m)
    middle, half = (proof.least + proof.margin) / 2, (proof.least - proof.margin) / 2
    return [middle, *second], [half, *error]


landscapes = np.array([[[landscape(t, m) for m in form_n] for t in r] for r in tasks])
form = judge(
    "P1.T2.form",
    exact(
        "{kind}, d = {d}, n = {n}: {what}",
        landscapes[..., 0, :],
        landscapes[..., 1, :],
        kind=KINDS[..., None, None],
        d=np.array(dims)[:, None, None],
        n=np.array(form_n)[:, None],
        what=["turned", "multiples of I", "symmetric", "antisymmetric"],
    ),
)
form

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
EVEN = {"quadratic": Quadratic} | {
    f"cosine, L = {L:g}": partial(Cosine, lipschitz=L) for L in (1.0, 4.0, 8.0)
}


def bound_text(proof):
    """Return a bound in words."""
    if proof.margin > -np.inf:
        return f"{proof.margin:.2f}"
    return "negative" if proof.least < 0 else "none"


rows = []
for name, task in (CLASSES | EVEN).items():
    for m in (2, 3, context_length, 10**6):
        proofs = [certify_isotropy(task(k), m) for k in dims]
        rows.append([f"{name}, n = {m}", *map(bound_text, proofs)])
plots.table(
    ["class and context length", *(f"$d={k}$" for k in dims)],
    rows,
    r"Certified lower bounds on $G$ over its first term, over all $\rho$ and $\alpha$; "
    r"none: not certified; negative: a $\rho$ and $\alpha$ with $G<0$",
)

# %% [markdown]
# ## The Lipschitz constant
#
# The slides say that $\mathrm{Lip}(f)=\max(|\ell_1|,|\ell_2|)$ for $f$ of the ReLU class. For $\Vert q\Vert=1$ it is so on the sphere too: $f$ is a function of
# $q\cdot x$ with slopes $\ell_1$ and $-\ell_2$, so the maximum is an upper bound; and where the sphere crosses the kink, $q\cdot x=0$, it runs along $q$ and meets
# both slopes. (That needs $d\ge2$; a $q$ of another length is a factor.) Points on one great circle through $q$ are the closest ones with given values of $f$,
# so a search over pairs of angles is enough in every dimension.

# %% tags=["hide-input"]
off_kink = np.geomspace(1e-6, np.pi / 2, 150)
polar = np.pi / 2 + np.concatenate([-off_kink, [0.0], off_kink])
height, chord = np.cos(polar), 2 * np.sin(np.abs(polar[:, None] - polar) / 2)
chord[chord == 0] = np.inf


def steepest(first, second):
    """Return the largest difference quotient found, over the larger slope."""
    f = first * np.maximum(height, 0) + second * np.maximum(-height, 0)
    quotient = np.abs(f[:, None] - f) / chord
    return quotient.max() / max(abs(first), abs(second))


rounding = 1 / off_kink[0] * np.finfo(float).eps  # of the nearest points' quotient
pairs = np.array([(1.0, 0.3), (-0.7, 0.2), (0.5, 0.5), (1.0, -1.0), (0.1, 0.9)])
template = "$\\ell_1$ = {first:g}, $\\ell_2$ = {second:g}"
lip = judge(
    "P1.T2.lip",
    found(
        template,
        [steepest(*p) for p in pairs],
        1 + rounding,
        first=pairs[:, 0],
        second=pairs[:, 1],
    ),
)
lip

# %% tags=["remove-input"]
notebook.footer()
