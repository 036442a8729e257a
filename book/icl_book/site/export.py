"""The audit as one JSON file, with its schema."""

from __future__ import annotations

import json
from collections.abc import Sequence

from icl_book.claims import Authority, Verdict
from icl_book.site.audit import PAPERS, Entry

#: Schema of the JSON file, in JSON Schema's own words; ``audit.json`` names it.
_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Audit of two papers on in-context learning with softmax attention",
    "type": "object",
    "required": ["rules", "claims"],
    "properties": {
        "rules": _TEXT,
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "paper", "authority", "source", "statement", "verdict"],
                "properties": {
                    "id": _TEXT,
                    "paper": {"enum": list(PAPERS)},
                    "authority": {"enum": [str(a) for a in Authority]},
                    "verdict": {"enum": [str(v) for v in Verdict]},
                    "quote": _TEXT,
                    "place": _TEXT,
                    "reading": _TEXT,
                    "statement": _TEXT,
                    "source": _TEXT,
                    "grade": _TEXT,
                    "quantifier": _TEXT,
                    "depends_on": {"type": "array", "items": _TEXT},
                    "implied_by": {"type": "array", "items": _TEXT},
                    "corrected": {"type": ["string", "null"]},
                    "severity": {"type": ["string", "null"]},
                    "readings": {"type": "object", "additionalProperties": _TEXT},
                    "detection_limit": {"type": ["number", "string", "null"]},
                    "detection_limit_least": {"type": ["number", "string", "null"]},
                    "tested": _FLAG,
                    "control_passed": _FLAG,
                    "why_not": _TEXT,
                    "chapter": _TEXT,
                    "cases": {"type": "array"},
                },
            },
        },
    },
}


def as_json(found: Sequence[Entry], rules: str) -> str:
    """Write all claims with their evidence as one JSON document, which `SCHEMA` describes."""
    claims = []
    for e in found:
        c = e.claim
        bare = {
            "id": c.id,
            "paper": c.paper,
            "authority": str(c.authority),
            "source": c.source,
            "quote": c.quote,
            "place": c.place,
            "reading": c.reading,
            "statement": c.statement,
            "verdict": e.verdict,
            "why_not": c.why_not,
        }
        claims.append((e.card or bare) | {"chapter": e.notebook, "tested": c.tested})
    document = {"$schema": "audit.schema.json", "rules": rules, "claims": claims}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
