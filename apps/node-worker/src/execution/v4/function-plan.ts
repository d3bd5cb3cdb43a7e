import type { CoreBinding, CoreContextMetadata } from '../../loading/functions-core.js';

/** What is the same for every invocation of a function, computed once. */
export interface FunctionPlan {
  readonly functionName: string;
  readonly trigger: 'http' | 'timer' | 'other';
  readonly triggerName: string;
  /** Input bindings besides the trigger. */
  readonly inputNames: ReadonlySet<string>;
  /** Output bindings besides `$return`. */
  readonly outputNames: readonly string[];
  /** What the result of the handler is used for. */
  readonly returns: 'http' | 'value' | 'nothing';
  readonly bindings: Readonly<Record<string, CoreBinding>>;
}

/** Returns undefined for functions with bindings that only the library handles. */
export function planOf({ name, bindings }: CoreContextMetadata): FunctionPlan | undefined {
  const entries = Object.entries(bindings);
  const triggers = entries.filter(([, { type }]) => /trigger$/i.test(type ?? ''));
  const [trigger] = triggers;
  if (!trigger || triggers.length > 1 || entries.some(([, binding]) => isSpecial(binding))) return undefined;
  const [triggerName, { type }] = trigger;
  const others = entries.filter(([key]) => key !== triggerName && key !== '$return');
  const outputs = others.filter(([, { direction }]) => direction === 'out');
  if (outputs.some(([, binding]) => isHttp(binding))) return undefined;
  const kind = triggerKind(type ?? '');
  return {
    functionName: name,
    trigger: kind,
    triggerName,
    inputNames: new Set(others.filter(([, { direction }]) => direction === 'in').map(([key]) => key)),
    outputNames: outputs.map(([key]) => key),
    returns: returnKind(bindings['$return'], kind),
    bindings,
  };
}

function isSpecial({ type, direction }: CoreBinding): boolean {
  return /^mcp/i.test(type ?? '') || (direction !== 'in' && direction !== 'out');
}

function isHttp({ type }: CoreBinding): boolean {
  return type?.toLowerCase() === 'http';
}

function triggerKind(type: string): FunctionPlan['trigger'] {
  const lower = type.toLowerCase();
  if (lower === 'httptrigger') return 'http';
  return lower === 'timertrigger' ? 'timer' : 'other';
}

/** A result without a `$return` binding is sent too, unless the trigger is HTTP: durable functions depend on it. */
function returnKind(binding: CoreBinding | undefined, trigger: FunctionPlan['trigger']): FunctionPlan['returns'] {
  if (binding?.direction === 'out') return isHttp(binding) ? 'http' : 'value';
  return trigger === 'http' ? 'nothing' : 'value';
}
