import type { Binding, FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import { shownTriggerType } from '../applications/trigger-types.js';
import { adviceFor } from './unsupported-advice.js';

/** The supported binding types in the spelling of Azure; apps write them in any case. */
export interface SupportedBindings {
  readonly triggers: ReadonlySet<string>;
  readonly inputs: ReadonlySet<string>;
  readonly outputs: ReadonlySet<string>;
  /** Outputs that take a JSON array as one value. */
  readonly wholeOutputs: ReadonlySet<string>;
}

/**
 * Returns why a function must not run. An unsupported trigger never fires. A function with an HTTP trigger runs whatever its
 * other bindings are, and fails when it uses one that is not supported. A function with another trigger does not: it would
 * fail for each of its messages, which are safe in their source until it runs.
 */
export function findUnsupported(
  definition: FunctionDefinition,
  supported: SupportedBindings,
): FunctionProblem | undefined {
  const { name, trigger, metadata } = definition;
  const [first] = hasHttpTrigger(definition) ? [] : unsupportedBindings(definition, supported);
  const problem = has(supported.triggers, trigger)
    ? first && describeUnsupported(first, supported)
    : `trigger type ${shownTriggerType(trigger.type)} is not supported; supported are ${list(supported.triggers)}. ${adviceFor(trigger.type)}`;
  return problem === undefined ? undefined : { functionName: name, file: metadata.scriptFile || undefined, problem };
}

/** Returns the inputs and outputs of a function that are not supported. */
export function unsupportedBindings(
  { inputs, outputs, returns }: FunctionDefinition,
  supported: SupportedBindings,
): readonly Binding[] {
  const read = inputs.filter((binding) => !has(supported.inputs, binding));
  const written = [...outputs, ...(returns ? [returns] : [])].filter((binding) => !has(supported.outputs, binding));
  return [...new Set([...read, ...written])];
}

export function takesWhole(binding: Binding, { wholeOutputs }: SupportedBindings): boolean {
  return has(wholeOutputs, binding);
}

/** For the author of the app. */
export function describeUnsupported(
  { name, type, direction }: Binding,
  { inputs, outputs }: SupportedBindings,
): string {
  return direction === 'out'
    ? `output binding "${name}" has the type ${type}, which is not supported; supported are ${list(outputs)}. ${adviceFor(type)}`
    : `input binding "${name}" has the type ${type}, which is not supported; supported are ${list(inputs) || 'none'}. ${adviceFor(type)}`;
}

function hasHttpTrigger({ trigger }: FunctionDefinition): boolean {
  return trigger.type.toLowerCase() === 'httptrigger';
}

function has(types: ReadonlySet<string>, { type }: Binding): boolean {
  const folded = type.toLowerCase();
  return [...types].some((one) => one.toLowerCase() === folded);
}

function list(types: ReadonlySet<string>): string {
  return [...types].toSorted().join(', ');
}
