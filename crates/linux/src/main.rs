//! The daemon `clearwayd`.

use std::process::ExitCode;

fn main() -> ExitCode {
    clearway_linux::service::main(std::env::args_os())
}
