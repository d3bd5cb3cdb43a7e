import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { emitFiles } from './emit-file.js';
import { packageFolder, protocolSchema } from './schema.js';

const folder = path.join(packageFolder, 'src', 'generated');
mkdirSync(folder, { recursive: true });
const files = emitFiles(protocolSchema());
for (const name of readdirSync(folder)) rmSync(path.join(folder, name));
for (const [name, text] of files) writeFileSync(path.join(folder, name), text);
process.stdout.write(`${files.size} files written\n`);
