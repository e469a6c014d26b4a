//! How well long flows use and share one link, by transport: a row for each of them, a column for each cell.
//!
//! `cargo run --release --example shares -- [rates=10,25,100] [flows=2,4,8,16,32,64] [rtts=100]
//! [nets=plain,delay,rtt] [seeds=3] SETTING ...`, where a SETTING is `transport` or `transport,parameter=value,...`. A cell is written `use, Jain's index
//! over 1 ms, over 10 ms`.

#[path = "../tests/common/mod.rs"]
mod common;

use clearway_proto::AnyTransport;
use common::shares::{Cell, Net};
use std::error::Error;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut rates, mut flows) = (vec![10, 25, 100], vec![2, 4, 8, 16, 32, 64]);
    let (mut nets, mut seeds) = (vec![Net::Plain, Net::HostDelay, Net::UnequalRtts], 3);
    let (mut rtts, mut settings) = (vec![100], Vec::new());
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
    let mut out = std::io::stdout();
    for (net, rtt) in nets.iter().flat_map(|net| rtts.iter().map(move |rtt| (*net, *rtt))) {
        let cells: Vec<Cell> = (rates.iter())
            .flat_map(|&gbps| flows.iter().map(move |&flows| Cell { gbps, flows: flows as u32, rtt, net }))
            .collect();
        let heads: Vec<String> = cells.iter().map(|cell| format!("{}G, {}", cell.gbps, cell.flows)).collect();
        println!("\n| {net:?}, {rtt} us | {} |\n|---{}|", heads.join(" | "), "|---".repeat(cells.len()));
        for (transport, name) in &settings {
            write!(out, "| `{name}` |")?;
            for cell in &cells {
                let shares = cell.mean(transport, seeds);
                write!(out, " {:.3} {:.2} {:.3} |", shares.used, shares.jain_1ms, shares.jain_10ms)?;
                out.flush()?;
            }
            writeln!(out)?;
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
        "rtt" => Ok(Net::UnequalRtts),
        _ => Err(format!("nets are plain, delay and rtt, not {name}")),
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
