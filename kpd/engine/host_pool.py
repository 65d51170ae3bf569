"""Keeps the links to all hosts of config.toml, probes hosts when they connect, and updates their cards."""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from typing import Any

from kpd.engine.journal import Journal, holding
from kpd.engine.leftovers import Housekeeper
from kpd.engine.on_demand import OnDemand, let_build, still_lent
from kpd.engine.peaks import still_known
from kpd.engine.waiting import set_waiting
from kpd.hosts.errors import HostError, Pending, UnknownHostKey
from kpd.hosts.host import Host
from kpd.hosts.lent import lender_checks
from kpd.hosts.preflight.cards import down_card, host_card
from kpd.hosts.preflight.counter_trial import try_counters
from kpd.hosts.preflight.device_status import status_of
from kpd.hosts.transports import host_of
from kpd.model import events as e
from kpd.model.hosts import Device, HostCard, HostStatus
from kpd.model.run import Run
from kpd.model.status import Paused, Running
from kpd.model.waits import Wait
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.paths import Workspace
from kpd.workspace.transports import is_on_demand

CLOSE_S = 10.0  # for all hosts to disconnect
CHECK_S = 30.0  # to probe a host while a person waits for the answer
GLANCE_S = 15.0  # to read what a host's devices do at this moment
TRIAL_S = 60.0  # to wait until the GPU is free for one launch under the profiler
CONNECTING = "connecting"
log = logging.getLogger(__name__)


