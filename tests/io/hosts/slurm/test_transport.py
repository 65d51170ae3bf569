"""What is asked of Slurm, and given back: real scripts on this machine, which find a stand-in for Slurm's commands."""

import asyncio
import time
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.gpu_hours import GpuHours, Lent, hours_file
from kpd.hosts.transports import host_of
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace

COMMANDS = {
    "sbatch": "echo \"$@\" | sed 's/.*--job-name=\\([^ ]*\\).*/\\1/' > name; "
    "cat > batch; echo 7; sleep $(cat slow || echo 0)",
    "squeue": "cat queue",
    "scontrol": "echo JobId=7 JobName=$(cat name) JobState=FAILED ExitCode=127:0",
    "srun": 'while [ $1 != -N1 ]; do shift; done; shift 2; exec "$@"',
    "scancel": 'echo "$@" >> cancelled',
}


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    """Return the folder in which the stand-in keeps what it is told, beside the workspace."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    (folder / "queue").touch()
    for name, does in COMMANDS.items():
        (folder / name).write_text(f"#!/bin/sh\ncd {folder}\n{does}\n")
        (folder / name).chmod(0o755)
    table = f'[hosts.c]\ntransport = "slurm"\ntime = "10"\nbin = "{folder}"\n'
    (tmp_path / "config.toml").write_text(table)
    return folder


async def test_a_job_that_is_gone_before_it_is_seen_is_told_and_not_taken_for_a_lost_link(slurm: Path) -> None:
    workspace = Workspace(slurm.parent)
    host = host_of("c", load_config(workspace).hosts["c"], workspace)
    with pytest.raises(HostError, match=r"job 7 ended before kpd could use it \(FAILED 127:0\)") as caught:
        await host.transport.open()
    assert caught.value.kind == "host" and caught.value.again_s == 60
    with pytest.raises(HostError, match="the last of 2 in a row; kpd asks for the next in 2 min"):
        await host.transport.open()
    (slurm / "queue").write_text("a banner\n")
    with pytest.raises(HostError, match="strange line") as caught:
        await host.transport.open()
    assert caught.value.kind == "config"
    await host.transport.close()


async def test_an_end_of_a_job_that_has_the_id_of_an_earlier_one_is_none_of_that(slurm: Path) -> None:
    """A controller that crashes gives the ids of its last seconds again."""
    workspace = Workspace(slurm.parent)
    host = host_of("c", load_config(workspace).hosts["c"], workspace)
    (slurm / "scontrol").write_text("#!/bin/sh\necho JobId=7 JobName=other JobState=PENDING EndTime=99\n")
    (slurm / "sacct").write_text("#!/bin/sh\n")
    (slurm / "sacct").chmod(0o755)
    with pytest.raises(HostError, match=r"job 7 ended before kpd could use it \(unknown\)"):
        await host.transport.open()
    await host.transport.close()


async def test_an_allocation_whose_holder_is_gone_is_given_back_at_once_and_one_without_any_after_a_minute(
    slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kpd.hosts.slurm.transport.INSIDE_S", 0.2)
    workspace = Workspace(slurm.parent)
    host = host_of("c", load_config(workspace).hosts["c"], workspace)
    now = time.time()
    (slurm / "queue").write_text(f"8|RUNNING|None|{now:.0f}|{now + 600:.0f}|10:00|n1|gpu|N/A|a|me\n")
    with pytest.raises(HostError, match="job 8 runs, and its holder has not begun") as caught:
        await host.transport.open()
    assert caught.value.kind == "unreachable" and not (slurm / "cancelled").exists()
    monkeypatch.setattr("kpd.hosts.slurm.lent_job.BEGINS_S", 0.0)
    with pytest.raises(HostError, match=r"job 8 ran, and its holder did not begin .*; kpd asks for the next in 1 min"):
        await host.transport.open()
    assert "-n kpd-" in (slurm / "cancelled").read_text()
    (slurm / "cancelled").unlink()

    monkeypatch.undo()
    monkeypatch.setattr("kpd.hosts.slurm.transport.INSIDE_S", 0.2)
    GpuHours(hours_file(workspace)).note(Lent("c", "8", "me", "a", 0, now, now + 600))
    with pytest.raises(HostError, match="nobody holds job 8 any more") as caught:
        await host.transport.open()
    assert caught.value.kind == "unreachable" and "-n kpd-" in (slurm / "cancelled").read_text()
    assert not GpuHours(hours_file(workspace)).open("c")
    (slurm / "cancelled").unlink()

    GpuHours(hours_file(workspace)).note(Lent("c", "8", "me", "a", 0, now, now + 600))
    (slurm / "srun").write_text("#!/bin/sh\necho srun: error: Unable to contact slurm controller >&2; exit 1\n")
    with pytest.raises(HostError, match=r"job 8 cannot be entered: .*Unable to contact"):
        await host.transport.open()
    assert not (slurm / "cancelled").exists(), "what runs there may be well"
    await host.transport.close()


async def test_a_job_that_nobody_has_seen_yet_is_given_back_too(slurm: Path) -> None:
    workspace = Workspace(slurm.parent)
    host = host_of("c", load_config(workspace).hosts["c"], workspace)
    (slurm / "slow").write_text("1")
    opening = asyncio.create_task(host.transport.open())
    while not (slurm / "batch").exists():
        assert not opening.done()
        await asyncio.sleep(0.02)
    opening.cancel()
    await asyncio.wait([opening])
    await host.transport.close()
    assert "-n kpd-" in (slurm / "cancelled").read_text()


async def test_of_jobs_that_were_submitted_twice_all_but_the_oldest_are_cancelled(slurm: Path) -> None:
    workspace = Workspace(slurm.parent)
    host = host_of("c", load_config(workspace).hosts["c"], workspace)
    waits = "|PENDING|Priority|N/A|N/A|10:00||gpu|N/A|a|me"
    (slurm / "queue").write_text(f"9{waits}\n8{waits}\n")
    with pytest.raises(HostError, match="job 8 waits"):
        await host.transport.open()
    assert (slurm / "cancelled").read_text() == "9\n"
    await host.transport.close()


async def test_no_allocation_is_asked_for_once_the_gpu_hours_of_the_day_are_used(slurm: Path) -> None:
    workspace = Workspace(slurm.parent)
    with workspace.config.open("a") as config:
        config.write('gres = "gpu:2"\nmax_gpu_hours_per_day = 0.01\n')  # 18 s of two GPUs
    host = host_of("c", load_config(workspace).hosts["c"], workspace)
    with pytest.raises(HostError, match=r"0\.00 of the 0\.01 GPU hours for today \(UTC\) are used") as caught:
        await host.transport.open()
    assert caught.value.kind == "released" and caught.value.again_s == 600
    assert not (slurm / "batch").exists()
    await host.transport.close()


async def test_an_end_that_no_daemon_saw_is_asked_of_slurms_accounts(slurm: Path) -> None:
    workspace = Workspace(slurm.parent)
    now = time.time()
    hours = GpuHours(hours_file(workspace))
    hours.note(Lent("c", "5", "me", "a", 2, now - 6000, now + 6000))
    (slurm / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    (slurm / "sacct").write_text(f"#!/bin/sh\necho 'CANCELLED by 0|{now - 4200:.0f}'\n")
    (slurm / "sacct").chmod(0o755)
    (slurm / "queue").write_text("8|PENDING|Priority|N/A|N/A|10:00||gpu|N/A|a|me\n")
    host = host_of("c", load_config(workspace).hosts["c"], workspace)
    with pytest.raises(HostError, match="job 8 waits"):
        await host.transport.open()
    assert [round(one.hours(now)) for one in hours.read()] == [1]
    await host.transport.close()


async def test_what_other_allocations_of_the_table_may_still_use_of_the_day_is_left_to_them(slurm: Path) -> None:
    workspace, now = Workspace(slurm.parent), time.time()
    with workspace.config.open("a") as config:
        config.write('gres = "gpu:2"\nmax_allocations = 2\nmax_gpu_hours_per_day = 3\n')
    hours = GpuHours(hours_file(workspace))
    hours.note(Lent("c.2", "5", "me", "a", 2, now, now + 3600, table="c"))
    host = host_of("c", load_config(workspace).hosts["c"], workspace)
    with pytest.raises(HostError, match="ended before kpd could use it"):  # it has asked for ten minutes
        await host.transport.open()
    hours.note(Lent("c.2", "5", "me", "a", 2, now, now + 5100, table="c"))
    with pytest.raises(HostError, match=r"GPU hours for today \(UTC\) are used, and 2\.83 more go to others of c"):
        await host.transport.open()
    await host.transport.close()
