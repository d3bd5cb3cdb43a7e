import { readFileSync } from 'node:fs';
import { runtimeCalls } from '@drover/contracts';
import type { Lifecycle, Secret } from '@drover/service-kit';
import { Pool } from 'undici';

export interface RuntimeConnectionOptions {
  /** Where the runtime is called over HTTP, or the file that will say so; neither when there is none. */
  readonly runtimeUrl: string | undefined;
  readonly runtimeUrlFile: string | undefined;
  readonly masterKey: Secret | undefined;
  readonly maxConnections?: number;
  /** Of one answer. */
  readonly answerLimitBytes?: number;
}

/** One runtime at one address. */
export interface RuntimeEndpoint {
  readonly pool: Pool;
  /** What comes before all paths. */
  readonly basePath: string;
}

const maxConnections = 1_024;
const answerLimitBytes = 67_108_864;
const connectTimeoutMs = 2_000;

/** Kept connections to the runtime. Where it is may be known only later, and may change: a file says so then. */
export class RuntimeConnection implements Lifecycle {
  readonly name = 'runtime connection';
  readonly isConfigured: boolean;
  /** Names and values in turn. */
  readonly credentials: readonly string[];
  readonly #options: RuntimeConnectionOptions;
  #url: string | undefined;
  #endpoint: RuntimeEndpoint | undefined;
  #isInDoubt = false;
  #isStopped = false;

  constructor(options: RuntimeConnectionOptions) {
    const { runtimeUrl, runtimeUrlFile, masterKey } = options;
    this.#options = options;
    this.isConfigured = runtimeUrl !== undefined || runtimeUrlFile !== undefined;
    this.credentials = masterKey ? [runtimeCalls.keyHeader, masterKey.reveal()] : [];
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  /** Breaks off whatever is still asked. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const endpoint = this.#endpoint;
    this.#endpoint = undefined;
    await endpoint?.pool.destroy();
  }

  /** Undefined: nobody has said yet where it is. */
  endpoint(): RuntimeEndpoint | undefined {
    if (this.#endpoint && !this.#isInDoubt) return this.#endpoint;
    if (this.#isStopped) return undefined;
    this.#isInDoubt = false;
    const url = this.#options.runtimeUrl ?? this.#readFile();
    if (url === undefined || url === this.#url) return this.#endpoint;
    // What is on its way there may still come back; no more is sent.
    void this.#endpoint?.pool.close();
    this.#url = url;
    this.#endpoint = this.#open(new URL(url));
    return this.#endpoint;
  }

  /** Nobody listens there: the file may say something else by now. */
  doubt(): void {
    this.#isInDoubt = this.#options.runtimeUrl === undefined;
  }

  #open({ origin, pathname }: URL): RuntimeEndpoint {
    const { maxConnections: connections = maxConnections, answerLimitBytes: limit = answerLimitBytes } = this.#options;
    const pool = new Pool(origin, {
      connections,
      connect: { timeout: connectTimeoutMs },
      // Who asks keeps the time.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: limit,
    });
    return { pool, basePath: pathname.replace(/\/+$/, '') };
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
