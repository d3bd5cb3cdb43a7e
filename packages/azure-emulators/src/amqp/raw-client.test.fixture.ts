import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { eventually } from '@drover/testkit';
import { compoundItems, valueEnd } from './amqp-bytes.js';
import { decodeValue } from './values.js';

/** One way to encode AMQP types. */
export interface Encoding {
  boolean(value: boolean): Buffer;
  uint(value: number): Buffer;
  string(value: string): Buffer;
  symbol(value: string): Buffer;
  binary(value: Buffer): Buffer;
  list(...items: readonly Buffer[]): Buffer;
  map(...items: readonly Buffer[]): Buffer;
  described(code: number, name: string, value: Buffer): Buffer;
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const typed = (code: number, ...parts: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from([code]), ...parts]);

/** Booleans of two bytes, lists without a short form for "empty", descriptors in eight bytes: the largest encoding of everything. */
export const wide: Encoding = {
  boolean: (value) => Buffer.from([0x56, value ? 1 : 0]),
  uint: (value) => typed(0x70, uint32(value)),
  string: (value) => typed(0xb1, uint32(Buffer.byteLength(value)), Buffer.from(value)),
  symbol: (value) => typed(0xb3, uint32(value.length), Buffer.from(value)),
  binary: (value) => typed(0xb0, uint32(value.length), value),
  list: (...items) => compound(0xd0, items),
  map: (...items) => compound(0xd1, items),
  described: (code, _name, value) => Buffer.concat([Buffer.from([0x00, 0x80, 0, 0, 0, 0, 0, 0, 0, code]), value]),
};

/** The smallest encoding of everything. */
export const narrow: Encoding = {
  boolean: (value) => Buffer.from([value ? 0x41 : 0x42]),
  uint: (value) => (value === 0 ? Buffer.from([0x43]) : value < 256 ? Buffer.from([0x52, value]) : wide.uint(value)),
  string: (value) => typed(0xa1, Buffer.from([Buffer.byteLength(value)]), Buffer.from(value)),
  symbol: (value) => typed(0xa3, Buffer.from([value.length]), Buffer.from(value)),
  binary: (value) => (value.length < 256 ? typed(0xa0, Buffer.from([value.length]), value) : wide.binary(value)),
  list: (...items) => (items.length === 0 ? Buffer.from([0x45]) : short(0xc0, items)),
  map: (...items) => short(0xc1, items),
  described: (code, _name, value) => Buffer.concat([Buffer.from([0x00, 0x53, code]), value]),
};

/** Descriptors by name, as some libraries write them. */
export const symbolic: Encoding = {
  ...wide,
  described: (_code, name, value) => Buffer.concat([Buffer.from([0x00]), wide.symbol(name), value]),
};

function compound(code: number, items: readonly Buffer[]): Buffer {
  const content = Buffer.concat(items);
  return typed(code, uint32(content.length + 4), uint32(items.length), content);
}

function short(code: number, items: readonly Buffer[]): Buffer {
  const content = Buffer.concat(items);
  if (content.length > 250) return compound(code + 0x10, items);
  return typed(code, Buffer.from([content.length + 1, items.length]), content);
}

export const absent = Buffer.from([0x40]);
export const ubyte = (value: number): Buffer => Buffer.from([0x50, value]);

const names = ['open', 'begin', 'attach', 'flow', 'transfer', 'disposition', 'detach', 'end', 'close'] as const;
type FrameName = (typeof names)[number];

export interface ReceivedFrame {
  readonly name: FrameName;
  /** Encoded fields; `field` decodes one. */
  readonly fields: readonly Buffer[];
  readonly payload: Buffer;
  field(index: number): unknown;
}

/** An AMQP client that writes every byte itself, and reads what comes. One session, on channel 0. */
export class RawClient {
  readonly #socket: Socket;
  readonly #encoding: Encoding;
  readonly frames: ReceivedFrame[] = [];
  #input = Buffer.alloc(0);

  private constructor(socket: Socket, encoding: Encoding) {
    this.#socket = socket;
    this.#encoding = encoding;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => undefined);
  }

  /** Connects and opens a session. */
  static async open(port: number, encoding: Encoding): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const client = new RawClient(socket, encoding);
    socket.write(Buffer.from('AMQP\0\x01\0\0', 'latin1'));
    client.send('open', [encoding.string('raw'), encoding.string('localhost')]);
    client.send('begin', [absent, encoding.uint(0), encoding.uint(1000), encoding.uint(1000)]);
    await client.next('begin');
    return client;
  }

  send(name: FrameName, fields: readonly Buffer[], payload: Buffer = Buffer.alloc(0)): void {
    const e = this.#encoding;
    const body = e.described(0x10 + names.indexOf(name), `amqp:${name}:list`, e.list(...fields));
    const head = Buffer.concat([uint32(8 + body.length + payload.length), Buffer.from([2, 0, 0, 0])]);
    this.#socket.write(Buffer.concat([head, body, payload]));
  }

  /** Waits for a frame and takes it out of `frames`, with those before it left in place. */
  async next(name: FrameName): Promise<ReceivedFrame> {
    const at = await eventually(() => {
      const found = this.frames.findIndex((frame) => frame.name === name);
      if (found < 0) throw new Error(`no ${name} frame; there are: ${this.frames.map((one) => one.name).join(', ')}`);
      return found;
    });
    const [frame] = this.frames.splice(at, 1);
    if (!frame) throw new Error('unreachable');
    return frame;
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#input = Buffer.concat([this.#input, chunk]);
    if (this.#input.toString('latin1', 0, 4) === 'AMQP') this.#input = this.#input.subarray(8);
    while (this.#input.length >= 8 && this.#input.length >= this.#input.readUInt32BE(0)) {
      const size = this.#input.readUInt32BE(0);
      if (size > 8) this.frames.push(parseFrame(this.#input.subarray(8, size)));
      this.#input = this.#input.subarray(size);
    }
  }
}

function parseFrame(bytes: Buffer): ReceivedFrame {
  const list = valueEnd(bytes, 1);
  const end = valueEnd(bytes, 0);
  const fields = compoundItems(bytes, list) ?? [];
  const name = names[Number(decodeValue(bytes.subarray(1, list))) - 0x10];
  if (name === undefined) throw new Error('an unknown frame');
  const field = (index: number): unknown => decodeValue(fields[index] ?? absent);
  return { name, fields, payload: bytes.subarray(end), field };
}
