import { Secret, systemClock } from '@drover/service-kit';
import { ScaleLinkServer } from './scale-link-server.js';

/** A scale controller in a process of its own, for tests that pause it. Prints its URL, then a line for each runtime. */
const server = new ScaleLinkServer({
  host: '127.0.0.1',
  port: 0,
  token: new Secret('a-token-for-tests'),
  tls: undefined,
  clock: systemClock,
  refusal: () => undefined,
  onRefused: () => undefined,
  onAttached: () => {
    process.stdout.write('attached\n');
    return { received: () => undefined, detached: () => undefined };
  },
});
await server.start();
process.stdout.write(`${server.url}\n`);
