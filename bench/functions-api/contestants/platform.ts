import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Leash } from '@drover/service-kit';
import { Child } from '@drover/testkit';
import { plainEnvironment, stopInOrder } from '../../harness/platform-process.js';
import { childrenOf, commandOf, descendantsOf } from '../../harness/process-facts.js';
import type { RequestSpec } from '../load/request.js';
import type { Contestant } from './contestant.js';

const drover = path.resolve(path.dirname(fileURLToPath(import.meta.resolve('@drover/cli'))), '../bin/drover.js');
const handlers = fileURLToPath(new URL('../handlers', import.meta.url));

interface ReadyLine {
  readonly urls: { readonly public: string };
  readonly pids: {
    readonly platform: number;
    readonly 'runtime-1': number;
    readonly 'collection-worker-1': number;
  };
  readonly credentialsFile: string;
}

/** What the suite says about a function. */
interface Registration {
  readonly name: string;
  readonly executionMode: 'LOCAL' | 'POOL' | 'APP';
  readonly handler?: string;
  readonly endpointUrl?: string;
  readonly appFunction?: string;
  readonly concurrency: number;
  readonly queueSize: number;
}

type Verb = 'invoke' | 'enqueue' | 'enqueue-batch';

/** A folder of handlers, wherever this repository is, and endpoints on this machine. */
const needed = {
  DROVER_HANDLERS_DIR: handlers,
  DROVER_FUNCTIONS_USER: 'root',
  DROVER_ENDPOINT_HOSTS: 'loopback',
};

/** `drover up` as a user has it: everything as it comes, and what is needed. */
export class Platform {
  readonly #up: Child;
  readonly #letGo: () => void;
  readonly #ready: ReadyLine;
  readonly #apiKey: string;
  readonly #dataDirectory: string;

  private constructor(up: Child, letGo: () => void, ready: ReadyLine, apiKey: string, dataDirectory: string) {
    this.#up = up;
    this.#letGo = letGo;
    this.#ready = ready;
    this.#apiKey = apiKey;
    this.#dataDirectory = dataDirectory;
  }

  /** `application`: the folder of an application that the platform serves. `environment`: settings of this platform alone. */
  static async start(
    dataDirectory: string,
    leash: Leash,
    application?: string,
    environment: NodeJS.ProcessEnv = {},
  ): Promise<Platform> {
    const args = [drover, 'up', '--json', '--port', '0', '--data-dir', dataDirectory];
    if (application !== undefined) args.push('--app', application);
    const up = new Child(process.execPath, args, { env: { ...plainEnvironment(), ...needed, ...environment } });
    const letGo = leash.hold(up.pid, { signal: 'SIGTERM', graceMs: 20_000 });
    try {
      const ready = JSON.parse(await up.line(/^\{"event":"ready"/, 60_000)) as ReadyLine;
      const { apiKey } = JSON.parse(await readFile(ready.credentialsFile, 'utf8')) as { readonly apiKey: string };
      return new Platform(up, letGo, ready, apiKey, dataDirectory);
    } catch (error) {
      await up.end();
      letGo();
      throw error;
    }
  }

  /** The control plane. */
  get pid(): number {
    return this.#ready.pids.platform;
  }

  get runtimePid(): number {
    return this.#ready.pids['runtime-1'];
  }

  /** The runtime's own port for functions, which callers of the public port never see. */
  async runtimePort(): Promise<number> {
    return Number(new URL((await readFile(path.join(this.#dataDirectory, 'runtime-url'), 'utf8')).trim()).port);
  }

  /** The collection worker and its own port, which callers of the public port never see. */
  async collectionWorker(): Promise<{ readonly pid: number; readonly port: number }> {
    const url = (await readFile(path.join(this.#dataDirectory, 'collection-worker-url'), 'utf8')).trim();
    return { pid: this.#ready.pids['collection-worker-1'], port: Number(new URL(url).port) };
  }

  /** The processes of all collection workers; only the first one where the system does not tell. */
  get collectionWorkerPids(): readonly number[] {
    const found = childrenOf(this.#up.pid).filter((pid) => commandOf(pid)?.includes('collection-worker-main'));
    return found.length > 0 ? found : [this.#ready.pids['collection-worker-1']];
  }

  /** The processes of all function workers, placeholders among them; none where the system does not tell. */
  get functionWorkerPids(): readonly number[] {
    return descendantsOf(this.#up.pid).filter((pid) => commandOf(pid)?.includes('node-worker'));
  }

  get url(): string {
    return this.#ready.urls.public;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Those of an authenticated request. */
  get headers(): Readonly<Record<string, string>> {
    return { Authorization: `Bearer ${this.#apiKey}` };
  }

  async register(spec: Registration): Promise<void> {
    const response = await fetch(new URL('/v1/functions', this.#ready.urls.public), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#apiKey}` },
      body: JSON.stringify(spec),
    });
    if (response.status !== 201)
      throw new Error(`${spec.name} was not registered: ${response.status} ${await response.text()}`);
  }

  request(functionName: string, verb: Verb, body: string): RequestSpec {
    return {
      path: `/v1/functions/${functionName}:${verb}`,
      headers: this.headers,
      body,
    };
  }

  /** One function of it, as one of those that are called. */
  contestant(name: string, request: RequestSpec): Contestant {
    return { name, request, port: this.port, pid: this.pid, close: () => Promise.resolve() };
  }

  async close(): Promise<void> {
    await stopInOrder(this.#up);
    this.#letGo();
  }
}
