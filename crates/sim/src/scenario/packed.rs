//! Files in the gzip and Zstandard formats.

use clearway_schema::one_line;
use ruzstd::decoding::{
    StreamingDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use std::io::Read;

/// The first bytes of a file in the gzip format (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of a frame of data in the Zstandard format (RFC 8878).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns the content of a file, unpacked if it is in the gzip or Zstandard format.
///
/// # Errors
/// The file is damaged, or has more than `max` bytes once unpacked.
pub fn unpack(bytes: Vec<u8>, max: u64) -> Result<Vec<u8>, String> {
    let mut unpacked = Vec::new();
    let (name, result) = if bytes.starts_with(&GZIP) {
        ("gzip", unpack_gzip(&bytes, max, &mut unpacked))
    } else if bytes.starts_with(&ZSTD) {
        ("Zstandard", unpack_zstd(&bytes, max, &mut unpacked))
    } else {
        return Ok(bytes);
    };
    result.map_err(|error| format!("is no whole {name} file: {}", one_line(&error)))?;
    if unpacked.len() as u64 > max {
        return Err(format!("is too large once unpacked; the limit is {max} bytes"));
    }
    Ok(unpacked)
}

/// Unpacks a file in the gzip format, until more than `max` bytes have come out.
fn unpack_gzip(packed: &[u8], max: u64, unpacked: &mut Vec<u8>) -> Result<(), String> {
    let mut reader = flate2::read::MultiGzDecoder::new(packed).take(max + 1);
    reader.read_to_end(unpacked).map(drop).map_err(|error| error.to_string())
}

/// Unpacks the frames of a file in the Zstandard format, until more than `max` bytes have come out.
fn unpack_zstd(mut packed: &[u8], max: u64, unpacked: &mut Vec<u8>) -> Result<(), String> {
    while !packed.is_empty() && unpacked.len() as u64 <= max {
        let rest = max + 1 - unpacked.len() as u64;
        match StreamingDecoder::new(&mut packed) {
            Ok(frame) => {
                frame.take(rest).read_to_end(unpacked).map(drop).map_err(|error| error.to_string())?
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let skipped = usize::try_from(length).ok().and_then(|length| packed.get(length..));
                packed = skipped.ok_or("it ends within a frame to skip")?;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}
