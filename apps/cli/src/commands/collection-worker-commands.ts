import { defineCommand, type Command } from '../command-line/command.js';
import { textOption } from '../command-line/option.js';
import { clientNotes, clientOptions } from './client-options.js';

/** Commands for collection workers, and for which of them serves which collection. */
export function collectionWorkerCommands(host: NodeJS.Process): readonly Command[] {
  return [...workerCommands(host), ...assignmentCommands(host)];
}

function workerCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./collection-workers.js');
  return [
    defineCommand('workers list', {
      summary: 'List the collection workers with their state and load.',
      options: clientOptions,
      notes: clientNotes,
      run: async (flags) => (await load()).listWorkers(flags, host),
    }),
    defineCommand('workers show', {
      summary: 'Show a collection worker, and the collections of your tenant that it serves.',
      arguments: ['id'],
      options: clientOptions,
      notes: clientNotes,
      run: async (flags, [id = '']) => (await load()).showWorker(id, flags, host),
    }),
    defineCommand('workers drain', {
      summary: 'Move the collections of a collection worker to others. It gets new ones after its next start.',
      arguments: ['id'],
      options: clientOptions,
      notes: [
        'The worker serves each collection until another worker does. Needs the scope workers:manage.',
        ...clientNotes,
      ],
      run: async (flags, [id = '']) => (await load()).drainWorker(id, flags, host),
    }),
  ];
}

function assignmentCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./collection-workers.js');
  return [
    defineCommand('assignments list', {
      summary: 'List which collection worker serves which collection of your tenant.',
      options: {
        collection: textOption('collection', '<name>', 'Only this collection.'),
        status: textOption('status', '<status>', 'PENDING, INITIALIZING, READY, DRAINING or REMOVED.'),
        ...clientOptions,
      },
      notes: clientNotes,
      run: async (flags) => (await load()).listAssignments(flags, host),
    }),
    defineCommand('assignments assign', {
      summary: 'Let a collection worker serve a collection, and leave it there.',
      arguments: ['collection', 'worker'],
      options: clientOptions,
      notes: clientNotes,
      run: async (flags, [collection = '', worker = '']) =>
        (await load()).assignCollection(collection, worker, flags, host),
    }),
    defineCommand('assignments unassign', {
      summary: 'Take a collection from a collection worker once another worker serves it.',
      arguments: ['collection', 'worker'],
      options: clientOptions,
      notes: ['The worker does not get it again, unless you assign it by hand.', ...clientNotes],
      run: async (flags, [collection = '', worker = '']) =>
        (await load()).unassignCollection(collection, worker, flags, host),
    }),
  ];
}
