"""What every source promises: the whole desired set or a failure, and a row that can be told from its past self."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from everdue.aws.source_dynamodb import DynamoSource
from everdue.core.errors import EverdueError
from everdue.core.schedule import Row
from everdue.core.source import ChangeFeed
from everdue.core.triggers import Interval
from everdue.testing import MemorySource

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


class Desk:
    """Writes schedules into a source, whichever it is: every so many seconds, with a number as payload."""

    def __init__(self, backend: str, request: pytest.FixtureRequest) -> None:
        self.source: Any = MemorySource()
        self._tables = None
        if backend != "memory":
            self._tables = request.getfixturevalue("tables")
            self.source = DynamoSource(self._tables.client, self._tables.schedules)

    def put(self, id: str, seconds: int = 60, payload: int = 0, **more: Any) -> None:  # noqa: A002
        if self._tables is None:
            active = more.pop("enabled", True)
            more.pop("note", None)
            self.source.put(id, Interval(seconds), payload, active=active, version=f"{seconds}/{payload}", **more)
            return
        item: dict[str, Any] = {"id": {"S": id}, "every": {"N": str(seconds)}, "payload": {"N": str(payload)}}
        if "enabled" in more:
            item["enabled"] = {"BOOL": more["enabled"]}
        if "active_from" in more:
            item["active_from"] = {"S": more["active_from"].isoformat()}
        if "note" in more:
            item["description"] = {"S": more["note"]}
        self._tables.client.put_item(TableName=self._tables.schedules, Item=item)

    def delete(self, id: str) -> None:  # noqa: A002
        if self._tables is None:
            self.source.remove(id)
        else:
            self._tables.client.delete_item(TableName=self._tables.schedules, Key={"id": {"S": id}})

    def break_down(self) -> None:
        if self._tables is None:
            self.source.fail_snapshot()
        else:
            self.source = DynamoSource(self._tables.client, "no-such-table")

    def spoil(self, id: str) -> None:  # noqa: A002
        if self._tables is None:
            self.source.refuse(id, ValueError("spoilt"))
        else:
            item = {"id": {"S": id}, "every": {"S": "often"}}
            self._tables.client.put_item(TableName=self._tables.schedules, Item=item)

    def rows(self) -> dict[str, Row]:
        rows = list(self.source.snapshot())
        assert len({row.id for row in rows}) == len(rows)
        return {row.id: row for row in rows}


@pytest.fixture
def desk(backend: str, request: pytest.FixtureRequest) -> Desk:
    return Desk(backend, request)


def test_an_empty_source_lists_nothing(desk: Desk) -> None:
    """That is a statement too: nothing should exist."""
    assert desk.rows() == {}


def test_a_snapshot_lists_every_schedule_once(desk: Desk) -> None:
    """What it leaves out is deleted by whoever reads it."""
    ids = [f"schedule {n} ⏰" for n in range(30)]
    for id in ids:  # noqa: A001
        desk.put(id)
    assert sorted(desk.rows()) == sorted(ids)


def test_a_snapshot_sees_what_was_just_written_and_deleted(desk: Desk) -> None:
    """It is strongly consistent: a one-shot that is missing from one read would be lost (W5)."""
    desk.put("a")
    assert list(desk.rows()) == ["a"]
    desk.put("b")
    desk.delete("a")
    assert list(desk.rows()) == ["b"]


def test_an_unchanged_schedule_keeps_its_version(desk: Desk) -> None:
    """Otherwise each sync would make every entry again, and move its start."""
    desk.put("a", 60, 1)
    before = desk.rows()["a"].version
    desk.put("a", 60, 1)
    assert desk.rows()["a"].version == before


@pytest.mark.parametrize("edit", [{"seconds": 61}, {"payload": 2}])
def test_an_edit_of_when_or_what_changes_the_version(desk: Desk, edit: dict[str, int]) -> None:
    """An edit that isn't seen is never done (W14b)."""
    desk.put("a", 60, 1)
    before = desk.rows()["a"].version
    desk.put("a", **{"seconds": 60, "payload": 1, **edit})
    assert desk.rows()["a"].version != before


def test_an_edit_of_words_for_people_makes_an_equal_entry(desk: Desk) -> None:
    """Rule 9: it moves nothing. It is looked at all the same, since it may write what is to be refused."""
    desk.put("a", note="old")
    before = desk.source.make(desk.rows()["a"])
    desk.put("a", note="new")
    assert desk.source.make(desk.rows()["a"]) == before


def test_a_disabled_schedule_is_listed_as_inactive(desk: Desk) -> None:
    """A soft delete stops it at once, and keeps it."""
    desk.put("a", enabled=False)
    desk.put("b", enabled=True)
    assert {row.id: row.active for row in desk.rows().values()} == {"a": False, "b": True}


def test_the_moment_from_which_a_definition_counts_is_told(desk: Desk) -> None:
    """If the writer keeps it; rule 8."""
    desk.put("a", active_from=NOON)
    desk.put("b")
    assert {row.id: row.active_from for row in desk.rows().values()} == {"a": NOON, "b": None}


def test_make_gives_the_rule_and_the_payload(desk: Desk) -> None:
    """The payload is opaque to the core; the rule answers."""
    desk.put("a", 45, 7)
    entry = desk.source.make(desk.rows()["a"])
    assert entry.trigger == Interval(45)
    assert getattr(entry.payload, "data", entry.payload) == 7


def test_a_row_that_can_not_be_made_is_refused_alone(desk: Desk) -> None:
    """Rule 12: the snapshot goes on, and the others are made."""
    desk.put("good")
    desk.put("bad")
    desk.spoil("bad")
    rows = desk.rows()
    assert sorted(rows) == ["bad", "good"]
    with pytest.raises(ValueError, match=r".+"):
        desk.source.make(rows["bad"])
    assert desk.source.make(rows["good"]).trigger == Interval(60)


def test_a_read_that_fails_raises(desk: Desk) -> None:
    """A failed read that became "no schedules" would stop all of them."""
    desk.put("a")
    desk.break_down()
    read: Callable[[], list[Row]] = lambda: list(desk.source.snapshot())  # noqa: E731
    with pytest.raises(EverdueError):
        read()


def test_no_source_here_pretends_to_have_a_feed(desk: Desk) -> None:
    """The scheduler asks; a feed that never reports anything would hide every edit until the next snapshot."""
    assert not isinstance(desk.source, ChangeFeed)
