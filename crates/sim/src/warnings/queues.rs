//! The longest queue that a class can have at a port.

use crate::model::{Model, SharedBuffer};
use clearway_units::Bytes;

/// Returns the most bytes on the wire that can wait in a class of a switch's port; `None` without a limit.
pub fn longest(model: &Model, class: usize) -> Option<Bytes> {
    let limit = model.switch.classes[class].limit;
    let frame = u64::from(model.framing.wire_max());
    let of_packets = (limit.packets != u32::MAX).then(|| Bytes::new(u64::from(limit.packets) * frame));
    let of_bytes = (limit.bytes != Bytes::MAX).then_some(limit.bytes);
    let of_memory = model.switch.shared.map(|shared| of_shared(model, shared));
    [of_packets, of_bytes, of_memory].into_iter().flatten().min()
}

/// Returns the most bytes that a single queue can hold of a switch's memory. Under dynamic thresholds a queue `q` may
/// grow while `q < alpha (B - q)`; under flow control the memory is the limit, since it counts by the link of arrival.
fn of_shared(model: &Model, SharedBuffer { size, alpha }: SharedBuffer) -> Bytes {
    if model.pfc.is_some() {
        return size;
    }
    Bytes::new((size.get() as f64 * (alpha / (1.0 + alpha))) as u64)
}
