import { Leash } from '@drover/service-kit';
import { measureRounds, type Run } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import type { Figure } from '../harness/table.js';
import { invocationsMeasurement } from './invocations.js';
import { routingMeasurement } from './routing.js';
import { startsMeasurement } from './starts.js';
import { quick, thorough, type Measurement, type Pace, type Surroundings } from './suite.js';

await runSuite<Pace>({
  name: 'function-rpc',
  quick,
  thorough,
  async measure(pace, run) {
    const leash = new Leash();
    const surroundings = { pace, leash, signal: run.signal };
    try {
      // One part after the other, each with rounds of its own: the processes of one are not to disturb the next.
      return [
        ...(await measured(invocationsMeasurement, surroundings, run)),
        ...(await measured(routingMeasurement, surroundings, run)),
        ...(await measured(startsMeasurement, surroundings, run)),
      ];
    } finally {
      await leash.stop();
    }
  },
});

async function measured<Sample>(
  open: (surroundings: Surroundings) => Promise<Measurement<Sample>>,
  surroundings: Surroundings,
  run: Run,
): Promise<readonly Figure[]> {
  const measurement = await open(surroundings);
  try {
    return await measureRounds(measurement, surroundings.pace.rounds, run);
  } finally {
    await measurement.close();
  }
}
