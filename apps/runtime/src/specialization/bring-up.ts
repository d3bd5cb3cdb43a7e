import {
  FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy,
  StatusResultStatus,
  type StatusResult,
} from '@drover/function-rpc';
import type { Clock } from '@drover/service-kit';
import type { FunctionDefinition } from '../applications/function-definition.js';
import type { ApplicationVersion } from '../deployments/application-version.js';
import { specializationFailed } from '../errors.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { reasonOf } from '../workers/status-result.js';
import type { WorkerSettings } from '../workers/worker-settings.js';

/** What we tell workers about ourselves. */
export const hostVersion = '4.1037.0';

export interface BringUpOptions {
  readonly settings: WorkerSettings;
  readonly clock: Clock;
}

/** How long each step took, for whoever wants starts to be quick. */
export type StepTimes = Record<string, number>;

/** Runs one step and notes how long it took. */
export async function timed<T>(steps: StepTimes, step: string, clock: Clock, run: () => Promise<T>): Promise<T> {
  const startedMs = clock.monotonicMs();
  try {
    return await run();
  } finally {
    steps[step] = clock.monotonicMs() - startedMs;
  }
}

/** Asks a new worker what it can do; with a directory it loads that app right away, without one it is a placeholder. */
export async function initialize(
  worker: FunctionWorker,
  version: ApplicationVersion | undefined,
  { settings }: BringUpOptions,
): Promise<void> {
  const answer = await worker.ask(
    {
      kind: 'workerInitRequest',
      value: {
        hostVersion,
        // One that shows a certificate can show it again; the word of a local one is used up.
        capabilities: worker.stream.peer.kind === 'tls' ? { DroverReconnect: '1' } : {},
        functionAppDirectory: version?.directory ?? '',
      },
    },
    'workerInitResponse',
    settings.initTimeoutMs,
  );
  check(worker, 'init', answer.result);
  worker.capabilities = answer.capabilities;
  worker.runtime = [answer.workerMetadata?.runtimeName, answer.workerMetadata?.runtimeVersion]
    .filter(Boolean)
    .join(' ');
}

/** Gives a placeholder an application: its environment and its directory. */
export async function reload(
  worker: FunctionWorker,
  version: ApplicationVersion,
  { settings }: BringUpOptions,
): Promise<void> {
  const environmentVariables = Object.fromEntries(
    Object.entries(version.environment).filter(([, value]) => value !== ''),
  );
  const answer = await worker.ask(
    {
      kind: 'functionEnvironmentReloadRequest',
      value: {
        environmentVariables: { ...environmentVariables, FUNCTIONS_APPLICATION_DIRECTORY: version.directory },
        functionAppDirectory: version.directory,
      },
    },
    'functionEnvironmentReloadResponse',
    settings.reloadTimeoutMs,
  );
  check(worker, 'environment', answer.result);
  const replaces =
    answer.capabilitiesUpdateStrategy === FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy.replace;
  worker.capabilities = replaces ? answer.capabilities : { ...worker.capabilities, ...answer.capabilities };
}

/** Tells a worker all functions it may be asked to run; resolves with those it could not load, and why. */
export async function loadFunctions(
  worker: FunctionWorker,
  functions: readonly FunctionDefinition[],
  { settings }: BringUpOptions,
): Promise<ReadonlyMap<string, string>> {
  // Those that are switched off come last: they may never be needed.
  const inOrder = functions.toSorted((one, other) => Number(one.isDisabled) - Number(other.isDisabled));
  const requests = inOrder.map(({ id, metadata }) => ({ functionId: id, metadata }));
  const failures = new Map<string, string>();
  const note = (functionId: string, result: StatusResult | undefined): void => {
    if (result?.status !== StatusResultStatus.Success) failures.set(functionId, reasonOf(result));
  };
  if (worker.can('SupportsLoadResponseCollection')) {
    const answer = await worker.ask(
      { kind: 'functionLoadRequestCollection', value: { functionLoadRequests: requests } },
      'functionLoadResponseCollection',
      settings.loadTimeoutMs,
    );
    for (const { functionId, result } of answer.functionLoadResponses) note(functionId, result);
    return failures;
  }
  await Promise.all(
    requests.map(async (value) => {
      const answer = await worker.ask(
        { kind: 'functionLoadRequest', value },
        'functionLoadResponse',
        settings.loadTimeoutMs,
      );
      note(value.functionId, answer.result);
    }),
  );
  return failures;
}

/** Some answers come without a result; only one that says failure is one. */
function check(worker: FunctionWorker, step: string, result: StatusResult | undefined): void {
  if (result && result.status !== StatusResultStatus.Success)
    throw specializationFailed({ workerId: worker.id, step, text: reasonOf(result) });
}
