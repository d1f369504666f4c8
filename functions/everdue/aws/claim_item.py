"""The claim as a DynamoDB item: moments are integer Unix microseconds, and what is None is absent."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from everdue.core.claim import Claim, Milestone
from everdue.core.errors import ClaimMalformed, ClaimTooNew
from everdue.core.moment import from_us, to_us

SCHEMA = 1
"""The shape of the record. Raised when older code could misread what newer code writes."""

Item = Mapping[str, Mapping[str, Any]]


def claim_item(name: str, claim: Claim, *, revision: int, nonce: str) -> dict[str, Any]:
    """The item of a claim."""
    item: dict[str, Any] = {
        "name": {"S": name},
        "token": {"S": claim.token},
        "expires_at": {"N": str(to_us(claim.expires_at))},
        "revision": {"N": str(revision)},
        "nonce": {"S": nonce},
        "schema": {"N": str(SCHEMA)},
    }
    if claim.covered_until is not None:
        item["covered_until"] = {"N": str(to_us(claim.covered_until))}
    if claim.synced_until is not None:
        item["synced_until"] = {"N": str(to_us(claim.synced_until))}
    if claim.position is not None:
        item["position"] = {"S": claim.position}
    return item


def claim_of(item: Item) -> Claim:
    """The claim that an item states.

    Raises:
        ClaimTooNew: its schema number is above `SCHEMA`.
        ClaimMalformed: an attribute is missing or of the wrong type. Guessing a watermark would lose or repeat runs.
    """
    _check_schema(item)
    expires_at = _datetime(item, "expires_at")
    revision = _whole(item, "revision")
    token = item.get("token", {}).get("S")
    if expires_at is None or revision is None or revision < 1 or not isinstance(token, str):
        raise _malformed(item, "it needs token (S), expires_at (N) and revision (N, 1 or more)")
    position = item.get("position")
    if position is not None and not isinstance(position.get("S"), str):
        raise _malformed(item, "position is not a string (S)")
    return Claim(
        token=token,
        expires_at=expires_at,
        covered_until=_datetime(item, "covered_until"),
        synced_until=_datetime(item, "synced_until"),
        revision=revision,
        position=None if position is None else position["S"],
    )


def milestone_item(milestone: Milestone) -> dict[str, Any]:
    """The attributes of a milestone beside its key. No `expires_at`: the runs table's TTL must never take it."""
    item: dict[str, Any] = {"schema": {"N": str(SCHEMA)}, "covered_until": {"N": str(to_us(milestone.covered_until))}}
    if milestone.synced_until is not None:
        item["synced_until"] = {"N": str(to_us(milestone.synced_until))}
    return item


def milestone_of(item: Item) -> Milestone:
    """The milestone that an item states. Raises ClaimTooNew and ClaimMalformed, as `claim_of` does."""
    _check_schema(item)
    covered_until = _datetime(item, "covered_until")
    if covered_until is None:
        raise _malformed(item, "it needs covered_until (N)")
    return Milestone(covered_until, _datetime(item, "synced_until"))


def _check_schema(item: Item) -> None:
    schema = _whole(item, "schema")
    if schema is None or schema < 1:
        raise _malformed(item, "it has no schema number (N, 1 or more)")
    if schema > SCHEMA:
        raise ClaimTooNew(f"claim {_name(item)} has schema {schema}, this code knows up to {SCHEMA}: newer code leads")


def _whole(item: Item, attribute: str) -> int | None:
    """An integer attribute; None when absent."""
    value = item.get(attribute)
    if value is None:
        return None
    try:
        return int(value["N"])
    except (KeyError, TypeError, ValueError):
        raise _malformed(item, f"{attribute} is not a whole number (N)") from None


def _datetime(item: Item, attribute: str) -> datetime | None:
    us = _whole(item, attribute)
    try:
        return None if us is None else from_us(us)
    except OverflowError:
        raise _malformed(item, f"{attribute} is no moment between the years 1 and 9999") from None


def _malformed(item: Item, wrong: str) -> ClaimMalformed:
    return ClaimMalformed(f"claim {_name(item)} is malformed: {wrong}. It is left as it is; mend or delete it by hand")


def _name(item: Item) -> str:
    return repr((item.get("name") or item.get("schedule") or {}).get("S", "?"))
