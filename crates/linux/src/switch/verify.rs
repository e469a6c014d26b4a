//! Comparing what the kernel enforces at the ports of a switch with what was asked of it.

use super::config::{Config, Port, SwitchError};
use super::layout::{
    CREDIT_CLASS, CREDIT_HANDLE, DATA_CLASS, DATA_HANDLE, FILTER_PREFERENCE, KIND_AT, LINK_CLASS, NO_MARKS,
    SIGNAL_CLASS, SIGNAL_HANDLE, UDP_PREFERENCES,
};
use super::netlink::Netlink;
use super::present::Present;
use super::reading::{Class, Reading};
use crate::wire::{Carrier, ETHERTYPE, Kind};
use clearway_planner::htb::{MPU, OVERHEAD};
use clearway_proto::port::CreditShaping;
use std::fmt;

/// A difference between what was asked and what the kernel does.
#[derive(Clone, PartialEq, Debug)]
pub struct Deviation {
    /// The NIC, or the bridge.
    pub device: String,
    /// The quantity that differs.
    pub what: &'static str,
    /// What was asked.
    pub asked: String,
    /// What the kernel does.
    pub found: String,
    /// True if the difference is only that the kernel counts in coarse units, and less than a thousandth.
    pub is_rounding: bool,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deviation { device, what, asked, found, is_rounding } = self;
        let why = if *is_rounding { " (the kernel rounds)" } else { "" };
        write!(f, "{device}: {what} is {found} instead of {asked}{why}")
    }
}

/// Reads all settings back from the kernel and returns the differences; without any, the list is empty.
pub fn verify(config: &Config) -> Result<Vec<Deviation>, SwitchError> {
    let failed = |what: &str, error: std::io::Error| SwitchError::Kernel {
        what: what.into(),
        error: error.to_string(),
    };
    let present = Present::read(config)?;
    let mut netlink = Netlink::open().map_err(|error| failed("its queues", error))?;
    let mut found = Vec::new();
    for port in &config.ports {
        let device = &port.device;
        let link = present.links.get(device).ok_or_else(|| SwitchError::NoDevice(device.clone()))?;
        let reading = Reading::ask(&mut netlink, link.index).map_err(|error| failed(device, error))?;
        found.extend(compare(config, port, &reading));
        let mut check = |what, asked: String, is: String| {
            if asked != is {
                found.push(Deviation { device: device.clone(), what, asked, found: is, is_rounding: false });
            }
        };
        check("the list of offloads that are on", String::new(), link.offloads.join(", "));
        check("the MTU", "1500".into(), link.mtu.to_string());
        check("the state", "up".into(), (if link.is_up { "up" } else { "down" }).into());
        if let Some(bridge) = &config.bridge {
            check("the bridge", bridge.name.clone(), link.master.clone().unwrap_or("none".into()));
        }
    }
    Ok(found)
}

