//! Cases made by hand, for each of the three transports.

use super::end::{Ack, Ends, Input};
use crate::case::Case;
use clearway_proto::{Endpoint, Header, Packet, Tag};
use clearway_units::Time;

/// The payload of a full packet.
const FULL: u64 = 4_086;
/// A base round trip, about, in picoseconds.
const RTT: u64 = 15_000_000;

/// Begins the recording of a case with a name and a sentence on it.
pub type Begin<'a> = &'a dyn Fn(&str, &str) -> Ends;

/// An acknowledgement of one packet, of whose size all bytes are new.
pub fn ack(next_psn: u32, psn: u32, received_bytes: u32, entropy: u16) -> Ack {
    Ack {
        next_psn,
        psn,
        received_bytes,
        from_psn: psn,
        map: 0,
        pull_quanta: 0,
        marked: false,
        of_repeat: false,
        of_probe: false,
        ends: false,
        entropy,
    }
}

/// The inputs of a case.
pub struct Script {
    pub end: Ends,
    pub now: u64,
}

impl Script {
    pub fn step(&mut self, input: Input) {
        self.end.step(Time::from_ps(self.now), input);
    }

    pub fn write(&mut self, bytes: u64) {
        let random = self.end.subject.offered();
        self.step(Input::Write { bytes, random });
    }

    pub fn close(&mut self) {
        let random = self.end.subject.offered();
        self.step(Input::Close { random });
    }

    /// Asks for a packet of data. Returns the one that leaves.
    pub fn packet(&mut self) -> Option<Packet> {
        let random = self.end.subject.offered();
        self.step(Input::Packet { random });
        self.end.subject.left.take()
    }

    /// Asks for so many packets, or as many as may leave if that is less. Returns the number and the entropy of each.
    pub fn packets(&mut self, most: usize) -> Vec<(u32, u16)> {
        (0..most).map_while(|_| self.packet()).map(|packet| (psn(&packet), entropy(packet.tag()))).collect()
    }

    /// Asks for a request or a probe. Returns the one that leaves.
    pub fn control(&mut self) -> Option<Packet> {
        let random = self.end.subject.offered();
        self.step(Input::Control { random });
        self.end.subject.left.take()
    }

    /// Lets the time come that the end named, if it named one.
    pub fn timer(&mut self) {
        let next = self.end.subject.sender.next_timeout();
        if next != Time::MAX {
            self.now = self.now.max(next.as_ps());
            let random = self.end.subject.offered();
            self.step(Input::Timer { random });
        }
    }
}

/// Returns the number of a packet of data.
pub fn psn(packet: &Packet) -> u32 {
    match packet.header {
        Header::PulledData { psn, .. } | Header::PullRequest { psn, .. } | Header::Probe { psn, .. } => psn,
        _ => unreachable!("a sending end has three kinds of packets"),
    }
}

/// Returns the entropy of a packet.
pub fn entropy(tag: Tag) -> u16 {
    tag.entropy.expect("all packets of a sending end have one")
}

