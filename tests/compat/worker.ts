import path from 'node:path';
import {
  BindingInfoDirection,
  type FunctionMetadataResponse,
  type InvocationRequestInit,
  type InvocationResponse,
  type ParameterBindingInit,
  type RpcFunctionMetadata,
  type RpcFunctionMetadataInit,
  type RpcLog,
  type StreamingMessage,
  type TypedDataInit,
  type WorkerInitResponse,
} from '@drover/function-rpc';
import { message, ScriptedHost, type AdmittedWorker } from '@drover/function-rpc/testing';
import { nodeWorkerFile } from '@drover/node-worker';
import { Child } from '@drover/testkit';
import { root } from '../architecture/workspace.js';
import { asFlags } from '../support/functions.js';

/** One of the apps beside this file. */
export function app(name: string): string {
  return path.join(root, 'tests/compat/apps', name);
}

/** What a host sends along with the trigger's own data. */
export interface Call {
  /** Undefined: no input at all. */
  readonly data?: TypedDataInit;
  /** Other inputs, by the name of their binding. */
  readonly inputs?: readonly ParameterBindingInit[];
  readonly triggerMetadata?: Readonly<Record<string, TypedDataInit>>;
  readonly more?: InvocationRequestInit;
}

export interface Done {
  readonly response: InvocationResponse;
  /** Those that came before the response. */
  readonly logs: readonly RpcLog[];
}

const open = new Set<CompatWorker>();

/** For `afterAll` and `afterEach`: leaves nothing behind, whatever was started. */
export async function endAll(): Promise<void> {
  await Promise.all([...open].map((worker) => worker.end()));
  open.clear();
}

/** Our worker as it is shipped, one file, and the scripted host it is connected to. */
export class CompatWorker {
  readonly child: Child;
  readonly admitted: AdmittedWorker;
  readonly #host: ScriptedHost;
  #functions = new Map<string, RpcFunctionMetadata>();
  #sequence = 0;

  private constructor(host: ScriptedHost, child: Child, admitted: AdmittedWorker) {
    this.#host = host;
    this.child = child;
    this.admitted = admitted;
  }

  static async start(env: Readonly<Record<string, string>> = {}): Promise<CompatWorker> {
    const host = await ScriptedHost.listen();
    const flags = asFlags({
      'functions-uri': `${host.url}/`,
      'functions-worker-id': 'w',
      'functions-request-id': 'r',
      'functions-grpc-max-message-length': '2147483647',
    });
    const child = new Child(process.execPath, [nodeWorkerFile(), ...flags], {
      env: { PATH: process.env['PATH'] ?? '', NO_COLOR: '1', ...env },
    });
    const admitted = await host.worker(20_000);
    await admitted.next('startStream');
    const worker = new CompatWorker(host, child, admitted);
    open.add(worker);
    return worker;
  }

  /** Brought up as the guide has it: init, metadata, a load for each function. */
  static async withApp(name: string, env: Readonly<Record<string, string>> = {}): Promise<CompatWorker> {
    const worker = await CompatWorker.start(env);
    await worker.init(app(name));
    const { result } = await worker.index();
    if (result?.status !== 1) throw new Error(`${name}: ${result?.exception?.message}`);
    await Promise.all([...worker.functions.values()].map((metadata) => worker.load(metadata.name, metadata)));
    return worker;
  }

  /** As the worker reported them. */
  get functions(): ReadonlyMap<string, RpcFunctionMetadata> {
    return this.#functions;
  }

  get messages(): readonly StreamingMessage[] {
    return this.admitted.inbox.received;
  }

  async init(functionAppDirectory: string): Promise<WorkerInitResponse> {
    const capabilities = { MultiStream: '10' };
    const request = message(
      'workerInitRequest',
      { hostVersion: '4.1037.0', capabilities, functionAppDirectory },
      'init',
    );
    return (await this.admitted.request(request, 'workerInitResponse')).value;
  }

