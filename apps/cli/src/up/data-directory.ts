import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CodedError } from '@drover/contracts';
import { makeDirectories, type Lifecycle } from '@drover/service-kit';
import { dataDirectoryFull, dataDirectoryInUse, dataDirectoryUnusable } from './errors.js';

/**
 * The directory in which `drover up` stores everything. One process holds it at a time: the lock is an flock on an open file,
 * which the kernel releases when the process exits in whatever way, so there is no stale lock to clean up.
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

  /** Key that encrypts the secrets of functions. */
  get secretsKey(): string {
    return path.join(this.path, 'secrets-key');
  }

  /** Token of the link between runtime and scale controller. */
  get scaleLinkToken(): string {
    return path.join(this.path, 'scale-link-token');
  }

  /** Key with which collection workers register. */
  get workerJoinKey(): string {
    return path.join(this.path, 'worker-join-key');
  }

  /** Address of the control plane. */
  get controlPlaneUrl(): string {
    return path.join(this.path, 'control-plane-url');
  }

  get runtimeUrl(): string {
    return path.join(this.path, 'runtime-url');
  }

  /** Address of the collection worker. */
  get collectionWorkerUrl(): string {
    return path.join(this.path, 'collection-worker-url');
  }

  get certificates(): string {
    return path.join(this.path, 'certificates');
  }

  /** Files of uploaded applications. */
  get payloads(): string {
    return path.join(this.path, 'payloads');
  }

  /** Unix sockets of collection workers; undefined if the names of sockets in it would be longer than the system allows. */
  get sockets(): string | undefined {
    const directory = path.join(this.path, 'sockets');
    return Buffer.byteLength(directory) <= longestSocketDirectory ? directory : undefined;
  }

  get databaseUrl(): string {
    return path.join(this.path, 'database-url');
  }

  get #ownerFile(): string {
    return path.join(this.path, 'owner.json');
  }

  async start(): Promise<void> {
    await this.#onDisk(async () => {
      await makeDirectories(this.logs);
      this.#lock = openSync(path.join(this.path, 'lock'), 'a', 0o600);
      if (!(await this.#acquireLock(this.#lock))) {
        throw dataDirectoryInUse({ directory: this.path, owner: await this.#describeOwner() });
      }
    });
    await this.writePrivately(this.#ownerFile, JSON.stringify({ pid: process.pid, since: new Date().toISOString() }));
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    if (this.#lock === undefined) return;
    closeSync(this.#lock);
    this.#lock = undefined;
  }

  /** Writes a file of this directory atomically, readable by this user only. */
  writePrivately(file: string, content: string): Promise<void> {
    return this.#onDisk(async () => {
      const draft = `${file}.${process.pid}`;
      try {
        await writeFile(draft, content, { mode: 0o600, flush: true });
        await rename(draft, file);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    });
  }

  async #acquireLock(lock: number): Promise<boolean> {
    // The lock belongs to the open file, which this process shares with the command and keeps open after it.
    const { status, error } = spawnSync('flock', ['--nonblock', '3'], { stdio: ['ignore', 'ignore', 'ignore', lock] });
    if (!error) return status === 0;
    // Without the flock command (macOS) the pid of the owner decides, which only fails if two processes start simultaneously.
    const owner = await this.#owner();
    return owner === undefined || !isAlive(owner);
  }

  async #owner(): Promise<number | undefined> {
    try {
      const { pid } = JSON.parse(await readFile(this.#ownerFile, 'utf8')) as { pid?: unknown };
      return typeof pid === 'number' ? pid : undefined;
    } catch {
      return undefined;
    }
  }

  async #describeOwner(): Promise<string> {
    const pid = await this.#owner();
    return pid === undefined ? 'which is starting' : `pid ${pid}`;
  }

  async #onDisk<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw explainDiskError(error, this.path) ?? error;
    }
  }
}

/** Names of sockets have up to 103 bytes on macOS, 107 on Linux. */
const longestSocketDirectory = 90;

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user has no write permission',
  EPERM: 'this user has no write permission',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'it is a file',
  ENOENT: 'a part of the path cannot be created',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'the path is too long',
};

/** Translates an error of the file system; returns undefined for any other error. */
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
