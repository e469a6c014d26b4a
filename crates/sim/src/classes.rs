//! The classes of the packets of a flow, and the rules by which classes differ.

use crate::ids::{ClassId, Id, IdVec};
use crate::model::{Class, Model, Traffic};
use clearway_proto::{Header, Kind, Order, Packet};
use serde::{Deserialize, Serialize};

/// The classes of a flow's packets at every port.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Classes {
    /// The class of data, and of all kinds of packets that have none below.
    pub data: ClassId,
    /// The class of acknowledgements, of pulls, and of requests for pulls or credits and stops.
    pub ack: ClassId,
    /// The class of credits, among the classes of credits.
    pub credit: ClassId,
    /// The class of congestion notification packets.
    pub cnp: ClassId,
    /// The class of unscheduled data, which is sent without a credit. Another one than `data` if the flow sends any.
    pub unscheduled: ClassId,
}

impl Classes {
    /// One class for all packets.
    pub const ONE: Classes = Classes {
        data: ClassId::FIRST,
        ack: ClassId::FIRST,
        credit: ClassId::FIRST,
        cnp: ClassId::FIRST,
        unscheduled: ClassId::FIRST,
    };

    /// Returns the classes of the packets of an entry of traffic.
    pub fn new(model: &Model, entry: &Traffic) -> Classes {
        Classes {
            data: ClassId::from_index(entry.class),
            ack: ClassId::from_index(entry.ack_class),
            credit: ClassId::from_index(entry.credit_class),
            cnp: ClassId::from_index(entry.notice_class),
            unscheduled: ClassId::from_index(model.unscheduled_class()),
        }
    }

    /// Returns the class of a packet, unless it is unscheduled data: at once for credits and acknowledgements, which most
    /// packets are that ask.
    #[inline(always)]
    pub fn of_packet(&self, packet: &Packet) -> ClassId {
        match packet.header {
            Header::Credit { .. } => self.credit,
            Header::Ack { .. } | Header::RdmaAck { .. } | Header::CreditAck(_) | Header::PulledAck { .. } => {
                self.ack
            }
            _ => self.of(packet.kind()),
        }
    }

    /// Returns the class of packets of a kind, unless they are unscheduled data.
    #[inline(never)]
    pub fn of(&self, kind: Kind) -> ClassId {
        match kind {
            Kind::Credit => self.credit,
            Kind::Ack
            | Kind::Nack
            | Kind::Pull
            | Kind::PullRequest
            | Kind::CreditRequest
            | Kind::CreditStop => self.ack,
            Kind::Cnp => self.cnp,
            _ => self.data,
        }
    }
}

/// The classes of the lanes of data, from lane 1 on. Lane 0 has the class of data itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Lanes {
    /// The class of lane 1; those of the lanes behind it follow.
    pub first: ClassId,
    /// The number of lanes that have classes, lane 0 not counted.
    pub count: u8,
}

impl Lanes {
    /// Returns the class of a packet of data in a lane, where the class of data is this one.
    #[inline]
    pub fn class(&self, data: ClassId, lane: u8) -> ClassId {
        if self.count == 0 || lane == 0 {
            return data;
        }
        ClassId::from_index(self.first.index() + lane.min(self.count) as usize - 1)
    }
}

/// The rules by which classes differ from those of most networks: flows take turns in each, no lane of data has a class of
/// its own, and packets keep their classes at switches. One flag says where all is so.
#[derive(Serialize, Deserialize)]
pub struct ClassRules {
    are_usual: bool,
    /// The order of the flows of each class at NICs.
    orders: IdVec<ClassId, Order>,
    lanes: Lanes,
    /// The class at switches of packets of each class.
    at_switches: IdVec<ClassId, ClassId>,
}

impl ClassRules {
    /// Returns the rules of a model's classes.
    pub fn new(model: &Model) -> ClassRules {
        let (first, count) = model.lanes();
        let joins = |(index, class): (usize, &Class)| ClassId::from_index(class.at_switches.unwrap_or(index));
        let rules = ClassRules {
            are_usual: false,
            orders: model.orders().into_iter().collect(),
            lanes: Lanes { first: ClassId::from_index(first), count },
            at_switches: model.switch.classes.iter().enumerate().map(joins).collect(),
        };
        let are_usual = count == 0
            && rules.orders.iter().all(|&order| order == Order::InTurn)
            && rules.at_switches.enumerate().all(|(class, &joined)| class == joined);
        ClassRules { are_usual, ..rules }
    }

