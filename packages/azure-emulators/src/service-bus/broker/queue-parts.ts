import type { BrokerLog } from './broker-log.js';
import type { MemoryBudget } from './memory-budget.js';
import type { BrokerMessage, MessageContent } from './message.js';

/** What a queue needs of the broker around it. */
export interface QueueParts {
  readonly log: BrokerLog;
  readonly budget: MemoryBudget;
  readonly nextLockToken: () => string;
  /** Takes a message that this queue gave up, its reason among its properties. Absent in a dead-letter queue, which keeps everything. */
  readonly deadLetter?: (content: MessageContent, message: BrokerMessage, nowMs: number) => void;
  /** Takes a scheduled message whose time has come. */
  readonly activate: (content: MessageContent, nowMs: number) => void;
  /** A message or a session may be free to receive. */
  readonly onAvailable: () => void;
  /** Something happens at this time unless the queue changes: call `advance` then. */
  readonly onDeadline: (atMs: number) => void;
}
