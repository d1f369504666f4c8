"""When a schedule runs: one trigger a file."""

from everdue.core.triggers.at import At
from everdue.core.triggers.bounded import Bounded
from everdue.core.triggers.cron import Cron
from everdue.core.triggers.eventbridge import EventBridge
from everdue.core.triggers.excluding import Excluding
from everdue.core.triggers.interval import Interval
from everdue.core.triggers.recurrence import Recurrence
from everdue.core.triggers.shifted import Shifted

__all__ = ["At", "Bounded", "Cron", "EventBridge", "Excluding", "Interval", "Recurrence", "Shifted"]
