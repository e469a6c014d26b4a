//! The settings of a host: its NIC, its transport, and bounds.

use crate::wire::{Carrier, MacAddr};
use clearway_proto::ec4::Ec4;
use clearway_proto::expresspass::naive::NaiveCredit;
use clearway_proto::expresspass::{
    CreditParams, CreditTransport, ExpressPass, GateConfig, Handshake, Recovery, Release, link_rate,
};
use clearway_proto::port::CreditShaping;
use clearway_proto::{Acks, AnyTransport, CreditNeeds, Env, Framing};
use clearway_schema::{Auto, declare};
use clearway_units::{Bytes, Rate, Span};
use thiserror::Error;

/// The names of the transports that a host can run.
pub const TRANSPORTS: [&str; 3] = [ExpressPass::NAME, Ec4::NAME, NaiveCredit::NAME];

declare! {
    /// The settings of a host beside those of its transport.
    pub struct HostParams {
        /// The round-trip time of a full frame and its answer through the idle network, hosts included, from which
        /// flows start; auto: the time on the wire over two links at the NIC's rate, and 150 us for hosts.
        base_rtt: Auto<Span> = "auto" in "1 us" to "10 s" from "our choice: wake-ups of two daemons take 30 to 45 us each, NFQUEUE 32 us";
        /// The least time for which data to a host that may not run Clearway is held.
        unknown_wait: Span = "2 ms" in "100 us" to "1 s" from "our choice: a daemon answers within a few wake-ups";
        /// The time for which such data is held, in round-trip times of the TCP handshake, if that is longer.
        unknown_rtts: f64 = "3" in "1" to "100" from "our choice: one for the answer, two for queues";
        /// The time after which a host that answered no request is asked again; a tenth of it after the first time, and
        /// if the host ran Clearway before. No packet waits for the answer.
        ask_again: Span = "10 s" in "10 ms" to "3600 s" from "our choice";
        /// The number of requests or stops without an answer after which a flow is plain TCP.
        unanswered: u32 = "6" in "1" to "20" from "our choice: 63 times the retry time, as it doubles";
        /// The least time without a credit after which a sender whose data waits asks anew. If credits come seldom, it
        /// is the time of 16 of them.
        silence: Span = "50 ms" in "1 ms" to "10 s" from "our choice: far beyond the gap between credits of a loaded link, since a new request starts the feedback control anew";
        /// The longest time for which a packet may have to wait for its credit, behind those of its flow that wait already and at the
        /// pace at which credits come. A packet that would wait longer is dropped, as at a full queue, so that the TCP underneath
        /// slows down; 16 packets of a flow may wait at any pace. 0: packets wait until `hold_max`.
        wait_max: Span = "100 ms" in "0 s" to "10 s" from "our choice: half of the least retransmission timeout of Linux";
        /// The largest time for which a packet is held. The flow is plain TCP then.
        hold_max: Span = "1 s" in "1 ms" to "10 s" from "our choice: one initial retransmission timeout of TCP (RFC 6298)";
        /// The largest number of packets held at once, of all flows.
        held_max: u32 = "8192" in "1" to "1000000" from "our choice";
        /// The most bytes on the wire that credits of one other host have left over, and that packets to it of at most half a
        /// full frame may spend without a credit of their own; 0: none, as in the paper. A port's queue may be longer by that
        /// for each host that sends there.
        leftover: u32 = "12304" in "0" to "65536" unit "bytes" from "our choice: eight full frames, so that 90 requests of redis may leave at once, and small packets go on to leave while the next credits are on their way";
        /// The largest number of flows in each direction.
        flows_max: u32 = "65536" in "1" to "1000000" from "our choice: about 100 MB";
        /// The largest number of flows with one other host in each direction.
        flows_per_peer: u32 = "4096" in "1" to "1000000" from "our choice";
        /// The time without any packet after which a flow is forgotten.
        age: Span = "60 s" in "100 ms" to "86400 s" from "our choice";
        /// The time for whose credits a receiver makes up when its timer fires late. What leaves at once is limited by
        /// `bucket`.
        catch_up: Span = "2 ms" in "0 s" to "1 s" from "our choice: wake-ups on a busy machine come up to some ms late";
        /// The time without data after which a receiver stops the credits of a flow by itself.
        data_wait: Span = "20 ms" in "1 ms" to "10 s" from "our choice: ten times the idle timeout of a sender";
    }
}

