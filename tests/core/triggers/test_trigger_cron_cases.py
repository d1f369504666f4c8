"""The published cases: 501 of other schedulers' suites, with their answers under each `gap` and `fold`."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from everdue import Cron
from everdue.core.errors import TriggerRefused
from everdue.core.moment import from_us, to_us

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "fixtures" / "cron_cases.jsonl").read_text("utf-8").splitlines()
]
REFUSED = [case for case in CASES if case.get("invalid") or case.get("never")]
ANSWERED = [case for case in CASES if "expect" in case]
POLICIES = [(gap, fold) for gap in ("run", "skip") for fold in ("once", "twice")]


def test_every_published_case_is_tried() -> None:
    """A case that matches neither list would pass by not being looked at."""
    assert len(CASES) == 501
    assert len(REFUSED) + len(ANSWERED) == 501


@pytest.mark.parametrize("case", REFUSED, ids=[case["id"] for case in REFUSED])
def test_what_the_suites_refuse_is_refused(case: dict[str, Any]) -> None:
    """An expression that is accepted by mistake runs at moments nobody meant, and one that never matches, never."""
    with pytest.raises(TriggerRefused):
        Cron(case["expr"], case["tz"])


@pytest.mark.parametrize("case", ANSWERED, ids=[case["id"] for case in ANSWERED])
def test_published_answers_hold_under_every_gap_and_fold(case: dict[str, Any]) -> None:
    """`expect` is the answer of every setting that `options` does not name; windows and steps must agree on it."""
    start = datetime.fromisoformat(case["start"])
    for gap, fold in POLICIES:
        texts = case.get("options", {}).get(f"gap={gap},fold={fold}", case["expect"])
        expected = [datetime.fromisoformat(text).astimezone(UTC) for text in texts]
        trigger = Cron(case["expr"], case["tz"], gap=gap, fold=fold)
        end = expected[-1] + timedelta(microseconds=1)
        assert trigger.occurrences_between(start, end) == expected, (gap, fold)
        stepped, at_us = [], to_us(start)
        for _ in expected:
            due = trigger.next_us(at_us)
            assert due is not None
            stepped.append(from_us(due))
            at_us = due + 1
        assert stepped == expected, (gap, fold)
