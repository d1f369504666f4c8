"""Offsets are `zoneinfo`'s at every moment, and the zones with unusual rules behave as their laws say."""

import random
import zoneinfo
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everdue import Cron
from everdue.core.errors import TriggerRefused
from everdue.core.triggers import zone_file
from everdue.core.triggers.zone import MAX_S, MIN_S, Zone, zone
from everdue.core.triggers.zone_file import read_zone, zone_bytes, zone_database

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = sorted(zoneinfo.available_timezones() - {"localtime"})
YEARS = (1900, 1942, 2026, 2037, 2038, 2100, 2399, 9997)
EDGE_S = 2 * 86_400  # nearer to year 1 and 9999 the local time is not representable
MINUTE = timedelta(minutes=1)


def _probes(place: Zone, rng: random.Random) -> list[int]:
    """Moments around every change of the given years, and some at random over all years."""
    probes = [rng.randrange(MIN_S + EDGE_S, MAX_S - EDGE_S) for _ in range(20)]
    for year in YEARS:
        second = int((datetime(year, 1, 1, tzinfo=UTC) - EPOCH).total_seconds())
        end = second + 366 * 86_400
        while second < end:
            span = place.span_at(second)
            probes += [span.start - 1, span.start, span.end - 1, span.end]
            second = span.end
    return [probe for probe in probes if MIN_S + EDGE_S < probe < MAX_S - EDGE_S]


def test_offsets_are_those_of_zoneinfo_in_every_zone() -> None:
    """Every answer rests on them: the listed changes, the rule of the years after, and the edges of both."""
    rng = random.Random(20261201)
    for name in NAMES:
        place, info = zone(name), zoneinfo.ZoneInfo(name)
        for second in _probes(place, rng):
            moment = EPOCH + timedelta(seconds=second)
            offset = moment.astimezone(info).replace(tzinfo=UTC) - moment
            span = place.span_at(second)
            assert timedelta(seconds=span.offset) == offset, (name, moment)
            assert span.start <= second < span.end


def test_every_span_is_longer_than_the_jump_that_begins_it() -> None:
    """Which local times already happened is read off one span back; a shorter span would hide an earlier one."""
    for name in NAMES:
        data = read_zone(zone_bytes(name) or b"")
        offsets = [data.before, *(offset for _, offset in data.changes)]
        moments = [moment for moment, _ in data.changes]
        for at in range(1, len(moments)):
            assert moments[at] - moments[at - 1] > abs(offsets[at] - offsets[at - 1]), name
            assert moments[at] - moments[at - 1] > 86_400, name


LAWS = [
    # zone, expression, from, days, expected UTC runs: the laws as their gazettes state them, worked out by hand
    ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00+00:00", 2, ["2026-10-03T15:30", "2026-10-04T15:15"]),
    ("Australia/Lord_Howe", "45 1 * * *", "2026-04-03T20:00+00:00", 1, ["2026-04-04T14:45"]),
    (
        "Pacific/Apia",
        "0 12 * * *",
        "2011-12-29T00:00+00:00",
        2,
        ["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"],
    ),
    ("Pacific/Apia", "0 12 30 * *", "2011-12-29T00:00+00:00", 3, ["2011-12-30T10:00"]),
    ("Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00+00:00", 2, ["2026-02-15T01:30", "2026-02-16T02:30"]),
    ("Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00+00:00", 2, ["2026-03-22T02:00", "2026-03-23T01:30"]),
    ("Antarctica/Troll", "30 1 * * *", "2026-03-28T12:00+00:00", 2, ["2026-03-29T01:00", "2026-03-29T23:30"]),
    ("Asia/Kathmandu", "0 0 * * *", "2026-12-01T00:00+00:00", 1, ["2026-12-01T18:15"]),
    ("Europe/Dublin", "30 1 * * *", "2026-10-24T12:00+00:00", 2, ["2026-10-25T00:30", "2026-10-26T01:30"]),
    ("Europe/Dublin", "30 1 * * *", "2026-03-28T12:00+00:00", 2, ["2026-03-29T01:00", "2026-03-30T00:30"]),
]


@pytest.mark.parametrize(("name", "expression", "start", "days", "expected"), LAWS)
def test_unusual_clocks_move_runs_as_the_law_says(
    name: str, expression: str, start: str, days: int, expected: list[str]
) -> None:
    """Half an hour, a whole day, two hours, 5:45 and negative daylight saving: where whole-hour thinking fails."""
    begin = datetime.fromisoformat(start)
    found = Cron(expression, name).occurrences_between(begin, begin + timedelta(days=days))
    assert found == [datetime.fromisoformat(f"{text}+00:00") for text in expected]


NO_ZONES: list[object] = [
    *("", "Europe/Berln", "europe/berlin", "../etc/passwd", "/etc/passwd", "right/Europe/Berlin", "posixrules"),
    *("localtime", "leapseconds", "tzdata.zi", "Europe", "Europe/Berlin\x00", "A" * 10_000, "+01:00", "Europe//Berlin"),
    *(None, 5, ["UTC"]),
]


@pytest.mark.parametrize("name", NO_ZONES)
def test_what_is_no_iana_zone_is_refused_by_name(name: object) -> None:
    """A zone that is guessed at, or differs between machines, sends runs at another hour than was meant."""
    with pytest.raises(TriggerRefused, match="timezone"):
        Cron("0 4 * * *", name)  # type: ignore[arg-type]


def test_without_system_zones_the_tzdata_package_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small container images have no zone directory; the package is then the database, and its version is told."""
    import tzdata

    assert "/" in zone_database() or "tzdata package" in zone_database()
    monkeypatch.setattr(zoneinfo, "TZPATH", ())
    assert zone_database() == f"{tzdata.IANA_VERSION} in the tzdata package"
    assert read_zone(zone_file.zone_bytes("Europe/Berlin") or b"").after.starts is not None
    assert zone_file.zone_bytes("Europe/Berln") is None


def test_a_broken_zone_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A truncated file must not become a zone at offset 0."""
    (tmp_path / "Broken").write_bytes((zone_bytes("Europe/Berlin") or b"")[:200])
    (tmp_path / "Empty").write_bytes(b"")
    monkeypatch.setattr(zoneinfo, "TZPATH", (str(tmp_path),))
    for name in ("Broken", "Empty"):
        with pytest.raises(TriggerRefused, match="timezone"):
            Cron("0 4 * * *", name)
