"""The only place that builds: settings -> clients -> adapters -> scheduler -> one invocation of the tick.

Nothing is built at import, and everything once a process: a warm Lambda environment keeps its connections and its view.
"""

import threading
from datetime import datetime, timedelta
from typing import Any

from everdue.aws.claim_dynamodb import DynamoClaimStore
from everdue.aws.clients import Clients
from everdue.aws.dispatcher_sqs import SqsDispatcher
from everdue.aws.settings import Settings
from everdue.aws.skip_log_dynamodb import DynamoSkipLog
from everdue.aws.source_dynamodb import DynamoSource
from everdue.core.clock import SystemClock
from everdue.core.errors import EverdueError, SettingsRefused
from everdue.core.invocation import Invocation, Summary
from everdue.core.scheduler import Scheduler
from everdue.core.triggers.zone_file import zone_database
from everdue.observe import FAILED, LED, STARTED, STOOD_DOWN, EmfMetrics, LoggedSkips, log_error, logger
from everdue.version import VERSION

EXPECTED = EverdueError
"""Failures that are everdue's own words: a queue that is down, a claim that can't be written."""


class Tick:
    """One shard's tick: a scheduler that outlives invocations, and what it is wired to."""

    def __init__(self, settings: Settings, shard: int, clients: Clients) -> None:
        self._settings = settings
        self._shard = shard
        self._clock = SystemClock()
        self._metrics = EmfMetrics(settings.stack)
        count = settings.shard_count
        # In cheap mode a run may wait a whole minute for its tick, and must not count as missed for that.
        tick_seconds = 1 if settings.lead_seconds else 60
        # The token is drawn here, on first use and not at import: environments restored from one snapshot share those.
        self._scheduler = Scheduler(
            DynamoSource(
                clients.dynamodb,
                settings.schedules_table,
                shard=shard,
                shard_count=count,
                recover_seconds_min=2 * tick_seconds,
            ),
            DynamoClaimStore(
                clients.dynamodb, settings.claims_table, settings.runs_table, shard=shard, shard_count=count
            ),
            tick_seconds=tick_seconds,
            sync_seconds=settings.sync_seconds,
            lead_seconds=settings.lead_seconds,
            snapshot_seconds=settings.snapshot_seconds,
            recover_seconds=settings.recover_seconds,
            horizon_seconds=settings.horizon_seconds,
            clock=self._clock,
            metrics=self._metrics,
            on_error=log_error,
            skip_log=LoggedSkips(DynamoSkipLog(clients.dynamodb, settings.runs_table)),
        )
        logger().info(STARTED, extra={"shard": shard, "everdue": VERSION, "time_zones": zone_database()})
        self._dispatcher = SqsDispatcher(clients.sqs, settings.queue_url, stack=settings.stack)

    def run(self, deadline: datetime) -> dict[str, Any]:
        """One invocation, which is killed at `deadline`. Returns its summary, for JSON."""
        try:
            summary = Invocation(
                self._scheduler, self._dispatcher.dispatch, lead_seconds=self._settings.lead_seconds, deadline=deadline
            ).run()
        except Exception as error:
            log_error(error, FAILED)
            raise
        finally:
            self._metrics.flush()
        result = {"shard": self._shard, **_plain(summary)}
        logger().info(LED if summary.leader else STOOD_DOWN, extra=result)
        return result


_ticks: dict[tuple[Settings, int], Tick] = {}
_clients: list[Clients] = []
_building = threading.Lock()


def deadline_after(remaining_seconds: float) -> datetime:
    """The moment at which an invocation with so much time left is killed. Ask first thing: building takes time too."""
    return SystemClock().now() + timedelta(seconds=remaining_seconds)


def settings() -> Settings:
    """The settings that the environment states. Raises SettingsRefused before any call to a service."""
    return Settings.from_env()


def shard_of(event: Any, settings: Settings) -> int:
    """The shard that an event asks for: `{"shard": n}`, or nothing where there is but one.

    Raises:
        SettingsRefused: it is no shard of this stack.
    """
    shard = event.get("shard") if isinstance(event, dict) else None
    if shard is None and settings.shard_count == 1:
        return 0
    if not isinstance(shard, int) or isinstance(shard, bool) or not 0 <= shard < settings.shard_count:
        most = settings.shard_count - 1
        raise SettingsRefused(f"the event asks for shard {shard!r:.80}: it must be a whole number from 0 to {most}")
    return shard


def tick_for(settings: Settings, shard: int) -> Tick:
    """The tick of a shard, built on first use and then kept."""
    with _building:
        if (settings, shard) not in _ticks:
            if not _clients:
                _clients.append(Clients())
            _ticks[settings, shard] = Tick(settings, shard, _clients[0])
        return _ticks[settings, shard]


def forget(settings: Settings, shard: int) -> None:
    """Build the tick of a shard anew next time: whatever an invocation that failed left in memory goes with it."""
    with _building:
        _ticks.pop((settings, shard), None)


def _plain(summary: Summary) -> dict[str, Any]:
    window = None
    if summary.start is not None and summary.end is not None:
        window = {"start": summary.start.isoformat(), "end": summary.end.isoformat()}
    return {
        "leader": summary.leader,
        "window": window,
        "dispatched": summary.dispatched,
        "skipped": summary.skipped,
        "schedules": summary.schedules,
        "handed_over": summary.handed_over,
        "waited_seconds": round(summary.waited_seconds, 3),
    }
