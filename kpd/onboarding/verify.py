"""Verifies a harness section: the kernel is unchanged, and each configuration has its geometry and work."""

from collections.abc import Iterator, Sequence

from kpd.onboarding.case_tables import CaseRow, Described, UnreadableCases, described
from kpd.onboarding.facts import KernelFacts
from kpd.onboarding.observed import spelled
from kpd.source.launches import Launch, launches, resolve
from kpd.source.macros import UnreadableDirective as NotSource
from kpd.source.source import Source
from kpd.source.values import Dim3
from kpd.workspace import sections

KERNEL, HARNESS = "the kernel section", "harness"
_KERNEL_MARK = "// ===== KERNEL SECTION (modify this section to optimise) =====\n"
_END_KERNEL = "// ===== END KERNEL SECTION =====\n\n"
_HARNESS_MARK = "// ===== HARNESS SECTION (cases, inputs and truth; what is changed here is not used) =====\n"
_END_HARNESS = "// ===== END HARNESS SECTION =====\n"


def assembled(kernel: str, section: str) -> bytes:
    """Build the file of both sections."""
    return (_KERNEL_MARK + kernel + _END_KERNEL + _HARNESS_MARK + section + _END_HARNESS).encode()


def problems(facts: KernelFacts, section: str) -> list[str]:
    """Return what is wrong with the section, each as a sentence for the model; empty where nothing is found."""
    try:
        whole = sections.split(assembled(facts.prepared.text, section))
    except sections.SectionError as err:
        return [f"with this section the file's section marks are wrong: {err}"]
    if whole.kernel != facts.prepared.text.encode():
        return ["the kernel section would not stay the same, byte for byte"]
    try:
        source = Source.of(section, HARNESS, before=(KERNEL, facts.prepared.text))
        found = described(source)
    except (NotSource, UnreadableCases) as err:
        return [str(err)]
    except RecursionError:
        return ["the harness is nested too deeply to be read"]
    wrong = [*_cases(facts, found), *_work(facts, found)]
    return wrong or list(_geometry(facts, source, found))


def _cases(facts: KernelFacts, found: Described) -> Iterator[str]:
    cases = {case.name: case for case in found.cases}
    for config in facts.configs:
        case = cases.get(config.name)
        if case is None:
            yield f"there is no case named {config.name}"
        elif case.use == "check":
            yield f"the case {config.name} must be timed"
    if all(case.use == "time" for case in found.cases):
        yield "no case is checked"


def _work(facts: KernelFacts, found: Described) -> Iterator[str]:
    """Yield a sentence for each scalar that sets the work and is not a dim with the observed values."""
    cases = {case.name: case for case in found.cases}
    for scalar in facts.scalars:
        whole = scalar.role != "other" and all(isinstance(value, int) for value in scalar.values.values())
        if not whole or not scalar.values:
            continue
        if scalar.name not in found.dims:
            yield f"{scalar.name} (role {scalar.role}) must be a dim of that name in kpd_task"
            continue
        place = found.dims.index(scalar.name)
        for name, value in scalar.values.items():
            dims = cases[name].dims if name in cases else ()
            is_now = dims[place] if place < len(dims) else 0
            if name in cases and is_now != value:
                yield f"case {name} has {scalar.name} = {is_now}, but {value} was observed"


def _geometry(facts: KernelFacts, source: Source, found: Described) -> Iterator[str]:
    all_sites = launches(source)
    own = [site for site in all_sites if source.token(site.at).file == HARNESS]
    for site in own:
        if site.why:
            yield f"{site.place}: {site.why}; launch {facts.kernel.qualified} by its name, and nothing else"
    sites = [site for site in own if site.kernel == facts.kernel.name]
    if not sites and not _through_its_own(facts, source, all_sites):
        yield f"nothing launches {facts.kernel.qualified}; launch it in `call`, on its stream"
    for site in sites:
        launched = spelled(f"<{','.join(site.template)}>") if site.template else ""
        if facts.table.template and launched and launched != spelled(facts.table.template):
            name = facts.kernel.name
            yield f"{site.place}: launches {name}{launched}, but the program launches {name}{facts.table.template}"
        yield from _site(facts, source, site, found)


def _through_its_own(facts: KernelFacts, source: Source, all_sites: Sequence[Launch]) -> bool:
    """Return whether the harness calls a function of the kernel section that launches the kernel."""
    for site in all_sites:
        if site.kernel != facts.kernel.name:
            continue
        names = [scope.name for scope in source.scope(site.at).outwards if scope.kind == "function"]
        if any(source.token(node.start_byte).file == HARNESS for name in names for node in source.words.get(name, ())):
            return True
    return False


def _site(facts: KernelFacts, source: Source, site: Launch, found: Described) -> Iterator[str]:
    """Yield one sentence for all cases in which the launch at `site` has another geometry than the wrapper's."""
    wrong = []
    for case in found.cases:
        grid, block = resolve(source, site, {}, case.record)
        expected = _expected(facts, case)
        if block.size is None or grid.size is None:
            why = block.why or grid.why
            yield (
                f"{site.place}: the geometry cannot be told for case {case.name}: {why}; "
                "write <<<kpd_dim3(c->grid), kpd_dim3(c->block), shared, stream>>> in `call`"
            )
            return
        if block.size not in [size for _, size in expected]:
            wanted = " or ".join(_threads(size) for size in dict.fromkeys(size for _, size in expected))
            wrong.append(f"case {case.name} has {_threads(block.size)}, expected {wanted}")
        elif (config := _own(facts, case)) is not None and grid.size != config:
            wrong.append(f"case {case.name} has a grid of {grid.size}, expected {config}")
    if wrong:
        yield f"{site.place}: {'; '.join(wrong)}. The geometry is the wrapper's: it must not be flattened or changed"


def _expected(facts: KernelFacts, case: CaseRow) -> list[tuple[Dim3, Dim3]]:
    """Return grid and block of the case's configuration; of all configurations for a case that has none."""
    named = [(config.grid, config.block) for config in facts.configs if config.name == case.name]
    return named or [(config.grid, config.block) for config in facts.configs]


def _own(facts: KernelFacts, case: CaseRow) -> Dim3 | None:
    return next((config.grid for config in facts.configs if config.name == case.name), None)


def _threads(size: Dim3) -> str:
    return f"dim3({size.x}, {size.y}, {size.z}) = {size.x * size.y * size.z} threads a block"
