//! What messages wait for that begin once others are done.

use clearway_schema::choice;
use clearway_units::{Span, Time};

choice! {
    /// The moment at which a message is done for those that wait for it.
    pub enum Done {
        /// All of it has arrived.
        Delivered = "delivered",
        /// Its sender knows that all of it has arrived.
        Acknowledged = "acknowledged",
    }
}

impl Done {
    /// Both moments, in their order.
    pub const BOTH: [Done; 2] = [Done::Delivered, Done::Acknowledged];
}

/// The way in which a trigger lets those begin that wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fires {
    /// All of them, when it is pulled for the time of this number, counted from 1.
    All(u32),
    /// The next one of them each time that it is pulled, for as long as one waits.
    Next,
}

/// A message that waits for a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The number of the trigger.
    pub trigger: u32,
    /// The message.
    pub message: u32,
    /// The time between the trigger and the begin of the message.
    pub pause: Span,
}

/// A message that pulls a trigger when it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pull {
    /// The message.
    pub message: u32,
    /// The moment at which it is done.
    pub done: Done,
    /// The number of the trigger.
    pub trigger: u32,
}

/// The triggers of a list of messages. A message pulls any number of them, and waits for one at most.
#[derive(Clone, Default, Debug)]
pub struct Triggers {
    fires: Vec<Fires>,
    /// Those that wait, by trigger, and for each in the order in which they begin.
    waits: Vec<Wait>,
    /// Those that pull, by message.
    pulls: Vec<Pull>,
}

impl Triggers {
    /// Returns triggers that fire in such ways, with who waits for them and who pulls them.
    pub fn new(fires: Vec<Fires>, mut waits: Vec<Wait>, mut pulls: Vec<Pull>) -> Triggers {
        waits.sort_by_key(|wait| wait.trigger);
        pulls.sort_by_key(|pull| (pull.message, pull.done as u8, pull.trigger));
        Triggers { fires, waits, pulls }
    }

    /// Returns the same triggers for messages in another order: `place` tells where each one stands now.
    pub fn moved(self, place: &[u32]) -> Triggers {
        let Triggers { fires, mut waits, mut pulls } = self;
        waits.iter_mut().for_each(|wait| wait.message = place[wait.message as usize]);
        pulls.iter_mut().for_each(|pull| pull.message = place[pull.message as usize]);
        Triggers::new(fires, waits, pulls)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fires.is_empty()
    }

    /// Returns the number of triggers.
    pub fn len(&self) -> usize {
        self.fires.len()
    }

