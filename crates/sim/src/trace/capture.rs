//! A trace as a pcapng file: a frame for each packet that leaves a port or is dropped there.

use super::entry::{Entry, Step, Traced, What};
use super::taken::Trace;
use crate::ids::{ClassId, ClassSet, Id};
use crate::net::DropReason;
use clearway_proto::Extra;
use clearway_topology::PortId;
use clearway_trace::frame::{self, FlowId, Frame, Passage};
use clearway_trace::pcapng::{Record, Writer};
use std::collections::BTreeMap;

impl Trace {
    /// Returns the trace as a pcapng file. `scenario` names the scenario in it.
    ///
    /// Every port of the trace is an interface. A packet has a record at each port that it leaves, at the time of its
    /// first bit. A mark is a remark on that record; a packet that is dropped while it waits, or instead of waiting, has
    /// a record that says so. Arrivals in queues have no record, since they would show a packet twice.
    pub fn pcapng(&self, scenario: &str) -> Vec<u8> {
        let mut writer = Writer::new(concat!("Clearway ", env!("CARGO_PKG_VERSION")), &self.remark(scenario));
        let mut interfaces = BTreeMap::new();
        for (&port, (name, link)) in &self.scene.ports {
            let description = format!("{} over {}", link.rate, link.delay);
            interfaces.insert(port, writer.interface(name, &description, link.rate));
        }
        let hosts = self.scene.hosts.iter();
        writer.names(hosts.map(|(number, name)| (frame::host_ip(*number), name.as_str())));
        let mut marked: BTreeMap<(u64, PortId), String> = BTreeMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let interface = interfaces[&entry.port];
            let mut comments = Vec::new();
            let (frame, number, class) = match &entry.what {
                What::Packet(traced) => {
                    let here = (traced.number, entry.port);
                    match entry.step {
                        Step::Marked => {
                            let remark = format!("marked here (ECN CE): {} B of data wait", entry.queued);
                            marked.insert(here, remark);
                            continue;
                        }
                        Step::Trimmed => {
                            let remark = format!("cut here to its header: {} B of data wait", entry.queued);
                            marked.insert(here, remark);
                            continue;
                        }
                        Step::Waits | Step::Obeys => continue,
                        Step::Dropped(DropReason::Loss) if self.leaves_before(index) => continue,
                        Step::Dropped(why) => comments.push(dropped(why, entry)),
                        Step::Leaves { .. } => {}
                    }
                    comments.extend(marked.remove(&here));
                    if self.is_lost_next(index) {
                        comments.push(dropped(DropReason::Loss, entry));
                    }
                    (self.frame(traced), traced.number, traced.class)
                }
                What::Frame { stop, go } => {
                    if entry.step == Step::Obeys {
                        continue;
                    }
                    comments.push(format!("stops {}, lets {} go on", classes(*stop), classes(*go)));
                    let bytes = frame::pause(self.scene.ports[&entry.port].1.from.0, bits(*stop), bits(*go));
                    (Frame { length: bytes.len(), bytes }, 0, ClassId::FIRST)
                }
            };
            writer.packet(&Record {
                interface,
                at: entry.at,
                frame: &frame,
                number,
                class: class.index() as u32,
                comments: &comments,
            });
        }
        writer.finish()
    }

    fn remark(&self, scenario: &str) -> String {
        let kept = format!("Trace {} of {scenario:?}: {} events", self.name, self.entries.len());
        match self.left_out {
            0 => kept,
            more => format!("{kept}, and {more} later ones beyond its limit, which were left out"),
        }
    }

    fn frame(&self, traced: &Traced) -> Frame {
        let whose = traced.flow;
        let flow = frame::Flow {
            family: self.scene.traffic[whose.traffic as usize].1,
            id: FlowId { traffic: whose.traffic as u16, number: whose.number as u32 },
            src: whose.src.0,
            dst: whose.dst.0,
        };
        let passage = Passage {
            number: traced.number,
            hops_left: traced.hops_left,
            payload_max: self.scene.framing.payload_max,
        };
        frame::frame(&traced.packet, traced.extra.as_deref().unwrap_or(&Extra::None), &flow, &passage)
    }

    /// Returns whether the entry before is that of the same packet that leaves the same port: a link loses a packet in
    /// the instant in which it leaves.
    fn leaves_before(&self, index: usize) -> bool {
        let before = index.checked_sub(1).map(|before| &self.entries[before]);
        before
            .is_some_and(|before| matches!(before.step, Step::Leaves { .. }) && self.is_lost_next(index - 1))
    }

    /// Returns whether the packet of an entry is lost on the link right afterwards.
    fn is_lost_next(&self, index: usize) -> bool {
        let (entry, next) = (&self.entries[index], self.entries.get(index + 1));
        let number = |entry: &Entry| entry.what.packet().map(|traced| traced.number);
        let is_same = |next: &Entry| next.port == entry.port && number(next) == number(entry);
        matches!(entry.step, Step::Leaves { .. })
            && next.is_some_and(|next| next.step == Step::Dropped(DropReason::Loss) && is_same(next))
    }
}

fn dropped(why: DropReason, entry: &Entry) -> String {
    let waiting = match why {
        DropReason::Credit => format!("{} credits wait", entry.credits),
        _ => format!("{} B of data wait", entry.queued),
    };
    format!("dropped here ({}): {waiting}", why.phrase())
}

/// Classes as words, such as "classes 0, 2".
fn classes(set: ClassSet) -> String {
    if set.is_empty() {
        return "none".into();
    }
    let numbers: Vec<String> = set.iter().map(|class| class.index().to_string()).collect();
    format!("class {}", numbers.join(", "))
}

fn bits(set: ClassSet) -> u64 {
    set.iter().map(|class| 1 << class.index()).sum()
}
