"""The README is under test: its items parse, its code runs, its commands exist, its names are the stack's."""

import io
import json
import re
from contextlib import redirect_stdout
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest
from boto3.dynamodb.types import TypeDeserializer
from moto import mock_aws

from everdue.core.grammar import parse
from everdue.core.grammar.attributes import ATTRIBUTES
from everdue.observe import SIGNALS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEMPLATE = (ROOT / "template.yaml").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def json_values() -> list[Any]:
    values = []
    for text in blocks("json"):
        decoder, rest = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal), text.strip()
        while rest:
            value, end = decoder.raw_decode(rest)
            values.append(value)
            rest = rest[end:].strip()
    return values


ITEMS = [value for value in json_values() if "specversion" not in value]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["id"])
def test_every_schedule_in_the_readme_is_accepted(item: dict[str, Any]) -> None:
    """The first thing that people do is copy one."""
    assert parse(item).id == item["id"]


def test_the_message_in_the_readme_is_the_one_that_is_sent() -> None:
    """Consumers are written from it. The golden file is what the sending code is held to."""
    (shown,) = [value for value in json_values() if "specversion" in value]
    golden = json.loads((ROOT / "tests/fixtures/message_default.json").read_text(), parse_float=Decimal)
    assert {**shown, "source": ""} == {**golden, "source": ""}


def test_every_attribute_is_documented() -> None:
    """An attribute that nobody reads of does not exist."""
    documented = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?`) \|", README, re.MULTILINE))))
    assert set(ATTRIBUTES) <= documented


def test_the_item_in_the_put_command_is_accepted() -> None:
    """Typed JSON is easy to get wrong by a brace."""
    (item,) = re.findall(r"put-item .*?--item '(.*?)'", README)
    decoded = {name: TypeDeserializer().deserialize(value) for name, value in json.loads(item).items()}
    assert parse(decoded).id == "reports"


def test_every_make_command_is_a_task_and_every_parameter_and_output_is_the_templates() -> None:
    """A command in a README that does not exist costs a newcomer the first five minutes and the trust."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"make ([a-z][a-z-]+)\b", " ".join(blocks("sh")) + README)) <= targets | {"and", "or", "demo"}
    parameters = dict(re.findall(r"^\| `([A-Z]\w+)` \| (\S*) \|", README, re.MULTILINE))
    for name, default in parameters.items():
        found = re.search(rf"^  {name}:\n(?:    .*\n)*?    Default: (.*)$", TEMPLATE, re.MULTILINE)
        assert found, name
        assert found.group(1).strip('"') == default, name
    for output in re.findall(r"`(\w+(?:Table|Url|Arn|Function))`", README):
        assert re.search(rf"^  {output}:", TEMPLATE, re.MULTILINE), output


def test_every_metric_is_documented() -> None:
    """What is measured and not documented is never looked at."""
    assert {name for name in SIGNALS if f"`{name}`" not in README} == set()


def test_the_library_example_prints_what_it_says() -> None:
    """It is the promise about daylight saving, in six lines."""
    (code,) = [block for block in blocks("python") if "ManualClock" in block]
    (promised,) = re.findall(r"# (\['.*?'\])", code)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    assert printed.getvalue().strip() == promised


def test_the_check_example_runs() -> None:
    """Whoever writes schedules from code wants them refused in a test, not in production."""
    (code,) = [block for block in blocks("python") if "parse(" in block]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    refused, described = printed.getvalue().splitlines()
    assert refused == "cron"
    assert "Monday" in described


@mock_aws
def test_the_worker_example_runs_a_key_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied into production, it has to absorb a repeat."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    (code,) = [block for block in blocks("python") if "lambda_handler" in block]
    space: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), space)  # noqa: S102 - our own README
    table = boto3.resource("dynamodb", region_name="us-east-1").create_table(
        TableName="done",
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    done: list[tuple[Any, ...]] = []
    body = (ROOT / "tests/fixtures/message_default.json").read_text()
    for _ in range(2):
        space["lambda_handler"]({"Records": [{"body": body}]}, None, runs=table, work=lambda *run: done.append(run))
    assert done == [("reports", "2026-12-01T04:00:00Z", None)]
