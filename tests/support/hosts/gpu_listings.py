"""Listings of GPUs and of their tools, as the programs print them."""

H100 = (
    "0, GPU-4c2f1c9e-6b0e-5d0c-9b1a-0d3a7e6f1a01, 00000000:19:00.0, NVIDIA H100 80GB HBM3, 9.0, 81559, 580.95.05, "
    "Enabled, Disabled\n"
    "1, GPU-4c2f1c9e-6b0e-5d0c-9b1a-0d3a7e6f1a02, 00000000:3B:00.0, NVIDIA H100 80GB HBM3, 9.0, 81559, 580.95.05, "
    "Enabled, Enabled\n"
)
B200 = (
    "0, GPU-7e5a9a44-1111-2222-3333-444455556666, 00000000:1B:00.0, NVIDIA B200, 10.0, 183359, 575.57.08, "
    "Disabled, Disabled\n"
)
NVCC = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:58:59_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0
"""
NCU = """NVIDIA (R) Nsight Compute Command Line Profiler
Copyright (c) 2018-2025 NVIDIA Corporation
Version 2025.3.1.0 (build 36398880) (public-release)
"""
