"""Tries the search of the site with the words and questions of new readers, in Chromium and from disk, as they would.

Whoever searches for a thing finds the page about it before pages that mention it (`TOPICS`). A question is answered in
two clicks: the first is on one of the first results, the second on a link of that page or on none at all.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import quote

#: Each question with the page that answers it, and words that the page must have.
QUESTIONS = {
    "how to add loss to a link": ("how-to/loss-and-failure.html", "[[loss]]"),
    "what slowdown means": ("reference/definitions.html", "ideal_fct_s"),
    "how to run on Slurm": ("how-to/sweeps.html", "sbatch"),
    "why Fig. 10's naive case differs": ("how-to/reproduce-a-figure.html", "Why does the naive case"),
    "how to import an HPCC topology": ("how-to/own-network-and-flows.html", "hpcc-file"),
}
#: Things that readers search for, each with the page about it, which the search lists first.
TOPICS = {
    "incast": "tutorials/incast.html",
    "install": "start/install.html",
    "first run": "start/first-run.html",
    "sweep": "start/sweep.html",
    "DCTCP": "protocols/dctcp.html",
    "ExpressPass": "protocols/expresspass.html",
    "DCQCN": "protocols/dcqcn.html",
    "HPCC": "protocols/hpcc.html",
    "TIMELY": "protocols/timely.html",
    "PAC": "protocols/pac.html",
    "PACC": "protocols/pacc.html",
    "EC4": "protocols/ec4.html",
    "findings": "reference/findings.html",
    "live page": "how-to/live-page.html",
    "lessons": "lessons/index.html",
    "add a transport": "how-to/add-a-transport.html",
    "own transport": "start/own-transport.html",
    "memory": "explanation/memory.html",
    "threads": "explanation/threads.html",
    "PFC": "explanation/pfc.html",
    "flow control": "explanation/pfc.html",
    "traces": "how-to/traces.html",
    "seeds": "how-to/seeds-and-windows.html",
    "glossary": "project/glossary.html",
    "clearwayd": "how-to/clearwayd.html",
    "wire format": "reference/wire-format.html",
    "parity": "results/parity.html",
    "speed": "results/speed.html",
    "cite": "how-to/cite.html",
    "stability": "explanation/stability.html",
    "Slurm": "how-to/sweeps.html",
    "read a table": "start/read-a-table.html",
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
    # A search takes a second or two, most of which Chromium waits.
    with ThreadPoolExecutor(2) as pool:
        asked = [*QUESTIONS, *TOPICS]
        found_of = dict(zip(asked, pool.map(partial(results, chromium, site), asked), strict=True))
    missed = 0
    for topic, page in TOPICS.items():
        if found_of[topic][:1] != [page]:
            listed = ", ".join(found_of[topic][:LOOKED_AT]) or "nothing"
            print(f"search: {topic!r} leads to {listed} and not first to {page}")
            missed += 1
    for question, (page, words) in QUESTIONS.items():
        found = found_of[question][:LOOKED_AT]
        if page not in found or words not in (site / page).read_text("utf-8"):
            print(f"search: {question!r} leads to {', '.join(found) or 'nothing'} and not to {page} with {words!r}")
            missed += 1
    asked_for = len(QUESTIONS) + len(TOPICS)
    print(f"search: {asked_for - missed} of {asked_for} searches lead to the page that they are for")
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
