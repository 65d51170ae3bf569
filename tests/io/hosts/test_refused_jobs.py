"""Jobs that a host refuses: ids that are no names, limits and environments that cannot be."""

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from tests.support.hosts.local import host, names, spec

__all__ = ["host"]


async def test_an_unknown_id(host: Host) -> None:
    assert await host.kill("nobody") is False
    await host.forget("nobody")
    with pytest.raises(HostError) as caught:
        await host.read("jobs/nobody/stdout", 10)
    assert caught.value.kind == "not_found"


@pytest.mark.parametrize("id", ["", ".", "..", "a/b", "../a", ".hidden", "a b", "ä", "a\n", "x" * 201])
async def test_ids_that_are_no_names_are_refused(host: Host, id: str) -> None:
    for ask in (host.job(spec(id, "true")), host.kill(id), host.forget(id)):
        with pytest.raises(HostError) as caught:
            await ask
        assert caught.value.kind == "refused"
    assert names(host, "jobs") == []


@pytest.mark.parametrize("limit", [0, -1, float("inf"), float("nan")])
async def test_a_job_needs_a_real_limit(host: Host, limit: float) -> None:
    with pytest.raises(HostError, match="limit"):
        await host.job(spec("a", "true", limit_s=limit))


@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"A": "x\0y"}])
async def test_an_environment_that_cannot_be_is_refused(host: Host, env: dict[str, str]) -> None:
    with pytest.raises(HostError, match="environment"):
        await host.job(spec("a", "true", env=env))
