"""Statements as data: who said them, what we judge, and what the verdict rests on.

A `Claim` says who states something and where (`authority`, `quote`, `place`), what is judged where that is
not the quote itself (`reading`), which choices of ours the verdict rests on (`depends_on`), and the *rule*:
which values of a measured quantity the statement permits. The claims of both papers are entries of
``book/claims/*.yml``, with the names of these attributes; `icl_book.claims.registry` reads them.

Agreement is as hard to reach as contradiction: a statement holds only if it agrees in every reading, and
fails only if it is contradicted in every reading. If readings differ, the verdict is "depends on the
reading". A reading is one that its author would accept as what the words may mean: a slip of the pen taken
by the letter, a constant that nobody printed, or a stricter threshold beside one that fails is none. What is
known in the book to contradict or to support a statement is one, whenever it was found (`Alternative.late`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict

from icl_book.claims import rules


class Authority(StrEnum):
    """Who says it."""

    TEXT = "authors' text"
    TALK = "authors' talk, read by OCR"
    REBUTTAL = "rebuttal"
    REVIEW = "review"
    SUMMARY = "machine-written summary"
    OTHER = "another paper"
    BOOK = "this book"


#: Whose sentences count as a paper's own.
OWN = (Authority.TEXT, Authority.TALK, Authority.REBUTTAL)


class Verdict(StrEnum):
    """The verdict on a statement; the last three are those on this book's own."""

    HOLDS = "holds"
    CORRECTED = "false as printed, corrected"
    FAILS = "false as printed"
    DEPENDS = "depends on the reading"
    INCONCLUSIVE = "inconclusive"
    NOT_TESTABLE = "not testable"
    ESTABLISHED = "established"
    REFUTED = "refuted"
    OPEN = "open"


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


#: How a result of this book stands to the literature, as a file has it and in words.
STANDING = {
    "new": "New, as far as we know:",
    "known": "Known:",
    "elementary": "An elementary consequence",
}


def _named(key: str) -> BeforeValidator:
    """Let a text stand for an entry that has nothing else."""
    return BeforeValidator(
        lambda given: {key: given} if isinstance(given, str) else given
    )


Labels = Mapping[str, Any]
Rule = Annotated[Callable[[Labels], tuple[float, float]], BeforeValidator(rules.Rule)]

#: A file's entry has no key that is not an attribute.
STRICT = ConfigDict(extra="forbid")


def _keyed(given: object) -> object:
    """Take a mapping from keys to readings, each a name or a mapping."""
    if not isinstance(given, dict):
        raise ValueError(f"needs a mapping from keys to readings, not {given!r}")
    return [
        {"key": key} | ({"name": some} if isinstance(some, str) else some)
        for key, some in given.items()
    ]


@dataclass(frozen=True)
class Alternative:
    """Another fair reading; in a file its name alone under its key, if that is all."""

    __pydantic_config__ = STRICT

    key: (
        str  #: Short and unique in its claim, e.g. ``"next-sphere"``; evidence names it
    )
    name: str  #: In words
    #: What the statement permits, for the same measured cases; without a rule the notebook measures cases of
    #: its own and hands them to the judge under this key.
    rule: Rule | None = None
    #: Whether it was added after its data, which the card says. In what others state it counts like any
    #: other; it does not rescue a result of this book.
    late: bool = False


@dataclass(frozen=True)
class Choice:
    """A choice of ours that a verdict rests on; in a file the text alone, if it has no alternatives."""

    __pydantic_config__ = STRICT

    what: str  #: What no source settles, and what we took, e.g. ``"the cosine class has no phase"``
    #: The other fair readings, each judged beside ours; empty if there is nothing to compute.
    alternatives: Annotated[tuple[Alternative, ...], BeforeValidator(_keyed)] = ()


def _standing(given: object) -> str:
    """Write ``{known: Nair 2025}`` in words; "new" is as far as we know."""
    ((novelty, why),) = (
        given.items() if isinstance(given, dict) and len(given) == 1 else (("", given),)
    )
    if novelty not in STANDING or not isinstance(why, str):
        raise ValueError(
            f"needs one of {', '.join(STANDING)}, with a text, not {given!r}"
        )
    return f"{STANDING[novelty]} {why}"


