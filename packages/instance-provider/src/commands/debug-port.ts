const debugFlag = /^--inspect(?:-brk|-wait)?(?:=|$)/;

/** Whether a debugger may halt a process with these arguments, so that its silence says nothing. */
export function isDebugged(args: readonly string[]): boolean {
  return args.some((arg) => debugFlag.test(arg));
}

/** Lets the debugger of a further process listen on any free port: Node.js ends if its debug port is taken. */
export function withFreeDebugPort<Command extends { readonly args: readonly string[] }>(command: Command): Command {
  return { ...command, args: command.args.map((arg) => (debugFlag.test(arg) ? '--inspect=0' : arg)) };
}
