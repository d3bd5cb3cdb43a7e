import { ErrorBody } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFunctionsPlatform, type FunctionsPlatform } from './support/functions.js';
import {
  requestsOf,
  type Document,
  type Known,
  type Operation,
  type RandomRequest,
} from './support/openapi-requests.js';
import { exchange, type Answer } from './support/raw-http.js';
import { echo, Gate, type Behaviour } from './support/scripted-endpoint.js';
import { leavesNoSecretBehind } from './support/secrets.js';

const runs = 40;
const atATime = 20;
const mostRounds = 10;
/** Of callers of functions that may not answer. */
const longestWaitMs = 100;
/** Of callers of functions that answer at once, and of those functions: a busy machine takes as long as it needs. */
const patientMs = 300_000;
/** Ends a test that hangs: the number of requests is what is limited, not their time. */
const hangsAfterMs = 1_800_000;

let platform: FunctionsPlatform;
let document: Document;
/** Of executions that random requests may name: the newest, whatever became of them. */
const ids: string[] = [];
/** Of executions that wait for an hour, of those that fail, and of secrets: requests that need one are to find one. */
const delayed: string[] = [];
const failing: string[] = [];
const secrets: string[] = [];
const gate = new Gate();

const behaviours: Readonly<Record<string, Behaviour>> = {
  echo,
  fails: () => ({ status: 500, json: { error: 'it does' } }),
  // No cut connection: all of them are at one address, and nobody would call that for a while.
  refuses: () => ({ status: 503 }),
  chooses: () => ({ status: 404, headers: { 'x-nanofaas-function-status': 'true', 'x-own': 'v' }, json: 'nothing' }),
  text: () => ({ text: 'plain', headers: { 'content-type': 'text/plain' } }),
  late: () => ({ status: 202 }),
  hangs: async () => {
    await gate.opened;
    return {};
  },
};

/** Those that random requests may change and remove: of the others something is wanted. */
const victims = ['victim-1', 'victim-2', 'victim-3'];

leavesNoSecretBehind();
beforeAll(async () => {
  platform = await startFunctionsPlatform({ DROVER_SECRETS_KEY: 'the key of the tests, long enough' });
  document = (await platform.request('/openapi.json')).body as Document; // what the next lines rely on
  for (const [name, behaviour] of Object.entries(behaviours))
    await platform.register(name, behaviour, { timeoutMs: name === 'echo' ? patientMs : 400, concurrency: 10 });
  for (const name of victims) await platform.register(name);
  for (const [name, body] of [
    ['echo', { input: 1 }],
    ['fails', { input: 1 }],
    ['echo', { input: 1, delayMs: 3_600_000 }],
    ['hangs', { input: 1 }],
  ] as const)
    ids.push((await platform.enqueue(name, body)).executionId);
  for (let count = 0; count < 50; count += 1)
    delayed.push((await platform.enqueue('echo', { input: 1, delayMs: 3_600_000 })).executionId);
});
afterAll(async () => {
  gate.open();
  await platform?.stop();
});

const functionName = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...Object.keys(behaviours)) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 500 }).map((n) => `new-${n}`) },
);
const oneOf = (list: readonly string[], others = ids): fc.Arbitrary<string | undefined> =>
  fc.nat().map((n) => (list.length > 0 ? list[n % list.length] : others[n % others.length]));
