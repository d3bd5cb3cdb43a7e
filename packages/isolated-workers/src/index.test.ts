import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const source = (file: URL): string => readFileSync(file, 'utf8');
const declaration = String.raw`export (?:abstract |async )?(?:class|const|function|interface|type)`;

/** The entry points that package.json lists, as files of this folder. */
function entryPoints(): URL[] {
  const { exports } = JSON.parse(source(new URL('../package.json', import.meta.url))) as {
    exports: Record<string, { types: string }>;
  };
  return Object.values(exports).map(
    ({ types }) => new URL(types.replace('./dist/', './').replace(/\.d\.ts$/, '.ts'), import.meta.url),
  );
}

/** What a file hands on from others: names, and where they are declared. */
function exportsOf(entry: URL): { readonly name: string; readonly text: string }[] {
  const from = (file: string): string => source(new URL(file.replace(/\.js$/, '.ts'), entry));
  const named = [...source(entry).matchAll(/^export (?:type )?\{([^}]+)\} from '([^']+)';$/gm)].flatMap(
    ([, names = '', file = '']) => names.split(',').map((name) => ({ name: name.trim(), text: from(file) })),
  );
  const whole = [...source(entry).matchAll(/^export type \* from '([^']+)';$/gm)].flatMap(([, file = '']) =>
    [...from(file).matchAll(new RegExp(`^${declaration} (\\w+)`, 'gm'))].map(([, name = '']) => ({
      name,
      text: from(file),
    })),
  );
  return [...named, ...whole].filter(({ name }) => name !== '');
}

it('every exported symbol has a doc sentence', () => {
  const exported = entryPoints().flatMap(exportsOf);
  expect(exported.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['createWorker', 'WorkerServer', 'CrashFacts', 'WorkerState', 'Driver', 'faultyDriver']),
  );
  const bare = exported.filter(({ name, text }) => !new RegExp(`\\*/\n${declaration} ${name}\\b`).test(text));
  expect(bare.map(({ name }) => name)).toEqual([]);
});
