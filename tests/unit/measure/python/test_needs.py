"""Which libraries a task's files import."""

from kpd.measure.python.needs import libraries, remedy

KERNEL = b"""
import json, os.path
import torch.nn as nn
from cuda.bindings import driver
import parts
from sub.a import b
"""
PARTS = b"""
from . import near
def kernel():
    import cupy
try:
    import apex
except ImportError:
    apex = None
"""


def test_libraries_are_what_is_imported_at_the_beginning_and_is_neither_pythons_nor_the_tasks() -> None:
    files = {"kernel.py": KERNEL, "parts.py": PARTS, "sub/a.py": b"import numpy", "notes.txt": b"import nothing"}
    assert libraries(files) == ("cuda", "numpy", "torch")


def test_a_file_that_cannot_be_parsed_needs_nothing() -> None:
    for broken in (b"import torch\ndef (", b"import torch\0", b"\xff\xfeimport torch", b"x = " + b"(" * 5000):
        assert libraries({"kernel.py": broken}) == ()


def test_the_remedy_names_the_package_where_the_module_has_another_name() -> None:
    assert remedy("/opt/venv/bin/python", ["cuda", "cutlass", "torch"]).startswith(
        "/opt/venv/bin/python -m pip install cuda-python nvidia-cutlass-dsl torch there, or "
    )
