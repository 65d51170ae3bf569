	.file	"axpy.c"
	.text
	.globl	axpy                            # -- Begin function axpy
	.p2align	4
	.type	axpy,@function
axpy:                                   # @axpy
# %bb.0:
	pushq	%rbp
	movq	%rsp, %rbp
	testl	%edx, %edx
	jle	.LBB0_7
# %bb.1:
	movl	%edx, %eax
	cmpl	$8, %edx
	jae	.LBB0_3
# %bb.2:
	xorl	%ecx, %ecx
	jmp	.LBB0_6
.LBB0_3:
	movl	%eax, %ecx
	andl	$2147483640, %ecx               # imm = 0x7FFFFFF8
	vbroadcastss	%xmm0, %ymm1
	movl	%eax, %edx
	shrl	$3, %edx
	andl	$268435455, %edx                # imm = 0xFFFFFFF
	shlq	$5, %rdx
	xorl	%r8d, %r8d
	.p2align	4
.LBB0_4:                                # =>This Inner Loop Header: Depth=1
	vmovups	(%rdi,%r8), %ymm2
	vfmadd213ps	(%rsi,%r8), %ymm1, %ymm2 # ymm2 = (ymm1 * ymm2) + mem
	vmovups	%ymm2, (%rsi,%r8)
	addq	$32, %r8
	cmpq	%r8, %rdx
	jne	.LBB0_4
# %bb.5:
	cmpl	%eax, %ecx
	je	.LBB0_7
	.p2align	4
.LBB0_6:                                # =>This Inner Loop Header: Depth=1
	vmovss	(%rdi,%rcx,4), %xmm1            # xmm1 = mem[0],zero,zero,zero
	vfmadd213ss	(%rsi,%rcx,4), %xmm0, %xmm1 # xmm1 = (xmm0 * xmm1) + mem
	vmovss	%xmm1, (%rsi,%rcx,4)
	incq	%rcx
	cmpq	%rcx, %rax
	jne	.LBB0_6
.LBB0_7:
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end0:
	.size	axpy, .Lfunc_end0-axpy
                                        # -- End function
	.ident	"clang version 22.1.8"
	.section	".note.GNU-stack","",@progbits
	.addrsig
