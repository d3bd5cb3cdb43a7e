import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually, withScratchDirectory } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { realDisk, type Disk } from './disk.js';
import { FileJournal, type FileJournalOptions } from './file-journal.js';
import type { JournalRecord } from './frame.js';

/** A list whose state is its records. */
async function openList(directory: string, options: Partial<FileJournalOptions> = {}) {
  const list: string[] = [];
  const warnings: string[] = [];
  const journal = await FileJournal.open({
    directory,
    replay: (record) => void list.push(record.toString()),
    snapshot: () => list,
    warn: (sentence) => void warnings.push(sentence),
    ...options,
  });
  const add = (text: string, record: JournalRecord = text): Promise<void> => {
    journal.ensureWritable();
    list.push(text);
    return journal.append(record);
  };
  return { journal, list, warnings, add };
}

async function reopened(directory: string): Promise<string[]> {
  const { journal, list } = await openList(directory);
  await journal.close();
  return list;
}

const file = (directory: string): string => path.join(directory, 'journal');

describe('a journal', () => {
  it('replays what was appended, in order, from any parts', () =>
    withScratchDirectory(async (directory) => {
      const { journal, add } = await openList(path.join(directory, 'made', 'here'));
      await add('one');
      await Promise.all([
        add('zwölf🙂', ['zw', 'ölf', Buffer.from('🙂')]),
        add('', []),
        add('three', Buffer.from('three')),
      ]);
      await journal.close();
      expect(await reopened(path.join(directory, 'made', 'here'))).toEqual(['one', 'zwölf🙂', '', 'three']);
    }));

  it('syncs once for all records that arrive while the disk is busy', () =>
    withScratchDirectory(async (directory) => {
      let syncs = 0;
      const disk: Disk = { ...realDisk, sync: (fd) => ((syncs += 1), realDisk.sync(fd)) };
      const { journal, add } = await openList(directory, { disk });
      syncs = 0;
      await Promise.all(Array.from({ length: 500 }, (_, n) => add(`${n}`)));
      expect(syncs).toBe(1);
      const first = add('a');
      await new Promise((resolve) => setImmediate(resolve)); // its commit has begun
      await Promise.all([first, add('b'), add('c')]);
      expect(syncs).toBe(3);
      await journal.close();
    }));

  it('resolves an append only after the sync', () =>
    withScratchDirectory(async (directory) => {
      let finish: () => void = () => undefined;
      let isHeld = false;
      const held = async (fd: number): Promise<void> => {
        if (isHeld) await new Promise<void>((resolve) => (finish = resolve));
        await realDisk.sync(fd);
      };
      const { journal, add } = await openList(directory, { disk: { ...realDisk, sync: held } });
      isHeld = true;
      let isDone = false;
      const appended = add('x').then(() => (isDone = true));
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      expect(isDone).toBe(false);
      isHeld = false;
      finish();
      await appended;
      await journal.close();
    }));

  it('continues with a record that is appended by the caller of the last one', () =>
    withScratchDirectory(async (directory) => {
      const { journal, add } = await openList(directory);
      for (let n = 0; n < 20; n += 1) {
        await add(`${n}`);
        for (let turn = 0; turn < n; turn += 1) await Promise.resolve(); // any number of microtasks later
      }
      await journal.close();
      expect(await reopened(directory)).toHaveLength(20);
    }));

  it('makes accepted records durable on close, and refuses later ones', () =>
    withScratchDirectory(async (directory) => {
      const { journal, add } = await openList(directory);
      void add('last');
      await journal.close();
      await expect(journal.append('late')).rejects.toMatchObject({ code: 'JOURNAL_CLOSED' });
      expect(await reopened(directory)).toEqual(['last']);
    }));
});

