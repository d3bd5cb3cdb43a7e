import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kind, type ToWorker } from '../types/wire-message.js';
import type { Connection } from '../types/driver.js';
import { SerializationError, WorkerClosedError, WorkerCrashedError } from '../types/errors.js';
import type { WorkerClient, WorkerOptions } from '../types/worker.js';
import { createWorker } from './create-worker.js';
import { ScriptedDriver } from './scripted-driver.test.fixture.js';
import { failureOf, fixture, type Loose } from './test-bench.test.fixture.js';

/** Its connections refuse functions, as real ones do. */
class StrictDriver extends ScriptedDriver {
  override connect(...args: Parameters<ScriptedDriver['connect']>): Connection {
    const connection = super.connect(...args);
    const { last } = this;
    const send = last.send.bind(last);
    last.send = (message: ToWorker) => {
      if (typeof message[4] === 'function') throw new SerializationError('A function cannot be cloned.');
      send(message);
    };
    return connection;
  }
}

let driver: StrictDriver;
let opened: { close(): Promise<void> }[] = [];
beforeEach(() => void (driver = new StrictDriver()));
afterEach(async () => {
  await Promise.all(opened.splice(0).map((worker) => worker.close()));
});

async function open(options: Partial<WorkerOptions<Loose>> = {}): Promise<WorkerClient<Loose>> {
  const worker = await createWorker<Loose>({ script: fixture('worker.mjs'), driver, logLevel: 'silent', ...options });
  opened.push(worker);
  return worker;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const unsendable = (): void => undefined;
/** Settles with the number of requests for each kind of outcome. */
async function outcomes(answers: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const settled of await Promise.allSettled(answers)) {
    const name = settled.status === 'fulfilled' ? 'answered' : (settled.reason as Error).name;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('requests that cannot be serialized', () => {
  it('fail one after the other behind a request that is answered', async () => {
    const worker = await open({ maxConcurrent: 1 });
    const good = worker.send('good');
    const bad = outcomes(times(3_000, () => worker.send('bad', unsendable)));
    const last = worker.send('last');
    driver.last.answer('good', 1);
    expect(await good).toBe(1);
    expect(await bad).toEqual({ SerializationError: 3_000 });
    await turn();
    driver.last.answer('last', 2);
    expect(await last).toBe(2);
  });

  it('fail after a crash, and the others are answered', async () => {
    const worker = await open({ unexpectedShutdown: { strategy: 'retry' } });
    const good = worker.send('good');
    driver.last.die();
    const bad = outcomes(times(3_000, () => worker.send('bad', unsendable)));
    await turn();
    expect(driver.last.requests).toMatchObject([{ type: 'good', attempt: 2 }]);
    driver.last.answer('good', 1);
    expect(await good).toBe(1);
    expect(await bad).toEqual({ SerializationError: 3_000 });
    expect(worker.pending).toBe(0);
  });
});

it('sends waiting requests in the order of their priority', async () => {
  const worker = await open({ maxConcurrent: 1 });
  const answers = [
    worker.send('first'),
    worker.send('low', undefined, { priority: -1 }),
    worker.send('normal'),
    worker.send('high', undefined, { priority: 1 }),
  ];
  for (const type of ['first', 'high', 'normal', 'low']) {
    expect(driver.last.requests.at(-1)).toMatchObject({ type });
    driver.last.answer(type, type);
  }
  expect(await Promise.all(answers)).toEqual(['first', 'low', 'normal', 'high']);
});

it('refuses a priority that cannot be compared', async () => {
  const worker = await open();
  const failure = await failureOf(worker.send('work', undefined, { priority: Number.NaN }));
  expect(failure).toMatchObject({
    code: 'ERR_UNSUPPORTED_OPTION',
    message: expect.stringContaining('priority is NaN'),
  });
  expect(driver.last.sent).toEqual([]);
});

describe('a crash with many requests', () => {
  it('runs again what had not started, in order and without blocking the event loop', async () => {
    const worker = await open({ timeout: 0 });
    const first = failureOf(worker.send('first'));
    const answers = outcomes(times(3_000, (n) => worker.send(`n${n}`)));
    driver.last.start('first');
    driver.last.die();
    expect(await first).toBeInstanceOf(WorkerCrashedError);
    const perTurn: number[] = [];
    while (perTurn.length < 100 && (driver.connections.length < 2 || driver.last.sent.length < 3_000)) {
      await turn();
      perTurn.push(driver.last.sent.length);
    }
    expect(Math.max(...perTurn.slice(1).map((sent, index) => sent - (perTurn[index] ?? 0)))).toBeLessThanOrEqual(2_000);
    const { last } = driver;
    expect(last.requests.map(({ type }) => type)).toEqual(times(3_000, (n) => `n${n}`));
    for (const { id } of last.requests) last.say([kind.result, id, 'done']);
    expect(await answers).toEqual({ answered: 3_000 });
  });

  it.each([
    ['a crash', () => driver.last.die(), 'WorkerCrashedError'],
    ['close', (worker: WorkerClient<Loose>) => void worker.close(), 'WorkerClosedError'],
  ])('rejects 3,000 started ones after %s without blocking the event loop', async (_, end, name) => {
    const worker = await open({ maxPending: Infinity, timeout: 0 });
    const answers = times(3_000, () => worker.send('work'));
    const counted = outcomes(answers);
    driver.last.keepsNotes = false; // all are suspects
    let settled = 0;
    for (const answer of answers) void answer.catch(() => (settled += 1));
    end(worker);
    const perTurn: number[] = [];
    while (settled < answers.length) {
      const before = settled;
      await turn();
      perTurn.push(settled - before);
    }
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2_000);
    expect(await counted).toEqual({ [name]: 3_000 });
    expect(worker.pending).toBe(0);
  });

  it('lets a caller give up that waits for its rejection, and drains after the last one', async () => {
    const worker = await open({ maxPending: Infinity, timeout: 0 });
    const controller = new AbortController();
    const answers = outcomes(times(3_000, () => worker.send('work')));
    const last = failureOf(worker.send('work', undefined, { signal: controller.signal }));
    driver.last.keepsNotes = false;
    driver.last.die();
    const drained = worker.drain();
    controller.abort(new Error('enough'));
    expect(worker.pending).toBeGreaterThan(0);
    await drained;
    expect(worker.pending).toBe(0);
    expect(await last).toMatchObject({ message: 'enough' });
    expect(await answers).toEqual({ WorkerCrashedError: 3_000 });
  });

  it('closes only when all are rejected', async () => {
    const worker = await open({ maxPending: Infinity, timeout: 0 });
    const answers = times(3_000, () => worker.send('work'));
    const counted = outcomes(answers);
    await worker.close();
    expect(worker.pending).toBe(0);
    expect(await counted).toEqual({ WorkerClosedError: 3_000 });
    expect(await failureOf(worker.send('late'))).toBeInstanceOf(WorkerClosedError);
  });
});
