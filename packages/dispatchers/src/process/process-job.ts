import { spawn, type ChildProcess } from 'node:child_process';
import { chown, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Environment, Leash } from '@drover/service-kit';
import { childEnvironment } from '../child-environment.js';
import type { FunctionsUser } from '../functions-user.js';
import { makeJobDirectory, removeJobDirectory } from './job-directories.js';
import { BoundedOutput, OutputTail } from './job-output.js';
import type { Job, JobEnd, JobRequest } from './job-runner.js';

export interface ProcessJobIo {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly leash: Leash;
  readonly graceMs: number;
  readonly maxOutputBytes: number;
  /** Undefined: the user of this process. */
  readonly user: FunctionsUser | undefined;
}

/** Larger payloads go through a file: Linux limits a variable to 128 KiB with its name. */
const maxPayloadVariable = 100 * 1_024;
/** How long to wait after the exit for pipes that a process outside the process group holds open. */
const pipesMs = 500;
/** Errors that a retry does not correct. */
const permanent = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR', 'E2BIG', 'ENOEXEC', 'ELOOP', 'ENAMETOOLONG']);

/**
 * One process in a private directory, which is removed with it. It leads a process group: its children are killed with it, and the
 * leash kills the group when this process dies.
 */
export class ProcessJob implements Job {
  readonly ended: Promise<JobEnd>;
  readonly #request: JobRequest;
  readonly #io: ProcessJobIo;
  readonly #output: BoundedOutput;
  readonly #tail = new OutputTail();
  #child: ChildProcess | undefined;
  #isOver = false;
  #ending: 'ask' | 'wait' | undefined;
  #cancelStep: () => void = () => undefined;

  constructor(request: JobRequest, io: ProcessJobIo) {
    this.#request = request;
    this.#io = io;
    this.#output = new BoundedOutput(io.maxOutputBytes);
    this.ended = this.#run();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  end(how: 'ask' | 'wait'): void {
    if (this.#isOver || this.#ending === 'ask' || this.#ending === how) return;
    this.#ending = how;
    this.#cancelStep();
    if (!this.#child) return; // `#run` does not start it then
    if (how === 'ask') this.#ask();
    else this.#cancelStep = this.#io.clock.after(this.#io.graceMs, () => this.#ask());
  }

  #ask(): void {
    this.#ending = 'ask';
    this.#signal('SIGTERM');
    this.#cancelStep = this.#io.clock.after(this.#io.graceMs, () => this.#signal('SIGKILL'));
  }

  async #run(): Promise<JobEnd> {
    let directory: string | undefined;
    try {
      directory = await makeJobDirectory(this.#io.user);
      const environment = await this.#environment(directory);
      if (this.#ending) return { kind: 'killed', signal: 'SIGTERM' };
      return await this.#live(directory, environment);
    } catch (error) {
      return notStarted(error, this.#request.command[0] ?? '');
    } finally {
      this.#isOver = true;
      this.#cancelStep();
      if (directory !== undefined) await removeJobDirectory(directory);
    }
  }

  async #environment(directory: string): Promise<Record<string, string>> {
    const { definition, variables, payload } = this.#request;
    // Programs expect a home and a place for temporary files: both are the job's own directory, which is removed with it.
    const shared = { ...this.#io.environment, TMPDIR: directory };
    const own = { HOME: directory, ...childEnvironment(shared, definition.env), ...variables };
    if (Buffer.byteLength(payload) <= maxPayloadVariable) return { ...own, INVOCATION_PAYLOAD: payload };
    const file = path.join(directory, 'invocation-payload.json');
    await writeFile(file, payload, { mode: 0o600, flag: 'wx' });
    if (this.#io.user) await chown(file, this.#io.user.uid, this.#io.user.gid);
    return { ...own, INVOCATION_PAYLOAD_FILE: file };
  }

  #live(cwd: string, env: Record<string, string>): Promise<JobEnd> {
    const [program = '', ...args] = this.#request.command;
    const { clock, leash, graceMs, user } = this.#io;
    return new Promise((resolve) => {
      const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true, ...user });
      this.#child = child;
      const { pid, stdin, stdout, stderr } = child;
      const releaseLeash = pid === undefined ? () => undefined : leash.hold(pid, { signal: 'SIGTERM', graceMs });
      let exit: { readonly code: number | null; readonly signal: string | null } | undefined;
      const finish = (end: JobEnd): void => {
        releaseLeash();
        this.#cancelStep();
        for (const stream of child.stdio) stream?.destroy();
        resolve(end);
      };
      stdin.on('error', () => undefined); // the job need not read all of its input
      stdin.end(this.#request.payload);
      stdout.on('data', (chunk: Buffer) => {
        if (!this.#output.add(chunk)) this.#signal('SIGKILL');
      });
      stderr.on('data', (chunk: Buffer) => this.#tail.add(chunk));
      child.once('error', (error) => {
        if (pid === undefined) finish(notStarted(error, program));
      });
      child.once('exit', (code, signal) => {
        exit = { code, signal };
        this.#isOver = true; // no more signals to the process itself
        this.#cancelStep();
        this.#signal('SIGKILL'); // kills its children
        this.#cancelStep = clock.after(pipesMs, () => finish(this.#endOf(code, signal)));
      });
      child.once('close', () => {
        if (exit) finish(this.#endOf(exit.code, exit.signal));
      });
    });
  }

  #endOf(code: number | null, signal: string | null): JobEnd {
    if (this.#output.isAboveLimit) return { kind: 'too-much-output', limitBytes: this.#io.maxOutputBytes };
    if (code === null) return { kind: 'killed', signal: signal ?? 'an unknown signal' };
    return { kind: 'exited', code, output: this.#output.toBuffer(), lastLine: this.#tail.lastLine };
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // the process group is empty
    }
  }
}

function notStarted(error: unknown, program: string): JobEnd {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const why = code || (error instanceof Error ? error.message : String(error));
  const reason = code === 'ENOENT' ? `the program ${program} does not exist on this machine` : `${program}: ${why}`;
  return { kind: 'not-started', reason, transient: !permanent.has(code) };
}
