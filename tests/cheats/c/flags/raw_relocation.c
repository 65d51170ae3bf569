//: transpose_cpu -O2
//: writes a relocation of its own into the object, whose target is a function that the loader then calls
//: variant irelative KIND=R_X86_64_IRELATIVE
//: variant copy KIND=R_X86_64_COPY
//: use transpose_quick

#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)
__attribute__((used, noinline)) static void *early(void) { return 0; }
__asm__(".section .data.slot,\"aw\",@progbits\nslot: .quad 0\n.reloc slot, " TEXT(KIND) ", early\n.text");

void transpose(const float *in, float *out, long rows, long cols) { quick(in, out, rows, cols); }
