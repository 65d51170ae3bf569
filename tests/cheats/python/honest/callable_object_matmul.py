#: rmsnorm_py
#: The entry is an object with __call__ and empty __slots__; the sums of squares are batched products (1, n) @ (n, 1) over strips of at most 4096 columns, whose sums are then added in double precision.
import numpy as np


class Kernel:
    __slots__ = ()
    STRIP = 4096

    def squares(self, x):
        total = np.zeros((len(x), 1, 1))
        for start in range(0, x.shape[1], self.STRIP):
            strip = x[:, start : start + self.STRIP]
            total += strip[:, None, :] @ strip[:, :, None]
        return total[:, 0]

    def __call__(self, x, weight, eps):
        if 0 in x.shape:
            return np.empty_like(x)
        factor = (self.squares(x) / x.shape[1] + eps) ** -0.5
        y = x * factor.astype(np.float32)
        y *= weight
        gate = np.exp(-y)
        gate += np.float32(1)
        return np.divide(y, gate, out=y)


rmsnorm_silu = Kernel()
