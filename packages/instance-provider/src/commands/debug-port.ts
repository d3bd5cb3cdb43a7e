const debugFlag = /^--inspect(?:-brk|-wait)?(?:=(.*))?$/;
const defaultPort = '9229';

/** Whether a debugger may halt a process with these arguments, so that its silence says nothing. */
export function isDebugged(args: readonly string[]): boolean {
  return args.some((arg) => debugFlag.test(arg));
}

/** Whether the arguments name a debug port, which only one process can have. */
export function hasFixedDebugPort(args: readonly string[]): boolean {
  return args.some((arg) => {
    const flag = debugFlag.exec(arg);
    return flag !== null && !/(?:^|:)0$/.test(flag[1] ?? defaultPort);
  });
}

/** Lets the debugger of a further process listen on any free port: Node.js ends if its debug port is taken. */
export function withFreeDebugPort<Command extends { readonly args: readonly string[] }>(command: Command): Command {
  return { ...command, args: command.args.map((arg) => (debugFlag.test(arg) ? '--inspect=0' : arg)) };
}

/** Starts no debugger, but lets Node.js start it on the debug port when it gets SIGUSR1. */
export function withLaterDebugPort<Command extends { readonly args: readonly string[] }>(command: Command): Command {
  return {
    ...command,
    args: command.args.map((arg) => {
      const flag = debugFlag.exec(arg);
      return flag ? `--inspect-port=${flag[1] || defaultPort}` : arg;
    }),
  };
}
