import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { lockDirectory } from './directory-lock.js';
import { realDisk, fsyncDirectory, type Disk } from './disk.js';
import { encodeFileHeader, fileHeaderBytes, FrameBuilder, type JournalRecord } from './frame.js';
import { JournalError } from './journal-error.js';
import { replayFile } from './replay-file.js';

export interface FileJournalOptions {
  /** Directory of this journal alone. Created if it does not exist. */
  readonly directory: string;
  /** Called by `open` for each record, in order: those of the last snapshot, then all appended since. */
  readonly replay: (record: Buffer) => void;
  /** Yields records that recreate the present state, effects of all appended records included. Consumed at once, without a pause. */
  readonly snapshot: () => Iterable<JournalRecord>;
  /** Receives one sentence about a record that a crash cut off, a disk that refuses writes, and a disk that works again. */
  readonly warn?: (sentence: string) => void;
  /** Bytes appended before the file is replaced by a snapshot. More if the last snapshot was larger. */
  readonly compactAfterBytes?: number;
  readonly disk?: Disk;
}

/** Records that become durable together. */
interface Batch {
  readonly frame: FrameBuilder;
  readonly durable: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const defaultCompactAfterBytes = 64 * 1024 * 1024;
const snapshotFrameBytes = 1024 * 1024;
/** A closing journal is compacted when a quarter of its snapshot was appended: then it costs at most five times what was written. */
const compactionGain = 4;
/** Time between two attempts to write again on a disk that refused. */
const retryAfterMs = 250;

/**
 * Makes the state of one service durable: an append-only file of records with checksums, replaced by a snapshot from time to time.
 *
 * - open: records are appended. All that arrive while the disk is busy form one group commit: one write, one fdatasync.
 * - refusing: a write failed. Records that were not acknowledged are rejected, and so are new ones. On an attempt to append,
 *   at most every 250 ms, the whole state is written to a new file; when that works the journal is open again. State and file agree
 *   again then: a rejected record whose effect is still in the state is durable too. That is why nothing is taken back.
 * - closed: all accepted records are durable, the file is closed and the directory is free.
 *
 * The rule for users: call `ensureWritable`, change the state and `append` the record in ONE synchronous step, then acknowledge when
 * `append` resolves. A snapshot taken between the change and its record would contain the effect twice or never.
 */
export class FileJournal {
  readonly #options: FileJournalOptions;
  readonly #disk: Disk;
  readonly #path: string;
  readonly #unlock: () => void;
  #file: number;
  #end: number;
  #snapshotEnd: number;
  #compactAt: number;
  #state: 'open' | 'refusing' | 'closed' = 'open';
  #failure: unknown;
  #retryAtMs = 0;
  #batch = newBatch(new FrameBuilder());
  #spare: FrameBuilder | undefined;
  #running: Promise<void> | undefined;

  private constructor(options: FileJournalOptions, file: OpenFile, unlock: () => void) {
    this.#options = options;
    this.#disk = options.disk ?? realDisk;
    this.#path = journalPath(options.directory);
    this.#unlock = unlock;
    this.#file = file.file;
    this.#end = file.end;
    this.#snapshotEnd = file.snapshotEnd;
    this.#compactAt = file.snapshotEnd + Math.max(file.snapshotEnd, this.#compactAfterBytes);
  }

  /** Opens or creates the journal of a directory and replays it. Throws JOURNAL_LOCKED or JOURNAL_CORRUPT. */
  static async open(options: FileJournalOptions): Promise<FileJournal> {
    mkdirSync(options.directory, { recursive: true });
    const unlock = lockDirectory(options.directory);
    try {
      const file = existsSync(journalPath(options.directory)) ? openExisting(options) : await createEmpty(options);
      return new FileJournal(options, file, unlock);
    } catch (error) {
      unlock();
      throw error;
    }
  }

