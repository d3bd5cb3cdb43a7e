import type { Serializer } from '../../types/messages.js';
import { mostTogether } from './combining.js';
import { unsendable } from './error-data.js';
import { encodeText, serialized } from './frame-codec.js';
import { isFlat } from './plain-value.js';
import { withOwnBytes } from './own-bytes.js';
import { valueAt, type WireMessage } from '../../types/wire-message.js';

interface Port {
  postMessage(value: unknown, transfer?: readonly ArrayBuffer[]): void;
}

/**
 * Sends and receives messages over a MessagePort. A post costs more than its content, so the messages of one turn of the event
 * loop are posted together, as the JSON of a list of lists; structured clone of many or nested objects costs more than their
 * JSON. The response to a single message is posted at once, and cloned if it is small and flat (`bench:isolated-workers`, tiny,
 * 1 in flight: 1 us of 19 less than its JSON). Messages that are not plain are cloned too, each in its own post, so that an
 * error belongs to the right message.
 */
export class PortQueue {
  readonly #port: Port;
  readonly #serializer: Serializer | undefined;
  /** Comma-separated JSON of messages that are posted at the end of this turn. */
  #texts = '';
  #isOneText = true;
  #scheduled = false;
  /** True while received messages are delivered; responses are posted afterwards. */
  #opening = false;
  /** True when the last message was received alone and nothing was sent since: the next one is not delayed. */
  #alone = true;

  constructor(port: Port, serializer: Serializer | undefined) {
    this.#port = port;
    this.#serializer = serializer;
  }

  /** Sends a message. Throws `SerializationError`, and sends nothing, when it cannot be serialized. */
  send(message: WireMessage, transfer?: readonly ArrayBuffer[]): void {
    const isText = !this.#serializer && !(transfer && transfer.length > 0);
    if (this.#alone && isText && this.#postFlat(message)) return;
    const text = isText ? encodeText(message) : undefined;
    if (text === undefined) {
      const packed = pack(message, this.#serializer, transfer);
      this.flush();
      this.#post(packed, transfer);
    } else if (this.#alone) {
      this.#alone = false;
      this.#post(text);
    } else this.#append(text);
  }

  /** Posts the queued messages now. */
  flush(): void {
    const texts = this.#texts;
    if (texts === '') return;
    this.#texts = '';
    // A single one is posted as such, so that the other side does not delay its response.
    this.#post(this.#isOneText ? texts : `[${texts}]`);
  }

  /** Delivers each message of a post. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says at the call what the port carries
  open<Message extends WireMessage>(posted: unknown, onMessage: (message: Message) => void): void {
    const read = typeof posted === 'string' ? parse(posted) : this.#unpacked(posted);
    if (!Array.isArray(read)) return; // a post of the script itself
    if (!Array.isArray(read[0])) {
      this.#alone = this.#texts === '';
      return onMessage(read as Message);
    }
    this.#alone = false;
    this.#opening = true;
    try {
      for (const message of read as Message[]) onMessage(message);
    } finally {
      this.#opening = false;
      this.flush();
    }
  }

  #unpacked(posted: unknown): unknown {
    return this.#serializer && Array.isArray(posted)
      ? unpack(posted as unknown as WireMessage, this.#serializer)
      : posted;
  }

  #append(text: string): void {
    this.#isOneText = this.#texts === '';
    this.#texts = this.#isOneText ? text : `${this.#texts},${text}`;
    if (this.#texts.length > mostTogether) return this.flush();
    if (this.#scheduled || this.#opening) return;
    this.#scheduled = true;
    // After all promises of this turn, so that responses that become ready together are combined.
    process.nextTick(this.#flushScheduled);
  }

  readonly #flushScheduled = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  /** Posts a small flat message as it is. Returns false for others, and for proxies, which cannot be cloned. */
  #postFlat(message: WireMessage): boolean {
    try {
      if (!isFlatMessage(message)) return false;
      this.#post(message);
    } catch {
      return false; // its JSON may be sent, or throws the error
    }
    this.#alone = false;
    return true;
  }

  #post(value: unknown, transfer?: readonly ArrayBuffer[]): void {
    try {
      this.#port.postMessage(value, transfer);
    } catch (error) {
      throw unsendable(error);
    }
  }
}

function isFlatMessage(message: WireMessage): boolean {
  const at = valueAt[message[0]];
  return at === undefined || message.length <= at || isFlat(message[at]);
}

function parse(posted: string): unknown {
  try {
    return JSON.parse(posted);
  } catch {
    return undefined;
  }
}

function pack(
  message: WireMessage,
  serializer: Serializer | undefined,
  transfer: readonly ArrayBuffer[] | undefined,
): WireMessage {
  return replaceValue(message, (value) => {
    try {
      return withOwnBytes(serializer ? serialized(serializer, value) : value, transfer);
    } catch (error) {
      throw unsendable(error);
    }
  });
}

function unpack(message: WireMessage, serializer: Serializer): WireMessage {
  return replaceValue(message, (value) => serializer.deserialize(value as Uint8Array));
}

function replaceValue(message: WireMessage, change: (value: unknown) => unknown): WireMessage {
  const at = valueAt[message[0]];
  if (at === undefined || message.length <= at) return message;
  const copy: unknown[] = [...message];
  copy[at] = change(copy[at]);
  return copy as WireMessage;
}
