//! Mailboxes: what parts of the network send each other while they go on beside each other.
//!
//! There is one for each pair of parts. A part posts its outboxes there once it has come to a time, tells the others that it has, and
//! each of these collects what came for it before it goes on itself. Boxes change places, so that nothing is copied.

use super::exchange::{Batch, Exchange};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The mailboxes of all pairs of parts.
pub struct Mailboxes {
    parts: usize,
    /// The mailbox of what each part sends to each other, by the one that sends and the one that receives.
    boxes: Vec<Mailbox>,
}

/// The mailbox of a pair, which shares no cache line with another one.
#[repr(align(128))]
#[derive(Default)]
struct Mailbox {
    /// Set if anything is in the batch.
    is_full: AtomicBool,
    batch: Mutex<Batch>,
}

impl Mailboxes {
    /// Empty mailboxes between so many parts.
    pub fn new(parts: usize) -> Mailboxes {
        Mailboxes { parts, boxes: (0..parts * parts).map(|_| Mailbox::default()).collect() }
    }

    /// Posts what is in the outboxes of the part `from`.
    pub fn post(&self, from: usize, exchange: &mut Exchange) {
        if !std::mem::take(&mut exchange.has_sent) {
            return;
        }
        let row = &self.boxes[from * self.parts..][..self.parts];
        for (mailbox, outbox) in row.iter().zip(&mut exchange.outboxes) {
            if !outbox.items.is_empty() {
                mailbox.batch.lock().unwrap_or_else(PoisonError::into_inner).take_over(outbox);
                mailbox.is_full.store(true, Ordering::Release);
            }
        }
    }

    /// Collects what came for the part `to`, for its inboxes.
    pub fn collect(&self, to: usize, exchange: &mut Exchange) {
        for from in 0..self.parts {
            let mailbox = &self.boxes[from * self.parts + to];
            if mailbox.is_full.load(Ordering::Acquire) {
                let mut batch = mailbox.batch.lock().unwrap_or_else(PoisonError::into_inner);
                mailbox.is_full.store(false, Ordering::Relaxed);
                exchange.take_in(from, &mut batch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Id, PartId};
    use crate::net::exchange::{Crossing, Handover};
    use crate::net::flow_control::Frame;
    use clearway_topology::PortId;
    use clearway_units::{Span, Time};

    fn send(from: &mut Exchange, to: usize, ns: u64) {
        let what = Crossing::Frame(PortId(0), Frame::default());
        let at = Time::ZERO + Span::from_ns(ns);
        from.outbox(PartId::from_index(to)).push(Handover { port: PortId(0), at, what });
    }

    fn came(exchange: &Exchange, from: usize) -> Vec<u64> {
        exchange.inboxes[from].items.iter().map(|item| item.at.as_ps() / 1000).collect()
    }

    #[test]
    fn what_is_posted_comes_once_in_its_order_to_the_part_for_which_it_is() {
        let mail = Mailboxes::new(3);
        let mut parts = [3, 3, 3].map(Exchange::new);
        send(&mut parts[0], 2, 50);
        send(&mut parts[0], 2, 40);
        send(&mut parts[1], 2, 70);
        mail.post(0, &mut parts[0]);
        mail.post(1, &mut parts[1]);
        // More is posted before the first was collected.
        send(&mut parts[0], 2, 60);
        mail.post(0, &mut parts[0]);
        mail.collect(1, &mut parts[1]);
        mail.collect(2, &mut parts[2]);
        assert_eq!((came(&parts[2], 0), came(&parts[2], 1)), (vec![50, 40, 60], vec![70]));
        assert_eq!(parts[2].first, Some(Time::ZERO + Span::from_ns(40)));
        assert!(came(&parts[1], 0).is_empty() && parts[1].first.is_none());
        assert!(parts[0].outboxes.iter().all(|outbox| outbox.items.is_empty()) && !parts[0].has_sent);
        parts[2].inboxes.iter_mut().for_each(|inbox| inbox.items.clear());
        mail.collect(2, &mut parts[2]);
        assert!(came(&parts[2], 0).is_empty(), "it was collected before");
    }
}
