//! NSCC: the window of a sender.

mod boundaries;
mod drawn;
mod window;

pub use window::{Window, WindowFacts};

use crate::case::Case;
use clearway_proto::uec::NsccParams;

/// Returns the cases of a reading.
pub fn cases(params: &NsccParams, seed: u64) -> Vec<Case> {
    let mut cases = boundaries::cases(params);
    cases.extend(drawn::cases(params, seed));
    cases
}
