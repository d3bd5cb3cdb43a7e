import path from 'node:path';
import type { RuntimeIndexAnswer, RuntimeIndexRequest } from '@drover/contracts';
import { runtimeCalls } from '@drover/contracts';
import {
  ScaleLinkServer,
  type AttachedRuntime,
  type ControllerMessage,
  type HostedApplication,
  type RuntimeMessage,
} from '@drover/scale-link';
import { Secret, systemClock } from '@drover/service-kit';
import { Child, eventually } from '@drover/testkit';
import { root } from '../architecture/workspace.js';
import { runtimeProgram } from './functions.js';
import { plainEnvironment } from './platform.js';

type Draft = ControllerMessage extends infer M ? (M extends unknown ? Omit<M, 'token' | 'commandId'> : never) : never;
type Answer = Extract<RuntimeMessage, { readonly kind: 'answer' }>;
type Received<Kind extends RuntimeMessage['kind']> = Extract<RuntimeMessage, { readonly kind: Kind }>;

const token = 'token-of-the-test';
const masterKey = 'master-key-of-the-test';
const nodeWorker = path.join(root, 'apps/node-worker/dist/bundle/node-worker.js');

/** A scale controller that does what a test says, and the runtime and workers that it commands: real processes, real sockets. */
export class LinkedRuntime implements AsyncDisposable {
  readonly attached: AttachedRuntime[] = [];
  readonly received: RuntimeMessage[] = [];
  readonly workers = new Map<string, Child>();
  /** Fencing token of the commands. */
  token = 1;
  readonly #server = new ScaleLinkServer({
    host: '127.0.0.1',
    port: 0,
    token: new Secret(token),
    tls: undefined,
    clock: systemClock,
    refusal: () => undefined,
    onRefused: () => undefined,
    onAttached: (runtime) => {
      this.attached.push(runtime);
      return { received: (message) => this.received.push(message), detached: () => undefined };
    },
  });
  #runtime: Child | undefined;
  #commandId = 0;

  static async start(): Promise<LinkedRuntime> {
    const linked = new LinkedRuntime();
    await linked.#server.start();
    await linked.startRuntime();
    await linked.expectDone({ kind: 'synced' });
    return linked;
  }

  /** Starts the runtime, at the ports that it had before. Resolves when it has attached. */
  async startRuntime(): Promise<AttachedRuntime> {
    const before = this.attached.length;
    const last = this.attached.at(-1)?.attach;
    const ports = {
      DROVER_RUNTIME_PORT: last ? new URL(last.functionsUrl).port : '0',
      DROVER_RPC_LOOPBACK_PORT: String(last?.endpoint.port ?? 0),
    };
    this.#runtime = new Child(process.execPath, [runtimeProgram], {
      env: plainEnvironment({
        ...ports,
        DROVER_SCALE_LINK_URL: this.#server.url,
        DROVER_SCALE_LINK_TOKEN: token,
        DROVER_RUNTIME_ID: 'runtime-1',
        DROVER_FUNCTIONS_MASTER_KEY: masterKey,
        DROVER_FUNCTION_KEYS: 'off',
      }),
    });
    return await eventually(() => {
      const attached = this.attached[before];
      if (!attached) throw new Error(`the runtime has not attached:\n${this.runtime.output.slice(-2_000)}`);
      return attached;
    });
  }

  get runtime(): Child {
    if (!this.#runtime) throw new Error('the runtime was not started');
    return this.#runtime;
  }

  get url(): string {
    return this.attached.at(-1)?.attach.functionsUrl ?? '';
  }

  call(address: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.url}${address}`, { signal: AbortSignal.timeout(60_000), ...init });
  }

  /** Has an application indexed, as a deployment does. */
  async index(request: Partial<RuntimeIndexRequest> & { directory: string }, key = masterKey): Promise<Response> {
    const whole = { tenantId: 'default', applicationId: 'app', codeVersion: 'v1', settings: {}, ...request };
    return await this.call(runtimeCalls.indexesPath, {
      method: 'POST',
      headers: { [runtimeCalls.keyHeader]: key },
      body: JSON.stringify(whole),
    });
  }

  /** Indexes the functions of a directory and has the runtime host them. Returns the key of the version. */
  async host(
    applicationId: string,
    directory: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const answer = (await (await this.index({ applicationId, directory, settings })).json()) as RuntimeIndexAnswer;
    if (answer.kind === 'refused') throw new Error(answer.problems.join('\n'));
    const version = { tenantId: 'default', applicationId, codeVersion: 'v1', directory, settings, index: answer.index };
    const application: HostedApplication = {
      tenantId: 'default',
      applicationId,
      generation: 1,
      versions: [version],
      traffic: { v1: 100 },
    };
    this.hosted.push(application);
    await this.expectDone({ kind: 'host', application });
    return `default/${applicationId}:v1`;
  }

  /** What the runtime was told to host. */
  readonly hosted: HostedApplication[] = [];

  async command(draft: Draft, fencingToken = this.token): Promise<Answer> {
    const commandId = (this.#commandId += 1);
    this.attached.at(-1)?.send({ ...draft, token: fencingToken, commandId });
    return await eventually(() => {
      const answer = this.of('answer').find((one) => one.commandId === commandId);
      if (!answer) throw new Error(`the ${draft.kind} command has no answer`);
      return answer;
    });
  }

  async expectDone(draft: Draft): Promise<void> {
    const { error } = await this.command(draft);
    if (error) throw new Error(`${draft.kind} failed: ${error.code}: ${error.message}`);
  }

  of<Kind extends RuntimeMessage['kind']>(kind: Kind): Received<Kind>[] {
    return this.received.filter((message): message is Received<Kind> => message.kind === kind);
  }

  /** Announces a worker and starts its process; without a version it is a placeholder. */
  async startWorker(workerId: string, versionKey?: string): Promise<Child> {
    await this.announce(workerId, versionKey);
    const { host, port } = this.attached.at(-1)?.attach.endpoint ?? { host: '', port: 0 };
    const facts = {
      host,
      port: String(port),
      workerId,
      requestId: `${workerId}-word`,
      grpcMaxMessageLength: '1000000',
    };
    const args = Object.entries(facts).flatMap(([name, value]) => [`--${name}`, value]);
    const worker = new Child(process.execPath, [nodeWorker, ...args], { env: plainEnvironment() });
    this.workers.set(workerId, worker);
    return worker;
  }

  async announce(workerId: string, versionKey: string | undefined): Promise<void> {
    const requestId = `${workerId}-word`;
    await this.expectDone({ kind: 'expect', workerId, requestId, versionKey, isIsolated: false });
  }

  stateOf(workerId: string): string | undefined {
    return this.of('worker').findLast(({ worker }) => worker.workerId === workerId)?.worker.state;
  }

  async until(workerId: string, state: string): Promise<void> {
    await eventually(() => {
      const found = this.stateOf(workerId);
      if (found !== state)
        throw new Error(`${workerId} is ${found ?? 'unknown'}, not ${state}:\n${this.runtime.output.slice(-2_000)}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.runtime, ...this.workers.values()].map((child) => child.end()));
    await this.#server.stop();
  }
}
