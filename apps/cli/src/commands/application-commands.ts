import { defineCommand, type Command } from '../command-line/command.js';
import { durationOption, numberOption, repeatedOption, switchOption, textOption } from '../command-line/option.js';
import { changeOptions, clientNotes, clientOptions } from './client-options.js';

const scaleOptions = {
  minWorkers: numberOption('min-workers', 'Function workers that always run.', { min: 0, max: 1_000 }),
  maxWorkers: numberOption('max-workers', 'Most function workers at a time.', { min: 1, max: 1_000 }),
  idleSeconds: numberOption('idle-seconds', 'Idle time after which the last function worker ends.', {
    min: 1,
    max: 86_400,
  }),
  predictive: textOption('predictive', '<on|off>', 'Whether workers start ahead of the usual demand.'),
};

const deployOptions = {
  app: textOption('app', '<name>', 'Name of the application. (default: the name of the folder)'),
  traffic: numberOption('traffic', 'Share of the new version in percent. (default 100)', { min: 0, max: 100 }),
  setting: repeatedOption('setting', '<NAME=value>', 'Application setting, stored encrypted; may be repeated.'),
  settings: textOption('settings', '<file>', 'JSON file with settings; the "Values" of local.settings.json work.'),
  watchFor: durationOption(
    'watch-for',
    'Watch the new version for so long, and fail if it is rolled back. (default 30s if CI is set, else 0s)',
    { maxMs: 3_600_000 },
  ),
  inPlace: switchOption('in-place', 'Run the folder where it is, on the machine of the platform, without a copy.'),
  ...scaleOptions,
  ...changeOptions,
};

/** Commands that deploy applications and control their versions. */
export function applicationCommands(host: NodeJS.Process): readonly Command[] {
  const load = () => import('./applications.js');
  return [
    defineCommand('deploy', {
      summary: 'Deploy the function app in a folder or zip file as a new version.',
      arguments: ['folder'],
      options: deployOptions,
      notes: [
        'Checks the app, stores it and gives it traffic. If the check fails, the running version goes on unchanged.',
        'A version whose calls fail is rolled back by the platform. With --watch-for, or in CI, the command then fails, too.',
        'Not packed: .git, .vscode, local.settings.json, and what .funcignore lists.',
        'Example: drover deploy ./my-functions-app --traffic 10 --setting GREETING=hello',
        ...clientNotes,
      ],
      run: async (flags, [folder = '']) => (await import('./deploy.js')).deploy(folder, flags, host),
    }),
    defineCommand('apps', {
      summary: 'List the deployed applications.',
      options: clientOptions,
      notes: clientNotes,
      run: async (flags) => (await load()).listApplications(flags, host),
    }),
    defineCommand('apps show', {
      summary: 'Show the versions of an application, their traffic and its last changes.',
      arguments: ['app'],
      options: clientOptions,
      notes: clientNotes,
      run: async (flags, [app = '']) => (await load()).showApplication(app, flags, host),
    }),
    defineCommand('apps remove', {
      summary: 'Remove an application after it has finished what runs.',
      arguments: ['app'],
      options: changeOptions,
      notes: clientNotes,
      run: async (flags, [app = '']) => (await load()).removeApplication(app, flags, host),
    }),
    defineCommand('traffic', {
      summary: 'Show or split the traffic of an application among its versions.',
      arguments: ['app', 'version=percent*'],
      options: changeOptions,
      notes: [
        'Without versions it shows the shares. One version alone gets all traffic. The beginning of a version is enough.',
        'Example: drover traffic hello c0ffee=90 cabba9e=10',
        ...clientNotes,
      ],
      run: async (flags, [app = '', ...shares]) => (await load()).setTraffic(app, shares, flags, host),
    }),
    defineCommand('rollback', {
      summary: 'Return to the traffic before the last change, or give all traffic to a version.',
      arguments: ['app', 'version?'],
      options: { reason: textOption('reason', '<text>', 'Why, for the record of changes.'), ...changeOptions },
      notes: clientNotes,
      run: async (flags, [app = '', version]) => (await load()).rollBack(app, version, flags, host),
    }),
    defineCommand('scaling', {
      summary: 'Explain why an application has its number of function workers, or set its bounds.',
      arguments: ['app'],
      options: {
        decisions: numberOption('decisions', 'Decisions to show. (default 5)', { min: 0, max: 1_000 }),
        ...scaleOptions,
        ...changeOptions,
      },
      notes: ['Example: drover scaling hello --min-workers 1 --max-workers 20', ...clientNotes],
      run: async (flags, [app = '']) => (await import('./scaling.js')).showScaling(app, flags, host),
    }),
  ];
}
