import { createLog, runProcess } from '@drover/service-kit';
import { formatLogLine, parseLogLine } from '../output/log-lines.js';
import type { UpFlags } from '../flags.js';
import { composeUp, type UpPresenter } from '../up/compose.js';
import { parseUpConfig, withFlags } from '../up/config.js';

/** `drover up`: standard output has the result, standard error what happens on the way. */
export async function runUp(flags: UpFlags, host: NodeJS.Process): Promise<void> {
  const presenter = flags.json ? jsonPresenter(host) : humanPresenter(host);
  const environment = withFlags(host.env, flags);
  await runProcess(
    {
      name: 'up',
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
    ready({ urls: { public: url = '' }, credentialsFile, applications }) {
      host.stdout.write(`
Drover is up: ${url}

  API      ${url}/openapi.json
  key      ${credentialsFile}
${applications.map((name) => `  app      ${name}, under ${url}/api/\n`).join('')}
Try, in another terminal:

  npx drover keys list
  npx drover keys create my-first-key
  curl ${url}/readyz

Ctrl-C stops it. What it keeps is in ${credentialsFile.replace(/[^/]*$/, '')}
`);
    },
  };
}
