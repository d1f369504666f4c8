"""What every test against AWS's API shares: credentials that are none, and the tables and queue of a stack on moto."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from aws_stub import StubService
from moto import mock_aws

from everdue.aws.clients import client_config

REGION = "eu-central-1"


@pytest.fixture(autouse=True)
def _no_real_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach an account, or depend on the settings of the machine it runs on."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def dynamodb(_no_real_aws: None) -> Iterator[Any]:
    """A DynamoDB client on moto, with the three tables of a stack."""
    with mock_aws():
        client = boto3.client("dynamodb", config=client_config())
        for name, keys in (
            ("schedules", (("id", "S", "HASH"),)),
            ("claims", (("name", "S", "HASH"),)),
            ("runs", (("schedule", "S", "HASH"), ("due", "N", "RANGE"))),
        ):
            client.create_table(
                TableName=name,
                KeySchema=[{"AttributeName": key, "KeyType": role} for key, _, role in keys],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind} for key, kind, _ in keys],
                BillingMode="PAY_PER_REQUEST",
            )
        yield client


@pytest.fixture
def sqs(_no_real_aws: None) -> Iterator[Any]:
    """An SQS client on moto."""
    with mock_aws():
        yield boto3.client("sqs", config=client_config())


@pytest.fixture
def queue_url(sqs: Any) -> str:
    """A FIFO queue on moto."""
    return str(sqs.create_queue(QueueName="occurrences.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"])


@pytest.fixture
def service() -> Iterator[StubService]:
    """A local HTTP service that answers as a test says: lost answers, throttling, partial failures."""
    with StubService() as stub:
        yield stub
