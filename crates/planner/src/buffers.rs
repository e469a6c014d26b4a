//! How much data can wait at a port under credits: the network calculus of ExpressPass (SIGCOMM '17, sec. 3.1, eq. (1)).
//!
//! Data leaves port `p` towards a neighbour because credits came from there. Credits came no faster than their rate
//! limit allows, so data would never wait if each answer took equally long. It does not: the delay from a credit to
//! its data spreads over `spread(p)`, and so much time's worth of data can come at once. The spread follows from those
//! of the ports that feed `p`, down to the hosts:
//!
//! ```text
//! spread(p) = max over q of (credit queue to q + t(p, q) + most(q) + wait(q)) - min over q of (t(p, q) + least(q))
//! ```
//!
//! with `least(q)` and `most(q)` the bounds of the delay at `q`, and `wait(q)` the longest that data waits there. The
//! paper prints one symbol for both ends of the delay and leaves the form of `wait(q)` open (E17-12), so there are
//! three readings: [`Reading`].

use crate::feeds::{Cycle, Feeds};
use clearway_proto::Framing;
use clearway_proto::port::CreditShaping;
use clearway_topology::{PortId, Topology};
use clearway_units::{Rate, Span};
use std::ops::{Add, Sub};

/// How eq. (1) is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// A: the delay at the next port counts with its least value at both places; data waits nowhere on the way.
    Least,
    /// B: the delay counts with its greatest value within the maximum, and data waits for `spread(q)` besides, except
    /// at hosts. The printed Table 1 doubles the spread at each hop in the same way.
    Greatest,
    /// What no run of the simulator may exceed: B, with what eq. (1) leaves out as terms of their own.
    Safe,
}

/// What the bounds depend on besides the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// Most credits that wait at a port.
    pub credit_queue: u32,
    /// The rate limit of credits.
    pub shaping: CreditShaping,
    /// Least and largest size of a credit on the wire, in bytes; sizes between are equally likely.
    pub credit_sizes: (u32, u32),
    /// Smallest frame on the wire, in bytes.
    pub wire_min: u32,
    /// Least and greatest time from the arrival of a credit at a host to its data.
    pub host_delay: (Span, Span),
    /// Time that a switch takes for a frame, besides the links.
    pub switch_delay: Span,
    /// Flows that start or end through one port while it is busy without a break: each costs [`CONTROL_FRAMES`].
    pub flows: u32,
    /// How long a port may be busy without a break, for credits of random sizes.
    pub busy: Span,
    /// Whether a host's card serves its flows by turns, as the simulator's does, or all frames in order.
    pub turns: bool,
}

impl Parameters {
    /// Those of the paper's Table 1: 8 credits of 84 B, hosts that spread over 5.1 us.
    pub const PAPER: Parameters = Parameters {
        credit_queue: 8,
        shaping: CreditShaping::PAPER,
        credit_sizes: (84, 84),
        wire_min: Framing::ETHERNET.wire_min,
        host_delay: (Span::ZERO, Span::from_ns(5_100)),
        switch_delay: Span::ZERO,
        flows: 16,
        busy: Span::from_ms(10),
        turns: true,
    };
}

/// Frames other than data that one flow puts into the data queues of one direction: a request and a stop, each once
/// repeated (or, the other way, the answers to them).
pub const CONTROL_FRAMES: u32 = 4;
/// The bound for credits of random sizes may fail in a busy period with this probability.
pub const RISK: f64 = 1e-6;

/// A sum of delays in seconds, by cause.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Terms {
    /// Credits wait for their rate limit.
    pub credit_queue: f64,
    /// Propagation, transmission and switching: paths differ in length.
    pub path: f64,
    /// Hosts differ in how fast they answer.
    pub host: f64,
    /// Data waits at the ports before.
    pub data_queue: f64,
    /// What eq. (1) leaves out: a credit waits for the frame on the wire, full and small frames differ in transmission.
    pub frames: f64,
}

impl Terms {
    /// All together.
    pub fn total(&self) -> f64 {
        self.credit_queue + self.path + self.host + self.data_queue + self.frames
    }
}

impl Add for Terms {
    type Output = Terms;
    fn add(self, other: Terms) -> Terms {
        Terms {
            credit_queue: self.credit_queue + other.credit_queue,
            path: self.path + other.path,
            host: self.host + other.host,
            data_queue: self.data_queue + other.data_queue,
            frames: self.frames + other.frames,
        }
    }
}

impl Sub for Terms {
    type Output = Terms;
    fn sub(self, other: Terms) -> Terms {
        Terms {
            credit_queue: self.credit_queue - other.credit_queue,
            path: self.path - other.path,
            host: self.host - other.host,
            data_queue: self.data_queue - other.data_queue,
            frames: self.frames - other.frames,
        }
    }
}

