import fc from 'fast-check';

/** As much of JSON Schema as our documents use. */
export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly format?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Operation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: { readonly 'application/json'?: { readonly schema: Schema } } };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

/** One request made from the document. */
export interface RandomRequest {
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** What a document cannot say. */
export interface Known {
  /** Values that mean something to the server, by the name of the parameter or property: made-up ones lead nowhere. */
  readonly values: Readonly<Record<string, fc.Arbitrary<unknown>>>;
  /** Properties without which little is of use, though they may be left out. */
  readonly usual: readonly string[];
}

const hostile = fc.constantFrom<unknown>(
  '',
  '\u0000',
  '%00',
  '..',
  "'; drop table drover.executions; --",
  '__proto__',
  'constructor',
  '\ud800',
  '💥'.repeat(30),
  '9'.repeat(400),
  'a'.repeat(3_000),
  '0000-01-01T00:00:00Z',
  '2016-12-31T23:59:60Z',
  -1,
  0,
  1e308,
  0.5,
  2 ** 53,
  true,
  null,
  [],
  {},
);

/** Requests of every operation that `wanted` says yes to: mostly as its schemas ask for, often with something else in their place. */
export function requestsOf(
  document: Document,
  known: (operation: Operation) => Known,
  wanted: (operation: Operation) => boolean,
): fc.Arbitrary<RandomRequest> {
  const all = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => wanted(operation))
      .map(([method, operation]) => requestOf(method.toUpperCase(), path, operation, known(operation))),
  );
  return fc.oneof(...all);
}

function requestOf(method: string, path: string, operation: Operation, known: Known): fc.Arbitrary<RandomRequest> {
  const { parameters = [], requestBody } = operation;
  const named = (where: string): Record<string, fc.Arbitrary<string>> =>
    Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === where)
        .map(({ name, schema }) => [name, value(schema, known, name).map(toText)]),
    );
  const schema = requestBody?.content['application/json']?.schema;
  return fc
    .record({
      inPath: fc.record(named('path')),
      inQuery: fc.record(named('query'), { requiredKeys: [] }),
      inHeaders: fc.record(named('header'), { requiredKeys: [] }),
      further: fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, fc.array(oddHeader, { maxLength: 3 })),
      body: schema ? bodyOf(schema, known) : fc.constant(undefined),
    })
    .map(({ inPath, inQuery, inHeaders, further, body }) => {
      const query = Object.entries(inQuery).map(([name, text = '']) => `${encoded(name)}=${encoded(text)}`);
      return {
        operation,
        method,
        path: `${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encoded(inPath[name] ?? ''))}${query.length > 0 ? `?${query.join('&')}` : ''}`,
        headers: [...Object.entries(inHeaders).map(([name, text = '']) => [name, text] as const), ...further],
        body,
      };
    });
}

const oddHeader = fc.tuple(
  fc.constantFrom(
    'content-type',
    'content-encoding',
    'x-request-id',
    'ce-specversion',
    'x-callback-url',
    'x-drover-forwarded',
    'accept',
    'traceparent',
    'x-dispatch-attempt',
  ),
  fc.oneof(
    fc.constantFrom(
      'application/json',
      'text/plain',
      'application/octet-stream',
      'application/cloudevents+json',
      'gzip',
      '1.0',
      '1',
      'http://127.0.0.1:1/',
    ),
    fc.string(),
  ),
);

function bodyOf(schema: Schema, known: Known): fc.Arbitrary<string | undefined> {
  const json = value(schema, known).map((one) => JSON.stringify(one) ?? 'null');
  return fc.oneof(
    { weight: 20, arbitrary: json },
    { weight: 1, arbitrary: json.map((text) => text.slice(0, -1)) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.constantFrom(undefined, '', '[', '{"__proto__":1}', `{"input":${'['.repeat(5_000)}`) },
  );
}

/** Mostly a value that fits; now and then one that is known to hurt, or any. */
function value(schema: Schema, known: Known, name?: string): fc.Arbitrary<unknown> {
  const real = name === undefined ? undefined : known.values[name];
  return fc.oneof(
    { weight: real ? 72 : 0, arbitrary: real ?? fc.constant(null) },
    { weight: 24, arbitrary: fitting(schema, known) },
    { weight: 1, arbitrary: hostile },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );
}

function fitting(schema: Schema, known: Known): fc.Arbitrary<unknown> {
  const { type, anyOf, items, properties, patternProperties, pattern, format, maxLength = 30 } = schema;
  if ('const' in schema) return fc.constant(schema.const);
  if (anyOf) return fc.oneof(...anyOf.map((one) => fitting(one, known)));
  if (items) {
    const { minItems = 0, maxItems = 4 } = schema;
    return fc.array(value(items, known), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) });
  }
  if (properties) return objectOf(properties, schema.required ?? [], known);
  const [ofKeys] = Object.entries(patternProperties ?? {});
  if (ofKeys) {
    const key = fc.stringMatching(new RegExp(ofKeys[0])).map((text) => text.slice(0, 20));
    return fc.dictionary(key, value(ofKeys[1], known), { maxKeys: 3, noNullPrototype: true });
  }
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number': {
      const { minimum = schema.exclusiveMinimum ?? 0, maximum = 1_000 } = schema;
      return fc.oneof(
        fc.constantFrom(minimum, maximum),
        fc.integer({ min: Math.ceil(minimum), max: Math.ceil(minimum) + 20 }),
      );
    }
    case 'string':
      if (format === 'date-time') return instant;
      if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).map((text) => text.slice(0, maxLength));
      return fc.string({ maxLength: Math.min(maxLength, 30) });
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** With few of many properties: one that does not fit spoils them all. */
function objectOf(
  properties: NonNullable<Schema['properties']>,
  required: readonly string[],
  known: Known,
): fc.Arbitrary<unknown> {
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const usual = known.usual.filter((name) => optional.includes(name));
  const some = fc.subarray(optional, { maxLength: Math.min(4, optional.length) });
  return fc.tuple(some, fc.subarray(usual)).chain(([few, more]) => {
    const chosen = [...few, ...more];
    const parts = Object.entries(properties).filter(([name]) => chosen.includes(name) || required.includes(name));
    return fc.record(Object.fromEntries(parts.map(([name, part]) => [name, value(part, known, name)] as const)));
  });
}

const instant = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());

function toText(one: unknown): string {
  return typeof one === 'string' ? one : (JSON.stringify(one) ?? '');
}

function encoded(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '?'));
}
