"""Shards: which claim a schedule belongs to."""

import hashlib


def shard_of(id: str, shard_count: int) -> int:  # noqa: A002 - `id` is the attribute's name everywhere
    """The shard of schedule `id`, from 0 to `shard_count - 1`: the first 8 bytes of the SHA-256 of its UTF-8, big
    endian, modulo the count.

    Python's own `hash` differs from process to process: two of them would both run a schedule, or neither.

    Raises:
        ValueError: there is no shard to choose from.
    """
    if shard_count < 1:
        raise ValueError(f"shard_count {shard_count!r} is not positive: 1 or more")
    if shard_count == 1:
        return 0
    return int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shard_count
