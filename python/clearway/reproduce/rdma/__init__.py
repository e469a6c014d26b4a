"""RDMA and flow control, held against a peer simulator and against what they promise."""
