import { describe, expect, it } from 'vitest';
import { PlacementTrial, placedApplication, workerInstance } from './placement.test.fixture.js';

const shop = 'acme/shop';
const version = 'acme/shop:c1';

/** A runtime with `idle` placeholders, and the application at zero. */
function warmTrial(idle: number): { trial: PlacementTrial; pool: readonly string[] } {
  const trial = new PlacementTrial();
  trial.attach();
  trial.step({ kind: 'application', application: placedApplication(shop) });
  trial.answer('host');
  trial.step({ kind: 'pool', target: idle });
  const pool = trial.started();
  for (const workerId of pool) {
    trial.instance(workerId);
    trial.report(workerId, 'placeholder');
  }
  return { trial, pool };
}

/** Brings up workers of the application. */
function servingTrial(workers: number, idle = 0): { trial: PlacementTrial; serving: string[] } {
  const { trial } = warmTrial(idle);
  trial.step({ kind: 'desired', application: shop, workers });
  const warm = trial.commands('specialize').map(({ workerId }) => workerId);
  const cold = trial
    .commands('expect')
    .flatMap(({ workerId, versionKey }) => (versionKey === undefined ? [] : [workerId]));
  const serving = [...warm, ...cold];
  for (const workerId of serving) {
    trial.instance(workerId);
    trial.report(workerId, 'specializing', version);
    trial.report(workerId, 'ready', version);
  }
  return { trial, serving };
}

describe('placement from zero', () => {
  it('specializes an idle placeholder in the step of the urgent request, and replenishes the pool in the same step', () => {
    const { trial, pool } = warmTrial(2);
    trial.request(shop);
    expect(trial.commands('specialize')).toMatchObject([{ workerId: pool[0], versionKey: version }]);
    expect(trial.started()).toHaveLength(1);
    expect(trial.effects.some((effect) => effect.kind === 'note' && effect.note.kind === 'placement.pool-missed')).toBe(
      false,
    );
  });

  it('starts one worker, not two, for repeated requests', () => {
    const { trial } = warmTrial(2);
    trial.request(shop);
    trial.request(shop);
    expect(trial.commands('specialize')).toEqual([]);
    expect(trial.states(shop)).toEqual(['specializing']);
  });

  it('takes a placeholder that is starting when none is idle, and counts the miss', () => {
    const trial = new PlacementTrial();
    trial.attach();
    trial.step({ kind: 'application', application: placedApplication(shop) });
    trial.step({ kind: 'pool', target: 1 });
    const [starting] = trial.started();
    trial.request(shop);
    expect(trial.effects).toContainEqual({
      kind: 'note',
      note: { kind: 'placement.pool-missed', workerId: starting, versionKey: version },
    });
    trial.instance(String(starting));
    trial.report(String(starting), 'placeholder');
    expect(trial.commands('specialize')).toMatchObject([{ workerId: starting, versionKey: version }]);
  });

  it('starts a process for the version when the pool is empty', () => {
    const { trial } = warmTrial(0);
    trial.request(shop);
    const [expected] = trial.commands('expect');
    expect(expected).toMatchObject({ versionKey: version });
    expect(trial.started()).toEqual([expected?.workerId]);
  });

  it('leaves the last placeholder to urgent requests', () => {
    const { trial, pool } = warmTrial(2);
    trial.step({ kind: 'desired', application: shop, workers: 3 });
    expect(trial.commands('specialize').map(({ workerId }) => workerId)).toEqual([pool[0]]);
    trial.step({ kind: 'application', application: placedApplication('acme/other') });
    trial.request('acme/other');
    expect(trial.commands('specialize').map(({ workerId }) => workerId)).toEqual([pool[1]]);
  });

  it('stores the row of a worker together with its start', () => {
    const { trial } = warmTrial(0);
    trial.request(shop);
    const [start] = trial.effects.filter((effect) => effect.kind === 'start');
    expect(start).toMatchObject({ row: { versionKey: version, runtimeId: 'runtime-1', endpoint: '127.0.0.1:4000' } });
    expect(start).toMatchObject({
      spec: { labels: { 'drover.tenant': 'acme', 'drover.application': 'shop', 'drover.version': 'c1' } },
    });
  });

  it('starts a process of its own with the options that a version wants, and leaves the placeholders alone', () => {
    const { trial } = warmTrial(2);
    const application = { ...placedApplication('acme/other'), programOptions: { c1: ['--max-old-space-size=64'] } };
    trial.step({ kind: 'application', application });
    trial.request('acme/other');
    expect(trial.commands('specialize')).toEqual([]);
    const [start] = trial.effects.filter((effect) => effect.kind === 'start');
    expect(start).toMatchObject({ spec: { programOptions: ['--max-old-space-size=64'] } });
    expect(trial.commands('expect').at(-1)).not.toHaveProperty('isDebugged');
  });

  it('says of a worker that its version has it started with a debugger', () => {
    const { trial } = warmTrial(0);
    const application = { ...placedApplication('acme/other'), programOptions: { c1: ['--inspect=9229'] } };
    trial.step({ kind: 'application', application });
    trial.request('acme/other');
    expect(trial.commands('expect').at(-1)).toMatchObject({ isDebugged: true });
  });

  it('parks the application when its last worker has ended, not before', () => {
    const { trial, serving } = servingTrial(1);
    trial.step({ kind: 'desired', application: shop, workers: 0 });
    expect(trial.commands('drain')).toMatchObject([{ workerId: serving[0] }]);
    trial.answer('drain');
    expect(trial.ended()).toEqual(serving);
    expect(trial.commands('park')).toEqual([]);
    trial.instance(String(serving[0]), 'ended');
    trial.tick();
    expect(trial.commands('park')).toMatchObject([{ application: shop }]);
    trial.tick();
    expect(trial.effects).toEqual([]);
  });
});