    /// Returns the memory that the triggers take in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.fires[..]) + size_of_val(&self.waits[..]) + size_of_val(&self.pulls[..])
    }

    /// Returns the messages that wait for a trigger.
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Returns whether any message pulls a trigger at this moment.
    pub fn heed(&self, done: Done) -> bool {
        self.pulls.iter().any(|pull| pull.done == done)
    }

    /// Returns whether a message pulls a trigger.
    pub fn is_awaited(&self, message: u32) -> bool {
        self.pulls.binary_search_by_key(&message, |pull| pull.message).is_ok()
    }

    /// Returns the triggers that a message pulls at the moment at which it is done in this sense.
    pub fn pulled_by(&self, message: u32, done: Done) -> impl Iterator<Item = usize> {
        let key = |pull: &Pull| (pull.message, pull.done as u8);
        let this = (message, done as u8);
        let pulls = self.pulls[self.pulls.partition_point(|pull| key(pull) < this)..].iter();
        pulls.take_while(move |pull| key(pull) == this).map(|pull| pull.trigger as usize)
    }

    /// Returns who begins when a trigger is pulled for the time of this number, counted from 1.
    pub fn beginning(&self, trigger: usize, time: u32) -> &[Wait] {
        let key = |wait: &Wait| wait.trigger as usize;
        let from = self.waits.partition_point(|wait| key(wait) < trigger);
        let waits = &self.waits[from..from + self.waits[from..].partition_point(|wait| key(wait) == trigger)];
        match self.fires[trigger] {
            Fires::All(last) if last == time => waits,
            Fires::All(_) => &[],
            Fires::Next => waits.get(time as usize - 1).map_or(&[], std::slice::from_ref),
        }
    }

    /// Returns when each message begins, if those that wait for none begin at these times and a message lasts so long.
    pub fn begins(&self, mut begins: Vec<Time>, lasts: impl Fn(u32) -> Span) -> Vec<Time> {
        let (mut times, mut pulled) = (vec![0; self.len()], vec![Time::ZERO; self.len()]);
        for message in self.order(begins.len()) {
            let end = begins[message as usize].saturating_add(lasts(message));
            for trigger in Done::BOTH.iter().flat_map(|&done| self.pulled_by(message, done)) {
                times[trigger] += 1;
                pulled[trigger] = pulled[trigger].max(end);
                for wait in self.beginning(trigger, times[trigger]) {
                    begins[wait.message as usize] = pulled[trigger].saturating_add(wait.pause);
                }
            }
        }
        begins
    }

    /// Returns the longest sum of pauses that one message after another adds up to, out of so many messages.
    pub fn longest_pause(&self, messages: usize) -> Span {
        let begins = self.begins(vec![Time::ZERO; messages], |_| Span::ZERO);
        begins.into_iter().max().map_or(Span::ZERO, |last| last.saturating_since(Time::ZERO))
    }

    /// Returns the messages, out of so many, in an order in which they could begin if each was done before the next one. Those
    /// that wait in vain, for each other or for a trigger that is not pulled often enough, are missing.
    pub fn order(&self, messages: usize) -> Vec<u32> {
        let mut waiting = vec![false; messages];
        self.waits.iter().for_each(|wait| waiting[wait.message as usize] = true);
        let mut order: Vec<u32> =
            (0..messages as u32).filter(|&message| !waiting[message as usize]).collect();
        let (mut times, mut next) = (vec![0; self.len()], 0);
        while let Some(&message) = order.get(next) {
            next += 1;
            for trigger in Done::BOTH.iter().flat_map(|&done| self.pulled_by(message, done)) {
                times[trigger] += 1;
                order.extend(self.beginning(trigger, times[trigger]).iter().map(|wait| wait.message));
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_PAUSE: Span = Span::ZERO;

    fn wait(trigger: u32, message: u32) -> Wait {
        Wait { trigger, message, pause: NO_PAUSE }
    }

    fn pull(message: u32, trigger: u32) -> Pull {
        Pull { message, done: Done::Delivered, trigger }
    }

    fn begin(triggers: &Triggers, trigger: usize, time: u32) -> Vec<u32> {
        triggers.beginning(trigger, time).iter().map(|wait| wait.message).collect()
    }

    #[test]
    fn a_trigger_lets_all_begin_once_it_was_pulled_often_enough_or_one_after_the_other() {
        let waits = vec![wait(1, 5), wait(0, 3), wait(1, 4), wait(0, 2)];
        let triggers = Triggers::new(vec![Fires::All(2), Fires::Next], waits, vec![]);
        assert_eq!([1, 2, 3].map(|time| begin(&triggers, 0, time)), [vec![], vec![3, 2], vec![]]);
        assert_eq!([1, 2, 3].map(|time| begin(&triggers, 1, time)), [vec![5], vec![4], vec![]]);
    }

    #[test]
    fn a_message_pulls_its_triggers_when_it_has_arrived_or_when_its_sender_knows_that() {
        let late = Pull { done: Done::Acknowledged, ..pull(1, 0) };
        let triggers =
            Triggers::new(vec![Fires::Next; 3], vec![], vec![late, pull(1, 2), pull(1, 1), pull(0, 0)]);
        let pulled = |message, done| triggers.pulled_by(message, done).collect::<Vec<_>>();
        assert_eq!(pulled(1, Done::Delivered), [1, 2]);
        assert_eq!(pulled(1, Done::Acknowledged), [0]);
        assert_eq!((pulled(0, Done::Acknowledged), pulled(2, Done::Delivered)), (vec![], vec![]));
        assert_eq!([0, 1, 2].map(|message| triggers.is_awaited(message)), [true, true, false]);
    }

    #[test]
    fn messages_that_move_keep_who_waits_for_whom_and_in_which_order() {
        let waits = vec![wait(0, 2), wait(0, 1)];
        let triggers = Triggers::new(vec![Fires::Next], waits, vec![pull(0, 0)]).moved(&[2, 0, 1]);
        assert_eq!([1, 2].map(|time| begin(&triggers, 0, time)), [[1], [0]]);
        assert_eq!(triggers.pulled_by(2, Done::Delivered).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn pauses_add_up_along_the_longest_chain() {
        // 1 begins 3 us after 0, 2 begins 4 us after both, and 3 begins 5 us after 0.
        let us = |wait: Wait, us| Wait { pause: Span::from_us(us), ..wait };
        let waits = vec![us(wait(0, 1), 3), us(wait(1, 2), 4), us(wait(2, 3), 5)];
        let pulls = vec![pull(0, 0), pull(0, 1), pull(1, 1), pull(0, 2)];
        let fires = vec![Fires::All(1), Fires::All(2), Fires::All(1)];
        assert_eq!(Triggers::new(fires, waits, pulls).longest_pause(4), Span::from_us(7));
        assert_eq!(Triggers::default().longest_pause(4), Span::ZERO);
    }

    #[test]
    fn what_waits_in_vain_is_missing_from_the_order_of_beginning() {
        // 0 lets 1 begin, and 2 and 3 wait for each other.
        let fires = vec![Fires::All(1); 3];
        let waits = vec![wait(0, 1), wait(1, 2), wait(2, 3)];
        let pulls = vec![pull(0, 0), pull(3, 1), pull(2, 2)];
        assert_eq!(Triggers::new(fires, waits, pulls).order(4), [0, 1]);
        // Two wait for a trigger that is pulled once.
        let triggers = |fires| Triggers::new(vec![fires], vec![wait(0, 1), wait(0, 2)], vec![pull(0, 0)]);
        assert_eq!(triggers(Fires::Next).order(3), [0, 1]);
        assert_eq!(triggers(Fires::All(1)).order(3), [0, 1, 2]);
        assert_eq!(triggers(Fires::All(2)).order(3), [0]);
    }
}
