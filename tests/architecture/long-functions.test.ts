import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { isForTests, root } from './workspace.js';

interface Finding {
  readonly message: string;
  readonly filename: string;
  readonly labels: readonly { readonly span: { readonly line: number } }[];
}

/** Functions of more than 60 lines of code without a comment directly above them. */
async function longFunctions(directory: string, ...folders: readonly string[]): Promise<string[]> {
  const config = path.join(root, 'tests/architecture/long-functions.oxlintrc.json');
  const args = [path.join(root, 'node_modules/oxlint/bin/oxlint'), '-c', config, '-f', 'json', ...folders];
  const output = await new Promise<string>((resolve) => {
    // It exits with 1 when it finds something.
    execFile(process.execPath, args, { cwd: directory, maxBuffer: 16_777_216 }, (_, stdout) => resolve(stdout));
  });
  const { diagnostics } = JSON.parse(output) as { readonly diagnostics: readonly Finding[] };
  const own = diagnostics.filter(({ filename }) => !isForTests(filename));
  return own.flatMap(({ message, filename, labels }) => {
    const lines = readFileSync(path.join(directory, filename), 'utf8').split('\n');
    const above = lines[(labels[0]?.span.line ?? 1) - 2]?.trim() ?? '';
    return /^\/\/|\*\/$/.test(above) ? [] : [`${filename}: ${message}`];
  });
}

describe('functions of more than 60 lines', () => {
  it('say at their head why they are whole', async () => {
    expect(await longFunctions(root, 'packages', 'apps')).toEqual([]);
  });

  it('are found, with and without a comment', () =>
    withScratchDirectory(async (directory) => {
      const body = Array.from({ length: 61 }, (_, n) => `  console.log(${n});`).join('\n');
      writeFileSync(path.join(directory, 'bare.ts'), `const a = 1;\nexport function bare() {\n${body}\n}\n`);
      writeFileSync(path.join(directory, 'reason.ts'), `/** One list. */\nexport function reason() {\n${body}\n}\n`);
      writeFileSync(path.join(directory, 'short.ts'), 'export function short() {}\n');
      expect(await longFunctions(directory, '.')).toEqual([expect.stringMatching(/^(\.\/)?bare\.ts: .*bare.*/)]);
    }));
});
