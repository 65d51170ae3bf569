"""What a run goes on under, as an operator may change it while it does: its budget, its agents, its rules, its turn.

All of it is read from the run whenever it decides what comes next, so that each change holds from there on, and after a
restart.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from kpd.claude.prices import price
from kpd.engine.engine import Engine
from kpd.engine.refused import Refused, refuse_agents, refuse_ended
from kpd.knowledge.skills import load_skills
from kpd.model import events as e
from kpd.model.nouns import Run, Stand
from kpd.profile.catalogue import RULES

MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}")
"""Names of models as services give them: claude-sonnet-5-5, us.vendor.model-v1:0, model@20260101."""
ASKS_MODELS = "claude"
Direction = Literal["up", "down", "top", "bottom"]


def budget(engine: Engine, run: Run, given: Mapping[str, Any], by: str) -> None:
    """Change what is given of what the run may spend; a `stop_score` of 0 is none.

    It holds at once: a run that has used up the new budget ends when the iteration under way has come to its end.
    """
    refuse_ended(run)
    if not given:
        raise Refused("nothing of the budget is given", "kpd budget --iterations 20, for example")
    changes: dict[str, Any] = {name: value or None if name == "stop_score" else value for name, value in given.items()}
    now = replace(run.budget, **changes)
    if now != run.budget:
        engine.journal.emit(e.BudgetChanged(run.id, now, by))
        engine.wake()


def agent(engine: Engine, run: Run, names: str | None, model: str | None, by: str) -> None:
    """Change who proposes from the next iteration on, and the model that is asked (empty: config.toml's).

    An iteration under way is its agent's until its end.
    """
    refuse_ended(run)
    if names is None and model is None:
        raise Refused("neither an agent nor a model is given", "kpd agent claude,sweep, or kpd agent --model NAME")
    if names is None:
        names = run.agent
    else:
        refuse_agents(names, engine.workspace, run.host, engine.config.hosts)
    if model:
        _check_model(engine, run, names, model)
    chosen = run.model if model is None else model
    if (names, chosen) != (run.agent, run.model):
        engine.journal.emit(e.AgentChanged(run.id, names, chosen, by))
        engine.wake()


def _check_model(engine: Engine, run: Run, names: str, model: str) -> None:
    """Raises Refused for what no service would know, and for what could not be asked within the limits in dollars."""
    if not MODEL.fullmatch(model):
        raise Refused(f"{model[:80]!r} is no model's name", "write it as the model service does: claude-sonnet-5-5")
    if ASKS_MODELS not in names.split(","):
        raise Refused(f"{names} asks no model", f"kpd agent {ASKS_MODELS} --model {model}")
    config = engine.config.claude
    if price(model, config) is None and (run.budget.usd or config.max_usd_per_day):
        raise Refused(
            f"the price of {model} is not known, so the limits in dollars cannot be held",
            f'check the name, or give its price in [claude.prices."{model}"] of config.toml',
        )


def rule(engine: Engine, run: Run, rule_id: str, stand: Stand, by: str) -> None:
    """Have agents hear of a rule, or of a skill without one, first of all, never, or by its severity again."""
    refuse_ended(run)
    known = {one.id for one in RULES} | load_skills(engine.workspace).by_id.keys()
    if rule_id not in known and rule_id not in run.stands:
        near = difflib.get_close_matches(rule_id, sorted(known), n=3, cutoff=0.5)
        remedy = f"did you mean {' or '.join(near)}?" if near else "kpd rules lists them"
        raise Refused(f"there is no rule {rule_id[:80]!r}", remedy)
    if run.stands.get(rule_id, "plain") != stand:
        engine.journal.emit(e.RuleSet(run.id, rule_id, stand, by))


def move(engine: Engine, run: Run, to: Direction, by: str) -> int:
    """Give a run that waits another place in the queue; the place it has then, from 1 on."""
    queue = [waiting.id for waiting in engine.journal.state.queue]
    if run.id not in queue:
        raise Refused(f"{run.id} is not in the queue ({run.status})", "kpd queue shows the runs that wait")
    before = queue.index(run.id)
    after = {"up": max(before - 1, 0), "down": before + 1, "top": 0, "bottom": len(queue)}[to]
    queue.insert(after, queue.pop(before))
    if (place := queue.index(run.id)) != before:
        engine.journal.emit(e.QueueOrdered(tuple(queue), by))
        engine.wake()
    return place + 1
