"""A confined job reads programs, libraries and what its script names, writes in its folder, and reaches no more."""

import os
import socket
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.helper import sandbox
from kpd.hosts.host import Host, JobSpec
from kpd.hosts.local import Local
from tests.support.hosts.local import host

__all__ = ["host"]

KERNEL = "int answer(void) { return 42; }\n"


async def said(host: Host, id: str, script: str) -> tuple[int, str, str]:
    result = await host.job(JobSpec(id, script, 20.0, confined=True))
    return result.rc, result.stdout.decode(), result.stderr.decode()


def test_this_kernel_has_landlock() -> None:
    if sys.platform == "linux" and Path("/sys/kernel/security/lsm").exists():
        assert (sandbox.version() > 0) == ("landlock" in Path("/sys/kernel/security/lsm").read_text())


async def test_a_compiler_works_and_what_it_made_is_read_by_the_next_job(host: Host) -> None:
    tree = await host.stage({"kernel.c": KERNEL.encode()})
    compile_ = f"cc -O2 -shared -fPIC {host.root}/trees/{tree}/kernel.c -o out/kernel.so && echo built"
    assert await said(host, "build", compile_) == (0, "built\n", "")
    assert await said(host, "copy", f"cp {host.root}/jobs/build/out/kernel.so k.so && ls k.so") == (0, "k.so\n", "")


async def test_a_source_embeds_no_file_of_the_users(host: Host, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the key")
    source = (
        f'__asm__(".incbin \\"{tmp_path}/secret\\"");\n#if __has_include("{tmp_path}/secret")\n#error seen\n#endif\n'
    )
    tree = await host.stage({"kernel.c": source.encode()})
    rc, _, stderr = await said(host, "build", f"cc -c {host.root}/trees/{tree}/kernel.c -o out/k.o")
    assert rc == 1 and "Permission denied" in stderr and "seen" not in stderr


@pytest.mark.parametrize(
    "act",
    [
        "cat {outside}/secret",
        "ls {outside}",
        "echo forged >{outside}/secret",
        "rm {outside}/secret",
        "echo forged >{root}/jobs/other/out/kernel.so",
        "cat {root}/jobs/other/cmd",
        "kill -0 {pid}",
        "mkdir /dev/shm/left-behind",
    ],
)
async def test_nothing_outside_is_reached(host: Host, tmp_path: Path, act: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("the key")
    assert await said(host, "other", "echo right >out/kernel.so") == (0, "", "")
    script = act.format(outside=tmp_path / "outside", root=host.root, pid=os.getpid())
    rc, stdout, stderr = await said(host, "act", script)
    assert rc != 0 and stdout == "" and ("ermission denied" in stderr or "not permitted" in stderr)
    assert (tmp_path / "outside" / "secret").read_text() == "the key"
    assert (tmp_path / "host" / "jobs" / "other" / "out" / "kernel.so").read_text() == "right\n"


@pytest.mark.parametrize("what", ["environ", "maps", "mem", "auxv", "syscall"])
async def test_a_process_outside_shows_nothing_of_itself(host: Host, what: str) -> None:
    _, stdout, _ = await said(host, "look", f"head -c 100 /proc/{os.getpid()}/{what} | wc -c")
    assert stdout.strip() == "0"


async def test_the_network_is_out_of_reach(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        rc, _, stderr = await said(host, "net", f"bash -c 'echo reached >/dev/tcp/127.0.0.1/{port}'")
    assert rc == 1 and "Permission denied" in stderr


async def test_folders_that_the_config_names_are_open(tmp_path: Path) -> None:
    for name in ("reads", "writes"):
        (tmp_path / name).mkdir()
    (tmp_path / "reads" / "header.h").write_text("#define ANSWER 42\n")
    folders = {"reads": (str(tmp_path / "reads"),), "writes": (str(tmp_path / "writes"),)}
    host = Host("local", PurePosixPath(tmp_path / "host"), Local(), **folders)
    await host.connect()
    try:
        script = f"cat {tmp_path}/reads/header.h >{tmp_path}/writes/copy; echo more >>{tmp_path}/reads/header.h"
        rc, _, _ = await said(host, "job", script)
    finally:
        await host.close()
    assert rc == 2
    assert (tmp_path / "writes" / "copy").read_text() == (tmp_path / "reads" / "header.h").read_text()


@pytest.mark.skipif(not sandbox.bubblewrap(), reason="bubblewrap is not installed here, or may make no namespaces")
def test_bubblewrap_confines_where_landlock_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("job", "other", "tree"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"{name}\n")
    monkeypatch.chdir(tmp_path / "job")
    monkeypatch.setattr(sandbox, "version", lambda: 0)
    confined = sandbox.Sandbox((str(tmp_path / "tree"),), (str(tmp_path / "job"),))
    other, tree = tmp_path / "other" / "file", tmp_path / "tree" / "file"
    script = f"""
        cat {tree} && echo made >out && echo forged >{tree} || echo refused
        cat {other} || echo unseen
        kill -0 {os.getpid()} || echo alone
        ls /proc/{os.getpid()} || echo hidden
    """
    ran = subprocess.run([*sandbox.confine(confined), "/bin/sh", "-c", script], capture_output=True, text=True)
    assert ran.stdout.split() == ["tree", "refused", "unseen", "alone", "hidden"]
    assert (tmp_path / "job" / "out").read_text() == "made\n" and tree.read_text() == "tree\n"


def test_bubblewrap_is_tried_with_the_rights_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bwrap"
    monkeypatch.setenv("PATH", str(tmp_path))
    for line, works in (("echo works", True), ('case "$*" in *--unshare-net*) exit 1 ;; esac; echo works', False)):
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
        assert bool(sandbox.bubblewrap.__wrapped__()) is works
    program.write_text("no program")
    assert not sandbox.bubblewrap.__wrapped__()


def test_a_path_has_the_libraries_of_its_programs() -> None:
    found = sandbox.toolchains("/opt/cuda/bin:relative:/home/me/tools:/bin:")
    assert found[:3] == ["/opt/cuda/bin", "/opt/cuda/lib*", "/opt/cuda/include"]
    assert "/home/me/tools" in found and "/home/me/lib*" not in found and "/lib*" not in found


def test_a_job_that_is_not_confined_is_not(tmp_path: Path) -> None:
    assert not JobSpec("job", "true", 1.0).confined


OPENS = """
import os, sys
from kpd.hosts.helper.sandbox import Sandbox, confine, narrow
{confined}
for path in ("/proc/self/comm", "/dev/null", "/proc/sys/kernel/core_pattern", f"/proc/{{os.getppid()}}/oom_score_adj"):
    try: os.close(os.open(path, os.O_WRONLY)); print("opened")
    except PermissionError: print("refused")
"""


@pytest.mark.parametrize(
    "confined",
    [
        "confine(Sandbox(tuple(filter(None, sys.path)), gpu=True, single=True))",
        'narrow((os.getcwd(), "/dev", "/proc/self"))',
    ],
    ids=["a worker", "under a profiler"],
)
def test_what_runs_a_candidate_on_a_gpu_writes_in_its_own_part_of_proc(confined: str) -> None:
    ran = subprocess.run([sys.executable, "-c", OPENS.format(confined=confined)], capture_output=True, text=True)
    assert (ran.stdout.split(), ran.stderr) == (["opened", "opened", "refused", "refused"], "")
