import { switchOption, textOption } from '../command-line/option.js';

/** Options of every command that calls the API of a running platform. */
export const clientOptions = {
  dataDir: textOption(
    'data-dir',
    '<path>',
    'Data directory of the running "drover up". (DROVER_DATA_DIR, default .drover)',
  ),
  json: switchOption('json', 'Print the response as JSON.'),
};

/** Options of every command that changes something on a running platform. */
export const changeOptions = {
  noWait: switchOption('no-wait', 'Return when the change is stored, before every process of the platform serves it.'),
  ...clientOptions,
};

export const clientNotes = ['To reach another server, set DROVER_URL and DROVER_API_KEY instead of --data-dir.'];
