"""What every skip log promises: what was skipped is on record, once."""

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from everdue.aws.skip_log_dynamodb import DynamoSkipLog
from everdue.core.errors import SkipLogFailed
from everdue.core.skip import Reason, Skip
from everdue.testing import ManualClock, MemorySkipLog

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
NOON_US = 1_796_126_400_000_000


class Register:
    """A skip log, and what is on record in it."""

    def __init__(self, backend: str, request: pytest.FixtureRequest) -> None:
        self.log: Any = MemorySkipLog()
        self._tables = None
        if backend != "memory":
            self._tables = request.getfixturevalue("tables")
            self.log = DynamoSkipLog(self._tables.client, self._tables.runs, clock=ManualClock(NOON))

    def break_down(self) -> None:
        if self._tables is None:
            self.log.fail()
        else:
            self.log = DynamoSkipLog(self._tables.client, "no-such-table", clock=ManualClock(NOON))

    def skips(self) -> set[Skip]:
        if self._tables is None:
            return set(self.log.skips)
        pages = self._tables.client.get_paginator("scan").paginate(TableName=self._tables.runs, ConsistentRead=True)
        return {
            Skip(
                id=item["schedule"]["S"],
                start_us=int(item["span_start"]["N"]),
                end_us=int(item["span_end"]["N"]),
                count=int(item["count"]["N"]),
                reason=item["reason"]["S"],
                detail=item.get("detail", {}).get("S", ""),
            )
            for page in pages
            for item in page["Items"]
        }


@pytest.fixture
def register(backend: str, request: pytest.FixtureRequest) -> Register:
    return Register(backend, request)


def test_every_reason_and_every_number_is_kept(register: Register) -> None:
    """Rule 10: with schedule, span, count and reason."""
    skips = {
        Skip(f"schedule {n} ⏰", NOON_US + n, NOON_US + 60_000_000, n, reason, "words" if n % 2 else "")
        for n, reason in enumerate(get_args(Reason))
    }
    register.log.record(sorted(skips, key=lambda skip: skip.start_us))
    assert register.skips() == skips


def test_more_than_one_batch_is_kept(register: Register) -> None:
    """A long outage skips runs of many schedules at once."""
    skips = [Skip(f"s{n}", NOON_US, NOON_US + 1, 1, "horizon") for n in range(60)]
    register.log.record(skips)
    assert register.skips() == set(skips)


def test_the_same_skip_again_is_one_record(register: Register) -> None:
    """A crash before the commit records it again, maybe with a larger span; two entries would count runs twice."""
    register.log.record([Skip("a", NOON_US, NOON_US + 1, 1, "missed"), Skip("b", NOON_US, NOON_US + 1, 1, "missed")])
    register.log.record([Skip("a", NOON_US, NOON_US + 9, 5, "missed")])
    assert register.skips() == {
        Skip("a", NOON_US, NOON_US + 9, 5, "missed"),
        Skip("b", NOON_US, NOON_US + 1, 1, "missed"),
    }


def test_nothing_is_recorded(register: Register) -> None:
    """The usual tick."""
    register.log.record([])
    assert register.skips() == set()


def test_what_can_not_be_recorded_raises(register: Register) -> None:
    """Coverage may not pass it."""
    register.break_down()
    with pytest.raises(SkipLogFailed):
        register.log.record([Skip("a", NOON_US, NOON_US + 1, 1, "missed")])
