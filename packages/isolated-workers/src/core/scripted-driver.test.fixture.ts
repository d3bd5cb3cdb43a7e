import { kind, type ToHost, type ToWorker } from '../types/wire-message.js';
import type { Connection, ConnectionEvents, ConnectSpec, Driver, DriverCapabilities } from '../types/driver.js';
import type { CrashFacts } from '../types/errors.js';

/** A driver without workers: the test plays their part. */
export class ScriptedDriver implements Driver {
  readonly name = 'scripted';
  readonly capabilities: DriverCapabilities = { reconnect: true, transfer: true, kill: true, memoryLimit: true };
  readonly connections: ScriptedConnection[] = [];
  /** Whether a new worker reports at once that it is ready. */
  becomesReady = true;
  /** Thrown by the next starts. */
  refusal: Error | undefined;

  constructor(capabilities: Partial<DriverCapabilities> = {}) {
    Object.assign(this.capabilities, capabilities);
  }

  connect(_: ConnectSpec, events: ConnectionEvents): Connection {
    if (this.refusal) throw this.refusal;
    const connection = new ScriptedConnection(events, this.connections.length + 1);
    this.connections.push(connection);
    if (this.becomesReady) connection.say([kind.ready]);
    return connection;
  }

  /** The worker that was started last. */
  get last(): ScriptedConnection {
    const connection = this.connections.at(-1);
    if (!connection) throw new Error('no worker was started');
    return connection;
  }
}

/** Its workers get ready in a later microtask, as real ones do. */
export class LateDriver extends ScriptedDriver {
  override becomesReady = false;
  startsByItself = true;

  override connect(...args: Parameters<ScriptedDriver['connect']>): Connection {
    const connection = super.connect(...args);
    const { last } = this;
    if (this.startsByItself) queueMicrotask(() => last.say([kind.ready]));
    return connection;
  }
}

export class ScriptedConnection implements Connection {
  readonly pid: number;
  readonly sent: ToWorker[] = [];
  readonly started = new Set<number>();
  /** False: it is not known which requests had started. */
  keepsNotes = true;
  killed = 0;
  readonly #events: ConnectionEvents;
  isOver = false;

  constructor(events: ConnectionEvents, pid: number) {
    this.#events = events;
    this.pid = pid;
  }

  send(message: ToWorker): void {
    this.sent.push(message);
  }

  hadStarted(id: number): boolean | undefined {
    return this.keepsNotes ? this.started.has(id) : undefined;
  }

  sample(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  end(): Promise<void> {
    this.die({ reason: { type: 'exit', code: 0, signal: null }, exitCode: 0 });
    return Promise.resolve();
  }

  kill(): void {
    this.killed += 1;
    this.die({ reason: { type: 'exit', code: null, signal: 'SIGKILL' }, signal: 'SIGKILL' });
  }

  say(message: ToHost): void {
    this.#events.onMessage(message);
  }

  die(facts: Partial<CrashFacts> = {}): void {
    if (this.isOver) return;
    this.isOver = true;
    this.dieAgain(facts);
  }

  /** Reports the end again, as a driver should not. */
  dieAgain(facts: Partial<CrashFacts> = {}): void {
    this.#events.onShutdown({
      reason: { type: 'exit', code: 1, signal: null },
      pid: this.pid,
      exitCode: null,
      signal: null,
      stderr: '',
      outOfMemory: false,
      uptimeMs: 1,
      ...facts,
    });
  }

  /** The requests that it received. */
  get requests(): { id: number; type: string; attempt: number; payload: unknown }[] {
    return this.sent.flatMap((message) =>
      message[0] === kind.request
        ? [{ id: message[1], type: message[2], attempt: message[3] === 0 ? 1 : message[3][0], payload: message[4] }]
        : [],
    );
  }

  idOf(type: string): number {
    const found = this.requests.findLast((request) => request.type === type);
    if (!found) throw new Error(`it has no '${type}'`);
    return found.id;
  }

  start(...types: string[]): void {
    for (const type of types) this.started.add(this.idOf(type));
  }

  answer(type: string, value: unknown): void {
    this.say([kind.result, this.idOf(type), value]);
  }
}
