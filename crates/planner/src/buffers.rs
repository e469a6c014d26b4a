//! Bounds of the data that can wait at a port under credits, by the network calculus of ExpressPass (SIGCOMM '17, sec.
//! 3.1, eq. (1)).
//!
//! Data leaves port `p` towards a neighbour in answer to credits that came from there. Credits come no faster than
//! their rate limit allows, so data would never wait if every credit were answered after the same delay. The delay from
//! a credit to its data varies, however, over a range `spread(p)`, and the data of that much time can arrive at once.
//! The spread of a port follows from the spreads of the ports that feed it, starting at the hosts:
//!
//! ```text
//! spread(p) = max over q of (credit queue to q + t(p, q) + most(q) + wait(q)) - min over q of (t(p, q) + least(q))
//! ```
//!
//! where `q` is a port that feeds `p`, `t(p, q)` is the time on the link between them (credit and data), `least(q)` and
//! `most(q)` bound the delay at `q`, and `wait(q)` is the longest time that data waits at `q`. The paper prints one
//! symbol for both bounds of the delay and leaves the form of `wait(q)` open (E17-12), so there are three readings:
//! [`Reading`].

use crate::feeds::{Cycle, Feeds};
use clearway_proto::Framing;
use clearway_proto::port::CreditShaping;
use clearway_topology::{PortId, Topology};
use clearway_units::{Rate, Span};
use std::ops::{Add, Sub};

/// A reading of eq. (1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Reading A: the delay at `q` enters both terms with its least value, and data waits nowhere on the way.
    Least,
    /// Reading B: the delay at `q` enters the maximum with its greatest value, and data waits for `spread(q)` besides,
    /// except at hosts. The printed Table 1 doubles the spread at each hop in the same way.
    Greatest,
    /// A bound that no run of the simulator may exceed: reading B plus terms for the effects that eq. (1) leaves out.
    Safe,
}

/// The inputs of the bounds besides the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// The capacity of a port's credit queue, in credits.
    pub credit_queue: u32,
    /// The rate limit of credits at a port.
    pub shaping: CreditShaping,
    /// The smallest and largest size of a credit on the wire, in bytes. All sizes between them are equally likely.
    pub credit_sizes: (u32, u32),
    /// The size of the smallest frame on the wire, in bytes.
    pub wire_min: u32,
    /// The size of a request, a stop or an answer to one on the wire, in bytes.
    pub control_frame: u32,
    /// The least and greatest time from the arrival of a credit at a host to the departure of its data.
    pub host_delay: (Span, Span),
    /// The time that a switch takes to forward a frame, without transmission.
    pub switch_delay: Span,
    /// The number of flows that start or end through one port during one of its busy periods. Each adds
    /// [`CONTROL_FRAMES`] frames.
    pub flows: u32,
    /// The most bytes on the wire that credits from one host to another may leave over, for which small packets may leave at any
    /// later time, as hosts of `clearwayd` let them. In the paper and in the simulator credits leave nothing over.
    pub leftover: u32,
    /// The number of pairs of hosts that have small packets to send through one port during one of its busy periods.
    pub pairs: u32,
    /// The longest busy period of a port, on which the term for credits of random sizes depends.
    pub busy: Span,
    /// If true, a host's NIC serves its flows in round robin, as the simulator's does; if false, it sends
    /// frames in order of arrival.
    pub turns: bool,
}

impl Parameters {
    /// The parameters of the paper's Table 1: queues of 8 credits of 84 B, host delays from 0 to 5.1 us.
    pub const PAPER: Parameters = Parameters {
        credit_queue: 8,
        shaping: CreditShaping::PAPER,
        credit_sizes: (84, 84),
        wire_min: Framing::ETHERNET.wire_min,
        control_frame: Framing::ETHERNET.wire_min,
        host_delay: (Span::ZERO, Span::from_ns(5_100)),
        switch_delay: Span::ZERO,
        flows: 16,
        leftover: 0,
        pairs: 0,
        busy: Span::from_ms(10),
        turns: true,
    };

