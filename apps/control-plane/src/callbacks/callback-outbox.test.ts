import { describe, expect, it } from 'vitest';
import { deadLetterAt, outcomeAt } from '@drover/execution-store/testing';
import { OutboxTrial, turnsPassed } from './testing/outbox-trial.js';

const never = new AbortController().signal;

/** A promise and what ends it. */
function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

describe('the result of an execution that ends', () => {
  it.each(['delivered', 'refused', 'failed'] as const)(
    'is delivered at once, and is no longer pending once it is %s',
    async (end) => {
      const trial = new OutboxTrial();
      const sent = trial.post();
      expect(sent.delivery).toMatchObject({ url: 'https://example.org/done?key=1', body: '{"ok":true}' });
      expect(trial.pending.stored.size).toBe(1);
      await sent.end(end);
      expect(trial.pending.stored.size).toBe(0);
    },
  );

  it('stays pending when there is no room for it, and is delivered when there is', async () => {
    const trial = new OutboxTrial();
    const sent = trial.post();
    trial.hasRoom = () => false;
    await sent.end('full');
    expect(trial.pending.stored.size).toBe(1);
    await trial.clock.advance(60_000);
    expect([trial.sent.length, trial.pending.lists]).toEqual([1, 0]);
    trial.hasRoom = () => true;
    await trial.clock.advance(5_000);
    expect(trial.ids).toEqual([sent.delivery.executionId, sent.delivery.executionId]);
    expect(trial.observed).toEqual([{ kind: 'callback.resumed', results: 1 }]);
    await trial.sent[1]?.end('delivered');
    expect(trial.pending.stored.size).toBe(0);
  });

  it('stays pending when the platform stops', async () => {
    const trial = new OutboxTrial();
    const sent = trial.post();
    await trial.outbox.drain(AbortSignal.abort());
    await sent.end('stopping');
    await trial.outbox.stop();
    expect([trial.pending.stored.size, trial.clock.pending]).toEqual([1, 0]);
  });

  it('is delivered once when nothing outlives the process', async () => {
    for (const [trial, kind] of [
      [new OutboxTrial({ isDurable: false }), 'async'],
      [new OutboxTrial(), 'sync'],
    ] as const) {
      const sent = trial.post({ kind });
      expect(sent.delivery.ownership).toBeUndefined();
      await sent.end('full');
      await trial.clock.advance(60_000);
      expect([trial.sent.length, trial.pending.lists, trial.clock.pending]).toEqual([1, 0, 0]);
    }
  });

  it('is left to the next owner when this replica is none any more', () => {
    const trial = new OutboxTrial();
    trial.lose(3);
    const accepted = trial.finish();
    trial.outbox.post(accepted, accepted.callbackUrl, outcomeAt(trial.clock.now()));
    expect([trial.sent.length, trial.pending.stored.size]).toEqual([0, 1]);
  });
});

