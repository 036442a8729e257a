"""The registry of all claims of both papers."""

from __future__ import annotations

from icl_book.claims import paper1, paper2
from icl_book.claims.claim import Claim


def registry() -> dict[str, Claim]:
    """Return all claims of both papers by id, in the order of the sources."""
    both = [*paper1.CLAIMS, *paper2.CLAIMS]
    found = {c.id: c for c in both}
    if len(found) != len(both):
        raise ValueError("two claims share an id")
    return found
