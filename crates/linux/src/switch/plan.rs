//! From the configuration of a switch to commands that set it up.

use super::config::{Config, Port, SwitchError};
use super::layout::{
    CREDIT_CLASS, CREDIT_HANDLE, DATA_CLASS, DATA_HANDLE, FILTER_PREFERENCE, KIND_AT, LINK_CLASS, NO_MARKS,
    SIGNAL_CLASS, SIGNAL_HANDLE, UDP_KIND_AT, UDP_PREFERENCES,
};
use super::present::{Present, PresentPort};
use crate::rules::{Plan, Step};
use crate::wire::{Carrier, ETHERTYPE, Kind};
use clearway_planner::htb::{MPU, OVERHEAD, QUANTUM};
use std::path::Path;

/// Returns the commands that set the switch up, on a machine that is in the state `present`.
///
/// `daemon` is the program `clearwayd`, which writes the marking program for the kernel to `object`.
pub fn plan(config: &Config, present: &Present, daemon: &Path, object: &Path) -> Result<Plan, SwitchError> {
    config.check()?;
    let mut steps = Vec::new();
    let [daemon, object] = [daemon, object].map(|path| path.display().to_string());
    steps.push(Step {
        purpose: "The kernel's program that counts and marks packets is written to a file.".into(),
        command: vec![daemon, "object".into(), "ecn".into(), "--output".into(), object.clone()],
        undo: Some(vec!["rm".into(), "-f".into(), object.clone()]),
    });
    if let Some(bridge) = &config.bridge {
        let name = &bridge.name;
        match (present.links.get(name), bridge.create) {
            (Some(_), true) => return Err(SwitchError::BridgeExists(name.clone())),
            (None, false) => return Err(SwitchError::NoDevice(name.clone())),
            (Some(link), false) if !link.is_bridge => return Err(SwitchError::NoBridge(name.clone())),
            (Some(_), false) => {}
            (None, true) => {
                let purpose = "The bridge forwards frames between the ports, without a spanning tree.";
                let undo = format!("ip link del dev {name}");
                let command = format!(
                    "ip link add name {name} type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
                );
                steps.push(step(purpose, &command, Some(&undo)));
                steps.push(step("The bridge is switched on.", &format!("ip link set dev {name} up"), None));
            }
        }
    }
    for port in &config.ports {
        let device = &port.device;
        let found = present.links.get(device).ok_or_else(|| SwitchError::NoDevice(device.clone()))?;
        if let Some(qdisc) = &found.root {
            return Err(SwitchError::HasQdisc { device: device.clone(), qdisc: qdisc.clone() });
        }
        if found.has_filter {
            return Err(SwitchError::HasFilter(device.clone()));
        }
        steps.extend(offloads(device, found));
        steps.extend(queues(config, port));
        steps.extend(marking(config, device, found, &object));
        steps.extend(membership(config, device, found)?);
    }
    Ok(Plan { steps })
}

/// Returns the commands that make the ports those of a switch in user space: no kernel forwards between them, offloads
/// that join frames are off, and they are switched on.
pub fn plan_user_space(config: &Config, present: &Present) -> Result<Plan, SwitchError> {
    config.check()?;
    let mut steps = Vec::new();
    for port in &config.ports {
        let device = &port.device;
        let found = present.links.get(device).ok_or_else(|| SwitchError::NoDevice(device.clone()))?;
        if let Some(master) = &found.master {
            return Err(SwitchError::ForwardsTwice { device: device.clone(), master: master.clone() });
        }
        steps.extend(offloads(device, found));
        steps.extend(membership(config, device, found)?);
    }
    Ok(Plan { steps })
}

/// The offloads that join frames to larger ones are switched off, because HTB would forward these whole.
fn offloads(device: &str, found: &PresentPort) -> Option<Step> {
    let set = |to: &str| {
        let each = found.offloads.iter().map(|name| format!(" {name} {to}")).collect::<String>();
        format!("ethtool -K {device}{each}")
    };
    let purpose =
        format!("{device} joins no frames to larger ones, which the queues would count and send as one.");
    (!found.offloads.is_empty()).then(|| step(&purpose, &set("off"), Some(&set("on"))))
}

