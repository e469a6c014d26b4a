/** Frames: the state of a network at one instant, as typed arrays that lie on the bytes of the engine's answer. */

/** The first four bytes of a frame: "CWF3". */
const MAGIC = 0x33465743;
const HEADER_BYTES = 64;

/** Bits of `Frame.flags`. */
export const FRAME_ENDED = 1;
export const FRAME_LEFT_OUT = 2;
/** Bits of `Frame.ports.state`. */
export const PORT_PAUSED = 1;
export const PORT_DOWN = 2;
export const PORT_TRANSMITTING = 4;
/** Bits of the flags of packets. */
export const PACKET_MARKED = 1;
export const PACKET_RETRANSMISSION = 2;
export const PACKET_TRIMMED = 4;

/** The output ports, by id. Counters are totals since the start of the run. */
export interface FramePorts {
  count: number;
  queueBytes: Uint32Array;
  creditQueueBytes: Uint32Array;
  sentBytes: Float64Array;
  /** Bytes of flows in the packets sent, without headers. */
  sentDataBytes: Float64Array;
  sentCredits: Float64Array;
  marks: Uint32Array;
  drops: Uint32Array;
  creditDrops: Uint32Array;
  /** Pause frames sent. */
  pauses: Uint32Array;
  cnps: Uint32Array;
  /** Packets cut to their headers. */
  trims: Uint32Array;
  state: Uint8Array;
}

/** The packets in queues, port by port, of each port the head first. */
export interface FrameQueued {
  count: number;
  /** The port at which the packet waits, or from which it was sent. */
  port: Uint32Array;
  wireBytes: Uint32Array;
  kind: Uint8Array;
  flags: Uint8Array;
}

/** The packets on links. */
export interface FramePackets extends FrameQueued {
  /** The row of the packet's flow in the flow table; `NO_FLOW` for a pause frame. */
  flow: Uint32Array;
  /** The value by which switches may choose the packet's path; `NO_ENTROPY` where its end gave it none. */
  entropy: Uint32Array;
  /** The time at which the first bit left. */
  startPs: Float64Array;
  /** The time at which the last bit arrives at the next node. */
  arrivePs: Float64Array;
}

/** The flows that are active. */
export interface FrameFlows {
  count: number;
  flow: Uint32Array;
  /** NaN for a flow without a fixed size. */
  sizeBytes: Float64Array;
  deliveredBytes: Float64Array;
  /** NaN where the transport has none; so are the rate and the smoothed round-trip time. */
  windowBytes: Float64Array;
  rateBps: Float64Array;
  srttPs: Float64Array;
}

/** The number that stands for the flow of a packet that belongs to none. */
export const NO_FLOW = 0xffffffff;
/** The number that stands for the entropy of a packet whose end gave it none. */
export const NO_ENTROPY = 0xffffffff;

/** The state of a network at one instant. */
export interface Frame {
  run: number;
  nowPs: number;
  flags: number;
  events: number;
  linkTransmissions: number;
  ports: FramePorts;
  packets: FramePackets;
  queued: FrameQueued;
  flows: FrameFlows;
}

/** Takes column after column from a buffer; every column starts at a multiple of eight bytes. */
class Columns {
  private at = HEADER_BYTES;
  private readonly buffer: ArrayBuffer;

  constructor(buffer: ArrayBuffer) {
    this.buffer = buffer;
  }

  private take(bytes: number): number {
    const start = this.at;
    if (start + bytes > this.buffer.byteLength) {
      throw new RangeError(`a frame of ${this.buffer.byteLength} bytes ends within a column`);
    }
    this.at = start + Math.ceil(bytes / 8) * 8;
    return start;
  }

  u8(length: number): Uint8Array {
    return new Uint8Array(this.buffer, this.take(length), length);
  }

  u32(length: number): Uint32Array {
    return new Uint32Array(this.buffer, this.take(length * 4), length);
  }

  f64(length: number): Float64Array {
    return new Float64Array(this.buffer, this.take(length * 8), length);
  }
}

/** Reads a frame. The arrays are views of the buffer, nothing is copied. */
export function decode(buffer: ArrayBuffer): Frame {
  if (buffer.byteLength < HEADER_BYTES) {
    throw new RangeError(`a frame has ${HEADER_BYTES} bytes or more, not ${buffer.byteLength}`);
  }
  const header = new DataView(buffer);
  const u32 = (at: number): number => header.getUint32(at, true);
  const f64 = (at: number): number => header.getFloat64(at, true);
  if (u32(0) !== MAGIC) {
    throw new RangeError(`a frame starts with 0x${MAGIC.toString(16)}, not 0x${u32(0).toString(16)}`);
  }
  const [ports, packets, queued, flows] = [u32(16), u32(20), u32(24), u32(28)];
  const columns = new Columns(buffer);
  // Properties are evaluated in the order in which they are written, which is the order of the columns.
  return {
    run: u32(4),
    nowPs: f64(8),
    flags: u32(32),
    events: f64(40),
    linkTransmissions: f64(48),
    ports: {
      count: ports,
      queueBytes: columns.u32(ports),
      creditQueueBytes: columns.u32(ports),
      sentBytes: columns.f64(ports),
      sentDataBytes: columns.f64(ports),
      sentCredits: columns.f64(ports),
      marks: columns.u32(ports),
      drops: columns.u32(ports),
      creditDrops: columns.u32(ports),
      pauses: columns.u32(ports),
      cnps: columns.u32(ports),
      trims: columns.u32(ports),
      state: columns.u8(ports),
    },
    packets: {
      count: packets,
      port: columns.u32(packets),
      flow: columns.u32(packets),
      wireBytes: columns.u32(packets),
      entropy: columns.u32(packets),
      kind: columns.u8(packets),
      flags: columns.u8(packets),
      startPs: columns.f64(packets),
      arrivePs: columns.f64(packets),
    },
    queued: {
      count: queued,
      port: columns.u32(queued),
      wireBytes: columns.u32(queued),
      kind: columns.u8(queued),
      flags: columns.u8(queued),
    },
    flows: {
      count: flows,
      flow: columns.u32(flows),
      sizeBytes: columns.f64(flows),
      deliveredBytes: columns.f64(flows),
      windowBytes: columns.f64(flows),
      rateBps: columns.f64(flows),
      srttPs: columns.f64(flows),
    },
  };
}
