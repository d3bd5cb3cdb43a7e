import { defineCommand, type Command } from '../command-line/command.js';
import { switchOption } from '../command-line/option.js';
import { clientNotes, clientOptions } from './client-options.js';

/** Commands for picklists, whose values fields of many collections share. */
export function picklistCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./picklists.js');
  return [
    defineCommand('picklists list', {
      summary: 'List the picklists of your tenant.',
      options: clientOptions,
      notes: clientNotes,
      run: async (flags) => (await load()).printPicklists(flags, host),
    }),
    defineCommand('picklists show', {
      summary: 'Print a picklist as YAML, ready to be edited and applied with "drover collections apply".',
      arguments: ['picklist'],
      options: clientOptions,
      notes: clientNotes,
      run: async (flags, [name = '']) => (await load()).showPicklist(name, flags, host),
    }),
    defineCommand('picklists set', {
      summary: 'Create a picklist, or give it and all fields that use it other values.',
      arguments: ['picklist', 'value', 'more*'],
      options: clientOptions,
      notes: ['Example: drover picklists set countries de us fr', ...clientNotes],
      run: async (flags, args) => (await load()).setPicklist(args, flags, host),
    }),
    defineCommand('picklists delete', {
      summary: 'Delete a picklist that no field uses.',
      arguments: ['picklist'],
      options: { yes: switchOption('yes', 'Do not ask.'), ...clientOptions },
      notes: clientNotes,
      run: async (flags, [name = '']) => (await load()).deletePicklist(name, flags, host),
    }),
  ];
}
