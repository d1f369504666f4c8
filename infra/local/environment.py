"""Which environment local processes get: enough to run, nothing that could reach a real AWS account."""

import os
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
LOCAL = ROOT / ".local"
"""Everything that local runs leave behind: logs, builds, caches."""
REGION = "us-east-1"
ACCOUNT = "000000000000"

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TZ", "COLUMNS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_KEPT_PREFIXES = ("PIP_",)  # a mirror or proxy that pip needs here is needed by `sam build` too


def base_environment() -> dict[str, str]:
    """The caller's environment without anything of AWS: its profiles, keys, endpoints and certificates stay out."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    # `sam build` looks for an interpreter of the runtime's version in the path: it shall find this one.
    kept["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
    return kept


def aws_environment(endpoint: str) -> dict[str, str]:
    """The environment of a client of the emulator: SAM CLI, the AWS CLI, boto3."""
    return {
        **base_environment(),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def runtime() -> str:
    """The Lambda runtime of this interpreter: the one that `sam build` can build for here."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def architecture() -> str:
    """The Lambda name of this machine's processor."""
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"
