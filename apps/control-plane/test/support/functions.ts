import type { AcceptedExecution, ExecutionStatus, FunctionSpec, InvocationEnvelope, Scope } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { controlPlaneSchema } from '../../src/schema.js';
import { startControlPlane, type RequestOptions, type RunningControlPlane } from './control-plane.js';
import type { Answer } from './raw-http.js';
import { echo, ScriptedEndpoint, type Behaviour } from './scripted-endpoint.js';
import { storeKey } from './stored-keys.js';

export const everything: Scope[] = ['functions:read', 'functions:write', 'functions:commands', 'functions:invoke'];
/** A well-formed id without an execution. */
export const unknownExecution = '01890000-0000-7000-8000-000000000000';

type Headers = Readonly<Record<string, string>>;

/** A control plane with functions in it, and the endpoints that those in the mode POOL call. */
export interface FunctionsPlatform {
  readonly plane: RunningControlPlane;
  readonly endpoint: ScriptedEndpoint;
  readonly database: Database;
  /** Of the tenant that all calls below are for, unless they bring another. */
  readonly key: string;
  otherKey(tenantId: string, scopes?: Scope[]): Promise<string>;
  request(path: string, options?: RequestOptions): Promise<Answer>;
  post(path: string, json?: unknown, headers?: Headers, key?: string): Promise<Answer>;
  /** A function in the mode POOL that does this. */
  register(name: string, behaviour?: Behaviour, spec?: Partial<FunctionSpec>, key?: string): Promise<void>;
  invoke(
    name: string,
    input: unknown,
    headers?: Headers,
    key?: string,
  ): Promise<Answer & { readonly envelope: InvocationEnvelope }>;
  /** Must be accepted. */
  enqueue(name: string, body: unknown, headers?: Headers, key?: string): Promise<AcceptedExecution>;
  execution(id: string, key?: string): Promise<ExecutionStatus>;
  /** Waits for its end. */
  ended(id: string, key?: string): Promise<ExecutionStatus>;
  stop(): Promise<void>;
}

const final = new Set(['success', 'error', 'timeout', 'cancelled']);

export async function startFunctionsPlatform(environment: Headers = {}): Promise<FunctionsPlatform> {
  const test = await createTestDatabase(controlPlaneSchema);
  const endpoint = await ScriptedEndpoint.open();
  // The scripted endpoints are on this machine, which an operator has to allow.
  const plane = await startControlPlane(test.url, { DROVER_ENDPOINT_HOSTS: 'loopback', ...environment });
  const database = await test.connect();
  const otherKey = (tenantId: string, scopes = everything): Promise<string> => storeKey(database, { tenantId, scopes });
  const ownKey = await otherKey('tenant-a');

  const request: FunctionsPlatform['request'] = (path, options) => plane.request(path, { key: ownKey, ...options });
  const post: FunctionsPlatform['post'] = (path, json, headers = {}, key = ownKey) =>
    plane.request(path, { method: 'POST', key, headers, ...(json !== undefined && { json }) });
  const execution = async (id: string, key = ownKey): Promise<ExecutionStatus> => {
    const { status, body, text } = await request(`/v1/executions/${id}`, { key });
    if (status !== 200) throw new Error(`execution ${id}: ${status} ${text}`);
    return body as ExecutionStatus; // the document says so, and another test checks that
  };
  return {
    plane,
    endpoint,
    database,
    key: ownKey,
    otherKey,
    request,
    post,
    async register(name, behaviour = echo, spec = {}, key = ownKey) {
      const endpointUrl = endpoint.serve(name, behaviour);
      const { status, text } = await post('/v1/functions', { name, endpointUrl, maxRetries: 0, ...spec }, {}, key);
      if (status !== 201) throw new Error(`registering ${name}: ${status} ${text}`);
    },
    async invoke(name, input, headers, key) {
      const answer = await post(`/v1/functions/${name}:invoke`, { input }, headers, key);
      return { ...answer, envelope: answer.body as InvocationEnvelope }; // the tests check it
    },
    async enqueue(name, body, headers, key) {
      const { status, text, body: accepted } = await post(`/v1/functions/${name}:enqueue`, body, headers, key);
      if (status !== 202) throw new Error(`enqueuing ${name}: ${status} ${text}`);
      return accepted as AcceptedExecution; // of a 202
    },
    execution,
    ended: (id, key) =>
      eventually(async () => {
        const found = await execution(id, key);
        return final.has(found.status) ? found : false;
      }) as Promise<ExecutionStatus>, // never false in the end
    async stop() {
      await plane.stop();
      await endpoint.close();
      await test.drop();
    },
  };
}

/** A POST as text, which asks the server to close; `headers` are further lines, or others in place of the usual ones. */
export function postText(key: string, path: string, body: string | Buffer, ...headers: readonly string[]): string {
  const bytes = Buffer.from(body).toString('latin1');
  const says = (pattern: RegExp): boolean => headers.some((line) => pattern.test(line));
  return [
    `POST ${path} HTTP/1.1`,
    'host: x',
    'connection: close',
    `authorization: Bearer ${key}`,
    ...(says(/^content-type/i) ? [] : ['content-type: application/json']),
    ...(says(/^(content-length|transfer-encoding)/i) ? [] : [`content-length: ${bytes.length}`]),
    ...headers,
    '',
    bytes,
  ].join('\r\n');
}
