"""A schedule in memory: its definition, and from where its runs are owed."""

from dataclasses import dataclass, field

from everdue.core.listed import Listed, as_instant
from everdue.core.moment import seconds_to_us
from everdue.core.schedule import CatchUp, Entry
from everdue.core.skip import Reason
from everdue.core.trigger import InstantTrigger


@dataclass(frozen=True, slots=True)
class Effect:
    """When a definition took effect, as far as this process can tell: from `from_us` on, but by `by_us` at the latest.

    The two are equal where the source says when; otherwise they are the reads between which it appeared. `resumed`:
    what fell due before was due while it was paused, and does not run.
    """

    from_us: int
    by_us: int
    resumed: bool = False

    def owed_after(self, known_us: int | None) -> int | None:
        """From where its runs are owed, if the source was read at `known_us` for the coverage; None: it was known."""
        if known_us is None:
            return self.from_us
        return max(self.from_us, known_us) if self.by_us > known_us else None


@dataclass(slots=True, eq=False)
class Registered:
    """One definition of one schedule. An edit makes a new one.

    Attributes:
        id: the schedule.
        version: what its occurrences carry. An edit that moves nothing changes `row_version` alone.
        row_version: what the source's row is compared with.
        entry: as the source made it.
        trigger: the entry's, as an instant trigger.
        effect: when this definition took effect. None: before this process first looked, and the source does not say.
        owed_from_us: where its own coverage stands, when that is not the watermark. None: it rides the watermark.
        rode_from_us: since where this process itself has covered it.
        sent: the definition before, and up to where this process sent its runs: those keys need no repeat.
        reaches_back: a one-shot that nobody knew of: it is owed its run however far back that lies.
        failing: its trigger raised when last asked; the loss is on record, and it is asked again.
        seen: the number of the last snapshot that listed it.
    """

    id: str
    version: str
    row_version: str
    entry: Entry
    effect: Effect | None
    owed_from_us: int | None = None
    rode_from_us: int | None = None
    sent: "tuple[Registered, int] | None" = None
    reaches_back: bool = False
    failing: bool = False
    seen: int = 0
    trigger: InstantTrigger | Listed = field(init=False)

    def __post_init__(self) -> None:
        self.trigger = as_instant(self.entry.trigger)

    def owe_from(self, owed_from_us: int) -> None:
        """Give it a coverage of its own, from a moment on."""
        self.owed_from_us = owed_from_us
        self.reaches_back = not self.trigger.recurring and not (self.effect is not None and self.effect.resumed)

    def ride(self) -> None:
        """Let the watermark speak for it."""
        self.owed_from_us = None
        self.reaches_back = self.failing = False
        self.sent = None

    @property
    def recover_us(self) -> int | None:
        """How long this schedule's runs count as merely late, if it has its own say."""
        seconds = self.entry.recover_seconds
        return None if seconds is None else seconds_to_us(seconds)

    @property
    def catch_up(self) -> CatchUp:
        return self.entry.catch_up


@dataclass(slots=True, eq=False)
class Past:
    """A definition that is no longer in force, with the runs that fell due while it was.

    Attributes:
        registered: the definition.
        until_us: its end: it owns the runs due before, none at or after.
        fate: None: its unsent runs go out. Otherwise why they do not.
    """

    registered: Registered
    until_us: int
    fate: Reason | None = None

    def owes(self) -> bool:
        """Whether it has a coverage of its own that has not reached its end."""
        owed_from_us = self.registered.owed_from_us
        return owed_from_us is not None and owed_from_us < self.until_us


@dataclass(slots=True, eq=False)
class Refused:
    """A row that could not be made into an entry, tried again at every sync.

    Attributes:
        id: the schedule.
        row_version: the row that failed.
        effect, owed_from_us: what its entry would have had, so that a later success owes it nothing less.
        seen: the number of the last snapshot that listed it.
    """

    id: str
    row_version: str
    effect: Effect | None
    owed_from_us: int | None
    seen: int = 0
