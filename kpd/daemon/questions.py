"""The arguments that each question of `views` takes, as they come over the socket."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Newest:
    limit: int = 200
    run: str | None = None


@dataclass(frozen=True, slots=True)
class OfLog:
    after: int = 0
    limit: int = 1000
    run: str | None = None
    iteration: int | None = None


@dataclass(frozen=True, slots=True)
class OfRun:
    run: str | None = None


@dataclass(frozen=True, slots=True)
class OfIteration:
    iteration: str


@dataclass(frozen=True, slots=True)
class Between:
    iteration: str
    against: str | None = None


@dataclass(frozen=True, slots=True)
class FileOf:
    iteration: str
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    id: str


@dataclass(frozen=True, slots=True)
class OfTask:
    task: str
