import type { Checked } from '../applications/bindings.js';
import type { Binding, FunctionDefinition } from '../applications/function-definition.js';
import type { BindingData, ExpressionContext } from './binding-expressions.js';
import { compileOptions, evaluateOptions, type OptionTemplates } from './binding-options.js';

/** An input binding with its expressions evaluated. */
export interface InputPlan {
  readonly binding: Binding;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The inputs of one function besides its trigger, compiled once for all invocations. */
export interface InputPlanner {
  readonly isEmpty: boolean;
  /** Throws BINDING_EXPRESSION_FAILED. Calls `data` only if an expression needs it. */
  plan(data: () => BindingData, context: Omit<ExpressionContext, 'functionName'>): readonly InputPlan[];
}

/** Compiles the input bindings of a function. Those in `unsupported` have no value. */
export function compileInputs(
  { inputs, name: functionName }: FunctionDefinition,
  unsupported: readonly Binding[] = [],
): Checked<InputPlanner> {
  const compiled: { readonly binding: Binding; readonly templates: OptionTemplates }[] = [];
  for (const binding of inputs) {
    if (unsupported.includes(binding)) continue;
    const templates = compileOptions(binding);
    if ('problem' in templates) return { problem: `binding "${binding.name}": ${templates.problem}` };
    compiled.push({ binding, templates: templates.value });
  }
  return {
    value: {
      isEmpty: compiled.length === 0,
      plan: (data, context) =>
        compiled.map(({ binding, templates }) => ({
          binding,
          options: evaluateOptions(binding, templates, data, { ...context, functionName }),
        })),
    },
  };
}