describe('pending callbacks', () => {
  it('are delivered by the replica that acquires their partition, and by no other', async () => {
    const trial = new OutboxTrial();
    trial.lose(...trial.owned);
    const [ours, others] = [trial.finish({ partition: 3 }), trial.finish({ partition: 4 })];
    await trial.acquire(3, 5);
    expect(trial.ids).toEqual([ours.executionId]);
    await trial.acquire(4);
    expect(trial.ids).toEqual([ours.executionId, others.executionId]);
    for (const sent of trial.sent) await sent.end('delivered');
    expect(trial.pending.stored.size).toBe(0);
  });

  it('are found by a scan at intervals', async () => {
    const trial = new OutboxTrial();
    await trial.acquire(3);
    trial.finish();
    await trial.clock.advance(29_999);
    expect(trial.sent).toHaveLength(0);
    await trial.clock.advance(1);
    expect(trial.sent).toHaveLength(1);
  });

  it('are not delivered twice while they are under way, however long that takes', async () => {
    const trial = new OutboxTrial();
    await trial.acquire(3);
    const sent = trial.post();
    await trial.clock.advance(600_000);
    expect([trial.pending.lists > 10, trial.sent.length, trial.pending.reads]).toEqual([true, 1, []]);
    const removal = gate();
    trial.pending.beforeRemoval = () => removal.passed;
    await sent.end('delivered');
    await trial.clock.advance(600_000);
    expect([trial.sent.length, trial.pending.stored.size]).toEqual([1, 1]);
    removal.open();
    await turnsPassed();
    expect(trial.pending.stored.size).toBe(0);
  });

  it.each([['list', 1] as const, ['read', 2] as const])(
    'are not delivered again by a scan whose %s was before their removal',
    async (_, answer) => {
      const trial = new OutboxTrial();
      const answers = [gate(), gate()];
      let asked = 0;
      trial.pending.beforeAnswer = () => {
        asked += 1;
        return asked <= 2 ? (answers[asked - 1]?.passed ?? Promise.resolve()) : Promise.resolve();
      };
      const accepted = trial.finish();
      await trial.acquire(3);
      if (answer === 2) {
        answers[0]?.open();
        await turnsPassed();
      }
      expect(asked).toBe(answer);
      trial.outbox.post(accepted, accepted.callbackUrl, outcomeAt(0));
      await trial.sent[0]?.end('delivered');
      expect(trial.pending.stored.size).toBe(0);
      for (const each of answers) each.open();
      await trial.clock.advance(60_000);
      expect([trial.sent.length, trial.observed]).toEqual([1, []]);
    },
  );

  it('are not delivered twice when a scan was quicker than the end of the execution', async () => {
    const trial = new OutboxTrial();
    const accepted = trial.finish();
    await trial.acquire(3);
    trial.outbox.post(accepted, accepted.callbackUrl, outcomeAt(0));
    expect(trial.sent).toHaveLength(1);
  });

  it('are read in batches of limited size, and a large one waits for room without holding up small ones', async () => {
    const trial = new OutboxTrial();
    for (let n = 0; n < 2_300; n += 1) trial.finish({ partition: n % 16 });
    const large = trial.finish({}, { bytes: 5_000_000 });
    const [fits, alsoFits] = [trial.finish({}, { bytes: 3_000_000 }), trial.finish({}, { bytes: 3_000_000 })];
    trial.hasRoom = (bytes) => bytes < 4_000_000;
    await trial.acquire(3);
    await trial.clock.advance(0);
    expect(new Set(trial.ids).size).toBe(2_302);
    expect(trial.ids).not.toContain(large.executionId);
    expect(trial.ids.slice(-2)).toEqual([fits.executionId, alsoFits.executionId]);
    expect(Math.max(...trial.pending.reads)).toBe(100);
    expect(trial.pending.reads.slice(-2)).toEqual([1, 1]);
    trial.hasRoom = () => true;
    await trial.clock.advance(5_000);
    expect(trial.ids.at(-1)).toBe(large.executionId);
    expect(trial.ids).toHaveLength(2_303);
  });

  it('wait while the database is away, which is observed once', async () => {
    const trial = new OutboxTrial();
    trial.finish();
    trial.pending.beforeAnswer = () => Promise.reject(new Error('away'));
    await trial.acquire(3);
    await trial.clock.advance(20_000);
    expect(trial.kinds).toEqual(['callback.scan-failed']);
    trial.pending.beforeAnswer = () => Promise.resolve();
    await trial.clock.advance(5_000);
    expect(trial.sent).toHaveLength(1);
  });

  it('are given up with an observation when they are too old, gone, or without their output', async () => {
    const trial = new OutboxTrial();
    const [gone, old, evicted, failed] = [
      trial.finish(),
      trial.finish(),
      trial.finish(),
      trial.finish({}, { outcome: deadLetterAt(trial.clock.now()) }),
    ];
    const change = (id: string, over: object): void => {
      const stored = trial.pending.stored.get(id);
      if (stored) trial.pending.stored.set(id, { ...stored, ...over });
    };
    await trial.clock.advance(1_000);
    change(gone.executionId, { execution: undefined });
    const { mark } = trial.pending.stored.get(old.executionId) ?? {};
    change(old.executionId, { mark: { ...mark, dueUntil: trial.clock.now() } });
    for (const { executionId } of [evicted, failed]) {
      const { execution } = trial.pending.stored.get(executionId) ?? {};
      change(executionId, { execution: { ...execution, evicted: true } });
    }
    await trial.acquire(3);
    const reason = 'expired';
    expect(trial.observed).toMatchObject([
      { kind: 'callback.given-up', executionId: gone.executionId, reason, origin: '(no URL)' },
      { kind: 'callback.given-up', executionId: old.executionId, reason, origin: 'https://example.org' },
      { kind: 'callback.given-up', executionId: evicted.executionId, reason, functionName: 'resize' },
      { kind: 'callback.resumed', results: 1 },
    ]);
    // An error is known without the output.
    expect(trial.ids).toEqual([failed.executionId]);
    expect([...trial.pending.stored.keys()]).toEqual([failed.executionId]);
  });

  it('whose removal fails are observed, and not delivered again by this process', async () => {
    const trial = new OutboxTrial();
    await trial.acquire(3);
    trial.pending.beforeRemoval = () => Promise.reject(new Error('no'));
    await trial.post().end('delivered');
    await trial.clock.advance(60_000);
    expect([trial.sent.length, trial.kinds]).toEqual([1, ['callback.not-removed']]);
  });
});