/// Returns the cases of a transport.
pub fn cases(begin: Begin<'_>) -> Vec<Case> {
    let case = |name, about, script: fn(&mut Script)| {
        let mut inputs = Script { end: begin(name, about), now: 0 };
        script(&mut inputs);
        inputs.end.done()
    };
    vec![
        case("short", "A flow of one packet: it leaves, asks for an answer, and is over with that.", |s| {
            s.write(1_000);
            s.close();
            s.packet();
            s.packet();
            s.now = RTT;
            s.step(Input::Ack(ack(1, 0, 1_064, 3)));
        }),
        case(
            "late-end",
            "The end of a flow is told by a packet without data, once nothing else is left.",
            |s| {
                s.write(2 * FULL + 7);
                let sent = s.packets(4);
                s.now = RTT;
                s.step(Input::Ack(ack(3, 2, 8_371, sent[2].1)));
                s.close();
                s.packet();
                s.now += RTT;
                s.timer();
                s.control();
                s.packet();
                s.now += RTT;
                s.step(Input::Ack(Ack { ends: true, of_repeat: true, ..ack(4, 3, 8_435, 1) }));
            },
        ),
        case(
            "first-window",
            "All that may leave before anything is heard, and what answers let follow.",
            |s| {
                s.write(2_000_000);
                let sent = s.packets(200);
                s.packet();
                for (count, &(number, value)) in sent.iter().take(12).enumerate() {
                    s.now = RTT + 332_000 * count as u64;
                    s.step(Input::Ack(ack(number + 1, number, 4_150 * (number + 1), value)));
                    s.step(Input::Pull { pull_quanta: 16 * (count as u32 + 1) });
                    s.packets(2);
                }
            },
        ),
        case(
            "little-room",
            "A window has room for the last packet, which is short, and not for a full one (UE-13).",
            |s| {
                s.write(63 * FULL + 1_000);
                s.close();
                s.packets(65);
            },
        ),
        case(
            "cut",
            "Cut packets are sent again, the lowest number first; a NACK that comes twice says nothing.",
            |s| {
                s.write(20 * FULL);
                s.close();
                let sent = s.packets(20);
                s.now = RTT;
                s.step(Input::Pull { pull_quanta: 64 });
                for (place, last_hop, marked) in
                    [(5, false, false), (2, true, true), (5, true, false), (9, true, false)]
                {
                    let (number, value) = sent[place];
                    s.step(Input::Nack { psn: number, pull_quanta: 128, last_hop, marked, entropy: value });
                    s.now += 1_000_000;
                }
                let again = s.packets(5);
                s.now += RTT;
                let map = 0b10_0010_1111;
                s.step(Input::Ack(Ack {
                    map,
                    from_psn: 3,
                    of_repeat: true,
                    ..ack(3, 2, 45_650, again[0].1)
                }));
                s.step(Input::Ack(ack(2, 1, 41_500, 4)));
                s.step(Input::Ack(ack(20, 19, 83_000, 4)));
            },
        ),
        case("silence", "Nothing is heard: packets are lost one after the other, and again.", |s| {
            s.write(6 * FULL);
            s.close();
            for _ in 0..6 {
                s.packet();
                s.now += 40_000;
            }
            for _ in 0..30 {
                s.timer();
                s.control();
                s.packets(3);
                s.now += 7_000_000;
            }
            s.step(Input::Ack(ack(6, 5, 24_900, 9)));
        }),
        case(
            "wants",
            "A flow that may send nothing and has nothing on its way asks, less and less often.",
            |s| {
                s.write(3_000_000);
                let sent = s.packets(400);
                let (number, value) = *sent.last().expect("some may leave");
                s.now = RTT;
                s.step(Input::Pull { pull_quanta: 0 });
                s.step(Input::Ack(ack(number + 1, number, 4_150 * (number + 1), value)));
                for _ in 0..6 {
                    s.timer();
                    s.control();
                }
                s.step(Input::Pull { pull_quanta: 64 });
                s.packets(5);
            },
        ),
        case(
            "probe",
            "What the first answer wants to know: the round trip of a packet as long as a full one.",
            |s| {
                s.write(500_000);
                let sent = s.packets(30);
                s.now = RTT;
                s.step(Input::Ack(ack(1, 0, 4_150, sent[0].1)));
                let probe = s.control();
                s.now = 2 * RTT - 2_000_000;
                let number = probe.as_ref().map_or(1, psn);
                s.step(Input::Ack(Ack { of_probe: true, ..ack(1, number, 4_150, 5) }));
                s.now += 1_000;
                s.step(Input::Ack(Ack { of_probe: true, ..ack(1, number, 4_150, 5) }));
                s.packets(3);
            },
        ),
        case("marks", "Marked answers steer window and paths.", |s| {
            s.write(4_000_000);
            let mut sent = s.packets(60);
            for round in 0..40u32 {
                let Some(&(number, value)) = sent.get(round as usize) else { break };
                s.now = RTT + 900_000 * u64::from(round);
                let marked = round % 3 > 0;
                s.step(Input::Ack(Ack { marked, ..ack(number + 1, number, 4_150 * (number + 1), value) }));
                s.step(Input::Pull { pull_quanta: 17 * (round + 1) });
                sent.extend(s.packets(2));
            }
        }),
    ]
}
