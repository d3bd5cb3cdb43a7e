import type { Checked } from '../applications/bindings.js';
import type { Binding } from '../applications/function-definition.js';
import {
  compileTemplate,
  evaluateTemplate,
  isConstant,
  type BindingData,
  type BindingTemplate,
  type ExpressionContext,
} from './binding-expressions.js';
import { bindingExpressionFailed } from './errors.js';
import { encodeFilterValue } from './filter-values.js';

/** The options of an input or output whose values have expressions, such as `{queueTrigger}`. */
export type OptionTemplates = readonly (readonly [string, BindingTemplate])[];

export function compileOptions(binding: Binding): Checked<OptionTemplates> {
  const templates: [string, BindingTemplate][] = [];
  for (const [option, value] of Object.entries(binding.options)) {
    if (typeof value !== 'string' || !/[{}]/.test(value)) continue;
    const compiled = compileTemplate(value);
    if ('problem' in compiled) return { problem: `its ${option} ${compiled.problem}` };
    templates.push([option, compiled.template]);
  }
  return { value: templates };
}

/** Returns all options of a binding with their values. Throws BINDING_EXPRESSION_FAILED. Calls `data` only if an expression needs it. */
export function evaluateOptions(
  binding: Binding,
  templates: OptionTemplates,
  data: () => BindingData,
  context: ExpressionContext,
): Readonly<Record<string, unknown>> {
  if (templates.length === 0) return binding.options;
  const evaluated = templates.map(([option, template]) => {
    const encode = isFilter(binding, option) ? encodeFilterValue : undefined;
    const outcome = evaluateTemplate(template, isConstant(template) ? () => ({}) : data, context, encode);
    if ('text' in outcome) return [option, outcome.text];
    throw bindingExpressionFailed({
      functionName: context.functionName,
      binding: binding.name,
      expression: outcome.failed.text,
      reason: outcome.reason,
    });
  });
  return { ...binding.options, ...(Object.fromEntries(evaluated) as Record<string, string>) }; // pairs, built above
}

function isFilter({ type }: Binding, option: string): boolean {
  return type.toLowerCase() === 'table' && option.toLowerCase() === 'filter';
}
