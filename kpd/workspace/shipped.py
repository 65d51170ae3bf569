"""Locates the content that ships with kpd: example tasks, skills, the memory's README, the example config."""

from pathlib import Path
from typing import Literal

import kpd

TASK_TEMPLATE = Path(__file__).parent / "template"
"""The files of a small C task; @NAME@ in them stands for the task's name."""
PYTHON_TEMPLATE = Path(__file__).parent / "template_python"
"""The files of a small task in Python."""

Kind = Literal["tasks", "skills", "memory", "config.toml.example"]


def shipped(kind: Kind) -> Path:
    """Return the path of the shipped `kind`: inside the installed package, else at the top of the checkout."""
    package = Path(kpd.__file__).resolve().parent
    installed = package / "shipped" / kind
    return installed if installed.exists() else package.parent / kind
