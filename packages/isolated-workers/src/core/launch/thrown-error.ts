import { stripVTControlCharacters } from 'node:util';

/** The last line of Node's report of an uncaught error. */
const endOfReport = /^Node\.js v\d/;
/** Marks the position below the source line with which the report begins. */
const caret = /^\s*\^+\s*$/;
const position = /:\d+$/;
const frame = /^\s+at /;
const fatal = /^(?:#\s*)?fatal error\b.*/i;
const hint = /^\(Use `/;
/** The name of an error, its code in brackets, and its message. */
const headline = /^(?:Uncaught )?([A-Za-z_$][\w$.]*)(?: \[(\w+)\])?(?:: ([\s\S]*))?$/;

/**
 * Returns the error that ended a process, from its standard error: Node's report of an uncaught error, the message of a fatal
 * error of V8, or, if it ended by itself with a failure, an error that was printed last: programs that handle uncaught errors do
 * that. One that was killed from outside may have printed an error that it had survived. Undefined if there is none.
 */
export function thrownError(stderr: string, endedByItself: boolean): Error | undefined {
  const lines = stripVTControlCharacters(stderr).trimEnd().split(/\r?\n/);
  const end = lines.findLastIndex((line) => endOfReport.test(line));
  if (end >= 0) return reportedError(lines.slice(0, end));
  const message = lines.findLast((line) => fatal.test(line));
  if (message !== undefined) return errorOf([message], []);
  const last = lines.at(-1) ?? '';
  return endedByItself && (frame.test(last) || last === '}') ? printedError(lines) : undefined;
}

/** Reads a report: the position, the source line, a caret below it, and then the error as `util.inspect` prints it. */
function reportedError(lines: readonly string[]): Error | undefined {
  const mark = lines.findLastIndex((line, index) => caret.test(line) && position.test(lines[index - 2] ?? ''));
  // The report may have begun before the part of the output that is known.
  if (mark < 0) return printedError(lines);
  const inspected = lines.slice(mark + 1).filter((line) => !hint.test(line));
  while (inspected[0] === '') inspected.shift();
  const at = inspected.findIndex((line) => frame.test(line));
  if (at >= 0) return errorOf(inspected.slice(0, at), inspected.slice(at));
  // Without a stack: `[Error: message]`, perhaps with properties, or a value that is no error.
  const [, text] = /^\[(.*)\](?: \{)?$/.exec(inspected[0] ?? '') ?? [];
  return text === undefined ? errorOf([inspected.join('\n').trim()], [], 'Error') : errorOf([text], inspected.slice(1));
}

/** Reads the error whose stack was printed last. */
function printedError(lines: readonly string[]): Error | undefined {
  const starts = (line: string, index: number): boolean =>
    frame.test(lines[index + 1] ?? '') && !frame.test(line) && /^(?:Uncaught )?[\w$.]*(?:Error|Exception)\b/.test(line);
  const start = lines.findLastIndex(starts);
  const first = lines[start];
  return first === undefined ? undefined : errorOf([first], lines.slice(start + 1));
}

/** `rest` begins with the frames of the stack. A `name` is given for text that does not contain it. */
function errorOf(head: readonly string[], rest: readonly string[], name?: string): Error {
  const text = head.join('\n');
  const [, ownName, ownCode, ownMessage = ''] = (name === undefined ? headline.exec(text) : undefined) ?? [];
  const isNamed = ownName !== undefined;
  const error = new Error(isNamed ? ownMessage : text);
  const after = rest.findIndex((line) => !frame.test(line));
  const frames = rest.slice(0, after < 0 ? undefined : after).map((line) => line.replace(/ \{$/, ''));
  const code = ownCode ?? /^ {2}code: '([^']+)'/m.exec(rest.join('\n'))?.[1];
  Object.defineProperty(error, 'name', { value: isNamed ? ownName : 'Error', configurable: true, writable: true });
  error.stack = [text, ...frames].join('\n');
  return code === undefined ? error : Object.assign(error, { code });
}
