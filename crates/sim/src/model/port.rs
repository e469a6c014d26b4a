//! The queues of ports: classes of packets and of credits, with their limits, marks, trimming, shared memory and pauses.

use clearway_proto::port::pfc::PfcConfig;
use clearway_proto::port::{CreditShaping, MarkAt, RedConfig, TrimConfig, frames_by_rate, largest_in_buffer};
use clearway_proto::{AnyMechanismConfig, Framing};
use clearway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

/// The queues of an output port.
#[derive(Clone, Debug)]
pub struct PortModel {
    /// The rate limit of all credits together, if any transport uses credits.
    pub credit: Option<CreditClass>,
    /// The classes of credits, which share that limit. If empty, there is a single class.
    pub credit_classes: Vec<CreditTurn>,
    /// The classes of all other packets, at least one.
    pub classes: Vec<Class>,
    /// The buffer that all ports of a switch share with dynamic thresholds, in addition to the limits of the classes.
    pub shared: Option<SharedBuffer>,
    /// The mechanism that a transport brings to the ports of switches; `None` at hosts.
    pub mechanism: Option<AnyMechanismConfig>,
}

/// The queue and the rate limit of credits at a port.
#[derive(Clone, Copy, Debug)]
pub struct CreditClass {
    /// The capacity of the queue, in credits.
    pub queue: u32,
    /// The rate limit.
    pub shaping: CreditShaping,
    /// The share of the link whose capacity the credits schedule; 1 in the papers. A smaller share leaves the rest to
    /// data without credits.
    pub share: f64,
}

impl CreditClass {
    /// Makes a credit class for the whole link.
    pub fn new(queue: u32, shaping: CreditShaping) -> CreditClass {
        CreditClass { queue, shaping, share: 1.0 }
    }
}

/// One of several classes of credits at a port (ExpressPass '17, sec. 7, "Multiple traffic classes").
#[derive(Clone, Debug)]
pub struct CreditTurn {
    /// The name of the class.
    pub name: String,
    /// The priority; classes with a lower number are served first.
    pub priority: u8,
    /// The weight among classes of the same priority, by credits; at least 1.
    pub weight: u32,
    /// The capacity of the class's queue, in credits.
    pub queue: u32,
    /// The rate limit of this class in addition to the common one, as a share of the link.
    pub share: Option<f64>,
}

/// A class of packets at a port.
#[derive(Clone, Debug)]
pub struct Class {
    /// The name of the class.
    pub name: String,
    /// The priority; classes with a lower number are served first.
    pub priority: u8,
    /// The weight among classes of the same priority, by bytes (deficit round robin); at least 1.
    pub weight: u32,
    /// The capacity of the queue.
    pub limit: Amount,
    /// The ECN marking, if any.
    pub marking: Option<Marking>,
    /// The class that packets of this class join at switches, if this class exists at hosts only.
    pub at_switches: Option<usize>,
    /// The trimming at ports of switches, if a queue without room cuts packets, or drops others than those that arrive.
    pub trim: Option<Trim>,
    /// What differs at ports of switches that lead to hosts.
    pub last_hop: Option<LastHop>,
}

impl Class {
    /// Returns a class of this priority, of weight 1, with a queue without a limit and without marks.
    pub fn new(name: &str, priority: u8) -> Class {
        Class {
            name: name.into(),
            priority,
            weight: 1,
            limit: Amount::UNLIMITED,
            marking: None,
            at_switches: None,
            trim: None,
            last_hop: None,
        }
    }

    /// Returns the trimming, if anything is left of packets that are cut.
    pub fn leaves_headers(&self) -> Option<Trim> {
        self.trim.filter(|trim| !trim.config.drops)
    }

    /// Returns whether ports send headers of the class back to their senders.
    pub fn returns(&self) -> bool {
        self.trim.is_some_and(|trim| trim.config.returns)
    }

    /// Returns the class as it is at ports of switches that lead to hosts.
    pub fn at_last_hop(&self) -> Class {
        let Some(LastHop { limit, marks }) = self.last_hop else { return self.clone() };
        Class { limit, marking: self.marking.filter(|_| marks), ..self.clone() }
    }

    /// Returns the class with a share of its limit and of its threshold of marks. Thresholds that follow the rate of the port are
    /// left to it.
    pub fn scaled(&self, share: f64) -> Class {
        let scale = |marking: Marking| {
            let bytes = |bytes: Bytes| Amount { bytes, packets: 0 }.times(share).bytes;
            let threshold = match marking.threshold {
                Threshold::Fixed(amount) => Threshold::Fixed(amount.times(share)),
                Threshold::Between(min, max) => Threshold::Between(bytes(min), bytes(max)),
                by_rate @ (Threshold::ByRate | Threshold::Red(_)) => by_rate,
            };
            Marking { threshold, ..marking }
        };
        Class { limit: self.limit.times(share), marking: self.marking.map(scale), ..self.clone() }
    }
}

