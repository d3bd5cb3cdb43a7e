import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { emitFiles } from './emit-file.js';
import { packageFolder, protocolSchema } from './schema.js';

const folder = path.join(packageFolder, 'src', 'generated');
const schema = protocolSchema();

describe('the generated code', () => {
  const files = emitFiles(schema);

  it('is what the generator makes of the .proto files (else: npm run generate -w @drover/function-rpc)', () => {
    const present = readdirSync(folder);
    expect(present.toSorted()).toEqual([...files.keys()].toSorted());
    for (const [name, text] of files) expect(readFileSync(path.join(folder, name), 'utf8')).toBe(text);
  });

  it('says on its first line that it is generated', () => {
    for (const text of files.values()) expect(text).toMatch(/^\/\/ Generated from proto\/ by src\/generator\/main\.ts/);
  });

  it('is exported in full: every message, what writes it, and every enumeration', () => {
    const index = readFileSync(path.join(packageFolder, 'src', 'index.ts'), 'utf8');
    const names = (files.get('index.ts') ?? '').replaceAll(/^\/\/.*$/gm, '').match(/\b[A-Z]\w+(?=[, ])/g) ?? [];
    expect(names.length).toBeGreaterThan(schema.messages.length + schema.enums.length);
    expect(names.filter((name) => !new RegExp(`\\b${name},`).test(index))).toEqual([]);
  });
});
