import { access } from 'node:fs/promises';
import path from 'node:path';
import {
  applicationCatalogErrors,
  type ApplicationAddress,
  type ApplicationCatalog,
  type CatalogApplication,
  type CatalogVersion,
  type PayloadSource,
  type PayloadStore,
  type SettingsSeal,
} from '@drover/application-catalog';
import {
  hiddenValue,
  type IndexedFunction,
  type RollbackPolicy,
  type RouteClash,
  type ScaleSettings,
  type StoredFunctionIndex,
} from '@drover/contracts';
import type { Observe } from '@drover/service-kit';
import { requestInvalid } from '../errors.js';
import { applicationFolderUnusable, applicationRefused, uploadsOff } from './errors.js';
import type { FunctionIndexer } from './function-indexer.js';
import type { DeploymentObservation } from './observations.js';
import { folderContents, versionOf } from './version-identity.js';

const { applicationDeleting, applicationPayloadUnknown } = applicationCatalogErrors;

export interface DeployerOptions {
  readonly catalog: ApplicationCatalog;
  /** Undefined: no uploads. */
  readonly payloads: PayloadStore | undefined;
  readonly seal: SettingsSeal;
  readonly indexer: Pick<FunctionIndexer, 'index'>;
  readonly folderLimits: { readonly files: number; readonly bytes: number };
  /** Finds routes that functions of other applications have, too. */
  readonly sharedRoutes: (address: ApplicationAddress, functions: readonly IndexedFunction[]) => Promise<RouteClash[]>;
  readonly observe: Observe<DeploymentObservation>;
}

export interface DeploymentRequest extends ApplicationAddress {
  readonly from: { readonly payload: string } | { readonly directory: string; readonly isWatched: boolean };
  /** Undefined: those of the newest version. `[secret]` stands for a value of that. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  readonly trafficPercent: number;
  readonly scaling?: ScaleSettings | undefined;
  readonly rollback?: RollbackPolicy | undefined;
  /** Functions that cannot run do not prevent the deployment of the others. */
  readonly isLenient: boolean;
  /** A version that lacks functions of the running one, because code of it cannot be loaded, is refused. */
  readonly keepsFunctions: boolean;
  readonly reason: string;
}

export interface Deployed {
  readonly application: CatalogApplication;
  readonly version: CatalogVersion;
}

/** What a version consists of. */
interface ResolvedSource {
  readonly source: PayloadSource;
  readonly directory: string;
  readonly codeVersion: string;
}

/**
 * Deploys a version: finds its files, names it, has its functions read, and only then changes the catalog, in one transaction. A
 * deployment that fails at any point changes nothing.
 */
export class Deployer {
  readonly #options: DeployerOptions;
  /** Bounded by the functions of folders that this process was started with. */
  readonly #warned = new Set<string>();

  constructor(options: DeployerOptions) {
    this.#options = options;
  }

  async deploy(request: DeploymentRequest): Promise<Deployed> {
    const { catalog, observe } = this.#options;
    const { tenantId, applicationId } = request;
    const existing = await catalog.find(request);
    if (existing?.isDeleting) throw applicationDeleting({ applicationId });
    const settings = settle(request.settings, existing?.versions.at(-1));
    const resolved = await this.#resolve(request, settings);
    const known = existing?.versions.find(({ codeVersion }) => codeVersion === resolved.codeVersion);
    const stored = known && isReusable(known, request, resolved) ? known.index : undefined;
    const index = stored ?? (await this.#index(request, resolved, settings));
    if (existing && request.keepsFunctions) refuseLoss(existing, index, resolved);
    const application = await catalog.deploy({ ...request, ...resolved, index, settings });
    const version = application.versions.find(({ codeVersion }) => codeVersion === resolved.codeVersion);
    if (!version) throw new Error(`the version ${resolved.codeVersion} is not in the catalog`);
    observe({
      kind: 'application.deployed',
      tenantId,
      applicationId,
      version: version.codeVersion,
      trafficPercent: application.traffic[version.codeVersion] ?? 0,
      functions: index.functions.length,
    });
    if (request.isLenient) await this.#warnOfSharedRoutes(request, index);
    return { application, version };
  }

  /** Once for each: a folder is deployed again whenever a file is saved. */
  async #warnOfSharedRoutes(address: ApplicationAddress, { functions }: StoredFunctionIndex): Promise<void> {
    const { sharedRoutes, observe } = this.#options;
    const { applicationId } = address;
    for (const { function: name, route, otherApplication, otherFunction } of await sharedRoutes(address, functions)) {
      const warning = `the functions "${name}" and "${otherFunction}" of the application "${otherApplication}" both have the route "${route}", and only one of them answers there. Change one of the routes.`;
      if (this.#warned.has(`${applicationId}: ${warning}`)) continue;
      this.#warned.add(`${applicationId}: ${warning}`);
      observe({ kind: 'application.deploy-warning', applicationId, warning });
    }
  }

  async #resolve(request: DeploymentRequest, settings: Readonly<Record<string, string>>): Promise<ResolvedSource> {
    const { seal, folderLimits } = this.#options;
    if ('payload' in request.from) return this.#resolvePayload(request, request.from.payload, settings);
    const { isWatched } = request.from;
    const directory = path.resolve(request.from.directory);
    const contents = await folderContents(directory, folderLimits, seal);
    if (!request.isLenient) await requireHostJson(directory);
    const codeVersion = versionOf(contents, settings, seal);
    return { source: { kind: 'folder', directory, isWatched }, directory, codeVersion };
  }

