//: rmsnorm_silu_cpu -O3 -march=native
//: has thousands of functions that run when it is loaded, each of which is looked for among a hundred thousand names
//: use rmsnorm_fast

__asm__(
    ".macro one\nname\\@:\n.endm\n.text\n.rept 100000\none\n.endr\n"
    ".globl starts\n.hidden starts\n.type starts, @function\nstarts:\nret\n.size starts, .-starts\n"
    ".pushsection .init_array,\"aw\"\n.rept 8000\n.quad starts\n.endr\n.popsection\n"
);

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    fast(x, w, g, y, rows, cols, eps);
}
