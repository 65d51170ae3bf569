"""Renders what became of a winner in its production program."""

from kpd.model.deployments import DeployCause, Deployment, DeploymentCard, Forbidden, NoGainReason, Phase
from kpd.model.verdicts import Gain
from kpd.text import money
from kpd.text.numbers import counted

PHASES: dict[Phase, str] = {
    "gate": "is the gain alone enough?",
    "integrate": "the kernel goes back into its file",
    "begin": "originals are copied, the lease begins",
    "baseline": "building the program as it is",
    "put": "the new source is written",
    "build": "building it with the new kernel",
    "verify": "comparing the program's results",
    "fix": "asking for a mended file",
    "time": "timing old and new program, A B B A",
    "commit": "keeping it",
    "restore": "restoring the originals",
    "recheck": "running the restored program",
}
FORBIDDEN: dict[Forbidden, str] = {
    "not_found": "no file of the project defines it",
    "no_kernel": "the run's files do not define the project's kernel",
    "ambiguous": "it is defined more than once",
    "not_the_baseline": "production has another kernel now than the one that the run began with: make the task anew",
    "other_file": "the candidate changes another file, too",
    "signature": "its signature would change",
    "exported": "the symbols that the file exports would change",
    "emptied": "its body is emptied",
    "early_return": "it returns before the rest of its body",
    "if_0": "code is switched off with #if 0",
    "unreadable": "it cannot be read as code",
    "other_kernel": "it is another kernel",
    "directive": "a directive would change more than the kernel",
    "other_code": "other code has this name",
    "same": "production has this kernel already",
}
CAUSES: dict[DeployCause, str] = {
    "gate": "the gain alone is not surely large enough",
    "no_check": "nothing would notice a wrong result: give the project `verify` or `outputs`",
    "forbidden": "it cannot be integrated",
    "not_approved": "nobody has approved it",
    "stale_binary": "the binary was not what the source builds: kpd project check --normalise",
    "program_fails": "the unchanged program does not build or run",
    "unsteady": "the unchanged program differs from run to run",
    "build": "the program does not build with it",
    "touched": "the build changes files outside of build_dir",
    "same_binary": "the compiler makes the same program of it",
    "wrong_result": "the program's result is wrong",
    "run_fails": "the program fails with it",
    "no_gain": "the program is not faster with it",
    "conflict": "somebody else has changed the program meanwhile",
    "taken": "somebody else changes the program now",
    "ended": "the change was ended from elsewhere",
    "host": "the host was lost: it restores by itself",
    "asked": "it was asked for",
    "later": "what it left is not in place any more",
    "forgotten": "the host has not kept what was there before",
    "corrupt": "a copy that the host keeps is not what it was: nothing was written of it",
    "cut": "the process that deployed was ended",
}
AGAIN: tuple[DeployCause, ...] = ("conflict", "taken", "ended", "host", "stale_binary", "program_fails", "unsteady")
"""Causes that say nothing of the candidate, which can be deployed again once they are gone."""
REASONS: dict[NoGainReason, str] = {
    "launches": "it launches the kernel another number of times",
    "cache": "the kernel is not faster there, beside other data in the caches",
    "share": "the kernel's launches are too small a part of it",
    "noise": "runs of the program differ by more than its launches save",
    "overlap": "what its launches save is hidden behind other work",
}
STATES = {
    "open": "OPEN",
    "deployed": "DEPLOYED",
    "gated": "NO GAIN",
    "refused": "REFUSED",
    "rolled_back": "ROLLED BACK",
    "failed": "FAILED",
}


def gain(gain: Gain) -> str:
    return f"{gain.pct:+.2f} % [{gain.low:+.2f}, {gain.high:+.2f}]"


def why(one: Deployment) -> str:
    """Say why a deployment did not stay, with its figures; empty where it did."""
    if one.cause is None:
        return ""
    said = CAUSES[one.cause]
    if one.cause == "forbidden" and one.forbidden is not None:
        return f"{one.about}: {FORBIDDEN[one.forbidden]}"
    if one.cause == "not_approved" and one.answered_by:
        return f"{one.answered_by} has declined it"
    if one.cause == "no_gain" and one.verdict is not None:
        said = "faster alone, not in production" if one.verdict.word != "faster" else "faster, but by too little"
        because = f"; {REASONS[one.reason]}" if one.reason is not None else ""
        return f"{said}: the program {gain(one.verdict.gain)}{because}"
    if one.cause == "cut" and one.phase is not None:
        said += f" in phase {one.phase}"
    return f"{said}: {one.about.splitlines()[-1]}" if one.about.strip() else said


