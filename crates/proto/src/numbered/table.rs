//! What an agent knows of each flow of its host.

use serde::{Deserialize, Serialize};

/// Values of the flows of a host, found by the number of the flow, or by a place that a value keeps. The place of a flow that
/// is over is used again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowTable<T> {
    /// The flows with their places, in the order of their numbers.
    places: Vec<(u32, u32)>,
    values: Vec<(u32, T)>,
    free: Vec<u32>,
}

impl<T> Default for FlowTable<T> {
    fn default() -> FlowTable<T> {
        FlowTable { places: Vec::new(), values: Vec::new(), free: Vec::new() }
    }
}

impl<T> FlowTable<T> {
    /// Adds a flow that begins.
    pub fn add(&mut self, flow: u32, value: T) {
        let place = match self.free.pop() {
            Some(place) => {
                self.values[place as usize] = (flow, value);
                place
            }
            None => {
                self.values.push((flow, value));
                self.values.len() as u32 - 1
            }
        };
        let at = self.places.partition_point(|&(other, _)| other < flow);
        self.places.insert(at, (flow, place));
    }

    /// Removes a flow that is over, and returns its place.
    pub fn remove(&mut self, flow: u32) -> Option<u32> {
        let place = self.retire(flow)?;
        self.free(place);
        Some(place)
    }

    /// Forgets the number of a flow that is over, and returns its place, whose value stays until the place is [free](Self::free).
    pub fn retire(&mut self, flow: u32) -> Option<u32> {
        let at = self.at(flow)?;
        Some(self.places.remove(at).1)
    }

    /// Lets another flow have the place of one that was retired.
    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Returns the number of places, free or not.
    #[cfg(test)]
    pub fn places(&self) -> usize {
        self.values.len()
    }

    /// Returns true if no flow has a number here.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn at(&self, flow: u32) -> Option<usize> {
        self.places.binary_search_by_key(&flow, |&(number, _)| number).ok()
    }

    /// Returns the place of a flow.
    pub fn place(&self, flow: u32) -> Option<u32> {
        Some(self.places[self.at(flow)?].1)
    }

    /// Returns the number of the flow at a place.
    pub fn flow(&self, place: u32) -> u32 {
        self.values[place as usize].0
    }

    /// Returns the value of a place, to be changed.
    pub fn value(&mut self, place: u32) -> &mut T {
        &mut self.values[place as usize].1
    }
}
