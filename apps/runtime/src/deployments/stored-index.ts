import path from 'node:path';
import type { IndexedRoute, StoredFunctionIndex } from '@drover/contracts';
import type { RpcFunctionMetadata } from '@drover/function-rpc';
import { toFunctionDefinitions } from '../applications/function-metadata.js';
import type { Application } from '../applications/read-application.js';
import { shownTriggerType } from '../applications/trigger-types.js';
import { findUnsupported, type SupportedBindings } from '../bindings/supported-bindings.js';
import type { FunctionIndex } from './deployed-version.js';

/** Returns an index as it is stored with a deployment: the code may have another directory when it runs. */
export function toStoredIndex(
  { functions, problems, metadataVersion }: FunctionIndex,
  { directory }: Pick<Application, 'directory'>,
  routes: ReadonlyMap<string, IndexedRoute>,
): StoredFunctionIndex {
  return {
    metadataVersion,
    functions: functions.map(({ name, trigger, isDisabled, metadata }) => {
      const route = routes.get(name);
      return {
        name,
        triggerType: shownTriggerType(trigger.type),
        isDisabled,
        trigger: trigger.options,
        ...(route && { route }),
        metadata: toJson({ ...metadata, directory: relativeTo(directory, metadata.directory) }),
      };
    }),
    problems: problems.map(({ functionName, file, problem, isLoadFailure }) => ({
      functionName,
      problem: file === undefined ? problem : `${problem} (${file})`,
      ...(isLoadFailure && { isLoadFailure }),
    })),
  };
}

/**
 * Returns the index of a deployment without asking a worker: the stored metadata is checked with the files and settings of the
 * application, as it was when a worker indexed it.
 */
export function fromStoredIndex(
  { metadataVersion, functions: stored, problems: known }: StoredFunctionIndex,
  { directory, hostJson, settings }: Pick<Application, 'directory' | 'hostJson' | 'settings'>,
  supported: SupportedBindings,
): FunctionIndex {
  const { functions, problems } = toFunctionDefinitions(
    stored.map(({ metadata, isDisabled }) => ({
      metadata: fromJson(metadata, directory),
      file: undefined,
      disabled: isDisabled,
    })),
    { settings, retry: hostJson.retry, only: hostJson.functions },
  );
  const unsupported = functions.flatMap((definition) => findUnsupported(definition, supported) ?? []);
  const refused = new Set(unsupported.map(({ functionName }) => functionName));
  return {
    functions: functions.filter(({ name }) => !refused.has(name)),
    problems: [...known.map((problem) => ({ ...problem, file: undefined })), ...problems, ...unsupported],
    metadataVersion,
  };
}

/** A plain copy: decoded messages have maps without a prototype, and fields that are undefined. */
function toJson(metadata: RpcFunctionMetadata): Readonly<Record<string, unknown>> {
  // Seconds of a duration are a bigint beyond 2^53, which JSON does not have; no delay is that long.
  const text = JSON.stringify(metadata, (_name, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
  return JSON.parse(text) as Record<string, unknown>;
}

/** Written by `toJson` from a decoded message. */
function fromJson(stored: Readonly<Record<string, unknown>>, root: string): RpcFunctionMetadata {
  const metadata = stored as unknown as RpcFunctionMetadata;
  return metadata.directory === '' ? metadata : { ...metadata, directory: path.resolve(root, metadata.directory) };
}

/** With `/` on every system. Directories outside of the application, of which there should be none, stay as they are. */
function relativeTo(root: string, directory: string): string {
  if (!path.isAbsolute(directory)) return directory;
  const relative = path.relative(root, directory);
  return relative.startsWith('..') || path.isAbsolute(relative) ? directory : relative.split(path.sep).join('/') || '.';
}
