# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzzers test/fuzz/*_fuzz.cpp for a while each; a crash is a failure."""

from tools import build, tree
from tools.terminal import StepFailed, run_logged, say
from tools.test_case import Verdict

SECONDS_EACH = 60


def run() -> Verdict:
    """Corpora are kept in the user's cache, so that each run starts where the last one ended."""
    sources = [name for name in tree.tracked_files()
               if name.parent.as_posix() == "test/fuzz" and name.name.endswith("_fuzz.cpp")]
    if not sources:
        say("  there is no fuzzer")
        return Verdict(skipped=1)
    build.build("fuzz", ("fuzzers",))
    total = Verdict()
    for source in sources:
        corpus = tree.cache() / "fuzz" / source.stem
        findings = tree.BUILD / "fuzz-findings"
        corpus.mkdir(parents=True, exist_ok=True)
        findings.mkdir(parents=True, exist_ok=True)
        try:
            run_logged(f"fuzz {source.stem}", [
                tree.build_of("fuzz") / "test" / source.stem, corpus,
                f"-max_total_time={SECONDS_EACH}", "-timeout=10", "-rss_limit_mb=2048",
                f"-artifact_prefix={findings}/{source.stem}-"])
            total.passed += 1
        except StepFailed as failure:
            say(f"  {failure}")
            total.failed += 1
    return total
