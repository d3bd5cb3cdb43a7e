import type { RuntimeIndexRequest } from '@drover/contracts';
import { programOptionsOf, type WorkerCommand } from '@drover/instance-provider';
import type { Leash } from '@drover/service-kit';
import type { FunctionProblem } from './applications/function-definition.js';
import type { Application } from './applications/read-application.js';
import { compilePlanners, extensionsOf, type ApplicationParts } from './compose-application.js';
import { toWorkerSettings } from './compose-workers.js';
import type { FunctionIndex } from './deployments/deployed-version.js';
import { readRunnable } from './deployments/read-runnable.js';
import { ApplicationIndexer, type CheckedFunctions } from './indexing/application-indexer.js';
import { hostPaths } from './routes/http-application.js';
import { RouteTable } from './routes/route-table.js';
import { leadingLiterals } from './routes/route-template.js';
import { supportedBindings } from './triggers/binding-extensions.js';

interface IndexingSurroundings {
  readonly command: WorkerCommand | undefined;
  readonly leash: Leash;
  /** The part of the environment that applications may see. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Settings of applications that do not set them. */
  readonly defaults: Readonly<Record<string, string>>;
}

/** Composes what indexes versions that are about to be deployed. */
export function composeIndexer(
  parts: ApplicationParts,
  { command, leash, environment, defaults }: IndexingSurroundings,
): ApplicationIndexer {
  const { io, config, side } = parts;
  return new ApplicationIndexer({
    ...io,
    command,
    leash,
    admission: side.admission,
    address: () => side.listeners.loopback,
    maxMessageBytes: config.maxMessageBytes,
    connectWithinMs: config.startTimeoutMs,
    settings: toWorkerSettings(config),
    supported: supportedBindings,
    read: async ({ directory, applicationId, settings }: RuntimeIndexRequest) => {
      const warnings: string[] = [];
      const given = { ...environment, ...settings };
      const application = await readRunnable(
        { directory, applicationId, environment: given },
        {
          hasDevelopmentStorage: config.emulators === 'on',
          observe: (observation) => {
            if (observation.kind === 'application.warning') warnings.push(observation.problem);
          },
        },
      );
      const whole = { ...defaults, ...application.settings.toEnvironment() };
      // The environment takes precedence, and all workers are started with its options already.
      const programOptions = programOptionsOf(given).length > 0 ? [] : programOptionsOf(whole);
      return { application, environment: whole, programOptions, warnings };
    },
    check: (key, application, index) => checkFunctions(key, application, index, parts),
  });
}

/** Composes the functions as a job host would, without listening, and collects what would be reported then. */
function checkFunctions(
  key: string,
  application: Application,
  index: FunctionIndex,
  parts: ApplicationParts,
): CheckedFunctions {
  const problems: FunctionProblem[] = [];
  const warnings: string[] = [];
  const report = (functionName: string, problem: string): void =>
    void problems.push({ functionName, file: undefined, problem });
  const warn = (functionName: string, problem: string): void => void warnings.push(`${functionName}: ${problem}`);
  compilePlanners({ index, report, warn });
  const extensions = extensionsOf(key, application, parts, parts.io.observe);
  for (const { name: functionName, trigger, isDisabled } of index.functions) {
    if (isDisabled) continue;
    try {
      const { type, options } = trigger;
      const prepared = extensions.of('triggers', trigger)?.prepare?.({ functionName, type, options });
      prepared?.park(); // resolves its connection
      if (prepared && prepared.unknownKeys.length > 0)
        warn(functionName, `its trigger has unknown options, which are ignored: ${prepared.unknownKeys.join(', ')}`);
    } catch (error) {
      report(functionName, error instanceof Error ? error.message : String(error));
    }
  }
  void extensions.close();
  const { routePrefix } = application.hostJson.extensions.http;
  const routes = RouteTable.of(index.functions, { routePrefix, reserved: hostPaths });
  for (const { functionName, problem } of routes.problems) report(functionName, problem);
  for (const { functionName, problem } of routes.warnings) warn(functionName, problem);
  const indexed = routes.table.routes.map(
    ({ definition, path, template }) => [definition.name, { path, literals: leadingLiterals(template) }] as const,
  );
  return { problems, warnings, routes: new Map(indexed) };
}
