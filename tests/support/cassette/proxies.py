"""Proxies of a GPU host's programs and of those that nvcc has made: what the real ones answer, recorded or replayed.

They are a folder with `settings.json` and, in `bin/`, a launcher for each program. Whoever has that first on the PATH
records what the real programs answer, or is answered from the cassette without them. An object is replayed as its mark
alone (see `calls`), a program as a launcher that bears one. All of it is standard library, to start fast.
"""

import fcntl
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from tests.support.cassette import audits
from tests.support.cassette.answers import Answer, Answers, Damaged
from tests.support.cassette.calls import OTHERS, OUTSIDE, Call, call, mark, named, pages
from tests.support.cassette.scrub import Scrub

REPLAYED = " (replayed)"
"""Stands behind a GPU's name wherever kpd is told it."""
UNANSWERED = 90
"""The exit status where the cassette has no answer: `GONE` of kpd.measure.jobs, so that no candidate is to blame."""
SETTINGS = "settings.json"
OVER = ".over"
"""In a job's folder: why one of its ordered calls has had no answer. Those after it have none, whatever is recorded for
them: their job is about to end, and how many of them still report would depend on who is quicker."""
TURN_S = 60.0
"""How long a call waits for those before it, which only have to print."""
_START = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from tests.support.cassette.proxies import main
main(*sys.argv[1:])
"""


class Settings(NamedTuple):
    """`programs` are the real ones, by name; with them the proxies record. `device` is the GPU's name.

    `words` and `gpu` are what must not be recorded: see `Scrub`.
    """

    cassette: str
    device: str
    programs: dict[str, str] | None = None
    words: tuple[str, ...] = ()
    gpu: str = ""


def lay(folder: Path, settings: Settings) -> Path:
    """Make the proxies in `folder`, or find them there; the folder to put first on the PATH. Raises OSError."""
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    _write(folder / SETTINGS, json.dumps(settings._asdict()).encode())
    for name in settings.programs or OUTSIDE:
        _write(programs / name, _launcher(folder, shlex.quote(name)), 0o755)
    return programs


def main(folder: str, program: str, *arguments: str) -> None:
    """What a launcher starts: `program` is a name, or the path of a launcher in a place where nvcc has linked."""
    settings = Settings(**json.loads((Path(folder) / SETTINGS).read_text()))
    if program == "nvidia-smi" and any(argument.startswith(OTHERS) for argument in arguments):
        if settings.programs:
            os.execv(settings.programs[program], [program, *arguments])
        sys.exit(0)  # nobody else computes on a GPU that is not there
    proxy = Proxy(Path(folder), settings)
    try:
        asked = call(program, list(arguments), proxy.scrub)
        with _turn(asked.number) if asked.ordered or asked.number else nullcontext():
            status = (
                proxy.record(asked, program, list(arguments)) if settings.programs else proxy.replay(asked, program)
            )
        sys.exit(status)
    except OSError as err:  # not the fault of what is asked for
        sys.exit(_refuse(f"the cassette cannot be used: {err}"))


class Unanswered(Exception):
    """The cassette has no answer to this call; the message says why."""


class Proxy:
    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.scrub = Scrub(settings.words, settings.gpu)
        self.answers = Answers(Path(settings.cassette))

    def record(self, asked: Call, program: str, arguments: list[str], silent: bool = False) -> int:
        """The real program's answer, passed on and kept. What a signal has ended has not answered."""
        import subprocess  # a replay starts thousands of these programs, and needs it in none

        real = str(_real(Path(program))) if "/" in program else (self.settings.programs or {})[program]
        # What ncu starts is the real program, which it would not look for behind a launcher.
        given = [str(named(str(_real(Path(argument)))) or argument) for argument in arguments]
        done = subprocess.run([real, *given], capture_output=True, check=False)
        if done.returncode >= 0:
            report = None
            if asked.target.is_file() and asked.makes == "report":
                report = self.scrub.binary(asked.target.read_bytes())
            elif asked.target.is_file() and asked.makes not in ("", "driver") and done.returncode == 0:
                self._mark(asked)
            if asked.makes in ("linked", "driver"):
                _say(done.stdout, done.stderr)
                return done.returncode
            texts = self.scrub.text(done.stdout), self.scrub.text(done.stderr)
            contest = _contest(Path.cwd()) if asked.ordered else ""
            self.answers.add(asked.key, asked.words, done.returncode, *texts, report, contest)
            for more in pages(asked.target) if report is not None and program == "ncu" else ():
                self.record(call(program, more, self.scrub), program, more, silent=True)
        if not silent:
            _say(done.stdout, done.stderr)
        return done.returncode if done.returncode >= 0 else 128 - done.returncode

    def replay(self, asked: Call, program: str) -> int:
        """The recorded answer; UNANSWERED, and why, when there is none. Raises OSError."""
        if asked.makes in ("linked", "driver"):
            asked.target.write_bytes(mark(asked.key))
            return 0
        try:
            answer = self._answer(asked)
            stdout, stderr = self.answers.text(answer["stdout"]), self.answers.text(answer["stderr"])
            if answer["report"]:
                asked.target.write_bytes(self.answers.blob(answer["report"]))
        except Unanswered as err:
            audit = audits.made(self.answers, Path.cwd(), asked)
            if audit is None:
                return _refuse(str(err))
            answer, stdout, stderr = audit, audit["stdout"], ""
        except Damaged as err:
            return _refuse(f"this cassette is damaged: {err}")
        if asked.makes == "object" and answer["status"] == 0:
            asked.target.write_bytes(mark(asked.key))
        if asked.makes == "program" and answer["status"] == 0:
            self._launch(asked)
        if program == "nvidia-smi":
            stdout = stdout.replace(self.settings.device, self.settings.device + REPLAYED)
        _say(stdout.encode(), stderr.encode())
        return int(answer["status"])

    def _answer(self, asked: Call) -> Answer:
        """Raises Unanswered, Damaged, OSError."""
        over = Path.cwd() / OVER
        if asked.ordered and over.exists():
            raise Unanswered(over.read_text())
        answers = self.answers.find(asked.key)
        if asked.ordered:
            earlier, at = _asked(asked.key)
            contests = list(dict.fromkeys(answer.get("contest", "") for answer in answers))
            answers = [one for one in answers if one.get("contest", "") in contests[earlier : earlier + 1]]
            at = at % len(answers) if answers and self.answers.repeats() else at
        else:
            at = len(answers) - 1
        if answers and at < len(answers):
            return answers[at]
        why = f"this cassette does not hold {asked.words}"
        if answers:
            why = f"the cassette has no more {asked.words}: it has {len(answers)}"
        if asked.ordered and answers:
            over.write_text(why)
        raise Unanswered(why)

    def _mark(self, made: Call) -> None:
        """What follows the end of an object is passed over by all who load it."""
        if made.makes in ("object", "linked"):
            with made.target.open("ab") as file:
                file.write(mark(made.key))
            return
        real = _real(made.target)
        real.parent.mkdir(exist_ok=True)
        made.target.replace(real)
        self._launch(made)

    def _launch(self, made: Call) -> None:
        _write(made.target, _launcher(self.folder, '"$0"') + mark(made.key), 0o755)


