# SPDX-License-Identifier: Apache-2.0
"""A file of src/<layer>/ includes only its own layer and those to its left (layers.toml)."""

import re
import tomllib

from check.source import CPP, Source, blank

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# Headers with these shapes come from the system, not from the C or C++ standard libraries.
_SYSTEM = re.compile(
    r"^(sys/|linux/|asm/|arpa/|net/|netinet/|bits/|x86intrin|immintrin|"
    r"(unistd|fcntl|dlfcn|poll|sched|pthread|pwd|elf|link|spawn|syscall|ucontext|netdb|dirent|"
    r"execinfo|glob|libgen|semaphore|mqueue|termios|ucontext|grp|err|strings|malloc|alloca|"
    r"cpuid|endian|byteswap)\.h$)")
_STANDARD = re.compile(r"^[a-z_0-9]+$|^(assert|complex|ctype|errno|fenv|float|inttypes|limits|"
                       r"locale|math|setjmp|signal|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|"
                       r"stdio|stdlib|string|tgmath|threads|time|uchar|wchar|wctype)\.h$")


class Rules:
    """layers.toml, read once."""

    def __init__(self, text: str) -> None:
        data = tomllib.loads(text)
        self.order: list[str] = data["order"]
        self.open_to_all: list[str] = data.get("open_to_all", [])
        self.generated: dict[str, str] = data.get("generated", {})
        self.third_party: dict[str, list[str]] = data.get("third_party", {})

    def problem(self, layer: str, header: str, quoted: bool) -> str | None:
        """Why `layer` may not include `header`; None if it may."""
        owner = self.generated.get(header) or header.partition("/")[0]
        if owner in self.order and (quoted or "/" in header or header in self.generated):
            if self.order.index(owner) <= self.order.index(layer):
                return None
            return f"layer {layer} stands before {owner} and may not include {header}"
        if header in self.open_to_all:
            return None
        if quoted:
            return f"{header} is in no layer; write <{header}> if it is not ours"
        if _STANDARD.match(header):
            return None
        name = "system" if _SYSTEM.match(header) else self._third_party_name(header)
        if name is None:
            return f"<{header}> is a third-party header that layers.toml does not list"
        if layer in self.third_party.get(name, []):
            return None
        return f"layers.toml does not allow <{header}> ({name}) in layer {layer}"

    def _third_party_name(self, header: str) -> str | None:
        for name in self.third_party:
            if header == name or (name.endswith("/") and header.startswith(name)):
                return name
        return None


def run(source: Source) -> list[str]:
    rules = Rules((source.root / "layers.toml").read_text())
    problems = []
    for name in source.under("src", endings=CPP):
        if len(name.parts) < 3:
            problems.append(f"{name}: a source file stands in a layer, src/<layer>/")
            continue
        layer = name.parts[1]
        if layer not in rules.order:
            problems.append(f"{name}: layers.toml knows no layer {layer}")
            continue
        text = blank(source.text(name), strings=False)
        for match in _INCLUDE.finditer(text):
            why = rules.problem(layer, match[2], match[1] == '"')
            if why:
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name}:{line}: {why}")
    return problems
