//! The classes of the packets of a flow.

use crate::ids::{ClassId, Id};
use crate::model::{Model, Traffic};
use clearway_proto::Kind;
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

    /// Returns the class of a packet of a kind, unless it is unscheduled data.
    #[inline]
    pub fn of(&self, kind: Kind) -> ClassId {
        if kind == Kind::Credit { self.credit } else { self.of_other(kind) }
    }

    #[inline(never)]
    fn of_other(&self, kind: Kind) -> ClassId {
        match kind {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
