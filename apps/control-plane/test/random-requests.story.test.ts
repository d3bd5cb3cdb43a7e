import { ErrorBody } from '@drover/contracts';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { eventually } from '@drover/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { idOf, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { parseAnswer, RawConnection, type Answer } from './support/raw-http.js';
import { leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly { readonly const?: string }[];
  readonly items?: Schema;
  readonly required?: string[];
  readonly format?: string;
}
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}
interface Case {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly values: Readonly<Record<string, string>>;
  readonly query: string;
  /** Whether values stand in the path as they are, without encoding. */
  readonly verbatim: boolean;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
  readonly keyed: boolean;
}

let test: TestDatabase;
let plane: RunningControlPlane;
let operations: Pick<Case, 'method' | 'path' | 'operation'>[];
/** The key that random requests come with: of a tenant of its own, and made anew when they revoke it. */
let key: string;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(test.url);
  const { body } = await plane.request('/openapi.json');
  const { paths } = body as { readonly paths: Record<string, Record<string, Operation>> };
  operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  key = await storeKey(await test.connect(), { tenantId: 'random' });
});
afterAll(async () => {
  await plane?.stop();
  await test.drop();
});

const hostile = fc.constantFrom(
  '',
  '\u0000',
  '%00',
  '%',
  '%ff%fe',
  '..',
  '../../etc/passwd',
  "' or 1=1 --",
  '"; drop table drover.api_keys; --',
  '${jndi:ldap://x}',
  '__proto__',
  'constructor',
  '\ud800',
  '\u202e',
  '🔑'.repeat(50),
  '9'.repeat(400),
  '1e999',
  '-1',
  'NaN',
  '<script>alert(1)</script>',
  'a'.repeat(5_000),
);
const text = fc.oneof(hostile, fc.string(), fc.string({ unit: 'grapheme' }));

/** Mostly what the schema asks for, and often something else in its place. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 12, arbitrary: fittingValue(schema) },
    { weight: 1, arbitrary: fc.jsonValue() },
    { weight: 1, arbitrary: text },
  );
}

function fittingValue({ type, format, properties, required = [], anyOf, items }: Schema): fc.Arbitrary<unknown> {
  if (anyOf) return fc.constantFrom(...anyOf.map((one) => one.const));
  if (items) return fc.array(valueOf(items), { maxLength: 2 });
  if (type === 'integer') return fc.oneof(fc.integer(), fc.integer({ min: 1, max: 200 }));
  if (format === 'date-time')
    return fc.date({ min: new Date(0), max: new Date('2100'), noInvalidDate: true }).map((date) => date.toISOString());
  if (!properties) return text;
  const parts = Object.entries(properties).map(([name, part]) => [name, valueOf(part)] as const);
  return fc.oneof(
    fc.record(Object.fromEntries(parts), { requiredKeys: required }),
    fc.record(Object.fromEntries(parts), { requiredKeys: [] }),
  );
}

const headerName = fc.constantFrom(
  'accept',
  'accept-version',
  'content-type',
  'content-encoding',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
  'range',
  'if-none-match',
  'x-request-id',
  'traceparent',
  'x-forwarded-for',
  'x-http-method-override',
  'cookie',
  'authorization',
  'host',
  'te',
);
const headers = fc.array(
  fc.tuple(headerName, fc.oneof(text, fc.constantFrom('application/json', '*/*', 'chunked', '100-continue', '5'))),
  { maxLength: 4 },
);

/** Half a character has no encoding. */
const whole = (value: string): string => value.replaceAll(/\p{Surrogate}/gu, '?');
/** Not by `String`: an object may have a `toString` of its own that is no function. */
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const encoded = (value: string): string => encodeURIComponent(whole(value));
const printable = (value: string): string => value.replaceAll(/[^\u0021-\u007e]/g, '?');

