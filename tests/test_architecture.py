"""The house rules, kept by tests: who may import whom, and what is touched in one place only."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FUNCTIONS = Path(__file__).parents[1] / "functions"
EVERDUE = FUNCTIONS / "everdue"
FILES = sorted(EVERDUE.rglob("*.py"))

MAY_IMPORT = {
    "core": {"core"},
    "worker": {"core", "worker"},
    "testing": {"core", "worker", "testing"},
    "aws": {"core", "worker", "aws", "observe", "version"},
    "observe": {"core"},
    "cli": {"core", "worker", "testing", "aws", "observe", "cli", "version"},
}
"""What a storey may import of everdue. `version` and the package's own face belong to nobody below them."""

OUTSIDE = {
    "core": {"dateutil"},
    "testing": set(),
    "aws": {"boto3", "botocore", "aws_lambda_powertools"},
    "observe": {"aws_lambda_powertools"},
}
"""What a storey may import beyond the standard library."""


def storey(path: Path) -> str:
    return path.relative_to(EVERDUE).parts[0].removesuffix(".py")


def imports(path: Path, *, at_run_time: bool = True) -> Iterator[str]:
    """The modules that a file names, those for type checking alone left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(inner for statement in node.body for inner in ast.walk(statement))
        if at_run_time and node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EVERDUE)))
def test_imports_point_one_way(path: Path) -> None:
    """A core that knows of AWS could not be tested without it, nor simulated, nor trusted."""
    here = storey(path)
    if here in ("__init__", "version"):
        return
    for module in imports(path):
        top, *rest = module.split(".")
        if top == "everdue":
            assert rest, "inside the package, import from the file that defines"
            assert rest[0] in MAY_IMPORT[here], f"{path.name} of {here} imports {module}"
        elif top not in sys.stdlib_module_names:
            assert top in OUTSIDE.get(here, set()), f"{path.name} of {here} imports {module}"


def test_dateutil_is_imported_by_the_recurrence_rules_alone() -> None:
    """It hangs on rules that people can write; one place has to bound what reaches it."""
    users = {path.name for path in FILES if any(module.startswith("dateutil") for module in imports(path))}
    assert users
    assert all(name.startswith("recurrence") for name in users), users


@pytest.mark.parametrize(
    ("what", "pattern", "only"),
    [
        ("the wall clock", r"datetime\.now\(|utcnow\(|time\.time\(|date\.today\(|time_ns\(", {"core/clock.py"}),
        ("sleeping", r"time\.sleep\(", {"core/clock.py"}),
        ("the environment", r"os\.environ|getenv\(", {"aws/settings.py"}),
    ],
)
def test_what_changes_by_itself_is_touched_in_one_file(what: str, pattern: str, only: set[str]) -> None:
    """A second place that reads the time or the environment is one that tests can't hold still."""
    found = {
        path.relative_to(EVERDUE).as_posix() for path in FILES if re.search(pattern, path.read_text(encoding="utf-8"))
    }
    assert found <= only, f"{what} is touched in {sorted(found - only)}"


def test_adapters_are_named_after_their_port_then_their_service() -> None:
    """A newcomer who wonders who claims, or what talks to SQS, finds the file from the tree alone."""
    names = {path.name for path in (EVERDUE / "aws").glob("*.py")}
    for expected in ("claim_dynamodb.py", "source_dynamodb.py", "dispatcher_sqs.py", "skip_log_dynamodb.py"):
        assert expected in names


def test_files_hold_one_idea() -> None:
    """Nobody reads a file of 800 lines; what is in it might as well not exist."""
    long = {str(path.relative_to(EVERDUE)): n for path in FILES if (n := len(path.read_text().splitlines())) > 320}
    assert not long


def test_handlers_stay_nearly_silent() -> None:
    """A handler that decides something is a handler that no test of the core covers."""
    for path in FUNCTIONS.glob("*.py"):
        assert len(path.read_text().splitlines()) < 40, path.name
        for module in imports(path):
            if module.startswith("everdue"):
                assert module in ("everdue.aws", "everdue.aws.wiring", "everdue.observe"), f"{path.name}: {module}"


def test_importing_the_tick_reads_nothing_and_builds_nothing() -> None:
    """Environments restored from one snapshot share whatever was made at import: tokens, clients, settings."""
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); os.environ.clear(); import tick; "
        "import everdue.aws.wiring as w; assert not w._ticks and not w._clients; print('ok')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(FUNCTIONS)], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stdout.strip() == "ok", done.stderr
