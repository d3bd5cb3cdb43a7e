import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import type { ClientFlags, UpFlags } from './flags.js';
import { reportFailure } from './output/failure.js';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

/** The command line. Commands load what they need when they run: `drover --help` must be instant. */
export function createProgram(host: NodeJS.Process): Command {
  const program = new Command('drover')
    .description('Event-driven functions and live data collections on your own machines')
    .version(manifest.version)
    .showHelpAfterError('(drover --help shows what there is)');

  program
    .command('up')
    .description('bring the whole platform up on this machine; Ctrl-C stops it')
    .option('--port <number>', 'public port, 0 for any free one (DROVER_PORT, else 7070)', parsePort)
    .option('--host <address>', 'address to listen on (DROVER_HOST, else 127.0.0.1)')
    .option('--data-dir <path>', 'where everything is kept (DROVER_DATA_DIR, else .drover)')
    .option('--app <directory...>', 'an Azure Functions app to serve; may be given more than once')
    .option('--workers <number>', 'function workers for each app (DROVER_WORKERS, else 1)', parseCount)
    .option('--json', 'one line of JSON on standard output once everything serves; the log as JSON on standard error')
    .action(async (options: UpFlags) => {
      const { runUp } = await import('./commands/up.js');
      await runUp(options, host);
    });

  program
    .command('doctor')
    .description('check what Drover needs on this machine, and say what to do about what is missing')
    .option('--port <number>', 'public port', parsePort)
    .option('--data-dir <path>', 'where everything is kept')
    .option('--json', 'the findings as JSON')
    .action(async (options: UpFlags) => {
      const { runDoctor } = await import('./commands/doctor.js');
      await runDoctor(options, host);
    });

  addKeysCommands(program, host);
  addFunctionsCommands(program, host);

  program
    .command('control-plane')
    .description('run this one role, configured by the environment (docs/configuration.md)')
    .action(async () => {
      const [{ runProcess }, { controlPlaneProcess }] = await Promise.all([
        import('@drover/service-kit'),
        import('@drover/control-plane'),
      ]);
      await runProcess(controlPlaneProcess, host);
    });

  program
    .command('runtime')
    .description('run this one role, configured by the environment (docs/configuration.md)')
    .action(async () => {
      const [{ runProcess }, { runtimeProcess }, { withNodeWorker }] = await Promise.all([
        import('@drover/service-kit'),
        import('@drover/runtime'),
        import('./up/node-worker-command.js'),
      ]);
      await runProcess(runtimeProcess(withNodeWorker(host.env)), host);
    });

  return program;
}

/** Of every command that talks to a running platform. */
function withClientOptions(command: Command): Command {
  return command
    .option('--data-dir <path>', 'where `drover up` left credentials.json (else DROVER_URL and DROVER_API_KEY)')
    .option('--json', 'the answer as JSON');
}

function addFunctionsCommands(program: Command, host: NodeJS.Process): void {
  const load = () => import('./commands/functions.js');
  const functions = program.command('functions').description('functions of your tenant');
  withClientOptions(functions.command('list').description('show all functions')).action((flags: ClientFlags) =>
    reportFailure(host, async () => (await load()).listFunctions(flags, host)),
  );
  withClientOptions(functions.command('add <file>').description('register what a JSON file describes')).action(
    (file: string, flags: ClientFlags) =>
      reportFailure(host, async () => (await load()).addFunction(file, flags, host)),
  );
  withClientOptions(functions.command('remove <name>').description('remove a function')).action(
    (name: string, flags: ClientFlags) =>
      reportFailure(host, async () => (await load()).removeFunction(name, flags, host)),
  );
  withClientOptions(
    program.command('invoke <function> [input]').description('call a function; the input is JSON, or @file'),
  )
    .option('--enqueue', 'do not wait for its result')
    .action((name: string, input: string | undefined, flags: ClientFlags & { enqueue?: boolean }) =>
      reportFailure(host, async () => (await load()).callFunction(name, input, flags, host)),
    );
  withClientOptions(program.command('execution <id>').description('state and result of an execution')).action(
    (id: string, flags: ClientFlags) => reportFailure(host, async () => (await load()).showExecution(id, flags, host)),
  );
}

function addKeysCommands(program: Command, host: NodeJS.Process): void {
  const keys = program.command('keys').description('API keys of your tenant');
  withClientOptions(keys.command('list').description('show all keys')).action((flags: ClientFlags) =>
    reportFailure(host, async () => (await import('./commands/keys.js')).listKeys(flags, host)),
  );
  withClientOptions(keys.command('create <name>').description('make a key and show it, this once'))
    .option('--scope <scope...>', 'what it is good for', ['control:read'])
    .option('--expires <time>', 'when it ends to be good, as 2030-01-31T12:00:00Z')
    .action((name: string, flags: ClientFlags & { scope: string[]; expires?: string }) =>
      reportFailure(host, async () => (await import('./commands/keys.js')).createKey(name, flags, host)),
    );
  withClientOptions(keys.command('revoke <id>').description('end a key at once')).action(
    (id: string, flags: ClientFlags) =>
      reportFailure(host, async () => (await import('./commands/keys.js')).revokeKey(id, flags, host)),
  );
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('it is a whole number from 1 to 999.');
  return Number(text);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('a port is a number from 0 to 65535.');
  return port;
}
