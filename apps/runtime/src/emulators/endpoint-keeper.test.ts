import type { Emulators } from '@drover/azure-emulators';
import { systemRandomness } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { DemandedEndpoint } from './emulator-demand.js';
import { noEntities } from './emulator-demand.js';
import type { EmulatorsObservation } from './emulators-observations.js';
import { EndpointKeeper } from './endpoint-keeper.js';

const endpoint: DemandedEndpoint = { service: 'queue', port: 10_001, entities: noEntities };

/** What the attempts to listen find, in order. The last one is found again. */
function setUp(...finds: readonly ('free' | 'emulator' | 'other program')[]) {
  const seen: EmulatorsObservation[] = [];
  const declared: unknown[] = [];
  const clock = new FakeClock();
  let attempts = 0;
  let isStopped = false;
  let vanish: () => void = () => undefined;
  const keeper = new EndpointKeeper({
    endpoint,
    name: 'storage queues on 127.0.0.1:10001',
    open: async () => {
      const found = finds[Math.min(attempts++, finds.length - 1)];
      if (found !== 'free') throw Object.assign(new Error(`found ${found}`), { isEmulator: found === 'emulator' });
      return {
        declare: async (entities: unknown) => void declared.push(entities),
        stop: async () => void (isStopped = true),
      } as unknown as Emulators; // what the keeper uses of it
    },
    untilFree: (_port, signal) =>
      new Promise((resolve, reject) => {
        vanish = resolve;
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      }),
    clock,
    randomness: systemRandomness,
    observe: (o) => void seen.push(o),
  });
  return { keeper, seen, declared, clock, vanish: () => vanish(), isStopped: () => isStopped };
}

describe('EndpointKeeper', () => {
  it('serves a free port, and stops its emulator', async () => {
    const { keeper, declared, isStopped } = setUp('free');
    await keeper.settled;
    expect(keeper.state).toBe('serving');
    await keeper.declare({ ...endpoint, entities: { ...noEntities, queues: [{ name: 'a', requiresSession: true }] } });
    expect(declared).toMatchObject([{ queues: [{ name: 'a', requiresSession: true }] }]);
    await keeper.stop();
    expect(isStopped()).toBe(true);
    expect(keeper.state).toBe('stopped');
  });

  it('uses an emulator that runs already, and serves by itself when that one is gone', async () => {
    const { keeper, seen, vanish } = setUp('emulator', 'free');
    await keeper.settled;
    expect(keeper.state).toBe('borrowed');
    expect(seen).toEqual([]);
    vanish();
    await eventually(() => expect(keeper.state).toBe('serving'));
    expect(seen).toMatchObject([{ kind: 'emulators.taken-over' }]);
    await keeper.stop();
  });

  it('borrows again if another process was faster', async () => {
    const { keeper, vanish } = setUp('emulator', 'emulator');
    await keeper.settled;
    vanish();
    await eventually(() => expect(keeper.state).toBe('borrowed'));
    await keeper.stop();
  });

  it('reports another program at the port once, and keeps trying', async () => {
    const { keeper, seen, clock } = setUp('other program', 'other program', 'free');
    await keeper.settled;
    expect(keeper.state).toBe('blocked');
    await expect
      .poll(async () => {
        await clock.advance(10_000);
        return keeper.state;
      })
      .toBe('serving');
    expect(seen.map(({ kind }) => kind)).toEqual(['emulators.blocked', 'emulators.taken-over']);
    await keeper.stop();
  });
});
