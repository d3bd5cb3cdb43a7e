import { createHash } from 'node:crypto';
import { settingReferences } from './setting-references.js';
import type { Binding, FunctionDefinition } from './function-definition.js';
import type { Settings } from './settings.js';

interface MetadataFacts {
  readonly functions: readonly FunctionDefinition[];
  /** With overrides. */
  readonly rawHostJson: unknown;
  readonly settings: Settings;
}

/** Hexadecimal digits of the hash that make a version. */
const digits = 16;

/**
 * Hashes everything that requires a new job host when it changes: triggers, bindings, retries, disabled functions, host.json and
 * the settings that bindings refer to. The order of functions, the code, its directory and other settings do not matter.
 */
export function metadataVersion({ functions, rawHostJson, settings }: MetadataFacts): string {
  const described = functions
    .map(({ name, trigger, inputs, outputs, returns, retry, isDisabled }) => ({
      name,
      bindings: [trigger, ...inputs, ...outputs, ...(returns ? [returns] : [])].map((binding) => binding.options),
      retry,
      isDisabled,
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const connections = referredSettings(functions, settings);
  return `m${hash(canonical([described, rawHostJson ?? null, connections]))}`;
}

/** Bindings name their connections; each is a setting or a section of settings. */
function referredSettings(
  functions: readonly FunctionDefinition[],
  settings: Settings,
): Readonly<Record<string, unknown>> {
  const names = functions.flatMap(({ trigger, inputs, outputs, returns }) =>
    [trigger, ...inputs, ...outputs, ...(returns ? [returns] : [])].flatMap(connectionNames),
  );
  // Apps write `connection: 'Storage'` for the setting AzureWebJobsStorage.
  const values = [...new Set(names)]
    .toSorted()
    .flatMap((name) => [name, `AzureWebJobs${name}`])
    .map((name) => [name, settings.get(name), settings.section(name)]);
  return Object.fromEntries(values.map(([name, ...value]) => [name, value])) as Record<string, unknown>; // just built
}

function connectionNames({ options }: Binding): readonly string[] {
  return Object.entries(options).flatMap(([option, value]) => {
    if (typeof value !== 'string') return [];
    return option.toLowerCase().startsWith('connection') ? [value] : settingReferences(value);
  });
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