  async index(functionAppDirectory = ''): Promise<FunctionMetadataResponse> {
    const request = message('functionsMetadataRequest', { functionAppDirectory }, 'metadata');
    const { value } = await this.admitted.request(request, 'functionMetadataResponse');
    this.#functions = new Map(value.functionMetadataResults.map((metadata) => [metadata.name, metadata]));
    return value;
  }

  async load(functionId: string, metadata: RpcFunctionMetadataInit): Promise<void> {
    const request = message('functionLoadRequest', { functionId, metadata }, 'load');
    const { value } = await this.admitted.request(request, 'functionLoadResponse');
    if (value.result?.status !== 1) throw new Error(`${functionId}: ${value.result?.exception?.message}`);
  }

  /** The bindings of a function with all their options. */
  bindings(name: string): Record<string, unknown>[] {
    return (this.#functions.get(name)?.rawBindings ?? []).map((raw) => JSON.parse(raw) as Record<string, unknown>);
  }

  trigger(name: string): string {
    const found = this.bindings(name).find(({ type }) => /trigger$/i.test(String(type)));
    if (!found) throw new Error(`${name} has no trigger`);
    return String(found['name']);
  }

  /** Runs a function to its end. */
  async call(name: string, { data, inputs = [], triggerMetadata, more }: Call = {}): Promise<Done> {
    const trigger = data && { name: this.#functions.has(name) ? this.trigger(name) : '', data };
    return await this.invoke({
      functionId: name,
      inputData: [...(trigger ? [trigger] : []), ...inputs],
      ...(triggerMetadata && { triggerMetadata }),
      ...more,
    });
  }

  async invoke(request: InvocationRequestInit): Promise<Done> {
    const invocationId = request.invocationId ?? `invocation-${++this.#sequence}`;
    const value = { traceContext: {}, ...request, invocationId };
    this.admitted.send(message('invocationRequest', value, `request of ${invocationId}`));
    return await this.finished(invocationId);
  }

  /** Waits for the answer to one invocation; others may come before it. */
  async finished(invocationId: string): Promise<Done> {
    for (;;) {
      const at = this.messages.findIndex(
        (one) => one.kind === 'invocationResponse' && one.value.invocationId === invocationId,
      );
      const found = this.messages[at];
      if (found?.kind === 'invocationResponse') {
        const logs = this.messages
          .slice(0, at)
          .flatMap((one) => (one.kind === 'rpcLog' && one.value.invocationId === invocationId ? [one.value] : []));
        return { response: found.value, logs };
      }
      await this.admitted.next('invocationResponse');
    }
  }

  async end(): Promise<void> {
    await this.child.end();
    await this.#host.stop();
  }
}

/** A request as the host sends it to a worker with these capabilities. */
export function httpData(
  method: string,
  url: string,
  more: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly params?: Readonly<Record<string, string>>;
    readonly query?: Readonly<Record<string, string>>;
    readonly body?: Buffer | string;
  } = {},
): TypedDataInit {
  const nullable = (values: Readonly<Record<string, string>>): Record<string, { value: string }> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value }]));
  return {
    http: {
      method,
      url,
      nullableHeaders: nullable(more.headers ?? {}),
      nullableParams: nullable(more.params ?? {}),
      nullableQuery: nullable(more.query ?? Object.fromEntries(new URL(url).searchParams)),
      ...(more.body !== undefined && { body: { bytes: Buffer.from(more.body) } }),
    },
  };
}

/** What a host makes of a function.json. */
export function legacyMetadata(
  directory: string,
  name: string,
  file: {
    readonly scriptFile?: string;
    readonly entryPoint?: string;
    readonly bindings: readonly { readonly name: string; readonly type: string; readonly direction: 'in' | 'out' }[];
  },
): RpcFunctionMetadataInit {
  const folder = path.join(directory, name);
  return {
    name,
    directory: folder,
    scriptFile: path.join(folder, file.scriptFile ?? 'index.js'),
    entryPoint: file.entryPoint ?? '',
    bindings: Object.fromEntries(
      file.bindings.map(({ name: key, type, direction }) => [
        key,
        { type, direction: BindingInfoDirection[direction] },
      ]),
    ),
  };
}