@dataclass(frozen=True)
class Claim:
    """One statement."""

    __pydantic_config__ = STRICT

    id: str  #: Short and unique, e.g. ``"P1.T2.lower"``
    authority: Authority  #: Who says it
    source: str  #: Where, in words, e.g. ``"ITA slides, Theorem 2, lower bound"``
    quote: str = ""  #: The verbatim words, ``[...]`` for what is left out; empty for this book's own
    place: str = ""  #: Document and line of the quote's first word, e.g. ``"talk:302"``
    reading: str = ""  #: What is judged (MyST markdown), wherever that is not the quote
    quantity: str = ""  #: What is measured, in words; the rule speaks about this number
    #: From a case's labels to the permitted range, ends and tolerances included
    rule: Rule | None = None
    #: The verdict of the last run; another one fails the build. None stands for "not testable" if there is a
    #: reason, for "established" if the statement is this book's own, else for "holds".
    expected: Verdict | None = None
    grade: Grade | None = None  #: Kind of evidence
    #: What it ranges over, or ``"there is"``, ``"in the limit"``, ...
    quantifier: str = "for all"
    #: Choices of ours that the verdict rests on
    depends_on: tuple[Annotated[Choice, _named("what")], ...] = ()
    implied_by: tuple[
        str, ...
    ] = ()  #: Ids that this one follows from; totals count only claims without
    #: Our corrected statement (MyST markdown), if the printed one fails
    corrected: str | None = None
    corrected_rule: Rule | None = None  #: What the corrected statement permits
    severity: Severity | None = None  #: Given if it is false as printed
    #: What is broken in the negative control, in words; empty without one
    control: str = ""
    unit: str = ""  #: Of the detection limit, e.g. ``"in the exponent"``
    why_not: str = ""  #: The reason why it cannot be tested
    #: Why no data could contradict it; such statements, and identities, are counted apart from those tested.
    cannot_fail: str = ""
    #: Of a result of this book, see `STANDING`
    standing: Annotated[str, BeforeValidator(_standing)] = ""
    #: File and line of the entry, e.g. ``"book/claims/paper1.yml:120"``
    where: str = ""

    @property
    def tested(self) -> bool:
        """Return whether data could have contradicted the statement."""
        return (
            self.rule is not None
            and self.grade is not Grade.IDENTITY
            and not self.cannot_fail
        )

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
        if self.expected is None:
            usual = Verdict.ESTABLISHED if self.own else Verdict.HOLDS
            object.__setattr__(
                self, "expected", Verdict.NOT_TESTABLE if self.why_not else usual
            )
        refused = self.expected in (Verdict.CORRECTED, Verdict.FAILS)
        untested = self.expected is Verdict.NOT_TESTABLE
        ours = self.expected in (Verdict.ESTABLISHED, Verdict.REFUTED, Verdict.OPEN)
        names = [a.name for a in self.alternatives]
        keys = [a.key for a in self.alternatives]
        problems = [
            (
                self.own == bool(self.quote),
                "a quote and its place go with every authority but this book",
            ),
            (bool(self.quote) != bool(self.place), "quote and place go together"),
            (not self.statement, "needs a quote or a reading"),
            (
                bool(self.standing) and not self.own,
                "only this book's own results have a standing",
            ),
            (
                self.own != ours and not untested,
                "this book's own are established, refuted or open, and only this book's own",
            ),
            (
                untested != bool(self.why_not),
                "why_not goes with 'not testable', and only with it",
            ),
            (
                (self.rule is None) != untested,
                "a testable claim needs a rule, another has none",
            ),
            (
                (self.grade is None) != untested,
                "a testable claim needs a grade, another has none",
            ),
            (
                bool(self.corrected) != bool(self.corrected_rule),
                "corrected and corrected_rule go together",
            ),
            (
                refused and not names,
                "fails or is corrected, but names no alternative reading",
            ),
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
