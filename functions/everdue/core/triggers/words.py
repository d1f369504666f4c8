"""Small words for descriptions: lists, counts, spans, clock times."""

from collections.abc import Iterable, Sequence

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SPANS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def and_list(words: Iterable[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    texts = list(words)
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}" if texts else ""


def ordinal(number: int) -> str:
    """`1st`, `22nd`, `13th`; from the end, `last` and `2nd to last`."""
    if number < 0:
        return "last" if number == -1 else f"{ordinal(-number)} to last"
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def counted(number: int, word: str) -> str:
    """`1 day`, `2 days`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def every(number: int, word: str) -> str:
    """`every day`, `every 2 days`."""
    return f"every {word}" if number == 1 else f"every {number} {word}s"


def span(us: int) -> str:
    """A positive duration in microseconds: `1 hour 30 minutes`, `0.25 seconds`."""
    seconds, part = divmod(us, 1_000_000)
    if part:
        return f"{seconds}.{part:06d}".rstrip("0") + " seconds"
    words = []
    for size, word in _SPANS:
        number, seconds = divmod(seconds, size)
        if number:
            words.append(counted(number, word))
    return " ".join(words) or "0 seconds"


def clock(second: int) -> str:
    """A second of the day as `09:00`, with seconds where there are some."""
    text = f"{second // 3600:02d}:{second // 60 % 60:02d}"
    return f"{text}:{second % 60:02d}" if second % 60 else text


def runs(values: Sequence[int], name: Sequence[str] | None = None, base: int = 0) -> str:
    """Ascending numbers with runs of three and more as ranges: `1, 3 and 5 to 9`; by name where there are names."""
    words: list[str] = []
    at = 0
    while at < len(values):
        end = at
        while end + 1 < len(values) and values[end + 1] == values[end] + 1:
            end += 1
        first, last = (str(values[i]) if name is None else name[values[i] - base] for i in (at, end))
        if end - at >= 2:
            words.append(f"{first} to {last}")
        else:
            words.extend(str(values[i]) if name is None else name[values[i] - base] for i in range(at, end + 1))
        at = end + 1
    return and_list(words)
