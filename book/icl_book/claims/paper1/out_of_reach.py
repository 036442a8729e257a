"""Statements of paper 1 about the literature, and those whose text is in none of our sources."""

from __future__ import annotations

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

#: Statements about the literature, and statements whose text is in none of our sources.
CLAIMS: list[Claim] = [
    Claim(
        id="P1.T2.first",
        source='ITA slides, Theorem 2 and Theorem 4: "to our knowledge, first result"',
        statement="The first result showing how pretrained softmax attention facilitates ICL; the first "
        "showing that softmax attention learns low-dimensional structure among ICL pretraining "
        "tasks",
        expected=Verdict.NOT_TESTABLE,
        why_not="A statement about the literature, not about attention; nothing to compute.",
    ),
    Claim(
        id="P1.3-4.formula",
        source="reviews: Theorem 3.4 of the paper",
        statement="Concrete bounds on how the attention window scales with Lipschitzness, noise level and "
        "context size, for the affine and the ReLU class",
        expected=Verdict.NOT_TESTABLE,
        why_not="Its formula is in none of the sources available to us. The slides' version is judged in "
        "P1.T2.lower, P1.T2.upper and P1.T2.lower-affine.",
    ),
    Claim(
        id="P1.4-4.formal",
        source="reviews: Theorem 4.4 of the paper",
        statement="The formal version of the slides' Theorem 4, with its token law and the size of $C$",
        expected=Verdict.NOT_TESTABLE,
        why_not="Only the informal version is in a source available to us; it is judged, with a declared "
        "token law, in P1.T4.two-tokens and P1.T4.noiseless.",
    ),
    Claim(
        id="P1.2-1.remark",
        source="captions: Remark 2.1 of the paper, referred to by Fig. 1",
        statement="A remark on extreme cases",
        expected=Verdict.NOT_TESTABLE,
        why_not="Its text is in none of the sources available to us. The slides' extreme examples are judged "
        "in P1.T2.noise-limit, P1.T2.signal-limit, P1.T2.context-limit and P1.PD.signal.",
    ),
    Claim(
        id="P1.F2-4.figures",
        source="Figs. 2 and 4 of the paper",
        statement="How $\\Vert M\\Vert$ changes the prediction (Fig. 2, by the slides); content unknown "
        "(Fig. 4)",
        expected=Verdict.NOT_TESTABLE,
        why_not="Their captions, settings and values are in none of the sources available to us. The table "
        "beside the slides' figure is judged in P1.W.table-noise and P1.W.table-bias.",
    ),
]
