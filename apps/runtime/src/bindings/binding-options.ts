import type { Checked } from '../applications/bindings.js';
import type { Binding } from '../applications/function-definition.js';
import {
  compileTemplate,
  evaluateTemplate,
  isConstant,
  type BindingData,
  type BindingTemplate,
  type EncodeValue,
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
    const encode = encodingOf(binding, option);
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

/** Values of options with a syntax of their own are encoded: data of a caller must not change what they mean. */
function encodingOf({ type }: Binding, option: string): EncodeValue | undefined {
  const place = `${type} ${option}`.toLowerCase();
  if (place === 'table filter') return encodeFilterValue;
  return place === 'collection query' ? (value) => ({ text: encodeURIComponent(value) }) : undefined;
}
