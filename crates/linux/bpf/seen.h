/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
/* Packets of which the daemon hears, and small ones that are counted instead (pass.bpf.c). */
#ifndef CLEARWAY_SEEN_H
#define CLEARWAY_SEEN_H

#include "pass.h"

#define OTHER_HOST 3
#define OUTGOING 4
/* The bytes that the daemon gets of a packet: the headers of Ethernet, IPv4 and TCP at their longest. */
#define SNAP_LEN (14 + 60 + 60)
/* One of 128 packets is heard although nothing else calls for it, and one of 4,096 while small packets are counted. */
#define SAMPLED 127
#define SAMPLED_SELDOM 4095

static __u32 (*const random)(void) = (void *)7;
static void *(*const ringbuf_reserve)(void *ring, __u64 size, __u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *data, __u64 flags) = (void *)132;
static void (*const ringbuf_discard)(void *data, __u64 flags) = (void *)133;

/* What the daemon gets of a packet where programs at the NIC tell of it; src/io/pass/heard.rs reads it. */
struct heard {
	__u8 is_outgoing, len;
	__u8 bytes[SNAP_LEN];
};

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

/* Returns true if the daemon must hear of a packet, whose headers `packet` gets; src/io/filter.rs says what it must see. Of a flow that
 * has a place, small packets without the number of a credit are counted while the daemon looks for them. */
INLINE int is_chosen(struct __sk_buff *skb, struct table *table, int is_outgoing, struct packet *packet)
{
	__u32 at = 0, wire;
	struct counted *counted;

	if (skb->pkt_type == OTHER_HOST || !read(skb, ETHERNET, packet))
		return 0;
	if (packet->version == 6 && !table->ipv6)
		return 0;
	if (packet->flags & (SYN | FIN | RST))
		return 1;
	if (is_outgoing || !packet->payload)
		return !(random() & (table->counts ? SAMPLED_SELDOM : SAMPLED));
	wire = wire_of(packet);
	if (!table->counts || packet->class >> 2 == SCHEDULED || wire > table->small)
		return 1;
	counted = counted_of(packet, &at);
	if (!counted)
		return 1;
	__sync_fetch_and_add(&counted->packets, 1);
	__sync_fetch_and_add(&counted->payload, packet->payload);
	__sync_fetch_and_add(&counted->wire, wire);
	__sync_fetch_and_or(&table->moved_counted[at / 64 & (COUNTED / 64 - 1)], 1ull << (at & 63));
	return 0;
}

/* Tells the daemon of a packet at the NIC, if it must hear of it and hears by this way. It is woken if it waits for any packet, and by a
 * connection that is opened from here or answered. */
INLINE void hear(struct __sk_buff *skb, struct table *table, int is_outgoing)
{
	struct packet packet = {};
	struct heard *heard;
	__u8 *opened;
	__u32 len;

	if (!table->hears || !is_chosen(skb, table, is_outgoing, &packet))
		return;
	/* What finds no room is lost, as with a packet socket. */
	heard = ringbuf_reserve(&cw_heard, sizeof(*heard), 0);
	if (!heard)
		return;
	len = skb->len;
	if (len > SNAP_LEN)
		len = SNAP_LEN;
	heard->is_outgoing = is_outgoing;
	heard->len = len;
	if (!len || skb_load_bytes(skb, 0, heard->bytes, len)) {
		ringbuf_discard(heard, BPF_RB_NO_WAKEUP);
		return;
	}
	ringbuf_submit(heard, table->wakes ? 0 : BPF_RB_NO_WAKEUP);
	if (!is_outgoing || !(packet.flags & SYN))
		return;
	opened = ringbuf_reserve(&cw_opened, 1, 0);
	if (opened)
		ringbuf_submit(opened, 0);
}

/* Returns the bytes of a packet that the daemon's packet socket gets, where no programs are at the NIC. */
SEC("socket")
int cw_seen(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct table *table = map_lookup_elem(&cw_pass, &zero);
	struct packet packet = {};

	return table && is_chosen(skb, table, skb->pkt_type == OUTGOING, &packet) ? SNAP_LEN : 0;
}

#endif
