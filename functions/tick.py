"""Lambda: EventBridge Scheduler, every minute -> one cycle -> SQS FIFO. The event may carry `{"shard": n}`."""

from typing import Any

from everdue.aws import wiring


def lambda_handler(event: Any, context: Any) -> dict[str, Any]:
    """Lead until the next minute's invocation takes over, and say what was done."""
    deadline = wiring.deadline_after(context.get_remaining_time_in_millis() / 1_000)
    settings = wiring.settings()
    shard = wiring.shard_of(event, settings)
    try:
        return wiring.tick_for(settings, shard).run(deadline)
    except wiring.EXPECTED:
        raise  # what this process knows is sound, and a cold one would not know it
    except Exception:
        wiring.forget(settings, shard)
        raise
