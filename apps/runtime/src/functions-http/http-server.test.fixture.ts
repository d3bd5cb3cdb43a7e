import { connect } from 'node:net';
import type { CodedError } from '@drover/contracts';
import type { InvocationResponseInit } from '@drover/function-rpc';
import { systemClock } from '@drover/service-kit';
import { seededRandomness } from '@drover/testkit';
import type { FunctionDefinition } from '../applications/function-definition.js';
import { parseHostJson } from '../applications/host-json.js';
import { responseOf } from '../bindings/definition.test.fixture.js';
import type { InvocationCall, InvocationOutcome, Invoker } from '../invocations/invocation-call.js';
import { MemoryFunctionKeys } from '../routes/function-keys.js';
import { FunctionsHttpServer, type FunctionsHttpServerOptions } from './functions-http-server.js';
import { createHttpApplication, type HttpApplicationParts } from '../routes/http-application.js';
import type { HttpObservation } from '../exchanges/http-observations.js';

/** What the official Node worker says it can do. */
export const nodeCapabilities = {
  RpcHttpBodyOnly: 'true',
  RawHttpBodyBytes: 'true',
  RpcHttpTriggerMetadataRemoved: 'true',
  UseNullableValueDictionaryForHttp: 'true',
  IgnoreEmptyValuedRpcHttpHeaders: 'true',
  TypedDataCollection: 'true',
};

export const keyData = {
  masterKey: 'master',
  functionKeys: { default: 'host-key' },
  systemKeys: { extension: 'system-key' },
  functions: { guarded: { default: 'function-key' }, other: { default: 'other-key' } },
};

type Handler = (call: InvocationCall) => Promise<InvocationOutcome> | InvocationOutcome;

export function succeeded(response: InvocationResponseInit = {}): InvocationOutcome {
  return { kind: 'succeeded', invocationId: 'invocation-1', response: responseOf(response) };
}

export function failed(error: CodedError): InvocationOutcome {
  return { kind: 'failed', invocationId: 'invocation-1', error };
}

/**
 * Assigns a call to a worker with these capabilities, as the real invoker does. Resolves if the invocation is abandoned: the
 * outcome of the test's own worker may come first.
 */
export function assign(
  call: InvocationCall,
  capabilities: Readonly<Record<string, string>>,
  invocationId = 'i',
): Promise<InvocationOutcome> {
  return new Promise((resolve) => {
    const abandon = (error: CodedError): void => resolve(failed(error));
    call.onAssigned?.({ invocationId, workerId: 'w', capabilities, abandon });
  });
}

/** A response as the v4 library sends it. */
export function httpResponse(body: string, fields: object = {}): InvocationOutcome {
  const http = {
    statusCode: '200',
    headers: { 'content-type': 'text/plain' },
    cookies: [],
    body: { bytes: Buffer.from(body) },
    ...fields,
  };
  return succeeded({ returnValue: { http } });
}

export interface Served {
  readonly url: string;
  readonly port: number;
  readonly server: FunctionsHttpServer;
  readonly observed: HttpObservation[];
  readonly problems: readonly { readonly problem: string }[];
}

export interface ServedApp {
  readonly functions: readonly FunctionDefinition[];
  readonly invoke: Handler;
  readonly hostJson?: object;
  readonly app?: Partial<HttpApplicationParts>;
  readonly server?: Partial<FunctionsHttpServerOptions>;
}

/** One application on a real port, with an invoker that does what the test says. */
export async function withServer<T>(
  { functions, invoke, hostJson = {}, app, server: options }: ServedApp,
  use: (served: Served) => Promise<T>,
): Promise<T> {
  const invoker: Invoker = { invoke: async (call) => invoke(call) };
  const { application, problems } = createHttpApplication({
    name: 'app',
    functions,
    options: parseHostJson(JSON.stringify({ version: '2.0', extensions: { http: hostJson } }), {}).hostJson.extensions
      .http,
    invoker,
    keys: new MemoryFunctionKeys(keyData),
    requiresKeys: true,
    ...app,
  });
  const observed: HttpObservation[] = [];
  const server = new FunctionsHttpServer({
    host: '127.0.0.1',
    port: 0,
    applications: {
      resolve: () => application,
      named: (name) => (name === application.name ? application : undefined),
      all: () => [application],
      problems: () => [],
    },
    trustsForwarded: false,
    trustsClientPrincipal: true,
    clock: systemClock,
    randomness: seededRandomness(1),
    observe: (observation) => observed.push(observation),
    ...options,
  });
  await server.start();
  try {
    return await use({ url: server.url, port: Number(new URL(server.url).port), server, observed, problems });
  } finally {
    await server.stop();
  }
}

/** Sends bytes as they are and reads until the other side ends, or for a while. */
export function sendRaw(port: number, text: string, waitMs = 2_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    const timer = setTimeout(() => socket.destroy(), waitMs);
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('error', reject);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.write(text, 'latin1');
  });
}
