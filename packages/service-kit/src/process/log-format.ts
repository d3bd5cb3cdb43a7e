import type { ProcessConfiguration } from './process-variables.js';

/** A stream; only a terminal has these properties. */
interface Output {
  readonly isTTY?: boolean;
  readonly hasColors?: () => boolean;
}

/** Whether the log on this output is text for people. */
export function isLogText(format: ProcessConfiguration['logFormat'], output: Output): boolean {
  return format === 'text' || (format === 'auto' && output.isTTY === true);
}

/** Whether the output shows colours: a terminal that has them, unless NO_COLOR is set, which Node.js heeds itself. */
export function hasColors(output: Output): boolean {
  return output.isTTY === true && output.hasColors?.() === true;
}
