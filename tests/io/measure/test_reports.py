"""A job's lines as they come: whole, bounded, and tainted by whoever else was on the device."""

import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobSpec, LeaseRequest, OutputChunk
from kpd.measure.reports import LONGEST, DeviceWatch, LineReader, ReportLine, reports
from kpd.model.codec import CodecError
from tests.support.hosts.gpu_leases import GPU, Smi, process
from tests.support.hosts.local import linux_only
from tests.support.measure.reports import _host, _nvidia, read

__all__ = ["_host", "_nvidia"]


@given(st.lists(st.text("ab\n", max_size=9).map(str.encode), max_size=9))
def test_lines_are_the_same_however_the_stream_is_cut(pieces: list[bytes]) -> None:
    lines, found, at = LineReader(), [], 0
    for data in pieces:
        found += lines.add(OutputChunk("stdout", at, data))
        at += len(data)
    whole = b"".join(pieces)
    assert [line.text for line in found] == whole.split(b"\n")[:-1]
    assert all(whole[line.start : line.end] == line.text + b"\n" for line in found)


def test_bytes_that_are_missing_are_noticed() -> None:
    lines = LineReader()
    assert lines.add(OutputChunk("stdout", 0, b"one\ntw")) == [ReportLine(b"one", 0, 4)]
    with pytest.raises(CodecError, match="missing"):
        lines.add(OutputChunk("stdout", 7, b"o\n"))


def test_a_line_without_end_is_not_collected_for_ever() -> None:
    lines = LineReader()
    part = b"x" * (1 << 20)
    for number in range(LONGEST >> 20):
        assert lines.add(OutputChunk("stdout", number << 20, part)) == []
    with pytest.raises(CodecError, match="more than"):
        lines.add(OutputChunk("stdout", LONGEST, b"x\n"))


def noted(*notes: dict[str, Any], watched: bool = True) -> DeviceWatch:
    watch = DeviceWatch(watched)
    watch.add(b"".join(json.dumps(note).encode() + b"\n" for note in notes))
    return watch


def foreign(since: int, size: int) -> dict[str, Any]:
    return {"foreign": [{"pid": 77, "name": "train"}], "from": since, "to": size}


@pytest.mark.parametrize(
    ("notes", "tainted"),
    [
        ([foreign(0, 5), {"clear": 5}], "a"),  # the first was writing all the time
        ([foreign(0, 10), {"clear": 10}], "ab"),  # the first had ended, the second ran
        ([foreign(10, 15), {"clear": 15}], "b"),  # the first had ended at the last clear look
        ([foreign(10, 10), {"clear": 10}], "b"),  # nothing was written between the looks
        ([foreign(10, 10), {"clear": 25}], "bc"),  # they may have gone just before the next clear look
        ([foreign(10, 10), foreign(10, 20), {"clear": 20}], "bc"),
        ([foreign(0, 0), {"clear": 5}, foreign(20, 25), {"clear": 25}], "ac"),
        ([foreign(15, 20)], "bcd"),  # they never went
        ([foreign(40, 40)], ""),  # they came after the last
        ([{"clear": 20}], ""),
    ],
)
def test_every_process_that_may_have_had_company_is_tainted(notes: list[dict[str, Any]], tainted: str) -> None:
    watch = noted(*notes)
    lines = [ReportLine(name.encode(), 10 * at, 10 * at + 10) for at, name in enumerate("abcd")]
    found = {line.text.decode(): watch.judge(line).taint for line in lines}
    assert {name for name, taint in found.items() if taint} == set(tainted)
    assert set(found.values()) <= {"", "foreign processes on the device: train (77)"}


def test_a_line_is_good_only_when_somebody_has_looked() -> None:
    assert noted().known == 0
    assert noted({"clear": 20}).known == 20
    assert noted({"clear": 20}, foreign(20, 50)).known == 50
    assert noted({"unwatched": "no nvidia-smi"}).known > 1 << 62
    assert noted(watched=False).known > 1 << 62


@pytest.mark.parametrize(
    "note", [{"clear": "20"}, {"foreign": "all", "from": 0, "to": 9}, {"foreign": [], "from": None, "to": 9}, {"x": 1}]
)
def test_notes_of_another_form_say_nothing(note: dict[str, Any]) -> None:
    watch = noted(note)
    assert (watch.known, watch.seen) == (0, [])


