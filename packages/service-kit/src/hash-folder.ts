import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readlink, stat } from 'node:fs/promises';
import path from 'node:path';

export interface FolderHashOptions {
  /** Most files and bytes that are read. */
  readonly limits: { readonly files: number; readonly bytes: number };
  /** Names at the top that are left out. */
  readonly leaveOut?: ReadonlySet<string>;
  /**
   * Of node_modules only the record that the package manager keeps is read, with all versions and checksums: reading tens of
   * thousands of files takes longer than starting an app. A dependency that was changed by hand is not noticed.
   */
  readonly isInstalledByRecord?: boolean;
}

/** What a folder contains, or why it could not be hashed. */
export type FolderHash =
  | { readonly sha256: string; readonly files: number; readonly bytes: number }
  | { readonly over: 'files' | 'bytes' }
  | { readonly unreadable: string; readonly cause: unknown };

/** The records that npm, pnpm and yarn keep of everything they install. */
const installed = ['.package-lock.json', '.modules.yaml', '.yarn-state.yml'];

/**
 * Hashes the names and contents of the files in a folder: equal folders have equal hashes on every machine. Links are hashed by their
 * target, not followed.
 */
export async function hashFolder(directory: string, options: FolderHashOptions): Promise<FolderHash> {
  const walk = new FolderWalk(path.resolve(directory), options);
  try {
    await walk.addFolder('');
    return walk.result();
  } catch (error) {
    if (error instanceof OverLimit) return { over: error.limit };
    return { unreadable: error instanceof Error && 'code' in error ? String(error.code) : String(error), cause: error };
  }
}

class OverLimit extends Error {
  readonly limit: 'files' | 'bytes';

  constructor(limit: 'files' | 'bytes') {
    super(`more ${limit} than allowed`);
    this.limit = limit;
  }
}

class FolderWalk {
  readonly #root: string;
  readonly #options: FolderHashOptions;
  readonly #hash: Hash = createHash('sha256');
  #files = 0;
  #bytes = 0;

  constructor(root: string, options: FolderHashOptions) {
    this.#root = root;
    this.#options = options;
  }

  result(): { readonly sha256: string; readonly files: number; readonly bytes: number } {
    return { sha256: this.#hash.digest('hex'), files: this.#files, bytes: this.#bytes };
  }

  async addFolder(relative: string): Promise<void> {
    const entries = await readdir(path.join(this.#root, relative), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (relative === '' && this.#options.leaveOut?.has(entry.name)) continue;
      // The same separator on every platform.
      const name = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (entry.isSymbolicLink()) this.#hash.update(`link ${name} ${await readlink(path.join(this.#root, name))}\n`);
      else if (entry.isDirectory() && entry.name === 'node_modules' && this.#options.isInstalledByRecord)
        await this.#addRecords(name);
      else if (entry.isDirectory()) await this.addFolder(name);
      else if (entry.isFile()) await this.#addFile(name);
    }
  }

  async #addRecords(folder: string): Promise<void> {
    const names = new Set(await readdir(path.join(this.#root, folder)));
    for (const record of installed.filter((name) => names.has(name))) await this.#addFile(`${folder}/${record}`);
  }

  async #addFile(name: string): Promise<void> {
    const file = path.join(this.#root, name);
    const { size } = await stat(file);
    this.#files += 1;
    this.#bytes += size;
    if (this.#files > this.#options.limits.files) throw new OverLimit('files');
    if (this.#bytes > this.#options.limits.bytes) throw new OverLimit('bytes');
    this.#hash.update(`file ${name} ${size}\n`);
    for await (const chunk of createReadStream(file)) this.#hash.update(chunk as Buffer); // without an encoding, chunks are buffers
  }
}
