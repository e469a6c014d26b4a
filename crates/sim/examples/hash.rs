//! Prints the hash of a scenario's results. Run it with
//! `cargo run --example hash -- scenarios/incast.toml [key=value ...]`.

use clearway_sim::Simulation;
use clearway_sim::scenario::{Overrides, Scenario};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a scenario file")?;
    let set = arguments.map(|setting| {
        let (key, value) = setting.split_once('=').ok_or("write key=value")?;
        Ok((key.to_owned(), value.to_owned()))
    });
    let set = set.collect::<Result<_, &str>>()?;
    let scenario = Scenario::load(Path::new(&path), &Overrides { set, ..Overrides::default() })?;
    let mut simulation = Simulation::new(&scenario.model)?;
    simulation.run(&mut |_| true);
    println!("{}", simulation.finish()?.hash());
    Ok(())
}
