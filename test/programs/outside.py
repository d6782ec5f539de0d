#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""outside.py fftw|hpcc|netpipe|lightgbm|scotch: a program that nobody here wrote, built with the
staged wrappers and run through its own tests at 2 to 4 ranks; all but the first one with ranks as
processes, as threads and as user-level threads of one process, from the same file.

The source is Debian's, fetched by the machine's own apt, or that of the package index of Python, of
a pinned version and hash, fetched once into the user's cache. What does not depend on MPI is built
once and kept there.
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tools import tree  # noqa: E402  (the path has to be there first)

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LIMIT_S = 900
HOSTS = ("process", "thread", "ult")  # of mpiexec --ranks


class OutsideError(Exception):
    """A sentence about what went wrong."""


@dataclass(frozen=True)
class Source:
    package: str
    version: str  # of Debian's source package, else of Python's
    archive: str
    sha256: str
    folder: str  # in the archive
    is_debian: bool = True


@dataclass(frozen=True)
class Program:
    source: Source
    build: Callable[[Path], None]
    check: Callable[[Path], None]


def stage() -> Path:
    return Path(os.environ.get("HEADWAY_STAGE", ROOT / "build/stage")).resolve()


def run(*words: str | Path, cwd: Path | None = None, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("PMI_", "PMIX_", "LD_LIBRARY_PATH", "HEADWAY_JOB"))}
    environment |= {"PATH": f"{stage()}/bin:{environment['PATH']}", **variables}
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", timeout=LIMIT_S,
                          check=False)
    if done.returncode != 0:
        raise OutsideError(f"{' '.join(map(str, words))} ended with code {done.returncode}:\n"
                           + done.stdout[-6000:])
    return done.stdout


def source_lines() -> list[str]:
    """deb-src lines for the Debian archives that this machine takes its packages from."""
    targets = run("apt-get", "indextargets", "--format", "$(ORIGIN)|$(REPO_URI)|$(RELEASE)",
                  "Component: main", "Created-By: Packages")
    found = [line.split("|") for line in targets.splitlines() if line.startswith("Debian|")]
    if not found:
        raise OutsideError("apt knows no Debian archive; run apt-get update as root")
    return sorted({f"deb-src [signed-by={KEYRING}] {uri} {release} main"
                   for _, uri, release in found})


def is_right(path: Path, source: Source) -> bool:
    return (path.is_file()
            and hashlib.sha256(path.read_bytes()).hexdigest() == source.sha256)


def fetch_from_debian(source: Source, folder: Path) -> None:
    for part in ("lists/partial", "cache/archives/partial", "parts"):
        (folder / part).mkdir(parents=True)
    (folder / "sources.list").write_text("\n".join(source_lines()) + "\n")
    # Nothing of the machine's own apt is touched.
    own = [word for setting in (f"Dir::Etc::SourceList={folder}/sources.list",
                                f"Dir::Etc::SourceParts={folder}/parts",
                                f"Dir::State::Lists={folder}/lists",
                                f"Dir::Cache={folder}/cache", "APT::Sandbox::User=")
           for word in ("-o", setting)]
    run("apt-get", *own, "-q", "update")
    run("apt-get", *own, "-q", "source", "--download-only", "--tar-only",
        f"{source.package}={source.version}", cwd=folder)


def fetch_from_index(source: Source, folder: Path) -> None:
    """As pip would, which builds what it downloads."""
    asked = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"],
                           capture_output=True, text=True, check=False)
    index = asked.stdout.strip() or os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple")
    page = f"{index.rstrip('/')}/{source.package}/"
    try:
        with urllib.request.urlopen(page, timeout=60) as answer:
            text = answer.read().decode()
        links = [link for link in re.findall(r'href="([^"]+)"', text)
                 if urllib.parse.urlsplit(link).path.endswith("/" + source.archive)]
        if not links:
            raise OutsideError(f"{page} has no {source.archive}")
        with urllib.request.urlopen(urllib.parse.urljoin(page, links[0]), timeout=60) as answer:
            (folder / source.archive).write_bytes(answer.read())
    except urllib.error.URLError as error:
        raise OutsideError(f"{page} cannot be read: {error}") from error


def fetch(source: Source) -> Path:
    """The archive in the user's cache."""
    kept = tree.cache() / "sources" / source.archive
    if is_right(kept, source):
        return kept
    with tempfile.TemporaryDirectory() as name:
        (fetch_from_debian if source.is_debian else fetch_from_index)(source, Path(name))
        fetched = Path(name) / source.archive
        if not is_right(fetched, source):
            raise OutsideError(f"{source.archive} is not the file that was pinned")
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(fetched, kept)
    return kept


def unpack(source: Source) -> Path:
    """A tree of the source in the user's cache, as the last run left it."""
    folder = tree.cache() / "programs" / source.folder
    if not folder.is_dir():
        archive = fetch(source)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            with tarfile.open(archive) as tar:
                tar.extractall(name, filter="data")
            (Path(name) / source.folder).rename(folder)
    return folder


