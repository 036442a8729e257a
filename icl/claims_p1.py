"""The registry of paper 1: "Softmax Attention Adapts to Function Lipschitzness".

Rules speak about exponents wherever the paper prints an order (Omega, O, Theta): an
order is a statement about the local slope on logarithmic axes, ends included. A rule may
read a misprint from a case's parameters; only negative controls plant one.
"""

from __future__ import annotations

from math import inf

from icl.claims import Claim, Verdict
from icl.claims_p1_beyond import CLAIMS as BEYOND
from icl.claims_p1_trained import CLAIMS as TRAINED
from icl.rates import printed_exponents, risk_exponent, sketch_exponents
from icl.tasks import named

_THEOREM_2 = r"For sufficiently large $n$ the minimizer over $D(\mathcal F_L^+)$ is $M^*=w_{KQ}I_d$ with "
_SLOPE = r"local slope of $\log w^*$ in $\log n$ at the largest $n$, fixed $L$ and $\sigma$, exact"
_FAR_SLOPE = (r"local slope of $\log\mathcal L(M)$ in $\log n$, exact, at the context lengths whose "
              r"optimal window is $10^4$ to $10^5$")
_ORTHOGONAL = (r"smallest relative rise of the exact risk of $cBB^\top+eB_\perp B_\perp^\top$ when $e$ "
               r"leaves zero, over several $c$ and $e$")
