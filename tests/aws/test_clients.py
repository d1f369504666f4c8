"""The clients: made late, and impatient."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from everdue.aws.clients import Clients

FUNCTIONS = Path(__file__).parent.parent.parent / "functions"


@pytest.mark.parametrize("service", ["dynamodb", "sqs"])
def test_a_client_gives_up_long_before_the_lease_ends(service: str) -> None:
    """botocore would wait 60 s for a connection and again for an answer, and try ten times: one hung call would
    outlive the invocation and all it has not committed (D5)."""
    config = getattr(Clients(), service).meta.config
    attempts = config.retries["total_max_attempts"]
    assert config.retries["mode"] == "standard"
    assert 2 <= attempts <= 4
    assert attempts * (config.connect_timeout + config.read_timeout) <= 15


def test_a_client_is_made_once_and_goes_where_boto3_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulator needs no code of ours: boto3 reads its own variables."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4599")
    clients = Clients()
    assert clients.dynamodb is clients.dynamodb
    assert clients.dynamodb.meta.endpoint_url == "http://127.0.0.1:4599"
    assert Clients("http://127.0.0.1:1234").sqs.meta.endpoint_url == "http://127.0.0.1:1234"


def test_importing_the_adapters_makes_no_client_and_reads_no_setting() -> None:
    """Import happens before the first invocation, and in every tool that only wants a name."""
    code = (
        "import boto3, os\n"
        "class Env(dict):\n"
        "    def get(self, name, *more):\n"
        "        assert not name.startswith('EVERDUE'), name\n"
        "        return super().get(name, *more)\n"
        "def refuse(*_, **__): raise AssertionError('a client at import')\n"
        "boto3.session.Session.client = refuse\n"
        "os.environ = Env(os.environ)\n"
        "import everdue.aws.claim_dynamodb, everdue.aws.clients, everdue.aws.dispatcher_sqs\n"
        "import everdue.aws.settings, everdue.aws.skip_log_dynamodb, everdue.aws.source_dynamodb\n"
    )
    done: Any = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(FUNCTIONS)}, check=False
    )
    assert done.returncode == 0, done.stderr
