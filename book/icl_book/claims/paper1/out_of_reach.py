"""Statements on paper 1 that cannot be tested: on the literature, without a text, motives and summaries."""

from __future__ import annotations

from icl_book.claims.claim import Authority, Claim, Verdict

CLAIMS: list[Claim] = [
    Claim(
        id="P1.T2.first",
        authority=Authority.TALK,
        source='ITA slides, Theorem 2 and Theorem 4: "first result"',
        quote="To our knowledge, *first result* showing how pretrained softmax attention facilitates ICL",
        place="talk:311",
        expected=Verdict.NOT_TESTABLE,
        why_not="A statement about the literature, not about attention; nothing to compute. Line 468 says "
        "the same of low-dimensional structure.",
    ),
    Claim(
        id="P1.related.pretraining",
        authority=Authority.TALK,
        source="ITA slides, what is known: gradient descent",
        quote="Unclear whether *pretraining* leads to such transformers [...] "
        "Only holds for *linear* attention and *linear* tasks",
        place="talk:138",
        expected=Verdict.NOT_TESTABLE,
        why_not="Statements about what other papers prove; this book has not examined those papers.",
    ),
    Claim(
        id="P1.related.kernel",
        authority=Authority.TALK,
        source="ITA slides, what is known: functional gradient descent (Cheng et al.)",
        quote="Requires activation to be a kernel (does not include softmax) [...] "
        "For accurate predictions, requires activation kernel to align with kernel that generates task "
        "labels",
        place="talk:142",
        expected=Verdict.NOT_TESTABLE,
        why_not="A statement about another paper, which this book has not examined.",
    ),
    Claim(
        id="P1.3-4.formula",
        authority=Authority.REVIEW,
        source="reviews: Theorem 3.4 of the paper",
        quote="Theorem 3.4 provides concrete bounds on how the attention window scales with task "
        "Lipschitzness, noise level, and context size",
        place="openreview:71",
        expected=Verdict.NOT_TESTABLE,
        why_not="Its formula is in none of the sources available to us. The slides' version, for the ReLU "
        "class, is judged in P1.T2.lower and P1.T2.upper.",
    ),
    Claim(
        id="P1.4-4.formal",
        authority=Authority.REVIEW,
        source="reviews: Theorem 4.4 of the paper",
        quote="Theorem 4.4 which formalizes the intuition that ICL in transformers identifies "
        "low-dimensional subspaces shared by training tasks",
        place="openreview:116",
        reading="The formal version of the slides' Theorem 4, with its token law and the size of $C$",
        expected=Verdict.NOT_TESTABLE,
        why_not="Only the informal version is in a source available to us; the claims P1.T4 judge it, with a "
        "declared token law.",
    ),
    Claim(
        id="P1.B4.assumption",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 1: Assumption B.4",
        quote="We expect that our results will hold for quite general function classes, in particular, those "
        "that satisfy Assumption B.4",
        place="openreview:204",
        expected=Verdict.NOT_TESTABLE,
        why_not="The text of Assumption B.4 is in none of the sources available to us.",
    ),
    Claim(
        id="P1.C.lemmas",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 1: Lemmas C.3, C.5, C.7 and C.9",
        quote="we have Lemmas C.3 and C.7 that show that our classes satisfy Assumption B.4. The upper "
        "bounds are shown in Lemmas C.5 and C.9",
        place="openreview:204",
        expected=Verdict.NOT_TESTABLE,
        why_not="The text of these lemmas is in none of the sources available to us. What the rebuttal says "
        "of the bias in C.5 and C.9 is judged in P1.rebuttal.bias.",
    ),
    Claim(
        id="P1.2-1.remark",
        authority=Authority.BOOK,
        source="Remark 2.1 of the paper, which the public caption of Fig. 1 refers to",
        reading="The paper has a remark on extreme cases",
        expected=Verdict.NOT_TESTABLE,
        why_not="Its text is in none of the sources available to us. The slides' extreme examples are judged "
        "in the claims P1.T2 that have *limit* in their names.",
    ),
    Claim(
        id="P1.F2-4.figures",
        authority=Authority.TALK,
        source="Figs. 2 and 4 of the paper",
        quote=r"How $\| \mathbf{M} \|$ changes the prediction",
        place="talk:261",
        reading=r"What Fig. 2 (how $\Vert M\Vert$ changes the prediction, by the slides) and Fig. 4 show",
        expected=Verdict.NOT_TESTABLE,
        why_not="Their captions, settings and values are in none of the sources available to us. The table "
        "beside the slides' figure is judged in P1.W.table-noise and P1.W.table-bias.",
    ),
    Claim(
        id="P1.F6-10.figures",
        authority=Authority.REBUTTAL,
        source="Figs. 6, 7, 8 and 10 of the paper",
        quote="Based on our intuition and experiments in Figure 10 in Appendix J",
        place="openreview:97",
        reading="What Fig. 6 (by its public caption a drawing for Lemma B.5: under $M$ attention to $y$ is "
        "centered at another point, under $w$ at $y$), Figs. 7 and 8 and the submission's Fig. 10 show",
        expected=Verdict.NOT_TESTABLE,
        why_not="Fig. 6 is a drawing of an argument; captions and values of the others are in none of the "
        "sources available to us. Nonlinear links, the subject of Fig. 10, are judged in P1.rebuttal.links.",
    ),
    Claim(
        id="P1.W.proxy",
        authority=Authority.TALK,
        source="ITA slides, ICL Estimator Intuition, below Observation 1",
        quote=r"convenient if $\| \mathbf{x}_i \mathbf{x}_{n+1} \|$ is a proxy for "
        r"$|f(\mathbf{x}_i) f(\mathbf{x}_{n+1})|$",
        place="talk:235",
        expected=Verdict.NOT_TESTABLE,
        why_not="A motive; how good a proxy must be is not said. For a class of Lipschitz constant $L$ the "
        "distance bounds the difference, which is a definition.",
    ),
    Claim(
        id="P1.T4.window",
        authority=Authority.TALK,
        source="ITA slides, Results Part II, and Theorem 4, second consequence",
        quote="Attention window of softmax attention should depend only on projections of the input onto "
        r"col(B) [...] softmax attn window depends only on projections onto $\operatorname{col}(B)$",
        place="talk:412",
        expected=Verdict.NOT_TESTABLE,
        why_not=r"With $M^*=cBB^\top$ the scores contain the tokens through $B^\top x$ alone, which is no "
        "measurement. That $M^*$ has this form is judged in P1.T4.minimizer.",
    ),
    Claim(
        id="P1.T4.direction",
        authority=Authority.TALK,
        source="ITA slides, Definition (direction-wise Lipschitzness, informal)",
        quote=r"Recovering $\mathsf{col}(oldsymbol{B}) \equiv \mathsf{Learning}$ direction-wise "
        "Lipschitzness of",
        place="talk:454",
        expected=Verdict.NOT_TESTABLE,
        why_not="It says what learning direction-wise Lipschitzness is to mean. Its two cases "
        "are judged in P1.T4.lipschitz and P1.T4.minimizer.",
    ),
    Claim(
        id="P1.conclusion",
        authority=Authority.TALK,
        source="ITA slides, Conclusion",
        quote="Softmax attention learns shared Lipschitzness both scale and direction – among pretraining "
        "tasks that facilitates downstream ICL.",
        place="talk:472",
        expected=Verdict.NOT_TESTABLE,
        why_not="A summary of statements judged one by one: scale in P1.W.rapid and the claims P1.T2, "
        "direction in the claims P1.T4, what it is good for in the claims P1.T3.",
    ),
    Claim(
        id="P1.rebuttal.selection",
        authority=Authority.REBUTTAL,
        source="rebuttal: classification problems and selection",
        quote="While this is outside the scope of our work, one of the intuitions from our work is that the "
        "soft-max attention can help inform this analogy in two ways",
        place="openreview:57",
        expected=Verdict.NOT_TESTABLE,
        why_not="An intuition about induction heads in language models, outside the authors' and this book's "
        "scope: nothing here has discrete tokens.",
    ),
    Claim(
        id="P1.rebuttal.layers",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 2: two layers",
        quote="Suppose for instance that there are two layers. Then the first layer could learn to project "
        "onto the relevant subspace by placing all of its attention on tokens in that subspace, and for the "
        "second layer, distances are computed only within this subspace",
        place="openreview:206",
        expected=Verdict.NOT_TESTABLE,
        why_not="The mechanism needs tokens in the subspace, and no source prints the law of the tokens. Of "
        r"this book's $x=Bu+B_\perp v$ none lies there. If some were $Bu$ and all others $B_\perp v$, "
        r"$M_1=wBB^\top$ with large $w$ would do it for $Bu'$ with $u\cdot u'>0$ for one of them. "
        "What training finds, with this book's tokens, is P1.beyond.projects.",
    ),
    Claim(
        id="P1.rebuttal.space",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 3: more layers",
        quote="can be interpreted as mapping the input tokens into an appropriate space in which to do "
        "nearest-neighbors regression",
        place="openreview:211",
        expected=Verdict.NOT_TESTABLE,
        why_not="Called conceivable, an interpretation; which space is appropriate is not said.",
    ),
    Claim(
        id="P1.summary.mlp",
        authority=Authority.SUMMARY,
        source="machine-written summary, contribution 4",
        quote="It provides experiments on nonlinear functions like MLPs validating that conclusions extend "
        "beyond the theoretical settings",
        place="summary1:42",
        expected=Verdict.NOT_TESTABLE,
        why_not="No other source mentions such experiments. What can be computed about random networks is in "
        "P1.beyond.networks; that their window follows $L$ is P1.W.rapid, since they have the covariance of "
        "the ReLU class.",
    ),
]