/// The bound of one port.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    /// Least delay from a credit to its data, in seconds.
    pub least: f64,
    /// How far the delay spreads, by cause.
    pub spread: Terms,
    /// Bytes that come per second of spread.
    pub rate: f64,
    /// Bytes that the buckets of credits add: two frames of data here, and the credits that go before data.
    pub buckets: f64,
    /// Bytes of requests, stops and their answers.
    pub control: f64,
    /// Bytes by which data can run ahead of its share because credits have random sizes.
    pub sizes: f64,
}

impl Bound {
    /// The most bytes of data that can wait.
    pub fn bytes(&self) -> f64 {
        self.spread.total() * self.rate + self.buckets + self.control + self.sizes
    }
}

/// Whether the bound exists for these parameters, in words where it does not.
pub fn check(parameters: &Parameters) -> Result<(), String> {
    let (low, high) = parameters.credit_sizes;
    let (credit, bucket) = (parameters.shaping.credit, parameters.shaping.bucket);
    if low == 0 || low > high {
        return Err(format!("credit sizes from {low} to {high} B: write the smaller one first, above 0"));
    }
    if low + high < 2 * credit {
        let mean = f64::from(low + high) / 2.0;
        return Err(format!(
            "credits of {low} to {high} B have a mean of {mean} B, less than the {credit} B that the limit takes for one: \
             data would exceed the link; write sizes with a mean of {credit} B or more"
        ));
    }
    if bucket < high {
        return Err(format!(
            "a bucket of {bucket} B never passes a credit of {high} B; write {high} B or more"
        ));
    }
    if parameters.credit_queue == 0 {
        return Err("a credit queue of 0 passes nothing; write 1 or more".into());
    }
    if parameters.host_delay.0 > parameters.host_delay.1 {
        return Err("the least host delay is above the greatest; write the smaller one first".into());
    }
    Ok(())
}

/// The bounds of all ports, by their number; `None` for ports that carry nothing.
///
/// # Errors
/// [`Cycle`] where shortest paths let queues wait for each other in a circle.
///
/// # Panics
/// If [`check`] refuses the parameters.
pub fn bounds(
    topology: &Topology,
    parameters: &Parameters,
    reading: Reading,
) -> Result<Vec<Option<Bound>>, Cycle> {
    let feeds = Feeds::new(topology)?;
    Ok(bounds_of(topology, &feeds, parameters, reading))
}

/// The same where the feeds are known.
pub fn bounds_of(
    topology: &Topology,
    feeds: &Feeds,
    parameters: &Parameters,
    reading: Reading,
) -> Vec<Option<Bound>> {
    check(parameters).expect("the parameters were checked");
    let law = Law { parameters, reading };
    let mut found: Vec<Option<Delays>> = vec![None; topology.ports().len()];
    for &port in feeds.order() {
        let delays = if topology.is_host(topology.port(port).from) {
            law.host()
        } else {
            let before = feeds.of(port).iter().filter_map(|&feed| {
                let delays = found[feed.index()]?;
                Some(law.through(topology, feed, &delays))
            });
            before.reduce(Delays::join).expect("a switch's port that is used is fed")
        };
        found[port.index()] = Some(delays);
    }
    let bound = |(index, delays): (usize, &Option<Delays>)| {
        delays.map(|delays| law.bound(topology.port(PortId(index as u32)).rate, &delays))
    };
    found.iter().enumerate().map(bound).collect()
}

/// The ends of the delay from a credit to its data, each by cause.
#[derive(Clone, Copy)]
struct Delays {
    least: Terms,
    most: Terms,
}

impl Delays {
    /// Of two ways, the shorter least and the longer most.
    fn join(self, other: Delays) -> Delays {
        Delays {
            least: if other.least.total() < self.least.total() { other.least } else { self.least },
            most: if other.most.total() > self.most.total() { other.most } else { self.most },
        }
    }
}

struct Law<'a> {
    parameters: &'a Parameters,
    reading: Reading,
}

/// Seconds that so many bytes take.
fn seconds(bytes: f64, rate: Rate) -> f64 {
    bytes * 8.0 / rate.as_bps_f64()
}

