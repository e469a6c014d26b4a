"""Pictures and summaries of networks, as `clearway show` draws and prints them.

| module | purpose |
|---|---|
| `graph` | the nodes and links of a scenario's network, and the paths of a pair |
| `folding` | the boxes: nodes drawn one by one, or several together |
| `layout` | the place of each box |
| `svg` | the picture |
| `summary` | the text |
"""
