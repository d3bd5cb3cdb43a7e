import { FakeClock } from '@drover/testkit';
import { partitionOfExecution } from '@drover/ownership';
import type { PendingCallback, PendingCallbacks, FinishedExecution, ExecutionOutcome } from '@drover/execution-store';
import { acceptedCallAt, outcomeAt } from '@drover/execution-store/testing';
import type { AcceptedCall } from '@drover/contracts';
import { CallbackOutbox } from '../callback-outbox.js';
import type { CallbackObservation } from '../observations.js';
import type { DeliveryEnd, ResultDelivery } from '../result-callbacks.js';

/** A delivery in the test's hands. */
export interface Sent {
  readonly delivery: ResultDelivery;
  end(end: DeliveryEnd): Promise<void>;
}

/** What promises had to do is done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** Marks that outlive any outbox of the test. */
export class TrialMarks implements PendingCallbacks {
  readonly kept = new Map<string, { mark: PendingCallback; execution: FinishedExecution | undefined }>();
  lists = 0;
  readonly reads: number[] = [];
  /** Awaited by each before it answers with what it saw. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve();
  beforeRemoval: () => Promise<void> = () => Promise.resolve();

  async list(partitions: readonly number[], after: string | undefined, limit: number): Promise<PendingCallback[]> {
    this.lists += 1;
    const seen = [...this.kept.values()]
      .map(({ mark }) => mark)
      .filter(({ partition, executionId }) => partitions.includes(partition) && executionId > (after ?? ''))
      .toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1))
      .slice(0, limit);
    await this.beforeAnswer();
    return seen;
  }

  async read(marks: readonly PendingCallback[]): Promise<FinishedExecution[]> {
    this.reads.push(marks.length);
    const seen = marks.flatMap(({ executionId }) => this.kept.get(executionId)?.execution ?? []);
    await this.beforeAnswer();
    return seen;
  }

  async remove({ executionId }: Pick<PendingCallback, 'executionId'>): Promise<void> {
    await this.beforeRemoval();
    this.kept.delete(executionId);
  }
}

/** An outbox whose deliveries end as the test says. */
export class OutboxTrial {
  readonly clock = new FakeClock();
  readonly marks = new TrialMarks();
  readonly sent: Sent[] = [];
  readonly said: CallbackObservation[] = [];
  readonly homes = new Set(Array.from({ length: 16 }, (_, partition) => partition));
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
              await settled();
            };
            this.sent.push({ delivery, end });
          }),
      },
      marks: isDurable ? this.marks : undefined,
      fencingTokens: { tokenOf: (partition) => (this.homes.has(partition) ? 1 : undefined) },
      clock,
      observe: (o) => this.said.push(o),
    });
  }

  get ids(): string[] {
    return this.sent.map(({ delivery }) => delivery.executionId);
  }

  get kinds(): string[] {
    return this.said.map(({ kind }) => kind);
  }

  /** An execution that has ended and is marked, before anybody was told. */
  finish(
    more: Parameters<typeof acceptedCallAt>[1] = {},
    { outcome = outcomeAt(this.clock.now()), bytes = 10 }: { outcome?: ExecutionOutcome; bytes?: number } = {},
  ): AcceptedCall & { readonly callbackUrl: string } {
    const callbackUrl = 'https://example.org/done?key=1';
    const accepted = { ...acceptedCallAt(this.clock.now(), more), callbackUrl };
    const { executionId, tenantId } = accepted;
    const dueUntil = this.clock.now() + 86_400_000;
    const mark = { executionId, tenantId, partition: partitionOfExecution(executionId), dueUntil, bytes };
    this.marks.kept.set(executionId, { mark, execution: { accepted, outcome, evicted: false } });
    return accepted;
  }

  /** The same, and the outbox is told. */
  post(more: Parameters<typeof acceptedCallAt>[1] = {}): Sent {
    const accepted = this.finish(more);
    this.outbox.post(accepted, accepted.callbackUrl, outcomeAt(this.clock.now()));
    const sent = this.sent.at(-1);
    if (!sent) throw new Error('nothing was sent');
    return sent;
  }

  async gain(...partitions: readonly number[]): Promise<void> {
    for (const partition of partitions) this.homes.add(partition);
    await this.outbox.acquired(partitions);
    await this.clock.advance(0);
  }

  lose(...partitions: readonly number[]): void {
    for (const partition of partitions) this.homes.delete(partition);
    this.outbox.lost(partitions);
  }
}
