"""Runs for the UI's tests whose agents are models and people: what they say, aim at, cost, and are waited for."""

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import ByVerdict
from kpd.model.faults import NotBuilt
from kpd.model.iteration import Expectation
from kpd.model.spending import Purpose, Usage
from kpd.model.waits import ForReply, ForService
from tests.support.tui.logs import FINDINGS, TASK, Log, files, measured, proposed, verdict_of

MODEL, SMALL_MODEL = "claude-sonnet-5-5", "claude-haiku-5-5"
FIRST, CACHED = Usage(1_204, 4_870, 0, 1_632), Usage(1_390, 0, 4_870, 1_204)
OVERLOADED = "the model service is overloaded; asked again in 8 s"
REPLY = f"/home/op/kernels/runs/{TASK}/r1/iter_0004/reply.md"
ANSWER = f"for {REPLY}, the answer to prompt.md beside it"
RULES = tuple(finding.rule for finding in FINDINGS)
TUNE = {"UNROLL": ("4", "8", "16"), "TILE": ("32", "64")}


class AgentLog(Log):
    def billed(
        self, number: int, usage: Usage, usd: float | None, purpose: Purpose = "propose", model: str = MODEL,
        cut: bool = False,
    ) -> "AgentLog":  # fmt: skip
        self.emit(e.Billed("r1", number, purpose, model, usage, usd, cut), 4.0)
        return self

    def proposes(self, number: int, agent: str = "claude", parent: int = 0) -> "AgentLog":
        self.begin(number, parent=parent, agent=agent)
        self.emit(e.StepStarted("r1", number, "propose"))
        return self

    def judged(self, number: int, proposal: e.Proposed, gain: float, before: float) -> "AgentLog":
        """All steps from a proposal on, accepted when it is faster by 2 % or more."""
        accepted = gain >= 2
        verdict = verdict_of("faster" if accepted else "same", gain)
        rest = measured("r1", number, before * (1 - gain / 100), before, verdict)
        self.emit(proposal, 9.1).steps("r1", number, *proposed("r1", number, "")[1:], *rest)
        self.emit(e.StepStarted("r1", number, "record"))
        if accepted:
            self.emit(e.Accepted("r1", number, files("r1", number))).emit(e.FolderKnown("r1", files("r1", number)))
        self.end(number, "accepted" if accepted else "rejected", ByVerdict(verdict))
        return self


def candidate(number: int, memo: str, gain_pct: float, tuned: bool = False) -> e.Proposed:
    expected = Expectation("gbs", "up", gain_pct)
    tune = TUNE if tuned else {}
    return e.Proposed("r1", number, 9.1, 0.1, files("r1", number), memo, expected, aims=RULES, tune=tune)


def begun(agent: str, usd: float = 5.0) -> AgentLog:
    log = AgentLog()
    log.daemon().tasks().run(agent=agent, budget=Budget(iterations=8, usd=usd)).baseline()
    return log


def claude(agent: str = "claude,sweep") -> AgentLog:
    """Claude was accepted after it had mended what did not build, and left parameters to a sweep that won nothing."""
    log = begun(agent, usd=2.5)
    log.proposes(1).billed(1, FIRST, 0.0463)
    log.emit(candidate(1, "several partial sums", 12.0), 9.1).steps("r1", 1, *proposed("r1", 1, "")[1:3])
    log.emit(e.StepStarted("r1", 1, "build"))
    log.emit(e.Faulted("r1", 1, "build", 1, NotBuilt("kernel.c:31: error: use of undeclared identifier 'UNROLL'")))
    log.emit(e.StepStarted("r1", 1, "propose", 2))
    log.billed(1, CACHED, 0.0237, "compile_fix")
    memo = "Eight partial sums break the chain of additions; the second pass reads the row from the cache"
    log.judged(1, candidate(1, memo, 12.0, tuned=True), 14.2, 412.4)
    log.iteration(2, "UNROLL=16 TILE=32", 0.4, "same", parent=1, before=353.8)
    log.iteration(3, "UNROLL=4 TILE=64", -3.1, "slower", parent=1, before=353.8)
    return log


def writing() -> AgentLog:
    """Claude writes its second candidate."""
    return claude().proposes(4, parent=1)


def overloaded() -> AgentLog:
    log = writing().billed(4, CACHED, 0.0184, cut=True)
    log.emit(e.RunWaits("r1", ForService("the model service is overloaded", 8)))
    return log


def mailbox() -> AgentLog:
    """A person is to answer."""
    log = claude("mailbox").proposes(4, "mailbox", parent=1)
    log.emit(e.RunWaits("r1", ForReply(REPLY, "prompt.md")))
    return log


def repairing() -> AgentLog:
    """What Claude wrote did not build, and it is at it again."""
    log = writing().billed(4, CACHED, 0.0184)
    log.emit(candidate(4, "rows kept in registers", 9.0), 9.1)
    log.emit(e.Faulted("r1", 4, "build", 1, NotBuilt("kernel.c:31: error: use of undeclared identifier 'LANES'")))
    log.emit(e.StepStarted("r1", 4, "propose", 2))
    return log


def unpriced() -> AgentLog:
    """Two models, the price of one of which nobody knows."""
    log = writing().billed(4, CACHED, None, model="my-own-model")
    return log.billed(4, Usage(912_345, 0, 0, 1_411), 0.0009, "compact", SMALL_MODEL, cut=True)
