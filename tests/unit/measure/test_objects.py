"""What an object may look up, and the clocks in a listing of a GPU's code."""

import pytest

from kpd.measure.objects import allowed
from kpd.measure.objects.instructions import of_gpu
from kpd.model.flags import Executes

LISTING = """
        /*0010*/                   ULDC.64 UR4, c[0x0][0x208] ;         /* 0x0000820000047ab9 */
        /*0020*/                   CS2R R4, SR_CLOCKLO ;                /* 0x0000000000047805 */
        /*0030*/                   S2R R3, SR_TID.X ;                   /* 0x0000000000037919 */
        /*0070*/                   CS2R R6, SR_GLOBALTIMERLO ;          /* 0x0000000000067805 */
        /*00d0*/                   S2UR UR6, SR_CLOCKHI ;               /* 0x00000000000679c3 */
"""


def test_clocks_of_a_gpu_are_flagged_and_its_other_registers_not() -> None:
    """The lines are those of cuobjdump 13 for clock64(), threadIdx, %globaltimer and %clock_hi on sm_90."""
    assert of_gpu(LISTING) == tuple(
        Executes(f"read of {clock}", "clock") for clock in ("SR_CLOCKLO", "SR_GLOBALTIMERLO", "SR_CLOCKHI")
    )


@pytest.mark.parametrize(
    ("constants", "may"),
    [
        (b"\0cuTensorMapEncodeTiled\0", True),
        (b"cannot encode\0cuTensorMapEncodeIm2col\0cuTensorMapEncodeTiled\0", True),
        (b"", False),
        (b"cuTensorMapEncodeTiled\0cuLaunchHostFunc\0", False),
        (b"cuTensorMapEncodeTiledAndMore\0", False),
    ],
)
def test_a_function_of_the_driver_may_be_looked_up_to_make_tensor_maps(constants: bytes, may: bool) -> None:
    for symbol in ("cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion"):
        assert allowed.CUDA.looks_up(symbol, constants) is may
        assert not allowed.C.looks_up(symbol, constants)
    assert not allowed.CUDA.looks_up("dlsym", constants)


def test_memory_is_mapped_where_none_of_it_can_become_code() -> None:
    assert allowed.C.calls("mmap") and allowed.C.calls("munmap")
    assert not allowed.C.calls("mprotect") and not allowed.CUDA.calls("mmap")
