import { systemClock, systemRandomness } from '@drover/service-kit';
import { LockedMessages } from '../locked-messages.js';
import { serviceBusConnection } from '../service-bus/service-bus-connection.js';
import { ServiceBusListener } from '../service-bus/service-bus-listener.js';
import { serviceBusOptions } from '../service-bus/service-bus-options.js';
import type { Settlement } from '../trigger-source.js';
import type { BusVictimAssignment } from './victims.js';

process.once('disconnect', () => process.exit());
const { connectionString, binding, settles } = JSON.parse(process.argv[2] ?? '') as BusVictimAssignment; // from startBusVictim

const functionName = 'victim';
const listener = new ServiceBusListener({
  application: 'victim',
  functionName,
  connection: serviceBusConnection({ functionName, connection: 'Bus', settings: { Bus: connectionString } }),
  options: serviceBusOptions({ functionName, host: {}, binding, cores: 1 }),
  deliver: ({ data }) => {
    process.stdout.write(`got ${String(data)}\n`);
    return settles === 'everything' ? Promise.resolve({ kind: 'complete' }) : new Promise<Settlement>(() => undefined);
  },
  lockedMessages: new LockedMessages(),
  clock: systemClock,
  randomness: systemRandomness,
  observe: () => undefined,
});
await listener.start(new AbortController().signal);
process.stdout.write('listening\n');
