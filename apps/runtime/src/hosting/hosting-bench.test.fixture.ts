import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { StoredFunctionIndex } from '@drover/contracts';
import { ScriptedWorker, type WorkerScript } from '@drover/function-rpc/testing';
import type { HostedApplication, HostedVersion } from '@drover/scale-link';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { NotificationEndpoints, SourceWakeups, TriggerStores, WarmNamespaces } from '@drover/trigger-sources';
import { afterEach } from 'vitest';
import { metadataOf } from '../applications/metadata.test.fixture.js';
import { composeApplication, type ApplicationParts } from '../compose-application.js';
import { composeHosting } from '../compose-hosting.js';
import {
  admitWorkers,
  composeRecovery,
  composeWorkerEndpoint,
  composeWorkers,
  type WorkerSide,
} from '../compose-workers.js';
import { parseRuntimeConfig } from '../config.js';
import { ServedApplications } from '../deployments/served-applications.js';
import { FunctionsHttpServer } from '../functions-http/functions-http-server.js';
import { PendingOutputs } from '../invocations/pending-outputs.js';
import type { RuntimeObservation } from '../observations.js';
import { versionKey } from '../deployments/application-version.js';
import type { Specializer } from '../specialization/specializer.js';
import { SourceOutages } from '../triggers/source-outages.js';
import type { ScaleUpRequest } from '../workers/scale-control.js';
import type { HostedApplications } from './hosted-applications.js';

export interface Bindings {
  readonly [functionName: string]: readonly object[];
}

export const httpBindings = (route: string, methods: readonly string[] = ['get', 'post']): readonly object[] => [
  { type: 'httpTrigger', direction: 'in', name: 'request', route, methods, authLevel: 'anonymous' },
  { type: 'http', direction: 'out', name: '$return' },
];

/** A stored index, as a deployment has it. */
export function storedIndex(functions: Bindings, metadataVersion = 'm1'): StoredFunctionIndex {
  return {
    metadataVersion,
    functions: Object.entries(functions).map(([name, bindings]) => ({
      name,
      triggerType: (bindings[0] as { readonly type: string }).type,
      isDisabled: false,
      trigger: bindings[0] as Readonly<Record<string, unknown>>,
      metadata: JSON.parse(JSON.stringify(metadataOf(name, bindings))) as Readonly<Record<string, unknown>>,
    })),
    problems: [],
  };
}

/** A runtime with hosted applications and an HTTP server, whose workers are scripted and whose scale controller is the test. */
export class HostingBench {
  readonly observed: RuntimeObservation[] = [];
  readonly requested: ScaleUpRequest[] = [];
  readonly side: WorkerSide;
  readonly hosted: HostedApplications;
  readonly wakeups = new SourceWakeups();
  /** Requests that waited until it was known what is hosted. */
  waiting = 0;
  readonly #specializer: Specializer;
  readonly #http: FunctionsHttpServer;
  readonly #stopHosting: () => Promise<void>;
  readonly #workers: ScriptedWorker[] = [];
  readonly #directories: string[] = [];

