	.file	"norm.c"
	.text
	.p2align 4
	.globl	norm
	.type	norm, @function
norm:
	testl	%esi, %esi
	jle	.L7
	movslq	%esi, %rax
	pxor	%xmm0, %xmm0
	leaq	(%rdi,%rax,4), %rax
	.p2align 4,,10
	.p2align 3
.L3:
	movss	(%rdi), %xmm1
	addq	$4, %rdi
	mulss	%xmm1, %xmm1
	addss	%xmm1, %xmm0
	cmpq	%rdi, %rax
	jne	.L3
.L2:
	pxor	%xmm1, %xmm1
	cvtsi2ssl	%esi, %xmm1
	divss	%xmm1, %xmm0
	pxor	%xmm1, %xmm1
	ucomiss	%xmm0, %xmm1
	ja	.L10
	sqrtss	%xmm0, %xmm0
	movss	.LC1(%rip), %xmm1
	divss	%xmm0, %xmm1
	movaps	%xmm1, %xmm0
	ret
	.p2align 4,,10
	.p2align 3
.L7:
	pxor	%xmm0, %xmm0
	jmp	.L2
.L10:
	pushq	%rax
	call	sqrtf@PLT
	movss	.LC1(%rip), %xmm1
	popq	%rdx
	divss	%xmm0, %xmm1
	movaps	%xmm1, %xmm0
	ret
	.size	norm, .-norm
	.p2align 4
	.globl	gate
	.type	gate, @function
gate:
	testl	%ecx, %ecx
	jle	.L20
	pushq	%r15
	movslq	%ecx, %rcx
	movd	%xmm0, %r15d
	pushq	%r14
	movq	%rsi, %r14
	pushq	%r13
	movq	%rdx, %r13
	pushq	%r12
	movq	%rdi, %r12
	pushq	%rbp
	leaq	0(,%rcx,4), %rbp
	pushq	%rbx
	xorl	%ebx, %ebx
	subq	$24, %rsp
	.p2align 4,,10
	.p2align 3
.L17:
	movd	%r15d, %xmm1
	movss	(%r14,%rbx), %xmm0
	mulss	(%r12,%rbx), %xmm1
	mulss	%xmm0, %xmm1
	xorps	.LC2(%rip), %xmm0
	movss	%xmm1, 12(%rsp)
	call	expf@PLT
	addss	.LC1(%rip), %xmm0
	movss	12(%rsp), %xmm1
	divss	%xmm0, %xmm1
	movss	%xmm1, 0(%r13,%rbx)
	addq	$4, %rbx
	cmpq	%rbx, %rbp
	jne	.L17
	addq	$24, %rsp
	popq	%rbx
	popq	%rbp
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	ret
	.p2align 4,,10
	.p2align 3
.L20:
	ret
	.size	gate, .-gate
	.section	.rodata.cst4,"aM",@progbits,4
	.align 4
.LC1:
	.long	1065353216
	.section	.rodata.cst16,"aM",@progbits,16
	.align 16
.LC2:
	.long	-2147483648
	.long	0
	.long	0
	.long	0
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
