//! The turn of a sending end: it is asked for a packet of data, which enters the network.

use super::agents::Agents;
use super::drive::{arm_timer, note_finished};
use super::ends::Sending;
use crate::engine::EventKind;
use crate::ids::{ClassId, FlowSlot, PacketId};
use crate::net::{Addition, Network};
use clearway_proto::{Cx, Extra, Order, Packet, Sender, SenderVisitor, Senders};
use clearway_topology::PortId;
use clearway_units::Time;

/// The answer of a sending end whose turn it was, and which had a packet.
pub struct Pulled {
    /// The packet.
    pub id: PacketId,
    /// The port with which its path starts.
    pub port: PortId,
    /// The end has more to send.
    pub more: bool,
    /// The end has more to send from this time on, before the packet has left, and is not woken for it.
    pub parks_until: Option<Time>,
    /// The end needs nothing more since this packet.
    pub has_finished: bool,
}

/// Asks a sending end for a packet of data. The copies stand as those of what drives an end (`drive.rs`).
struct Poll<'a> {
    cx: Cx<'a>,
    is_unscheduled: bool,
}

/// What a sending end says when it is asked for a packet of data.
struct Polled {
    /// The packet; `None` if the end had none after all, and then the rest says nothing.
    packet: Option<Packet>,
    /// The times at which the end wants to be woken, as [`Sender::next_turn`].
    turns: (Time, Time),
    /// The end has more to send.
    more: bool,
    /// The end needs nothing more.
    is_finished: bool,
}

impl SenderVisitor for Poll<'_> {
    type Output = Polled;
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn visit<S: Sender>(self, sender: &mut S) -> Polled {
        let Poll { mut cx, is_unscheduled } = self;
        let packet =
            if is_unscheduled { sender.poll_unscheduled(&mut cx) } else { sender.poll_transmit(&mut cx) };
        if packet.is_none() {
            return Polled { packet, turns: (Time::MAX, Time::MAX), more: false, is_finished: false };
        }
        let more = if is_unscheduled { sender.wants_unscheduled() } else { sender.wants_transmit(cx.now) };
        Polled { packet, turns: sender.next_turn(), more, is_finished: sender.is_finished() }
    }
}

impl Sending {
    /// Asks the end for a packet of a class of data, and notes whether it still waits for its turn there. The packet passes
    /// the agent, if one sees data.
    #[inline(always)]
    pub fn pull(
        &mut self,
        protocols: &mut Senders,
        slot: FlowSlot,
        class: ClassId,
        net: &mut Network,
        agents: &mut Agents,
    ) -> Option<Pulled> {
        let end = &mut self.end;
        let is_unscheduled = class != end.classes.data;
        let cx = end.context(net.now());
        let mut polled = protocols.visit(self.sender, Poll { cx, is_unscheduled });
        let is_in_turn = if is_unscheduled { &mut end.unscheduled_in_turn } else { &mut end.in_turn };
        *is_in_turn = polled.more;
        let (Some(packet), (turn, other)) = (&mut polled.packet, polled.turns) else { return None };
        if agents.see_data {
            let others = net.nic(net.paths.first_port(end.route)).waiting(class);
            agents.show_data(slot, packet, others + 1, net.now());
        }
        let way = net.paths.enter(end.route, packet, &mut end.entropies);
        end.in_network += 1;
        let lane = if is_unscheduled { class } else { net.classes.of_lane(class, packet.lane()) };
        let (id, port) = net.enter(packet, Addition::New(&Extra::None), slot, lane, way);
        let parks = turn != Time::MAX
            && !is_unscheduled
            && end.may_park(turn, other, port, packet.wire.into(), net)
            && net.classes.order(class) == Order::InTurn;
        if parks {
            end.in_turn = true;
        } else {
            arm_timer(net, end, turn.min(other), EventKind::SenderTimer(slot));
        }
        let has_finished = note_finished(net, end, polled.is_finished);
        let more = polled.more;
        Some(Pulled { id, port, more, parks_until: parks.then_some(turn), has_finished })
    }
}
