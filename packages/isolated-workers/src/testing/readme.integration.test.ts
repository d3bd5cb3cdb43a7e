import { Child } from '@drover/testkit';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const file = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

it('the example of the README runs, survives its crash, and leaves nothing running', async () => {
  const child = new Child(process.execPath, [file('fixtures/readme-host.mjs')]);
  try {
    await expect(child.exited).resolves.toEqual({ code: 0, signal: null });
    expect(child.stdout).toEqual(['5', 'half way', '640 pixels, at attempt 2', 'line 1', 'line 2']);
  } finally {
    await child.end();
  }
});

it.each(['fixtures/readme-worker.mjs', 'fixtures/readme-host.mjs'])('the README shows %s word for word', (name) => {
  const example = readFileSync(file(name), 'utf8').replace(/^\/\* oxlint.*\n/, '');
  expect(readFileSync(file('README.md'), 'utf8')).toContain(example);
});
