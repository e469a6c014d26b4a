//! Service: a port whose link is free picks what leaves next, and wakes for the rest.

use super::deferred;
use super::departure::transmit;
use super::limited::serve_limited;
use super::pick::{Next, pick};
use super::rules::{CreditRule, General, Guarded, Rules, Trimming};
use crate::fast_paths::tests_forbid;
use crate::ids::{ClassId, FlowSlot, NicId};
use crate::net::credit_queue::WaitingCredit;
use crate::net::network::Network;
use crate::net::pause;
use crate::net::port::Instance;
use clearway_topology::PortId;
use clearway_units::Time;

/// A wake-up of a port came. Returns whether it is the one that counts, and what the port can do has yet to be done.
#[inline(always)]
pub fn wake(net: &mut Network, port: PortId) -> bool {
    let out = &mut net.ports[port];
    if out.wake_at != net.agenda.now {
        return false;
    }
    out.wake_at = Time::MAX;
    match out.special.instance {
        Instance::General => true,
        Instance::Trimming | Instance::Deferred => !serve_trimming(net, port),
        Instance::Limited => !serve_limited(net, port),
        Instance::Guarded => !serve_guarded(net, port),
    }
}

/// Serves a port by the rules of [`Instance::Guarded`], if nothing special is asked of it now. Returns whether it did so.
#[inline(never)]
fn serve_guarded(net: &mut Network, port: PortId) -> bool {
    let out = &net.ports[port];
    let is_clear =
        out.is_free(net.agenda.now) && out.control.is_empty() && out.waiting > 0 && !tests_forbid();
    is_clear && serve::<Guarded>(net, port)
}

/// As [`serve_guarded`], for [`Instance::Trimming`].
#[inline(never)]
fn serve_trimming(net: &mut Network, port: PortId) -> bool {
    let out = &net.ports[port];
    if deferred::is_deferred(out) {
        deferred::serve_deferred(net, port);
        return true;
    }
    let is_clear = out.is_free(net.agenda.now)
        && out.control.is_empty()
        && out.waiting > 0
        && out.credits.is_none()
        && !net.arbiter.has_turns(false)
        && !tests_forbid();
    is_clear && serve::<Trimming>(net, port)
}

/// Serves a port by some rules. Returns false, and does nothing, if flows must be asked and the rules do not ask them.
#[inline(always)]
fn serve<R: Rules>(net: &mut Network, port: PortId) -> bool {
    match pick::<R>(net, port) {
        Next::Data(id) | Next::Credit(WaitingCredit { id, .. }) => transmit(net, port, id),
        Next::Pull(_) | Next::Flows => return false,
        Next::Nothing => {}
    }
    rearm_by::<R>(net, port);
    true
}

/// Lets a switch's port send what it can at once, and sees to it that it wakes for the rest.
#[inline(never)]
pub fn use_switch_port(net: &mut Network, port: PortId) {
    if net.ports[port].is_free(net.agenda.now) {
        let class = send_next(net, port);
        debug_assert!(class.is_none(), "no flows wait at a switch");
    }
    rearm(net, port);
}

/// Lets a port that is free send what comes next. Returns the class of which a flow must be asked for a packet instead.
#[inline(always)]
pub fn send_next(net: &mut Network, port: PortId) -> Option<ClassId> {
    match pick::<General>(net, port) {
        Next::Data(id) | Next::Credit(WaitingCredit { id, .. }) => transmit(net, port, id),
        Next::Pull(class) => return Some(class),
        Next::Flows | Next::Nothing => {}
    }
    None
}

/// Schedules a port's next wake-up after it did something, if anything waits.
#[inline]
pub fn rearm(net: &mut Network, port: PortId) {
    rearm_by::<General>(net, port);
}

/// As [`rearm`] at a host's port with this NIC, where nothing waits but flows, if any do.
#[inline(always)]
pub fn rearm_for_flows(net: &mut Network, port: PortId, nic: NicId) {
    if net.nics[nic].has_any() {
        net.arm(port, net.ports[port].busy_until.max(net.agenda.now));
    }
}

#[inline(always)]
fn rearm_by<R: Rules>(net: &mut Network, port: PortId) {
    let now = net.agenda.now;
    let out = &net.ports[port];
    if R::CONTROL && !out.up {
        return;
    }
    let free = out.busy_until.max(now);
    if R::CONTROL && !out.control.is_empty() {
        if pause::may_send(net, port) {
            return net.arm(port, free);
        }
    } else if out.waiting > 0 || out.nic.is_some_and(|nic| net.nics[nic].has_any()) {
        return net.arm(port, free);
    }
    if let Some(ready) = R::Credits::ready_at(&mut net.credits, out.credits, now) {
        net.arm(port, free.max(ready));
    }
}

/// Returns the NIC of a host's port, if the port may do nothing now but ask its flows, of which none takes a turn that must be
/// counted: it is free, nothing waits there but flows, if any do, and nothing is asked of it.
#[inline(always)]
pub fn nic_alone(net: &Network, port: PortId) -> Option<NicId> {
    let out = &net.ports[port];
    let is_alone = out.is_free(net.agenda.now)
        && out.control.is_empty()
        && out.waiting == 0
        && out.credits.is_none_or(|credits| net.credits.has_none(credits))
        && !net.arbiter.has_turns(true)
        && !tests_forbid();
    out.nic.filter(|_| is_alone)
}

/// Takes the flow whose turn it is at a NIC that [`nic_alone`] returned.
#[inline(always)]
pub fn turn_alone(net: &mut Network, nic: NicId) -> Option<(ClassId, FlowSlot)> {
    let nic = &mut net.nics[nic];
    if let Some(parked) = nic.settle_or_pop(net.agenda.now) {
        return Some(parked);
    }
    let class = net.arbiter.first(true, |class| nic.has(class))?;
    Some((class, nic.pop(class)?))
}
