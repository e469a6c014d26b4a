//! The transports that there are.

use clearway_proto::{Family, TRANSPORTS};
use serde::Serialize;

/// The answer to a request for the catalogue.
#[derive(Serialize)]
pub struct Catalog {
    version: &'static str,
    transports: Vec<Transport>,
}

/// A transport that a run may be opened with.
#[derive(Serialize)]
struct Transport {
    name: &'static str,
    title: &'static str,
    family: &'static str,
    summary: &'static str,
}

impl Catalog {
    /// Returns the transports of this build.
    pub fn new() -> Catalog {
        let transport = |info: &clearway_proto::TransportInfo| Transport {
            name: info.name,
            title: title(info.name),
            family: match info.family {
                Family::Tcp => "tcp",
                Family::Rdma => "rdma",
                Family::Credit => "credit",
            },
            summary: info.summary,
        };
        Catalog { version: env!("CARGO_PKG_VERSION"), transports: TRANSPORTS.iter().map(transport).collect() }
    }
}

/// Returns the name of a transport as papers write it; of one without such a name, its name in scenario files.
fn title(name: &'static str) -> &'static str {
    match name {
        "rocev2" => "RoCEv2",
        "dcqcn" => "DCQCN",
        "timely" => "TIMELY",
        "hpcc" => "HPCC",
        "rdma-dctcp" => "RDMA DCTCP",
        "pacc" => "PACC",
        "newreno" => "NewReno",
        "cubic" => "CUBIC",
        "dctcp" => "DCTCP",
        "hull" => "HULL",
        "dx" => "DX",
        "rcp" => "RCP",
        "pac" => "PAC",
        "ictcp" => "ICTCP",
        "ack-shaper" => "ACK shaper",
        "expresspass" => "ExpressPass",
        "expresspass-hotnets16" => "ExpressPass (HotNets '16)",
        "naive-credit" => "naïve credits",
        "ec4" => "EC4",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transport_is_in_the_catalogue_with_a_sentence() {
        let catalog = Catalog::new();
        assert_eq!(catalog.transports.len(), TRANSPORTS.len());
        for transport in catalog.transports {
            assert!(!transport.title.is_empty() && transport.summary.len() > 20, "{}", transport.name);
        }
    }
}
