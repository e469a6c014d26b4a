//! Further names of nodes, which say what the nodes are.

/// Further names of nodes whose ids follow each other, the first of which is given. Results and files always show a node's own name; these are
/// accepted wherever a node is named.
#[derive(Clone, Debug)]
pub struct Alias {
    form: Form,
    /// The id of the first node.
    pub(crate) first: u32,
    /// The number of nodes.
    pub(crate) count: u32,
}

#[derive(Clone, Debug)]
enum Form {
    /// The name itself, of one node.
    One(&'static str),
    /// A word and a number from 0.
    Row(&'static str),
    /// `pod{p}-` and then a word and the number within the pod.
    Pods { word: &'static str, per_pod: u32 },
}

impl Alias {
    /// Makes a further name of one node.
    pub fn one(name: &'static str, node: u32) -> Alias {
        Alias { form: Form::One(name), first: node, count: 1 }
    }

    /// Makes the names `word0`, `word1`, ... of `count` nodes.
    pub fn row(word: &'static str, first: u32, count: u32) -> Alias {
        Alias { form: Form::Row(word), first, count }
    }

    /// Makes the names `pod0-word0`, `pod0-word1`, ... of `count` nodes, so many in each pod.
    pub fn pods(word: &'static str, first: u32, count: u32, per_pod: u32) -> Alias {
        Alias { form: Form::Pods { word, per_pod }, first, count }
    }

    /// Returns the name of node number `index` among the alias's nodes.
    pub(crate) fn name(&self, index: u32) -> String {
        match self.form {
            Form::One(name) => name.into(),
            Form::Row(word) => format!("{word}{index}"),
            Form::Pods { word, per_pod } => format!("pod{}-{word}{}", index / per_pod, index % per_pod),
        }
    }

    /// Returns the node that has this name by the alias.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        let index = match self.form {
            Form::One(own) => (own == name).then_some(0)?,
            Form::Row(word) => number(name.strip_prefix(word)?)?,
            Form::Pods { word, per_pod } => {
                let (pod, rest) = name.strip_prefix("pod")?.split_once('-')?;
                let (pod, place) = (number(pod)?, number(rest.strip_prefix(word)?)?);
                pod.checked_mul(per_pod)?.checked_add(place).filter(|_| place < per_pod)?
            }
        };
        (index < self.count).then(|| self.first + index)
    }
}

/// Reads a number as it stands in names: without sign and leading zeros.
pub(crate) fn number(text: &str) -> Option<u32> {
    let is_plain = text == "0" || !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}
