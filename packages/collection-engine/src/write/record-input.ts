import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { ProblemList, type RecordProblem } from '../model/record-problem.js';
import { NumberLiteral } from '../values/number-literal.js';
import { recordBodyInvalid } from './write-errors.js';

/** A record as the client wrote it: from a JSON:API resource or a plain object. */
export interface RecordInput {
  readonly id: string | undefined;
  /** Name of the record within one request of atomic operations. */
  readonly lid: string | undefined;
  /** By name of the attribute or relation, unchecked. */
  readonly values: Readonly<Record<string, unknown>>;
  /** `meta.version` of a resource, unchecked: a new record ignores it, an existing one must have it. */
  readonly metaVersion?: unknown;
  /** Returns the JSON pointer of a value in the body. */
  readonly pointer: (name: string) => string;
  /** JSON pointer of the record in the body. */
  readonly at: string;
}

interface RecordInputs {
  readonly isArray: boolean;
  readonly inputs: readonly RecordInput[];
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Resolves the local id of a record of the same request; undefined if there is none. */
export type ResolveLid = (collection: string, lid: string) => string | undefined;

/**
 * Reads the body of a write: a JSON:API document with one resource or an array of them, a plain object, or an array of plain
 * objects. Throws all problems of its structure; values are checked later. `checkCount` is called before the records of an array are
 * read, and throws if there are too many.
 */
export function readRecordInputs(
  body: unknown,
  collection: CollectionModel,
  checkCount: (records: number) => void,
): RecordInputs {
  const problems = new ProblemList(recordBodyInvalid);
  const inputs = readBody(body, { collection, problems, resolveLid: () => undefined }, checkCount);
  problems.throwIfAny();
  return inputs;
}

interface Reading {
  readonly collection: CollectionModel;
  readonly problems: ProblemList;
  readonly resolveLid: ResolveLid;
}

function readBody(body: unknown, reading: Reading, checkCount: (records: number) => void): RecordInputs {
  if (isJsonRecord(body) && isDocument(body, reading.collection)) {
    const { data } = body;
    if (Array.isArray(data)) {
      checkCount(data.length);
      return { isArray: true, inputs: data.map((each, index) => readResource(each, `/data/${index}`, reading)) };
    }
    return { isArray: false, inputs: [readResource(data, '/data', reading)] };
  }
  if (Array.isArray(body)) {
    checkCount(body.length);
    return { isArray: true, inputs: body.map((each, index) => readPlainOrResource(each, `/${index}`, reading)) };
  }
  return { isArray: false, inputs: [readPlain(body, '', reading)] };
}

/** A plain object with a field of the name `data` is not a document, unless the value looks like a resource. */
function isDocument({ data }: JsonObject, { fields }: CollectionModel): boolean {
  if (data === undefined) return false;
  if (!fields.has('data')) return true;
  const first: unknown = Array.isArray(data) ? data[0] : data;
  return isJsonRecord(first) && typeof first['type'] === 'string' && isJsonRecord(first['attributes'] ?? {});
}

function readPlainOrResource(value: unknown, at: string, reading: Reading): RecordInput {
  const { fields } = reading.collection;
  return isJsonRecord(value) && isJsonRecord(value['attributes']) && !fields.has('attributes')
    ? readResource(value, at, reading)
    : readPlain(value, at, reading);
}

function readPlain(value: unknown, at: string, { collection, problems }: Reading): RecordInput {
  if (!isJsonRecord(value)) {
    problems.add(problem(at, `A record of "${collection.name}" must be an object, not ${nameOf(value)}.`));
    return emptyInput(at);
  }
  const { id, type, ...values } = value;
  checkType(type, `${at}/type`, { collection, problems });
  return {
    id: readText(id, `${at}/id`, problems),
    lid: undefined,
    values,
    pointer: (name) => `${at}/${escapePointer(name)}`,
    at,
  };
}

const resourceMembers = new Set(['type', 'id', 'lid', 'attributes', 'relationships', 'links', 'meta']);

/** Reads one JSON:API resource. Problems of its structure are added to `reading.problems`. */
export function readResource(value: unknown, at: string, reading: Reading): RecordInput {
  const { problems } = reading;
  if (!isJsonRecord(value)) {
    problems.add(problem(at, `A resource must be an object with "type" and "attributes", not ${nameOf(value)}.`));
    return emptyInput(at);
  }
  for (const name of Object.keys(value).filter((each) => !resourceMembers.has(each))) {
    problems.add(
      problem(`${at}/${escapePointer(name)}`, `A resource has no member "${name}". Put fields under "attributes".`),
    );
  }
  const { type, id, lid, attributes = {}, relationships = {}, meta } = value;
  checkType(type, `${at}/type`, reading);
  if (!isJsonRecord(attributes)) {
    problems.add(problem(`${at}/attributes`, `"attributes" must be an object, not ${nameOf(attributes)}.`));
    return emptyInput(at);
  }
  const related = readRelationships(relationships, `${at}/relationships`, reading);
  return {
    id: readText(id, `${at}/id`, problems),
    lid: readText(lid, `${at}/lid`, problems),
    values: { ...attributes, ...related },
    ...(isJsonRecord(meta) && meta['version'] !== undefined && { metaVersion: meta['version'] }),
    pointer: (name) =>
      Object.hasOwn(related, name)
        ? `${at}/relationships/${escapePointer(name)}`
        : `${at}/attributes/${escapePointer(name)}`,
    at,
  };
}

function readRelationships(value: unknown, at: string, reading: Reading): Record<string, unknown> {
  const { collection, problems } = reading;
  if (!isJsonRecord(value)) {
    problems.add(problem(at, `"relationships" must be an object, not ${nameOf(value)}.`));
    return {};
  }
  const related: Record<string, unknown> = {};
  for (const [name, relation] of Object.entries(value)) {
    const pointer = `${at}/${escapePointer(name)}`;
    const field = collection.fields.get(name);
    if (field && field.traits.kind !== 'reference') {
      problems.add(problem(pointer, `"${name}" is not a relation of "${collection.name}". Put it under "attributes".`));
      continue;
    }
    const link = readLinkage(relation, pointer, field, reading);
    if (link !== undefined) related[name] = link;
  }
  return related;
}

/** Returns the id that a relation refers to, null for none, or undefined if there is a problem. */
function readLinkage(
  relation: unknown,
  at: string,
  field: FieldModel | undefined,
  { problems, resolveLid }: Reading,
): unknown {
  const data = isJsonRecord(relation) ? relation['data'] : undefined;
  if (data === null) return null;
  if (!isJsonRecord(data)) {
    problems.add(problem(`${at}/data`, 'A relation must be {"data": {"type": …, "id": …}} or {"data": null}.'));
    return undefined;
  }
  const { type, id, lid } = data;
  const target = field?.definition.references?.collection;
  if (target !== undefined && type !== undefined && type !== target) {
    problems.add(problem(`${at}/data/type`, `"${field?.name}" refers to "${target}", not to ${JSON.stringify(type)}.`));
    return undefined;
  }
  if (typeof lid !== 'string' || id !== undefined) return id;
  const resolved = resolveLid(target ?? (typeof type === 'string' ? type : ''), lid);
  if (resolved === undefined) {
    problems.add(
      problem(`${at}/data/lid`, `No earlier operation of this request adds a record with the lid "${lid}".`),
    );
  }
  return resolved;
}

function checkType(
  type: unknown,
  at: string,
  { collection, problems }: Pick<Reading, 'collection' | 'problems'>,
): void {
  if (type === undefined || type === collection.name) return;
  problems.add(problem(at, `The type is ${JSON.stringify(type)}, but this is the collection "${collection.name}".`));
}

function readText(value: unknown, at: string, problems: ProblemList): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  problems.add(problem(at, `"${at.split('/').at(-1)}" must be a text, not ${nameOf(value)}.`));
  return undefined;
}

const emptyInput = (at: string): RecordInput => ({
  id: undefined,
  lid: undefined,
  values: {},
  pointer: () => at,
  at,
});

const problem = (pointer: string, detail: string): RecordProblem => ({
  code: 'INVALID_PAYLOAD',
  detail,
  source: { pointer },
});

export function isJsonRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberLiteral);
}

export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

const nameOf = (value: unknown): string =>
  value === undefined
    ? 'nothing'
    : value === null
      ? 'null'
      : Array.isArray(value)
        ? 'an array'
        : `a ${value instanceof NumberLiteral ? 'number' : typeof value}`;
