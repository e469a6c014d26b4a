//! The kinds of daemons, made from their settings.

mod card;
mod pac;
mod switch;

pub use pac::PacJob;
pub use switch::SwitchJob;
