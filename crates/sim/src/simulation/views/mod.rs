//! Views of a run between two steps: ports, packets, flows and books as they are at this instant. Views only read, so a
//! run at which somebody looks gives the same results; and a run at which nobody looks pays nothing for them.
//!
//! | file | what it shows |
//! |---|---|
//! | `view.rs` | [`View`] and [`Flows`], which borrow the run |
//! | `ports.rs` | the queues and counters of ports |
//! | `packets.rs` | the packets that wait at ports, and those on links |
//! | `flows.rs` | the flows that are alive, and any flow by its row |
//! | `finished.rs` | the flows that finished since the last look |
//! | `books.rs` | the packets sent, and what became of them |
//! | `pending_notes.rs` | the notes of regions that the run has yet to read at its next barrier |

mod books;
mod finished;
mod flows;
mod packets;
mod pending_notes;
mod ports;
mod view;

pub use crate::net::{Marks, QueuedPacket};
pub use books::BooksView;
pub use finished::{Finished, FinishedFlow};
pub use flows::{FlowState, FlowView};
pub use packets::{FrameKind, InFlight, PacketView, Packets};
pub use ports::{ClassView, PortView, SeenPorts};
pub use view::{Flows, View};
