"""Finds the profiler of each kind of device, and all rules: kpd's own and those of plug-ins."""

from collections.abc import Iterator
from functools import cache, partial
from typing import Literal

from kpd.profile import cpu, gpu
from kpd.profile.profile import Profiler
from kpd.profile.rules import Rule, RuleList
from kpd.workspace.entry_points import EntryPointGroup, PlugInError

Kind = Literal["cpu", "gpu"]


def _checked(found: object) -> RuleList:
    if not isinstance(found, RuleList):
        raise ValueError(f"it is {type(found).__name__} instead of a kpd.profile.rules.RuleList")
    found.check()
    return found


RULE_LISTS = EntryPointGroup("kpd.rules", _checked)


@cache
def profiler_of(kind: Kind) -> Profiler:
    """Return the profiler for this kind of device."""
    known = rules(kind)
    if kind == "gpu":
        concluded = partial(gpu.findings, known=known)
        return Profiler(gpu.measured, gpu.uncounted, known, concluded, gpu.limit, gpu.bottleneck, gpu.in_full)
    concluded = partial(cpu.findings, known=known)
    return Profiler(cpu.measured, cpu.uncounted, known, concluded, cpu.limit, cpu.bottleneck)


@cache
def rules(kind: Kind | None = None) -> tuple[Rule, ...]:
    """Return the rules for this kind of device, or all; kpd's own come first."""
    return tuple(rule for each in rule_lists() if kind in (None, each.device) for rule in each.rules)


@cache
def rule_ids() -> frozenset[str]:
    return frozenset(rule.id for rule in rules())


@cache
def rule_lists() -> tuple[RuleList, ...]:
    """Return all lists of rules that can be used; `of_plug_ins` says what is wrong with the others."""
    found = []
    for name in RULE_LISTS.own():
        own = RULE_LISTS.get(name)
        assert own is not None
        found.append(own)
    return (*found, *(one for _, one in of_plug_ins() if not isinstance(one, PlugInError)))


def of_plug_ins() -> Iterator[tuple[str, RuleList | PlugInError]]:
    """Yield a description of each plug-in's rule list, with the list, or the error if it cannot be used."""
    taken = {rule.id for name in RULE_LISTS.own() if (own := RULE_LISTS.get(name)) for rule in own.rules}
    for told, one in RULE_LISTS.plug_ins():
        if isinstance(one, PlugInError):
            yield told, one
        elif again := sorted(taken & {rule.id for rule in one.rules}):
            why = f"{told} is ignored: there is a rule {again[0]} already"
            yield told, PlugInError(why, "give the rule another id")
        else:
            taken |= {rule.id for rule in one.rules}
            yield told, one
