"""What we found, for the introduction and the README: every number is a case of a card."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from icl_book.site import judged

README_BLOCK = re.compile(r"(<!-- findings:begin -->\n).*?(<!-- findings:end -->)", re.DOTALL)

#: Each finding with the chapter that shows it.
FINDINGS: tuple[tuple[str, str], ...] = (
    (
        "theorem2_scaling",
        "**How narrow the attention window gets, exactly.** The best window grows like "
        "$(nL^2/\\sigma^2)^{2/(d+2)}$ for ReLU functions and like $(nL^2/\\sigma^2)^{2/(d+3)}$ for affine "
        "ones, constants known {judged}`P1.T2.sharp`; the talk prints exponents $1/d$ and $2/d$ as bounds "
        "{judged}`P1.T2.lower` {judged}`P1.T2.upper`. At $d=5$, $n=10^{12}$, $L=1$, $\\sigma=0.5$ the exact "
        "windows are {judged}`P1.T2.near | ReLU, d = 5, n = 1e12, sigma = 0.5 | 100*.1f` % and "
        "{judged}`P1.T2.near | affine, d = 5, n = 1e12, sigma = 0.5 | 100*.2f` % away from these laws.",
    ),
    (
        "theorem3_generalization",
        "**What the wrong Lipschitz constant costs.** In long contexts, for ReLU functions at $d=5$ and "
        "every $\\sigma>0$, pretraining on half the true $L$ ($L'/L=2$) multiplies the risk by "
        "{judged}`P1.T3.price | ReLU, d = 5, L'/L = 2 | .2f`, on twice the true $L$ ($L'/L=0.5$) by "
        "{judged}`P1.T3.price | ReLU, d = 5, L'/L = 0.5 | .2f`. Within a class proportional to $L$ this is a "
        "factor and never a rate; from smooth functions to kinks it is a rate, too "
        "{judged}`P1.T3.sufficient-rate`.",
    ),
    (
        "phase_diagram",
        "**Not the slope but the curvature.** In long contexts the window of smooth functions follows their "
        "mean squared Laplacian {judged}`P1.PD.smooth-law`. At $d=5$, $n=10^{12}$, $\\sigma=0.5$ the best "
        "$w$ for waves $\\cos(Lu\\cdot x)$, $L=4$, is {judged}`P1.PD.slope | same largest slope, L = 4, "
        "d = 5, n = 1e12, sigma = 0.5 | .2f` times that for linear functions of the same largest slope, and "
        "{judged}`P1.PD.slope | same mean squared gradient, L = 4, d = 5, n = 1e12, sigma = 0.5 | .2f` times "
        "that at the same mean squared gradient.",
    ),
    (
        "gaussian_tokens",
        "**What tokens of one length are good for.** With $M=wI$, linear functions, $d=5$ and $\\sigma=0.5$, "
        "the best window on Gaussian tokens stops narrowing, with $w^*$ at "
        "{judged}`P1.G.stops | Gaussian, d = 5, n = 100, sigma = 0.5 | .2f` for $n=100$ and "
        "{judged}`P1.G.stops | Gaussian, d = 5, n = 1e+06, sigma = 0.5 | .3f` for $n=10^6$, where on the "
        "sphere of equal mean squared length it is "
        "{judged}`P1.G.stops | sphere, d = 5, n = 1e+06, sigma = 0.5 | .1f`. Tokens uniform in a ball, "
        "bounded but of different lengths, leave {judged}`P1.G.ball | floor, d = 5 | 100*.1f` % of the "
        "variance at $d=5$, however many there are.",
    ),
    (
        "lipschitz_bounds",
        "**How loose the bounds are.** A softmax row is $R/2$-Lipschitz in its weights, for weights of any "
        "length {judged}`P2.lip.half`: known (Nair, arXiv 2510.23012). The bound that our notes have from a "
        "paper related to paper 2, which we did not read and which was not meant as a step size, exceeds "
        "this by {judged}`P2.lip.f | f as stated, n = 32, R = 4 | .0f` powers of ten at $n=32$, $R=4$ and by "
        "{judged}`P2.lip.f | f as stated, n = 32, R = 6 | .0f` at $R=6$.",
    ),
    (
        "icl_as_gradient_descent",
        "**Imitating a gradient step needs no attention.** A softmax layer fitted to one random problem of "
        "$n=12$ tokens in $d=4$ dimensions makes the step with a median cosine of "
        "{judged}`P2.icl.imitates | fitted to one problem, n = 12, d = 4 | .2f`, one layer for all problems "
        "with {judged}`P2.icl.imitates | one layer for all problems, n = 12, d = 4 | .1f`. But a matrix on "
        "each token, without attention, makes the first step exactly {judged}`P2.icl.imitates`, and "
        "shrinking every token does as well as the second {judged}`P2.icl.shrinks`.",
    ),
)


def markdown(runs: Iterable[Mapping]) -> str:
    """Write the findings of the chapters that are given as a numbered list, each number a link to its card.

    Args:
        runs: What `icl_book.runner.record.collect` says of each executed notebook.

    Raises:
        BadInput: For a claim that no notebook judges.
    """
    runs = list(runs)
    where = {card["id"]: run["name"] for run in runs for card in run["cards"]}

    def link(claim: str, text: str) -> str:
        return judged.on_page(claim, text, f"../notebooks/{where[claim]}.html")

    return _listed(runs, lambda finding, cards: judged.resolve(finding, cards, link), "../notebooks/{}.ipynb")


def readme(text: str, runs: Iterable[Mapping]) -> str:
    """Rewrite the findings in the README's text; the claims that judge one are named at its end."""
    found = _listed(list(runs), _plain, "notebooks/{}.ipynb")
    return README_BLOCK.sub(lambda m: m[1] + found + m[2], text)


def _plain(finding: str, cards: judged.Cards) -> str:
    claims = dict.fromkeys(m[1].partition(" | ")[0] for m in judged.ROLE.finditer(finding))
    text = judged.resolve(finding, cards, lambda claim, text: text)
    return f"{re.sub(r' +(?=[ .,;:])', '', text)} Judged by {', '.join(claims)}."


def _listed(runs: list[Mapping], write: Callable[[str, judged.Cards], str], chapter: str) -> str:
    cards = {card["id"]: card for run in runs for card in run["cards"]}
    chosen = [(name, text) for name, text in FINDINGS if name in {run["name"] for run in runs}]
    return "".join(
        f"{i}. {write(text, cards)} [Read on]({chapter.format(name)})\n"
        for i, (name, text) in enumerate(chosen, 1)
    )
