"""The page on which runs are seen live: what it is told to show, the file that holds it, and its server.

The page itself is one HTML file, which `make web` builds and wheels contain (`bundle`). `start` says in JSON which
scenarios it shows and writes that into the page; `web/src/start.ts` reads it there. `sources` makes it from scenarios
and result folders, and `server` serves the page and, where the browser would be too slow, the native engine.
"""
