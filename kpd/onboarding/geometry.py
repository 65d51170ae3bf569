"""Determines the block and grid of a kernel from the wrapper and the observed launches."""

from collections.abc import Sequence
from dataclasses import dataclass

from kpd.onboarding.observed import LaunchTable, Observed
from kpd.source.launches import Extent, Launch, launches, resolve
from kpd.source.source import Source
from kpd.source.values import Dim3


@dataclass(frozen=True, slots=True)
class Shape:
    """The grid and the block of a launch."""

    grid: Dim3
    block: Dim3


class GeometryConflict(Exception):
    """A contradiction between the wrapper and the observed launches; the text says where."""


def sites(wrapper: Source, kernel: str) -> tuple[Launch, ...]:
    """Return the places where the wrapper launches this kernel, or launches one that is not known."""
    return tuple(one for one in launches(wrapper) if one.kernel == kernel or one.why)


class Shapes:
    """A lookup of the whole geometry of observed launches, completed from the wrapper."""

    def __init__(self, wrapper: Source, found: Sequence[Launch]) -> None:
        self._wrapper = wrapper
        self._sites = found
        self._known: dict[object, Shape] = {}

    def of(self, launch: Observed) -> Shape:
        """Return the shape of a launch: the wrapper's where it is known, else the table's. Raises GeometryConflict."""
        key = (launch.grid, launch.block, tuple(launch.scalars.items()))
        if key not in self._known:
            self._known[key] = self._shape(launch)
        return self._known[key]

    def _shape(self, launch: Observed) -> Shape:
        resolved = [(site, *resolve(self._wrapper, site, launch.scalars)) for site in self._sites]
        fitting = [
            (site, grid, block)
            for site, grid, block in resolved
            if _may_be(block, launch.block, launch.block_axes, launch.flat_block)
            and _may_be(grid, launch.grid, launch.grid_axes, False)
        ]
        if resolved and not fitting:
            raise GeometryConflict(_contradiction(launch, resolved))
        surest = max(((grid.size is not None) + 2 * (block.size is not None) for _, grid, block in fitting), default=0)
        best = [one for one in fitting if (one[1].size is not None) + 2 * (one[2].size is not None) == surest]
        blocks = {block.size for _, _, block in best if block.size is not None}
        grids = {grid.size for _, grid, _ in best if grid.size is not None}
        if len(blocks) > 1:
            raise GeometryConflict(
                f"a launch with {_seen(launch)} may be one of several: "
                + ", ".join(f"{site.place} has blocks of {block.size}" for site, _, block in best)
                + "; give block_x, block_y and block_z in the table"
            )
        block = blocks.pop() if blocks else launch.block
        grid = grids.pop() if len(grids) == 1 else launch.grid
        return Shape(grid, block)


def check(table: LaunchTable, shapes: Shapes) -> str:
    """Return the first contradiction between the wrapper and an observed launch; empty where there is none."""
    for number, launch in enumerate(table.launches):
        try:
            shapes.of(launch)
        except GeometryConflict as err:
            return f"launches[{number}]: {err}"
    return ""


def _may_be(extent: Extent, seen: Dim3, axes: int, flat: bool) -> bool:
    """Return whether a size in the source can be the observed one. The table can hold fewer axes than the launch."""
    if extent.size is None:
        return True
    if flat and extent.threads == seen.x:
        return True
    return extent.size[:axes] == seen[:axes]


def _seen(launch: Observed) -> str:
    scalars = ", ".join(f"{name} = {value}" for name, value in launch.scalars.items())
    return f"grid {launch.grid}, block {launch.block}{f' and {scalars}' if scalars else ''}"


def _contradiction(launch: Observed, resolved: Sequence[tuple[Launch, Extent, Extent]]) -> str:
    said = ", ".join(
        f"{site.place} has grid {grid.size or 'unknown'} and block {block.size or 'unknown'}"
        for site, grid, block in resolved
    )
    return f"observed {_seen(launch)}, but {said}"
