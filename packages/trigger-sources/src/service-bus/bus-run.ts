import { sleep } from '@drover/service-kit';
import type { LockedMessages } from '../locked-messages.js';
import type { Deliver, Settlement } from '../trigger-source.js';
import type { BusOutcome } from './bus-clients.js';
import type { BusMessageLock, MessageIo } from './bus-message-lock.js';
import type { LossSignals } from './loss-signals.js';
import type { ServiceBusTriggerOptions } from './service-bus-options.js';
import { afterBusRun, type BusAction } from './settlement.js';
import { toBusModel } from './bus-model.js';
import { toBusBatch, toBusDelivery } from './to-bus-delivery.js';

export interface BusRunIo extends MessageIo {
  readonly options: ServiceBusTriggerOptions;
  readonly deliver: Deliver;
  readonly lockedMessages: LockedMessages;
  readonly lossSignals: LossSignals;
  /** Aborts when the listener stops: delayed messages are abandoned at once. */
  readonly stopping: AbortSignal;
}

/** One delivery, of one message or a batch: runs the function, then settles what the function has not settled itself. */
export class BusRun {
  readonly #locks: readonly BusMessageLock[];
  readonly #io: BusRunIo;
  /** While the function runs. */
  #lost: AbortController | undefined;
  #isReleased = false;

  constructor(locks: readonly BusMessageLock[], io: BusRunIo) {
    this.#locks = locks;
    this.#io = io;
  }

  /** Runs the function. Resolves with the action for its messages. Never rejects. */
  async deliver(): Promise<BusAction> {
    const { lockedMessages, lossSignals, options } = this.#io;
    this.#observeRedelivered();
    const onGone = (): void => this.#loseIfAllAreLost();
    for (const lock of this.#locks) {
      lock.onGone = onGone;
      lockedMessages.add(lock.message.lockToken ?? '', lock);
    }
    const lost = (this.#lost = lossSignals.take());
    const settlement = await this.#deliver(lost.signal);
    // It may belong to another delivery now.
    this.#lost = undefined;
    lossSignals.giveBack(lost);
    for (const lock of this.#locks) lockedMessages.remove(lock.message.lockToken ?? '');
    const { isDeadLetterQueue } = options.entity;
    return afterBusRun(settlement, {
      autoComplete: options.autoComplete,
      isDeadLetterQueue,
      deliveryCount: this.#deliveryCount(),
      messages: this.#locks.length,
    });
  }

  /** Applies an action to the messages that are locked still. Never rejects. */
  async settle(action: BusAction): Promise<void> {
    const open = this.#open();
    const [first] = open;
    if (!first || this.#isReleased) return;
    const { observe } = this.#io;
    switch (action.kind) {
      case 'leave':
        for (const lock of open) lock.leave();
        observe({ kind: 'service-bus.left', ...first.about(open.length) });
        return;
      case 'complete': {
        const settled = await this.#settleAll(open, { kind: 'complete' });
        if (settled > 0) observe({ kind: 'service-bus.completed', ...first.about(settled) });
        return;
      }
      case 'deadLetter': {
        const { reason } = action;
        const settled = await this.#settleAll(open, { kind: 'deadLetter', reason });
        if (settled > 0) observe({ kind: 'service-bus.dead-lettered', ...first.about(settled), reason });
        return;
      }
      case 'abandon':
        return this.#abandon(open, first, action.afterMs);
    }
  }

  /** Abandons the messages at once; a later settlement is ignored. Resolves when the service has confirmed it. */
  async release({ started }: { readonly started: boolean }): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const open = this.#open();
    this.#lost?.abort(new Error('the listener stops and releases this message'));
    const [first] = open;
    if (!first) return;
    const settled = await this.#settleAll(open, { kind: 'abandon' });
    if (settled > 0) this.#io.observe({ kind: 'service-bus.released', ...first.about(settled), started });
  }

  async #deliver(lost: AbortSignal): Promise<Settlement> {
    const { deliver, observe, options } = this.#io;
    const [first] = this.#locks;
    if (!first) return { kind: 'complete' };
    try {
      const messages = this.#locks.map(({ message }) => message);
      const delivery = options.isBatch
        ? toBusBatch(messages, options.dataType)
        : toBusDelivery(first.message, options.dataType);
      if (!options.isSdkBinding) return await deliver(delivery, lost);
      const model = options.isBatch ? await Promise.all(messages.map(toBusModel)) : await toBusModel(first.message);
      return await deliver({ ...delivery, model }, lost);
    } catch (error) {
      const about = this.#locks[0]?.about(this.#locks.length);
      if (about) observe({ kind: 'service-bus.delivery-threw', ...about, error });
      return { kind: 'abandon', byFunction: false };
    }
  }

  /** Service Bus has no delay: the message stays locked for it, so that a crash ends the delay and loses nothing. */
  async #abandon(open: readonly BusMessageLock[], first: BusMessageLock, afterMs: number): Promise<void> {
    const { clock, stopping, observe } = this.#io;
    if (afterMs > 0) {
      for (const lock of open) lock.renewFor(afterMs);
      await sleep(clock, afterMs, stopping).catch(() => undefined);
      if (this.#isReleased) return;
    }
    const settled = await this.#settleAll(open, { kind: 'abandon' });
    if (settled > 0) observe({ kind: 'service-bus.abandoned', ...first.about(settled), delayMs: afterMs });
  }

  /** Resolves with the number of messages whose outcome the service has confirmed. */
  #settleAll(locks: readonly BusMessageLock[], outcome: BusOutcome): Promise<number> {
    return new Promise((resolve) => {
      let [open, settled] = [locks.length, 0];
      const done = (failure?: { readonly error: unknown }): void => {
        if (!failure) settled += 1;
        open -= 1;
        if (open === 0) resolve(settled);
      };
      for (const lock of locks) lock.settle(outcome, done);
    });
  }

  #open(): readonly BusMessageLock[] {
    if (this.#locks.every((lock) => lock.isLocked)) return this.#locks;
    return this.#locks.filter((lock) => lock.isLocked);
  }

  #loseIfAllAreLost(): void {
    if (this.#locks.every((lock) => lock.isLost))
      this.#lost?.abort(new Error('the locks of all messages of this delivery are lost'));
  }

  #deliveryCount(): number {
    return this.#locks.reduce((most, { message }) => Math.max(most, message.deliveryCount), 1);
  }

  #observeRedelivered(): void {
    if (this.#deliveryCount() === 1) return;
    const again = this.#locks.filter(({ message }) => message.deliveryCount > 1);
    const [first] = again;
    if (first) this.#io.observe({ kind: 'service-bus.redelivered', ...first.about(again.length) });
  }
}
