import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../architecture/workspace.js';
import { documents } from './documents.js';

for (const [file, make] of Object.entries(documents)) writeFileSync(path.join(root, file), make());
