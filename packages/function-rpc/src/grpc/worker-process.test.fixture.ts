import { connectEventStream } from '../client/connect-event-stream.js';
import { startStream } from '../testing/messages.js';

/** A worker in its own process, to be killed by the test: `node … url` connects, sends StartStream, and stays. */
const stream = await connectEventStream({ url: process.argv[2] ?? '' });
stream.start({ onMessage: () => undefined, onEnd: (end) => process.stdout.write(`ended ${end.kind}\n`) });
stream.send(startStream('child'));
process.stdout.write('connected\n');
