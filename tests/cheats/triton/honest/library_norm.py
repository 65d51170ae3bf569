#: layernorm_torch
#: torch's own layer norm, of a sum in float: two kernels and a conversion
import torch


def layernorm(x, residual, weight, bias, eps):
    total = torch.add(x.float(), residual)
    return torch.nn.functional.layer_norm(total, total.shape[1:], weight.float(), bias.float(), eps).to(x.dtype)
