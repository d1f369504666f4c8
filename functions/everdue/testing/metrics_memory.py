"""Metrics that are a list."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement, as it was recorded."""

    name: str
    value: float
    dimensions: dict[str, str] = field(default_factory=dict)


class MemoryMetrics:
    """A `Metrics` sink that keeps everything."""

    def __init__(self) -> None:
        self.measurements: list[Measurement] = []

    def record(self, name: str, value: float, **dimensions: str) -> None:
        """Keep the measurement."""
        self.measurements.append(Measurement(name, value, dimensions))

    def values(self, name: str, **dimensions: str) -> list[float]:
        """The values of one name, of those that carry at least these dimensions, in order."""
        return [
            each.value
            for each in self.measurements
            if each.name == name and dimensions.items() <= each.dimensions.items()
        ]

    def total(self, name: str, **dimensions: str) -> float:
        """Their sum."""
        return sum(self.values(name, **dimensions))

    def last(self, name: str, **dimensions: str) -> float | None:
        """The newest of them; None when there is none."""
        values = self.values(name, **dimensions)
        return values[-1] if values else None
