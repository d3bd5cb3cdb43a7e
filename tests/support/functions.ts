import path from 'node:path';
import { storedAuthority } from '@drover/runtime';
import { Child, eventually, isAlive, type Exit } from '@drover/testkit';
import { root } from '../architecture/workspace.js';
import { plainEnvironment } from './platform.js';

export const helloApp = path.join(root, 'examples/hello-app');
export const ordersApp = path.join(root, 'examples/orders-app');
export const runtimeProgram = path.join(root, 'apps/runtime/bin/drover-runtime.js');

/** The folder of one of the small apps in tests/e2e/apps. */
export function app(name: string): string {
  return path.join(root, 'tests/e2e/apps', name);
}

/** Turns values into command line flags. */
export function asFlags(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
}

/** A parsed line of the log. */
export interface LogLine {
  readonly kind?: string;
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly [name: string]: unknown;
}

/** Lines that a process has logged so far. */
export function logOf(child: Child): LogLine[] {
  return [...child.stdout, ...child.stderr].flatMap((line) => {
    if (!line.startsWith('{"level"')) return [];
    return [JSON.parse(line) as LogLine];
  });
}

/** Pids of the function workers that were started so far, dead or alive. */
export function startedWorkers(child: Child): number[] {
  return logOf(child).flatMap(({ kind, pid }) => (kind === 'process.started' ? [Number(pid)] : []));
}

/** Pids of the function workers that run. */
export function workersOf(child: Child): number[] {
  return startedWorkers(child).filter(isAlive);
}

/** Milliseconds from `sinceMs` to the first log line of that kind after it; throws if there is none yet. */
export function msUntil(child: Child, kind: string, sinceMs: number): number {
  const times = logOf(child).flatMap((line) => (line.kind === kind ? [Date.parse(line.time) - sinceMs] : []));
  const found = times.find((ms) => ms >= 0);
  if (found === undefined) throw new Error(`no ${kind} was logged since`);
  return found;
}

export interface RuntimeOptions {
  readonly apps: readonly string[];
  readonly workers?: number;
  /** Undefined: the default worker of the runtime. */
  readonly workerCommand?: string;
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** A `drover-runtime` process without a platform around it. */
export class Runtime {
  readonly child: Child;
  readonly url: string;

  constructor(child: Child, url: string) {
    this.child = child;
    this.url = url;
  }

  get log(): LogLine[] {
    return logOf(this.child);
  }

  /** All messages of the log. */
  get said(): string {
    return this.log.map(({ msg }) => msg).join('\n');
  }

  get workers(): number[] {
    return workersOf(this.child);
  }

  /** What the runtime logged before its answer is in `log` when this resolves. */
  async call(address: string, init?: RequestInit): Promise<Response> {
    const response = await fetch(`${this.url}${address}`, { signal: AbortSignal.timeout(60_000), ...init });
    await new Promise((resolve) => setImmediate(resolve)); // both arrive with one poll, in any order
    return response;
  }

  /** Ends it with SIGTERM; throws if a function worker outlives it. */
  async stop(): Promise<Exit> {
    this.child.kill('SIGTERM');
    const late = eventually(() => !isAlive(this.child.pid));
    await Promise.race([this.child.exited, late]);
    const { workers } = this;
    await this.child.end();
    if (workers.length > 0) throw new Error(`function workers outlived their runtime: ${workers.join(', ')}`);
    return this.child.exited;
  }
}

/** Starts a runtime and waits until it serves. */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { apps, workers = 1, workerCommand, args = [], env = {} } = options;
  const folders = apps.flatMap((directory) => ['--functions-app', directory]);
  const flags = asFlags({
    ...(workerCommand !== undefined && { 'worker-command': workerCommand }),
    workers: String(workers),
    port: '0',
    'rpc-port': '0',
    'loopback-port': '0',
  });
  const child = new Child(process.execPath, [runtimeProgram, ...folders, ...flags, ...args], {
    env: plainEnvironment(env),
  });
  try {
    await child.line(/"msg":"runtime is ready"/);
  } catch (error) {
    await child.end();
    throw error;
  }
  const listening = logOf(child).find(({ kind }) => kind === 'http.listening');
  return new Runtime(child, String(listening?.['url']));
}

/** Starts a runtime for one test and ends it afterwards. */
export async function withRuntime(options: RuntimeOptions, use: (runtime: Runtime) => Promise<void>): Promise<void> {
  const runtime = await startRuntime(options);
  try {
    await use(runtime);
  } finally {
    await runtime.stop();
  }
}

/** Issues a certificate for a function worker of another machine, from the authority of a runtime. */
export async function workerCertificate(directory: string, workerId: string, app?: string) {
  const authority = await storedAuthority(directory);
  const applicationKey = app === undefined ? undefined : `default/${app}`;
  return authority.issueWorker({ tenantId: 'default', applicationKey, workerId });
}

/** One answer under load; status 0 stands for a broken connection. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

/** Sends the same request again and again, several at once, until `stop`. */
export class Load {
  readonly answers: Answer[] = [];
  readonly #askers: Promise<void>[];
  #isOver = false;

  constructor(ask: () => Promise<Response>, { atOnce }: { readonly atOnce: number }) {
    this.#askers = Array.from({ length: atOnce }, async () => {
      while (!this.#isOver) this.answers.push(await answerOf(ask));
    });
  }

  get statuses(): number[] {
    return [...new Set(this.answers.map(({ status }) => status))].toSorted((one, other) => one - other);
  }

  /** Lets the last ones come back. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#askers);
  }
}

/** An answer, whatever becomes of it. */
export async function answerOf(ask: () => Promise<Response>): Promise<Answer> {
  const startedMs = performance.now();
  try {
    const response = await ask();
    return { status: response.status, text: await response.text(), ms: performance.now() - startedMs };
  } catch (error) {
    return { status: 0, text: String(error), ms: performance.now() - startedMs };
  }
}
