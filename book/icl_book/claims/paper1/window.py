"""Statements of the first paper on the risk and on the attention window, and its Fig. 1.

What comes before the theorems: how the loss splits into bias and noise, which kernel the weights are, and
what a wide or narrow window does. The chapters are exact_risk and attention_window.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Verdict

_KERNEL = (
    r"$\text{Attention } \bm{x}_{n+1} \to \bm{x}_{i} \colon \frac{e^{-\frac{w_{KQ}}{2} \| \bm{x}_{i} - "
    r"\bm{x}_{n+1} \|^{2}}}{\sum_{j=1}^{n} e^{-\frac{w_{KQ}}{2} \| \bm{x}_{j} - \bm{x}_{n+1} \|^{2}}}$"
)

CLAIMS: list[Claim] = [
    Claim(
        id="P1.risk.split",
        authority=Authority.TALK,
        source="ITA slides, (ICL): decomposition of the population loss",
        quote=r"$+ \mathbb{E}_{\{\mathbf{x}_i\}_i,\{\epsilon_i\}} \left( \frac{\sum_{i=1}^n \epsilon_i "
        r"e^{\mathbf{x}_i^{\top} \mathbf{M} \mathbf{x}_{n+1}}}{\sum_{i=1}^n e^{\mathbf{x}_i^{\top} "
        r"\mathbf{M} "
        r"\mathbf{x}_{n+1}}} \right)^2$",
        place="talk:325",
        reading=r"$\mathcal L=\mathcal L_{\rm bias}+\mathcal L_{\rm noise}$ with this noise term",
        quantity="largest difference of the loss and the sum of both parts, over the loss, at drawn tokens "
        "and "
        "functions; the mean over noise of two values is taken over all sign patterns. Rounding of 1e-12 is "
        "permitted",
        rule=lambda case: (0.0, 1e-12),
        grade=Grade.IDENTITY,
        control=r"noise with a mean (of the same second moment $\sigma^2$)",
        unit="relative",
    ),
    Claim(
        id="P1.risk.exact",
        authority=Authority.BOOK,
        source="this book: exact population risk",
        reading=r"The population loss at $M=wI$ is the sum of one-dimensional integrals derived in the "
        "chapter on the exact risk",
        quantity="loss by direct Gauss rules over the angles of all tokens of a short context, over the "
        "exact "
        "risk; equal within 1e-8, a tenth of what the package vouches for",
        rule=lambda case: (1 - 1e-8, 1 + 1e-8),
        grade=Grade.PROVED,
        quantifier=r"for all $n$, $d$, $w$, $\sigma$ and rotation-invariant classes; checked at short "
        r"contexts",
        control="the query counted as one more token, with its own clean label",
        unit="relative",
    ),
    Claim(
        id="P1.W.kernel",
        authority=Authority.TALK,
        source="ITA slides, ICL Estimator Intuition: the attention weights",
        quote=_KERNEL,
        place="talk:232",
        reading=r"The softmax of $w\,x_i\cdot x_{n+1}$ is this kernel, with $w=w_{KQ}$",
        quantity="largest difference between the two, on drawn contexts; rounding of 1e-12 is permitted",
        rule=lambda case: (0.0, 1e-12),
        grade=Grade.IDENTITY,
        control="tokens that are not on a sphere (normal law)",
        unit="in a weight",
    ),
    Claim(
        id="P1.W.appendix-kernel",
        authority=Authority.REBUTTAL,
        source="authors' rebuttal: lines 593-594, eq. (7) and Lemma B.5 of the submission",
        quote="we complete the square, and use the fact that all covariates are on the unit sphere to cancel "
        "the squared terms in both numerator and denominator",
        place="openreview:192",
        reading=r"$e^{x^\top My}$ becomes $e^{-w\Vert x-y\Vert^2}$, where this $w$ is proportional to that "
        r"of $M=wI$ and takes up any constant factor. (The slides have both forms: $\frac w2$ where the "
        r"weights are defined, talk:232, and $w$ in the proof sketch, talk:333)",
        quantity=r"coefficient of $\Vert x_i-x_q\Vert^2$ in $-\log\omega_i$, in units of the $w$ in $M=wI$",
        rule=lambda case: (1e-9, inf),
        expected=Verdict.DEPENDS,
        grade=Grade.IDENTITY,
        depends_on=(
            Choice(
                "whether the two letters $w$ are the same number",
                (
                    Alternative(
                        "the $w$ of the kernel is the $w$ of $M=wI$, coefficient one within 1e-9",
                        lambda case: (1 - 1e-9, 1 + 1e-9),
                    ),
                ),
            ),
        ),
    ),
    Claim(
        id="P1.W.nadaraya-watson",
        authority=Authority.REBUTTAL,
        source="authors' rebuttal, global answer, point 2",
        quote="similar to a Nadaraya-Watson (NW) kernel (Nadaraya 1964) (which is a consequence of the "
        "particular model we study",
        place="openreview:206",
        reading="On the sphere, softmax attention with $M=wI$ is Nadaraya-Watson regression with a Gaussian "
        "kernel of bandwidth $w^{-1/2}$",
        quantity="largest difference between attention's predictions and an independent library's, on drawn "
        "contexts; 1e-9 is permitted",
        rule=lambda case: (0.0, 1e-9),
        grade=Grade.IDENTITY,
        implied_by=("P1.W.kernel",),
        unit="in a prediction",
    ),
    Claim(
        id="P1.W.closer",
        authority=Authority.TALK,
        source="ITA slides, ICL Estimator Intuition, Observation 1",
        quote="Attention is *larger for points closer to*  $x_{n+1}$",
        place="talk:234",
        quantity="share of token pairs of which the farther one gets more weight, on drawn contexts",
        rule=lambda case: (0.0, 0.0),
        grade=Grade.IDENTITY,
        implied_by=("P1.W.kernel",),
        control="tokens that are not on a sphere (normal law): long tokens win",
        unit="of all pairs",
    ),
    Claim(
        id="P1.W.table-decay",
        authority=Authority.TALK,
        source='ITA slides, table "M large, M small": attention decays',
        quote="Attention decays quickly with distance slowly with distance",
        place="talk:264",
        reading=r"A larger $w$ makes $-\log\omega_i$ grow faster with $\Vert x_i-x_q\Vert^2$",
        quantity=r"coefficient of $\Vert x_i-x_q\Vert^2$ in $-\log\omega_i$ at the larger $w$ over that at "
        "the smaller one, on drawn contexts; above 1",
        rule=lambda case: (1 + 1e-9, inf),
        grade=Grade.IDENTITY,
        implied_by=("P1.W.kernel",),
        unit="relative",
    ),
    Claim(
        id="P1.W.concentrate",
        authority=Authority.TALK,
        source="ITA slides, ICL Estimator Intuition, Observation 2",
        quote="Larger  $w_{KQ}$  → attention concentrates on the closest point(s)",
        place="talk:249",
        reading=r"$\mathbb E\sum_i\omega_i^2$ tends to one as $w$ grows: a single token has all weight",
        quantity=r"slope of $\log(1-\mathbb E\sum_i\omega_i^2)$ in $\log w$ over the last decade of $w$, "
        r"with its "
        r"change from the decade before, calibrated at $n=2$, where the limit $-1$ is known; below $-1/2$",
        rule=lambda case: (-inf, -0.5),
        resolution=0.5,
        grade=Grade.EXTRAPOLATED,
        quantifier=r"in the limit of large $w$ at fixed $n$",
        unit="in the exponent",
    ),
    Claim(
        id="P1.W.table-noise",
        authority=Authority.TALK,
        source='ITA slides, table "M large, M small": points attended to and noise variance',
        quote="Number of points that are attended to fewer more [...] Noise Variance High Low",
        place="talk:265",
        reading=r"$\mathbb E\sum_i\omega_i^2$, the noise variance in units of $\sigma^2$ and one over the "
        r"number of "
        "points attended to, grows with $w$",
        quantity=r"smallest slope of $\log\mathbb E\sum_i\omega_i^2$ in $\log w$ between neighbors on a "
        "grid, exact; positive by at least 1e-9",
        rule=lambda case: (1e-9, inf),
        grade=Grade.PROVED,
        quantifier="for all $w>0$ and $n>1$",
        unit="in the slope",
    ),
    Claim(
        id="P1.W.table-bias",
        authority=Authority.TALK,
        source='ITA slides, table "M large, M small": estimator bias',
        quote="Estimator bias Low High",
        place="talk:267",
        reading=r"The estimator's bias, $\mathbb E\big[\sum_i\omega_if(x_i)\,\big|\,f,x_q\big]-f(x_q)$, "
        r"falls with "
        "$w$",
        quantity="largest slope of the logarithm of its mean square over functions and queries in $\\log w$, "
        "exact",
        rule=lambda case: (-inf, 0.0),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier=r"for all $w$; proved for affine functions, on a grid up to $w=100$ for the others",
        depends_on=(
            Choice(
                "the mean over tokens is taken before the square: the slide stands before the definition of "
                r"$\mathcal L_{\rm bias}$, which takes the square first (P1.W.bias-turns)",
                (Alternative(r"$\mathcal L_{\rm bias}$ of the same talk", late=True),),
            ),
        ),
        unit="in the slope",
    ),
    Claim(
        id="P1.W.bias-turns",
        authority=Authority.BOOK,
        source="this book: the squared error that the theory calls bias",
        reading=r"$\mathcal L_{\rm bias}=\mathbb E(\sum_if(x_i)\omega_i-f(x_q))^2$ at fixed $n$ falls up "
        r"to the "
        "noiseless optimum $w_0$, where a few tokens are left in the window, and rises beyond: it contains "
        "the "
        "luck of where the tokens fall",
        quantity=r"slope of $\log\mathcal L_{\rm bias}$ in $\log w$ between two windows, exact, on either "
        "side of $w_0$",
        rule=lambda case: (0.0, inf) if case["beyond"] else (-inf, 0.0),
        grade=Grade.EXACT,
        unit="in the slope",
    ),
    Claim(
        id="P1.W.rapid",
        authority=Authority.TEXT,
        source="abstract; ITA slides, Intuition Summary",
        quote="this window widens with decreasing Lipschitzness",
        place="abstract1:1",
        reading=r"$w^*$ grows with $L$",
        quantity=r"smallest slope of $\log w^*$ in $\log L$ over a range of $L$, exact (equal weights, "
        "$w^*=0$, as $w=10^{-6}$); at least 1e-3",
        rule=lambda case: (1e-3, inf),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        depends_on=(
            Choice(
                "the classes: ReLU, which the slides define, and affine, for which no source prints a "
                r"formula. Both are proportional to $L$: $w^*$ minimizes $B+\frac{\sigma^2}{L^2}N$, and as "
                "$N$ rises with $w$ (P1.W.table-noise), no data could contradict this reading. Cosines can "
                "(P1.PD.monotone)",
                (Alternative("also cosines, our formula, at the same context length", late=True),),
            ),
        ),
        unit="in the slope",
    ),
    Claim(
        id="P1.W.noisy",
        authority=Authority.TEXT,
        source="abstract",
        quote="this window widens with decreasing Lipschitzness and increasing label noise in the "
        "pretraining "
        "tasks",
        place="abstract1:1",
        reading=r"$w^*$ falls with $\sigma$ (the first half is P1.W.rapid)",
        quantity=r"largest slope of $\log w^*$ in $\log\sigma$ over a range of $\sigma$, exact; at most "
        r"$-$1e-3",
        rule=lambda case: (-inf, -1e-3),
        grade=Grade.EXACT,
        quantifier=r"for all classes, wherever $w^*>0$; computed for affine and ReLU",
        implied_by=("P1.W.table-noise",),
        cannot_fail=r"$w^*$ minimizes $B+\sigma^2N$, and $N$ rises with $w$ (P1.W.table-noise)",
        unit="in the slope",
    ),
    Claim(
        id="P1.W.softmax-adapts",
        authority=Authority.TALK,
        source="ITA slides, caption of Fig. 1, middle",
        quote="Attention unit can adapt to these attention windows using softmax",
        place="talk:255",
        reading="The weights of softmax attention trained for large $L$ are narrower than those trained for "
        "small $L$",
        quantity="half-width of the optimal weights as a function of the distance, at the largest $L$ over "
        "the "
        "smallest $L$, exact; narrower by at least 10 %",
        rule=lambda case: (0.0, 0.9),
        grade=Grade.EXACT,
        quantifier="there are windows",
        depends_on=(
            Choice("the functions of Fig. 1, not printed; our three classes"),
            Choice("the threshold of 10 %"),
        ),
        implied_by=("P1.W.rapid",),
    ),
    Claim(
        id="P1.W.context-error",
        authority=Authority.BOOK,
        source="this book: what the lower row of Fig. 1 shows with our functions",
        reading="With the window adapted to $L$ and $n$, the error of cosines on the circle falls with the "
        "number "
        "of context tokens like a power; with the window kept from a short context it does not",
        quantity=r"slope of $\log$ error in $\log n$ over the last decade of $n$, exact, with its change "
        "from the decade before, calibrated on affine functions, whose limits are known ($-4/5$; 0 with a "
        "window that is kept); at most $-0.1$",
        rule=lambda case: (-inf, -0.1),
        resolution=0.1,
        grade=Grade.EXTRAPOLATED,
        quantifier="in the limit of long contexts",
        control="no adaptation: the window that is best for a short context, kept for all",
        unit="in the exponent",
    ),
    Claim(
        id="P1.F1.values",
        authority=Authority.TALK,
        source="Fig. 1 of the paper and ITA slides: the curves shown",
        quote="Varying Lipschitzness in the ground truth results in different optimal attention windows",
        place="talk:255",
        reading="Three targets of growing Lipschitzness, their windows, weights and ICL errors, as drawn",
        expected=Verdict.NOT_TESTABLE,
        why_not="Neither the target functions nor noise, context lengths or values are printed in any source "
        "available to us. The qualitative content is judged in P1.W.rapid, P1.W.softmax-adapts and "
        "P1.W.context-error.",
    ),
]
