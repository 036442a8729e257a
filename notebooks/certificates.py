# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Proofs and certificates
#
# **Short answer.** Among all matrices, symmetric or not, the best one is a multiple of the identity, at the dimensions and
# context lengths certified {judged}`P1.T2.form`. The upper bound of Theorem 3 holds for every $L$-Lipschitz test function, and
# not only for the class that a layer was trained on {judged}`P1.T3.any`. A function of the ReLU class has the Lipschitz constant
# that the slides say {judged}`P1.T2.lip`.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d of the covariates
more_dims = [
    8
]  # further dimensions, in which the form of the minimizer is certified too
lipschitz = 1.0  # Lipschitz constant L of the class
noise_std = 1.0  # standard deviation sigma of the label noise
context_length = 20  # n of the certificate; also ten times as long

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt

from icl.experiments import certificates
from icl.risk import certify_isotropy, worst_case_risk
from icl.tasks import Cosine, ReLU
from icl_book import notebook, plots
from icl_book.claims import LIMIT, cases, judge

notebook.setup(globals())

# %% tags=["hide-input"]
shown = [3, context_length, 10**6]
margins = certificates.margins([*dims, *more_dims], shown)
varying = margins[~margins.kind.isin(["affine", "quadratic"])]
labels = ("dimension d", "certified margin")
panels = plots.panels(varying, "n", labels, title="n = {}", height=2.8)
plots.lines(panels, varying, "d", "margin", "kind", col="n", marker="o")
for ax in panels.values():
    ax.set(ylim=(0, 1.05), xticks=[*dims, *more_dims])
handles = panels[shown[0]].get_legend_handles_labels()
plt.gcf().legend(*handles, loc="outside lower center", ncols=4)
plt.show()

# %% [markdown]
# ```{caption} fig-margins
# :alt: Three panels for three context lengths. Against the dimension, the certified margin of ReLU functions and of cosines with
# L = 1 and L = 4 lies between about 0.4 and 1 everywhere. For cosines with L = 8 it is missing in several places.
#
# Where it is certified that no matrix beats the best multiple of the identity: lower bound on what turning the attention away
# from the query adds to the risk, in units of its first term ({prf:ref}`thm-form`). Above zero it is a proof. A missing point is not certified. Affine
# and quadratic functions have margin one everywhere. Jumps come from the method.
# ```
#
# ## In plain words
#
# Three statements of other chapters need a proof over infinitely many cases. A sweep cannot give it.
#
# 1. **All matrices.** A layer can look anywhere, for instance at a point turned away from the query. Where turning away always
#    adds to the risk, the best matrix looks straight at the query: it is a multiple $w$ of the identity.
# 2. **All Lipschitz functions.** With the window of one class the risk on *every* $L$-Lipschitz function has a common upper
#    bound. It falls with $n$, faster than the bound that is printed.
# 3. **All pairs of points.** How steep can a function with a kink be between two points of the sphere? As steep as its steeper
#    side.
#
# Theorem 3's price of a wrong window follows from two power laws by a short computation, which is here too. The first
# certificate is one call:

# %%
proof = certify_isotropy(ReLU(dim=5), n=20)
print(f"every turn adds at least {proof.margin:.2f} of the first term")
print(f"the least value met is {proof.least:.2f}, in {proof.cells} intervals")

