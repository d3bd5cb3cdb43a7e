import { describe, expect, it } from 'vitest';
import type { FunctionDefinition } from '@drover/dispatchers';
import type { FunctionCatalog } from '../functions/function-catalog.js';
import { PartitionExecutions } from './partition-executions.js';
import type { FunctionQueue } from './function-queue.js';
import { broken, EngineTrial, ok, settled } from './testing/engine-trial.js';

/** Finds one definition for every name, or fails. */
class OneFunction implements FunctionCatalog {
  definition: FunctionDefinition | undefined;
  fails = false;

  peek(): FunctionDefinition | undefined {
    return this.fails ? undefined : this.definition;
  }

  async find(): Promise<FunctionDefinition | undefined> {
    if (this.fails) throw new Error('no database');
    return this.definition;
  }

  onChange(): void {}
}

/** One that runs and two that wait for it. */
async function busy(): Promise<{
  trial: EngineTrial;
  partitions: PartitionExecutions;
  queue: FunctionQueue;
  catalog: OneFunction;
}> {
  const trial = new EngineTrial();
  const { engine, store, clock } = trial;
  const queue = await trial.register('f');
  for (let n = 0; n < 3; n += 1) await trial.enqueue(queue);
  const catalog = new OneFunction();
  catalog.definition = queue.definition;
  const partitions = new PartitionExecutions({
    engine,
    store,
    orphans: trial.orphans,
    lifetimeMs: 600_000,
    catalog,
    onResult: (accepted, _url, outcome) => trial.results.push({ accepted, outcome }),
    clock,
    observe: () => undefined,
  });
  expect(trial.runs).toHaveLength(1);
  return { trial, partitions, queue, catalog };
}

