"""The rules that matter for the selected iteration: those that fired, and those that an operator takes a stand on."""

from collections.abc import Sequence

from kpd.model.profiles import Finding
from tui.model.details import Efficacy
from tui.model.view import View


def findings(view: View) -> Sequence[Finding]:
    """What fired for the selected iteration, the gravest first; then what is pinned or banned and has not fired."""
    return [*fired(view), *not_fired(view)]


def fired(view: View) -> list[Finding]:
    explained = view.shown.detail.explained
    order = {"high": 0, "medium": 1, "low": 2}
    return sorted(explained.findings, key=lambda one: order[one.severity]) if explained else []


def not_fired(view: View) -> list[Finding]:
    """Rules that an operator has pinned or banned in this run: so that they can be found, and freed again."""
    if view.run is None or view.iteration is None or view.shown.show is None:
        return []
    already = {finding.rule for finding in fired(view)}
    known = {one.id: one for one in known_rules(view)}
    found = []
    for rule in sorted(view.run.stands.keys() - already):
        told = known.get(rule)
        found.append(Finding(rule, told.severity, told.finding, told.action) if told else Finding(rule, "low", "", ""))
    return found


def known_rules(view: View) -> tuple[Efficacy, ...]:
    """All rules, once the daemon has said which there are."""
    return view.shown.rules if isinstance(view.shown.rules, tuple) else ()
