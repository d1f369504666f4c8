"""One fixture a port, parametrised over its adapters: memory, moto, and a real endpoint where one is named.

To run the suites against an emulator such as MiniStack or DynamoDB Local, set `EVERDUE_TEST_ENDPOINT` to its URL.
To add an adapter, add its name to `backend` and what it is made of to `tables` and `queue`.
"""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from everdue.aws.clients import client_config

ENDPOINT = os.environ.get("EVERDUE_TEST_ENDPOINT")
BACKENDS = ["memory", "moto", *(["endpoint"] if ENDPOINT else [])]


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one test, new and empty."""

    client: Any
    schedules: str
    claims: str
    runs: str


@dataclass(frozen=True, slots=True)
class Fifo:
    """The queue of one test, new and empty."""

    client: Any
    url: str


@pytest.fixture(autouse=True)
def _no_real_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach an account, or depend on the settings of the machine it runs on."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which adapter the test runs against."""
    name: str = request.param
    with mock_aws() if name == "moto" else nullcontext():
        yield name


@pytest.fixture
def make_client(backend: str) -> Callable[[str], Any]:
    """Makes a client of a service of this backend."""
    endpoint = ENDPOINT if backend == "endpoint" else None
    return lambda service: boto3.client(service, endpoint_url=endpoint, config=client_config())


@pytest.fixture
def tables(make_client: Callable[[str], Any]) -> Iterator[Tables]:
    """New tables of a stack."""
    client = make_client("dynamodb")
    suffix = uuid.uuid4().hex[:12]
    keys = {
        f"schedules-{suffix}": (("id", "S", "HASH"),),
        f"claims-{suffix}": (("name", "S", "HASH"),),
        f"runs-{suffix}": (("schedule", "S", "HASH"), ("due", "N", "RANGE")),
    }
    for name, key in keys.items():
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": attribute, "KeyType": role} for attribute, _, role in key],
            AttributeDefinitions=[{"AttributeName": attribute, "AttributeType": kind} for attribute, kind, _ in key],
            BillingMode="PAY_PER_REQUEST",
        )
    for name in keys:
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    yield Tables(client, *keys)
    for name in keys:
        client.delete_table(TableName=name)


@pytest.fixture
def fifo(make_client: Callable[[str], Any]) -> Iterator[Fifo]:
    """A new FIFO queue in high-throughput mode."""
    client = make_client("sqs")
    attributes = {
        "FifoQueue": "true",
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
    }
    url = client.create_queue(QueueName=f"occurrences-{uuid.uuid4().hex[:12]}.fifo", Attributes=attributes)["QueueUrl"]
    yield Fifo(client, url)
    client.delete_queue(QueueUrl=url)
