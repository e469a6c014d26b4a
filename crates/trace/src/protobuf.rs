//! The few parts of Protocol Buffers' encoding that a trace needs: numbers, texts and nested messages.

/// A message that is being written.
#[derive(Clone, Default)]
pub struct Message(Vec<u8>);

/// The kinds of fields, as a field's key tells them.
mod wire {
    pub const VARINT: u64 = 0;
    pub const FIXED_64: u64 = 1;
    pub const LENGTH_DELIMITED: u64 = 2;
}

impl Message {
    /// Makes an empty message.
    pub fn new() -> Message {
        Message::default()
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Adds a number, also one of an enumeration.
    pub fn number(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3 | wire::VARINT);
        self.varint(value);
        self
    }

    /// Adds a number that takes eight bytes.
    pub fn fixed(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3 | wire::FIXED_64);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds bytes: a text, or a message.
    pub fn bytes(mut self, field: u64, value: &[u8]) -> Message {
        self.varint(field << 3 | wire::LENGTH_DELIMITED);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// Adds a text.
    pub fn text(self, field: u64, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    /// Adds a message.
    pub fn message(self, field: u64, value: &Message) -> Message {
        self.bytes(field, &value.0)
    }

    /// Returns the bytes of the message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_encoded_as_the_examples_of_the_documentation() {
        // https://protobuf.dev/programming-guides/encoding: 150 in field 1, "testing" in field 2, the first in field 3.
        let first = Message::new().number(1, 150);
        assert_eq!(first.clone().into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::new().text(2, "testing").into_bytes()[..4], [0x12, 0x07, b't', b'e']);
        assert_eq!(Message::new().message(3, &first).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::new().fixed(1, 1).into_bytes(), [0x09, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