_SWAPPED = r"$B$ and $B_\perp$ exchanged: attending to the subspace that matters"
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
        id="P1.W.kernel",
        source="ITA slides, ICL Estimator Intuition: the attention weights",
        statement=r"Attention $x_{n+1}\to x_i$: $e^{-\frac{w_{KQ}}2\Vert x_i-x_{n+1}\Vert^2}\big/"
                  r"\sum_je^{-\frac{w_{KQ}}2\Vert x_j-x_{n+1}\Vert^2}$",
        quantity=r"largest difference between these weights and the softmax of $w\,x_i\cdot x_{n+1}$",
        rule=lambda case: (0.0, 1e-12),
        resolution=1e-12,
        control="tokens that are not on a sphere (normal law)",
    ),
    Claim(
        id="P1.W.appendix-kernel",
        source="authors' rebuttal: lines 593-594, eq. (7) and Lemma B.5 of the submission",
        statement=r"All optimal $M$ are of the form $M=wI_d$, and $e^{x^\top My}$ simplifies to "
                  r"$e^{-w\Vert x-y\Vert^2}$",
        quantity=r"coefficient of $\Vert x_i-x_q\Vert^2$ in $-\log\omega_i$, in units of the $w$ in $M=wI$",
        rule=lambda case: (1.0, 1.0),
        expected=Verdict.CORRECTED,
        corrected=r"$e^{x^\top My}\propto e^{-\frac w2\Vert x-y\Vert^2}$: the appendix's $w$ is "
                  r"half of the slides' $w_{KQ}$",
        corrected_rule=lambda case: (0.5, 0.5),
        resolution=1e-9,
        control="tokens that are not on a sphere (normal law)",
    ),
    Claim(
        id="P1.W.nadaraya-watson",
        source="reviews and authors' rebuttal: attention is a Nadaraya-Watson kernel estimator",
        statement="Softmax attention is Nadaraya-Watson kernel regression",
        quantity="largest difference between attention's predictions and an independent library's",
        rule=lambda case: (0.0, 1e-9),
        resolution=1e-9,
        control=r"the appendix's kernel $e^{-w\Vert x-y\Vert^2}$ at the same $w$",
    ),
    Claim(
        id="P1.W.closer",
        source="ITA slides, ICL Estimator Intuition, Observation 1",
        statement="Attention is larger for points closer to $x_{n+1}$",
        quantity="share of token pairs of which the farther one gets more weight, on drawn contexts",
        rule=lambda case: (0.0, 0.0),
        resolution=1e-9,
        control="tokens that are not on a sphere (normal law): long tokens win",
    ),
    Claim(
        id="P1.W.concentrate",
        source="ITA slides, ICL Estimator Intuition, Observation 2",
        statement=r"Larger $w_{KQ}$: attention concentrates on the closest point(s)",
        quantity=r"$\mathbb E\sum_i\omega_i^2$ at $w=10^6$, exact; one if a single token has all weight",
        rule=lambda case: (0.99, 1.0),
        resolution=1e-6,
        control=r"the window of the other extreme, $w=10^{-6}$",
    ),
    Claim(
        id="P1.W.table-noise",
        source="ITA slides, table \"M large, M small\": points attended to and noise variance",
        statement="$M$ large: fewer points, high noise variance. $M$ small: more points, low noise variance",
        quantity=r"smallest slope of $\log\mathbb E\sum_i\omega_i^2$ in $\log w$ (noise variance in units of "
                 r"$\sigma^2$, one over the number of points attended to), exact",
        rule=lambda case: (1e-9, inf),
        resolution=1e-9,
        control="a planted misprint: the columns of the table exchanged",
    ),
    Claim(
        id="P1.W.table-bias",
        source="ITA slides, table \"M large, M small\": estimator bias",
        statement=r"$M$ large: low bias. $M$ small: high bias (with the slides' own $\mathcal L_{\rm bias}$)",
        quantity=r"slope of $\log\mathcal L_{\rm bias}$ in $\log w$, exact, at windows wider and narrower "
                 r"than the noiseless optimum $w_0$",
        rule=lambda case: (-inf, 0.0),
        expected=Verdict.CORRECTED,
        corrected=r"$\mathcal L_{\rm bias}$ falls up to $w_0$, where a few tokens are left in the "
                  r"window, and rises beyond: it contains the luck of where the tokens fall",
        corrected_rule=lambda case: (0.0, inf) if case["beyond"] else (-inf, 0.0),
        resolution=1e-6,
        control="functions that no window resolves: undersampled cosines",
    ),
    Claim(
        id="P1.W.rapid",
        source="ITA slides, Intuition Summary, and Fig. 1, top: desired window against function change",
        statement=r"Rapid change: small window, large $w_{KQ}$. Slow change: large window, small $w_{KQ}$",
        quantity=r"smallest slope of $\log w^*$ in $\log L$ over the range of $L$, exact",
        rule=lambda case: (1e-3, inf),
        resolution=1e-6,
        control="functions too rapid for the context: undersampled cosines",
    ),
    Claim(
        id="P1.W.noisy",
        source="machine-written summary of the paper, contribution 2",
        statement="The window widens with increasing noise in the pretraining tasks",
        quantity=r"largest slope of $\log w^*$ in $\log\sigma$ over the range of $\sigma$, exact",
        rule=lambda case: (-inf, -1e-3),
        resolution=1e-6,
        control=r"$L$ grows together with $\sigma$",
    ),
    Claim(
        id="P1.W.softmax-adapts",
        source="ITA slides, Fig. 1, middle: attention unit can adapt to these windows using softmax",
        statement="Softmax attention can adapt its window to the Lipschitzness, linear attention cannot",
        quantity="half-width of the weights as a function of the distance, trained for the largest $L$ over "
                 "trained for the smallest $L$, exact",
        rule=lambda case: (0.0, 0.9),
        resolution=1e-9,
        control="linear attention",
    ),
    Claim(
        id="P1.W.context-error",
        source="ITA slides, Fig. 1, bottom: ICL error with varying number of context tokens",
        statement="With the window adapted to the Lipschitzness, the ICL error falls with the number of "
                  "context tokens",
        quantity=r"slope of $\log$ error in $\log n$ at the longest contexts, exact",
        rule=lambda case: (-inf, -0.1),
        resolution=1e-3,
        control="no adaptation: the window that is best for a short context, kept for all",
    ),
    Claim(
        id="P1.F1.values",
        source="Fig. 1 of the paper and ITA slides: the curves shown",
        statement="Three targets of growing Lipschitzness, their windows, weights and ICL errors",
        expected=Verdict.NOT_TESTABLE,
        why_not="Neither the target functions nor noise, context lengths or values are printed in any source "
                "available to us. The qualitative content is judged in P1.W.rapid, P1.W.softmax-adapts and "
                "P1.W.context-error.",
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
    Claim(
        id="P1.T3.matched",
        source="ITA slides, Theorem 3, first inequality: same L in pretraining and test",
        statement=r"Pretrained and tested on $D(\mathcal F_L^+)$, for large enough $n$: "
                  r"$\mathcal L(M)\le L^{2-\frac2{d+2}}(\sigma^2/n)^{\frac1{d+2}}$",
        quantity=_FAR_SLOPE,
        rule=lambda case: (-inf, -1 / (case["dim"] + 2)),
        resolution=0.01,
        control="a window that does not adapt to $n$",
    ),
    Claim(
        id="P1.T3.matched-constant",
        source="ITA slides, Theorem 3, first inequality, read without a hidden constant",
        statement=r"$\mathcal L(M)\le L^{2-\frac2{d+2}}(\sigma^2/n)^{\frac1{d+2}}$",
        quantity=r"largest $\mathcal L(M)\big/L^2\Lambda^{-1/(d+2)}$ over $n$ with "
                 r"$\Lambda=nL^2/\sigma^2\ge10$, exact",
        rule=lambda case: (0.0, 1.0),
        resolution=1e-6,
        control=r"$n$ not large: $\Lambda<10^{-2}$",
    ),
    Claim(
        id="P1.T3.matched-sharp",
        source="this book: sharp law of the matched risk",
        statement=r"$\mathcal L(M^*)\asymp L^2\Lambda^{-3/(d+2)}$ for the ReLU class, "
                  r"$L^2\Lambda^{-4/(d+3)}$ for the affine class",
        quantity=_FAR_SLOPE,
        rule=lambda case: (risk_exponent(named(case["kind"], case["dim"])),) * 2,
        resolution=0.01,
        control="the exponent that is printed, $1/(d+2)$, planted as the data",
    ),
    Claim(
        id="P1.T3.larger",
        source="ITA slides, Theorem 3, second inequality, L' > L",
        statement=r"Pretrained on $D(\mathcal F_L^+)$, tested on $D(\mathcal F_{L'}^+)$ with $L'>L$: "
                  r"$\mathcal L(M)\ge L'^2\big(\frac{\sigma^2}{nL^2}\big)^{\frac2{d+2}}$",
        quantity=_FAR_SLOPE,
        rule=lambda case: (-2 / (case["dim"] + 2), inf),
        expected=Verdict.CORRECTED,
        corrected=r"$\mathcal L(M)\asymp L'^2\big(\frac{\sigma^2}{nL^2}\big)^{\frac3{d+2}}$; the slides' "
                  r"own ingredients "
                  r"give the lower bound with exponent $\frac4{d+2}$",
        corrected_rule=lambda case: (-3 / (case["dim"] + 2),) * 2,
        resolution=0.01,
        control=r"affine test functions without label noise, which have no kink: exponent $\frac4{d+2}$",
    ),
    Claim(
        id="P1.T3.smaller",
        source="ITA slides, Theorem 3, second inequality, L' <= L",
        statement=r"Tested on $D(\mathcal F_{L'}^+)$ with $L'\le L$: "
                  r"$\mathcal L(M)\ge\frac1n\big(\frac{nL^2}{\sigma^2}\big)^{\frac2{2(d+2)}}$",
        quantity=_FAR_SLOPE,
        rule=lambda case: (-1 + 1 / (case["dim"] + 2), inf),
        resolution=0.01,
        control="the window that is best for constant functions: equal weights",
    ),
    Claim(
        id="P1.T3.smaller-units",
        source="ITA slides, Theorem 3, second inequality, L' <= L: dependence on the unit of the labels",
        statement=r"$\mathcal L(M)\ge\frac1n\big(\frac{nL^2}{\sigma^2}\big)^{\frac2{2(d+2)}}$: the right "
                  r"side does not "
                  r"change if $L$, $L'$ and $\sigma$ are multiplied by the same number",
        quantity=r"exponent of $\mathcal L(M)$ in a common factor of $L$, $L'$ and $\sigma$, exact",
        rule=lambda case: (0.0, 0.0),
        expected=Verdict.CORRECTED,
        corrected=r"$\mathcal L(M)\ge\frac{\sigma^2}n\big(\frac{nL^2}{\sigma^2}\big)^{\frac1{d+2}}$: a "
                  r"squared error has the "
                  r"square of the labels' unit",
        corrected_rule=lambda case: (2.0, 2.0),
        resolution=1e-6,
        control=r"$L'$ left as it is",
    ),
    Claim(
        id="P1.T3.worse",
        source="ITA slides, Theorem 3, L' > L: \"worse dependence on L'\"",
        statement=r"For $L'>L$ the loss depends on $L'$ like $L'^2$, worse than when $L'$ is trained for",
        quantity=r"slope of $\log\mathcal L(M)$ in $\log L'$ at $L'=100L$, exact",
        rule=lambda case: (1.98, 2.02),
        resolution=0.02,
        control=r"pretraining at the $L'$ of the test: exponent $2-\frac6{d+2}$",
    ),
    Claim(
        id="P1.T3.no-benefit",
        source="ITA slides, Theorem 3, L' <= L: \"no benefit of L'\"",
        statement=r"For $L'\le L$ a smaller $L'$ does not lower the loss",
        quantity=r"slope of $\log\mathcal L(M)$ in $\log L'$ at $L'=L/100$, exact",
        rule=lambda case: (0.0, 0.01),
        resolution=1e-3,
        control=r"$L'=100L$",
    ),
    Claim(
        id="P1.T3.price",
        source="this book: the price of the wrong L",
        statement=r"For $n\to\infty$ the risk with the window of $L$ over the least risk, both on "
                  r"$D(\mathcal F_{L'})$, tends to "
                  r"$(\rho^2+s)\big/(1+s)\rho^{2-2ae}$ with $\rho=L'/L$, $s=\frac{2a}{d-1}$, $a=\frac32$ "
                  r"(ReLU) or $2$ "
                  r"(affine), $e=\frac2{d-1+2a}$: a factor that no $n$ removes and no $n$ increases",
        quantity="exact ratio at the context length whose window is $10^5$, divided by the formula; its "
                 "error is the "
                 "largest change over the last two decades of the window",
        rule=lambda case: (1.0, 1.0),
        resolution=0.05,
        control=r"the formula at $L'/L$ for a ratio of $L/L'$",
    ),
    Claim(
        id="P1.T3.necessary",
        source="ITA slides, Generalization Guarantees: \"necessary\", for the theorem's class",
        statement="Shared Lipschitzness across (train, test) is necessary for ICL",
        quantity="risk with the window of $L$ over the least risk, both on $D(\\mathcal F_{L'}^+)$, for "
                 "$n$ large, exact; "
                 "we read \"fails to generalize\" as an excess of more than 10 %",
        rule=lambda case: (1.1, inf),
        resolution=1e-3,
        control=r"$\sigma\ll L$ at fixed $n$: the window no longer depends on $L$, and nothing is lost",
    ),
    Claim(
        id="P1.T3.sufficient",
        source="ITA slides, Generalization Guarantees: \"sufficient\", read as \"only L matters\"",
        statement="Shared Lipschitzness across (train, test) is sufficient for ICL",
        quantity="risk with the window of another class of the same $L$ over the least risk, exact; we read "
                 "\"generalizes\" as an excess of at most 10 %",
        rule=lambda case: (1.0, 1.1),
        expected=Verdict.FAILS,
        resolution=1e-3,
        control="low dimension and moderate $n$, where the slides' figure can be reproduced",
    ),
    Claim(
        id="P1.T3.sufficient-rate",
        source="ITA slides, Generalization Guarantees: \"sufficient\", for large n",
        statement="A unit pretrained on affine functions is as good on ReLU functions of the same $L$ as "
                  "one pretrained on them",
        quantity=r"slope of the log of the ratio of their risks in $\log n$, exact, extrapolated as "
                 r"$n\to\infty$",
        rule=lambda case: (0.0, 0.0),
        expected=Verdict.CORRECTED,
        corrected=r"The ratio grows like $\Lambda^{\frac3{(d+2)(d+3)}}$: the kink asks for a narrower "
                  r"window at every $L$",
        corrected_rule=lambda case: (3 / ((case["dim"] + 2) * (case["dim"] + 3)),) * 2,
        resolution=0.01,
        control="affine functions of another $L$ instead of ReLU functions: a constant factor",
    ),
    Claim(
        id="P1.T3.any",
        source="reviews, on the paper's Theorem 3.5: the test data may be any L-Lipschitz task (rate as on "
               "the slides)",
        statement=r"Pretrained on $D(\mathcal F_L^+)$, tested on any $L$-Lipschitz function: "
                  r"$\mathcal L(M)\le O\big(L^2\Lambda^{-\frac1{d+2}}\big)$",
        quantity=r"slope in $\log n$ of a bound that no $L$-Lipschitz function exceeds, exact",
        rule=lambda case: (-inf, -1 / (case["dim"] + 2)),
        resolution=0.01,
        control=r"functions that are not $L$-Lipschitz: $\cos(\sqrt{w^*}\,u\cdot x)$ of amplitude $L$",
    ),
    Claim(
        id="P1.F5.sufficient",
        source="ITA slides, Empirical Generalization, and Fig. 5: three units with L = 1, tested on three "
               "classes",
        statement="All three attention units generalize to all test distributions since $L$ is the same",
        quantity="sampled test error of a pretrained unit over that of the unit pretrained on the test "
                 "class, mean over "
                 "seeds; at most 1.1 counts as generalizing",
        rule=lambda case: (0.0, 1.1),
        resolution=0.1,
        control="cosine units that found $-w$: on even functions as good as $+w$, on the others the wrong "
                "end of the sphere",
    ),
    Claim(
        id="P1.F5.necessary",
        source="ITA slides, Empirical Generalization, and Fig. 5, right: test on cosine L = 1",
        statement="Pretrained on affine $L=1$, cosine $L=0.1$, cosine $L=10$: only pretraining on the same "
                  "Lipschitzness "
                  "generalizes",
        quantity="sampled test error on cosine $L=1$ over that of the unit pretrained there, mean over "
                 "seeds; more than "
                 "1.1 counts as failing",
        rule=lambda case: (0.0, 1.1) if case["same"] else (1.1, inf),
        resolution=0.1,
        control="eight dimensions (exact): there the unit of the wrong $L$ generalizes and that of the "
                "right $L$ does not",
    ),
    Claim(
        id="P1.F5.values",
        source="Fig. 5 of the paper: the curves shown",
        statement="Test error during pretraining, averaged over five tasks of each class",
        expected=Verdict.NOT_TESTABLE,
        why_not="Dimension, context length, noise, optimizer and the formulas of two of the three classes "
                "are in no source "
                "available to us. Its two statements are judged, with our declared choices, in "
                "P1.F5.sufficient and "
                "P1.F5.necessary.",
    ),
    Claim(
        id="P1.3-5.formula",
        source="reviews: Theorem 3.5 of the paper",
        statement="Upper and lower bounds on the test loss for the affine and the ReLU class",
        expected=Verdict.NOT_TESTABLE,
        why_not="The formula of the paper's Theorem 3.5 is in none of the sources available to us. What "
                "the slides print of "
                "it is judged above, and so is what the reviews say of it (P1.T3.any).",
    ),
    Claim(
        id="P1.LA.fails",
        source="machine-written summary of the paper, contribution 4 (the abstract's \"linear attention\")",
        statement="The adaptivity enabled by softmax is crucial: linear attention fails at ICL for basic "
                  "nonlinear tasks",
        quantity=r"share of $\mathbb E(f-b)^2$, $b$ the constant part of the class, that the best linear "
                 r"attention leaves "
                 r"at $n=10^{12}$ although it is given $b$, exact",
        rule=lambda case: (0.1, 1.0),
        resolution=1e-6,
        control="tasks that are not nonlinear: purely linear and affine functions",
    ),
    Claim(
        id="P1.LA.floor",
        source="this book: exact floor of linear attention, by parity",
        statement=r"For every $M$, $n$ and $\sigma$ the risk of linear attention is at least the power of "
                  r"the class "
                  r"outside degree one: $\frac{L^2}3$ (affine), $\frac{L^2}3+\frac{L^2}{6d}$ (ReLU), all "
                  r"of it for even functions",
        quantity="least risk over all matrices $M$ at the length of the context, sampled, minus the floor, "
                 "in units of the floor",
        rule=lambda case: (0.0, inf),
        resolution=0.05,
        control="purely linear functions against the floor of the affine class",
    ),
    Claim(
        id="P1.LA.closed-form",
        source="this book: closed form of the best linear attention",
        statement=r"The best linear attention is $M=mI$, "
                  r"$m=\frac{a_1}d\big/\big[\frac{k(1)+\sigma^2}{nd}+(1-\frac1n)\frac{a_1}{d^2}\big]$",
        quantity="mean diagonal of the minimizer of the paper's empirical loss over all matrices, divided "
                 "by $m$; mean over "
                 "seeds",
        rule=lambda case: (1.0, 1.0),
        resolution=0.2,
        control="the $m$ of purely linear functions for units trained on affine ones",
    ),
    Claim(
        id="P1.LA.wins",
        source="this book: where linear attention wins",
        statement="On purely linear functions linear attention has no floor, and for long contexts it "
                  "beats softmax attention",
        quantity="least risk of linear attention over least risk of softmax attention at the longest "
                 "context, exact",
        rule=lambda case: (0.0, 0.5),
        resolution=1e-6,
        control="the same functions with an intercept",
    ),
    Claim(
        id="P1.LA.neighbors",
        source="machine-written summary of the paper, contribution 2",
        statement="Softmax attention implements a nearest neighbors predictor adapted to the landscape of "
                  "pretraining tasks",
        quantity="risk of the plain nearest neighbor over the least risk of softmax attention, exact, over "
                 "all context "
                 "lengths: adapting must pay",
        rule=lambda case: (1.05, inf),
        resolution=1e-6,
        control="a context of one token",
    ),
    Claim(
        id="P1.T4.two-tokens",
        source="ITA slides, Theorem 4 (informal), case n = 2",
        statement=r"Suppose $n=2$. For some $C=\Omega(1)$, any optimum of the loss of $D(\mathcal F_B^{\rm "
                  r"lin})$ over "
                  r"$\{M=M^\top,\Vert B^\top MB\Vert_2\le C\}$ is $M^*=cBB^\top$, $c\in(0,C]$",
        quantity=_ORTHOGONAL,
        rule=lambda case: (1e-9, inf),
        resolution=1e-9,
        control=_SWAPPED,
    ),
    Claim(
        id="P1.T4.noiseless",
        source="ITA slides, Theorem 4 (informal), case sigma = 0",
        statement=r"Suppose $\sigma=0$. Then any optimum is $M^*=cBB^\top$, $c\in(0,C]$",
        quantity=_ORTHOGONAL,
        rule=lambda case: (1e-9, inf),
        resolution=1e-9,
        control=_SWAPPED,
    ),
    Claim(
        id="P1.T4.beyond",
        source="this book: Theorem 4 without its assumption",
        statement=r"$M^*=cBB^\top$ also for $n>2$ with noise",
        quantity=_ORTHOGONAL,
        rule=lambda case: (1e-9, inf),
        resolution=1e-9,
        control=_SWAPPED,
    ),
    Claim(
        id="P1.T4.minimizer",
        source="ITA slides, Theorem 4 (informal): the optimum, found by minimizing in c and e together",
        statement=r"$M^*=cBB^\top$",
        quantity=r"coefficient $e$ on the orthogonal complement at the lowest minimum found from several "
                 r"starts, exact risk",
        rule=lambda case: (0.0, 0.0),
        resolution=0.02,
        control="functions that depend on the complement as well: an isotropic window is best",
    ),
    Claim(
        id="P1.T4.positive",
        source="ITA slides, Theorem 4 (informal), consequence: s in col(B)",
        statement=r"If $s\in\mathrm{col}(B)$ then $s^\top M^*s>0$",
        quantity=r"best $c$ with $e=0$, exact risk",
        rule=lambda case: (1e-6, inf),
        resolution=1e-6,
        control="even functions of the projection that the context does not resolve: equal weights are best",
    ),
    Claim(
        id="P1.T4.constraint",
        source="ITA slides, Theorem 4 (informal): the constraint with C",
        statement=r"For some $C=\Omega(1)$ and $\Vert B^\top MB\Vert_2\le C$: $c\in(0,C]$",
        quantity=r"best $c$ over $[0,C]$ divided by $\min(C,c^*)$, $c^*$ the best without constraint, "
                 r"exact risk",
        rule=lambda case: (1.0, 1.0),
        resolution=1e-3,
        control=r"$C$ in place of $\min(C,c^*)$ for a large $C$",
    ),
    Claim(
        id="P1.T4.lipschitz-in",
        source="ITA slides, direction-wise Lipschitzness: s in col(B)",
        statement=r"If $s\in\mathrm{col}(B)$: $\max_{f\in\mathcal F_B^{\rm lin}}\mathrm{Lip}_s(f)=1$",
        quantity=r"largest quotient in the definition of $\mathrm{Lip}_s$, for the best $a\in S^{k-1}$ and "
                 r"random pairs of points",
        rule=lambda case: (1.0, 1.0),
        resolution=1e-9,
        control="directions halfway between the subspace and its complement",
    ),
    Claim(
        id="P1.T4.lipschitz-out",
        source="ITA slides, direction-wise Lipschitzness: s orthogonal to col(B)",
        statement=r"If $s\in\mathrm{col}(B)^\perp$: $\max_{f\in\mathcal F_B^{\rm lin}}\mathrm{Lip}_s(f)=0$",
        quantity=r"largest quotient in the definition of $\mathrm{Lip}_s$, for the best $a\in S^{k-1}$ and "
                 r"random pairs of points",
        rule=lambda case: (0.0, 0.0),
        resolution=1e-9,
        control="directions halfway between the subspace and its complement",
    ),
    Claim(
        id="P1.T4.learns",
        source="ITA slides, Theorem 4 (informal), consequence: M* learns direction-wise Lipschitzness",
        statement=r"$M^*$ learns direction-wise Lipschitzness, recovers $\mathrm{col}(B)$",
        quantity=r"sine of the largest principal angle between $\mathrm{col}(B)$ and the leading $k$ "
                 r"singular vectors of "
                 "pretrained $M$, mean over seeds",
        rule=lambda case: (0.0, 0.1),
        resolution=0.05,
        control=r"functions that depend on all $d$ directions, the same $B$",
    ),
    Claim(
        id="P1.T4.scale",
        source="this book: pretraining reaches the exact optimum of the low-rank class",
        statement=r"Pretraining reaches $c^*BB^\top$ with the exact $c^*$",
        quantity=r"mean diagonal of $B^\top MB$ of pretrained $M$ divided by the exact $c^*$, mean over "
                 r"seeds",
        rule=lambda case: (0.97, 1.03),
        resolution=0.2,
        control=r"the appendix's convention mistaken for the slides': $c^*/2$",
    ),
    Claim(
        id="P1.T4.dimension",
        source="machine-written summary of the paper, contribution 3",
        statement="Softmax attention projects onto the subspace, which reduces the effective dimension of "
                  "ICL",
        quantity=r"slope of the log of the least risk in $\log n$ for $n$ large, exact",
        rule=lambda case: (-4 / (case["rank"] + 3),) * 2,
        resolution=0.01,
        control=r"an isotropic window, $e=c$: its slope is set by $d$",
    ),
    Claim(
        id="P1.PD.noise",
        source="ITA slides, Theorem 2, extreme example: sigma to infinity, read for the cosine class",
        statement=r"$\sigma\to\infty$: no signal, average the noise, $w_{KQ}\to0$",
        quantity=r"$w^*$ at $\sigma=100$, exact",
        rule=lambda case: (0.0, 1e-3),
        resolution=1e-6,
        control=r"little noise: $\sigma=0.01$",
    ),
    Claim(
        id="P1.PD.signal",
        source="ITA slides, Theorem 2, extreme example: L much larger than sigma: \"pick the nearest "
               "neighbour\"",
        statement=r"$L\gg\sigma$: no point aggregating noise, pick the nearest neighbor",
        quantity=r"risk of the nearest neighbor over the least risk without noise ($L/\sigma=\infty$), exact",
        rule=lambda case: (1.0, 1.01),
        expected=Verdict.FAILS,
        resolution=1e-6,
        control="a context of one token",
    ),
    Claim(
        id="P1.PD.context",
        source="ITA slides, Theorem 2, extreme example: n to infinity, read for the cosine class",
        statement=r"$n\to\infty$: choose the nearest neighbor, $w_{KQ}\to\infty$",
        quantity=r"slope of $\log w^*$ in $\log n$ at the longest contexts, exact",
        rule=lambda case: (0.05, inf),
        resolution=1e-3,
        control=r"noise variance grows with $n$",
    ),
    Claim(
        id="P1.PD.monotone",
        source="machine-written summary, contribution 2, read for the cosine class",
        statement="The window widens with decreasing Lipschitzness of the pretraining tasks",
        quantity=r"$\log w^*$ at $2L$ minus $\log w^*$ at $L$, exact (equal weights, $w^*=0$, as "
                 r"$w=10^{-6}$)",
        rule=lambda case: (0.0, inf),
        expected=Verdict.CORRECTED,
        corrected=r"True while the context resolves the functions ($n\gg L^{d-1}$); where it does not, "
                  r"$w^*=0$",
        corrected_rule=lambda case: (0.0, inf) if case["resolved"] else (-inf, 0.0),
        resolution=1e-6,
        control="resolved and unresolved exchanged",
    ),
    Claim(
        id="P1.PD.roughness",
        source="ITA slides, Theorem 2, read for the cosine class: the window depends on n, L and sigma "
               "through n L^2 / sigma^2",
        statement=r"$w^*$ is of an order between powers of $nL^2/\sigma^2$",
        quantity=r"slope of $\log w^*$ in $\log L$ divided by its slope in $\log n$, for $n$ large, exact",
        rule=lambda case: (2.0, 2.0),
        expected=Verdict.CORRECTED,
        corrected=r"$w^*\sim\big[\frac{n\,\mathbb E(\Delta f)^2}{(d-1)\kappa\sigma^2}\big]^{2/(d+3)}$ for "
                  r"every smooth class: not "
                  r"the slope of the functions sets the window but their Laplacian; for $\cos(L\,u\cdot "
                  r"x)$ this is $nL^4/\sigma^2$",
        corrected_rule=lambda case: (case["laplacian"],) * 2,
        resolution=0.05,
        control="affine functions, for which slope and Laplacian are proportional",
    ),
    Claim(
        id="P1.PD.smooth-law",
        source="this book: sharp law of the optimal window for smooth classes",
        statement=r"$w^*\sim\big[\frac{n\,\mathbb E(\Delta f)^2}{(d-1)\kappa\sigma^2}\big]^{2/(d+3)}$ with "
                  r"$\mathbb E(\Delta f)^2=\sum_\ell a_\ell(\ell(\ell+d-2))^2$",
        quantity=r"exact $w^*$ over the law at the context length whose window is $10^5$",
        rule=lambda case: (1.0, 1.0),
        resolution=0.02,
        control=r"the law with $\mathbb E|\nabla f|^2$ in place of $\mathbb E(\Delta f)^2$",
    ),
    Claim(
        id="P1.PD.beyond",
        source="machine-written summary of the paper, contribution 5",
        statement="Softmax attention does not adapt much beyond Lipschitzness during pretraining",
        quantity=r"$w^*$ for $\frac1b\cos(b\,u\cdot x)$ with $b=8$ over $w^*$ with $b=1$: Lipschitz "
                 r"constants one and "
                 r"$\sin 1$; we read 'not much' as a factor of at most 1.5, exact",
        rule=lambda case: (1 / 1.5, 1.5),
        expected=Verdict.FAILS,
        resolution=1e-3,
        control="affine and ReLU functions of the same $L$ in a short context",
    ),
    Claim(
        id="P1.T2.first",
        source="ITA slides, Theorem 2 and Theorem 4: \"to our knowledge, first result\"",
        statement="The first result showing how pretrained softmax attention facilitates ICL; the first "
                  "showing that "
                  "softmax attention learns low-dimensional structure among ICL pretraining tasks",
        expected=Verdict.NOT_TESTABLE,
        why_not="A statement about the literature, not about attention; nothing to compute.",
    ),
    Claim(
        id="P1.3-4.formula",
        source="reviews: Theorem 3.4 of the paper",
        statement="Concrete bounds on how the attention window scales with Lipschitzness, noise level and "
                  "context size, "
                  "for the affine and the ReLU class",
        expected=Verdict.NOT_TESTABLE,
        why_not="Its formula is in none of the sources available to us. The slides' version is judged in "
                "P1.T2.lower, "
                "P1.T2.upper and P1.T2.lower-affine.",
    ),
    Claim(
        id="P1.4-4.formal",
        source="reviews: Theorem 4.4 of the paper",
        statement="The formal version of the slides' Theorem 4, with its token law and the size of $C$",
        expected=Verdict.NOT_TESTABLE,
        why_not="Only the informal version is in a source available to us; it is judged, with a declared "
                "token law, in "
                "P1.T4.two-tokens and P1.T4.noiseless.",
    ),
    Claim(
        id="P1.2-1.remark",
        source="captions: Remark 2.1 of the paper, referred to by Fig. 1",
        statement="A remark on extreme cases",
        expected=Verdict.NOT_TESTABLE,
        why_not="Its text is in none of the sources available to us. The slides' extreme examples are "
                "judged in "
                "P1.T2.noise-limit, P1.T2.signal-limit, P1.T2.context-limit and P1.PD.signal.",
    ),
    Claim(
        id="P1.F2-4.figures",
        source="Figs. 2 and 4 of the paper",
        statement="How $\\Vert M\\Vert$ changes the prediction (Fig. 2, by the slides); content unknown "
                  "(Fig. 4)",
        expected=Verdict.NOT_TESTABLE,
        why_not="Their captions, settings and values are in none of the sources available to us. The table "
                "beside the "
                "slides' figure is judged in P1.W.table-noise and P1.W.table-bias.",
    ),
]
CLAIMS += TRAINED + BEYOND
