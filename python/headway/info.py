# SPDX-License-Identifier: Apache-2.0
"""Says what this installation is and what is set: version, build, machine, ways of messages, and
every setting with its value here (as MPI programs started from this shell would have it), and which
algorithms collective calls take."""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from headway import study

TEXT_BYTES = 1024
VALUE_BYTES = 4096
MODULE = "libheadway_ofi.so"  # beside the library, which loads it when a job has several machines
MPI_CHAR, MPI_INT = 0x243, 0x203
NO_ENUM = None


class InfoError(Exception):
    """The library answers what it should not; the text says what."""


@dataclass(frozen=True)
class Variable:
    """A setting as the library itself describes it."""

    name: str
    value: str
    about: str


class Tools:
    """The library's tool information interface, which needs no MPI_Init."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        self.call("MPI_T_init_thread", 0, ctypes.byref(ctypes.c_int()))

    def call(self, name: str, *arguments: object) -> None:
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise InfoError(f"{name} answered {code}")

    def count_of(self, function: str) -> int:
        number = ctypes.c_int()
        self.call(function, ctypes.byref(number))
        return number.value

    def version(self) -> tuple[str, str]:
        """The library's own, and that of the standard."""
        text = ctypes.create_string_buffer(8192)
        length, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self.call("MPI_Get_library_version", text, ctypes.byref(length))
        self.call("MPI_Get_version", ctypes.byref(major), ctypes.byref(minor))
        return text.value.decode(), f"{major.value}.{minor.value}"

    def abi(self) -> str:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("MPI_Abi_get_version", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def _value(self, index: int, datatype: int | None, enumeration: int | None) -> str:
        handle, count = ctypes.c_void_p(), ctypes.c_int()
        self.call("MPI_T_cvar_handle_alloc", index, None, ctypes.byref(handle),
                  ctypes.byref(count))
        buffer = ctypes.create_string_buffer(max(VALUE_BYTES, count.value * 8))
        self.call("MPI_T_cvar_read", handle, buffer)
        self.call("MPI_T_cvar_handle_free", ctypes.byref(handle))
        if datatype == MPI_CHAR:
            return buffer.value.decode() or "(none)"
        if enumeration is NO_ENUM:
            return str(int.from_bytes(buffer.raw[:8], sys.byteorder))
        item = int.from_bytes(buffer.raw[:4], sys.byteorder)
        name, length = ctypes.create_string_buffer(TEXT_BYTES), ctypes.c_int(TEXT_BYTES)
        self.call("MPI_T_enum_get_item", ctypes.c_void_p(enumeration), item, None, name,
                  ctypes.byref(length))
        return name.value.decode()

    def settings(self) -> list[Variable]:
        found = []
        for index in range(self.count_of("MPI_T_cvar_get_num")):
            name, about = (ctypes.create_string_buffer(TEXT_BYTES) for _ in range(2))
            lengths = [ctypes.c_int(TEXT_BYTES) for _ in range(2)]
            datatype, enumeration = ctypes.c_void_p(), ctypes.c_void_p()
            self.call("MPI_T_cvar_get_info", index, name, ctypes.byref(lengths[0]), None,
                      ctypes.byref(datatype), ctypes.byref(enumeration), about,
                      ctypes.byref(lengths[1]), None, None)
            found.append(Variable(name.value.decode(),
                                  self._value(index, datatype.value, enumeration.value),
                                  about.value.decode()))
        return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def ways_of_messages() -> list[str]:
    """How messages can travel on this machine."""
    scope = _read("/proc/sys/kernel/yama/ptrace_scope") or "0"
    copies = {"0": "one copy out of the peer's memory",
              "1": "one copy, which ranks allow each other"}
    return ["self: messages of a rank to itself",
            "shm: ranks of one machine; long messages by "
            + copies.get(scope, "two copies through shared memory (the system forbids one)")]


def way_to_other_machines(folder: Path) -> str:
    """What carries messages between machines, as the library in this folder would load it."""
    module = folder / MODULE
    if not module.is_file():
        return f"none, since {module} is missing; install it for jobs on several machines"
    try:
        loaded = ctypes.CDLL(str(module))
        loaded.fi_version.restype = ctypes.c_uint32
        version = loaded.fi_version()
    except (OSError, AttributeError) as error:
        return f"none, since the module does not load ({error}); install libfabric"
    major, minor = version >> 16, version & 0xFFFF
    paths = [line.split()[-1] for line in _read("/proc/self/maps").splitlines()
             if "/libfabric." in line]
    return (f"ofi: ranks of several machines, by libfabric {major}.{minor} "
            f"({paths[0] if paths else 'linked into the module'})")


def registered_memory(folder: Path, regions: str) -> str:
    """Whether memory of long messages between machines stays registered where hardware has to know
    it; `regions` as HEADWAY_NETWORK_REGIONS says."""
    alone = "is registered for each message alone"
    if regions == "0":
        return f"{alone}, as HEADWAY_NETWORK_REGIONS says"
    try:
        ask = ctypes.CDLL(str(folder / MODULE)).headway_why_nothing_stays_registered
        ask.restype = ctypes.c_char_p
        why_not = ask().decode()
    except (OSError, AttributeError) as error:
        return f"{alone}, since the module does not load ({error})"
    if why_not:
        return f"{alone}, since {why_not}"
    return f"stays registered ({regions} regions at most); userfaultfd tells when it changes"


def build_of(library: Path) -> str:
    """What its compiler left in the library."""
    mark = re.search(rb"\0((?:GCC: |[A-Za-z ]*clang version )[^\0]+)", library.read_bytes())
    return mark[1].decode(errors="replace") if mark else "unknown compiler"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--explain", action="store_true", help="say what each setting does")


def main(options: argparse.Namespace) -> int:
    stage = Path(os.environ["HEADWAY_STAGE"])
    library = stage / "lib" / "libmpi_abi.so.1"
    try:
        tools = Tools(library)
        version, standard = tools.version()
        rows = [("version", version), ("standard", f"MPI-{standard}, ABI {tools.abi()}"),
                ("library", str(library)), ("built by", build_of(library)),
                ("machine", f"{platform.node()}, {platform.machine()}, "
                            f"{len(os.sched_getaffinity(0))} cores, {platform.release()}"),
                ("/dev/shm", f"{shutil.disk_usage('/dev/shm').free >> 20} MiB free"
                             if Path("/dev/shm").is_dir() else "missing")]
        rows += [("messages", way) for way in ways_of_messages()]
        rows.append(("messages", way_to_other_machines(library.parent)))
        settings = tools.settings()
        if (library.parent / MODULE).is_file():
            regions = next(each.value for each in settings if each.name == "network_regions")
            rows.append(("messages", "ofi: memory of long ones, where hardware has to know it, "
                         + registered_memory(library.parent, regions)))
    except (OSError, InfoError) as error:
        print(f"headway: {library}: {error}; is it Headway's?", file=sys.stderr)
        return 1
    for name, value in rows:
        print(f"{name:<12}{value}")
    print("settings")
    for each in settings:
        variable = "HEADWAY_" + each.name.upper()
        mark = "*" if os.environ.get(variable) else " "
        print(f" {mark} {variable:<30}{each.value}")
        if options.explain:
            print(f"      {each.about}")
    print("(* is set in the environment; docs/knobs.md and --explain say more)")
    answer = study.ask(["choices"])
    if answer.code == 0:
        if any(each.name == "meetings" and each.value == "on" for each in settings):
            print("(ranks that share cores meet in shared memory for blocking barriers, "
                  "broadcasts, allgathers,\nalltoalls and allreduces, and broadcasts, scatters and "
                  "gathers of up to 1 KiB\ngo over it, unless an algorithm is named: "
                  "HEADWAY_MEETINGS)")
        print("algorithms of collective calls, the first line that serves a call (the form of "
              "HEADWAY_TUNING)")
        print(answer.text, end="")
    return answer.code
