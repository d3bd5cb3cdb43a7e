import { TriggerWatch, type WatchedApplication, type Webhook } from '@drover/trigger-sources';
import { BoundedMap, inOrder, step, type Lifecycle } from '@drover/service-kit';
import { applicationNameOf } from './applications/application-key.js';
import type { FunctionDefinition } from './applications/function-definition.js';
import {
  compilePlanners,
  demandEmulators,
  extensionsOf,
  reportsOf,
  type ApplicationParts,
} from './compose-application.js';
import { composeHttp } from './compose-http.js';
import type { RuntimeIo } from './compose-workers.js';
import type { JobHostRecovery } from './deployments/job-host-recovery.js';
import { readRunnable } from './deployments/read-runnable.js';
import type { ServedApplications } from './deployments/served-applications.js';
import { HostedApplications } from './hosting/hosted-applications.js';
import type { ApplicationFront, FrontParts, HostingParts } from './hosting/parkable-job-host.js';
import { supportedBindings, webhookFunctions } from './triggers/binding-extensions.js';
import type { ScaleControl } from './workers/scale-control.js';

interface HostingSurroundings {
  readonly recovery: JobHostRecovery;
  readonly served: ServedApplications;
  readonly scaleControl: Pick<ScaleControl, 'requestWorker'>;
  /** Whether a scale controller tells what to host. */
  readonly isTold: boolean;
  /** The part of the environment that applications may see. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Settings of applications that do not set them. */
  readonly defaults: Readonly<Record<string, string>>;
}

/** Composes the applications that a scale controller gives to this runtime, and the watch of those that are parked. */
export function composeHosting(
  parts: ApplicationParts,
  { recovery, served, scaleControl, isTold, environment, defaults }: HostingSurroundings,
): { readonly hosted: HostedApplications; readonly life: Lifecycle } {
  const { io, side, config, wakeups, notificationEndpoints, warmNamespaces } = parts;
  const { jobHosts, registry, tracker, lifecycle } = side;
  const watch = new TriggerWatch({ ...io, wakeups, notificationEndpoints });
  const observe = warnOnce(io.observe);
  const readingIo = { config, observe };
  const hosted = new HostedApplications({
    ...io,
    read: (version) => readVersion(version, environment, defaults, readingIo),
    composeFront: (front) => composeFront(front, parts, newReports(front, observe)),
    supported: supportedBindings,
    watch,
    jobHosts,
    recovery,
    served,
    registry,
    tracker,
    lifecycle,
    scaleControl,
    isTold,
    maxWaiting: config.maxWaiting,
    drainTimeoutMs: config.drainTimeoutMs,
  });
  const watching = step('trigger watch', {
    down: async () => {
      await Promise.all([watch.close(), warmNamespaces.close()]);
    },
  });
  return { hosted, life: inOrder('hosting', [watching, hosted]) };
}

/** An application is read again whenever it wakes, and at every save: what it is warned about is said once. */
function warnOnce(observe: RuntimeIo['observe']): RuntimeIo['observe'] {
  const said = new BoundedMap<string, true>({ maxWeight: 1_000, whenFull: 'evict-unused' });
  return (observation) => {
    if (observation.kind === 'application.warning') {
      // Of an application, not of a version: a save makes a new one.
      const text = `${applicationNameOf(observation.application)} ${observation.problem}`;
      if (said.get(text)) return;
      said.set(text, true);
    }
    observe(observation);
  };
}

async function readVersion(
  version: Parameters<HostingParts['read']>[0],
  environment: HostingSurroundings['environment'],
  defaults: HostingSurroundings['defaults'],
  { config, observe }: Pick<ApplicationParts, 'config'> & Pick<RuntimeIo, 'observe'>,
): ReturnType<HostingParts['read']> {
  const { directory, applicationId, settings } = version;
  const application = await readRunnable(
    { directory, applicationId, environment: { ...environment, ...settings } },
    { hasDevelopmentStorage: config.emulators === 'on', observe },
  );
  return { application, environment: { ...defaults, ...application.settings.toEnvironment() } };
}

/** The problems of functions that were found when the version was deployed were reported then. */
function newReports({ key, index }: FrontParts, observe: RuntimeIo['observe']): ReturnType<typeof reportsOf> {
  const { report, warn } = reportsOf(key, { observe });
  const reported = new Set(index.problems.map(({ functionName }) => functionName));
  return { warn, report: (functionName, problem) => reported.has(functionName) || report(functionName, problem) };
}

function composeFront(
  front: FrontParts,
  parts: ApplicationParts,
  reports: ReturnType<typeof reportsOf>,
): ApplicationFront {
  const { key, application, index, host, invoker, revision, firstWorker } = front;
  const planners = compilePlanners({ index, ...reports });
  const functions = index.functions.filter(({ name }) => planners.outputs.has(name));
  demandEmulators(application, functions, parts);
  const http = composeHttp(
    {
      key,
      application,
      functions,
      problems: index.problems,
      host,
      invoker,
      webhooks: wakingWebhooks(functions, front.webhook),
      revision,
      readyInMs: () => usualStartMs,
      firstWorker,
      ...reports,
    },
    parts,
  );
  return { http, functions, triggers: parkTriggers(front, functions, parts, reports) };
}

/** For `Retry-After`: a worker of a parked application is ready well within this time. */
const usualStartMs = 1_000;

function wakingWebhooks(
  functions: readonly FunctionDefinition[],
  open: FrontParts['webhook'],
): ReadonlyMap<string, Webhook> {
  const waking = [...webhookFunctions(functions)].map(([name, own]): readonly [string, Webhook] => [
    name,
    {
      has: (functionName) => own.has(functionName.toLowerCase()),
      serve: async (functionName, request, signal) => {
        const webhook = await open(name);
        return webhook ? await webhook.serve(functionName, request, signal) : { status: 404 };
      },
    },
  ]);
  return new Map(waking);
}

/** Returns what the triggers of a parked application wait for. Those with invalid options are reported when its job host opens. */
function parkTriggers(
  { key, application }: FrontParts,
  functions: readonly FunctionDefinition[],
  parts: ApplicationParts,
  { report }: ReturnType<typeof reportsOf>,
): WatchedApplication['triggers'] {
  const extensions = extensionsOf(key, application, parts, parts.io.observe);
  const triggers: { functionName: string; parked: WatchedApplication['triggers'][number]['parked'] }[] = [];
  for (const { name: functionName, trigger, isDisabled } of functions) {
    if (isDisabled) continue;
    try {
      const { type, options } = trigger;
      const prepared = extensions.of('triggers', trigger)?.prepare?.({ functionName, type, options });
      const parked = prepared?.park();
      if (parked && parked.kind !== 'requests') triggers.push({ functionName, parked });
    } catch (error) {
      report(functionName, error instanceof Error ? error.message : String(error));
    }
  }
  void extensions.close();
  return triggers;
}
