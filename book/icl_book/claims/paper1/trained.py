"""Statements of the first paper that are judged on trained units.

The chapters are norm_growth, lemma1_covariance, learned_parameters and nonlinear_low_rank.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

CLAIMS: list[Claim] = [
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
        source="ITA slides, Lemma 1: afterwards Σ = I without loss of generality",
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
        source="ITA slides, Lemma 1: afterwards Σ = I without loss of generality",
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
        source="ITA slides, Lemma 1: some w ≥ 0 for any minimizer",
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
