//! The flows of a trace, and the formats of its files.

use crate::model::TraceFormat;
use clearway_schema::{Field, Form, Value, choice, quoted};
use std::ops::RangeInclusive;

/// Flows of a traffic entry as a user writes them: `"web"`, `"web/3"` or `"web/0..9"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowsRef {
    /// The name of the traffic entry.
    pub traffic: String,
    /// The numbers of the flows; `None` for all.
    pub numbers: Option<RangeInclusive<u64>>,
}

impl Field for FlowsRef {
    fn kind() -> String {
        "flow range".into()
    }

    fn forms() -> Vec<Form> {
        vec![Form::Text]
    }

    fn blank() -> FlowsRef {
        FlowsRef { traffic: String::new(), numbers: None }
    }

    fn read(value: &Value) -> Result<FlowsRef, String> {
        const RIGHT: &str = "write a traffic entry, with numbers of flows behind a slash or without, such as \"web\", \
             \"web/3\" or \"web/0..9\"";
        let text = String::read(value).map_err(|_| format!("is no flow; {RIGHT}"))?;
        let Some((traffic, numbers)) = text.rsplit_once('/') else {
            return Ok(FlowsRef { traffic: text, numbers: None });
        };
        let (first, last) = numbers.split_once("..").unwrap_or((numbers, numbers));
        match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) if first <= last => {
                Ok(FlowsRef { traffic: traffic.into(), numbers: Some(first..=last) })
            }
            (Ok(first), Ok(last)) => Err(format!("{first} is above {last}; write the smaller number first")),
            _ => Err(format!("{numbers:?} is no number of a flow; {RIGHT}")),
        }
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&match &self.numbers {
            None => self.traffic.clone(),
            Some(one) if one.start() == one.end() => format!("{}/{}", self.traffic, one.start()),
            Some(range) => format!("{}/{}..{}", self.traffic, range.start(), range.end()),
        }))
    }
}

choice! {
    /// The format of a trace's file.
    pub enum FormatWord {
        Pcapng = "pcapng",
        Perfetto = "perfetto",
    }
}

impl FormatWord {
    pub fn format(self) -> TraceFormat {
        match self {
            FormatWord::Pcapng => TraceFormat::Pcapng,
            FormatWord::Perfetto => TraceFormat::Perfetto,
        }
    }
}
