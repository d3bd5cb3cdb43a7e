import { connectEventStream } from '../client/connect-event-stream.js';
import { startStream } from '../testing/messages.js';

/** A worker in a process of its own, to be killed: `node … url` connects, says who it is, and stays. */
const stream = await connectEventStream({ url: process.argv[2] ?? '' });
stream.start({ onMessage: () => undefined, onEnd: (end) => process.stdout.write(`ended ${end.kind}\n`) });
stream.send(startStream('child'));
process.stdout.write('connected\n');
