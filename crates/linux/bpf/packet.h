/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
/* How the programs at a NIC read a packet, and the helpers of the kernel that they call. */
#ifndef CLEARWAY_PACKET_H
#define CLEARWAY_PACKET_H

#include "kernel.h"

#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_MMAPABLE 1024
#define BPF_RB_NO_WAKEUP 1

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
#define ETHERNET 14

#define NEXT (-1)
#define DROP 2

/* The packet as the kernel shows it to a socket filter. These fields are fixed by the kernel's ABI. */
struct __sk_buff {
	__u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
	__u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id, family;
	__u32 remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, data_meta;
	__u64 flow_keys, tstamp;
	__u32 wire_len, gso_segs;
};

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

#endif
