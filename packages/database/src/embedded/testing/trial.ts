import { execFile } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Leash, systemClock, systemRandomness } from '@drover/service-kit';
import { Child, withScratchDirectory } from '@drover/testkit';
import pg from 'pg';
import { EmbeddedPostgres, type EmbeddedPostgresOptions } from '../embedded-postgres.js';
import type { EmbeddedPostgresObservation } from '../observations.js';

export const asRoot = process.getuid?.() === 0;

/** Never aborts. */
export const patience: AbortSignal = new AbortController().signal;

export interface Trial extends AsyncDisposable {
  readonly postgres: EmbeddedPostgres;
  readonly leash: Leash;
  readonly observed: EmbeddedPostgresObservation[];
  kinds(): readonly string[];
}

/** An embedded PostgreSQL that ends with its block, and all that it said. */
export function trial(directory: string, options: Partial<EmbeddedPostgresOptions> = {}): Trial {
  const leash = new Leash();
  const observed: EmbeddedPostgresObservation[] = [];
  const observe = (observation: EmbeddedPostgresObservation): void => void observed.push(observation);
  const io = { leash, clock: systemClock, randomness: systemRandomness, observe };
  const postgres = new EmbeddedPostgres({ directory, ...io, ...options });
  return {
    postgres,
    leash,
    observed,
    kinds: () => observed.map(({ kind }) => kind),
    async [Symbol.asyncDispose]() {
      await postgres.stop();
      await leash.stop();
    },
  };
}

/** A scratch directory that the server's user can reach, also when we are root. */
export function withOpenDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  return withScratchDirectory(async (scratch) => {
    await chmod(scratch, 0o755);
    return use(scratch);
  });
}

/** The rows of one statement. */
export async function ask(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** What `owner-process.ts` says when it is ready. */
export interface OwnerReady {
  readonly postmaster: number;
  readonly leash: number;
  readonly url: string;
}

export class OwnerProcess extends Child {
  constructor(directory: string, user?: { readonly uid: number; readonly gid: number }) {
    super(process.execPath, [ownerProgram, directory], { cwd: '/', ...user });
  }

  async ready(): Promise<OwnerReady> {
    return JSON.parse(await this.line(/"(ready|failed)":true/)) as OwnerReady; // it is our own program
  }
}

/** The compiled program: Node 20 runs no TypeScript. */
const ownerProgram = path.resolve(
  path.dirname(fileURLToPath(import.meta.url)),
  '../../../dist/embedded/testing/owner-process.js',
);

/** Processes whose command line holds `text`, by a means that works on every system. */
export async function processesMentioning(text: string): Promise<readonly { pid: number; parent: number }[]> {
  const { stdout } = await promisify(execFile)('ps', ['-ewwo', 'pid=,ppid=,command='], { maxBuffer: 1 << 26 });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return command.includes(text) ? [{ pid: Number(pid), parent: Number(parent) }] : [];
  });
}

/** A file system of its own for `use`; only root gets one, and not everywhere: false when it was refused. */
export async function withFileSystem(options: string, use: (directory: string) => Promise<void>): Promise<boolean> {
  return withOpenDirectory(async (scratch) => {
    const run = promisify(execFile);
    const directory = path.join(scratch, 'disk');
    await mkdir(directory);
    try {
      await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]);
    } catch {
      return false;
    }
    try {
      await use(directory);
    } finally {
      await run('umount', ['-l', directory]);
    }
    return true;
  });
}
