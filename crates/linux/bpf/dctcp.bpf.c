// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
/*
 * DCTCP (RFC 8257) as a congestion control of the kernel's TCP, under the name cw_dctcp, for kernels without one.
 *
 *   bpftool struct_ops register dctcp.bpf.o
 *   sysctl net.ipv4.tcp_congestion_control=cw_dctcp        (in each network namespace; or setsockopt TCP_CONGESTION)
 *   bpftool struct_ops unregister name cw_dctcp
 *
 * The parts of the RFC, by section: the echo of marks by the receiver (3.2), the estimate alpha (3.3), the cut of the
 * congestion window by alpha / 2 (3.3), and loss as in conventional TCP (3.5), which is Reno here.
 *
 * Deviations: marks are counted in packets instead of bytes (the kernel's own DCTCP does so too), and packets of a
 * connection whose peer refuses ECN still say that they take part in it, because a BPF program can't take that back.
 */
#include "kernel.h"

/* The estimate of the share of marked packets is a fraction of this. */
#define ONE (1u << 20)
/* The weight of the newest window in the estimate is 2^-4, the RFC's g = 1/16. */
#define G_SHIFT 4
#define CWND_MIN 2

#define TCP_CLOSE 7
#define TCP_LISTEN 10
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

enum tcp_ca_event {
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

#define TCP_CA_CWR 2
#define TCP_CA_RECOVERY 3

struct sock_common {
	unsigned char skc_state;
} RELOCATED;

struct sock {
	struct sock_common __sk_common;
} RELOCATED;

struct inet_sock {
	struct sock sk;
} RELOCATED;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state: 5;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
} RELOCATED;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u8 ecn_flags;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 rcv_nxt;
	__u32 delivered;
	__u32 delivered_ce;
} RELOCATED;

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
};

static long (*const tcp_send_ack)(void *tp, __u32 rcv_nxt) = (void *)116;

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) KSYM;

/* The state of a connection, in the room that its socket has for congestion control. */
struct dctcp {
	/* The estimate of the share of marked packets, as a fraction of ONE. */
	__u32 alpha;
	/* The end of the observation window: once this byte is acknowledged, the window is over. */
	__u32 window_end;
	/* The packets delivered, and those delivered with a mark, when the window began. */
	__u32 delivered;
	__u32 delivered_ce;
	/* The byte expected next when the last packet of data came (receiver). */
	__u32 rcv_nxt;
	/* True if the last packet of data carried CE (receiver; DCTCP.CE of the RFC). */
	__u32 ce;
	/* The congestion window before the last cut. */
	__u32 cwnd_before;
	/* True if the peer takes no part in ECN, so that this is Reno. */
	__u32 plain;
};

INLINE struct dctcp *state(struct tcp_sock *tp)
{
	return (struct dctcp *)tp->inet_conn.icsk_ca_priv;
}

