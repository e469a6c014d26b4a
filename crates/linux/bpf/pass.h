/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
/*
 * What the programs of pass.bpf.c share: their tables, and how they read a packet and find its flow.
 *
 * The daemon maps the one entry of `cw_pass` and all of `cw_bulk` into its memory. Each field says who writes it; src/io/pass
 * has the same structures.
 */
#ifndef CLEARWAY_PASS_H
#define CLEARWAY_PASS_H

#include "kernel.h"

#define BPF_MAP_TYPE_ARRAY 2
#define BPF_F_MMAPABLE 1024
#define HOSTS 1024
#define FLOWS 4096
#define BULKS 1024
/* The places, one after the other, of which a host or a flow has one. */
#define PROBES 4
/* The credits that a flow keeps at most. */
#define KEPT 16

#define ETH_P_IP 0x0008
#define ETH_P_IPV6 0xdd86
#define IPPROTO_TCP 6
#define FIN 1
#define SYN 2
#define RST 4
#define ACK 16
#define URG 32
/* The two bytes in front of the fragment's offset: Don't Fragment. */
#define DF 0x40
/* The codepoint of scheduled data. */
#define SCHEDULED 3

#define ETHERNET 14
#define ETH_P_CONTROL 0xb588
/* The versions of control frames of flows over IPv4 and IPv6. */
#define CONTROL_IP 2
#define CONTROL_IPV6 3
#define CREDIT 9
/* What the daemon sends to itself, so that TCP hears of the window as it is. It never leaves the host. */
#define NEWS 255

#define NEXT (-1)
#define DROP 2
#define BPF_F_RECOMPUTE_CSUM 1
#define BPF_F_INGRESS 1
/* The bytes of a frame on the wire besides its IP packet, and those of the smallest frame. */
#define BESIDE_IP 38
#define WIRE_MIN 84

/* The packet as the kernel shows it to a socket filter. These fields are fixed by the kernel's ABI. */
struct __sk_buff {
	__u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
	__u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id, family;
	__u32 remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, data_meta;
	__u64 flow_keys, tstamp;
	__u32 wire_len, gso_segs;
};

/* Another host. */
struct host {
	/* Its address as in the header, with zeroes behind one of IPv4 (daemon). */
	__u32 address[4];
	/* 4 or 6 for the version of IP; 0 if the place is free (daemon). */
	__u32 version;
	__u32 unused;
	/* The bytes on the wire that small packets may spend (both). */
	__s64 allowance;
	/* What left so: packets, bytes of payload, bytes on the wire (kernel). */
	__u64 packets, payload, wire;
};

/* The flows of one place in the table of flows. */
struct flows {
	/* Packets that NFQUEUE was to hold (kernel), and those among them that left (daemon). */
	__u32 held, left;
};

/* A flow whose bulk data leaves in the kernel. */
struct bulk {
	/* Its addresses and ports as in the headers of its data; zeroes stand behind an address of IPv4 (daemon). */
	__u32 source[4], destination[4];
	__u32 ports;
	/* 4 or 6 for the version of IP; 0 if the place is free (daemon). */
	__u32 version;
	/* What its credits must have (daemon). */
	__u64 cookie;
	__u32 session;
	/* The payload of a full segment (daemon). */
	__u32 payload;
	/* The Ethernet address that its credits come from (daemon). */
	__u8 peer[6];
	/* True if scheduled data shall be ECN-capable, and the scale of the other host's windows (daemon). */
	__u8 ecn, scale;
	/* True while credits are taken here (daemon). */
	__u32 is_on;
	/* The credits that are kept at most (daemon). */
	__u32 keep;
	/* The last segment of the other host: whether there was one, its acknowledgement, its end, the window, and the end of the
	 * window of which TCP was told (ingress). */
	__u32 heard, ack, seq, window, told;
	/* The credits that were taken (ingress). */
	__u32 came;
	/* The highest number of a credit, and a bit for each of it and the 63 before that came (daemon at first, then ingress). The
	 * other bits are those of credits that were taken here (ingress). */
	__u64 highest, seen, used;
	/* The time of the last credit in nanoseconds (ingress). */
	__u64 last;
	/* Whether data was sent, and the end of it (match). */
	__u32 sends, sent_to;
	/* The credits that were spent (match), and those whose packet has its number (egress). */
	__u32 taken, stamped;
	/* What left for them: bytes of payload, and on the wire (match). */
	__u64 bytes, wire;
	/* The credits that came again (ingress). */
	__u64 replayed;
	/* The lower 16 bits of the numbers of the newest credits (ingress). */
	__u16 numbers[KEPT];
};

