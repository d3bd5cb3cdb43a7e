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
  let isStopping = false;
  const stop = (signal) => {
    isStopping = true;
    end(child.pid, signal);
    // The compiler goes on after SIGTERM.
    setTimeout(() => {
      end(child.pid, 'SIGKILL');
      process.exit(128 + constants.signals[signal]);
    }, 500);
  };
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
  for (const signal of signals) process.on(signal, stop);
  const watch = setInterval(() => process.ppid !== launcher && stop('SIGTERM'), 500);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => isStopping || resolve(status)); // `stop` ends this process
  });
  clearInterval(watch);
  for (const signal of signals) process.off(signal, stop);
  if (code !== 0) process.exit(code ?? 1);
}

/** Signals the whole group of the build, which may have ended. */
function end(pid, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
