"""How a candidate is profiled on each kind of device, whatever its language, and every rule there is."""

from typing import Literal

from kpd.profile import cpu, gpu
from kpd.profile.cpu_rules import CPU_RULES
from kpd.profile.gpu_rules import GPU_RULES
from kpd.profile.profile import Profiler
from kpd.profile.rules import Rule

PROFILERS: dict[Literal["cpu", "gpu"], Profiler] = {
    "cpu": Profiler(cpu.measured, cpu.uncounted, CPU_RULES, cpu.findings, cpu.bottleneck),
    "gpu": Profiler(gpu.measured, gpu.uncounted, GPU_RULES, gpu.findings, gpu.bottleneck, gpu.in_full),
}
RULES: tuple[Rule, ...] = (*CPU_RULES, *GPU_RULES)
RULE_IDS = frozenset(rule.id for rule in RULES)
