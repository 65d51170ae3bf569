"""The library is compiled on a host, and programs that cannot be observed say why. This machine needs no GPU."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.production.observe.errors import ObserveError
from kpd.production.observe.library import LIBRARY, library
from kpd.production.observe.record import HEADER, read_record
from kpd.production.observe.step import ObservedProgram, observe
from tests.support.production.programs import needs_cupti

pytestmark = needs_cupti
LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).InitializeInjection()"


def load(built: str, env: dict[str, str]) -> None:
    """Run a program that loads the library as CUDA's driver does, and ends well."""
    subprocess.run([sys.executable, "-c", LOAD, built], env=env, check=True)


def files(folder: Path, pattern: str) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in folder.glob(pattern)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all these tests' hosts: the library is compiled in it once."""
    return tmp_path_factory.mktemp("host")


@pytest.fixture
async def host(folder: Path) -> AsyncIterator[Host]:
    made = Host("local", PurePosixPath(folder), Local())
    await made.connect()
    yield made
    await made.close()


async def test_a_process_without_a_driver_leaves_a_record_that_says_so(host: Host, tmp_path: Path) -> None:
    built = await library(host)
    assert await library(host) == built and built.endswith(LIBRARY)
    env = {"KPD_OBSERVE_DIR": str(tmp_path), "KPD_OBSERVE_BYTES": "4096"}
    load(built, env)
    [(name, raw)] = files(tmp_path, "*.record")
    found = read_record(raw)
    assert len(raw) == HEADER + 4096 + (1 << 20)
    assert found.pid == int(name.partition("-")[0]) and found.program.startswith("python")
    assert not found.launches and (found.driver == 0) == any(one.startswith("callbacks") for one in found.warnings)


@pytest.mark.parametrize("records", ["", "/nonexistent/folder", "x" * 5000])
async def test_a_process_that_can_write_no_record_goes_on(host: Host, records: str) -> None:
    built = await library(host)
    env = {"KPD_OBSERVE_DIR": records} if records else {}
    load(built, env)


@pytest.mark.parametrize(
    ("run", "limit_s", "kind", "message"),
    [
        ("echo no CUDA here", 20, "no_cuda", "no process of the program left a record"),
        ("echo out of luck >&2; exit 7", 20, "failed", "the program ended with 7: out of luck"),
        ("exec sleep 60", 0.5, "endless", "the program did not end within 0.5 s"),
        ("kill -9 $$", 20, "failed", "the program ended with -9"),
    ],
)
async def test_a_program_that_cannot_be_observed_is_told(
    host: Host, tmp_path: Path, run: str, limit_s: float, kind: str, message: str
) -> None:
    with pytest.raises(ObserveError) as told:
        await observe(host, ObservedProgram(run, str(tmp_path), "saxpy", limit_s))
    assert (told.value.kind, bool(told.value.remedy)) == (kind, True)
    assert told.value.message.startswith(message)


async def test_a_folder_that_is_gone_is_told(host: Host) -> None:
    with pytest.raises(ObserveError, match="the folder /nonexistent is not there"):
        await observe(host, ObservedProgram("true", "/nonexistent", "saxpy", 20))


async def test_the_program_runs_with_its_environment_in_its_folder(host: Host, tmp_path: Path) -> None:
    run = 'pwd >seen; echo "$WORD" >>seen; cd "$KPD_OBSERVE_DIR" && test -f "$CUDA_INJECTION64_PATH" && echo ok >>'
    run += f"{tmp_path}/seen"
    with pytest.raises(ObserveError, match="no process of the program left a record"):
        await observe(host, ObservedProgram(run, str(tmp_path), "saxpy", 20, env={"WORD": "two words"}))
    assert files(tmp_path, "seen") == [("seen", f"{tmp_path}\ntwo words\nok\n".encode())]


async def test_a_program_whose_processes_launch_nothing_is_told(host: Host, tmp_path: Path) -> None:
    run = f"{sys.executable} -c '{LOAD}' \"$CUDA_INJECTION64_PATH\""
    with pytest.raises(ObserveError, match="started CUDA and launched no kernel") as told:
        await observe(host, ObservedProgram(run, str(tmp_path), "saxpy", 20, bytes=4096))
    assert told.value.kind == "no_cuda"
