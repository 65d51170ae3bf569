"""A cassette as a whole: what it says of itself, the candidates that it holds, and whether it is sound."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kpd.model.codec import CodecError, decode
from kpd.model.iteration import Expectation
from tests.support.cassette.answers import ANSWERS, HEADER, Answers, Damaged

VERSION = 1

_HASH = re.compile("[0-9a-f]{64}")


class BadCassette(Exception):
    """It cannot be replayed; the message says why."""


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The editable files of a candidate as text, with what its agent said of it."""

    files: dict[str, str]
    memo: str
    point: dict[str, str] = {}
    expected: Expectation | None = None


class Cassette(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`made` is a date, `kpd` the version that recorded; `device` and what follows are of the machine.

    `candidates` are those of `task`, without its baseline, in the order in which they were measured; `agent` is who
    proposed them. It `repeats` if it was recorded when a verdict asked for fewer processes: a contest that needs more
    is given its timings again, from the first.
    """

    version: int
    kpd: str
    made: str
    device: str
    arch: str
    driver: str
    cuda: str
    ncu: str
    task: str
    agent: str
    candidates: tuple[Candidate, ...]
    repeats: bool = False

    def __str__(self) -> str:
        tools = f"driver {self.driver}, CUDA {self.cuda}{f', ncu {self.ncu}' if self.ncu else ''}"
        held = f"{len(self.candidates)} candidates of {self.task} by {self.agent}"
        return f"{self.device}, {tools}: {held}, made on {self.made} with kpd {self.kpd}"


class Blob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is long lies beside the answers, by its sha256."""

    blob: str


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a program has said to a call (see `calls`), and how it ended. `report` is a blob, empty without one.

    `contest` is that of a timing, whose answers are replayed in their order; a cassette of old has only one a pair.
    """

    key: str
    words: str
    status: int
    stdout: str | Blob
    stderr: str | Blob
    report: str = ""
    contest: str = ""

    def blobs(self) -> Iterator[str]:
        yield from (text.blob for text in (self.stdout, self.stderr) if isinstance(text, Blob))
        if self.report:
            yield self.report


class _Version(msgspec.Struct):
    version: int


def header(folder: Path) -> Cassette:
    """What the cassette says of itself. Raises BadCassette."""
    path = folder / HEADER
    try:
        raw = path.read_bytes()
        if (version := decode(raw, _Version).version) != VERSION:
            raise BadCassette(f"{path} has format {version}, these programs replay format {VERSION}")
        return decode(raw, Cassette)
    except OSError as err:
        raise BadCassette(f"no cassette in {folder}: {err.strerror or err}") from err
    except CodecError as err:
        raise BadCassette(f"{path} is not as it should be: {err}") from err


def load(folder: Path) -> Cassette:
    """The same once every answer has been looked at. Raises BadCassette."""
    found = header(folder)
    answers, seen = Answers(folder), set[str]()
    try:
        lines = (folder / ANSWERS).read_bytes().splitlines()
    except OSError as err:
        raise BadCassette(f"no {ANSWERS} in {folder}: {err.strerror or err}") from err
    for number, line in enumerate(lines, 1):
        try:
            answer = decode(line, Answer)
            blobs = set(answer.blobs()) - seen
            if not all(_HASH.fullmatch(name) for name in (answer.key, *blobs)):
                raise Damaged("a hash is none")
            for name in blobs:
                answers.blob(name)
            seen |= blobs
        except (CodecError, Damaged) as err:
            raise BadCassette(f"{folder / ANSWERS}:{number}: {err}") from err
    return found


def identity(folder: Path) -> str:
    """A name of all that the cassette holds. Raises OSError."""
    hashed = hashlib.sha256()
    for name in (HEADER, ANSWERS):
        hashed.update((folder / name).read_bytes())
    return hashed.hexdigest()[:16]


def finish(folder: Path, cassette: Cassette) -> None:
    """Give the answers in `folder` their header."""
    text = msgspec.json.format(msgspec.json.encode(cassette), indent=1)
    (folder / HEADER).write_bytes(text + b"\n")
