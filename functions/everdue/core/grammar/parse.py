"""From an item to a definition, attribute by attribute."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from everdue.core.errors import ScheduleRefused
from everdue.core.grammar.attributes import ATTRIBUTES, TRIGGERS, nearest
from everdue.core.grammar.definition import Definition
from everdue.core.grammar.digest import digest
from everdue.core.grammar.duration import duration_us
from everdue.core.grammar.moments import moment_us
from everdue.core.grammar.payload import check_payload
from everdue.core.grammar.rule import build_trigger
from everdue.core.grammar.values import byte_length, choice, kind, refuse, shown
from everdue.core.grammar.zones import zone_of
from everdue.core.moment import SECOND_US, from_us
from everdue.core.parcel import OVERLAP, Overlap
from everdue.core.schedule import CATCH_UP, CatchUp

MAX_ID_BYTES = 512
MAX_VERSION_BYTES = 256
MAX_DESCRIPTION_BYTES = 4_096
MAX_TAGS = 50


def parse(item: Mapping[str, Any]) -> Definition:
    """The definition that an item states; the item as plain values (str, Decimal, bool, None, list, set, dict, bytes).

    Pure: the same item gives the same definition, whatever the time.

    Raises:
        ScheduleRefused: the item can't be a schedule. The message names the attribute, its value and what would be
            right; of several faults it names the first.
    """
    id = _id(item)  # noqa: A001 - `id` is the attribute's name everywhere
    _check_names(item)
    zone = zone_of(item)
    _check_on_done(item)
    payload = item.get("payload")
    check_payload(payload)
    stale_after = duration_us(item, "stale_after", least_us=SECOND_US, whole=True)
    recover = duration_us(item, "recover", least_us=0)
    active = moment_us(item, "active_from", zone)
    return Definition(
        id=id,
        trigger=build_trigger(id, item, zone),
        data=payload,
        timezone=zone.key,
        overlap=cast(Overlap, choice(item, "overlap", OVERLAP, "queue")),
        stale_after_seconds=None if stale_after is None else stale_after // SECOND_US,
        recover_seconds=None if recover is None else recover / SECOND_US,
        catch_up=cast(CatchUp, choice(item, "catch_up", CATCH_UP, "latest")),
        enabled=_enabled(item),
        version=_version(item),
        active_from=None if active is None else from_us(active),
        digest=digest(item),
        description=_description(item),
        tags=_tags(item),
    )


def active_from(item: Mapping[str, Any]) -> int | None:
    """The moment of `active_from` in Unix microseconds, without parsing the rest; None when it is absent.

    Raises:
        ScheduleRefused: it is no moment, or `timezone` is no zone.
    """
    return moment_us(item, "active_from", zone_of(item)) if "active_from" in item else None


def _id(item: Mapping[str, Any]) -> str:
    right = f"a string of 1 to {MAX_ID_BYTES} bytes of UTF-8"
    value = item.get("id")
    if not isinstance(value, str):
        refuse("id", value, right)
    if any("\ud800" <= character <= "\udfff" for character in value):
        refuse("id", value, "Unicode text: it holds half of a surrogate pair")
    if not 1 <= byte_length(value) <= MAX_ID_BYTES:
        refuse("id", value, f"{right}; it has {byte_length(value)}")
    return value


def _check_names(item: Mapping[str, Any]) -> None:
    for name in sorted(item, key=str):
        if name not in ATTRIBUTES:
            near = nearest(str(name))
            hint = f"did you mean {near}?" if near else f"an item may have {', '.join(ATTRIBUTES)}"
            raise ScheduleRefused(f"attribute {shown(name)} is unknown: {hint}", attribute=str(name))
    given = [name for name in TRIGGERS if name in item]
    if len(given) != 1:
        raise ScheduleRefused(
            f"the item has {' and '.join(given) if given else 'no trigger'}: "
            f"it must have exactly one of {', '.join(TRIGGERS)}",
            attribute=given[-1] if given else None,
        )


def _check_on_done(item: Mapping[str, Any]) -> None:
    if choice(item, "on_done", ("keep", "delete"), "keep") == "delete":
        raise ScheduleRefused(
            "on_done is 'delete': deleting a finished schedule is not acted on yet, so it is refused; "
            "it must be 'keep', or be left out",
            attribute="on_done",
        )


def _enabled(item: Mapping[str, Any]) -> bool:
    value = item.get("enabled", True)
    if not isinstance(value, bool):
        refuse("enabled", value, f"a boolean (BOOL), not {kind(value)}")
    return value


def _version(item: Mapping[str, Any]) -> str | None:
    if "version" not in item:
        return None
    value = item["version"]
    if isinstance(value, str) and 1 <= byte_length(value) <= MAX_VERSION_BYTES:
        return value
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        decimal = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        if decimal.is_finite() and abs(decimal.adjusted()) < MAX_VERSION_BYTES - 2:
            return format(decimal, "f")
    refuse("version", value, f"a string of 1 to {MAX_VERSION_BYTES} bytes of UTF-8, or a number")


def _description(item: Mapping[str, Any]) -> str:
    value = item.get("description", "")
    if not isinstance(value, str) or byte_length(value) > MAX_DESCRIPTION_BYTES:
        refuse("description", value, f"a string of at most {MAX_DESCRIPTION_BYTES} bytes")
    return value


def _tags(item: Mapping[str, Any]) -> dict[str, Any]:
    value = item.get("tags", {})
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        refuse("tags", value, 'a map (M), such as {"team": "billing"}')
    if len(value) > MAX_TAGS:
        refuse("tags", value, f"a map of at most {MAX_TAGS} tags; it has {len(value)}")
    return dict(value)
