"""ExpressPass as first published, at HotNets 2016 (E16)."""
