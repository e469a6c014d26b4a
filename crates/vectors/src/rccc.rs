//! RCCC: the credit of a sender, and the pulls of a receiving host.

mod receiver;
mod sender;

use crate::case::Case;
use clearway_proto::uec::RcccParams;

/// Returns the cases of a reading.
pub fn cases(params: &RcccParams, seed: u64) -> Vec<Case> {
    let mut cases = sender::cases(params, seed);
    cases.extend(receiver::cases(params, seed));
    cases
}
