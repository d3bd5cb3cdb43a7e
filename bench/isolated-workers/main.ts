import { measureRounds, type Run } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import type { Figure } from '../harness/table.js';
import { crashesMeasurement } from './crashes.js';
import { exitsMeasurement } from './exits.js';
import { largeMessagesMeasurement } from './large-messages.js';
import { loads } from './loads.js';
import { roundTripsMeasurement } from './round-trips.js';
import { startUpMeasurement } from './start-up.js';
import { quick, thorough, type Measurement, type Pace } from './suite.js';

async function measure(pace: Pace, run: Run): Promise<Figure[]> {
  const figures: Figure[] = [];
  // One part after the other, each with rounds of its own: the processes of one are not to disturb the next.
  for (const open of [
    startUpMeasurement,
    ...loads.map((load) => (all: Pace) => roundTripsMeasurement(load, all)),
    largeMessagesMeasurement,
    exitsMeasurement,
    crashesMeasurement,
  ]) {
    const measurement: Measurement = await open(pace);
    try {
      figures.push(...(await measureRounds(measurement, pace.rounds, run)));
    } finally {
      await measurement.close();
    }
  }
  return figures;
}

await runSuite<Pace>({ name: 'isolated-workers', quick, thorough, measure });
