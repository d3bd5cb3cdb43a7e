import { readFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '@drover/testkit';
import { expect, it } from 'vitest';
import { app } from '../support/functions.js';
import { currentPid, readyLine, startUp, withDataDirectory } from '../support/platform.js';
import { RecordsApi } from '../support/records-api.js';

interface LedgerLine {
  readonly what: 'began' | 'ended';
  readonly id: string;
  readonly version: number;
  /** Of the function worker. */
  readonly pid: number;
}

/** The lines that the function wrote; a line that a kill cut off counts for nothing. */
function readLedger(file: string): LedgerLine[] {
  return readFileSync(file, { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as LedgerLine] : []));
}

/** Returns a change that its function has begun and not ended, in the worker that wrote last. */
function runningChange(lines: readonly LedgerLine[]): LedgerLine | undefined {
  const pid = lines.at(-1)?.pid;
  const own = lines.filter((line) => line.pid === pid);
  const open = new Map<string, LedgerLine>();
  for (const line of own) {
    if (line.what === 'began') open.set(line.id, line);
    else open.delete(line.id);
  }
  return [...open.values()].at(-1);
}

/** Creates a record and changes it again and again until `signal` aborts. Lost answers are ignored: the table tells what was written. */
async function keepChanging(api: RecordsApi, confirmed: Map<string, number>, signal: AbortSignal): Promise<void> {
  let id: string | undefined;
  for (let n = 1; !signal.aborted; n += 1) {
    const request = id === undefined ? api.post('/api/ledger', { n }) : api.call('PATCH', `/api/ledger/${id}`, { n });
    const answer = await request.catch(() => undefined);
    if (answer?.status !== 200 && answer?.status !== 201) continue;
    const { id: written, meta } = answer.body.data as { id: string; meta: { version: number } };
    id = written;
    confirmed.set(written, meta.version);
  }
}

it('delivers every change, in order per record, while function worker, runtime and collection worker are killed under writes', ({
  annotate,
}) =>
  withDataDirectory(async (directory, started) => {
    const file = path.join(path.dirname(directory), 'ledger');
    const env = { LEDGER_FILE: file, DROVER_LOG_LEVEL: 'info', DROVER_SCALE_MAX_WORKERS: '2' };
    const up = started(startUp(directory, { args: ['--app', app('record-ledger'), '--json'], env }));
    const api = await RecordsApi.of(await readyLine(up));
    const defined = await api.post('/control/collections', {
      name: 'ledger',
      fields: [{ name: 'n', type: 'integer' }],
    });
    expect(defined.status).toBe(201);

    const over = new AbortController();
    const confirmed = new Map<string, number>();
    const writers = Array.from({ length: 4 }, () => keepChanging(api, confirmed, over.signal));
    const ended = (): number => readLedger(file).filter(({ what }) => what === 'ended').length;
    const progress = async (): Promise<void> => {
      const before = ended();
      await eventually(() => ended() > before + 20);
    };
    const victims = ['function worker', 'collection-worker-1', 'runtime-1'] as const;
    for (const victim of victims) {
      await progress();
      // The kill follows at once, so that it meets a delivery.
      const { pid } = await eventually(() => runningChange(readLedger(file)) ?? Promise.reject(new Error('none runs')));
      process.kill(victim === 'function worker' ? pid : currentPid(up, victim), 'SIGKILL');
    }
    await progress();
    over.abort();
    await Promise.all(writers);

    const { body } = await api.get('/api/ledger?shape=flat&page[size]=1000');
    const records = body.data as { id: string; version: number }[];
    expect(records.length).toBeGreaterThanOrEqual(writers.length);
    for (const [id, version] of confirmed)
      expect(records.find((record) => record.id === id)?.version).toBeGreaterThanOrEqual(version);
    const missing = (): string[] => {
      const done = new Set(readLedger(file).flatMap((l) => (l.what === 'ended' ? [`${l.id} ${l.version}`] : [])));
      const all = records.flatMap(({ id, version }) => Array.from({ length: version }, (_, n) => `${id} ${n + 1}`));
      return all.filter((change) => !done.has(change));
    };
    await eventually(() => expect(missing()).toEqual([]), 120_000);

    const lines = readLedger(file);
    expect(disorder(lines)).toEqual([]);
    const begun = lines.filter(({ what }) => what === 'began').length;
    const changes = records.reduce((sum, { version }) => sum + version, 0);
    await annotate(`${changes} changes, ${begun - changes} delivered again after ${victims.length} kills`);
  }));

/**
 * Returns where the order of the changes of a record was broken. After a kill the function continues at an earlier change, but never
 * skips one, and never begins a change before the one before it has ended once.
 */
function disorder(lines: readonly LedgerLine[]): string[] {
  const last = new Map<string, number>();
  const finished = new Map<string, number>();
  const found: string[] = [];
  for (const { what, id, version } of lines) {
    if (what === 'ended') finished.set(id, Math.max(finished.get(id) ?? 0, version));
    else {
      const before = last.get(id) ?? 0;
      if (version > before + 1) found.push(`${id}: ${version} began after ${before}`);
      if (version > (finished.get(id) ?? 0) + 1) found.push(`${id}: ${version} began before ${version - 1} had ended`);
      last.set(id, version);
    }
  }
  return found;
}
