import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { MessageLease } from './message-lease.js';
import type { QueueObservation } from './observations.js';
import type { SourceWakeups } from '../source-wakeups.js';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import { sendCreating } from './send-creating.js';
import type { MessageAction } from './settlement.js';
import { failureOf, mayPass, type QueueAccount, type QueueMessage, type StorageQueue } from './storage-queue.js';

export interface SettlingIo {
  readonly functionName: string;
  readonly account: QueueAccount;
  readonly queue: StorageQueue;
  readonly wakeups: SourceWakeups;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<QueueObservation>;
  /** Aborts requests and retries: the message is delivered again when its lease expires. */
  readonly cut: AbortSignal;
}

const retries = { firstMs: 100, maxMs: 5_000, factor: 2 };

/** The fields that all observations of a message share. */
export function aboutMessage(io: Pick<SettlingIo, 'functionName' | 'queue'>, message: QueueMessage) {
  const { functionName, queue } = io;
  return { functionName, queue: queue.name, messageId: message.id, deliveryCount: message.dequeueCount };
}

/**
 * Applies an action to a leased message. Retries while the service is unavailable, until the lease expires. Never rejects;
 * resolves with true if the action was applied.
 */
export async function settleMessage(
  action: MessageAction,
  message: QueueMessage,
  lease: MessageLease,
  io: SettlingIo,
): Promise<boolean> {
  const handle = await lease.end();
  if (!handle) return false;
  const { queue, account, observe, wakeups } = io;
  const about = aboutMessage(io, message);
  const attempt = (step: string, call: (signal: AbortSignal) => Promise<void>): Promise<boolean> =>
    whileLeased(call, lease, io, (error) => {
      if (failureOf(error) === 'receipt-outdated') observe({ kind: 'queue.lease-lost', ...about, error });
      else observe({ kind: 'queue.settlement-failed', ...about, action: step, error });
    });
  const remove = (): Promise<boolean> =>
    attempt(
      'delete',
      goneIsFine((signal) => queue.remove(handle, signal)),
    );

  switch (action.kind) {
    case 'remove':
      if (!(await remove())) return false;
      observe({ kind: 'queue.completed', ...about });
      return true;
    case 'hide': {
      const { forMs } = action;
      const hide = goneIsFine(async (signal) => void (await queue.hide(handle, forMs, signal)));
      if (!(await attempt('release', hide))) return false;
      observe({ kind: 'queue.abandoned', ...about, delayMs: forMs });
      return true;
    }
    case 'poison': {
      const poison = account.queue(action.poisonQueue);
      // Copied before it is deleted, so that a failure in between cannot lose it.
      const copy = async (signal: AbortSignal): Promise<void> => {
        const isNew = await sendCreating(poison, { text: message.text, keep: 'for-ever' }, signal);
        if (isNew) observe({ kind: 'queue.created', functionName: io.functionName, queue: poison.name });
      };
      if (!(await attempt(`copy to ${poison.name}`, copy))) return false;
      wakeups.wake(poison.address);
      if (!(await remove())) return false;
      observe({ kind: 'queue.poisoned', ...about, poisonQueue: poison.name, reason: action.reason });
      return true;
    }
    case 'leave':
      observe({ kind: 'queue.abandoned', ...about, delayMs: undefined });
      return true;
  }
}

/** Ignores a missing message: an earlier request may have deleted it and its response was lost. */
function goneIsFine(call: (signal: AbortSignal) => Promise<void>) {
  return async (signal: AbortSignal): Promise<void> => {
    try {
      await call(signal);
    } catch (error) {
      const failure = failureOf(error);
      if (failure !== 'message-gone' && failure !== 'queue-missing') throw error;
    }
  };
}

async function whileLeased(
  call: (signal: AbortSignal) => Promise<void>,
  lease: MessageLease,
  { clock, randomness, cut }: SettlingIo,
  onFailed: (error: unknown) => void,
): Promise<boolean> {
  const backOff = new BackOff(retries, { clock, randomness });
  for (;;) {
    try {
      await withDeadline(clock, requestTimeoutMs, cut, call);
      return true;
    } catch (error) {
      const leftMs = lease.endsAtMs - clock.monotonicMs();
      if (!mayPass(failureOf(error)) || leftMs <= 0 || cut.aborted) {
        onFailed(error);
        return false;
      }
      await sleep(clock, Math.min(backOff.nextMs(), leftMs), cut).catch(() => undefined);
    }
  }
}