/// The settings of a host.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The Ethernet address of the NIC.
    pub address: MacAddr,
    /// The rate of the NIC.
    pub rate: Rate,
    /// The MTU of the NIC, in bytes.
    pub mtu: u16,
    /// The way in which control frames travel.
    pub carrier: Carrier,
    /// True if small packets may leave in the kernel, so that the driver is told what they may spend.
    pub kernel_path: bool,
    /// True if bulk data may leave in the kernel too.
    pub bulk_path: bool,
    /// True if the kernel may take credits for small packets.
    pub credit_path: bool,
    /// The transport with its parameters, made by [`HostConfig::transport`].
    pub transport: AnyTransport,
    /// The other settings.
    pub params: HostParams,
}

/// The reason why a host cannot run with its settings.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// The transport does not exist, or has no meaning under unmodified TCP.
    #[error("{0:?} is no transport of hosts; write one of {list}", list = TRANSPORTS.join(", "))]
    Transport(String),
    /// A parameter has a value that the simulator can run, and a host cannot.
    #[error("{name} = {value}: {problem}")]
    Parameter {
        /// The name of the parameter.
        name: &'static str,
        /// The value that was set.
        value: String,
        /// The reason, and what would be right.
        problem: &'static str,
    },
    /// The NIC is unusable.
    #[error("{0}")]
    Nic(&'static str),
}

/// The parts of a transport that a host needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// The parameters that all credit transports share.
    pub credit: CreditParams,
    /// True if the feedback control reads marks.
    pub ecn: bool,
}

/// The time without data after which a sender stops its credits, on real hosts. TCP small queues hand the kernel's
/// queue a few packets at a time, and the next ones come a wake-up after these left. A stop in such a gap would cost a
/// round trip.
const IDLE: Span = Span::from_ms(2);
/// The least time before a request or a stop is repeated, on real hosts: a few wake-ups of a daemon.
const RETRY_MIN: Span = Span::from_ms(1);
/// The token bucket of a real host's NIC.
const BUCKET: Bytes = Bytes::new(840);
/// The part of the base round-trip time that hosts take.
const HOST_TIME: Span = Span::from_us(150);

impl HostConfig {
    /// Returns a transport with the default parameters of real hosts. They differ from those of the simulator in three
    /// ways. All credits have 84 bytes on the wire, the least frame, since that is the only size of our frames. The
    /// token bucket at the NIC holds ten credits (the authors' ns-2 code: 840 B), since a daemon that wakes late loses
    /// what does not fit; a switch behind the NIC makes bursts even. Requests, stops and the answers to both have a class of
    /// their own at switches.
    pub fn transport(name: &str) -> Result<AnyTransport, ConfigError> {
        let mut transport =
            AnyTransport::by_name(name).ok_or_else(|| ConfigError::Transport(name.to_owned()))?;
        let credit = match &mut transport {
            AnyTransport::ExpressPass(params) => &mut params.credit,
            AnyTransport::Ec4(params) => &mut params.credit,
            AnyTransport::NaiveCredit(params) => &mut params.credit,
            _ => return Err(ConfigError::Transport(name.to_owned())),
        };
        (credit.randomize_size, credit.bucket, credit.signals) = (false, BUCKET, Acks::OwnClass);
        Ok(transport)
    }

