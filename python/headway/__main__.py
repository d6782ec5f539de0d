# SPDX-License-Identifier: Apache-2.0
"""The command `headway`: `report FILE ...`, `bench NAME ...`, `bench multirate OPTION ...`,
`check-host PROGRAM`, `info`, `sim COLLECTIVE`, `graph COLLECTIVE`, `tune`, `advise PROGRAM`."""

from __future__ import annotations

import argparse
import os
import sys

from headway import advise, bench, check_host, graph, info, multirate, report, sim, tune


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
    report_parser = commands.add_parser(
        "report",
        help="turn a trace (HEADWAY_TRACE) or figures (bench --json) into a page",
        description=report.__doc__,
    )
    report.add_arguments(report_parser)
    report_parser.set_defaults(main=report.main)
    host_parser = commands.add_parser(
        "check-host",
        help="say whether a program can run as ranks of one process",
        description=check_host.__doc__,
    )
    check_host.add_arguments(host_parser)
    host_parser.set_defaults(main=check_host.main)
    info_parser = commands.add_parser(
        "info", help="say what this installation is and what is set", description=info.__doc__
    )
    info.add_arguments(info_parser)
    info_parser.set_defaults(main=info.main)
    sim_parser = commands.add_parser(
        "sim", help="simulate all algorithms of a collective", description=sim.__doc__
    )
    sim.add_arguments(sim_parser)
    sim_parser.set_defaults(main=sim.main)
    graph_parser = commands.add_parser(
        "graph", help="draw the graphs of a collective", description=graph.__doc__
    )
    graph.add_arguments(graph_parser)
    graph_parser.set_defaults(main=graph.main)
    tune_parser = commands.add_parser(
        "tune", help="measure which algorithms of collectives are fastest here",
        description=tune.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tune.add_arguments(tune_parser)
    tune_parser.set_defaults(main=tune.main)
    advise_parser = commands.add_parser(
        "advise", help="say whether progress would make a program faster",
        description=advise.__doc__
    )
    advise.add_arguments(advise_parser)
    advise_parser.set_defaults(main=advise.main)
    words = sys.argv[1:] if arguments is None else arguments
    if words[:2] == ["bench", "multirate"]:  # its options are those of its program
        return multirate.main(words[2:])
    options = parser.parse_args(words)
    try:
        return int(options.main(options))
    except KeyboardInterrupt:
        print("headway: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (`| head`) has left; keep the interpreter from flushing into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
