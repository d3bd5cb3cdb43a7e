import type { AppProblem } from '../loading/app-problem.js';
import type { AppStart } from '../loading/start-app.js';
import type { SystemLog } from './system-log.js';

/** A slower start is logged as a warning. */
const slowMs = 1_000;

/** Logs the result of an app's start. */
export function reportStart(
  systemLog: SystemLog,
): (start: AppStart, tookMs: number, problem: AppProblem | undefined) => void {
  return ({ directory, packageJson, files }, tookMs, problem) => {
    if (problem) {
      systemLog('error', problem.stack === undefined ? problem.message : `${problem.message}\n${problem.stack}`);
      return;
    }
    if (packageJson.kind === 'invalid') {
      systemLog('warning', `Worker failed to load package.json of ${directory}: ${packageJson.reason}`);
    } else if (packageJson.kind === 'read' && packageJson.main !== undefined && files.length === 0) {
      systemLog(
        'warning',
        `"main": "${packageJson.main}" in package.json matches no file in ${directory}; only function.json folders are used.`,
      );
    }
    const took = `Loaded ${files.length} entry points of ${directory} in ${Math.round(tookMs)} ms`;
    systemLog(tookMs > slowMs ? 'warning' : 'debug', took);
  };
}