# %% [markdown]
# ```{admonition} What is assumed, and what we test
# :class: dropdown
# | assumption | here |
# |---|---|
# | tokens and query uniform on the sphere, class rotation invariant | kept |
# | a minimizer exists | kept |
# | printed "for sufficiently large $n$" | single $n$ are certified, uniformly in $\rho$ and $\alpha$ |
# | values of integrals | quadratures; two rules agree to 1e-13; no interval arithmetic |
# ```
#
# ## The form of the minimizer
#
# The slides say of Theorem 2: "the minimizer [...] is $\mathbf{M}^* = w_{KQ} \mathbf{I}_d$". The {term}`risk <population risk>`
# of *every* matrix decides this, not averages of trained entries.
#
# :::{prf:proposition} the form of the minimizer
# :label: thm-form
# Let $f$, tokens and noise be independent, $f$ and the noise with finite second moments, and let a minimizer exist. For a
# rotation-invariant class with coefficients $a_\ell$ in {term}`Gegenbauer polynomials` $P_\ell$, and any matrix $M$, symmetric or
# not, put $\rho=\|Mx_q\|$ and $\cos\alpha=x_q\cdot Mx_q/\rho$. Then
#
# $$\begin{aligned}
# \mathcal L(M)&=\mathbb E_{x_q}\big[\mathcal L(\rho I)+2G(\rho,\alpha)\big],\\
# G&=\sum_\ell a_\ell\,m_\ell(\rho)\,(1-P_\ell(\cos\alpha)),\\
# m_\ell(\rho)&=\mathbb E\sum_i\omega_iP_\ell(t_i)\ \text{ at }\rho I,\quad t_i=x_i\cdot x_q.
# \end{aligned}$$
#
# If $G>0$ for all $\rho>0$ and $\alpha\ne0$ (for even classes, where $G$ is zero at $\alpha=\pi$ too: $0<\alpha<\pi$), every
# minimizer is a multiple of $I$, for every $\sigma$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# Given $x_q$, attention has the weights of the query $c=Mx_q/\rho$ with $w=\rho$. Of the mean over $f$,
# $\sum_{ij}\omega_i\omega_jk(x_i\cdot x_j)-2\sum_i\omega_ik(x_i\cdot x_q)+k(1)$, and of the noise, only the middle term depends on
# $x_q$. By the addition theorem the mean of $P_\ell(x_i\cdot x_q)$ over rotations about $c$ is $P_\ell(x_i\cdot
# c)\,P_\ell(\cos\alpha)$. Hence the formula, and $\mathcal L(M)\ge\mathbb E\,\mathcal L(\rho I)\ge\min_w\mathcal L(wI)$. With
# equality, $\alpha=0$ (or $\pi$, for even classes) wherever $\rho>0$: every $x$ is an eigenvector of $M$. $\square$
# :::
#
# ## By hand: looking the wrong way
#
# Take affine functions without their constant, $f=\ell\,q\cdot x$, of power $a_1$, and a long context. With $M=wI$ the prediction
# is $A\,f(x_q)$ with some $A<1$, so the bias is $(1-A)^2a_1$. With $M=-wI$ it is $-A\,f(x_q)$, with bias $(1+A)^2a_1$. For
# $A=\frac12$ these are $\frac14a_1$ and $\frac94a_1$: looking the wrong way adds $2a_1$. The proposition says the same. Here $m_1=A$
# and $1-\cos\alpha=2$, so $2G=2\cdot a_1\cdot\frac12\cdot2=2a_1$.
#
# **Exercise 1.** For an even class $G$ vanishes at $\alpha=\pi$. What does that say about $M=-wI$?
#
# ```{admonition} Solution
# :class: dropdown
# It has the same risk as $wI$: an even function has the same values at the opposite end of the sphere. The proposition still gives
# multiples of $I$, of either sign, and trained units find both ([](/notebooks/theorem3_generalization.ipynb)).
# ```
#
# ## When the margin is positive
#
# For affine functions $G>0$ is proved: $m_1$ is zero at $\rho=0$ and its derivative is a mean of variances. For other classes
# $m_\ell$ of high degrees can be slightly negative. `certify_isotropy` bounds $G$ from below over *all* $\rho$ and $\alpha$.
# Bounds on the derivatives of $m_\ell$, which are means of cumulants, carry values at the ends of an interval of $\rho$ into it,
# down to zero and up to infinity. In $\cos\alpha$ the sum is a polynomial.
#
# The certificate stops in two places. For even classes at $n=2$ all $m_\ell$ vanish, and any rotation of $w^*I$ is as good. For
# short waves the bounds do not suffice or, with few tokens, $G$ is negative for some $\rho$.
#
# The second derivatives at $w^*(I+\epsilon K)$, $\|K\|_F^2=d$, are one number on each of three spaces (Schur). With
# $A=w^{*2}\mathcal L''(w^*)$ and $B=\frac2{d-1}\sum_\ell a_\ell m_\ell\,\ell(\ell+d-2)$ they are $A$ for multiples of $I$,
# $\frac{2A+dB}{d+2}$ for traceless symmetric and $B$ for antisymmetric matrices. The card judges the margin and all three.

