"""One glance at a host: what an H200 said when it was asked, what a hostile host says, and who holds which lease."""

import fcntl
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.hosts.job import CommandResult
from kpd.hosts.local import Local
from kpd.hosts.preflight import device_status
from kpd.model.codec import decode, encode
from kpd.model.hosts import Device, GpuProcess, Telemetry
from tests.support.hosts.glance import APPS, BUSY, GPU
from tests.support.hosts.installs import Install, install as install
from tests.support.hosts.local import host_at, linux_only
from tests.support.hosts.pythons import oldest_python
from tests.support.hosts.remote_daemon import far_end

OTHER = "GPU-11111111-4c88-4ef2-b607-c1a299d515b3"
IDLE = f"{OTHER}, 375, 3201, 110.28, 700.00, 33, 0, 0, 0x0000000000000001"


def said(gpus: str, apps: str = "", rc: int | None = 0) -> CommandResult:
    return CommandResult(rc, f"{gpus}\n{device_status.BETWEEN}\n{apps}\n".encode(), b"")


def seen(
    ran: CommandResult | None,
    owners: Mapping[str, Any],
    *devices: str,
    tolerate: tuple[str, ...] = (),
    at: float = 2e9,
    skew_s: float = 0.0,
) -> dict[str, Telemetry]:
    return device_status.telemetry(devices, device_status.figures(ran), owners, tolerate, at, skew_s)


# ── what nvidia-smi says ──────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_real_gpu_said() -> None:
    found = seen(said(f"{BUSY}\n{IDLE}", APPS), {}, GPU, OTHER)
    assert found[GPU] == Telemetry(
        2e9, sm_mhz=1980, memory_mhz=3201, power_w=118.3, power_limit_w=700, temperature_c=34, memory_used_mib=527,
        busy_pct=17, computes=(GpuProcess(423, "python3", 518),),
    )  # fmt: skip
    assert found[OTHER].sm_mhz == 375
    assert found[OTHER].slowed == (), "a GPU that idles is not slowed down"
    assert found[OTHER].computes == ()


def test_why_a_clock_is_low_is_said_in_words_each_once() -> None:
    reasons = BUSY.replace("0x0000000000000000", "0x0000000000000064")
    assert seen(said(reasons), {}, GPU)[GPU].slowed == ("power limit", "too hot")


@pytest.mark.parametrize(
    "bad", ["[N/A]", "[Unknown Error]", "", "-5", "1e9", "nan", "9999999999", "١٢", "12 W", "0x10", "99999999"]
)
def test_a_figure_that_makes_no_sense_is_missing_and_spoils_no_other(bad: str) -> None:
    found = seen(said(BUSY.replace("118.30", bad).replace("527", bad)), {}, GPU)[GPU]
    assert found.power_w is None
    assert (found.memory_used_mib is None) == (bad != "99999999")
    assert (found.sm_mhz, found.temperature_c) == (1980, 34)


@pytest.mark.parametrize(
    ("ran", "trouble"),
    [
        (CommandResult(1, b"no nvidia-smi\n", b""), "no nvidia-smi"),
        (
            CommandResult(1, b"NVIDIA-SMI has failed because it couldn't communicate\nwith\n", b""),
            "NVIDIA-SMI has failed",
        ),
        (CommandResult(None, b"", b""), "nvidia-smi does not answer within 10 s"),
        (CommandResult(6, b"", b""), "nvidia-smi ended with 6 and said nothing"),
        (said("\x1b[2J\x1b[31mred"), "[2J [31mred"),
        (said(IDLE), "nvidia-smi does not list it any more"),
    ],
)
def test_no_figures_but_a_reason(ran: CommandResult, trouble: str) -> None:
    found = seen(ran, {}, "cpu", GPU)
    assert trouble in found[GPU].trouble
    assert found[GPU].sm_mhz is None
    assert found["cpu"] == Telemetry(2e9), "nvidia-smi says nothing of a CPU"


def test_whose_a_process_is() -> None:
    apps = "\n".join(f"{GPU}, {pid}, [N/A], {name}" for pid, name in enumerate(("a", "b", "my,train\x1b[1m", "d"), 1))
    owners = {"owners": {"1": "kpd", "2": "unseen", "3": "other", "4": "other"}}
    found = seen(said(BUSY, f"{apps}\n{OTHER}, 9, 1, elsewhere\nwarning"), owners, GPU, tolerate=("d",))[GPU].computes
    assert [(one.pid, one.whose) for one in found] == [(1, "kpd"), (2, "unseen"), (3, "foreign"), (4, "tolerated")]
    assert found[2] == GpuProcess(3, "my,train [1m", None, "foreign")


@given(st.text(max_size=400), st.text(max_size=400), st.integers(0, 3) | st.none())
def test_whatever_is_printed_the_figures_are_harmless(gpus: str, apps: str, rc: int | None) -> None:
    for text in (gpus, f"{BUSY}\n{gpus}"):
        found = seen(said(text, f"{GPU}, 1, 1, {apps}"), {}, GPU)[GPU]
        for shown in (found.trouble, *(one.name for one in found.computes)):
            assert shown.isprintable()
            assert len(shown) <= 200
        assert decode(encode(found), Telemetry) == found


