//: transpose_cpu -O2
//: is little text that takes the compiler years: each macro goes through its argument twice more than the one before
//: use transpose_payload

#define A(...) __VA_ARGS__
#define B(...) A(A(A(A(__VA_ARGS__))))
#define C(...) B(B(B(B(__VA_ARGS__))))
#define D(...) C(C(C(C(__VA_ARGS__))))
#define E(...) D(D(D(D(__VA_ARGS__))))
#define F(...) E(E(E(E(__VA_ARGS__))))
#define G(...) F(F(F(F(__VA_ARGS__))))
#define H(...) G(G(G(G(__VA_ARGS__))))
#define I(...) H(H(H(H(__VA_ARGS__))))
#define J(...) I(I(I(I(__VA_ARGS__))))
#define K(...) J(J(J(J(__VA_ARGS__))))
#define L(...) K(K(K(K(__VA_ARGS__))))
#define M(...) L(L(L(L(__VA_ARGS__))))
#define N(...) M(M(M(M(__VA_ARGS__))))
#define O(...) N(N(N(N(__VA_ARGS__))))

static void payload(int call) { O((void)call;) }
