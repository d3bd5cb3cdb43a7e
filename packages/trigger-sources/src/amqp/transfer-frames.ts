import type { Connection, Session } from 'rhea';
import { AmqpReader, ifOrdinary, unusualMessage } from './amqp-reader.js';

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

/** The outcomes of deliveries that the service has applied. */
export interface AppliedOutcomes {
  readonly first: number;
  readonly last: number;
}

/** A session that reads its frames itself. */
export interface FrameTaker {
  onTransfer(frame: ReceivedTransfer): void;
  onApplied(outcomes: AppliedOutcomes): void;
}

/** Parts of rhea that its types leave out. */
interface ConnectionInternals {
  readonly remote_channel_map: Readonly<Record<number, Session | undefined>>;
  readonly amqp_transport: { readonly header_received?: unknown; read(bytes: Buffer): number };
}

const [transferCode, dispositionCode, acceptedCode] = [0x14, 0x15, 0x24] as const;

/**
 * Reads the transfers and confirmations of a connection for sessions that take them, and leaves all other frames to rhea, which
 * builds two dozen objects for each: `docs/decisions/0046-service-bus-links.md` has the measurements.
 */
export class TransferFrames {
  readonly #takers = new WeakMap<Session, FrameTaker>();

  /** Gives the transfers and confirmations of a session to `taker`. */
  take(session: Session, taker: FrameTaker): void {
    this.#takers.set(session, taker);
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
        const session = sessions[bytes.readUInt16BE(at + 6)];
        const taker = session && this.#takers.get(session);
        if (!taker || !passTo(taker, bytes, at, end)) readByRhea(bytes.subarray(at, end));
        at = Math.max(end, at + 8); // rhea has refused a shorter one
      }
      return at;
    };
  }
}

/** Returns false if the frame is another one, or not like most. */
function passTo(taker: FrameTaker, bytes: Buffer, at: number, end: number): boolean {
  const isPlain = bytes[at + 4] === 2 && bytes[at + 5] === 0 && bytes[at + 8] === 0x00 && bytes[at + 9] === 0x53;
  const code = isPlain ? bytes[at + 10] : undefined;
  if (code === transferCode) {
    const frame = ifOrdinary(() => new FrameReader(bytes, at + 11).transfer(end));
    if (frame) taker.onTransfer(frame);
    return frame !== undefined;
  }
  if (code !== dispositionCode) return false;
  const outcomes = ifOrdinary(() => new FrameReader(bytes, at + 11).applied());
  if (outcomes) taker.onApplied(outcomes);
  return outcomes !== undefined;
}

class FrameReader extends AmqpReader {
  constructor(bytes: Buffer, at: number) {
    super(bytes);
    this.at = at;
  }

  transfer(end: number): ReceivedTransfer {
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

  /** A sender that has settled accepted deliveries. All else is left to rhea. */
  applied(): AppliedOutcomes {
    const count = this.items();
    const [isReceiver, first, last, settled] = [this.value(), this.number(), this.value(), this.value()];
    if (count < 5 || isReceiver !== false || settled !== true) throw unusualMessage;
    if (this.section() !== acceptedCode) throw unusualMessage;
    return { first, last: typeof last === 'number' ? last : first };
  }

  #nothing(isThere: boolean): undefined {
    if (isThere) this.at += 1;
    return undefined;
  }
}
