import path from 'node:path';
import type { RpcFunctionMetadata, RpcRetryOptions } from '@drover/function-rpc';
import { BindingInfoDataType, BindingInfoDirection, RpcRetryOptionsRetryStrategy } from '@drover/function-rpc';
import type { Checked } from './bindings.js';
import type { RetryPolicy } from './function-definition.js';
import type { DeclaredFunction } from './function-metadata.js';
import { isJsonObject, parseJsonText } from './json-text.js';
import { parseRetryOptions } from './retry-options.js';

/** A function folder of an app with function.json files. */
interface FunctionFolder {
  readonly name: string;
  /** Absolute. */
  readonly directory: string;
  /** Text of function.json. */
  readonly text: string;
  /** Names of the other files in the folder. */
  readonly files: readonly string[];
}

/** Reads a function.json. The value is undefined if the file excludes the function. */
export function readFunctionJson(
  folder: FunctionFolder,
  app: { readonly directory: string; readonly exists: (file: string) => boolean },
): Checked<DeclaredFunction | undefined> {
  const parsed = parseJsonText(folder.text);
  if ('problem' in parsed) return parsed;
  const { value } = parsed;
  if (!isJsonObject(value)) return { problem: 'must be an object' };
  if (value['excluded'] === true) return { value: undefined };
  const {
    bindings,
    entryPoint = '',
    disabled,
  } = value as { bindings?: unknown; entryPoint?: unknown; disabled?: unknown };
  if (!Array.isArray(bindings)) return { problem: 'has no list of bindings' };
  if (typeof entryPoint !== 'string') return { problem: 'its entryPoint must be a string' };
  const script = findScript(value['scriptFile'], folder, app);
  if ('problem' in script) return script;
  const retry = value['retry'] === undefined ? undefined : parseRetryOptions(value['retry']);
  if (retry && 'problem' in retry) return { problem: retry.problem };
  const metadata: RpcFunctionMetadata = {
    name: folder.name,
    functionId: folder.name,
    directory: folder.directory,
    scriptFile: script.value,
    entryPoint,
    bindings: describe(bindings),
    rawBindings: bindings.map((binding) => JSON.stringify(binding)),
    isProxy: false,
    language: '',
    managedDependencyEnabled: false,
    properties: {},
    ...(retry && { retryOptions: toRpc(retry.policy) }),
  };
  const isGood = typeof disabled === 'boolean' || typeof disabled === 'string' || disabled === undefined;
  if (!isGood) return { problem: 'its "disabled" must be true, false or the name of a setting' };
  return { value: { metadata, file: path.join(folder.name, 'function.json'), disabled } };
}

const usualScripts = /^(?:run\..+|index\.[cm]?js|__init__\.py)$/i;

/** Finds the absolute path of the script: the named one, the only one, or one with a conventional name. */
function findScript(
  named: unknown,
  { directory, files }: FunctionFolder,
  app: { readonly directory: string; readonly exists: (file: string) => boolean },
): Checked<string> {
  if (named !== undefined && named !== null && named !== '') {
    if (typeof named !== 'string') return { problem: 'its scriptFile must be a string' };
    const script = path.resolve(directory, named);
    if (!script.startsWith(app.directory + path.sep))
      return { problem: `its scriptFile "${named}" is outside of the app` };
    return app.exists(script) ? { value: script } : { problem: `its scriptFile "${named}" does not exist` };
  }
  const only = files.length === 1 ? files[0] : files.find((file) => usualScripts.test(file));
  return only === undefined
    ? { problem: 'has no script in its folder; name one in "scriptFile", or call it index.js' }
    : { value: path.join(directory, only) };
}

/** The short form of bindings that workers get at load. Invalid ones are reported by `readBindings`. */
function describe(bindings: readonly unknown[]): RpcFunctionMetadata['bindings'] {
  const entries = bindings.filter(isJsonObject).map(({ name, type, direction, dataType }) => [
    String(name),
    {
      type: String(type),
      direction: lookUp(BindingInfoDirection, direction),
      dataType: lookUp(BindingInfoDataType, dataType),
      properties: {},
    },
  ]);
  return Object.fromEntries(entries) as RpcFunctionMetadata['bindings']; // built above
}

function lookUp(values: Readonly<Record<string, number>>, name: unknown): number {
  const key = typeof name === 'string' ? name.toLowerCase() : '';
  return Object.hasOwn(values, key) ? (values[key] ?? 0) : 0;
}

function toRpc(policy: RetryPolicy): RpcRetryOptions {
  const span = (ms: number) => ({ seconds: Math.floor(ms / 1_000), nanos: Math.round((ms % 1_000) * 1_000_000) });
  return policy.strategy === 'fixedDelay'
    ? {
        maxRetryCount: policy.maxRetries,
        retryStrategy: RpcRetryOptionsRetryStrategy.fixed_delay,
        delayInterval: span(policy.delayMs),
      }
    : {
        maxRetryCount: policy.maxRetries,
        retryStrategy: RpcRetryOptionsRetryStrategy.exponential_backoff,
        minimumInterval: span(policy.minimumMs),
        maximumInterval: span(policy.maximumMs),
      };
}
