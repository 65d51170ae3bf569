"""kpd's program on a host: jobs that outlive the connection, leases on devices, a content store, tunnels.

The modules here are sent as source over the pipe when kpd connects (`kpd.hosts.bundle`) and run under the host's own
python3: 3.6 or later, the standard library only, nothing installed. There is one process, one thread and one select
loop: nothing blocks for long (a child does the cleaning), and forking is always safe. The helper ends with its pipe;
supervisors and jobs do not.

Under the host's root lie `jobs/<id>/` (cmd, alive, pgid, stdout, stderr, rc, out/; with a lease also notes and lease),
`blobs/<sha256>`, `trees/<digest>/` and `tmp/`. `alive` is a FIFO whose only writer is the job's supervisor. A reader
sees the end of file when the writer is gone. So the kernel says whether a job still runs, correctly after a crash or a
reboot too, and wakes the helper when a job ends.

A lease is a lock on a file that every kpd on the host shares. The supervisor holds it, so the kernel ends it with the
supervisor, and a lost connection does not.
"""
