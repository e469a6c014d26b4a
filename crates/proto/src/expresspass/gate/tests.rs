use super::*;

const RTT: Span = Span::from_us(10);
const CONFIG: GateConfig = GateConfig {
    idle: RTT,
    retry: Span::from_us(200),
    backs_off: true,
    stop_by_mark: false,
    early_stop: false,
    tell_end: false,
};

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Returns a gate that asked for credits at 0 us and got the first one at 10 us, while `backlog` frames waited.
fn receiving(config: GateConfig, backlog: u64) -> SenderGate {
    let mut gate = SenderGate::new(config);
    gate.on_data(us(0));
    assert_eq!(gate.take_signal(), Some(Signal::Request));
    assert!(gate.on_credit(1, backlog, RTT, us(10)));
    gate
}

#[test]
fn the_early_stop_waits_for_the_first_credit_of_a_request_that_was_accepted() {
    let mut gate = SenderGate::new(GateConfig { early_stop: true, ..CONFIG });
    gate.on_data(us(0));
    gate.take_signal();
    gate.on_accept(1, 3, us(20));
    assert!(gate.on_credit(1, 3, RTT, us(30)));
    assert_eq!(gate.take_signal(), None, "a round trip of 30 us begins");
    assert!(gate.on_credit(1, 2, RTT, us(60)));
    assert_eq!(gate.take_signal(), Some(Signal::Stop), "two credits came, one frame is left");
}

#[test]
fn a_credit_of_another_session_before_the_first_one_does_not_stop_early() {
    let mut gate = SenderGate::new(GateConfig { early_stop: true, ..CONFIG });
    gate.on_data(us(0));
    gate.take_signal();
    gate.on_accept(1, 3, us(20));
    gate.on_credit(7, 2, RTT, us(25));
    assert_eq!((gate.state(), gate.take_signal()), (State::Receiving, None));
}

#[test]
fn data_asks_for_credits_and_the_first_credit_answers_the_request() {
    let gate = receiving(CONFIG, 2);
    assert_eq!((gate.state(), gate.session(), gate.next_timeout()), (State::Receiving, 1, Time::MAX));
}

#[test]
fn a_request_without_answer_is_repeated_with_exponential_back_off() {
    let mut gate = SenderGate::new(CONFIG);
    gate.on_data(us(0));
    assert_eq!(gate.take_signal(), Some(Signal::Request));
    for at in [200, 600, 1_400, 3_000] {
        assert_eq!(gate.next_timeout(), us(at), "E17-11");
        assert!(gate.on_timer(1, us(at)));
        assert_eq!((gate.take_signal(), gate.session()), (Some(Signal::Request), 1));
    }
}

#[test]
fn no_data_for_the_idle_timeout_stops_the_credits() {
    let mut gate = receiving(CONFIG, 1);
    assert_eq!(gate.next_timeout(), us(20));
    assert!(!gate.on_credit(1, 0, RTT, us(12)), "ignored: it becomes lost at the receiver");
    assert_eq!(gate.next_timeout(), us(20), "and does not prolong the wait");
    gate.on_timer(0, us(20));
    assert_eq!((gate.state(), gate.take_signal()), (State::StopSent, Some(Signal::Stop)));
    gate.on_stopped(1, true, 0, us(30));
    assert_eq!((gate.state(), gate.next_timeout()), (State::Closed, Time::MAX));
}

#[test]
fn new_data_before_the_timeout_keeps_the_credits() {
    let mut gate = receiving(CONFIG, 1);
    gate.on_data(us(15));
    assert_eq!((gate.state(), gate.next_timeout()), (State::Receiving, Time::MAX));
    assert!(gate.on_credit(1, 1, RTT, us(18)));
    assert_eq!(gate.next_timeout(), us(28));
}

#[test]
fn new_data_after_a_stop_opens_a_session_that_only_its_own_credits_confirm() {
    let mut gate = receiving(CONFIG, 1);
    gate.on_timer(0, us(20));
    assert_eq!(gate.take_signal(), Some(Signal::Stop));
    gate.on_data(us(22));
    assert_eq!((gate.take_signal(), gate.session()), (Some(Signal::Request), 2));
    assert!(gate.on_credit(1, 2, RTT, us(23)), "a credit of the old session is as good as any");
    assert_eq!(gate.state(), State::RequestSent, "but does not show that the request arrived");
    gate.on_stopped(1, true, 1, us(24));
    assert_eq!(gate.state(), State::RequestSent, "nor does the answer to the old stop matter");
    assert!(gate.on_credit(2, 1, RTT, us(32)));
    assert_eq!(gate.state(), State::Receiving);
}

#[test]
fn a_lost_stop_is_repeated_when_credits_still_arrive_and_by_timer() {
    let mut gate = receiving(CONFIG, 1);
    gate.on_timer(0, us(20));
    assert_eq!(gate.take_signal(), Some(Signal::Stop));
    assert!(!gate.on_credit(1, 0, RTT, us(30)));
    assert_eq!(gate.take_signal(), None, "that credit was on its way");
    assert!(!gate.on_credit(1, 0, RTT, us(41)));
    assert_eq!(gate.take_signal(), Some(Signal::Stop), "that one was sent after the stop");
    assert!(!gate.on_credit(1, 0, RTT, us(42)));
    assert_eq!(gate.take_signal(), None, "one stop a round trip");
    assert!(gate.on_timer(0, us(220)));
    assert_eq!(gate.take_signal(), Some(Signal::Stop));
}

