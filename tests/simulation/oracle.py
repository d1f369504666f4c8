"""What must have happened, by arithmetic over what was written. Shares no code with selection.

A definition is a grid (phase + k * period, or one moment) and a life: from the moment at which it took effect to the
moment at which it was edited, paused or deleted.
"""

from dataclasses import dataclass

from services import Host, Recorded, Sent, Services

SECOND = 1_000_000
SKEW_US = 3 * SECOND
"""Two seconds of clock, and the second that a date header hides."""

SYNC_US = 12 * SECOND
"""How long coverage goes on after a read that a clock ahead called later than it was."""


@dataclass
class Life:
    """One definition and its life, in true time."""

    id: str
    version: str
    period_us: int  # 0: a one-shot
    phase_us: int
    from_us: int
    catch_up: str = "latest"
    recover_us: int = 300 * SECOND
    end_us: int | None = None
    ended_by: str = ""  # edited, deleted, paused

    def on_grid(self, due_us: int) -> bool:
        """Whether it is due at that moment at all."""
        return due_us == self.phase_us if self.period_us == 0 else (due_us - self.phase_us) % self.period_us == 0

    def due(self, start_us: int, end_us: int) -> list[int]:
        """Its runs in [start, end), within its life. A one-shot of the past is due when it takes effect."""
        start_us = max(start_us, self.from_us)
        end_us = end_us if self.end_us is None else min(self.end_us, end_us)
        if self.period_us == 0:
            return [self.phase_us] if start_us <= max(self.phase_us, self.from_us) < end_us else []
        first_us = start_us + (self.phase_us - start_us) % self.period_us
        return list(range(first_us, end_us, self.period_us))


