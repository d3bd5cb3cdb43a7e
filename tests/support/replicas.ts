import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startScratchPostgres, volatileSettings } from '@drover/database/testing';
import { Child, eventually, isAlive } from '@drover/testkit';
import { FunctionsClient } from './executions.js';
import { logOf } from './functions.js';
import { allowsLoopback, drover, plainEnvironment } from './platform.js';
import { RunLedger } from './run-ledger.js';

/** One control plane of several over one database. */
export class Replica {
  readonly child: Child;
  readonly url: string;
  readonly api: FunctionsClient;

  constructor(child: Child, url: string, apiKey: string) {
    this.child = child;
    this.url = url;
    this.api = new FunctionsClient(url, apiKey);
  }

  async isReady(): Promise<boolean> {
    return (await this.api.request('GET', '/readyz', { timeoutMs: 10_000 })).status === 200;
  }

  logged(kind: string): readonly Readonly<Record<string, unknown>>[] {
    return logOf(this.child).filter((line) => line.kind === kind);
  }
}

/** A database with control planes over it, and an endpoint for their functions. */
export class ReplicaSet {
  readonly ledger: RunLedger;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #apiKey: string;
  readonly #started: Replica[] = [];

  constructor(ledger: RunLedger, environment: NodeJS.ProcessEnv, apiKey: string) {
    this.ledger = ledger;
    this.#environment = environment;
    this.#apiKey = apiKey;
  }

  /** Resolves once it serves. */
  async start(environment: NodeJS.ProcessEnv = {}): Promise<Replica> {
    const child = new Child(process.execPath, [drover, 'control-plane'], {
      env: plainEnvironment({ ...this.#environment, ...environment }),
    });
    try {
      await child.line(/"msg":"control-plane is ready"/);
    } catch (error) {
      await child.end();
      throw error;
    }
    const listening = logOf(child).find(({ kind }) => kind === 'http.listening');
    const replica = new Replica(child, String(listening?.['url']), this.#apiKey);
    this.#started.push(replica);
    return replica;
  }

  /** A client that asks one of these by turns. */
  client(replicas: () => readonly Replica[]): FunctionsClient {
    let turn = 0;
    return new FunctionsClient(() => {
      const some = replicas();
      turn += 1;
      return some[turn % some.length]?.url ?? 'http://127.0.0.1:9';
    }, this.#apiKey);
  }

  /** What any of them has logged of a kind, those that have ended included. */
  logged(kind: string): readonly Readonly<Record<string, unknown>>[] {
    return this.#started.flatMap((replica) => replica.logged(kind));
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#started.map(async ({ child }) => {
        child.kill('SIGCONT');
        child.kill('SIGTERM');
        await eventually(() => !isAlive(child.pid)).catch(() => undefined);
        await child.end();
      }),
    );
  }
}

/** Functions, enough that every replica is the home of some. */
export const names = Array.from({ length: 10 }, (_, number) => `f${number}`);

export async function registerAll(api: FunctionsClient, ledger: RunLedger, concurrency = 4): Promise<void> {
  for (const name of names)
    await api.register({
      name,
      executionMode: 'POOL',
      endpointUrl: ledger.url(name),
      queueSize: 100_000,
      timeoutMs: 20_000,
      concurrency,
    });
}

/** For one test; everything ends with it. */
export async function withReplicas(
  environment: NodeJS.ProcessEnv,
  use: (replicas: ReplicaSet) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(path.join(tmpdir(), 'drover-replicas-'));
  const ledger = await RunLedger.open();
  try {
    const { server, stop } = await startScratchPostgres(volatileSettings); // replicas are killed, the server is not
    const keyFile = path.join(directory, 'credentials.json');
    const apiKey = `drv_${randomBytes(8).toString('hex')}_${randomBytes(32).toString('base64url')}`;
    await writeFile(keyFile, JSON.stringify({ apiKey }), { mode: 0o600 });
    const common = {
      DATABASE_URL: server.url.reveal(),
      DROVER_PORT: '0',
      DROVER_BOOTSTRAP_KEY_FILE: keyFile,
      DROVER_DATABASE_CONNECT_TIMEOUT_MS: '10000', // a connection may take seconds on a busy machine
      ...allowsLoopback,
    };
    const replicas = new ReplicaSet(ledger, { ...common, ...environment }, apiKey);
    try {
      await use(replicas);
    } finally {
      await replicas.stop();
      await stop();
    }
  } finally {
    await ledger.close();
    await rm(directory, { recursive: true, force: true });
  }
}
