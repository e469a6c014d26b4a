//! WebAssembly has no readers of packed files, since everybody who opens the live page would load their code. `clearway
//! view` unpacks the files that it hands to the page.

/// The first bytes of files in the gzip format (RFC 1952) and in the Zstandard format (RFC 8878).
const PACKED: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];

/// Returns the content of a file, which must not be in the gzip or Zstandard format.
///
/// # Errors
/// The file is packed.
pub fn unpack(bytes: Vec<u8>, _: u64) -> Result<Vec<u8>, String> {
    if PACKED.iter().any(|mark| bytes.starts_with(mark)) {
        return Err("is packed, which can't be read here; unpack it".into());
    }
    Ok(bytes)
}
