"""The hosts of config.toml: linked for as long as the daemon lives, probed when they come up, and shown as they are."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

from kpd.engine.journal import Journal, JournalError
from kpd.engine.leftovers import end_leftovers
from kpd.engine.waiting import tell
from kpd.hosts.errors import LOST, HostError, UnknownHostKey
from kpd.hosts.host import Host
from kpd.hosts.preflight import down_card, host_card
from kpd.hosts.transports import host_of
from kpd.hosts.trial import try_counters
from kpd.model import events as e
from kpd.model.nouns import HostCard
from kpd.workspace.config import HostConfig
from kpd.workspace.paths import Workspace

KEPT_S = 7 * 86_400.0  # how long a host keeps finished jobs and content that nobody has used
KEPT_BYTES = 10 << 30  # and how much of them
TRIAL_S = 60.0  # for the GPU to be free for one launch under the profiler
CONNECTING = "connecting"
SHORT_S = 1.0  # a wait for a device that is not worth an event
log = logging.getLogger(__name__)


class Fleet:
    """Hosts by name. `on_news` is called when a host has come up or changed, so that waiting runs are looked at."""

    def __init__(self, workspace: Workspace, journal: Journal, on_news: Callable[[], None]) -> None:
        self.hosts: dict[str, Host] = {}
        self._workspace = workspace
        self._journal = journal
        self._on_news = on_news
        self._configs: dict[str, HostConfig] = {}
        self._cards: dict[str, HostCard] = {}  # as they were last probed, by this daemon
        self._waits: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def use(self, configs: Mapping[str, HostConfig]) -> None:
        """Link the hosts that are new, begin those anew that have changed, let go of those that are gone.

        What a run has begun on stays as it is until that run has ended: call this again then.
        """
        needed = {run.host for run in self._journal.state.begun}
        for name in tuple(self.hosts):
            if configs.get(name) != self._configs[name] and name not in needed:
                self._let_go(name)
        for name in self._journal.state.hosts.keys() - configs.keys() - self.hosts.keys():
            self._emit(e.HostRemoved(name))
        for name, config in configs.items():
            if name not in self.hosts:
                self._take(name, config)

    async def close(self) -> None:
        """Let go of every host; their jobs go on."""
        for task in tuple(self._tasks):
            task.cancel()
        for timer in self._waits.values():
            timer.cancel()
        for host in self.hosts.values():
            host.on_link(lambda: None)
        await asyncio.gather(*(host.close() for host in self.hosts.values()))

    def card(self, name: str) -> HostCard:
        """The host as it was last seen."""
        return self._journal.state.hosts[name]

    def note(self, card: HostCard) -> None:
        """Show the host so, if that is news."""
        if self._journal.state.hosts.get(card.name) != card:
            self._emit(e.HostProbed(card))

    async def check(self, name: str) -> HostCard:
        """The host probed anew; one that is down is tried now, for as long as one try takes."""
        host = self.hosts[name]
        if not host.up:
            before = host.tries
            host.nudge()
            await host.tried(before)
        if host.up:
            await self._quietly(name, self._probe(name, host))
        return self.card(name)

    def nudge(self, name: str) -> None:
        """If the host's link is down, try it again now."""
        if name in self.hosts:
            self.hosts[name].nudge()

    async def trust(self, name: str, fingerprint: str) -> None:
        """A person has compared the fingerprint. Raises HostError when the host has not offered such a key."""
        host = self.hosts[name]
        trouble = host.trouble
        if not isinstance(trouble, UnknownHostKey) or trouble.offered.fingerprint != fingerprint:
            raise HostError("host_key", f"{name} has not offered a key {fingerprint}", "kpd doctor looks again")
        before = host.tries
        await host.trust(trouble.offered)
        await host.tried(before)

    def end_leftovers(self, name: str) -> None:
        """End what runs on the host for nobody: what a crash, or a link that was down, has left."""
        host = self.hosts.get(name)
        if host is not None and host.up:
            self._begin(self._quietly(name, end_leftovers(self._journal, host)))

    # ── one host ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, name: str, config: HostConfig) -> None:
        host = host_of(name, config, self._workspace)
        self.hosts[name] = host
        self._configs[name] = config
        known = self._journal.state.hosts.get(name) or HostCard(name, config.transport)
        self.note(
            replace(
                known, transport=config.transport, address=config.address, link="down", error=CONNECTING,
                trouble="", offered="",
            )
        )  # fmt: skip
        host.on_link(lambda: self._link_changed(name, host))
        host.on_wait = lambda device, reason: self._wait_changed(name, device, reason)
        host.start()

    def _let_go(self, name: str) -> None:
        host = self.hosts.pop(name)
        del self._configs[name]
        self._cards.pop(name, None)
        host.on_link(lambda: None)
        self._begin(host.close())

    def _link_changed(self, name: str, host: Host) -> None:
        log.info("host %s is %s", name, "up" if host.up else f"down: {host.trouble}")
        if host.up:
            self._begin(self._quietly(name, self._arrived(name, host)))
            return
        if host.trouble is not None:
            self.note(down_card(name, self._configs[name], host.trouble, self._journal.state.hosts.get(name)))
            if host.trouble.kind in LOST:
                self._tell_runs(name, None, f"{name}: {host.trouble.message}; its jobs go on, and kpd goes on trying")

    async def _arrived(self, name: str, host: Host) -> None:
        """Only the first time is it looked at in full: a link that comes and goes must not disturb a measurement."""
        if (card := self._cards.get(name)) is not None:
            self._found(card)
        else:
            await end_leftovers(self._journal, host)
            await host.clean(KEPT_S, KEPT_BYTES)
            await self._probe(name, host)
        self._tell_runs(name, None, "")
        self._on_news()

    async def _probe(self, name: str, host: Host) -> None:
        config = self._configs[name]
        facts = await host.probe(config.cuda_home)
        self._found(host_card(name, config, facts))
        tried = await try_counters(host, facts, config.gpus, TRIAL_S)
        self._found(host_card(name, config, facts, tried))

    def _found(self, card: HostCard) -> None:
        known = self._journal.state.hosts.get(card.name)
        if known is not None and known.device == card.device:
            card = replace(card, bandwidth_gbs=known.bandwidth_gbs, peak_gflops=known.peak_gflops)
        self._cards[card.name] = card
        self.note(card)
        self._on_news()

    def _wait_changed(self, name: str, device: str, reason: str) -> None:
        timer = self._waits.pop((name, device), None)
        if timer is not None:
            timer.cancel()
        text = f"{name}: {reason}" if reason else ""
        if reason:
            later = asyncio.get_running_loop().call_later(SHORT_S, self._tell_runs, name, device, text)
            self._waits[name, device] = later
        else:
            self._tell_runs(name, device, "")

    def _tell_runs(self, host: str, device: str | None, reason: str) -> None:
        """Say on every run there what it waits for."""
        for run in self._journal.state.begun:
            if run.host == host and device in (None, run.device_id or "cpu") and run.status == "running":
                tell(self._journal, run, reason)

    # ── in the background ─────────────────────────────────────────────────────────────────────────────────────────

    def _emit(self, fact: e.Fact) -> None:
        try:
            self._journal.emit(fact)
        except JournalError as err:
            self._journal.suspend(f"{err}; then resume")

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _quietly(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """What goes wrong while a host is looked at is shown on its card."""
        try:
            await work
        except HostError as err:
            self.note(down_card(name, self._configs[name], err, self._journal.state.hosts.get(name)))
        except JournalError as err:
            self._journal.suspend(f"{err}; then resume")
        except Exception:
            log.exception("looking at host %s failed", name)
