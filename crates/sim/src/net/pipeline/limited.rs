//! Service by the rules of [`Instance::Limited`](crate::net::port::Instance::Limited): what pick, depart and the next wake-up
//! are at any port, in one function, which looks its port, credits, queue and packet up once each.

use crate::engine::EventKind;
use crate::fast_paths::tests_forbid;
use crate::ids::Id;
use crate::net::credit_queue::WaitingCredit;
use crate::net::network::Network;
use clearway_proto::Sees;
use clearway_topology::PortId;

/// Serves a port that woke, if nothing special is asked of it now: it sends the first credit or, if none may leave, a packet of
/// the one class of data. Returns false, and does nothing, if something special or a flow must be asked.
#[inline(never)]
pub fn serve_limited(net: &mut Network, port: PortId) -> bool {
    let now = net.agenda.now;
    let out = &mut net.ports[port];
    // A port that is down, or for which flow control has work, looks at all that arrives.
    let is_clear = out.busy_until <= now
        && out.special_arrivals == Sees::Nothing
        && out.special_departures == Sees::Nothing
        && !tests_forbid();
    let Some(credits) = out.credits.filter(|_| is_clear) else { return false };
    let credits = net.credits.alone(credits);
    let sent = match credits.next(now) {
        Some(WaitingCredit { id, wire }) => {
            out.counted.add_credit(wire);
            Some((id, wire))
        }
        None if out.nic.is_some() => return false,
        None if out.waiting == 0 => None,
        None => {
            let class = net.lone_class.expect("data at switches has one class");
            let queue = net.queues.nth_mut(out.queues, class.index());
            let id = queue.queue.head().expect("packets of the one class wait");
            let routed = &mut net.slab[id];
            queue.queue.pop_head(routed, now);
            queue.mark_leaving(&mut routed.packet);
            out.waiting -= 1;
            out.counted.add(&routed.packet);
            Some((id, routed.packet.wire.into()))
        }
    };
    let arrival = sent.map(|(id, wire)| (id, out.start_frame(wire, now)));
    let has_data = out.waiting > 0 || out.nic.is_some_and(|nic| net.nics[nic].has_any());
    let ready = if has_data { Some(now) } else { credits.ready_since() };
    let wake = ready.map(|ready| ready.max(out.busy_until));
    out.wake_at = wake.unwrap_or(out.wake_at);
    if let Some((id, arrival)) = arrival {
        net.launched += 1;
        net.agenda.at_port(port, arrival, EventKind::Arrive(id));
    }
    if let Some(at) = wake {
        net.agenda.at_port(port, at, EventKind::Wake(port));
    }
    true
}
