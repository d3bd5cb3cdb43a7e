import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { ShutdownReason } from '../../../types/config.js';
import type { ConnectSpec, Connection, ConnectionEvents, Driver, WorkerSample } from '../../../types/driver.js';
import { kind, type ToHost, type ToWorker } from '../../../types/wire-message.js';
import { StderrTail } from '../../launch/stderr-tail.js';
import { openJournal, lastStartedIn, warnOfLostJournal } from '../../launch/journal.js';
import { descriptors, hadStartedBy, processVariable } from '../../launch/launch-parameters.js';
import { GroupWatcher, requireProcessGroups } from './group-watcher.js';
import { LoopProbe } from './loop-probe.js';
import { FrameStream } from '../../wire/frame-stream.js';
import { inheritedExecArgv, typeScriptArguments, workerEnvironment } from '../../launch/script.js';
import { packWorkerData } from '../../launch/worker-data.js';

/** Turns of the event loop without a message from an ended worker, after which all it wrote has been read. */
const quietTurns = 2;
/** How long to wait after the wire closed for the exit event. */
const exitMs = 1_000;

/** Runs workers in child processes, which cannot harm the host. The default. */
export const childProcess: Driver = {
  name: 'child-process',
  capabilities: { reconnect: true, transfer: false, kill: true, memoryLimit: true },
  connect(spec, events) {
    requireProcessGroups(process.platform);
    return new ProcessConnection(spec, events);
  },
};

/** One for all workers of this process. */
const watcher = new GroupWatcher();

