"""Statements and their verdicts.

- `claim`: a statement as data, and the claims of both papers, read from ``book/claims/*.yml``.
- `rules`: what a statement permits.
- `judge`: measurements offered as evidence, compared with what a claim permits.
- `card`: what a page and the audit show, as data and as HTML.
- `manuscript`: the text of a paper that a reader has. `quotes`: the book's quotations compared with it.
"""

from icl_book.claims.claim import (
    Alternative,
    Authority,
    Choice,
    Claim,
    Grade,
    Severity,
    Verdict,
    registry,
)
from icl_book.claims.judge import Case, cases, judge

__all__ = [
    "Alternative",
    "Authority",
    "Case",
    "Choice",
    "Claim",
    "Grade",
    "Severity",
    "Verdict",
    "cases",
    "judge",
    "registry",
]
