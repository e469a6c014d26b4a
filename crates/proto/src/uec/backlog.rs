//! What the application has written and the sender has yet to send: messages, each of which ends with a packet.

use crate::endpoint::Framing;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The most bytes on the wire that count as yet to be sent: a flow without end has as many, to which what is lost can be added.
const MOST: u64 = 1 << 62;

/// The messages of a flow, whose sender says how far it has sent them.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Backlog {
    /// The offset after the last byte that was written.
    written: u64,
    /// The messages before the last one, if one was written before the one ahead of it was sent: most flows carry one message.
    ahead: Option<Box<Ahead>>,
}

/// Messages that others follow.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct Ahead {
    /// The offsets after the last bytes of all messages that are not sent in full, but for the last one.
    ends: VecDeque<u64>,
    /// The bytes on the wire of all messages behind the one that is sent now.
    behind: u64,
}

impl Backlog {
    /// Returns the offset after the last byte that was written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds a message, where so much of the flow was sent.
    pub fn write(&mut self, bytes: u64, sent: u64, framing: Framing) {
        if sent < self.written {
            let ahead = self.ahead.get_or_insert_default();
            ahead.ends.push_back(self.written);
            ahead.behind = ahead.behind.saturating_add(on_wire(bytes, framing)).min(MOST);
        }
        self.written = self.written.saturating_add(bytes);
    }

    /// Returns the bytes of the message that is sent now which are yet to be sent, where so much of the flow was.
    #[inline]
    pub fn of_message(&self, sent: u64) -> u64 {
        let end = self.ahead.as_ref().and_then(|ahead| ahead.ends.front()).copied();
        end.unwrap_or(self.written) - sent
    }

    /// Notes that so much of the flow was sent, and no more than the message that is sent now.
    #[inline]
    pub fn send(&mut self, sent: u64, framing: Framing) {
        let Some(ahead) = &mut self.ahead else { return };
        if ahead.ends.front() == Some(&sent) {
            ahead.ends.pop_front();
            let end = ahead.ends.front().copied().unwrap_or(self.written);
            ahead.behind = ahead.behind.saturating_sub(on_wire(end - sent, framing));
        }
    }

    /// Returns the bytes on the wire that are yet to be sent, where so much of the flow was.
    pub fn wire(&self, sent: u64, framing: Framing) -> u64 {
        let behind = self.ahead.as_ref().map_or(0, |ahead| ahead.behind);
        on_wire(self.of_message(sent), framing).saturating_add(behind).min(MOST)
    }

    /// Takes back what was not sent, where so much of the flow was.
    pub fn cut(&mut self, sent: u64) {
        (self.written, self.ahead) = (sent, None);
    }
}

/// Returns the bytes on the wire of so much payload in full packets and one more for the rest.
fn on_wire(bytes: u64, framing: Framing) -> u64 {
    let most = u64::from(framing.payload_max);
    let rest = (bytes % most) as u32;
    let last = if rest > 0 { framing.wire(rest) } else { 0 };
    (bytes / most).saturating_mul(framing.wire_max().into()).saturating_add(last.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAMING: Framing = Framing { payload_max: 1000, overhead: 64, wire_min: 84 };

    #[test]
    fn a_message_ends_with_a_packet_though_another_follows() {
        let mut backlog = Backlog::default();
        backlog.write(1500, 0, FRAMING);
        backlog.write(10, 0, FRAMING);
        assert_eq!((backlog.written(), backlog.of_message(0)), (1510, 1500));
        assert_eq!(backlog.wire(0, FRAMING), 1064 + 564 + 84);
        backlog.send(1000, FRAMING);
        assert_eq!((backlog.of_message(1000), backlog.wire(1000, FRAMING)), (500, 564 + 84));
        backlog.send(1500, FRAMING);
        assert_eq!((backlog.of_message(1500), backlog.wire(1500, FRAMING)), (10, 84));
        // What follows a message that was sent in full has no part in it.
        backlog.send(1510, FRAMING);
        backlog.write(20, 1510, FRAMING);
        assert_eq!((backlog.of_message(1510), backlog.wire(1510, FRAMING)), (20, 84));
        backlog.write(30, 1510, FRAMING);
        backlog.cut(1520);
        assert_eq!((backlog.written(), backlog.of_message(1520), backlog.wire(1520, FRAMING)), (1520, 0, 0));
    }

    #[test]
    fn a_flow_without_end_has_a_bounded_backlog() {
        let mut backlog = Backlog::default();
        backlog.write(u64::MAX, 0, FRAMING);
        assert_eq!(backlog.wire(0, FRAMING), MOST);
        backlog.write(u64::MAX, 0, FRAMING);
        assert_eq!(backlog.wire(5, FRAMING), MOST);
    }

    proptest! {
        /// Messages come while others are sent. What is yet to be sent is at any time the sum over what is left of each.
        #[test]
        fn the_backlog_is_the_sum_over_its_messages(steps in prop::collection::vec((0_u64..4_000, 0_usize..6), 1..40)) {
            let (mut backlog, mut messages, mut sent) = (Backlog::default(), VecDeque::new(), 0);
            for (bytes, packets) in steps {
                if bytes > 0 {
                    backlog.write(bytes, sent, FRAMING);
                    messages.push_back(bytes);
                }
                for _ in 0..packets {
                    let payload = backlog.of_message(sent).min(1000);
                    prop_assert_eq!(payload, messages.front().map_or(0, |&left| left.min(1000)));
                    let Some(left) = messages.front_mut() else { break };
                    *left -= payload;
                    if *left == 0 {
                        messages.pop_front();
                    }
                    sent += payload;
                    backlog.send(sent, FRAMING);
                }
                let all: u64 = messages.iter().map(|&left| on_wire(left, FRAMING)).sum();
                prop_assert_eq!(backlog.wire(sent, FRAMING), all);
            }
        }
    }
}
