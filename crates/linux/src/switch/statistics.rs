//! The counters of a switch made of traffic control, for statistics.

use super::config::{Config, SwitchError};
use super::layout::{CREDIT_HANDLE, DATA_HANDLE, FILTER_PREFERENCE, SIGNAL_HANDLE};
use super::netlink::Netlink;
use super::present::Present;
use super::reading::{Counters, Reading};
use crate::datapath::Metric;
use crate::io::PerCpuArray;
use std::io;

/// The counters that the marking program keeps, in the order of `struct counters` in `bpf/ecn.bpf.c`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Marks {
    marked: u64,
    not_capable: u64,
    packets_max: u64,
    bytes_max: u64,
}

/// A port whose counters are read.
#[derive(Debug)]
struct Port {
    name: &'static str,
    index: i32,
    marks: PerCpuArray<4>,
    credits: Counters,
    signals: Counters,
    data: Counters,
    marked: Marks,
}

/// The counters of all ports of a switch, as they were at the last [`Statistics::read`].
#[derive(Debug)]
pub struct Statistics {
    netlink: Netlink,
    ports: Vec<Port>,
}

impl Statistics {
    /// Opens the counters of a switch that is set up. It needs CAP_SYS_ADMIN, and reading them needs nothing.
    pub fn open(config: &Config) -> Result<Statistics, SwitchError> {
        let failed = |what: &str, error: io::Error| SwitchError::Kernel {
            what: what.into(),
            error: error.to_string(),
        };
        let present = Present::read(config)?;
        let mut netlink = Netlink::open().map_err(|error| failed("its queues", error))?;
        let mut ports = Vec::new();
        for port in &config.ports {
            let name: &'static str = Box::leak(port.device.clone().into_boxed_str());
            let index = present.links.get(name).ok_or_else(|| SwitchError::NoDevice(name.into()))?.index;
            let reading = Reading::ask(&mut netlink, index).map_err(|error| failed(name, error))?;
            let ours = reading.egress.iter().find(|filter| filter.preference == FILTER_PREFERENCE);
            let program = ours.and_then(|filter| filter.program).unwrap_or(0);
            let marks = PerCpuArray::of_program(program)
                .map_err(|error| failed(&format!("the counters of {name}"), error))?;
            let (credits, signals, data) = Default::default();
            ports.push(Port { name, index, marks, credits, signals, data, marked: Marks::default() });
        }
        Ok(Statistics { netlink, ports })
    }

    /// Reads all counters.
    pub fn read(&mut self) -> io::Result<()> {
        for port in &mut self.ports {
            for qdisc in Reading::ask_qdiscs(&mut self.netlink, port.index)? {
                match qdisc.handle {
                    CREDIT_HANDLE => port.credits = qdisc.counters,
                    SIGNAL_HANDLE => port.signals = qdisc.counters,
                    DATA_HANDLE => port.data = qdisc.counters,
                    _ => {}
                }
            }
            let mut sum = Marks::default();
            for &[marked, not_capable, packets_max, bytes_max] in port.marks.read()? {
                sum.marked += marked;
                sum.not_capable += not_capable;
                sum.packets_max = sum.packets_max.max(packets_max);
                sum.bytes_max = sum.bytes_max.max(bytes_max);
            }
            port.marked = sum;
        }
        Ok(())
    }

    /// Hands all counters to `each`, those of one name together.
    pub fn metrics(&self, each: &mut dyn FnMut(Metric)) {
        type Value = fn(&Port) -> u64;
        let all: [(&'static str, &'static str, Value); 13] = [
            ("credits_forwarded_total", "Credits that left by the port.", |p| p.credits.packets),
            ("credits_dropped_total", "Credits for which the port's queue of credits had no room.", |p| {
                p.credits.drops.into()
            }),
            ("credits_waiting", "Credits that wait at the port.", |p| p.credits.waiting.into()),
            ("signals_forwarded_total", "Requests, stops and answers to them that left by the port.", |p| {
                p.signals.packets
            }),
            (
                "signals_dropped_total",
                "Requests, stops and answers for which the port's queue of signals had no room.",
                |p| p.signals.drops.into(),
            ),
            ("signals_waiting", "Requests, stops and answers that wait at the port.", |p| {
                p.signals.waiting.into()
            }),
            ("data_forwarded_total", "Other packets that left by the port.", |p| p.data.packets),
            ("data_forwarded_bytes_total", "Bytes of these packets, with Ethernet headers.", |p| {
                p.data.bytes
            }),
            ("data_dropped_total", "Other packets for which the port's queue had no room.", |p| {
                p.data.drops.into()
            }),
            ("data_waiting", "Other packets that wait at the port.", |p| p.data.waiting.into()),
            ("data_waiting_max", "The most packets that waited at the port when another came.", |p| {
                p.marked.packets_max
            }),
            ("marked_total", "Packets that met a queue above the threshold and left with CE.", |p| {
                p.marked.marked
            }),
            (
                "unmarkable_total",
                "Packets that met a queue above the threshold and take no part in ECN.",
                |p| p.marked.not_capable,
            ),
        ];
        for (name, help, value) in all {
            for port in &self.ports {
                each(Metric { name, help, label: Some(("port", port.name)), value: value(port) as f64 });
            }
        }
    }
}
