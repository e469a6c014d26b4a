//! Names for the simulator's objects: an index of its own type for each kind of object, and a vector that takes no
//! other.
//!
//! Objects live in vectors and refer to each other by index. A `u32` for all of them would let a port be looked up by
//! the number of a flow; with these types that does not compile. `Option` of an id takes no more room than the id.

use clearway_topology::{NodeId, PortId};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// An index into an [`IdVec`].
pub trait Id: Copy {
    /// Returns the id of the object at this index.
    fn from_index(index: usize) -> Self;

    /// Returns the index of the object in its vector.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])+ $Name:ident;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $Name(NonZeroU32);

        impl $Name {
            /// Returns the id as a number other than zero, to be packed into an event.
            #[inline]
            pub fn to_bits(self) -> u32 {
                self.0.get()
            }

            /// Returns the id that [`Self::to_bits`] packed.
            #[inline]
            pub fn from_bits(bits: u32) -> $Name {
                $Name(NonZeroU32::new(bits).expect("an id is not zero"))
            }
        }

        impl Id for $Name {
            #[inline]
            fn from_index(index: usize) -> $Name {
                $Name::from_bits(u32::try_from(index + 1).expect("fewer than 2^32 objects of a kind"))
            }

            #[inline]
            fn index(self) -> usize {
                self.to_bits() as usize - 1
            }
        }

        impl std::fmt::Debug for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($Name), self.index())
            }
        }
    )+};
}

ids! {
    /// A flow's place in the table of flows. The place of a flow that ended is used again.
    FlowSlot;
    /// The place of an end among those of its part of the network. It is used again after the flow ended.
    EndId;
    /// A handle of a packet in the network.
    PacketId;
    /// A host, by its number in the topology.
    HostId;
    /// A part of the network, which a thread of its own may simulate.
    PartId;
    /// The NIC of a host's port.
    NicId;
    /// A queue of data at a port that is not plain.
    QueueId;
    /// The queue of a plain port.
    PlainId;
    /// The credits of a port: their queues and their rate limit.
    CreditsId;
    /// The random loss of a link.
    LossId;
    /// A mechanism at work at a port.
    MechanismId;
    /// The agent of a host for one traffic entry.
    AgentId;
    /// A traffic entry of the model.
    TrafficId;
    /// A row of the table of flows: a flow or a message.
    RecordId;
    /// A fault of the model.
    FaultId;
    /// A sampled series of the model.
    SeriesId;
}

const _: () = assert!(size_of::<Option<PacketId>>() == 4, "an optional id is as small as an id");

impl HostId {
    /// Returns the host that a node is. Hosts are the first nodes of a topology.
    #[inline]
    pub fn of(node: NodeId) -> HostId {
        HostId::from_index(node.index())
    }

    /// Returns the node that the host is.
    #[inline]
    pub fn node(self) -> NodeId {
        NodeId(self.to_bits() - 1)
    }
}

/// A class of packets at a port: an index into the classes of data or, for a credit, into the classes of credits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ClassId(u8);

impl ClassId {
    /// The first class, which is the only one where there are no others.
    pub const FIRST: ClassId = ClassId(0);
}

/// A set of classes of a port, of which there are at most 64.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct ClassSet(u64);

impl ClassSet {
    /// The number of classes that a set can hold.
    pub const MOST: usize = u64::BITS as usize;

    /// The set without any class.
    pub const EMPTY: ClassSet = ClassSet(0);

    /// Returns whether no class is in the set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether a class is in the set.
    #[inline]
    pub const fn has(self, class: ClassId) -> bool {
        self.0 >> class.0 & 1 == 1
    }

    /// Adds a class.
    pub const fn add(&mut self, class: ClassId) {
        self.0 |= 1 << class.0;
    }

    /// Takes a class out.
    pub const fn remove(&mut self, class: ClassId) {
        self.0 &= !(1 << class.0);
    }

    /// Returns the classes in either set.
    pub const fn or(self, other: ClassSet) -> ClassSet {
        ClassSet(self.0 | other.0)
    }

    /// Returns the classes in both sets.
    pub const fn and(self, other: ClassSet) -> ClassSet {
        ClassSet(self.0 & other.0)
    }

    /// Returns the classes of this set that are not in the other.
    pub const fn without(self, other: ClassSet) -> ClassSet {
        ClassSet(self.0 & !other.0)
    }

    /// Returns the classes in the set.
    pub fn iter(self) -> impl Iterator<Item = ClassId> {
        (0..u64::BITS as u8).map(ClassId).filter(move |&class| self.has(class))
    }
}

