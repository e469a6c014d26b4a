//! The kinds of daemons, made from their settings.

mod host;
mod nic;
mod pac;
mod recording;
mod soft_switch;
mod switch;

use super::config::{ConfigError, Given};
use super::daemon::Job;
use super::settings::{Folder, Settings, SwitchSettings};
use clearway_proto::AnyTransport;
pub use host::HostJob;
pub use pac::PacJob;
use soft_switch::SoftSwitchJob;
use switch::SwitchJob;

/// Makes the job of a switch: of the kernel's traffic control, or in user space.
pub fn switch(settings: SwitchSettings, given: &Given) -> Result<Box<dyn Job>, ConfigError> {
    let config = switch::config(&settings)?;
    let mut mechanism = None;
    if let Some(name) = &settings.mechanism {
        let known = "write pacc";
        let found = AnyTransport::by_name(name).and_then(|transport| transport.mechanism());
        let mut found = found.filter(|found| found.info().sends_cnps).ok_or_else(|| {
            ConfigError(format!("--mechanism {name:?}: no transport has such a mechanism; {known}"))
        })?;
        let constants: Vec<&str> = found.write().into_iter().map(|(name, _)| name).collect();
        given.parameters::<SwitchSettings>(name, &constants, &mut |key, value| found.set(key, value))?;
        mechanism = Some((name.clone(), found));
    }
    match (settings.user_space, &mechanism) {
        (true, _) => Ok(Box::new(SoftSwitchJob::new(config, mechanism)?)),
        (false, Some((name, _))) => Err(ConfigError(format!(
            "--mechanism {name:?}: the kernel's traffic control has none; write --user-space true too"
        ))),
        (false, None) => Ok(Box::new(SwitchJob::new(config, Folder::of(&settings.service().run_dir)))),
    }
}
