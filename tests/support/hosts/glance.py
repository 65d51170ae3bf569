"""What nvidia-smi answers when a GPU is busy."""

from tests.support.hosts.installs import install as install

GPU = "GPU-c4e1a6d1-4c88-4ef2-b607-c1a299d515b3"
BUSY = f"{GPU}, 1980, 3201, 118.30, 700.00, 34, 527, 17, 0x0000000000000000"
APPS = f"{GPU}, 423, 518, /usr/bin/python3"
