import type { HostedVersion } from '@drover/scale-link';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { parseHostJson } from '../applications/host-json.js';
import type { Application } from '../applications/read-application.js';
import { Settings } from '../applications/settings.js';
import type { JobHostHooks } from '../deployments/deployed-version.js';
import type { JobHostRecovery } from '../deployments/job-host-recovery.js';
import { ServedApplications, type ServedApplication } from '../deployments/served-applications.js';
import { InvocationRouter } from '../invocations/invocation-router.js';
import { LeastLoaded } from '../invocations/policies/least-loaded.js';
import { JobHostManager } from '../job-hosts/job-host-manager.js';
import { JobHost } from '../job-hosts/job-host.js';
import { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { JobHostActivation } from './job-host-activation.js';

const key = 'default/app:m1';
const application: Application = {
  directory: '/app',
  hostJson: parseHostJson('{"version":"2.0"}', {}).hostJson,
  rawHostJson: {},
  settings: new Settings({}),
  defaultSettings: [],
  local: { cors: undefined, httpPort: undefined },
  problems: [],
};
const version: HostedVersion = {
  tenantId: 'default',
  applicationId: 'app',
  codeVersion: 'c1',
  directory: '/app',
  settings: {},
  index: { metadataVersion: 'm1', functions: [], problems: [] },
};

interface Bench {
  readonly activation: JobHostActivation;
  readonly jobHosts: JobHostManager;
  readonly log: string[];
  reads: number;
  versions: HostedVersion[];
  /** How the listener of the next job host starts, and how it drains. */
  startListener: () => Promise<void>;
  drainListener: () => Promise<void>;
}

function open(): Bench {
  const clock = new FakeClock();
  const router = (): InvocationRouter<FunctionWorker> =>
    new InvocationRouter({ policy: () => new LeastLoaded(), clock, maxWaiting: 10 });
  const hostOf = (): JobHost =>
    new JobHost({
      key,
      functions: [],
      router: router(),
      isolated: router(),
      triggers: [
        {
          functionName: 'work',
          type: 'queueTrigger',
          listener: {
            name: 'listener',
            broken: new Promise(() => undefined),
            start: () => bench.startListener(),
            drain: () => bench.drainListener(),
            stop: () => Promise.resolve(),
            pause: () => undefined,
            resume: () => undefined,
            measure: () => Promise.resolve({ waiting: 0, oldestAgeMs: undefined }),
          },
        },
      ],
      extensions: { close: async () => undefined },
      messages: { receive: () => undefined },
      observe: () => undefined,
    });
  const served = new ServedApplications({
    applicationOf: () => application,
    // Only the job host matters here.
    serve: () => ({ host: hostOf(), application }) as unknown as ServedApplication,
    observe: () => undefined,
  });
  const jobHosts = new JobHostManager({
    maxHeldLogs: 1,
    onDroppedLog: () => undefined,
    placeholders: { receive: () => undefined },
  });
  const recovery: Pick<JobHostRecovery, 'open'> = { open: (...args) => served.open(...args) };
  const log: string[] = [];
  const parts = {
    read: async () => {
      bench.reads += 1;
      return { application, environment: {} };
    },
    supported: {
      triggers: new Set<string>(),
      inputs: new Set<string>(),
      outputs: new Set<string>(),
      wholeOutputs: new Set<string>(),
    },
    jobHosts,
    recovery: recovery as JobHostRecovery, // only `open` is used
    served,
    registry: new FunctionWorkerRegistry(),
    clock,
    observe: (observation: { readonly kind: string; readonly state?: string }) =>
      observation.state !== undefined && log.push(observation.state),
  };
  const activation = new JobHostActivation(key, 'default/app', parts, {
    version: (codeVersion) => bench.versions.find((one) => one.codeVersion === codeVersion),
    first: () => bench.versions[0],
    hooks: () => ({}) as JobHostHooks, // no call is made
    onParked: () => undefined,
  });
  const bench: Bench = {
    activation,
    jobHosts,
    log,
    reads: 0,
    versions: [version],
    startListener: () => Promise.resolve(),
    drainListener: () => Promise.resolve(),
  };
  return bench;
}

const soon = new AbortController().signal;

describe('the job host of a hosted application', () => {
  it('is opened once for many calls, which need not wait for its listeners', async () => {
    const bench = open();
    let begin: () => void = () => undefined;
    bench.startListener = () => new Promise((resolve) => (begin = resolve));
    const [one, other] = await Promise.all([bench.activation.open(), bench.activation.open()]);
    expect(one).toBe(other);
    expect(bench.reads).toBe(1);
    expect(bench.activation.state).toBe('opening');
    const started = bench.activation.start();
    begin();
    expect(await started).toBe(one.host);
    expect(bench.log).toEqual(['opening', 'open']);
  });

  it('is opened again by a call that comes while it closes', async () => {
    const bench = open();
    const first = await bench.activation.start();
    let drained: () => void = () => undefined;
    bench.drainListener = () => new Promise((resolve) => (drained = resolve));
    const closed = bench.activation.close(soon);
    await Promise.resolve();
    expect(bench.activation.current).toBeUndefined();
    const again = bench.activation.start();
    await eventuallyTicks(() => bench.log.includes('closing'));
    bench.drainListener = () => Promise.resolve();
    drained();
    await closed;
    expect(await again).not.toBe(first);
    expect(bench.log).toEqual(['opening', 'open', 'closing', 'parked', 'opening', 'open']);
    expect(bench.jobHosts.size).toBe(1);
  });

  it('is parked when its listeners do not start, and tried again by the next call', async () => {
    const bench = open();
    bench.startListener = () => Promise.reject(new Error('no such queue'));
    await expect(bench.activation.start()).rejects.toThrow(/no such queue/);
    expect(bench.activation.state).toBe('parked');
    bench.startListener = () => Promise.resolve();
    await bench.activation.start();
    expect(bench.activation.state).toBe('open');
  });

  it('is replaced by the next call when it has failed and its recovery too', async () => {
    const bench = open();
    const first = await bench.activation.start();
    await bench.jobHosts.stop(key, AbortSignal.abort());
    expect(first.state).toBe('stopped');
    expect(bench.activation.current).toBeUndefined();
    bench.startListener = () => Promise.reject(new Error('still broken'));
    await expect(bench.activation.open()).rejects.toThrow(/still broken/);
    expect(bench.activation.state).toBe('parked');
    bench.startListener = () => Promise.resolve();
    expect((await bench.activation.open()).host).not.toBe(first);
  });

  it('is not opened when its versions are gone', async () => {
    const bench = open();
    bench.versions = [];
    await expect(bench.activation.open()).rejects.toThrow(/removed/);
    bench.activation.remove();
    expect(bench.activation.state).toBe('removed');
    await expect(bench.activation.open()).rejects.toThrow(/removed/);
    expect(bench.jobHosts.size).toBe(0);
  });

  it('gives the next worker the new settings of a version that was changed', async () => {
    const bench = open();
    const before = await bench.activation.find('c1');
    expect(await bench.activation.find('c1')).toBe(before);
    bench.activation.forget('c1');
    expect(await bench.activation.find('c1')).not.toBe(before);
    expect(await bench.activation.find('c2')).toBeUndefined();
  });
});

/** Gives promises that are already settled their turn until the condition holds. */
async function eventuallyTicks(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100 && !condition(); turn += 1) await Promise.resolve();
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}