  /** Throws if records are refused now. Call it before the state is changed. */
  ensureWritable(): void {
    if (this.#state === 'open') return;
    if (this.#state === 'closed') throw new JournalError('JOURNAL_CLOSED', `The journal ${this.#path} is closed.`);
    if (!this.#running && performance.now() >= this.#retryAtMs) this.#run();
    throw this.#refusal();
  }

  /**
   * Appends a record whose effect is already in the state. Resolves when it is durable; rejects with JOURNAL_REFUSES_WRITES if it
   * may be lost. A caller that does not look at the result is not disturbed by a failure.
   */
  append(record: JournalRecord): Promise<void> {
    if (this.#state !== 'open') {
      try {
        this.ensureWritable();
      } catch (error) {
        return Promise.reject(error);
      }
    }
    this.#batch.frame.add(record);
    if (!this.#running) this.#run();
    return this.#batch.durable;
  }

  /** Resolves when all accepted records are durable and the directory is free. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    const wasOpen = this.#state === 'open';
    this.#state = 'closed';
    await this.#running;
    if (wasOpen && !this.#batch.frame.isEmpty) await this.#commit();
    // The next start reads what is left, not all that happened. Not for little: a snapshot writes the whole state.
    if (wasOpen && (this.#end - this.#snapshotEnd) * compactionGain >= this.#snapshotEnd) await this.#replaceFile();
    closeSync(this.#file);
    this.#unlock();
  }

  get #compactAfterBytes(): number {
    return this.#options.compactAfterBytes ?? defaultCompactAfterBytes;
  }

  #run(): void {
    this.#running = this.#commitAll();
  }

  /** Commits until nothing waits. Never rejects: failures reach the callers of `append`. */
  async #commitAll(): Promise<void> {
    // All requests that the event loop has read together share the first commit.
    await new Promise((resolve) => setImmediate(resolve));
    do await this.#commit();
    while (this.#state === 'open' && !this.#batch.frame.isEmpty);
    this.#running = undefined; // in the step that found nothing to do: a record appended later starts the next run
  }

  async #commit(): Promise<void> {
    const batch = this.#batch;
    this.#batch = newBatch(this.#spare ?? new FrameBuilder());
    this.#spare = undefined;
    try {
      const isReplaced = (this.#state === 'refusing' || this.#end >= this.#compactAt) && (await this.#replaceFile());
      if (!isReplaced) await this.#writeFrame(batch.frame);
      batch.resolve();
    } catch (error) {
      this.#refuse(error);
      batch.reject(this.#refusal());
    }
    batch.frame.clear();
    this.#spare = batch.frame;
  }

  async #writeFrame(frame: FrameBuilder): Promise<void> {
    if (frame.isEmpty) return;
    const bytes = frame.seal(this.#end);
    this.#disk.write(this.#file, bytes, this.#end);
    await this.#disk.sync(this.#file);
    this.#end += bytes.length;
  }

  /**
   * Replaces the file by a snapshot of the state, which includes the batch that is being committed. Returns false if that fails while
   * the old file still works; the next attempt is made when the file has grown as much again.
   */
  async #replaceFile(): Promise<boolean> {
    let next: OpenFile;
    try {
      next = await writeSnapshot(this.#options, this.#disk);
    } catch (error) {
      if (this.#state === 'refusing') throw error;
      this.#compactAt = this.#end + this.#compactAfterBytes;
      this.#options.warn?.(`The journal ${this.#path} could not be compacted and grows on (${reasonOf(error)}).`);
      return false;
    }
    closeSync(this.#file); // no longer the file of that name
    this.#file = next.file;
    this.#end = next.end;
    this.#snapshotEnd = next.snapshotEnd;
    this.#compactAt = next.snapshotEnd + Math.max(next.snapshotEnd, this.#compactAfterBytes);
    fsyncDirectory(this.#options.directory);
    if (this.#state === 'refusing') {
      this.#state = 'open';
      this.#options.warn?.(`The journal ${this.#path} can be written again.`);
    }
    return true;
  }

  /** Refuses records from now on. Those that waited for the next commit are rejected with the others. */
  #refuse(error: unknown): void {
    const isNew = this.#state === 'open';
    if (isNew) this.#state = 'refusing';
    this.#failure = error;
    this.#retryAtMs = performance.now() + retryAfterMs;
    if (isNew) this.#options.warn?.(this.#refusal().message);
    const waiting = this.#batch;
    this.#batch = newBatch(new FrameBuilder());
    waiting.reject(this.#refusal());
  }

  #refusal(): JournalError {
    const next = 'Changes are refused until the disk works: free space there, and repeat the request.';
    return new JournalError(
      'JOURNAL_REFUSES_WRITES',
      `The journal ${this.#path} cannot be written (${reasonOf(this.#failure)}). ${next}`,
      this.#failure,
    );
  }
}

interface OpenFile {
  readonly file: number;
  readonly snapshotEnd: number;
  readonly end: number;
}

const journalPath = (directory: string): string => path.join(directory, 'journal');

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function newBatch(frame: FrameBuilder): Batch {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const durable = new Promise<void>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  durable.catch(() => undefined);
  return { frame, durable, resolve, reject };
}

function openExisting({ directory, replay, warn }: FileJournalOptions): OpenFile {
  const name = journalPath(directory);
  const file = openSync(name, 'r+');
  try {
    const { snapshotEnd, end, size } = replayFile(name, file, replay);
    if (end < size) {
      ftruncateSync(file, end);
      warn?.(`The journal ${name} ended in a write that was cut off: ${size - end} bytes at ${end} were removed.`);
    }
    return { file, snapshotEnd, end };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

async function createEmpty(options: FileJournalOptions): Promise<OpenFile> {
  const file = await writeSnapshot({ ...options, snapshot: () => [] }, options.disk ?? realDisk);
  fsyncDirectory(options.directory);
  return file;
}

/** Writes a snapshot to a new file and renames it to the journal, which stays whole until then. Its name is not durable yet. */
async function writeSnapshot({ directory, snapshot }: FileJournalOptions, disk: Disk): Promise<OpenFile> {
  const name = journalPath(directory);
  const temporary = `${name}.new`;
  const file = openSync(temporary, 'w+');
  try {
    let end = fileHeaderBytes;
    const frame = new FrameBuilder();
    const writeFrame = (): void => {
      disk.write(file, frame.seal(end), end);
      end += frame.bytes;
      frame.clear();
    };
    for (const record of snapshot()) {
      frame.add(record);
      if (frame.bytes >= snapshotFrameBytes) writeFrame();
    }
    if (!frame.isEmpty) writeFrame();
    disk.write(file, encodeFileHeader(end), 0);
    await disk.sync(file);
    renameSync(temporary, name);
    return { file, snapshotEnd: end, end };
  } catch (error) {
    closeSync(file);
    rmSync(temporary, { force: true });
    throw error;
  }
}
