import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** What the handler below writes down, one line each. */
interface LocalLine {
  readonly what: 'began' | 'ended' | 'overlap';
  readonly executionId: string;
  readonly attempt: number;
  readonly ms: number;
}

const handler = `
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const file = (name) => new URL(name, import.meta.url);
const isAlive = (pid) => {
  try {
    return !/\\) [ZX] /.test(readFileSync('/proc/' + pid + '/stat', 'utf8'));
  } catch {
    return false;
  }
};

export default async function ledger({ n, workMs = 0 }, { executionId, attempt }) {
  const write = (what) => appendFileSync(file('ledger'), JSON.stringify({ what, executionId, attempt, ms: Date.now() }) + '\\n');
  const mark = file('runs/' + executionId);
  try {
    if (isAlive(readFileSync(mark, 'utf8'))) write('overlap');
  } catch {
    // no process runs it, as it should be
  }
  writeFileSync(mark, String(process.pid));
  write('began');
  if (workMs > 0) await pause(workMs);
  write('ended');
  rmSync(mark);
  return { n, attempt };
}
`;

/**
 * A handler of the mode LOCAL that writes down what runs when, into files beside itself: its processes die with the
 * platform's, the files do not. A run is marked with the pid of its process, so that the next one sees whether it still lives.
 */
export class LocalLedger {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async open(directory: string): Promise<LocalLedger> {
    await mkdir(path.join(directory, 'runs'), { recursive: true });
    await writeFile(path.join(directory, 'package.json'), '{ "type": "module" }');
    await writeFile(path.join(directory, 'ledger.js'), handler);
    return new LocalLedger(directory);
  }

  /** Executions that ran to their end, and how often each began. */
  read(): {
    readonly ended: ReadonlySet<string>;
    readonly began: ReadonlyMap<string, number>;
    readonly violations: string[];
  } {
    const ended = new Set<string>();
    const began = new Map<string, number>();
    const highest = new Map<string, number>();
    const violations: string[] = [];
    for (const { what, executionId, attempt } of this.#lines()) {
      if (what === 'ended') ended.add(executionId);
      if (what === 'overlap') violations.push(`ledger ${executionId}: attempt ${attempt} began while another ran`);
      if (what !== 'began') continue;
      if (attempt <= (highest.get(executionId) ?? 0))
        violations.push(`ledger ${executionId}: attempt ${attempt} began after ${highest.get(executionId)}`);
      highest.set(executionId, attempt);
      began.set(executionId, (began.get(executionId) ?? 0) + 1);
    }
    return { ended, began, violations };
  }

  #lines(): LocalLine[] {
    const file = path.join(this.directory, 'ledger');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as LocalLine);
  }
}
