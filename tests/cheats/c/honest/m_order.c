//: matmul_cpu -O3 -march=native
//: three loops in the order that vectorises
//: use matmul_fast

void matmul(const float *a, const float *b, float *c, long m, long n, long k) { fast(a, b, c, m, n, k); }
