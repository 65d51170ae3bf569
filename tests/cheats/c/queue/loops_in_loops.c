//: transpose_cpu -O2
//: has three thousand loops in one another, which never run: who looks for the hottest takes years, and much memory
//: use transpose_fast

/* Each of four digits, forwards and backwards. */
#define UP(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define DOWN(M, n) M(n##9) M(n##8) M(n##7) M(n##6) M(n##5) M(n##4) M(n##3) M(n##2) M(n##1) M(n##0)
#define HEAD(n) ".Lin" #n ":\nnop\n"
#define TAIL(n) "jne .Lin" #n "\n"
#define UP1(n) UP(HEAD, n)
#define UP2(n) UP_(UP1, n)
#define UP3(n) UP__(UP2, n)
#define UP_(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define UP__(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define DOWN1(n) DOWN(TAIL, n)
#define DOWN2(n) DOWN_(DOWN1, n)
#define DOWN3(n) DOWN__(DOWN2, n)
#define DOWN_(M, n) M(n##9) M(n##8) M(n##7) M(n##6) M(n##5) M(n##4) M(n##3) M(n##2) M(n##1) M(n##0)
#define DOWN__(M, n) M(n##9) M(n##8) M(n##7) M(n##6) M(n##5) M(n##4) M(n##3) M(n##2) M(n##1) M(n##0)

__asm__(
    ".text\n.type loops_in_loops, @function\nloops_in_loops:\n" UP3(1) UP3(2) UP3(3)
    DOWN3(3) DOWN3(2) DOWN3(1) "ret\n.size loops_in_loops, .-loops_in_loops\n"
);

void transpose(const float *in, float *out, long rows, long cols) { fast(in, out, rows, cols); }
