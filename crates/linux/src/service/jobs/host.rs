//! `clearwayd host`.
