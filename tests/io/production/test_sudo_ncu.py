"""Durations from Nsight Compute under sudo: both are programs of the PATH, which stand in for the real ones here."""

import lzma
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.production.check import preflight
from kpd.production.observe.launches import KernelTotal, SeenLaunch
from kpd.production.observe.names import KernelName, read_name
from kpd.production.observe.observation import Observation, observation
from kpd.production.observe.step import ObservedProgram
from kpd.production.observe.sudo_ncu import durations, joined, timed
from kpd.source.values import Dim3
from tests.places import DATA
from tests.support.production.provers import content, made, place_at

SYMBOL = "_Z5twicei"
SUDO = """#!/bin/sh
[ "$1" = -n ] || exit 9
[ -e "$HOME/asks" ] && { echo 'sudo: a password is required' >&2; exit 1; }
shift
exec "$@"
"""
NCU = """#!/bin/sh
[ "$1" = --version ] && { echo 'Version 2025.3.1.0 (build 36398880) (public-release)'; exit; }
echo "$*" >> "$HOME/words"
while [ "$1" != /bin/sh ]; do [ "$1" = --log-file ] && log=$2; shift; done
cat "$HOME/page.csv" > "$log"
exec "$@"
"""
CHOWN = """#!/bin/sh
echo "$@" >> "$HOME/given"
"""
PAGE = """==PROF== Connected to process 77
"ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum"
"","","","","ns"
"0","_Z5twicei","(32, 8, 1)","(2, 2, 1)","4,416"
"1","_Z5twicei","(32, 8, 1)","(4, 2, 1)","2000.5"
"""


def seen(*grids: int) -> Observation:
    """What was launched, without durations."""
    launched = [SeenLaunch(SYMBOL, Dim3(x, 2), Dim3(32, 8), 0, 0, 0, 0, 0, (), (), "", None) for x in grids]
    totals = [KernelTotal(SYMBOL, len(grids), None)]
    return observation(read_name(SYMBOL, "twice(int)"), None, launched, totals, {}, [], "2026-11-27T14:00:00")


def test_a_raw_page_is_read_in_any_unit_and_joined_launch_by_launch() -> None:
    found = durations(PAGE)
    assert [one.us for one in found] == [4.416, 2.0005]
    assert [one.us for one in durations(PAGE.replace('"ns"', '"usecond"'))] == [4416.0, 2000.5]
    done = joined(seen(2, 4), found)
    assert ([one.duration_us for one in done.launches], done.coverage.timed, done.problems) == ([4.416, 2.0005], 2, ())
    for grids, said in (
        ((2, 4, 4), "3 launches were observed, and sudo ncu has seen 2"),
        ((2, 3), "launch 1 has another"),
    ):
        other = joined(seen(*grids), found)
        assert said in other.problems[0] and other.coverage.timed == 0
    assert durations("") == durations('"ID","Kernel Name"\n"0","k"\n') == []


def test_what_a_real_ncu_has_written_is_read() -> None:
    found = durations(lzma.decompress((DATA / "ncu" / "baseline.raw.csv.xz").read_bytes()).decode())
    assert (len(found), found[0].us, found[1].us) == (5, 287.488, 20.416)
    assert (found[0].grid, found[0].block) == (Dim3(65536), Dim3(256))


async def test_the_program_runs_once_more_and_who_may_not_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name, text in (("sudo", SUDO), ("ncu", NCU), ("chown", CHOWN)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "page.csv").write_text(PAGE)
    project = made(tmp_path / "prover", sudo_ncu=True)
    before = content(tmp_path / "prover")
    program = ObservedProgram('echo "$WORD" >> ran', project.root, "twice", 5.0, {"WORD": "it's @RUN@"})
    async with place_at(project, tmp_path) as place:

        async def problems(of: ObservedProgram) -> tuple[str, ...]:
            return (await timed(place.host, "ncu", of, project.root, seen(2, 4))).problems

        done = await timed(place.host, "ncu", program, project.root, seen(2, 4))
        assert (done.coverage.timed, done.problems) == (2, ())
        logged = replace(seen(2, 4), name=KernelName("", "imaging::twice", "", None))  # by lines in the source
        assert (await timed(place.host, "ncu", program, project.root, logged)).coverage.timed == 2
        first, second = (tmp_path / "words").read_text().split("--kernel-name-base ")[1:]
        assert first.startswith("mangled ") and f" --kernel-name {SYMBOL} " in first
        assert second.startswith("function ") and " --kernel-name twice " in second
        assert await problems(replace(program, run="echo no >&2; exit 3")) == ("sudo ncu gave no durations: no",)
        slow = replace(program, run="sleep 60", limit_s=0.4)
        assert "it ended with 124" in (await problems(slow))[0]
        assert await problems(replace(slow, endless=True)) == ()
        given = [line for line in (tmp_path / "given").read_text().splitlines() if line.endswith("/out/ncu.csv")]
        assert len(given) == 5, "the user gets what root has written, also where the program was ended"
        _, checks = await preflight(place)
        assert {one.name: one.state for one in checks}["sudo ncu"] == "ok"
        (tmp_path / "asks").touch()
        _, checks = await preflight(place)
        [bad] = [one for one in checks if one.name == "sudo ncu"]
        assert (bad.state, "a password is required" in bad.found, "NOPASSWD: " in bad.remedy) == ("bad", True, True)
    assert (tmp_path / "prover" / "ran").read_text() == "it's @RUN@\n" * 2
    assert content(tmp_path / "prover") == before