class Oracle:
    """Keeps the book while the story runs, and judges it at its end."""

    def __init__(self, services: Services, first_us: int, horizon_us: int) -> None:
        self.services = services
        self.first_us = first_us
        self.horizon_us = horizon_us
        self.lives: list[Life] = []
        self.of: dict[tuple[str, str], Life] = {}
        self.by_id: dict[str, list[Life]] = {}
        self.hostile: set[str] = set()
        self.excused: dict[tuple[str, str], int] = {}
        self.skewed = False
        self.covered_us = 0

    def add(self, life: Life) -> None:
        """A definition takes effect."""
        self.lives.append(life)
        self.of[life.id, life.version] = life
        self.by_id.setdefault(life.id, []).append(life)

    def current(self, id: str) -> Life | None:  # noqa: A002
        """What is in force under that id."""
        lives = self.by_id.get(id)
        return lives[-1] if lives and lives[-1].end_us is None else None

    def committed(self, host: Host, covered_us: int) -> None:
        """Coverage moved. What its committer was never shown, and is gone, it could neither send nor report."""
        self.covered_us = max(self.covered_us, covered_us)
        for life in self.lives:
            if life.end_us is not None and (life.id, life.version) not in host.known:
                self.excused[life.id, life.version] = max(self.excused.get((life.id, life.version), 0), covered_us)

    # --- the verdict ---

    def judge(self, end_us: int, *, lateness_us: int | None, once: bool) -> list[str]:
        """Every violation, in words."""
        wrong = list(self.services.violations)
        keys: dict[tuple[str, int], list[Sent]] = {}
        for sent in self.services.sent:
            keys.setdefault((sent.id, sent.due_us), []).append(sent)
            wrong += self._phantom(sent)
        spans: dict[str, list[Recorded]] = {}
        for recorded in self.services.recorded:
            spans.setdefault(recorded.skip.id, []).append(recorded)
            wrong += self._reason(recorded, keys)
        if self.covered_us < end_us - 75 * SECOND:
            wrong.append(f"stalled: coverage is {(end_us - self.covered_us) / SECOND:.1f} s behind")
        for life in self.lives:
            if life.id in self.hostile:
                continue
            for due_us in life.due(self.first_us, min(self.covered_us, end_us)):
                sent_runs = keys.get((life.id, due_us), ())
                recorded = [r for r in spans.get(life.id, ()) if r.skip.start_us <= due_us < r.skip.end_us]
                if not sent_runs and not recorded and not self._excused(life, due_us):
                    wrong.append(f"lost: {life.id}@{due_us} of {life}")
                unseen = any(sent.viewed_us <= life.from_us for sent in sent_runs)  # written while it was being read
                if once and len(sent_runs) > 1 and not unseen:
                    wrong.append(f"doubled without a fault: {life.id}@{due_us} by {[s.host.name for s in sent_runs]}")
                if lateness_us is not None and sent_runs and life.period_us and due_us > life.from_us + 15 * SECOND:
                    late_us = min(s.at_us for s in sent_runs) - due_us
                    if late_us > lateness_us:
                        wrong.append(f"late by {late_us / SECOND:.3f} s without a fault: {life.id}@{due_us}")
        return wrong

    def _phantom(self, sent: Sent) -> list[str]:
        life = self.of.get((sent.id, sent.version))
        if life is None:
            return [f"nobody wrote {sent.id} {sent.version}"]
        what = f"{sent.id}@{sent.due_us} sent at {sent.at_us} by {sent.host.name}, {life}"
        if not life.on_grid(sent.due_us):
            return [f"not on its grid: {what}"]
        if sent.at_us + SKEW_US < sent.due_us and sent.at_us - sent.host.stepped_us > 2 * SECOND:
            return [f"early: {what}"]
        if life.period_us and sent.due_us < life.from_us - (SKEW_US if self.skewed else 0):
            return [f"before its life: {what}"]
        slack_us = 2 * SKEW_US if self.skewed else 0
        if life.end_us is not None and sent.viewed_us > life.end_us + slack_us:
            later = [x for x in self.by_id[life.id] if x.from_us >= life.end_us]
            later = [x for x in later if (x.id, x.version) in sent.host.known]
            if not later:
                return [f"sent although it was {life.ended_by}: {what}"]
            if sent.due_us >= min(x.from_us for x in later) + slack_us:
                return [f"after its life: {what}"]
        return []

    def _reason(self, recorded: Recorded, keys: dict[tuple[str, int], list[Sent]]) -> list[str]:
        skip = recorded.skip
        if skip.id in self.hostile:
            return []
        wrong = []
        lives = [x for x in self.by_id.get(skip.id, ()) if x.from_us < skip.end_us + 2 * SKEW_US]
        what = f"{skip} at {recorded.at_us} by {recorded.host.name}"
        if skip.start_us >= skip.end_us or skip.count < 1:
            wrong.append(f"an empty record: {what}")
        slack_us = 2 * SKEW_US if self.skewed else 0
        if skip.reason == "missed":
            recent = [x for x in lives if x.end_us is not None and x.end_us > recorded.at_us - 120 * SECOND]
            stale = any(x.catch_up != "all" for x in recent)  # judged under the definition before, for want of a read
            if not stale and any(
                x.catch_up == "all" and x.end_us is None and x.from_us < skip.start_us - slack_us for x in lives
            ):
                wrong.append(f"missed, though each is to be caught up: {what}")
            recover_us = min((x.recover_us for x in lives), default=0)
            if recorded.at_us - skip.end_us + 1 < recover_us - 2 * SKEW_US:
                wrong.append(f"called missed too soon: {what}")
        elif skip.reason == "horizon":
            if recorded.at_us - skip.end_us + 1 < self.horizon_us - 2 * SKEW_US:
                wrong.append(f"called beyond the horizon too soon: {what}")
        elif skip.reason in ("deleted", "paused"):
            # The host sees that it is gone, not when or how it went since it looked last.
            ended = [x for x in self.by_id.get(skip.id, ()) if x.end_us is not None and x.end_us <= recorded.at_us]
            if not any((x.id, x.version) in recorded.host.known for x in ended):
                wrong.append(f"never {skip.reason}: {what}")
            elif not any(x.end_us is not None and skip.start_us < x.end_us for x in ended):
                self.services.count(f"{skip.reason}: on record for a moment after its end")
        elif skip.reason == "rejected":
            if skip.id not in self.services.poison:
                wrong.append(f"the queue took all of it: {what}")
        else:
            wrong.append(f"no cause for this: {what}")
        return wrong

    def _excused(self, life: Life, due_us: int) -> bool:
        """Ended before whoever covered it saw it; or too close to its start for clocks that differ, without a feed."""
        if due_us < self.excused.get((life.id, life.version), 0):
            self.services.count("excused: its committer never saw it")
            return True
        if self.skewed and due_us < life.from_us + 2 * SKEW_US + SYNC_US:
            self.services.count("excused: written within the clocks' difference of a read, without a feed")
            return True
        if self.skewed and life.end_us is not None and due_us >= life.end_us - 2 * SKEW_US:
            self.services.count("excused: ended within the clocks' difference")
            return True
        return False
