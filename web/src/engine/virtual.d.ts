declare module 'virtual:engine' {
  /** The engine, WebAssembly packed with gzip, in base64. */
  const packed: string;
  export default packed;
}
