import type { OutgoingDelivery, OutgoingMessage, DeliveryOutcome } from './amqp-service.js';
import { DispositionBatch } from './disposition-batch.js';
import {
  acceptedState,
  decodeOutcome,
  encodeOutcome,
  payloadBytes,
  type TransferFrame,
  transferOverhead,
  writeTransfer,
} from './frames.js';
import type { OutputBuffer } from './output-buffer.js';
import type { DispositionFields, RheaLink, RheaSession } from './rhea-endpoints.js';

interface UnsettledDelivery extends OutgoingDelivery {
  readonly link: RheaLink;
  receive(outcome: DeliveryOutcome, settledByPeer: boolean): void;
}

interface WaitingFrame extends TransferFrame {
  readonly link: RheaLink;
}

/**
 * Transfers from us to the client, for the links of one session.
 *
 * rhea's own outgoing queue is not used: it updates credit only when it flushes, blocks every link of the session behind one
 * without credit, and frees its slots only for deliveries that the peer settles, which a Service Bus client never does. Here a
 * delivery is written at once, an unsettled one is an entry in a map, and only the fragments of a message larger than the
 * peer's window wait.
 */
export class OutgoingSession {
  #nextDeliveryId = 0;
  readonly #unsettled = new Map<number, UnsettledDelivery>();
  #waiting: WaitingFrame[] = [];
  readonly #dispositions: DispositionBatch;
  readonly #session: RheaSession;
  readonly #out: OutputBuffer;
  readonly #maxFrameBytes: number;

  constructor(session: RheaSession, out: OutputBuffer, maxFrameBytes: number) {
    this.#session = session;
    this.#out = out;
    this.#maxFrameBytes = maxFrameBytes;
    this.#dispositions = new DispositionBatch(out, session.local.channel, false);
  }

  /** Transfers the peer takes now. 0 while a large message waits for its rest. */
  get window(): number {
    if (this.#waiting.length > 0) return 0;
    return this.#transferWindow();
  }

  send(link: RheaLink, message: OutgoingMessage, settled: boolean): void {
    const deliveryId = this.#nextDeliveryId;
    this.#nextDeliveryId = (deliveryId + 1) >>> 0;
    if (!settled) this.#unsettled.set(deliveryId, new TrackedDelivery(this, deliveryId, link, message));
    const { tag, payload } = message;
    const { handle } = link.local;
    const room = this.#maxFrameBytes - transferOverhead(tag);
    if (payloadBytes(payload) <= room) {
      this.#write({ handle, deliveryId, tag, settled, payload, more: false });
      return;
    }
    const whole = Buffer.isBuffer(payload) ? payload : Buffer.concat(payload);
    for (let at = 0; at < whole.length; at += room) {
      const part = whole.subarray(at, at + room);
      this.#waiting.push({ link, handle, deliveryId, tag, settled, payload: part, more: at + room < whole.length });
    }
    this.pump();
  }

  /** Writes waiting fragments as far as the window reaches. Call it after each flow. */
  pump(): void {
    let written = 0;
    for (const fragment of this.#waiting) {
      if (this.#transferWindow() <= 0) break;
      this.#write(fragment);
      written += 1;
    }
    if (written > 0) this.#waiting = this.#waiting.slice(written);
  }

  onDisposition({ first, last, settled, state }: DispositionFields): void {
    const outcome = decodeOutcome(state) ?? (settled ? ({ kind: 'accepted' } as const) : undefined);
    if (!outcome) return;
    const count = (((last ?? first) - first) >>> 0) + 1;
    if (count > this.#unsettled.size) {
      // A wide range over few deliveries: walk the deliveries instead of the range.
      for (const [id, delivery] of this.#unsettled) {
        if ((id - first) >>> 0 < count) delivery.receive(outcome, settled === true);
      }
      return;
    }
    for (let i = 0; i < count; i += 1) {
      this.#unsettled.get((first + i) >>> 0)?.receive(outcome, settled === true);
    }
  }

  /** Forgets a closed link: its deliveries have no outcome any more, its fragments are not sent. */
  forget(link: RheaLink): void {
    for (const [id, delivery] of this.#unsettled) if (delivery.link === link) this.#unsettled.delete(id);
    this.#waiting = this.#waiting.filter((fragment) => fragment.link !== link);
  }

  /** Ends a delivery; with a state the client is told. */
  settle(deliveryId: number, state: Buffer | undefined): void {
    if (!this.#unsettled.delete(deliveryId) || !state) return;
    if (state === acceptedState) this.#dispositions.accepted(deliveryId);
    else this.#dispositions.state(deliveryId, state);
  }

  #transferWindow(): number {
    const { remote_window, remote_next_transfer_id, next_transfer_id } = this.#session.outgoing;
    return (remote_window ?? 0) - ((next_transfer_id - (remote_next_transfer_id ?? 0)) | 0);
  }

  #write(frame: TransferFrame): void {
    const { outgoing, local } = this.#session;
    outgoing.next_transfer_id = (outgoing.next_transfer_id + 1) >>> 0;
    writeTransfer(this.#out, local.channel, frame);
  }
}

/** An unsettled delivery: waits for an outcome of the client, then for the answer of the service. */
class TrackedDelivery implements UnsettledDelivery {
  #settledByPeer = false;
  #hasOutcome = false;
  readonly #session: OutgoingSession;
  readonly #id: number;
  readonly link: RheaLink;
  readonly #message: OutgoingMessage;

  constructor(session: OutgoingSession, id: number, link: RheaLink, message: OutgoingMessage) {
    this.#session = session;
    this.#id = id;
    this.link = link;
    this.#message = message;
  }

  receive(outcome: DeliveryOutcome, settledByPeer: boolean): void {
    if (settledByPeer) {
      this.#settledByPeer = true;
      this.#session.settle(this.#id, undefined);
    }
    if (this.#hasOutcome) return; // a repeated disposition: the first outcome is being answered
    this.#hasOutcome = true;
    if (this.#message.onOutcome) this.#message.onOutcome(this, outcome);
    else this.settle(outcome);
  }

  settle(state: DeliveryOutcome): void {
    if (!this.#settledByPeer) this.#session.settle(this.#id, encodeOutcome(state));
  }
}
