"""Renders each fact of the log as one sentence."""

from kpd.model import events as e
from kpd.model.spending import Spend, dollars
from kpd.model.verdicts import Verdict
from kpd.text import preparing, tools, trials
from kpd.text.checks import sizes
from kpd.text.deployments import headline
from kpd.text.endings import TURN_ENDS, iteration_ended, override
from kpd.text.faults import fault
from kpd.text.flags import flags
from kpd.text.numbers import counted
from kpd.text.sanitizer import reports
from kpd.text.verdicts import interval
from tui.format import marks, money
from tui.format.marks import Mark
from tui.format.numbers import figure, seconds
from tui.format.operator_acts import operator_act
from tui.format.text import clean

_DONE, _BEGUN = Mark("✓", "", ".good"), Mark("…", "", ".muted")
_BAD, _NOTE, _OPERATOR = Mark("✗", "", ".bad"), Mark("·", "", ".muted"), Mark("»", "", ".accent")
_WAITS = Mark("◔", "", ".warn")


def verdict_text(verdict: Verdict) -> str:
    """Format a verdict: `faster, 3.1 % less time [2.4, 3.8] over 5 processes`."""
    return f"{verdict.word}, {interval(verdict)}"


def sentence(fact: e.Fact) -> tuple[Mark, str]:
    """Return the mark and the sentence with which a fact is shown in the log."""
    match fact:
        case e.IterationStarted():
            against = "" if fact.parent == fact.iteration else f", against {fact.run}.{fact.parent}"
            where = f", in lane {fact.lane + 1} of the run" if fact.lane else ""
            where += ", for its noise floor" if fact.confirming == "floor" else ""
            return _NOTE, f"iteration {fact.iteration} begins, by {clean(fact.agent)}{against}{where}"
        case e.StepStarted():
            return _BEGUN, fact.step + (f", attempt {fact.attempt}" if fact.attempt > 1 else "")
        case e.StepFact():
            return _DONE, f"{e.STEP_OF[type(fact)]}  {_found(fact)} ({seconds(fact.seconds)})"
        case e.Faulted():
            return _BAD, f"{fact.step}  attempt {fact.attempt} goes back to the agent: {clean(fault(fact.fault))}"
        case e.MeasurementBroken():
            return (
                _BAD,
                f"{fact.step}  failed, but not with the incumbent, so it is tried again: {clean(fact.trouble.message)}",
            )
        case e.IterationEnded():
            good = fact.outcome in ("accepted", "baseline", "measured")
            return (
                _DONE if good else _BAD if fact.outcome == "failed" else _NOTE
            ), f"{fact.outcome}: {clean(iteration_ended(fact.cause))}"
        case e.Accepted():
            by_hand = f" by hand, {clean(override(fact.override))}" if fact.override else ""
            return _DONE, f"{fact.run}.{fact.iteration} is the incumbent now{by_hand}"
        case e.Sanitized(fault=None):
            return _DONE, f"last checks  {clean(reports(fact.reports))}"
        case e.Sanitized():
            return _BAD, f"last checks  {clean(reports(fact.reports))}"
        case e.SanitizerFound():
            return _NOTE, f"winners are {'' if fact.present else 'no longer '}provisional until their last checks"
        case e.GaveWay():
            return _NOTE, f"{fact.run}.{fact.iteration} is the incumbent instead of {fact.unheld}, which did not hold"
        case e.PhaseBegun():
            return _BEGUN, f"{fact.phase}: {preparing.PHASES[fact.phase]}"
        case e.PhaseEnded():
            return _BAD if fact.result.failed else _DONE, clean(preparing.ended(fact))
        case e.DeployBegun():
            return _BEGUN, f"its winner goes into {clean(fact.project)}"
        case e.DeployNotBegun():
            return _BAD, f"nothing was deployed into {clean(fact.project)}: {clean(fact.said)}"
        case e.DeploymentSeen():
            return marks.of_deployment(fact.card), clean(headline(fact.card))
        case e.ReviewAsked():
            return _WAITS, f"{fact.run}.{fact.iteration} waits for a person: it is built once somebody approves it"
        case e.Asked():
            most = "" if fact.most_usd is None else f", for {dollars(fact.most_usd)} at most"
            return _NOTE, f"{fact.purpose.replace('_', ' ')}  asks {clean(fact.model)}{most}"
        case e.Unusable():
            return _BAD, f"the answer cannot be used: {clean(fact.message)}"
        case e.SessionOpened():
            return _BEGUN, f"session {fact.session} of {clean(fact.command[0])}, for {seconds(fact.limit_s)} at most"
        case e.SessionKnown():
            return _NOTE, f"{clean(fact.agent)} calls the session {clean(fact.own)}" if fact.own else clean(fact.agent)
        case e.SessionPrompted():
            again = ", to go on" if fact.continues else ", with what the operator says" if fact.notes else ""
            return _NOTE, f"turn {fact.turn} of session {fact.session} begins{again}"
        case e.SessionTurned():
            return _turned(fact)
        case e.HostRefused():
            return _BAD, f"the agent does not reach {clean(fact.address)}: it is not among its hosts"
        case e.PermissionAsked():
            about = f"{clean(fact.tool)}: {clean(fact.what or ', '.join(fact.paths))}"
            return (
                (_WAITS, f"the agent asks you to {about}") if fact.limit_s else (_NOTE, f"the agent wants to {about}")
            )
        case e.PermissionAnswered(by=""):
            return (_DONE, "allowed") if fact.allowed else (_BAD, f"refused: {clean(fact.why)}")
        case e.ToolsGiven():
            return _NOTE, f"the session has {clean(', '.join(map(tools.shown, fact.tools)))}"
        case e.SkillsRead():
            return _NOTE, f"the session has read {clean(', '.join(fact.skills))}"
        case e.SmithPrompted():
            return _NOTE, f"{fact.task} begins: the session works on a tool"
        case e.SmithTurned():
            said = f": {clean(fact.said)}" if fact.task == "reflect" and fact.said else ""
            return _NOTE, f"{fact.task}  {TURN_ENDS[fact.end]} ({seconds(fact.seconds)}){said}"
        case e.SmithEnded():
            return _DONE if fact.end == "qualified" else _NOTE, clean(tools.smith_end(fact))
        case e.ToolCalled():
            return _DONE if fact.ok else _BAD, f"{clean(fact.server)}: {clean(fact.tool)}  ({seconds(fact.ms / 1000)})"
        case e.TrialStarted():
            return _BEGUN, f"trial {fact.trial}"
        case e.Tried():
            return _DONE if fact.end == "measured" else _BAD, clean(trials.headline(fact))
        case e.Billed() if fact.refused:
            return _NOTE, f"{fact.purpose.replace('_', ' ')}  refused by the service, {clean(fact.model)}"
        case e.Billed():
            lost = "broken off, " if fact.cut else ""
            bill = money.told(Spend().with_call(fact.usage, fact.usd, not fact.cut))
            return _NOTE, f"{fact.purpose.replace('_', ' ')}  {lost}{bill}, {clean(fact.model)}"
    if (done := operator_act(fact)) is not None:
        return _OPERATOR, done.whole
    return _NOTE, fact.kind().replace("_", " ")


