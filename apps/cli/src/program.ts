import type { Command } from './command-line/command.js';
import { commandHelp, groupHelp, programHelp } from './command-line/help.js';
import { parseCommand } from './command-line/parse-command.js';
import { UsageError } from './command-line/usage-error.js';
import { clientCommands } from './commands/client-commands.js';
import { platformCommands } from './commands/platform-commands.js';
import { programVersion } from './program-version.js';

/**
 * Runs the command that `argv` names. A failure becomes one message on standard error and exit code 1. Commands import what
 * they need when they run, so that `drover --help` is instant.
 */
export async function runProgram(argv: readonly string[], host: NodeJS.Process): Promise<void> {
  const commands = [...platformCommands(host), ...clientCommands(host)];
  try {
    await dispatch(commands, argv, host);
  } catch (error) {
    host.stderr.write(`drover: ${error instanceof Error ? error.message : String(error)}\n`);
    host.exitCode = 1;
  }
}

async function dispatch(commands: readonly Command[], argv: readonly string[], host: NodeJS.Process): Promise<void> {
  const [first, second] = argv;
  if (first === 'help') return dispatch(commands, [...argv.slice(1), '--help'], host);
  if (first === undefined || first === '--help' || first === '-h') {
    host.stdout.write(programHelp(commands));
    if (first === undefined) host.exitCode = 1;
    return;
  }
  if (first === '--version' || first === '-V') return void host.stdout.write(`${programVersion()}\n`);
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length > 0 && (second === '--help' || second === '-h'))
    return void host.stdout.write(
      groupHelp(
        first,
        commands.filter((command) => command.name === first || group.includes(command)),
      ),
    );
  const named = (words: string): Command | undefined => commands.find(({ name }) => name === words);
  const command = named(`${first} ${second}`) ?? named(first);
  if (!command) throw await unknownCommand(group.length > 0 ? group : commands, first, second);
  await runCommand(command, argv.slice(command.name.split(' ').length), host);
}

async function runCommand(command: Command, argv: readonly string[], host: NodeJS.Process): Promise<void> {
  const parsed = parse(command, argv);
  if (parsed.kind === 'help') host.stdout.write(commandHelp(command));
  else await command.run(parsed.values, parsed.args);
}

function parse(command: Command, argv: readonly string[]): ReturnType<typeof parseCommand> {
  try {
    return parseCommand(command, argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message} Run "drover ${command.name} --help" for help.`);
  }
}

/** `among` are the commands of the group that `first` names, or all if it names none. */
async function unknownCommand(among: readonly Command[], first: string, second = ''): Promise<UsageError> {
  const isGroup = among.every(({ name }) => name.startsWith(`${first} `));
  const given = isGroup ? `${first} ${second}`.trimEnd() : first;
  const { nearestName } = await import('@drover/service-kit');
  const nearest = nearestName(
    given,
    among.map(({ name }) => (isGroup ? name : (name.split(' ')[0] ?? name))),
  );
  const problem =
    isGroup && second === '' ? `"drover ${first}" needs a command.` : `The command "${given}" does not exist.`;
  const suggestion = nearest === undefined || second === '--help' ? '' : ` Did you mean "${nearest}"?`;
  return new UsageError(
    `${problem}${suggestion} Run "drover ${isGroup ? `${first} ` : ''}--help" to list all commands.`,
  );
}
