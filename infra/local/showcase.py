"""The demo's schedules: a dozen items that show what one can write, and when each is due, by arithmetic."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from infra.local.deploy import Deployment
from infra.local.expected import MICRO, Series
from infra.local.items import now_us, put

SYNC_SECONDS = 10
"""The stack's default: how often a running tick reads the schedules."""
SEEN_US = (SYNC_SECONDS + 3) * MICRO
"""After an edit, so long may the old definition still run: a sync, the read itself, and a busy machine."""

EDITED, DELETED = "edited-while-it-runs", "deleted-while-it-runs"


class Showcase:
    """Writes the schedules, later edits one and deletes one, and knows what is due."""

    def __init__(self, deployment: Deployment) -> None:
        self._dynamodb = deployment.dynamodb
        self._table = deployment["SchedulesTable"]
        self.series: list[Series] = []
        self.ids: set[str] = set()
        self.late_by_design: list[tuple[str, int, int]] = []
        """Spans of a schedule in which runs may be late, since the scheduler learns of the edit only then."""

    def write(self) -> int:
        """Write all. Returns how many."""
        soon_us = (now_us() // MICRO + 20) * MICRO
        spread = int.from_bytes(hashlib.sha256(b"spread/hourglass").digest()[:8], "big") % 30
        for item, every, phase_us in (
            ({"id": "every-second", "every": 1}, 1, 0),
            ({"id": "every-5-seconds", "every": 5, "payload": {"task": "poll"}}, 5, 0),
            ({"id": "a-quarter-minute", "every": "15s", "anchor": "2026-01-01T00:00:07Z"}, 15, 7 * MICRO),
            ({"id": "each-minute-in-berlin", "cron": "* * * * *", "timezone": "Europe/Berlin"}, 60, 0),
            # Kathmandu is 5 h 45 min ahead: its even minutes are UTC's odd ones.
            ({"id": "even-minutes-in-kathmandu", "cron": "*/2 * * * *", "timezone": "Asia/Kathmandu"}, 120, 60 * MICRO),
            ({"id": "once-in-20-seconds", "at": _iso(soon_us), "payload": {"hello": "once"}}, 0, soon_us),
            ({"id": "hourglass", "every": 30, "spread": 30}, 30, spread * MICRO),
            ({"id": "three-past-the-tens", "every": 10, "shift": 3}, 10, 3 * MICRO),
            ({"id": "run in\N{NO-BREAK SPACE}parallel \N{SNOWMAN}", "every": 10, "overlap": "allow"}, 10, 0),
            ({"id": EDITED, "every": 4, "payload": "first definition"}, 4, 0),
            ({"id": DELETED, "every": 3}, 3, 0),
            ({"id": "paused", "every": 1, "enabled": False}, None, 0),
            ({"id": "refused-and-harmless", "cron": "61 * * * *"}, None, 0),
        ):
            self._put(item, every, phase_us)
        return len(self.ids)

    def edit(self) -> None:
        """Rewrite one: other times and another payload, from now on."""
        edited_us = self._put({"id": EDITED, "every": 6, "shift": 1, "payload": "second definition"}, 6, MICRO)
        self._end(EDITED, edited_us)
        self.late_by_design.append((EDITED, edited_us, edited_us + SEEN_US))

    def delete(self) -> None:
        """Delete one."""
        deleted_us = now_us()
        self._dynamodb.delete_item(TableName=self._table, Key={"id": {"S": DELETED}})
        self._end(DELETED, deleted_us)

    def is_late_by_design(self, schedule: str, due_us: int) -> bool:
        """Whether a run fell due before the scheduler could know of the edit that made it so."""
        return any(schedule == edited and low <= due_us < high for edited, low, high in self.late_by_design)

    def _put(self, item: dict[str, Any], every: int | None, phase_us: int) -> int:
        written_us = put(self._dynamodb, self._table, item)
        self.ids.add(item["id"])
        if every is not None:
            self.series.append(Series(item["id"], every * MICRO, phase_us, written_us))
        return written_us

    def _end(self, schedule: str, end_us: int) -> None:
        self.series = [
            replace(each, end_us=end_us, seen_us=SEEN_US)
            if each.schedule == schedule and each.end_us is None and each.start_us < end_us
            else each
            for each in self.series
        ]


def _iso(us: int) -> str:
    return datetime.fromtimestamp(us // MICRO, UTC).isoformat()
