# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium under remote control (W3C WebDriver): opens pages of ours, uses them as a
person would, takes pictures. Needs the packages of the group `browser`."""

import base64
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

WATCHDOG_S = 60.0
# The first keep a fresh profile quiet; the network is not needed for pages in files.
ARGUMENTS = [
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
    "--force-device-scale-factor=1"]


class BrowserFailed(Exception):
    """The browser does not do what it is told; the text is its answer."""


class Browser:
    """`with Browser(width, height) as browser:`"""

    def __init__(self, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        arguments = [*ARGUMENTS, f"--window-size={width},{height}"]
        if dark:
            arguments.append("--force-dark-mode")
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        self._options = {"args": arguments, "binary": "/usr/bin/chromium"}

    def __enter__(self) -> "Browser":
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True)
        try:
            self._address = f"http://127.0.0.1:{self._read_port()}"
            answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": self._options,
                "goog:loggingPrefs": {"browser": "ALL"}}}})
            self._session = f"/session/{answer['sessionId']}"
        except BaseException:
            self._end_driver()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self._ask("DELETE", self._session)
        except BrowserFailed:
            pass  # what the body raised says more
        finally:
            self._end_driver()

    def _read_port(self) -> int:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            started = re.search(r"started successfully on port (\d+)", line)
            if started:
                return int(started[1])
        raise BrowserFailed("chromedriver ended before it listened")

    def _end_driver(self) -> None:
        self._driver.terminate()
        self._driver.wait()
        if self._driver.stdout is not None:
            self._driver.stdout.close()

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self._address + path, data, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=WATCHDOG_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserFailed(error.read().decode(errors="replace")[:500]) from error
        except OSError as error:
            raise BrowserFailed(str(error)) from error

    def open(self, page: Path) -> None:
        self._ask("POST", self._session + "/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """Value of `return ...` in a script."""
        return self._ask("POST", self._session + "/execute/sync",
                         {"script": script, "args": list(arguments)})

    def await_that(self, script: str) -> None:
        """Waits until the script returns true; the watchdog is an error, not a measurement."""
        deadline = time.monotonic() + WATCHDOG_S
        while not self.run(script):
            if time.monotonic() > deadline:
                raise BrowserFailed(f"waited {WATCHDOG_S:.0f} s in vain: {script}")
            time.sleep(0.02)

    def act(self, *sources: dict[str, Any]) -> None:
        """Input of wheel, mouse and keyboard, as WebDriver's actions have it."""
        self._ask("POST", self._session + "/actions", {"actions": list(sources)})

    def press(self, key: str) -> None:
        self.act({"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]})

    def wheel(self, x: int, y: int, by: int) -> None:
        self.act({"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "duration": 0}]})

    def move_mouse(self, x: int, y: int) -> None:
        self.act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                  "actions": [{"type": "pointerMove", "x": x, "y": y, "duration": 0}]})

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        def move(to: tuple[int, int]) -> dict[str, Any]:
            return {"type": "pointerMove", "x": to[0], "y": to[1], "duration": 0}
        self.act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                  "actions": [move(start), {"type": "pointerDown", "button": 0}, move(end),
                              {"type": "pointerUp", "button": 0}]})

    def errors(self) -> list[str]:
        """What the page has complained of since the last call."""
        entries = self._ask("POST", self._session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def picture(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self._ask("GET", self._session + "/screenshot"))
