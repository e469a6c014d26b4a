//! The networks and parameters that cases begin with.

use crate::choices::Reading;
use clearway_proto::uec::{BothParams, NsccParams, RcccParams, Uec, UecNscc, UecRccc};
use clearway_proto::{Env, Framing, Transport};
use clearway_schema::Declared;
use clearway_units::{Rate, Span};

/// The sizes of packets in the consortium's simulator: 4150 bytes on the wire, 64 of them headers.
pub const FRAMING: Framing = Framing { payload_max: 4086, overhead: 64, wire_min: 64 };

/// Returns the environment of a flow across pods of that simulator's fat tree, whose links take 1 us.
pub fn env(gbps: u64) -> Env {
    let ps = if gbps == 100 { 14_022_720 } else { 12_505_680 };
    let (rate, rtt) = (Rate::gbps(gbps), Span::from_ps(ps));
    Env {
        line_rate: rate,
        path_rate: rate,
        base_rtt: rtt,
        network_rtt: rtt,
        framing: FRAMING,
        established: true,
        host_flows: 0,
    }
}

/// Returns the parameters of `uec-nscc` under a reading.
pub fn of_nscc(reading: Reading) -> NsccParams {
    of::<UecNscc>(reading)
}

/// Returns the parameters of `uec-rccc` under a reading.
pub fn of_rccc(reading: Reading) -> RcccParams {
    of::<UecRccc>(reading)
}

/// Returns the parameters of `uec` under a reading.
pub fn of_both(reading: Reading) -> BothParams {
    of::<Uec>(reading)
}

/// Returns a transport's parameters under a reading: its defaults, or those of the profile of that name.
fn of<T: Transport>(reading: Reading) -> T::Params
where
    T::Params: Default,
{
    let mut params = T::Params::default();
    let name = reading.to_string();
    for profile in T::PROFILES.iter().filter(|profile| profile.name == name) {
        for &(key, value) in profile.values {
            params.set(key, value).expect("a profile has values for parameters that there are");
        }
    }
    params
}
