"""`make demo`: the real stack on this machine, a dozen schedules, and what arrives, checked by arithmetic.

`DEMO_SECONDS=120` ends by itself after that time; without it, Ctrl-C ends it. Either way nothing keeps running.
"""

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime

from infra.local.deploy import DeployFailed
from infra.local.environment import REGION
from infra.local.expected import MICRO, Verdict, judge
from infra.local.items import now_us
from infra.local.ministack import EmulatorFailed
from infra.local.put import RUNNING
from infra.local.showcase import Showcase
from infra.local.stack import LocalStack, local_stack
from infra.local.watch import Arrival, Watcher, percentile

EDIT_AFTER, DELETE_AFTER = 30.0, 45.0
SETTLE_SECONDS = 2.0
LINE_SECONDS = 5.0
MINUTE_US = 60 * MICRO


def main() -> int:
    """Run the demo. Returns the exit code: 0 when everything arrived as it should."""
    seconds = _seconds()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by a script as cleanly as by Ctrl-C
    print("everdue demo: starting MiniStack, then the real `sam build` and `sam deploy` against it.\n", flush=True)
    try:
        with local_stack("demo") as stack:
            return _Demo(stack, seconds).run()
    except KeyboardInterrupt:
        print("\nstopped before there was anything to show; nothing keeps running")
        return 0
    except (EmulatorFailed, DeployFailed) as error:
        print(f"\nthe demo could not start: {error}", file=sys.stderr)
        return 1


