"""Time zones by name."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from everdue.core.errors import ScheduleRefused
from everdue.core.grammar.values import refuse, shown

WRITTEN = "an IANA time zone, such as Europe/Berlin or UTC"
MAX_CHARS = 64
_NO_ZONES = ("localtime", "posixrules", "posix/", "right/", "Factory")
"""Names that some machines have: the machine's own zone means another moment on the next one, and `right/` counts leap
seconds."""


def zone_of(item: Mapping[str, Any]) -> ZoneInfo:
    """The zone of the item's local times; UTC where it names none. Raises ScheduleRefused when there is none such."""
    name = item.get("timezone", "UTC")
    if not isinstance(name, str) or not name or len(name) > MAX_CHARS or name.startswith(_NO_ZONES):
        refuse("timezone", name, WRITTEN)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not found; no such path; a directory, such as `America`
        # Only for a misspelt place: the nearest name to an abbreviation or an offset is some other clock.
        near = get_close_matches(name, available_timezones(), n=1, cutoff=0.8) if "/" in name else []
        hint = f"did you mean {near[0]}?" if near else f"it must be {WRITTEN}"
        raise ScheduleRefused(f"timezone is {shown(name)}, which is unknown: {hint}", attribute="timezone") from None
