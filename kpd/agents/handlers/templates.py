"""Kernels that others call with template parameters, or link with by explicit instantiations."""

from collections.abc import Mapping

from kpd.agents.interface import entries, instances
from kpd.workspace.task import Task

MOST_INSTANCES = 8


class Templates:
    """Names what must stay; whether it did is for the gate."""

    def applies(self, task: Task, incumbent: Mapping[str, bytes]) -> bool:
        templates = any(each.template for entry in entries(task, incumbent) for each in entry.of)
        return templates or bool(instances(task, incumbent))

    def hints(self, task: Task, incumbent: Mapping[str, bytes]) -> tuple[str, ...]:
        kept = tuple(
            f"{entry.path}: {entry.where} calls `{entry.name}` with its template parameters "
            f"<{' '.join(entry.of[0].template.split())}>; keep them, new ones need defaults."
            for entry in entries(task, incumbent)
            if entry.of[0].template
        )
        found = instances(task, incumbent)
        if not found:
            return kept
        more = f" and {len(found) - MOST_INSTANCES} more" if len(found) > MOST_INSTANCES else ""
        named = ", ".join(f"`{each};`" for each in found[:MOST_INSTANCES])
        return (*kept, f"Keep the explicit instantiations: {named}{more}.")

    def tidy(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        return dict(files)
