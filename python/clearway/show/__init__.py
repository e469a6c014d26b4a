"""Pictures and summaries of networks: what `clearway show` draws and prints.

| module | purpose |
|---|---|
| `graph` | the nodes and links of a scenario's network, and the paths of a pair |
| `folding` | which nodes are drawn one by one, and which stand together as one box |
| `layout` | where each box stands |
| `svg` | the picture |
| `summary` | the text |
"""
