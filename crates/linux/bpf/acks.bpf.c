// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
/*
 * Acknowledgements that wait for PAC without a trip of each through NFQUEUE: two programs at the NIC (TCX), and a ring in memory
 * that they share with `clearwayd pac`.
 *
 * `cw_acks_in` writes the headers of arriving data, and of what opens or ends a connection, into the ring. `cw_acks_out` takes the
 * pure acknowledgements of connections that have brought data, and answers to a SYN, off their way: each goes into the ring as a
 * whole, and the daemon sends it when PAC's controller releases it. What the programs write wakes the daemon only if it sleeps
 * until then, so that a wake-up serves many packets.
 *
 * Packets pass if the daemon has not said lately that it lives, if the ring is full, and if the daemon has sent them itself.
 */
#include "packet.h"

#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define OTHER_HOST 3
/* The bytes of the ring: a quarter of a second of what 10 connections bring at 1 Gbit/s. */
#define RING (4 << 20)
/* The places for connections. Several may share one: the daemon lets pass what is none of its own. */
#define PLACES 65536
/* The headers at their longest: Ethernet, IPv4 and TCP. */
#define FRAME 134

/* What a record tells of: a segment that came, one that left, and one that was taken. */
#define CAME 1
#define LEFT 2
#define TAKEN 3

/* One entry, which the daemon maps into its memory. Each field says who writes it; src/io/acks has the same structure. */
struct table {
	/* The time until which the daemon is taken to live, in nanoseconds (daemon). */
	__u64 alive;
	/* The time without data, in nanoseconds, after which acknowledgements of a connection pass (daemon). */
	__u64 idle;
	/* The mark of packets that the daemon sends (daemon). */
	__u32 mark;
	/* True if answers to a SYN are taken too (daemon). */
	__u32 takes_syn_acks;
	/* True while the daemon sleeps until something is written (daemon and programs). */
	__u32 sleeps;
	__u32 unused;
	/* What did not go into the full ring: acknowledgements, which passed, and segments, of which the daemon does not know (programs). */
	__u64 passed, missed;
};

struct record {
	__u8 kind;
	/* The bytes of the frame that follow. */
	__u8 len;
	__u8 frame[FRAME];
};

struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_UINT(map_flags, BPF_F_MMAPABLE);
	MAP_TYPE(key, __u32);
	MAP_TYPE(value, struct table);
} cw_acks SEC(".maps");

/* The time of the last data of a connection with this place. */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(max_entries, PLACES);
	MAP_TYPE(key, __u32);
	MAP_TYPE(value, __u64);
} cw_acks_data SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_RINGBUF);
	MAP_UINT(max_entries, RING);
} cw_acks_ring SEC(".maps");

static void *(*const ringbuf_reserve)(void *ring, __u64 size, __u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *record, __u64 flags) = (void *)132;
static void (*const ringbuf_discard)(void *record, __u64 flags) = (void *)133;

/* Returns the time of the last data of a connection that comes from `source`. */
INLINE __u64 *data_of(const __u32 *source, const __u32 *destination, __u32 ports)
{
	__u32 at = mixed(mixed(of_address(destination), of_address(source)), ports) >> 16;

	return map_lookup_elem(&cw_acks_data, &at);
}

/* Writes the first bytes of a packet into the ring. Returns 0 if there is no room. */
INLINE int write(struct __sk_buff *skb, struct table *table, __u8 kind, __u32 len)
{
	struct record *record;
	void *bell;

	if (len < 1 || len > FRAME)
		return 0;
	record = ringbuf_reserve(&cw_acks_ring, sizeof(*record), 0);
	if (!record)
		return 0;
	record->kind = kind;
	record->len = len;
	if (skb_load_bytes(skb, 0, record->frame, len)) {
		ringbuf_discard(record, BPF_RB_NO_WAKEUP);
		return 0;
	}
	ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	/* The record is there before this is read, and the daemon looks for records after it has written this. */
	if (table->sleeps && __sync_lock_test_and_set(&table->sleeps, 0)) {
		bell = ringbuf_reserve(&cw_acks_ring, 8, 0);
		if (bell)
			ringbuf_discard(bell, BPF_RB_FORCE_WAKEUP);
	}
	return 1;
}

INLINE __u32 headers(const struct packet *packet)
{
	return packet->tcp + 20 + packet->options;
}

SEC("classifier")
int cw_acks_in(struct __sk_buff *skb)
{
	struct packet packet = {};
	__u32 zero = 0;
	struct table *table = map_lookup_elem(&cw_acks, &zero);
	__u64 *data;

	if (!table || skb->pkt_type == OTHER_HOST || skb->vlan_present || !read(skb, ETHERNET, &packet))
		return NEXT;
	if (!packet.payload && !(packet.flags & (SYN | FIN | RST)))
		return NEXT;
	if (packet.payload) {
		data = data_of(packet.source, packet.destination, packet.ports);
		if (data)
			*data = ktime_get_ns();
	}
	if (!write(skb, table, CAME, headers(&packet)))
		__sync_fetch_and_add(&table->missed, 1);
	return NEXT;
}

SEC("classifier")
int cw_acks_out(struct __sk_buff *skb)
{
	struct packet packet = {};
	__u32 zero = 0, flags;
	struct table *table = map_lookup_elem(&cw_acks, &zero);
	__u64 *data, now = ktime_get_ns();
	int is_taken;

	if (!table || skb->mark == table->mark || skb->vlan_present || !read(skb, ETHERNET, &packet))
		return NEXT;
	flags = packet.flags & (SYN | FIN | RST | ACK);
	if (flags == ACK) {
		if (packet.payload)
			return NEXT;
		data = data_of(packet.destination, packet.source, packet.ports << 16 | packet.ports >> 16);
		if (!data || !*data || now - *data > table->idle)
			return NEXT;
		is_taken = 1;
	} else {
		is_taken = flags == (SYN | ACK) && !packet.payload && table->takes_syn_acks;
		if (!(packet.flags & (SYN | FIN | RST)))
			return NEXT;
	}
	/* What is longer than its headers tell is not taken, since the daemon would send the headers alone. */
	if (now > table->alive || skb->len != headers(&packet))
		is_taken = 0;
	if (!is_taken) {
		if (flags != ACK && !write(skb, table, LEFT, headers(&packet)))
			__sync_fetch_and_add(&table->missed, 1);
		return NEXT;
	}
	if (!write(skb, table, TAKEN, headers(&packet))) {
		__sync_fetch_and_add(&table->passed, 1);
		return NEXT;
	}
	/* There is no NIC 0, so the kernel frees the packet. Unlike a drop, that doesn't tell TCP of a full queue. */
	return redirect(0, 0);
}

char _license[] SEC("license") = "GPL";
