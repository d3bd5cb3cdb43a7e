import { afterEach, describe, expect, it } from 'vitest';
import { noteExecution } from './note-execution.js';
import { Recorder } from './recorder.js';

let recorder: Recorder | undefined;
afterEach(() => recorder?.close());

describe('a recorder', () => {
  it('waits for each job it was told of, knows when it ran, and counts those that ran again', async () => {
    recorder = await Recorder.listen();
    const before = recorder.expect(1);
    const expected = recorder.expect(3);
    for (const number of [0, 2, 1, 2]) noteExecution(recorder.port, expected.first + number);
    noteExecution(recorder.port, before.first);
    noteExecution(recorder.port, expected.first + 3);
    await expected.done;
    const [first = 0, second = 0, third = 0] = expected.ranAtMs;
    expect(first).toBeGreaterThan(0);
    expect(third).toBeLessThanOrEqual(second);
    expect(expected.again()).toBe(1);
  });

  it('fails what it waits for when it is closed', async () => {
    const closed = await Recorder.listen();
    const expected = closed.expect(1);
    await closed.close();
    await expect(expected.done).rejects.toThrow('closed');
  });
});
