# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the library's sources, with the settings of .clang-tidy."""

from concurrent.futures import ThreadPoolExecutor

from tools import build, packages, tree
from tools.terminal import StepFailed, run_logged, say
from tools.test_case import Verdict


def run() -> Verdict:
    """Every .cpp of src and launch; a finding is a failure."""
    packages.require("clang")
    build.build("clang", ("headway_generated",))
    program = packages.tidy_tools() / "clang-tidy"
    files = [name for name in tree.tracked_files()
             if name.suffix == ".cpp" and name.parts[0] in ("src", "launch")]

    def examine(name: str) -> bool:
        try:
            run_logged(f"tidy {name}", [
                program, "--quiet", "--warnings-as-errors=*", "-p", tree.build_of("clang"),
                name], quiet=True)
        except StepFailed:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        good = sum(pool.map(examine, [str(name) for name in files]))
    say(f"  clang-tidy: {good} of {len(files)} files clean")
    return Verdict(passed=good, failed=len(files) - good)
