import { isJsonObject } from './json-text.js';

const prefix = /^AzureFunctionsJobHost(?:__|:)/i;
const maxDepth = 10;

/** host.json with overrides, and the variable behind each overridden path (in lower case). */
interface Overridden {
  readonly value: unknown;
  readonly variables: ReadonlyMap<string, string>;
}

/**
 * Applies overrides: `AzureFunctionsJobHost__a__b__c` replaces a.b.c. Names are case-insensitive, values stay strings, and list
 * elements are addressed by index, as in `…__functions__0`.
 */
export function overrideHostJson(
  value: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): Overridden {
  const variables = new Map<string, string>();
  let result = value;
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || !prefix.test(variable)) continue;
    const path = variable.replace(prefix, '').split(/__|:/);
    if (path.length > maxDepth || path.includes('')) continue;
    result = replaceAt(result, path, text);
    variables.set(path.join('.').toLowerCase(), variable);
  }
  return { value: result, variables };
}

function replaceAt(value: unknown, [first, ...rest]: readonly string[], text: string): unknown {
  if (first === undefined) return text;
  const current = Array.isArray(value) || isJsonObject(value) ? Object.entries(value) : [];
  const known = current.find(([name]) => name.toLowerCase() === first.toLowerCase());
  const name = known?.[0] ?? first;
  const kept = current.filter((entry) => entry !== known);
  // Object.fromEntries defines properties, so a part named __proto__ is a property like any other.
  return Object.fromEntries([...kept, [name, replaceAt(known?.[1], rest, text)]]);
}
