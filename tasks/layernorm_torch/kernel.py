"""Layer norm of a sum, in PyTorch's own operations: the plain version, a pass through memory for each.

Agents edit this file: keep the function and its arguments, harness.py calls it. Triton may be used.
"""

import torch


def layernorm(x, residual, weight, bias, eps):
    total = x.float() + residual.float()
    mean = total.mean(dim=1, keepdim=True)
    variance = (total - mean).square().mean(dim=1, keepdim=True)
    normal = (total - mean) * torch.rsqrt(variance + eps)
    return (normal * weight.float() + bias.float()).to(x.dtype)