#[test]
fn the_request_of_a_new_session_is_repeated_as_early_as_the_first_one_however_often_the_stop_was() {
    let mut gate = receiving(CONFIG, 1);
    assert!(!gate.on_timer(0, us(20)));
    assert_eq!(gate.take_signal(), Some(Signal::Stop));
    for at in [220, 620, 1_420] {
        assert!(gate.on_timer(0, us(at)), "no answer");
        assert_eq!(gate.take_signal(), Some(Signal::Stop));
    }
    gate.on_data(us(2_000));
    assert_eq!((gate.take_signal(), gate.session()), (Some(Signal::Request), 2));
    assert_eq!(gate.next_timeout(), us(2_200));
}

#[test]
fn a_stop_answered_with_a_gap_asks_for_credits_again() {
    let mut gate = receiving(CONFIG, 1);
    gate.on_timer(0, us(20));
    gate.take_signal();
    gate.on_stopped(1, false, 1, us(30));
    assert_eq!((gate.state(), gate.take_signal()), (State::RequestSent, Some(Signal::Request)));
}

#[test]
fn without_an_idle_timeout_the_credit_that_takes_the_last_data_stops_the_credits() {
    let mut gate = receiving(GateConfig { idle: Span::ZERO, ..CONFIG }, 2);
    assert_eq!(gate.take_signal(), None);
    assert!(gate.on_credit(1, 1, RTT, us(12)));
    assert_eq!((gate.state(), gate.take_signal()), (State::StopSent, Some(Signal::Stop)));
}

#[test]
fn without_back_off_a_request_is_repeated_at_even_intervals() {
    let mut gate = SenderGate::new(GateConfig { backs_off: false, ..CONFIG });
    gate.on_data(us(0));
    for at in [200, 400, 600, 800] {
        assert_eq!(gate.next_timeout(), us(at));
        assert!(gate.on_timer(1, us(at)));
    }
}

#[test]
fn the_early_stop_compares_once_per_round_trip_of_the_last_request() {
    // The sender's estimate, RTT, is shorter than the 50 us that the first credit takes.
    let mut gate = SenderGate::new(GateConfig { early_stop: true, ..CONFIG });
    gate.on_data(us(0));
    assert!(gate.on_timer(3, us(200)));
    assert_eq!(gate.take_signal(), Some(Signal::Request));
    assert!(gate.on_credit(1, 4, RTT, us(250)));
    assert!(gate.on_credit(1, 3, RTT, us(299)));
    assert_eq!(gate.take_signal(), None, "49 us after the first credit");
    assert!(gate.on_credit(1, 2, RTT, us(300)));
    assert_eq!(gate.take_signal(), Some(Signal::Stop), "three credits came, one frame is left");
    assert_eq!(gate.next_timeout(), us(400), "two round trips for the credits on their way");
    assert!(!gate.on_timer(1, us(399)));
    gate.on_timer(1, us(400));
    assert_eq!((gate.take_signal(), gate.session()), (Some(Signal::Request), 2));
}

#[test]
fn credits_that_come_after_an_early_stop_count_for_the_next_one() {
    let mut gate = receiving(GateConfig { early_stop: true, ..CONFIG }, 20);
    for credit in 0..10 {
        gate.on_credit(1, 19 - credit, RTT, us(11 + credit));
    }
    assert_eq!(gate.take_signal(), Some(Signal::Stop), "eleven credits came, nine frames are left");
    for credit in 0..4 {
        assert!(gate.on_credit(1, 9 - credit, RTT, us(21 + credit)));
    }
    gate.on_timer(5, us(40));
    assert_eq!(gate.take_signal(), Some(Signal::Request));
    assert!(gate.on_credit(2, 5, RTT, us(60)));
    assert_eq!(gate.take_signal(), None);
    assert!(gate.on_credit(2, 4, RTT, us(80)));
    assert_eq!(
        gate.take_signal(),
        Some(Signal::Stop),
        "four and two for three, where two alone would not do"
    );
}

#[test]
fn with_stop_by_mark_the_last_data_packet_is_the_stop() {
    let mut gate = receiving(GateConfig { stop_by_mark: true, ..CONFIG }, 1);
    assert_eq!((gate.state(), gate.take_signal()), (State::StopSent, None));
    assert_eq!(gate.next_timeout(), us(210), "a lost mark is noticed by the timer");
    assert!(gate.on_credit(1, 1, RTT, us(50)), "a loss is mended with the credits that still come");
    assert_eq!((gate.state(), gate.take_signal()), (State::StopSent, None));
    gate.on_stopped(1, true, 0, us(60));
    assert_eq!((gate.state(), gate.next_timeout()), (State::Closed, Time::MAX));
}

#[test]
fn an_early_stop_goes_out_once_the_credits_of_a_round_trip_cover_what_is_left() {
    let mut gate = receiving(GateConfig { early_stop: true, ..CONFIG }, 20);
    for credit in 0..9 {
        assert!(gate.on_credit(1, 19 - credit, RTT, us(11 + credit)));
        assert_eq!(gate.take_signal(), None, "within the first round trip");
    }
    assert!(gate.on_credit(1, 10, RTT, us(20)));
    assert_eq!(gate.take_signal(), Some(Signal::Stop), "ten credits came, nine frames are left");
    assert!(gate.on_credit(1, 9, RTT, us(21)), "credits on their way are spent");
    gate.on_stopped(1, false, 8, us(22));
    assert_eq!(gate.state(), State::StopSent, "more may be on their way");
    gate.on_timer(8, us(220));
    assert_eq!(gate.take_signal(), Some(Signal::Request), "they were not enough");
}
