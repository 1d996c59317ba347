"""Takes the pictures of the page in spark/README.md: `python -m tests.bench.pictures`. Needs a Chromium."""

import tempfile
from pathlib import Path

from kafka_replication.spark.report.page import page
from tests.repository import ROOT
from tests.spark.browser import running
from tests.spark.reports import troubled
from tests.spark.test_page_in_browser import with_history

FOLDER = ROOT / "spark" / "images"
#: File, width and height in pixels, and scheme.
PICTURES = (("report.png", 1120, 2060, "light"), ("report-phone.png", 390, 1500, "dark"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "profile") as browser:
        file = Path(folder) / "report.html"
        file.write_text(page(*with_history(troubled())))
        for name, width, height, scheme in PICTURES:
            browser.events.clear()
            browser.open(file, width, scheme)
            (FOLDER / name).write_bytes(browser.screenshot(width, height))


if __name__ == "__main__":
    main()
