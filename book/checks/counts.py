"""The verdicts counted once more, from the files that the book publishes.

``python counts.py [audit.json]`` reads the verdicts from the built book, and what the
further run found from ``results/replication.csv``. A statement of the authors counts as
tested if it has a verdict, if data could contradict it and if no other statement
implies it.
"""

import csv
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "_build" / "book" / "quick" / "_static" / "audit.json"
AUTHORS = ("authors' text", "authors' talk, read by OCR", "rebuttal")
UNDECIDED = ("open", "inconclusive")


def said(where, what, some):
    if count := len(list(some)):
        print(f"verdicts | where={where!r} what={what!r} | {count} | 0")


path = Path(sys.argv[1]) if len(sys.argv) > 1 else BUILT
for paper in ("P1", "P2"):
    where = f"authors of paper {paper[1]}"
    mine = [
        claim
        for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]
        if claim["paper"] == paper and claim["authority"] in AUTHORS
    ]
    alone = [claim for claim in mine if not claim["implied_by"]]
    judged = [claim for claim in alone if claim["verdict"][:4] != "not "]
    sure = [c for c in judged if c["grade"] == "identity" or c["cannot_fail"]]
    tested = [claim for claim in judged if claim not in sure]
    said(where, "all", mine)
    said(where, "implied by others", [c for c in mine if c["implied_by"]])
    said(where, "without a verdict", [c for c in alone if c not in judged])
    said(where, "cannot fail", sure)
    said(where, "tested", tested)
    for verdict in sorted({claim["verdict"] for claim in tested}):
        said(where, verdict, [c for c in tested if c["verdict"] == verdict])
    main = [c for c in tested if next(iter(c["readings"].values())) == "agrees"]
    said(where, "main reading agrees", main)
    doubted = [claim for claim in tested if claim["verdict"] != "holds"]
    by_ocr = [c for c in doubted if c["authority"].endswith("OCR")]
    said(where, "doubted and read by OCR", by_ocr)
    failing = [
        (name in claim["late"])
        for claim in doubted
        for name, outcome in claim["readings"].items()
        if outcome == "contradicts"
    ]
    said(where, "readings that fail", failing)
    said(where, "readings that fail and are late", filter(None, failing))

text = (ROOT / "results" / "replication.csv").read_text(encoding="utf-8")
rows = list(csv.DictReader(text.splitlines()))
authors = [r for r in rows if r.get("who") == "authors" and r["independent"] == "yes"]
for where, some in (
    ("further run, sampled", [r for r in rows if r["grade"] == "sampled"]),
    ("further run, random numbers", [r for r in rows if r["fresh_1"]]),
    ("further run, authors", [r for r in authors if r["then"] == "holds"]),
):
    moved = [r for r in some if r["registered"] != r["then"] or r["control"] != "passed"]
    against = [r for r in moved if r["registered"] not in UNDECIDED]
    said(where, "all", some)
    said(where, "stayed", [r for r in some if r not in moved])
    said(where, "undecided", [r for r in moved if r not in against])
    said(where, "contradicted", against)
    failed = [r for r in against if r["control"] != "passed"]
    said(where, "contradicted, and the control failed", failed)
