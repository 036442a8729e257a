"""Statements as data: who made them, what we judge, and what the verdict rests on.

The claims of both papers are entries of ``book/claims/paper*.yml``, and the keys of an entry are the names of
the attributes of `Claim`.

A statement may have several readings. It holds only if it agrees in every reading, and it fails only if it is
contradicted in every reading. If readings differ, the verdict is "depends on the reading".

A reading satisfies three conditions. The author would accept it as a meaning of the words, some data could
satisfy it, and it speaks about the same number as the words. So these are not readings: a slip of the pen
taken by the letter, a constant that nobody printed, a stricter threshold beside one that fails, and the
sentence of a figure at settings that are not the figure's.

What this book knows for or against a statement enters the verdict only as a reading, whenever the reading was
found (`Alternative.late`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from icl_book.claims import rules
from icl_book.parameters import BadInput

#: This link to ``book/claims`` puts the claims into a wheel.
FOLDER = Path(__file__).resolve().parent / "data"


class Authority(StrEnum):
    """Who made a statement."""

    TEXT = "authors' text"
    TALK = "authors' talk, read by OCR"
    REBUTTAL = "rebuttal"
    REVIEW = "review"
    SUMMARY = "machine-written summary"
    OTHER = "another paper"
    BOOK = "this book"


#: Authorities whose sentences count as a paper's own.
OWN = (Authority.TEXT, Authority.TALK, Authority.REBUTTAL)


@dataclass(frozen=True)
class Source:
    """A text that quotations were read from."""

    #: The short name that a card prints.
    name: str
    #: The full reference.
    reference: str
    #: How the text was read.
    how: str
    #: Who speaks in the text, unless a claim names another authority.
    authority: Authority


#: The texts by key; the place of a quotation begins with a key.
SOURCES = TypeAdapter(dict[str, Source]).validate_python(
    yaml.safe_load((FOLDER / "sources.yml").read_text(encoding="utf-8"))
)


class Verdict(StrEnum):
    """The verdict on a statement; the last three are those on this book's own.

    A statement is *not read* if it is about a place of a public paper that we could not read. It is *not
    testable* if no measurement could decide it.
    """

    HOLDS = "holds"
    CORRECTED = "false as we have it, corrected"
    FAILS = "false as we have it"
    DEPENDS = "depends on the reading"
    INCONCLUSIVE = "inconclusive"
    NOT_READ = "not read"
    NOT_TESTABLE = "not testable"
    ESTABLISHED = "established"
    REFUTED = "refuted"
    OPEN = "open"


#: Verdicts on statements that are not measured.
UNTESTED = (Verdict.NOT_READ, Verdict.NOT_TESTABLE)
#: Verdicts on statements of others that a word of their authors could settle.
UNSETTLED = (Verdict.DEPENDS, Verdict.INCONCLUSIVE)


class Grade(StrEnum):
    """What kind of evidence a verdict rests on, from the strongest to the weakest."""

    IDENTITY = "identity"
    PROVED = "proved here"
    CERTIFIED = "certified over a continuum"
    EXACT = "exact on a grid"
    EXTRAPOLATED = "extrapolated from exact values"
    SEARCHED = "best found by search"
    SAMPLED = "sampled"
    MEASURED = "measured on this machine"


class Severity(StrEnum):
    """How much of a statement is wrong."""

    TYPO = "typo"
    CONSTANT = "constant"
    EXPONENT = "exponent"
    MESSAGE = "message"


#: How a result of this book relates to the literature: the key in a file, and its words.
STANDING = {
    "new": "New, as far as we know:",
    "known": "Known:",
    "elementary": "An elementary consequence",
    "measured": "A measurement",
}


def _accept_text_as(key: str) -> BeforeValidator:
    """Make a validator that reads a text as an entry with only this key."""
    return BeforeValidator(lambda given: {key: given} if isinstance(given, str) else given)


Labels = Mapping[str, Any]
Rule = Annotated[Callable[[Labels], tuple[float, float]], BeforeValidator(rules.Rule)]

#: Each key of a file's entry must be an attribute.
STRICT = ConfigDict(extra="forbid")


def _list_readings(given: object) -> object:
    """Make a list of a mapping from keys to readings, each a mapping or its name alone."""
    if not isinstance(given, dict):
        raise ValueError(f"needs a mapping from keys to readings, not {given!r}")
    listed = []
    for key, reading in given.items():
        attributes = {"name": reading} if isinstance(reading, str) else reading
        listed.append({"key": key} | attributes)
    return listed


@dataclass(frozen=True)
class Alternative:
    """Another fair reading. In a file, a reading without further attributes is written ``key: name``."""

    __pydantic_config__ = STRICT

    #: A short key, unique in its claim, by which evidence names the reading.
    key: str
    #: The reading in words.
    name: str
    #: What the statement permits in this reading, for the cases of the main reading. A reading without a rule
    #: has cases of its own, which the notebook passes to `judge` under its key.
    rule: Rule | None = None
    #: Whether the reading was added after its data were seen. It then does not rescue a result of this book.
    late: bool = False
    #: A situation, in words, in which this reading holds and which the notebook measures. Without one, a
    #: reading that its own cases contradict is undecided, because perhaps no data could satisfy it.
    could: str = ""


@dataclass(frozen=True)
class Choice:
    """A choice of ours that a verdict rests on. In a file, a choice without alternatives is a text."""

    __pydantic_config__ = STRICT

    #: What the sources leave open, and what we took, e.g. ``"the cosine class has no phase"``.
    what: str
    #: The other fair readings, each judged beside ours; empty if there is nothing to compute.
    alternatives: Annotated[tuple[Alternative, ...], BeforeValidator(_list_readings)] = ()


def _write_standing(given: object) -> str:
    """Write a standing, e.g. ``{known: Nair 2025}``, in the words of `STANDING`: "Known: Nair 2025"."""
    novelty, why = "", None
    if isinstance(given, dict) and len(given) == 1:
        ((novelty, why),) = given.items()
    if novelty not in STANDING or not isinstance(why, str):
        raise ValueError(f"needs one of {', '.join(STANDING)}, with a text, not {given!r}")
    return f"{STANDING[novelty]} {why}"


@dataclass(frozen=True)
class Claim:
    """One statement."""

    __pydantic_config__ = STRICT

    #: A short, unique id, e.g. ``"P1.T2.lower"``.
    id: str
    #: Who made the statement.
    authority: Authority
    #: Where it was made, e.g. ``"ITA slides, Theorem 2, lower bound"``.
    source: str
    #: The statement in plain words, without TeX commands, on one line.
    title: str = ""
    #: The verbatim words, ``[...]`` for what is left out; empty for this book's own statements.
    quote: str = ""
    #: Whether the quote has errors of OCR.
    garbled: bool = False
    #: Document and line of the quote's first word, e.g. ``"talk:302"``.
    place: str = ""
    #: What is judged (MyST markdown), if that is not the quote.
    reading: str = ""
    #: What is measured, in words; the rule speaks about this number.
    quantity: str = ""
    #: What a closed card says after its title. The measured number, or the range of all, replaces ``{}``.
    result: str = ""
    #: A function from a case's labels to the permitted range, a closed range that includes the tolerance.
    rule: Rule | None = None
    #: The verdict that a run must have, or the build fails. By default it follows from `why_not` and
    #: `authority`.
    expected: Verdict | None = None
    #: The kind of evidence.
    grade: Grade | None = None
    #: The range of the statement, or ``"there is"``, ``"in the limit"``, ...
    quantifier: str = "for all"
    #: Our choices that the verdict rests on.
    depends_on: tuple[Annotated[Choice, _accept_text_as("what")], ...] = ()
    #: What the letter to the authors asks of a statement of theirs that is not settled.
    settles: str = ""
    #: Ids of claims from which this claim follows. Totals leave it out then.
    implied_by: tuple[str, ...] = ()
    #: Our corrected statement (MyST markdown), if the printed one fails.
    corrected: str | None = None
    #: What the corrected statement permits.
    corrected_rule: Rule | None = None
    #: How much of the statement is wrong, if it is false as we have it.
    severity: Severity | None = None
    #: What is broken in the negative control, in words; empty without a control.
    control: str = ""
    #: What the card says in place of *exact*, if numbers were counted or averaged over samples.
    evidence: str = ""
    #: The unit of the detection limit, e.g. ``"in the exponent"``.
    unit: str = ""
    #: Why the statement is not tested.
    why_not: str = ""
    #: Why no data could contradict it. Such statements are counted apart.
    cannot_fail: str = ""
    #: How a result of this book relates to the literature, see `STANDING`.
    standing: Annotated[str, BeforeValidator(_write_standing)] = ""
    #: One sentence on what the registered run (``book/glossary.md``) found differently, and why.
    rerun: str = ""
    #: `rerun` in two or three words, for the closed card.
    elsewhere: str = ""
    #: File and line of the entry, e.g. ``"book/claims/paper1.yml:120"``.
    where: str = ""

    @property
    def tested(self) -> bool:
        """Return whether data could have contradicted the statement."""
        return self.rule is not None and self.grade is not Grade.IDENTITY and not self.cannot_fail

    @property
    def own(self) -> bool:
        """Return whether the statement is this book's."""
        return self.authority is Authority.BOOK

    @property
    def statement(self) -> str:
        """Return what is judged, our reading or else the quote."""
        return self.reading or self.quote

    @property
    def paper(self) -> str:
        """Return the paper whose chapters treat the claim, ``"P1"`` or ``"P2"``."""
        return self.id.split(".")[0]

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Return the alternatives of all choices."""
        return tuple(a for choice in self.depends_on for a in choice.alternatives)

    def __post_init__(self) -> None:
        """Fill in `expected` if it is None, and raise ValueError with all that is wrong with the entry."""
        if self.expected is None:
            usual = Verdict.ESTABLISHED if self.own else Verdict.HOLDS
            # The class is frozen, so that an assignment would fail.
            object.__setattr__(self, "expected", Verdict.NOT_TESTABLE if self.why_not else usual)
        refused = self.expected in (Verdict.CORRECTED, Verdict.FAILS)
        untested = self.expected in UNTESTED
        ours = self.expected in (Verdict.ESTABLISHED, Verdict.REFUTED, Verdict.OPEN)
        names = [a.name for a in self.alternatives]
        keys = [a.key for a in self.alternatives]
        # Each entry is a condition under which something is wrong, and the message about it.
        problems = [
            (
                self.own == bool(self.quote),
                "a quote and its place go with every authority but this book",
            ),
            (bool(self.quote) != bool(self.place), "quote and place go together"),
            (not self.statement, "needs a quote or a reading"),
            (bool(self.standing) and not self.own, "only this book's own results have a standing"),
            (
                self.own != ours and not untested,
                "this book's own are established, refuted or open, and only this book's own",
            ),
            (
                untested != bool(self.why_not),
                "why_not goes with 'not read' and 'not testable', and only with them",
            ),
            ((self.rule is None) != untested, "a testable claim needs a rule, another has none"),
            ((self.grade is None) != untested, "a testable claim needs a grade, another has none"),
            # `not untested` counts as 1 or 0.
            (
                self.result.count("{}") != (not untested),
                "a testable claim needs a result with one {}, another has none",
            ),
            (
                bool(self.settles) != (self.authority in OWN and self.expected in UNSETTLED),
                "settles goes with an authors' statement that is not settled, and only with it",
            ),
            (bool(self.rerun) != bool(self.elsewhere), "rerun and elsewhere go together"),
            (
                bool(self.corrected) != bool(self.corrected_rule),
                "corrected and corrected_rule go together",
            ),
            (refused and not names, "fails or is corrected, but names no alternative reading"),
            (
                refused != (self.severity is not None),
                "severity goes with a correction or a failure",
            ),
            (len(set(names)) != len(names), "two alternatives share a name"),
            (len(set(keys)) != len(keys), "two alternatives share a key"),
            ("" in keys, "an alternative has no key"),
        ]
        if found := [message for wrong, message in problems if wrong]:
            raise ValueError(f"claim {self.id}: {'; '.join(found)}")


_ENTRIES = TypeAdapter(dict[str, Claim])


@cache
def registry() -> dict[str, Claim]:
    """Return all claims of both papers by id, in the order of the files."""
    return load(FOLDER)


def find(claim_id: str) -> Claim:
    """Return the claim with this id, or raise BadInput that names similar ids."""
    found = registry()
    if claim_id not in found:
        close = difflib.get_close_matches(claim_id, list(found)) or ["an id of book/claims/*.yml"]
        raise BadInput(
            f"claim {claim_id!r}: is not in book/claims; must be e.g. {' or '.join(close)}"
        )
    return found[claim_id]


def load(folder: Path) -> dict[str, Claim]:
    """Return the claims of all files ``paper*.yml`` of a folder by id.

    Raises:
        ValueError: If an entry is not a claim, or two have the same id. The message has the file and the
            line.
    """
    found: dict[str, Claim] = {}
    for path in sorted(folder.glob("paper*.yml")):
        for claim_id, claim in _read_file(path).items():
            if claim_id in found:
                raise ValueError(
                    f"{claim.where}: the id {claim_id} is taken by {found[claim_id].where}"
                )
            found[claim_id] = claim
    return found


class _Loader(yaml.CSafeLoader):  # type: ignore[misc]
    """Reads YAML, and raises an error for a key that an entry repeats."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for at, (key, _) in enumerate(node.value):
            if key.value in keys[:at]:
                said = f"{key.value} stands twice in one entry"
                raise yaml.MarkedYAMLError(problem=said, problem_mark=key.start_mark)
        return dict(super().construct_mapping(node, deep))