    /// Says why a host cannot run with these settings, if it cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.rate < Rate::mbps(1) || self.rate > Rate::gbps(400) {
            return Err(ConfigError::Nic("the rate of the NIC must be from 1 Mbps to 400 Gbps"));
        }
        if !(576..=9216).contains(&self.mtu) {
            return Err(ConfigError::Nic("the MTU of the NIC must be from 576 to 9216 bytes"));
        }
        let Parts { credit, .. } = self.parts()?;
        let refuse = |name, value: &str, problem| {
            Err(ConfigError::Parameter { name, value: value.to_owned(), problem })
        };
        if credit.randomize_size {
            return refuse(
                "randomize_size",
                "true",
                "all frames of hosts have 84 bytes on the wire; write false",
            );
        }
        if credit.signals != Acks::OwnClass {
            let (value, problem) =
                (credit.signals.to_string(), "hosts send them beside data; write own-class");
            return refuse("signals", &value, problem);
        }
        if credit.tell_end {
            return refuse("tell_end", "true", "a host does not know how much TCP will send; write false");
        }
        if credit.early_stop {
            return refuse("early_stop", "true", "a host does not know how much TCP will send; write false");
        }
        if credit.low_priority > 0.0 {
            let value = credit.low_priority.to_string();
            return refuse("low_priority", &value, "hosts send no unscheduled data; write 0");
        }
        if credit.recovery != Recovery::Selective {
            return refuse("recovery", "go-back-n", "TCP itself repeats what is lost; write selective");
        }
        if credit.release != Release::Turn {
            return refuse("release", "queue", "the kernel sends data as soon as it is released; write turn");
        }
        if credit.idle_timeout == Auto::Set(Span::ZERO) {
            return refuse(
                "idle_timeout",
                "0 s",
                "TCP hands over few packets at a time; write 100 us or more",
            );
        }
        Ok(())
    }

    /// Returns the parts of the transport that a host needs.
    pub(super) fn parts(&self) -> Result<Parts, ConfigError> {
        fn parts<T: CreditTransport>(params: &T::Params) -> Parts {
            Parts { credit: *T::credit(params), ecn: T::ECN }
        }
        match &self.transport {
            AnyTransport::ExpressPass(params) => Ok(parts::<ExpressPass>(params)),
            AnyTransport::Ec4(params) => Ok(parts::<Ec4>(params)),
            AnyTransport::NaiveCredit(params) => Ok(parts::<NaiveCredit>(params)),
            other => Err(ConfigError::Transport(other.info().name.to_owned())),
        }
    }

    /// Returns the sizes of frames.
    pub fn framing(&self) -> Framing {
        let payload_max = u32::from(self.mtu).saturating_sub(40).max(1);
        Framing { payload_max, wire_min: self.carrier.credit_wire(), ..Framing::ETHERNET }
    }

    /// Returns the round-trip time from which flows start.
    pub fn base_rtt(&self) -> Span {
        let framing = self.framing();
        let frames = Bytes::new(u64::from(framing.wire_max() + framing.wire_min) * 2);
        self.params.base_rtt.or(self.rate.time_to_send(frames) + HOST_TIME)
    }

    /// Returns the limit of credits at the NIC, and the number of credits that wait there. With frames beyond 2,600
    /// bytes the token bucket is as large as the limiter can count, which is three credits at an MTU of 9,216 bytes.
    pub(super) fn shaping(&self) -> (CreditShaping, u32) {
        let needs =
            self.transport.needs().credits.unwrap_or(CreditNeeds { queue: 8, shaping: CreditShaping::PAPER });
        let (credit, data) = (self.carrier.credit_wire(), self.framing().wire_max());
        // The limiter counts in units of which 64 bits hold this many bytes.
        let bytes = u64::MAX / 8_000_000_000_000 / u64::from(credit + data);
        let bucket = needs.shaping.bucket * credit / needs.shaping.credit.max(1);
        (CreditShaping { credit, data, bucket: bucket.min(bytes as u32), ..needs.shaping }, needs.queue)
    }

    /// Returns the number of credits for a flow that has sent no data yet: those of four round trips, and some for the
    /// time until the application writes.
    pub(super) fn first_credits(&self) -> u32 {
        (link_rate(&self.env(self.rate)) * self.base_rtt().as_secs_f64() * 4.0) as u32 + 64
    }

    /// Returns the environment of a flow to or from a NIC of rate `peer`.
    pub(super) fn env(&self, peer: Rate) -> Env {
        Env {
            line_rate: self.rate,
            path_rate: self.rate.min(peer),
            base_rtt: self.base_rtt(),
            network_rtt: self.base_rtt(),
            framing: self.framing(),
            established: false,
            host_flows: 0,
        }
    }
}

