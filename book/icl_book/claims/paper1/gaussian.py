"""Statements on Gaussian tokens and in a ball: what in the first paper's picture needs tokens of one length.

All but one are this book's own; the chapter is gaussian_tokens.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Authority, Choice, Claim, Grade

_MULTIPLES = Choice(
    "the best window is the best multiple of the identity, $M=wI$; whether another matrix is better is open"
)
_LINEAR = Choice(r"the functions: linear, $f(x)=\beta\cdot x$ with $\mathbb E\beta\beta^\top=\frac{L^2}dI$")

#: Share of the weight's square that one token may hold, in the count of tokens needed.
CONDENSED = 0.1

#: Least floor, in units of the variance, that is told apart from none; the scan in w ends at 1e6.
NO_FLOOR = 1e-6
WIDEST_W = 1e6

CLAIMS: list[Claim] = [
    Claim(
        id="P1.G.exact",
        authority=Authority.BOOK,
        source="this book: exact population risk on Gaussian tokens",
        reading=r"Given a query of length $r$ the bias is "
        r"$\frac{L^2}d\big[r^2\big((w-1)^2+w(2-w)C-6w^2D\big)+dC\big]$ and the noise term $\sigma^2C$, with "
        r"$C=\mathbb E\sum\omega_i^2$ and $D=\mathbb E\sum\omega_i^3-\mathbb E(\sum\omega_i^2)^2$",
        quantity="bias of two tokens by a direct sum over their scores, over the exact bias; equal within "
        "1e-8",
        rule=lambda case: (1 - 1e-8, 1 + 1e-8),
        grade=Grade.PROVED,
        quantifier=r"for all $n$, $d$, $w$; checked at two tokens",
        depends_on=(_LINEAR,),
        control="the query counted as one more token, with its own clean label",
        unit="relative",
    ),
    Claim(
        id="P1.G.stops",
        authority=Authority.BOOK,
        source="this book: best window on Gaussian tokens and on the sphere, at equal token length",
        reading=r"With the same linear functions, noise and mean squared token length $d$, the best window "
        r"stays below one on 100 and more Gaussian tokens, and is above one on the sphere of radius "
        r"$\sqrt d$ at the most tokens listed",
        quantity=r"$w^*$ in $M=wI$, exact",
        rule=lambda case: (-inf, 1.0) if case["tokens"] == "Gaussian" else (1.0, inf),
        grade=Grade.EXACT,
        quantifier="at the settings listed",
        depends_on=(_LINEAR, _MULTIPLES),
        control="two Gaussian tokens in two dimensions without noise",
        unit="in the window",
    ),
    Claim(
        id="P1.G.ball",
        authority=Authority.BOOK,
        source="this book: limit of many tokens that are uniform in the unit ball",
        reading="On tokens uniform in the unit ball, bounded but of different lengths, the limit of the "
        r"risk of linear functions for $n\to\infty$ is least at a finite $w$, and a floor stays there; on "
        "the sphere there is none",
        quantity=r"the $w$ of the least limit, below $10^5$ in a scan to $10^6$; the least limit in units of "
        r"the variance of $f$, above $10^{-6}$; from Bessel functions, exact",
        rule=lambda case: (-inf, WIDEST_W / 10) if case["what"] == "window" else (NO_FLOOR, inf),
        grade=Grade.EXACT,
        quantifier="at the dimensions listed",
        depends_on=(_LINEAR, _MULTIPLES),
        control=r"the sphere, at the end of the scan, $w=10^6$: the floor",
        unit="in the window, and of the variance",
    ),
    Claim(
        id="P1.G.rate",
        authority=Authority.BOOK,
        source="this book: law of the best window on Gaussian tokens; its mechanism, one heavy term in a sum "
        "of exponentials, is known: Derrida 1981, Bouchaud and Mezard 1997",
        reading=r"$w^*\to1$, and $1-w^*\sim K_d(\log n)^{d/2+1}n^{-1/\varphi}$ with the golden ratio "
        r"$\varphi=\frac{1+\sqrt5}2$ and a constant $K_d$ that does not depend on $L$ and $\sigma$",
        quantity=r"exact $1-w^*$ at $n=10^{30}$ over the integral in which one token is heavy and the "
        r"others' sum is its mean; this integral over the law at $\log n=10^6$; each one within 1 %",
        rule=lambda case: (0.99, 1.01),
        grade=Grade.EXACT,
        quantifier=r"in the limit $n\to\infty$; derived, not proved: the two steps of the derivation are "
        "measured, at the settings listed",
        depends_on=(_LINEAR, _MULTIPLES),
        control="the law of one dimension more",
        unit="relative",
    ),
    Claim(
        id="P1.G.survives",
        authority=Authority.BOOK,
        source="this book: what stays true of the window on Gaussian tokens",
        reading=r"The window widens ($w^*$ falls) as $L/\sigma$ falls, at every context length, as on the "
        "sphere",
        quantity=r"smallest slope of $\log w^*$ in $\log(L/\sigma)$ between neighboring values, exact",
        rule=lambda case: (0.0, inf),
        grade=Grade.EXACT,
        quantifier="at the settings listed",
        depends_on=(_LINEAR, _MULTIPLES),
        unit="in the slope",
    ),
    Claim(
        id="P1.G.tokens",
        authority=Authority.BOOK,
        source="this book: tokens needed for the limit of many tokens",
        reading=r"At a query of length $r$ the number of tokens for which $\mathbb E\sum\omega_i^2$ falls to "
        r"0.1 grows exponentially in $w^2r^2$: the slope of its logarithm lies between "
        r"$\frac12(1-0.1)^2$ and 1",
        quantity=r"slope of $\log n$ in $w^2r^2$ between neighboring values, exact",
        rule=lambda case: ((1 - CONDENSED) ** 2 / 2, 1.0),
        grade=Grade.EXACT,
        quantifier=r"at the values of $w r$ listed",
        unit="in the slope",
    ),
    Claim(
        id="P1.G.large-prompt",
        authority=Authority.OTHER,
        source="Boursier and Boyer, abstract of arXiv 2512.11784, third sentence",
        quote="For i.i.d. Gaussian inputs, we lean on the fact that the softmax operator converges in the "
        "infinite-prompt limit to a linear operator acting on the underlying input-token measure",
        place="largeprompt:1",
        reading=r"At a fixed query the weighted mean of the tokens converges to $w\,x_q$, linear in the "
        r"query (with our unit $M=wI$), in mean square like $1/n$",
        quantity=r"slope of $\log\mathbb E\Vert\sum\omega_ix_i-w\,x_q\Vert^2$ in $\log n$ over the last "
        r"step, exact; $-1$ within 0.01",
        rule=lambda case: (-1.01, -0.99),
        grade=Grade.EXACT,
        quantifier=r"in the limit $n\to\infty$ at a fixed query; at the lengths listed",
        depends_on=(Choice("the rate is our addition: the abstract's sentence names none"),),
        unit="in the exponent",
    ),
    Claim(
        id="P1.G.floor",
        authority=Authority.BOOK,
        source="this book: floor of nonlinear functions on Gaussian tokens; that exponential weights tilt "
        "the law is known, see Boursier and Boyer 2025",
        reading=r"For $n\to\infty$ the risk tends to $\mathbb E\big(f(x_q)-\mathbb E_gf(g+wx_q)\big)^2$, "
        r"$g\sim N(0,I)$. For $f=\mathrm{He}_k(u\cdot x)$ its least value over $w$ is "
        r"$k!\big(1-\frac{k!}{(2k-1)!!}\big)$, positive from $k=2$ on. It is zero at $w=1$ for harmonic "
        r"polynomials such as $x_1x_2$, and for no other functions of polynomial growth there; at "
        r"$w=\sqrt2$ for the normal distribution function $\Phi(x_1)$; and, of faster growth, at $w=1$ for "
        r"$e^{ax_1}\cos ax_1$ with $a^2=2\pi$",
        quantity="sampled risk at the longest context minus the limit, in units of the variance of $f$; "
        r"median over seeds, within 5 %; of $\Phi(x_1)$ and $e^{ax_1}\cos ax_1$ the limit itself",
        rule=lambda case: (-0.05, 0.05),
        grade=Grade.PROVED,
        quantifier="for polynomials and functions of linear growth; checked on those listed",
        control=r"the square $\mathrm{He}_2$ at $w=1$, taken to have no floor like $x_1x_2$",
        unit="of the variance",
    ),
    Claim(
        id="P1.G.linear",
        authority=Authority.BOOK,
        source="this book: softmax against linear attention on Gaussian tokens",
        reading=r"On linear functions softmax attention with the best $w$ in $M=wI$ has a larger risk than "
        "linear attention with its best",
        quantity="least risk of softmax attention over that of linear attention, exact",
        rule=lambda case: (1.0, inf),
        grade=Grade.EXACT,
        quantifier="at the settings listed",
        depends_on=(_LINEAR,),
        control=r"the same functions with a random intercept of standard deviation $L$, at the same $n$",
        unit="relative",
    ),
    Claim(
        id="P1.G.value",
        authority=Authority.BOOK,
        source="this book: the value scale restores the rate of linear attention",
        reading=r"With the best factor $v$ of the prediction (the corner of $W_V$), softmax attention at "
        r"$w^2=\frac1{d+2}$ has $(1+\frac2d)^{d/2+1}$ times the risk of the best linear attention, so the "
        r"rate $1/n$",
        quantity="risk with the best factor over that of linear attention and this number, exact; one "
        "within 0.1 %",
        rule=lambda case: (0.999, 1.001),
        grade=Grade.EXACT,
        quantifier=r"in the limit $n\to\infty$; at the context length listed",
        depends_on=(_LINEAR,),
        control="the factor left at one",
        unit="relative",
    ),
]
