"""Read the results of an executed notebook, and check that its file was not changed."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from icl_book.parameters import BadInput
from icl_book.provenance import CARD_MIME, FOOTER_MIME, TABLES_MIME


def seal(node: Mapping[str, Any]) -> None:
    """Write a checksum of its other content into an executed notebook's metadata."""
    node["metadata"]["icl"]["checksum"] = _compute_checksum(node)


def _compute_checksum(node: Mapping[str, Any]) -> str:
    """Return the digest of a notebook's cells and of the run's own metadata, without the checksum there."""
    record = {k: v for k, v in node["metadata"]["icl"].items() if k != "checksum"}
    return hashlib.sha256(json.dumps([node["cells"], record], sort_keys=True).encode()).hexdigest()


def read_json(path: Path | str) -> Any:
    """Read a JSON file; BadInput, naming it, if it cannot be read or is not JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{os.path.relpath(path)}: {error.strerror}") from None
    except ValueError:
        # The text is not JSON, or not UTF-8.
        raise BadInput(f"{os.path.relpath(path)}: damaged, not JSON") from None


def read(path: Path | str) -> dict[str, Any]:
    """Read an executed notebook; BadInput if it is damaged, was edited, or did not run to its end."""
    node: dict[str, Any] = read_json(path)
    try:
        sealed, now = node["metadata"]["icl"]["checksum"], _compute_checksum(node)
    except (KeyError, TypeError):
        raise BadInput(f"{os.path.relpath(path)}: not executed to its end by icl_book") from None
    if sealed != now:
        raise BadInput(f"{os.path.relpath(path)}: damaged or edited, its checksum does not agree")
    return node


def whole(path: Path) -> bool:
    """Return whether an executed notebook exists and is undamaged; print a line if it is damaged."""
    try:
        return path.is_file() and bool(read(path))
    except BadInput as error:
        print(f"{error}; it will run again", flush=True)
        return False


def collect(path: Path | str) -> dict[str, Any]:
    """Read what an executed notebook found, see `extract_results`; BadInput as `read`."""
    return extract_results(read(path))


def extract_results(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an executed notebook found.

    The result has the attributes of `icl_book.runner.plan.Run`, ``parameters``, ``seconds``, ``device``,
    ``machine``, ``versions``, ``peak_memory`` in bytes, ``commit``, and ``cards``, the records of all cards.
    They are judged anew by today's claims, because the notebook holds evidence only.

    Raises:
        BadInput: Unless the notebook has one ``notebook.footer()`` and the evidence that its claims need.
    """
    data = shown(node)
    footers = [d[FOOTER_MIME] for d in data if FOOTER_MIME in d]
    if "icl" not in node["metadata"] or len(footers) != 1:
        raise BadInput("needs one notebook.footer(), executed by icl_book")
    return (
        {k: v for k, v in node["metadata"]["icl"].items() if k != "checksum"}
        | {k: v for k, v in footers[0].items() if k != "parameters"}
        | {"cards": [_judge_anew(d[CARD_MIME]) for d in data if CARD_MIME in d]}
    )


def surprising(found: Iterable[Mapping[str, Any]], allowed: str) -> list[str]:
    """Return a line for each card whose verdict is not as expected.

    ``allowed`` is what the preset allows, see `icl_book.runner.plan.verdicts`. With ``as expected or open`` a
    statement that is left open gets a line only if it is open for want of a case. With ``any`` every
    unexpected verdict gets one.
    """
    # See `_judge_anew` for why this is imported here.
    from icl_book.claims.card import list_empty_parts, write_line

    said = []
    for card in found:
        undecided = card["verdict"] in ("inconclusive", "open") and not list_empty_parts(card)
        if not card["as_expected"] and not (undecided and allowed == "as expected or open"):
            said.append(write_line(card))
    return said


def _judge_anew(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a card, by the words and the rule that its claim has today.

    Raises:
        BadInput: If the claim is gone, or needs evidence that the notebook lacks, which then must run again.
    """
    # These take long to import, and a command that only looks for missing runs does not need them.
    from icl_book.claims import find
    from icl_book.claims.judge import decide

    claim = find(evidence["id"])
    try:
        return decide(claim, evidence)
    except ValueError as error:
        raise BadInput(str(error)) from None


def tables(path: Path | str) -> dict[str, str]:
    """Return the tables that an executed notebook had at its end, as CSV, by name; BadInput as `read`."""
    kept = ["".join(data[TABLES_MIME]) for data in shown(read(path)) if TABLES_MIME in data]
    found: dict[str, str] = json.loads(kept[-1]) if kept else {}
    return found


def shown(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the data that the cells of a notebook displayed, each by media type."""
    return [output.get("data", {}) for cell in node["cells"] for output in cell.get("outputs", [])]


def judged(runs: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return by claim which notebooks judge it, each with its card, as `extract_results` has them."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for run in runs:
        for card in run["cards"]:
            found.setdefault(card["id"], []).append((run["name"], card))
    return found


def cards(runs: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the cards of some runs, as `extract_results` has them, by claim: of several the first."""
    return {claim_id: card for claim_id, ((_, card), *_) in judged(runs).items()}


def readings(card: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the cases of a card by reading, our own reading first, as in the outcomes of its readings."""
    ours, *_ = card["readings"]
    return {ours: card["cases"], **card["other_readings"]}


def list_cases(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all cases of a card: of our reading, the control, other readings, and where these hold."""
    others = itertools.chain(*card["other_readings"].values(), *card["holding"].values())
    return [*card["cases"], *card["control_cases"], *others]
