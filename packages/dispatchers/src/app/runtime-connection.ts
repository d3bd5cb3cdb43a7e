import { readFileSync } from 'node:fs';
import { runtimeCalls } from '@drover/contracts';
import {
  ConnectionPool,
  headerLine,
  requestHead,
  type Answer,
  type ClientMethod,
  type ClientRequest,
} from '@drover/http-edge';
import type { Clock, Lifecycle, Secret } from '@drover/service-kit';
import { RuntimeCall, type RuntimeCallFailure } from './runtime-call.js';

export interface RuntimeConnectionOptions {
  /** The runtime's HTTP address, or the file that will hold it; neither if no runtime is configured. */
  readonly runtimeUrl: string | undefined;
  readonly runtimeUrlFile: string | undefined;
  readonly masterKey: Secret | undefined;
  readonly maxConnections?: number;
  /** Of one answer. */
  readonly answerLimitBytes?: number;
  readonly clock: Clock;
}

/** One runtime at one address. */
export class RuntimeEndpoint {
  readonly pool: ConnectionPool;
  readonly #url: URL;
  readonly #credentials: string;
  readonly #clock: Clock;
  /** By path. Bounded: paths name functions, which come and go. */
  readonly #heads = new Map<string, string>();

  constructor(url: URL, pool: ConnectionPool, credentials: string, clock: Clock) {
    this.#url = url;
    this.pool = pool;
    this.#credentials = credentials;
    this.#clock = clock;
  }

  /** Returns request line, destination and credentials. Throws TypeError for a path that cannot be sent. */
  head(method: ClientMethod, path: string): string {
    const known = this.#heads.get(path);
    if (known !== undefined && known.startsWith(method)) return known;
    const url = new URL(this.#url.pathname.replace(/\/+$/, '') + path, this.#url);
    const head = requestHead(method, url) + this.#credentials;
    if (this.#heads.size >= maxHeads) this.#heads.clear();
    this.#heads.set(path, head);
    return head;
  }

  /** Begins a call. `end` is called once; the caller may give the call up before. */
  call(request: ClientRequest, end: (end: Answer | RuntimeCallFailure) => void): RuntimeCall {
    const call = new RuntimeCall(this.pool, request, end);
    call.start();
    return call;
  }

  /** Asks for a path. Rejects if there is no answer within `timeoutMs`, or when the signal aborts. `lines` are header lines. */
  get(
    path: string,
    lines: string,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<Answer> {
    const { timeoutMs, signal } = options;
    return new Promise((resolve, reject) => {
      const call = this.call({ head: this.head('GET', path) + lines, body: '' }, (end) => {
        cancelTimeout();
        signal.removeEventListener('abort', giveUp);
        if ('status' in end) resolve(end);
        else reject(end.error);
      });
      const giveUp = (): void => call.abandon();
      const cancelTimeout = this.#clock.after(timeoutMs, giveUp);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}

const maxHeads = 1_024;

const maxConnections = 1_024;
const answerLimitBytes = 67_108_864;
const connectTimeoutMs = 2_000;

/** Keep-alive connections to the runtime. Its address may become known later, and may change: then a file holds it. */
export class RuntimeConnection implements Lifecycle {
  readonly name = 'runtime connection';
  readonly isConfigured: boolean;
  readonly #options: RuntimeConnectionOptions;
  #url: string | undefined;
  #endpoint: RuntimeEndpoint | undefined;
  #isInDoubt = false;
  #isStopped = false;

  constructor(options: RuntimeConnectionOptions) {
    const { runtimeUrl, runtimeUrlFile } = options;
    this.#options = options;
    this.isConfigured = runtimeUrl !== undefined || runtimeUrlFile !== undefined;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  /** Calls in flight fail. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const endpoint = this.#endpoint;
    this.#endpoint = undefined;
    await endpoint?.pool.close();
  }

  /** Returns the runtime's current endpoint; undefined until its address is known. */
  endpoint(): RuntimeEndpoint | undefined {
    if (this.#endpoint && !this.#isInDoubt) return this.#endpoint;
    if (this.#isStopped) return undefined;
    this.#isInDoubt = false;
    const url = this.#options.runtimeUrl ?? this.#readFile();
    if (url === undefined || url === this.#url) return this.#endpoint;
    // Calls in flight may still be answered; no more are sent there.
    this.#endpoint?.pool.retire();
    this.#url = url;
    this.#endpoint = this.#open(new URL(url));
    return this.#endpoint;
  }

  /** The runtime did not answer: its address is read again for the next call. */
  doubt(): void {
    this.#isInDoubt = this.#options.runtimeUrl === undefined;
  }

  #open(url: URL): RuntimeEndpoint {
    const { masterKey, clock, maxConnections: most = maxConnections, answerLimitBytes: limit } = this.#options;
    // No time limits here: each attempt has its own.
    const pool = new ConnectionPool({
      url,
      maxConnections: most,
      connectTimeoutMs,
      maxBodyBytes: limit ?? answerLimitBytes,
      clock,
    });
    return new RuntimeEndpoint(
      url,
      pool,
      masterKey ? headerLine(runtimeCalls.keyHeader, masterKey.reveal()) : '',
      clock,
    );
  }

  #readFile(): string | undefined {
    const { runtimeUrlFile } = this.#options;
    if (runtimeUrlFile === undefined) return undefined;
    try {
      const text = readFileSync(runtimeUrlFile, 'utf8').trim();
      return URL.canParse(text) ? text : undefined;
    } catch {
      return undefined; // not written yet
    }
  }
}
