import { readFileSync } from 'node:fs';
import { runtimeCalls } from '@drover/contracts';
import {
  ConnectionPool,
  FramedCalls,
  headerLine,
  requestHead,
  type Answer,
  type ClientMethod,
  type ClientRequest,
} from '@drover/http-edge';
import { isLoopback, type Clock, type Lifecycle, type Secret } from '@drover/service-kit';
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

/** How a runtime is reached. */
interface RuntimeWays {
  readonly pool: ConnectionPool;
  /** Undefined for an address that several runtimes may share: one connection would give all calls to one of them. */
  readonly framed: FramedCalls | undefined;
}

/** From so many calls in flight on, it is worth a connection that they share. */
const sharedFrom = 8;

/** One runtime at one address. */
export class RuntimeEndpoint {
  readonly #pool: ConnectionPool;
  readonly #framed: FramedCalls | undefined;
  readonly #url: URL;
  readonly #credentials: string;
  readonly #clock: Clock;
  /** By path. Bounded: paths name functions, which come and go. */
  readonly #heads = new Map<string, string>();

  constructor(url: URL, { pool, framed }: RuntimeWays, credentials: string, clock: Clock) {
    this.#url = url;
    this.#pool = pool;
    this.#framed = framed;
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
    const call = new RuntimeCall(this.#pool, request, end);
    if (this.#framed && this.#pool.busy >= sharedFrom) this.#framed.open();
    call.start(this.#framed?.connection);
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

  /** Calls in flight may still be answered; the connections close after them. */
  retire(): void {
    this.#pool.retire();
    this.#framed?.retire();
  }

  /** Closes all connections; calls in flight fail. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#framed?.close()]);
  }
}

const maxHeads = 1_024;

const maxConnections = 1_024;
const answerLimitBytes = 67_108_864;
const connectTimeoutMs = 2_000;

/** Connections to the runtime. Its address may become known later, and may change: then a file holds it. */
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
    await endpoint?.close();
  }

  /** Returns the runtime's current endpoint; undefined until its address is known. */
  endpoint(): RuntimeEndpoint | undefined {
    if (this.#endpoint && !this.#isInDoubt) return this.#endpoint;
    if (this.#isStopped) return undefined;
    this.#isInDoubt = false;
    const url = this.#options.runtimeUrl ?? this.#readFile();
    if (url === undefined || url === this.#url) return this.#endpoint;
    // Calls in flight may still be answered; no more are sent there.
    this.#endpoint?.retire();
    this.#url = url;
    this.#endpoint = this.#open(new URL(url));
    return this.#endpoint;
  }

  /** The runtime did not answer: its address is read again for the next call. */
  doubt(): void {
    this.#isInDoubt = this.#options.runtimeUrl === undefined;
  }

  #open(url: URL): RuntimeEndpoint {
    const { masterKey, clock, maxConnections: most = maxConnections } = this.#options;
    const { answerLimitBytes: maxBodyBytes = answerLimitBytes } = this.#options;
    // No time limits here: each attempt has its own.
    const pool = new ConnectionPool({ url, maxConnections: most, connectTimeoutMs, maxBodyBytes, clock });
    const target = url.pathname.replace(/\/+$/, '') + runtimeCalls.applicationsPath;
    const framed = isLoopback(url.hostname.replaceAll(/^\[|\]$/g, ''))
      ? new FramedCalls({ url, target, maxBodyBytes, connectTimeoutMs, clock })
      : undefined;
    const credentials = masterKey ? headerLine(runtimeCalls.keyHeader, masterKey.reveal()) : '';
    return new RuntimeEndpoint(url, { pool, framed }, credentials, clock);
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