class HostPool:
    """Hosts by name. `on_news` is called when a host has come up or changed, so that waiting runs are checked again."""

    def __init__(self, workspace: Workspace, journal: Journal, on_news: Callable[[], None]) -> None:
        self.hosts: dict[str, Host] = {}
        self._workspace = workspace
        self._journal = journal
        self._on_news = on_news
        self._configs: dict[str, HostConfig] = {}
        self._cards: dict[str, tuple[int, HostCard]] = {}  # the machine of each, and its card as last probed
        self._housekeeper = Housekeeper(journal)
        self._on_demand = OnDemand(self._give_back, self._show_asked, still_lent(journal.state.hosts))
        self._tasks: dict[asyncio.Task[None], str] = {}  # and the names of their hosts

    def use(self, configs: Mapping[str, HostConfig]) -> None:
        """Connect to hosts that are new, reconnect those whose settings changed, and disconnect those that are gone.

        A host that a run works on stays as it is until that run has ended: call this again then. A host that is down,
        or whose runs are paused, is reconnected at once: a corrected address may be what it needs.
        """
        running = (run for run in self._journal.state.begun if isinstance(run.status, Running))
        busy = {host for run in running for host, _ in run.lanes.values()}
        for name in tuple(self.hosts):
            if configs.get(name) != self._configs[name] and not (name in busy and self.hosts[name].up):
                self._let_go(name)
        for name in sorted(self._journal.state.hosts.keys() - configs.keys() - self.hosts.keys()):
            self._emit(e.HostRemoved(name))
        for name, config in configs.items():
            if name not in self.hosts:
                self._take(name, config)
        let_build(self._configs, self.hosts)

    async def close(self) -> None:
        """Disconnect from every host; their jobs go on."""
        for task in tuple(self._tasks):
            task.cancel()
        for host in self.hosts.values():
            host.on_link(lambda: None)
        for name, host in self.hosts.items():
            if is_on_demand(host.transport.kind) and host.kept:
                self._show_released(name)
        closing = [asyncio.ensure_future(host.close()) for host in self.hosts.values()]
        if closing:
            await asyncio.wait(closing, timeout=CLOSE_S)

    def device_of(self, run: Run) -> Device | None:
        """Return the run's device as its host's card shows it now; None when it is gone."""
        card = self._journal.state.hosts.get(run.host)
        return next((device for device in card.devices if device.id == run.device_id), None) if card else None

    def card(self, name: str) -> HostCard:
        """Return the card of the host as it was last seen."""
        return self._journal.state.hosts[name]

    def note(self, card: HostCard) -> None:
        """Record the card of a host if it has changed."""
        if self._journal.state.hosts.get(card.name) != card:
            self._emit(e.HostProbed(card))

    async def check(self, name: str) -> HostCard:
        """Probe the host and return its new card; a host that is down is tried now.

        After CHECK_S seconds the card is returned as far as it is known.
        """
        looking = self._begin(name, self._quietly(name, self._look(name, self.hosts[name])))
        await asyncio.wait([looking], timeout=CHECK_S)
        return self._journal.state.hosts.get(name) or HostCard(
            name, "", link="down", error="not in config.toml any more"
        )

    async def _look(self, name: str, host: Host) -> None:
        if not host.up:
            before = host.tries
            host.retry_now()
            host.start()
            await host.tried(before)
        if host.up:
            await self._probe(name, host)
            if lender := await lender_checks(host):
                card = self.card(name)
                self._found(host, replace(card, checks=(*card.checks, *lender)))

    async def device_status(self, name: str) -> HostStatus | None:
        """Read what the devices of a host do right now. It is not recorded.

        Returns None while the host is down, or when it does not answer.
        """
        host = self.hosts[name]
        if not host.up:
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(GLANCE_S):
                return await status_of(host, self.card(name))
        return None

    def retry_now(self, name: str) -> None:
        """Try a host that is down again now."""
        host = self.hosts.get(name)
        if host is None:
            return
        if not host.up:
            host.retry_now()
        elif self.card(name).link == "down":  # the link was up, but the probe failed
            self._begin(name, self._quietly(name, self._arrived(name, host)))

    async def trust(self, name: str, fingerprint: str) -> None:
        """Trust a host's key whose fingerprint a person has compared.

        Raises HostError when the host has not offered a key with this fingerprint.
        """
        host = self.hosts[name]
        trouble = host.trouble
        if not isinstance(trouble, UnknownHostKey) or trouble.offered.fingerprint != fingerprint:
            raise HostError("host_key", f"{name} has not offered a key {fingerprint}", "kpd doctor looks again")
        before = host.tries
        await host.trust(trouble.offered)
        await host.tried(before)

    def want(self, names: Collection[str], held: bool) -> None:
        """Ask for the hosts of these names that are there on demand; give others back that were idle for a while."""
        self._on_demand.want(names, self.hosts, held)

    def _give_back(self, name: str, host: Host) -> None:
        if self.hosts.get(name) is host:
            self._begin(name, self._released(name, host))

    async def _released(self, name: str, host: Host) -> None:
        """Give the host back, unless a run has come to need it since; one that comes meanwhile gets another."""
        if self._on_demand.wants(name):
            return
        log.info("host %s is given back: no run needs it", name)
        self._show_released(name)
        await self._on_demand.release(name, host)

    def _show_released(self, name: str) -> None:
        self._show_trouble(name, HostError("released", f"{name}: nothing is allocated"))

    def _show_asked(self, name: str) -> None:
        self._show_trouble(name, HostError("pending", f"{name}: is asked for"))

    def _show_trouble(self, name: str, trouble: HostError) -> None:
        self.note(down_card(name, self._configs[name], trouble, self._journal.state.hosts.get(name)))

    def end_leftovers(self, name: str) -> None:
        """End the jobs on the host that no run needs, left by a crash or by a link that was down."""
        host = self.hosts.get(name)
        if host is not None and host.up:
            self._begin(name, self._housekeeper.tidy(host))

    # ── one host ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, name: str, config: HostConfig) -> None:
        host = host_of(name, config, self._workspace)
        self.hosts[name] = host
        self._configs[name] = config
        known = self._journal.state.hosts.get(name) or HostCard(name, config.transport)
        self.note(
            replace(
                known, transport=config.transport, address=config.address, link="down", error=CONNECTING,
                trouble="", offered="", stuck=False, table=config.table, builds=config.builds,
            )
        )  # fmt: skip
        host.on_link(lambda: self._link_changed(name, host))
        if name in self._on_demand.left:
            self._show_asked(name)
        elif is_on_demand(config.transport):
            self._show_released(name)
        else:
            host.start()

    def _let_go(self, name: str) -> None:
        host = self.hosts.pop(name)
        del self._configs[name]
        self._cards.pop(name, None)
        host.on_link(lambda: None)
        self._on_demand.forget(name)
        for task in [task for task, whose in self._tasks.items() if whose == name]:
            task.cancel()
        self._begin("", host.close())

    def _link_changed(self, name: str, host: Host) -> None:
        log.info("host %s is %s", name, "up" if host.up else f"down: {host.trouble}")
        if host.up:
            if host.machine != self._cards.get(name, (0,))[0] and self._on_demand.began_in_vain(name, host):
                return
            self._begin(name, self._quietly(name, self._arrived(name, host)))
            return
        if host.trouble is not None:
            self._show_trouble(name, host.trouble)
            self._tell_runs(name, host.trouble.wait)
            if isinstance(host.trouble, Pending):
                self._on_news()

    async def _arrived(self, name: str, host: Host) -> None:
        """Take up a host whose link has come up. It is probed only if it is not known yet.

        A link that comes and goes must not disturb a measurement.
        """
        self._tell_runs(name, None)
        self._begin(name, self._housekeeper.tidy(host))  # which may take minutes on a slow disk
        machine, card = self._cards.get(name, (0, None))
        if card is not None and machine == host.machine:
            self._found(host, card)
        else:
            await self._probe(name, host)

    async def _probe(self, name: str, host: Host) -> None:
        config = self._configs[name]
        facts = await host.probe()
        seen = (await status_of(host, host_card(name, config, facts))).devices
        self._found(host, host_card(name, config, facts, seen=seen))
        tried = await try_counters(host, facts, config.gpus, TRIAL_S)
        self._found(host, host_card(name, config, facts, tried, seen))

    def _found(self, host: Host, card: HostCard) -> None:
        if self.hosts.get(card.name) is not host:
            return  # it was disconnected meanwhile
        card = still_known(card, self._journal.state.hosts.get(card.name))
        self._cards[card.name] = host.machine, card
        self.note(card)
        self._on_news()

    def _tell_runs(self, host: str, wait: Wait | None) -> None:
        """Record for every run on the host what it waits for, or its lanes there where the first one is elsewhere."""
        for run in self._journal.state.begun:
            for lane, place in run.lanes.items():
                here = place[0] == host and (lane == 0 or place[0] != run.host)
                if here and not (isinstance(run.status, Paused) and run.status.infra):
                    set_waiting(self._journal, run, wait, lane)

    # ── in the background ─────────────────────────────────────────────────────────────────────────────────────────

    def _emit(self, fact: e.Fact) -> None:
        with holding(self._journal):
            self._journal.emit(fact)

    def _begin(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task in the background, in an empty context.

        A run may have caused it, but its leases do not wait for that run's turn.
        """
        task = asyncio.create_task(work, context=Context())
        self._tasks[task] = name
        task.add_done_callback(lambda ended: self._tasks.pop(ended, None))
        return task

    async def _quietly(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Await work on a host, and show an error on the host's card instead of raising it."""
        try:
            with holding(self._journal):
                await work
        except HostError as err:
            if name in self._configs:
                self._show_trouble(name, err)
        except Exception:
            log.exception("looking at host %s failed", name)
