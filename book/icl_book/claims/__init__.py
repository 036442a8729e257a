"""Statements and their verdicts.

- `claim`: a statement as data, and the cases that are offered as evidence.
- `judge`: compares cases with a claim's rule. `card`: what a page and the audit show.
- `paper1`, `paper2`: the statements by topic; `registry` has them all.
"""

from icl.statistics import FALSE_ALARM_RATE
from icl_book.claims.card import Card
from icl_book.claims.claim import Case, Claim, Range, Rule, Verdict, exact, sampled
from icl_book.claims.judge import judge
from icl_book.claims.registry import registry

__all__ = [
    "FALSE_ALARM_RATE",
    "Card",
    "Case",
    "Claim",
    "Range",
    "Rule",
    "Verdict",
    "exact",
    "judge",
    "registry",
    "sampled",
]
