import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Deliver, Delivery, Settlement, TriggerListener } from '../trigger-source.js';

/** A source whose events have no bodies of their own and that keeps none: a schedule, or a sender that pushes. */
export interface EventWorld {
  /** Creates the listener. It is not started. */
  listener(deliver: Deliver): TriggerListener;
  /** Makes one event happen. Resolves without waiting for its delivery. */
  happen(): Promise<void>;
  close(): Promise<void>;
}

const complete: Settlement = { kind: 'complete' };
const never = new AbortController().signal;

/** The part of the listener contract that holds without stored messages; `triggerListenerContract` has the whole. */
export function triggerLifecycleContract(source: string, openWorld: () => Promise<EventWorld>): void {
  describe(`the lifecycle of a trigger listener: ${source}`, () => {
    let world: EventWorld;
    let listener: TriggerListener;
    const held: {
      readonly delivery: Delivery;
      readonly lost: AbortSignal;
      readonly settle: (settlement: Settlement) => void;
    }[] = [];
    const deliver: Deliver = (delivery, lost) =>
      new Promise((resolve) => void held.push({ delivery, lost, settle: resolve }));

    beforeEach(async () => {
      held.length = 0;
      world = await openWorld();
      listener = world.listener(deliver);
    });
    afterEach(async () => {
      await listener.stop();
      await world.close();
    });

    it('delivers what happens, once', async () => {
      await listener.start(never);
      await world.happen();
      await eventually(() => held.length === 1);
      expect(held[0]?.delivery.deliveryCount).toBe(1);
      held[0]?.settle(complete);
      await world.happen();
      await eventually(() => held.length === 2);
      held[1]?.settle(complete);
    });

    it('delivers nothing before the start', async () => {
      await world.happen();
      expect(held).toEqual([]);
    });

    it('delivers nothing while it is paused, and what happened then when it resumes', async () => {
      await listener.start(never);
      listener.pause();
      await world.happen();
      expect(held).toEqual([]);
      listener.resume();
      await eventually(() => held.length === 1);
      held[0]?.settle(complete);
    });

    it('drains: finishes what runs, and delivers nothing more', async () => {
      await listener.start(never);
      await world.happen();
      await eventually(() => held.length === 1);
      let isDrained = false;
      const drained = listener.drain(never).then(() => (isDrained = true));
      await world.happen();
      expect([isDrained, held.length]).toEqual([false, 1]);
      held[0]?.settle(complete);
      await drained;
      expect([held[0]?.lost.aborted, held.length]).toEqual([false, 1]);
    });

    it('drains no longer than it may', async () => {
      await listener.start(never);
      await world.happen();
      await eventually(() => held.length === 1);
      const deadline = new AbortController();
      const drained = listener.drain(deadline.signal);
      deadline.abort();
      await expect(drained).resolves.toBeUndefined();
    });

    it('tells what runs that it is lost when it is stopped', async () => {
      await listener.start(never);
      await world.happen();
      await eventually(() => held.length === 1);
      await listener.stop();
      expect(held[0]?.lost.aborted).toBe(true);
      held[0]?.settle(complete); // too late, and of no effect
    });

    it('can be stopped twice, and without having started', async () => {
      await listener.stop();
      await listener.stop();
      const late = world.listener(deliver);
      await expect(late.start(AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
      await late.drain(never);
      await late.stop();
    });
  });
}