@linux_only
async def test_processes_that_were_alone_on_a_gpu_are_good(host: Host) -> None:
    found, end = await read(host, "echo one; echo two", LeaseRequest(GPU, gpu=True))
    assert found == [("one", ""), ("two", "")]
    assert (end.taint, end.token) == ("", 1)


@linux_only
async def test_who_is_seen_at_the_end_taints_what_was_written_since_the_look_before(host: Host, nvidia: Smi) -> None:
    async with process() as pid:
        listed = f"echo '{pid}, train, {GPU}' > {nvidia.path}"
        found, _ = await read(host, f"echo one; {listed}; echo two", LeaseRequest(GPU, gpu=True))
    taint = f"foreign processes on the device: train ({pid})"
    assert found == [("one", taint), ("two", taint)]


@linux_only
async def test_a_lease_that_was_lost_makes_the_device_count_as_busy(host: Host) -> None:
    """Somebody has removed the file that all daemons share: another one may have measured meanwhile."""
    with pytest.raises(HostError, match="the lease on cpu was lost") as caught:
        await read(host, f"echo one; rm {host.leases}/cpu.lock", LeaseRequest("cpu"))
    assert caught.value.kind == "busy"


async def test_a_lease_that_is_lost_is_known_while_the_job_runs(host: Host) -> None:
    """A verdict may be settled, and the job ended, long before its last word."""
    go = Path(str(host.root), "go")
    script = f"echo one; until [ -e {go} ]; do sleep 0.02; done; rm {host.leases}/cpu.lock; sleep 300; echo two"
    found = []
    with pytest.raises(HostError, match="the lease on cpu was lost: its file was replaced") as caught:
        async for report in reports(host, JobSpec("measures", script, 310.0, lease=LeaseRequest("cpu"))):
            found.append(report)
            await host.run(f"touch {go}", 10)
    assert caught.value.kind == "busy"
    assert found == [ReportLine(b"one", 0, 4)]


async def test_lines_are_not_believed_when_the_lease_was_lost_since_the_last_look(host: Host) -> None:
    """A contest ends its job as soon as its verdict is settled; the supervisor looks at the lock once a second."""
    script = f"rm {host.leases}/cpu.lock; echo one; sleep 300"
    with pytest.raises(HostError, match="the lease on cpu was lost: its file was replaced") as caught:
        async with aclosing(reports(host, JobSpec("measures", script, 310.0, lease=LeaseRequest("cpu")))) as lines:
            async for _ in lines:
                break
    assert caught.value.kind == "busy"
    async with aclosing(reports(host, JobSpec("keeps", "echo one; sleep 300", 310.0, lease=LeaseRequest("cpu")))) as ok:
        assert isinstance(await anext(ok), ReportLine)


@linux_only
async def test_a_lost_lease_yields_no_line_that_is_held_for_a_look(host: Host, nvidia: Smi) -> None:
    script = f"echo one; rm {host.leases}/{GPU}.lock; sleep 300"
    nvidia.instead("[ $(wc -l < " + str(nvidia.asked) + ") = 1 ] || sleep 300")  # the look before the job is answered
    with pytest.raises(HostError, match="was lost") as caught:
        async for report in reports(host, JobSpec("measures", script, 310.0, lease=LeaseRequest(GPU, gpu=True))):
            pytest.fail(f"{report} was yielded")
    assert caught.value.kind == "busy"


@linux_only
async def test_a_foreign_process_does_not_hide_a_lost_lease(host: Host, nvidia: Smi) -> None:
    async with process() as pid:
        script = f"echo one; echo '{pid}, train, {GPU}' > {nvidia.path}; rm {host.leases}/{GPU}.lock"
        with pytest.raises(HostError, match=f"the lease on {GPU} was lost") as caught:
            await read(host, script, LeaseRequest(GPU, gpu=True))
    assert caught.value.kind == "busy"


def test_a_note_of_a_loss_is_kept() -> None:
    assert noted({"lost": "the lease on cpu was lost: x", "from": 4}).lost == "the lease on cpu was lost: x"
    assert noted({"lost": 3, "from": 4}).lost == noted({"lost": "x"}).lost == ""
