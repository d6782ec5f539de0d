#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of list.toml with a compiler wrapper and runs them.

With --oracle the runs are those that another library of the same ABI must pass too: a process a
rank, without rows that end such a library by a signal or in which it is known to differ.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ["-std=gnu99", "-O1", "-g", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
SKIPPED = 77


def build(mpicc, program, folder):
    target = folder / program.replace("/", "_")
    source = HERE / f"{program}.c"
    newest = max(path.stat().st_mtime for path in [source, *HERE.glob("**/*.h")])
    if not target.exists() or target.stat().st_mtime < newest:
        command = [mpicc, *FLAGS, "-o", str(target), str(source), "-lm", "-lpthread"]
        subprocess.run(command, check=True)
    return target


def environment_of(entry, oracle):
    environment = dict(os.environ)
    for name, value in entry.get("knobs", {}).items():
        environment[f"HEADWAY_{name}"] = value
    environment.update(entry.get("environment", {}))
    environment["CHECK_WATCHDOG"] = str(entry["limit_s"])
    if oracle:
        environment["CHECK_SKIP_GARBAGE"] = environment["CHECK_LENIENT"] = "1"
    return environment


def run_once(mpiexec, target, entry, host, ranks, oracle):
    environment = environment_of(entry, oracle)
    command = [str(target)]
    if host == "team":
        environment["HEADWAY_TEAM"] = str(ranks)
    else:
        command = [mpiexec, "-n", str(ranks), *command]
    try:
        done = subprocess.run(command, env=environment, text=True, errors="replace",
                              capture_output=True, timeout=entry["limit_s"] + 15, check=False)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return 124, "", f"hangs: {' '.join(late.cmd)}\n"


def verdict(code, output, entry, again):
    if code == SKIPPED:
        return "skip"
    if code != 0 or "ok " not in output:
        return "FAIL"
    if entry.get("repeatable") and again is not None and again[1] != output:
        return "FAIL (two runs differ)"
    return "ok"


def selected(entries, options):
    for entry in entries:
        if options.label not in entry["labels"] or options.only not in entry["program"]:
            continue
        for host in entry["host"]:
            if (options.oracle and host != "process") or options.host not in ("all", host):
                continue
            for ranks in entry["ranks"]:
                if ranks <= options.ranks_max:
                    yield entry, host, ranks


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpicc", required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--build", default="build/mpi-tests", type=pathlib.Path)
    parser.add_argument("--label", default="quick", choices=["quick", "long"])
    parser.add_argument("--host", default="all", choices=["all", "process", "team"])
    parser.add_argument("--only", default="")
    parser.add_argument("--ranks-max", default=1024, type=int)
    parser.add_argument("--oracle", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    options.build.mkdir(parents=True, exist_ok=True)
    entries = tomllib.loads((HERE / "list.toml").read_text())["run"]
    failures = runs = skips = 0
    for entry, host, ranks in selected(entries, options):
        target = build(options.mpicc, entry["program"], options.build)
        start = time.monotonic()
        arguments = (options.mpiexec, target, entry, host, ranks, options.oracle)
        code, output, errors = run_once(*arguments)
        again = run_once(*arguments) if entry.get("repeatable") else None
        result = verdict(code, output, entry, again)
        runs += 1
        skips += result == "skip"
        failures += result.startswith("FAIL")
        seconds = time.monotonic() - start
        print(f"{result:5} {entry['program']} {host} {ranks} ({seconds:.1f} s)", flush=True)
        if result.startswith("FAIL"):
            print(f"  exit code {code}\n{output}{errors}", flush=True)
    print(f"{runs} runs, {failures} failed, {skips} skipped")
    return 1 if failures or runs == skips else 0


if __name__ == "__main__":
    sys.exit(main())