# %%
certified = [2, context_length, 10 * context_length]
forms = certificates.forms([*dims, *more_dims], certified, lipschitz, noise_std)
judge("P1.T2.form", forms, error="error", name="{kind}, d = {d}, n = {n}: {what}")

# %% [markdown]
# A negative $G$ would have been noticed. For cosines of $L=8$ in five dimensions with three examples there is one: at that
# length of $Mx_q$ turning away lowers the risk. Whether some matrix then beats the best multiple of $I$ is open.

# %%
short_waves = certify_isotropy(Cosine(dim=5, lipschitz=8.0), n=3)
print(
    f"G is {short_waves.least:.2f} of its first term at rho = {short_waves.kappa:.2f}"
)

# %% [markdown]
# ## The price of a wrong window
#
# :::{prf:proposition} Theorem 3, sharp
# :label: thm-price
# Let the bias at $L$ be $cL^2w^{-a}$ and the noise $\sigma^2\kappa w^{(d-1)/2}/n$ to leading order
# ([](/notebooks/theorem2_scaling.ipynb): $a=\frac32$ for the ReLU class, $2$ for the affine class). Put $s=\frac{2a}{d-1}$,
# $e=\frac2{d-1+2a}$, $\Lambda=nL^2/\sigma^2$ and $\rho=L'/L$. As $n\to\infty$ at fixed $L/\sigma$:
#
# 1. The least risk at $L$ is of order $L^2\Lambda^{-ae}$, and the noise is the share $\frac s{1+s}$ of it, for ReLU functions
#    $\frac3{d+2}$.
# 2. With the window of $L$ the risk at $L'$ over the least risk there tends to
#    $P(\rho)=\frac{\rho^2+s}{(1+s)\,\rho^{2-2ae}}$.
# 3. On ReLU functions the window of the affine class of the same $L$ costs a factor of order $\Lambda^{3/((d+2)(d+3))}$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *1.* At the best window the derivative in $w$ vanishes: $a\cdot$bias $=\frac{d-1}2\cdot$noise, so noise $=s\cdot$bias, and
# $w^*=C\Lambda^e$ with a constant $C$. *2.* On functions of $L'$ the same window has $\rho^2$ times the bias and the same noise,
# together $(\rho^2+s)\cdot$bias. The best window for $L'$ is $\rho^{2e}$ times as large in $w$, so its bias is $\rho^{2-2ae}$
# times the original one and its risk $1+s$ times that. Divide. *3.* The affine window is of order $\Lambda^{2/(d+3)}$. On ReLU
# functions its bias $L^2w^{-3/2}$ is of order $L^2\Lambda^{-3/(d+3)}$, its noise of the smaller order $L^2\Lambda^{-4/(d+3)}$,
# and the least risk of order $L^2\Lambda^{-3/(d+2)}$. $\square$
# :::
#
# The cards of these statements are in [](/notebooks/theorem3_generalization.ipynb).
#
# **Exercise 2.** Why does a small error in $L$ cost almost nothing?
#
# ```{admonition} Solution
# :class: dropdown
# $P(1)=1$ is the least value, since no window beats the best one. Near $\rho=1$ the loss grows like $(\rho-1)^2$.
# ```
#
# ## Any Lipschitz function
#
# A review says of the paper's Theorem 3.5: "whose test data are any arbitrary L−Lipschitz task". Two facts bracket all of them.
#
# :::{prf:proposition} the worst Lipschitz function
# :label: thm-any
# Let $c_\ell$ be the bias at $M=wI$ of the class with covariance $P_\ell$. For every $L$-Lipschitz $f$,
# $L_{\rm bias}(f)\le L^2\max_\ell\frac{c_\ell}{\ell(\ell+d-2)}$, and the largest bias over all of them is at least that of
# $\frac Lb\cos(b\,u\cdot x)$, for every $b>0$.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# *Above.* Tokens and query are uniform on the sphere, so the bias of a fixed $f$ does not change when $f$ is rotated. As a
# quadratic form in $f$ it is therefore diagonal in the degree of spherical harmonics: $L_{\rm bias}(f)=\sum_\ell
# c_\ell\|f_\ell\|^2$. An $L$-Lipschitz $f$ has $\sum_\ell\ell(\ell+d-2)\|f_\ell\|^2=\mathbb E|\nabla f|^2\le L^2$. *Below.* Each
# $\frac Lb\cos(b\,u\cdot x)$ is $L$-Lipschitz, and its bias is exact. $\square$
# :::

