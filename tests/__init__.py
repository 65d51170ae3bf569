"""The tests. What has to be so before anything of them is imported."""

import os

os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")  # the only one is trio's, which takes 0.3 s to import, for nobody