  constructor(environment: Record<string, string> = {}) {
    const config = parseRuntimeConfig({ DROVER_EMULATORS: 'off', ...environment });
    const observe = (observation: RuntimeObservation): void => void this.observed.push(observation);
    const io = { clock: systemClock, randomness: systemRandomness, observe };
    const nothing = (): undefined => undefined;
    const control = {
      requestWorker: (request: ScaleUpRequest) => void this.requested.push(request),
      recordReady: nothing,
      recordMove: nothing,
      readyInMs: nothing,
      isolate: () => false,
      endIsolation: nothing,
      endWorker: nothing,
      run: nothing,
      cease: nothing,
    };
    this.side = composeWorkers(config, io, composeWorkerEndpoint(config, io, undefined), control);
    const outages = new SourceOutages();
    const parts: ApplicationParts = {
      io,
      logs: { observe, quietly: observe, fully: observe },
      config,
      side: this.side,
      wakeups: this.wakeups,
      notificationEndpoints: new NotificationEndpoints(io),
      warmNamespaces: new WarmNamespaces(io),
      outages,
      stores: new TriggerStores({ databaseUrl: undefined, release: 'test', ...io }),
      records: undefined,
      outputs: new PendingOutputs(),
      emulators: undefined,
      instanceId: 'test',
      stopping: new AbortController().signal,
    };
    const served = new ServedApplications({
      applicationOf: (key) => {
        throw new Error(`${key} is not deployed from a folder`);
      },
      serve: (key, application, index, hooks) => composeApplication(key, application, index, parts, hooks),
      observe,
    });
    const recovery = composeRecovery(io, this.side, (key, deployed, index) => served.open(key, deployed, index));
    const { hosted, life } = composeHosting(parts, {
      recovery,
      served,
      scaleControl: control,
      isTold: true,
      environment: {},
      defaults: {},
    });
    this.hosted = hosted;
    this.#stopHosting = () => life.stop();
    this.#specializer = admitWorkers(config, io, this.side, hosted);
    this.#http = new FunctionsHttpServer({
      host: '127.0.0.1',
      port: 0,
      applications: {
        resolve: (request) => hosted.match(request),
        named: (name, functionName) => hosted.named(name, functionName),
        all: () => hosted.all(),
        problems: () => hosted.problems(),
        untilKnown: () => {
          const known = hosted.untilKnown();
          if (known) this.waiting += 1;
          return known;
        },
      },
      trustsForwarded: false,
      trustsClientPrincipal: false,
      ...io,
    });
  }

  async start(): Promise<void> {
    await this.side.listeners.start();
    await this.#http.start();
  }

  async stop(): Promise<void> {
    await this.#stopHosting();
    for (const worker of this.#workers) worker.stream.destroy(1, 'the test is over');
    await this.#http.stop();
    await this.side.tracker.stop();
    await this.side.listeners.stop();
    await Promise.all(this.#directories.map((directory) => rm(directory, { recursive: true })));
  }

  get url(): string {
    return this.#http.url;
  }

  /** An application with one version in a folder of its own. */
  async application(
    applicationId: string,
    functions: Bindings,
    more: Partial<HostedVersion> & { readonly hostJson?: object } = {},
  ): Promise<HostedApplication> {
    const { hostJson = { version: '2.0' }, ...version } = more;
    const directory = await mkdtemp(path.join(tmpdir(), 'drover-hosting-'));
    this.#directories.push(directory);
    await writeFile(path.join(directory, 'host.json'), JSON.stringify(hostJson));
    const index = storedIndex(functions);
    const codeVersion = version.codeVersion ?? 'c1';
    return {
      tenantId: 'default',
      applicationId,
      generation: 1,
      versions: [{ tenantId: 'default', applicationId, codeVersion, directory, settings: {}, index, ...version }],
      traffic: { [codeVersion]: 100 },
    };
  }

  /** Connects a placeholder and gives it a version, as the scale controller does. */
  async worker(
    workerId: string,
    version: HostedVersion | undefined,
    script: WorkerScript = {},
  ): Promise<ScriptedWorker> {
    const worker = await this.placeholder(workerId, script);
    if (version) await this.specialize(workerId, version);
    return worker;
  }

  async placeholder(workerId: string, script: WorkerScript = {}): Promise<ScriptedWorker> {
    const requestId = `${workerId}-request`;
    this.side.admission.expect({ workerId, requestId, applicationKey: undefined });
    const worker = await ScriptedWorker.connect({
      url: `http://127.0.0.1:${this.side.listeners.loopback.port}`,
      workerId,
      requestId,
      script,
    });
    this.#workers.push(worker);
    await this.until(workerId, 'placeholder');
    return worker;
  }

  async specialize(workerId: string, version: HostedVersion): Promise<boolean> {
    const worker = this.side.registry.get(workerId);
    const deployed = await this.hosted.find(versionKey({ ...version, environment: {} }));
    if (!worker || !deployed) throw new Error(`${workerId} or its version is missing`);
    return await this.#specializer.specialize(worker, deployed);
  }

  /** Ends a worker as the scale controller does when an application goes to zero. */
  async drain(workerId: string): Promise<void> {
    const worker = this.side.registry.get(workerId);
    if (worker) await this.side.lifecycle.retire(worker);
    await eventually(() => {
      if (this.side.registry.get(workerId)) throw new Error(`${workerId} is still there`);
    });
  }

  until(workerId: string, state: string): Promise<void> {
    return eventually(() => {
      const found = this.side.registry.get(workerId)?.state;
      if (found !== state) throw new Error(`${workerId} is ${found ?? 'gone'}, not ${state}`);
    });
  }

  of<Kind extends RuntimeObservation['kind']>(kind: Kind): Extract<RuntimeObservation, { readonly kind: Kind }>[] {
    return this.observed.filter(
      (observation): observation is Extract<RuntimeObservation, { readonly kind: Kind }> => observation.kind === kind,
    );
  }
}

/** Makes benches and clears them away after each test. */
export function hostingBenches(): { readonly open: (environment?: Record<string, string>) => Promise<HostingBench> } {
  const benches: HostingBench[] = [];
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((bench) => bench.stop()));
  });
  return {
    async open(environment = {}) {
      const bench = new HostingBench(environment);
      benches.push(bench);
      await bench.start();
      return bench;
    },
  };
}