/**
 * One child process. Messages use a private socket pair. The child leads its own process group, so that its children end with
 * it. The watcher of this process ends the group when this process dies.
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
  /** The worker could not write to its journal: its content is out of date. */
  #isJournalLost = false;
  /** The content of the journal, once it is closed; undefined if it is not known. */
  #lastStarted: number | undefined;
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  #failure: Error | undefined;
  /** Set when the output of the worker was malformed and the worker was killed for it. */
  #malformed: Error | undefined;
  #isReported = false;
  #resolveGone: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #probe: LoopProbe;

  constructor(spec: ConnectSpec, events: ConnectionEvents) {
    this.#events = events;
    this.#gone = new Promise((resolve) => (this.#resolveGone = resolve));
    const data = packWorkerData(spec.workerData);
    const argv = nodeArguments(spec);
    const journal = openJournal();
    this.#journal = journal;
    const parameters = JSON.stringify({
      serializer: spec.serializer?.name ?? null,
      maxFrameBytes: spec.maxFrameBytes,
      hasJournal: journal !== undefined,
      host: watcher.token,
      ...data.parameters,
    });
    try {
      const { spawn } = process.getBuiltinModule('node:child_process'); // on demand: hosts of threads do not need it
      const start = (): ChildProcess =>
        spawn(process.execPath, argv, {
          stdio: ['ignore', spec.stdout, 'pipe', 'pipe', journal ?? 'ignore', data.piped ? 'pipe' : 'ignore'],
          env: { ...coverage(spec), ...workerEnvironment(spec), [processVariable]: parameters },
          detached: true,
          ...spec.user,
        });
      this.#child = watcher.start(start);
    } catch (error) {
      if (journal !== undefined) closeSync(journal);
      throw error;
    }
    this.pid = this.#child.pid;
    this.#probe = new LoopProbe(this.pid, () => this.send([kind.probe]));
    this.#listen(spec);
    const wire = this.#socket(descriptors.wire);
    this.#frames = wire ? this.#openWire(wire, spec) : undefined;
    if (data.piped) this.#writeWorkerData(data.piped);
  }

  send(message: ToWorker): void {
    this.#frames?.send(message);
  }

  hadStarted(id: number): boolean | undefined {
    const last = this.#journal === undefined || this.#isJournalLost ? this.#lastStarted : lastStartedIn(this.#journal);
    return last === undefined ? undefined : hadStartedBy(last, id);
  }

  sample(): Promise<WorkerSample | undefined> {
    return this.#isReported ? Promise.resolve(undefined) : this.#probe.sample();
  }

  async end(graceMs: number): Promise<void> {
    if (!this.#isReported && this.#exit === undefined) {
      this.#frames?.send([kind.close]);
      this.#frames?.flush();
      const timer = setTimeout(() => this.kill(), graceMs);
      await this.#gone;
      clearTimeout(timer);
    }
    await this.#gone;
    await watcher.release();
  }

  kill(): void {
    if (this.pid !== undefined && this.#exit === undefined) killGroup(this.pid);
  }

  setRef(isRef: boolean): void {
    const change = isRef ? 'ref' : 'unref';
    this.#child[change]();
    for (const descriptor of [2, descriptors.wire, descriptors.workerData]) this.#socket(descriptor)?.[change]();
  }

  /** Undefined when the process could not be started: without free descriptors Node leaves out even the array. */
  #socket(descriptor: number): Socket | undefined {
    const stdio = this.#child.stdio as ChildProcess['stdio'] | undefined;
    return (stdio?.[descriptor] as Socket | null | undefined) ?? undefined; // 'pipe' above
  }

  #openWire(wire: Socket, spec: ConnectSpec): FrameStream {
    wire.on('error', (error) => (this.#failure ??= error));
    wire.on('close', () => this.#wireClosed());
    return FrameStream.over(wire, {
      serializer: spec.serializer,
      maxFrameBytes: spec.maxFrameBytes,
      onMessage: (message) => this.#receive(message as ToHost),
      onMalformed: (error) => {
        this.#malformed = error;
        this.kill();
      },
    });
  }

  #receive(message: ToHost): void {
    if (message[0] === kind.sample) return this.#probe.answered(message[1]);
    if (message[0] !== kind.journalLost) return this.#events.onMessage(message);
    this.#isJournalLost = true;
    warnOfLostJournal(message[1]);
  }

  #writeWorkerData(bytes: Buffer): void {
    const pipe = this.#socket(descriptors.workerData);
    pipe?.on('error', () => undefined); // it died before it had read everything; its end is reported
    pipe?.end(bytes);
    pipe?.resume(); // notices that the worker closed its end
  }

  #listen(spec: ConnectSpec): void {
    const { stderr } = this.#child;
    this.#child.once('error', (error) => {
      this.#failure ??= error;
      if (this.pid === undefined) this.#report();
    });
    this.#child.once('exit', (code, signal) => {
      this.#exit = { code, signal };
      // Child processes of the worker end with it.
      if (this.pid !== undefined) {
        killGroup(this.pid);
        watcher.remove(this.pid);
      }
      // What it wrote is in its pipes. Their end may never come: a grandchild may hold them open.
      stderr?.resume();
      this.#drain();
    });
    this.#child.once('close', () => this.#report());
    stderr?.on('data', (chunk: Buffer) => {
      this.#stderr.add(chunk);
      if (spec.stderr !== 'inherit' || process.stderr.write(chunk) || this.#exit) return;
      // The reader of the host's stderr is slow: pause the worker's, so that nothing accumulates here.
      stderr.pause();
      process.stderr.once('drain', () => stderr.resume());
    });
  }

  #wireClosed(): void {
    if (this.#exit !== undefined || this.#isReported) return;
    this.#timer = setTimeout(() => this.#drain(), exitMs);
  }

  /** Reads everything that has arrived, because a busy host may be behind, and then reports the end. */
  #drain(quiet = 0): void {
    const before = this.#bytesRead;
    setImmediate(() => {
      if (this.#isReported) return;
      if (this.#bytesRead !== before) return this.#drain();
      if (quiet + 1 < quietTurns) return this.#drain(quiet + 1);
      this.kill();
      this.#report();
    });
  }

  get #bytesRead(): number {
    return this.#socket(descriptors.wire)?.bytesRead ?? 0;
  }

  /** Reports the end once. Exit, error and close all lead here; code and signal of the exit take precedence. */
  #report(): void {
    if (this.#isReported) return;
    this.#isReported = true;
    clearTimeout(this.#timer);
    this.#closeJournal();
    this.#probe.end();
    for (const stream of (this.#child.stdio as ChildProcess['stdio'] | undefined) ?? []) stream?.destroy();
    const stderr = this.#stderr.toString();
    const { code = null, signal = null } = this.#exit ?? {};
    this.#events.onShutdown({
      reason: this.#reason(),
      pid: this.pid,
      exitCode: code,
      signal,
      stderr,
      thrown: this.#stderr.thrown(code !== null && code !== 0),
      outOfMemory: /heap out of memory|Allocation failed/.test(stderr),
      uptimeMs: performance.now() - this.#startedMs,
    });
    this.#resolveGone();
  }

  #reason(): ShutdownReason {
    if (this.#malformed) return { type: 'error', error: this.#malformed };
    if (this.#exit) return { type: 'exit', ...this.#exit };
    return this.#failure ? { type: 'error', error: this.#failure } : { type: 'close' };
  }

  #closeJournal(): void {
    if (this.#journal === undefined) return;
    if (!this.#isJournalLost) this.#lastStarted = lastStartedIn(this.#journal);
    closeSync(this.#journal);
    this.#journal = undefined;
  }
}

function nodeArguments({ script, argv, execArgv, maxHeapMb }: ConnectSpec): string[] {
  return [
    ...(execArgv ?? inheritedExecArgv()),
    ...(maxHeapMb === undefined ? [] : [`--max-old-space-size=${maxHeapMb}`]),
    ...typeScriptArguments(script, execArgv ?? process.execArgv, 'process'),
    script,
    ...argv,
  ];
}

/** Removes a variable that Node otherwise passes to child processes with an environment of their own. */
function coverage({ inheritEnv }: ConnectSpec): { readonly NODE_V8_COVERAGE?: undefined } {
  return inheritEnv ? {} : { NODE_V8_COVERAGE: undefined };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // the group has ended
  }
}
