	.build_version macos, 15, 0
	.section	__TEXT,__text,regular,pure_instructions
	.globl	_axpy                           ; -- Begin function axpy
	.p2align	2
_axpy:                                  ; @axpy
; %bb.0:
                                        ; kill: def $s0 killed $s0 def $q0
	cmp	w2, #1
	b.lt	LBB0_8
; %bb.1:
	mov	w8, w2
	cmp	w2, #4
	b.hs	LBB0_3
; %bb.2:
	mov	x9, #0                          ; =0x0
	b	LBB0_6
LBB0_3:
	and	x9, x8, #0x7ffffffc
	mov	x10, x0
	mov	x11, x1
	and	x12, x8, #0x7ffffffc
LBB0_4:                                 ; =>This Inner Loop Header: Depth=1
	ldr	q1, [x10], #16
	ldr	q2, [x11]
	fmla.4s	v2, v1, v0[0]
	str	q2, [x11], #16
	subs	x12, x12, #4
	b.ne	LBB0_4
; %bb.5:
	cmp	x9, x8
	b.eq	LBB0_8
LBB0_6:
	lsl	x11, x9, #2
	add	x10, x1, x11
	add	x11, x0, x11
	sub	x8, x8, x9
LBB0_7:                                 ; =>This Inner Loop Header: Depth=1
	ldr	s1, [x11], #4
	ldr	s2, [x10]
	fmadd	s1, s0, s1, s2
	str	s1, [x10], #4
	subs	x8, x8, #1
	b.ne	LBB0_7
LBB0_8:
	ret
                                        ; -- End function
.subsections_via_symbols
