//! Packs the built-in flow-size distributions: a program holds their points in a tenth of the bytes of their text, which
//! everybody loads who opens the page with the simulator.

use std::path::Path;
use std::{env, fs};

const FOLDER: &str = "../../workloads";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={FOLDER}");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    for entry in fs::read_dir(FOLDER).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("the file is text");
        let (notes, points): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        let notes: Vec<&str> = notes.iter().map(|note| note.trim_matches(['#', ' '])).collect();
        let file = Path::new(&out).join(path.file_name().expect("it is a file"));
        fs::write(file.with_extension("notes"), notes.join("\n")).expect("the file can be written");
        fs::write(file.with_extension("points"), pack(&points[1..])).expect("the file can be written");
    }
}

/// Packs lines of `bytes,cumulative_probability`. The numbers are ten to the number of digits that probabilities have behind
/// their point; the number of lines; all sizes; and all probabilities without that point. In both columns stands how much
/// more a number rises than the one before it, with the sign in the lowest bit. Each number has seven bits a byte, the
/// lowest first, and all its bytes but the last have the highest bit set.
fn pack(lines: &[&str]) -> Vec<u8> {
    let point = |line: &&str| {
        let (size, probability) = line.split_once(',').expect("two columns");
        let (whole, digits) = probability.split_once('.').unwrap_or((probability, ""));
        (size.parse().expect("a size"), whole.to_owned(), digits.to_owned())
    };
    let points: Vec<(i64, String, String)> = lines.iter().map(point).collect();
    let most = points.iter().map(|(_, _, digits)| digits.len()).max().expect("a line");
    let probability = |(_, whole, digits): &(i64, String, String)| {
        format!("{whole}{digits:0<most$}").parse::<i64>().expect("a probability")
    };
    let mut numbers = vec![10_u64.pow(most as u32), points.len() as u64];
    let columns = [points.iter().map(|point| point.0).collect(), points.iter().map(probability).collect()];
    for column in columns as [Vec<i64>; 2] {
        let (mut before, mut rise) = (0, 0);
        for number in column {
            let more = number - before - rise;
            numbers.push(more.unsigned_abs() << 1 | u64::from(more < 0));
            (before, rise) = (number, number - before);
        }
    }
    let mut packed = Vec::new();
    for mut number in numbers {
        while number >= 128 {
            packed.push(number as u8 | 128);
            number >>= 7;
        }
        packed.push(number as u8);
    }
    packed
}
