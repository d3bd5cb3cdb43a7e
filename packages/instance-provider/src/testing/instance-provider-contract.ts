import { hasCode } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Instance, InstanceEvent, InstanceProvider, InstanceSpec } from '../instance-provider.js';

/** How an instance of the contract behaves; an adapter has a program, an image or a simulation for each. */
export type ContractBehaviour =
  /** Runs until it is told to end. */
  | 'obedient'
  /** Runs until it is killed. */
  | 'stubborn'
  /** Ends by itself, at once and cleanly. */
  | 'brief'
  /** Ends at once with code 3 and a line `broken` on standard error. */
  | 'broken';

/** One provider with its instances, made for a single test. */
export interface ProviderUnderTest {
  readonly provider: InstanceProvider;
  /** Resolves when a running instance behaves as it was asked to. */
  ready(instanceId: string): Promise<void>;
  /** What makes an instance behave like that. */
  behave(behaviour: ContractBehaviour): Pick<InstanceSpec, 'environment' | 'args'>;
  /** Ends the client as kill -9 would, and returns the next one for the same instances. */
  nextClient(): Promise<InstanceProvider>;
  /** Ends an instance as kill -9 of its process or a loss of its pod would. */
  crash(instanceId: string): Promise<void>;
  close(): Promise<void>;
}

