"""A headless Chromium, controlled through a pipe with the DevTools protocol; tests skip if there is none."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")
_SECONDS = 60


class Browser:
    """One page. `events` holds what the browser reports by itself, such as requests and messages of its console."""

    def __init__(self, to: int, by: int) -> None:
        self._to, self._by = to, by
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> Any:
        """Give a command, and return what the browser answers."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            received = self._next()
            if received.get("id") != number:
                self.events.append(received)
                continue
            assert "error" not in received, received
            return received["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._by], [], [], _SECONDS)[0], "the browser says nothing any more"
            read = os.read(self._by, 1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        first, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(first)
        return found

    def open(self, file: Path, width: int, scheme: str) -> None:
        """Open a file in a window of this width, in the scheme `light` or `dark`."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=file.as_uri())
        while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
            self.events.append(self._next())

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key and let go of it; `code` is the browser's number of it."""
        for kind in ("keyDown", "keyUp"):
            given = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **given)

    def screenshot(self, width: int, height: int) -> bytes:
        """A picture of the page from its top, as PNG."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(answer["data"])


@contextmanager
def running(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile in this folder; it ends with the body."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed; Debian has the package `{NAMES[0]}`")
    (they_read, to), (by, they_write) = os.pipe(), os.pipe()
    # The browser reads from descriptor 3 and writes to descriptor 4.
    shell = f'exec "$@" 3<&{they_read} 4>&{they_write}'
    options = [*_OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
    process = subprocess.Popen(
        ["/bin/bash", "-c", shell, "browser", program, *options],
        pass_fds=(they_read, they_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(they_read)
    os.close(they_write)
    try:
        browser = Browser(to, by)
        yield browser
        with suppress(AssertionError, OSError):
            del browser._session
            browser.ask("Browser.close")
    finally:
        os.close(to)
        os.close(by)
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
