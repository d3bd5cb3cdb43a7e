import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ShutdownReason } from '../../../types/config.js';
import type { ConnectSpec, Connection, ConnectionEvents, Driver, WorkerSample } from '../../../types/driver.js';
import type { ToHost, ToWorker } from '../../../types/wire-message.js';
import { kind } from '../../../types/wire-message.js';
import { StderrTail } from '../../launch/stderr-tail.js';
import { hadBegun, journalBytes } from '../../launch/start-journal.js';
import { FrameStream } from '../../wire/frame-stream.js';
import { inheritedExecArgv, typeScriptArguments } from '../../launch/script.js';
import { descriptors, processVariable } from '../../launch/launch-parameters.js';
import { packWorkerData } from '../../launch/worker-data.js';
import { workerEnvironment } from '../../launch/worker-environment.js';

/** After the exit event, how long to wait for pipes that a grandchild may hold open. */
const pipesMs = 50;
/** After the wire closed, how long to wait for the exit that usually follows. */
const exitMs = 1_000;

/** Workers in processes of their own: nothing they do can hurt the host. The default. */
export const childProcess: Driver = {
  name: 'child-process',
  capabilities: { reconnect: true, transfer: false, kill: true, memoryLimit: true },
  connect: (spec, events) => new ProcessConnection(spec, events),
};

/**
 * One child process. Messages go over a socket pair that only the two have. The child leads its own process group, so that
 * its children end with it; the lifeline is a second pair whose end tells the guard in the child that the host is gone.
 */
class ProcessConnection implements Connection {
  readonly pid: number | undefined;
  readonly #child: ChildProcess;
  readonly #frames: FrameStream | undefined;
  readonly #events: ConnectionEvents;
  readonly #stderr = new StderrTail();
  readonly #startedMs = performance.now();
  readonly #gone: Promise<void>;
  #journal: number | undefined;
  /** What it says, once it is closed. */
  #begun: number | undefined;
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  #failure: Error | undefined;
  /** What it wrote could not be read: the reason for which it was ended here. */
  #garbage: Error | undefined;
  #told = false;
  #tellGone: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #samples: ((sample: WorkerSample | undefined) => void)[] = [];

