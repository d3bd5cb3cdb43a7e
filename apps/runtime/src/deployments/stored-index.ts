import type { StoredFunctionIndex } from '@drover/contracts';
import type { RpcFunctionMetadata } from '@drover/function-rpc';
import { toFunctionDefinitions } from '../applications/function-metadata.js';
import type { Application } from '../applications/read-application.js';
import { shownTriggerType } from '../applications/trigger-types.js';
import { findUnsupported, type SupportedBindings } from '../bindings/supported-bindings.js';
import type { FunctionIndex } from './deployed-version.js';

/** Returns an index as it is stored with a deployment. */
export function toStoredIndex({ functions, problems, metadataVersion }: FunctionIndex): StoredFunctionIndex {
  return {
    metadataVersion,
    functions: functions.map(({ name, trigger, isDisabled, metadata }) => ({
      name,
      triggerType: shownTriggerType(trigger.type),
      isDisabled,
      trigger: trigger.options,
      metadata: toJson(metadata),
    })),
    problems: problems.map(({ functionName, file, problem }) => ({
      functionName,
      problem: file === undefined ? problem : `${problem} (${file})`,
    })),
  };
}

/**
 * Returns the index of a deployment without asking a worker: the stored metadata is checked with the files and settings of the
 * application, as it was when a worker indexed it.
 */
export function fromStoredIndex(
  { metadataVersion, functions: stored, problems: known }: StoredFunctionIndex,
  { hostJson, settings }: Pick<Application, 'hostJson' | 'settings'>,
  supported: SupportedBindings,
): FunctionIndex {
  const { functions, problems } = toFunctionDefinitions(
    stored.map(({ metadata, isDisabled }) => ({
      // Written by `toStoredIndex` from a decoded message.
      metadata: metadata as unknown as RpcFunctionMetadata,
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
  return JSON.parse(JSON.stringify(metadata)) as Record<string, unknown>;
}
