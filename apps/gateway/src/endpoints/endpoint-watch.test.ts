import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { defaultEndpointPolicy } from '../picking/endpoint.js';
import { CollectionEndpoint, type CarriedCall } from './collection-endpoint.js';
import { EndpointWatch } from './endpoint-watch.js';

/** An endpoint whose answer to the question whether it lives is decided by the test. */
class AskedEndpoint extends CollectionEndpoint {
  asked = 0;
  isThere = true;

  override async answers(): Promise<boolean> {
    this.asked += 1;
    return this.isThere;
  }
}

function open(timeoutMs = 0) {
  const clock = new FakeClock();
  const watch = new EndpointWatch({ clock, timeoutMs });
  const endpoint = new AskedEndpoint({
    workerId: 'w1',
    url: new URL('http://w1.test'),
    policy: defaultEndpointPolicy,
    clock,
    onBusy: watch.watch,
  });
  endpoint.references = 1;
  const seen: string[] = [];
  const call = (name: string, hasBegun = false): CarriedCall => {
    const made = {
      sinceMs: clock.monotonicMs(),
      hasBegun,
      leaveHung: () => void seen.push(`${name} left`),
      timeOut: () => {
        seen.push(`${name} timed out`);
        endpoint.drop(made, 'gateway-error', 1);
      },
    };
    endpoint.carry(made, clock.monotonicMs());
    return made;
  };
  return { clock, watch, endpoint, call, seen };
}

describe('EndpointWatch', () => {
  it('asks an endpoint only after a second without any answer, and runs no timer without calls', async () => {
    const { clock, endpoint, call } = open();
    const first = call('first');
    await clock.advance(900);
    endpoint.heardMs = clock.monotonicMs();
    await clock.advance(900);
    expect(endpoint.asked).toBe(0);
    await clock.advance(400);
    expect(endpoint.asked).toBe(1);
    endpoint.drop(first, 'answered', 1);
    await clock.advance(250);
    expect(clock.pending).toBe(0);
  });

  it('does not ask while the only calls receive their answers, as a stream of events does', async () => {
    const { clock, endpoint, call } = open();
    call('stream', true);
    await clock.advance(10_000);
    expect(endpoint.asked).toBe(0);
  });

  it('lets calls leave an endpoint that does not say that it lives, and asks on until it does', async () => {
    const { clock, endpoint, call, seen } = open();
    endpoint.isThere = false;
    const first = call('first');
    await clock.advance(1_000);
    expect([seen, endpoint.isHung, endpoint.isOpen(clock.monotonicMs())]).toEqual([['first left'], true, false]);
    endpoint.drop(first, 'gateway-error', 1);
    await clock.advance(60_000);
    expect(endpoint.isOpen(clock.monotonicMs())).toBe(false);
    endpoint.isThere = true;
    await clock.advance(250);
    expect([endpoint.isHung, endpoint.state]).toEqual([false, 'HEALTHY']);
    await clock.advance(250);
    expect(clock.pending).toBe(0);
  });

  it('forgets a hanging endpoint that no route names', async () => {
    const { clock, endpoint, call } = open();
    endpoint.isThere = false;
    const first = call('first');
    await clock.advance(1_250);
    endpoint.drop(first, 'gateway-error', 1);
    endpoint.references = 0;
    await clock.advance(250);
    expect(clock.pending).toBe(0);
  });

  it('ends calls whose answer has not begun in time', async () => {
    const { clock, call, seen, watch } = open(5_000);
    call('streams', true);
    call('waits');
    await clock.advance(5_000);
    expect(seen).toEqual([]);
    await clock.advance(250);
    expect(seen).toEqual(['waits timed out']);
    watch.stop();
    expect(clock.pending).toBe(0);
  });
});
