import type { RpcFunctionMetadata } from '@drover/function-rpc';
import type { Binding } from './function-definition.js';
import { isJsonObject } from './json-text.js';

/** A value, or the problem that prevents it, worded for the author of the app. */
export type Checked<Value> = { readonly value: Value } | { readonly problem: string };

const namePattern = /^[A-Za-z][A-Za-z0-9]{0,127}$/;
const directions = ['in', 'out', 'inout'] as const;
const dataTypes = ['string', 'binary', 'stream'] as const;

export const returnName = '$return';

export function isTrigger({ type }: Binding): boolean {
  return type.toLowerCase().endsWith('trigger');
}

/** Reads all bindings of a function. Each must be valid, and names must be unique. */
export function readBindings(metadata: RpcFunctionMetadata): Checked<readonly Binding[]> {
  const raw = metadata.rawBindings.length > 0 ? metadata.rawBindings : describedBindings(metadata);
  const bindings: Binding[] = [];
  for (const text of raw) {
    const read = readBinding(text);
    if ('problem' in read) return read;
    const { name } = read.value;
    // The official host compares exactly, but names that differ only in case collide in most languages.
    if (bindings.some((other) => other.name.toLowerCase() === name.toLowerCase()))
      return { problem: `it has two bindings named "${name}"` };
    bindings.push(read.value);
  }
  return { value: bindings };
}

/** Reads one binding from its JSON. */
function readBinding(text: string): Checked<Binding> {
  let options: unknown;
  try {
    options = JSON.parse(text);
  } catch {
    return { problem: `a binding is not valid JSON: ${text.slice(0, 100)}` };
  }
  if (!isJsonObject(options)) return { problem: `a binding is not a JSON object: ${text.slice(0, 100)}` };
  const { name, type, direction, dataType } = options as Partial<Record<keyof Binding, unknown>>;
  if (typeof type !== 'string' || type === '') return { problem: `the binding "${String(name)}" has no type` };
  if (typeof name !== 'string' || !(namePattern.test(name) || name === returnName))
    return {
      problem: `the ${type} binding has the name ${JSON.stringify(name)}; a name is a letter and up to 127 letters or digits, or "${returnName}"`,
    };
  const found = oneOf(directions, direction ?? 'in');
  if (found === undefined) return { problem: `the binding "${name}" has the direction ${JSON.stringify(direction)}` };
  if (name === returnName && found !== 'out')
    return { problem: `the binding "${returnName}" must have the direction "out"` };
  if (type.toLowerCase().endsWith('trigger') && found !== 'in')
    return { problem: `its trigger "${name}" must have the direction "in"` };
  const kind = dataType === undefined || dataType === null || dataType === '' ? undefined : oneOf(dataTypes, dataType);
  if (kind === undefined && typeof dataType === 'string' && !['', 'undefined'].includes(dataType.toLowerCase()))
    return {
      problem: `the binding "${name}" has the dataType "${dataType}"; there are "string", "binary" and "stream"`,
    };
  return { value: { name, type, direction: found, dataType: kind, options } };
}

/** Rebuilds raw bindings from the bindings map, for workers that send no raw ones. */
function describedBindings({ bindings }: RpcFunctionMetadata): string[] {
  return Object.entries(bindings).map(([name, { type, direction, dataType }]) =>
    JSON.stringify({ name, type, direction: directions[direction], dataType: dataTypes[dataType - 1] }),
  );
}

function oneOf<Value extends string>(values: readonly Value[], given: unknown): Value | undefined {
  return values.find((value) => typeof given === 'string' && given.toLowerCase() === value);
}
