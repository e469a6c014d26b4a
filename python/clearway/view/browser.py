"""The user's browser."""

from __future__ import annotations

import os
import sys
import webbrowser


def show(url: str) -> None:
    """Opens an address in the browser of the desktop, if there is one; a browser in the terminal would hide ours."""
    has_desktop = sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if has_desktop:
        webbrowser.open(url)