const executionId = oneOf(ids);
const executionIds: Readonly<Record<string, readonly string[]>> = {
  cancelExecution: delayed,
  deleteDeadLetter: failing,
};
const changes = new Set([
  'patchFunction',
  'replaceFunction',
  'deleteFunction',
  'pauseFunctionQueue',
  'resumeFunctionQueue',
  'drainFunctionQueue',
  'purgeFunctionQueue',
]);
const instants = fc.integer({ min: 1, max: 2_000 }).map((ms) => new Date(Date.now() + ms).toISOString());
const known = ({ operationId }: Operation): Known => ({
  usual: ['endpointUrl'],
  values: {
    name: changes.has(operationId) ? fc.constantFrom(...victims) : functionName,
    function: functionName,
    executionId: fc.oneof(executionId, oneOf(executionIds[operationId] ?? ids)),
    secretId: oneOf(secrets),
    after: executionId,
    executionIds: fc.array(executionId, { minLength: 1, maxLength: 3 }),
    endpointUrl: functionName.map((name) => platform.endpoint.serve(name, behaviours[name] ?? echo)),
    executionMode: fc.constantFrom('POOL', 'EXTERNAL', 'LOCAL', 'REMOTE', 'APP'),
    callbackUrl: fc.constant(platform.endpoint.serve('receiver', () => ({}))),
    delayMs: fc.constantFrom(0, 50, 3_600_000),
    cron: fc.constantFrom('0 4 * * *', '@daily', '61 * * * *'),
    timeZone: fc.constantFrom('UTC', 'Europe/Berlin'),
    runAt: instants,
    input: fc.jsonValue({ maxDepth: 3 }),
    'idempotency-key': fc.integer({ min: 0, max: 200 }).map((n) => `key-${n}`),
    'x-timeout-ms': fc.integer({ min: 1, max: longestWaitMs }),
    'x-dispatch-attempt': fc.integer({ min: 1, max: 3 }),
  },
});

/** Whoever does not say how long it waits would wait as long as the function may take. */
const waits = new Set(['invokeFunction', 'callOpenFaas']);

function send({ operation, method, path, headers, body }: RandomRequest): Promise<Answer> {
  const bytes = body === undefined ? undefined : Buffer.from(body).toString('latin1');
  const waitMs =
    path.startsWith('/v1/functions/echo:') || path.startsWith('/function/echo') ? patientMs : longestWaitMs;
  const isReplaced = (ms: number): boolean => ms > 0 && ms <= 300_000 && (ms > longestWaitMs || waitMs === patientMs);
  const own = headers
    .map(([name, value]) => [name, value.replaceAll(/[^\u0020-\u007e]/g, '?')] as const)
    .filter(([name, value]) => name !== 'x-timeout-ms' || !isReplaced(Number(value)));
  const has = (name: string): boolean => own.some(([one]) => one === name);
  return exchange(
    platform.plane.url,
    [
      `${method} ${path} HTTP/1.1`,
      'host: x',
      'connection: close',
      `authorization: Bearer ${platform.key}`,
      ...(bytes === undefined || has('content-type') ? [] : ['content-type: application/json']),
      ...(bytes === undefined ? [] : [`content-length: ${bytes.length}`]),
      ...(waits.has(operation.operationId) && !has('x-timeout-ms') ? [`x-timeout-ms: ${waitMs}`] : []),
      ...own.map(([name, value]) => `${name}: ${value}`),
      '',
      bytes ?? '',
    ].join('\r\n'),
  );
}

const ajv = formats.default(new Ajv({ strict: false }));
const validators = new Map<object, ValidateFunction>();
function expectFits(schema: object, value: unknown): void {
  const validate = validators.get(schema) ?? ajv.compile(schema);
  validators.set(schema, validate);
  if (!validate(value))
    throw new Error(`does not fit the document: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`);
}

