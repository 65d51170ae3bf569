"""Every run that can have a device goes on: one run a device, one run a task, the oldest first."""

import asyncio
import logging

from kpd.engine.campaign import Campaign, end_run
from kpd.engine.fleet import Fleet
from kpd.engine.journal import Journal, holding, run_of
from kpd.engine.placing import Place, place
from kpd.engine.waiting import tell
from kpd.measure.catalogue import device_of
from kpd.model.causes import NotMeasurable
from kpd.model.nouns import Run
from kpd.model.places import Need
from kpd.model.standing import ForTask, OwnError, Wait
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace

log = logging.getLogger(__name__)


class Conductor:
    """Begins campaigns as devices become free, and keeps them until they end."""

    def __init__(self, workspace: Workspace, config: Config, journal: Journal, fleet: Fleet) -> None:
        self.config = config
        self.campaigns: dict[str, Campaign] = {}
        self._workspace = workspace
        self._journal = journal
        self._fleet = fleet
        self._tasks: set[asyncio.Task[None]] = set()
        self._work = asyncio.Event()
        self._closing = False

    async def serve(self) -> None:
        """Conduct runs as they come, until cancelled."""
        while True:
            self._work.clear()
            try:
                with holding(self._journal):
                    self._begin_what_can()
            except Exception as err:  # without this loop the daemon would have to end
                log.exception("runs could not be begun because of an error of kpd's own")
                self._journal.suspend(OwnError(repr(err)))
            await self._work.wait()

    def wake(self) -> None:
        """Something that a waiting run looks at has changed."""
        self._work.set()
        for campaign in self.campaigns.values():
            campaign.control.wake()

    def finish(self) -> tuple[str, ...]:
        """Begin nothing more, and cut what only waits; in words, the steps that come to their end yet."""
        self._closing = True
        left = []
        for campaign in self.campaigns.values():
            campaign.control.finish()
            current = campaign.run.current
            if campaign.control.in_step and not campaign.run.waiting and current is not None:
                left.append(f"{current.step} of {campaign.run_id}.{current.number}")
        return tuple(left)

    async def finished(self) -> None:
        """After `finish`: when nothing is under way any more."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def shut_down(self) -> None:
        """Cancel the steps under way and wait until their processes are gone; the runs are left as they are."""
        self._closing = True
        for campaign in self.campaigns.values():
            campaign.control.interrupt("shutdown", "")
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _begin_what_can(self) -> None:
        state = self._journal.state
        if state.held or self._closing:
            return
        for run in (*state.begun, *state.queue):  # what a former daemon left comes first
            if run.id not in self.campaigns:
                found = self._place(run)
                if isinstance(found, Place):
                    self._begin(run, found)
                elif found is not None:
                    tell(self._journal, run, found)

    def _place(self, run: Run) -> Place | Wait | None:
        """Where the run can go on now, or what it waits for; None when it has just been ended instead."""
        # Runs that wait for their host keep their task and their device, too.
        others = [other for other in self._journal.state.begun if other.id != run.id]
        tasks = {other.task: other.id for other in others}
        tasks |= {other.run.task: other.run_id for other in self.campaigns.values()}
        if run.started is None and run.task in tasks:
            return ForTask(tasks[run.task], run.task)
        card = self._journal.state.tasks.get(run.task)
        if run.started is None and (card is None or card.error):
            end_run(self._journal, run.id, "failed", NotMeasurable(card.error if card else "gone"))
            return None
        kind = device_of(card.language, card.need) if card is not None else "cpu"
        taken = {(other.host, other.device_id or "cpu") for other in others}
        taken |= {(other.place.host, other.place.device.id) for other in self.campaigns.values()}
        known = self._journal.state.hosts
        hosts = {name: known[name] for name in self._fleet.hosts if name in known}
        return place(run, kind, card.need if card else Need(), hosts, taken)

    def _begin(self, run: Run, where: Place) -> None:
        campaign = Campaign(self._workspace, lambda: self.config, self._journal, self._fleet, where, run.id)
        self.campaigns[run.id] = campaign
        task = asyncio.create_task(self._conduct(campaign), name=f"conducts {run.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _conduct(self, campaign: Campaign) -> None:
        try:
            with holding(self._journal):
                await campaign.conduct()
        except Exception as err:  # whatever it is, the daemon and its log stay up for the operator to look at
            log.exception("%s was interrupted by an error of kpd's own", campaign.run_id)
            self._journal.suspend(OwnError(repr(err), campaign.run_id))
        finally:
            del self.campaigns[campaign.run_id]
            if run_of(self._journal, campaign.run_id).status == "ended":
                self._fleet.end_leftovers(campaign.place.host)
                self._fleet.use(self.config.hosts)  # what was changed while the run was on its host
            self.wake()