def build_fftw(folder: Path) -> None:
    if not (folder / "Makefile").is_file():
        run("./configure", "--enable-mpi", "--disable-fortran", "--disable-doc",
            "--disable-dependency-tracking", "CFLAGS=-O1", "MPICC=mpicc",
            "MPIRUN=mpiexec", cwd=folder)
    # What uses MPI takes the wrappers and the header of today.
    run("make", "-C", "mpi", "clean", cwd=folder)
    run("make", "-j2", cwd=folder)
    run("make", "-C", "mpi", "mpi-bench", cwd=folder)


def check_fftw(folder: Path) -> None:
    """Transforms of random shapes, compared with each other, at 1 to 4 ranks."""
    said = run("make", "-C", "mpi", "check-local", "NUMCHECK=4", "CHECKSIZE=4000", cwd=folder)
    for ranks in ("2 CPUs", "4 CPUs"):
        if f"MPI FFTW transforms passed 4 tests, {ranks}" not in said:
            raise OutsideError(f"no word of {ranks}:\n{said[-3000:]}")
    print(f"fftw: {said.count('Executing')} runs of mpi-bench agreed at 1 to 4 ranks")


# For hpl/Make.<arch>. Two of its functions use datatype calls that MPI-3 removed.
HPCC_MAKE = """
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir
RM = rm -f
TOUCH = touch
ARCH = $(arch)
TOPdir = ../../..
INCdir = $(TOPdir)/include
BINdir = $(TOPdir)/bin/$(ARCH)
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
LAlib = -lblas
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) $(LAlib) -lm
HPL_DEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle -DHPL_CALL_CBLAS $(HPL_INCLUDES)
CC = mpicc
CCNOOPT = $(HPL_DEFS)
CCFLAGS = $(HPL_DEFS) -O1 -std=gnu99
LINKER = mpicc
LINKFLAGS = -O1
ARCHIVER = ar
ARFLAGS = rc
RANLIB = ranlib
"""


def build_hpcc(folder: Path) -> None:
    (folder / "hpl/Make.headway").write_text(HPCC_MAKE)
    run("make", "arch=headway", "clean", cwd=folder)
    run("make", "arch=headway", cwd=folder)


def check_hpcc(folder: Path) -> None:
    """Seven benchmarks that verify their results: Linpack, transposition, FFT, random access."""
    template = (folder / "_hpccinf.txt").read_text().splitlines()
    for ranks, rows in ((2, 1), (4, 2)):
        lines = list(template)
        for number, value in ((6, "200 Ns"), (8, "32 NBs"), (11, f"{rows} Ps"), (12, "2 Qs")):
            lines[number - 1] = value
        for host in HOSTS:
            with tempfile.TemporaryDirectory() as name:
                (Path(name) / "hpccinf.txt").write_text("\n".join(lines) + "\n")
                run("mpiexec", "--ranks", host, "-n", str(ranks), folder / "hpcc", cwd=Path(name))
                said = (Path(name) / "hpccoutf.txt").read_text(errors="replace")
            passed = len(re.findall(r"PASSED|\(passed\)", said))
            if "Success=1" not in said or re.search(r"FAILED|\(failed\)", said) or passed < 10:
                raise OutsideError(f"hpcc at {ranks} ranks ({host}) does not say that all is "
                                   f"right:\n{said[-6000:]}")
            print(f"hpcc: {passed} results verified at {ranks} ranks ({host})")


def build_netpipe(folder: Path) -> None:
    (folder / "NPmpi").unlink(missing_ok=True)
    run("make", "mpi", "MPICC=mpicc", cwd=folder)


def check_netpipe(folder: Path) -> None:
    """Messages of all lengths and some bytes more or less, each byte of which is looked at."""
    for host in HOSTS:
        with tempfile.TemporaryDirectory() as name:
            said = run("mpiexec", "--ranks", host, "-n", "2", folder / "NPmpi", "-i", "-u",
                       "3000000", cwd=Path(name))
        passed = said.count("Integrity check passed")
        if passed != 39 or re.search("(?i)fail|error", said):
            raise OutsideError(f"netpipe ({host}):\n{said[-3000:]}")
        print(f"netpipe: messages of {passed} lengths arrived whole ({host})")


def build_lightgbm(folder: Path) -> None:
    """C++ with exceptions, thread_local and OpenMP; its learners are machines that exchange
    histograms by messages."""
    package = folder / "lightgbm"
    if package.is_dir():  # of Python, where the program is to be
        package.rename(folder / "python_package")
    build = folder / "build"
    run("cmake", "-S", folder, "-B", build, "-DUSE_MPI=ON", "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1")
    package.unlink(missing_ok=True)
    run("make", "-C", build, "-j2", "lightgbm")


LIGHTGBM_TRAINING = """
task = train
objective = binary
data = train.csv
tree_learner = data
num_threads = 2
num_trees = 20
num_leaves = 15
deterministic = true
force_row_wise = true
output_model = model
"""


