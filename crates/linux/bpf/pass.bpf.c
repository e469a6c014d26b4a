// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
/*
 * Packets that leave without a wait in user space: a match of iptables (`-m bpf --object-pinned`) in front of NFQUEUE.
 *
 * Credits pay for full frames, and `clearwayd host` puts what they leave over into a table by host: bytes that small
 * packets to that host may spend. This program spends them in the kernel, so that such a packet does not go through user
 * space. It matches a packet that may leave at once, and counts each other one that NFQUEUE holds, because a packet must
 * not overtake those of its flow that are held. A second after the last sign of the daemon it lets all packets leave.
 *
 * Bulk data of a flow that has many credits waits in its socket instead, where TCP's own window holds it. `cw_bulk_in`, at the
 * ingress of the NIC, turns a credit into an acknowledgement that opens the window by one full segment, and lowers the windows of
 * those that the other host sends. The match lets a packet leave that a credit pays for, and `cw_bulk_out`, at the egress, writes
 * the number of the credit into it. What no credit pays for, such as a packet that TCP repeats, goes to NFQUEUE; as long as one
 * of the flow is held, the daemon gets the credits.
 *
 * Of a flow of small packets, `cw_bulk_in` adds its credits to what small packets to the host may spend, unless one of them is held.
 * `cw_credits_in` does only that, where bulk data stays with the daemon.
 * The programs at the NIC, to which `cw_small_out` belongs, tell the daemon of the packets that it must hear of, and count small ones
 * instead while the daemon looks at these counts. Where the NIC takes no programs, `cw_seen` does so at the daemon's packet socket.
 */
#include "bulk.h"
#include "seen.h"

SEC("socket")
int cw_pass_small(struct __sk_buff *skb)
{
	struct packet packet = {};
	__u32 zero = 0, wire, end;
	struct table *table = map_lookup_elem(&cw_pass, &zero);
	struct flows *flows;
	struct host *host;
	struct bulk *bulk;

	if (!table || !read(skb, 0, &packet) || packet.flags & (SYN | RST) || !(packet.payload || packet.flags & FIN))
		return 0;
	flows = flows_of(table, packet.source, packet.destination, packet.ports);
	wire = wire_of(&packet);
	bulk = find(low(packet.version, packet.source), low(packet.version, packet.destination), packet.ports,
		    packet.version, 0, &packet, 0);
	if (bulk) {
		end = packet.seq + packet.payload + (packet.flags & FIN);
		if (!bulk->sends || (__s32)(end - bulk->sent_to) > 0)
			bulk->sent_to = end;
		bulk->sends = 1;
	}
	/* While the daemon gives no sign of life, nobody would release what is held. */
	if (ktime_get_ns() > table->alive) {
		__sync_fetch_and_add(&table->unwatched, packet.segments);
		__sync_fetch_and_add(&table->unwatched_payload, packet.payload);
		return 1;
	}
	if (packet.flags & FIN || packet.segments > 1 || flows->held != flows->left)
		goto hold;
	if (wire > table->small) {
		if (!bulk || bulk->is_on != BULK || !packet.has_place || wire > table->frame || bulk->came == bulk->taken)
			goto hold;
		/* A packet that came no further than this has no number, and shall leave the next one's alone. */
		bulk->stamped = bulk->taken;
		bulk->bytes += packet.payload;
		bulk->wire += wire;
		bulk->taken++;
		__sync_fetch_and_add(&table->moved, 1);
		return 1;
	}
	host = host_of(table, packet.version, packet.destination);
	if (!host)
		goto hold;
	if (__sync_fetch_and_add(&host->allowance, -(__s64)wire) < (__s64)wire) {
		__sync_fetch_and_add(&host->allowance, wire);
		goto hold;
	}
	__sync_fetch_and_add(&host->packets, 1);
	__sync_fetch_and_add(&host->payload, packet.payload);
	__sync_fetch_and_add(&host->wire, wire);
	__sync_fetch_and_add(&table->spent, 1);
	return 1;
hold:
	__sync_fetch_and_add(&flows->held, packet.segments);
	return 0;
}

SEC("classifier")
int cw_bulk_in(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct table *table = map_lookup_elem(&cw_pass, &zero);

	if (!table)
		return NEXT;
	if (skb->protocol == ETH_P_CONTROL)
		return on_control(skb, table);
	/* The daemon hears of the packet as it came. */
	hear(skb, table, 0);
	return on_segment(skb, table);
}

SEC("classifier")
int cw_credits_in(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct table *table = map_lookup_elem(&cw_pass, &zero);

	if (!table)
		return NEXT;
	if (skb->protocol == ETH_P_CONTROL)
		return on_control(skb, table);
	hear(skb, table, 0);
	return NEXT;
}

SEC("classifier")
int cw_small_out(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct table *table = map_lookup_elem(&cw_pass, &zero);

	if (table && skb->protocol != ETH_P_CONTROL)
		hear(skb, table, 1);
	return NEXT;
}

/* Writes the number of the credit that a packet spends into its headers, as src/wire/stamp.rs does. */
SEC("classifier")
int cw_bulk_out(struct __sk_buff *skb)
{
	struct packet packet = {};
	__u32 zero = 0, class;
	struct table *table = map_lookup_elem(&cw_pass, &zero);
	struct bulk *bulk;
	__u16 number, old;
	__u8 head[12];

	if (!table)
		return NEXT;
	if (skb->protocol == ETH_P_CONTROL) {
		if (skb_load_bytes(skb, 15, head, 1) || head[0] != NEWS)
			return NEXT;
		return redirect(skb->ifindex, BPF_F_INGRESS);
	}
	hear(skb, table, 1);
	if (!read(skb, ETHERNET, &packet) || !packet.payload || wire_of(&packet) <= table->small || !packet.has_place)
		return NEXT;
	bulk = find(low(packet.version, packet.source), low(packet.version, packet.destination), packet.ports,
		    packet.version, 0, &packet, 0);
	if (!bulk || bulk->stamped == bulk->taken || packet.class >> 2 == SCHEDULED)
		return NEXT;
	number = __builtin_bswap16(bulk->numbers[bulk->stamped & (KEPT - 1)]);
	bulk->stamped = bulk->taken;
	class = SCHEDULED << 2 | (packet.class & 3);
	if (bulk->ecn && !(packet.class & 3))
		class |= 2;
	if (skb_load_bytes(skb, ETHERNET, head, sizeof(head)))
		return NEXT;
	if (packet.version == 4) {
		__u32 sum = (__u16)~*(__u16 *)(head + 10);
		__u16 first;

		__builtin_memcpy(&first, head, 2);
		__builtin_memcpy(&old, head + 4, 2);
		sum += (__u16)~first + (__u32)(__u16)~old;
		head[1] = class;
		__builtin_memcpy(head + 4, &number, 2);
		__builtin_memcpy(&first, head, 2);
		sum += first + (__u32)number;
		old = folded(sum);
		__builtin_memcpy(head + 10, &old, 2);
		skb_store_bytes(skb, ETHERNET, head, sizeof(head), 0);
		return NEXT;
	}
	head[0] = 6 << 4 | class >> 4;
	head[1] = (class & 15) << 4 | (head[1] & 15);
	skb_store_bytes(skb, ETHERNET, head, 2, 0);
	if (skb_load_bytes(skb, packet.tcp + 18, &old, 2))
		return NEXT;
	if (!l4_csum_replace(skb, packet.tcp + 16, old, number, 2))
		skb_store_bytes(skb, packet.tcp + 18, &number, 2, 0);
	return NEXT;
}

char _license[] SEC("license") = "GPL";
