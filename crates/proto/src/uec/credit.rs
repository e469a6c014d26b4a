//! The sender's half of RCCC: the credit that it spends, and the demand that it tells.

use serde::{Deserialize, Serialize};

/// The constants of a sender's credit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CreditConfig {
    /// The bytes of a unit of credit.
    pub quantum: u32,
    /// The most credit that a sender has, and that it has when it begins, in bytes.
    pub most: i64,
    /// The bytes of a full packet.
    pub mtu: i64,
}

/// The credit of a sender. Any that is above zero lets a whole packet leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Credit {
    /// The bytes that may be sent.
    credit: i64,
    /// The number of the last pull, in units.
    pull: u32,
    /// True until the receiver is heard for the first time. What the sender sends until then, nobody has granted.
    speculates: bool,
}

impl Credit {
    /// Returns the credit of a new flow.
    pub fn new(config: &CreditConfig) -> Credit {
        Credit { credit: config.most, pull: 0, speculates: true }
    }

    /// Returns the bytes that may be sent.
    pub fn bytes(&self) -> i64 {
        self.credit
    }

    /// Returns the number of the last pull.
    pub fn pull(&self) -> u32 {
        self.pull
    }

    /// Returns true while nothing was heard of the receiver.
    pub fn speculates(&self) -> bool {
        self.speculates
    }

    /// Spends the credit of a packet of this size.
    pub fn spend(&mut self, size: u32) {
        self.credit -= i64::from(size);
    }

    /// Ends the time in which the sender speculates; what it had left for that is gone.
    pub fn stop_speculating(&mut self) {
        if self.speculates {
            (self.speculates, self.credit) = (false, self.credit.min(0));
        }
    }

    /// Takes the number of a pull.
    pub fn pulled(&mut self, pull: u32, config: &CreditConfig) {
        let more = pull.wrapping_sub(self.pull) as i32;
        if more > 0 {
            self.credit = (self.credit + i64::from(more) * i64::from(config.quantum)).min(config.most);
            self.pull = pull;
        }
    }

    /// Returns the pull that a sender wants to have come to, which has `demand` bytes to send in all, `backlog` of them for the
    /// first time. It may be below the last pull.
    pub fn target(&self, demand: i64, backlog: i64, config: &CreditConfig) -> u32 {
        let mut more = demand.min(config.most) - self.credit;
        if self.speculates && more < config.mtu && backlog > 0 {
            more = config.mtu;
        }
        self.pull.wrapping_add(divide_up(more, config.quantum.into()) as u32)
    }
}

/// Returns the least whole number that is not below `a / b`.
pub fn divide_up(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: CreditConfig = CreditConfig { quantum: 256, most: 262_926, mtu: 4150 };

    #[test]
    fn numbers_are_divided_up_on_both_sides_of_zero() {
        let divided = [-512, -511, -256, -1, 0, 1, 256, 257].map(|a| divide_up(a, 256));
        assert_eq!(divided, [-2, -1, -1, 0, 0, 1, 1, 2]);
    }

    #[test]
    fn a_sender_that_speculates_asks_for_a_packet_while_it_has_credit_for_all() {
        let mut credit = Credit::new(&CONFIG);
        credit.spend(4150);
        assert_eq!(credit.target(10_000, 10_000, &CONFIG), 17, "4150 bytes in units of 256");
        let below = credit.target(0, 0, &CONFIG).wrapping_sub(0) as i32;
        assert_eq!(below, -(258_776 / 256), "all was sent, and credit is left");
        credit.stop_speculating();
        assert_eq!((credit.bytes(), credit.speculates), (0, false));
        assert_eq!(credit.target(10_000, 10_000, &CONFIG), 40);
        assert_eq!(credit.target(1_000_000, 1_000_000, &CONFIG), 1028, "no more than the largest credit");
    }

    #[test]
    fn a_debt_stays_when_speculating_ends_and_late_pulls_count_for_nothing() {
        let mut credit = Credit::new(&CONFIG);
        credit.spend(262_926 + 1000);
        credit.stop_speculating();
        assert_eq!(credit.bytes(), -1000);
        credit.pulled(64, &CONFIG);
        assert_eq!((credit.bytes(), credit.pull()), (15_384, 64));
        for late in [64, 63, 64u32.wrapping_sub(5_000)] {
            credit.pulled(late, &CONFIG);
        }
        assert_eq!(credit.bytes(), 15_384);
        credit.pulled(1_000_000, &CONFIG);
        assert_eq!((credit.bytes(), credit.pull()), (CONFIG.most, 1_000_000), "it is capped");
    }
}
