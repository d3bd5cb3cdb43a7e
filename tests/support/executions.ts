import { readFile } from 'node:fs/promises';
import { Agent, request as send, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ExecutionStatus, FunctionResponse, FunctionSpec } from '@drover/contracts';
import { eventually, type Child } from '@drover/testkit';
import { logOf } from './functions.js';
import type { ReadyLine } from './platform.js';

/** A response; status 0 when the connection broke or could not be made. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | undefined;
  readonly ms: number;
}

export interface RequestOptions {
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/**
 * Drops idle connections long before a server does, which is after 5 s: a busy process that is late would send a request on a connection
 * that is just being closed.
 */
const agent = new Agent({ keepAlive: true, timeout: 2_000 });
const finalStates = new Set(['success', 'error', 'timeout', 'cancelled']);

/** A client of `/v1` over plain HTTP. `request` never throws: a broken connection is a reply with status 0. */
export class FunctionsClient {
  readonly #url: () => string;
  readonly #apiKey: string;

  constructor(url: string | (() => string), apiKey: string) {
    this.#url = typeof url === 'string' ? () => url : url;
    this.#apiKey = apiKey;
  }

  static async of({ credentialsFile }: Pick<ReadyLine, 'credentialsFile'>): Promise<FunctionsClient> {
    const { url, apiKey } = JSON.parse(await readFile(credentialsFile, 'utf8')) as { url: string; apiKey: string };
    return new FunctionsClient(url, apiKey);
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Reply> {
    const { json, headers = {}, timeoutMs = 30_000 } = options;
    const startedMs = performance.now();
    try {
      const response = await this.#send(method, path, { json, headers, timeoutMs });
      const body = await text(response);
      return {
        status: response.statusCode ?? 0,
        body: body === '' ? undefined : JSON.parse(body),
        retryAfter: response.headers['retry-after'],
        ms: performance.now() - startedMs,
      };
    } catch (error) {
      return { status: 0, body: String(error), retryAfter: undefined, ms: performance.now() - startedMs };
    }
  }

  /** Not with `fetch`, which needs as much CPU as the platform itself. */
  #send(method: string, path: string, { json, headers, timeoutMs }: RequestOptions): Promise<IncomingMessage> {
    const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
    return new Promise((resolve, reject) => {
      const request = send(`${this.#url()}${path}`, {
        method,
        agent,
        headers: {
          authorization: `Bearer ${this.#apiKey}`,
          ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
          ...headers,
        },
        signal: AbortSignal.timeout(timeoutMs ?? 0),
      });
      request.once('response', resolve).once('error', reject).end(body);
    });
  }

  async register(spec: FunctionSpec): Promise<FunctionResponse> {
    return good<FunctionResponse>(await this.request('POST', '/v1/functions', { json: spec }), 201);
  }

  async functions(): Promise<FunctionResponse[]> {
    return good<FunctionResponse[]>(await this.request('GET', '/v1/functions'), 200);
  }

  invoke(name: string, input: unknown, headers?: RequestOptions['headers']): Promise<Reply> {
    return this.request('POST', `/v1/functions/${name}:invoke`, { json: { input }, ...(headers && { headers }) });
  }

  enqueue(name: string, body: object, headers?: RequestOptions['headers']): Promise<Reply> {
    return this.request('POST', `/v1/functions/${name}:enqueue`, { json: body, ...(headers && { headers }) });
  }

  enqueueBatch(name: string, items: readonly object[]): Promise<Reply> {
    return this.request('POST', `/v1/functions/${name}:enqueue-batch`, { json: { items } });
  }

  /** Enqueues one execution and returns its id; throws unless the answer is 202. */
  async accepted(name: string, input: unknown, headers?: RequestOptions['headers']): Promise<string> {
    return good<{ executionId: string }>(await this.enqueue(name, { input }, headers), 202).executionId;
  }

  async acceptedBatch(name: string, items: readonly object[]): Promise<string[]> {
    const body = good<{ items: { executionId: string }[] }>(await this.enqueueBatch(name, items), 202);
    return body.items.map(({ executionId }) => executionId);
  }

  async execution(executionId: string): Promise<ExecutionStatus> {
    const reply = await this.request('GET', `/v1/executions/${executionId}`, { timeoutMs: 3_000 });
    return good<ExecutionStatus>(reply, 200);
  }

  /** Waits for the end of an execution. */
  ended(executionId: string, withinMs = 120_000): Promise<ExecutionStatus> {
    return eventually(async () => {
      const execution = await this.execution(executionId);
      if (finalStates.has(execution.status)) return execution;
      throw new Error(`${executionId} is still ${execution.status}: ${JSON.stringify(execution)}`);
    }, withinMs);
  }
}

/** Returns the body of a reply; throws unless it has the wanted status. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says at the call what is read
export function good<T>({ status, body }: Reply, wanted: number): T {
  if (status !== wanted) throw new Error(`answered ${status} instead of ${wanted}: ${JSON.stringify(body)}`);
  return body as T; // what the route promises with that status
}

/** A start of a role under `drover up`. */
export interface RoleStart {
  readonly pid: number;
  readonly readyMs: number;
}

/** Starts of a role that became ready, oldest first. */
export function startsOf(up: Child, role: string): RoleStart[] {
  return logOf(up).flatMap(({ kind, time, ...line }) =>
    kind === 'up.ready' && line['role'] === role ? [{ pid: Number(line['pid']), readyMs: Date.parse(time) }] : [],
  );
}

/** Kills the running process of a role; returns the time of the kill and a function that waits for the next process. */
export function killRole(
  up: Child,
  role: string,
): { readonly killedMs: number; readonly next: () => Promise<RoleStart> } {
  const starts = startsOf(up, role);
  const killedMs = Date.now();
  process.kill(starts.at(-1)?.pid ?? Number.NaN, 'SIGKILL');
  const next = (): Promise<RoleStart> =>
    eventually(() => {
      const start = startsOf(up, role)[starts.length];
      if (start) return start;
      throw new Error(`${role} is not ready again:\n${up.stderr.slice(-5).join('\n')}`);
    });
  return { killedMs, next };
}

/** Runs `action` for all items, `atOnce` at a time. */
export async function forEach<T>(
  items: readonly T[],
  atOnce: number,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const one = async (): Promise<void> => {
    for (const item of left) await action(item);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** A list of the same call. */
export function times(count: number, call: object): object[] {
  return Array.from({ length: count }, () => call);
}

/** Prints measurements of a story, also when it passes. */
export function report(story: string, figures: object): void {
  process.stdout.write(`${story}: ${JSON.stringify(figures)}\n`);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Returns random numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
