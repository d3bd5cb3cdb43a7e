import { Leash } from '@drover/service-kit';
import { interleave, type Progress } from '../harness/rounds.js';
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
  async measure(pace, signal, progress) {
    const leash = new Leash();
    const surroundings = { pace, leash, signal };
    try {
      // One part after the other, each with rounds of its own: the processes of one are not to disturb the next.
      return [
        ...(await measured(invocationsMeasurement, surroundings, progress)),
        ...(await measured(routingMeasurement, surroundings, progress)),
        ...(await measured(startsMeasurement, surroundings, progress)),
      ];
    } finally {
      await leash.stop();
    }
  },
});

async function measured<Sample>(
  open: (surroundings: Surroundings) => Promise<Measurement<Sample>>,
  surroundings: Surroundings,
  progress: Progress,
): Promise<Figure[]> {
  const { pace, signal } = surroundings;
  const measurement = await open(surroundings);
  try {
    return measurement.figures(await interleave(measurement.contenders, pace.rounds, { signal, progress }));
  } finally {
    await measurement.close();
  }
}
