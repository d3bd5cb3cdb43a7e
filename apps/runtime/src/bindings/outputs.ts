import type { InvocationResponse, TypedData } from '@drover/function-rpc';
import type { OutputMessage } from '@drover/trigger-sources';
import type { Checked } from '../applications/bindings.js';
import type { Binding, FunctionDefinition } from '../applications/function-definition.js';
import { isJsonObject } from '../applications/json-text.js';
import type { BindingData, ExpressionContext } from './binding-expressions.js';
import { compileOptions, evaluateOptions, type OptionTemplates } from './binding-options.js';
import { functionOutputInvalid, functionOutputUnsupported } from './errors.js';
import { toOutputMessages } from './output-messages.js';

/** The messages for one output binding. */
export interface OutputPlan {
  readonly binding: Binding;
  /** All options of the binding, with expressions evaluated. */
  readonly options: Readonly<Record<string, unknown>>;
  /** At least one. */
  readonly messages: readonly OutputMessage[];
}

/** The outputs of one function except its HTTP response, compiled once for all invocations. */
export interface OutputPlanner {
  /** True if the function has no such outputs. */
  readonly isEmpty: boolean;
  /** Throws BINDING_EXPRESSION_FAILED, FUNCTION_OUTPUT_INVALID, or FUNCTION_OUTPUT_UNSUPPORTED if such an output is set. Calls `data` only if an expression needs it. */
  plan(
    response: InvocationResponse,
    data: () => BindingData,
    context: Omit<ExpressionContext, 'functionName'>,
  ): readonly OutputPlan[];
}

interface Output {
  readonly binding: Binding;
  readonly templates: OptionTemplates;
  readonly isSupported: boolean;
  readonly isWhole: boolean;
}

/** Compiles the output bindings of a function. `unsupported`: its bindings that must not be used. */
export function compileOutputs(
  definition: FunctionDefinition,
  unsupported: readonly Binding[] = [],
  isWhole: (binding: Binding) => boolean = () => false,
): Checked<OutputPlanner> {
  const { outputs, returns, name: functionName } = definition;
  const compiled: Output[] = [];
  for (const binding of [...outputs, ...(returns ? [returns] : [])]) {
    if (isHttp(binding)) continue;
    const isSupported = !unsupported.includes(binding);
    const templates = isSupported ? compileOptions(binding) : { value: [] };
    if ('problem' in templates) return { problem: `binding "${binding.name}": ${templates.problem}` };
    compiled.push({ binding, templates: templates.value, isSupported, isWhole: isWhole(binding) });
  }
  return {
    value: {
      isEmpty: compiled.length === 0,
      plan: (response, data, context) => {
        const applied = returns ? undefined : returnedOutputs(response.returnValue);
        return compiled.flatMap(({ binding, templates, isSupported, isWhole: whole }) => {
          const messages = messagesOf(functionName, binding, valueOf(response, binding, applied), whole);
          if (messages.length === 0) return [];
          if (!isSupported)
            throw functionOutputUnsupported({ functionName, binding: binding.name, type: binding.type });
          const options = evaluateOptions(binding, templates, data, { ...context, functionName });
          return [{ binding, options, messages }];
        });
      },
    },
  };
}

/** Whether a function has outputs besides its HTTP response. */
export function hasOutputs({ outputs, returns }: Pick<FunctionDefinition, 'outputs' | 'returns'>): boolean {
  return outputs.some((binding) => !isHttp(binding)) || (returns !== undefined && !isHttp(returns));
}

export function isHttp({ type }: Binding): boolean {
  return type.toLowerCase() === 'http';
}

/** Returns the value of an output: set by name, returned, or a property of the returned object. */
export function valueOf(
  { outputData, returnValue }: InvocationResponse,
  { name }: Binding,
  applied: Readonly<Record<string, unknown>> | undefined,
): TypedData | undefined {
  if (name === '$return') return returnValue;
  const set = outputData.find((output) => output.name === name)?.data;
  if (set || !applied || !Object.hasOwn(applied, name)) return set;
  const value = applied[name];
  return typeof value === 'string' ? { string: value } : { json: JSON.stringify(value) };
}

/** Without a return binding, the properties of a returned JSON object set outputs by name. */
export function returnedOutputs(returned: TypedData | undefined): Readonly<Record<string, unknown>> | undefined {
  if (returned?.json === undefined) return undefined;
  try {
    const value = JSON.parse(returned.json) as unknown;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function messagesOf(
  functionName: string,
  binding: Binding,
  data: TypedData | undefined,
  isWhole: boolean,
): readonly OutputMessage[] {
  const converted = toOutputMessages(data, isWhole);
  if ('messages' in converted) return converted.messages;
  throw functionOutputInvalid({ functionName, binding: binding.name, reason: converted.problem });
}
