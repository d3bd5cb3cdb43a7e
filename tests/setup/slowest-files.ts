import type { TestModule } from 'vitest/node';

const shownFiles = 10;

/** The ten files of a run that took longest, as lines. */
export function slowestFiles(modules: readonly TestModule[]): string {
  const files = modules
    .map((module) => ({ file: module.relativeModuleId, seconds: secondsOf(module) }))
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, shownFiles);
  return ['', `Slowest ${files.length} files:`, ...files.map(({ file, seconds }) => `${seconds.toFixed(1)} s  ${file}`)]
    .map((line) => `${line}\n`)
    .join('');
}

/** Loading the file, its hooks and its tests. */
function secondsOf(module: TestModule): number {
  const { prepareDuration, environmentSetupDuration, setupDuration, collectDuration, duration } = module.diagnostic();
  return (prepareDuration + environmentSetupDuration + setupDuration + collectDuration + duration) / 1_000;
}
