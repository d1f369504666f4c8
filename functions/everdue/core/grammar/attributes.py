"""The attributes that an item may have, and the nearest one to a name that is none of them."""

from difflib import get_close_matches

TRIGGERS = ("cron", "every", "at", "rrule", "expression")
"""An item has exactly one of these."""

ATTRIBUTES = (
    "id",
    *TRIGGERS,
    "timezone",
    "anchor",
    "payload",
    "enabled",
    "starts_at",
    "ends_at",
    "spread",
    "shift",
    "gap",
    "fold",
    "exclude",
    "overlap",
    "stale_after",
    "recover",
    "catch_up",
    "on_done",
    "description",
    "tags",
    "version",
    "active_from",
)

_OTHER_WORDS = {
    "body": "payload",
    "data": "payload",
    "disabled": "enabled",
    "end": "ends_at",
    "end_date": "ends_at",
    "input": "payload",
    "interval": "every",
    "jitter": "spread",
    "message": "payload",
    "misfire": "catch_up",
    "name": "id",
    "offset": "shift",
    "rate": "every",
    "schedule": "cron",
    "schedule_expression": "expression",
    "start": "starts_at",
    "start_date": "starts_at",
    "state": "enabled",
    "tz": "timezone",
    "zone": "timezone",
}
"""What other schedulers call the same thing."""


def nearest(name: str) -> str | None:
    """The attribute that was probably meant by `name`; None when there is no telling."""
    word = name.strip().lower().replace("-", "_")
    if word in _OTHER_WORDS:
        return _OTHER_WORDS[word]
    close = get_close_matches(word, ATTRIBUTES, n=1, cutoff=0.6) or get_close_matches(
        word.replace("_", ""), [each for each in ATTRIBUTES if "_" in each], n=1, cutoff=0.7
    )
    return close[0] if close else None
