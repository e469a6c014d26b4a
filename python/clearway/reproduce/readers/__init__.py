"""Pages for readers: what Clearway reproduces of a paper and what not, in a minute, computed from the records.

`files` gives all of them as texts by their places below a folder of documents: a page for each paper
(`results/<paper>.md`), the board (`results/README.md`), the long table of all claims (`results/all-claims.md`), and the
pictures that these show. They depend on the records alone, so that the same records always give the same texts.
"""

from clearway.reproduce.readers.place import files, left_over, write

__all__ = ["files", "left_over", "write"]
