	.file	"norm.c"
	.text
	.globl	norm                            // -- Begin function norm
	.p2align	2
	.type	norm,@function
norm:                                   // @norm
// %bb.0:
	stp	x29, x30, [sp, #-16]!           // 16-byte Folded Spill
	cmp	w1, #1
	mov	x29, sp
	b.lt	.LBB0_3
// %bb.1:
	movi	d0, #0000000000000000
	cmp	w1, #4
	mov	w8, w1
	b.hs	.LBB0_4
// %bb.2:
	mov	x9, xzr
	b	.LBB0_7
.LBB0_3:
	movi	d0, #0000000000000000
	b	.LBB0_9
.LBB0_4:
	and	x9, x8, #0x7ffffffc
	mov	x10, x0
	and	x11, x8, #0x7ffffffc
.LBB0_5:                                // =>This Inner Loop Header: Depth=1
	ldr	q1, [x10], #16
	subs	x11, x11, #4
	fmul	v1.4s, v1.4s, v1.4s
	mov	s2, v1.s[1]
	fadd	s0, s0, s1
	mov	s3, v1.s[2]
	mov	s1, v1.s[3]
	fadd	s0, s0, s2
	fadd	s0, s0, s3
	fadd	s0, s0, s1
	b.ne	.LBB0_5
// %bb.6:
	cmp	x9, x8
	b.eq	.LBB0_9
.LBB0_7:
	add	x10, x0, x9, lsl #2
	sub	x8, x8, x9
.LBB0_8:                                // =>This Inner Loop Header: Depth=1
	ldr	s1, [x10], #4
	subs	x8, x8, #1
	fmadd	s0, s1, s1, s0
	b.ne	.LBB0_8
.LBB0_9:
	scvtf	s1, w1
	fdiv	s1, s0, s1
	fsqrt	s0, s1
	fcmp	s0, s0
	b.vs	.LBB0_11
.LBB0_10:
	fmov	s1, #1.00000000
	fdiv	s0, s1, s0
	ldp	x29, x30, [sp], #16             // 16-byte Folded Reload
	ret
.LBB0_11:
	fmov	s0, s1
	bl	sqrtf
	b	.LBB0_10
.Lfunc_end0:
	.size	norm, .Lfunc_end0-norm
                                        // -- End function
	.globl	gate                            // -- Begin function gate
	.p2align	2
	.type	gate,@function
gate:                                   // @gate
// %bb.0:
	cmp	w3, #1
	b.lt	.LBB1_4
// %bb.1:
	str	d10, [sp, #-80]!                // 8-byte Folded Spill
	stp	d9, d8, [sp, #16]               // 16-byte Folded Spill
	fmov	s8, s0
	fmov	s9, #1.00000000
	stp	x22, x21, [sp, #48]             // 16-byte Folded Spill
	mov	x21, x0
	mov	w22, w3
	stp	x20, x19, [sp, #64]             // 16-byte Folded Spill
	mov	x19, x2
	mov	x20, x1
	stp	x29, x30, [sp, #32]             // 16-byte Folded Spill
	add	x29, sp, #32
.LBB1_2:                                // =>This Inner Loop Header: Depth=1
	ldr	s0, [x21], #4
	ldr	s1, [x20], #4
	fmul	s0, s8, s0
	fmul	s10, s0, s1
	fneg	s0, s1
	bl	expf
	fadd	s0, s0, s9
	subs	x22, x22, #1
	fdiv	s0, s10, s0
	str	s0, [x19], #4
	b.ne	.LBB1_2
// %bb.3:
	ldp	x20, x19, [sp, #64]             // 16-byte Folded Reload
	ldp	x22, x21, [sp, #48]             // 16-byte Folded Reload
	ldp	x29, x30, [sp, #32]             // 16-byte Folded Reload
	ldp	d9, d8, [sp, #16]               // 16-byte Folded Reload
	ldr	d10, [sp], #80                  // 8-byte Folded Reload
.LBB1_4:
	ret
.Lfunc_end1:
	.size	gate, .Lfunc_end1-gate
                                        // -- End function
	.ident	"clang version 22.1.8"
	.section	".note.GNU-stack","",@progbits
	.addrsig