    /// Returns these parameters for hosts whose control frames, credits among them, are UDP datagrams of [`UDP_FRAME`] bytes.
    pub fn in_datagrams(self) -> Parameters {
        let CreditShaping { credit, bucket, .. } = self.shaping;
        let bucket = (u64::from(bucket) * u64::from(UDP_FRAME) / u64::from(credit)) as u32;
        let shaping = CreditShaping { credit: UDP_FRAME, bucket, ..self.shaping };
        Parameters { shaping, credit_sizes: (UDP_FRAME, UDP_FRAME), control_frame: UDP_FRAME, ..self }
    }
}

/// The size on the wire of a control frame in a UDP datagram, over both versions of IP, in bytes.
pub const UDP_FRAME: u32 = 132;

/// The number of control frames that one flow puts into the data queues of one direction: a request and a stop, each
/// repeated once, or in the other direction the answers to them.
pub const CONTROL_FRAMES: u32 = 4;
/// The probability with which the bound for credits of random sizes may fail in a busy period.
pub const RISK: f64 = 1e-6;

/// A delay, or a spread of delays, in seconds, split by cause.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Terms {
    /// The waiting of credits for their rate limit.
    pub credit_queue: f64,
    /// Propagation, transmission and switching, which differ between paths.
    pub path: f64,
    /// The delay of hosts in answering credits.
    pub host: f64,
    /// The waiting of data at the ports that feed this one.
    pub data_queue: f64,
    /// Effects of frames that eq. (1) leaves out: a credit waits for the frame on the wire, and full and small frames
    /// differ in transmission time.
    pub frames: f64,
}

impl Terms {
    /// Returns the sum over all causes.
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

/// The bound of one port's data queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    /// The least delay from a credit to its data, in seconds.
    pub least: f64,
    /// The spread of that delay, by cause.
    pub spread: Terms,
    /// The bytes of data that can arrive at once per second of spread.
    pub rate: f64,
    /// The bytes that the token bucket of credits adds: the data of the credits of a full bucket, and the credits of
    /// the reverse direction that go before the data.
    pub buckets: f64,
    /// The bytes of requests, stops and their answers.
    pub control: f64,
    /// The bytes of small packets that leave for what credits have left over.
    pub leftover: f64,
    /// The bytes by which data can run ahead of its share because credits have random sizes.
    pub sizes: f64,
}

impl Bound {
    /// Returns the most bytes of data that can wait at the port.
    pub fn bytes(&self) -> f64 {
        self.spread.total() * self.rate + self.buckets + self.control + self.leftover + self.sizes
    }
}

/// Returns an error that says what to change if no bound exists for these parameters.
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

/// Returns the bound of each port, by the port's index; `None` for ports that carry no data.
///
/// # Errors
/// Returns [`Cycle`] where shortest paths let queues wait for each other in a cycle.
///
/// # Panics
/// Panics if [`check`] refuses the parameters.
pub fn bounds(
    topology: &Topology,
    parameters: &Parameters,
    reading: Reading,
) -> Result<Vec<Option<Bound>>, Cycle> {
    let feeds = Feeds::new(topology)?;
    Ok(bounds_of(topology, &feeds, parameters, reading))
}

/// Returns the bound of each port as [`bounds`] does, given the feeds, so that several calls can share them.
///
/// # Panics
/// Panics if [`check`] refuses the parameters.
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
        delays.map(|delays| law.bound(topology.port(PortId::from_index(index)).rate, &delays))
    };
    found.iter().enumerate().map(bound).collect()
}

/// The least and the greatest delay from a credit to its data at a port, each by cause.
#[derive(Clone, Copy)]
struct Delays {
    least: Terms,
    most: Terms,
}

impl Delays {
    /// Merges the delays over two ways into a port: the smaller least and the larger greatest delay.
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

/// Returns the time that a number of bytes takes at a rate, in seconds.
fn seconds(bytes: f64, rate: Rate) -> f64 {
    bytes * 8.0 / rate.as_bps_f64()
}

impl Law<'_> {
    /// Returns the share of a link's rate that data gets; credits get the rest.
    fn data_share(&self) -> f64 {
        let CreditShaping { credit, data, .. } = self.parameters.shaping;
        f64::from(data) / f64::from(credit + data)
    }

