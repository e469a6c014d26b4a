//! The kinds of daemons, made from their settings.

mod card;
mod host;
mod pac;
mod switch;

pub use host::HostJob;
pub use pac::PacJob;
pub use switch::SwitchJob;
