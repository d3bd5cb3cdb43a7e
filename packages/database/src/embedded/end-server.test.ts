import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { endServer } from './end-server.js';

/** A server that gives in to one signal only, `afterMs` after it. */
function stubborn(clock: FakeClock, givesInTo: NodeJS.Signals, afterMs: number) {
  const sent: string[] = [];
  let goneAt = Number.POSITIVE_INFINITY;
  return {
    sent,
    pid: 4711,
    clock,
    isGone: () => clock.monotonicMs() >= goneAt,
    send: (_: number, signal: NodeJS.Signals) => {
      sent.push(`${signal} at ${clock.monotonicMs()}`);
      if (signal === givesInTo) goneAt = clock.monotonicMs() + afterMs;
    },
  };
}

describe('endServer', () => {
  it('asks once when the server obeys', async () => {
    const clock = new FakeClock();
    const server = stubborn(clock, 'SIGINT', 300);
    const ended = endServer(server);
    await clock.advance(400);
    await ended;
    expect(server.sent).toEqual(['SIGINT at 0']);
    expect(clock.pending).toBe(0);
  });

  it('asks for an immediate end after 10 s', async () => {
    const clock = new FakeClock();
    const server = stubborn(clock, 'SIGQUIT', 50);
    const ended = endServer(server);
    await clock.advance(11_000);
    await ended;
    expect(server.sent).toEqual(['SIGINT at 0', 'SIGQUIT at 10000']);
  });

  it('kills after 5 s more and waits until the process is gone', async () => {
    const clock = new FakeClock();
    const server = stubborn(clock, 'SIGKILL', 60_000);
    let over = false;
    const ended = endServer(server).then(() => (over = true));
    await clock.advance(70_000);
    expect(over).toBe(false);
    await clock.advance(10_000);
    await ended;
    expect(server.sent).toEqual(['SIGINT at 0', 'SIGQUIT at 10000', 'SIGKILL at 15000']);
  });

  it('sends nothing to a server that is gone', async () => {
    const server = { ...stubborn(new FakeClock(), 'SIGINT', 0), isGone: () => true };
    await endServer(server);
    expect(server.sent).toEqual([]);
  });

  it('stops waiting when the signal aborts', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const ended = endServer({ ...stubborn(clock, 'SIGKILL', 0), signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
  });
});
