import { SystemError } from '../loading/system-errors.js';
import type { Invocation } from './invocation.js';

/** `context.extraInputs` of the v4 model. */
interface NamedInputs {
  get(binding: unknown): unknown;
  set(binding: unknown, value: unknown): void;
}

/**
 * Makes inputs that the host did not send throw when the function reads them: a host sends every input whose type it supports,
 * and undefined in place of the others would fail somewhere else, without a reason. Values that a hook sets are readable.
 */
export function guardMissingInputs(context: unknown, { loaded, request, metadata }: Invocation): void {
  const missing = new Set(loaded.inputNames);
  for (const { name } of request.inputData) missing.delete(name);
  if (missing.size === 0 || typeof context !== 'object' || context === null) return;
  const refuse = (name: string): never => {
    const type = String(metadata.bindings[name]?.type);
    throw new SystemError(
      `The input "${name}" has the type ${type}, which the host does not support, so it has no value.`,
    );
  };
  if ('extraInputs' in context) guardNamed(context.extraInputs as NamedInputs, missing, refuse);
  else if ('bindings' in context) guardProperties(context.bindings as object, missing, refuse);
}

function guardNamed(inputs: NamedInputs, missing: Set<string>, refuse: (name: string) => never): void {
  const nameOf = (binding: unknown): string =>
    typeof binding === 'object' && binding !== null && 'name' in binding ? String(binding.name) : String(binding);
  const get = inputs.get.bind(inputs);
  const set = inputs.set.bind(inputs);
  const guarded: NamedInputs = {
    get(binding) {
      const name = nameOf(binding);
      return missing.has(name) ? refuse(name) : get(binding);
    },
    set(binding, value) {
      missing.delete(nameOf(binding));
      set(binding, value);
    },
  };
  for (const [name, value] of Object.entries(guarded)) Object.defineProperty(inputs, name, { value });
}

function guardProperties(bindings: object, missing: Set<string>, refuse: (name: string) => never): void {
  for (const name of missing)
    Object.defineProperty(bindings, name, {
      get: () => refuse(name),
      set(value: unknown) {
        Object.defineProperty(bindings, name, { value, writable: true, enumerable: true });
      },
      configurable: true,
    });
}
