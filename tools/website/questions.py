"""Tries the search of the site with the words and questions of new readers, in Chromium and from disk, as they would.

Whoever searches for a thing finds the page about it before pages that mention it (`TOPICS`). A question is answered in
two clicks: the first is on one of the first results, the second on a link of that page or on none at all.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from html import unescape
from pathlib import Path

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

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--allow-file-access-from-files",
)
#: A page that asks one question after the other in a frame, and lists the links of what each search shows. A search
#: that is not done after these milliseconds of virtual time, which costs nothing, has found nothing.
ASK = """<!doctype html><meta charset="utf-8"><pre id="found"></pre><script>
const asked = %s, found = {};
function ask(number) {
  if (number === asked.length) {
    document.getElementById("found").textContent = JSON.stringify(found);
    return;
  }
  const frame = document.createElement("iframe");
  frame.onload = () => setTimeout(() => {
    const links = frame.contentDocument.querySelectorAll("ul.search a[href]");
    found[asked[number]] = Array.from(links, (link) => link.getAttribute("href"));
    frame.remove();
    ask(number + 1);
  }, %d);
  frame.src = `%s?q=${encodeURIComponent(asked[number])}`;
  document.body.append(frame);
}
ask(0);
</script>"""
WAIT_MS = 5000


def check(site: Path) -> int:
    """Returns 0 if each question is answered, or if there is no Chromium to ask it in."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("the search was not tried: there is no Chromium on this machine")
        return 0
    found_of = results(chromium, site, [*QUESTIONS, *TOPICS])
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


def results(chromium: str, site: Path, asked: list[str]) -> dict[str, list[str]]:
    """The pages that the search lists for each of these questions, the best first."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "ask.html"
        page.write_text(ASK % (json.dumps(asked), WAIT_MS, (site / "search.html").as_uri()), "utf-8")
        # Twice the time that all searches may take, for loading pages between them.
        budget = f"--virtual-time-budget={2 * WAIT_MS * len(asked)}"
        command = [chromium, *FLAGS, f"--user-data-dir={folder}/profile", budget, "--dump-dom", page.as_uri()]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    listed = re.search(r'<pre id="found">(.*?)</pre>', shown, flags=re.DOTALL)
    links: dict[str, list[str]] = json.loads(unescape(listed[1])) if listed and listed[1] else {}
    return {one: list(dict.fromkeys(re.split("[#?]", link)[0] for link in links.get(one, []))) for one in asked}
