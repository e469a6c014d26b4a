//! How hosts drive their agents, by the rule of [`clearway_proto::Agent`].

use super::drive::{Input, Standing};
use super::driver::Hosts;
use crate::engine::EventKind;
use crate::ids::{AgentId, FlowSlot};
use crate::net::Network;
use clearway_proto::Agent;

impl Hosts {
    /// Drives the receiving end of a flow that has an agent, and lets the agent send what it may.
    #[inline(never)]
    pub(super) fn drive_behind_agent(
        &mut self,
        slot: FlowSlot,
        id: AgentId,
        input: Input<'_>,
        net: &mut Network,
    ) -> Option<Standing> {
        let (receiving, protocols) = self.receivers.with_protocols(slot)?;
        let host = self.agents.get_mut(id);
        let mut passed = None;
        let standing = host
            .show(&mut receiving.end, slot, 0, input, &mut passed, net)
            .map(|input| receiving.drive(protocols, slot, input, net, Some(&mut host.agent)));
        self.ask_agent(id, net);
        standing
    }

    /// Sends what an agent sends now, and sees to it that the agent is woken for the rest. What it holds is not yet sent: it
    /// stands in no book.
    #[inline(never)]
    pub(super) fn ask_agent(&mut self, id: AgentId, net: &mut Network) {
        let now = net.now();
        let host = self.agents.get_mut(id);
        while let Some(sent) = host.agent.poll_transmit(now) {
            let slot = FlowSlot::from_bits(sent.flow);
            // Both ends of the flow may be in this part of the network: one of them is at this host.
            let receiving = self.receivers.get_mut(slot).map(|receiving| &mut receiving.end);
            let end = match receiving.filter(|end| end.host == host.host) {
                Some(end) => Some((end, false)),
                None => self.senders.get_mut(slot).map(|sending| (&mut sending.end, true)),
            };
            let (end, is_sender) = end.expect("an agent forgets a flow before its place is empty");
            debug_assert_eq!(end.host, host.host, "the flow has an end here");
            debug_assert_eq!(sent.packet.kind().is_for_receiver(), is_sender, "{:?}", sent.packet.header);
            end.send_of_agent(slot, &sent, net);
        }
        if let Some(at) = host.arm(now) {
            net.agenda.at_host(host.host, at, EventKind::AgentTimer(id));
        }
    }

    /// A timer event of an agent came.
    pub fn wake_agent(&mut self, id: AgentId, net: &mut Network) {
        if self.agents.get_mut(id).wake(net.now()) {
            self.ask_agent(id, net);
        }
    }

    /// Lets the agent of an end forget a flow that is over.
    pub(super) fn forget_at(&mut self, agent: Option<AgentId>, slot: FlowSlot, net: &mut Network) {
        if let Some(id) = agent {
            self.agents.get_mut(id).agent.forget(slot.to_bits());
            self.ask_agent(id, net);
        }
    }
}
