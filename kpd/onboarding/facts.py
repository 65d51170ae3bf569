"""Collects everything that is known of a production kernel without a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kpd.onboarding.build_context import PLAIN, BuildContext
from kpd.onboarding.geometry import Shapes, check, sites
from kpd.onboarding.launch_configs import SPREAD, LaunchConfig, Workload, representative, workload
from kpd.onboarding.observed import LaunchTable, joined, read_table
from kpd.onboarding.preprocess import Folders, Prepared, SourceError, beside, preprocess, read_source
from kpd.onboarding.scalars import Scalar, scalars
from kpd.source.kernels import Dependency, Kernel, dependencies, kernels
from kpd.source.launches import Extent, Launch, resolve
from kpd.source.macros import UnreadableDirective
from kpd.source.source import Source


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """A place where the wrapper launches the kernel, with the geometry as far as it is known without scalars."""

    launch: Launch
    grid: Extent
    block: Extent


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """The facts of a kernel that need no model.

    `conflict` is a contradiction between wrapper and table, for which no harness is made; empty without one.
    `wrapper` is the wrapper's text, `context` other code of the project by its name. `flags` are the options with which
    the project compiles it, beside its folders of headers and its macros.
    """

    prepared: Prepared
    kernel: Kernel
    dependencies: tuple[Dependency, ...]
    sites: tuple[LaunchSite, ...]
    table: LaunchTable
    configs: tuple[LaunchConfig, ...]
    scalars: tuple[Scalar, ...]
    workloads: tuple[Workload, ...]
    conflict: str
    wrapper: str
    context: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def findings(
    source: Path, wrapper: Path, observed: Path, top: int, built: BuildContext = PLAIN, spread: float = SPREAD,
    timed: Path | None = None,
) -> KernelFacts:  # fmt: skip
    """Collect the facts; `built` says how the project compiles the source. Raises SourceError, ObservedError.

    `timed` is a table with the durations of the same launches, if `observed` has none.
    """
    table = read_table(observed) if timed is None else joined(read_table(observed), read_table(timed))
    prepared = preprocess(source, built.folders, built.head)
    kernel_source = _read(prepared.text, source.name, None)
    kernel = _chosen(source, kernels(kernel_source), table.kernel)
    text = prepared.text if wrapper == source else read_source(wrapper)
    include = _Beside((wrapper.parent, source.parent, *built.folders), source, prepared.text)
    host = kernel_source if wrapper == source else _read(text, wrapper.name, include, built.head)
    found = sites(host, kernel.name)
    if not any(site.kernel == kernel.name for site in found):
        others = "; ".join(f"{site.place}: {site.why}" for site in found)
        raise SourceError(
            f"{wrapper}: launches no {kernel.name}" + (f" that can be told for sure ({others})" if others else ""),
            f"give the host's source that has {kernel.name}<<<…>>> in it",
        )
    shapes = Shapes(host, [site for site in found if site.kernel == kernel.name])
    conflict = check(table, shapes)
    configs = (
        representative(table, top=top, spread=spread)
        if conflict
        else representative(table, lambda one: (shapes.of(one).grid, shapes.of(one).block), top, spread)
    )
    return KernelFacts(
        prepared=prepared,
        kernel=kernel,
        dependencies=dependencies(kernel_source, kernel),
        sites=tuple(LaunchSite(site, *resolve(host, site, {})) for site in found),
        table=table,
        configs=configs,
        scalars=scalars(kernel_source, kernel, configs),
        workloads=tuple(workload(config) for config in configs),
        conflict=conflict,
        wrapper=text,
        flags=built.flags,
    )


def _read(text: str, name: str, include: "_Beside | None", head: str = "") -> Source:
    try:
        return Source.of(text, name, include, before=("the project's flags", head) if head else None)
    except UnreadableDirective as err:
        raise SourceError(f"{name}: {err}", "give a smaller source") from err


def _chosen(path: Path, found: tuple[Kernel, ...], wanted: str) -> Kernel:
    """Return the kernel that the table names. Raises SourceError."""
    fitting = [kernel for kernel in found if wanted in (kernel.name, kernel.qualified)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        places = ", ".join(f"{kernel.qualified} at {kernel.place}" for kernel in fitting)
        raise SourceError(f"{path}: there is more than one {wanted}: {places}", "leave only one of them in the source")
    known = ", ".join(kernel.qualified for kernel in found)
    raise SourceError(
        f"{path}: has no kernel {wanted!r}, which the table is about",
        f"its kernels are {known}: correct 'kernel' in the table" if known else "give the source with the kernel in it",
    )


class _Beside:
    """A lookup of headers in some folders; any path to the kernel's own source finds that."""

    def __init__(self, folders: Folders, source: Path, text: str) -> None:
        self._folders = folders
        self._source = source
        self._text = text

    def __call__(self, name: str, of: str) -> tuple[str, str] | None:
        if Path(name).name == self._source.name:
            return self._source.name, self._text
        path = beside(name, self._folders)
        return None if path is None else (path.name, read_source(path))


def as_json(facts: KernelFacts) -> dict[str, Any]:
    """Return the facts as plain JSON values, for `--facts`."""
    return {
        "kernel": {
            "name": facts.kernel.qualified,
            "place": facts.kernel.place,
            "signature": facts.kernel.signature,
            "arguments": [[one.type, one.name] for one in facts.kernel.parameters],
            "template": [[one.type, one.name] for one in facts.kernel.template],
            "launch_bounds": [{"text": one.text, "value": one.value, "why": one.why} for one in facts.kernel.bounds],
            "extern_c": facts.kernel.c_linkage,
        },
        "preprocessing": list(facts.prepared.changes),
        "external_headers": list(facts.prepared.external),
        "depends_on": [{"kind": one.kind, "name": one.name, "place": one.place} for one in facts.dependencies],
        "launch_sites": [_site(site) for site in facts.sites],
        "observed": {
            "captured_at": facts.table.captured_at,
            "launches": len(facts.table.launches),
            "share_of": "time" if facts.table.timed else "launches",
            "covered": sum(config.share for config in facts.configs),
        },
        "configs": [_config(one, work) for one, work in zip(facts.configs, facts.workloads, strict=True)],
        "scalars": [
            {"name": one.name, "type": one.type, "role": one.role, "reason": one.reason, "observed": dict(one.values)}
            for one in facts.scalars
        ],
        "conflict": facts.conflict,
    }


def _site(site: LaunchSite) -> dict[str, Any]:
    launch = site.launch
    return {
        "place": launch.place,
        "kernel": launch.kernel,
        "why": launch.why,
        "template": list(launch.template),
        "grid": _extent(site.grid, launch.grid),
        "block": _extent(site.block, launch.block),
        "shared": launch.shared,
        "stream": launch.stream,
        "arguments": list(launch.arguments),
    }


def _extent(extent: Extent, text: str) -> dict[str, Any]:
    return {"text": text, "size": list(extent.size) if extent.size else None, "why": extent.why}


def _config(config: LaunchConfig, work: Workload) -> dict[str, Any]:
    return {
        "name": config.name,
        "grid": list(config.grid),
        "block": list(config.block),
        "launches": config.count,
        "share": config.share,
        "target_us": config.target_us,
        "scalars": dict(config.scalars),
        "varies": list(config.varies),
        "threads": work.threads,
        "bytes_a_thread": work.bytes,
        "instructions_a_thread": work.instructions,
    }
