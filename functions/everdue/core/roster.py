"""The roster: every schedule in memory, converged to what the source states: a snapshot is the whole truth.

Nothing here reads a clock; `cut_us` is the moment just before the source was read.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from everdue.core.agenda import Agenda
from everdue.core.leadership import SKEW_US_MAX
from everdue.core.moment import to_us
from everdue.core.registered import Effect, Past, Refused, Registered
from everdue.core.schedule import Entry, Row


@dataclass(slots=True)
class Diff:
    """What a snapshot would change, collected while it is read, applied only once it is complete."""

    made: list[tuple[Row, Entry]] = field(default_factory=list)
    failed: list[tuple[Row, Exception]] = field(default_factory=list)
    paused: list[Row] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Look:
    """When a view was read, and what is known of the time before.

    Attributes:
        base_us: when the view before was read; None: there was none.
        cut_us: the moment before the read began: what is new after it may be missing from the snapshot.
        seen_us: the moment after it ended: what is gone from the snapshot was gone by then, not by the cut.
        cursor_us: up to where this process has covered, if it leads or led.
        known_us: what took effect up to here was known to whoever committed the coverage behind the cursor: this
            process itself, or the one that it took over from, whose read may be newer than the view before this.
    """

    base_us: int | None
    cut_us: int
    seen_us: int
    cursor_us: int | None
    known_us: int | None


class Roster:
    """Schedules, refused rows, and definitions that ended with runs still owed.

    Attributes:
        entries: what is in force, by id.
        refused: rows that could not be made, by id.
        paused: ids whose rows are inactive, each with its version and its stamp, if it has one.
        strays: what has a coverage of its own, apart from the watermark, by id.
        pasts: definitions no longer in force that may own unsent runs.
        agenda: everything that rides the watermark.
        cut_us: when the view was read; None: never completely.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Registered] = {}
        self.refused: dict[str, Refused] = {}
        self.paused: dict[str, tuple[str, int | None]] = {}
        self.strays: dict[str, Registered] = {}
        self.pasts: list[Past] = []
        self.agenda = Agenda()
        self.cut_us: int | None = None
        self._snapshot = 0

    def __len__(self) -> int:
        """How many schedules are loaded; one-shots that are done do not count."""
        return len(self.entries) - self.agenda.done

    def read(self, rows: Iterable[Row], make: Callable[[Row], Entry]) -> Diff:
        """What a snapshot would change. If reading it raises, nothing has changed."""
        self._snapshot += 1
        return self._read(rows, make)

    def converge(self, diff: Diff, cut_us: int, seen_us: int, cursor_us: int | None,
                 known_us: int | None) -> list[Exception]:  # fmt: skip
        """Take over what `read` just found: additions, edits, pauses, resumptions, deletions. See `Look`.

        Returns why rows were refused, for those that were not refused before; their last good entries stay.
        """
        # A view from a later moment than this one was read while the clock was wrong.
        base_us = None if self.cut_us is None else min(self.cut_us, cut_us)
        look = Look(base_us, cut_us, seen_us, cursor_us, known_us)
        for row in diff.paused:
            self._pause(row, look)
        news = [error for row, error in diff.failed if self._refuse(row, look)]
        for row, entry in diff.made:
            self._register(row, entry, look)
        for gone in [entry for entry in self.entries.values() if entry.seen != self._snapshot]:
            self._end(gone, Past(gone, seen_us, "deleted"))
        for id in [id for id, refusal in self.refused.items() if refusal.seen != self._snapshot]:  # noqa: A001
            del self.refused[id]
        self.paused = {row.id: (row.version, _stamp_us(row)) for row in diff.paused}
        self.cut_us = cut_us
        return news

    def lead(self, cursor_us: int, known_us: int | None) -> None:
        """Judge all coverage anew under a claim that somebody else wrote last.

        What took effect after the source was read by whoever committed the coverage was unknown to them and is owed
        its runs; everything else was accounted for and rides the watermark. What this process believed while it did
        not lead counts for nothing: another one may have run it since, or have led without knowing of it.
        """
        for registered in list(self.strays.values()):
            del self.strays[registered.id]
            self.agenda.add(registered)
        self.agenda.move_to(cursor_us)
        for registered in self.entries.values():
            registered.ride()
            registered.rode_from_us = cursor_us
            owed_from_us = _owed_from(registered.effect, known_us, cursor_us)
            if owed_from_us is not None:
                self.agenda.discard(registered)
                self._stray(registered, owed_from_us)
        for past in self.pasts:
            registered = past.registered
            registered.ride()
            registered.rode_from_us = cursor_us
            owed_from_us = _owed_from(registered.effect, known_us, cursor_us)
            if owed_from_us is not None:
                registered.owe_from(owed_from_us)
        self.forget(cursor_us)
        for refusal in self.refused.values():
            owed_from_us = _owed_from(refusal.effect, known_us, cursor_us)
            refusal.owed_from_us = cursor_us if owed_from_us is None else owed_from_us

    def forget(self, covered_us: int) -> None:
        """Drop the ended definitions that own no run behind the coverage or after it.

        By the committed coverage, not by the cursor: should this process lose the claim and take it again, it is the
        only one that still knows what they were due.
        """
        self.pasts = [past for past in self.pasts if past.until_us > covered_us or past.owes()]

    def _read(self, rows: Iterable[Row], make: Callable[[Row], Entry]) -> Diff:
        diff = Diff()
        for row in rows:
            if not row.active:
                diff.paused.append(row)
                continue
            known = self.entries.get(row.id)
            if known is not None and known.row_version == row.version:
                known.seen = self._snapshot
                continue  # and a refusal of an edit that was taken back goes, unseen
            refusal = self.refused.get(row.id)
            if refusal is not None:
                refusal.seen = self._snapshot
            try:
                diff.made.append((row, make(row)))
            except Exception as error:  # noqa: BLE001 - a row is the user's; whatever it raises is this row's alone
                diff.failed.append((row, error))
        return diff

    def _register(self, row: Row, entry: Entry, look: Look) -> None:
        refusal = self.refused.pop(row.id, None)
        old = self.entries.get(row.id)
        if old is not None and old.entry == entry:  # decides neither when nor what: moves nothing
            old.row_version = row.version
            old.seen = self._snapshot
            return
        new = Registered(
            row.id, row.version, row.version, entry, None, rode_from_us=look.cursor_us, seen=self._snapshot
        )
        if refusal is not None and refusal.row_version == row.version:  # the same definition, made at last
            new.effect, owed_from_us = refusal.effect, refusal.owed_from_us
        else:
            new.effect = self._effect(row, look)
            owed_from_us = _owed_from(new.effect, look.known_us, look.cursor_us)
        if old is not None:
            until_us = look.cut_us if new.effect is None else new.effect.from_us
            if look.cursor_us is not None and old.owed_from_us is None and old.id not in self.strays:
                new.sent = (old, look.cursor_us)
            self._end(old, Past(old, until_us))
        self.entries[row.id] = new
        if owed_from_us is None:
            self.agenda.add(new)
        else:
            self._stray(new, owed_from_us)

    def _effect(self, row: Row, look: Look) -> Effect | None:
        """When a definition took effect that this view shows and the view before, read at `base_us`, did not.

        Not before that view was read, whatever the writer's stamp says: a stamp may be rounded, come from a clock that
        is behind, or be older than the edit. A resumed schedule without a stamp took effect when it was seen, since
        what fell due while it was paused must not run; anything else may have from the view before on: too early
        repeats a run at worst, too late loses one.
        """
        stamp_us = _stamp_us(row)
        paused_version, paused_stamp_us = self.paused.get(row.id, (None, None))
        resumed = paused_version == row.version  # another version is another definition, which was never paused
        if stamp_us is not None and (look.base_us is None or stamp_us > look.base_us):
            return Effect(stamp_us, stamp_us, resumed)
        if look.base_us is None:
            return None
        # A stamp that the paused row had too says when the schedule was written, not when it was resumed.
        unstamped = paused_version is not None and (stamp_us is None or stamp_us == paused_stamp_us)
        return Effect(look.cut_us if unstamped else look.base_us, look.cut_us, resumed)

    def _refuse(self, row: Row, look: Look) -> bool:
        known = self.entries.get(row.id)
        if known is not None:
            known.seen = self._snapshot
        refusal = self.refused.get(row.id)
        if refusal is not None and refusal.row_version == row.version:
            return False
        effect = self._effect(row, look)
        owed_from_us = _owed_from(effect, look.known_us, look.cursor_us)
        owed_from_us = look.cursor_us if owed_from_us is None else owed_from_us
        self.refused[row.id] = Refused(row.id, row.version, effect, owed_from_us, self._snapshot)
        return True

    def _pause(self, row: Row, look: Look) -> None:
        self.refused.pop(row.id, None)
        old = self.entries.get(row.id)
        if old is not None:
            stamp_us = _stamp_us(row)
            until_us = look.seen_us
            if stamp_us is not None and look.base_us is not None and stamp_us > look.base_us:
                # It stops at once, whatever the stamp says; but the writer's clock may be ahead of this one.
                until_us = min(stamp_us, look.seen_us + SKEW_US_MAX)
            self._end(old, Past(old, until_us, "paused"))

    def _end(self, old: Registered, past: Past) -> None:
        if self.entries.get(old.id) is old:
            del self.entries[old.id]
        if self.strays.get(old.id) is old:
            del self.strays[old.id]
        else:
            self.agenda.discard(old)
        self.pasts.append(past)

    def _stray(self, registered: Registered, owed_from_us: int) -> None:
        registered.owe_from(owed_from_us)
        self.strays[registered.id] = registered


def _stamp_us(row: Row) -> int | None:
    return None if row.active_from is None else to_us(row.active_from)


def _owed_from(effect: Effect | None, known_us: int | None, cursor_us: int | None) -> int | None:
    """From where a definition has a coverage of its own; None: the watermark speaks for it."""
    if effect is None:
        return None
    owed_from_us = effect.owed_after(known_us)
    if cursor_us is None:
        return owed_from_us
    if owed_from_us is None:  # known, but maybe younger than the coverage, which lags: no runs from before its time
        return effect.from_us if effect.from_us > cursor_us else None
    # From the cursor on nothing is covered for anybody, however late the source was read for what lies behind it.
    return min(owed_from_us, max(effect.from_us, cursor_us))
