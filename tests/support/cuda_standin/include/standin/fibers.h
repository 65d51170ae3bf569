/* Fibers: stacks that one thread of the host switches between. */
#pragma once

namespace kpd_standin {

inline constexpr size_t kStack = 64 << 10, kGuard = 4 << 10; /* bytes; the guard turns an overflow into a fault */

/* A place to go back to. */
struct Context {
#ifdef KPD_UCONTEXT
    ucontext_t registers;
#else
    void *stack_pointer;
#endif
};

#ifdef KPD_UCONTEXT
inline void switch_to(Context &from, Context &to) { swapcontext(&from.registers, &to.registers); }
#else
/* Store the registers that a call preserves on the stack, and take up the other one. ucontext would do, but asks the
 * kernel for the signal mask each time: forty times slower. */
__attribute__((naked, noipa)) inline void switch_stacks(void **, void *) {
    asm volatile("pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
                 "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
                 "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret");
}
inline void switch_to(Context &from, Context &to) { switch_stacks(&from.stack_pointer, to.stack_pointer); }
#endif

/* A context that begins with `entry`, which must never return. */
inline void prepare(Context &context, void (*entry)()) {
    void *memory = mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuard, PROT_NONE)) {
        perror("CUDA stand-in: no memory for a thread's stack");
        abort();
    }
#ifdef KPD_UCONTEXT
    getcontext(&context.registers);
    context.registers.uc_stack.ss_sp = (char *)memory + kGuard;
    context.registers.uc_stack.ss_size = kStack;
    context.registers.uc_link = nullptr;
    makecontext(&context.registers, entry, 0);
#else
    void **top = (void **)((char *)memory + kGuard + kStack);
    *--top = nullptr;       /* 8 below a multiple of 16, as after a call */
    *--top = (void *)entry; /* where `ret` goes */
    for (int i = 0; i < 6; i++) *--top = nullptr;
    context.stack_pointer = top;
#endif
}

} /* namespace kpd_standin */