function cases(): fc.Arbitrary<Case> {
  return fc.constantFrom(...operations).chain(({ method, path, operation }) => {
    const { parameters = [], requestBody } = operation;
    const named = (where: string): Record<string, fc.Arbitrary<string>> =>
      Object.fromEntries(
        parameters
          .filter((parameter) => parameter.in === where)
          .map(({ name, schema }) => [name, fc.oneof(valueOf(schema).map(asText), fc.constant(idOf(key)))]),
      );
    const query = fc.tuple(fc.record(named('query'), { requiredKeys: [] }), fc.dictionary(text, text, { maxKeys: 2 }));
    const schema = requestBody?.content['application/json']?.schema;
    const json = schema ? valueOf(schema).map((value) => JSON.stringify(value)) : fc.json();
    return fc.record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(method) },
        { weight: 1, arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'PATCH', 'TRACE') },
      ),
      path: fc.constant(path),
      operation: fc.constant(operation),
      values: fc.record(named('path')),
      query: query.map(([known, more]) =>
        Object.entries({ ...known, ...more })
          .map(([name, value = '']) => `${encoded(name)}=${encoded(value)}`)
          .join('&'),
      ),
      verbatim: fc.nat(9).map((n) => n === 0),
      headers,
      body: fc.option(fc.oneof({ weight: 5, arbitrary: json }, { weight: 1, arbitrary: text }), {
        nil: undefined,
        freq: schema ? 8 : 1,
      }),
      keyed: fc.nat(9).map((n) => n > 0),
    });
  });
}

/** On a bare connection, since no client would send half of this. */
async function send({ method, path, values, query, verbatim, headers, body, keyed }: Case): Promise<Answer> {
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    (verbatim ? printable : encoded)(values[name] ?? ''),
  );
  const bytes = body === undefined ? undefined : Buffer.from(whole(body)).toString('latin1');
  const lines = [
    `${method} ${address}${query === '' ? '' : `?${query}`} HTTP/1.1`,
    'host: x',
    'connection: close',
    ...(keyed ? [`authorization: Bearer ${key}`] : []),
    ...(bytes === undefined ? [] : ['content-type: application/json', `content-length: ${bytes.length}`]),
    ...headers.map(([name, value]) => `${name}: ${value.replaceAll(/[^\u0020-\u007e]/g, '?')}`),
  ];
  const connection = await RawConnection.open(plane.url);
  connection.send(`${lines.join('\r\n')}\r\n\r\n${bytes ?? ''}`);
  // A random length may promise more than it sends: hang up, as such a client would in the end.
  const announced = headers.some(([name]) => ['content-length', 'transfer-encoding', 'expect'].includes(name));
  if (announced) await Promise.race([connection.ended, answered(connection)]);
  else await connection.ended;
  await connection.close();
  return parseAnswer(connection.received);
}

/** The server may wait for the rest of a body that never comes. */
const answered = (connection: RawConnection): Promise<unknown> =>
  eventually(() => parseAnswer(connection.received).text !== '', 300).catch(() => undefined);

const ajv = formats.default(new Ajv({ strict: false }));
const validators = new Map<object, ValidateFunction>();
function fits(schema: object, value: unknown): boolean {
  const validate = validators.get(schema) ?? ajv.compile(schema);
  validators.set(schema, validate);
  return validate(value);
}

/** An answer that the document has for this operation, or the one error shape with a status of a caller's fault. */
function expectDocumented({ operation, method }: Case, { status, body, headers }: Answer): void {
  expect(status).toBeLessThan(500);
  const documented = operation.responses[String(status)];
  if (method === 'HEAD') return expect(status).toBeGreaterThanOrEqual(400);
  if (documented && status < 400) {
    const schema = documented.content?.['application/json']?.schema;
    if (schema) expect(fits(schema, body)).toBe(true);
    return;
  }
  expect(status).toBeGreaterThanOrEqual(400);
  expect(fits(ErrorBody, body)).toBe(true);
  expect(body).toMatchObject({ requestId: headers.get('x-request-id') });
}

describe('a random request', () => {
  it('gets a documented answer or the one error shape, and never 5xx', async () => {
    const statuses = new Map<number, number>();
    const admin = await test.connect();
    const property = fc.asyncProperty(cases(), async (random) => {
      const answer = await send(random);
      if (Number.isNaN(answer.status)) return; // it promised a body and hung up before that came
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      expectDocumented(random, answer);
      if (answer.status === 204) key = await storeKey(admin, { tenantId: 'random' });
    });
    // The test has teeth only if many kinds of answers came; now and then it takes chance a little longer.
    const has = (...any: number[]): boolean => any.some((status) => statuses.has(status));
    const missing = (): string[] =>
      Object.entries({
        read: has(200),
        changed: has(201, 202, 204),
        refused: has(400),
        unknown: has(401),
        absent: has(404),
      })
        .filter(([, isThere]) => !isThere)
        .map(([kind]) => kind);
    for (let round = 0; round === 0 || (round < 10 && missing().length > 0); round += 1)
      await fc.assert(property, { numRuns: 600, endOnFailure: true });
    expect(missing()).toEqual([]);
    expect((await plane.request('/readyz')).status).toBe(200);
    expect(plane.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