describe('placement of several workers', () => {
  it('never has more than the maximum, whatever is desired', () => {
    const trial = new PlacementTrial();
    trial.attach();
    trial.step({ kind: 'application', application: placedApplication(shop, { c1: 100 }, { maxWorkers: 3 }) });
    trial.step({ kind: 'desired', application: shop, workers: 50 });
    expect(trial.started()).toHaveLength(3);
  });

  it('drains the youngest first', () => {
    const { trial, serving } = servingTrial(3);
    trial.step({ kind: 'desired', application: shop, workers: 1 });
    expect(trial.commands('drain').map(({ workerId }) => workerId)).toEqual(serving.slice(1));
  });

  it('keeps workers of the old version until those of the new one are ready, one for one', () => {
    const { trial, serving } = servingTrial(2);
    trial.step({ kind: 'application', application: placedApplication(shop, { c1: 0, c2: 100 }, { generation: 2 }) });
    const fresh = trial.started();
    expect(fresh).toHaveLength(2);
    expect(trial.commands('drain')).toEqual([]);
    trial.report(String(fresh[0]), 'ready', 'acme/shop:c2');
    expect(trial.commands('drain').map(({ workerId }) => workerId)).toEqual([serving[1]]);
    trial.report(String(fresh[1]), 'ready', 'acme/shop:c2');
    expect(trial.commands('drain').map(({ workerId }) => workerId)).toEqual([serving[0]]);
  });

  it('removes a deleted application from its runtime, ends its workers and reports the end', () => {
    const { trial, serving } = servingTrial(1);
    trial.step({
      kind: 'application',
      application: placedApplication(shop, { c1: 100 }, { generation: 2, isDeleting: true }),
    });
    expect(trial.commands('remove')).toMatchObject([{ application: shop }]);
    trial.answer('remove');
    trial.answer('drain');
    trial.instance(String(serving[0]), 'ended');
    trial.tick();
    expect(trial.effects).toContainEqual({ kind: 'deleted', application: shop });
    expect(trial.effects).toContainEqual({ kind: 'drop-application', application: shop });
  });
});

