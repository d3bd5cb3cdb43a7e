import { fstatSync, readSync } from 'node:fs';
import {
  decodeFileHeader,
  fileHeaderBytes,
  frameHeaderBytes,
  frameMagic,
  isFrame,
  recordsLength,
  recordsOf,
} from './frame.js';
import { JournalError } from './journal-error.js';

interface ReplayedFile {
  readonly snapshotEnd: number;
  /** End of the last valid frame. Bytes behind it belong to a write that was cut off. */
  readonly end: number;
  readonly size: number;
}

/**
 * Replays all records of a journal file. A group commit writes a frame only after the frame before it is durable. So an invalid frame
 * with nothing valid behind it was never acknowledged: it is the torn end of the file. An invalid frame before a valid one, or inside
 * the snapshot, was durable once: that is corruption, and throws.
 */
export function replayFile(path: string, file: number, replay: (record: Buffer) => void): ReplayedFile {
  const reader = new FileReader(file);
  const { size } = reader;
  const snapshotEnd = decodeFileHeader(reader.read(0, fileHeaderBytes));
  if (snapshotEnd === undefined) throw corrupt(path, 0, 'its header is damaged, or it is not a journal');
  let end = fileHeaderBytes;
  for (let frame = frameAt(reader, end); frame; frame = frameAt(reader, end)) {
    for (const record of recordsOf(frame)) replay(record);
    end += frame.length;
  }
  if (end < snapshotEnd) throw corrupt(path, end, `its snapshot ends at byte ${snapshotEnd}`);
  const later = end < size ? frameBehind(reader, end + 1) : undefined;
  if (later !== undefined) throw corrupt(path, end, `valid records follow at byte ${later}`);
  return { snapshotEnd, end, size };
}

function corrupt(path: string, offset: number, reason: string): JournalError {
  const next = 'Nothing was changed. Restore the file from a copy, or move it away to start empty.';
  return new JournalError(
    'JOURNAL_CORRUPT',
    `The journal ${path} is damaged at byte ${offset} of durable data (${reason}). ${next}`,
  );
}

function frameAt(reader: FileReader, offset: number): Buffer | undefined {
  const length = recordsLength(reader.read(offset, frameHeaderBytes));
  if (length === undefined || offset + frameHeaderBytes + length > reader.size) return undefined;
  const frame = reader.read(offset, frameHeaderBytes + length);
  return isFrame(frame, offset) ? frame : undefined;
}

const searchStepBytes = 1024 * 1024;

/** Returns the offset of the first valid frame at or behind this offset. */
function frameBehind(reader: FileReader, from: number): number | undefined {
  for (let start = from; start < reader.size; start += searchStepBytes) {
    // Copied, because frameAt reads through the same window. Windows overlap: a magic number may lie across their border.
    const bytes = Buffer.from(reader.read(start, searchStepBytes + frameMagic.length - 1));
    for (let at = bytes.indexOf(frameMagic); at >= 0; at = bytes.indexOf(frameMagic, at + 1)) {
      if (frameAt(reader, start + at)) return start + at;
    }
  }
  return undefined;
}

/** Reads a file through a window of at least 1 MiB. */
class FileReader {
  readonly size: number;
  readonly #file: number;
  #window = Buffer.alloc(0);
  #windowStart = 0;

  constructor(file: number) {
    this.#file = file;
    this.size = fstatSync(file).size;
  }

  /** Returns the bytes at this offset, fewer at the end of the file. They are valid until the next call. */
  read(offset: number, length: number): Buffer {
    const wanted = Math.max(0, Math.min(length, this.size - offset));
    const isInside = offset >= this.#windowStart && offset + wanted <= this.#windowStart + this.#window.length;
    if (!isInside) this.#fill(offset, wanted);
    const start = offset - this.#windowStart;
    return this.#window.subarray(start, start + wanted);
  }

  #fill(offset: number, wanted: number): void {
    const window = Buffer.allocUnsafeSlow(Math.max(wanted, Math.min(searchStepBytes, this.size - offset)));
    let filled = 0;
    while (filled < window.length) {
      const count = readSync(this.#file, window, filled, window.length - filled, offset + filled);
      if (count === 0) break;
      filled += count;
    }
    this.#window = window.subarray(0, filled);
    this.#windowStart = offset;
  }
}
