import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database } from '@drover/database';
import { sleep, systemClock, type Randomness } from '@drover/service-kit';
import { Child, eventually, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { Assignment } from './durable/child-program.js';
import { countMissing, createLedger, readHandled, readLedger } from './durable/ledger.js';
import { findViolations } from './durable/violations.js';

/** One installation in which every process can be killed. */
export interface DurableWorld {
  /** The database with the outbox and the tables of the bus. */
  readonly database: Database;
  /** How a child process opens its bus. */
  readonly child: Assignment;
  /** Maximum age of a repeated event, in time spent on progress: how often the adapter saves positions. */
  readonly repeatsWithinMs: number;
  /** Kills the store of the events, as a power failure would; resolves when it serves again. */
  killBackEnd(): Promise<void>;
  close(): Promise<void>;
}

const kills = { publisher: 5, subscriber: 5, backEnd: 2 };
/** How long a process works before it is killed. */
const pauseMs = {
  publisher: { least: 100, most: 1_500 },
  subscriber: { least: 50, most: 1_000 },
  backEnd: { least: 1_000, most: 3_000 },
};
/** Some are killed while they are still starting. */
const killedEarly = 0.2;
/** After the last kill: take over, and work off what has piled up. */
const catchUpMs = 90_000;
/** Fewer would show nothing; two free cores write ten times as many. A slow machine gets the time that it needs. */
const leastEvents = 100;

/** The guarantees of an event bus whose events outlive its processes; the test of each durable adapter runs it. */
export function durableEventBusContract(
  adapter: string,
  openWorld: () => Promise<DurableWorld>,
  seed = Number(process.env['DROVER_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31)),
): void {
  describe(`the durable event bus contract: ${adapter}`, () => {
    it(`loses, invents and reorders nothing while publisher, subscriber and back end are killed (DROVER_TEST_SEED=${seed})`, async () => {
      const world = await openWorld();
      const children = new Set<Child>();
      try {
        await createLedger(world.database);
        const start = (program: string): Child => startChild(program, world.child, children);
        const publisher = await killOneAfterTheOther(world, start, seed);
        await eventually(
          async () => expect((await readLedger(world.database)).length).toBeGreaterThan(leastEvents),
          60_000,
        );
        await publisher.end();
        // What is missing after that is named below.
        await eventually(async () => (await countMissing(world.database)) === 0, catchUpMs).catch(() => undefined);
        const [ledger, handled] = [await readLedger(world.database), await readHandled(world.database)];
        const { repeatsWithinMs } = world;
        expect(findViolations({ ledger, handled, repeatsWithinMs })).toEqual([]);
      } catch (error) {
        throw new Error(explain(seed, children), { cause: error });
      } finally {
        await Promise.all([...children].map((child) => child.end()));
        await world.close();
      }
    });
  });
}

type Start = (program: 'publisher' | 'subscriber') => Child;

/** The three schedules run side by side; returns the publisher that is left. */
async function killOneAfterTheOther(world: DurableWorld, start: Start, seed: number): Promise<Child> {
  let publisher = start('publisher');
  let subscribers = [start('subscriber'), start('subscriber')];
  await Promise.all([publisher, ...subscribers].map((child) => child.line(/^open$/)));
  await Promise.all([
    repeat(kills.publisher, pauseMs.publisher, seededRandomness(seed), async (isEarly) => {
      await publisher.end();
      publisher = start('publisher');
      if (!isEarly) await publisher.line(/^open$/);
    }),
    repeat(kills.subscriber, pauseMs.subscriber, seededRandomness(seed + 1), async (isEarly) => {
      // The delivering process is killed, the one that stands by takes over, and the new one stands by.
      const [working, ...others] = subscribers.toSorted((a, b) => lastHandledAt(b) - lastHandledAt(a));
      await working?.end();
      const fresh = start('subscriber');
      subscribers = [...others, fresh];
      if (!isEarly) await fresh.line(/^open$/);
    }),
    repeat(kills.backEnd, pauseMs.backEnd, seededRandomness(seed + 2), () => world.killBackEnd()),
  ]);
  return publisher;
}

async function repeat(
  times: number,
  { least, most }: { readonly least: number; readonly most: number },
  randomness: Randomness,
  action: (isEarly: boolean) => Promise<void>,
): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    await sleep(systemClock, least + (most - least) * randomness.fraction());
    await action(randomness.fraction() < killedEarly);
  }
}

function startChild(program: string, assignment: Assignment, children: Set<Child>): Child {
  // The compiled program: Node 20 runs no TypeScript.
  const file = path.resolve(
    path.dirname(fileURLToPath(import.meta.url)),
    `../../dist/testing/durable/${program}-process.js`,
  );
  const child = new Child(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  child.process.send(assignment, () => undefined); // killed before it could read: another one takes its place
  children.add(child);
  return child;
}

function lastHandledAt(child: Child): number {
  return Number(child.stdout.findLast((line) => line.startsWith('handled '))?.slice('handled '.length) ?? 0);
}

function explain(seed: number, children: ReadonlySet<Child>): string {
  const complaints = [...children].flatMap((child) => child.stderr.map((line) => `  ${child.pid}: ${line}`));
  return [`DROVER_TEST_SEED=${seed} made this run; its processes complained:`, ...complaints].join('\n');
}
