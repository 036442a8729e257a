"""Statements and their verdicts.

- `claim`: a statement as data, and the claims of both papers, read from ``book/claims/*.yml``.
- `rules`: what a statement permits.
- `evidence`: measurements offered as evidence. `judge`: the comparison with what a claim permits.
- `card`: what a page and the audit show, as data and as text.
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
    find,
    registry,
)
from icl_book.claims.evidence import (
    Case,
    attained_cases,
    exact_cases,
    interval_cases,
    sampled_cases,
)
from icl_book.claims.judge import judge

__all__ = [
    "Alternative",
    "Authority",
    "Case",
    "Choice",
    "Claim",
    "Grade",
    "Severity",
    "Verdict",
    "attained_cases",
    "exact_cases",
    "find",
    "interval_cases",
    "judge",
    "registry",
    "sampled_cases",
]
