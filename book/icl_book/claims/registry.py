"""The registry of all claims of both papers."""

from __future__ import annotations

from collections import Counter

from icl_book.claims import paper1, paper2
from icl_book.claims.claim import Claim


def registry() -> dict[str, Claim]:
    """Return all claims of both papers by id, in the order of the sources."""
    both = [*paper1.CLAIMS, *paper2.CLAIMS]
    found = {c.id: c for c in both}
    if len(found) != len(both):
        twice = [name for name, count in Counter(c.id for c in both).items() if count > 1]
        raise ValueError(f"two claims share the id {twice[0]}")
    return found


def other_readings(claim: str) -> list[str]:
    """Return the names of a claim's alternative readings, in their order.

    Args:
        claim: Its id.

    Raises:
        KeyError: If the id is unknown.
    """
    return [alternative.name for alternative in registry()[claim].alternatives]
