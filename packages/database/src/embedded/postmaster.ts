import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Leash } from '@drover/service-kit';
import { endServer } from './end-server.js';
import { binariesUnusable } from './errors.js';
import { spawnAs, type ServerUser } from './server-user.js';
import { serverEnvironment } from './settings.js';

export interface PostmasterExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface PostmasterOptions {
  /** Directory with bin/postgres. */
  readonly binaries: string;
  readonly args: readonly string[];
  readonly user: ServerUser | undefined;
  readonly log: FileHandle;
  readonly leash: Leash;
  readonly clock: Clock;
}

/** One run of the server's main process, from spawn to exit. The leash holds it meanwhile. */
export class Postmaster {
  readonly pid: number;
  readonly exited: Promise<PostmasterExit>;
  readonly #clock: Clock;
  #exit: PostmasterExit | undefined;

  private constructor(child: ChildProcess, pid: number, { leash, clock }: PostmasterOptions) {
    this.pid = pid;
    this.#clock = clock;
    const release = leash.hold(pid, { signal: 'SIGINT', graceMs: 10_000 });
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#exit = { code, signal };
        release();
        resolve(this.#exit);
      });
    });
  }

  /** Spawns it in its own process group, so that Ctrl-C in the terminal does not reach it. */
  static async spawn(options: PostmasterOptions): Promise<Postmaster> {
    const program = path.join(options.binaries, 'bin', 'postgres');
    const child = spawn(program, options.args, {
      ...spawnAs(options.user),
      stdio: ['ignore', options.log.fd, options.log.fd],
      detached: true,
      cwd: '/', // the current directory may not be accessible to the server's user
      env: serverEnvironment,
    });
    if (child.pid === undefined) {
      const [cause] = await once(child, 'error');
      throw binariesUnusable({ path: options.binaries, reason: String(cause) }, cause);
    }
    return new Postmaster(child, child.pid, options);
  }

  get exit(): PostmasterExit | undefined {
    return this.#exit;
  }

  /** Shuts the server down; resolves once it has exited. */
  async end(): Promise<void> {
    await endServer({ pid: this.pid, isGone: () => this.#exit !== undefined, clock: this.#clock });
  }
}
