import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { AttemptResult, Dispatcher } from '../dispatcher.js';
import type { TestAttempt } from './attempts.js';

/**
 * What a function of the world does:
 * - `succeeds`: returns `{"ok":true}`.
 * - `fails`: reports an error of its own.
 * - `waits`: runs until `finish` and then returns `{"ok":true}`; stops when it is cancelled.
 */
export type FunctionBehaviour = 'succeeds' | 'fails' | 'waits';

/** A dispatcher with functions that do what the contract needs. */
export interface DispatcherWorld {
  readonly dispatcher: Dispatcher;
  readonly attempt: (behaviour: FunctionBehaviour) => TestAttempt;
  /** Functions that wait at this moment. */
  waiting(): number;
  /** Lets the functions that wait return. */
  finish(): Promise<void> | void;
  /** Stops the dispatcher, and the connections it was given. */
  stop(): Promise<void>;
  /** Removes whatever `stop` leaves: servers, files. */
  cleanUp(): Promise<void>;
}

const succeeded = {
  kind: 'success',
  output: { json: expect.stringMatching(/^\{\s*"ok"\s*:\s*true\s*\}$/) as unknown },
};

/** The promises of the port `Dispatcher`. Each adapter's integration test runs it. */
export function dispatcherContract(adapter: string, openWorld: () => Promise<DispatcherWorld>): void {
  describe(`the dispatcher contract: ${adapter}`, () => {
    const opened: DispatcherWorld[] = [];
    afterEach(async () => {
      for (const world of opened.splice(0)) {
        await world.stop();
        await world.cleanUp();
      }
    });
    const open = async (): Promise<DispatcherWorld> => {
      const world = await openWorld();
      opened.push(world);
      await world.dispatcher.start(new AbortController().signal);
      return world;
    };
    /** Dispatches an attempt whose function waits, and returns once it does. */
    const startWaiting = async (world: DispatcherWorld) => {
      const before = world.waiting();
      const attempt = world.attempt('waits');
      const settled: { result?: AttemptResult; times: number } = { times: 0 };
      const result = world.dispatcher.dispatch(attempt).then((given) => {
        settled.result = given;
        settled.times += 1;
        return given;
      });
      await eventually(() => expect(world.waiting()).toBe(before + 1));
      return { attempt, result, settled };
    };

    it('resolves with the output of a function that succeeds', async () => {
      const { dispatcher, attempt } = await open();
      expect(await dispatcher.dispatch(attempt('succeeds'))).toMatchObject(succeeded);
    });

    it('resolves, and does not reject, when the function fails', async () => {
      const { dispatcher, attempt } = await open();
      const result = await dispatcher.dispatch(attempt('fails'));
      expect(result).toMatchObject({ kind: 'failed', code: 'EXECUTION_FAILED', transient: false });
      expect(result.kind === 'failed' && result.message.length).toBeGreaterThan(0);
    });

    it('runs attempts side by side', async () => {
      const world = await open();
      const first = await startWaiting(world);
      const second = await startWaiting(world);
      await world.finish();
      expect(await Promise.all([first.result, second.result])).toMatchObject([succeeded, succeeded]);
      await eventually(() => expect(world.waiting()).toBe(0));
    });

    it.each(['timeout', 'cancelled', 'stopping'] as const)(
      'settles an attempt that is abandoned (%s), stops its function, and serves the next',
      async (reason) => {
        const world = await open();
        const { attempt, result, settled } = await startWaiting(world);
        attempt.abandon(reason);
        expect(await result).not.toMatchObject({ kind: 'success' });
        await eventually(() => expect(world.waiting()).toBe(0));
        expect(await world.dispatcher.dispatch(world.attempt('succeeds'))).toMatchObject(succeeded);
        expect(settled.times).toBe(1);
      },
    );

    it('settles an attempt that is abandoned before anything was sent', async () => {
      const world = await open();
      const attempt = world.attempt('waits');
      const result = world.dispatcher.dispatch(attempt);
      attempt.abandon('cancelled');
      expect(await result).not.toMatchObject({ kind: 'success' });
      await eventually(() => expect(world.waiting()).toBe(0));
    });

    it('ignores that a settled attempt is abandoned', async () => {
      const { dispatcher, attempt } = await open();
      const finished = attempt('succeeds');
      expect(await dispatcher.dispatch(finished)).toMatchObject(succeeded);
      finished.abandon('timeout');
      expect(await dispatcher.dispatch(attempt('succeeds'))).toMatchObject(succeeded);
    });

    it('drains at once when nothing runs, and after the last attempt otherwise', async () => {
      const world = await open();
      const never = new AbortController().signal;
      const { result, settled } = await startWaiting(world);
      const drained = world.dispatcher.drain(never).then(() => settled.result);
      await world.finish();
      expect(await drained).toMatchObject(succeeded);
      expect(await result).toMatchObject(succeeded);
      await world.dispatcher.drain(never);
    });

    it('stops draining at the deadline', async () => {
      const world = await open();
      const { settled } = await startWaiting(world);
      const deadline = new AbortController();
      const drained = world.dispatcher.drain(deadline.signal);
      deadline.abort();
      await drained;
      expect(settled.times).toBe(0);
    });

    it('settles what runs when it is stopped, and what comes later; may be stopped twice', async () => {
      const world = await open();
      const { result, settled } = await startWaiting(world);
      await world.stop();
      expect(await result).not.toMatchObject({ kind: 'success' });
      expect(await world.dispatcher.dispatch(world.attempt('succeeds'))).toMatchObject({
        kind: 'failed',
        transient: true,
      });
      await world.stop();
      expect(settled.times).toBe(1);
    });

    it('may be stopped without having been started', async () => {
      const world = await openWorld();
      await expect(world.stop()).resolves.toBeUndefined();
      await world.cleanUp();
    });
  });
}
