import { crc32 } from 'node:zlib';

/**
 * Layout of a journal file. All numbers are little-endian.
 *
 *     file    = header frame*
 *     header  = "AZEMUJ01" snapshotEnd:u64 crc32(the 16 bytes before):u32 0:u32
 *     frame   = magic:u32 length:u32 checksum:u32 record*        one frame per group commit
 *     record  = length:u32 bytes
 *
 * The checksum covers the records, their length and the OFFSET of the frame in its file. So a frame is valid in one place only: bytes
 * of an older file, or a message whose body is a copy of a journal, are never taken for a frame.
 */
export const fileHeaderBytes = 24;
export const frameHeaderBytes = 12;
const recordHeaderBytes = 4;

const fileMagic = Buffer.from('AZEMUJ01', 'latin1');
export const frameMagic = Buffer.from([0xf5, 0x4a, 0x52, 0x4e]);

/** One record: the bytes of its parts in order. Strings are written as UTF-8. */
export type JournalRecord = string | Uint8Array | readonly (string | Uint8Array)[];

export function encodeFileHeader(snapshotEnd: number): Buffer {
  const header = Buffer.alloc(fileHeaderBytes);
  fileMagic.copy(header);
  header.writeBigUInt64LE(BigInt(snapshotEnd), 8);
  header.writeUInt32LE(crc32(header.subarray(0, 16)), 16);
  return header;
}

/** Returns the end of the snapshot, or undefined if the bytes are no header. */
export function decodeFileHeader(header: Buffer): number | undefined {
  if (header.length < fileHeaderBytes || !header.subarray(0, 8).equals(fileMagic)) return undefined;
  if (header.readUInt32LE(16) !== crc32(header.subarray(0, 16))) return undefined;
  return Number(header.readBigUInt64LE(8));
}

const seedBytes = Buffer.alloc(12);

function checksum(records: Uint8Array, frameOffset: number): number {
  seedBytes.writeUInt32LE(records.length, 0);
  seedBytes.writeBigUInt64LE(BigInt(frameOffset), 4);
  return crc32(records, crc32(seedBytes));
}

/** The buffer of a frame grows by doubling; one that grew past this is not used again. */
const firstBufferBytes = 64 * 1024;
const mostBufferBytesReused = 4 * 1024 * 1024;

/** Collects the records of one frame in one buffer, to be written at once. */
export class FrameBuilder {
  #buffer = Buffer.allocUnsafeSlow(firstBufferBytes);
  #end = frameHeaderBytes;

  get isEmpty(): boolean {
    return this.#end === frameHeaderBytes;
  }

  get bytes(): number {
    return this.#end;
  }

  add(record: JournalRecord): void {
    const start = this.#end;
    this.#reserve(recordHeaderBytes);
    this.#end += recordHeaderBytes;
    if (typeof record === 'string' || record instanceof Uint8Array) this.#addPart(record);
    else for (const part of record) this.#addPart(part);
    this.#buffer.writeUInt32LE(this.#end - start - recordHeaderBytes, start);
  }

  /** Returns the frame for this place in the file. The bytes are valid until `clear`. */
  seal(offset: number): Buffer {
    const frame = this.#buffer.subarray(0, this.#end);
    const records = frame.subarray(frameHeaderBytes);
    frameMagic.copy(frame);
    frame.writeUInt32LE(records.length, 4);
    frame.writeUInt32LE(checksum(records, offset), 8);
    return frame;
  }

  clear(): void {
    this.#end = frameHeaderBytes;
    if (this.#buffer.length > mostBufferBytesReused) this.#buffer = Buffer.allocUnsafeSlow(firstBufferBytes);
  }

  #addPart(part: string | Uint8Array): void {
    if (typeof part === 'string') {
      this.#reserve(part.length * 3); // no string has more bytes in UTF-8
      this.#end += this.#buffer.write(part, this.#end, 'utf8');
    } else {
      this.#reserve(part.length);
      this.#buffer.set(part, this.#end);
      this.#end += part.length;
    }
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}

/** Returns the length of the records of the frame that starts here, or undefined if none does. */
export function recordsLength(header: Buffer): number | undefined {
  if (header.length < frameHeaderBytes || !header.subarray(0, 4).equals(frameMagic)) return undefined;
  return header.readUInt32LE(4);
}

/** Whether the bytes are the whole frame that was written at this offset. */
export function isFrame(frame: Buffer, offset: number): boolean {
  const records = frame.subarray(frameHeaderBytes);
  return recordsLength(frame) === records.length && frame.readUInt32LE(8) === checksum(records, offset);
}

/** Yields the records of a valid frame, each a copy of its own. */
export function* recordsOf(frame: Buffer): Generator<Buffer> {
  for (let at = frameHeaderBytes; at < frame.length; ) {
    const start = at + recordHeaderBytes;
    at = start + frame.readUInt32LE(at);
    yield Buffer.from(frame.subarray(start, at));
  }
}
