"""Figures of PAC (Bai et al.: Taming TCP Incast Congestion using Proactive ACK Control)."""
