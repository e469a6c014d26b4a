// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
/*
 * ECN marking at the port of an ExpressPass switch made by `clearwayd switch`: a classifier for clsact egress.
 *
 * The program sees each packet before the port's queue does. It marks a packet that takes part in ECN with CE if more
 * than K packets wait in the data queue already, as the marker of the simulator does, and keeps the counters that
 * traffic control lacks. The data queue is the qdisc 20: of the port, a pfifo under the HTB class of data; credits
 * wait elsewhere. K is the minor number of the filter's class id (`classid :K` in hexadecimal), which the kernel copies
 * into each packet's `tc_classid`. 0xffff stands for a port that marks nothing and only counts.
 */
#include "kernel.h"

#define DATA_QUEUE 0x00200000u
#define NEVER 0xffffu
#define TC_ACT_OK 0
/* Qdiscs that share a bucket of the device's hash table. A port of ours has three. */
#define CHAIN_MAX 16

#define BPF_MAP_TYPE_PERCPU_ARRAY 6

/* The packet as the kernel shows it to a classifier. Its fields up to tc_classid are fixed by the kernel's ABI. */
struct __sk_buff {
	__u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
	__u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid;
};

struct hlist_node {
	struct hlist_node *next;
} RELOCATED;

struct hlist_head {
	struct hlist_node *first;
} RELOCATED;

struct qdisc_skb_head {
	__u32 qlen;
} RELOCATED;

struct gnet_stats_queue {
	__u32 backlog;
} RELOCATED;

struct Qdisc {
	struct hlist_node hash;
	__u32 handle;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} RELOCATED;

struct net_device {
	struct hlist_head qdisc_hash[16];
} RELOCATED;

struct sk_buff {
	struct net_device *dev;
} RELOCATED;

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const skb_ecn_set_ce)(struct __sk_buff *skb) = (void *)97;

extern void *bpf_cast_to_kern_ctx(void *) KSYM;
extern void *bpf_rdonly_cast(void *, __u32) KSYM;

/* What the program counted on one CPU. */
struct counters {
	/* Packets marked with CE here, and packets that arrived with CE and met a queue longer than K. */
	__u64 marked;
	/* Packets that met a queue longer than K and take no part in ECN. */
	__u64 not_capable;
	/* The most packets, and the most bytes, that waited in the data queue when a packet arrived. */
	__u64 packets_max;
	__u64 bytes_max;
};

struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, __u32);
	MAP_TYPE(value, struct counters);
} cw_counters SEC(".maps");

/* The bucket of a handle in the device's hash table of 16 (hash_32 of the kernel). */
INLINE __u32 bucket(__u32 handle)
{
	return handle * 0x61C88647u >> 28;
}

/* The qdisc that holds the waiting data, or NULL. */
INLINE struct Qdisc *data_queue(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct hlist_node *node = skb->dev->qdisc_hash[bucket(DATA_QUEUE)].first;

	for (int i = 0; i < CHAIN_MAX && node; i++) {
		void *start = (void *)node - KERNEL_OFFSET(struct Qdisc, hash);
		struct Qdisc *qdisc = bpf_rdonly_cast(start, KERNEL_TYPE(struct Qdisc));

		if (qdisc->handle == DATA_QUEUE)
			return qdisc;
		node = qdisc->hash.next;
	}
	return 0;
}

SEC("tc")
int cw_ecn(struct __sk_buff *ctx)
{
	__u32 threshold = ctx->tc_classid, zero = 0, packets, bytes;
	struct counters *counters = map_lookup_elem(&cw_counters, &zero);
	struct Qdisc *queue = data_queue(ctx);

	if (!queue || !counters)
		return TC_ACT_OK;
	packets = queue->q.qlen;
	bytes = queue->qstats.backlog;
	if (packets > counters->packets_max)
		counters->packets_max = packets;
	if (bytes > counters->bytes_max)
		counters->bytes_max = bytes;
	if (threshold != NEVER && packets > threshold) {
		if (skb_ecn_set_ce(ctx))
			counters->marked++;
		else
			counters->not_capable++;
	}
	return TC_ACT_OK;
}

/* The kernel lends its own functions (bpf_rdonly_cast) to programs under a licence compatible with the GPL only. */
char _license[] SEC("license") = "GPL";
