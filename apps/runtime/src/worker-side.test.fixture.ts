import { FakeClock, eventually } from '@drover/testkit';
import { ScriptedWorker, rpcFunctionMetadata, type WorkerScript } from '@drover/function-rpc/testing';
import type { RpcFunctionMetadata } from '@drover/function-rpc';
import { systemRandomness, type Clock } from '@drover/service-kit';
import type { TriggerListener } from '@drover/trigger-sources';
import { afterEach } from 'vitest';
import type { FunctionDefinition } from './applications/function-definition.js';
import {
  admitWorkers,
  composeRecovery,
  composeWorkerEndpoint,
  composeWorkers,
  type RuntimeIo,
  type WorkerEndpoint,
  type WorkerSide,
} from './compose-workers.js';
import { parseRuntimeConfig } from './config.js';
import type { WorkerLauncher } from './deployments/application-deployments.js';
import type { DeployedVersion, FunctionIndex } from './deployments/deployed-version.js';
import type { ApplicationVersion } from './deployments/application-version.js';
import { CrashSuspects } from './invocations/crash-suspects.js';
import { FunctionInvoker } from './invocations/function-invoker.js';
import type { InvocationCall, InvocationOutcome } from './invocations/invocation-call.js';
import type { FunctionInvocationObservation } from './invocations/invocation-observations.js';
import { InvocationRouter } from './invocations/invocation-router.js';
import { LeastLoaded } from './invocations/policies/least-loaded.js';
import { PacedCalls } from './invocations/paced-calls.js';
import { WorkerChoice } from './invocations/worker-choice.js';
import { JobHost } from './job-hosts/job-host.js';
import type { RuntimeObservation } from './observations.js';
import type { Specializer } from './specialization/specializer.js';
import type { FunctionWorker } from './workers/function-worker.js';
import type { ScaleControl, ScaleUpRequest } from './workers/scale-control.js';

/** A function as a test wants it. */
export function definition(name: string): FunctionDefinition {
  const trigger = { name: 'trigger', type: 'queueTrigger', direction: 'in', dataType: undefined, options: {} } as const;
  const metadata = rpcFunctionMetadata(name) as RpcFunctionMetadata; // only written, never read in full
  return {
    id: name,
    name,
    trigger,
    inputs: [],
    outputs: [],
    returns: undefined,
    retry: undefined,
    isDisabled: false,
    metadata,
  };
}

export function version(codeVersion: string, applicationId = 'app'): ApplicationVersion {
  return { tenantId: 'tenant', applicationId, codeVersion, directory: '/app', environment: { COLOR: 'blue' } };
}

type ControlOf = (endpoint: WorkerEndpoint, io: RuntimeIo) => ScaleControl & WorkerLauncher;

/** The worker side of a runtime, with scripted workers in place of processes and a fake clock in place of time. */
export class WorkerBench {
  readonly clock = new FakeClock();
  readonly observed: RuntimeObservation[] = [];
  /** What the invokers observed. */
  readonly invoked: FunctionInvocationObservation[] = [];
  readonly requested: ScaleUpRequest[] = [];
  readonly ended: string[] = [];
  /** Applications for which an isolated worker was asked. */
  readonly isolated: string[] = [];
  canIsolate = true;
  /** Reports that the workers of the last deployment end before one is ready. */
  fail: (text: string) => void = () => undefined;
  /** Grace periods of the ended processes, by worker id. */
  readonly graces = new Map<string, number>();
  readonly launched: ApplicationVersion[] = [];
  readonly ceased: string[] = [];
  /** Every change of state, as the scale control hears it: `worker state`. */
  readonly moves: string[] = [];
  readonly side: WorkerSide;
  readonly specializer: Specializer;
  readonly invokers = new Map<string, FunctionInvoker>();
  /** What the next index says; by code version. */
  readonly indexes = new Map<string, FunctionIndex>();
  /** How a job host's listener starts. */
  startListener: () => Promise<void> = () => Promise.resolve();
  /** Breaks the listener of the job host that was made last. */
  breakListener: (error: unknown) => void = () => undefined;
  readonly #workers: ScriptedWorker[] = [];
  #timeoutMs = 300_000;

