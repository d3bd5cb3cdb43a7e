import { parts, runParts } from './parts.js';

await runParts(Object.values(parts));
