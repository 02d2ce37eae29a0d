"""Draw the picture of a report that README.md and the documentation show: docs/assets/report.png.

    python tools/picture.py            draws it, and writes the text in it to docs/assets/report.txt
    python tools/picture.py --check    fails if the text of the report is no longer that of the picture

Needs Chromium. The report is that of the shop in the tutorial, with the explanation of its surest example.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

import hornbeam as hb

ROOT = Path(__file__).resolve().parents[1]
PICTURE, TEXT = ROOT / "docs" / "assets" / "report.png", ROOT / "docs" / "assets" / "report.txt"
WIDTH, HEIGHT = 1160, 780
SEEN = """
() => [...document.querySelectorAll('#examples h2, #examples th, #examples tbody tr, #why')]
  .filter((each) => each.getBoundingClientRect().top < innerHeight)
  .map((each) => each.innerText.trim().replace(/\\\\s+/g, ' ')).join('\\\\n') + '\\\\n'
""".replace("\\\\", "\\")


def report_page(scratch: Path) -> Path:
    """The report of a model of the shop, on customers that it was not learned from."""
    program = re.search(
        r'title="make_shop.py"\n(.*?)```', (ROOT / "docs" / "tutorial.md").read_text(), re.DOTALL
    )
    assert program is not None
    text = program[1].replace("Path(name)", f"Path({str(scratch)!r}, name)")
    exec(compile(text, "make_shop.py", "exec"), {"__name__": "__main__"})
    train, test = (
        hb.load(scratch / "shop", target="customers.churned", examples=scratch / f"{name}.csv")
        for name in ("train", "test")
    )
    model = hb.RLRClassifier(database=train, max_effects=4).fit(*train.examples())
    page = scratch / "report.html"
    model.report(*test.examples(), database=test).save(page)
    return page


def main() -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not on the PATH (on Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as play:
        page = report_page(Path(scratch))
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", reduced_motion="reduce"
        )
        tab.goto(page.as_uri())
        # The table and the explanation, right below the bar with the sections.
        tab.evaluate("document.getElementById('examples').scrollIntoView()")
        text = tab.evaluate(SEEN)
        if "--check" not in sys.argv[1:]:
            tab.screenshot(path=PICTURE)
            TEXT.write_text(text, encoding="utf-8")
            print(f"{PICTURE.stat().st_size:,} bytes in {PICTURE}")
        elif not TEXT.exists() or TEXT.read_text(encoding="utf-8") != text:
            sys.exit("the report shows something else than docs/assets/report.png: run make picture")
        browser.close()


if __name__ == "__main__":
    main()
