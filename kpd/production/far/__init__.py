"""kpd's program beside a project: it changes the project's files on their host, and restores them by itself.

The modules are staged on the host, and copied beside the originals, so that the originals can be put back without kpd:
`python3 FOLDER/program restore '{"root": "…"}'`. They run under the host's own python3: 3.6 or later, Linux, the
standard library only.

A place is a folder below `~/.local/state/kpd/places`, one for each root: `change.json` is the last change and how it
ended, `originals/<sha256>` are copies of the files as they were, `lease.json` says until when the change is held,
`lock` is held by whoever reads or writes any of these, `switch` by the process that restores when the lease is over.
"""
