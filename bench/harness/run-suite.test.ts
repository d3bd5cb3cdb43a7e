import { fileURLToPath } from 'node:url';
import { Child } from '@drover/testkit';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('../dist/harness/programs/failing-suite.js', import.meta.url));

it('prints figures as they come, and ends with them and exit code 1 when a clean-up fails', async () => {
  const suite = new Child(process.execPath, [program, '--json']);
  expect(await suite.exited).toMatchObject({ code: 1 });
  expect(suite.stderr.filter((line) => line.startsWith('rounds '))).toHaveLength(2);
  expect(JSON.parse(suite.stdout.join(''))).toMatchObject({
    suite: 'failing',
    isComplete: false,
    figures: [{ what: 'rounds', value: 2 }],
  });
  expect(suite.output).toContain('ERR_FS_EISDIR');
});
