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
 *
 * The window is ours alone (cong_control), and nothing that ssthresh or undo_cwnd return is trusted to arrive: on a busy
 * machine with Linux 6.18, some calls of a program came back with an address of the kernel instead of its result, a few
 * times in a minute, and the kernel's own reduction of the window (PRR) then opened it without end.
 */
#include "kernel.h"

/* The estimate of the share of marked packets is a fraction of this. */
#define ONE (1u << 20)
/* The weight of the newest window in the estimate is 2^-4, the RFC's g = 1/16. */
#define G_SHIFT 4
#define CWND_MIN 2
/* No threshold, as the kernel writes it. */
#define INFINITE 0x7fffffffu

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
	/* Bytes a second; the kernel holds both in a long. */
	__u64 sk_pacing_rate;
	__u64 sk_max_pacing_rate;
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
	__u32 mss_cache;
	/* The smoothed round-trip time, in eighths of a microsecond. */
	__u32 srtt_us;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 rcv_nxt;
	__u32 snd_cwnd_clamp;
	__u32 high_seq;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 delivered;
	__u32 delivered_ce;
} RELOCATED;

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	void (*cong_control)(struct sock *sk);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
};

static long (*const tcp_send_ack)(void *tp, __u32 rcv_nxt) = (void *)116;

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
	/* The congestion window before the last cut, and after the last acknowledgement. */
	__u32 cwnd_before;
	__u32 cwnd;
	/* The slow start threshold. */
	__u32 ssthresh;
	/* The end of the data that was under way at the last cut, by which the kernel knows one reduction from another. */
	__u32 high_seq;
	/* The packets delivered at the last acknowledgement, and those that count for the next step of the window. */
	__u32 delivered_last;
	__u32 towards_step;
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
	ca->cwnd = 0;
	ca->ssthresh = INFINITE;
	ca->high_seq = tp->snd_una;
	ca->delivered_last = tp->delivered;
	ca->towards_step = 0;
	ca->plain = !(tp->ecn_flags & TCP_ECN_OK) && tcp_state != TCP_LISTEN && tcp_state != TCP_CLOSE;
	begin_window(tp, ca);
	return 0;
}

/* The window after a mark, cut by alpha / 2 (sec. 3.3), or by half if the connection is without ECN. */
INLINE __u32 after_mark(struct dctcp *ca, __u32 cwnd)
{
	__u32 alpha = ca->plain ? ONE : ca->alpha;

	return at_least_two(cwnd - (__u32)((__u64)cwnd * alpha / (2 * ONE)));
}

/* The kernel asks for a threshold whenever it starts a reduction; cong_control makes the cut. */
SEC("struct_ops/ssthresh")
int cw_dctcp_ssthresh(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];

	return after_mark(state(tp), tp->snd_cwnd);
}

/*
 * The rate by which TCP small queues limit what a connection hands to the NIC: two windows a round trip in slow start, 1.2
 * after it, as the kernel sets it. It leaves that to whoever has cong_control, and a connection without a rate hands over
 * all of its window.
 */
INLINE void set_pacing_rate(struct tcp_sock *tp, __u32 cwnd, __u32 ssthresh)
{
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;
	__u64 percent = cwnd < ssthresh / 2 ? 200 : 120;
	__u64 packets = cwnd > tp->packets_out ? cwnd : tp->packets_out;
	__u64 rate = (__u64)tp->mss_cache * packets * percent * (8 * 1000000 / 100);
	__u64 most = sk->sk_max_pacing_rate;

	if (tp->srtt_us)
		rate /= tp->srtt_us;
	sk->sk_pacing_rate = rate < most ? rate : most;
}

/*
 * The congestion window after an acknowledgement. The kernel has decided before whether a mark or a loss starts a
 * reduction; each has a high_seq of its own.
 */
SEC("struct_ops/cong_control")
int cw_dctcp_cong_control(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct dctcp *ca = state(tp);
	__u8 phase = tp->inet_conn.icsk_ca_state;
	__u32 most = ca->cwnd > ca->cwnd_before ? ca->cwnd : ca->cwnd_before;
	__u32 acked = tp->delivered - ca->delivered_last;
	__u32 cwnd = tp->snd_cwnd, in_flight;

	/* Since the last acknowledgement the kernel may have shrunk the window, or undone a cut; it grows here only. */
	if (most && cwnd > most)
		cwnd = most;
	ca->delivered_last = tp->delivered;
	in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	if (phase == TCP_CA_CWR || phase == TCP_CA_RECOVERY) {
		if (ca->high_seq != tp->high_seq) {
			ca->high_seq = tp->high_seq;
			ca->cwnd_before = cwnd;
			cwnd = phase == TCP_CA_CWR ? after_mark(ca, cwnd) : at_least_two(cwnd / 2);
			ca->ssthresh = cwnd;
			ca->towards_step = 0;
		}
	} else if (cwnd < ca->ssthresh) {
		/* Slow start, as long as half of the window was used at least (RFC 2861). */
		if (cwnd < 2 * (in_flight + acked))
			cwnd = cwnd + acked < ca->ssthresh ? cwnd + acked : ca->ssthresh;
	} else if (in_flight + acked >= cwnd) {
		/* Congestion avoidance: a packet for each window of acknowledged packets (RFC 5681). */
		ca->towards_step += acked;
		if (ca->towards_step >= cwnd) {
			ca->towards_step -= cwnd;
			cwnd++;
		}
	}
	if (cwnd > tp->snd_cwnd_clamp)
		cwnd = tp->snd_cwnd_clamp;
	ca->cwnd = cwnd;
	tp->snd_cwnd = cwnd;
	tp->snd_ssthresh = ca->ssthresh;
	set_pacing_rate(tp, cwnd, ca->ssthresh);
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
		/* A timeout: the kernel begins anew with a packet, up to half of the window (sec. 3.5). */
		struct dctcp *ca = state(tp);

		ca->cwnd_before = tp->snd_cwnd;
		ca->ssthresh = at_least_two(tp->snd_cwnd / 2);
		ca->towards_step = 0;
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

SEC("struct_ops/undo_cwnd")
int cw_dctcp_undo_cwnd(__u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct dctcp *ca = state(tp);

	if (ca->ssthresh < ca->cwnd_before)
		ca->ssthresh = ca->cwnd_before;
	return ca->cwnd_before > tp->snd_cwnd ? ca->cwnd_before : tp->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops cw_dctcp = {
	.init = (void *)cw_dctcp_init,
	.ssthresh = (void *)cw_dctcp_ssthresh,
	.cong_control = (void *)cw_dctcp_cong_control,
	.cwnd_event = (void *)cw_dctcp_cwnd_event,
	.in_ack_event = (void *)cw_dctcp_in_ack_event,
	.undo_cwnd = (void *)cw_dctcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "cw_dctcp",
};

/* The kernel takes congestion controls under a licence compatible with the GPL only. */
char _license[] SEC("license") = "GPL";
