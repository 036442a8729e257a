"""Statements of the first paper's Theorem 3: what a unit is worth on functions it was not trained for.

The printed bounds for a matched and a mismatched Lipschitz constant, the reading that the constant is
"necessary and sufficient", and Fig. 5. The chapter is theorem3_generalization.
"""

from __future__ import annotations

from math import inf

from icl.risk.asymptotics import risk_exponent
from icl.tasks import make_task
from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

_FAR_SLOPE = (
    r"local slope of $\log\mathcal L(M)$ in $\log n$, exact, at the context lengths whose "
    r"optimal window is $10^4$ to $10^5$"
)

CLAIMS: list[Claim] = [
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
        rule=lambda case: (risk_exponent(make_task(case["kind"], case["dim"])),) * 2,
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
        corrected=r"$\mathcal L(M)\asymp L'^2\big(\frac{\sigma^2}{nL^2}\big)^{\frac3{d+2}}$; the slides' own "
        r"ingredients give the lower bound with exponent $\frac4{d+2}$",
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
        r"side does not change if $L$, $L'$ and $\sigma$ are multiplied by the same number",
        quantity=r"exponent of $\mathcal L(M)$ in a common factor of $L$, $L'$ and $\sigma$, exact",
        rule=lambda case: (0.0, 0.0),
        expected=Verdict.CORRECTED,
        corrected=r"$\mathcal L(M)\ge\frac{\sigma^2}n\big(\frac{nL^2}{\sigma^2}\big)^{\frac1{d+2}}$: a "
        "squared error has the square of the labels' unit",
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
        r"$D(\mathcal F_{L'})$, tends to $(\rho^2+s)\big/(1+s)\rho^{2-2ae}$ with $\rho=L'/L$, "
        r"$s=\frac{2a}{d-1}$, $a=\frac32$ (ReLU) or $2$ (affine), $e=\frac2{d-1+2a}$: a factor "
        "that no $n$ removes and no $n$ increases",
        quantity="exact ratio at the context length whose window is $10^5$, divided by the formula; its "
        "error is the largest change over the last two decades of the window",
        rule=lambda case: (1.0, 1.0),
        resolution=0.05,
        control=r"the formula at $L'/L$ for a ratio of $L/L'$",
    ),
    Claim(
        id="P1.T3.necessary",
        source='ITA slides, Generalization Guarantees: "necessary", for the theorem\'s class',
        statement="Shared Lipschitzness across (train, test) is necessary for ICL",
        quantity=r"risk with the window of $L$ over the least risk, both on $D(\mathcal F_{L'}^+)$, for $n$ "
        'large, exact; we read "fails to generalize" as an excess of more than 10 %',
        rule=lambda case: (1.1, inf),
        resolution=1e-3,
        control=r"$\sigma\ll L$ at fixed $n$: the window no longer depends on $L$, and nothing is lost",
    ),
    Claim(
        id="P1.T3.sufficient",
        source='ITA slides, Generalization Guarantees: "sufficient", read as "only L matters"',
        statement="Shared Lipschitzness across (train, test) is sufficient for ICL",
        quantity="risk with the window of another class of the same $L$ over the least risk, exact; we read "
        '"generalizes" as an excess of at most 10 %',
        rule=lambda case: (1.0, 1.1),
        expected=Verdict.FAILS,
        resolution=1e-3,
        control="low dimension and moderate $n$, where the slides' figure can be reproduced",
    ),
    Claim(
        id="P1.T3.sufficient-rate",
        source='ITA slides, Generalization Guarantees: "sufficient", for large n',
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
        "class, mean over seeds; at most 1.1 counts as generalizing",
        rule=lambda case: (0.0, 1.1),
        resolution=0.1,
        control="cosine units that found $-w$: on even functions as good as $+w$, on the others the wrong "
        "end of the sphere",
    ),
    Claim(
        id="P1.F5.necessary",
        source="ITA slides, Empirical Generalization, and Fig. 5, right: test on cosine L = 1",
        statement="Pretrained on affine $L=1$, cosine $L=0.1$, cosine $L=10$: only pretraining on the same "
        "Lipschitzness generalizes",
        quantity="sampled test error on cosine $L=1$ over that of the unit pretrained there, mean over "
        "seeds; more than 1.1 counts as failing",
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
        "are in no source available to us. Its two statements are judged, with our declared choices, "
        "in P1.F5.sufficient and P1.F5.necessary.",
    ),
    Claim(
        id="P1.3-5.formula",
        source="reviews: Theorem 3.5 of the paper",
        statement="Upper and lower bounds on the test loss for the affine and the ReLU class",
        expected=Verdict.NOT_TESTABLE,
        why_not="The formula of the paper's Theorem 3.5 is in none of the sources available to us. What the "
        "slides print of it is judged above, and so is what the reviews say of it (P1.T3.any).",
    ),
]
