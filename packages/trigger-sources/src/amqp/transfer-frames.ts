import type { Connection, Session } from 'rhea';
import { AmqpReader, ifOrdinary } from './amqp-reader.js';

/** One frame of a delivery. */
export interface ReceivedTransfer {
  /** Missing in all frames of a delivery but the first. */
  readonly deliveryId: number | undefined;
  readonly tag: Buffer | undefined;
  /** Another frame of the same delivery follows. */
  readonly more: boolean;
  readonly aborted: boolean;
  readonly payload: Buffer;
}

export type OnTransfer = (frame: ReceivedTransfer) => void;

/** Parts of rhea that its types leave out. */
interface ConnectionInternals {
  readonly remote_channel_map: Readonly<Record<number, Session | undefined>>;
  readonly amqp_transport: { readonly header_received?: unknown; read(bytes: Buffer): number };
}

const transferCode = 0x14;

/**
 * Reads the transfer frames of a connection for sessions that take them, and leaves all other frames to rhea, which builds two
 * dozen objects for a transfer: `docs/decisions/0046-service-bus-links.md` has the measurements.
 */
export class TransferFrames {
  readonly #takers = new WeakMap<Session, OnTransfer>();

  /** Gives the transfers of a session to `onTransfer`. */
  take(session: Session, onTransfer: OnTransfer): void {
    this.#takers.set(session, onTransfer);
  }

  /** Must be called once, after the connection was dialled and before it reads. */
  attach(connection: Connection): void {
    const { amqp_transport: transport, remote_channel_map: sessions } = connection as unknown as ConnectionInternals; // see there
    const readByRhea = transport.read.bind(transport);
    transport.read = (bytes) => {
      if (transport.header_received === undefined) return readByRhea(bytes);
      let at = 0;
      while (at + 8 <= bytes.length) {
        const end = at + bytes.readUInt32BE(at);
        if (end > bytes.length) break;
        const onTransfer = isTransfer(bytes, at) ? this.#takerOf(sessions[bytes.readUInt16BE(at + 6)]) : undefined;
        const frame = onTransfer && readTransfer(bytes, at, end);
        if (frame) onTransfer(frame);
        else readByRhea(bytes.subarray(at, end));
        at = Math.max(end, at + 8); // rhea has refused a shorter one
      }
      return at;
    };
  }

  #takerOf(session: Session | undefined): OnTransfer | undefined {
    return session && this.#takers.get(session);
  }
}

/** Whether an AMQP frame without an extended header is a transfer. */
function isTransfer(bytes: Buffer, at: number): boolean {
  return (
    bytes[at + 4] === 2 &&
    bytes[at + 5] === 0 &&
    bytes[at + 8] === 0x00 &&
    bytes[at + 9] === 0x53 &&
    bytes[at + 10] === transferCode
  );
}

function readTransfer(bytes: Buffer, at: number, end: number): ReceivedTransfer | undefined {
  return ifOrdinary(() => new TransferReader(bytes, at + 11).read(end));
}

class TransferReader extends AmqpReader {
  constructor(bytes: Buffer, at: number) {
    super(bytes);
    this.at = at;
  }

  read(end: number): ReceivedTransfer {
    const count = this.items();
    this.value(); // the handle: these sessions have one link
    const deliveryId = count > 1 ? this.value() : null;
    const tag = count > 2 && this.bytes[this.at] !== 0x40 ? this.binary() : this.#nothing(count > 2);
    let more = false;
    let aborted = false;
    for (let index = 3; index < count; index += 1) {
      const value = this.value();
      if (index === 5) more = value === true;
      else if (index === 9) aborted = value === true;
    }
    return {
      deliveryId: typeof deliveryId === 'number' ? deliveryId : undefined,
      tag,
      more,
      aborted,
      payload: this.bytes.subarray(this.at, end),
    };
  }

  #nothing(isThere: boolean): undefined {
    if (isThere) this.at += 1;
    return undefined;
  }
}