describe('lost workers', () => {
  it.each([
    ['invocation-timeout', 1],
    ['worker-hung', 1],
    ['worker-crash', 1],
    ['worker-hung', 2],
    ['worker-crash', 2],
  ])('%s with %i workers: the process ends and a replacement starts in the same step', (reason, workers) => {
    const { trial, serving } = servingTrial(workers, 2);
    trial.request(shop, { reason, replaces: String(serving[0]), versionKey: version });
    expect(trial.ended()).toContain(serving[0]);
    expect(trial.states(shop).filter((state) => state === 'specializing' || state === 'starting')).toHaveLength(1);
  });

  it('a timeout beside other workers is replaced with the next pass', () => {
    const { trial, serving } = servingTrial(2, 2);
    trial.report(String(serving[0]), 'gone', version, 'invocation-timeout');
    expect(trial.ended()).toEqual([serving[0]]);
    expect(trial.states(shop)).toEqual(['ending', 'ready']);
    trial.tick();
    expect(trial.states(shop)).toEqual(['ending', 'ready', 'starting']);
  });

  it('an abandoned worker has a grace period before it is killed', () => {
    const { trial, serving } = servingTrial(1);
    trial.request(shop, { reason: 'worker-hung', replaces: String(serving[0]) });
    expect(trial.effects).toContainEqual({ kind: 'end', instanceId: serving[0], graceMs: 5_000 });
    trial.tick(20_000);
    expect(trial.effects).toContainEqual({ kind: 'end', instanceId: serving[0], graceMs: 0 });
  });

  it('a crash is seen once: its process, its stream and the request of its runtime start one replacement', () => {
    const { trial, serving } = servingTrial(1, 2);
    const [lost = ''] = serving;
    trial.instance(lost, 'ended');
    trial.report(lost, 'gone', version, 'worker-crash');
    trial.request(shop, { reason: 'worker-crash', replaces: lost });
    trial.tick();
    expect(trial.states(shop)).toEqual(['specializing']);
  });

  it('a version whose workers die again and again starts later each time', () => {
    const { trial } = warmTrial(0);
    const starts: number[] = [];
    trial.step({ kind: 'desired', application: shop, workers: 1 });
    for (let second = 0; second < 20; second += 1) {
      for (const workerId of trial.started()) {
        starts.push(second);
        trial.instance(workerId, 'ended');
        if (trial.started().length > 0) starts.push(second);
        for (const next of trial.started()) trial.instance(next, 'ended');
      }
      trial.tick();
    }
    expect(starts.length).toBeLessThan(12);
    expect(starts.at(-1)).toBeGreaterThan(10);
  });

  it('a worker that does not connect in time is ended and replaced', () => {
    const { trial } = warmTrial(0);
    trial.step({ kind: 'desired', application: shop, workers: 1 });
    const [silent] = trial.started();
    trial.tick(30_000);
    expect(trial.ended()).toEqual([silent]);
    trial.tick();
    expect(trial.states(shop)).toEqual(['ending', 'starting']);
  });

  it('an isolated worker of a version whose workers fail starts after the delay', () => {
    const { trial } = servingTrial(1);
    for (let crash = 0; crash < 2; crash += 1) {
      for (const { workerId } of trial.placement.workersOf(shop)) {
        trial.report(workerId, 'gone', version, 'crashed');
        trial.instance(workerId, 'ended');
      }
      trial.tick();
    }
    const [last = ''] = trial.placement.workersOf(shop).map(({ workerId }) => workerId);
    trial.instance(last, 'ended');
    trial.request(shop, { priority: 'urgent', reason: 'wake', versionKey: version, isIsolated: true });
    expect(trial.commands('expect')).toEqual([]);
    trial.tick();
    expect(trial.commands('expect').filter(({ isIsolated }) => isIsolated)).toHaveLength(1);
  });

  it('an isolated worker runs beside the others and is not replaced', () => {
    const { trial } = servingTrial(1);
    trial.request(shop, { priority: 'normal', reason: 'restart-asked', versionKey: version, isIsolated: true });
    const [isolated = ''] = trial.started();
    expect(trial.commands('expect')).toMatchObject([{ workerId: isolated, isIsolated: true }]);
    trial.report(isolated, 'ready', version);
    expect(trial.commands('drain')).toEqual([]);
    trial.report(isolated, 'gone', version, 'drained');
    trial.instance(isolated, 'ended');
    trial.tick();
    expect(trial.started()).toEqual([]);
    expect(trial.states(shop)).toEqual(['ready']);
  });
});

