"""A definition: all that an item says, checked, with its defaults filled in."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from everdue.core.parcel import Overlap, Parcel
from everdue.core.schedule import CatchUp, Entry
from everdue.core.trigger import Trigger


@dataclass(frozen=True, slots=True)
class Definition:
    """One schedule, as its item defines it.

    Attributes:
        id: the schedule.
        trigger: when it is due, with validity, exclusions, `spread` and `shift` in it.
        data: the payload.
        timezone: the IANA zone of its local times.
        overlap: what becomes of a run while the previous one is still going; the worker acts on it.
        stale_after_seconds: when a run counts as dead; None leaves it to the worker's default (1 h).
        recover_seconds: how long after its moment a run is merely late; None: the stack's parameter.
        catch_up: what becomes of missed runs.
        enabled: False stops the schedule at once.
        version: the writer's change marker; None where it keeps none.
        active_from: when this definition took effect, if the writer says so, in UTC.
        digest: of everything that decides when or what; see `digest`.
        description, tags: for people.
    """

    id: str
    trigger: Trigger
    data: Any
    timezone: str
    overlap: Overlap
    stale_after_seconds: int | None
    recover_seconds: float | None
    catch_up: CatchUp
    enabled: bool
    version: str | None
    active_from: datetime | None
    digest: str
    description: str = ""
    tags: dict[str, Any] = field(default_factory=dict)

    @property
    def scheduleversion(self) -> str:
        """What its messages carry: the writer's version, else the digest."""
        return self.digest if self.version is None else self.version

    def entry(self) -> Entry:
        """What the scheduler holds of it."""
        parcel = Parcel(self.data, self.overlap, self.stale_after_seconds, self.scheduleversion)
        return Entry(self.trigger, parcel, catch_up=self.catch_up, recover_seconds=self.recover_seconds)
