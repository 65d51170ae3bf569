"""A project checked before anything of it is changed, and its build."""

import os
from dataclasses import replace
from pathlib import Path

from elftools.elf.elffile import ELFFile

from kpd.model.hosts import Check
from kpd.production.check import check_build, preflight
from kpd.production.far.disk import beside_sections
from tests.support.production.provers import BUILD, FASTER, SOURCE, built, content, made, place_at


def states(checks: list[Check]) -> dict[str, str]:
    return {one.name: one.state for one in checks}


async def test_a_check_changes_nothing_and_normalise_keeps_what_the_source_builds(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    async with place_at(made(root), tmp_path) as place:
        (root / "src" / "kernel.c").write_bytes(FASTER)  # the binary is of an earlier source
        found, checks = await preflight(place)
        assert found is not None and set(states(checks).values()) == {"ok"}
        assert not (tmp_path / "places").exists()
        assert states((await check_build(place, normalise=False))[1])["binary"] == "bad"
        assert content(root) == (FASTER, built(SOURCE)[1])
        await check_build(place, normalise=True)
        assert content(root) == built(FASTER)
        record, checks = await check_build(place, normalise=False)
        assert (states(checks), record.state) == ({"build": "ok", "binary": "ok", "elsewhere": "ok"}, "restored")


async def test_a_check_that_is_taken_back_hides_nothing_from_a_build_that_goes_by_times(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root, build=f"[ target/prover -nt src/kernel.c ] || {{ {BUILD}; }}")
    (root / "src" / "kernel.c").write_bytes(FASTER)
    os.utime(root / "target" / "prover", ns=(10**18, 10**18))
    async with place_at(project, tmp_path) as place:
        for _ in range(2):
            assert states((await check_build(place, normalise=False))[1])["binary"] == "bad"
            assert (root / "target" / "prover").stat().st_mtime_ns == 10**18
        await check_build(place, normalise=True)
        assert content(root) == built(FASTER)


NAMED = "cc -shared src/kernel.c -o target/new && objcopy --add-symbol tmp$$=.text:0 target/new target/prover"
"""A build that leaves the number of a process among the symbols, as nvcc does."""


async def test_a_binary_is_told_by_what_runs_and_not_by_names_of_temporary_files(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    async with place_at(made(root, build=f"{NAMED} && cat src/tail >> target/prover"), tmp_path) as place:
        (root / "src" / "tail").write_bytes(b"what it reads from its own file\0")
        await check_build(place, normalise=True)
        record, checks = await check_build(place, normalise=False)
        (binary,) = [entry for entry in record.entries if entry.kind == "binary"]
        assert binary.wrote[-1] != binary.sha, "no two builds have the same bytes"
        assert states(checks)["binary"] == "ok"
        binary_now = root / "target" / "prover"
        with binary_now.open("rb") as file:
            sections = [one for one in ELFFile(file).iter_sections() if one["sh_type"] != "SHT_NOBITS"]
            assert all(one["sh_offset"] + one["sh_size"] < binary_now.stat().st_size - 32 for one in sections)
        assert beside_sections(binary_now) == [b"what it reads from its own file\0"]
        (root / "src" / "tail").write_bytes(b"what it reads from its own file!")
        assert states((await check_build(place, normalise=False))[1])["binary"] == "bad"
        await check_build(place, normalise=True)
        (root / "src" / "kernel.c").write_bytes(FASTER.replace(b"x + x", b"x * 3"))
        assert states((await check_build(place, normalise=False))[1])["binary"] == "bad"


LINKED_LATER = (
    "cc -c src/kernel.c -o target/kernel.o && ar cr target/new target/kernel.o && mv target/new target/prover"
)
"""A build of a library, which names what it calls by symbols alone."""


async def test_a_library_that_calls_another_function_is_another_program(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    calls = b"int one(int x);\nint two(int x);\nint twice(int x) { return one(x); }\n"
    async with place_at(made(root, calls, LINKED_LATER), tmp_path) as place:
        await check_build(place, normalise=True)
        assert states((await check_build(place, normalise=False))[1])["binary"] == "ok"
        (root / "src" / "kernel.c").write_bytes(calls.replace(b"return one", b"return two"))
        assert states((await check_build(place, normalise=False))[1])["binary"] == "bad"


async def test_a_check_leaves_a_file_alone_that_has_the_name_of_a_new_one(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    async with place_at(made(root), tmp_path) as place:
        theirs = root / "src" / ".kernel.c.kpd-new"
        theirs.write_text("theirs\n")
        await preflight(place)
        assert theirs.read_text() == "theirs\n"


async def test_a_project_that_does_not_build_or_lacks_its_kernel(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root, build="echo half > target/prover; exit 3", kernel="once", context=("src/absent.h",))
    async with place_at(project, tmp_path) as place:
        checks = (await preflight(place))[1]
        assert {name for name, state in states(checks).items() if state == "bad"} == {"kernel", "context"}
        _, checks = await check_build(place, normalise=True)
        assert [one.found for one in checks if one.state == "bad"] == [f"{project.build}: ends 3"]
        assert content(root) == built(SOURCE)


async def test_a_build_that_never_ends(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    async with place_at(
        made(root, build="echo half > target/prover; sleep 300", limit_build="0.5s"), tmp_path
    ) as place:
        _, checks = await check_build(place, normalise=True)
        assert "took longer than 0.5s" in checks[0].found
        assert content(root) == built(SOURCE)


async def test_a_first_build_is_kept_or_removed_again(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    async with place_at(made(root), tmp_path) as place:
        (root / "target" / "prover").unlink()
        assert states((await preflight(place))[1])["binary"] == "bad"
        await check_build(place, normalise=False)
        assert not (root / "target" / "prover").exists()
        await check_build(place, normalise=True)
        assert content(root) == built(SOURCE)


async def test_a_root_in_which_nothing_can_be_written_is_told(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    name = f"src/{'k' * 250}.c"  # root may write anywhere, but under no longer name
    project = replace(made(root), files=(name,))
    (root / name).write_bytes(SOURCE)
    async with place_at(project, tmp_path) as place:
        found, checks = await preflight(place)
        assert found is None and states(checks)["files"] == "bad"