    /// Returns the delays at a host's port: those of the host itself.
    fn host(&self) -> Delays {
        let (least, most) = self.parameters.host_delay;
        let terms = |span: Span| Terms { host: span.as_secs_f64(), ..Terms::default() };
        Delays { least: terms(least), most: terms(most) }
    }

    /// Returns the delays at a port that `feed` feeds, given those at `feed`: the credit travels on to `feed`, and its
    /// data comes back through it.
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
                // A credit waits for the frame on the wire, and tokens that arrive meanwhile may overflow the bucket.
                let gained = f64::from(data) * f64::from(credit) / f64::from(credit + data);
                let lost = (f64::from(high) + gained - f64::from(bucket)).max(0.0);
                let stretch = (f64::from(high) + lost) / f64::from(credit) - 1.0;
                most.frames = seconds(f64::from(data), link.rate) + queue * stretch.max(0.0);
                // The wait ends when the frame has left, so its transmission must not be counted twice.
                let wait = self.wait(link.rate, delays, fed_by_host);
                most.data_queue = (wait - seconds(f64::from(data), link.rate)).max(0.0);
            }
        }
        Delays { least: delays.least + least, most: delays.most + most }
    }

    /// Returns the longest time from a frame's arrival at a port to the end of its transmission, in seconds.
    fn wait(&self, rate: Rate, delays: &Delays, at_host: bool) -> f64 {
        let bound = self.bound(rate, delays);
        let served = rate.as_bps_f64() / 8.0 * self.data_share();
        if !(at_host && self.parameters.turns) {
            return bound.bytes() / served;
        }
        // In round robin, the last of a flow's k frames lets the other n - k flows go first k times.
        let data = f64::from(self.parameters.shaping.data);
        let small = bound.control + bound.leftover;
        let frames = ((bound.bytes() - small) / data).ceil();
        let turns = ((frames + 1.0) * (frames + 1.0) / 4.0).floor().max(frames);
        (turns * data + small) / served
    }

    /// Returns the bound that follows from the delays at a port.
    fn bound(&self, rate: Rate, delays: &Delays) -> Bound {
        let p = self.parameters;
        let bytes_per_s = rate.as_bps_f64() / 8.0;
        let (least, spread) = (delays.least.total(), delays.most - delays.least);
        if self.reading != Reading::Safe {
            let (buckets, control, leftover, sizes) = (0.0, 0.0, 0.0, 0.0);
            return Bound { least, spread, rate: bytes_per_s, buckets, control, leftover, sizes };
        }
        let CreditShaping { credit, data, bucket, .. } = p.shaping;
        // A full bucket of credits passes at once and releases its data here. As many credits of the reverse direction
        // go before that data, and one more is on the wire.
        let buckets = f64::from(bucket) / f64::from(credit) * f64::from(data)
            + f64::from(bucket)
            + f64::from(p.credit_sizes.1);
        let control = f64::from(p.flows) * f64::from(CONTROL_FRAMES * p.control_frame);
        let leftover = f64::from(p.pairs) * f64::from(p.leftover);
        let sizes = self.sizes(rate) / f64::from(credit) * f64::from(data);
        Bound { least, spread, rate: bytes_per_s * self.data_share(), buckets, control, leftover, sizes }
    }

    /// Returns the bytes by which the credits of a busy period can fall short of their mean size, except with
    /// probability [`RISK`].
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
        // Where the mean size exceeds the one that the limit assumes, the shortfall shrinks with each credit.
        let pull = (low + high) / 2.0 - f64::from(p.shaping.credit);
        let at = |n: f64| (2.0 * n * variance * log).sqrt() - n * pull;
        let turn = if pull > 0.0 { variance * log / (2.0 * pull * pull) } else { f64::INFINITY };
        at(turn.min(credits)).max(0.0)
    }
}

#[cfg(test)]
mod tests;