/** Claims that hold for every provider of instances. `open` is called for each test. */
export function instanceProviderContract(name: string, open: () => Promise<ProviderUnderTest>): void {
  describe(`${name}, as a provider of instances`, () => {
    let test: ProviderUnderTest;
    let provider: InstanceProvider;
    let seen: Instance[];
    let count = 0;
    beforeEach(async () => {
      test = await open();
      provider = test.provider;
      seen = [];
      provider.subscribe(({ instance }: InstanceEvent) => seen.push(instance));
    });
    afterEach(() => test.close());

    const specOf = (behaviour: ContractBehaviour, given: Partial<InstanceSpec> = {}): InstanceSpec => ({
      instanceId: `instance-${++count}`,
      role: 'function-worker',
      labels: { pool: 'placeholders' },
      ...test.behave(behaviour),
      ...given,
    });
    const statesOf = (instanceId: string): string[] =>
      seen.flatMap((instance) => (instance.instanceId === instanceId ? [instance.state] : []));
    const until = (instanceId: string, state: string, client = provider): Promise<Instance> =>
      eventually(async () => {
        const found = (await client.list()).find((instance) => instance.instanceId === instanceId);
        expect(found?.state).toBe(state);
        return found as Instance; // checked above
      });
    /** Without what they use, which differs from one list to the next. */
    const listed = async (): Promise<readonly Instance[]> =>
      (await provider.list()).map(({ usage: _usage, ...instance }) => instance);
    /** Starts an instance that runs on, and waits for it. */
    const run = async (spec: InstanceSpec, token = 1): Promise<Instance> => {
      await provider.start(spec, token);
      const running = await until(spec.instanceId, 'running');
      await test.ready(spec.instanceId);
      return running;
    };
    const codeOf = (call: Promise<unknown>): Promise<string | undefined> =>
      call.then(
        () => undefined,
        (error: unknown) =>
          ['INSTANCE_FENCED', 'INSTANCE_REFUSED'].find((code) => hasCode(error, code)) ?? String(error),
      );

    describe('start', () => {
      it('runs an instance, and reports each state once and in order', async () => {
        const spec = specOf('obedient', { labels: { tenant: 'default', application: 'hello', pool: '' } });
        const running = await run(spec);
        expect(running).toMatchObject({ role: 'function-worker', labels: spec.labels });
        expect(running.startedAtMs).toBeGreaterThan(0);
        expect(running.end).toBeUndefined();
        await eventually(() => expect(statesOf(spec.instanceId)).toEqual(['starting', 'running']));
      });

      it('starts nothing a second time, however often it is repeated', async () => {
        const spec = specOf('obedient');
        await Promise.all([provider.start(spec, 1), provider.start(spec, 1), provider.start(spec, 2)]);
        await until(spec.instanceId, 'running');
        await provider.start(spec, 2);
        expect(await provider.list()).toHaveLength(1);
        expect(statesOf(spec.instanceId)).toEqual(['starting', 'running']);
      });

      it('starts nothing again that has ended: the caller learns of the end, not of a new instance', async () => {
        const spec = specOf('brief');
        await provider.start(spec, 1);
        const { end, startedAtMs } = await until(spec.instanceId, 'ended');
        await provider.start(spec, 1);
        expect(await provider.list()).toMatchObject([{ state: 'ended', end, startedAtMs }]);
      });

      it.each([
        ['an id that no pod can have', { instanceId: 'Worker_1' }],
        ['an empty id', { instanceId: '' }],
        ['an id of 64 characters', { instanceId: 'x'.repeat(64) }],
        ['a label name with a slash', { labels: { 'a/b': 'c' } }],
        ['a label value of 64 characters', { labels: { tenant: 'x'.repeat(64) } }],
        ['a label value with a space', { labels: { tenant: 'a b' } }],
        ['an environment variable with "="', { environment: { 'A=B': '' } }],
        ['an argument with a zero character', { args: ['a\0b'] }],
        ['a role that it has no program for', { role: 'runtime' as const }],
      ])('refuses %s, and names it', async (_, given) => {
        expect(await codeOf(provider.start(specOf('obedient', given), 1))).toBe('INSTANCE_REFUSED');
        expect(await provider.list()).toEqual([]);
      });
    });

    describe('end', () => {
      it('lets an instance end by itself', async () => {
        const spec = specOf('obedient');
        await run(spec);
        await provider.end(spec.instanceId, 10_000, 1);
        expect((await until(spec.instanceId, 'ended')).end).toMatchObject({ isClean: true });
        expect(statesOf(spec.instanceId)).toEqual(['starting', 'running', 'ending', 'ended']);
      });

      it('kills an instance that has not ended within its grace', async () => {
        const spec = specOf('stubborn');
        await run(spec);
        await provider.end(spec.instanceId, 50, 1);
        expect((await until(spec.instanceId, 'ended')).end).toMatchObject({ isClean: false });
      });

      it('kills at once without a grace, and shortens the grace of an earlier call', async () => {
        const [one, two] = [specOf('stubborn'), specOf('stubborn')];
        await Promise.all([run(one), run(two)]);
        await provider.end(one.instanceId, 0, 1);
        await provider.end(two.instanceId, 3_600_000, 1);
        await provider.end(two.instanceId, 20, 1);
        const ends = await Promise.all([one, two].map(({ instanceId }) => until(instanceId, 'ended')));
        expect(ends.map(({ end }) => end?.isClean)).toEqual([false, false]);
      });

      it('does nothing for an instance that is unknown, or has ended', async () => {
        await provider.end('never-started', 0, 1);
        const spec = specOf('brief');
        await provider.start(spec, 1);
        const { end } = await until(spec.instanceId, 'ended');
        await provider.end(spec.instanceId, 0, 1);
        expect(await provider.list()).toMatchObject([{ state: 'ended', end }]);
      });
    });

    describe('an instance that ends by itself', () => {
      it('is reported with its reason, and listed until it is forgotten', async () => {
        const spec = specOf('broken');
        await provider.start(spec, 1);
        const { end } = await until(spec.instanceId, 'ended');
        expect(end?.isClean).toBe(false);
        expect(end?.text).toMatch(/exit code 3: .*broken/s);
        await provider.forget(spec.instanceId, 1);
        expect(await provider.list()).toEqual([]);
      });

      it('is reported when it was killed', async () => {
        const spec = specOf('obedient');
        await run(spec);
        await test.crash(spec.instanceId);
        expect((await until(spec.instanceId, 'ended')).end).toMatchObject({ isClean: false });
        expect(statesOf(spec.instanceId)).toEqual(['starting', 'running', 'ended']);
      });

      it('is not forgotten while it runs', async () => {
        const spec = specOf('obedient');
        await run(spec);
        await provider.forget(spec.instanceId, 1);
        expect(await provider.list()).toHaveLength(1);
      });
    });

    describe('the fence', () => {
      it('refuses every call of an earlier leader, and changes nothing', async () => {
        const [running, ended, late] = [specOf('obedient'), specOf('brief'), specOf('obedient')];
        await run(running, 7);
        await provider.start(ended, 7);
        await until(ended.instanceId, 'ended');
        const before = await listed();
        expect(await codeOf(provider.start(late, 6))).toBe('INSTANCE_FENCED');
        expect(await codeOf(provider.start(running, 6))).toBe('INSTANCE_FENCED');
        expect(await codeOf(provider.end(running.instanceId, 0, 6))).toBe('INSTANCE_FENCED');
        expect(await codeOf(provider.forget(ended.instanceId, 6))).toBe('INSTANCE_FENCED');
        expect(await codeOf(provider.list(6))).toBe('INSTANCE_FENCED');
        expect(await listed()).toEqual(before);
      });

      it('is up as soon as a new leader lists what it adopts, before it acts', async () => {
        await provider.list(9);
        expect(await codeOf(provider.start(specOf('obedient'), 8))).toBe('INSTANCE_FENCED');
        expect(await codeOf(provider.start(specOf('obedient'), 9))).toBeUndefined();
      });

      it('refuses what is no token', async () => {
        expect(await codeOf(provider.start(specOf('obedient'), Number.NaN))).toBe('INSTANCE_FENCED');
      });

      it('stays when the client of the earlier leader is gone', async () => {
        await provider.list(5);
        const next = await test.nextClient();
        expect(await codeOf(next.start(specOf('obedient'), 4))).toBe('INSTANCE_FENCED');
      });
    });

    describe('the next client', () => {
      it('finds every instance that runs, with its labels, and takes it over', async () => {
        const specs = ['a', 'b'].map((pool) => specOf('obedient', { labels: { pool } }));
        await Promise.all(specs.map((spec) => run(spec)));
        const next = await test.nextClient();
        expect(await next.list(2)).toMatchObject(
          specs.map(({ instanceId, labels }) => ({ instanceId, labels, state: 'running' })),
        );
        for (const spec of specs) await next.start(spec, 2);
        expect(await next.list()).toHaveLength(2);
        const changes: string[] = [];
        next.subscribe(({ instance }) => changes.push(`${instance.labels['pool']} ${instance.state}`));
        await next.end(specs[0]?.instanceId ?? '', 10_000, 2);
        await until(specs[0]?.instanceId ?? '', 'ended', next);
        await eventually(() => expect(changes).toEqual(['a ending', 'a ended']));
        expect((await until(specs[1]?.instanceId ?? '', 'running', next)).end).toBeUndefined();
      });

      it('learns how an instance ended that an earlier client had started', async () => {
        const spec = specOf('obedient');
        await run(spec);
        const next = await test.nextClient();
        await test.crash(spec.instanceId);
        expect((await until(spec.instanceId, 'ended', next)).end?.isClean).toBe(false);
      });
    });

    it('reports changes to each subscriber until it ends its subscription', async () => {
      const [first, second] = [specOf('brief'), specOf('brief')];
      const counts = { stays: 0, leaves: 0 };
      provider.subscribe(() => void (counts.stays += 1));
      const leave = provider.subscribe(() => void (counts.leaves += 1));
      await provider.start(first, 1);
      await until(first.instanceId, 'ended');
      await eventually(() => expect(counts.leaves).toBe(counts.stays));
      const { leaves } = counts;
      leave();
      await provider.start(second, 1);
      await until(second.instanceId, 'ended');
      expect(counts.leaves).toBe(leaves);
      expect(counts.stays).toBeGreaterThan(leaves);
    });
  });
}
