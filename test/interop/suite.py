# SPDX-License-Identifier: Apache-2.0
"""The MPI programs of test/mpi, over two hosts made of network namespaces, with at most two ranks
each.

`python3 test/interop/suite.py [--ranks process|thread|ult] [PART OF A NAME ...]`: prints what
fails; the last line counts. Ranks that are threads are those of one process a host.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import hosts_test
from hosts_test import hosts

from tools import mpi_tests
from tools.test_case import SKIP_CODE

HOSTS = 2
RANKS = 4
LIMIT_S = 120
# Programs about what is otherwise between hosts.
LEFT_OUT = {
    "progress/agent": "counts the threads of ranks that have no network",
    "progress/delayed": "only frames within a host are delayed",
}
# Likewise, where a process has several ranks.
LEFT_OUT_OF_THREADS = {
    "point_to_point/send_first": "a long message leaves a process of several ranks when its "
                                 "receiver asks for it",
}
# What holds here instead: parts are combined as they come within a host only, a rank has one
# instance, and a message that finds its receiver full makes a round trip. Of several long messages
# only the first may leave before its receiver asks, so the others stay, as the test expects.
SETTINGS = {
    "collective/combined": {"CHECK_COMBINES": "0"},
    "communicator/no_any_tag": {"CHECK_SPREADS": "0"},
    "point_to_point/buffered": {"HEADWAY_NETWORK_PUSH_MAX": "400K"},
    "point_to_point/bounded": {"CHECK_MESSAGES": "6000"},
}


def ranks_of(row: dict[str, Any], host: str) -> int:
    """As many as a row allows, as many on each host where they are threads; 0: none."""
    step = 1 if host == "process" else HOSTS
    return max((count for count in row["ranks"] if count <= RANKS and count % step == 0),
               default=0)


def rows(parts: list[str], host: str) -> list[dict[str, Any]]:
    """What runs here: programs that mpiexec starts with at most as many ranks as there are."""
    chosen = []
    for row in mpi_tests.read_rows(mpi_tests.FOLDER / "list.toml"):
        name = row["program"]
        if host not in row["host"] or "long" in row.get("labels", []):
            continue
        left_out = LEFT_OUT if host == "process" else LEFT_OUT | LEFT_OUT_OF_THREADS
        if name in left_out or ranks_of(row, host) == 0:
            print(f"left out: {name}: {left_out.get(name, 'needs other numbers of ranks')}")
        elif not parts or any(part in name for part in parts):
            chosen.append(row)
    return chosen


def run(made: hosts.Hosts, hydra: str, library: mpi_tests.Library, row: dict[str, Any],
        host: str) -> tuple[bool, str]:
    """Whether a row ended as it must, and what it printed."""
    ranks = ranks_of(row, host)
    program = (str(mpi_tests.binary_of(row["program"], library)), *row.get("arguments", []))
    environment = hosts_test.plain_environment() | made.environment()
    environment |= {f"HEADWAY_{name.upper()}": str(value)
                    for name, value in row.get("knobs", {}).items()}
    environment |= {name: str(value) for name, value in row.get("environment", {}).items()}
    environment |= SETTINGS.get(row["program"], {}) | {"CHECK_WATCHDOG": str(LIMIT_S)}
    if host == "process":
        command = made.hydra(hydra, ranks, -(-ranks // HOSTS), *program)
    else:
        command = made.hydra(hydra, HOSTS, 1, *hosts_test.host_words(host, ranks // HOSTS),
                             *program)
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=LIMIT_S + 15)
    except subprocess.TimeoutExpired as expired:
        return False, f"still running after {expired.timeout:.0f} s"
    return done.returncode == int(row.get("expect_exit", 0)), done.stdout


def main(arguments: list[str]) -> int:
    reason = hosts_test.why_not()
    if reason:
        print(f"no hosts: {reason}")
        return SKIP_CODE
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", choices=["process", "thread", "ult"], default="process")
    parser.add_argument("parts", nargs="*")
    asked = parser.parse_args(arguments)
    library = mpi_tests.of_preset("release")
    chosen = rows(asked.parts, asked.ranks)
    failed = 0
    for program in sorted({row["program"] for row in chosen}):
        mpi_tests.compile_program(program, library)
    with hosts.hosts(HOSTS) as made:
        for row in chosen:
            started = time.monotonic()
            is_good, text = run(made, str(hosts_test.find_hydra()), library, row,
                                asked.ranks)
            name = " ".join([row["program"], *row.get("arguments", []),
                             *(f"{key}={value}" for key, value in row.get("knobs", {}).items())])
            if not is_good:
                failed += 1
                print(f"FAILED {name} ({time.monotonic() - started:.1f} s)\n{text}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
