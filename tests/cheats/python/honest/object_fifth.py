#: rmsnorm_py
#: Honest: a callable object built of two small strategies, chosen by shape (whole for few elements, halves recursively for many).
import numpy as np


class RMSNormSilu:
    __slots__ = ("leaf",)
    __name__ = "rmsnorm_silu"

    def __init__(self, leaf):
        self.leaf = leaf

    def __call__(self, x, weight, eps):
        out = np.empty(x.shape, x.dtype)
        self._halves(x, weight, np.float32(eps), out)
        return out

    def _halves(self, x, weight, eps, out):
        rows = len(x)
        if rows > 1 and x.size > self.leaf:
            mid = rows // 2
            self._halves(x[:mid], weight, eps, out[:mid])
            self._halves(x[mid:], weight, eps, out[mid:])
        else:
            self._leaf(x, weight, eps, out)

    @staticmethod
    def _leaf(x, weight, eps, out):
        np.square(x, out=out)
        rms = np.sqrt(out.mean(axis=-1, keepdims=True) + eps)
        y = x / rms
        y *= weight
        np.exp(-y, out=out)
        out += 1
        np.divide(y, out, out=out)


rmsnorm_silu = RMSNormSilu(1 << 15)