/// Returns the differences in the queues of a port.
pub fn compare(config: &Config, port: &Port, reading: &Reading) -> Vec<Deviation> {
    let mut all = Vec::new();
    let mut add = |what, asked: String, found: String, is_rounding| {
        if asked != found {
            all.push(Deviation { device: port.device.clone(), what, asked, found, is_rounding });
        }
    };
    let text = |value: Option<u32>| value.map_or("none".into(), |value| value.to_string());
    let (htb, shaping) = (config.htb(port), config.shaping());
    let root = reading.qdisc(0x0001_0000);
    add(
        "the qdisc at the root",
        "htb".into(),
        root.map_or("missing".into(), |qdisc| qdisc.kind.clone()),
        false,
    );
    let default = root.and_then(|qdisc| qdisc.default_class);
    add("the default class", text(Some(DATA_CLASS & 0xffff)), text(default), false);
    let limit = |handle| text(reading.qdisc(handle).and_then(|qdisc| qdisc.limit));
    add("the limit of waiting credits", config.credit_queue.to_string(), limit(CREDIT_HANDLE), false);
    add("the limit of waiting signals", config.signal_queue.to_string(), limit(SIGNAL_HANDLE), false);
    add("the limit of waiting data packets", config.data_queue.to_string(), limit(DATA_HANDLE), false);
    let classes = [
        ("the link's rate", LINK_CLASS, htb.rate, htb.burst, 1538),
        ("the rate of credits", CREDIT_CLASS, htb.credit_rate, htb.credit_burst, shaping.credit.into()),
        ("the rate of signals", SIGNAL_CLASS, htb.signal_rate, htb.signal_burst, shaping.credit.into()),
        ("the rate of data", DATA_CLASS, htb.rate, htb.burst, 1538),
    ];
    let link = reading.class(LINK_CLASS).map_or(0, |class| class.rate);
    for (what, id, rate, burst, wire) in classes {
        let Some(class) = reading.class(id) else {
            add(what, format!("{} bit/s", rate.as_bps()), "missing".into(), false);
            continue;
        };
        let enforced = enforced_bps(class, wire);
        let close = |is: f64, asked: f64| (is / asked - 1.0).abs() < 1e-3;
        let asked_bps = rate.as_bps() as f64;
        // Signals may take what others leave of the link.
        let is_bounded = class.ceil == if id == SIGNAL_CLASS { link } else { class.rate };
        // Less than a bit in a million is not worth a word.
        if (enforced / asked_bps - 1.0).abs() > 1e-6 || !is_bounded {
            let rounds = close(enforced, asked_bps) && is_bounded;
            add(what, format!("{asked_bps} bit/s"), format!("{enforced:.0} bit/s"), rounds);
        }
        let bucket = class.bucket_ns as f64 * class.rate as f64 * 1e-9;
        if (bucket - burst as f64).abs() > 0.5 {
            // tc counts buckets in whole microseconds.
            let rounds = (bucket - burst as f64).abs() <= class.rate as f64 * 1.1e-6;
            let what = match id {
                CREDIT_CLASS => "the bucket of credits",
                SIGNAL_CLASS => "the bucket of signals",
                _ => "the bucket of a class",
            };
            add(what, format!("{burst} B"), format!("{bucket:.1} B"), rounds);
        }
        add("the overhead of a frame", OVERHEAD.to_string(), class.overhead.to_string(), false);
        add("the least size of a frame", MPU.to_string(), class.mpu.to_string(), false);
    }
    let order = |id| reading.class(id).map(|class| class.priority);
    if order(CREDIT_CLASS) >= order(DATA_CLASS) {
        add("the class that goes first", "credits".into(), "data".into(), false);
    }
    if order(SIGNAL_CLASS) >= order(DATA_CLASS) {
        add("the class that goes first", "signals".into(), "data".into(), false);
    }
    let leads = |protocol, key, class| {
        reading
            .filters
            .iter()
            .any(|filter| filter.protocol == protocol && filter.key == Some(key) && filter.class == class)
    };
    let mut filter = |what, protocol, key, class| {
        if !leads(protocol, key, class) {
            add(what, "there".into(), "missing".into(), false);
        }
    };
    // The kernel compares words: the kind is the second byte of the first.
    let shift = 24 - 8 * KIND_AT;
    let credits = (0xff << shift, u32::from(Kind::Credit as u8) << shift, 0);
    filter("the filter of credits", ETHERTYPE, credits, CREDIT_CLASS);
    filter("the filter of signals", ETHERTYPE, (0, 0, 0), SIGNAL_CLASS);
    if let Carrier::Udp(_) = config.carrier {
        // These filters have several keys, which are not read back.
        for (what, protocol, preference) in [
            ("the filters of datagrams over IPv4", 0x0800, UDP_PREFERENCES[0]),
            ("the filters of datagrams over IPv6", 0x86dd, UDP_PREFERENCES[1]),
        ] {
            let is_there = |preference, class| {
                let mut filters = reading.filters.iter();
                filters.any(|filter| {
                    (filter.protocol, filter.preference, filter.class) == (protocol, preference, class)
                })
            };
            if !(is_there(preference, CREDIT_CLASS) && is_there(preference + 1, SIGNAL_CLASS)) {
                add(what, "there".into(), "missing".into(), false);
            }
        }
    }
    let mut filter = |what, protocol, key, class| {
        if !leads(protocol, key, class) {
            add(what, "there".into(), "missing".into(), false);
        }
    };
    if let Some(dscp) = config.credit_dscp {
        let field = u32::from(dscp << 2);
        filter("the filter of IPv4 credits", 0x0800, (0xfc << 16, field << 16, 0), CREDIT_CLASS);
        filter("the filter of IPv6 credits", 0x86dd, (0xfc << 20, field << 20, 0), CREDIT_CLASS);
    }
    let marking = reading.egress.iter().find(|filter| filter.preference == FILTER_PREFERENCE);
    let threshold = |value: u32| match value as u16 {
        NO_MARKS => "none".into(),
        value => value.to_string(),
    };
    add(
        "the marking threshold",
        threshold(config.ecn.unwrap_or(NO_MARKS).into()),
        marking.map_or("missing".into(), |filter| threshold(filter.class & 0xffff)),
        false,
    );
    all
}

/// Returns the rate that HTB enforces for frames of `wire` bytes: it counts the time of a frame in whole nanoseconds,
/// by a multiplication and a shift (`psched_ratecfg_precompute` of the kernel).
fn enforced_bps(class: &Class, wire: u64) -> f64 {
    let rate = class.rate.max(1);
    let (mut factor, mut shift) = (1_000_000_000u64, 0u32);
    while (factor / rate) & (1 << 31) == 0 && factor & (1 << 63) == 0 {
        factor <<= 1;
        shift += 1;
    }
    let mult = factor / rate;
    let ns = (u128::from(wire) * u128::from(mult)) >> shift;
    8e9 * wire as f64 / ns.max(1) as f64
}

/// Returns the credits a second that the kernel lets pass at a port, and those that the share of the link is.
pub fn credit_rates(config: &Config, port: &Port, reading: &Reading) -> Option<(f64, f64)> {
    let CreditShaping { credit, data, .. } = config.shaping();
    let exact = port.rate.as_bps_f64() / 8.0 / f64::from(credit + data);
    let class = reading.class(CREDIT_CLASS)?;
    Some((enforced_bps(class, credit.into()) / 8.0 / f64::from(credit), exact))
}

#[cfg(test)]
mod tests;