/** What the document has for it, or an error of the catalogue; and what failed inside an execution says which one that was. */
function expectDocumented({ operation }: RandomRequest, { status, headers, body, text }: Answer): void {
  const { responses, operationId } = operation;
  const schemaOf = (one: number): object | undefined => responses[one]?.content?.['application/json']?.schema;
  const ended = headers.get('x-execution-id') !== null;
  // A function that is paused, or a platform that is busy, says when to come again: that is an answer, not an inner error.
  const isPassing = status === 503 && headers.has('retry-after');
  if (status >= 500 && !ended && !isPassing) throw new Error(`an error of ours: ${text}`);
  if (operationId === 'callOpenFaas' && ended && (status < 400 || body === undefined)) return; // the output is as it is
  // The end of an execution, also with a status that its handler chose.
  if (operationId === 'invokeFunction' && ended && typeof body === 'object' && body !== null && 'executionId' in body)
    return expectFits(schemaOf(200) ?? {}, body);
  if (status >= 400) {
    expectFits(ErrorBody, body);
    return expect(body).toMatchObject({ requestId: headers.get('x-request-id') });
  }
  expect(Object.keys(responses)).toContain(String(status));
  const schema = schemaOf(status);
  if (schema) expectFits(schema, body);
}

function idsIn(text: string): string[] {
  return [...text.matchAll(/"executionId":"([0-9a-f-]{36})"/g)].flatMap(([, id = '']) => [id]);
}

/** Keeps the ids in an answer for later requests. */
function remember({ operation, path }: RandomRequest, { status, text, body }: Answer): void {
  const found = idsIn(text);
  ids.push(...found);
  ids.splice(0, ids.length - 200);
  if (/\/fails[:/]/.test(path)) failing.push(...found);
  if (operation.operationId === 'createCallbackSecret' && status === 201)
    secrets.push((body as { readonly id: string }).id); // as its schema says, which was checked
}

describe('the document', () => {
  it(
    'describes every answer to random requests made from it: none is another, none is an inner error',
    async () => {
      const seen = new Map<string, number>();
      let sent = 0;
      const isOfFunctions = ({ security }: Operation): boolean =>
        security.some(({ apiKey = [] }) => apiKey.some((scope) => scope.startsWith('functions:')));
      const requests = requestsOf(document, known, isOfFunctions);
      const property = fc.asyncProperty(
        fc.array(requests, { minLength: atATime, maxLength: atATime }),
        async (batch) => {
          const answers = await Promise.all(
            batch.map(async (request) => {
              const answer = await send(request);
              try {
                expectDocumented(request, answer);
              } catch (error) {
                const { method, path, headers, body } = request;
                const asked = JSON.stringify({ method, path, headers, body }).slice(0, 2_000);
                throw new Error(`${asked} was answered with ${answer.status} ${answer.text.slice(0, 1_000)}`, {
                  cause: error,
                });
              }
              seen.set(
                `${request.operation.operationId} ${answer.status}`,
                1 + (seen.get(`${request.operation.operationId} ${answer.status}`) ?? 0),
              );
              return answer;
            }),
          );
          sent += batch.length;
          for (const [at, answer] of answers.entries()) if (batch[at]) remember(batch[at], answer);
          if (
            answers.some(
              ({ status }, at) =>
                (status === 204 || status === 202) && batch[at]?.operation.operationId === 'deleteFunction',
            )
          )
            for (const name of victims) await platform.register(name).catch(() => undefined); // it may be there still
        },
      );
      // The test has teeth only if every operation has done its work; now and then it takes chance a little longer.
      const operations = Object.values(document.paths).flatMap((item) => Object.values(item).filter(isOfFunctions));
      const idle = (): string[] =>
        operations
          .filter(({ operationId }) => !operationId.endsWith('Replicas')) // nothing here has any
          .filter(
            ({ operationId, responses }) =>
              !Object.keys(responses).some((status) => status < '300' && seen.has(`${operationId} ${status}`)),
          )
          .map(({ operationId }) => operationId);
      for (let round = 0; round === 0 || (round < mostRounds && idle().length > 0); round += 1)
        await fc.assert(property, { numRuns: runs, endOnFailure: true });
      expect(idle()).toEqual([]);
      expect(sent).toBeGreaterThanOrEqual(runs * atATime);
      expect(platform.plane.log.filter(({ level }) => level === 'error')).toEqual([]);
      await eventually(async () => expect((await platform.request('/readyz')).status).toBe(200));
    },
    hangsAfterMs,
  );
});
