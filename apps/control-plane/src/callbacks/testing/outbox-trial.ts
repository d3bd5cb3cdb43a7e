import { FakeClock } from '@drover/testkit';
import { allPartitions, partitionOfExecution } from '@drover/ownership';
import type { PendingCallback, PendingCallbacks, FinishedExecution, ExecutionOutcome } from '@drover/execution-store';
import { acceptedCallAt, outcomeAt } from '@drover/execution-store/testing';
import type { AcceptedCall } from '@drover/contracts';
import { CallbackOutbox } from '../callback-outbox.js';
import type { CallbackObservation } from '../observations.js';
import type { DeliveryEnd } from '../result-callbacks.js';
import type { ResultDelivery } from '../result-delivery.js';

/** A delivery that the test ends. */
export interface Sent {
  readonly delivery: ResultDelivery;
  end(end: DeliveryEnd): Promise<void>;
}

/** Resolves when pending promises have settled. */
export async function turnsPassed(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** Pending callbacks that outlive the outboxes of a test. */
export class TrialPending implements PendingCallbacks {
  readonly stored = new Map<string, { mark: PendingCallback; execution: FinishedExecution | undefined }>();
  lists = 0;
  readonly reads: number[] = [];
  /** Awaited between reading and answering. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve();
  beforeRemoval: () => Promise<void> = () => Promise.resolve();

  async list(partitions: readonly number[], after: string | undefined, limit: number): Promise<PendingCallback[]> {
    this.lists += 1;
    const seen = [...this.stored.values()]
      .map(({ mark }) => mark)
      .filter(({ partition, executionId }) => partitions.includes(partition) && executionId > (after ?? ''))
      .toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1))
      .slice(0, limit);
    await this.beforeAnswer();
    return seen;
  }

  async read(marks: readonly PendingCallback[]): Promise<FinishedExecution[]> {
    this.reads.push(marks.length);
    const seen = marks.flatMap(({ executionId }) => this.stored.get(executionId)?.execution ?? []);
    await this.beforeAnswer();
    return seen;
  }

  async remove({ executionId }: Pick<PendingCallback, 'executionId'>): Promise<void> {
    await this.beforeRemoval();
    this.stored.delete(executionId);
  }
}

/** An outbox whose deliveries the test ends. */
export class OutboxTrial {
  readonly clock = new FakeClock();
  readonly pending = new TrialPending();
  readonly sent: Sent[] = [];
  readonly observed: CallbackObservation[] = [];
  readonly owned = new Set(allPartitions);
  hasRoom: (bytes: number) => boolean = () => true;
  readonly outbox: CallbackOutbox;

  constructor({ isDurable = true } = {}) {
    const { clock } = this;
    this.outbox = new CallbackOutbox({
      callbacks: {
        hasRoom: (bytes) => this.hasRoom(bytes),
        deliver: (delivery) =>
          new Promise((resolve) => {
            const end = async (how: DeliveryEnd): Promise<void> => {
              resolve(how);
              await turnsPassed();
            };
            this.sent.push({ delivery, end });
          }),
      },
      pending: isDurable ? this.pending : undefined,
      fencingTokens: {
        tokenOf: (partition) => (this.owned.has(partition) ? 1 : undefined),
        heldTokenOf: (partition) => (this.owned.has(partition) ? 1 : undefined),
      },
      clock,
      observe: (o) => this.observed.push(o),
    });
  }

  get ids(): string[] {
    return this.sent.map(({ delivery }) => delivery.executionId);
  }

  get kinds(): string[] {
    return this.observed.map(({ kind }) => kind);
  }

  /** Stores an execution that has ended, with its pending callback, without telling the outbox. */
  finish(
    more: Parameters<typeof acceptedCallAt>[1] = {},
    { outcome = outcomeAt(this.clock.now()), bytes = 10 }: { outcome?: ExecutionOutcome; bytes?: number } = {},
  ): AcceptedCall & { readonly callbackUrl: string } {
    const callbackUrl = 'https://example.org/done?key=1';
    const accepted = { ...acceptedCallAt(this.clock.now(), more), callbackUrl };
    const { executionId, tenantId } = accepted;
    const dueUntil = this.clock.now() + 86_400_000;
    const mark = { executionId, tenantId, partition: partitionOfExecution(executionId), dueUntil, bytes };
    this.pending.stored.set(executionId, { mark, execution: { accepted, outcome, evicted: false } });
    return accepted;
  }

  /** The same, and posts it to the outbox. */
  post(more: Parameters<typeof acceptedCallAt>[1] = {}): Sent {
    const accepted = this.finish(more);
    this.outbox.post(accepted, accepted.callbackUrl, outcomeAt(this.clock.now()));
    const sent = this.sent.at(-1);
    if (!sent) throw new Error('nothing was sent');
    return sent;
  }

  async acquire(...partitions: readonly number[]): Promise<void> {
    for (const partition of partitions) this.owned.add(partition);
    await this.outbox.acquired(partitions);
    await this.clock.advance(0);
  }

  lose(...partitions: readonly number[]): void {
    for (const partition of partitions) this.owned.delete(partition);
    this.outbox.lost(partitions);
  }
}
