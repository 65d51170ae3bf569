"""Each act with the sentence that tells it to others."""

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Skipped, Stopped
from kpd.model.iteration import Override
from kpd.model.waits import PausedBy

ADA = "ada@laptop:pts/3"
SENTENCES = [
    (e.Noted("r3", "the fan was replaced", ADA), "notes on r3: the fan was replaced"),
    (e.RunQueued("r3", "scale", "sweep", "any", Budget(), ADA), "queues r3 of scale, by sweep"),
    (e.RunPaused("r3", PausedBy(ADA), ADA), "pauses r3"),
    (e.RunResumed("r3", ADA), "resumes r3"),
    (e.RunEnded("r3", "stopped", Stopped(ADA)), "stops r3"),
    (e.QueueReleased(ADA), "releases the queue"),
    (e.QueueOrdered(("r5", "r4"), ADA), "orders the queue: r5, r4"),
    (e.QueueOrdered(tuple(f"r{n}" for n in range(9)), ADA), "orders the queue: r0, r1, r2, r3, r4, …"),
    (e.OperatorEdited("r3", {"k.cu": "1234"}, by=ADA), "edits the kernel of r3"),
    (e.Steered("r3", 1, "use\n  shared memory", ADA), "steers r3: use shared memory"),
    (e.Steered("r3", 1, "", ADA), "withdraws note 1 of r3"),
    (e.IterationEnded("r3", 4, "skipped", Skipped(ADA)), "skips r3.4"),
    (e.TurnCut("r3", 4, ADA), "cuts the turn of the agent of r3.4"),
    (e.PermissionAnswered("r3", 4, "r3.4", 2, True, by=ADA), "allows what the agent of r3.4 asks for"),
    (e.PermissionAnswered("r3", 4, "r3.4", 2, False, by=ADA), "refuses what the agent of r3.4 asks for"),
    (e.ReviewSet("r3", True, ADA), "wants to review r3"),
    (e.ReviewSet("r3", False, ADA), "lets r3 go on without review"),
    (e.Approved("r3", 4, ADA), "approves r3.4"),
    (e.Declined("r3", 4, "", ADA), "declines r3.4"),
    (e.Declined("r3", 4, "too clever", ADA), "declines r3.4: too clever"),
    (e.Accepted("r3", 4, {}, Override(ADA)), "accepts r3.4 against its verdict"),
    (
        e.Accepted("r3", 4, {}, Override(ADA, "fast where it counts")),
        "accepts r3.4 against its verdict: fast where it counts",
    ),
    (e.RolledBack("r3", 2, {}, ADA), "rolls back to r3.2"),
    (e.RolledBack("r3", 2, {}, ADA, undo=True), "undoes: back to r3.2"),
    (e.Adopted("r3", 2, {}, ADA), "adopts r3.2 into the task folder"),
    (e.AgainAsked("r3", 4, False, ADA), "has r3.4 tried again"),
    (e.AgainAsked("r3", 4, True, ADA), "has r3.4 measured with all processes"),
    (e.Pruned("r3", (1, 2, 5), ADA), "prunes 3 candidates of r3"),
    (e.MemoGiven("r3", 4, "look here", ADA), "writes the memo of r3.4: look here"),
    (
        e.BudgetChanged("r3", Budget(iterations=20, stop_score=1.5, usd=3.0), ADA),
        "sets the budget of r3: 20 iterations, patience 4, at least 1 % less time, "
        "stop at a score of 1.500, $3.00 at most",
    ),
    (e.AgentChanged("r3", "claude", by=ADA), "has claude propose in r3"),
    (e.AgentChanged("r3", "claude", "large-1", ADA), "has claude propose in r3, with large-1"),
    (e.RuleSet("r3", "poor_coalescing", "pinned", ADA), "pins poor_coalescing in r3"),
    (e.RuleSet("r3", "poor_coalescing", "banned", ADA), "bans poor_coalescing in r3"),
    (e.RuleSet("r3", "poor_coalescing", "plain", ADA), "no longer pins or bans poor_coalescing in r3"),
    (e.ToolBuilt("lint", "12ab", "scale", {}, by=ADA), "brings in lint@12ab for scale"),
    (e.ToolChecked("lint", "12ab", (), by=ADA), "has lint@12ab checked"),
    (e.ToolQuarantined("lint", "12ab", "it hangs", ADA), "quarantines lint@12ab: it hangs"),
    (e.ToolRetired("lint", "12ab", ADA), "retires lint@12ab"),
    (e.ToolRestored("lint", "12ab", ADA), "restores lint@12ab"),
    (
        e.ComparisonQueued("c1", "scale", "mine", "any", Budget(), ("tools", "plain"), ("lint@12ab",), 7, {}, by=ADA),
        "compares lint@12ab with no tools on scale: c1",
    ),
    (e.ComparisonStopped("c1", "operator", ADA), "stops c1"),
]
