import { defineCommand, type Command } from '../command-line/command.js';
import { programVersion } from '../program-version.js';
import { numberOption, repeatedOption, switchOption, textOption, type CommandOption } from '../command-line/option.js';

const upOptions = {
  port: numberOption(
    'port',
    'Public port; 0 selects a free one. (DROVER_PORT, or Host.LocalHttpPort of local.settings.json; default 7070)',
    { min: 0, max: 65_535 },
  ),
  host: textOption('host', '<address>', 'Address to listen on. (DROVER_HOST, default 127.0.0.1)'),
  dataDir: textOption('data-dir', '<path>', 'Directory of all data and logs. (DROVER_DATA_DIR, default .drover)'),
  app: repeatedOption('app', '<directory>', 'Azure Functions app to serve; may be repeated. (DROVER_FUNCTIONS_APPS)'),
  functions: repeatedOption(
    'functions',
    '<names>',
    'Run only these functions of the apps: --functions a b. (DROVER_FUNCTIONS_ONLY)',
  ),
  watch: switchOption('watch', 'Deploy an app again when its files change. (DROVER_HOT_RELOAD=on)'),
  workers: numberOption('workers', 'Function workers per app. (DROVER_WORKERS, default 1)', { min: 1, max: 100 }),
  inspect: numberOption('inspect', 'Debug port of the Node.js function workers; 9229 is usual.', {
    min: 0,
    max: 65_535,
  }),
  cors: textOption(
    'cors',
    '<origins>',
    'Origins whose pages may call functions and records, separated by commas; "*" for all. (DROVER_CORS_ORIGINS)',
  ),
  corsCredentials: switchOption('cors-credentials', 'These pages may send cookies. (DROVER_CORS_CREDENTIALS=on)'),
  noKeys: switchOption('no-keys', 'Call functions without keys, as with "func start". (DROVER_FUNCTION_KEYS=off)'),
  json: switchOption('json', 'Print one line of JSON when the platform is ready, and the log as JSON on stderr.'),
};

const doctorOptions = {
  port: upOptions.port,
  dataDir: upOptions.dataDir,
  json: switchOption('json', 'Print the findings as JSON.'),
};

const portBounds = { min: 0, max: 65_535 };

function portsOption(flag: string, help: string): CommandOption<readonly number[]> {
  const one = numberOption(flag, help, portBounds);
  const read = (texts: readonly string[]): readonly number[] =>
    texts.flatMap((text) => text.split(',')).map((text) => one.read([text]));
  return { flag, value: '<number,…>', help, repeats: true, read };
}

const emulatorsOptions = {
  host: textOption('host', '<address>', 'Address to listen on. (default 127.0.0.1; the emulators check no password)'),
  amqpPort: numberOption(
    'amqp-port',
    'Port of Service Bus and Event Hubs; 0 selects a free one. (default 5672)',
    portBounds,
  ),
  moreAmqpPorts: portsOption(
    'more-amqp-ports',
    'Further ports with the same services, for clients with fixed ones: 5671 (TLS), 443 (WebSockets), 5300 (HTTP).',
  ),
  blobPort: numberOption('blob-port', 'Port of blobs. (default 10000)', portBounds),
  queuePort: numberOption('queue-port', 'Port of storage queues. (default 10001)', portBounds),
  tablePort: numberOption('table-port', 'Port of tables. (default 10002)', portBounds),
  pagePort: numberOption('page-port', 'Port of the page. (default 10003, or a free one)', portBounds),
  dataDir: textOption('data-dir', '<path>', 'Directory of the data. (default: in memory)'),
  entities: textOption(
    'entities',
    '<file>',
    'JSON file with queues, topics and event hubs; Config.json of Microsoft works.',
  ),
  declaredOnly: switchOption('declared-only', 'Refuse queues, topics and event hubs that the file does not name.'),
  maxMemory: numberOption('max-memory', 'MiB of messages in memory, of each service. (default 512)', {
    min: 1,
    max: 1_048_576,
  }),
  json: switchOption('json', 'Print one line of JSON when the emulators are ready.'),
};

const certificateOptions = {
  app: textOption('app', '<name>', 'Application that the worker runs. Without it, the worker runs none.'),
  dataDir: textOption('data-dir', '<path>', 'Data directory of "drover up". (DROVER_DATA_DIR, default .drover)'),
  certificates: textOption(
    'certificates',
    '<path>',
    'Directory of the certificate authority. (DROVER_CERTIFICATES_DIR, default <data-dir>/certificates)',
  ),
  out: textOption('out', '<path>', 'Directory of the files. (default: this one)'),
  json: switchOption('json', 'Print the names of the files as JSON.'),
};

const roleNotes = ['Configure the process with environment variables: docs/configuration.md lists them.'];

/** Commands that run the platform or check the machine for it. */
export function platformCommands(host: NodeJS.Process): readonly Command[] {
  return [
    defineCommand('up', {
      summary: 'Start the platform on this machine. Ctrl-C stops it.',
      options: upOptions,
      notes: [
        'Without DATABASE_URL it starts an embedded PostgreSQL. docs/configuration.md lists all variables.',
        'Example: drover up --app ./my-functions-app --watch --port 8080',
      ],
      run: async (flags) => (await import('./up.js')).runUp(flags, host),
    }),
    defineCommand('doctor', {
      summary: 'Check whether this machine can run the platform, and print how to fix what is missing.',
      options: doctorOptions,
      notes: ['The exit code is 1 if "drover up" would fail.'],
      run: async (flags) => (await import('./doctor.js')).runDoctor(flags, host),
    }),
    defineCommand('emulators', {
      summary: 'Run emulators of Service Bus, Event Hubs and Storage for development. Ctrl-C stops them.',
      options: emulatorsOptions,
      notes: [
        'Prints connection strings for unmodified SDKs, and serves a page that shows queues, messages and dead letters.',
        'Example: drover emulators --data-dir .emulators --entities Config.json',
      ],
      run: async (flags) => (await import('./emulators.js')).runEmulators(flags, host),
    }),
    defineCommand('certificate worker', {
      summary: 'Make a certificate for a function worker on another machine.',
      arguments: ['worker-id'],
      options: certificateOptions,
      notes: [
        'Writes the key, the certificate and that of the authority, and prints how to start the worker with them.',
        'Example: drover certificate worker worker-2 --app my-functions-app',
      ],
      run: async (flags, [workerId = '']) =>
        (await import('./certificates.js')).makeWorkerCertificate(workerId, flags, host),
    }),
    defineCommand('control-plane', {
      summary: 'Run only the control plane: API, functions and executions.',
      notes: roleNotes,
      run: async () => (await import('./roles.js')).runControlPlane(host),
    }),
    defineCommand('collection-worker', {
      summary: 'Run only a collection worker: the records API of collections.',
      notes: roleNotes,
      run: async () => (await import('./roles.js')).runCollectionWorker(host),
    }),
    defineCommand('gateway', {
      summary: 'Run only a gateway: the public port in front of collection workers, runtimes and the control plane.',
      notes: roleNotes,
      run: async () => (await import('./roles.js')).runGateway(host),
    }),
    defineCommand('scale-controller', {
      summary:
        'Run only a scale controller: it decides how many function and collection workers run, and starts them here.',
      notes: roleNotes,
      run: async () => (await import('./scale-controller.js')).runScaleController(host, programVersion()),
    }),
    defineCommand('runtime', {
      summary: 'Run only a runtime: function apps and their workers.',
      notes: roleNotes,
      run: async () => (await import('./roles.js')).runRuntime(host),
    }),
  ];
}
