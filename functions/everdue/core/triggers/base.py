"""What every shipped trigger is: immutable, slotted, comparable by value, shared while it lives, lazy on integers."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeVar
from weakref import WeakValueDictionary

from everdue.core.errors import TriggerRefused
from everdue.core.moment import EPOCH, from_us, to_us

_LIVING: "WeakValueDictionary[tuple[Any, ...], BaseTrigger]" = WeakValueDictionary()
"""Every living trigger by what it was made of. Weak, because an LRU would keep the dead and evict the living."""

T = TypeVar("T", bound="BaseTrigger")


class BaseTrigger:
    """The part that all shipped triggers have in common: identity.

    A trigger is its identity `_key`: equal keys make equal triggers, and while one lives, making an equal one
    returns it. So a hundred thousand schedules over five hundred rules hold five hundred triggers.
    """

    __slots__ = ("__weakref__", "_hash", "_key")

    _key: tuple[Any, ...]
    _hash: int

    @property
    def recurring(self) -> bool:
        """True unless the trigger is a one-shot, whose single run is never dropped by age."""
        return True

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: make another one instead of setting {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} can't be deleted")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, BaseTrigger):
            return NotImplemented
        return self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: object) -> T:
        return self


class InstantBase(BaseTrigger):
    """A shipped trigger that answers on integer microseconds: what it must bring of its own is `next_us`."""

    __slots__ = ()

    def next_us(self, at_us: int) -> int | None:
        """The first occurrence at or after `at_us` (Unix microseconds); None when there is none, up to year 9999."""
        raise NotImplementedError

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """The occurrences in `[start_us, end_us)` (Unix microseconds), increasing, made as they are asked for."""
        due = self.next_us(start_us) if start_us < end_us else None
        while due is not None and due < end_us:
            yield due
            due = self.next_us(due + 1)

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """Every occurrence in the half-open window `[start, end)`, ascending, as aware UTC datetimes.

        Due exactly at `start` belongs to this window, due exactly at `end` to the next one.

        Raises:
            ValueError: a datetime is naive.
        """
        return [from_us(due) for due in self.iterate_us(to_us(start), to_us(end))]


def living(key: tuple[Any, ...]) -> BaseTrigger | None:
    """The living trigger of this identity, if there is one and its identity can be hashed."""
    try:
        return _LIVING.get(key)
    except TypeError:  # a part such as a user's own trigger is unhashable: then nothing is shared
        return None


def born(cls: type[T], key: tuple[Any, ...], **slots: Any) -> T:
    """A new trigger of this identity, entered among the living. `slots` are its other attributes."""
    trigger: T = object.__new__(cls)
    put = object.__setattr__
    put(trigger, "_key", key)
    try:
        put(trigger, "_hash", hash(key))
    except TypeError:
        put(trigger, "_hash", hash((cls, id(trigger))))
        for name, value in slots.items():
            put(trigger, name, value)
        return trigger
    for name, value in slots.items():
        put(trigger, name, value)
    _LIVING[key] = trigger
    return trigger


def clip(value: object, limit: int = 60) -> str:
    """The value for a message: its repr, cut where it would flood a log line."""
    try:
        text = repr(value[: 2 * limit] if isinstance(value, str) else value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, a list nested without end
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[:limit]}…"


def moment_us(name: str, value: object) -> int:
    """An aware datetime argument as Unix microseconds, or TriggerRefused naming the argument."""
    if not isinstance(value, datetime):
        raise TriggerRefused(f"{name} {clip(value)} is not a datetime: pass an aware one, such as one in UTC")
    try:
        return to_us(value)
    except (ValueError, OverflowError):
        raise TriggerRefused(f"{name} {clip(value.isoformat())} has no time zone: pass an aware datetime") from None


def naive(start: datetime, end: datetime) -> ValueError:
    """The error for a window with a naive bound: it would mean another moment on another machine."""
    return ValueError(f"window [{start}, {end}) has no time zone: pass aware datetimes, such as ones in UTC")


def utc_datetime(second: int) -> datetime:
    """The aware UTC datetime of a Unix second, in half the time of an addition; before 1970 not every platform can."""
    return datetime.fromtimestamp(second, UTC) if second >= 0 else EPOCH + timedelta(seconds=second)
