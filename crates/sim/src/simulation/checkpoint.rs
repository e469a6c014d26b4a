//! Checkpoints: all that a run has come to, written to a file, from which another process goes on as if nothing had
//! happened.
//!
//! The model is not in the file, since the scenario gives it again. What the model decides and failed links change, the
//! routes, is made again too. All other fields of [`Simulation`] are written as they are: networks and regions part by part,
//! which a run on another number of threads then moves into its own parts (`recut.rs`).
//!
//! | part of the file | bytes | what it is for |
//! |---|---|---|
//! | mark | 20 | tells a checkpoint from other files |
//! | code | 32 | a hash of the code's name: only the code that wrote the state may read it |
//! | model | 32 | a hash of the model: only a run of the same one may go on from it |
//! | state | | the state in the format of the crate `postcard` |
//! | seal | 32 | a hash of all that stands before it: a file that was cut or changed is refused |

use super::network::restore_router;
use super::prepare::regions_for;
use super::recut::recut;
use super::region::Region;
use super::state::{SimError, Simulation};
use crate::metrics::Spool;
use crate::model::Model;
use crate::net::recut::are_cut_alike;
use crate::net::{Networks, divide};
use crate::partition::Partition;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::{self, Write};
use thiserror::Error;

/// The first bytes of a checkpoint.
const MARK: &[u8; 20] = b"clearway checkpoint\n";

/// The number of bytes of a hash.
const HASH: usize = blake3::OUT_LEN;

/// The reasons for which a run can't go on from a checkpoint, or can't write one.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The file is something else.
    #[error("this is no checkpoint of Clearway")]
    Foreign,
    /// The file is shorter than it was, or its content is not what was written.
    #[error("the checkpoint is damaged: its content does not match its hash")]
    Damaged,
    /// Another version of the simulator wrote the file.
    #[error("another version of Clearway wrote the checkpoint, and only that one can go on from it")]
    Code,
    /// The file is of another run.
    #[error("the checkpoint is of another scenario, or of one with other settings or another seed")]
    Model,
    /// A file could not be written or read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The run can't be prepared.
    #[error(transparent)]
    Run(#[from] SimError),
}

impl Simulation {
    /// Writes a checkpoint between two calls of [`Simulation::step`]. Rows that have left memory are on their disk
    /// before it is complete. `code` names the sources that this simulator is built from.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn save(&mut self, code: &str, to: &mut dyn Write) -> Result<(), CheckpointError> {
        self.journal.sync()?;
        self.sampler.sync()?;
        divide::gather(&mut self.nets);
        let mut sealed = Sealed { to, hasher: blake3::Hasher::new() };
        sealed.write_all(MARK)?;
        sealed.write_all(blake3::hash(code.as_bytes()).as_bytes())?;
        sealed.write_all(hash_of(&self.model).as_bytes())?;
        postcard::to_io(&self.state(), &mut sealed).map_err(io::Error::other)?;
        postcard::to_io(&self.nets, &mut sealed).map_err(io::Error::other)?;
        for region in &self.regions {
            postcard::to_io(&region.state(), &mut sealed).map_err(io::Error::other)?;
        }
        let seal = sealed.hasher.finalize();
        to.write_all(seal.as_bytes())?;
        Ok(())
    }

    /// Prepares a run of a model that goes on from a checkpoint, on as many threads as the partition has parts, with
    /// however many it was begun: results depend on neither. The spools are those of [`Simulation::spooled`], and still
    /// have the rows that the run handed out. `code` is that of [`Simulation::save`].
    ///
    /// # Errors
    /// If the checkpoint is damaged, of another model or of other code, or the rows are gone.
    pub fn resume(
        model: &Model,
        partition: &Partition,
        spools: [Option<Box<dyn Spool>>; 2],
        code: &str,
        from: &[u8],
    ) -> Result<Simulation, CheckpointError> {
        let mut state = opened(from, code, model)?;
        let mut sim = Simulation::spooled(model, partition, spools)?;
        let [flows, samples] = [sim.journal.take_spool(), sim.sampler.take_spool()];
        sim.set_state(&mut state)?;
        let mut nets: Networks = next(&mut state)?;
        let mut regions = regions_for(&sim, nets.len());
        for region in &mut regions {
            region.set_state(&mut state)?;
        }
        if !state.is_empty() {
            return Err(CheckpointError::Damaged);
        }
        if are_cut_alike(&nets, &sim.nets) {
            divide::take_blocks(&mut nets, &mut sim.nets);
            (sim.nets, sim.regions) = (nets, regions);
        } else {
            recut(&mut sim, nets, regions);
        }
        sim.journal.attach(model, flows)?;
        sim.sampler.attach(model, samples)?;
        restore_router(&mut sim);
        Ok(sim)
    }
}

