"""Kernelking's config.env as a project: each setting is understood, or refused by name."""

import pytest
from hypothesis import given, strategies as st

from kpd.production.config_env import SECRETS, TAKEN, TOLD, BadSetting, imported, settings

WHOLE = """\
# Claude API
ANTHROPIC_API_KEY=sk-ant-$secret
CLAUDE_MODEL=claude-sonnet-4-6      # or another

SSH_HOST=zan1
SSH_USER=ubuntu
LOCAL_CODEBASE_PATH=/Users/you/repo/vm
LOCAL_CONTEXT_FILES=src/cuda/transpose.rs, /Users/you/repo/vm/src/lib.rs
export REMOTE_KERNEL_CU="/home/ubuntu/vm/gpu/transpose.cu"
KERNEL_NAME='transpose_kernel'
REMOTE_BASEDIR=/home/ubuntu/vm
REMOTE_BINARY=/home/ubuntu/vm/target/release/single-node
REMOTE_LIBPATH=/home/ubuntu/vm:/usr/local/cuda/lib64
HARNESS_GPU_ARCH=sm_120             # RTX 5090
HARNESS_NVCC_DEFINES=-DFEATURE_KOALA_BEAR -DX=1
HARNESS_NVCC_INCLUDES=-I/opt/include
MAX_OPTIMIZE_ITERATIONS=6
NO_PROGRESS_PATIENCE=4
NO_GAIN_THRESHOLD_PCT=2.0
HARNESS_TOP_K=7
HARNESS_VARIANCE_THRESHOLD=3.5
"""


def test_a_whole_file() -> None:
    found = imported(WHOLE)
    assert found.keys == {
        "root": "/home/ubuntu/vm",
        "files": ("gpu/transpose.cu",),
        "binary": ("target/release/single-node",),
        "kernel": "transpose_kernel",
        "context": ("src/cuda/transpose.rs", "src/lib.rs"),
        "env": {"LD_LIBRARY_PATH": "/home/ubuntu/vm:/usr/local/cuda/lib64"},
        "arch": "sm_120",
        "flags": ("-DFEATURE_KOALA_BEAR", "-DX=1", "-I/opt/include"),
        "top": 7,
        "split": 3.5,
        "min_gain_pct": 2.0,
    }
    assert found.address == "ubuntu@zan1"
    assert any(told.startswith("NO_GAIN_THRESHOLD_PCT=2.0: taken as min_gain_pct") for told in found.told)
    (compacting,) = set(imported(f"{WHOLE}MEMORY_COMPACT_CHARS=9\n").told) - set(found.told)
    assert compacting == "MEMORY_COMPACT_CHARS: kpd shortens its memory by itself"
    assert len(found.told) == 5 and not any("sk-ant" in told for told in found.told)


def test_every_setting_is_taken_over_told_or_refused_by_name() -> None:
    """No name is in two of the tables, and a name in none of them is refused with its line."""
    names = [*TAKEN, *TOLD, *SECRETS]
    assert len(names) == len(set(names))
    with pytest.raises(BadSetting, match="kpd has nothing for PICO_GPU_MEM") as caught:
        imported(f"{WHOLE}PICO_GPU_MEM=5\n")
    assert caught.value.line == len(WHOLE.splitlines()) + 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("KERNEL_NAME='transpose_kernel'", "", "KERNEL_NAME is missing"),
        ("KERNEL_NAME='transpose_kernel'", "KERNEL_NAME=", "KERNEL_NAME is missing"),
        ("KERNEL_NAME='transpose_kernel'", "KERNEL_NAME='x", "a quote that does not end"),
        ("KERNEL_NAME='transpose_kernel'", "KERNEL_NAME=$(touch /tmp/x)", "KERNEL_NAME would be expanded by a shell"),
        ("KERNEL_NAME='transpose_kernel'", "KERNEL_NAME=`id`", "KERNEL_NAME would be expanded by a shell"),
        ("KERNEL_NAME='transpose_kernel'", "kernel transpose", "is no setting"),
        ("/home/ubuntu/vm/target/", "/opt/target/", "REMOTE_BINARY is not below REMOTE_BASEDIR"),
        ("/home/ubuntu/vm/gpu/", "/home/ubuntu/vm/../gpu/", "REMOTE_KERNEL_CU is no absolute path"),
        ("REMOTE_BASEDIR=/home/ubuntu/vm", "REMOTE_BASEDIR=vm", "REMOTE_BASEDIR is no absolute path"),
        ("src/cuda/transpose.rs,", "/etc/passwd,", "which is not below LOCAL_CODEBASE_PATH"),
        ("src/cuda/transpose.rs,", "../../x,", "which is not below LOCAL_CODEBASE_PATH"),
        ("HARNESS_TOP_K=7", "HARNESS_TOP_K=many", "HARNESS_TOP_K is no number: 'many'"),
    ],
)
def test_what_cannot_be_taken_over_is_refused(old: str, new: str, message: str) -> None:
    assert old in WHOLE
    with pytest.raises(BadSetting) as caught:
        imported(WHOLE.replace(old, new))
    assert message in caught.value.message
    assert caught.value.remedy


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        settings(text)
    except BadSetting as err:
        assert err.line >= 1
