"""Draw the picture of a report that README.md and the documentation show: docs/assets/report.png.

    python tools/picture.py

Needs Chromium. The report is that of `hornbeam demo`, with the explanation of its surest example.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from hornbeam.cli.demonstration import story

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "report.png"
WIDTH, HEIGHT = 1160, 780


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not on the PATH (on Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "report.html"
        for _ in story(page):
            pass
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            tab = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", reduced_motion="reduce"
            )
            tab.goto(page.as_uri())
            # The table and the explanation, right below the bar with the sections.
            tab.evaluate("document.getElementById('examples').scrollIntoView()")
            tab.screenshot(path=PICTURE)
            browser.close()
    print(f"{PICTURE.stat().st_size:,} bytes in {PICTURE}")


if __name__ == "__main__":
    main()