# %%
bound = worst_case_risk(dim=3, w=100.0, n=10**7, noise_std=1.0)
print(f"no 1-Lipschitz function has a risk above {bound.upper:.2e}")
print(f"a cosine of wavenumber {bound.wavenumber:.1f} has {bound.lower:.2e}")

# %% tags=["hide-input"]
middle = dims[min(1, len(dims) - 1)]
waves = certificates.bracket(middle, 10**7, lipschitz, noise_std)
figure, ax = plt.subplots(figsize=(5.8, 3.0))
plots.exact_curve(ax, waves.wavenumber, waves.bound, "no L-Lipschitz function above")
wave = plots.COLORS["cosine"]
plots.exact_curve(ax, waves.wavenumber, waves.bias, "cosines of slope L", wave)
affine = {"color": plots.COLORS["affine"], "linestyle": "--"}
ax.plot(waves.wavenumber, waves.affine, label="slope L everywhere", **affine)
ax.axvline(waves.w[0] ** 0.5, color=plots.COLORS["guide"], linewidth=1)
ax.set(xscale="log", yscale="log", xlabel="wavenumber b", ylabel="bias")
ax.set(title=f"d = {middle}")
ax.legend(fontsize=9, loc="lower center")
plt.show()

# %% [markdown]
# ```{caption} fig-worst
# :alt: A humped curve of bias against wavenumber on logarithmic axes with its peak near one over the bandwidth. The horizontal
# certificate lies a factor of about three above the peak. Affine functions of full slope lie far below the peak.
#
# Exact bias (squared label units) of $L$-Lipschitz functions with the window that is best for $D(\mathcal F_L^+)$, $L=\sigma=1$,
# $n=10^7$: cosines $\frac Lb\cos(b\,u\cdot x)$ against their wavenumber $b$, affine functions of slope $L$ (dashed), and the
# bound for all (horizontal). The vertical line marks $\sqrt w$, one over the bandwidth.
# ```
#
# The worst functions wiggle once per window. As the window narrows, their bias falls like $L^2/w$, which is the *upper*
# ingredient of the slides' sketch, attained. As a control, waves of that length with amplitude $L$, which are not $L$-Lipschitz,
# do not fall at all.

# %%
ends = certificates.worst_slopes(dims, lipschitz, noise_std)
all_functions, control = (
    ends[ends.functions == which].drop(columns="functions")
    for which in ("Lipschitz", "rougher")
)
judge(
    "P1.T3.any",
    cases(all_functions, name="d = {dim}, upper end", **LIMIT),
    cases(control, name="d = {dim}", **LIMIT),
)

# %% [markdown]
# ## The Lipschitz constant of the ReLU class
#
# :::{prf:proposition} the Lipschitz constant
# :label: thm-lip
# On the unit sphere of $\mathbb R^d$, $d\ge2$, with $\Vert q\Vert=1$, the function $\ell_1(q\cdot x)_++\ell_2(-q\cdot x)_++b$ has
# $\mathrm{Lip}(f)=\max(|\ell_1|,|\ell_2|)$, as the slides say.
# :::
#
# :::{admonition} Proof
# :class: dropdown
# The function depends on $q\cdot x$ with slopes $\ell_1$ and $-\ell_2$, so the maximum is an upper bound. Where the sphere
# crosses the kink, $q\cdot x=0$, it runs along $q$ and meets both slopes. (A $q$ of another length is a factor.) $\square$
# :::
#
# Points on one great circle through $q$ are the closest ones with given values of $f$, so a search over pairs of angles is
# enough in every dimension.

# %%
slopes = [(1.0, 0.3), (-0.7, 0.2), (0.5, 0.5), (1.0, -1.0), (0.1, 0.9)]
found = certificates.steepest(slopes)
template = "$\\ell_1$ = {first:g}, $\\ell_2$ = {second:g}"
judge("P1.T2.lip", found, kind="found", high="bound", name=template, folded=True)

# %% [markdown]
# ## To remember
#
# Where looking away from the query always costs, the best matrix is a multiple of the identity, and for the classes of Theorem
# 2 that is certified. One bound holds for every Lipschitz function, and the worst ones wiggle once per window.

# %% tags=["remove-input"]
notebook.footer()
