//! The reasons for which ports drop packets, with all words for them.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// Declares the reasons, each with a word, a phrase, the unit of what is dropped and what a count of it means.
macro_rules! reasons {
    ($($(#[$doc:meta])* $Reason:ident = $word:literal, $phrase:literal, $unit:literal, $meaning:literal;)+) => {
        /// The reasons for which packets are dropped.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        pub enum DropReason {
            $($(#[$doc])* $Reason,)+
        }

        impl DropReason {
            /// All reasons, in the order of the tables.
            pub const ALL: [DropReason; [$($word),+].len()] = [$(DropReason::$Reason),+];

            /// One word for the reason: `credit`.
            pub const fn word(self) -> &'static str {
                match self { $(DropReason::$Reason => $word,)+ }
            }

            /// Returns the reason in a trace: `credit limit`.
            pub const fn phrase(self) -> &'static str {
                match self { $(DropReason::$Reason => $phrase,)+ }
            }

            /// Returns the line of the reason in the books: `dropped, credit limit`.
            pub const fn line(self) -> &'static str {
                match self { $(DropReason::$Reason => concat!("dropped, ", $phrase),)+ }
            }

            /// Returns the column of the reason in tables of ports: `drops_credit`.
            pub const fn column(self) -> &'static str {
                match self { $(DropReason::$Reason => concat!("drops_", $word),)+ }
            }

            /// Returns the unit of the column: `credits`.
            pub const fn unit(self) -> &'static str {
                match self { $(DropReason::$Reason => $unit,)+ }
            }

            /// Returns the meaning of the column.
            pub const fn meaning(self) -> &'static str {
                match self { $(DropReason::$Reason => $meaning,)+ }
            }
        }
    };
}
reasons! {
    /// The queue was full.
    Buffer = "buffer", "buffer", "packets", "packets dropped because the queue was full";
    /// A credit found the queue of credits full: the normal fate of excess credits.
    Credit = "credit", "credit limit", "credits",
        "credits dropped by the credit limit: the normal fate of excess credits";
    /// The link lost it at random.
    Loss = "loss", "random loss", "packets", "packets lost on the link at random";
    /// The link was down.
    Down = "down", "link down", "packets", "packets dropped because the link was down";
    /// The port's mechanism dropped it.
    Vote = "vote", "mechanism", "packets", "packets dropped because the port's mechanism voted so";
}

impl DropReason {
    /// False for the reason that is part of how credits work, and no loss.
    pub const fn is_loss(self) -> bool {
        !matches!(self, DropReason::Credit)
    }
}

/// A value for each reason for which packets are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct ByReason<T>([T; DropReason::ALL.len()]);

impl<T> ByReason<T> {
    /// Returns the value of each reason.
    pub fn of(value: impl FnMut(DropReason) -> T) -> ByReason<T> {
        ByReason(DropReason::ALL.map(value))
    }
}

impl<T: Copy> ByReason<T> {
    /// Returns the reasons with their values, in the order of [`DropReason::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, T)> {
        DropReason::ALL.into_iter().zip(self.0)
    }
}

impl ByReason<u64> {
    /// Returns the sum over all reasons but the credit limit.
    pub fn losses(&self) -> u64 {
        self.iter().map(|(why, count)| if why.is_loss() { count } else { 0 }).sum()
    }
}

impl<T> Index<DropReason> for ByReason<T> {
    type Output = T;
    #[inline]
    fn index(&self, why: DropReason) -> &T {
        &self.0[why as usize]
    }
}

impl<T> IndexMut<DropReason> for ByReason<T> {
    #[inline]
    fn index_mut(&mut self, why: DropReason) -> &mut T {
        &mut self.0[why as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_over_the_limit_are_no_losses_and_all_other_drops_are() {
        let drops = ByReason::of(|why| 10_u64.pow(why as u32));
        assert_eq!(drops[DropReason::Credit], 10);
        assert_eq!(drops.losses(), 11101);
    }

    #[test]
    fn each_reason_has_words_of_its_own() {
        for words in [DropReason::word, DropReason::phrase, DropReason::line, DropReason::column] {
            let mut all = DropReason::ALL.map(words).to_vec();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), DropReason::ALL.len(), "{all:?}");
        }
    }
}