impl Parts {
    /// Returns the settings of the gate of a sender.
    pub(super) fn gate(&self, base_rtt: Span) -> GateConfig {
        GateConfig {
            idle: self.credit.idle_timeout.or(IDLE.max(base_rtt)),
            retry: self.credit.retry.or((base_rtt * 2).max(RETRY_MIN)),
            backs_off: self.credit.retry_backoff,
            stop_by_mark: false,
            early_stop: false,
            tell_end: false,
        }
    }

    /// Returns true if a connection that is being opened asks for credits beside its SYN.
    pub(super) fn asks_on_syn(&self) -> bool {
        self.credit.handshake == Handshake::Syn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_schema::Declared;

    fn config(name: &str) -> HostConfig {
        HostConfig {
            address: MacAddr([2, 0, 0, 0, 0, 1]),
            rate: Rate::mbps(100),
            mtu: 1500,
            carrier: Carrier::Ethernet,
            kernel_path: false,
            bulk_path: false,
            credit_path: false,
            transport: HostConfig::transport(name).unwrap(),
            params: HostParams::default(),
        }
    }

    #[test]
    fn the_transports_of_hosts_run_with_their_defaults_and_others_are_refused_by_name() {
        for name in TRANSPORTS {
            assert_eq!(config(name).check(), Ok(()), "{name}");
        }
        let error = HostConfig::transport("hpcc").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"hpcc\" is no transport of hosts; write one of expresspass, ec4, naive-credit"
        );
    }

    #[test]
    fn a_parameter_that_only_the_simulator_can_run_is_refused_with_the_reason() {
        for (name, value) in [
            ("randomize_size", "true"),
            ("signals", "with-data"),
            ("tell_end", "true"),
            ("early_stop", "true"),
            ("low_priority", "1"),
            ("recovery", "go-back-n"),
            ("release", "queue"),
            ("idle_timeout", "0 s"),
        ] {
            let mut config = config("expresspass");
            config.transport.set(name, value).unwrap();
            let message = config.check().unwrap_err().to_string();
            assert!(message.starts_with(&format!("{name} = {value}: ")), "{message}");
        }
    }

    #[test]
    fn no_parameter_of_a_host_has_the_name_of_one_of_a_transport() {
        for name in TRANSPORTS {
            let transport = config(name).transport.info().params.iter();
            let mut names: Vec<&str> =
                HostParams::SPECS.iter().chain(transport).map(|spec| spec.name).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn the_largest_frames_leave_room_for_three_credits_in_the_bucket() {
        let config = HostConfig { mtu: 9216, ..config("ec4") };
        assert_eq!(config.check(), Ok(()));
        assert_eq!((config.shaping().0.bucket, config.shaping().0.data), (246, 9254));
        super::super::credits::CreditQueue::new(config.rate, config.shaping().0, 8);
    }

    #[test]
    fn credits_over_udp_get_132_of_1670_bytes_and_a_bucket_of_as_many() {
        let carrier = Carrier::Udp(std::num::NonZeroU16::new(1021).unwrap());
        let config = HostConfig { carrier, ..config("expresspass") };
        let (shaping, _) = config.shaping();
        assert_eq!((shaping.credit, shaping.data, shaping.bucket), (132, 1538, 1320));
        let rate = link_rate(&config.env(config.rate));
        assert!((rate - 100e6 / 8.0 / 1670.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn the_base_round_trip_time_is_that_of_two_links_and_two_hosts() {
        assert_eq!(config("expresspass").base_rtt(), Span::from_ns(409_520), "4 x 811 bytes at 100 Mbit/s");
        assert_eq!(config("ec4").framing().wire_max(), 1538);
    }

    #[test]
    fn nics_that_cannot_be_used_are_refused() {
        for (rate, mtu) in
            [(Rate::ZERO, 1500), (Rate::gbps(401), 1500), (Rate::mbps(100), 575), (Rate::mbps(100), 9217)]
        {
            let config = HostConfig { rate, mtu, ..config("ec4") };
            assert!(matches!(config.check(), Err(ConfigError::Nic(_))), "{rate} {mtu}");
        }
    }
}
