//! The datapath that was recorded, in its first state.

use super::bytes::{RecordError, Source};
use super::header::Header;
use super::text::{self, Has, Line, PARAMETERS};
use crate::datapath::Datapath;
use crate::pac::{Pac, PacEnv, PacParams};
use clearway_schema::Declared;
use clearway_units::Rate;
use std::fmt;
use std::io::Read;

/// The name by which a header tells of PAC in the place of a transport.
const PAC: &str = "pac";

/// Everything that a recorded datapath is made of.
#[derive(Clone, Debug)]
pub enum Start {
    /// A host with ExpressPass or EC4.
    Host(Box<Header>),
    /// PAC at a NIC.
    Pac {
        /// The parameters.
        params: Box<PacParams>,
        /// The NIC.
        env: PacEnv,
    },
}

impl From<Header> for Start {
    fn from(header: Header) -> Start {
        Start::Host(Box::new(header))
    }
}

impl Start {
    /// Makes the datapath that was recorded.
    pub fn datapath(&self) -> Result<Box<dyn Datapath>, RecordError> {
        Ok(match self {
            Start::Host(header) => Box::new(header.host()?),
            Start::Pac { params, env } => Box::new(Pac::new(params, *env)),
        })
    }

    /// Returns the bytes with which a recording begins.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Start::Host(header) => text::framed(&header.to_text()),
            Start::Pac { params, env } => text::framed(&pac_text(params, *env)),
        }
    }

    /// Reads the beginning of a recording, and tells what its entries have.
    pub(super) fn read<R: Read>(from: &mut Source<R>) -> Result<(Start, Has), RecordError> {
        let (text, has) = text::read(from)?;
        let start = text::lines(&text).and_then(|lines| match text::word(&lines, "transport")? {
            PAC => pac(&lines),
            _ => Header::of_lines(&lines).map(Start::from),
        });
        Ok((start.map_err(RecordError::Header)?, has))
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Start::Host(header) => {
                let config = &header.config;
                write!(f, "{} at {}, {}", config.transport.info().name, config.address, config.rate)
            }
            Start::Pac { env, .. } => write!(f, "{PAC}, {}", env.line_rate),
        }
    }
}

fn pac_text(params: &PacParams, env: PacEnv) -> String {
    let PacEnv { line_rate, mtu } = env;
    let version = env!("CARGO_PKG_VERSION");
    let mut text =
        format!("program = \"clearwayd {version}\"\nrate_bps = {}\nmtu = {mtu}\n", line_rate.as_bps());
    text.push_str(&format!("transport = \"{PAC}\"\n\n[{PARAMETERS}]\n"));
    for (name, value) in params.write() {
        text.push_str(&format!("{name} = {value}\n"));
    }
    text
}

fn pac(lines: &[Line<'_>]) -> Result<Start, String> {
    let mut params = Box::<PacParams>::default();
    for Line { key, value, .. } in lines.iter().filter(|line| line.table == PARAMETERS) {
        params.set(key, *value).map_err(|error| format!("{key} = {value}: {error}"))?;
    }
    let mtu = text::number(lines, "mtu")?.try_into().map_err(|_| "mtu is too large")?;
    Ok(Start::Pac { params, env: PacEnv { line_rate: Rate::bps(text::number(lines, "rate_bps")?), mtu } })
}
