import { runProgram } from './program.js';

// A reader such as `head` closes the pipe when it has enough: the rest of the output is not needed.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
await runProgram(process.argv.slice(2), process);
