"""The real `sam build` and `sam deploy`, against the emulator."""

import contextlib
import fcntl
import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from infra.local.environment import LOCAL, REGION, ROOT, architecture, aws_environment, runtime

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient

STACK_NAME = "everdue-local"
SAM_SECONDS = 600


class DeployFailed(Exception):
    """`sam` ended with an error. The message says where its output is."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployed stack: where it is, and its outputs by name."""

    endpoint: str
    outputs: Mapping[str, str]

    def __getitem__(self, output: str) -> str:
        return self.outputs[output]

    @property
    def dynamodb(self) -> "DynamoDBClient":
        """A DynamoDB client of the emulator."""
        dynamodb: DynamoDBClient = client("dynamodb", self.endpoint)
        return dynamodb

    @property
    def sqs(self) -> "SQSClient":
        """An SQS client of the emulator."""
        sqs: SQSClient = client("sqs", self.endpoint)
        return sqs

    @property
    def functions(self) -> "LambdaClient":
        """A Lambda client of the emulator. It waits out a whole invocation, and never invokes twice."""
        functions: LambdaClient = client("lambda", self.endpoint)
        return functions


def build(directory: Path, output: IO[bytes] | None = None) -> Path:
    """Build the functions for this machine into `directory`. Returns the built template.

    One at a time, always into the same folder, which is then copied: SAM CLI's cache knows a build by its folder, and
    an unchanged function is not built again.
    """
    shared, target = LOCAL / "built" / "build", directory / "build"
    with _only_one():
        _sam(
            ["build", "--template-file", str(ROOT / "template.yaml"), "--build-dir", str(shared)],
            ["--cached", "--cache-dir", str(LOCAL / "cache"), "--parameter-overrides", *_overrides({})],
            endpoint="http://127.0.0.1:9",  # a build calls no service: any call fails at once
            output=output,
        )
        shutil.copytree(shared, target, dirs_exist_ok=True)
    return target / "template.yaml"


def deploy(
    template: Path, endpoint: str, parameters: Mapping[str, str] | None = None, output: IO[bytes] | None = None
) -> Deployment:
    """Deploy a built template, and read the stack's outputs."""
    _sam(
        ["deploy", "--template-file", str(template), "--config-file", str(ROOT / "samconfig.toml"), "--no-progressbar"],
        ["--stack-name", STACK_NAME, "--region", REGION, "--parameter-overrides", *_overrides(parameters or {})],
        endpoint=endpoint,
        output=output,
    )
    stack = client("cloudformation", endpoint).describe_stacks(StackName=STACK_NAME)["Stacks"][0]
    return Deployment(endpoint, {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]})


def _overrides(parameters: Mapping[str, str]) -> list[str]:
    # Deletion protection is for data that matters; here the whole emulator goes away.
    local = {"Runtime": runtime(), "Architecture": architecture(), "DeletionProtection": "false"}
    return [f"{name}={value}" for name, value in {**local, **parameters}.items()]


def _sam(*arguments: list[str], endpoint: str, output: IO[bytes] | None) -> None:
    home = LOCAL / "sam"
    home.mkdir(parents=True, exist_ok=True)
    # SAM CLI's own settings: no telemetry, and no look for a newer version each time the folder is new.
    settings = {"telemetryEnabled": False, "installationId": "local", "lastVersionCheck": time.time()}
    (home / "metadata.json").write_text(json.dumps(settings))
    environment = {
        **aws_environment(endpoint),
        "__SAM_CLI_APP_DIR": str(home),
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "0.3",
    }
    command = [str(Path(sys.executable).with_name("sam")), *itertools.chain(*arguments)]
    done = subprocess.run(  # noqa: S603 - SAM CLI of this virtual environment
        command, env=environment, cwd=LOCAL, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=SAM_SECONDS
    )
    if done.returncode != 0:
        where = f"; its output is in {output.name}" if output is not None else ""
        raise DeployFailed(f"`sam {arguments[0][0]}` ended with exit code {done.returncode}{where}")


@contextlib.contextmanager
def _only_one() -> Iterator[None]:
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def client(service: str, endpoint: str) -> Any:
    """A client of the emulator that tries once, and waits as long as a whole invocation may take."""
    session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)  # noqa: S106
    config = Config(retries={"total_max_attempts": 1}, read_timeout=120, connect_timeout=5, max_pool_connections=32)
    return session.client(service, endpoint_url=endpoint, config=config)  # type: ignore[call-overload]
