import { defineCommand, type Command } from '../command-line/command.js';
import { numberOption, switchOption } from '../command-line/option.js';
import { changeOptions, clientNotes, clientOptions } from './client-options.js';

const yes = switchOption('yes', 'Do not ask.');
const fileNotes = [
  'A file is YAML or JSON and has one definition, a list of definitions, or several YAML documents.',
  'An object with "collections" and "picklists", both lists, defines picklists too.',
  'docs/collections.md describes definitions.',
];

/** Commands that define collections. */
export function collectionCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./collections.js');
  return [
    defineCommand('collections list', {
      summary: 'List the collections of your tenant.',
      options: clientOptions,
      notes: clientNotes,
      run: async (flags) => (await load()).listCollections(flags, host),
    }),
    defineCommand('collections show', {
      summary: 'Print the definition of a collection as YAML, ready to be edited and applied.',
      arguments: ['collection'],
      options: {
        version: numberOption('version', 'An earlier version.', { min: 1, max: 999_999_999 }),
        ...clientOptions,
      },
      notes: ['Example: drover collections show orders > orders.yaml', ...clientNotes],
      run: async (flags, [name = '']) => (await load()).showCollection(name, flags, host),
    }),
    defineCommand('collections versions', {
      summary: 'List the versions of a definition with time and author.',
      arguments: ['collection'],
      options: clientOptions,
      notes: clientNotes,
      run: async (flags, [name = '']) => (await load()).listVersions(name, flags, host),
    }),
    defineCommand('collections plan', {
      summary: 'Show what applying files with definitions would do.',
      arguments: ['file', 'more*'],
      options: clientOptions,
      notes: [...fileNotes, ...clientNotes],
      run: async (flags, files) => (await load()).planCollections(files, flags, host),
    }),
    defineCommand('collections apply', {
      summary: 'Create or change the collections that files define, after showing the plan.',
      arguments: ['file', 'more*'],
      options: { yes, ...changeOptions },
      notes: ['Collections that the files do not name stay as they are.', ...fileNotes, ...clientNotes],
      run: async (flags, files) => (await load()).applyCollections(files, flags, host),
    }),
    defineCommand('collections delete', {
      summary: 'Delete a collection with all of its records.',
      arguments: ['collection'],
      options: { yes, ...changeOptions },
      notes: clientNotes,
      run: async (flags, [name = '']) => (await load()).deleteCollection(name, flags, host),
    }),
    defineCommand('collections client', {
      summary: 'Print a typed TypeScript client for the records of all collections.',
      options: { dataDir: clientOptions.dataDir },
      notes: ['Example: drover collections client > records.ts', ...clientNotes],
      run: async (flags) => (await load()).writeClient(flags, host),
    }),
  ];
}
