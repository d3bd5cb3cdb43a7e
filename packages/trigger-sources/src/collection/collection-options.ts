import { triggerOptionsInvalid } from '../errors.js';
import {
  commonBindingKeys,
  oneWordOf,
  readByRules,
  timeSpan,
  wholeNumber,
  type OptionRule,
  type ReadRules,
  type Rules,
} from '../options/option-rules.js';
import type { RecordChange, RecordWrite } from '../collection-records.js';

/** The options of a collectionTrigger. */
export interface CollectionTriggerOptions {
  readonly collection: string;
  readonly kinds: ReadonlySet<RecordChange['kind']>;
  /** Where a function without a checkpoint starts. */
  readonly startFrom: 'now' | 'beginning';
  readonly isBatch: boolean;
  readonly maxBatchSize: number;
  /** Records whose changes run side by side on one function worker. */
  readonly maxConcurrentRecords: number;
  /** Deliveries of a change that its function fails, before it is given up. */
  readonly maxDeliveryCount: number;
  /** First delay before a failed change is delivered again, doubled each time. */
  readonly retryBackOffMs: number;
  readonly unknownKeys: readonly string[];
}

export interface CollectionInputOptions {
  readonly collection: string;
  readonly id: string | undefined;
  readonly query: string;
}

export type CollectionOutputOptions = Pick<RecordWrite, 'collection' | 'operation' | 'key'>;

const kinds = ['created', 'updated', 'deleted', 'restored'] as const;

const name: OptionRule<string> = {
  allowed: 'the name of a collection',
  read: (value) => (typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined),
};
const text: OptionRule<string> = {
  allowed: 'a text',
  read: (value) => (typeof value === 'string' ? value : undefined),
};
const someKinds: OptionRule<readonly RecordChange['kind'][]> = {
  allowed: `one or several of ${kinds.join(', ')}`,
  read(value) {
    const given: readonly unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
    const found = given.map((one) =>
      kinds.find((kind) => typeof one === 'string' && one.trim().toLowerCase() === kind),
    );
    return found.length > 0 && found.every((kind) => kind !== undefined) ? found : undefined;
  },
};

const triggerRules = {
  collection: name,
  events: someKinds,
  startFrom: oneWordOf('now', 'beginning'),
  maxBatchSize: wholeNumber(1, 1_000),
  maxConcurrentRecords: wholeNumber(1, 1_000),
  maxDeliveryCount: wholeNumber(1, 1_000_000),
  retryBackOff: timeSpan(0, 3_600_000),
};
const cardinality = oneWordOf('one', 'many');

interface OptionsRequest {
  readonly functionName: string;
  /** The binding as the app declared it. */
  readonly binding: Readonly<Record<string, unknown>>;
}

export function collectionTriggerOptions({ functionName, binding }: OptionsRequest): CollectionTriggerOptions {
  const read = readByRules(triggerRules, binding);
  const collection = requireCollection(functionName, 'trigger', read);
  const { values, unknownKeys } = read;
  return {
    collection,
    kinds: new Set(values.events ?? kinds),
    startFrom: values.startFrom ?? 'now',
    isBatch: cardinality.read(binding['cardinality']) === 'many',
    maxBatchSize: values.maxBatchSize ?? 100,
    maxConcurrentRecords: values.maxConcurrentRecords ?? 16,
    maxDeliveryCount: values.maxDeliveryCount ?? 5,
    retryBackOffMs: values.retryBackOff ?? 1_000,
    unknownKeys: unknownKeys.filter((key) => !commonBindingKeys.has(key.toLowerCase())),
  };
}

export function collectionInputOptions({ functionName, binding }: OptionsRequest): CollectionInputOptions {
  const read = readByRules({ collection: name, id: text, query: text }, binding);
  const collection = requireCollection(functionName, 'input', read);
  const { id, query = '' } = read.values;
  if (id !== undefined && query !== '')
    throw triggerOptionsInvalid({
      functionName,
      problems: ['its collection input has an id, which reads one record: remove the query'],
    });
  return { collection, id, query };
}

export function collectionOutputOptions({ functionName, binding }: OptionsRequest): CollectionOutputOptions {
  const operation = oneWordOf('create', 'upsert', 'update', 'delete');
  const read = readByRules({ collection: name, operation, key: text }, binding);
  const collection = requireCollection(functionName, 'output', read);
  const { operation: chosen = 'create', key } = read.values;
  if ((chosen === 'upsert') !== (key !== undefined))
    throw triggerOptionsInvalid({
      functionName,
      problems: [
        'its collection output needs a key, the name of a unique field, for the operation upsert and no other',
      ],
    });
  return { collection, operation: chosen, key };
}

function requireCollection<R extends Rules>(
  functionName: string,
  kind: 'trigger' | 'input' | 'output',
  { values, problems }: ReadRules<R>,
): string {
  const found = problems.map(({ key, problem }) => `its collection ${kind}${key === '' ? '' : `: ${key}`} ${problem}`);
  const { collection } = values as { readonly collection?: string };
  if (collection === undefined && !problems.some(({ key }) => key === '' || key === 'collection'))
    found.push(`its collection ${kind} needs a collection: the name of one`);
  if (collection === undefined || found.length > 0) throw triggerOptionsInvalid({ functionName, problems: found });
  return collection;
}
