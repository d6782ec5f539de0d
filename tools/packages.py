# SPDX-License-Identifier: Apache-2.0
"""What Headway needs on a machine: Debian packages by apt, Python tools in a private environment.

Nothing is done, and nothing is asked of the network, when everything is there.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import tree
from tools.terminal import StepFailed, run_logged, say

# Each group is installed by the first command that needs it.
DEBIAN = {
    "build": ["g++", "cmake", "ninja-build", "pkg-config", "ccache", "git", "libgtest-dev",
              "libcli11-dev", "libfmt-dev", "libhwloc-dev", "libfabric-dev", "libpmix-dev",
              "librapidcheck-dev", "relacy-dev"],
    "python": ["python3-venv"],
    "model": ["spin"],
    "clang": ["clang-19", "libclang-rt-19-dev"],
    "debuggers": ["gdb", "valgrind"],
    "autotools": ["autoconf", "automake", "make"],
    "programs": ["bison", "flex", "libblas-dev", "make", "perl"],
    "fft": ["libfftw3-dev"],
    "hosts": ["iproute2"],
    "slurm": ["slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins"],
    "browser": ["chromium", "chromium-driver"],
}
# The checks: pinned, so that they say the same everywhere.
PYTHON_TOOLS = ["clang-format==23.1.3", "ruff==0.17.5", "mypy==2.4.1"]
TIDY_TOOLS = ["clang-tidy==23.1.4"]


def missing_debian(names: list[str]) -> list[str]:
    """Which of the packages dpkg does not know as installed."""
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${binary:Package} ${db:Status-Status}\n", *names],
        capture_output=True, text=True, check=False,
    )
    installed = set()
    for line in query.stdout.splitlines():
        package, _, state = line.rpartition(" ")
        if state == "installed":
            installed.add(package.partition(":")[0])
    return [name for name in names if name not in installed]


def install_debian(names: list[str]) -> None:
    """Installs missing Debian packages, as root or through sudo; says which."""
    if shutil.which("dpkg-query") is None:
        say("  this is not Debian: install yourself what the build asks for: " + " ".join(names))
        return
    missing = missing_debian(names)
    if not missing:
        return
    front: list[str] = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            raise StepFailed(
                "some Debian packages are missing and there is neither root nor sudo; "
                "install them as root: apt-get install " + " ".join(missing))
        front = ["sudo"]
    say("  installing Debian packages: " + " ".join(missing))
    apt = [*front, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y",
           "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"]
    run_logged("apt update", [*apt, "update"])
    run_logged("apt install", [*apt, "install", "--no-install-recommends", *missing])


def require(*groups: str) -> None:
    """Makes sure that the groups' Debian packages are there; instant when they are."""
    unknown = set(groups) - set(DEBIAN)
    if unknown:
        raise StepFailed(f"there is no group of packages '{unknown.pop()}'; there are: "
                         + " ".join(DEBIAN))
    install_debian([name for group in groups for name in DEBIAN[group]])


def private_environment(label: str, requirements: list[str]) -> Path:
    """A virtual environment with exactly these requirements; returns its folder.

    The name carries a hash of the requirements, so a changed pin makes a new one. It is made
    under another name and moved into place: a broken download leaves nothing behind.
    """
    key = "\n".join([sys.version.split()[0], *requirements])
    folder = tree.cache() / "python" / f"{label}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if (folder / "complete").is_file():
        return folder
    require("python")
    say("  installing Python packages: " + " ".join(requirements))
    # Scripts of an environment carry its path, so it is made in place and marked when whole.
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    run_logged(f"venv {label}", [sys.executable, "-m", "venv", folder])
    run_logged(f"pip {label}", [
        folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--no-input", *requirements])
    (folder / "complete").write_text(key + "\n")
    return folder


def python_tools() -> Path:
    """bin folder of clang-format, ruff and mypy."""
    return private_environment("tools", PYTHON_TOOLS) / "bin"


def tidy_tools() -> Path:
    """bin folder of clang-tidy."""
    return private_environment("tidy", TIDY_TOOLS) / "bin"
