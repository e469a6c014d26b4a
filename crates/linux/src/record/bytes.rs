//! Numbers in a recording, as they are written and read.

use std::io::{self, Read};
use thiserror::Error;

/// The reason why a recording cannot be read.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file cannot be read.
    #[error("cannot read the recording: {0}")]
    Io(#[from] io::Error),
    /// The file is no recording, or of another version.
    #[error("this is no recording of this version of clearwayd: it does not begin with the line {0:?}")]
    Magic(&'static str),
    /// The header is wrong.
    #[error("the header of the recording: {0}")]
    Header(String),
    /// The file ends within an entry: the daemon was killed, or the disk was full.
    #[error("the recording ends within an entry")]
    CutOff,
    /// An entry has a value that no entry has.
    #[error("the recording is damaged: {0}")]
    Damaged(&'static str),
}

/// Appends a number as LEB128: seven bits a byte, the lowest first.
pub(super) fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// The bytes of a recording.
pub(super) struct Source<R>(pub R);

impl<R: Read> Source<R> {
    /// Reads so many bytes, or says that the file ends before.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills `to`, or says that the file ends before.
    pub fn fill(&mut self, to: &mut [u8]) -> Result<(), RecordError> {
        self.0.read_exact(to).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => RecordError::CutOff,
            _ => RecordError::Io(error),
        })
    }

    /// Reads a byte, or returns `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<u8>, RecordError> {
        match self.array::<1>() {
            Ok([byte]) => Ok(Some(byte)),
            Err(RecordError::CutOff) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a byte.
    pub fn byte(&mut self) -> Result<u8, RecordError> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads a number of 16 bits.
    pub fn short(&mut self) -> Result<u16, RecordError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Reads a number of 32 bits.
    pub fn word(&mut self) -> Result<u32, RecordError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Reads a number in LEB128.
    pub fn number(&mut self) -> Result<u64, RecordError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(RecordError::Damaged("a number is too large"))
    }

    /// Reads bytes behind their number, of which there may be `most`.
    pub fn bytes(&mut self, most: usize) -> Result<Vec<u8>, RecordError> {
        let len = self.number()?;
        if len > most as u64 {
            return Err(RecordError::Damaged("a length is too large"));
        }
        let mut bytes = vec![0; len as usize];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }
}
