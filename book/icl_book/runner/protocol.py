"""The registered run: a plan that is committed before it runs, and its first results, whatever they say.

``book/protocol.yml`` is the plan. ``sizes`` is one rule for all chapters, written by hand. `write` adds what
follows from it: of each chapter its settings, the digest of its measurement, and the rules of its statements.
The random streams follow from the plan. ``results/registered`` has what came of it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

from icl_book.claims import changes
from icl_book.claims.judge import merge
from icl_book.claims.registry import FOLDER, load
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT, bare
from icl_book.runner import plan, reach
from icl_book.runner.plan import digest
from icl_book.runner.record import collect, keep, readings
from icl_book.runner.schedule import schedule

FILE = ROOT / "book" / "protocol.yml"
#: Where the part begins that `write` writes.
MARK = "# What follows from the sizes; python -m icl_book plan writes it.\n"
#: The preset whose numbers count where the sizes say nothing.
PRESET = "quick"
#: What measures beside `icl`; the rest of `icl_book` shows, and `icl_book.claims` judges.
MEASURES = ("icl_book.measure",)

Plan = Mapping[str, Any]


def read() -> dict[str, Any]:
    """Return the plan: ``date``, ``sizes``, ``chapters``, ``replications``; see the file's comments."""
    return dict(yaml.safe_load(FILE.read_text(encoding="utf-8")))


def seeds(of: Plan) -> list[int]:
    """Return the roots of the random streams: of the registered run, then of each replication."""
    texts = (f"{digest(of)} {i}" for i in range(of["replications"] + 1))
    return [
        int(hashlib.sha256(text.encode()).hexdigest(), 16) % (2**31 - 1) + 1
        for text in texts
    ]


def measurement(name: str) -> str:
    """Return the digest of what measures in a chapter: its code and that of `icl` which it reaches."""
    text = plan.source(name)
    code = {
        m: c
        for m, c in reach.code(text).items()
        if m.startswith("icl.") or m in MEASURES
    }
    return digest([bare(text), code])


def settings(name: str, sizes: Plan, seeds: int) -> list[dict[str, Any]]:
    """Return what a chapter runs with: its parameters at each point of the sizes that it tells apart."""
    own = plan.defaults(name)
    rule = sizes["lists"] | {"seeds": seeds, "more_seeds": seeds}
    every = [rule | point | sizes["instead"].get(name, {}) for point in sizes["points"]]
    found = [{k: v for k, v in one.items() if k in own} for one in every]
    return [one for i, one in enumerate(found) if one not in found[:i]]


def sample_size(
    cards: list[Mapping[str, Any]], seeds: int, least: int, most: int
) -> int:
    """Return how many seeds a chapter takes, from the width of its intervals at a smaller size.

    The interval of each sampled case shall reach from its median over at most a quarter of the permitted
    range, or over half of the room that a one-sided bound leaves. Widths shrink like one over the root of the
    number.

    Args:
        cards: The chapter's cards at that size.
        seeds: The seeds there.
        least: Smallest number.
        most: Largest number.
    """
    factors = [1.0]
    for case in (
        case for card in cards for some in readings(card).values() for case in some
    ):
        if case["kind"] == "sampled":
            low, high, first, last = map(float, (*case["interval"], *case["permitted"]))
            middle = float(case["measured"])
            ends = [end for end in (first, last) if math.isfinite(end)]
            wanted = (
                (last - first) / 4
                if len(ends) == 2
                else min(abs(middle - end) for end in ends) / 2
            )
            factors.append(
                (max(high - middle, middle - low) / wanted) ** 2 if wanted else math.inf
            )
    return math.ceil(
        min(max(seeds * max(factors), least), most) - 1e-9
    )  # rounding takes no seed more