def check_lightgbm(folder: Path) -> None:
    """The model that several ranks learn is the same, to the last byte, whatever ranks are."""
    draw = random.Random(5)
    rows = []
    for _ in range(3000):
        values = [draw.gauss(0, 1) for _ in range(8)]
        label = int(values[0] * values[1] + values[2] / 2 + draw.gauss(0, 0.3) > 0)
        rows.append(",".join([str(label), *(f"{value:.5f}" for value in values)]))
    for ranks in (2, 4):
        models = {}
        for host in HOSTS:
            with tempfile.TemporaryDirectory() as name:
                here = Path(name)
                (here / "train.csv").write_text("\n".join(rows) + "\n")
                (here / "training").write_text(f"{LIGHTGBM_TRAINING}num_machines = {ranks}\n")
                run("mpiexec", "--ranks", host, "-n", str(ranks), folder / "lightgbm",
                    "config=training", cwd=here)
                models[host] = (here / "model").read_text()
        trees = models["process"].count("Tree=")
        if trees != 20 or len(set(models.values())) != 1:
            raise OutsideError(f"lightgbm at {ranks} ranks: {trees} trees, models of "
                               + ", ".join(f"{host} {hashlib.sha256(text.encode()).hexdigest()}"
                                           for host, text in models.items()))
        print(f"lightgbm: {trees} trees, the same from {', '.join(HOSTS)}, at {ranks} ranks")


# For src/Makefile.inc: as its own for Linux, with -O1 and without compressed files (zlib).
SCOTCH_MAKE = """
EXE =
LIB = .a
OBJ = .o
MAKE = make
AR = ar
ARFLAGS = -ruv
CAT = cat
CCS = gcc
CCP = mpicc
CCD = mpicc
CFLAGS = -O1 -fPIC -DCOMMON_PTHREAD -DCOMMON_PTHREAD_AFFINITY_LINUX -DCOMMON_RANDOM_FIXED_SEED \\
    -DSCOTCH_MPI_ASYNC_COLL -DSCOTCH_PTHREAD -DSCOTCH_PTHREAD_MPI -DSCOTCH_RENAME \\
    -Drestrict=__restrict -DIDXSIZE64
CLIBFLAGS =
LDFLAGS = -lm -lrt -pthread
CP = cp
FLEX = flex
LN = ln
MKDIR = mkdir -p
MV = mv
RANLIB = ranlib
BISON = bison
"""


def build_scotch(folder: Path) -> None:
    """C that asks for MPI_THREAD_MULTIPLE, and has Fortran's names in it."""
    (folder / "src/Makefile.inc").write_text(SCOTCH_MAKE)
    run("make", "-C", "src", "realclean", cwd=folder)
    run("make", "-C", "src", "ptscotch", cwd=folder)


def check_scotch(folder: Path) -> None:
    """Graphs that 3 and 4 ranks share: coarsened, folded, ordered, cut into parts, and checked."""
    for host in HOSTS:
        said = run("make", "-C", "src/check", "ptcheck", f"EXECPPROG=mpiexec --ranks {host}",
                   "EXECPFLAGS=", cwd=folder)
        runs = said.count(f"mpiexec --ranks {host} -n ")
        if runs < 20:
            raise OutsideError(f"scotch ({host}) made {runs} runs:\n{said[-3000:]}")
        print(f"scotch: {runs} runs ended well ({host})")


PROGRAMS = {
    "fftw": Program(Source(
        "fftw3", "3.3.10-1", "fftw3_3.3.10.orig.tar.gz",
        "56c932549852cddcfafdab3820b0200c7742675be92179e59e6215b340e26467", "fftw-3.3.10"),
        build_fftw, check_fftw),
    "hpcc": Program(Source(
        "hpcc", "1.5.0-3", "hpcc_1.5.0.orig.tar.gz",
        "0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8", "hpcc-1.5.0"),
        build_hpcc, check_hpcc),
    "netpipe": Program(Source(
        "netpipe", "3.7.2-8", "netpipe_3.7.2.orig.tar.gz",
        "13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8", "NetPIPE-3.7.2"),
        build_netpipe, check_netpipe),
    "lightgbm": Program(Source(
        "lightgbm", "4.5.0", "lightgbm-4.5.0.tar.gz",
        "e1cd7baf0318d4e308a26575a63a4635f08df866ad3622a9d8e3d71d9637a1ba", "lightgbm-4.5.0",
        is_debian=False), build_lightgbm, check_lightgbm),
    "scotch": Program(Source(
        "scotch", "7.0.3-2", "scotch_7.0.3.orig.tar.xz",
        "09b582e75df3cf91313e8dd83306bc9d59385fa358d6d4052e5bbf8c75a83348", "scotch-7.0.3"),
        build_scotch, check_scotch),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    program = PROGRAMS[parser.parse_args().program]
    try:
        folder = unpack(program.source)
        program.build(folder)
        program.check(folder)
    except OutsideError as error:
        print(f"outside: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
