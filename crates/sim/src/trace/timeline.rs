//! A trace as a Perfetto trace: a track for each flow and each port, with counters of what waits.

use super::entry::{Entry, FlowSpan, Step, Traced, What};
use super::taken::{Trace, credit_of, kind_word};
use crate::ids::{ClassSet, Id};
use clearway_topology::{NodeId, PortId};
use clearway_trace::perfetto::{Named, Note, Track, Unit, Writer};
use clearway_units::Time;
use std::collections::BTreeMap;

/// The tracks of a port.
struct PortTracks {
    /// Transmissions as slices; marks and drops as instants.
    port: Track,
    /// The bytes of data that wait.
    queue: Track,
    /// The number of credits that wait, at ports where any ever waits.
    credits: Option<Track>,
    /// The time for which flow control stops classes, at ports that it stops.
    stopped: Option<Track>,
}

/// The track of the messages of a flow that do not overlap, and the end of the last one.
struct Lane {
    track: Track,
    free: Time,
}

impl Trace {
    /// Returns the trace as a Perfetto trace.
    ///
    /// A flow's track has a slice from its start to the delivery of its last byte, with its marks and drops as instants.
    /// A port's track has a slice for each transmission, from the first bit to the last. The slices of one packet are
    /// linked, so that its way can be followed. Counters show what waits at a port after each event.
    pub fn perfetto(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        let end = self.entries.last().map_or(Time::ZERO, |entry| entry.at);
        let flows = self.flow_tracks(&mut writer, end);
        let ports = self.port_tracks(&mut writer);
        let mut stopped: BTreeMap<PortId, ClassSet> = BTreeMap::new();
        for entry in &self.entries {
            let tracks = &ports[&entry.port];
            writer.count(entry.at, tracks.queue, entry.queued);
            if let Some(credits) = tracks.credits {
                writer.count(entry.at, credits, u64::from(entry.credits));
            }
            match &entry.what {
                What::Packet(traced) => {
                    let flow = flows.get(&(traced.flow.traffic, traced.flow.number)).copied();
                    self.packet(&mut writer, entry, traced, tracks, flow);
                }
                What::Frame { stop, go } => match entry.step {
                    Step::Leaves { done } => {
                        writer.begin(entry.at, tracks.port, "pause frame", &[], None);
                        writer.end(done, tracks.port);
                    }
                    _ => {
                        let now = stopped.entry(entry.port).or_default();
                        let before = std::mem::replace(now, now.or(*stop).without(*go));
                        let track = tracks.stopped.expect("a port that obeys has the track");
                        match (before.is_empty(), now.is_empty()) {
                            (true, false) => writer.begin(entry.at, track, "stopped", &[], None),
                            (false, true) => writer.end(entry.at, track),
                            _ => {}
                        }
                    }
                },
            }
        }
        for (port, _) in stopped.into_iter().filter(|(_, classes)| !classes.is_empty()) {
            writer.end(end, ports[&port].stopped.expect("a port that obeys has the track"));
        }
        writer.finish()
    }

    /// Adds the tracks of flows, with their slices. Messages that overlap on one connection have tracks of their own,
    /// since the slices of a track can only nest.
    fn flow_tracks(&self, writer: &mut Writer, end: Time) -> BTreeMap<(u32, u64), Track> {
        let group = writer.track(None, "flows");
        let mut lanes: BTreeMap<(u32, u64), Vec<Lane>> = BTreeMap::new();
        for FlowSpan { flow, start, end: done, size } in &self.flows {
            let name = self.scene.flow_name(*flow);
            let lanes = lanes.entry((flow.traffic, flow.number)).or_default();
            let until = done.unwrap_or(end).max(*start);
            let lane = match lanes.iter().position(|lane| lane.free <= *start) {
                Some(lane) => lane,
                None => {
                    let track = match lanes.len() {
                        0 => writer.track(Some(group), &name),
                        more => writer.track(Some(group), &format!("{name} ({})", more + 1)),
                    };
                    lanes.push(Lane { track, free: Time::ZERO });
                    lanes.len() - 1
                }
            };
            lanes[lane].free = until;
            let unfinished = if done.is_some() { "" } else { " (unfinished)" };
            let hosts = [("src", flow.src), ("dst", flow.dst)];
            let host =
                |(key, node): (&'static str, NodeId)| (key, Note::Text(self.scene.hosts[&node.0].clone()));
            let mut notes: Vec<Named> = hosts.into_iter().map(host).collect();
            notes.extend(size.map(|size| ("size_bytes", Note::Number(size))));
            writer.begin(*start, lanes[lane].track, &format!("{name}{unfinished}"), &notes, None);
            writer.end(until, lanes[lane].track);
        }
        lanes.into_iter().filter_map(|(flow, lanes)| Some((flow, lanes.first()?.track))).collect()
    }

    fn port_tracks(&self, writer: &mut Writer) -> BTreeMap<PortId, PortTracks> {
        let group = writer.track(None, "ports");
        let mut tracks = BTreeMap::new();
        for (&id, (name, _)) in &self.scene.ports {
            let any = |is: fn(&Entry) -> bool| self.entries.iter().any(|entry| entry.port == id && is(entry));
            let port = writer.track(Some(group), name);
            let queue = writer.counter(Some(port), &format!("{name} queue"), Unit::Bytes);
            let credits = any(|entry| entry.credits > 0)
                .then(|| writer.counter(Some(port), &format!("{name} credits"), Unit::Count));
            let stopped = any(|entry| entry.step == Step::Obeys)
                .then(|| writer.track(Some(port), &format!("{name} stopped")));
            tracks.insert(id, PortTracks { port, queue, credits, stopped });
        }
        tracks
    }

    fn packet(
        &self,
        writer: &mut Writer,
        entry: &Entry,
        traced: &Traced,
        tracks: &PortTracks,
        flow: Option<Track>,
    ) {
        let kind = kind_word(traced.packet.kind());
        let name = format!("{kind} {}", self.scene.flow_name(traced.flow));
        let notes = || notes(traced);
        let port = || ("port", Note::Text(self.scene.ports[&entry.port].0.clone()));
        let mut instant = |word: &str, more: Option<Named>| {
            let all: Vec<Named> = notes().into_iter().chain(more).collect();
            writer.instant(entry.at, tracks.port, &format!("{word} {name}"), &all);
            if let Some(flow) = flow {
                let all: Vec<Named> = all.into_iter().chain([port()]).collect();
                writer.instant(entry.at, flow, &format!("{word} {kind}"), &all);
            }
        };
        match entry.step {
            Step::Marked => instant("mark", None),
            Step::Trimmed => instant("trim", None),
            Step::Dropped(why) => instant("drop", Some(("reason", Note::Text(why.phrase().into())))),
            Step::Leaves { done } => {
                writer.begin(entry.at, tracks.port, &name, &notes(), Some(traced.number));
                writer.end(done, tracks.port);
            }
            // The queue's counter shows those that wait.
            Step::Waits | Step::Obeys => {}
        }
    }
}

/// Returns the remarks on a packet.
fn notes(traced: &Traced) -> Vec<Named> {
    let packet = &traced.packet;
    let mut notes = vec![
        ("packet", Note::Number(traced.number)),
        ("wire_bytes", Note::Number(u64::from(packet.wire))),
        ("class", Note::Number(traced.class.index() as u64)),
    ];
    let fields = [
        ("offset", packet.header.offset()),
        ("ack", packet.header.ack()),
        ("credit", credit_of(&packet.header)),
    ];
    notes.extend(fields.into_iter().filter_map(|(name, value)| Some((name, Note::Number(value?)))));
    notes
}
