/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
/* Credits that become room in the window of TCP (pass.bpf.c). */
#ifndef CLEARWAY_BULK_H
#define CLEARWAY_BULK_H

#include "pass.h"

INLINE __u16 folded(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* A TCP header without options, and what its checksum covers besides. */
struct acknowledgement {
	__u32 source[4], destination[4];
	__u32 len, protocol;
	__u32 ports, seq, ack;
	__u8 offset, flags;
	__u16 window, checksum, urgent;
};

/* Makes a pure acknowledgement of the other host of a control frame, with the window `window`. */
INLINE int made(struct __sk_buff *skb, const struct bulk *bulk, __u32 window)
{
	int is_six = bulk->version == 6;
	__u32 ip_len = is_six ? 40 : 20;
	struct acknowledgement tcp = {
		.len = __builtin_bswap32(20),
		.protocol = __builtin_bswap32(IPPROTO_TCP),
		.ports = bulk->ports << 16 | bulk->ports >> 16,
		.seq = __builtin_bswap32(bulk->seq),
		.ack = __builtin_bswap32(bulk->ack),
		.offset = 5 << 4,
		.flags = ACK,
		.window = __builtin_bswap16(window),
	};
	__u8 head[2 + 40] = {};

	__builtin_memcpy(tcp.source, bulk->destination, 16);
	__builtin_memcpy(tcp.destination, bulk->source, 16);
	tcp.checksum = folded(csum_diff(0, 0, &tcp, sizeof(tcp), 0));
	if (is_six) {
		*(__u16 *)head = ETH_P_IPV6;
		head[2] = 6 << 4;
		head[7] = 20;
		head[8] = IPPROTO_TCP;
		head[9] = 255;
		__builtin_memcpy(head + 10, tcp.source, 16);
		__builtin_memcpy(head + 26, tcp.destination, 16);
	} else {
		*(__u16 *)head = ETH_P_IP;
		head[2] = 4 << 4 | 5;
		head[5] = 40;
		head[8] = DF;
		head[10] = 255;
		head[11] = IPPROTO_TCP;
		__builtin_memcpy(head + 14, tcp.source, 4);
		__builtin_memcpy(head + 18, tcp.destination, 4);
		__u32 ip[5];
		__builtin_memcpy(ip, head + 2, 20);
		__u16 sum = folded(csum_diff(0, 0, ip, 20, 0));
		__builtin_memcpy(head + 12, &sum, 2);
	}
	/* The kernel takes the protocol of a packet from its header only where it removes a tag of a VLAN. So two tags come and go:
	 * the first one moves into the packet with the second one. */
	if (skb_change_tail(skb, ETHERNET + ip_len + 20, 0))
		return DROP;
	if (is_six ? skb_store_bytes(skb, 12, head, 42, BPF_F_RECOMPUTE_CSUM)
		   : skb_store_bytes(skb, 12, head, 22, BPF_F_RECOMPUTE_CSUM))
		return DROP;
	if (skb_store_bytes(skb, ETHERNET + ip_len, &tcp.ports, 20, BPF_F_RECOMPUTE_CSUM))
		return DROP;
	if (skb_vlan_push(skb, 0x0081, 1) || skb_vlan_push(skb, 0x0081, 1) || skb_vlan_pop(skb) || skb_vlan_pop(skb))
		return DROP;
	return NEXT;
}

/* Records the number of a credit. Returns 0 if it came before, or is too old to tell. */
INLINE int is_new(struct bulk *bulk, __u64 number)
{
	__u64 step = number - bulk->highest, age = bulk->highest - number, bit;

	if ((__s64)step > 0) {
		bulk->seen = step < 64 ? bulk->seen << step | 1 : 1;
		bulk->used = step < 64 ? bulk->used << step : 0;
		bulk->highest = number;
		return 1;
	}
	bit = age < 64 ? 1ull << age : 0;
	if (!bit || bulk->seen & bit)
		return 0;
	bulk->seen |= bit;
	return 1;
}

INLINE int is_from(const struct bulk *bulk, const __u8 *address)
{
	__u32 differs = 0;

	for (__u32 i = 0; i < 6; i++)
		differs |= bulk->peer[i] ^ address[i];
	return !differs;
}

/* Adds a credit to what small packets to the host may spend, or lets the daemon have it. */
INLINE int to_allowance(struct table *table, struct bulk *bulk, __u64 number, __u64 now)
{
	struct flows *flows = flows_of(table, bulk->source, bulk->destination, bulk->ports);
	struct host *host = host_of(table, bulk->version, bulk->destination);
	__s64 frame = table->frame, over;

	if (!host || !host->takes || flows->held != flows->left)
		return NEXT;
	over = __sync_fetch_and_add(&host->allowance, frame) + frame - (__s64)table->most;
	if (over > frame)
		over = frame;
	if (over > 0)
		__sync_fetch_and_add(&host->allowance, -over);
	else
		over = 0;
	__sync_fetch_and_add(&host->added, frame - over);
	__sync_fetch_and_add(&table->spent, 1);
	bulk->used |= 1ull << ((bulk->highest - number) & 63);
	bulk->last = now;
	__sync_fetch_and_add(&bulk->added, 1);
	__sync_fetch_and_add(&table->moved, 1);
	return DROP;
}

/* Takes a credit, or lets the daemon have it. */
INLINE int on_control(struct __sk_buff *skb, struct table *table)
{
	__u8 frame[60];
	__u64 cookie, number, now = ktime_get_ns();
	__u32 source, destination, ports, session, window;
	struct flows *flows;
	struct bulk *bulk;

	if (skb->pkt_type || skb_load_bytes(skb, 0, frame, sizeof(frame)))
		return NEXT;
	if ((frame[15] != CREDIT && frame[15] != NEWS) || (frame[14] != CONTROL_IP && frame[14] != CONTROL_IPV6))
		return NEXT;
	__builtin_memcpy(&session, frame + 18, 4);
	__builtin_memcpy(&source, frame + 22, 4);
	__builtin_memcpy(&destination, frame + 26, 4);
	__builtin_memcpy(&ports, frame + 30, 4);
	__builtin_memcpy(&cookie, frame + 34, 8);
	__builtin_memcpy(&number, frame + 42, 8);
	number = __builtin_bswap64(number);
	cookie = __builtin_bswap64(cookie);
	bulk = find(source, destination, ports, frame[14] == CONTROL_IP ? 4 : 6, &cookie, 0, 0);
	if (!bulk || (bulk->is_on != SMALL && (!bulk->heard || !bulk->sends)))
		return NEXT;
	if (frame[15] == NEWS) {
		if (bulk->is_on == SMALL)
			return NEXT;
		window = bulk->window >> (bulk->scale & 15);
		if (bulk->is_on)
			window = granted(bulk, bulk->ack, window);
		return made(skb, bulk, window);
	}
	if (!bulk->is_on || now > table->alive || __builtin_bswap32(session) != bulk->session ||
	    !is_from(bulk, frame + 6))
		return NEXT;
	if (!is_new(bulk, number)) {
		bulk->replayed++;
		return DROP;
	}
	if (bulk->is_on == SMALL)
		return to_allowance(table, bulk, number, now);
	flows = flows_of(table, bulk->source, bulk->destination, ports);
	if (flows->held != flows->left || bulk->came - bulk->taken >= bulk->keep)
		return NEXT;
	bulk->numbers[bulk->came & (KEPT - 1)] = number;
	bulk->used |= 1ull << ((bulk->highest - number) & 63);
	bulk->last = now;
	__sync_fetch_and_add(&bulk->came, 1);
	__sync_fetch_and_add(&table->moved, 1);
	window = granted(bulk, bulk->ack, bulk->window >> (bulk->scale & 15));
	/* An acknowledgement that opens nothing would look like a duplicate. */
	if ((__s32)(bulk->ack + (window << (bulk->scale & 15)) - bulk->told) <= 0)
		return DROP;
	bulk->told = bulk->ack + (window << (bulk->scale & 15));
	return made(skb, bulk, window);
}

/* Returns 1 if a segment may have a signature, which covers its window: other options in front than timestamps or selective
 * acknowledgements. */
INLINE int is_signed(struct __sk_buff *skb, const struct packet *packet)
{
	__u8 options[3];

	if (!packet->options)
		return 0;
	if (skb_load_bytes(skb, packet->tcp + 20, options, sizeof(options)))
		return 1;
	return options[0] != 1 || options[1] != 1 || (options[2] != 8 && options[2] != 5);
}

/* Lowers the window of a segment of the other host to what credits grant. */
INLINE int on_segment(struct __sk_buff *skb, struct table *table)
{
	struct packet packet = {};
	struct bulk *bulk;
	__u32 window;
	__u16 from, to;

	if (!read(skb, ETHERNET, &packet) || !(packet.flags & ACK) || packet.flags & (SYN | RST))
		return NEXT;
	/* TCP does not get what is cut off. */
	if (ETHERNET + packet.len > skb->len)
		return NEXT;
	bulk = find(low(packet.version, packet.destination), low(packet.version, packet.source),
		    packet.ports << 16 | packet.ports >> 16, packet.version, 0, &packet, 1);
	if (!bulk)
		return NEXT;
	/* Whoever doesn't see the flow can't guess an acknowledgement that counts. */
	if (bulk->sends && ((__s32)(bulk->sent_to - packet.ack) < 0 ||
			    (bulk->heard && (__s32)(packet.ack - bulk->ack) < 0)))
		return NEXT;
	if (bulk->is_on == BULK && is_signed(skb, &packet)) {
		bulk->heard = 0;
		return NEXT;
	}
	bulk->ack = packet.ack;
	bulk->seq = packet.seq + packet.payload + (packet.flags & FIN);
	bulk->window = packet.window << (bulk->scale & 15);
	bulk->heard = 1;
	if (bulk->is_on != BULK || !bulk->sends || ktime_get_ns() > table->alive)
		return NEXT;
	window = granted(bulk, packet.ack, packet.window);
	bulk->told = packet.ack + (window << (bulk->scale & 15));
	if (window == packet.window)
		return NEXT;
	from = __builtin_bswap16(packet.window);
	to = __builtin_bswap16(window);
	if (!l4_csum_replace(skb, packet.tcp + 16, from, to, 2))
		skb_store_bytes(skb, packet.tcp + 14, &to, 2, 0);
	return NEXT;
}

#endif