/// The trimming of a class: a queue of data without room cuts a packet to its header, which goes into another class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trim {
    /// The rule.
    pub config: TrimConfig,
    /// The class of headers, as an index into [`PortModel::classes`]. It trims nothing itself.
    pub headers: usize,
}

/// What a class has of its own at ports of switches that lead to hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastHop {
    /// The capacity of the queue.
    pub limit: Amount,
    /// True if packets are marked there as at other ports.
    pub marks: bool,
}

/// A limit of a queue in bytes on the wire and in packets, of which the first reached counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount {
    /// The limit in bytes on the wire.
    pub bytes: Bytes,
    /// The limit in packets.
    pub packets: u32,
}

impl Amount {
    /// The limit of an unlimited queue.
    pub const UNLIMITED: Amount = Amount { bytes: Bytes::MAX, packets: u32::MAX };

    /// Returns a multiple of the limit, rounded up. What has no limit keeps none.
    pub fn times(self, factor: f64) -> Amount {
        let thousandths = u128::from((factor * 1000.0).round() as u64);
        let times = |limit: u64, none: u64| {
            let product = (u128::from(limit) * thousandths).div_ceil(1000).min(u128::from(none)) as u64;
            if limit == none { none } else { product }
        };
        Amount {
            bytes: Bytes::new(times(self.bytes.get(), u64::MAX)),
            packets: times(self.packets.into(), u32::MAX.into()) as u32,
        }
    }
}

/// The ECN marking of a class.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// The marking threshold `K`.
    pub threshold: Threshold,
    /// The moment at which the queue is compared with the threshold.
    pub at: MarkAt,
}

/// A marking threshold.
#[derive(Clone, Copy, Debug)]
pub enum Threshold {
    /// One threshold for all ports.
    Fixed(Amount),
    /// A threshold that follows the port's rate and buffer ([`by_rate`]).
    ByRate,
    /// RED: marks are random between two thresholds.
    Red(RedConfig),
    /// As RED with a probability up to 1, with the same thresholds at ports of every rate.
    Between(Bytes, Bytes),
}

/// Returns the threshold of [`Threshold::ByRate`] at a port of rate `rate` whose queue may hold `limit`: 65 full frames
/// per 10 Gbps, at least 10 ([`frames_by_rate`]), and no more than 26 % of the buffer ([`largest_in_buffer`]).
pub fn by_rate(rate: Rate, limit: Amount, framing: Framing) -> Amount {
    let frame = u64::from(framing.wire_max());
    let of_buffer = |buffer: u64| if buffer == u64::MAX { u64::MAX } else { largest_in_buffer(buffer) };
    let bytes = (frames_by_rate(rate) * frame).min(of_buffer(limit.bytes.get()));
    let packets =
        if limit.packets == u32::MAX { u32::MAX } else { largest_in_buffer(limit.packets.into()) as u32 };
    Amount { bytes: Bytes::new(bytes), packets }
}

/// The memory of a switch under dynamic thresholds (Choudhury and Hahne, 1998), where a queue may hold `alpha` times
/// the free memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SharedBuffer {
    /// The memory of one switch.
    pub size: Bytes,
    /// The size of one queue as a multiple of the free memory.
    pub alpha: f64,
}

/// The settings of priority flow control (IEEE 802.1Qbb).
#[derive(Clone, Debug)]
pub struct Pfc {
    /// The thresholds at which links are paused and resumed.
    pub config: PfcConfig,
    /// The headroom of each class of each link. `None` computes it from the link's rate and delay
    /// ([`headroom`](clearway_proto::port::pfc::headroom)).
    pub headroom: Option<Bytes>,
    /// True for each class that flow control protects, by the class's index.
    pub lossless: Vec<bool>,
    /// The time for which a port may be paused without a break before it is reported as a storm.
    pub storm: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_class_has_that_share_of_its_limit_and_of_both_thresholds_of_its_marks() {
        let marked = |threshold| {
            let limit = Amount { bytes: Bytes::new(1_000), packets: 40 };
            let marking = Some(Marking { threshold, at: MarkAt::Dequeue });
            let share = Class { limit, marking, ..Class::new("data", 1) }.scaled(0.25);
            assert_eq!(share.limit, Amount { bytes: Bytes::new(250), packets: 10 });
            share.marking.map(|marking| marking.threshold)
        };
        let fixed = Amount { bytes: Bytes::new(801), packets: u32::MAX };
        let Some(Threshold::Fixed(fixed)) = marked(Threshold::Fixed(fixed)) else { panic!("it stays fixed") };
        assert_eq!(
            fixed,
            Amount { bytes: Bytes::new(201), packets: u32::MAX },
            "rounded up, or without a limit"
        );
        let between = Threshold::Between(Bytes::new(100), Bytes::new(400));
        let Some(Threshold::Between(min, max)) = marked(between) else { panic!("it stays between") };
        assert_eq!([min, max].map(Bytes::get), [25, 100]);
        assert!(matches!(marked(Threshold::ByRate), Some(Threshold::ByRate)));
    }
}