INLINE void begin_window(struct tcp_sock *tp, struct dctcp *ca)
{
	ca->window_end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

INLINE __u32 at_least_two(__u32 cwnd)
{
	return cwnd < CWND_MIN ? CWND_MIN : cwnd;
}

SEC("struct_ops/init")
int cw_dctcp_init(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct dctcp *ca = state(tp);
	__u8 tcp_state = tp->inet_conn.icsk_inet.sk.__sk_common.skc_state;

	/* Until the first window is over, a mark halves the window (RFC 8257, sec. 3.3: alpha begins at 1). */
	ca->alpha = ONE;
	ca->rcv_nxt = tp->rcv_nxt;
	ca->ce = 0;
	ca->cwnd_before = 0;
	ca->plain = !(tp->ecn_flags & TCP_ECN_OK) && tcp_state != TCP_LISTEN && tcp_state != TCP_CLOSE;
	begin_window(tp, ca);
	return 0;
}

/* The window after a mark, cut by alpha / 2 (sec. 3.3), or by half if the connection is without ECN. */
INLINE __u32 after_mark(struct tcp_sock *tp)
{
	struct dctcp *ca = state(tp);
	__u32 cwnd = tp->snd_cwnd;
	__u32 alpha = ca->plain ? ONE : ca->alpha;

	ca->cwnd_before = cwnd;
	return at_least_two(cwnd - (__u32)((__u64)cwnd * alpha / (2 * ONE)));
}

SEC("struct_ops/ssthresh")
int cw_dctcp_ssthresh(__u64 *ctx)
{
	return after_mark((void *)ctx[0]);
}

/* A loss halves the window, whatever alpha is (sec. 3.5). */
INLINE void after_loss(struct tcp_sock *tp)
{
	struct dctcp *ca = state(tp);

	ca->cwnd_before = tp->snd_cwnd;
	tp->snd_ssthresh = at_least_two(tp->snd_cwnd / 2);
}

/*
 * The kernel has just asked for ssthresh, and enters the state in which it reduces the window. On a busy machine with
 * Linux 6.18 it was seen, a few times in a minute, with an address as the threshold instead of what ssthresh had
 * returned, so that the window became endless. So the threshold is written once more here.
 */
SEC("struct_ops/set_state")
int cw_dctcp_set_state(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	__u8 new_state = ctx[1];

	if (tp->inet_conn.icsk_ca_state == new_state)
		return 0;
	if (new_state == TCP_CA_CWR)
		tp->snd_ssthresh = after_mark(tp);
	else if (new_state == TCP_CA_RECOVERY)
		after_loss(tp);
	return 0;
}

/* The receiver says in each acknowledgement whether the packets that it acknowledges were marked (sec. 3.2). */
INLINE void echo(struct tcp_sock *tp, __u32 ce)
{
	if (ce)
		tp->ecn_flags = tp->ecn_flags | TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags = tp->ecn_flags & ~TCP_ECN_DEMAND_CWR;
}

/* A packet of data came, with or without CE: the state machine of fig. 1 of the RFC. */
INLINE void data_came(struct tcp_sock *tp, __u32 ce)
{
	struct dctcp *ca = state(tp);

	if (ca->ce != ce) {
		/* Packets that wait for a delayed acknowledgement came with the old state and are acknowledged with it. */
		if (tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, ca->ce);
			tcp_send_ack(tp, ca->rcv_nxt);
		}
		tp->inet_conn.icsk_ack.pending = tp->inet_conn.icsk_ack.pending | ICSK_ACK_NOW;
	}
	ca->rcv_nxt = tp->rcv_nxt;
	ca->ce = ce;
	echo(tp, ce);
}

SEC("struct_ops/cwnd_event")
int cw_dctcp_cwnd_event(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	__u32 event = ctx[1];

	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE) {
		if (!state(tp)->plain)
			data_came(tp, event == CA_EVENT_ECN_IS_CE);
	} else if (event == CA_EVENT_LOSS) {
		after_loss(tp);
	}
	return 0;
}

/* Once in each window of data: alpha = (1 - g) alpha + g M, M being the share of marked packets (sec. 3.3). */
SEC("struct_ops/in_ack_event")
int cw_dctcp_in_ack_event(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct dctcp *ca = state(tp);
	__u32 delivered, marked, alpha;

	if ((__s32)(tp->snd_una - ca->window_end) < 0)
		return 0;
	delivered = tp->delivered - ca->delivered;
	marked = tp->delivered_ce - ca->delivered_ce;
	if (delivered) {
		alpha = ca->alpha - (ca->alpha >> G_SHIFT);
		alpha += (__u32)((__u64)marked * (ONE >> G_SHIFT) / delivered);
		ca->alpha = alpha > ONE ? ONE : alpha;
	}
	begin_window(tp, ca);
	return 0;
}

SEC("struct_ops/cong_avoid")
int cw_dctcp_cong_avoid(__u64 *ctx)
{
	tcp_reno_cong_avoid((void *)ctx[0], ctx[1], ctx[2]);
	return 0;
}

SEC("struct_ops/undo_cwnd")
int cw_dctcp_undo_cwnd(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	__u32 before = state(tp)->cwnd_before;

	return before > tp->snd_cwnd ? before : tp->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops cw_dctcp = {
	.init = (void *)cw_dctcp_init,
	.ssthresh = (void *)cw_dctcp_ssthresh,
	.cong_avoid = (void *)cw_dctcp_cong_avoid,
	.set_state = (void *)cw_dctcp_set_state,
	.cwnd_event = (void *)cw_dctcp_cwnd_event,
	.in_ack_event = (void *)cw_dctcp_in_ack_event,
	.undo_cwnd = (void *)cw_dctcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "cw_dctcp",
};

/* The kernel lends its own functions (tcp_reno_cong_avoid) to programs under a licence compatible with the GPL only. */
char _license[] SEC("license") = "GPL";
