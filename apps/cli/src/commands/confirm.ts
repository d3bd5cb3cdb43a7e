import { createInterface } from 'node:readline/promises';

/** Without a terminal there is nothing to ask: the caller has to agree in advance. */
export async function confirm(
  question: string,
  { yes }: { readonly yes?: boolean },
  { stdin, stderr }: NodeJS.Process,
): Promise<void> {
  if (yes) return;
  if (!stdin.isTTY)
    throw new Error('Nothing was changed: standard input is no terminal. Repeat the command with --yes.');
  const terminal = createInterface({ input: stdin, output: stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('Nothing was changed.');
}
