"""Checks hosts now: through the daemon, which holds their links, or from this process when none runs."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kpd.client import NoDaemon, ask
from kpd.hosts.errors import HostError, UnknownHostKey
from kpd.hosts.host import Host
from kpd.hosts.lent import lender_checks
from kpd.hosts.preflight.cards import devices, down_card, host_card
from kpd.hosts.preflight.counter_trial import try_counters
from kpd.hosts.preflight.probe import HostFacts
from kpd.hosts.transports import host_of
from kpd.model.codec import jsonable
from kpd.model.hosts import HostCard, Telemetry
from kpd.workspace.config import load_config
from kpd.workspace.host_tables import HostConfig, builder_of
from kpd.workspace.paths import Workspace

LIMIT_S = 40.0  # for a host to accept the connection and to be probed
TRIAL_S = 20.0  # for its GPU to be free, and ncu to be tried on it
Card = dict[str, Any]


def check_hosts(ws: Workspace, hosts: Mapping[str, HostConfig]) -> list[Card]:
    """Check the hosts now and return their cards as plain JSON values. Raises DaemonError, WorkspaceError."""
    one = next(iter(hosts)) if len(hosts) == 1 else None
    try:
        answer = ask(ws.socket, "command", "check_hosts", {"host": one}, timeout=LIMIT_S + TRIAL_S)
    except NoDaemon:
        return check_directly(ws, hosts)
    return [card for card in answer["hosts"] if card["name"] in hosts]


def check_directly(ws: Workspace, hosts: Mapping[str, HostConfig]) -> list[Card]:
    """Check the hosts over links of this process, all at once, and return their cards. Raises WorkspaceError.

    Those that only build come last: a host that they build for has asked for them, and given them back.
    """
    ws.make_private()
    known = load_config(ws).hosts

    async def all_of_them() -> list[HostCard]:
        found: dict[str, HostCard] = {}
        for builds in (False, True):
            these = {name: config for name, config in hosts.items() if config.builds is builds}
            cards = await asyncio.gather(*(_look(ws, name, config, known) for name, config in these.items()))
            found |= dict(zip(these, cards, strict=True))
        return [found[name] for name in hosts]

    return [jsonable(card) for card in asyncio.run(all_of_them())]


async def _look(ws: Workspace, name: str, config: HostConfig, known: Mapping[str, HostConfig]) -> HostCard:
    try:
        host = host_of(name, config, ws)
        try:
            async with asyncio.timeout(LIMIT_S):
                if (trouble := await _try(host)) is not None:
                    return down_card(name, config, trouble)
                facts = await host.probe()
            seen = await _glance(host, config, facts)
            card = host_card(name, config, facts, await try_counters(host, facts, config.gpus, TRIAL_S), seen)
            if (builder := builder_of(name, config, known)) is not None:
                host.builder = host_of(builder, known[builder], ws)
                await _try(host.builder)
            return replace(card, checks=(*card.checks, *await lender_checks(host)))
        finally:
            if host.builder is not None:
                await host.builder.close()
            await host.close()
    except TimeoutError:
        return down_card(name, config, HostError("unreachable", f"{name}: no answer within {LIMIT_S:g} s"))
    except HostError as err:
        return down_card(name, config, err)


async def _glance(host: Host, config: HostConfig, facts: HostFacts) -> dict[str, Telemetry]:
    """Return what the host's GPUs do; a host where that fails may work all the same."""
    gpus = [device.id for device in devices(facts, config) if device.kind == "gpu"]
    try:
        return await host.device_status(gpus, gpus=True) if gpus else {}
    except HostError as err:
        unknown = Telemetry(time.time(), trouble=err.message)
        return dict.fromkeys(gpus, unknown)


async def _try(host: Host) -> HostError | None:
    """Try the link once, and return the error that kept it from coming up, or None."""
    host.start()
    await host.tried(0)
    return None if host.up else host.trouble


def trust_directly(ws: Workspace, name: str, config: HostConfig, fingerprint: str) -> None:
    """Store the key that the host offers, if it has this fingerprint, which a person has compared.

    Raises HostError, WorkspaceError.
    """

    async def trust() -> None:
        host = host_of(name, config, ws)
        try:
            async with asyncio.timeout(LIMIT_S):
                trouble = await _try(host)
                if not isinstance(trouble, UnknownHostKey) or trouble.offered.fingerprint != fingerprint:
                    raise HostError("host_key", f"{name} does not offer the key {fingerprint}", f"kpd doctor {name}")
                await host.trust(trouble.offered)
        except TimeoutError as err:
            raise HostError("unreachable", f"{name}: no answer within {LIMIT_S:g} s") from err
        finally:
            await host.close()

    asyncio.run(trust())
