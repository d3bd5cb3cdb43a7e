import { parts, runParts } from './parts.js';

// node part.js <name> [--quick] [--json]: what comes after the name is for the suite.
const [name = ''] = process.argv.splice(2, 1);
const part = parts[name];
if (!part) throw new Error(`no part "${name}"; there are: ${Object.keys(parts).join(', ')}`);
await runParts([part]);
