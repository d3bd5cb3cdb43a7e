import { systemClock } from '@drover/service-kit';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { InstanceSpec } from '../instance-provider.js';
import { FakeInstanceProvider } from './fake-instance-provider.js';
import { instanceProviderContract } from './instance-provider-contract.js';

instanceProviderContract('FakeInstanceProvider', async () => {
  const behaviourOf = (instanceId: string): string | undefined =>
    provider.specs.get(instanceId)?.environment['BEHAVIOUR'];
  const provider = new FakeInstanceProvider({
    clock: systemClock,
    roles: ['function-worker'],
    endMs: (instanceId) => (behaviourOf(instanceId) === 'stubborn' ? Number.POSITIVE_INFINITY : 1),
  });
  provider.subscribe(({ instance: { instanceId, state } }) => {
    if (state !== 'running') return;
    const behaviour = behaviourOf(instanceId);
    if (behaviour === 'brief') provider.exit(instanceId, { isClean: true, text: 'exit code 0' });
    if (behaviour === 'broken') provider.exit(instanceId, { isClean: false, text: 'exit code 3: broken' });
  });
  return {
    provider,
    behave: (behaviour) => ({ environment: { BEHAVIOUR: behaviour }, args: [] }),
    ready: async () => undefined,
    nextClient: async () => provider,
    crash: async (instanceId) => provider.crash(instanceId),
    close: async () => undefined,
  };
});

describe('FakeInstanceProvider', () => {
  const spec: InstanceSpec = { instanceId: 'one', role: 'function-worker', labels: {}, environment: {}, args: [] };

  it('takes its time by the clock of the test', async () => {
    const clock = new FakeClock();
    const provider = new FakeInstanceProvider({ clock, startMs: () => 300, endMs: () => 200 });
    const seen: string[] = [];
    provider.subscribe(({ instance: { state } }) => seen.push(`${state} at ${clock.monotonicMs()}`));
    await provider.start(spec, 1);
    await clock.advance(1_000);
    await provider.end('one', 500, 1);
    await clock.advance(1_000);
    expect(seen).toEqual(['starting at 0', 'running at 300', 'ending at 1000', 'ended at 1200']);
  });

  it('never runs an instance whose start is lost, and ends it all the same', async () => {
    const clock = new FakeClock();
    const provider = new FakeInstanceProvider({ clock, startMs: () => undefined });
    await provider.start(spec, 1);
    await clock.advance(3_600_000);
    expect(await provider.list()).toMatchObject([{ state: 'starting' }]);
    await provider.end('one', 100, 1);
    await clock.advance(100);
    expect(await provider.list()).toMatchObject([{ state: 'ended' }]);
  });

  it('refuses starts while it is told to, and has no trace of them', async () => {
    const provider = new FakeInstanceProvider({ clock: new FakeClock() });
    provider.refuseStarts('the machine is full.');
    await expect(provider.start(spec, 1)).rejects.toMatchObject({ code: 'INSTANCE_REFUSED' });
    provider.refuseStarts(undefined);
    await provider.start(spec, 1);
    expect([...provider.specs.keys()]).toEqual(['one']);
  });
});
