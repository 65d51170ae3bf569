"""The flags of nvcc that a candidate may set."""

import re

from kpd.measure.flags import DEFINE, AllowList

# nvcc takes its long names after one dash or two.
_SWITCHES = (
    "expt-extended-lambda", "expt-relaxed-constexpr", "extended-lambda", "extra-device-vectorization", "restrict",
    "use_fast_math",
)  # fmt: skip
_YES_NO = ("fmad", "ftz", "prec-div", "prec-sqrt")
_PTXAS = (
    r"-O[0-4]|-dlcm=(ca|cg|cs|lu|cv)|-dscm=(wb|cg|cs|wt)|--?allow-expensive-optimizations=(true|false)|-warn-spills"
)
_NAMES = frozenset(
    [f"{dashes}{name}" for name in _SWITCHES for dashes in ("-", "--")]
    + [f"{dashes}{name}={value}" for name in _YES_NO for value in ("true", "false") for dashes in ("-", "--")]
    + [f"{dashes}std=c++{year}" for year in (17, 20) for dashes in ("-", "--")]
    + [f"-O{level}" for level in range(4)]
)
_SHAPES = tuple(
    re.compile(shape, re.ASCII)
    for shape in (
        r"--?maxrregcount=\d{1,3}",
        rf"(-Xptxas|--ptxas-options)=({_PTXAS})(,({_PTXAS}))*",
        r"-arch=sm_\d{2,3}[af]?",
    )
)
_TAKES = frozenset(
    ["-Xptxas", "--ptxas-options"] + [f"{dashes}{name}" for name in ("maxrregcount", "std") for dashes in ("-", "--")]
)
ALLOWED = AllowList(_NAMES, (*_SHAPES, DEFINE), _TAKES)
