import type { Child } from '@drover/testkit';

/** Longer than a platform takes to stop; its leash waits as long. */
const stopMs = 20_000;

/** An environment without settings of the platform, of Node.js and of npm. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !/^(DROVER_|DATABASE_|NODE_|npm_|OTEL_)/i.test(name));
  return Object.fromEntries(others);
}

/** Stops a `drover up` as a user does, so that its database server has left the data directory; kills it after 20 s. */
export async function stopInOrder(up: Child): Promise<void> {
  up.kill('SIGTERM');
  await Promise.race([up.exited, new Promise((resolve) => setTimeout(resolve, stopMs).unref())]);
  await up.end();
}
