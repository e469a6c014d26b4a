//! The header of a recording: the settings of the host and its seed, as a text in TOML.

use super::bytes::RecordError;
use super::text::{Line, PARAMETERS, number, word};
use crate::host::{Host, HostConfig, HostParams};
use crate::wire::{Carrier, MacAddr};
use clearway_schema::Declared;
use clearway_units::{Rate, Span};
use std::fmt::Write as _;

/// The title of the table of parameters of the host.
const HOST: &str = "host";
/// The key that says that small packets leave in the kernel.
const KERNEL_PATH: &str = "kernel_path";
/// The key that says that bulk data does too.
const BULK_PATH: &str = "bulk_path";
/// The key that says that the kernel takes credits for small packets.
const CREDIT_PATH: &str = "credit_path";
/// The key of the UDP port of control frames, which is there if they travel so.
const UDP_PORT: &str = "control_port";

/// Everything that a host is made of.
#[derive(Clone, Debug)]
pub struct Header {
    /// The settings.
    pub config: HostConfig,
    /// The seed.
    pub seed: u64,
}

impl Header {
    /// Makes the host that was recorded, in its first state.
    pub fn host(&self) -> Result<Host, RecordError> {
        Host::new(self.config.clone(), self.seed).map_err(|error| RecordError::Header(error.to_string()))
    }

    pub(super) fn to_text(&self) -> String {
        let HostConfig {
            address,
            rate,
            mtu,
            carrier,
            kernel_path,
            bulk_path,
            credit_path,
            transport,
            params,
        } = &self.config;
        let mut text = format!("program = \"clearwayd {}\"\n", env!("CARGO_PKG_VERSION"));
        // Writing to a string never fails.
        let _ = write!(text, "seed = \"{:#018x}\"\naddress = \"{address}\"\n", self.seed);
        let _ = write!(
            text,
            "rate_bps = {}\nmtu = {mtu}\ntransport = \"{}\"\n",
            rate.as_bps(),
            transport.info().name
        );
        if let Carrier::Udp(port) = carrier {
            let _ = writeln!(text, "{UDP_PORT} = {port}");
        }
        if *kernel_path {
            let _ = writeln!(text, "{KERNEL_PATH} = true");
        }
        if *bulk_path {
            let _ = writeln!(text, "{BULK_PATH} = true");
        }
        if *credit_path {
            let _ = writeln!(text, "{CREDIT_PATH} = true");
        }
        for (title, values) in [(PARAMETERS, transport.write()), (HOST, params.write())] {
            let _ = writeln!(text, "\n[{title}]");
            values.iter().for_each(|(name, value)| {
                let _ = writeln!(text, "{name} = {value}");
            });
        }
        text
    }

    pub(super) fn of_lines(lines: &[Line<'_>]) -> Result<Header, String> {
        let word = |key: &str| word(lines, key);
        let number = |key: &str| number(lines, key);
        let seed = word("seed")?.trim_start_matches("0x");
        let seed = u64::from_str_radix(seed, 16).map_err(|error| format!("seed: {error}"))?;
        let mut transport = HostConfig::transport(word("transport")?).map_err(|error| error.to_string())?;
        // Daemons before these settings kept nothing of a credit, and let packets wait.
        let mut params = HostParams { leftover: 0, wait_max: Span::ZERO, ..HostParams::default() };
        for Line { table, key, value } in lines {
            match *table {
                PARAMETERS => transport.set(key, *value),
                HOST => params.set(key, *value),
                _ => Ok(()),
            }
            .map_err(|error| format!("{key} = {value}: {error}"))?;
        }
        let carrier = match lines.iter().any(|line| line.table.is_empty() && line.key == UDP_PORT) {
            false => Carrier::Ethernet,
            true => Carrier::Udp(word(UDP_PORT)?.parse().map_err(|error| format!("{UDP_PORT}: {error}"))?),
        };
        let config = HostConfig {
            address: address(word("address")?).ok_or("address is no Ethernet address")?,
            rate: Rate::bps(number("rate_bps")?),
            mtu: number("mtu")?.try_into().map_err(|_| "mtu is too large")?,
            carrier,
            kernel_path: word(KERNEL_PATH).is_ok_and(|value| value == "true"),
            bulk_path: word(BULK_PATH).is_ok_and(|value| value == "true"),
            credit_path: word(CREDIT_PATH).is_ok_and(|value| value == "true"),
            transport,
            params,
        };
        Ok(Header { config, seed })
    }
}

fn address(text: &str) -> Option<MacAddr> {
    let mut bytes = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut bytes {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(MacAddr(bytes))
}
