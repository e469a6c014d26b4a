/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
/* Packets of which the daemon's packet socket hears, and small ones that are counted instead (pass.bpf.c). */
#ifndef CLEARWAY_SEEN_H
#define CLEARWAY_SEEN_H

#include "pass.h"

#define OTHER_HOST 3
#define OUTGOING 4
/* The bytes that the socket gets of a packet: the headers of Ethernet, IPv4 and TCP at their longest. */
#define SNAP_LEN (14 + 60 + 60)
/* One of 128 packets is heard although nothing else calls for it, and one of 4,096 while small packets are counted. */
#define SAMPLED 127
#define SAMPLED_SELDOM 4095

static __u32 (*const random)(void) = (void *)7;

/* Finds the place of the flow that a packet from another host belongs to. */
INLINE struct counted *counted_of(const struct packet *packet, __u32 *at)
{
	__u32 first = mixed(mixed(of_address(packet->destination), of_address(packet->source)), packet->ports) >> 22;

	for (__u32 i = 0; i < PROBES; i++) {
		struct counted *place;

		*at = (first + i) & (COUNTED - 1);
		place = map_lookup_elem(&cw_counted, at);
		if (place && place->version == packet->version && place->ports == packet->ports &&
		    is_same(place->source, packet->source) && is_same(place->destination, packet->destination))
			return place;
	}
	return 0;
}

/* Returns the bytes of a packet that the daemon gets; src/io/filter.rs says what it must see. Of a flow that has a place, small packets
 * without the number of a credit are counted while the daemon looks for them. */
SEC("socket")
int cw_seen(struct __sk_buff *skb)
{
	int is_outgoing = skb->pkt_type == OUTGOING;
	__u32 zero = 0, at = 0, wire;
	struct table *table = map_lookup_elem(&cw_pass, &zero);
	struct packet packet = {};
	struct counted *counted;

	if (!table || skb->pkt_type == OTHER_HOST || !read(skb, ETHERNET, &packet))
		return 0;
	if (packet.version == 6 && !table->ipv6)
		return 0;
	if (packet.flags & (SYN | FIN | RST))
		return SNAP_LEN;
	if (is_outgoing || !packet.payload)
		return random() & (table->counts ? SAMPLED_SELDOM : SAMPLED) ? 0 : SNAP_LEN;
	wire = wire_of(&packet);
	if (!table->counts || packet.class >> 2 == SCHEDULED || wire > table->small)
		return SNAP_LEN;
	counted = counted_of(&packet, &at);
	if (!counted)
		return SNAP_LEN;
	__sync_fetch_and_add(&counted->packets, 1);
	__sync_fetch_and_add(&counted->payload, packet.payload);
	__sync_fetch_and_add(&counted->wire, wire);
	__sync_fetch_and_or(&table->moved_counted[at / 64 & (COUNTED / 64 - 1)], 1ull << (at & 63));
	return 0;
}

#endif
