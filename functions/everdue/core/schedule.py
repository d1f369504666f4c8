"""A schedule as the scheduler holds it: the row that describes it cheaply, and the entry made from it."""

from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import Any, Literal

from everdue.core.moment import to_us
from everdue.core.trigger import Trigger

CatchUp = Literal["latest", "all", "none"]
CATCH_UP: tuple[CatchUp, ...] = ("latest", "all", "none")


@dataclass(frozen=True, slots=True)
class Row:
    """A schedule as its source lists it: cheap to compare, not yet parsed.

    Attributes:
        id: stable identity.
        version: opaque change marker. An unchanged version costs one comparison; a new one makes the entry again.
        data: whatever `Source.make` needs.
        active: False is a soft delete: the schedule stops at once.
        active_from: when this definition took effect, aware, if the source knows. Its runs from then on are owed even
            behind the watermark; the definition before it owns the runs due earlier. Without it the schedule is owed
            its runs since the sync before the one that found it.
    """

    id: str
    version: str
    data: Any = None
    active: bool = True
    active_from: datetime | None = None

    def __post_init__(self) -> None:
        if self.active_from is not None:
            to_us(self.active_from)  # refuses a naive datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """What a source makes of a row: when it runs, and what it hands over.

    Attributes:
        trigger: decides when.
        payload: handed to the dispatcher with each occurrence, opaque to the core.
        catch_up: what becomes of runs that are missed, that is, found more than `recover_seconds` after their moment:
            `latest` sends the newest missed one unless a later run is due or late now, `all` each, `none` none.
        recover_seconds: a run sent within this long after its moment is merely late. None: the scheduler's own.
    """

    trigger: Trigger
    payload: Any = None
    _: KW_ONLY
    catch_up: CatchUp = "latest"
    recover_seconds: float | None = None

    def __post_init__(self) -> None:
        if self.catch_up not in CATCH_UP:
            raise ValueError(f"catch_up {self.catch_up!r} is none of {', '.join(CATCH_UP)}")
        if self.recover_seconds is not None and self.recover_seconds < 0:
            raise ValueError(f"recover_seconds {self.recover_seconds!r} is negative: 0 or more seconds")
