# SPDX-License-Identifier: Apache-2.0
"""python3 -m tools.timeline_picture: makes docs/pictures/timeline.png (with --try: elsewhere).

Runs examples/jacobi3d with a trace, makes its page and has Chromium take a picture of a window of
it. Needs a built stage and the packages of the group `browser`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import packages, tree
from tools.terminal import StepFailed, say
from tools.webdriver import Browser

PICTURE = tree.ROOT / "docs" / "pictures" / "timeline.png"
RANKS = 4
EXAMPLE = ["--grid", "128", "--iterations", "60", "--quiet"]
# A few sweeps of the second half.
WINDOW = ("const t = headwayTimeline; const d = JSON.parse("
          "document.getElementById('headway-data').textContent).duration;"
          "t.show(d * 0.55, d * 0.55 + arguments[0] * 1e6)")
WINDOW_MS = 30.0


def run_example(folder: Path) -> Path:
    """Leaves a page in the folder."""
    stage = tree.STAGE
    if not (stage / "bin" / "headway").is_file():
        raise StepFailed("the picture needs a built Headway; run ./dev build")
    trace, page = folder / "jacobi3d.json", folder / "jacobi3d.html"
    # Too few sweeps to solve it, which the program reports with its exit code.
    subprocess.run([stage / "bin" / "mpiexec", "-n", str(RANKS), stage / "bin" / "jacobi3d",
                    *EXAMPLE], env={**os.environ, "HEADWAY_TRACE": str(trace)}, check=False,
                   stdout=subprocess.DEVNULL, timeout=120)
    subprocess.run([stage / "bin" / "headway", "report", trace, "-o", page], check=True,
                   timeout=120)
    return page


def main(arguments: list[str]) -> int:
    picture = tree.LOGS / "timeline.png" if "--try" in arguments else PICTURE
    packages.require("browser")
    with tempfile.TemporaryDirectory() as name, Browser(1280, 800) as browser:
        browser.open(run_example(Path(name)))
        drawn = "return document.documentElement.dataset.state === 'drawn'"
        browser.await_that(drawn)
        browser.run("delete document.documentElement.dataset.state;" + WINDOW, WINDOW_MS)
        browser.await_that(drawn)
        errors = browser.errors()
        if errors:
            raise StepFailed("the page complains: " + "; ".join(errors))
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(browser.picture())
    say(f"picture: {picture.relative_to(tree.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
