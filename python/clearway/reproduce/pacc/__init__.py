"""Figures of PACC (Zhong et al.: Proactive and Accurate Congestion Feedback for RDMA Congestion Control)."""