class _Demo:
    def __init__(self, stack: LocalStack, seconds: float | None) -> None:
        self._stack = stack
        self._seconds = seconds
        self._showcase = Showcase(stack.deployment)
        self._printing = threading.Lock()
        self._watcher = Watcher(stack.deployment.sqs, stack.deployment["QueueUrl"], self._show)
        self._began_us = 0
        self._leads_from_us: int | None = None

    def run(self) -> int:
        deployment = self._stack.deployment
        RUNNING.write_text(json.dumps({"endpoint": deployment.endpoint, "table": deployment["SchedulesTable"]}))
        try:
            return self._run()
        finally:
            if RUNNING.exists() and deployment.endpoint in RUNNING.read_text():  # else another demo's
                RUNNING.unlink()

    def _run(self) -> int:
        deployment = self._stack.deployment
        count = self._showcase.write()
        self._watcher.start()
        self._began_us = now_us()
        self._introduce(count)
        # The trigger fires at the next minute; the demo does not make you wait for it.
        deployment.functions.invoke(FunctionName=deployment["TickFunction"], InvocationType="Event", Payload=b"{}")
        try:
            self._pass_the_time()
        except KeyboardInterrupt:
            print("\nstopping", flush=True)
        ended_us = now_us()
        time.sleep(SETTLE_SECONDS)  # what fell due last is still on its way
        self._watcher.stop()
        return self._sum_up(ended_us)

    def _introduce(self, count: int) -> None:
        deployment, log = self._stack.deployment, self._stack.emulator.log
        until = f"for {self._seconds:g} s" if self._seconds is not None else "until Ctrl-C"
        python = os.path.relpath(sys.executable)
        print(f"""
{count} schedules are written; occurrences follow {until}, as they arrive in the queue.
Lateness is from the moment a run was due to the moment the queue took it (its SentTimestamp).
The function's log is in {os.path.relpath(log)}.

Write a schedule of your own in another terminal, from this folder, and see it fire here. The tick reads the table
every 10 s: what falls due before it has read yours is late, the rest is on its second. Refusals are in the log.

    {python} -m infra.local.put '{{"id": "mine", "every": 3, "payload": {{"hello": "world"}}}}'
    {python} -m infra.local.put --delete mine

or with the AWS CLI:

    AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test aws --region {REGION} --endpoint-url {deployment.endpoint} \\
        dynamodb put-item --table-name {deployment["SchedulesTable"]} \\
        --item '{{"id": {{"S": "mine"}}, "cron": {{"S": "* * * * *"}}}}'

due (UTC)        lateness  schedule
""", flush=True)  # fmt: skip

    def _pass_the_time(self) -> None:
        began = time.monotonic()
        length = float("inf") if self._seconds is None else self._seconds
        plan = [
            (min(EDIT_AFTER, 0.4 * length), self._showcase.edit, "edited `edited-while-it-runs`: every 6 s, not 4"),
            (min(DELETE_AFTER, 0.6 * length), self._showcase.delete, "deleted `deleted-while-it-runs`"),
        ]
        line_at = LINE_SECONDS
        while (passed := time.monotonic() - began) < length:
            self._look_for_the_claim()
            if plan and passed >= plan[0][0]:
                _, act, words = plan.pop(0)
                act()
                self._say(f"---- {words}; a running tick sees it within 10 s")
            if passed >= line_at:
                line_at += LINE_SECONDS
                self._say(self._running_line())
            time.sleep(min(0.1, max(0.0, length - passed)))

    def _look_for_the_claim(self) -> None:
        """Find out from which moment on runs are owed: a scheduler that never ran starts with its first claim."""
        if self._leads_from_us is None:
            deployment = self._stack.deployment
            claims = deployment.dynamodb.scan(TableName=deployment["ClaimsTable"], ConsistentRead=True)["Items"]
            if claims and "covered_until" in claims[0]:
                self._leads_from_us = int(claims[0]["covered_until"]["N"])

    def _show(self, arrival: Arrival) -> None:
        due = datetime.fromtimestamp(arrival.due_us / MICRO, UTC)
        data = "" if arrival.data is None else f"  {json.dumps(arrival.data, ensure_ascii=False)}"
        self._say(f"{due:%H:%M:%S.%f}  {arrival.lateness_seconds:+7.3f} s  {arrival.schedule}{data}")

    def _say(self, line: str) -> None:
        with self._printing:
            print(line, flush=True)

    def _running_line(self) -> str:
        lateness = [arrival.lateness_seconds for arrival in self._on_time()]
        p50, p99 = percentile(lateness, 0.5), percentile(lateness, 0.99)
        return f"---- {len(self._watcher.arrivals)} arrived; lateness p50 {p50 * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms"

    def _on_time(self, from_us: int = 0) -> list[Arrival]:
        """What arrived, without runs that fell due before the scheduler could know of them."""
        ready_us = max(from_us, self._owed_from_us())
        return [
            arrival
            for arrival in list(self._watcher.arrivals)
            if arrival.due_us >= ready_us
            and not self._showcase.is_late_by_design(arrival.schedule, arrival.due_us)
            and arrival.schedule in self._showcase.ids  # one of yours may be late too: seen at the next sync
        ]

    def _owed_from_us(self) -> int:
        return now_us() if self._leads_from_us is None else self._leads_from_us

    def _sum_up(self, ended_us: int) -> int:
        arrivals = self._watcher.arrivals
        low_us = self._owed_from_us()
        received = [(arrival.key, arrival.message_id) for arrival in arrivals]
        verdict = judge(self._showcase.series, self._showcase.ids, received, low_us, ended_us)
        first_minute_us = -(-self._began_us // MINUTE_US) * MINUTE_US
        after_us = first_minute_us + MINUTE_US
        which = "due after the first full minute"
        if not self._on_time(after_us):
            after_us, which = low_us, "due since the first claim (the run was too short for a full minute)"
        print("\nsummary")
        counts = Counter(arrival.schedule for arrival in arrivals)
        for schedule in sorted(self._showcase.ids | counts.keys()):
            own = "" if schedule in self._showcase.ids else "  (yours)"
            print(f"  {counts[schedule]:5d}  {schedule}{own}")
        _print_lateness("of all", self._on_time())
        _print_lateness(f"of those {which}", self._on_time(after_us))
        _print_verdict(verdict)
        if self._leads_from_us is None:
            print("  the tick never took the claim: look at its log")
        return 0 if verdict.holds and self._leads_from_us is not None else 1


def _print_lateness(which: str, arrivals: list[Arrival]) -> None:
    lateness = [arrival.lateness_seconds * 1e3 for arrival in arrivals]
    print(
        f"  lateness {which}: {len(lateness)} occurrences, p50 {percentile(lateness, 0.5):.0f} ms, "
        f"p99 {percentile(lateness, 0.99):.0f} ms, at most {max(lateness, default=0):.0f} ms"
    )


def _print_verdict(verdict: Verdict) -> None:
    print(
        f"  against the list made by arithmetic: {verdict.expected} expected, {len(verdict.missing)} missing, "
        f"{len(verdict.doubled)} doubled, {len(verdict.unexpected)} unexpected"
    )
    for word in ("missing", "doubled", "unexpected"):
        for key in getattr(verdict, word)[:10]:
            print(f"    {word}: {key}")


def _seconds() -> float | None:
    text = os.environ.get("DEMO_SECONDS", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SystemExit(f"DEMO_SECONDS is {text!r}: it must be a number of seconds above 0, or unset")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
