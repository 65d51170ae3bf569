"""An operation, spelled as a command, is that operation again once the command line has read it."""

import argparse
import shlex
from typing import Any

import pytest

from kpd.cli.main import VERBS, prepare
from kpd.cli.operate import declared, given
from kpd.operations.iterations import (
    AcceptIteration,
    EditKernel,
    MeasureAgain,
    ProfileInFull,
    RollBack,
    UndoDecision,
    WriteMemo,
)
from kpd.operations.machines import CheckHosts, RetryLink, TrustHost
from kpd.operations.operation import Operation
from kpd.operations.reviews import DeclineCandidate, SetReview
from kpd.operations.runs import MoveRun, NoteRun, PauseRun, PruneRun, QueueRun, SteerRun, StopRun
from kpd.operations.spelling import command_of
from kpd.operations.terms import ChangeAgent, ChangeBudget, SetRule


def read(command: str) -> tuple[str, argparse.Namespace]:
    kpd, name, *rest = shlex.split(command)
    assert kpd == "kpd"
    verb = next(verb for _, group in VERBS for verb in group if verb.name == name)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    prepare(parser, verb)
    return name, parser.parse_args(rest)


@pytest.mark.parametrize(
    "op",
    [
        QueueRun(task="matmul", agent="claude,sweep", host="gpu-1", iterations=8, usd=2.5, approve=True),
        PauseRun(run="r1"), StopRun(run="r1"), UndoDecision(run="r1"),
        SteerRun(run="r1", text="try -O3; it's \"fast\" & $HOME"), SteerRun(run="r1", text="-O3", note=2),
        NoteRun(run="r1", text="a fan"), ChangeBudget(run="r1", iterations=9, usd=0.0),
        AcceptIteration(iteration="r1.5", reason="-wide rows"), RollBack(iteration="r1.1", force=True),
        DeclineCandidate(iteration="r1.2", reason=""), SetReview(run="r1", on=False),
        WriteMemo(iteration="r1.5", text="x y"),
        MeasureAgain(iteration="r1.5", thorough=True), MeasureAgain(iteration="r1.5", thorough=False),
    ],
    ids=lambda op: op.name,
)  # fmt: skip
def test_the_command_line_reads_it_as_the_same_operation(op: Operation[Any]) -> None:
    name, args = read(command_of(op))
    kind, fixed = declared(name)
    assert kind is type(op)
    assert {**given(args, kind), **fixed} == op.args()


@pytest.mark.parametrize(
    ("op", "command"),
    [
        (ChangeAgent(run="r1", agent="sweep", model="m"), "kpd agent r1 sweep --model=m"),
        (ChangeAgent(run="r1", model="m"), ""),
        (MoveRun(run="r3", to="up"), "kpd move r3 up"),
        (SetRule(run="r1", rule="spills", stand="pinned"), "kpd rules pin spills --run=r1"),
        (EditKernel(run="r1", files={}), "kpd edit r1"),
        (PruneRun(run="r1", keep_best=True), "kpd runs prune r1 --keep-best"),
        (ProfileInFull(iteration="r1.5"), "kpd show r1.5 --profile=full"),
        (CheckHosts(host=None), "kpd doctor"),
        (RetryLink(host="gpu-1"), "kpd hosts retry gpu-1"),
        (TrustHost(host="gpu-1", fingerprint="SHA256:x"), "kpd hosts trust gpu-1"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_verbs_of_a_shape_of_their_own_are_known_to_the_command_line(op: Operation[Any], command: str) -> None:
    assert command_of(op) == command
    if command:
        read(command)
