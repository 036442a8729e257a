"""Statements of the first paper on the growth of the norm of M and on Lemma 1, judged on trained units.

The chapters are norm_growth and lemma1_covariance.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Verdict

#: The slide has four panels; its settings are in no source.
_GROWTH = (
    r"$\|M\|$ grows faster during pretraining with larger L, on both ReLU and Cosine tasks, "
    r"with both isotropic and non-isotropic $x_i$"
)
_LOG_RATIO = (
    "logarithm of the ratio of the spectral norms of $M$ at $L$ and at the next smaller $L$, at the least "
    "favorable of a quarter, half and all of the training; median over seeds; at least 0.01, one percent"
)
_NON_ISOTROPIC = Choice(
    "what non-isotropic tokens mean: an ellipsoid, and functions that are symmetric in its whitened "
    "coordinates, as Lemma 1 needs",
    (Alternative("an ellipsoid, and the functions of the sphere"),),
)
_SETTINGS = Choice("$d$, $n$, $\\sigma$, the values of $L$ and plain gradient steps: none is printed")
#: The lemma, its condition left as open as it is printed.
_LEMMA = (
    r"Under natural symmetry conditions: $\mathbf{x}_i \sim \mathbf{\Sigma}^{1/2} \mathcal{U}^d \ \forall \ "
    r"i \implies \mathbf{M}^* = w_{KQ} \mathbf{\Sigma}^{-1}$"
)


def _norm_grows(case: dict):
    return 0.01, inf


def _within_tenth(case: dict):
    return 0.9, 1.1


CLAIMS: list[Claim] = [
    Claim(
        id="P1.F3.relu",
        authority=Authority.TALK,
        source="ITA slides, Empirical Scaling of ||M|| with L (Fig. 3 in the reviews): ReLU tasks",
        quote=_GROWTH,
        place="talk:362",
        reading=r"On ReLU tasks: units pretrained with a larger $L$ have a larger $\Vert M\Vert$ at a "
        "quarter, at half and at the end of the training",
        quantity=_LOG_RATIO,
        rule=_norm_grows,
        expected=Verdict.DEPENDS,
        grade=Grade.SAMPLED,
        quantifier="for the listed constants $L$",
        depends_on=(
            _SETTINGS,
            Choice(
                "the optimizer: with Adam the order of the curves appears at the end of the training, not at "
                "its start (P1.F3.adam)",
                (Alternative("with Adam, and from the start", late=True),),
            ),
            _NON_ISOTROPIC,
        ),
        unit="in the logarithm of the ratio",
    ),
    Claim(
        id="P1.F3.cosine",
        authority=Authority.TALK,
        source="ITA slides, Empirical Scaling of ||M|| with L (Fig. 3 in the reviews): cosine tasks",
        quote=_GROWTH,
        place="talk:362",
        reading=r"On cosine tasks whose waves the context resolves (the exact $w^*$ grows with $L$ there): "
        r"units pretrained with a larger $L$ have a larger $\Vert M\Vert$ at a quarter, at half and at the "
        "end of the training",
        quantity=_LOG_RATIO,
        rule=_norm_grows,
        expected=Verdict.DEPENDS,
        grade=Grade.SAMPLED,
        quantifier="for the listed constants $L$",
        depends_on=(
            Choice(
                "which constants $L$ are meant: those at which the context resolves the waves",
                (Alternative("also waves too short for the context"),),
            ),
            Choice(
                r"the formula of the cosine class, $\cos(Lu\cdot x)$ with $u$ uniform on the sphere",
                (Alternative("a uniform phase is added"),),
            ),
            _SETTINGS,
            _NON_ISOTROPIC,
        ),
        unit="in the logarithm of the ratio",
    ),
    Claim(
        id="P1.F3.flow",
        authority=Authority.BOOK,
        source="gradient flow of the population risk",
        reading=r"Plain gradient steps from $M=0$ follow $\dot w=-\frac1d\mathcal L'(w)$, $M=wI$",
        quantity="mean diagonal of $M$ divided by the exact flow, averaged over the last three quarters "
        "of the training; median over seeds; within 3 %",
        rule=lambda case: (0.97, 1.03),
        grade=Grade.SAMPLED,
        quantifier="for the listed constants $L$",
        unit="relative",
    ),
    Claim(
        id="P1.F3.adam",
        authority=Authority.BOOK,
        source="growth of ||M|| with Adam",
        reading=r"With Adam, the start of the growth of $\Vert M\Vert$ does not depend on $L$ (ReLU class, "
        "small noise)",
        quantity="spectral norm of $M$ at $L$ divided by that at the next smaller $L$ after 20 "
        "steps; median over seeds; within 10 %",
        rule=_within_tenth,
        grade=Grade.SAMPLED,
        quantifier="for the listed constants $L$",
        control="plain gradient steps",
        unit="relative",
    ),
    Claim(
        id="P1.L1.form",
        authority=Authority.TALK,
        source="ITA slides, Lemma 1: form of the minimizer for any Sigma",
        quote=_LEMMA,
        place="talk:219",
        reading=r"If the law of $f\circ\Sigma^{1/2}$ is rotation invariant, $x_i\sim\Sigma^{1/2}U^d$ implies "
        r"$M^*=w_{KQ}\Sigma^{-1}$",
        quantity=r"for the whitened matrix $N=\Sigma^{1/2}M\Sigma^{1/2}$ on the sphere, which predicts what "
        r"$M$ does (P1.L1.wlog): least value met, and below it a certified bound, over all lengths of $Nu_q$ "
        "and all its angles to $u_q$, of what turning the attention away from the query adds to the loss, in "
        "units of what it adds in the part of degree 1 (up to quadrature errors of 1e-13); positive: every "
        "minimizer $N$ is a multiple of $I$. For $f$ itself invariant: as in P1.L1.trained, within 0.1",
        rule=lambda case: (1e-9, inf),
        expected=Verdict.DEPENDS,
        grade=Grade.CERTIFIED,
        quantifier=r"for all matrices, all $\Sigma$ and all noise, at the $d$ and $n$ of the page",
        depends_on=(
            Choice(
                "which conditions are natural, not printed: the whitened problem is rotation invariant. A "
                "summary speaks of rotation-invariant function distributions (P1.L1.original)",
                (
                    Alternative(
                        "the law of $f$ itself is rotation invariant", lambda case: (-0.1, 0.1), late=True
                    ),
                ),
            ),
        ),
        implied_by=("P1.T2.form", "P1.L1.wlog"),
        unit="in the margin",
    ),
    Claim(
        id="P1.L1.trained",
        authority=Authority.BOOK,
        source="units trained on ellipsoids: their form",
        reading=r"Units trained on $\Sigma^{1/2}u$, with functions that are rotation invariant in $u$, are "
        r"near a multiple of $\Sigma^{-1}$",
        quantity=r"diagonal entry of $\Sigma^{1/2}M\Sigma^{1/2}$ at the longest axis of $\Sigma$ minus that "
        "at the shortest, in units of the mean diagonal; median over seeds; within 0.1. (Entries off the "
        r"diagonal, in the axes of $\Sigma$, are zero in the mean by reflection and test nothing)",
        rule=lambda case: (-0.1, 0.1),
        grade=Grade.SAMPLED,
        quantifier=r"for random $\Sigma$",
        control="functions that are isotropic in the original coordinates",
        unit="of the mean diagonal",
    ),
    Claim(
        id="P1.L1.wlog",
        authority=Authority.TALK,
        source="ITA slides, Lemma 1: afterwards Σ = I without loss of generality",
        quote=r"For the remainder of the talk, $\Sigma = I_d$ WLOG",
        place="talk:225",
        reading=r"A unit $M$ on tokens $\Sigma^{1/2}u$ predicts what the unit $\Sigma^{1/2}M\Sigma^{1/2}$ "
        "predicts on tokens $u$",
        quantity="largest difference of the two predictions over random contexts and random $M$; at most "
        "1e-9, rounding",
        rule=lambda case: (-1e-9, 1e-9),
        grade=Grade.IDENTITY,
        quantifier=r"for all $M$ and $\Sigma$",
        control="the unit is not transformed along with the tokens",
        unit="in the prediction",
    ),
    Claim(
        id="P1.L1.scale",
        authority=Authority.BOOK,
        source="units trained on ellipsoids",
        reading=r"Training on $\Sigma^{1/2}u$ finds the exact $w^*$ of the sphere, whatever $\Sigma$",
        quantity=r"mean diagonal of $\Sigma^{1/2}M\Sigma^{1/2}$ divided by the exact $w^*$ of the sphere; "
        "median over seeds; within 10 %",
        rule=_within_tenth,
        grade=Grade.SAMPLED,
        quantifier=r"for random $\Sigma$",
        implied_by=("P1.L1.wlog",),
        unit="relative",
    ),
    Claim(
        id="P1.L1.original",
        authority=Authority.BOOK,
        source="Lemma 1 with another symmetry",
        reading="If instead the law of $f$ itself is rotation invariant, in the coordinates of the tokens, "
        "the window is narrower in the whitened directions along which $f$ varies more, and "
        r"$M^*\ne w\Sigma^{-1}$",
        quantity=r"diagonal entry of $\Sigma^{1/2}M\Sigma^{1/2}$ at the longest axis minus that at the "
        "shortest, in units of the mean diagonal; median over seeds; at least 0.2",
        rule=lambda case: (0.2, inf),
        grade=Grade.SAMPLED,
        quantifier=r"for one $\Sigma$ and two classes",
        unit="of the mean diagonal",
    ),
    Claim(
        id="P1.L1.sign",
        authority=Authority.TALK,
        source="ITA slides, Lemma 1: the sign of w",
        quote=r"for any $\mathbf{M}^* \in \arg\min \mathcal{L}(\mathbf{M})$ and some $w_{KQ} \geq 0$",
        place="talk:223",
        reading=r"A minimizer with $w\ge0$ exists: the risk at $-w^*I$ is not below that at $w^*I$",
        quantity="sampled risk at $-w^*I$ divided by that at $w^*I$, on the same contexts and their images "
        "with the query turned round; median over blocks of contexts; at least 1, up to rounding",
        rule=lambda case: (1 - 1e-9, inf),
        expected=Verdict.DEPENDS,
        grade=Grade.SAMPLED,
        quantifier="for the listed classes",
        depends_on=(
            Choice(
                "which minimizer is meant: there is one with $w\\ge0$, which no class here could contradict, "
                "as the ratio is one for even functions and their odd parts are of degree 1. Any minimizer, "
                "as printed, is more than even functions allow (P1.L1.even); the conditions may exclude them",
                (
                    Alternative(
                        "every minimizer has $w\\ge0$: the ratio is above 1 by 1e-6",
                        lambda case: (1 + 1e-6, inf),
                        late=True,
                    ),
                ),
            ),
        ),
        unit="relative",
    ),
    Claim(
        id="P1.L1.even",
        authority=Authority.BOOK,
        source="Lemma 1 and even functions",
        reading=r"For even functions, $f(-x)=f(x)$, $\mathcal L(-M)=\mathcal L(M)$: if $w^*I$ is a "
        "minimizer, so is $-w^*I$",
        quantity="largest relative difference of the errors at $-w^*I$ and at $w^*I$ with the query turned "
        "round, over random contexts; at most 1e-9, rounding",
        rule=lambda case: (-1e-9, 1e-9),
        grade=Grade.IDENTITY,
        quantifier="for all even functions",
        control="the first coordinate is added to the even functions",
        unit="relative",
    ),
]
