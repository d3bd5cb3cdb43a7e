import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  FunctionLoadResponse,
  FunctionMetadataResponse,
  InvocationRequestInit,
  InvocationResponse,
  RpcFunctionMetadataInit,
  RpcLog,
  StreamingMessage,
  TypedDataInit,
  WorkerInitResponse,
} from '@drover/function-rpc';
import { type AdmittedWorker, message, ScriptedHost } from '@drover/function-rpc/testing';
import { Child } from '@drover/testkit';

const here = path.dirname(fileURLToPath(import.meta.url));
const workerFile = path.resolve(here, '../../dist/main.js');

/** The directory of one of the small apps. */
export function fixture(name: string): string {
  return path.resolve(here, '../../fixtures', name);
}

const open = new Set<{ end(): Promise<void> }>();

/** For `afterEach`: leaves nothing behind. */
export async function endAll(): Promise<void> {
  await Promise.all([...open].map((one) => one.end()));
  open.clear();
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly maxMessageBytes?: number;
  readonly file?: string;
  readonly execArgv?: readonly string[];
}

/** A real worker process that was pointed at `url`, connected or not. */
export function spawnWorker(options: StartOptions & { readonly url: string }): Child {
  const { url, env = {}, args, maxMessageBytes = 134_217_728, file = workerFile, execArgv = [] } = options;
  const usual = [
    '--functions-uri',
    `${url}/`,
    '--functions-worker-id',
    'worker-1',
    '--functions-request-id',
    'request-1',
  ];
  const length = ['--functions-grpc-max-message-length', String(maxMessageBytes)];
  const child = new Child(process.execPath, [...execArgv, file, ...(args ?? [...usual, ...length])], {
    cwd: here,
    env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1', ...env },
  });
  open.add(child);
  return child;
}

/** A real worker process and the scripted host it is connected to. */
export class WorkerUnderTest {
  readonly host: ScriptedHost;
  readonly child: Child;
  readonly admitted: AdmittedWorker;
  #sequence = 0;

  private constructor(host: ScriptedHost, child: Child, admitted: AdmittedWorker) {
    this.host = host;
    this.child = child;
    this.admitted = admitted;
  }

  /** Starts a worker and waits for its StartStream. */
  static async start(options: StartOptions = {}): Promise<WorkerUnderTest> {
    const host = await ScriptedHost.listen();
    open.add({ end: () => host.stop() });
    const child = spawnWorker({ url: host.url, ...options });
    const admitted = await host.worker(20_000);
    await admitted.next('startStream');
    return new WorkerUnderTest(host, child, admitted);
  }

  /** A worker that has loaded an app and answered for its functions. */
  static async withApp(name: string, options: StartOptions = {}): Promise<WorkerUnderTest> {
    const worker = await WorkerUnderTest.start(options);
    await worker.init(fixture(name));
    return worker;
  }

  get messages(): readonly StreamingMessage[] {
    return this.admitted.inbox.received;
  }

  async init(functionAppDirectory: string, capabilities: Record<string, string> = {}): Promise<WorkerInitResponse> {
    const value = { hostVersion: '4.0.0', functionAppDirectory, capabilities };
    const request = message('workerInitRequest', value, 'init');
    return (await this.admitted.request(request, 'workerInitResponse')).value;
  }

  async metadata(functionAppDirectory = ''): Promise<FunctionMetadataResponse> {
    const request = message('functionsMetadataRequest', { functionAppDirectory }, 'metadata');
    return (await this.admitted.request(request, 'functionMetadataResponse')).value;
  }

  async load(functionId: string, metadata: RpcFunctionMetadataInit = {}): Promise<FunctionLoadResponse> {
    const request = message('functionLoadRequest', { functionId, metadata: { name: functionId, ...metadata } }, 'load');
    return (await this.admitted.request(request, 'functionLoadResponse')).value;
  }

  /** The name of a function's trigger binding, as the worker reports it. */
  async triggerOf(functionId: string): Promise<string> {
    const { functionMetadataResults } = await this.metadata();
    const bindings = functionMetadataResults.find((one) => one.functionId === functionId)?.bindings ?? {};
    const found = Object.entries(bindings).find(([, { type }]) => /trigger$/i.test(type));
    if (!found) throw new Error(`${functionId} has no trigger`);
    return found[0];
  }

  /** Sends an invocation and returns its id. */
  invoke(
    functionId: string,
    input: { name: string; data: TypedDataInit } | undefined,
    more: InvocationRequestInit = {},
  ): string {
    const invocationId = more.invocationId ?? `invocation-${++this.#sequence}`;
    const value = { functionId, traceContext: {}, ...(input && { inputData: [input] }), ...more, invocationId };
    this.admitted.send(message('invocationRequest', value, `request-of-${invocationId}`));
    return invocationId;
  }

  /** Runs an invocation to its end. */
  async call(
    functionId: string,
    data: TypedDataInit | undefined,
    more: InvocationRequestInit = {},
  ): Promise<{ response: InvocationResponse; logs: RpcLog[] }> {
    const input = data && { name: await this.triggerOf(functionId), data };
    const invocationId = this.invoke(functionId, input, more);
    return await this.finished(invocationId);
  }

  /** The response to an invocation, and the log lines that came before it. */
  async finished(invocationId: string): Promise<{ response: InvocationResponse; logs: RpcLog[] }> {
    for (;;) {
      const found = this.messages.findIndex(
        (one) => one.kind === 'invocationResponse' && one.value.invocationId === invocationId,
      );
      const answer = this.messages[found];
      if (answer?.kind === 'invocationResponse') {
        const before = this.messages.slice(0, found);
        const logs = before.flatMap((one) =>
          one.kind === 'rpcLog' && one.value.invocationId === invocationId ? [one.value] : [],
        );
        return { response: answer.value, logs };
      }
      await this.admitted.next('invocationResponse');
    }
  }
}

/** An HTTP request as hosts send it to workers with our capabilities. */
export function httpRequest(
  method: string,
  url: string,
  more: {
    readonly headers?: Record<string, string>;
    readonly params?: Record<string, string>;
    readonly body?: string;
  } = {},
): TypedDataInit {
  const nullable = (values: Record<string, string>): Record<string, { value: string }> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value }]));
  return {
    http: {
      method,
      url,
      nullableHeaders: nullable(more.headers ?? {}),
      nullableParams: nullable(more.params ?? {}),
      nullableQuery: nullable(Object.fromEntries(new URL(url).searchParams)),
      ...(more.body !== undefined && { body: { bytes: Buffer.from(more.body) } }),
    },
  };
}
