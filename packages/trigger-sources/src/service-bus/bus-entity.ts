import type { OptionRule } from '../options/option-rules.js';

/** A queue or a subscription, or its dead letters. */
export interface BusEntity {
  /** Address of the entity, as the SDK and the service write it. */
  readonly path: string;
  /** The queue, or the topic. */
  readonly name: string;
  /** Undefined for a queue. */
  readonly subscription: string | undefined;
  /** Messages of a dead-letter queue have no delivery limit, and cannot be dead-lettered again. */
  readonly isDeadLetterQueue: boolean;
}

const deadLetterSuffix = /\/(?:\$transfer\/)?\$deadletterqueue$/i;
const namePattern = /^[\p{L}\p{N}](?:[\p{L}\p{N}._/-]*[\p{L}\p{N}])?$/u;

function entityName(longest: number, withDeadLetters: boolean): OptionRule<string> {
  return {
    allowed: `1 to ${longest} letters, digits, periods, hyphens, underscores and slashes, beginning and ending with a letter or digit${withDeadLetters ? ', with /$DeadLetterQueue behind it for its dead letters' : ''}`,
    read(value) {
      const text = typeof value === 'string' ? value.trim() : '';
      const bare = withDeadLetters ? text.replace(deadLetterSuffix, '') : text;
      return bare.length <= longest && namePattern.test(bare) ? text : undefined;
    },
  };
}

/** Names by the rules of the service. Those of a trigger may name dead letters. */
export const entityRules = {
  queue: entityName(260, false),
  queueOfTrigger: entityName(260, true),
  topic: entityName(260, false),
  subscription: entityName(50, true),
};

export function queueEntity(queueName: string): BusEntity {
  return {
    path: queueName,
    name: queueName.replace(deadLetterSuffix, ''),
    subscription: undefined,
    isDeadLetterQueue: deadLetterSuffix.test(queueName),
  };
}

export function subscriptionEntity(topicName: string, subscriptionName: string): BusEntity {
  return {
    path: `${topicName}/Subscriptions/${subscriptionName}`,
    name: topicName,
    subscription: subscriptionName.replace(deadLetterSuffix, ''),
    isDeadLetterQueue: deadLetterSuffix.test(subscriptionName),
  };
}
