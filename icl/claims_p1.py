"""The registry of paper 1: "Softmax Attention Adapts to Function Lipschitzness".

Rules speak about exponents wherever the paper prints an order (Omega, O, Theta): an
order is a statement about the local slope on logarithmic axes, ends included. A rule may
read a misprint from a case's parameters; only negative controls plant one.
"""

from __future__ import annotations

from math import inf

from icl.claims import Claim, Verdict
from icl.rates import printed_exponents, sketch_exponents

_THEOREM_2 = r"For sufficiently large $n$ the minimizer over $D(\mathcal F_L^+)$ is $M^*=w_{KQ}I_d$ with "
_SLOPE = r"local slope of $\log w^*$ in $\log n$ at the largest $n$, fixed $L$ and $\sigma$, exact"
_SIGMA_GROWS = r"noise variance grows with $n$, so that $nL^2/\sigma^2$ stays fixed"

CLAIMS: list[Claim] = [
    Claim(
        id="P1.risk.split",
        source="ITA slides, (ICL): decomposition of the population loss",
        statement=r"$\mathcal L=\mathcal L_{\rm bias}+\mathcal L_{\rm noise}$",
        quantity="sampled loss divided by the sum of exact bias and exact noise",
        rule=lambda case: (1.0, 1.0),
        resolution=0.2,
        control=r"noise with a mean (of the same second moment $\sigma^2$)",
    ),
    Claim(
        id="P1.risk.exact",
        source="this book: exact population risk",
        statement=r"The population loss at $M=wI$ is the sum of one-dimensional integrals derived here",
        quantity="sampled loss divided by the exact risk",
        rule=lambda case: (1.0, 1.0),
        resolution=0.2,
        control="the query counted as one more token of the denominator",
    ),
    Claim(
        id="P1.T2.form",
        source="ITA slides, Lemma 1 and Theorem 2: form of the minimizer, Sigma = I",
        statement=r"$M^*=w_{KQ}I_d$",
        quantity="entries of pretrained $M$ that the form forbids, in units of its mean diagonal: the mean "
                 "off-diagonal entry, and the first diagonal entry minus the others' mean; mean over seeds",
        rule=lambda case: (0.0, 0.0),
        resolution=0.1,
        control="functions that are not rotation invariant: all slopes along the first axis",
    ),
    Claim(
        id="P1.T2.minimizer",
        source="ITA slides, Theorem 2: pretraining finds the minimizer of the population loss",
        statement=r"The minimizer of the pretraining population loss is $M^*=w_{KQ}I_d$; "
                  r"pretraining reaches it",
        quantity="mean diagonal of pretrained $M$ divided by the exact minimizer $w^*$; mean over seeds",
        rule=lambda case: (0.97, 1.03),
        resolution=0.1,
        control="the appendix's convention mistaken for the slides': $w^*$ replaced by $w^*/2$",
    ),
    Claim(
        id="P1.T2.lower",
        source="ITA slides, Theorem 2, lower bound (ReLU class)",
        statement=_THEOREM_2 + r"$w_{KQ}>\Omega\big((nL^2/\sigma^2)^{1/d}\big)$",
        quantity=_SLOPE,
        rule=lambda case: (printed_exponents(case["dim"])[0], inf),
        resolution=0.01,
        control=_SIGMA_GROWS,
    ),
    Claim(
        id="P1.T2.upper",
        source="ITA slides, Theorem 2, upper bound (ReLU class)",
        statement=_THEOREM_2 + r"$w_{KQ}<O\big((nL^2/\sigma^2)^{2/d}\big)$",
        quantity=_SLOPE,
        rule=lambda case: (-inf, printed_exponents(case["dim"])[1]),
        resolution=0.01,
        control="the window that follows the nearest token instead of the optimum",
    ),
    Claim(
        id="P1.T2.lower-affine",
        source="ITA slides, Theorem 2, lower bound, read for the affine class, which the paper's "
               "Theorem 3.4 covers as well (reviews)",
        statement=r"$w_{KQ}>\Omega\big((nL^2/\sigma^2)^{1/d}\big)$ for $D(\mathcal F_L^{\rm aff})$",
        quantity=_SLOPE,
        rule=lambda case: (printed_exponents(case["dim"])[0], inf),
        expected=Verdict.CORRECTED,
        corrected=r"$w^*=\Omega\big((nL^2/\sigma^2)^{1/(d+2)}\big)$; sharp: "
                  r"$w^*\asymp(nL^2/\sigma^2)^{2/(d+3)}$",
        corrected_rule=lambda case: (sketch_exponents(case["dim"])[0], inf),
        resolution=0.01,
        control=_SIGMA_GROWS,
    ),
    Claim(
        id="P1.T2.sketch",
        source="ITA slides, proof sketch of Theorem 2: \"use these to get a range for w\"",
        statement=r"The bounds $L^2/w^2\lesssim L_{\rm bias}\lesssim L^2/w+L^2/n$ and "
                  r"$L_{\rm noise}=\Theta(\sigma^2(w^{d/2}+1)/n)$ give the exponents $1/d$ and $2/d$",
        quantity="exponent in $n$ of the lower and of the upper end of the range that the printed "
                 "ingredients leave for $w$, minimized numerically",
        rule=lambda case: (printed_exponents(case["dim"])[case["end"]],) * 2,
        expected=Verdict.CORRECTED,
        corrected=r"They give $1/(d+2)$ and $2/(d+2)$",
        corrected_rule=lambda case: (sketch_exponents(case["dim"])[case["end"]],) * 2,
        resolution=0.001,
        control="a planted misprint: noise exponent $(d-2)/2$, from which the printed ones would follow",
    ),
    Claim(
        id="P1.T2.noise",
        source="ITA slides, proof sketch of Theorem 2: noise term",
        statement=r"$L_{\rm noise}(w)=\Theta\big(\sigma^2(w^{d/2}+1)/n\big)$ for the relevant $w$",
        quantity=r"local slope of $\log L_{\rm noise}$ in $\log w$ at large $n$, from the exact risk",
        rule=lambda case: (case["dim"] / 2,) * 2,
        expected=Verdict.CORRECTED,
        corrected=r"$L_{\rm noise}(w)=\Theta\big(\sigma^2(w^{(d-1)/2}+1)/n\big)$: "
                  r"the sphere has dimension $d-1$",
        corrected_rule=lambda case: ((case["dim"] - 1) / 2,) * 2,
        resolution=0.01,
        control="tokens on the sphere of one dimension more",
    ),
    Claim(
        id="P1.T2.bias-lower",
        source="ITA slides, proof sketch of Theorem 2: lower bound on the bias",
        statement=r"$L_{\rm bias}(w)=\Omega(L^2/w^2)$",
        quantity=r"local slope of $\log L_{\rm bias}$ in $\log w$ at large $n$, from the exact risk",
        rule=lambda case: (-case.get("misprint", 2.0), inf),
        resolution=0.01,
        control="a planted misprint: 3/2 for the exponent 2, which the affine class violates",
    ),
    Claim(
        id="P1.T2.bias-upper",
        source="ITA slides, proof sketch of Theorem 2: upper bound on the bias",
        statement=r"$L_{\rm bias}(w)=O(L^2/w+L^2/n)$ for the relevant $w$",
        quantity=r"growth exponent in $n$ of the largest $L_{\rm bias}/(L^2/w+L^2/n)$ over windows "
                 r"up to $w^*$",
        rule=lambda case: (-inf, 0.0),
        resolution=0.01,
        control="windows that are not relevant: $w=n$, far narrower than the distance to the nearest token",
    ),
    Claim(
        id="P1.T2.noise-limit",
        source="ITA slides, Theorem 2, extreme example: sigma to infinity",
        statement=r"$\sigma\to\infty$: no signal, average the noise, $w_{KQ}\to0$",
        quantity=r"local slope of $\log w^*$ in $\log\sigma$ at the largest $\sigma$, exact",
        rule=lambda case: (-inf, -0.5),
        resolution=0.05,
        control=r"$L$ grows together with $\sigma$",
    ),
    Claim(
        id="P1.T2.signal-limit",
        source="ITA slides, Theorem 2, extreme example: L much larger than sigma",
        statement=r"$L\gg\sigma$: no point aggregating noise, pick the nearest neighbor, $w_{KQ}\to\infty$",
        quantity=r"$1/w^*$ without noise ($L/\sigma=\infty$) at fixed $n$, exact; zero if $w^*$ is infinite",
        rule=lambda case: (0.0, 1e-3),
        expected=Verdict.FAILS,
        resolution=1e-3,
        control="a situation in which the window does become narrow: $n$ very large",
    ),
    Claim(
        id="P1.T2.context-limit",
        source="ITA slides, Theorem 2, extreme example: n to infinity",
        statement=r"$n\to\infty$: the query token is in the context, $w_{KQ}\to\infty$",
        quantity=r"smallest local slope of $\log w^*$ in $\log n$ over all decades, exact",
        rule=lambda case: (0.05, inf),
        resolution=0.01,
        control=_SIGMA_GROWS,
    ),
    Claim(
        id="P1.T2.ratio",
        source="ITA slides, Theorem 2: the window depends on L and sigma through L^2 / sigma^2",
        statement=r"$w^*$ depends on $L$ and $\sigma$ only through $L/\sigma$",
        quantity=r"$w^*$ at $(10L,10\sigma)$ divided by $w^*$ at $(L,\sigma)$, exact",
        rule=lambda case: (1.0, 1.0),
        resolution=1e-6,
        control="only $L$ multiplied by 10",
    ),
    Claim(
        id="P1.T2.sharp",
        source="this book: sharp law of the optimal window",
        statement=r"$w^*\sim\big[\tfrac{(d-1)\Lambda}{3d\kappa}\big]^{2/(d+3)}$ (affine), "
                  r"$w^*\sim\big[\tfrac{p_0G\Lambda}{2(d-1)\kappa}\big]^{2/(d+2)}$ (ReLU), "
                  r"$\Lambda=nL^2/\sigma^2$",
        quantity="exact $w^*$ divided by the law, extrapolated to infinite $n$ linearly in the bandwidth",
        rule=lambda case: (1.0, 1.0),
        resolution=0.02,
        control="the affine law held against the ReLU class",
    ),
    # Chapters on trained units: norm_growth, lemma1_covariance, learned_parameters, nonlinear_low_rank
    Claim(
        id="P1.F3.relu",
        source="ITA slides, Empirical Scaling of ||M|| with L (Fig. 3 in the reviews): ReLU tasks",
        statement=r"$\Vert M\Vert$ grows faster during pretraining with larger $L$, on ReLU tasks, with both "
                  r"isotropic and non-isotropic $x_i$",
        quantity="logarithm of the ratio of the spectral norms of $M$ at $L$ and at the next smaller $L$, at "
                 "the least favorable of a quarter, half and all of the training; mean over seeds",
        rule=lambda case: (0.01, inf),
        resolution=0.0,
        control=r"$L$ and $\sigma$ doubled together, plain steps in proportion to $1/L^2$",
    ),
    Claim(
        id="P1.F3.cosine",
        source="ITA slides, Empirical Scaling of ||M|| with L (Fig. 3 in the reviews): cosine tasks",
        statement=r"$\Vert M\Vert$ grows faster during pretraining with larger $L$, on cosine tasks, with "
                  r"both isotropic and non-isotropic $x_i$",
        quantity="logarithm of the ratio of the spectral norms of $M$ at $L$ and at the next smaller $L$, at "
                 "the least favorable of a quarter, half and all of the training; mean over seeds",
        rule=lambda case: (0.01, inf),
        resolution=0.0,
        expected=Verdict.CORRECTED,
        corrected="It grows faster with larger $L$ as long as the exact optimal window does; where waves are "
                  "too short for the context, $w^*$ falls to zero and larger $L$ means slower growth",
        corrected_rule=lambda case: (0.01, inf) if case["grows"] else (-inf, -0.01),
        control="the two Lipschitz constants exchanged",
    ),
    Claim(
        id="P1.F3.flow",
        source="this book: gradient flow of the population risk",
        statement=r"Plain gradient steps from $M=0$ follow $\dot w=-\frac1d\mathcal L'(w)$, $M=wI$",
        quantity="mean diagonal of $M$ divided by the exact flow, averaged over the last three quarters "
                 "of the training; mean over seeds",
        rule=lambda case: (0.97, 1.03),
        resolution=0.05,
        control="the flow with twice the noise",
    ),
    Claim(
        id="P1.F3.adam",
        source="this book: growth of ||M|| with Adam",
        statement=r"With Adam, the start of the growth of $\Vert M\Vert$ does not depend on $L$ (ReLU class, "
                  "small noise)",
        quantity="spectral norm of $M$ at $L$ divided by that at the next smaller $L$ after 20 "
                 "steps; mean over seeds",
        rule=lambda case: (0.9, 1.1),
        resolution=0.15,
        control="plain gradient steps",
    ),
    Claim(
        id="P1.L1.form",
        source="ITA slides, Lemma 1: form of the minimizer for any Sigma",
        statement=r"Under natural symmetry, $x_i\sim\Sigma^{1/2}U^d$ implies $M^*=w_{KQ}\Sigma^{-1}$",
        quantity=r"$\Sigma^{1/2}M\Sigma^{1/2}$ in the axes of $\Sigma$, in units of its mean diagonal: the "
                 "mean off-diagonal entry, and the entry of the longest axis minus that of the shortest; "
                 "mean over seeds",
        rule=lambda case: (0.0, 0.0),
        resolution=0.1,
        control="functions that are isotropic in the original coordinates",
    ),
    Claim(
        id="P1.L1.scale",
        source="ITA slides, Lemma 1: afterwards Sigma = I without loss of generality",
        statement=r"The $w_{KQ}$ of $M^*=w_{KQ}\Sigma^{-1}$ is that of the isotropic problem, whatever "
                  r"$\Sigma$",
        quantity=r"mean diagonal of $\Sigma^{1/2}M\Sigma^{1/2}$ divided by the exact $w^*$ of the sphere; "
                 "mean over seeds",
        rule=lambda case: (0.97, 1.03),
        resolution=0.1,
        control=r"$M$ itself in place of $\Sigma^{1/2}M\Sigma^{1/2}$",
    ),
    Claim(
        id="P1.L1.wlog",
        source="ITA slides, Lemma 1: afterwards Sigma = I without loss of generality",
        statement=r"A unit $M$ on tokens $\Sigma^{1/2}u$ predicts what the unit $\Sigma^{1/2}M\Sigma^{1/2}$ "
                  "predicts on tokens $u$",
        quantity="largest difference of the two predictions over random contexts and random $M$",
        rule=lambda case: (-1e-9, 1e-9),
        resolution=0.0,
        control=r"the unit not transformed along with the tokens",
    ),
    Claim(
        id="P1.L1.original",
        source="ITA slides, Lemma 1, with the symmetry read as: functions whose law is rotation invariant "
               "in the coordinates of the tokens",
        statement=r"$x_i\sim\Sigma^{1/2}U^d$ and a rotation-invariant law of functions imply "
                  r"$M^*=w_{KQ}\Sigma^{-1}$",
        quantity=r"diagonal entry of $\Sigma^{1/2}M\Sigma^{1/2}$ at the longest axis minus that at the "
                 "shortest, in units of the mean diagonal; mean over seeds",
        rule=lambda case: (0.0, 0.0),
        expected=Verdict.CORRECTED,
        corrected=r"The law of $f\circ\Sigma^{1/2}$ must be rotation invariant. Otherwise the window is "
                  "narrower in the whitened directions along which $f$ varies more: the difference is "
                  "positive",
        corrected_rule=lambda case: (0.2, inf),
        resolution=0.1,
        control="functions that are isotropic in the whitened coordinates",
    ),
    Claim(
        id="P1.L1.sign",
        source="ITA slides, Lemma 1: some w >= 0 for any minimizer",
        statement=r"$w_{KQ}\ge0$ for any $M^*\in\arg\min\mathcal L$",
        quantity="sampled risk at $M=-w^*I$ divided by the exact risk at $w^*I$",
        rule=lambda case: (1.05, inf),
        expected=Verdict.CORRECTED,
        corrected=r"For even functions, $f(-x)=f(x)$, $\mathcal L(-M)=\mathcal L(M)$ and both signs are "
                  "minimizers; with an odd part the sign is determined",
        corrected_rule=lambda case: (1.0, 1.0) if case["even"] else (1.05, inf),
        resolution=0.1,
        control="an odd part is added to the even functions",
    ),
    Claim(
        id="P1.B1.rows",
        source="reviews: submission, line 135, and its correction in the rebuttal",
        statement="The estimator does not depend on the first $d$ columns of $W_V$",
        quantity="largest change of the predictions of random units when these entries of $W_V$ are drawn "
                 "anew",
        rule=lambda case: (0.0, 0.0),
        resolution=0.0,
        expected=Verdict.CORRECTED,
        corrected="It does not depend on the first $d$ rows (the authors' correction); on the columns it does"
                  "",
        corrected_rule=lambda case: (0.0, 0.0) if case["part"] == "rows" else (1e-3, inf),
        control="the last row of $W_V$ instead of the first ones",
    ),
    Claim(
        id="P1.B1.values",
        source="rebuttal, Lemma B.1: the optimal W_V ignores the covariates",
        statement=r"With $(v^\top,c)$ the last row of $W_V$, the optimal $v$ is $0$",
        quantity=r"$\Vert v\Vert/|c|$ of trained full units, mean over seeds",
        rule=lambda case: (-inf, 0.1),
        resolution=0.02,
        control=r"functions that all lean the same way, not symmetric under $f\to-f$",
    ),
    Claim(
        id="P1.P.labels",
        source="rebuttal: the optimal attention parameters ignore the labels (last rows set to zero after "
               "Ahn et al. and Mahankali et al.)",
        statement=r"The label row of the optimal $W_K^\top W_Q$ is zero",
        quantity=r"norm of the label row of trained $W_K^\top W_Q$ divided by that of its token block, mean "
                 "over seeds",
        rule=lambda case: (-inf, 0.1),
        resolution=0.02,
        control=r"functions that all lean the same way, not symmetric under $f\to-f$",
    ),
    Claim(
        id="P1.P.block",
        source="rebuttal, answer 1: trained models have the decomposition of eq. (4)",
        statement=r"Trained $W_K^\top W_Q$ have the block form $\mathrm{diag}(M,0)$",
        quantity="norm of the last column of $W_Q$, which the form sets to zero, after training divided by "
                 "before; the seed farthest from one",
        rule=lambda case: (0.0, 0.1),
        resolution=0.0,
        expected=Verdict.CORRECTED,
        corrected="All entries that act on the query's covariates have it; the last column of $W_Q$ meets "
                  "only the query's empty label slot, never gets a gradient and keeps its initialization",
        corrected_rule=lambda case: (1 - 1e-5, 1 + 1e-5),
        control="the first column of $W_Q$, which learns",
    ),
    Claim(
        id="P1.P.corner",
        source="ITA slides, restriction of the parameters (eq. (4)), read as a statement on the optimum",
        statement=r"$W_V=\mathrm{diag}(0_{d\times d},1)$: the corner is $c=1$",
        quantity="$|c|$ of trained full units, mean over seeds",
        rule=lambda case: (1.0, 1.0),
        resolution=0.05,
        expected=Verdict.CORRECTED,
        corrected=r"The optimal corner is $c^*=\mathbb E\,pf_q/\mathbb E\,p^2$, below $1$ when labels are "
                  "noisy, slightly above when they are not",
        corrected_rule=lambda case: (case["corner"] - 0.02, case["corner"] + 0.02),
        control="units trained with much noise held against the optimum with little noise",
    ),
    Claim(
        id="P1.P.width",
        source="rebuttal, point 3: infinite width",
        statement=r"Increasing the inner dimension of $M_K^\top M_Q$ does not change the optimal $M$",
        quantity="mean diagonal of the token block divided by that at inner dimension $d+1$, mean over seeds",
        rule=lambda case: (0.97, 1.03),
        resolution=0.1,
        control="inner dimension below $d$",
    ),
    Claim(
        id="P1.F9.subspace",
        source="ITA slides, last slide (Fig. 9): GLMs with affine, quadratic and cosine link",
        statement="Softmax attention learns low-dimensional structure in nonlinear functions",
        quantity=r"sine of the largest principal angle between $\mathrm{col}(B)$ and the leading left "
                 "singular subspace of trained $M$, mean over seeds",
        rule=lambda case: (-inf, 0.1),
        resolution=0.0,
        control="linear attention on the two even links",
    ),
    Claim(
        id="P1.F9.error",
        source="ITA slides, last slide, and abstract: linear attention against softmax (Fig. 9)",
        statement="Linear attention fails on basic nonlinear tasks, on which softmax attention succeeds",
        quantity="test error divided by the variance of the query's label over tasks and queries, each unit "
                 "on a test set of its own; mean over seeds",
        rule=lambda case: (-inf, 1.0) if case["softmax"] else (1.0, inf),
        resolution=0.0,
        control="the affine link without its +2: a purely linear class",
    ),
    Claim(
        id="P1.F9.window",
        source="rebuttal to reviewer BJxR: with nonlinear links the attention weights learn the projection "
               "and implement nearest neighbors in its range (suspected there)",
        statement="The trained unit is the projection with the window that is best for the link on the low-"
                  "dimensional sphere",
        quantity="test error of trained units, each on a test set of its own, divided by the exact minimal "
                 "risk of the $k$-dimensional problem; mean over seeds",
        rule=lambda case: (0.9, 1.1),
        resolution=0.15,
        control="the best unit without the projection, $M=wI_d$ (affine link, exact)",
    ),
    Claim(
        id="P1.F9.even",
        source="this book: linear attention on even links",
        statement="On even links linear attention has nothing to learn: its optimal $M$ is zero",
        quantity=r"mean diagonal of $B^\top MB$ of trained linear attention, mean over seeds",
        rule=lambda case: (0.0, 0.0),
        resolution=0.3,
        control="the affine link, whose odd part it does learn",
    ),
]
