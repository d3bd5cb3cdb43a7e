import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Leash } from '@drover/service-kit';
import { interleaveParts, type Progress } from '../harness/rounds.js';
import { runSuite } from '../harness/run-suite.js';
import type { Figure } from '../harness/table.js';
import { emulatorsMeasurement } from './emulators.js';
import { functionsMeasurement } from './functions.js';
import { memoryMeasurement } from './memory.js';
import { quick, thorough, type Pace, type Surroundings } from './suite.js';

async function measure(surroundings: Surroundings, signal: AbortSignal, progress: Progress): Promise<Figure[]> {
  const parts = [emulatorsMeasurement, functionsMeasurement, memoryMeasurement].map((open) => () => open(surroundings));
  return await interleaveParts(parts, surroundings.pace.rounds, { signal, progress });
}

await runSuite<Pace>({
  name: 'triggers',
  quick,
  thorough,
  async measure(pace, signal, progress) {
    const leash = new Leash();
    const directory = await mkdtemp(path.join(tmpdir(), 'drover-triggers-'));
    try {
      return await measure({ leash, directory, pace }, signal, progress);
    } finally {
      await leash.stop();
      await rm(directory, { recursive: true, force: true });
    }
  },
});
