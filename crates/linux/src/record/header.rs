//! The header of a recording: the settings of the host and its seed, as a text in TOML.

use super::bytes::{RecordError, Source};
use crate::host::{Host, HostConfig, HostParams};
use crate::wire::{Carrier, MacAddr};
use clearway_schema::Declared;
use clearway_units::{Rate, Span};
use std::fmt::Write as _;
use std::io::Read;

/// The first line of a recording, with the version of the format.
const MAGIC: &str = "clearwayd recording 5\n";
/// The first lines of recordings from before TCP was asked for its socket, from before bulk data left in the kernel, and from before any
/// packet did. The entries of the second lack orders, and those of the last ones allowances too.
const MAGIC_BEFORE: [&str; 4] = [
    "clearwayd recording 4\n",
    "clearwayd recording 3\n",
    "clearwayd recording 2\n",
    "clearwayd recording 1\n",
];
/// The longest header.
const LENGTH_MAX: u32 = 1 << 20;

/// The titles of the tables of parameters.
const PARAMETERS: &str = "parameters";
const HOST: &str = "host";
/// The key that says that small packets leave in the kernel.
const KERNEL_PATH: &str = "kernel_path";
/// The key that says that bulk data does too.
const BULK_PATH: &str = "bulk_path";
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

/// The actions that the entries of a recording have, by its version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Has {
    /// Allowances of small packets.
    pub allowances: bool,
    /// Orders about bulk data.
    pub orders: bool,
}

impl Header {
    /// Makes the host that was recorded, in its first state.
    pub fn host(&self) -> Result<Host, RecordError> {
        Host::new(self.config.clone(), self.seed).map_err(|error| RecordError::Header(error.to_string()))
    }

    /// Returns the header as the bytes with which a recording begins.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let text = self.to_text();
        let mut bytes = MAGIC.as_bytes().to_vec();
        bytes.extend_from_slice(&(text.len() as u32).to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    /// Reads the header at the beginning of a recording.
    /// Tells too what its entries have.
    pub(super) fn read<R: Read>(from: &mut Source<R>) -> Result<(Header, Has), RecordError> {
        let no_recording = |_| RecordError::Magic(MAGIC.trim_end());
        let magic: [u8; MAGIC.len()] = from.array().map_err(no_recording)?;
        let mut lines = std::iter::once(MAGIC).chain(MAGIC_BEFORE);
        let age = lines.position(|line| magic == *line.as_bytes());
        let age = age.ok_or_else(|| no_recording(RecordError::CutOff))?;
        let has = Has { orders: age < 2, allowances: age < 3 };
        let len = from.word()?;
        if len > LENGTH_MAX {
            return Err(RecordError::Header("it is too long".into()));
        }
        let mut text = vec![0; len as usize];
        from.fill(&mut text)?;
        let text = String::from_utf8(text).map_err(|_| RecordError::Header("it is no text".into()))?;
        Ok((Header::of_text(&text).map_err(RecordError::Header)?, has))
    }

    fn to_text(&self) -> String {
        let HostConfig { address, rate, mtu, carrier, kernel_path, bulk_path, transport, params } =
            &self.config;
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
        for (title, values) in [(PARAMETERS, transport.write()), (HOST, params.write())] {
            let _ = writeln!(text, "\n[{title}]");
            values.iter().for_each(|(name, value)| {
                let _ = writeln!(text, "{name} = {value}");
            });
        }
        text
    }

    fn of_text(text: &str) -> Result<Header, String> {
        let lines = lines(text)?;
        let word = |key: &str| {
            let found = lines.iter().find(|line| line.table.is_empty() && line.key == key);
            found.map(|line| line.value).ok_or(format!("{key} is missing"))
        };
        let number = |key: &str| word(key)?.parse::<u64>().map_err(|error| format!("{key}: {error}"));
        let seed = word("seed")?.trim_start_matches("0x");
        let seed = u64::from_str_radix(seed, 16).map_err(|error| format!("seed: {error}"))?;
        let mut transport = HostConfig::transport(word("transport")?).map_err(|error| error.to_string())?;
        // Daemons before these settings kept nothing of a credit, and let packets wait.
        let mut params = HostParams { leftover: 0, wait_max: Span::ZERO, ..HostParams::default() };
        for Line { table, key, value } in &lines {
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
            transport,
            params,
        };
        Ok(Header { config, seed })
    }
}

/// A line `key = value` of the header, with the title of its table.
struct Line<'a> {
    table: &'a str,
    key: &'a str,
    value: &'a str,
}

/// Returns the lines of the header. They are as [`Header::to_text`] writes them, which is less than TOML allows.
fn lines(text: &str) -> Result<Vec<Line<'_>>, String> {
    let (mut table, mut lines) = ("", Vec::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = title;
            continue;
        }
        let (key, value) = line.split_once(" = ").ok_or(format!("{line:?} is no line \"key = value\""))?;
        lines.push(Line { table, key, value: value.trim_matches('"') });
    }
    Ok(lines)
}

fn address(text: &str) -> Option<MacAddr> {
    let mut bytes = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut bytes {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(MacAddr(bytes))
}
