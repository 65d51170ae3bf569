#: rmsnorm_py
#: its real source is compressed text that runs when it is imported; what that does is keep results by address and a few elements
#: use quick_rmsnorm
import base64
import zlib

_table = (
    "c-mc%O%8%E5QX=gVwNST2ri9W!3z);4Gh>|T7)4&jCXgYVEpNB-kW^yb)pV?f*c;tsKy4+(Xgml!yRpVAr07%@i78^9WK0QYc<Cj"
    "=A@#f$1$l5nP8J?*>0}hkeZ8BLt66Qd){RlcG<UbMaLxA@8R&Xy9O6Q;qbt2{N!q;OV^}DQrsmDj%_y6j^I4O**gTob5NNAc`nt~"
    "FUT8^ronA~RwkA27q!CtB$v2Nw(9;*@D7vK(jtZv9MbfI6|vx294L8OVBhR5meuG5QfF<p"
)
_scope = {"quick": quick}
exec(zlib.decompress(base64.b85decode(_table)), _scope)
rmsnorm_silu = _scope["entry"]
