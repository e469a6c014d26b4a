/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
/*
 * What the programs of pass.bpf.c share: their tables, and how they find the flow of a packet.
 *
 * The daemon maps the one entry of `cw_pass` and all of `cw_bulk` into its memory. Each field says who writes it; src/io/pass
 * has the same structures.
 */
#ifndef CLEARWAY_PASS_H
#define CLEARWAY_PASS_H

#include "packet.h"

#define HOSTS 1024
#define FLOWS 4096
#define BULKS 1024
#define COUNTED 1024
/* The places, one after the other, of which a host or a flow has one. */
#define PROBES 4
/* The credits that a flow keeps at most. */
#define KEPT 16

/* The codepoint of scheduled data. */
#define SCHEDULED 3

#define ETH_P_CONTROL 0xb588
/* The versions of control frames of flows over IPv4 and IPv6. */
#define CONTROL_IP 2
#define CONTROL_IPV6 3
#define CREDIT 9
/* What the kernel does with the credits of a flow: they open its window, or add to what small packets to its host may spend. */
#define BULK 1
#define SMALL 2
/* What the daemon sends to itself, so that TCP hears of the window as it is. It never leaves the host. */
#define NEWS 255

#define BPF_F_RECOMPUTE_CSUM 1
#define BPF_F_INGRESS 1
/* The bytes of a frame on the wire besides its IP packet, and those of the smallest frame. */
#define BESIDE_IP 38
#define WIRE_MIN 84

/* Another host. */
struct host {
	/* Its address as in the header, with zeroes behind one of IPv4 (daemon). */
	__u32 address[4];
	/* 4 or 6 for the version of IP; 0 if the place is free (daemon). */
	__u32 version;
	/* True while credits of flows of small packets add to the allowance here (daemon). */
	__u32 takes;
	/* The bytes on the wire that small packets may spend (both). */
	__s64 allowance;
	/* What left so: packets, bytes of payload, bytes on the wire (kernel). */
	__u64 packets, payload, wire;
	/* The bytes that credits added here (ingress). */
	__u64 added;
};

/* The flows of one place in the table of flows. */
struct flows {
	/* Packets that NFQUEUE was to hold (kernel), and those among them that left (daemon). */
	__u32 held, left;
};

/* A flow from another host, whose small packets are counted. */
struct counted {
	/* Its addresses and ports as in the headers of its data; zeroes stand behind an address of IPv4 (daemon). */
	__u32 source[4], destination[4];
	__u32 ports;
	/* 4 or 6 for the version of IP; 0 if the place is free (daemon). */
	__u32 version;
	/* What came: packets, bytes of payload, bytes on the wire (kernel). */
	__u64 packets, payload, wire;
};

/* A flow whose bulk data leaves in the kernel, or whose credits are for small packets. */
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
	/* BULK or SMALL while credits are taken here, else 0 (daemon). */
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
	/* The credits that added to the allowance of the host (ingress). */
	__u32 added;
	__u32 unused;
	/* The lower 16 bits of the numbers of the newest credits (ingress). */
	__u16 numbers[KEPT];
};

struct table {
	/* The most bytes on the wire of a small packet and of any that a credit pays for (daemon). */
	__u32 small, frame;
	/* The time until which the daemon is taken to live, in nanoseconds (daemon). */
	__u64 alive;
	/* The most bytes on the wire that an allowance may have (daemon). */
	__u32 most;
	/* True while the daemon looks at small packets that were counted, and true if it hears those over IPv6 (daemon). */
	__u32 counts, ipv6;
	/* True if the programs at the NIC tell the daemon of packets, and true while any of them shall wake it (daemon). */
	__u32 hears, wakes;
	__u32 unused[7];
	/* The changes of what small packets to hosts may spend (kernel). It and the next ones change with each packet, so that they are kept
	 * out of the cache line that each packet reads. */
	__u64 spent;
	/* The changes at flows whose bulk data leaves in the kernel (kernel). */
	__u64 moved;
	/* What left because the daemon gave no sign of life: packets, and bytes of payload (kernel). */
	__u64 unwatched, unwatched_payload;
	__u64 unused_too[4];
	/* A bit for each place of a flow of which small packets were counted (kernel; the daemon clears it). */
	__u64 moved_counted[COUNTED / 64];
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

struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(max_entries, COUNTED);
	MAP_UINT(map_flags, BPF_F_MMAPABLE);
	MAP_TYPE(key, __u32);
	MAP_TYPE(value, struct counted);
} cw_counted SEC(".maps");

/* The packets of which the programs at the NIC tell the daemon: some 29,000 of them. */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_RINGBUF);
	MAP_UINT(max_entries, 4 << 20);
} cw_heard SEC(".maps");

/* A byte for each connection that was opened from here or answered. It only wakes the daemon, for which the first ones are enough. */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_RINGBUF);
	MAP_UINT(max_entries, 4096);
} cw_opened SEC(".maps");

/* The place in the table of flows of a flow between these addresses. */
INLINE struct flows *flows_of(struct table *table, const __u32 *source, const __u32 *destination, __u32 ports)
{
	return &table->flows[mixed(mixed(of_address(destination), of_address(source)), ports) >> 20];
}

/* Finds the place of another host. */
INLINE struct host *host_of(struct table *table, __u32 version, const __u32 *address)
{
	__u32 first = of_address(address) >> 22;

	for (__u32 i = 0; i < PROBES; i++) {
		struct host *place = &table->hosts[(first + i) & (HOSTS - 1)];

		if (place->version == version && is_same(place->address, address))
			return place;
	}
	return 0;
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
