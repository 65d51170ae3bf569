"""The corpus of attacks and honest kernels: there are enough of each, and every file says what it is."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

PLACES = dict.fromkeys(("BAIT", "NAME", "WORKSPACE", "LEASES", "SOCKET", "PROTOCOL", "VERSION"), "somewhere")


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    yield ROOT / "benchmarks"
    sys.modules.pop("cheat_corpus", None)


@pytest.mark.parametrize(
    ("language", "attacks", "honest"), [("c", 100, 50), ("cuda", 50, 30), ("python", 20, 2), ("triton", 12, 3)]
)
def test_there_are_enough_of_each(benchmarks: Path, language: str, attacks: int, honest: int) -> None:
    from cheat_corpus import load

    kernels = load(language)
    assert sum(not kernel.honest for kernel in kernels) >= attacks
    assert sum(kernel.honest for kernel in kernels) >= honest
    assert [name for name, times in Counter(kernel.name for kernel in kernels).items() if times > 1] == []


@pytest.mark.parametrize("language", ["c", "cuda", "python", "triton"])
def test_every_kernel_can_be_made_for_its_task(benchmarks: Path, language: str) -> None:
    from cheat_corpus import load

    for kernel in load(language):
        assert (ROOT / "tasks" / kernel.task / "task.toml").exists(), kernel.name
        lines = kernel.source(PLACES).splitlines()
        assert not [line for line in lines if line.startswith(("//: ", "#: "))], kernel.name
