import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isCodedError, type TenantId } from '@drover/contracts';
import { hashFolder, makeDirectories, type Clock, type Randomness } from '@drover/service-kit';
import type { CatalogPayload } from '../application-catalog.js';
import { applicationPayloadInvalid, applicationPayloadStoreFailed, applicationPayloadTooLarge } from '../errors.js';
import { unpackZip, type PayloadLimits } from './unpack-zip.js';

export interface PayloadStoreOptions {
  readonly directory: string;
  readonly limits: PayloadLimits;
  readonly clock: Pick<Clock, 'now'>;
  readonly randomness: Pick<Randomness, 'uuid'>;
}

/** A payload that was checked and unpacked, but is not in its place yet. */
export interface ReceivedPayload extends CatalogPayload {
  /** Moves the files to where they stay. May be called again. */
  readonly place: () => Promise<void>;
  /** Removes what was not placed. */
  readonly discard: () => Promise<void>;
}

const incoming = 'incoming';
/** An upload takes minutes at most; what is older was left by a process that died. */
const staleMs = 3_600_000;

/**
 * Payloads as folders that are named after their contents: `<tenant>/<digest>`. A payload appears complete, by a rename, after its
 * files were flushed to disk, and never changes. Tenants do not share files, even equal ones.
 */
export class PayloadStore {
  readonly #options: PayloadStoreOptions;

  constructor(options: PayloadStoreOptions) {
    this.#options = { ...options, directory: path.resolve(options.directory) };
  }

  directoryOf(tenantId: TenantId, digest: string): string {
    return path.join(this.#options.directory, encodeURIComponent(tenantId), digest);
  }

  async has(tenantId: TenantId, digest: string): Promise<boolean> {
    return isThere(this.directoryOf(tenantId, digest));
  }

  /**
   * Reads, checks and unpacks a zip. Throws APPLICATION_PAYLOAD_INVALID or APPLICATION_PAYLOAD_TOO_LARGE and leaves nothing behind.
   */
  async receive(tenantId: TenantId, zip: AsyncIterable<Uint8Array>): Promise<ReceivedPayload> {
    const { directory, limits, randomness } = this.#options;
    const draft = path.join(directory, incoming, randomness.uuid());
    const file = `${draft}.zip`;
    const discard = (): Promise<void> => rm(draft, { recursive: true, force: true });
    try {
      await makeDirectories(path.dirname(draft));
      await this.#save(zip, file);
      await unpackZip(file, draft, limits);
      const hashed = await hashFolder(draft, { limits: { files: limits.files, bytes: limits.unpackedBytes } });
      if (!('sha256' in hashed)) throw this.#failed(new Error('its files cannot be read back'));
      const { sha256: digest, files, bytes } = hashed;
      return { digest, files, bytes, place: () => this.#place(draft, tenantId, digest), discard };
    } catch (error) {
      await discard();
      throw this.#explain(error);
    } finally {
      await rm(file, { force: true });
    }
  }

  async remove(tenantId: TenantId, digest: string): Promise<void> {
    const { directory, randomness } = this.#options;
    const trash = path.join(directory, incoming, randomness.uuid());
    await makeDirectories(path.dirname(trash));
    // At once by its name; the files follow.
    await rename(this.directoryOf(tenantId, digest), trash).catch(ignoreMissing);
    await rm(trash, { recursive: true, force: true });
  }

  /** Removes what processes left that died during an upload. */
  async removeStale(): Promise<void> {
    const folder = path.join(this.#options.directory, incoming);
    for (const name of await readdir(folder).catch(() => [])) {
      const draft = path.join(folder, name);
      const changedMs = await stat(draft).then(
        ({ mtimeMs }) => mtimeMs,
        () => undefined,
      );
      if (changedMs !== undefined && this.#options.clock.now() - changedMs > staleMs)
        await rm(draft, { recursive: true, force: true });
    }
  }

  async #save(zip: AsyncIterable<Uint8Array>, file: string): Promise<void> {
    const { zipBytes } = this.#options.limits;
    const handle = await open(file, 'wx', 0o600);
    try {
      let bytes = 0;
      for await (const chunk of whole(zip)) {
        bytes += chunk.length;
        if (bytes > zipBytes)
          throw applicationPayloadTooLarge({
            what: 'zip',
            limit: zipBytes,
            unit: 'bytes',
            variable: 'DROVER_PAYLOAD_BYTES',
          });
        await handle.appendFile(chunk);
      }
    } finally {
      await handle.close();
    }
  }

  async #place(draft: string, tenantId: TenantId, digest: string): Promise<void> {
    const target = this.directoryOf(tenantId, digest);
    try {
      if (await isThere(target)) return;
      await makeDirectories(path.dirname(target));
      await rename(draft, target);
      await flushDirectory(path.dirname(target));
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #explain(error: unknown): unknown {
    return isCodedError(error) || !isSystemError(error) ? error : this.#failed(error);
  }

  #failed(error: unknown): Error {
    const { directory } = this.#options;
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return applicationPayloadStoreFailed({ directory, reason }, error);
  }
}

/** Tells an upload that was cut off from a disk that fails. */
async function* whole(zip: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* zip;
  } catch (error) {
    throw applicationPayloadInvalid({ problem: 'its upload ended before it was complete. Send it again.' }, error);
  }
}

function isThere(directory: string): Promise<boolean> {
  return stat(directory).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/** Makes a rename durable. */
async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
