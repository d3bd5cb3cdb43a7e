// `npm start`: builds, then becomes `drover up` with the arguments of the command line. All of it is one process, because npm
// forwards a signal only to the process that it started, which would otherwise be a shell.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';

await build();
// So that there is something to call; `--app` and DROVER_FUNCTIONS_APPS name other apps.
process.env['DROVER_FUNCTIONS_APPS'] ??= path.join(import.meta.dirname, 'examples', 'hello-app');
process.argv.splice(2, 0, 'up');
await import('./apps/cli/bin/drover.js');

/** Ends the build, and this process, when it is stopped or npm dies. */
async function build() {
  const launcher = process.ppid;
  const child = spawn('npm', ['run', '--silent', 'build'], { stdio: 'inherit', detached: true });
  const give = (signal) => {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
    process.exit(128 + constants.signals[signal]);
  };
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
  for (const signal of signals) process.on(signal, give);
  const watch = setInterval(() => process.ppid !== launcher && give('SIGTERM'), 500);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  clearInterval(watch);
  for (const signal of signals) process.off(signal, give);
  if (code !== 0) process.exit(code ?? 1);
}
