declare module 'virtual:engine' {
  /** The engine, WebAssembly packed with gzip, in base64. */
  const packed: string;
  export default packed;
}

declare module 'virtual:examples' {
  /** The file python/clearway/data/examples.toml: questions, each with the examples that answer it. */
  const questions: readonly {
    readonly ask: string;
    /** `file` lies below the folder `scenarios`, and `shows` is a sentence on what one sees. */
    readonly example: readonly { readonly name: string; readonly file: string; readonly shows: string }[];
  }[];
  export default questions;
}
