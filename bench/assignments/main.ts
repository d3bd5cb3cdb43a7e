import { controlPlaneSchema, defaultAssignmentPolicy, runAssignmentPass } from '@drover/control-plane/testing';
import { Database, migrate } from '@drover/database';
import { PostgresEventBus } from '@drover/event-bus';
import { systemClock, systemRandomness } from '@drover/service-kit';
import type { Run } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withScratchPostgres } from '../harness/scratch-postgres.js';
import { median } from '../harness/statistics.js';
import { below, type Figure } from '../harness/table.js';

const collections = 10_000;
const workers = 200;
const mostCpuMs = 1_000;

interface Pace {
  readonly rounds: number;
}

/** One pass: CPU time of this process, and the time until its transaction is committed. */
interface Pass {
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** What happens before each pass of a round, in order. */
const situations: readonly { readonly what: string; readonly sql: string }[] = [
  {
    what: 'all collections are new',
    sql: `truncate drover.collection_assignments, drover.collection_routes;
          update drover.collection_workers set status = 'READY', last_heartbeat = now()`,
  },
  {
    what: 'all of them are ready',
    sql: `update drover.collection_assignments set status = 'READY', ready_at = now(), assigned_at = now() - interval '1 day'`,
  },
  { what: 'the first pass without a change', sql: 'select 1' },
  { what: 'each further pass without a change', sql: 'select 1' },
  { what: 'a worker is gone', sql: `update drover.collection_workers set status = 'OFFLINE' where id = 'worker-7'` },
  { what: 'it is back', sql: `update drover.collection_workers set status = 'READY' where id = 'worker-7'` },
];

async function measure({ rounds }: Pace, { signal, progress, publish }: Run): Promise<Figure[]> {
  return await withScratchPostgres(async (url) => {
    const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
    const database = new Database({ url, applicationName: 'bench', ...io });
    try {
      await database.start();
      await migrate(database, controlPlaneSchema, { release: 'bench', ...io });
      await fill(database);
      const bus = new PostgresEventBus({ database, ...io });
      const passes = situations.map((): Pass[] => []);
      const measured = (): Figure[] => situations.flatMap(({ what }, index) => figures(what, passes[index] ?? []));
      for (let round = 0; round < rounds; round += 1) {
        for (const [index, { what, sql }] of situations.entries()) {
          signal.throwIfAborted();
          progress(round, what);
          for (const statement of sql.split(';')) await database.query(statement);
          passes[index]?.push(await timed(() => pass(database, bus)));
        }
        publish(measured());
      }
      return measured();
    } finally {
      await database.stop();
    }
  });
}

async function fill(database: Database): Promise<void> {
  await database.query(
    `insert into drover.collections (id, tenant_id, name, version, created_by)
     select gen_random_uuid(), 'tenant-' || n % 50, 'collection-' || n, 1, 'bench' from generate_series(1, ${collections}) n`,
  );
  await database.query(
    `insert into drover.collection_workers (id, status, base_url, pool, capacity, labels)
     select 'worker-' || n, 'READY', 'http://worker-' || n || ':7073', 'default', 1000, '{}' from generate_series(1, ${workers}) n`,
  );
}

async function pass(database: Database, bus: PostgresEventBus): Promise<void> {
  await runAssignmentPass({
    database,
    bus,
    policy: defaultAssignmentPolicy,
    replicas: 2,
    staleMs: 3_600_000,
    silentMs: 3_600_000,
    awayMs: 15_000,
    forgetMs: 3_600_000,
    pools: new Map(),
  });
}

async function timed(run: () => Promise<void>): Promise<Pass> {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1_000, wallMs: performance.now() - startedMs };
}

function figures(what: string, passes: readonly Pass[]): Figure[] {
  const cpuMs = median(passes.map((one) => one.cpuMs));
  return [
    { what: `${what}: CPU`, value: cpuMs, unit: 'ms', goal: below(cpuMs, mostCpuMs, ' ms') },
    { what: `${what}: until committed`, value: median(passes.map((one) => one.wallMs)), unit: 'ms' },
  ];
}

await runSuite<Pace>({
  name: 'assignments',
  quick: { rounds: 3 },
  thorough: { rounds: 9 },
  measure,
});
