//! The built-in flow-size distributions that papers use. The files in `workloads/` state their sources.

use super::Cdf;
use clearway_schema::told;

/// A built-in workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadInfo {
    /// The name, as in scenario files.
    pub name: &'static str,
    /// A sentence that says where the sizes come from.
    pub summary: &'static str,
    /// The mean size by which the authors set the load, in bytes, if it is not that of the distribution.
    pub published_mean: Option<f64>,
    /// The name of the file in `workloads/`.
    pub file: &'static str,
    /// The lines of the file that tell its source.
    notes: &'static str,
    /// The points of the distribution, as `build.rs` packs them.
    points: &'static [u8],
}

impl WorkloadInfo {
    /// Returns the workload of that name.
    pub fn by_name(name: &str) -> Option<&'static WorkloadInfo> {
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// Returns the distribution of sizes.
    pub fn cdf(&self) -> Cdf {
        Cdf::new(unpack(self.points)).expect("the built-in distributions are valid")
    }

    /// Returns the mean size that sets the load, in bytes: the published one, else that of the distribution.
    pub fn mean(&self) -> f64 {
        self.published_mean.unwrap_or_else(|| self.cdf().mean())
    }

    /// Returns the lines of the file that tell its source.
    pub fn notes(&self) -> impl Iterator<Item = &'static str> {
        self.notes.lines()
    }
}

/// Reads points that `build.rs` packed: it says how.
fn unpack(packed: &[u8]) -> Vec<(u64, f64)> {
    let numbers = packed.chunk_by(|byte, _| *byte >= 128);
    let numbers =
        numbers.map(|bytes| bytes.iter().rev().fold(0, |all, byte| all << 7 | u64::from(byte & 127)));
    let numbers: Vec<u64> = numbers.collect();
    let (one, count) = (numbers[0] as f64, numbers[1] as usize);
    let (sizes, probabilities) = numbers[2..].split_at(count);
    let column = |numbers: &[u64]| -> Vec<u64> {
        let (mut value, mut rise) = (0_u64, 0_u64);
        let next = |number: &u64| {
            let more = if number & 1 == 1 { (number >> 1).wrapping_neg() } else { number >> 1 };
            rise = rise.wrapping_add(more);
            value = value.wrapping_add(rise);
            value
        };
        numbers.iter().map(next).collect()
    };
    // Both numbers are exact, so the quotient is the number that the text stands for.
    column(sizes)
        .into_iter()
        .zip(column(probabilities))
        .map(|(size, share)| (size, share as f64 / one))
        .collect()
}

macro_rules! workload {
    ($name:literal, $file:literal, $mean:expr, $summary:literal) => {
        WorkloadInfo {
            name: $name,
            summary: $summary,
            published_mean: $mean,
            file: concat!($file, ".csv"),
            notes: told(include_str!(concat!(env!("OUT_DIR"), "/", $file, ".notes"))),
            points: include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".points")),
        }
    };
}

/// All built-in workloads.
pub const WORKLOADS: &[WorkloadInfo] = &[
    workload!(
        "web-search",
        "web_search_xpass",
        Some(1_654_275.0),
        "Web search, as in the ExpressPass authors' code"
    ),
    workload!(
        "data-mining",
        "data_mining_xpass",
        Some(7_410_212.0),
        "Data mining, as in the ExpressPass authors' code"
    ),
    workload!(
        "cache-follower",
        "cache_follower_xpass",
        Some(701_490.0),
        "Facebook cache follower, as in the ExpressPass authors' code"
    ),
    workload!(
        "web-server",
        "web_server_xpass",
        Some(63_735.0),
        "Facebook web server, as in the ExpressPass authors' code"
    ),
    workload!(
        "web-search-dctcp",
        "web_search_dctcp",
        None,
        "Web search, as published by the DCTCP and CONGA authors"
    ),
    workload!("web-search-hpcc", "web_search_hpcc", None, "Web search, as in HPCC's code"),
    workload!("web-search-opera", "web_search_opera", None, "Web search, as digitised for Opera"),
    workload!("data-mining-vl2", "data_mining_vl2", None, "Data mining, as published for VL2"),
    workload!("data-mining-opera", "data_mining_opera", None, "Data mining, as digitised for Opera"),
    workload!(
        "cache-follower-homa",
        "cache_follower_homa",
        None,
        "Facebook cache follower within a cluster, as digitised for Homa"
    ),
    workload!(
        "web-server-homa",
        "web_server_homa",
        None,
        "Facebook web server within a cluster, as digitised for Homa"
    ),
    workload!("hadoop-hpcc", "fb_hadoop_hpcc", None, "Facebook Hadoop, as in HPCC's code"),
    workload!("hadoop-homa", "fb_hadoop_homa", None, "Facebook Hadoop, as digitised for Homa (W4)"),
    workload!(
        "hadoop-opera",
        "fb_hadoop_interrack_opera",
        None,
        "Facebook Hadoop between racks, as digitised for Opera"
    ),
    workload!(
        "key-value",
        "fb_key_value_empirical",
        None,
        "Facebook key-value store, from empirical-traffic-gen"
    ),
    workload!(
        "key-value-homa",
        "fb_key_value_homa_w1",
        None,
        "Facebook key-value store, as digitised for Homa (W1)"
    ),
    workload!(
        "google-rpc-homa",
        "google_all_rpc_homa",
        None,
        "All RPCs of a Google datacenter, as digitised for Homa"
    ),
    workload!("google-rpc-hpcc", "google_rpc_2008_hpcc", None, "Google RPCs of 2008, as in HPCC's code"),
    workload!(
        "google-search-homa",
        "google_search_rpc_homa",
        None,
        "RPCs of Google search, as digitised for Homa (W2)"
    ),
    workload!("storage-hpcc", "ali_storage_2019_hpcc", None, "Alibaba storage of 2019, as in HPCC's code"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value of `mean_bytes_linear_interpolation` in the file's notes.
    fn mean_in_notes(workload: &WorkloadInfo) -> f64 {
        let mut words = workload.notes().flat_map(str::split_whitespace);
        let mean = words.find_map(|word| word.strip_prefix("mean_bytes_linear_interpolation="));
        mean.expect(workload.name).parse().expect(workload.name)
    }

    #[test]
    fn every_distribution_is_that_of_its_file() {
        for workload in WORKLOADS {
            let path = format!("{}/../../workloads/{}", env!("CARGO_MANIFEST_DIR"), workload.file);
            let text = std::fs::read_to_string(&path).expect(&path);
            assert_eq!(workload.cdf(), Cdf::parse(&text).unwrap(), "{}", workload.file);
        }
    }

    #[test]
    fn every_distribution_has_the_mean_that_its_file_states() {
        for workload in WORKLOADS {
            let (mean, stated) = (workload.cdf().mean(), mean_in_notes(workload));
            assert!((mean - stated).abs() <= 0.5, "{}: {mean} for {stated}", workload.name);
        }
    }

    #[test]
    fn the_published_means_are_1_to_4_percent_below_those_of_the_distributions() {
        for workload in WORKLOADS {
            if let Some(published) = workload.published_mean {
                let above = workload.cdf().mean() / published - 1.0;
                assert!((0.010..0.038).contains(&above), "{}: {above}", workload.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_every_file_states_its_source() {
        for (at, workload) in WORKLOADS.iter().enumerate() {
            assert!(WORKLOADS[..at].iter().all(|other| other.name != workload.name), "{}", workload.name);
            assert!(workload.notes().any(|note| note.starts_with("source:")), "{}", workload.name);
        }
    }
}
