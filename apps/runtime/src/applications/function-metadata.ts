import type { RpcFunctionMetadata } from '@drover/function-rpc';
import { resolveOptions } from './setting-references.js';
import { isTrigger, readBindings, returnName, type Checked } from './bindings.js';
import type { Binding, FunctionDefinition, FunctionProblem, RetryPolicy } from './function-definition.js';
import { fromRpcRetryOptions } from './retry-options.js';
import type { Settings } from './settings.js';

/** A function as the app declares it, in code or in a function.json. */
export interface DeclaredFunction {
  readonly metadata: RpcFunctionMetadata;
  /** File of the declaration, for problems. */
  readonly file: string | undefined;
  /** function.json only: whether it is disabled, or the name of the setting that disables it. */
  readonly disabled?: boolean | string | undefined;
}

export interface MetadataContext {
  readonly settings: Settings;
  /** Retry policy of host.json, for functions without their own. */
  readonly retry: RetryPolicy | undefined;
  /** `functions` of host.json: only these run. */
  readonly only: readonly string[] | undefined;
}

export interface Functions {
  readonly functions: readonly FunctionDefinition[];
  readonly problems: readonly FunctionProblem[];
}

const namePattern = /^[a-z][a-z0-9_-]{0,127}$/i;

/** Checks the declared functions. An invalid function becomes a problem; the others run. */
export function toFunctionDefinitions(declared: readonly DeclaredFunction[], context: MetadataContext): Functions {
  const functions = new Map<string, FunctionDefinition>();
  const problems: FunctionProblem[] = [];
  const only = context.only && new Set(context.only.map((name) => name.toLowerCase()));
  for (const declaration of declared) {
    const { name } = declaration.metadata;
    if (only && only.size > 0 && !only.has(name.toLowerCase())) continue;
    const first = functions.get(name.toLowerCase());
    const checked: Checked<FunctionDefinition> = first
      ? { problem: `another function has the same name, "${first.name}": names are case-insensitive` }
      : toFunctionDefinition(declaration, context);
    if ('value' in checked) functions.set(name.toLowerCase(), checked.value);
    else problems.push({ functionName: name, file: fileOf(declaration), problem: checked.problem });
  }
  return { functions: [...functions.values()], problems };
}

function toFunctionDefinition(declaration: DeclaredFunction, context: MetadataContext): Checked<FunctionDefinition> {
  const { metadata } = declaration;
  const { name } = metadata;
  if (!namePattern.test(name) || name.toLowerCase() === 'host')
    return { problem: `its name is invalid: use a letter and up to 127 letters, digits, "_" or "-", and not "host"` };
  if (metadata.status?.exception) return { problem: `the worker rejected it: ${metadata.status.exception.message}` };
  const read = readBindings(metadata);
  if ('problem' in read) return read;
  const resolved = resolveBindings(read.value, context.settings);
  if ('problem' in resolved) return resolved;
  const bindings = resolved.value;
  const [trigger, second] = bindings.filter(isTrigger);
  if (!trigger) return { problem: bindings.length === 0 ? 'it has no bindings' : 'it has no trigger' };
  if (second) return { problem: `it has two triggers, "${trigger.name}" and "${second.name}"; a function has one` };
  const retry = readRetry(metadata, context.retry);
  if ('problem' in retry) return retry;
  return {
    value: {
      id: metadata.functionId || name,
      name,
      trigger,
      inputs: bindings.filter((binding) => binding.direction !== 'out' && binding !== trigger),
      outputs: bindings.filter((binding) => binding.direction !== 'in' && binding.name !== returnName),
      returns: bindings.find((binding) => binding.name === returnName),
      retry: retry.value,
      isDisabled: isDisabled(declaration, context.settings),
      metadata: metadata.functionId ? metadata : { ...metadata, functionId: name },
    },
  };
}

function resolveBindings(bindings: readonly Binding[], settings: Settings): Checked<readonly Binding[]> {
  const resolved: Binding[] = [];
  for (const binding of bindings) {
    const outcome = resolveOptions(binding.options, settings);
    if ('problem' in outcome) return { problem: `binding "${binding.name}": ${outcome.problem}` };
    resolved.push({ ...binding, options: outcome.options });
  }
  return { value: resolved };
}

function readRetry(
  { retryOptions }: RpcFunctionMetadata,
  fallback: RetryPolicy | undefined,
): Checked<RetryPolicy | undefined> {
  if (!retryOptions) return { value: fallback };
  const read = fromRpcRetryOptions(retryOptions);
  return 'policy' in read ? { value: read.policy } : read;
}

function isDisabled({ metadata: { name }, disabled }: DeclaredFunction, settings: Settings): boolean {
  // The dotted name takes precedence: if it is false, neither the other spelling nor the file disables the function.
  const said = [`AzureWebJobs.${name}.Disabled`, `AzureWebJobs_${name}_Disabled`].find(
    (setting) => settings.get(setting) !== undefined,
  );
  if (said !== undefined) return settings.isOn(said);
  if (typeof disabled === 'string') return settings.isOn(disabled.replaceAll('%', ''));
  return disabled === true;
}

function fileOf({ file, metadata: { directory, scriptFile } }: DeclaredFunction): string | undefined {
  if (file !== undefined) return file;
  if (scriptFile === '' || scriptFile === 'unknown') return undefined;
  return scriptFile.includes('/') || directory === '' ? scriptFile : `${directory}/${scriptFile}`;
}
