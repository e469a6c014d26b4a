//! The end of a flow that is closed after its data has left, which a packet without data tells the receiver.

use super::Sender;
use crate::uec::records::State;

/// The receiver has all of the flow, and knows where it ends: a packet without data that was to tell it the end need not leave, or is
/// repeated no more. A repeated packet with data may have told it, and the receiver pulls for a flow no longer that has all.
pub(super) fn take_end(sender: &mut Sender) {
    sender.owes_end = false;
    for place in (0..sender.records.len()).rev() {
        let (payload, size) = (sender.records.bytes(place).1, sender.size(place));
        match sender.records.get(place).1 {
            State::Lost if payload == 0 => sender.lost_bytes -= u64::from(size),
            State::Flying if payload == 0 => sender.in_flight -= i64::from(size),
            _ => continue,
        }
        sender.records.arrive(place);
    }
    sender.records.drop_arrived();
}
