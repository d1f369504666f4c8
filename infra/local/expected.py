"""What should arrive, by arithmetic alone: nothing here is shared with the scheduler."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Series:
    """One definition's life: due at `phase_us` plus any multiple of `every_us`, from `start_us` to `end_us`.

    Attributes:
        every_us: 0 for a one-shot, due at `phase_us`.
        start_us: the definition took effect.
        end_us: it was edited or deleted; None while it lives.
        seen_us: how long after its end the scheduler may not know of it yet: what is sent in between is no fault.
    """

    schedule: str
    every_us: int
    phase_us: int
    start_us: int
    end_us: int | None = None
    seen_us: int = 0

    def keys(self, low_us: int, high_us: int) -> set[str]:
        """The keys of its runs due in `[low, high)` of its life."""
        end_us = high_us if self.end_us is None else min(high_us, self.end_us)
        return set(self._keys(max(low_us, self.start_us), end_us))

    def tolerated(self) -> set[str]:
        """The keys that may come although its life has ended."""
        return set() if self.end_us is None else set(self._keys(self.end_us, self.end_us + self.seen_us))

    def _keys(self, low_us: int, high_us: int) -> Iterator[str]:
        if not self.every_us:
            if low_us <= self.phase_us < high_us:
                yield key(self.schedule, self.phase_us)
            return
        due_us = low_us + (self.phase_us - low_us) % self.every_us
        while due_us < high_us:
            yield key(self.schedule, due_us)
            due_us += self.every_us


@dataclass(frozen=True, slots=True)
class Verdict:
    """How what arrived differs from what should have.

    Attributes:
        expected: how many were.
        missing: expected, and did not arrive.
        doubled: arrived in more than one message.
        unexpected: arrived, and no definition was due then.
    """

    expected: int
    missing: list[str]
    doubled: list[str]
    unexpected: list[str]

    @property
    def holds(self) -> bool:
        """Whether everything is as it should be."""
        return not (self.missing or self.doubled or self.unexpected)


def judge(
    series: Iterable[Series], ids: Iterable[str], received: Iterable[tuple[str, str]], low_us: int, high_us: int
) -> Verdict:
    """Compare what arrived, as pairs of key and message id, with the series of all `ids`, due in `[low, high)`.

    Runs due before `low` or from `high` on need not arrive; one of another moment than a series has must not.
    """
    series, known = list(series), set(ids)
    required = {each for one in series for each in one.keys(low_us, high_us)}
    possible = {each for one in series for each in one.keys(0, high_us + 60 * MICRO) | one.tolerated()}
    messages: dict[str, set[str]] = {}
    for each, message_id in received:
        if each.rpartition("@")[0] in known:
            messages.setdefault(each, set()).add(message_id)
    return Verdict(
        expected=len(required),
        missing=sorted(required - messages.keys()),
        doubled=sorted(each for each, ids_of in messages.items() if len(ids_of) > 1),
        unexpected=sorted(messages.keys() - possible),
    )


def key(schedule: str, due_us: int) -> str:
    """The key of a run, as the contract words it."""
    return f"{schedule}@{due_us // MICRO}.{due_us % MICRO:06d}"
