"""What every claim store promises: one record, replaced by compare-and-swap on its revision."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from everdue.aws.claim_dynamodb import DynamoClaimStore
from everdue.core.claim import Claim, ClaimStore, Milestone, MilestoneStore
from everdue.testing import MemoryClaimStore

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
CLAIM = Claim("a", NOON + timedelta(seconds=62), NOON, NOON)
RIVAL = "b"


@pytest.fixture
def store(backend: str, request: pytest.FixtureRequest) -> Any:
    """A store that holds nothing yet."""
    if backend == "memory":
        return MemoryClaimStore()
    tables = request.getfixturevalue("tables")
    return DynamoClaimStore(tables.client, tables.claims, tables.runs)


def test_there_is_no_claim_before_the_first(store: ClaimStore) -> None:
    """None is what a first run ever looks like."""
    assert store.load() is None


def test_the_first_claim_has_revision_one(store: ClaimStore) -> None:
    """Whatever revision the caller's own value carries."""
    assert store.swap(None, replace(CLAIM, revision=17))
    assert store.load() == replace(CLAIM, revision=1)


@pytest.mark.parametrize(
    "claim",
    [
        CLAIM,
        Claim("", NOON),
        Claim("name ⏰ \n", NOON + timedelta(microseconds=1), NOON - timedelta(microseconds=1), None, position="p"),
        Claim("x", datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), NOON),
        Claim("x", NOON.astimezone(None), NOON, NOON, position='{"shard": "1"}'),
    ],
)
def test_a_claim_comes_back_as_it_was_stored(store: ClaimStore, claim: Claim) -> None:
    """To the microsecond: a watermark that is rounded up loses the run in between."""
    assert store.swap(None, claim)
    assert store.load() == replace(claim, revision=1)


def test_every_swap_raises_the_revision_by_one(store: ClaimStore) -> None:
    """The revision is the fence; see the contract, section 3."""
    for revision in range(1, 5):
        assert store.swap(store.load(), CLAIM)
        loaded = store.load()
        assert loaded is not None
        assert loaded.revision == revision


def test_a_swap_from_an_older_revision_writes_nothing(store: ClaimStore) -> None:
    """A deposed holder's commit must not rewind the watermark."""
    store.swap(None, CLAIM)
    first = store.load()
    assert store.swap(first, replace(CLAIM, token=RIVAL, covered_until=NOON + timedelta(minutes=3)))
    second = store.load()
    assert store.swap(first, replace(CLAIM, token=CLAIM.token)) is False
    assert store.load() == second


def test_a_swap_is_fenced_by_revision_and_not_by_name(store: ClaimStore) -> None:
    """Released, taken and released again, the claim looks the same but for its revision (W11); so do two processes
    that share a token (W10)."""
    store.swap(None, replace(CLAIM, token=""))
    read = store.load()
    assert store.swap(read, replace(CLAIM, token=RIVAL))
    assert store.swap(store.load(), replace(CLAIM, token="", covered_until=NOON + timedelta(minutes=3)))
    assert store.swap(read, replace(CLAIM, token="", covered_until=NOON)) is False
    loaded = store.load()
    assert loaded is not None
    assert loaded.covered_until == NOON + timedelta(minutes=3)


def test_a_swap_from_nothing_writes_only_where_nothing_is(store: ClaimStore) -> None:
    """Of two first runs, one is the first."""
    assert store.swap(None, CLAIM)
    assert store.swap(None, replace(CLAIM, token=RIVAL)) is False
    loaded = store.load()
    assert loaded is not None
    assert loaded.token == CLAIM.token


def test_a_swap_from_a_claim_that_is_gone_writes_nothing(backend: str, request: pytest.FixtureRequest) -> None:
    """A lost claim resumes from the milestone, not from what one process remembers."""
    store = request.getfixturevalue("store")
    store.swap(None, CLAIM)
    read = store.load()
    if backend == "memory":
        store.lose()
    else:
        tables = request.getfixturevalue("tables")
        tables.client.delete_item(TableName=tables.claims, Key={"name": {"S": store.name}})
    assert store.swap(read, CLAIM) is False
    assert store.load() is None


def test_of_many_at_once_one_wins(store: ClaimStore) -> None:
    """Leadership is decided in the store alone."""
    store.swap(None, CLAIM)
    read = store.load()
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda n: store.swap(read, replace(CLAIM, token=f"t{n}")), range(8)))
    assert won.count(True) == 1
    loaded = store.load()
    assert loaded is not None
    assert loaded.token == f"t{won.index(True)}"
    assert loaded.revision == 2


def test_a_shard_that_never_ran_has_no_milestone(store: MilestoneStore) -> None:
    """That is how a first run ever is told from a lost claim."""
    assert isinstance(store, MilestoneStore)
    assert store.load_milestone() is None


@pytest.mark.parametrize("synced", [None, NOON - timedelta(microseconds=1)])
def test_the_last_milestone_is_kept(store: MilestoneStore, synced: datetime | None) -> None:
    """Rule 14, to the microsecond."""
    store.save_milestone(Milestone(NOON - timedelta(hours=1)))
    store.save_milestone(Milestone(NOON + timedelta(microseconds=1), synced))
    assert store.load_milestone() == Milestone(NOON + timedelta(microseconds=1), synced)


def test_claim_and_milestone_do_not_touch_each_other(store: Any) -> None:
    """Two records: losing one must not lose the other."""
    store.save_milestone(Milestone(NOON))
    assert store.load() is None
    store.swap(None, CLAIM)
    assert store.load_milestone() == Milestone(NOON)
