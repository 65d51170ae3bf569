"""Writes the prompt for a harness: the contract, the facts, and what was wrong with the last answer."""

import re
from collections.abc import Iterator
from pathlib import Path

from kpd.claude.question import PromptPart
from kpd.measure.driver.harness import native
from kpd.onboarding.facts import KernelFacts, LaunchSite
from kpd.onboarding.folder import Truth
from kpd.onboarding.launch_configs import LaunchConfig, Workload
from kpd.onboarding.scalars import Scalar

MOST_WRAPPER = 40_000
"""Characters of the wrapper that the prompt contains at most."""
MOST_CONTEXT = 20_000
"""Characters of each other file of the project."""
RULES = Path(__file__).parent / "rules.md"
"""The rules for every harness, for the model; @HEADER@ stands for kpd_task.h."""


def system() -> tuple[PromptPart, ...]:
    """Return the system prompt, which is the same for every task, and so cached."""
    text = RULES.read_text().replace("@HEADER@", native("kpd_task.h").decode())
    return (PromptPart(text, cached=True),)


def user(facts: KernelFacts, truth: Truth = "oracle") -> str:
    """Write the prompt with all facts of one kernel, its source and its wrapper."""
    kernel = facts.kernel
    bounds = ", ".join(f"{one.text} = {one.value}" if one.value else one.text for one in kernel.bounds)
    parts = [
        f"# Kernel {kernel.qualified}",
        f"Signature: `{kernel.signature}`" + (f", __launch_bounds__({bounds})" if bounds else ""),
        "Arguments: " + ", ".join(f"({one.type}, {one.name})" for one in kernel.parameters),
        "Needs: " + (", ".join(f"{one.kind} {one.name}" for one in facts.dependencies) or "nothing else of the source"),
        *_instance(facts),
        "## Launches in the wrapper",
        *(_site(site) for site in facts.sites),
        f"## Configurations (of {len(facts.table.launches)} observed launches)",
        *(_config(*pair) for pair in zip(facts.configs, facts.workloads, strict=True)),
        "## Scalars",
        *(_scalar(scalar) for scalar in facts.scalars),
        "## The kernel section",
        fenced(facts.prepared.text),
        "## The wrapper",
        fenced(facts.wrapper[:MOST_WRAPPER]),
    ]
    if len(facts.wrapper) > MOST_WRAPPER:
        parts.append(f"({len(facts.wrapper) - MOST_WRAPPER} more characters are left out.)")
    for name, text in facts.context.items():
        parts += [f"## Other code of the project: {name}", fenced(text[:MOST_CONTEXT], "")]
    if truth == "baseline":
        parts.append("The kernel itself is the truth of this task: write no oracle, and give nullptr in its place.")
    parts.append("Write the harness section.")
    return "\n\n".join(parts)


def again(facts: KernelFacts, section: str, wrong: str, truth: Truth = "oracle") -> str:
    """Write the prompt again, with the answer that could not be used and the reason."""
    parts = [
        user(facts, truth),
        "## Your last harness section",
        fenced(section) if section else "(none that could be read)",
    ]
    parts += ["It was refused:", fenced(wrong, ""), "Write the whole harness section again, with this corrected."]
    return "\n\n".join(parts)


def fenced(text: str, language: str = "cuda") -> str:
    """Put the text into a code block that nothing in it can close."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text if text.endswith(chr(10)) else text + chr(10)}{fence}"


def _instance(facts: KernelFacts) -> Iterator[str]:
    """Yield what the harness must know of the kernel's full name."""
    if "::" in facts.kernel.qualified:
        space = facts.kernel.qualified.rpartition("::")[0]
        yield f"It is in namespace {space}: outside of that, write `{facts.kernel.qualified}`."
    if facts.table.template:
        yield f"The program launches `{facts.kernel.qualified}{facts.table.template}`: launch that instance."


def _site(site: LaunchSite) -> str:
    launch = site.launch
    template = f"<{', '.join(launch.template)}>" if launch.template else ""
    shared = f", shared {launch.shared}" if launch.shared else ""
    told = [f"{name} {extent.size or f'depends on the launch ({extent.why})'}" for name, extent in
            (("grid", site.grid), ("block", site.block))]  # fmt: skip
    return (
        f"- {launch.place}: {launch.kernel or 'unknown'}{template}<<<{launch.grid}, {launch.block}"
        f"{shared}>>>({', '.join(launch.arguments)}): {'; '.join(told)}{f'; {launch.why}' if launch.why else ''}"
    )


def _config(config: LaunchConfig, work: Workload) -> str:
    grid, block = config.grid, config.block
    took = "" if config.target_us is None else f", took {config.target_us:.1f} us"
    lines = [
        f"- {config.name}: grid {{{grid.x}, {grid.y}, {grid.z}}}, block {{{block.x}, {block.y}, {block.z}}} "
        f"({block.x * block.y * block.z} threads), {config.share:.1%} of all ({config.count} launches){took}"
    ]
    if config.scalars:
        lines.append("  OBSERVED: " + ", ".join(f"{name} = {value}" for name, value in config.scalars.items()))
    budget = [
        f"{amount:.1f} {what} a thread"
        for amount, what in ((work.bytes, "bytes of device memory"), (work.instructions, "instructions"))
        if amount is not None
    ]
    if budget:
        lines.append("  WORKLOAD BUDGET: " + ", ".join(budget))
    return "\n".join(lines)


def _scalar(scalar: Scalar) -> str:
    values = ", ".join(f"{name} {value}" for name, value in scalar.values.items())
    return (
        f"- {scalar.type} {scalar.name}: role {scalar.role}, {scalar.reason}{f'; observed: {values}' if values else ''}"
    )
