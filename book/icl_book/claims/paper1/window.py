"""Statements of the first paper on the risk and on the attention window, and its Fig. 1.

What comes before the theorems: how the loss splits into bias and noise, which kernel the weights are, and
what a wide or narrow window does. The chapters are exact_risk and attention_window.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

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
        source='ITA slides, table "M large, M small": points attended to and noise variance',
        statement="$M$ large: fewer points, high noise variance. $M$ small: more points, low noise variance",
        quantity=r"smallest slope of $\log\mathbb E\sum_i\omega_i^2$ in $\log w$ (noise variance in units of "
        r"$\sigma^2$, one over the number of points attended to), exact",
        rule=lambda case: (1e-9, inf),
        resolution=1e-9,
        control="a planted misprint: the columns of the table exchanged",
    ),
    Claim(
        id="P1.W.table-bias",
        source='ITA slides, table "M large, M small": estimator bias',
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
]
