//! PACC's controller, which computes the number of notifications from the queue.

use clearway_schema::choice;
use clearway_units::Bytes;
use serde::{Deserialize, Serialize};

choice! {
    /// The form of the controller: the value to which its output is added (PACC-2).
    #[derive(Serialize, Deserialize)]
    pub enum PiForm {
        /// The output is added to nothing: eq. (2) and Algorithm 1, line 12, as printed.
        Position = "position",
        /// The output is added to that of the period before, as in RoCC. The paper's analysis (eq. (7)) is of this
        /// form.
        Incremental = "incremental",
    }
}

/// A controller of a queue's length: eq. (2) of PACC, once in each period.
///
/// ```
/// use clearway_proto::rdma::pacc::{PiController, PiForm};
/// use clearway_units::Bytes;
///
/// // The paper's constants, with the queue in KB (PACC-1) and a threshold of 125 KB.
/// let mut pi = PiController::new(0.05, 0.1, 125_000, Bytes::new(1_000), PiForm::Position);
/// // From 0 to 250 KB: 0.05 x 125 + 0.1 x 250.
/// assert_eq!(pi.step(250_000), 31.25);
/// // It stands there: 0.05 x 125.
/// assert_eq!(pi.step(250_000), 6.25);
/// // It falls below the threshold: nothing.
/// assert_eq!(pi.step(100_000), 0.0);
/// ```
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PiController {
    beta1: f64,
    beta2: f64,
    threshold: u64,
    unit: f64,
    form: PiForm,
    last_queue: u64,
    output: f64,
}

impl PiController {
    /// Returns a controller with weights of the distance to the threshold (`beta1`) and of the queue's growth in a
    /// period (`beta2`), both for queues in units of `unit`.
    pub fn new(beta1: f64, beta2: f64, threshold: u64, unit: Bytes, form: PiForm) -> PiController {
        let unit = unit.get().max(1) as f64;
        PiController { beta1, beta2, threshold, unit, form, last_queue: 0, output: 0.0 }
    }

    /// Returns the queue at which the controller aims (`Q_th`), in bytes.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Ends a period with a queue of this length; returns the number of notifications (`N_all`), never negative.
    pub fn step(&mut self, queue: u64) -> f64 {
        let units = |from: u64| (queue as f64 - from as f64) / self.unit;
        let change = self.beta1 * units(self.threshold) + self.beta2 * units(self.last_queue);
        self.last_queue = queue;
        self.output = match self.form {
            PiForm::Position => change.max(0.0),
            PiForm::Incremental => (self.output + change).max(0.0),
        };
        self.output
    }

    /// Returns true if the controller has forgotten the past: the next step with an empty queue gives what a new
    /// controller would give.
    pub fn is_at_rest(&self) -> bool {
        self.last_queue == 0 && (self.form == PiForm::Position || self.output == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller(form: PiForm) -> PiController {
        PiController::new(0.05, 0.1, 125_000, Bytes::new(1_000), form)
    }

    #[test]
    fn a_rising_queue_counts_below_its_threshold_and_a_falling_one_not_above_it_eq_2() {
        let mut pi = controller(PiForm::Position);
        assert_eq!(pi.step(100_000), 8.75, "0.05 x -25 + 0.1 x 100");
        assert_eq!(pi.step(200_000), 13.75, "0.05 x 75 + 0.1 x 100");
        assert_eq!(pi.step(150_000), 0.0, "0.05 x 25 - 0.1 x 50 < 0");
    }

    #[test]
    fn twice_the_threshold_gives_6_to_19_notifications_with_the_queue_in_kb_pacc_1() {
        let mut pi = controller(PiForm::Position);
        pi.step(125_000);
        assert_eq!(pi.step(250_000), 18.75);
        assert_eq!(pi.step(250_000), 6.25);
    }

    #[test]
    fn the_incremental_form_goes_on_from_where_it_was_but_not_below_zero_pacc_2() {
        let mut pi = controller(PiForm::Incremental);
        assert_eq!(pi.step(250_000), 31.25);
        assert_eq!(pi.step(250_000), 37.5);
        assert!(!pi.is_at_rest());
        assert_eq!(pi.step(0), 37.5 - 6.25 - 25.0);
        assert!(!pi.is_at_rest(), "there is an output to come down from");
        assert_eq!(pi.step(0), 0.0);
        assert!(pi.is_at_rest());
    }

    #[test]
    fn in_bytes_the_same_weights_ask_for_a_thousand_times_as_many_pacc_1() {
        let mut pi = PiController::new(0.05, 0.1, 125_000, Bytes::new(1), PiForm::Position);
        assert_eq!(pi.step(250_000), 31_250.0);
    }
}
