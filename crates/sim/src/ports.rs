//! Networks without a scenario file, for tests, benchmarks and examples. Their ports come about as those of a scenario that
//! sets no key: by the code of [`crate::scenario`].

use crate::model::{Delay, HostModel, Measure, Model, Pattern, Traffic};
use crate::scenario::{AllNeeds, classes_of, ports_for};
use clearway_proto::{AnyTransport, Framing};
use clearway_topology::Topology;
use clearway_units::Span;
use std::sync::Arc;

/// Returns a network without traffic whose ports have what the transports need, as those of a scenario that sets no key
/// but `switch.buffer`: queues of data are unlimited. Where a transport needs a lossless network, memory and flow control
/// are those of a scenario, too.
///
/// # Errors
/// Two transports need different things of the same ports. The message names both, and the key of a scenario with which
/// one would choose.
pub fn network_for<'a>(
    topology: Topology,
    transports: impl IntoIterator<Item = &'a AnyTransport>,
) -> Result<Model, String> {
    let framing = Framing::ETHERNET;
    let ports = ports_for(transports, &topology, framing).map_err(|error| error.to_string())?;
    Ok(Model {
        seed: 1,
        stop: None,
        topology: Arc::new(topology),
        routing: ports.routing,
        framing,
        pfc: ports.pfc,
        whole_ns: false,
        switch: ports.switch,
        host: HostModel {
            port: ports.host,
            queues_data: false,
            control_run: None,
            processing_delay: Delay::Fixed(Span::ZERO),
        },
        traffic: Vec::new(),
        faults: Vec::new(),
        loss: Vec::new(),
        measure: Measure::default(),
        samples: Vec::new(),
        traces: Vec::new(),
    })
}

