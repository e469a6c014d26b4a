//! The command line. Flags of daemons come from their declared settings.

use super::config::{ConfigError, ConfigFile, Given};
use super::settings::{HostSettings, PacSettings, Settings, SwitchSettings};
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use clearway_schema::{REQUIRED, Spec};

const EXAMPLES: &str = "\
Examples:
  clearwayd host --dev eth0 --rate 100Mbps --dry-run         shows every rule that would be set, and changes nothing
  clearwayd host --dev eth0 --rate 100Mbps                   ExpressPass under all TCP connections of eth0
  clearwayd host --dev eth0 --transport ec4 --set w_init=0.5  EC4, with another parameter
  clearwayd host --config /etc/clearway/clearwayd.toml       settings from a file; flags win
  clearwayd pac --dev eth0 --rate 1Gbps                      PAC under all TCP connections of eth0
  clearwayd switch --ports eth1,eth2 --rate 1Gbps            limits credits at the ports of a Linux bridge
  clearwayd settings host                                    all settings, and all parameters for --set
  clearwayd replay eth0.rec                                  the recording of `clearwayd host` or `pac` with `--record eth0.rec`
  clearwayd doctor --dev eth0                                what this machine lacks for a host on eth0
  clearwayd stats --watch                                    live statistics of the daemons that run
  clearwayd cleanup                                          undoes the rules of daemons that were killed
";

/// Returns the command line as clap knows it.
pub fn command() -> Command {
    Command::new("clearwayd")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Clearway on Linux: proactive congestion control under unmodified TCP applications.")
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(daemon::<HostSettings>())
        .subcommand(daemon::<PacSettings>())
        .subcommand(daemon::<SwitchSettings>())
        .subcommand(
            Command::new("object")
                .about("Writes a compiled program for the kernel to a file; the rules of a switch use this.")
                .arg(Arg::new("name").required(true).help("The name of the program: ecn."))
                .arg(text("output", "FILE", "The file.").required(true)),
        )
        .subcommand(
            Command::new("replay")
                .about("Replays a recording of `clearwayd host --record FILE` or `clearwayd pac --record FILE`, and says if the protocol does the same again.")
                .arg(Arg::new("file").required(true).help("The recording.")),
        )
        .subcommand(
            Command::new("stats")
                .about("Shows statistics of the daemons that run in this network namespace.")
                .arg(run_dir())
                .arg(text("dev", "DEV", "The NIC of the daemon; without it, all."))
                .arg(switch("watch", "Shows them again every second, with rates, until it is stopped."))
                .arg(switch("json", "Writes a JSON object on one line for each daemon.")),
        )
        .subcommand(
            Command::new("settings")
                .about("Lists every setting of a kind of daemon, and every parameter for its --set.")
                .arg(Arg::new("kind").required(true).help("The kind of daemon: host, pac or switch.")),
        )
        .subcommand(
            Command::new("doctor")
                .about("Says what this machine lacks for a kind of daemon, and changes nothing. The exit status is 1 if anything is missing.")
                .arg(Arg::new("kind").default_value("host").help("The kind of daemon: host, pac or switch."))
                .arg(run_dir())
                .arg(
                    text("dev", "DEV", "A NIC to examine too. May be repeated, or name several with commas.")
                        .action(ArgAction::Append)
                        .value_delimiter(','),
                )
                .arg(switch("json", "Writes one JSON object.")),
        )
        .subcommand(
            Command::new("cleanup")
                .about("Undoes the rules of daemons that were killed, in this network namespace.")
                .arg(run_dir())
                .arg(text("dev", "DEV", "The NIC of the daemon; without it, all."))
                .arg(switch(
                    "forget",
                    "Forgets the rules without undoing them, for rules that somebody else has removed.",
                )),
        )
}

/// Returns the subcommand of a kind of daemon.
fn daemon<S: Settings>() -> Command {
    Command::new(S::COMMAND)
        .about(S::ABOUT)
        .args(S::SPECS.iter().map(flag))
        .arg(Arg::new("set").long("set").value_name("KEY=VALUE").action(ArgAction::Append).help(
            "Sets a parameter, as in scenario files; `clearwayd settings` lists them. May be repeated.",
        ))
        .arg(text(
            "config",
            "FILE",
            "Reads settings from a TOML file, whose tables are named like the subcommands. Flags win.",
        ))
        .arg(
            switch(
                "dry_run",
                "Prints every rule that would be set, with its purpose and its undoing, and changes nothing.",
            )
            .long("dry-run"),
        )
}

/// Returns the flag of a declared setting.
fn flag(spec: &'static Spec) -> Arg {
    let mut help = spec.doc.trim().to_owned();
    let more = [
        (!spec.range().is_empty()).then(|| spec.range()),
        (!spec.default.is_empty() && spec.default != REQUIRED).then(|| format!("default {}", spec.default)),
    ];
    let more: Vec<String> = more.into_iter().flatten().collect();
    if !more.is_empty() {
        help.push_str(&format!(" [{}]", more.join("; ")));
    }
    let name = if spec.name == "dev" { "DEV" } else { spec.name.rsplit('_').next().unwrap_or(spec.name) };
    Arg::new(spec.name)
        .long(spec.name.replace('_', "-"))
        .value_name(name.to_uppercase())
        .help(help)
        .value_parser(ValueParser::string())
}

fn text(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help).value_parser(ValueParser::string())
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn run_dir() -> Arg {
    text(
        "run_dir",
        "DIR",
        "The folder of journals and sockets [default: $RUNTIME_DIRECTORY, else /run/clearwayd]",
    )
    .long("run-dir")
}

/// Returns what was given for a daemon: flags, and the configuration file.
pub fn given<S: Settings>(matches: &ArgMatches) -> Result<Given, ConfigError> {
    const TABLES: [&str; 3] = [HostSettings::COMMAND, PacSettings::COMMAND, SwitchSettings::COMMAND];
    let flags = S::SPECS.iter().filter_map(|spec| {
        matches.get_one::<String>(spec.name).map(|text| (spec.name.to_owned(), text.clone()))
    });
    let sets = matches.get_many::<String>("set").into_iter().flatten().cloned();
    let file = matches.get_one::<String>("config");
    let file = file.map(|path| ConfigFile::read(path, S::COMMAND, &TABLES)).transpose()?;
    Ok(Given { flags: flags.collect(), sets: sets.collect(), file })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_schema::Declared;

    #[test]
    fn every_subcommand_is_well_formed_and_every_setting_of_it_is_a_flag() {
        command().debug_assert();
        let help = |name: &str| {
            let mut command = command();
            command.build();
            command.find_subcommand_mut(name).expect("a subcommand").render_long_help().to_string()
        };
        for spec in HostSettings::SPECS {
            assert!(help("host").contains(&format!("--{}", spec.name.replace('_', "-"))), "{}", spec.name);
        }
        assert!(help("pac").contains("--set <KEY=VALUE>") && help("pac").contains("--dry-run"));
    }
}
