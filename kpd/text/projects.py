"""Renders the state of a project's files on its host."""

from kpd.model.projects import ChangeRecord, Drifted, PlaceStatus


def status_lines(status: PlaceStatus) -> list[str]:
    """Describe the last change of a project and its files, and what a person can do."""
    change = status.change
    if change is None:
        return ["kpd has never changed it"]
    lines = [ended(change)] if change.state in ("restored", "committed") else _held(status)
    lines += [f"{path}: {_WHOSE[whose]}" for path, whose in status.now.items() if whose != "original"]
    if change.state in ("restored", "blocked"):
        lines += [f"{path}: somebody else had changed it, so kpd left it" for path in change.conflicts]
    if status.trouble:
        lines.append(f"the originals could not be put back yet: {status.trouble}")
    return [*lines, f"originals: {status.folder}"]


_WHOSE = {"kpd": "as kpd has left it", "other": "neither the original nor what kpd has left"}


def ended(change: ChangeRecord) -> str:
    """Say how a change ended."""
    if change.state == "committed":
        return f"changed by {change.holder}, and kept: {change.purpose}"
    why = "its lease was over" if change.why == "lease" else "it was asked for"
    return f"restored, as {why}: {change.purpose}"


def blocked(change: ChangeRecord) -> str:
    """Say why the sources of a blocked change were not put back, and what a person can do."""
    return (
        f"somebody else has made {', '.join(change.conflicts)}, maybe of kpd's sources, so these were left beside it: "
        "move it away, then kpd project restore"
    )


def _held(status: PlaceStatus) -> list[str]:
    change = status.change
    assert change is not None
    whose = f"{change.holder} changes it: {change.purpose}"
    if change.state == "blocked":
        return [f"NOT RESTORED: kpd's sources are in place. {change.purpose}", blocked(change)]
    if change.state == "restoring":
        what = "its originals are being put back"
    elif status.left_s:
        what = f"restored by itself in {status.left_s:.0f} s, unless the lease is renewed"
    else:
        what = "its lease is over"
    if status.switch:
        return [whose, what]
    return [whose, what, "nothing there did that any more, as after a restart of the host: it does again"]


def drift(found: Drifted) -> str:
    """Say what of a program is not as it was."""
    match found.what:
        case "file":
            how = "is gone" if not found.now else "is new" if not found.before else "was changed"
            return f"{found.path} {how} since"
        case "time":
            return f"its run took {found.before} in the median, and takes {found.now} now"
    what = {"gpus": "GPUs", "driver": "driver", "cuda": "CUDA toolkit"}[found.what]
    return f"its {what}: {found.before or 'none'} before, {found.now or 'none'} now"


def way_back(name: str, deployment: int | None) -> list[str]:
    """Say what a person can do about a program that is not what it was; `deployment` is the one in place."""
    lines = [f"kpd project watch {name} --again takes what it is now as what it should be"]
    if deployment is not None:
        lines.insert(
            0, f"kpd project rollback {name} {deployment} puts back what was there before deployment {deployment}"
        )
    return lines
