// The whole of a LOCAL function: input in, output out.
export default async ({ name = 'world' } = {}) => ({ greeting: `Hello, ${name}!` });
