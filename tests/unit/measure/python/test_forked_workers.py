"""What a process of kernels has a copy of: all that the runner knew when it was forked."""

from types import SimpleNamespace
from typing import cast

import pytest

from kpd.measure.python.host import main
from kpd.measure.python.host.marks import Marks
from kpd.measure.python.host.turns import ContestTurn


@pytest.mark.parametrize(("verb", "workers"), [("check", 2), ("fresh", 2)])
def test_workers_are_forked_before_the_seed_of_a_command_with_a_contest_is_read(
    monkeypatch: pytest.MonkeyPatch, verb: str, workers: int
) -> None:
    settings, known, told = {"baseline": "own.zip"}, list[dict[str, str]](), list[bytes]()
    turn = cast("ContestTurn", SimpleNamespace(tell=told.append))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(main.kept, "unpack", lambda: None)
    monkeypatch.setattr(main, "line", lambda: "5eed")
    monkeypatch.setattr(main, "fork", lambda: known.append(dict(settings)))
    monkeypatch.setattr(main, "command", lambda found, *_: int(found["seed"] != "5eed"))
    assert main.single(settings, Marks(), verb, [], turn) == 0
    assert known == [{"baseline": "own.zip"}] * workers
    assert told == [b"s"]