def row(one: Deployment, when: str, busy: bool) -> tuple[str, ...]:
    """Return a deployment as a row of a table; `busy`: a process still works on the one that is open."""
    of = f"back of {one.of}" if one.of is not None else f"{one.run} {one.iteration}"
    state = _state(one)
    if one.state == "open":
        now = "WAITS FOR YOU" if one.asks else f"{one.phase} NOW"
        state = now if busy else f"CUT OFF in {one.phase}"
    alone = "" if one.alone is None else f"≥ {one.alone:.2f} %"
    return str(one.number), when, state, of, alone, "" if one.verdict is None else gain(one.verdict.gain)


def after(one: Deployment) -> str:
    """Say why a deployment did not stay, or what took it back; empty where it is in place."""
    return f"taken back by {one.taken_back}" if one.taken_back is not None else why(one)


def again(project: str, one: Deployment) -> str:
    """Return the command that tries once more, where the candidate was not at fault; else an empty text."""
    retried = one.of is None and one.state != "open" and one.cause in AGAIN
    return f"kpd project deploy {project} {one.run} --iteration {one.iteration}" if retried else ""


def headline(card: DeploymentCard) -> str:
    """Say in one line where a deployment stands: its phase, or how it ended and why."""
    one, named = card.deployment, name(card)
    if card.cut:
        remedy = f"its host restores what it has changed; kpd project history {card.project} says how it ended"
        return f"CUT OFF {named}, in phase {one.phase or 'gate'}: {remedy}"
    if card.waits:
        return f"{named} waits for you: kpd project approve {card.project} shows its change, and asks"
    if one.state == "open":
        return f"deploying {named}: {PHASES[one.phase or 'gate']}"
    figure = "" if one.verdict is None or one.of is not None else f"the program {gain(one.verdict.gain)}"
    said = after(one) or figure
    if one.rechecked is False:
        said += "; THE RESTORED PROGRAM FAILS"
    elif command := again(card.project, one):
        said += f"; {command} tries again"
    return f"{_state(one)} {named}" + (f": {said}" if said else "")


def name(card: DeploymentCard) -> str:
    """Name a deployment, and what it brings or takes back."""
    one = card.deployment
    what = f"takes back #{one.of}" if one.of is not None else f"{one.run}.{one.iteration}"
    return f"{card.project} #{one.number}, {what}"


def learned(name: str, one: Deployment) -> str:
    """Say in one line what became of a winner in a project's program, for the memory of its task."""
    where = f"{name} #{one.number}"
    if one.of is not None:
        return f"{where}: somebody has taken deployment {one.of} back"
    if one.state == "gated":
        return f"{where}: {why(one)}" + ("" if one.alone is None else f", at least {one.alone:+.2f} %")
    if one.state == "deployed" and one.verdict is not None:
        return f"{where}: the program {gain(one.verdict.gain)} of its wall time"
    return f"{where}: {why(one)}"


def _state(one: Deployment) -> str:
    return "TAKEN BACK" if one.withdrawn else STATES[one.state]


def lines(name: str, one: Deployment) -> list[str]:
    """Describe one deployment: how it ended, its figures, and the way back."""
    what = f"takes back {one.of}" if one.of is not None else f"{one.run}, iteration {one.iteration}"
    told = [f"{_state(one)} {name} #{one.number}: {what}"]
    told += [f"why: {cause}"] if (cause := why(one)) else []
    if one.alone is not None:
        told.append(f"alone: at least {one.alone:+.2f} %")
    if one.verdict is not None:
        told.append(
            f"program: {gain(one.verdict.gain)} of its wall time, {counted(one.verdict.processes, 'quad')} A B B A"
        )
    if one.launches is not None:
        old, new = one.launches
        then = f"{new.us:,.1f} us in {new.count}" + (
            "" if one.wall_us is None else f", in a run of {one.wall_us:,.0f} us"
        )
        told.append(f"kernel: {old.us:,.1f} us in {counted(old.count, 'launch')}, then {then}")
    if one.fixes:
        asked = ", ".join(f"{count} for {kind}" for kind, count in one.fixes.items())
        cost = f", {money.cost(one.spend)}" if one.spend.calls else ""
        told.append(f"mended files asked for: {asked}{cost}")
    if one.rechecked is not None:
        told.append("the restored program gives its old result" if one.rechecked else "THE RESTORED PROGRAM FAILS")
    if command := again(name, one):
        told.append(f"again: {command}")
    if one.taken_back is not None:
        told.append(f"taken back by #{one.taken_back}")
    elif one.state == "deployed" and one.of is None:
        told.append(f"back: kpd project rollback {name} {one.number}")
    return told
