// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
/*
 * Small packets that leave without a wait: a match of iptables (`-m bpf --object-pinned`) in front of NFQUEUE.
 *
 * Credits pay for full frames, and `clearwayd host` puts what they leave over into a table by host: bytes that small
 * packets to that host may spend. This program spends them in the kernel, so that such a packet does not go through user
 * space. It matches a packet that may leave at once, and counts each other one that NFQUEUE holds, because a packet must
 * not overtake those of its flow that are held.
 *
 * The daemon maps the one entry of `cw_pass` into its memory. Each field says who writes it; src/io/pass.rs has the same
 * structures.
 */
#include "kernel.h"

#define BPF_MAP_TYPE_ARRAY 2
#define BPF_F_MMAPABLE 1024
#define HOSTS 1024
#define FLOWS 4096
/* The places, one after the other, of which a host has one. */
#define PROBES 4

#define ETH_P_IP 0x0008
#define ETH_P_IPV6 0xdd86
#define IPPROTO_TCP 6
#define FIN 1
#define SYN 2
#define RST 4
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

struct table {
	/* The packets that left so, to all hosts (kernel). */
	__u64 passed;
	/* The most bytes on the wire of a small packet (daemon). */
	__u32 small;
	__u32 unused;
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

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const skb_load_bytes)(const void *skb, __u32 offset, void *to, __u32 len) = (void *)26;

/* What the program needs of the headers. */
struct packet {
	__u32 source[4], destination[4];
	__u32 ports;
	__u32 version;
	__u32 len;
	__u32 payload;
	__u32 flags;
	/* The segments that TCP joined, which NFQUEUE parts. */
	__u32 segments;
};

/* Reads the headers. Returns 0 if the packet is no TCP segment. */
INLINE int read(struct __sk_buff *skb, struct packet *packet)
{
	__u8 head[40], tcp[14];
	__u32 headers;

	if (skb->protocol == ETH_P_IP) {
		if (skb_load_bytes(skb, 0, head, 20) || head[9] != IPPROTO_TCP || head[6] & 0x1f || head[7])
			return 0;
		packet->version = 4;
		headers = (head[0] & 0xf) * 4;
		packet->len = head[2] << 8 | head[3];
		packet->source[0] = *(__u32 *)(head + 12);
		packet->destination[0] = *(__u32 *)(head + 16);
	} else if (skb->protocol == ETH_P_IPV6) {
		if (skb_load_bytes(skb, 0, head, 40) || head[6] != IPPROTO_TCP)
			return 0;
		packet->version = 6;
		headers = 40;
		packet->len = (head[4] << 8 | head[5]) + 40;
		__builtin_memcpy(packet->source, head + 8, 16);
		__builtin_memcpy(packet->destination, head + 24, 16);
	} else {
		return 0;
	}
	if (skb_load_bytes(skb, headers, tcp, sizeof(tcp)))
		return 0;
	packet->ports = *(__u32 *)tcp;
	packet->segments = skb->gso_segs ? skb->gso_segs : 1;
	packet->flags = tcp[13];
	headers += (tcp[12] >> 4) * 4;
	packet->payload = packet->len > headers ? packet->len - headers : 0;
	return 1;
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

SEC("socket")
int cw_pass_small(struct __sk_buff *skb)
{
	struct packet packet = {};
	__u32 zero = 0, to, wire;
	struct table *table = map_lookup_elem(&cw_pass, &zero);
	struct flows *flows;
	struct host *host = 0;

	if (!table || !read(skb, &packet) || packet.flags & (SYN | RST) || !(packet.payload || packet.flags & FIN))
		return 0;
	to = of_address(packet.destination);
	flows = &table->flows[mixed(mixed(to, of_address(packet.source)), packet.ports) >> 20];
	wire = packet.len + BESIDE_IP < WIRE_MIN ? WIRE_MIN : packet.len + BESIDE_IP;
	if (packet.flags & FIN || packet.segments > 1 || wire > table->small || flows->held != flows->left)
		goto hold;
	for (__u32 i = 0; i < PROBES && !host; i++) {
		struct host *place = &table->hosts[((to >> 22) + i) & (HOSTS - 1)];

		if (place->version == packet.version && is_same(place->address, packet.destination))
			host = place;
	}
	if (!host)
		goto hold;
	if (__sync_fetch_and_add(&host->allowance, -(__s64)wire) < (__s64)wire) {
		__sync_fetch_and_add(&host->allowance, wire);
		goto hold;
	}
	__sync_fetch_and_add(&host->packets, 1);
	__sync_fetch_and_add(&host->payload, packet.payload);
	__sync_fetch_and_add(&host->wire, wire);
	__sync_fetch_and_add(&table->passed, 1);
	return 1;
hold:
	__sync_fetch_and_add(&flows->held, packet.segments);
	return 0;
}

char _license[] SEC("license") = "GPL";