struct table {
	/* The packets that left so, to all hosts (kernel). */
	__u64 passed;
	/* The most bytes on the wire of a small packet and of any that a credit pays for (daemon). */
	__u32 small, frame;
	/* The time until which the daemon is taken to live, in nanoseconds (daemon). */
	__u64 alive;
	/* The changes at flows whose bulk data leaves in the kernel (kernel). */
	__u64 moved;
	struct host hosts[HOSTS];
	struct flows flows[FLOWS];
};

struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_UINT(map_flags, BPF_F_MMAPABLE);
	MAP_TYPE(key, __u32);
	MAP_TYPE(value, struct table);
} cw_pass SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(max_entries, BULKS);
	MAP_UINT(map_flags, BPF_F_MMAPABLE);
	MAP_TYPE(key, __u32);
	MAP_TYPE(value, struct bulk);
} cw_bulk SEC(".maps");

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const skb_load_bytes)(const void *skb, __u32 offset, void *to, __u32 len) = (void *)26;
static __u64 (*const ktime_get_ns)(void) = (void *)5;
static long (*const skb_store_bytes)(void *skb, __u32 offset, const void *from, __u32 len, __u64 flags) = (void *)9;
static long (*const l4_csum_replace)(void *skb, __u32 offset, __u64 from, __u64 to, __u64 flags) = (void *)11;
static long (*const skb_vlan_push)(void *skb, __u16 proto, __u16 tci) = (void *)18;
static long (*const skb_vlan_pop)(void *skb) = (void *)19;
static long (*const redirect)(__u32 ifindex, __u64 flags) = (void *)23;
static __s64 (*const csum_diff)(const void *from, __u32 from_size, const void *to, __u32 to_size, __u32 seed) = (void *)28;
static long (*const skb_change_tail)(void *skb, __u32 len, __u64 flags) = (void *)38;

/* What the programs need of the headers. */
struct packet {
	__u32 source[4], destination[4];
	__u32 ports;
	__u32 version;
	__u32 len;
	__u32 payload;
	__u32 flags;
	/* The segments that TCP joined, which NFQUEUE parts. */
	__u32 segments;
	/* The place of the TCP header, and the bytes of its options. */
	__u32 tcp, options;
	__u32 seq, ack, window;
	/* True if a number of a credit has room in the headers, and the traffic class. */
	__u32 has_place, class;
};

/* Reads the headers, which begin at `base`. Returns 0 if the packet is no TCP segment, is a fragment, or has lengths that contradict
 * each other: what src/wire/segment.rs reads, and nothing else. */
