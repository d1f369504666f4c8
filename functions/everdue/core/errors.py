"""One root, one class a condition. A message names the thing, its value, and what would be right."""


class EverdueError(Exception):
    """Root of every error that everdue raises on purpose."""


class TriggerRefused(EverdueError, ValueError):
    """A trigger's text or numbers can't be a trigger, or can never match. The writer's to mend."""


class ScheduleRefused(EverdueError, ValueError):
    """An item can't be a schedule. The writer's to mend; its last good definition stays in force.

    Attributes:
        attribute: the attribute that is wrong, or None where the item as a whole is.
        schedule: the id of the item, where that is known.
    """

    def __init__(self, message: str, *, attribute: str | None = None, schedule: str | None = None) -> None:
        super().__init__(message)
        self.attribute = attribute
        self.schedule = schedule


class SettingsRefused(EverdueError, ValueError):
    """An environment variable is missing or makes no sense. The deployer's to mend."""


class SourceFailed(EverdueError):
    """A read of the source did not complete, so it says nothing about what exists. Try again at the next sync."""


class FeedLost(EverdueError):
    """The change feed can't be read from this position any more. The cure is a snapshot."""


class ClaimFailed(EverdueError):
    """The claim could not be read or written, and it is unknown whether a write happened. Nothing is committed."""


class ClaimMalformed(ClaimFailed):
    """The stored record is no claim. It is never overwritten: a guessed watermark would lose or repeat runs."""


class Deposed(EverdueError):
    """Another process took the claim while this one had something to commit. Too short a lease does this often."""


class ClaimLost(EverdueError):
    """The claim of a shard that has run is gone. Coverage resumes from the last milestone; find out who removed it."""


class ClaimTooNew(EverdueError):
    """The claim carries a newer schema number than this code knows. Do nothing: newer code is in charge."""


class DispatchFailed(EverdueError):
    """The queue did not answer for some occurrences: unsent or unknown. Nothing is committed; the same keys repeat."""


class SkipLogFailed(EverdueError):
    """A skip could not be put on record, so coverage may not pass it. Nothing is committed."""


class ClockSkewed(EverdueError):
    """This machine's clock is too far from the service's. It must not lead: it would send runs early or late."""
