import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Subprotocols of AMQP over WebSockets: the standard's, and the older one of Azure. */
const protocols = ['amqp', 'AMQPWSB10'];
const handshakeSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** A frame of more is refused; clients put one AMQP frame, or a part of one, into a frame. */
const maxFrameBytes = 128 * 1024 * 1024;
/** Control frames carry at most this much. */
const maxControlBytes = 125;

/** Tells whether a request asks for a WebSocket. */
export function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Answers the opening handshake (RFC 6455) and returns the connection as a stream of the bytes inside. Returns undefined after it
 * has refused a request that does not offer AMQP or is no valid handshake.
 */
export function acceptWebSocket(request: IncomingMessage, socket: Socket, head: Buffer): WebSocketStream | undefined {
  const { 'sec-websocket-key': key, 'sec-websocket-version': version } = request.headers;
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  const protocol = offered.find((one) => protocols.includes(one));
  if (key === undefined || version !== '13' || protocol === undefined) {
    const text = 'Offer the subprotocol amqp and version 13 of the WebSocket protocol.\n';
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nconnection: close\r\nsec-websocket-version: 13\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
    return undefined;
  }
  const accept = createHash('sha1').update(`${key}${handshakeSuffix}`).digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: ${protocol}\r\n\r\n`,
  );
  return new WebSocketStream(socket, head);
}

/** The bytes inside a WebSocket, as a stream. Messages have no meaning to AMQP: only the order of their bytes counts. */
export class WebSocketStream extends Duplex {
  readonly #socket: Socket;
  #input: Buffer;

  constructor(socket: Socket, head: Buffer) {
    super();
    this.#socket = socket;
    this.#input = head;
    socket.on('data', (chunk: Buffer) => {
      this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
      this.#readFrames();
    });
    socket.on('end', () => this.push(null));
    socket.on('close', () => this.destroy());
    socket.on('error', () => undefined); // a reset; `close` follows
    if (head.length > 0) process.nextTick(() => this.#readFrames());
  }

  setNoDelay(isOn: boolean): this {
    this.#socket.setNoDelay(isOn);
    return this;
  }

  setKeepAlive(isOn: boolean, initialDelayMs: number): this {
    this.#socket.setKeepAlive(isOn, initialDelayMs);
    return this;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(encodeFrame(opcodes.binary, chunk), done);
  }

  override _final(done: () => void): void {
    this.#socket.end(encodeFrame(opcodes.close, Buffer.from([0x03, 0xe8])), () => done()); // 1000, normal closure
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #readFrames(): void {
    for (;;) {
      const frame = decodeFrame(this.#input);
      if (frame === 'incomplete') return;
      if (frame === 'invalid') {
        this.#socket.destroy();
        return;
      }
      this.#input = this.#input.subarray(frame.bytes);
      this.#receive(frame.opcode, frame.payload);
    }
  }

  #receive(opcode: number, payload: Buffer): void {
    if (opcode === opcodes.ping) this.#socket.write(encodeFrame(opcodes.pong, payload));
    else if (opcode === opcodes.close) {
      this.push(null);
      this.end();
    } else if (opcode !== opcodes.pong && payload.length > 0 && !this.push(payload)) this.#socket.pause();
  }
}

interface WebSocketFrame {
  readonly opcode: number;
  readonly payload: Buffer;
  /** Of the whole frame. */
  readonly bytes: number;
}

/** Reads the first frame of a client. A client must mask what it sends, and AMQP is never text. */
function decodeFrame(input: Buffer): WebSocketFrame | 'incomplete' | 'invalid' {
  if (input.length < 2) return 'incomplete';
  const opcode = (input[0] ?? 0) & 0x0f;
  const isExtended = ((input[0] ?? 0) & 0x70) !== 0;
  const short = (input[1] ?? 0) & 0x7f;
  const isMasked = ((input[1] ?? 0) & 0x80) !== 0;
  const isControl = opcode >= opcodes.close;
  const isKnown = Object.values(opcodes).some((one) => one === opcode) && opcode !== opcodes.text;
  if (isExtended || !isMasked || !isKnown || (isControl && short > maxControlBytes)) return 'invalid';
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const maskAt = 2 + lengthBytes;
  if (input.length < maskAt + 4) return 'incomplete';
  const length =
    lengthBytes === 0 ? short : lengthBytes === 2 ? input.readUInt16BE(2) : Number(input.readBigUInt64BE(2));
  if (length > maxFrameBytes) return 'invalid';
  const bytes = maskAt + 4 + length;
  if (input.length < bytes) return 'incomplete';
  const payload = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i += 1) payload[i] = (input[maskAt + 4 + i] ?? 0) ^ (input[maskAt + (i & 3)] ?? 0);
  return { opcode, payload, bytes };
}

function encodeFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = length <= maxControlBytes ? Buffer.alloc(2) : length <= 0xffff ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = 0x80 | opcode;
  head[1] = head.length === 2 ? length : head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  else if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
