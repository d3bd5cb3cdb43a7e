import type { QueueControl } from '@drover/dispatchers';
import { describe, expect, it } from 'vitest';
import type { CallAnswer } from './call-results.js';
import { PartitionExecutions } from './partition-executions.js';
import { QueueCommands } from './queries/queue-commands.js';
import { broken, EngineTrial, ok, settled } from './testing/engine-trial.js';

function open() {
  const trial = new EngineTrial();
  const { engine, store, clock } = trial;
  const catalog = { peek: () => undefined, find: async () => undefined, onChange: () => undefined };
  const partitions = new PartitionExecutions({
    engine,
    store,
    orphans: trial.orphans,
    lifetimeMs: 600_000,
    catalog,
    onResult: () => undefined,
    clock,
    observe: () => undefined,
  });
  return { trial, queues: new QueueCommands({ engine, partitions }) };
}

function controlled(
  trial: EngineTrial,
  state: QueueControl['state'],
  isRemoving = false,
): { queueControl: QueueControl } {
  return { queueControl: { state, isRemoving, changedAt: trial.clock.now() } };
}

const codeOf = (answers: readonly CallAnswer[]): unknown =>
  answers[0]?.kind === 'refused' ? answers[0].refusal.error.code : undefined;

describe('a paused queue', () => {
  it('accepts asynchronous calls and starts none; the resume starts them in their order', async () => {
    const { trial } = open();
    const queue = await trial.register('f', { concurrency: 2 });
    trial.patch(queue, controlled(trial, 'paused'));
    const ids = [await trial.enqueue(queue), await trial.enqueue(queue), await trial.enqueue(queue)];
    await trial.clock.advance(5_000);
    expect(trial.runs).toEqual([]);
    trial.patch(queue, controlled(trial, 'open'));
    expect(trial.runs.map(({ attempt }) => attempt.accepted.executionId)).toEqual(ids.slice(0, 2));
  });

  it('lets a running attempt finish and starts no other in its slot', async () => {
    const { trial } = open();
    const queue = await trial.register('f');
    const [first, second] = [await trial.enqueue(queue), await trial.enqueue(queue)];
    trial.patch(queue, controlled(trial, 'paused'));
    await trial.last.end(ok);
    await trial.clock.advance(1_000);
    expect(trial.runs.map(({ attempt }) => attempt.accepted.executionId)).toEqual([first]);
    expect((await trial.store.find(queue.tenantId, first))?.outcome.status).toBe('success');
    expect(trial.engine.live.get(second)?.status).toBe('queued');
  });

  it('refuses synchronous calls at once, which would wait in vain', async () => {
    const { trial } = open();
    const queue = await trial.register('f');
    trial.patch(queue, controlled(trial, 'paused'));
    expect(codeOf(trial.invoke(queue).answers)).toBe('FUNCTION_PAUSED');
  });

  it('expires nothing, and the time in it does not count', async () => {
    const { trial } = open();
    await trial.engine.start();
    const queue = await trial.register('f');
    await trial.enqueue(queue);
    const waiting = await trial.enqueue(queue);
    trial.patch(queue, controlled(trial, 'paused'));
    await trial.last.end(ok);
    await trial.clock.advance(3_600_000);
    trial.patch(queue, controlled(trial, 'open'));
    await trial.clock.advance(10);
    expect(trial.last.attempt.accepted.executionId).toBe(waiting);
    await trial.engine.stop();
  });
});

describe('a call whose attempt fails after a pause', () => {
  it('is retried as if there had been no pause', async () => {
    const { trial } = open();
    const queue = await trial.register('f');
    await trial.enqueue(queue);
    trial.patch(queue, controlled(trial, 'paused'));
    await trial.last.end(broken);
    await trial.clock.advance(24 * 3_600_000);
    trial.patch(queue, controlled(trial, 'open'));
    await trial.clock.advance(10);
    await trial.last.end(broken);
    await trial.clock.advance(1_000);
    expect(trial.runs.map(({ attempt }) => attempt.number)).toEqual([1, 2, 3]);
  });
});

describe('a draining queue', () => {
  it('accepts no calls and runs those that wait', async () => {
    const { trial, queues } = open();
    const queue = await trial.register('f');
    await trial.enqueue(queue);
    await trial.enqueue(queue);
    trial.patch(queue, controlled(trial, 'draining'));
    expect(codeOf(trial.invoke(queue).answers)).toBe('FUNCTION_DRAINING');
    await expect(trial.enqueue(queue)).rejects.toMatchObject({ code: 'FUNCTION_DRAINING', status: 503 });
    for (let n = 0; n < 2; n += 1) await trial.last.end(ok);
    expect(queues.countsOf(queue.tenantId, 'f')).toEqual({ waiting: 0, retrying: 0, scheduled: 0, running: 0 });
    trial.patch(queue, controlled(trial, 'open'));
    await trial.enqueue(queue);
    expect(trial.runs).toHaveLength(3);
  });

  it('of a function that is being removed refuses with the code that nanoFaaS uses', async () => {
    const { trial } = open();
    const queue = await trial.register('f');
    trial.patch(queue, controlled(trial, 'draining', true));
    await expect(trial.enqueue(queue)).rejects.toMatchObject({ code: 'FUNCTION_REMOVAL_PENDING', status: 409 });
  });
});

describe('a purge', () => {
  it('cancels calls that wait, for a slot, their time or a retry, and leaves what runs', async () => {
    const { trial, queues } = open();
    const queue = await trial.register('f');
    const other = await trial.register('g');
    await trial.enqueue(other);
    const running = await trial.enqueue(queue);
    const waiting = [await trial.enqueue(queue), await trial.enqueue(queue, { runAt: trial.clock.now() + 60_000 })];
    expect(queues.countsOf(queue.tenantId, 'f')).toEqual({ waiting: 1, retrying: 0, scheduled: 1, running: 1 });
    const purging = queues.purge(queue.tenantId, 'f');
    await settled();
    expect(await purging).toBe(2);
    for (const id of waiting)
      expect((await trial.store.find(queue.tenantId, id))?.outcome).toMatchObject({
        status: 'cancelled',
        error: { code: 'QUEUE_PURGED' },
        deadLetter: false,
      });
    expect(trial.engine.live.get(running)?.status).toBe('running');
    expect(queues.countsOf(other.tenantId, 'g')).toMatchObject({ running: 1 });
  });
});

describe('a change of the definition', () => {
  it('keeps the calls that wait, which run with the new definition', async () => {
    const { trial } = open();
    const queue = await trial.register('f', { endpointUrl: 'http://old/' });
    await trial.enqueue(queue);
    await trial.enqueue(queue);
    trial.patch(queue, { endpointUrl: 'http://new/', queueSize: 500 });
    await trial.last.end(ok);
    expect(trial.runs.map(({ attempt }) => attempt.definition.endpointUrl)).toEqual(['http://old/', 'http://new/']);
  });

  it('to another mode releases what was kept warm for the old one', async () => {
    const { trial } = open();
    const queue = await trial.register('f', { mode: 'LOCAL' });
    trial.patch(queue, { mode: 'POOL' });
    expect(trial.dispatcher.forgotten.map(({ mode }) => mode)).toEqual(['LOCAL']);
  });
});