describe('compaction', () => {
  it('is compacted on close when much was appended, and left as it is when little was', () =>
    withScratchDirectory(async (directory) => {
      const { journal, list, add } = await openList(directory);
      for (let n = 0; n < 200; n += 1) await add(`${n}`.padEnd(500, '.'));
      const before = statSync(file(directory)).size;
      list.splice(0, 190); // what was done with: it is not part of the state any more
      await journal.close();
      const compacted = statSync(file(directory)).size;
      expect(compacted).toBeLessThan(before / 10);
      expect(await reopened(directory)).toHaveLength(10);
      expect(statSync(file(directory)).size).toBe(compacted);
    }));

  it('replaces the file by a snapshot and loses nothing that is appended meanwhile', () =>
    withScratchDirectory(async (directory) => {
      const state = new Map<string, string>();
      const open = () =>
        FileJournal.open({
          directory,
          compactAfterBytes: 2_000,
          replay: (record) => {
            const [key = '', value = ''] = record.toString().split('=');
            state.set(key, value);
          },
          snapshot: function* () {
            for (const [key, value] of state) yield `${key}=${value}`;
          },
        });
      const journal = await open();
      let largest = 0;
      for (let round = 0; round < 400; round += 1) {
        const pair = [`key-${round % 10}`, `${round}`] as const;
        state.set(...pair);
        const durable = journal.append(pair.join('='));
        if (round % 3 === 0) await durable;
        largest = Math.max(largest, statSync(file(directory)).size);
      }
      await journal.close();
      expect(largest).toBeLessThan(4_000);
      const before = new Map(state);
      state.clear();
      await (await open()).close();
      expect(state).toEqual(before);
      expect(readdirSync(directory)).toEqual(['journal']);
    }));

  it('keeps the old file until the new one is durable, and its records when the new one fails', () =>
    withScratchDirectory(async (directory) => {
      const disk: Disk = {
        ...realDisk,
        write: (fd, bytes, offset) => {
          if (bytes.length > 100) throw new Error('ENOSPC: no space left on device');
          realDisk.write(fd, bytes, offset);
        },
      };
      const { journal, add, warnings } = await openList(directory, { disk, compactAfterBytes: 300 });
      for (let n = 0; n < 50; n += 1) await add(`record ${n}`);
      expect(warnings[0]).toMatch(/could not be compacted .*no space left/);
      await journal.close();
      expect(await reopened(directory)).toHaveLength(50);
    }));
});

describe('a journal whose process was killed', () => {
  it('keeps every record before the cut, at every byte of the file', () =>
    withScratchDirectory(async (directory) => {
      const { journal, add } = await openList(path.join(directory, 'whole'));
      const ends = [statSync(file(path.join(directory, 'whole'))).size];
      for (const texts of [['a'], ['bb', 'ccc'], [''], ['d'.repeat(40)], ['e', '']]) {
        await Promise.all(texts.map((text) => add(text)));
        ends.push(statSync(file(path.join(directory, 'whole'))).size);
      }
      const bytes = readFileSync(file(path.join(directory, 'whole'))); // as a kill leaves it
      await journal.close();
      const counts = [0, 1, 3, 4, 5, 7];
      const all = await reopened(path.join(directory, 'whole'));
      for (let cut = ends[0] ?? 0; cut <= bytes.length; cut += 1) {
        const copy = path.join(directory, `cut-${cut}`);
        mkdirSync(copy);
        writeFileSync(file(copy), bytes.subarray(0, cut));
        const { journal: again, list, warnings, add: addAgain } = await openList(copy);
        const whole = ends.findLastIndex((end) => end <= cut);
        expect(list, `cut at ${cut}`).toEqual(all.slice(0, counts[whole]));
        expect(warnings).toHaveLength(ends.includes(cut) ? 0 : 1);
        await addAgain('next');
        await again.close();
        expect(await reopened(copy)).toEqual([...all.slice(0, counts[whole]), 'next']);
      }
    }));

  it('drops a last write of which any parts are missing', () =>
    withScratchDirectory(async (directory) => {
      const { journal, add } = await openList(directory);
      await add('safe');
      const end = statSync(file(directory)).size;
      await Promise.all([add('x'.repeat(50)), add('y'.repeat(50))]);
      const bytes = readFileSync(file(directory));
      await journal.close();
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: end, max: bytes.length - 1 }),
          fc.integer({ min: 1, max: 20 }),
          async (at, length) => {
            const torn = Buffer.from(bytes);
            torn.fill(0, at, Math.min(at + length, bytes.length)); // pages are written in any order
            fc.pre(!torn.equals(bytes));
            writeFileSync(file(directory), torn);
            expect(await reopened(directory)).toEqual(['safe']);
          },
        ),
        { numRuns: 60 },
      );
    }));

  it('names the place when bytes have changed before the last write, and changes nothing', () =>
    withScratchDirectory(async (directory) => {
      const { journal, add } = await openList(directory, { compactAfterBytes: 100 });
      for (let n = 0; n < 12; n += 1) await add(`record ${n}`);
      const bytes = readFileSync(file(directory));
      await journal.close();
      const lastFrame = bytes.lastIndexOf(Buffer.from([0xf5, 0x4a, 0x52, 0x4e]));
      for (let at = 0; at < lastFrame; at += 1) {
        if (at >= 20 && at < 24) continue; // padding
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ 0x10;
        writeFileSync(file(directory), damaged);
        await expect(openList(directory), `byte ${at}`).rejects.toMatchObject({
          code: 'JOURNAL_CORRUPT',
          message: expect.stringMatching(/is damaged at byte \d+ .* Restore the file/),
        });
        expect(readFileSync(file(directory)).equals(damaged)).toBe(true);
      }
    }));

  it('takes a copy of a journal inside a record for data', () =>
    withScratchDirectory(async (directory) => {
      const { journal, add } = await openList(directory);
      await add('inner');
      const copy = readFileSync(file(directory));
      await add('outer', copy);
      const bytes = readFileSync(file(directory));
      await journal.close();
      writeFileSync(file(directory), bytes.subarray(0, -1));
      expect(await reopened(directory)).toEqual(['inner']);
    }));
});

