# SPDX-License-Identifier: Apache-2.0
"""The command `headway`: `headway bench NAME ...`."""

from __future__ import annotations

import argparse
import sys

from headway import bench


def main(arguments: list[str] | None = None) -> int:
    """Runs the command named in `arguments` (default: sys.argv); returns the exit code."""
    about = "Tools of the Headway MPI library."
    parser = argparse.ArgumentParser(prog="headway", description=about)
    commands = parser.add_subparsers(dest="command", required=True)
    bench_parser = commands.add_parser(
        "bench", help="measure Headway beside other MPI libraries", description=bench.__doc__
    )
    bench.add_arguments(bench_parser)
    bench_parser.set_defaults(main=bench.main)
    options = parser.parse_args(arguments)
    try:
        return int(options.main(options))
    except KeyboardInterrupt:
        print("headway: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