describe('a partition', () => {
  it('that is lost aborts its deliveries, and no others', async () => {
    const trial = new OutboxTrial();
    const [lost, kept] = [trial.post({ partition: 3 }), trial.post({ partition: 4 })];
    trial.lose(3);
    expect([lost.delivery.ownership?.aborted, kept.delivery.ownership?.aborted]).toEqual([true, false]);
    await lost.end('stopping');
    await trial.clock.advance(60_000);
    expect([trial.sent.length, trial.pending.stored.size]).toEqual([2, 2]);
  });

  it('that is lost removes what was delivered all the same, and leaves giving up to the next owner', async () => {
    const trial = new OutboxTrial();
    const [taken, failed, refused] = [trial.post(), trial.post(), trial.post()];
    trial.lose(3);
    await taken.end('delivered');
    await failed.end('failed');
    await refused.end('refused');
    expect([...trial.pending.stored.keys()]).toEqual([failed, refused].map(({ delivery }) => delivery.executionId));
  });

  it('that is acquired again delivers what was aborted, once the old delivery is over', async () => {
    const trial = new OutboxTrial();
    const first = trial.post();
    trial.lose(3);
    await trial.acquire(3);
    expect(trial.sent).toHaveLength(1);
    await first.end('stopping');
    await trial.clock.advance(5_000);
    expect(trial.sent).toHaveLength(2);
    expect(trial.sent[1]?.delivery.ownership?.aborted).toBe(false);
  });

  it('that is released starts nothing more, and waits a moment for what it has sent', async () => {
    const trial = new OutboxTrial();
    const [first, second] = [trial.post({ partition: 3 }), trial.post({ partition: 4 })];
    const left: string[] = [];
    const leave = (partition: number): Promise<unknown> =>
      trial.outbox.releasing([partition], never).then(() => left.push(`${partition} at ${trial.clock.monotonicMs()}`));
    const releasing = [leave(3), leave(4), leave(5)];
    await trial.clock.advance(100);
    expect(left).toEqual(['5 at 0']);
    await first.end('delivered');
    await turnsPassed();
    expect(trial.clock.pending).toBe(1);
    await trial.clock.advance(1_000);
    await Promise.all(releasing);
    expect(left).toEqual(['5 at 0', '3 at 100', '4 at 500']);
    expect(trial.pending.stored.size).toBe(1);
    // This replica holds the token until the release.
    trial.finish({ partition: 3 });
    await trial.acquire(6);
    expect(trial.sent).toHaveLength(2);
    await second.end('stopping');
    expect(trial.clock.pending).toBe(1); // the next scan
    await trial.outbox.stop();
    expect(trial.clock.pending).toBe(0);
  });

  it('that drains waits until deliveries are recorded, up to the deadline', async () => {
    const trial = new OutboxTrial();
    const removal = gate();
    trial.pending.beforeRemoval = () => removal.passed;
    await trial.post().end('delivered');
    let isDrained = false;
    const draining = trial.outbox.drain(never).then(() => (isDrained = true));
    await turnsPassed();
    expect(isDrained).toBe(false);
    await trial.outbox.drain(AbortSignal.abort());
    removal.open();
    await draining;
    expect(trial.pending.stored.size).toBe(0);
  });
});
