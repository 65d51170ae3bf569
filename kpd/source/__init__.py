"""C, C++, CUDA and Python read as text that need not compile: what it defines and launches, and what that is worth."""