def _turned(fact: e.SessionTurned) -> tuple[Mark, str]:
    claim = "" if fact.claimed_us is None else f", it says {figure(fact.claimed_us)} µs"
    foreign = f", and has changed {clean(', '.join(fact.foreign))}, which is not taken" if fact.foreign else ""
    told = f"turn {fact.turn} ends: {TURN_ENDS[fact.end]} ({seconds(fact.seconds)}){claim}{foreign}"
    return _DONE if fact.end == "done" and not fact.foreign else _BAD, told


def _found(fact: e.StepFact) -> str:
    match fact:
        case e.Proposed():
            return clean(fact.memo) or counted(len(fact.files), "file")
        case e.Screened():
            return clean(flags(fact.flags)) or "nothing suspicious"
        case e.Staged():
            return f"tree {clean(fact.tree)[:12]}"
        case e.Built():
            parts = ["from the cache" if fact.cached else "compiled", clean(fact.flags)]
            parts.append(counted(fact.warnings, "warning") if fact.warnings else "")
            return ", ".join(part for part in parts if part)
        case e.Checked():
            of = " with the baseline's outputs" if fact.truth == "baseline" else ""
            margin = f"worst error {figure(fact.worst)} of the tolerance"
            return ", ".join(filter(None, (f"{counted(fact.comparisons, 'comparison')}{of}", margin, sizes(fact))))
        case e.Timed():
            again = f", {fact.retaken} retaken" if fact.retaken else ""
            return f"score {figure(fact.score)} over {counted(fact.processes, 'process')}{again}"
        case e.Judged():
            return verdict_text(fact.verdict)
        case e.Profiled():
            missing = f", {len(fact.missing)} not available" if fact.missing else ""
            return f"{counted(len(fact.metrics), 'metric')}{missing}"
        case e.Explained():
            rules = counted(len(fact.findings), "rule")
            return f"{rules} fired" + (f", {clean(fact.bottleneck)}" if fact.bottleneck else "")
    return ""
