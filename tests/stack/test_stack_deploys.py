"""The template deploys with the real `sam`, once and again, and its trigger fires."""

from collections.abc import Callable
from pathlib import Path

from infra.local.deploy import deploy
from infra.local.stack import LocalStack
from infra.local.watch import Watcher


def test_a_schedule_that_a_user_writes_reaches_the_queue_by_the_trigger_alone(
    stack: LocalStack, write: Callable[..., int], watcher: Watcher
) -> None:
    """Nobody invokes anything here: table, trigger, function, rights and queue are wired as deployed."""
    written_us = write({"id": "by-the-trigger", "every": 1, "payload": {"hello": "world"}})
    assert watcher.wait_for(3, 80), "no run arrived although the trigger fires every minute"
    first = watcher.arrivals[0]
    assert first.schedule == "by-the-trigger"
    assert first.data == {"hello": "world"}
    assert first.due_us >= written_us
    due = sorted(arrival.due_us for arrival in watcher.arrivals)
    assert due == list(range(due[0], due[0] + len(due) * 1_000_000, 1_000_000))


def test_deploying_the_same_template_again_changes_nothing(stack: LocalStack, tmp_path: Path) -> None:
    """A template that changes by being deployed would replace or restart things on every deploy."""
    log = tmp_path / "deploy.log"
    parameters = {"TickTimeout": "20", "LeadSeconds": "10", "SyncSeconds": "2"}
    with log.open("wb") as output:
        again = deploy(stack.template, stack.emulator.endpoint, parameters, output)
    assert "No changes to deploy" in log.read_text()
    assert again.outputs == stack.deployment.outputs


def test_every_output_of_the_contract_is_there(stack: LocalStack) -> None:
    """Workers, the command line and people find the stack by these names."""
    named = {"SchedulesTable", "ClaimsTable", "RunsTable", "QueueUrl", "QueueArn", "DeadLetterQueueUrl", "TickFunction"}
    assert named <= stack.deployment.outputs.keys()


def test_queue_and_tables_are_deployed_as_the_template_says(stack: LocalStack) -> None:
    """High-throughput mode needs both attributes, and a queue of the wrong kind would be found out only under load."""
    deployment = stack.deployment
    attributes = deployment.sqs.get_queue_attributes(QueueUrl=deployment["QueueUrl"], AttributeNames=["All"])
    assert attributes["Attributes"]["DeduplicationScope"] == "messageGroup"
    assert attributes["Attributes"]["FifoThroughputLimit"] == "perMessageGroupId"
    assert attributes["Attributes"]["MessageRetentionPeriod"] == "1209600"
    table = deployment.dynamodb.describe_table(TableName=deployment["SchedulesTable"])["Table"]
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
