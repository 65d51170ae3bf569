	.file	"axpy.c"
	.text
	.p2align 4
	.globl	axpy
	.type	axpy, @function
axpy:
	movq	%rsi, %rcx
	testl	%edx, %edx
	jle	.L14
	leal	-1(%rdx), %eax
	cmpl	$6, %eax
	jbe	.L8
	movl	%edx, %esi
	vbroadcastss	%xmm0, %ymm2
	xorl	%eax, %eax
	shrl	$3, %esi
	salq	$5, %rsi
	.p2align 4,,10
	.p2align 3
.L4:
	vmovups	(%rdi,%rax), %ymm1
	vfmadd213ps	(%rcx,%rax), %ymm2, %ymm1
	vmovups	%ymm1, (%rcx,%rax)
	addq	$32, %rax
	cmpq	%rax, %rsi
	jne	.L4
	movl	%edx, %eax
	andl	$-8, %eax
	movl	%eax, %esi
	cmpl	%eax, %edx
	je	.L16
	vzeroupper
.L3:
	movl	%edx, %r8d
	subl	%esi, %r8d
	leal	-1(%r8), %r9d
	cmpl	$2, %r9d
	jbe	.L6
	leaq	(%rcx,%rsi,4), %r9
	vshufps	$0, %xmm0, %xmm0, %xmm1
	vmovups	(%r9), %xmm3
	vfmadd132ps	(%rdi,%rsi,4), %xmm3, %xmm1
	movl	%r8d, %esi
	andl	$-4, %esi
	addl	%esi, %eax
	andl	$3, %r8d
	vmovups	%xmm1, (%r9)
	je	.L14
.L6:
	movslq	%eax, %r9
	leaq	0(,%r9,4), %rsi
	vmovss	(%rdi,%r9,4), %xmm1
	leaq	(%rcx,%rsi), %r8
	vfmadd213ss	(%r8), %xmm0, %xmm1
	vmovss	%xmm1, (%r8)
	leal	1(%rax), %r8d
	cmpl	%r8d, %edx
	jle	.L14
	leaq	4(%rcx,%rsi), %r8
	vmovss	4(%rdi,%rsi), %xmm1
	addl	$2, %eax
	vfmadd213ss	(%r8), %xmm0, %xmm1
	vmovss	%xmm1, (%r8)
	cmpl	%eax, %edx
	jle	.L14
	leaq	8(%rcx,%rsi), %rax
	vmovss	(%rax), %xmm4
	vfmadd132ss	8(%rdi,%rsi), %xmm4, %xmm0
	vmovss	%xmm0, (%rax)
.L14:
	ret
	.p2align 4,,10
	.p2align 3
.L16:
	vzeroupper
	ret
.L8:
	xorl	%esi, %esi
	xorl	%eax, %eax
	jmp	.L3
	.size	axpy, .-axpy
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