  constructor(spec: ConnectSpec, events: ConnectionEvents) {
    this.#events = events;
    this.#gone = new Promise((resolve) => (this.#tellGone = resolve));
    const data = packWorkerData(spec.workerData);
    const told = JSON.stringify({
      serializer: spec.serializer?.name ?? null,
      maxFrameBytes: spec.maxFrameBytes,
      ...data.told,
    });
    const argv = nodeArguments(spec);
    const journal = openJournal();
    this.#journal = journal;
    try {
      if (data.stored) writeSync(journal, data.stored, 0, data.stored.length, journalBytes);
      this.#child = spawn(process.execPath, argv, {
        stdio: ['ignore', spec.stdout, 'pipe', 'pipe', 'pipe', journal],
        env: { ...coverage(spec), ...workerEnvironment(spec), [processVariable]: told },
        detached: true,
      });
    } catch (error) {
      closeSync(journal);
      throw error;
    }
    this.pid = this.#child.pid;
    this.#listen(spec);
    const wire = this.#child.stdio[descriptors.wire] as Socket | null | undefined; // 'pipe' above
    this.#frames = wire ? this.#openWire(wire, spec) : undefined;
  }

  send(message: ToWorker): void {
    this.#frames?.send(message);
  }

  hadStarted(id: number): boolean | undefined {
    return this.#begun === undefined ? undefined : hadBegun(this.#begun, id);
  }

  sample(): Promise<WorkerSample | undefined> {
    const lifeline = this.#lifeline;
    if (!lifeline?.writable || this.#told) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#samples.push(resolve);
      lifeline.write('?');
    });
  }

  async end(graceMs: number): Promise<void> {
    if (!this.#told && this.#exit === undefined) {
      this.#frames?.send([kind.close]);
      this.#frames?.flush();
      const timer = setTimeout(() => this.kill(), graceMs);
      await this.#gone;
      clearTimeout(timer);
    }
    await this.#gone;
  }

  kill(): void {
    if (this.pid !== undefined && this.#exit === undefined) killGroup(this.pid);
  }

  get #lifeline(): Socket | null | undefined {
    return this.#child.stdio[descriptors.lifeline] as Socket | null | undefined;
  }

  #openWire(wire: Socket, spec: ConnectSpec): FrameStream {
    wire.on('error', (error) => (this.#failure ??= error));
    wire.on('close', () => this.#wireClosed());
    return FrameStream.over(wire, {
      serializer: spec.serializer,
      maxFrameBytes: spec.maxFrameBytes,
      onMessage: (message) => this.#events.onMessage(message as ToHost),
      onGarbage: (error) => {
        this.#garbage = error;
        this.kill();
      },
    });
  }

  #listen(spec: ConnectSpec): void {
    this.#child.once('error', (error) => {
      this.#failure ??= error;
      if (this.pid === undefined) this.#tell();
    });
    this.#child.once('exit', (code, signal) => {
      this.#exit = { code, signal };
      // Whoever it started goes with it.
      if (this.pid !== undefined) killGroup(this.pid);
      this.#wait(pipesMs);
    });
    this.#child.once('close', () => this.#tell());
    const { stderr } = this.#child;
    stderr?.on('data', (chunk: Buffer) => {
      this.#stderr.add(chunk);
      if (spec.stderr !== 'inherit' || process.stderr.write(chunk)) return;
      // Whoever reads the host's own is slow: the worker waits, so that nothing piles up here.
      stderr.pause();
      process.stderr.once('drain', () => stderr.resume());
    });
    this.#lifeline?.on('error', () => undefined);
    this.#lifeline?.on('data', (chunk: Buffer) => this.#sampled(chunk.toString()));
  }

  #sampled(text: string): void {
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const [rssBytes = 0, busyMs = 0] = line.split(' ').map(Number);
      this.#samples.shift()?.({ rssBytes, busyMs });
    }
  }

  #wireClosed(): void {
    if (this.#exit === undefined) this.#wait(exitMs);
  }

  /** The end is near; if the rest of it does not come in time, it has come. */
  #wait(ms: number): void {
    if (this.#told) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#read(), ms);
  }

  /** A host that was busy meanwhile has not read what came: everything that is there is read before the end is told. */
  #read(): void {
    const before = this.#bytesRead;
    setImmediate(() => {
      if (this.#told) return;
      if (this.#bytesRead !== before) return this.#read();
      this.kill();
      this.#tell();
    });
  }

  get #bytesRead(): number {
    return (this.#child.stdio[descriptors.wire] as Socket | null | undefined)?.bytesRead ?? 0;
  }

  /** Exit, error and close all end here; only the first is told, and the exit's code and signal outrank the rest. */
  #tell(): void {
    if (this.#told) return;
    this.#told = true;
    clearTimeout(this.#timer);
    this.#closeJournal();
    for (const settle of this.#samples.splice(0)) settle(undefined);
    for (const stream of this.#child.stdio) stream?.destroy();
    const stderr = this.#stderr.toString();
    const { code = null, signal = null } = this.#exit ?? {};
    this.#events.onShutdown({
      reason: this.#reason(),
      pid: this.pid,
      exitCode: code,
      signal,
      stderr,
      outOfMemory: /heap out of memory|Allocation failed/.test(stderr),
      uptimeMs: performance.now() - this.#startedMs,
    });
    this.#tellGone();
  }

  #reason(): ShutdownReason {
    if (this.#garbage) return { type: 'error', error: this.#garbage };
    if (this.#exit) return { type: 'exit', ...this.#exit };
    return this.#failure ? { type: 'error', error: this.#failure } : { type: 'close' };
  }

  #closeJournal(): void {
    if (this.#journal === undefined) return;
    const bytes = Buffer.alloc(journalBytes);
    readSync(this.#journal, bytes, 0, journalBytes, 0);
    closeSync(this.#journal);
    this.#journal = undefined;
    this.#begun = bytes.readInt32LE(0);
  }
}

function nodeArguments({ script, argv, execArgv, maxHeapMb }: ConnectSpec): string[] {
  return [
    ...(execArgv ?? inheritedExecArgv()),
    ...(maxHeapMb === undefined ? [] : [`--max-old-space-size=${maxHeapMb}`]),
    ...typeScriptArguments(script, execArgv ?? process.execArgv),
    script,
    ...argv,
  ];
}

/** Node hands this one on to children even where they are to have other variables, unless it is said to be absent. */
function coverage({ inheritEnv }: ConnectSpec): { readonly NODE_V8_COVERAGE?: undefined } {
  return inheritEnv ? {} : { NODE_V8_COVERAGE: undefined };
}

/** An unlinked file: its pages outlive the process that wrote them, and nothing is left to clean up. */
function openJournal(): number {
  const file = path.join(tmpdir(), `isolated-worker-${process.pid}-${Math.random().toString(36).slice(2)}`);
  const descriptor = openSync(file, 'wx+', 0o600);
  unlinkSync(file);
  ftruncateSync(descriptor, journalBytes);
  return descriptor;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // nobody is left
  }
}
