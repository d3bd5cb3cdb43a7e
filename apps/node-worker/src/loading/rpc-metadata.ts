import path from 'node:path';
import {
  BindingInfoDataType,
  BindingInfoDirection,
  RpcRetryOptionsRetryStrategy,
  type BindingInfo,
  type BindingInfoInit,
  type RpcFunctionMetadataInit,
  type RpcRetryOptionsInit,
} from '@drover/function-rpc';
import type { CoreBinding, CoreFunctionMetadata, CoreRetryOptions } from './functions-core.js';

/** What the host is told about a function that an app registered. `file` is the entry point that was being loaded. */
export function toRpcMetadata(metadata: CoreFunctionMetadata, file: string | undefined): RpcFunctionMetadataInit {
  const { name, functionId, bindings, retryOptions } = metadata;
  return {
    name,
    functionId: functionId || name,
    // Hosts insist on a script file. Registered later than by a file that loads, a function has none to name.
    scriptFile: file === undefined ? 'unknown' : path.basename(file),
    directory: file === undefined ? '' : path.dirname(file),
    bindings: Object.fromEntries(Object.entries(bindings).map(([key, binding]) => [key, toBindingInfo(binding)])),
    rawBindings: Object.entries(bindings).map(([key, binding]) => JSON.stringify({ ...binding, name: key })),
    ...(retryOptions && { retryOptions: toRetryOptions(retryOptions) }),
  };
}

function toBindingInfo({ type, direction, dataType, properties }: CoreBinding): BindingInfoInit {
  return {
    type: type ?? '',
    direction: enumValue(BindingInfoDirection, direction),
    dataType: enumValue(BindingInfoDataType, dataType),
    properties: Object.fromEntries(Object.entries(properties ?? {}).map(([key, value]) => [key, String(value)])),
  };
}

function toRetryOptions(options: CoreRetryOptions): RpcRetryOptionsInit {
  const { maxRetryCount, delayInterval, minimumInterval, maximumInterval, retryStrategy } = options;
  return {
    maxRetryCount,
    delayInterval,
    minimumInterval,
    maximumInterval,
    retryStrategy:
      retryStrategy === 'fixedDelay'
        ? RpcRetryOptionsRetryStrategy.fixed_delay
        : RpcRetryOptionsRetryStrategy.exponential_backoff,
  };
}

/** A word that the protocol does not know becomes its default: the raw binding beside it has the word itself. */
function enumValue(values: Readonly<Record<string, number>>, word: string | null | undefined): number {
  return (word && Object.hasOwn(values, word) ? values[word] : undefined) ?? 0;
}

/** Bindings that the host sent, with words in place of numbers as programming models expect them. */
export function fromBindingInfos(bindings: Readonly<Record<string, BindingInfo>>): Record<string, CoreBinding> {
  return Object.fromEntries(
    Object.entries(bindings).map(([name, { type, direction, dataType, properties }]) => [
      name,
      {
        type,
        direction: enumWord(BindingInfoDirection, direction),
        dataType: enumWord(BindingInfoDataType, dataType),
        properties,
      },
    ]),
  );
}

function enumWord(values: Readonly<Record<string, number>>, value: number): string | undefined {
  return Object.keys(values).find((word) => values[word] === value);
}
