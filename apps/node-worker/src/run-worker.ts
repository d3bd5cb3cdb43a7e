import { writeSync } from 'node:fs';
import { composeWorker, type Worker } from './compose.js';
import { parseWorkerConfig, secretVariables, type WorkerConfig } from './config.js';
import { toError } from './execution/exceptions.js';
import { extendStacks } from './execution/user-stack.js';
import { defaultGraceMs } from './handlers/worker-terminate.js';
import { provideCoreModule } from './loading/core-module.js';
import { createSystemConsole } from './logs/system-log.js';

/**
 * Runs the worker from start to exit. The only place in the worker that touches signals, environment and exit of the
 * process. The app shares the process and may touch them too.
 */
export async function runWorker(host: NodeJS.Process): Promise<void> {
  extendStacks();
  const console = createSystemConsole(write);
  let config: WorkerConfig;
  let worker: Worker;
  let isFirst = true;
  try {
    config = parseWorkerConfig(host.argv.slice(2), host.env);
    const { tracesStart } = config;
    worker = composeWorker(config, {
      console,
      appProcess: {
        replaceEnvironment: (variables) => replaceEnvironment(host.env, variables),
        changeDirectory: (directory) => host.chdir(directory),
      },
      workerFile: host.argv[1] ?? host.execPath,
      runtime: { version: host.versions.node, arch: host.arch },
      onConnected: () => {
        if (tracesStart && isFirst) console.info(` start-stream after ${Math.round(performance.now())} ms`);
        isFirst = false;
      },
    });
  } catch (error) {
    console.error(toError(error).message);
    host.exit(1);
  }
  const { connection, termination, health, inFlight, loader, systemLog } = worker;
  for (const name of secretVariables) delete host.env[name];
  provideCoreModule(worker.coreModule);

  host.on('uncaughtException', (thrown: unknown) => {
    const { stack, message } = toError(thrown);
    const running = Object.keys(inFlight.byFunction).join(', ') || 'no function';
    const text = `Worker uncaught exception in the app ${loader.directory || '(none)'} while ${running} ran: ${stack ?? message}`;
    console.error(text);
    systemLog('error', text);
    connection.close(1);
  });
  host.on('SIGTERM', () => termination.begin(defaultGraceMs));

  try {
    if (config.healthPort !== 0) await health.listen(config.healthPort);
  } catch (error) {
    console.error(`The health port ${config.healthPort} cannot be opened: ${toError(error).message}`);
    host.exit(1);
  }
  const code = await worker.run();
  console.info(`Worker ${config.workerId} exited with code ${code}`);
  host.exit(code);
}

/** Writes synchronously, so that no line is lost when the process exits. A closed or full pipe loses the line. */
function write(descriptor: 1 | 2, text: string): void {
  try {
    writeSync(descriptor, text);
  } catch {
    // closed or full
  }
}

function replaceEnvironment(environment: NodeJS.ProcessEnv, variables: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(environment)) delete environment[name];
  Object.assign(environment, variables);
}
