import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readJson, root } from '../architecture/workspace.js';

/** One exported declaration. */
interface ApiEntry {
  readonly name: string;
  readonly kind: 'function' | 'value' | 'class' | 'type';
  readonly doc: string;
  readonly code: string;
}

const headings = { function: 'Functions', value: 'Values', class: 'Errors and classes', type: 'Types' } as const;
const kinds = ['function', 'value', 'class', 'type'] as const;

/** Returns the reference of a package, made from the declarations that the compiler writes: one section for each entry point. */
export function apiPage(folder: string): string[] {
  const manifest = readJson<{ name: string; exports: Record<string, { types: string }> }>(`${folder}/package.json`);
  const seen = new Map<string, string>();
  return Object.entries(manifest.exports).flatMap(([entry, { types }]) => {
    const name = path.posix.join(manifest.name, entry);
    const exported = exportsOf(path.join(root, folder, types)).toSorted((one, other) =>
      one.name < other.name ? -1 : 1,
    );
    const known = exported.filter((item) => seen.get(item.name) === item.code);
    const fresh = exported.filter((item) => seen.get(item.name) !== item.code);
    for (const item of fresh) seen.set(item.name, item.code);
    const again = known.map((item) => `\`${item.name}\``).join(', ');
    return [
      `## \`${name}\``,
      ...kinds.flatMap((kind) =>
        section(
          headings[kind],
          fresh.filter((item) => item.kind === kind),
        ),
      ),
      ...(again === '' ? [] : [`${fresh.length > 0 ? 'Also' : 'Exports'}, as above: ${again}.`]),
    ];
  });
}

function section(heading: string, items: readonly ApiEntry[]): string[] {
  if (items.length === 0) return [];
  return [`### ${heading}`, ...items.flatMap(({ name, doc, code }) => [`#### ${name}`, doc, fenced(code)])];
}

const fenced = (code: string): string => `\`\`\`ts\n${code}\n\`\`\``;

/** Follows the re-exports of an entry point to the declarations. */
function exportsOf(file: string): ApiEntry[] {
  const text = readFileSync(file, 'utf8');
  const target = (from: string): ApiEntry[] =>
    declarationsIn(readFileSync(path.join(path.dirname(file), from.replace(/\.js$/, '.d.ts')), 'utf8'));
  const named = [...text.matchAll(/^export (?:type )?\{([^}]+)\} from '([^']+)';$/gm)].flatMap(
    ([, names = '', from = '']) => {
      const all = target(from);
      return (names.match(/\w+/g) ?? []).map((part) => {
        const found = all.find(({ name }) => name === part);
        if (!found) throw new Error(`${file} exports '${part}', which ${from} does not declare`);
        return found;
      });
    },
  );
  const whole = [...text.matchAll(/^export type \* from '([^']+)';$/gm)].flatMap(([, from = '']) => target(from));
  return [...named, ...whole];
}

/** Splits a declaration file into its exported declarations. */
export function declarationsIn(text: string): ApiEntry[] {
  const found: ApiEntry[] = [];
  let doc: string[] = [];
  let code: string[] = [];
  let inDoc = false;
  for (const line of text.split('\n')) {
    if (code.length === 0 && (inDoc || line.startsWith('/**'))) {
      doc = inDoc ? [...doc, line] : [line];
      inDoc = !line.trimEnd().endsWith('*/');
      continue;
    }
    if (code.length === 0 && line.trim() === '') continue;
    code.push(line);
    if (!isComplete(code.join('\n'))) continue;
    const entry = entryOf(doc.join('\n'), code.join('\n'));
    if (entry) found.push(entry);
    doc = [];
    code = [];
  }
  return found;
}

/** True when all brackets are closed and the last line ends a declaration. Comments and strings may have any bracket. */
function isComplete(code: string): boolean {
  const bare = code
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/'[^'\n]*'|"[^"\n]*"/g, '')
    .replaceAll(/\/\/.*$/gm, '');
  const open = (bare.match(/[({[]/g) ?? []).length;
  const closed = (bare.match(/[)}\]]/g) ?? []).length;
  return open === closed && /[;}]\s*$/.test(bare) && !bare.includes('/*');
}

function entryOf(comment: string, declared: string): ApiEntry | undefined {
  const [, keyword = '', name = ''] =
    /^export (?:declare )?(?:abstract )?(function|const|class|interface|type) (\w+)/.exec(declared) ?? [];
  if (name === '') return undefined;
  const code = declared
    .replace(/^export (?:declare )?/, '')
    .replaceAll(/^ +#private;\n/gm, '')
    .replaceAll(/^ +/gm, (indent) => ' '.repeat(Math.floor(indent.length / 2) + (indent.length % 2)));
  const doc = comment
    .replace(/^\/\*\*\s*/, '')
    .replace(/\s*\*\/$/, '')
    .replaceAll(/^ ?\* ?/gm, '')
    .trim();
  const kind = keyword === 'const' ? 'value' : keyword === 'function' || keyword === 'class' ? keyword : 'type';
  return { name, kind, doc, code };
}