  /** `controlOf` replaces the scale control of the bench, which records. */
  constructor(environment: Record<string, string> = {}, controlOf?: ControlOf) {
    const config = parseRuntimeConfig(environment);
    const clock: Clock = this.clock;
    const observe = (observation: RuntimeObservation): void => void this.observed.push(observation);
    const io = { clock, randomness: systemRandomness, observe };
    const endpoint = composeWorkerEndpoint(config, io, undefined);
    const { deployments } = (this.side = composeWorkers(
      config,
      io,
      endpoint,
      controlOf?.(endpoint, io) ?? {
        requestWorker: (request) => void this.requested.push(request),
        recordReady: () => undefined,
        recordMove: ({ id, state }) => void this.moves.push(`${id} ${state}`),
        readyInMs: () => undefined,
        isolate: (key) => this.canIsolate && this.isolated.push(key) > 0,
        endIsolation: (key) => void this.isolated.splice(this.isolated.indexOf(key), 1),
        endWorker: (workerId, _reason, graceMs) => {
          this.ended.push(workerId);
          this.graces.set(workerId, graceMs);
        },
        run: (launched, onFailing) => {
          this.launched.push(launched);
          this.fail = onFailing ?? (() => undefined);
        },
        cease: (key) => void this.ceased.push(key),
      },
    ));
    const { jobHosts } = this.side;
    const recovery = composeRecovery(io, this.side, (key, _deployed, index) =>
      this.#openJobHost(key, index, config.maxWaiting),
    );
    this.specializer = admitWorkers(config, io, this.side, {
      find: (key) => deployments.find(key),
      lostBy: (deployed, functions) => deployments.lostBy(deployed, functions),
      recordReady: (key, host) => deployments.recordReady(key, host),
      recordBroken: (key, error) => deployments.recordBroken(key, error),
      readIndex: async (worker, deployed) => {
        await worker.request({ kind: 'functionsMetadataRequest', value: {} }, 'functionMetadataResponse', 1_000);
        return this.#indexOf(deployed);
      },
      openJobHost: (deployed, index) => {
        const key = deployed.jobHostKey ?? '';
        return jobHosts.getOrCreate(key, () => recovery.open(key, deployed, index));
      },
    });
  }

  start(): Promise<void> {
    return this.side.listeners.start().then(() => this.side.monitor.start());
  }

  async stop(): Promise<void> {
    await this.side.monitor.stop();
    for (const worker of this.#workers) worker.stream.destroy(1, 'the test is over');
    await this.side.listeners.stop();
  }

  async connect(
    workerId: string,
    {
      script = {},
      version: key,
      isIsolated = false,
      isDebugged = false,
      isManaged = false,
    }: {
      script?: WorkerScript;
      version?: ApplicationVersion | undefined;
      isIsolated?: boolean;
      isDebugged?: boolean;
      isManaged?: boolean;
    } = {},
  ): Promise<ScriptedWorker> {
    const requestId = `${workerId}-word`;
    const applicationKey = key && `${key.tenantId}/${key.applicationId}:${key.codeVersion}`;
    this.side.admission.expect({ workerId, requestId, applicationKey, traits: { isIsolated, isDebugged, isManaged } });
    const worker = await ScriptedWorker.connect({ url: this.url, workerId, requestId, script });
    this.#workers.push(worker);
    return worker;
  }

  get url(): string {
    return `http://127.0.0.1:${this.side.listeners.loopback.port}`;
  }

  /** A worker of that version that takes invocations. */
  async ready(workerId: string, of: ApplicationVersion, script: WorkerScript = {}): Promise<ScriptedWorker> {
    const worker = await this.connect(workerId, { script, version: of });
    await this.until(workerId, 'ready');
    return worker;
  }

  until(workerId: string, state: FunctionWorker['state']): Promise<void> {
    return eventually(() => {
      const found = this.side.registry.get(workerId)?.state;
      if (found !== state) throw new Error(`${workerId} is ${found ?? 'gone'}, not ${state}`);
    });
  }

  gone(workerId: string): Promise<void> {
    return eventually(() => {
      if (this.side.registry.get(workerId)) throw new Error(`${workerId} is still there`);
    });
  }

  call(name = 'hello', more: Partial<InvocationCall> = {}): InvocationCall {
    const inputs = { inputData: [{ name: 'trigger', data: { string: 'x' } }], triggerMetadata: {} };
    return { definition: definition(name), inputs: () => inputs, trace: {}, ...more };
  }

  /** `timeoutMs` stands for the function timeout in host.json. */
  invoke(jobHostKey: string, call: InvocationCall = this.call(), timeoutMs = 300_000): Promise<InvocationOutcome> {
    this.#timeoutMs = timeoutMs;
    const invoker = this.invokers.get(jobHostKey);
    if (!invoker) throw new Error(`there is no job host ${jobHostKey}`);
    return invoker.invoke(call);
  }

  kinds(): string[] {
    return this.observed.map(({ kind }) => kind);
  }

  #indexOf(deployed: DeployedVersion): FunctionIndex {
    return (
      this.indexes.get(deployed.version.codeVersion) ?? {
        functions: [definition('hello')],
        problems: [],
        metadataVersion: 'm1',
      }
    );
  }

