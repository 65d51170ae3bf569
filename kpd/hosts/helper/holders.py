"""Reports who holds which device, and the owners of processes, without waiting."""

from pathlib import Path

from kpd.hosts.helper.files import RequestRefused
from kpd.hosts.helper.lock import lock_path, opened
from kpd.hosts.helper.processes import exists, folder_of
from kpd.hosts.helper.wire import Header

MOST = 256  # devices, and processes, of one question


class Holders:
    """The lease holders of the devices whose locks lie in the folder `leases`, and the owners of processes."""

    def __init__(self, leases: Path) -> None:
        self.leases = leases

    def op_holders(self, request: int, body: bytes, devices: "list[str]", pids: "list[int]") -> Header:
        """Return `leases` by device: who holds it, an empty holder and pid 0 for nobody, or why that is unknown.

        And `owners` by pid: "kpd" for a process of this user's jobs, "other", or "unseen" where there is no such
        process.
        """
        return {
            "leases": {device: self.holder(device) for device in devices[:MOST]},
            "owners": {str(pid): owner(pid) for pid in pids[:MOST]},
        }

    def holder(self, device: str) -> Header:
        try:
            locks = opened(lock_path(self.leases, device), make=False)  # a query must not make files
        except RequestRefused as err:
            return {"error": err.message}
        try:
            # Taken shared and released at once: a job that measures has it exclusively, one that waits is next.
            held = [lock for lock in locks if not lock.free()]
            return held[0].holder() if held else {"holder": "", "pid": 0, "since": 0.0}
        except RequestRefused as err:
            return {"error": err.message}
        finally:
            for lock in locks:
                lock.close()


def owner(pid: int) -> str:
    if folder_of(pid) is not None:
        return "kpd"
    return "other" if exists(pid) else "unseen"
