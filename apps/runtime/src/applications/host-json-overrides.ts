import { isJsonObject } from './json-text.js';

const prefix = /^AzureFunctionsJobHost(?:__|:)/i;
const maxDepth = 10;

/** host.json as the environment changes it, and which variable is behind which place (in lower case). */
interface Overridden {
  readonly value: unknown;
  readonly variables: ReadonlyMap<string, string>;
}

/**
 * `AzureFunctionsJobHost__a__b__c` replaces a.b.c. Names are found without regard to case; the values stay text. A list is
 * changed by its indexes, as `…__functions__0`.
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
  // Object.fromEntries defines properties, so that even a part named __proto__ is only a name.
  return Object.fromEntries([...kept, [name, replaceAt(known?.[1], rest, text)]]);
}