impl Law<'_> {
    /// The share of a link that data gets; the rest is of credits.
    fn data_share(&self) -> f64 {
        let CreditShaping { credit, data, .. } = self.parameters.shaping;
        f64::from(data) / f64::from(credit + data)
    }

    fn host(&self) -> Delays {
        let (least, most) = self.parameters.host_delay;
        let terms = |span: Span| Terms { host: span.as_secs_f64(), ..Terms::default() };
        Delays { least: terms(least), most: terms(most) }
    }

    /// What a port behind `feed` sees: the credit goes on towards `feed`, its data comes back by it.
    fn through(&self, topology: &Topology, feed: PortId, delays: &Delays) -> Delays {
        let p = self.parameters;
        let link = topology.port(feed);
        let CreditShaping { credit, data, bucket, .. } = p.shaping;
        let pair = seconds(f64::from(credit + data), link.rate);
        let way = 2.0 * link.delay.as_secs_f64() + p.switch_delay.as_secs_f64();
        let queue = f64::from(p.credit_queue) * pair;
        let fed_by_host = topology.is_host(link.from);
        let (mut least, mut most) = (Terms::default(), Terms::default());
        (least.path, most.path, most.credit_queue) = (way + pair, way + pair, queue);
        match self.reading {
            Reading::Least => {}
            Reading::Greatest => {
                most.data_queue = if fed_by_host { 0.0 } else { (delays.most - delays.least).total() };
            }
            Reading::Safe => {
                let (low, high) = p.credit_sizes;
                let full = seconds(f64::from(high + data), link.rate);
                let small = seconds(f64::from(low + p.wire_min), link.rate);
                (least.path, most.path) = (way + full, way + full);
                least.frames = small - full;
                // A credit waits for the frame on the wire, and tokens that come meanwhile may overflow the bucket.
                let gained = f64::from(data) * f64::from(credit) / f64::from(credit + data);
                let lost = (f64::from(high) + gained - f64::from(bucket)).max(0.0);
                let stretch = (f64::from(high) + lost) / f64::from(credit) - 1.0;
                most.frames = seconds(f64::from(data), link.rate) + queue * stretch.max(0.0);
                // The wait ends when the frame has left, so its transmission must not count twice.
                let wait = self.wait(link.rate, delays, fed_by_host);
                most.data_queue = (wait - seconds(f64::from(data), link.rate)).max(0.0);
            }
        }
        Delays { least: delays.least + least, most: delays.most + most }
    }

    /// The longest from the arrival of a frame at a port to its end, in seconds.
    fn wait(&self, rate: Rate, delays: &Delays, at_host: bool) -> f64 {
        let bound = self.bound(rate, delays);
        let served = rate.as_bps_f64() / 8.0 * self.data_share();
        if !(at_host && self.parameters.turns) {
            return bound.bytes() / served;
        }
        // Flows take turns: the last of k frames of a flow lets the other n - k flows go first, k times over.
        let data = f64::from(self.parameters.shaping.data);
        let frames = ((bound.bytes() - bound.control) / data).ceil();
        let turns = ((frames + 1.0) * (frames + 1.0) / 4.0).floor().max(frames);
        (turns * data + bound.control) / served
    }

    /// The bytes that a spread of delays comes to.
    fn bound(&self, rate: Rate, delays: &Delays) -> Bound {
        let p = self.parameters;
        let bytes_per_s = rate.as_bps_f64() / 8.0;
        let (least, spread) = (delays.least.total(), delays.most - delays.least);
        if self.reading != Reading::Safe {
            return Bound { least, spread, rate: bytes_per_s, buckets: 0.0, control: 0.0, sizes: 0.0 };
        }
        let CreditShaping { credit, data, bucket, .. } = p.shaping;
        // Credits that pass at once release data here; credits of the other data go before it, and one is on the wire.
        let buckets = f64::from(bucket) / f64::from(credit) * f64::from(data)
            + f64::from(bucket)
            + f64::from(p.credit_sizes.1);
        let control = f64::from(p.flows) * f64::from(CONTROL_FRAMES * p.wire_min);
        let sizes = self.sizes(rate) / f64::from(credit) * f64::from(data);
        Bound { least, spread, rate: bytes_per_s * self.data_share(), buckets, control, sizes }
    }

    /// By how many bytes the credits of a busy period can fall short of their mean size, but for [`RISK`].
    ///
    /// A uniform size is sub-Gaussian with its own variance, so the sum of n sizes falls short of its mean by x with a
    /// probability of at most exp(-x^2 / (2 n variance)); and there are n places at which it may start.
    fn sizes(&self, rate: Rate) -> f64 {
        let p = self.parameters;
        let (low, high) = (f64::from(p.credit_sizes.0), f64::from(p.credit_sizes.1));
        let variance = ((high - low + 1.0).powi(2) - 1.0) / 12.0;
        let pair = seconds(f64::from(p.shaping.credit + p.shaping.data), rate);
        let credits = (p.busy.as_secs_f64() / pair).max(1.0);
        let log = (credits / RISK).ln();
        // A mean above what the limit takes for one pulls the sum back.
        let pull = (low + high) / 2.0 - f64::from(p.shaping.credit);
        let at = |n: f64| (2.0 * n * variance * log).sqrt() - n * pull;
        let turn = if pull > 0.0 { variance * log / (2.0 * pull * pull) } else { f64::INFINITY };
        at(turn.min(credits)).max(0.0)
    }
}

#[cfg(test)]
mod tests;
