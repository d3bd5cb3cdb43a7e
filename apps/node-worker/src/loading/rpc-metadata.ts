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

/** Describes a registered function to the host. `file` is the entry point that was being loaded. */
export function toRpcMetadata(metadata: CoreFunctionMetadata, file: string | undefined): RpcFunctionMetadataInit {
  const { name, functionId, bindings, retryOptions } = metadata;
  return {
    name,
    functionId: functionId || name,
    // Hosts require a script file. A function that was registered outside the loading of a file has none.
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

/** Maps an unknown name to the default of the enumeration. The raw binding still has the name. */
function enumValue(values: Readonly<Record<string, number>>, name: string | null | undefined): number {
  return (name && Object.hasOwn(values, name) ? values[name] : undefined) ?? 0;
}

/** Converts bindings from the host: programming models expect names in place of numbers. */
export function fromBindingInfos(bindings: Readonly<Record<string, BindingInfo>>): Record<string, CoreBinding> {
  return Object.fromEntries(
    Object.entries(bindings).map(([name, { type, direction, dataType, properties }]) => [
      name,
      {
        type,
        direction: enumName(BindingInfoDirection, direction),
        dataType: enumName(BindingInfoDataType, dataType),
        properties,
      },
    ]),
  );
}

function enumName(values: Readonly<Record<string, number>>, value: number): string | undefined {
  return Object.keys(values).find((name) => values[name] === value);
}
