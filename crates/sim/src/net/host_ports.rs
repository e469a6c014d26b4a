//! The ports of hosts, behind each of which stands a network card with the flows that wait for their turn.

use super::cards::Card;
use super::network::Network;
use crate::fast_paths::tests_forbid;
use crate::ids::{CardId, ClassId, FlowSlot};
use clearway_topology::PortId;

impl Network {
    /// The card of a host's port, if the port may do nothing now but ask its flows, of which none takes a turn that
    /// must be counted: it is free, nothing waits there but flows, if any do, and nothing is asked of it.
    #[inline(always)]
    pub fn card_alone(&self, port: PortId) -> Option<CardId> {
        let out = &self.ports[port];
        let is_alone = out.is_free(self.now())
            && out.control.is_empty()
            && out.waiting == 0
            && out.credits.is_none_or(|credits| self.credits.has_none(credits))
            && !self.arbiter.has_turns(true)
            && !tests_forbid();
        out.card.filter(|_| is_alone)
    }

    /// Takes the flow whose turn it is at a port, of which [`Network::card_alone`] answered the card.
    #[inline(always)]
    pub fn turn_alone(&mut self, card: CardId) -> Option<(ClassId, FlowSlot)> {
        let now = self.agenda.now;
        let card = &mut self.cards[card];
        if let Some(parked) = card.pop_parked(now) {
            return Some(parked);
        }
        card.settle_before(now);
        let class = self.arbiter.first(true, |class| card.has(class))?;
        Some((class, card.pop(class)?))
    }

    /// Charges a packet that a flow made for its turn.
    #[inline(always)]
    pub fn charge_pull(&mut self, port: PortId, class: ClassId, wire: u32) {
        self.arbiter.charge(port, true, class, wire);
    }

    /// The network card behind a host's port.
    #[inline(always)]
    pub fn card(&mut self, port: PortId) -> &mut Card {
        &mut self.cards[self.ports[port].card.expect("a host's port has a card")]
    }

    /// As [`Network::rearm`] at a host's port with this card, where nothing waits but flows, if any do.
    #[inline(always)]
    pub fn rearm_for_flows(&mut self, port: PortId, card: CardId) {
        if self.cards[card].has_any() {
            self.arm(port, self.ports[port].busy_until.max(self.now()));
        }
    }
}
