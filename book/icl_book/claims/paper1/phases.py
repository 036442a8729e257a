"""Statements of the first paper on the corners of the map of windows, and beyond its theorems.

The extreme examples of Theorem 2, judged in the chapter theorem2_extremes; then the cosine class, and what
the window depends on beyond the Lipschitz constant, in phase_diagram.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Verdict


def _factor(most: float):
    """Return the rule that permits a ratio of at most ``most``, either way."""
    return lambda case: (1 / most, most)


CLAIMS: list[Claim] = [
    Claim(
        id="P1.T2.noise-limit",
        authority=Authority.TALK,
        source="ITA slides, Theorem 2, extreme example: sigma to infinity",
        quote=r"$\sigma \to \infty$ : no signal, average the noise,  $w_{KQ} \to 0$",
        place="talk:308",
        quantity=r"local slope of $\log w^*$ in $\log\sigma$ at the largest $\sigma$; its error is "
        "calibrated on the limit for many tokens, where it tends to $-2$; at most $-0.5$",
        rule=lambda case: (-inf, -0.5),
        grade=Grade.EXTRAPOLATED,
        quantifier=r"in the limit $\sigma\to\infty$",
        depends_on=(
            Choice(
                "the class: Theorem 2's, or the cosine class of the figures, whose formula is ours",
                (Alternative(r"cosines: $w^*$ at $\sigma=100$, at most 1e-3", lambda case: (0.0, 1e-3)),),
            ),
        ),
        unit="in the exponent",
        resolution=0.5,  # from the threshold to no change at all
    ),
    Claim(
        id="P1.T2.signal-limit",
        authority=Authority.TALK,
        source="ITA slides, Theorem 2, extreme example: L much larger than sigma",
        quote=r"$L \gg \sigma$ : no point aggregating noise, pick the nearest neighbour,  $w_{KQ} \to "
        r"\infty$",
        place="talk:309",
        reading=r"as an example of Theorem 2, with $n$ large first: at an $n$ at which the sharp law says "
        r"$w^*=10^5$ for $L/\sigma=100$, $w^*$ grows with $L/\sigma$ from 1 to 100. (At each $n$ it is "
        "bounded; the limit is not what is measured.)",
        quantity=r"smallest slope of $\log w^*$ in $\log(L/\sigma)$ from 1 to 10 and from 10 to 100, exact; "
        "at least 0.05",
        rule=lambda case: (0.05, inf),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier=r"for $L/\sigma$ from 1 to 100",
        depends_on=(
            Choice(
                "the order of the limits; at fixed $n$ the window without noise is an interior minimum in "
                "every "
                "dimension",
                (
                    Alternative(
                        r"$L/\sigma\to\infty$ first, at fixed $n$: $1/w^*$ without noise is zero",
                        lambda case: (0.0, 0.0),
                    ),
                ),
            ),
            Choice(
                "what it means to pick the nearest neighbour, at fixed $n$ without noise: its risk over "
                "the least",
                tuple(
                    Alternative(
                        f"the nearest neighbour errs at most {percent} % more than the best window",
                        lambda case, most=1 + percent / 100: (1.0, most),
                    )
                    for percent in (5, 10, 25, 50)
                ),
            ),
        ),
        unit="in the slope",
    ),
    Claim(
        id="P1.T2.context-limit",
        authority=Authority.TALK,
        source="ITA slides, Theorem 2, extreme example: n to infinity",
        quote=r"$n \to \infty$ : the query token is in the context! Choose the nearest neighbour,  "
        r"$w_{KQ} \to \infty$",
        place="talk:310",
        reading=r"$w^*\to\infty$ as $n\to\infty$ (the nearest neighbour is P1.T2.nearest)",
        quantity=r"smallest local slope of $\log w^*$ in $\log n$ over all decades, exact; at least 0.05",
        rule=lambda case: (0.05, inf),
        grade=Grade.EXACT,
        quantifier=r"in the limit $n\to\infty$",
        depends_on=(
            Choice(
                "the class: Theorem 2's, or the cosine class of the figures, whose formula is ours",
                (Alternative(r"cosines, slope at the longest contexts", lambda case: (0.05, inf)),),
            ),
        ),
        control=r"noise variance grows with $n$, so that $nL^2/\sigma^2$ stays fixed",
        unit="in the slope",
    ),
    Claim(
        id="P1.T2.nearest",
        authority=Authority.TALK,
        source="ITA slides, Theorem 2, extreme example: n to infinity",
        quote="the query token is in the context! Choose the nearest neighbour",
        place="talk:310",
        reading="The tokens attended to come arbitrarily close to the query",
        quantity=r"slope of the log bandwidth $w^{*-1/2}$ in $\log n$ over the last step, exact; at most "
        r"$-0.025$",
        rule=lambda case: (-inf, -0.025),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier=r"in the limit $n\to\infty$ at fixed noise",
        depends_on=(
            Choice(
                "what it means to choose the nearest neighbour",
                (
                    Alternative(
                        r"a single token: the number of tokens attended to, $1/\mathbb E\sum\omega_i^2$, "
                        r"does not grow "
                        "(its slope in $\\log n$)",
                        lambda case: (-inf, 0.0),
                    ),
                    *(
                        Alternative(
                            f"the nearest neighbour errs at most {percent} % more than the best window, at "
                            f"the "
                            "largest $n$",
                            lambda case, most=1 + percent / 100: (1.0, most),
                        )
                        for percent in (5, 10, 25, 50)
                    ),
                ),
            ),
        ),
        implied_by=("P1.T2.context-limit",),
        unit="in the slope",
    ),
    Claim(
        id="P1.PD.monotone",
        authority=Authority.BOOK,
        source="this book: the cosine class at short and long contexts",
        reading=r"For $\cos(L\,u\cdot x)$, a formula of ours, the window narrows with $L$ while the "
        r"context resolves "
        r"the functions; where it does not ($n$ below the order of $L^{d-1}$), equal weights are best, "
        r"$w^*=0$",
        quantity=r"$\log w^*$ at $2L$ minus $\log w^*$ at $L$, exact (equal weights, $w^*=0$, as "
        r"$w=10^{-6}$)",
        rule=lambda case: (0.0, inf) if case["resolved"] else (-inf, 0.0),
        grade=Grade.EXACT,
        quantifier="at the settings listed",
        unit=r"in $\log w^*$",
    ),
    Claim(
        id="P1.PD.smooth-law",
        authority=Authority.BOOK,
        source="known for a fixed smooth function: kernel smoothing on spheres and manifolds (Hall, Watson "
        "and Cabrera 1987; Pelletier 2006; Di Marzio, Panzera and Taylor 2014); this book: the mean over a "
        "class",
        reading=r"$w^*\sim\big[\frac{n\,\mathbb E(\Delta f)^2}{(d-1)\kappa\sigma^2}\big]^{2/(d+3)}$ with "
        r"$\mathbb E(\Delta f)^2=\sum_\ell a_\ell(\ell(\ell+d-2))^2$: not the slope of smooth functions "
        r"sets the "
        r"window but their Laplacian, and for $\cos(L\,u\cdot x)$ this is $nL^4/\sigma^2$",
        quantity=r"exact $w^*$ over the law at the context length whose window is $10^5$; its error is "
        "calibrated on the limit for many tokens; one within 2 %",
        rule=lambda case: (0.98, 1.02),
        grade=Grade.EXTRAPOLATED,
        quantifier=r"in the limit $n\to\infty$ for a fixed class with $\mathbb E(\Delta f)^2<\infty$; on "
        "those listed",
        unit="relative",
        resolution=0.02,
    ),
    Claim(
        id="P1.PD.slope",
        authority=Authority.BOOK,
        source="this book: smooth classes of equal slope",
        reading=r"In long contexts the best $w$ for waves, $\cos(4\,u\cdot x)$, is larger than that for "
        "linear functions of the same largest slope on the sphere, and of the same mean squared gradient",
        quantity=r"$w^*$ of the waves over that of the linear functions (same $L$: of the affine class, "
        "whose slopes are uniform up to $L$; same slope in space: of slope $L$), exact; at least 1.05",
        rule=lambda case: (1.05, inf),
        grade=Grade.EXACT,
        quantifier=r"at $n=10^{12}$, $\sigma=0.5$, $L=4$, in the dimensions listed",
        unit="in the ratio",
    ),
    Claim(
        id="P1.PD.beyond",
        authority=Authority.SUMMARY,
        source="machine-written summary of the paper, contribution 5",
        quote="The results suggest the softmax attention does not adapt much beyond Lipschitzness during "
        "pretraining",
        place="summary1:20",
        reading="Classes of the same $L=1$, affine, ReLU and cosine as in the paper's Fig. 5, have optimal "
        "windows "
        "within a factor of 1.5 of each other",
        quantity="largest over smallest $w^*$ of the three classes, exact",
        rule=_factor(1.5),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier="at the settings listed",
        depends_on=(
            Choice(
                "the formula of the cosine class, and noise, dimension and context length, none of them "
                r"printed; with our formulas the slopes at $L=1$ are uniform up to 1 (affine, ReLU), and at "
                "most 0.46 on the sphere (cosine)"
            ),
            Choice(
                '"not much", as a factor',
                (
                    Alternative("the three classes, within a factor of 2", _factor(2.0)),
                    Alternative("the three classes, within a factor of 1.25", _factor(1.25)),
                ),
            ),
            Choice(
                r"which classes: other ones of equal Lipschitz constant on the sphere, cosines of "
                r"wavenumber 8 and "
                "1 in long contexts, each divided by its largest slope",
                tuple(
                    Alternative(f"cosines of equal largest slope, within a factor of {most:g}", _factor(most))
                    for most in (2.0, 1.5, 1.25)
                ),
            ),
        ),
    ),
]
