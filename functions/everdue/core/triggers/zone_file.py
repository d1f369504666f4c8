"""Zone files: found where the standard library's `zoneinfo` finds them, read into the offsets' changes.

Source: RFC 9636 (TZif). `zoneinfo` itself answers one moment at a time and does not tell when an offset ends;
asking it by bisection could miss a change, so the file is read instead. A test compares the two.
"""

import re
import struct
import zoneinfo
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from everdue.core.triggers.zone_footer import Footer, parse_footer

ZONE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(?:/[A-Za-z0-9][A-Za-z0-9_+-]{0,30}){0,2}")
_HEADER = struct.Struct(">4sc15x6I")


class ZoneData(NamedTuple):
    """A zone as its file states it. Moments are Unix seconds, offsets seconds east of UTC."""

    before: int
    changes: tuple[tuple[int, int], ...]
    after: Footer


def zone_bytes(name: str) -> bytes | None:
    """The file of this zone: from the system's directories, else the `tzdata` package; None without."""
    for directory in zoneinfo.TZPATH:
        path = Path(directory, name)
        if path.is_file():
            return path.read_bytes()
    try:
        return resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    except (ModuleNotFoundError, FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def zone_database() -> str:
    """Which time zone database is in use and its version, worded for a log line.

    `zoneinfo`'s directories come first and the `tzdata` package second, as in the standard library.
    """
    for directory in zoneinfo.TZPATH:
        path = Path(directory)
        if (path / "UTC").is_file():
            return f"{_system_version(path)} in {directory}"
    try:
        version = resources.files("tzdata").joinpath("__init__.py").read_text("utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        return "none: install the tzdata package"
    found = re.search(r'IANA_VERSION\s*=\s*"([^"]+)"', version)
    return f"{found.group(1) if found else 'unknown version'} in the tzdata package"


def _system_version(directory: Path) -> str:
    for file, pattern in (("tzdata.zi", r"# version (\S+)"), ("+VERSION", r"(\S+)"), ("version", r"(\S+)")):
        try:
            with (directory / file).open(encoding="utf-8") as lines:
                found = re.match(pattern, lines.readline())
        except (OSError, UnicodeDecodeError):
            continue
        if found:
            return found.group(1)
    return "unknown version"


def read_zone(data: bytes) -> ZoneData:
    """The offsets and changes of a TZif file. Raises ValueError when it is none."""
    try:
        return _read(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"not a time zone file: {error}") from None


def _read(data: bytes) -> ZoneData:
    magic, version, utc_marks, standard_marks, leaps, times, kinds, letters = _HEADER.unpack_from(data)
    if magic != b"TZif":
        raise ValueError("not a time zone file: it does not begin with TZif")
    at, width, code = _HEADER.size, 4, "l"
    if version >= b"2":  # the 64-bit block follows the 32-bit one, which is for readers of before 2005
        at += times * 5 + kinds * 6 + letters + leaps * 8 + standard_marks + utc_marks
        _, _, utc_marks, standard_marks, leaps, times, kinds, letters = _HEADER.unpack_from(data, at)
        at, width, code = at + _HEADER.size, 8, "q"
    moments = struct.unpack_from(f">{times}{code}", data, at)
    at += times * width
    indexes = data[at : at + times]
    at += times
    types = [struct.unpack_from(">lb", data, at + 6 * kind) for kind in range(kinds)]
    at += kinds * 6 + letters + leaps * (width + 4) + standard_marks + utc_marks
    footer = data[at:].strip(b"\n").decode("ascii") if version >= b"2" else ""
    offsets = [types[index][0] for index in indexes]
    before = next((offset for offset, summer in types if not summer), types[0][0])
    last = offsets[-1] if offsets else before
    return ZoneData(before, tuple(zip(moments, offsets, strict=True)), parse_footer(footer) if footer else Footer(last))