# ── who holds the lease ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("owners", "holder", "since"),
    [
        ({"leases": {"cpu": {"holder": "op@lab, r1.4.1-time", "since": 1.9e9 + 5}}}, "op@lab, r1.4.1-time", 1.9e9),
        ({"leases": {"cpu": {"holder": "", "since": 0.0}}}, "", 0.0),
        ({"leases": {"cpu": {"holder": "x" * 500, "since": "noon"}}}, "x" * 119 + "…", 0.0),
        ({"leases": {"cpu": {"holder": 7, "since": 5e9}}}, "7", 0.0),
        ({"leases": {"cpu": [1]}}, "", 0.0),
        ({"leases": 4}, "", 0.0),
        ({}, "", 0.0),
    ],
)
def test_what_the_helper_says_of_a_lease_is_believed_as_far_as_it_makes_sense(
    owners: dict[str, Any], holder: str, since: float
) -> None:
    found = seen(None, owners, "cpu", skew_s=5.0)["cpu"]
    assert (found.holder, found.since) == (holder, since)


def test_a_lock_that_cannot_be_read_says_why() -> None:
    owners = {"leases": {"cpu": {"error": "the lease file\n/x cannot be used: denied"}}}
    assert seen(None, owners, "cpu")["cpu"].unlocked == "the lease file /x cannot be used: denied"


@linux_only
async def test_the_helper_tells_who_holds_which_lock_and_takes_none(tmp_path: Path) -> None:
    leases = tmp_path / "leases"
    for python in dict.fromkeys((None, oldest_python())):
        transport = Local() if python is None else Local(python)
        async with far_end(tmp_path / "host", leases, transport) as far:
            leases.mkdir(exist_ok=True)
            line = {"token": 3, "holder": "op@lab, r1.4", "pid": os.getpid(), "since": 1.9e9}
            with (leases / "cpu.lock").open("w") as held:
                held.write(json.dumps(line) + "\n")
                held.flush()
                asked = {"devices": ["cpu", GPU, "../../etc/passwd"], "pids": [os.getpid(), (1 << 22) + 17]}
                before = await far.ask("holders", **asked)
                fcntl.flock(held, fcntl.LOCK_EX)
                while_held = await far.ask("holders", **asked)
            (leases / "cpu.lock").unlink()
            (leases / "cpu.lock").mkdir()
            spoiled = await far.ask("holders", **asked)
            (leases / "cpu.lock").rmdir()
        assert before["leases"]["cpu"]["holder"] == "", "what is written counts only while it is locked"
        signed = {"holder": "op@lab, r1.4", "pid": os.getpid(), "since": 1.9e9, "foreign": ""}
        assert while_held["leases"]["cpu"] == signed
        assert "not the name of a device" in while_held["leases"]["../../etc/passwd"]["error"]
        assert "error" in spoiled["leases"]["cpu"]
        assert before["owners"] == {str(os.getpid()): "other", str((1 << 22) + 17): "unseen"}
        assert not list(leases.iterdir()), "a look makes no files"


# ── all of it ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_glance_at_a_host_with_two_gpus(tmp_path: Path, install: Install) -> None:
    asked = tmp_path / "asked"
    install(
        "nvidia-smi",
        f'echo "$1" >>{asked}\n'
        f"case \"$1\" in --query-gpu=*) printf '%s\\n' '{BUSY}' '{IDLE}' ;; *) echo '{APPS}' ;; esac",
    )
    async with host_at(tmp_path / "host") as host:
        host.tolerate = ("python3",)
        found = await host.device_status(("cpu", GPU, OTHER), gpus=True)
        without = await host.device_status(("cpu",), gpus=False)
    assert len(asked.read_text().splitlines()) == 2, "who has no GPU is not asked for one"
    assert (found[GPU].sm_mhz, found[OTHER].sm_mhz) == (1980, 375)
    assert [one.whose for one in found[GPU].computes] == ["tolerated"]
    assert abs(found["cpu"].at - time.time()) < 60
    assert without.keys() == {"cpu"}


async def test_programs_that_fail_half_way_leave_what_there_was(tmp_path: Path, install: Install) -> None:
    install("nvidia-smi", f"case \"$1\" in --query-gpu=*) echo '{BUSY}' ;; *) echo oops; exit 9 ;; esac")
    async with host_at(tmp_path / "host") as host:
        found = await host.device_status((GPU,), gpus=True)
        install("nvidia-smi", "exit 6")
        failed = await host.device_status((GPU,), gpus=True)
    assert (found[GPU].sm_mhz, found[GPU].computes) == (1980, ())
    assert failed[GPU].trouble == "nvidia-smi ended with 1 and said nothing"


def test_cards_of_older_logs_have_no_telemetry() -> None:
    assert decode('{"id": "cpu", "kind": "cpu", "name": "Xeon"}', Device).telemetry is None
