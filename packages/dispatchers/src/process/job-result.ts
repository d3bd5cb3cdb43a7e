import { isUtf8 } from 'node:buffer';
import type { Payload } from '@drover/contracts';
import type { AttemptResult } from '../dispatcher.js';
import type { JobEnd } from './job-runner.js';

/** `EX_TEMPFAIL` of `sysexits.h`: the exit code by which a program asks for a retry. */
const temporaryFailure = 75;

/** Converts the end of a job that has not called back. */
export function fromJobEnd(end: JobEnd): AttemptResult {
  switch (end.kind) {
    case 'exited': {
      const { code, output, lastLine } = end;
      if (code === 0) return { kind: 'success', output: outputToPayload(output) };
      const message = `the job ended with exit code ${code}${lastLine === '' ? '' : `: ${lastLine}`}`;
      return { kind: 'failed', code: 'EXECUTION_FAILED', message, transient: code === temporaryFailure };
    }
    case 'too-much-output':
      return {
        kind: 'failed',
        code: 'EXECUTION_FAILED',
        message: `the job wrote more than ${end.limitBytes} bytes to standard output and was killed`,
        transient: false,
      };
    case 'killed':
      return { kind: 'failed', code: 'JOB_FAILED', message: `the job was killed by ${end.signal}`, transient: true };
    case 'not-started':
      return {
        kind: 'failed',
        code: 'JOB_FAILED',
        message: `the job could not be started: ${end.reason}`,
        transient: end.transient,
        ...(end.transient && { wasTurnedAway: true }),
      };
  }
}

/** JSON as it is, other text as a string without its last line end, other bytes as base64; no output is null. */
function outputToPayload(output: Buffer): Payload {
  if (!isUtf8(output)) return { json: JSON.stringify(output.toString('base64')), encoding: 'base64' };
  const text = output.toString('utf8');
  const trimmed = text.trim();
  if (trimmed === '') return { json: 'null' };
  try {
    JSON.parse(trimmed);
    return { json: trimmed };
  } catch {
    return { json: JSON.stringify(text.replace(/\r?\n$/, '')) };
  }
}
