import { defineConfig } from 'vitest/config';

const unit = ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.ts'];

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: unit, pool: 'threads', isolate: false } },
      { test: { name: 'architecture', include: ['tests/architecture/**/*.test.ts'], pool: 'threads' } },
    ],
  },
});
