"""A cassette: what the programs of a GPU machine answered once, replayed through all of kpd where there is no GPU.

benchmarks/record_gpu.py records one. `plug_in.register` has a process know the transport `cassette`, with `cassette =
"FOLDER"`, and the agent `cassette`, which proposes the candidates that were recorded.

A call is known by content: the code that is built (not kpd's own), the flags, and the builds that a program and its
objects come from. Names of jobs, seeds and folders do not count, nor which metrics ncu is asked for. What differs each
time, the timings, is replayed in its order, and so always ends at the same process. What was never recorded pauses the
run, and is not held against the candidate. Tasks whose benchmark is a command of their own are not recorded.

    cassette.json   where it comes from, its task and candidates
    answers.jsonl   a line each: key, exit status, what was printed
    blobs/          what is long, and the reports of ncu, packed and named by their sha256

Objects are not in it. Paths are cut to the names of their files; names of the machine and the user and the GPU's UUID
are replaced, in reports by as many bytes. Folders of system programs that kpd did not start may still be in a report.
"""
