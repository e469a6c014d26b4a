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
    /// The class of acknowledgements.
    pub ack: ClassId,
    /// The class of credits, among the classes of credits.
    pub credit: ClassId,
    /// The class of congestion notification packets.
    pub cnp: ClassId,
    /// The class of unscheduled data, which is sent without a credit. Another one than `data` if the flow sends any.
    pub unscheduled: ClassId,
    /// The class of data of lane 1; those of the lanes behind it follow.
    pub lane: ClassId,
    /// The number of lanes of data that have a class of their own, the first one not counted, which has that of data.
    pub lanes: u8,
}

impl Classes {
    /// One class for all packets.
    pub const ONE: Classes = Classes {
        data: ClassId::FIRST,
        ack: ClassId::FIRST,
        credit: ClassId::FIRST,
        cnp: ClassId::FIRST,
        unscheduled: ClassId::FIRST,
        lane: ClassId::FIRST,
        lanes: 0,
    };

    /// Returns the classes of the packets of an entry of traffic.
    pub fn new(model: &Model, entry: &Traffic) -> Classes {
        let (lane, lanes) = model.lanes(entry);
        Classes {
            lane: ClassId::from_index(lane),
            lanes,
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

    /// Returns the class of data of a lane.
    #[inline]
    pub fn of_lane(&self, lane: u8) -> ClassId {
        match lane.min(self.lanes) {
            0 => self.data,
            lane => ClassId::from_index(self.lane.index() + lane as usize - 1),
        }
    }

    #[inline(never)]
    fn of_other(&self, kind: Kind) -> ClassId {
        match kind {
            Kind::Ack | Kind::Nack => self.ack,
            Kind::Cnp => self.cnp,
            _ => self.data,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_packet_has_its_class() {
        let [data, ack, credit, cnp, unscheduled] = [0, 1, 2, 3, 4].map(ClassId::from_index);
        let classes = Classes { data, ack, credit, cnp, unscheduled, ..Classes::ONE };
        assert_eq!([Kind::Ack, Kind::Nack].map(|kind| classes.of(kind)), [ack; 2]);
        assert_eq!([Kind::Credit, Kind::Cnp].map(|kind| classes.of(kind)), [credit, cnp]);
        assert_eq!([Kind::Data, Kind::SynAck].map(|kind| classes.of(kind)), [data; 2]);
    }

    #[test]
    fn each_lane_has_its_class_and_those_without_one_are_in_the_last() {
        let classes =
            Classes { data: ClassId::from_index(2), lane: ClassId::from_index(5), lanes: 3, ..Classes::ONE };
        let of = |classes: &Classes| [0, 1, 2, 3, 4, 7].map(|lane| classes.of_lane(lane).index());
        assert_eq!(of(&classes), [2, 5, 6, 7, 7, 7]);
        assert_eq!(of(&Classes { lanes: 0, ..classes }), [2; 6], "without lanes all data is alike");
    }
}
