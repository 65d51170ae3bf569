"""Implements changes of a run's terms: its budget, agents, rules, and place in the queue.

A run reads its terms whenever it decides what comes next, so each change holds from then on, and after a restart.
"""

import difflib
import re
from dataclasses import fields, replace
from typing import Any

from kpd.agents.catalogue import asks_models, traits
from kpd.claude.prices import price
from kpd.engine.engine import Engine
from kpd.engine.operations.runs import refuse_agents
from kpd.knowledge.skills import load_skills
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.run import Run
from kpd.operations.operation import Refused
from kpd.operations.runs import MoveRun
from kpd.operations.terms import ChangeAgent, ChangeBudget, SetRule
from kpd.profile.catalogue import rule_ids

MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}")
"""Names of models as services give them: claude-sonnet-5-5, us.vendor.model-v1:0, model@20260101."""


def budget(engine: Engine, op: ChangeBudget, target: Run, by: str) -> None:
    """Change the given parts of the run's budget.

    It holds at once: a run that has used up the new budget ends when the iteration under way is finished.
    """
    given: dict[str, Any] = {of.name: value for of in fields(Budget) if (value := getattr(op, of.name)) is not None}
    if not given:
        raise Refused("no part of the budget is given", "kpd budget --iterations 20, for example")
    changes: dict[str, Any] = {name: value or None if name == "stop_score" else value for name, value in given.items()}
    now = replace(target.budget, **changes)
    if now != target.budget or target.over:
        engine.journal.emit(e.BudgetChanged(target.id, now, by))
        engine.wake()


def agent(engine: Engine, op: ChangeAgent, target: Run, by: str) -> dict[str, Any]:
    """Change the agents that propose from the next iteration on, or the model that they ask.

    An iteration under way keeps its agent until its end; the answer names those whose agent is not among the new ones.
    """
    if op.agent is None and op.model is None:
        raise Refused("neither an agent nor a model is given", "kpd agent claude,sweep, or kpd agent --model NAME")
    names = target.agent if op.agent is None else op.agent
    if op.agent is not None:
        refuse_agents(names, engine)
    if op.model:
        _check_model(engine, target, names, op.model)
    chosen = target.model if op.model is None else op.model
    if (names, chosen) != (target.agent, target.model):
        engine.journal.emit(e.AgentChanged(target.id, names, chosen, by, traits(names, engine.config)))
        engine.wake()
    former = {*target.agents} - {*names.split(",")}
    return {"keeps": [f"{target.id}.{it.number}" for it in target.open if it.agent in former]}


def _check_model(engine: Engine, run: Run, names: str, model: str) -> None:
    """Raise Refused for a name that no service would know, and for a model whose cost limits cannot be held."""
    if not MODEL.fullmatch(model):
        raise Refused(f"{model[:80]!r} is not a model's name", "write it as the model service does: claude-sonnet-5-5")
    if not asks_models(names):
        raise Refused(f"{names} asks no model", f"kpd agent claude --model {model}")
    config = engine.config.claude
    if price(model, config) is None and (run.budget.usd or config.max_usd_per_day):
        raise Refused(
            f"the price of {model} is not known, so the limits in dollars cannot be held",
            f'check the name, or give its price in [claude.prices."{model}"] of config.toml',
        )


def rule(engine: Engine, op: SetRule, target: Run, by: str) -> dict[str, Any]:
    """Set how agents are told of a rule, or of a skill without one: first of all, never, or by its severity."""
    known = rule_ids() | load_skills(engine.workspace).by_id.keys()
    if op.rule not in known and op.rule not in target.stands:
        near = difflib.get_close_matches(op.rule, sorted(known), n=3, cutoff=0.5)
        remedy = f"did you mean {' or '.join(near)}?" if near else "kpd rules lists them"
        raise Refused(f"there is no rule {op.rule[:80]!r}", remedy)
    if target.stands.get(op.rule, "plain") != op.stand:
        engine.journal.emit(e.RuleSet(target.id, op.rule, op.stand, by))
    return {"rule": op.rule}


def move(engine: Engine, op: MoveRun, target: Run, by: str) -> dict[str, Any]:
    """Give a waiting run another place in the queue; `place` in the answer is the new one, from 1 on."""
    queue = [waiting.id for waiting in engine.journal.state.queue]
    before = queue.index(target.id)
    after = {"up": max(before - 1, 0), "down": before + 1, "top": 0, "bottom": len(queue)}[op.to]
    queue.insert(after, queue.pop(before))
    if (place := queue.index(target.id)) != before:
        engine.journal.emit(e.QueueOrdered(tuple(queue), by))
        engine.wake()
    return {"place": place + 1}
