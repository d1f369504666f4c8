"""The claim: leadership and watermark in one record. ClaimStore port: the one place where they are decided."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from everdue.core.moment import to_us


@dataclass(frozen=True, slots=True)
class Claim:
    """Who leads, and how far coverage is committed. Both change in one write, or a deposed leader could rewind it.

    Attributes:
        token: the holder's name; empty when released. A name, never a fence: two processes may share one.
        expires_at: at or past this moment anyone may take the claim.
        covered_until: the watermark: every occurrence due before it was sent or is on record.
        synced_until: the source was read up to here by whoever committed that coverage: what took effect later was
            unknown then and is owed its runs. Dropping it would replay history or lose what was new, on every restart.
        revision: raised by one with every write; the fence.
        position: how far the change feed was read, committed with the window that used it.
    """

    token: str
    expires_at: datetime
    covered_until: datetime | None = None
    synced_until: datetime | None = None
    revision: int = 0
    position: str | None = None

    def __post_init__(self) -> None:
        for moment in (self.expires_at, self.covered_until, self.synced_until):
            if moment is not None:
                to_us(moment)  # refuses a naive datetime


class ClaimStore(Protocol):
    """One record a shard, replaced by compare-and-swap on its revision."""

    def load(self) -> Claim | None:
        """The claim as of now, strongly consistent; None when there is none. Raises ClaimFailed when unreadable."""
        ...

    def swap(self, expected: Claim | None, next: Claim) -> bool:  # noqa: A002 - the port's fixed name
        """Store `next` if the stored claim still has `expected`'s revision (None: if there is no claim).

        The stored revision becomes `expected.revision + 1` (1 for the first), whatever `next` carries. False: somebody
        else wrote, and nothing was written. Raises ClaimFailed when it can't be known which.
        """
        ...


@dataclass(frozen=True, slots=True)
class Milestone:
    """Proof that a shard has run, and how far: what an absent claim resumes from."""

    covered_until: datetime
    synced_until: datetime | None = None


@runtime_checkable
class MilestoneStore(Protocol):
    """A claim store's optional second ability: a rarely written record, kept apart from the claim.

    Without it a lost claim can't be told from the first run ever, and the gap would go unnoticed.
    """

    def load_milestone(self) -> Milestone | None:
        """The milestone, strongly consistent; None when this shard never ran. Raises ClaimFailed when unreadable."""
        ...

    def save_milestone(self, milestone: Milestone) -> None:
        """Replace the milestone. Raises ClaimFailed when it can't be known whether it was written."""
        ...


@runtime_checkable
class ServiceClock(Protocol):
    """A claim store's optional second ability: to say how far this machine's clock is from the service's."""

    def skew_us(self) -> int | None:
        """The least distance that explains the service's last answer, in microseconds: positive when this machine is
        ahead, negative when behind, 0 when they may agree; None before the first answer."""
        ...
