//! The hosts, switches and links of a datacenter network, and the paths that flows take through them.
//!
//! | item | purpose |
//! |---|---|
//! | [`Topology`], [`Builder`] | the finished graph, and the builder that checks it |
//! | [`shapes`] | the networks of the papers: [`Dumbbell`], [`Star`], [`ParkingLot`], [`MultiBottleneck`], [`FatTree`], [`OversubscribedFatTree`], [`Pacc320`], [`Clos3`], [`LeafSpine`] |
//! | [`from_hpcc`], [`from_htsim`], [`from_graphml`] | readers of networks from files of others |
//! | [`routing`] | the choice of paths (symmetric ECMP, ECMP, spraying), also with failed links |
//! | [`between`], [`crossings`] | what joins a pair of hosts, and how often random pairs cross each link |
//! | [`core_oversubscription`] | how much more hosts can send than the core carries |
//! | [`base_rtt`], [`one_way`] | the latency of an idle path, in closed form |
//!
//! Hosts are numbered before switches, so that per-host state is a plain array. Link `l` consists of two directed
//! ports, `2l` and `2l + 1`, so that flipping one bit gives the reverse direction. A host may be attached to
//! several switches; it never forwards packets.
//!
//! ```
//! use clearway_topology::{FatTree, NodeId, Policy, Routes, base_rtt};
//! use clearway_units::{Bytes, Span};
//!
//! let tree = FatTree { k: 4, ..FatTree::default() }.build().unwrap();
//! assert_eq!((tree.hosts(), tree.switches()), (16, 20));
//!
//! let mut routes = Routes::new(Policy::SymmetricEcmp);
//! let (mut there, mut back) = (Vec::new(), Vec::new());
//! routes.paths(&tree, NodeId(0), NodeId(15), 7, &mut there).unwrap();
//! routes.paths(&tree, NodeId(15), NodeId(0), 7, &mut back).unwrap();
//! assert_eq!(there.len(), 6);
//! assert!(there.iter().eq(back.iter().rev().map(|port| port.reverse()).collect::<Vec<_>>().iter()));
//!
//! // Twelve times 4 us, and the serialisation of a full frame and a credit on six 10 Gbps links each.
//! let rtt = base_rtt(&tree, &there, &back, Bytes::new(1538), Bytes::new(84));
//! assert_eq!(rtt, Span::from_us(48) + (Span::from_ps(1_230_400) + Span::from_ps(67_200)) * 6);
//! ```
#![forbid(unsafe_code)]

mod alias;
mod builder;
mod capacity;
mod crossings;
mod error;
mod graph;
#[cfg_attr(target_family = "wasm", path = "graphml/absent.rs")]
mod graphml;
mod hpcc;
mod htsim;
mod names;
mod pairs;
pub mod routing;
pub mod shapes;
mod timing;

pub use alias::Alias;
pub use builder::Builder;
pub use capacity::core_oversubscription;
pub use crossings::crossings;
pub use error::TopologyError;
pub use graph::{Node, NodeId, NodeKind, Port, PortId, Topology};
pub use graphml::from_graphml;
pub use hpcc::from_hpcc;
pub use htsim::from_htsim;
pub use names::Names;
pub use pairs::{Between, between, farthest_pair};
pub use routing::{PathSet, Policy, Routes, Unreachable};
pub use shapes::{
    Clos3, Dumbbell, FatTree, LeafSpine, MultiBottleneck, OversubscribedFatTree, Pacc320, ParkingLot, Size,
    Star,
};
pub use timing::{SendingTime, base_rtt, farthest_round_trip, one_way};
