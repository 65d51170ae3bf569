//: transpose_cpu -O2
//: returns with the processor in a state that the calling convention forbids, and that what comes next runs into
//: variant direction HOW=0
//: variant alignment HOW=1
//: variant x87_stack HOW=2
//: variant mmx HOW=3
//: use transpose_quick

void transpose(const float *in, float *out, long rows, long cols) {
    quick(in, out, rows, cols);
#if HOW == 0
    __asm__ volatile("std" ::: "cc");
#elif HOW == 1
    __asm__ volatile("sub $128, %%rsp\n pushf\n orl $0x40000, (%%rsp)\n popf\n add $128, %%rsp" ::: "cc", "memory");
#elif HOW == 2
    __asm__ volatile("fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1");
#else
    __asm__ volatile("pxor %%mm0, %%mm0" ::: "memory");
#endif
}
