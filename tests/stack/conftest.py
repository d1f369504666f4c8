"""One deployed stack for all tests of this folder, and what they share."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from infra.local.deploy import client
from infra.local.environment import LOCAL
from infra.local.items import put_many
from infra.local.stack import LocalStack, local_stack
from infra.local.watch import Watcher

TICK_TIMEOUT = 20
LEAD = 10
"""Shorter than the defaults, so that a whole invocation, and a takeover after a crash, fit into a test."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "stack: needs the deployed stack, on an emulator")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/stack/" in item.nodeid.replace("\\", "/"):
            item.add_marker(pytest.mark.stack)


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """The stack, deployed once. Its output is in `.local/stack-tests.log`."""
    LOCAL.mkdir(exist_ok=True)
    parameters = {"TickTimeout": str(TICK_TIMEOUT), "LeadSeconds": str(LEAD), "SyncSeconds": "2"}
    with (LOCAL / "stack-tests.log").open("wb") as output, local_stack("stack-tests", parameters, output) as running:
        yield running


@pytest.fixture(scope="session")
def trigger_off(stack: LocalStack) -> None:
    """The minute trigger is off: the test says when the tick is invoked."""
    scheduler = client("scheduler", stack.emulator.endpoint)
    (listed,) = scheduler.list_schedules()["Schedules"]
    found = scheduler.get_schedule(Name=listed["Name"])
    scheduler.update_schedule(
        Name=found["Name"],
        ScheduleExpression=found["ScheduleExpression"],
        FlexibleTimeWindow=found["FlexibleTimeWindow"],
        Target=found["Target"],
        State="DISABLED",
    )
    give_up = time.monotonic() + TICK_TIMEOUT + 5
    while time.monotonic() < give_up and executing(stack):  # one that it started before ends by itself
        time.sleep(0.2)
    if not claim_of(stack):  # a scheduler that never ran owes nothing from before its first claim
        Invoked(stack).result()


def claim_of(stack: LocalStack) -> Any:
    """The stored claim; empty when there is none."""
    found = stack.deployment.dynamodb.get_item(
        TableName=stack.deployment["ClaimsTable"], Key={"name": {"S": "tick#0/1"}}, ConsistentRead=True
    )
    return found.get("Item", {})


def executing(stack: LocalStack) -> bool:
    """Whether an invocation holds the claim, or may take it again at once."""
    for _ in range(8):
        if claim_of(stack).get("token", {}).get("S"):
            return True
        time.sleep(0.2)
    return False


@pytest.fixture
def write(stack: LocalStack) -> Iterator[Callable[..., int]]:
    """Write schedules, and delete them when the test ends. Returns the moment they took effect."""
    table, client = stack.deployment["SchedulesTable"], stack.deployment.dynamodb
    written: list[str] = []

    def write(*schedules: dict[str, Any]) -> int:
        written.extend(schedule["id"] for schedule in schedules)
        return put_many(client, table, schedules)

    yield write
    for start in range(0, len(written), 25):
        requests = [{"DeleteRequest": {"Key": {"id": {"S": each}}}} for each in written[start : start + 25]]
        client.batch_write_item(RequestItems={table: requests})


@pytest.fixture
def watcher(stack: LocalStack) -> Iterator[Watcher]:
    """Receives everything from now on."""
    watching = Watcher(stack.deployment.sqs, stack.deployment["QueueUrl"], threads=2).start()
    yield watching
    watching.stop()


class Invoked(threading.Thread):
    """One invocation under way: its answer, once it ended."""

    def __init__(self, stack: LocalStack, event: dict[str, Any] | None = None) -> None:
        super().__init__(daemon=True)
        self._stack = stack
        self._event = event or {}
        self.answer: Any = None
        self.failed = False
        self.start()

    def run(self) -> None:
        deployment = self._stack.deployment
        answer = deployment.functions.invoke(
            FunctionName=deployment["TickFunction"], Payload=json.dumps(self._event).encode()
        )
        self.failed = "FunctionError" in answer
        self.answer = json.loads(answer["Payload"].read())

    def result(self) -> Any:
        """Wait for its end; its summary."""
        self.join(TICK_TIMEOUT + 15)
        assert not self.is_alive(), "the invocation outlived its own timeout"
        assert not self.failed, self.answer
        return self.answer


@pytest.fixture
def invoke(stack: LocalStack, trigger_off: None) -> Callable[..., Invoked]:
    """Start an invocation of the tick in the background."""
    return lambda event=None: Invoked(stack, event)
