"""A coding agent at work, for the UI's tests: what it says, does and asks for."""

import json

from kpd.model import events as e
from kpd.model.session import AGENT, EDIT, KPD, OPERATOR, THOUGHT, TOOL, TOOL_DONE, TOOL_FAILED
from kpd.model.verdicts import Gain
from kpd.model.waits import ForPermission
from tests.support.tui.agents import AgentLog, begun
from tests.support.tui.feed import CannedFeed

AT = ("r1", 1)
ID = "r1.1"
AGENT_NAME = "@agentclientprotocol/claude-agent-acp 0.49.0"
SAID = (
    (KPD, "# Optimise the task rmsnorm_silu_cpu\n\nYou work in a folder that is a copy of the task.\nmore\nmore"),
    (THOUGHT, "The row is read twice, and one accumulator makes each addition wait for the one before it.\n"),
    (AGENT, "I begin with the evidence: `mem.l1_bound` says that the second pass misses the cache.\n"),
    (TOOL, "Read kernel.c"),
    (TOOL_DONE, "Read kernel.c"),
    (AGENT, "Eight partial sums break the chain. I write that first, so that a version that is right is saved early."),
    (TOOL, "Edit kernel.c"),
    (
        EDIT,
        "kernel.c +4 -2\n-    float sum = 0.0f;\n-    for (size_t c = 0; c < cols; c++)\n+    float s[UNROLL] = {0};\n"
        "+    for (size_t c = 0; c < cols; c += UNROLL)\n+        for (size_t u = 0; u < UNROLL; u++)\n"
        "+            s[u] += x[r * cols + c + u] * x[r * cols + c + u];",
    ),
    (TOOL_DONE, "Edit kernel.c"),
    (TOOL, "mcp__kpd__try"),
    (TOOL_DONE, "mcp__kpd__try"),
    (KPD, "$0.31 so far"),
    (OPERATOR, "keep the first loop as it is"),
    (TOOL, "Edit harness.c"),
    (TOOL_FAILED, "Edit harness.c"),
    (AGENT, "The harness is not mine to change. I look at what the compiler makes of the inner loop."),
    (TOOL, "cargo asm --lib"),
)


def at_work() -> AgentLog:
    """The agent asks for a program that no rule allows."""
    log = begun("claude-code").proposes(1, "claude-code")
    log.emit(e.SessionOpened(*AT, ID, ("claude-agent-acp",), 1200.0))
    log.emit(e.SessionKnown(*AT, ID, "3c9f", AGENT_NAME, True), 2.0)
    log.emit(e.SessionPrompted(*AT, ID, 1, 0))
    log.emit(e.ToolCalled(*AT, "kpd", "inspect", True, 41.0, {}, 5_210), 9.0)
    log.emit(e.ToolCalled(*AT, "kpd", "findings", True, 12.0, {"metric": 9}, 1_830), 5.0)
    log.emit(e.TrialStarted(*AT, 1, {}), 20.0)
    log.emit(e.Tried(*AT, 1, "measured", 0, 11.8, Gain(9.8, 8.9, 10.7), 5), 14.0)
    log.emit(e.ToolCalled(*AT, "kpd", "try", True, 14_204.0, {}, 940))
    log.emit(e.PermissionAsked(*AT, ID, 1, "edit", "Edit harness.c", ("harness.c",)), 11.0)
    log.emit(e.PermissionAnswered(*AT, ID, 1, False, "harness.c is not yours to change: it judges the candidate"))
    why = "cargo is not among the programs that you may run"
    log.emit(e.PermissionAsked(*AT, ID, 2, "execute", "cargo asm --lib", (), 300.0, why), 8.0)
    log.emit(e.RunWaits("r1", ForPermission(*AT, "execute", "cargo asm --lib", why)))
    return log


def with_its_words(log: AgentLog) -> CannedFeed:
    """Return a feed whose daemon has the log of the session, spread over its events."""
    feed = CannedFeed(log)
    few, many = ({"attempts": n, "accepted": 1, "measured": n - 1, "median_pct": 3.0 - n / 4} for n in (1, 9))
    few["median_pct"] = None
    unclear = {"having": few, "lacking": many, "worse": None, "retire": False}
    worse = {
        "having": {**many, "median_pct": -1.2},
        "lacking": {**many, "median_pct": 4.1},
        "worse": 0.012,
        "retire": True,
    }
    feed.built = [
        {
            "shown": "count-loads@1f3a9c2", "state": "qualified", "calls": 14, "failed": 0, "sessions": 1, "used": 1,
            "lost": (), "effect": unclear,
        },
        {
            "shown": "asm-diff@77b01de", "state": "quarantined", "calls": 2, "failed": 2, "sessions": 9, "used": 1,
            "lost": (), "effect": worse,
        },
        {
            "shown": "asm-notes@9c02bb1", "state": "withheld", "calls": 0, "failed": 0, "sessions": 1, "used": 1,
            "lost": ("asm-diff",), "effect": unclear,
        },
    ]  # fmt: skip
    since = next(event.at for event in log.events if isinstance(event.fact, e.SessionPrompted))
    step = (log.events[-1].at - since) / len(SAID)
    entries = [{"at": since + 0.05 + nth * step, "who": who, "text": text} for nth, (who, text) in enumerate(SAID)]
    feed.files["session/log.jsonl"] = "".join(json.dumps(entry) + "\n" for entry in entries)
    return feed
