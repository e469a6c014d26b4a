//! The algorithms, and the texts that they follow.

use clearway_schema::choice;

choice! {
    /// The algorithm of a file.
    pub enum Algorithm {
        /// NSCC: the window of a sender.
        Nscc = "nscc",
        /// RCCC: the credit of a receiver.
        Rccc = "rccc",
        /// REPS and the other policies by which a sender chooses paths.
        Reps = "reps",
        /// The sending end of a flow, with all of these.
        Flow = "flow",
    }
}

choice! {
    /// The text that the algorithm follows.
    pub enum Reading {
        /// The Ultra Ethernet Specification 1.0.3, as far as it could be read, and the consortium's program where it is silent.
        Specification = "specification",
        /// The consortium's program alone: uet-htsim, revision 40ccb05.
        Htsim = "htsim",
    }
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 4] = [Algorithm::Nscc, Algorithm::Rccc, Algorithm::Reps, Algorithm::Flow];

    /// Returns a sentence on what a file has.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Algorithm::Nscc => {
                "NSCC, the window of a sender: what each acknowledgement, NACK, timeout and probe makes of it."
            }
            Algorithm::Rccc => {
                "RCCC: the credit that a sender spends and the demand that it tells; the pulls that a receiving host paces."
            }
            Algorithm::Flow => {
                "The sending end of a flow, with window, credit or both: the packets that leave, and when it wants to be called."
            }
            Algorithm::Reps => {
                "REPS and other choices of paths: the entropy value of each packet, after what was heard of others."
            }
        }
    }

    /// Returns the outputs that follow from real numbers, with the most by which another implementation may be off.
    pub(crate) fn tolerances(self) -> &'static [(&'static str, u64)] {
        match self {
            Algorithm::Nscc => &[("cwnd_bytes", 1), ("max_cwnd_bytes", 1)],
            Algorithm::Rccc => &[("next_ps", 1), ("rate_ppm", 1)],
            Algorithm::Reps => &[],
            Algorithm::Flow => &[("cwnd_bytes", 1)],
        }
    }
}

impl Reading {
    /// All readings.
    pub const ALL: [Reading; 2] = [Reading::Specification, Reading::Htsim];

    /// Returns what the algorithm follows, in words.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Reading::Specification => {
                "Ultra Ethernet Specification 1.0.3, read at second hand; uet-htsim where it is silent, as in all of RCCC"
            }
            Reading::Htsim => "the Ultra Ethernet consortium's simulator, uet-htsim 40ccb05",
        }
    }
}