  async #resolvePayload(
    { tenantId }: DeploymentRequest,
    digest: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<ResolvedSource> {
    const { catalog, payloads, seal } = this.#options;
    if (!payloads) throw uploadsOff({});
    const payload = await catalog.findPayload(tenantId, digest);
    if (!payload || !(await payloads.has(tenantId, digest))) throw applicationPayloadUnknown({ digest });
    return {
      source: { kind: 'payload', digest, bytes: payload.bytes },
      directory: payloads.directoryOf(tenantId, digest),
      codeVersion: versionOf(digest, settings, seal),
    };
  }

  async #index(
    { tenantId, applicationId, isLenient }: DeploymentRequest,
    { directory, codeVersion }: ResolvedSource,
    settings: Readonly<Record<string, string>>,
  ): Promise<StoredFunctionIndex> {
    const { indexer, observe } = this.#options;
    const answer = await indexer.index({ tenantId, applicationId, codeVersion, directory, settings });
    const refuse = (problems: readonly string[]): Error =>
      applicationRefused({ applicationId, problems: problems.map((problem) => withoutPath(problem, directory)) });
    if (answer.kind === 'refused') throw refuse(answer.problems);
    const { index, warnings } = answer;
    // The runtime says those of a watched folder, which is indexed at every save, when it begins to serve it.
    if (!isLenient)
      for (const warning of warnings) observe({ kind: 'application.deploy-warning', applicationId, warning });
    if (index.problems.length > 0 && !isLenient)
      throw refuse(index.problems.map(({ functionName, problem }) => `${functionName}: ${problem}`));
    return index;
  }
}

/** Throws APPLICATION_REFUSED if the new version has no code for functions that run now, because a file does not load. */
function refuseLoss(
  { applicationId, versions, traffic }: CatalogApplication,
  index: StoredFunctionIndex,
  { directory }: ResolvedSource,
): void {
  const failures = index.problems.filter(({ isLoadFailure }) => isLoadFailure);
  if (failures.length === 0) return;
  const kept = new Set(loadedFunctions(index));
  const running = versions.filter(({ codeVersion }) => (traffic[codeVersion] ?? 0) > 0);
  const lost = new Set(running.flatMap((version) => loadedFunctions(version.index)).filter((name) => !kept.has(name)));
  if (lost.size === 0) return;
  const problems = failures.map(({ functionName, problem }) => `${functionName}: ${withoutPath(problem, directory)}`);
  throw applicationRefused({ applicationId, problems: [...problems, `it would lose ${[...lost].join(', ')}`] });
}

function loadedFunctions({ functions, problems }: StoredFunctionIndex): readonly string[] {
  const failed = new Set(problems.flatMap(({ functionName, isLoadFailure }) => (isLoadFailure ? [functionName] : [])));
  return functions.flatMap(({ name }) => (failed.has(name) ? [] : [name]));
}

/** Names files as the caller knows them, not where the platform keeps them. */
function withoutPath(problem: string, directory: string): string {
  return problem.replaceAll(`${directory}/`, '').replaceAll(directory, 'the app').replace(/\.$/, '');
}

/** Returns the settings of the new version. Throws VALIDATION_ERROR for a `[secret]` that stands for nothing. */
function settle(
  given: Readonly<Record<string, string>> | undefined,
  newest: CatalogVersion | undefined,
): Readonly<Record<string, string>> {
  if (given === undefined) return newest?.revealSettings() ?? {};
  if (!Object.values(given).includes(hiddenValue)) return given;
  const stored = newest?.revealSettings() ?? {};
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const kept = value === hiddenValue ? stored[name] : value;
      if (kept !== undefined) return [name, kept];
      const problem = `settings.${name} is "${hiddenValue}", which stands for the stored value, but none is stored. Send the value.`;
      throw requestInvalid({ problem });
    }),
  );
}

/** The functions of equal files are known, unless they may not be served with their problems. */
function isReusable({ index, source }: CatalogVersion, { isLenient }: DeploymentRequest, to: ResolvedSource): boolean {
  const isSamePlace =
    source.kind === 'payload' || (to.source.kind === 'folder' && source.directory === to.source.directory);
  return isSamePlace && hasRoutes(index) && (isLenient || index.problems.length === 0);
}

/** Releases before the check of routes did not store them. */
function hasRoutes({ functions, problems }: StoredFunctionIndex): boolean {
  const broken = new Set(problems.map(({ functionName }) => functionName));
  return functions.every(({ name, triggerType, route }) => triggerType !== 'httpTrigger' || route || broken.has(name));
}

async function requireHostJson(directory: string): Promise<void> {
  await access(path.join(directory, 'host.json')).catch((error: unknown) => {
    const problem = 'it has no host.json; name the folder of a function app';
    throw applicationFolderUnusable({ directory, problem }, error);
  });
}