INLINE int read(struct __sk_buff *skb, __u32 base, struct packet *packet)
{
	__u8 head[40], tcp[20];
	__u32 headers;

	if (skb->protocol == ETH_P_IP) {
		if (skb_load_bytes(skb, base, head, 20) || head[9] != IPPROTO_TCP || head[6] & 0x3f || head[7])
			return 0;
		if (head[0] >> 4 != 4 || (head[0] & 0xf) < 5)
			return 0;
		packet->version = 4;
		headers = (head[0] & 0xf) * 4;
		packet->len = head[2] << 8 | head[3];
		packet->source[0] = *(__u32 *)(head + 12);
		packet->destination[0] = *(__u32 *)(head + 16);
		packet->has_place = (head[6] & 0x7f) == DF;
		packet->class = head[1];
	} else if (skb->protocol == ETH_P_IPV6) {
		if (skb_load_bytes(skb, base, head, 40) || head[6] != IPPROTO_TCP || head[0] >> 4 != 6)
			return 0;
		packet->version = 6;
		headers = 40;
		packet->len = (head[4] << 8 | head[5]) + 40;
		__builtin_memcpy(packet->source, head + 8, 16);
		__builtin_memcpy(packet->destination, head + 24, 16);
		packet->class = (head[0] << 4 | head[1] >> 4) & 0xff;
	} else {
		return 0;
	}
	packet->tcp = base + headers;
	if (skb_load_bytes(skb, packet->tcp, tcp, sizeof(tcp)))
		return 0;
	packet->ports = *(__u32 *)tcp;
	packet->seq = __builtin_bswap32(*(__u32 *)(tcp + 4));
	packet->ack = __builtin_bswap32(*(__u32 *)(tcp + 8));
	packet->window = tcp[14] << 8 | tcp[15];
	packet->segments = skb->gso_segs ? skb->gso_segs : 1;
	packet->flags = tcp[13];
	if (packet->version == 6)
		packet->has_place = !(tcp[13] & URG);
	packet->options = (tcp[12] >> 4) * 4 - 20;
	headers += (tcp[12] >> 4) * 4;
	packet->payload = packet->len - headers;
	return tcp[12] >> 4 >= 5 && packet->len >= headers && packet->len <= 0xffff;
}

INLINE __u32 mixed(__u32 hash, __u32 word)
{
	return (hash ^ word) * 0x9e3779b1u;
}

INLINE __u32 of_address(const __u32 *address)
{
	return mixed(mixed(mixed(mixed(0, address[0]), address[1]), address[2]), address[3]);
}

INLINE int is_same(const __u32 *one, const __u32 *two)
{
	return one[0] == two[0] && one[1] == two[1] && one[2] == two[2] && one[3] == two[3];
}

/* The place in the table of flows of a flow between these addresses. */
INLINE struct flows *flows_of(struct table *table, const __u32 *source, const __u32 *destination, __u32 ports)
{
	return &table->flows[mixed(mixed(of_address(destination), of_address(source)), ports) >> 20];
}

/* Finds a flow by its ports and the lower 32 bits of its addresses, which are all that a credit has. A credit must have its cookie, a
 * packet its whole addresses. */
INLINE struct bulk *find(__u32 source, __u32 destination, __u32 ports, __u32 version, const __u64 *cookie,
			 const struct packet *packet, int is_reversed)
{
	__u32 first = mixed(mixed(mixed(0, destination), source), ports) >> 22;

	for (__u32 i = 0; i < PROBES; i++) {
		__u32 at = (first + i) & (BULKS - 1);
		struct bulk *bulk = map_lookup_elem(&cw_bulk, &at);

		if (!bulk || bulk->version != version || bulk->ports != ports)
			continue;
		if (cookie) {
			if (bulk->cookie == *cookie)
				return bulk;
			continue;
		}
		if (is_reversed ? is_same(bulk->source, packet->destination) && is_same(bulk->destination, packet->source)
				: is_same(bulk->source, packet->source) && is_same(bulk->destination, packet->destination))
			return bulk;
	}
	return 0;
}

INLINE __u32 low(__u32 version, const __u32 *address)
{
	return version == 4 ? address[0] : address[3];
}

/* Returns the window that a segment of the other host with this acknowledgement may offer, in its units: up to the end of what was
 * sent and of what credits that are kept will pay for, and not more than it does offer. */
INLINE __u32 granted(const struct bulk *bulk, __u32 ack, __u32 offered)
{
	__s32 room = (__s32)(bulk->sent_to + (bulk->came - bulk->taken) * bulk->payload - ack);
	__u32 scale = bulk->scale & 15, window;

	if (room <= 0)
		return 0;
	window = ((__u32)room + (1u << scale) - 1) >> scale;
	return window < offered ? window : offered;
}

INLINE __u32 wire_of(const struct packet *packet)
{
	return packet->len + BESIDE_IP < WIRE_MIN ? WIRE_MIN : packet->len + BESIDE_IP;
}

#endif