def write() -> None:
    """Write what follows from the sizes into the plan, with the intervals of `quick`, which must have run."""
    head = FILE.read_text(encoding="utf-8").partition(MARK)[0]
    sizes, known, chapters = yaml.safe_load(head)["sizes"], load(FOLDER), {}
    for run in plan.plan("quick"):
        cards = collect(run.path)["cards"]
        own = plan.defaults(run.name).get("seeds", 0)
        count = sample_size(cards, own, *sizes["seeds"])
        chapters[run.name] = {
            "settings": settings(run.name, sizes, count),
            "measurement": measurement(run.name),
            "statements": {
                card["id"]: changes.of_claim(known[card["id"]]) for card in cards
            },
        }
    plain = json.loads(
        json.dumps({"chapters": chapters})
    )  # else YAML refers to a list that it has met
    text = yaml.safe_dump(plain, sort_keys=False, width=110, default_flow_style=None)
    FILE.write_text(head + MARK + text, encoding="utf-8")


def problems() -> list[str]:
    """Find a measurement or a rule that is not that of the plan, without an entry in the changelog."""
    of, entries = read(), changes.changes()
    logged = {
        k: v for entry in entries for k, v in entry.get("measurements", {}).items()
    }
    wanted = {
        name: chapter["measurement"] for name, chapter in of["chapters"].items()
    } | logged
    return changes.problems() + [
        f"book/changelog.yml: notebooks/{name} measures by {now}, the plan or the last entry by {then}; "
        "say what changed and why"
        for name, then in wanted.items()
        if (now := measurement(name)) != then
    ]


def runs(name: str, chapter: Plan, root: int) -> list[plan.Run]:
    """Return the runs of a chapter of a plan, one for each of its settings."""
    every = [
        {k: json.dumps(v, separators=(",", ":")) for k, v in one.items()}
        for one in chapter["settings"]
    ]
    grids = [" ".join(f"{k}={v}" for k, v in one.items()) for one in every]
    return [run for grid in grids for run in plan.plan(PRESET, name, grid, root)]


def point(settings: Mapping[str, Any]) -> str:
    """Name a point: the context length and the noise that its runs have."""
    names = {"context_length": "n", "noise_std": "sigma"}
    return ", ".join(
        f"{short} = {settings[name]:g}"
        for name, short in names.items()
        if name in settings
    )


def confirm(jobs: str, profile: str = "") -> int:
    """Run the plan and write ``results/registered``: of each chapter its runs, and its statements' cards.

    A run that ends in an error at its sizes is a result, too: its reason is among the chapter's ``failed``.

    Returns:
        The exit status: zero once every run came to its end, whatever that was.

    Raises:
        BadInput: If a rule or a measurement is not that of the plan and no entry says why.
    """
    of = read()
    if wrong := problems():
        raise BadInput(wrong[0])
    planned = {
        name: runs(name, chapter, seeds(of)[0])
        for name, chapter in of["chapters"].items()
    }
    every = [run for some in planned.values() for run in some]
    status = schedule(every, jobs, profile)
    if not all(run.path.is_file() or run.reason.is_file() for run in every):
        return status or 1
    stamp = {
        "plan": digest(of),
        "rules": changes.digest(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    cards = []
    for name, some in planned.items():
        failed = [
            run.reason.read_text(encoding="utf-8")
            for run in some
            if not run.path.is_file()
        ]
        found = [collect(run.path) for run in some if run.path.is_file()]
        names = [point(one["parameters"]) for one in found]
        each = [{card["id"]: card for card in one.pop("cards")} for one in found]
        merged = [
            merge([own[i] for own in each], names) for i in (each[0] if each else ())
        ]
        cards += merged
        chapter = stamp | {
            "name": name,
            "runs": found,
            "failed": failed,
            "cards": merged,
        }
        keep(f"results/registered/{name}.json", chapter)
        for reason in failed:
            print(f"{name}: no result: {reason}")
    changed = [card for card in cards if not card["as_expected"]]
    print(
        f"{len(cards)} verdicts, {len(changed)} not as in the book; results in results/registered"
    )
    for card in changed:
        weak = (
            ""
            if card["control_passed"]
            else ", the control was not judged as it must be"
        )
        print(f"{card['id']}: {card['verdict']}, in the book {card['expected']}{weak}")
    return 0
