"""What a host says of itself, on this machine and on others."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from kpd.hosts import probe
from tests.test_hosts_support import host_at, names

HELPER = {
    "system": "Linux", "release": "6.1", "machine": "aarch64", "python": "3.6.8",
    "cpus": [2, 3, 7], "pinning": True, "disk_free": 5, "clock": 1.5,
}  # fmt: skip


async def test_probing_this_machine(tmp_path: Path) -> None:
    async with host_at(tmp_path) as host:
        facts = await host.probe()
        assert names(host, "jobs") == []
    assert facts["system"] == os.uname().sysname and facts["cpu"]
    assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert abs(facts["clock"] - time.time()) < 60 and facts["disk_free"] > 0
    assert set(facts["compilers"]) == {name for name in probe.COMPILERS if shutil.which(name)}
    assert all(any(char.isdigit() for char in version) for version in facts["compilers"].values())
    card = probe.host_card("local", "local", facts)
    assert card.link == "up" and card.counters and bool(card.error) == (not facts["compilers"])
    if sys.platform == "linux":
        assert card.cpu == max(os.sched_getaffinity(0))


def test_sections_become_facts_and_a_card() -> None:
    said = "== cpu\nNeoverse-N1\n== gcc\ngcc (Debian) 12.2.0\nCopyright\n== clang\nclang version 14\n== paranoid\n2\n"
    facts = probe.facts(HELPER, said)
    assert facts["compilers"] == {"gcc": "gcc (Debian) 12.2.0", "clang": "clang version 14"}
    card = probe.host_card("box", "ssh", facts)
    assert (card.cpu, card.device, card.compiler) == (7, "Neoverse-N1", "gcc (Debian) 12.2.0")
    assert card.system == "Linux 6.1 aarch64" and card.error == ""
    assert card.counters == "no hardware counters: perf is not installed"


def test_a_bare_machine() -> None:
    facts = probe.facts({**HELPER, "system": "Darwin", "pinning": False}, "")
    card = probe.host_card("mac", "local", facts)
    assert card.cpu is None and card.device == "aarch64"
    assert card.error == "no C compiler; install gcc or clang on the host"
    assert card.counters == "no hardware counters: perf stat does not exist on Darwin"


@pytest.mark.parametrize(
    ("said", "usable", "words"),
    [
        (
            "812345,,cycles:u,9,100.00,,\n99,,instructions:u,9,100.00,,\n7,,cache-misses:u,9,100.00,,",
            True,
            "counts cycles",
        ),
        (
            "812345,,cycles,9,100.00,,\n99,,instructions,9,100,,\n<not supported>,,cache-misses,0,100,,",
            True,
            "counts only",
        ),
        (
            "<not supported>,,cycles,0,100.00,,\n<not supported>,,instructions,0,100.00,,",
            False,
            "does not support them",
        ),
        ("Error:\nAccess to performance monitoring is limited.", False, "kernel.perf_event_paranoid = 4"),
    ],
)
def test_what_perf_stat_says(said: str, usable: bool, words: str) -> None:
    answer = probe.counters_of("Linux", said, "4")
    assert answer[0] is usable and words in answer[1]
