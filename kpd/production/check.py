"""Checks a project before anything of it is changed, and then its build, which is undone unless it is to be kept."""

from collections.abc import Callable

from kpd.hosts.errors import HostError
from kpd.model.hosts import Check
from kpd.model.projects import ChangeRecord, FoundProject
from kpd.production.observe.sudo_ncu import permitted
from kpd.production.place import NOT_BEGUN, NOT_NOTED, ProjectPlace
from kpd.text.foreign import visible
from kpd.text.projects import blocked

SPARE = 3
"""How many times the size of its files a project needs free: the copies, new files beside them, and a new build."""


async def preflight(place: ProjectPlace) -> tuple[FoundProject | None, list[Check]]:
    """Look at the project's files and at the last change, as `ProjectPlace.status` does: that may start a restore.

    Raises HostError where the link is lost.
    """
    status = await place.status()
    change = status.change
    checks = []
    if change is not None and change.state == "blocked":
        checks.append(Check("place", "bad", blocked(change), "kpd project status"))
    elif change is not None and change.state in ("open", "restoring"):
        found = f"{change.holder} changes it: {change.purpose}"
        checks.append(Check("place", "bad", found, "wait, or kpd project restore ends it"))
    else:
        checks.append(Check("place", "ok", f"nothing is changed; originals would be kept in {status.folder}"))
    if place.project.sudo_ncu:
        checks.append(await _sudo(place))
    try:
        found_project = await place.look()
    except HostError as err:
        if err.kind not in ("refused", "not_found", "host", "no_space"):
            raise
        return None, [*checks, Check("files", "bad", err.message, "correct the project in config.toml, or the files")]
    return found_project, [*checks, *_files(place, found_project)]


async def _sudo(place: ProjectPlace) -> Check:
    """Check that `sudo_ncu` can do what it says."""
    ncu = (await place.host.probe())["ncu"]
    if not ncu:
        return Check("sudo ncu", "bad", "there is no ncu for sudo_ncu to run", "install Nsight Compute there")
    if why := await permitted(place.host, ncu):
        remedy = f"visudo there: USER ALL=(root) NOPASSWD: {ncu}, or leave sudo_ncu out"
        return Check("sudo ncu", "bad", f"sudo does not run {ncu} without a password: {visible(why)}", remedy)
    return Check("sudo ncu", "ok", f"sudo runs {ncu} without a password")


def _files(place: ProjectPlace, found: FoundProject) -> list[Check]:
    size = sum(file.size for file in found.files)
    there = ", ".join(f"{file.path} ({file.size} bytes)" for file in found.files if file.sha)
    checks = [Check("files", "ok", f"in {found.root}: {there}")]
    if absent := [file.path for file in found.files if not file.sha]:
        checks.append(
            Check("binary", "bad", f"not built yet: {', '.join(absent)}", "kpd project check --normalise builds it")
        )
    if found.missing:
        checks.append(Check("context", "bad", f"cannot be read: {', '.join(found.missing)}", "correct context"))
    if not found.named:
        told = f"no file of the project names {place.project.kernel}"
        checks.append(Check("kernel", "bad", told, "correct kernel, or files"))
    room = f"{found.free >> 20} MiB free at the root"
    if found.free < SPARE * size:
        checks.append(Check("room", "bad", room, f"free at least {SPARE * size >> 20} MiB there"))
    else:
        checks.append(Check("room", "ok", room))
    return checks


async def check_build(
    place: ProjectPlace, normalise: bool, said: Callable[[str, bytes], None] | None = None
) -> tuple[ChangeRecord, list[Check]]:
    """Build the project, and compare its binaries with those that were there. Raises HostError, PlaceError.

    With `normalise` binaries that differ are kept; else the old ones are restored. Returns the change when it is over.
    """
    async with place.changing("kpd project check builds it") as change:
        result = await change.build(said)
        if result.rc in (NOT_BEGUN, NOT_NOTED):
            last = visible(result.stderr.decode(errors="replace").strip()[-300:])
            checks = [Check("build", "bad", f"the change ended meanwhile: {last}", "kpd project status")]
        elif result.rc != 0:
            how = {"timeout": f"took longer than {place.project.limit_build}"}.get(result.reason, f"ends {result.rc}")
            checks = [Check("build", "bad", f"{place.project.build}: {how}", "correct it on the host; see its output")]
        else:
            checks = [Check("build", "ok", f"{place.project.build}: {result.seconds:.1f} s")]
            differ = changed(change.record)
            if normalise and differ and not _unmade(change.record):
                await change.commit()
                checks.append(Check("binary", "ok", f"{', '.join(differ)} was not what the source builds, and is now"))
            else:
                checks += _binaries(change.record)
        checks += _touched(change.record)
    if change.record.state == "blocked":
        checks.append(Check("conflict", "bad", f"NOT RESTORED: {blocked(change.record)}", "kpd project status"))
    elif change.record.conflicts:
        left = ", ".join(change.record.conflicts)
        checks.append(Check("conflict", "bad", f"somebody else has changed {left}: left as it is", "look at it"))
    return change.record, checks


def changed(record: ChangeRecord) -> tuple[str, ...]:
    """Return the binaries that are not the programs that they were before a change's build."""
    binaries = (entry for entry in record.entries if entry.kind == "binary" and not entry.alike)
    return tuple(entry.path for entry in binaries if entry.wrote and entry.wrote[-1] != entry.sha)


def _unmade(record: ChangeRecord) -> list[str]:
    return [entry.path for entry in record.entries if entry.kind == "binary" and entry.wrote[-1:] == ("",)]


def _binaries(record: ChangeRecord) -> list[Check]:
    if missing := _unmade(record):
        return [Check("binary", "bad", f"the build does not make {', '.join(missing)}", "correct binary, or build")]
    if differ := changed(record):
        told = f"{', '.join(differ)} is not what the source builds: a measured baseline would be another program's"
        return [Check("binary", "bad", told, "kpd project check --normalise keeps the new one")]
    return [Check("binary", "ok", "is what the source builds")]


def _touched(record: ChangeRecord) -> list[Check]:
    if record.touched is None:
        return [Check("elsewhere", "off", "too many files to see what else the build touches")]
    if record.touched:
        told = f"the build also changes {', '.join(record.touched)}: kpd does not restore these"
        return [Check("elsewhere", "bad", told, "correct build_dir, or the build")]
    return [Check("elsewhere", "ok", "the build changes nothing outside of build_dir")]