impl FromIterator<ClassId> for ClassSet {
    fn from_iter<It: IntoIterator<Item = ClassId>>(classes: It) -> ClassSet {
        let mut set = ClassSet::EMPTY;
        classes.into_iter().for_each(|class| set.add(class));
        set
    }
}

impl Id for ClassId {
    #[inline]
    fn from_index(index: usize) -> ClassId {
        ClassId(index as u8)
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Id for PortId {
    #[inline]
    fn from_index(index: usize) -> PortId {
        PortId(index as u32)
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Id for NodeId {
    #[inline]
    fn from_index(index: usize) -> NodeId {
        NodeId(index as u32)
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A vector whose items are found by ids of one type.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    #[serde(skip)]
    ids: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// Returns an empty vector.
    pub fn new() -> IdVec<I, T> {
        Vec::new().into()
    }

    /// Adds an item and returns its id.
    #[inline]
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }

    /// Returns the number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the item of an id, if there is one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// Returns the item of an id, to be changed, if there is one.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.index())
    }

    /// Returns the items in the order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// Returns the items in the order of their ids, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Returns all ids in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// Returns the items with their ids.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().zip(&self.items)
    }

    /// Returns the items with their ids, to be changed.
    pub fn enumerate_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.ids().zip(&mut self.items)
    }

    /// `count` items from the one of `first` on.
    #[inline]
    pub fn range(&self, first: I, count: usize) -> &[T] {
        &self.items[first.index()..][..count]
    }

    /// `count` items from the one of `first` on, to be changed.
    pub fn range_mut(&mut self, first: I, count: usize) -> &mut [T] {
        &mut self.items[first.index()..][..count]
    }

    /// Returns the item `number` places behind the one of `first`.
    #[inline]
    pub fn nth(&self, first: I, number: usize) -> &T {
        &self.items[first.index() + number]
    }

    /// Returns the item `number` places behind the one of `first`, to be changed.
    #[inline]
    pub fn nth_mut(&mut self, first: I, number: usize) -> &mut T {
        &mut self.items[first.index() + number]
    }

    /// Makes the vector long enough for an id, filled up with `item`.
    pub fn cover(&mut self, id: I, item: T)
    where
        T: Clone,
    {
        if self.items.len() <= id.index() {
            self.items.resize(id.index() + 1, item);
        }
    }

    /// Returns the address of the item of an id, to be fetched ahead.
    #[inline]
    pub fn address(&self, id: I) -> *const T {
        self.items.as_ptr().wrapping_add(id.index())
    }

    /// Returns the memory that the items take, in bytes.
    pub fn size(&self) -> usize {
        size_of_val(&self.items[..])
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> IdVec<I, T> {
        Vec::new().into()
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(items: Vec<T>) -> IdVec<I, T> {
        IdVec { items, ids: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> IdVec<I, T> {
        Vec::from_iter(items).into()
    }
}

impl<I, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_finds_its_item_and_survives_an_event() {
        let mut names: IdVec<FlowSlot, &str> = IdVec::new();
        let (first, second) = (names.push("first"), names.push("second"));
        assert_eq!((names[first], names[second]), ("first", "second"));
        assert_eq!(FlowSlot::from_bits(second.to_bits()), second);
        assert_eq!((first.index(), second.index()), (0, 1));
        assert_eq!(format!("{second:?}"), "FlowSlot(1)");
    }

    #[test]
    fn a_vector_covers_an_id_once() {
        let mut counts: IdVec<ClassId, u32> = IdVec::new();
        counts.cover(ClassId::from_index(2), 7);
        counts[ClassId::FIRST] = 1;
        counts.cover(ClassId::FIRST, 0);
        assert_eq!(counts.iter().copied().collect::<Vec<_>>(), [1, 7, 7]);
    }

    #[test]
    fn sets_of_classes_differ_and_meet() {
        let set =
            |classes: &[usize]| classes.iter().map(|&class| ClassId::from_index(class)).collect::<ClassSet>();
        let (low, high) = (set(&[0, 1]), set(&[1, 63]));
        assert_eq!(
            (low.or(high), low.and(high), high.without(low)),
            (set(&[0, 1, 63]), set(&[1]), set(&[63]))
        );
        assert_eq!(high.iter().map(Id::index).collect::<Vec<_>>(), [1, 63]);
        let mut one = set(&[63]);
        one.remove(ClassId::from_index(63));
        assert!(one.is_empty() && !one.has(ClassId::FIRST));
    }

    #[test]
    fn a_host_is_the_node_of_its_number() {
        assert_eq!(HostId::of(NodeId(3)).node(), NodeId(3));
    }
}