describe('a partition', () => {
  it('that is released finishes what runs, and starts nothing that waits: the next owner does', async () => {
    const { trial, partitions, queue } = await busy();
    const left = partitions.releasing([queue.partition], new AbortController().signal);
    await settled();
    await trial.last.end();
    await left;
    expect([trial.runs.length, trial.engine.live.size, queue.waiting, queue.inFlight]).toEqual([1, 0, 0, 0]);
  });

  it('that is lost drops everything at once, and starts nothing more', async () => {
    const { trial, partitions, queue } = await busy();
    partitions.lost([queue.partition]);
    expect(trial.last.abandoned).toEqual(['stopping']);
    await settled();
    expect([trial.runs.length, trial.engine.live.size, queue.waiting, queue.inFlight]).toEqual([1, 0, 0, 0]);
  });

  it('that is lost without notice yet starts nothing more', async () => {
    const { trial, partitions, queue } = await busy();
    trial.isOwner = false;
    await trial.last.end();
    expect(trial.runs).toHaveLength(1);
    partitions.lost([queue.partition]);
    expect([trial.engine.live.size, queue.waiting, queue.inFlight]).toEqual([0, 0, 0]);
  });

  it('that was in doubt and is still owned goes on with what waits', async () => {
    const { trial, partitions, queue } = await busy();
    trial.isOwner = false;
    await trial.last.end();
    expect([trial.runs.length, queue.waiting]).toEqual([1, 2]);
    trial.isOwner = true;
    partitions.resumed([queue.partition]);
    await trial.last.end();
    await trial.last.end();
    expect([trial.runs.length, trial.engine.live.size]).toEqual([3, 0]);
  });

  it('that is acquired again continues its unfinished executions', async () => {
    const { trial, partitions, queue } = await busy();
    partitions.lost([queue.partition]);
    await partitions.acquired([queue.partition]);
    await settled();
    expect(trial.runs).toHaveLength(2);
    for (let n = 0; n < 3; n += 1) await trial.last.end();
    expect([trial.runs.length, trial.engine.live.size]).toEqual([4, 0]);
  });

  it('keeps asynchronous executions while a version of the application lacks their function', async () => {
    const { trial, partitions, queue: registered, catalog } = await busy();
    partitions.lost([registered.partition]);
    const discovered = { application: 'shop', trigger: 'queueTrigger' };
    const queue = await trial.register('g', { mode: 'APP', requestedMode: 'APP', discovered });
    const first = await trial.enqueue(queue);
    const run = trial.last;
    const second = await trial.enqueue(queue, { idempotencyKey: 'k' });
    const delayed = await trial.enqueue(queue, { runAt: trial.clock.now() + 5_000 });
    const { answers } = trial.invoke(queue, { idempotencyKey: 'sync' });
    catalog.definition = undefined;
    trial.remove(queue);
    await settled();
    // The caller that waits does not wait for another version; the others do, the one whose attempt ends now, too.
    expect(answers).toMatchObject([{ kind: 'ended', outcome: { error: { code: 'FUNCTION_REMOVED' } } }]);
    await run.end(broken);
    await trial.clock.advance(2_000);
    expect([...partitions.orphans()].map(({ accepted }) => accepted.executionId).toSorted()).toEqual(
      [first, second, delayed].toSorted(),
    );
    // The next version has it again.
    const ran: string[] = [];
    trial.dispatcher.respond = ({ accepted }) => (ran.push(accepted.executionId), ok);
    catalog.definition = queue.definition;
    await trial.clock.advance(5_000);
    expect(ran).toEqual([first, second, delayed]);
    expect([trial.engine.live.size, trial.orphans.size]).toEqual([0, 0]);
  });

  it('lets the key of an execution that waits for its function stand for it as soon as the function is back', async () => {
    const { trial } = await busy();
    const discovered = { application: 'shop', trigger: 'queueTrigger' };
    const queue = await trial.register('g', { mode: 'APP', requestedMode: 'APP', discovered });
    await trial.enqueue(queue);
    const waiting = await trial.enqueue(queue, { idempotencyKey: 'k' });
    trial.remove(queue);
    expect(trial.orphans.size).toBe(1);
    const back = trial.engine.queueFor(queue.definition);
    expect(await trial.enqueue(back, { idempotencyKey: 'k' })).toBe(waiting);
    expect(trial.orphans.size).toBe(0);
  });

  it('makes dead letters of executions whose function does not return within their lifetime', async () => {
    const { trial, partitions, queue, catalog } = await busy();
    partitions.lost([queue.partition]);
    catalog.definition = undefined;
    await partitions.acquired([queue.partition]);
    await trial.clock.advance(599_000);
    expect(trial.orphans.size).toBe(3);
    await trial.clock.advance(2_000);
    expect(trial.orphans.size).toBe(0);
    const letters = await trial.store.list({ tenantId: queue.tenantId, deadLettersOnly: true, limit: 10 });
    expect(letters.map(({ outcome }) => outcome.error?.code)).toEqual(Array(3).fill('EXECUTION_EXPIRED'));
  });

  it('looks for the functions of its executions again after the catalog or the store has failed', async () => {
    const { trial, partitions, queue, catalog } = await busy();
    partitions.lost([queue.partition]);
    catalog.definition = undefined;
    await partitions.acquired([queue.partition]);
    const [orphan] = partitions.orphans();
    catalog.fails = true;
    await trial.clock.advance(1_000);
    catalog.fails = false;
    catalog.definition = { ...queue.definition, generation: queue.generation + 1 };
    const finish = trial.store.finish.bind(trial.store);
    trial.store.finish = () => Promise.reject(new Error('no database'));
    await trial.clock.advance(1_000);
    expect([...partitions.orphans()]).toContain(orphan);
    trial.store.finish = finish;
    await trial.clock.advance(1_000);
    expect([...partitions.orphans()]).toEqual([]);
    expect(await trial.store.list({ tenantId: queue.tenantId, deadLettersOnly: true, limit: 10 })).toHaveLength(3);
  });

  it('reports the end of an execution whose function is gone to its callback URL', async () => {
    const { trial, partitions, queue, catalog } = await busy();
    const callbackUrl = 'https://example.org/';
    await trial.enqueue(queue, { callbackUrl });
    partitions.lost([queue.partition]);
    catalog.definition = { ...queue.definition, generation: queue.generation + 1 };
    await partitions.acquired([queue.partition]);
    expect(trial.results).toMatchObject([{ accepted: { callbackUrl }, outcome: { status: 'error' } }]);
  });
});
