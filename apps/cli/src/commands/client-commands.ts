import { defineCommand, type Command } from '../command-line/command.js';
import { repeatedOption, switchOption, textOption } from '../command-line/option.js';
import { applicationCommands } from './application-commands.js';
import { changeOptions, clientNotes, clientOptions } from './client-options.js';
import { collectionCommands } from './collection-commands.js';
import { picklistCommands } from './picklist-commands.js';
import { collectionWorkerCommands } from './collection-worker-commands.js';
import { recordEventCommands } from './record-event-commands.js';

/** Commands that call the API of a running platform. */
export function clientCommands(host: NodeJS.Process): readonly Command[] {
  return [
    ...applicationCommands(host),
    ...collectionCommands(host),
    ...picklistCommands(host),
    ...recordEventCommands(host),
    ...collectionWorkerCommands(host),
    ...keyCommands(host),
    ...functionCommands(host),
  ];
}

function keyCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./keys.js');
  return [
    defineCommand('keys list', {
      summary: 'List the API keys of your tenant.',
      options: clientOptions,
      notes: clientNotes,
      run: async (flags) => (await load()).listKeys(flags, host),
    }),
    defineCommand('keys create', {
      summary: 'Create an API key. Its secret is shown once.',
      arguments: ['name'],
      options: {
        scope: repeatedOption('scope', '<scope>', 'Permission of the key; may be repeated. (default control:read)'),
        expires: textOption(
          'expires',
          '<time>',
          'Expiry of the key, for example 2030-01-31T12:00:00Z. (default never)',
        ),
        ...changeOptions,
      },
      notes: [
        'Scopes: control:read, control:write, functions:read, functions:write, functions:commands, functions:invoke, apps:read, apps:write,',
        'collections:define, records:read, records:write, workers:join, workers:manage. Those of collections and records can be limited to one',
        'collection: records:read:orders.',
        ...clientNotes,
      ],
      run: async ({ scope = ['control:read'], ...flags }, [name = '']) =>
        (await load()).createKey(name, { scope, ...flags }, host),
    }),
    defineCommand('keys functions', {
      summary: 'List the functions of all apps with their URLs and keys.',
      options: clientOptions,
      notes: [
        'It needs the master key, which "drover up" stores in its data directory.',
        'To reach another server, set DROVER_URL and DROVER_FUNCTIONS_MASTER_KEY instead of --data-dir.',
      ],
      run: async (flags) => (await import('./function-keys.js')).listFunctionKeys(flags, host),
    }),
    defineCommand('keys revoke', {
      summary: 'Revoke an API key at once.',
      arguments: ['id'],
      options: changeOptions,
      notes: clientNotes,
      run: async (flags, [id = '']) => (await load()).revokeKey(id, flags, host),
    }),
  ];
}

function functionCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./functions.js');
  return [
    defineCommand('functions list', {
      summary: 'List the functions of your tenant.',
      options: clientOptions,
      notes: clientNotes,
      run: async (flags) => (await load()).listFunctions(flags, host),
    }),
    defineCommand('functions add', {
      summary: 'Register the function that a JSON file describes.',
      arguments: ['file'],
      options: changeOptions,
      notes: ['docs/functions-api.md describes the file.', ...clientNotes],
      run: async (flags, [file = '']) => (await load()).addFunction(file, flags, host),
    }),
    defineCommand('functions update', {
      summary: 'Replace a function by what a JSON file describes; its queue stays.',
      arguments: ['file'],
      options: changeOptions,
      notes: ['A function that does not exist is registered.', ...clientNotes],
      run: async (flags, [file = '']) => (await load()).updateFunction(file, flags, host),
    }),
    defineCommand('functions remove', {
      summary: 'Remove a function.',
      arguments: ['name'],
      options: {
        queue: textOption('queue', '<drain|purge>', 'Run the calls that wait first, or cancel them.'),
        ...changeOptions,
      },
      notes: ['While calls wait, the function is removed only with --queue.', ...clientNotes],
      run: async (flags, [name = '']) => (await load()).removeFunction(name, flags, host),
    }),
    defineCommand('invoke', {
      summary: 'Call a function and print its output.',
      arguments: ['function', 'input?'],
      options: {
        enqueue: switchOption('enqueue', 'Return at once; "drover execution <id>" shows the result later.'),
        ...clientOptions,
      },
      notes: [
        'The input is JSON, or @ and the name of a JSON file. Without input the function receives null.',
        `Example: drover invoke resize '{"width": 640}'`,
        ...clientNotes,
      ],
      run: async (flags, [name = '', input]) => (await load()).callFunction(name, input, flags, host),
    }),
    defineCommand('execution', {
      summary: 'Show state and result of an execution.',
      arguments: ['id'],
      options: clientOptions,
      notes: clientNotes,
      run: async (flags, [id = '']) => (await load()).showExecution(id, flags, host),
    }),
  ];
}