impl Model {
    /// Adds traffic of a transport, in the classes that [`network_for`] made for it; without such classes, in the
    /// first.
    pub fn add_traffic(&mut self, name: impl Into<String>, transport: &AnyTransport, pattern: Pattern) {
        let ahead = AllNeeds::of([transport]).ahead();
        let classes = &self.switch.classes;
        let (cnps, acks) = classes_of(&transport.needs(), &ahead, |made| {
            classes.iter().position(|class| class.name == made.name)
        });
        self.traffic.push(Traffic {
            name: name.into(),
            transport: transport.clone(),
            class: 0,
            credit_class: 0,
            notice_class: cnps.unwrap_or(0),
            ack_class: acks.unwrap_or(0),
            pattern,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Amount, Class, SharedBuffer, Threshold};
    use crate::scenario::{Overrides, Scenario};
    use clearway_proto::TRANSPORTS;
    use clearway_proto::port::MarkAt;
    use clearway_topology::Star;
    use clearway_units::Bytes;
    use std::path::Path;

    fn transport(name: &str, set: &[(&str, &str)]) -> AnyTransport {
        let mut transport = AnyTransport::by_name(name).unwrap();
        set.iter().for_each(|(key, value)| transport.set(key, value).unwrap());
        transport
    }

    fn network(transports: &[AnyTransport]) -> Result<Model, String> {
        network_for(Star::default().build().unwrap(), transports)
    }

    fn names(classes: &[Class]) -> Vec<(&str, u8)> {
        classes.iter().map(|class| (class.name.as_str(), class.priority)).collect()
    }

    #[test]
    fn a_transport_with_credits_gets_a_class_of_credits_at_hosts_and_switches() {
        let model = network(&[transport("expresspass", &[("low_priority", "1")])]).unwrap();
        assert_eq!(model.switch.credit.unwrap().queue, 8);
        assert_eq!(model.host.port.credit.unwrap().queue, 8);
        assert_eq!(names(&model.switch.classes), [("data", 0), ("low-priority", 1)]);
        assert_eq!(model.switch.classes[1].limit.packets, 32);
        assert_eq!(model.host.port.classes[1].limit, Amount::UNLIMITED);
        assert_eq!(model.unscheduled_class(), 1);
    }

    #[test]
    fn cnps_and_acknowledgements_go_ahead_of_data_where_a_transport_asks_for_it() {
        let dcqcn = transport("dcqcn", &[("acks", "first-at-hosts")]);
        let mut model = network(std::slice::from_ref(&dcqcn)).unwrap();
        assert_eq!(names(&model.switch.classes), [("data", 2), ("notices", 0), ("acks-of-hosts", 1)]);
        assert_eq!(model.switch.classes[2].at_switches, Some(0));
        assert_eq!(model.pfc.as_ref().unwrap().lossless, [true, false, false]);
        model.add_traffic("flows", &dcqcn, Pattern::Flows(Arc::default()));
        let Traffic { class, notice_class, ack_class, .. } = model.traffic[0];
        assert_eq!((class, notice_class, ack_class), (0, 1, 2));
        let own = network(&[transport("hpcc", &[("acks", "own-class")])]).unwrap();
        assert_eq!(names(&own.switch.classes), [("data", 1), ("acks", 0)]);
        assert_eq!(own.pfc.unwrap().lossless, [true, true]);
    }

    #[test]
    fn transports_that_need_different_ports_are_refused_by_name() {
        let [few, many] = ["4", "16"].map(|queue| transport("expresspass", &[("credit_queue", queue)]));
        let error = network(&[few, many]).unwrap_err();
        let asked = "a network without a scenario file:1: switch.credit_queue: the transports expresspass and expresspass \
                     ask for 4 and 16; write a value for both";
        assert_eq!(error, asked);
        let error = network(&[transport("hull", &[]), transport("rcp", &[])]).unwrap_err();
        assert!(error.contains("hull and rcp need different things of the ports of switches"), "{error}");
    }

    #[test]
    fn marks_follow_the_need_of_the_transport() {
        let marking = |name| network(&[transport(name, &[])]).unwrap().switch.classes[0].marking;
        let step = marking("dctcp").unwrap();
        assert!(matches!(step.threshold, Threshold::ByRate) && step.at == MarkAt::Enqueue);
        let red = marking("dcqcn").unwrap();
        assert!(matches!(red.threshold, Threshold::Red(_)) && red.at == MarkAt::Dequeue);
        assert!(marking("newreno").is_none());
    }

    #[test]
    fn every_transport_gets_the_ports_of_a_scenario_that_sets_no_key_but_the_buffer() {
        for info in TRANSPORTS {
            let made = network(&[transport(info.name, &[])]).unwrap();
            let buffer = if made.pfc.is_some() { "" } else { "[switch]\nbuffer = \"unlimited\"\n" };
            let text = format!(
                "[topology]\nkind = \"star\"\n{buffer}[transport]\nname = \"{}\"\n[[traffic]]\nkind = \"permutation\"\n\
                 size = \"1 KB\"\n",
                info.name
            );
            let read = Scenario::parse(&text, "test", Path::new("."), &Overrides::default());
            let read = read.unwrap_or_else(|error| panic!("{}: {error}", info.name)).model;
            let ports = |model: &Model| format!("{:?} {:?} {:?}", model.switch, model.host, model.pfc);
            assert_eq!(ports(&made), ports(&read), "{}", info.name);
            assert_eq!((made.framing, made.routing), (read.framing, read.routing));
        }
    }

    #[test]
    fn queues_are_unlimited_and_a_lossless_network_has_the_memory_of_a_switch() {
        let dctcp = network(&[transport("dctcp", &[])]).unwrap();
        assert!(dctcp.switch.classes.iter().all(|class| class.limit == Amount::UNLIMITED));
        assert!(dctcp.switch.shared.is_none() && dctcp.pfc.is_none());
        let both = network(&[transport("dctcp", &[]), transport("hpcc", &[])]).unwrap();
        assert_eq!(both.switch.classes[0].limit, Amount::UNLIMITED);
        let SharedBuffer { size, alpha } = both.switch.shared.unwrap();
        assert_eq!((size, alpha), (Bytes::new(32_000_000), 1.0));
    }
}
