"""Finds what was built of a candidate and of the incumbent, and refuses what has changed since."""

from kpd.engine.attempt import Attempt
from kpd.hosts.errors import LostBuild
from kpd.measure import jobs
from kpd.measure.bench import BuiltObject
from kpd.model.detail import Detail
from kpd.model.facts.steps import Built


async def candidate(attempt: Attempt, found: Detail) -> BuiltObject:
    """Return the candidate's object, built now or before. Raises BuildError, HostError."""
    return await _object(attempt, attempt.candidate(), found)


async def both(attempt: Attempt, found: Detail) -> tuple[BuiltObject, BuiltObject]:
    """Return the objects of the candidate and of the incumbent. Raises BuildError, HostError."""
    return await candidate(attempt, found), await incumbent(attempt)


async def incumbent(attempt: Attempt) -> BuiltObject:
    """Return the incumbent's object. Raises BuildError, HostError."""
    return await _of(attempt, attempt.parent)


async def baseline(attempt: Attempt) -> BuiltObject:
    """Return the baseline's object, of a run that has one. Raises BuildError, HostError."""
    found = attempt.run.baseline
    assert found is not None
    return await _of(attempt, found.number)


async def _of(attempt: Attempt, number: int) -> BuiltObject:
    return await _object(attempt, attempt.files_of(number), attempt.detail_of(number))


async def _object(attempt: Attempt, files: dict[str, bytes], known: Detail) -> BuiltObject:
    """Build the files, or find what the host has built of them, which must be what is known of their iteration.

    Raises BuildError, HostError.
    """
    built = await attempt.bench.build(await attempt.bench.stage(files), files, attempt.say("build"))
    if known.built is not None and (name := changed_file(known.built, built)):
        await attempt.bench.forget(built.job)
        raise LostBuild("stale", attempt.host.name, jobs.out(attempt.host, built.job, name))
    return built


def changed_file(fact: Built, found: BuiltObject) -> str:
    """Return the name of a file whose hash the host tells otherwise than when it was built; empty if there is none.

    What has been built anew may differ: some compilers never give the same file twice.
    """
    if found.made or not fact.hashes or fact.job != found.job:
        return ""
    differ = fact.hashes.items() ^ dict(found.hashes).items()
    return min((name for name, _ in differ), default="")
