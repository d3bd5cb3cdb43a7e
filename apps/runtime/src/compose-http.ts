import { corsPolicyOf } from '@drover/http-edge';
import type { Webhook } from '@drover/trigger-sources';
import { ApplicationAdmin, type AdministeredHost } from './admin/application-admin.js';
import { applicationNameOf } from './applications/application-key.js';
import type { Checked } from './applications/bindings.js';
import type { FunctionDefinition, FunctionProblem } from './applications/function-definition.js';
import type { Application } from './applications/read-application.js';
import type { Settings } from './applications/settings.js';
import type { RuntimeIo, WorkerSide } from './compose-workers.js';
import type { RuntimeConfig } from './config.js';
import type { Invoker } from './invocations/invocation-call.js';
import { deriveFunctionKeys } from './routes/derived-keys.js';
import { MemoryFunctionKeys } from './routes/function-keys.js';
import { createHttpApplication, type HttpApplication } from './routes/http-application.js';
import { hostVersion } from './specialization/bring-up.js';
import type { FunctionWorker } from './workers/function-worker.js';

/** One application as it is served over HTTP, with an open job host or, in its place, with what opens one. */
export interface HttpFront {
  /** Of the job host. */
  readonly key: string;
  readonly application: Application;
  readonly functions: readonly FunctionDefinition[];
  readonly problems: readonly FunctionProblem[];
  readonly host: AdministeredHost;
  readonly invoker: Invoker;
  readonly webhooks: ReadonlyMap<string, Webhook>;
  /** Changes whenever a worker is added or removed. */
  readonly revision: () => number;
  readonly readyInMs: () => number;
  readonly firstWorker?: HttpApplication['firstWorker'];
  /** For what does not run. */
  readonly report: (functionName: string, problem: string) => void;
  /** For what runs, but probably not as it was meant. */
  readonly warn: (functionName: string, problem: string) => void;
}

export interface HttpFrontParts {
  readonly config: RuntimeConfig;
  readonly side: WorkerSide;
  readonly io: RuntimeIo;
  readonly instanceId: string;
}

/** Creates the routes of an application and everything that its requests are checked against. */
export function composeHttp(
  { key, application, functions, problems: indexProblems, host, invoker, webhooks, ...front }: HttpFront,
  { config, side, io: { clock, randomness }, instanceId }: HttpFrontParts,
): HttpApplication {
  const name = applicationNameOf(key);
  const masterKey = config.masterKey?.reveal() ?? randomness.bytes(32).toString('base64url');
  const functionNames = functions.map((definition) => definition.name);
  const workers = (): FunctionWorker[] => side.registry.all().filter((worker) => worker.jobHostKey === key);
  const startedMs = clock.monotonicMs();
  const bodyLimit = readBodyLimit(application.settings);
  if ('problem' in bodyLimit) front.warn('local.settings.json', bodyLimit.problem);
  const {
    application: http,
    problems,
    warnings,
  } = createHttpApplication({
    name,
    functions,
    options: application.hostJson.extensions.http,
    invoker,
    keys: new MemoryFunctionKeys(deriveFunctionKeys(masterKey, name, functionNames, [...webhooks.keys()])),
    requiresKeys: config.masterKey !== undefined && config.functionKeys === 'on',
    readyInMs: front.readyInMs,
    // As with settings: the environment takes precedence over the file.
    cors: corsPolicyOf(config) ?? application.local.cors,
    bodyLimitBytes: 'value' in bodyLimit ? bodyLimit.value : undefined,
    streamsHttp: cachedBy(front.revision, () => workers().some((worker) => worker.can('HttpUri'))),
    firstWorker: front.firstWorker,
    webhooks,
    admin: new ApplicationAdmin({
      host,
      problems: indexProblems,
      invoker,
      version: hostVersion,
      instanceId,
      uptimeMs: () => clock.monotonicMs() - startedMs,
      outstanding: () => workers().reduce((sum, worker) => sum + side.tracker.countOf(worker.id), 0),
      restart: () => side.lifecycle.recycleAllOf(key, 'restart-asked'),
    }),
  });
  for (const { functionName, problem } of problems) front.report(functionName, problem);
  for (const { functionName, problem } of warnings) front.warn(functionName, problem);
  return http;
}

const bodyLimitSetting = 'FUNCTIONS_REQUEST_BODY_SIZE_LIMIT';

/** Returns undefined if the application has no limit of its own. */
function readBodyLimit(settings: Settings): Checked<number | undefined> {
  const text = settings.get(bodyLimitSetting)?.trim();
  if (text === undefined || text === '') return { value: undefined };
  const bytes = /^\d+$/.test(text) ? Number(text) : 0;
  if (bytes > 0 && Number.isSafeInteger(bytes)) return { value: bytes };
  return { problem: `${bodyLimitSetting} must be a number of bytes, not ${JSON.stringify(text)}; it is ignored` };
}

/** Caches a value until the revision changes: it is read for every request. */
function cachedBy<T>(revision: () => number, compute: () => T): () => T {
  let cached: { readonly at: number; readonly value: T } | undefined;
  return () => {
    const at = revision();
    if (cached?.at !== at) cached = { at, value: compute() };
    return cached.value;
  };
}
