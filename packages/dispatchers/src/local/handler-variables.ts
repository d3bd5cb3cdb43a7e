/**
 * Variables with which Node, its libraries or the loader of the system run or load other code than the handler. Handlers are
 * chosen by whoever runs the platform, variables by whoever may register functions: these would let the latter run anything.
 */
const dangerous = /^(NODE_(?!ENV$)|LD_|DYLD_|UV_|OPENSSL_|SSL_CERT_|MALLOC_|GLIBC_|GCONV_|V8_|PATH$)/i;

export function mayHandlerHave(name: string): boolean {
  return !dangerous.test(name);
}

/** In words, for whoever registers the function. */
export function variablesProblem(names: readonly string[]): string | undefined {
  const refused = names.filter((name) => !mayHandlerHave(name));
  if (refused.length === 0) return undefined;
  return `env may not hold ${refused.join(', ')} in the mode LOCAL: such variables change what the worker loads`;
}
