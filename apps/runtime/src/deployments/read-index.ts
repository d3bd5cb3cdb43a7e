import { StatusResultStatus } from '@drover/function-rpc';
import type { FunctionProblem } from '../applications/function-definition.js';
import { toFunctionDefinitions, type DeclaredFunction } from '../applications/function-metadata.js';
import { metadataVersion } from '../applications/metadata-version.js';
import type { Application } from '../applications/read-application.js';
import { readFunctionJsons } from '../applications/read-function-jsons.js';
import { explainNoFunctions } from '../applications/why-no-functions.js';
import { findUnsupported, type SupportedBindings } from '../bindings/supported-bindings.js';
import { applicationBroken } from '../errors.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { reasonOf } from '../workers/status-result.js';
import type { FunctionIndex } from './deployed-version.js';

/** Requests the functions of an application from a worker and checks them. Throws RUNTIME_APPLICATION_BROKEN if none can run. */
export async function readIndex(
  worker: FunctionWorker,
  {
    applicationId,
    application,
    supported,
    timeoutMs,
  }: {
    readonly applicationId: string;
    readonly application: Application;
    readonly supported: SupportedBindings;
    readonly timeoutMs: number;
  },
): Promise<FunctionIndex> {
  const { directory, hostJson, settings, rawHostJson } = application;
  const response = await worker.request(
    { kind: 'functionsMetadataRequest', value: { functionAppDirectory: directory } },
    'functionMetadataResponse',
    timeoutMs,
  );
  const isWhole = !response.result || response.result.status === StatusResultStatus.Success;
  // Files that could not be loaded do not affect the functions of the others.
  if (!isWhole && response.functionMetadataResults.length === 0)
    throw applicationBroken({ applicationId, problems: [reasonOf(response.result)] });
  const declared = response.useDefaultMetadataIndexing
    ? await readFunctionJsons(directory)
    : { functions: response.functionMetadataResults.map(declare), problems: [] };
  const checked = toFunctionDefinitions(declared.functions, {
    settings,
    retry: hostJson.retry,
    only: hostJson.functions,
  });
  const unsupported = checked.functions.flatMap((definition) => findUnsupported(definition, supported) ?? []);
  const names = new Set(unsupported.map(({ functionName }) => functionName));
  const functions = checked.functions.filter(({ name }) => !names.has(name));
  const unloaded = isWhole
    ? []
    : [{ functionName: 'app', file: undefined, problem: reasonOf(response.result), isLoadFailure: true as const }];
  const problems = [...unloaded, ...declared.problems, ...checked.problems, ...unsupported];
  if (functions.length === 0)
    throw applicationBroken({ applicationId, problems: await describeProblems(directory, problems) });
  return { functions, problems, metadataVersion: metadataVersion({ functions, rawHostJson, settings }) };
}

function declare(metadata: DeclaredFunction['metadata']): DeclaredFunction {
  return { metadata, file: undefined };
}

async function describeProblems(directory: string, problems: readonly FunctionProblem[]): Promise<string[]> {
  if (problems.length === 0) return [await explainNoFunctions(directory)];
  return problems.map(({ functionName, file, problem }) => `${functionName}${file ? ` (${file})` : ''}: ${problem}`);
}
