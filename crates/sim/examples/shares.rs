//! Prints a table of how long flows use and share one link, with a row for each network and a column for each
//! transport.
//!
//! Run it with `cargo run --release --example shares -- [rates=10,25,100] [flows=2,4,8,16,32,64] [rtts=25]
//! [nets=plain,delay,rtt2] [seeds=3] SETTING ...`, where a SETTING is `transport` or `transport,parameter=value,...`. A
//! cell of the table holds the utilisation, and Jain's fairness index over 1 ms and over 10 ms.

#[path = "../tests/common/mod.rs"]
mod common;

use clearway_proto::AnyTransport;
use common::shares::{Cell, Net};
use std::error::Error;
use std::io::Write;

/// Round-trip times of which the longest is twice the shortest.
const RTT2: Net = Net::UnequalRtts(67, 133);
/// Round-trip times of which the longest is four times the shortest.
const RTT4: Net = Net::UnequalRtts(40, 160);

fn main() -> Result<(), Box<dyn Error>> {
    let (mut rates, mut flows) = (vec![10, 25, 100], vec![2, 4, 8, 16, 32, 64]);
    let (mut nets, mut seeds) = (vec![Net::Plain, Net::HostDelay, RTT2], 3);
    let (mut rtts, mut settings) = (vec![25], Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("rates", list)) => rates = numbers(list)?,
            Some(("rtts", list)) => rtts = numbers(list)?,
            Some(("flows", list)) => flows = numbers(list)?,
            Some(("nets", list)) => nets = list.split(',').map(net).collect::<Result<_, _>>()?,
            Some(("seeds", count)) => seeds = count.parse()?,
            _ => settings.push((setting(&argument)?, argument)),
        }
    }
    let names: Vec<&str> = settings.iter().map(|(_, name)| name.as_str()).collect();
    println!(
        "| net | RTT | rate | flows | {} |\n|---|---|---|---{}|",
        names.join(" | "),
        "|---".repeat(names.len())
    );
    for (net, rtt) in nets.iter().flat_map(|net| rtts.iter().map(move |rtt| (*net, *rtt))) {
        for (gbps, flows) in
            rates.iter().flat_map(|rate| flows.iter().map(move |flows| (*rate, *flows as u32)))
        {
            print!("| {net} | {rtt} us | {gbps} Gbps | {flows} |");
            for (transport, _) in &settings {
                let shares = Cell { gbps, flows, rtt, net }.mean(transport, seeds);
                print!(" {:.3} {:.2} {:.3} |", shares.used, shares.jain_1ms, shares.jain_10ms);
                std::io::stdout().flush()?;
            }
            println!();
        }
    }
    Ok(())
}

fn numbers(list: &str) -> Result<Vec<u64>, std::num::ParseIntError> {
    list.split(',').map(str::parse).collect()
}

fn net(name: &str) -> Result<Net, String> {
    match name {
        "plain" => Ok(Net::Plain),
        "delay" => Ok(Net::HostDelay),
        "rtt2" => Ok(RTT2),
        "rtt4" => Ok(RTT4),
        _ => Err(format!("nets are plain, delay, rtt2 and rtt4, not {name}")),
    }
}

fn setting(text: &str) -> Result<AnyTransport, Box<dyn Error>> {
    let mut parts = text.split(',');
    let name = parts.next().expect("a text has a first part");
    let mut transport = AnyTransport::by_name(name).ok_or_else(|| format!("no transport {name}"))?;
    for part in parts {
        let (key, value) = part.split_once('=').ok_or("write parameter=value")?;
        transport.set(key, value).map_err(|error| error.to_string())?;
    }
    Ok(transport)
}
