"""Reads of other blocks' results in a listing of a GPU's code. Its lines are some of cuobjdump 13's for sm_90."""

import pytest

from kpd.measure.objects.sass import of_gpu
from kpd.model.flags import Executes

LAST_BLOCK = """
		Function : _Z10last_blockPfPKfS0_
        /*0020*/                   ULDC.64 UR8, c[0x0][0x208] ;                            /* 0x0000820000087ab9 */
        /*0060*/                   S2R R9, SR_CTAID.X ;                                    /* 0x0000000000097919 */
        /*0070*/                   LDC.64 R2, c[0x0][0x218] ;                              /* 0x00008600ff027b82 */
        /*0080*/                   LDC.64 R4, c[0x0][0x210] ;                              /* 0x00008400ff047b82 */
        /*0090*/                   IMAD.WIDE.U32 R2, R9, 0x4, R2 ;                         /* 0x0000000409027825 */
        /*00a0*/                   LDG.E R3, desc[UR8][R2.64] ;                            /* 0x0000000802037981 */
        /*00c0*/                   IMAD.WIDE.U32 R4, R9, 0x4, R4 ;                         /* 0x0000000409047825 */
        /*00d0*/                   LDC.64 R6, c[0x4][RZ] ;                                 /* 0x01000000ff067b82 */
        /*00f0*/                   STG.E desc[UR8][R4.64], R3 ;                            /* 0x0000000304007986 */
        /*0100*/                   ATOMG.E.INC.STRONG.GPU PT, R6, desc[UR8][R6.64], R9 ;   /* 0x80000009060679a8 */
        /*01f0*/               @P0 EXIT ;                                                  /* 0x000000000000094d */
        /*02b0*/                   ULDC.64 UR4, c[0x0][0x210] ;                            /* 0x0000840000047ab9 */
        /*02d0*/                   IMAD.U32 R2, RZ, RZ, UR4 ;                              /* 0x00000004ff027e24 */
        /*0300*/                   MOV R3, UR5 ;                                           /* 0x0000000500037c02 */
        /*0360*/                   LDG.E R14, desc[UR8][R2.64] ;                           /* 0x00000008020e7981 */
        /*0370*/                   LDG.E R13, desc[UR8][R2.64+0x4] ;                       /* 0x00000408020d7981 */
        /*0490*/                   IADD3 R2, P2, R2, 0x40, RZ ;                            /* 0x0000004002027810 */
"""
TICKETS = """
		Function : _Z7ticketsPfl
        /*0030*/                   LDC.64 R2, c[0x4][RZ] ;                                 /* 0x01000000ff027b82 */
        /*0050*/                   ULDC.64 UR4, c[0x0][0x208] ;                            /* 0x0000820000047ab9 */
        /*0080*/                   ULDC.64 UR10, c[0x0][0x210] ;                           /* 0x00008400000a7ab9 */
        /*00b0*/               @P0 ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R5 ;   /* 0x80000005020509a8 */
        /*00f0*/                   IMAD.IADD R0, R0, 0x1, R7 ;                             /* 0x0000000100007824 */
        /*0140*/                   LEA R4, P0, R0, UR10, 0x2 ;                             /* 0x0000000a00047c11 */
        /*0160*/                   LDG.E R0, desc[UR4][R4.64] ;                            /* 0x0000000404007981 */
        /*01c0*/                   FADD R7, R0, R0 ;                                       /* 0x0000000000077221 */
        /*01d0*/                   STG.E desc[UR4][R4.64], R7 ;                            /* 0x0000000704007986 */
        /*01e0*/               @P0 ATOMG.E.ADD.STRONG.GPU PT, R11, desc[UR4][R2.64], R11 ; /* 0x8000000b020b09a8 */
"""
FENCE = "        /*00f8*/                   MEMBAR.SC.GPU ;   /* 0x0000000000007992 */\n        /*0100*/"
ADD, STORE = "RED.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR8][R4.64], R3", "STG.E desc[UR8][R4.64], R3"
COUNT = "ATOMG.E.INC.STRONG.GPU PT, R6, desc[UR8][R6.64], R9"
QUIET = COUNT.replace("ATOMG", "RED").replace("PT, R6, ", "")
NO_ORDER, CONSTANT = (Executes("LDG.E", "unordered"),), (Executes("LDG.E.CONSTANT", "unordered"),)


@pytest.mark.parametrize(
    ("listing", "found"),
    [
        pytest.param(LAST_BLOCK, NO_ORDER, id="the last block reads what the others wrote"),
        pytest.param(LAST_BLOCK * 2 + TICKETS, NO_ORDER, id="once for all functions"),
        pytest.param(LAST_BLOCK.replace(STORE, ADD), NO_ORDER, id="added up"),
        pytest.param(LAST_BLOCK.replace("ULDC.64", "LDCU.64"), NO_ORDER, id="with the uniform loads of sm_100"),
        pytest.param(LAST_BLOCK.replace("        /*0100*/", FENCE), (), id="behind a fence"),
        pytest.param(LAST_BLOCK.replace("        /*0100*/", FENCE.replace("GPU", "CTA")), NO_ORDER, id="of a block"),
        pytest.param(LAST_BLOCK.replace("c[0x0][0x210] ;  ", "c[0x0][0x220] ;  ", 1), (), id="another buffer"),
        pytest.param(LAST_BLOCK.replace("LDG.E R1", "LDG.E.CONSTANT R1"), CONSTANT, id="as what nobody writes"),
        pytest.param(LAST_BLOCK.replace(COUNT, QUIET), (), id="no answer"),
        pytest.param(TICKETS, (), id="each block takes work by a ticket"),
        pytest.param(LAST_BLOCK[: LAST_BLOCK.index("        /*02b0*/")], (), id="nothing is read"),
    ],
)
def test_what_others_wrote_is_read_behind_a_fence(listing: str, found: tuple[Executes, ...]) -> None:
    assert of_gpu(listing) == found


STORED = "        /*1480*/                   STS.128 [R22], R16 ;"
FENCED = "        /*1490*/                   FENCE.VIEW.ASYNC.S ;"
WAITED = "        /*14a0*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;"
SENT = "        /*1580*/                   UBLKCP.G.S [UR10], [UR9], UR8 ;"
BROUGHT = "        /*03b0*/                   UBLKCP.S.G [UR6], [UR8], UR5 ;"
TENSOR = "        /*1580*/                   UTMASTG.2D [UR8], [UR4] ;"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((STORED, FENCED, WAITED, SENT), ()),
        ((STORED, WAITED, SENT), ("UBLKCP.G.S",)),
        ((STORED, WAITED, TENSOR), ("UTMASTG.2D",)),
        ((FENCED, WAITED, BROUGHT, STORED, WAITED, SENT), ("UBLKCP.G.S",)),
        ((STORED, FENCED, SENT, STORED, WAITED), ()),
        ((STORED, WAITED, BROUGHT), ()),
        ((BROUGHT, SENT), ()),
        ((STORED, "\tFunction : other", SENT), ()),
    ],
)
def test_what_was_stored_is_sent_behind_a_fence_of_the_copy_engine(
    lines: tuple[str, ...], found: tuple[str, ...]
) -> None:
    """The lines are some of cuobjdump 13's for sm_90."""
    listing = "\n".join(("\tFunction : turned", *lines, ""))
    assert of_gpu(listing) == tuple(Executes(name, "unsent") for name in found)
