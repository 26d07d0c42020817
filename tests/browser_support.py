"""A headless Chromium, driven over a pipe in its own protocol: real widths, keys and touches, no other package."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_PATIENCE = 60.0  # seconds that an answer may take; only a broken browser takes more than a few
# The browser reads from file descriptor 3 and writes to 4; a shell gives our pipes these numbers.
_WITH_PIPES = 'exec "$0" "$@" 3<&{read} 4>&{write}'


def find_browser() -> str | None:
    """Return the path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One tab of a browser without a past."""

    def __init__(self, path: str, profile: Path) -> None:
        self.events: list[dict[str, Any]] = []
        self._buffer, self._number, self._session = b"", 0, {}
        their_read, self._write = os.pipe()
        self._read, their_write = os.pipe()
        script = _WITH_PIPES.format(read=their_read, write=their_write)
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", script, path, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(their_read, their_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_read)
        os.close(their_write)

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._session = {}
        try:
            self.call("Browser.close")
            self._process.wait(_PATIENCE)
        finally:
            self._process.kill()
            os.close(self._read)
            os.close(self._write)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params, **self._session}
        os.write(self._write, json.dumps(command).encode() + b"\0")
        answer = self._until(lambda message: message.get("id") == self._number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return dict(answer["result"])

    def open(self, page: Path | str, *, width: int, scheme: str, scripts: bool = True) -> None:
        """Show a file or an address on a screen of this width; below 500 pixels it is that of a phone."""
        phone = width < 500
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.call("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        if not self.seen("Page.loadEventFired"):  # it may come before the answer to the command
            self._until(lambda message: message.get("method") == "Page.loadEventFired")

    def seen(self, method: str) -> list[dict[str, Any]]:
        """Return what was told of one kind of event since the page was opened."""
        return [event["params"] for event in self.events if event["method"] == method]

    def evaluate(self, expression: str) -> Any:
        """Return what a JavaScript expression is in the page, or comes to be if it is a promise."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, by its name."""
        code = {"Tab": 9, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27}[key]
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def point(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse."""
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def tap(self, x: float, y: float) -> None:
        """Touch the screen and let go."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def screenshot(self) -> bytes:
        """Return a PNG of the visible part of the page."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _until(self, wanted: Any) -> dict[str, Any]:
        """Read messages until one is wanted; keep the others that are events."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            message = self._receive(deadline)
            if "method" in message:
                self.events.append(message)
            if wanted(message):
                return message

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._read, 1 << 20) if ready else b""
            assert part, "the browser does not answer"
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(text))
