import { runProcess } from '@drover/service-kit';
import { flagsToEnvironment, usage } from './command-line.js';
import { runtimeProcess } from './compose.js';

try {
  const flags = flagsToEnvironment(process.argv.slice(2));
  if (flags) await runProcess(runtimeProcess(flags));
  else process.stdout.write(usage);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 64;
}
