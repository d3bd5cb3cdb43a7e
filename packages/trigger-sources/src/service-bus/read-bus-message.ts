import { AmqpReader, ifOrdinary, unusualMessage } from '../amqp/amqp-reader.js';
import { lifetimeOf, noProperties, plainBytes, type BusDeliveryPlace, type BusMessage } from './bus-message.js';

/**
 * Reads a message straight from its bytes. Returns undefined for one that is not like most: rhea decodes it.
 * docs/decisions/0046-service-bus-links.md has the measurements.
 */
export function readBusMessage(bytes: Buffer, place: BusDeliveryPlace): BusMessage | undefined {
  return ifOrdinary(() => new BusMessageReader(bytes).read(place));
}

/** Reads the sections of a message into its fields. */
class BusMessageReader extends AmqpReader {
  #body: Buffer | undefined;
  #properties = noProperties;
  #deliveryCount = 0;
  #ttlMs: number | undefined;
  #expiryMs: number | undefined;
  #creationMs: number | undefined;
  #messageId: string | undefined;
  #correlationId: string | undefined;
  #to: unknown;
  #subject: unknown;
  #replyTo: unknown;
  #contentType: unknown;
  #sessionId: unknown;
  #replyToSessionId: unknown;
  #sequenceNumber: number | undefined;
  #enqueuedSequenceNumber: unknown;
  #enqueuedAtMs: number | undefined;
  #lockedUntilMs: number | undefined;
  #scheduledAtMs: number | undefined;
  #partitionKey: unknown;
  #viaPartitionKey: unknown;
  #deadLetterSource: unknown;
  #state = 0;

  read({ deliveryId, lockToken }: BusDeliveryPlace): BusMessage {
    while (this.at < this.bytes.length) this.#readSection(this.section());
    if (!this.#body) throw unusualMessage;
    const { timeToLiveMs, expiresAtMs } = lifetimeOf({
      ttlMs: this.#ttlMs,
      expiryMs: this.#expiryMs,
      creationMs: this.#creationMs,
      enqueuedAtMs: this.#enqueuedAtMs,
    });
    return {
      body: this.#body,
      deliveryId,
      lockToken,
      deliveryCount: this.#deliveryCount + 1,
      messageId: this.#messageId,
      correlationId: this.#correlationId,
      sequenceNumber: this.#sequenceNumber,
      enqueuedSequenceNumber: this.#enqueuedSequenceNumber,
      enqueuedAtMs: this.#enqueuedAtMs,
      expiresAtMs,
      lockedUntilMs: this.#lockedUntilMs,
      scheduledAtMs: this.#scheduledAtMs,
      timeToLiveMs,
      contentType: this.#contentType,
      subject: this.#subject,
      to: this.#to,
      replyTo: this.#replyTo,
      replyToSessionId: this.#replyToSessionId,
      sessionId: this.#sessionId,
      partitionKey: this.#partitionKey,
      viaPartitionKey: this.#viaPartitionKey,
      deadLetterSource: this.#deadLetterSource,
      state: this.#state,
      properties: this.#properties,
    };
  }

  protected override plainBytes(bytes: Buffer): string {
    return plainBytes(bytes);
  }

  #readSection(descriptor: number): void {
    switch (descriptor) {
      case 0x70:
        return this.#readHeader();
      case 0x71:
      case 0x78:
        this.value(); // delivery annotations and footer: functions do not see them
        return;
      case 0x72:
        return this.#readAnnotations();
      case 0x73:
        return this.#readProperties();
      case 0x74:
        this.#properties = this.map();
        return;
      case 0x75:
        if (this.#body) throw unusualMessage;
        this.#body = this.binary();
        return;
      default:
        throw unusualMessage;
    }
  }

  #readHeader(): void {
    const count = this.items();
    for (let index = 0; index < count; index += 1) {
      const value = this.value();
      if (value === null) continue;
      if (index === 2) this.#ttlMs = Number(value);
      else if (index === 4) this.#deliveryCount = Number(value);
    }
  }

  #readAnnotations(): void {
    for (let left = this.pairs(); left > 0; left -= 1) this.#readAnnotation(this.text());
  }

  #readAnnotation(name: string): void {
    switch (name) {
      case 'x-opt-enqueued-time':
        this.#enqueuedAtMs = this.#optionalTime();
        return;
      case 'x-opt-locked-until':
        this.#lockedUntilMs = this.#optionalTime();
        return;
      case 'x-opt-scheduled-enqueue-time':
        this.#scheduledAtMs = this.#optionalTime();
        return;
      case 'x-opt-sequence-number':
        this.#sequenceNumber = this.number();
        return;
      case 'x-opt-enqueue-sequence-number':
        this.#enqueuedSequenceNumber = this.#optional();
        return;
      case 'x-opt-partition-key':
        this.#partitionKey = this.#optional();
        return;
      case 'x-opt-via-partition-key':
        this.#viaPartitionKey = this.#optional();
        return;
      case 'x-opt-deadletter-source':
        this.#deadLetterSource = this.#optional();
        return;
      case 'x-opt-message-state': {
        const state = this.value();
        this.#state = state === 1 || state === 2 ? state : 0;
        return;
      }
      default:
        this.value();
    }
  }

  /** Fields are in the order of AMQP. */
  #readProperties(): void {
    const count = this.items();
    for (let index = 0; index < count; index += 1) {
      switch (index) {
        case 0:
          this.#messageId = this.#id();
          break;
        case 2:
          this.#to = this.#optional();
          break;
        case 3:
          this.#subject = this.#optional();
          break;
        case 4:
          this.#replyTo = this.#optional();
          break;
        case 5:
          this.#correlationId = this.#id();
          break;
        case 6:
          this.#contentType = this.#optional();
          break;
        case 8:
          this.#expiryMs = this.#optionalTime();
          break;
        case 9:
          this.#creationMs = this.#optionalTime();
          break;
        case 10:
          this.#sessionId = this.#optional();
          break;
        case 12:
          this.#replyToSessionId = this.#optional();
          break;
        default:
          this.value();
      }
    }
  }

  #optional(): unknown {
    const value = this.value();
    return value === null ? undefined : value;
  }

  #optionalTime(): number | undefined {
    if (this.bytes[this.at] !== 0x40) return this.time();
    this.at += 1;
    return undefined;
  }

  /** A text or a number; bytes and uuids are left to rhea. */
  #id(): string | undefined {
    const code = this.bytes[this.at];
    if (code === 0x40) {
      this.at += 1;
      return undefined;
    }
    return code === 0xa1 || code === 0xb1 ? this.text() : String(this.number());
  }
}
