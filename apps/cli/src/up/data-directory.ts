import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CodedError } from '@drover/contracts';
import type { Lifecycle } from '@drover/service-kit';
import { dataDirectoryFull, dataDirectoryInUse, dataDirectoryUnusable } from './errors.js';

/**
 * The one place on disk where `drover up` keeps things. Held by one process at a time: the lock is the kernel's (flock on
 * an open file), so it ends with the process, however that ends, and nothing stale is ever left to clean up.
 */
export class DataDirectory implements Lifecycle {
  readonly name = 'data directory';
  readonly path: string;
  #lock: number | undefined;

  constructor(directory: string) {
    this.path = path.resolve(directory);
  }

  get postgres(): string {
    return path.join(this.path, 'postgres');
  }

  get logs(): string {
    return path.join(this.path, 'logs');
  }

  get credentials(): string {
    return path.join(this.path, 'credentials.json');
  }

  get functionsMasterKey(): string {
    return path.join(this.path, 'functions-master-key');
  }

  /** What secrets of functions are encrypted with. */
  get secretsKey(): string {
    return path.join(this.path, 'secrets-key');
  }

  get runtimeUrl(): string {
    return path.join(this.path, 'runtime-url');
  }

  get certificates(): string {
    return path.join(this.path, 'certificates');
  }

  get databaseUrl(): string {
    return path.join(this.path, 'database-url');
  }

  async start(): Promise<void> {
    await this.#onDisk(async () => {
      await mkdir(this.logs, { recursive: true });
      this.#lock = openSync(path.join(this.path, 'lock'), 'a', 0o600);
      if (!(await this.#takeLock(this.#lock))) {
        throw dataDirectoryInUse({ directory: this.path, owner: await this.#describeOwner() });
      }
    });
    await this.writePrivately('owner.json', JSON.stringify({ pid: process.pid, since: new Date().toISOString() }));
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    if (this.#lock === undefined) return;
    closeSync(this.#lock);
    this.#lock = undefined;
  }

  /** Writes a file that only this user can read, whole or not at all. */
  writePrivately(name: string, content: string): Promise<void> {
    return this.#onDisk(async () => {
      const target = path.join(this.path, name);
      const draft = `${target}.${process.pid}`;
      try {
        await writeFile(draft, content, { mode: 0o600, flush: true });
        await rename(draft, target);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    });
  }

  async #takeLock(lock: number): Promise<boolean> {
    // The lock belongs to the open file, which the command shares with us and we keep when it has gone.
    const { status, error } = spawnSync('flock', ['--nonblock', '3'], { stdio: ['ignore', 'ignore', 'ignore', lock] });
    if (!error) return status === 0;
    // No such command (macOS): the owner's pid has to do, which is safe except for two that start in the same moment.
    const owner = await this.#owner();
    return owner === undefined || !isAlive(owner);
  }

  async #owner(): Promise<number | undefined> {
    try {
      const { pid } = JSON.parse(await readFile(path.join(this.path, 'owner.json'), 'utf8')) as { pid?: unknown };
      return typeof pid === 'number' ? pid : undefined;
    } catch {
      return undefined;
    }
  }

  async #describeOwner(): Promise<string> {
    const pid = await this.#owner();
    return pid === undefined ? 'it is just starting' : `pid ${pid}`;
  }

  async #onDisk<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw explainDiskError(error, this.path) ?? error;
    }
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'it is a file',
  ENOENT: 'a part of the path cannot be created',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'the path is too long',
};

/** What a disk error means for the one who chose the directory. */
export function explainDiskError(error: unknown, directory: string): CodedError | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOSPC' || code === 'EDQUOT') return dataDirectoryFull({ directory }, error);
  const reason = reasons[code];
  return reason === undefined ? undefined : dataDirectoryUnusable({ directory, reason }, error);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
