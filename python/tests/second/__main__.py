"""The adapter: reads a line of JSON for each input, and answers with a line of JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from second.credit import Receiver, Sender
from second.flow import Flow
from second.paths import Paths
from second.window import Window

PARTS: dict[str, Any] = {"window": Window, "sender": Sender, "receiver": Receiver, "paths": Paths, "flow": Flow}

subject: Any = None
for text in sys.stdin:
    line = json.loads(text)
    if line["kind"] == "initial":
        subject = PARTS[line["part"]](line)
        answer = subject.output()
    else:
        answer = subject.step(line)
    print(json.dumps(answer), flush=True)
