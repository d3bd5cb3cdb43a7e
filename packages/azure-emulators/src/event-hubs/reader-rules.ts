import { amqpConditions, type AmqpError } from '../amqp/amqp-service.js';

/** Readers without an owner level that may read one partition in one consumer group at the same time. */
const maxReaders = 5;

export type ReaderDecision<Reader> =
  | { readonly refused: AmqpError }
  /** The reader may attach; these are disconnected. */
  | { readonly disconnected: readonly { readonly reader: Reader; readonly error: AmqpError }[] };

/**
 * Decides about a new reader of a partition in a consumer group. Owner level (epoch): the highest or latest owner reads alone,
 * a lower one and readers without a level are kept out. Equal levels steal, which is how a load balancer takes a partition over.
 */
export function decideReader<Reader extends { readonly ownerLevel: number | undefined }>(
  readers: readonly Reader[],
  ownerLevel: number | undefined,
  partition: string,
): ReaderDecision<Reader> {
  const highest = readers.reduce<number | undefined>(
    (level, reader) => (reader.ownerLevel === undefined ? level : Math.max(level ?? 0, reader.ownerLevel)),
    undefined,
  );
  if (ownerLevel === undefined) {
    if (highest !== undefined) {
      return {
        refused: {
          condition: amqpConditions.linkStolen,
          description: `The reader of ${partition} has no owner level, but one with level ${highest} is reading. Set an ownerLevel or close the other reader.`,
        },
      };
    }
    if (readers.length < maxReaders) return { disconnected: [] };
    return {
      refused: {
        condition: amqpConditions.resourceLimitExceeded,
        description: `${maxReaders} readers without owner level already read ${partition} in this consumer group. Close one or use another group.`,
      },
    };
  }
  if (highest !== undefined && ownerLevel < highest) {
    return {
      refused: {
        condition: amqpConditions.linkStolen,
        description: `The reader of ${partition} has owner level ${ownerLevel}, but one with the higher level ${highest} is reading.`,
      },
    };
  }
  const error = {
    condition: amqpConditions.linkStolen,
    description: `A new reader of ${partition} with owner level ${ownerLevel} took over; this one is disconnected.`,
  };
  return { disconnected: readers.map((reader) => ({ reader, error })) };
}
