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
    """Write into the metadata of an executed notebook a checksum of its cells and its metadata ``icl``."""
    node["metadata"]["icl"]["checksum"] = _compute_checksum(node)


def _compute_checksum(node: Mapping[str, Any]) -> str:
    """Return the digest of a notebook's cells and of its metadata ``icl``, without the checksum there."""
    record = {k: v for k, v in node["metadata"]["icl"].items() if k != "checksum"}
    return hashlib.sha256(json.dumps([node["cells"], record], sort_keys=True).encode()).hexdigest()


def read_json(path: Path | str) -> Any:
    """Read a JSON file; BadInput, naming it, if it cannot be read or is not JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{os.path.relpath(path)}: {error.strerror}") from None
    except ValueError:
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


def check_whole(path: Path) -> bool:
    """Return whether an executed notebook exists and is undamaged, and print a line if it is damaged."""
    try:
        return path.is_file() and bool(read(path))
    except BadInput as error:
        print(f"{error}; it will run again", flush=True)
        return False


def collect(path: Path | str) -> dict[str, Any]:
    """Return the results (`extract_results`) in the file of an executed notebook."""
    return extract_results(read(path))


def extract_results(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of an executed notebook as a dictionary.

    The keys of `icl_book.runner.plan.Run` say which run it was. ``parameters``, ``seconds``, ``peak_memory``
    in bytes, ``device``, ``machine``, ``versions`` and ``commit`` describe it. ``cards`` has the records of
    all cards, made by today's claims.

    Raises:
        BadInput: Unless the notebook has one ``notebook.footer()`` and the evidence that its claims need.
    """
    data = list_outputs(node)
    footers = [d[FOOTER_MIME] for d in data if FOOTER_MIME in d]
    if "icl" not in node["metadata"] or len(footers) != 1:
        raise BadInput("needs one notebook.footer(), executed by icl_book")
    # The parameters of the plan are returned.
    return (
        {k: v for k, v in node["metadata"]["icl"].items() if k != "checksum"}
        | {k: v for k, v in footers[0].items() if k != "parameters"}
        | {"cards": [_judge_anew(d[CARD_MIME]) for d in data if CARD_MIME in d]}
    )


def describe_surprises(found: Iterable[Mapping[str, Any]], allowed: str) -> list[str]:
    """Return a line for each card whose verdict is not the expected one.

    If ``allowed``, one of `icl_book.runner.plan.VERDICTS`, is ``as expected or open``, a card may be *open*
    or *inconclusive*, unless a part of it lacks a case.
    """
    # The claims take long to import.
    from icl_book.claims.card import list_empty_parts, write_line

    said = []
    for card in found:
        undecided = card["verdict"] in ("inconclusive", "open") and not list_empty_parts(card)
        may_be_undecided = allowed == "as expected or open"
        if not card["as_expected"] and not (undecided and may_be_undecided):
            said.append(write_line(card))
    return said


def _judge_anew(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a card by today's claim; BadInput if the notebook lacks evidence for it."""
    # The claims take long to import.
    from icl_book.claims import find
    from icl_book.claims.judge import decide

    claim = find(evidence["id"])
    try:
        return decide(claim, evidence)
    except ValueError as error:
        raise BadInput(str(error)) from None


def read_tables(path: Path | str) -> dict[str, str]:
    """Return the tables that an executed notebook kept, as CSV by name."""
    kept = ["".join(data[TABLES_MIME]) for data in list_outputs(read(path)) if TABLES_MIME in data]
    found: dict[str, str] = json.loads(kept[-1]) if kept else {}
    return found


def list_outputs(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the data of each output of a notebook's cells, by media type."""
    return [output.get("data", {}) for cell in node["cells"] for output in cell.get("outputs", [])]


def group_by_claim(
    runs: Iterable[Mapping[str, Any]],
) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return for each judged claim a list of pairs: a notebook's name, and the record of its card."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for run in runs:
        for card in run["cards"]:
            found.setdefault(card["id"], []).append((run["name"], card))
    return found


def cards(runs: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the record of each card in results, by claim; of several records of a claim the first."""
    return {claim_id: card for claim_id, ((_, card), *_) in group_by_claim(runs).items()}


def readings(card: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the judged cases of a card by the name of the reading, our own reading first."""
    ours, *_ = card["readings"]
    return {ours: card["cases"], **card["other_readings"]}


def list_cases(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all judged cases of a card, also of the control, other readings and situations."""
    others = itertools.chain(*card["other_readings"].values(), *card["holding"].values())
    return [*card["cases"], *card["control_cases"], *others]