describe('a runtime that was started again', () => {
  it('gets its workers back: they are expected again with the same version, and nothing is started', () => {
    const { trial, serving } = servingTrial(2);
    trial.step({ kind: 'detached', runtimeId: 'runtime-1', incarnation: 'first' });
    trial.tick();
    trial.attach('runtime-1', { incarnation: 'second' });
    expect(trial.commands('expect').map(({ workerId, versionKey }) => [workerId, versionKey])).toEqual(
      serving.map((workerId) => [workerId, version]),
    );
    expect(trial.started()).toEqual([]);
    expect(trial.commands('host')).toHaveLength(1);
    const [first = '', second = ''] = serving;
    trial.report(first, 'ready', version);
    trial.report(second, 'specializing', version);
    trial.nowMs += 40;
    trial.report(second, 'ready', version);
    expect(trial.states(shop)).toEqual(['ready', 'ready']);
    // The time for which it was away is no time of a start.
    expect(trial.effects).toContainEqual({
      kind: 'note',
      note: { kind: 'placement.ready', workerId: second, versionKey: version, tookMs: 40 },
    });
  });

  it('workers that do not come back in time are ended and replaced', () => {
    const { trial, serving } = servingTrial(1);
    trial.step({ kind: 'detached', runtimeId: 'runtime-1', incarnation: 'first' });
    trial.attach('runtime-1', { incarnation: 'second' });
    trial.tick(10_000);
    expect(trial.ended()).toEqual(serving);
    expect(trial.states(shop)).toEqual(['ending', 'starting']);
  });

  it('an urgent request does not wait for a worker that may reconnect', () => {
    const { trial, serving } = servingTrial(1);
    trial.step({ kind: 'detached', runtimeId: 'runtime-1', incarnation: 'first' });
    trial.attach('runtime-1', { incarnation: 'second' });
    trial.request(shop);
    expect(trial.ended()).toEqual(serving);
    expect(trial.started()).toHaveLength(1);
  });

  it('a broken link alone changes nothing: the runtime reports its workers', () => {
    const { trial, serving } = servingTrial(1);
    trial.step({ kind: 'detached', runtimeId: 'runtime-1', incarnation: 'first' });
    const workers = serving.map((workerId) => ({ workerId, state: 'ready' as const, versionKey: version }));
    trial.attach('runtime-1', { workers, applications: { [shop]: 1 } });
    expect(trial.effects).toMatchObject([{ kind: 'send', command: { kind: 'synced' } }]);
  });

  it('its applications move at once to a runtime that has its address under another name', () => {
    const { trial, serving } = servingTrial(1);
    trial.step({ kind: 'detached', runtimeId: 'runtime-1', incarnation: 'first' });
    trial.attach('renamed', { incarnation: 'second' });
    expect(trial.placement.homeOf(shop)).toBe('renamed');
    expect(trial.ended()).toEqual(serving);
    expect(trial.started()).toHaveLength(1);
  });

  it('its applications move when it stays away and another runtime is there', () => {
    const { trial, serving } = servingTrial(1);
    trial.step({ kind: 'detached', runtimeId: 'runtime-1', incarnation: 'first' });
    trial.attach('runtime-2', { port: 4001 });
    expect(trial.commands('host')).toEqual([]);
    trial.tick(10_000);
    expect(trial.placement.homeOf(shop)).toBe('runtime-2');
    expect(trial.ended()).toContain(serving[0]);
    expect(trial.commands('host')).toHaveLength(1);
    trial.attach('runtime-1', { applications: { [shop]: 1 } });
    expect(trial.commands('remove')).toMatchObject([{ application: shop }]);
  });
});