def _read_file(path: Path) -> dict[str, Claim]:
    """Return the claims of a file by id, or raise ValueError with file and line of each problem."""
    file = f"book/claims/{path.name}"
    loader = _Loader(path.read_text(encoding="utf-8"))
    try:
        root = loader.get_single_node() or yaml.MappingNode("tag:yaml.org,2002:map", [])
        entries = loader.construct_document(root)
        for (key, _), entry in zip(root.value, entries.values(), strict=True):
            if "authority" not in entry:
                # For an unknown source the authority is None, which validation refuses.
                source, _, _ = str(entry.get("place", "")).partition(":")
                known = SOURCES[source].authority if source in SOURCES else None
                entry["authority"] = known if source else Authority.BOOK
            entry |= {"id": key.value, "where": f"{file}:{key.start_mark.line + 1}"}
        return _ENTRIES.validate_python(entries)
    except yaml.MarkedYAMLError as error:
        problems = [(error.problem_mark.line + 1, error.problem)]
    # The file or an entry is not a mapping.
    except (AttributeError, TypeError):
        problems = [(1, "an id and a mapping are needed for each claim")]
    except ValidationError as error:
        problems = [(_find_line(root, e["loc"]), _explain_error(e)) for e in error.errors()]
    raise ValueError("\n".join(f"{file}:{line}: {said}" for line, said in problems))


def _find_line(node: yaml.Node, steps: Sequence[int | str]) -> int:
    """Return the line on which a problem stands; for a missing key that of its entry.

    ``steps`` is pydantic's path to the problem from ``node``, the root of the file. It also has steps of
    pydantic's own, which are skipped.
    """
    line = 1
    for step in steps:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode) and isinstance(step, int):
            # `_list_readings` made a list of this mapping.
            key, node = node.value[step]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == step:
                    node, line = value, key.start_mark.line + 1
    return line


def _explain_error(error: Any) -> str:
    """Say what pydantic found, e.g. ``"P1.T2.upper, grade: Input should be 'identity', ..., not 'x'"``."""
    # The steps "[key]" and "float" are pydantic's own, not keys of the file.
    keys = [
        step for step in error["loc"] if isinstance(step, str) and step not in ("[key]", "float")
    ]
    said, given = error["msg"].removeprefix("Value error, "), error["input"]
    # Messages of pydantic begin with "Input", and lack the input.
    wrong = f", not {given!r}" if isinstance(given, str) and said.startswith("Input") else ""
    return f"{', '.join(keys)}: {said}{wrong}"
