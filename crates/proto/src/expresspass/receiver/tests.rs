use super::*;
use crate::{AnyTransport, Entity, Kind, Rng, Stats};
use clearway_units::Rate;

/// The payload of a full frame.
const MSS: u64 = 1460;
/// The sender's first session.
const SESSION: u32 = 1;

/// A receiver of ExpressPass, at a time that moves on by a microsecond with each packet.
struct Bench {
    receiver: Box<dyn Receiver>,
    rng: Rng,
    stats: Stats,
    now: Time,
}

impl Bench {
    /// A receiver that was asked for credits by a sender that has `written` so many bytes.
    fn asked(values: &[(&str, &str)], written: u64) -> Bench {
        let env = Env::for_test(Rate::gbps(10), Span::from_us(10), Framing::ETHERNET);
        let mut transport = AnyTransport::by_name("expresspass").unwrap();
        values.iter().for_each(|(name, value)| transport.set(name, value).unwrap());
        let rng = Rng::stream(1, Entity::Receiver, 0);
        let receiver = transport.receiver(&env);
        let mut bench = Bench { receiver, rng, stats: Stats::ZERO, now: Time::ZERO };
        bench.request(SESSION, written);
        bench
    }

    fn feed(&mut self, packet: Packet) {
        self.now += Span::from_us(1);
        let mut cx = Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats };
        self.receiver.handle_packet(&packet, &Extra::None, &mut cx);
    }

    fn request(&mut self, session: u32, written: u64) {
        let request = CreditRequest { session, wanted: written.div_ceil(MSS), written };
        self.feed(Packet::control(Header::CreditSyn(request), 84, self.now));
    }

    /// A full frame from this offset on, which spends a credit.
    fn data(&mut self, offset: u64, flags: Flags) {
        let header = Header::CreditData { offset, session: SESSION, credit: offset / MSS, echo: self.now };
        self.feed(Packet::data(header, MSS as u32, 1538, self.now).with_flags(flags));
    }

    fn stop(&mut self, end: u64, flags: Flags) {
        let header = Header::CreditStop { session: SESSION, end };
        self.feed(Packet::control(header, 84, self.now).with_flags(flags));
    }

    /// The kinds of packets that leave within so many microseconds.
    fn leaves(&mut self, us: u64) -> Vec<Kind> {
        let mut left = Vec::new();
        for _ in 0..us {
            self.now += Span::from_us(1);
            let mut cx = Cx { now: self.now, rng: &mut self.rng, stats: &mut self.stats };
            self.receiver.handle_timeout(&mut cx);
            while let Some(packet) = self.receiver.poll_control(&mut Extra::None, &mut cx) {
                left.push(packet.kind());
            }
        }
        left
    }
}

#[test]
fn the_rate_that_samples_record_is_that_of_the_frames_which_credits_permit_in_bits_per_second() {
    let mut bench = Bench::asked(&[("alpha", "1")], 100 * MSS);
    // Each credit of some 84 bytes permits a frame of 1,538, and both together fill the link of 10 Gbit/s.
    let permitted = 10e9 * 1538.0 / (1538.0 + 84.0);
    let rate = bench.receiver.gauges().rate;
    assert!((rate / permitted - 1.0).abs() < 0.01, "{rate} for {permitted}");
    bench.stop(100 * MSS, Flags::NONE);
    assert_eq!(bench.receiver.gauges().rate, 0.0, "no credits, no rate");
}

#[test]
fn a_mark_of_the_end_that_comes_late_does_not_move_the_end_that_is_known() {
    for late_first in [true, false] {
        let mut bench = Bench::asked(&[], 3 * MSS);
        bench.data(0, Flags::NONE);
        // The sender closes at three frames and takes the third one back, before it is sent.
        if late_first {
            bench.stop(3 * MSS, Flags::LAST);
        }
        bench.data(MSS, Flags::LAST);
        bench.stop(2 * MSS, Flags::LAST);
        assert!(bench.receiver.is_finished());
        bench.stop(3 * MSS, Flags::LAST);
        assert!(bench.receiver.is_finished(), "the stop of three frames was overtaken or came twice");
    }
}

#[test]
fn a_stop_that_does_not_tell_the_end_ends_no_flow() {
    let mut bench = Bench::asked(&[], 2 * MSS);
    bench.data(0, Flags::NONE);
    bench.stop(MSS, Flags::NONE);
    assert!(!bench.receiver.is_finished(), "the sender only pauses");
    bench.stop(MSS, Flags::LAST);
    assert!(bench.receiver.is_finished());
}

#[test]
fn a_late_request_asks_for_no_credits_beyond_the_end_that_is_known() {
    let credits = |end_is_known: bool| {
        let mut bench = Bench::asked(&[("tell_end", "true")], 2 * MSS);
        bench.data(0, Flags::NONE);
        bench.data(MSS, Flags::NONE.with_if(end_is_known, Flags::LAST));
        bench.leaves(100);
        // A request of the same session that tells of a third frame was under way for long.
        bench.request(SESSION, 3 * MSS);
        bench.leaves(100).iter().filter(|&&kind| kind == Kind::Credit).count()
    };
    assert!(credits(false) > 0);
    assert_eq!(credits(true), 0);
}
