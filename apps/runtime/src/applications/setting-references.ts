import type { Settings } from './settings.js';

/** A text with its settings put in, or the name of one that is missing. */
type ResolvedText = { readonly text: string } | { readonly missing: string };

// A percent sign may also be just that, as in "100%": a reference has a name without blanks between two of them.
const reference = /%([A-Za-z_][\w.:-]{0,255})%/g;

/** Names of all settings that a text refers to. */
export function settingReferences(text: string): readonly string[] {
  return Array.from(text.matchAll(reference), ([, name = '']) => name);
}

/** Puts the value of a setting in place of every `%name%`. */
export function resolveSettings(text: string, settings: Pick<Settings, 'get'>): ResolvedText {
  const missing = settingReferences(text).find((name) => settings.get(name) === undefined);
  if (missing !== undefined) return { missing };
  return { text: text.replaceAll(reference, (_, name: string) => settings.get(name) ?? '') };
}

/** Options in which a percent sign is more likely the author's own: what no setting explains stays as it is. */
const lenient = new Set(['route', 'description', 'toolproperties', 'name', 'type']);

/** The options of a binding with their settings put in, or a sentence about what is missing. */
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
