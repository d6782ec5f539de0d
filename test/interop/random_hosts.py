# SPDX-License-Identifier: Apache-2.0
"""Jobs on two hosts made of network namespaces, by seed: the ways that long messages go, windows,
what a rank may hold, registered memory, who makes progress, and what the ranks are.

    python3 test/interop/random_hosts.py [--minutes 1] [--seed 1]
    python3 test/interop/random_hosts.py --replay SEED

Half of the jobs are programs/between.c, which waits for transfers without a call of MPI, the others
point_to_point/random_traffic.c, which checks each message against a model (test/seeds.py).
"""

import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

import hosts_test  # noqa: E402
import seeds  # noqa: E402
from hosts_test import hosts  # noqa: E402

from tools.test_case import SKIP_CODE  # noqa: E402

HOSTS = 2
WATCHDOG_S = 90
BETWEEN = ROOT / "test/interop/programs/between.c"
TRAFFIC = ROOT / "test/mpi/point_to_point/random_traffic.c"


@dataclass(frozen=True)
class Draw:
    """What a seed asks for."""

    source: Path
    arguments: list[str]
    ranks: str  # process, thread or ult
    per_host: int
    settings: dict[str, str]


def draw(seed: int) -> Draw:
    chance = random.Random(seed)
    ranks = chance.choice(("process", "process", "process", "thread", "ult"))
    per_host = chance.randint(1, 2)
    # Each in a part of the jobs: what is always set hides what it prevents.
    knobs = {
        "network_push_max": (0.6, ("0", "64K", "400K", "1M")),
        "network_read_min": (0.4, ("0", "100K", "1T")),
        "network_window": (0.3, ("128K",)),
        "network_regions": (0.2, ("0", "2")),
        "ofi_registration": (0.2, ("all",)),
        "eager_limit": (0.4, ("0", "100", "4K")),
        "unexpected_limit": (0.3, ("0", "1K", "64K")),
        "copy_at_once": (0.2, ("0",)),
        "cma": (0.2, ("off",)),
        "progress": (0.3, ("none", "thread")),
        "yields": (0.3, ("0", "1")),
        "matching": (0.1, ("list",)),
    }
    settings = {f"HEADWAY_{name.upper()}": chance.choice(values)
                for name, (share, values) in knobs.items() if chance.random() < share}
    if chance.random() < 0.5:
        size = chance.choice((0, 20_000, 300_000, 1_500_000))
        return Draw(BETWEEN, [str(size)], ranks, per_host, settings)
    settings |= {
        "CHECK_SEED": str(seed), "CHECK_SEEDS": "1", "CHECK_WATCHDOG": str(WATCHDOG_S // 2),
        "CHECK_AT_ONCE": str(chance.randint(1, 3)),
        "CHECK_MESSAGES": str(chance.choice((8, 16, 24)))}
    if chance.random() < 0.4:
        settings["CHECK_SLOW_US"] = str(chance.choice((50, 500, 3000)))
    return Draw(TRAFFIC, [], ranks, per_host, settings)


def build() -> Path:
    """The folder with the programs."""
    folder = ROOT / "build" / "random_hosts"
    folder.mkdir(parents=True, exist_ok=True)
    for source in (BETWEEN, TRAFFIC):
        subprocess.run([hosts_test.stage() / "bin/mpicc", "-std=gnu99", "-O1", "-g", source, "-o",
                        folder / source.stem, "-lpthread"], check=True)
    return folder


def run(made: hosts.Hosts, folder: Path, drawn: Draw) -> str:
    """What went wrong; "" if nothing did."""
    program = [str(folder / drawn.source.stem), *drawn.arguments]
    hydra = str(hosts_test.find_hydra())
    if drawn.ranks == "process":
        command = made.hydra(hydra, HOSTS * drawn.per_host, drawn.per_host, *program)
    else:
        command = made.hydra(hydra, HOSTS, 1,
                             *hosts_test.host_words(drawn.ranks, drawn.per_host), *program)
    clean = {name: value for name, value in hosts_test.plain_environment().items()
             if not name.startswith("CHECK_")}
    return seeds.outcome(command, clean | made.environment(), drawn.settings, WATCHDOG_S)


def main() -> int:
    options = seeds.options_of(__doc__)
    reason = hosts_test.why_not()
    if reason:
        print(f"no hosts: {reason}")
        return SKIP_CODE
    folder = build()
    with hosts.hosts(HOSTS) as made:
        return seeds.run("jobs on two hosts", "test/interop/random_hosts.py", options,
                         lambda seed: run(made, folder, draw(seed)))


if __name__ == "__main__":
    sys.exit(main())
