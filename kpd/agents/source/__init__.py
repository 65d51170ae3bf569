"""Source text that need not compile: what of it is code, which functions it has, what others call of them."""
