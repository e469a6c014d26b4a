/** WebAssembly as bytes: numbers, and where in a function's body the numbers of functions and of locals stand. */

/** What numbers in code can stand for. */
export const FUNCTION = 'function';
export const LOCAL = 'local';

/** Reads bytes one after the other. */
export class Reader {
  constructor(content, at = 0) {
    this.content = content;
    this.at = at;
  }

  ended() {
    return this.at >= this.content.length;
  }

  byte() {
    this.at += 1;
    return this.content[this.at - 1];
  }

  bytes(count) {
    this.at += count;
    return this.content.subarray(this.at - count, this.at);
  }

  /** A number in LEB128, seven bits a byte. */
  unsigned() {
    let [number, scale, byte] = [0, 1, 0];
    do {
      byte = this.byte();
      number += (byte & 127) * scale;
      scale *= 128;
    } while (byte & 128);
    return number;
  }

  /** Leaves out numbers in LEB128, of whatever sign and width. */
  skip(count = 1) {
    for (let left = count; left > 0; left -= 1) {
      while (this.byte() & 128);
    }
  }
}

/** A number in LEB128. */
export function unsigned(number) {
  const bytes = [];
  let left = number;
  for (; left > 127; left = Math.floor(left / 128)) {
    bytes.push((left & 127) | 128);
  }
  return [...bytes, left];
}

/** Goes over the operands of an instruction of the group 0xfd, which works on vectors: places in memory, lanes, constants. */
function vectorOperands(reader) {
  const code = reader.unsigned();
  const isMemory = code <= 11 || (code >= 84 && code <= 93);
  if (isMemory) {
    reader.skip(2);
  }
  if (code === 12 || code === 13) {
    reader.bytes(16);
  } else if ((code >= 21 && code <= 34) || (code >= 84 && code <= 91)) {
    reader.bytes(1);
  }
}

/** The numbers in LEB128 that follow an instruction of the group 0xfc. */
const NUMBERS_OF_BULK = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

/** Goes over the operands of an instruction. If its operand numbers a `FUNCTION` or a `LOCAL`, it leaves that to read, and
 * answers which. */
function operands(reader, code) {
  const between = (least, most) => code >= least && code <= most;
  if (code === 0x10 || code === 0x12 || code === 0xd2) {
    return FUNCTION;
  }
  if (between(0x20, 0x22)) {
    return LOCAL;
  }
  if (code === 0x0e || code === 0x1c) {
    // A table of labels has one more than it says; `select` names types.
    reader.skip(reader.unsigned() + (code === 0x0e ? 1 : 0));
  } else if (code === 0x11 || code === 0x13 || between(0x28, 0x3e)) {
    reader.skip(2);
  } else if (between(0x02, 0x04) || between(0x0c, 0x0d) || between(0x23, 0x26) || between(0x3f, 0x42) || code === 0xd0) {
    reader.skip();
  } else if (code === 0x43 || code === 0x44) {
    reader.bytes(code === 0x43 ? 4 : 8);
  } else if (code === 0xfc) {
    const numbers = NUMBERS_OF_BULK[reader.unsigned()];
    if (numbers === undefined) {
      throw new Error('the engine has an unknown instruction of the group 0xfc');
    }
    reader.skip(numbers);
  } else if (code === 0xfd) {
    vectorOperands(reader);
  } else if (!between(0x00, 0x01) && code !== 0x05 && code !== 0x0b && code !== 0x0f && !between(0x1a, 0x1b) && !between(0x45, 0xc4) && code !== 0xd1) {
    throw new Error(`the engine has an unknown instruction, 0x${code.toString(16)}`);
  }
  return undefined;
}

/** The locals of a body that are no parameters, in groups of a number and a type. The reader then stands at the code. */
export function groups(reader) {
  return Array.from({ length: reader.unsigned() }, () => ({ count: reader.unsigned(), type: reader.byte() }));
}

/** The code from where the reader stands, in which each number of `kind`, such as `FUNCTION`, is `renamed`. */
export function rename(reader, kind, renamed) {
  const parts = [];
  let start = reader.at;
  while (!reader.ended()) {
    const found = operands(reader, reader.byte());
    if (found === kind) {
      parts.push(reader.content.subarray(start, reader.at), Uint8Array.from(unsigned(renamed(reader.unsigned()))));
      start = reader.at;
    } else if (found !== undefined) {
      reader.skip();
    }
  }
  parts.push(reader.content.subarray(start));
  return Buffer.concat(parts);
}
