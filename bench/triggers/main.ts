import { Leash } from '@drover/service-kit';
import { interleaveParts } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import { withOpenDirectory } from '../harness/scratch-directory.js';
import { emulatorsMeasurement } from './emulators.js';
import { functionsMeasurement } from './functions.js';
import { memoryMeasurement } from './memory.js';
import { quick, thorough, type Pace } from './suite.js';

await runSuite<Pace>({
  name: 'triggers',
  quick,
  thorough,
  measure: (pace, run) =>
    withOpenDirectory(async (directory) => {
      const leash = new Leash();
      try {
        const parts = [emulatorsMeasurement, functionsMeasurement, memoryMeasurement].map(
          (open) => () => open({ leash, directory, pace }),
        );
        return await interleaveParts(parts, pace.rounds, run);
      } finally {
        await leash.stop();
      }
    }),
});
