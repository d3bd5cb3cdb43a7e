import { MemoryQueue } from './memory-queue.js';
import { serviceError } from './memory-queue-account.js';
import { triggerListenerContract } from './trigger-listener-contract.js';

triggerListenerContract('queue in memory', async () => {
  const queue = new MemoryQueue({ options: { leaseMs: 400, maxDequeueCount: 4 } });
  const never = new AbortController().signal;
  return {
    maxDeliveries: 4,
    shortestDelayMs: 1_000,
    listener: (deliver) => queue.listener(deliver),
    send: (bodies) => queue.send(...bodies),
    putAside: async () => queue.poisoned,
    remaining: async () => queue.bodies.length,
    async victim() {
      let isDead = false;
      let holds = 0;
      const reachable = queue.account.queue(queue.name);
      /** Reaches nothing once it is dead. */
      const mortal = <Call extends (...args: never[]) => Promise<unknown>>(call: Call): Call =>
        ((...args) => (isDead ? Promise.reject(serviceError('ECONNREFUSED', 503)) : call(...args))) as Call; // same call
      const listener = queue.listener(
        () => {
          holds += 1;
          return new Promise(() => undefined);
        },
        {
          setting: 'AzureWebJobsStorage',
          queue: () => ({
            ...reachable,
            receive: mortal(reachable.receive.bind(reachable)),
            hide: mortal(reachable.hide.bind(reachable)),
          }),
        },
      );
      await listener.start(never);
      return {
        holds: () => holds,
        kill: () => {
          isDead = true;
          return listener.stop();
        },
      };
    },
    close: () => Promise.resolve(),
  };
});
