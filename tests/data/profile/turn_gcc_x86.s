	.file	"turn.c"
	.text
	.p2align 4
	.globl	turn
	.type	turn, @function
turn:
	testl	%edx, %edx
	jle	.L9
	movslq	%edx, %r8
	pushq	%rbp
	movq	%rdi, %r10
	xorl	%r11d, %r11d
	pushq	%rbx
	salq	$2, %r8
	movl	%edx, %ebx
	xorl	%r9d, %r9d
	movslq	%ecx, %rbp
	.p2align 4,,10
	.p2align 3
.L3:
	testl	%ecx, %ecx
	jle	.L6
	movslq	%r11d, %rdx
	leaq	(%r10,%rdx,4), %rax
	addq	%rbp, %rdx
	leaq	(%r10,%rdx,4), %rdi
	movq	%rsi, %rdx
	.p2align 4,,10
	.p2align 3
.L4:
	movss	(%rax), %xmm0
	addq	$4, %rax
	movss	%xmm0, (%rdx)
	addq	%r8, %rdx
	cmpq	%rdi, %rax
	jne	.L4
.L6:
	addl	$1, %r9d
	addq	$4, %rsi
	addl	%ecx, %r11d
	cmpl	%r9d, %ebx
	jne	.L3
	popq	%rbx
	popq	%rbp
	ret
.L9:
	ret
	.size	turn, .-turn
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
