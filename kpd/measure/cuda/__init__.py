"""A task in CUDA: nvcc, one GPU, the roofline of its memory and its L2."""
