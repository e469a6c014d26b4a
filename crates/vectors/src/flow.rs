//! A whole sending end: which packets leave, after what was written, heard and waited for.

mod drawn;
mod end;
mod scripts;

use crate::case::Case;
use crate::choices::Reading;
use crate::setting;
use clearway_proto::uec::Mode;
use end::{End, Ends};

/// Returns the cases of a reading.
pub fn cases(reading: Reading, seed: u64) -> Vec<Case> {
    let mut cases = of(&setting::of_nscc(reading), "nscc", seed);
    cases.extend(of(&setting::of_rccc(reading), "rccc", seed));
    cases.extend(of(&setting::of_both(reading), "both", seed));
    cases
}

/// Returns the cases of a transport, whose names begin with a word.
pub fn of<M: Mode>(params: &M, word: &str, seed: u64) -> Vec<Case> {
    let begin = |name: &str, about: &str| Ends::new(format!("{word}-{name}"), about, End::new(params, seed));
    let mut cases = scripts::cases(&begin);
    cases.push(drawn::case(&begin, seed));
    cases
}