describe('adoption by a new leader', () => {
  const row = {
    workerId: 'w1',
    runtimeId: 'runtime-1',
    incarnation: 'first',
    endpoint: '127.0.0.1:4000',
    requestId: 'r1',
    isIsolated: false,
    startedAtMs: 900_000,
  };
  const adopt = (trial: PlacementTrial, versionKey: string | undefined, desired: number): void => {
    trial.step({ kind: 'pool', target: 1 });
    trial.step({
      kind: 'adopt',
      workers: [{ ...row, versionKey }],
      applications: [{ application: shop, desired, runtimeId: 'runtime-1' }],
      catalog: [placedApplication(shop)],
      instances: [workerInstance('w1'), workerInstance('orphan'), workerInstance('over', 'ended')],
    });
  };

  it('ends instances without a row, forgets ended ones, and starts nothing twice', () => {
    const trial = new PlacementTrial();
    adopt(trial, version, 1);
    expect(trial.ended()).toEqual(['orphan']);
    expect(trial.effects).toContainEqual({ kind: 'forget', instanceId: 'over' });
    trial.attach('runtime-1', {
      workers: [{ workerId: 'w1', state: 'ready', versionKey: version }],
      applications: { [shop]: 1 },
    });
    trial.tick();
    expect(trial.started()).toEqual([]);
    expect(trial.states(shop)).toEqual(['ready']);
  });

  it('learns from the runtime which version a placeholder was given, if its row is older', () => {
    const trial = new PlacementTrial();
    adopt(trial, undefined, 1);
    trial.attach('runtime-1', { workers: [{ workerId: 'w1', state: 'ready', versionKey: version }] });
    expect(trial.states(shop)).toEqual(['ready']);
    expect(trial.effects).toContainEqual({ kind: 'save-worker', row: { ...row, versionKey: version } });
  });

  it('drains workers at another runtime than the home of their application, and starts others once', () => {
    const trial = new PlacementTrial();
    adopt(trial, version, 1);
    trial.attach('runtime-2', { port: 4001 });
    trial.tick(10_000);
    expect(trial.placement.homeOf(shop)).toBe('runtime-2');
    const [started = ''] = trial.started();
    trial.attach('runtime-1', { workers: [{ workerId: 'w1', state: 'ready', versionKey: version }] });
    trial.tick();
    trial.tick();
    expect(trial.started()).toEqual([]);
    expect(trial.ended()).not.toContain(started);
    expect(trial.states(shop)).toEqual(['ending', 'starting']);
  });

  it('uses a placeholder again only if its runtime knows it as one', () => {
    const proven = new PlacementTrial();
    adopt(proven, undefined, 0);
    proven.attach('runtime-1', { workers: [{ workerId: 'w1', state: 'placeholder', versionKey: undefined }] });
    proven.request(shop);
    expect(proven.commands('specialize')).toMatchObject([{ workerId: 'w1' }]);
    const unproven = new PlacementTrial();
    adopt(unproven, undefined, 0);
    unproven.attach('runtime-1', { incarnation: 'second' });
    expect(unproven.ended()).toEqual(['w1']);
    unproven.request(shop);
    expect(unproven.commands('specialize')).toEqual([]);
  });
});

describe('runtimes of the provider', () => {
  it('are started, and replaced when they end', () => {
    const trial = new PlacementTrial({ runtimes: 1 });
    trial.tick();
    const [first = ''] = trial.started();
    expect(first).toMatch(/^runtime-/);
    trial.tick();
    expect(trial.started()).toEqual([]);
    const ended = { ...workerInstance(first, 'ended'), role: 'runtime' as const };
    trial.step({ kind: 'instance', instance: { ...ended, state: 'running' } });
    trial.step({ kind: 'instance', instance: ended });
    expect(trial.started()).toHaveLength(1);
    expect(trial.started()).not.toEqual([first]);
  });
});
