//! The CPU time and memory that this process has used, read from `/proc/self`.

/// Returns the CPU time of this process, user and system, in seconds with a resolution of 0.01 (the kernel's tick).
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    let fields: Vec<&str> =
        stat.rsplit(')').next().expect("a name in parentheses").split_whitespace().collect();
    // The times are fields 14 and 15 of proc(5), of which the first two lie before the parenthesis.
    let ticks: f64 = fields[11..13].iter().map(|field| field.parse::<f64>().expect("a number")).sum();
    ticks / 100.0
}

/// Returns the peak of this process's resident memory, in bytes.
pub fn peak_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel tells");
    let kib: f64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    kib * 1024.0
}
