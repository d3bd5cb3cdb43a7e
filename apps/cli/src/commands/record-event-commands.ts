import { defineCommand, type Command } from '../command-line/command.js';
import { numberOption, repeatedOption, switchOption, textOption } from '../command-line/option.js';
import { clientNotes, clientOptions } from './client-options.js';

const events = repeatedOption(
  'event',
  '<kind>',
  'created, updated, deleted or restored; may be repeated. (default all)',
);
const limit = numberOption('limit', 'Most lines. (default 50)', { min: 1, max: 200 });

/** Commands for webhooks, and for changes that functions gave up. */
export function recordEventCommands(host: NodeJS.Process): readonly Command[] {
  return [...webhookCommands(host), ...deliveryCommands(host), ...failedChangeCommands(host)];
}

function webhookCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./webhooks.js');
  return [
    defineCommand('webhooks list', {
      summary: 'List the webhooks of your tenant.',
      options: clientOptions,
      notes: clientNotes,
      run: async (flags) => (await load()).listWebhooks(flags, host),
    }),
    defineCommand('webhooks create', {
      summary: 'Send changes of records of a collection to a URL. The secret of the signatures is shown once.',
      arguments: ['collection', 'url'],
      options: { event: events, ...clientOptions },
      notes: ['Requests are signed as in Standard Webhooks.', ...clientNotes],
      run: async (flags, [collection = '', url = '']) => (await load()).createWebhook(collection, url, flags, host),
    }),
    defineCommand('webhooks change', {
      summary: 'Change the URL or the kinds of changes of a webhook, or switch it off or on.',
      arguments: ['id'],
      options: {
        url: textOption('url', '<url>', 'Where changes are sent from now on.'),
        event: events,
        off: switchOption('off', 'Send nothing until it is switched on.'),
        on: switchOption('on', 'Send changes from now on.'),
        ...clientOptions,
      },
      notes: clientNotes,
      run: async (flags, [id = '']) => (await load()).changeWebhook(id, flags, host),
    }),
    defineCommand('webhooks rotate', {
      summary: 'Give a webhook a new secret. The former one signs as well for a while.',
      arguments: ['id'],
      options: {
        overlapHours: numberOption('overlap-hours', 'How long both secrets sign. (default 24)', { min: 0, max: 720 }),
        ...clientOptions,
      },
      notes: ['Use --overlap-hours 0 if the former secret is known to others.', ...clientNotes],
      run: async (flags, [id = '']) => (await load()).rotateWebhook(id, flags, host),
    }),
    defineCommand('webhooks delete', {
      summary: 'Delete a webhook with its deliveries.',
      arguments: ['id'],
      options: clientOptions,
      notes: clientNotes,
      run: async (flags, [id = '']) => (await load()).deleteWebhook(id, flags, host),
    }),
  ];
}

function deliveryCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./webhooks.js');
  return [
    defineCommand('webhooks deliveries', {
      summary: 'List the deliveries of a webhook, the newest first.',
      arguments: ['id'],
      options: {
        state: textOption('state', '<state>', 'waiting, delivered or failed. (default all)'),
        limit,
        ...clientOptions,
      },
      notes: clientNotes,
      run: async (flags, [id = '']) => (await load()).listDeliveries(id, flags, host),
    }),
    defineCommand('webhooks retry', {
      summary: 'Send a change to a webhook again, also one that was delivered or has failed.',
      arguments: ['id', 'position'],
      options: clientOptions,
      notes: clientNotes,
      run: async (flags, [id = '', position = '']) => (await load()).retryDelivery(id, position, flags, host),
    }),
  ];
}

const selection = {
  collection: textOption('collection', '<name>', 'Only changes of this collection.'),
  app: textOption('app', '<name>', 'Only changes that functions of this application gave up.'),
  function: textOption('function', '<name>', 'Only changes that this function gave up.'),
};
const all = switchOption('all', 'All failed changes of your tenant.');
const selectionNotes = ['Name ids, or say which changes with --collection, --app, --function or --all.'];

function failedChangeCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./failed-changes.js');
  return [
    defineCommand('failed-changes list', {
      summary: 'List the changes of records that functions gave up after too many failures.',
      options: { ...selection, limit, ...clientOptions },
      notes: clientNotes,
      run: async (flags) => (await load()).listFailedChanges(flags, host),
    }),
    defineCommand('failed-changes show', {
      summary: 'Print a change that a function gave up, with the record before and after, as JSON.',
      arguments: ['id'],
      options: { dataDir: clientOptions.dataDir },
      notes: clientNotes,
      run: async (flags, [id = '']) => (await load()).showFailedChange(id, flags, host),
    }),
    defineCommand('failed-changes replay', {
      summary: 'Run functions again for changes that they gave up.',
      arguments: ['id*'],
      options: { ...selection, all, ...clientOptions },
      notes: [...selectionNotes, ...clientNotes],
      run: async (flags, ids) => (await load()).replayFailedChanges(ids, flags, host),
    }),
    defineCommand('failed-changes drop', {
      summary: 'Remove changes that functions gave up: no function runs for them any more.',
      arguments: ['id*'],
      options: { ...selection, all, ...clientOptions },
      notes: [...selectionNotes, ...clientNotes],
      run: async (flags, ids) => (await load()).dropFailedChanges(ids, flags, host),
    }),
  ];
}