describe('a disk that refuses writes', () => {
  const failing = () => {
    const broken = { isBroken: false };
    const disk: Disk = {
      ...realDisk,
      write(fd, bytes, offset) {
        if (!broken.isBroken) return realDisk.write(fd, bytes, offset);
        realDisk.write(fd, bytes.subarray(0, bytes.length >> 1), offset); // a full disk takes a part
        throw new Error('ENOSPC: no space left on device, write');
      },
    };
    return { broken, disk };
  };

  it('is named to every caller, and loses nothing that was accepted', () =>
    withScratchDirectory(async (directory) => {
      const { broken, disk } = failing();
      const { journal, add, warnings } = await openList(directory, { disk });
      await add('accepted');
      broken.isBroken = true;
      const refused = { code: 'JOURNAL_REFUSES_WRITES', message: expect.stringMatching(/no space left.*free space/) };
      await expect(Promise.all([add('x'), add('y')])).rejects.toMatchObject(refused);
      expect(() => journal.ensureWritable()).toThrow(/no space left/);
      await expect(journal.append('z')).rejects.toMatchObject(refused);
      expect(warnings).toHaveLength(1);
      await journal.close();
      expect(await reopened(directory)).toEqual(['accepted']);
    }));

  it('is used again when it works again, with the state of the service', () =>
    withScratchDirectory(async (directory) => {
      const { broken, disk } = failing();
      const { journal, list, add, warnings } = await openList(directory, { disk });
      await add('accepted');
      broken.isBroken = true;
      await expect(add('unsure')).rejects.toThrow(/no space/);
      broken.isBroken = false;
      await eventually(() => journal.ensureWritable());
      expect(warnings.at(-1)).toMatch(/can be written again/);
      await add('later');
      await journal.close();
      expect(list).toEqual(['accepted', 'unsure', 'later']);
      expect(await reopened(directory)).toEqual(list);
    }));
});

describe('the directory of a journal', () => {
  it('belongs to one journal at a time', () =>
    withScratchDirectory(async (directory) => {
      const { journal } = await openList(directory);
      await expect(openList(directory)).rejects.toMatchObject({
        code: 'JOURNAL_LOCKED',
        message: expect.stringContaining(`in use by this process (${process.pid})`),
      });
      await journal.close();
      expect(await reopened(directory)).toEqual([]);
    }));

  it('is taken over from a process that has ended, or whose id another process has now', () =>
    withScratchDirectory(async (directory) => {
      mkdirSync(directory, { recursive: true });
      for (const owner of ['999999999 1 boot', `${process.pid} 1 another-boot`, '']) {
        writeFileSync(path.join(directory, 'lock'), owner);
        expect(await reopened(directory)).toEqual([]);
      }
    }));
});
