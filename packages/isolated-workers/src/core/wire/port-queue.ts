import { SerializationError } from '../../types/errors.js';
import type { Serializer } from '../../types/serializer.js';
import { encodeText } from './frame-codec.js';
import { valueAt, type WireMessage } from '../../types/wire-message.js';

interface Port {
  postMessage(value: unknown, transfer?: readonly ArrayBuffer[]): void;
}

/** Longer texts are posted when they come, so that the other side can begin with them. */
const smallText = 8 * 1024;

/**
 * Messages over a MessagePort. A post costs more than what is in it, and the structured clone of small objects more than
 * their JSON: so messages that are JSON and nothing else go as text. What answers a message that came alone goes at once;
 * else those of one turn of the event loop go together, as a list of lists. The others are cloned, each in a post of its
 * own, so that a refusal meets the right one.
 */
export class PortQueue {
  readonly #port: Port;
  readonly #serializer: Serializer | undefined;
  /** JSON of messages that go out at the end of this turn, with commas between them. */
  #texts = '';
  #scheduled = false;
  /** Messages are being handed on: what they bring about goes out when all of them are. */
  #opening = false;
  /** The last message came alone and nothing was sent since: there is nothing to wait for. */
  #alone = true;

  constructor(port: Port, serializer: Serializer | undefined) {
    this.#port = port;
    this.#serializer = serializer;
  }

  /** Throws `SerializationError` when the message cannot be written; nothing is sent then. */
  send(message: WireMessage, transfer?: readonly ArrayBuffer[]): void {
    const text = this.#serializer || (transfer && transfer.length > 0) ? undefined : encodeText(message);
    if (text === undefined) {
      const packed = this.#serializer ? pack(message, this.#serializer) : message;
      this.flush();
      this.#post(packed, transfer);
    } else if (this.#alone) {
      this.#alone = false;
      this.#post(text);
    } else this.#append(text);
  }

  /** Posts what waits for the end of this turn now. */
  flush(): void {
    const texts = this.#texts;
    if (texts === '') return;
    this.#texts = '';
    this.#post(`[${texts}]`);
  }

  /** Hands on each message of what was posted. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says at the call what the port carries
  open<Message extends WireMessage>(posted: unknown, onMessage: (message: Message) => void): void {
    const read = typeof posted === 'string' ? parse(posted) : this.#unpacked(posted);
    if (!Array.isArray(read)) return; // whatever else a script posts of its own is not for us
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
    this.#texts = this.#texts === '' ? text : `${this.#texts},${text}`;
    if (this.#texts.length > smallText) return this.flush();
    if (this.#scheduled || this.#opening) return;
    this.#scheduled = true;
    // After all promises of this turn: answers that became ready together go together.
    process.nextTick(this.#flushScheduled);
  }

  readonly #flushScheduled = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  #post(value: unknown, transfer?: readonly ArrayBuffer[]): void {
    try {
      this.#port.postMessage(value, transfer);
    } catch (error) {
      throw unsendable(error);
    }
  }
}

function parse(posted: string): unknown {
  try {
    return JSON.parse(posted);
  } catch {
    return undefined;
  }
}

function pack(message: WireMessage, serializer: Serializer): WireMessage {
  return replaceValue(message, (value) => {
    try {
      return serializer.serialize(value);
    } catch (error) {
      throw unsendable(error);
    }
  });
}

function unpack(message: WireMessage, serializer: Serializer): WireMessage {
  return replaceValue(message, (value) => serializer.deserialize(value as Uint8Array));
}

function unsendable(error: unknown): SerializationError {
  const why = error instanceof Error ? error.message : String(error);
  return new SerializationError(`the value cannot be sent: ${why}`, { cause: error });
}

function replaceValue(message: WireMessage, change: (value: unknown) => unknown): WireMessage {
  const at = valueAt[message[0]];
  if (at === undefined || message.length <= at) return message;
  const copy: unknown[] = [...message];
  copy[at] = change(copy[at]);
  return copy as WireMessage;
}