  #openJobHost(key: string, index: FunctionIndex, maxWaiting: number): JobHost {
    const functionTimeoutMs = (): number => this.#timeoutMs;
    const router = new InvocationRouter<FunctionWorker>({
      policy: () => new LeastLoaded(),
      clock: this.clock,
      maxWaiting,
    });
    const isolated = new InvocationRouter<FunctionWorker>({
      policy: () => new LeastLoaded(),
      clock: this.clock,
      maxWaiting,
    });
    const observe = (observation: RuntimeObservation): void => void this.observed.push(observation);
    const suspects = new CrashSuspects({
      clock: this.clock,
      isolate: (applicationKey) => this.side.lifecycle.isolate(applicationKey),
      endIsolation: (applicationKey) => this.side.lifecycle.endIsolation(applicationKey),
      observe,
    });
    this.invokers.set(
      key,
      new FunctionInvoker({
        choice: new WorkerChoice({
          router,
          isolated,
          suspects,
          failure: () => this.side.deployments.failureOf(key),
          clock: this.clock,
          observe: () => undefined,
        }),
        suspects,
        paced: new PacedCalls({ router, clock: this.clock }),
        tracker: this.side.tracker,
        clock: this.clock,
        randomness: systemRandomness,
        get timeoutMs() {
          return functionTimeoutMs();
        },
        observe: (observation) => void this.invoked.push(observation),
        onFull: (worker) => this.side.lifecycle.recordFull(worker),
      }),
    );
    const listener: TriggerListener = {
      name: 'listener',
      broken: new Promise((resolve) => (this.breakListener = resolve)),
      start: () => this.startListener(),
      drain: () => Promise.resolve(),
      stop: () => Promise.resolve(),
      pause: () => undefined,
      resume: () => undefined,
      measure: () => Promise.resolve({ waiting: 0, oldestAgeMs: undefined }),
    };
    return new JobHost({
      key,
      functions: index.functions,
      router,
      isolated,
      triggers: [{ functionName: 'hello', type: 'queueTrigger', listener }],
      extensions: { close: async () => undefined },
      messages: this.side.messages,
      observe,
    });
  }
}

/** Makes benches and clears them away after each test. */
export function workerBenches(): {
  readonly open: (environment?: Record<string, string>, controlOf?: ControlOf) => Promise<WorkerBench>;
} {
  const benches: WorkerBench[] = [];
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.stop()));
  });
  return {
    async open(environment = {}, controlOf) {
      const bench = new WorkerBench(environment, controlOf);
      benches.push(bench);
      await bench.start();
      return bench;
    },
  };
}
