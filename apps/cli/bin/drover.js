#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`drover: Node.js ${process.versions.node} is too old. Install 20.19 or newer.\n`);
  process.exit(1);
}
try {
  await import('../dist/bundle/main.js');
} catch (error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  process.stderr.write(`drover: The program is not built (${error.message}). Run "npm ci && npm run build".\n`);
  process.exit(1);
}
