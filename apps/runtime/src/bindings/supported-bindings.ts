import type { Binding, FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';

/** The supported binding types in the spelling of Azure; apps write them in any case. */
export interface SupportedBindings {
  readonly triggers: ReadonlySet<string>;
  readonly outputs: ReadonlySet<string>;
}

/** Returns why a function uses an unsupported binding. It must not run, since the binding would silently do nothing. */
export function findUnsupported(
  { name, trigger, inputs, outputs, returns, metadata }: FunctionDefinition,
  supported: SupportedBindings,
): FunctionProblem | undefined {
  const output = [...outputs, ...(returns ? [returns] : [])].find((binding) => !has(supported.outputs, binding));
  const [input] = inputs;
  const problem = !has(supported.triggers, trigger)
    ? `trigger type ${trigger.type} is not supported; supported are ${list(supported.triggers)}`
    : input
      ? `input binding type ${input.type} is not supported`
      : output && `output binding type ${output.type} is not supported; supported are ${list(supported.outputs)}`;
  return problem === undefined ? undefined : { functionName: name, file: metadata.scriptFile || undefined, problem };
}

function has(types: ReadonlySet<string>, { type }: Binding): boolean {
  const folded = type.toLowerCase();
  return [...types].some((one) => one.toLowerCase() === folded);
}

function list(types: ReadonlySet<string>): string {
  return [...types].toSorted().join(', ');
}
