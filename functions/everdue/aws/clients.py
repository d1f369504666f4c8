"""boto3 clients: made on first use, with short timeouts and few attempts."""

from functools import cached_property
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

CONNECT_SECONDS = 1
READ_SECONDS = 3
ATTEMPTS = 3
POOL_CONNECTIONS = 16


def client_config() -> Config:
    """How every client calls: at most about 12 s for one call, retries included.

    botocore's own defaults wait 60 s for a connection and again for an answer, and try DynamoDB ten times: one hung
    call would outlive the lease. Region, credentials and endpoint are left to boto3's own handling of the environment
    (`AWS_REGION`, `AWS_ENDPOINT_URL`, …), so that emulators work with no code of ours.
    """
    return Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
        max_pool_connections=POOL_CONNECTIONS,
        tcp_keepalive=True,
    )


class Clients:
    """The clients of one process, each made when it is first asked for and then kept, with its connections.

    Making one costs tens of milliseconds; a process that never leads needs no SQS client at all.

    Args:
        endpoint_url: where every call goes instead of to AWS, for emulators; None leaves it to boto3.
    """

    def __init__(self, endpoint_url: str | None = None) -> None:
        self._endpoint_url = endpoint_url
        self._session = boto3.session.Session()

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        """The low-level DynamoDB client."""
        return self._session.client("dynamodb", config=client_config(), endpoint_url=self._endpoint_url)

    @cached_property
    def sqs(self) -> "SQSClient":
        """The SQS client. It is safe to use from several threads."""
        return self._session.client("sqs", config=client_config(), endpoint_url=self._endpoint_url)