/// Returns the qdiscs, classes and filters of a port.
fn queues(config: &Config, port: &Port) -> Vec<Step> {
    let device = &port.device;
    let htb = config.htb(port);
    let borrows = |id: u32,
                   parent: &str,
                   (rate, burst): (u64, u64),
                   (ceil, cburst): (u64, u64),
                   rest: &str| {
        format!(
            "tc class add dev {device} parent {parent} classid {} htb rate {rate}bit ceil {ceil}bit burst {burst} \
             cburst {cburst}{rest} overhead {OVERHEAD} mpu {MPU} quantum {QUANTUM}",
            name(id)
        )
    };
    let class = |id: u32, parent: &str, rate: u64, burst: u64, rest: &str| {
        borrows(id, parent, (rate, burst), (rate, burst), rest)
    };
    let (rate, credit_rate) = (htb.rate.as_bps(), htb.credit_rate.as_bps());
    let signals = (htb.signal_rate.as_bps(), htb.signal_burst);
    let queue = |class: u32, handle: u32, limit: u32| {
        format!(
            "tc qdisc add dev {device} parent {} handle {:x}: pfifo limit {limit}",
            name(class),
            handle >> 16
        )
    };
    let filter = format!("tc filter add dev {device} parent 1: protocol");
    let credits = name(CREDIT_CLASS);
    let mut steps = vec![
        step(
            &format!("The port {device} sends what its classes allow; whatever is no credit is data."),
            &format!("tc qdisc add dev {device} root handle 1: htb default 20"),
            Some(&format!("tc qdisc del dev {device} root")),
        ),
        step(
            "Credits and data together have the rate of the link.",
            &class(LINK_CLASS, "1:", rate, htb.burst, ""),
            None,
        ),
        step(
            "Credits have the share of the link that makes room for the data which they release.",
            &class(CREDIT_CLASS, "1:1", credit_rate, htb.credit_burst, " prio 0"),
            None,
        ),
        step(
            "Signals, which are requests for credits, stops and the answers to both, have room beside credits.",
            &borrows(SIGNAL_CLASS, "1:1", signals, (rate, htb.burst), " prio 0"),
            None,
        ),
        step("Data has the rest.", &class(DATA_CLASS, "1:1", rate, htb.burst, " prio 1"), None),
        step("Few credits wait.", &queue(CREDIT_CLASS, CREDIT_HANDLE, config.credit_queue), None),
        step(
            "Signals wait in their own queue.",
            &queue(SIGNAL_CLASS, SIGNAL_HANDLE, config.signal_queue),
            None,
        ),
        step("Data waits in its own queue.", &queue(DATA_CLASS, DATA_HANDLE, config.data_queue), None),
        step(
            "Credits go to their class.",
            &format!(
                "{filter} {ETHERTYPE:#06x} prio 1 u32 match u8 {} 0xff at {KIND_AT} flowid {credits}",
                Kind::Credit as u8
            ),
            None,
        ),
        step(
            "All other control frames are signals.",
            &format!("{filter} {ETHERTYPE:#06x} prio 2 u32 match u32 0 0 flowid {}", name(SIGNAL_CLASS)),
            None,
        ),
    ];
    if let Carrier::Udp(port) = config.carrier {
        let signals = name(SIGNAL_CLASS);
        let credit = Kind::Credit as u8;
        let [four, six] = UDP_PREFERENCES;
        for (protocol, ip, over, at, preference) in
            [("ip", "ip", "IPv4", UDP_KIND_AT[0], four), ("ipv6", "ip6", "IPv6", UDP_KIND_AT[1], six)]
        {
            let matched = format!("u32 match {ip} protocol 17 0xff match {ip} dport {port} 0xffff");
            let next = preference + 1;
            steps.push(step(
                &format!("Credits in UDP datagrams over {over} go to their class."),
                &format!("{filter} {protocol} prio {preference} {matched} match u8 {credit} 0xff at {at} flowid {credits}"),
                None,
            ));
            steps.push(step(
                &format!("All other datagrams over {over} to the port of control frames are signals."),
                &format!("{filter} {protocol} prio {next} {matched} flowid {signals}"),
                None,
            ));
        }
    }
    if let Some(dscp) = config.credit_dscp {
        let field = dscp << 2;
        steps.push(step(
            "IPv4 packets with the DSCP of credits go to the class of credits.",
            &format!("{filter} ip prio 3 u32 match ip dsfield {field:#04x} 0xfc flowid {credits}"),
            None,
        ));
        steps.push(step(
            "IPv6 packets with the DSCP of credits go to the class of credits.",
            &format!("{filter} ipv6 prio 4 u32 match ip6 priority {field:#04x} 0xfc flowid {credits}"),
            None,
        ));
    }
    steps
}

/// Returns the program at the port's egress that counts and marks.
fn marking(config: &Config, device: &str, found: &PresentPort, object: &str) -> Vec<Step> {
    let clsact = step(
        &format!("Programs can see what leaves by {device}."),
        &format!("tc qdisc add dev {device} clsact"),
        Some(&format!("tc qdisc del dev {device} clsact")),
    );
    let threshold = config.ecn.unwrap_or(NO_MARKS);
    let purpose = match config.ecn {
        Some(threshold) => format!("{device} marks packets that meet more than {threshold} waiting packets."),
        None => format!("{device} counts the packets that wait, and marks none."),
    };
    let place = format!("dev {device} egress pref {FILTER_PREFERENCE} protocol all");
    let mut command = words(&format!("tc filter add {place} bpf da object-file"));
    command.push(object.into());
    command.extend(words(&format!("section tc classid :{threshold:x}")));
    let undo = found.has_clsact.then(|| words(&format!("tc filter del {place}")));
    let filter = Step { purpose, command, undo };
    if found.has_clsact { vec![filter] } else { vec![clsact, filter] }
}

/// The port joins its bridge and is switched on, after its queues are there: no packet passes without them.
fn membership(config: &Config, device: &str, found: &PresentPort) -> Result<Vec<Step>, SwitchError> {
    let mut steps = Vec::new();
    match (&config.bridge, &found.master) {
        (Some(bridge), Some(master)) if bridge.name != *master => {
            return Err(SwitchError::HasMaster { device: device.into(), master: master.clone() });
        }
        (Some(bridge), None) => steps.push(step(
            &format!("{device} is a port of {}.", bridge.name),
            &format!("ip link set dev {device} master {}", bridge.name),
            Some(&format!("ip link set dev {device} nomaster")),
        )),
        _ => {}
    }
    if !found.is_up {
        let set = |to: &str| format!("ip link set dev {device} {to}");
        steps.push(step(&format!("{device} is switched on."), &set("up"), Some(&set("down"))));
    }
    Ok(steps)
}

fn step(purpose: &str, command: &str, undo: Option<&str>) -> Step {
    Step { purpose: purpose.into(), command: words(command), undo: undo.map(words) }
}

/// Returns the words of a command in which no name has a space ([`Config::check`]).
fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// Returns the name of a class as tc writes it.
fn name(class: u32) -> String {
    format!("{:x}:{:x}", class >> 16, class & 0xffff)
}

#[cfg(test)]
mod tests;
