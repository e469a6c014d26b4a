//! Tells the linker of WebAssembly to write addresses in as few bytes as they need, which makes the file a tenth smaller.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_CFG_TARGET_FAMILY").is_some_and(|family| family == "wasm") {
        println!("cargo::rustc-cdylib-link-arg=--compress-relocations");
    }
}
