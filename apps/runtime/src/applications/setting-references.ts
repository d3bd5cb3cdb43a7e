import type { Settings } from './settings.js';

/** A text with resolved references, or the name of a setting that is missing. */
type ResolvedText = { readonly text: string } | { readonly missing: string };

// A percent sign can also stand alone, as in "100%": a reference is a name without spaces between two of them.
const reference = /%([A-Za-z_][\w.:-]{0,255})%/g;

/** Returns the names of all settings that a text refers to. */
export function settingReferences(text: string): readonly string[] {
  return Array.from(text.matchAll(reference), ([, name = '']) => name);
}

/** Replaces every `%name%` with the value of that setting. */
export function resolveSettings(text: string, settings: Pick<Settings, 'get'>): ResolvedText {
  const missing = settingReferences(text).find((name) => settings.get(name) === undefined);
  if (missing !== undefined) return { missing };
  return { text: text.replaceAll(reference, (_, name: string) => settings.get(name) ?? '') };
}

/** Options that often contain literal percent signs: references to missing settings stay as they are. */
const lenient = new Set(['route', 'description', 'toolproperties', 'name', 'type']);

/** Resolves the references in the options of a binding. */
export function resolveOptions(
  options: Readonly<Record<string, unknown>>,
  settings: Pick<Settings, 'get'>,
): { readonly options: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  const resolved: [string, unknown][] = [];
  for (const [name, value] of Object.entries(options)) {
    if (typeof value !== 'string' || !value.includes('%')) {
      resolved.push([name, value]);
      continue;
    }
    const outcome = resolveSettings(value, settings);
    if ('text' in outcome) resolved.push([name, outcome.text]);
    else if (lenient.has(name.toLowerCase())) resolved.push([name, value]);
    else return { problem: `its ${name} "${value}" needs the setting ${outcome.missing}, which is not set` };
  }
  return { options: Object.fromEntries(resolved) };
}
