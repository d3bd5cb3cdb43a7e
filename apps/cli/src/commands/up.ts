import { createLog, runProcess } from '@drover/service-kit';
import { renderBanner } from '../output/banner.js';
import { formatLogLine, parseLogLine } from '../output/log-lines.js';
import type { UpFlags } from '../flags.js';
import { composeUp, type UpPresenter } from '../up/compose.js';
import { parseUpConfig, withFlags } from '../up/config.js';

/** Runs `drover up`: the result goes to standard output, the log to standard error. */
export async function runUp(flags: UpFlags, host: NodeJS.Process): Promise<void> {
  const presenter = flags.json ? jsonPresenter(host) : humanPresenter(host);
  const environment = withFlags(host.env, flags);
  await runProcess(
    {
      name: 'drover up',
      parse: () => parseUpConfig(environment),
      compose: (config, io) => composeUp(config, environment, io, presenter),
      log: (level) => createLog('up', level, { write: (line) => presenter.line('up', line.trimEnd()) }),
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

function humanPresenter(host: NodeJS.Process): UpPresenter {
  return {
    line: (role, line) => void host.stderr.write(`${formatLogLine(parseLogLine(line, role))}\n`),
    ready: (report, keys) => void host.stdout.write(renderBanner(report, keys)),
  };
}
