import { createLog, hasColors, isLogText, processVariables, runProcess, toLogText } from '@drover/service-kit';
import { renderBanner } from '../output/banner.js';
import type { UpFlags } from '../flags.js';
import { composeUp, type UpPresenter } from '../up/compose.js';
import { parseUpConfig, withFlags, withLocalHttpPort } from '../up/config.js';

/** Runs `drover up`: the result goes to standard output, the log to standard error. */
export async function runUp(flags: UpFlags, host: NodeJS.Process): Promise<void> {
  const presenter = flags.json ? jsonPresenter(host) : humanPresenter(host);
  const environment = await withLocalHttpPort(withFlags(host.env, flags));
  await runProcess(
    {
      name: 'drover up',
      parse: () => parseUpConfig(environment),
      compose: (config, io) => composeUp(config, environment, io, presenter),
      log: ({ logLevel }) => createLog('up', logLevel, { write: (line) => presenter.line('up', line.trimEnd()) }),
    },
    host,
  );
}

function jsonPresenter(host: NodeJS.Process): UpPresenter {
  return {
    line: (_role, line) => void host.stderr.write(`${line}\n`),
    ready: (report) => void host.stdout.write(`${JSON.stringify({ event: 'ready', ...report })}\n`),
  };
}

/** The log is text on a terminal, and JSON where it is piped; the banner is always text. */
function humanPresenter(host: NodeJS.Process): UpPresenter {
  const { logFormat, logLevel } = processVariables;
  const isReadable = isLogText(
    validOr('auto', () => logFormat.read(host.env)),
    host.stderr,
  );
  const showsInternals = validOr('info', () => logLevel.read(host.env)) === 'debug';
  const options = { colors: hasColors(host.stderr), showsInternals };
  return {
    line(role, line) {
      const text = isReadable ? readable(line, role, options) : line;
      if (text !== undefined) host.stderr.write(`${text}\n`);
    },
    ready: (report, keys) => void host.stdout.write(renderBanner(report, keys)),
  };
}

/** Lines that the banner repeats: functions, addresses, and that all is ready. */
const repeated = /"kind":"(?:application\.functions|http\.listening|process\.state)"/;

function readable(line: string, role: string, options: Parameters<typeof toLogText>[2]): string | undefined {
  return repeated.test(line) && !options.showsInternals ? undefined : toLogText(line, role, options);
}

/** `runProcess` reports an invalid value; until then the default applies. */
function validOr<T>(fallback: T, read: () => T): T {
  try {
    return read();
  } catch {
    return fallback;
  }
}
