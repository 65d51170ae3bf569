"""What some shapes of kernels need besides: a file and a line in `catalogue` each."""
