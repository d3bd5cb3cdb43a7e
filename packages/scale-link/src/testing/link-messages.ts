import type { RuntimeAttach } from '../attachments.js';
import type { ApplicationSample, HostedApplication } from '../messages.js';

/** Builds the first message of a runtime. */
export function attachMessage(changes: Partial<RuntimeAttach> = {}): RuntimeAttach {
  return {
    kind: 'attach',
    runtimeId: 'runtime-1',
    incarnation: 'one',
    endpoint: { host: '127.0.0.1', port: 1 },
    functionsUrl: 'http://127.0.0.1:2',
    workers: [],
    applications: {},
    ...changes,
  };
}

/** Builds an application without functions. */
export function hostedApplication(changes: Partial<HostedApplication> = {}): HostedApplication {
  return {
    tenantId: 'default',
    applicationId: 'hello',
    generation: 1,
    versions: [
      {
        tenantId: 'default',
        applicationId: 'hello',
        codeVersion: 'one',
        directory: '/apps/hello',
        settings: {},
        index: { metadataVersion: 'm1', functions: [], problems: [] },
      },
    ],
    traffic: { one: 100 },
    ...changes,
  };
}

/** Builds the sample of an application at rest. */
export function applicationSample(changes: Partial<ApplicationSample> = {}): ApplicationSample {
  return {
    application: 'default/hello',
    inFlight: 0,
    waiting: 0,
    capacity: 0,
    arrivals: 0,
    completions: 0,
    failures: 0,
    meanServiceMs: undefined,
    p95ServiceMs: undefined,
    versions: {},
    cpu: undefined,
    memory: undefined,
    isBackpressured: false,
    triggers: [],
    ...changes,
  };
}
