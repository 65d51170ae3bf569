"""Finds the notice that still matters: those of a run end with what caused them, and any can be dismissed."""

from kpd.model.notices import Idle, InProduction, Notice, SettingsRefused, Stalled
from kpd.model.run import Run
from tui.model.view import View


def alarm(view: View) -> Notice | None:
    """Return the newest warning or error that is not dismissed and whose cause lasts; None where all is well."""
    loud = (one for one in reversed(view.state.notices) if one.level != "info" and one.at > view.dismissed)
    return next((one for one in loud if _lasts(view, one)), None)


def _lasts(view: View, notice: Notice) -> bool:
    about = notice.about
    if isinstance(about, SettingsRefused | InProduction):
        return True  # the fold removes it as soon as config.toml can be read, or the deployment has ended well
    if isinstance(about, Idle):
        return any(_goes_on(view.state.runs.get(id), notice.at) for id in about.runs)
    run = view.state.runs.get(getattr(about, "run", ""))
    if isinstance(about, Stalled):
        return run is not None and (about.iteration, about.step) in {(it.number, it.step) for it in run.open}
    if run is None:
        return all(_goes_on(one, notice.at) for one in view.begun)
    return _goes_on(run, notice.at) or (run.over and run is view.run and not _goes_on_without(run, notice.at))


def _goes_on(run: Run | None, since: float) -> bool:
    """Return whether the run is under way with the iteration that it was at then."""
    return run is not None and not run.over and not _goes_on_without(run, since)


def _goes_on_without(run: Run, since: float) -> bool:
    return bool(run.iterations) and run.iterations[-1].started > since
