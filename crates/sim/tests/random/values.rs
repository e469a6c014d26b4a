//! Values of keys, drawn from the declaration of a key: its forms, default and limits.

use super::{Draw, World};
use clearway_schema::{Form, REQUIRED, Spec, TableKey, quoted};
use clearway_sim::traffic::WORKLOADS;
use clearway_units::{Bytes, Rate, Span};

/// The part of a scenario that a key belongs to. It says which values are usual where a key has no default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The network, whose counts multiply.
    Topology,
    /// Traffic, whose sizes and counts make runs long.
    Traffic,
    /// All else.
    Other,
}

/// The place of a value in the range of its key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Near,
    Anywhere,
    Low,
    High,
}

/// The kind of a quantity, by its units.
#[derive(Clone, Copy)]
enum Quantity {
    Time,
    Rate,
    Size,
}

/// The keys that hold times of the run, and spans that are added to them.
const TIMES: [&str; 10] =
    ["start", "stop", "down", "up", "from", "until", "stagger", "spread", "pause", "duration"];
/// The longest time that a scenario file may hold, in picoseconds.
const LONGEST: u64 = 100_000_000_000_000_000;

/// Draws a value for a key, as a scenario file has it; `None` if the key is better left out. `ends` is the chance in
/// percent that the value is at an end of its range.
pub fn value(draw: &mut Draw, spec: &Spec, scope: Scope, ends: u64, world: &World) -> Option<String> {
    let forms = (spec.forms)();
    let place = match draw.below(100) {
        drawn if drawn < ends / 2 => Place::Low,
        drawn if drawn < ends => Place::High,
        drawn if drawn < ends + 15 => Place::Anywhere,
        _ => Place::Near,
    };
    let is_amount =
        |form: &&Form| matches!(form, Form::Quantity(_) | Form::Integer(_) | Form::Number | Form::Counted(_));
    let amounts: Vec<&Form> = forms.iter().filter(is_amount).collect();
    // Where a key has a default, some files write it.
    if draw.chance(10) && !["", REQUIRED].contains(&spec.default) && !matches!(forms[0], Form::Elsewhere(_)) {
        return Some(written(spec.default));
    }
    let of_names = matches!((spec.kind)().as_str(), "host" | "integer or list of hosts");
    let form = if place == Place::Near || amounts.is_empty() || of_names {
        draw.pick(&forms).clone()
    } else {
        (*draw.pick(&amounts)).clone()
    };
    Key { spec, scope, place, world }.form(draw, &form)
}

/// A default as a scenario file has it.
fn written(default: &str) -> String {
    let is_plain = default.parse::<f64>().is_ok() || ["true", "false"].contains(&default);
    if is_plain { default.into() } else { quoted(default) }
}

/// The key for which a value is drawn.
struct Key<'a> {
    spec: &'a Spec,
    scope: Scope,
    place: Place,
    world: &'a World,
}

