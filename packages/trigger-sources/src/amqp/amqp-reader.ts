import { IsoTimes } from './iso-times.js';

/** Thrown for a value that `AmqpReader` leaves to rhea. */
export const unusualMessage = new Error('not an ordinary message');

/** Runs a read. Returns undefined if the message is not like most, or ends early: rhea decodes it then. */
export function ifOrdinary<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error === unusualMessage || error instanceof RangeError) return undefined; // a time out of range, or it ends early
    throw error;
  }
}

const times = new IsoTimes();

/** Reads the types of AMQP that messages of Event Hubs and Service Bus have, without an object for each value. */
export class AmqpReader {
  protected readonly bytes: Buffer;
  protected at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Returns the descriptor of the next section. */
  protected section(): number {
    if (this.byte() !== 0x00) throw unusualMessage;
    const code = this.byte();
    if (code === 0x53) return this.byte();
    if (code !== 0x80) throw unusualMessage;
    return this.long();
  }

  protected map(): Readonly<Record<string, unknown>> {
    const map: Record<string, unknown> = {};
    for (let left = this.pairs(); left > 0; left -= 1) {
      const name = this.text();
      if (name === '__proto__') throw unusualMessage;
      map[name] = this.value();
    }
    return map;
  }

  /** Returns the number of pairs of the map that begins here. */
  protected pairs(): number {
    const code = this.byte();
    if (code === 0xc1) {
      this.at += 1;
      return this.byte() / 2;
    }
    if (code !== 0xd1) throw unusualMessage;
    this.at += 4;
    return this.uint() / 2;
  }

  /** Returns the number of items of the list that begins here. */
  protected items(): number {
    const code = this.byte();
    if (code === 0x45) return 0;
    if (code === 0xc0) {
      this.at += 1;
      return this.byte();
    }
    if (code !== 0xd0) throw unusualMessage;
    this.at += 4;
    return this.uint();
  }

  /** Reads a value as JSON has it: times as text, bytes in base64. */
  protected value(): unknown {
    const code = this.bytes[this.at];
    switch (code) {
      case 0x40:
        this.at += 1;
        return null;
      case 0x41:
      case 0x42:
        this.at += 1;
        return code === 0x41;
      case 0x56: // a boolean too, in two bytes; rhea reads it as a number
        this.at += 1;
        return this.byte() !== 0;
      case 0x45:
      case 0xc0:
      case 0xd0:
        return Array.from({ length: this.items() }, () => this.value());
      case 0xc1:
      case 0xd1:
        return this.map();
      case 0x83:
        return times.of(this.time());
      case 0xa0:
      case 0xb0:
        return this.plainBytes(this.binary());
      case 0xa1:
      case 0xa3:
      case 0xb1:
      case 0xb3:
        return this.text();
      default:
        return this.number();
    }
  }

  protected number(): number {
    switch (this.byte()) {
      case 0x43:
      case 0x44:
        return 0;
      case 0x50:
      case 0x52:
      case 0x53:
        return this.byte();
      case 0x54:
      case 0x55:
        return this.bytes.readInt8(this.skip(1));
      case 0x70:
        return this.uint();
      case 0x71:
        return this.bytes.readInt32BE(this.skip(4));
      case 0x80: {
        const value = this.long();
        if (value < 0) throw unusualMessage; // unsigned, and beyond the exact numbers
        return value;
      }
      case 0x81:
        return this.long();
      case 0x82:
        return this.bytes.readDoubleBE(this.skip(8));
      default:
        throw unusualMessage;
    }
  }

  protected time(): number {
    if (this.byte() !== 0x83) throw unusualMessage;
    return this.long();
  }

  protected binary(): Buffer {
    const code = this.byte();
    if (code !== 0xa0 && code !== 0xb0) throw unusualMessage;
    const length = code === 0xa0 ? this.byte() : this.uint();
    const from = this.skip(length);
    return this.bytes.subarray(from, from + length);
  }

  protected text(): string {
    const code = this.byte();
    const isShort = code === 0xa1 || code === 0xa3;
    if (!isShort && code !== 0xb1 && code !== 0xb3) throw unusualMessage;
    const length = isShort ? this.byte() : this.uint();
    const from = this.skip(length);
    const isSymbol = code === 0xa3 || code === 0xb3; // ASCII, which is read faster
    return this.bytes.toString(isSymbol ? 'latin1' : 'utf8', from, from + length);
  }

  /** Numbers beyond the exact ones of JavaScript are left to rhea. */
  protected long(): number {
    const from = this.skip(8);
    const value = this.bytes.readInt32BE(from) * 0x1_0000_0000 + this.bytes.readUInt32BE(from + 4);
    if (!Number.isSafeInteger(value)) throw unusualMessage;
    return value;
  }

  protected uint(): number {
    return this.bytes.readUInt32BE(this.skip(4));
  }

  protected byte(): number {
    const value = this.bytes[this.at];
    if (value === undefined) throw unusualMessage;
    this.at += 1;
    return value;
  }

  protected skip(length: number): number {
    const from = this.at;
    this.at += length;
    if (this.at > this.bytes.length) throw unusualMessage;
    return from;
  }

  /** Bytes as JSON has them. */
  protected plainBytes(bytes: Buffer): string {
    return bytes.toString('base64');
  }
}
