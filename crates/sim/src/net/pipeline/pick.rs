//! Pick: a port whose link is free decides what leaves next.

use super::departure::take;
use super::rules::{CreditRule, Rules, TurnRule};
use crate::ids::{ClassId, Id, PacketId};
use crate::net::credit_queue::WaitingCredit;
use crate::net::network::Network;
use crate::net::nics::Nic;
use crate::net::pause;
use crate::net::port::ControlWork;
use clearway_topology::PortId;

/// What a port that is free sends next.
pub(super) enum Next {
    /// It sends this packet, which was just taken from its queue.
    Data(PacketId),
    /// It sends this credit, which was just taken from its queue.
    Credit(WaitingCredit),
    /// It asks a flow of this class for a packet.
    Pull(ClassId),
    /// It is a host's port, whose flows these rules do not ask.
    Flows,
    /// It sends nothing now.
    Nothing,
}

/// Picks what a free port sends next: a pause frame that is due, else a credit if the limit allows, else data by class.
#[inline(always)]
pub(super) fn pick<R: Rules>(net: &mut Network, port: PortId) -> Next {
    let now = net.agenda.now;
    if R::CONTROL && net.ports[port].control.has(ControlWork::FRAME_DUE) {
        pause::send_frame(net, port);
        return Next::Nothing;
    }
    let out = &net.ports[port];
    if let Some(credit) = R::Credits::next(&mut net.credits, out.credits, now) {
        return Next::Credit(credit);
    }
    if !R::PULLS && out.nic.is_some() {
        return Next::Flows;
    }
    let nic = out.nic.filter(|_| R::PULLS).map(|nic| {
        net.nics[nic].settle_before(now);
        &net.nics[nic]
    });
    let waits = out.waiting > 0;
    if !waits && !nic.is_some_and(Nic::has_any) {
        return Next::Nothing;
    }
    let queues = &net.queues;
    let has = |class: ClassId| {
        let queued = waits && queues.nth(out.queues, class.index()).queue.packets() > 0;
        (queued || nic.is_some_and(|nic| nic.has(class))) && !(R::CONTROL && out.paused.has(class))
    };
    // Where none may go, what waits is stopped.
    let Some(class) = R::Turns::pick(&mut net.arbiter, port, out, has) else {
        return Next::Nothing;
    };
    if !waits {
        return Next::Pull(class);
    }
    take::<R>(net, port, class).map_or(Next::Pull(class), Next::Data)
}
