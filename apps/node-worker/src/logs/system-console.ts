/** Hosts take lines of standard output and standard error that begin so for the worker's own, others for the app's. */
const prefix = 'LanguageWorkerConsoleLog';

/** Where the worker itself writes when it cannot, or should not, use the stream. */
export interface SystemConsole {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** `write` gets whole lines for file descriptor 1 or 2. */
export function createSystemConsole(write: (descriptor: 1 | 2, text: string) => void): SystemConsole {
  const line = (message: string): string => `${message.replaceAll(/[\r\n]+/g, ' ')}\n`;
  return {
    info: (message) => write(1, `${prefix}${line(message)}`),
    warn: (message) => write(2, `${prefix}[warn] ${line(message)}`),
    error: (message) => write(2, `${prefix}[error] ${line(message)}`),
  };
}
