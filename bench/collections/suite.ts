import path from 'node:path';
import type { Leash, Secret } from '@drover/service-kit';
import pg from 'pg';
import { Platform } from '../functions-api/contestants/platform.js';
import type { Generator } from '../functions-api/generator.js';
import { Opened } from '../functions-api/suite.js';
import type { Contender } from '../harness/rounds.js';
import type { Figure } from '../harness/table.js';
import { CellLoads, cellsOf, type Cell, type CellSample } from './cells.js';
import { CollectionsApi } from './collections-api.js';
import { figuresOf, wholeRunFigures } from './figures.js';
import { customerCount, customerOf, customers, idOf, orderOf, orders } from './orders.js';
import type { Pace } from './pace.js';
import { makePeerTables } from './peer-tables.js';
import { startPlatformatic } from './platformatic.js';
import { serverNames, startBareProxy, startHandWritten, type Server } from './servers.js';
import { csvOf, definitionMs, importRate } from './whole-runs.js';

interface Surroundings {
  readonly url: Secret;
  readonly directory: string;
  readonly leash: Leash;
  readonly generator: Generator;
  readonly pace: Pace;
}

/** One result of a contender: a load, or the values of a whole run. */
export type Measured = { readonly load: CellSample } | { readonly values: readonly number[] };

export interface OpenedSuite {
  readonly contenders: readonly Contender<Measured>[];
  readonly warmUp: (signal: AbortSignal) => Promise<void>;
  readonly figures: (results: readonly (readonly Measured[])[]) => Figure[];
  readonly close: () => Promise<void>;
}

/** Starts all servers on one PostgreSQL, fills it, and returns what is measured. The caller must call `close`. */
export async function openSuite(around: Surroundings): Promise<OpenedSuite> {
  const opened = new Opened();
  try {
    const { servers, api } = await startServers(around, opened);
    return toSuite(servers, api, around, opened);
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

async function startServers({ url, directory, leash, pace }: Surroundings, opened: Opened) {
  const environment = { DATABASE_URL: url.reveal() };
  const platform = await opened.add(Platform.start(path.join(directory, 'platform'), leash, undefined, environment));
  const { headers } = platform;
  const worker = await platform.collectionWorker();
  const api = new CollectionsApi({ platform: platform.url, worker: `http://127.0.0.1:${worker.port}` }, headers);
  await fill(api, pace.records);
  await makePeerTables(url.reveal(), pace.records);
  await vacuum(url.reveal());
  const close = () => Promise.resolve(); // with the platform
  const collection: Server = { kind: 'collection', headers, ...worker, close };
  const behind = () => platform.collectionWorkerPids;
  const gateway: Server = { kind: 'gateway', headers, pid: platform.pid, port: platform.port, behind, close };
  const handWritten = await opened.add(startHandWritten(url, leash));
  const bareProxy = await opened.add(startBareProxy(worker, headers, leash));
  const platformatic = await startPlatformatic(url, leash);
  if (platformatic) await opened.add(Promise.resolve(platformatic));
  return { api, servers: [collection, gateway, bareProxy, handWritten, ...(platformatic ? [platformatic] : [])] };
}

/** The records of all servers have the same ids and values. */
async function fill(api: CollectionsApi, records: number): Promise<void> {
  const toLines = (count: number, row: (n: number) => object): Buffer =>
    Buffer.from(Array.from({ length: count }, (_, n) => `${JSON.stringify(row(n))}\n`).join(''));
  const customerLines = toLines(customerCount, (n) => ({ id: idOf('customers', n), ...customerOf(n) }));
  // Before the first request: on a busy machine this takes longer than the worker keeps an idle connection.
  const orderLines = toLines(records, (n) => ({ id: idOf('orders', n), ...orderOf(n) }));
  await api.define(customers);
  await api.import('customers', customerLines, 'application/x-ndjson');
  await api.define(orders);
  await api.import('orders', orderLines, 'application/x-ndjson');
}

async function vacuum(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}

function toSuite(servers: readonly Server[], api: CollectionsApi, around: Surroundings, opened: Opened): OpenedSuite {
  const { pace } = around;
  const cells = cellsOf(servers, pace.records);
  const loads = new CellLoads(around.generator);
  const file = csvOf(pace.importedRows, 'I');
  const load = (cell: Cell): Contender<Measured> => ({
    name: `${cell.line.name}, ${cell.inFlight} in flight: ${serverNames[cell.server.kind]}`,
    run: async () => ({ load: await loads.load(cell, { durationMs: pace.loadMs }) }),
  });
  const imports: Contender<Measured> = {
    name: 'import',
    run: async (round) => ({ values: [await importRate(api, file, pace.importedRows, `imported-${round}`)] }),
  };
  const definitions = (through: 'platform' | 'worker'): Contender<Measured> => ({
    name: `definition through the ${through}`,
    async run(round) {
      const values: number[] = [];
      for (let n = 0; n < pace.definitions; n += 1) {
        values.push(await definitionMs(api, `defined-${through}-${round}-${n}`, through));
      }
      return { values };
    },
  });
  return {
    contenders: [...cells.map(load), imports, definitions('worker'), definitions('platform')],
    async warmUp(signal) {
      for (const cell of cells) {
        signal.throwIfAborted();
        await loads.load(cell, { requests: pace.warmUpRequests });
      }
    },
    figures(results) {
      const samples = results
        .slice(0, cells.length)
        .map((rounds) => rounds.flatMap((r) => ('load' in r ? [r.load] : [])));
      const [rates = [], worker = [], gateway = []] = results
        .slice(cells.length)
        .map((rounds) => rounds.flatMap((result) => ('values' in result ? result.values : [])));
      return [...figuresOf(cells, samples), ...wholeRunFigures(rates, { worker, gateway })];
    },
    close: () => opened.closeAll(),
  };
}
