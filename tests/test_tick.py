"""The tick's handler: nothing at import, settings before services, an event that is checked, a summary for people."""

import json
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from everdue import observe
from everdue.aws import wiring
from everdue.core.errors import DispatchFailed, SettingsRefused

FUNCTIONS = Path(__file__).parents[1] / "functions"
CONTEXT = SimpleNamespace(get_remaining_time_in_millis=lambda: 20_000)

IMPORT_ALONE = """
import os
os.environ.clear()
read = os.environ.__class__.__getitem__
touched = []
def spy(self, name):
    touched.append(name)
    return read(self, name)
os.environ.__class__.__getitem__ = spy
import boto3, botocore.session
made = []
boto3.session.Session.client = lambda *args, **kwargs: made.append(args)
import secrets
secrets.token_hex = secrets.token_bytes = lambda *args: made.append("random")
import tick
print(made, [name for name in touched if name.startswith("EVERDUE")])
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Any:
    """No test may reach an account, nor find what another one left in the process."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setattr(wiring, "_ticks", {})
    monkeypatch.setattr(wiring, "_clients", [])
    monkeypatch.setattr(observe, "SERVICE", f"everdue-{uuid.uuid4()}")  # a logger keeps the standard output it found
    observe.logger.cache_clear()
    yield
    observe.logger.cache_clear()


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Tables and queue on moto, and the environment that names them; in cheap mode."""
    with mock_aws():
        dynamodb, sqs = boto3.client("dynamodb"), boto3.client("sqs")
        for name, keys in (
            ("schedules", (("id", "S", "HASH"),)),
            ("claims", (("name", "S", "HASH"),)),
            ("runs", (("schedule", "S", "HASH"), ("due", "N", "RANGE"))),
        ):
            dynamodb.create_table(
                TableName=name,
                KeySchema=[{"AttributeName": key, "KeyType": role} for key, _, role in keys],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind} for key, kind, _ in keys],
                BillingMode="PAY_PER_REQUEST",
            )
        queue_url = sqs.create_queue(QueueName="q.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        for name, value in {
            "SCHEDULES_TABLE": "schedules",
            "CLAIMS_TABLE": "claims",
            "RUNS_TABLE": "runs",
            "QUEUE_URL": queue_url,
            "STREAM_ARN": "arn:aws:dynamodb:us-east-1:123456789012:table/schedules/stream/2026-12-01T00:00:00.000",
            "SHARD_COUNT": "1",
            "LEAD_SECONDS": "0",
            "SYNC_SECONDS": "10",
            "SNAPSHOT_SECONDS": "3600",
            "RECOVER_SECONDS": "300",
            "HORIZON_SECONDS": "86400",
            "STACK": "a-stack",
        }.items():
            monkeypatch.setenv(f"EVERDUE_{name}", value)
        yield SimpleNamespace(dynamodb=dynamodb, sqs=sqs, queue_url=queue_url)


def handle(event: Any) -> dict[str, Any]:
    """Invoke the handler as Lambda does."""
    import tick

    return tick.lambda_handler(event, CONTEXT)


def test_importing_makes_no_client_reads_no_setting_and_draws_nothing_random() -> None:
    """A failing import fails every invocation, and environments restored from one snapshot share what it made."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", IMPORT_ALONE], cwd=FUNCTIONS, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] []", done.stdout + done.stderr


@pytest.mark.parametrize("event", [{}, {"shard": 0}, None, {"time": "2026-12-01T00:00:00Z"}])
def test_a_tick_answers_with_a_json_summary(stack: Any, event: Any) -> None:
    """It is what one sees when one invokes it by hand."""
    summary = handle(event)
    assert json.loads(json.dumps(summary)) == summary
    assert summary["leader"] is True
    assert summary["shard"] == 0
    assert {"window", "dispatched", "skipped", "schedules"} <= summary.keys()


@pytest.mark.parametrize("shard", [1, -1, "0", True, 0.0, [], "x" * 10_000])
def test_a_shard_that_is_none_of_the_stacks_is_refused(stack: Any, shard: Any) -> None:
    """Covering shard 1 of 1 would be a claim beside the real one."""
    with pytest.raises(SettingsRefused, match="shard") as refused:
        handle({"shard": shard})
    assert len(str(refused.value)) < 300
    assert stack.dynamodb.scan(TableName="claims")["Items"] == []


def test_with_several_shards_an_event_without_one_is_refused(stack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guessing shard 0 would leave the others uncovered, silently."""
    monkeypatch.setenv("EVERDUE_SHARD_COUNT", "2")
    with pytest.raises(SettingsRefused, match="0 to 1"):
        handle({})


def test_a_missing_setting_is_named_before_any_call(stack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a tick on half the settings could cover what it does not know."""
    monkeypatch.delenv("EVERDUE_HORIZON_SECONDS")
    with pytest.raises(SettingsRefused, match="EVERDUE_HORIZON_SECONDS"):
        handle({})
    assert stack.dynamodb.scan(TableName="claims")["Items"] == []


def test_a_warm_environment_keeps_its_tick_until_something_unforeseen_happens(
    stack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections and the view are worth keeping, above all the view: a cold process could not tell what is new. Only
    what an error of ours left in memory is not.
    """
    error: Exception = DispatchFailed("the queue is down")
    handle({})
    (kept,) = wiring._ticks.values()
    handle({})
    assert list(wiring._ticks.values()) == [kept]

    def fail(deadline: Any) -> None:
        raise error

    monkeypatch.setattr(kept, "run", fail)
    with pytest.raises(DispatchFailed):
        handle({})
    assert list(wiring._ticks.values()) == [kept]
    error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        handle({})
    assert wiring._ticks == {}


def test_measurements_are_written_also_when_the_tick_fails(
    stack: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that is not counted raises no alarm."""
    stack.dynamodb.put_item(TableName="claims", Item={"name": {"S": "tick#0/1"}, "token": {"S": "no claim"}})
    with pytest.raises(Exception, match="claim"):
        handle({})
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert any("error.total" in line for line in written)
    assert any(line.get("message") == "tick failed" and line["level"] == "ERROR" for line in written)


def test_a_run_that_is_due_reaches_the_queue(stack: Any) -> None:
    """Through every adapter, as deployed."""
    handle({})
    item = {"id": {"S": "once"}, "at": {"N": "1796083200"}, "active_from": {"N": f"{time.time():.6f}"}}
    stack.dynamodb.put_item(TableName="schedules", Item=item)
    wiring._ticks.clear()  # the next sync of this one is 10 s away
    assert handle({})["dispatched"] == 1
    (message,) = stack.sqs.receive_message(QueueUrl=stack.queue_url)["Messages"]
    event = json.loads(message["Body"])
    assert (event["id"], event["source"]) == ("once@1796083200.000000", "everdue/a-stack")
