//! Logs: events with fields, to the standard error output.

use super::settings::{LogFormat, LogLevel, ServiceSettings};
use std::io::{IsTerminal, stderr};
use tracing_subscriber::filter::LevelFilter;

/// Starts the logs of this process.
pub fn start(settings: &ServiceSettings) {
    let level = match settings.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let logs = tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .with_target(false)
        .with_max_level(level);
    // An error means that logs were started before, as tests do.
    let _ = match settings.log_format {
        LogFormat::Text => logs.try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
}
