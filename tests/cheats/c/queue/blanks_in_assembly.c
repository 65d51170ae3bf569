//: transpose_cpu -O2
//: has a line of assembly with hundreds of thousands of blanks, which whoever looks for a comment behind them reads again from each of them
//: use transpose_fast

#define A "                                                                                "
#define B A A A A A A A A A A
#define C B B B B B B B B B B
#define D C C C C C C C C C C
__asm__(".set blanks, " D D D D "1\n");

void transpose(const float *in, float *out, long rows, long cols) { fast(in, out, rows, cols); }
