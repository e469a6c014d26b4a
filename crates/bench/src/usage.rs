//! The time and memory that this process has used, read from `/proc/self` and clocks.

use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time of this process with all its threads, user and system, in seconds with a resolution of 0.01
/// (the kernel's tick). A clock of `rustix` would be finer, but it reads the vDSO, which crashes under valgrind.
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    let fields: Vec<&str> =
        stat.rsplit(')').next().expect("a name in parentheses").split_whitespace().collect();
    // The times are fields 14 and 15 of proc(5), of which the first two lie before the parenthesis.
    let ticks: f64 = fields[11..13].iter().map(|field| field.parse::<f64>().expect("a number")).sum();
    ticks / 100.0
}

/// Returns the CPU time of the calling thread, in nanoseconds. Whatever else the machine does does not count.
pub fn thread_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// Returns the nanoseconds that have passed since some moment.
pub fn wall_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the seconds that have passed since this was first called.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time; no result depends on it")]
pub fn wall_seconds() -> f64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
}

/// Returns the peak of this process's resident memory, in bytes.
pub fn peak_bytes() -> u64 {
    status("VmHWM:")
}

/// Returns this process's resident memory, in bytes.
pub fn resident_bytes() -> u64 {
    status("VmRSS:")
}

fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find(|line| line.starts_with(key)).expect("the kernel tells");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    kib * 1024
}
