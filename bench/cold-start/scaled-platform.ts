import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { applicationRoutes, createClient, scalingRoutes, type Client, type ScaleSettings } from '@drover/contracts';
import type { Leash } from '@drover/service-kit';
import { Child, eventually } from '@drover/testkit';
import { plainEnvironment, stopInOrder } from '../harness/platform-process.js';

const routes = { ...applicationRoutes, ...scalingRoutes };
const drover = path.resolve(path.dirname(fileURLToPath(import.meta.resolve('@drover/cli'))), '../bin/drover.js');
const app = fileURLToPath(new URL('../../cold-start/app', import.meta.url));

interface ReadyLine {
  readonly urls: { readonly public: string };
  readonly pids: Readonly<Record<string, number>>;
  readonly credentialsFile: string;
}

interface PlatformRequest {
  readonly dataDirectory: string;
  readonly leash: Leash;
  readonly environment: Readonly<Record<string, string>>;
  /** The named pipe that functions write to when a message has run. */
  readonly reports: string;
}

/** The shortest idle time that can be set. */
const idleMs = 1_000;

/** `drover up` as a user has it, with applications that are deployed over its API. */
export class ScaledPlatform {
  readonly #up: Child;
  readonly #letGo: () => void;
  readonly #ready: ReadyLine;
  readonly #client: Client<typeof routes>;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #agent = new Agent({ keepAlive: true, noDelay: true });

  private constructor(
    up: Child,
    letGo: () => void,
    ready: ReadyLine,
    client: Client<typeof routes>,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#up = up;
    this.#letGo = letGo;
    this.#ready = ready;
    this.#client = client;
    this.#settings = settings;
  }

  static async start({ dataDirectory, leash, environment, reports }: PlatformRequest): Promise<ScaledPlatform> {
    const args = [drover, 'up', '--json', '--port', '0', '--data-dir', dataDirectory];
    const up = new Child(process.execPath, args, { env: { ...plainEnvironment(), ...environment } });
    const letGo = leash.hold(up.pid, { signal: 'SIGTERM', graceMs: 20_000 });
    try {
      const ready = JSON.parse(await up.line(/^\{"event":"ready"/, 60_000)) as ReadyLine;
      const { url, apiKey } = JSON.parse(await readFile(ready.credentialsFile, 'utf8')) as Record<
        'url' | 'apiKey',
        string
      >;
      const port = await freePort();
      const ServiceBus = `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=any;SharedAccessKey=any;UseDevelopmentEmulator=true;`;
      const settings = { ServiceBus, BENCH_REPORTS: reports };
      return new ScaledPlatform(up, letGo, ready, createClient(routes, { url, apiKey }), settings);
    } catch (error) {
      await up.end();
      letGo();
      throw error;
    }
  }

  get serviceBus(): string {
    return this.#settings['ServiceBus'] ?? '';
  }

  /** Pids of the processes that applications at zero have a part in. */
  get pids(): readonly number[] {
    const { platform = 0, 'runtime-1': runtime = 0 } = this.#ready.pids;
    return [platform, runtime];
  }

  async deploy(name: string, scaling: ScaleSettings = {}): Promise<void> {
    const body = { directory: app, settings: { ...this.#settings, BENCH_NAME: name }, scaling: { idleMs, ...scaling } };
    await this.#client.deployApplication({ params: { app: name }, body });
  }

  async scale(name: string, scaling: ScaleSettings): Promise<void> {
    await this.#client.setScaling({ params: { app: name }, body: { idleMs, ...scaling } });
  }

  /** Resolves when the application has no worker at all. */
  async untilAtZero(name: string): Promise<void> {
    await eventually(async () => {
      const { workers } = await this.#client.getScaling({ params: { app: name } });
      return workers.desired + workers.ready + workers.starting + workers.draining === 0;
    }, 60_000);
  }

  async untilReady(name: string, count: number): Promise<void> {
    await eventually(async () => {
      const { workers } = await this.#client.getScaling({ params: { app: name } });
      return workers.ready === count && workers.starting === 0;
    }, 60_000);
  }

  /** Calls the HTTP function of an application. Resolves with the pid of the worker that answered. */
  async call(name: string): Promise<number> {
    const { status, text } = await this.#get(`/api/${name}/hello`);
    if (status !== 200) throw new Error(`${name} answered ${status}: ${text}`);
    return (JSON.parse(text) as { readonly pid: number }).pid;
  }

  /** Opens the connection that the next call uses. */
  async connect(): Promise<void> {
    await this.#get('/healthz');
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await stopInOrder(this.#up);
    this.#letGo();
  }

  #get(target: string): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#ready.urls.public}${target}`, { agent: this.#agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        );
      });
      sent.once('error', reject);
      sent.end();
    });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
