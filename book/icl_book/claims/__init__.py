"""Statements and their verdicts.

- `claim`: a statement as data: who says it, what is judged, what the verdict rests on.
- `registry`: the claims of both papers, from ``book/claims/*.yml``. `rules`: what a statement permits.
- `case`: measurements offered as evidence. `judge`: compares them with what the claim permits.
- `card`: what a page and the audit show, as data and as HTML, with its strip plots.
- `sources`: what quotations were read from. `quotes`: compares them with a paper that a reader has.
"""

from icl_book.claims.case import Case, cases
from icl_book.claims.claim import (
    Alternative,
    Authority,
    Choice,
    Claim,
    Grade,
    Severity,
    Verdict,
)
from icl_book.claims.judge import judge
from icl_book.claims.registry import registry

__all__ = [
    "Alternative",
    "Authority",
    "Case",
    "Choice",
    "Claim",
    "Grade",
    "Severity",
    "Verdict",
]
__all__ += ["cases", "judge", "registry"]
