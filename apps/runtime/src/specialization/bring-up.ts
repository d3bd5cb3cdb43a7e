import {
  FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy,
  StatusResultStatus,
  type FunctionLoadResponse,
  type StatusResult,
  type StreamingMessageContentInit,
} from '@drover/function-rpc';
import type { Clock } from '@drover/service-kit';
import type { FunctionDefinition } from '../applications/function-definition.js';
import type { ApplicationVersion } from '../deployments/application-version.js';
import { specializationFailed } from '../errors.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { reasonOf } from '../workers/status-result.js';
import type { WorkerSettings } from '../workers/worker-settings.js';

/** The Azure Functions host version that the runtime reports to workers. */
export const hostVersion = '4.1037.0';

interface BringUpOptions {
  readonly settings: WorkerSettings;
  readonly clock: Clock;
}

/** Duration of each step in milliseconds. */
export type StepTimes = Record<string, number>;

/** Runs one step and records its duration. */
export async function timed<T>(steps: StepTimes, step: string, clock: Clock, run: () => Promise<T>): Promise<T> {
  const startedMs = clock.monotonicMs();
  try {
    return await run();
  } finally {
    steps[step] = clock.monotonicMs() - startedMs;
  }
}

/** Requests the capabilities of a new worker. With a version it loads that application at once; without, it is a placeholder. */
export async function initialize(
  worker: FunctionWorker,
  version: ApplicationVersion | undefined,
  { settings }: BringUpOptions,
): Promise<void> {
  const response = await worker.request(
    {
      kind: 'workerInitRequest',
      value: {
        hostVersion,
        // A worker with a certificate can present it again, and a scale controller announces its workers again. Otherwise the
        // request id is used up.
        capabilities: worker.stream.peer.kind === 'tls' || worker.isManaged ? { DroverReconnect: '1' } : {},
        functionAppDirectory: version?.directory ?? '',
      },
    },
    'workerInitResponse',
    settings.initTimeoutMs,
  );
  check(worker, 'init', response.result);
  worker.capabilities = response.capabilities;
}

/** Gives a placeholder the environment and the directory of an application. */
export async function reload(
  worker: FunctionWorker,
  version: ApplicationVersion,
  { settings }: BringUpOptions,
): Promise<void> {
  const environmentVariables = Object.fromEntries(
    Object.entries(version.environment).filter(([, value]) => value !== ''),
  );
  const response = await worker.request(
    {
      kind: 'functionEnvironmentReloadRequest',
      value: {
        environmentVariables: {
          ...environmentVariables,
          FUNCTIONS_APPLICATION_DIRECTORY: version.directory,
          AzureWebJobsScriptRoot: version.directory,
        },
        functionAppDirectory: version.directory,
      },
    },
    'functionEnvironmentReloadResponse',
    settings.reloadTimeoutMs,
  );
  check(worker, 'environment', response.result);
  const replaces =
    response.capabilitiesUpdateStrategy === FunctionEnvironmentReloadResponseCapabilitiesUpdateStrategy.replace;
  worker.capabilities = replaces ? response.capabilities : { ...worker.capabilities, ...response.capabilities };
}

/**
 * Loads all functions of an application into a worker. Resolves with the reasons of those that it refused, by function id. An
 * answer counts for the function that it names, so one that names another function loads nothing.
 */
export async function loadFunctions(
  worker: FunctionWorker,
  functions: readonly FunctionDefinition[],
  { settings }: BringUpOptions,
): Promise<ReadonlyMap<string, string>> {
  // Disabled functions last: they may never be invoked.
  const inOrder = functions.toSorted((one, other) => Number(one.isDisabled) - Number(other.isDisabled));
  const requests = inOrder.map(({ id, metadata }) => ({ functionId: id, metadata }));
  const answers = worker.can('SupportsLoadResponseCollection')
    ? await loadTogether(worker, requests, settings)
    : await Promise.all(requests.map((request) => loadOne(worker, request, settings)));
  const results = new Map(answers.map(({ functionId, result }) => [functionId, result]));
  const refusals = new Map<string, string>();
  for (const { functionId } of requests) {
    const result = results.get(functionId);
    if (!results.has(functionId)) refusals.set(functionId, 'the worker did not answer the request to load it');
    else if (result?.status !== StatusResultStatus.Success) refusals.set(functionId, reasonOf(result));
  }
  return refusals;
}

type LoadRequest = StreamingMessageContentInit['functionLoadRequest'];
type LoadAnswer = Pick<FunctionLoadResponse, 'functionId' | 'result'>;

async function loadTogether(
  worker: FunctionWorker,
  functionLoadRequests: readonly LoadRequest[],
  { loadTimeoutMs }: WorkerSettings,
): Promise<readonly LoadAnswer[]> {
  const { functionLoadResponses } = await worker.request(
    { kind: 'functionLoadRequestCollection', value: { functionLoadRequests } },
    'functionLoadResponseCollection',
    loadTimeoutMs,
  );
  return functionLoadResponses;
}

function loadOne(worker: FunctionWorker, value: LoadRequest, { loadTimeoutMs }: WorkerSettings): Promise<LoadAnswer> {
  return worker.request({ kind: 'functionLoadRequest', value }, 'functionLoadResponse', loadTimeoutMs, {
    accepts: ({ functionId }) => functionId === value.functionId,
  });
}

/** Throws if the result is a failure. A response without a result counts as success: some workers send none. */
function check(worker: FunctionWorker, step: string, result: StatusResult | undefined): void {
  if (result && result.status !== StatusResultStatus.Success)
    throw specializationFailed({ workerId: worker.id, step, text: reasonOf(result) });
}
