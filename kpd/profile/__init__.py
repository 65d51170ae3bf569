"""Why a candidate is as fast as it is: counters, the compiler's words, its code, and rules over all of them."""