/// Declares the fields of a type that a checkpoint holds, and those that are made again from the model, or held apart. A
/// field that is in neither list does not compile.
macro_rules! state {
    ($Type:ident; kept: $($kept:ident)+; made: $($made:ident)+;) => {
        impl $Type {
            /// Returns the state, to be written.
            #[allow(non_camel_case_types, reason = "each field has a type of its own, by its name")]
            fn state(&self) -> impl Serialize {
                /// As a tuple, which could have only 16 fields.
                #[derive(Serialize)]
                struct State<'a, $($kept,)+> {
                    $($kept: &'a $kept,)+
                }
                let $Type { $($kept,)+ $($made: _,)+ } = self;
                State { $($kept,)+ }
            }

            /// Takes a state over that was written.
            fn set_state(&mut self, state: &mut &[u8]) -> Result<(), CheckpointError> {
                $(self.$kept = next(state)?;)+
                Ok(())
            }
        }
    };
}
state! {
    Simulation;
    kept: global_events live_flows ending sources journal shares sampler window now last global_events_handled quiet_since is_watched barrier standstill livelock ended;
    made: model nets regions threads router cell starts_ahead switches_notify network_rtt oversubscription;
}
state! {
    Region;
    kept: hosts rounds notes rtts last events standstill;
    made: model watches_rtt is_prompt until;
}

/// Reads the next value of a state.
fn next<'a, T: Deserialize<'a>>(state: &mut &'a [u8]) -> Result<T, CheckpointError> {
    // A state whose seal is whole can be refused only if other code wrote it after all.
    let (value, rest) = postcard::take_from_bytes(state).map_err(|_| CheckpointError::Code)?;
    *state = rest;
    Ok(value)
}

/// Returns the state in a checkpoint, if it is whole and a run of `model` may go on from it.
fn opened<'a>(from: &'a [u8], code: &str, model: &Model) -> Result<&'a [u8], CheckpointError> {
    let rest = from.strip_prefix(MARK).ok_or(CheckpointError::Foreign)?;
    if rest.len() < 3 * HASH {
        return Err(CheckpointError::Damaged);
    }
    let (sealed, seal) = from.split_at(from.len() - HASH);
    if blake3::hash(sealed).as_bytes() != seal {
        return Err(CheckpointError::Damaged);
    }
    let (of_code, rest) = rest.split_at(HASH);
    if of_code != blake3::hash(code.as_bytes()).as_bytes() {
        return Err(CheckpointError::Code);
    }
    let (of_model, rest) = rest.split_at(HASH);
    if of_model != hash_of(model).as_bytes() {
        return Err(CheckpointError::Model);
    }
    Ok(&rest[..rest.len() - HASH])
}

/// Returns the hash of a model. Its debug output shows every field, and numbers to the last digit.
fn hash_of(model: &Model) -> blake3::Hash {
    struct Text(blake3::Hasher);
    impl std::fmt::Write for Text {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut text = Text(blake3::Hasher::new());
    write!(text, "{model:?}").expect("a hash takes any text");
    text.0.finalize()
}

/// A writer that hashes all that passes.
struct Sealed<'a> {
    to: &'a mut dyn Write,
    hasher: blake3::Hasher,
}

impl Write for Sealed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
