"""Statements of the first paper, read for classes that its theorems do not cover: the cosine class.

Whether the window follows noise, context length and Lipschitz constant as Theorem 2 says. The chapter is
phase_diagram.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

CLAIMS: list[Claim] = [
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
        source='ITA slides, Theorem 2, extreme example: L much larger than sigma: "pick the nearest '
        'neighbour"',
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
        "every smooth class: not the slope of the functions sets the window but their Laplacian; "
        r"for $\cos(L\,u\cdot x)$ this is $nL^4/\sigma^2$",
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
        r"constants one and $\sin 1$; we read 'not much' as a factor of at most 1.5, exact",
        rule=lambda case: (1 / 1.5, 1.5),
        expected=Verdict.FAILS,
        resolution=1e-3,
        control="affine and ReLU functions of the same $L$ in a short context",
    ),
]
