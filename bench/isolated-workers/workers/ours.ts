import { startWorkerServer } from '@drover/isolated-workers/worker';
import type { EchoMessages } from '../echo-messages.js';
import { exit, exitOnce } from './exits.js';

const never = new Promise<never>(() => undefined);

await startWorkerServer<EchoMessages>({
  echo: (value) => value,
  exit,
  exitOnce,
  hang: () => never,
  hangOnce: (value, { attempt }) => (attempt > 1 ? value : never),
});
