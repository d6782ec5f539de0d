# SPDX-License-Identifier: Apache-2.0
"""One group of the kernel's for what shares cores as if it were one program.

Where nobody has grouped processes, Linux does (sched_autogroup): each session is a group, and
groups share a core, not threads. Two groups on two cores have been seen (Linux 6.18) to leave one
of them without a core for seconds, so hosts that are namespaces of one machine must not be groups.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


def folder_of_groups() -> Path | None:
    """Where one_group() makes groups: that of this process, if it is the topmost one, in which
    sessions are grouped; None where they are not."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if path != "/":
            continue
        for _, where, kind, options, *_ in mounts:
            top = Path(where)
            if "cpu" in controllers.split(",") and kind == "cgroup" and \
                    "cpu" in options.split(","):
                return top
            if not controllers and kind == "cgroup2" and "cpu" in \
                    (top / "cgroup.subtree_control").read_text().split():
                return top
    return None


@contextlib.contextmanager
def one_group() -> Iterator[None]:
    """This process, and all that it starts, in a group of their own; where that is not permitted,
    nothing changes."""
    top = made = None
    with contextlib.suppress(OSError):
        top = folder_of_groups()
        if top is not None:
            made = top / f"headway-{secrets.token_hex(4)}"
            made.mkdir()
            (made / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        if top is not None and made is not None:
            with contextlib.suppress(OSError):
                for member in (made / "cgroup.procs").read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        (top / "cgroup.procs").write_text(member)
                made.rmdir()
