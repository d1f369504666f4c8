"""everdue: a scheduler that may be late and never silently loses a run."""

from everdue.core.claim import Claim, ClaimStore
from everdue.core.clock import Clock
from everdue.core.describe import describe, explain
from everdue.core.dispatcher import Dispatched, Dispatcher, Rejection
from everdue.core.errors import EverdueError, FeedLost, ScheduleRefused
from everdue.core.grammar import parse
from everdue.core.occurrence import Occurrence
from everdue.core.schedule import Entry, Row
from everdue.core.scheduler import Scheduler
from everdue.core.skip import Skip, SkipLog
from everdue.core.source import ChangeFeed, Changes, Source
from everdue.core.trigger import Trigger
from everdue.core.triggers import At, Cron, EventBridge, Interval, Recurrence, Shifted
from everdue.version import VERSION

__version__ = VERSION

__all__ = [
    "At",
    "ChangeFeed",
    "Changes",
    "Claim",
    "ClaimStore",
    "Clock",
    "Cron",
    "Dispatched",
    "Dispatcher",
    "Entry",
    "EventBridge",
    "EverdueError",
    "FeedLost",
    "Interval",
    "Occurrence",
    "Recurrence",
    "Rejection",
    "Row",
    "ScheduleRefused",
    "Scheduler",
    "Shifted",
    "Skip",
    "SkipLog",
    "Source",
    "Trigger",
    "__version__",
    "describe",
    "explain",
    "parse",
]
