import type { TenantId } from '@drover/contracts';
import type { FinishedExecution } from './execution-store.js';

/** The mark of an execution that has ended and whose result somebody elsewhere is still to get. */
export interface CallbackMark {
  readonly executionId: string;
  readonly tenantId: TenantId;
  readonly partition: number;
  /** After that nobody has to try any more. Epoch milliseconds. */
  readonly dueUntil: number;
  /** What the output takes, about. */
  readonly bytes: number;
}

/**
 * Results that are still to be delivered to the URL that their call named. A mark is there as soon as the end of its execution
 * is, and stays, with the execution, until it is removed.
 */
export interface CallbackMarks {
  /** Marks of these partitions in the order of acceptance, so many at most, behind an execution. */
  list(partitions: readonly number[], after: string | undefined, limit: number): Promise<readonly CallbackMark[]>;
  /** The marked executions, without their inputs and in any order. One that is gone all the same is left out. */
  read(marks: readonly CallbackMark[]): Promise<readonly FinishedExecution[]>;
  /**
   * Nothing is left to do. Many are removed together; resolves once that is durable. Also a former home may say it: a result
   * that was taken was taken.
   */
  remove(mark: Pick<CallbackMark, 'tenantId' | 'executionId'>): Promise<void>;
}