def _real(program: Path) -> Path:
    """Where the real program lies whose launcher has taken its place."""
    return program.parent / ".real" / program.name


def _launcher(folder: Path, program: str) -> bytes:
    home = Path(__file__).resolve().parents[3]
    words = [shlex.quote(word) for word in (sys.executable, "-I", "-S", "-c", _START, str(home), str(folder))]
    return f'#!/bin/sh\nexec {" ".join(words)} {program} "$@"\n'.encode()


@contextmanager
def _turn(number: int) -> Iterator[None]:
    """Alone among the calls of this job that take turns, and after those with a smaller number. Raises OSError."""
    until = time.monotonic() + TURN_S
    with (Path.cwd() / ".turns").open("ab") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX)
        while os.fstat(turns.fileno()).st_size < number - 1:
            fcntl.flock(turns, fcntl.LOCK_UN)
            if time.monotonic() > until:
                raise TimeoutError(f"call {number} of this job has waited {TURN_S:g} s for those before it")
            time.sleep(0.005)
            fcntl.flock(turns, fcntl.LOCK_EX)
        try:
            yield
        finally:
            turns.write(b"+")


def _contest(job: Path) -> str:
    """What the jobs of one contest have in common."""
    return job.name.rstrip("0123456789")


def _asked(key: str) -> tuple[int, int]:
    """How many other contests of this run have asked, and how often this one has. Only for whose turn it is.

    They count in their own folders, so that a job that is forgotten begins anew.
    """
    job = Path.cwd()
    run = [path.parent for path in job.parent.glob(f"{job.name.partition('.')[0]}.*/.asked-{key}")]
    own = [folder for folder in run if _contest(folder) == _contest(job)]
    asked = sum((folder / f".asked-{key}").stat().st_size for folder in own)
    with (job / f".asked-{key}").open("ab") as file:
        file.write(b"+")
    return len({_contest(folder) for folder in run} - {_contest(job)}), asked


def _write(path: Path, data: bytes, mode: int = 0o644) -> None:
    """All at once: another program may be about to start it."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.chmod(mode)
    fresh.replace(path)


def _say(stdout: bytes, stderr: bytes) -> None:
    for stream, data in ((sys.stdout, stdout), (sys.stderr, stderr)):
        stream.buffer.write(data)
        stream.flush()


def _refuse(why: str) -> int:
    _say(b"", f"kpd: {why}\n".encode())
    return UNANSWERED