impl Key<'_> {
    fn form(&self, draw: &mut Draw, form: &Form) -> Option<String> {
        Some(match form {
            Form::Quantity(units) => self.quantity(draw, units),
            Form::Counted(words) => {
                let count = match self.place {
                    Place::Low => 1,
                    Place::High => u64::from(u32::MAX),
                    _ => draw.scale(1, 1_000),
                };
                quoted(&format!("{count} {}", draw.pick(words)))
            }
            Form::Integer(most) => self.integer(draw, *most)?,
            Form::Number => self.number(draw),
            Form::Truth => draw.chance(50).to_string(),
            Form::Text => quoted(&self.text(draw)?),
            Form::Word(word) => quoted(word),
            Form::Name => quoted(&self.name(draw)?),
            Form::List(forms) => {
                let count = draw.within(1, 4);
                let items: Option<Vec<String>> = (0..count).map(|_| self.one_of(draw, forms)).collect();
                format!("[{}]", items?.join(", "))
            }
            Form::Row(entries) => self.row(draw, entries)?,
            Form::Table(keys) => self.table(draw, keys)?,
            Form::Elsewhere(_) => return None,
        })
    }

    fn one_of(&self, draw: &mut Draw, forms: &[Form]) -> Option<String> {
        let form = draw.pick(forms).clone();
        self.form(draw, &form)
    }

    /// A row of values: the two ends of a link, or times that rise.
    fn row(&self, draw: &mut Draw, entries: &[Vec<Form>]) -> Option<String> {
        if entries.iter().all(|forms| forms == &[Form::Text]) {
            let [a, b] = draw.pick(non_empty(&self.world.links)?);
            let (a, b) = if draw.chance(50) { (a, b) } else { (b, a) };
            return Some(format!("[{}, {}]", quoted(a), quoted(b)));
        }
        if let [low, high] = entries
            && let ([Form::Quantity(_)], [Form::Quantity(_)]) = (low.as_slice(), high.as_slice())
        {
            let (low, more) = (draw.scale(1, 10_000_000), draw.scale(1, 10_000_000));
            return Some(format!("[\"{low} ps\", \"{} ps\"]", low + more));
        }
        let items: Option<Vec<String>> = entries.iter().map(|forms| self.one_of(draw, forms)).collect();
        Some(format!("[{}]", items?.join(", ")))
    }

    fn table(&self, draw: &mut Draw, keys: &[TableKey]) -> Option<String> {
        // Quantiles are pairs that rise from a share of 0 to one of 1.
        if keys.iter().any(|key| key.name == "quantiles") {
            let (first, middle, last) =
                (draw.below(1_000), draw.within(1_000, 5_000), draw.within(5_000, 90_000));
            let share = draw.unit();
            return Some(format!(
                "{{ quantiles = [[0, \"{first} ns\"], [{share:?}, \"{middle} ns\"], [1, \"{last} ns\"]] }}"
            ));
        }
        if keys.iter().any(|key| key.name == "share") {
            let share = [1.0, 0.5, 0.25][draw.below(3) as usize];
            let from = if draw.chance(50) { 0.0 } else { (1.0 - share) * draw.unit() };
            return Some(format!("{{ share = {share:?}, from = {from:?} }}"));
        }
        let mut items = Vec::new();
        for key in keys {
            if key.required || draw.chance(50) {
                items.push(format!("{} = {}", key.name, self.one_of(draw, &key.forms)?));
            }
        }
        Some(format!("{{ {} }}", items.join(", ")))
    }

    fn text(&self, draw: &mut Draw) -> Option<String> {
        let kind = (self.spec.kind)();
        match self.spec.name {
            "workload" => return Some(draw.pick(WORKLOADS).name.into()),
            "name" => return Some(format!("random {}", draw.below(100))),
            "switch" => {
                let ends = draw.pick(non_empty(&self.world.links)?);
                return ends.iter().find(|end| !self.world.hosts.contains(end)).cloned();
            }
            _ => {}
        }
        if kind.contains("port") {
            let [a, b] = draw.pick(non_empty(&self.world.links)?);
            let (a, b) = if draw.chance(50) { (a, b) } else { (b, a) };
            Some(format!("{a}->{b}"))
        } else if kind.contains("flow range") {
            let traffic = draw.pick(non_empty(&self.world.traffic)?);
            let (first, more) = (draw.below(4), draw.below(4));
            Some(
                [
                    traffic.clone(),
                    format!("{traffic}/{first}"),
                    format!("{traffic}/{first}..{}", first + more),
                ][draw.below(3) as usize]
                    .clone(),
            )
        } else if kind.contains("host") {
            self.host(draw).cloned()
        } else {
            None
        }
    }

    /// Draws a host. A flow goes from the first half of the hosts to the second, or now and then anywhere.
    fn host(&self, draw: &mut Draw) -> Option<&String> {
        let hosts = non_empty(&self.world.hosts)?;
        let half = hosts.len() / 2;
        let some = match self.spec.name {
            "src" | "dst" if half == 0 || draw.chance(4) => hosts,
            "src" => &hosts[..half],
            "dst" => &hosts[half..],
            _ => hosts,
        };
        Some(draw.pick(some))
    }

    fn name(&self, draw: &mut Draw) -> Option<String> {
        let names = match self.spec.name {
            "credit_class" => &self.world.credit_classes,
            "traffic" => &self.world.traffic,
            "name" => return None,
            _ => &self.world.classes,
        };
        Some(draw.pick(non_empty(names)?).clone())
    }

    fn integer(&self, draw: &mut Draw, most: u64) -> Option<String> {
        let is_host = (self.spec.kind)().contains("host") && self.spec.name != "senders";
        if is_host {
            let host = self.host(draw)?;
            return self.world.hosts.iter().position(|name| name == host).map(|number| number.to_string());
        }
        let low = self.spec.min.parse().unwrap_or(0);
        let high = self.spec.max.parse().unwrap_or(most);
        let default: Option<u64> = self.spec.default.parse().ok().filter(|&default| default > 0);
        let number = match (self.place, self.scope) {
            (Place::Low, _) => low,
            // Counts of a network multiply, so that their ends would be refused for want of memory.
            (Place::High | Place::Anywhere, Scope::Topology) if draw.chance(95) => draw.within(low.max(1), 4),
            (Place::High, _) => high,
            (Place::Anywhere, _) => draw.scale(low, high),
            (Place::Near, Scope::Topology) => draw.scale(low.max(1), 6),
            (Place::Near, Scope::Traffic) => draw.scale(low, high.min(16)),
            (Place::Near, Scope::Other) => {
                let middle = default.unwrap_or(8);
                draw.scale((middle / 8).max(low), middle.saturating_mul(8).min(high))
            }
        };
        // TOML's integers end at 2^63.
        Some(if i64::try_from(number).is_ok() { number.to_string() } else { quoted(&number.to_string()) })
    }

    fn number(&self, draw: &mut Draw) -> String {
        let limit = |text: &str, other: f64| text.parse().unwrap_or(other);
        let unlimited = if draw.chance(20) { 1e6 } else { 1.0 };
        let (low, high) = (limit(self.spec.min, 0.0), limit(self.spec.max, unlimited));
        let default: Option<f64> = self.spec.default.parse().ok().filter(|&default| default > 0.0);
        let number = match self.place {
            Place::Low => low,
            Place::High => high,
            Place::Anywhere => low + (high - low) * draw.unit(),
            Place::Near => match default {
                Some(default) => (default * 8f64.powf(2.0 * draw.unit() - 1.0)).clamp(low, high),
                None => (low.max(1e-4) * 3_000f64.powf(draw.unit())).clamp(low, high),
            },
        };
        format!("{number:?}")
    }

    fn quantity(&self, draw: &mut Draw, units: &[&str]) -> String {
        let quantity = match units {
            units if units.contains(&"ps") => Quantity::Time,
            units if units.contains(&"bps") => Quantity::Rate,
            _ => Quantity::Size,
        };
        let low = quantity.read(self.spec.min).unwrap_or(0);
        let unlimited = if draw.chance(20) { u64::MAX } else { 1_000_000_000_000 };
        let high = quantity.read(self.spec.max).unwrap_or(unlimited);
        // A time of the run beyond its end is refused.
        let is_of_run = matches!(quantity, Quantity::Time) && TIMES.contains(&self.spec.name);
        let amount = match self.place {
            Place::High | Place::Anywhere if is_of_run && draw.chance(90) => {
                self.usual(draw, quantity).clamp(low, high)
            }
            Place::Low => low,
            Place::High => high,
            Place::Anywhere => draw.scale(low, high),
            Place::Near => self.usual(draw, quantity).clamp(low, high),
        };
        quoted(&quantity.write(amount))
    }

    /// A usual amount: near the default, or such as fits a short run.
    fn usual(&self, draw: &mut Draw, quantity: Quantity) -> u64 {
        let default = quantity.read(self.spec.default).filter(|&default| default > 0);
        match (quantity, self.scope, default) {
            (Quantity::Time, Scope::Topology, _) => {
                [0, draw.scale(1_000, 20_000_000)][draw.below(2) as usize]
            }
            (Quantity::Rate, Scope::Topology, _) => draw.scale(100_000_000, 800_000_000_000),
            (Quantity::Size, Scope::Traffic, _) => draw.scale(1, 200_000),
            // Ends lie behind starts.
            (Quantity::Time, ..) if ["stop", "until", "up"].contains(&self.spec.name) => {
                self.world.stop / 2 + draw.below(self.world.stop / 2)
            }
            (Quantity::Time, Scope::Traffic, _) => draw.below(self.world.stop / 4),
            (Quantity::Time, ..) if ["down", "from"].contains(&self.spec.name) => {
                draw.below(self.world.stop / 2)
            }
            (Quantity::Size, ..) if self.spec.name == "overhead" => {
                [0, draw.scale(20, 100)][draw.below(2) as usize]
            }
            (Quantity::Size, ..) if self.spec.name == "wire_min" => draw.scale(100, 500),
            (_, _, Some(default)) => {
                draw.scale((default / 16).max(1), default.saturating_mul(16).min(LONGEST))
            }
            (Quantity::Time, ..) => draw.scale(1_000, self.world.stop.max(1_000)),
            (Quantity::Rate, ..) => draw.scale(1_000_000, 800_000_000_000),
            (Quantity::Size, ..) => draw.scale(1, 1_000_000),
        }
    }
}

impl Quantity {
    fn read(self, text: &str) -> Option<u64> {
        match self {
            Quantity::Time => text.parse().ok().map(Span::as_ps),
            Quantity::Rate => text.parse().ok().map(Rate::as_bps),
            Quantity::Size => text.parse().ok().map(Bytes::get),
        }
    }

    fn write(self, amount: u64) -> String {
        match self {
            Quantity::Time => Span::from_ps(amount).to_string(),
            Quantity::Rate => Rate::bps(amount).to_string(),
            Quantity::Size => Bytes::new(amount).to_string(),
        }
    }
}

/// Returns the things, or `None` if there are none.
fn non_empty<T>(things: &[T]) -> Option<&[T]> {
    (!things.is_empty()).then_some(things)
}
