/** Texts in links: packed with DEFLATE and written in base64 for addresses (RFC 4648, section 5). */

/** Bytes that are handed to the unpacker at once. As DEFLATE packs up to 1,032 to 1, that is 1 MB of what it answers. */
const PIECE = 1_024;

/** Packs a text. */
export async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Unpacks a text. It stops, and answers null, where there are more than `most` bytes; it throws where a code is no text. */
export async function unpacked(code: string, most: number): Promise<string | null> {
  const letters = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
  let at = 0;
  const pieces = new ReadableStream<BufferSource>(
    {
      pull(controller) {
        if (at >= letters.length) return controller.close();
        controller.enqueue(Uint8Array.from(letters.slice(at, at + PIECE), (letter) => letter.charCodeAt(0)));
        at += PIECE;
      },
    },
    { highWaterMark: 0 },
  );
  const reader = pieces.pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, bytes] = ["", 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > most) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}