    /// Returns the number of classes of data.
    pub fn count(&self) -> usize {
        self.orders.len()
    }

    /// Returns the order of the flows of a class at NICs.
    #[inline(always)]
    pub fn order(&self, class: ClassId) -> Order {
        if self.are_usual { Order::InTurn } else { self.orders[class] }
    }

    /// Returns the class of a packet of data in a lane, where the class of data is this one.
    #[inline(always)]
    pub fn of_lane(&self, data: ClassId, lane: u8) -> ClassId {
        if self.are_usual { data } else { self.lanes.class(data, lane) }
    }

    /// Returns the class at switches of packets of a class.
    #[inline(always)]
    pub fn at_switches(&self, class: ClassId) -> ClassId {
        if self.are_usual { class } else { self.at_switches[class] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::network_for;
    use clearway_proto::AnyTransport;
    use clearway_topology::Star;
    use clearway_units::{Rate, Time};

    #[test]
    fn each_kind_of_packet_has_its_class() {
        let [data, ack, credit, cnp, unscheduled] = [0, 1, 2, 3, 4].map(ClassId::from_index);
        let classes = Classes { data, ack, credit, cnp, unscheduled };
        let kinds =
            [Kind::Ack, Kind::Nack, Kind::Pull, Kind::PullRequest, Kind::CreditRequest, Kind::CreditStop];
        assert_eq!(kinds.map(|kind| classes.of(kind)), [ack; 6]);
        assert_eq!([Kind::Credit, Kind::Cnp].map(|kind| classes.of(kind)), [credit, cnp]);
        assert_eq!([Kind::Data, Kind::SynAck, Kind::Probe].map(|kind| classes.of(kind)), [data; 3]);
    }

    #[test]
    fn each_lane_has_its_class_and_those_without_one_are_in_the_last() {
        let data = ClassId::from_index(2);
        let of = |lanes: Lanes| [0, 1, 2, 3, 4, 7].map(|lane| lanes.class(data, lane).index());
        assert_eq!(of(Lanes { first: ClassId::from_index(5), count: 3 }), [2, 5, 6, 7, 7, 7]);
        assert_eq!(of(Lanes { first: ClassId::FIRST, count: 0 }), [2; 6], "without lanes all data is alike");
    }

    #[test]
    fn rules_that_are_usual_answer_without_a_look_at_lists_what_these_say() {
        let transport = AnyTransport::by_name("dctcp").unwrap();
        let mut model = network_for(Star::default().build().unwrap(), [&transport]).unwrap();
        let usual = ClassRules::new(&model);
        let listed = ClassRules { are_usual: false, ..ClassRules::new(&model) };
        assert!(usual.are_usual);
        let answers = |rules: &ClassRules| {
            let class = ClassId::FIRST;
            (rules.count(), rules.order(class), rules.of_lane(class, 3), rules.at_switches(class))
        };
        assert_eq!(answers(&usual), answers(&listed));
        model.switch.classes.push(Class { at_switches: Some(0), ..model.switch.classes[0].clone() });
        let joining = ClassRules::new(&model);
        assert!(!joining.are_usual);
        assert_eq!(joining.at_switches(ClassId::from_index(1)), ClassId::FIRST);
    }

    #[test]
    fn a_packet_has_the_class_of_its_kind() {
        let [data, ack, credit, cnp, unscheduled] = [0, 1, 2, 3, 4].map(ClassId::from_index);
        let classes = Classes { data, ack, credit, cnp, unscheduled };
        let nothing = Time::ZERO;
        let headers = [
            Header::Credit { number: 1, session: 1, ack: 0, echo: nothing },
            Header::Ack { ack: 1, window: 1, rate: Rate::ZERO, echo: nothing },
            Header::RdmaAck { ack: 1, offset: 0, len: 1, echo: nothing },
            Header::RdmaNack { ack: 1, offset: 0, len: 1, echo: nothing },
            Header::Pull { pull: 1, leads: false },
            Header::Cnp,
            Header::Syn,
        ];
        for header in headers {
            let packet = Packet::control(header, 84, nothing);
            assert_eq!(classes.of_packet(&packet), classes.of(packet.kind()), "{header:?}");
        }
    }
}
