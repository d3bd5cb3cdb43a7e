import { createProgram } from './program.js';

await createProgram(process).parseAsync(process.argv);
