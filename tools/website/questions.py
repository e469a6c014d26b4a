"""Tries the search of the site with the questions of new readers, in Chromium and from disk, as they would.

A question is answered in two clicks: the first is on one of the first results, the second on a link of that page or on
none at all.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

#: Each question with the page that answers it, and words that the page must have.
QUESTIONS = {
    "how to add loss to a link": ("how-to/loss-and-failure.html", "[[loss]]"),
    "what slowdown means": ("reference/definitions.html", "ideal_fct_s"),
    "how to run on Slurm": ("how-to/cluster.html", "sbatch"),
    "why Fig. 10's naive case differs": ("how-to/reproduce-a-figure.html", "Why does the naive case"),
    "how to import an HPCC topology": ("how-to/own-network-and-flows.html", "hpcc-file"),
}
#: The number of results that a reader looks at.
LOOKED_AT = 3

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")


def check(site: Path) -> int:
    """Returns 0 if each question is answered, or if there is no Chromium to ask it in."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("the search was not tried: there is no Chromium on this machine")
        return 0
    missed = 0
    for question, (page, words) in QUESTIONS.items():
        found = results(chromium, site, question)[:LOOKED_AT]
        if page not in found or words not in (site / page).read_text("utf-8"):
            print(f"search: {question!r} leads to {', '.join(found) or 'nothing'} and not to {page} with {words!r}")
            missed += 1
    print(
        f"search: {len(QUESTIONS) - missed} of {len(QUESTIONS)} questions are answered by the first {LOOKED_AT} results"
    )
    return 1 if missed else 0


def results(chromium: str, site: Path, question: str) -> list[str]:
    """The pages that the search lists, the best first."""
    with tempfile.TemporaryDirectory() as profile:
        address = f"{(site / 'search.html').as_uri()}?q={quote(question)}"
        command = [chromium, *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--dump-dom", address]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    listed = re.search(r'<ul[^>]*class="search"[^>]*>(.*)</ul>', shown, flags=re.DOTALL)
    links = re.findall(r'<a href="([^"#?]+)[^"]*"', listed[1]) if listed else []
    return list(dict.fromkeys(link.removeprefix("./") for link in links))
