//! `clearwayd switch --user-space true`.

use super::switch::Reported;
use crate::datapath::Metric;
use crate::io::Supervisor;
use crate::rules::Plan;
use crate::service::config::ConfigError;
use crate::service::daemon::Job;
use crate::service::settings::{Settings, SwitchSettings};
use crate::service::stats::Identity;
use crate::switch::soft::{PortBooks, PortConfig, SoftConfig, SoftSwitch};
use crate::switch::{Config, Present, Shell, plan_user_space};
use clearway_proto::AnyMechanismConfig;
use clearway_proto::port::{MarkAt, StepMarker};

/// A daemon that is a switch itself: every packet passes through it.
pub struct SoftSwitchJob {
    config: Config,
    mechanism: Option<(String, AnyMechanismConfig)>,
    shell: Option<Shell>,
}

impl SoftSwitchJob {
    /// Makes the job of a switch whose ports have this mechanism, which is that of a transport.
    pub fn new(
        config: Config,
        mechanism: Option<(String, AnyMechanismConfig)>,
    ) -> Result<SoftSwitchJob, ConfigError> {
        if config.bridge.is_some() || config.credit_dscp.is_some() {
            return Err(ConfigError(
                "--user-space true: takes neither --bridge nor --credit-dscp; the daemon forwards frames itself, and \
                 knows credits of our own hosts alone"
                    .into(),
            ));
        }
        Ok(SoftSwitchJob { config, mechanism, shell: None })
    }
}

impl Job for SoftSwitchJob {
    fn identity(&self) -> Identity {
        let transport = self.mechanism.as_ref().map_or("expresspass", |(name, _)| name).to_owned();
        Identity { mode: SwitchSettings::COMMAND, dev: self.devices().join(","), transport }
    }

    fn devices(&self) -> Vec<String> {
        self.config.ports.iter().map(|port| port.device.clone()).collect()
    }

    fn plan(&mut self) -> Result<Plan, String> {
        let present = Present::read(&self.config).map_err(|error| error.to_string())?;
        plan_user_space(&self.config, &present).map_err(|error| error.to_string())
    }

    fn open(&mut self) -> Result<(), String> {
        self.shell = Some(Shell::open(&self.devices()).map_err(|error| error.to_string())?);
        Ok(())
    }

    fn drive(&mut self, supervisor: &mut dyn Supervisor) -> Result<(), String> {
        let shell = self.shell.as_mut().ok_or("the ports are not open")?;
        let addresses = shell.addresses().map_err(|error| error.to_string())?;
        // A threshold in packets is one in bytes of full frames, as in the simulator.
        let marker = |frames: u16| StepMarker { threshold: u64::from(frames) * 1538, at: MarkAt::Enqueue };
        let config = SoftConfig {
            ports: self.config.ports.iter().map(|port| port.rate).zip(addresses).collect(),
            port: PortConfig {
                shaping: self.config.shaping(),
                carrier: self.config.carrier,
                credit_queue: self.config.credit_queue,
                signal_queue: self.config.signal_queue,
                data_queue: self.config.data_queue,
                marker: self.config.ecn.map(marker),
            },
            mechanism: self.mechanism.as_ref().map(|(_, mechanism)| mechanism.clone()),
        };
        // The names of ports live as long as the daemon.
        let names: Vec<&'static str> =
            self.config.ports.iter().map(|port| &*Box::leak(port.device.clone().into_boxed_str())).collect();
        let mut switch = SoftSwitch::new(&config);
        let driven = shell.drive(&mut switch, &mut |switch, shell, now| {
            supervisor
                .look(&Reported(&|each: &mut dyn FnMut(Metric)| report(switch, shell, &names, each)), now)
        });
        driven.map_err(|error| error.to_string())
    }
}

/// Hands all counters of a switch to `each`, those of one name together.
fn report(switch: &SoftSwitch, shell: &Shell, names: &[&'static str], each: &mut dyn FnMut(Metric)) {
    let books = switch.books();
    let whole = [
        ("frames_received_total", "Frames that came in by any port.", books.received),
        (
            "frames_malformed_total",
            "Frames shorter or longer than those of Ethernet, which were dropped.",
            books.malformed,
        ),
        ("frames_nowhere_total", "Frames for hosts behind the port by which they came.", books.nowhere),
    ];
    for (name, help, value) in whole {
        each(Metric { name, help, label: None, value: value as f64 });
    }
    type Value = fn(&PortBooks) -> u64;
    let all: [(&'static str, &'static str, Value); 11] = [
        ("credits_forwarded_total", "Credits and notifications that left by the port.", |p| p.credits_sent),
        (
            "credits_dropped_total",
            "Credits and notifications for which the port's queues of them had no room.",
            |p| p.credits_dropped,
        ),
        ("signals_forwarded_total", "Requests, stops and answers to them that left by the port.", |p| {
            p.signals_sent
        }),
        (
            "signals_dropped_total",
            "Requests, stops and answers for which the port's queue of signals had no room.",
            |p| p.signals_dropped,
        ),
        ("data_forwarded_total", "Other packets that left by the port.", |p| {
            p.sent - p.credits_sent - p.signals_sent
        }),
        ("data_dropped_total", "Other packets for which the port's queue had no room.", |p| p.data_dropped),
        ("data_waiting", "Other packets that wait at the port.", |p| p.waiting),
        ("data_waiting_max", "The most packets that waited at the port.", |p| p.waiting_max),
        ("marked_total", "Packets that met a queue above the threshold and left with CE.", |p| p.marked),
        ("unmarkable_total", "Packets that met a queue above the threshold and take no part in ECN.", |p| {
            p.not_capable
        }),
        ("notifications_total", "Notifications of congestion to senders behind the port.", |p| {
            p.notifications
        }),
    ];
    for (name, help, value) in all {
        for (port, label) in switch.port_books().zip(names) {
            each(Metric { name, help, label: Some(("port", label)), value: value(port) as f64 });
        }
    }
    let (name, help) = ("frames_unsent_total", "Frames that had left the port and the kernel did not take.");
    for (unsent, label) in shell.unsent().zip(names) {
        each(Metric { name, help, label: Some(("port", label)), value: unsent as f64 });
    }
}
